/* rows/block/container.c: a growing block of rows that owns its columns. */
#include "rows/block/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/block/elements.h"

/* Bytes after the capacity of every column: a parser may store a vector register past its end. */
enum { COLUMN_SLACK = 64, FIRST_CAPACITY = 16 };

/* ---- Elements ------------------------------------------------------------------------------------------- */

/* The element types of columns: index types and value types in one list. */
typedef enum element { ELEMENT_U32, ELEMENT_U64, ELEMENT_F32, ELEMENT_I32, ELEMENT_I64 } element;

static element element_of_index(furrow_key_type type) {
  return type == FURROW_KEY_U32 ? ELEMENT_U32 : ELEMENT_U64;
}

static element element_of_value(furrow_value_type type) {
  if (type == FURROW_VALUE_F32) return ELEMENT_F32;
  return type == FURROW_VALUE_I32 ? ELEMENT_I32 : ELEMENT_I64;
}

static size_t element_size(element kind) {
  return kind == ELEMENT_U64 || kind == ELEMENT_I64 ? 8 : 4;
}

static const char *element_name(element kind) {
  static const char *const names[] = {"u32", "u64", "f32", "i32", "i64"};
  return names[kind];
}

/* Writes element i as text, for messages. */
static void element_text(char *text, size_t size, const void *from, element kind, size_t i) {
  switch (kind) {
  case ELEMENT_U32: snprintf(text, size, "%" PRIu32, ((const uint32_t *)from)[i]); break;
  case ELEMENT_U64: snprintf(text, size, "%" PRIu64, ((const uint64_t *)from)[i]); break;
  case ELEMENT_F32: snprintf(text, size, "%.9g", (double)((const float *)from)[i]); break;
  case ELEMENT_I32: snprintf(text, size, "%" PRId32, ((const int32_t *)from)[i]); break;
  case ELEMENT_I64: snprintf(text, size, "%" PRId64, ((const int64_t *)from)[i]); break;
  }
}

/* Stores v as element i; returns false if the type cannot hold it exactly. */
static inline bool store_integer(void *to, element kind, size_t i, int64_t v) {
  if (kind == ELEMENT_I64) {
    ((int64_t *)to)[i] = v;
    return true;
  }
  if (kind == ELEMENT_I32) {
    ((int32_t *)to)[i] = (int32_t)v;
    return v >= INT32_MIN && v <= INT32_MAX;
  }
  float f = (float)v;
  ((float *)to)[i] = f;
  return f < 0x1p63F && (int64_t)f == v; /* INT64_MAX rounds to 2^63, which is not an int64_t */
}

static inline bool store_float(void *to, element kind, size_t i, float f) {
  if (!(f >= -0x1p63F && f < 0x1p63F)) return false;
  int64_t v = (int64_t)f;
  return (float)v == f && store_integer(to, kind, i, v);
}

/* Converts n elements from one index type to another or from one value type to another. Returns the number of
 * elements before the first that does not fit: n if all fit. */
static size_t convert_elements(void *to, element to_kind, const void *from, element from_kind, size_t n) {
  size_t i = 0;
  if (to_kind == from_kind) {
    memcpy(to, from, n * element_size(to_kind));
    return n;
  }
  switch (from_kind) {
  case ELEMENT_U32:
    for (; i < n; i++) ((uint64_t *)to)[i] = ((const uint32_t *)from)[i];
    break;
  case ELEMENT_U64:
    for (; i < n && ((const uint64_t *)from)[i] <= UINT32_MAX; i++) {
      ((uint32_t *)to)[i] = (uint32_t)((const uint64_t *)from)[i];
    }
    break;
  case ELEMENT_F32:
    while (i < n && store_float(to, to_kind, i, ((const float *)from)[i])) i++;
    break;
  case ELEMENT_I32:
    while (i < n && store_integer(to, to_kind, i, ((const int32_t *)from)[i])) i++;
    break;
  case ELEMENT_I64:
    while (i < n && store_integer(to, to_kind, i, ((const int64_t *)from)[i])) i++;
    break;
  }
  return i;
}

/* Sets n elements to 0 or 1. */
static void fill_elements(void *to, element kind, size_t n, bool one) {
  if (!one) {
    memset(to, 0, n * element_size(kind));
  } else if (kind == ELEMENT_F32) {
    for (size_t i = 0; i < n; i++) ((float *)to)[i] = 1.0F;
  } else if (element_size(kind) == 4) {
    for (size_t i = 0; i < n; i++) ((uint32_t *)to)[i] = 1;
  } else {
    for (size_t i = 0; i < n; i++) ((uint64_t *)to)[i] = 1;
  }
}

/* ---- Life ----------------------------------------------------------------------------------------------- */

