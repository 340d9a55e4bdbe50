/* learn/parameters/linear_parameters.c: a linear model, or a factorization machine, written into the parameters of a
 * graph that contains it. */
#include "learn/parameters/parameters.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

/* Unwanted interactions are multiplied with this: their part of a score is then below its last digit, but training can
 * still continue from there. */
#define FAINT 1e-4

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

/* Whether the graph is an input layer, then fc layers, all relu but the last, that are wide enough for the model and
 * its negative: units 2o and 2o+1 have the positive and the negative part of output o. */
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

bool fw_graph_can_be_linear(const fw_graph *graph) {
  return linear_layer(graph) != SIZE_MAX || is_relu_stack(graph) || is_mixture(graph);
}

/* ---- Numbers ---- */

static void *bias_of(const fw_parameters *p, size_t layer) {
  return fw_parameters_dense(p, fw_parameters_find(p, layer, true), 0);
}

static void multiply_numbers(const fw_parameters *p, void *numbers, size_t count, double factor) {
  for (size_t i = 0; i < count; i++) fw_parameters_put(p, numbers, i, factor * fw_parameters_get(p, numbers, i));
}

/* Unit u of an input layer becomes output u / each of the model; with `signs`, odd units become its negative. */
static furrow_status put_units(fw_parameters *p, const fw_linear_model *m, size_t layer, size_t units, size_t each,
                               bool signs, furrow_error *err) {
  const size_t parameter = fw_parameters_find(p, layer, false);
  const double *w = m->weights;
  for (size_t i = 0; i <= m->features; i++, w += m->outputs) {
    void *numbers = NULL;
    if (i < m->features) {
      if (fw_parameters_own(p, m->keys[i])) FW_TRY(fw_parameters_make(p, m->keys[i], err));
      numbers = fw_parameters_weights(p, parameter, m->keys[i]);
    } else {
      numbers = bias_of(p, layer);
    }
    for (size_t u = 0; numbers && u < units; u++)
      fw_parameters_put(p, numbers, u, (signs && u % 2 ? -1 : 1) * w[u / each]);
  }
  return FURROW_OK;
}

static furrow_status quiet_embedding(const fw_parameters *p, size_t layer, furrow_error *err) {
  const size_t parameter = fw_parameters_find(p, layer, false);
  uint64_t *keys = NULL;
  size_t count = 0;
  FW_TRY(fw_parameters_keys(p, &keys, &count, err));
  for (size_t i = 0; i < count; i++)
    multiply_numbers(p, fw_parameters_feature(p, parameter, keys ? keys[i] : i, 0), p->list[parameter].rows, FAINT);
  fw_free(keys);
  return FURROW_OK;
}

/* The root mean square of the vectors of an embedding. */
static double embedding_size(const fw_parameters *p, size_t parameter, const uint64_t *keys, size_t count) {
  const size_t rows = p->list[parameter].rows;
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const void *vector = fw_parameters_feature(p, parameter, keys ? keys[i] : i, 0);
    for (size_t k = 0; k < rows; k++) sum += fw_parameters_get(p, vector, k) * fw_parameters_get(p, vector, k);
  }
  return count > 0 ? sqrt(sum / (double)(count * rows)) : 0;
}

/* Vectors that quiet_embedding made faint get the size back that they had when they were drawn. A rank has vectors of
 * its own, so the factor does not depend on them. */
static furrow_status wake_embedding(const fw_parameters *p, size_t layer, bool *was_quiet, furrow_error *err) {
  const size_t parameter = fw_parameters_find(p, layer, false);
  uint64_t *keys = NULL;
  size_t count = 0;
  FW_TRY(fw_parameters_keys(p, &keys, &count, err));
  const double size = embedding_size(p, parameter, keys, count), drawn = p->plan->train.init_embedding;
  *was_quiet = size > 0 && size < drawn * sqrt(FAINT);
  for (size_t i = 0; *was_quiet && i < count; i++)
    multiply_numbers(p, fw_parameters_feature(p, parameter, keys ? keys[i] : i, 0), p->list[parameter].rows, 1 / FAINT);
  fw_free(keys);
  return FURROW_OK;
}

furrow_status fw_parameters_wake(fw_parameters *p, bool *was_linear, furrow_error *err) {
  const fw_graph *graph = &p->plan->graph;
  const fw_layer *sum = &graph->layers[graph->layers[graph->count - 1].inputs[0]];
  *was_linear = false;
  for (size_t k = 0; sum->type == FW_LAYER_SUM_POOLING && k < sum->input_count; k++) {
    const fw_layer *part = &graph->layers[sum->inputs[k]];
    bool was_quiet = false;
    if (part->type != FW_LAYER_BI_INNER_SUM && part->type != FW_LAYER_FIELD_AWARE) continue;
    FW_TRY(wake_embedding(p, part->inputs[0], &was_quiet, err));
    *was_linear |= was_quiet;
  }
  return FURROW_OK;
}

