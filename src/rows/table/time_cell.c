/* rows/table/time_cell.c: times in cells. */
#include "rows/table/time_cell.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number_in.h"

enum { DAY_SECONDS = 86400 };
static const double most_seconds = 1e15; /* far from the limits of 64-bit integers, even in microseconds */

unsigned fw_time_part_values(fw_time_part part) {
  static const unsigned counts[] = {
#define FW_X(name, text, values) values,
      FW_TIME_PARTS(FW_X)
#undef FW_X
  };
  return counts[part];
}

double fw_time_unit_scale(fw_time_unit unit) {
  static const double scales[] = {
#define FW_X(name, text, per_second) per_second,
      FW_TIME_UNITS(FW_X)
#undef FW_X
  };
  return scales[unit];
}

/* ---- Dates of the Gregorian calendar; years begin in March, so that a leap day is the last day of a year ---- */

static int64_t days_of_date(int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const unsigned in_era = (unsigned)(year - era * 400);
  const unsigned in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + (int64_t)(in_era * 365 + in_era / 4 - in_era / 100 + in_year) - 719468;
}

static void date_of_days(int64_t days, unsigned *month, unsigned *day) {
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const unsigned in_era = (unsigned)(days - era * 146097);
  const unsigned years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const unsigned in_year = in_era - (365 * years + years / 4 - years / 100);
  const unsigned from_march = (5 * in_year + 2) / 153;
  *day = in_year - (153 * from_march + 2) / 5 + 1;
  *month = from_march < 10 ? from_march + 3 : from_march - 9;
}

static unsigned days_of_month(unsigned year, unsigned month) {
  static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap);
}

/* ---- Text ---- */

/* Reads `digits` digits at *at. */
static bool take_digits(const char **at, const char *end, unsigned digits, unsigned *value) {
  unsigned number = 0;
  if ((size_t)(end - *at) < digits) return false;
  for (unsigned i = 0; i < digits; i++) {
    const unsigned digit = (unsigned)(unsigned char)**at - '0';
    if (digit > 9) return false;
    number = number * 10 + digit;
    ++*at;
  }
  *value = number;
  return true;
}

static bool take_char(const char **at, const char *end, char c) {
  if (*at == end || **at != c) return false;
  ++*at;
  return true;
}

static bool take_date(const char **at, const char *end, double *seconds) {
  unsigned year, month, day;
  if (!take_digits(at, end, 4, &year) || !take_char(at, end, '-')) return false;
  if (!take_digits(at, end, 2, &month) || !take_char(at, end, '-') || !take_digits(at, end, 2, &day)) return false;
  if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month)) return false;
  *seconds = (double)(days_of_date(year, month, day) * DAY_SECONDS);
  return true;
}

/* Reads digits after the point (or comma, as loggers write it): .5 is a half. */
static bool take_fraction(const char **at, const char *end, double *seconds) {
  const char *first = *at;
  double fraction = 0, unit = 1;
  for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
    if (unit >= 1e15) continue; /* beyond the precision of a double */
    fraction = fraction * 10 + (**at - '0');
    unit *= 10;
  }
  *seconds += fraction / unit;
  return *at > first;
}

/* 60 is a leap second. */
static bool take_clock(const char **at, const char *end, double *seconds) {
  unsigned hour, minute, second = 0;
  if (!take_digits(at, end, 2, &hour) || !take_char(at, end, ':') || !take_digits(at, end, 2, &minute)) return false;
  if (take_char(at, end, ':') && !take_digits(at, end, 2, &second)) return false;
  if (hour > 23 || minute > 59 || second > 60) return false;
  *seconds += hour * 3600.0 + minute * 60.0 + second;
  return !(take_char(at, end, '.') || take_char(at, end, ',')) || take_fraction(at, end, seconds);
}

/* Z, +02:00, +0200, +02, UTC, GMT or nothing. */
static bool take_zone(const char **at, const char *end, double *seconds) {
  unsigned hour, minute = 0;
  if (*at == end) return true;
  if (**at == ' ') ++*at;
  const size_t left = (size_t)(end - *at);
  if ((left == 1 && strncasecmp(*at, "z", 1) == 0) ||
      (left == 3 && (strncasecmp(*at, "utc", 3) == 0 || strncasecmp(*at, "gmt", 3) == 0))) {
    *at = end;
    return true;
  }
  const bool minus = take_char(at, end, '-');
  if (!minus && !take_char(at, end, '+')) return false;
  if (!take_digits(at, end, 2, &hour) || hour > 23) return false;
  const bool more = take_char(at, end, ':') || *at < end;
  if (more && (!take_digits(at, end, 2, &minute) || minute > 59)) return false;
  const double offset = hour * 3600.0 + minute * 60.0;
  *seconds += minus ? offset : -offset;
  return true;
}

static bool parse_text(const char *text, const char *end, double *seconds) {
  double value = 0;
  if (!take_date(&text, end, &value)) return false;
  if (text < end) {
    if (*text != 'T' && *text != 't' && *text != ' ') return false;
    text++;
    if (!take_clock(&text, end, &value) || !take_zone(&text, end, &value)) return false;
  }
  if (text != end) return false;
  *seconds = value;
  return true;
}

bool fw_time_parse(const char *text, size_t length, fw_time_unit unit, double *seconds) {
  double value = 0;
  if (unit == FW_UNIT_TEXT) return parse_text(text, text + length, seconds);
  if (!fw_read_digits(text, length, &value) &&
      (length == 0 || fw_read_f64(text, text + length, &value) != text + length))
    return false;
  if (unit != FW_UNIT_SECONDS) value /= fw_time_unit_scale(unit);
  if (!(fabs(value) <= most_seconds)) return false;
  *seconds = value;
  return true;
}

unsigned fw_time_part_of(double seconds, fw_time_part part) {
  const int64_t whole = (int64_t)floor(seconds);
  const int64_t days = (whole >= 0 ? whole : whole - (DAY_SECONDS - 1)) / DAY_SECONDS;
  unsigned month, day;
  switch (part) {
  case FW_PART_HOUR: return (unsigned)((whole - days * DAY_SECONDS) / 3600);
  case FW_PART_WEEKDAY: return (unsigned)(((days + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
  case FW_PART_MONTHDAY: date_of_days(days, &month, &day); return day - 1;
  case FW_PART_MONTH: date_of_days(days, &month, &day); return month - 1;
  default: assert(!"a part with values"); return 0;
  }
}
