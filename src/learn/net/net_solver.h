/* learn/net/net_solver.h: trains and scores parameters with a net, batch by batch.
 *
 * One process prepares batches while others are trained (net_pipeline.c); several ranks exchange their parts of each
 * batch (rank_batch.c). The effect of a batch on the parameters depends only on the batches before it, not on the
 * number of threads. */
#ifndef FW_LEARN_NET_NET_SOLVER_H
#define FW_LEARN_NET_NET_SOLVER_H

#include <stdatomic.h>

#include "base/pool.h"
#include "learn/data/minibatch.h"
#include "learn/metrics/metrics.h"
#include "learn/net/net.h"

/* ---- A batch in flight (batch_slot.c) ----
 *
 * Training has several of them: while the rows of one batch are trained, the next ones are read and prepared. */

typedef struct fw_batch_slot {
  fw_net *net;
  const fw_graph *graph;
  fw_batcher *batcher;
  fw_pass *pass, *own_pass; /* the pass that it uses; its own pass, or NULL */
  fw_minibatch *batch;      /* NULL: none */
  size_t row_capacity;
  size_t task_rows;      /* rows of a task */
  size_t halved;         /* number of tasks at the end that are cut in two; 0 where gradients are summed by row */
  uint64_t *number;      /* number of each row in the data, from 1, for messages */
  double *out;           /* outputs of each row */
  fw_row_terms *terms;   /* terms of each row, for its tally */
  bool has_terms;        /* whether the terms were computed; otherwise the tally computes them */
  double *loss;          /* loss of each task of rows */
  atomic_uint *unsummed; /* for each part of the rows: tasks that are not done, after which its sums are computed:
                            fw_batch_slot_run */
  atomic_bool unsound;   /* a loss or an output is not a number */
} fw_batch_slot;

/* Rows that come from somewhere: adds up to `rows` of them to the batcher, with their numbers. *count is 0 at the end.
 */
typedef struct fw_row_source {
  furrow_status (*fill)(void *source, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                        furrow_error *err);
  void *source;
  size_t rows; /* rows of a batch */
  /* NULL: fill is called by one thread at a time. Else claim takes the next rows, one thread at a time (*count is 0 at
   * the end), and any thread adds those that were claimed to its batcher. */
  void (*claim)(void *source, size_t rows, size_t *first, size_t *count);
  furrow_status (*add)(void *source, size_t first, size_t count, fw_batcher *batcher, uint64_t *number,
                       furrow_error *err);
} fw_row_source;

/* Initializes the caller's struct, all zeros; to be cleared after a failure, too. Rows must have labels. `beside` (may
 * be NULL) is a slot of the same net, which must outlive this one; only one of the two may be filled at a time. The
 * slot has no pass yet: fw_batch_slot_init_pass makes one, or the caller lends it one before fw_batch_slot_begin. */
furrow_status fw_batch_slot_init(fw_batch_slot *slot, fw_net *net, const fw_batch_slot *beside,
                                 furrow_error *err) FURROW_MUST_USE;
furrow_status fw_batch_slot_init_pass(fw_batch_slot *slot, furrow_error *err) FURROW_MUST_USE;
void fw_batch_slot_clear(fw_batch_slot *slot);

/* Reserves memory for the numbers, outputs and losses of `rows` rows. */
furrow_status fw_batch_slot_reserve(fw_batch_slot *slot, size_t rows, furrow_error *err) FURROW_MUST_USE;
/* Takes the next batch from `from`: batch is NULL at the end. fw_batch_slot_begin then looks up the records of its
 * features, and with `grow` makes records for new features. Filling has two steps: reading rows in the order of `from`,
 * then numbering their features. fw_batch_slot_fill_claimed takes rows that were claimed instead. */
