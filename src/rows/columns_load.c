/* rows/columns_load.c: reads a table into typed columns. All cells are kept as texts until the last row is read,
 * because any of them may decide the type of its column. */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/params.h"
#include "columns/owned_columns.h"
#include "furrow/table.h"
#include "kern/text/time_cell.h"
#include "rows/table/text_table.h"

enum { MOST_DIGITS = 15, MOST_COLUMNS = 10000 };

/* The cells of a column. */
typedef struct cell_list {
  fw_buffer texts;   /* each ended by a 0 */
  uint64_t *offsets; /* of each row; MISSING: it has no value */
  size_t capacity;
  bool lists;   /* a cell is a list */
  bool strings; /* a cell of JSON is a string */
} cell_list;

#define MISSING UINT64_MAX

typedef struct loading {
  char **names;
  cell_list *cells;
  size_t count, rows;
  fw_buffer late; /* names of columns that the head does not have, each ended by a 0 */
  bool json;
} loading;

/* ---- Cells ---------------------------------------------------------------------------------------------- */

static furrow_status take_cell(loading *l, size_t c, size_t row, const fw_table_cell *cell, furrow_error *err) {
  cell_list *to = &l->cells[c];
  FW_TRY(FW_GROW(&to->offsets, &to->capacity, row + 1, err));
  to->offsets[row] = cell->kind == FW_TABLE_MISSING ? MISSING : to->texts.size;
  if (cell->kind == FW_TABLE_MISSING) return FURROW_OK;
  to->lists |= cell->kind == FW_TABLE_LIST;
  to->strings |= l->json && !cell->plain;
  if (memchr(cell->text, 0, cell->length)) {
    fw_fail(err, FURROW_E_PARSE, "row %zu has a cell with a byte 0", row + 1);
    fw_error_set_token(err, l->names[c], strlen(l->names[c]));
    return FURROW_E_PARSE;
  }
  fw_buffer_append(&to->texts, cell->text, cell->length);
  fw_buffer_byte(&to->texts, 0);
  return fw_buffer_status(&to->texts, err);
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  loading *l = user;
  (void)piece;
  (void)cursor;
  for (size_t c = 0; c < l->count; c++) {
    const fw_table_cell *cells = fw_table_cells(batch, c);
    for (size_t i = 0; i < batch->records; i++) FW_TRY(take_cell(l, c, l->rows + i, &cells[i], err));
  }
  l->rows += batch->records;
  return FURROW_OK;
}

/* Remembers a column of JSON that the head does not have. */
static furrow_status note_late(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err) {
  loading *l = user;
  (void)offset;
  for (const char *at = l->late.bytes; at && at < l->late.bytes + l->late.size; at += strlen(at) + 1)
    if (strlen(at) == length && memcmp(at, name, length) == 0) return FURROW_OK;
  fw_buffer_append(&l->late, name, length);
  fw_buffer_byte(&l->late, 0);
  return fw_buffer_status(&l->late, err);
}

static void forget_cells(loading *l) {
  for (size_t c = 0; l->cells && c < l->count; c++) {
    fw_buffer_clear(&l->cells[c].texts);
    fw_free(l->cells[c].offsets);
  }
  fw_free(l->cells);
  l->cells = NULL;
  l->rows = 0;
}

static furrow_status add_name(loading *l, const char *name, furrow_error *err) {
  if (l->count == MOST_COLUMNS)
    return fw_fail(err, FURROW_E_FORMAT, "the table has more than %d columns", MOST_COLUMNS);
  FW_TRY(FW_REALLOC(&l->names, l->count + 1, err));
  FW_TRY(fw_strndup(&l->names[l->count], name, strlen(name), err));
  l->count++;
  return FURROW_OK;
}

