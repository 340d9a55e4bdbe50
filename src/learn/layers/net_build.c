/* learn/layers/net_build.c: a net from a plan: its nodes, their dense arrays, the records of features, first weights.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "learn/layers/layer.h"

/* ---- First weights: each number depends on the seed, its layer and its feature or index alone ------------------- */

/* An input layer with an activation is a hidden layer: from zeros it would never start. It begins as an fc layer does,
 * a row taken to have at most so many features. */
#define FEATURES_OF_A_ROW 100

static bool is_hidden_input(const node *self) {
  return self->layer->type == FW_LAYER_INPUT && self->layer->activation != FW_ACTIVATION_IDENTITY;
}

/* Deviation of a normal, where the configuration has one. */
static double deviation_of(const real_net *net, const node *self) {
  const fw_train_conf *train = &net->plan->train;
  switch (self->layer->type) {
  case FW_LAYER_INPUT: return train->init_input;
  case FW_LAYER_EMBEDDING: return train->init_embedding;
  default: return train->init_fc;
  }
}

/* Otherwise uniform in -limit … limit (Glorot, Bengio, 2010); 0: zeros. */
static double limit_of(const real_net *net, const node *self) {
  if (self->layer->type != FW_LAYER_FC && !is_hidden_input(self)) return 0;
  double inputs = (double)self->in_width;
  if (self->record_width > 0) {
    const int64_t range = net->plan->data.range;
    inputs = range > 0 && range < FEATURES_OF_A_ROW ? (double)range : FEATURES_OF_A_ROW;
  }
  return sqrt(6 / (inputs + (double)self->width));
}

static void draw(const real_net *net, const node *self, uint64_t which, size_t n, real *w) {
  const double deviation = net->training ? deviation_of(net, self) : 0;
  const double limit = net->training && deviation <= 0 ? limit_of(net, self) : 0;
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(net->seed, self->index), which));
  for (size_t i = 0; i < n; i++) {
    double number = 0;
    if (deviation > 0) number = deviation * fw_rng_normal(&rng);
    if (limit > 0) number = limit * (2 * fw_rng_double(&rng) - 1);
    w[i] = (real)number;
  }
}

static void first_dense(const real_net *net, const node *self) {
  draw(net, self, 0, self->weights, self->weight);
}

