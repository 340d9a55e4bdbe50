/* tests/fuzz/fuzz_attributes.c: files of attributes, and filters, from hostile bytes.
 *
 * The first byte of the input says what the rest is: 0, a file of attributes as it is; 1, one whose digests are made
 * right, so that everything after them is reached; 2, a filter expression. What is accepted must be sound: every cell
 * can be read, filters keep ids of rows, and attributes that are written again have the same cells and, the second
 * time, the same bytes. An expression and its negation divide the rows. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "fuzz/harness/fuzz_check.h"
#include "vector/attributes/attribute_rows.h"

/* Makes the digests right, as far as the parts are there. */
static void complete(uint8_t *file, size_t size) {
  if (size < FW_COMPANION_HEADER) return;
  for (size_t at = FW_COMPANION_HEADER; at + 32 <= size;
       at += 8) { /* tables of texts: their digest is before a count */
    uint8_t *table = file + at;
    const uint64_t count = fw_get_le64(table + 8), bytes = fw_get_le64(table + 16), bits = fw_get_le32(table + 24);
    if (fw_get_le64(table) != 0x7461626c65 || count > size / 8 || bytes > size || bits > 20) continue;
    const size_t end = 32 + 8 * ((size_t)count + 1) + ((size_t)bytes + 7) / 8 * 8 + ((size_t)8 << bits);
    if (end <= size - at) fw_put_le64(table, XXH3_64bits(table + 8, end - 8));
  }
  fw_put_le64(file + FW_ATTRIBUTES_AT_BODY_DIGEST, XXH3_64bits(file + FW_COMPANION_HEADER, size - FW_COMPANION_HEADER));
  fw_put_le64(file + FW_COMPANION_AT_DIGEST, XXH3_64bits(file, FW_COMPANION_AT_DIGEST));
}

/* Writes all rows again. */
static furrow_attributes *copy_rows(const furrow_attributes *from) {
  const size_t n = from->count;
  fw_buffer image = {0};
  furrow_attributes *copy = calloc(1, sizeof *copy);
  size_t *rows = calloc(n + 1, sizeof *rows);
  int64_t *ids = calloc(n + 1, sizeof *ids);
  check(copy && rows && ids);
  for (size_t i = 0; i < n; i++) {
    rows[i] = i;
    ids[i] = fw_attributes_id(from, i);
  }
  check(fw_attributes_gather(&image, (const furrow_attributes *const[]){from, NULL},
                             (const size_t *const[]){rows, NULL}, ids, n, NULL) == FURROW_OK);
  check(fw_attributes_replace(copy, &image, NULL) == FURROW_OK);
  free(rows);
  free(ids);
  return copy;
}

static void require_same_cell(const furrow_attributes *a, const furrow_attributes *b, int64_t id, size_t column) {
  const size_t values = furrow_attributes_values(a, id, column);
  const double x = furrow_attributes_number(a, id, column), y = furrow_attributes_number(b, id, column);
  check(values == furrow_attributes_values(b, id, column));
  check((isnan(x) && isnan(y)) || x == y);
  for (size_t v = 0; v < values && isnan(x); v++) {
    size_t size = 0, other = 0;
    check(furrow_attributes_text(a, id, column, v, &size) != NULL);
    check(furrow_attributes_text(b, id, column, v, &other) != NULL);
  }
}

static void require_same(const furrow_attributes *a, const furrow_attributes *b) {
  check(a->count == b->count && a->column_count == b->column_count);
  for (size_t c = 0; c < a->column_count; c++)
    for (size_t i = 0; i < a->count; i++) require_same_cell(a, b, fw_attributes_id(a, i), c);
}

static size_t matches(const furrow_attributes *attributes, const char *expression) {
  furrow_selection *selection = NULL;
  furrow_error err;
  const furrow_status status = furrow_attributes_select(attributes, expression, &selection, &err);
  check(status == FURROW_OK || (status == FURROW_E_ARGUMENT && err.column > 0));
  if (status != FURROW_OK) return SIZE_MAX;
  const size_t count = furrow_selection_count(selection);
  for (size_t i = 0; i < count; i++) {
    const int64_t id = furrow_selection_id(selection, i);
    check(fw_attributes_row(attributes, id) < attributes->count);
    check(furrow_id_filter_keeps(furrow_selection_filter(selection), id));
  }
  furrow_selection_free(selection);
  return count;
}

static void read_file(uint8_t *bytes, size_t size, bool make_right) {
  furrow_attributes attributes = {0};
  furrow_error err;
  if (make_right) complete(bytes, size);
  const furrow_status status = fw_attributes_view(&attributes, bytes, size, "fuzz", &err);
  check(status == FURROW_OK || (status == FURROW_E_FORMAT && err.offset <= size));
  if (status != FURROW_OK) return;
  bool sound = true;
  for (size_t i = 0; i < attributes.column_count; i++)
    if (!fw_column_has_numbers(attributes.columns[i].type))
      sound = sound && fw_string_table_verify(&attributes.columns[i].table, NULL) == FURROW_OK;
  check(matches(&attributes, "true") == attributes.count);
  if (sound) {
    furrow_attributes *copy = copy_rows(&attributes), *again = copy_rows(copy);
    require_same(&attributes, copy);
    require_same(copy, again);
    check(copy->column_count == again->column_count);
    furrow_attributes_free(again);
    furrow_attributes_free(copy);
  }
  fw_attributes_clear(&attributes);
}

static furrow_attributes *make_rows(void) {
  static const char *const texts[] = {"a", "b", NULL, "", "a\"b", "\xc3\xa9"};
  static const char *const elements[] = {"x", "y", "x", "z"};
  static const uint64_t starts[] = {0, 0, 2, 3, 3, 4, 4};
  static const double numbers[] = {1, -2.5, NAN, 0, 1e300, 7}, times[] = {0, 1.7e9, NAN, -1, 1e9, 2e9};
  static const int64_t ids[] = {0, 5, 6, 70, 71, INT64_MAX};
  const furrow_column columns[] = {{.name = "t", .type = FURROW_COLUMN_TEXT, .texts = texts},
                                   {.name = "s", .type = FURROW_COLUMN_SET, .texts = elements, .starts = starts},
                                   {.name = "n", .type = FURROW_COLUMN_NUMBER, .numbers = numbers},
                                   {.name = "d", .type = FURROW_COLUMN_TIME, .numbers = times}};
  furrow_attributes *made = NULL;
  check(furrow_attributes_create(&made, NULL) == FURROW_OK);
  check(furrow_attributes_set(made, ids, 6, columns, 4, NULL) == FURROW_OK);
  return made;
}

static void read_filter(const uint8_t *data, size_t size) {
  furrow_attributes *rows = make_rows();
  char *text = malloc(size + 8);
  check(text != NULL);
  memcpy(text, data, size);
  text[size] = 0;
  const size_t kept = matches(rows, text);
  if (kept != SIZE_MAX) {
    memcpy(text, "not (", 5);
    memcpy(text + 5, data, size);
    text[5 + size] = 0;
    memcpy(text + 5 + strlen(text + 5), ")", 2);
    const size_t others = matches(rows, text);
    check(others == SIZE_MAX || kept + others == rows->count); /* one more parenthesis may be too many */
  }
  free(text);
  furrow_attributes_free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  if (data[0] >= 2) {
    read_filter(data + 1, size - 1);
    return 0;
  }
  uint8_t *copy = malloc(size); /* of its own, so that a read past the end is seen */
  check(copy != NULL);
  memcpy(copy, data + 1, size - 1);
  read_file(copy, size - 1, data[0] == 1);
  free(copy);
  return 0;
}
