/* rows/table/number_cell.c: numbers in cells, as people write them. */
#include "rows/table/number_cell.h"

#include <string.h>

#include "base/number_in.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- Marks ---- */

/* A text of several bytes, and the character that it counts as. */
typedef struct wide_mark {
  const char *bytes;
  size_t size;
  char as;
} wide_mark;

static const wide_mark wide_marks[] = {
    {"\xc2\xa0", 2, ' '},      /* no-break space */
    {"\xe2\x80\xaf", 3, ' '},  /* narrow no-break space */
    {"\xe2\x80\x89", 3, ' '},  /* thin space */
    {"\xe2\x80\x99", 3, '\''}, /* right single quotation mark */
    {"\xe2\x88\x92", 3, '-'},  /* minus sign */
};

/* Returns the mark at p and its size: a blank, an apostrophe, a minus, or the byte itself. */
static char mark_at(const char *p, const char *end, size_t *size) {
  *size = 1;
  if ((unsigned char)*p < 0x80) return *p == '\t' ? ' ' : *p;
  for (size_t i = 0; i < sizeof wide_marks / sizeof *wide_marks; i++) {
    const wide_mark *mark = &wide_marks[i];
    if ((size_t)(end - p) < mark->size || memcmp(p, mark->bytes, mark->size) != 0) continue;
    *size = mark->size;
    return mark->as;
  }
  return *p;
}

static const char *skip_blanks(const char *p, const char *end) {
  size_t size;
  while (p < end && mark_at(p, end, &size) == ' ') p += size;
  return p;
}

/* Returns whether [begin, end) ends with that mark, and its size. */
static bool ends_with_mark(const char *begin, const char *end, char mark, size_t *size) {
  for (*size = 1; *size <= 3 && *size <= (size_t)(end - begin); ++*size) {
    size_t found;
    if (mark_at(end - *size, end, &found) == mark && found == *size) return true;
  }
  return false;
}

static const char *trim_end(const char *begin, const char *end) {
  size_t size;
  while (ends_with_mark(begin, end, ' ', &size)) end -= size;
  return end;
}

/* ---- Parts ---- */

static bool starts_digits(const char *p, const char *end) {
  return is_digit(*p) || ((*p == '.' || *p == ',') && p + 1 < end && is_digit(p[1]));
}

/* Returns the end of the digits and the marks between them. */
static const char *end_of_digits(const char *p, const char *end) {
  while (p < end) {
    size_t size;
    const char mark = mark_at(p, end, &size);
    const bool separates = mark == '.' || mark == ',' || mark == ' ' || mark == '\'';
    if (!is_digit(mark) && !(separates && p + size < end && is_digit(p[size]))) break;
    p += size;
  }
  if (p == end || (*p | 0x20) != 'e') return p;
  const char *exponent = p + 1;
  if (exponent < end && (*exponent == '+' || *exponent == '-')) exponent++;
  if (exponent == end || !is_digit(*exponent)) return p;
  while (exponent < end && is_digit(*exponent)) exponent++;
  return exponent;
}

/* Removes the sign at the end of the text before the digits, as in $-5, or the parenthesis of $(5). */
static bool take_late_sign(fw_number_parts *parts, const char **before_end, const char **end) {
  size_t size;
  const char *before = parts->unit;
  if (ends_with_mark(before, *before_end, '-', &size)) {
    if (parts->negative) return false;
    parts->negative = true;
    *before_end -= size;
  } else if (*before_end > before && (*before_end)[-1] == '(' && (*end)[-1] == ')') {
    if (parts->negative) return false;
    parts->negative = parts->parentheses = true;
    --*before_end;
    *end = trim_end(before, *end - 1);
  }
  return true;
}

/* Takes the sign after the digits, as in 55.43- of SAP; a range such as 5-10 and a unit such as -inch have none. */
static bool take_last_sign(fw_number_parts *parts, const char **after, const char *end) {
  size_t size, blank;
  if (*after == end || mark_at(*after, end, &size) != '-') return true;
  if (*after + size < end && mark_at(*after + size, end, &blank) != ' ') return true;
  if (parts->negative) return false;
  parts->negative = true;
  *after += size;
  return true;
}

/* Splits what is left after the first sign. */
static bool split_unit(const char *p, const char *end, fw_number_parts *parts) {
  const char *digits = p;
  while (digits < end && !starts_digits(digits, end)) digits++;
  if (digits == end || digits - p > FW_NUMBER_UNIT + 8) return false;
  const char *before_end = trim_end(p, digits);
  parts->unit = p;
  if (!take_late_sign(parts, &before_end, &end) || end <= digits) return false;
  parts->unit_end = trim_end(p, before_end);
  parts->unit_first = parts->unit_end > parts->unit;
  parts->digits = digits;
  parts->digits_end = end_of_digits(digits, end);
  const char *after = parts->digits_end;
  if (!take_last_sign(parts, &after, end)) return false;
  after = skip_blanks(after, end);
  if (after < end) {
    if (parts->unit_first) return false;
    parts->unit = after;
    parts->unit_end = end;
  }
  return (size_t)(parts->unit_end - parts->unit) <= FW_NUMBER_UNIT;
}

