/* serve/models/event_columns.c: the columns of a log, as the events of requests have them. */
#include "models/event_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "core/fail.h"

static const time_unit units[] = {{"s", "seconds since 1970", "1700000000", 1},
                                  {"ms", "milliseconds since 1970", "1700000000000", 1e3},
                                  {"us", "microseconds since 1970", "1700000000000000", 1e6},
                                  {"ns", "nanoseconds since 1970", "1700000000000000000", 1e9},
                                  {"text", "dates", "2024-05-31 23:59:59", 0},
                                  {"day-first", "dates with the day first", "31.5.2024 23:59:59", 0},
                                  {"month-first", "dates with the month first", "5/31/2024 23:59:59", 0}};

void event_columns_clear(event_columns *columns) {
  for (size_t i = 0; i < columns->count; i++) free(columns->list[i].name);
  free(columns->list);
  *columns = (event_columns){0};
}

const event_column *event_columns_find(const event_columns *columns, const char *name, size_t size) {
  for (size_t i = 0; i < columns->count; i++) {
    const char *known = columns->list[i].name;
    if (strlen(known) == size && memcmp(known, name, size) == 0) return &columns->list[i];
  }
  return NULL;
}

void event_columns_list(const event_columns *columns, char *text, size_t size) {
  size_t at = 0, count = 0;
  *text = 0;
  for (size_t i = 0; i < columns->count && at < size && count <= 10; i++) {
    if (!columns->list[i].is_asked) continue;
    const char *separator = count > 0 ? ", " : "";
    at += (size_t)snprintf(text + at, size - at, "%s%.40s", separator, count < 10 ? columns->list[i].name : "…");
    count++;
  }
}

bool event_column_seconds(const event_column *column, const char *text, size_t size, double *seconds) {
  char number[64], *end = number;
  if (size == 0 || size >= sizeof number) return false;
  memcpy(number, text, size);
  number[size] = 0;
  *seconds = strtod(number, &end) / column->unit->scale;
  return *end == 0;
}

/* ---- The schema's text ---- */

/* A column is read: its members, in any order. */
typedef struct column_text {
  char as[16], unit[16], separator[16];
  bool has_values; /* elements of the set are name:value */
} column_text;

static furrow_status read_word(furrow_json *json, char word[16], furrow_error *err) {
  furrow_json_text text;
  FW_TRY(furrow_json_string(json, &text, err));
  const size_t size = text.size < 16 ? text.size : 0; /* longer ones are not known here */
  memcpy(word, text.bytes, size);
  word[size] = 0;
  return FURROW_OK;
}

static furrow_status read_column(furrow_json *json, column_text *column, furrow_error *err) {
  furrow_json_text key;
  *column = (column_text){.unit = "s", .separator = "|"};
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (furrow_json_is(key, "as"))
      status = read_word(json, column->as, err);
    else if (furrow_json_is(key, "unit"))
      status = read_word(json, column->unit, err);
    else if (furrow_json_is(key, "separator"))
      status = read_word(json, column->separator, err);
    else if (furrow_json_is(key, "values"))
      status = furrow_json_bool(json, &column->has_values, err);
    else
      status = furrow_json_skip(json, NULL, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- A column ---- */

/* The field of a column with a dictionary whose values are looked for; users and items have their own warnings. */
static size_t find_field(const furrow_encoder *encoder, const char *name) {
  const size_t user = furrow_encoder_side_field(encoder, FURROW_SIDE_USER);
  const size_t item = furrow_encoder_side_field(encoder, FURROW_SIDE_ITEM);
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    if (i != user && i != item && field.entries > 0 && strcmp(field.name, name) == 0) return i;
  }
  return SIZE_MAX;
}

/* Whether some part of a time is a feature; otherwise its cells are not read. */
static bool has_parts(const furrow_encoder *encoder, const char *name) {
  const size_t size = strlen(name);
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    if (strncmp(field.name, name, size) == 0 && field.name[size] == '.') return true;
  }
  return false;
}

static void set_check(event_column *column, const column_text *text, const furrow_encoder *encoder) {
  column->field = find_field(encoder, column->name);
  column->is_asked = strcmp(text->as, "label") != 0 && strcmp(text->as, "weight") != 0 &&
                     strcmp(text->as, "ignore") != 0 && strcmp(text->as, "group") != 0;
  memcpy(column->separator, text->separator, sizeof column->separator);
  if (strcmp(text->as, "number") == 0) column->check = CHECK_NUMBER;
  if (strcmp(text->as, "category") == 0 && column->field != SIZE_MAX) column->check = CHECK_CATEGORY;
  if (strcmp(text->as, "set") == 0 && column->field != SIZE_MAX && !text->has_values && *column->separator)
    column->check = CHECK_SET;
  if (strcmp(text->as, "time") != 0 || !has_parts(encoder, column->name)) return;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(units[i].name, text->unit) == 0) column->unit = &units[i];
  if (column->unit) column->check = CHECK_TIME;
}

