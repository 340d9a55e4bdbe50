/* rows/text/sparse_fast.c: libsvm, libfm and dummy at memory speed.
 *
 * Marks are the blanks, colons and line ends of the text (all bytes up to ' ', so that unusual bytes are not
 * missed). A token between two marks is a label, a field, an index or a value by its position in the row alone. */
#include <string.h>

#include "base/number_in.h"
#include "kern/simd/unroll.h"
#include "rows/text/rowbuilder.h"
#include "rows/text/sparse.h"
#include "rows/text/token_batch.h"

/* label[:weight] [qid:n] */
INLINE bool scan_head(fw_mark_cursor *w, const fw_sparse_kind kind, fw_token_batch *batch) {
  furrow_container *out = batch->chunk->out;
  const size_t row = out->rows;
  out->weight[row] = 1;
  out->qid[row] = 0;
  if (!fw_store_number(out->value_type, w->text + w->at, w->text + fw_mark_cursor_end(w), out->label, row))
    return false;
  if (kind != FW_SPARSE_DUMMY && fw_mark_cursor_end_char(w) == ':') {
    fw_mark_cursor_next(w);
    const char *end = w->text + fw_mark_cursor_end(w);
    if (fw_read_f32(w->text + w->at, end, &out->weight[row]) != end) return false;
    if (batch->first_weight == SIZE_MAX) batch->first_weight = row;
  }
  if (kind == FW_SPARSE_LIBSVM && memcmp(w->text + fw_mark_cursor_end(w) + 1, "qid:", 4) == 0) {
    if (!fw_is_blank(fw_mark_cursor_end_char(w))) return false;
    fw_mark_cursor_next(w); /* to qid */
    fw_mark_cursor_next(w); /* to its number */
    const char *end = w->text + fw_mark_cursor_end(w);
    bool overflow = false;
    if (fw_read_u64(w->text + w->at, end, &out->qid[row], &overflow) != end || overflow) return false;
    if (batch->first_qid == SIZE_MAX) batch->first_qid = row;
  }
  return true;
}

/* Begins a row that starts with a feature. A line without features is not a row. */
INLINE bool scan_unlabelled(fw_mark_cursor *w, fw_token_batch *batch) {
  furrow_container *out = batch->chunk->out;
  out->weight[out->rows] = 1;
  out->qid[out->rows] = 0;
  while (fw_mark_cursor_end(w) == w->at && fw_is_blank(fw_mark_cursor_end_char(w))) fw_mark_cursor_next(w);
  return fw_mark_cursor_end(w) > w->at && w->text[w->at] != '#';
}

/* Scans one feature, whose first token is at the cursor and not empty. */
INLINE bool scan_feature(fw_mark_cursor *w, const fw_sparse_kind kind, const bool values, const fw_window *window,
                         size_t i) {
  if (kind == FW_SPARSE_LIBFM) {
    window->fields[i] = fw_mark_cursor_token(w);
    if (fw_mark_cursor_end_char(w) != ':') return false;
    fw_mark_cursor_next(w);
  }
  window->indices[i] = fw_mark_cursor_token(w);
  if (!values) return fw_mark_cursor_end_char(w) != ':';
  if (fw_mark_cursor_end_char(w) != ':') return false;
  fw_mark_cursor_next(w);
  window->values[i] = fw_mark_cursor_token(w);
  return true;
}

static void skip_comment(fw_mark_cursor *w) {
  while (!fw_is_line_end(fw_mark_cursor_end_char(w))) w->mark++;
}

