/* tests/unit/base/test_number_in.c: numbers from text, against libc and against exact arithmetic. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/number_in.h"
#include "base/rng.h"

static uint32_t bits32(float x) {
  uint32_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

static uint64_t bits64(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

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

/* The whole text must be one number, equal to libc's to the bit, as a float and as a double. The copy on the heap ends
 * where the text does, so that a sanitizer sees a read beyond it. */
static void check_like_libc(const char *text) {
  size_t n = strlen(text);
  char *copy = malloc(n + (n == 0));
  memcpy(copy, text, n);
  float f = -1;
  double d = -1;
  const char *after_f = fw_read_f32(copy, copy + n, &f), *after_d = fw_read_f64(copy, copy + n, &d);
  bool whole = after_f == copy + n && after_d == copy + n;
  free(copy);
  if (!whole || bits32(f) != bits32(strtof(text, NULL)) || bits64(d) != bits64(strtod(text, NULL)))
    fail_msg("\"%.400s\" reads as %a, %a; libc says %a, %a%s", text, (double)f, d, (double)strtof(text, NULL),
             strtod(text, NULL), whole ? "" : "; not read to its end");
}

/* ---- grammar ---- */

static void test_grammar(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int length; /* of the number at its start, -1: none */
    double value;
  } cases[] = {
      {"", -1, 0},
      {"+", -1, 0},
      {"-", -1, 0},
      {".", -1, 0},
      {"-.", -1, 0},
      {"e5", -1, 0},
      {".e5", -1, 0},
      {" 1", -1, 0},
      {"+-1", -1, 0},
      {"--1", -1, 0},
      {"x", -1, 0},
      {"/", -1, 0},
      {":", -1, 0},
      {"\xb1", -1, 0},
      {"0", 1, 0},
      {"-0", 2, -0.0},
      {"+0", 2, 0},
      {"1", 1, 1},
      {"1.", 2, 1},
      {"1.e5", 4, 1e5},
      {".5", 2, .5},
      {".5e-3", 5, .5e-3},
      {"-.5", 3, -.5},
      {"1e", 1, 1},
      {"1e+", 1, 1},
      {"1e-", 1, 1},
      {"1ex", 1, 1},
      {"1e+x", 1, 1},
      {"1.e", 2, 1},
      {"1.5e", 3, 1.5},
      {"1.5E+2", 6, 150},
      {"1.5e-2", 6, 0.015},
      {"1e5.5", 3, 1e5},
      {"1e5e5", 3, 1e5},
      {"1.2.3", 3, 1.2},
      {"1,5", 1, 1},
      {"1:2", 1, 1},
      {"12 34", 2, 12},
      {"0x10", 1, 0},
      {"1_000", 1, 1},
      {"1f", 1, 1},
      {"00012", 5, 12},
      {"12345678\xb1", 8, 12345678},
      {"1.2345678/", 9, 1.2345678},
      {"1.2345678:", 9, 1.2345678},
      {"0e-50", 5, 0},
      {"-0e99999999999999999999", 23, -0.0},
      {"0.000e400", 9, 0},
      {"1e400", 5, INFINITY},
      {"-1e400", 6, -INFINITY},
      {"1e-400", 6, 0},
      {"-1e-400", 7, -0.0},
      {"1e99999999999999999999999", 25, INFINITY},
      {"1e-99999999999999999999999", 26, 0},
      {"inf", 3, INFINITY},
      {"-inf", 4, -INFINITY},
      {"+Inf", 4, INFINITY},
      {"INFINITY", 8, INFINITY},
      {"-infinity", 9, -INFINITY},
      {"iNfInItY!", 8, INFINITY},
      {"infin", 3, INFINITY},
      {"infinit", 3, INFINITY},
      {"infinityx", 8, INFINITY},
      {"in", -1, 0},
      {"na", -1, 0},
      {"i", -1, 0},
      {"-n", -1, 0},
      {"INF1", 3, INFINITY},
      {"\x09nf", -1, 0}, /* 'i' without the bit of its case */
      {"nan", 3, NAN},
      {"NaN", 3, NAN},
      {"-nan", 4, NAN},
      {"nan()", 5, NAN},
      {"nan(a_1Z)x", 9, NAN},
      {"nan(", 3, NAN},
      {"nan(abc", 3, NAN},
      {"nan(a-b)", 3, NAN},
      {"nan)", 3, NAN},
      {"nan(\x11)", 3, NAN},
      {"nanx", 3, NAN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *s = cases[i].text, *end = s + strlen(s);
    float f = 77;
    double d = 77;
    const char *after_f = fw_read_f32(s, end, &f), *after_d = fw_read_f64(s, end, &d);
    if (cases[i].length < 0) {
      if (after_f != NULL || after_d != NULL || f != 77 || d != 77) fail_msg("\"%s\" is read as a number", s);
      continue;
    }
    const char *after = s + cases[i].length;
    if (after_f != after || after_d != after) fail_msg("\"%s\": ends at %td, %td", s, after_f - s, after_d - s);
    if (isnan(cases[i].value)) {
      if (!isnan(f) || !isnan(d) || !signbit(f) != (*s != '-')) fail_msg("\"%s\" is not NaN", s);
    } else if (bits64(d) != bits64(cases[i].value) || bits32(f) != bits32((float)cases[i].value)) {
      fail_msg("\"%s\" reads as %a, %a", s, (double)f, d);
    }
  }
}

