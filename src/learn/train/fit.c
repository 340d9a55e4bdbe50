/* learn/train/fit.c: epochs, or rounds: history, the best epoch, early stopping, divergence, checkpoints. */
#include "learn/train/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/conf/conf_data.h"
#include "learn/data/samples.h"
#include "learn/parameters/parameters.h"

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
    {"pinball", offsetof(furrow_learn_metrics, pinball), false},
    {"deviance", offsetof(furrow_learn_metrics, deviance), false},
};

/* ---- Progress ---- */

static furrow_status report_rows(const fw_fit *f, uint64_t rows, uint64_t total, furrow_error *err) {
  const furrow_trainer_fit_params *p = &f->data->params;
  return fw_report_progress(p->progress, p->progress_user, f->phase, rows, total, err);
}

furrow_status fw_fit_progress(void *user, uint64_t rows, furrow_error *err) {
  fw_fit *f = user;
  if (!f->data->params.progress || rows < f->reported + PROGRESS_ROWS) return FURROW_OK;
  const furrow_trainer *t = f->trainer;
  uint64_t total = (uint64_t)((double)fw_epoch_rows_known_rows(f->data->train) * t->plan->data.sample_ratio);
  if (t->epochs > 0) total = t->history[t->epochs - 1].train.rows;
  f->reported = rows;
  return report_rows(f, rows, total, err);
}

static furrow_status share_failure(const fw_fit *f, furrow_status status, furrow_error *err) {
  return fw_comm_share_status(f->trainer->comm, status, err);
}

furrow_status fw_fit_ask(const fw_fit *f, uint64_t done, uint64_t of, furrow_error *err) {
  const uint64_t rows = fw_epoch_rows_known_rows(f->data->train);
  return share_failure(f, report_rows(f, rows * done / of, rows, err), err);
}

/* ---- Validation ---- */

/* Says that an error is about validation data, and names its file. */
static furrow_status name_valid(const fw_fit *f, furrow_status status, furrow_error *err) {
  if (!err || err->file[0]) return status;
  const furrow_error found = *err;
  fw_fail(err, status, "validation data: %.200s", found.message);
  fw_error_set_hint(err, "%s", found.hint);
  fw_error_set_file(err, fw_samples_name(f->data->valid_samples ? f->data->valid_samples : f->data->samples));
  return status;
}

static furrow_status validate(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  if (!f->data->valid) return FURROW_OK;
  if (f->solver->validate) return f->solver->validate(f, epoch, err);
  fw_tally_clear(f->tally, FW_EXACT_ROWS);
  furrow_status status =
      f->solver->score_valid ? f->solver->score_valid(f, err) : fw_fit_score_valid(f, fw_tally_batch, f->tally, err);
  if (status == FURROW_E_RANGE) return name_valid(f, status, err);
  const bool net_of_ranks = !f->solver->score_valid && f->trainer->solver->ranks;
  const bool counted = f->solver->scores_all_ranks || net_of_ranks; /* the rows of all ranks */
  if (status == FURROW_OK && !counted) status = fw_tally_reduce(f->tally, f->trainer->comm, err);
  FW_TRY(status);
  fw_tally_metrics(f->tally, &epoch->valid);
  if (epoch->valid.rows == 0) return name_valid(f, fw_fail(err, FURROW_E_ARGUMENT, "there are no rows"), err);
  if (epoch->valid.weight > 0 && !isfinite(epoch->valid.loss))
    return name_valid(f, fw_fail(err, FURROW_E_RANGE, "the loss is not a number"), err);
  return FURROW_OK;
}

/* ---- History -------------------------------------------------------------------------------------------- */

static double figure_of(const fw_fit *f, const fw_epoch *epoch) {
  const furrow_learn_metrics *figures = epoch->valid.rows ? &epoch->valid : &epoch->train;
  return *(const double *)((const char *)figures + f->by->offset);
}

double fw_fit_figure(const fw_fit *f, const furrow_learn_metrics *rows) {
  const double figure = *(const double *)((const char *)rows + f->by->offset);
  return f->by->rises ? -figure : figure;
}

static bool is_better(const fw_fit *f, const fw_epoch *epoch) {
  const furrow_trainer *t = f->trainer;
  const double figure = figure_of(f, epoch);
  if (isnan(figure)) return false;
  if (t->best == 0) return true;
  const double best = figure_of(f, &t->history[t->best - 1]);
  return f->by->rises ? figure > best : figure < best;
}

