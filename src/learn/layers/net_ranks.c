/* learn/layers/net_ranks.c: a net whose features are divided among ranks: messages between ranks as bytes. */
#include <assert.h>
#include <string.h>

#include "learn/layers/layer.h"

/* A record is sent from its beginning to its last weights. This includes some optimizer state, but the receiver can use
 * the bytes as records. */
static size_t weights_end(const node *self) {
  return self->record_at + self->record_width;
}

static fw_net_sizes sizes(const fw_net *net) {
  const real_net *of = real_net_of(net);
  fw_net_sizes made = {.dense = of->dense_sums};
  for (size_t i = 0; i < of->count; i++) {
    const node *self = &of->nodes[i];
    if (self->record_width) made.weights = weights_end(self) * sizeof(real);
    if (has_slots(self))
      made.use += self->record_width * sizeof(real);
    else if (self->record_width)
      made.row += self->width * sizeof(real);
  }
  return made;
}

/* ---- Passes ---- */

static furrow_status begin_rows(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, furrow_error *err) {
  real_pass_of(pass)->kind = PASS_OWN_ROWS;
  return REAL_NAME(fw_pass_lay_out)(net, pass, batch, err);
}

static furrow_status begin_features(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow, void *dense,
                                    furrow_error *err) {
  real_pass_of(pass)->kind = PASS_OWN_FEATURES;
  real_pass_of(pass)->dense = dense;
  return net->ops->begin(net, pass, batch, grow, err);
}

/* ---- Weights ---- */

static void put_weights(const fw_net *net, const fw_pass *pass, const uint32_t *features, size_t count, void *bytes) {
  enum { AHEAD = 16, CACHE_LINE = 64 };
  const size_t size = sizes(net).weights;
  real *const *record = real_pass_of(pass)->record;
  char *to = bytes;
  for (size_t f = 0; f < count; f++, to += size) {
    const char *later = (const char *)record[features[f + AHEAD < count ? f + AHEAD : f]];
    for (size_t at = 0; at < size; at += CACHE_LINE) __builtin_prefetch(later + at);
    __builtin_prefetch(later + size - 1);
    memcpy(to, record[features[f]], size);
  }
}

static void take_weights(const fw_net *net, fw_pass *pass, const uint32_t *features, size_t count, void *bytes) {
  const size_t size = sizes(net).weights;
  real **record = real_pass_of(pass)->record;
  char *at = bytes;
  for (size_t f = 0; f < count; f++, at += size) record[features[f]] = (real *)(void *)at;
}

static void share_records(const fw_pass *from, const uint32_t *theirs, size_t count, fw_pass *pass,
                          const uint32_t *features) {
  real *const *record = real_pass_of(from)->record;
  for (size_t f = 0; f < count; f++) real_pass_of(pass)->record[features[f]] = record[theirs[f]];
}

/* ---- Gradients ---- */

/* Layer by layer: the gradients of all rows. */
static void put_rows(const fw_net *net, const fw_pass *pass, void *bytes) {
  const real_net *of = real_net_of(net);
  const real_pass *self = real_pass_of(pass);
  real *to = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    if (!layer->record_width || has_slots(layer)) continue;
    const size_t numbers = self->batch->rows * layer->width;
    if (numbers) memcpy(to, self->tensors[i].grad, numbers * sizeof *to);
    to += numbers;
  }
}

static void take_rows(const fw_net *net, fw_pass *pass, const uint32_t *rows, size_t count, const void *bytes) {
  const real_net *of = real_net_of(net);
  const real_pass *self = real_pass_of(pass);
  const real *from = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    const size_t width = layer->width;
    if (!layer->record_width || has_slots(layer)) continue;
    real *const grad = self->tensors[i].grad;
    if (width == 1) {
      for (size_t row = 0; row < count; row++) grad[rows[row]] = *from++;
      continue;
    }
    for (size_t row = 0; row < count; row++, from += width)
      memcpy(grad + rows[row] * width, from, width * sizeof *from);
  }
}

static void put_uses(const fw_net *net, const fw_pass *pass, const uint32_t *uses, size_t count, void *bytes) {
  const real_net *of = real_net_of(net);
  const real_pass *self = real_pass_of(pass);
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

static void take_uses(const fw_net *net, fw_pass *pass, const uint32_t *uses, size_t count, const void *bytes) {
  const real_net *of = real_net_of(net);
  const real_pass *self = real_pass_of(pass);
  const real *from = bytes;
  for (size_t i = 0; i < of->count; i++) {
    const node *layer = &of->nodes[i];
    const size_t width = layer->record_width;
    if (!has_slots(layer)) continue;
    for (size_t k = 0; k < count; k++, from += width)
      memcpy(self->tensors[i].grad + uses[k] * width, from, width * sizeof *from);
  }
}

/* ---- Dense arrays ---- */

static size_t tasks_of(const node *self) {
  return self->weights ? self->ops->tasks(self) : 0;
}

static size_t dense_tasks(const fw_net *net) {
  const real_net *of = real_net_of(net);
  size_t count = 0;
  for (size_t i = 0; i < of->count; i++) count += tasks_of(&of->nodes[i]);
  return count;
}

static void sum_dense(const fw_net *net, const fw_pass *pass, void *dense, size_t task) {
  const real_net *of = real_net_of(net);
  real_pass self = *real_pass_of(pass);
  size_t i = 0;
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
    .share_records = share_records,
    .put_rows = put_rows,
    .take_rows = take_rows,
    .put_uses = put_uses,
    .take_uses = take_uses,
    .dense_tasks = dense_tasks,
    .sum_dense = sum_dense,
};
