/* learn/convex/linear_problem.h: linear models as a convex problem over rows in memory; and factorization machines,
 * whose problem is smooth but not convex.
 *
 *   sum over rows of weight * loss(label, x·W + b)  +  l2 / 2 * |W|²       (b is not regularised)
 *
 * With factors, each feature i also has a vector v_i: the score has the sum of x_i x_j v_i·v_j over all pairs i < j of
 * a row's features, too, and the objective factor_l2 / 2 * the sum of scale_i |v_i|². scale_i is n_i^0.75, where n_i,
 * the sum of weight * x_i² over rows, is the number of rows of a one-hot feature (at least 1).
 *
 * The losses are defined in learn/metrics/loss.c: L2 is half of the squared difference; of Poisson's, the deviance,
 * half is taken. So l2 = 1 is what scikit-learn's LogisticRegression(C=1), Ridge(alpha=1) and, for n rows,
 * PoissonRegressor(alpha=1/n) minimise. Sums over rows are made in blocks or by feature, in an order that the shape of
 * the problem alone decides: the same bytes for any number of threads, and of ranks. */
#ifndef FW_LEARN_CONVEX_LINEAR_PROBLEM_H
#define FW_LEARN_CONVEX_LINEAR_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "comm/collectives.h"
#include "furrow/rows.h"
#include "learn/conf/conf.h"

/* ---- L-BFGS (lbfgs.c) ----
 *
 * Optimization, 7.2).
 *
 * Sums run over fixed blocks whose parts are added in order: the same bytes for any number of threads, if the function
 * keeps to that, too. */

/* The value at x and its derivative by each of the n numbers of x. A value that is not finite makes the step shorter;
 * a failure ends the iteration, and x stays where it was. */
typedef furrow_status (*fw_value_and_gradient)(void *user, const double *x, double *gradient, double *value,
                                               furrow_error *err);

