/* io/remote/remote.h: the file systems that are built in for servers, and what they share. */
#ifndef FW_IO_REMOTE_H
#define FW_IO_REMOTE_H

#include "furrow/io.h"
#include "io/remote/http.h"

extern const furrow_file_system fw_remote_http, fw_remote_https, fw_remote_s3, fw_remote_gs;

/* ---- Requests of a service, for its files ---------------------------------------------------------------- */

typedef struct fw_remote_ask {
  const char *method;
  const char *path;  /* the part after name:// */
  const char *query; /* sorted and encoded; "" is none */
  uint64_t from, to; /* range; both 0: the whole */
  const char *etag;  /* the file must still have this tag; "" is any */
  const void *body;
  size_t body_size;
  unsigned connect_seconds, most_seconds;
  bool at_the_end;         /* see fw_http_request */
  bool tagged;             /* a success without an ETag is cut short */
  bool only_new;           /* refused if the file exists (If-None-Match) */
  const char *copy_source; /* x-amz-copy-source: what the file is a copy of; NULL: nothing */
  const char *upload;      /* x-amz-meta-furrow-upload: kept with the file; NULL: nothing */
  bool (*take)(void *user, const fw_http_response *response, const void *bytes, size_t size);
  bool (*stopped)(void *user);
  void *user;
} fw_remote_ask;

/* The address and headers of one request. All zeros is empty. */
typedef struct fw_remote_call {
  fw_buffer url;
  char *headers[12];
  size_t nheaders;
} fw_remote_call;

typedef struct fw_remote_service {
  const char *name;
  bool redirects; /* may follow redirects, because no header is secret */
  furrow_status (*prepare)(const struct fw_remote_service *service, const fw_remote_ask *ask, fw_remote_call *call,
                           furrow_error *err);
  /* Whether the response tells how to ask better at once, for example in another region. NULL: never. */
  bool (*learned)(const struct fw_remote_service *service, const fw_remote_ask *ask, const fw_http_response *response);
  /* Makes the error of a response that failed; body is its start. */
  furrow_status (*fail)(const fw_http_response *response, const char *body, size_t size, furrow_error *err);
} fw_remote_service;

/* Appends "name: value" to the headers. */
furrow_status fw_remote_header(fw_remote_call *call, furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Asks once (or again at once, if the service has learned how). The status is that of fw_http_perform. */
furrow_status fw_remote_send(const fw_remote_service *service, const fw_remote_ask *ask, fw_http_response *response,
                             furrow_error *err) FURROW_MUST_USE;
/* Repeats a request whose answer is small until there is one, and appends its body; take, stopped and user of the ask
 * are not used. Statuses of HTTP that are not a success are left to the caller. */
furrow_status fw_remote_fetch(const fw_remote_service *service, const fw_remote_ask *ask, fw_http_response *response,
                              fw_buffer *body, furrow_error *err) FURROW_MUST_USE;

/* ---- Functions of furrow_file_system; user is the service ------------------------------------------------ */

/* Looks at a file; E_NOT_FOUND: nothing is there. */
furrow_status fw_remote_stat(void *user, const char *path, furrow_file_info *info, furrow_error *err);
furrow_status fw_remote_open(void *user, const char *path, void **file, furrow_error *err);
furrow_status fw_remote_read_at(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                                furrow_error *err);
void fw_remote_expect(void *user, void *file, uint64_t begin, uint64_t end);
void fw_remote_close(void *user, void *file);

/* ---- Writing --------------------------------------------------------------------------------------------- */

/* What a service can change; `user` is the service, paths are the part after name://. */
typedef struct fw_remote_store {
  /* Checks, before the work, that a file can be written at the path, as far as the server tells without a trace. */
  furrow_status (*check)(void *user, const char *path, furrow_error *err);
  /* Sends the first `size` bytes of the open file, which stays open and unchanged until `close`. Nothing is visible at
   * the path before `finish`, which makes the file visible whole. only_new: E_EXISTS if there is a file. */
  furrow_status (*begin)(void *user, const char *path, int fd, uint64_t size, void **upload, furrow_error *err);
  furrow_status (*finish)(void *user, void *upload, bool only_new, furrow_error *err);
  /* Frees, and removes what was sent, unless it was finished. */
  void (*close)(void *user, void *upload);
  /* A file that is not there is not an error. */
  furrow_status (*remove)(void *user, const char *path, furrow_error *err);
  /* Replaces the file at `to`. */
  furrow_status (*rename)(void *user, const char *from, const char *to, furrow_error *err);
} fw_remote_store;

extern const fw_remote_store fw_s3_store;

/* Returns what can write to a file system that is built in; NULL: it can only be read. */
const fw_remote_store *fw_remote_store_of(const furrow_file_system *system);

#endif
