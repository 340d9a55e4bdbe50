/* serve/api/instances.c: the rows of a request, read as the model reads its data.
 *
 * Objects for a model of a raw log become lines of JSON, strings lines of the model's format: the library reads both
 * with the code that reads files, so that the service and furrow predict give the same scores. Arrays and objects of
 * numbers are rows of a table. */
#include "api/instances.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"
#include "core/options.h"
#include "http/json_put.h"

enum {
  LOOP_NS = 500000,           /* requests that take longer go to a worker */
  READING_NS = 1000,          /* time to read a row and to write its answer */
  UNKNOWN_NS = 20000,         /* assumed time of scoring a row, until it was measured */
  KEPT_BYTES = 1 << 20,       /* memory that a thread keeps from request to request */
  LONGEST_INSTANCE = 1 << 30, /* bytes */
  MOST_COMPARED = 1000,       /* names that are compared with a mistyped one */
  MOST_WARNINGS = 32,         /* most warnings about rows of a request; further warnings are only counted */
  NUMBERS_AT_ONCE = 256,      /* of an array */
  POINTER_SIZE = 160
};

/* ---- A request on its way ---- */

typedef enum row_kind { NO_ROWS, EVENTS, LINES, ARRAYS, NAMED } row_kind;

typedef struct reading {
  call *call;
  model_version *version;
  instance_decoder *decoder;
  instance_readers *readers;
  furrow_json *json;
  furrow_container *table; /* rows of arrays and of named features */
  instances *read;
  size_t count;
  row_kind kind;
  unsigned seen;              /* members of the request that have a value already, as MEMBER_… */
  bool answered;              /* the problem is written already, or the call moves */
  char pointer[POINTER_SIZE]; /* JSON pointer of the problem; "": the JSON reader has it */
  furrow_error *err;
} reading;

/* The pointer of a row, and of one of its members (NULL: of the row). */
static void point_to(char pointer[POINTER_SIZE], const char *member, size_t row, const char *name, size_t size) {
  snprintf(pointer, POINTER_SIZE, "/%s/%zu", member, row);
  if (name) json_pointer_add(pointer, POINTER_SIZE, name, size);
}

/* Fails about the row that is being read. */
static furrow_status fail_row(reading *r, furrow_status status, const char *message) {
  point_to(r->pointer, r->read->member, r->count, NULL, 0);
  return fail(r->err, status, "%s", message);
}

static furrow_status fail_member(reading *r, furrow_json_text name, const char *message) {
  point_to(r->pointer, r->read->member, r->count, name.bytes, name.size);
  return fail(r->err, FURROW_E_PARSE, "%s", message);
}

