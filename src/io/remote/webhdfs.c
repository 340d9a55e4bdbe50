/* io/remote/webhdfs.c: webhdfs://host:port/path, the REST interface of HDFS (swebhdfs:// by TLS).
 *
 * The server of names redirects requests that read or write bytes to a server of data. A file is written under a
 * temporary name in the same folder, in parts that are appended one after the other, and renamed at the end. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/remote/remote.h"
#include "io/remote/sigv4.h"

enum { TIDY_SECONDS = 10 };

/* ---- Requests ------------------------------------------------------------------------------------------- */

static const char *variable(const char *name) {
  const char *text = getenv(name);
  return text && text[0] ? text : NULL;
}

/* The address of a path and an operation, with who asks: a token of delegation, or a user name. */
static furrow_status prepare_webhdfs(const fw_remote_service *service, const fw_remote_ask *ask, fw_remote_call *call,
                                     furrow_error *err) {
  const char *token = variable("FURROW_WEBHDFS_TOKEN"), *user = variable("HADOOP_USER_NAME");
  const size_t host = strcspn(ask->path, "/");
  if (host == 0 || memchr(ask->path, '@', host) || strcspn(ask->path, "?#") < host)
    return fw_fail(err, FURROW_E_ARGUMENT, "the address needs the server of names: webhdfs://host:port/path");
  fw_buffer_format(&call->url, "%s://%.*s/webhdfs/v1", service->name[0] == 's' ? "https" : "http", (int)host,
                   ask->path);
  if (!ask->path[host]) fw_buffer_byte(&call->url, '/');
  fw_sigv4_encode(&call->url, ask->path + host, true);
  if (ask->query[0])
    fw_buffer_format(&call->url, "?%s", ask->query);
  else
    fw_buffer_format(&call->url, "?op=OPEN&offset=%llu&length=%llu", (unsigned long long)ask->from,
                     (unsigned long long)(ask->to - ask->from));
  if (token || user) fw_buffer_text(&call->url, token ? "&delegation=" : "&user.name=");
  if (token || user) fw_sigv4_encode(&call->url, token ? token : user, false);
  return FURROW_OK;
}

/* Takes the kind of exception from {"RemoteException": {"exception": "…"}}. */
static furrow_status fail_webhdfs(const fw_http_response *r, const char *body, size_t size, furrow_error *err) {
  const furrow_status status = fw_http_fail(r, NULL, 0, err);
  static const char key[] = "\"exception\"";
  const char *at = body && size ? memmem(body, size, key, sizeof key - 1) : NULL, *end = body + size;
  if (r->failure[0] || !at) return status;
  at += sizeof key - 1;
  while (at < end && strchr(": \"", *at)) at++;
  size_t n = 0;
  while (at + n < end && n < 60 && ((at[n] | 32) >= 'a' && (at[n] | 32) <= 'z')) n++;
  char text[160] = "";
  if (err) snprintf(text, sizeof text, "%.159s", err->message);
  return err ? fw_fail(err, status, "%s: %.*s", text, (int)n, at) : status;
}

static bool is_success(const fw_http_response *r) {
  return !r->failure[0] && r->status >= 200 && r->status < 300;
}

static furrow_status ask_for(const fw_remote_service *service, const char *method, const char *path, const char *query,
                             fw_http_response *r, fw_buffer *body, furrow_error *err) {
  const fw_remote_ask ask = {.method = method, .path = path, .query = query};
  FW_TRY(fw_remote_fetch(service, &ask, r, body, err));
  return is_success(r) ? FURROW_OK : fail_webhdfs(r, body->bytes, body->size, err);
}

/* ---- Files and folders ----------------------------------------------------------------------------------- */

typedef struct file_status {
  bool is_folder;
  int64_t length, modified_ms;
  furrow_file_name found; /* called for the name; NULL: it does not matter */
  void *listing;
} file_status;

static bool is_key(const furrow_json_text *key, const char *name) {
  return key->size == strlen(name) && memcmp(key->bytes, name, key->size) == 0;
}

static furrow_status call_found(const file_status *s, const furrow_json_text *text, furrow_error *err) {
  char *name = NULL;
  if (!s->found || text->size == 0) return FURROW_OK;
  FW_TRY(fw_strndup(&name, text->bytes, text->size, err));
  const furrow_status status = strlen(name) == text->size ? s->found(s->listing, name, err) : FURROW_OK;
  fw_free(name);
  return status;
}

