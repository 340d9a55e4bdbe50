/* model/format/format_text.c: the four text formats. */
#include "model/format/format_text.h"

#include <string.h>

#include "base/error.h"
#include "base/number_out.h"
#include "kern/text/digits.h"

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

enum { ROW_TEXT = 16 }; /* "-2147483648" */

/* A row id, formatted once for all lines. */
typedef struct row_text {
  char text[FW_NUMBER_TEXT];
  size_t length;
} row_text;

/* The text of the previous column id without its last four digits; most ids share it with the one before. */
typedef struct key_text {
  uint64_t base, width; /* `text` is the prefix of ids base … base + width - 1 */
  char text[FW_NUMBER_TEXT];
  size_t length;
} key_text;

enum { KEY_WIDTH = 10000, KEY_TEXT = 16 }; /* "922337203685477" */

/* Works like fw_eight_digit_text. */
static ALWAYS_INLINE uint32_t four_digits(uint32_t v) {
  const uint32_t hundreds = v * 5243 >> 19, pairs = (v << 16) - hundreds * ((100 << 16) - 1);
  const uint32_t tens = (pairs * 103 >> 10) & 0x000f000f;
  return ((pairs << 8) - tens * ((10 << 8) - 1)) | 0x30303030;
}

/* Writes an id that has another prefix than the previous one, or at most four digits. */
static __attribute__((noinline)) char *put_other_key(char *out, key_text *before, int64_t key) {
  if (key >= KEY_WIDTH) {
    before->base = (uint64_t)key / KEY_WIDTH * KEY_WIDTH;
    const uint64_t left = (uint64_t)INT64_MAX + 1 - before->base; /* base + KEY_WIDTH would overflow */
    before->width = left < KEY_WIDTH ? left : KEY_WIDTH;
    before->length = fw_write_u64(before->text, (uint64_t)key / KEY_WIDTH);
  }
  return out + fw_write_i64(out, key);
}

static ALWAYS_INLINE char *put_key(char *out, key_text *before, int64_t key) {
  const uint64_t last = (uint64_t)key - before->base;
  if (last >= before->width) return put_other_key(out, before, key);
  memcpy(out, before->text, KEY_TEXT);
  out += before->length;
  fw_put_le32(out, four_digits((uint32_t)last));
  return out + 4;
}

/* Values are formatted in runs and then copied into their lines. */
typedef struct value_run {
  const fw_digits *kern;
  furrow_elements values;
  size_t first; /* first value of the run */
  fw_java_run texts;
} value_run;

/* `type` and `decimals` are constants at every call. */
static ALWAYS_INLINE void start_run(value_run *run, furrow_element_type type, bool decimals, size_t first,
                                    size_t count) {
  run->first = first;
  if (type == FURROW_ELEMENT_F64 && !decimals) run->kern->doubles(&run->texts, run->values.f64 + first, count);
  if (type == FURROW_ELEMENT_F32) run->kern->floats(&run->texts, run->values.f32 + first, count);
}

static ALWAYS_INLINE char *put_value(char *out, const value_run *run, furrow_element_type type, bool decimals,
                                     size_t i) {
  const size_t at = run->first + i;
  switch (type) {
  case FURROW_ELEMENT_F64:
    return decimals ? out + fw_java_decimal6(out, run->values.f64[at]) : fw_java_put(out, &run->texts, i, true);
  case FURROW_ELEMENT_F32: return fw_java_put(out, &run->texts, i, false);
  case FURROW_ELEMENT_I64: return fw_put_signed(out, run->values.i64[at]);
  default: return fw_put_signed(out, run->values.i32[at]);
  }
}

/* Writes the ids that precede the values of column c. */
static ALWAYS_INLINE char *put_ids(char *out, const fw_text_shape *shape, const row_text *row, key_text *key,
                                   const furrow_panel *panel, size_t c) {
  if (shape->row) {
    memcpy(out, row->text, ROW_TEXT);
    out = put_separator(out + row->length, shape);
  }
  if (shape->key) out = put_separator(put_key(out, key, furrow_panel_col(panel, c)), shape);
  return out;
}

static ALWAYS_INLINE size_t write_lines(const fw_text_shape *given, furrow_element_type type, bool decimals,
                                        const furrow_panel *panel, size_t first, size_t count, char *out) {
  const fw_text_shape own = *given, *shape = &own; /* a local copy: writes to `out` might alias *given */
  char *const start = out;
  const size_t end = (first + count) * shape->values;
  value_run run;
  run.kern = fw_digits_table();
  run.values = panel->values;
  row_text row = {.length = 0};
  key_text key = {.width = 0};
  if (shape->row) row.length = fw_write_i64(row.text, panel->row_ids[0]);
  size_t c = first, before = 0; /* `before`: values of column c already written */
  for (size_t i = first * shape->values, n; i < end; i += n) {
    n = end - i < FW_JAVA_RUN ? end - i : FW_JAVA_RUN;
    start_run(&run, type, decimals, i, n);
    for (size_t k = 0; k < n; k++) {
      out = before == 0 ? put_ids(out, shape, &row, &key, panel, c) : put_separator(out, shape);
      out = put_value(out, &run, type, decimals, k);
      if (++before < shape->values) continue;
      *out++ = '\n';
      before = 0;
      c++;
    }
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

/* A format with one field has no separator. */
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
  *least = shape.fields + (shape.fields - 1) * shape.separator_length; /* the last line may have no line end */
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
