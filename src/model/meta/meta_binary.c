/* model/meta/meta_binary.c: reads metadata in Java's binary form: the psmeta of a server, and the metadata of Angel
 * 1.x.
 *
 * All numbers are big-endian, and the fields have the order of the tables (model/meta/meta_fields.c). A text is its
 * length (16 bits) and that number of bytes in Java's modified UTF-8. A map is its count (32 bits) and the entries
 * without their keys; options are pairs of texts.
 * psmeta     matrixId and partMetas
 * Angel 1.x  the fields that are marked angel1 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/utf8.h"
#include "model/format/matrix_format.h"
#include "model/meta/meta.h"

typedef struct binary_reader {
  const unsigned char *bytes;
  size_t size, at;
  const char *file;
  furrow_matrix_meta_origin origin;
  fw_meta_owner *owner;
  furrow_error *err;
  int64_t part, row;      /* indices of the entries being read; -1: none */
  fw_meta_positions ids;  /* ids of the partitions */
  fw_meta_positions rows; /* row ids of the current partition */
} binary_reader;

/* ---- Errors ---- */

/* Fails with E_FORMAT and the path of a field, written as in the JSON form. */
static furrow_status fail_field(binary_reader *r, uint64_t offset, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static furrow_status fail_field(binary_reader *r, uint64_t offset, const char *field, const char *format, ...) {
  char part[40] = "", row[40] = "", message[160];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (r->part >= 0) snprintf(part, sizeof part, "partMetas/%lld/", (long long)r->part);
  if (r->row >= 0) snprintf(row, sizeof row, "rowMetas/%lld/", (long long)r->row);
  const char *name = r->owner->meta.matrix_name;
  if (r->origin == FURROW_META_ANGEL1 &&
      (!name || !name[0])) /* nothing so far shows that this is metadata of Angel 1.x */
    fw_fail(r->err, FURROW_E_FORMAT,
            "neither JSON with its length in front nor the binary form of Angel 1.x, in which %s %s", field, message);
  else
    fw_fail(r->err, FURROW_E_FORMAT, "%s%s%s%s %s", r->origin == FURROW_META_ANGEL1 ? "as metadata of Angel 1.x: " : "",
            part, row, field, message);
  if (r->err) r->err->offset = offset;
  fw_error_set_file(r->err, r->file);
  return FURROW_E_FORMAT;
}

/* ---- Numbers and texts ---- */

static furrow_status take_bytes(binary_reader *r, size_t size, const char *field, const unsigned char **bytes) {
  if (r->size - r->at < size) return fail_field(r, r->size, field, "is cut off by the end of the file");
  *bytes = r->bytes + r->at;
  r->at += size;
  return FURROW_OK;
}

static furrow_status read_number(binary_reader *r, const fw_meta_field *field, void *object) {
  const unsigned char *bytes = NULL;
  const size_t start = r->at;
  char text[80];
  FW_TRY(take_bytes(r, field->kind == FW_META_I32 ? 4 : 8, field->name, &bytes));
  const int64_t value = field->kind == FW_META_I32 ? (int32_t)fw_get_be32(bytes) : (int64_t)fw_get_be64(bytes);
  const char *fault = fw_meta_number_fault(field, value, text);
  if (fault) return fail_field(r, start, field->name, "%s", fault);
  fw_meta_set(field, object, value);
  return FURROW_OK;
}

/* Reads a UTF-16 unit in modified UTF-8: 1 … 3 bytes; 0 takes two. Returns the position after it, or NULL. */
static const char *read_unit(const char *s, const char *end, uint32_t *unit) {
  const unsigned char first = (unsigned char)*s;
  if (first < 0x80) return *unit = first, s + 1;
  const int length = (first & 0xe0) == 0xc0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : 0;
  if (length == 0 || end - s < length) return NULL;
  *unit = first & (length == 2 ? 0x1f : 0x0f);
  for (int i = 1; i < length; i++) {
    if ((s[i] & 0xc0) != 0x80) return NULL;
    *unit = *unit << 6 | (s[i] & 0x3f);
  }
  return s + length;
}

/* Reads a character, which may consist of two units. */
static const char *read_character(const char *s, const char *end, uint32_t *code) {
  uint32_t low = 0;
  s = read_unit(s, end, code);
  if (!s || *code < 0xd800 || *code >= 0xe000) return s;
  const char *next = *code < 0xdc00 && s < end ? read_unit(s, end, &low) : NULL;
  if (!next || low < 0xdc00 || low >= 0xe000) return NULL;
  *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
  return next;
}

/* The stored text takes 2 bytes more than its UTF-8 form at most, including the length, so the result always fits. */
static furrow_status read_text(binary_reader *r, const char *field, const char **text) {
  const unsigned char *bytes = NULL;
  const size_t start = r->at;
  furrow_status status = take_bytes(r, 2, field, &bytes);
  if (status != FURROW_OK) return status;
  status = take_bytes(r, fw_get_be16(bytes), field, &bytes);
  if (status != FURROW_OK) return status;
  const char *s = (const char *)bytes, *const end = (const char *)r->bytes + r->at;
  const char *made = fw_meta_text(r->owner, s, (size_t)(end - s));
  char *out = r->owner->text + (made - r->owner->text);
  while (s < end) {
    uint32_t code = 0;
    s = read_character(s, end, &code);
    if (!s) return fail_field(r, start, field, "is not UTF-8 as Java writes it");
    if (code == 0) return fail_field(r, start, field, "has a character 0");
    out += fw_utf8_write(out, code);
  }
  *out = 0;
  *text = made;
  return FURROW_OK;
}

/* ---- Entries ---- */

/* The least number of bytes that an entry with these fields takes. */
static size_t least_bytes(const binary_reader *r, const fw_meta_fields *fields) {
  size_t bytes = 0;
  for (size_t i = 0; i < fields->count; i++) {
    if (r->origin == FURROW_META_ANGEL1 && !fields->fields[i].angel1) continue;
    bytes += fields->fields[i].kind == FW_META_I64 ? 8 : fields->fields[i].kind == FW_META_TEXT ? 2 : 4;
  }
  return bytes;
}

/* Reads the count of a map whose entries take at least `least` bytes each. */
static furrow_status read_count(binary_reader *r, const char *field, size_t least, size_t *count) {
  const unsigned char *bytes = NULL;
  const size_t start = r->at;
  FW_TRY(take_bytes(r, 4, field, &bytes));
  const int32_t value = (int32_t)fw_get_be32(bytes);
  if (value < 0) return fail_field(r, start, field, "has a negative count");
  if ((size_t)value > (r->size - r->at) / least)
    return fail_field(r, start, field, "has %d entries, for which the file is too short", value);
  *count = (size_t)value;
  return FURROW_OK;
}

static furrow_status read_options(binary_reader *r) {
  size_t count = 0;
  fw_meta_positions keys = {0};
  furrow_status status = read_count(r, "options", 4, &count);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    furrow_matrix_option option = {NULL, NULL};
    const size_t start = r->at;
    status = read_text(r, "options", &option.key);
    if (status == FURROW_OK) status = read_text(r, "options", &option.value);
    if (status == FURROW_OK) status = fw_meta_add_option(r->owner, option, r->err);
    if (status != FURROW_OK) break;
    status = fw_meta_positions_add(&keys, fw_meta_hash(option.key, strlen(option.key)), start, r->err);
  }
  const fw_meta_position *twice = status == FURROW_OK ? fw_meta_positions_duplicate(&keys) : NULL;
  if (twice) status = fail_field(r, twice->at, "options", "has a key twice");
  fw_meta_positions_clear(&keys);
  return status;
}

