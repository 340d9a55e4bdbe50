/* vector/attributes/attribute_rows.c: attributes of ids: the bytes of an attributes file, checked, looked up, changed.
 */
#include "vector/attributes/attribute_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/utf8.h"
#include "vector/data/id_filter.h"
#include "vector/data/id_names.h"

/* ---- Handles -------------------------------------------------------------------------------------------- */

void fw_attributes_clear(furrow_attributes *attributes) {
  fw_companion_clear(&attributes->file);
  fw_free(attributes->columns);
  *attributes = (furrow_attributes){0};
}

void furrow_attributes_free(furrow_attributes *attributes) {
  if (!attributes) return;
  fw_attributes_clear(attributes);
  fw_free(attributes);
}

/* ---- Bytes ---------------------------------------------------------------------------------------------- */

/* A file that is read from its front. Offsets are those of the file. */
typedef struct reading {
  const unsigned char *bytes;
  size_t at, size;
  const char *path;
  furrow_error *err;
} reading;

static furrow_status refuse(const reading *r, size_t offset, const char *message) {
  return fw_companion_refuse(r->err, r->path, offset, message);
}

/* Takes `count` elements of `width` bytes and the zeros up to a multiple of 8. */
static furrow_status take(reading *r, size_t count, size_t width, const unsigned char **bytes) {
  const size_t left = r->size - r->at;
  if (count > left / width) return refuse(r, r->at, "is cut short: a column has fewer bytes than rows");
  const size_t used = count * width, padded = used + (8 - used % 8) % 8;
  if (padded > left) return refuse(r, r->at, "is cut short: a column has fewer bytes than rows");
  *bytes = r->bytes + r->at;
  for (size_t i = used; i < padded; i++)
    if ((*bytes)[i] != 0) return refuse(r, r->at + i, "has a byte that is not 0 but must be");
  r->at += padded;
  return FURROW_OK;
}

static furrow_status check_numbers(const reading *r, const fw_attribute *column, size_t rows) {
  static const uint64_t missing = 0x7ff8000000000000;
  for (size_t i = 0; i < rows; i++)
    if (isnan(fw_attribute_number(column, i)) && fw_get_le64(column->cells + 8 * i) != missing)
      return refuse(r, (size_t)(column->cells - r->bytes) + 8 * i, "has a NaN that is not the one of missing numbers");
  return FURROW_OK;
}

static furrow_status check_codes(const reading *r, const fw_attribute *column, size_t count, uint32_t least) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t code = fw_attribute_code(column, i);
    if (code < least || code > column->table.count)
      return refuse(r, (size_t)(column->cells - r->bytes) + 4 * i, "has a code of a text that is not there");
  }
  return FURROW_OK;
}

/* Elements of a cell ascend, so that equal sets have equal bytes. */
static furrow_status check_elements(const reading *r, const fw_attribute *column, size_t rows) {
  for (size_t i = 0; i < rows; i++)
    for (size_t e = fw_attribute_start(column, i) + 1; e < fw_attribute_start(column, i + 1); e++)
      if (fw_attribute_code(column, e) <= fw_attribute_code(column, e - 1))
        return refuse(r, (size_t)(column->cells - r->bytes) + 4 * e, "has elements of a set that do not ascend");
  return FURROW_OK;
}

static furrow_status check_texts(const reading *r, const fw_attribute *column) {
  for (size_t i = 0; i < column->table.count; i++) {
    size_t size;
    const char *text = fw_string_table_text(&column->table, i, &size);
    if (!fw_utf8_check(text, text + size) && !memchr(text, 0, size)) continue;
    return refuse(r, (size_t)((const unsigned char *)text - r->bytes), "has a text that is not UTF-8");
  }
  return FURROW_OK;
}

static furrow_status take_table(reading *r, fw_attribute *column) {
  const furrow_status status = fw_string_table_open(&column->table, r->bytes + r->at, r->size - r->at, r->err);
  if (status != FURROW_OK) {
    fw_error_set_file(r->err, r->path);
    if (r->err && r->err->offset != FURROW_NO_OFFSET) r->err->offset += r->at;
    return status;
  }
  r->at += column->table.size;
  return check_texts(r, column);
}

static furrow_status take_text(reading *r, fw_attribute *column, size_t rows) {
  FW_TRY(take(r, rows, 4, &column->cells));
  FW_TRY(take_table(r, column));
  return check_codes(r, column, rows, 0);
}

static furrow_status take_set(reading *r, fw_attribute *column, size_t rows) {
  FW_TRY(take(r, rows + 1, 8, &column->starts));
  const size_t at = (size_t)(column->starts - r->bytes);
  for (size_t i = 0; i <= rows; i++) {
    const uint64_t start = fw_get_le64(column->starts + 8 * i);
    if (i == 0 ? start != 0 : start < fw_get_le64(column->starts + 8 * i - 8))
      return refuse(r, at + 8 * i, "has starts of sets that descend or do not begin with 0");
    if (start > r->size / 4) return refuse(r, at + 8 * i, "has more elements of sets than bytes for them");
  }
  const size_t elements = fw_attribute_start(column, rows);
  FW_TRY(take(r, elements, 4, &column->cells));
  FW_TRY(take_table(r, column));
  FW_TRY(check_codes(r, column, elements, 1));
  return check_elements(r, column, rows);
}

