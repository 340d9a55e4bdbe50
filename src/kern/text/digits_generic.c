/* kern/text/digits_generic.c: digits of floats and doubles, without branches that depend on them.
 *
 * Between 2^-23 and 2^p Java's digits are the shortest ones (java_number_out.c says why), including powers of two.
 * For x = m * 2^-i and the largest 10^k that is not above 2^-i, x / 10^k is m * fw_decimal_scales[i] without error,
 * since 5^-k has at most 56 bits there. So one product gives the digits and the remainder after them, and all
 * comparisons are exact. */
#include "base/powers.h"
#include "kern/text/digits.h"

/* ---- digits as an integer ---- */

/* 10 * tens + last */
typedef struct integer {
  uint64_t tens; /* 6 to 8 digits of a float, 15 or 16 of a double */
  uint64_t last;
} integer;

/* `past` is x less 10 * tens, in 2^-point; `half` is half the distance to the neighbours. A multiple of ten within
 * that distance reads back to x and is shorter than all other candidates; if there is none, the nearest integer is
 * taken, ties to even, which is never the next multiple of ten. */
static FW_ALWAYS_INLINE integer choose(uint64_t tens, uint64_t past, uint64_t half, int point) {
  const uint64_t before = (UINT64_C(10) << point) - past, least = past < before ? past : before;
  const uint64_t rest = past >> point, middle = UINT64_C(1) << (point - 1);
  const uint64_t nearest = (past + middle - 1 + (rest & 1)) >> point;
  return (integer){tens + (before < half), nearest & (0 - (uint64_t)(least >= half))};
}

/* The scales of floats have 40 bits, so everything fits a word. */
static FW_ALWAYS_INLINE integer choose_float(uint64_t m, uint64_t scale) {
  const int point = 36;
  const uint64_t product = m * (scale >> 24), tens = (uint32_t)(product >> point) / 10;
  return choose(tens, product - ((10 * tens) << point), scale >> 25, point);
}

static FW_ALWAYS_INLINE integer choose_double(uint64_t m, uint64_t scale) {
  const int point = 59; /* the product is a multiple of 2^-58 */
  const fw_u128 product = (fw_u128)(m << 4) * scale;
  const uint64_t s = (uint64_t)(product >> 64), tens = s / 10;
  return choose(tens, (s - 10 * tens) << point | (uint64_t)product >> (64 - point), scale >> 2, point);
}

/* The index in fw_decimal_scales of the float with these bits (without the sign). */
static FW_ALWAYS_INLINE int64_t place_of(uint64_t bits, int p) {
  return (p == 53 ? 1075 : 150) - (int64_t)(bits >> (p - 1));
}

/* Negative unless the bits encode 0 or a float between 2^-23 and 2^p. */
static FW_ALWAYS_INLINE int64_t oddness(uint64_t bits, int p) {
  const int64_t i = place_of(bits, p);
  return i | ((p + 22 - i) & -(int64_t)bits);
}

/* ---- single digits ---- */

/* Shifts two words down by `bits`; returns the lower one. */
static FW_ALWAYS_INLINE uint64_t shifted(uint64_t low, uint64_t high, int bits) {
  return low >> bits | high << 1 << (63 - bits);
}

/* Removes the leading zeros of number i; its first nonzero digit is one of the first three. */
static FW_ALWAYS_INLINE void align_digits(fw_java_run *run, size_t i, bool wide) {
  const uint64_t high = run->words[0][i], low = run->words[1][i], last = wide ? run->last[i] : 0;
  const int zeros = __builtin_ctzll(high | 0x10000) & 24;
  run->words[0][i] = shifted(high, low, zeros);
  run->words[1][i] = wide ? shifted(low, last, zeros) : low >> zeros;
  if (wide) run->last[i] = (uint8_t)(last >> zeros);
  run->first[i] = (run->first[i] - zeros / 8) & (0 - (int64_t)(high != 0));
}

