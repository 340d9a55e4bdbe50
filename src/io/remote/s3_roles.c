/* io/remote/s3_roles.c: asks the services that give credentials to containers, to machines and for tokens. */
#include "io/remote/s3_roles.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "io/remote/http.h"
#include "io/remote/s3_list.h"
#include "io/remote/sigv4.h"

enum { BODY_MOST = 1 << 20, SECONDS = 5, MACHINE_SECONDS = 1, REPEATS = 3 };
/* Seconds before the end at which credentials are renewed, as botocore does, and between two attempts to do so. */
enum { EARLY = 15 * 60, PAUSE = 60 };

static const char *variable(const char *name) {
  const char *text = getenv(name);
  return text && text[0] ? text : NULL;
}

static void forget(fw_buffer *text) {
  if (text->bytes) memset(text->bytes, 0, text->size);
  fw_buffer_clear(text);
}

/* ---- Requests ------------------------------------------------------------------------------------------- */

static bool take_body(void *user, const fw_http_response *response, const void *bytes, size_t size) {
  fw_buffer *body = user;
  (void)response;
  if (size > BODY_MOST - body->size) return false;
  fw_buffer_append(body, bytes, size);
  return !body->missing;
}

/* These services are near: no proxy, and a short wait. */
static furrow_status ask(fw_http_request *request, unsigned seconds, unsigned repeats, fw_http_response *r,
                         fw_buffer *body, furrow_error *err) {
  request->connect_seconds = request->most_seconds = seconds;
  request->take = take_body;
  request->user = body;
  for (unsigned n = 0;; n++) {
    fw_buffer_reset(body);
    FW_TRY(fw_http_perform(request, r, err));
    FW_TRY(fw_buffer_status(body, err));
    if (!fw_http_may_repeat(r) || n >= repeats) return FURROW_OK;
    FW_TRY(fw_http_wait(n, r, NULL, NULL, err));
  }
}

static bool is_success(const fw_http_response *r) {
  return !r->failure[0] && r->status == 200;
}

/* Bodies of these services are not shown. */
static furrow_status fail(const char *who, const fw_http_response *r, furrow_error *err) {
  if (r->failure[0]) return fw_fail(err, FURROW_E_IO, "%s gives no credentials: %s", who, r->failure);
  return fw_fail(err, FURROW_E_IO, "%s gives no credentials (HTTP status %d)", who, r->status);
}

/* ---- Answers -------------------------------------------------------------------------------------------- */

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t days_of(int64_t year, unsigned month, unsigned day) {
  if (month <= 2) year--;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const unsigned of_era = (unsigned)(year - era * 400);
  const unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + (int64_t)(of_era * 365 + of_era / 4 - of_era / 100 + of_year) - 719468;
}

/* 2026-11-19T18:00:00Z, also with a fraction; false: another text. */
static bool read_time(const char *text, int64_t *seconds) {
  unsigned year, month, day, hour, minute, second;
  int used = 0;
  if (sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u%n", &year, &month, &day, &hour, &minute, &second, &used) != 6) return false;
  text += used;
  if (*text == '.') text += 1 + strspn(text + 1, "0123456789");
  if ((strcmp(text, "Z") != 0 && strcmp(text, "+00:00") != 0) || month < 1 || month > 12 || day < 1 || day > 31 ||
      hour > 23 || minute > 59 || second > 60)
    return false;
  *seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  return true;
}

static bool copy_text(char *to, size_t capacity, const char *text, size_t size) {
  if (size >= capacity || memchr(text, 0, size) || memchr(text, '\n', size) || memchr(text, '\r', size)) return false;
  memcpy(to, text, size);
  to[size] = 0;
  return true;
}

static furrow_status read_member(furrow_json *json, fw_s3_settings *s, char when[64], furrow_error *err) {
  const struct {
    const char *key;
    char *to;
    size_t capacity;
  } texts[] = {{"AccessKeyId", s->access_key, sizeof s->access_key},
               {"SecretAccessKey", s->secret_key, sizeof s->secret_key},
               {"Token", s->token, sizeof s->token},
               {"Expiration", when, 64}};
  furrow_json_text key, value;
  FW_TRY(furrow_json_member(json, &key, err));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (key.size != strlen(texts[i].key) || memcmp(key.bytes, texts[i].key, key.size) != 0) continue;
    FW_TRY(furrow_json_string(json, &value, err));
    return copy_text(texts[i].to, texts[i].capacity, value.bytes, value.size) ? FURROW_OK : FURROW_E_FORMAT;
  }
  return furrow_json_skip(json, NULL, err);
}

/* Messages of the JSON reader would show a part of the text. */
static furrow_status fail_answer(furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "the service's answer does not have the credentials of a role");
}

