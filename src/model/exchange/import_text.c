/* model/exchange/import_text.c: strict parsers for tsv (row, column, value), libsvm-like lines (id index:value …) and
 * lines of an id and all values of a vector. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "array/bytes_in.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "model/exchange/import.h"

#define PIECE ((size_t)1 << 18)

/* All elements, in the order of the file. */
typedef struct text_elements {
  int32_t *rows;
  int64_t *cols;
  char *values;
  size_t count, rows_capacity, cols_capacity, values_capacity, element;
} text_elements;

typedef struct text_in {
  fw_import *job;
  fw_import_matrix m;
  fw_bytes_in *in;
  char *buffer; /* text from `begin` to `end` is not yet parsed */
  size_t capacity, begin, end;
  bool ended;
  uint64_t line;    /* number of the current line */
  const char *text; /* start of the current line */
  text_elements all;
  int64_t *ids; /* ids of the lines that are vectors */
  size_t id_count, id_capacity;
  bool by_vectors; /* each line is a vector: libsvm, text */
  bool commas;     /* commas may separate values, like blanks: text */
  int64_t width;   /* text: number of values in the first line */
} text_in;

/* ---- Lines ---------------------------------------------------------------------------------------------- */

static furrow_status read_more(text_in *t, furrow_error *err) {
  size_t got;
  if (t->begin > 0) {
    memmove(t->buffer, t->buffer + t->begin, t->end - t->begin);
    t->end -= t->begin;
    t->begin = 0;
  }
  furrow_status status = FW_GROW(&t->buffer, &t->capacity, t->end + PIECE, err);
  if (status != FURROW_OK) return status;
  status = fw_bytes_in_read(t->in, t->buffer + t->end, t->capacity - t->end, &got, err);
  if (status != FURROW_OK) return status;
  t->ended = got < t->capacity - t->end;
  t->end += got;
  return FURROW_OK;
}

/* Returns the next line without its end; FURROW_END after the last one. */
static furrow_status next_line(text_in *t, const char **line, size_t *length, furrow_error *err) {
  size_t looked = 0;
  for (;;) {
    const size_t left = t->end - t->begin;
    const char *start = t->buffer ? t->buffer + t->begin : NULL;
    const char *stop = left > looked ? memchr(start + looked, '\n', left - looked) : NULL;
    if (stop || (t->ended && left > 0)) {
      *line = start;
      *length = stop ? (size_t)(stop - start) : left;
      t->begin += *length + (stop != NULL);
      if (*length > 0 && start[*length - 1] == '\r') (*length)--;
      t->line++;
      t->text = start;
      return FURROW_OK;
    }
    if (t->ended) return FURROW_END;
    looked = left;
    furrow_status status = read_more(t, err);
    if (status != FURROW_OK) return status;
  }
}

/* Fails with the position and text of the field that begins at s. */
static furrow_status fail_field(const text_in *t, const char *s, const char *end, furrow_error *err,
                                furrow_status status, const char *what) {
  const char *stop = s;
  while (stop < end && *stop != '\t' && *stop != ' ' && !(t->commas && *stop == ',')) stop++;
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, fw_bytes_in_path(t->in));
  fw_error_set_token(err, s, (size_t)(stop - s));
  if (err) {
    err->line = t->line;
    err->column = (uint64_t)(s - t->text) + 1;
  }
  return status;
}

/* ---- Fields --------------------------------------------------------------------------------------------- */

/* Reads an integer that is followed by the byte `after`, or by the end of the line if `after` is 0. */
static furrow_status read_integer(const text_in *t, const char **s, const char *end, char after, const char *what,
                                  int64_t *value, furrow_error *err) {
  bool overflow = false;
  const char *stop = fw_read_i64(*s, end, value, &overflow);
  if (!stop || (stop < end ? *stop != after : after != 0)) return fail_field(t, *s, end, err, FURROW_E_PARSE, what);
  if (overflow) return fail_field(t, *s, end, err, FURROW_E_RANGE, "the integer does not fit in 64 bits");
  *s = stop + (after != 0);
  return FURROW_OK;
}

