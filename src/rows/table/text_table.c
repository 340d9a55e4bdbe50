/* rows/table/text_table.c: a table maps columns to slots; batches of records. */
#include "rows/table/text_table.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "kern/text/tokenizer.h"
#include "rows/table/table_reader.h"
#include "rows/text/rowbuilder.h"

#define TEXT_BLOCK ((size_t)64 << 10)

/* ---- Names ---------------------------------------------------------------------------------------------- */

static furrow_status add_name(fw_table *table, const char *text, size_t slot, furrow_error *err) {
  const size_t length = strlen(text);
  const size_t known = fw_name_map_find(&table->numbers, text, length);
  if (known == FW_NAME_NONE) {
    FW_TRY(fw_name_map_add(&table->numbers, text, length, table->nnames, err));
    table->names[table->nnames++] = (fw_table_name){text, length, slot};
    return FURROW_OK;
  }
  fw_table_name *name = &table->names[known];
  if (slot == SIZE_MAX) return FURROW_OK;
  table->twins[slot] = name->slot;
  name->slot = slot;
  return FURROW_OK;
}

/* Numbers the names of JSON and VW: first the head's, in order of occurrence. */
static furrow_status make_names(fw_table *table, furrow_error *err) {
  const size_t most = table->layout.columns + table->slots;
  FW_TRY(FW_ALLOC(&table->names, most, err));
  for (size_t i = 0; i < table->layout.columns; i++) FW_TRY(add_name(table, table->layout.names[i], SIZE_MAX, err));
  for (size_t i = 0; i < table->slots; i++) FW_TRY(add_name(table, table->slot_names[i], i, err));
  return FURROW_OK;
}

/* ---- Slots ---------------------------------------------------------------------------------------------- */

/* Links the slots of each typed column. */
static furrow_status link_slots(fw_table *table, furrow_error *err) {
  FW_TRY(FW_ALLOC(&table->first_slots, table->layout.columns, err));
  for (size_t i = 0; i < table->layout.columns; i++) table->first_slots[i] = SIZE_MAX;
  for (size_t i = 0; i < table->slots; i++) {
    if (table->columns[i] == SIZE_MAX) continue;
    size_t *first = &table->first_slots[table->columns[i]];
    table->used_columns += *first == SIZE_MAX;
    table->twins[i] = *first;
    *first = i;
  }
  return fw_table_want_columns(table, err);
}

static furrow_status make_slots(fw_table *table, const char *const *names, size_t slots, bool *absent,
                                furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&table->slot_names, slots, err));
  table->slots = slots;
  FW_TRY(FW_ALLOC(&table->columns, slots, err));
  FW_TRY(FW_ALLOC(&table->twins, slots, err));
  const bool complete = fw_table_is_complete(&table->layout);
  for (size_t i = 0; i < slots; i++) {
    const size_t column = fw_table_layout_column(&table->layout, names[i]);
    const char *name = column == SIZE_MAX ? names[i] : table->layout.names[column];
    FW_TRY(fw_strndup(&table->slot_names[i], name, strlen(name), err));
    table->columns[i] = column;
    table->twins[i] = SIZE_MAX;
    if (absent) absent[i] = complete && column == SIZE_MAX;
  }
  if (table->layout.kind == FW_TABLE_COLUMNS) return link_slots(table, err);
  return complete ? FURROW_OK : make_names(table, err);
}

furrow_status fw_table_create(fw_table **table, const fw_table_layout *layout, const char *const *names, size_t slots,
                              bool *absent, furrow_error *err) {
  fw_table *t;
  if (slots >= UINT32_MAX / 4) return fw_fail(err, FURROW_E_FORMAT, "the table has too many columns");
  FW_TRY(FW_ALLOC_ZERO(&t, 1, err));
  furrow_status status = fw_table_layout_copy(&t->layout, layout, err);
  t->rules = (fw_cell_rules){.delimiter = layout->delimiter, .quotes = layout->quotes};
  if (status == FURROW_OK) status = make_slots(t, names, slots, absent, err);
  return FW_HAND_OVER(status, table, t, fw_table_free);
}