/* An exact solution gets better until its end, and without validation rows nothing says that a tree is too many. */
static bool counts_last(const fw_fit *f) {
  const bool grows = f->trainer->forest && !f->data->valid && f->patience == 0;
  return (f->data->exact || grows) && !f->keep_best;
}

static furrow_status add_to_history(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  const size_t capacity = t->history_capacity;
  const furrow_status status = FW_GROW(&t->history, &t->history_capacity, t->epochs + 1, err);
  if (t->history_capacity != capacity) fw_epochs_link(t->history, t->epochs); /* they may have moved */
  FW_TRY(status);
  epoch->shown.best = counts_last(f) || is_better(f, epoch);
  t->history[t->epochs] = *epoch;
  fw_epochs_link(&t->history[t->epochs++], 1);
  if (epoch->shown.best) t->best = epoch->shown.epoch;
  return FURROW_OK;
}

/* The loss may have been found in the data. */
static furrow_status choose_metric(fw_fit *f, furrow_error *err) {
  const fw_loss_type loss = f->trainer->plan->graph.loss;
  const char *name = f->data->params.metric ? f->data->params.metric : fw_loss_ranks(loss) ? "ndcg" : "loss";
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
    if (strcmp(metrics[i].name, name) == 0) f->by = &metrics[i];
  if (!fw_loss_has_metric(loss, f->by->offset))
    return fw_fail(err, FURROW_E_ARGUMENT, "a model with %s has no %s", fw_loss_name(loss), f->by->name);
  return FURROW_OK;
}

static furrow_status check_metric(const furrow_trainer_fit_params *params, furrow_error *err) {
  bool known = !params->metric;
  for (size_t i = 0; !known && i < sizeof metrics / sizeof *metrics; i++)
    known = strcmp(metrics[i].name, params->metric) == 0;
  if (known) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT,
                 "%s is not a metric; it must be loss, auc, accuracy, logloss, rmse, mae, ndcg, pinball or deviance",
                 params->metric);
}

/* ---- The best epoch ---- */

static furrow_status append_snapshot(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

/* Saves the parameters of the best epoch. A forest keeps all its trees; trees of later rounds are cut off at the
 * end. */
static furrow_status keep_best(fw_fit *f, furrow_error *err) {
  if (f->solver->keep) f->solver->keep(f);
  if (f->trainer->forest) return FURROW_OK;
  fw_buffer_reset(&f->best_snapshot);
  f->best_steps = f->trainer->steps.count;
  return fw_parameters_snapshot_write(f->trainer->parameters, append_snapshot, &f->best_snapshot, err);
}

furrow_status fw_fit_restore_best(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_parameters *parameters = NULL;
  if (t->forest) {
    fw_forest_truncate(t->forest, t->forest->trees - (t->epochs - t->best) * t->forest->classes);
    return FURROW_OK;
  }
  const fw_buffer *snapshot = &f->best_snapshot;
  furrow_status status = fw_trainer_new_parameters(t, &parameters, err);
  if (status == FURROW_OK)
    status = fw_parameters_snapshot_read(parameters, (const unsigned char *)snapshot->bytes, snapshot->size, err);
  if (status == FURROW_OK) status = fw_trainer_adopt(t, parameters, err);
  if (status != FURROW_OK) fw_parameters_free(parameters);
  if (status == FURROW_OK) t->steps.count = f->best_steps;
  return status;
}

/* ---- Checkpoints ---- */

static furrow_status save_checkpoint(fw_fit *f, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  const uint32_t every = f->data->params.checkpoint_every ? f->data->params.checkpoint_every : 1;
  if (!f->data->params.checkpoint || (t->epochs % every != 0 && t->epochs != t->plan->train.epochs)) return FURROW_OK;
  fw_checkpoint checkpoint = {.steps = t->steps.count, .best = t->best, .epochs = t->epochs, .history = t->history};
  checkpoint.halvings = t->steps.halvings;
  checkpoint.best_steps = f->best_steps;
  if (t->best != t->epochs) checkpoint.best_snapshot = f->best_snapshot;
  const fw_snapshot_ops snapshot_ops = fw_trainer_snapshot_ops(t);
  return fw_checkpoint_save(f->data->params.checkpoint, &checkpoint, &snapshot_ops, t->comm, err);
}

/* A checkpoint has the loss of these epochs but not the NDCG, which is 1 - loss, nor other names of the loss. */
static void restore_figures(fw_epoch *epoch, fw_loss_type loss) {
  furrow_learn_metrics *const both[] = {&epoch->train, &epoch->valid};
  for (size_t i = 0; i < 2; i++) {
    if (both[i]->rows == 0) continue;
    if (loss == FW_LOSS_LAMBDA) fw_metrics_put_ndcg(both[i], 1 - both[i]->loss);
    fw_metrics_name_loss(both[i], loss);
  }
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
  for (size_t i = 0; i < t->epochs; i++) restore_figures(&t->history[i], t->plan->graph.loss);
}

/* Refuses a checkpoint of other data, as far as the number of rows shows it. */
static furrow_status check_rows(fw_fit *f, const fw_checkpoint *checkpoint, furrow_error *err) {
  const fw_data_conf *data = &f->trainer->plan->data;
  const bool all = data->sample_ratio >= 1 && data->posneg_ratio <= 0 && f->trainer->comm->ranks == 1;
  uint64_t rows = 0;
  if (!all || f->data->params.stream || checkpoint->epochs == 0) return FURROW_OK;
  furrow_status status = fw_epoch_rows_count(f->data->train, &rows, err);
  const uint64_t had = checkpoint->history[0].train.rows;
  if (status != FURROW_OK || rows == had) return status;
  fw_fail(err, FURROW_E_STALE, "the checkpoint is of a training with %" PRIu64 " rows, but here are %" PRIu64, had,
          rows);
  fw_error_set_file(err, f->data->params.checkpoint);
  return FURROW_E_STALE;
}

/* Checks that the parameters of the best epoch are available if they are wanted: they are in the checkpoint, or the
 * best epoch is the last. */
static furrow_status check_best(const fw_fit *f, const fw_checkpoint *checkpoint, furrow_error *err) {
  const bool last = checkpoint->best == 0 || checkpoint->best == checkpoint->epochs;
  if (last || !f->keep_best || f->trainer->forest || checkpoint->best_snapshot.size) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE, "the checkpoint was made without keeping the best epoch, which is %u",
                 checkpoint->best);
}