/* A decimal number that overflows is an error; the word for infinity is not. */
static bool too_large(const char *s, double value) {
  if (*s == '+' || *s == '-') s++;
  return isinf(value) && *s != 'i' && *s != 'I';
}

/* Reads an element of the matrix's type to `out`; returns the position after it, or NULL. */
static const char *read_element(const text_in *t, const char *s, const char *end, void *out, bool *overflow) {
  double f64 = 0;
  float f32 = 0;
  const char *stop;
  switch (t->m.type) {
  case FURROW_ELEMENT_F64:
    stop = fw_read_f64(s, end, &f64);
    *overflow = stop && too_large(s, f64);
    memcpy(out, &f64, sizeof f64);
    return stop;
  case FURROW_ELEMENT_F32:
    stop = fw_read_f32(s, end, &f32);
    *overflow = stop && too_large(s, (double)f32);
    memcpy(out, &f32, sizeof f32);
    return stop;
  case FURROW_ELEMENT_I64: return fw_read_i64(s, end, out, overflow);
  default: return fw_read_i32(s, end, out, overflow);
  }
}

/* Adds an element whose value extends to `end`, or to a blank if `blanks` is set. *s is moved past it. */
static furrow_status add_element(text_in *t, int32_t row, int64_t col, const char **s, const char *end, bool blanks,
                                 furrow_error *err) {
  text_elements *all = &t->all;
  bool overflow = false;
  void *values = all->values;
  furrow_status status = FW_GROW(&all->rows, &all->rows_capacity, all->count + 1, err);
  if (status == FURROW_OK) status = FW_GROW(&all->cols, &all->cols_capacity, all->count + 1, err);
  if (status == FURROW_OK) status = fw_grow(&values, &all->values_capacity, all->count + 1, all->element, err);
  all->values = values;
  if (status != FURROW_OK) return status;
  const char *stop = read_element(t, *s, end, all->values + all->count * all->element, &overflow);
  if (stop && stop < end && *stop == '\t' && !blanks)
    return fail_field(t, stop + 1, end, err, FURROW_E_PARSE, "too many fields: a line is row, column, value");
  if (!stop || (stop < end && !(blanks && (*stop == ' ' || *stop == '\t' || (t->commas && *stop == ',')))))
    return fail_field(t, *s, end, err, FURROW_E_PARSE, "the value is not a number of the matrix's type");
  if (overflow) return fail_field(t, *s, end, err, FURROW_E_RANGE, "the value does not fit the matrix's type");
  if (all->count > 0 && all->rows[all->count - 1] == row && all->cols[all->count - 1] == col)
    return fail_field(t, *s, end, err, FURROW_E_FORMAT, "the element occurs twice");
  all->rows[all->count] = row;
  all->cols[all->count++] = col;
  *s = stop;
  return FURROW_OK;
}

static bool is_row(int64_t row) {
  return row >= 0 && row < INT32_MAX;
}

static furrow_status parse_tsv(text_in *t, const char *s, const char *end, furrow_error *err) {
  int64_t row, col;
  const char *field = s;
  furrow_status status = read_integer(t, &s, end, '\t', "the row is not an integer followed by a tab", &row, err);
  if (status == FURROW_OK && !is_row(row))
    return fail_field(t, field, end, err, FURROW_E_RANGE, "not a row: rows are 0 to 2147483646");
  if (status == FURROW_OK)
    status = read_integer(t, &s, end, '\t', "the column is not an integer followed by a tab", &col, err);
  return status == FURROW_OK ? add_element(t, (int32_t)row, col, &s, end, false, err) : status;
}