/* Scans the features from the cursor to the line end, which ends the row. */
INLINE bool scan_features(fw_mark_cursor *cursor, const fw_sparse_kind kind, const bool values,
                          const fw_token_batch *batch) {
  furrow_container *out = batch->chunk->out;
  fw_mark_cursor w = *cursor;
  size_t i = fw_token_batch_features(batch);
  for (;;) {
    if (fw_mark_cursor_end(&w) > w.at) {
      if (w.comments && w.text[w.at] == '#') {
        skip_comment(&w);
        break;
      }
      if (!scan_feature(&w, kind, values, batch->window, i)) return false;
      i++;
    }
    if (!fw_is_blank(fw_mark_cursor_end_char(&w))) break;
    fw_mark_cursor_next(&w);
  }
  if (!fw_is_line_end(fw_mark_cursor_end_char(&w))) return false;
  *cursor = w;
  out->features = batch->features + i;
  out->rows++;
  out->offset[out->rows] = out->features;
  return true;
}

INLINE fw_row_outcome scan_row(fw_mark_cursor *w, const fw_sparse_kind kind, fw_token_batch *batch) {
  if (batch->unlabelled) {
    if (!scan_unlabelled(w, batch)) return FW_ROW_IRREGULAR;
  } else {
    if (!scan_head(w, kind, batch)) return FW_ROW_IRREGULAR;
    w->at = fw_mark_cursor_end(w);
    while (fw_is_blank(fw_mark_cursor_end_char(w))) {
      fw_mark_cursor_next(w);
      if (fw_mark_cursor_end(w) > w->at) break;
    }
  }
  /* the first feature decides whether this row has values */
  const uint32_t *index_end = w->marks + w->mark + (kind == FW_SPARSE_LIBFM && fw_mark_cursor_end_char(w) == ':');
  const bool values = kind != FW_SPARSE_DUMMY && w->text[*index_end] == ':';
  if (values != batch->values && fw_token_batch_features(batch) > 0) return FW_ROW_OTHER_COLUMNS;
  batch->values = values;
  const bool taken = values ? scan_features(w, kind, true, batch) : scan_features(w, kind, false, batch);
  return taken ? FW_ROW_ADDED : FW_ROW_IRREGULAR;
}

static fw_row_outcome scan_libsvm(fw_mark_cursor *cursor, fw_token_batch *batch) {
  return scan_row(cursor, FW_SPARSE_LIBSVM, batch);
}

static fw_row_outcome scan_libfm(fw_mark_cursor *cursor, fw_token_batch *batch) {
  return scan_row(cursor, FW_SPARSE_LIBFM, batch);
}

static fw_row_outcome scan_dummy(fw_mark_cursor *cursor, fw_token_batch *batch) {
  return scan_row(cursor, FW_SPARSE_DUMMY, batch);
}

/* ---- Whole windows -------------------------------------------------------------------------------------- */

/* The marks of 64 tokens at a time, and the last marks before them. */
typedef struct word {
  uint64_t all, colons, spaces;
  uint64_t after_space;
} word;

static word load_word(const fw_marks *marks, size_t i, const word *before) {
  word w;
  const size_t left = marks->count - 64 * i;
  w.all = left >= 64 ? ~0ull : ~0ull >> (64 - left);
  w.colons = marks->extras[i];
  w.spaces = w.all & ~(w.colons | marks->ends[i]);
  w.after_space = (w.spaces << 1 | before->spaces >> 63) & w.all;
  return w;
}

/* label (index:value)*: a label ends at a space or line end, an index at a colon, a value at a space or line end. */
static bool are_valued(const fw_marks *marks) {
  word w = {0};
  uint64_t wrong = 0;
  for (size_t i = 0; i < fw_bit_words(marks->count); i++) {
    w = load_word(marks, i, &w);
    wrong |= w.after_space ^ w.colons;
  }
  return wrong == 0;
}

/* label index*: no colon at all. */
static bool are_bare(const fw_marks *marks) {
  uint64_t colons = 0;
  for (size_t i = 0; i < fw_bit_words(marks->count); i++) colons |= marks->extras[i];
  return colons == 0;
}