/* What stands behind `end` must not count, wherever it falls. */
static void test_every_end(void **state) {
  (void)state;
  static const char *const texts[] = {"-12345678901234567890.12345678901234567890e-12",
                                      "0.00000000000000000000000123456e+20",
                                      "infinity",
                                      "nan(abc)",
                                      "123456789:1",
                                      "+00000000000000000000000001.5"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (size_t n = 0; n <= strlen(texts[i]); n++) {
      char cut[64];
      memcpy(cut, texts[i], n);
      cut[n] = 0;
      char *libc_end;
      double want = strtod(cut, &libc_end), got = 0;
      const char *after = fw_read_f64(texts[i], texts[i] + n, &got);
      assert_int_equal(after == NULL ? 0 : after - texts[i], libc_end - cut);
      if (after != NULL && !isnan(want)) assert_int_equal(bits64(got), bits64(want));
    }
  }
}

/* Texts that end where the readable memory does. */
static void test_page_end(void **state) {
  (void)state;
  static const char *const texts[] = {"1",         "-1.5",       "123456789012345678901234567890",
                                      "0.1234567", "0.12345678", "0.123456789012345678",
                                      "1e5",       "1e",         "1e+",
                                      "1.",        "+",          "-",
                                      ".",         "i",          "in",
                                      "inf",       "infinit",    "infinity",
                                      "n",         "nan",        "nan(",
                                      "nan(a",     "nan(a)",     "4294967296"};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
  char *end = memory + page;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t n = strlen(texts[i]);
    char *s = end - n;
    memcpy(s, texts[i], n);
    float f;
    double d;
    uint32_t u32;
    uint64_t u64;
    int32_t i32;
    int64_t i64;
    bool overflow;
    char *libc_end;
    strtod(texts[i], &libc_end);
    ptrdiff_t length = libc_end - texts[i];
    const char *after = length > 0 ? s + length : NULL;
    assert_ptr_equal(fw_read_f32(s, end, &f), after);
    assert_ptr_equal(fw_read_f64(s, end, &d), after);
    fw_read_u32(s, end, &u32, &overflow);
    fw_read_u64(s, end, &u64, &overflow);
    fw_read_i32(s, end, &i32, &overflow);
    fw_read_i64(s, end, &i64, &overflow);
    assert_null(fw_read_f64(end, end, &d));
    assert_null(fw_read_u64(end, end, &u64, &overflow));
    assert_null(fw_read_i64(end, end, &i64, &overflow));
  }
  munmap(memory, 2 * page);
}

/* ---- values ---- */

