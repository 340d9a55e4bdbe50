/* learn/train/fit.c: epochs, or rounds: data, validation, history, the best epoch, early stopping, checkpoints. */
#include "learn/train/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/conf/conf_data.h"
#include "learn/data/samples.h"
#include "learn/forest/booster.h"
#include "learn/parameters/fold.h"
#include "learn/train/divergence.h"
#include "learn/train/encoded_data.h"
#include "learn/train/fit_convex.h"
#include "learn/train/fit_factors.h"
#include "learn/train/fit_rank.h"
#include "learn/train/leave_out.h"
#include "learn/train/prepare.h"

enum { PROGRESS_ROWS = 1 << 14 };

typedef struct fw_fit_metric {
  const char *name;
  size_t offset; /* in furrow_learn_metrics */
  bool rises;    /* more is better */
} metric;

static const metric metrics[] = {
    {"loss", offsetof(furrow_learn_metrics, loss), false},
    {"auc", offsetof(furrow_learn_metrics, auc), true},
    {"accuracy", offsetof(furrow_learn_metrics, accuracy), true},
    {"logloss", offsetof(furrow_learn_metrics, logloss), false},
    {"rmse", offsetof(furrow_learn_metrics, rmse), false},
    {"mae", offsetof(furrow_learn_metrics, mae), false},
    {"ndcg", offsetof(furrow_learn_metrics, ndcg), true},
};

/* ---- Data ----------------------------------------------------------------------------------------------- */

/* Standard input has no second pass: it can be streamed for one epoch, if no row is kept for validation. A cache file
 * has any number of them. */
static furrow_status check_stream(const fw_fit *f, const char *uri, bool split, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const bool once = f->params.stream && uri[0] == '-' && (!uri[1] || uri[1] == '?') && !strchr(uri, '#');
  const bool again =
      plan->train.epochs > 1 || plan->train.batch == 0 || plan->data.posneg_ratio > 0 || plan->forest.used;
  if (!once || !(again || (split && plan->data.valid_ratio > 0))) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "standard input can be read only once");
  fw_error_set_hint(err, "stream it for one epoch without validation, or keep its rows in memory");
  return FURROW_E_ARGUMENT;
}

static furrow_status open_samples(fw_fit *f, const char *uri, bool split, furrow_error *err) {
  const fw_data_conf *data = &f->trainer->plan->data;
  FW_TRY(check_stream(f, uri, split, err));
  return fw_samples_open(&f->samples, uri, data, f->params.parser, f->params.stream, f->trainer->comm, err);
}

/* Which rows are for validation; the rest is the caller's. */
static fw_epoch_rows_params subset_of(const fw_fit *f, fw_row_subset subset) {
  const fw_plan *plan = f->trainer->plan;
  const double ratio = plan->data.valid_ratio;
  fw_epoch_rows_params params = {.subset = subset, .sample_ratio = 1, .seed = plan->train.seed};
  if (f->holdout.fold_of)
    params.holdout = &f->holdout;
  else if (plan->train.recommended)
    params.share = ratio;
  else
    params.every = fw_valid_every(ratio);
  return params;
}

static furrow_status open_train(fw_fit *f, bool split, furrow_error *err) {
  const fw_data_conf *data = &f->trainer->plan->data;
  if (split) FW_TRY(fw_fit_hold_out(f, err));
  fw_epoch_rows_params params = {.subset = FW_SUBSET_ALL, .seed = f->trainer->plan->train.seed};
  if (split) params = subset_of(f, FW_SUBSET_TRAIN);
  params.sample_ratio = data->sample_ratio;
  params.posneg_ratio = data->posneg_ratio;
  params.shuffle = data->shuffle;
  params.together = !f->trainer->forest;
  return fw_epoch_rows_open(&f->train, f->samples, data, &params, err);
}

/* Says that an error is about validation data, and names its file. */
static furrow_status name_valid(const fw_fit *f, furrow_status status, furrow_error *err) {
  if (!err || err->file[0]) return status;
  const furrow_error found = *err;
  fw_fail(err, status, "validation data: %.200s", found.message);
  fw_error_set_hint(err, "%s", found.hint);
  fw_error_set_file(err, fw_samples_name(f->valid_samples ? f->valid_samples : f->samples));
  return status;
}

static furrow_status fail_empty(const fw_fit *f, furrow_error *err) {
  return name_valid(f, fw_fail(err, FURROW_E_ARGUMENT, "there are no rows"), err);
}

