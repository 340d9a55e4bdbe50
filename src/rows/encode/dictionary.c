/* rows/encode/dictionary.c: the fields of a schema, and the file of the dictionary. */
#include "rows/encode/dictionary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* ---- Fields of a schema --------------------------------------------------------------------------------- */

static furrow_status add_field(fw_dictionary *d, size_t *capacity, const char *name, fw_field field,
                               furrow_error *err) {
  FW_TRY(FW_GROW(&d->fields, capacity, d->count + 1, err));
  FW_TRY(fw_strndup(&field.name, name, strlen(name), err));
  d->fields[d->count++] = field;
  return FURROW_OK;
}

/* Adds one field for each part of a time: "column.part". */
static furrow_status add_parts(fw_dictionary *d, size_t *capacity, fw_field field, furrow_error *err) {
  for (unsigned part = 0; part < FW_TIME_PART_COUNT; part++) {
    if (!(field.column->parts & 1U << part)) continue;
    fw_buffer name = {0};
    fw_buffer_format(&name, "%s.%s", field.column->name, fw_time_part_name(part));
    fw_buffer_byte(&name, 0);
    field.part = part;
    field.kind = fw_time_part_values(part) > 0 ? FW_FIELD_PART : FW_FIELD_AGE;
    furrow_status status = fw_buffer_status(&name, err);
    if (status == FURROW_OK) status = add_field(d, capacity, name.bytes, field, err);
    fw_buffer_clear(&name);
    FW_TRY(status);
  }
  return FURROW_OK;
}

static furrow_side side_of(const furrow_schema *schema, const fw_column *column, size_t table) {
  if (table != SIZE_MAX) column = fw_schema_find(schema, schema->tables[table].key);
  if (!column || column->role == FW_ROLE_NONE || column->role == FW_ROLE_TIME) return FURROW_SIDE_CONTEXT;
  return column->role == FW_ROLE_USER ? FURROW_SIDE_USER : FURROW_SIDE_ITEM;
}

static furrow_status add_column(fw_dictionary *d, size_t *capacity, const furrow_schema *schema,
                                const fw_column *column, size_t table, furrow_error *err) {
  fw_field field = {.column = column, .table = table, .side = side_of(schema, column, table)};
  field.hash_bits = column->hash_bits;
  switch (column->kind) {
  case FW_AS_CATEGORY: field.kind = FW_FIELD_CATEGORY; break;
  case FW_AS_SET: field.kind = FW_FIELD_SET; break;
  case FW_AS_TEXT: field.kind = FW_FIELD_WORDS; break;
  case FW_AS_NUMBER: field.kind = column->scale == FW_SCALE_BINS ? FW_FIELD_BINS : FW_FIELD_NUMBER; break;
  case FW_AS_TIME: return add_parts(d, capacity, field, err);
  default: return FURROW_OK;
  }
  return add_field(d, capacity, column->name, field, err);
}

/* Finds the fields that a cross combines: they belong to the log and have at most one feature per row. */
static furrow_status find_crossed(const fw_dictionary *d, const fw_name_map *numbers, const fw_cross *cross,
                                  fw_field *field, furrow_error *err) {
  for (size_t i = 0; i < cross->count; i++) {
    const size_t found = fw_name_map_find(numbers, cross->names[i], strlen(cross->names[i]));
    const fw_field *part = found == FW_NAME_NONE ? NULL : &d->fields[found];
    const bool fits = part && part->table == SIZE_MAX && !fw_field_is_number(part) && !fw_field_is_list(part);
    if (!fits || field->crossed_count == FW_CROSSED_MOST) {
      fw_fail(err, FURROW_E_ARGUMENT, "cross: %s",
              !part  ? "no column of the log is a feature of that name"
              : fits ? "too many columns"
                     : "only categories, bins and parts of times of the log can be crossed");
      fw_error_set_token(err, cross->names[i], strlen(cross->names[i]));
      return FURROW_E_ARGUMENT;
    }
    field->crossed[field->crossed_count++] = found;
    if (part->side != field->side) field->side = i == 0 ? part->side : FURROW_SIDE_CONTEXT;
  }
  return FURROW_OK;
}

