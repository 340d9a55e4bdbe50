/* io/digest.h: digests of arrays that are the same on every machine. */
#ifndef FW_IO_DIGEST_H
#define FW_IO_DIGEST_H

#include "base/endian.h"
#if FW_BIG_ENDIAN
#define XXH_STATIC_LINKING_ONLY /* for a state that needs no allocation */
#endif
#include <xxhash.h>

#if FW_BIG_ENDIAN
static inline uint64_t fw_digest_swapped(const char *elements, size_t size, size_t n, uint64_t seed) {
  uint64_t piece[64];
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, seed);
  for (size_t count; n > 0; n -= count, elements += count * size) {
    count = n < sizeof piece / size ? n : sizeof piece / size;
    memcpy(piece, elements, count * size);
    fw_swap_bytes(piece, size, count);
    XXH3_64bits_update(&state, piece, count * size);
  }
  return XXH3_64bits_digest(&state);
}
#endif

/* XXH3-64 of n elements of `size` bytes in little-endian order, as in a file. */
static inline uint64_t fw_digest_elements(const void *elements, size_t size, size_t n, uint64_t seed) {
#if FW_BIG_ENDIAN
  return fw_digest_swapped(elements, size, n, seed);
#else
  return XXH3_64bits_withSeed(elements, size * n, seed);
#endif
}

#endif
