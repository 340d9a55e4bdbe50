/* rows/text/csv.c: csv and dense, line by line: the definition of these formats (docs/formats/rows.md). */
#include "rows/text/csv.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "rows/text/rowbuilder.h"

/* e5 has no digit before its exponent; dmlc-core reads it as 0 times 10^5. */
static bool is_bare_exponent(const fw_cell *cell) {
  const char *p = cell->begin;
  int64_t value;
  bool overflow;
  return p < cell->end && (*p | 0x20) == 'e' && fw_read_i64(p + 1, cell->end, &value, &overflow) == cell->end;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

typedef struct scan {
  const fw_csv *csv;
  const char *line, *end;
  furrow_rowbuilder *row;
  furrow_error *err;
} scan;

static furrow_status fail_token(const scan *s, furrow_status status, const fw_cell *cell, const char *message) {
  return fw_fail_at(s->err, status, s->line, cell->begin, cell->end, message);
}

/* Whether the text after a number looks like a part of it, or shows that another delimiter was meant. (If the
 * delimiter is given, dmlc-core's rule holds.) */
static bool is_part_of_number(const scan *s, const char *after, const char *end, furrow_value_type type) {
  if (memchr(",;|\t", *after, 4)) return s->csv->delimiter_found;
  const char *next = after;
  while (next < end && fw_is_blank(*next)) next++;
  if (next > after && next < end && fw_is_digit(*next)) return true; /* a second number */
  if (end - after >= 2 && *after && strchr("+-.:/", *after) && fw_is_digit(after[1]))
    return true; /* a date, a time, an address */
  if ((*after | 0x20) == 'x') return after[-1] == '0';
  return type != FURROW_VALUE_F32 && (*after == '.' || (*after | 0x20) == 'e');
}

/* Whether the cell is only a number, as nearly all cells are. */
static bool is_plain_number(const fw_cell *cell, furrow_value_type type, fw_number *number) {
  bool overflow = false;
  if (type == FURROW_VALUE_F32) return fw_read_f32(cell->begin, cell->end, &number->f32) == cell->end;
  return type == FURROW_VALUE_I64 && fw_read_i64(cell->begin, cell->end, &number->i64, &overflow) == cell->end &&
         !overflow;
}

/* Reads the number of a cell. *missing: the cell is empty or has a word for a missing value. */
static furrow_status read_cell(const scan *s, const fw_cell *cell, furrow_value_type type, fw_number *number,
                               bool *missing) {
  *missing = false;
  if (is_plain_number(cell, type, number)) return FURROW_OK;
  *missing = !s->csv->rules.blanks && fw_cell_is_missing(cell);
  if (*missing) return FURROW_OK;
  if (!fw_cell_starts_with_number(cell)) {
    if (s->csv->rules.blanks || !is_bare_exponent(cell)) return fail_token(s, FURROW_E_PARSE, cell, "not a number");
    fw_rowbuilder_ignore(s->row, cell->begin, cell->end, "an exponent without digits before it was taken for 0");
    *number = (fw_number){0};
    return FURROW_OK;
  }
  const char *after = NULL;
  furrow_status status = fw_read_number(type, s->line, cell->begin, cell->end, number, &after, s->err);
  if (status != FURROW_OK)
    return fail_token(s, status, cell, status == FURROW_E_RANGE ? "the integer does not fit" : "not an integer");
  if (after == cell->end) return FURROW_OK;
  if (s->csv->rules.blanks || cell->quoted || is_part_of_number(s, after, cell->end, type))
    return fail_token(s, FURROW_E_PARSE, cell, type == FURROW_VALUE_F32 ? "not a number" : "not an integer");
  fw_rowbuilder_ignore(s->row, after, cell->end, "text after a number was skipped");
  return FURROW_OK;
}

static furrow_status take_label(const scan *s, const fw_cell *cell) {
  fw_number label;
  bool missing;
  furrow_status status = read_cell(s, cell, s->row->out->value_type, &label, &missing);
  if (status != FURROW_OK)
    return fail_token(s, status, cell,
                      status == FURROW_E_RANGE ? "the label does not fit" : "the label is not a number");
  if (missing) return fail_token(s, FURROW_E_PARSE, cell, "the label is missing");
  return fw_rowbuilder_set_label(s->row, label, s->err);
}

/* A missing weight or NaN is replaced by 1. */
static furrow_status take_weight(const scan *s, const fw_cell *cell) {
  fw_number weight;
  bool missing;
  furrow_status status = read_cell(s, cell, FURROW_VALUE_F32, &weight, &missing);
  if (status != FURROW_OK || missing || weight.f32 != weight.f32) return status;
  return furrow_rowbuilder_weight(s->row, weight.f32, s->err);
}

static furrow_status take_feature(const scan *s, const fw_cell *cell, uint64_t index) {
  fw_number value;
  bool missing;
  furrow_status status = read_cell(s, cell, s->row->out->value_type, &value, &missing);
  if (status != FURROW_OK || missing) return status;
  return fw_rowbuilder_add(s->row, NULL, index, &value, s->err);
}

/* Counts the cells of the line and returns the last one. False: a quote is not closed, or text follows it. */
static bool count_cells(const fw_csv *csv, const char *line, const char *end, size_t *count, fw_cell *last) {
  *count = 0;
  for (const char *p = line; p; ++*count)
    if (!fw_cell_next(&csv->rules, &p, end, last)) return false;
  return true;
}

/* Lines under a header have as many cells as it has names; all lines of dense text have as many cells as the first.
 * A delimiter at the end of a csv line either ends the last cell or begins an empty one. */
static furrow_status check_width(const scan *s) {
  const size_t wanted = s->csv->width;
  size_t count;
  fw_cell last = {0};
  if (wanted == 0 || !count_cells(s->csv, s->line, s->end, &count, &last)) return FURROW_OK;
  const bool open = s->end[-1] == s->csv->rules.delimiter && !s->csv->rules.blanks;
  const bool empty = !last.quoted && last.begin == last.end;
  if (count == wanted || (open && count + 1 == wanted) || (empty && count == wanted + 1)) return FURROW_OK;
  char message[96];
  snprintf(message, sizeof message, "%s has %zu %s, this line has %zu",
           s->csv->rules.blanks ? "the first line" : "the header", wanted,
           s->csv->rules.blanks ? fw_plural(wanted, "number", "numbers") : fw_plural(wanted, "column", "columns"),
           count);
  fw_cell first_extra = {.begin = s->end, .end = s->end};
  const char *p = s->line;
  for (size_t i = 0; p && i <= wanted && count > wanted; i++)
    (void)fw_cell_next(&s->csv->rules, &p, s->end, &first_extra);
  return fail_token(s, FURROW_E_PARSE, &first_extra, message);
}

/* Stores the cell according to its column. */
static furrow_status take_cell(const scan *s, const fw_cell *cell, size_t column, uint64_t *features) {
  if (column == s->csv->label_column) return take_label(s, cell);
  if (column == s->csv->weight_column) return take_weight(s, cell);
  if (!s->csv->roles) return take_feature(s, cell, (*features)++);
  const size_t role = column < s->csv->width ? s->csv->roles[column] : FW_CSV_NO_COLUMN;
  return role == FW_CSV_NO_COLUMN ? FURROW_OK : take_feature(s, cell, role);
}

static bool is_comment_or_blank(const fw_csv *csv, const char *line, const char *end) {
  const char *first = line;
  while (first < end && fw_is_blank(*first) && (csv->rules.blanks || *first != csv->rules.delimiter)) first++;
  if (first == end) return true;
  const bool word = end - first >= 4 && strncasecmp(first, "#n/a", 4) == 0; /* a missing value of a spreadsheet */
  return *first == '#' && !word;
}

static furrow_status parse_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  scan s = {.csv = state, .line = line, .end = line + length, .row = row, .err = err};
  if (is_comment_or_blank(s.csv, line, s.end)) return FURROW_OK;
  if (!s.csv->rules.blanks) FW_TRY(check_width(&s));
  uint64_t features = 0;
  fw_cell cell;
  size_t column = 0;
  const uint64_t ignored = row->stats->ignored;
  row->touched = true;
  for (const char *p = line; p; column++) {
    if (!fw_cell_next(&s.csv->rules, &p, s.end, &cell)) {
      cell.end = s.end;
      return fail_token(&s, FURROW_E_PARSE, &cell, "a quote is not closed, or text follows it");
    }
    FW_TRY(take_cell(&s, &cell, column, &features));
  }
  if (column == 1 && row->stats->ignored > ignored && !memchr(line, s.csv->rules.delimiter, length)) {
    char message[64];
    snprintf(message, sizeof message, "the line has no delimiter '%c'", s.csv->rules.delimiter);
    return fail_token(&s, FURROW_E_PARSE, &cell, message);
  }
  if (s.csv->label_column != FW_CSV_NO_COLUMN && row->has_label != s.csv->labels) {
    cell.begin = cell.end = s.end;
    return fail_token(&s, FURROW_E_PARSE, &cell,
                      s.csv->labels ? "the row has no label"
                                    : "this row has a label, the first row of the data has none");
  }
  if (s.csv->rules.blanks)
    FW_TRY(check_width(&s)); /* checked first: text in the line is a better error than its number of words */
  if (s.csv->roles) fw_csv_sort_row(row->out, row->out->features, row->features);
  return FURROW_OK;
}

