/* learn/net/net.c: a net of either type: the calls go to that of its type; the list of its parameters is the same for
 * both.
 */
#include "learn/net/net.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "learn/net/net_ops.h"

struct fw_net {
  const fw_net_ops *ops;
  void *real;
  const fw_plan *plan;
  const furrow_comm *comm;
  bool training;
  fw_arena arena; /* of parameters and their names */
  fw_parameter *parameters;
  size_t parameter_count;
};

struct fw_pass {
  const fw_net_ops *ops;
  void *real;
};

bool fw_plan_dense(const fw_plan *plan) {
  return strcmp(plan->data.format, "dense") == 0;
}

/* ---- Parameters ---- */

static furrow_status add_parameter(fw_net *net, const fw_parameter *parameter, const char *suffix, furrow_error *err) {
  const char *layer = net->plan->graph.layers[parameter->layer].name;
  const size_t size = strlen(layer) + strlen(suffix) + 1;
  char *name = NULL;
  furrow_status status = fw_arena_take(&net->arena, (void **)&name, size, 1, err);
  if (status != FURROW_OK) return status;
  snprintf(name, size, "%s%s", layer, suffix);
  fw_parameter *added = &net->parameters[net->parameter_count++];
  *added = *parameter;
  added->name = name;
  return FURROW_OK;
}

static furrow_status add_layer_parameters(fw_net *net, size_t index, furrow_error *err) {
  const fw_layer *layer = &net->plan->graph.layers[index];
  const int64_t range = net->plan->data.range;
  const size_t state = net->training ? fw_optimizer_state(layer->optimizer.type) : 0;
  fw_parameter weight = {.layer = index, .rows = 1, .state = state};
  fw_parameter bias = {.layer = index, .bias = true, .rows = 1, .cols = layer->width};
  if (net->plan->train.bias_optimizer) bias.state = state;
  furrow_status status = FURROW_OK;
  if (layer->type == FW_LAYER_EMBEDDING || (layer->type == FW_LAYER_INPUT && !fw_plan_dense(net->plan))) {
    weight.by_feature = true;
    weight.rows = layer->type == FW_LAYER_EMBEDDING ? layer->factors : layer->width;
    weight.cols = range > 0 ? (uint64_t)range : 0;
  } else if (layer->type == FW_LAYER_INPUT) {
    weight.cols = (uint64_t)range * layer->width;
  } else if (layer->type == FW_LAYER_FC) {
    weight.cols = (uint64_t)layer->in_width * layer->width;
  } else {
    return FURROW_OK;
  }
  if (layer->type == FW_LAYER_EMBEDDING) return add_parameter(net, &weight, "_embedding", err);
  status = add_parameter(net, &weight, "_weight", err);
  return status == FURROW_OK ? add_parameter(net, &bias, "_bias", err) : status;
}

static furrow_status list_parameters(fw_net *net, furrow_error *err) {
  const fw_graph *graph = &net->plan->graph;
  furrow_status status =
      fw_arena_take(&net->arena, (void **)&net->parameters, 2 * graph->count, sizeof(fw_parameter), err);
  for (size_t i = 0; status == FURROW_OK && i < graph->count; i++) status = add_layer_parameters(net, i, err);
  return status;
}

size_t fw_net_parameters(const fw_net *net) {
  return net->parameter_count;
}

const fw_parameter *fw_net_parameter(const fw_net *net, size_t i) {
  return &net->parameters[i];
}

void *fw_net_dense(const fw_net *net, size_t parameter, size_t array) {
  const fw_parameter *p = &net->parameters[parameter];
  return net->ops->dense(net->real, p->layer, p->bias, array);
}

bool fw_net_is_open(const fw_net *net) {
  const fw_features *features = net->ops->features(net->real);
  return features && fw_features_is_open(features);
}

furrow_status fw_net_features(const fw_net *net, uint64_t **keys, size_t *count, furrow_error *err) {
  const fw_features *features = net->ops->features(net->real);
  if (features) return fw_features_keys(features, keys, count, err);
  *keys = NULL;
  *count = 0;
  return FURROW_OK;
}

void *fw_net_feature(const fw_net *net, size_t parameter, uint64_t key, size_t array) {
  char *record = fw_features_find(net->ops->features(net->real), key);
  return record ? record + net->ops->record_offset(net->real, net->parameters[parameter].layer, array) : NULL;
}

furrow_status fw_net_make_feature(fw_net *net, uint64_t key, furrow_error *err) {
  void *record = NULL;
  return fw_features_make(net->ops->features(net->real), key, &record, err);
}

/* ---- Net and pass ---- */

furrow_status fw_net_create(fw_net **net, const fw_plan *plan, const fw_net_params *params, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(plan->model.row_type);
  fw_net *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->ops = type && type->element == FURROW_ELEMENT_F64 ? &fw_net_ops_f64 : &fw_net_ops_f32;
  made->plan = plan;
  made->comm = params->comm ? params->comm : fw_comm_self();
  made->training = params->training;
  status = list_parameters(made, err);
  if (status == FURROW_OK) status = made->ops->create(&made->real, plan, params, err);
  if (status == FURROW_OK)
    *net = made;
  else
    fw_net_free(made);
  return status;
}