/* ---- libsvm --------------------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *s, const char *end) {
  while (s < end && (*s == ' ' || *s == '\t')) s++;
  return s;
}

static furrow_status add_id(text_in *t, int64_t id, furrow_error *err) {
  FW_TRY(FW_GROW(&t->ids, &t->id_capacity, t->id_count + 1, err));
  t->ids[t->id_count++] = id;
  return FURROW_OK;
}

static furrow_status parse_feature(text_in *t, int64_t id, const char **s, const char *end, furrow_error *err) {
  const bool by_rows = t->m.axis == FURROW_AXIS_ROWS;
  const char *field = *s;
  int64_t index;
  furrow_status status = read_integer(t, s, end, ':', "no index:value", &index, err);
  if (status == FURROW_OK && !by_rows && !is_row(index))
    return fail_field(t, field, end, err, FURROW_E_RANGE, "not a row: rows are 0 to 2147483646");
  if (status != FURROW_OK) return status;
  return add_element(t, (int32_t)(by_rows ? id : index), by_rows ? index : id, s, end, true, err);
}

static furrow_status parse_libsvm(text_in *t, const char *s, const char *end, furrow_error *err) {
  int64_t id;
  const char *stop = s;
  while (stop < end && *stop != ' ' && *stop != '\t') stop++;
  const char *field = s;
  furrow_status status = read_integer(t, &field, stop, 0, "the id is not an integer", &id, err);
  if (status == FURROW_OK && t->m.axis == FURROW_AXIS_ROWS && !is_row(id))
    return fail_field(t, s, end, err, FURROW_E_RANGE, "not a row: rows are 0 to 2147483646");
  if (status == FURROW_OK) status = add_id(t, id, err);
  for (s = skip_blanks(stop, end); s < end && status == FURROW_OK; s = skip_blanks(s, end))
    status = parse_feature(t, id, &s, end, err);
  return status;
}

/* ---- Lines of values ---- */

static bool ends_field(char c) {
  return c == ' ' || c == '\t' || c == ',';
}

/* Skips blanks with at most one comma among them. */
static const char *skip_separator(const char *s, const char *end) {
  s = skip_blanks(s, end);
  return s < end && *s == ',' ? skip_blanks(s + 1, end) : s;
}

static furrow_status check_width(text_in *t, int64_t width, const char *line, const char *end, furrow_error *err) {
  if (t->id_count == 1) t->width = width;
  if (width == 0) return fail_field(t, line, end, err, FURROW_E_FORMAT, "no values follow the id");
  if (width == t->width) return FURROW_OK;
  char what[96];
  snprintf(what, sizeof what, "the line has %lld values, but the first line has %lld", (long long)width,
           (long long)t->width);
  return fail_field(t, line, end, err, FURROW_E_FORMAT, what);
}

static furrow_status parse_vector(text_in *t, const char *s, const char *end, furrow_error *err) {
  const bool by_rows = t->m.axis == FURROW_AXIS_ROWS;
  const char *line = s, *stop = s, *field = s;
  int64_t id, width = 0;
  while (stop < end && !ends_field(*stop)) stop++;
  furrow_status status = read_integer(t, &field, stop, 0, "the id is not an integer", &id, err);
  if (status == FURROW_OK && by_rows && !is_row(id))
    return fail_field(t, line, end, err, FURROW_E_RANGE, "not a row: rows are 0 to 2147483646");
  if (status == FURROW_OK) status = add_id(t, id, err);
  for (s = stop; status == FURROW_OK && skip_blanks(s, end) < end; width++) {
    s = skip_separator(s, end);
    if (!is_row(width)) return fail_field(t, s, end, err, FURROW_E_RANGE, "a vector has 2147483647 values at most");
    status = add_element(t, (int32_t)(by_rows ? id : width), by_rows ? width : id, &s, end, true, err);
  }
  return status == FURROW_OK ? check_width(t, width, line, end, err) : status;
}

/* Every line must be a different vector. */
static furrow_status check_lines(const text_in *t, furrow_error *err) {
  size_t place = 0;
  const fw_import_ids ids = {t->ids, t->id_count};
  furrow_status status = fw_import_check_ids(&ids, t->m.axis, fw_bytes_in_path(t->in), &place, err);
  if (status == FURROW_OK || status == FURROW_E_MEMORY || !err) return status;
  err->line = place + 1;
  err->column = 1;
  return status;
}

/* ---- Runs ----------------------------------------------------------------------------------------------- */

