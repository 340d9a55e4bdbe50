/* tests/unit/base/test_java_number.c: numbers as Java prints them. The vectors here are what OpenJDK 17 prints. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/java_number.h"
#include "base/number_in.h"
#include "base/rng.h"
#include "support/golden_set.h"

typedef struct vector {
  uint64_t bits;
  const char *text;
} vector;

static const vector floats[] = {
    {0x00000000, "0.0"},           {0x80000000, "-0.0"},          {0x3f800000, "1.0"},
    {0xbf800000, "-1.0"},          {0x3dcccccd, "0.1"},           {0x3f000000, "0.5"},
    {0x40490fd0, "3.14159"},       {0x42c80000, "100.0"},         {0x47f1205a, "123456.7"},
    {0x4b18967f, "9999999.0"},     {0x4b189680, "1.0E7"},         {0xcb189680, "-1.0E7"},
    {0x4b189681, "1.0000001E7"},   {0x4b800000, "1.6777216E7"},   {0x4c000000, "3.3554432E7"},
    {0x501502f9, "1.0E10"},        {0x5bdb4da6, "1.23456791E17"}, {0x5f000000, "9.223372E18"},
    {0x3a83126f, "0.001"},         {0x3a83126e, "9.999999E-4"},   {0x3a8315ca, "0.0010001"},
    {0x38d1b717, "1.0E-4"},        {0x3727c5ac, "1.0E-5"},        {0x00800000, "1.17549435E-38"},
    {0x007fffff, "1.1754942E-38"}, {0x00000001, "1.4E-45"},       {0x00000003, "4.2E-45"},
    {0x7f7fffff, "3.4028235E38"},  {0x69000000, "9.6714065E24"},  {0x6c800000, "1.23794004E27"},
    {0x29800000, "5.684342E-14"},  {0x63e3f419, "8.41E21"},       {0x66296816, "2.0E23"},
    {0x3e99999a, "0.3"},           {0x3f333333, "0.7"},           {0x3f8ccccd, "1.1"},
    {0x3f2aaaab, "0.6666667"},     {0x0e327c36, "2.2E-30"},       {0x47544710, "54343.062"},
    {0x4a484df9, "3281790.2"},     {0x25a16108, "2.79948E-16"},   {0x25dff3e0, "3.884959E-16"},
    {0x3cf5c28f, "0.03"},          {0x3cd3d1c4, "0.02585686"},    {0x3b03126f, "0.002"},
    {0x3d24c906, "0.040230773"},   {0x3d023e19, "0.031797502"},   {0x3dabfec2, "0.083982006"},
    {0x3dc36a2a, "0.095417336"},   {0x00000010, "2.24E-44"},      {0x00000080, "1.794E-43"},
    {0x7f800000, "Infinity"},      {0xff800000, "-Infinity"},     {0x7fc00000, "NaN"},
    {0xffc00001, "NaN"},
};

static const vector doubles[] = {
    {UINT64_C(0x0000000000000000), "0.0"},
    {UINT64_C(0x8000000000000000), "-0.0"},
    {UINT64_C(0x3ff0000000000000), "1.0"},
    {UINT64_C(0xbff0000000000000), "-1.0"},
    {UINT64_C(0x3fb999999999999a), "0.1"},
    {UINT64_C(0x3fe0000000000000), "0.5"},
    {UINT64_C(0x400921fb54442d18), "3.141592653589793"},
    {UINT64_C(0x4059000000000000), "100.0"},
    {UINT64_C(0x4132d68720000000), "1234567.125"},
    {UINT64_C(0x416312cfffffffff), "9999999.999999998"},
    {UINT64_C(0x416312d000000000), "1.0E7"},
    {UINT64_C(0xc16312d000000000), "-1.0E7"},
    {UINT64_C(0x3f50624dd2f1a9fc), "0.001"},
    {UINT64_C(0x3f50624dd2f1a9fb), "9.999999999999998E-4"},
    {UINT64_C(0x3f1a36e2eb1c432d), "1.0E-4"},
    {UINT64_C(0x3ee4f8b588e368f1), "1.0E-5"},
    {UINT64_C(0x44c52d02c7e14af6), "1.9999999999999998E23"},
    {UINT64_C(0x44b52d02c7e14af6), "9.999999999999999E22"},
    {UINT64_C(0x4480f0cf064dd592), "1.0E22"},
    {UINT64_C(0x447c7e83209e90b2), "8.409999999999999E21"},
    {UINT64_C(0x3f60624dd2f1a9fc), "0.002"},
    {UINT64_C(0x4340000000000000), "9.007199254740992E15"},
    {UINT64_C(0x4340000000000001), "9.007199254740994E15"},
    {UINT64_C(0x43dfffffffffffff), "9.2233720368547748E18"},
    {UINT64_C(0x43e0000000000000), "9.223372036854776E18"},
    {UINT64_C(0x4376345785d8a000), "1.0E17"},
    {UINT64_C(0x437b69b4ba630f35), "1.2345678901234568E17"},
    {UINT64_C(0x7e37e43c8800759c), "1.0E300"},
    {UINT64_C(0x0000000000000001), "4.9E-324"},
    {UINT64_C(0x0000000000000002), "1.0E-323"},
    {UINT64_C(0x0010000000000000), "2.2250738585072014E-308"},
    {UINT64_C(0x000fffffffffffff), "2.225073858507201E-308"},
    {UINT64_C(0x7fefffffffffffff), "1.7976931348623157E308"},
    {UINT64_C(0x3d30000000000000), "5.6843418860808015E-14"},
    {UINT64_C(0x3fd5555555555555), "0.3333333333333333"},
    {UINT64_C(0x3fe5555555555555), "0.6666666666666666"},
    {UINT64_C(0x3ff199999999999a), "1.1"},
    {UINT64_C(0x3f0a36e2eb1c432d), "5.0E-5"},
    {UINT64_C(0x4341c37937e08000), "1.0E16"},
    {UINT64_C(0x3e9d313e3b79fe9f), "4.35E-7"},
    {UINT64_C(0x42378b2786051400), "1.0111887104507812E11"},
    {UINT64_C(0x427117f307b0aa80), "1.1746599554666562E12"},
    {UINT64_C(0x3f41e20000000000), "5.457401275634766E-4"},
    {UINT64_C(0x3f5af872fa9aac00), "0.001646148952583415"},
    {UINT64_C(0x453e3980bc800000), "3.6539324244060355E25"},
    {UINT64_C(0x453deed5e9e89800), "3.6186718003123652E25"},
    {UINT64_C(0x454faf6f159b8834), "7.6610327376271454E25"},
    {UINT64_C(0x3f6cba3000000000), "0.0035067498683929443"},
    {UINT64_C(0x3f678f5e00000000), "0.0028759799897670746"},
    {UINT64_C(0x3f646c0370320000), "0.0024929110673497235"},
    {UINT64_C(0x3e60000000000000), "2.9802322387695312E-8"},
    {UINT64_C(0x7ff) << 52, "Infinity"},
    {UINT64_C(0xfff) << 52, "-Infinity"},
    {UINT64_C(0xfff8) << 48, "NaN"},
};

static const vector decimals[] = {
    {UINT64_C(0x0000000000000000), "0"},
    {UINT64_C(0x8000000000000000), "-0"},
    {UINT64_C(0x3ff0000000000000), "1"},
    {UINT64_C(0xbff0000000000000), "-1"},
    {UINT64_C(0x3fe0000000000000), "0.5"},
    {UINT64_C(0x3fb999999999999a), "0.1"},
    {UINT64_C(0x4132d68720000000), "1234567.125"},
    {UINT64_C(0x416312d000000000), "10000000"},
    {UINT64_C(0x430c6bf526340000), "1000000000000000"},
    {UINT64_C(0x437b69b4ba630f35), "123456789012345680"},
    {UINT64_C(0x4480f0cf064dd592), "10000000000000000000000"},
    {UINT64_C(0x44c52d02c7e14af6), "199999999999999980000000"},
    {UINT64_C(0x3ea0c6f7a0b5ed8d), "0"},
    {UINT64_C(0x3eb92a737110e454), "0.000002"},
    {UINT64_C(0x3ec4f8b588e368f1), "0.000003"},
    {UINT64_C(0x3ea0c6f7a0b5ed2f), "0"},
    {UINT64_C(0xbe112e0be826d695), "-0"},
    {UINT64_C(0x01a56e1fc2f8f359), "0"},
    {UINT64_C(0x3fbf9ad85dfa871a), "0.123456"},
    {UINT64_C(0x3fbf9ae924f227d0), "0.123457"},
    {UINT64_C(0x3f50000000000000), "0.000977"},
    {UINT64_C(0x3f40000000000000), "0.000488"},
    {UINT64_C(0x3ff000008637bd06), "1.000001"},
    {UINT64_C(0x3feffffef39085f5), "1"},
    {UINT64_C(0x3feffffef382c785), "0.999999"},
    {UINT64_C(0x4023fffff29406b3), "10"},
    {UINT64_C(0x412e847ffffffca5), "1000000"},
    {UINT64_C(0x3fd5555555555555), "0.333333"},
    {UINT64_C(0xbfe5555555555555), "-0.666667"},
    {UINT64_C(0x4130000000000863), "1048576"},
    {UINT64_C(0x40080000c9539b89), "3.000002"},
    {UINT64_C(0x3fd0000000000000), "0.25"},
    {UINT64_C(0x3eb0c6f7a0b5ed8d), "0.000001"},
    {UINT64_C(0x3f90000000000000), "0.015625"},
    {UINT64_C(0x3f80000000000000), "0.007812"},
    {UINT64_C(0x3f70000000000000), "0.003906"},
    {UINT64_C(0x42378b2786051400), "101118871045.07812"},
    {UINT64_C(0x427117f307b0aa80), "1174659955466.6562"},
    {UINT64_C(0x41ed3b72c2e41860), "3923482135.127975"},
    {UINT64_C(0x41d8f0f3aa9e4800), "1673776810.473145"},
    {UINT64_C(0x423b470a740dc670), "117155984397.77515"},
    {UINT64_C(0x43f0000000000000), "18446744073709552000"},
    {UINT64_C(0x7fefffffffffffff),
     "17976931348623157000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000000000000000000000000000000"},
    {UINT64_C(0x7ff) << 52, "\x1e"},
    {UINT64_C(0xfff) << 52, "-\x1e"},
    {UINT64_C(0xfff8) << 48, "NaN"},
};

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The writers under one type; `bits` is the argument. */
typedef size_t writer(char *out, uint64_t bits);

