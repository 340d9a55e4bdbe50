/* learn/net/net_pipeline.c: batches on their way through the net of one process.
 *
 * A batch is filled, begun (it finds its records), trained in two stages (rows, then parameters) and taken (its scores
 * are counted). The two stages run as stages of base/pool.h; the other steps run as work aside. A batch has a slot from
 * the time that its rows are claimed until it is trained and taken, and a pass from the time that it is begun until it
 * is trained: passes are large, and two are enough. */
#include <sched.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/net/net_solver.h"

/* The number of slots: at least LEAST_SLOTS, even for large batches; otherwise limited by the rows that all slots hold,
 * and by the features that their arrays cover (local_ids.h). */
enum { LEAST_SLOTS = 3, MOST_SLOTS = 8, SLOT_ROWS = 1 << 16, SLOT_FEATURES = 1 << 24 };
enum { MOST_PASSES = 2, LINE = 64 };
/* Tasks of rows that each thread should get, unless a task would take less time than that. */
enum { THREAD_TASKS = 4, LEAST_TASK_NS = 4000 };

typedef struct flight {
  fw_batch_slot slot;
  bool filled;
  furrow_status status; /* status of filling it, and of finding its records */
  furrow_error error;
} flight;

/* Members that threads read all the time, and members that they write often, are on different cache lines. */
struct fw_pipeline {
  fw_net_solver *solver;
  flight flights[MOST_SLOTS];
  fw_pass *passes[MOST_PASSES];
  unsigned slot_count, pass_count;
  void *memory;
  /* the run */
  const fw_net_job *job;
  atomic_bool stop;
  _Alignas(64) atomic_bool offers; /* there is work aside */
  /* under the lock: batches that have a slot, have begun, have outputs, are trained, are taken, have no slot any more
   */
  _Alignas(64) atomic_bool locked;
  uint64_t claimed, begun, scored, trained, taken, left;
  bool beginning, taking, reading; /* a thread is at it */
  bool ended;                      /* nothing is left to be claimed */
  unsigned unused_count;
  flight *unused[MOST_SLOTS];
  flight *at[MOST_SLOTS]; /* batch n is at[n % MOST_SLOTS] */
  /* the stage */
  _Alignas(64) flight *now; /* NULL: none */
  bool updating;
  fw_step step;
  double row_ns; /* time of a row in a task of the last batch; 0: not known */
  furrow_status status;
  furrow_error error;
  /* for the caller */
  _Alignas(64) atomic_uint_fast64_t batches; /* finished batches */
  atomic_uint_fast64_t rows;
  uint64_t reported; /* rows that were reported of these batches */
  furrow_status caller_status;
  furrow_error caller_error;
};

/* The lock is held for about ten instructions, and the next stage waits for it, so waiting threads spin. */

static bool try_lock(fw_pipeline *p) {
  return !atomic_load_explicit(&p->locked, memory_order_relaxed) &&
         !atomic_exchange_explicit(&p->locked, true, memory_order_acquire);
}

static void lock(fw_pipeline *p) {
  for (unsigned tries = 1; !try_lock(p); tries++)
    if (tries % 1024 == 0) sched_yield(); /* the thread that holds the lock may wait for this thread's processor */
}

static void unlock(fw_pipeline *p) {
  atomic_store_explicit(&p->locked, false, memory_order_release);
}

/* ---- Work aside: what there is ------------------------------------------------------------------------------ */

static flight *flight_of(const fw_pipeline *p, uint64_t batch) {
  return p->at[batch % MOST_SLOTS];
}

static bool can_begin(const fw_pipeline *p) {
  if (p->beginning || p->begun == p->claimed || p->begun >= p->trained + p->pass_count) return false;
  const flight *next = flight_of(p, p->begun);
  return next->filled && next->status == FURROW_OK && next->slot.batch;
}

static bool can_take(const fw_pipeline *p) {
  return !p->taking && p->taken < p->scored;
}

static bool can_fill(const fw_pipeline *p) {
  return !p->reading && !p->ended && p->unused_count > 0;
}

