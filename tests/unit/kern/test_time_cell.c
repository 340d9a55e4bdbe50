/* tests/unit/kern/test_time_cell.c: times in cells, against the C library's calendar. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "kern/text/time_cell.h"
#include "support/cmocka_all.h"

static const struct {
  const char *text;
  fw_time_unit unit;
  double seconds;
} times[] = {
    {"0", FW_UNIT_SECONDS, 0},
    {"964982703", FW_UNIT_SECONDS, 964982703},
    {"1e3", FW_UNIT_SECONDS, 1000},
    {"-1.5", FW_UNIT_SECONDS, -1.5},
    {"1500", FW_UNIT_MILLIS, 1.5},
    {"1500000", FW_UNIT_MICROS, 1.5},
    {"1500000000", FW_UNIT_NANOS, 1.5},
    {"1970-01-01", FW_UNIT_TEXT, 0},
    {"1969-12-31", FW_UNIT_TEXT, -86400},
    {"2024-05-31 23:59:59.5+02:00", FW_UNIT_TEXT, 1717192799.5},
    {"2024-05-31T21:59:59.5Z", FW_UNIT_TEXT, 1717192799.5},
    {"2024-05-31t21:59:59,5", FW_UNIT_TEXT, 1717192799.5},
    {"2024-05-31 21:59:59 UTC", FW_UNIT_TEXT, 1717192799},
    {"2024-05-31 21:59", FW_UNIT_TEXT, 1717192740},
    {"2024-05-31 19:29-0230", FW_UNIT_TEXT, 1717192740},
    {"2024-05-31 20:59-01", FW_UNIT_TEXT, 1717192740},
    {"2000-02-29", FW_UNIT_TEXT, 951782400},
    {"1700000000.25", FW_UNIT_SECONDS, 1700000000.25},
    {"1700000000123.5", FW_UNIT_MILLIS, 1700000000.1235},
    {"2001/03/30 19:23", FW_UNIT_TEXT, 985980180},
    {"2001.3.30", FW_UNIT_TEXT, 985910400},
    {"2001-3-30 9:05", FW_UNIT_TEXT, 985943100},
    {"2001-Mar-30", FW_UNIT_TEXT, 985910400},
    {"Jun 12 1998", FW_UNIT_TEXT, 897609600},
    {"June 12, 1998", FW_UNIT_TEXT, 897609600},
    {"jun. 12, 1998 7:30 PM", FW_UNIT_TEXT, 897679800},
    {"Jun 12 1998 12:30AM", FW_UNIT_TEXT, 897611400},
    {"Jun 12 1998 12:30 pm", FW_UNIT_TEXT, 897654600},
    {"12 Jun 1998", FW_UNIT_TEXT, 897609600},
    {"12-JUN-98", FW_UNIT_TEXT, 897609600},
    {"12/Jun/2068", FW_UNIT_TEXT, 3106684800},
    {"3 Sept 2020", FW_UNIT_TEXT, 1599091200},
    {"Fri, 12 Jun 1998 01:00:00 +0100", FW_UNIT_TEXT, 897609600},
    {"Friday 12 June 1998, 02:00 CEST", FW_UNIT_TEXT, 897609600},
    {"1998-06-11 19:00 EST", FW_UNIT_TEXT, 897609600},
    {"18.2.2023", FW_UNIT_DAY_FIRST, 1676678400},
    {"18/02/23", FW_UNIT_DAY_FIRST, 1676678400},
    {"2023-02-18", FW_UNIT_DAY_FIRST, 1676678400},
    {"18 Feb 2023", FW_UNIT_MONTH_FIRST, 1676678400},
    {"2/18/2023", FW_UNIT_MONTH_FIRST, 1676678400},
    {"02-18-2023 1:00 am", FW_UNIT_MONTH_FIRST, 1676682000},
    {"1/2/2023", FW_UNIT_DAY_FIRST, 1675209600},
    {"1/2/2023", FW_UNIT_MONTH_FIRST, 1672617600},
};

static void times_of_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    double seconds = -7;
    if (!fw_time_parse(times[i].text, strlen(times[i].text), times[i].unit, &seconds) || seconds != times[i].seconds)
      fail_msg("%s is %f, not %f", times[i].text, seconds, times[i].seconds);
  }
}

static void texts_without_a_time(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "2024",
                                      "2024-05-32",
                                      "2024-13-01",
                                      "2023-02-29",
                                      "1900-02-29",
                                      "2024-05-31T",
                                      "2024-05-31 ",
                                      "2024-05-31x10:00",
                                      "2024-05-31 24:00",
                                      "2024-05-31 10:60",
                                      "2024-05-31 10:00:61",
                                      "2024-05-31 10:00:00.",
                                      "2024-05-31 10:00 XYZ",
                                      "2024-05-31 10:00+",
                                      "2024-05-31 10:00+2",
                                      "2024-05-31 10:00+02:",
                                      "2024-05-31 10:00+24:00",
                                      "2024-05-31 10:00Zx",
                                      "1/2/2023",
                                      "18.2.2023",
                                      "12 Jun 98",
                                      "Jun 12",
                                      "Jun 1998",
                                      "Jun 31 1998",
                                      "Juno 12 1998",
                                      "Jun12 1998",
                                      "12 Jun 1998 13:00 PM",
                                      "12 Jun 1998 0:00 AM",
                                      "12 Jun 1998 1:00 XM",
                                      "2024-05/31",
                                      "2024-05-31,",
                                      "Fri",
                                      "Fri, ",
                                      "yesterday"};
  static const char *const numbers[] = {"", "x", "1 ", " 1", "1x", "nan", "inf", "1e300", "2024-05-31"};
  double seconds = -7;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (fw_time_parse(texts[i], strlen(texts[i]), FW_UNIT_TEXT, &seconds)) fail_msg("'%s' is a time", texts[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (fw_time_parse(numbers[i], strlen(numbers[i]), FW_UNIT_SECONDS, &seconds)) fail_msg("'%s' is one", numbers[i]);
  static const char *const dates[] = {"1.2.3",    "1.2.123",  "31/4/2023", "13/13/2023",
                                      "0/1/2023", "1/2-2023", "1 2 2023"};
  for (size_t i = 0; i < sizeof dates / sizeof *dates; i++)
    for (fw_time_unit unit = FW_UNIT_DAY_FIRST; unit <= FW_UNIT_MONTH_FIRST; unit++)
      if (fw_time_parse(dates[i], strlen(dates[i]), unit, &seconds)) fail_msg("'%s' is a date", dates[i]);
  assert_true(seconds == -7);
}

/* Every prefix lies in memory of its own, so that reading beyond it is noticed. */
static void texts_that_are_cut(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    for (size_t n = 0; n <= strlen(times[i].text); n++) {
      char *copy = malloc(n ? n : 1);
      double seconds;
      assert_non_null(copy);
      memcpy(copy, times[i].text, n);
      (void)fw_time_parse(copy, n, times[i].unit, &seconds);
      free(copy);
    }
}