/* Adds a warning about the row that is being read, or about one of its members. */
static void warn(reading *r, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void warn(reading *r, const char *name, const char *format, ...) {
  char pointer[POINTER_SIZE], text[256], whole[sizeof pointer + sizeof text];
  fw_buffer *warnings = &r->readers->warnings;
  va_list arguments;
  if (r->read->warning_count++ >= MOST_WARNINGS) return;
  point_to(pointer, r->read->member, r->count, name, name ? strlen(name) : 0);
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(whole, sizeof whole, "%s: %s", pointer + 1, text);
  if (warnings->size > 0) fw_buffer_text(warnings, ",");
  json_put_text(warnings, whole, strlen(whole));
}

static furrow_status fail_limit(reading *r, const char *what, size_t most) {
  problem_set(r->call->answer, 413, "more than %zu %s in a request", most, what);
  r->answered = true;
  return FURROW_E_RANGE;
}

/* ---- Cells of events: what the library takes and a person would not mean ---- */

static void warn_unknown(void *user, const event_column *column, const char *value, size_t size) {
  warn(user, column->name, "the model does not know the value %.*s", (int)(size < 80 ? size : 80), value);
}

static furrow_status add_unit(reading *r, const event_column *column) {
  return add_hint(r->err, "%.60s has %s, such as %s", column->name, column->unit->text, column->unit->example);
}

/* Refuses times that are far from today: they are likely in another unit than the column's. */
static furrow_status check_time(reading *r, const event_column *column, const char *text, size_t size) {
  static const double of_1973 = 1e8;
  double seconds = 0;
  if (column->unit->scale == 0 || !event_column_seconds(column, text, size, &seconds)) return FURROW_OK;
  if (event_column_is_far(column, text, size)) {
    (void)fail_member(r, (furrow_json_text){column->name, strlen(column->name)},
                      "the time is before the year 1900 or after 3000");
    return add_unit(r, column);
  }
  if (column->unit->scale > 1 && seconds != 0 && fabs(seconds) < of_1973)
    warn(r, column->name, "%.*s %s is a time before 1973", (int)size, text, column->unit->text);
  return FURROW_OK;
}

static furrow_status check_number(reading *r, const event_column *column, furrow_json_text text) {
  if (!event_cell_is_bool(text.bytes, text.size)) return FURROW_OK;
  (void)fail_member(r, (furrow_json_text){column->name, strlen(column->name)}, "true or false, but not a number");
  return add_hint(r->err, "the column has numbers: 1 for true, 0 for false if that is meant");
}

static furrow_status check_scalar(reading *r, const event_column *column) {
  furrow_json *json = r->readers->cells;
  const furrow_json_kind kind = furrow_json_peek(json);
  furrow_json_text text;
  FW_TRY((kind == FURROW_JSON_STRING ? furrow_json_string : furrow_json_skip)(json, &text, r->err));
  if (kind != FURROW_JSON_STRING && kind != FURROW_JSON_NUMBER && kind != FURROW_JSON_BOOL) return FURROW_OK;
  switch (column->check) {
  case CHECK_NUMBER: return check_number(r, column, text);
  case CHECK_TIME: return check_time(r, column, text.bytes, text.size);
  default:
    event_column_tell_unknown(column, r->version->encoder, text.bytes, text.size, warn_unknown, r);
    return FURROW_OK;
  }
}

/* Checks one value, or a list of values. */
static furrow_status check_cell(reading *r, const char *name, size_t size) {
  furrow_json *json = r->readers->cells;
  const event_column *column = event_columns_find(&r->decoder->columns, name, size);
  if (!column || column->check == CHECK_NOTHING) return furrow_json_skip(json, NULL, r->err);
  if (furrow_json_peek(json) != FURROW_JSON_ARRAY) return check_scalar(r, column);
  furrow_status status = furrow_json_array(json, r->err);
  while (status == FURROW_OK && (status = furrow_json_element(json, r->err)) == FURROW_OK)
    status = check_scalar(r, column);
  return status == FURROW_END ? FURROW_OK : status;
}

/* Members of an object in the event are columns outer.inner. */
static furrow_status check_inner(reading *r, furrow_json_text outer) {
  furrow_json *json = r->readers->cells;
  char name[256];
  furrow_json_text key;
  const event_column *column = event_columns_find(&r->decoder->columns, outer.bytes, outer.size);
  if (column && column->is_asked) return fail_member(r, outer, "an object, but one value is expected");
  if (outer.size + 1 >= sizeof name) return furrow_json_skip(json, NULL, r->err);
  memcpy(name, outer.bytes, outer.size);
  name[outer.size] = '.';
  furrow_status status = furrow_json_object(json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, r->err)) == FURROW_OK) {
    const size_t size = outer.size + 1, left = sizeof name - size, taken = key.size < left ? key.size : left;
    memcpy(name + size, key.bytes, taken);
    status = check_cell(r, name, size + taken);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status check_event(reading *r, furrow_json_text event) {
  furrow_json **json = &r->readers->cells;
  furrow_json_text key;
  if (!*json) FW_TRY(furrow_json_create(json, r->err));
  furrow_json_start(*json, event.bytes, event.size, NULL);
  furrow_status status = furrow_json_object(*json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(*json, &key, r->err)) == FURROW_OK)
    status = furrow_json_peek(*json) == FURROW_JSON_OBJECT ? check_inner(r, key) : check_cell(r, key.bytes, key.size);
  if (status == FURROW_E_FORMAT) point_to(r->pointer, r->read->member, r->count, NULL, 0); /* not UTF-8 */
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Events and lines ---- */

static void blank_out(char *text, size_t size, char c) {
  for (char *at = text; (at = memchr(at, c, size - (size_t)(at - text))) != NULL;) *at = ' ';
}

/* Keeps the text of an object as one line: JSON has line ends only between tokens, where a blank does as well. */
static furrow_status take_event(reading *r) {
  fw_buffer *text = &r->call->memory->text;
  furrow_json_text raw;
  FW_TRY(furrow_json_skip(r->json, &raw, r->err));
  if (raw.size > LONGEST_INSTANCE) return fail_limit(r, "bytes of an instance", LONGEST_INSTANCE);
  char *line = fw_buffer_reserve(text, raw.size + 1);
  if (!line) return fail_memory(r->err);
  memcpy(line, raw.bytes, raw.size);
  blank_out(line, raw.size, '\n');
  blank_out(line, raw.size, '\r');
  line[raw.size] = '\n';
  fw_buffer_advance(text, raw.size + 1);
  const bool has_member = memchr(raw.bytes, ':', raw.size) != NULL;
  return has_member ? check_event(r, raw) : fail_row(r, FURROW_E_ARGUMENT, "the instance is empty");
}

/* Refuses a line whose first word has a colon: it looks like label:weight, but is a feature of a line without a
 * label. */
static furrow_status check_label(reading *r, furrow_json_text line) {
  const char *at = line.bytes, *end = line.bytes + line.size;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  const char *first = at;
  while (at < end && *at != ' ' && *at != '\t' && *at != ':' && *at != '#') at++;
  if (!r->decoder->has_label || at == first || at == end || *at != ':') return FURROW_OK;
  (void)fail_row(r, FURROW_E_PARSE, "the line does not begin with a label");
  return add_hint(r->err, "begin it with any label: \"0 1:1 47:1\"; weights of rows are not read");
}

static furrow_status take_line(reading *r) {
  fw_buffer *text = &r->call->memory->text;
  furrow_json_text line;
  FW_TRY(furrow_json_string(r->json, &line, r->err));
  if (line.size > LONGEST_INSTANCE) return fail_limit(r, "bytes of a row", LONGEST_INSTANCE);
  if (memchr(line.bytes, '\n', line.size) || memchr(line.bytes, '\r', line.size))
    return fail_row(r, FURROW_E_PARSE, "the row has a line end in it");
  FW_TRY(check_label(r, line));
  fw_buffer_append(text, line.bytes, line.size);
  fw_buffer_append(text, "\n", 1);
  return text->missing ? fail_memory(r->err) : FURROW_OK;
}

/* The column that the message of an error begins with: "column price: …". */
static const event_column *column_of(const reading *r, const char *message) {
  const event_columns *columns = &r->decoder->columns;
  const event_column *found = NULL;
  for (size_t i = 0; i < columns->count && strncmp(message, "column ", 7) == 0; i++) {
    const char *name = columns->list[i].name;
    const size_t size = strlen(name);
    const bool begins = strncmp(message + 7, name, size) == 0 && strncmp(message + 7 + size, ": ", 2) == 0;
    if (begins && (!found || size > strlen(found->name))) found = &columns->list[i];
  }
  return found;
}

/* Adds a hint about an invalid event. Returns the name of the column at fault; NULL: it is not a single column. */
static const char *explain_event(reading *r, furrow_status status) {
  const event_column *column = column_of(r, r->err->message);
  if (status == FURROW_E_ARGUMENT && !r->err->hint[0]) {
    char names[200];
    event_columns_list(&r->decoder->columns, names, sizeof names);
    (void)add_hint(r->err, "the columns are %s", names);
  }
  if (status == FURROW_E_ARGUMENT) return r->err->token;
  if (column && column->unit) (void)add_unit(r, column);
  return column ? column->name : NULL;
}

/* Points to the event or the line that is invalid. */
static void point_to_line(reading *r, furrow_status status) {
  const size_t row = r->err->line > 0 ? (size_t)r->err->line - 1 : 0;
  if (r->kind == LINES && status != FURROW_E_UNSUPPORTED && status != FURROW_E_MEMORY)
    (void)add_hint(r->err,
                   "a row is a line in the format of the training data"); /* the library's hint is about files */
  if (status == FURROW_E_MEMORY || r->err->line == 0) return;
  const char *name = r->kind == EVENTS ? explain_event(r, status) : NULL;
  point_to(r->pointer, r->read->member, row, name, name ? strlen(name) : 0);
}

/* Finds the first line without a row: a blank line or a comment. */
static furrow_status find_blank(reading *r, const char *text, size_t size) {
  const furrow_rowblock *block = NULL;
  const char *end = text + size;
  for (r->count = 0; text < end; r->count++) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    FW_TRY(furrow_line_reader_read(r->readers->lines, text, (size_t)(stop - text), &block, r->err));
    if (block->size != 1) break;
    text = stop + 1;
  }
  return fail_row(r, FURROW_E_PARSE, "the row is empty");
}

