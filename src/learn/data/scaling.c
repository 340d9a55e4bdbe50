/* learn/data/scaling.c: a scaling, its inverse, and rows in its units. */
#include "learn/data/samples.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

static furrow_status take_arrays(fw_scaling *s, size_t count, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&s->key, count, err));
  FW_TRY(FW_ALLOC_ZERO(&s->mean, count, err));
  FW_TRY(FW_ALLOC(&s->factor, count, err));
  return FW_ALLOC(&s->slot, count, err);
}

furrow_status fw_scaling_init(fw_scaling *scaling, size_t count, furrow_error *err) {
  fw_scaling s = {.count = count};
  furrow_status status = take_arrays(&s, count, err);
  if (status == FURROW_OK) {
    for (size_t i = 0; i < count; i++) s.factor[i] = 1;
    for (size_t i = 0; i < count; i++) s.slot[i] = -1;
    *scaling = s;
  } else {
    fw_scaling_clear(&s);
  }
  return status;
}

void fw_scaling_clear(fw_scaling *s) {
  fw_free(s->key);
  fw_free(s->mean);
  fw_free(s->factor);
  fw_free(s->slot);
  *s = (fw_scaling){0};
}

furrow_status fw_scaling_invert(fw_scaling *inverse, const fw_scaling *s, furrow_error *err) {
  FW_TRY(fw_scaling_init(inverse, s->count, err));
  for (size_t i = 0; i < s->count; i++) {
    inverse->key[i] = s->key[i];
    inverse->mean[i] = -s->mean[i] * s->factor[i];
    inverse->factor[i] = 1 / s->factor[i];
    inverse->slot[i] = s->slot[i];
  }
  if (s->label_factor != 0) {
    inverse->label_mean = -s->label_mean * s->label_factor;
    inverse->label_factor = 1 / s->label_factor;
  }
  return FURROW_OK;
}

/* ---- Values and labels ---- */

static furrow_status grow_floats(float **array, size_t *capacity, size_t count, furrow_error *err) {
  return FW_GROW(array, capacity, count ? count : 1, err);
}

/* Whether the scaling lists a feature, at index *at. Features of a row ascend, so the next one is often the next
 * entry. */
static inline bool is_listed(const fw_scaling *scaling, uint64_t key, size_t *at) {
  if (*at >= scaling->count || scaling->key[*at] != key)
    *at = fw_lower_bound_u64(scaling->key, scaling->count, sizeof *scaling->key, key);
  return *at < scaling->count && scaling->key[*at] == key;
}

static void scale_values(const fw_scaling *scaling, const furrow_rowblock *block, float *to) {
  size_t at = 0;
  for (uint64_t i = block->offset[0]; i < block->offset[block->size]; i++) {
    const uint64_t key = furrow_keys_get(block->index, block->key_type, i);
    const double x = block->value.any ? furrow_values_get(block->value, block->value_type, i) : 1.0;
    const bool listed = is_listed(scaling, key, &at);
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

/* ---- Features that rows do not list ---- */

static bool lists(const furrow_row *row, uint64_t key) {
  for (size_t i = 0; i < row->length; i++)
    if (furrow_row_get_index(row, i) == key) return true;
  return false;
}

/* How many of the row's features have a mean. */
static size_t count_centred(const fw_scaling *scaling, const furrow_row *row) {
  size_t at = 0, count = 0;
  for (size_t i = 0; i < row->length; i++) {
    const bool listed = is_listed(scaling, furrow_row_get_index(row, i), &at);
    count += listed && scaling->mean[at] != 0;
    at += listed;
  }
  return count;
}

/* Counts features with a mean that the row does not list. `centred` features have a mean; most rows list all of
 * them. */
static size_t count_missing(const fw_scaling *scaling, size_t centred, const furrow_row *row) {
  size_t missing = 0;
  if (count_centred(scaling, row) == centred) return 0;
  for (size_t k = 0; k < scaling->count; k++) missing += scaling->mean[k] != 0 && !lists(row, scaling->key[k]);
  return missing;
}

static size_t count_all_missing(const fw_scaling *scaling, const furrow_rowblock *block) {
  size_t missing = 0, centred = 0;
  for (size_t k = 0; k < scaling->count; k++) centred += scaling->mean[k] != 0;
  for (size_t i = 0; centred > 0 && i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    missing += count_missing(scaling, centred, &row);
  }
  return missing;
}

static void put_key(void *keys, furrow_key_type type, size_t i, uint64_t key) {
  if (type == FURROW_KEY_U64)
    ((uint64_t *)keys)[i] = key;
  else
    ((uint32_t *)keys)[i] = (uint32_t)key;
}

/* Expands one row, from `at` on; returns the begin of the next row. */
static size_t expand_row(fw_scaled_block *s, const fw_scaling *scaling, const furrow_row *row, const float *values,
                         float *to, size_t at) {
  for (size_t i = 0; i < row->length; i++, at++) {
    put_key(s->index, row->key_type, at, furrow_row_get_index(row, i));
    if (row->field.any) put_key(s->field, row->key_type, at, furrow_row_get_field(row, i));
    to[at] = values[i];
  }
  for (size_t k = 0; k < scaling->count; k++) {
    if (scaling->mean[k] == 0 || lists(row, scaling->key[k])) continue;
    put_key(s->index, row->key_type, at, scaling->key[k]);
    if (row->field.any) put_key(s->field, row->key_type, at, 0);
    to[at++] = (float)(-scaling->mean[k] * scaling->factor[k]);
  }
  return at;
}

/* s->value has the values of the rows as they are listed. */
static furrow_status add_missing(fw_scaled_block *s, const fw_scaling *scaling, const furrow_rowblock *block,
                                 size_t missing, furrow_error *err) {
  const size_t total = (size_t)(block->offset[block->size] - block->offset[0]) + missing;
  const size_t key = sizeof(uint64_t); /* of any type */
  float *expanded = NULL;
  FW_TRY(FW_GROW(&s->offset, &s->offset_capacity, block->size + 1, err));
  FW_TRY(fw_grow(&s->index, &s->index_capacity, total, key, err));
  if (block->field.any) FW_TRY(fw_grow(&s->field, &s->field_capacity, total, key, err));
  FW_TRY(FW_ALLOC(&expanded, total, err));
  size_t at = 0;
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    s->offset[i] = at;
    at = expand_row(s, scaling, &row, s->value + block->offset[i], expanded, at);
  }
  s->offset[block->size] = at;
  fw_free(s->value);
  s->value = expanded;
  s->value_capacity = total;
  s->block.offset = s->offset;
  s->block.index.any = s->index;
  if (block->field.any) s->block.field.any = s->field;
  return FURROW_OK;
}

/* ---- Blocks ---- */

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
    const size_t missing = count_all_missing(scaling, block);
    if (missing > 0) FW_TRY(add_missing(scaled, scaling, block, missing, err));
    scaled->block.value.f32 = scaled->value;
  }
  return FURROW_OK;
}

void fw_scaled_block_clear(fw_scaled_block *scaled) {
  fw_free(scaled->value);
  fw_free(scaled->label);
  fw_free(scaled->offset);
  fw_free(scaled->index);
  fw_free(scaled->field);
  *scaled = (fw_scaled_block){0};
}