static FW_ALWAYS_INLINE uint64_t bits_at(const void *values, size_t i, bool wide) {
  uint64_t bits;
  uint32_t narrow;
  if (wide) {
    memcpy(&bits, (const double *)values + i, sizeof bits);
    return bits & (UINT64_MAX >> 1);
  }
  memcpy(&narrow, (const float *)values + i, sizeof narrow);
  return narrow & 0x7fffffff;
}

static FW_ALWAYS_INLINE void take_integer(fw_java_run *run, size_t i, uint64_t bits, bool wide) {
  const uint64_t word = 100000000;
  const int p = wide ? 53 : 24;
  const uint64_t hidden = UINT64_C(1) << (p - 1), m = hidden | (bits & (hidden - 1));
  const uint64_t place = (uint64_t)place_of(bits, p), at = place < FW_DECIMAL_SCALES ? place : FW_DECIMAL_SCALES;
  const integer d = wide ? choose_double(m, fw_decimal_scales[at]) : choose_float(m, fw_decimal_scales[at]);
  run->words[0][i] = wide ? d.tens / word : d.tens;
  run->words[1][i] = wide ? d.tens % word : d.last;
  if (wide) run->last[i] = (uint8_t)d.last;
  run->first[i] = fw_floor_log10_pow2(-(int)at) + (wide ? 16 : 8);
}

static FW_ALWAYS_INLINE void fill_run(fw_java_run *run, const void *values, size_t count, bool wide) {
  int64_t odd = 0;
  run->values = values;
  for (size_t i = 0; i < count; i++) {
    const uint64_t bits = bits_at(values, i, wide);
    odd |= oddness(bits, wide ? 53 : 24);
    take_integer(run, i, bits, wide);
  }
  for (size_t i = 0; i < count; i++) run->words[0][i] = fw_eight_digits(run->words[0][i]);
  for (size_t i = 0; i < count && wide; i++) run->words[1][i] = fw_eight_digits(run->words[1][i]);
  for (size_t i = 0; i < count; i++) align_digits(run, i, wide);
  for (size_t i = 0; i < count && odd < 0; i++)
    if (oddness(bits_at(values, i, wide), wide ? 53 : 24) < 0) run->first[i] = FW_JAVA_ODD;
}

static void fill_floats(fw_java_run *run, const float *values, size_t count) {
  fill_run(run, values, count, false);
}

static void fill_doubles(fw_java_run *run, const double *values, size_t count) {
  fill_run(run, values, count, true);
}

void fw_digits_fill_generic(fw_digits *digits) {
  digits->floats = fill_floats;
  digits->doubles = fill_doubles;
}

/* ---- layout ---- */

#define BYTES(n) ((UINT64_C(1) << 8 * (n)) - 1) /* n < 8 */
#define DOT(n) ((uint64_t)'.' << 8 * (n))
/* 0.00ddd with n zeros; dd.ddd with n digits before the point; d.dddE-5 */
#define SMALL(n) \
  { 0, ~BYTES((n) + 1), (FW_ZEROS & BYTES((n) + 1)) - (('0' - '.') << 8), 8 * ((n) + 1), (n) + 1, 1, 0, "" }
#define PLAIN(n) \
  { BYTES(n), ~(BYTES(n) << 8 | 255), DOT(n), 8, 1, (n) + 1, 0, "" }
#define POWER(text) \
  { BYTES(1), ~BYTES(2), DOT(1), 8, 1, 2, sizeof text - 1, text }

const fw_java_layout fw_java_layouts[23] = {
    POWER("E-7"), POWER("E-6"), POWER("E-5"), POWER("E-4"), SMALL(3),     SMALL(2),     SMALL(1),     PLAIN(1),
    PLAIN(2),     PLAIN(3),     PLAIN(4),     PLAIN(5),     PLAIN(6),     PLAIN(7),     POWER("E7"),  POWER("E8"),
    POWER("E9"),  POWER("E10"), POWER("E11"), POWER("E12"), POWER("E13"), POWER("E14"), POWER("E15"),
};
