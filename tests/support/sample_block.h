/* tests/support/sample_block.h: blocks of made-up rows of any type, and the comparison of rows by their meaning. */
#ifndef SAMPLE_BLOCK_H
#define SAMPLE_BLOCK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "furrow/rows.h"
#include "rows/block/container.h"
#include "support/cmocka_all.h"

enum { SAMPLE_ROWS = 64, SAMPLE_FEATURES = 640, SAMPLE_SHIFT = 5 };

/* Room for a block. Its first offset is SAMPLE_SHIFT: a block need not start at the start of its arrays. */
typedef struct sample_block {
  uint64_t offset[SAMPLE_ROWS + 1];
  uint64_t label[SAMPLE_ROWS], qid[SAMPLE_ROWS];
  float weight[SAMPLE_ROWS];
  uint64_t field[SAMPLE_FEATURES], index[SAMPLE_FEATURES], value[SAMPLE_FEATURES];
} sample_block;

static inline void sample_set_index(void *array, furrow_key_type type, size_t i, uint64_t v) {
  if (type == FURROW_KEY_U32) ((uint32_t *)array)[i] = (uint32_t)v;
  if (type == FURROW_KEY_U64) ((uint64_t *)array)[i] = v;
}

static inline void sample_set_value(void *array, furrow_value_type type, size_t i, int64_t v) {
  if (type == FURROW_VALUE_F32) ((float *)array)[i] = (float)v;
  if (type == FURROW_VALUE_I32) ((int32_t *)array)[i] = (int32_t)v;
  if (type == FURROW_VALUE_I64) ((int64_t *)array)[i] = v;
}

static inline void sample_set_f32(void *array, size_t i, float v) {
  ((float *)array)[i] = v;
}

static inline uint64_t sample_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005U + 1442695040888963407U;
  return *seed >> 33;
}

/* Rows whose numbers fit all types. `columns` as for fw_container_reserve. */
static inline furrow_rowblock sample_make(sample_block *s, uint64_t seed, size_t rows, furrow_key_type key_type,
                                          furrow_value_type value_type, unsigned columns) {
  size_t at = SAMPLE_SHIFT;
  memset(s, 0x5a, sizeof *s);
  s->offset[0] = at;
  for (size_t i = 0; i < rows; i++) {
    sample_set_value(s->label, value_type, i, (int64_t)(sample_random(&seed) % 7) - 3);
    s->weight[i] = (float)(sample_random(&seed) % 16) / 4;
    s->qid[i] = sample_random(&seed) << 20;
    for (size_t n = sample_random(&seed) % 9; n > 0; n--, at++) {
      sample_set_index(s->field, key_type, at, sample_random(&seed) % 40);
      sample_set_index(s->index, key_type, at, sample_random(&seed) % 1000);
      sample_set_value(s->value, value_type, at, (int64_t)(sample_random(&seed) % 2001) - 1000);
    }
    s->offset[i + 1] = at;
  }
  return (furrow_rowblock){
      .size = rows,
      .offset = s->offset,
      .label.any = columns & FW_COLUMN_LABEL ? s->label : NULL,
      .weight = columns & FW_COLUMN_WEIGHT ? s->weight : NULL,
      .qid = columns & FW_COLUMN_QID ? s->qid : NULL,
      .field.any = columns & FW_COLUMN_FIELD ? s->field : NULL,
      .index.any = s->index,
      .value.any = columns & FW_COLUMN_VALUE ? s->value : NULL,
      .key_type = key_type,
      .value_type = value_type,
  };
}

/* The getters return the same for both rows; a NaN equals a NaN. */
static inline void assert_same_row(const furrow_row *a, const furrow_row *b) {
  double x = furrow_row_get_label(a), y = furrow_row_get_label(b);
  assert_true(x == y || (isnan(x) && isnan(y)));
  assert_int_equal(a->label.any != NULL, b->label.any != NULL);
  assert_true(furrow_row_get_weight(a) == furrow_row_get_weight(b));
  assert_true(furrow_row_get_qid(a) == furrow_row_get_qid(b));
  assert_int_equal(a->length, b->length);
  for (size_t i = 0; i < a->length; i++) {
    assert_true(furrow_row_get_field(a, i) == furrow_row_get_field(b, i));
    assert_true(furrow_row_get_index(a, i) == furrow_row_get_index(b, i));
    x = furrow_row_get_value(a, i);
    y = furrow_row_get_value(b, i);
    assert_true(x == y || (isnan(x) && isnan(y)));
  }
}

/* Rows a_begin … of a are the first `count` rows from b_begin on of b. */
static inline void assert_same_rows(const furrow_rowblock *a, size_t a_begin, const furrow_rowblock *b, size_t b_begin,
                                    size_t count) {
  assert_true(a_begin + count <= a->size && b_begin + count <= b->size);
  for (size_t i = 0; i < count; i++) {
    const furrow_row x = furrow_rowblock_row(a, a_begin + i), y = furrow_rowblock_row(b, b_begin + i);
    assert_same_row(&x, &y);
  }
}

static inline void assert_same_block(const furrow_rowblock *a, const furrow_rowblock *b) {
  assert_int_equal(a->size, b->size);
  assert_same_rows(a, 0, b, 0, a->size);
}

/* A loop over all combinations of types. */
#define FOR_ALL_TYPES(key_type, value_type)                                              \
  for (furrow_key_type key_type = FURROW_KEY_U32; furrow_key_size(key_type); key_type++) \
    for (furrow_value_type value_type = FURROW_VALUE_F32; furrow_value_size(value_type); value_type++)

#endif
