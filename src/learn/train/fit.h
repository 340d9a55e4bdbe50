/* learn/train/fit.h: one fit. prepare*.c turn a URI into prepared data, one of the solvers (solve_*.c) trains the
 * trainer's parameters or forest epoch by epoch, and fit.c keeps the history, the best epoch and checkpoints. */
#ifndef FW_LEARN_TRAIN_FIT_H
#define FW_LEARN_TRAIN_FIT_H

#include "learn/convex/linear_problem.h"
#include "learn/data/data_facts.h"
#include "learn/parameters/parameters.h"
#include "learn/train/trainer.h"

typedef struct fw_fit fw_fit;

/* ---- Solvers ---- */

/* A way to train. An epoch of a forest is a round. */
typedef struct fw_solver {
  /* Runs before the first epoch, after a checkpoint was loaded; again after a divergence. Sets fit->state. */
  furrow_status (*begin)(fw_fit *fit, furrow_error *err);
  /* Trains one epoch; fills in rate, metrics and time. */
  furrow_status (*train)(fw_fit *fit, fw_epoch *epoch, furrow_error *err);
  /* Adds the scores of the validation rows to fit->tally: this rank's rows, or all ranks' (scores_all_ranks). NULL: a
   * net of the parameters scores them. */
  furrow_status (*score_valid)(fw_fit *fit, furrow_error *err);
  bool scores_all_ranks;
  /* Fills in the figures of the validation rows itself; NULL: score_valid does. */
  furrow_status (*validate)(fw_fit *fit, fw_epoch *epoch, furrow_error *err);
  /* The epoch is the best so far; NULL: its parameters are all that has to be kept. */
  void (*keep)(fw_fit *fit);
  /* Runs after the last epoch; NULL: nothing does. */
  furrow_status (*finish)(fw_fit *fit, furrow_error *err);
  /* Training still diverges with the lowest rate: trains another model instead, as the last epoch. *rescued stays
   * false if there is none; NULL: there never is. */
  furrow_status (*rescue)(fw_fit *fit, fw_epoch *epoch, bool *rescued, furrow_error *err);
  /* Frees fit->state. */
  void (*free)(void *state);
  bool can_diverge; /* its steps depend on a learning rate */
} fw_solver;

extern const fw_solver fw_solve_net, fw_solve_linear, fw_solve_factors, fw_solve_ranking, fw_solve_forest;

/* ---- Prepared data ---- */

/* What the data, the plan and the caller settle before the first epoch. Solvers do not change it. */
typedef struct fw_prepared {
  struct fw_prepared *sampled; /* streamed rows: some of them in memory, for the linear model of a net; NULL: none */
  furrow_trainer *trainer;
  furrow_trainer_fit_params params;
  const fw_solver *solver;
  bool exact;         /* the solver seeks the exact minimum: L-BFGS */
  bool l2_by_epochs;  /* l2 is not set and was derived from the number of epochs */
  bool from_scratch;  /* there are no weights to continue from */
  bool goes_on;       /* the model was loaded, and it is known how often its features occurred before */
  uint64_t rows;      /* of the data; 0: not known */
  uint64_t longest;   /* features of the longest row */
  bool tries_steps;   /* held-out rows choose rate and L2 of a net */
  bool own_valid;     /* validation rows have a URI of their own */
  bool ratings;       /* the labels are numbers that users gave to items */
  bool named_classes; /* the labels are classes with names */
  bool leaks;         /* a column alone gives the label away */
  double valid_ratio; /* share of the training rows that is held out */
  bool in_order;      /* each user's rows are in the order of their times */
  fw_samples *samples, *valid_samples; /* valid_samples NULL: validation rows are among `samples`, or there are none */
  fw_epoch_rows *train, *valid;        /* valid NULL: there are no validation rows */
  fw_holdout holdout;                  /* rows of `samples` that are for validation; empty: none, or by their numbers */
  unsigned folds;              /* above 1: all folds of `holdout` say whether a net helps, the first one is `valid` */
  furrow_container *fold_rows; /* rows that were left out, to be scored at the end; NULL: none */
  bool scaled;                 /* rows are in the units of `scaling` */
  bool widens;                 /* the saved weights are doubles */
  fw_scaling scaling;          /* scaling of features and labels */
  fw_scaling linear_scaling; /* scaling of the linear model, where the net cannot take means that a linear model can */
} fw_prepared;