/* ---- Header --------------------------------------------------------------------------------------------- */

/* Finds the first line that is neither blank nor a comment; returns false if there is none. */
static bool first_line(const fw_csv *csv, const char *text, size_t length, const char **line, const char **line_end) {
  const char *end = text + length;
  const char *p = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
  while (p < end) {
    const char *stop = p;
    while (stop < end && !fw_is_line_end(*stop)) stop++;
    if (stop > p && !is_comment_or_blank(csv, p, stop)) {
      *line = p;
      *line_end = stop;
      return true;
    }
    p = stop + 1;
  }
  return false;
}

/* A line of names is a header; some of the names, fewer than half and not the first, may be numbers, as in a,2015,y. */
static bool looks_like_header(const fw_csv *csv, const char *line, const char *end) {
  size_t texts = 0, numbers = 0;
  fw_cell cell;
  for (const char *p = line; p;) {
    if (!fw_cell_next(&csv->rules, &p, end, &cell)) return false;
    const bool number = fw_cell_starts_with_number(&cell);
    if (number && (texts == 0 || !fw_cell_may_be_number_name(&cell))) return false;
    numbers += number;
    texts += !number && !fw_cell_is_missing(&cell);
  }
  return texts > numbers;
}

static bool has_header(const fw_csv *csv, const char *line, const char *end) {
  return csv->header == FW_CSV_HEADER_YES || (csv->header == FW_CSV_HEADER_AUTO && looks_like_header(csv, line, end));
}

