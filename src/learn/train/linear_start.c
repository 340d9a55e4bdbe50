/* learn/train/linear_start.c: a net that begins as the linear model of the data, and falls back to it. */
#include "learn/train/linear_start.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "learn/metrics/loss.h"
#include "learn/train/divergence.h"

/* What interactions are multiplied with where they are not wanted: their part of a score is then beyond its last digit,
 * and training can go on from there. */
#define FAINT 1e-4

/* ---- Numbers of a net ---- */

typedef struct target {
  fw_net *net;
  bool wide; /* numbers are doubles */
} target;

static target target_of(fw_net *net) {
  return (target){net, fw_net_element_size(net) == sizeof(double)};
}

static void put(const target *t, void *numbers, size_t i, double value) {
  if (t->wide)
    ((double *)numbers)[i] = value;
  else
    ((float *)numbers)[i] = (float)value;
}

static void multiply(const target *t, void *numbers, size_t count, double factor) {
  for (size_t i = 0; i < count; i++)
    put(t, numbers, i, factor * (t->wide ? ((double *)numbers)[i] : (double)((float *)numbers)[i]));
}

/* The parameter of a layer: its weights or its bias. */
static size_t parameter_of(const fw_net *net, size_t layer, bool bias) {
  size_t i = 0;
  while (fw_net_parameter(net, i)->layer != layer || fw_net_parameter(net, i)->bias != bias) i++;
  return i;
}

/* Where the numbers of a feature are in the weights of an input layer of `width` outputs, made where it has none; NULL:
 * another rank has them. */
static furrow_status weights_of(void **numbers, const target *t, size_t parameter, uint64_t key, size_t width,
                                furrow_error *err) {
  const bool own = fw_net_owns(t->net, key);
  if (own && fw_net_is_open(t->net)) FW_TRY(fw_net_make_feature(t->net, key, err));
  if (fw_net_parameter(t->net, parameter)->by_feature)
    *numbers = own ? fw_net_feature(t->net, parameter, key, 0) : NULL;
  else
    *numbers = (char *)fw_net_dense(t->net, parameter, 0) + key * width * (t->wide ? sizeof(double) : sizeof(float));
  return FURROW_OK;
}

/* The linear model in an input layer of `width` outputs: output o of the model, times `sign`, becomes output
 * first + o. */
static furrow_status put_into(const target *t, const fw_convex_fit *c, size_t layer, size_t width, size_t outputs,
                              size_t first, double sign, furrow_error *err) {
  size_t features = 0;
  const uint64_t *keys = fw_linear_problem_keys(c->problem, &features);
  const double *w = fw_convex_fit_parameters(c), *b = w + features * outputs;
  const size_t weights = parameter_of(t->net, layer, false), bias = parameter_of(t->net, layer, true);
  for (size_t i = 0; i < features; i++) {
    void *numbers = NULL;
    FW_TRY(weights_of(&numbers, t, weights, keys[i], width, err));
    for (size_t o = 0; numbers && o < outputs; o++) put(t, numbers, first + o, sign * w[i * outputs + o]);
  }
  for (size_t o = 0; o < outputs; o++) put(t, fw_net_dense(t->net, bias, 0), first + o, sign * b[o]);
  return FURROW_OK;
}

/* ---- Shapes of graphs ---- */

/* The input layer whose output is part of the graph's, as it is; SIZE_MAX: there is none. */
static size_t linear_layer(const fw_graph *graph) {
  const fw_layer *loss = &graph->layers[graph->count - 1];
  size_t at = loss->inputs[0];
  const fw_layer *last = &graph->layers[at];
  for (size_t k = 0; last->type == FW_LAYER_SUM_POOLING && k < last->input_count; k++)
    if (graph->layers[last->inputs[k]].type == FW_LAYER_INPUT) at = last->inputs[k];
  const fw_layer *found = &graph->layers[at];
  return found->type == FW_LAYER_INPUT && found->activation == FW_ACTIVATION_IDENTITY ? at : SIZE_MAX;
}