/* Opens `train` (and `valid`, unless NULL), settles what the configuration leaves to the data, and scales the rows. The
 * trainer's plan is settled afterwards. `prepared` has trainer and params, else zeros; to be cleared after a failure,
 * too. */
furrow_status fw_prepare(fw_prepared *prepared, const char *train, const char *valid,
                         furrow_error *err) FURROW_MUST_USE;
void fw_prepared_clear(fw_prepared *prepared);
/* Draws rows of all ranks as the loss asks for: folds, or (folds 1) a share. To be cleared after a failure, too. */
furrow_status fw_prepared_draw(const fw_prepared *prepared, fw_holdout *holdout, unsigned folds, double ratio,
                               furrow_error *err) FURROW_MUST_USE;
/* Opens the training rows together with those that are held out; to be closed before `prepared` is cleared. */
furrow_status fw_prepared_open_all(const fw_prepared *prepared, fw_epoch_rows **rows,
                                   furrow_error *err) FURROW_MUST_USE;
/* Opens the training rows and the validation rows of a fold, also to be closed after a failure. */
furrow_status fw_prepared_open_fold(const fw_prepared *prepared, unsigned fold, fw_epoch_rows **train,
                                    fw_epoch_rows **valid, furrow_error *err) FURROW_MUST_USE;
/* Validation rows that are in memory; NULL: they are streamed. */
const furrow_rowblock *fw_prepared_valid_block(const fw_prepared *prepared);
/* Fails with E_ARGUMENT and says why there are no rows to train with. */
furrow_status fw_fail_no_rows(const fw_prepared *prepared, furrow_error *err);
/* OK if all ranks' status is; else the status and error of the first rank that failed, on all ranks. */
furrow_status fw_prepared_share(const fw_prepared *prepared, furrow_status status, furrow_error *err) FURROW_MUST_USE;

/* Steps of fw_prepare, each in its file. prepare_rows.c: */
furrow_status fw_prepare_samples(fw_prepared *prepared, const char *train, const char *valid,
                                 furrow_error *err) FURROW_MUST_USE;
