/* tests/fuzz/fuzz_json.c: any bytes as JSON: skipped and walked through alike; what is read is read again from what is
 * written of it. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
  if (!condition) abort();
}

static void check_string(furrow_json_text text) {
  fw_buffer buffer = {0};
  furrow_json again;
  furrow_json_text same;
  require(!fw_utf8_check(text.bytes, text.bytes + text.size));
  fw_buffer_json_string(&buffer, text.bytes, text.size, true);
  fw_json_open(&again, buffer.bytes, buffer.size, NULL);
  require(furrow_json_string(&again, &same, NULL) == FURROW_OK && furrow_json_end(&again, NULL) == FURROW_OK);
  require(same.size == text.size && memcmp(same.bytes, text.bytes, text.size) == 0);
  fw_json_close(&again);
  fw_buffer_clear(&buffer);
}

static furrow_status walk(furrow_json *json);

/* Numbers that are read at once are those that are read one by one, and what follows them is the same. */
static void check_floats(furrow_json json) {
  float values[16];
  furrow_json copy = json;
  const size_t count = furrow_json_f32_elements(&json, values, 16);
  for (size_t i = 0; i < count; i++) {
    double number = 0;
    require(furrow_json_element(&copy, NULL) == FURROW_OK && furrow_json_f64(&copy, &number, NULL) == FURROW_OK);
    /* rounding twice may give the float beside it */
    require(values[i] == (float)number || nextafterf(values[i], (float)number) == (float)number);
  }
  require(copy.at == json.at && copy.value == json.value && copy.fresh == json.fresh && copy.depth == json.depth);
  require(copy.steps[copy.depth - 1].index == json.steps[json.depth - 1].index);
  double number;
  if (count == 16 || furrow_json_element(&copy, NULL) != FURROW_OK) return;
  require(furrow_json_f64(&copy, &number, NULL) != FURROW_OK || fabs(number) > (double)FLT_MAX);
}