static furrow_status add_cross(fw_dictionary *d, size_t *capacity, const fw_name_map *numbers, const fw_cross *cross,
                               furrow_error *err) {
  fw_field field = {.kind = FW_FIELD_CROSS, .table = SIZE_MAX, .hash_bits = cross->bits};
  FW_TRY(find_crossed(d, numbers, cross, &field, err));
  fw_buffer name = {0};
  for (size_t i = 0; i < cross->count; i++) fw_buffer_format(&name, "%s%s", i ? " x " : "", cross->names[i]);
  fw_buffer_byte(&name, 0);
  furrow_status status = fw_buffer_status(&name, err);
  if (status == FURROW_OK) status = add_field(d, capacity, name.bytes, field, err);
  fw_buffer_clear(&name);
  return status;
}

static furrow_status add_crosses(fw_dictionary *d, size_t *capacity, const furrow_schema *schema, furrow_error *err) {
  fw_name_map numbers = {0};
  furrow_status status = FURROW_OK;
  if (schema->cross_count == 0) return FURROW_OK;
  for (size_t i = 0; i < d->count && status == FURROW_OK; i++)
    status = fw_name_map_add(&numbers, d->fields[i].name, strlen(d->fields[i].name), i, err);
  for (size_t i = 0; i < schema->cross_count && status == FURROW_OK; i++)
    status = add_cross(d, capacity, &numbers, &schema->crosses[i], err);
  fw_name_map_clear(&numbers);
  return status;
}

static void find_sides(fw_dictionary *d) {
  d->user_field = d->item_field = d->history_field = SIZE_MAX;
  for (size_t i = 0; i < d->count; i++) {
    const fw_field *field = &d->fields[i];
    if (field->kind == FW_FIELD_HISTORY) d->history_field = i;
    if (field->column && field->column->role == FW_ROLE_USER) d->user_field = i;
    if (field->column && field->column->role == FW_ROLE_ITEM) d->item_field = i;
  }
}

static bool is_of_log(const fw_dictionary *d, size_t field) {
  return field != SIZE_MAX && d->fields[field].table == SIZE_MAX;
}

static furrow_status check_history(const fw_dictionary *d, const furrow_schema *schema, furrow_error *err) {
  if (is_of_log(d, d->user_field) && is_of_log(d, d->item_field) && fw_schema_of_role(schema, FW_ROLE_TIME))
    return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "a history needs columns of the log with the roles user, item and time");
}

furrow_status fw_dictionary_plan(fw_dictionary *d, const furrow_schema *schema, const size_t *column_table,
                                 furrow_error *err) {
  size_t capacity = 0;
  for (size_t i = 0; i < schema->count; i++)
    FW_TRY(add_column(d, &capacity, schema, &schema->columns[i], column_table[i], err));
  FW_TRY(add_crosses(d, &capacity, schema, err));
  find_sides(d);
  if (schema->history > 0) FW_TRY(check_history(d, schema, err));
  if (schema->history > 0)
    FW_TRY(add_field(d, &capacity, "history",
                     (fw_field){.kind = FW_FIELD_HISTORY, .side = FURROW_SIDE_USER, .table = SIZE_MAX}, err));
  find_sides(d);
  if (d->count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "the schema has no column that is a feature");
  return FURROW_OK;
}

furrow_status fw_schema_digest(const furrow_schema *schema, uint64_t *digest, furrow_error *err) {
  fw_buffer text = {0};
  furrow_status status = fw_schema_write(schema, false, &text, err);
  if (status == FURROW_OK) status = fw_buffer_status(&text, err);
  if (status == FURROW_OK) *digest = XXH3_64bits(text.bytes, text.size);
  fw_buffer_clear(&text);
  return status;
}

/* ---- Features ------------------------------------------------------------------------------------------- */

uint64_t fw_field_local(const fw_field *field, uint64_t feature) {
  const uint64_t own = field->size - field->added;
  uint64_t low = 0, high = field->added;
  if (feature - field->first < own) return feature - field->first;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (fw_get_le64(field->added_index + 8 * middle) < feature)
      low = middle + 1;
    else
      high = middle;
  }
  const bool found = low < field->added && fw_get_le64(field->added_index + 8 * low) == feature;
  return found ? own + low : FW_LOCAL_NONE;
}

size_t fw_dictionary_field_of(const fw_dictionary *d, uint64_t feature) {
  if (feature >= d->own_features) return d->added_field[feature - d->own_features];
  return fw_lower_bound_u64(&d->fields[0].first, d->count, sizeof *d->fields, feature + 1) - 1;
}

