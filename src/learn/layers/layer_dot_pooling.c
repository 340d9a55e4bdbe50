/* learn/layers/layer_dot_pooling.c: the product of its inputs, element by element, summed over the row: one number. */
#include "learn/layers/elementwise.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const size_t width = net->nodes[self->layer->inputs[0]].width;
  real *out = pass->tensors[self->index].out;
  for (size_t r = begin; r < end; r++) {
    out[r] = 0;
    for (size_t i = r * width; i < (r + 1) * width; i++)
      out[r] += product_without(self, pass, i, self->layer->input_count);
  }
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const size_t width = net->nodes[self->layer->inputs[0]].width;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    real *to = pass->tensors[self->layer->inputs[k]].grad;
    for (size_t i = begin * width; i < end * width; i++) to[i] += grad[i / width] * product_without(self, pass, i, k);
  }
}

const layer_ops REAL_NAME(fw_dot_pooling_ops) = {.forward = forward, .backward = backward};
