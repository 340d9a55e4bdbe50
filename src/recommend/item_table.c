/* recommend/item_table.c: columns of a table that has one row per item. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "recommend/recommender.h"
#include "rows/table/text_table.h"

#define NO_CELL SIZE_MAX

struct furrow_item_table {
  size_t columns;
  uint64_t items, rows; /* items of the model; items that have a row in the table */
  size_t *cells;        /* item i, column c: offset of its text; NO_CELL: the item has no row in the table */
  fw_buffer texts;      /* each ends with a 0 */
};

typedef struct reading {
  furrow_item_table *to;
  const furrow_recommender *r;
} reading;

static void take_row(furrow_item_table *to, uint64_t item, const fw_table_batch *batch, size_t record) {
  size_t *at = to->cells + item * to->columns;
  if (at[0] != NO_CELL) return;
  for (size_t c = 0; c < to->columns; c++) {
    const fw_table_cell *cell = &fw_table_cells(batch, c + 1)[record];
    at[c] = to->texts.size;
    fw_buffer_append(&to->texts, cell->text, cell->kind == FW_TABLE_MISSING ? 0 : cell->length);
    fw_buffer_byte(&to->texts, 0);
  }
  to->rows++;
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  const reading *of = user;
  (void)piece;
  (void)cursor;
  for (size_t i = 0; i < batch->records; i++) {
    uint64_t index = 0;
    const fw_entries *names = &of->r->items;
    const fw_table_cell *key = &fw_table_cells(batch, 0)[i];
    if (key->kind != FW_TABLE_TEXT ||
        furrow_encoder_find(of->r->encoder, names->field, key->text, key->length, &index, NULL) != FURROW_OK)
      continue;
    take_row(of->to, furrow_encoder_entry_of(of->r->encoder, names->field, index), batch, i);
  }
  return fw_buffer_status(&of->to->texts, err);
}

static furrow_status open_table(fw_table **table, const fw_table_source *source, const furrow_recommender *r,
                                const char *const *columns, size_t count, const char *uri, furrow_error *err) {
  const char **names = NULL;
  bool *absent = NULL;
  furrow_status status = FW_ALLOC(&names, count + 1, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&absent, count + 1, err);
  if (status == FURROW_OK) {
    names[0] = r->items.column;
    for (size_t i = 0; i < count; i++) names[i + 1] = columns[i];
    status = fw_table_create(table, fw_table_source_layout(source), names, count + 1, absent, err);
  }
  for (size_t i = 0; status == FURROW_OK && i <= count; i++) {
    if (!absent[i]) continue;
    status = fw_fail(err, FURROW_E_FORMAT, "the table of items has no column %s", names[i]);
    fw_error_set_file(err, uri);
  }
  fw_free((void *)names);
  fw_free(absent);
  return status;
}

/* Uses one thread, so that the first of several rows of an item counts. */
static furrow_status read_all(furrow_item_table *to, const furrow_recommender *r, const char *uri,
                              const char *const *columns, furrow_error *err) {
  fw_table_source *source = NULL;
  fw_table *table = NULL;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  reading of = {.to = to, .r = r};
  void *const users[1] = {&of};
  furrow_status status = fw_table_source_open(&source, uri, err);
  if (status == FURROW_OK) status = open_table(&table, source, r, columns, to->columns, uri, err);
  if (status == FURROW_OK)
    status = fw_table_scan(source, table, &(fw_table_scan_params){.threads = 1}, users, take_batch, &stats, err);
  fw_table_free(table);
  fw_table_source_close(source);
  return status;
}

static furrow_status alloc_cells(furrow_item_table *made, const furrow_recommender *r, furrow_error *err) {
  size_t cells = 0;
  if (!fw_size_mul(r->items.count, made->columns, &cells)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_ALLOC(&made->cells, cells, err));
  for (size_t i = 0; i < cells; i++) made->cells[i] = NO_CELL;
  return FURROW_OK;
}

furrow_status furrow_item_table_load(furrow_item_table **table, const furrow_recommender *recommender, const char *uri,
                                     const char *const *columns, size_t count, furrow_error *err) {
  furrow_item_table *made = NULL;
  if (count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "no column of the table of items is selected");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->columns = count;
  made->items = recommender->items.count;
  furrow_status status = alloc_cells(made, recommender, err);
  if (status == FURROW_OK) status = read_all(made, recommender, uri, columns, err);
  if (status == FURROW_OK && made->rows == 0) {
    status = fw_fail(err, FURROW_E_ARGUMENT, "no row of the table has an item of the model in its column %s",
                     recommender->items.column);
    fw_error_set_file(err, uri);
  }
  return FW_HAND_OVER(status, table, made, furrow_item_table_free);
}

void furrow_item_table_free(furrow_item_table *table) {
  if (!table) return;
  fw_free(table->cells);
  fw_buffer_clear(&table->texts);
  fw_free(table);
}

const char *furrow_item_table_get(const furrow_item_table *table, uint64_t item, size_t i) {
  if (item >= table->items || i >= table->columns) return "";
  const size_t at = table->cells[item * table->columns + i];
  return at == NO_CELL ? "" : table->texts.bytes + at;
}

uint64_t furrow_item_table_count(const furrow_item_table *table) {
  return table->rows;
}