/* Whether a column belongs to the log itself; columns of joined tables are not part of an event. */
static bool is_of_log(const furrow_encoder *encoder, const char *name, furrow_container *rows) {
  const furrow_pair pair = {.column = name};
  furrow_container_clear(rows);
  return furrow_encoder_push_event(encoder, &pair, 1, rows, NULL) == FURROW_OK;
}

static furrow_status add_column(event_columns *columns, furrow_json *json, furrow_json_text key,
                                const furrow_encoder *encoder, furrow_container *rows, furrow_error *err) {
  column_text text;
  event_column column = {.name = strndup(key.bytes, key.size)};
  if (!column.name) return fail_memory(err);
  const furrow_status status = read_column(json, &text, err);
  if (status != FURROW_OK || !is_of_log(encoder, column.name, rows)) {
    free(column.name);
    return status;
  }
  set_check(&column, &text, encoder);
  columns->list[columns->count++] = column;
  return FURROW_OK;
}

/* {"columns": {…}, …} */
static furrow_status read_schema(event_columns *columns, furrow_json *json, const furrow_encoder *encoder,
                                 furrow_container *rows, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    const bool is_list = furrow_json_is(key, "columns");
    status = is_list ? furrow_json_object(json, err) : furrow_json_skip(json, NULL, err);
    while (is_list && status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK)
      status = add_column(columns, json, key, encoder, rows, err);
    if (is_list && status == FURROW_END) status = FURROW_OK;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status event_columns_read(event_columns *columns, const furrow_encoder *encoder, furrow_error *err) {
  const furrow_schema *schema = furrow_encoder_schema(encoder);
  furrow_json *json = NULL;
  furrow_container *rows = NULL;
  char *text = NULL;
  size_t size = 0;
  columns->list = calloc(furrow_schema_column_count(schema) + 1, sizeof *columns->list);
  furrow_status status = columns->list ? furrow_schema_text(schema, false, &text, &size, err) : fail_memory(err);
  if (status == FURROW_OK) status = furrow_json_create(&json, err);
  if (status == FURROW_OK) status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) {
    furrow_json_start(json, text, size, NULL);
    status = read_schema(columns, json, encoder, rows, err);
  }
  furrow_container_free(rows);
  furrow_json_free(json);
  furrow_free(text);
  return status;
}

bool event_column_is_far(const event_column *column, const char *text, size_t size) {
  static const double year = 365.2425 * 86400;
  double seconds = 0;
  if (column->unit->scale == 0 || !event_column_seconds(column, text, size, &seconds)) return false;
  return seconds < -70 * year || seconds > 1030 * year;
}

bool event_cell_is_bool(const char *text, size_t size) {
  return (size == 4 && strncasecmp(text, "true", 4) == 0) || (size == 5 && strncasecmp(text, "false", 5) == 0);
}

/* ---- Values that the model does not know ---- */

static bool is_unknown(const event_column *column, const furrow_encoder *encoder, const char *text, size_t size) {
  uint64_t index;
  return size > 0 && furrow_encoder_find(encoder, column->field, text, size, &index, NULL) == FURROW_E_NOT_FOUND;
}

static void tell_elements(const event_column *column, const furrow_encoder *encoder, const char *text, size_t size,
                          event_value_teller tell, void *user) {
  const size_t width = strlen(column->separator);
  for (const char *end = text + size; text < end;) {
    const char *stop = memmem(text, (size_t)(end - text), column->separator, width), *last = stop ? stop : end;
    const char *first = text;
    while (first < last && (*first == ' ' || *first == '\t')) first++;
    while (last > first && (last[-1] == ' ' || last[-1] == '\t')) last--;
    if (is_unknown(column, encoder, first, (size_t)(last - first))) tell(user, column, first, (size_t)(last - first));
    text = stop ? stop + width : end;
  }
}

void event_column_tell_unknown(const event_column *column, const furrow_encoder *encoder, const char *text, size_t size,
                               event_value_teller tell, void *user) {
  if (column->check == CHECK_SET)
    tell_elements(column, encoder, text, size, tell, user);
  else if (column->check == CHECK_CATEGORY && is_unknown(column, encoder, text, size))
    tell(user, column, text, size);
}
