/* kern/math/gather_avx2.c: sums over scattered numbers with AVX2. */
#include "kern/math/gather.h"

#define VECTOR_BYTES 32

#define REAL float
#define NAME(name) name##_f32
#include "kern/math/gather_tmpl.h"

#define REAL double
#define NAME(name) name##_f64
#include "kern/math/gather_tmpl.h"

void fw_gather_fill_avx2(fw_gather *f32, fw_gather *f64) {
  *f32 = (fw_gather){.rows = rows_f32, .uses = uses_f32};
  *f64 = (fw_gather){.rows = rows_f64, .uses = uses_f64};
}
