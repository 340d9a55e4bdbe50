/* rows/block/rowblock.c: rows and slices of a block, products of a row, element types. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "furrow/rows.h"

/* Returns the array from element i on; the array may be absent. */
static furrow_keys indices_from(furrow_keys a, furrow_key_type type, uint64_t i) {
  if (a.any) a.any = (const char *)a.any + i * furrow_key_size(type);
  return a;
}

static furrow_values values_from(furrow_values a, furrow_value_type type, uint64_t i) {
  if (a.any) a.any = (const char *)a.any + i * furrow_value_size(type);
  return a;
}

furrow_row furrow_rowblock_row(const furrow_rowblock *block, size_t i) {
  assert(i < block->size);
  uint64_t begin = block->offset[i];
  return (furrow_row){
      .label = values_from(block->label, block->value_type, i),
      .weight = block->weight ? block->weight + i : NULL,
      .qid = block->qid ? block->qid + i : NULL,
      .length = block->offset[i + 1] - begin,
      .field = indices_from(block->field, block->key_type, begin),
      .index = indices_from(block->index, block->key_type, begin),
      .value = values_from(block->value, block->value_type, begin),
      .key_type = block->key_type,
      .value_type = block->value_type,
  };
}

furrow_status furrow_rowblock_slice(const furrow_rowblock *block, size_t begin, size_t end, furrow_rowblock *slice,
                                    furrow_error *err) {
  if (begin > end || end > block->size) {
    return fw_fail(err, FURROW_E_ARGUMENT, "rows %zu to %zu are not a slice of a block of %zu rows", begin, end,
                   block->size);
  }
  furrow_rowblock part = *block;
  part.size = end - begin;
  if (part.offset) part.offset += begin;
  part.label = values_from(block->label, block->value_type, begin);
  if (part.weight) part.weight += begin;
  if (part.qid) part.qid += begin;
  *slice = part;
  return FURROW_OK;
}

size_t furrow_rowblock_memory_cost(const furrow_rowblock *block) {
  if (block->size == 0) return 0;
  size_t per_row = sizeof *block->offset, per_feature = furrow_key_size(block->key_type);
  if (block->label.any) per_row += furrow_value_size(block->value_type);
  if (block->weight) per_row += sizeof *block->weight;
  if (block->qid) per_row += sizeof *block->qid;
  if (block->field.any) per_feature += furrow_key_size(block->key_type);
  if (block->value.any) per_feature += furrow_value_size(block->value_type);
  return block->size * per_row + (block->offset[block->size] - block->offset[0]) * per_feature;
}

/* ---- Products of a row with a vector of weights ---------------------------------------------------------- */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A value type for rows without values. */
enum { ALL_ONES = -1 };

ALWAYS_INLINE float value_f32(const furrow_row *row, int value_type, size_t i) {
  if (value_type == FURROW_VALUE_F32) return row->value.f32[i];
  if (value_type == FURROW_VALUE_I32) return (float)row->value.i32[i];
  if (value_type == FURROW_VALUE_I64) return (float)row->value.i64[i];
  return 1.0F;
}

ALWAYS_INLINE double value_f64(const furrow_row *row, int value_type, size_t i) {
  return value_type == ALL_ONES ? 1.0 : furrow_values_get(row->value, (furrow_value_type)value_type, i);
}

/* Adds up the features until one whose index is not below n; returns its position, or row->length. `wide`, key_type
 * and value_type are constants at every call, so one loop per combination is compiled. */
ALWAYS_INLINE size_t dot_loop(const furrow_row *row, const void *weights, bool wide, size_t n, furrow_key_type key_type,
                              int value_type, double *dot) {
  const float *w32 = weights;
  const double *w64 = weights;
  float sum32 = 0;
  double sum64 = 0;
  size_t i = 0;
  for (; i < row->length; i++) {
    uint64_t index = furrow_keys_get(row->index, key_type, i);
    if (index >= n) break;
    if (wide) sum64 += w64[index] * value_f64(row, value_type, i);
    if (!wide) sum32 += w32[index] * value_f32(row, value_type, i);
  }
  *dot = wide ? sum64 : sum32;
  return i;
}

ALWAYS_INLINE size_t dot_values(const furrow_row *row, const void *weights, bool wide, size_t n,
                                furrow_key_type key_type, double *dot) {
  if (!row->value.any) return dot_loop(row, weights, wide, n, key_type, ALL_ONES, dot);
  switch (row->value_type) {
  case FURROW_VALUE_F32: return dot_loop(row, weights, wide, n, key_type, FURROW_VALUE_F32, dot);
  case FURROW_VALUE_I32: return dot_loop(row, weights, wide, n, key_type, FURROW_VALUE_I32, dot);
  default: return dot_loop(row, weights, wide, n, key_type, FURROW_VALUE_I64, dot);
  }
}

