/* tests/support/made_net.h: graphs and batches made by hand, for tests of nets. */
#ifndef MADE_NET_H
#define MADE_NET_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/net/net.h"
#include "support/cmocka_all.h"

/* ---- Graphs ---- */

enum { MADE_LAYERS = 16, T_DOUBLE_DENSE = 0, T_DOUBLE_SPARSE = 3, T_FLOAT_DENSE = 7, T_FLOAT_SPARSE = 10 };

typedef struct made_plan {
  fw_plan plan;
  fw_layer layers[MADE_LAYERS];
  size_t inputs[MADE_LAYERS][4];
} made_plan;

/* An empty graph over features 0 … range - 1, with plain gradient descent. */
static inline void plan_start(made_plan *made, int32_t row_type, int64_t range) {
  memset(made, 0, sizeof *made);
  made->plan.data.format = "libsvm";
  made->plan.data.range = range;
  made->plan.model.row_type = row_type;
  made->plan.train.lr = 1;
  made->plan.train.init_input = 0.3;
  made->plan.train.init_embedding = 0.4;
  made->plan.graph.layers = made->layers;
}

static inline size_t plan_add(made_plan *made, fw_layer_type type, const char *name, size_t width) {
  const size_t index = made->plan.graph.count++;
  assert_true(index < MADE_LAYERS);
  made->layers[index] = (fw_layer){.name = name, .type = type, .width = width, .inputs = made->inputs[index]};
  made->layers[index].optimizer = (fw_optimizer){.type = FW_OPTIMIZER_SGD, .lr = NAN};
  made->layers[index].stack_size = 1;
  made->layers[index].stack_name = name;
  return index;
}

static inline void plan_link(made_plan *made, size_t layer, size_t input) {
  made->inputs[layer][made->layers[layer].input_count++] = input;
}

static inline size_t plan_input(made_plan *made, const char *name, size_t width, fw_activation activation) {
  const size_t index = plan_add(made, FW_LAYER_INPUT, name, width);
  made->layers[index].activation = activation;
  return index;
}

/* slots 0: free */
static inline size_t plan_embedding(made_plan *made, size_t factors, size_t slots) {
  const size_t index = plan_add(made, FW_LAYER_EMBEDDING, "embedding", slots * factors);
  made->layers[index].factors = factors;
  made->layers[index].slots = slots;
  return index;
}

static inline size_t plan_fc(made_plan *made, const char *name, size_t input, size_t width, fw_activation activation) {
  const size_t index = plan_add(made, FW_LAYER_FC, name, width);
  plan_link(made, index, input);
  made->layers[index].in_width = made->layers[input].width;
  made->layers[index].activation = activation;
  return index;
}

static inline size_t plan_cross(made_plan *made, fw_layer_type type, size_t embedding) {
  const fw_layer *of = &made->layers[embedding];
  const size_t width = type == FW_LAYER_BI_INNER_SUM ? 1
                       : type == FW_LAYER_BI_INNER   ? of->slots * (of->slots - 1) / 2
                                                     : of->factors;
  const size_t index = plan_add(made, type, "cross", width);
  plan_link(made, index, embedding);
  made->layers[index].factors = of->factors;
  return index;
}

/* Poolings and concatenation of count layers. */
static inline size_t plan_join(made_plan *made, fw_layer_type type, size_t count, const size_t *inputs) {
  size_t width = 0;
  for (size_t i = 0; i < count; i++) width += made->layers[inputs[i]].width;
  if (type != FW_LAYER_CONCAT) width /= count;
  const size_t index = plan_add(made, type, "join", type == FW_LAYER_DOT_POOLING ? 1 : width);
  for (size_t i = 0; i < count; i++) plan_link(made, index, inputs[i]);
  return index;
}

static inline void plan_loss(made_plan *made, size_t input, fw_loss_type loss) {
  const size_t index = plan_add(made, FW_LAYER_LOSS, "loss", 0);
  plan_link(made, index, input);
  made->layers[index].loss = loss;
  made->layers[index].delta = 0.7;
  made->plan.graph.loss = loss;
  made->plan.graph.outputs = made->layers[input].width;
}