static furrow_status read_events(reading *r, const fw_buffer *text, const furrow_rowblock **block) {
  furrow_event_reader **reader = &r->readers->events;
  if (!*reader) FW_TRY(furrow_event_reader_create(reader, r->version->encoder, r->err));
  return furrow_event_reader_read(*reader, text->bytes, text->size, block, r->err);
}

static furrow_status read_lines(reading *r, const fw_buffer *text, const furrow_rowblock **block) {
  furrow_line_reader **reader = &r->readers->lines;
  if (!*reader) FW_TRY(furrow_line_reader_create(reader, r->version->conf, r->err));
  return furrow_line_reader_read(*reader, text->bytes, text->size, block, r->err);
}

/* Warns about features that the model does not have: they have no effect on the score. */
static void check_features(reading *r) {
  const furrow_rowblock *rows = &r->read->rows;
  const uint64_t features = r->version->features;
  for (r->count = 0; r->count < rows->size; r->count++) {
    for (uint64_t k = rows->offset[r->count]; k < rows->offset[r->count + 1]; k++) {
      const uint64_t index = furrow_keys_get(rows->index, rows->key_type, k);
      if (index >= features)
        warn(r, NULL, "feature %llu is not in the model", (unsigned long long)(index + r->version->index_base));
    }
  }
}

