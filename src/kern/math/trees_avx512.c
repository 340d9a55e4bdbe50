/* kern/math/trees_avx512.c: loops over rows for growing trees, with AVX-512. */
#include <immintrin.h>

#include "kern/math/trees.h"
#include "kern/simd/unroll.h"

#define LANES 16

INLINE unsigned count_below(const float edge[16], float x) {
  return (unsigned)_mm_popcnt_u32(_mm512_cmp_ps_mask(_mm512_loadu_ps(edge), _mm512_set1_ps(x), _CMP_LT_OQ));
}

INLINE uint64_t find_sides(const uint8_t byte[64], uint8_t add, uint8_t limit) {
  const __m512i x = _mm512_add_epi8(_mm512_loadu_si512(byte), _mm512_set1_epi8((char)add));
  return _cvtmask64_u64(_mm512_cmple_epu8_mask(x, _mm512_set1_epi8((char)limit)));
}

INLINE size_t sort_word(const uint32_t *number, uint64_t bits, uint32_t *ones, uint32_t *zeros) {
  size_t count = 0;
  for (size_t i = 0; i < 64; i += 16, bits >>= 16) {
    const __m512i numbers = _mm512_loadu_si512(number + i);
    const __mmask16 chosen = (__mmask16)bits;
    _mm512_storeu_si512(ones + count, _mm512_maskz_compress_epi32(chosen, numbers));
    _mm512_storeu_si512(zeros + (i - count), _mm512_maskz_compress_epi32(_knot_mask16(chosen), numbers));
    count += (size_t)_mm_popcnt_u32(chosen);
  }
  return count;
}

#include "kern/math/trees_tmpl.h"

void fw_trees_fill_avx512(fw_trees *table) {
  *table = kernels;
}