static void parts_of_times(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 7);
  for (int i = 0; i < 100000; i++) {
    const time_t when = (time_t)fw_rng_below(&rng, 8000000000u) - 2000000000;
    const double seconds = (double)when + fw_rng_double(&rng);
    struct tm tm;
    char text[40];
    double parsed = 0;
    assert_non_null(gmtime_r(&when, &tm));
    assert_int_equal(fw_time_part_of(seconds, FW_PART_HOUR), tm.tm_hour);
    assert_int_equal(fw_time_part_of(seconds, FW_PART_WEEKDAY), (tm.tm_wday + 6) % 7);
    assert_int_equal(fw_time_part_of(seconds, FW_PART_MONTHDAY), tm.tm_mday - 1);
    assert_int_equal(fw_time_part_of(seconds, FW_PART_MONTH), tm.tm_mon);
    const size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    assert_true(fw_time_parse(text, n, FW_UNIT_TEXT, &parsed) && parsed == (double)when);
  }
}

/* Years of two digits are reported. */
static void short_years(void **state) {
  (void)state;
  static const struct {
    const char *text;
    fw_time_unit unit;
    bool wanted;
  } dates[] = {
      {"31/05/24", FW_UNIT_DAY_FIRST, true},        {"31-May-24", FW_UNIT_TEXT, true},
      {"Fri, 31-May-24 10:00", FW_UNIT_TEXT, true}, {"31/05/2024", FW_UNIT_DAY_FIRST, false},
      {"31-May-2024", FW_UNIT_TEXT, false},         {"2024-05-31", FW_UNIT_TEXT, false},
      {"2024-05-31", FW_UNIT_MONTH_FIRST, false},   {"May 31, 2024", FW_UNIT_TEXT, false},
      {"5.31.24 23:59", FW_UNIT_MONTH_FIRST, true},
  };
  for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
    double seconds;
    bool found = !dates[i].wanted;
    if (!fw_time_parse_date(dates[i].text, strlen(dates[i].text), dates[i].unit, &seconds, &found) ||
        found != dates[i].wanted)
      fail_msg("%s", dates[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_of_texts), cmocka_unit_test(texts_without_a_time), cmocka_unit_test(texts_that_are_cut),
      cmocka_unit_test(parts_of_times), cmocka_unit_test(short_years),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