/* A number that is encoded in another way is another feature. */
static bool is_same_number(const fw_field *a, const fw_field *b) {
  const size_t bytes = 8 * a->edge_count;
  return a->edge_count == b->edge_count && (bytes == 0 || memcmp(a->edges, b->edges, bytes) == 0) &&
         memcmp(&a->mean, &b->mean, sizeof a->mean) == 0 && memcmp(&a->factor, &b->factor, sizeof a->factor) == 0 &&
         memcmp(&a->newest, &b->newest, sizeof a->newest) == 0;
}

static bool extends_field(const fw_field *grown, const fw_field *field) {
  const uint64_t own = field->size - field->added;
  if (grown->kind != field->kind || grown->first != field->first || grown->size < field->size ||
      grown->size - grown->added != own || grown->sparse != field->sparse || grown->texts.count < field->texts.count ||
      !is_same_number(grown, field))
    return false;
  if (field->added > 0 && memcmp(grown->added_index, field->added_index, 8 * field->added) != 0) return false;
  for (size_t i = 0; i < field->texts.count; i++) {
    size_t length;
    const char *text = fw_string_table_text(&field->texts, i, &length);
    if (!fw_string_table_is_text(&grown->texts, i, text, length)) return false;
  }
  return true;
}

bool fw_dictionary_extends(const fw_dictionary *grown, const fw_dictionary *d) {
  bool extends = grown->count == d->count && grown->own_features == d->own_features && grown->features >= d->features &&
                 fw_get_le64(grown->image + FW_DICT_AT_SCHEMA) == fw_get_le64(d->image + FW_DICT_AT_SCHEMA);
  for (size_t i = 0; i < d->count && extends; i++) extends = extends_field(&grown->fields[i], &d->fields[i]);
  return extends;
}

/* ---- Reading an image ----------------------------------------------------------------------------------- */

static furrow_status fail_at(furrow_error *err, size_t offset, const char *message) {
  const furrow_status status = fw_fail(err, FURROW_E_FORMAT, "dictionary: %s", message);
  if (err) err->offset = offset;
  return status;
}

/* Finds `count` elements of `each` bytes at the offset that is stored at `at`; *section is NULL if count is 0. */
static furrow_status find_section(const fw_dictionary *d, size_t at, uint64_t count, size_t each,
                                  const unsigned char **section, furrow_error *err) {
  const uint64_t offset = fw_get_le64(d->image + at);
  *section = NULL;
  if (count == 0) return FURROW_OK;
  if (offset % 8 != 0 || offset > d->size || count > (d->size - offset) / each)
    return fail_at(err, at, "a section lies outside of the file");
  *section = d->image + offset;
  return FURROW_OK;
}

static furrow_status open_texts(const fw_dictionary *d, size_t at, uint64_t size, fw_string_table *texts,
                                furrow_error *err) {
  const unsigned char *section;
  FW_TRY(find_section(d, at, size, 1, &section, err));
  if (!section) return FURROW_OK;
  const furrow_status status = fw_string_table_open(texts, section, size, err);
  if (err && status != FURROW_OK && err->offset != FURROW_NO_OFFSET) err->offset += (uint64_t)(section - d->image);
  return status;
}

/* Checks count + 1 offsets: they begin with 0, do not descend, and end with `last`. */
static bool ascends(const unsigned char *offsets, uint64_t count, uint64_t last) {
  uint64_t before = 0;
  if (fw_get_le64(offsets) != 0 || fw_get_le64(offsets + 8 * count) != last) return false;
  for (uint64_t i = 1; i <= count; i++) {
    const uint64_t here = fw_get_le64(offsets + 8 * i);
    if (here < before) return false;
    before = here;
  }
  return true;
}

/* The number of features that the field must have, according to its statistics. */
static uint64_t field_size(const fw_dictionary *d, const fw_field *field) {
  switch (field->kind) {
  case FW_FIELD_CATEGORY:
  case FW_FIELD_SET:
  case FW_FIELD_WORDS:
    return field->hash_bits ? (uint64_t)1 << field->hash_bits : FW_LOCAL_FIRST + (uint64_t)field->texts.count;
  case FW_FIELD_NUMBER:
  case FW_FIELD_AGE: return 2;
  case FW_FIELD_BINS: return field->edge_count + 2;
  case FW_FIELD_PART: return (uint64_t)fw_time_part_values(field->part) + 1;
  case FW_FIELD_CROSS: return (uint64_t)1 << field->hash_bits;
  case FW_FIELD_HISTORY: return d->fields[d->item_field].size;
  }
  return 0;
}

