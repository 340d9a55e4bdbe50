/* kern/text/tokenizer.h: finds tokens in text and reads numbers from them. */
#ifndef FW_KERN_TEXT_TOKENIZER_H
#define FW_KERN_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Readable bytes before and after any text that is passed to a kernel, and writable elements after a list that it
 * fills. */
#define FW_KERN_PAD 64

/* A token of a text: the offset of its end, times 64, plus its length; 63 means 63 or more. */
typedef uint32_t fw_token;
#define FW_TOKEN_LENGTH 63u             /* mask; the longest exact length is one less */
#define FW_TOKEN_TEXT ((size_t)1 << 26) /* texts with tokens are shorter than this */

static inline fw_token fw_token_make(uint32_t end, uint32_t length) {
  return end << 6 | (length < FW_TOKEN_LENGTH ? length : FW_TOKEN_LENGTH);
}
static inline uint32_t fw_token_end(fw_token token) {
  return token >> 6;
}
static inline uint32_t fw_token_length(fw_token token) {
  return token & FW_TOKEN_LENGTH;
}

/* The marks of a text: all bytes <= `upto` (unsigned) and all equal to `extra`. The caller owns the lists. They hold
 * as many elements (bits, in words) as the text has bytes, and FW_KERN_PAD more; offsets[-1] is writable, too. */
typedef struct fw_marks {
  uint32_t *offsets; /* ascending; the kernel sets offsets[-1] to UINT32_MAX, the mark before the text */
  uint64_t *extras;  /* bit i: mark i is `extra`. Bits after the last are 0 up to the end of the word */
  uint64_t *ends;    /* the same: mark i is a LF */
  char *chars;       /* scratch of the kernel */
  size_t count;
  bool odd; /* some mark is neither `extra`, nor a LF, nor a space */
} fw_marks;

/* The ends of the cells of delimited text: delimiters and LFs that are not within quotes. The caller owns the lists,
 * which hold as many elements as the text has bytes, and FW_KERN_PAD more; offsets[-1] is writable, too. */
typedef struct fw_cell_marks {
  uint32_t *offsets; /* ascending; the kernel sets offsets[-1] to UINT32_MAX, the mark before the text */
  uint32_t *lines;   /* indices of the LFs in `offsets`, ascending */
  size_t count, nlines;
  bool quotes;  /* there are quotes */
  bool doubled; /* a cell has two quotes that stand for one */
  bool returns; /* there is a CR outside of quotes */
  bool spans;   /* there is a LF or CR within quotes */
  bool odd;     /* a quote begins or ends something other than a cell, or a byte other than LF follows a CR outside of
                   quotes: then the other members are not reliable */
} fw_cell_marks;

/* The number of words that hold n bits. */
static inline size_t fw_bit_words(size_t n) {
  return (n + 63) / 64;
}

typedef struct fw_tokenizer {
  /* Fills `marks`. */
  void (*find_marks)(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks);

  /* Fills `marks` for a text that begins with a cell. quotes false: they are ordinary characters. */
  void (*find_cells)(const char *text, size_t n, char delimiter, bool quotes, fw_cell_marks *marks);

  /* A token is the text between mark i - 1 and mark i. For each of the first n marks, appends it to every list k <
   * lists (at most 3) whose bits[k] has bit i set. The lists hold n + FW_KERN_PAD tokens. */
  void (*pick_tokens)(const uint32_t *offsets, size_t n, size_t lists, const uint64_t *const *bits,
                      fw_token *const *tokens);

  /* Like pick_tokens, but distributes the tokens in turn: the token of mark i goes to list i % lists. n is a
   * multiple of `lists`; offsets has FW_KERN_PAD more elements, and the lists hold n / lists + FW_KERN_PAD tokens. */
  void (*deal_tokens)(const uint32_t *offsets, size_t n, size_t lists, fw_token *const *tokens);

  /* Returns the number of line ends in text[0 … n-1]: LF, CR, or CR LF as one. A CR that is the last byte counts. */
  size_t (*count_lines)(const char *text, size_t n);

  /* out[i] = the value of token i, for n tokens. The kernel appends the i of tokens that it cannot read (not a
   * number, or too hard for it) to `refused`, ascending, and returns their number. The values are exact: floats are
   * the nearest, as base/number_in.h reads them; integers consist of digits only. refused and out hold n +
   * FW_KERN_PAD. */
  size_t (*read_f32)(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused);
  size_t (*read_u32)(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused);
  size_t (*read_u64)(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused);
} fw_tokenizer;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_tokenizer *fw_tokenizer_table(void);
void fw_tokenizer_fill_generic(fw_tokenizer *tokenizer);
void fw_tokenizer_fill_avx2(fw_tokenizer *tokenizer);
void fw_tokenizer_fill_avx512(fw_tokenizer *tokenizer);
void fw_tokenizer_fill_neon(fw_tokenizer *tokenizer);

#endif
