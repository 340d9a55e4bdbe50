/* kern/math/by_fours.h: lists of tokens read four at a time. */
#ifndef FW_KERN_MATH_BY_FOURS_H
#define FW_KERN_MATH_BY_FOURS_H

#include "kern/text/tokenizer.h"

/* Reads four tokens to out[0 … 3]; bit i of what is returned: token i is refused. */
typedef unsigned (*fw_read_four)(const char *text, const fw_token *tokens, void *out);

static inline size_t fw_append_refused(uint32_t *refused, size_t count, size_t base, unsigned bits) {
  for (; bits; bits &= bits - 1) refused[count++] = (uint32_t)(base + (size_t)__builtin_ctz(bits));
  return count;
}

/* n < 4 tokens, and copies of the last one. */
static inline const fw_token *fw_pad_tokens(const fw_token *tokens, size_t n, fw_token four[4]) {
  for (size_t i = 0; i < 4; i++) four[i] = tokens[i < n ? i : n - 1];
  return four;
}

/* n tokens to numbers of `size` bytes; the rest is as in fw_tokenizer. `read` is called in one place alone, so that it
 * is inlined. */
static inline __attribute__((always_inline)) size_t fw_read_by_fours(fw_read_four read, const char *text,
                                                                     const fw_token *tokens, size_t n, void *out,
                                                                     size_t size, uint32_t *refused) {
  size_t count = 0;
  fw_token last[4];
  for (size_t i = 0; i < n; i += 4) {
    const fw_token *four = n - i >= 4 ? tokens + i : fw_pad_tokens(tokens + i, n - i, last);
    unsigned bad = read(text, four, (char *)out + i * size);
    if (n - i < 4) bad &= (1U << (n - i)) - 1;
    if (__builtin_expect(bad != 0, 0)) count = fw_append_refused(refused, count, i, bad);
  }
  return count;
}

#endif
