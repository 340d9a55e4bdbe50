/* kern/text/read_numbers.h: shared by the kernels that read numbers. */
#ifndef FW_KERN_TEXT_READ_NUMBERS_H
#define FW_KERN_TEXT_READ_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kern/text/tokenizer.h"

/* ---- From a decimal significand to the nearest float, on the fast path ----
 *
 * A double has 29 bits more than a float. significand * 10^exponent computed in doubles has an error of less than
 * two units in its last place (one half each for the conversion, the power and the product), plus what was cut from
 * a significand of at least FW_DECIMAL_CUT after its 15th digit: less than one part in 10^13, or 901 units. So the
 * float that the product rounds to is correct unless the product is within FW_DECIMAL_MARGIN units of the midpoint
 * of two floats: one number in 262,144, and the exact ties. These are refused here and read exactly elsewhere. */

#define FW_DECIMAL_MARGIN 1024u
#define FW_DECIMAL_CUT 100000000000000u
#define FW_DECIMAL_BELOW 0x1fffffffu /* the bits of a double that a float does not have */
#define FW_DECIMAL_MIDDLE 0x10000000u

/* 10^-64 … 10^64, each the nearest double. */
#define FW_DECIMAL_RANGE 64
extern const double fw_decimal_tens[2 * FW_DECIMAL_RANGE + 1];

/* The float that a product rounds to, which is 0 or in the range of normal floats. False: it is close to a midpoint. */
static inline bool fw_decimal_round(double product, float *value) {
  uint64_t bits;
  memcpy(&bits, &product, sizeof bits);
  const uint32_t below = (uint32_t)bits & FW_DECIMAL_BELOW;
  *value = (float)product;
  return below - (FW_DECIMAL_MIDDLE - FW_DECIMAL_MARGIN) > 2 * FW_DECIMAL_MARGIN;
}

/* False: refused (close to a midpoint, subnormal, overflowing, or the exponent is out of range). significand < 2^63. */
static inline bool fw_decimal_scale(uint64_t significand, int32_t exponent, float *value) {
  if (exponent < -FW_DECIMAL_RANGE || exponent > FW_DECIMAL_RANGE) return false;
  const double d = (double)(int64_t)significand * fw_decimal_tens[exponent + FW_DECIMAL_RANGE];
  if (!(d > 1.2e-38 && d < 3.4e38) && significand != 0) return false;
  return fw_decimal_round(d, value);
}

/* ---- Bits ---- */

/* The numbers of the set bits of a byte, ascending, one in each byte of a word; 0 after the last. */
extern const uint64_t fw_set_bits[256];

/* ---- Tokens in groups ---- */

enum { FW_MOST_IN_GROUP = 8 };

/* Reads a group of tokens to out[0 …]; bit i of the result: token i is refused. */
typedef unsigned (*fw_read_group)(const char *text, const fw_token *tokens, void *out);

static inline size_t fw_append_refused(uint32_t *refused, size_t count, size_t base, unsigned bits) {
  for (; bits; bits &= bits - 1) refused[count++] = (uint32_t)(base + (size_t)__builtin_ctz(bits));
  return count;
}

/* Fills a group with n tokens, fewer than its size, and copies of the last one. */
static inline const fw_token *fw_pad_tokens(const fw_token *tokens, size_t n, fw_token *group, size_t size) {
  for (size_t i = 0; i < size; i++) group[i] = tokens[i < n ? i : n - 1];
  return group;
}

/* Reads n tokens, `group` at a time, to numbers of `size` bytes; otherwise as in fw_tokenizer. `read` is called in
 * only one place, so that it is inlined. */
static inline __attribute__((always_inline)) size_t fw_read_in_groups(fw_read_group read, const size_t group,
                                                                      const char *text, const fw_token *tokens,
                                                                      size_t n, void *out, size_t size,
                                                                      uint32_t *refused) {
  size_t count = 0;
  fw_token last[FW_MOST_IN_GROUP];
  for (size_t i = 0; i < n; i += group) {
    const fw_token *next = n - i >= group ? tokens + i : fw_pad_tokens(tokens + i, n - i, last, group);
    unsigned bad = read(text, next, (char *)out + i * size);
    if (n - i < group) bad &= (1U << (n - i)) - 1;
    if (__builtin_expect(bad != 0, 0)) count = fw_append_refused(refused, count, i, bad);
  }
  return count;
}

#endif