static furrow_status read_text(reading *r) {
  const fw_buffer *text = &r->call->memory->text;
  const furrow_rowblock *block = NULL;
  const furrow_status status = (r->kind == EVENTS ? read_events : read_lines)(r, text, &block);
  if (status != FURROW_OK) point_to_line(r, status);
  if (status != FURROW_OK) return status;
  if (block->size != r->count) return find_blank(r, text->bytes, text->size);
  r->read->rows = *block;
  if (r->kind == LINES) check_features(r);
  return FURROW_OK;
}

/* ---- Arrays and named features ---- */

/* Reads a number; null becomes NaN, which stands for a missing value. */
static furrow_status take_number(reading *r, float *number) {
  double value = NAN;
  if (furrow_json_peek(r->json) == FURROW_JSON_NULL) {
    FW_TRY(furrow_json_null(r->json, r->err));
  } else {
    FW_TRY(furrow_json_f64(r->json, &value, r->err));
    if (!(fabs(value) <= FLT_MAX))
      return furrow_json_fail(r->json, furrow_json_offset(r->json), NULL, r->err, "is too large for a float32");
  }
  *number = (float)value;
  return FURROW_OK;
}

/* Appends the row of a table without its missing values. */
static furrow_status push_values(reading *r, const float *values, size_t count) {
  fw_buffer *space = &r->call->memory->results;
  buffer_recycle(space, KEPT_BYTES);
  char *memory = fw_buffer_reserve(space, count * (sizeof(uint64_t) + sizeof(float)) + 1);
  if (!memory) return fail_memory(r->err);
  uint64_t *index = (uint64_t *)(void *)memory;
  float *kept = (float *)(void *)(memory + count * sizeof *index);
  furrow_row row = {.index = {index}, .value = {kept}, .key_type = FURROW_KEY_U64, .value_type = FURROW_VALUE_F32};
  for (size_t i = 0; i < count; i++) {
    if (isnan(values[i])) continue;
    index[row.length] = i;
    kept[row.length++] = values[i];
  }
  return furrow_container_push_row(r->table, &row, r->err);
}

