/* learn/train/divergence.c: a training whose loss runs away, and a model that is worse than none. */
#include "learn/train/divergence.h"

#include <math.h>

#include "base/error.h"
#include "learn/data/samples.h"

#define FAR 4.0 /* times the loss of a constant, that of the start, and the best so far */

/* ---- The loss of a constant ---- */

/* At most so much, as the loss is neither above that of squares nor above delta times the distance. */
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
  case FW_LOSS_HUBER: return huber_bound(graph->layers[graph->count - 1].delta * sqrt(fw_fit_loss_unit(f)), rows);
  case FW_LOSS_BPR:
  case FW_LOSS_WARP:
  case FW_LOSS_SAMPLED_SOFTMAX:
  case FW_LOSS_LAMBDA: break;
  }
  return NAN;
}

/* ---- Divergence ---- */

/* Of a net that says 0 for all rows, as it may when it begins. */
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
  case FW_LOSS_BPR:
  case FW_LOSS_WARP:
  case FW_LOSS_SAMPLED_SOFTMAX:
  case FW_LOSS_LAMBDA: return HUGE_VAL; /* fit_rank.c sees to it */
  }
  return 0.5 * distance * distance;
}

static double best_loss(const furrow_trainer *t) {
  double best = HUGE_VAL;
  for (size_t i = 0; i < t->epochs; i++) best = fmin(best, t->history[i].train.loss);
  return best;
}

bool fw_fit_diverged(const fw_fit *f, furrow_status status, const fw_epoch *epoch) {
  const furrow_trainer *t = f->trainer;
  if (t->forest || f->exact || f->rank) return false;
  if (status != FURROW_OK) return status == FURROW_E_RANGE && t->steps.diverged;
  const double loss = epoch->train.loss, constant = fw_fit_constant_loss(f, &epoch->train);
  if (epoch->train.weight > 0 && !isfinite(loss)) return true;
  return loss > FAR * fmax(constant, start_loss(f, &epoch->train)) && (t->epochs == 0 || loss > FAR * best_loss(t));
}

static furrow_status give_up(const fw_fit *f, furrow_status status, const fw_epoch *epoch, furrow_error *err) {
  if (status == FURROW_OK) {
    fw_fail(err, FURROW_E_RANGE, "training diverged: the loss of epoch %u is %g", epoch->shown.epoch,
            epoch->train.loss);
    fw_error_set_file(err, fw_samples_name(f->samples));
  }
  fw_error_set_hint(err, "a lower learning rate (key `lr`), other units of the features (key `scale`), or another "
                         "optimizer (key `optimizer`) may help");
  return FURROW_E_RANGE;
}

static furrow_status start_again(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  t->steps.count = 0;
  FW_TRY(fw_trainer_restart(t, err));
  return f->ops->begin(f, err);
}

furrow_status fw_fit_go_back(fw_fit *f, furrow_status status, const fw_epoch *epoch, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  const bool kept = t->best > 0 && f->best_snapshot.size > 0;
  if (t->steps.halvings == FW_HALVINGS_MAX || (!f->anew && !kept) || fw_samples_pass_once(f->samples))
    return give_up(f, status, epoch, err);
  t->steps.halvings++;
  t->steps.diverged = false;
  t->best = kept ? t->best : 0;
  t->epochs = t->best;
  return kept ? f->ops->restore(f, err) : start_again(f, err);
}

/* By their number alone, which a checkpoint has. */
furrow_status fw_fit_note_halvings(fw_fit *f, furrow_error *err) {
  const uint32_t times = f->trainer->steps.halvings;
  if (times == 0) return FURROW_OK;
  return fw_notes_add(&f->trainer->notes, false, err,
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
  return &t->history[(f->params.keep_best && t->best > 0 ? t->best : t->epochs) - 1];
}

furrow_status fw_fit_compare_constant(fw_fit *f, furrow_error *err) {
  const fw_epoch *saved = saved_epoch(f);
  if (!saved) return FURROW_OK;
  const bool held_out = saved->valid.rows > 0;
  const furrow_learn_metrics *rows = held_out ? &saved->valid : &saved->train;
  const double loss = f->trainer->fell_back ? f->trainer->seen.linear_loss : rows->loss;
  const double constant = fw_fit_constant_loss(f, rows);
  if (!(loss > constant * (1 - 1e-6))) return FURROW_OK;
  return fw_notes_add(&f->trainer->notes, true, err,
                      "the model is %s than a constant: the loss of the %s rows is %.6g, and %.6g if the same is "
                      "predicted for all rows",
                      loss > constant * (1 + 1e-6) ? "worse" : "no better", held_out ? "validation" : "training", loss,
                      constant);
}
