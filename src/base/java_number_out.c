/* base/java_number_out.c: numbers with the same bytes as Java (JDK 8 … 18) prints them.
 *
 * Until JDK 19, Float.toString and Double.toString did not print the shortest digits. They follow Steele and White,
 * "How to print floating-point numbers accurately", 1990: digit after digit until the remainder is less than half
 * the distance to the neighbours. Java estimates the exponent and uses 32-bit or 64-bit integers where the numbers
 * seem to fit, big integers otherwise. The small integers overflow in ways that show in the digits, and the
 * big-integer code draws a bound differently, so all three are reproduced here step by step: 2e23 is
 * 1.9999999999999998E23, the float 2^83 is 9.6714065E24. */
#include "base/java_number.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bignum.h"
#include "base/number_out.h"
#include "base/powers.h"
#include "base/shortest.h"

enum { MOST_DIGITS = 20 };

/* The magnitude of a float: fraction * 2^(exponent - 52), where the fraction has 53 bits. Java uses this form for
 * floats as well and remembers how many bits are significant. */
typedef struct magnitude {
  uint64_t fraction;
  int exponent;
  int significant; /* 53 or 24, less for subnormal numbers */
} magnitude;

/* 0.d1d2… * 10^exponent, digits as characters */
typedef struct decimal {
  int count;
  int exponent;
  char digits[MOST_DIGITS];
} decimal;

/* `bits` is the encoding, without the sign, of a float with p bits of significand. It is neither 0 nor infinite. */
static magnitude take_magnitude(uint64_t bits, int p, int least_exponent) {
  uint64_t hidden = UINT64_C(1) << (p - 1);
  uint64_t fraction = bits & (hidden - 1);
  int biased = (int)(bits >> (p - 1));
  if (biased > 0) return (magnitude){(hidden | fraction) << (53 - p), least_exponent + biased - 1 + p - 1, p};
  int length = 64 - __builtin_clzll(fraction);
  return (magnitude){fraction << (53 - length), least_exponent + length - 1, length};
}

/* ---- integers up to 2^63 ---- */

/* Java prints these as integers, rounded to the digits that the float has. */
static void integer_digits(magnitude x, decimal *d) {
  uint64_t v = x.exponent > 52 ? x.fraction << (x.exponent - 52) : x.fraction >> (52 - x.exponent);
  int surplus = x.exponent - x.significant - 1, dropped = 0;
  if (surplus >= 2) {
    dropped = fw_floor_log10_pow2(surplus);
    uint64_t unit = fw_powers_of_ten[dropped];
    v = v / unit + (dropped > 0 && v % unit >= unit / 2);
  }
  char text[FW_NUMBER_TEXT];
  d->count = (int)fw_write_u64(text, v);
  d->exponent = d->count + dropped;
  while (d->count > 1 && text[d->count - 1] == '0') d->count--;
  memcpy(d->digits, text, MOST_DIGITS);
}

/* ---- digit after digit ---- */

/* The number is b / s * 10^exponent with b = fraction * 5^b5 * 2^b2 and s = 5^s5 * 2^s2; m = 5^m5 * 2^m2, in the same
 * scale, is half the distance to the neighbours. */
typedef struct scaling {
  uint64_t fraction;
  int bits; /* bits of the fraction */
  int b2, b5, s2, s5, m2, m5;
  int exponent;
} scaling;

/* A product that the compiler must not fuse with a sum: the estimate below must round as Java's does. */
static double product(double a, double b) {
  volatile double c = a * b;
  return c;
}

/* Estimates floor(log10 x); the result may be one too large. Uses a straight line for the logarithm of the fraction,
 * with Java's constants. */
static int estimate_exponent(magnitude x) {
  double fraction = (double)x.fraction / (double)(UINT64_C(1) << 52);
  double log = product(fraction - 1.5, 0.289529654) + 0.176091259 + product(x.exponent, 0.301029995663981);
  int whole = (int)log;
  return whole - (log < whole);
}

static int at_least_zero(int n) {
  return n > 0 ? n : 0;
}