/* An input layer, then fc layers, all relu but the last, with room for the model and its negative: units 2o and 2o+1
 * carry what is above and below 0. */
static bool is_relu_stack(const fw_graph *graph) {
  const size_t last = graph->count - 2;
  for (size_t i = 0; i <= last; i++) {
    const fw_layer *layer = &graph->layers[i];
    if (layer->type != (i == 0 ? FW_LAYER_INPUT : FW_LAYER_FC)) return false;
    if (layer->activation != (i == last ? FW_ACTIVATION_IDENTITY : FW_ACTIVATION_RELU)) return false;
    if (i < last && layer->width < 2 * graph->outputs) return false;
  }
  return last > 0;
}

/* mlr: regions that are all the same are the model itself. */
static bool is_mixture(const fw_graph *graph) {
  const fw_layer *last = &graph->layers[graph->layers[graph->count - 1].inputs[0]];
  return last->type == FW_LAYER_DOT_POOLING && last->input_count == 2 &&
         graph->layers[last->inputs[0]].type == FW_LAYER_INPUT &&
         graph->layers[last->inputs[0]].activation == FW_ACTIVATION_SIGMOID;
}

static bool can_be_linear(const fw_graph *graph) {
  return linear_layer(graph) != SIZE_MAX || is_relu_stack(graph) || is_mixture(graph);
}

furrow_status fw_linear_put(fw_net *net, const fw_convex_fit *convex, furrow_error *err) {
  const fw_graph *graph = &fw_net_plan(net)->graph;
  const size_t layer = linear_layer(graph);
  const target t = target_of(net);
  return layer == SIZE_MAX ? FURROW_OK : put_into(&t, convex, layer, graph->outputs, graph->outputs, 0, 1, err);
}

void fw_linear_put_bias(fw_net *net, const double *outputs) {
  const fw_graph *graph = &fw_net_plan(net)->graph;
  const target t = target_of(net);
  size_t layer = linear_layer(graph);
  if (layer == SIZE_MAX) layer = graph->layers[graph->count - 1].inputs[0];
  const fw_layer *found = &graph->layers[layer];
  if (found->activation != FW_ACTIVATION_IDENTITY || (found->type != FW_LAYER_INPUT && found->type != FW_LAYER_FC))
    return;
  void *bias = fw_net_dense(net, parameter_of(net, layer, true), 0);
  for (size_t o = 0; o < graph->outputs; o++) put(&t, bias, o, outputs[o]);
}

/* ---- A net that is the linear model ---- */

static void silence_fc(const target *t, const fw_graph *graph, size_t layer) {
  const fw_layer *fc = &graph->layers[layer];
  const size_t weights = parameter_of(t->net, layer, false), bias = parameter_of(t->net, layer, true);
  multiply(t, fw_net_dense(t->net, weights, 0), fc->in_width * fc->width, 0);
  multiply(t, fw_net_dense(t->net, bias, 0), fc->width, 0);
}

static furrow_status quiet_embedding(const target *t, size_t layer, furrow_error *err) {
  const size_t parameter = parameter_of(t->net, layer, false), rows = fw_net_parameter(t->net, parameter)->rows;
  uint64_t *keys = NULL;
  size_t count = 0;
  FW_TRY(fw_net_features(t->net, &keys, &count, err));
  for (size_t i = 0; i < count; i++) multiply(t, fw_net_feature(t->net, parameter, keys ? keys[i] : i, 0), rows, FAINT);
  fw_free(keys);
  return FURROW_OK;
}

static size_t embedding_layer(const fw_graph *graph) {
  size_t i = 0;
  while (graph->layers[i].type != FW_LAYER_EMBEDDING) i++;
  return i;
}

