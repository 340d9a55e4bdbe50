/* learn/net/layer_embedding.c: the vectors value * v of a row's features.
 *
 * Fixed slots: one vector for each slot; several features of a field are added. Free slots: the sum of all vectors u
 * and the sum of their squares. With their gradients s and q, that of v is the sum over uses of
 * value * s + 2 value^2 v * q. */
#include <string.h>

#include "learn/net/feature_sums.h"

/* ---- Free slots ---- */

INLINE void sums_of_row(const size_t n, const bool valued, const node *self, const real_pass *pass, size_t row,
                        size_t at) {
  const fw_batch *batch = pass->batch;
  real sum[BLOCK], squares[BLOCK];
  clear_sums(n, sum);
  clear_sums(n, squares);
  for (uint32_t use = batch->offset[row]; use < batch->offset[row + 1]; use++) {
    const real *vector = pass->record[batch->feature[use]] + self->record_at + at;
    const real x = value_of(valued, batch, use);
    for (size_t j = 0; j < n; j++) {
      const real u = valued ? x * vector[j] : vector[j];
      sum[j] += u;
      squares[j] += u * u;
    }
  }
  const size_t factors = self->record_width;
  real *out = pass->tensors[self->index].out + row * self->width + at;
  for (size_t j = 0; j < n; j++) out[j] = sum[j];
  for (size_t j = 0; j < n; j++) out[factors + j] = squares[j];
}

INLINE void sums_of_rows(const size_t factors, const bool valued, const node *self, const real_pass *pass, size_t begin,
                         size_t end) {
  for (size_t row = begin; row < end; row++)
    for (size_t at = 0; at < factors; at += BLOCK) sums_of_row(block_size(at, factors), valued, self, pass, row, at);
}

INLINE void sums_of_width(const bool valued, const node *self, const real_pass *pass, size_t begin, size_t end) {
  switch (self->record_width) {
  case 8: sums_of_rows(8, valued, self, pass, begin, end); break;
  case 16: sums_of_rows(16, valued, self, pass, begin, end); break;
  default: sums_of_rows(self->record_width, valued, self, pass, begin, end);
  }
}

/* The gradient of n numbers v of a feature. */
INLINE void free_gradient(const size_t n, const bool valued, const node *self, const real_pass *pass, size_t feature,
                          size_t at, const real *v, real *gradient) {
  const fw_batch *batch = pass->batch;
  const real *grad = pass->tensors[self->index].grad + at;
  real sum[BLOCK], squares[BLOCK];
  clear_sums(n, sum);
  clear_sums(n, squares);
  for (uint32_t i = batch->use_offset[feature]; i < batch->use_offset[feature + 1]; i++) {
    const uint32_t use = batch->use[i];
    const real *s = grad + batch->row[use] * self->width, *q = s + self->record_width;
    const real x = value_of(valued, batch, use);
    add_scaled(n, valued, x, s, sum);
    add_scaled(n, valued, x * x, q, squares);
  }
  for (size_t j = 0; j < n; j++) gradient[j] = sum[j] + 2 * v[j] * squares[j];
}

INLINE void free_gradient_of_width(const bool valued, const node *self, const real_pass *pass, size_t feature,
                                   size_t at, size_t n, const real *v, real *gradient) {
  switch (n) {
  case 8: free_gradient(8, valued, self, pass, feature, at, v, gradient); break;
  case 16: free_gradient(16, valued, self, pass, feature, at, v, gradient); break;
  case BLOCK: free_gradient(BLOCK, valued, self, pass, feature, at, v, gradient); break;
  default: free_gradient(n, valued, self, pass, feature, at, v, gradient);
  }
}

static void update_free(const node *self, real_pass *pass, size_t begin, size_t end) {
  const size_t factors = self->record_width;
  const bool valued = pass->batch->value != NULL;
  optimizer_step o;
  REAL_NAME(fw_optimizer_step)(&o, &self->layer->optimizer, pass);
  for (size_t feature = begin; feature < end; feature++) {
    real *record = pass->record[feature] + self->record_at, gradient[BLOCK];
    for (size_t at = 0; at < factors; at += BLOCK) {
      const size_t n = block_size(at, factors);
      real *v = record + at;
      if (valued)
        free_gradient_of_width(true, self, pass, feature, at, n, v, gradient);
      else
        free_gradient_of_width(false, self, pass, feature, at, n, v, gradient);
      REAL_NAME(fw_optimize)(&o, n, v, v + factors, v + 2 * factors, gradient);
    }
  }
}

/* ---- Fixed slots ---- */

INLINE void place_rows(const size_t factors, const bool valued, const node *self, const real_pass *pass, size_t begin,
                       size_t end) {
  const fw_batch *batch = pass->batch;
  real *out = pass->tensors[self->index].out;
  memset(out + begin * self->width, 0, (end - begin) * self->width * sizeof(real));
  for (uint32_t use = batch->offset[begin]; use < batch->offset[end]; use++) {
    const real *vector = pass->record[batch->feature[use]] + self->record_at;
    const size_t place = batch->place ? batch->place[use] : use;
    add_scaled(factors, valued, value_of(valued, batch, use), vector, out + place * factors);
  }
}

INLINE void place_rows_of_width(const bool valued, const node *self, const real_pass *pass, size_t begin, size_t end) {
  switch (self->record_width) {
  case 8: place_rows(8, valued, self, pass, begin, end); break;
  case 16: place_rows(16, valued, self, pass, begin, end); break;
  default: place_rows(self->record_width, valued, self, pass, begin, end);
  }
}

/* ---- Both ---- */

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  const bool is_free = self->layer->slots == 0;
  if (pass->batch->value)
    is_free ? sums_of_width(true, self, pass, begin, end) : place_rows_of_width(true, self, pass, begin, end);
  else
    is_free ? sums_of_width(false, self, pass, begin, end) : place_rows_of_width(false, self, pass, begin, end);
}

static void update_features(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  if (self->layer->slots == 0)
    update_free(self, pass, begin, end);
  else
    REAL_NAME(fw_update_features)(self, pass, begin, end, pass->batch->place, self->record_width);
}

const layer_ops REAL_NAME(fw_embedding_ops) = {.forward = forward, .update_features = update_features};