static scaling scale(magnitude x) {
  scaling z;
  int zeros = __builtin_ctzll(x.fraction);
  z.bits = 53 - zeros;
  z.fraction = x.fraction >> zeros;
  int below_point = at_least_zero(z.bits - x.exponent - 1); /* bits of the fraction after the binary point */
  z.exponent = estimate_exponent(x);
  z.b5 = z.m5 = at_least_zero(-z.exponent);
  z.s5 = at_least_zero(z.exponent);
  z.b2 = z.b5 + below_point + x.exponent;
  z.s2 = z.s5 + below_point;
  z.m2 = z.b2 - x.significant;
  z.b2 -= z.bits - 1;
  int common = z.b2 < z.s2 ? z.b2 : z.s2;
  z.b2 -= common;
  z.s2 -= common;
  z.m2 -= common;
  if (z.bits == 1) z.m2--; /* a power of two: the neighbour below is nearer */
  if (z.m2 < 0) {
    z.b2 -= z.m2;
    z.s2 -= z.m2;
    z.m2 = 0;
  }
  return z;
}

static void append_digit(decimal *d, uint32_t digit) {
  assert(d->count < MOST_DIGITS && digit < 10);
  d->digits[d->count++] = (char)('0' + digit);
}

static void round_up(decimal *d) {
  int i = d->count - 1;
  while (i > 0 && d->digits[i] == '9') d->digits[i--] = '0';
  if (d->digits[i] == '9') {
    d->digits[0] = '1';
    d->exponent++;
  } else {
    d->digits[i]++;
  }
}

/* `low`: the remainder is less than m, so the digits suffice. `high`: they would also suffice if the last digit were
 * greater by 1. `half` compares the remainder with half a unit of the last digit. */
static void finish_digits(decimal *d, bool low, bool high, int half) {
  bool odd = d->digits[d->count - 1] & 1;
  if (high && (!low || half > 0 || (half == 0 && odd))) round_up(d);
}

/* Numbers that Java prints with an exponent get at least two digits. */
static bool wants_second_digit(int exponent) {
  return exponent < -3 || exponent >= 8;
}

/* Emulates Java's int or long, which wrap around on overflow. 128 bits replace its big integers where they suffice. */
static FW_ALWAYS_INLINE __int128 wrap_to_width(__int128 v, int width) {
  return width == 32 ? (int32_t)(uint32_t)v : width == 64 ? (int64_t)(uint64_t)v : v;
}

/* n <= 27 */
static uint64_t pow5(int n) {
  uint64_t p = 1;
  while (n-- > 0) p *= 5;
  return p;
}

/* Returns b div s and sets b = 10 (b mod s). For numbers below 10, s is a power of two; otherwise s and b fit 64
 * bits. */
static FW_ALWAYS_INLINE uint32_t next_digit(__int128 *b, __int128 s, const scaling *z) {
  uint32_t q;
  if (z->s5 == 0) {
    q = (uint32_t)(*b >> z->s2);
    *b = 10 * (*b & (s - 1));
  } else {
    q = (uint32_t)((uint64_t)*b / (uint64_t)s);
    *b = 10 * ((uint64_t)*b % (uint64_t)s);
  }
  return q;
}

static FW_ALWAYS_INLINE void digits_in_registers(const scaling *z, int width, decimal *d) {
  __int128 b = ((__int128)z->fraction * pow5(z->b5)) << z->b2;
  __int128 s = (__int128)pow5(z->s5) << z->s2;
  __int128 m = wrap_to_width(((__int128)pow5(z->m5) << z->m2) * 10, width);
  __int128 bound = 10 * s - (width == 128); /* only Java's big integers accept 10 s itself */
  int exponent = z->exponent;
  uint32_t q = next_digit(&b, s, z);
  bool low = b < m;
  bool high = wrap_to_width(b + m, width) > bound;
  if (q == 0 && !high)
    exponent--;
  else
    append_digit(d, q);
  if (wants_second_digit(exponent)) low = high = false;
  while (!low && !high) {
    append_digit(d, next_digit(&b, s, z));
    m = wrap_to_width(10 * m, width);
    low = m <= 0 || b < m;
    high = m <= 0 || wrap_to_width(b + m, width) > bound;
  }
  d->exponent = exponent + 1;
  finish_digits(d, low, high, b > 5 * s ? 1 : b < 5 * s ? -1 : 0);
}

