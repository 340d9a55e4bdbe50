/* base/number_out.c: numbers to text.
 *
 * Shortest digits: Giulietti, "The Schubfach way to render doubles", 2020, on the table of base/powers.h: of the
 * decimal numbers that read back to x, one with the fewest digits is found among four candidates by comparing integers.
 * A fixed count of digits: x * 10^k, cut exactly by fw_scale and rounded to even as printf does. */
#include "base/number_out.h"

#include <stdbool.h>
#include <string.h>

#include "base/endian.h"
#include "base/powers.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define ZEROS UINT64_C(0x3030303030303030) /* "00000000" */

/* A float taken apart: significand * 2^exponent. */
typedef struct binary {
  uint64_t significand;
  int exponent;
  bool closer; /* the next smaller one is nearer than the next greater: the significand is a power of two */
} binary;

/* digits * 10^exponent */
typedef struct decimal {
  uint64_t digits;
  int exponent;
} decimal;

/* ---- integers ---- */

static ALWAYS_INLINE int count_digits(uint64_t v) {
  int guess = ((64 - __builtin_clzll(v | 1)) * 1233) >> 12; /* bits * log10(2): the count or one less */
  return guess + (v >= fw_powers_of_ten[guess]) + (v == 0);
}

/* The text of eight digits, the first one in the lowest byte: the number is cut into fours, pairs and digits, all of a
 * kind at once. x / 100 is x * 10486 >> 20 for x < 10000, x / 10 is x * 103 >> 10 for x < 100. */
static ALWAYS_INLINE uint64_t eight_digits(uint32_t v) {
  uint64_t fours = v / 10000 | (uint64_t)(v % 10000) << 32;
  uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
  uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
  uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000f000f000f000f);
  return (tens | (pairs - tens * 10) << 8) | ZEROS;
}

/* Writes v with n digits, 0 < n <= 20, and up to seven bytes more, in whole words. */
static ALWAYS_INLINE void put_digits(char *out, uint64_t v, int n) {
  const uint64_t word = 100000000;
  if (n > 16) {
    fw_put_le64(out, eight_digits((uint32_t)(v / (word * word))) >> (8 * (24 - n)));
    out += n - 16;
    v %= word * word;
    n = 16;
  }
  if (n > 8) {
    fw_put_le64(out, eight_digits((uint32_t)(v / word)) >> (8 * (16 - n)));
    out += n - 8;
    v %= word;
    n = 8;
  }
  fw_put_le64(out, eight_digits((uint32_t)v) >> (8 * (8 - n)));
}

size_t fw_write_u64(char *out, uint64_t value) {
  int n = count_digits(value);
  put_digits(out, value, n);
  return (size_t)n;
}

size_t fw_write_i64(char *out, int64_t value) {
  if (value >= 0) return fw_write_u64(out, (uint64_t)value);
  *out = '-';
  return 1 + fw_write_u64(out + 1, 0 - (uint64_t)value);
}

/* ---- layout ---- */

static ALWAYS_INLINE char *put_exponent(char *out, int exponent) {
  unsigned magnitude = exponent < 0 ? (unsigned)-exponent : (unsigned)exponent;
  *out++ = 'e';
  *out++ = exponent < 0 ? '-' : '+';
  if (magnitude >= 100) *out++ = (char)('0' + magnitude / 100);
  *out++ = (char)('0' + magnitude / 10 % 10);
  *out++ = (char)('0' + magnitude % 10);
  return out;
}

/* 17 digits as text, the first one lowest in word[0]; zeros fill the last word. */
typedef struct digit_text {
  uint64_t word[3];
} digit_text;

/* The digits of v, which has `count` of them: 17, or 9 (floats, which saves a division). */
static ALWAYS_INLINE digit_text spell(uint64_t v, int count) {
  if (count == 9) return (digit_text){{eight_digits((uint32_t)(v / 10)), ZEROS + v % 10, ZEROS}};
  uint32_t low = (uint32_t)(v % 1000000000);
  return (digit_text){{eight_digits((uint32_t)(v / 1000000000)), eight_digits(low / 10), ZEROS + low % 10}};
}

/* How many digits there are up to the last one that is not 0; the first one is not. */
static ALWAYS_INLINE int significant_digits(const digit_text *t) {
  int in_first = 8 - __builtin_clzll(t->word[0] ^ ZEROS) / 8;
  int in_second = 16 - __builtin_clzll((t->word[1] ^ ZEROS) | 1) / 8;
  int n = t->word[1] != ZEROS ? in_second : in_first;
  return t->word[2] != ZEROS ? 17 : n;
}

