/* model/meta/meta_json.c: reads the JSON of metadata.
 *
 * It follows Angel: every key is required, in any order; the keys of partMetas and rowMetas are ignored in favour of
 * the ids inside; integers may be strings; options may be numbers or booleans; unknown members are allowed and kept. It
 * is stricter than Angel: duplicates and contradictions are errors. */
#include <string.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/number_out.h"
#include "model/meta/meta.h"

typedef struct meta_reader {
  furrow_json json;
  fw_meta_owner *owner;
  furrow_error *err;
  /* ids and keys of a map's members; the lists of rows are reused for each partition */
  fw_meta_positions parts, part_keys, rows, row_keys;
} meta_reader;

/* Positions collected while an object is read. */
typedef struct object_notes {
  uint64_t start;                  /* offset of the object */
  uint64_t at[FW_META_FIELDS_MAX]; /* offset of each field's value; 0: missing */
  const char *extra;
} object_notes;

static furrow_status refuse_value(meta_reader *r, const char *message) {
  return furrow_json_fail(&r->json, furrow_json_offset(&r->json), NULL, r->err, "%s", message);
}

/* ---- Scalars ---- */

static furrow_status read_text(meta_reader *r, const char **text) {
  furrow_json_text string;
  FW_TRY(furrow_json_string(&r->json, &string, r->err));
  if (memchr(string.bytes, 0, string.size)) return refuse_value(r, "has a character 0");
  *text = fw_meta_text(r->owner, string.bytes, string.size);
  return FURROW_OK;
}

static furrow_status read_integer_text(meta_reader *r, int64_t *value) {
  furrow_json_text string;
  bool overflow = false;
  FW_TRY(furrow_json_string(&r->json, &string, r->err));
  const char *end = string.bytes + string.size;
  if (string.size == 0 || fw_read_i64(string.bytes, end, value, &overflow) != end)
    return refuse_value(r, "is not an integer");
  return overflow ? refuse_value(r, "does not fit 64 bits") : FURROW_OK;
}

static furrow_status read_number(meta_reader *r, const fw_meta_field *field, void *object) {
  int64_t value = 0;
  char text[80];
  const bool string = furrow_json_peek(&r->json) == FURROW_JSON_STRING;
  FW_TRY(string ? read_integer_text(r, &value) : furrow_json_i64(&r->json, &value, r->err));
  const char *fault = fw_meta_number_fault(field, value, text);
  if (fault) return refuse_value(r, fault);
  fw_meta_set(field, object, value);
  return FURROW_OK;
}

/* ---- Objects ---- */

static furrow_status read_options(meta_reader *r);
static furrow_status read_parts(meta_reader *r);
static furrow_status read_rows(meta_reader *r);

static furrow_status read_field(meta_reader *r, const fw_meta_field *field, void *object) {
  const char *text = NULL;
  furrow_status status;
  switch (field->kind) {
  case FW_META_OPTIONS: return read_options(r);
  case FW_META_PARTS: return read_parts(r);
  case FW_META_ROWS: return read_rows(r);
  case FW_META_TEXT:
    status = read_text(r, &text);
    if (status == FURROW_OK) memcpy((char *)object + field->place, &text, sizeof text);
    return status;
  default: return read_number(r, field, object);
  }
}

/* Keeps an unknown member as its original text. */
static furrow_status keep_member(meta_reader *r, fw_buffer *extra) {
  const fw_json_step key = r->json.steps[r->json.depth - 1];
  furrow_json_text raw;
  FW_TRY(furrow_json_skip(&r->json, &raw, r->err));
  fw_buffer_text(extra, extra->size ? ",\"" : "\"");
  fw_buffer_append(extra, key.key, key.size);
  fw_buffer_text(extra, "\":");
  fw_buffer_append(extra, raw.bytes, raw.size);
  return fw_buffer_status(extra, r->err);
}

static const fw_meta_field *find_field(const fw_meta_fields *fields, furrow_json_text key) {
  for (size_t i = 0; i < fields->count; i++)
    if (furrow_json_is(key, fields->fields[i].name)) return &fields->fields[i];
  return NULL;
}

