/* kern/text/time_cell.c: times in cells. */
#include "kern/text/time_cell.h"

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

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

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

/* Reads one to `most` digits. */
static bool take_number(const char **at, const char *end, unsigned most, unsigned *value, unsigned *digits) {
  for (*digits = 0; *digits < most && *at + *digits < end && is_digit((*at)[*digits]); ++*digits) {
  }
  return *digits > 0 && take_digits(at, end, *digits, value);
}

static size_t count_letters(const char *at, const char *end) {
  size_t n = 0;
  while (at + n < end && (at[n] | 0x20) >= 'a' && (at[n] | 0x20) <= 'z') n++;
  return n;
}

/* Reads one of the names, or the first three letters of one; returns its number, or `count`. */
static unsigned take_name(const char **at, const char *end, const char *const *names, unsigned count) {
  const size_t n = count_letters(*at, end);
  if (n < 3) return count; /* most texts of a column of categories */
  for (unsigned i = 0; i < count; i++) {
    if ((**at | 0x20) != names[i][0] || (n != 3 && n != strlen(names[i])) || strncasecmp(*at, names[i], n) != 0)
      continue;
    *at += n;
    return i;
  }
  return count;
}

static bool take_month(const char **at, const char *end, unsigned *month) {
  static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                      "july",    "august",   "september", "october", "november", "december"};
  *month = take_name(at, end, names, 12) + 1;
  if (*month == 13 && count_letters(*at, end) == 4 && strncasecmp(*at, "sept", 4) == 0) {
    *month = 9;
    *at += 4;
  }
  return *month <= 12;
}

