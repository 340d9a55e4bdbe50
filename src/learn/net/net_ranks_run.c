/* learn/net/net_ranks_run.c: updates and scores of a net whose rows and features are divided among ranks. */
#include <assert.h>

#include "base/error.h"
#include "learn/net/net_solver.h"

/* One batch in flight. The tasks of its first phase are the rows, and before them filling the batch that follows; those
 * of the last are the count of the scores, if it is wanted, then parameters. */
typedef struct flight {
  fw_net_solver *solver;
  fw_rank_batch *batch;
  fw_batch_slot *own, *next; /* of this rank */
  const fw_row_source *from;
  const fw_step *step; /* NULL: scoring */
  fw_tally *tally;
  bool counts;          /* rows are counted by all ranks: each finds the terms of its own */
  furrow_status filled; /* how `next` was filled, or `own` before it is begun */
  furrow_error error;
} flight;

static void run_rows(void *context, size_t i) {
  flight *f = context;
  if (i == 0)
    f->filled = fw_batch_slot_fill(f->next, f->from, &f->error);
  else
    fw_batch_slot_rows(f->own, f->step, i - 1);
  if (i > 0 && f->counts) fw_batch_slot_find_terms(f->own, i - 1);
}

static void run_dense(void *context, size_t i) {
  flight *f = context;
  fw_rank_batch_sum_dense(f->batch, f->own, i);
}

static void run_sums(void *context, size_t i) {
  flight *f = context;
  f->solver->net->ops->sum(f->solver->net, fw_rank_batch_whole(f->batch)->pass, i);
}

static void run_parameters(void *context, size_t i) {
  flight *f = context;
  if (i > 0)
    f->solver->net->ops->update(f->solver->net, fw_rank_batch_whole(f->batch)->pass, f->step, i - 1);
  else if (f->tally)
    fw_batch_slot_tally(fw_rank_batch_whole(f->batch), f->tally);
}

/* What `own` was filled with becomes a batch of all ranks. */
static furrow_status begin(flight *f, bool grow, furrow_error *err) {
  if (f->filled != FURROW_OK && err) *err = f->error;
  return fw_rank_batch_begin(f->batch, f->own, f->filled, grow, err);
}

static void swap_slots(flight *f) {
  fw_batch_slot *done = f->own;
  f->own = f->next;
  f->next = done;
}

/* Forward pass, and with a step the backward pass; outputs and gradients go to all ranks. */
static furrow_status pass_rows(flight *f, furrow_error *err) {
  f->own->has_terms = f->counts;
  fw_spin_pool_run(f->solver->pool, 1 + fw_batch_slot_tasks(f->own), run_rows, f);
  FW_TRY(fw_rank_batch_gather(f->batch, f->own, f->step != NULL, err));
  if (fw_rank_batch_is_sound(f->batch)) return FURROW_OK;
  f->solver->steps->diverged = true;
  FW_TRY(fw_rank_batch_number(f->batch, f->own, err));
  double loss;
  const fw_batch_slot *whole = fw_rank_batch_whole(f->batch);
  return f->step ? fw_batch_slot_loss(whole, &loss, err) : fw_batch_slot_check(whole, err);
}

static furrow_status update_parameters(flight *f, furrow_error *err) {
  fw_net_solver *t = f->solver;
  const fw_pass *pass = fw_rank_batch_whole(f->batch)->pass;
  fw_spin_pool_run(t->pool, fw_rank_batch_dense_tasks(f->batch), run_dense, f);
  FW_TRY(fw_rank_batch_add_dense(f->batch, err));
  fw_spin_pool_run(t->pool, t->net->ops->sum_tasks(pass), run_sums, f);
  fw_spin_pool_run(t->pool, 1 + t->net->ops->update_tasks(t->net, pass), run_parameters, f);
  t->steps->count++;
  return FURROW_OK;
}

static furrow_status update(flight *f, uint32_t epoch, double *loss, furrow_error *err) {
  const fw_step step = fw_train_steps_next(f->solver->steps, &f->solver->plan->train, epoch);
  f->step = &step;
  furrow_status status = pass_rows(f, err);
  if (status == FURROW_OK) status = update_parameters(f, err);
  if (status == FURROW_OK) status = fw_batch_slot_loss(fw_rank_batch_whole(f->batch), loss, err);
  f->step = NULL;
  return status;
}

furrow_status fw_net_run_ranks(fw_net_solver *solver, const fw_net_job *job, double *loss, furrow_error *err) {
  flight f = {.solver = solver,
              .batch = solver->ranks,
              .own = &solver->slots[0],
              .next = &solver->slots[1],
              .from = job->from,
              .tally = job->train ? job->user : NULL,
              .counts = job->take == fw_tally_batch};
  const fw_batch_slot *whole = fw_rank_batch_whole(f.batch);
  uint64_t rows = 0;
  f.filled = fw_batch_slot_fill(f.own, f.from, &f.error);
  furrow_status status = begin(&f, job->train, err);
  while (status == FURROW_OK && whole->batch) {
    FW_TRY(job->train ? update(&f, job->epoch, loss, err) : pass_rows(&f, err));
    if (!job->train) job->take(job->user, whole);
    rows += whole->batch->rows;
    if (job->done && f.filled == FURROW_OK) f.filled = job->done(job->done_user, rows, &f.error);
    swap_slots(&f);
    status = begin(&f, job->train, err);
  }
  return status;
}