furrow_status fw_s3_role_parse(fw_s3_settings *settings, const char *text, size_t size, int64_t *expires,
                               furrow_error *err) {
  furrow_json json;
  furrow_error unused;
  fw_s3_settings read = {0};
  char when[64] = "";
  fw_json_open(&json, text, size, NULL);
  furrow_status status = furrow_json_object(&json, &unused);
  while (status == FURROW_OK) status = read_member(&json, &read, when, &unused);
  if (status == FURROW_END) status = furrow_json_end(&json, &unused);
  fw_json_close(&json);
  *expires = 0;
  const bool good =
      status == FURROW_OK && read.access_key[0] && read.secret_key[0] && (!when[0] || read_time(when, expires));
  if (good) {
    memcpy(settings->access_key, read.access_key, sizeof read.access_key);
    memcpy(settings->secret_key, read.secret_key, sizeof read.secret_key);
    memcpy(settings->token, read.token, sizeof read.token);
  }
  memset(&read, 0, sizeof read);
  return good ? FURROW_OK : status == FURROW_E_MEMORY ? fw_fail_memory(err, size) : fail_answer(err);
}

/* ---- Files with a token --------------------------------------------------------------------------------- */

static furrow_status read_token(const char *name, const char *path, fw_buffer *token, furrow_error *err) {
  char piece[4096];
  FILE *file = fopen(path, "re");
  if (!file) return fw_fail(err, FURROW_E_IO, "the file that %s names cannot be read", name);
  for (size_t got = 1; got > 0 && token->size < BODY_MOST;) {
    got = fread(piece, 1, sizeof piece, file);
    fw_buffer_append(token, piece, got);
  }
  fclose(file);
  memset(piece, 0, sizeof piece);
  FW_TRY(fw_buffer_status(token, err));
  size_t size = token->size; /* a line end at its end is not a part of it */
  while (size > 0 && strchr("\r\n", token->bytes[size - 1])) size--;
  token->size = size;
  fw_buffer_byte(token, 0);
  FW_TRY(fw_buffer_status(token, err));
  if (size == 0 || strlen(token->bytes) != size || strpbrk(token->bytes, "\r\n"))
    return fw_fail(err, FURROW_E_ARGUMENT, "the file that %s names does not have a token", name);
  return FURROW_OK;
}

/* ---- Containers ----------------------------------------------------------------------------------------- */

/* A token must not leave the machine in the clear, nor go to a host that only the environment names. */
static bool is_near(const char *uri) {
  static const char *const hosts[] = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "[::1]"};
  if (strncmp(uri, "https://", 8) == 0) return true;
  if (strncmp(uri, "http://", 7) != 0) return false;
  const char *host = uri + 7;
  const size_t n =
      host[0] == '[' ? strcspn(host, "]/?#") + (host[strcspn(host, "]/?#")] == ']') : strcspn(host, ":/?#");
  if (memchr(host, '@', strcspn(host, "/?#"))) return false;
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
    if (strlen(hosts[i]) == n && strncasecmp(host, hosts[i], n) == 0) return true;
  return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n;
}

static furrow_status find_container(fw_s3_settings *settings, int64_t *expires, furrow_error *err) {
  static const char who[] = "the service of the container's role";
  const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const char *full = relative ? NULL : variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const char *file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const char *given = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  fw_buffer uri = {0}, token = {0}, header = {0}, body = {0};
  fw_http_response r;
  if (!relative && !full) return FURROW_OK;
  if (full && !is_near(full))
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or name this "
                   "machine or the address of a container service");
  fw_buffer_format(&uri, "%s%s", relative ? "http://169.254.170.2" : "", relative ? relative : full);
  fw_buffer_byte(&uri, 0);
  furrow_status status = fw_buffer_status(&uri, err);
  if (status == FURROW_OK && file) status = read_token("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file, &token, err);
  if (status == FURROW_OK && !file && given) {
    if (strpbrk(given, "\r\n"))
      status = fw_fail(err, FURROW_E_ARGUMENT, "AWS_CONTAINER_AUTHORIZATION_TOKEN has a line end in it");
    fw_buffer_append(&token, given, strlen(given) + 1);
  }
  if (token.size) fw_buffer_format(&header, "Authorization: %s", token.bytes ? token.bytes : "");
  fw_buffer_byte(&header, 0);
  if (status == FURROW_OK) status = fw_buffer_status(&header, err);
  char *headers[] = {header.bytes};
  fw_http_request request = {
      .method = "GET", .url = uri.bytes, .headers = headers, .nheaders = token.size ? 1 : 0, .no_proxy = true};
  if (status == FURROW_OK) status = ask(&request, SECONDS, REPEATS, &r, &body, err);
  if (status == FURROW_OK && !is_success(&r)) status = fail(who, &r, err);
  if (status == FURROW_OK) status = fw_s3_role_parse(settings, body.bytes, body.size, expires, err);
  fw_buffer_clear(&uri);
  forget(&token);
  forget(&header);
  forget(&body);
  return status;
}

