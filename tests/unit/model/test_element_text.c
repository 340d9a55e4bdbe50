/* tests/unit/model/test_element_text.c: elements as text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "furrow/model.h"

static void expect(furrow_elements a, furrow_element_type type, size_t i, const char *text) {
  char out[FURROW_ELEMENT_TEXT + 1];
  memset(out, '#', sizeof out);
  size_t length = furrow_element_to_text(a, type, i, out);
  assert_int_equal(length, strlen(text));
  assert_memory_equal(out, text, length);
  assert_int_equal(out[FURROW_ELEMENT_TEXT], '#');
}

static void test_floats(void **state) {
  static const float values[] = {0.1F, -0.0F, 1e10F, NAN, -NAN, INFINITY, -INFINITY};
  static const char *const texts[] = {"0.100000001", "-0", "1e+10", "NaN", "NaN", "Infinity", "-Infinity"};
  (void)state;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    expect((furrow_elements){.f32 = values}, FURROW_ELEMENT_F32, i, texts[i]);
}

static void test_doubles(void **state) {
  static const double values[] = {0.1, -5e-324, 16, NAN, INFINITY, -INFINITY, -1.7976931348623157e308};
  static const char *const texts[] = {"0.10000000000000001", "-4.9406564584124654e-324", "16", "NaN", "Infinity",
                                      "-Infinity",           "-1.7976931348623157e+308"};
  (void)state;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    expect((furrow_elements){.f64 = values}, FURROW_ELEMENT_F64, i, texts[i]);
}

static void test_integers(void **state) {
  static const int64_t longs[] = {INT64_MIN, INT64_MAX, 0};
  static const int32_t ints[] = {INT32_MIN, INT32_MAX, -1};
  static const char *const long_texts[] = {"-9223372036854775808", "9223372036854775807", "0"};
  static const char *const int_texts[] = {"-2147483648", "2147483647", "-1"};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    expect((furrow_elements){.i64 = longs}, FURROW_ELEMENT_I64, i, long_texts[i]);
    expect((furrow_elements){.i32 = ints}, FURROW_ELEMENT_I32, i, int_texts[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_floats), cmocka_unit_test(test_doubles),
                                     cmocka_unit_test(test_integers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