/* To be called after any change, under the lock. */
static void offer(fw_pipeline *p) {
  atomic_store(&p->offers, can_begin(p) || can_take(p) || can_fill(p));
}

static void free_slots(fw_pipeline *p) {
  const uint64_t done = p->trained < p->taken ? p->trained : p->taken;
  for (; p->left < done; p->left++) p->unused[p->unused_count++] = flight_of(p, p->left);
}

/* ---- Work aside: doing it ----------------------------------------------------------------------------------- */

/* Each of these is called with the lock held, and releases it while it works. */

static void begin_batch(fw_pipeline *p) {
  flight *next = flight_of(p, p->begun);
  next->slot.pass = p->passes[p->begun % p->pass_count];
  p->beginning = true;
  offer(p);
  unlock(p);
  const furrow_status status = fw_batch_slot_begin(&next->slot, p->job->train, &next->error);
  lock(p);
  next->status = status;
  p->beginning = false;
  if (status == FURROW_OK) p->begun++;
}

static void take_batch(fw_pipeline *p) {
  const flight *done = flight_of(p, p->taken);
  p->taking = true;
  offer(p);
  unlock(p);
  p->job->take(p->job->user, &done->slot);
  lock(p);
  p->taking = false;
  p->taken++;
  free_slots(p);
}

static furrow_status fill_claimed(fw_pipeline *p, flight *to) {
  const fw_row_source *from = p->job->from;
  size_t first, count;
  from->claim(from->source, from->rows, &first, &count);
  p->ended = count == 0;
  offer(p);
  unlock(p);
  const furrow_status status = fw_batch_slot_fill_claimed(&to->slot, from, first, count, &to->error);
  lock(p);
  return status;
}

/* Only reading is limited to one thread at a time. */
static furrow_status fill_in_order(fw_pipeline *p, flight *to) {
  size_t count;
  p->reading = true;
  offer(p);
  unlock(p);
  furrow_status status = fw_batch_slot_read(&to->slot, p->job->from, &count, &to->error);
  lock(p);
  p->reading = false;
  p->ended = status != FURROW_OK || count == 0;
  offer(p);
  unlock(p);
  if (status == FURROW_OK) status = fw_batch_slot_number(&to->slot, count, &to->error);
  lock(p);
  return status;
}

static void fill_batch(fw_pipeline *p) {
  flight *to = p->unused[--p->unused_count];
  p->at[p->claimed++ % MOST_SLOTS] = to;
  to->filled = false;
  to->status = p->job->from->claim ? fill_claimed(p, to) : fill_in_order(p, to);
  to->filled = true;
  p->ended |= to->status != FURROW_OK;
}

static bool work_aside(void *context) {
  fw_pipeline *p = context;
  if (!atomic_load(&p->offers) || !try_lock(p)) return false;
  bool found = true;
  if (can_begin(p))
    begin_batch(p);
  else if (can_take(p))
    take_batch(p);
  else if (can_fill(p))
    fill_batch(p);
  else
    found = false;
  offer(p);
  unlock(p);
  return found;
}

/* ---- Stages ------------------------------------------------------------------------------------------------- */

/* Fails if a score or loss of the batch is not a number. */
static furrow_status check_rows(fw_pipeline *p) {
  double loss;
  const fw_batch_slot *slot = &p->now->slot;
  if (!atomic_load(&slot->unsound)) return FURROW_OK;
  p->status = p->job->train ? fw_batch_slot_loss(slot, &loss, &p->error) : fw_batch_slot_check(slot, &p->error);
  if (p->status != FURROW_OK) p->solver->steps->diverged = true;
  return p->status;
}

static void end_rows(fw_pipeline *p) {
  lock(p);
  p->scored++;
  offer(p);
  unlock(p);
}

static void end_batch(fw_pipeline *p) {
  const size_t rows = p->now->slot.batch->rows;
  if (p->job->train) p->solver->steps->count++;
  p->now = NULL;
  p->updating = false;
  lock(p);
  p->trained++;
  free_slots(p);
  offer(p);
  unlock(p);
  atomic_fetch_add(&p->rows, rows);
  atomic_fetch_add(&p->batches, 1);
}

