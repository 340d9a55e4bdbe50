/* kern/products/products_avx512.c: inner products with AVX-512. */
#include <immintrin.h>
#include <math.h>

#include "kern/products/products.h"
#include "kern/products/projection.h"
#include "kern/products/sketch.h"

typedef __m512 vf;
typedef __m512i vi;

#define ROWS 6
#define COLS 4
#define WIDTH 16

static inline vf vf_load(const float *p) {
  return _mm512_load_ps(p);
}
static inline vf vf_set(float x) {
  return _mm512_set1_ps(x);
}
static inline vf vf_negative(vf v) {
  return _mm512_xor_ps(v, _mm512_set1_ps(-0.0F));
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return _mm512_fmadd_ps(a, b, c);
}
static inline void vf_store(float *p, vf v) {
  _mm512_storeu_ps(p, v);
}
static inline vi vi_iota(uint32_t first) {
  return _mm512_add_epi32(_mm512_set1_epi32((int)first),
                          _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}
static inline vi vi_load(const uint32_t *p) {
  return _mm512_load_si512(p);
}
static inline void vi_store(uint32_t *p, vi v) {
  _mm512_store_si512(p, v);
}
static inline vi vi_set(uint32_t x) {
  return _mm512_set1_epi32((int)x);
}
static inline void vf_winner(const vf *best, const vi *where, uint32_t *number, float *score) {
  *score = _mm512_reduce_max_ps(*best);
  *number = _mm512_mask_reduce_min_epu32(_mm512_cmp_ps_mask(*best, _mm512_set1_ps(*score), _CMP_EQ_OQ), *where);
}
static inline void vf_keep(vf *best, vi *where, vf v, vi at) {
  const __mmask16 better = _mm512_cmp_ps_mask(v, *best, _CMP_GT_OQ);
  *best = _mm512_mask_mov_ps(*best, better, v);
  *where = _mm512_mask_mov_epi32(*where, better, at);
}

typedef __m512d vd;
#define SUM_WIDTH 8

static inline vd vd_widen(const float *p) {
  return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}
static inline vd vd_zero(void) {
  return _mm512_setzero_pd();
}
static inline vd vd_add(vd a, vd b) {
  return _mm512_add_pd(a, b);
}
static inline void vd_store(double *p, vd v) {
  _mm512_storeu_pd(p, v);
}

#include "kern/products/products_tmpl.h"

static void nearest_by_sketch(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best,
                              float *score) {
  if (packed->sketch)
    fw_sketch_nearest_avx512(packed, x, nx, stride, best, score, nearest);
  else
    nearest(packed, x, nx, stride, best, score);
}

static size_t find_above(const float *scores, size_t n, float limit, uint32_t *positions) {
  const vf least = vf_set(limit);
  size_t count = 0;
  for (size_t i = 0; i < n; i += FW_PACK_WIDTH) {
    unsigned found = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + i), least, _CMP_GT_OQ);
    for (; found; found &= found - 1) positions[count++] = (uint32_t)i + (uint32_t)__builtin_ctz(found);
  }
  return count;
}

void fw_products_fill_avx512(fw_products *products) {
  products->sketches = true;
  products->nearest = nearest_by_sketch;
  products->rough = fw_sketch_scores_avx512;
  products->scores = scores;
  fw_products_fill_bounds_avx512(products);
  products->find_above = find_above;
  products->sum_rows = sum_rows;
}
