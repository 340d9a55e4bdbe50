/* base/java_run.c: runs of floats and doubles as Java prints them, where that is quick and never branches.
 *
 * Between 2^-26 and 2^p Java's digits are the shortest ones (java_number_out.c says why); zero and powers of two need
 * no exception there, which leaves one range to test for. For x = m * 2^-i and 10^k just not above 2^-i, x / 10^k is m
 * * fw_decimal_scales[i] without error: 5^-k has at most 56 bits. So one product gives the digits s in front of the
 * point and what lies behind it, and all comparisons are exact.
 *
 * A number takes a long chain of operations that depend on each other, and a processor looks only so far ahead. So a
 * run goes through two short loops (digits as an integer, then as text) and a third one, fw_java_put, rather than
 * number by number: at any time several chains are at work. */
#include "base/java_number.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/shortest.h"

/* ---- digits ---- */

/* 10 * tens + last, in units of 10^exponent */
typedef struct digits {
  uint64_t tens; /* 6 to 8 digits of a float, 15 or 16 of a double */
  uint8_t last;
  int8_t exponent;
} digits;

/* x = m * 2^-i. A multiple of ten in the interval that reads back to x, up to half a place to each side, is shorter
 * than all the others; if there is none the nearest integer is taken, ties to even. It is never the next multiple of
 * ten. */
static FW_ALWAYS_INLINE digits find_digits(uint64_t m, unsigned i, bool wide) {
  const uint64_t unit = UINT64_C(1) << 60, scale = fw_decimal_scales[i];
  const fw_u128 product = (fw_u128)(m << 4) * scale;
  const uint64_t s = (uint64_t)(product >> 64), behind = (uint64_t)product;
  const uint64_t tens = wide ? s / 10 : (uint32_t)s / 10, rest = s - 10 * tens;
  const uint64_t past = rest * unit | behind >> 4; /* x is so much above the multiple of ten, in 2^-60 */
  const uint64_t before = 10 * unit - past;
  const uint64_t half = scale / 2, least = past < before ? past : before;
  const uint64_t nearest = rest + (behind > (UINT64_C(1) << 63) - (rest & 1));
  return (digits){.tens = tens + (before < half),
                  .last = (uint8_t)(nearest & (0 - (uint64_t)(least >= half))),
                  .exponent = (int8_t)fw_floor_log10_pow2(-(int)i)};
}

/* Where in fw_decimal_scales a float is found whose bits, without the sign, are these. */
static FW_ALWAYS_INLINE int64_t place_of(uint64_t bits, int p) {
  return (p == 53 ? 1075 : 150) - (int64_t)(bits >> (p - 1));
}

static FW_ALWAYS_INLINE digits digits_of(uint64_t bits, int p) {
  const uint64_t hidden = UINT64_C(1) << (p - 1), i = (uint64_t)place_of(bits, p);
  return find_digits(hidden | (bits & (hidden - 1)), i < FW_DECIMAL_SCALES ? (unsigned)i : FW_DECIMAL_SCALES, p == 53);
}

/* Negative if the bits are not those of 0 or of a float between 2^-26 and 2^p. */
static FW_ALWAYS_INLINE int64_t oddness(uint64_t bits, int p) {
  const int64_t i = place_of(bits, p);
  return i | ((p + 25 - i) & -(int64_t)bits);
}

/* ---- text ---- */

/* Of eight digits in the bytes of a word and one more: the place of the last one that is not 0, or 0. Digits take the
 * lower half of a byte, so moved down by half of one they leave room for the ninth. */
static FW_ALWAYS_INLINE int last_place(uint64_t word, uint64_t next) {
  return ((63 ^ __builtin_clzll(word >> 4 | next << 60 | 1)) + 4) >> 3;
}

static FW_ALWAYS_INLINE int choose(bool condition, int a, int b) {
  return b + ((a - b) & -(int)condition);
}

/* Two words, moved down by `bits`: the lower one. */
static FW_ALWAYS_INLINE uint64_t shifted(uint64_t low, uint64_t high, int bits) {
  return low >> bits | high << 1 << (63 - bits);
}