bool fw_number_split(const char *text, size_t length, fw_number_parts *parts) {
  const char *p = skip_blanks(text, text + length), *end = trim_end(p, text + length);
  size_t size;
  *parts = (fw_number_parts){0};
  if (end - p > 2 && *p == '(' && end[-1] == ')') {
    parts->negative = parts->parentheses = true;
    p = skip_blanks(p + 1, end - 1);
    end = trim_end(p, end - 1);
  }
  if (p == end) return false;
  const char sign = mark_at(p, end, &size);
  if (sign == '-' || sign == '+') {
    if (parts->negative) return false;
    parts->negative = sign == '-';
    p = skip_blanks(p + size, end);
  }
  return p < end && split_unit(p, end, parts);
}

/* ---- Digits ---- */

/* Digits without marks: the text that base/number_in.h reads. */
typedef struct plain_digits {
  char text[64];
  size_t size;
  size_t run;   /* digits since the last mark */
  char group;   /* the mark between groups; 0: none yet */
  bool decimal; /* the decimal mark has been read */
} plain_digits;

/* Whether the group that ends here has as many digits as it must have. */
static bool group_is_whole(const plain_digits *d) {
  return !d->group || d->decimal || d->run == 3;
}

static bool add_mark(plain_digits *d, char mark, char decimal) {
  if (d->decimal) return false;
  if (mark == decimal) {
    if (!group_is_whole(d)) return false;
    d->decimal = true;
    d->text[d->size++] = '.';
    return true;
  }
  if (d->group) return mark == d->group && (d->run == 3 || d->run == 2);
  d->group = mark;
  return d->run >= 1 && d->run <= 3 && d->text[0] != '0';
}

static bool is_exponent(char c) {
  return (c | 0x20) == 'e';
}

bool fw_number_of_parts(const fw_number_parts *parts, char decimal, double *number) {
  plain_digits d = {.size = 0};
  const char *p = parts->digits, *end = parts->digits_end;
  for (size_t size = 1; p < end && !is_exponent(*p); p += size) {
    if (d.size + 1 >= sizeof d.text) return false;
    const char mark = mark_at(p, end, &size);
    if (is_digit(mark)) {
      d.text[d.size++] = mark;
      d.run++;
      continue;
    }
    if (!add_mark(&d, mark, decimal)) return false;
    d.run = 0;
  }
  if (!group_is_whole(&d) || d.size + (size_t)(end - p) > sizeof d.text) return false;
  memcpy(d.text + d.size, p, (size_t)(end - p));
  d.size += (size_t)(end - p);
  if (fw_read_f64(d.text, d.text + d.size, number) != d.text + d.size) return false;
  if (parts->negative) *number = -*number;
  return true;
}

bool fw_number_may_be_list(const fw_number_parts *parts) {
  const char *p = parts->digits, *end = parts->digits_end;
  bool several = false;
  if (parts->negative || parts->unit_end > parts->unit) return false;
  while (p < end) {
    size_t run = 0, size;
    if (*p == '0') return false;
    for (; p < end && is_digit(*p); p++) run++;
    if (run != 3) return false;
    if (p == end) break;
    (void)mark_at(p, end, &size);
    p += size;
    several = true;
  }
  return several;
}

/* ---- Units ---- */

static bool is_word(const char *text, const char *end, const char *word) {
  return (size_t)(end - text) == strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

/* $ ¢ £ ¤ ¥ and U+20A0 … U+20CF. */
static bool has_currency_sign(const char *text, const char *end) {
  for (; text < end; text++) {
    const unsigned char *c = (const unsigned char *)text;
    if (*c == '$') return true;
    if (end - text > 1 && c[0] == 0xc2 && c[1] >= 0xa2 && c[1] <= 0xa5) return true;
    if (end - text > 2 && c[0] == 0xe2 && ((c[1] == 0x82 && c[2] >= 0xa0) || (c[1] == 0x83 && c[2] <= 0x8f)))
      return true;
  }
  return false;
}

static bool is_currency(const char *text, const char *end) {
  static const char *const codes[] = {"USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD",
                                      "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RUB", "TRY",
                                      "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD", "Rs",  "Rs.", "kr"};
  for (size_t i = 0; i < sizeof codes / sizeof *codes && end - text <= 3; i++)
    if (*text == *codes[i] && is_word(text, end, codes[i])) return true;
  return has_currency_sign(text, end);
}

/* Letters, other alphabets and signs, and the separators in "km/h", "sq ft", "m^2". */
static bool is_unit_byte(unsigned char c) {
  return c >= 0x80 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c != 0 && strchr("%$/.^ \"'", c));
}

bool fw_number_unit_is_likely(const fw_number_parts *parts) {
  if (parts->unit_first) return is_currency(parts->unit, parts->unit_end);
  for (const char *p = parts->unit; p < parts->unit_end; p++)
    if (!is_unit_byte((unsigned char)*p)) return false;
  return true;
}

bool fw_number_parse(const char *text, size_t length, const fw_number_format *format, double *number) {
  fw_number_parts parts;
  if (!fw_number_split(text, length, &parts)) {
    const bool word = length > 0 && !is_digit(text[length - 1]); /* nan, inf */
    return word && fw_read_f64(text, text + length, number) == text + length;
  }
  const bool unit = parts.unit_end > parts.unit;
  return (!unit || is_word(parts.unit, parts.unit_end, format->unit)) &&
         fw_number_of_parts(&parts, format->decimal, number);
}