/* Ranks agree after each step that one of them could fail in alone. */
static furrow_status read_checkpoint(fw_fit *f, fw_checkpoint *checkpoint, fw_snapshot_ops *made, furrow_error *err) {
  const furrow_comm *comm = f->trainer->comm;
  FW_TRY(fw_checkpoint_tidy(f->data->params.checkpoint, comm, err));
  FW_TRY(fw_comm_share_status(comm, fw_trainer_new_object(f->trainer, made, err), err));
  furrow_status status = fw_checkpoint_load(f->data->params.checkpoint, checkpoint, made, comm, err);
  if (status == FURROW_E_STALE && f->data->l2_by_epochs)
    fw_error_set_hint(err,
                      "the key `l2` is not set, so it depends on the key `epochs`: use the same number of epochs, or "
                      "set the key `l2` to that number / %u",
                      f->trainer->plan->train.batch);
  FW_TRY(status);
  status = check_best(f, checkpoint, err);
  if (status == FURROW_OK) status = check_rows(f, checkpoint, err);
  if (status == FURROW_OK) status = fw_trainer_adopt_object(f->trainer, made->object, err);
  if (status == FURROW_OK) made->object = NULL; /* it is the trainer's */
  return fw_comm_share_status(comm, status, err);
}

/* Continues from a checkpoint, if there is one. */
static furrow_status load_checkpoint(fw_fit *f, furrow_error *err) {
  fw_checkpoint checkpoint = {0};
  fw_snapshot_ops made = {0};
  furrow_status status = read_checkpoint(f, &checkpoint, &made, err);
  if (status != FURROW_OK) {
    fw_trainer_free_object(f->trainer, made.object);
    fw_checkpoint_clear(&checkpoint);
    return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
  }
  take_checkpoint(f, &checkpoint);
  if (f->keep_best && f->trainer->best == f->trainer->epochs) status = keep_best(f, err);
  return fw_comm_share_status(f->trainer->comm, status, err);
}

/* ---- Units of training ---- */

double fw_fit_loss_unit(const fw_fit *f) {
  const double factor = f->data->scaling.label_factor;
  return factor != 0 ? 1 / (factor * factor) : 1;
}