/* Checks that an array has a number for each feature of the model. */
static furrow_status check_columns(reading *r, size_t count) {
  const unsigned long long features = r->version->features;
  char text[128];
  if (count == features) return FURROW_OK;
  snprintf(text, sizeof text, "the array has %zu numbers, but the model has %llu features", count, features);
  (void)fail_row(r, FURROW_E_RANGE, text);
  return add_hint(r->err, "an array has one number for each of the \"features\" of GET /v1/models/NAME, null where "
                          "there is none");
}

static furrow_status take_array(reading *r) {
  fw_buffer *numbers = &r->call->memory->numbers;
  furrow_status status = furrow_json_array(r->json, r->err);
  buffer_recycle(numbers, KEPT_BYTES);
  while (status == FURROW_OK) {
    float *space = (float *)(void *)fw_buffer_reserve(numbers, NUMBERS_AT_ONCE * sizeof(float));
    if (!space) return fail_memory(r->err);
    size_t count = furrow_json_f32_elements(r->json, space, NUMBERS_AT_ONCE);
    if (count == 0 && (status = furrow_json_element(r->json, r->err)) == FURROW_OK) {
      status = take_number(r, space);
      count = 1;
    }
    fw_buffer_advance(numbers, count * sizeof(float));
  }
  if (status != FURROW_END) return status;
  const size_t count = numbers->size / sizeof(float);
  FW_TRY(check_columns(r, count));
  return push_values(r, (const float *)(void *)numbers->bytes, count);
}

static bool is_ignored(const instance_decoder *d, furrow_json_text name) {
  for (size_t i = 0; i < 2; i++)
    if (d->ignored[i] && furrow_json_is(name, d->ignored[i])) return true;
  return false;
}

static furrow_status list_names(reading *r) {
  const instance_decoder *d = r->decoder;
  char names[200] = "";
  size_t at = 0;
  for (size_t i = 0; i < d->name_count && i <= 10 && at < sizeof names; i++)
    at += (size_t)snprintf(names + at, sizeof names - at, "%s%.40s", i > 0 ? ", " : "", i < 10 ? d->names[i] : "…");
  return add_hint(r->err, "the features are %s", names);
}

static furrow_status fail_name(reading *r, furrow_json_text name) {
  char word[64] = "";
  if (name.size < sizeof word) memcpy(word, name.bytes, name.size);
  const size_t count = r->decoder->name_count < MOST_COMPARED ? r->decoder->name_count : MOST_COMPARED;
  const char *closest = *word ? closest_word(word, r->decoder->names, count) : NULL;
  (void)fail_member(r, name, "the model has no feature of that name");
  return closest ? add_hint(r->err, "did you mean %s?", closest) : list_names(r);
}

static furrow_status take_feature(reading *r, furrow_json_text name, size_t *count) {
  instance_readers *t = r->readers;
  const size_t number = instance_decoder_find(r->decoder, name);
  if (number == SIZE_MAX && is_ignored(r->decoder, name)) return furrow_json_skip(r->json, NULL, r->err);
  if (number == SIZE_MAX) return fail_name(r, name);
  if (t->seen[number] == t->objects) return fail_member(r, name, "the feature is given twice");
  t->seen[number] = t->objects;
  ++*count;
  return take_number(r, &t->values[number]);
}

static furrow_status fail_absent(reading *r) {
  const instance_readers *t = r->readers;
  size_t i = 0;
  while (t->seen[i] == t->objects) i++;
  const char *name = r->decoder->names[i];
  (void)fail_member(r, (furrow_json_text){name, strlen(name)}, "the feature is not given");
  return add_hint(r->err, "null says that a row does not have it"), FURROW_E_PARSE;
}

static bool make_values(const instance_decoder *d, instance_readers *t) {
  if (!t->values) t->values = calloc(d->name_count, sizeof *t->values);
  if (!t->seen) t->seen = calloc(d->name_count, sizeof *t->seen);
  return t->values && t->seen;
}