static size_t write_float(char *out, uint64_t bits) {
  return fw_java_float(out, float_of((uint32_t)bits));
}
static size_t write_double(char *out, uint64_t bits) {
  return fw_java_double(out, double_of(bits));
}
static size_t write_float_stepwise(char *out, uint64_t bits) {
  return fw_java_float_stepwise(out, float_of((uint32_t)bits));
}
static size_t write_double_stepwise(char *out, uint64_t bits) {
  return fw_java_double_stepwise(out, double_of(bits));
}
static size_t write_decimal6(char *out, uint64_t bits) {
  return fw_java_decimal6(out, double_of(bits));
}

static void check(writer *write, uint64_t bits, const char *want) {
  char text[FW_JAVA_DECIMAL6_TEXT + 1];
  size_t n = write(text, bits);
  text[n] = 0;
  if (strcmp(text, want) != 0) fail_msg("%" PRIx64 ": %s, not %s", bits, text, want);
}

#define CHECK_ALL(write, vectors) \
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) check(write, vectors[i].bits, vectors[i].text)

static void test_float(void **state) {
  (void)state;
  CHECK_ALL(write_float, floats);
  CHECK_ALL(write_float_stepwise, floats);
}

static void test_double(void **state) {
  (void)state;
  CHECK_ALL(write_double, doubles);
  CHECK_ALL(write_double_stepwise, doubles);
}

