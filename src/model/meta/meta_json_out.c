/* model/meta/meta_json_out.c: writes metadata byte for byte like Angel: 4 bytes of length, then JSON without blanks,
 * keys in the order of the tables, maps in the order of a Java HashMap, unknown members last. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/meta/meta.h"

typedef struct meta_writer {
  fw_buffer out;
  uint32_t *hashes; /* both have the capacity of the largest map */
  size_t *order;
  furrow_error *err;
} meta_writer;

/* ---- Checks that the output can be read back ---- */

/* The location of a field; index -1: not in that map. */
typedef struct field_place {
  int64_t part, row;
} field_place;

static furrow_status refuse_field(furrow_error *err, field_place place, const char *field, const char *fault) {
  char part[48] = "", row[48] = "";
  if (place.part >= 0) snprintf(part, sizeof part, "partMetas/%lld/", (long long)place.part);
  if (place.row >= 0) snprintf(row, sizeof row, "rowMetas/%lld/", (long long)place.row);
  return fw_fail(err, FURROW_E_ARGUMENT, "%s%s%s %s", part, row, field, fault);
}

static const char *text_fault(const char *text) {
  if (!text) return "is not known";
  return fw_utf8_check(text, text + strlen(text)) ? "is not UTF-8" : NULL;
}

static furrow_status check_fields(const fw_meta_fields *fields, const void *object, field_place place,
                                  furrow_error *err) {
  for (size_t i = 0; i < fields->count; i++) {
    const fw_meta_field *field = &fields->fields[i];
    const char *text = NULL, *fault = NULL;
    char buffer[80];
    if (field->kind == FW_META_TEXT) {
      memcpy(&text, (const char *)object + field->place, sizeof text);
      fault = text_fault(text);
    } else if (field->kind == FW_META_I32 || field->kind == FW_META_I64) {
      fault = fw_meta_number_fault(field, fw_meta_get(field, object), buffer);
    }
    if (fault) return refuse_field(err, place, field->name, fault);
  }
  return FURROW_OK;
}

static furrow_status check_rows(const furrow_partition_meta *part, fw_meta_positions *positions, furrow_error *err) {
  furrow_status status = FURROW_OK;
  char text[120];
  uint64_t at;
  positions->count = 0;
  for (size_t r = 0; r < part->row_count && status == FURROW_OK; r++) {
    const field_place place = {part->part_id, part->rows[r].row_id};
    status = check_fields(&fw_row_fields, &part->rows[r], place, err);
    if (status == FURROW_OK) status = fw_meta_positions_add(positions, (uint32_t)part->rows[r].row_id, 0, err);
  }
  if (status != FURROW_OK) return status;
  const char *fault = fw_meta_rows_fault(part, positions, text, &at);
  return fault ? refuse_field(err, (field_place){part->part_id, -1}, "rowMetas", fault) : FURROW_OK;
}

static furrow_status check_parts(const furrow_matrix_meta *meta, fw_meta_positions *positions, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < meta->part_count && status == FURROW_OK; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    const field_place place = {part->part_id, -1};
    const fw_meta_field *field = NULL;
    status = check_fields(&fw_part_fields, part, place, err);
    if (status != FURROW_OK) return status;
    const char *fault = fw_meta_part_fault(part, &field);
    if (fault) return refuse_field(err, place, field->name, fault);
    if (i > 0 && meta->parts[i - 1].part_id >= part->part_id)
      return refuse_field(err, (field_place){-1, -1}, "partMetas", "is not in the order of partition ids");
    status = check_rows(part, positions, err);
  }
  return status;
}

static furrow_status check_options(const furrow_matrix_meta *meta, fw_meta_positions *positions, furrow_error *err) {
  const field_place none = {-1, -1};
  furrow_status status = FURROW_OK;
  positions->count = 0;
  for (size_t i = 0; i < meta->option_count && status == FURROW_OK; i++) {
    const furrow_matrix_option *option = &meta->options[i];
    const char *fault = text_fault(option->key);
    if (!fault) fault = text_fault(option->value);
    if (fault) return refuse_field(err, none, "options", fault);
    status = fw_meta_positions_add(positions, fw_meta_hash(option->key, strlen(option->key)), 0, err);
  }
  if (status == FURROW_OK && fw_meta_positions_duplicate(positions))
    return refuse_field(err, none, "options", "has a key twice");
  return status;
}

