/* io/remote/sigv4.h: signatures of requests to object storage, AWS Signature Version 4. */
#ifndef FW_IO_SIGV4_H
#define FW_IO_SIGV4_H

#include <stdbool.h>

#include "base/buffer.h"

/* SHA-256 of no bytes. */
#define FW_SIGV4_NO_BODY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

typedef struct fw_sigv4 {
  const char *method;
  const char *path;  /* as it is sent: fw_sigv4_encode */
  const char *query; /* as it is sent: sorted by name, names and values encoded, with = also without a value */
  const char *host;  /* with its port, unless that is the standard one */
  const char *range; /* header Range; "" is none */
  const char *body_hash, *time; /* time: 20130524T000000Z */
  const char *region, *service;
  const char *access_key, *secret_key, *token; /* token: "" is none */
  const char *copy_source, *upload;            /* x-amz-copy-source, x-amz-meta-furrow-upload; NULL is none */
} fw_sigv4;

/* Appends the value of the header Authorization. Signed are the host, the headers x-amz-content-sha256 and x-amz-date,
 * and range, x-amz-copy-source, x-amz-meta-furrow-upload and x-amz-security-token if they are there. */
void fw_sigv4_sign(fw_buffer *authorization, const fw_sigv4 *request);
/* Appends the text with everything but letters, digits and - . _ ~ as %XX; a slash stays if `slashes`. */
void fw_sigv4_encode(fw_buffer *text, const char *plain, bool slashes);

#endif
