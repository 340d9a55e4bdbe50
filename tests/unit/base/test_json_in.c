/* tests/unit/base/test_json_in.c: reading JSON. */
#include "base/json_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static furrow_json json;
static furrow_error err;

static void start(const char *text) {
  fw_json_open(&json, text, strlen(text), "x.json");
  memset(&err, 0, sizeof err);
}

/* The document is refused: status, byte, message. */
static void refused(const char *text, uint64_t offset, const char *message) {
  start(text);
  furrow_status status = furrow_json_skip(&json, NULL, &err);
  if (status == FURROW_OK) status = furrow_json_end(&json, &err);
  if (status != FURROW_E_FORMAT || err.offset != offset || strcmp(err.message, message) != 0)
    fail_msg("%s: %s at %llu: %s", text, furrow_status_name(status), (unsigned long long)err.offset, err.message);
  assert_string_equal(err.file, "x.json");
  fw_json_close(&json);
  start(text);
  status = furrow_json_skip(&json, NULL, NULL);
  if (status == FURROW_OK) status = furrow_json_end(&json, NULL);
  assert_int_equal(status, FURROW_E_FORMAT);
  fw_json_close(&json);
}

static void members(void **state) {
  (void)state;
  furrow_json_text key, text;
  int64_t i = 0;
  double d = 0;
  bool b = false;
  start(" {\"a\" : 1, \"b\":[ ] ,\"c\":{\"d\":[-2,3.5e1,\"x\",true , null,false]}\n,\"\":[[],{}]} \t");
  assert_int_equal(furrow_json_peek(&json), FURROW_JSON_OBJECT);
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_true(furrow_json_is(key, "a") && !furrow_json_is(key, "ab") && !furrow_json_is(key, ""));
  assert_int_equal(furrow_json_i64(&json, &i, &err), FURROW_OK);
  assert_int_equal(i, 1);
  assert_int_equal(furrow_json_offset(&json), 8);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_array(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_END);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_true(furrow_json_is(key, "d"));
  assert_int_equal(furrow_json_array(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f64(&json, &d, &err), FURROW_OK);
  assert_true(d == -2);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f64(&json, &d, &err), FURROW_OK);
  assert_true(d == 35);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_string(&json, &text, &err), FURROW_OK);
  assert_true(furrow_json_is(text, "x"));
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_peek(&json), FURROW_JSON_BOOL);
  assert_int_equal(furrow_json_bool(&json, &b, &err), FURROW_OK);
  assert_true(b);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_null(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_bool(&json, &b, &err), FURROW_OK);
  assert_false(b);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_END);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_END);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_true(furrow_json_is(key, ""));
  assert_int_equal(furrow_json_skip(&json, &text, &err), FURROW_OK);
  assert_true(furrow_json_is(text, "[[],{}]"));
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_END);
  assert_int_equal(furrow_json_end(&json, &err), FURROW_OK);
  fw_json_close(&json);
}

static void strings(void **state) {
  (void)state;
  furrow_json_text key, text;
  start("{\"k\\u00e9\\/\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uD83D\\ude00\xe6\xa8\xa1\\u0000.\"}");
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_string(&json, &text, &err), FURROW_OK);
  /* the key is still there */
  assert_true(furrow_json_is(key, "k\xc3\xa9/"));
  static const char wanted[] = "\"\\/\b\f\n\r\tA\xf0\x9f\x98\x80\xe6\xa8\xa1\0.";
  assert_int_equal(text.size, sizeof wanted - 1);
  assert_memory_equal(text.bytes, wanted, text.size);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_END);
  fw_json_close(&json);
}

static void integers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
  } good[] = {
      {"0", 0}, {"-0", 0}, {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}, {" 17 ", 17}};
  static const char *const bad[] = {"9223372036854775808",
                                    "-9223372036854775809",
                                    "1.0",
                                    "1e3",
                                    "\"1\"",
                                    "true",
                                    "[1]",
                                    "99999999999999999999999999",
                                    "",
                                    "-",
                                    "+1",
                                    "01",
                                    "1x",
                                    "0x10",
                                    "--1",
                                    "1-",
                                    "nul"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    int64_t value = 77;
    start(good[i].text);
    assert_int_equal(furrow_json_i64(&json, &value, &err), FURROW_OK);
    assert_true(value == good[i].value);
    assert_int_equal(furrow_json_end(&json, &err), FURROW_OK);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int64_t value = 77;
    start(bad[i]);
    if (furrow_json_i64(&json, &value, &err) != FURROW_E_FORMAT) fail_msg("%s is an integer?", bad[i]);
    assert_true(value == 77 && err.message[0] != 0 && err.offset == 0);
  }
}

