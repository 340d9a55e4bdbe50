/* learn/layers/layer_mul_pooling.c: the product of its inputs, element by element. */
#include "learn/layers/elementwise.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  real *out = pass->tensors[self->index].out;
  for (size_t i = begin * self->width; i < end * self->width; i++)
    out[i] = product_without(self, pass, i, self->layer->input_count);
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    real *to = pass->tensors[self->layer->inputs[k]].grad;
    for (size_t i = begin * self->width; i < end * self->width; i++)
      to[i] += grad[i] * product_without(self, pass, i, k);
  }
}

const layer_ops REAL_NAME(fw_mul_pooling_ops) = {.forward = forward, .backward = backward};