static void to_units_of_data(const fw_fit *f, furrow_learn_metrics *m) {
  const double factor = f->data->scaling.label_factor, mean = f->data->scaling.label_mean;
  if (factor == 0 || m->rows == 0) return;
  m->loss *= fw_fit_loss_unit(f);
  m->rmse /= factor;
  m->mae /= factor;
  m->constant_rmse /= factor;
  m->mean_label = m->mean_label / factor + mean;
  m->mean_prediction = m->mean_prediction / factor + mean;
}

/* The Huber loss turns linear at a difference of labels, so delta is scaled like the labels. */
static void scale_delta(const fw_fit *f, bool back) {
  const fw_graph *graph = &f->trainer->plan->graph;
  const double factor = f->data->scaling.label_factor;
  if (factor != 0) graph->layers[graph->count - 1].delta *= back ? 1 / factor : factor;
}

/* From now on parameters of the plan are doubles. */
static furrow_status use_doubles(furrow_trainer *t, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(t->plan->model.row_type);
  char name[64];
  snprintf(name, sizeof name, "T_DOUBLE_%s", type->name + strlen("T_FLOAT_"));
  FW_TRY(furrow_matrix_row_type_find(name, &type, err));
  FW_TRY(fw_trainer_settle_keys(t, &(fw_settled){.model_type = type}, err));
  t->plan->model.row_type = type->number;
  return FURROW_OK;
}

/* The trainer keeps weights for unscaled data. Weights to continue from are converted to scaled units before the first
 * epoch, and all weights are converted back after the last. */
static furrow_status change_units(fw_fit *f, bool back, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_scaling inverse = {0};
  if (!f->data->scaled) return FURROW_OK;
  if (back) {
    scale_delta(f, true);
    if (f->data->widens) FW_TRY(use_doubles(t, err));
    FW_TRY(fw_trainer_forget_steps(t, err));
    return fw_parameters_fold(t->parameters, &f->data->scaling, err);
  }
  furrow_status status = f->data->from_scratch ? FURROW_OK : fw_scaling_invert(&inverse, &f->data->scaling, err);
  if (status == FURROW_OK && !f->data->from_scratch) status = fw_parameters_fold(t->parameters, &inverse, err);
  fw_scaling_clear(&inverse);
  if (status != FURROW_OK) return status;
  scale_delta(f, false);
  return FURROW_OK;
}

#define FAR 4.0 /* times the loss of a constant, the loss of the start, and the best so far */

/* ---- The loss of a constant ---- */

/* An upper bound: the Huber loss exceeds neither half of the squared error nor delta times the absolute error. */
static double huber_bound(double delta, const furrow_learn_metrics *rows) {
  return fmin(0.5 * rows->constant_rmse, delta) * rows->constant_rmse;
}

double fw_fit_constant_loss(const fw_fit *f, const furrow_learn_metrics *rows) {
  const fw_graph *graph = &f->trainer->plan->graph;
  switch (graph->loss) {
  case FW_LOSS_LOG:
  case FW_LOSS_CROSS_ENTROPY:
  case FW_LOSS_SOFTMAX: return rows->constant_logloss;
  case FW_LOSS_HINGE: return 2 * fmin(rows->mean_label, 1 - rows->mean_label);
  case FW_LOSS_L2: return 0.5 * rows->constant_rmse * rows->constant_rmse;
  case FW_LOSS_ABSOLUTE:
  case FW_LOSS_QUANTILE:
  case FW_LOSS_POISSON: return rows->constant_loss;
  case FW_LOSS_HUBER: return huber_bound(graph->layers[graph->count - 1].delta * sqrt(fw_fit_loss_unit(f)), rows);
  case FW_LOSS_BPR:
  case FW_LOSS_WARP:
  case FW_LOSS_SAMPLED_SOFTMAX:
  case FW_LOSS_LAMBDA: break;
  }
  return NAN;
}

/* ---- Divergence ---- */

