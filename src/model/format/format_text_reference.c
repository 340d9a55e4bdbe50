/* model/format/format_text_reference.c: parses lines of text to records one by one, and explains what is wrong with a
 * line. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/java_number.h"
#include "base/number_in.h"
#include "model/format/format_text.h"

/* ---- Fields --------------------------------------------------------------------------------------------- */

fw_text_outcome fw_text_read_id(int bits, const char *begin, const char *end, int64_t *id) {
  bool overflow = false;
  if (fw_read_i64(begin, end, id, &overflow) != end || begin == end) return FW_TEXT_NO_NUMBER;
  return overflow || (bits == 32 && *id != (int32_t)*id) ? FW_TEXT_RANGE : FW_TEXT_OK;
}

/* The words of DecimalFormat: byte 0x1e is infinity, 0xfd is NaN (JDK 8). */
static bool read_decimal_word(const char *begin, const char *end, double *value) {
  if (end - begin == 1 && *begin == '\xfd') {
    *value = NAN;
    return true;
  }
  const bool minus = begin < end && *begin == '-';
  if (end - begin != 1 + minus || end[-1] != '\x1e') return false;
  *value = minus ? -INFINITY : INFINITY;
  return true;
}

static fw_text_outcome read_integer(furrow_element_type type, const char *begin, const char *end, void *values,
                                    size_t i) {
  int64_t value;
  const fw_text_outcome outcome = fw_text_read_id(type == FURROW_ELEMENT_I32 ? 32 : 64, begin, end, &value);
  if (outcome != FW_TEXT_OK) return outcome;
  if (type == FURROW_ELEMENT_I32)
    ((int32_t *)values)[i] = (int32_t)value;
  else
    ((int64_t *)values)[i] = value;
  return FW_TEXT_OK;
}

