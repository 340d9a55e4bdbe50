/* io/remote/remote_s3.c: s3://bucket/key, and gs:// through its interface for S3. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/remote/remote.h"
#include "io/remote/s3_credentials.h"
#include "io/remote/s3_list.h"
#include "io/remote/sha256.h"
#include "io/remote/sigv4.h"

/* ---- Paths ---------------------------------------------------------------------------------------------- */

enum { BUCKET_SIZE = 256 };

/* Splits bucket/key. Letters of a bucket become a part of the server's name, so others are refused. */
static furrow_status split_path(const char *path, char bucket[BUCKET_SIZE], const char **key, furrow_error *err) {
  const size_t n = strcspn(path, "/");
  if (n == 0 || n >= BUCKET_SIZE ||
      strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") < n || path[0] == '.')
    return fw_fail(err, FURROW_E_ARGUMENT, "the address needs the name of a bucket: s3://bucket/key");
  memcpy(bucket, path, n);
  bucket[n] = 0;
  *key = path[n] ? path + n + 1 : path + n;
  return FURROW_OK;
}

/* ---- Regions of buckets, as servers have told them -------------------------------------------------------- */

enum { REGIONS = 64 };

static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { char bucket[BUCKET_SIZE], region[64]; } regions[REGIONS];
static size_t nregions;

static bool is_region(const char *text) {
  return text[0] && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == 0;
}

/* Replaces the region if another one is known for the bucket. */
static void look_up_region(const char *bucket, char region[64]) {
  pthread_mutex_lock(&regions_lock);
  for (size_t i = 0; i < nregions && i < REGIONS; i++)
    if (strcmp(regions[i].bucket, bucket) == 0) memcpy(region, regions[i].region, 64);
  pthread_mutex_unlock(&regions_lock);
}

/* Returns false if that was known already. */
static bool note_region(const char *bucket, const char *region) {
  pthread_mutex_lock(&regions_lock);
  size_t i = 0;
  while (i < nregions && i < REGIONS && strcmp(regions[i].bucket, bucket) != 0) i++;
  const bool known = i < nregions && i < REGIONS && strcmp(regions[i].region, region) == 0;
  if (!known) {
    if (i >= nregions || i >= REGIONS) i = nregions++ % REGIONS;
    snprintf(regions[i].bucket, sizeof regions[i].bucket, "%s", bucket);
    snprintf(regions[i].region, sizeof regions[i].region, "%s", region);
  }
  pthread_mutex_unlock(&regions_lock);
  return !known;
}

static bool learn_region(const fw_remote_service *service, const fw_remote_ask *ask, const fw_http_response *r) {
  char bucket[BUCKET_SIZE];
  const char *key;
  (void)service;
  if (r->status < 300 || !is_region(r->region) || split_path(ask->path, bucket, &key, NULL) != FURROW_OK) return false;
  return note_region(bucket, r->region);
}

/* ---- Requests ------------------------------------------------------------------------------------------- */

/* Where a request goes, in the three parts of its address. */
typedef struct place {
  fw_buffer origin, host, path; /* https://host:port, host:port as it is signed, the encoded path */
} place;

static void clear_place(place *p) {
  fw_buffer_clear(&p->origin);
  fw_buffer_clear(&p->host);
  fw_buffer_clear(&p->path);
}

/* The host as HTTP sends it: without the standard port of its scheme. */
static void add_host(fw_buffer *host, const char *origin) {
  const bool secure = strncmp(origin, "https://", 8) == 0;
  const char *name = origin + (secure ? 8 : 7), *usual = secure ? ":443" : ":80";
  size_t n = strlen(name);
  const size_t m = strlen(usual);
  if (n > m && strcmp(name + n - m, usual) == 0) n -= m;
  fw_buffer_append(host, name, n);
}

/* An endpoint that was given has the bucket in the path. AWS's own servers have it in their name, unless it has a dot,
 * which certificates do not cover. */
static void find_place(place *p, const char *endpoint, const char *region, const char *bucket, const char *key) {
  const bool in_name = !endpoint[0] && !strchr(bucket, '.') && !strchr(bucket, '_');
  if (endpoint[0]) {
    const char *server = strstr(endpoint, "://") + 3;
    const size_t n = (size_t)(server - endpoint) + strcspn(server, "/");
    fw_buffer_append(&p->origin, endpoint, n);
    fw_buffer_text(&p->path, endpoint + n);
  } else {
    fw_buffer_format(&p->origin, "https://%s%ss3.%s.amazonaws.com%s", in_name ? bucket : "", in_name ? "." : "", region,
                     strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
  }
  fw_buffer_byte(&p->origin, 0);
  if (!p->origin.missing) add_host(&p->host, p->origin.bytes);
  fw_buffer_byte(&p->host, 0);
  if (!in_name) {
    fw_buffer_byte(&p->path, '/');
    fw_sigv4_encode(&p->path, bucket, false);
  }
  if (in_name || key[0]) fw_buffer_byte(&p->path, '/');
  fw_sigv4_encode(&p->path, key, true);
  fw_buffer_byte(&p->path, 0);
}

static furrow_status add_signature(const fw_s3_settings *settings, const fw_remote_ask *ask, const place *p,
                                   fw_remote_call *call, furrow_error *err) {
  char range[64] = "", now[32], hash[2 * FW_SHA256_SIZE + 1] = FW_SIGV4_NO_BODY;
  struct tm parts;
  const time_t seconds = time(NULL);
  strftime(now, sizeof now, "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &parts));
  if (ask->to > ask->from)
    snprintf(range, sizeof range, "bytes=%llu-%llu", (unsigned long long)ask->from, (unsigned long long)ask->to - 1);
  if (ask->body_size) fw_sha256_hex(ask->body, ask->body_size, hash);
  const fw_sigv4 request = {.method = ask->method,
                            .path = p->path.bytes,
                            .query = ask->query,
                            .host = p->host.bytes,
                            .range = range,
                            .body_hash = hash,
                            .time = now,
                            .region = settings->region,
                            .service = "s3",
                            .access_key = settings->access_key,
                            .secret_key = settings->secret_key,
                            .token = settings->token,
                            .copy_source = ask->copy_source,
                            .upload = ask->upload};
  fw_buffer authorization = {0};
  fw_sigv4_sign(&authorization, &request);
  fw_buffer_byte(&authorization, 0);
  furrow_status status = fw_buffer_status(&authorization, err);
  if (status == FURROW_OK) status = fw_remote_header(call, err, "Authorization: %s", authorization.bytes);
  if (status == FURROW_OK) status = fw_remote_header(call, err, "x-amz-date: %s", now);
  if (status == FURROW_OK) status = fw_remote_header(call, err, "x-amz-content-sha256: %s", hash);
  if (status == FURROW_OK && settings->token[0])
    status = fw_remote_header(call, err, "x-amz-security-token: %s", settings->token);
  fw_buffer_clear(&authorization);
  return status;
}

static furrow_status prepare(const fw_s3_settings *settings, const fw_remote_ask *ask, fw_remote_call *call,
                             furrow_error *err) {
  char bucket[BUCKET_SIZE];
  const char *key;
  place p = {0};
  FW_TRY(split_path(ask->path, bucket, &key, err));
  find_place(&p, settings->endpoint, settings->region, bucket, key);
  furrow_status status = fw_buffer_status(&p.origin, err);
  if (status == FURROW_OK) status = fw_buffer_status(&p.host, err);
  if (status == FURROW_OK) status = fw_buffer_status(&p.path, err);
  if (status == FURROW_OK) {
    fw_buffer_format(&call->url, "%s%s%s%s", p.origin.bytes, p.path.bytes, ask->query[0] ? "?" : "", ask->query);
    if (settings->access_key[0]) status = add_signature(settings, ask, &p, call, err);
    if (status == FURROW_OK && ask->copy_source)
      status = fw_remote_header(call, err, "x-amz-copy-source: %s", ask->copy_source);
    if (status == FURROW_OK && ask->upload)
      status = fw_remote_header(call, err, "x-amz-meta-furrow-upload: %s", ask->upload);
  }
  clear_place(&p);
  return status;
}

static furrow_status prepare_s3(const fw_remote_service *service, const fw_remote_ask *ask, fw_remote_call *call,
                                furrow_error *err) {
  (void)service;
  fw_s3_settings settings = {0};
  char bucket[BUCKET_SIZE];
  const char *key;
  FW_TRY(fw_s3_settings_find(&settings, err));
  FW_TRY(split_path(ask->path, bucket, &key, err));
  if (!settings.region[0]) snprintf(settings.region, sizeof settings.region, "us-east-1");
  look_up_region(bucket, settings.region);
  furrow_status status = FURROW_OK;
  if (is_region(settings.region))
    status = prepare(&settings, ask, call, err);
  else
    status = fw_fail(err, FURROW_E_ARGUMENT, "the region (AWS_REGION) is not the name of a region");
  memset(&settings, 0, sizeof settings);
  return status;
}

/* Google's keys for the interface of S3 (HMAC keys) are set as AWS's are. */
static furrow_status prepare_gs(const fw_remote_service *service, const fw_remote_ask *ask, fw_remote_call *call,
                                furrow_error *err) {
  (void)service;
  fw_s3_settings settings = {0};
  FW_TRY(fw_s3_settings_find(&settings, err));
  const char *emulator = getenv("STORAGE_EMULATOR_HOST");
  const bool given = emulator && emulator[0], bare = given && !strstr(emulator, "://");
  snprintf(settings.endpoint, sizeof settings.endpoint, "%s%s", bare ? "http://" : "",
           given ? emulator : "https://storage.googleapis.com");
  snprintf(settings.region, sizeof settings.region, "auto");
  const furrow_status status = prepare(&settings, ask, call, err);
  memset(&settings, 0, sizeof settings);
  return status;
}

static furrow_status fail_s3(const fw_http_response *response, const char *body, size_t size, furrow_error *err) {
  const furrow_status status = fw_http_fail(response, body, size, err);
  if (response->status == 401 || response->status == 403)
    fw_error_set_hint(err, "check the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE) and "
                           "their rights to read and write objects and list the bucket");
  return status;
}

/* ---- Folders: what keys have in common up to a slash ------------------------------------------------------ */

typedef struct folder {
  const fw_remote_service *service;
  const char *bucket;
  fw_buffer prefix; /* of the keys; ends in a slash, or is empty */
  fw_buffer token;  /* where the list goes on */
  size_t count;
} folder;

static void clear_folder(folder *f) {
  fw_buffer_clear(&f->prefix);
  fw_buffer_clear(&f->token);
}

static furrow_status set_prefix(folder *f, const char *key, furrow_error *err) {
  size_t n = strlen(key);
  while (n > 0 && key[n - 1] == '/') n--;
  fw_buffer_append(&f->prefix, key, n);
  if (n > 0) fw_buffer_byte(&f->prefix, '/');
  fw_buffer_byte(&f->prefix, 0);
  return fw_buffer_status(&f->prefix, err);
}

/* The names of the query are in order, as signatures need them. */
static void write_query(fw_buffer *query, const folder *f, bool one) {
  if (f->token.size) {
    fw_buffer_text(query, "continuation-token=");
    fw_sigv4_encode(query, f->token.bytes, false);
    fw_buffer_byte(query, '&');
  }
  fw_buffer_format(query, "delimiter=%%2F&list-type=2%s&prefix=", one ? "&max-keys=1" : "");
  fw_sigv4_encode(query, f->prefix.bytes, false);
  fw_buffer_byte(query, 0);
}

static furrow_status list_page(folder *f, bool one, furrow_file_name found, void *listing, furrow_error *err) {
  fw_buffer query = {0}, body = {0};
  fw_http_response r;
  write_query(&query, f, one);
  furrow_status status = fw_buffer_status(&query, err);
  fw_remote_ask ask = {.method = "GET", .path = f->bucket, .query = query.bytes};
  if (status == FURROW_OK) status = fw_remote_fetch(f->service, &ask, &r, &body, err);
  if (status == FURROW_OK && (r.status != 200 || r.failure[0])) status = fail_s3(&r, body.bytes, body.size, err);
  if (status == FURROW_OK)
    status = fw_s3_list_parse(body.bytes, body.size, f->prefix.bytes, found, listing, &f->token, &f->count, err);
  if (status == FURROW_OK && f->token.size) fw_buffer_byte(&f->token, 0);
  if (status == FURROW_OK) status = fw_buffer_status(&f->token, err);
  fw_buffer_clear(&query);
  fw_buffer_clear(&body);
  return status;
}

/* Lists a folder, or (`one`) only looks whether it has anything. */
static furrow_status list_folder(const fw_remote_service *service, const char *path, bool one, furrow_file_name found,
                                 void *listing, furrow_error *err) {
  char bucket[BUCKET_SIZE];
  const char *key;
  folder f = {.service = service, .bucket = bucket};
  FW_TRY(split_path(path, bucket, &key, err));
  furrow_status status = set_prefix(&f, key, err);
  do {
    if (status == FURROW_OK) status = list_page(&f, one, found, listing, err);
  } while (status == FURROW_OK && f.token.size > 0 && !one);
  if (status == FURROW_OK && f.count == 0 && key[0])
    status = fw_fail(err, FURROW_E_NOT_FOUND, "no such file or directory");
  clear_folder(&f);
  return status;
}

static furrow_status list_s3(void *user, const char *path, furrow_file_name found, void *listing, furrow_error *err) {
  return list_folder(user, path, false, found, listing, err);
}

static furrow_status stat_s3(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  char bucket[BUCKET_SIZE];
  const char *key;
  FW_TRY(split_path(path, bucket, &key, err));
  const bool is_file = key[0] && key[strlen(key) - 1] != '/';
  const furrow_status status = is_file ? fw_remote_stat(user, path, info, err) : FURROW_E_NOT_FOUND;
  if (status != FURROW_E_NOT_FOUND) return status;
  FW_TRY(list_folder(user, path, true, NULL, NULL, err));
  info->kind = FURROW_FILE_FOLDER;
  return FURROW_OK;
}

/* ---- The file systems ----------------------------------------------------------------------------------- */

static const fw_remote_service s3 = {"s3", false, prepare_s3, learn_region, fail_s3};
static const fw_remote_service gs = {"gs", false, prepare_gs, NULL, fail_s3};

#define SYSTEM(service)                                                                                            \
  {                                                                                                                \
    .size = sizeof(furrow_file_system), .user = (void *)(uintptr_t) & (service), .stat = stat_s3, .list = list_s3, \
    .open = fw_remote_open, .read_at = fw_remote_read_at, .close = fw_remote_close, .expect = fw_remote_expect     \
  }

const furrow_file_system fw_remote_s3 = SYSTEM(s3);
const furrow_file_system fw_remote_gs = SYSTEM(gs);

const fw_remote_store *fw_remote_store_of(const furrow_file_system *system) {
  return system->stat == stat_s3 ? &fw_s3_store : NULL;
}