/* {"type": "FILE", "length": 1, "modificationTime": 2, "pathSuffix": "name", …} */
static furrow_status read_status(furrow_json *json, file_status *s, furrow_error *err) {
  furrow_json_text key, text;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (is_key(&key, "length")) {
      status = furrow_json_i64(json, &s->length, err);
    } else if (is_key(&key, "modificationTime")) {
      status = furrow_json_i64(json, &s->modified_ms, err);
    } else if (is_key(&key, "type")) {
      status = furrow_json_string(json, &text, err);
      if (status == FURROW_OK) s->is_folder = is_key(&text, "DIRECTORY");
    } else if (is_key(&key, "pathSuffix")) {
      status = furrow_json_string(json, &text, err);
      if (status == FURROW_OK) status = call_found(s, &text, err);
    } else {
      status = furrow_json_skip(json, NULL, err);
    }
  }
  if (status == FURROW_END && s->length < 0) status = fw_fail(err, FURROW_E_FORMAT, "a length is negative");
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_list(furrow_json *json, file_status *s, furrow_error *err) {
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK)
    status = read_status(json, s, err);
  return status == FURROW_END ? FURROW_OK : status;
}

/* Reads {"FileStatus": {…}} or {"FileStatuses": {"FileStatus": […]}}. */
static furrow_status read_answer(furrow_json *json, bool list, file_status *s, bool *read, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (list && is_key(&key, "FileStatuses")) {
      status = read_answer(json, true, s, read, err);
    } else if (is_key(&key, "FileStatus")) {
      *read = true;
      status = list ? read_list(json, s, err) : read_status(json, s, err);
    } else {
      status = furrow_json_skip(json, NULL, err);
    }
  }
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status fw_webhdfs_parse(const char *text, size_t size, bool list, furrow_file_info *info, furrow_file_name found,
                               void *listing, furrow_error *err) {
  file_status s = {.found = found, .listing = listing};
  furrow_json json;
  bool read = false;
  fw_json_open(&json, text, size, NULL);
  furrow_status status = read_answer(&json, list, &s, &read, err);
  if (status == FURROW_OK) status = furrow_json_end(&json, err);
  if (status == FURROW_OK && !read) status = fw_fail(err, FURROW_E_FORMAT, "the server does not say what is there");
  fw_json_close(&json);
  if (status == FURROW_OK && info)
    *info = (furrow_file_info){
        .kind = s.is_folder ? FURROW_FILE_FOLDER : FURROW_FILE_REGULAR,
        .length = (uint64_t)s.length,
        .changed_ns = s.modified_ms > 0 && s.modified_ms < INT64_MAX / 1000000 ? s.modified_ms * 1000000 : 0};
  return status;
}

static furrow_status stat_webhdfs(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  fw_http_response r;
  fw_buffer body = {0};
  furrow_status status = ask_for(user, "GET", path, "op=GETFILESTATUS", &r, &body, err);
  if (status == FURROW_OK) status = fw_webhdfs_parse(body.bytes, body.size, false, info, NULL, NULL, err);
  fw_buffer_clear(&body);
  return status;
}

static furrow_status list_webhdfs(void *user, const char *path, furrow_file_name found, void *listing,
                                  furrow_error *err) {
  fw_http_response r;
  fw_buffer body = {0};
  furrow_status status = ask_for(user, "GET", path, "op=LISTSTATUS", &r, &body, err);
  if (status == FURROW_OK) status = fw_webhdfs_parse(body.bytes, body.size, true, NULL, found, listing, err);
  fw_buffer_clear(&body);
  return status;
}

/* What fw_remote_open wants to know. Files of HDFS have no tags: the length and the date stand for the version. */
static furrow_status look_webhdfs(const fw_remote_service *service, const char *path, fw_http_response *r,
                                  furrow_error *err) {
  furrow_file_info info;
  FW_TRY(stat_webhdfs((void *)(uintptr_t)service, path, &info, err));
  if (info.kind == FURROW_FILE_FOLDER) return fw_fail(err, FURROW_E_ARGUMENT, "a folder, not a file");
  *r = (fw_http_response){.status = 200, .has_length = true, .length = info.length};
  return FURROW_OK;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

typedef struct upload {
  const fw_remote_service *service;
  char *path, *temporary;
  uint64_t size;
  bool begun, finished;
} upload;

static bool take_some(void *user, const fw_http_response *response, const void *bytes, size_t size) {
  fw_buffer *body = user;
  (void)response;
  if (body->size < 4096) fw_buffer_append(body, bytes, size < 4096 ? size : 4096);
  return true;
}

/* Asks the server of names where the bytes go, and sends them there. */
static furrow_status send_once(const upload *u, const char *method, const char *query, const char *bytes, size_t size,
                               fw_http_response *r, fw_buffer *body, furrow_error *err) {
  const fw_remote_ask ask = {
      .method = method, .path = u->temporary, .query = query, .stay = true, .take = take_some, .user = body};
  fw_buffer_reset(body);
  FW_TRY(fw_remote_send(u->service, &ask, r, err));
  if (r->failure[0] || r->status != 307) return FURROW_OK;
  char url[sizeof r->location], type[] = "Content-Type: application/octet-stream", *headers[] = {type};
  memcpy(url, r->location, sizeof url);
  const fw_http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .nheaders = 1,
                                   .body = bytes,
                                   .body_size = size,
                                   .once = true,
                                   .take = take_some,
                                   .user = body};
  fw_buffer_reset(body);
  return fw_http_perform(&request, r, err);
}

