/* model/format/format_text.c: the four text formats. */
#include "model/format/format_text.h"

#include <string.h>

#include "base/error.h"
#include "base/java_number.h"
#include "base/number_out.h"

/* ---- Writing ------------------------------------------------------------------------------------------- */

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE char *put_separator(char *out, const fw_text_shape *shape) {
  if (shape->separator_length == 1) {
    *out = shape->separator[0];
    return out + 1;
  }
  memcpy(out, shape->separator, shape->separator_length);
  return out + shape->separator_length;
}

static ALWAYS_INLINE size_t put_value(char *out, furrow_elements values, furrow_element_type type, bool decimals,
                                      size_t i) {
  switch (type) {
  case FURROW_ELEMENT_F64: return decimals ? fw_java_decimal6(out, values.f64[i]) : fw_java_double(out, values.f64[i]);
  case FURROW_ELEMENT_F32: return fw_java_float(out, values.f32[i]);
  case FURROW_ELEMENT_I64: return fw_write_i64(out, values.i64[i]);
  default: return fw_write_i64(out, values.i32[i]);
  }
}

/* `type` and `decimals` are constants wherever this is used. */
static ALWAYS_INLINE size_t write_lines(const fw_text_shape *shape, furrow_element_type type, bool decimals,
                                        const furrow_panel *panel, size_t first, size_t count, char *out) {
  char *const start = out;
  for (size_t c = first; c < first + count; c++) {
    if (shape->row) {
      out += fw_write_i64(out, panel->row_ids[0]);
      out = put_separator(out, shape);
    }
    if (shape->key) {
      out += fw_write_i64(out, furrow_panel_col(panel, c));
      out = put_separator(out, shape);
    }
    for (size_t k = 0; k < shape->values; k++) {
      if (k) out = put_separator(out, shape);
      out += put_value(out, panel->values, type, decimals, c * shape->values + k);
    }
    *out++ = '\n';
  }
  return (size_t)(out - start);
}

size_t fw_text_write(const fw_text_shape *shape, bool decimals, const furrow_panel *panel, size_t first, size_t count,
                     char *out) {
  switch (shape->type) {
  case FURROW_ELEMENT_F64:
    return decimals ? write_lines(shape, FURROW_ELEMENT_F64, true, panel, first, count, out)
                    : write_lines(shape, FURROW_ELEMENT_F64, false, panel, first, count, out);
  case FURROW_ELEMENT_F32: return write_lines(shape, FURROW_ELEMENT_F32, false, panel, first, count, out);
  case FURROW_ELEMENT_I64: return write_lines(shape, FURROW_ELEMENT_I64, false, panel, first, count, out);
  default: return write_lines(shape, FURROW_ELEMENT_I32, false, panel, first, count, out);
  }
}

/* ---- The formats --------------------------------------------------------------------------------------- */

#define LINE_END 2 /* CR LF */

fw_text_shape fw_text_shape_of(const furrow_matrix_format_context *context, unsigned flags) {
  fw_text_shape shape = {.row = flags & FURROW_MATRIX_FORMAT_ROW_IDS,
                         .key = flags & FURROW_MATRIX_FORMAT_COL_IDS,
                         .values = flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? context->record_values : 1,
                         .type = context->type,
                         .key_bits = context->key_bits,
                         .decimal_words = flags & FURROW_MATRIX_FORMAT_ROW_IDS,
                         .separator = context->separator,
                         .separator_length = context->separator_length};
  shape.fields = shape.row + shape.key + shape.values;
  shape.longest = (size_t)(shape.row + shape.key) * FW_TEXT_KEY + shape.values * FW_TEXT_VALUE +
                  (shape.fields - 1) * shape.separator_length;
  return shape;
}

/* With one field there is no separator. */
static furrow_status check_separator(const fw_text_shape *shape, furrow_error *err) {
  if (shape->fields == 1) return FURROW_OK;
  if (!shape->separator || shape->separator_length == 0) return fw_fail(err, FURROW_E_ARGUMENT, "separator is empty");
  if (memchr(shape->separator, '\n', shape->separator_length) ||
      memchr(shape->separator, '\r', shape->separator_length))
    return fw_fail(err, FURROW_E_ARGUMENT, "separator has a line end in it");
  return FURROW_OK;
}

static void record_size(const furrow_matrix_format_context *context, unsigned flags, size_t *least, size_t *most) {
  const fw_text_shape shape = fw_text_shape_of(context, flags);
  *least = shape.fields + (shape.fields - 1) * shape.separator_length; /* the last line may lack its end */
  *most = shape.longest + LINE_END;
}

static furrow_status decode(const furrow_matrix_format_context *context, unsigned flags, const char *bytes, size_t size,
                            bool last, size_t *used, furrow_matrix_records *records, furrow_error *err) {
  const fw_text_shape shape = fw_text_shape_of(context, flags);
  furrow_status status = check_separator(&shape, err);
  if (status != FURROW_OK) return status;
  furrow_matrix_records taken = *records;
  taken.count = 0;
  status = fw_text_read(&shape, bytes, size, last, used, &taken, err);
  if (status == FURROW_OK) records->count = taken.count;
  return status;
}

static furrow_status encode(const furrow_matrix_format_context *context, unsigned flags, const furrow_panel *panel,
                            size_t first, size_t count, char *out, size_t *written, furrow_error *err) {
  const fw_text_shape shape = fw_text_shape_of(context, flags);
  furrow_status status = check_separator(&shape, err);
  if (status == FURROW_OK && shape.key && shape.key_bits == 32) status = fw_format_check_keys(panel, first, count, err);
  if (status != FURROW_OK) return status;
  *written = fw_text_write(&shape, shape.row && context->angel_bytes, panel, first, count, out);
  return FURROW_OK;
}

#define FORMAT_CLASS "ValueTextRowFormat"
#define FORMAT_OBJECT fw_value_text
#define FORMAT_FUNCTION(verb) verb##_values
#define FORMAT_FLAGS FURROW_MATRIX_FORMAT_TEXT
#define FORMAT_ABOUT "lines of a value, row after row"
#include "model/format/format_tmpl.h"

#define FORMAT_CLASS "ColIdValueTextRowFormat"
#define FORMAT_OBJECT fw_col_id_value_text
#define FORMAT_FUNCTION(verb) verb##_pairs
#define FORMAT_FLAGS (FURROW_MATRIX_FORMAT_TEXT | FURROW_MATRIX_FORMAT_COL_IDS)
#define FORMAT_ABOUT "lines of column id and value, row after row"
#include "model/format/format_tmpl.h"

#define FORMAT_CLASS "RowIdColIdValueTextRowFormat"
#define FORMAT_OBJECT fw_row_id_col_id_value_text
#define FORMAT_FUNCTION(verb) verb##_triples
#define FORMAT_FLAGS (FURROW_MATRIX_FORMAT_TEXT | FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS)
#define FORMAT_ABOUT "lines of row id, column id and value, row after row"
#include "model/format/format_tmpl.h"

#define FORMAT_CLASS "TextColumnFormat"
#define FORMAT_OBJECT fw_text_column
#define FORMAT_FUNCTION(verb) verb##_columns
#define FORMAT_FLAGS (FURROW_MATRIX_FORMAT_TEXT | FURROW_MATRIX_FORMAT_BY_COLUMN | FURROW_MATRIX_FORMAT_COL_IDS)
#define FORMAT_ABOUT "lines of column id and the values of all rows, column after column"
#include "model/format/format_tmpl.h"
