/* rows/text/token_batch.c: turns the marks of a window into rows, a batch at a time. */
#include "rows/text/token_batch.h"

#include <string.h>

#include "base/number_in.h"
#include "rows/text/format.h"
#include "rows/text/rowbuilder.h"

/* ---- Reading tokens ------------------------------------------------------------------------------------- */

bool fw_store_number(furrow_value_type type, const char *begin, const char *end, void *column, size_t i) {
  bool overflow = false;
  switch (type) {
  case FURROW_VALUE_F32:
    if (end - begin == 1 && fw_is_digit(*begin)) { /* most labels are one digit */
      ((float *)column)[i] = (float)(*begin - '0');
      return true;
    }
    return fw_read_f32(begin, end, (float *)column + i) == end;
  case FURROW_VALUE_I32: return fw_read_i32(begin, end, (int32_t *)column + i, &overflow) == end && !overflow;
  case FURROW_VALUE_I64: return fw_read_i64(begin, end, (int64_t *)column + i, &overflow) == end && !overflow;
  }
  return false;
}

static bool store_index(furrow_key_type type, const char *begin, const char *end, void *column, size_t i) {
  bool overflow = false;
  const char *after = type == FURROW_KEY_U32 ? fw_read_u32(begin, end, (uint32_t *)column + i, &overflow)
                                             : fw_read_u64(begin, end, (uint64_t *)column + i, &overflow);
  return after == end && !overflow;
}

/* Returns the text of a token; empty if its length is not known. Blanks around a number in csv are not part of it. */
static const char *token_text(const char *text, fw_token token, bool trim, const char **end) {
  const uint32_t length = fw_token_length(token);
  const char *e = text + fw_token_end(token);
  const char *b = length < FW_TOKEN_LENGTH ? e - length : e;
  while (trim && b < e && fw_is_blank(*b)) b++;
  while (trim && b < e && fw_is_blank(e[-1])) e--;
  *end = e;
  return b;
}

/* Subtracts 1 from n indices; returns the position of the first that is 0, or n. */
static size_t subtract_base(furrow_key_type type, void *column, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (type == FURROW_KEY_U32 ? ((uint32_t *)column)[i]-- == 0 : ((uint64_t *)column)[i]-- == 0) return i;
  return n;
}

/* Reads n index tokens to `column`; returns the position of the first that is not an index, or n. */
static size_t read_indices(const fw_token_batch *batch, const fw_token *tokens, size_t n, void *column) {
  const char *text = batch->window->lines;
  const furrow_key_type type = batch->chunk->out->key_type;
  uint32_t *refused = batch->window->refused;
  const fw_tokenizer *kern = fw_tokenizer_table();
  const size_t count = type == FURROW_KEY_U32 ? kern->read_u32(text, tokens, n, column, refused)
                                              : kern->read_u64(text, tokens, n, column, refused);
  for (size_t k = 0; k < count && refused[k] < n; k++) {
    const char *end;
    const char *begin = token_text(text, tokens[refused[k]], false, &end);
    if (begin == end || !store_index(type, begin, end, column, refused[k])) n = refused[k];
  }
  return batch->base ? subtract_base(type, column, n) : n;
}

/* Reads n tokens of values or labels to `column`; returns the position of the first that is not a number, or n. */
static size_t read_values(const fw_token_batch *batch, const fw_token *tokens, size_t n, bool trim, void *column) {
  const char *text = batch->window->lines;
  const furrow_value_type type = batch->chunk->out->value_type;
  uint32_t *refused = batch->window->refused;
  size_t count = n;
  if (type == FURROW_VALUE_F32) count = fw_tokenizer_table()->read_f32(text, tokens, n, column, refused);
  for (size_t k = 0; k < count; k++) {
    const size_t i = type == FURROW_VALUE_F32 ? refused[k] : k;
    const char *end;
    const char *begin = token_text(text, tokens[i], trim, &end);
    if (begin == end || !fw_store_number(type, begin, end, column, i)) return i;
  }
  return n;
}

static void fill_ones(furrow_value_type type, void *column, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    if (type == FURROW_VALUE_F32)
      ((float *)column)[i] = 1;
    else if (type == FURROW_VALUE_I32)
      ((int32_t *)column)[i] = 1;
    else
      ((int64_t *)column)[i] = 1;
  }
}

static void *element(void *column, size_t size, size_t i) {
  return (char *)column + size * i;
}

/* Reads the tokens of all features of the batch; returns the number of good ones before the first bad one. */
static size_t read_tokens(const fw_token_batch *batch) {
  furrow_container *out = batch->chunk->out;
  const fw_window *window = batch->window;
  const size_t first = batch->features;
  const size_t index_size = furrow_key_size(out->key_type);
  const size_t value_size = furrow_value_size(out->value_type);
  size_t n = fw_token_batch_features(batch);
  if (batch->fields && n) n = read_indices(batch, window->fields, n, element(out->field, index_size, first));
  if (batch->indices && n) n = read_indices(batch, window->indices, n, element(out->index, index_size, first));
  if (!batch->values)
    fill_ones(out->value_type, out->value, first, first + n);
  else if (n)
    n = read_values(batch, window->values, n, !batch->indices, element(out->value, value_size, first));
  return n;
}

