/* serve/indexes/attribute_texts.c: attributes of single vectors as JSON objects. */
#include "indexes/attribute_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"

enum { MOST_COLUMNS = 1000 }; /* that attributes have */

bool attribute_column_find(const furrow_attributes *columns, const char *name, size_t size, size_t *i) {
  furrow_attribute_info info;
  furrow_attribute_info_init(&info);
  for (*i = 0; *i < furrow_attributes_column_count(columns); ++*i)
    if (furrow_attributes_get_column(columns, *i, &info, NULL) == FURROW_OK && info.name_size == size &&
        memcmp(info.name, name, size) == 0)
      return true;
  return false;
}

static furrow_column_type type_of(const furrow_attributes *columns, size_t i) {
  furrow_attribute_info info;
  furrow_attribute_info_init(&info);
  return furrow_attributes_get_column(columns, i, &info, NULL) == FURROW_OK ? info.type : FURROW_COLUMN_NUMBER;
}

/* ---- Reading one ---- */

static furrow_status refuse(const furrow_json *json, const char *what, furrow_error *err) {
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "%s", what);
}

/* The place is the member, not a value that was read before it. */
static furrow_status refuse_kind(furrow_json *json, furrow_column_type type, furrow_error *err) {
  static const char *const what[] = {
      [FURROW_COLUMN_NUMBER] = "is not a number, true, false or null, but its column has numbers",
      [FURROW_COLUMN_TEXT] = "is not a string or null, but its column has texts",
      [FURROW_COLUMN_SET] = "is not an array of strings or null, but its column has sets",
      [FURROW_COLUMN_TIME] = "is not a time, as \"2024-05-31T12:00:00Z\" or seconds since 1970, or null"};
  return furrow_json_fail(json, furrow_json_next_offset(json), NULL, err, "%s", what[type]);
}

static furrow_status read_number(furrow_json *json, furrow_column_type type, double *number, furrow_error *err) {
  const furrow_json_kind kind = furrow_json_peek(json);
  furrow_json_text text;
  bool truth = false;
  if (kind == FURROW_JSON_NUMBER) {
    FW_TRY(furrow_json_f64(json, number, err));
  } else if (kind == FURROW_JSON_BOOL && type == FURROW_COLUMN_NUMBER) {
    FW_TRY(furrow_json_bool(json, &truth, err));
    *number = truth;
  } else if (kind == FURROW_JSON_STRING && type == FURROW_COLUMN_TIME) {
    FW_TRY(furrow_json_string(json, &text, err));
    if (!furrow_time_read(text.bytes, text.size, number))
      return refuse(json, "is not a time, as \"2024-05-31T12:00:00Z\"", err);
  } else {
    return refuse_kind(json, type, err);
  }
  return isfinite(*number) ? FURROW_OK : refuse(json, "is too large", err);
}

static furrow_status read_text(furrow_json *json, furrow_json_text *text, furrow_error *err) {
  FW_TRY(furrow_json_string(json, text, err));
  return memchr(text->bytes, 0, text->size) ? refuse(json, "has a character 0", err) : FURROW_OK;
}