/* Whether the temporary file has that length: an answer may have been lost after the bytes were appended. */
static bool has_length(const upload *u, uint64_t length) {
  furrow_file_info info;
  furrow_error unused;
  return stat_webhdfs((void *)(uintptr_t)u->service, u->temporary, &info, &unused) == FURROW_OK &&
         info.length == length;
}

/* Sends the bytes from `offset` on: the first ones make the file, others are appended. */
static furrow_status send_part(const upload *u, const char *bytes, size_t size, uint64_t offset, furrow_error *err) {
  const unsigned most = fw_http_get_settings().retries;
  fw_buffer body = {0};
  furrow_status status = FURROW_OK;
  for (unsigned n = 0; status == FURROW_OK; n++) {
    fw_http_response r;
    const char *method = offset ? "POST" : "PUT", *query = offset ? "op=APPEND" : "op=CREATE&overwrite=true";
    status = send_once(u, method, query, bytes, size, &r, &body, err);
    if (status != FURROW_OK || (is_success(&r) && r.status != 307)) break;
    if (offset && has_length(u, offset + size)) break;
    const bool again = fw_http_may_repeat(&r) && n < most && (!offset || has_length(u, offset));
    status = again ? fw_http_wait(n, &r, NULL, NULL, err) : fail_webhdfs(&r, body.bytes, body.size, err);
  }
  fw_buffer_clear(&body);
  return status;
}

static furrow_status send_file(upload *u, int fd, furrow_error *err) {
  const uint64_t part = fw_http_get_settings().part;
  char *bytes = NULL;
  furrow_status status = FW_ALLOC(&bytes, (size_t)part, err);
  u->begun = true;
  for (uint64_t offset = 0; status == FURROW_OK && (offset == 0 || offset < u->size);) {
    const size_t wanted = u->size - offset < part ? (size_t)(u->size - offset) : (size_t)part;
    size_t got = 0;
    for (ssize_t n = 1; got < wanted && n != 0;) {
      n = pread(fd, bytes + got, wanted - got, (off_t)(offset + got));
      if (n > 0) got += (size_t)n;
      if (n < 0 && errno != EINTR) break;
    }
    if (got < wanted)
      status = fw_fail(err, FURROW_E_IO, "cannot read the temporary file");
    else
      status = send_part(u, bytes, got, offset, err);
    offset += got;
    if (got == 0) break;
  }
  fw_free(bytes);
  return status;
}

static void remove_temporary(const upload *u) {
  fw_http_response r;
  fw_buffer body = {0};
  const fw_remote_ask ask = {.method = "DELETE",
                             .path = u->temporary,
                             .query = "op=DELETE&recursive=false",
                             .most_seconds = TIDY_SECONDS,
                             .at_the_end = true};
  (void)!fw_remote_fetch(u->service, &ask, &r, &body, NULL);
  fw_buffer_clear(&body);
}

static void close_upload(void *user, void *given) {
  upload *u = given;
  (void)user;
  if (!u) return;
  if (u->begun && !u->finished) remove_temporary(u);
  fw_free(u->temporary);
  fw_free(u->path);
  fw_free(u);
}

static furrow_status begin(void *user, const char *path, int fd, uint64_t size, void **given, furrow_error *err) {
  static atomic_uint_fast64_t count;
  const char *slash = strrchr(path, '/');
  fw_buffer name = {0};
  upload *u;
  if (!slash || !slash[1]) return fw_fail(err, FURROW_E_ARGUMENT, "not the name of a file");
  FW_TRY(FW_ALLOC_ZERO(&u, 1, err));
  u->service = user;
  u->size = size;
  fw_buffer_format(&name, "%.*s.%s.furrow-%016llx", (int)(slash + 1 - path), path, slash + 1,
                   (unsigned long long)fw_rng_hash(fw_hash_seed(), atomic_fetch_add(&count, 1)));
  furrow_status status = fw_buffer_take(&name, &u->temporary, NULL, err);
  fw_buffer_clear(&name);
  if (status == FURROW_OK) status = fw_strndup(&u->path, path, strlen(path), err);
  if (status == FURROW_OK) status = send_file(u, fd, err);
  if (status != FURROW_OK) {
    close_upload(NULL, u);
    return status;
  }
  *given = u;
  return FURROW_OK;
}

