/* base/json_in_floats.c: reads many numbers of a JSON array at once. It is a file of its own so that programs that
 * do not read vectors do not link it. */
#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "base/json_in.h"
#include "base/number_in.h"

#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

enum {
  PLAIN_BYTES = 40, /* readable bytes that the fast path needs */
  MOST_WHOLE = 8,   /* digits before the point */
  MOST_DIGITS = 19  /* digits that fit 64 bits */
};

static bool is_digit(const char *p, const char *end) {
  return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

/* ---- Plain numbers: -12.345, without an exponent ---- */

/* Appends the digits at p, at most 23, to *value (modulo 2^64) and returns their end. Takes eight characters at a
 * time, as base/number_in.c explains. */
static const char *read_fraction(const char *p, uint64_t *value) {
  static const uint32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const uint64_t pair = UINT64_C(0x000000ff000000ff);
  unsigned count = 8;
  for (unsigned words = 0; words < 3 && count == 8; words++, p += count) {
    uint64_t word = fw_get_le64(p) ^ BYTES(0x30);
    const uint64_t others = (word | (word + BYTES(0x76))) & BYTES(0x80);
    if (others != 0) {
      count = (unsigned)__builtin_ctzll(others) >> 3;
      if (count == 0) return p;
      word <<= 64 - 8 * count;
    }
    word = word * 10 + (word >> 8);
    word = ((word & pair) * UINT64_C(0x000f424000000064) + ((word >> 16) & pair) * UINT64_C(0x0000271000000001)) >> 32;
    *value = *value * tens[count] + word;
  }
  return p;
}

/* Computes the float nearest to w / 10^q. The quotient of doubles has an error of less than two of its last bits, so
 * it gives the same float unless it lies that close to the midpoint of two floats; then the function returns false. */
static bool divide_by_power(int64_t w, size_t q, float *value) {
  static const double tens[MOST_DIGITS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                               1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
  const double quotient = (double)w / tens[q];
  uint64_t bits;
  memcpy(&bits, &quotient, sizeof bits);
  const uint64_t rest = bits & ((UINT64_C(1) << 29) - 1), middle = UINT64_C(1) << 28;
  *value = (float)quotient;
  return rest + 4 < middle || rest > middle + 4;
}

/* Reads the number at p, where PLAIN_BYTES are readable, and returns its end; NULL if it is not a plain number. */
static const char *read_plain(const char *p, float *value) {
  const bool is_negative = *p == '-';
  p += is_negative;
  const char *const first = p;
  uint64_t w = (unsigned char)(*p - '0');
  if (w > 9) return NULL;
  if (w == 0)
    p++;
  else
    for (unsigned digit; (digit = (unsigned char)(*++p - '0')) <= 9 && p - first < MOST_WHOLE;) w = w * 10 + digit;
  if (*p != '.') return NULL;
  const size_t whole = w == 0 ? 0 : (size_t)(p - first);
  const char *const fraction = p + 1;
  p = read_fraction(fraction, &w);
  const size_t decimals = (size_t)(p - fraction);
  if (decimals == 0 || decimals + whole > MOST_DIGITS || (int64_t)w < 0 ||
      !divide_by_power((int64_t)w, decimals, value))
    return NULL;
  if (is_negative) *value = -*value;
  return *p == ',' || *p == ']' || *p == ' ' ? p : NULL;
}

/* ---- All other numbers ---- */

/* fw_read_f32 accepts more than JSON allows: inf, +1, 01, .5, 1. */
static bool begins_as_json(const char *p, const char *end) {
  p += p < end && *p == '-';
  if (!is_digit(p, end)) return false;
  if (*p++ == '0' && is_digit(p, end)) return false;
  while (is_digit(p, end)) p++;
  return p == end || *p != '.' || is_digit(p + 1, end);
}

/* Reads the number at p and returns its end; NULL if it is not a number or not a finite float. */
static const char *read_number(const char *p, const char *end, float *value) {
  if (!begins_as_json(p, end)) return NULL;
  p = fw_read_f32(p, end, value);
  if (p < end && !strchr(",}] \t\r\n", *p)) return NULL;
  return isfinite(*value) ? p : NULL;
}

/* Stops before anything unusual; the function for single values then reports what is wrong there. */
size_t furrow_json_f32_elements(furrow_json *json, float *values, size_t capacity) {
  fw_json_step *step = json->depth > 0 ? &json->steps[json->depth - 1] : NULL;
  const char *const end = json->end;
  size_t count = 0;
  if (!step || step->index == -2) return 0; /* not in an array */
  for (; count < capacity; count++) {
    const char *p = skip_blanks(json->at, end);
    if (!json->fresh) {
      if (p == end || *p != ',') break;
      p = skip_blanks(p + 1, end);
    }
    const char *after = end - p >= PLAIN_BYTES ? read_plain(p, &values[count]) : NULL;
    if (!after) after = read_number(p, end, &values[count]);
    if (!after) break;
    json->fresh = false;
    json->value = p;
    json->at = after;
  }
  step->index += (int64_t)count;
  return count;
}
