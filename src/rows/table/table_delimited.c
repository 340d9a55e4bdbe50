/* rows/table/table_delimited.c: records of delimited text. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "rows/table/table_reader.h"
#include "rows/text/rowbuilder.h"

#define WINDOW ((size_t)32 << 10)      /* text whose marks are found at a time; it and its lists stay in the cache */
#define MOST_WINDOW ((size_t)16 << 20) /* a longer record is read on the slow path */

static const char newlines_hint[] =
    "if cells hold line ends: FILE?newlines=yes (FILE?…&newlines=yes) reads them; if quotes have no meaning: quotes=no";

/* ---- The slow path: one record -------------------------------------------------------------------------- */

/* Splits the record into cells: up to `columns` cells go to scratch->cells, *count is the total. A delimiter at the
 * end is followed by an empty cell. Returns false if a quote is not closed or text follows it, at last->begin. The
 * line is not empty. */
static bool split_record(const fw_table *table, struct fw_table_scratch *scratch, const char *line, const char *end,
                         size_t *count, fw_cell *last) {
  const size_t columns = table->layout.columns;
  *count = 0;
  for (const char *p = line; p; ++*count) {
    if (!fw_cell_next(&table->rules, &p, end, last)) return false;
    if (*count < columns) scratch->cells[*count] = *last;
  }
  if (end[-1] != table->rules.delimiter) return true;
  *last = (fw_cell){.begin = end, .end = end};
  if (*count < columns) scratch->cells[*count] = *last;
  ++*count;
  return true;
}

static furrow_status wrong_count(const fw_table *table, const fw_table_cursor *cursor, const char *line,
                                 const char *end, size_t count, furrow_error *err) {
  const size_t columns = table->layout.columns;
  char message[128];
  snprintf(message, sizeof message, "%s has %zu %s, this record has %zu",
           table->layout.header ? "the header" : "the first record", columns, fw_plural(columns, "column", "columns"),
           count);
  fw_cell extra = {.begin = end, .end = end};
  const char *p = line;
  for (size_t i = 0; p && i <= columns && count > columns; i++) (void)fw_cell_next(&table->rules, &p, end, &extra);
  return fw_table_bad_record(cursor, line, extra.begin, extra.end, message, NULL, err);
}

static furrow_status wrong_quote(const fw_table_cursor *cursor, const char *line, const char *end, const char *quote,
                                 bool open, furrow_error *err) {
  const char *stop = quote;
  while (stop < end && !fw_is_line_end(*stop)) stop++;
  return fw_table_bad_record(
      cursor, line, quote, stop, open ? "a quote is not closed" : "text follows a quote that closes its cell",
      open ? newlines_hint : "write a quote inside a cell in quotes twice; if quotes have no meaning: quotes=no", err);
}

static furrow_status store_cell(fw_table_cell *out, struct fw_table_scratch *scratch, const fw_cell *cell,
                                furrow_error *err) {
  size_t length = (size_t)(cell->end - cell->begin);
  *out = (fw_table_cell){
      .text = cell->begin, .length = (uint32_t)length, .kind = length ? FW_TABLE_TEXT : FW_TABLE_MISSING};
  if (!cell->quoted || !memchr(cell->begin, '"', length)) return FURROW_OK;
  FW_TRY(fw_table_reserve(scratch, length, err));
  out->text = scratch->text;
  out->length = (uint32_t)fw_cell_unquote(cell->begin, cell->end, scratch->text);
  scratch->text += out->length;
  return FURROW_OK;
}

static furrow_status recode_cells(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                  size_t begin, size_t end, furrow_error *err) {
  for (size_t i = 0; i < table->slots; i++) {
    if (table->columns[i] == SIZE_MAX) continue;
    fw_table_cell *cells = &batch->cells[batch->positions[i] * batch->capacity];
    for (size_t r = begin; r < end; r++) FW_TRY(fw_table_recode(cursor, batch->scratch, &cells[r], err));
  }
  return FURROW_OK;
}

