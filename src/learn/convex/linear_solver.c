/* learn/convex/linear_solver.c: L-BFGS on a linear problem: the start, the scaling of the parameters, and the steps.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/convex/linear_parts.h"

#define LEAST_SHARE 1e-6 /* of a class, or mean of counts, for the first bias */

/* The weight of all rows, the mean of their labels and the deviation from it. */
typedef struct label_sums {
  double total, mean, deviation;
} label_sums;

static void add_labels(const fw_linear_problem *p, void *state) {
  label_sums *s = state;
  for (size_t i = 0; i < p->rows; i++) {
    const double weight = p->weight ? p->weight[i] : 1;
    s->total += weight;
    s->mean += weight * p->label[i];
  }
}

static void add_deviations(const fw_linear_problem *p, void *state) {
  label_sums *s = state;
  for (size_t i = 0; i < p->rows; i++)
    s->deviation += (p->weight ? p->weight[i] : 1) * (p->label[i] - s->mean) * (p->label[i] - s->mean);
}

static furrow_status sum_labels(const fw_linear_problem *p, label_sums *s, furrow_error *err) {
  *s = (label_sums){0};
  FW_TRY(fw_linear_add_by_rank(p, add_labels, s, sizeof *s, err));
  s->mean /= s->total;
  FW_TRY(fw_linear_add_by_rank(p, add_deviations, s, sizeof *s, err));
  s->deviation = sqrt(s->deviation / s->total);
  return FURROW_OK;
}

static double limit_share(double share) {
  return share < LEAST_SHARE ? LEAST_SHARE : share > 1 - LEAST_SHARE ? 1 - LEAST_SHARE : share;
}

/* state: the shares of the classes, then the sum of all weights. */
static void add_shares(const fw_linear_problem *p, void *state) {
  double *share = state;
  const double total = share[p->outputs];
  for (size_t i = 0; i < p->rows; i++) share[(size_t)p->label[i]] += (p->weight ? p->weight[i] : 1) / total;
}

/* Computes the shares of the classes (log: of the positive class) and the bias of a model without features. share: has
 * space for one more number. */
static furrow_status start_bias(const fw_linear_problem *p, const label_sums *sums, double *share, double *bias,
                                furrow_error *err) {
  if (p->loss == FW_LOSS_LOG) {
    share[0] = limit_share((1 + sums->mean) / 2);
    bias[0] = log(share[0] / (1 - share[0]));
  } else if (p->loss == FW_LOSS_SOFTMAX) {
    memset(share, 0, p->outputs * sizeof *share);
    share[p->outputs] = sums->total;
    FW_TRY(fw_linear_add_by_rank(p, add_shares, share, (p->outputs + 1) * sizeof *share, err));
    for (size_t k = 0; k < p->outputs; k++) share[k] = limit_share(share[k]);
    for (size_t k = 0; k < p->outputs; k++) bias[k] = log(share[k]);
  } else if (p->loss == FW_LOSS_POISSON) {
    bias[0] = log(fmax(sums->mean, LEAST_SHARE));
  } else {
    bias[0] = sums->mean;
  }
  return FURROW_OK;
}

/* Mean square of the numbers of vectors. */
static double mean_square_factors(const fw_linear_problem *p, const double *x) {
  double sum = 0;
  for (size_t f = 0; f < p->features; f++)
    for (size_t j = p->outputs; j < p->width; j++) sum += x[f * p->width + j] * x[f * p->width + j];
  return p->factors > 0 && p->features > 0 ? sum / (double)(p->features * p->factors) : 0;
}

/* The second derivative of the loss by the score, for a model without features; in regression, of the squared
 * difference. */
static double curve_of(const fw_linear_problem *p, const label_sums *sums, const double *share, size_t output) {
  if (p->loss == FW_LOSS_POISSON) return fmax(sums->mean, LEAST_SHARE);
  const bool classes = p->loss == FW_LOSS_LOG || p->loss == FW_LOSS_SOFTMAX;
  return classes ? share[output] * (1 - share[output]) : 1;
}

