/* kern/products/products_avx2.c: inner products with AVX2. */
#include <immintrin.h>
#include <math.h>

#include "kern/products/products.h"
#include "kern/products/projection.h"
#include "kern/products/sketch.h"

typedef __m256 vf;
typedef __m256i vi;

#define ROWS 6
#define COLS 1
#define WIDTH 8

static inline vf vf_load(const float *p) {
  return _mm256_load_ps(p);
}
static inline vf vf_set(float x) {
  return _mm256_set1_ps(x);
}
static inline vf vf_negative(vf v) {
  return _mm256_xor_ps(v, _mm256_set1_ps(-0.0F));
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return _mm256_fmadd_ps(a, b, c);
}
static inline void vf_store(float *p, vf v) {
  _mm256_storeu_ps(p, v);
}
static inline vi vi_iota(uint32_t first) {
  return _mm256_add_epi32(_mm256_set1_epi32((int)first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vi vi_load(const uint32_t *p) {
  return _mm256_load_si256((const __m256i *)p);
}
static inline void vi_store(uint32_t *p, vi v) {
  _mm256_store_si256((__m256i *)p, v);
}
static inline vi vi_set(uint32_t x) {
  return _mm256_set1_epi32((int)x);
}
static inline void vf_winner(const vf *best, const vi *where, uint32_t *number, float *score) {
  vf most = _mm256_max_ps(best[0], best[1]);
  most = _mm256_max_ps(most, _mm256_permute2f128_ps(most, most, 1));
  most = _mm256_max_ps(most, _mm256_permute_ps(most, 0x4e));
  most = _mm256_max_ps(most, _mm256_permute_ps(most, 0xb1));
  const vi none = _mm256_set1_epi32(-1);
  const vi a = _mm256_blendv_epi8(none, where[0], _mm256_castps_si256(_mm256_cmp_ps(best[0], most, _CMP_EQ_OQ)));
  const vi b = _mm256_blendv_epi8(none, where[1], _mm256_castps_si256(_mm256_cmp_ps(best[1], most, _CMP_EQ_OQ)));
  vi least = _mm256_min_epu32(a, b);
  least = _mm256_min_epu32(least, _mm256_permute2x128_si256(least, least, 1));
  least = _mm256_min_epu32(least, _mm256_shuffle_epi32(least, 0x4e));
  least = _mm256_min_epu32(least, _mm256_shuffle_epi32(least, 0xb1));
  *score = _mm256_cvtss_f32(most);
  *number = (uint32_t)_mm256_cvtsi256_si32(least);
}
static inline void vf_keep(vf *best, vi *where, vf v, vi at) {
  const vf better = _mm256_cmp_ps(v, *best, _CMP_GT_OQ);
  *best = _mm256_blendv_ps(*best, v, better);
  *where = _mm256_blendv_epi8(*where, at, _mm256_castps_si256(better));
}

typedef __m256d vd;
#define SUM_WIDTH 4

static inline vd vd_widen(const float *p) {
  return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
static inline vd vd_zero(void) {
  return _mm256_setzero_pd();
}
static inline vd vd_add(vd a, vd b) {
  return _mm256_add_pd(a, b);
}
static inline void vd_store(double *p, vd v) {
  _mm256_storeu_pd(p, v);
}

#include "kern/products/products_tmpl.h"

static size_t find_above(const float *scores, size_t n, float limit, uint32_t *positions) {
  const vf least = vf_set(limit);
  size_t count = 0;
  for (size_t i = 0; i < n; i += FW_PACK_WIDTH) {
    const vf low = _mm256_cmp_ps(_mm256_loadu_ps(scores + i), least, _CMP_GT_OQ);
    const vf high = _mm256_cmp_ps(_mm256_loadu_ps(scores + i + 8), least, _CMP_GT_OQ);
    unsigned found = (unsigned)_mm256_movemask_ps(low) | (unsigned)_mm256_movemask_ps(high) << 8;
    for (; found; found &= found - 1) positions[count++] = (uint32_t)i + (uint32_t)__builtin_ctz(found);
  }
  return count;
}

void fw_products_fill_avx2(fw_products *products) {
  products->nearest = nearest;
  products->scores = scores;
  fw_products_fill_bounds_avx2(products);
  products->rough = fw_sketch_scores_avx2;
  products->find_above = find_above;
  products->sum_rows = sum_rows;
}