/* Features that the problem does not have must not keep the vectors that were drawn for them. */
furrow_status fw_factors_put(fw_net *net, const fw_linear_problem *problem, const double *x, furrow_error *err) {
  const fw_graph *graph = &fw_net_plan(net)->graph;
  const target t = target_of(net);
  const size_t layer = linear_layer(graph), weights = parameter_of(net, layer, false);
  const size_t vectors = parameter_of(net, embedding_layer(graph), false);
  const size_t factors = fw_net_parameter(net, vectors)->rows;
  size_t features = 0;
  const uint64_t *keys = fw_linear_problem_keys(problem, &features);
  FW_TRY(quiet_embedding(&t, embedding_layer(graph), err));
  for (size_t i = 0; i < features; i++, x += 1 + factors) {
    void *weight = NULL, *numbers;
    FW_TRY(weights_of(&weight, &t, weights, keys[i], 1, err));
    if (weight) put(&t, weight, 0, x[0]);
    if (!fw_net_owns(net, keys[i])) continue;
    numbers = fw_net_feature(net, vectors, keys[i], 0);
    for (size_t j = 0; j < factors; j++) put(&t, numbers, j, x[1 + j]);
  }
  put(&t, fw_net_dense(net, parameter_of(net, layer, true), 0), 0, x[0]);
  return FURROW_OK;
}

/* What is summed with the linear layer says nothing: the last fc layer, and products of embeddings. */
static furrow_status silence_rest(const target *t, const fw_graph *graph, furrow_error *err) {
  const fw_layer *sum = &graph->layers[graph->layers[graph->count - 1].inputs[0]];
  for (size_t k = 0; sum->type == FW_LAYER_SUM_POOLING && k < sum->input_count; k++) {
    const fw_layer *part = &graph->layers[sum->inputs[k]];
    if (part->type == FW_LAYER_FC) silence_fc(t, graph, sum->inputs[k]);
    if (part->type == FW_LAYER_BI_INNER_SUM || part->type == FW_LAYER_FIELD_AWARE)
      FW_TRY(quiet_embedding(t, part->inputs[0], err));
  }
  return FURROW_OK;
}

/* Weights of a fc layer that pass units 2o and 2o+1 on, or in the last layer subtract them. Other units come to
 * nothing there. */
static void pass_on(const target *t, const fw_graph *graph, size_t layer) {
  const fw_layer *fc = &graph->layers[layer];
  const bool last = layer == graph->count - 2;
  const size_t carried = 2 * graph->outputs;
  void *weights = fw_net_dense(t->net, parameter_of(t->net, layer, false), 0);
  void *bias = fw_net_dense(t->net, parameter_of(t->net, layer, true), 0);
  const size_t outs = last ? fc->width : carried;
  for (size_t in = 0; in < fc->in_width; in++)
    for (size_t out = 0; out < outs; out++) {
      const double kept = last ? (in < carried && in / 2 == out ? (in % 2 ? -1 : 1) : 0) : in == out;
      put(t, weights, in * fc->width + out, kept);
    }
  for (size_t out = 0; out < outs; out++) put(t, bias, out, 0);
}

/* Signs take turns: a unit for each side of each output. */
static furrow_status fill_relu_stack(const target *t, const fw_graph *graph, const fw_convex_fit *c,
                                     furrow_error *err) {
  const size_t width = graph->layers[0].width, outputs = graph->outputs;
  size_t features = 0;
  const uint64_t *keys = fw_linear_problem_keys(c->problem, &features);
  const double *w = fw_convex_fit_parameters(c), *b = w + features * outputs;
  const size_t weights = parameter_of(t->net, 0, false), bias = parameter_of(t->net, 0, true);
  for (size_t i = 0; i < features; i++) {
    void *numbers = NULL;
    FW_TRY(weights_of(&numbers, t, weights, keys[i], width, err));
    for (size_t u = 0; numbers && u < 2 * outputs; u++) put(t, numbers, u, (u % 2 ? -1 : 1) * w[i * outputs + u / 2]);
  }
  for (size_t u = 0; u < 2 * outputs; u++) put(t, fw_net_dense(t->net, bias, 0), u, (u % 2 ? -1 : 1) * b[u / 2]);
  for (size_t layer = 1; layer + 1 < graph->count; layer++) pass_on(t, graph, layer);
  return FURROW_OK;
}