static furrow_status take_named(reading *r) {
  const size_t all = r->decoder->name_count;
  furrow_json_text name;
  size_t count = 0;
  if (all == 0)
    return fail_row(r, FURROW_E_ARGUMENT,
                    "the model's features have no names: an instance is an array of "
                    "numbers or a line");
  if (!make_values(r->decoder, r->readers)) return fail_memory(r->err);
  r->readers->objects++;
  furrow_status status = furrow_json_object(r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &name, r->err)) == FURROW_OK)
    status = take_feature(r, name, &count);
  if (status != FURROW_END) return status;
  return count == all ? push_values(r, r->readers->values, all) : fail_absent(r);
}

/* ---- The request ---- */

static row_kind kind_of(const reading *r, furrow_json_kind value) {
  if (r->version->encoder) return value == FURROW_JSON_OBJECT ? EVENTS : NO_ROWS;
  switch (value) {
  case FURROW_JSON_STRING: return LINES;
  case FURROW_JSON_ARRAY: return ARRAYS;
  case FURROW_JSON_OBJECT: return NAMED;
  default: return NO_ROWS;
  }
}

static furrow_status fail_kind(reading *r, row_kind kind) {
  if (kind != NO_ROWS) return fail_row(r, FURROW_E_PARSE, "instances of one request are of one kind");
  return fail_row(r, FURROW_E_PARSE,
                  r->version->encoder ? "the model was trained on a log: an instance is an object with its columns"
                                      : "an instance is an array of numbers, a line, or an object");
}

/* Whether the request takes too long for a loop thread, which has other connections to serve. */
static bool is_long(const reading *r, size_t rows) {
  const uint64_t measured = r->version->row_ns, row_ns = measured > 0 ? measured : UNKNOWN_NS;
  return rows * (row_ns + READING_NS) > LOOP_NS;
}

/* Reads the next element of the list. */
static furrow_status take_instance(reading *r) {
  const row_kind kind = kind_of(r, furrow_json_peek(r->json));
  const size_t most = r->call->service->limits.max_rows;
  if (r->count >= most) return fail_limit(r, "rows", most);
  if (r->call->on_loop && is_long(r, r->count + 1)) {
    r->call->move = r->answered = true;
    return FURROW_E_STATE;
  }
  if (kind == NO_ROWS || (r->kind != NO_ROWS && kind != r->kind)) return fail_kind(r, kind);
  r->kind = kind;
  furrow_status status = FURROW_OK;
  switch (kind) {
  case EVENTS: status = take_event(r); break;
  case LINES: status = take_line(r); break;
  case ARRAYS: status = take_array(r); break;
  default: status = take_named(r); break;
  }
  r->count++;
  return status;
}

static furrow_status take_list(reading *r, const char *member) {
  if (r->read->member) return fail(r->err, FURROW_E_PARSE, "a request has one list: \"instances\" or \"rows\"");
  r->read->member = member;
  furrow_status status = furrow_json_array(r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_element(r->json, r->err)) == FURROW_OK) status = take_instance(r);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status take_top(reading *r) {
  int64_t top = 0;
  FW_TRY(furrow_json_i64(r->json, &top, r->err));
  if (top < 0) return furrow_json_fail(r->json, furrow_json_offset(r->json), NULL, r->err, "is negative");
  r->read->top = (size_t)top;
  return FURROW_OK;
}

static furrow_status take_by(reading *r) {
  furrow_json_text by;
  FW_TRY(furrow_json_string(r->json, &by, r->err));
  r->read->by_column = furrow_json_is(by, "column");
  if (r->read->by_column || furrow_json_is(by, "feature")) return FURROW_OK;
  return furrow_json_fail(r->json, furrow_json_offset(r->json), NULL, r->err, "is neither \"feature\" nor \"column\"");
}

static furrow_status fail_unknown(reading *r, furrow_json_text key, unsigned options) {
  r->pointer[0] = 0;
  json_pointer_add(r->pointer, POINTER_SIZE, key.bytes, key.size);
  (void)fail(r->err, FURROW_E_PARSE, "a request does not have this member");
  if (furrow_json_is(key, "inputs"))
    return add_hint(r->err, "columns as lists are not read: \"instances\" has an object for each row"), FURROW_E_PARSE;
  return add_hint(r->err, "it has \"instances\" or \"rows\"%s",
                  options & TAKES_TOP_AND_BY ? ", \"top\", \"by\"" : ", \"details\""),
         FURROW_E_PARSE;
}

