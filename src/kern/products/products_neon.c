/* kern/products/products_neon.c: inner products for AArch64. */
#include <arm_neon.h>
#include <math.h>

#include "kern/products/products.h"

typedef float32x4_t vf;
typedef uint32x4_t vi;

#define ROWS 5
#define COLS 1
#define WIDTH 4

static inline vf vf_load(const float *p) {
  return vld1q_f32(p);
}
static inline vf vf_set(float x) {
  return vdupq_n_f32(x);
}
static inline vf vf_negative(vf v) {
  return vnegq_f32(v);
}
static inline vf vf_fma(vf a, vf b, vf c) {
  return vfmaq_f32(c, a, b);
}
static inline void vf_store(float *p, vf v) {
  vst1q_f32(p, v);
}
static inline vi vi_iota(uint32_t first) {
  static const uint32_t steps[4] = {0, 1, 2, 3};
  return vaddq_u32(vdupq_n_u32(first), vld1q_u32(steps));
}
static inline vi vi_load(const uint32_t *p) {
  return vld1q_u32(p);
}
static inline void vi_store(uint32_t *p, vi v) {
  vst1q_u32(p, v);
}
static inline vi vi_set(uint32_t x) {
  return vdupq_n_u32(x);
}
static inline void vf_winner(const vf *best, const vi *where, uint32_t *number, float *score) {
  *score = vmaxvq_f32(vmaxq_f32(vmaxq_f32(best[0], best[1]), vmaxq_f32(best[2], best[3])));
  *number = UINT32_MAX;
  for (int i = 0; i < 4; i++) {
    const vi equal = vceqq_f32(best[i], vdupq_n_f32(*score));
    const uint32_t least = vminvq_u32(vbslq_u32(equal, where[i], vdupq_n_u32(UINT32_MAX)));
    if (least < *number) *number = least;
  }
}
static inline void vf_keep(vf *best, vi *where, vf v, vi at) {
  const vi better = vcgtq_f32(v, *best);
  *best = vbslq_f32(better, v, *best);
  *where = vbslq_u32(better, at, *where);
}

typedef float64x2_t vd;
#define SUM_WIDTH 2

static inline vd vd_widen(const float *p) {
  return vcvt_f64_f32(vld1_f32(p));
}
static inline vd vd_zero(void) {
  return vdupq_n_f64(0);
}
static inline vd vd_add(vd a, vd b) {
  return vaddq_f64(a, b);
}
static inline void vd_store(double *p, vd v) {
  vst1q_f64(p, v);
}

#include "kern/products/products_tmpl.h"

void fw_products_fill_neon(fw_products *products) {
  products->nearest = nearest;
  products->scores = scores;
  products->sum_rows = sum_rows;
}