furrow_status furrow_container_create(furrow_container **container, furrow_key_type key_type,
                                      furrow_value_type value_type, furrow_error *err) {
  if (!furrow_key_size(key_type)) return fw_fail(err, FURROW_E_ARGUMENT, "no such index type: %d", (int)key_type);
  if (!furrow_value_size(value_type)) return fw_fail(err, FURROW_E_ARGUMENT, "no such value type: %d", (int)value_type);
  furrow_container *c;
  FW_TRY(FW_ALLOC_ZERO(&c, 1, err));
  c->key_type = key_type;
  c->value_type = value_type;
  *container = c;
  return FURROW_OK;
}

void furrow_container_free(furrow_container *container) {
  if (!container) return;
  fw_free(container->offset);
  fw_free(container->label);
  fw_free(container->weight);
  fw_free(container->qid);
  fw_free(container->field);
  fw_free(container->index);
  fw_free(container->value);
  fw_free(container);
}

void furrow_container_clear(furrow_container *container) {
  container->rows = container->features = 0;
  container->has_label = container->has_weight = container->has_qid = false;
  container->has_field = container->has_value = false;
  container->max_field = container->max_index = 0;
}

/* ---- Capacity ------------------------------------------------------------------------------------------- */

/* The new capacity for `wanted` elements: grows by at least half. */
static size_t next_capacity(size_t capacity, size_t wanted) {
  if (wanted <= capacity && capacity) return capacity;
  size_t grown = capacity + capacity / 2;
  if (grown < FIRST_CAPACITY) grown = FIRST_CAPACITY;
  return grown < wanted ? wanted : grown;
}

/* Enlarges *column to `capacity` elements if it is allocated and `grown`, or allocates it if it is not and is
 * `wanted`. */
static furrow_status column_capacity(void **column, bool wanted, bool grown, size_t capacity, size_t size,
                                     furrow_error *err) {
  if (*column ? !grown : !wanted) return FURROW_OK;
  size_t bytes;
  if (!fw_size_mul(capacity, size, &bytes) || !fw_size_add(bytes, COLUMN_SLACK, &bytes)) {
    return fw_fail_memory(err, SIZE_MAX);
  }
  FW_TRY(fw_realloc(column, bytes, 1, err));
  fw_prefer_large_pages(*column, bytes); /* the first write to a page costs more than the data written to it */
  return FURROW_OK;
}

static furrow_status reserve_rows(furrow_container *c, size_t capacity, unsigned columns, furrow_error *err) {
  bool grown = capacity > c->row_capacity;
  size_t offsets;
  if (!fw_size_add(capacity, 1, &offsets)) return fw_fail_memory(err, SIZE_MAX);
  void *offset = c->offset, *weight = c->weight, *qid = c->qid;
  furrow_status status = column_capacity(&offset, true, grown, offsets, sizeof *c->offset, err);
  if (!c->offset && offset) *(uint64_t *)offset = 0;
  c->offset = offset;
  if (status == FURROW_OK) {
    size_t size = furrow_value_size(c->value_type);
    status = column_capacity(&c->label, columns & FW_COLUMN_LABEL, grown, capacity, size, err);
  }
  if (status == FURROW_OK) {
    status = column_capacity(&weight, columns & FW_COLUMN_WEIGHT, grown, capacity, sizeof *c->weight, err);
    c->weight = weight;
  }
  if (status == FURROW_OK) {
    status = column_capacity(&qid, columns & FW_COLUMN_QID, grown, capacity, sizeof *c->qid, err);
    c->qid = qid;
  }
  if (status == FURROW_OK) c->row_capacity = capacity;
  return status;
}

static furrow_status reserve_features(furrow_container *c, size_t capacity, unsigned columns, furrow_error *err) {
  bool grown = capacity > c->feature_capacity;
  size_t index_size = furrow_key_size(c->key_type), value_size = furrow_value_size(c->value_type);
  furrow_status status = column_capacity(&c->index, true, grown, capacity, index_size, err);
  if (status == FURROW_OK) {
    status = column_capacity(&c->field, columns & FW_COLUMN_FIELD, grown, capacity, index_size, err);
  }
  if (status == FURROW_OK) {
    status = column_capacity(&c->value, columns & FW_COLUMN_VALUE, grown, capacity, value_size, err);
  }
  if (status == FURROW_OK) c->feature_capacity = capacity;
  return status;
}

/* After a failure some columns may be larger than the capacity says, which does no harm. */
furrow_status fw_container_reserve(furrow_container *container, size_t rows, size_t features, unsigned columns,
                                   furrow_error *err) {
  FW_TRY(reserve_rows(container, next_capacity(container->row_capacity, rows), columns, err));
  return reserve_features(container, next_capacity(container->feature_capacity, features), columns, err);
}

/* ---- Push ----------------------------------------------------------------------------------------------- */

