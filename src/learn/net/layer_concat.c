/* learn/net/layer_concat.c: its inputs one after the other. */
#include <string.h>

#include "learn/net/layer.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  real *out = pass->tensors[self->index].out;
  size_t at = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const size_t input = self->layer->inputs[k], width = net->nodes[input].width;
    const real *x = pass->tensors[input].out;
    for (size_t r = begin; r < end; r++) memcpy(out + r * self->width + at, x + r * width, width * sizeof *x);
    at += width;
  }
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const real *grad = pass->tensors[self->index].grad;
  size_t at = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const size_t input = self->layer->inputs[k], width = net->nodes[input].width;
    real *to = pass->tensors[input].grad;
    for (size_t r = begin; r < end; r++)
      for (size_t j = 0; j < width; j++) to[r * width + j] += grad[r * self->width + at + j];
    at += width;
  }
}

const layer_ops REAL_NAME(fw_concat_ops) = {.forward = forward, .backward = backward};