static furrow_status fill_mixture(const target *t, const fw_graph *graph, const fw_convex_fit *c, furrow_error *err) {
  const fw_layer *dot = &graph->layers[graph->layers[graph->count - 1].inputs[0]];
  const size_t width = graph->layers[dot->inputs[0]].width;
  for (size_t region = 0; region < width; region++) FW_TRY(put_into(t, c, dot->inputs[0], width, 1, region, 1, err));
  return FURROW_OK;
}

/* The features of the model get their records first, so that their other numbers are quieted, too. */
static furrow_status make_linear(fw_net *net, const fw_convex_fit *convex, furrow_error *err) {
  const fw_graph *graph = &fw_net_plan(net)->graph;
  const target t = target_of(net);
  if (is_relu_stack(graph)) return fill_relu_stack(&t, graph, convex, err);
  if (is_mixture(graph)) return fill_mixture(&t, graph, convex, err);
  FW_TRY(fw_linear_put(net, convex, err));
  return silence_rest(&t, graph, err);
}

static furrow_status become_linear(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_convex_fit *all = NULL;
  fw_net *net = NULL;
  furrow_status status = fw_convex_fit_create(&all, f, NULL, f->linear_l2, 0, err);
  if (status == FURROW_OK) status = fw_convex_fit_solve(all, f, err);
  if (status == FURROW_OK) status = fw_trainer_new_net(t, &net, err);
  if (status == FURROW_OK) status = make_linear(net, all, err);
  if (status == FURROW_OK) status = fw_trainer_adopt(t, net, err);
  if (status != FURROW_OK) fw_net_free(net);
  fw_convex_fit_free(all);
  return fw_fit_share_failure(f, status, err);
}

/* ---- The start ---- */

static bool is_possible(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  const fw_plan *plan = t->plan;
  const fw_loss_type loss = plan->graph.loss;
  return plan->train.start_linear && fw_samples_block(f->samples) && f->anew && loss != FW_LOSS_HINGE &&
         plan->data.sample_ratio >= 1 && plan->data.posneg_ratio <= 0 && can_be_linear(&plan->graph);
}

/* ---- The strength of the linear model ---- */

/* A loss that takes probabilities gets that of the score. */
static double linear_row_loss(const fw_graph *graph, const double *score, double label) {
  if (graph->loss != FW_LOSS_CROSS_ENTROPY) return fw_loss_value(graph, score, label);
  const double p = 1 / (1 + exp(-score[0]));
  return fw_loss_value(graph, &p, label);
}

/* Losses of the linear model for the validation rows, which are in memory; *losses: `count` numbers, to be freed. */
static furrow_status valid_losses(const fw_fit *f, const fw_convex_fit *c, double **losses, size_t *count,
                                  furrow_error *err) {
  const furrow_rowblock *rows = fw_samples_block(f->valid_samples ? f->valid_samples : f->samples);
  const fw_graph *graph = &f->trainer->plan->graph;
  uint32_t *use = NULL;
  double *label = NULL, *weight = NULL, *scores = NULL;
  furrow_status status = fw_epoch_rows_list(f->valid, &use, count, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&scores, *count + 1, graph->outputs * sizeof *scores, err);
  if (status == FURROW_OK) status = fw_convex_labels(f, rows, &label, &weight, err);
  if (status == FURROW_OK)
    fw_linear_problem_score_rows(c->problem, fw_convex_fit_parameters(c), rows, use, *count, scores);
  status = fw_fit_share_failure(f, status, err);
  for (size_t i = 0; status == FURROW_OK && i < *count; i++) /* one output: a loss takes the place of its score */
    scores[i] = weight[use[i]] * linear_row_loss(graph, scores + i, label[use[i]]);
  fw_free(use);
  fw_free(label);
  fw_free(weight);
  if (status == FURROW_OK)
    *losses = scores;
  else
    fw_free(scores);
  return status;
}