static inline void plan_optimizer(made_plan *made, const fw_optimizer *optimizer) {
  for (size_t i = 0; i < made->plan.graph.count; i++) made->layers[i].optimizer = *optimizer;
}

/* ---- Batches ---- */

typedef struct made_rules {
  size_t rows, most; /* most features of a row; with slots, exactly `slots` */
  uint64_t range;
  size_t slots; /* 0: free */
  bool by_field;
  bool empty_slots; /* rows of 0 … slots features, which take the first slots */
  bool values, weights;
  bool repeats;   /* a feature may stand in a row twice */
  size_t classes; /* labels are 0 … classes - 1; 0: 1 or -1; 1: any number */
  uint64_t seed;
} made_rules;

static inline void *made_array(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  assert_non_null(memory);
  return memory;
}

static inline void batch_free(fw_minibatch *batch) {
  free(batch->label);
  free(batch->weight);
  free(batch->offset);
  free(batch->feature);
  free(batch->value);
  free(batch->place);
  free(batch->use_row);
  free(batch->use_place);
  free(batch->key);
  free(batch->use_offset);
  free(batch->use);
  free(batch->x);
  memset(batch, 0, sizeof *batch);
}

static inline float made_label(const made_rules *rules, fw_rng *rng) {
  if (rules->classes == 1) return (float)fw_rng_normal(rng);
  if (rules->classes == 0) return fw_rng_below(rng, 2) ? 1 : -1;
  return (float)fw_rng_below(rng, rules->classes);
}

static inline bool in_row(const fw_minibatch *batch, size_t row, const uint64_t *keys, uint64_t key) {
  for (size_t use = batch->offset[row]; use < batch->uses; use++)
    if (keys[use] == key) return true;
  return false;
}

/* Numbers features in order of appearance, and lists uses by feature. */
static inline void batch_number(fw_minibatch *batch, const uint64_t *keys) {
  batch->feature = made_array(batch->uses, sizeof *batch->feature);
  batch->key = made_array(batch->uses, sizeof *batch->key);
  for (size_t use = 0; use < batch->uses; use++) {
    size_t local = 0;
    while (local < batch->features && batch->key[local] != keys[use]) local++;
    if (local == batch->features) batch->key[batch->features++] = keys[use];
    batch->feature[use] = (uint32_t)local;
  }
  batch->use_offset = made_array(batch->features + 1, sizeof *batch->use_offset);
  batch->use = made_array(batch->uses, sizeof *batch->use);
  batch->use_row = made_array(batch->uses, sizeof *batch->use_row);
  batch->use_place = made_array(batch->uses, sizeof *batch->use_place);
  uint32_t at = 0;
  for (size_t local = 0; local < batch->features; local++) {
    for (uint32_t use = 0; use < batch->uses; use++)
      if (batch->feature[use] == local) batch->use[at++] = use;
    batch->use_offset[local + 1] = at;
  }
  for (size_t i = 0; i < batch->uses; i++) {
    while (batch->offset[batch->use_row[i] + 1] <= batch->use[i]) batch->use_row[i]++;
    batch->use_place[i] = batch->place ? batch->place[batch->use[i]] : batch->use[i];
  }
}

