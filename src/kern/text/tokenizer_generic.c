/* kern/text/tokenizer_generic.c: every kernel in plain C. */
#include <string.h>

#include "base/endian.h"
#include "base/number_in.h"
#include "kern/text/read_numbers.h"
#include "kern/text/tokenizer.h"

static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  size_t count = 0;
  bool odd = false;
  marks->offsets[-1] = UINT32_MAX;
  memset(marks->extras, 0, (fw_bit_words(n) + 1) * sizeof(uint64_t));
  memset(marks->ends, 0, (fw_bit_words(n) + 1) * sizeof(uint64_t));
  for (size_t i = 0; i < n; i++) {
    const char c = text[i];
    if ((unsigned char)c > upto && c != extra) continue;
    marks->offsets[count] = (uint32_t)i;
    marks->extras[count / 64] |= (uint64_t)(c == extra) << count % 64;
    marks->ends[count / 64] |= (uint64_t)(c == '\n') << count % 64;
    odd |= c != extra && c != '\n' && c != ' ';
    count++;
  }
  marks->count = count;
  marks->odd = odd;
}

/* ---- Cells: 8 bytes at a time --------------------------------------------------------------------------- */

typedef struct cell_bits {
  uint64_t delimiters, quotes, lf, cr;
} cell_bits;

/* Bit i: byte i of the word is 0. */
static inline uint64_t zero_bytes(uint64_t word) {
  const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
  const uint64_t tops = ~(((word & low) + low) | word | low);
  return (tops >> 7) * 0x0102040810204080u >> 56;
}

static inline cell_bits read_cell_bits(const char *p, char delimiter) {
  const uint64_t each = 0x0101010101010101u;
  cell_bits b = {0};
  for (unsigned k = 0; k < 8; k++) {
    const uint64_t word = fw_get_le64(p + 8 * k);
    b.delimiters |= zero_bytes(word ^ each * (unsigned char)delimiter) << 8 * k;
    b.quotes |= zero_bytes(word ^ each * '"') << 8 * k;
    b.lf |= zero_bytes(word ^ each * '\n') << 8 * k;
    b.cr |= zero_bytes(word ^ each * '\r') << 8 * k;
  }
  return b;
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

static void deal_tokens(const uint32_t *offsets, size_t n, size_t lists, fw_token *const *tokens) {
  for (size_t k = 0; k < lists; k++)
    for (size_t i = k; i < n; i += lists) tokens[k][i / lists] = token_at(offsets + i);
}

static size_t count_lines(const char *text, size_t n) {
  size_t lines = 0;
  char before = 0;
  for (size_t i = 0; i < n; i++) {
    lines += text[i] == '\r' || (text[i] == '\n' && before != '\r');
    before = text[i];
  }
  return lines;
}

/* A token whose length is not known is refused. */
static inline const char *token_begin(const char *text, fw_token token, const char **end) {
  *end = text + fw_token_end(token);
  return fw_token_length(token) < FW_TOKEN_LENGTH ? *end - fw_token_length(token) : *end;
}

/* The n digits at s, 1 <= n <= 8, as a number; false if one of them is none. Eight bytes are loaded, moved up so that
 * the wanted ones are the upper ones, filled up with zeros, checked at once (a byte b is a digit iff neither b + 0x46
 * nor b - '0' has its top bit set), and joined in pairs, fours and eights by one multiplication each. */
static inline bool read_digits(const char *s, size_t n, uint64_t *number) {
  const unsigned free_bits = (unsigned)(64 - 8 * n);
  const uint64_t filling = 0x3030303030303030u & ~(~0ull << free_bits);
  uint64_t v = fw_get_le64(s) << free_bits | filling;
  if (((v + 0x4646464646464646u) | (v - 0x3030303030303030u)) & 0x8080808080808080u) return false;
  v = (v & 0x0f0f0f0f0f0f0f0fu) * (10 * 256 + 1) >> 8;
  v = (v & 0x00ff00ff00ff00ffu) * (100 * 65536 + 1) >> 16;
  *number = (v & 0x0000ffff0000ffffu) * ((uint64_t)10000 << 32 | 1) >> 32;
  return true;
}

/* [-]digits[.digits] with up to eight digits before and behind the point. */
static inline bool read_short_f32(const char *s, const char *end, float *value) {
  static const uint64_t tens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const bool minus = *s == '-';
  s += minus;
  if (end - s > 17 || s == end) return false;
  const char *point = s;
  while (point < end && *point != '.') point++;
  uint64_t significand;
  if (point == s || point - s > 8 || !read_digits(s, (size_t)(point - s), &significand)) return false;
  size_t decimals = 0;
  if (point < end) {
    uint64_t behind;
    decimals = (size_t)(end - point) - 1;
    if (decimals == 0 || decimals > 8 || !read_digits(point + 1, decimals, &behind)) return false;
    significand = significand * tens[decimals] + behind;
  }
  float magnitude;
  if (!fw_decimal_scale(significand, -(int32_t)decimals, &magnitude)) return false;
  *value = minus ? -magnitude : magnitude;
  return true;
}

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *end;
    const char *begin = token_begin(text, tokens[i], &end);
    if (begin < end && (read_short_f32(begin, end, &out[i]) || fw_read_f32(begin, end, &out[i]) == end)) continue;
    refused[count++] = (uint32_t)i;
  }
  return count;
}

static inline bool read_u64_token(const char *begin, const char *end, uint64_t *value) {
  const size_t n = (size_t)(end - begin);
  bool overflow = false;
  if (n - 1 < 8) return read_digits(begin, n, value);
  return n > 0 && *begin != '+' && fw_read_u64(begin, end, value, &overflow) == end && !overflow;
}

static size_t read_u32(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *end;
    const char *begin = token_begin(text, tokens[i], &end);
    uint64_t value = 0;
    refused[count] = (uint32_t)i;
    count += !read_u64_token(begin, end, &value) || value > UINT32_MAX;
    out[i] = (uint32_t)value;
  }
  return count;
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *end;
    const char *begin = token_begin(text, tokens[i], &end);
    refused[count] = (uint32_t)i;
    count += !read_u64_token(begin, end, &out[i]);
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