static void test_decimal6(void **state) {
  (void)state;
  CHECK_ALL(write_decimal6, decimals);
}

/* Whatever the digits, they read back to the same float. */
static void test_read_back(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (int i = 0; i < 300000; i++) {
    char text[FW_JAVA_TEXT];
    uint32_t narrow = (uint32_t)fw_rng_below(&rng, 0x7f800000);
    uint64_t wide = fw_rng_below(&rng, UINT64_C(0x7ff) << 52);
    float f = 0;
    double d = 0;
    size_t n = fw_java_float(text, float_of(narrow));
    assert_ptr_equal(fw_read_f32(text, text + n, &f), text + n);
    assert_memory_equal(&f, &narrow, sizeof f);
    n = fw_java_double(text, double_of(wide));
    assert_ptr_equal(fw_read_f64(text, text + n, &d), text + n);
    assert_memory_equal(&d, &wide, sizeof d);
  }
}

/* Below 1e9, six decimals are the exact value rounded half even, as printf does it. */
static void expect_exact_decimal6(double x) {
  if (x >= 1e9) return;
  char want[64];
  int n = snprintf(want, sizeof want, "%.6f", x);
  while (want[n - 1] == '0') n--;
  if (want[n - 1] == '.') n--;
  want[n] = 0;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  check(write_decimal6, bits, want);
}

