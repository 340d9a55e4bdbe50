/* kern/math/gemm_avx512.c: matrix products with AVX-512. */
#include <immintrin.h>

#include "kern/math/gemm.h"

typedef __m512 vf;

#define ROWS 8
#define COLS 3
#define WIDTH 16

static inline vf vf_load(const float *p) {
  return _mm512_loadu_ps(p);
}
static inline vf vf_set(float x) {
  return _mm512_set1_ps(x);
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return _mm512_fmadd_ps(a, b, c);
}
static inline vf vf_add(vf a, vf b) {
  return _mm512_add_ps(a, b);
}
static inline vf vf_relu(vf v) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
}
static inline void vf_store(float *p, vf v) {
  _mm512_storeu_ps(p, v);
}
static inline vf vf_load_part(const float *p, size_t n) {
  return _mm512_maskz_loadu_ps((__mmask16)((1U << n) - 1), p);
}
static inline void vf_store_part(float *p, size_t n, vf v) {
  _mm512_mask_storeu_ps(p, (__mmask16)((1U << n) - 1), v);
}

#include "kern/math/gemm_tmpl.h"

void fw_gemm_fill_avx512(fw_gemm *gemm) {
  fill(gemm);
}