/* The loss of a net that predicts 0 for all rows, as it may do at the start. */
static double start_loss(const fw_fit *f, const furrow_learn_metrics *rows) {
  const fw_graph *graph = &f->trainer->plan->graph;
  const double distance = hypot(rows->constant_rmse, rows->mean_label);
  switch (graph->loss) {
  case FW_LOSS_LOG:
  case FW_LOSS_CROSS_ENTROPY: return log(2);
  case FW_LOSS_SOFTMAX: return log((double)graph->outputs);
  case FW_LOSS_HINGE: return 1;
  case FW_LOSS_L2:
  case FW_LOSS_HUBER: break;
  case FW_LOSS_POISSON: return rows->constant_loss + fw_loss_of(graph, 0, rows->mean_label);
  case FW_LOSS_BPR:
  case FW_LOSS_WARP:
  case FW_LOSS_SAMPLED_SOFTMAX:
  case FW_LOSS_LAMBDA: return HUGE_VAL; /* fit_rank.c sees to it */
  case FW_LOSS_ABSOLUTE:
  case FW_LOSS_QUANTILE: return HUGE_VAL; /* trees do not diverge */
  }
  return 0.5 * distance * distance;
}

static double best_loss(const furrow_trainer *t) {
  double best = HUGE_VAL;
  for (size_t i = 0; i < t->epochs; i++) best = fmin(best, t->history[i].train.loss);
  return best;
}

static bool has_diverged(const fw_fit *f, furrow_status status, const fw_epoch *epoch) {
  const furrow_trainer *t = f->trainer;
  if (!f->solver->can_diverge) return false;
  if (status != FURROW_OK) return status == FURROW_E_RANGE && t->steps.diverged;
  const double loss = epoch->train.loss, constant = fw_fit_constant_loss(f, &epoch->train);
  if (epoch->train.weight > 0 && !isfinite(loss)) return true;
  return loss > FAR * fmax(constant, start_loss(f, &epoch->train)) && (t->epochs == 0 || loss > FAR * best_loss(t));
}

/* Ends with another model that the solver has, or fails. */
static furrow_status give_up(fw_fit *f, furrow_status status, fw_epoch *epoch, furrow_error *err) {
  f->trainer->steps.diverged = false;
  if (f->solver->rescue) FW_TRY(f->solver->rescue(f, epoch, &f->done, err));
  if (f->done) {
    to_units_of_data(f, &epoch->train);
    return FURROW_OK;
  }
  if (status == FURROW_OK) {
    fw_fail(err, FURROW_E_RANGE, "training diverged: the loss of epoch %u is %g", epoch->shown.epoch,
            epoch->train.loss);
    fw_error_set_file(err, fw_samples_name(f->data->samples));
  }
  fw_error_set_hint(err, "a lower learning rate (key `lr`), other units of the features (key `scale`), or another "
                         "optimizer (key `optimizer`) may help");
  return FURROW_E_RANGE;
}

static furrow_status begin_solver(fw_fit *f, furrow_error *err) {
  if (f->state) f->solver->free(f->state);
  f->state = NULL;
  return f->solver->begin(f, err);
}

static furrow_status start_again(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  t->steps.count = 0;
  FW_TRY(fw_trainer_restart(t, err));
  return begin_solver(f, err);
}

/* Trains again from an earlier state, with half the rate; at the end of that, the fit is done or fails. */
static furrow_status go_back(fw_fit *f, furrow_status status, fw_epoch *epoch, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  const bool kept = t->best > 0 && f->best_snapshot.size > 0;
  if (t->steps.halvings == FW_HALVINGS_MAX || (!f->data->from_scratch && !kept) ||
      fw_samples_pass_once(f->data->samples))
    return give_up(f, status, epoch, err);
  t->steps.halvings++;
  t->steps.diverged = false;
  t->best = kept ? t->best : 0;
  t->epochs = t->best;
  return kept ? fw_fit_restore_best(f, err) : start_again(f, err);
}

/* The note depends on the number of halvings only, which a checkpoint has, too. */
static furrow_status note_halvings(fw_fit *f, furrow_error *err) {
  const uint32_t times = f->trainer->steps.halvings;
  if (times == 0) return FURROW_OK;
  return fw_trainer_note(f->trainer, false, err,
                         "training diverged%s: it went back and halved the learning rate%s, to 1/%u",
                         times == 1   ? ""
                         : times == 2 ? " twice"
                                      : " three times",
                         times == 1 ? "" : " each time", 1U << times);
}

/* ---- Worse than a constant ---- */

static const fw_epoch *saved_epoch(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  if (t->epochs == 0) return NULL;
  return &t->history[(f->keep_best && t->best > 0 ? t->best : t->epochs) - 1];
}

