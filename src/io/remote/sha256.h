/* io/remote/sha256.h: SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the signatures of requests. */
#ifndef FW_IO_SHA256_H
#define FW_IO_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { FW_SHA256_SIZE = 32, FW_SHA256_BLOCK = 64 };

typedef struct fw_sha256 {
  uint32_t state[8];
  uint64_t length;
  unsigned char block[FW_SHA256_BLOCK];
} fw_sha256;

void fw_sha256_begin(fw_sha256 *hash);
void fw_sha256_add(fw_sha256 *hash, const void *bytes, size_t size);
void fw_sha256_end(fw_sha256 *hash, unsigned char digest[FW_SHA256_SIZE]);

/* The digest in lower-case hexadecimal digits, with a terminating 0. */
void fw_sha256_hex(const void *bytes, size_t size, char hex[2 * FW_SHA256_SIZE + 1]);
void fw_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                    unsigned char digest[FW_SHA256_SIZE]);
void fw_hex(const unsigned char *bytes, size_t size, char *hex);

#endif