/* Approximates the second derivatives by the derivatives of a model without features. The second derivative by a
 * component of a vector also contains the squares of the numbers that the component is multiplied with. */
static furrow_status fill_diagonal(const fw_linear_problem *p, const label_sums *sums, const double *share,
                                   const double *start, double *diagonal, furrow_error *err) {
  const double others = mean_square_factors(p, start);
  double *square = diagonal; /* first one number per feature; then copied to the feature's parameters, from the end
                                on */
  FW_TRY(fw_linear_sum_squares(p, square, err));
  for (size_t k = 0; k < p->outputs; k++)
    diagonal[p->features * p->width + k] = sums->total * curve_of(p, sums, share, k);
  for (size_t f = p->features; f-- > 0;) {
    const double sum = square[f];
    for (size_t k = p->width; k-- > 0;) {
      const size_t output = k < p->outputs ? k : 0;
      const double curve = sum * curve_of(p, sums, share, output);
      const double second = k < p->outputs ? curve + p->l2 : curve * others + p->factor_l2 * p->factor_scale[f];
      diagonal[f * p->width + k] =
          second > 0 ? second : 1; /* a second derivative of 0: the loss does not depend on the parameter */
    }
  }
  for (size_t i = 0; p->strength && i < fw_linear_problem_size(p); i++) {
    const bool weight = i < p->features * p->width;
    diagonal[i] += p->strength[i] - (weight ? p->l2 : 0);
    if (!(diagonal[i] > 0)) diagonal[i] = 1;
  }
  return FURROW_OK;
}

static void fill_start(const fw_linear_problem *p, const fw_linear_solver_params *params, const double *bias,
                       double *start) {
  const size_t weights = p->features * p->width;
  if (p->centre && !params->w) {
    memcpy(start, p->centre, fw_linear_problem_size(p) * sizeof *start);
    return;
  }
  if (params->w)
    memcpy(start, params->w, weights * sizeof *start);
  else
    memset(start, 0, weights * sizeof *start);
  memcpy(start + weights, params->bias ? params->bias : bias, p->outputs * sizeof *start);
}

/* memory: for the start, the diagonal, and the shares and biases of the outputs */
static furrow_status start_lbfgs(fw_lbfgs **solver, fw_linear_problem *p, const fw_linear_solver_params *params,
                                 double *memory, furrow_error *err) {
  const size_t size = fw_linear_problem_size(p);
  double *start = memory, *diagonal = start + size, *bias = diagonal + size, *share = bias + p->outputs;
  label_sums sums;
  FW_TRY(sum_labels(p, &sums, err));
  const double tolerance = params->tolerance > 0 ? params->tolerance : 1e-4;
  fw_lbfgs_params lbfgs = {.function = fw_linear_problem_evaluate,
                           .user = p,
                           .tolerance = tolerance,
                           .value_tolerance = params->value_tolerance > 0 ? params->value_tolerance : 1e-8 * tolerance,
                           .diagonal = diagonal,
                           .pool = p->pool};
  if (fw_loss_is_regression(p->loss) && sums.deviation > 0) lbfgs.tolerance *= sums.deviation;
  FW_TRY(start_bias(p, &sums, share, bias, err));
  fill_start(p, params, bias, start);
  FW_TRY(fill_diagonal(p, &sums, share, start, diagonal, err));
  return fw_lbfgs_create(solver, size, start, &lbfgs, err);
}

furrow_status fw_linear_solver_create(fw_lbfgs **solver, fw_linear_problem *p, const fw_linear_solver_params *params,
                                      furrow_error *err) {
  const fw_linear_solver_params defaults = {0};
  double *memory = NULL;
  fw_lbfgs *made = NULL;
  furrow_status status = FW_ALLOC_ROWS(&memory, fw_linear_problem_size(p) + p->outputs + 1, 2, err);
  status = fw_comm_all_ok(p->comm, status, err);
  if (status == FURROW_OK)
    status = fw_comm_all_ok(p->comm, start_lbfgs(&made, p, params ? params : &defaults, memory, err), err);
  fw_free(memory);
  return FW_HAND_OVER(status, solver, made, fw_lbfgs_free);
}