static void test_decimal6_is_half_even(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 2);
  for (int i = 0; i < 200000; i++) {
    double unit = fw_rng_double(&rng);
    expect_exact_decimal6(ldexp(unit, i % 58 - 28));
    /* seven decimals that end in 5: near the middle or on it */
    double middle = (double)(2 * fw_rng_below(&rng, UINT64_C(1) << (1 + i % 44)) + 1);
    expect_exact_decimal6(middle * 5e-7);
    expect_exact_decimal6(middle / 128);
  }
}

static void check_file(const char *name, writer *write) {
  char path[TEST_PATH], line[1024], from[80];
  snprintf(from, sizeof from, "angel/java_number_text/%s", name);
  FILE *file = fopen(golden_path(path, from), "r");
  assert_non_null(file);
  long count = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    char *text;
    uint64_t bits = strtoull(line, &text, 16);
    assert_int_equal(*text, '\t');
    text[strcspn(text, "\n")] = 0;
    check(write, bits, text + 1);
    count++;
  }
  fclose(file);
  assert_true(count > 400);
}

static void check_quick(writer *quick, writer *stepwise, uint64_t bits) {
  char text[FW_JAVA_TEXT + 1];
  const size_t n = stepwise(text, bits);
  text[n] = 0;
  check(quick, bits, text);
}

/* Fractions of all lengths, with all exponents: below 2^p, where there is a quick way, and above. */
static void test_quick_is_stepwise(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 17);
  for (size_t i = 0; i < 400000; i++) {
    const uint64_t kept = ~UINT64_C(0) << fw_rng_below(&rng, 52);
    const uint64_t fraction = fw_rng_next(&rng) >> 12;
    const uint64_t sign = fw_rng_below(&rng, 2);
    check_quick(write_float, write_float_stepwise,
                sign << 31 | fw_rng_below(&rng, 255) << 23 | ((fraction & kept) >> 29));
    check_quick(write_double, write_double_stepwise,
                sign << 63 | (1023 - 60 + fw_rng_below(&rng, 130)) << 52 | (fraction & kept));
    if (i % 16 == 0)
      check_quick(write_double, write_double_stepwise, fw_rng_below(&rng, 2047) << 52 | (fraction & kept));
  }
}

/* C reads the same hexadecimal numbers. The texts are doubles, and what is a float of one is left to the compiler: not
 * every C library rounds the smallest ones as it should. */
static void test_hexadecimal(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 18);
  for (size_t i = 0; i < 200000; i++) {
    char text[128];
    const uint64_t whole = (fw_rng_next(&rng) >> 36) >> fw_rng_below(&rng, 28);
    const uint64_t behind = (fw_rng_next(&rng) >> 40) >> fw_rng_below(&rng, 24);
    const int power = fw_rng_below(&rng, 2) ? (int)fw_rng_below(&rng, 400) - 200 : (int)fw_rng_below(&rng, 2000) - 950;
    const int n = snprintf(text, sizeof text, "0x%" PRIx64 ".%06" PRIx64 "p%d", whole, behind, power);
    const double d = strtod(text, NULL);
    const float f = d > (double)FLT_MAX * (1 + 0x1p-25) ? INFINITY : (float)d;
    float narrow = -1;
    double wide = -1;
    if (!fw_java_read_float(text, text + n, &narrow) || memcmp(&f, &narrow, sizeof f) != 0)
      fail_msg("%s: %a, not %a", text, (double)narrow, (double)f);
    if (!fw_java_read_double(text, text + n, &wide) || memcmp(&d, &wide, sizeof d) != 0)
      fail_msg("%s: %a, not %a", text, wide, d);
  }
}