/* Whether a line has enough cells for that column. */
static bool reaches_column(const fw_csv *csv, const char *line, const char *end, size_t column) {
  fw_cell cell;
  size_t i = 0;
  for (const char *p = line; p && i <= column; i++)
    if (!fw_cell_next(&csv->rules, &p, end, &cell)) break;
  return i > column;
}

static furrow_status look(void *state, const char *head, size_t size, bool whole, furrow_error *err) {
  fw_csv *csv = state;
  if (size == 0) return fw_fail(err, FURROW_E_FORMAT, "the csv is empty: it has no columns");
  csv->delimiter_found = !csv->rules.delimiter;
  if (!csv->rules.delimiter) csv->rules.delimiter = fw_sniff_delimiter(head, size, whole);
  const char *line, *end;
  furrow_status status = FURROW_OK;
  bool found = first_line(csv, head, size, &line, &end);
  const bool header = found && has_header(csv, line, end);
  if (!header && csv->comma_without_header) {
    csv->rules.delimiter = ',';
    csv->delimiter_found = false;
  }
  if (header) {
    status = fw_csv_keep_names(csv, line, end, end == head + size && !whole, err);
    found = first_line(csv, end, (size_t)(head + size - end), &line, &end);
  }
  if (status == FURROW_OK) status = fw_csv_find_columns(csv, err);
  csv->labels = !found || csv->width > csv->label_column || (end == head + size && !whole) ||
                reaches_column(csv, line, end, csv->label_column);
  return status;
}

static furrow_status look_dense(void *state, const char *head, size_t size, bool whole, furrow_error *err) {
  fw_csv *csv = state;
  (void)err;
  const char *line, *end;
  fw_cell last;
  if (first_line(csv, head, size, &line, &end) && (whole || end < head + size))
    (void)count_cells(csv, line, end, &csv->width, &last);
  return FURROW_OK;
}

/* Whether a name in a header equals the name of column i of the first file. */
static furrow_status compare_name(const fw_csv *csv, const fw_cell *cell, size_t i, bool *same, furrow_error *err) {
  char *name = NULL;
  FW_TRY(fw_cell_copy(cell, &name, err));
  *same = i < csv->nnames && strcmp(csv->names[i], name) == 0;
  fw_free(name);
  return FURROW_OK;
}

/* All files must have the columns of the first file, as far as these are known. */
static furrow_status compare_header(const fw_csv *csv, const char *text, const char *line, const char *end,
                                    furrow_error *err) {
  const char *start = line - text == 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? text : line;
  fw_cell cell = {.begin = end, .end = end};
  bool same = true;
  size_t i = 0;
  if (csv->nnames == 0) return FURROW_OK;
  for (const char *p = line; p && same && !(csv->names_cut && i >= csv->nnames); i++) {
    if (!fw_cell_next(&csv->rules, &p, end, &cell)) return FURROW_OK;
    FW_TRY(compare_name(csv, &cell, i, &same, err));
  }
  if (same && i >= csv->nnames) return FURROW_OK;
  if (same) cell.begin = cell.end = end; /* the header ends too early */
  furrow_status status =
      fw_fail_at(err, FURROW_E_PARSE, start, cell.begin, cell.end, "the header differs from the first file's");
  if (err) err->offset = (uint64_t)(start - text);
  return status;
}

