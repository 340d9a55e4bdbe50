/* rows/block/row.c: dot products of a row with a vector of weights. */
#include <inttypes.h>

#include "base/error.h"
#include "furrow/rows.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Stands beside the value types for a row without values. */
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

/* Adds up the features until one whose index is not below n; returns its place, or row->length. `wide`, key_type and
 * value_type are constants at every call, so that one loop per combination is compiled. */
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
