/* kern/math/solve.h: small least squares problems: builds their equations, solves them, applies the solution.
 *
 * Each number adds or subtracts its terms in order, so every instruction set level gives the same bits. */
#ifndef FW_KERN_MATH_SOLVE_H
#define FW_KERN_MATH_SOLVE_H

#include <stddef.h>
#include <stdint.h>

#define FW_BLOCK_VECTORS 16 /* vectors of a block that `products` reads */

typedef struct fw_solve {
  /* Solves A x = b by a Cholesky decomposition. A is symmetric and positive definite; its upper half is read, n rows of
   * n floats, and is overwritten. x holds b, and the solution afterwards. A pivot that rounding has made too small is
   * raised to 1e-6 of the largest diagonal element, so that the solution is finite. */
  void (*positive)(size_t n, float *a, float *x);
  /* Adds the sum over i < count of weight[i] v v' to the upper half of a (n rows of n floats) and of weight[i] v to b,
   * where v are the n numbers vectors[row[i] * n …]. Numbers below the diagonal of a may change. */
  void (*add_squares)(size_t n, const float *vectors, const uint32_t *row, const float *weight, size_t count, float *a,
                      float *b);
  /* out[i] = <x, vector i>, for all vectors of `blocks` blocks; a block has n times the FW_BLOCK_VECTORS vectors'
   * numbers. */
  void (*products)(size_t n, const float *packed, size_t blocks, const float *x, float *out);
} fw_solve;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_solve *fw_solve_table(void);
void fw_solve_fill_generic(fw_solve *solve);
void fw_solve_fill_avx2(fw_solve *solve);

#endif