static inline void batch_make(fw_minibatch *batch, const made_rules *rules) {
  fw_rng rng;
  fw_rng_init(&rng, rules->seed);
  const size_t capacity = rules->rows * (rules->slots > rules->most ? rules->slots : rules->most);
  memset(batch, 0, sizeof *batch);
  batch->rows = rules->rows;
  batch->label = made_array(rules->rows, sizeof(float));
  batch->offset = made_array(rules->rows + 1, sizeof(uint32_t));
  if (rules->weights) batch->weight = made_array(rules->rows, sizeof(float));
  if (rules->values) batch->value = made_array(capacity, sizeof(float));
  if (rules->by_field || rules->empty_slots) batch->place = made_array(capacity, sizeof(uint32_t));
  uint64_t *keys = made_array(capacity, sizeof *keys);
  for (size_t row = 0; row < rules->rows; row++) {
    const bool exact = rules->slots > 0 && !rules->by_field && !rules->empty_slots;
    const size_t most = rules->empty_slots ? rules->slots : rules->most;
    const size_t count = exact ? rules->slots : fw_rng_below(&rng, most + 1);
    batch->offset[row] = (uint32_t)batch->uses;
    batch->label[row] = made_label(rules, &rng);
    if (rules->weights) batch->weight[row] = 0.5F + (float)fw_rng_double(&rng);
    for (size_t i = 0; i < count; i++) {
      uint64_t key = fw_rng_below(&rng, rules->range);
      while (!rules->repeats && in_row(batch, row, keys, key)) key = fw_rng_below(&rng, rules->range);
      const size_t use = batch->uses;
      keys[use] = key;
      if (rules->values) batch->value[use] = (float)fw_rng_normal(&rng);
      if (rules->empty_slots) batch->place[use] = (uint32_t)(row * rules->slots + i);
      if (rules->by_field) batch->place[use] = (uint32_t)(row * rules->slots + fw_rng_below(&rng, rules->slots));
      batch->uses++;
    }
    batch->offset[row + 1] = (uint32_t)batch->uses;
  }
  batch_number(batch, keys);
  free(keys);
}

/* Dense data: `range` columns. */
static inline void batch_make_dense(fw_minibatch *batch, const made_rules *rules) {
  fw_rng rng;
  fw_rng_init(&rng, rules->seed);
  memset(batch, 0, sizeof *batch);
  batch->rows = rules->rows;
  batch->columns = (size_t)rules->range;
  batch->label = made_array(rules->rows, sizeof(float));
  batch->x = made_array(rules->rows * batch->columns, sizeof(float));
  for (size_t row = 0; row < rules->rows; row++) batch->label[row] = made_label(rules, &rng);
  for (size_t i = 0; i < rules->rows * batch->columns; i++) batch->x[i] = (float)fw_rng_normal(&rng);
}

/* ---- Runs ---- */

/* A net with parameters of its own; and both freed. */
static inline furrow_status net_create(fw_net **net, const fw_plan *plan, const fw_parameters_params *params,
                                       furrow_error *err) {
  fw_parameters *parameters = NULL;
  furrow_status status = fw_parameters_create(&parameters, plan, params, err);
  if (status == FURROW_OK) status = fw_net_create(net, parameters, err);
  if (status != FURROW_OK) fw_parameters_free(parameters);
  return status;
}

static inline void net_free(fw_net *net) {
  fw_parameters *parameters = net ? net->parameters : NULL;
  fw_net_free(net);
  fw_parameters_free(parameters);
}

static inline fw_net *net_make(const made_plan *made, uint64_t seed) {
  fw_net *net = NULL;
  furrow_error error = {0};
  const fw_parameters_params params = {.training = true, .seed = seed};
  assert_int_equal(net_create(&net, &made->plan, &params, &error), FURROW_OK);
  return net;
}

static inline fw_pass *pass_make(const fw_net *net) {
  fw_pass *pass = NULL;
  assert_int_equal(net->ops->create_pass(&pass, net, NULL), FURROW_OK);
  return pass;
}

/* Both passes over the rows in pieces of `piece`; returns the mean loss. */
static inline double net_rows(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, const fw_step *step,
                              size_t piece) {
  double sum = 0;
  for (size_t row = 0; row < batch->rows; row += piece) {
    double part = 0;
    net->ops->train(net, pass, step, row, batch->rows - row < piece ? batch->rows : row + piece, &part);
    sum += part;
  }
  return sum / (double)batch->rows;
}

/* One update; returns the mean loss before it. */
static inline double net_step(fw_net *net, fw_pass *pass, const fw_minibatch *batch, const fw_step *step) {
  furrow_error error = {0};
  assert_int_equal(net->ops->begin(net, pass, batch, true, &error), FURROW_OK);
  const double loss = net_rows(net, pass, batch, step, batch->rows);
  const size_t sums = net->ops->sum_tasks(pass);
  for (size_t task = sums; task-- > 0;) net->ops->sum(net, pass, task);
  const size_t tasks = net->ops->update_tasks(net, pass);
  for (size_t task = 0; task < tasks; task++) net->ops->update(net, pass, step, task);
  return loss;
}

#endif
