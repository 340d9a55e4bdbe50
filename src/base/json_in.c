/* base/json_in.c: a JSON reader that returns one value at a time. */
#include "base/json_in.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/utf8.h"

void fw_json_open(furrow_json *json, const char *text, size_t size, const char *file) {
  memset(json, 0, offsetof(furrow_json, steps)); /* the steps are set when they are entered */
  json->key = json->string = (fw_buffer){0};
  json->text = json->at = json->value = text;
  json->end = text + size;
  json->file = file;
}

void fw_json_close(furrow_json *json) {
  fw_buffer_clear(&json->key);
  fw_buffer_clear(&json->string);
}

furrow_status furrow_json_create(furrow_json **json, furrow_error *err) {
  FW_TRY(FW_ALLOC(json, 1, err));
  fw_json_open(*json, "", 0, NULL);
  return FURROW_OK;
}

void furrow_json_free(furrow_json *json) {
  if (!json) return;
  fw_json_close(json);
  fw_free(json);
}

/* Keeps the reader's buffers. */
void furrow_json_start(furrow_json *json, const char *text, size_t size, const char *file) {
  const fw_buffer key = json->key, string = json->string;
  fw_json_open(json, text ? text : "", size, file); /* NULL is an empty text */
  json->key = key;
  json->string = string;
}

uint64_t furrow_json_offset(const furrow_json *json) {
  return json->base + (uint64_t)(json->value - json->text);
}

bool furrow_json_is(furrow_json_text text, const char *literal) {
  return strlen(literal) == text.size && memcmp(text.bytes, literal, text.size) == 0;
}

/* ---- Errors ---- */

#define PATH_CAPACITY 160

/* Appends at most 40 bytes, in whole characters. */
static void add_to_path(char path[PATH_CAPACITY], const char *text, size_t size) {
  const size_t length = strlen(path);
  size_t avail = PATH_CAPACITY - 1 - length;
  if (avail > 40) avail = 40;
  if (size > avail)
    for (size = avail; size > 0 && (text[size] & 0xc0) == 0x80;) size--;
  memcpy(path + length, text, size);
  path[length + size] = 0;
}

/* Appends a key as a step of a JSON pointer: ~ and / become ~0 and ~1. */
static void add_key(char path[PATH_CAPACITY], const char *key, size_t size) {
  char step[44];
  size_t length = 0;
  for (size_t i = 0; i < size && length < 42; i++) {
    const char *escape = key[i] == '~' ? "0" : key[i] == '/' ? "1" : NULL;
    step[length++] = escape ? '~' : key[i];
    if (escape) step[length++] = *escape;
  }
  add_to_path(path, step, length);
}

/* Writes the path. `add` is add_to_path for a readable path and add_key for a JSON pointer. */
static void write_steps(const furrow_json *json, void (*add)(char *path, const char *key, size_t size),
                        char path[PATH_CAPACITY]) {
  path[0] = 0;
  for (unsigned i = 0; i < json->depth; i++) {
    const fw_json_step *step = &json->steps[i];
    char index[24];
    snprintf(index, sizeof index, "%lld", (long long)step->index);
    if (!step->key && step->index < 0) continue;
    if (path[0]) add_to_path(path, "/", 1);
    if (step->key)
      add(path, step->key, step->size);
    else
      add_to_path(path, index, strlen(index));
  }
}

static void write_path(const furrow_json *json, const char *member, char path[PATH_CAPACITY]) {
  write_steps(json, add_to_path, path);
  if (member && path[0]) add_to_path(path, "/", 1);
  if (member) add_to_path(path, member, strlen(member));
}

size_t furrow_json_path(const furrow_json *json, char *path, size_t size) {
  char whole[PATH_CAPACITY];
  write_steps(json, add_key, whole);
  return (size_t)snprintf(path, size, "%s", whole);
}

/* The length of the token that starts at s, for error messages. */
static size_t token_length(const char *s, const char *end) {
  const char *p = s;
  if (p < end && *p == '"') {
    for (p++; p < end && *p != '"'; p++)
      if (*p == '\\' && p + 1 < end) p++;
    return (size_t)(p - s) + (p < end);
  }
  while (p < end && !strchr(",:{}[]\" \t\r\n", *p)) p++;
  return p == s && p < end ? 1 : (size_t)(p - s);
}

