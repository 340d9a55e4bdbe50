/* kern/text/tokenizer_generic.c: every kernel in plain C. */
#include <string.h>

#include "base/endian.h"
#include "base/number_in.h"
#include "base/powers.h"
#include "kern/simd/unroll.h"
#include "kern/text/read_numbers.h"
#include "kern/text/tokenizer.h"

/* ---- Masks of bytes, 16 at a time (two registers if there are none of 16 bytes) -------------------------- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

static inline bytes16 load16(const char *p) {
  bytes16 bytes;
  memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

/* Bit i: byte i, which is 0 or 255. Each byte keeps the bit of its position, and a multiplication adds up eight. */
static inline uint64_t to_bits(bytes16 mask) {
  const bytes16 positions = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const words2 bits = (words2)(mask & positions);
  const uint64_t sum = 0x0101010101010101u;
  return bits[0] * sum >> 56 | bits[1] * sum >> 56 << 8;
}

/* Bit i: byte i of 64 is c. */
static inline uint64_t equal_mask(const char *p, char c) {
  uint64_t bits = 0;
  UNROLL for (unsigned k = 0; k < 64; k += 16) bits |= to_bits((bytes16)(load16(p + k) == (uint8_t)c)) << k;
  return bits;
}

static inline uint64_t mark_mask(const char *p, uint8_t upto, char extra) {
  uint64_t bits = 0;
  UNROLL for (unsigned k = 0; k < 64; k += 16) {
    const bytes16 bytes = load16(p + k);
    bits |= to_bits((bytes16)(bytes <= upto) | (bytes16)(bytes == (uint8_t)extra)) << k;
  }
  return bits;
}

/* The bits of the last, partial group of 64 that are inside of the text. */
static inline uint64_t inside(size_t i, size_t n) {
  return n - i >= 64 ? ~0ull : ~0ull >> (64 - (n - i));
}

/* Without an instruction for it, the compiler's builtin is a call. */
static inline unsigned count_bits(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)(bits * 0x0101010101010101u >> 56);
}

/* ---- Marks ---------------------------------------------------------------------------------------------- */

#include "kern/text/marks_tmpl.h"

static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  size_t count = 0;
  marks->offsets[-1] = UINT32_MAX;
  for (size_t i = 0; i < n; i += 64) {
    uint64_t found = mark_mask(text + i, upto, extra) & inside(i, n);
    const unsigned k = count_bits(found);
    /* always stores a multiple of four: the next group overwrites the excess */
    for (unsigned j = 0; j < k; j += 4) {
      UNROLL for (unsigned m = 0; m < 4; m++) {
        const size_t at = i + (size_t)__builtin_ctzll(found | 1ull << 63);
        marks->offsets[count + j + m] = (uint32_t)at;
        marks->chars[count + j + m] = text[at];
        found &= found - 1;
      }
    }
    count += k;
  }
  marks->count = count;
  classify(marks, extra);
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

typedef struct cell_bits {
  uint64_t delimiters, quotes, lf, cr;
} cell_bits;

static inline cell_bits read_cell_bits(const char *p, char delimiter) {
  return (cell_bits){equal_mask(p, delimiter), equal_mask(p, '"'), equal_mask(p, '\n'), equal_mask(p, '\r')};
}

static inline void store_cell_marks(uint32_t *out, size_t base, uint64_t found) {
  for (; found; found &= found - 1) *out++ = (uint32_t)(base + (size_t)__builtin_ctzll(found));
}

#include "kern/text/cells_tmpl.h"

/* ---- Tokens --------------------------------------------------------------------------------------------- */

static inline fw_token token_at(const uint32_t *end) {
  return fw_token_make(end[0], end[0] - end[-1] - 1);
}

static void pick_tokens(const uint32_t *offsets, size_t n, size_t lists, const uint64_t *const *bits,
                        fw_token *const *tokens) {
  for (size_t k = 0; k < lists; k++) {
    fw_token *out = tokens[k];
    for (size_t w = 0; w < fw_bit_words(n); w++) {
      const uint64_t inside = n - 64 * w >= 64 ? ~0ull : ~0ull >> (64 - (n - 64 * w));
      for (uint64_t left = bits[k][w] & inside; left; left &= left - 1) {
        *out++ = token_at(offsets + 64 * w + (size_t)__builtin_ctzll(left));
      }
    }
  }
}

/* `lists` is a constant at every call. */
INLINE void deal_to(const uint32_t *offsets, size_t n, const size_t lists, fw_token *const *tokens) {
  for (size_t i = 0, out = 0; i < n; i += lists, out++)
    UNROLL for (size_t k = 0; k < lists; k++) tokens[k][out] = token_at(offsets + i + k);
}

static void deal_tokens(const uint32_t *offsets, size_t n, size_t lists, fw_token *const *tokens) {
  if (lists == 1) deal_to(offsets, n, 1, tokens);
  if (lists == 2) deal_to(offsets, n, 2, tokens);
  if (lists == 3) deal_to(offsets, n, 3, tokens);
}

