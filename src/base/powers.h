/* base/powers.h: products with powers of ten, truncated exactly. Reading and writing numbers is built on this.
 *
 * 10^q = 5^q * 2^q, so a table of 5^q with 128 bits is all that is needed (Lemire, "Number parsing at a gigabyte per
 * second", 2021). An entry g is rounded up: for an integer w, the exact w * 5^q is at most w * g, and more than w *
 * g - w. Truncated at one of the places that are used here, w * g equals the exact product, and the truncated part
 * of the exact product is zero exactly when the truncated part of w * g is less than w. tools/make_powers.py makes
 * the table and proves this for every w and q that can occur, so no slower fallback is needed. */
#ifndef FW_BASE_POWERS_H
#define FW_BASE_POWERS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define FW_POWER_FIRST (-342)
#define FW_POWER_LAST 340

typedef struct fw_power {
  uint64_t high, low;
} fw_power;

/* ceil(5^q * 2^(127 - floor(log2 5^q))), at [q - FW_POWER_FIRST] */
extern const fw_power fw_powers_of_five[FW_POWER_LAST - FW_POWER_FIRST + 1];
/* 10^0 … 10^19 */
extern const uint64_t fw_powers_of_ten[20];

/* 2^60 * 2^-i / 10^k, where 10^k is the greatest power of ten that is not above 2^-i: between 2^60 and 10 * 2^60,
 * and exact for these i. The last entry is 0. */
#define FW_DECIMAL_SCALES 76
extern const uint64_t fw_decimal_scales[FW_DECIMAL_SCALES + 1];

typedef unsigned __int128 fw_u128;

static inline const fw_power *fw_power_of_five(int q) {
  assert(q >= FW_POWER_FIRST && q <= FW_POWER_LAST);
  return &fw_powers_of_five[q - FW_POWER_FIRST];
}

/* floor(log2(10^q)), floor(log10(2^e)) and floor(log10(3/4 * 2^e)) for |q| <= 342, |e| <= 1100 */
static inline int fw_floor_log2_pow10(int q) {
  return (q * 217706) >> 16;
}
static inline int fw_floor_log10_pow2(int e) {
  return (e * 315653) >> 20;
}
static inline int fw_floor_log10_three_quarters_pow2(int e) {
  return (e * 315653 - 131008) >> 20;
}

/* A product: (top + rest) * 2^exponent with 0 <= rest < 1; top has 63 or 64 bits. */
typedef struct fw_product {
  uint64_t top;
  int exponent;
  bool more; /* rest > 0 */
} fw_product;

/* Computes w * 10^q for w > 0. The caller drops the low `slack` bits of top (or slack + 1, if top has 64 bits). The
 * bits that it keeps are exact. The dropped bits and `more` together are zero exactly when the exact product is zero
 * there. */
static inline fw_product fw_scale(uint64_t w, int q, int slack) {
  int zeros = __builtin_clzll(w);
  const fw_power *g = fw_power_of_five(q);
  w <<= zeros;
  fw_u128 product = (fw_u128)w * g->high;
  uint64_t top = product >> 64;
  bool more = true;
  /* g->low adds less than 1 to top. That matters only if it could carry into the kept bits, or if no other part of
   * the product follows them. */
  if (((top + 1) & ((UINT64_C(1) << slack) - 1)) <= 1) {
    fw_u128 lower = (fw_u128)w * g->low;
    product += lower >> 64;
    top = product >> 64;
    more = (uint64_t)product != 0 || (uint64_t)lower >= w;
  }
  return (fw_product){top, fw_floor_log2_pow10(q) - zeros + 1, more};
}

#endif
