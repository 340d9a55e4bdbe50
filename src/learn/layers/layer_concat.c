/* learn/layers/layer_concat.c: its inputs one after the other. */
#include <string.h>

#include "learn/layers/layer.h"

/* n numbers of each row; the steps are from one row to the next. */
static void set_rows(real *to, size_t to_step, const real *from, size_t step, size_t n, size_t begin, size_t end) {
  for (size_t r = begin; r < end; r++) memcpy(to + r * to_step, from + r * step, n * sizeof *to);
}

static void add_rows(real *to, size_t to_step, const real *from, size_t step, size_t n, size_t begin, size_t end) {
  for (size_t r = begin; r < end; r++)
    for (size_t j = 0; j < n; j++) to[r * to_step + j] += from[r * step + j];
}

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  real *out = pass->tensors[self->index].out;
  size_t at = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const size_t input = self->layer->inputs[k], width = net->nodes[input].width;
    const real *x = pass->tensors[input].out;
    set_rows(out + at, self->width, x, width, width, begin, end);
    at += width;
  }
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const real *grad = pass->tensors[self->index].grad;
  size_t at = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const size_t input = self->layer->inputs[k], width = net->nodes[input].width;
    real *to = pass->tensors[input].grad;
    if (sets_gradient(net, self, k))
      set_rows(to, width, grad + at, self->width, width, begin, end);
    else
      add_rows(to, width, grad + at, self->width, width, begin, end);
    at += width;
  }
}

const layer_ops REAL_NAME(fw_concat_ops) = {.forward = forward, .backward = backward, .sets_gradients = true};
