/* learn/train/fit_net.c: epochs of a net: batches, the best epoch as a snapshot. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "learn/parameters/snapshot.h"
#include "learn/train/fit.h"
#include "learn/train/linear_start.h"

enum { VALID_ROWS = 512 };

/* Rows of a batch: as the conf says, or those of an epoch over the updates that it is to have. */
static furrow_status choose_batch(fw_fit *f, furrow_error *err) {
  const fw_train_conf *train = &f->trainer->plan->train;
  f->batch = train->batch;
  if (f->batch > 0) return FURROW_OK;
  uint64_t rows = 0;
  furrow_status status = fw_epoch_rows_count(f->train, &rows, err);
  const uint64_t updates = train->updates ? train->updates : 1;
  f->batch = rows ? (size_t)((rows + updates - 1) / updates) : 1;
  return status;
}

static furrow_status begin(fw_fit *f, furrow_error *err) {
  FW_TRY(choose_batch(f, err));
  return fw_linear_start(f, err);
}

/* Rows of a batch that are asked for: of rows in memory, ranks take their own of them; of streamed rows each takes its
 * share, at least one. */
static size_t rows_of_batch(const fw_fit *f, size_t rows) {
  const furrow_comm *comm = f->trainer->comm;
  if (!f->params.stream) return rows;
  const size_t share = rows / comm->ranks + (comm->rank < rows % comm->ranks);
  return share ? share : 1;
}

static fw_row_source source_of(const fw_fit *f, fw_epoch_rows *epoch_rows, size_t rows) {
  fw_row_source from = {.fill = fw_epoch_rows_fill, .source = epoch_rows, .rows = rows_of_batch(f, rows)};
  if (f->params.stream) return from;
  from.claim = fw_epoch_rows_claim;
  from.add = fw_epoch_rows_add;
  return from;
}

/* ---- An epoch ------------------------------------------------------------------------------------------- */

/* That of the first layer, which may have one of its own. */
static double rate_of(const furrow_trainer *trainer, uint32_t epoch) {
  const fw_step step = fw_train_steps_next(&trainer->steps, &trainer->plan->train, epoch);
  const fw_optimizer *first = &trainer->plan->graph.layers[0].optimizer;
  const bool ftrl = first->type == FW_OPTIMIZER_FTRL && trainer->plan->train.recommended; /* alpha is its rate */
  if (ftrl) return ldexp(first->a, -(int)trainer->steps.halvings);
  return isnan(first->lr) ? step.rate : first->lr * step.scale;
}

static furrow_status train_epoch(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_fit_seconds();
  const fw_row_source from = source_of(f, f->train, f->batch);
  f->reported = 0;
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  epoch->shown.learning_rate = rate_of(f->trainer, epoch->shown.epoch);
  furrow_status status = fw_epoch_rows_start(f->train, epoch->shown.epoch, err);
  const fw_net_job job = {.from = &from,
                          .train = true,
                          .epoch = epoch->shown.epoch,
                          .take = fw_tally_batch,
                          .user = f->tally,
                          .done = fw_fit_progress,
                          .done_user = f};
  if (status == FURROW_OK) status = fw_net_solver_run(f->trainer->solver, &job, err);
  if (status == FURROW_E_RANGE && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->samples));
  if (status != FURROW_OK) return status;
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->shown.seconds = fw_fit_seconds() - start;
  return epoch->train.rows > 0 ? FURROW_OK : fw_fit_no_rows(f, err);
}

furrow_status fw_fit_net_score(fw_fit *f, fw_scored_batch take, void *user, furrow_error *err) {
  const fw_row_source from = source_of(f, f->valid, VALID_ROWS);
  FW_TRY(fw_epoch_rows_start(f->valid, 0, err));
  return fw_net_solver_run(f->trainer->solver, &(fw_net_job){.from = &from, .take = take, .user = user}, err);
}

furrow_status fw_fit_net_score_valid(fw_fit *f, furrow_error *err) {
  return fw_fit_net_score(f, fw_tally_batch, f->tally, err);
}

/* ---- The best epoch, checkpoints ------------------------------------------------------------------------ */

static furrow_status append_snapshot(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

furrow_status fw_fit_net_keep(fw_fit *f, furrow_error *err) {
  fw_buffer_reset(&f->best_snapshot);
  f->best_steps = f->trainer->steps.count;
  return fw_parameters_snapshot_write(f->trainer->parameters, append_snapshot, &f->best_snapshot, err);
}

furrow_status fw_fit_net_restore(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  const fw_buffer *snapshot = &f->best_snapshot;
  fw_parameters *parameters = NULL;
  furrow_status status = fw_trainer_new_parameters(t, &parameters, err);
  if (status == FURROW_OK)
    status = fw_parameters_snapshot_read(parameters, (const unsigned char *)snapshot->bytes, snapshot->size, err);
  if (status == FURROW_OK) status = fw_trainer_adopt(t, parameters, err);
  if (status != FURROW_OK) fw_parameters_free(parameters);
  if (status == FURROW_OK) t->steps.count = f->best_steps;
  return status;
}

furrow_status fw_fit_net_make(const furrow_trainer *trainer, fw_snapshot_ops *made, furrow_error *err) {
  fw_parameters *parameters = NULL;
  FW_TRY(fw_trainer_new_parameters(trainer, &parameters, err));
  *made = fw_parameters_snapshot_ops(parameters);
  return FURROW_OK;
}

furrow_status fw_fit_net_adopt(furrow_trainer *trainer, void *made, furrow_error *err) {
  return fw_trainer_adopt(trainer, made, err);
}

void fw_fit_net_drop(void *made) {
  fw_parameters_free(made);
}

fw_snapshot_ops fw_fit_net_snapshot_ops(const furrow_trainer *trainer) {
  return fw_parameters_snapshot_ops(trainer->parameters);
}

const fw_fit_ops fw_fit_net = {.begin = begin,
                               .train = train_epoch,
                               .score_valid = fw_fit_net_score_valid,
                               .keep = fw_fit_net_keep,
                               .restore = fw_fit_net_restore,
                               .finish = fw_linear_fall_back,
                               .make = fw_fit_net_make,
                               .adopt = fw_fit_net_adopt,
                               .drop = fw_fit_net_drop,
                               .snapshot_ops = fw_fit_net_snapshot_ops,
                               .keeps_snapshots = true};
