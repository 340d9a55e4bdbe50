/* cli/learn/one_event.c: one event of a raw log, given on the command line. */
#include "learn/one_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/output.h"
#include "core/shown_text.h"

#define EVENT_FILE "memory://furrow/event"

static furrow_status check_pair(const char *text, furrow_error *err) {
  const char *equals = strchr(text, '=');
  return equals && equals > text ? FURROW_OK : fail_token(err, text, "--event takes COLUMN=VALUE");
}

/* A JSON string, quotes and all. */
static char *put_string(char *to, const char *text, size_t length) {
  static const char digits[] = "0123456789abcdef";
  *to++ = '"';
  for (size_t i = 0; i < length; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (c < 0x20) {
      memcpy(to, "\\u00", 4);
      to[4] = digits[c >> 4];
      to[5] = digits[c & 15];
      to += 6;
      continue;
    }
    if (c == '"' || c == '\\') *to++ = '\\';
    *to++ = (char)c;
  }
  *to++ = '"';
  return to;
}

furrow_status one_event_write(const text_list *pairs, const char **uri, furrow_error *err) {
  size_t size = 8;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < pairs->count && status == FURROW_OK; i++) {
    status = check_pair(pairs->texts[i], err);
    size += 6 * strlen(pairs->texts[i]) + 8;
  }
  if (status != FURROW_OK) return status;
  char *line = malloc(size), *to = line;
  if (!line) return fail_memory(err);
  *to++ = '{';
  for (size_t i = 0; i < pairs->count; i++) {
    const char *text = pairs->texts[i], *equals = strchr(text, '=');
    if (i > 0) *to++ = ',';
    to = put_string(to, text, (size_t)(equals - text));
    *to++ = ':';
    to = put_string(to, equals + 1, strlen(equals + 1));
  }
  *to++ = '}';
  *to++ = '\n';
  status = furrow_memory_file_add(EVENT_FILE, line, (size_t)(to - line), free, line, err);
  if (status != FURROW_OK) free(line);
  *uri = EVENT_FILE "?kind=json";
  return status;
}

furrow_status one_event_check(const text_list *pairs, const furrow_encoder *encoder, furrow_error *err) {
  furrow_container *rows = NULL;
  if (!encoder) return fail(err, FURROW_E_ARGUMENT, "--event is for models of raw logs; this one was trained on rows");
  furrow_pair *list = calloc(pairs->count, sizeof *list);
  furrow_status status = list ? FURROW_OK : fail_memory(err);
  for (size_t i = 0; i < pairs->count && status == FURROW_OK; i++) {
    const char *text = pairs->texts[i], *equals = strchr(text, '=');
    list[i].column = strndup(text, (size_t)(equals - text));
    list[i].value = equals + 1;
    if (!list[i].column) status = fail_memory(err);
  }
  if (status == FURROW_OK) status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) status = furrow_encoder_push_event(encoder, list, pairs->count, rows, err);
  furrow_container_free(rows);
  for (size_t i = 0; list && i < pairs->count; i++) free((char *)list[i].column);
  free(list);
  return status;
}

/* The field of a category by name; SIZE_MAX: there is none. */
static size_t category_field(const furrow_encoder *encoder, const char *name, size_t length) {
  const furrow_schema *schema = furrow_encoder_schema(encoder);
  bool category = false;
  for (size_t i = 0; i < furrow_schema_column_count(schema) && !category; i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    category = strcmp(column.as, "category") == 0 && !column.role[0] && /* of user and item there are other notes */
               strlen(column.name) == length && memcmp(column.name, name, length) == 0;
  }
  for (size_t i = 0; category && i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    if (strlen(field.name) == length && memcmp(field.name, name, length) == 0) return i;
  }
  return SIZE_MAX;
}

void one_event_print_notes(const text_list *pairs, const furrow_encoder *encoder) {
  for (size_t i = 0; i < pairs->count; i++) {
    const char *text = pairs->texts[i], *equals = strchr(text, '=');
    const size_t field = category_field(encoder, text, (size_t)(equals - text));
    uint64_t index;
    furrow_error ignored;
    if (field == SIZE_MAX || !equals[1]) continue;
    if (furrow_encoder_find(encoder, field, equals + 1, strlen(equals + 1), &index, &ignored) == FURROW_E_NOT_FOUND)
      say("furrow: note: the model has not seen this value: %s\n", text);
  }
}
