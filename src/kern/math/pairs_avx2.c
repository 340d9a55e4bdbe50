/* kern/math/pairs_avx2.c: products of all pairs of vectors with AVX2. */
#include "kern/math/pairs.h"

#define VECTOR_BYTES 32

#define REAL float
#define NAME(name) name##_f32
#include "kern/math/pairs_tmpl.h"

#define REAL double
#define NAME(name) name##_f64
#include "kern/math/pairs_tmpl.h"

void fw_pairs_fill_avx2(fw_pairs *f32, fw_pairs *f64) {
  *f32 = (fw_pairs){.products = products_f32, .spread = spread_f32};
  *f64 = (fw_pairs){.products = products_f64, .spread = spread_f64};
}
