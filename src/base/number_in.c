/* base/number_in.c: exact conversion of text to numbers.
 *
 * A decimal number is nearly always w * 10^q with w of at most 19 digits: one product with a table of powers gives
 * the nearest float (base/powers.h). More digits are cut to 19; if w and w + 1 then give the same float, so does
 * every value between them; if not, big integers decide. Digits are read eight at a time from one 64-bit word.
 *
 * Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021), and the ideas
 * of Clinger, "How to read floating point numbers accurately", 1990, for the last resort. */
#include "base/number_in.h"

#include <stddef.h>
#include <string.h>

#include "base/bignum.h"
#include "base/endian.h"
#include "base/powers.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum {
  WORD_DIGITS = 19, /* any 19 digits fit 64 bits */
  /* The most digits that a decision can depend on: 767 for the midpoint of two doubles, and one for all later
   * digits. */
  MOST_DIGITS = 768,
};

/* A binary floating-point format. Its bits are the exponent (0: subnormal), then precision - 1 bits of significand. */
typedef struct float_format {
  int precision;       /* bits of the significand, including the hidden bit */
  int least_exponent;  /* the smallest positive number is 2^least_exponent */
  int least_q, last_q; /* w * 10^q is 0 below least_q and infinity above last_q, for any w of 64 bits */
  uint64_t infinity;   /* the bits of infinity */
  uint64_t sign;       /* the sign bit */
  uint64_t not_a_number;
} float_format;

static const float_format binary32 = {24, -149, -64, 38, 0x7f800000, 0x80000000, 0x7fc00000};
static const float_format binary64 = {
    53, -1074, -342, 308, UINT64_C(0x7ff) << 52, UINT64_C(1) << 63, UINT64_C(0x7ff8) << 48};

/* ---- digits ---- */

static ALWAYS_INLINE bool is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

/* Counts the digits at the start of the eight characters in `word` (the first one lowest). `word` is the text with
 * '0' xored out: a digit's byte is then 0 … 9; for any other byte, adding 0x76 sets the top bit. A byte that
 * overflows disturbs later characters only. */