static furrow_status take_cells(reading *r, fw_attribute *column, size_t rows) {
  switch (column->type) {
  case FURROW_COLUMN_NUMBER:
  case FURROW_COLUMN_TIME: FW_TRY(take(r, rows, 8, &column->cells)); return check_numbers(r, column, rows);
  case FURROW_COLUMN_TEXT: return take_text(r, column, rows);
  case FURROW_COLUMN_SET: return take_set(r, column, rows);
  }
  return refuse(r, r->at, "has a column of a type that this release does not read");
}

static furrow_status take_column(reading *r, furrow_attributes *to, size_t rows) {
  const unsigned char *header, *name;
  const size_t at = r->at;
  fw_attribute column = {0};
  FW_TRY(take(r, FW_ATTRIBUTE_HEADER, 1, &header));
  const uint64_t bytes = fw_get_le64(header + 8);
  if (bytes > r->size - at || bytes % 8 != 0) return refuse(r, at + 8, "has a column that ends beyond the file");
  const reading whole = *r;
  r->size = at + (size_t)bytes;
  if (r->size < r->at) return refuse(&whole, at + 8, "has a column that ends before its name");
  column.type = (furrow_column_type)fw_get_le32(header);
  column.name_size = fw_get_le32(header + 4);
  FW_TRY(take(r, column.name_size, 1, &name));
  column.name = (const char *)name;
  const char *fault = fw_name_fault(column.name, column.name_size);
  if (fault) return refuse(r, at + FW_ATTRIBUTE_HEADER, "has a column whose name is not a name");
  if (fw_attributes_find(to, column.name, column.name_size))
    return refuse(r, at + FW_ATTRIBUTE_HEADER, "has two columns of the same name");
  if (!furrow_column_type_name(column.type))
    return refuse(r, at, "has a column of a type that this release does not read");
  FW_TRY(take_cells(r, &column, rows));
  if (r->at != r->size) return refuse(r, r->at, "has bytes after the end of a column");
  r->size = whole.size;
  to->columns[to->column_count++] = column;
  return FURROW_OK;
}

static furrow_status check_header(const unsigned char *bytes, size_t size, const char *path, furrow_error *err) {
  FW_TRY(fw_companion_check_header(&fw_attributes_kind, bytes, size, path, err));
  if (fw_get_le64(bytes + FW_ATTRIBUTES_AT_BODY_DIGEST) !=
      XXH3_64bits(bytes + FW_COMPANION_HEADER, size - FW_COMPANION_HEADER))
    return fw_companion_refuse(err, path, FW_ATTRIBUTES_AT_BODY_DIGEST,
                               "is damaged: the digest of the bytes after the header does not match");
  if (fw_get_le64(bytes + FW_ATTRIBUTES_AT_COLUMNS) > FW_ATTRIBUTES_MOST_COLUMNS)
    return fw_companion_refuse(err, path, FW_ATTRIBUTES_AT_COLUMNS, "has more columns than attributes can have");
  return FURROW_OK;
}

/* A row takes at least 4 bytes: a stored id, or a cell. */
static furrow_status check_count(const unsigned char *bytes, size_t size, const char *path, furrow_error *err) {
  const uint64_t rows = fw_get_le64(bytes + FW_ATTRIBUTES_AT_COUNT);
  const bool bare = fw_get_le32(bytes + FW_COMPANION_AT_IDS) == 0 && fw_get_le64(bytes + FW_ATTRIBUTES_AT_COLUMNS) == 0;
  if (rows <= size / 4 && !(bare && rows > 0)) return FURROW_OK;
  return fw_companion_refuse(err, path, FW_ATTRIBUTES_AT_COUNT, "has more rows than bytes for them");
}