/* Silences the layers that are summed with the linear layer: the last fc layer, and products of embeddings. */
static furrow_status quiet_rest(const fw_parameters *p, furrow_error *err) {
  const fw_graph *graph = &p->plan->graph;
  const fw_layer *sum = &graph->layers[graph->layers[graph->count - 1].inputs[0]];
  for (size_t k = 0; sum->type == FW_LAYER_SUM_POOLING && k < sum->input_count; k++) {
    const size_t layer = sum->inputs[k], weights = fw_parameters_find(p, layer, false);
    const fw_layer *part = &graph->layers[layer];
    if (part->type == FW_LAYER_FC) {
      multiply_numbers(p, fw_parameters_dense(p, weights, 0), part->in_width * part->width, 0);
      multiply_numbers(p, bias_of(p, layer), part->width, 0);
    }
    if (part->type == FW_LAYER_BI_INNER_SUM || part->type == FW_LAYER_FIELD_AWARE)
      FW_TRY(quiet_embedding(p, part->inputs[0], err));
  }
  return FURROW_OK;
}

/* Sets the weights of an fc layer to pass units 2o and 2o+1 on, or in the last layer to subtract them. Other units get
 * the weight 0 there. */
static void pass_on(const fw_parameters *p, size_t layer) {
  const fw_graph *graph = &p->plan->graph;
  const fw_layer *fc = &graph->layers[layer];
  const bool last = layer == graph->count - 2;
  const size_t carried = 2 * graph->outputs, outs = last ? fc->width : carried;
  void *weights = fw_parameters_dense(p, fw_parameters_find(p, layer, false), 0);
  for (size_t in = 0; in < fc->in_width; in++)
    for (size_t out = 0; out < outs; out++) {
      const double kept = last ? (in < carried && in / 2 == out ? (in % 2 ? -1 : 1) : 0) : in == out;
      fw_parameters_put(p, weights, in * fc->width + out, kept);
    }
  for (size_t out = 0; out < outs; out++) fw_parameters_put(p, bias_of(p, layer), out, 0);
}

/* ---- Models ---- */

furrow_status fw_parameters_put_linear(fw_parameters *p, const fw_linear_model *model, furrow_error *err) {
  const size_t layer = linear_layer(&p->plan->graph);
  return layer == SIZE_MAX ? FURROW_OK : put_units(p, model, layer, model->outputs, 1, false, err);
}

bool fw_parameters_get_linear(const fw_parameters *p, uint64_t key, double *weights) {
  const size_t layer = linear_layer(&p->plan->graph);
  const size_t parameter = layer == SIZE_MAX ? SIZE_MAX : fw_parameters_find(p, layer, false);
  const void *numbers = parameter == SIZE_MAX ? NULL : fw_parameters_weights(p, parameter, key);
  for (size_t o = 0; numbers && o < p->plan->graph.outputs; o++) weights[o] = fw_parameters_get(p, numbers, o);
  return numbers != NULL;
}

void fw_parameters_get_bias(const fw_parameters *p, double *outputs) {
  const void *numbers = bias_of(p, linear_layer(&p->plan->graph));
  for (size_t o = 0; o < p->plan->graph.outputs; o++) outputs[o] = fw_parameters_get(p, numbers, o);
}

/* The features of the model get their records first, so that their other numbers are quieted, too. */
furrow_status fw_parameters_become_linear(fw_parameters *p, const fw_linear_model *model, furrow_error *err) {
  const fw_graph *graph = &p->plan->graph;
  if (is_relu_stack(graph)) {
    FW_TRY(put_units(p, model, 0, 2 * model->outputs, 2, true, err));
    for (size_t layer = 1; layer + 1 < graph->count; layer++) pass_on(p, layer);
    return FURROW_OK;
  }
  if (is_mixture(graph)) {
    const size_t layer = graph->layers[graph->layers[graph->count - 1].inputs[0]].inputs[0];
    const size_t regions = graph->layers[layer].width;
    return put_units(p, model, layer, regions, regions, false, err);
  }
  FW_TRY(fw_parameters_put_linear(p, model, err));
  return quiet_rest(p, err);
}

furrow_status fw_parameters_put_factors(fw_parameters *p, const uint64_t *keys, size_t features, const double *x,
                                        furrow_error *err) {
  const fw_graph *graph = &p->plan->graph;
  size_t embedding = 0;
  while (graph->layers[embedding].type != FW_LAYER_EMBEDDING) embedding++;
  const size_t layer = linear_layer(graph), weights = fw_parameters_find(p, layer, false);
  const size_t vectors = fw_parameters_find(p, embedding, false), factors = p->list[vectors].rows;
  FW_TRY(quiet_embedding(p, embedding, err));
  for (size_t i = 0; i < features; i++, x += 1 + factors) {
    if (!fw_parameters_own(p, keys[i])) continue;
    FW_TRY(fw_parameters_make(p, keys[i], err));
    void *vector = fw_parameters_feature(p, vectors, keys[i], 0);
    fw_parameters_put(p, fw_parameters_feature(p, weights, keys[i], 0), 0, x[0]);
    for (size_t j = 0; j < factors; j++) fw_parameters_put(p, vector, j, x[1 + j]);
  }
  fw_parameters_put(p, bias_of(p, layer), 0, x[0]);
  return FURROW_OK;
}

void fw_parameters_put_bias(fw_parameters *p, const double *outputs) {
  const fw_graph *graph = &p->plan->graph;
  size_t layer = linear_layer(graph);
  if (layer == SIZE_MAX) layer = graph->layers[graph->count - 1].inputs[0];
  const fw_layer *found = &graph->layers[layer];
  if (found->activation != FW_ACTIVATION_IDENTITY || (found->type != FW_LAYER_INPUT && found->type != FW_LAYER_FC))
    return;
  for (size_t o = 0; o < graph->outputs; o++) fw_parameters_put(p, bias_of(p, layer), o, outputs[o]);
}
