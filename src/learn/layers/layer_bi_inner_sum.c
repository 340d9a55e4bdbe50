/* learn/layers/layer_bi_inner_sum.c: the sum of the inner products of all pairs of a row's vectors, as half of what the
 * square of their sum exceeds the sum of their squares by. */
#include "learn/layers/vector_loops.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  real *out = pass->tensors[self->index].out, sum[BLOCK], squares[BLOCK];
  for (size_t row = begin; row < end; row++) {
    real total = 0;
    for (size_t at = 0; at < c.factors; at += BLOCK) {
      const size_t n = block_size(at, c.factors);
      sums_of_slots(&c, row, at, n, sum, squares);
      for (size_t j = 0; j < n; j++) total += sum[j] * sum[j] - squares[j];
    }
    out[row] = total / 2;
  }
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  const real *grad = pass->tensors[self->index].grad;
  real sum[BLOCK], squares[BLOCK], g[BLOCK];
  for (size_t row = begin; row < end; row++)
    for (size_t at = 0; at < c.factors; at += BLOCK) {
      const size_t n = block_size(at, c.factors);
      for (size_t j = 0; j < n; j++) g[j] = grad[row];
      sums_of_slots(&c, row, at, n, sum, squares);
      spread_gradient(&c, row, at, n, sum, g);
    }
}

const layer_ops REAL_NAME(fw_bi_inner_sum_ops) = {.forward = forward, .backward = backward};
