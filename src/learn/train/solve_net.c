/* learn/train/solve_net.c: epochs of a net, batch by batch. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "learn/train/fit.h"

enum { VALID_ROWS = 512 };

typedef struct net_fit {
  size_t batch; /* rows of one */
  fw_linear_start start;
} net_fit;

static void free_net_fit(void *state) {
  net_fit *net = state;
  fw_convex_fit_free(net->start.convex);
  fw_free(net);
}

/* The number of rows in a batch: as configured, or the rows of an epoch divided by the updates that it is to have. */
static furrow_status choose_batch(const fw_fit *f, size_t *batch, furrow_error *err) {
  const fw_train_conf *train = &f->trainer->plan->train;
  *batch = train->batch;
  if (*batch > 0) return FURROW_OK;
  uint64_t rows = 0;
  FW_TRY(fw_epoch_rows_count(f->data->train, &rows, err));
  const uint64_t updates = train->updates ? train->updates : 1;
  *batch = rows ? (size_t)((rows + updates - 1) / updates) : 1;
  return FURROW_OK;
}

static furrow_status begin_net(fw_fit *f, furrow_error *err) {
  net_fit *net = NULL;
  FW_TRY(FW_ALLOC_ZERO(&net, 1, err));
  f->state = net;
  FW_TRY(choose_batch(f, &net->batch, err));
  return fw_linear_start_solve(&net->start, f, err);
}

/* The number of rows to ask for. Rows in memory: the whole batch: each rank takes its own rows of it. Streamed rows:
 * this rank's share of the batch, at least one. */
static size_t rows_of_batch(const fw_fit *f, size_t rows) {
  const furrow_comm *comm = f->trainer->comm;
  if (!f->data->params.stream) return rows;
  const size_t share = rows / comm->ranks + (comm->rank < rows % comm->ranks);
  return share ? share : 1;
}

static fw_row_source source_of(const fw_fit *f, fw_epoch_rows *epoch_rows, size_t rows) {
  fw_row_source from = {.fill = fw_epoch_rows_fill, .source = epoch_rows, .rows = rows_of_batch(f, rows)};
  if (f->data->params.stream) return from;
  from.claim = fw_epoch_rows_claim;
  from.add = fw_epoch_rows_add;
  return from;
}

/* ---- An epoch ---- */

/* The learning rate of the first layer, which may have its own optimizer. */
static double rate_of(const furrow_trainer *trainer, uint32_t epoch) {
  const fw_step step = fw_train_steps_next(&trainer->steps, &trainer->plan->train, epoch);
  const fw_optimizer *first = &trainer->plan->graph.layers[0].optimizer;
  const bool ftrl = first->type == FW_OPTIMIZER_FTRL && trainer->plan->train.recommended; /* alpha is its rate */
  if (ftrl) return ldexp(first->a, -(int)trainer->steps.halvings);
  return isnan(first->lr) ? step.rate : first->lr * step.scale;
}

static furrow_status train_epoch(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_seconds_now();
  const fw_row_source from = source_of(f, f->data->train, ((const net_fit *)f->state)->batch);
  f->reported = 0;
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  epoch->shown.learning_rate = rate_of(f->trainer, epoch->shown.epoch);
  furrow_status status = fw_epoch_rows_start(f->data->train, epoch->shown.epoch, err);
  const fw_net_job job = {.from = &from,
                          .train = true,
                          .epoch = epoch->shown.epoch,
                          .take = fw_tally_batch,
                          .user = f->tally,
                          .done = fw_fit_progress,
                          .done_user = f};
  if (status == FURROW_OK) status = fw_net_solver_run(f->trainer->solver, &job, err);
  if (status == FURROW_E_RANGE && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->data->samples));
  if (status != FURROW_OK) return status;
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->shown.seconds = fw_seconds_now() - start;
  return epoch->train.rows > 0 ? FURROW_OK : fw_fail_no_rows(f->data, err);
}

furrow_status fw_fit_score_valid(fw_fit *f, fw_scored_batch take, void *user, furrow_error *err) {
  const fw_row_source from = source_of(f, f->data->valid, VALID_ROWS);
  FW_TRY(fw_epoch_rows_start(f->data->valid, 0, err));
  return fw_net_solver_run(f->trainer->solver, &(fw_net_job){.from = &from, .take = take, .user = user}, err);
}

static furrow_status rescue_net(fw_fit *f, fw_epoch *epoch, bool *rescued, furrow_error *err) {
  return fw_linear_start_rescue(&((net_fit *)f->state)->start, f, epoch, rescued, err);
}

static furrow_status finish_net(fw_fit *f, furrow_error *err) {
  return fw_linear_start_fall_back(&((const net_fit *)f->state)->start, f, err);
}

const fw_solver fw_solve_net = {.begin = begin_net,
                                .train = train_epoch,
                                .finish = finish_net,
                                .rescue = rescue_net,
                                .free = free_net_fit,
                                .can_diverge = true};