static void refusals(void **state) {
  (void)state;
  refused("", 0, "the JSON ends too early");
  refused("{", 1, "the JSON ends too early");
  refused("[1,2", 4, "the JSON ends too early in 1");
  refused("{\"a\":", 5, "the JSON ends too early in a");
  refused("\"abc", 4, "the JSON ends too early");
  refused("{\"a\":{\"b\":[1 2]}}", 13, "a , or ] is missing in a/b/0");
  refused("{\"a\":1 \"b\":2}", 7, "a , or } is missing in a");
  refused("{\"a\":1,}", 7, "a key is missing");
  refused("{1:2}", 1, "a key is missing");
  refused("[1,]", 3, "not a JSON value in 1");
  refused("{\"a\" 1}", 5, "a : is missing in a");
  refused("[01]", 1, "not a JSON number in 0");
  refused("[1.]", 1, "not a JSON number in 0");
  refused("[1e]", 1, "not a JSON number in 0");
  refused("[-]", 1, "not a JSON number in 0");
  refused("[.5]", 1, "not a JSON value in 0");
  refused("[NaN]", 1, "not a JSON value in 0");
  refused("[nulL]", 1, "not a JSON value in 0");
  refused("[truE]", 1, "not a JSON value in 0");
  refused("['a']", 1, "not a JSON value in 0");
  refused("[\"a\nb\"]", 3, "a string has a control character in 0");
  refused("[\"a\\x\"]", 3, "a string has a bad escape in 0");
  refused("[\"\\u12g4\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\ud800\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\ud800\\u0041\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\udc00\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\udfff\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\ud800\\n\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\ud800abcdef\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\ud800\\ue000\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\u123", 2, "a string has a bad escape in 0");
  refused("[\"\\u12G4\"]", 2, "a string has a bad escape in 0");
  refused("[\"\\", 2, "a string has a bad escape in 0");
  refused("[nul", 1, "not a JSON value in 0");
  refused("[1e+]", 1, "not a JSON number in 0");
  refused("[-", 1, "not a JSON number in 0");
  refused("[1e", 1, "not a JSON number in 0");
  refused("[\"\xff\"]", 2, "a string is not UTF-8 in 0");
  refused("[\"\xed\xa0\x80\"]", 2, "a string is not UTF-8 in 0");
  refused("\xef\xbb\xbf{}", 0, "not a JSON value");
  refused("{} {}", 3, "more text follows the JSON");
  refused("// x\n{}", 0, "not a JSON value");
}

/* 64 are allowed, not one more; and the reader does not go deeper than it may. */
/* A reader of the caller's own, for one text after the other; errors without a file. */
static void readers_are_used_again(void **state) {
  (void)state;
  furrow_json *own = NULL;
  furrow_json_text text;
  int64_t number = 0;
  memset(&err, 0, sizeof err);
  assert_int_equal(furrow_json_create(&own, NULL), FURROW_OK);
  furrow_json_start(own, NULL, 0, NULL);
  assert_int_equal(furrow_json_skip(own, NULL, &err), FURROW_E_FORMAT);
  assert_string_equal(err.file, "");
  furrow_json_start(own, "\"\\u00e4\\ud834\\udd1e\\ue000\"", 26, "a.json");
  assert_int_equal(furrow_json_string(own, &text, NULL), FURROW_OK);
  assert_int_equal(text.size, 9);
  assert_memory_equal(text.bytes, "\xc3\xa4\xf0\x9d\x84\x9e\xee\x80\x80", 9);
  furrow_json_start(own, "42", 2, "b.json");
  assert_int_equal(furrow_json_null(own, &err), FURROW_E_FORMAT);
  furrow_json_start(own, "42", 2, "b.json");
  assert_int_equal(furrow_json_i64(own, &number, NULL), FURROW_OK);
  assert_int_equal(number, 42);
  furrow_json_free(own);
  furrow_json_free(NULL);
}

