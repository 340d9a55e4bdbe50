/* kern/math/trees_avx2.c: loops over rows for growing trees, with AVX2. */
#include <immintrin.h>

#include "kern/math/trees.h"
#include "kern/simd/unroll.h"

#define LANES 8

INLINE unsigned count_below(const float edge[16], float x) {
  const __m256 value = _mm256_set1_ps(x);
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(edge), value, _CMP_LT_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(edge + 8), value, _CMP_LT_OQ));
  return (unsigned)_mm_popcnt_u32((unsigned)(low | high << 8));
}

INLINE uint64_t sides_of_half(const uint8_t *byte, __m256i add, __m256i limit) {
  const __m256i x = _mm256_add_epi8(_mm256_loadu_si256((const __m256i *)byte), add);
  return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, limit), x));
}

INLINE uint64_t find_sides(const uint8_t byte[64], uint8_t add, uint8_t limit) {
  const __m256i more = _mm256_set1_epi8((char)add), most = _mm256_set1_epi8((char)limit);
  return sides_of_half(byte, more, most) | sides_of_half(byte + 32, more, most) << 32;
}

/* Stores the numbers whose bits are set first. */
INLINE void store_chosen(__m256i numbers, uint64_t bits, uint32_t *to) {
  const uint64_t order = _pext_u64(UINT64_C(0x0706050403020100), _pdep_u64(bits, UINT64_C(0x0101010101010101)) * 0xff);
  const __m256i lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)order));
  _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(numbers, lanes));
}

INLINE size_t sort_word(const uint32_t *number, uint64_t bits, uint32_t *ones, uint32_t *zeros) {
  size_t count = 0;
  for (size_t i = 0; i < 64; i += 8, bits >>= 8) {
    const __m256i numbers = _mm256_loadu_si256((const __m256i *)(number + i));
    store_chosen(numbers, bits & 0xff, ones + count);
    store_chosen(numbers, ~bits & 0xff, zeros + (i - count));
    count += (size_t)_mm_popcnt_u64(bits & 0xff);
  }
  return count;
}

#include "kern/math/trees_tmpl.h"

void fw_trees_fill_avx2(fw_trees *table) {
  *table = kernels;
}
