/* io/remote/s3_upload.c: writes objects: small ones by one PUT, others in parts, several at a time, which the last
 * request joins. An object appears whole or not at all, because servers take only whole PUTs and whole joins.
 *
 * An answer can be lost after the server has done what it was asked. Therefore every upload has a random name, which is
 * kept with the object (x-amz-meta-furrow-upload): after a failure, a look at the object says whose it is. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/remote/remote.h"
#include "io/remote/s3_list.h"
#include "io/remote/sha256.h"
#include "io/remote/sigv4.h"

enum { PARTS_MOST = 10000, THREADS_MOST = 16, TAG_SIZE = 256, TIDY_SECONDS = 10 };

typedef struct upload {
  const fw_remote_service *service;
  char *path;
  int fd;
  uint64_t size, part_size;
  char name[33];
  fw_buffer query; /* uploadId=…, as queries have it; empty: one PUT */
  bool finished;

  /* the parts */
  size_t nparts;
  char (*tags)[TAG_SIZE];
  pthread_mutex_t lock;
  size_t next;          /* the first part that no thread has taken */
  furrow_status status; /* of the first part that failed */
  furrow_error error;
} upload;

static bool is_success(const fw_http_response *r) {
  return !r->failure[0] && r->status >= 200 && r->status < 300;
}

static furrow_status fail(const upload *u, const fw_http_response *r, const fw_buffer *body, furrow_error *err) {
  const furrow_status status = u->service->fail(r, body->bytes, body->size, err);
  return status == FURROW_OK ? FURROW_E_IO : status;
}

/* Asks, and fails unless the answer is a success. */
static furrow_status ask_for(const upload *u, const fw_remote_ask *ask, fw_http_response *r, fw_buffer *body,
                             furrow_error *err) {
  FW_TRY(fw_remote_fetch(u->service, ask, r, body, err));
  return is_success(r) ? FURROW_OK : fail(u, r, body, err);
}

/* Whether the object at the path is what this upload has written. */
static furrow_status look(const upload *u, bool *there, bool *own, furrow_error *err) {
  fw_buffer body = {0};
  fw_http_response r;
  const fw_remote_ask ask = {.method = "HEAD", .path = u->path, .query = "", .tagged = true};
  furrow_status status = fw_remote_fetch(u->service, &ask, &r, &body, err);
  *there = status == FURROW_OK && is_success(&r);
  *own = *there && strcmp(r.upload, u->name) == 0;
  if (status == FURROW_OK && !*there && (r.failure[0] || r.status != 404)) status = fail(u, &r, &body, err);
  fw_buffer_clear(&body);
  return status;
}

/* ---- Parts ---------------------------------------------------------------------------------------------- */

static furrow_status begin_parts(upload *u, fw_http_response *r, furrow_error *err) {
  fw_buffer body = {0}, id = {0};
  const fw_remote_ask ask = {.method = "POST", .path = u->path, .query = "uploads=", .upload = u->name};
  furrow_status status = ask_for(u, &ask, r, &body, err);
  if (status == FURROW_OK && (!fw_s3_element(body.bytes, body.size, "UploadId", &id) || id.size == 0))
    status = fw_fail(err, FURROW_E_FORMAT, "the server's answer does not begin an upload in parts");
  if (status == FURROW_OK) {
    fw_buffer_byte(&id, 0);
    status = fw_buffer_status(&id, err);
  }
  if (status == FURROW_OK) {
    fw_buffer_text(&u->query, "uploadId=");
    fw_sigv4_encode(&u->query, id.bytes, false);
    fw_buffer_byte(&u->query, 0);
    status = fw_buffer_status(&u->query, err);
  }
  fw_buffer_clear(&id);
  fw_buffer_clear(&body);
  return status;
}

static void drop_parts(upload *u) {
  fw_buffer body = {0};
  fw_http_response r;
  const fw_remote_ask ask = {
      .method = "DELETE", .path = u->path, .query = u->query.bytes, .most_seconds = TIDY_SECONDS, .at_the_end = true};
  if (u->query.size && !u->query.missing) (void)!fw_remote_fetch(u->service, &ask, &r, &body, NULL);
  fw_buffer_clear(&body);
  fw_buffer_clear(&u->query);
}

