/* rows/text/csv_fast.c: csv and dense at memory speed: lines of plain numbers and empty cells.
 *
 * Marks are the delimiters and line ends (and all control bytes, so that unusual bytes are not missed). */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "rows/block/elements.h"
#include "rows/text/csv.h"
#include "rows/text/rowbuilder.h"
#include "rows/text/token_batch.h"

/* A batch that knows its format. */
typedef struct csv_batch {
  fw_token_batch batch; /* the first member, so that a pointer to it converts to csv_batch */
  const fw_csv *csv;
} csv_batch;

static inline bool is_delimiter(const fw_csv *csv, char c) {
  return c == csv->rules.delimiter || (csv->rules.blanks && c == '\t');
}

/* Reads the cell of the label or the weight. */
static bool read_special(const fw_mark_cursor *w, csv_batch *b, size_t column) {
  furrow_container *out = b->batch.chunk->out;
  const char *begin = w->text + w->at;
  const char *end = w->text + fw_mark_cursor_end(w);
  if (column == b->csv->label_column) return fw_store_number(out->value_type, begin, end, out->label, out->rows);
  float *weight = &out->weight[out->rows];
  if (fw_read_f32(begin, end, weight) != end || *weight != *weight) return false;
  if (b->batch.first_weight == SIZE_MAX) b->batch.first_weight = out->rows;
  return true;
}

typedef enum cell_kind { CELL_NUMBER, CELL_MISSING, CELL_ODD } cell_kind;

/* Removes the quotes of a quoted cell. Blanks inside of the quotes are left to the slow path, and so is a cell that
 * contains delimiters, because each of its pieces lacks a quote. */
static cell_kind take_quoted(const fw_mark_cursor *w, fw_token *token) {
  const char *begin = w->text + w->at + 1;
  const char *end = w->text + fw_mark_cursor_end(w) - 1;
  if (end < begin || *end != '"') return CELL_ODD;
  if (end == begin) return CELL_MISSING;
  *token = fw_token_make(fw_mark_cursor_end(w) - 1, (uint32_t)(end - begin));
  return fw_is_blank(*begin) || fw_is_blank(end[-1]) ? CELL_ODD : CELL_NUMBER;
}

/* Classifies the cell by its first byte; the batch later finds out whether it is really a number. */
static inline cell_kind take_cell(const fw_mark_cursor *w, const fw_csv *csv, fw_token *token) {
  const char *begin = w->text + w->at;
  const char *end = w->text + fw_mark_cursor_end(w);
  *token = fw_mark_cursor_token(w);
  if (begin == end) return csv->rules.blanks ? CELL_ODD : CELL_MISSING;
  if (fw_is_digit(*begin) || *begin == '-' || csv->rules.blanks) return CELL_NUMBER;
  if (*begin == '"') return take_quoted(w, token);
  const fw_cell cell = {.begin = begin, .end = end};
  return fw_cell_is_missing(&cell) ? CELL_MISSING : CELL_NUMBER;
}

/* Whether the text of an ignored cell cannot change how the line is read: it has no quote and no comment. */
static bool is_plain(const fw_mark_cursor *w) {
  const char *begin = w->text + w->at;
  const size_t length = fw_mark_cursor_end(w) - w->at;
  return !memchr(begin, '"', length) && !memchr(begin, '#', length);
}

static fw_row_outcome scan_row(fw_mark_cursor *cursor, fw_token_batch *batch) {
  csv_batch *b = (csv_batch *)batch;
  const fw_csv *csv = b->csv;
  furrow_container *out = batch->chunk->out;
  const bool label = csv->label_column != FW_CSV_NO_COLUMN;
  if ((label && !csv->labels) || cursor->text[cursor->at] == '#') return FW_ROW_IRREGULAR;
  bool open = false; /* the line ends with a delimiter */
  fw_mark_cursor w = *cursor;
  fw_token *values = batch->window->values;
  size_t i = fw_token_batch_features(batch);
  size_t column = 0;
  uint64_t index = 0;
  out->weight[out->rows] = 1;
  out->qid[out->rows] = 0;
  for (;;) {
    if (column == csv->label_column || column == csv->weight_column) {
      if (!read_special(&w, b, column)) return FW_ROW_IRREGULAR;
    } else if (csv->roles && (column >= csv->width || csv->roles[column] == FW_CSV_NO_COLUMN)) {
      if (!is_plain(&w)) return FW_ROW_IRREGULAR;
    } else {
      const cell_kind kind = take_cell(&w, csv, &values[i]);
      if (kind == CELL_ODD) return FW_ROW_IRREGULAR;
      fw_store_index(out->key_type, out->index, batch->features + i, csv->roles ? csv->roles[column] : index++);
      i += kind == CELL_NUMBER;
    }
    column++;
    if (!is_delimiter(csv, fw_mark_cursor_end_char(&w))) break;
    fw_mark_cursor_next(&w);
    open = fw_mark_cursor_end(&w) == w.at && fw_is_line_end(fw_mark_cursor_end_char(&w));
    if (open) break; /* the last delimiter ends the row */
  }
  if (!fw_is_line_end(fw_mark_cursor_end_char(&w)) || (label && column <= csv->label_column)) return FW_ROW_IRREGULAR;
  if (csv->width && column != csv->width && !(open && !csv->rules.blanks && column + 1 == csv->width))
    return FW_ROW_IRREGULAR;
  *cursor = w;
  out->has_label = label;
  out->features = batch->features + i;
  out->rows++;
  out->offset[out->rows] = out->features;
  return FW_ROW_ADDED;
}