furrow_status fw_attributes_view(furrow_attributes *attributes, const void *bytes, size_t size, const char *path,
                                 furrow_error *err) {
  reading r = {.bytes = bytes, .at = FW_COMPANION_HEADER, .size = size, .path = path, .err = err};
  furrow_attributes made = {.file = attributes->file};
  FW_TRY(check_header(bytes, size, path, err));
  FW_TRY(check_count(bytes, size, path, err));
  made.count = (size_t)fw_get_le64(r.bytes + FW_ATTRIBUTES_AT_COUNT);
  if (fw_get_le32(r.bytes + FW_COMPANION_AT_IDS) == 1) {
    FW_TRY(take(&r, made.count, 8, &made.ids));
    FW_TRY(fw_companion_check_ids(made.ids, made.count, path, err));
  }
  const size_t columns = (size_t)fw_get_le64(r.bytes + FW_ATTRIBUTES_AT_COLUMNS);
  FW_TRY(FW_ALLOC_ZERO(&made.columns, columns, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < columns; i++) status = take_column(&r, &made, made.count);
  if (status == FURROW_OK && r.at != size) status = refuse(&r, r.at, "has bytes after its end");
  if (status != FURROW_OK) {
    fw_free(made.columns);
    return status;
  }
  made.file.bytes = bytes;
  made.file.size = size;
  made.file.stamp = fw_companion_stamp(bytes);
  *attributes = made;
  return FURROW_OK;
}

static furrow_status view_object(void *object, const void *bytes, size_t size, const char *path, furrow_error *err) {
  return fw_attributes_view(object, bytes, size, path, err);
}

static void clear_object(void *object) {
  fw_attributes_clear(object);
}

const fw_companion_kind fw_attributes_kind = {
    .ending = ".attributes",
    .magic = FW_ATTRIBUTES_MAGIC,
    .version = FW_ATTRIBUTES_VERSION,
    .noun = "attributes",
    .belong = "belong",
    .file = "a file of attributes",
    .absent = "has no attributes",
    .hint = "set the attributes of the index again, or delete the file to do without attributes",
    .object_size = sizeof(furrow_attributes),
    .view = view_object,
    .clear = clear_object,
};

furrow_status fw_attributes_replace(furrow_attributes *attributes, fw_buffer *image, furrow_error *err) {
  furrow_attributes made = {0};
  FW_TRY(fw_attributes_view(&made, image->bytes, image->size, "", err));
  made.file.image = *image;
  *image = (fw_buffer){0};
  fw_attributes_clear(attributes);
  *attributes = made;
  return FURROW_OK;
}

/* ---- Looking up ----------------------------------------------------------------------------------------- */

size_t fw_attributes_row(const furrow_attributes *attributes, int64_t id) {
  return fw_companion_find_id(attributes->ids, attributes->count, id);
}

const fw_attribute *fw_attributes_find(const furrow_attributes *attributes, const char *name, size_t size) {
  for (size_t i = 0; i < attributes->column_count; i++) {
    const fw_attribute *column = &attributes->columns[i];
    if (column->name_size == size && memcmp(column->name, name, size) == 0) return column;
  }
  return NULL;
}

size_t furrow_attributes_count(const furrow_attributes *attributes) {
  return attributes->count;
}

size_t furrow_attributes_column_count(const furrow_attributes *attributes) {
  return attributes->column_count;
}

static size_t values_of_row(const fw_attribute *column, size_t row) {
  switch (column->type) {
  case FURROW_COLUMN_NUMBER:
  case FURROW_COLUMN_TIME: return !isnan(fw_attribute_number(column, row));
  case FURROW_COLUMN_TEXT: return fw_attribute_code(column, row) != 0;
  case FURROW_COLUMN_SET: return fw_attribute_start(column, row + 1) - fw_attribute_start(column, row);
  }
  return 0;
}

furrow_status furrow_attributes_get_column(const furrow_attributes *attributes, size_t i, furrow_attribute_info *info,
                                           furrow_error *err) {
  if (i >= attributes->column_count)
    return fw_fail(err, FURROW_E_ARGUMENT, "there is no column %zu: the attributes have %zu", i,
                   attributes->column_count);
  const fw_attribute *column = &attributes->columns[i];
  furrow_attribute_info full = {.name = column->name,
                                .name_size = column->name_size,
                                .type = column->type,
                                .distinct = fw_column_has_numbers(column->type) ? 0 : column->table.count};
  for (size_t row = 0; row < attributes->count; row++) full.missing += values_of_row(column, row) == 0;
  fw_info_write(info, &full, sizeof full);
  return FURROW_OK;
}

size_t furrow_attributes_values(const furrow_attributes *attributes, int64_t id, size_t i) {
  const size_t row = fw_attributes_row(attributes, id);
  return row < attributes->count && i < attributes->column_count ? values_of_row(&attributes->columns[i], row) : 0;
}

double furrow_attributes_number(const furrow_attributes *attributes, int64_t id, size_t i) {
  const size_t row = fw_attributes_row(attributes, id);
  if (row == attributes->count || i >= attributes->column_count) return NAN;
  const fw_attribute *column = &attributes->columns[i];
  return fw_column_has_numbers(column->type) ? fw_attribute_number(column, row) : NAN;
}

const char *furrow_attributes_text(const furrow_attributes *attributes, int64_t id, size_t i, size_t value,
                                   size_t *size) {
  const size_t row = fw_attributes_row(attributes, id);
  if (row == attributes->count || i >= attributes->column_count) return NULL;
  const fw_attribute *column = &attributes->columns[i];
  if (fw_column_has_numbers(column->type) || value >= values_of_row(column, row)) return NULL;
  const size_t at = column->type == FURROW_COLUMN_SET ? fw_attribute_start(column, row) + value : row;
  return fw_string_table_text(&column->table, fw_attribute_code(column, at) - 1, size);
}
