/* base/number_in.h: numbers from text, exactly.
 *
 * Each reads the longest number that starts at s and returns the place after it, or NULL when no number starts there
 * (*value is then untouched). Bytes from `end` on are never read. No locale, no errno, no leading blanks.
 *
 * floats: [+-] digits [. digits] [(e|E) [+-] digits], with at least one digit before or after the point; an e that no
 *   exponent follows is not part of the number (1e is "1", then "e"). Or [+-] and, in any case of letters, inf,
 *   infinity, nan, nan(letters, digits, _). Any number of digits; the result is the nearest float or double, ties to
 *   even; too large gives infinity, too small 0, as strtof and strtod do. No hexadecimal.
 * integers: [+-] digits (u32, u64: an optional + only). *overflow says that the digits do not fit; the
 *   place after them is returned all the same, *value is then untouched. */
#ifndef FW_BASE_NUMBER_IN_H
#define FW_BASE_NUMBER_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *fw_read_f32(const char *s, const char *end, float *value);
const char *fw_read_f64(const char *s, const char *end, double *value);
/* Reads a text that is up to 15 digits, or up to 7 and a point: what nearly all cells of tables are. Both the digits
 * and the power of ten are exact, so their quotient is the nearest double. False: something else, *value may be
 * anything. The 8 bytes before s are readable. */
bool fw_read_short(const char *s, const char *end, double *value);
const char *fw_read_u32(const char *s, const char *end, uint32_t *value, bool *overflow);
const char *fw_read_u64(const char *s, const char *end, uint64_t *value, bool *overflow);
const char *fw_read_i32(const char *s, const char *end, int32_t *value, bool *overflow);
const char *fw_read_i64(const char *s, const char *end, int64_t *value, bool *overflow);

/* Whether all of the text is digits, at most 15 of them: the number that they make. A short way for what most numbers
 * in tables are. */
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
