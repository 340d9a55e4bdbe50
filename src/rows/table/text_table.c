/* rows/table/text_table.c: a table maps columns to slots; batches of records. */
#include "rows/table/text_table.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/text/tokenizer.h"
#include "rows/table/table_reader.h"
#include "rows/text/rowbuilder.h"

#define TEXT_BLOCK ((size_t)64 << 10)

/* ---- Names ---------------------------------------------------------------------------------------------- */

static uint64_t hash_more(uint64_t hash, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
  return hash;
}

static uint64_t hash_name(const char *prefix, size_t prefix_length, const char *name, size_t length) {
  uint64_t hash = 0xcbf29ce484222325u;
  if (prefix) hash = hash_more(hash_more(hash, prefix, prefix_length), ".", 1);
  hash = hash_more(hash, name, length);
  return hash ^ hash >> 32;
}

uint32_t fw_table_find_name(const fw_table *table, const char *prefix, size_t prefix_length, const char *name,
                            size_t length) {
  size_t at = hash_name(prefix, prefix_length, name, length) & (table->nbuckets - 1);
  for (; table->buckets[at] != FW_TABLE_NO_NAME; at = (at + 1) & (table->nbuckets - 1))
    if (fw_table_name_is(&table->names[table->buckets[at]], prefix, prefix_length, name, length))
      return table->buckets[at];
  return FW_TABLE_NO_NAME;
}

static void add_name(fw_table *table, const char *text, size_t slot) {
  const size_t length = strlen(text);
  const uint32_t known = fw_table_find_name(table, NULL, 0, text, length);
  if (known != FW_TABLE_NO_NAME) {
    if (slot == SIZE_MAX) return;
    fw_table_name *name = &table->names[known];
    if (name->slot != SIZE_MAX) table->same_as[slot] = name->slot;
    if (name->slot == SIZE_MAX) name->slot = slot;
    return;
  }
  size_t at = hash_name(NULL, 0, text, length) & (table->nbuckets - 1);
  while (table->buckets[at] != FW_TABLE_NO_NAME) at = (at + 1) & (table->nbuckets - 1);
  table->buckets[at] = (uint32_t)table->nnames;
  table->names[table->nnames++] = (fw_table_name){text, length, slot};
}

/* Numbers the names of JSON and VW: first the head's, in order of occurrence. */
static furrow_status make_names(fw_table *table, furrow_error *err) {
  const size_t most = table->layout.columns + table->slots;
  if (most >= UINT32_MAX / 4) return fw_fail(err, FURROW_E_FORMAT, "the table has too many columns");
  table->nbuckets = 16;
  while (table->nbuckets < 2 * most) table->nbuckets *= 2;
  FW_TRY(FW_ALLOC(&table->buckets, table->nbuckets, err));
  memset(table->buckets, 0xff, table->nbuckets * sizeof(uint32_t));
  FW_TRY(FW_ALLOC(&table->names, most, err));
  for (size_t i = 0; i < table->layout.columns; i++) add_name(table, table->layout.names[i], SIZE_MAX);
  for (size_t i = 0; i < table->slots; i++) add_name(table, table->slot_names[i], i);
  return FURROW_OK;
}

/* ---- Slots ---------------------------------------------------------------------------------------------- */

static furrow_status make_slots(fw_table *table, const char *const *names, size_t slots, bool *absent,
                                furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&table->slot_names, slots, err));
  table->slots = slots;
  FW_TRY(FW_ALLOC(&table->columns, slots, err));
  FW_TRY(FW_ALLOC(&table->same_as, slots, err));
  const bool delimited = table->layout.kind == FW_TABLE_DELIMITED;
  for (size_t i = 0; i < slots; i++) {
    const size_t column = fw_table_layout_column(&table->layout, names[i]);
    const char *name = column == SIZE_MAX ? names[i] : table->layout.names[column];
    FW_TRY(fw_strndup(&table->slot_names[i], name, strlen(name), err));
    table->columns[i] = column;
    table->same_as[i] = i;
    if (absent) absent[i] = delimited && column == SIZE_MAX;
  }
  return delimited ? FURROW_OK : make_names(table, err);
}

