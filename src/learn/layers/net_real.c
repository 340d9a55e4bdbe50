/* learn/layers/net_real.c: a net at work: passes, forward and backward over rows, updates of parameters. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/layers/layer.h"
#include "learn/metrics/metrics.h"

#define ALIGNMENT 64
#define CACHE_LINE 64
/* Uses and features that make up a task of the update; a feature counts as much as FEATURE_COST uses, and alone where
 * uses are not listed. Tasks are small enough that many threads get some tasks of each batch. */
#define TASK_COST 512
#define FEATURE_COST 2
/* Features whose records stay in the nearest cache while layer after layer updates them. */
#define FEATURES_AT_ONCE 64
/* Rows likewise, where no layer multiplies matrices. */
#define ROWS_AT_ONCE 16

/* ---- Loss, where the backward pass begins ---- */

static double weight_of(const fw_minibatch *batch, size_t row) {
  return batch->weight ? (double)batch->weight[row] : 1.0;
}

/* -ln of the label's share of the sum of exponentials; its gradient is the shares, less 1 for the label. */
static double softmax_row(const real *out, size_t width, size_t label, double weight, real *grad) {
  real most = out[0];
  for (size_t j = 1; j < width; j++) most = out[j] > most ? out[j] : most;
  double sum = 0;
  for (size_t j = 0; j < width; j++) sum += exp((double)(out[j] - most));
  for (size_t j = 0; j < width; j++) grad[j] = (real)(weight * exp((double)(out[j] - most)) / sum);
  grad[label] -= (real)weight;
  return weight * (log(sum) - (double)(out[label] - most));
}

/* Loss of rows begin … end-1 from outputs of `width` numbers: the sum of weight * loss (0 where it is not wanted); grad
 * becomes weight * its derivative. out and grad point at row 0. */
static double loss_of_rows(const fw_graph *graph, const fw_minibatch *batch, const real *out, size_t width,
                           size_t begin, size_t end, bool wanted, real *grad) {
  double sum = 0;
  for (size_t i = begin; i < end; i++) {
    const double weight = weight_of(batch, i), label = (double)batch->label[i];
    if (graph->loss == FW_LOSS_SOFTMAX) {
      sum += softmax_row(out + i * width, width, (size_t)label, weight, grad + i * width);
      continue;
    }
    const double z = (double)out[i * width];
    if (wanted) sum += weight * fw_loss_of(graph, z, label);
    grad[i * width] = (real)(weight * fw_loss_slope(graph, z, label));
  }
  return sum;
}

/* ---- Passes ---- */

static void free_pass(fw_pass *pass) {
  pass_memory *self = (pass_memory *)pass;
  fw_free(self->numbers);
  fw_free(self->pass.record);
  fw_free(self->pass.tensors);
  fw_free(self);
}

static furrow_status create_pass(fw_pass **pass, const fw_net *net, furrow_error *err) {
  pass_memory *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->base.ops = net->ops;
  const furrow_status status = FW_ALLOC_ZERO(&made->pass.tensors, real_net_of(net)->count, err);
  if (status == FURROW_OK)
    *pass = &made->base;
  else
    free_pass(&made->base);
  return status;
}

/* Numbers of an array of `rows` x `width`, up to where the next may begin. */
static size_t padded(size_t rows, size_t width) {
  const size_t line = ALIGNMENT / sizeof(real);
  return (rows * width + line - 1) / line * line;
}

static bool copies_x(const fw_minibatch *batch) {
  return batch->x && sizeof(real) != sizeof *batch->x;
}

/* The number of parts of the rows with separate sums: it depends on the tasks, not on the threads that run them. */
static size_t sum_parts(const real_net *net, const fw_minibatch *batch, pass_kind kind) {
  const bool summed = net->training && net->features && !batch->use_offset && kind != PASS_OWN_ROWS;
  return summed ? (batch->rows + FW_SUM_ROWS - 1) / FW_SUM_ROWS : 0;
}

/* Numbers of a layer's tensors. */
typedef struct tensor_size {
  size_t out, grad, packed;
} tensor_size;

static tensor_size size_of(const real_net *net, const node *self, const fw_minibatch *batch, pass_kind kind) {
  const size_t rows = padded(batch->rows, self->width);
  const size_t packed = padded(REAL_NAME(fw_packed_gradient_size)(self, batch->rows), 1);
  if (kind != PASS_OWN_FEATURES) return (tensor_size){rows, net->training ? rows : 0, packed};
  if (self->record_width == 0) return (tensor_size){0};
  return (tensor_size){0, has_slots(self) ? padded(batch->uses, self->record_width) : rows, 0};
}