/* The next batch, if it has begun; *end: there is none. */
static flight *find_next(fw_pipeline *p, bool *end) {
  flight *found = NULL;
  lock(p);
  flight *next = p->trained < p->claimed ? flight_of(p, p->trained) : NULL;
  *end = next && next->filled && (next->status != FURROW_OK || !next->slot.batch);
  if (*end && next->status != FURROW_OK) {
    p->status = next->status;
    p->error = next->error;
  }
  if (p->trained < p->begun) found = next;
  unlock(p);
  return found;
}

/* The number of rows of a task: large for fast matrix products, small to keep all threads busy to the end. It does not
 * change any result. */
static size_t rows_of_task(const fw_pipeline *p, size_t rows) {
  const unsigned threads = fw_spin_pool_threads(p->solver->pool);
  size_t count = FW_TASK_ROWS_MOST;
  if (threads == 1 || p->row_ns == 0) return FW_TASK_ROWS;
  while (count > FW_TASK_ROWS_LEAST && rows / count < THREAD_TASKS * threads &&
         p->row_ns * (double)(count / 2) >= LEAST_TASK_NS)
    count /= 2;
  return count;
}

/* The last tasks are cut in two, one for each thread, so that no thread waits for long. */
static void cut_rows(const fw_pipeline *p, fw_batch_slot *slot) {
  const unsigned threads = fw_spin_pool_threads(p->solver->pool);
  slot->task_rows = rows_of_task(p, slot->batch->rows);
  const bool short_task = p->row_ns * (double)(slot->task_rows / 2) < LEAST_TASK_NS;
  slot->halved = threads == 1 || short_task || slot->net->ops->sum_tasks(slot->pass) > 0 ? 0 : threads;
}

static size_t start_rows(fw_pipeline *p) {
  bool end;
  if (atomic_load(&p->stop)) return FW_STAGE_END;
  p->now = find_next(p, &end);
  if (!p->now) return end ? FW_STAGE_END : FW_STAGE_WAIT;
  p->step = fw_train_steps_next(p->solver->steps, &p->solver->plan->train, p->job->epoch);
  cut_rows(p, &p->now->slot);
  fw_batch_slot_start(&p->now->slot, p->job->take == fw_tally_batch);
  return fw_batch_slot_tasks(&p->now->slot);
}

static size_t next_stage(void *context) {
  fw_pipeline *p = context;
  if (p->now && !p->updating) {
    if (check_rows(p) != FURROW_OK) return FW_STAGE_END;
    end_rows(p);
    p->updating = p->job->train;
    if (p->updating) return p->solver->net->ops->update_tasks(p->solver->net, p->now->slot.pass);
  }
  if (p->now) end_batch(p);
  return start_rows(p);
}

static void run_rows(fw_pipeline *p, size_t i) {
  fw_batch_slot *slot = &p->now->slot;
  const double start = i == 0 ? fw_seconds_now() : 0;
  fw_batch_slot_run(slot, p->job->train ? &p->step : NULL, i);
  if (i == 0 && slot->batch->rows >= (slot->halved + 1) * slot->task_rows)
    p->row_ns = (fw_seconds_now() - start) * 1e9 / (double)slot->task_rows;
}

static void run_task(void *context, size_t i) {
  fw_pipeline *p = context;
  if (p->updating)
    p->solver->net->ops->update(p->solver->net, p->now->slot.pass, &p->step, i);
  else
    run_rows(p, i);
}

/* ---- The caller --------------------------------------------------------------------------------------------- */

/* All batches but the last have the same number of rows. */
static void report(void *context) {
  fw_pipeline *p = context;
  if (!p->job->done || p->reported == atomic_load_explicit(&p->batches, memory_order_relaxed)) return;
  const uint64_t batches = atomic_load(&p->batches), rows = atomic_load(&p->rows);
  while (p->reported < batches && p->caller_status == FURROW_OK) {
    const uint64_t so_far = ++p->reported * p->job->from->rows;
    p->caller_status = p->job->done(p->job->done_user, so_far < rows ? so_far : rows, &p->caller_error);
  }
  if (p->caller_status != FURROW_OK) atomic_store(&p->stop, true);
}