enum { MEMBER_DETAILS = 1, MEMBER_TOP = 2, MEMBER_SIGNATURE = 4, MEMBER_BY = 8 };

/* Refuses a member that is given twice: the later value would replace the earlier one. */
static furrow_status take_once(reading *r, furrow_json_text key, unsigned member) {
  const bool is_double = (r->seen & member) != 0;
  r->seen |= member;
  if (!is_double) return FURROW_OK;
  r->pointer[0] = 0;
  json_pointer_add(r->pointer, POINTER_SIZE, key.bytes, key.size);
  return fail(r->err, FURROW_E_PARSE, "the member occurs twice");
}

static furrow_status take_member(reading *r, furrow_json_text key, unsigned options) {
  furrow_json_text ignored;
  if (furrow_json_is(key, "instances")) return take_list(r, "instances");
  if (furrow_json_is(key, "rows")) return take_list(r, "rows");
  if ((options & TAKES_DETAILS) && furrow_json_is(key, "details")) {
    FW_TRY(take_once(r, key, MEMBER_DETAILS));
    return furrow_json_bool(r->json, &r->read->details, r->err);
  }
  if ((options & TAKES_TOP_AND_BY) && furrow_json_is(key, "top")) {
    FW_TRY(take_once(r, key, MEMBER_TOP));
    return take_top(r);
  }
  if ((options & TAKES_TOP_AND_BY) && furrow_json_is(key, "by")) {
    FW_TRY(take_once(r, key, MEMBER_BY));
    return take_by(r);
  }
  if (!furrow_json_is(key, "signature_name")) return fail_unknown(r, key, options);
  FW_TRY(take_once(r, key, MEMBER_SIGNATURE));
  return furrow_json_string(r->json, &ignored, r->err);
}

static furrow_status read_body(reading *r, unsigned options) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &key, r->err)) == FURROW_OK)
    status = take_member(r, key, options);
  if (status != FURROW_END) return status;
  FW_TRY(furrow_json_end(r->json, r->err));
  if (!r->read->member) return fail(r->err, FURROW_E_PARSE, "the request has neither \"instances\" nor \"rows\"");
  if (r->count == 0) return FURROW_OK;
  if (r->kind == EVENTS || r->kind == LINES) return read_text(r);
  return furrow_container_get_block(r->table, &r->read->rows, r->err);
}

/* Answers with the problem; the path of one that the JSON reader found comes from the reader. */
static void answer_problem(reading *r, furrow_status status) {
  if (r->answered) return;
  if (status == FURROW_E_FORMAT && !r->pointer[0]) json_pointer_read(r->pointer, POINTER_SIZE, r->json);
  problem_set_error(r->call->answer, status, r->err, r->pointer);
}

const event_columns *instances_columns(model_version *version) {
  const instance_decoder *decoder = instance_decoder_get(version);
  return decoder ? &decoder->columns : NULL;
}

bool instances_read(call *c, model_version *version, unsigned options, instances *read) {
  furrow_error err;
  reading r = {.call = c, .version = version, .decoder = instance_decoder_get(version), .read = read, .err = &err};
  *read = (instances){0};
  r.json = thread_json(c->memory);
  r.table = thread_rows(c->memory);
  if (!r.decoder || !r.json || !r.table) {
    problem_set(c->answer, 503, "there is not enough memory");
    return false;
  }
  r.readers = &r.decoder->readers[c->memory->thread];
  read->warnings = &r.readers->warnings;
  buffer_recycle(&r.readers->warnings, KEPT_BYTES);
  buffer_recycle(&c->memory->text, KEPT_BYTES);
  furrow_json_start(r.json, c->request->body, c->request->body_size, NULL);
  const furrow_status status = read_body(&r, options);
  if (status != FURROW_OK) answer_problem(&r, status);
  c->rows = r.count;
  return status == FURROW_OK;
}

