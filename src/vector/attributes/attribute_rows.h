/* vector/attributes/attribute_rows.h: attributes of ids, as the bytes of the attributes file that is stored next to an
 * index (docs/formats/index_attributes.md). */
#ifndef FW_VECTOR_ATTRIBUTES_ATTRIBUTE_ROWS_H
#define FW_VECTOR_ATTRIBUTES_ATTRIBUTE_ROWS_H

#include "furrow/attributes.h"
#include "io/string_table.h"
#include "vector/data/companion.h"

#define FW_ATTRIBUTES_MAGIC "FURROWIA"
#define FW_ATTRIBUTES_VERSION 1

/* The header is that of all files next to an index (vector/data/companion.h). */
enum {
  FW_ATTRIBUTES_AT_COUNT = 16,
  FW_ATTRIBUTES_AT_BODY_DIGEST = 40, /* of everything after the header */
  FW_ATTRIBUTES_AT_COLUMNS = 48
};

enum { FW_ATTRIBUTES_MOST_COLUMNS = 1000, FW_ATTRIBUTE_HEADER = 16 /* bytes before the name of a column */ };

/* A column, as a view into the bytes of the file. */
typedef struct fw_attribute {
  const char *name;
  size_t name_size;
  furrow_column_type type;
  const unsigned char *cells;  /* NUMBER, TIME: doubles; TEXT: a code for each row; SET: a code for each element */
  const unsigned char *starts; /* SET: for each row the position of its first element, and their number */
  fw_string_table table;       /* TEXT, SET: code c stands for text c - 1; 0: it is missing (TEXT only) */
} fw_attribute;

struct furrow_attributes {
  fw_companion file;
  size_t count; /* rows */
  const unsigned char *ids;
  fw_attribute *columns;
  size_t column_count;
};

/* A double of a file; NaN: missing. */
static inline double fw_attribute_number(const fw_attribute *column, size_t row) {
  const uint64_t bits = fw_get_le64(column->cells + 8 * row);
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}
static inline uint32_t fw_attribute_code(const fw_attribute *column, size_t i) {
  return fw_get_le32(column->cells + 4 * i);
}
static inline size_t fw_attribute_start(const fw_attribute *column, size_t row) {
  return (size_t)fw_get_le64(column->starts + 8 * row);
}
static inline bool fw_column_has_numbers(furrow_column_type type) {
  return type == FURROW_COLUMN_NUMBER || type == FURROW_COLUMN_TIME;
}

static inline int64_t fw_attributes_id(const furrow_attributes *attributes, size_t row) {
  return attributes->ids ? (int64_t)fw_get_le64(attributes->ids + 8 * row) : (int64_t)row;
}
/* The row of an id; the number of rows if it has none. */
size_t fw_attributes_row(const furrow_attributes *attributes, int64_t id);
/* The column of that name, or NULL. */
const fw_attribute *fw_attributes_find(const furrow_attributes *attributes, const char *name, size_t size);

/* Checks the bytes of an attributes file and sets the views; the bytes stay the caller's. E_FORMAT names `path` and the
 * offset. */
furrow_status fw_attributes_view(furrow_attributes *attributes, const void *bytes, size_t size, const char *path,
                                 furrow_error *err) FURROW_MUST_USE;
/* Frees the bytes and leaves attributes without bytes, which can only be freed. */
void fw_attributes_clear(furrow_attributes *attributes);
/* Rows and columns of attributes whose image is complete take the place of the old ones. */
furrow_status fw_attributes_replace(furrow_attributes *attributes, fw_buffer *image, furrow_error *err) FURROW_MUST_USE;
/* Fails with `wrong` at the first id of the index that has no row. *unused (may be NULL): rows without a vector. */
furrow_status fw_attributes_fit_index(const furrow_attributes *attributes, const furrow_index *index,
                                      furrow_status wrong, uint64_t *unused, furrow_error *err) FURROW_MUST_USE;

/* ---- Building (attributes_build.c) ---- */

/* Appends the bytes of an attributes file whose row i has the id ids[i] (ascending) and, in each column, the value of
 * row rows[s][i] of the last of two sources that has the column and the row (SIZE_MAX: none). E_ARGUMENT: a column has
 * two types. */
furrow_status fw_attributes_gather(fw_buffer *image, const furrow_attributes *const sources[2],
                                   const size_t *const rows[2], const int64_t *ids, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;
/* Makes attributes with the ids 0 … n-1 of columns in memory. */
furrow_status fw_attributes_from_columns(furrow_attributes **attributes, const furrow_column *columns, size_t count,
                                         size_t n, furrow_error *err) FURROW_MUST_USE;

#endif