/* One column of a push: destination and source. */
typedef struct column_push {
  const char *name;
  void *to;
  const void *from; /* NULL: the default, 0 or 1 */
  element to_kind, from_kind;
  bool shown;       /* the container has the column; if not, its earlier elements get the default */
  bool one;         /* the default is 1, not 0 */
  bool of_features; /* one element per feature, not per row */
} column_push;

/* Writes after the first `before` elements, which the container shows; the new elements stay invisible until the
 * counts and flags change. Returns the number of elements that fitted: `count` if all did. */
static size_t push_column(const column_push *column, size_t before, size_t count) {
  size_t size = element_size(column->to_kind);
  if (!column->shown) fill_elements(column->to, column->to_kind, before, column->one);
  char *end = (char *)column->to + before * size;
  if (!column->from) {
    fill_elements(end, column->to_kind, count, column->one);
    return count;
  }
  return convert_elements(end, column->to_kind, column->from, column->from_kind, count);
}

/* Fails with E_RANGE for element i of the block. */
static furrow_status fail_misfit(const column_push *column, const furrow_rowblock *block, size_t i, furrow_error *err) {
  char text[32];
  size_t row = i;
  if (column->of_features) {
    row = 0;
    while (block->offset[row + 1] - block->offset[0] <= i) row++;
  }
  element_text(text, sizeof text, column->from, column->from_kind, i);
  return fw_fail(err, FURROW_E_RANGE, "%s %s of row %zu does not fit type %s", column->name, text, row,
                 element_name(column->to_kind));
}

/* Shifts the offsets by the features that the container has; returns false if the offsets descend. */
static bool push_offsets(furrow_container *c, const furrow_rowblock *block) {
  uint64_t *to = c->offset + c->rows;
  const uint64_t *from = block->offset;
  uint64_t shift = c->features - from[0]; /* may wrap around; the sums are correct all the same */
  bool descends = false;
  for (size_t i = 1; i <= block->size; i++) {
    descends |= from[i] < from[i - 1];
    to[i] = from[i] + shift;
  }
  return !descends;
}

static const void *element_at(const void *array, element kind, uint64_t i) {
  return array ? (const char *)array + i * element_size(kind) : NULL;
}

/* The columns that the container has after the push. */
static unsigned columns_after(const furrow_container *c, const furrow_rowblock *block, size_t features) {
  unsigned columns = 0;
  if (block->label.any) columns |= FW_COLUMN_LABEL;
  if (c->has_weight || block->weight) columns |= FW_COLUMN_WEIGHT;
  if (c->has_qid || block->qid) columns |= FW_COLUMN_QID;
  if (c->has_field || (block->field.any && features)) columns |= FW_COLUMN_FIELD;
  if (c->has_value || (block->value.any && features)) columns |= FW_COLUMN_VALUE;
  return columns;
}

static furrow_status push_columns(furrow_container *c, const furrow_rowblock *block, size_t features, unsigned columns,
                                  furrow_error *err) {
  element index = element_of_index(c->key_type), value = element_of_value(c->value_type);
  element from_index = element_of_index(block->key_type), from_value = element_of_value(block->value_type);
  uint64_t first = block->offset[0];
  const void *field = element_at(block->field.any, from_index, first);
  const void *from = element_at(block->value.any, from_value, first);
  const struct {
    unsigned column; /* 0: always present */
    column_push push;
  } all[] = {
      {FW_COLUMN_LABEL, {"label", c->label, block->label.any, value, from_value, c->has_label, false, false}},
      {FW_COLUMN_WEIGHT, {"weight", c->weight, block->weight, ELEMENT_F32, ELEMENT_F32, c->has_weight, true, false}},
      {FW_COLUMN_QID, {"qid", c->qid, block->qid, ELEMENT_U64, ELEMENT_U64, c->has_qid, false, false}},
      {FW_COLUMN_FIELD, {"field", c->field, field, index, from_index, c->has_field, false, true}},
      {0, {"index", c->index, element_at(block->index.any, from_index, first), index, from_index, true, false, true}},
      {FW_COLUMN_VALUE, {"value", c->value, from, value, from_value, c->has_value, true, true}},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    const column_push *push = &all[i].push;
    if (all[i].column && !(columns & all[i].column)) continue;
    size_t count = push->of_features ? features : block->size;
    size_t fitted = push_column(push, push->of_features ? c->features : c->rows, count);
    if (fitted < count) return fail_misfit(push, block, fitted, err);
  }
  return FURROW_OK;
}