static furrow_status reserve_pass(const real_net *net, pass_memory *self, const fw_minibatch *batch,
                                  furrow_error *err) {
  const pass_kind kind = self->pass.kind;
  size_t count = ALIGNMENT / sizeof(real);
  for (size_t i = 0; i < net->count; i++) {
    const tensor_size size = size_of(net, &net->nodes[i], batch, kind);
    count += size.out + size.grad + size.packed;
  }
  if (copies_x(batch)) count += padded(batch->rows, batch->columns);
  count += padded(sum_parts(net, batch, kind), batch->features);
  furrow_status status = FURROW_OK;
  if (count > self->number_capacity) {
    fw_free(self->numbers);
    self->numbers = NULL;
    self->number_capacity = 0;
    status = fw_grow(&self->numbers, &self->number_capacity, count, sizeof(real), err);
  }
  if (status == FURROW_OK && net->features)
    status = FW_GROW(&self->pass.record, &self->record_capacity, batch->features, err);
  return status;
}

static void lay_out(const real_net *net, pass_memory *self, const fw_minibatch *batch) {
  const pass_kind kind = self->pass.kind;
  real *at = (real *)(((uintptr_t)self->numbers + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  for (size_t i = 0; i < net->count; i++) {
    const tensor_size size = size_of(net, &net->nodes[i], batch, kind);
    self->pass.tensors[i] = (tensor){
        .out = at, .grad = size.grad ? at + size.out : NULL, .packed = size.packed ? at + size.out + size.grad : NULL};
    at += size.out + size.grad + size.packed;
  }
  self->pass.sum_parts = sum_parts(net, batch, kind);
  self->pass.sums = self->pass.sum_parts ? at : NULL;
  at += padded(self->pass.sum_parts, batch->features);
  self->pass.x = (const real *)(const void *)batch->x;
  if (!copies_x(batch)) return;
  for (size_t i = 0; i < batch->rows * batch->columns; i++) at[i] = (real)batch->x[i];
  self->pass.x = at;
}

furrow_status REAL_NAME(fw_pass_lay_out)(const fw_net *net, fw_pass *pass, const fw_minibatch *batch,
                                         furrow_error *err) {
  pass_memory *self = (pass_memory *)pass;
  FW_TRY(reserve_pass(real_net_of(net), self, batch, err));
  lay_out(real_net_of(net), self, batch);
  REAL_NAME(fw_pack_stale)(real_net_of(net));
  self->pass.batch = batch;
  self->pass.step = NULL;
  return FURROW_OK;
}

static furrow_status begin_batch(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow,
                                 furrow_error *err) {
  const real_net *of = real_net_of(net);
  FW_TRY(REAL_NAME(fw_pass_lay_out)(net, pass, batch, err));
  if (!of->features) return FURROW_OK;
  void **records = (void **)real_pass_of(pass)->record;
  if (grow) return fw_features_make_all(of->features, batch->key, batch->features, records, err);
  fw_features_find_all(of->features, batch->key, batch->features, of->nothing, records);
  return FURROW_OK;
}

/* ---- Rows ---- */

static void forward_rows(const real_net *net, real_pass *pass, size_t begin, size_t end) {
  for (size_t i = 0; i < net->count; i++) net->nodes[i].ops->forward(net, &net->nodes[i], pass, begin, end);
}

/* Clears gradients that layers only add to; the loss sets the gradient of the last layer. */
static void clear_gradients(const real_net *net, const real_pass *pass, size_t begin, size_t end) {
  for (size_t i = 0; i < net->count; i++) {
    const size_t width = net->nodes[i].width;
    if (i != net->last && net->nodes[i].set_by == NO_LAYER)
      memset(pass->tensors[i].grad + begin * width, 0, (end - begin) * width * sizeof(real));
  }
}

static double train_rows(const real_net *net, real_pass *pass, size_t begin, size_t end, bool wanted) {
  forward_rows(net, pass, begin, end);
  clear_gradients(net, pass, begin, end);
  const tensor *last = &pass->tensors[net->last];
  const double loss = loss_of_rows(&net->plan->graph, pass->batch, last->out, net->nodes[net->last].width, begin, end,
                                   wanted, last->grad);
  for (size_t i = net->count; i-- > 0;)
    if (net->nodes[i].ops->backward) net->nodes[i].ops->backward(net, &net->nodes[i], pass, begin, end);
  return loss;
}

static size_t rows_at_once(const real_net *net, size_t rows) {
  for (size_t i = 0; i < net->count; i++)
    if (net->nodes[i].weights) return rows;
  return rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE;
}

static void forward_net(const fw_net *net, fw_pass *pass, size_t begin, size_t end) {
  const real_net *of = real_net_of(net);
  const size_t step = rows_at_once(of, end - begin);
  for (size_t row = begin; row < end; row += step)
    forward_rows(of, real_pass_of(pass), row, end - row < step ? end : row + step);
}

static void train_net(const fw_net *net, fw_pass *pass, const fw_step *step, size_t begin, size_t end, double *loss) {
  const real_net *of = real_net_of(net);
  real_pass self = *real_pass_of(pass); /* a copy, because concurrent tasks must not write the step */
  const size_t rows = rows_at_once(of, end - begin);
  self.step = step;
  double sum = 0;
  for (size_t row = begin; row < end; row += rows)
    sum += train_rows(of, &self, row, end - row < rows ? end : row + rows, loss != NULL);
  if (loss) *loss = sum;
}

static void copy_outputs(const fw_net *net, const fw_pass *pass, size_t row, double *out) {
  const real_net *of = real_net_of(net);
  const size_t width = of->nodes[of->last].width;
  const real *from = real_pass_of(pass)->tensors[of->last].out + row * width;
  for (size_t j = 0; j < width; j++) out[j] = (double)from[j];
}

/* ---- Sums by row ---- */

/* The only layer with numbers by feature, if it has one number for each feature; NULL if there is no such layer, or
 * more than one layer has numbers by feature. */
static const node *only_weights(const real_net *net) {
  const node *found = NULL;
  for (size_t i = 0; i < net->count; i++) {
    const node *self = &net->nodes[i];
    if (!self->record_width) continue;
    if (found || self->record_width != 1 || !self->ops->sum_rows) return NULL;
    found = self;
  }
  return found;
}

static bool sums_by_row(const fw_net *net) {
  return only_weights(real_net_of(net)) != NULL;
}

static size_t sum_tasks(const fw_pass *pass) {
  return real_pass_of(pass)->sum_parts;
}

static void sum_gradients(const fw_net *net, fw_pass *pass, size_t task) {
  const real_pass *self = real_pass_of(pass);
  const node *weights = only_weights(real_net_of(net));
  const size_t features = self->batch->features, begin = task * FW_SUM_ROWS, rows = self->batch->rows;
  real *to = self->sums + task * features;
  assert(weights);
  memset(to, 0, features * sizeof *to);
  weights->ops->sum_rows(weights, self, begin, rows - begin < FW_SUM_ROWS ? rows : begin + FW_SUM_ROWS, to);
}

/* ---- Parameters ---- */

static size_t cost_before(const fw_minibatch *batch, size_t feature) {
  return batch->use_offset ? batch->use_offset[feature] + FEATURE_COST * feature : feature;
}

static size_t feature_tasks(const real_net *net, const fw_minibatch *batch) {
  return net->features ? (cost_before(batch, batch->features) + TASK_COST - 1) / TASK_COST : 0;
}

/* The first feature of a task: the first one with at least this cost before it. */
static size_t first_feature(const fw_minibatch *batch, size_t task) {
  size_t low = 0, high = batch->features;
  if (!batch->use_offset) return task * TASK_COST < high ? task * TASK_COST : high;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (cost_before(batch, middle) < task * TASK_COST)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Inlined by force: a call that does nothing else is dropped. */
static inline __attribute__((always_inline)) void ask_for_records(const real_net *net, const real_pass *pass,
                                                                  size_t begin, size_t end) {
  const size_t bytes = net->base.parameters->record_numbers * sizeof(real);
  for (size_t feature = begin; feature < end; feature++) {
    const char *record = (const char *)pass->record[feature];
    for (size_t at = 0; at < bytes; at += CACHE_LINE) __builtin_prefetch(record + at, 1);
    __builtin_prefetch(record + bytes - 1, 1);
  }
}

static void update_features(const real_net *net, real_pass *pass, size_t task) {
  const size_t end = first_feature(pass->batch, task + 1);
  for (size_t first = first_feature(pass->batch, task); first < end; first += FEATURES_AT_ONCE) {
    const size_t last = end - first < FEATURES_AT_ONCE ? end : first + FEATURES_AT_ONCE;
    ask_for_records(net, pass, last, end - last < FEATURES_AT_ONCE ? end : last + FEATURES_AT_ONCE);
    for (size_t i = 0; i < net->count; i++) {
      const node *self = &net->nodes[i];
      if (self->ops->update_features) self->ops->update_features(net, self, pass, first, last);
    }
  }
}

static size_t node_tasks(const node *self) {
  return self->ops->tasks ? self->ops->tasks(self) : 0;
}

static size_t update_tasks(const fw_net *net, const fw_pass *pass) {
  const real_net *of = real_net_of(net);
  size_t count = feature_tasks(of, real_pass_of(pass)->batch);
  for (size_t i = 0; i < of->count; i++) count += node_tasks(&of->nodes[i]);
  return count;
}

/* Dense arrays come first: their tasks take longest. */
static void update_net(fw_net *net, fw_pass *pass, const fw_step *step, size_t task) {
  const real_net *of = real_net_of(net);
  real_pass self = *real_pass_of(pass);
  self.step = step;
  size_t i = 0;
  for (; i < of->count && task >= node_tasks(&of->nodes[i]); i++) task -= node_tasks(&of->nodes[i]);
  if (i < of->count)
    of->nodes[i].ops->update(of, &of->nodes[i], &self, task);
  else
    update_features(of, &self, task);
}

static void free_net(fw_net *net) {
  fw_arena_clear(&((real_net *)net)->arena);
  fw_free(net);
}

const fw_net_ops REAL_NAME(fw_net_ops) = {
    .free = free_net,
    .create_pass = create_pass,
    .free_pass = free_pass,
    .begin = begin_batch,
    .forward = forward_net,
    .train = train_net,
    .outputs = copy_outputs,
    .sums_by_row = sums_by_row,
    .sum_tasks = sum_tasks,
    .sum = sum_gradients,
    .update_tasks = update_tasks,
    .update = update_net,
    .ranks = &REAL_NAME(fw_net_rank_ops),
};
