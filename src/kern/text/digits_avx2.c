/* kern/text/digits_avx2.c: digits of floats, four at a time; digits_generic.c explains the method. */
#include <immintrin.h>

#include "base/powers.h"
#include "kern/text/digits.h"

enum { POINT = 36 }; /* bits after the binary point */

static inline __m256i all64(uint64_t v) {
  return _mm256_set1_epi64x((int64_t)v);
}

/* A product with a constant below 2^32. */
static inline __m256i times(__m256i a, uint32_t b) {
  return _mm256_mul_epu32(a, all64(b));
}

/* Like fw_eight_digits. x / 100 is x * 5243 >> 19 for x < 10000, x / 10 is x * 6554 >> 16 for x < 100. */
static inline __m256i eight_digits(__m256i v) {
  const __m256i high = _mm256_srli_epi64(times(v, 109951163), 40);
  const __m256i fours = _mm256_or_si256(high, _mm256_slli_epi64(_mm256_sub_epi64(v, times(high, 10000)), 32));
  const __m256i hundreds = _mm256_srli_epi16(_mm256_mulhi_epu16(fours, _mm256_set1_epi16(5243)), 3);
  const __m256i units = _mm256_sub_epi16(fours, _mm256_mullo_epi16(hundreds, _mm256_set1_epi16(100)));
  const __m256i pairs = _mm256_or_si256(hundreds, _mm256_slli_epi32(units, 16));
  const __m256i tens = _mm256_mulhi_epu16(pairs, _mm256_set1_epi16(6554));
  const __m256i ones = _mm256_sub_epi16(pairs, _mm256_mullo_epi16(tens, _mm256_set1_epi16(10)));
  return _mm256_or_si256(tens, _mm256_slli_epi16(ones, 8));
}

/* Returns the digits as an integer: tens, and *last. */
static inline __m256i choose(__m256i m, __m256i scale, __m256i *last) {
  const __m256i upper = _mm256_slli_epi64(_mm256_mul_epu32(m, _mm256_srli_epi64(scale, 32)), 32);
  const __m256i product = _mm256_add_epi64(_mm256_mul_epu32(m, scale), upper);
  const __m256i tens = _mm256_srli_epi64(times(_mm256_srli_epi64(product, POINT), 0xcccccccd), 35);
  const __m256i past = _mm256_sub_epi64(product, _mm256_slli_epi64(times(tens, 10), POINT));
  const __m256i before = _mm256_sub_epi64(all64(UINT64_C(10) << POINT), past);
  const __m256i half = _mm256_srli_epi64(scale, 1);
  const __m256i above = _mm256_cmpgt_epi64(half, before);
  const __m256i shorter = _mm256_or_si256(above, _mm256_cmpgt_epi64(half, past));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi64(past, POINT), all64(1));
  const __m256i middle = _mm256_add_epi64(odd, all64((UINT64_C(1) << (POINT - 1)) - 1));
  *last = _mm256_andnot_si256(shorter, _mm256_srli_epi64(_mm256_add_epi64(past, middle), POINT));
  return _mm256_sub_epi64(tens, above);
}

static inline __m256i load(const void *at) {
  return _mm256_loadu_si256(at);
}

static inline void store(void *at, __m256i v) {
  _mm256_storeu_si256(at, v);
}

/* Converts four floats to integers: tens and the last digit. `first` assumes nine digits. */
static inline void take_four(fw_java_run *run, size_t i, const float *values) {
  const __m128i bits = _mm_and_si128(_mm_loadu_si128((const __m128i *)values), _mm_set1_epi32(INT32_MAX));
  const __m128i place = _mm_sub_epi32(_mm_set1_epi32(150), _mm_srli_epi32(bits, 23));
  const __m128i index = _mm_min_epu32(place, _mm_set1_epi32(FW_DECIMAL_SCALES));
  const __m128i m = _mm_or_si128(_mm_and_si128(bits, _mm_set1_epi32(0x7fffff)), _mm_set1_epi32(0x800000));
  const __m256i scale = _mm256_i32gather_epi64((const long long *)fw_decimal_scales, index, 8);
  __m256i last;
  store(&run->words[0][i], choose(_mm256_cvtepu32_epi64(m), _mm256_srli_epi64(scale, 24), &last));
  store(&run->words[1][i], last);
  /* fw_floor_log10_pow2; 0 has two digits fewer than nine */
  const __m128i power = _mm_srai_epi32(_mm_mullo_epi32(place, _mm_set1_epi32(-315653)), 20);
  const __m128i zero = _mm_cmpeq_epi32(bits, _mm_setzero_si128());
  const __m128i quick = _mm_cmpeq_epi32(_mm_min_epu32(place, _mm_set1_epi32(46)), place);
  const __m128i other = _mm_blendv_epi8(_mm_set1_epi32(FW_JAVA_ODD), _mm_set1_epi32(2), zero);
  const __m128i first = _mm_blendv_epi8(other, _mm_add_epi32(power, _mm_set1_epi32(8)), quick);
  store(&run->first[i], _mm256_cvtepi32_epi64(first));
}

/* Splits into single digits, without leading zeros. */
static inline void align_four(fw_java_run *run, size_t i) {
  const __m256i tens = load(&run->words[0][i]), last = load(&run->words[1][i]), first = load(&run->first[i]);
  const __m256i few = _mm256_cmpgt_epi64(all64(10000000), tens), fewer = _mm256_cmpgt_epi64(all64(1000000), tens);
  const __m256i zeros = _mm256_add_epi64(few, fewer); /* 0, -1 or -2 */
  const __m256i shift = _mm256_slli_epi64(_mm256_sub_epi64(_mm256_setzero_si256(), zeros), 3);
  const __m256i moved = _mm256_sllv_epi64(last, _mm256_sub_epi64(all64(64), shift));
  store(&run->words[0][i], _mm256_or_si256(_mm256_srlv_epi64(eight_digits(tens), shift), moved));
  store(&run->words[1][i], _mm256_srlv_epi64(last, shift));
  store(&run->first[i], _mm256_add_epi64(first, zeros));
}

static void fill_floats(fw_java_run *run, const float *values, size_t count) {
  size_t i = 0;
  run->values = values;
  for (; i + 4 <= count; i += 4) take_four(run, i, values + i);
  if (i < count) {
    float rest[4] = {0};
    memcpy(rest, values + i, (count - i) * sizeof *rest);
    take_four(run, i, rest);
  }
  for (i = 0; i < count; i += 4) align_four(run, i);
}

void fw_digits_fill_avx2(fw_digits *digits) {
  digits->floats = fill_floats;
}