/* By more than a standard error of the mean difference: what few rows tell is left alone. */
static furrow_status are_lower(bool *lower, const fw_fit *f, const double *losses, const double *than, size_t count,
                               furrow_error *err) {
  double sums[] = {(double)count, 0, 0}; /* of rows, differences, their squares; those of all ranks at last */
  for (size_t i = 0; i < count; i++) {
    const double d = than[i] - losses[i];
    sums[1] += d;
    sums[2] += d * d;
  }
  FW_TRY(fw_comm_sum_f64(f->trainer->comm, sums, 3, err));
  const double n = sums[0], sum = sums[1];
  *lower = n > 1 && sum > 0 && sum * sum > sums[2] - sum * sum / n;
  return FURROW_OK;
}

/* A linear model with this strength, and in *losses its own, in place of fit->convex if it is better. */
static furrow_status try_strength(fw_fit *f, double l2, double **losses, bool *better, furrow_error *err) {
  fw_convex_fit *other = NULL;
  double *its = NULL;
  size_t count = 0;
  furrow_status status = fw_convex_fit_create(&other, f, f->train, l2, 0, err);
  if (status == FURROW_OK) status = fw_convex_fit_solve(other, f, err);
  if (status == FURROW_OK) status = valid_losses(f, other, &its, &count, err);
  *better = false;
  if (status == FURROW_OK) status = are_lower(better, f, its, *losses, count, err);
  if (*better) {
    fw_convex_fit *const convex = f->convex;
    double *const before = *losses;
    f->convex = other;
    f->linear_l2 = l2;
    *losses = its;
    other = convex;
    its = before;
  }
  fw_convex_fit_free(other);
  fw_free(its);
  return status;
}

/* Stronger as long as that is better, else weaker. Features of few rows need more than the usual strength where
 * predictions are sums of what many of them say: users and items. */
static furrow_status choose_strength(fw_fit *f, furrow_error *err) {
  enum { TRIES = 5 };
  double *losses = NULL;
  size_t count = 0;
  bool better = true;
  if (!fw_loss_is_regression(f->trainer->plan->graph.loss) || !f->valid) return FURROW_OK;
  if (!fw_samples_block(f->valid_samples ? f->valid_samples : f->samples)) return FURROW_OK;
  if (f->exact && f->trainer->plan->train.own_l2) return FURROW_OK;
  const double usual = f->linear_l2;
  furrow_status status = valid_losses(f, f->convex, &losses, &count, err);
  for (int i = 0; status == FURROW_OK && better && i < TRIES; i++)
    status = try_strength(f, f->linear_l2 * sqrt(10), &losses, &better, err);
  better = f->linear_l2 == usual;
  for (int i = 0; status == FURROW_OK && better && i < TRIES; i++)
    status = try_strength(f, f->linear_l2 / sqrt(10), &losses, &better, err);
  fw_free(losses);
  return status;
}

furrow_status fw_linear_start(fw_fit *f, furrow_error *err) {
  f->linear_l2 = fw_convex_strength(f);
  if (!is_possible(f)) return FURROW_OK;
  fw_convex_fit_free(f->convex);
  f->convex = NULL;
  FW_TRY(fw_convex_fit_create(&f->convex, f, f->train, f->linear_l2, 0, err));
  FW_TRY(fw_convex_fit_solve(f->convex, f, err));
  FW_TRY(choose_strength(f, err));
  if (f->trainer->epochs > 0) return FURROW_OK;
  return fw_fit_share_failure(f, fw_linear_put(f->trainer->net, f->convex, err), err);
}

/* ---- The comparison ---- */

/* Losses of the validation rows: those of the linear model, less those of the net. */
typedef struct comparison {
  const fw_fit *fit;
  const double *scores; /* of the linear model */
  size_t row;
  double weight, sum, squares; /* of the differences */
  double losses[2];            /* linear, net */
} comparison;

