/* columns/arrow_values.h: single values of Arrow arrays. Their buffers are memory of the producer: what they say of
 * lengths and places is checked where the interface makes that possible. */
#ifndef FW_COLUMNS_ARROW_VALUES_H
#define FW_COLUMNS_ARROW_VALUES_H

#include "columns/arrow_frames.h"

/* E_FORMAT, a batch does not fit the types of its columns. */
furrow_status fw_arrow_misfit(furrow_error *err);

static inline bool fw_arrow_bit(const void *bits, int64_t i) {
  return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1;
}
bool fw_arrow_is_null(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i);
/* Whether the array has the buffers of the type. */
bool fw_arrow_fits(const fw_arrow_type *type, const struct ArrowArray *array);

/* An integer of one of the widths. */
int64_t fw_arrow_int(const fw_arrow_type *type, const void *values, int64_t i);
/* Loads a value that is not bytes into 16 bytes of a frame. */
void fw_arrow_value(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i, void *out);
/* Offset i of texts or lists. */
int64_t fw_arrow_offset(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i);

typedef struct fw_arrow_text {
  const char *bytes;
  size_t size;
} fw_arrow_text;

/* Finds the bytes of text i. */
bool fw_arrow_load_text(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i, fw_arrow_text *text);

/* The array of a column, and where the rows of a batch are in it. */
typedef struct fw_arrow_column {
  const struct ArrowArray *array;
  int64_t offset;
  const struct ArrowArray *around[16]; /* structs with nulls */
  int64_t around_offset[16];
  size_t around_count;
} fw_arrow_column;

bool fw_arrow_column_find(const fw_arrow_leaf *leaf, const struct ArrowArray *batch, fw_arrow_column *found);
/* Whether one of the structs around the column is null. */
bool fw_arrow_row_is_null(const fw_arrow_column *in, int64_t row);

#endif