/* a + b >= c */
static bool sum_reaches(const fw_big *a, const fw_big *b, const fw_big *c) {
  fw_big sum = *a;
  fw_big_add(&sum, b);
  return fw_big_compare(&sum, c) >= 0;
}

static void set_product(fw_big *a, uint64_t factor, int fives, int twos) {
  fw_big_set(a, factor);
  fw_big_multiply_pow5(a, fives);
  fw_big_shift_left(a, twos);
}

static void big_digits(const scaling *z, decimal *d) {
  fw_big b, s, m, tens;
  set_product(&s, 1, z->s5, z->s2);
  /* this shift leaves the highest limb of s nearly full, which makes quotients easy, and 10 s does not get another
   * limb */
  int shift = (__builtin_clzll(s.limb[s.used - 1]) + 60) % 64;
  fw_big_shift_left(&s, shift);
  tens = s;
  fw_big_multiply_add(&tens, 10, 0);
  set_product(&b, z->fraction, z->b5, z->b2 + shift);
  set_product(&m, 10, z->m5, z->m2 + shift);
  int exponent = z->exponent;
  uint32_t q = fw_big_divide(&b, &s);
  fw_big_multiply_add(&b, 10, 0);
  bool low = fw_big_compare(&b, &m) < 0, high = sum_reaches(&b, &m, &tens);
  if (q == 0 && !high)
    exponent--;
  else
    append_digit(d, q);
  if (wants_second_digit(exponent)) low = high = false;
  while (!low && !high) {
    q = fw_big_divide(&b, &s);
    fw_big_multiply_add(&b, 10, 0);
    fw_big_multiply_add(&m, 10, 0);
    low = fw_big_compare(&b, &m) < 0;
    high = sum_reaches(&b, &m, &tens);
    append_digit(d, q);
  }
  d->exponent = exponent + 1;
  fw_big_shift_left(&b, 1);
  finish_digits(d, low, high, fw_big_compare(&b, &tens));
}

/* The number of bits of 5^n, as Java counts them. */
static int bits_of_pow5(int n) {
  if (n > 26) return 3 * n;
  return n == 0 ? 0 : 64 - __builtin_clzll(pow5(n));
}

static void fractional_digits(magnitude x, decimal *d) {
  scaling z = scale(x);
  int bits_b = z.bits + z.b2 + bits_of_pow5(z.b5);
  int bits_tens = z.s2 + 1 + bits_of_pow5(z.s5 + 1);
  int widest = bits_b > bits_tens ? bits_b : bits_tens;
  d->count = 0;
  if (widest < 32)
    digits_in_registers(&z, 32, d);
  else if (widest < 64)
    digits_in_registers(&z, 64, d);
  else if (widest < 120 && z.s5 == 0 && z.b5 <= 27)
    digits_in_registers(&z, 128, d);
  else
    big_digits(&z, d);
}

static __attribute__((noinline)) void find_digits(magnitude x, decimal *d) {
  int bits = 53 - __builtin_ctzll(x.fraction);
  bool integer = x.exponent >= bits - 1;
  if (integer && x.exponent <= 62)
    integer_digits(x, d);
  else
    fractional_digits(x, d);
}

/* ---- layout ---- */

static char *put_text(char *out, const char *text, int n) {
  memcpy(out, text, (size_t)n);
  return out + n;
}

static char *put_zeros(char *out, int n) {
  if (n <= 0) return out;
  memset(out, '0', (size_t)n);
  return out + n;
}

/* Writes ddd.ddd or 0.00ddd for 1e-3 <= x < 1e7, else d.dddE-7. At least one digit follows the point. */
static char *put_decimal(char *out, const decimal *d) {
  bool plain = d->exponent >= -2 && d->exponent <= 7;
  int whole = plain ? at_least_zero(d->exponent) : 1;
  int copied = whole < d->count ? whole : d->count;
  if (whole == 0) *out++ = '0';
  out = put_text(out, d->digits, copied);
  out = put_zeros(out, whole - copied);
  *out++ = '.';
  if (plain) out = put_zeros(out, -d->exponent);
  out = d->count > copied ? put_text(out, d->digits + copied, d->count - copied) : put_zeros(out, 1);
  if (plain) return out;
  *out++ = 'E';
  return out + fw_write_i64(out, d->exponent - 1);
}

