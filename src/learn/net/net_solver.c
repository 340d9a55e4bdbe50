/* learn/net/net_solver.c: a net with all that training it needs; single steps, learning rates. */
#include "learn/net/net_solver.h"

#include <math.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"

double fw_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

fw_step fw_train_steps_next(const fw_train_steps *steps, const fw_train_conf *train, uint32_t epoch) {
  const uint64_t number = steps->count + 1;
  const uint32_t halvings = steps->halvings + steps->lowered;
  const double rate = ldexp(fw_decay_rate(train, train->decay_on_batch ? number : epoch), -(int)halvings);
  return (fw_step){.number = number, .rate = rate, .scale = rate / train->lr, .halvings = halvings};
}

/* ---- Create, free ---- */

static furrow_status create_slots(fw_net_solver *s, fw_parameters *parameters, uint64_t max_features,
                                  furrow_error *err) {
  FW_TRY(fw_net_create(&s->net, parameters, err));
  for (int i = 0; i < 2; i++) {
    FW_TRY(fw_batch_slot_init(&s->slots[i], s->net, i > 0 ? &s->slots[0] : NULL, err));
    FW_TRY(fw_batch_slot_init_pass(&s->slots[i], err));
  }
  return parameters->comm->ranks > 1 ? fw_rank_batch_create(&s->ranks, s->net, max_features, err) : FURROW_OK;
}

furrow_status fw_net_solver_create(fw_net_solver **solver, fw_parameters *parameters, fw_spin_pool *pool,
                                   fw_train_steps *steps, uint64_t max_features, furrow_error *err) {
  fw_net_solver *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->plan = parameters->plan;
  made->pool = pool;
  made->steps = steps;
  const furrow_status status = create_slots(made, parameters, max_features, err);
  return FW_HAND_OVER(status, solver, made, fw_net_solver_free);
}

void fw_net_solver_free(fw_net_solver *s) {
  if (!s) return;
  fw_pipeline_free(s->pipeline);
  fw_rank_batch_free(s->ranks);
  for (int i = 0; i < 2; i++) fw_batch_slot_clear(&s->slots[i]);
  fw_net_free(s->net);
  fw_free(s);
}

/* ---- A single step ---- */

typedef struct single_step {
  fw_batch_slot *slot;
  fw_step step;
} single_step;

static void run_rows(void *context, size_t i) {
  single_step *s = context;
  fw_batch_slot_run(s->slot, &s->step, i);
}

static void run_parameters(void *context, size_t i) {
  single_step *s = context;
  s->slot->net->ops->update(s->slot->net, s->slot->pass, &s->step, i);
}

static furrow_status step_alone(fw_net_solver *solver, const fw_row_source *from, uint32_t epoch, double *loss,
                                furrow_error *err) {
  single_step s = {.slot = &solver->slots[0], .step = fw_train_steps_next(solver->steps, &solver->plan->train, epoch)};
  FW_TRY(fw_batch_slot_fill(s.slot, from, err));
  if (!s.slot->batch) return FURROW_OK;
  FW_TRY(fw_batch_slot_begin(s.slot, true, err));
  fw_batch_slot_start(s.slot, false);
  fw_spin_pool_run(solver->pool, fw_batch_slot_tasks(s.slot), run_rows, &s);
  const furrow_status status = fw_batch_slot_loss(s.slot, loss, err);
  if (status != FURROW_OK) solver->steps->diverged = true;
  if (status != FURROW_OK) return status;
  fw_spin_pool_run(solver->pool, solver->net->ops->update_tasks(solver->net, s.slot->pass), run_parameters, &s);
  solver->steps->count++;
  return FURROW_OK;
}

furrow_status fw_net_solver_step(fw_net_solver *solver, const fw_row_source *from, uint32_t epoch, double *loss,
                                 furrow_error *err) {
  const fw_net_job job = {.from = from, .train = true, .epoch = epoch};
  const uint64_t before = solver->steps->count;
  FW_TRY(solver->ranks ? fw_net_run_ranks(solver, &job, loss, err) : step_alone(solver, from, epoch, loss, err));
  return solver->steps->count > before ? FURROW_OK : fw_fail(err, FURROW_E_ARGUMENT, "a batch without rows");
}

/* ---- All batches of a source ---- */

furrow_status fw_net_solver_run(fw_net_solver *solver, const fw_net_job *job, furrow_error *err) {
  double loss;
  return solver->ranks ? fw_net_run_ranks(solver, job, &loss, err) : fw_pipeline_run(solver, job, err);
}
