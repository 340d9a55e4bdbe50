/* learn/layers/layer_pooling.c: layers that combine their inputs: Concat, SumPooling, MulPooling, DotPooling. */
#include <string.h>

#include "learn/layers/layer.h"

/* ---- Concat: the inputs one after the other --------------------------------------------------------------------- */

/* n numbers of each row; the steps are from one row to the next. */
static void set_rows(real *to, size_t to_step, const real *from, size_t step, size_t n, size_t begin, size_t end) {
  for (size_t r = begin; r < end; r++) memcpy(to + r * to_step, from + r * step, n * sizeof *to);
}

static void add_rows(real *to, size_t to_step, const real *from, size_t step, size_t n, size_t begin, size_t end) {
  for (size_t r = begin; r < end; r++)
    for (size_t j = 0; j < n; j++) to[r * to_step + j] += from[r * step + j];
}

void REAL_NAME(fw_concat_rows)(const real_net *net, const node *self, const real_pass *pass, size_t begin, size_t end) {
  real *out = pass->tensors[self->index].out;
  size_t at = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const size_t input = self->layer->inputs[k], width = net->nodes[input].width;
    const real *x = pass->tensors[input].out;
    set_rows(out + at, self->width, x, width, width, begin, end);
    at += width;
  }
}

static void concat_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  if (!self->is_read_through) REAL_NAME(fw_concat_rows)(net, self, pass, begin, end);
}

static void concat_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const real *grad = pass->tensors[self->index].grad;
  size_t at = 0;
  if (self->is_read_through) return;
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

const layer_ops REAL_NAME(fw_concat_ops) = {
    .forward = concat_forward, .backward = concat_backward, .sets_gradients = true};

/* ---- SumPooling: the sum of the inputs, element by element ------------------------------------------------------ */

static void sum_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  real *out = pass->tensors[self->index].out;
  const size_t from = begin * self->width, to = end * self->width;
  for (size_t i = from; i < to; i++) out[i] = 0;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    const real *x = pass->tensors[self->layer->inputs[k]].out;
    for (size_t i = from; i < to; i++) out[i] += x[i];
  }
}

static void sum_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    real *to = pass->tensors[self->layer->inputs[k]].grad;
    for (size_t i = begin * self->width; i < end * self->width; i++) to[i] += grad[i];
  }
}

const layer_ops REAL_NAME(fw_sum_pooling_ops) = {.forward = sum_forward, .backward = sum_backward};

/* ---- MulPooling: the product of the inputs, element by element -------------------------------------------------- */

/* The product of element i of all inputs except input `without`; of all inputs if `without` is their number. */
static inline real product_without(const node *self, const real_pass *pass, size_t i, size_t without) {
  real product = 1;
  for (size_t k = 0; k < self->layer->input_count; k++)
    if (k != without) product *= pass->tensors[self->layer->inputs[k]].out[i];
  return product;
}

static void mul_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  real *out = pass->tensors[self->index].out;
  for (size_t i = begin * self->width; i < end * self->width; i++)
    out[i] = product_without(self, pass, i, self->layer->input_count);
}

static void mul_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    real *to = pass->tensors[self->layer->inputs[k]].grad;
    for (size_t i = begin * self->width; i < end * self->width; i++)
      to[i] += grad[i] * product_without(self, pass, i, k);
  }
}

const layer_ops REAL_NAME(fw_mul_pooling_ops) = {.forward = mul_forward, .backward = mul_backward};

/* ---- DotPooling: the same product, summed over the row: one number ---------------------------------------------- */

static void dot_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const size_t width = net->nodes[self->layer->inputs[0]].width;
  real *out = pass->tensors[self->index].out;
  for (size_t r = begin; r < end; r++) {
    out[r] = 0;
    for (size_t i = r * width; i < (r + 1) * width; i++)
      out[r] += product_without(self, pass, i, self->layer->input_count);
  }
}

static void dot_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const size_t width = net->nodes[self->layer->inputs[0]].width;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t k = 0; k < self->layer->input_count; k++) {
    real *to = pass->tensors[self->layer->inputs[k]].grad;
    for (size_t i = begin * width; i < end * width; i++) to[i] += grad[i / width] * product_without(self, pass, i, k);
  }
}

const layer_ops REAL_NAME(fw_dot_pooling_ops) = {.forward = dot_forward, .backward = dot_backward};