void fw_net_free(fw_net *net) {
  if (!net) return;
  net->ops->free(net->real);
  fw_arena_clear(&net->arena);
  fw_free(net);
}

const fw_plan *fw_net_plan(const fw_net *net) {
  return net->plan;
}

const furrow_comm *fw_net_comm(const fw_net *net) {
  return net->comm;
}

bool fw_net_owns(const fw_net *net, uint64_t key) {
  return fw_feature_owner(key, net->comm->ranks) == net->comm->rank;
}

size_t fw_net_element_size(const fw_net *net) {
  return net->ops == &fw_net_ops_f64 ? sizeof(double) : sizeof(float);
}

size_t fw_net_memory(const fw_net *net) {
  return net->ops->memory(net->real);
}

furrow_status fw_pass_create(fw_pass **pass, const fw_net *net, furrow_error *err) {
  fw_pass *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->ops = net->ops;
  status = net->ops->pass_create(&made->real, net->real, err);
  if (status == FURROW_OK)
    *pass = made;
  else
    fw_pass_free(made);
  return status;
}

void fw_pass_free(fw_pass *pass) {
  if (!pass) return;
  pass->ops->pass_free(pass->real);
  fw_free(pass);
}

const fw_net_rank_ops *fw_net_ranks(const fw_net *net) {
  return net->ops->ranks;
}

void *fw_net_real(const fw_net *net) {
  return net->real;
}

void *fw_pass_real(const fw_pass *pass) {
  return pass->real;
}

uint64_t fw_net_feature_count(const fw_net *net) {
  const fw_features *features = net->ops->features(net->real);
  return features ? fw_features_count(features) : 0;
}

/* ---- A batch ---- */

furrow_status fw_net_begin(fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow, furrow_error *err) {
  return net->ops->begin(net->real, pass->real, batch, grow, err);
}

furrow_status fw_net_begin_scoring(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, furrow_error *err) {
  return net->ops->begin(net->real, pass->real, batch, false, err);
}

void fw_net_forward(const fw_net *net, fw_pass *pass, size_t begin, size_t end) {
  net->ops->forward(net->real, pass->real, begin, end);
}

void fw_net_train(const fw_net *net, fw_pass *pass, const fw_step *step, size_t begin, size_t end, double *loss) {
  net->ops->train(net->real, pass->real, step, begin, end, loss);
}

void fw_net_outputs(const fw_net *net, const fw_pass *pass, size_t row, double *out) {
  net->ops->outputs(net->real, pass->real, row, out);
}

bool fw_net_sums_by_row(const fw_net *net) {
  return net->ops->sums_by_row(net->real);
}

size_t fw_net_sum_tasks(const fw_net *net, const fw_pass *pass) {
  return net->ops->sum_tasks(net->real, pass->real);
}

void fw_net_sum(const fw_net *net, fw_pass *pass, size_t task) {
  net->ops->sum(net->real, pass->real, task);
}

size_t fw_net_update_tasks(const fw_net *net, const fw_pass *pass) {
  return net->ops->update_tasks(net->real, pass->real);
}

void fw_net_update(fw_net *net, fw_pass *pass, const fw_step *step, size_t task) {
  net->ops->update(net->real, pass->real, step, task);
}

/* ---- Copies ---- */

typedef struct copying {
  const fw_net *from;
  fw_net *to;
  size_t size, to_size; /* of a number */
} copying;

static void copy_numbers(const copying *c, void *to, const void *from, size_t count) {
  if (c->to_size == c->size)
    memcpy(to, from, count * c->size);
  else
    for (size_t i = 0; i < count; i++) ((double *)to)[i] = ((const float *)from)[i];
}

static furrow_status copy_feature(const copying *c, uint64_t key, furrow_error *err) {
  furrow_status status = fw_net_is_open(c->to) ? fw_net_make_feature(c->to, key, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < fw_net_parameters(c->from); i++) {
    const fw_parameter *about = fw_net_parameter(c->from, i);
    if (about->by_feature)
      copy_numbers(c, fw_net_feature(c->to, i, key, 0), fw_net_feature(c->from, i, key, 0), about->rows);
  }
  return status;
}

furrow_status fw_net_copy_weights(fw_net *to, const fw_net *from, furrow_error *err) {
  const copying c = {.from = from, .to = to, .size = fw_net_element_size(from), .to_size = fw_net_element_size(to)};
  for (size_t i = 0; i < fw_net_parameters(from); i++) {
    const fw_parameter *about = fw_net_parameter(from, i);
    if (!about->by_feature) copy_numbers(&c, fw_net_dense(to, i, 0), fw_net_dense(from, i, 0), about->cols);
  }
  uint64_t *keys = NULL;
  size_t count = 0;
  furrow_status status = fw_net_features(from, &keys, &count, err);
  for (size_t f = 0; status == FURROW_OK && f < count; f++) status = copy_feature(&c, keys ? keys[f] : f, err);
  fw_free(keys);
  return status;
}