fw_text_outcome fw_text_read_value(const fw_text_shape *shape, const char *begin, const char *end, void *values,
                                   size_t i) {
  bool read;
  switch (shape->type) {
  case FURROW_ELEMENT_F32: read = fw_java_read_float(begin, end, (float *)values + i); break;
  case FURROW_ELEMENT_F64:
    read = (shape->decimal_words && read_decimal_word(begin, end, (double *)values + i)) ||
           fw_java_read_double(begin, end, (double *)values + i);
    break;
  default: return read_integer(shape->type, begin, end, values, i);
  }
  return read ? FW_TEXT_OK : FW_TEXT_NO_NUMBER;
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

typedef struct text_line {
  const char *begin, *end; /* without the line end */
  size_t next;             /* where the next line starts */
} text_line;

typedef enum line_state { LINE_WHOLE, LINE_CUT, LINE_TOO_LONG } line_state;

/* Finds the line at `at`. It ends at LF, CR or CR LF; the last line may have no end. */
static line_state find_line(const fw_text_shape *shape, const char *bytes, size_t at, size_t size, bool last,
                            text_line *line) {
  const char *begin = bytes + at;
  const size_t there = size - at, longest = shape->longest + FW_TEXT_SURPLUS;
  const size_t looked = there < longest + 1 ? there : longest + 1;
  const char *end = memchr(begin, '\n', looked);
  const char *cr = memchr(begin, '\r', end ? (size_t)(end - begin) : looked);
  if (cr) end = cr;
  line->begin = begin;
  if (!end) {
    if (there > longest) return LINE_TOO_LONG;
    line->end = begin + there;
    line->next = size;
    return last ? LINE_WHOLE : LINE_CUT;
  }
  line->end = end;
  line->next = (size_t)(end - bytes) + 1;
  if (end == cr && line->next == size && !last) return LINE_CUT; /* a LF may follow */
  if (end == cr && line->next < size && bytes[line->next] == '\n') line->next++;
  return LINE_WHOLE;
}

static const char *find_separator(const fw_text_shape *shape, const char *begin, const char *end) {
  if (shape->separator_length == 1) return memchr(begin, shape->separator[0], (size_t)(end - begin));
  return memmem(begin, (size_t)(end - begin), shape->separator, shape->separator_length);
}

/* ---- Error messages ------------------------------------------------------------------------------------- */

static furrow_status locate_fields(const fw_text_shape *shape, const char *bytes, const text_line *line,
                                   furrow_error *err) {
  size_t fields = 1;
  const char *at = line->begin;
  while ((at = find_separator(shape, at, line->end)) != NULL) {
    fields++;
    at += shape->separator_length;
  }
  furrow_status status;
  if (line->begin == line->end)
    status = fw_fail(err, FURROW_E_PARSE, "the line is empty");
  else
    status = fw_fail(err, FURROW_E_PARSE, "the line has %zu field%s, expected are %zu", fields, fields == 1 ? "" : "s",
                     shape->fields);
  return fw_format_error_at(err, status, (size_t)(line->begin - bytes), line->begin, (size_t)(line->end - line->begin));
}

static const char *type_words(furrow_element_type type) {
  switch (type) {
  case FURROW_ELEMENT_I32: return "32-bit integer";
  case FURROW_ELEMENT_I64: return "64-bit integer";
  default: return "number";
  }
}

/* Explains why a field was rejected; `what` is the field's name, `type` its type (an integer type for ids). */
static furrow_status locate_field(fw_text_outcome outcome, const char *what, furrow_element_type type,
                                  const char *bytes, const char *begin, const char *end, furrow_error *err) {
  furrow_status status;
  if (outcome == FW_TEXT_RANGE)
    status = fw_fail(err, FURROW_E_RANGE, "%s does not fit a %s", what, type_words(type));
  else if (begin == end)
    status = fw_fail(err, FURROW_E_PARSE, "%s is empty", what);
  else
    status = fw_fail(err, FURROW_E_PARSE, "%s is not a %s", what, type_words(type));
  return fw_format_error_at(err, status, (size_t)(begin - bytes), begin, (size_t)(end - begin));
}

/* ---- Records -------------------------------------------------------------------------------------------- */

/* Iterates over the fields of a line. The last field is the rest of the line, so it may contain the separator (1.5 if
 * the separator is "."). */
typedef struct field_cursor {
  const fw_text_shape *shape;
  const char *at, *end; /* rest of the line */
  size_t left;          /* fields not yet returned */
} field_cursor;

/* Returns false after the last field. */
static bool next_field(field_cursor *cursor, const char **begin, const char **end) {
  *begin = cursor->at;
  *end = cursor->end;
  if (--cursor->left == 0) return true;
  *end = find_separator(cursor->shape, cursor->at, cursor->end);
  if (!*end) return false;
  cursor->at = *end + cursor->shape->separator_length;
  return true;
}

static furrow_status read_id(field_cursor *cursor, const char *what, int bits, const char *bytes, const text_line *line,
                             int64_t *id, furrow_error *err) {
  const char *begin, *end;
  if (!next_field(cursor, &begin, &end)) return locate_fields(cursor->shape, bytes, line, err);
  const fw_text_outcome outcome = fw_text_read_id(bits, begin, end, id);
  if (outcome == FW_TEXT_OK) return FURROW_OK;
  return locate_field(outcome, what, bits == 32 ? FURROW_ELEMENT_I32 : FURROW_ELEMENT_I64, bytes, begin, end, err);
}

/* Parses the line as record number `i`. */
static furrow_status read_line(const fw_text_shape *shape, const char *bytes, const text_line *line, size_t i,
                               furrow_matrix_records *records, furrow_error *err) {
  field_cursor cursor = {.shape = shape, .at = line->begin, .end = line->end, .left = shape->fields};
  furrow_status status = FURROW_OK;
  int64_t id;
  if (line->begin == line->end) return locate_fields(shape, bytes, line, err);
  if (shape->row) {
    status = read_id(&cursor, "row id", 32, bytes, line, &id, err);
    if (status != FURROW_OK) return status;
    records->row_ids[i] = (int32_t)id;
  }
  if (shape->key) {
    status = read_id(&cursor, "column id", shape->key_bits, bytes, line, &id, err);
    if (status != FURROW_OK) return status;
    records->col_ids[i] = id;
  }
  for (size_t k = 0; k < shape->values; k++) {
    const char *begin, *end;
    if (!next_field(&cursor, &begin, &end)) return locate_fields(shape, bytes, line, err);
    const fw_text_outcome outcome = fw_text_read_value(shape, begin, end, records->values, i * shape->values + k);
    if (outcome == FW_TEXT_OK) continue;
    if (cursor.left == 0 && shape->fields > 1 && find_separator(shape, begin, end))
      return locate_fields(shape, bytes, line, err);
    return locate_field(outcome, "value", shape->type, bytes, begin, end, err);
  }
  return FURROW_OK;
}

furrow_status fw_text_read_lines(const fw_text_shape *shape, const char *bytes, size_t size, bool last, size_t until,
                                 size_t *at, furrow_matrix_records *records, furrow_error *err) {
  while (*at < until && records->count < records->capacity) {
    text_line line;
    const line_state state = find_line(shape, bytes, *at, size, last, &line);
    if (state == LINE_CUT) return FURROW_OK;
    if (state == LINE_TOO_LONG)
      return fw_format_error_at(
          err, fw_fail(err, FURROW_E_PARSE, "the line is longer than %zu bytes", shape->longest + FW_TEXT_SURPLUS), *at,
          NULL, 0);
    const furrow_status status = read_line(shape, bytes, &line, records->count, records, err);
    if (status != FURROW_OK) return status;
    records->count++;
    *at = line.next;
  }
  return FURROW_OK;
}