/* Uses one thread, so that rows stay in the order of the file. */
static furrow_status scan(loading *l, fw_table_source *source, furrow_error *err) {
  fw_table *table = NULL;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  void *const users[1] = {l};
  furrow_status status = FW_ALLOC_ZERO(&l->cells, l->count, err);
  if (status == FURROW_OK)
    status =
        fw_table_create(&table, fw_table_source_layout(source), (const char *const *)l->names, l->count, NULL, err);
  const fw_table_scan_params params = {.threads = 1, .other_column = note_late};
  if (status == FURROW_OK) status = fw_table_scan(source, table, &params, users, take_batch, &stats, err);
  fw_table_free(table);
  return status;
}

/* Reads the cells, a second time if columns appear that the first records do not have. */
static furrow_status read_cells(loading *l, const char *uri, furrow_error *err) {
  fw_table_source *source = NULL;
  FW_TRY(fw_table_source_open(&source, uri, err));
  const fw_table_layout *layout = fw_table_source_layout(source);
  furrow_status status = FURROW_OK;
  l->json = layout->kind == FW_TABLE_JSON;
  if (!l->json && !layout->header) {
    status = fw_fail(err, FURROW_E_FORMAT, "the table has no names of columns in its first line");
    fw_error_set_file(err, uri);
  }
  for (size_t i = 0; status == FURROW_OK && i < layout->columns; i++) status = add_name(l, layout->names[i], err);
  if (status == FURROW_OK) status = scan(l, source, err);
  if (status == FURROW_OK && l->late.size > 0) {
    forget_cells(l);
    for (const char *at = l->late.bytes; status == FURROW_OK && at < l->late.bytes + l->late.size; at += strlen(at) + 1)
      status = add_name(l, at, err);
    if (status == FURROW_OK && !fw_table_source_repeats(source))
      status = fw_fail(err, FURROW_E_UNSUPPORTED,
                       "a column appears for the first time far into the stream; write it to a file first");
    if (status == FURROW_OK) status = scan(l, source, err);
  }
  fw_table_source_close(source);
  return status;
}

/* ---- Types ---------------------------------------------------------------------------------------------- */

/* true, false: 1, 0. */
static bool read_truth(const char *text, double *number) {
  *number = strcasecmp(text, "true") == 0;
  return *number == 1 || strcasecmp(text, "false") == 0;
}

/* Codes are not numbers: 007, integers of more digits than a double has. The word nan is a missing number. */
static bool read_number(const char *text, double *number) {
  const size_t length = strlen(text);
  const char *digits = text + (*text == '-' || *text == '+');
  if (fw_read_f64(text, text + length, number) != text + length) return false;
  if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return false;
  return strspn(digits, "0123456789") <= MOST_DIGITS;
}

static bool read_date(const char *text, fw_time_unit unit, double *seconds) {
  return fw_time_parse(text, strlen(text), unit, seconds);
}

/* Whether all cells that are not missing pass a test; `any`: there is one. */
typedef struct verdict {
  bool any, numbers, truths, iso, day_first, month_first, bars;
  size_t parts; /* between bars */
} verdict;