static void test_hard_texts(void **state) {
  (void)state;
  static const char *const texts[] = {
      /* ends of the ranges */
      "1.7976931348623157e308",
      "1.7976931348623158e308",
      "1.7976931348623159e308",
      "1.797693134862315807e308",
      "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963302864166"
      "92"
      "8879109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669596228"
      "42"
      "914819860834936475292719074168444365510704342711559699508093042880e0",
      "3.4028234e38",
      "3.4028235e38",
      "3.4028235677973366e38",
      "3.4028235677973367e38",
      "3.40282357e38",
      "3.5e38",
      "4.9406564584124654e-324",
      "2.4703282292062327e-324",
      "2.4703282292062328e-324",
      "2.47e-324",
      "2.2250738585072011e-308",
      "2.2250738585072012e-308",
      "2.2250738585072014e-308",
      "2.225073858507201136057409796709131975934819546351645648e-308",
      "1.4012984643e-45",
      "7.0064923216240853e-46",
      "7.0064923216240854e-46",
      "7.006492321624086e-46",
      "1.1754943508e-38",
      "1.17549435e-38",
      "1.1754942e-38",
      "1.1754943e-38",
      /* middles, and what misses them by little */
      "9007199254740993",
      "9007199254740992.999999999999999999999",
      "9007199254740993.00000000000000000000000000001",
      "9007199254740991.5",
      "4503599627370496.5",
      "4503599627370497.5",
      "16777217",
      "16777219",
      "8388608.5",
      "8388609.5",
      "16777216.999999999999999999999999999",
      "16777217.000000000000000000000000001",
      "33554434",
      "33554438",
      "1.00000005960464477539062",
      "1.000000059604644775390625",
      "1.0000000596046447753906250000000000000000000000000001",
      "1.00000000000000011102230246251565404236316680908203125",
      "1.00000000000000011102230246251565404236316680908203124",
      "1.00000000000000011102230246251565404236316680908203126",
      "0.500000000000000166533453693773481063544750213623046875",
      /* known to have broken readers */
      "6.9294956446009195e15",
      "3.7455744005952583e15",
      "2.2222222222222222222222e-322",
      "8.5e-324",
      "5e-324",
      "1e23",
      "8.41e21",
      "9.109e-31",
      "1.09e-28",
      "7.2057594037927933e16",
      "89255e-22",
      "104308485241983990666713401708072175773165034278682682111762032e-63",
      "-2240084132271013504.131248280843119943687942846658579428",
      "1448997445238699",
      "-1.0e-0324",
      "0.0000000000000000000000000000000000000117549435082228750796873653722224567781866555677208752",
      "219.74656e-20",
      "1e-324",
      "2e-324",
      "3e-324",
      "1e308",
      "1e309",
      "17.976931348623158079372897140530341507993413271003782e307",
      /* 19 and 20 digits, and the point among them */
      "9999999999999999999",
      "18446744073709551615",
      "18446744073709551616",
      "99999999999999999999",
      "1.8446744073709551615e19",
      "123456789.01234567891234567",
      ".1234567890123456789",
      ".12345678901234567891",
      "12345678901234567890",
      "1234567890123456789e1",
      "0000000000000000000000000000001",
      "0.00000000000000000000000000000000001234567890123456789",
      "100000000000000000000000000000000000000",
      "1.0000000000000000000000000000000000000",
      "0.0000000000000000000000000000000000000",
      "1234567890123456789.0000000000000000000000000001",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_like_libc(texts[i]);
}

static void test_exponents(void **state) {
  (void)state;
  static const char *const digits[] = {"1", "9",          "9999999999999999999", "1.5", "17976931348623157", "0.00001",
                                       "5", "7.038531e3", "18446744073709551615"};
  for (size_t i = 0; i < sizeof digits / sizeof *digits; i++)
    for (int q = -400; q <= 400; q++) {
      char text[64];
      if (strchr(digits[i], 'e')) continue;
      snprintf(text, sizeof text, "%se%d", digits[i], q);
      check_like_libc(text);
    }
}

/* Random bits with 1 to 25 digits. */
static void test_random_bits(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 1);
  char text[64];
  for (int i = 0; i < 400000; i++) {
    double d = double_of(fw_rng_next(&rng));
    if (!isnan(d)) {
      snprintf(text, sizeof text, "%.*g", 1 + i % 25, d);
      check_like_libc(text);
    }
    float f = float_of((uint32_t)fw_rng_next(&rng));
    if (!isnan(f)) {
      snprintf(text, sizeof text, "%.*g", 1 + i % 25, (double)f);
      check_like_libc(text);
    }
  }
}