/* label (field:index:value)*: two colons and then another mark follow each space. */
static bool are_fielded(const fw_marks *marks) {
  word w = {0};
  uint64_t wrong = 0;
  uint64_t first_before = 0;
  for (size_t i = 0; i < fw_bit_words(marks->count); i++) {
    w = load_word(marks, i, &w);
    const uint64_t first = w.after_space;
    wrong |= w.colons ^ (first | ((first << 1 | first_before >> 63) & w.all));
    first_before = first;
  }
  return wrong == 0;
}

/* Adds the rows. Each ends at a LF and has one mark per list for each of its features; the tokens are distributed to
 * the lists. */
static bool add_rows(fw_token_batch *batch, size_t lists, fw_token *const *tokens) {
  const fw_window *window = batch->window;
  const fw_tokenizer *kern = fw_tokenizer_table();
  const uint32_t *offsets = window->marks.offsets;
  furrow_container *out = batch->chunk->out;
  fw_token *label = window->labels;
  uint32_t mark = 0;
  for (size_t i = 0; i < fw_bit_words(window->marks.count); i++) {
    for (uint64_t ends = window->marks.ends[i]; ends; ends &= ends - 1) {
      const uint32_t end = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(ends);
      const uint32_t line = mark == 0 ? 0 : offsets[mark - 1] + 1;
      fw_token *next[3];
      for (size_t k = 0; k < lists; k++) next[k] = tokens[k] + fw_token_batch_features(batch);
      *label++ = fw_token_make(offsets[mark], offsets[mark] - line);
      kern->deal_tokens(offsets + mark + 1, end - mark, lists, next);
      fw_token_batch_add_row(batch, line, mark, (end - mark) / lists);
      mark = end + 1;
    }
  }
  if (fw_token_batch_read_labels(batch)) return true;
  out->rows = batch->rows;
  out->features = batch->features;
  return false;
}

static bool take_bare_features(fw_token_batch *batch) {
  if (batch->unlabelled || !are_bare(&batch->window->marks)) return false;
  batch->values = false;
  return add_rows(batch, 1, &batch->window->indices);
}

static bool take_features(fw_token_batch *batch) {
  if (batch->unlabelled) return false;
  if (!are_valued(&batch->window->marks)) return take_bare_features(batch);
  fw_token *const tokens[] = {batch->window->indices, batch->window->values};
  batch->values = true;
  return add_rows(batch, 2, tokens);
}

static bool take_fielded_features(fw_token_batch *batch) {
  if (batch->unlabelled || !are_fielded(&batch->window->marks)) return false;
  fw_token *const tokens[] = {batch->window->fields, batch->window->indices, batch->window->values};
  batch->values = true;
  return add_rows(batch, 3, tokens);
}

/* ---- Chunks --------------------------------------------------------------------------------------------- */

static furrow_status read_chunk(const fw_sparse *format, fw_chunk *chunk, fw_window_parser *window, fw_row_scanner *row,
                                furrow_error *err) {
  fw_window w = {0};
  fw_token_batch batch = {.chunk = chunk, .window = &w, .base = format->base, .indices = true};
  batch.fields = chunk->out->has_field = format->kind == FW_SPARSE_LIBFM;
  batch.unlabelled = format->unlabelled;
  chunk->out->has_label = !format->unlabelled;
  furrow_status status = fw_token_batch_parse_chunk(&batch, ' ', ':', window, row, err);
  chunk->out->has_field &= chunk->out->features > 0;
  return status;
}

furrow_status fw_libsvm_chunk(const void *state, fw_chunk *chunk, furrow_error *err) {
  return read_chunk(state, chunk, take_features, scan_libsvm, err);
}

furrow_status fw_libfm_chunk(const void *state, fw_chunk *chunk, furrow_error *err) {
  return read_chunk(state, chunk, take_fielded_features, scan_libfm, err);
}

furrow_status fw_dummy_chunk(const void *state, fw_chunk *chunk, furrow_error *err) {
  return read_chunk(state, chunk, take_bare_features, scan_dummy, err);
}