/* Validation data of its own, or the share of the training data. */
static furrow_status open_valid(fw_fit *f, const char *uri, furrow_error *err) {
  const fw_data_conf *data = &f->trainer->plan->data;
  fw_epoch_rows_params params = {.subset = FW_SUBSET_ALL, .sample_ratio = 1};
  fw_samples *samples = f->samples;
  furrow_status status = FURROW_OK;
  if (uri) {
    status = fw_samples_open(&f->valid_samples, uri, data, f->params.parser, f->params.stream, f->trainer->comm, err);
    if (status == FURROW_OK) status = fw_fit_draw_negatives(f, f->valid_samples, err);
    if (status == FURROW_OK && f->scaled) status = fw_samples_scale(f->valid_samples, &f->scaling, err);
    samples = f->valid_samples;
    const bool known = status == FURROW_OK && fw_samples_block(samples);
    if (known && fw_samples_all_rows(samples) == 0) return fail_empty(f, err); /* not after an epoch */
  } else if (data->valid_ratio > 0) {
    params = subset_of(f, FW_SUBSET_VALID);
  } else {
    return FURROW_OK;
  }
  params.together = !f->trainer->forest;
  return status == FURROW_OK ? fw_epoch_rows_open(&f->valid, samples, data, &params, err) : status;
}

/* ---- An epoch ------------------------------------------------------------------------------------------- */

double fw_fit_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

furrow_status fw_fit_progress(void *user, uint64_t rows, furrow_error *err) {
  fw_fit *f = user;
  const furrow_trainer_fit_params *p = &f->params;
  if (!p->progress || rows < f->reported + PROGRESS_ROWS) return FURROW_OK;
  const furrow_trainer *t = f->trainer;
  uint64_t total = (uint64_t)((double)fw_epoch_rows_known_rows(f->train) * t->plan->data.sample_ratio);
  if (t->epochs > 0) total = t->history[t->epochs - 1].train.rows;
  f->reported = rows;
  return fw_report_progress(p->progress, p->progress_user, f->phase, rows, total, err);
}

furrow_status fw_fit_share_failure(const fw_fit *f, furrow_status status, furrow_error *err) {
  return fw_comm_share_status(f->trainer->comm, status, err);
}

furrow_status fw_fit_ask(const fw_fit *f, uint64_t done, uint64_t of, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->params;
  const uint64_t rows = fw_epoch_rows_known_rows(f->train);
  return fw_fit_share_failure(
      f, fw_report_progress(p->progress, p->progress_user, f->phase, rows * done / of, rows, err), err);
}

furrow_status fw_fit_pause(const fw_fit *f, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->params;
  return fw_fit_share_failure(f, fw_report_progress(p->progress, p->progress_user, "preparing", 0, 0, err), err);
}

furrow_status fw_fit_no_rows(const fw_fit *f, furrow_error *err) {
  const bool taken = f->valid && !f->valid_samples && fw_epoch_rows_known_rows(f->train) == 0 &&
                     fw_epoch_rows_known_rows(f->valid) > 0;
  fw_fail(err, FURROW_E_ARGUMENT, "there are no rows to train with%s", taken ? ": validation took them" : "");
  if (taken) fw_error_set_hint(err, "lower the key `valid-ratio`");
  fw_error_set_file(err, fw_samples_name(f->samples));
  return FURROW_E_ARGUMENT;
}

static furrow_status validate(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  if (!f->valid) return FURROW_OK;
  if (f->ops->validate) return f->ops->validate(f, epoch, err);
  fw_tally_clear(f->tally, FW_EXACT_ROWS);
  furrow_status status = f->ops->score_valid(f, err);
  if (status == FURROW_E_RANGE) return name_valid(f, status, err);
  const bool counted =
      f->ops->scores_all_ranks || (f->trainer->solver && f->trainer->solver->ranks); /* the rows of all ranks */
  if (status == FURROW_OK && !counted) status = fw_tally_reduce(f->tally, f->trainer->comm, err);
  if (status != FURROW_OK) return status;
  fw_tally_metrics(f->tally, &epoch->valid);
  if (epoch->valid.rows == 0) return fail_empty(f, err);
  if (epoch->valid.weight > 0 && !isfinite(epoch->valid.loss))
    return name_valid(f, fw_fail(err, FURROW_E_RANGE, "the loss is not a number"), err);
  return FURROW_OK;
}