static ALWAYS_INLINE void put_text(char *out, const digit_text *t) {
  for (int i = 0; i < 3; i++) fw_put_le64(out + 8 * i, t->word[i]);
}

/* The text with a point after the first `whole` digits, 0 < whole < 17: all of it a place further on, then those
 * digits again where they belong; one word has the point inside. */
static ALWAYS_INLINE void put_text_with_point(char *out, const digit_text *t, int whole) {
  put_text(out + 1, t);
  if (whole >= 8) fw_put_le64(out, t->word[0]);
  if (whole >= 16) fw_put_le64(out + 8, t->word[1]);
  uint64_t word = t->word[whole / 8];
  int bit = whole % 8 * 8;
  uint64_t before = (UINT64_C(1) << bit) - 1;
  uint64_t point = UINT64_C(0xff) << bit;
  word = (word & before) | ((word << 8) & ~(before | point)) | ((uint64_t)'.' << bit);
  fw_put_le64(out + whole / 8 * 8, word);
}

/* Writes digits * 10^exponent, not more than `count` digits, without zeros at the end: plain if the power of ten of the
 * first digit is in [plain_from, plain_below), else with an exponent. It all goes in whole words, without looking at
 * memory again, and touches 31 bytes at most. */
static ALWAYS_INLINE char *put_decimal(char *out, decimal d, int count, int plain_from, int plain_below) {
  int written = count_digits(d.digits);
  int first = d.exponent + written - 1;
  digit_text text = spell(d.digits * fw_powers_of_ten[count - written], count);
  int n = significant_digits(&text);
  if (first < plain_from || first >= plain_below) { /* d.ddde+dd */
    put_text_with_point(out, &text, 1);
    return put_exponent(out + (n > 1 ? n + 1 : 1), first);
  }
  if (first < 0) { /* 0.000ddd */
    fw_put_le64(out, ZEROS);
    out[1] = '.';
    put_text(out + 1 - first, &text);
    return out + 1 - first + n;
  }
  int whole = first + 1;
  if (n <= whole) { /* ddd000 */
    put_text(out, &text);
    return out + whole;
  }
  put_text_with_point(out, &text, whole);
  return out + n + 1;
}

/* ---- floats taken apart ---- */

/* Takes the magnitude of a float with p bits of significand (the hidden one included) from its bits. */
static ALWAYS_INLINE binary take_apart(uint64_t bits, int p, int least_exponent) {
  uint64_t hidden = UINT64_C(1) << (p - 1);
  uint64_t fraction = bits & (hidden - 1);
  int biased = (int)(bits >> (p - 1));
  if (biased == 0) return (binary){fraction, least_exponent, false};
  return (binary){hidden | fraction, least_exponent + biased - 1, fraction == 0 && biased > 1};
}

/* Is it an integer that fits its significand? */
static ALWAYS_INLINE bool is_small_integer(binary x) {
  return x.exponent <= 0 && x.exponent > -53 && (x.significand & ((UINT64_C(1) << -x.exponent) - 1)) == 0;
}

/* ---- shortest ---- */

/* w * 5^q without its low bits (128 of the product with the entry of the table, 64 with its upper half for floats);
 * the last bit that is kept is set also if any of those is ("round to odd"): so it compares with even numbers as
 * the exact product does. */
static ALWAYS_INLINE uint64_t product_to_odd(const fw_power *g, uint64_t w, bool wide) {
  if (!wide) {
    fw_u128 product = (fw_u128)w * (g->high + (g->low != 0));
    return (uint64_t)(product >> 64) | ((uint64_t)product >= w);
  }
  fw_u128 lower = (fw_u128)w * g->low;
  fw_u128 product = (fw_u128)w * g->high + (uint64_t)(lower >> 64);
  return (uint64_t)(product >> 64) | ((uint64_t)product != 0 || (uint64_t)lower >= w);
}

/* What reads back to x lies between the middles to its neighbours. 10^k is the greatest power of ten that is not wider
 * than this: one multiple of 10^(k+1) at most lies inside, and one of 10^k at least, just below x or just above. All is
 * compared as integers in units of 10^k / 4. The middles belong to x if its significand is even. */
