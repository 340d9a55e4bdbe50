/* learn/layers/layer_bi_inner.c: the inner products of all pairs of a row's vectors, in the order (0,1), (0,2), … (1,2)
 * …
 */
#include "kern/math/pairs.h"
#include "learn/layers/vector_loops.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  const fw_pairs *kernels = REAL_NAME(fw_pairs_table)();
  real *out = pass->tensors[self->index].out;
  for (size_t row = begin; row < end; row++)
    kernels->products(c.factors, c.slots, c.vectors->out + row * c.width, out + row * self->width);
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  const fw_pairs *kernels = REAL_NAME(fw_pairs_table)();
  const real *slope = pass->tensors[self->index].grad;
  for (size_t row = begin; row < end; row++)
    kernels->spread(c.factors, c.slots, c.vectors->out + row * c.width, slope + row * self->width,
                    c.vectors->grad + row * c.width);
}

const layer_ops REAL_NAME(fw_bi_inner_ops) = {.forward = forward, .backward = backward};
