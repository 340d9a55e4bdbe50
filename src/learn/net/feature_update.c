/* learn/net/feature_update.c: the update of numbers of features whose gradients are gathered from a layer's output. */
#include "learn/net/feature_sums.h"

typedef struct gather {
  const fw_batch *batch;
  const uint32_t *place; /* of each use; NULL: the use itself */
  const real *grad;
  size_t stride;
} gather;

INLINE void gather_block(const size_t n, const bool valued, const gather *g, size_t feature, size_t at, real *sum) {
  const fw_batch *batch = g->batch;
  real kept[BLOCK];
  clear_sums(n, kept);
  for (uint32_t i = batch->use_offset[feature]; i < batch->use_offset[feature + 1]; i++) {
    const uint32_t use = batch->use[i];
    const size_t place = g->place ? g->place[use] : use;
    add_scaled(n, valued, value_of(valued, batch, use), g->grad + place * g->stride + at, kept);
  }
  for (size_t j = 0; j < n; j++) sum[j] = kept[j];
}

INLINE void gather_any(const bool valued, const gather *g, size_t feature, size_t at, size_t n, real *sum) {
  switch (n) {
  case 1: gather_block(1, valued, g, feature, at, sum); break;
  case 8: gather_block(8, valued, g, feature, at, sum); break;
  case 16: gather_block(16, valued, g, feature, at, sum); break;
  case BLOCK: gather_block(BLOCK, valued, g, feature, at, sum); break;
  default: gather_block(n, valued, g, feature, at, sum);
  }
}

static void gather_sums(const gather *g, size_t feature, size_t at, size_t n, real *sum) {
  if (g->batch->value)
    gather_any(true, g, feature, at, n, sum);
  else
    gather_any(false, g, feature, at, n, sum);
}

void REAL_NAME(fw_update_features)(const node *self, real_pass *pass, size_t begin, size_t end, const uint32_t *place,
                                   size_t stride) {
  const gather g = {pass->batch, place, pass->tensors[self->index].grad, stride};
  const size_t width = self->record_width;
  optimizer_step o;
  REAL_NAME(fw_optimizer_step)(&o, &self->layer->optimizer, pass);
  for (size_t feature = begin; feature < end; feature++) {
    real *record = pass->record[feature] + self->record_at, sum[BLOCK];
    for (size_t at = 0; at < width; at += BLOCK) {
      const size_t n = block_size(at, width);
      real *w = record + at;
      gather_sums(&g, feature, at, n, sum);
      REAL_NAME(fw_optimize)(&o, n, w, w + width, w + 2 * width, sum);
    }
  }
}
