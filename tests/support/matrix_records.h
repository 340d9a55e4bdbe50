/* tests/support/matrix_records.h: bytes to records through a format, in windows of any size, as a reader does it. */
#ifndef MATRIX_RECORDS_H
#define MATRIX_RECORDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/format/format_text.h"
#include "model/format/matrix_format.h"

enum { RECORD_PAD = 64 };

/* All records of some bytes, or the error with its place among all bytes. Elements that the format does not announce
 * are 0. */
typedef struct record_list {
  size_t count, values; /* values: of a record */
  int32_t *row_ids;
  int64_t *col_ids;
  char *elements;
  size_t element; /* bytes */
  furrow_status status;
  furrow_error err;
} record_list;

static inline void *record_capacity(size_t count, size_t size) {
  void *memory = calloc(count + RECORD_PAD, size);
  if (!memory) abort();
  return memory;
}

static inline void record_list_clear(record_list *list) {
  free(list->row_ids);
  free(list->col_ids);
  free(list->elements);
  memset(list, 0, sizeof *list);
}

static inline void record_list_add(record_list *list, const furrow_matrix_records *records) {
  const size_t count = list->count + records->count, size = list->element * list->values;
  list->row_ids = realloc(list->row_ids, (count + 1) * sizeof(int32_t));
  list->col_ids = realloc(list->col_ids, (count + 1) * sizeof(int64_t));
  list->elements = realloc(list->elements, count * size + 1);
  if (!list->row_ids || !list->col_ids || !list->elements) abort();
  memset(list->row_ids + list->count, 0, records->count * sizeof(int32_t));
  memset(list->col_ids + list->count, 0, records->count * sizeof(int64_t));
  if (records->row_ids) memcpy(list->row_ids + list->count, records->row_ids, records->count * sizeof(int32_t));
  if (records->col_ids) memcpy(list->col_ids + list->count, records->col_ids, records->count * sizeof(int64_t));
  memcpy(list->elements + list->count * size, records->values, records->count * size);
  list->count = count;
}

static inline furrow_matrix_records record_arrays(const furrow_matrix_format *format, size_t capacity, size_t values,
                                                  size_t element) {
  return (furrow_matrix_records){
      .capacity = capacity,
      .row_ids = format->flags & FURROW_MATRIX_FORMAT_ROW_IDS ? record_capacity(capacity, sizeof(int32_t)) : NULL,
      .col_ids = format->flags & FURROW_MATRIX_FORMAT_COL_IDS ? record_capacity(capacity, sizeof(int64_t)) : NULL,
      .values = record_capacity(capacity * values, element)};
}

static inline void record_arrays_free(furrow_matrix_records *records) {
  free(records->row_ids);
  free(records->col_ids);
  free(records->values);
}

typedef furrow_status decode_call(const furrow_matrix_format *format, const furrow_matrix_format_context *context,
                                  const char *bytes, size_t size, bool last, size_t *used,
                                  furrow_matrix_records *records, furrow_error *err);

static inline furrow_status decode_by_format(const furrow_matrix_format *format,
                                             const furrow_matrix_format_context *context, const char *bytes,
                                             size_t size, bool last, size_t *used, furrow_matrix_records *records,
                                             furrow_error *err) {
  return format->decode(context, bytes, size, last, used, records, err);
}

/* Text without the fast way. */
static inline furrow_status decode_carefully(const furrow_matrix_format *format,
                                             const furrow_matrix_format_context *context, const char *bytes,
                                             size_t size, bool last, size_t *used, furrow_matrix_records *records,
                                             furrow_error *err) {
  const fw_text_shape shape = fw_text_shape_of(context, format->flags);
  size_t at = 0;
  records->count = 0;
  const furrow_status status = fw_text_read_lines(&shape, bytes, size, last, size, &at, records, err);
  *used = at;
  return status;
}

/* Windows of `window` bytes (more where a record needs more), `capacity` records a call. Each window is a block of
 * memory of its own with just the bytes around it that a format may read. */
static inline record_list decode_windows(const furrow_matrix_format *format, const furrow_matrix_format_context *given,
                                         const char *bytes, size_t size, size_t window, size_t capacity,
                                         decode_call *decode) {
  uint64_t state[4] = {0};
  furrow_matrix_format_context context = *given;
  context.state = state;
  context.position = 0;
  record_list list = {.values = context.record_values, .element = fw_element_bytes(context.type)};
  furrow_matrix_records records = record_arrays(format, capacity, list.values, list.element);
  size_t at = 0, length = window, least, most;
  format->record_size(&context, &least, &most);
  if (format->flags & FURROW_MATRIX_FORMAT_TEXT) most += FW_TEXT_SURPLUS;
  record_list_add(&list, &(furrow_matrix_records){.values = records.values});
  while (at < size && list.status == FURROW_OK) {
    const size_t n = size - at < length ? size - at : length;
    char *copy = malloc(n + 2 * RECORD_PAD);
    if (!copy) abort();
    memset(copy, '7', n + 2 * RECORD_PAD); /* what would be part of a number */
    memcpy(copy + RECORD_PAD, bytes + at, n);
    size_t used = 0;
    records.count = 0;
    list.status = decode(format, &context, copy + RECORD_PAD, n, at + n == size, &used, &records, &list.err);
    free(copy);
    if (list.status != FURROW_OK) {
      if (list.err.offset != FURROW_NO_OFFSET) list.err.offset += at;
      break;
    }
    if (used > n || records.count > capacity || (used == 0 && (records.count || at + n == size || n >= most))) abort();
    record_list_add(&list, &records);
    context.position += records.count;
    at += used;
    length = used ? window : length + window;
  }
  record_arrays_free(&records);
  return list;
}

static inline bool record_lists_equal(const record_list *a, const record_list *b) {
  if (a->status != b->status) return false;
  if (a->status != FURROW_OK)
    return a->err.offset == b->err.offset && strcmp(a->err.message, b->err.message) == 0 &&
           strcmp(a->err.token, b->err.token) == 0;
  return a->count == b->count && memcmp(a->row_ids, b->row_ids, a->count * sizeof(int32_t)) == 0 &&
         memcmp(a->col_ids, b->col_ids, a->count * sizeof(int64_t)) == 0 &&
         memcmp(a->elements, b->elements, a->count * a->values * a->element) == 0;
}

#endif
