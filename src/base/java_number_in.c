/* base/java_number_in.c: floats from text, as Java parses them. */
#include "base/java_number.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/number_in.h"

/* ---- hexadecimal ---- */

/* significand * 2^exponent; `more`: the exact value is a little larger */
typedef struct hex_number {
  uint64_t significand;
  int64_t exponent;
  bool more;
} hex_number;

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads digits and adds `shift` to the exponent for each. Beyond 60 bits, only whether a digit is nonzero counts. */
static const char *read_hex_digits(const char *s, const char *end, int shift, hex_number *x) {
  for (; s < end && hex_digit(*s) >= 0; s++) {
    const unsigned digit = (unsigned)hex_digit(*s);
    x->exponent += shift;
    if (x->significand >> 60 == 0) {
      x->significand = x->significand << 4 | digit;
    } else {
      x->exponent += 4;
      x->more |= digit != 0;
    }
  }
  return s;
}

/* Reads p and the binary exponent that follows it; NULL if there is none. Exponents are limited to about a million,
 * which is enough to decide between 0 and infinity. */
static const char *read_binary_exponent(const char *s, const char *end, int64_t *exponent) {
  if (s == end || (*s | 0x20) != 'p') return NULL;
  s++;
  const bool minus = s < end && *s == '-';
  if (s < end && (*s == '-' || *s == '+')) s++;
  const char *digits = s;
  int64_t power = 0;
  for (; s < end && *s >= '0' && *s <= '9'; s++)
    if (power < (1 << 30)) power = power * 10 + (*s - '0');
  *exponent += minus ? -power : power;
  return s > digits ? s : NULL;
}

/* Rounds to the nearest number with p bits, or fewer if its last bit would be below 2^least. The result is exact in
 * a double. */
static double round_hex(const hex_number *x, int p, int least) {
  if (x->significand == 0) return 0;
  const int bits = 64 - __builtin_clzll(x->significand);
  const int64_t top = x->exponent + bits; /* the number is below 2^top */
  if (top > 2000) return INFINITY;
  if (top < least) return 0;
  int64_t last = top - p;
  if (last < least) last = least;
  const int64_t drop = last - x->exponent;
  if (drop <= 0) return ldexp((double)x->significand, (int)x->exponent);
  const uint64_t kept = drop < 64 ? x->significand >> drop : 0;
  const uint64_t half = (uint64_t)1 << (drop - 1); /* drop <= bits <= 64 */
  const uint64_t rest = x->significand & (2 * half - 1);
  const bool up = rest > half || (rest == half && (x->more || (kept & 1)));
  return ldexp((double)(kept + up), (int)last);
}

/* Reads what follows "0x". */
static const char *read_hex(const char *s, const char *end, int p, int least, double *value) {
  hex_number x = {0};
  const char *point = read_hex_digits(s, end, 0, &x);
  size_t digits = (size_t)(point - s);
  if (point < end && *point == '.') {
    const char *fraction_end = read_hex_digits(point + 1, end, -4, &x);
    digits += (size_t)(fraction_end - point - 1);
    point = fraction_end;
  }
  const char *after = digits ? read_binary_exponent(point, end, &x.exponent) : NULL;
  if (after) *value = round_hex(&x, p, least);
  return after;
}

/* ---- all forms ---- */

static bool is_word(const char *s, const char *end, const char *word) {
  return (size_t)(end - s) == strlen(word) && memcmp(s, word, strlen(word)) == 0;
}

/* Strips blanks and the sign. Returns whether the sign is a minus. */
static bool take_sign(const char **s, const char **end) {
  while (*s < *end && (unsigned char)**s <= ' ') ++*s;
  while (*s < *end && (unsigned char)(*end)[-1] <= ' ') --*end;
  const bool minus = *s < *end && **s == '-';
  if (*s < *end && (**s == '-' || **s == '+')) ++*s;
  return minus;
}

/* Whether the text ends right after the number, which ends at `after` (NULL: there is no number), or one type letter
 * later. */
static bool ends_number(const char *after, const char *end) {
  return after && (after == end || (after + 1 == end && memchr("fFdD", *after, 4)));
}

/* Reads a magnitude that is a word or hexadecimal; returns false if it is neither. */
static bool read_rare(const char *s, const char *end, int p, int least, double *value) {
  if (is_word(s, end, "NaN")) {
    *value = NAN;
    return true;
  }
  if (is_word(s, end, "Infinity")) {
    *value = INFINITY;
    return true;
  }
  if (end - s < 2 || s[0] != '0' || (s[1] | 0x20) != 'x') return false;
  return ends_number(read_hex(s + 2, end, p, least, value), end);
}

/* Whether a decimal number can start here. Words such as inf are excluded. */
static bool starts_decimal(const char *s, const char *end) {
  return s < end && ((*s >= '0' && *s <= '9') || *s == '.');
}

bool fw_java_read_float(const char *s, const char *end, float *value) {
  const bool minus = take_sign(&s, &end);
  float magnitude;
  if (!starts_decimal(s, end) || !ends_number(fw_read_f32(s, end, &magnitude), end)) {
    double rare;
    if (!read_rare(s, end, 24, -149, &rare)) return false;
    magnitude = rare >= 0x1p128 ? INFINITY : (float)rare;
  }
  *value = minus ? -magnitude : magnitude;
  return true;
}

bool fw_java_read_double(const char *s, const char *end, double *value) {
  const bool minus = take_sign(&s, &end);
  double magnitude;
  if (!starts_decimal(s, end) || !ends_number(fw_read_f64(s, end, &magnitude), end)) {
    if (!read_rare(s, end, 53, -1074, &magnitude)) return false;
  }
  *value = minus ? -magnitude : magnitude;
  return true;
}
