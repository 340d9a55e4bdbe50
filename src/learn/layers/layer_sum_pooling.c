/* learn/layers/layer_sum_pooling.c: the sum of its inputs, element by element. */
#include "learn/layers/layer.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  real *out = pass->tensors[self->index].out;
  const size_t from = begin * self->width, to = end * self->width;
  for (size_t i = from; i < to; i++) out[i] = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const real *x = pass->tensors[self->layer->inputs[k]].out;
    for (size_t i = from; i < to; i++) out[i] += x[i];
  }
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    real *to = pass->tensors[self->layer->inputs[k]].grad;
    for (size_t i = begin * self->width; i < end * self->width; i++) to[i] += grad[i];
  }
}

const layer_ops REAL_NAME(fw_sum_pooling_ops) = {.forward = forward, .backward = backward};
