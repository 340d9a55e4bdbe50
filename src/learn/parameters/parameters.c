/* learn/parameters/parameters.c: dense arrays, records of features, first weights, copies. */
#include "learn/parameters/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

bool fw_plan_dense(const fw_plan *plan) {
  return strcmp(plan->data.format, "dense") == 0;
}

/* ---- First weights: each number depends on the seed, its layer and its feature or index alone ---- */

/* An input layer with an activation is a hidden layer: it would never learn if it began with zeros. It begins like an
 * fc layer whose rows have at most this number of features. */
#define FEATURES_OF_A_ROW 100

/* The deviation of a normal distribution, where the configuration has one. */
static double deviation_of(const fw_plan *plan, const fw_layer *layer) {
  switch (layer->type) {
  case FW_LAYER_INPUT: return plan->train.init_input;
  case FW_LAYER_EMBEDDING: return plan->train.init_embedding;
  default: return plan->train.init_fc;
  }
}

/* Otherwise uniform in -limit … limit (Glorot, Bengio, 2010); 0: zeros. */
static double limit_of(const fw_plan *plan, const fw_layer *layer, bool by_feature) {
  const bool hidden_input = layer->type == FW_LAYER_INPUT && layer->activation != FW_ACTIVATION_IDENTITY;
  if (layer->type != FW_LAYER_FC && !hidden_input) return 0;
  const int64_t range = plan->data.range;
  double inputs = layer->type == FW_LAYER_FC ? (double)layer->in_width : (double)range;
  if (by_feature && (range <= 0 || range > FEATURES_OF_A_ROW)) inputs = FEATURES_OF_A_ROW;
  return sqrt(6 / (inputs + (double)layer->width));
}

static void draw_weights(const fw_parameters *p, const fw_parameter *weight, uint64_t which, size_t n, void *numbers) {
  const fw_layer *layer = &p->plan->graph.layers[weight->layer];
  const double deviation = p->training ? deviation_of(p->plan, layer) : 0;
  const double limit = p->training && deviation <= 0 ? limit_of(p->plan, layer, weight->by_feature) : 0;
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(p->seed, weight->layer), which));
  for (size_t i = 0; i < n; i++) {
    double number = 0;
    if (deviation > 0) number = deviation * fw_rng_normal(&rng);
    if (limit > 0) number = limit * (2 * fw_rng_double(&rng) - 1);
    fw_parameters_put(p, numbers, i, number);
  }
}

static void draw_record(const void *context, uint64_t key, void *record) {
  const fw_parameters *p = context;
  for (size_t i = 0; i < p->count; i++) {
    const fw_parameter *weight = &p->list[i];
    if (!weight->by_feature) continue;
    char *numbers = (char *)record + weight->record_at * p->element;
    draw_weights(p, weight, key, weight->rows, numbers);
    memset(numbers + weight->rows * p->element, 0, weight->rows * weight->state * p->element);
  }
}

/* ---- Create, free ---- */

static furrow_status add_parameter(fw_parameters *p, const fw_parameter *parameter, const char *suffix,
                                   furrow_error *err) {
  const char *layer = p->plan->graph.layers[parameter->layer].name;
  const size_t size = strlen(layer) + strlen(suffix) + 1;
  fw_parameter *added = &p->list[p->count];
  void *memory = NULL;
  FW_TRY(fw_arena_take(&p->arena, &memory, size, 1, err));
  snprintf(memory, size, "%s%s", layer, suffix);
  *added = *parameter;
  added->name = memory;
  added->record_at = p->record_numbers;
  if (added->by_feature) p->record_numbers += added->rows * (1 + added->state);
  for (size_t array = 0; !added->by_feature && array <= added->state; array++) {
    FW_TRY(fw_arena_take(&p->arena, &added->array[array], added->cols, p->element, err));
    memset(added->array[array], 0, added->cols * p->element);
    p->dense_numbers += added->cols;
  }
  if (!added->by_feature && !added->bias) draw_weights(p, added, 0, added->cols, added->array[0]);
  p->count++;
  return FURROW_OK;
}

static furrow_status add_layer(fw_parameters *p, size_t index, furrow_error *err) {
  const fw_layer *layer = &p->plan->graph.layers[index];
  const int64_t range = p->plan->data.range;
  const bool dense = fw_plan_dense(p->plan), embedding = layer->type == FW_LAYER_EMBEDDING;
  if (!embedding && layer->type != FW_LAYER_INPUT && layer->type != FW_LAYER_FC) return FURROW_OK;
  if (embedding && dense) return fw_fail(err, FURROW_E_ARGUMENT, "layer %s: dense data has no embedding", layer->name);
  const size_t state = p->training ? fw_optimizer_state(layer->optimizer.type) : 0;
  fw_parameter weight = {.layer = index, .rows = 1, .state = state};
  fw_parameter bias = {.layer = index, .bias = true, .rows = 1, .cols = layer->width};
  if (p->plan->train.bias_optimizer) bias.state = state;
  weight.by_feature = embedding || (layer->type == FW_LAYER_INPUT && !dense);
  if (weight.by_feature) {
    weight.rows = embedding ? layer->factors : layer->width;
    weight.cols = range > 0 ? (uint64_t)range : 0;
  } else {
    size_t cols;
    if (!fw_size_mul(dense && layer->type == FW_LAYER_INPUT ? (size_t)range : layer->in_width, layer->width, &cols))
      return fw_fail_memory(err, SIZE_MAX);
    weight.cols = cols;
  }
  if (embedding) return add_parameter(p, &weight, "_embedding", err);
  FW_TRY(add_parameter(p, &weight, "_weight", err));
  return add_parameter(p, &bias, "_bias", err);
}

