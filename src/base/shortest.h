/* base/shortest.h: the shortest digits of a float, and digits as text, for the files that write numbers.
 *
 * Giulietti, "The Schubfach way to render doubles", 2020, on the table of base/powers.h: of the decimal numbers that
 * read back to x, one with the fewest digits is found among four candidates by comparing integers. */
#ifndef FW_BASE_SHORTEST_H
#define FW_BASE_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/endian.h"
#include "base/powers.h"

#define FW_ALWAYS_INLINE inline __attribute__((always_inline))
#define FW_ZEROS UINT64_C(0x3030303030303030) /* "00000000" */

/* A decomposed float: significand * 2^exponent. */
typedef struct fw_binary {
  uint64_t significand;
  int exponent;
  bool closer; /* the next smaller float is nearer than the next greater one: the significand is a power of two */
} fw_binary;

/* digits * 10^exponent */
typedef struct fw_decimal {
  uint64_t digits;
  int exponent;
} fw_decimal;

/* Decomposes the magnitude of a float with p bits of significand (including the hidden bit). */
static FW_ALWAYS_INLINE fw_binary fw_decompose(uint64_t bits, int p, int least_exponent) {
  uint64_t hidden = UINT64_C(1) << (p - 1);
  uint64_t fraction = bits & (hidden - 1);
  int biased = (int)(bits >> (p - 1));
  if (biased == 0) return (fw_binary){fraction, least_exponent, false};
  return (fw_binary){hidden | fraction, least_exponent + biased - 1, fraction == 0 && biased > 1};
}

/* Whether it is an integer that fits its significand. */
static FW_ALWAYS_INLINE bool fw_is_small_integer(fw_binary x) {
  return x.exponent <= 0 && x.exponent > -53 && (x.significand & ((UINT64_C(1) << -x.exponent) - 1)) == 0;
}

/* w * 5^q without its low bits (128 bits of the product with the table entry; for floats, 64 bits of the product
 * with its upper half). The last kept bit is also set if any dropped bit is ("round to odd"), so the result compares
 * with even numbers as the exact product does. */
static FW_ALWAYS_INLINE uint64_t fw_product_to_odd(const fw_power *g, uint64_t w, bool wide) {
  if (!wide) {
    fw_u128 product = (fw_u128)w * (g->high + (g->low != 0));
    return (uint64_t)(product >> 64) | ((uint64_t)product >= w);
  }
  fw_u128 lower = (fw_u128)w * g->low;
  fw_u128 product = (fw_u128)w * g->high + (uint64_t)(lower >> 64);
  return (uint64_t)(product >> 64) | ((uint64_t)product != 0 || (uint64_t)lower >= w);
}

/* The numbers that read back to x lie between the midpoints to its neighbours. 10^k is the greatest power of ten
 * that is not wider than this interval: it contains at most one multiple of 10^(k+1), and at least one of 10^k, just
 * below x or just above. All comparisons are between integers, in units of 10^k / 4. The midpoints belong to x if
 * its significand is even. */
static FW_ALWAYS_INLINE fw_decimal fw_shortest(fw_binary x, bool wide) {
  int k = x.closer ? fw_floor_log10_three_quarters_pow2(x.exponent) : fw_floor_log10_pow2(x.exponent);
  int h = x.exponent + fw_floor_log2_pow10(-k) + 1;
  const fw_power *g = fw_power_of_five(-k);
  uint64_t c = 4 * x.significand, odd = x.significand & 1;
  uint64_t low = fw_product_to_odd(g, (c - 2 + x.closer) << h, wide) + odd;
  uint64_t at = fw_product_to_odd(g, c << h, wide);
  uint64_t high = fw_product_to_odd(g, (c + 2) << h, wide) - odd;

  uint64_t s = at / 4, tens = s / 10;
  bool tens_below = low <= 40 * tens, tens_above = 40 * tens + 40 <= high;
  bool below = low <= 4 * s, above = 4 * s + 4 <= high;
  bool nearer = at > 4 * s + 2 || (at == 4 * s + 2 && (s & 1));
  s += below != above ? above : nearer;
  bool shorter = tens_below != tens_above;
  return (fw_decimal){shorter ? tens + tens_above : s, k + shorter};
}

/* ---- digits as text ---- */

static FW_ALWAYS_INLINE int fw_count_digits(uint64_t v) {
  v |= 1; /* 0 has one digit; setting the low bit does not reach another power of ten, as all but 1 are even */
  int guess = ((64 - __builtin_clzll(v)) * 1233) >> 12; /* bits * log10(2): the count or one less */
  return guess + (v >= fw_powers_of_ten[guess]);
}

