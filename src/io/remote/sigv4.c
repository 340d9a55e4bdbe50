/* io/remote/sigv4.c: a canonical text of the request, its hash, and a key derived from the secret. */
#include "io/remote/sigv4.h"

#include <string.h>

#include "io/remote/sha256.h"

void fw_sigv4_encode(fw_buffer *text, const char *plain, bool slashes) {
  static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  for (; *plain; plain++) {
    if (strchr(kept, *plain) || (slashes && *plain == '/'))
      fw_buffer_byte(text, *plain);
    else
      fw_buffer_format(text, "%%%02X", (unsigned char)*plain);
  }
}

static void add_signed_names(fw_buffer *text, const fw_sigv4 *r) {
  fw_buffer_format(text, "host;%sx-amz-content-sha256;%sx-amz-date%s%s", r->range[0] ? "range;" : "",
                   r->copy_source ? "x-amz-copy-source;" : "", r->upload ? ";x-amz-meta-furrow-upload" : "",
                   r->token[0] ? ";x-amz-security-token" : "");
}

static void hash_request(const fw_sigv4 *r, char hash[2 * FW_SHA256_SIZE + 1]) {
  fw_buffer text = {0};
  fw_buffer_format(&text, "%s\n%s\n%s\nhost:%s\n", r->method, r->path, r->query, r->host);
  if (r->range[0]) fw_buffer_format(&text, "range:%s\n", r->range);
  fw_buffer_format(&text, "x-amz-content-sha256:%s\n", r->body_hash);
  if (r->copy_source) fw_buffer_format(&text, "x-amz-copy-source:%s\n", r->copy_source);
  fw_buffer_format(&text, "x-amz-date:%s\n", r->time);
  if (r->upload) fw_buffer_format(&text, "x-amz-meta-furrow-upload:%s\n", r->upload);
  if (r->token[0]) fw_buffer_format(&text, "x-amz-security-token:%s\n", r->token);
  fw_buffer_byte(&text, '\n');
  add_signed_names(&text, r);
  fw_buffer_format(&text, "\n%s", r->body_hash);
  fw_sha256_hex(text.bytes, text.missing ? 0 : text.size, hash);
  fw_buffer_clear(&text);
}

static void derive_key(const fw_sigv4 *r, unsigned char key[FW_SHA256_SIZE]) {
  static const char ending[] = "aws4_request";
  fw_buffer first = {0};
  fw_buffer_format(&first, "AWS4%s", r->secret_key);
  fw_hmac_sha256(first.bytes, first.missing ? 0 : first.size, r->time, 8, key);
  if (first.bytes) memset(first.bytes, 0, first.size);
  fw_buffer_clear(&first);
  fw_hmac_sha256(key, FW_SHA256_SIZE, r->region, strlen(r->region), key);
  fw_hmac_sha256(key, FW_SHA256_SIZE, r->service, strlen(r->service), key);
  fw_hmac_sha256(key, FW_SHA256_SIZE, ending, sizeof ending - 1, key);
}

void fw_sigv4_sign(fw_buffer *authorization, const fw_sigv4 *r) {
  char hash[2 * FW_SHA256_SIZE + 1], signature[2 * FW_SHA256_SIZE + 1];
  unsigned char key[FW_SHA256_SIZE], digest[FW_SHA256_SIZE];
  fw_buffer text = {0}, scope = {0};
  hash_request(r, hash);
  fw_buffer_format(&scope, "%.8s/%s/%s/aws4_request", r->time, r->region, r->service);
  fw_buffer_byte(&scope, 0);
  fw_buffer_format(&text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", r->time, scope.missing ? "" : scope.bytes, hash);
  derive_key(r, key);
  fw_hmac_sha256(key, sizeof key, text.bytes, text.missing ? 0 : text.size, digest);
  fw_hex(digest, sizeof digest, signature);
  if (text.missing || scope.missing) authorization->missing = 1; /* the caller finds it when it takes the bytes */
  fw_buffer_format(authorization, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=", r->access_key,
                   scope.missing ? "" : scope.bytes);
  add_signed_names(authorization, r);
  fw_buffer_format(authorization, ",Signature=%s", signature);
  fw_buffer_clear(&scope);
  fw_buffer_clear(&text);
}
