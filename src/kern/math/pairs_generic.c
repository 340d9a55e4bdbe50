/* kern/math/pairs_generic.c: products of all pairs of vectors in plain C. */
#include "kern/math/pairs.h"

#define VECTOR_BYTES 16

#define REAL float
#define NAME(name) name##_f32
#include "kern/math/pairs_tmpl.h"

#define REAL double
#define NAME(name) name##_f64
#include "kern/math/pairs_tmpl.h"

void fw_pairs_fill_generic(fw_pairs *f32, fw_pairs *f64) {
  *f32 = (fw_pairs){.products = products_f32, .spread = spread_f32};
  *f64 = (fw_pairs){.products = products_f64, .spread = spread_f64};
}
