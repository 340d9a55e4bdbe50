/* tests/unit/rows/test_number_cell.c: numbers in cells, as people write them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "rows/table/number_cell.h"
#include "support/cmocka_all.h"

static const struct {
  const char *text;
  fw_number_format format;
  double number;
} numbers[] = {
    {"22,690.00", {'.', ""}, 22690},
    {"1,234,567", {'.', ""}, 1234567},
    {"12,34,567.5", {'.', ""}, 1234567.5},
    {"999", {'.', ""}, 999},
    {"22690.5", {'.', ""}, 22690.5},
    {"0.123", {'.', ""}, 0.123},
    {".5", {'.', ""}, 0.5},
    {"1e3", {'.', ""}, 1000},
    {"-1,5E-2", {',', ""}, -0.015},
    {"$10.79", {'.', "$"}, 10.79},
    {"$ 1,299.00", {'.', "$"}, 1299},
    {"-$5", {'.', "$"}, -5},
    {"$-5", {'.', "$"}, -5},
    {"- 5", {'.', "$"}, -5},
    {"($5.25)", {'.', "$"}, -5.25},
    {"$(5.25)", {'.', "$"}, -5.25},
    {"$(5.25 )", {'.', "$"}, -5.25},
    {"( 1,250 )", {'.', ""}, -1250},
    {"+5", {'.', ""}, 5},
    {"\xe2\x88\x92"
     "5",
     {'.', ""},
     -5},
    {"59.6%", {'.', "%"}, 59.6},
    {"59.6 %", {'.', "%"}, 59.6},
    {"59.6", {'.', "%"}, 59.6},
    {"12 sq ft", {'.', "sq ft"}, 12},
    {"5e", {'.', "e"}, 5},
    {"5m2", {'.', "m2"}, 5},
    {"USD 7", {'.', "USD"}, 7},
    {"7 USD", {'.', "USD"}, 7},
    {"152,53", {',', ""}, 152.53},
    {",5", {',', ""}, 0.5},
    {"1.234,5", {',', ""}, 1234.5},
    {"1.234", {',', ""}, 1234},
    {"1,234", {',', ""}, 1.234},
    {"1 234,5", {',', ""}, 1234.5},
    {"1\xc2\xa0"
     "234\xc2\xa0"
     "567",
     {',', ""},
     1234567},
    {"1\xe2\x80\xaf"
     "234,5\xc2\xa0\xe2\x82\xac",
     {',', "\xe2\x82\xac"},
     1234.5},
    {"1'234.5", {'.', ""}, 1234.5},
    {"1\xe2\x80\x99"
     "234.5",
     {'.', ""},
     1234.5},
    {" 7 ", {'.', ""}, 7},
    {"55.43-", {'.', ""}, -55.43},
    {"1.055,43-", {',', ""}, -1055.43},
    {"55.43- EUR", {'.', "EUR"}, -55.43},
    {"inf", {'.', ""}, INFINITY},
    {"-Infinity", {',', ""}, -INFINITY},
};

static void numbers_of_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    double number = -77;
    const char *text = numbers[i].text;
    if (!fw_number_parse(text, strlen(text), &numbers[i].format, &number) || number != numbers[i].number)
      fail_msg("%s is %.17g, not %.17g", text, number, numbers[i].number);
  }
}

static void texts_without_a_number(void **state) {
  (void)state;
  static const struct {
    const char *text;
    fw_number_format format;
  } texts[] = {
      {"", {'.', ""}},
      {" ", {'.', ""}},
      {"x", {'.', ""}},
      {"()", {'.', ""}},
      {"(-5)", {'.', ""}},
      {"--5", {'.', ""}},
      {"-(5)", {'.', ""}},
      {"-$-5", {'.', "$"}},
      {"(5", {'.', ""}},
      {"5)", {'.', ""}},
      {"1,23", {'.', ""}},
      {"1,2345", {'.', ""}},
      {"1,,234", {'.', ""}},
      {"1234,567", {'.', ""}},
      {"0,123", {'.', ""}},
      {"1,234 567", {'.', ""}},
      {"1.5,234", {'.', ""}},
      {"1.2.3", {'.', ""}},
      {"1.5", {',', ""}},
      {"1,2,3", {',', ""}},
      {"$5", {'.', ""}},
      {"5 kg", {'.', "lb"}},
      {"$5 USD", {'.', "$"}},
      {"5kg7", {'.', "kg"}},
      {"12:30", {'.', ""}},
      {"2024-05-31", {'.', ""}},
      {"18.2.2023", {'.', ""}},
      {"1 2", {'.', ""}},
      {"12,34,56", {'.', ""}},
      {"infx", {'.', ""}},
      {"5.", {'.', ""}},
      {"-5-", {'.', ""}},
      {"(5-)", {'.', ""}},
      {"5-10", {'.', ""}},
      {"5-inch", {'.', "inch"}},
      {"1e", {'.', ""}},
      {"1111111111222222222233333333334444444444555555555566666666667777777777", {'.', ""}},
  };
  double number = -7;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (fw_number_parse(texts[i].text, strlen(texts[i].text), &texts[i].format, &number))
      fail_msg("'%s' is %g", texts[i].text, number);
}

/* Every text, and every prefix of it, lies in memory of its own, so that reading beyond it is noticed. */
static void texts_that_are_cut(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (size_t n = 0; n <= strlen(numbers[i].text); n++) {
      char *copy = malloc(n ? n : 1);
      double number;
      fw_number_parts parts;
      assert_non_null(copy);
      memcpy(copy, numbers[i].text, n);
      (void)fw_number_parse(copy, n, &numbers[i].format, &number);
      if (fw_number_split(copy, n, &parts)) {
        (void)fw_number_may_be_list(&parts);
        (void)fw_number_unit_is_likely(&parts);
      }
      free(copy);
    }
}