static void set_place(const furrow_json *json, uint64_t offset, furrow_error *err) {
  if (!err) return;
  err->offset = offset;
  if (json->file) fw_error_set_file(err, json->file);
  if (offset < json->base || offset - json->base > (uint64_t)(json->end - json->text)) return;
  const char *at = json->text + (offset - json->base);
  fw_error_set_token(err, at, token_length(at, json->end));
}

furrow_status furrow_json_fail(const furrow_json *json, uint64_t offset, const char *member, furrow_error *err,
                               const char *format, ...) {
  char path[PATH_CAPACITY], message[200];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  write_path(json, member, path);
  fw_fail(err, FURROW_E_FORMAT, "%s %s", path[0] ? path : "the JSON", message);
  set_place(json, offset, err);
  return FURROW_E_FORMAT;
}

/* Fails because the text is not valid JSON at `at`. */
static furrow_status bad_text(const furrow_json *json, const char *at, const char *message, furrow_error *err) {
  char path[PATH_CAPACITY];
  write_path(json, NULL, path);
  if (at >= json->end) message = "the JSON ends too early";
  fw_fail(err, FURROW_E_FORMAT, "%s%s%s", message, path[0] ? " in " : "", path);
  set_place(json, json->base + (uint64_t)(at - json->text), err);
  return FURROW_E_FORMAT;
}

/* Fails because the next value has another type than the caller wants. */
static furrow_status bad_kind(furrow_json *json, const char *wanted, furrow_error *err) {
  if (furrow_json_peek(json) == FURROW_JSON_NOTHING) return bad_text(json, json->at, "not a JSON value", err);
  json->value = json->at;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not %s", wanted);
}

/* ---- Tokens ---- */

