/* kern/math/solve_generic.c: small least squares problems in plain C. */
#include "kern/math/solve.h"

#include "kern/math/solve_tmpl.h"

void fw_solve_fill_generic(fw_solve *solve) {
  solve->positive = positive;
  solve->add_squares = add_squares;
  solve->products = products;
}
