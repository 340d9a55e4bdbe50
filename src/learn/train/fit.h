/* learn/train/fit.h: one call of fit, shared by fit.c (data, history, early stopping, checkpoints) and fit_net.c and
 * fit_forest.c, which train. */
#ifndef FW_LEARN_TRAIN_FIT_H
#define FW_LEARN_TRAIN_FIT_H

#include "learn/checkpoint/checkpoint.h"
#include "learn/data/epoch_rows.h"
#include "learn/data/scaling.h"
#include "learn/train/trainer.h"

typedef struct fw_fit fw_fit;

/* The steps in which nets and forests differ. An epoch of a forest is a round. */
typedef struct fw_fit_ops {
  /* Runs before the first epoch, after a checkpoint was loaded. */
  furrow_status (*begin)(fw_fit *fit, furrow_error *err);
  /* Trains one epoch; fills in rate, metrics and time. */
  furrow_status (*train)(fw_fit *fit, fw_epoch *epoch, furrow_error *err);
  /* Counts the scores of the validation rows in fit->tally: those of this rank, or of all (scores_all_ranks). */
  furrow_status (*score_valid)(fw_fit *fit, furrow_error *err);
  bool scores_all_ranks;
  /* Fills in the figures of the validation rows itself; NULL: score_valid does. */
  furrow_status (*validate)(fw_fit *fit, fw_epoch *epoch, furrow_error *err);
  /* Keeps the parameters of the best epoch; restores them. */
  furrow_status (*keep)(fw_fit *fit, furrow_error *err);
  furrow_status (*restore)(fw_fit *fit, furrow_error *err);
  /* Runs behind the last epoch. NULL: nothing does. */
  furrow_status (*finish)(fw_fit *fit, furrow_error *err);
  /* Makes an object for a checkpoint to be read into; puts it in place of the trainer's own. */
  furrow_status (*make)(const furrow_trainer *trainer, fw_snapshot_ops *made, furrow_error *err);
  furrow_status (*adopt)(furrow_trainer *trainer, void *made, furrow_error *err);
  void (*drop)(void *made);
  /* What a checkpoint has of the trainer. */
  fw_snapshot_ops (*snapshot_ops)(const furrow_trainer *trainer);
  bool keeps_snapshots; /* of the best epoch, in a checkpoint */
} fw_fit_ops;

extern const fw_fit_ops fw_fit_net, fw_fit_convex, fw_fit_factors, fw_fit_forest, fw_fit_rank;

struct fw_fit {
  furrow_trainer *trainer;
  furrow_trainer_fit_params params;
  const fw_fit_ops *ops;
  const struct fw_fit_metric *by;
  fw_samples *samples, *valid_samples;
  fw_epoch_rows *train, *valid;
  fw_holdout holdout;          /* rows of `samples` that are for validation; empty: none, or by their numbers */
  furrow_container *fold_rows; /* rows that were left out, to be scored at the end; NULL: none */
  fw_scaling scaling;          /* of samples and valid_samples, where scaled is true */
  fw_scaling linear_scaling;   /* of the linear model, where the net cannot take the means that it can */
  bool scaled;
  bool widen;    /* the saved weights are doubles */
  bool in_units; /* the net's weights are those of scaled rows now */
  bool anew;     /* there are no weights to go on from */
  bool exact;    /* the exact minimum is sought: fw_fit_convex, fw_fit_factors */
  bool large;    /* there are too many features for the vectors of fw_fit_factors */
  bool separate; /* validation rows have data of their own */
  bool ratings;  /* the labels are numbers that users gave to items */
  bool in_order; /* the rows of a user come in the order of their times */
  bool done;     /* no epoch need follow */
  fw_tally *tally;
  uint32_t epoch;                /* now */
  const char *phase;             /* for progress */
  uint64_t reported;             /* rows at the last call of progress */
  fw_buffer best_snapshot;       /* the net of the best epoch, where it is to be kept */
  uint64_t best_steps;           /* updates up to that epoch */
  size_t batch;                  /* nets: rows of one */
  struct fw_booster *booster;    /* forests */
  struct fw_convex_fit *convex;  /* exact minimum, and the linear model that a net begins with */
  double linear_l2;              /* the strength of that model */
  struct fw_factor_fit *factors; /* of a factorization machine */
  struct fw_rank_fit *rank;      /* a machine that ranks */
};

/* Steps of nets, which fw_fit_convex shares; and the scores of the validation rows, batch by batch. */
furrow_status fw_fit_net_score_valid(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_fit_net_keep(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_fit_net_restore(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_fit_net_make(const furrow_trainer *trainer, fw_snapshot_ops *made, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_fit_net_adopt(furrow_trainer *trainer, void *made, furrow_error *err) FURROW_MUST_USE;
void fw_fit_net_drop(void *made);
fw_snapshot_ops fw_fit_net_snapshot_ops(const furrow_trainer *trainer);
furrow_status fw_fit_net_score(fw_fit *fit, fw_scored_batch take, void *user, furrow_error *err) FURROW_MUST_USE;

/* A loss in the units of training, times this, is one in those of the data. */
double fw_fit_loss_unit(const fw_fit *fit);
double fw_fit_seconds(void);
/* How the plan, the data and the caller let a fit be done: fit->exact and fit->ops. */
void fw_fit_choose_ops(fw_fit *fit);
/* Reports progress to the caller now and then; `user` is the fw_fit (it fits fw_rows_progress). */
furrow_status fw_fit_progress(void *user, uint64_t rows, furrow_error *err);
/* Reports that `done` of `of` pieces of a pass over the rows are done, each of which may take long: the caller can stop
 * between them. */
furrow_status fw_fit_ask(const fw_fit *fit, uint64_t done, uint64_t of, furrow_error *err) FURROW_MUST_USE;
/* OK if all ranks' status is; else that of the first rank that failed, with its error, on all ranks. */
furrow_status fw_fit_share_failure(const fw_fit *fit, furrow_status status, furrow_error *err) FURROW_MUST_USE;
/* Lets the caller stop between two passes over the rows before the first epoch. */
furrow_status fw_fit_pause(const fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* E_ARGUMENT: there are no rows to train with, and why. */
furrow_status fw_fit_no_rows(const fw_fit *fit, furrow_error *err);

#endif