/* Makes the pushed rows visible. */
static void commit_push(furrow_container *c, size_t rows, size_t features, unsigned columns) {
  size_t first = c->features * furrow_key_size(c->key_type), added = features - c->features;
  uint64_t largest = fw_largest_index((char *)c->index + first, c->key_type, added);
  if (largest > c->max_index) c->max_index = largest;
  if (columns & FW_COLUMN_FIELD) {
    largest = fw_largest_index((char *)c->field + first, c->key_type, added);
    if (largest > c->max_field) c->max_field = largest;
  }
  c->has_label = columns & FW_COLUMN_LABEL;
  c->has_weight = columns & FW_COLUMN_WEIGHT;
  c->has_qid = columns & FW_COLUMN_QID;
  c->has_field = columns & FW_COLUMN_FIELD;
  c->has_value = columns & FW_COLUMN_VALUE;
  c->rows = rows;
  c->features = features;
}

static furrow_status check_push(const furrow_container *c, const furrow_rowblock *block, furrow_error *err) {
  if (!furrow_key_size(block->key_type) || !furrow_value_size(block->value_type)) {
    return fw_fail(err, FURROW_E_ARGUMENT, "the block has no valid element types");
  }
  if (block->offset[block->size] < block->offset[0]) {
    return fw_fail(err, FURROW_E_ARGUMENT, "the offsets of the block descend");
  }
  if (block->offset[block->size] > block->offset[0] && !block->index.any) {
    return fw_fail(err, FURROW_E_ARGUMENT, "the block has features but no indices");
  }
  uintptr_t own = (uintptr_t)c->offset, theirs = (uintptr_t)block->offset;
  if (own && theirs >= own && theirs <= (uintptr_t)(c->offset + c->rows)) {
    return fw_fail(err, FURROW_E_ARGUMENT, "the block borrows from the container it is pushed to");
  }
  if (c->rows && c->has_label != (block->label.any != NULL)) {
    return fw_fail(err, FURROW_E_STATE, "rows %s a label pushed to a container of rows %s",
                   c->has_label ? "without" : "with", c->has_label ? "that have one" : "without");
  }
  return FURROW_OK;
}

furrow_status furrow_container_push_block(furrow_container *container, const furrow_rowblock *block,
                                          furrow_error *err) {
  if (block->size == 0) return FURROW_OK;
  furrow_status status = check_push(container, block, err);
  if (status != FURROW_OK) return status;
  size_t added = block->offset[block->size] - block->offset[0], rows, features;
  if (!fw_size_add(container->rows, block->size, &rows) || !fw_size_add(container->features, added, &features)) {
    return fw_fail_memory(err, SIZE_MAX);
  }
  unsigned columns = columns_after(container, block, added);
  status = fw_container_reserve(container, rows, features, columns, err);
  if (status != FURROW_OK) return status;
  if (!push_offsets(container, block)) return fw_fail(err, FURROW_E_ARGUMENT, "the offsets of the block descend");
  status = push_columns(container, block, added, columns, err);
  if (status == FURROW_OK) commit_push(container, rows, features, columns);
  return status;
}

furrow_status furrow_container_push_row(furrow_container *container, const furrow_row *row, furrow_error *err) {
  uint64_t offset[2];
  const furrow_rowblock block = fw_row_block(row, offset);
  return furrow_container_push_block(container, &block, err);
}

/* ---- View ----------------------------------------------------------------------------------------------- */

furrow_rowblock fw_container_block(const furrow_container *container) {
  static const uint64_t no_rows[1] = {0};
  const furrow_container *c = container;
  return (furrow_rowblock){
      .size = c->rows,
      .offset = c->offset ? c->offset : no_rows,
      .label.any = c->has_label ? c->label : NULL,
      .weight = c->has_weight ? c->weight : NULL,
      .qid = c->has_qid ? c->qid : NULL,
      .field.any = c->has_field ? c->field : NULL,
      .index.any = c->index,
      .value.any = c->has_value ? c->value : NULL,
      .key_type = c->key_type,
      .value_type = c->value_type,
  };
}

furrow_status furrow_container_get_block(const furrow_container *container, furrow_rowblock *block, furrow_error *err) {
  const furrow_container *c = container;
  if (c->rows && (!c->offset || c->offset[0] != 0 || c->offset[c->rows] != c->features)) {
    return fw_fail(err, FURROW_E_STATE, "the last offset is not the number of features");
  }
  if ((c->features && !c->index) || (c->has_label && !c->label) || (c->has_weight && !c->weight) ||
      (c->has_qid && !c->qid) || (c->has_field && !c->field) || (c->has_value && !c->value)) {
    return fw_fail(err, FURROW_E_STATE, "a column of the container is missing");
  }
  *block = fw_container_block(c);
  return FURROW_OK;
}

size_t furrow_container_size(const furrow_container *container) {
  return container->rows;
}

uint64_t furrow_container_max_field(const furrow_container *container) {
  return container->max_field;
}

uint64_t furrow_container_max_index(const furrow_container *container) {
  return container->max_index;
}

size_t furrow_container_memory_cost(const furrow_container *container) {
  const furrow_rowblock block = fw_container_block(container);
  return sizeof *block.offset + furrow_rowblock_memory_cost(&block);
}