/* ---- Machines ------------------------------------------------------------------------------------------- */

/* Makes one request of the metadata service; *there: it gave an answer. */
static furrow_status ask_machine(const char *method, const char *service, const char *path, const char *name,
                                 char *header, fw_http_response *r, fw_buffer *body, furrow_error *err) {
  fw_buffer url = {0};
  char *headers[] = {header};
  fw_buffer_format(&url, "%s%s%s", service, path, name);
  fw_buffer_byte(&url, 0);
  furrow_status status = fw_buffer_status(&url, err);
  fw_http_request request = {
      .method = method, .url = url.bytes, .headers = headers, .nheaders = header[0] ? 1 : 0, .no_proxy = true};
  if (status == FURROW_OK) status = ask(&request, MACHINE_SECONDS, 0, r, body, err);
  fw_buffer_clear(&url);
  if (status == FURROW_OK) {
    while (body->size > 0 && strchr(" \r\n", body->bytes[body->size - 1])) body->size--;
    fw_buffer_byte(body, 0);
    status = fw_buffer_status(body, err);
  }
  return status;
}

static bool is_true(const char *text) {
  return text && strcasecmp(text, "true") == 0;
}

/* A machine that is not one of Amazon's has no such service, and then there are no credentials. */
static furrow_status find_instance(fw_s3_settings *settings, int64_t *expires, furrow_error *err) {
  static const char roles[] = "/latest/meta-data/iam/security-credentials/";
  char service[512], header[1200] = "x-aws-ec2-metadata-token-ttl-seconds: 21600", role[256];
  const char *given = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  fw_buffer body = {0};
  fw_http_response r;
  if (is_true(variable("AWS_EC2_METADATA_DISABLED"))) return FURROW_OK;
  snprintf(service, sizeof service, "%s", given ? given : "http://169.254.169.254");
  for (size_t n = strlen(service); n > 0 && service[n - 1] == '/';) service[--n] = 0;
  furrow_status status = ask_machine("PUT", service, "/latest/api/token", "", header, &r, &body, err);
  if (status != FURROW_OK || r.failure[0]) goto done;
  header[0] = 0; /* the first version of the service has no tokens */
  if (is_success(&r) && strlen(body.bytes) < 1000)
    snprintf(header, sizeof header, "x-aws-ec2-metadata-token: %s", body.bytes);
  status = ask_machine("GET", service, roles, "", header, &r, &body, err);
  if (status != FURROW_OK || !is_success(&r)) goto done;
  snprintf(role, sizeof role, "%.*s", (int)strcspn(body.bytes, "\r\n"), body.bytes);
  if (!role[0] || role[strspn(role, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+=,.@_-")])
    goto done;
  status = ask_machine("GET", service, roles, role, header, &r, &body, err);
  if (status == FURROW_OK && !is_success(&r))
    status = fail("the service of the machine's role", &r, err);
  else if (status == FURROW_OK)
    status = fw_s3_role_parse(settings, body.bytes, body.size - 1, expires, err);
done:
  memset(header, 0, sizeof header);
  forget(&body);
  return status;
}

/* ---- Tokens of other services ---------------------------------------------------------------------------- */

static bool take_element(const fw_buffer *body, const char *name, char *to, size_t capacity) {
  fw_buffer text = {0};
  const bool taken = fw_s3_element(body->bytes, body->size, name, &text) && !text.missing &&
                     copy_text(to, capacity, text.bytes ? text.bytes : "", text.size);
  forget(&text);
  return taken && to[0];
}

static void write_sts(fw_buffer *url, const fw_s3_settings *settings) {
  const char *own = variable("AWS_ENDPOINT_URL_STS"), *all = variable("AWS_ENDPOINT_URL");
  if (own || all)
    fw_buffer_format(url, "%s%c", own ? own : all, 0);
  else if (settings->region[0])
    fw_buffer_format(url, "https://sts.%s.amazonaws.com%s/%c", settings->region,
                     strncmp(settings->region, "cn-", 3) == 0 ? ".cn" : "", 0);
  else
    fw_buffer_format(url, "https://sts.amazonaws.com/%c", 0);
}

static furrow_status find_web(fw_s3_settings *settings, int64_t *expires, furrow_error *err) {
  const char *arn = variable("AWS_ROLE_ARN"), *file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const char *session = variable("AWS_ROLE_SESSION_NAME");
  char name[64], when[64];
  char type[] = "Content-Type: application/x-www-form-urlencoded", *headers[] = {type};
  fw_buffer url = {0}, token = {0}, form = {0}, body = {0};
  fw_http_response r;
  if (!file) return FURROW_OK;
  if (!arn) return fw_fail(err, FURROW_E_ARGUMENT, "AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN");
  snprintf(name, sizeof name, "furrow-%lld", (long long)time(NULL));
  write_sts(&url, settings);
  furrow_status status = read_token("AWS_WEB_IDENTITY_TOKEN_FILE", file, &token, err);
  if (status == FURROW_OK) {
    fw_buffer_text(&form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=");
    fw_sigv4_encode(&form, arn, false);
    fw_buffer_text(&form, "&RoleSessionName=");
    fw_sigv4_encode(&form, session ? session : name, false);
    fw_buffer_text(&form, "&WebIdentityToken=");
    fw_sigv4_encode(&form, token.bytes, false);
    status = fw_buffer_status(&form, err);
  }
  if (status == FURROW_OK) status = fw_buffer_status(&url, err);
  fw_http_request request = {.method = "POST",
                             .url = url.bytes,
                             .headers = headers,
                             .nheaders = 1,
                             .body = form.bytes,
                             .body_size = form.size};
  if (status == FURROW_OK) status = ask(&request, 2 * SECONDS, REPEATS, &r, &body, err);
  if (status == FURROW_OK && !is_success(&r)) status = fail("the service STS (AWS_WEB_IDENTITY_TOKEN_FILE)", &r, err);
  if (status == FURROW_OK &&
      (!take_element(&body, "AccessKeyId", settings->access_key, sizeof settings->access_key) ||
       !take_element(&body, "SecretAccessKey", settings->secret_key, sizeof settings->secret_key) ||
       !take_element(&body, "SessionToken", settings->token, sizeof settings->token) ||
       !take_element(&body, "Expiration", when, sizeof when) || !read_time(when, expires)))
    status = fail_answer(err);
  fw_buffer_clear(&url);
  forget(&token);
  forget(&form);
  forget(&body);
  return status;
}

/* ---- Kept credentials ----------------------------------------------------------------------------------- */

/* What a service gave, for one set of variables. */
typedef struct kept_role {
  bool known;
  uint64_t asked; /* hash of the variables */
  fw_s3_settings settings;
  int64_t expires; /* 0: never */
  int64_t when;    /* it was asked for */
} kept_role;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept_role kept[FW_S3_ROLE_INSTANCE + 1];

static uint64_t hash_variables(void) {
  static const char *const names[] = {"AWS_ROLE_ARN",
                                      "AWS_WEB_IDENTITY_TOKEN_FILE",
                                      "AWS_ENDPOINT_URL_STS",
                                      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                      "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                      "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                      "AWS_EC2_METADATA_DISABLED"};
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (const char *p = variable(names[i]) ? variable(names[i]) : "-", *end = p + strlen(p) + 1; p < end; p++)
      hash = (hash ^ (unsigned char)*p) * 1099511628211u;
  return hash;
}

static furrow_status ask_role(fw_s3_role role, fw_s3_settings *settings, int64_t *expires, furrow_error *err) {
  switch (role) {
  case FW_S3_ROLE_WEB: return find_web(settings, expires, err);
  case FW_S3_ROLE_CONTAINER: return find_container(settings, expires, err);
  default: return find_instance(settings, expires, err);
  }
}

/* Under the lock: threads that ask at once wait for one answer. A failure to renew does not matter before the end. */
static furrow_status renew(fw_s3_role role, const fw_s3_settings *settings, furrow_error *err) {
  kept_role *k = &kept[role];
  const uint64_t asked = hash_variables();
  const int64_t now = (int64_t)time(NULL);
  const bool same = k->known && k->asked == asked;
  if (same && (!k->expires || now + EARLY < k->expires)) return FURROW_OK;
  if (same && now < k->expires && now >= k->when && now - k->when < PAUSE) return FURROW_OK;
  fw_s3_settings found = {0};
  int64_t expires = 0;
  memcpy(found.region, settings->region, sizeof found.region);
  const furrow_status status = ask_role(role, &found, &expires, err);
  if (status == FURROW_OK && (found.access_key[0] || !same)) *k = (kept_role){true, asked, found, expires, now};
  k->when = now;
  memset(&found, 0, sizeof found);
  return status != FURROW_OK && same && now < k->expires ? FURROW_OK : status;
}

furrow_status fw_s3_role_find(fw_s3_role role, fw_s3_settings *settings, furrow_error *err) {
  pthread_mutex_lock(&lock);
  const furrow_status status = renew(role, settings, err);
  if (status == FURROW_OK && kept[role].settings.access_key[0]) {
    memcpy(settings->access_key, kept[role].settings.access_key, sizeof settings->access_key);
    memcpy(settings->secret_key, kept[role].settings.secret_key, sizeof settings->secret_key);
    memcpy(settings->token, kept[role].settings.token, sizeof settings->token);
  }
  pthread_mutex_unlock(&lock);
  return status;
}
