/* kern/math/trees_generic.c: loops over rows for growing trees, in plain C. */
#include <string.h>

#include "kern/math/trees.h"
#include "kern/simd/unroll.h"

#define LANES 4

typedef uint8_t bytes __attribute__((vector_size(16)));

typedef float floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(16)));

INLINE unsigned count_below(const float edge[16], float x) {
  ints sum = {0};
  for (unsigned i = 0; i < 16; i += 4) sum -= *(const floats *)(edge + i) < x;
  return (unsigned)(sum[0] + sum[1] + sum[2] + sum[3]);
}

/* Collects one bit of each byte, which is 0 or 255: each byte keeps a different bit, and a multiplication adds them
 * up in the highest byte. */
INLINE uint64_t gather_bits(uint64_t mask) {
  return (mask & UINT64_C(0x8040201008040201)) * UINT64_C(0x0101010101010101) >> 56;
}

INLINE uint64_t find_sides(const uint8_t byte[64], uint8_t add, uint8_t limit) {
  uint64_t found = 0;
  for (unsigned i = 0; i < 64; i += 16) {
    bytes x;
    uint64_t mask[2];
    memcpy(&x, byte + i, sizeof x);
    x = (bytes)(x + add <= limit);
    memcpy(mask, &x, sizeof mask);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    mask[0] = __builtin_bswap64(mask[0]);
    mask[1] = __builtin_bswap64(mask[1]);
#endif
    found |= (gather_bits(mask[0]) | gather_bits(mask[1]) << 8) << i;
  }
  return found;
}

INLINE size_t sort_word(const uint32_t *number, uint64_t bits, uint32_t *ones, uint32_t *zeros) {
  size_t count = 0;
  for (size_t i = 0; i < 64; i++, bits >>= 1) {
    ones[count] = zeros[i - count] = number[i];
    count += bits & 1;
  }
  return count;
}

#include "kern/math/trees_tmpl.h"

void fw_trees_fill_generic(fw_trees *table) {
  *table = kernels;
}