furrow_status fw_batch_slot_fill(fw_batch_slot *slot, const fw_row_source *from, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_batch_slot_read(fw_batch_slot *slot, const fw_row_source *from, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;
furrow_status fw_batch_slot_number(fw_batch_slot *slot, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_batch_slot_fill_claimed(fw_batch_slot *slot, const fw_row_source *from, size_t first, size_t count,
                                         furrow_error *err) FURROW_MUST_USE;
furrow_status fw_batch_slot_begin(fw_batch_slot *slot, bool grow, furrow_error *err) FURROW_MUST_USE;

/* The phase of rows in tasks of task_rows, without (step NULL) or with the backward pass. Their losses are added up by
 * task: a caller that returns a loss leaves task_rows and halved as they are. */
enum { FW_TASK_ROWS_LEAST = 16, FW_TASK_ROWS = 32, FW_TASK_ROWS_MOST = 64 };
size_t fw_batch_slot_tasks(const fw_batch_slot *slot);
void fw_batch_slot_rows(fw_batch_slot *slot, const fw_step *step, size_t task);
/* Like fw_batch_slot_rows, but also computes the terms of the rows if `terms` is true, `unsound`, and with a step the
 * sums of gradients by row, which the last task of these rows computes. fw_batch_slot_start comes before the first
 * task. */
void fw_batch_slot_start(fw_batch_slot *slot, bool terms);
void fw_batch_slot_run(fw_batch_slot *slot, const fw_step *step, size_t task);
/* After all tasks: the mean loss. E_RANGE, naming the rows, if a loss or score is not a number. */
furrow_status fw_batch_slot_loss(const fw_batch_slot *slot, double *loss, furrow_error *err) FURROW_MUST_USE;
/* After all tasks without the backward pass: E_RANGE, naming the rows, if a score is not a number. */
furrow_status fw_batch_slot_check(const fw_batch_slot *slot, furrow_error *err) FURROW_MUST_USE;
/* Finds the terms of a task's rows, which must have labels. */
void fw_batch_slot_find_terms(fw_batch_slot *slot, size_t task);
/* Counts the batch's scores in a fw_tally. */
void fw_tally_batch(void *tally, const fw_batch_slot *slot);

/* The progress of a training. */
typedef struct fw_train_steps {
  uint64_t count;       /* updates so far that the optimizers know of */
  uint32_t halvings;    /* halvings of the learning rate, each after a divergence */
  uint32_t lowered;     /* more halvings: a net that goes on must not forget earlier rows */
  atomic_bool diverged; /* a loss or score was not a number */
} fw_train_steps;

/* Seconds of a clock that never goes back. */
double fw_seconds_now(void);
/* The next update, in an epoch from 1. */
fw_step fw_train_steps_next(const fw_train_steps *steps, const fw_train_conf *train, uint32_t epoch);

typedef struct fw_pipeline fw_pipeline;
typedef struct fw_rank_batch fw_rank_batch;

typedef struct fw_net_solver {
  fw_net *net;
  const fw_plan *plan;
  fw_spin_pool *pool;
  fw_train_steps *steps;
  fw_batch_slot slots[2]; /* for single steps and for several ranks: one batch is trained while the other is filled */
  fw_pipeline *pipeline;  /* pipeline of one process; NULL: there was no run yet */
  fw_rank_batch *ranks;   /* the batch of a job of several ranks; else NULL */
} fw_net_solver;

/* Borrowed arguments must outlive the solver. max_features: of all ranks together; 0: no limit. */
furrow_status fw_net_solver_create(fw_net_solver **solver, fw_parameters *parameters, fw_spin_pool *pool,
                                   fw_train_steps *steps, uint64_t max_features, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_net_solver_free(fw_net_solver *solver);

typedef void (*fw_scored_batch)(void *user, const fw_batch_slot *slot);
typedef furrow_status (*fw_rows_progress)(void *user, uint64_t rows, furrow_error *err);

typedef struct fw_net_job {
  const fw_row_source *from; /* jobs of several ranks: this rank's rows of each batch */
  bool train;                /* false: rows are only scored */
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
