/* model/format/format_text.h: declarations shared by the text formats.
 *
 * A record is a line: [row id] [column id] values, with the separator between them. In a column format a record has one
 * value for each saved row, otherwise one value. */
#ifndef FW_MODEL_FORMAT_FORMAT_TEXT_H
#define FW_MODEL_FORMAT_FORMAT_TEXT_H

#include "model/format/matrix_format.h"

#define FW_TEXT_KEY 24    /* buffer for a row or column id: "-9223372036854775808" */
#define FW_TEXT_VALUE 400 /* buffer for a value: 1e308 in full has 309 digits */
/* Other programs may write more zeros or digits: a line that is read may have this many bytes more than any that is
 * written. */
#define FW_TEXT_SURPLUS ((size_t)1 << 20)

/* The fields of a line. */
typedef struct fw_text_shape {
  bool row, key;
  size_t values, fields; /* fields: ids and values */
  furrow_element_type type;
  int key_bits;
  bool decimal_words; /* infinity and NaN may be written as the bytes of DecimalFormat */
  const char *separator;
  size_t separator_length;
  size_t longest; /* length of the longest line that is written, without its end */
} fw_text_shape;

fw_text_shape fw_text_shape_of(const furrow_matrix_format_context *context, unsigned flags);

typedef enum fw_text_outcome { FW_TEXT_OK, FW_TEXT_NO_NUMBER, FW_TEXT_RANGE } fw_text_outcome;

/* Reads a field as element i of an array of the shape's type. */
fw_text_outcome fw_text_read_value(const fw_text_shape *shape, const char *begin, const char *end, void *values,
                                   size_t i);
/* Reads a row id or column id. */
fw_text_outcome fw_text_read_id(int bits, const char *begin, const char *end, int64_t *id);

/* Reads complete lines one by one until *at has reached `until` or `records` is full. Moves *at past what was read and
 * adds to records->count. This is the reference implementation; the fast reader must give the same results. */
furrow_status fw_text_read_lines(const fw_text_shape *shape, const char *bytes, size_t size, bool last, size_t until,
                                 size_t *at, furrow_matrix_records *records, furrow_error *err) FURROW_MUST_USE;

/* The same for all bytes, with the fast reader where possible. *used is the start of the first line that was not
 * read. */
furrow_status fw_text_read(const fw_text_shape *shape, const char *bytes, size_t size, bool last, size_t *used,
                           furrow_matrix_records *records, furrow_error *err) FURROW_MUST_USE;

/* Writes records like furrow_matrix_format.encode. */
size_t fw_text_write(const fw_text_shape *shape, bool decimals, const furrow_panel *panel, size_t first, size_t count,
                     char *out);

#endif
