/* learn/layers/feature_sums.c: sums over the numbers of a row's features. */
#include "learn/layers/layer.h"

void REAL_NAME(fw_sum_features)(const node *self, const real_pass *pass, size_t begin, size_t end,
                                fw_gather_rows gather) {
  const fw_minibatch *batch = pass->batch;
  gather.n = self->record_width;
  gather.offset = batch->offset;
  gather.uses = batch->uses;
  gather.feature = batch->feature;
  gather.value = batch->value;
  gather.record = (void *const *)pass->record;
  gather.at = self->record_at;
  gather.out = pass->tensors[self->index].out;
  gather.stride = self->width;
  REAL_NAME(fw_gather_table)()->rows(&gather, begin, end);
}