static ALWAYS_INLINE decimal shortest(binary x, bool wide) {
  int k = x.closer ? fw_floor_log10_three_quarters_pow2(x.exponent) : fw_floor_log10_pow2(x.exponent);
  int h = x.exponent + fw_floor_log2_pow10(-k) + 1;
  const fw_power *g = fw_power_of_five(-k);
  uint64_t c = 4 * x.significand, odd = x.significand & 1;
  uint64_t low = product_to_odd(g, (c - 2 + x.closer) << h, wide) + odd;
  uint64_t at = product_to_odd(g, c << h, wide);
  uint64_t high = product_to_odd(g, (c + 2) << h, wide) - odd;

  uint64_t s = at / 4, tens = s / 10;
  bool tens_below = low <= 40 * tens, tens_above = 40 * tens + 40 <= high;
  bool below = low <= 4 * s, above = 4 * s + 4 <= high;
  bool nearer = at > 4 * s + 2 || (at == 4 * s + 2 && (s & 1));
  s += below != above ? above : nearer;
  bool shorter = tens_below != tens_above;
  return (decimal){shorter ? tens + tens_above : s, k + shorter};
}

static ALWAYS_INLINE char *put_shortest(char *out, binary x, bool wide) {
  if (is_small_integer(x)) return out + fw_write_u64(out, x.significand >> -x.exponent);
  return put_decimal(out, shortest(x, wide), wide ? 17 : 9, -5, 16);
}

/* ---- a fixed count of digits ---- */

/* x * 10^k, where k leaves `count` digits or one more before the point, is cut at its halves and then rounded. */
static ALWAYS_INLINE decimal rounded(binary x, int count, int slack) {
  int bits = 64 - __builtin_clzll(x.significand);
  int k = count - 1 - fw_floor_log10_pow2(x.exponent + bits - 1);
  fw_product p = fw_scale(x.significand, k, slack);
  int drop = -(p.exponent + x.exponent) - 1;
  uint64_t halves = p.top >> drop;
  bool more = p.more || (p.top & ((UINT64_C(1) << drop) - 1)) != 0;
  uint64_t unit = 2; /* of the last digit, in halves */
  if (halves >= 2 * fw_powers_of_ten[count]) {
    unit = 20;
    k--;
  }
  uint64_t digits = halves / unit, rest = halves % unit;
  digits += rest > unit / 2 || (rest == unit / 2 && (more || (digits & 1)));
  if (digits == fw_powers_of_ten[count]) return (decimal){1, count - k};
  return (decimal){digits, -k};
}

static ALWAYS_INLINE char *put_rounded(char *out, binary x, int count, int slack) {
  if (is_small_integer(x)) {
    uint64_t integer = x.significand >> -x.exponent;
    if (integer < fw_powers_of_ten[count]) return out + fw_write_u64(out, integer);
  }
  return put_decimal(out, rounded(x, count, slack), count, -4, count);
}

/* ---- the four ---- */

/* `bits` are those of a float with p bits of significand; count = 0 asks for the shortest digits. */
static ALWAYS_INLINE size_t write_float(char *out, uint64_t bits, bool negative, int p, int least_exponent, int count) {
  uint64_t infinity = (UINT64_C(1) << (p == 24 ? 31 : 63)) - (UINT64_C(1) << (p - 1));
  if (bits >= infinity) {
    const char *text = bits > infinity ? "nan" : negative ? "-inf" : "inf";
    memcpy(out, text, 4);
    return text[3] == 0 ? 3 : 4;
  }
  char *start = out;
  *out = '-';
  out += negative;
  if (bits == 0) {
    *out = '0';
    return (size_t)(out + 1 - start);
  }
  binary x = take_apart(bits, p, least_exponent);
  /* Of the 63 bits or more of a product, 9 digits and the half of one take 35: 28 are slack. 17 digits leave 2, and
   * half of all numbers would take the branch in fw_scale: with 1 it is no branch, all do. */
  out = count == 0 ? put_shortest(out, x, p == 53) : put_rounded(out, x, count, p == 53 ? 1 : 28);
  return (size_t)(out - start);
}

static ALWAYS_INLINE size_t write_f32(char *out, float value, int count) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return write_float(out, bits & 0x7fffffff, bits >> 31, 24, -149, count);
}

static ALWAYS_INLINE size_t write_f64(char *out, double value, int count) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return write_float(out, bits & (UINT64_MAX >> 1), bits >> 63, 53, -1074, count);
}

size_t fw_write_f32(char *out, float value) {
  return write_f32(out, value, 0);
}

size_t fw_write_f64(char *out, double value) {
  return write_f64(out, value, 0);
}

size_t fw_write_f32_g9(char *out, float value) {
  return write_f32(out, value, 9);
}

size_t fw_write_f64_g17(char *out, double value) {
  return write_f64(out, value, 17);
}
