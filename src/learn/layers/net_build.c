/* learn/layers/net_build.c: builds a net over parameters: its nodes borrow the arrays of the parameters. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/layers/layer.h"

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

/* The arrays and columns of a layer, where it has some. */
static void borrow_parameters(real_net *net, node *self) {
  const fw_parameters *p = net->base.parameters;
  const size_t at = fw_parameters_find(p, self->index, false), bias_at = fw_parameters_find(p, self->index, true);
  if (at == SIZE_MAX) return;
  const fw_parameter *weight = &p->list[at];
  self->states = weight->state;
  if (weight->by_feature) {
    self->record_at = weight->record_at;
    self->record_width = weight->rows;
  } else {
    self->weights = weight->cols;
    self->weight = weight->array[0];
    for (size_t i = 0; i < weight->state; i++) self->state[i] = weight->array[1 + i];
    self->in_width = self->weights / self->width;
  }
  if (bias_at == SIZE_MAX) return;
  const fw_parameter *bias = &p->list[bias_at];
  self->biases = bias->cols;
  self->bias = bias->array[0];
  for (size_t i = 0; i < bias->state; i++) self->bias_state[i] = bias->array[1 + i];
  if (weight->by_feature) return;
  self->dense_at = net->dense_sums;
  net->dense_sums += self->weights + self->biases;
}

static void build_node(real_net *net, size_t index) {
  const fw_layer *layer = &net->plan->graph.layers[index];
  node *self = &net->nodes[index];
  *self = (node){.layer = layer,
                 .index = index,
                 .ops = ops_of(layer->type, fw_plan_dense(net->plan)),
                 .width = layer->width,
                 .bias_optimizer = net->plan->train.bias_optimizer,
                 .keeps_first = net->plan->train.ftrl_keeps_first_weights};
  assert(self->ops);
  borrow_parameters(net, self);
  if (layer->type == FW_LAYER_EMBEDDING) self->width = (layer->slots ? layer->slots : 2) * layer->factors;
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

/* The backward pass goes from the last layer to the first; a concatenation that is read through is handled together
 * with the layer that reads through it. */
static void choose_setters(real_net *net) {
  for (size_t i = 0; i < net->count; i++) net->nodes[i].set_by = NO_LAYER;
  for (size_t i = 0; i < net->count; i++) { /* so the last writer in this loop is the first in the backward pass */
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
  FW_TRY(FW_ARENA_TAKE(&net->arena, &net->nodes, net->count, err));
  for (size_t i = 0; i < net->count; i++) build_node(net, i);
  FW_TRY(build_parts(net, err));
  choose_setters(net);
  find_field_crosses(net);
  if (!net->features) return FURROW_OK;
  const size_t numbers = net->base.parameters->record_numbers;
  FW_TRY(FW_ARENA_TAKE(&net->arena, &net->nothing, numbers, err));
  memset(net->nothing, 0, numbers * sizeof(real));
  return FURROW_OK;
}

/* ---- The net ---- */

furrow_status REAL_NAME(fw_net_create)(fw_net **net, fw_parameters *parameters, furrow_error *err) {
  real_net *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->base = (fw_net){&REAL_NAME(fw_net_ops), parameters};
  made->plan = parameters->plan;
  made->features = parameters->features;
  made->training = parameters->training;
  made->seed = parameters->seed;
  const furrow_status status = build_nodes(made, err);
  if (status == FURROW_OK)
    *net = &made->base;
  else
    fw_net_free(&made->base);
  return status;
}