/* ---- History -------------------------------------------------------------------------------------------- */

static double figure_of(const fw_fit *f, const fw_epoch *epoch) {
  const furrow_learn_metrics *figures = epoch->valid.rows ? &epoch->valid : &epoch->train;
  return *(const double *)((const char *)figures + f->by->offset);
}

static bool is_better(const fw_fit *f, const fw_epoch *epoch) {
  const furrow_trainer *t = f->trainer;
  const double figure = figure_of(f, epoch);
  if (isnan(figure)) return false;
  if (t->best == 0) return true;
  const double best = figure_of(f, &t->history[t->best - 1]);
  return f->by->rises ? figure > best : figure < best;
}

static furrow_status add_to_history(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  void *history = t->history;
  const size_t capacity = t->history_capacity;
  furrow_status status = fw_grow(&history, &t->history_capacity, t->epochs + 1, sizeof *t->history, err);
  t->history = history;
  if (t->history_capacity != capacity) fw_epochs_link(t->history, t->epochs); /* they may have moved */
  if (status != FURROW_OK) return status;
  epoch->shown.best = (f->exact && !f->params.keep_best) || is_better(f, epoch);
  t->history[t->epochs] = *epoch;
  fw_epochs_link(&t->history[t->epochs++], 1);
  if (epoch->shown.best) t->best = epoch->shown.epoch;
  return FURROW_OK;
}

/* ---- Fit ------------------------------------------------------------------------------------------------ */

static furrow_status find_metric(fw_fit *f, furrow_error *err) {
  const bool ranks = fw_loss_ranks(f->trainer->plan->graph.loss);
  const char *name = f->params.metric ? f->params.metric : ranks ? "ndcg" : "loss";
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
    if (strcmp(metrics[i].name, name) == 0) f->by = &metrics[i];
  if (!f->by)
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "%s is not a metric; it must be loss, auc, accuracy, logloss, rmse, mae or ndcg", name);
  return FURROW_OK;
}

/* The loss may have been found in the data. */
static furrow_status check_metric(const fw_fit *f, furrow_error *err) {
  const fw_loss_type loss = f->trainer->plan->graph.loss;
  if (!fw_loss_has_metric(loss, f->by->offset))
    return fw_fail(err, FURROW_E_ARGUMENT, "a model with %s has no %s", fw_loss_name(loss), f->by->name);
  return FURROW_OK;
}

/* ---- The best epoch, checkpoints ------------------------------------------------------------------------ */

static furrow_status save_checkpoint(fw_fit *f, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  const uint32_t every = f->params.checkpoint_every ? f->params.checkpoint_every : 1;
  if (!f->params.checkpoint || (t->epochs % every != 0 && t->epochs != t->plan->train.epochs)) return FURROW_OK;
  fw_checkpoint checkpoint = {.steps = t->steps.count, .best = t->best, .epochs = t->epochs, .history = t->history};
  checkpoint.halvings = t->steps.halvings;
  checkpoint.best_steps = f->best_steps;
  if (t->best != t->epochs) checkpoint.best_snapshot = f->best_snapshot;
  const fw_snapshot_ops snapshot_ops = f->ops->snapshot_ops(t);
  return fw_checkpoint_save(f->params.checkpoint, &checkpoint, &snapshot_ops, t->comm, err);
}

/* A checkpoint has their loss alone. */
static void restore_ndcg(fw_epoch *epoch) {
  furrow_learn_metrics *const both[] = {&epoch->train, &epoch->valid};
  for (size_t i = 0; i < 2; i++)
    if (both[i]->rows > 0) fw_metrics_put_ndcg(both[i], 1 - both[i]->loss);
}

static void take_checkpoint(fw_fit *f, fw_checkpoint *checkpoint) {
  furrow_trainer *t = f->trainer;
  fw_free(t->history);
  t->history = checkpoint->history;
  t->epochs = t->history_capacity = checkpoint->epochs;
  t->steps.count = checkpoint->steps;
  t->best = checkpoint->best;
  t->steps.halvings = checkpoint->halvings;
  f->best_steps = checkpoint->best_steps;
  f->best_snapshot = checkpoint->best_snapshot;
  for (size_t i = 0; t->plan->graph.loss == FW_LOSS_LAMBDA && i < t->epochs; i++) restore_ndcg(&t->history[i]);
}