static void depth(void **state) {
  (void)state;
  char text[201];
  memset(text, '[', 64);
  memset(text + 64, ']', 64);
  text[128] = 0;
  start(text);
  assert_int_equal(furrow_json_skip(&json, NULL, &err), FURROW_OK);
  fw_json_close(&json);
  memset(text, '[', 200);
  text[200] = 0;
  start(text);
  assert_int_equal(furrow_json_skip(&json, NULL, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, 64);
  assert_non_null(strstr(err.message, "nested too deep"));
  fw_json_close(&json);
}

static void long_paths_are_cut(void **state) {
  (void)state;
  static char text[4000];
  size_t n = 0;
  for (int i = 0; i < 20; i++) {
    n += (size_t)sprintf(text + n, "{\"");
    for (int k = 0; k < 50; k++) n += (size_t)sprintf(text + n, "\xc3\xa9");
    n += (size_t)sprintf(text + n, "\":");
  }
  start(text);
  assert_int_equal(furrow_json_skip(&json, NULL, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, n);
  assert_int_equal(strncmp(err.message, "the JSON ends too early in \xc3\xa9", 29), 0);
  fw_json_close(&json);
}

/* A slash in a key is not a step. */
static void paths_are_pointers(void **state) {
  (void)state;
  char path[64];
  furrow_json_text key;
  start("{\"a/b\":{\"c~d\":1}}");
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_path(&json, path, sizeof path), 9);
  assert_string_equal(path, "a~1b/c~0d");
  fw_json_close(&json);
}

static void failing_of_callers(void **state) {
  (void)state;
  furrow_json_text key;
  int64_t i;
  start("{\"parts\":[{\"rows\":-5}]}");
  json.base = 4;
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_array(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_i64(&json, &i, &err), FURROW_OK);
  assert_int_equal(furrow_json_fail(&json, furrow_json_offset(&json), NULL, &err, "is %s", "negative"),
                   FURROW_E_FORMAT);
  assert_string_equal(err.message, "parts/0/rows is negative");
  assert_string_equal(err.token, "-5");
  assert_int_equal(err.offset, 22);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_END);
  assert_int_equal(furrow_json_fail(&json, 15, "cols", &err, "is missing"), FURROW_E_FORMAT);
  assert_string_equal(err.message, "parts/0/cols is missing");
  assert_int_equal(furrow_json_fail(&json, 15, NULL, NULL, "is missing"), FURROW_E_FORMAT);
  fw_json_close(&json);
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_json_text key, text;
  start("{\"\\n\":\"\\n\"}");
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  alloc_fail_at(1);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_E_MEMORY);
  fw_json_close(&json);
  start("{\"\\n\":\"\\n\"}");
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  alloc_fail_at(2);
  assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
  assert_int_equal(furrow_json_string(&json, &text, &err), FURROW_E_MEMORY);
  alloc_fail_at(0);
  fw_json_close(&json);
}

/* ---- Arrays of floats ---- */

static void same_bits(float got, float wanted, const char *text) {
  if (memcmp(&got, &wanted, sizeof got) != 0) fail_msg("%s: %a, not %a", text, (double)got, (double)wanted);
}

/* Reads [text] and, with much text behind it, [text,0…]: the short way and the one for the end of a text. */
static void check_float(const char *text) {
  char array[512];
  float value = 77;
  const float wanted = strtof(text, NULL);
  for (int i = 0; i < 2; i++) {
    snprintf(array, sizeof array, "[%s%s", text, i == 0 ? "]" : ",0                                               ]");
    start(array);
    assert_int_equal(furrow_json_array(&json, &err), FURROW_OK);
    assert_int_equal(furrow_json_f32_elements(&json, &value, 1), isfinite(wanted) ? 1 : 0);
    if (!isfinite(wanted)) continue;
    same_bits(value, wanted, text);
    assert_int_equal(furrow_json_offset(&json), 1);
  }
}

