/* kern/products/projection_avx2.c: bounds of heads with AVX2. */
#include "kern/products/projection.h"

#include <immintrin.h>

typedef __m256i vs;

#define ROWS 4
#define COLS 1
#define WIDTH 16

static inline vs vs_load(const int16_t *p) {
  return _mm256_load_si256((const __m256i *)p);
}
static inline void vs_store(int16_t *p, vs v) {
  _mm256_store_si256((__m256i *)p, v);
}
static inline vs vs_add(vs a, vs b) {
  return _mm256_add_epi16(a, b);
}
static inline vs vs_max(vs a, vs b) {
  return _mm256_max_epi16(a, b);
}
static inline vs vs_set(int16_t x) {
  return _mm256_set1_epi16(x);
}
static inline vs vs_pair(uint32_t x) {
  return _mm256_set1_epi32((int)x);
}
static inline vs vs_multiply(vs x, vs y) {
  return _mm256_maddubs_epi16(x, y);
}
static inline uint32_t vs_not_below(const int16_t *p, vs limit) {
  const vs a = _mm256_cmpgt_epi16(limit, vs_load(p)), b = _mm256_cmpgt_epi16(limit, vs_load(p + WIDTH));
  return ~(uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(a, b));
}
static inline uint32_t vs_lane(uint32_t bit) { /* packing orders the quarters 0, 2, 1, 3 */
  return (bit & 7) | (bit & 8) << 1 | (bit & 16) >> 1;
}
static inline int16_t vs_largest(vs v) {
  _Alignas(32) int16_t lanes[WIDTH];
  int16_t most = INT16_MIN;
  vs_store(lanes, v);
  for (int i = 0; i < WIDTH; i++) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

#include "kern/products/projection_tmpl.h"

/* ---- Heads and keys ---- */

static inline float total(__m256 v) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/* sum + (x - y)^2, or sum + x y */
INLINE __m256 fold(__m256 sum, const float *x, const float *y, bool l2) {
  const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(y), difference = _mm256_sub_ps(a, b);
  return l2 ? _mm256_fmadd_ps(difference, difference, sum) : _mm256_fmadd_ps(a, b, sum);
}

INLINE float row_key(const float *x, const float *y, size_t d, const bool l2) {
  __m256 sum[4];
  size_t k = 0;
  float rest = 0;
  UNROLL for (int i = 0; i < 4; i++) sum[i] = _mm256_setzero_ps();
  for (; k + 32 <= d; k += 32)
    UNROLL for (int i = 0; i < 4; i++) sum[i] = fold(sum[i], x + k + 8 * i, y + k + 8 * i, l2);
  for (; k + 8 <= d; k += 8) sum[0] = fold(sum[0], x + k, y + k, l2);
  for (; k < d; k++) rest += l2 ? (x[k] - y[k]) * (x[k] - y[k]) : x[k] * y[k];
  return total(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3]))) + rest;
}

static float key(const float *x, const float *y, size_t d, bool l2) {
  return l2 ? row_key(x, y, d, true) : -row_key(x, y, d, false);
}

static float centre(const float *x, const float *mean, size_t d, float *to) {
  __m256 sum = _mm256_setzero_ps();
  size_t k = 0;
  float rest = 0;
  for (; k + 8 <= d; k += 8) {
    const __m256 v = _mm256_sub_ps(_mm256_loadu_ps(x + k), _mm256_loadu_ps(mean + k));
    _mm256_storeu_ps(to + k, v);
    sum = _mm256_fmadd_ps(v, v, sum);
  }
  for (; k < d; k++) {
    to[k] = x[k] - mean[k];
    rest += to[k] * to[k];
  }
  return total(sum) + rest;
}

static void round_head(const float *head, size_t count, float scale, float most, int middle, uint8_t *out,
                       float *square, float *lost) {
  const __m256 inverse = _mm256_set1_ps(1 / scale), step = _mm256_set1_ps(scale), high = _mm256_set1_ps(most);
  __m256 squares = _mm256_setzero_ps(), missed = squares;
  for (size_t k = 0; k < count; k += FW_HEAD_STEP) {
    const __m256 from = _mm256_loadu_ps(head + k), steps = _mm256_mul_ps(from, inverse);
    const __m256i value =
        _mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(steps, high), _mm256_sub_ps(_mm256_setzero_ps(), high)));
    const __m256 whole = _mm256_cvtepi32_ps(value), rest = _mm256_sub_ps(from, _mm256_mul_ps(whole, step));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    const __m128i bytes = _mm_add_epi8(_mm_packs_epi16(words, words), _mm_set1_epi8((char)middle));
    squares = _mm256_fmadd_ps(whole, whole, squares);
    missed = _mm256_fmadd_ps(rest, rest, missed);
    _mm_storel_epi64((__m128i *)(out + k), bytes);
  }
  *square = total(squares);
  *lost = total(missed);
}

void fw_products_fill_bounds_avx2(fw_products *products) {
  products->bounds = bounds;
  products->top_bound = top_bound;
  products->find_bounds = find_bounds;
  products->centre = centre;
  products->round_head = round_head;
  products->key = key;
}