/* A checkpoint of other data is refused as far as the number of rows shows it. */
static furrow_status check_rows(fw_fit *f, const fw_checkpoint *checkpoint, furrow_error *err) {
  const fw_data_conf *data = &f->trainer->plan->data;
  const bool all = data->sample_ratio >= 1 && data->posneg_ratio <= 0 && f->trainer->comm->ranks == 1;
  uint64_t rows = 0;
  if (!all || f->params.stream || checkpoint->epochs == 0) return FURROW_OK;
  furrow_status status = fw_epoch_rows_count(f->train, &rows, err);
  const uint64_t had = checkpoint->history[0].train.rows;
  if (status != FURROW_OK || rows == had) return status;
  fw_fail(err, FURROW_E_STALE, "the checkpoint is of a training with %" PRIu64 " rows, but here are %" PRIu64, had,
          rows);
  fw_error_set_file(err, f->params.checkpoint);
  return FURROW_E_STALE;
}

/* The parameters of the best epoch are known: they are kept, it is the last epoch, or they are not asked for. */
static furrow_status check_best(const fw_fit *f, const fw_checkpoint *checkpoint, furrow_error *err) {
  const bool last = checkpoint->best == 0 || checkpoint->best == checkpoint->epochs;
  if (last || !f->params.keep_best || !f->ops->keeps_snapshots || checkpoint->best_snapshot.size) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE, "the checkpoint was made without keeping the best epoch, which is %u",
                 checkpoint->best);
}

/* Ranks agree after each step that one of them could fail in alone. */
static furrow_status read_checkpoint(fw_fit *f, fw_checkpoint *checkpoint, fw_snapshot_ops *made, furrow_error *err) {
  const furrow_comm *comm = f->trainer->comm;
  FW_TRY(fw_checkpoint_tidy(f->params.checkpoint, comm, err));
  FW_TRY(fw_comm_share_status(comm, f->ops->make(f->trainer, made, err), err));
  FW_TRY(fw_checkpoint_load(f->params.checkpoint, checkpoint, made, comm, err));
  furrow_status status = check_best(f, checkpoint, err);
  if (status == FURROW_OK) status = check_rows(f, checkpoint, err);
  if (status == FURROW_OK) status = f->ops->adopt(f->trainer, made->object, err);
  if (status == FURROW_OK) made->object = NULL; /* it is the trainer's */
  return fw_comm_share_status(comm, status, err);
}

/* Goes on from a checkpoint, if there is one. */
static furrow_status load_checkpoint(fw_fit *f, furrow_error *err) {
  fw_checkpoint checkpoint = {0};
  fw_snapshot_ops made = {0};
  furrow_status status = read_checkpoint(f, &checkpoint, &made, err);
  if (status != FURROW_OK) {
    f->ops->drop(made.object);
    fw_checkpoint_clear(&checkpoint);
    return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
  }
  take_checkpoint(f, &checkpoint);
  if (f->params.keep_best && f->trainer->best == f->trainer->epochs) status = f->ops->keep(f, err);
  return fw_comm_share_status(f->trainer->comm, status, err);
}

/* ---- Epochs --------------------------------------------------------------------------------------------- */

double fw_fit_loss_unit(const fw_fit *f) {
  const double factor = f->scaling.label_factor;
  return factor != 0 ? 1 / (factor * factor) : 1;
}

static void to_units_of_data(const fw_fit *f, furrow_learn_metrics *m) {
  const double factor = f->scaling.label_factor, mean = f->scaling.label_mean;
  if (factor == 0 || m->rows == 0) return;
  m->loss *= fw_fit_loss_unit(f);
  m->rmse /= factor;
  m->mae /= factor;
  m->constant_rmse /= factor;
  m->mean_label = m->mean_label / factor + mean;
  m->mean_prediction = m->mean_prediction / factor + mean;
}

/* Small data has no progress within an epoch; its end is reported, so that every epoch can be stopped. */
static furrow_status report_epoch(const fw_fit *f, const fw_epoch *epoch, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->params;
  const uint64_t rows = epoch->train.rows;
  return fw_report_progress(p->progress, p->progress_user, f->phase, rows, rows, err);
}

/* Ranks go on, or back, together. */
static furrow_status share_divergence(fw_fit *f, furrow_status status, furrow_error *err) {
  uint64_t diverged = f->trainer->steps.diverged;
  status = fw_fit_share_failure(f, status, err);
  if (f->trainer->comm->ranks > 1) FW_TRY(fw_comm_max_u64(f->trainer->comm, &diverged, 1, err));
  f->trainer->steps.diverged = diverged > 0;
  return status;
}

