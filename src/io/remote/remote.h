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
  unsigned connect_seconds;
  bool (*take)(void *user, const fw_http_response *response, const void *bytes, size_t size);
  bool (*stopped)(void *user);
  void *user;
} fw_remote_ask;

/* The address and headers of one request. All zeros is empty. */
typedef struct fw_remote_call {
  fw_buffer url;
  char *headers[8];
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

#endif