/* Texts at the edges of what Java reads: the number, or NAN for what it refuses. */
static void test_read_edges(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double wide;
    float narrow;
  } cases[] = {
      {"0x1p4", 16, 16},
      {"0X1.8P+1", 3, 3},
      {" \t-0x1p-1f \n", -0.5, -0.5f},
      {"0x123456789abcdef0123p0", 0x1.23456789abcdfp72, 0x1.234568p72f}, /* more digits than 64 bits */
      {"0x1000000000000000001p0", 0x1p72, 0x1p72f},                      /* bits behind those that count */
      {"0x1.00000100000000000000001p0", 0x1.000001p0, 0x1.000002p0f},    /* more than half */
      {"0x1.00000000000008000001p0", 0x1.0000000000001p0, 1},            /* the same for a double */
      {"0x1p-4000", 0, 0},
      {"0x1p4000", INFINITY, INFINITY},
      {"0x1p99999999999999999999", INFINITY, INFINITY},
      {"0x1p-99999999999999999999", 0, 0},
      {"0x1", NAN, NAN},
      {"0x", NAN, NAN},
      {"0x.p1", NAN, NAN},
      {"0x1p", NAN, NAN},
      {"0x1p+", NAN, NAN},
      {"0x1p-", NAN, NAN},
      {"0x1px", NAN, NAN},
      {"0x1p:", NAN, NAN},
      {"0x1.8q1", NAN, NAN},
      {"0x1p1ff", NAN, NAN},
      {"0x1p1g", NAN, NAN},
      {"0y1p1", NAN, NAN},
      {"1.5f", 1.5, 1.5f},
      {"1.5D", 1.5, 1.5f},
      {"1.5g", NAN, NAN},
      {"1.5ff", NAN, NAN},
      {"+.5", 0.5, 0.5f},
      {"Infinity", INFINITY, INFINITY},
      {"-Infinity", -INFINITY, -INFINITY},
      {"Infinitx", NAN, NAN},
      {"infinity", NAN, NAN},
      {"", NAN, NAN},
      {" ", NAN, NAN},
      {"-", NAN, NAN},
      {"+ 1", NAN, NAN},
      {".", NAN, NAN},
      {":5", NAN, NAN},
      {"/5", NAN, NAN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *text = cases[i].text, *end = text + strlen(text);
    double wide = 77;
    float narrow = 77;
    const bool reads = !isnan(cases[i].wide);
    if (fw_java_read_double(text, end, &wide) != reads || fw_java_read_float(text, end, &narrow) != reads)
      fail_msg("\"%s\" %s", text, reads ? "is refused" : "is read");
    if (wide != (reads ? cases[i].wide : 77) || narrow != (reads ? cases[i].narrow : 77))
      fail_msg("\"%s\": %a, %a", text, wide, (double)narrow);
  }
}

static void test_golden_float(void **state) {
  (void)state;
  check_file("float_tostring.tsv", write_float);
}

static void test_golden_double(void **state) {
  (void)state;
  check_file("double_tostring.tsv", write_double);
}

static void test_golden_decimal6(void **state) {
  (void)state;
  check_file("double_decimalformat6.tsv", write_decimal6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float),
      cmocka_unit_test(test_double),
      cmocka_unit_test(test_decimal6),
      cmocka_unit_test(test_read_back),
      cmocka_unit_test(test_decimal6_is_half_even),
      cmocka_unit_test(test_quick_is_stepwise),
      cmocka_unit_test(test_hexadecimal),
      cmocka_unit_test(test_read_edges),
      GOLDEN_TEST(test_golden_float),
      GOLDEN_TEST(test_golden_double),
      GOLDEN_TEST(test_golden_decimal6),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