/* Numbers as they stand in data: few digits, with and without a point. */
static void test_random_plain(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 2);
  char text[64];
  for (int i = 0; i < 500000; i++) {
    double unit = fw_rng_double(&rng) * 2 - 1;
    snprintf(text, sizeof text, "%.*f", i % 21, unit * (double)(1 << (i % 31)));
    check_like_libc(text);
  }
}

/* Digits at random, the point anywhere, any exponent. */
static void test_random_texts(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (int i = 0; i < 800000; i++) {
    char text[96], *p = text;
    int n = 1 + (int)fw_rng_below(&rng, i % 16 == 0 ? 60 : 22), point = (int)fw_rng_below(&rng, (uint64_t)n + 8);
    if (fw_rng_below(&rng, 3) == 0) *p++ = fw_rng_below(&rng, 2) ? '-' : '+';
    uint64_t zeros = fw_rng_below(&rng, 4); /* runs of zeros and nines are hard */
    for (int k = 0; k < n; k++) {
      if (k == point) *p++ = '.';
      uint64_t digit = fw_rng_below(&rng, 10);
      *p++ = zeros == 0 && k % 7 ? '0' : zeros == 1 && k % 9 ? '9' : (char)('0' + digit);
    }
    if (fw_rng_below(&rng, 2)) p += sprintf(p, "e%d", (int)fw_rng_below(&rng, i % 2 ? 90 : 700) - (i % 2 ? 55 : 360));
    *p = 0;
    check_like_libc(text);
  }
}

/* ---- exact middles ---- */

/* significand * 2^exponent as digits and a power of ten, all of them. */
typedef struct exact_decimal {
  char digits[1200];
  int power;
} exact_decimal;

static exact_decimal exact_text(uint64_t significand, int exponent) {
  enum { BASE = 1000000000, WORDS = 130 };
  uint64_t word[WORDS] = {significand % BASE, significand / BASE % BASE, significand / BASE / BASE};
  uint64_t factor = exponent < 0 ? 5 : 2;
  for (int i = 0; i < abs(exponent); i++) {
    uint64_t carry = 0;
    for (int k = 0; k < WORDS; k++) {
      carry += word[k] * factor;
      word[k] = carry % BASE;
      carry /= BASE;
    }
    assert_int_equal(carry, 0);
  }
  exact_decimal d = {.power = exponent < 0 ? exponent : 0};
  int top = WORDS - 1, n;
  while (top > 0 && word[top] == 0) top--;
  n = sprintf(d.digits, "%llu", (unsigned long long)word[top]);
  while (top-- > 0) n += sprintf(d.digits + n, "%09llu", (unsigned long long)word[top]);
  return d;
}

static void check_reads(const char *digits, const char *tail, int power, bool wide, uint64_t want) {
  char text[1400];
  snprintf(text, sizeof text, "%s%se%d", digits, tail, power - (int)strlen(tail));
  float f = 0;
  double d = 0;
  const char *end = text + strlen(text);
  const char *after = wide ? fw_read_f64(text, end, &d) : fw_read_f32(text, end, &f);
  assert_ptr_equal(after, end);
  if ((wide ? bits64(d) : bits32(f)) != want) fail_msg("%s reads as %a", text, wide ? d : (double)f);
}

/* The middle between two neighbours goes to the even one, a little less to the lower, a little more to the upper. */
static void check_middle(uint64_t bits, bool wide) {
  int p = wide ? 53 : 24, least = wide ? -1074 : -149;
  uint64_t hidden = UINT64_C(1) << (p - 1), fraction = bits & (hidden - 1);
  int biased = (int)(bits >> (p - 1));
  uint64_t significand = biased > 0 ? hidden | fraction : fraction;
  exact_decimal middle = exact_text(2 * significand + 1, least - 1 + (biased > 0 ? biased - 1 : 0));
  check_reads(middle.digits, "", middle.power, wide, bits + (bits & 1));
  check_reads(middle.digits, "000", middle.power, wide, bits + (bits & 1));
  check_reads(middle.digits, "000000000000000000001", middle.power, wide, bits + 1);
  char *last = middle.digits + strlen(middle.digits) - 1;
  while (*last == '0') *last-- = '9';
  --*last;
  check_reads(middle.digits, "99999999", middle.power, wide, bits);
}

