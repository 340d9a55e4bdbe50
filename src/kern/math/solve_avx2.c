/* kern/math/solve_avx2.c: solves small systems of linear equations with AVX2. */
#include "kern/math/solve.h"

#include "kern/math/solve_tmpl.h"

void fw_solve_fill_avx2(fw_solve *solve) {
  solve->positive = positive;
}