void fw_table_free(fw_table *table) {
  if (!table) return;
  for (size_t i = 0; i < table->slots; i++) fw_free(table->slot_names[i]);
  fw_free((void *)table->slot_names);
  fw_free(table->columns);
  fw_free(table->twins);
  fw_free(table->names);
  fw_free(table->first_slots);
  fw_free((void *)table->wanted);
  fw_name_map_clear(&table->numbers);
  fw_table_layout_clear(&table->layout);
  fw_free(table);
}

const fw_table_layout *fw_table_get_layout(const fw_table *table) {
  return &table->layout;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

#define BATCH_CELLS ((size_t)1 << 16) /* about; they stay in the cache */
#define LEAST_RECORDS 16

/* Tables of many columns have small batches: memory stays small, and columns that only few records have are not kept
 * for many others. */
size_t fw_table_batch_records(const fw_table *table) {
  const size_t fit = table->slots ? BATCH_CELLS / table->slots : FW_TABLE_RECORDS;
  return fit > FW_TABLE_RECORDS ? FW_TABLE_RECORDS : fit < LEAST_RECORDS ? LEAST_RECORDS : fit;
}

static furrow_status make_scratch(struct fw_table_scratch *scratch, const fw_table *table, furrow_error *err) {
  if (table->layout.kind == FW_TABLE_COLUMNS) return FURROW_OK;
  if (table->layout.kind == FW_TABLE_DELIMITED) {
    FW_TRY(FW_ALLOC(&scratch->cells, table->layout.columns, err));
    return FURROW_OK;
  }
  FW_TRY(FW_ALLOC_ZERO(&scratch->seen, table->nnames, err));
  FW_TRY(FW_ALLOC(&scratch->touched, table->slots, err));
  if (table->layout.kind == FW_TABLE_VW) FW_TRY(FW_ALLOC(&scratch->lists, table->nnames, err));
  return FW_ALLOC_ZERO(&scratch->next, table->nnames + 1, err);
}

/* Appends a column whose cells are missing. */
static furrow_status add_column(fw_table_batch *batch, furrow_error *err) {
  static const char nothing[2 * FW_KERN_PAD] = {0};
  size_t cells = 0;
  if (!fw_size_mul(batch->columns + 1, batch->capacity, &cells)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_GROW(&batch->cells, &batch->cell_capacity, cells, err));
  for (size_t i = cells - batch->capacity; i < cells; i++)
    batch->cells[i] = (fw_table_cell){.text = nothing + FW_KERN_PAD, .length = 0, .kind = FW_TABLE_MISSING};
  batch->columns++;
  return FURROW_OK;
}

static void fill_slot(fw_table_batch *batch, size_t slot, size_t column) {
  batch->positions[slot] = (uint32_t)column;
  batch->filled[batch->filled_count++] = (uint32_t)slot;
}

static furrow_status make_batch(fw_table_batch *b, const fw_table *table, furrow_error *err) {
  b->capacity = fw_table_batch_records(table);
  FW_TRY(FW_ALLOC(&b->begins, b->capacity, err));
  FW_TRY(FW_ALLOC(&b->filled, table->slots, err));
  FW_TRY(FW_ALLOC_ZERO(&b->positions, table->slots, err));
  FW_TRY(FW_ALLOC_ZERO(&b->scratch, 1, err));
  FW_TRY(make_scratch(b->scratch, table, err));
  FW_TRY(add_column(b, err));
  for (size_t i = 0; i < table->slots && fw_table_is_complete(&table->layout); i++) {
    if (table->columns[i] == SIZE_MAX) continue;
    FW_TRY(add_column(b, err));
    fill_slot(b, i, b->columns - 1);
  }
  return FURROW_OK;
}

furrow_status fw_table_batch_init(fw_table_batch *batch, const fw_table *table, furrow_error *err) {
  fw_table_batch b = {0};
  const furrow_status status = make_batch(&b, table, err);
  if (status == FURROW_OK)
    *batch = b;
  else
    fw_table_batch_clear(&b);
  return status;
}

void fw_table_batch_clear(fw_table_batch *batch) {
  struct fw_table_scratch *scratch = batch->scratch;
  if (scratch) {
    fw_arena_clear(&scratch->arena);
    fw_free(scratch->cells);
    fw_free(scratch->seen);
    fw_free(scratch->next);
    fw_free(scratch->lists);
    fw_free(scratch->touched);
    fw_free(scratch->mark_lists);
  }
  fw_free(scratch);
  fw_free(batch->cells);
  fw_free(batch->positions);
  fw_free(batch->filled);
  fw_free(batch->begins);
  *batch = (fw_table_batch){0};
}

furrow_status fw_table_reserve(struct fw_table_scratch *scratch, size_t size, furrow_error *err) {
  if ((size_t)(scratch->text_end - scratch->text) >= size) return FURROW_OK;
  const size_t block = size > TEXT_BLOCK ? size : TEXT_BLOCK;
  char *memory;
  size_t bytes;
  if (!fw_size_add(block, 2 * FW_KERN_PAD, &bytes)) return fw_fail_memory(err, size);
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &memory, bytes, err));
  memset(memory, 0, FW_KERN_PAD);
  memset(memory + FW_KERN_PAD + block, 0, FW_KERN_PAD);
  scratch->text = memory + FW_KERN_PAD;
  scratch->text_end = scratch->text + block;
  return FURROW_OK;
}

