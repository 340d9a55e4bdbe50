/* kern/math/steps_avx2.c: steps of optimizers with AVX2. */
#include <immintrin.h>
#include <stdint.h>

#include "kern/math/steps.h"

#define VECTOR_BYTES 32

typedef float lanes_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(float)), may_alias));
typedef double lanes_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(double)), may_alias));

static inline lanes_f32 root_f32(lanes_f32 v) {
  return _mm256_sqrt_ps(v);
}
static inline lanes_f64 root_f64(lanes_f64 v) {
  return _mm256_sqrt_pd(v);
}

#define REAL float
#define BITS int32_t
#define NAME(name) name##_f32
#include "kern/math/steps_tmpl.h"

#define REAL double
#define BITS int64_t
#define NAME(name) name##_f64
#include "kern/math/steps_tmpl.h"

void fw_steps_fill_avx2(fw_steps *f32, fw_steps *f64) {
  fill_f32(f32);
  fill_f64(f64);
}