static furrow_status read_member(meta_reader *r, const fw_meta_fields *fields, furrow_json_text key, void *object,
                                 object_notes *notes, fw_buffer *extra) {
  const fw_meta_field *field = find_field(fields, key);
  if (!field) return keep_member(r, extra);
  uint64_t *at = &notes->at[field - fields->fields];
  const uint64_t here = furrow_json_next_offset(&r->json);
  if (*at) return furrow_json_fail(&r->json, here, NULL, r->err, "occurs twice");
  *at = here;
  return read_field(r, field, object);
}

static furrow_status check_missing(meta_reader *r, const fw_meta_fields *fields, const object_notes *notes) {
  for (size_t i = 0; i < fields->count; i++)
    if (!notes->at[i]) return furrow_json_fail(&r->json, notes->start, fields->fields[i].name, r->err, "is missing");
  return FURROW_OK;
}

static furrow_status read_object(meta_reader *r, const fw_meta_fields *fields, void *object, object_notes *notes) {
  fw_buffer extra = {0};
  furrow_json_text key;
  *notes = (object_notes){0};
  furrow_status status = furrow_json_object(&r->json, r->err);
  notes->start = furrow_json_offset(&r->json);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &key, r->err)) == FURROW_OK)
    status = read_member(r, fields, key, object, notes, &extra);
  if (status == FURROW_END) status = check_missing(r, fields, notes);
  if (status == FURROW_OK && extra.size) notes->extra = fw_meta_text(r->owner, extra.bytes, extra.size);
  fw_buffer_clear(&extra);
  return status;
}

/* ---- Maps ---- */

/* The offset of the key of the last member, including its quote. */
static uint64_t key_offset(const meta_reader *r) {
  return r->json.base + (uint64_t)(r->json.steps[r->json.depth - 1].key - 1 - r->json.text);
}

static furrow_status check_keys(meta_reader *r, fw_meta_positions *keys) {
  const fw_meta_position *twice = fw_meta_positions_duplicate(keys);
  return twice ? furrow_json_fail(&r->json, twice->at, NULL, r->err, "has a key twice") : FURROW_OK;
}

/* Reads an option; numbers and booleans become text. */
static furrow_status read_option(meta_reader *r, furrow_json_text key) {
  furrow_matrix_option option;
  furrow_json_text raw;
  const furrow_json_kind kind = furrow_json_peek(&r->json);
  if (memchr(key.bytes, 0, key.size))
    return furrow_json_fail(&r->json, key_offset(r), NULL, r->err, "has a character 0 in its key");
  option.key = fw_meta_text(r->owner, key.bytes, key.size);
  furrow_status status = FURROW_OK;
  if (kind == FURROW_JSON_NUMBER || kind == FURROW_JSON_BOOL) {
    status = furrow_json_skip(&r->json, &raw, r->err);
    if (status == FURROW_OK) option.value = fw_meta_text(r->owner, raw.bytes, raw.size);
  } else {
    status = read_text(r, &option.value);
  }
  return status == FURROW_OK ? fw_meta_add_option(r->owner, option, r->err) : status;
}

static furrow_status read_options(meta_reader *r) {
  fw_meta_positions keys = {0};
  furrow_json_text key;
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &key, r->err)) == FURROW_OK) {
    status = fw_meta_positions_add(&keys, fw_meta_hash(key.bytes, key.size), key_offset(r), r->err);
    if (status == FURROW_OK) status = read_option(r, key);
  }
  if (status == FURROW_END) status = check_keys(r, &keys);
  fw_meta_positions_clear(&keys);
  return status;
}

/* A map of objects with ids. Its keys are ignored but must differ; if each key equals the id, checking the ids
 * suffices. */
typedef struct object_map {
  fw_meta_positions *ids, *keys;
  bool odd; /* a key differs from its id */
} object_map;

static furrow_status note_id(meta_reader *r, object_map *map, int32_t id, uint64_t at) {
  char text[FW_NUMBER_TEXT];
  const uint64_t hash = fw_meta_hash(text, fw_write_i64(text, id));
  if (hash != map->keys->items[map->keys->count - 1].key) map->odd = true;
  return fw_meta_positions_add(map->ids, (uint32_t)id, at, r->err);
}