furrow_status fw_table_create(fw_table **table, const fw_table_layout *layout, const char *const *names, size_t slots,
                              bool *absent, furrow_error *err) {
  fw_table *t;
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
  fw_free(table->same_as);
  fw_free(table->names);
  fw_free(table->buckets);
  fw_table_layout_clear(&table->layout);
  fw_free(table);
}

const fw_table_layout *fw_table_get_layout(const fw_table *table) {
  return &table->layout;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

static furrow_status make_scratch(struct fw_table_scratch *scratch, const fw_table *table, furrow_error *err) {
  if (table->layout.kind == FW_TABLE_DELIMITED) {
    FW_TRY(FW_ALLOC(&scratch->cells, table->layout.columns, err));
    return FURROW_OK;
  }
  FW_TRY(FW_ALLOC_ZERO(&scratch->seen, table->nnames, err));
  return FW_ALLOC_ZERO(&scratch->next, table->nnames + 1, err);
}

furrow_status fw_table_batch_init(fw_table_batch *batch, const fw_table *table, furrow_error *err) {
  fw_table_batch b = {0};
  size_t cells = 0;
  if (!fw_size_mul(table->slots, FW_TABLE_RECORDS, &cells)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = FW_ALLOC(&b.cells, cells, err);
  if (status == FURROW_OK) status = FW_ALLOC(&b.begins, FW_TABLE_RECORDS, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&b.scratch, 1, err);
  if (status == FURROW_OK) status = make_scratch(b.scratch, table, err);
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
  }
  fw_free(scratch);
  fw_free(batch->cells);
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

void fw_table_begin_record(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                           const char *line) {
  batch->begins[batch->records] = cursor->offset + (uint64_t)(line - cursor->text);
  for (size_t i = 0; i < table->slots; i++) *fw_table_cell_at(batch, i) = (fw_table_cell){line, 0, FW_TABLE_MISSING};
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
  const fw_table_cell *cell = &batch->cells[slot * FW_TABLE_RECORDS + record];
  furrow_error error;
  (void)fw_fail(&error, FURROW_E_PARSE, "column %s: %s", table->slot_names[slot], message);
  fw_error_set_token(&error, cell->text, cell->length);
  error.offset = batch->begins[record];
  const char *line = cursor->text + (batch->begins[record] - cursor->offset);
  const bool borrowed = cell->text >= line && cell->text <= cursor->text + cursor->length;
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

static furrow_status next_lines(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                furrow_error *err) {
  const char *end = cursor->text + cursor->length;
  furrow_status status = FURROW_OK;
  while (cursor->at < cursor->length && batch->records < FW_TABLE_RECORDS) {
    const char *line = cursor->text + cursor->at;
    const char *stop = line_end(line, end);
    bool taken = false;
    status = table->layout.kind == FW_TABLE_JSON ? fw_table_json_line(table, cursor, batch, line, stop, &taken, err)
                                                 : fw_table_vw_line(table, cursor, batch, line, stop, &taken, err);
    if (status != FURROW_OK) break;
    batch->records += taken;
    cursor->at = (size_t)(fw_cell_line_begin(stop, end) - cursor->text);
  }
  for (size_t i = 0; i < table->slots; i++)
    if (table->same_as[i] != i)
      memcpy(&batch->cells[i * FW_TABLE_RECORDS], &batch->cells[table->same_as[i] * FW_TABLE_RECORDS],
             batch->records * sizeof(fw_table_cell));
  return status;
}

furrow_status fw_table_next(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch, furrow_error *err) {
  batch->records = 0;
  fw_arena_reset(&batch->scratch->arena);
  batch->scratch->text = batch->scratch->text_end = NULL;
  const furrow_status status = table->layout.kind == FW_TABLE_DELIMITED
                                   ? fw_table_next_delimited(table, cursor, batch, err)
                                   : next_lines(table, cursor, batch, err);
  /* the cursor stays before a bad record, so the next call finds it again */
  if (batch->records > 0 && (status == FURROW_OK || status == FURROW_E_PARSE)) return FURROW_OK;
  batch->records = 0;
  return status == FURROW_OK ? FURROW_END : status;
}
