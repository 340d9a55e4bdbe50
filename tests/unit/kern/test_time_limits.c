/* tests/unit/kern/test_time_limits.c: times at the edge of what is taken, and texts that only look like times. */
#include <string.h>

#include "kern/text/time_cell.h"
#include "support/cmocka_all.h"

static void texts(void **state) {
  (void)state;
  static const char *const taken[] = {"2024-01-01",          "2024-12-31",          "2024-01-01 23:59",
                                      "2024-01-01 23:59:60", "2024-01-01 00:00+23", "2024-01-01 00:00-23:59"};
  static const char *const refused[] = {"",
                                        "2024",
                                        "2024-",
                                        "2024x01-01",
                                        "2024-01x01",
                                        "20x4-01-01",
                                        "2:24-01-01",
                                        "2024-x1-01",
                                        "2024-0:-01",
                                        "2024-01-x1",
                                        "2024-00-01",
                                        "2024-13-01",
                                        "2024-01-00",
                                        "2024-01-32",
                                        "2024-01-01x",
                                        "2024-01-01 ",
                                        "2024-01-01 x0:00",
                                        "2024-01-01 00x00",
                                        "2024-01-01 00:x0",
                                        "2024-01-01 00:0",
                                        "2024-01-01 00:00:",
                                        "2024-01-01 00:00:x0",
                                        "2024-01-01 24:00",
                                        "2024-01-01 00:60",
                                        "2024-01-01 00:00:61",
                                        "2024-01-01 00:00:00.",
                                        "2024-01-01 00:00 x02",
                                        "2024-01-01 00:00x02",
                                        "2024-01-01 00:00+",
                                        "2024-01-01 00:00+x2",
                                        "2024-01-01 00:00+24",
                                        "2024-01-01 00:00+02:",
                                        "2024-01-01 00:00+02:x0",
                                        "2024-01-01 00:00+02:60",
                                        "2024-01-01 00:00+02:00x"};
  double seconds = 0;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (!fw_time_parse(taken[i], strlen(taken[i]), FW_UNIT_TEXT, &seconds)) fail_msg("%s is refused", taken[i]);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (fw_time_parse(refused[i], strlen(refused[i]), FW_UNIT_TEXT, &seconds)) fail_msg("%s is taken", refused[i]);
}

static void numbers(void **state) {
  (void)state;
  static const char *const refused[] = {"", "x", "1x", "nan", "inf", "1e300"};
  double seconds = 0;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (fw_time_parse(refused[i], strlen(refused[i]), FW_UNIT_SECONDS, &seconds)) fail_msg("%s is taken", refused[i]);
  assert_true(fw_time_parse("0.5", 3, FW_UNIT_SECONDS, &seconds));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