/* Adds the record [line, end) to the batch, unless it is blank or bad. */
static furrow_status take_record(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                 const char *line, const char *end, furrow_error *err) {
  struct fw_table_scratch *scratch = batch->scratch;
  const size_t columns = table->layout.columns;
  if (fw_cell_is_blank_line(&table->rules, line, end)) return FURROW_OK;
  size_t count;
  fw_cell last = {0};
  if (!split_record(table, scratch, line, end, &count, &last)) {
    const char *p = last.begin;
    const bool open = fw_cell_record_end(&table->rules, false, p, end) == NULL;
    return wrong_quote(cursor, line, end, p, open, err);
  }
  const bool empty = !last.quoted && last.begin == last.end;
  if (count != columns && !(empty && count == columns + 1)) return wrong_count(table, cursor, line, end, count, err);
  fw_table_begin_record(cursor, batch, line);
  for (size_t i = 0; i < table->slots; i++)
    if (table->columns[i] != SIZE_MAX)
      FW_TRY(store_cell(fw_table_cell_at(batch, i), scratch, &scratch->cells[table->columns[i]], err));
  if (scratch->recode) FW_TRY(recode_cells(table, cursor, batch, batch->records, batch->records + 1, err));
  batch->records++;
  return FURROW_OK;
}

/* Reads the record at the cursor, whatever it looks like. */
static furrow_status next_careful(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                  furrow_error *err) {
  const char *line = cursor->text + cursor->at;
  const char *end = cursor->text + cursor->length;
  const char *stop = fw_cell_record_end(&table->rules, !table->layout.multiline, line, end);
  /* a quote is not closed: the text after the first line of the record may still be readable */
  if (!stop) stop = fw_cell_record_end(&table->rules, true, line, end);
  FW_TRY(take_record(table, cursor, batch, line, stop, err));
  cursor->at = (size_t)(fw_cell_line_begin(stop, end) - cursor->text);
  return FURROW_OK;
}

/* ---- The fast path: windows of marks -------------------------------------------------------------------- */

/* Finds the marks of `size` bytes. */
static furrow_status mark_cells(const fw_table *table, struct fw_table_scratch *scratch, size_t size,
                                furrow_error *err) {
  const size_t each = size + 2 * FW_KERN_PAD;
  FW_TRY(fw_grow(&scratch->mark_lists, &scratch->mark_capacity, 2 * each, sizeof(uint32_t), err));
  scratch->marks.offsets = (uint32_t *)scratch->mark_lists + FW_KERN_PAD;
  scratch->marks.lines = (uint32_t *)scratch->mark_lists + each + FW_KERN_PAD;
  fw_tokenizer_table()->find_cells(scratch->window, size, table->rules.delimiter, table->rules.quotes, &scratch->marks);
  return FURROW_OK;
}

/* Begins a window at the cursor: whole records and their marks, or text for the slow path: misplaced quotes, CR as
 * line ends, a record that is far too long or has no line end. */
static furrow_status open_window(const fw_table *table, fw_table_cursor *cursor, struct fw_table_scratch *scratch,
                                 furrow_error *err) {
  const size_t left = cursor->length - cursor->at;
  const fw_cell_marks *marks = &scratch->marks;
  size_t size = left < WINDOW ? left : WINDOW;
  scratch->window = cursor->text + cursor->at;
  scratch->line = 0;
  cursor->window = ++scratch->windows;
  for (;;) {
    FW_TRY(mark_cells(table, scratch, size, err));
    scratch->careful = marks->odd || (marks->spans && !table->layout.multiline);
    if (scratch->careful || marks->nlines > 0 || size == left || size >= MOST_WINDOW) break;
    size = 2 * size < left ? 2 * size : left;
  }
  scratch->careful |= marks->nlines == 0;
  scratch->window_end =
      scratch->window + (scratch->careful ? size : marks->offsets[marks->lines[marks->nlines - 1]] + 1);
  scratch->recode = scratch->careful || fw_utf8_check(scratch->window, scratch->window_end);
  return FURROW_OK;
}

/* Strips the blanks around a cell, which do not belong to it. */
static fw_table_cell trim_cell(const fw_table *table, const char *begin, const char *end) {
  const char delimiter = table->rules.delimiter;
  while (begin < end && fw_is_blank(*begin) && *begin != delimiter) begin++;
  while (end > begin && fw_is_blank(end[-1]) && end[-1] != delimiter) end--;
  return (fw_table_cell){
      .text = begin, .length = (uint32_t)(end - begin), .kind = begin < end ? FW_TABLE_TEXT : FW_TABLE_MISSING};
}