static void numbers_that_are_printed(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 7);
  for (int i = 0; i < 20000; i++) {
    char text[64], plain[64];
    const int thousands = (int)fw_rng_below(&rng, 1000), ones = (int)fw_rng_below(&rng, 1000);
    const int cents = (int)fw_rng_below(&rng, 100);
    double number = 0;
    snprintf(plain, sizeof plain, "%d%03d.%02d", thousands, ones, cents);
    if (thousands > 0)
      snprintf(text, sizeof text, "$%d,%03d.%02d", thousands, ones, cents);
    else
      snprintf(text, sizeof text, "$%d.%02d", ones, cents);
    assert_true(fw_number_parse(text, strlen(text), &(fw_number_format){'.', "$"}, &number));
    assert_true(number == strtod(plain, NULL));
  }
}

static void likely_units(void **state) {
  (void)state;
  static const char *const likely[] = {"$5",
                                       "US$5",
                                       "EUR 5",
                                       "5 kg",
                                       "5%",
                                       "5 km/h",
                                       "5",
                                       "\xc2\xa3"
                                       "5",
                                       "Rs. 5",
                                       "\xe2\x82\xac 5"};
  static const char *const unlikely[] = {"Room 5", "#5", "user5", "5-x", "5/6", "~5", "v5", "5_x"};
  fw_number_parts parts;
  for (size_t i = 0; i < sizeof likely / sizeof *likely; i++)
    if (!fw_number_split(likely[i], strlen(likely[i]), &parts) || !fw_number_unit_is_likely(&parts))
      fail_msg("%s", likely[i]);
  for (size_t i = 0; i < sizeof unlikely / sizeof *unlikely; i++)
    if (fw_number_split(unlikely[i], strlen(unlikely[i]), &parts) && fw_number_unit_is_likely(&parts))
      fail_msg("%s", unlikely[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_texts),   cmocka_unit_test(texts_without_a_number),
      cmocka_unit_test(texts_that_are_cut), cmocka_unit_test(numbers_that_are_printed),
      cmocka_unit_test(likely_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
