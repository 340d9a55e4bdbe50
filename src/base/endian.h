/* base/endian.h: fixed-width numbers at any address, in a stated byte order. */
#ifndef FW_BASE_ENDIAN_H
#define FW_BASE_ENDIAN_H

#include <stdint.h>
#include <string.h>

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

#endif