static furrow_status run_epoch(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_epoch epoch = {.shown = {.epoch = (uint32_t)t->epochs + 1}};
  furrow_learn_metrics_init(&epoch.train);
  furrow_learn_metrics_init(&epoch.valid);
  f->epoch = epoch.shown.epoch;
  f->phase = "training";
  furrow_status status = share_divergence(f, f->ops->train(f, &epoch, err), err);
  if (status == FURROW_OK) to_units_of_data(f, &epoch.train);
  if (fw_fit_diverged(f, status, &epoch)) return fw_fit_go_back(f, status, &epoch, err);
  FW_TRY(status);
  FW_TRY(fw_fit_share_failure(f, report_epoch(f, &epoch, err), err));
  status = share_divergence(f, validate(f, &epoch, err), err);
  if (status != FURROW_OK && f->trainer->steps.diverged) return fw_fit_go_back(f, status, &epoch, err);
  FW_TRY(status);
  to_units_of_data(f, &epoch.valid);
  status = add_to_history(f, &epoch, err);
  if (status == FURROW_OK && epoch.shown.best && f->params.keep_best) status = f->ops->keep(f, err);
  FW_TRY(fw_fit_share_failure(f, status, err));
  FW_TRY(save_checkpoint(f, err));
  if (f->params.epoch) status = f->params.epoch(f->params.epoch_user, &t->history[t->epochs - 1].shown, err);
  return fw_fit_share_failure(f, status, err);
}

/* Whether patience is at its end. */
static bool is_exhausted(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  return f->params.patience > 0 && t->epochs >= (size_t)t->best + f->params.patience;
}

static bool is_over(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  return f->done || t->epochs >= t->plan->train.epochs || is_exhausted(f);
}

/* A search for the exact minimum is not gone on with but begun again: it ends the same. Where no
 * checkpoint is loaded, the file that the first one replaces is only checked to be a checkpoint. */
static furrow_status begin_checkpoints(fw_fit *f, furrow_error *err) {
  const char *folder = f->params.checkpoint;
  if (!folder) return FURROW_OK;
  const bool resume = f->params.resume && !f->exact;
  return resume ? load_checkpoint(f, err) : fw_checkpoint_check_replaced(folder, f->trainer->comm, err);
}

static furrow_status run_all_epochs(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  t->epochs = 0;
  t->best = 0;
  t->steps.halvings = 0;
  t->steps.diverged = t->fell_back = false;
  f->phase = "training";
  furrow_status status = begin_checkpoints(f, err);
  if (status == FURROW_OK) status = f->ops->begin(f, err);
  while (status == FURROW_OK && !is_over(f)) status = run_epoch(f, err);
  if (status == FURROW_END) status = FURROW_OK;
  const bool back = f->params.keep_best && t->best > 0 && t->best < t->epochs;
  if (status == FURROW_OK && back) status = f->ops->restore(f, err);
  t->seen.saved_epoch = f->params.keep_best ? t->best : 0;
  if (status == FURROW_OK && f->ops->finish) status = f->ops->finish(f, err);
  t->trained |= t->steps.count > 0;
  if (status == FURROW_OK) status = fw_fit_note_halvings(f, err);
  return status == FURROW_OK ? fw_fit_compare_constant(f, err) : status;
}

static furrow_status run_epochs(fw_fit *f, furrow_error *err) {
  furrow_file_lock *lock = NULL;
  const char *folder = f->params.checkpoint;
  furrow_status status = folder ? fw_checkpoint_lock(&lock, folder, f->trainer->comm, err) : FURROW_OK;
  if (status == FURROW_OK) status = run_all_epochs(f, err);
  furrow_file_lock_close(lock);
  return status;
}

/* An error of the first rank that has one. */
static furrow_status share_first(const furrow_comm *comm, bool mine, furrow_error *first, furrow_error *err) {
  uint64_t from = mine ? comm->ranks - comm->rank : 0;
  FW_TRY(fw_comm_max_u64(comm, &from, 1, err));
  return from ? comm->broadcast(comm, first, sizeof *first, comm->ranks - (unsigned)from, err) : FURROW_OK;
}