static furrow_status compare_constant(fw_fit *f, furrow_error *err) {
  const fw_epoch *saved = saved_epoch(f);
  if (!saved) return FURROW_OK;
  to_units_of_data(f, &f->held_out);
  const furrow_learn_metrics *rows = &saved->train;
  const char *which = "training";
  if (f->held_out.rows > 0) rows = &f->held_out, which = "held-out";
  if (saved->valid.rows > 0) rows = &saved->valid, which = "validation";
  if (f->kept_before.rows > 0) rows = &f->kept_before;
  const double loss = f->trainer->fell_back ? f->trainer->seen.linear_loss : rows->loss;
  const double constant = fw_fit_constant_loss(f, rows);
  if (!(loss > constant * (1 - 1e-6))) return FURROW_OK;
  return fw_trainer_note(f->trainer, true, err,
                         "the model is %s than a constant: the loss of the %s rows is %.6g, and %.6g if the same is "
                         "predicted for all rows",
                         loss > constant * (1 + 1e-6) ? "worse" : "no better", which, loss, constant);
}

/* ---- Too good to be true ---- */

/* An AUC of 1 for rows that the model was not trained on is more often a column that was filled in after the label than
 * a good model. */
static furrow_status note_perfect(fw_fit *f, furrow_error *err) {
  enum { FEWEST_ROWS = 50 };
  const fw_epoch *saved = saved_epoch(f);
  if (!saved || saved->valid.rows < FEWEST_ROWS || !(saved->valid.auc >= 1)) return FURROW_OK;
  if (f->data->leaks || !fw_conf_recommends(f->trainer->conf)) return FURROW_OK;
  return fw_trainer_note(f->trainer, true, err,
                         "the AUC of the validation rows is 1: does a column contain the label, or a part of it?");
}

/* ---- Epochs ---- */

/* All ranks continue, or go back, together. */
static furrow_status share_divergence(fw_fit *f, furrow_status status, furrow_error *err) {
  uint64_t diverged = f->trainer->steps.diverged;
  status = share_failure(f, status, err);
  if (f->trainer->comm->ranks > 1) FW_TRY(fw_comm_max_u64(f->trainer->comm, &diverged, 1, err));
  f->trainer->steps.diverged = diverged > 0;
  return status;
}

static furrow_status run_epoch(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_epoch epoch = {.shown = {.epoch = (uint32_t)t->epochs + 1}};
  furrow_learn_metrics_init(&epoch.train);
  furrow_learn_metrics_init(&epoch.valid);
  f->phase = "training";
  furrow_status status = share_divergence(f, f->solver->train(f, &epoch, err), err);
  if (status == FURROW_OK) to_units_of_data(f, &epoch.train);
  bool diverged = has_diverged(f, status, &epoch);
  if (!diverged) {
    FW_TRY(status);
    /* small data has no progress within an epoch; its end is reported, so that every epoch can be stopped */
    FW_TRY(share_failure(f, report_rows(f, epoch.train.rows, epoch.train.rows, err), err));
    status = share_divergence(f, validate(f, &epoch, err), err);
    diverged = status != FURROW_OK && t->steps.diverged;
  }
  if (diverged) {
    FW_TRY(go_back(f, status, &epoch, err));
    if (!f->done) return FURROW_OK; /* training starts again, with a lower rate */
    status = validate(f, &epoch, err);
  }
  FW_TRY(status);
  to_units_of_data(f, &epoch.valid);
  status = add_to_history(f, &epoch, err);
  if (status == FURROW_OK && epoch.shown.best && f->keep_best) status = keep_best(f, err);
  FW_TRY(share_failure(f, status, err));
  if (!diverged) FW_TRY(save_checkpoint(f, err)); /* a net cannot continue from there */
  if (f->data->params.epoch)
    status = f->data->params.epoch(f->data->params.epoch_user, &t->history[t->epochs - 1].shown, err);
  return share_failure(f, status, err);
}

/* The last epoch was trained, or patience is at its end. */
static bool is_over(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  return f->done || t->epochs >= f->epochs || (f->patience > 0 && t->epochs >= (size_t)t->best + f->patience);
}

/* A search for the exact minimum starts again in place of continuing from a checkpoint: it ends with the same result.
 * If no checkpoint is loaded, the file that the first one replaces is only checked to be a checkpoint. */