static void skip_blanks(furrow_json *json) {
  while (json->at < json->end && (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
    json->at++;
}

uint64_t furrow_json_next_offset(furrow_json *json) {
  skip_blanks(json);
  return json->base + (uint64_t)(json->at - json->text);
}

static bool take_char(furrow_json *json, char c) {
  skip_blanks(json);
  if (json->at >= json->end || *json->at != c) return false;
  json->at++;
  return true;
}

furrow_json_kind furrow_json_peek(furrow_json *json) {
  skip_blanks(json);
  if (json->at >= json->end) return FURROW_JSON_NOTHING;
  switch (*json->at) {
  case '{': return FURROW_JSON_OBJECT;
  case '[': return FURROW_JSON_ARRAY;
  case '"': return FURROW_JSON_STRING;
  case 't':
  case 'f': return FURROW_JSON_BOOL;
  case 'n': return FURROW_JSON_NULL;
  default: return *json->at == '-' || (*json->at >= '0' && *json->at <= '9') ? FURROW_JSON_NUMBER : FURROW_JSON_NOTHING;
  }
}

static bool is_digit(const char *p, const char *end) {
  return p < end && *p >= '0' && *p <= '9';
}

/* Returns the end of the number that starts at p, or NULL; *integer: it has neither a point nor an exponent. */
static const char *scan_number(const char *p, const char *end, bool *integer) {
  *integer = true;
  if (p < end && *p == '-') p++;
  if (!is_digit(p, end)) return NULL;
  if (*p++ != '0')
    while (is_digit(p, end)) p++;
  if (p < end && *p == '.') {
    *integer = false;
    if (!is_digit(++p, end)) return NULL;
    while (is_digit(p, end)) p++;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    *integer = false;
    if (++p < end && (*p == '+' || *p == '-')) p++;
    if (!is_digit(p, end)) return NULL;
    while (is_digit(p, end)) p++;
  }
  /* 01, 1x, 1.2.3: only a separator may follow a number */
  return p < end && !strchr(",}] \t\r\n", *p) ? NULL : p;
}

/* Reads four hexadecimal digits at p; -1 if they are not there. */
static int32_t read_hex4(const char *p, const char *end) {
  int32_t value = 0;
  if (end - p < 4) return -1;
  for (int i = 0; i < 4; i++) {
    const char c = p[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/* Reads an escape sequence after its backslash, at p, and returns its end. NULL: it is not an escape, or it is half
 * of a surrogate pair. */
static const char *read_escape(const char *p, const char *end, uint32_t *code) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  if (p >= end || *p == 0) return NULL;
  const char *letter = strchr(letters, *p);
  if (letter) return *code = (uint32_t)meant[letter - letters], p + 1;
  const int32_t high = *p == 'u' ? read_hex4(p + 1, end) : -1;
  if (high < 0 || (high >= 0xdc00 && high < 0xe000)) return NULL;
  p += 5;
  *code = (uint32_t)high;
  if (high < 0xd800 || high >= 0xe000) return p;
  const int32_t low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? read_hex4(p + 2, end) : -1;
  if (low < 0xdc00 || low >= 0xe000) return NULL;
  *code = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
  return p + 6;
}

/* Skips the string that starts at json->at. *inner is the text between its quotes. */
static furrow_status scan_string(furrow_json *json, furrow_json_text *inner, bool *escapes, furrow_error *err) {
  const char *const start = json->at + 1;
  const char *p = start;
  uint32_t code;
  *escapes = false;
  for (; p < json->end && *p != '"';) {
    const char *next = p + 1;
    if ((unsigned char)*p < ' ') return bad_text(json, p, "a string has a control character", err);
    if (*p == '\\') {
      *escapes = true;
      next = read_escape(p + 1, json->end, &code);
      if (!next) return bad_text(json, p, "a string has a bad escape", err);
    } else if ((unsigned char)*p >= 0x80) {
      next = fw_utf8_read(p, json->end, &code);
      if (!next) return bad_text(json, p, "a string is not UTF-8", err);
    }
    p = next;
  }
  if (p >= json->end) return bad_text(json, p, "", err);
  *inner = (furrow_json_text){start, (size_t)(p - start)};
  json->at = p + 1;
  return FURROW_OK;
}

/* Decodes the escapes of a string that scan_string has skipped. */
static furrow_status resolve_escapes(furrow_json_text inner, bool escapes, fw_buffer *buffer, furrow_json_text *text,
                                     furrow_error *err) {
  *text = inner;
  if (!escapes) return FURROW_OK;
  const char *p = inner.bytes, *const end = p + inner.size;
  fw_buffer_reset(buffer);
  while (p < end) {
    const char *escape = memchr(p, '\\', (size_t)(end - p));
    fw_buffer_append(buffer, p, (size_t)((escape ? escape : end) - p));
    if (!escape) break;
    uint32_t code = 0;
    char bytes[4];
    p = read_escape(escape + 1, end, &code);
    fw_buffer_append(buffer, bytes, fw_utf8_write(bytes, code));
  }
  *text = (furrow_json_text){buffer->bytes, buffer->size};
  return fw_buffer_status(buffer, err);
}

static bool take_word(furrow_json *json, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0) return false;
  json->value = json->at;
  json->at += length;
  return true;
}

/* ---- Values ---- */

static furrow_status enter_container(furrow_json *json, int64_t index, furrow_error *err) {
  if (json->depth == FW_JSON_DEPTH) return bad_text(json, json->at, "the JSON is nested too deep", err);
  json->value = json->at++;
  json->steps[json->depth++] = (fw_json_step){NULL, 0, index};
  json->fresh = true;
  return FURROW_OK;
}

furrow_status furrow_json_object(furrow_json *json, furrow_error *err) {
  if (furrow_json_peek(json) != FURROW_JSON_OBJECT) return bad_kind(json, "an object", err);
  return enter_container(json, -2, err);
}

furrow_status furrow_json_array(furrow_json *json, furrow_error *err) {
  if (furrow_json_peek(json) != FURROW_JSON_ARRAY) return bad_kind(json, "an array", err);
  return enter_container(json, -1, err);
}

/* Moves to the next member or element; FURROW_END after the last one. */
static furrow_status advance_element(furrow_json *json, char closing, furrow_error *err) {
  const bool first = json->fresh;
  json->fresh = false;
  if (take_char(json, closing)) {
    json->depth--;
    return FURROW_END;
  }
  if (first || take_char(json, ',')) return FURROW_OK;
  return bad_text(json, json->at, closing == '}' ? "a , or } is missing" : "a , or ] is missing", err);
}

furrow_status furrow_json_element(furrow_json *json, furrow_error *err) {
  furrow_status status = advance_element(json, ']', err);
  if (status == FURROW_OK) json->steps[json->depth - 1].index++;
  return status;
}

furrow_status furrow_json_member(furrow_json *json, furrow_json_text *key, furrow_error *err) {
  furrow_status status = advance_element(json, '}', err);
  if (status != FURROW_OK) return status;
  fw_json_step *step = &json->steps[json->depth - 1];
  furrow_json_text inner;
  bool escapes;
  step->key = NULL;
  if (furrow_json_peek(json) != FURROW_JSON_STRING) return bad_text(json, json->at, "a key is missing", err);
  status = scan_string(json, &inner, &escapes, err);
  if (status != FURROW_OK) return status;
  step->key = inner.bytes;
  step->size = inner.size;
  if (!take_char(json, ':')) return bad_text(json, json->at, "a : is missing", err);
  return resolve_escapes(inner, escapes, &json->key, key, err);
}

furrow_status furrow_json_string(furrow_json *json, furrow_json_text *string, furrow_error *err) {
  furrow_json_text inner;
  bool escapes;
  if (furrow_json_peek(json) != FURROW_JSON_STRING) return bad_kind(json, "a string", err);
  json->value = json->at;
  furrow_status status = scan_string(json, &inner, &escapes, err);
  return status == FURROW_OK ? resolve_escapes(inner, escapes, &json->string, string, err) : status;
}

static furrow_status take_number(furrow_json *json, furrow_json_text *number, bool *integer, furrow_error *err) {
  const char *end = scan_number(json->at, json->end, integer);
  if (!end) return bad_text(json, json->at, "not a JSON number", err);
  *number = (furrow_json_text){json->at, (size_t)(end - json->at)};
  json->value = json->at;
  json->at = end;
  return FURROW_OK;
}

furrow_status furrow_json_i64(furrow_json *json, int64_t *value, furrow_error *err) {
  furrow_json_text number = {NULL, 0};
  bool integer, overflow = false;
  if (furrow_json_peek(json) != FURROW_JSON_NUMBER) return bad_kind(json, "an integer", err);
  FW_TRY(take_number(json, &number, &integer, err));
  if (!integer) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not an integer");
  int64_t result = 0;
  fw_read_i64(number.bytes, number.bytes + number.size, &result, &overflow);
  if (overflow) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "does not fit 64 bits");
  *value = result;
  return FURROW_OK;
}

furrow_status furrow_json_f64(furrow_json *json, double *value, furrow_error *err) {
  furrow_json_text number = {NULL, 0};
  bool integer;
  if (furrow_json_peek(json) != FURROW_JSON_NUMBER) return bad_kind(json, "a number", err);
  furrow_status status = take_number(json, &number, &integer, err);
  if (status == FURROW_OK) fw_read_f64(number.bytes, number.bytes + number.size, value);
  return status;
}

furrow_status furrow_json_bool(furrow_json *json, bool *value, furrow_error *err) {
  if (furrow_json_peek(json) != FURROW_JSON_BOOL) return bad_kind(json, "true or false", err);
  const bool is = take_word(json, "true");
  if (!is && !take_word(json, "false")) return bad_text(json, json->at, "not a JSON value", err);
  *value = is;
  return FURROW_OK;
}

furrow_status furrow_json_null(furrow_json *json, furrow_error *err) {
  if (furrow_json_peek(json) != FURROW_JSON_NULL) return bad_kind(json, "null", err);
  return take_word(json, "null") ? FURROW_OK : bad_text(json, json->at, "not a JSON value", err);
}

/* Reads a scalar, or enters an object or array. */
static furrow_status begin_value(furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  bool flag;
  switch (furrow_json_peek(json)) {
  case FURROW_JSON_OBJECT: return enter_container(json, -2, err);
  case FURROW_JSON_ARRAY: return enter_container(json, -1, err);
  case FURROW_JSON_STRING: return scan_string(json, &text, &flag, err);
  case FURROW_JSON_NUMBER: return take_number(json, &text, &flag, err);
  case FURROW_JSON_BOOL: return furrow_json_bool(json, &flag, err);
  case FURROW_JSON_NULL: return furrow_json_null(json, err);
  default: return bad_text(json, json->at, "not a JSON value", err);
  }
}

furrow_status furrow_json_skip(furrow_json *json, furrow_json_text *raw, furrow_error *err) {
  const unsigned outside = json->depth;
  furrow_json_text key;
  skip_blanks(json);
  const char *start = json->at;
  furrow_status status = begin_value(json, err);
  while (status == FURROW_OK && json->depth > outside) {
    const bool object = json->steps[json->depth - 1].index == -2;
    status = object ? furrow_json_member(json, &key, err) : furrow_json_element(json, err);
    if (status == FURROW_OK)
      status = begin_value(json, err);
    else if (status == FURROW_END)
      status = FURROW_OK;
  }
  if (status != FURROW_OK) return status;
  json->value = start;
  if (raw) *raw = (furrow_json_text){start, (size_t)(json->at - start)};
  return FURROW_OK;
}

furrow_status furrow_json_end(furrow_json *json, furrow_error *err) {
  skip_blanks(json);
  return json->at == json->end ? FURROW_OK : bad_text(json, json->at, "more text follows the JSON", err);
}