bool fw_token_batch_read_labels(const fw_token_batch *batch) {
  const furrow_container *out = batch->chunk->out;
  const size_t n = out->rows - batch->rows;
  void *column = element(out->label, furrow_value_size(out->value_type), batch->rows);
  return read_values(batch, batch->window->labels, n, false, column) == n;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

static void begin_batch(fw_token_batch *batch) {
  batch->rows = batch->chunk->out->rows;
  batch->features = batch->chunk->out->features;
  batch->first_weight = batch->first_qid = SIZE_MAX;
}

/* Parses the line at the cursor on the slow path and moves the cursor past it. */
static furrow_status careful_line(fw_token_batch *batch, fw_mark_cursor *cursor, furrow_error *err) {
  const char *next;
  furrow_status status = fw_chunk_line(batch->chunk, cursor->text + cursor->at, &next, err);
  cursor->at = (uint32_t)(next - cursor->text);
  while (cursor->mark < batch->window->marks.count && fw_mark_cursor_end(cursor) < cursor->at) cursor->mark++;
  begin_batch(batch);
  if (status != FURROW_OK) return status;
  /* features between no-break spaces have no marks, so they used capacity that was reserved for later rows */
  const furrow_container *out = batch->chunk->out;
  const size_t most = batch->window->marks.count - cursor->mark;
  return fw_container_reserve(batch->chunk->out, out->rows + most, out->features + most, batch->chunk->format->columns,
                              err);
}

/* Reads the tokens of the batch and begins a new one. If a row turns out to be irregular, it and all later rows are
 * removed, the row is parsed on the slow path, and the cursor returns to the line after it: *moved. */
static furrow_status read_batch(fw_token_batch *batch, fw_mark_cursor *cursor, bool *moved, furrow_error *err) {
  furrow_container *out = batch->chunk->out;
  const size_t all = fw_token_batch_features(batch);
  const size_t good = read_tokens(batch);
  size_t row = out->rows;
  *moved = good < all;
  if (*moved) {
    row = batch->rows;
    while (out->offset[row + 1] <= batch->features + good) row++;
    out->rows = row;
    out->features = out->offset[row];
  }
  out->has_value |= batch->values && out->features > batch->features;
  out->has_weight |= batch->first_weight < row;
  out->has_qid |= batch->first_qid < row;
  batch->most_rows = *moved ? row - batch->rows + 1 : 2 * batch->most_rows;
  if (*moved) {
    cursor->at = batch->window->row_line[row - batch->rows];
    cursor->mark = batch->window->row_mark[row - batch->rows];
    return careful_line(batch, cursor, err);
  }
  begin_batch(batch);
  return FURROW_OK;
}

void fw_token_batch_add_row(fw_token_batch *batch, uint32_t line, uint32_t mark, size_t features) {
  furrow_container *out = batch->chunk->out;
  const size_t row = out->rows;
  batch->window->row_line[row - batch->rows] = line;
  batch->window->row_mark[row - batch->rows] = mark;
  out->weight[row] = 1;
  out->qid[row] = 0;
  out->features += features;
  out->offset[row + 1] = out->features;
  out->rows = row + 1;
}

static furrow_status scan_rows(fw_token_batch *batch, fw_mark_cursor *cursor, fw_row_scanner *scan_row,
                               furrow_error *err) {
  const fw_window *window = batch->window;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && cursor->at < window->length) {
    if (fw_mark_cursor_end(cursor) == cursor->at && fw_is_line_end(fw_mark_cursor_end_char(cursor))) {
      fw_mark_cursor_next(cursor); /* an empty line, or the LF of a CR LF */
      continue;
    }
    window->row_line[batch->chunk->out->rows - batch->rows] = cursor->at;
    window->row_mark[batch->chunk->out->rows - batch->rows] = cursor->mark;
    const fw_mark_cursor start = *cursor;
    const fw_row_outcome outcome = scan_row(cursor, batch);
    bool moved;
    if (outcome == FW_ROW_ADDED) {
      fw_mark_cursor_next(cursor);
      if (batch->chunk->out->rows - batch->rows == batch->most_rows) status = read_batch(batch, cursor, &moved, err);
      continue;
    }
    *cursor = start;
    status = read_batch(batch, cursor, &moved, err);
    if (status == FURROW_OK && outcome == FW_ROW_IRREGULAR && !moved) status = careful_line(batch, cursor, err);
  }
  return status;
}

static furrow_status read_window(fw_token_batch *batch, fw_window_parser *take_window, fw_row_scanner *scan_row,
                                 furrow_error *err) {
  const fw_window *window = batch->window;
  fw_mark_cursor cursor = {.text = window->lines,
                           .marks = window->marks.offsets,
                           .comments = memchr(window->lines, '#', window->length) != NULL};
  furrow_status status = FURROW_OK;
  bool moved = true;
  begin_batch(batch);
  if (!batch->chunk->irregular && !window->marks.odd && take_window(batch)) {
    cursor.at = (uint32_t)window->length;
    cursor.mark = (uint32_t)window->marks.count;
    status = read_batch(batch, &cursor, &moved, err);
  }
  batch->chunk->irregular |= moved;
  while (status == FURROW_OK && moved) {
    status = scan_rows(batch, &cursor, scan_row, err);
    if (status == FURROW_OK) status = read_batch(batch, &cursor, &moved, err);
  }
  return status;
}

/* Parses a window of one line that is too long for marks. */
static furrow_status careful_window(fw_chunk *chunk, const fw_window *window, furrow_error *err) {
  const char *line = window->lines;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && line < window->lines + window->length) status = fw_chunk_line(chunk, line, &line, err);
  return status;
}

furrow_status fw_token_batch_parse_chunk(fw_token_batch *batch, unsigned char upto, char extra,
                                         fw_window_parser *take_window, fw_row_scanner *scan_row, furrow_error *err) {
  furrow_status status;
  while ((status = fw_chunk_window(batch->chunk, upto, extra, batch->window, err)) == FURROW_OK) {
    status = batch->window->marked ? read_window(batch, take_window, scan_row, err)
                                   : careful_window(batch->chunk, batch->window, err);
    if (status != FURROW_OK) return status;
  }
  return status == FURROW_END ? FURROW_OK : status;
}