static size_t count_lines(const char *text, size_t n) {
  size_t lines = 0;
  uint64_t carry = 0; /* the previous byte was CR */
  for (size_t i = 0; i < n; i += 64) {
    const uint64_t lf = equal_mask(text + i, '\n') & inside(i, n);
    const uint64_t cr = equal_mask(text + i, '\r') & inside(i, n);
    lines += count_bits(cr) + count_bits(lf & ~(cr << 1 | carry));
    carry = cr >> 63;
  }
  return lines;
}

/* ---- Digits, eight in a word, the first one lowest, with '0' subtracted ---------------------------------- */

#define EACH 0x0101010101010101u
#define TOPS 0x8080808080808080u

/* Loading sixteen bytes from here + n sets the last n bytes. */
static const uint8_t zeros_then_ones[32] = {[16] = 255, 255, 255, 255, 255, 255, 255, 255,
                                            255,        255, 255, 255, 255, 255, 255, 255};

/* Loads the eight bytes before `end` and keeps the bytes that belong to a token of n <= 8 bytes. */
static inline uint64_t word_before(const char *end, size_t n) {
  return (fw_get_le64(end - 8) ^ EACH * '0') & fw_get_le64(zeros_then_ones + n + 8);
}

/* Not 0: some byte is not a digit. A byte that overflows disturbs others only if it is not a digit itself. */
static inline uint64_t not_digits(uint64_t word) {
  return (word | (word + EACH * (0x80 - 10))) & TOPS;
}

/* The value of eight digits: computes pairs, then fours, then eight in parallel. */
static inline uint64_t join_digits(uint64_t word) {
  const uint64_t pair = 0x000000ff000000ffu;
  word = word * 10 + (word >> 8);
  return ((word & pair) * 0x000f424000000064u + (word >> 16 & pair) * 0x0000271000000001u) >> 32;
}

/* Sets the top bit of each byte that is c, which is less than 128. */
static inline uint64_t tops_where(uint64_t word, unsigned char c) {
  const uint64_t others = word ^ EACH * c;
  return ~(((others & ~TOPS) + ~TOPS) | others) & TOPS;
}

/* ---- Floats --------------------------------------------------------------------------------------------- */

/* Reads [digits].digits of n bytes, 2 <= n <= 9. The digits before the point move one byte up, over it: they are
 * taken from the eight bytes that end one byte earlier. */
static inline bool read_short_decimal(const char *end, size_t n, float *value) {
  const uint64_t here = fw_get_le64(end - 8) ^ EACH * '0', earlier = fw_get_le64(end - 9) ^ EACH * '0';
  const uint64_t inside_token = fw_get_le64(zeros_then_ones + 7 + n); /* the last n - 1 bytes */
  const uint64_t points = tops_where(earlier, '.' ^ '0') & inside_token;
  const uint64_t behind = 0 - ((points & (0 - points)) >> 7);
  const uint64_t digits = ((here & behind) | (earlier & ~behind)) & inside_token;
  const unsigned decimals = 8 - (unsigned)__builtin_ctzll(points | 1ull << 63) / 8;
  const double product = (double)(int64_t)join_digits(digits) * fw_decimal_tens[FW_DECIMAL_RANGE - decimals];
  return fw_decimal_round(product, value) && points && !not_digits(digits);
}

/* Reads digits[.digits] of n <= 16 bytes, as a 128-bit number. */
static inline bool read_decimal(const char *end, size_t n, float *value) {
  const uint64_t low = (fw_get_le64(end - 16) ^ EACH * '0') & fw_get_le64(zeros_then_ones + n);
  const uint64_t high = (fw_get_le64(end - 8) ^ EACH * '0') & fw_get_le64(zeros_then_ones + n + 8);
  const uint64_t low_points = tops_where(low, '.' ^ '0'), high_points = tops_where(high, '.' ^ '0');
  const fw_u128 all = (fw_u128)high << 64 | low, points = (fw_u128)high_points << 64 | low_points;
  const fw_u128 point = points & (0 - points);
  const bool has_point = points != 0;
  const fw_u128 before = all & ((point >> 7) - 1); /* all, if there is none */
  const fw_u128 moved = before << 8 * has_point | (all & (0 - (point << 1)));
  const uint64_t upper = (uint64_t)moved, lower = (uint64_t)(moved >> 64);
  if ((not_digits(upper) | not_digits(lower)) || n == has_point) return false;
  const int32_t decimals =
      low_points ? 15 - __builtin_ctzll(low_points) / 8 : 7 - __builtin_ctzll(high_points | 1ull << 63) / 8;
  return fw_decimal_scale(join_digits(upper) * 100000000 + join_digits(lower), -decimals, value);
}

/* Reads digit.digits e(+|-)dd as printf's %e writes it, with 16 to 24 digits after the point, the first 16 of which
 * matter. */