/* Skips a weekday before a date: "Fri, ". */
static void skip_weekday(const char **at, const char *end) {
  static const char *const names[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
  if (take_name(at, end, names, 7) == 7) return;
  (void)take_char(at, end, ',');
  (void)take_char(at, end, ' ');
}

static unsigned year_of_two_digits(unsigned year) {
  return year < 69 ? 2000 + year : 1900 + year;
}

static bool is_mark(char c) {
  return c == '-' || c == '/' || c == '.';
}

typedef struct date {
  unsigned year, month, day;
  bool short_year; /* it was written with two digits */
} date;

/* Reads the year after the name of a month, of two digits only after a mark: 31-May-24, but not 31 May 24. */
static bool take_year(const char **at, const char *end, bool short_years, date *d) {
  unsigned digits;
  if (!take_number(at, end, 4, &d->year, &digits)) return false;
  d->short_year = digits == 2;
  if (d->short_year) d->year = year_of_two_digits(d->year);
  return digits == 4 || (d->short_year && short_years);
}

/* May 31, 2024 */
static bool take_named_date(const char **at, const char *end, date *d) {
  unsigned digits;
  if (!take_month(at, end, &d->month)) return false;
  const bool dot = take_char(at, end, '.');
  if (!take_char(at, end, ' ') && !dot) return false;
  if (!take_number(at, end, 2, &d->day, &digits)) return false;
  (void)take_char(at, end, ',');
  return take_char(at, end, ' ') && take_year(at, end, false, d);
}

/* Reads the part after the day in 31 May 2024 or 31-May-24; *at is after the first mark. */
static bool take_month_and_year(const char **at, const char *end, char mark, date *d) {
  if (!take_month(at, end, &d->month)) return false;
  if (mark == ' ') (void)take_char(at, end, ',');
  return take_char(at, end, mark) && take_year(at, end, mark != ' ', d);
}

/* Reads the part after the year in 2024-05-31 or 2024-May-31; *at is after the first mark. */
static bool take_month_and_day(const char **at, const char *end, char mark, date *d) {
  unsigned digits;
  if (!take_month(at, end, &d->month) && !take_number(at, end, 2, &d->month, &digits)) return false;
  return take_char(at, end, mark) && take_number(at, end, 2, &d->day, &digits);
}

static bool take_date(const char **at, const char *end, fw_time_unit order, double *seconds, bool *short_year) {
  date d = {0};
  unsigned first, second, digits;
  skip_weekday(at, end);
  if (*at < end && !is_digit(**at)) {
    if (!take_named_date(at, end, &d)) return false;
  } else {
    if (!take_number(at, end, 4, &first, &digits) || digits == 3 || *at == end) return false;
    const char mark = *(*at)++;
    if (!is_mark(mark) && (mark != ' ' || digits == 4)) return false;
    if (digits == 4) {
      d.year = first;
      if (!take_month_and_day(at, end, mark, &d)) return false;
    } else if (*at < end && !is_digit(**at)) {
      d.day = first;
      if (!take_month_and_year(at, end, mark, &d)) return false;
    } else {
      if (order == FW_UNIT_TEXT || mark == ' ' || !take_number(at, end, 2, &second, &digits)) return false;
      if (!take_char(at, end, mark) || !take_year(at, end, true, &d)) return false;
      d.day = order == FW_UNIT_DAY_FIRST ? first : second;
      d.month = order == FW_UNIT_DAY_FIRST ? second : first;
    }
  }
  if (d.month < 1 || d.month > 12 || d.day < 1 || d.day > days_of_month(d.year, d.month)) return false;
  *seconds = (double)(days_of_date(d.year, d.month, d.day) * DAY_SECONDS);
  *short_year = d.short_year;
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

/* Reads AM or PM after a clock of 12 hours. */
static bool take_half_of_day(const char **at, const char *end, unsigned *hour) {
  const char *word = *at < end && **at == ' ' ? *at + 1 : *at;
  if (count_letters(word, end) != 2 || (word[1] | 0x20) != 'm') return true;
  const bool pm = (*word | 0x20) == 'p';
  if ((!pm && (*word | 0x20) != 'a') || *hour < 1 || *hour > 12) return false;
  *hour = *hour % 12 + (pm ? 12 : 0);
  *at = word + 2;
  return true;
}

/* 60 is a leap second. */
static bool take_clock(const char **at, const char *end, double *seconds) {
  unsigned hour, minute, second = 0, digits;
  double fraction = 0;
  if (!take_number(at, end, 2, &hour, &digits) || !take_char(at, end, ':') || !take_digits(at, end, 2, &minute))
    return false;
  if (take_char(at, end, ':') && !take_digits(at, end, 2, &second)) return false;
  if (hour > 23 || minute > 59 || second > 60) return false;
  if ((take_char(at, end, '.') || take_char(at, end, ',')) && !take_fraction(at, end, &fraction)) return false;
  if (!take_half_of_day(at, end, &hour)) return false;
  *seconds += hour * 3600.0 + minute * 60.0 + second + fraction;
  return true;
}

/* Reads the name of a zone, and how many hours it is before UTC. */
static bool take_zone_name(const char **at, const char *end, double *hours) {
  static const struct {
    const char *name;
    int hours;
  } zones[] = {{"z", 0},    {"utc", 0},  {"gmt", 0},  {"wet", 0},  {"west", 1}, {"cet", 1},
               {"cest", 2}, {"eet", 2},  {"eest", 3}, {"est", -5}, {"edt", -4}, {"cst", -6},
               {"cdt", -5}, {"mst", -7}, {"mdt", -6}, {"pst", -8}, {"pdt", -7}};
  const size_t n = (size_t)(end - *at);
  for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
    if (n == strlen(zones[i].name) && strncasecmp(*at, zones[i].name, n) == 0) {
      *hours = zones[i].hours;
      *at = end;
      return true;
    }
  return false;
}

/* Z, +02:00, +0200, +02, the name of a zone, or nothing. */
static bool take_zone(const char **at, const char *end, double *seconds) {
  unsigned hour, minute = 0;
  double hours = 0;
  if (*at == end) return true;
  if (**at == ' ') ++*at;
  if (take_zone_name(at, end, &hours)) {
    *seconds -= hours * 3600;
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

bool fw_time_parse_date(const char *text, size_t length, fw_time_unit unit, double *seconds, bool *short_year) {
  const char *end = text + length;
  double value = 0;
  bool two_digits = false;
  if (!take_date(&text, end, unit, &value, &two_digits)) return false;
  if (text < end) {
    (void)take_char(&text, end, ',');
    if (text == end || (*text != 'T' && *text != 't' && *text != ' ')) return false;
    text++;
    if (!take_clock(&text, end, &value) || !take_zone(&text, end, &value)) return false;
  }
  if (text != end) return false;
  *seconds = value;
  *short_year = two_digits;
  return true;
}

bool fw_time_parse(const char *text, size_t length, fw_time_unit unit, double *seconds) {
  double value = 0;
  bool short_year;
  if (fw_time_unit_is_text(unit)) return fw_time_parse_date(text, length, unit, seconds, &short_year);
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
