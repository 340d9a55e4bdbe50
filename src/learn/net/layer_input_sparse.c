/* learn/net/layer_input_sparse.c: activation(bias + sum of value * weights of the row's features). */
#include "learn/net/feature_sums.h"

INLINE void forward_block(const size_t n, const bool valued, const node *self, const real_pass *pass, size_t row,
                          size_t at) {
  const fw_batch *batch = pass->batch;
  real sum[BLOCK];
  for (size_t j = 0; j < n; j++) sum[j] = self->bias[at + j];
  for (uint32_t use = batch->offset[row]; use < batch->offset[row + 1]; use++) {
    const real *weights = pass->record[batch->feature[use]] + self->record_at + at;
    add_scaled(n, valued, value_of(valued, batch, use), weights, sum);
  }
  real *out = pass->tensors[self->index].out + row * self->width + at;
  for (size_t j = 0; j < n; j++) out[j] = sum[j];
}

INLINE void forward_rows(const size_t width, const bool valued, const node *self, const real_pass *pass, size_t begin,
                         size_t end) {
  for (size_t row = begin; row < end; row++)
    for (size_t at = 0; at < width; at += BLOCK) forward_block(block_size(at, width), valued, self, pass, row, at);
}

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const bool one = self->width == 1;
  if (pass->batch->value)
    one ? forward_rows(1, true, self, pass, begin, end) : forward_rows(self->width, true, self, pass, begin, end);
  else
    one ? forward_rows(1, false, self, pass, begin, end) : forward_rows(self->width, false, self, pass, begin, end);
  if (self->layer->activation != FW_ACTIVATION_IDENTITY)
    REAL_NAME(fw_activate)(net, self, pass, self->width, begin, end, pass->tensors[self->index].out);
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const tensor *mine = &pass->tensors[self->index];
  if (self->layer->activation != FW_ACTIVATION_IDENTITY)
    REAL_NAME(fw_activate_back)(net, self, pass, self->width, begin, end, mine->out, mine->grad);
}

static size_t tasks(const node *self) {
  (void)self;
  return 1;
}

/* The bias: plain gradient descent. */
static void update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  (void)net;
  (void)task;
  const size_t rows = pass->batch->rows, width = self->width;
  const real *grad = pass->tensors[self->index].grad;
  const real rate = (real)(pass->step->rate / (double)rows);
  for (size_t at = 0; at < width; at += BLOCK) {
    const size_t n = block_size(at, width);
    real sum[BLOCK] = {0};
    for (size_t row = 0; row < rows; row++) add_scaled(n, false, 1, grad + row * width + at, sum);
    for (size_t j = 0; j < n; j++) self->bias[at + j] -= rate * sum[j];
  }
}

static void update_features(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  REAL_NAME(fw_update_features)(self, pass, begin, end, pass->batch->row, self->width);
}

const layer_ops REAL_NAME(fw_input_sparse_ops) = {
    .forward = forward, .backward = backward, .tasks = tasks, .update = update, .update_features = update_features};