furrow_status fw_table_recode(const fw_table_cursor *cursor, struct fw_table_scratch *scratch, fw_table_cell *cell,
                              furrow_error *err) {
  const size_t length = cell->length;
  if (!fw_utf8_check(cell->text, cell->text + length)) return FURROW_OK;
  if (memchr(cell->text, 0, length) || length > UINT32_MAX / 3) return FURROW_OK; /* not text */
  FW_TRY(fw_table_reserve(scratch, 3 * length, err));
  cell->length = (uint32_t)fw_utf8_from_windows(cell->text, length, scratch->text);
  cell->text = scratch->text;
  scratch->text += cell->length;
  if (cursor->stats) cursor->stats->recoded++;
  return FURROW_OK;
}

void fw_table_begin_record(const fw_table_cursor *cursor, fw_table_batch *batch, const char *line) {
  batch->begins[batch->records] = cursor->offset + (uint64_t)(line - cursor->text);
  batch->scratch->touched_count = 0;
}

furrow_status fw_table_fill_slot(const fw_table *table, fw_table_batch *batch, size_t slot, furrow_error *err) {
  FW_TRY(add_column(batch, err));
  for (size_t i = slot; i != SIZE_MAX; i = table->twins[i]) fill_slot(batch, i, batch->columns - 1);
  return FURROW_OK;
}

/* Removes the cells of a record that is not taken. */
static void drop_record(fw_table_batch *batch) {
  const struct fw_table_scratch *scratch = batch->scratch;
  for (size_t i = 0; i < scratch->touched_count; i++) *fw_table_cell_at(batch, scratch->touched[i]) = batch->cells[0];
}

/* Begins a batch of JSON or VW: no slot is filled. */
static void empty_slots(fw_table_batch *batch) {
  for (size_t i = 0; i < batch->filled_count; i++) batch->positions[batch->filled[i]] = 0;
  batch->filled_count = 0;
  batch->columns = 1;
}

/* ---- Bad records ---------------------------------------------------------------------------------------- */

static furrow_status refuse_record(const fw_table_cursor *cursor, furrow_error *error, furrow_error *err) {
  if (cursor->on_bad == FURROW_ON_BAD_SKIP) {
    fw_chunk_stats *stats = cursor->stats;
    const bool first = stats && error->offset < stats->first_bad.offset; /* the caller inspects records later */
    if (stats) fw_chunk_note_bad(stats, error);
    if (first) stats->first_bad = *error;
    return FURROW_OK;
  }
  if (err) *err = *error;
  return error->status;
}