static furrow_status check_edges(const fw_field *field, size_t at, furrow_error *err) {
  double before = -INFINITY;
  for (size_t i = 0; i < field->edge_count; i++) {
    const double edge = fw_get_f64(field->edges + 8 * i);
    if (!(edge > before) || !isfinite(edge)) return fail_at(err, at, "edges of bins do not ascend");
    before = edge;
  }
  return FURROW_OK;
}

static uint32_t image_version(const fw_dictionary *d) {
  return fw_get_le32(d->image + FW_DICT_AT_VERSION);
}

static size_t field_bytes(uint32_t version) {
  return version == FW_DICTIONARY_VERSION_GROWN ? FW_DICT_FIELD_GROWN : FW_DICT_FIELD;
}

/* Features that a field got later are names, also in histories. */
static furrow_status open_added(const fw_dictionary *d, fw_field *field, size_t at, furrow_error *err) {
  if (image_version(d) != FW_DICTIONARY_VERSION_GROWN) return FURROW_OK;
  field->added = fw_get_le64(d->image + at + FW_DICT_FIELD_ADDED_COUNT);
  const bool grows = fw_field_has_texts(field) || field->kind == FW_FIELD_HISTORY;
  if (field->added > 0 && (!grows || field->added > field->size))
    return fail_at(err, at + FW_DICT_FIELD_ADDED_COUNT, "a field has more added features than features");
  return find_section(d, at + FW_DICT_FIELD_ADDED, field->added, 8, &field->added_index, err);
}

static furrow_status open_field(const fw_dictionary *d, fw_field *field, size_t at, uint64_t first, furrow_error *err) {
  const unsigned char *record = d->image + at;
  if (fw_get_le32(record + FW_DICT_FIELD_KIND) != field->kind ||
      fw_get_le32(record + FW_DICT_FIELD_SIDE) != field->side ||
      fw_get_le32(record + FW_DICT_FIELD_HASH_BITS) != field->hash_bits)
    return fail_at(err, at, "a field differs from the schema's");
  const uint32_t sparse = fw_get_le32(record + FW_DICT_FIELD_SPARSE);
  if (sparse > (uint32_t)fw_field_has_missing(field))
    return fail_at(err, at + FW_DICT_FIELD_SPARSE, "a field is sparse but must not be");
  field->sparse = sparse;
  field->first = fw_get_le64(record + FW_DICT_FIELD_FIRST);
  field->size = fw_get_le64(record + FW_DICT_FIELD_FEATURES);
  field->unknown = fw_get_le64(record + FW_DICT_FIELD_UNKNOWN);
  field->missing = fw_get_le64(record + FW_DICT_FIELD_MISSING);
  field->mean = fw_get_f64(record + FW_DICT_FIELD_MEAN);
  field->factor = fw_get_f64(record + FW_DICT_FIELD_FACTOR);
  field->newest = fw_get_f64(record + FW_DICT_FIELD_NEWEST);
  const uint64_t edges = fw_get_le64(record + FW_DICT_FIELD_EDGE_COUNT);
  if (edges >= FW_BINS_MOST || (edges > 0 && field->kind != FW_FIELD_BINS))
    return fail_at(err, at + FW_DICT_FIELD_EDGE_COUNT, "too many edges of bins");
  field->edge_count = (size_t)edges;
  if (!isfinite(field->mean) || !isfinite(field->factor) || !isfinite(field->newest))
    return fail_at(err, at + FW_DICT_FIELD_MEAN, "a scale is not finite");
  const uint64_t size = fw_get_le64(record + FW_DICT_FIELD_TEXTS_SIZE);
  if ((size > 0) != fw_field_has_texts(field))
    return fail_at(err, at, "a field has texts but must not have any, or lacks them");
  FW_TRY(open_texts(d, at + FW_DICT_FIELD_TEXTS, size, &field->texts, err));
  FW_TRY(find_section(d, at + FW_DICT_FIELD_COUNTS, field->texts.count, 8, &field->counts, err));
  FW_TRY(find_section(d, at + FW_DICT_FIELD_EDGES, edges, 8, &field->edges, err));
  FW_TRY(check_edges(field, at + FW_DICT_FIELD_EDGES, err));
  FW_TRY(open_added(d, field, at, err));
  if (field->first != first || field->size != field_size(d, field))
    return fail_at(err, at + FW_DICT_FIELD_FIRST, "the features of a field do not follow the previous field's");
  return FURROW_OK;
}