static void test_middles(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  for (int i = 0; i < 2000; i++) {
    check_middle(fw_rng_below(&rng, UINT64_C(0x7ff) << 52), true);
    check_middle((UINT64_C(983) << 52) + fw_rng_below(&rng, UINT64_C(160) << 52), true);
    check_middle(fw_rng_below(&rng, UINT64_C(1) << (1 + i % 60)) % (UINT64_C(0x7ff) << 52), true);
  }
  for (int i = 0; i < 20000; i++) {
    check_middle(fw_rng_below(&rng, 0x7f800000), false);
    check_middle(fw_rng_below(&rng, UINT64_C(1) << (1 + i % 30)), false);
  }
  check_middle((UINT64_C(0x7ff) << 52) - 1, true); /* to infinity */
  check_middle(0x7f800000 - 1, false);
  check_middle(0, true); /* to 0 */
  check_middle(0, false);
}

/* ---- many digits ---- */

static void check_long(const char *before, char fill, size_t count, const char *after, double want) {
  size_t a = strlen(before), b = strlen(after);
  char *text = malloc(a + count + b);
  memcpy(text, before, a);
  memset(text + a, fill, count);
  memcpy(text + a + count, after, b);
  double d = -1;
  float f = -1;
  assert_ptr_equal(fw_read_f64(text, text + a + count + b, &d), text + a + count + b);
  assert_ptr_equal(fw_read_f32(text, text + a + count + b, &f), text + a + count + b);
  free(text);
  if (bits64(d) != bits64(want) || bits32(f) != bits32((float)want))
    fail_msg("%s…%s: %a, not %a", before, after, d, want);
}

static void test_millions_of_digits(void **state) {
  (void)state;
  check_long("0.", '0', 5000000, "15e5000001", 1.5);
  check_long("15", '0', 5000000, "e-5000001", 1.5);
  check_long("-15", '0', 5000000, ".000e-5000001", -1.5);
  check_long("0.", '9', 5000000, "", 1);
  check_long("", '0', 5000000, "2.25", 2.25);
  check_long("3.", '3', 5000000, "e-1", 1 / 3.0);
  check_long("", '7', 5000000, "", INFINITY);
  check_long("0.", '0', 5000000, "7", 0);
  check_long("1e", '0', 5000000, "2", 100);
  check_long("1e-", '9', 5000000, "", 0);
  check_long("9007199254740993.", '0', 5000000, "1e-15", 9.007199254740993);
  check_long("9007199254740993.", '0', 5000000, "e0", 9007199254740992);
  check_long("9007199254740993.", '0', 5000000, "1", 9007199254740994);
}

/* ---- integers ---- */

static void check_integer(const char *text) {
  const char *end = text + strlen(text);
  const char *digits = text + strspn(text, "+-"), *after = digits + strspn(digits, "0123456789");
  bool minus = *text == '-', number = digits - text <= 1 && after > digits;
  errno = 0;
  unsigned long long u = strtoull(digits, NULL, 10);
  bool u_fits = errno == 0;
  errno = 0;
  long long i = strtoll(text, NULL, 10);
  bool i_fits = errno == 0;

  uint32_t u32 = 7;
  uint64_t u64 = 7;
  int32_t i32 = 7;
  int64_t i64 = 7;
  bool over = false;
  const char *unsigned_after = number && !minus ? after : NULL, *signed_after = number ? after : NULL;
  assert_ptr_equal(fw_read_u64(text, end, &u64, &over), unsigned_after);
  if (unsigned_after) assert_int_equal(over, !u_fits);
  assert_int_equal(u64, unsigned_after && u_fits ? u : 7);
  assert_ptr_equal(fw_read_u32(text, end, &u32, &over), unsigned_after);
  if (unsigned_after) assert_int_equal(over, !u_fits || u > UINT32_MAX);
  assert_int_equal(u32, unsigned_after && u_fits && u <= UINT32_MAX ? u : 7);
  assert_ptr_equal(fw_read_i64(text, end, &i64, &over), signed_after);
  if (signed_after) assert_int_equal(over, !i_fits);
  assert_true(i64 == (signed_after && i_fits ? i : 7));
  assert_ptr_equal(fw_read_i32(text, end, &i32, &over), signed_after);
  bool i32_fits = i_fits && i >= INT32_MIN && i <= INT32_MAX;
  if (signed_after) assert_int_equal(over, !i32_fits);
  assert_true(i32 == (signed_after && i32_fits ? i : 7));
}