/* ---- the fast path ---- */

/* Below 2^p Java's digits are the shortest digits and, among these, the nearest to x, with the same rule for ties:
 * - Java takes digits until the remainder is less than m, half the distance to the neighbours, from either side.
 *   Only the bounds (x - m and x + m themselves) are treated differently, and no shortest digits lie on them: x has
 *   one binary place after the point fewer than they have, so it has one decimal fewer.
 * - With both neighbours at the same distance (x is not a power of two), b, s and m depend on the exponents alone,
 *   not on how many bits the fraction has: s = 2^(p - e + decExp) and m = 5^-decExp below 1; s = 10^decExp * 2^(p -
 *   e) and m = 1 from 1 on, for 2^e <= x < 2^(e+1). The last m is the first 10^i m that is at least half of 10 s.
 *   For every e and decExp that occur, either b + m fits the integer type, or m does not fit and becomes negative;
 *   Java then takes low and high as true, which is correct. The one exception (floats in [0.09, 0.125), where m
 *   wraps to more than half of 10 s) does not change what is rounded up.
 * The minimum of two digits before an exponent does not matter: the second digit is 0 if one suffices. */
static FW_ALWAYS_INLINE bool has_shortest_digits(fw_binary x, int p) {
  return x.exponent <= 0 && x.significand > UINT64_C(1) << (p - 1); /* normal, not a power of two, below 2^p */
}

/* Like put_decimal, but writes whole words; it may overwrite 28 bytes. */
static FW_ALWAYS_INLINE char *put_shortest(char *out, fw_decimal d, int count) {
  int written = fw_count_digits(d.digits);
  int first = d.exponent + written - 1; /* power of ten of the first digit */
  fw_digit_text text = fw_format_digits(d.digits * fw_powers_of_ten[count - written], count);
  int n = fw_significant_digits(&text);
  if (first < 0 && first >= -3) {
    fw_put_le64(out, FW_ZEROS);
    out[1] = '.';
    fw_put_text(out + 1 - first, &text);
    return out + 1 - first + n;
  }
  bool plain = first >= 0 && first < 7;
  int whole = plain ? first + 1 : 1;
  fw_put_text_with_point(out, &text, whole);
  out += n > whole ? n + 1 : whole + 2;
  if (plain) return out;
  *out++ = 'E';
  return out + fw_write_i64(out, first);
}

/* ---- both paths ---- */

/* `bits` is the encoding, without the sign, of a float with p bits of significand. */
static FW_ALWAYS_INLINE size_t write_java(char *out, uint64_t bits, bool negative, int p, int least_exponent,
                                          bool exactly) {
  uint64_t infinity = (UINT64_C(1) << (p == 24 ? 31 : 63)) - (UINT64_C(1) << (p - 1));
  char *start = out;
  if (bits > infinity) return (size_t)(put_text(out, "NaN", 3) - start);
  *out = '-';
  out += negative;
  if (bits == infinity) return (size_t)(put_text(out, "Infinity", 8) - start);
  if (bits == 0) return (size_t)(put_text(out, "0.0", 3) - start);
  fw_binary x = fw_decompose(bits, p, least_exponent);
  if (!exactly && fw_is_small_integer(x) && x.significand >> -x.exponent < 10000000) {
    out += fw_write_u64(out, x.significand >> -x.exponent);
    return (size_t)(put_text(out, ".0", 2) - start);
  }
  if (!exactly && has_shortest_digits(x, p))
    return (size_t)(put_shortest(out, fw_shortest(x, p == 53), p == 53 ? 17 : 9) - start);
  decimal d;
  find_digits(take_magnitude(bits, p, least_exponent), &d);
  return (size_t)(put_decimal(out, &d) - start);
}

static FW_ALWAYS_INLINE size_t write_float(char *out, float value, bool exactly) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return write_java(out, bits & 0x7fffffff, bits >> 31, 24, -149, exactly);
}

static FW_ALWAYS_INLINE size_t write_double(char *out, double value, bool exactly) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return write_java(out, bits & (UINT64_MAX >> 1), bits >> 63, 53, -1074, exactly);
}