static void judge(verdict *v, const char *text) {
  double number;
  v->any = true;
  v->numbers = v->numbers && read_number(text, &number);
  v->truths = v->truths && read_truth(text, &number);
  v->iso = v->iso && read_date(text, FW_UNIT_TEXT, &number);
  v->day_first = v->day_first && read_date(text, FW_UNIT_DAY_FIRST, &number);
  v->month_first = v->month_first && read_date(text, FW_UNIT_MONTH_FIRST, &number);
  v->parts++;
  for (; (text = strchr(text, '|')); text++) {
    v->bars = true;
    v->parts++;
  }
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Splits texts at bars, in place, and counts the different parts. */
static furrow_status count_parts(const cell_list *cells, size_t parts, size_t *different, furrow_error *err) {
  fw_buffer copy = {0};
  const char **list = NULL;
  size_t count = 0;
  fw_buffer_append(&copy, cells->texts.bytes, cells->texts.size);
  furrow_status status = fw_buffer_status(&copy, err);
  if (status == FURROW_OK) status = FW_ALLOC(&list, parts, err);
  for (size_t i = 0; status == FURROW_OK && i < copy.size; i++) {
    if (i == 0 || !copy.bytes[i - 1]) list[count++] = copy.bytes + i;
    if (copy.bytes[i] == '|') copy.bytes[i] = 0;
  }
  if (status == FURROW_OK) qsort((void *)list, count, sizeof *list, compare_texts);
  *different = 0;
  for (size_t i = 0; status == FURROW_OK && i < count; i++) *different += i == 0 || strcmp(list[i], list[i - 1]) != 0;
  fw_free((void *)list);
  fw_buffer_clear(&copy);
  return status;
}

/* How the cells of a column are read. */
typedef struct reading {
  furrow_column_type type;
  fw_time_unit unit;
} reading;

static fw_time_unit unit_of(const verdict *v) {
  if (v->iso || v->day_first == v->month_first) return FW_UNIT_TEXT;
  return v->day_first ? FW_UNIT_DAY_FIRST : FW_UNIT_MONTH_FIRST;
}

static furrow_status find_type(const loading *l, size_t c, const furrow_column_type *given, reading *form,
                               furrow_error *err) {
  const cell_list *cells = &l->cells[c];
  verdict v = {.numbers = true, .truths = true, .iso = true, .day_first = true, .month_first = true};
  size_t different = 0;
  for (size_t i = 0; i < l->rows; i++)
    if (cells->offsets[i] != MISSING) judge(&v, cells->texts.bytes + cells->offsets[i]);
  *form = (reading){.type = FURROW_COLUMN_TEXT, .unit = unit_of(&v)};
  if (given) {
    form->type = *given;
  } else if (cells->lists) {
    form->type = FURROW_COLUMN_SET;
  } else if (v.any && ((v.numbers && !cells->strings) || v.truths)) {
    form->type = FURROW_COLUMN_NUMBER;
  } else if (v.any && (v.iso || v.day_first != v.month_first)) {
    form->type = FURROW_COLUMN_TIME;
  } else if (v.bars) {
    FW_TRY(count_parts(cells, v.parts, &different, err));
    if (different <= v.parts / 2) form->type = FURROW_COLUMN_SET;
  }
  return FURROW_OK;
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

static furrow_status fail_cell(const loading *l, size_t c, size_t row, const char *what, furrow_error *err) {
  const char *text = l->cells[c].texts.bytes + l->cells[c].offsets[row];
  fw_fail(err, FURROW_E_PARSE, "row %zu, column %s: this is not a %s", row + 1, l->names[c], what);
  fw_error_set_token(err, text, strlen(text));
  return FURROW_E_PARSE;
}

static furrow_status make_numbers(const loading *l, size_t c, const reading *form, fw_arena *arena,
                                  furrow_column *column, furrow_error *err) {
  const cell_list *cells = &l->cells[c];
  double *numbers = NULL;
  FW_TRY(FW_ARENA_TAKE(arena, &numbers, l->rows, err));
  for (size_t i = 0; i < l->rows; i++) {
    numbers[i] = NAN;
    if (cells->offsets[i] == MISSING) continue;
    const char *text = cells->texts.bytes + cells->offsets[i];
    bool read;
    if (form->type == FURROW_COLUMN_NUMBER)
      read =
          fw_read_f64(text, text + strlen(text), &numbers[i]) == text + strlen(text) || read_truth(text, &numbers[i]);
    else
      read = read_date(text, form->unit, &numbers[i]) || read_date(text, FW_UNIT_SECONDS, &numbers[i]);
    if (!read) return fail_cell(l, c, i, furrow_column_type_name(form->type), err);
  }
  column->numbers = numbers;
  return FURROW_OK;
}

static furrow_status make_texts(const loading *l, size_t c, char *bytes, fw_arena *arena, furrow_column *column,
                                furrow_error *err) {
  const char **texts = NULL;
  FW_TRY(FW_ARENA_TAKE(arena, &texts, l->rows, err));
  for (size_t i = 0; i < l->rows; i++) {
    const uint64_t at = l->cells[c].offsets[i];
    texts[i] = at == MISSING ? NULL : bytes + at;
  }
  column->texts = texts;
  return FURROW_OK;
}

/* Elements are separated by | or, in lists, by FW_TABLE_LIST_SEPARATOR; empty ones do not count. */
static furrow_status make_sets(const loading *l, size_t c, char *bytes, fw_arena *arena, furrow_column *column,
                               furrow_error *err) {
  const cell_list *cells = &l->cells[c];
  const char separator = cells->lists ? FW_TABLE_LIST_SEPARATOR : '|';
  const char **texts = NULL;
  uint64_t *starts = NULL;
  size_t most = 0, count = 0;
  for (size_t i = 0; i < cells->texts.size; i++) most += bytes[i] == separator || bytes[i] == 0;
  FW_TRY(FW_ARENA_TAKE(arena, &texts, most, err));
  FW_TRY(FW_ARENA_TAKE(arena, &starts, l->rows + 1, err));
  for (size_t i = 0; i < l->rows; i++) {
    starts[i] = count;
    if (cells->offsets[i] == MISSING) continue;
    for (char *at = bytes + cells->offsets[i], *end = at; end; at = end + 1) {
      end = strchr(at, separator);
      if (end) *end = 0;
      if (*at) texts[count++] = at;
    }
  }
  starts[l->rows] = count;
  column->texts = texts;
  column->starts = starts;
  return FURROW_OK;
}

static furrow_status make_column(const loading *l, size_t c, const reading *form, fw_arena *arena,
                                 furrow_column *column, furrow_error *err) {
  const cell_list *cells = &l->cells[c];
  char *bytes = NULL, *name = NULL;
  FW_TRY(FW_ARENA_TAKE(arena, &name, strlen(l->names[c]) + 1, err));
  memcpy(name, l->names[c], strlen(l->names[c]) + 1);
  *column = (furrow_column){.name = name, .type = form->type};
  if (form->type == FURROW_COLUMN_NUMBER || form->type == FURROW_COLUMN_TIME)
    return make_numbers(l, c, form, arena, column, err);
  FW_TRY(FW_ARENA_TAKE(arena, &bytes, cells->texts.size + 1, err));
  if (cells->texts.size) memcpy(bytes, cells->texts.bytes, cells->texts.size);
  return form->type == FURROW_COLUMN_SET ? make_sets(l, c, bytes, arena, column, err)
                                         : make_texts(l, c, bytes, arena, column, err);
}

static const furrow_column_type *given_type(const furrow_columns_params *params, const char *name) {
  for (size_t i = 0; i < params->typed; i++)
    if (strcmp(params->names[i], name) == 0) return &params->types[i];
  return NULL;
}

static furrow_status make_columns(const loading *l, const furrow_columns_params *params, fw_owned_columns *made,
                                  furrow_error *err) {
  furrow_column *columns = NULL;
  FW_TRY(FW_ARENA_TAKE(&made->arena, &columns, l->count, err));
  for (size_t c = 0; c < l->count; c++) {
    reading form;
    FW_TRY(find_type(l, c, given_type(params, l->names[c]), &form, err));
    FW_TRY(make_column(l, c, &form, &made->arena, &columns[c], err));
  }
  made->view = (furrow_columns){.columns = columns, .count = l->count, .rows = l->rows};
  return FURROW_OK;
}

static void free_owned(fw_owned_columns *columns) {
  furrow_columns_free((furrow_columns *)columns);
}

furrow_status furrow_columns_load(furrow_columns **columns, const char *uri, const furrow_columns_params *params,
                                  furrow_error *err) {
  furrow_columns_params p;
  loading l = {0};
  fw_owned_columns *made = NULL;
  furrow_columns_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_columns_params, err));
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) status = read_cells(&l, uri, err);
  if (status == FURROW_OK) {
    status = make_columns(&l, &p, made, err);
    if (status != FURROW_OK) fw_error_set_file(err, uri);
  }
  forget_cells(&l);
  for (size_t c = 0; c < l.count; c++) fw_free(l.names[c]);
  fw_free(l.names);
  fw_buffer_clear(&l.late);
  return FW_HAND_OVER(status, (fw_owned_columns **)columns, made, free_owned);
}
