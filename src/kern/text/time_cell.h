/* kern/text/time_cell.h: times in cells: seconds since 1970-01-01 00:00 UTC, and their parts. */
#ifndef FW_KERN_TEXT_TIME_CELL_H
#define FW_KERN_TEXT_TIME_CELL_H

#include <stdbool.h>
#include <stddef.h>

/* X(name, text, values): features of a time. age is a number: the days up to the newest time of the training data;
 * each other part has the given number of values */
#define FW_TIME_PARTS(X)      \
  X(HOUR, "hour", 24)         \
  X(WEEKDAY, "weekday", 7)    \
  X(MONTHDAY, "monthday", 31) \
  X(MONTH, "month", 12)       \
  X(AGE, "age", 0)

typedef enum fw_time_part {
#define FW_X(name, text, values) FW_PART_##name,
  FW_TIME_PARTS(FW_X)
#undef FW_X
      FW_TIME_PART_COUNT
} fw_time_part;

/* X(name, text, units per second): numbers that are times, then texts: dates whose order of day and month is known
 * (2024-05-31 23:59, 31 May 2024), and these or numbers with the day (31.5.2024) or the month (5/31/2024) first */
#define FW_TIME_UNITS(X)       \
  X(SECONDS, "s", 1)           \
  X(MILLIS, "ms", 1e3)         \
  X(MICROS, "us", 1e6)         \
  X(NANOS, "ns", 1e9)          \
  X(TEXT, "text", 0)           \
  X(DAY_FIRST, "day-first", 0) \
  X(MONTH_FIRST, "month-first", 0)

typedef enum fw_time_unit {
#define FW_X(name, text, per_second) FW_UNIT_##name,
  FW_TIME_UNITS(FW_X)
#undef FW_X
      FW_TIME_UNIT_COUNT
} fw_time_unit;

static inline bool fw_time_unit_is_text(fw_time_unit unit) {
  return unit >= FW_UNIT_TEXT;
}

/* The number of values of a part; 0: it is a number. */
unsigned fw_time_part_values(fw_time_part part);
/* The number of units in a second. */
double fw_time_unit_scale(fw_time_unit unit);

/* Parses the whole text as a time: a number of units, or a date, and a clock and a zone if there are any. UTC where
 * no zone is given. Returns false if it is not a time, or is more than 30 million years away.
 * Dates: 2024-05-31, 2024/5/31, 2024.05.31; 31 May 2024, 31-May-24, May 31, 2024, with or without a weekday before
 *   them; in units that say the order also 31.5.2024, 31/05/24, 31-5-2024. Years of two digits are 1969 … 2068.
 * Clocks, after T or a blank: 23:59, 23:59:59.5, 9:05 PM.
 * Zones: Z, UTC, GMT, +02, +0200, +02:00, and EST, EDT, CST, CDT, MST, MDT, PST, PDT, WET, WEST, CET, CEST, EET, EEST.
 */
bool fw_time_parse(const char *text, size_t length, fw_time_unit unit, double *seconds);
/* The same for a unit that is a text. *short_year: whether the date has a year of two digits; set if it is one. */
bool fw_time_parse_date(const char *text, size_t length, fw_time_unit unit, double *seconds, bool *short_year);
/* Counted from 0: the hour; the weekday, where Monday is 0; the day of the month; the month. All in UTC; not for
 * FW_PART_AGE. */
unsigned fw_time_part_of(double seconds, fw_time_part part);

#endif