static furrow_status copy_set(furrow_json *json, fw_buffer *to, furrow_error *err) {
  furrow_json_text text;
  size_t count = 0;
  FW_TRY(furrow_json_array(json, err));
  furrow_status status;
  fw_buffer_text(to, "[");
  while ((status = furrow_json_element(json, err)) == FURROW_OK) {
    if (furrow_json_peek(json) != FURROW_JSON_STRING) return refuse_kind(json, FURROW_COLUMN_SET, err);
    FW_TRY(read_text(json, &text, err));
    if (text.size == 0) continue;
    if (count++ > 0) fw_buffer_text(to, ",");
    json_put_text(to, text.bytes, text.size);
  }
  fw_buffer_text(to, "]");
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status copy_value(furrow_json *json, furrow_column_type type, fw_buffer *to, furrow_error *err) {
  furrow_json_text text;
  double number = 0;
  if (type == FURROW_COLUMN_NUMBER || type == FURROW_COLUMN_TIME) {
    FW_TRY(read_number(json, type, &number, err));
    json_put_f64(to, number);
    return FURROW_OK;
  }
  const furrow_json_kind kind = furrow_json_peek(json);
  if (type == FURROW_COLUMN_SET)
    return kind == FURROW_JSON_ARRAY ? copy_set(json, to, err) : refuse_kind(json, type, err);
  if (kind != FURROW_JSON_STRING) return refuse_kind(json, type, err);
  FW_TRY(read_text(json, &text, err));
  json_put_text(to, text.bytes, text.size);
  return FURROW_OK;
}

/* Reads the members, and appends those that are not null. */
static furrow_status copy_members(furrow_json *json, const furrow_attributes *columns, fw_buffer *to,
                                  furrow_error *err) {
  bool seen[MOST_COLUMNS] = {false};
  furrow_json_text key;
  furrow_status status;
  size_t i, count = 0;
  while ((status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (!attribute_column_find(columns, key.bytes, key.size, &i) || i >= MOST_COLUMNS)
      return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a column of the index's attributes");
    if (seen[i]) return refuse(json, "occurs twice", err);
    seen[i] = true;
    if (furrow_json_peek(json) == FURROW_JSON_NULL) {
      FW_TRY(furrow_json_null(json, err));
      continue;
    }
    if (count++ > 0) fw_buffer_text(to, ",");
    json_put_text(to, key.bytes, key.size);
    fw_buffer_text(to, ":");
    FW_TRY(copy_value(json, type_of(columns, i), to, err));
  }
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status attribute_text_read(furrow_json *json, const furrow_attributes *columns, fw_buffer *to,
                                  furrow_error *err) {
  FW_TRY(furrow_json_object(json, err));
  fw_buffer_text(to, "{");
  FW_TRY(copy_members(json, columns, to, err));
  fw_buffer_append(to, "}", 2);
  return to->missing ? fail_memory(err) : FURROW_OK;
}

/* ---- Writing one ---- */

static void put_time(fw_buffer *to, double seconds) {
  char text[FURROW_TIME_TEXT];
  json_put_text(to, text, furrow_time_write(text, seconds));
}

void attribute_value_put(fw_buffer *to, const furrow_attributes *attributes, int64_t id, size_t column, bool dates) {
  const size_t count = furrow_attributes_values(attributes, id, column);
  const furrow_column_type type = type_of(attributes, column);
  const double number = furrow_attributes_number(attributes, id, column);
  if (count == 0) {
    fw_buffer_text(to, "null");
  } else if (type == FURROW_COLUMN_TIME && dates) {
    put_time(to, number);
  } else if (type == FURROW_COLUMN_NUMBER || type == FURROW_COLUMN_TIME) {
    json_put_f64(to, number);
  } else {
    if (type == FURROW_COLUMN_SET) fw_buffer_text(to, "[");
    for (size_t i = 0; i < count; i++) {
      size_t size = 0;
      const char *text = furrow_attributes_text(attributes, id, column, i, &size);
      if (i > 0) fw_buffer_text(to, ",");
      json_put_text(to, text, size);
    }
    if (type == FURROW_COLUMN_SET) fw_buffer_text(to, "]");
  }
}

void attribute_text_put(fw_buffer *to, const furrow_attributes *attributes, int64_t id) {
  furrow_attribute_info info;
  size_t written = 0;
  furrow_attribute_info_init(&info);
  for (size_t i = 0; i < furrow_attributes_column_count(attributes); i++) {
    if (furrow_attributes_values(attributes, id, i) == 0) continue;
    if (furrow_attributes_get_column(attributes, i, &info, NULL) != FURROW_OK) continue;
    fw_buffer_text(to, written++ > 0 ? "," : "{");
    json_put_text(to, info.name, info.name_size);
    fw_buffer_text(to, ":");
    attribute_value_put(to, attributes, id, i, false);
  }
  if (written > 0) fw_buffer_text(to, "}");
}

/* ---- Many, as columns ---- */

/* The values of a column. */
typedef struct column_values {
  furrow_column_type type;
  char *name;
  double *numbers;
  const char **texts;
  uint64_t *starts;
  size_t count, capacity; /* of texts */
} column_values;

typedef struct column_table {
  column_values *columns;
  size_t count, rows;
  char *bytes; /* all texts, each ended by a 0 */
  size_t used;
} column_table;

static void clear_table(column_table *t) {
  for (size_t i = 0; t->columns && i < t->count; i++) {
    free(t->columns[i].name);
    free(t->columns[i].numbers);
    free(t->columns[i].texts);
    free(t->columns[i].starts);
  }
  free(t->columns);
  free(t->bytes);
}

static bool reserve_column(column_values *c, size_t rows) {
  if (c->type == FURROW_COLUMN_NUMBER || c->type == FURROW_COLUMN_TIME) {
    c->numbers = malloc((rows + 1) * sizeof *c->numbers);
    for (size_t i = 0; c->numbers && i < rows; i++) c->numbers[i] = NAN;
    return c->numbers != NULL;
  }
  c->capacity = rows + 1;
  c->texts = calloc(c->capacity, sizeof *c->texts);
  c->starts = c->type == FURROW_COLUMN_SET ? calloc(rows + 1, sizeof *c->starts) : NULL;
  return c->texts && (c->starts || c->type != FURROW_COLUMN_SET);
}

/* Makes the columns without values. A text is not longer than its JSON. */
static furrow_status make_table(column_table *t, const furrow_attributes *columns, const char *const *texts, size_t n,
                                furrow_error *err) {
  size_t bytes = 1;
  t->rows = n;
  t->count = furrow_attributes_column_count(columns);
  t->columns = calloc(t->count + 1, sizeof *t->columns);
  for (size_t i = 0; i < n; i++) bytes += strlen(texts[i]);
  t->bytes = malloc(bytes);
  if (!t->columns || !t->bytes) return fail_memory(err);
  for (size_t i = 0; i < t->count; i++) {
    furrow_attribute_info info;
    furrow_attribute_info_init(&info);
    FW_TRY(furrow_attributes_get_column(columns, i, &info, err));
    t->columns[i].type = info.type;
    t->columns[i].name = strndup(info.name, info.name_size);
    if (!t->columns[i].name || !reserve_column(&t->columns[i], n)) return fail_memory(err);
  }
  return FURROW_OK;
}

static const char *keep_text(column_table *t, furrow_json_text text) {
  char *kept = t->bytes + t->used;
  memcpy(kept, text.bytes, text.size);
  kept[text.size] = 0;
  t->used += text.size + 1;
  return kept;
}

static furrow_status add_element(column_table *t, column_values *c, furrow_json_text text, furrow_error *err) {
  if (c->count == c->capacity) {
    const char **grown = realloc(c->texts, 2 * c->capacity * sizeof *grown);
    if (!grown) return fail_memory(err);
    c->texts = grown;
    c->capacity *= 2;
  }
  c->texts[c->count++] = keep_text(t, text);
  return FURROW_OK;
}

static furrow_status take_set(column_table *t, column_values *c, furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  furrow_status status;
  FW_TRY(furrow_json_array(json, err));
  while ((status = furrow_json_element(json, err)) == FURROW_OK) {
    FW_TRY(read_text(json, &text, err));
    FW_TRY(add_element(t, c, text, err));
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status take_value(column_table *t, column_values *c, size_t row, furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  if (c->numbers) return read_number(json, c->type, &c->numbers[row], err);
  if (c->type == FURROW_COLUMN_SET) return take_set(t, c, json, err);
  FW_TRY(read_text(json, &text, err));
  c->texts[row] = text.size > 0 ? keep_text(t, text) : NULL;
  return FURROW_OK;
}

/* A text of the log that the index cannot have written fails, whatever it is. */
static furrow_status take_row(column_table *t, const furrow_attributes *columns, size_t row, const char *text,
                              furrow_json *json, furrow_error *err) {
  bool seen[MOST_COLUMNS] = {false};
  furrow_json_text key;
  furrow_status status;
  size_t i;
  furrow_json_start(json, text, strlen(text), NULL);
  FW_TRY(furrow_json_object(json, err));
  while ((status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (!attribute_column_find(columns, key.bytes, key.size, &i) || i >= MOST_COLUMNS)
      return refuse(json, "is not a column of the index's attributes", err);
    if (seen[i]) return refuse(json, "occurs twice", err);
    seen[i] = true;
    FW_TRY(take_value(t, &t->columns[i], row, json, err));
  }
  return status == FURROW_END ? furrow_json_end(json, err) : status;
}

static furrow_status take_rows(column_table *t, const furrow_attributes *columns, const char *const *texts,
                               furrow_error *err) {
  furrow_json *json = NULL;
  furrow_status status = furrow_json_create(&json, err);
  for (size_t row = 0; status == FURROW_OK && row < t->rows; row++) {
    if (texts[row][0]) status = take_row(t, columns, row, texts[row], json, err);
    for (size_t i = 0; i < t->count; i++)
      if (t->columns[i].starts) t->columns[i].starts[row + 1] = t->columns[i].count;
  }
  furrow_json_free(json);
  return status;
}

furrow_status attribute_texts_set(furrow_attributes *attributes, const furrow_attributes *columns, const int64_t *ids,
                                  const char *const *texts, size_t n, furrow_error *err) {
  column_table t = {0};
  furrow_column *list = NULL;
  furrow_status status = make_table(&t, columns, texts, n, err);
  if (status == FURROW_OK) status = take_rows(&t, columns, texts, err);
  if (status == FURROW_OK && !(list = calloc(t.count + 1, sizeof *list))) status = fail_memory(err);
  for (size_t i = 0; status == FURROW_OK && i < t.count; i++) {
    const column_values *c = &t.columns[i];
    list[i] = (furrow_column){
        .name = c->name, .type = c->type, .numbers = c->numbers, .texts = c->texts, .starts = c->starts};
  }
  if (status == FURROW_OK) status = furrow_attributes_set(attributes, ids, n, list, t.count, err);
  free(list);
  clear_table(&t);
  return status;
}
