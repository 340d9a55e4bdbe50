/* rows/time_text.c: single times from texts, and back. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "furrow/table.h"
#include "kern/text/time_cell.h"

bool furrow_time_read(const char *text, size_t size, double *seconds) {
  return fw_time_parse(text, size, FW_UNIT_TEXT, seconds) || fw_time_parse(text, size, FW_UNIT_SECONDS, seconds);
}

/* The date of a day, counted from 1970-01-01, in the proleptic Gregorian calendar: years begin in March, so that the
 * leap day is the last one. */
static void date_of(int64_t day, int64_t *year, int *month, int *monthday) {
  const int64_t since = day + 719468, era = (since >= 0 ? since : since - 146096) / 146097;
  const int64_t of_era = since - era * 146097;
  const int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * years + years / 4 - years / 100), march = (5 * of_year + 2) / 153;
  *monthday = (int)(of_year - (153 * march + 2) / 5 + 1);
  *month = (int)(march < 10 ? march + 3 : march - 9);
  *year = years + era * 400 + (*month <= 2);
}

size_t furrow_time_write(char *out, double seconds) {
  const double first = -62167219200.0, end = 253402300800.0; /* the years 0000 to 9999 */
  if (!(seconds >= first && seconds < end))
    return isfinite(seconds) ? (size_t)snprintf(out, FURROW_TIME_TEXT, "%.17g", seconds) : (out[0] = 0, (size_t)0);
  double whole = floor(seconds);
  int64_t micros = (int64_t)rint((seconds - whole) * 1e6);
  if (micros == 1000000) {
    micros = 0;
    whole++;
  }
  const int64_t day = (int64_t)floor(whole / 86400), clock = (int64_t)whole - day * 86400;
  int64_t year;
  int month, monthday;
  date_of(day, &year, &month, &monthday);
  size_t size = (size_t)snprintf(out, FURROW_TIME_TEXT, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d", year, month, monthday,
                                 (int)(clock / 3600), (int)(clock / 60 % 60), (int)(clock % 60));
  if (micros > 0) {
    size += (size_t)snprintf(out + size, FURROW_TIME_TEXT - size, ".%06d", (int)micros);
    while (out[size - 1] == '0') size--;
  }
  out[size++] = 'Z';
  out[size] = 0;
  return size;
}
