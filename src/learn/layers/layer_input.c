/* learn/layers/layer_input.c: input layers, and the sums and updates over features that they share with embeddings. */
#include "learn/layers/layer.h"

/* ---- Numbers of features: their sums over a row, their update --------------------------------------------------- */

void REAL_NAME(fw_sum_features)(const node *self, const real_pass *pass, size_t begin, size_t end,
                                fw_gather_rows gather) {
  const fw_minibatch *batch = pass->batch;
  gather.n = self->record_width;
  gather.offset = batch->offset;
  gather.uses = batch->uses;
  gather.feature = batch->feature;
  gather.value = batch->value;
  gather.record = (void *const *)pass->record;
  gather.at = self->record_at;
  gather.out = pass->tensors[self->index].out;
  gather.stride = self->width;
  REAL_NAME(fw_gather_table)()->rows(&gather, begin, end);
}

/* The number of sums that are computed before the optimizer applies them. */
#define SUMS 1024

/* As many features at once as `sums` can hold. */
static void update_narrow(const optimizer_step *o, const fw_gather_uses *gather, size_t begin, size_t end) {
  const fw_gather *kernels = REAL_NAME(fw_gather_table)();
  const size_t at_once = SUMS / gather->n;
  real sums[SUMS];
  for (size_t first = begin; first < end; first += at_once) {
    const size_t count = end - first < at_once ? end - first : at_once;
    kernels->uses(gather, first, first + count, sums);
    o->kernel->records(&o->rule, gather->n, count, gather->record + first, gather->at, sums);
  }
}

/* Feature by feature, some of its numbers at once. */
static void update_wide(const optimizer_step *o, const fw_gather_uses *gather, size_t begin, size_t end) {
  const fw_gather *kernels = REAL_NAME(fw_gather_table)();
  const size_t width = gather->n;
  real sums[SUMS];
  for (size_t feature = begin; feature < end; feature++)
    for (size_t at = 0; at < width; at += SUMS) {
      fw_gather_uses part = *gather;
      part.n = width - at < SUMS ? width - at : SUMS;
      part.from = (const real *)gather->from + at;
      if (gather->squares) part.squares = (const real *)gather->squares + at;
      part.at += at;
      kernels->uses(&part, feature, feature + 1, sums);
      real *w = (real *)part.record[feature] + part.at;
      o->kernel->array(&o->rule, part.n, w, w + width, w + 2 * width, sums);
    }
}

/* From pass->sums, one number for each feature. */
static void update_summed(const node *self, const real_pass *pass, size_t begin, size_t end) {
  const size_t features = pass->batch->features;
  optimizer_step o;
  real sums[SUMS];
  REAL_NAME(fw_optimizer_step)(&o, self, pass);
  for (size_t first = begin; first < end; first += SUMS) {
    const size_t count = end - first < SUMS ? end - first : SUMS;
    for (size_t i = 0; i < count; i++) sums[i] = pass->sums[first + i];
    for (size_t part = 1; part < pass->sum_parts; part++)
      for (size_t i = 0; i < count; i++) sums[i] += pass->sums[part * features + first + i];
    o.kernel->records(&o.rule, 1, count, (void *const *)pass->record + first, self->record_at, sums);
  }
}

void REAL_NAME(fw_update_features)(const node *self, const real_pass *pass, size_t begin, size_t end,
                                   fw_gather_uses gather) {
  const fw_minibatch *batch = pass->batch;
  optimizer_step o;
  REAL_NAME(fw_optimizer_step)(&o, self, pass);
  gather.n = self->record_width;
  gather.offset = batch->use_offset;
  gather.uses = batch->uses;
  gather.use = batch->use;
  gather.value = batch->value;
  gather.record = (void *const *)pass->record;
  gather.at = self->record_at;
  if (gather.n <= SUMS)
    update_narrow(&o, &gather, begin, end);
  else
    update_wide(&o, &gather, begin, end);
}

/* ---- Sparse data: activation(bias + sum of value * weights of the row's features) ------------------------------- */

static void sparse_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  REAL_NAME(fw_sum_features)(self, pass, begin, end, (fw_gather_rows){.start = self->bias});
  REAL_NAME(fw_activate)(net, self, pass, begin, end);
}

static size_t sparse_tasks(const node *self) {
  (void)self;
  return 1;
}

static void sparse_update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  (void)net;
  (void)task;
  REAL_NAME(fw_update_bias)(self, pass);
}

static void sparse_sum_rows(const node *self, const real_pass *pass, size_t begin, size_t end, real *sum) {
  const fw_minibatch *batch = pass->batch;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t row = begin; row < end; row++) {
    const real g = grad[row];
    for (uint32_t use = batch->offset[row]; use < batch->offset[row + 1]; use++)
      sum[batch->feature[use]] += batch->value ? g * (real)batch->value[use] : g;
  }
}

static void sparse_update_features(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  if (pass->sums) {
    update_summed(self, pass, begin, end);
    return;
  }
  const fw_gather_uses gather = {
      .place = pass->batch->use_row, .from = pass->tensors[self->index].grad, .stride = self->width};
  REAL_NAME(fw_update_features)(self, pass, begin, end, gather);
}

const layer_ops REAL_NAME(fw_input_sparse_ops) = {.forward = sparse_forward,
                                                  .backward = REAL_NAME(fw_activate_back),
                                                  .tasks = sparse_tasks,
                                                  .update = sparse_update,
                                                  .update_features = sparse_update_features,
                                                  .sum_rows = sparse_sum_rows};

/* ---- Dense data: activation(x * weight + bias) ------------------------------------------------------------------ */

static void dense_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  REAL_NAME(fw_dense_forward)(self, pass->x, begin, end, pass->tensors[self->index].out);
  REAL_NAME(fw_activate)(net, self, pass, begin, end);
}

static void dense_update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  const dense_part part = {pass->x, self->in_width};
  REAL_NAME(fw_dense_update)(net, self, pass, &part, task);
}

const layer_ops REAL_NAME(fw_input_dense_ops) = {.forward = dense_forward,
                                                 .backward = REAL_NAME(fw_activate_back),
                                                 .tasks = REAL_NAME(fw_dense_tasks),
                                                 .update = dense_update};
