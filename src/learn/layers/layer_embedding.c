/* learn/layers/layer_embedding.c: the vectors value * v of a row's features, and the layers that cross them.
 *
 * Fixed slots: one vector for each slot; several features of a field are added. Free slots: the sum of all vectors u
 * and the sum of their squares. With their gradients s and q, the gradient of v is the sum of value * s + 2 value^2 v *
 * q over uses. */
#include <string.h>

#include "kern/math/pairs.h"
#include "kern/simd/unroll.h"
#include "learn/layers/layer.h"

/* Distance of prefetching, in uses. */
#define AHEAD 16

static void forward_free(const node *self, real_pass *pass, size_t begin, size_t end) {
  const fw_gather_rows gather = {.squares = pass->tensors[self->index].out + self->record_width};
  REAL_NAME(fw_sum_features)(self, pass, begin, end, gather);
}

INLINE const real *vector_of(const node *self, const real_pass *pass, uint32_t use) {
  return pass->record[pass->batch->feature[use]] + self->record_at;
}

INLINE void ask_for_vector(const size_t factors, const node *self, const real_pass *pass, uint32_t use) {
  if (use + AHEAD >= pass->batch->uses) return;
  const real *vector = vector_of(self, pass, use + AHEAD);
  __builtin_prefetch(vector);
  __builtin_prefetch(vector + factors - 1);
}

/* Copies vectors where every slot has one feature of value 1; -0 becomes 0, as if it were added. */
INLINE void copy_vectors(const size_t factors, const node *self, const real_pass *pass, size_t begin, size_t end) {
  const fw_minibatch *batch = pass->batch;
  real *restrict out = pass->tensors[self->index].out + batch->offset[begin] * factors;
  for (uint32_t use = batch->offset[begin]; use < batch->offset[end]; use++, out += factors) {
    const real *restrict vector = vector_of(self, pass, use);
    ask_for_vector(factors, self, pass, use);
    for (size_t j = 0; j < factors; j++) out[j] = vector[j] + 0;
  }
}

static void add_vectors(const size_t factors, const node *self, const real_pass *pass, size_t begin, size_t end) {
  const fw_minibatch *batch = pass->batch;
  real *out = pass->tensors[self->index].out;
  memset(out + begin * self->width, 0, (end - begin) * self->width * sizeof(real));
  for (uint32_t use = batch->offset[begin]; use < batch->offset[end]; use++) {
    const real *restrict vector = vector_of(self, pass, use), x = batch->value ? (real)batch->value[use] : 1;
    real *restrict sum = out + (batch->place ? batch->place[use] : use) * factors;
    ask_for_vector(factors, self, pass, use);
    for (size_t j = 0; j < factors; j++) sum[j] += x * vector[j];
  }
}

static void forward_fixed(const node *self, real_pass *pass, size_t begin, size_t end) {
  const size_t factors = self->record_width, uses = pass->batch->offset[end] - pass->batch->offset[begin];
  const bool full = uses == (end - begin) * self->layer->slots; /* a row without features has none at all */
  if (pass->batch->place || pass->batch->value || !full)
    add_vectors(factors, self, pass, begin, end);
  else if (sizeof(real) == sizeof(float) && factors == 8)
    copy_vectors(8, self, pass, begin, end);
  else
    copy_vectors(factors, self, pass, begin, end);
}

static void embedding_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  if (self->layer->slots == 0)
    forward_free(self, pass, begin, end);
  else
    forward_fixed(self, pass, begin, end);
}

static void update_embedding(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  if (self->field_cross != NO_LAYER) {
    REAL_NAME(fw_update_field_aware)(net, self, pass, begin, end);
    return;
  }
  const real *grad = pass->tensors[self->index].grad;
  fw_gather_uses gather = {.place = pass->batch->use_place, .from = grad, .stride = self->record_width};
  if (self->layer->slots == 0) {
    gather.place = pass->batch->use_row;
    gather.squares = grad + self->record_width;
    gather.stride = self->width;
  }
  REAL_NAME(fw_update_features)(self, pass, begin, end, gather);
}

const layer_ops REAL_NAME(fw_embedding_ops) = {.forward = embedding_forward, .update_features = update_embedding};

/* ---- Crosses of an embedding ------------------------------------------------------------------------------------ */

/* Numbers of a vector that are worked on at once. */
#define BLOCK 32