static furrow_status skip_head(const void *state, const char *text, size_t length, size_t *skip, furrow_error *err) {
  const fw_csv *csv = state;
  const char *line, *end;
  *skip = 0;
  if (!first_line(csv, text, length, &line, &end) || !has_header(csv, line, end)) return FURROW_OK;
  *skip = (size_t)(end - text) + (end < text + length);
  return compare_header(csv, text, line, end, err);
}

/* ---- The formats ---------------------------------------------------------------------------------------- */

static const furrow_arg csv_args[] = {
    {"label_column", FURROW_ARG_TEXT, "-1", NULL, "number (from 0) or name of the column of labels; -1: none"},
    {"weight_column", FURROW_ARG_TEXT, "-1", NULL, "number (from 0) or name of the column of weights; -1: none"},
    {"delimiter", FURROW_ARG_TEXT, "", NULL,
     "the byte between cells; \\t or tab for a tab; auto: , ; tab or |, whichever is on every line"},
    {"header", FURROW_ARG_ONE_OF, "auto", "auto|yes|no", "whether each file starts with a line of names"},
    {"columns", FURROW_ARG_TEXT, "", NULL, "names of the columns that are features 0, 1, …; the default: all"},
    {"extra", FURROW_ARG_ONE_OF, "error", "error|ignore", "what to do about a column that `columns` does not name"},
    {"label", FURROW_ARG_ONE_OF, "required", "required|optional", "whether the file must have the column of labels"},
};

static furrow_status delimiter_arg(const furrow_args *args, fw_csv *csv, furrow_error *err) {
  const char *text = furrow_args_text(args, "delimiter");
  csv->comma_without_header = !*text;
  if (!*text || strcmp(text, "auto") == 0) return FURROW_OK; /* look() detects it */
  if (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0) text = "\t";
  if (strlen(text) != 1 || fw_is_digit(*text) || strchr("+-.eE\"#\r\n", *text)) {
    furrow_status status = fw_fail(err, FURROW_E_ARGUMENT, "delimiter must be one byte that no number holds");
    fw_error_set_token(err, text, strlen(text));
    return status;
  }
  csv->rules.delimiter = *text;
  return FURROW_OK;
}

static void close_csv(void *state) {
  fw_csv *csv = state;
  if (!csv) return;
  fw_csv_clear_columns(csv);
  fw_free(csv);
}

static furrow_status open_csv(const furrow_args *args, void **state, furrow_error *err) {
  fw_csv *csv;
  furrow_status status = FW_ALLOC_ZERO(&csv, 1, err);
  if (status != FURROW_OK) return status;
  const char *header = furrow_args_text(args, "header");
  csv->rules.quotes = true;
  csv->header = *header == 'y' ? FW_CSV_HEADER_YES : *header == 'n' ? FW_CSV_HEADER_NO : FW_CSV_HEADER_AUTO;
  status = delimiter_arg(args, csv, err);
  if (status == FURROW_OK) status = fw_csv_read_columns(csv, args, err);
  return FW_HAND_OVER(status, state, csv, close_csv);
}

static const furrow_arg dense_args[] = {
    {"has_label", FURROW_ARG_ONE_OF, "yes", "yes|no", "whether lines begin with a label"},
};

static furrow_status open_dense(const furrow_args *args, void **state, furrow_error *err) {
  fw_csv *csv;
  FW_TRY(FW_ALLOC_ZERO(&csv, 1, err));
  *csv = (fw_csv){.rules = {.delimiter = ' ', .blanks = true},
                  .header = FW_CSV_HEADER_NO,
                  .label_column = *furrow_args_text(args, "has_label") == 'n' ? FW_CSV_NO_COLUMN : 0,
                  .labels = true,
                  .weight_column = FW_CSV_NO_COLUMN};
  *state = csv;
  return FURROW_OK;
}

const fw_format fw_format_csv = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "csv",
               .description = "cells of numbers between delimiters",
               .args = csv_args,
               .nargs = sizeof csv_args / sizeof csv_args[0],
               .open = open_csv,
               .parse_line = parse_line,
               .close = close_csv},
    .parse_chunk = fw_csv_chunk,
    .look = look,
    .skip_head = skip_head,
    .columns = FW_COLUMN_LABEL | FW_COLUMN_WEIGHT | FW_COLUMN_QID | FW_COLUMN_VALUE,
    .column_name = fw_csv_column_name,
    .column_count = fw_csv_column_count,
    .special_column = fw_csv_special_column,
};

const fw_format fw_format_dense = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "dense",
               .description = "label value value … between blanks (Angel's dense text)",
               .args = dense_args,
               .nargs = sizeof dense_args / sizeof dense_args[0],
               .open = open_dense,
               .parse_line = parse_line,
               .close = close_csv},
    .parse_chunk = fw_csv_chunk,
    .look = look_dense,
    .columns = FW_COLUMN_LABEL | FW_COLUMN_WEIGHT | FW_COLUMN_QID | FW_COLUMN_VALUE,
};