/* ---- The run ------------------------------------------------------------------------------------------------ */

static size_t wanted_slots(const fw_pipeline *p, const fw_row_source *from) {
  const unsigned threads = fw_spin_pool_threads(p->solver->pool);
  const int64_t range = p->solver->plan->data.range;
  if (threads == 1) return 1;
  size_t count = threads < MOST_SLOTS ? threads + 1 : MOST_SLOTS;
  if (count > SLOT_ROWS / from->rows) count = SLOT_ROWS / from->rows;
  if (range > 0 && (int64_t)count > SLOT_FEATURES / range) count = (size_t)(SLOT_FEATURES / range);
  return count < LEAST_SLOTS ? LEAST_SLOTS : count;
}

static furrow_status ensure_slots(fw_pipeline *p, size_t count, furrow_error *err) {
  const unsigned passes = count > 1 ? MOST_PASSES : 1;
  for (; p->slot_count < count; p->slot_count++) {
    fw_batch_slot *slot = &p->flights[p->slot_count].slot;
    const furrow_status status = fw_batch_slot_init(slot, p->solver->net, NULL, err);
    if (status != FURROW_OK) fw_batch_slot_clear(slot);
    if (status != FURROW_OK) return status;
  }
  for (; p->pass_count < passes; p->pass_count++)
    FW_TRY(p->solver->net->ops->create_pass(&p->passes[p->pass_count], p->solver->net, err));
  return FURROW_OK;
}

static furrow_status create_pipeline(fw_net_solver *solver, furrow_error *err) {
  void *memory = NULL;
  if (solver->pipeline) return FURROW_OK;
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof *solver->pipeline + LINE, err));
  solver->pipeline = (fw_pipeline *)(((uintptr_t)memory + LINE - 1) / LINE * LINE);
  solver->pipeline->memory = memory;
  solver->pipeline->solver = solver;
  return FURROW_OK;
}

void fw_pipeline_free(fw_pipeline *p) {
  if (!p) return;
  for (unsigned i = 0; i < p->slot_count; i++) fw_batch_slot_clear(&p->flights[i].slot);
  for (unsigned i = 0; i < p->pass_count; i++) fw_pass_free(p->passes[i]);
  fw_free(p->memory);
}

static void start_run(fw_pipeline *p, const fw_net_job *job, size_t slots) {
  p->job = job;
  p->claimed = p->begun = p->scored = p->trained = p->taken = p->left = p->reported = 0;
  p->ended = p->updating = false;
  p->now = NULL;
  p->status = p->caller_status = FURROW_OK;
  atomic_store(&p->stop, false);
  atomic_store(&p->batches, 0);
  atomic_store(&p->rows, 0);
  p->unused_count = 0;
  while (p->unused_count < slots) {
    p->unused[p->unused_count] = &p->flights[p->unused_count];
    p->unused_count++;
  }
  offer(p);
}

furrow_status fw_pipeline_run(fw_net_solver *solver, const fw_net_job *job, furrow_error *err) {
  FW_TRY(create_pipeline(solver, err));
  fw_pipeline *p = solver->pipeline;
  const size_t slots = wanted_slots(p, job->from);
  FW_TRY(ensure_slots(p, slots, err));
  start_run(p, job, slots);
  const fw_stages stages = {next_stage, run_task, work_aside, report};
  fw_spin_pool_run_stages(solver->pool, &stages, p);
  for (; p->taken < p->scored; p->taken++) job->take(job->user, &flight_of(p, p->taken)->slot);
  if (p->status != FURROW_OK && err) *err = p->error;
  if (p->status != FURROW_OK) return p->status;
  if (p->caller_status != FURROW_OK && err) *err = p->caller_error;
  return p->caller_status;
}