ALWAYS_INLINE furrow_status dot_row(const furrow_row *row, const void *weights, bool wide, size_t n, double *dot,
                                    furrow_error *err) {
  double sum = 0;
  size_t end = row->key_type == FURROW_KEY_U32 ? dot_values(row, weights, wide, n, FURROW_KEY_U32, &sum)
                                               : dot_values(row, weights, wide, n, FURROW_KEY_U64, &sum);
  if (end < row->length) {
    return fw_fail(err, FURROW_E_RANGE, "index %" PRIu64 " (feature %zu of the row) is not below the %zu weights",
                   furrow_row_get_index(row, end), end, n);
  }
  *dot = sum;
  return FURROW_OK;
}

furrow_status furrow_row_dot_f32(const furrow_row *row, const float *weights, size_t n, float *dot, furrow_error *err) {
  double sum = 0;
  furrow_status status = dot_row(row, weights, false, n, &sum, err);
  if (status == FURROW_OK) *dot = (float)sum;
  return status;
}

furrow_status furrow_row_dot_f64(const furrow_row *row, const double *weights, size_t n, double *dot,
                                 furrow_error *err) {
  return dot_row(row, weights, true, n, dot, err);
}

/* ---- Names and sizes of the element types ---------------------------------------------------------------- */

typedef struct type_traits {
  const char *name;
  size_t size;
} type_traits;

#define FW_X(name, type, text) {text, sizeof(type)},
static const type_traits index_types[] = {FURROW_KEY_TYPES(FW_X)};
static const type_traits value_types[] = {FURROW_VALUE_TYPES(FW_X)};
#undef FW_X

#define FW_X(name, type, text) " " text
static const char index_type_list[] = FURROW_KEY_TYPES(FW_X);
static const char value_type_list[] = FURROW_VALUE_TYPES(FW_X);
#undef FW_X

enum {
  INDEX_TYPES = sizeof index_types / sizeof index_types[0],
  VALUE_TYPES = sizeof value_types / sizeof value_types[0]
};

size_t furrow_key_size(furrow_key_type type) {
  return (unsigned)type < INDEX_TYPES ? index_types[type].size : 0;
}

size_t furrow_value_size(furrow_value_type type) {
  return (unsigned)type < VALUE_TYPES ? value_types[type].size : 0;
}

const char *furrow_key_type_name(furrow_key_type type) {
  return (unsigned)type < INDEX_TYPES ? index_types[type].name : "?";
}

const char *furrow_value_type_name(furrow_value_type type) {
  return (unsigned)type < VALUE_TYPES ? value_types[type].name : "?";
}

/* Returns the position of `name` in the table, or `count`. */
static unsigned find_type(const type_traits *types, unsigned count, const char *name) {
  unsigned i = 0;
  while (i < count && strcmp(types[i].name, name) != 0) i++;
  return i;
}

static furrow_status fail_no_type(const char *kind, const char *list, const char *name, furrow_error *err) {
  furrow_status status = fw_fail(err, FURROW_E_ARGUMENT, "no such %s type; there are%s", kind, list);
  fw_error_set_token(err, name, strlen(name));
  return status;
}

furrow_status furrow_key_type_find(const char *name, furrow_key_type *type, furrow_error *err) {
  if (!name) name = "";
  unsigned i = find_type(index_types, INDEX_TYPES, name);
  if (i == INDEX_TYPES) return fail_no_type("index", index_type_list, name, err);
  *type = (furrow_key_type)i;
  return FURROW_OK;
}

furrow_status furrow_value_type_find(const char *name, furrow_value_type *type, furrow_error *err) {
  if (!name) name = "";
  unsigned i = find_type(value_types, VALUE_TYPES, name);
  if (i == VALUE_TYPES) return fail_no_type("value", value_type_list, name, err);
  *type = (furrow_value_type)i;
  return FURROW_OK;
}

/* ---- Inline functions, for programs that bind to the shared library --------------------------------------- */

extern inline uint64_t furrow_keys_get(furrow_keys a, furrow_key_type type, size_t i);
extern inline double furrow_values_get(furrow_values a, furrow_value_type type, size_t i);
extern inline uint64_t furrow_row_get_field(const furrow_row *row, size_t i);
extern inline uint64_t furrow_row_get_index(const furrow_row *row, size_t i);
extern inline double furrow_row_get_value(const furrow_row *row, size_t i);
extern inline double furrow_row_get_label(const furrow_row *row);
extern inline float furrow_row_get_weight(const furrow_row *row);
extern inline uint64_t furrow_row_get_qid(const furrow_row *row);