static furrow_status check_meta(const furrow_matrix_meta *meta, furrow_error *err) {
  fw_meta_positions positions = {0};
  furrow_status status = check_fields(&fw_matrix_fields, meta, (field_place){-1, -1}, err);
  if (status == FURROW_OK) status = check_options(meta, &positions, err);
  if (status == FURROW_OK) status = check_parts(meta, &positions, err);
  fw_meta_positions_clear(&positions);
  return status;
}

/* ---- Writing ---- */

static void write_text(meta_writer *w, const char *text) {
  fw_buffer_json_string(&w->out, text, strlen(text), true);
}

/* Writes "id":, with a comma before it unless it is the first member */
static void write_id_key(meta_writer *w, size_t i, int32_t id) {
  fw_buffer_text(&w->out, i ? ",\"" : "\"");
  fw_buffer_i64(&w->out, id);
  fw_buffer_text(&w->out, "\":");
}

static furrow_status write_object(meta_writer *w, const fw_meta_fields *fields, const void *object, const char *extra);

static furrow_status write_options(meta_writer *w, const furrow_matrix_meta *meta) {
  for (size_t i = 0; i < meta->option_count; i++)
    w->hashes[i] = fw_java_text_hash(meta->options[i].key, strlen(meta->options[i].key));
  FW_TRY(fw_java_map_order(w->hashes, meta->option_count, w->order, w->err));
  for (size_t i = 0; i < meta->option_count; i++) {
    const furrow_matrix_option *option = &meta->options[w->order[i]];
    if (i) fw_buffer_byte(&w->out, ',');
    write_text(w, option->key);
    fw_buffer_byte(&w->out, ':');
    write_text(w, option->value);
  }
  return FURROW_OK;
}

static furrow_status write_rows(meta_writer *w, const furrow_partition_meta *part) {
  for (size_t i = 0; i < part->row_count; i++) w->hashes[i] = (uint32_t)part->rows[i].row_id;
  furrow_status status = fw_java_map_order(w->hashes, part->row_count, w->order, w->err);
  for (size_t i = 0; i < part->row_count && status == FURROW_OK; i++) {
    const furrow_matrix_row_meta *row = &part->rows[w->order[i]];
    write_id_key(w, i, row->row_id);
    status = write_object(w, &fw_row_fields, row, row->extra);
  }
  return status;
}

static furrow_status write_parts(meta_writer *w, const furrow_matrix_meta *meta) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < meta->part_count && status == FURROW_OK; i++) {
    write_id_key(w, i, meta->parts[i].part_id);
    status = write_object(w, &fw_part_fields, &meta->parts[i], meta->parts[i].extra);
  }
  return status;
}

static furrow_status write_map(meta_writer *w, fw_meta_kind kind, const void *object) {
  fw_buffer_byte(&w->out, '{');
  furrow_status status = kind == FW_META_OPTIONS ? write_options(w, object)
                         : kind == FW_META_PARTS ? write_parts(w, object)
                                                 : write_rows(w, object);
  fw_buffer_byte(&w->out, '}');
  return status;
}

static furrow_status write_value(meta_writer *w, const fw_meta_field *field, const void *object) {
  const char *text = NULL;
  switch (field->kind) {
  case FW_META_I32:
  case FW_META_I64: fw_buffer_i64(&w->out, fw_meta_get(field, object)); return FURROW_OK;
  case FW_META_TEXT:
    memcpy(&text, (const char *)object + field->place, sizeof text);
    write_text(w, text);
    return FURROW_OK;
  default: return write_map(w, field->kind, object);
  }
}

static furrow_status write_object(meta_writer *w, const fw_meta_fields *fields, const void *object, const char *extra) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < fields->count && status == FURROW_OK; i++) {
    fw_buffer_text(&w->out, i ? ",\"" : "{\"");
    fw_buffer_text(&w->out, fields->fields[i].name);
    fw_buffer_text(&w->out, "\":");
    status = write_value(w, &fields->fields[i], object);
  }
  if (extra && extra[0]) {
    fw_buffer_byte(&w->out, ',');
    fw_buffer_text(&w->out, extra);
  }
  fw_buffer_byte(&w->out, '}');
  return status;
}