static furrow_status read_bytes(const upload *u, char *bytes, size_t size, uint64_t offset, furrow_error *err) {
  while (size > 0) {
    const ssize_t n = pread(u->fd, bytes, size, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fw_fail_errno(err, FURROW_E_IO, n < 0 ? errno : EIO, "cannot read the temporary file");
    bytes += n;
    size -= (size_t)n;
    offset += (uint64_t)n;
  }
  return FURROW_OK;
}

static uint64_t part_bytes(const upload *u, size_t part) {
  const uint64_t begin = part * u->part_size;
  return u->size - begin < u->part_size ? u->size - begin : u->part_size;
}

static furrow_status send_part(upload *u, size_t part, char *bytes, furrow_error *err) {
  const size_t size = (size_t)part_bytes(u, part);
  fw_buffer query = {0}, body = {0};
  fw_http_response r;
  fw_buffer_format(&query, "partNumber=%zu&%s", part + 1, u->query.bytes);
  fw_buffer_byte(&query, 0);
  furrow_status status = fw_buffer_status(&query, err);
  if (status == FURROW_OK) status = read_bytes(u, bytes, size, part * u->part_size, err);
  const fw_remote_ask ask = {
      .method = "PUT", .path = u->path, .query = query.bytes, .body = bytes, .body_size = size, .tagged = true};
  if (status == FURROW_OK) status = ask_for(u, &ask, &r, &body, err);
  if (status == FURROW_OK && strpbrk(r.etag, "<&"))
    status = fw_fail(err, FURROW_E_FORMAT, "the server does not name the part that it received");
  if (status == FURROW_OK) memcpy(u->tags[part], r.etag, TAG_SIZE);
  fw_buffer_clear(&query);
  fw_buffer_clear(&body);
  return status;
}

/* Returns the next part; nparts: there is none, or another thread has failed. */
static size_t take_part(upload *u) {
  pthread_mutex_lock(&u->lock);
  const size_t part = u->status == FURROW_OK && u->next < u->nparts ? u->next++ : u->nparts;
  pthread_mutex_unlock(&u->lock);
  return part;
}

static void *send_parts(void *user) {
  upload *u = user;
  char *bytes = NULL;
  furrow_error error;
  furrow_status status = FW_ALLOC(&bytes, (size_t)u->part_size, &error);
  for (size_t part; status == FURROW_OK && (part = take_part(u)) < u->nparts;)
    status = send_part(u, part, bytes, &error);
  fw_free(bytes);
  if (status == FURROW_OK) return NULL;
  pthread_mutex_lock(&u->lock);
  if (u->status == FURROW_OK) {
    u->status = status;
    u->error = error;
  }
  pthread_mutex_unlock(&u->lock);
  return NULL;
}

/* This thread sends, too. */
static furrow_status send_all(upload *u, furrow_error *err) {
  pthread_t threads[THREADS_MOST];
  const size_t wanted = fw_http_get_settings().requests, most = wanted < THREADS_MOST ? wanted : THREADS_MOST;
  size_t started = 0;
  FW_TRY(FW_ALLOC(&u->tags, u->nparts, err));
  while (started + 1 < most && started + 1 < u->nparts && pthread_create(&threads[started], NULL, send_parts, u) == 0)
    started++;
  (void)send_parts(u);
  for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  if (u->status != FURROW_OK && err) *err = u->error;
  return u->status;
}

/* ---- Beginning and end ----------------------------------------------------------------------------------- */

static void close_upload(void *user, void *given) {
  upload *u = given;
  (void)user;
  if (!u) return;
  if (!u->finished) drop_parts(u);
  pthread_mutex_destroy(&u->lock);
  fw_buffer_clear(&u->query);
  fw_free(u->tags);
  fw_free(u->path);
  fw_free(u);
}

/* Different in every process, and for every upload of one. The seed itself stays secret. */
static void draw_name(char name[33]) {
  static atomic_uint_fast64_t count;
  const uint64_t i = 2 * atomic_fetch_add(&count, 1), seed = fw_hash_seed();
  snprintf(name, 33, "%016llx%016llx", (unsigned long long)fw_rng_hash(seed, i),
           (unsigned long long)fw_rng_hash(seed, i + 1));
}

static furrow_status make_upload(upload **made, void *user, const char *path, furrow_error *err) {
  upload *u;
  FW_TRY(FW_ALLOC_ZERO(&u, 1, err));
  u->service = user;
  u->fd = -1;
  pthread_mutex_init(&u->lock, NULL);
  draw_name(u->name);
  const furrow_status status = fw_strndup(&u->path, path, strlen(path), err);
  if (status != FURROW_OK) {
    close_upload(NULL, u);
    return status;
  }
  *made = u;
  return FURROW_OK;
}

static furrow_status begin(void *user, const char *path, int fd, uint64_t size, void **given, furrow_error *err) {
  upload *u;
  FW_TRY(make_upload(&u, user, path, err));
  u->fd = fd;
  u->size = size;
  u->part_size = fw_http_get_settings().part;
  while (size / u->part_size >= PARTS_MOST) u->part_size *= 2;
  u->nparts = (size_t)((size + u->part_size - 1) / u->part_size);
  furrow_status status = FURROW_OK;
  fw_http_response r;
  if (u->nparts > 1) status = begin_parts(u, &r, err);
  if (u->nparts > 1 && status == FURROW_OK) status = send_all(u, err);
  if (status != FURROW_OK) {
    close_upload(NULL, u);
    return status;
  }
  *given = u;
  return FURROW_OK;
}

/* The answer to a join begins before the join has ended, so that its status tells nothing. */
static bool is_late_error(const fw_http_response *r, const fw_buffer *body) {
  return is_success(r) && body->size && memmem(body->bytes, body->size, "<Error>", 7);
}

/* Asks for the object to appear; once more without the condition if the server does not know it. */
static furrow_status ask_to_appear(const upload *u, fw_remote_ask *ask, furrow_error *err) {
  const unsigned most = fw_http_get_settings().retries;
  fw_buffer body = {0};
  fw_http_response r;
  furrow_status status = FURROW_OK;
  for (unsigned n = 0;; n++) {
    status = fw_remote_fetch(u->service, ask, &r, &body, err);
    if (status != FURROW_OK) break;
    if (ask->only_new && !r.failure[0] && r.status == 501) {
      ask->only_new = false;
      continue;
    }
    const bool late = is_late_error(&r, &body);
    if (late) r.status = 500;
    if (!late || n >= most) {
      if (!is_success(&r)) status = fail(u, &r, &body, err);
      break;
    }
    status = fw_http_wait(n, &r, NULL, NULL, err);
    if (status != FURROW_OK) break;
  }
  fw_buffer_clear(&body);
  return status;
}

static furrow_status put_whole(const upload *u, bool only_new, furrow_error *err) {
  char *bytes = NULL;
  FW_TRY(FW_ALLOC(&bytes, u->size ? (size_t)u->size : 1, err));
  furrow_status status = read_bytes(u, bytes, (size_t)u->size, 0, err);
  fw_remote_ask ask = {.method = "PUT",
                       .path = u->path,
                       .query = "",
                       .body = bytes,
                       .body_size = (size_t)u->size,
                       .only_new = only_new,
                       .upload = u->name};
  if (status == FURROW_OK) status = ask_to_appear(u, &ask, err);
  fw_free(bytes);
  return status;
}

static furrow_status join_parts(const upload *u, bool only_new, furrow_error *err) {
  fw_buffer list = {0};
  fw_buffer_text(&list, "<CompleteMultipartUpload>");
  for (size_t i = 0; i < u->nparts; i++)
    fw_buffer_format(&list, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", i + 1, u->tags[i]);
  fw_buffer_text(&list, "</CompleteMultipartUpload>");
  furrow_status status = fw_buffer_status(&list, err);
  fw_remote_ask ask = {.method = "POST",
                       .path = u->path,
                       .query = u->query.bytes,
                       .body = list.bytes,
                       .body_size = list.size,
                       .only_new = only_new};
  if (status == FURROW_OK) status = ask_to_appear(u, &ask, err);
  fw_buffer_clear(&list);
  return status;
}

static furrow_status fail_there(furrow_error *err) {
  return fw_fail(err, FURROW_E_EXISTS, "there is a file of that name already");
}

static furrow_status finish(void *user, void *given, bool only_new, furrow_error *err) {
  upload *u = given;
  bool there = false, own = false;
  (void)user;
  if (only_new) { /* not every server knows the condition */
    FW_TRY(look(u, &there, &own, err));
    if (there) return fail_there(err);
  }
  furrow_status status = u->nparts > 1 ? join_parts(u, only_new, err) : put_whole(u, only_new, err);
  if (status != FURROW_OK && status != FURROW_E_CANCELLED && look(u, &there, &own, NULL) == FURROW_OK) {
    if (own)
      status = FURROW_OK; /* only the answer was lost */
    else if (there && only_new)
      status = fail_there(err);
  }
  u->finished = status == FURROW_OK;
  return status;
}

/* ---- Before, and other changes --------------------------------------------------------------------------- */

/* An upload in parts that is ended at once needs the same rights as the one that follows, and leaves nothing. */
static furrow_status check(void *user, const char *path, furrow_error *err) {
  fw_http_response r = {0};
  upload *u;
  FW_TRY(make_upload(&u, user, path, err));
  const furrow_status status = begin_parts(u, &r, err);
  const bool may_write = !r.failure[0] && (r.status == 405 || r.status == 501); /* but not in parts */
  close_upload(NULL, u);
  return may_write ? FURROW_OK : status;
}

static furrow_status remove_object(void *user, const char *path, furrow_error *err) {
  const upload u = {.service = user};
  fw_buffer body = {0};
  fw_http_response r;
  const fw_remote_ask ask = {.method = "DELETE", .path = path, .query = ""};
  furrow_status status = fw_remote_fetch(user, &ask, &r, &body, err);
  if (status == FURROW_OK && !is_success(&r) && (r.failure[0] || r.status != 404)) status = fail(&u, &r, &body, err);
  fw_buffer_clear(&body);
  return status;
}

/* The server copies. Objects of more than 5 GiB cannot be copied in one request, and the server says so. */
static furrow_status rename_object(void *user, const char *from, const char *to, furrow_error *err) {
  fw_buffer source = {0};
  upload *u;
  FW_TRY(make_upload(&u, user, to, err));
  fw_buffer_byte(&source, '/');
  fw_sigv4_encode(&source, from, true);
  fw_buffer_byte(&source, 0);
  furrow_status status = fw_buffer_status(&source, err);
  fw_remote_ask ask = {.method = "PUT", .path = to, .query = "", .copy_source = source.bytes};
  if (status == FURROW_OK) status = ask_to_appear(u, &ask, err);
  if (status == FURROW_OK) status = remove_object(user, from, err);
  fw_buffer_clear(&source);
  close_upload(NULL, u);
  return status;
}

const fw_remote_store fw_s3_store = {check, begin, finish, close_upload, remove_object, rename_object};
