/* rows/block/elements.h: small helpers for rows and their elements. */
#ifndef FW_ROWS_BLOCK_ELEMENTS_H
#define FW_ROWS_BLOCK_ELEMENTS_H

#include "furrow/rows.h"

/* The largest of n indices or fields; 0 if n is 0. Uses four independent chains of comparisons for speed. */
static inline uint64_t fw_largest_u32(const uint32_t *a, size_t n) {
  uint32_t m[4] = {0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; k++) m[k] = a[i + k] > m[k] ? a[i + k] : m[k];
  }
  for (; i < n; i++) m[0] = a[i] > m[0] ? a[i] : m[0];
  for (size_t k = 1; k < 4; k++) m[0] = m[k] > m[0] ? m[k] : m[0];
  return m[0];
}

static inline uint64_t fw_largest_u64(const uint64_t *a, size_t n) {
  uint64_t m[2] = {0};
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    for (size_t k = 0; k < 2; k++) m[k] = a[i + k] > m[k] ? a[i + k] : m[k];
  }
  if (i < n) m[0] = a[i] > m[0] ? a[i] : m[0];
  return m[1] > m[0] ? m[1] : m[0];
}

static inline uint64_t fw_largest_index(const void *a, furrow_key_type type, size_t n) {
  return type == FURROW_KEY_U32 ? fw_largest_u32((const uint32_t *)a, n) : fw_largest_u64((const uint64_t *)a, n);
}

/* A row as a block of one row; `offset` gets its two offsets. */
static inline furrow_rowblock fw_row_block(const furrow_row *row, uint64_t *offset) {
  offset[0] = 0;
  offset[1] = row->length;
  return (furrow_rowblock){
      .size = 1,
      .offset = offset,
      .label = row->label,
      .weight = row->weight,
      .qid = row->qid,
      .field = row->field,
      .index = row->index,
      .value = row->value,
      .key_type = row->key_type,
      .value_type = row->value_type,
  };
}

/* Stores element i of a column of indices or fields; it must fit. */
static inline void fw_store_index(furrow_key_type type, void *column, size_t i, uint64_t index) {
  if (type == FURROW_KEY_U32)
    ((uint32_t *)column)[i] = (uint32_t)index;
  else
    ((uint64_t *)column)[i] = index;
}

#endif