static furrow_status read_parts(binary_reader *r);
static furrow_status read_rows(binary_reader *r);

static furrow_status read_field(binary_reader *r, const fw_meta_field *field, void *object) {
  const char *text = NULL;
  furrow_status status;
  switch (field->kind) {
  case FW_META_OPTIONS: return read_options(r);
  case FW_META_PARTS: return read_parts(r);
  case FW_META_ROWS: return read_rows(r);
  case FW_META_TEXT:
    status = read_text(r, field->name, &text);
    if (status == FURROW_OK) memcpy((char *)object + field->place, &text, sizeof text);
    return status;
  default: return read_number(r, field, object);
  }
}

/* Reads an entry; at[i] is the offset of field i. */
static furrow_status read_entry(binary_reader *r, const fw_meta_fields *fields, void *object, size_t *at) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < fields->count && status == FURROW_OK; i++) {
    const fw_meta_field *field = &fields->fields[i];
    at[i] = r->at;
    if (r->origin == FURROW_META_ANGEL1 ? field->angel1
                                        : fields != &fw_matrix_fields || i == 0 || field->kind == FW_META_PARTS)
      status = read_field(r, field, object);
  }
  return status;
}

static furrow_status read_rows(binary_reader *r) {
  size_t count = 0, at[FW_META_FIELDS_MAX];
  r->rows.count = 0;
  furrow_status status = read_count(r, "rowMetas", least_bytes(r, &fw_row_fields), &count);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    furrow_matrix_row_meta row = {.element_num = -1};
    r->row = (int64_t)i;
    status = read_entry(r, &fw_row_fields, &row, at);
    if (status == FURROW_OK) status = fw_meta_positions_add(&r->rows, (uint32_t)row.row_id, at[0], r->err);
    if (status == FURROW_OK) status = fw_meta_add_row(r->owner, &row, r->err);
  }
  if (status == FURROW_OK) r->row = -1;
  return status;
}