/* Lets the text of number i begin with its first digit that is not 0, which is one of the first three. */
static FW_ALWAYS_INLINE void align_digits(fw_java_run *run, size_t i, bool wide) {
  uint64_t high = run->words[0][i], last = run->last[i], low = wide ? run->words[1][i] : last;
  const int zeros = __builtin_ctzll(high | 0x10000) & 24, most = wide ? 17 : 9;
  high = shifted(high, low, zeros);
  low = wide ? shifted(low, last, zeros) : low >> zeros;
  last >>= zeros;
  const int places = last_place(high, wide ? 0 : low);
  run->words[0][i] = high | FW_ZEROS;
  run->words[1][i] = low | FW_ZEROS;
  run->last[i] = (uint8_t)last;
  run->count[i] = (uint8_t)(1 + (wide ? choose((low | last) != 0, 8 + last_place(low, last), places) : places));
  run->first[i] = (int8_t)choose(high != 0, run->first[i] + most - 1 - zeros / 8, 0);
}

static FW_ALWAYS_INLINE uint64_t bits_at(const void *values, size_t i, bool wide) {
  uint64_t bits;
  uint32_t narrow;
  memcpy(&narrow, (const float *)values + i, sizeof narrow);
  if (!wide) return narrow & 0x7fffffff;
  memcpy(&bits, (const double *)values + i, sizeof bits);
  return bits & (UINT64_MAX >> 1);
}

static FW_ALWAYS_INLINE void make_run(fw_java_run *run, const void *values, size_t count, bool wide) {
  const uint64_t word = 100000000;
  const int p = wide ? 53 : 24;
  int64_t odd = 0;
  run->values = values;
  for (size_t i = 0; i < count; i++) {
    const uint64_t bits = bits_at(values, i, wide);
    const digits d = digits_of(bits, p);
    odd |= oddness(bits, p);
    run->words[0][i] = wide ? d.tens / word : d.tens;
    if (wide) run->words[1][i] = d.tens % word;
    run->last[i] = d.last;
    run->first[i] = d.exponent;
  }
  for (int w = 0; w <= wide; w++)
    for (size_t i = 0; i < count; i++) run->words[w][i] = fw_eight_digits(run->words[w][i]);
  for (size_t i = 0; i < count; i++) align_digits(run, i, wide);
  for (size_t i = 0; i < count && odd < 0; i++)
    if (oddness(bits_at(values, i, wide), p) < 0) run->first[i] = FW_JAVA_ODD;
}

void fw_java_floats(fw_java_run *run, const float *values, size_t count) {
  make_run(run, values, count, false);
}

void fw_java_doubles(fw_java_run *run, const double *values, size_t count) {
  make_run(run, values, count, true);
}

/* ---- layout ---- */

#define BYTES(n) ((UINT64_C(1) << 8 * (n)) - 1) /* n < 8 */
/* 0.00ddd with n zeros */
#define SMALL(n) \
  { 0, ~BYTES((n) + 1), (FW_ZEROS & BYTES((n) + 1)) - (('0' - '.') << 8), 8 * ((n) + 1), (n) + 1, 1, "", 0 }
/* dd.ddd with n digits before the point */
#define PLAIN(n) \
  { BYTES(n), ~(BYTES(n) << 8 | 255), (uint64_t)'.' << 8 * (n), 8, 1, (n) + 1, "", 0 }
#define POWER(text) \
  { BYTES(1), ~BYTES(2), (uint64_t)'.' << 8, 8, 1, 2, text, sizeof text - 1 }

const fw_java_layout fw_java_layouts[24] = {
    POWER("E-8"), POWER("E-7"), POWER("E-6"), POWER("E-5"), POWER("E-4"), SMALL(3),     SMALL(2),     SMALL(1),
    PLAIN(1),     PLAIN(2),     PLAIN(3),     PLAIN(4),     PLAIN(5),     PLAIN(6),     PLAIN(7),     POWER("E7"),
    POWER("E8"),  POWER("E9"),  POWER("E10"), POWER("E11"), POWER("E12"), POWER("E13"), POWER("E14"), POWER("E15"),
};
