/* kern/math/gemm_neon.c: matrix products for AArch64. */
#include <arm_neon.h>

#include "kern/math/gemm.h"

typedef float32x4_t vf;

#define ROWS 6
#define COLS 3
#define WIDTH 4

static inline vf vf_load(const float *p) {
  return vld1q_f32(p);
}
static inline vf vf_set(float x) {
  return vdupq_n_f32(x);
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return vfmaq_f32(c, a, b);
}
static inline vf vf_add(vf a, vf b) {
  return vaddq_f32(a, b);
}
static inline vf vf_relu(vf v) {
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcleq_f32(v, vdupq_n_f32(0))));
}
static inline void vf_store(float *p, vf v) {
  vst1q_f32(p, v);
}
static inline vf vf_load_part(const float *p, size_t n) {
  float numbers[WIDTH] = {0};
  for (size_t i = 0; i < n; i++) numbers[i] = p[i];
  return vld1q_f32(numbers);
}
static inline void vf_store_part(float *p, size_t n, vf v) {
  float numbers[WIDTH];
  vst1q_f32(numbers, v);
  for (size_t i = 0; i < n; i++) p[i] = numbers[i];
}

#include "kern/math/gemm_tmpl.h"

void fw_gemm_fill_neon(fw_gemm *gemm) {
  fill(gemm);
}
