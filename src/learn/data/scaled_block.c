/* learn/data/scaled_block.c: rows in the units of a scaling. */
#include "learn/data/scaled_block.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

static furrow_status grow_floats(float **array, size_t *capacity, size_t count, furrow_error *err) {
  void *memory = *array;
  furrow_status status = fw_grow(&memory, capacity, count ? count : 1, sizeof **array, err);
  *array = memory;
  return status;
}

/* Features of a row ascend, so the next one often is the next of the list. */
static void scale_values(const fw_scaling *scaling, const furrow_rowblock *block, float *to) {
  size_t at = 0;
  for (uint64_t i = block->offset[0]; i < block->offset[block->size]; i++) {
    const uint64_t key = furrow_keys_get(block->index, block->key_type, i);
    const double x = block->value.any ? furrow_values_get(block->value, block->value_type, i) : 1.0;
    if (at >= scaling->count || scaling->key[at] != key)
      at = fw_lower_bound_u64(scaling->key, scaling->count, sizeof *scaling->key, key);
    const bool listed = at < scaling->count && scaling->key[at] == key;
    to[i] = (float)(listed ? (x - scaling->mean[at]) * scaling->factor[at] : x);
    at += listed;
  }
}

static void scale_labels(const fw_scaling *scaling, const furrow_rowblock *block, float *to) {
  for (size_t i = 0; i < block->size; i++) {
    const double label = furrow_values_get(block->label, block->value_type, i);
    to[i] = (float)(scaling->label_factor != 0 ? (label - scaling->label_mean) * scaling->label_factor : label);
  }
}

furrow_status fw_scaled_block_fill(fw_scaled_block *scaled, const fw_scaling *scaling, const furrow_rowblock *block,
                                   furrow_error *err) {
  scaled->block = *block;
  if (block->size == 0) return FURROW_OK;
  const bool values = block->value.any || scaling->count > 0;
  FW_TRY(grow_floats(&scaled->label, &scaled->label_capacity, block->size, err));
  if (values) FW_TRY(grow_floats(&scaled->value, &scaled->value_capacity, (size_t)block->offset[block->size], err));
  scaled->block.value_type = FURROW_VALUE_F32;
  if (block->label.any) {
    scale_labels(scaling, block, scaled->label);
    scaled->block.label.f32 = scaled->label;
  }
  if (values) {
    scale_values(scaling, block, scaled->value);
    scaled->block.value.f32 = scaled->value;
  }
  return FURROW_OK;
}

void fw_scaled_block_clear(fw_scaled_block *scaled) {
  fw_free(scaled->value);
  fw_free(scaled->label);
  *scaled = (fw_scaled_block){0};
}