static furrow_status create_features(fw_parameters *p, uint64_t max_features, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(p->plan->model.row_type);
  const int64_t range = p->plan->data.range;
  if (p->record_numbers == 0) return FURROW_OK;
  const fw_features_params params = {
      .bytes = p->record_numbers * p->element,
      .range = range > 0 && type && type->dense ? (uint64_t)range : 0,
      .most = p->comm->ranks > 1 ? 0 : max_features, /* of several ranks together: fw_rank_batch checks it */
      .first = draw_record,
      .context = p,
      .rank = p->comm->rank,
      .ranks = p->comm->ranks,
  };
  return fw_features_create(&p->features, &params, err);
}

static furrow_status create_arrays(fw_parameters *p, uint64_t max_features, furrow_error *err) {
  const fw_graph *graph = &p->plan->graph;
  FW_TRY(FW_ARENA_TAKE(&p->arena, &p->copies, 1, err));
  atomic_init(p->copies, FW_COPIES_STALE);
  FW_TRY(FW_ARENA_TAKE(&p->arena, &p->list, 2 * graph->count, err));
  for (size_t i = 0; i < graph->count; i++) FW_TRY(add_layer(p, i, err));
  return create_features(p, max_features, err);
}

furrow_status fw_parameters_create(fw_parameters **parameters, const fw_plan *plan, const fw_parameters_params *params,
                                   furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(plan->model.row_type);
  fw_parameters *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->plan = plan;
  made->comm = params->comm ? params->comm : fw_comm_self();
  made->training = params->training;
  made->seed = params->seed;
  made->element = type && type->element == FURROW_ELEMENT_F64 ? sizeof(double) : sizeof(float);
  const furrow_status status = create_arrays(made, params->max_features, err);
  return FW_HAND_OVER(status, parameters, made, fw_parameters_free);
}

void fw_parameters_free(fw_parameters *parameters) {
  if (!parameters) return;
  fw_features_free(parameters->features);
  fw_arena_clear(&parameters->arena);
  fw_free(parameters);
}

size_t fw_parameters_memory(const fw_parameters *p) {
  return p->dense_numbers * p->element + (p->features ? fw_features_memory(p->features) : 0);
}

/* ---- Where numbers are ---- */

size_t fw_parameters_find(const fw_parameters *p, size_t layer, bool bias) {
  for (size_t i = 0; i < p->count; i++)
    if (p->list[i].layer == layer && p->list[i].bias == bias) return i;
  return SIZE_MAX;
}

void *fw_parameters_dense(const fw_parameters *p, size_t parameter, size_t array) {
  if (array == 0) atomic_store(p->copies, FW_COPIES_STALE); /* the caller may write */
  return p->list[parameter].array[array];
}

void *fw_parameters_feature(const fw_parameters *p, size_t parameter, uint64_t key, size_t array) {
  const fw_parameter *about = &p->list[parameter];
  char *record = fw_features_find(p->features, key);
  return record ? record + (about->record_at + array * about->rows) * p->element : NULL;
}

void *fw_parameters_weights(const fw_parameters *p, size_t parameter, uint64_t key) {
  const fw_parameter *about = &p->list[parameter];
  if (about->by_feature) return fw_parameters_feature(p, parameter, key, 0);
  const size_t width = p->plan->graph.layers[about->layer].width;
  if (key >= about->cols / width) return NULL;
  return (char *)fw_parameters_dense(p, parameter, 0) + key * width * p->element;
}

furrow_status fw_parameters_make(fw_parameters *p, uint64_t key, furrow_error *err) {
  void *record = NULL;
  return p->features ? fw_features_make(p->features, key, &record, err) : FURROW_OK;
}

furrow_status fw_parameters_keys(const fw_parameters *p, uint64_t **keys, size_t *count, furrow_error *err) {
  if (p->features) return fw_features_keys(p->features, keys, count, err);
  *keys = NULL;
  *count = 0;
  return FURROW_OK;
}

/* ---- Copies ---- */

static void copy_numbers(const fw_parameters *to, void *numbers, const fw_parameters *from, const void *theirs,
                         size_t count) {
  if (to->element == from->element)
    memcpy(numbers, theirs, count * to->element);
  else
    for (size_t i = 0; i < count; i++) fw_parameters_put(to, numbers, i, fw_parameters_get(from, theirs, i));
}

static furrow_status copy_feature(fw_parameters *to, const fw_parameters *from, uint64_t key, furrow_error *err) {
  FW_TRY(fw_parameters_make(to, key, err));
  for (size_t i = 0; i < from->count; i++)
    if (from->list[i].by_feature)
      copy_numbers(to, fw_parameters_feature(to, i, key, 0), from, fw_parameters_feature(from, i, key, 0),
                   from->list[i].rows);
  return FURROW_OK;
}

furrow_status fw_parameters_copy(fw_parameters *to, const fw_parameters *from, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t count = 0;
  for (size_t i = 0; i < from->count; i++)
    if (!from->list[i].by_feature)
      copy_numbers(to, fw_parameters_dense(to, i, 0), from, from->list[i].array[0], from->list[i].cols);
  furrow_status status = fw_parameters_keys(from, &keys, &count, err);
  for (size_t f = 0; status == FURROW_OK && f < count; f++) status = copy_feature(to, from, keys ? keys[f] : f, err);
  fw_free(keys);
  return status;
}
