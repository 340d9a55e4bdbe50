/* kern/math/gemm_avx2.c: matrix products with AVX2. */
#include <immintrin.h>

#include "kern/math/gemm.h"

typedef __m256 vf;

#define ROWS 4
#define COLS 3
#define WIDTH 8

static inline vf vf_load(const float *p) {
  return _mm256_loadu_ps(p);
}
static inline vf vf_set(float x) {
  return _mm256_set1_ps(x);
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return _mm256_fmadd_ps(a, b, c);
}
static inline vf vf_add(vf a, vf b) {
  return _mm256_add_ps(a, b);
}
static inline vf vf_relu(vf v) {
  return _mm256_andnot_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LE_OQ), v);
}
static inline void vf_store(float *p, vf v) {
  _mm256_storeu_ps(p, v);
}
static inline __m256i first_lanes(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vf vf_load_part(const float *p, size_t n) {
  return _mm256_maskload_ps(p, first_lanes(n));
}
static inline void vf_store_part(float *p, size_t n, vf v) {
  _mm256_maskstore_ps(p, first_lanes(n), v);
}

#include "kern/math/gemm_tmpl.h"

void fw_gemm_fill_avx2(fw_gemm *gemm) {
  fill(gemm);
}