static void first_record(const void *context, uint64_t key, void *record) {
  const real_net *net = context;
  for (size_t i = 0; i < net->count; i++) {
    const node *self = &net->nodes[i];
    if (self->record_width == 0) continue;
    real *w = (real *)record + self->record_at;
    draw(net, self, key, self->record_width, w);
    for (size_t j = self->record_width; j < self->record_width * (1 + self->states); j++) w[j] = 0;
  }
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

static const layer_ops *ops_of(fw_layer_type type, bool dense) {
  switch (type) {
  case FW_LAYER_INPUT: return dense ? &REAL_NAME(fw_input_dense_ops) : &REAL_NAME(fw_input_sparse_ops);
  case FW_LAYER_EMBEDDING: return &REAL_NAME(fw_embedding_ops);
  case FW_LAYER_FC: return &REAL_NAME(fw_fc_ops);
  case FW_LAYER_BI_INNER_SUM: return &REAL_NAME(fw_bi_inner_sum_ops);
  case FW_LAYER_BI_INNER: return &REAL_NAME(fw_bi_inner_ops);
  case FW_LAYER_BI_INTERACTION: return &REAL_NAME(fw_bi_interaction_ops);
  case FW_LAYER_CONCAT: return &REAL_NAME(fw_concat_ops);
  case FW_LAYER_SUM_POOLING: return &REAL_NAME(fw_sum_pooling_ops);
  case FW_LAYER_MUL_POOLING: return &REAL_NAME(fw_mul_pooling_ops);
  case FW_LAYER_DOT_POOLING: return &REAL_NAME(fw_dot_pooling_ops);
  case FW_LAYER_FIELD_AWARE: return &REAL_NAME(fw_field_aware_ops);
  case FW_LAYER_LOSS: break;
  }
  return NULL;
}

static furrow_status take_zeros(real_net *net, real **numbers, size_t count, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_arena_take(&net->arena, &memory, count, sizeof(real), err);
  if (status != FURROW_OK) return status;
  memset(memory, 0, count * sizeof(real));
  net->dense_reals += count;
  *numbers = memory;
  return FURROW_OK;
}

static furrow_status build_dense(real_net *net, node *self, furrow_error *err) {
  if (!fw_size_mul(self->in_width, self->width, &self->weights)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = take_zeros(net, &self->weight, self->weights, err);
  for (size_t i = 0; status == FURROW_OK && i < self->states; i++)
    status = take_zeros(net, &self->state[i], self->weights, err);
  if (status == FURROW_OK) first_dense(net, self);
  self->dense_at = net->dense_sums;
  net->dense_sums += self->weights + self->biases;
  return status;
}

static furrow_status build_biases(real_net *net, node *self, furrow_error *err) {
  self->biases = self->width;
  furrow_status status = take_zeros(net, &self->bias, self->biases, err);
  for (size_t i = 0; status == FURROW_OK && self->bias_optimizer && i < self->states; i++)
    status = take_zeros(net, &self->bias_state[i], self->biases, err);
  return status;
}

static void build_record(real_net *net, node *self, size_t width) {
  self->record_at = net->record_reals;
  self->record_width = width;
  net->record_reals += width * (1 + self->states);
}

static furrow_status build_node(real_net *net, size_t index, furrow_error *err) {
  const fw_layer *layer = &net->plan->graph.layers[index];
  const bool dense = fw_plan_dense(net->plan);
  node *self = &net->nodes[index];
  *self = (node){.layer = layer, .index = index, .ops = ops_of(layer->type, dense), .width = layer->width};
  assert(self->ops);
  if (net->training) self->states = fw_optimizer_state(layer->optimizer.type);
  self->bias_optimizer = net->plan->train.bias_optimizer;
  self->keeps_first = net->plan->train.ftrl_keeps_first_weights;
  if (layer->type == FW_LAYER_EMBEDDING) {
    if (dense) return fw_fail(err, FURROW_E_ARGUMENT, "layer %s: dense data has no embedding", layer->name);
    self->width = (layer->slots ? layer->slots : 2) * layer->factors;
    build_record(net, self, layer->factors);
    return FURROW_OK;
  }
  if (layer->type != FW_LAYER_INPUT && layer->type != FW_LAYER_FC) return FURROW_OK;
  furrow_status status = build_biases(net, self, err);
  if (status != FURROW_OK) return status;
  self->in_width = layer->type == FW_LAYER_FC ? layer->in_width : dense ? (size_t)net->plan->data.range : 0;
  if (self->in_width) return build_dense(net, self, err);
  build_record(net, self, layer->width);
  return FURROW_OK;
}

/* ---- Concatenations that are read through ---- */

static size_t readers_of(const real_net *net, size_t layer) {
  size_t count = layer == net->last;
  for (size_t i = 0; i < net->count; i++)
    for (size_t k = 0; k < net->nodes[i].layer->input_count; k++) count += net->nodes[i].layer->inputs[k] == layer;
  return count;
}

static void choose_parts(real_net *net, node *self) {
  const size_t input = self->layer->inputs[0];
  const node *from = &net->nodes[input];
  self->reads_through = NO_LAYER;
  self->parts = self->layer->inputs;
  self->part_count = 1;
  if (from->layer->type != FW_LAYER_CONCAT || from->layer->input_count > MOST_PARTS || readers_of(net, input) > 1)
    return;
  self->reads_through = input;
  self->parts = from->layer->inputs;
  self->part_count = from->layer->input_count;
  net->nodes[input].is_read_through = true;
}

static furrow_status build_parts(real_net *net, furrow_error *err) {
  void *packing = NULL;
  FW_TRY(fw_arena_take(&net->arena, &packing, 1, sizeof *net->packing, err));
  net->packing = packing;
  atomic_init(net->packing, PACKED_STALE);
  for (size_t i = 0; i < net->count; i++) {
    if (net->nodes[i].layer->type != FW_LAYER_FC) continue;
    choose_parts(net, &net->nodes[i]);
    FW_TRY(REAL_NAME(fw_packed_build)(net, &net->nodes[i], err));
  }
  return FURROW_OK;
}

/* ---- Gradients ---- */

static void set_inputs(real_net *net, const node *self) {
  for (size_t k = 0; k < self->layer->input_count; k++)
    net->nodes[self->layer->inputs[k]].set_by = self->ops->sets_gradients ? self->index : NO_LAYER;
}

/* The backward pass goes from the last layer to the first; a concatenation that is read through has its turn with the
 * layer that does so. */
static void choose_setters(real_net *net) {
  for (size_t i = 0; i < net->count; i++) net->nodes[i].set_by = NO_LAYER;
  for (size_t i = 0; i < net->count; i++) { /* so the last one to write here is the first there */
    const node *self = &net->nodes[i];
    const bool through = self->layer->type == FW_LAYER_FC && self->reads_through != NO_LAYER;
    if (!self->is_read_through) set_inputs(net, self);
    if (through) set_inputs(net, &net->nodes[self->reads_through]);
  }
}

static void find_field_crosses(real_net *net) {
  for (size_t i = 0; i < net->count; i++) net->nodes[i].field_cross = NO_LAYER;
  for (size_t i = 0; i < net->count; i++)
    if (net->nodes[i].layer->type == FW_LAYER_FIELD_AWARE) net->nodes[net->nodes[i].layer->inputs[0]].field_cross = i;
}

static furrow_status build_nodes(real_net *net, furrow_error *err) {
  const fw_graph *graph = &net->plan->graph;
  assert(graph->count > 1 && graph->layers[graph->count - 1].type == FW_LAYER_LOSS);
  net->count = graph->count - 1;
  net->last = graph->layers[net->count].inputs[0];
  furrow_status status = fw_arena_take(&net->arena, (void **)&net->nodes, net->count, sizeof(node), err);
  for (size_t i = 0; status == FURROW_OK && i < net->count; i++) status = build_node(net, i, err);
  if (status == FURROW_OK) status = build_parts(net, err);
  if (status != FURROW_OK) return status;
  choose_setters(net);
  find_field_crosses(net);
  return FURROW_OK;
}

/* ---- Features ---- */

static furrow_status build_features(real_net *net, const fw_net_params *made_by, furrow_error *err) {
  if (net->record_reals == 0) return FURROW_OK;
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(net->plan->model.row_type);
  const int64_t range = net->plan->data.range;
  const bool many = made_by->comm && made_by->comm->ranks > 1;
  const fw_features_params params = {
      .bytes = net->record_reals * sizeof(real),
      .range = range > 0 && type && type->dense ? (uint64_t)range : 0,
      .most = many ? 0 : made_by->max_features, /* of several ranks together: fw_rank_batch sees to it */
      .first = first_record,
      .context = net,
      .rank = many ? made_by->comm->rank : 0,
      .ranks = many ? made_by->comm->ranks : 1,
  };
  furrow_status status = fw_arena_take(&net->arena, (void **)&net->nothing, net->record_reals, sizeof(real), err);
  if (status != FURROW_OK) return status;
  memset(net->nothing, 0, params.bytes);
  return fw_features_create(&net->features, &params, err);
}

/* ---- The net ---- */

furrow_status REAL_NAME(fw_net_build)(void **net, const fw_plan *plan, const fw_net_params *params, furrow_error *err) {
  real_net *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->plan = plan;
  made->training = params->training;
  made->seed = params->seed;
  status = build_nodes(made, err);
  if (status == FURROW_OK) status = build_features(made, params, err);
  if (status == FURROW_OK)
    *net = made;
  else
    REAL_NAME(fw_net_clear)(made);
  return status;
}

void REAL_NAME(fw_net_clear)(void *net) {
  real_net *self = net;
  if (!self) return;
  fw_features_free(self->features);
  fw_arena_clear(&self->arena);
  fw_free(self);
}
