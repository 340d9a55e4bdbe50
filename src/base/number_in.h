/* base/number_in.h: exact conversion of text to numbers.
 *
 * Each function reads the longest number that starts at s and returns its end, or NULL when no number starts there
 * (*value is then untouched). Bytes from `end` on are never read. No locale, no errno, no leading blanks.
 *
 * floats: [+-] digits [. digits] [(e|E) [+-] digits], with at least one digit before or after the point; an e
 *   without an exponent is not part of the number (1e is "1", then "e"). Or [+-] and, in upper or lower case, inf,
 *   infinity, nan, nan(letters, digits, _). Any number of digits; the result is the nearest float or double, ties to
 *   even; too large gives infinity, too small 0, as strtof and strtod do. No hexadecimal.
 * integers: [+-] digits (u32, u64: an optional + only). *overflow says that the digits do not fit; their end is
 *   returned all the same, and *value is then untouched. */
#ifndef FW_BASE_NUMBER_IN_H
#define FW_BASE_NUMBER_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *fw_read_f32(const char *s, const char *end, float *value);
const char *fw_read_f64(const char *s, const char *end, double *value);
/* Parses a text of up to 15 digits, or of up to 7 digits and a point, as nearly all cells of tables are. Both the
 * digits and the power of ten are exact, so their quotient is the nearest double. Returns false for any other text;
 * *value is then undefined. The 8 bytes before s must be readable. */
bool fw_read_short(const char *s, const char *end, double *value);
const char *fw_read_u32(const char *s, const char *end, uint32_t *value, bool *overflow);
const char *fw_read_u64(const char *s, const char *end, uint64_t *value, bool *overflow);
const char *fw_read_i32(const char *s, const char *end, int32_t *value, bool *overflow);
const char *fw_read_i64(const char *s, const char *end, int64_t *value, bool *overflow);

/* Parses a text that consists of at most 15 digits; returns false for any other text. Most numbers in tables are
 * that short. */
static inline bool fw_read_digits(const char *text, size_t length, double *number) {
  uint64_t whole = 0;
  if (length == 0 || length > 15) return false;
  for (size_t i = 0; i < length; i++) {
    const unsigned digit = (unsigned char)(text[i] - '0');
    if (digit > 9) return false;
    whole = whole * 10 + digit;
  }
  *number = (double)whole;
  return true;
}

#endif
