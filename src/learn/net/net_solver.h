/* learn/net/net_solver.h: trains and scores parameters with a net, batch by batch.
 *
 * One process prepares batches while others are trained (net_pipeline.c); several ranks exchange what they have of each
 * batch (rank_batch.c). What a batch does to the parameters depends on the batches before it alone, not on the
 * number of threads. */
#ifndef FW_LEARN_NET_NET_SOLVER_H
#define FW_LEARN_NET_NET_SOLVER_H

#include "base/pool.h"
#include "learn/net/batch_slot.h"

/* The progress of a training. */
typedef struct fw_train_steps {
  uint64_t count;       /* updates so far that the optimizers know of */
  uint32_t halvings;    /* of the learning rate, each after a divergence */
  atomic_bool diverged; /* a loss or score was not a number */
} fw_train_steps;

/* The next update, in an epoch from 1. */
fw_step fw_train_steps_next(const fw_train_steps *steps, const fw_train_conf *train, uint32_t epoch);

typedef struct fw_pipeline fw_pipeline;
typedef struct fw_rank_batch fw_rank_batch;

typedef struct fw_net_solver {
  fw_net *net;
  const fw_plan *plan;
  fw_spin_pool *pool;
  fw_train_steps *steps;
  fw_batch_slot slots[2]; /* of single steps, and of several ranks: one is trained, one filled */
  fw_pipeline *pipeline;  /* of one process; NULL: there was no run yet */
  fw_rank_batch *ranks;   /* of several ranks; else NULL */
} fw_net_solver;

/* What is borrowed must outlive the solver. max_features: of all ranks together; 0: no limit. */
furrow_status fw_net_solver_create(fw_net_solver **solver, fw_parameters *parameters, fw_spin_pool *pool,
                                   fw_train_steps *steps, uint64_t max_features, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_net_solver_free(fw_net_solver *solver);

typedef void (*fw_scored_batch)(void *user, const fw_batch_slot *slot);
typedef furrow_status (*fw_rows_progress)(void *user, uint64_t rows, furrow_error *err);

typedef struct fw_net_job {
  const fw_row_source *from; /* of several ranks: this rank's rows of each batch */
  bool train;                /* else rows are only scored */
  uint32_t epoch;
  /* For each batch of all ranks, one after the other, on some thread; NULL: not wanted. Training takes fw_tally_batch
   * alone. */
  fw_scored_batch take;
  void *user;
  fw_rows_progress done; /* after each batch, on this thread, with the rows of all ranks so far; may be NULL */
  void *done_user;
} fw_net_job;

/* Trains or scores all batches of a source. Returns the first failure in the order of batches, on all ranks; the
 * batches before it are trained. */
furrow_status fw_net_solver_run(fw_net_solver *solver, const fw_net_job *job, furrow_error *err) FURROW_MUST_USE;
/* One update, from all rows of `from`; *loss is their mean loss. E_ARGUMENT: there are none. */
furrow_status fw_net_solver_step(fw_net_solver *solver, const fw_row_source *from, uint32_t epoch, double *loss,
                                 furrow_error *err) FURROW_MUST_USE;

/* ---- Ways to run, for fw_net_solver_run ---- */

furrow_status fw_pipeline_run(fw_net_solver *solver, const fw_net_job *job, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_pipeline_free(fw_pipeline *pipeline);
/* max_features: of all ranks together; 0: no limit. */
furrow_status fw_rank_batch_create(fw_rank_batch **batch, fw_net *net, uint64_t max_features,
                                   furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_rank_batch_free(fw_rank_batch *batch);
/* Collective. *loss: the mean loss of the last batch that was trained. */
furrow_status fw_net_run_ranks(fw_net_solver *solver, const fw_net_job *job, double *loss,
                               furrow_error *err) FURROW_MUST_USE;

#endif
