/* io/remote/http.h: one HTTP request and its response, by libcurl, which is loaded when the first request is made.
 * Connections, proxies and certificates are as curl has them. */
#ifndef FW_IO_HTTP_H
#define FW_IO_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "furrow/status.h"

/* What a response says before its body. Texts that are too long or absent are empty. */
typedef struct fw_http_response {
  int status; /* 0: no response */
  bool has_length, has_range, has_total;
  bool framed;          /* the end of the body is marked: by its length, in chunks, or by HTTP/2 */
  uint64_t length;      /* bytes of the body */
  uint64_t from, to;    /* range of the file in the body; `to` is exclusive */
  uint64_t total;       /* bytes of the file, as the range says */
  int64_t modified;     /* last change in seconds since 1970; 0: unknown */
  unsigned retry_after; /* seconds that the server asks to wait; 0: it does not */
  bool is_folder;       /* a redirect leads to an address that ends in a slash */
  char etag[256];       /* with its quotes */
  char upload[64];      /* x-amz-meta-furrow-upload: of the upload that made the file */
  char region[64];      /* x-amz-bucket-region */
  char location[2048];  /* where a redirect leads that is not followed */
  bool may_repeat;      /* the transfer failed in a way that may pass */
  char failure[256];    /* why it failed; empty: it did not */
} fw_http_response;

typedef struct fw_http_request {
  const char *method; /* GET, HEAD, PUT, POST, DELETE */
  const char *url;    /* sent as it is */
  char **headers;     /* "Name: value" */
  size_t nheaders;
  uint64_t from, to; /* range of the file; `to` is exclusive. Both 0: all of it */
  const void *body;  /* of PUT and POST */
  size_t body_size;
  bool redirects;           /* follow redirects; the headers above then must not be secret */
  unsigned connect_seconds; /* limit for connecting; 0: the default */
  unsigned most_seconds;    /* limit for the whole transfer; 0: none */
  bool no_proxy;            /* asks the server itself, whatever the environment says */
  bool at_the_end;          /* tidies up: made even if the process was asked to stop */
  /* Called for the body in pieces, after the headers. Returning false ends the transfer. */
  bool (*take)(void *user, const fw_http_response *response, const void *bytes, size_t size);
  /* Called about once a second. Returning true ends the transfer. NULL: never. */
  bool (*stopped)(void *user);
  void *user;
} fw_http_request;

/* Makes the request once. Any HTTP status is FURROW_OK, and so is a transfer that fails: response->failure says why.
 * E_UNSUPPORTED: libcurl is not installed; E_CANCELLED: the process was asked to stop; E_MEMORY. Threads: any. */
furrow_status fw_http_perform(const fw_http_request *request, fw_http_response *response,
                              furrow_error *err) FURROW_MUST_USE;

/* Whether a response may be better when the request is repeated: 408, 429, 500, 502, 503, 504, failed transfers. */
bool fw_http_may_repeat(const fw_http_response *response);
/* Waits before the n-th repetition (from 0): longer each time, with a random part, at least as long as the server asks
 * (up to a limit). Returns early if stopped(user). E_CANCELLED: the process was asked to stop. */
furrow_status fw_http_wait(unsigned n, const fw_http_response *response, bool (*stopped)(void *user), void *user,
                           furrow_error *err) FURROW_MUST_USE;

/* Turns a response that is not a success into an error: its status with the reason, or the failure. `body` is the
 * start of the body, from which S3's code and message are taken; may be NULL. */
furrow_status fw_http_fail(const fw_http_response *response, const char *body, size_t body_size, furrow_error *err);

/* Settings from the environment: FURROW_HTTP_RETRIES (5), FURROW_HTTP_REQUESTS (8), FURROW_HTTP_TIMEOUT (60),
 * FURROW_HTTP_PART_KIB (8192). */
typedef struct fw_http_settings {
  unsigned retries;  /* attempts in a row without a byte */
  unsigned requests; /* at once for a file */
  unsigned timeout;  /* seconds without a byte */
  uint64_t part;     /* bytes of a part of a file that is written */
} fw_http_settings;
fw_http_settings fw_http_get_settings(void);

#endif
