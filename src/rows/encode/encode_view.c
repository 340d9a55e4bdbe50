/* rows/encode/encode_view.c: decides which cells of a table are read, and for which fields. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/encode/encoder.h"

/* ---- Slots and fields ----------------------------------------------------------------------------------- */

/* Finds the slot of a column; adds a slot if there is none yet. The lists are long enough. */
static furrow_status find_slot(fw_encode_view *view, const char *name, size_t *slot, furrow_error *err) {
  *slot = fw_name_map_find(&view->numbers, name, strlen(name));
  if (*slot != FW_NAME_NONE) return FURROW_OK;
  FW_TRY(fw_name_map_add(&view->numbers, name, strlen(name), view->slots, err));
  view->names[view->slots] = name;
  *slot = view->slots++;
  return FURROW_OK;
}

static furrow_status make_lists(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                furrow_error *err) {
  *view = (fw_encode_view){.label = SIZE_MAX, .weight = SIZE_MAX, .group = SIZE_MAX, .key = SIZE_MAX, .time = SIZE_MAX};
  FW_TRY(FW_ALLOC(&view->names, schema->count + schema->table_count + 1, err));
  FW_TRY(FW_ALLOC(&view->fields, d->count, err));
  FW_TRY(FW_ALLOC(&view->field_slot, d->count, err));
  FW_TRY(FW_ALLOC(&view->crosses, schema->cross_count, err));
  FW_TRY(FW_ALLOC(&view->positions, d->count, err));
  for (size_t i = 0; i < d->count; i++) view->positions[i] = SIZE_MAX;
  return FW_ALLOC(&view->table_key, schema->table_count, err);
}

static furrow_status add_field(fw_encode_view *view, const fw_dictionary *d, size_t field, furrow_error *err) {
  FW_TRY(find_slot(view, d->fields[field].column->name, &view->field_slot[view->field_count], err));
  view->positions[field] = view->field_count;
  view->fields[view->field_count++] = field;
  return FURROW_OK;
}

static furrow_status find_slot_of(fw_encode_view *view, const fw_column *column, size_t *slot, furrow_error *err) {
  return column ? find_slot(view, column->name, slot, err) : FURROW_OK;
}

/* Lists the fields of each slot; no more slots are added. */
static furrow_status list_slot_fields(fw_encode_view *view, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&view->slot_begin, view->slots + 1, err));
  FW_TRY(FW_ALLOC(&view->slot_fields, view->field_count, err));
  for (size_t i = 0; i < view->field_count; i++) view->slot_begin[view->field_slot[i]]++;
  for (size_t s = 1; s <= view->slots; s++) view->slot_begin[s] += view->slot_begin[s - 1];
  for (size_t i = view->field_count; i-- > 0;) view->slot_fields[--view->slot_begin[view->field_slot[i]]] = i;
  return FURROW_OK;
}

/* ---- Views ---------------------------------------------------------------------------------------------- */

static furrow_status add_others(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                furrow_error *err) {
  view->label_column = fw_schema_of_kind(schema, FW_AS_LABEL);
  view->weight_column = fw_schema_of_kind(schema, FW_AS_WEIGHT);
  FW_TRY(find_slot_of(view, view->label_column, &view->label, err));
  FW_TRY(find_slot_of(view, view->weight_column, &view->weight, err));
  FW_TRY(find_slot_of(view, fw_schema_of_kind(schema, FW_AS_GROUP), &view->group, err));
  view->table_count = schema->table_count;
  for (size_t i = 0; i < schema->table_count; i++)
    FW_TRY(find_slot(view, schema->tables[i].key, &view->table_key[i], err));
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].kind == FW_FIELD_CROSS) view->crosses[view->cross_count++] = i;
  return FURROW_OK;
}

furrow_status fw_encode_view_log(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                 bool history, furrow_error *err) {
  FW_TRY(make_lists(view, schema, d, err));
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].column && d->fields[i].table == SIZE_MAX && (!history || i == d->user_field || i == d->item_field))
      FW_TRY(add_field(view, d, i, err));
  if (d->history_field != SIZE_MAX) {
    view->events = true;
    view->time_column = fw_schema_of_role(schema, FW_ROLE_TIME);
    FW_TRY(find_slot_of(view, view->time_column, &view->time, err));
  }
  if (!history) FW_TRY(add_others(view, schema, d, err));
  return list_slot_fields(view, err);
}

furrow_status fw_encode_view_joined(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *d,
                                    size_t table, furrow_error *err) {
  FW_TRY(make_lists(view, schema, d, err));
  FW_TRY(find_slot(view, schema->tables[table].column, &view->key, err));
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].column && d->fields[i].table == table) FW_TRY(add_field(view, d, i, err));
  return list_slot_fields(view, err);
}

void fw_encode_view_clear(fw_encode_view *view) {
  fw_name_map_clear(&view->numbers);
  fw_free((void *)view->names);
  fw_free(view->fields);
  fw_free(view->field_slot);
  fw_free(view->positions);
  fw_free(view->slot_begin);
  fw_free(view->slot_fields);
  fw_free(view->table_key);
  fw_free(view->crosses);
  memset(view, 0, sizeof *view);
}

/* ---- The fields of a batch ------------------------------------------------------------------------------ */

static size_t count_words(const fw_encode_view *view) {
  return (view->field_count + 63) / 64;
}

furrow_status fw_field_selection_init(fw_field_selection *selection, const fw_encode_view *view, furrow_error *err) {
  *selection = (fw_field_selection){0};
  FW_TRY(FW_ALLOC_ZERO(&selection->always, count_words(view), err));
  FW_TRY(FW_ALLOC(&selection->bits, count_words(view), err));
  return FW_ALLOC(&selection->fields, view->field_count, err);
}

void fw_field_selection_clear(fw_field_selection *selection) {
  fw_free(selection->always);
  fw_free(selection->bits);
  fw_free(selection->fields);
  *selection = (fw_field_selection){0};
}

void fw_field_selection_set(fw_field_selection *selection, const fw_encode_view *view, const fw_table_batch *batch) {
  const size_t words = count_words(view);
  memcpy(selection->bits, selection->always, words * sizeof *selection->bits);
  for (size_t i = 0; i < batch->filled_count; i++) {
    const size_t slot = batch->filled[i];
    for (size_t k = view->slot_begin[slot]; k < view->slot_begin[slot + 1]; k++)
      selection->bits[view->slot_fields[k] / 64] |= (uint64_t)1 << view->slot_fields[k] % 64;
  }
  selection->count = 0;
  for (size_t w = 0; w < words; w++)
    for (uint64_t bits = selection->bits[w]; bits != 0; bits &= bits - 1)
      selection->fields[selection->count++] = 64 * w + (size_t)__builtin_ctzll(bits);
}
