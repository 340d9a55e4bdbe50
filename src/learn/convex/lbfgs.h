/* learn/convex/lbfgs.h: minimises a smooth function by L-BFGS, one iteration a call (Nocedal and Wright, Numerical
 * Optimization, 7.2).
 *
 * Sums run over fixed blocks whose parts are added in order: the same bytes for any number of threads, if the function
 * keeps to that, too. */
#ifndef FW_LEARN_CONVEX_LBFGS_H
#define FW_LEARN_CONVEX_LBFGS_H

#include <stddef.h>

#include "base/pool.h"

/* The value at x and its derivative by each of the n numbers of x. A value that is not finite makes the step shorter;
 * a failure ends the iteration, and x stays where it was. */
typedef furrow_status (*fw_value_and_gradient)(void *user, const double *x, double *gradient, double *value,
                                               furrow_error *err);

typedef struct fw_lbfgs_params {
  fw_value_and_gradient function;
  void *user;             /* of the function */
  double tolerance;       /* converged: no derivative is larger */
  double value_tolerance; /* converged: two iterations in a row lowered the value by this share at most; 0: never */
  const double *diagonal; /* n numbers > 0: about the second derivatives; copied. NULL: all 1 */
  fw_spin_pool *pool;     /* NULL: the caller's thread alone. Must outlive the minimiser */
} fw_lbfgs_params;

typedef enum fw_lbfgs_state {
  FW_LBFGS_GOING,
  FW_LBFGS_CONVERGED,
  FW_LBFGS_STUCK /* rounding hides any descent: x is as good as it gets */
} fw_lbfgs_state;

enum { FW_LBFGS_HISTORY = 120 }; /* at most */

/* For reading: where it is, and after the first step the value and the largest derivative there, and the calls of the
 * function so far. The rest is its own. */
typedef struct fw_lbfgs {
  double *x; /* n numbers; before the first step the start */
  double value, largest;
  size_t evaluations;
  size_t n, blocks;
  fw_lbfgs_params params;
  double *memory;
  double *gradient, *next_x, *next_gradient, *direction, *inverse; /* inverse: 1 / diagonal; NULL: all 1 */
  double *step, *change; /* differences of x and of the gradient, `history` of each; a ring, the newest at `newest` */
  double product[FW_LBFGS_HISTORY]; /* of both */
  size_t history, pairs, newest;
  double *part; /* of a sum, for each block */
  unsigned small_gains;
  fw_lbfgs_state state;
} fw_lbfgs;

/* Starts at `start` (n numbers, copied; n > 0). */
furrow_status fw_lbfgs_create(fw_lbfgs **lbfgs, size_t n, const double *start, const fw_lbfgs_params *params,
                              furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_lbfgs_free(fw_lbfgs *lbfgs);

/* One iteration: a direction and a step along it that fulfils the strong Wolfe conditions. The first call evaluates the
 * start before that. Does nothing once it has converged or is stuck. E_RANGE: not finite at the start; else what the
 * function says. */
furrow_status fw_lbfgs_step(fw_lbfgs *lbfgs, fw_lbfgs_state *state, furrow_error *err) FURROW_MUST_USE;

#endif