typedef struct fw_lbfgs_params {
  fw_value_and_gradient function;
  void *user;             /* the user pointer of the function */
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

enum { FW_LBFGS_HISTORY = 120 }; /* the most pairs that are kept */

/* Callers may read the current point x, after the first step also the value, the largest derivative and the number of
 * calls of the function. The rest is private. */
typedef struct fw_lbfgs {
  double *x; /* the current point, n numbers; before the first step the start */
  double value, largest;
  size_t evaluations;
  size_t n, blocks;
  fw_lbfgs_params params;
  double *memory;
  double *gradient, *next_x, *next_gradient, *direction, *inverse; /* inverse: 1 / diagonal; NULL: all 1 */
  double *step, *change; /* differences of x and of the gradient, `history` of each; a ring, the newest at `newest` */
  double product[FW_LBFGS_HISTORY]; /* inner product of step and change */
  size_t history, pairs, newest;
  double *part; /* part of a sum, for each block */
  unsigned small_gains;
  fw_lbfgs_state state;
} fw_lbfgs;

/* Starts at `start` (n numbers, copied; n > 0). */
furrow_status fw_lbfgs_create(fw_lbfgs **lbfgs, size_t n, const double *start, const fw_lbfgs_params *params,
                              furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_lbfgs_free(fw_lbfgs *lbfgs);

/* One iteration: a direction and a step along it that fulfils the strong Wolfe conditions. The first call evaluates the
 * start before that. Does nothing once it has converged or is stuck. E_RANGE: the start is not finite; otherwise the
 * status of the function. */
furrow_status fw_lbfgs_step(fw_lbfgs *lbfgs, fw_lbfgs_state *state, furrow_error *err) FURROW_MUST_USE;

/* ---- Problem -------------------------------------------------------------------------------------------- */

/* Owns a copy of the rows. With several ranks, all ranks call its functions, and rows move between them. Its parameters
 * are one array: W[feature][output] by ascending key, then b[output]. With factors, the parameters of a feature are its
 * weight and its vector. */
typedef struct fw_linear_problem fw_linear_problem;

typedef struct fw_linear_params {
  const furrow_rowblock *rows; /* used only by create, like the arrays below */
  const uint32_t *use;         /* numbers of the rows to use; NULL: all */
  size_t count;                /* number of rows to use */
  const double *label;         /* by row of the block: 1 or -1 (log), 0 … outputs - 1 (softmax), any number */
  const double *weight;        /* by row of the block; NULL: all 1 */
  fw_loss_type loss;           /* FW_LOSS_LOG, SOFTMAX, L2, HUBER or POISSON */
  size_t outputs;              /* 1; softmax: classes */
  double delta;                /* Huber's, > 0 */
  double l2;                   /* 0 or more */
  uint64_t range;              /* keys must be below; 0: open */
  fw_spin_pool *pool;          /* NULL: the caller's thread alone. Must outlive the problem */
  size_t factors;              /* numbers of a feature's vector; 0: none. Not for softmax */
  double factor_l2;            /* 0 or more */
  const furrow_comm *comm;     /* NULL: alone. Else each rank gives its own rows; parameters are the same on all */
  uint64_t first_row;          /* the number of the block's first row in messages, from 0 */
} fw_linear_params;

/* Errors:  E_UNSUPPORTED, another loss; E_ARGUMENT, no rows, or all have weight 0, or a parameter that does not fit;
 *          E_RANGE, a label that the loss does not take, a value or weight that is not finite, a key beyond the range;
 *          E_MEMORY. */
furrow_status fw_linear_problem_create(fw_linear_problem **problem, const fw_linear_params *params,
                                       furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_linear_problem_free(fw_linear_problem *problem);

/* Keys that occur in the rows, ascending; they stay with the problem. */
const uint64_t *fw_linear_problem_keys(const fw_linear_problem *problem, size_t *features);
/* The rows that this rank has now, their labels and weights (NULL: all 1). With several ranks these are not the rows
 * that the rank passed to create: the rows of all ranks are divided again into consecutive ranges, in the order of
 * ranks. */
size_t fw_linear_problem_rows(const fw_linear_problem *problem, const double **label, const double **weight);
/* Parameters in all: features * (outputs + factors) + outputs. */
size_t fw_linear_problem_size(const fw_linear_problem *problem);
/* scale_i by feature; NULL without factors. */
const double *fw_linear_problem_factor_scale(const fw_linear_problem *problem);
/* Takes the place of l2: the objective has the sum of strength_i / 2 * (x_i - centre_i)² over all parameters, the
 * biases included. The problem takes ownership of both arrays (fw_free), even where solvers have to be created again.
 * Not for problems with factors. */
void fw_linear_problem_set_prior(fw_linear_problem *problem, double *centre, double *strength);
/* Changes the strengths; solvers of the problem have to be created again. */
void fw_linear_problem_set_l2(fw_linear_problem *problem, double l2, double factor_l2);

/* The objective and its gradient at x; a fw_value_and_gradient. One call at a time. Alone always OK. */
furrow_status fw_linear_problem_evaluate(void *problem, const double *x, double *gradient, double *value,
                                         furrow_error *err) FURROW_MUST_USE;
/* x·W + b of the rows of the problem that this rank has, in their order: outputs numbers for each. */
void fw_linear_problem_scores(const fw_linear_problem *problem, const double *x, double *scores);
/* The same for any rows (use NULL: all of the block); features that the problem does not have count as 0. Not with
 * factors. */
void fw_linear_problem_score_rows(const fw_linear_problem *problem, const double *x, const furrow_rowblock *rows,
                                  const uint32_t *use, size_t count, double *scores);

/* ---- Solver --------------------------------------------------------------------------------------------- */

typedef struct fw_linear_solver_params {
  double tolerance; /* bound of the largest derivative of the sum, as scikit-learn's tol; 0: 1e-4. Regression: times the
                       deviation of the labels */
  const double *w;  /* first W, and vectors; NULL: 0, where vectors would stay */
  const double *bias;     /* first b; NULL: log odds, log of the shares of classes, mean of the labels or its log */
  double value_tolerance; /* share of the objective that two iterations in a row must lower it by; 0: 1e-12 */
} fw_linear_solver_params;

/* L-BFGS on the problem, which must outlive it. params NULL: the defaults. Its x has the current parameters, before the
 * first step the start; each evaluation is a pass over the rows. */
furrow_status fw_linear_solver_create(fw_lbfgs **solver, fw_linear_problem *problem,
                                      const fw_linear_solver_params *params, furrow_error *err) FURROW_MUST_USE;

#endif
