/* columns/typed_text.c: the text of typed values, as programs write them into csv. */
#include "base/number_out.h"
#include "columns/frames.h"

/* ---- Numbers -------------------------------------------------------------------------------------------- */

/* Adds .0 to a number that would be read as an integer, as programs do for columns of type double. */
static size_t with_point(char *out, size_t length) {
  for (size_t i = 0; i < length; i++)
    if ((out[i] < '0' || out[i] > '9') && out[i] != '-') return length;
  out[length] = '.';
  out[length + 1] = '0';
  return length + 2;
}

/* Writes the digits of a natural number, which most often fits into 64 bits. */
static size_t write_natural(unsigned __int128 number, char *out) {
  const uint64_t part = 10000000000000000000u; /* 10^19 */
  char rest[FW_NUMBER_TEXT];
  if (number < part) return fw_write_u64(out, (uint64_t)number);
  const size_t n = write_natural(number / part, out);
  const size_t length = fw_write_u64(rest, (uint64_t)(number % part));
  memset(out + n, '0', 19 - length);
  memcpy(out + n + 19 - length, rest, length);
  return n + 19;
}

static size_t write_decimal(const void *value, int digits, char *out) {
  __int128 number;
  char text[64];
  size_t length = 0;
  memcpy(&number, value, sizeof number);
  const size_t n = write_natural(number < 0 ? -(unsigned __int128)number : (unsigned __int128)number, text);
  const size_t after = digits > 0 ? (size_t)digits : 0, before = n > after ? n - after : 0;
  if (number < 0) out[length++] = '-';
  if (before == 0) out[length++] = '0';
  memcpy(out + length, text, before);
  length += before;
  if (after > 0) {
    out[length++] = '.';
    const size_t zeros = after - (n - before);
    memset(out + length, '0', zeros);
    memcpy(out + length + zeros, text + before, n - before);
    length += after;
  }
  for (int zeros = digits; zeros < 0 && number != 0; zeros++) out[length++] = '0';
  return length;
}

/* ---- Times ---------------------------------------------------------------------------------------------- */

/* Writes `digits` digits, or more if the number has more. */
static size_t write_padded(char *out, uint64_t number, size_t digits) {
  char text[FW_NUMBER_TEXT];
  const size_t length = fw_write_u64(text, number);
  size_t n = 0;
  for (size_t i = length; i < digits; i++) out[n++] = '0';
  memcpy(out + n, text, length);
  return n + length;
}

static void write_two(char *out, unsigned number) {
  out[0] = (char)('0' + number / 10);
  out[1] = (char)('0' + number % 10);
}

/* Writes a date of the Gregorian calendar; years begin in March, so that a leap day is the last day of a year. */
static size_t write_date(char *out, int64_t days) {
  days = (int64_t)((uint64_t)days + 719468); /* a damaged number must not overflow */
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const unsigned in_era = (unsigned)(days - era * 146097);
  const unsigned years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const unsigned in_year = in_era - (365 * years + years / 4 - years / 100);
  const unsigned from_march = (5 * in_year + 2) / 153;
  const unsigned month = from_march < 10 ? from_march + 3 : from_march - 9;
  const int64_t year = (int64_t)years + era * 400 + (month <= 2);
  size_t n = 0;
  if (year < 0) out[n++] = '-';
  n += write_padded(out + n, (uint64_t)(year < 0 ? -year : year), 4);
  out[n++] = '-';
  write_two(out + n, month);
  out[n + 2] = '-';
  write_two(out + n + 3, in_year - (153 * from_march + 2) / 5 + 1);
  return n + 5;
}

static const int64_t units[] = {1, 1000, 1000000, 1000000000};

/* Writes a time of the day, of which `fraction` is the part below a second. */
static size_t write_time(char *out, uint64_t seconds, uint64_t fraction, int digits) {
  const unsigned in_day = (unsigned)seconds;
  size_t n = 8;
  write_two(out, in_day / 3600);
  out[2] = ':';
  write_two(out + 3, in_day / 60 % 60);
  out[5] = ':';
  write_two(out + 6, in_day % 60);
  if (fraction == 0) return n;
  out[n++] = '.';
  n += write_padded(out + n, fraction, (size_t)digits);
  while (out[n - 1] == '0') n--;
  return n;
}

static size_t write_timestamp(fw_typed_type type, int64_t value, char *out) {
  const int64_t unit = units[type.digits / 3];
  const int64_t fraction = value % unit + (value % unit < 0 ? unit : 0);
  const int64_t seconds = value / unit - (value % unit < 0);
  const int64_t in_day = seconds % 86400 + (seconds % 86400 < 0 ? 86400 : 0);
  if (type.kind == FW_TYPED_TIME) return write_time(out, (uint64_t)in_day, (uint64_t)fraction, type.digits);
  size_t n = write_date(out, seconds / 86400 - (seconds % 86400 < 0));
  out[n++] = ' ';
  n += write_time(out + n, (uint64_t)in_day, (uint64_t)fraction, type.digits);
  if (type.zoned) {
    memcpy(out + n, "+00", 3);
    n += 3;
  }
  return n;
}

/* ---- All ------------------------------------------------------------------------------------------------ */

size_t fw_typed_text(fw_typed_type type, const void *value, char *out) {
  int64_t number;
  uint64_t natural;
  double real;
  if (type.kind == FW_TYPED_DECIMAL) return write_decimal(value, type.digits, out);
  memcpy(&number, value, sizeof number);
  memcpy(&natural, value, sizeof natural);
  memcpy(&real, value, sizeof real);
  switch ((fw_typed_kind)type.kind) {
  case FW_TYPED_I64: return fw_write_i64(out, number);
  case FW_TYPED_U64: return fw_write_u64(out, natural);
  case FW_TYPED_F32: return with_point(out, fw_write_f32(out, (float)real));
  case FW_TYPED_F64: return with_point(out, fw_write_f64(out, real));
  case FW_TYPED_BOOL: memcpy(out, number ? "true" : "false", number ? 4 : 5); return number ? 4 : 5;
  case FW_TYPED_DATE: return write_date(out, number);
  case FW_TYPED_TIME:
  case FW_TYPED_TIMESTAMP: return write_timestamp(type, number, out);
  default: return 0;
  }
}