void instances_release(call *c, model_version *version) {
  thread_memory *memory = c->memory;
  instance_decoder *d = atomic_load_explicit(&version->decoder, memory_order_acquire);
  if (d && memory->text.capacity > KEPT_BYTES) {
    instance_readers *t = &d->readers[memory->thread];
    furrow_event_reader_free(t->events);
    furrow_line_reader_free(t->lines);
    t->events = NULL;
    t->lines = NULL;
  }
  if (memory->rows && furrow_container_memory_cost(memory->rows) > KEPT_BYTES) {
    furrow_container_free(memory->rows);
    memory->rows = NULL;
  }
  buffer_recycle(&memory->text, KEPT_BYTES);
  buffer_recycle(&memory->numbers, KEPT_BYTES);
  buffer_recycle(&memory->results, KEPT_BYTES);
}

void instances_refuse(call *c, const instances *read, size_t row, furrow_status status, const furrow_error *err) {
  char pointer[POINTER_SIZE];
  point_to(pointer, read->member, row, NULL, 0);
  problem_set_error(c->answer, status, err, status == FURROW_E_UNSUPPORTED ? NULL : pointer);
}

/* ---- Values that the model does not know ---- */

/* Counts the rows without a known value of the field. */
static size_t count_unknown(const furrow_encoder *encoder, size_t field, const furrow_rowblock *rows) {
  size_t unknown = 0;
  for (size_t i = 0; i < rows->size; i++) {
    bool known = false;
    for (uint64_t k = rows->offset[i]; k < rows->offset[i + 1] && !known; k++) {
      const uint64_t index = furrow_keys_get(rows->index, rows->key_type, k);
      known = furrow_encoder_entry_of(encoder, field, index) != UINT64_MAX;
    }
    unknown += !known;
  }
  return unknown;
}

/* Writes one warning for the unknown users and items of all rows: recommenders often get requests about new ones. */
static void write_unknown_sides(const model_version *version, const furrow_rowblock *rows, fw_buffer *body) {
  static const furrow_side sides[] = {FURROW_SIDE_USER, FURROW_SIDE_ITEM};
  for (size_t s = 0; version->encoder && s < 2; s++) {
    const size_t number = furrow_encoder_side_field(version->encoder, sides[s]);
    furrow_encoder_field field;
    if (number == SIZE_MAX) continue;
    furrow_encoder_get_field(version->encoder, number, &field);
    const size_t unknown = field.entries > 0 ? count_unknown(version->encoder, number, rows) : 0;
    if (unknown == 0) continue;
    char text[256];
    snprintf(text, sizeof text, "%zu of %zu rows have no %s that the model knows (%.100s)", unknown, rows->size,
             s == 0 ? "user" : "item", field.name);
    json_put_text(body, text, strlen(text));
    fw_buffer_text(body, ",");
  }
}

void instances_write_warnings(const model_version *version, const instances *read, fw_buffer *body) {
  static const char begin[] = ",\"warnings\":[";
  const size_t before = body->size, start = before + sizeof begin - 1;
  fw_buffer_text(body, begin);
  write_unknown_sides(version, &read->rows, body);
  if (read->warning_count > 0) {
    fw_buffer_append(body, read->warnings->bytes, read->warnings->size);
    fw_buffer_text(body, ",");
  }
  if (read->warning_count > MOST_WARNINGS)
    fw_buffer_format(body, "\"and %zu more warnings\",", read->warning_count - MOST_WARNINGS);
  if (body->missing) return;
  const bool any = body->size > start;
  body->size = any ? body->size - 1 : before; /* removes the last comma, or everything */
  if (any) fw_buffer_text(body, "]");
}

model_version *instances_version(call *c) {
  model_version *version = served_model_get(c->model);
  if (!version) {
    problem_set(c->answer, 503, "the model has no version that can be used yet");
    return NULL;
  }
  if (version->scorer) return version;
  problem_set(
      c->answer, 422,
      "the model is a recommender, which ranks items for users and does not score rows: call :recommend or :similar");
  shared_release(&version->shared);
  return NULL;
}
