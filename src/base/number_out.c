/* base/number_out.c: numbers to text.
 *
 * Shortest digits: base/shortest.h. A fixed count of digits: x * 10^k, cut exactly by fw_scale and rounded to even as
 * printf does. */
#include "base/number_out.h"

#include <stdbool.h>
#include <string.h>

#include "base/powers.h"
#include "base/shortest.h"

/* ---- integers ---- */

size_t fw_write_u64(char *out, uint64_t value) {
  return (size_t)(fw_put_unsigned(out, value) - out);
}

size_t fw_write_i64(char *out, int64_t value) {
  return (size_t)(fw_put_signed(out, value) - out);
}

/* ---- layout ---- */

static FW_ALWAYS_INLINE char *put_exponent(char *out, int exponent) {
  unsigned magnitude = exponent < 0 ? (unsigned)-exponent : (unsigned)exponent;
  *out++ = 'e';
  *out++ = exponent < 0 ? '-' : '+';
  if (magnitude >= 100) *out++ = (char)('0' + magnitude / 100);
  *out++ = (char)('0' + magnitude / 10 % 10);
  *out++ = (char)('0' + magnitude % 10);
  return out;
}

/* Writes digits * 10^exponent with at most `count` digits and without trailing zeros: plain if the power of ten of
 * the first digit is in [plain_from, plain_below), else with an exponent. Writes whole words without reading them
 * back, and may overwrite up to 31 bytes. */
static FW_ALWAYS_INLINE char *put_decimal(char *out, fw_decimal d, int count, int plain_from, int plain_below) {
  int written = fw_count_digits(d.digits);
  int first = d.exponent + written - 1;
  fw_digit_text text = fw_format_digits(d.digits * fw_powers_of_ten[count - written], count);
  int n = fw_significant_digits(&text);
  if (first < plain_from || first >= plain_below) { /* d.ddde+dd */
    fw_put_text_with_point(out, &text, 1);
    return put_exponent(out + (n > 1 ? n + 1 : 1), first);
  }
  if (first < 0) { /* 0.000ddd */
    fw_put_le64(out, FW_ZEROS);
    out[1] = '.';
    fw_put_text(out + 1 - first, &text);
    return out + 1 - first + n;
  }
  int whole = first + 1;
  if (n <= whole) { /* ddd000 */
    fw_put_text(out, &text);
    return out + whole;
  }
  fw_put_text_with_point(out, &text, whole);
  return out + n + 1;
}

/* ---- shortest ---- */

static FW_ALWAYS_INLINE char *put_shortest(char *out, fw_binary x, bool wide) {
  if (fw_is_small_integer(x)) return out + fw_write_u64(out, x.significand >> -x.exponent);
  return put_decimal(out, fw_shortest(x, wide), wide ? 17 : 9, -5, 16);
}

/* ---- a fixed count of digits ---- */

/* Truncates x * 10^k, where k leaves `count` digits or one more before the point, to halves and then rounds it. */
static FW_ALWAYS_INLINE fw_decimal rounded(fw_binary x, int count, int slack) {
  int bits = 64 - __builtin_clzll(x.significand);
  int k = count - 1 - fw_floor_log10_pow2(x.exponent + bits - 1);
  fw_product p = fw_scale(x.significand, k, slack);
  int drop = -(p.exponent + x.exponent) - 1;
  uint64_t halves = p.top >> drop;
  bool more = p.more || (p.top & ((UINT64_C(1) << drop) - 1)) != 0;
  uint64_t unit = 2; /* one unit of the last digit, in halves */
  if (halves >= 2 * fw_powers_of_ten[count]) {
    unit = 20;
    k--;
  }
  uint64_t digits = halves / unit, rest = halves % unit;
  digits += rest > unit / 2 || (rest == unit / 2 && (more || (digits & 1)));
  if (digits == fw_powers_of_ten[count]) return (fw_decimal){1, count - k};
  return (fw_decimal){digits, -k};
}

static FW_ALWAYS_INLINE char *put_rounded(char *out, fw_binary x, int count, int slack) {
  if (fw_is_small_integer(x)) {
    uint64_t integer = x.significand >> -x.exponent;
    if (integer < fw_powers_of_ten[count]) return out + fw_write_u64(out, integer);
  }
  return put_decimal(out, rounded(x, count, slack), count, -4, count);
}

/* ---- the four functions ---- */

/* `bits` is the encoding of a float with p bits of significand; count = 0 asks for the shortest digits. */
static FW_ALWAYS_INLINE size_t write_float(char *out, uint64_t bits, bool negative, int p, int least_exponent,
                                           int count) {
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
  fw_binary x = fw_decompose(bits, p, least_exponent);
  /* A product has at least 63 bits. 9 digits and a half take 35 of them, which leaves a slack of 28. 17 digits leave
   * a slack of 2, and half of all numbers would take the branch in fw_scale; with a slack of 1 all of them take it,
   * so the compiler removes the branch. */
  out = count == 0 ? put_shortest(out, x, p == 53) : put_rounded(out, x, count, p == 53 ? 1 : 28);
  return (size_t)(out - start);
}

static FW_ALWAYS_INLINE size_t write_f32(char *out, float value, int count) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return write_float(out, bits & 0x7fffffff, bits >> 31, 24, -149, count);
}

static FW_ALWAYS_INLINE size_t write_f64(char *out, double value, int count) {
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
