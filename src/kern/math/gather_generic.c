/* kern/math/gather_generic.c: sums over scattered numbers in plain C. */
#include "kern/math/gather.h"

#define VECTOR_BYTES 16

#define REAL float
#define NAME(name) name##_f32
#include "kern/math/gather_tmpl.h"

#define REAL double
#define NAME(name) name##_f64
#include "kern/math/gather_tmpl.h"

void fw_gather_fill_generic(fw_gather *f32, fw_gather *f64) {
  *f32 = (fw_gather){.rows = rows_f32, .uses = uses_f32};
  *f64 = (fw_gather){.rows = rows_f64, .uses = uses_f64};
}