static furrow_status read_map(meta_reader *r, object_map *map,
                              furrow_status (*read_one)(meta_reader *, object_map *map)) {
  furrow_json_text key;
  map->ids->count = map->keys->count = 0;
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &key, r->err)) == FURROW_OK) {
    status = fw_meta_positions_add(map->keys, fw_meta_hash(key.bytes, key.size), key_offset(r), r->err);
    if (status == FURROW_OK) status = read_one(r, map);
  }
  if (status != FURROW_END) return status;
  return map->odd ? check_keys(r, map->keys) : FURROW_OK;
}

static furrow_status read_row(meta_reader *r, object_map *map) {
  furrow_matrix_row_meta row = {0};
  object_notes notes;
  furrow_status status = read_object(r, &fw_row_fields, &row, &notes);
  if (status != FURROW_OK) return status;
  row.extra = notes.extra;
  status = note_id(r, map, row.row_id, notes.at[0]);
  return status == FURROW_OK ? fw_meta_add_row(r->owner, &row, r->err) : status;
}

static furrow_status read_rows(meta_reader *r) {
  object_map map = {&r->rows, &r->row_keys, false};
  return read_map(r, &map, read_row);
}

static furrow_status check_part(meta_reader *r, const furrow_partition_meta *part, const object_notes *notes) {
  const fw_meta_field *field = NULL;
  char text[120];
  uint64_t at = 0;
  const char *fault = fw_meta_part_fault(part, &field);
  if (fault)
    return furrow_json_fail(&r->json, notes->at[field - fw_part_fields.fields], field->name, r->err, "%s", fault);
  fault = fw_meta_rows_fault(part, &r->rows, text, &at);
  return fault ? furrow_json_fail(&r->json, at, "rowMetas", r->err, "%s", fault) : FURROW_OK;
}

static furrow_status read_part(meta_reader *r, object_map *map) {
  furrow_partition_meta part = {0};
  object_notes notes;
  const size_t first_row = r->owner->row_count;
  furrow_status status = read_object(r, &fw_part_fields, &part, &notes);
  if (status == FURROW_OK) status = check_part(r, &part, &notes);
  if (status == FURROW_OK) status = note_id(r, map, part.part_id, notes.at[0]);
  if (status != FURROW_OK) return status;
  part.extra = notes.extra;
  part.row_count = r->owner->row_count - first_row;
  return fw_meta_add_part(r->owner, &part, r->err);
}

static furrow_status read_parts(meta_reader *r) {
  object_map map = {&r->parts, &r->part_keys, false};
  furrow_status status = read_map(r, &map, read_part);
  if (status != FURROW_OK) return status;
  const fw_meta_position *twice = NULL;
  fw_meta_finish(r->owner);
  status = fw_meta_sort_parts(r->owner, &r->parts, &twice, r->err);
  if (!twice) return status;
  return furrow_json_fail(&r->json, twice->at, NULL, r->err, "has partition %d twice", (int32_t)twice->key);
}

/* ---- The whole file ---- */

furrow_status fw_meta_read_json(fw_meta_owner **owner, const char *text, size_t size, const char *file,
                                furrow_error *err) {
  object_notes notes;
  meta_reader r = {.err = err};
  fw_json_open(&r.json, text, size, file);
  r.json.base = 4;
  /* a string loses two quotes, and a number or word is followed by another byte: with their zeros, the texts fit in
   * `size` */
  furrow_status status = fw_meta_create(&r.owner, size, err);
  if (status == FURROW_OK) status = read_object(&r, &fw_matrix_fields, &r.owner->meta, &notes);
  if (status == FURROW_OK) {
    r.owner->meta.extra = notes.extra;
    r.owner->meta.origin = FURROW_META_JSON;
    *owner = r.owner;
    r.owner = NULL;
  }
  if (r.owner) furrow_matrix_meta_free(&r.owner->meta);
  fw_meta_positions_clear(&r.parts);
  fw_meta_positions_clear(&r.part_keys);
  fw_meta_positions_clear(&r.rows);
  fw_meta_positions_clear(&r.row_keys);
  fw_json_close(&r.json);
  return status;
}