furrow_status fw_table_bad_record(const fw_table_cursor *cursor, const char *line, const char *at, const char *end,
                                  const char *message, const char *hint, furrow_error *err) {
  furrow_error error;
  (void)fw_fail_at(&error, FURROW_E_PARSE, line, at, end, message);
  error.offset = cursor->offset + (uint64_t)(line - cursor->text);
  if (hint) fw_error_set_hint(&error, "%s", hint);
  return refuse_record(cursor, &error, err);
}

furrow_status fw_table_refuse(const fw_table *table, const fw_table_cursor *cursor, const fw_table_batch *batch,
                              size_t slot, size_t record, const char *message, furrow_error *err) {
  const fw_table_cell *cell = &fw_table_cells(batch, slot)[record];
  furrow_error error;
  (void)fw_fail(&error, FURROW_E_PARSE, "column %s: %s", table->slot_names[slot], message);
  fw_error_set_token(&error, cell->text, cell->length);
  error.offset = batch->begins[record];
  const char *line = cursor->text + (batch->begins[record] - cursor->offset);
  const bool borrowed =
      table->layout.kind != FW_TABLE_COLUMNS && cell->text >= line && cell->text <= cursor->text + cursor->length;
  if (borrowed && cell->kind != FW_TABLE_MISSING) error.column = (uint64_t)(cell->text - line) + 1;
  return refuse_record(cursor, &error, err);
}

/* ---- Records of lines ----------------------------------------------------------------------------------- */

static const char *line_end(const char *p, const char *end) {
  const char *lf = memchr(p, '\n', (size_t)(end - p));
  const char *stop = lf ? lf : end;
  const char *cr = memchr(p, '\r', (size_t)(stop - p));
  return cr ? cr : stop;
}

static furrow_status recode_record(const fw_table_cursor *cursor, fw_table_batch *batch, furrow_error *err) {
  struct fw_table_scratch *scratch = batch->scratch;
  for (size_t i = 0; i < scratch->touched_count; i++)
    FW_TRY(fw_table_recode(cursor, scratch, fw_table_cell_at(batch, scratch->touched[i]), err));
  return FURROW_OK;
}

static furrow_status next_lines(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                furrow_error *err) {
  const char *end = cursor->text + cursor->length;
  furrow_status status = FURROW_OK;
  empty_slots(batch);
  while (cursor->at < cursor->length && batch->records < batch->capacity) {
    const char *line = cursor->text + cursor->at;
    const char *stop = line_end(line, end);
    bool taken = false;
    status = table->layout.kind == FW_TABLE_JSON ? fw_table_json_line(table, cursor, batch, line, stop, &taken, err)
                                                 : fw_table_vw_line(table, cursor, batch, line, stop, &taken, err);
    if (taken && fw_utf8_check(line, stop)) status = recode_record(cursor, batch, err);
    if (!taken) drop_record(batch);
    if (status != FURROW_OK) break;
    batch->records += taken;
    cursor->at = (size_t)(fw_cell_line_begin(stop, end) - cursor->text);
  }
  return status;
}

furrow_status fw_table_next(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch, furrow_error *err) {
  batch->records = 0;
  fw_arena_reset(&batch->scratch->arena);
  batch->scratch->text = batch->scratch->text_end = NULL;
  const furrow_status status =
      table->layout.kind == FW_TABLE_DELIMITED ? fw_table_next_delimited(table, cursor, batch, err)
      : table->layout.kind == FW_TABLE_COLUMNS ? fw_table_next_columns(table, cursor, batch, err)
                                               : next_lines(table, cursor, batch, err);
  /* the cursor stays before a bad record, so the next call finds it again */
  if (batch->records > 0 && (status == FURROW_OK || status == FURROW_E_PARSE)) return FURROW_OK;
  batch->records = 0;
  return status == FURROW_OK ? FURROW_END : status;
}
