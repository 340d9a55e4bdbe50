/* learn/train/fit_convex.h: the linear model of the rows of a fit, by its exact minimum: lr, linear, robust, softmax;
 * and what nets begin with and must beat. */
#ifndef FW_LEARN_TRAIN_FIT_CONVEX_H
#define FW_LEARN_TRAIN_FIT_CONVEX_H

#include "learn/convex/linear_problem.h"
#include "learn/parameters/linear_parameters.h"
#include "learn/train/fit.h"

enum { FW_EPOCH_ITERATIONS = 10 }; /* of the solver, in an epoch */

typedef struct fw_convex_fit {
  uint32_t *use;          /* rows of the samples; NULL: all */
  size_t count;           /* of these, of this rank */
  double *label, *weight; /* of all rows of the samples */
  fw_loss_type loss;
  fw_linear_problem *problem;
  fw_lbfgs *solver;
  size_t rows, outputs;    /* rows that this rank has in the problem */
  double *scores;          /* of these rows */
  fw_scaled_block centred; /* the rows, where the linear model has units of its own */
  double *in_net_units;    /* then: its parameters for rows in those of the net, once it is solved */
} fw_convex_fit;

/* The problem of the rows that `rows` takes (NULL: of all samples), which are in memory. l2: of the objective.
 * factors > 0: that of a factorization machine, for rows as the net has them, and no solver yet. */
furrow_status fw_convex_fit_create(fw_convex_fit **convex, const fw_fit *fit, const fw_epoch_rows *rows, double l2,
                                   size_t factors, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_convex_fit_free(fw_convex_fit *convex);
/* Iterates to the end; 200 times at most. */
furrow_status fw_convex_fit_solve(fw_convex_fit *convex, const fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Counts the scores of the rows at x in fit->tally, those of all ranks. */
furrow_status fw_convex_fit_tally(fw_convex_fit *convex, const double *x, const fw_fit *fit,
                                  furrow_error *err) FURROW_MUST_USE;
/* The solution, for rows as the net has them; valid while the problem stays as it is. */
fw_linear_model fw_convex_model(const fw_convex_fit *convex);

/* The strength of regularisation that the plan has for a linear model; 1 where it leaves it to Furrow. */
double fw_convex_strength(const fw_fit *fit);

/* Labels and weights of all rows of this rank, as the loss takes them; to be freed, after a failure, too. */
furrow_status fw_convex_labels(const fw_fit *fit, const furrow_rowblock *rows, double **label, double **weight,
                               furrow_error *err) FURROW_MUST_USE;

#endif