/* What all ranks read. */
static furrow_status share_stats(const furrow_comm *comm, furrow_parser_stats *stats, furrow_error *err) {
  uint64_t sums[] = {stats->rows, stats->features, stats->bytes, stats->bad_rows, stats->ignored};
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(share_first(comm, stats->bad_rows > 0, &stats->first_bad, err));
  FW_TRY(share_first(comm, stats->ignored > 0, &stats->first_ignored, err));
  FW_TRY(fw_comm_sum_i64(comm, (int64_t *)sums, sizeof sums / sizeof *sums, err));
  stats->rows = sums[0];
  stats->features = sums[1];
  stats->bytes = sums[2];
  stats->bad_rows = sums[3];
  stats->ignored = sums[4];
  return FURROW_OK;
}

static furrow_status take_stats(const fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  furrow_parser_stats_init(&t->train_read);
  furrow_parser_stats_init(&t->valid_read);
  fw_epoch_rows_get_stats(f->train, &t->train_read);
  if (f->valid_samples) fw_epoch_rows_get_stats(f->valid, &t->valid_read);
  FW_TRY(share_stats(t->comm, &t->train_read, err));
  return share_stats(t->comm, &t->valid_read, err);
}

/* ---- Units of training ---------------------------------------------------------------------------------- */

/* Where the Huber loss turns linear is a difference of labels. */
static void scale_delta(const fw_fit *f, bool back) {
  const fw_graph *graph = &f->trainer->plan->graph;
  const double factor = f->scaling.label_factor;
  if (factor != 0) graph->layers[graph->count - 1].delta *= back ? 1 / factor : factor;
}

/* From now on nets of the plan compute in double. */
static furrow_status use_doubles(const furrow_trainer *t, furrow_error *err) {
  fw_model_conf *model = &t->plan->model;
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(model->row_type);
  char name[64];
  snprintf(name, sizeof name, "T_DOUBLE_%s", type->name + strlen("T_FLOAT_"));
  FW_TRY(furrow_matrix_row_type_find(name, &type, err));
  FW_TRY(furrow_learn_conf_set(t->conf, "model-type", name, err));
  model->row_type = type->number;
  return FURROW_OK;
}

/* The weights that are kept are those of the data as it is: they are changed before the first epoch (where there were
 * some: a model that is trained further) and changed back behind the last. */
static furrow_status change_units(fw_fit *f, bool back, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_scaling inverse = {0};
  if (!f->scaled) return FURROW_OK;
  if (back) {
    scale_delta(f, true);
    if (f->widen) FW_TRY(use_doubles(t, err));
    FW_TRY(fw_trainer_forget_steps(t, err));
    return fw_parameters_fold(t->parameters, &f->scaling, err);
  }
  furrow_status status = f->anew ? FURROW_OK : fw_scaling_invert(&inverse, &f->scaling, err);
  if (status == FURROW_OK && !f->anew) status = fw_parameters_fold(t->parameters, &inverse, err);
  fw_scaling_clear(&inverse);
  if (status != FURROW_OK) return status;
  scale_delta(f, false);
  f->in_units = true;
  return FURROW_OK;
}

/* Whatever happened, the trainer is left with weights for the data as it is; but where ranks have failed, perhaps one
 * of them alone, there is nothing that they could do together. */
static furrow_status finish_units(fw_fit *f, furrow_status status, furrow_error *err) {
  if (status != FURROW_OK && f->trainer->comm->ranks > 1) return status;
  const furrow_status folded = change_units(f, true, status == FURROW_OK ? err : NULL);
  return status == FURROW_OK ? folded : status;
}

/* Vectors need a strength, or rows to choose it by. */
static bool takes_factors(const fw_fit *f) {
  const fw_plan *plan = f->trainer->plan;
  return !f->large && f->anew && (f->separate || plan->data.valid_ratio > 0 || plan->train.own_l2);
}

/* The exact minimum needs all rows in memory, and begins anew. */
void fw_fit_choose_ops(fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  const fw_data_conf *data = &t->plan->data;
  const bool all = data->sample_ratio >= 1 && data->posneg_ratio <= 0 && !f->params.stream;
  const bool pairs = t->plan->train.lbfgs_pairs;
  f->exact = t->plan->train.lbfgs && all && !t->loaded;
  f->exact &= !pairs || takes_factors(f);
  f->ops = t->forest ? &fw_fit_forest : !f->exact ? &fw_fit_net : pairs ? &fw_fit_factors : &fw_fit_convex;
  if (fw_loss_ranks(t->plan->graph.loss) && !t->forest) f->ops = &fw_fit_rank;
}

