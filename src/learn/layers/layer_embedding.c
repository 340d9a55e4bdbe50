/* learn/layers/layer_embedding.c: the vectors value * v of a row's features.
 *
 * Fixed slots: one vector for each slot; several features of a field are added. Free slots: the sum of all vectors u
 * and the sum of their squares. With their gradients s and q, that of v is the sum over uses of
 * value * s + 2 value^2 v * q. */
#include <string.h>

#include "learn/layers/vector_loops.h"

static void forward_free(const node *self, real_pass *pass, size_t begin, size_t end) {
  const fw_gather_rows gather = {.squares = pass->tensors[self->index].out + self->record_width};
  REAL_NAME(fw_sum_features)(self, pass, begin, end, gather);
}

INLINE void place_vectors(const size_t factors, const node *self, const real_pass *pass, size_t begin, size_t end) {
  const fw_minibatch *batch = pass->batch;
  real *out = pass->tensors[self->index].out;
  memset(out + begin * self->width, 0, (end - begin) * self->width * sizeof(real));
  for (uint32_t use = batch->offset[begin]; use < batch->offset[end]; use++) {
    const real *vector = pass->record[batch->feature[use]] + self->record_at;
    const size_t place = batch->place ? batch->place[use] : use;
    add_scaled(factors, batch->value ? (real)batch->value[use] : 1, vector, out + place * factors);
  }
}

static void forward_fixed(const node *self, real_pass *pass, size_t begin, size_t end) {
  switch (self->record_width) {
  case 8: place_vectors(8, self, pass, begin, end); break;
  case 16: place_vectors(16, self, pass, begin, end); break;
  default: place_vectors(self->record_width, self, pass, begin, end);
  }
}

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  if (self->layer->slots == 0)
    forward_free(self, pass, begin, end);
  else
    forward_fixed(self, pass, begin, end);
}

static void update_features(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  (void)net;
  const real *grad = pass->tensors[self->index].grad;
  fw_gather_uses gather = {.place = pass->batch->use_place, .from = grad, .stride = self->record_width};
  if (self->layer->slots == 0) {
    gather.place = pass->batch->use_row;
    gather.squares = grad + self->record_width;
    gather.stride = self->width;
  }
  REAL_NAME(fw_update_features)(self, pass, begin, end, gather);
}

const layer_ops REAL_NAME(fw_embedding_ops) = {.forward = forward, .update_features = update_features};
