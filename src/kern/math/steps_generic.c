/* kern/math/steps_generic.c: steps of optimizers in plain C. */
#include <math.h>
#include <stdint.h>

#include "kern/math/steps.h"

#define VECTOR_BYTES 16

typedef float lanes_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(float)), may_alias));
typedef double lanes_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(double)), may_alias));

static inline lanes_f32 root_f32(lanes_f32 v) {
  return (lanes_f32){sqrtf(v[0]), sqrtf(v[1]), sqrtf(v[2]), sqrtf(v[3])};
}
static inline lanes_f64 root_f64(lanes_f64 v) {
  return (lanes_f64){sqrt(v[0]), sqrt(v[1])};
}

#define REAL float
#define BITS int32_t
#define NAME(name) name##_f32
#include "kern/math/steps_tmpl.h"

#define REAL double
#define BITS int64_t
#define NAME(name) name##_f64
#include "kern/math/steps_tmpl.h"

void fw_steps_fill_generic(fw_steps *f32, fw_steps *f64) {
  fill_f32(f32);
  fill_f64(f64);
}
