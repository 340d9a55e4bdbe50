/* learn/layers/layer_input_sparse.c: activation(bias + sum of value * weights of the row's features). */
#include "learn/layers/layer.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  REAL_NAME(fw_sum_features)(self, pass, begin, end, (fw_gather_rows){.start = self->bias});
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

static void update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  (void)net;
  (void)task;
  REAL_NAME(fw_update_bias)(self, pass);
}

static void sum_rows(const node *self, const real_pass *pass, size_t begin, size_t end, real *sum) {
  const fw_minibatch *batch = pass->batch;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t row = begin; row < end; row++) {
    const real g = grad[row];
    for (uint32_t use = batch->offset[row]; use < batch->offset[row + 1]; use++)
      sum[batch->feature[use]] += batch->value ? g * (real)batch->value[use] : g;
  }
}

static void update_features(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  if (pass->sums) {
    REAL_NAME(fw_update_summed)(self, pass, begin, end);
    return;
  }
  const fw_gather_uses gather = {
      .place = pass->batch->use_row, .from = pass->tensors[self->index].grad, .stride = self->width};
  REAL_NAME(fw_update_features)(self, pass, begin, end, gather);
}

const layer_ops REAL_NAME(fw_input_sparse_ops) = {.forward = forward,
                                                  .backward = backward,
                                                  .tasks = tasks,
                                                  .update = update,
                                                  .update_features = update_features,
                                                  .sum_rows = sum_rows};