/* ---- Whole windows -------------------------------------------------------------------------------------- */

static void clear_bit(uint64_t *bits, size_t i) {
  bits[i / 64] &= ~(1ull << i % 64);
}

/* Writes the indices of the features to come. as_before: the previous row has as many features, so its indices are
 * copied. */
static void number_features(const fw_csv *csv, furrow_container *out, size_t n, bool as_before) {
  const size_t size = furrow_key_size(out->key_type);
  char *here = (char *)out->index + out->features * size;
  if (as_before)
    memcpy(here, here - n * size, n * size);
  else
    for (size_t i = 0; i < n; i++) fw_store_index(out->key_type, here, i, csv->roles ? csv->kept[i] : i);
}

/* Returns a cursor at the cell that ends at a mark. */
static fw_mark_cursor cell_at(const fw_window *window, uint32_t mark) {
  const uint32_t *offsets = window->marks.offsets;
  return (fw_mark_cursor){
      .text = window->lines, .marks = offsets, .mark = mark, .at = mark == 0 ? 0 : offsets[mark - 1] + 1};
}

/* Removes the cells of ignored columns from the tokens to read. */
static bool leave_out(const csv_batch *b, uint32_t first) {
  const fw_window *window = b->batch.window;
  for (size_t i = 0; i < b->csv->nskipped; i++) {
    const fw_mark_cursor at = cell_at(window, first + (uint32_t)b->csv->skipped[i]);
    if (!is_plain(&at)) return false;
    clear_bit(window->bits, at.mark);
  }
  return true;
}

/* Adds the row whose cells end at marks first … last: reads the weight and notes the label; the other cells are
 * features. */
static bool add_row(csv_batch *b, uint32_t first, uint32_t last, bool as_before) {
  fw_token_batch *batch = &b->batch;
  const fw_window *window = batch->window;
  const uint32_t *offsets = window->marks.offsets;
  const uint32_t line = first == 0 ? 0 : offsets[first - 1] + 1;
  size_t features = (size_t)last - first + 1;
  if (b->csv->width && features != b->csv->width) return false;
  const size_t specials[2] = {b->csv->label_column, b->csv->weight_column};
  furrow_container *out = batch->chunk->out;
  out->weight[out->rows] = 1;
  for (size_t i = 0; i < 2; i++) {
    if (specials[i] == FW_CSV_NO_COLUMN) continue;
    if (specials[i] > last - first) return false;
    const uint32_t mark = first + (uint32_t)specials[i];
    const fw_mark_cursor at = cell_at(window, mark);
    if (i == 0)
      window->labels[out->rows - batch->rows] = fw_mark_cursor_token(&at);
    else if (!read_special(&at, b, specials[i]))
      return false;
    clear_bit(window->bits, mark);
    features--;
  }
  if (b->csv->roles && !leave_out(b, first)) return false;
  if (b->csv->roles) features -= b->csv->nskipped;
  const float weight = out->weight[out->rows];
  number_features(b->csv, out, features, as_before);
  fw_token_batch_add_row(batch, line, first, features);
  out->weight[out->rows - 1] = weight;
  return true;
}

/* Adds all rows of the window. */
static bool add_window_rows(csv_batch *b) {
  const fw_marks *marks = &b->batch.window->marks;
  uint32_t first = 0;
  uint32_t cells = 0; /* of the previous row */
  for (size_t i = 0; i < fw_bit_words(marks->count); i++) {
    for (uint64_t ends = marks->ends[i]; ends; ends &= ends - 1) {
      const uint32_t last = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(ends);
      if (!add_row(b, first, last, last - first + 1 == cells)) return false;
      cells = last - first + 1;
      first = last + 1;
    }
  }
  return b->csv->label_column == FW_CSV_NO_COLUMN || fw_token_batch_read_labels(&b->batch);
}

static bool take_window(fw_token_batch *batch) {
  csv_batch *b = (csv_batch *)batch;
  const fw_window *window = batch->window;
  furrow_container *out = batch->chunk->out;
  const bool label = b->csv->label_column != FW_CSV_NO_COLUMN;
  if (label && !b->csv->labels) return false;
  memset(window->bits, 0xff, fw_bit_words(window->marks.count) * sizeof(uint64_t));
  if (!add_window_rows(b)) {
    out->rows = batch->rows;
    out->features = batch->features;
    batch->first_weight = SIZE_MAX;
    return false;
  }
  out->has_label = label;
  const uint64_t *const bits[] = {window->bits};
  fw_token *const tokens[] = {window->values};
  fw_tokenizer_table()->pick_tokens(window->marks.offsets, window->marks.count, 1, bits, tokens);
  return true;
}

furrow_status fw_csv_chunk(const void *state, fw_chunk *chunk, furrow_error *err) {
  const fw_csv *csv = state;
  fw_window window = {0};
  csv_batch b = {.batch = {.chunk = chunk, .window = &window, .values = true}, .csv = csv};
  FW_TRY(FW_GROW(&chunk->scratch, &chunk->scratch_capacity, csv->nwanted, err));
  const furrow_status status = fw_token_batch_parse_chunk(&b.batch, csv->rules.blanks ? ' ' : 0x1f,
                                                          csv->rules.delimiter, take_window, scan_row, err);
  if (csv->roles) fw_csv_sort_rows(csv, chunk->out, chunk->scratch);
  return status;
}