/* First the rows without elements (libsvm with row vectors), then runs of elements of one row. */
static furrow_status each_run(void *source, fw_import_run_visitor visit, void *user, furrow_error *err) {
  const text_in *t = source;
  const text_elements *all = &t->all;
  furrow_status status = FURROW_OK;
  const size_t lines = t->by_vectors && t->m.axis == FURROW_AXIS_ROWS ? t->id_count : 0;
  for (size_t i = 0; i < lines && status == FURROW_OK; i++) {
    const fw_import_run run = {(int32_t)t->ids[i], 0, NULL, NULL};
    status = visit(user, &run, err);
  }
  for (size_t i = 0, n; i < all->count && status == FURROW_OK; i += n) {
    for (n = 1; i + n < all->count && all->rows[i + n] == all->rows[i];) n++;
    const fw_import_run run = {all->rows[i], n, all->cols + i, all->values + i * all->element};
    status = visit(user, &run, err);
  }
  return status;
}

/* ---- The file ------------------------------------------------------------------------------------------- */

typedef furrow_status (*line_parser)(text_in *t, const char *s, const char *end, furrow_error *err);

static furrow_status check_memory(const text_in *t, furrow_error *err) {
  const size_t most = t->job->memory / (sizeof(int32_t) + sizeof(int64_t) + t->all.element);
  if (t->all.count <= most) return FURROW_OK;
  return fw_fail(err, FURROW_E_MEMORY, "more than %zu elements do not fit the %zu bytes that are allowed", most,
                 t->job->memory);
}

static furrow_status parse_lines(text_in *t, line_parser parse, furrow_error *err) {
  const char *line;
  size_t length;
  furrow_status status;
  while ((status = next_line(t, &line, &length, err)) == FURROW_OK) {
    if (length == 0) return fail_field(t, line, line, err, FURROW_E_PARSE, "an empty line");
    status = parse(t, line, line + length, err);
    if (status == FURROW_OK) status = check_memory(t, err);
    if (status == FURROW_OK && t->line % 65536 == 0)
      status = fw_import_report(t->job, fw_bytes_in_offset(t->in), 0, err);
    if (status != FURROW_OK) return status;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* Without elements the shape is unknown. */
static furrow_status check_shape(const text_in *t, furrow_error *err) {
  const furrow_matrix_spec *spec = &t->m.spec;
  if (t->all.count || t->id_count || (spec->rows && spec->cols)) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "the file has no elements, so the numbers of rows and columns are unknown");
  fw_error_set_hint(err, "give both numbers");
  fw_error_set_file(err, fw_bytes_in_path(t->in));
  return FURROW_E_ARGUMENT;
}

/* Text has no element types: elements are floats unless the parameters set a type. */
static furrow_status import_text(fw_import *job, line_parser parse, bool by_vectors, furrow_error *err) {
  text_in t = {.job = job, .by_vectors = by_vectors, .commas = job->format == FURROW_EXCHANGE_TEXT};
  const fw_import_runs runs = {each_run, &t};
  furrow_status status = fw_import_start(job, &t.m, FW_ARRAY_F32, NULL, err);
  if (status == FURROW_OK) status = fw_bytes_in_open(&t.in, job->path, err);
  t.all.element = furrow_element_size(t.m.type);
  if (!by_vectors || t.m.axis == FURROW_AXIS_COLUMNS) t.m.all_rows = true; /* rows are named only by elements */
  if (status == FURROW_OK) status = parse_lines(&t, parse, err);
  if (status == FURROW_OK) status = check_shape(&t, err);
  if (status == FURROW_OK && by_vectors) status = check_lines(&t, err);
  if (status == FURROW_OK) status = fw_import_elements(job, &t.m, &runs, err);
  fw_bytes_in_close(t.in);
  fw_free(t.buffer);
  fw_free(t.all.rows);
  fw_free(t.all.cols);
  fw_free(t.all.values);
  fw_free(t.ids);
  return status;
}

furrow_status fw_import_vectors(fw_import *job, furrow_error *err) {
  return import_text(job, parse_vector, true, err);
}

furrow_status fw_import_tsv(fw_import *job, furrow_error *err) {
  return import_text(job, parse_tsv, false, err);
}

furrow_status fw_import_libsvm(fw_import *job, furrow_error *err) {
  return import_text(job, parse_libsvm, true, err);
}