furrow_status fw_prepare_epoch_rows(fw_prepared *prepared, const char *valid, furrow_error *err) FURROW_MUST_USE;
/* prepare.c: what an encoder says of a raw log; the labels alone, by all rows, which are in memory. */
furrow_status fw_prepare_encoder(fw_prepared *prepared, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_prepare_labels(fw_prepared *prepared, furrow_error *err) FURROW_MUST_USE;
/* prepare_units.c: scaling, the first bias, weights of classes; and notes about columns. */
furrow_status fw_prepare_units(fw_prepared *prepared, const fw_data_facts *facts, furrow_error *err) FURROW_MUST_USE;
/* The name of a column of csv data, or its number. */
furrow_status fw_name_csv_column(const furrow_learn_conf *conf, uint64_t column, char name[64],
                                 furrow_error *err) FURROW_MUST_USE;
/* leaks.c: warns about columns that alone give the label away, of tables that one process has in memory. */
furrow_status fw_prepare_leaks(fw_prepared *prepared, const fw_data_facts *facts, furrow_error *err) FURROW_MUST_USE;
/* curves.c: warns about numbers whose effect is not a straight line, where the model has one weight for each, of rows
 * that one process has in memory. */
furrow_status fw_prepare_curves(fw_prepared *prepared, const fw_data_facts *facts, furrow_error *err) FURROW_MUST_USE;

/* ---- The fit ---- */

struct fw_fit {
  const fw_parameters *first; /* the parameters to go on from; NULL: those of the trainer */
  furrow_trainer *trainer;
  const fw_prepared *data;
  const fw_solver *solver;
  void *state; /* state of the solver */
  const struct fw_fit_metric *by;
  fw_tally *tally;
  bool keep_best;
  uint32_t patience;
  uint32_t epochs;         /* the most that are trained */
  double best_figure;      /* of a part: the figure of its best epoch; less is better */
  double linear_l2;        /* strength of the linear model that a net begins as; 0: to be chosen */
  bool done;               /* no epoch need follow */
  bool stopped;            /* the caller ended the training */
  const char *phase;       /* for progress */
  uint64_t reported;       /* rows at the last call of progress */
  fw_buffer best_snapshot; /* parameters of the best epoch, where they are to be kept */
  uint64_t best_steps;     /* updates up to that epoch */
  /* Of a linear model that no validation rows judge: loss and figures of a constant of held-out rows, in the units of
   * training; no rows: none were held out. */
  furrow_learn_metrics held_out;
  furrow_learn_metrics
      kept_before; /* of the validation rows, where a forest goes on without a new tree; else no rows */
};

/* The figure of these rows by which epochs are compared; less is better. */
double fw_fit_figure(const fw_fit *fit, const furrow_learn_metrics *rows);

/* The factor from a loss in the units of training to a loss in the units of the data. */
double fw_fit_loss_unit(const fw_fit *fit);
/* The loss of the best constant for the rows that have these figures; NaN: not known. */
double fw_fit_constant_loss(const fw_fit *fit, const furrow_learn_metrics *rows);
/* The features that the key `monotone` names, to be freed with fw_free; none: *list stays as it is.
 * E_ARGUMENT: the data has no such column, or it is not a number. */
furrow_status fw_trainer_monotone(const furrow_trainer *trainer, fw_monotone **list, size_t *count,
                                  furrow_error *err) FURROW_MUST_USE;
/* Reports progress to the caller now and then; `user` is the fw_fit (it fits fw_rows_progress). */
furrow_status fw_fit_progress(void *user, uint64_t rows, furrow_error *err);
/* Reports that `done` of `of` parts of a pass over the rows are done. A part may take long: the caller can stop between
 * two parts. */
furrow_status fw_fit_ask(const fw_fit *fit, uint64_t done, uint64_t of, furrow_error *err) FURROW_MUST_USE;

/* Trains the trainer's model from scratch as a part of a fit: without checkpoints, and without a trace in the trainer's
 * history. With keep_best, the parameters are those of the best epoch, whose number *best gets. */
furrow_status fw_fit_run_part(fw_fit *part, uint32_t *best, furrow_error *err) FURROW_MUST_USE;
/* Fills in fit->held_out for linear models that are trained by steps (svm) and hold no rows out: a model of four fifths
 * of the rows is judged on the others. Before the first epoch; the parameters are as they were. */
furrow_status fw_net_judge(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Changes rate and L2 of a net to the best of a few for held-out rows, unless they are set, or the data is large.
 * Before the first epoch; the parameters are as they were. */
furrow_status fw_net_choose_steps(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Restores the parameters of the best epoch, which keep_best has kept. */
furrow_status fw_fit_restore_best(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;

/* Scores the validation rows with a net of the parameters: take(user, slot) for each batch of all ranks. */
furrow_status fw_fit_score_valid(fw_fit *fit, fw_scored_batch take, void *user, furrow_error *err) FURROW_MUST_USE;

/* ---- Linear models by their exact minimum (solve_linear.c) ---- */

typedef struct fw_convex_fit fw_convex_fit;

/* The problem of the rows that `rows` takes (NULL: of all samples), which are in memory. l2: of the objective.
 * factors > 0: a factorization machine, for rows as the net has them, and no solver yet. */
furrow_status fw_convex_fit_create(fw_convex_fit **convex, const fw_fit *fit, const fw_epoch_rows *rows, double l2,
                                   size_t factors, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_convex_fit_free(fw_convex_fit *convex);
fw_linear_problem *fw_convex_problem(const fw_convex_fit *convex);
/* Starts again from where it is, with another strength, for a solution that is exact enough to be compared. */
furrow_status fw_convex_fit_restart(fw_convex_fit *convex, double l2, furrow_error *err) FURROW_MUST_USE;
/* Iterates to the end; 200 times at most. */
furrow_status fw_convex_fit_solve(fw_convex_fit *convex, const fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Adds the scores of the rows at x (NULL: at the solution) to fit->tally, of all ranks. */
furrow_status fw_convex_fit_tally(fw_convex_fit *convex, const double *x, const fw_fit *fit,
                                  furrow_error *err) FURROW_MUST_USE;
/* The solution, for rows as the net has them; valid while the problem stays as it is. */
fw_linear_model fw_convex_model(const fw_convex_fit *convex);
/* The strength of regularisation that the plan has for a linear model; 1 where it leaves it to Furrow. */
double fw_convex_strength(const fw_prepared *prepared);
/* Labels and weights of all rows of this rank, as the loss takes them; to be freed, after a failure, too. */
furrow_status fw_convex_labels(const fw_prepared *prepared, const furrow_rowblock *rows, double **label,
                               double **weight, furrow_error *err) FURROW_MUST_USE;

/* ---- The strength of a linear model (linear_strength.c) ---- */

enum { FW_STRENGTH_ROWS = 50 }; /* fewer rows do not choose a strength */

/* Changes *l2 by factors of sqrt(10) as long as that is better for held-out rows, which are in memory: the validation
 * data, or each fifth of the rows in turn (from 20,000 rows on only the first; from 100,000 on, a sample of 50,000
 * rows is solved, and another one is held out). *held_out (may be NULL) gets the loss
 * of these rows and the figures of a constant for them. */
furrow_status fw_linear_strength_choose(const fw_fit *fit, double *l2, furrow_learn_metrics *held_out,
                                        furrow_error *err) FURROW_MUST_USE;
/* The loss of a linear model's score. A loss of probabilities gets the probability that belongs to it. */
double fw_linear_row_loss(const fw_graph *graph, const double *score, double label);

/* ---- A net that begins as the linear model of the data, and falls back to it (linear_start.c) ---- */

typedef struct fw_linear_start {
  fw_parameters *first;  /* the loaded parameters, if the net goes on from a linear model; else NULL */
  fw_convex_fit *convex; /* NULL: the plan, or the data, does not allow for a linear model */
  double l2;             /* the strength that is best for held-out rows */
  bool rescued;          /* the net diverged, and its last epoch is the linear model */
} fw_linear_start;

/* Before the first epoch: solves the linear model, and writes it into the parameters unless a checkpoint was loaded. */
furrow_status fw_linear_start_solve(fw_linear_start *start, fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* The net diverged: the parameters become the linear model of the training rows, whose figures the epoch gets. Leaves
 * *rescued as it is if there is no such model. */
furrow_status fw_linear_start_rescue(fw_linear_start *start, fw_fit *fit, fw_epoch *epoch, bool *rescued,
                                     furrow_error *err) FURROW_MUST_USE;

/* Losses of the linear model and of the net on the same rows. */
typedef struct fw_comparison {
  bool chosen; /* the net is the best of a few for some of these rows */
  size_t rows;
  double weight, sum, squares; /* sums of weights, of differences linear - net, and of their squares */
  double losses[2];            /* sums of losses: linear, net */
} fw_comparison;

/* Whether there is a linear model to be compared with on validation rows. */
bool fw_linear_start_can_compare(const fw_linear_start *start, const fw_fit *fit);
/* Adds the validation rows to the comparison. */
furrow_status fw_linear_start_compare(const fw_linear_start *start, fw_fit *fit, fw_comparison *comparison,
                                      furrow_error *err) FURROW_MUST_USE;
/* By how many standard errors of the mean difference the net is better, and by how many it has to be. */
double fw_comparison_errors(const fw_comparison *comparison);
double fw_comparison_needed(const fw_comparison *comparison);
/* If the net is not better by enough, the parameters become the linear model, solved again with all rows; a note says
 * so. */
furrow_status fw_linear_start_fall_back(const fw_linear_start *start, fw_fit *fit, const fw_comparison *comparison,
                                        furrow_error *err) FURROW_MUST_USE;

#endif