static ALWAYS_INLINE int digits_in_word(uint64_t word) {
  uint64_t others = (word | (word + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
  return others == 0 ? 8 : __builtin_ctzll(others) >> 3;
}

/* The value of eight digits, the first one lowest: computes pairs, then fours, then eight in parallel. */
static ALWAYS_INLINE uint64_t eight_digits(uint64_t word) {
  const uint64_t pair = UINT64_C(0x000000ff000000ff);
  word = word * 10 + (word >> 8);
  return ((word & pair) * UINT64_C(0x000f424000000064) + ((word >> 16) & pair) * UINT64_C(0x0000271000000001)) >> 32;
}

/* Appends the digits at s to *value (modulo 2^64) and returns their end. */
static ALWAYS_INLINE const char *read_digits(const char *s, const char *end, uint64_t *value) {
  while (LIKELY(end - s >= 8)) {
    uint64_t word = fw_get_le64(s) ^ UINT64_C(0x3030303030303030);
    int n = digits_in_word(word);
    if (n < 8) {
      /* the shift moves the digits to the end of the word and puts zeros before them */
      if (n > 0) *value = *value * fw_powers_of_ten[n] + eight_digits(word << (64 - 8 * n));
      return s + n;
    }
    *value = *value * 100000000 + eight_digits(word);
    s += 8;
  }
  for (; s < end && is_digit(*s); s++) *value = *value * 10 + (uint64_t)(*s - '0');
  return s;
}

/* ---- w * 10^q to the nearest float ---- */

/* Returns the bits of the float nearest to significand * 2^exponent, ties to even. The significand has precision + 1
 * bits; `more`: the exact value is larger, by less than 1 unit of the significand. */
static ALWAYS_INLINE uint64_t round_to_format(uint64_t significand, int exponent, bool more, const float_format *f) {
  int biased = exponent + 1 - f->least_exponent; /* 0 for the smallest normal numbers */
  if (biased < 0) {
    int shift = biased < -63 ? 63 : -biased;
    more |= (significand & ((UINT64_C(1) << shift) - 1)) != 0;
    significand >>= shift;
    biased = 0;
  }
  uint64_t half = significand & 1, kept = significand >> 1;
  kept += half & (more | kept);
  /* The hidden bit, if it is there, adds one to the exponent, and so does a carry out of the significand. */
  uint64_t bits = ((uint64_t)biased << (f->precision - 1)) + kept;
  return bits < f->infinity ? bits : f->infinity;
}

/* Returns the bits of w, which is not 0 and fits the significand. */
static ALWAYS_INLINE uint64_t small_integer(uint64_t w, const float_format *f) {
  int shift = __builtin_clzll(w) - (64 - f->precision);
  return ((uint64_t)(-shift - f->least_exponent) << (f->precision - 1)) + (w << shift);
}

/* Returns the bits of the float nearest to w * 10^q. */
static ALWAYS_INLINE uint64_t nearest(uint64_t w, int64_t q, const float_format *f) {
  if (w == 0 || q < f->least_q) return 0;
  if (q == 0 && w >> f->precision == 0) return small_integer(w, f);
  if (q > f->last_q) return f->infinity;
  int slack = 62 - f->precision;
  fw_product p = fw_scale(w, (int)q, slack);
  slack += p.top >> 63;
  bool more = p.more || (p.top & ((UINT64_C(1) << slack) - 1)) != 0;
  return round_to_format(p.top >> slack, p.exponent + slack, more, f);
}

/* ---- more than 19 digits ---- */

/* Digits that may have a point among them. The first digit is not 0; q is the power of ten of the last one. */
typedef struct long_decimal {
  const char *first, *last;
  int64_t q;
} long_decimal;

static bool only_zeros(const char *s, const char *last) {
  while (s < last && (*s == '0' || *s == '.')) s++;
  return s == last;
}

/* Reads at most `count` digits and moves *s past them. */
static uint64_t take_digits(const char **s, const char *last, int count, int *taken) {
  uint64_t value = 0;
  const char *p = *s;
  int n = 0;
  for (; p < last && n < count; p++) {
    if (*p == '.') continue;
    value = value * 10 + (uint64_t)(*p - '0');
    n++;
  }
  *s = p;
  *taken = n;
  return value;
}

static int64_t count_digits(const char *s, const char *last) {
  return last - s - (last > s && memchr(s, '.', (size_t)(last - s)) != NULL);
}

/* Converts all digits that matter to an integer; returns its power of ten. */
static int64_t decimal_to_big(const long_decimal *d, fw_big *big) {
  const char *s = d->first;
  int taken, total = 0;
  fw_big_set(big, 0);
  do {
    int avail = MOST_DIGITS - total;
    uint64_t part = take_digits(&s, d->last, avail < WORD_DIGITS ? avail : WORD_DIGITS, &taken);
    fw_big_multiply_add(big, fw_powers_of_ten[taken], part);
    total += taken;
  } while (taken > 0 && total < MOST_DIGITS);
  int64_t q = d->q + count_digits(s, d->last);
  if (!only_zeros(s, d->last)) { /* a 1 after them stands for all later digits */
    fw_big_multiply_add(big, 10, 1);
    q--;
  }
  return q;
}

/* The number lies between the floats with the bits low and low + 1: compares it with their midpoint. */
static uint64_t nearer_of_two(const long_decimal *d, uint64_t low, const float_format *f) {
  uint64_t hidden = UINT64_C(1) << (f->precision - 1);
  int biased = (int)(low >> (f->precision - 1));
  uint64_t significand = (low & (hidden - 1)) | (biased > 0 ? hidden : 0);
  int exponent = f->least_exponent + (biased > 0 ? biased - 1 : 0);
  fw_big decimal, middle;
  int64_t q = decimal_to_big(d, &decimal);
  fw_big_set(&middle, 2 * significand + 1);
  int order = fw_big_compare_scaled(&decimal, (int)q, &middle, exponent - 1);
  return low + (order > 0 || (order == 0 && (low & 1)));
}

/* Returns the float nearest to the digits from s to last, which may have a point among them; q is the power of ten
 * of the last one. */
static NOINLINE uint64_t nearest_of_long(const char *s, const char *last, int64_t q, const float_format *f) {
  while (s < last && (*s == '0' || *s == '.')) s++;
  long_decimal d = {s, last, q};
  int taken;
  uint64_t w = take_digits(&s, last, WORD_DIGITS, &taken);
  q += count_digits(s, last);
  uint64_t low = nearest(w, q, f);
  if (only_zeros(s, last)) return low;
  /* w and w + 1 differ by less than the distance of two floats: they round to the same float or to two neighbours */
  if (nearest(w + 1, q, f) == low) return low;
  return nearer_of_two(&d, low, f);
}

/* ---- the grammar ---- */

/* s is at the e. Adds the exponent to *q and returns its end, or returns s if no digits follow. */
static const char *read_exponent(const char *s, const char *end, int64_t *q) {
  const int64_t plenty = INT64_C(1) << 55; /* more than the length of any text */
  const char *p = s + 1;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (p == end || !is_digit(*p)) return s;
  int64_t exponent = 0;
  for (; p < end && is_digit(*p); p++)
    if (exponent < plenty) exponent = exponent * 10 + (*p - '0');
  *q += negative ? -exponent : exponent;
  return p;
}

/* Returns the length of `word` if it is at s, in upper or lower case, else 0. */
static size_t match_word(const char *s, const char *end, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(end - s) < n) return 0;
  for (size_t i = 0; i < n; i++)
    if ((s[i] | 0x20) != word[i]) return 0;
  return n;
}

static bool is_nan_letter(char c) {
  return is_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static NOINLINE const char *read_word(const char *s, const char *end, uint64_t *bits, const float_format *f) {
  size_t n;
  if ((n = match_word(s, end, "infinity")) > 0 || (n = match_word(s, end, "inf")) > 0) {
    *bits = f->infinity;
    return s + n;
  }
  if ((n = match_word(s, end, "nan")) == 0) return NULL;
  *bits = f->not_a_number;
  s += n;
  const char *p = s;
  if (p < end && *p == '(')
    for (p++; p < end && is_nan_letter(*p);) p++;
  return p > s && p < end && *p == ')' ? p + 1 : s;
}

static ALWAYS_INLINE const char *read_float(const char *s, const char *end, uint64_t *bits, const float_format *f) {
  if (s == end) return NULL;
  uint64_t minus = *s == '-';
  uint64_t sign = minus ? f->sign : 0;
  s += minus | (*s == '+');
  uint64_t w = 0;
  int64_t q = 0;
  const char *p = s;
  if (end - s > 1 && s[1] == '.' &&
      is_digit(*s)) /* the usual case: reading eight bytes at once does not pay for one digit */
    w = (uint64_t)(*p++ - '0');
  else
    p = read_digits(s, end, &w);
  const char *last = p;
  int64_t digits = p - s;
  if (p < end && *p == '.') {
    last = read_digits(p + 1, end, &w);
    q = p + 1 - last;
    digits -= q;
    p = last;
  }
  if (digits == 0) {
    p = read_word(s, end, bits, f);
    if (p != NULL) *bits |= sign;
    return p;
  }
  if (p < end && (*p | 0x20) == 'e') p = read_exponent(p, end, &q);
  *bits = sign | (LIKELY(digits <= WORD_DIGITS) ? nearest(w, q, f) : nearest_of_long(s, last, q, f));
  return p;
}

const char *fw_read_f32(const char *s, const char *end, float *value) {
  uint64_t bits;
  s = read_float(s, end, &bits, &binary32);
  if (s != NULL) {
    uint32_t narrow = (uint32_t)bits;
    memcpy(value, &narrow, sizeof narrow);
  }
  return s;
}

const char *fw_read_f64(const char *s, const char *end, double *value) {
  uint64_t bits;
  s = read_float(s, end, &bits, &binary64);
  if (s != NULL) memcpy(value, &bits, sizeof bits);
  return s;
}

/* ---- short numbers ---- */

/* The last n <= 8 bytes before `end` as the upper bytes of a word, with '0' xored out; the bytes below them are
 * zero. */
static ALWAYS_INLINE uint64_t word_before(const char *end, size_t n) {
  return (fw_get_le64(end - 8) ^ UINT64_C(0x3030303030303030)) & UINT64_MAX << (64 - 8 * n);
}

bool fw_read_short(const char *s, const char *end, double *value) {
  static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
  const size_t length = (size_t)(end - s);
  if (length - 1 >= 15) return false;
  uint64_t low = word_before(end, length < 8 ? length : 8);
  if (length > 8) {
    const uint64_t high = word_before(end - 8, length - 8);
    if (digits_in_word(low) < 8 || digits_in_word(high) < 8) return false;
    *value = (double)(eight_digits(high) * 100000000 + eight_digits(low));
    return true;
  }
  const uint64_t others = low ^ ('.' ^ '0') * UINT64_C(0x0101010101010101); /* bytes equal to the point become 0 */
  const uint64_t points = (others - UINT64_C(0x0101010101010101)) & ~others & UINT64_C(0x8080808080808080);
  double unit = 1;
  if (points && length > 1) { /* removes the first point: the digits before it move up */
    const unsigned bit = (unsigned)__builtin_ctzll(points) & ~7U;
    low = (low & ((UINT64_C(1) << bit) - 1)) << 8 | (low & UINT64_MAX << bit << 8);
    unit = tens[7 - bit / 8];
  }
  if (digits_in_word(low) < 8) return false;
  *value = (double)eight_digits(low) / unit;
  return true;
}

/* ---- integers ---- */

/* Reads the digits at s as a number; *fits: it is at most `most`. Returns NULL if there are no digits. */
static ALWAYS_INLINE const char *read_integer(const char *s, const char *end, uint64_t most, uint64_t *value,
                                              bool *fits) {
  *value = 0;
  const char *p = read_digits(s, end, value);
  if (p == s) return NULL;
  if (p - s > WORD_DIGITS) { /* may exceed 64 bits: read again with overflow checks */
    uint64_t v = 0;
    bool over = false;
    for (; s < p; s++) over |= __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v);
    *fits = !over && v <= most;
    *value = v;
    return p;
  }
  *fits = *value <= most;
  return p;
}

static ALWAYS_INLINE const char *read_unsigned(const char *s, const char *end, uint64_t most, uint64_t *value,
                                               bool *overflow) {
  uint64_t v;
  bool fits;
  if (s < end && *s == '+') s++;
  s = read_integer(s, end, most, &v, &fits);
  if (s == NULL) return NULL;
  *overflow = !fits;
  if (fits) *value = v;
  return s;
}

static ALWAYS_INLINE const char *read_signed(const char *s, const char *end, uint64_t most, int64_t *value,
                                             bool *overflow) {
  uint64_t v;
  bool fits, negative = s < end && *s == '-';
  if (negative || (s < end && *s == '+')) s++;
  s = read_integer(s, end, most + negative, &v, &fits);
  if (s == NULL) return NULL;
  *overflow = !fits;
  if (fits) *value = (int64_t)(negative ? 0 - v : v);
  return s;
}

const char *fw_read_u32(const char *s, const char *end, uint32_t *value, bool *overflow) {
  uint64_t v;
  s = read_unsigned(s, end, UINT32_MAX, &v, overflow);
  if (s != NULL && !*overflow) *value = (uint32_t)v;
  return s;
}

const char *fw_read_u64(const char *s, const char *end, uint64_t *value, bool *overflow) {
  return read_unsigned(s, end, UINT64_MAX, value, overflow);
}

const char *fw_read_i32(const char *s, const char *end, int32_t *value, bool *overflow) {
  int64_t v;
  s = read_signed(s, end, INT32_MAX, &v, overflow);
  if (s != NULL && !*overflow) *value = (int32_t)v;
  return s;
}

const char *fw_read_i64(const char *s, const char *end, int64_t *value, bool *overflow) {
  return read_signed(s, end, INT64_MAX, value, overflow);
}