/* Renames; a rename that does not replace says so by the answer {"boolean": false}. */
static furrow_status rename_path(const fw_remote_service *service, const char *from, const char *to, bool only_new,
                                 furrow_error *err) {
  fw_http_response r;
  fw_buffer query = {0}, body = {0};
  furrow_file_info info;
  fw_buffer_text(&query, "op=RENAME&destination=");
  fw_sigv4_encode(&query, to + strcspn(to, "/"), false);
  if (!only_new) fw_buffer_text(&query, "&renameoptions=OVERWRITE");
  fw_buffer_byte(&query, 0);
  furrow_status status = fw_buffer_status(&query, err);
  if (status == FURROW_OK) status = ask_for(service, "PUT", from, query.bytes, &r, &body, err);
  const bool refused = status == FURROW_OK && body.size && memmem(body.bytes, body.size, "false", 5);
  if (status == FURROW_E_IO || status == FURROW_E_NOT_FOUND || refused) {
    /* an answer that was lost: the file has its name already */
    const bool gone = stat_webhdfs((void *)(uintptr_t)service, from, &info, NULL) == FURROW_E_NOT_FOUND;
    if (gone && stat_webhdfs((void *)(uintptr_t)service, to, &info, NULL) == FURROW_OK)
      status = FURROW_OK;
    else if (refused)
      status = fw_fail(err, only_new ? FURROW_E_EXISTS : FURROW_E_IO,
                       only_new ? "there is a file of that name already" : "the server does not rename the file");
  }
  fw_buffer_clear(&query);
  fw_buffer_clear(&body);
  return status;
}

static furrow_status finish(void *user, void *given, bool only_new, furrow_error *err) {
  upload *u = given;
  (void)user;
  const furrow_status status = rename_path(u->service, u->temporary, u->path, only_new, err);
  u->finished = status == FURROW_OK;
  return status;
}

/* A folder that is not there yet is made with the file. */
static furrow_status check(void *user, const char *path, furrow_error *err) {
  fw_http_response r;
  fw_buffer body = {0};
  char *folder = NULL;
  const char *slash = strrchr(path, '/');
  FW_TRY(fw_strndup(&folder, path, slash ? (size_t)(slash - path) + 1 : strlen(path), err));
  furrow_status status = ask_for(user, "GET", folder, "op=CHECKACCESS&fsaction=-w-", &r, &body, err);
  if (status == FURROW_E_NOT_FOUND || (status != FURROW_OK && r.status == 400)) status = FURROW_OK;
  fw_buffer_clear(&body);
  fw_free(folder);
  return status;
}

static furrow_status remove_file(void *user, const char *path, furrow_error *err) {
  fw_http_response r;
  fw_buffer body = {0};
  const furrow_status status = ask_for(user, "DELETE", path, "op=DELETE&recursive=false", &r, &body, err);
  fw_buffer_clear(&body);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

static furrow_status rename_file(void *user, const char *from, const char *to, furrow_error *err) {
  return rename_path(user, from, to, false, err);
}

const fw_remote_store fw_webhdfs_store = {check, begin, finish, close_upload, remove_file, rename_file};

/* ---- The file systems ----------------------------------------------------------------------------------- */

static const fw_remote_service webhdfs = {.name = "webhdfs",
                                          .redirects = true,
                                          .own_ranges = true,
                                          .prepare = prepare_webhdfs,
                                          .look = look_webhdfs,
                                          .fail = fail_webhdfs};
static const fw_remote_service swebhdfs = {.name = "swebhdfs",
                                           .redirects = true,
                                           .own_ranges = true,
                                           .prepare = prepare_webhdfs,
                                           .look = look_webhdfs,
                                           .fail = fail_webhdfs};

#define SYSTEM(service)                                                                                   \
  {                                                                                                       \
    .size = sizeof(furrow_file_system), .user = (void *)(uintptr_t) & (service), .stat = stat_webhdfs,    \
    .list = list_webhdfs, .open = fw_remote_open, .read_at = fw_remote_read_at, .close = fw_remote_close, \
    .expect = fw_remote_expect                                                                            \
  }

const furrow_file_system fw_remote_webhdfs = SYSTEM(webhdfs);
const furrow_file_system fw_remote_swebhdfs = SYSTEM(swebhdfs);
