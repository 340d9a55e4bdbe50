/* tests/unit/base/test_json_out.c: JSON as json4s prints it. */
#include <math.h>
#include <string.h>

#include "base/json_out.h"
#include "furrow/json.h"
#include "support/cmocka_all.h"

static void expect(fw_buffer *out, const char *text) {
  furrow_error err;
  assert_int_equal(fw_buffer_status(out, &err), FURROW_OK);
  assert_int_equal(out->size, strlen(text));
  assert_memory_equal(out->bytes, text, out->size);
  fw_buffer_clear(out);
}

static void values_of_all_kinds(void **state) {
  (void)state;
  fw_buffer out = {0};
  fw_json_out json = {.out = &out};
  fw_json_out_open(&json);
  fw_json_out_member(&json, "text", "a \"b\"\n");
  fw_json_out_member(&json, "none", NULL);
  fw_json_out_key(&json, "least");
  fw_json_out_integer(&json, INT64_MIN);
  fw_json_out_key(&json, "most");
  fw_json_out_unsigned(&json, UINT64_MAX);
  fw_json_out_key(&json, "small");
  fw_json_out_real(&json, 1e-4);
  fw_json_out_key(&json, "nan");
  fw_json_out_real(&json, NAN);
  fw_json_out_key(&json, "yes");
  fw_json_out_bool(&json, true);
  fw_json_out_close(&json);
  expect(&out, "{\n  \"text\" : \"a \\\"b\\\"\\n\",\n  \"none\" : null,\n  \"least\" : -9223372036854775808,\n"
               "  \"most\" : 18446744073709551615,\n  \"small\" : 1.0E-4,\n  \"nan\" : null,\n  \"yes\" : true\n}");
}

static void objects_nest(void **state) {
  (void)state;
  fw_buffer out = {0};
  fw_json_out json = {.out = &out};
  fw_json_out_open(&json);
  fw_json_out_key(&json, "numbers");
  fw_json_out_open_array(&json);
  for (int i = 1; i < 4; i++) {
    fw_json_out_element(&json);
    fw_json_out_integer(&json, i);
  }
  fw_json_out_close_array(&json);
  fw_json_out_key(&json, "objects");
  fw_json_out_open_array(&json);
  fw_json_out_element(&json);
  fw_json_out_open(&json);
  fw_json_out_member(&json, "a", "b");
  fw_json_out_close(&json);
  fw_json_out_close_array(&json);
  fw_json_out_key(&json, "empty");
  fw_json_out_open(&json);
  fw_json_out_close(&json);
  fw_json_out_close(&json);
  expect(&out, "{\n  \"numbers\" : [ 1, 2, 3 ],\n  \"objects\" : [ {\n    \"a\" : \"b\"\n  } ],\n  \"empty\" : { }\n}");
}

/* The text of a number of a program that writes JSON itself. */
static void expect_f64(double value, const char *wanted) {
  char text[FURROW_JSON_NUMBER_TEXT + 1] = "";
  text[furrow_json_write_f64(text, value)] = 0;
  assert_string_equal(text, wanted);
}

static void numbers_have_the_fewest_digits(void **state) {
  (void)state;
  char text[FURROW_JSON_NUMBER_TEXT + 1] = "";
  expect_f64(0.1, "0.1");
  expect_f64(0.95, "0.95");
  expect_f64(-2, "-2");
  expect_f64(1.0 / 3, "0.3333333333333333");
  expect_f64(1e300, "1e+300");
  expect_f64(NAN, "null");
  expect_f64(-INFINITY, "null");
  text[furrow_json_write_f32(text, 0.1f)] = 0;
  assert_string_equal(text, "0.1");
  text[furrow_json_write_f32(text, INFINITY)] = 0;
  assert_string_equal(text, "null");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_of_all_kinds), cmocka_unit_test(objects_nest),
                                     cmocka_unit_test(numbers_have_the_fewest_digits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
