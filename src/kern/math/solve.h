/* kern/math/solve.h: solves small systems of linear equations.
 *
 * Each element of the factor subtracts its terms in order, so every instruction set level gives the same bits. */
#ifndef FW_KERN_MATH_SOLVE_H
#define FW_KERN_MATH_SOLVE_H

#include <stddef.h>

typedef struct fw_solve {
  /* Solves A x = b by a Cholesky decomposition. A is symmetric and positive definite; its upper half is read, n rows of
   * n floats, and is overwritten. x holds b, and the solution afterwards. A pivot that rounding has made too small is
   * raised to 1e-6 of the largest diagonal element, so that the solution is finite. */
  void (*positive)(size_t n, float *a, float *x);
} fw_solve;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_solve *fw_solve_table(void);
void fw_solve_fill_generic(fw_solve *solve);
void fw_solve_fill_avx2(fw_solve *solve);

#endif