static size_t largest_map(const furrow_matrix_meta *meta) {
  size_t largest = meta->option_count;
  for (size_t i = 0; i < meta->part_count; i++)
    if (meta->parts[i].row_count > largest) largest = meta->parts[i].row_count;
  return largest;
}

static furrow_status write_all(meta_writer *w, const furrow_matrix_meta *meta) {
  const size_t entries = largest_map(meta);
  furrow_status status = FW_ALLOC(&w->hashes, entries, w->err);
  if (status == FURROW_OK) status = FW_ALLOC(&w->order, entries, w->err);
  if (status != FURROW_OK) return status;
  fw_buffer_append(&w->out, "\0\0\0\0", 4);
  status = write_object(w, &fw_matrix_fields, meta, meta->extra);
  if (status == FURROW_OK) status = fw_buffer_status(&w->out, w->err);
  if (status != FURROW_OK) return status;
  if (w->out.size - 4 > INT32_MAX)
    return fw_fail(w->err, FURROW_E_RANGE, "the metadata has %zu bytes, more than a metadata file can have",
                   w->out.size - 4);
  fw_put_be32(w->out.bytes, (uint32_t)(w->out.size - 4));
  return FURROW_OK;
}

furrow_status furrow_matrix_meta_write(const furrow_matrix_meta *meta, char **bytes, size_t *size, furrow_error *err) {
  meta_writer w = {.err = err};
  furrow_status status = check_meta(meta, err);
  if (status == FURROW_OK) status = write_all(&w, meta);
  if (status == FURROW_OK) status = fw_buffer_take(&w.out, bytes, size, err);
  fw_buffer_clear(&w.out);
  fw_free(w.hashes);
  fw_free(w.order);
  return status;
}

/* ---- The iteration order of a java.util.HashMap ---------------------------------------------------------- */

/* Entries are ordered by bucket, and within a bucket by insertion: bucket = (h ^ h >>> 16) mod capacity. The capacity
 * starts at 16. It doubles when more than 3/4 of it are used, or when a bucket gets a ninth entry and the capacity is
 * below 64. (From 64 on, such a bucket becomes a tree, whose root comes first. That takes eleven saved rows with the
 * same id mod 64, and is not imitated.) */

#define TREES_FROM 64
#define CROWDED 8

static uint32_t bucket_of(uint32_t hash, size_t capacity) {
  return (uint32_t)((hash ^ hash >> 16) & (capacity - 1));
}

/* The capacity after `count` insertions; below TREES_FROM only the first few entries can overflow a bucket. */
static size_t capacity_for(const uint32_t *hashes, size_t count) {
  size_t capacity = 16;
  for (size_t i = 0; i < count && capacity < TREES_FROM; i++) {
    size_t before = 0;
    for (size_t k = 0; k < i; k++) before += bucket_of(hashes[k], capacity) == bucket_of(hashes[i], capacity);
    if (before >= CROWDED) capacity *= 2;
    if (i + 1 > capacity / 4 * 3) capacity *= 2;
  }
  while (count > capacity / 4 * 3) capacity *= 2;
  return capacity;
}

furrow_status fw_java_map_order(const uint32_t *hashes, size_t count, size_t *order, furrow_error *err) {
  const size_t capacity = capacity_for(hashes, count);
  size_t *next; /* position of the next entry of each bucket */
  FW_TRY(FW_ALLOC_ZERO(&next, capacity + 1, err));
  for (size_t i = 0; i < count; i++) next[bucket_of(hashes[i], capacity) + 1]++;
  for (size_t b = 0; b < capacity; b++) next[b + 1] += next[b];
  for (size_t i = 0; i < count; i++) order[next[bucket_of(hashes[i], capacity)]++] = i;
  fw_free(next);
  return FURROW_OK;
}

uint32_t fw_java_text_hash(const char *text, size_t size) {
  const char *const end = text + size;
  uint32_t hash = 0, code = 0;
  while (text < end) {
    const char *next = fw_utf8_read(text, end, &code);
    if (!next) return hash;
    if (code >= 0x10000) { /* a surrogate pair in UTF-16 */
      hash = hash * 31 + (0xd800 + ((code - 0x10000) >> 10));
      code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    hash = hash * 31 + code;
    text = next;
  }
  return hash;
}
