/* learn/layers/net_ranks.c: a net whose features are divided among ranks: what goes from rank to rank, as bytes. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/layers/layer.h"
#include "learn/net/net_ops.h"

static fw_net_sizes sizes(const void *net) {
  const real_net *of = net;
  fw_net_sizes made = {.dense = of->dense_sums};
  for (size_t i = 0; i < of->count; i++) {
    const node *self = &of->nodes[i];
    made.weights += self->record_width * sizeof(real);
    if (has_slots(self))
      made.use += self->record_width * sizeof(real);
    else if (self->record_width)
      made.row += self->width * sizeof(real);
  }
  return made;
}

/* ---- Passes ---- */

static furrow_status begin_rows(const void *net, void *pass, const fw_minibatch *batch, furrow_error *err) {
  const real_net *of = net;
  pass_memory *self = pass;
  size_t numbers;
  self->pass.kind = PASS_OWN_ROWS;
  FW_TRY(REAL_NAME(fw_pass_lay_out)(of, self, batch, err));
  if (!fw_size_mul(batch->features, of->record_reals, &numbers)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_grow((void **)&self->copies, &self->copy_capacity, numbers, sizeof(real), err));
  for (size_t i = 0; i < batch->features; i++) self->pass.record[i] = self->copies + i * of->record_reals;
  return FURROW_OK;
}

static furrow_status begin_features(const void *net, void *pass, const fw_minibatch *batch, bool grow, void *dense,
                                    furrow_error *err) {
  pass_memory *self = pass;
  self->pass.kind = PASS_OWN_FEATURES;
  self->pass.dense = dense;
  return REAL_NAME(fw_net_ops).begin(net, pass, batch, grow, err);
}

/* ---- Weights ---- */

static void put_weights(const void *net, const void *pass, const uint32_t *features, size_t count, void *bytes) {
  const real_net *of = net;
  const real_pass *self = &((const pass_memory *)pass)->pass;
  real *to = bytes;
  for (size_t f = 0; f < count; f++)
    for (size_t i = 0; i < of->count; i++) {
      const node *layer = &of->nodes[i];
      const real *from = self->record[features[f]] + layer->record_at;
      for (size_t j = 0; j < layer->record_width; j++) *to++ = from[j];
    }
}

static void take_weights(const void *net, void *pass, const uint32_t *features, size_t count, const void *bytes) {
  const real_net *of = net;
  const real_pass *self = &((const pass_memory *)pass)->pass;
  const real *from = bytes;
  for (size_t f = 0; f < count; f++)
    for (size_t i = 0; i < of->count; i++) {
      const node *layer = &of->nodes[i];
      real *to = self->record[features[f]] + layer->record_at;
      for (size_t j = 0; j < layer->record_width; j++) to[j] = *from++;
    }
}

/* ---- Gradients ---- */

/* Layer by layer: the gradients of all rows. */
static void put_rows(const void *net, const void *pass, void *bytes) {
  const real_net *of = net;
  const real_pass *self = &((const pass_memory *)pass)->pass;
  real *to = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    if (!layer->record_width || has_slots(layer)) continue;
    const size_t numbers = self->batch->rows * layer->width;
    if (numbers) memcpy(to, self->tensors[i].grad, numbers * sizeof *to);
    to += numbers;
  }
}

static void take_rows(const void *net, void *pass, const uint32_t *rows, size_t count, const void *bytes) {
  const real_net *of = net;
  const real_pass *self = &((const pass_memory *)pass)->pass;
  const real *from = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    const size_t width = layer->width;
    if (!layer->record_width || has_slots(layer)) continue;
    for (size_t row = 0; row < count; row++, from += width)
      memcpy(self->tensors[i].grad + rows[row] * width, from, width * sizeof *from);
  }
}

static void put_uses(const void *net, const void *pass, const uint32_t *uses, size_t count, void *bytes) {
  const real_net *of = net;
  const real_pass *self = &((const pass_memory *)pass)->pass;
  const uint32_t *place = self->batch->place;
  real *to = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    const size_t width = layer->record_width;
    if (!has_slots(layer)) continue;
    for (size_t k = 0; k < count; k++, to += width) {
      if (layer->field_cross != NO_LAYER)
        REAL_NAME(fw_field_aware_use)(of, layer, self, uses[k], to);
      else
        memcpy(to, self->tensors[i].grad + (place ? place[uses[k]] : uses[k]) * width, width * sizeof *to);
    }
  }
}

static void take_uses(const void *net, void *pass, const uint32_t *uses, size_t count, const void *bytes) {
  const real_net *of = net;
  const real_pass *self = &((const pass_memory *)pass)->pass;
  const real *from = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    const size_t width = layer->record_width;
    if (!has_slots(layer)) continue;
    for (size_t k = 0; k < count; k++, from += width)
      memcpy(self->tensors[i].grad + uses[k] * width, from, width * sizeof *from);
  }
}

static void cut(const void *net, const void *from, size_t row, size_t use, void *pass) {
  const real_net *of = net;
  const real_pass *whole = &((const pass_memory *)from)->pass, *self = &((const pass_memory *)pass)->pass;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    const size_t width = has_slots(layer) ? layer->record_width : layer->width;
    const size_t first = has_slots(layer) ? use : row, count = has_slots(layer) ? self->batch->uses : self->batch->rows;
    if (layer->record_width && count)
      memcpy(self->tensors[i].grad, whole->tensors[i].grad + first * width, count * width * sizeof(real));
  }
}

/* ---- Dense arrays ---- */

static size_t tasks_of(const node *self) {
  return self->weights ? self->ops->tasks(self) : 0;
}

static size_t dense_tasks(const void *net) {
  const real_net *of = net;
  size_t count = 0;
  for (size_t i = 0; i < of->count; i++) count += tasks_of(&of->nodes[i]);
  return count;
}

/* Layers of a graph, at most (learn/conf/graph.c). */
#define LAYERS_MAX 512

static void sum_dense(const void *net, const void *pass, size_t begin, size_t end, void *dense, size_t task) {
  const real_net *of = net;
  real_pass self = ((const pass_memory *)pass)->pass;
  fw_minibatch rows = *self.batch;
  tensor shifted[LAYERS_MAX];
  size_t i = 0;
  assert(of->count <= LAYERS_MAX);
  for (; i < of->count; i++) {
    const tensor *whole = &self.tensors[i];
    shifted[i] = (tensor){whole->out + begin * of->nodes[i].width, whole->grad + begin * of->nodes[i].width};
  }
  rows.rows = end - begin;
  self.batch = &rows;
  self.tensors = shifted;
  if (self.x) self.x += begin * rows.columns;
  i = 0;
  for (; task >= tasks_of(&of->nodes[i]); i++) task -= tasks_of(&of->nodes[i]);
  assert(i < of->count);
  self.dense = dense;
  of->nodes[i].ops->update(of, &of->nodes[i], &self, task);
}

const fw_net_rank_ops REAL_NAME(fw_net_rank_ops) = {
    .sizes = sizes,
    .begin_rows = begin_rows,
    .begin_features = begin_features,
    .put_weights = put_weights,
    .take_weights = take_weights,
    .put_rows = put_rows,
    .take_rows = take_rows,
    .put_uses = put_uses,
    .take_uses = take_uses,
    .dense_tasks = dense_tasks,
    .sum_dense = sum_dense,
    .cut = cut,
};
