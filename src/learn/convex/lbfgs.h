/* learn/convex/lbfgs.h: minimises a smooth function by L-BFGS, one iteration a call (Nocedal and Wright, Numerical
 * Optimization, 7.2).
 *
 * Sums run over fixed blocks whose parts are added in order: the same bytes for any number of threads, if the function
 * keeps to that, too. */
#ifndef FW_LEARN_CONVEX_LBFGS_H
#define FW_LEARN_CONVEX_LBFGS_H

#include <stddef.h>

#include "base/pool.h"

typedef struct fw_lbfgs fw_lbfgs;

/* The value at x and its derivative by each of the n numbers of x. A value that is not finite makes the step shorter;
 * a failure ends the iteration, and x stays where it was. */
typedef furrow_status (*fw_value_and_gradient)(void *user, const double *x, double *gradient, double *value,
                                               furrow_error *err);

typedef struct fw_lbfgs_params {
  fw_value_and_gradient function;
  void *user;       /* of the function */
  double tolerance; /* converged: no derivative is larger */
  double
      value_tolerance; /* converged: two iterations in a row lowered the value by no more than this share; 0: never */
  const double *diagonal; /* n numbers > 0: about the second derivatives; copied. NULL: all 1 */
  fw_spin_pool *pool;     /* NULL: the caller's thread alone. Must outlive the minimiser */
} fw_lbfgs_params;

typedef enum fw_lbfgs_state {
  FW_LBFGS_GOING,
  FW_LBFGS_CONVERGED,
  FW_LBFGS_STUCK /* rounding hides any descent: x is as good as it gets */
} fw_lbfgs_state;

/* Starts at `start` (n numbers, copied; n > 0). */
furrow_status fw_lbfgs_create(fw_lbfgs **lbfgs, size_t n, const double *start, const fw_lbfgs_params *params,
                              furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_lbfgs_free(fw_lbfgs *lbfgs);

/* One iteration: a direction and a step along it that fulfils the strong Wolfe conditions. The first call evaluates the
 * start before that. Does nothing once it has converged or is stuck. E_RANGE: not finite at the start; else what the
 * function says. */
furrow_status fw_lbfgs_step(fw_lbfgs *lbfgs, fw_lbfgs_state *state, furrow_error *err) FURROW_MUST_USE;

/* Where it is, the value and the largest derivative there (after the first step), and the calls of the function so
 * far. */
const double *fw_lbfgs_x(const fw_lbfgs *lbfgs);
double fw_lbfgs_value(const fw_lbfgs *lbfgs);
double fw_lbfgs_largest_gradient(const fw_lbfgs *lbfgs);
size_t fw_lbfgs_evaluations(const fw_lbfgs *lbfgs);

#endif