static furrow_status begin_checkpoints(fw_fit *f, furrow_error *err) {
  const char *folder = f->data->params.checkpoint;
  if (!folder) return FURROW_OK;
  const bool resume = f->data->params.resume && !f->data->exact;
  return resume ? load_checkpoint(f, err) : fw_checkpoint_check_replaced(folder, f->trainer->comm, err);
}

static void put_history(furrow_trainer *t, fw_epoch *history, size_t epochs, size_t capacity, uint32_t best) {
  t->history = history;
  t->epochs = epochs;
  t->history_capacity = capacity;
  t->best = best;
}

furrow_status fw_fit_run_part(fw_fit *part, uint32_t *best, furrow_error *err) {
  furrow_trainer *t = part->trainer;
  fw_epoch *const history = t->history;
  const size_t epochs = t->epochs, capacity = t->history_capacity;
  const uint32_t best_before = t->best, halvings = t->steps.halvings;
  put_history(t, NULL, 0, 0, 0);
  t->steps.halvings = 0;
  furrow_status status = share_failure(part, start_again(part, err), err);
  while (status == FURROW_OK && !is_over(part)) status = run_epoch(part, err);
  if (status == FURROW_OK && part->keep_best && t->best < t->epochs) status = fw_fit_restore_best(part, err);
  *best = t->best;
  if (t->best > 0) part->best_figure = figure_of(part, &t->history[t->best - 1]) * (part->by->rises ? -1 : 1);
  fw_free(t->history);
  put_history(t, history, epochs, capacity, best_before);
  t->steps.halvings = halvings;
  return status;
}

/* A log of a day has fewer rows than those that the model learned from, and most of what it says is known: steps of an
 * eighth learn the new names as well, and spoil less of the rest. */
static uint32_t lowered_rate(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  const bool set = fw_conf_is_set(t->given, FW_KEY_LR) || fw_conf_is_set(t->given, FW_KEY_OPTIMIZER);
  return f->data->goes_on && t->plan->train.recommended && !set ? 3 : 0;
}

static furrow_status run_all_epochs(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  t->epochs = 0;
  t->best = 0;
  t->steps.halvings = 0;
  t->steps.lowered = lowered_rate(f);
  t->steps.diverged = t->fell_back = false;
  f->phase = "training";
  furrow_status status = fw_net_judge(f, err);
  if (status == FURROW_OK) status = fw_net_choose_steps(f, err);
  if (status == FURROW_OK) status = begin_checkpoints(f, err);
  if (status == FURROW_OK) status = begin_solver(f, err);
  while (status == FURROW_OK && !is_over(f)) status = run_epoch(f, err);
  f->stopped = status == FURROW_END;
  if (f->stopped) status = FURROW_OK;
  const bool back = f->keep_best && t->best > 0 && t->best < t->epochs;
  if (status == FURROW_OK && back) status = fw_fit_restore_best(f, err);
  t->seen.saved_epoch = f->keep_best ? t->best : 0;
  if (status == FURROW_OK && f->solver->finish) status = f->solver->finish(f, err);
  t->trained |= t->steps.count > 0;
  if (status == FURROW_OK) status = note_halvings(f, err);
  if (status == FURROW_OK) status = compare_constant(f, err);
  return status == FURROW_OK ? note_perfect(f, err) : status;
}

static furrow_status run_epochs(fw_fit *f, furrow_error *err) {
  furrow_file_lock *lock = NULL;
  const char *folder = f->data->params.checkpoint;
  furrow_status status = folder ? fw_checkpoint_lock(&lock, folder, f->trainer->comm, err) : FURROW_OK;
  if (status == FURROW_OK) status = run_all_epochs(f, err);
  furrow_file_lock_close(lock);
  return status;
}

/* ---- Fit ---- */

/* Gives all ranks the error of the first rank that has one. */
static furrow_status share_first(const furrow_comm *comm, bool mine, furrow_error *first, furrow_error *err) {
  uint64_t from = mine ? comm->ranks - comm->rank : 0;
  FW_TRY(fw_comm_max_u64(comm, &from, 1, err));
  return from ? comm->broadcast(comm, first, sizeof *first, comm->ranks - (unsigned)from, err) : FURROW_OK;
}

/* Replaces this rank's figures of reading by the sums over all ranks. */
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