static uint32_t version_of(const fw_dictionary *d) {
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].added > 0) return FW_DICTIONARY_VERSION_GROWN;
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].sparse) return FW_DICTIONARY_VERSION_SPARSE;
  return FW_DICTIONARY_VERSION;
}

/* Notes the field of each added feature: every one of them has to belong to one field. */
static furrow_status own_added(fw_dictionary *d, const fw_field *field, size_t at, uint64_t added, furrow_error *err) {
  const uint32_t number = (uint32_t)(field - d->fields);
  uint64_t least = d->own_features;
  for (uint64_t i = 0; i < field->added; i++) {
    const uint64_t feature = fw_get_le64(field->added_index + 8 * i);
    const bool fits = feature >= least && feature - d->own_features < added;
    if (!fits || d->added_field[feature - d->own_features] != UINT32_MAX)
      return fail_at(err, at + FW_DICT_FIELD_ADDED, "an added feature has the index of another one");
    d->added_field[feature - d->own_features] = number;
    least = feature + 1;
  }
  return FURROW_OK;
}

static furrow_status open_all_added(fw_dictionary *d, furrow_error *err) {
  const size_t each = field_bytes(image_version(d));
  uint64_t added = 0;
  for (size_t i = 0; i < d->count; i++) added += d->fields[i].added; /* each at most the bytes of the file */
  if (added == 0) return FURROW_OK;
  FW_TRY(FW_ALLOC(&d->added_field, added, err));
  memset(d->added_field, 0xff, added * sizeof *d->added_field);
  for (size_t i = 0; i < d->count; i++) FW_TRY(own_added(d, &d->fields[i], FW_DICT_HEADER + i * each, added, err));
  return FURROW_OK;
}

static furrow_status open_fields(fw_dictionary *d, furrow_error *err) {
  const size_t each = field_bytes(image_version(d));
  uint64_t first = 0;
  for (size_t i = 0; i < d->count; i++) {
    const fw_field *field = &d->fields[i];
    FW_TRY(open_field(d, &d->fields[i], FW_DICT_HEADER + i * each, d->own_features, err));
    first += field->size;
    d->own_features += field->size - field->added;
  }
  FW_TRY(open_all_added(d, err));
  if (fw_get_le32(d->image + FW_DICT_AT_VERSION) != version_of(d))
    return fail_at(err, FW_DICT_AT_VERSION, "of a version that does not fit its fields");
  d->features = fw_get_le64(d->image + FW_DICT_AT_FEATURES);
  return d->features == first ? FURROW_OK : fail_at(err, FW_DICT_AT_FEATURES, "the number of its features is wrong");
}

static furrow_status check_joined(const fw_dictionary *d, const fw_joined *table, uint64_t features, size_t at,
                                  furrow_error *err) {
  for (uint64_t i = 0; i < features; i++) {
    const uint64_t index = fw_get_le64(table->index + 8 * i);
    const uint32_t field = fw_get_le32(table->field + 4 * i);
    if (field >= d->count || fw_field_local(&d->fields[field], index) == FW_LOCAL_NONE ||
        !isfinite(fw_get_f32(table->value + 4 * i)))
      return fail_at(err, at, "a table has a feature that does not exist");
  }
  return FURROW_OK;
}

static furrow_status open_table(const fw_dictionary *d, fw_joined *table, size_t at, furrow_error *err) {
  const unsigned char *record = d->image + at;
  const uint64_t features = fw_get_le64(record + FW_DICT_TABLE_FEATURES);
  const uint64_t size = fw_get_le64(record + FW_DICT_TABLE_KEYS_SIZE);
  if (size == 0) return fail_at(err, at, "a table has no keys");
  FW_TRY(open_texts(d, at + FW_DICT_TABLE_KEYS, size, &table->keys, err));
  FW_TRY(find_section(d, at + FW_DICT_TABLE_OFFSETS, (uint64_t)table->keys.count + 1, 8, &table->offsets, err));
  if (!ascends(table->offsets, table->keys.count, features))
    return fail_at(err, at + FW_DICT_TABLE_OFFSETS, "offsets of a table do not ascend");
  FW_TRY(find_section(d, at + FW_DICT_TABLE_INDEX, features, 8, &table->index, err));
  FW_TRY(find_section(d, at + FW_DICT_TABLE_FIELD, features, 4, &table->field, err));
  FW_TRY(find_section(d, at + FW_DICT_TABLE_VALUE, features, 4, &table->value, err));
  return check_joined(d, table, features, at, err);
}

