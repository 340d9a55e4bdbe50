/* rows/table/table_columns.c: records of typed columns, which come as frames (columns/frames.h).
 *
 * A record begins at its number in the frame; a cursor is at the next record, or at the start of a frame. Texts are
 * where they are in the frame; the text of any other value is written here, by the thread that reads the frame, and is
 * the text that the value has in csv. So whatever reads cells gives the same result for a column as for its csv. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "columns/frames.h"
#include "rows/table/table_reader.h"

/* ---- Layout --------------------------------------------------------------------------------------------- */

void fw_table_records(const fw_table *table, fw_records *records, bool *given) {
  if (table->layout.kind != FW_TABLE_COLUMNS) {
    *given = fw_table_layout_records(&table->layout, records);
    return;
  }
  *given = true;
  *records = (fw_records){
      .cut = fw_frames_cut, .columns = (const char *const *)table->wanted, .ncolumns = table->wanted_count};
}

furrow_status fw_table_want_columns(fw_table *table, furrow_error *err) {
  const fw_table_layout *layout = &table->layout;
  bool *wanted = NULL;
  FW_TRY(FW_ALLOC_ZERO(&wanted, layout->columns, err));
  furrow_status status = FW_ALLOC_ZERO(&table->wanted, layout->columns, err);
  for (size_t i = 0; i < table->slots && status == FURROW_OK; i++)
    if (table->columns[i] != SIZE_MAX) wanted[table->columns[i]] = true;
  for (size_t i = 0; i < layout->columns && status == FURROW_OK; i++)
    if (wanted[i]) table->wanted[table->wanted_count++] = layout->names[i];
  if (status == FURROW_OK && table->wanted_count == 0) table->wanted[table->wanted_count++] = layout->names[0];
  fw_free(wanted);
  return status;
}

uint64_t fw_table_columns_row(const char *text, size_t length, size_t at) {
  fw_frame frame;
  uint32_t row;
  return fw_frame_find(&frame, &row, text, length, at, NULL) == FURROW_OK ? frame.first_row + row + 1 : 0;
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

/* Some rows of a frame that go to a batch. */
typedef struct row_range {
  uint32_t from, count;
} row_range;

static uint32_t text_begin(const fw_frame_column *column, uint32_t row) {
  return row ? fw_frame_u32(column->values + 4 * (size_t)(row - 1)) : 0;
}

static furrow_status fill_texts(const fw_table_cursor *cursor, fw_table_batch *batch, const fw_frame_column *column,
                                row_range rows, fw_table_cell *out, furrow_error *err) {
  const uint32_t begin = text_begin(column, rows.from), end = text_begin(column, rows.from + rows.count);
  const uint16_t kind = column->type.kind == FW_TYPED_LIST ? FW_TABLE_LIST : FW_TABLE_TEXT;
  const bool recode = fw_utf8_check(column->text + begin, column->text + end) != NULL;
  uint32_t at = begin;
  for (uint32_t r = 0; r < rows.count; r++) {
    const uint32_t next = text_begin(column, rows.from + r + 1), length = next - at;
    out[r] = (fw_table_cell){
        .text = column->text + at, .length = length, .kind = length ? kind : (uint16_t)FW_TABLE_MISSING};
    at = next;
    if (recode) FW_TRY(fw_table_recode(cursor, batch->scratch, &out[r], err));
  }
  return FURROW_OK;
}

static furrow_status fill_values(fw_table_batch *batch, const fw_frame_column *column, row_range rows,
                                 fw_table_cell *out, furrow_error *err) {
  struct fw_table_scratch *scratch = batch->scratch;
  const size_t width = fw_typed_width(column->type);
  const uint16_t plain = fw_typed_is_number(column->type);
  const char *values = column->values + width * rows.from;
  for (uint32_t r = 0; r < rows.count; r++) {
    FW_TRY(fw_table_reserve(scratch, FW_TYPED_TEXT_BYTES, err));
    out[r] = (fw_table_cell){.text = scratch->text, .kind = FW_TABLE_MISSING};
    if (!column->valid[rows.from + r]) continue;
    const size_t length = fw_typed_text(column->type, values + width * r, scratch->text);
    out[r] = (fw_table_cell){.text = scratch->text, .length = (uint32_t)length, .kind = FW_TABLE_TEXT, .plain = plain};
    scratch->text += length;
  }
  return FURROW_OK;
}

/* Fills the cells of the slots of a column. */
static furrow_status fill_column(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                 const fw_frame_column *column, row_range rows, furrow_error *err) {
  const fw_table_cell *first = NULL;
  for (size_t slot = table->first_slots[column->number]; slot != SIZE_MAX; slot = table->twins[slot]) {
    fw_table_cell *out = &batch->cells[batch->positions[slot] * batch->capacity + batch->records];
    if (first)
      memcpy(out, first, rows.count * sizeof *out);
    else if (fw_typed_is_bytes(column->type))
      FW_TRY(fill_texts(cursor, batch, column, rows, out, err));
    else
      FW_TRY(fill_values(batch, column, rows, out, err));
    first = out;
  }
  return FURROW_OK;
}

/* Fills in the rows of one frame that the batch has space for. */
static furrow_status take_rows(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                               furrow_error *err) {
  fw_frame frame;
  uint32_t row;
  size_t filled = 0;
  FW_TRY(fw_frame_find(&frame, &row, cursor->text, cursor->length, cursor->at, err));
  const size_t space = batch->capacity - batch->records;
  const row_range rows = {row, frame.rows - row < space ? frame.rows - row : (uint32_t)space};
  size_t at = frame.values;
  for (uint32_t i = 0; i < frame.columns; i++) {
    fw_frame_column column;
    FW_TRY(fw_frame_next_column(&frame, &at, &column, err));
    if (column.number >= table->layout.columns) return fw_fail(err, FURROW_E_FORMAT, "a batch of columns is damaged");
    if (table->first_slots[column.number] == SIZE_MAX) continue;
    FW_TRY(fill_column(table, cursor, batch, &column, rows, err));
    filled++;
  }
  if (filled < table->used_columns) return fw_fail(err, FURROW_E_FORMAT, "a batch of columns lacks a column");
  const size_t begin = (size_t)(frame.bytes - cursor->text);
  for (uint32_t r = 0; r < rows.count; r++)
    batch->begins[batch->records + r] = cursor->offset + begin + fw_frame_row_at(row + r);
  batch->records += rows.count;
  row += rows.count;
  cursor->at = begin + (row < frame.rows ? fw_frame_row_at(row) : frame.size);
  return FURROW_OK;
}

furrow_status fw_table_next_columns(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                    furrow_error *err) {
  while (cursor->at < cursor->length && batch->records < batch->capacity) FW_TRY(take_rows(table, cursor, batch, err));
  return FURROW_OK;
}
