/* base/same_bytes.h: short runs of bytes compared without a call. */
#ifndef FW_BASE_SAME_BYTES_H
#define FW_BASE_SAME_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether n bytes are the same. Short runs are compared by two words that may overlap: no call. */
static inline bool fw_same_bytes(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  if (n >= 8 && n <= 16) {
    uint64_t p[2], q[2];
    memcpy(&p[0], x, 8);
    memcpy(&q[0], y, 8);
    memcpy(&p[1], x + n - 8, 8);
    memcpy(&q[1], y + n - 8, 8);
    return ((p[0] ^ q[0]) | (p[1] ^ q[1])) == 0;
  }
  if (n >= 4 && n < 8) {
    uint32_t p[2], q[2];
    memcpy(&p[0], x, 4);
    memcpy(&q[0], y, 4);
    memcpy(&p[1], x + n - 4, 4);
    memcpy(&q[1], y + n - 4, 4);
    return ((p[0] ^ q[0]) | (p[1] ^ q[1])) == 0;
  }
  return n == 0 || memcmp(a, b, n) == 0;
}

#endif