static furrow_status open_tables(fw_dictionary *d, size_t count, size_t at, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&d->tables, count, err));
  d->table_count = count;
  for (size_t i = 0; i < count; i++) FW_TRY(open_table(d, &d->tables[i], at + i * FW_DICT_TABLE, err));
  return FURROW_OK;
}

static furrow_status open_history(fw_dictionary *d, furrow_error *err) {
  const uint64_t users = fw_get_le64(d->image + FW_DICT_AT_USERS);
  if ((users > 0) != (d->history_field != SIZE_MAX) || (users > 0 && users != d->fields[d->user_field].size))
    return fail_at(err, FW_DICT_AT_USERS, "the number of users is wrong");
  if (users == 0) return FURROW_OK;
  FW_TRY(find_section(d, FW_DICT_AT_HISTORY_OFFSETS, users + 1, 8, &d->history_offsets, err));
  FW_TRY(find_section(d, FW_DICT_AT_HISTORY_TIMES, users, 8, &d->history_times, err));
  const uint64_t items = fw_get_le64(d->history_offsets + 8 * users), known = d->fields[d->item_field].size;
  if (!ascends(d->history_offsets, users, items))
    return fail_at(err, FW_DICT_AT_HISTORY_OFFSETS, "offsets of histories do not ascend");
  FW_TRY(find_section(d, FW_DICT_AT_HISTORY_ITEMS, items, 8, &d->history_items, err));
  for (uint64_t i = 0; i < items; i++)
    if (fw_get_le64(d->history_items + 8 * i) >= known)
      return fail_at(err, FW_DICT_AT_HISTORY_ITEMS, "a history has an item that does not exist");
  d->history_users = users;
  return FURROW_OK;
}

