/* kern/kern_generic.c: every kernel in plain C. */
#include <string.h>

#include "base/number_in.h"
#include "kern/kern.h"

static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  size_t count = 0;
  bool odd = false;
  marks->places[-1] = UINT32_MAX;
  memset(marks->extras, 0, (fw_bit_words(n) + 1) * sizeof(uint64_t));
  memset(marks->ends, 0, (fw_bit_words(n) + 1) * sizeof(uint64_t));
  for (size_t i = 0; i < n; i++) {
    const char c = text[i];
    if ((unsigned char)c > upto && c != extra) continue;
    marks->places[count] = (uint32_t)i;
    marks->extras[count / 64] |= (uint64_t)(c == extra) << count % 64;
    marks->ends[count / 64] |= (uint64_t)(c == '\n') << count % 64;
    odd |= c != extra && c != '\n' && c != ' ';
    count++;
  }
  marks->count = count;
  marks->odd = odd;
}

static void pick_tokens(const uint32_t *places, size_t n, size_t lists, const uint64_t *const *bits,
                        fw_token *const *tokens) {
  for (size_t k = 0; k < lists; k++) {
    fw_token *out = tokens[k];
    for (size_t w = 0; w < fw_bit_words(n); w++) {
      const uint64_t inside = n - 64 * w >= 64 ? ~0ull : ~0ull >> (64 - (n - 64 * w));
      for (uint64_t left = bits[k][w] & inside; left; left &= left - 1) {
        const size_t i = 64 * w + (size_t)__builtin_ctzll(left);
        *out++ = fw_token_make(places[i], places[i] - places[i - 1] - 1);
      }
    }
  }
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

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *end;
    const char *begin = token_begin(text, tokens[i], &end);
    refused[count] = (uint32_t)i;
    count += begin == end || fw_read_f32(begin, end, &out[i]) != end;
  }
  return count;
}

static size_t read_u32(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *end;
    const char *begin = token_begin(text, tokens[i], &end);
    bool overflow = false;
    refused[count] = (uint32_t)i;
    count += begin == end || *begin == '+' || fw_read_u32(begin, end, &out[i], &overflow) != end || overflow;
  }
  return count;
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *end;
    const char *begin = token_begin(text, tokens[i], &end);
    bool overflow = false;
    refused[count] = (uint32_t)i;
    count += begin == end || *begin == '+' || fw_read_u64(begin, end, &out[i], &overflow) != end || overflow;
  }
  return count;
}

void fw_kern_fill_generic(fw_kern *kern) {
  kern->find_marks = find_marks;
  kern->pick_tokens = pick_tokens;
  kern->count_lines = count_lines;
  kern->read_f32 = read_f32;
  kern->read_u32 = read_u32;
  kern->read_u64 = read_u64;
}
