/* rows/table/table_delimited.c: records of delimited text. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/rowbuilder.h"
#include "rows/table/table_reader.h"

static const char newlines_hint[] =
    "if cells hold line ends: FILE?newlines=yes (FILE?…&newlines=yes) reads them; if quotes have no meaning: quotes=no";

/* ---- The careful way: one record ------------------------------------------------------------------------ */

/* Takes the record apart: up to `columns` cells to scratch->cells, *count of them in all; a delimiter at the end has an
 * empty cell behind it. False: a quote is not closed or text follows it, at last->begin. The line is not empty. */
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
  return fw_table_bad_record(cursor, line, quote, stop,
                             open ? "a quote is not closed" : "text follows a quote that closes its cell",
                             open ? newlines_hint : "a quote inside a cell in quotes is written twice", err);
}

static furrow_status store_cell(fw_table_cell *out, struct fw_table_scratch *scratch, const fw_cell *cell,
                                furrow_error *err) {
  size_t length = (size_t)(cell->end - cell->begin);
  *out = (fw_table_cell){cell->begin, (uint32_t)length, length ? FW_TABLE_TEXT : FW_TABLE_MISSING};
  if (!cell->quoted || !memchr(cell->begin, '"', length)) return FURROW_OK;
  FW_TRY(fw_table_reserve(scratch, length, err));
  out->text = scratch->text;
  out->length = (uint32_t)fw_cell_unquote(cell->begin, cell->end, scratch->text);
  scratch->text += out->length;
  return FURROW_OK;
}

/* Adds the record [line, end) to the batch, if it is one. */
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
  fw_table_begin_record(table, cursor, batch, line);
  for (size_t i = 0; i < table->slots; i++)
    if (table->columns[i] != SIZE_MAX)
      FW_TRY(store_cell(fw_table_cell_at(batch, i), scratch, &scratch->cells[table->columns[i]], err));
  batch->records++;
  return FURROW_OK;
}

/* The record at the cursor, whatever it looks like. */
static furrow_status next_careful(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                  furrow_error *err) {
  const char *line = cursor->text + cursor->at;
  const char *end = cursor->text + cursor->length;
  const char *stop = fw_cell_record_end(&table->rules, !table->layout.multiline, line, end);
  /* a quote is not closed: what follows the first line of the record may be read all the same */
  if (!stop) stop = fw_cell_record_end(&table->rules, true, line, end);
  FW_TRY(take_record(table, cursor, batch, line, stop, err));
  cursor->at = (size_t)(fw_cell_line_begin(stop, end) - cursor->text);
  return FURROW_OK;
}

furrow_status fw_table_next_delimited(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                      furrow_error *err) {
  while (cursor->at < cursor->length && batch->records < FW_TABLE_RECORDS)
    FW_TRY(next_careful(table, cursor, batch, err));
  return FURROW_OK;
}

/* ---- Pieces of whole records ---------------------------------------------------------------------------- */

static size_t cut_records(const void *state, const char *bytes, size_t length, uint64_t offset) {
  const fw_table_layout *layout = state;
  const fw_cell_rules rules = {.delimiter = layout->delimiter, .quotes = layout->quotes};
  const char *end = bytes + length;
  const char *p = offset == 0 ? bytes + fw_table_mark_bytes(bytes, length) : bytes;
  size_t whole = 0;
  while (p < end) {
    const char *stop = fw_cell_record_end(&rules, false, p, end);
    if (!stop || stop == end || (*stop == '\r' && stop + 1 == end)) break; /* it may go on */
    p = fw_cell_line_begin(stop, end);
    whole = (size_t)(p - bytes);
  }
  return whole;
}

bool fw_table_layout_records(const fw_table_layout *layout, fw_records *records) {
  if (layout->kind != FW_TABLE_DELIMITED || !layout->multiline) return false;
  *records = (fw_records){.cut = cut_records, .state = layout};
  return true;
}
