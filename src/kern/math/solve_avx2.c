/* kern/math/solve_avx2.c: small least squares problems with AVX2. */
#include "kern/math/solve.h"

#include "kern/math/solve_tmpl.h"

void fw_solve_fill_avx2(fw_solve *solve) {
  solve->positive = positive;
  solve->add_squares = add_squares;
  solve->products = products;
}