static furrow_status check_part(binary_reader *r, const furrow_partition_meta *part, const size_t *at) {
  const fw_meta_field *field = NULL;
  char text[120];
  uint64_t row_at = 0;
  const char *fault = fw_meta_part_fault(part, &field);
  if (fault) return fail_field(r, at[field - fw_part_fields.fields], field->name, "%s", fault);
  fault = fw_meta_rows_fault(part, &r->rows, text, &row_at);
  return fault ? fail_field(r, row_at, "rowMetas", "%s", fault) : FURROW_OK;
}

static furrow_status read_part(binary_reader *r) {
  furrow_partition_meta part = {0};
  size_t at[FW_META_FIELDS_MAX];
  const size_t first_row = r->owner->row_count;
  furrow_status status = read_entry(r, &fw_part_fields, &part, at);
  if (status == FURROW_OK) status = check_part(r, &part, at);
  if (status == FURROW_OK) status = fw_meta_positions_add(&r->ids, (uint32_t)part.part_id, at[0], r->err);
  if (status != FURROW_OK) return status;
  part.row_count = r->owner->row_count - first_row;
  return fw_meta_add_part(r->owner, &part, r->err);
}

static furrow_status read_parts(binary_reader *r) {
  size_t count = 0;
  furrow_status status = read_count(r, "partMetas", least_bytes(r, &fw_part_fields), &count);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    r->part = (int64_t)i;
    status = read_part(r);
  }
  if (status != FURROW_OK) return status;
  const fw_meta_position *twice = NULL;
  r->part = -1;
  fw_meta_finish(r->owner);
  status = fw_meta_sort_parts(r->owner, &r->ids, &twice, r->err);
  return twice ? fail_field(r, twice->at, "partMetas", "has partition %d twice", (int32_t)twice->key) : status;
}

/* ---- The whole file ---- */

/* Converts a row type of Angel 1.x; -1 if Furrow does not know it. 5 was T_INT_ARBITRARY. */
static int32_t row_type_of_angel1(int32_t number) {
  static const int8_t now[] = {
      [0] = -1, [1] = 3,  [2] = 0,   [3] = 24,  [4] = 21, [5] = -1,  /* double and int: sparse, dense */
      [6] = 7,  [7] = 10,                                            /* float: dense, sparse */
      [8] = 5,  [9] = 4,  [10] = 11, [11] = 25, [12] = 6, [13] = 12, /* long keys and components */
  };
  return number >= 0 && number < (int32_t)sizeof now ? now[number] : -1;
}

static furrow_status read_all(binary_reader *r) {
  size_t at[FW_META_FIELDS_MAX];
  furrow_matrix_meta *meta = &r->owner->meta;
  FW_TRY(read_entry(r, &fw_matrix_fields, meta, at));
  if (r->at < r->size)
    return fail_field(r, r->at, "partMetas", "is followed by %zu %s more", r->size - r->at,
                      fw_plural(r->size - r->at, "byte", "bytes"));
  if (r->origin == FURROW_META_PSMETA) return FURROW_OK;
  const int32_t type = row_type_of_angel1(meta->row_type);
  if (type < 0) return fail_field(r, at[3], "rowType", "is %d, which Furrow does not know", meta->row_type);
  meta->row_type = type;
  meta->format_class_name = fw_angel1.class_name;
  return FURROW_OK;
}

furrow_status fw_meta_read_binary(fw_meta_owner **owner, furrow_matrix_meta_origin origin, const void *bytes,
                                  size_t size, const char *file, furrow_error *err) {
  binary_reader r = {.bytes = bytes, .size = size, .file = file, .origin = origin, .err = err, .part = -1, .row = -1};
  furrow_status status = fw_meta_create(&r.owner, size, err);
  if (status == FURROW_OK) status = read_all(&r);
  if (status == FURROW_OK) {
    r.owner->meta.origin = origin;
    *owner = r.owner;
    r.owner = NULL;
  }
  if (r.owner) furrow_matrix_meta_free(&r.owner->meta);
  fw_meta_positions_clear(&r.ids);
  fw_meta_positions_clear(&r.rows);
  return status;
}
