/* learn/layers/feature_update.c: the update of numbers of features. */
#include "learn/layers/layer.h"

/* Sums that are made before the optimizer takes them. */
#define SUMS 1024

/* As many features at once as there is room for. */
static void update_narrow(const optimizer_step *o, const fw_gather_uses *gather, size_t begin, size_t end) {
  const fw_gather *kernels = REAL_NAME(fw_gather_table)();
  const size_t at_once = SUMS / gather->n;
  real sums[SUMS];
  for (size_t first = begin; first < end; first += at_once) {
    const size_t count = end - first < at_once ? end - first : at_once;
    kernels->uses(gather, first, first + count, sums);
    o->kernel->records(&o->rule, gather->n, count, gather->record + first, gather->at, sums);
  }
}

/* Feature by feature, some of its numbers at once. */
static void update_wide(const optimizer_step *o, const fw_gather_uses *gather, size_t begin, size_t end) {
  const fw_gather *kernels = REAL_NAME(fw_gather_table)();
  const size_t width = gather->n;
  real sums[SUMS];
  for (size_t feature = begin; feature < end; feature++)
    for (size_t at = 0; at < width; at += SUMS) {
      fw_gather_uses part = *gather;
      part.n = width - at < SUMS ? width - at : SUMS;
      part.from = (const real *)gather->from + at;
      if (gather->squares) part.squares = (const real *)gather->squares + at;
      part.at += at;
      kernels->uses(&part, feature, feature + 1, sums);
      real *w = (real *)part.record[feature] + part.at;
      o->kernel->array(&o->rule, part.n, w, w + width, w + 2 * width, sums);
    }
}

void REAL_NAME(fw_update_summed)(const node *self, const real_pass *pass, size_t begin, size_t end) {
  const size_t features = pass->batch->features;
  optimizer_step o;
  real sums[SUMS];
  REAL_NAME(fw_optimizer_step)(&o, &self->layer->optimizer, pass);
  for (size_t first = begin; first < end; first += SUMS) {
    const size_t count = end - first < SUMS ? end - first : SUMS;
    for (size_t i = 0; i < count; i++) sums[i] = pass->sums[first + i];
    for (size_t part = 1; part < pass->sum_parts; part++)
      for (size_t i = 0; i < count; i++) sums[i] += pass->sums[part * features + first + i];
    o.kernel->records(&o.rule, 1, count, (void *const *)pass->record + first, self->record_at, sums);
  }
}

void REAL_NAME(fw_update_features)(const node *self, const real_pass *pass, size_t begin, size_t end,
                                   fw_gather_uses gather) {
  const fw_minibatch *batch = pass->batch;
  optimizer_step o;
  REAL_NAME(fw_optimizer_step)(&o, &self->layer->optimizer, pass);
  gather.n = self->record_width;
  gather.offset = batch->use_offset;
  gather.use = batch->use;
  gather.value = batch->value;
  gather.record = (void *const *)pass->record;
  gather.at = self->record_at;
  if (gather.n <= SUMS)
    update_narrow(&o, &gather, begin, end);
  else
    update_wide(&o, &gather, begin, end);
}