static furrow_status check_header(const fw_dictionary *d, const furrow_schema *schema, furrow_error *err) {
  const unsigned char *image = d->image;
  uint64_t digest = 0;
  if (d->size < FW_DICT_HEADER || memcmp(image, FW_DICTIONARY_MAGIC, 8) != 0)
    return fail_at(err, 0, "not a dictionary of Furrow's");
  const uint32_t version = fw_get_le32(image + FW_DICT_AT_VERSION);
  if (version < FW_DICTIONARY_VERSION || version > FW_DICTIONARY_VERSION_GROWN)
    return fail_at(err, FW_DICT_AT_VERSION, "of a version that is not known");
  if (fw_get_le64(image + FW_DICT_AT_SIZE) != d->size)
    return fail_at(err, FW_DICT_AT_SIZE, "cut short, or longer than it says");
  if (fw_get_le64(image + FW_DICT_AT_DIGEST) != XXH3_64bits(image + FW_DICT_AT_SCHEMA, d->size - FW_DICT_AT_SCHEMA))
    return fail_at(err, FW_DICT_AT_DIGEST, "damaged: the digest does not match");
  FW_TRY(fw_schema_digest(schema, &digest, err));
  if (fw_get_le64(image + FW_DICT_AT_SCHEMA) != digest) {
    fail_at(err, FW_DICT_AT_SCHEMA, "made with another schema than the one stored next to it");
    fw_error_set_hint(err, "a schema that is changed needs a new dictionary: encode or train again");
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

/* Reads the tables of the columns, and then the fields. */
static furrow_status open_plan(fw_dictionary *d, const furrow_schema *schema, furrow_error *err) {
  const uint32_t fields = fw_get_le32(d->image + FW_DICT_AT_FIELDS),
                 columns = fw_get_le32(d->image + FW_DICT_AT_COLUMNS),
                 tables = fw_get_le32(d->image + FW_DICT_AT_TABLES);
  const uint64_t at = FW_DICT_HEADER + (uint64_t)fields * field_bytes(image_version(d));
  const uint64_t end = at + ((uint64_t)columns * 4 + 7) / 8 * 8 + (uint64_t)tables * FW_DICT_TABLE;
  if (end > d->size || columns != schema->count || tables != schema->table_count)
    return fail_at(err, FW_DICT_AT_COLUMNS, "not the columns and tables of the schema");
  size_t *column_table;
  FW_TRY(FW_ALLOC(&column_table, columns, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < columns && status == FURROW_OK; i++) {
    const uint32_t table = fw_get_le32(d->image + at + 4 * i);
    column_table[i] = table == 0 ? SIZE_MAX : table - 1;
    if (table > tables) status = fail_at(err, at + 4 * i, "a column refers to a table that does not exist");
  }
  if (status == FURROW_OK) status = fw_dictionary_plan(d, schema, column_table, err);
  fw_free(column_table);
  FW_TRY(status);
  if (d->count != fields) return fail_at(err, FW_DICT_AT_FIELDS, "not the fields of the schema");
  FW_TRY(open_fields(d, err));
  return open_tables(d, tables, (size_t)(end - (uint64_t)tables * FW_DICT_TABLE), err);
}

static furrow_status open_image(fw_dictionary *d, const furrow_schema *schema, furrow_error *err) {
  FW_TRY(check_header(d, schema, err));
  FW_TRY(open_plan(d, schema, err));
  d->records = fw_get_le64(d->image + FW_DICT_AT_RECORDS);
  return open_history(d, err);
}

furrow_status fw_dictionary_open(fw_dictionary *d, const furrow_schema *schema, void *image, size_t size,
                                 furrow_error *err) {
  *d = (fw_dictionary){.image = image, .size = size};
  const furrow_status status = open_image(d, schema, err);
  if (status != FURROW_OK) fw_dictionary_clear(d);
  return status;
}

/* Gets the bytes of the file: in place if they are in memory, else read. They are not mapped (io/file_map.h),
 * because offsets in them decide where to read next, and another program may change a file after they were checked. */
static furrow_status get_image(fw_dictionary *d, size_t size, furrow_error *err) {
  d->image = fw_input_memory(d->input, &d->size);
  if (d->image) return FURROW_OK;
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, size, 1, err));
  const furrow_status status = fw_input_read_at(d->input, memory, size, 0, &d->size, err);
  d->image = memory;
  fw_input_close(d->input);
  d->input = NULL;
  return status;
}

furrow_status fw_dictionary_load(fw_dictionary *d, const furrow_schema *schema, const char *path, furrow_error *err) {
  struct stat info;
  *d = (fw_dictionary){0};
  FW_TRY(fw_input_open_regular(&d->input, path, err));
  furrow_status status = fw_input_stat(d->input, &info, err);
  if (status == FURROW_OK) status = get_image(d, (size_t)info.st_size, err);
  if (status == FURROW_OK) status = open_image(d, schema, err);
  if (status == FURROW_E_FORMAT) fw_error_set_file(err, path);
  if (status != FURROW_OK) fw_dictionary_clear(d);
  return status;
}

void fw_dictionary_clear(fw_dictionary *d) {
  for (size_t i = 0; i < d->count; i++) fw_free(d->fields[i].name);
  fw_free(d->fields);
  fw_free(d->tables);
  fw_free(d->added_field);
  if (!d->input) fw_free((void *)d->image);
  fw_input_close(d->input);
  memset(d, 0, sizeof *d);
}

/* ---- The bytes of a dictionary file: header, records, then their sections -------------------------------- */

void fw_put_u32(fw_buffer *out, uint32_t number) {
  unsigned char bytes[4];
  fw_put_le32(bytes, number);
  fw_buffer_append(out, bytes, sizeof bytes);
}

void fw_put_u64(fw_buffer *out, uint64_t number) {
  unsigned char bytes[8];
  fw_put_le64(bytes, number);
  fw_buffer_append(out, bytes, sizeof bytes);
}

void fw_put_f64(fw_buffer *out, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  fw_put_u64(out, bits);
}

static void align(fw_buffer *out) {
  while (out->size % 8 != 0 && out->missing == 0) fw_buffer_byte(out, 0);
}

/* Assigns offsets to the sections, one after the other. */
typedef struct place {
  uint64_t next;
} place;

/* Returns the offset of the next section; 0 if it is empty. */
static uint64_t put_section(place *p, const fw_buffer *section) {
  const uint64_t at = p->next;
  p->next += (section->size + 7) / 8 * 8;
  return section->size > 0 ? at : 0;
}

static void put_field(fw_buffer *out, place *p, const fw_field *field, const fw_field_image *image, bool grown) {
  fw_put_u32(out, field->kind);
  fw_put_u32(out, field->side);
  fw_put_u32(out, field->hash_bits);
  fw_put_u32(out, field->sparse);
  fw_put_u64(out, field->first);
  fw_put_u64(out, field->size);
  fw_put_u64(out, field->unknown);
  fw_put_u64(out, field->missing);
  fw_put_f64(out, field->mean);
  fw_put_f64(out, field->factor);
  fw_put_f64(out, field->newest);
  fw_put_u64(out, put_section(p, &image->texts));
  fw_put_u64(out, image->texts.size);
  fw_put_u64(out, put_section(p, &image->counts));
  fw_put_u64(out, put_section(p, &image->edges));
  fw_put_u64(out, image->edges.size / 8);
  if (!grown) return;
  fw_put_u64(out, put_section(p, &image->added));
  fw_put_u64(out, image->added.size / 8);
}

static void put_table(fw_buffer *out, place *p, const fw_joined_image *image) {
  fw_put_u64(out, put_section(p, &image->keys));
  fw_put_u64(out, image->keys.size);
  fw_put_u64(out, put_section(p, &image->offsets));
  fw_put_u64(out, image->index.size / 8);
  fw_put_u64(out, put_section(p, &image->index));
  fw_put_u64(out, put_section(p, &image->field));
  fw_put_u64(out, put_section(p, &image->value));
}

static void put_bytes(fw_buffer *out, const fw_buffer *section) {
  if (section->size > 0) fw_buffer_append(out, section->bytes, section->size);
  align(out);
}

/* In the same order as put_section. */
static void put_sections(fw_buffer *out, const fw_dictionary_parts *parts) {
  for (size_t i = 0; i < parts->dictionary->count; i++) {
    put_bytes(out, &parts->fields[i].texts);
    put_bytes(out, &parts->fields[i].counts);
    put_bytes(out, &parts->fields[i].edges);
    put_bytes(out, &parts->fields[i].added);
  }
  for (size_t i = 0; i < parts->schema->table_count; i++) {
    const fw_joined_image *t = &parts->tables[i];
    const fw_buffer *const sections[] = {&t->keys, &t->offsets, &t->index, &t->field, &t->value};
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) put_bytes(out, sections[k]);
  }
  put_bytes(out, &parts->history->offsets);
  put_bytes(out, &parts->history->items);
  put_bytes(out, &parts->history->times);
}