static inline bool read_scientific(const char *s, const char *end, float *value) {
  const char *first = s + 2, *e = end - 4;
  const size_t decimals = (size_t)(e - first);
  const unsigned digit = (unsigned)(unsigned char)*s - '0';
  const unsigned tens = (unsigned)(unsigned char)e[2] - '0', units = (unsigned)(unsigned char)e[3] - '0';
  if (decimals - 16 > 8 || s[1] != '.' || (*e | 0x20) != 'e' || digit > 9 || tens > 9 || units > 9) return false;
  const int32_t negative = -(int32_t)(e[1] == '-');
  if (!((e[1] == '+') | negative)) return false;
  const uint64_t upper = fw_get_le64(first) ^ EACH * '0', lower = fw_get_le64(first + 8) ^ EACH * '0';
  const uint64_t rest = word_before(e, decimals - 16);
  if (not_digits(upper) | not_digits(lower) | not_digits(rest)) return false;
  const uint64_t significand =
      digit * (uint64_t)10000000000000000 + join_digits(upper) * 100000000 + join_digits(lower);
  if (rest && significand < FW_DECIMAL_CUT) return false;
  const int32_t exponent = (int32_t)(10 * tens + units);
  return fw_decimal_scale(significand, (exponent ^ negative) - negative - 16, value);
}

/* Branchless, because signs are unpredictable. */
static inline void set_sign(float *value, bool minus) {
  uint32_t bits;
  memcpy(&bits, value, sizeof bits);
  bits |= (uint32_t)minus << 31;
  memcpy(value, &bits, sizeof bits);
}

/* Reads a token that does not have the most common form. */
static __attribute__((noinline)) bool read_other_f32(const char *text, fw_token token, float *value) {
  const size_t length = fw_token_length(token);
  const char *end = text + fw_token_end(token), *begin = end - length;
  if (length == FW_TOKEN_LENGTH || length == 0) return false; /* it may be longer */
  const bool minus = *begin == '-';
  if (length - minus > 16 || !read_decimal(end, length - minus, value)) return fw_read_f32(begin, end, value) == end;
  set_sign(value, minus);
  return true;
}

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t length = fw_token_length(tokens[i]);
    const char *end = text + fw_token_end(tokens[i]);
    const unsigned digit = (unsigned)(unsigned char)end[-1] - '0';
    bool good;
    if (length == 1 && digit <= 9) {
      out[i] = (float)digit;
      continue;
    }
    const bool minus = *(end - length) == '-';
    const size_t rest = length - minus - (*(end - length + minus) == '0'); /* without a leading 0 */
    if (rest - 2 <= 7)
      good = read_short_decimal(end, rest, &out[i]);
    else
      good = length - minus >= 22 && read_scientific(end - length + minus, end, &out[i]);
    if (good)
      set_sign(&out[i], minus);
    else if (!read_other_f32(text, tokens[i], &out[i]))
      refused[count++] = (uint32_t)i;
  }
  return count;
}

/* ---- Integers ------------------------------------------------------------------------------------------- */

/* A token whose length is not known is refused. */
static inline const char *token_begin(const char *text, fw_token token, const char **end) {
  *end = text + fw_token_end(token);
  return fw_token_length(token) < FW_TOKEN_LENGTH ? *end - fw_token_length(token) : *end;
}

/* Reads more than 8 digits. */
static bool read_long_u64(const char *begin, const char *end, uint64_t *value) {
  bool overflow = false;
  if (begin == end || *begin == '+') return false;
  if (end - begin > 16) return fw_read_u64(begin, end, value, &overflow) == end && !overflow;
  const uint64_t upper = word_before(end - 8, (size_t)(end - begin) - 8), lower = word_before(end, 8);
  *value = join_digits(upper) * 100000000 + join_digits(lower);
  return !(not_digits(upper) | not_digits(lower));
}

static inline bool read_u64_token(const char *text, fw_token token, uint64_t *value) {
  const char *end;
  const char *begin = token_begin(text, token, &end);
  const size_t n = (size_t)(end - begin);
  if (n - 1 >= 8) return read_long_u64(begin, end, value);
  const uint64_t word = word_before(end, n);
  *value = join_digits(word);
  return not_digits(word) == 0;
}

static size_t read_u32(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t value = 0;
    refused[count] = (uint32_t)i;
    count += !read_u64_token(text, tokens[i], &value) | (value > UINT32_MAX);
    out[i] = (uint32_t)value;
  }
  return count;
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    refused[count] = (uint32_t)i;
    count += !read_u64_token(text, tokens[i], &out[i]);
  }
  return count;
}

void fw_tokenizer_fill_generic(fw_tokenizer *tokenizer) {
  tokenizer->find_marks = find_marks;
  tokenizer->find_cells = find_cells;
  tokenizer->pick_tokens = pick_tokens;
  tokenizer->deal_tokens = deal_tokens;
  tokenizer->count_lines = count_lines;
  tokenizer->read_f32 = read_f32;
  tokenizer->read_u32 = read_u32;
  tokenizer->read_u64 = read_u64;
}
