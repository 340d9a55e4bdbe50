/* rows/encode/encode_view.c: decides which cells of a table are read, and for which fields. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/encode/encoder.h"

/* Returns the slot of a column; adds a slot if there is none yet. The lists are long enough. */
static size_t slot_of(fw_encode_view *view, const char *name) {
  for (size_t i = 0; i < view->slots; i++)
    if (strcmp(view->names[i], name) == 0) return i;
  view->names[view->slots] = name;
  return view->slots++;
}

static furrow_status make_lists(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                furrow_error *err) {
  *view = (fw_encode_view){.label = SIZE_MAX, .weight = SIZE_MAX, .group = SIZE_MAX, .key = SIZE_MAX, .time = SIZE_MAX};
  FW_TRY(FW_ALLOC(&view->names, schema->count + schema->table_count + 1, err));
  FW_TRY(FW_ALLOC(&view->fields, d->count, err));
  FW_TRY(FW_ALLOC(&view->field_slot, d->count, err));
  return FW_ALLOC(&view->table_key, schema->table_count, err);
}

static void add_field(fw_encode_view *view, const fw_dictionary *d, size_t field) {
  view->fields[view->field_count] = field;
  view->field_slot[view->field_count++] = slot_of(view, d->fields[field].column->name);
}

static size_t slot_of_kind(fw_encode_view *view, const furrow_schema *schema, fw_column_kind kind) {
  const fw_column *column = fw_schema_of_kind(schema, kind);
  return column ? slot_of(view, column->name) : SIZE_MAX;
}

static void add_time(fw_encode_view *view, const furrow_schema *schema) {
  const fw_column *time = fw_schema_of_role(schema, FW_ROLE_TIME);
  view->events = true;
  view->time = slot_of(view, time->name);
}

furrow_status fw_encode_view_log(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                 bool history, furrow_error *err) {
  FW_TRY(make_lists(view, schema, d, err));
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].column && d->fields[i].table == SIZE_MAX && (!history || i == d->user_field || i == d->item_field))
      add_field(view, d, i);
  if (d->history_field != SIZE_MAX) add_time(view, schema);
  if (history) return FURROW_OK;
  view->label = slot_of_kind(view, schema, FW_AS_LABEL);
  view->weight = slot_of_kind(view, schema, FW_AS_WEIGHT);
  view->group = slot_of_kind(view, schema, FW_AS_GROUP);
  view->crosses = true;
  view->table_count = schema->table_count;
  for (size_t i = 0; i < schema->table_count; i++) view->table_key[i] = slot_of(view, schema->tables[i].key);
  return FURROW_OK;
}

furrow_status fw_encode_view_joined(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                    size_t table, furrow_error *err) {
  FW_TRY(make_lists(view, schema, d, err));
  view->key = slot_of(view, schema->tables[table].column);
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].column && d->fields[i].table == table) add_field(view, d, i);
  return FURROW_OK;
}

void fw_encode_view_clear(fw_encode_view *view) {
  fw_free((void *)view->names);
  fw_free(view->fields);
  fw_free(view->field_slot);
  fw_free(view->table_key);
  memset(view, 0, sizeof *view);
}