INLINE size_t block_size(size_t at, size_t width) {
  return width - at < BLOCK ? width - at : BLOCK;
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
INLINE void sums_of_n(const crossed *c, size_t row, size_t at, const size_t n, real *sum, real *squares) {
  const real *u = c->vectors->out + row * c->width + at;
  real kept[BLOCK], kept_squares[BLOCK]; /* in registers, where n is a constant */
  for (size_t j = 0; j < n; j++) {
    kept[j] = c->slots ? 0 : u[j];
    kept_squares[j] = c->slots ? 0 : u[c->factors + j];
  }
  for (size_t slot = 0; slot < c->slots; slot++, u += c->factors)
    for (size_t j = 0; j < n; j++) {
      kept[j] += u[j];
      kept_squares[j] += u[j] * u[j];
    }
  for (size_t j = 0; j < n; j++) {
    sum[j] = kept[j];
    squares[j] = kept_squares[j];
  }
}

INLINE void sums_of_slots(const crossed *c, size_t row, size_t at, size_t n, real *sum, real *squares) {
  if (sizeof(real) == sizeof(float) && n == 8)
    sums_of_n(c, row, at, 8, sum, squares);
  else
    sums_of_n(c, row, at, n, sum, squares);
}

INLINE void add_slopes(const crossed *c, const size_t n, const real *u, const real *restrict sum,
                       const real *restrict g, real *restrict grad) {
  for (size_t slot = 0; slot < c->slots; slot++, u += c->factors, grad += c->factors)
    for (size_t j = 0; j < n; j++) grad[j] += g[j] * (sum[j] - u[j]);
}

/* Adds the gradient of half the difference (sum^2 - squares) / 2 of n numbers, times g for each of them. */
INLINE void spread_gradient(const crossed *c, size_t row, size_t at, size_t n, const real *sum, const real *g) {
  const real *u = c->vectors->out + row * c->width + at;
  real *grad = c->vectors->grad + row * c->width + at;
  if (c->slots == 0) {
    for (size_t j = 0; j < n; j++) grad[j] += g[j] * sum[j];
    for (size_t j = 0; j < n; j++) grad[c->factors + j] -= (real)0.5 * g[j];
  } else if (sizeof(real) == sizeof(float) && n == 8) {
    add_slopes(c, 8, u, sum, g, grad);
  } else {
    add_slopes(c, n, u, sum, g, grad);
  }
}

/* ---- BiInnerSumCross: the sum of the inner products of all pairs of a row's vectors ----------------------------- */

/* Half of the difference between the square of the sum and the sum of the squares; likewise for BiInteractionCross. */
static void bi_inner_sum_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
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

static void bi_inner_sum_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
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

const layer_ops REAL_NAME(fw_bi_inner_sum_ops) = {.forward = bi_inner_sum_forward, .backward = bi_inner_sum_backward};

/* ---- BiInnerCross: these inner products, in the order (0,1), (0,2), … (1,2) … ----------------------------------- */

static void bi_inner_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  const fw_pairs *kernels = REAL_NAME(fw_pairs_table)();
  real *out = pass->tensors[self->index].out;
  for (size_t row = begin; row < end; row++)
    kernels->products(c.factors, c.slots, c.vectors->out + row * c.width, out + row * self->width);
}

static void bi_inner_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  const fw_pairs *kernels = REAL_NAME(fw_pairs_table)();
  const real *slope = pass->tensors[self->index].grad;
  for (size_t row = begin; row < end; row++)
    kernels->spread(c.factors, c.slots, c.vectors->out + row * c.width, slope + row * self->width,
                    c.vectors->grad + row * c.width);
}

const layer_ops REAL_NAME(fw_bi_inner_ops) = {.forward = bi_inner_forward, .backward = bi_inner_backward};

/* ---- BiInteractionCross: the sum of the elementwise products of all pairs: a vector ----------------------------- */

static void bi_interaction_forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  real sum[BLOCK], squares[BLOCK];
  for (size_t row = begin; row < end; row++)
    for (size_t at = 0; at < c.factors; at += BLOCK) {
      const size_t n = block_size(at, c.factors);
      real *out = pass->tensors[self->index].out + row * self->width + at;
      sums_of_slots(&c, row, at, n, sum, squares);
      for (size_t j = 0; j < n; j++) out[j] = (sum[j] * sum[j] - squares[j]) / 2;
    }
}

static void bi_interaction_backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const crossed c = crossed_by(net, self, pass);
  real sum[BLOCK], squares[BLOCK];
  for (size_t row = begin; row < end; row++)
    for (size_t at = 0; at < c.factors; at += BLOCK) {
      const size_t n = block_size(at, c.factors);
      sums_of_slots(&c, row, at, n, sum, squares);
      spread_gradient(&c, row, at, n, sum, pass->tensors[self->index].grad + row * self->width + at);
    }
}

const layer_ops REAL_NAME(fw_bi_interaction_ops) = {.forward = bi_interaction_forward,
                                                    .backward = bi_interaction_backward};