static uint64_t draw(void) {
  static uint64_t state = 88172645463325252;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static void floats_are_the_nearest(void **state) {
  (void)state;
  static const char *const texts[] = {
      "0", "-0", "0.0", "-0.0", "1", "12345678", "123456789.25", "3.4028235e38", "3.40282356e38", "1e39", "-1e999",
      "1e-45", "7e-46", "1.17549435e-38", "0.1", "9.999999999999999999", "99999999.99999999999",
      "0.00000000000000000000000000000000000001", "0.3333333333333333333333333333333333333333333333333",
      /* the middle of two floats, and next to it: 1 + 2^-24 and 8388608.5 */
      "1.000000059604644775390625", "1.00000005960464478", "1.00000005960464477", "1.000000059604644776",
      "1.000000059604644775", "8388608.5", "8388609.5", "8388608.50000000001", "8388608.49999999999", "0.5e1", "1E+2"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) check_float(texts[i]);
  for (int i = 0; i < 20000; i++) {
    char text[80];
    uint32_t bits = (uint32_t)draw();
    float f;
    memcpy(&f, &bits, sizeof f);
    const double near = (double)(int64_t)draw() / 9.3e18 * (i % 7 == 0 ? 1e5 : 3);
    if (isfinite(f)) {
      /* the middle between a float and the next one, in many digits and in few */
      const double middle = ((double)(float)near + (double)nextafterf((float)near, 4e5f)) / 2;
      snprintf(text, sizeof text, "%.*f", 5 + i % 25, middle);
      check_float(text);
      snprintf(text, sizeof text, "%.*g", 1 + i % 20, (double)f);
      check_float(text);
    }
    snprintf(text, sizeof text, "%.*f", 1 + i % 24, near);
    check_float(text);
    snprintf(text, sizeof text, "%.*g", 1 + i % 19, near);
    check_float(text);
  }
}

static void floats_stop_at_what_is_unusual(void **state) {
  (void)state;
  float values[4] = {77, 77, 77, 77};
  double d;
  start("[\n1 ,\t-2.5\r,null, 3,4 , 5.000000000000000000000000000000000000000,6]");
  assert_int_equal(furrow_json_f32_elements(&json, values, 4), 0); /* not entered yet */
  assert_int_equal(furrow_json_array(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f32_elements(&json, values, 0), 0);
  assert_int_equal(furrow_json_f32_elements(&json, values, 4), 2);
  assert_true(values[0] == 1 && values[1] == -2.5F && values[3] == 77);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f32_elements(&json, values, 4), 0); /* an element is announced */
  assert_int_equal(furrow_json_null(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f32_elements(&json, values, 2), 2);
  assert_true(values[0] == 3 && values[1] == 4);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f64(&json, &d, &err), FURROW_OK);
  assert_true(d == 5);
  assert_int_equal(furrow_json_f32_elements(&json, values, 4), 1);
  assert_int_equal(furrow_json_fail(&json, 0, NULL, &err, "is bad"), FURROW_E_FORMAT);
  assert_string_equal(err.message, "6 is bad");
  assert_int_equal(furrow_json_f32_elements(&json, values, 4), 0);
  assert_int_equal(furrow_json_element(&json, &err), FURROW_END);
  assert_int_equal(furrow_json_end(&json, &err), FURROW_OK);
  start("{\"a\":1}");
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  assert_int_equal(furrow_json_f32_elements(&json, values, 4), 0);
}

/* What follows two numbers is not a number: errors are those of single values, with the path. */
static void floats_name_the_element(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {{"01", "not a JSON number in v/2"},      {"1.", "not a JSON number in v/2"},
             {"1.e5", "not a JSON number in v/2"},    {"1e", "not a JSON number in v/2"},
             {"1.5e", "not a JSON number in v/2"},    {"-", "not a JSON number in v/2"},
             {"-.5", "not a JSON number in v/2"},     {"1.5x", "not a JSON number in v/2"},
             {"00.5", "not a JSON number in v/2"},    {"-inf", "not a JSON number in v/2"},
             {"1.2.3", "not a JSON number in v/2"},   {"0x10", "not a JSON number in v/2"},
             {"+1", "not a JSON value in v/2"},       {".5", "not a JSON value in v/2"},
             {"inf", "not a JSON value in v/2"},      {"NaN", "not a JSON value in v/2"},
             {"", "not a JSON value in v/2"},         {"\"1\"", "v/2 is not a number"},
             {"[1.5]", "v/2 is not a number"},        {"true", "v/2 is not a number"},
             {"1.5 2", "a , or ] is missing in v/2"}, {"1.5}", "a , or ] is missing in v/2"},
             {"1.5\v", "not a JSON number in v/2"},   {"1.25:", "not a JSON number in v/2"}};
  for (size_t i = 0; i < 2 * (sizeof bad / sizeof bad[0]); i++) {
    char text[200];
    furrow_json_text key;
    float values[8];
    double d;
    snprintf(text, sizeof text, "{\"v\":[1.5, 2,%s%s]}", bad[i / 2].text,
             i % 2 ? ",                                                          3" : "");
    start(text);
    assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
    assert_int_equal(furrow_json_member(&json, &key, &err), FURROW_OK);
    assert_int_equal(furrow_json_array(&json, &err), FURROW_OK);
    assert_in_range(furrow_json_f32_elements(&json, values, 8), 2, 3);
    furrow_status status = furrow_json_element(&json, &err);
    if (status == FURROW_OK) status = furrow_json_f64(&json, &d, &err);
    assert_int_equal(status, FURROW_E_FORMAT);
    assert_string_equal(err.message, bad[i / 2].message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members),
      cmocka_unit_test(strings),
      cmocka_unit_test(integers),
      cmocka_unit_test(refusals),
      cmocka_unit_test(readers_are_used_again),
      cmocka_unit_test(depth),
      cmocka_unit_test(long_paths_are_cut),
      cmocka_unit_test(paths_are_pointers),
      cmocka_unit_test(failing_of_callers),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(floats_are_the_nearest),
      cmocka_unit_test(floats_stop_at_what_is_unusual),
      cmocka_unit_test(floats_name_the_element),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
