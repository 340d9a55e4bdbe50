/* learn/net/layer_bi_inner.c: the inner products of all pairs of a row's vectors, in the order (0,1), (0,2), … (1,2) …
 */
#include "learn/net/vector_loops.h"

INLINE real inner(const size_t n, const real *a, const real *b) {
  real sum = 0;
  for (size_t j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}

INLINE void products_of_row(const size_t n, size_t slots, const real *u, real *out) {
  for (size_t a = 0; a < slots; a++)
    for (size_t b = a + 1; b < slots; b++) *out++ = inner(n, u + a * n, u + b * n);
}

INLINE void spread_row(const size_t n, size_t slots, const real *u, const real *g, real *grad) {
  for (size_t a = 0; a < slots; a++)
    for (size_t b = a + 1; b < slots; b++, g++) {
      add_scaled(n, *g, u + b * n, grad + a * n);
      add_scaled(n, *g, u + a * n, grad + b * n);
    }
}

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  for (size_t row = begin; row < end; row++) {
    const real *u = c.vectors->out + row * c.width;
    real *out = pass->tensors[self->index].out + row * self->width;
    switch (c.factors) {
    case 8: products_of_row(8, c.slots, u, out); break;
    case 16: products_of_row(16, c.slots, u, out); break;
    default: products_of_row(c.factors, c.slots, u, out);
    }
  }
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  for (size_t row = begin; row < end; row++) {
    const real *u = c.vectors->out + row * c.width, *g = pass->tensors[self->index].grad + row * self->width;
    real *grad = c.vectors->grad + row * c.width;
    switch (c.factors) {
    case 8: spread_row(8, c.slots, u, g, grad); break;
    case 16: spread_row(16, c.slots, u, g, grad); break;
    default: spread_row(c.factors, c.slots, u, g, grad);
    }
  }
}

const layer_ops REAL_NAME(fw_bi_inner_ops) = {.forward = forward, .backward = backward};
