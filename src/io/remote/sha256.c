/* io/remote/sha256.c: SHA-256 in 64 rounds for each block of 64 bytes. */
#include "io/remote/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n) {
  return x >> n | x << (32 - n);
}

static void expand(uint32_t w[64], const unsigned char *block) {
  for (size_t i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
           block[4 * i + 3];
  for (size_t i = 16; i < 64; i++) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
}

static void add_block(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64], s[8];
  expand(w, block);
  memcpy(s, state, sizeof s);
  for (size_t i = 0; i < 64; i++) {
    const uint32_t e = s[4], a = s[0];
    const uint32_t one =
        s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + constants[i] + w[i];
    const uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += one;
    s[0] = one + two;
  }
  for (size_t i = 0; i < 8; i++) state[i] += s[i];
}

void fw_sha256_begin(fw_sha256 *hash) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, start, sizeof start);
  hash->length = 0;
}

void fw_sha256_add(fw_sha256 *hash, const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  while (size > 0) {
    const size_t used = (size_t)(hash->length % FW_SHA256_BLOCK), space = FW_SHA256_BLOCK - used;
    const size_t n = size < space ? size : space;
    if (n == FW_SHA256_BLOCK) {
      add_block(hash->state, from);
    } else {
      memcpy(hash->block + used, from, n);
      if (n == space) add_block(hash->state, hash->block);
    }
    from += n;
    size -= n;
    hash->length += n;
  }
}

void fw_sha256_end(fw_sha256 *hash, unsigned char digest[FW_SHA256_SIZE]) {
  static const unsigned char padding[FW_SHA256_BLOCK] = {0x80};
  const uint64_t bits = hash->length * 8;
  const size_t used = (size_t)(hash->length % FW_SHA256_BLOCK);
  unsigned char length[8];
  for (size_t i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  fw_sha256_add(hash, padding, (used < 56 ? 56 : 120) - used);
  fw_sha256_add(hash, length, sizeof length);
  for (size_t i = 0; i < FW_SHA256_SIZE; i++) digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void fw_hex(const unsigned char *bytes, size_t size, char *hex) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    hex[2 * i] = digits[bytes[i] >> 4];
    hex[2 * i + 1] = digits[bytes[i] & 15];
  }
  hex[2 * size] = 0;
}

void fw_sha256_hex(const void *bytes, size_t size, char hex[2 * FW_SHA256_SIZE + 1]) {
  fw_sha256 hash;
  unsigned char digest[FW_SHA256_SIZE];
  fw_sha256_begin(&hash);
  fw_sha256_add(&hash, bytes, size);
  fw_sha256_end(&hash, digest);
  fw_hex(digest, sizeof digest, hex);
}

void fw_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                    unsigned char digest[FW_SHA256_SIZE]) {
  unsigned char block[FW_SHA256_BLOCK] = {0};
  fw_sha256 hash;
  if (key_size > sizeof block) {
    fw_sha256_begin(&hash);
    fw_sha256_add(&hash, key, key_size);
    fw_sha256_end(&hash, block);
  } else {
    memcpy(block, key, key_size);
  }
  for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36;
  fw_sha256_begin(&hash);
  fw_sha256_add(&hash, block, sizeof block);
  fw_sha256_add(&hash, bytes, size);
  fw_sha256_end(&hash, digest);
  for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
  fw_sha256_begin(&hash);
  fw_sha256_add(&hash, block, sizeof block);
  fw_sha256_add(&hash, digest, FW_SHA256_SIZE);
  fw_sha256_end(&hash, digest);
}