static furrow_status walk_members(furrow_json *json, bool object) {
  furrow_json_text key;
  furrow_status status = object ? furrow_json_object(json, NULL) : furrow_json_array(json, NULL);
  if (status == FURROW_OK && !object) check_floats(*json);
  while (status == FURROW_OK) {
    status = object ? furrow_json_member(json, &key, NULL) : furrow_json_element(json, NULL);
    if (status == FURROW_OK && object) check_string(key);
    if (status == FURROW_OK) status = walk(json);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* An integer that does not fit is a number all the same. */
static furrow_status walk_number(furrow_json *json) {
  furrow_json copy = *json;
  int64_t integer;
  double number;
  if (furrow_json_i64(json, &integer, NULL) == FURROW_OK) return FURROW_OK;
  *json = copy;
  return furrow_json_f64(json, &number, NULL);
}

static furrow_status walk(furrow_json *json) {
  furrow_json_text text;
  bool flag;
  furrow_status status;
  switch (furrow_json_peek(json)) {
  case FURROW_JSON_OBJECT: return walk_members(json, true);
  case FURROW_JSON_ARRAY: return walk_members(json, false);
  case FURROW_JSON_NUMBER: return walk_number(json);
  case FURROW_JSON_BOOL: return furrow_json_bool(json, &flag, NULL);
  case FURROW_JSON_NULL: return furrow_json_null(json, NULL);
  case FURROW_JSON_STRING:
    status = furrow_json_string(json, &text, NULL);
    if (status == FURROW_OK) check_string(text);
    return status;
  default: return FURROW_E_FORMAT;
  }
}

/* ---- Written again ---- */

static bool write_value(furrow_json *json, fw_json_out *out);

/* The writer takes texts that end with a 0 and so have none in them. */
static char *copy_text(furrow_json_text text) {
  char *copy = memchr(text.bytes, 0, text.size) ? NULL : malloc(text.size + 1);
  if (!copy) return NULL;
  memcpy(copy, text.bytes, text.size);
  copy[text.size] = 0;
  return copy;
}

static bool write_key(fw_json_out *out, furrow_json_text key) {
  char *name = copy_text(key);
  if (name) fw_json_out_key(out, name);
  free(name);
  return name != NULL;
}

static bool write_members(furrow_json *json, fw_json_out *out) {
  furrow_json_text key;
  require(furrow_json_object(json, NULL) == FURROW_OK);
  fw_json_out_open(out);
  while (furrow_json_member(json, &key, NULL) == FURROW_OK)
    if (!write_key(out, key) || !write_value(json, out)) return false;
  fw_json_out_close(out);
  return true;
}

static bool write_elements(furrow_json *json, fw_json_out *out) {
  require(furrow_json_array(json, NULL) == FURROW_OK);
  fw_json_out_open_array(out);
  while (furrow_json_element(json, NULL) == FURROW_OK) {
    fw_json_out_element(out);
    if (!write_value(json, out)) return false;
  }
  fw_json_out_close_array(out);
  return true;
}

static bool write_string(furrow_json *json, fw_json_out *out) {
  furrow_json_text text;
  require(furrow_json_string(json, &text, NULL) == FURROW_OK);
  char *copy = copy_text(text);
  if (copy) fw_json_out_text(out, copy);
  free(copy);
  return copy != NULL;
}

/* False: larger than any double. */
static bool write_number(furrow_json *json, fw_json_out *out) {
  furrow_json copy = *json;
  int64_t integer = 0;
  double number = 0;
  const bool whole = furrow_json_i64(json, &integer, NULL) == FURROW_OK;
  *json = copy;
  require(furrow_json_f64(json, &number, NULL) == FURROW_OK);
  if (whole && !(integer == 0 && signbit(number)))
    fw_json_out_integer(out, integer);
  else
    fw_json_out_real(out, number);
  return isfinite(number);
}

/* False: something in it cannot be written: a text with a 0, or a number that is too large. */
static bool write_value(furrow_json *json, fw_json_out *out) {
  bool flag = false;
  switch (furrow_json_peek(json)) {
  case FURROW_JSON_OBJECT: return write_members(json, out);
  case FURROW_JSON_ARRAY: return write_elements(json, out);
  case FURROW_JSON_STRING: return write_string(json, out);
  case FURROW_JSON_NUMBER: return write_number(json, out);
  case FURROW_JSON_BOOL:
    require(furrow_json_bool(json, &flag, NULL) == FURROW_OK);
    fw_json_out_bool(out, flag);
    return true;
  default:
    require(furrow_json_null(json, NULL) == FURROW_OK);
    fw_json_out_null(out);
    return true;
  }
}

static bool write_text(const char *text, size_t size, fw_buffer *buffer) {
  furrow_json json;
  fw_json_out out = {.out = buffer};
  fw_json_open(&json, text, size, NULL);
  const bool good = write_value(&json, &out);
  fw_json_close(&json);
  return good;
}

static void require_same(furrow_json *a, furrow_json *b);

static void require_same_parts(furrow_json *a, furrow_json *b, bool object) {
  furrow_json_text keys[2] = {{NULL, 0}, {NULL, 0}};
  furrow_status status = object ? furrow_json_object(a, NULL) : furrow_json_array(a, NULL);
  require(status == FURROW_OK && (object ? furrow_json_object(b, NULL) : furrow_json_array(b, NULL)) == FURROW_OK);
  while ((status = object ? furrow_json_member(a, &keys[0], NULL) : furrow_json_element(a, NULL)) == FURROW_OK) {
    require((object ? furrow_json_member(b, &keys[1], NULL) : furrow_json_element(b, NULL)) == FURROW_OK);
    require(keys[0].size == keys[1].size && (!object || memcmp(keys[0].bytes, keys[1].bytes, keys[0].size) == 0));
    require_same(a, b);
  }
  require((object ? furrow_json_member(b, &keys[1], NULL) : furrow_json_element(b, NULL)) == status);
}

/* Of integers that are too large, the nearest number. */
static void require_same_numbers(furrow_json *a, furrow_json *b) {
  furrow_json *const both[2] = {a, b};
  int64_t integers[2] = {0, 0};
  double numbers[2] = {0, 0};
  furrow_status status[2];
  for (size_t i = 0; i < 2; i++) {
    const furrow_json copy = *both[i];
    status[i] = furrow_json_i64(both[i], &integers[i], NULL);
    *both[i] = copy;
    require(furrow_json_f64(both[i], &numbers[i], NULL) == FURROW_OK);
  }
  require(numbers[0] == numbers[1] && signbit(numbers[0]) == signbit(numbers[1]));
  if (status[0] == FURROW_OK && status[1] == FURROW_OK) require(integers[0] == integers[1]);
}

static void require_same_strings(furrow_json *a, furrow_json *b) {
  furrow_json_text texts[2];
  require(furrow_json_string(a, &texts[0], NULL) == FURROW_OK && furrow_json_string(b, &texts[1], NULL) == FURROW_OK);
  require(texts[0].size == texts[1].size && memcmp(texts[0].bytes, texts[1].bytes, texts[0].size) == 0);
}

static void require_same(furrow_json *a, furrow_json *b) {
  bool flags[2] = {false, false};
  require(furrow_json_peek(a) == furrow_json_peek(b));
  switch (furrow_json_peek(a)) {
  case FURROW_JSON_OBJECT: require_same_parts(a, b, true); break;
  case FURROW_JSON_ARRAY: require_same_parts(a, b, false); break;
  case FURROW_JSON_NUMBER: require_same_numbers(a, b); break;
  case FURROW_JSON_STRING: require_same_strings(a, b); break;
  case FURROW_JSON_BOOL:
    require(furrow_json_bool(a, &flags[0], NULL) == FURROW_OK && furrow_json_bool(b, &flags[1], NULL) == FURROW_OK);
    require(flags[0] == flags[1]);
    break;
  default: require(furrow_json_null(a, NULL) == FURROW_OK && furrow_json_null(b, NULL) == FURROW_OK);
  }
}

/* What is written is read as the same values. */
static void check_again(const char *text, size_t size) {
  fw_buffer buffer = {0};
  furrow_json json, again;
  if (write_text(text, size, &buffer)) {
    fw_json_open(&json, text, size, NULL);
    fw_json_open(&again, buffer.bytes, buffer.size, NULL);
    require_same(&json, &again);
    require(furrow_json_end(&again, NULL) == FURROW_OK);
    fw_json_close(&json);
    fw_json_close(&again);
  }
  fw_buffer_clear(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_json json;
  furrow_json_text raw = {NULL, 0};
  furrow_error err;
  const char *text = (const char *)data;
  fw_json_open(&json, text, size, "x");
  furrow_status status = furrow_json_skip(&json, &raw, &err);
  if (status == FURROW_OK) status = furrow_json_end(&json, &err);
  if (status != FURROW_OK) require(status == FURROW_E_FORMAT && err.offset <= size && err.message[0] != 0);
  if (raw.bytes) require(raw.bytes >= text && raw.size <= size - (size_t)(raw.bytes - text));
  fw_json_close(&json);
  fw_json_open(&json, text, size, NULL);
  furrow_status walked = walk(&json);
  if (walked == FURROW_OK) walked = furrow_json_end(&json, NULL);
  require((walked == FURROW_OK) == (status == FURROW_OK));
  fw_json_close(&json);
  if (walked == FURROW_OK) check_again(text, size);
  return 0;
}
