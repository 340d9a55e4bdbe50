/* kern/math/solve_generic.c: solves small systems of linear equations in plain C. */
#include "kern/math/solve.h"

#include "kern/math/solve_tmpl.h"

void fw_solve_fill_generic(fw_solve *solve) {
  solve->positive = positive;
}
