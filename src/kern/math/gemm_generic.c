/* kern/math/gemm_generic.c: matrix products in plain C, four floats at once; multiply-adds are not contracted. */
#include "kern/math/gemm.h"

typedef float vf __attribute__((vector_size(16), aligned(4), may_alias));
typedef int bits __attribute__((vector_size(16)));

#define ROWS 4
#define COLS 3
#define WIDTH 4

static inline vf vf_load(const float *p) {
  return *(const vf *)p;
}
static inline vf vf_set(float x) {
  return (vf){x, x, x, x};
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return a * b + c;
}
static inline vf vf_add(vf a, vf b) {
  return a + b;
}
static inline vf vf_relu(vf v) {
  return (vf)((bits)v & ~(bits)(v <= 0));
}
static inline void vf_store(float *p, vf v) {
  *(vf *)p = v;
}
static vf vf_load_part(const float *p, size_t n) {
  vf v = {0};
  for (size_t i = 0; i < n; i++) v[i] = p[i];
  return v;
}
static void vf_store_part(float *p, size_t n, vf v) {
  for (size_t i = 0; i < n; i++) p[i] = v[i];
}

#include "kern/math/gemm_tmpl.h"

void fw_gemm_fill_generic(fw_gemm *gemm) {
  fill(gemm);
}
