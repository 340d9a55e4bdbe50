/* tests/unit/base/test_number_out.c: numbers to text, against printf and read back. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number_in.h"
#include "base/number_out.h"
#include "base/rng.h"

static float float_of(uint32_t b) {
  float x;
  memcpy(&x, &b, sizeof x);
  return x;
}

static double double_of(uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}

/* ---- texts that are known ---- */

static void expect_text(const char *what, const char *got, size_t n, const char *want) {
  if (n != strlen(want) || memcmp(got, want, n) != 0) fail_msg("%s: \"%.*s\", not \"%s\"", what, (int)n, got, want);
}

static void test_layout_f64(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {
      {0, "0"},
      {-0.0, "-0"},
      {1, "1"},
      {-1, "-1"},
      {10, "10"},
      {100000, "100000"},
      {0.5, "0.5"},
      {-0.25, "-0.25"},
      {1.5, "1.5"},
      {0.1, "0.1"},
      {0.3, "0.3"},
      {1 / 3.0, "0.3333333333333333"},
      {2 / 3.0, "0.6666666666666666"},
      {3.141592653589793, "3.141592653589793"},
      {12345678.9, "12345678.9"},
      {123456789.125, "123456789.125"},
      {1234567890123456.5, "1234567890123456.5"},
      {4503599627370495.5, "4503599627370495.5"},
      {0.00001, "0.00001"},
      {0.000012345678901234567, "0.000012345678901234568"},
      {-0.000012345678901234567, "-0.000012345678901234568"},
      {0.0000099999, "9.9999e-06"},
      {1e-7, "1e-07"},
      {1.5e-7, "1.5e-07"},
      {1e15, "1000000000000000"},
      {9999999999999998, "9999999999999998"},
      {1e16, "1e+16"},
      {12345678901234567890.0, "1.2345678901234567e+19"},
      {1e20, "1e+20"},
      {1e22, "1e+22"},
      {1e23, "1e+23"},
      {2e23, "2e+23"},
      {9007199254740993.0, "9007199254740992"},
      {1e100, "1e+100"},
      {-1.25e-100, "-1.25e-100"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {2.225073858507201e-308, "2.225073858507201e-308"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {-1.7976931348623157e308, "-1.7976931348623157e+308"},
      {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: the 16 digits nearest to it do not read back */
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"},
      {-NAN, "nan"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[FW_NUMBER_TEXT];
    expect_text(cases[i].text, text, fw_write_f64(text, cases[i].value), cases[i].text);
  }
}

static void test_layout_f32(void **state) {
  (void)state;
  static const struct {
    float value;
    const char *text;
  } cases[] = {
      {0, "0"},
      {-0.0f, "-0"},
      {1, "1"},
      {0.1f, "0.1"},
      {0.3f, "0.3"},
      {-0.027027f, "-0.027027"},
      {1 / 3.0f, "0.33333334"},
      {16777216, "16777216"},
      {16777220, "16777220"},
      {123456789.0f, "123456790"},
      {1e10f, "10000000000"},
      {3e15f, "3000000000000000"},
      {1e16f, "1e+16"},
      {1.23456789e17f, "1.2345679e+17"},
      {0.00001f, "0.00001"},
      {9.99e-6f, "9.99e-06"},
      {1e-10f, "1e-10"},
      {1.4e-45f, "1e-45"},
      {1.1754944e-38f, "1.1754944e-38"},
      {3.4028235e38f, "3.4028235e+38"},
      {9.671407e24f, "9.671407e+24"}, /* 2^83 */
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"},
      {-NAN, "nan"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[FW_NUMBER_TEXT];
    expect_text(cases[i].text, text, fw_write_f32(text, cases[i].value), cases[i].text);
  }
}

/* ---- what may be written: FW_NUMBER_TEXT bytes, not one more ---- */

typedef struct guarded {
  char text[FW_NUMBER_TEXT];
  char guard[16];
} guarded;

static void guard(guarded *g) {
  memset(g, '#', sizeof *g);
}

static void expect_guard(const guarded *g, const char *what) {
  for (size_t i = 0; i < sizeof g->guard; i++)
    if (g->guard[i] != '#') fail_msg("%s: written beyond its end", what);
}

/* ---- %.9g, %.17g ---- */

static void check_g17(double x) {
  guarded g;
  char want[64];
  guard(&g);
  size_t n = fw_write_f64_g17(g.text, x);
  snprintf(want, sizeof want, "%.17g", x);
  expect_text("%.17g", g.text, n, isnan(x) ? "nan" : want);
  expect_guard(&g, want);
}

static void check_g9(float x) {
  guarded g;
  char want[64];
  guard(&g);
  size_t n = fw_write_f32_g9(g.text, x);
  snprintf(want, sizeof want, "%.9g", (double)x);
  expect_text("%.9g", g.text, n, isnan(x) ? "nan" : want);
  expect_guard(&g, want);
}

/* ---- shortest ---- */

/* The digits of a number's text, without zeros at either end, and how many they are. */
static int digits_of(const char *text, size_t n, char *digits) {
  int count = 0;
  for (size_t i = 0; i < n && text[i] != 'e'; i++)
    if (text[i] >= '0' && text[i] <= '9' && (count > 0 || text[i] != '0')) digits[count++] = text[i];
  while (count > 0 && digits[count - 1] == '0') count--;
  digits[count] = 0;
  return count;
}

/* Are these digits what printf gives for so many, and would one less not read back? Above a power of two the nearest
 * decimal may fail and one further up read back: there fewer digits than printf's are right too. */
static void expect_shortest(const char *text, size_t n, double x, bool wide, bool power_of_two) {
  char digits[64], want[64], want_digits[64];
  int count = digits_of(text, n, digits);
  snprintf(want, sizeof want, "%.*e", count - 1, x);
  digits_of(want, strlen(want), want_digits);
  if (strcmp(digits, want_digits) != 0 && !power_of_two) fail_msg("%.*s is not the nearest: %s", (int)n, text, want);
  if (count == 1) return;
  snprintf(want, sizeof want, "%.*e", count - 2, x);
  bool back = wide ? strtod(want, NULL) == x : strtof(want, NULL) == (float)x;
  if (back) fail_msg("%.*s is not the shortest: %s", (int)n, text, want);
}

static void check_shortest64(double x) {
  guarded g;
  guard(&g);
  size_t n = fw_write_f64(g.text, x);
  expect_guard(&g, "f64");
  if (isnan(x) || isinf(x) || x == 0) return;
  double back = 0;
  int exponent;
  if (fw_read_f64(g.text, g.text + n, &back) != g.text + n || memcmp(&back, &x, sizeof x) != 0)
    fail_msg("%a: %.*s does not read back", x, (int)n, g.text);
  expect_shortest(g.text, n, x, true, fabs(frexp(x, &exponent)) == 0.5);
}

static void check_shortest32(float x) {
  guarded g;
  guard(&g);
  size_t n = fw_write_f32(g.text, x);
  expect_guard(&g, "f32");
  if (isnan(x) || isinf(x) || x == 0) return;
  float back = 0;
  int exponent;
  if (fw_read_f32(g.text, g.text + n, &back) != g.text + n || memcmp(&back, &x, sizeof x) != 0)
    fail_msg("%a: %.*s does not read back", (double)x, (int)n, g.text);
  expect_shortest(g.text, n, (double)x, false, fabs(frexp((double)x, &exponent)) == 0.5);
}

/* ---- all of that for many numbers ---- */

static void check64(double x) {
  check_g17(x);
  check_shortest64(x);
}

static void check32(float x) {
  check_g9(x);
  check_shortest32(x);
}

static void test_random_bits(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (int i = 0; i < 400000; i++) {
    check64(double_of(fw_rng_next(&rng)));
    check32(float_of((uint32_t)fw_rng_next(&rng)));
  }
}

/* Every power of two, with both neighbours: where the distances change. */
static void test_powers_of_two(void **state) {
  (void)state;
  for (int e = -1074; e <= 1023; e++) {
    double x = ldexp(1, e);
    check64(x);
    check64(nextafter(x, 0));
    check64(nextafter(x, INFINITY));
  }
  check64(ldexp(8887055249355788, 664)); /* 128 bits of 5^-199 come within 2^-64 of calling its product exact */
  for (int e = -149; e <= 127; e++) {
    float x = ldexpf(1, e);
    check32(x);
    check32(nextafterf(x, 0));
    check32(nextafterf(x, INFINITY));
  }
}

static void test_powers_of_ten(void **state) {
  (void)state;
  for (int q = -330; q <= 310; q++) {
    char text[16];
    snprintf(text, sizeof text, "1e%d", q);
    double x = strtod(text, NULL);
    float f = strtof(text, NULL);
    for (int i = 0; i < 3; i++, x = nextafter(x, 0), f = nextafterf(f, 0)) {
      check64(x);
      check32(f);
      check64(x * 5);
      check64(-x * 9.5);
      check32(f * 2.5f);
    }
  }
}

/* Few digits, integers, dyadic fractions (ties for a fixed count of digits), small multiples of the least number. */
static void test_plain_numbers(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 2);
  for (int i = 0; i < 200000; i++) {
    uint64_t r = fw_rng_next(&rng);
    check64((double)(r >> 44) / 1000);
    check64((double)(r >> 40) * 1e-9);
    check64((double)(r >> (i % 64)));
    check64(ldexp((double)(r >> 11), -(int)(i % 80)));
    check32((float)(r >> 50) / 100);
    check32((float)(r >> 40) / (float)(1 << (i % 30)));
    check32((float)(r >> (i % 64)));
    check32(float_of((uint32_t)i));
  }
}

/* ---- integers ---- */

static void check_integers(uint64_t v) {
  guarded g;
  char want[32];
  guard(&g);
  snprintf(want, sizeof want, "%" PRIu64, v);
  expect_text("u64", g.text, fw_write_u64(g.text, v), want);
  expect_guard(&g, want);
  guard(&g);
  snprintf(want, sizeof want, "%" PRId64, (int64_t)v);
  expect_text("i64", g.text, fw_write_i64(g.text, (int64_t)v), want);
  expect_guard(&g, want);
}

static void test_integers(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (int i = 0; i < 500000; i++) check_integers(fw_rng_next(&rng) >> (i % 64));
  for (uint64_t v = 0; v < 20000; v++) check_integers(v);
  uint64_t ten = 1;
  for (int i = 0; i < 20; i++, ten *= 10) {
    check_integers(ten - 1);
    check_integers(ten);
    check_integers(ten + 1);
    check_integers(0 - ten);
  }
  check_integers(UINT64_MAX);
  check_integers((uint64_t)INT64_MIN);
  check_integers(INT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layout_f64),    cmocka_unit_test(test_layout_f32),    cmocka_unit_test(test_random_bits),
      cmocka_unit_test(test_powers_of_two), cmocka_unit_test(test_powers_of_ten), cmocka_unit_test(test_plain_numbers),
      cmocka_unit_test(test_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