static furrow_status take_stats(const fw_prepared *d, furrow_error *err) {
  furrow_trainer *t = d->trainer;
  furrow_parser_stats_init(&t->train_read);
  furrow_parser_stats_init(&t->valid_read);
  fw_epoch_rows_get_stats(d->train, &t->train_read);
  if (d->valid_samples) fw_epoch_rows_get_stats(d->valid, &t->valid_read);
  FW_TRY(share_stats(t->comm, &t->train_read, err));
  return share_stats(t->comm, &t->valid_read, err);
}

/* Notes settings of release 1.0 that have no effect any more, because they did not pay off (docs/design/learn.md). */
static furrow_status note_ignored(furrow_trainer *t, furrow_error *err) {
  if (t->hogwild)
    FW_TRY(fw_trainer_note(t, false, err, "hogwild has no effect: threads that wait for each other are faster"));
  if (fw_conf_value(t->conf, FW_KEY_STALENESS).integer == 0) return FURROW_OK;
  return fw_trainer_note(t, false, err, "staleness has no effect: a larger batch saves more exchanges");
}

/* Scores the rows that were left out with the present model. */
static furrow_status score_fold(const fw_prepared *d, furrow_error *err) {
  furrow_rowblock rows;
  if (!d->fold_rows) return FURROW_OK;
  FW_TRY(furrow_container_get_block(d->fold_rows, &rows, err));
  return furrow_trainer_evaluate(d->trainer, &rows, &d->trainer->fold, err);
}

/* After a failure, too, the trainer is left with weights for unscaled data. The exception is a failure of several
 * ranks: perhaps one rank alone has failed, so they cannot exchange anything any more. */
static furrow_status solve(fw_fit *f, furrow_error *err) {
  FW_TRY(change_units(f, false, err));
  furrow_status status = run_epochs(f, err);
  if (!f->data->scaled || (status != FURROW_OK && f->trainer->comm->ranks > 1)) return status;
  const furrow_status folded = change_units(f, true, status == FURROW_OK ? err : NULL);
  return status == FURROW_OK ? folded : status;
}

/* Without validation rows, the best round of a forest is the last, unless the caller wants the lowest training loss. */
static bool keeps_best(const fw_prepared *d) {
  const furrow_trainer *t = d->trainer;
  const bool judged = !t->forest || d->valid || fw_conf_is_set(t->conf, FW_KEY_KEEP);
  return d->params.keep_best || (t->plan->train.keep_best && judged);
}

static furrow_status fit_prepared(const fw_prepared *d, furrow_error *err) {
  const fw_train_conf *train = &d->trainer->plan->train;
  fw_fit f = {.trainer = d->trainer,
              .data = d,
              .solver = d->solver,
              .keep_best = keeps_best(d),
              .epochs = train->epochs,
              .patience = d->params.patience ? d->params.patience : train->patience};
  furrow_status status = choose_metric(&f, err);
  if (status == FURROW_OK) status = fw_tally_create(&f.tally, &d->trainer->plan->graph, err);
  status = share_failure(&f, status, err);
  if (status == FURROW_OK) status = solve(&f, err);
  if (f.state) f.solver->free(f.state);
  fw_tally_free(f.tally);
  fw_buffer_clear(&f.best_snapshot);
  return status;
}

furrow_status furrow_trainer_fit(furrow_trainer *trainer, const char *train, const char *valid,
                                 const furrow_trainer_fit_params *params, furrow_error *err) {
  fw_prepared prepared = {.trainer = trainer};
  furrow_trainer_fit_params_init(&prepared.params);
  FW_TRY(FW_PARAMS_READ(&prepared.params, params, furrow_trainer_fit_params, err));
  FW_TRY(check_metric(&prepared.params, err));
  snprintf(trainer->metric, sizeof trainer->metric, "%s", prepared.params.metric ? prepared.params.metric : "");
  trainer->keep_best = prepared.params.keep_best;
  trainer->patience = prepared.params.patience;
  fw_trainer_clear_notes(trainer);
  FW_TRY(note_ignored(trainer, err));
  furrow_status status = fw_prepare(&prepared, train, valid, err);
  if (status == FURROW_OK) status = fit_prepared(&prepared, err);
  fw_trainer_weigh_rows(trainer);
  if (status == FURROW_OK) status = score_fold(&prepared, err);
  if (status == FURROW_OK) status = take_stats(&prepared, err);
  fw_prepared_clear(&prepared);
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