/* Fills the cells of one column for records without quotes and CRs. */
static void fill_plain(const fw_table *table, const struct fw_table_scratch *scratch, size_t column, size_t begin,
                       size_t end, fw_table_cell *out) {
  const char *window = scratch->window;
  const uint32_t *ends = scratch->marks.offsets + column;
  for (size_t r = begin; r < end; r++) {
    const uint32_t *mark = ends + scratch->first[r];
    const uint32_t from = mark[-1] + 1, length = mark[0] - from;
    const char *text = window + from;
    out[r] = (fw_table_cell){.text = text, .length = length, .kind = length ? FW_TABLE_TEXT : FW_TABLE_MISSING};
    if ((unsigned char)text[0] > ' ' && (unsigned char)text[(ptrdiff_t)length - 1] > ' ') continue;
    out[r] = trim_cell(table, text, text + length);
  }
}

static furrow_status fill_quoted(const fw_table *table, struct fw_table_scratch *scratch, size_t column, size_t begin,
                                 size_t end, fw_table_cell *out, furrow_error *err) {
  const fw_cell_marks *marks = &scratch->marks;
  for (size_t r = begin; r < end; r++) {
    const uint32_t *mark = marks->offsets + scratch->first[r] + column;
    const char *text = scratch->window + (uint32_t)(mark[-1] + 1);
    const char *stop = scratch->window + mark[0];
    if (stop > text && stop[-1] == '\r') stop--;
    if (marks->quotes && stop > text && *text == '"') {
      const fw_cell cell = {.begin = text + 1, .end = stop - 1, .quoted = marks->doubled};
      FW_TRY(store_cell(&out[r], scratch, &cell, err));
    } else {
      out[r] = trim_cell(table, text, stop);
    }
  }
  return FURROW_OK;
}

/* Fills in the cells of the records begin … end-1, whose first marks are known. */
static furrow_status fill_cells(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                size_t begin, size_t end, furrow_error *err) {
  struct fw_table_scratch *scratch = batch->scratch;
  for (size_t i = 0; i < table->slots; i++) {
    const size_t column = table->columns[i];
    if (column == SIZE_MAX) continue;
    fw_table_cell *out = &batch->cells[batch->positions[i] * batch->capacity];
    if (scratch->marks.quotes || scratch->marks.returns)
      FW_TRY(fill_quoted(table, scratch, column, begin, end, out, err));
    else
      fill_plain(table, scratch, column, begin, end, out);
  }
  return scratch->recode ? recode_cells(table, cursor, batch, begin, end, err) : FURROW_OK;
}

/* Whether the record whose cells end at marks first … last has the expected number of cells. A delimiter at the end
 * of the record may end the last cell. */
static inline bool is_regular(const fw_table *table, const struct fw_table_scratch *scratch, uint32_t first,
                              uint32_t last) {
  const uint32_t *offsets = scratch->marks.offsets;
  const size_t cells = last - first + 1;
  if (cells == table->layout.columns && cells > 1) return true;
  if (cells != table->layout.columns + 1) return false;
  const uint32_t length = offsets[last] - offsets[last - 1] - 1;
  return length == 0 || (length == 1 && scratch->window[offsets[last] - 1] == '\r');
}

/* Takes records of the window until the window ends or the batch is full. */
static furrow_status take_marked(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                 furrow_error *err) {
  struct fw_table_scratch *scratch = batch->scratch;
  const fw_cell_marks *marks = &scratch->marks;
  const uint64_t base = cursor->offset + (uint64_t)(scratch->window - cursor->text);
  size_t line = scratch->line, filled = batch->records, records = filled;
  uint32_t first = line ? marks->lines[line - 1] + 1 : 0;
  for (; line < marks->nlines && records < batch->capacity; line++) {
    const uint32_t last = marks->lines[line];
    const uint32_t begin = marks->offsets[(ptrdiff_t)first - 1] + 1;
    if (is_regular(table, scratch, first, last)) {
      scratch->first[records] = first;
      batch->begins[records++] = base + begin;
    } else {
      const char *stop = scratch->window + marks->offsets[last];
      stop -= stop > scratch->window + begin && stop[-1] == '\r';
      FW_TRY(fill_cells(table, cursor, batch, filled, records, err));
      batch->records = records;
      scratch->line = line;
      cursor->at = (size_t)(scratch->window - cursor->text) + begin;
      FW_TRY(take_record(table, cursor, batch, scratch->window + begin, stop, err));
      filled = records = batch->records;
    }
    first = last + 1;
  }
  FW_TRY(fill_cells(table, cursor, batch, filled, records, err));
  batch->records = records;
  scratch->line = line;
  cursor->at = (size_t)(scratch->window - cursor->text) + (uint32_t)(marks->offsets[(ptrdiff_t)first - 1] + 1);
  return FURROW_OK;
}

