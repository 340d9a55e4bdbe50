/* tests/fuzz/fuzz_json.c: any bytes as JSON: skipped and walked through alike; what is read is read again from what is
 * written of it. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
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
  return 0;
}