/* Eight digits as numbers, the first one in the lowest byte: v < 10^8 is split into fours, pairs and digits, in
 * parallel. x / 100 is x * 10486 >> 20 for x < 10000, x / 10 is x * 103 >> 10 for x < 100. The upper part h of x
 * goes below the lower one: h + (x - h * 100) * 2^16 is x * 2^16 - h * (100 * 2^16 - 1). */
static FW_ALWAYS_INLINE uint64_t fw_eight_digits(uint64_t v) {
  uint64_t high = v * 109951163 >> 40; /* v / 10000 */
  uint64_t fours = (v << 32) - high * ((UINT64_C(10000) << 32) - 1);
  uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
  uint64_t pairs = (fours << 16) - hundreds * ((100 << 16) - 1);
  uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000f000f000f000f);
  return (pairs << 8) - tens * ((10 << 8) - 1);
}

static FW_ALWAYS_INLINE uint64_t fw_eight_digit_text(uint64_t v) {
  return fw_eight_digits(v) | FW_ZEROS;
}

/* Writes an integer in whole words, which may overwrite up to seven more bytes; returns the end of the integer. */
static FW_ALWAYS_INLINE char *fw_put_unsigned(char *out, uint64_t v) {
  const uint64_t word = 100000000;
  int n = fw_count_digits(v);
  if (n > 16) {
    fw_put_le64(out, fw_eight_digit_text(v / (word * word)) >> (8 * (24 - n)));
    out += n - 16;
    v %= word * word;
    n = 16;
  }
  if (n > 8) {
    fw_put_le64(out, fw_eight_digit_text(v / word) >> (8 * (16 - n)));
    out += n - 8;
    v %= word;
    n = 8;
  }
  fw_put_le64(out, fw_eight_digit_text(v) >> (8 * (8 - n)));
  return out + n;
}

static FW_ALWAYS_INLINE char *fw_put_signed(char *out, int64_t v) {
  const uint64_t sign = 0 - (uint64_t)(v < 0); /* branchless: signs are as good as random */
  *out = '-';
  return fw_put_unsigned(out + (sign & 1), ((uint64_t)v ^ sign) - sign);
}

/* 17 digits as text, the first one lowest in word[0]; zeros fill the last word. */
typedef struct fw_digit_text {
  uint64_t word[3];
} fw_digit_text;

/* The digits of v, which has `count` of them: 17, or 9 (floats, which saves a division). */
static FW_ALWAYS_INLINE fw_digit_text fw_format_digits(uint64_t v, int count) {
  if (count == 9) return (fw_digit_text){{fw_eight_digit_text(v / 10), FW_ZEROS + v % 10, FW_ZEROS}};
  uint32_t low = (uint32_t)(v % 1000000000);
  return (fw_digit_text){{fw_eight_digit_text(v / 1000000000), fw_eight_digit_text(low / 10), FW_ZEROS + low % 10}};
}

/* The number of digits without the trailing zeros; the first digit is not 0. */
static FW_ALWAYS_INLINE int fw_significant_digits(const fw_digit_text *t) {
  int in_first = 8 - __builtin_clzll(t->word[0] ^ FW_ZEROS) / 8;
  int in_second = 16 - __builtin_clzll((t->word[1] ^ FW_ZEROS) | 1) / 8;
  int n = t->word[1] != FW_ZEROS ? in_second : in_first;
  return t->word[2] != FW_ZEROS ? 17 : n;
}

static FW_ALWAYS_INLINE void fw_put_text(char *out, const fw_digit_text *t) {
  for (int i = 0; i < 3; i++) fw_put_le64(out + 8 * i, t->word[i]);
}

/* Writes the text with a point after the first `whole` digits, 0 < whole < 17: writes all of it shifted by one byte,
 * then those digits again at their place; one word has the point inside. */
static FW_ALWAYS_INLINE void fw_put_text_with_point(char *out, const fw_digit_text *t, int whole) {
  fw_put_text(out + 1, t);
  if (whole >= 8) fw_put_le64(out, t->word[0]);
  if (whole >= 16) fw_put_le64(out + 8, t->word[1]);
  uint64_t word = t->word[whole / 8];
  int bit = whole % 8 * 8;
  uint64_t before = (UINT64_C(1) << bit) - 1;
  uint64_t point = UINT64_C(0xff) << bit;
  word = (word & before) | ((word << 8) & ~(before | point)) | ((uint64_t)'.' << bit);
  fw_put_le64(out + whole / 8 * 8, word);
}

#endif