static void put_header(fw_buffer *out, const fw_dictionary_parts *parts, uint64_t schema) {
  const fw_dictionary *d = parts->dictionary;
  fw_buffer_append(out, FW_DICTIONARY_MAGIC, 8);
  fw_put_u32(out, version_of(d));
  fw_put_u32(out, (uint32_t)d->count);
  fw_put_u64(out, 0); /* size and digest are set at the end */
  fw_put_u64(out, 0);
  fw_put_u64(out, schema);
  fw_put_u64(out, d->features);
  fw_put_u64(out, d->records);
  fw_put_u32(out, (uint32_t)parts->schema->count);
  fw_put_u32(out, (uint32_t)parts->schema->table_count);
  fw_put_u64(out, parts->history->users);
}

furrow_status fw_dictionary_write(const fw_dictionary_parts *parts, fw_buffer *out, furrow_error *err) {
  const size_t fields = parts->dictionary->count, columns = parts->schema->count, tables = parts->schema->table_count;
  uint64_t schema = 0;
  const uint32_t version = version_of(parts->dictionary);
  place p = {FW_DICT_HEADER + fields * field_bytes(version) + (columns * 4 + 7) / 8 * 8 + tables * FW_DICT_TABLE};
  fw_buffer records = {0};
  FW_TRY(fw_schema_digest(parts->schema, &schema, err));
  put_header(out, parts, schema);
  for (size_t i = 0; i < fields; i++)
    put_field(&records, &p, &parts->dictionary->fields[i], &parts->fields[i], version == FW_DICTIONARY_VERSION_GROWN);
  for (size_t i = 0; i < columns; i++)
    fw_put_u32(&records, (uint32_t)(parts->column_table[i] + 1)); /* SIZE_MAX becomes 0 */
  align(&records);
  for (size_t i = 0; i < tables; i++) put_table(&records, &p, &parts->tables[i]);
  fw_put_u64(out, put_section(&p, &parts->history->offsets));
  fw_put_u64(out, put_section(&p, &parts->history->items));
  fw_put_u64(out, put_section(&p, &parts->history->times));
  put_bytes(out, &records);
  const furrow_status status = fw_buffer_status(&records, err);
  fw_buffer_clear(&records);
  FW_TRY(status);
  put_sections(out, parts);
  FW_TRY(fw_buffer_status(out, err));
  fw_put_le64(out->bytes + FW_DICT_AT_SIZE, out->size);
  fw_put_le64(out->bytes + FW_DICT_AT_DIGEST,
              XXH3_64bits(out->bytes + FW_DICT_AT_SCHEMA, out->size - FW_DICT_AT_SCHEMA));
  return FURROW_OK;
}