/* Settings of 1.0 that did not pay: docs/design/learn.md. */
static furrow_status note_ignored(furrow_trainer *t, furrow_error *err) {
  if (t->hogwild)
    FW_TRY(fw_notes_add(&t->notes, false, err, "hogwild has no effect: threads that wait for each other are faster"));
  if (fw_conf_value(t->conf, FW_KEY_STALENESS).integer == 0) return FURROW_OK;
  return fw_notes_add(&t->notes, false, err, "staleness has no effect: a larger batch saves more exchanges");
}

/* What the plan says where the caller does not. */
static void take_plan(fw_fit *f) {
  const fw_train_conf *train = &f->trainer->plan->train;
  f->params.keep_best |= train->keep_best;
  if (f->params.patience == 0) f->params.patience = train->patience;
}

furrow_status furrow_trainer_fit(furrow_trainer *trainer, const char *train, const char *valid,
                                 const furrow_trainer_fit_params *params, furrow_error *err) {
  fw_fit f = {.trainer = trainer};
  furrow_trainer_fit_params_init(&f.params);
  FW_TRY(FW_PARAMS_READ(&f.params, params, furrow_trainer_fit_params, err));
  fw_notes_clear(&trainer->notes);
  FW_TRY(note_ignored(trainer, err));
  f.anew = !trainer->loaded && !trainer->trained;
  f.separate = valid != NULL;
  furrow_status status = fw_fit_settle_encoder(&f, err);
  fw_fit_choose_ops(&f);
  if (status == FURROW_OK) status = find_metric(&f, err);
  status = fw_fit_share_failure(&f, status, err);
  if (status == FURROW_OK) status = open_samples(&f, train, !valid, err);
  if (status == FURROW_OK) status = fw_fit_pause(&f, err);
  if (status == FURROW_OK) status = fw_fit_draw_negatives(&f, f.samples, err);
  if (status == FURROW_OK) status = fw_fit_leave_out(&f, err);
  if (status == FURROW_OK) status = fw_fit_prepare(&f, err);
  if (status == FURROW_OK) status = check_metric(&f, err);
  take_plan(&f);
  if (status == FURROW_OK) status = fw_tally_create(&f.tally, &trainer->plan->graph, err);
  status = fw_fit_share_failure(&f, status, err);
  if (status == FURROW_OK) status = fw_fit_share_failure(&f, open_train(&f, !valid, err), err);
  if (status == FURROW_OK) status = fw_fit_share_failure(&f, open_valid(&f, valid, err), err);
  if (status == FURROW_OK) status = fw_fit_pause(&f, err);
  if (status == FURROW_OK) status = change_units(&f, false, err);
  if (status == FURROW_OK) status = run_epochs(&f, err);
  if (f.in_units) status = finish_units(&f, status, err);
  fw_trainer_weigh_rows(trainer);
  if (status == FURROW_OK) status = fw_fit_score_fold(&f, err);
  if (status == FURROW_OK) status = take_stats(&f, err);
  fw_epoch_rows_close(f.train);
  fw_epoch_rows_close(f.valid);
  fw_samples_close(f.samples);
  fw_samples_close(f.valid_samples);
  fw_tally_free(f.tally);
  fw_booster_free(f.booster);
  fw_convex_fit_free(f.convex);
  fw_factor_fit_free(f.factors);
  fw_rank_fit_free(f.rank);
  fw_buffer_clear(&f.best_snapshot);
  fw_holdout_clear(&f.holdout);
  furrow_container_free(f.fold_rows);
  fw_scaling_clear(&f.scaling);
  fw_scaling_clear(&f.linear_scaling);
  return status;
}

size_t furrow_trainer_epoch_count(const furrow_trainer *trainer) {
  return trainer->epochs;
}

const furrow_epoch *furrow_trainer_get_epoch(const furrow_trainer *trainer, size_t i) {
  return i < trainer->epochs ? &trainer->history[i].shown : NULL;
}

uint32_t furrow_trainer_best_epoch(const furrow_trainer *trainer) {
  return trainer->best;
}

void furrow_trainer_get_stats(const furrow_trainer *trainer, furrow_parser_stats *train, furrow_parser_stats *valid) {
  if (train) fw_info_write(train, &trainer->train_read, sizeof trainer->train_read);
  if (valid) fw_info_write(valid, &trainer->valid_read, sizeof trainer->valid_read);
}
