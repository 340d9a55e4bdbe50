/* learn/train/linear_start.c: a net that begins as the linear model of the data, and falls back to it. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "learn/metrics/metrics.h"
#include "learn/train/fit.h"

/* The parameters become a linear model that is solved. */
static furrow_status put_solution(const fw_fit *f, const fw_convex_fit *convex, furrow_error *err) {
  const fw_linear_model model = fw_convex_model(convex);
  fw_parameters *parameters = NULL;
  furrow_status status = fw_trainer_new_parameters(f->trainer, &parameters, err);
  if (status == FURROW_OK && f->first) status = fw_parameters_copy(parameters, f->first, err);
  if (status == FURROW_OK) status = fw_parameters_become_linear(parameters, &model, err);
  if (status == FURROW_OK) status = fw_trainer_adopt(f->trainer, parameters, err);
  if (status != FURROW_OK) fw_parameters_free(parameters);
  return status;
}

static furrow_status become_linear(const fw_fit *f, double l2, furrow_error *err) {
  fw_convex_fit *all = NULL;
  furrow_status status = fw_convex_fit_create(&all, f, NULL, l2, 0, err);
  if (status == FURROW_OK) status = fw_convex_fit_solve(all, f, err);
  if (status == FURROW_OK) status = put_solution(f, all, err);
  fw_convex_fit_free(all);
  return fw_prepared_share(f->data, status, err);
}

/* ---- The start ---- */

/* A loaded net that fell back to its linear model tries its interactions again. */
static bool starts_linear(const fw_prepared *d) {
  return d->from_scratch || (d->goes_on && d->trainer->loaded_linear);
}

static bool is_possible(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  const fw_plan *plan = t->plan;
  const fw_loss_type loss = plan->graph.loss;
  return plan->train.start_linear && fw_samples_block(f->data->samples) && starts_linear(f->data) &&
         loss != FW_LOSS_HINGE && plan->data.sample_ratio >= 1 && plan->data.posneg_ratio <= 0 &&
         fw_graph_can_be_linear(&plan->graph);
}

static bool chooses_strength(const fw_fit *f) {
  const bool own = f->data->exact && f->trainer->plan->train.own_l2;
  return !own && f->data->from_scratch && f->data->samples->all_rows >= FW_STRENGTH_ROWS && f->data->valid &&
         fw_prepared_valid_block(f->data);
}

static furrow_status keep_first(fw_linear_start *start, fw_fit *f, furrow_error *err) {
  FW_TRY(fw_trainer_new_parameters(f->trainer, &start->first, err));
  f->first = start->first;
  return fw_parameters_copy(start->first, f->trainer->parameters, err);
}

furrow_status fw_linear_start_solve(fw_linear_start *start, fw_fit *f, furrow_error *err) {
  start->l2 = fw_convex_strength(f->data);
  if (!is_possible(f)) return FURROW_OK;
  if (!f->data->from_scratch) FW_TRY(keep_first(start, f, err));
  if (f->linear_l2 > 0)
    start->l2 = f->linear_l2;
  else if (chooses_strength(f))
    FW_TRY(fw_linear_strength_choose(f, &start->l2, NULL, err));
  FW_TRY(fw_convex_fit_create(&start->convex, f, f->data->train, start->l2, 0, err));
  FW_TRY(fw_convex_fit_solve(start->convex, f, err));
  if (f->trainer->epochs > 0) return FURROW_OK;
  const fw_linear_model model = fw_convex_model(start->convex);
  return fw_prepared_share(f->data, fw_parameters_put_linear(f->trainer->parameters, &model, err), err);
}

furrow_status fw_linear_start_rescue(fw_linear_start *start, fw_fit *f, fw_epoch *epoch, bool *rescued,
                                     furrow_error *err) {
  if (!start->convex || !f->data->valid || !fw_prepared_valid_block(f->data)) return FURROW_OK;
  FW_TRY(fw_prepared_share(f->data, put_solution(f, start->convex, err), err));
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  FW_TRY(fw_convex_fit_tally(start->convex, NULL, f, err));
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->shown.learning_rate = 0;
  *rescued = start->rescued = true;
  return FURROW_OK;
}

/* ---- The comparison ---- */

/* A comparison while it goes through the batches. */
typedef struct batch_comparison {
  fw_comparison *sums;
  const double *scores; /* scores of the linear model */
  size_t row;
} batch_comparison;

