/* kern/products/projection_avx512.c: bounds of heads with AVX-512. */
#include "kern/products/projection.h"

#include <immintrin.h>

typedef __m512i vs;

#define ROWS 6
#define COLS 4
#define WIDTH 32

static inline vs vs_load(const int16_t *p) {
  return _mm512_load_si512(p);
}
static inline void vs_store(int16_t *p, vs v) {
  _mm512_store_si512(p, v);
}
static inline vs vs_add(vs a, vs b) {
  return _mm512_add_epi16(a, b);
}
static inline vs vs_max(vs a, vs b) {
  return _mm512_max_epi16(a, b);
}
static inline vs vs_set(int16_t x) {
  return _mm512_set1_epi16(x);
}
static inline vs vs_pair(uint32_t x) {
  return _mm512_set1_epi32((int)x);
}
static inline vs vs_multiply(vs x, vs y) {
  return _mm512_maddubs_epi16(x, y);
}
static inline uint32_t vs_not_below(const int16_t *p, vs limit) {
  return _mm512_cmpge_epi16_mask(vs_load(p), limit);
}
static inline uint32_t vs_lane(uint32_t bit) {
  return bit;
}
static inline int16_t vs_largest(vs v) {
  _Alignas(64) int16_t lanes[WIDTH];
  int16_t most = INT16_MIN;
  vs_store(lanes, v);
  for (int i = 0; i < WIDTH; i++) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

#include "kern/products/projection_tmpl.h"

/* ---- Keys ---- */

/* sum + (x - y)^2, or sum + x y */
INLINE __m512 fold(__m512 sum, const float *x, const float *y, __mmask16 in, bool l2) {
  const __m512 a = _mm512_maskz_loadu_ps(in, x), b = _mm512_maskz_loadu_ps(in, y), difference = _mm512_sub_ps(a, b);
  return l2 ? _mm512_fmadd_ps(difference, difference, sum) : _mm512_fmadd_ps(a, b, sum);
}

INLINE float row_key(const float *x, const float *y, size_t d, const bool l2) {
  __m512 even = _mm512_setzero_ps(), odd = even;
  size_t k = 0;
  for (; k + 32 <= d; k += 32) {
    even = fold(even, x + k, y + k, 0xffff, l2);
    odd = fold(odd, x + k + 16, y + k + 16, 0xffff, l2);
  }
  for (; k < d; k += 16) even = fold(even, x + k, y + k, d - k < 16 ? (__mmask16)((1U << (d - k)) - 1) : 0xffff, l2);
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

static float key(const float *x, const float *y, size_t d, bool l2) {
  return l2 ? row_key(x, y, d, true) : -row_key(x, y, d, false);
}

void fw_products_fill_bounds_avx512(fw_products *products) {
  products->bounds = bounds;
  products->top_bound = top_bound;
  products->find_bounds = find_bounds;
  products->key = key;
}
