/* base/endian.h: fixed-width numbers at any address, in a stated byte order. */
#ifndef FW_BASE_ENDIAN_H
#define FW_BASE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "furrow/status.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FW_BIG_ENDIAN 1
#else
#define FW_BIG_ENDIAN 0
#endif

/* X(bits): one family of functions per width */
#define FW_ENDIAN_WIDTHS(X) X(16) X(32) X(64)

#define FW_X(bits)                                                \
  static inline uint##bits##_t fw_get_le##bits(const void *p) {   \
    uint##bits##_t v;                                             \
    memcpy(&v, p, sizeof v);                                      \
    return FW_BIG_ENDIAN ? __builtin_bswap##bits(v) : v;          \
  }                                                               \
  static inline uint##bits##_t fw_get_be##bits(const void *p) {   \
    uint##bits##_t v;                                             \
    memcpy(&v, p, sizeof v);                                      \
    return FW_BIG_ENDIAN ? v : __builtin_bswap##bits(v);          \
  }                                                               \
  static inline void fw_put_le##bits(void *p, uint##bits##_t v) { \
    if (FW_BIG_ENDIAN) v = __builtin_bswap##bits(v);              \
    memcpy(p, &v, sizeof v);                                      \
  }                                                               \
  static inline void fw_put_be##bits(void *p, uint##bits##_t v) { \
    if (!FW_BIG_ENDIAN) v = __builtin_bswap##bits(v);             \
    memcpy(p, &v, sizeof v);                                      \
  }
FW_ENDIAN_WIDTHS(FW_X)
#undef FW_X

/* Reverses the bytes of each of n elements of `size` bytes (1, 2, 4, 8), at any address. */
void fw_swap_bytes(void *elements, size_t size, size_t n);
/* Converts between the byte order of the machine and little-endian, in either direction. */
static inline void fw_swap_le(void *elements, size_t size, size_t n) {
  if (FW_BIG_ENDIAN) fw_swap_bytes(elements, size, n);
}

typedef furrow_status (*fw_bytes_sink)(void *to, const void *bytes, size_t size, furrow_error *err);
furrow_status fw_put_swapped(fw_bytes_sink put, void *to, const void *elements, size_t size, size_t n,
                             furrow_error *err);
/* Passes n elements to a sink as little-endian bytes. On big-endian machines they are converted chunk by chunk. */
static inline furrow_status fw_put_le_elements(fw_bytes_sink put, void *to, const void *elements, size_t size, size_t n,
                                               furrow_error *err) {
  if (FW_BIG_ENDIAN && size > 1) return fw_put_swapped(put, to, elements, size, n, err);
  return put(to, elements, size * n, err);
}

#endif
