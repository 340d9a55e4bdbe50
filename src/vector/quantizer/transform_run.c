/* vector/quantizer/transform_run.c: many vectors through transforms, in parts. */
#include "vector/quantizer/transform_run.h"

#include <string.h>

#include "base/mem.h"
#include "vector/index/parallel.h"
#include "vector/quantizer/transform_apply.h"

#define PART 256

typedef struct moving {
  const fw_transforms *transforms;
  const float *vectors;
  size_t d_in, d_out;
  float *moved;
} moving;

static furrow_status move_part(void *context, size_t first, size_t count, furrow_error *err) {
  const moving *m = context;
  void *scratch = NULL;
  furrow_status status =
      fw_alloc(&scratch, 2 * count + 1, (fw_transforms_width(m->transforms) + 1) * sizeof(float), err);
  if (status != FURROW_OK) return status;
  const float *out = fw_transforms_apply(m->transforms, m->vectors + first * m->d_in, count, scratch);
  memcpy(m->moved + first * m->d_out, out, count * m->d_out * sizeof *out);
  fw_free(scratch);
  return FURROW_OK;
}

furrow_status fw_transforms_run(const fw_transforms *transforms, const float *vectors, size_t n, size_t d_in,
                                size_t d_out, fw_pool *pool, float **moved, furrow_error *err) {
  moving m = {.transforms = transforms, .vectors = vectors, .d_in = d_in, .d_out = d_out};
  void *memory = NULL;
  furrow_status status = fw_transforms_check(transforms, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, n, d_out * sizeof(float), err);
  if (status != FURROW_OK) return status;
  m.moved = memory;
  status = fw_parallel_run(pool, n, PART, move_part, &m, err);
  if (status == FURROW_OK)
    *moved = memory;
  else
    fw_free(memory);
  return status;
}
