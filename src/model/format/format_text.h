/* model/format/format_text.h: what the text formats share.
 *
 * A record is a line: [row id] [column id] values, with the separator between them; a column format has a value for
 * each saved row, the others have one. */
#ifndef FW_MODEL_FORMAT_FORMAT_TEXT_H
#define FW_MODEL_FORMAT_FORMAT_TEXT_H

#include "model/format/matrix_format.h"

#define FW_TEXT_KEY 24    /* room for a row id or column id: "-9223372036854775808" */
#define FW_TEXT_VALUE 400 /* … for a value: 1e308 in full has 309 digits */

/* Parts of a line. */
typedef struct fw_text_shape {
  bool row, key;
  size_t values, fields; /* fields: all together */
  furrow_element_type type;
  int key_bits;
  bool decimal_words; /* infinity and NaN may be the bytes that DecimalFormat writes */
  const char *separator;
  size_t separator_length;
  size_t longest; /* bytes of a line without its end */
} fw_text_shape;

fw_text_shape fw_text_shape_of(const furrow_matrix_format_context *context, unsigned flags);

typedef enum fw_text_outcome { FW_TEXT_OK, FW_TEXT_NO_NUMBER, FW_TEXT_RANGE } fw_text_outcome;

/* A field as element i of an array of the type. */
fw_text_outcome fw_text_read_value(const fw_text_shape *shape, const char *begin, const char *end, void *values,
                                   size_t i);
/* A column id or row id. */
fw_text_outcome fw_text_read_id(int bits, const char *begin, const char *end, int64_t *id);

/* Reads the lines that are whole, one by one, until *at is at `until` or behind it, or `records` is full. *at is moved
 * behind what was read, records->count grows. The definition of the formats; whatever else reads gives the same. */
furrow_status fw_text_read_lines(const fw_text_shape *shape, const char *bytes, size_t size, bool last, size_t until,
                                 size_t *at, furrow_matrix_records *records, furrow_error *err) FURROW_MUST_USE;

/* The same for all of the bytes, and fast where it can be; *used is where the first line starts that was not read. */
furrow_status fw_text_read(const fw_text_shape *shape, const char *bytes, size_t size, bool last, size_t *used,
                           furrow_matrix_records *records, furrow_error *err) FURROW_MUST_USE;

/* Writes records, as encode does. */
size_t fw_text_write(const fw_text_shape *shape, bool decimals, const furrow_panel *panel, size_t first, size_t count,
                     char *out);

#endif