static void compare_batch(void *user, const fw_batch_slot *slot) {
  comparison *c = user;
  const fw_minibatch *batch = slot->batch;
  const size_t outputs = slot->graph->outputs;
  for (size_t i = 0; i < batch->rows; i++, c->row++) {
    const double weight = batch->weight ? (double)batch->weight[i] : 1, label = (double)batch->label[i];
    const double linear = linear_row_loss(slot->graph, c->scores + c->row * outputs, label);
    const double net = fw_loss_value(slot->graph, slot->out + i * outputs, label);
    c->weight += weight;
    c->sum += weight * (linear - net);
    c->squares += weight * (linear - net) * (linear - net);
    c->losses[0] += weight * linear;
    c->losses[1] += weight * net;
  }
}

/* By how many standard errors of the mean difference the net is better. */
static double errors_better(const comparison *c) {
  const double n = (double)c->row, mean = c->sum / c->weight;
  const double variance = c->squares / c->weight - mean * mean;
  return mean / fmax(sqrt(fmax(variance, 0) / n), 1e-300);
}

/* Two, and more where few rows tell: losses of nets have long tails, which few rows do not show. */
static double errors_needed(const comparison *c) {
  return 2 + 60 / (double)c->row;
}

static bool is_better(const comparison *c) {
  return c->row > 1 && errors_better(c) > errors_needed(c);
}

/* A linear model that is worse than a constant is nothing to fall back to. */
static bool is_only_good(const fw_fit *f, double linear, double net) {
  const furrow_trainer *t = f->trainer;
  const double constant = fw_fit_constant_loss(f, &t->history[t->epochs - 1].valid);
  return linear > constant && net < constant;
}

/* Scores of the linear model for the validation rows of this rank become those of all ranks. */
static furrow_status join_scores(const fw_fit *f, double **scores, size_t count, furrow_error *err) {
  void *all = NULL;
  size_t size = 0;
  if (f->trainer->comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_gather_all(f->trainer->comm, *scores, count * sizeof **scores, &all, &size, NULL, err));
  fw_free(*scores);
  *scores = all;
  return FURROW_OK;
}

static furrow_status compare(fw_fit *f, comparison *c, furrow_error *err) {
  const furrow_rowblock *rows = fw_samples_block(f->valid_samples ? f->valid_samples : f->samples);
  uint32_t *use = NULL;
  double *scores = NULL;
  size_t count = 0;
  const size_t outputs = f->trainer->plan->graph.outputs;
  furrow_status status = fw_epoch_rows_list(f->valid, &use, &count, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&scores, (count + 1) * outputs, sizeof *scores, err);
  if (status == FURROW_OK)
    fw_linear_problem_score_rows(f->convex->problem, fw_convex_fit_parameters(f->convex), rows, use, count, scores);
  status = fw_fit_share_failure(f, status, err);
  if (status == FURROW_OK) status = join_scores(f, &scores, count * outputs, err);
  *c = (comparison){.fit = f, .scores = scores};
  if (status == FURROW_OK) status = fw_fit_net_score(f, compare_batch, c, err);
  c->scores = NULL;
  fw_free(scores);
  fw_free(use);
  return status;
}

furrow_status fw_linear_fall_back(fw_fit *f, furrow_error *err) {
  comparison c;
  if (!f->convex || !f->valid || f->trainer->epochs == 0) return FURROW_OK;
  if (!fw_samples_block(f->valid_samples ? f->valid_samples : f->samples)) return FURROW_OK;
  FW_TRY(compare(f, &c, err));
  const double unit = fw_fit_loss_unit(f) / c.weight;
  if (is_better(&c) || is_only_good(f, c.losses[0] * unit, c.losses[1] * unit)) return FURROW_OK;
  FW_TRY(become_linear(f, err));
  f->trainer->fell_back = true;
  f->trainer->seen.linear_loss = c.losses[0] * unit;
  return fw_notes_add(
      &f->trainer->notes, false, err,
      "interactions did not help: the loss of the validation rows is %.6g, and %.6g with a linear model (%.1f standard "
      "errors better; a net needs %.1f); the model is the linear one",
      c.losses[1] * unit, c.losses[0] * unit, errors_better(&c), errors_needed(&c));
}