furrow_status fw_table_next_delimited(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                      furrow_error *err) {
  struct fw_table_scratch *scratch = batch->scratch;
  while (cursor->at < cursor->length && batch->records < batch->capacity) {
    if (cursor->window != scratch->windows || cursor->text + cursor->at >= scratch->window_end)
      FW_TRY(open_window(table, cursor, scratch, err));
    if (scratch->careful)
      FW_TRY(next_careful(table, cursor, batch, err));
    else
      FW_TRY(take_marked(table, cursor, batch, err));
  }
  return FURROW_OK;
}

/* ---- Pieces of whole records ---------------------------------------------------------------------------- */

#define CUT_WINDOW ((size_t)4 << 10)

/* Returns the end of the whole records among the first bytes of the text; `begin` if there is none, or if they need
 * the slow path (*careful). */
static const char *cut_window(const fw_cell_rules *rules, const char *begin, size_t size, bool *careful) {
  uint32_t offsets[CUT_WINDOW + 2 * FW_KERN_PAD], lines[CUT_WINDOW + FW_KERN_PAD];
  char copy[CUT_WINDOW + FW_KERN_PAD];
  fw_cell_marks marks = {.offsets = offsets + FW_KERN_PAD, .lines = lines};
  const char *text = begin;
  if (size < CUT_WINDOW + FW_KERN_PAD) { /* the bytes after it may not be readable */
    memcpy(copy, begin, size < CUT_WINDOW ? size : CUT_WINDOW);
    text = copy;
  }
  fw_tokenizer_table()->find_cells(text, size < CUT_WINDOW ? size : CUT_WINDOW, rules->delimiter, rules->quotes,
                                   &marks);
  *careful = marks.odd;
  return marks.odd || marks.nlines == 0 ? begin : begin + marks.offsets[marks.lines[marks.nlines - 1]] + 1;
}

/* Returns the end of the record at p, on the slow path; NULL if it may continue. */
static const char *cut_record(const fw_cell_rules *rules, const char *p, const char *end) {
  const char *stop = fw_cell_record_end(rules, false, p, end);
  if (!stop || stop == end || (*stop == '\r' && stop + 1 == end)) return NULL;
  return fw_cell_line_begin(stop, end);
}

/* The same for all records that begin before `until`; *whole is the end of the last complete record. */
static const char *cut_carefully(const fw_cell_rules *rules, const char *p, const char *until, const char *end,
                                 const char **whole) {
  while (p && p < until) {
    p = cut_record(rules, p, end);
    if (p) *whole = p;
  }
  return p;
}

static size_t cut_records(const void *state, const char *bytes, size_t length, uint64_t offset) {
  const fw_table_layout *layout = state;
  const fw_cell_rules rules = {.delimiter = layout->delimiter, .quotes = layout->quotes};
  const char *end = bytes + length;
  const char *p = offset == 0 ? bytes + fw_table_mark_bytes(bytes, length) : bytes;
  const char *whole = bytes;
  while (p && p < end) {
    bool careful;
    const size_t left = (size_t)(end - p);
    const char *careful_end = p + (left < CUT_WINDOW ? left : CUT_WINDOW);
    const char *next = cut_window(&rules, p, left, &careful);
    if (next > p)
      p = next;
    else
      p = cut_carefully(&rules, p, careful ? careful_end : p + 1, end, &whole);
    if (p) whole = p;
  }
  return (size_t)(whole - bytes);
}

bool fw_table_layout_records(const fw_table_layout *layout, fw_records *records) {
  if (layout->kind != FW_TABLE_DELIMITED || !layout->multiline) return false;
  *records = (fw_records){.cut = cut_records, .state = layout};
  return true;
}