size_t fw_java_float(char *out, float value) {
  return write_float(out, value, false);
}

size_t fw_java_double(char *out, double value) {
  return write_double(out, value, false);
}

size_t fw_java_float_stepwise(char *out, float value) {
  return write_float(out, value, true);
}

size_t fw_java_double_stepwise(char *out, double value) {
  return write_double(out, value, true);
}

/* ---- DecimalFormat("#.######") ---- */

enum { DECIMALS = 6 };

/* Compares the decimal with the number that it was made from. */
static int compare_with_exact(const decimal *d, magnitude x) {
  uint64_t digits = 0;
  for (int i = 0; i < d->count; i++) digits = digits * 10 + (uint64_t)(d->digits[i] - '0');
  fw_big decimal_side, binary_side;
  fw_big_set(&decimal_side, digits);
  fw_big_set(&binary_side, x.fraction);
  return fw_big_compare_scaled(&decimal_side, d->exponent - d->count, &binary_side, x.exponent - 52);
}

/* Whether the first `kept` digits must be rounded up. Java rounds the digits of Double.toString half to even, but
 * decides by the exact value when the digits are exactly in the middle. */
static bool rounds_up(const decimal *d, int kept, magnitude x) {
  int i = kept + 1;
  if (d->digits[kept] != '5') return d->digits[kept] > '5';
  while (i < d->count && d->digits[i] == '0') i++;
  if (i < d->count) return true;
  int order = compare_with_exact(d, x);
  if (order != 0) return order < 0;
  return d->digits[kept - 1] & 1;
}

/* Rounds a number that has digits before the point to six decimals. */
static void cut_decimals(decimal *d, magnitude x) {
  int kept = d->exponent + DECIMALS;
  if (kept < d->count) {
    bool up = rounds_up(d, kept, x);
    d->count = kept;
    if (up) round_up(d);
  }
  while (d->digits[d->count - 1] == '0') d->count--;
}

static char *put_large_decimal6(char *out, magnitude x) {
  decimal d;
  find_digits(x, &d);
  cut_decimals(&d, x);
  int whole = d.exponent, copied = whole < d.count ? whole : d.count;
  out = put_text(out, d.digits, copied);
  out = put_zeros(out, whole - copied);
  if (d.count == copied) return out;
  *out++ = '.';
  return put_text(out, d.digits + copied, d.count - copied);
}

/* Below 2^29 a midpoint between two numbers of six decimals has at most 16 digits, so the digits of Double.toString
 * never lie on the other side of a midpoint than the number itself. The result is therefore x * 10^6, rounded half
 * to even. */
static char *put_small_decimal6(char *out, magnitude x) {
  int drop = 52 - x.exponent; /* bits after the binary point */
  fw_u128 product = (fw_u128)x.fraction * 1000000;
  uint64_t millionths = 0;
  if (drop < 74) { /* otherwise it is less than half of the last decimal */
    fw_u128 half = (fw_u128)1 << (drop - 1), rest = product & (2 * half - 1);
    millionths = (uint64_t)(product >> drop);
    millionths += rest > half || (rest == half && (millionths & 1));
  }
  out += fw_write_u64(out, millionths / 1000000);
  uint64_t decimals = millionths % 1000000;
  if (decimals == 0) return out;
  char text[FW_NUMBER_TEXT];
  fw_write_u64(text, 1000000 + decimals);
  text[0] = '.';
  int n = 1 + DECIMALS;
  while (text[n - 1] == '0') n--;
  return put_text(out, text, n);
}

size_t fw_java_decimal6(char *out, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  char *start = out;
  if (value != value) return (size_t)(put_text(out, "NaN", 3) - start);
  if (bits >> 63) *out++ = '-';
  bits &= UINT64_MAX >> 1;
  if (bits == UINT64_C(0x7ff) << 52) return (size_t)(put_text(out, "\x1e", 1) - start);
  if (bits == 0) return (size_t)(put_text(out, "0", 1) - start);
  magnitude x = take_magnitude(bits, 53, -1074);
  return (size_t)((x.exponent < 29 ? put_small_decimal6(out, x) : put_large_decimal6(out, x)) - start);
}