static void compare_batch(void *user, const fw_batch_slot *slot) {
  batch_comparison *b = user;
  fw_comparison *c = b->sums;
  const fw_minibatch *batch = slot->batch;
  const size_t outputs = slot->graph->outputs;
  for (size_t i = 0; i < batch->rows; i++, b->row++) {
    const double weight = batch->weight ? (double)batch->weight[i] : 1, label = (double)batch->label[i];
    const double linear = fw_linear_row_loss(slot->graph, b->scores + b->row * outputs, label);
    const double net = fw_loss_value(slot->graph, slot->out + i * outputs, label);
    c->rows++;
    c->weight += weight;
    c->sum += weight * (linear - net);
    c->squares += weight * (linear - net) * (linear - net);
    c->losses[0] += weight * linear;
    c->losses[1] += weight * net;
  }
}

double fw_comparison_errors(const fw_comparison *c) {
  const double n = (double)c->rows, mean = c->sum / c->weight;
  const double variance = c->squares / c->weight - mean * mean;
  return mean / fmax(sqrt(fmax(variance, 0) / n), 1e-300);
}

/* More if there are few rows: losses of nets have long tails, which few rows do not show. More, too, if rate and L2
 * were chosen by these rows: the best of a few is better by chance. */
double fw_comparison_needed(const fw_comparison *c) {
  return (c->chosen ? 2 : 1.5) + 20 / (double)c->rows;
}

/* Whether the linear model is worse than a constant while the net is better: then the net must not fall back to it. */
static bool is_only_good(const fw_fit *f, double linear, double net) {
  const furrow_trainer *t = f->trainer;
  const double constant = fw_fit_constant_loss(f, &t->history[t->epochs - 1].valid);
  return linear > constant && net < constant;
}

/* Replaces the linear model's scores of this rank's validation rows by the scores of all ranks' rows. */
static furrow_status join_scores(const fw_fit *f, double **scores, size_t count, furrow_error *err) {
  void *all = NULL;
  size_t size = 0;
  if (f->trainer->comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_gather_all(f->trainer->comm, *scores, count * sizeof **scores, &all, &size, NULL, err));
  fw_free(*scores);
  *scores = all;
  return FURROW_OK;
}

bool fw_linear_start_can_compare(const fw_linear_start *start, const fw_fit *f) {
  return start->convex && f->data->valid && f->trainer->epochs > 0 && fw_prepared_valid_block(f->data);
}

furrow_status fw_linear_start_compare(const fw_linear_start *start, fw_fit *f, fw_comparison *c, furrow_error *err) {
  const furrow_rowblock *rows = fw_prepared_valid_block(f->data);
  uint32_t *use = NULL;
  double *scores = NULL;
  size_t count = 0;
  const size_t outputs = f->trainer->plan->graph.outputs;
  c->chosen = f->data->tries_steps;
  furrow_status status = fw_epoch_rows_list(f->data->valid, &use, &count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&scores, (count + 1) * outputs, err);
  if (status == FURROW_OK)
    fw_linear_problem_score_rows(fw_convex_problem(start->convex), fw_convex_model(start->convex).weights, rows, use,
                                 count, scores);
  status = fw_prepared_share(f->data, status, err);
  if (status == FURROW_OK) status = join_scores(f, &scores, count * outputs, err);
  if (status == FURROW_OK)
    status = fw_fit_score_valid(f, compare_batch, &(batch_comparison){.sums = c, .scores = scores}, err);
  fw_free(scores);
  fw_free(use);
  return status;
}

furrow_status fw_linear_start_fall_back(const fw_linear_start *start, fw_fit *f, const fw_comparison *c,
                                        furrow_error *err) {
  const double unit = fw_fit_loss_unit(f) / c->weight, needed = fw_comparison_needed(c);
  const double linear = c->losses[0] * unit, net = c->losses[1] * unit;
  const bool better = c->rows > 1 && fw_comparison_errors(c) > needed;
  if (better || is_only_good(f, linear, net)) return FURROW_OK;
  FW_TRY(become_linear(f, start->l2, err));
  f->trainer->fell_back = true;
  f->trainer->seen.linear_loss = linear;
  if (start->rescued)
    return fw_trainer_note(f->trainer, false, err,
                           "interactions could not be trained, as each learning rate diverged; the model is the linear "
                           "one, whose loss of the validation rows is %.6g",
                           linear);
  return fw_trainer_note(
      f->trainer, false, err,
      "interactions did not help: the loss of the validation rows is %.6g, and %.6g with a linear model (%.1f standard "
      "errors better; a net needs %.1f); the model is the linear one",
      net, linear, fw_comparison_errors(c), needed);
}