static void test_integers(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "+",
                                      "-",
                                      "+-1",
                                      "-+1",
                                      "x",
                                      " 1",
                                      "0",
                                      "-0",
                                      "+0",
                                      "7",
                                      "12x",
                                      "1.5",
                                      "007",
                                      "00000000000000000000000000000042",
                                      "2147483647",
                                      "2147483648",
                                      "-2147483648",
                                      "-2147483649",
                                      "4294967295",
                                      "4294967296",
                                      "+4294967295",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "-9223372036854775808",
                                      "-9223372036854775809",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "18446744073709551620",
                                      "99999999999999999999",
                                      "184467440737095516150",
                                      "100000000000000000000000000000000000000",
                                      "-99999999999999999999999999",
                                      "+18446744073709551615",
                                      "000000000000000000018446744073709551615",
                                      "1234567:1"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_integer(texts[i]);
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (int i = 0; i < 300000; i++) {
    char text[40];
    uint64_t v = fw_rng_next(&rng) >> fw_rng_below(&rng, 64);
    snprintf(text, sizeof text, "%s%llu%s",
             i % 3 == 0   ? "-"
             : i % 3 == 1 ? "+"
                          : "",
             (unsigned long long)v,
             i % 5 == 0   ? "0"
             : i % 5 == 1 ? ":"
                          : "");
    check_integer(text);
  }
}

/* All of what fw_read_short takes is what fw_read_f64 reads; it takes all that is digits, and a point where it is
 * short. */
static void check_short(const char *text, size_t n) {
  char padded[8 + 32];
  memset(padded, '7', 8); /* what is before the text must not matter */
  memcpy(padded + 8, text, n);
  const char *s = padded + 8, *end = s + n;
  double shortly = 0, value = 0;
  size_t digits = 0, points = 0;
  for (size_t i = 0; i < n; i++) {
    digits += text[i] >= '0' && text[i] <= '9';
    points += text[i] == '.';
  }
  const bool plain = digits > 0 && digits + points == n;
  const bool taken = plain && (points == 0 ? n <= 15 : points == 1 && n <= 8);
  assert_int_equal(fw_read_short(s, end, &shortly), taken);
  if (!taken) return;
  assert_ptr_equal(fw_read_f64(s, end, &value), end);
  assert_memory_equal(&shortly, &value, sizeof value);
}

static void test_short(void **state) {
  (void)state;
  static const char letters[] = "0123456789.0123456789.0123456789-+e \0\x80\xff/:";
  static const char *const texts[] = {"",
                                      ".",
                                      "..",
                                      "5.",
                                      ".5",
                                      "1.2.3",
                                      "0.1",
                                      "12345678",
                                      "123456789",
                                      "1234567.",
                                      "999999999999999",
                                      "1000000000000000",
                                      "-1",
                                      "1e5",
                                      "nan",
                                      "0000000.1"};
  fw_rng rng;
  fw_rng_init(&rng, 9);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_short(texts[i], strlen(texts[i]));
  for (int i = 0; i < 300000; i++) {
    char text[20];
    const size_t n = fw_rng_below(&rng, sizeof text);
    const uint32_t kinds = i % 3 == 0 ? 10 : i % 3 == 1 ? 32 : sizeof letters - 1; /* digits; and points; and others */
    for (size_t k = 0; k < n; k++) text[k] = letters[fw_rng_below(&rng, kinds)];
    check_short(text, n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grammar),      cmocka_unit_test(test_every_end),
      cmocka_unit_test(test_page_end),     cmocka_unit_test(test_hard_texts),
      cmocka_unit_test(test_exponents),    cmocka_unit_test(test_random_bits),
      cmocka_unit_test(test_random_plain), cmocka_unit_test(test_random_texts),
      cmocka_unit_test(test_middles),      cmocka_unit_test(test_millions_of_digits),
      cmocka_unit_test(test_integers),     cmocka_unit_test(test_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
