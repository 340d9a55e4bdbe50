/* learn/layers/vector_loops.h: loops over the vectors of an embedding, for it and its crosses. */
#ifndef FW_LEARN_LAYERS_VECTOR_LOOPS_H
#define FW_LEARN_LAYERS_VECTOR_LOOPS_H

#include "kern/unroll.h"
#include "learn/layers/layer.h"

/* Numbers of a vector that are worked on at once. */
#define BLOCK 32

INLINE size_t block_size(size_t at, size_t width) {
  return width - at < BLOCK ? width - at : BLOCK;
}

INLINE void add_scaled(const size_t n, real x, const real *restrict from, real *restrict sum) {
  for (size_t j = 0; j < n; j++) sum[j] += x * from[j];
}

/* An embedding, as a cross of it sees it. */
typedef struct crossed {
  const tensor *vectors;
  size_t factors, width;
  size_t slots; /* 0: a row has the sum of its vectors and the sum of their squares */
} crossed;

INLINE crossed crossed_by(const real_net *net, const node *self, const real_pass *pass) {
  const node *embedding = &net->nodes[self->layer->inputs[0]];
  return (crossed){&pass->tensors[embedding->index], embedding->record_width, embedding->width,
                   embedding->layer->slots};
}

/* Sum of the vectors u of a row and of their squares, n numbers of them from `at` on. */
INLINE void sums_of_slots(const crossed *c, size_t row, size_t at, size_t n, real *sum, real *squares) {
  const real *u = c->vectors->out + row * c->width + at;
  for (size_t j = 0; j < n; j++) {
    sum[j] = c->slots ? 0 : u[j];
    squares[j] = c->slots ? 0 : u[c->factors + j];
  }
  for (size_t slot = 0; slot < c->slots; slot++, u += c->factors)
    for (size_t j = 0; j < n; j++) {
      sum[j] += u[j];
      squares[j] += u[j] * u[j];
    }
}

/* Adds the gradient of half the difference (sum^2 - squares) / 2 of n numbers, times g for each of them. */
INLINE void spread_gradient(const crossed *c, size_t row, size_t at, size_t n, const real *sum, const real *g) {
  const real *u = c->vectors->out + row * c->width + at;
  real *grad = c->vectors->grad + row * c->width + at;
  if (c->slots == 0) {
    for (size_t j = 0; j < n; j++) grad[j] += g[j] * sum[j];
    for (size_t j = 0; j < n; j++) grad[c->factors + j] -= (real)0.5 * g[j];
    return;
  }
  for (size_t slot = 0; slot < c->slots; slot++, u += c->factors, grad += c->factors)
    for (size_t j = 0; j < n; j++) grad[j] += g[j] * (sum[j] - u[j]);
}

#endif
