/* tests/unit/kern/test_tokenizer.c: every kernel of every level against plain C, on random and on hard text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number_in.h"
#include "base/rng.h"
#include "kern/dispatch.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"

/* A loop over the levels beside plain C that the processor has. */
#define FOR_EACH_LEVEL(isa)                                        \
  for (fw_isa isa = FW_ISA_GENERIC + 1; isa < FW_ISA_COUNT; isa++) \
    if (fw_isa_available(isa))

static void *must(void *memory) {
  if (!memory) abort();
  return memory;
}

/* ---- A text with bytes around it ------------------------------------------------------------------------ */

typedef struct padded {
  char *memory, *text;
  size_t length;
} padded;

/* The memory ends with the padding, so that reading beyond it is noticed. */
static padded make_padded(size_t length, char around) {
  padded p = {.memory = must(malloc(length + 2 * FW_KERN_PAD)), .length = length};
  memset(p.memory, around, length + 2 * FW_KERN_PAD);
  p.text = p.memory + FW_KERN_PAD;
  return p;
}

/* ---- Marks ---------------------------------------------------------------------------------------------- */

static fw_marks make_marks(size_t n) {
  const size_t words = fw_bit_words(n + FW_KERN_PAD);
  fw_marks m = {0};
  m.offsets = (uint32_t *)must(malloc((n + FW_KERN_PAD + 1) * sizeof *m.offsets)) + 1;
  m.extras = must(malloc(words * sizeof *m.extras));
  m.ends = must(malloc(words * sizeof *m.ends));
  m.chars = must(malloc(n + FW_KERN_PAD));
  memset(m.offsets - 1, 0xa5, (n + FW_KERN_PAD + 1) * sizeof *m.offsets);
  memset(m.extras, 0xa5, words * sizeof *m.extras);
  memset(m.ends, 0xa5, words * sizeof *m.ends);
  return m;
}

static void free_marks(fw_marks *m) {
  free(m->offsets - 1);
  free(m->extras);
  free(m->ends);
  free(m->chars);
}

static void assert_marks(const fw_marks *m, const padded *p, unsigned char upto, char extra) {
  size_t count = 0;
  bool odd = false;
  assert_true(m->offsets[-1] == UINT32_MAX);
  for (size_t i = 0; i < p->length; i++) {
    const char c = p->text[i];
    if ((unsigned char)c > upto && c != extra) continue;
    assert_true(count < m->count && m->offsets[count] == i);
    assert_int_equal(m->extras[count / 64] >> count % 64 & 1, c == extra);
    assert_int_equal(m->ends[count / 64] >> count % 64 & 1, c == '\n');
    odd |= c != extra && c != '\n' && c != ' ';
    count++;
  }
  assert_int_equal(m->count, count);
  assert_int_equal(m->odd, odd);
  if (count % 64) { /* no bits behind the last mark, up to the end of the word */
    assert_true(m->extras[count / 64] >> count % 64 == 0);
    assert_true(m->ends[count / 64] >> count % 64 == 0);
  }
}

static void check_marks(const padded *p) {
  static const struct {
    unsigned char upto;
    char extra;
  } kinds[] = {{' ', ':'}, {' ', ' '}, {0x1f, ','}, {0x1f, '\t'}, {0x1f, ' '}, {0x1f, '\xff'}, {0, 'x'}, {0xff, ':'}};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
      if (!fw_isa_available(isa)) continue;
      fw_marks m = make_marks(p->length);
      fw_kernels_at(isa).tokenizer.find_marks(p->text, p->length, kinds[k].upto, kinds[k].extra, &m);
      assert_marks(&m, p, kinds[k].upto, kinds[k].extra);
      free_marks(&m);
    }
}

/* All lengths, from few marks to nothing else; what lies around the text is marks too, and must not be seen. */
static void marks_of_random_text(void **state) {
  (void)state;
  static const struct {
    const char *letters;
    size_t count;
  } alphabets[] = {{"0123456789abcdefghi::  \n", 24},
                   {"01234567 :\n", 11},
                   {" ", 1},
                   {"\n", 1},
                   {":", 1},
                   {"7", 1},
                   {" \t\r\n:,0", 7},
                   {"\x00\x1f\x20\x21\x7f\x80\xc2\xa0\xff", 9}};
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (size_t n = 0; n <= 300; n++)
    for (size_t a = 0; a < sizeof alphabets / sizeof alphabets[0]; a++) {
      if (n > 80 && (n + a) % 4 && SLOW > 1) continue;
      padded p = make_padded(n, a % 2 ? '\n' : ':');
      for (size_t i = 0; i < n; i++) p.text[i] = alphabets[a].letters[fw_rng_below(&rng, alphabets[a].count)];
      check_marks(&p);
      free(p.memory);
    }
}

/* Every byte value, at every place of a group of 64. */
static void marks_of_every_byte(void **state) {
  (void)state;
  for (size_t shift = 0; shift < 64; shift++) {
    padded p = make_padded(256 + shift, ' ');
    memset(p.text, 'a', shift);
    for (size_t i = 0; i < 256; i++) p.text[shift + i] = (char)i;
    check_marks(&p);
    free(p.memory);
  }
}

static void marks_of_a_window(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 2);
  for (size_t i = 0; i < 40; i++) {
    padded p = make_padded(8000 + fw_rng_below(&rng, 9000), ' ');
    for (size_t k = 0; k < p.length; k++) p.text[k] = "0123456789.:  \n"[fw_rng_below(&rng, i < 20 ? 15 : 10 + i / 8)];
    check_marks(&p);
    free(p.memory);
  }
}

/* ---- Tokens --------------------------------------------------------------------------------------------- */

enum { LISTS = 3 };

/* What pick_tokens is to give, one mark after the other; returns the number of tokens. */
static size_t pick_plainly(const uint32_t *offsets, size_t n, const uint64_t *bits, fw_token *tokens) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (bits[i / 64] >> i % 64 & 1) tokens[count++] = fw_token_make(offsets[i], offsets[i] - offsets[i - 1] - 1);
  return count;
}

/* Deals the first marks out to 1, 2 and 3 lists. */
static void check_dealing(const uint32_t *offsets, size_t n, fw_token *const *tokens) {
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++)
    for (size_t lists = 1; lists <= LISTS && fw_isa_available(isa); lists++) {
      const size_t whole = n - n % lists;
      fw_kernels_at(isa).tokenizer.deal_tokens(offsets, whole, lists, tokens);
      for (size_t i = 0; i < whole; i++)
        assert_int_equal(tokens[i % lists][i / lists], fw_token_make(offsets[i], offsets[i] - offsets[i - 1] - 1));
    }
}

static void check_picking(fw_rng *rng, size_t n, unsigned density) {
  const size_t words = fw_bit_words(n + FW_KERN_PAD);
  const size_t capacity = n + FW_KERN_PAD;
  uint32_t *offsets = (uint32_t *)must(malloc((capacity + 1) * sizeof *offsets)) + 1;
  fw_token *wanted = must(malloc(capacity * sizeof *wanted));
  uint64_t *bits[LISTS];
  fw_token *tokens[LISTS];
  memset(offsets - 1, 0xa5, (capacity + 1) * sizeof *offsets);
  offsets[-1] = UINT32_MAX;
  for (size_t i = 0; i < n; i++) offsets[i] = offsets[i - 1] + 1 + (uint32_t)fw_rng_below(rng, i % 9 ? 12 : 100);
  for (size_t k = 0; k < LISTS; k++) {
    bits[k] = must(malloc(words * sizeof *bits[k]));
    tokens[k] = must(malloc(capacity * sizeof *tokens[k]));
    for (size_t i = 0; i < words; i++) { /* bits behind the last mark may be anything */
      bits[k][i] = density ? fw_rng_next(rng) : ~0ull;
      if (density > 1) bits[k][i] &= fw_rng_next(rng) & fw_rng_next(rng);
    }
  }
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++)
    for (size_t lists = 1; lists <= LISTS && fw_isa_available(isa); lists++) {
      fw_kernels_at(isa).tokenizer.pick_tokens(offsets, n, lists, (const uint64_t *const *)bits, tokens);
      for (size_t k = 0; k < lists; k++)
        assert_memory_equal(tokens[k], wanted, pick_plainly(offsets, n, bits[k], wanted) * sizeof *wanted);
    }
  check_dealing(offsets, n, tokens);
  for (size_t k = 0; k < LISTS; k++) {
    free(bits[k]);
    free(tokens[k]);
  }
  free(wanted);
  free(offsets - 1);
}

static void pick_random_tokens(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (size_t round = 0; round < 3000 / SLOW; round++)
    check_picking(&rng, fw_rng_below(&rng, round % 8 ? 200 : 3000), round % 3);
  assert_int_equal(fw_token_length(fw_token_make(500, 62)), 62);
  assert_int_equal(fw_token_length(fw_token_make(500, 63)), FW_TOKEN_LENGTH);
  assert_int_equal(fw_token_length(fw_token_make(500, 64)), FW_TOKEN_LENGTH);
  assert_int_equal(fw_token_end(fw_token_make(FW_TOKEN_TEXT - 1, 500)), FW_TOKEN_TEXT - 1);
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

static void count_random_lines(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  for (size_t n = 0; n <= 300; n++)
    for (size_t kind = 0; kind < 6; kind++) {
      padded p = make_padded(n, kind % 2 ? '\r' : '\n');
      for (size_t i = 0; i < n; i++) p.text[i] = "\r\n\r\nabcdefgh"[fw_rng_below(&rng, 2 + 2 * kind)];
      size_t wanted = 0;
      for (size_t i = 0; i < n; i++) wanted += p.text[i] == '\n' ? i == 0 || p.text[i - 1] != '\r' : p.text[i] == '\r';
      for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++)
        if (fw_isa_available(isa)) assert_int_equal(fw_kernels_at(isa).tokenizer.count_lines(p.text, n), wanted);
      free(p.memory);
    }
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

enum { MOST_TOKENS = 4096, TEXT_CAPACITY = 1 << 18 };

typedef enum number_kind { F32, U32, U64, NUMBER_KINDS } number_kind;

/* Tokens waiting to be read, and how many were read and refused since the start. */
typedef struct reader {
  fw_rng rng;
  padded text;
  size_t used, count;
  fw_token tokens[MOST_TOKENS];
  uint32_t refused[MOST_TOKENS + FW_KERN_PAD];
  uint64_t out[MOST_TOKENS + FW_KERN_PAD];
  uint64_t exact[NUMBER_KINDS][MOST_TOKENS];
  bool valid[NUMBER_KINDS][MOST_TOKENS];
  size_t read[FW_ISA_COUNT][NUMBER_KINDS], left[FW_ISA_COUNT][NUMBER_KINDS];
} reader;

static reader *make_reader(uint64_t seed) {
  reader *r = must(calloc(1, sizeof *r));
  fw_rng_init(&r->rng, seed);
  r->text = make_padded(TEXT_CAPACITY, '5');
  return r;
}

static void read_exactly(reader *r, const char *token, size_t length) {
  const char *end = token + length;
  const size_t i = r->count;
  float f32 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  bool over32 = false, over64 = false;
  const bool plus = length > 0 && token[0] == '+';
  r->valid[F32][i] = length > 0 && fw_read_f32(token, end, &f32) == end;
  r->valid[U32][i] = length > 0 && !plus && fw_read_u32(token, end, &u32, &over32) == end && !over32;
  r->valid[U64][i] = length > 0 && !plus && fw_read_u64(token, end, &u64, &over64) == end && !over64;
  r->exact[F32][i] = r->exact[U32][i] = 0;
  memcpy(&r->exact[F32][i], &f32, sizeof f32);
  memcpy(&r->exact[U32][i], &u32, sizeof u32);
  r->exact[U64][i] = u64;
}

static size_t read_tokens(reader *r, const fw_tokenizer *tokenizer, number_kind kind) {
  const char *text = r->text.text;
  switch (kind) {
  case F32: return tokenizer->read_f32(text, r->tokens, r->count, (float *)r->out, r->refused);
  case U32: return tokenizer->read_u32(text, r->tokens, r->count, (uint32_t *)r->out, r->refused);
  default: return tokenizer->read_u64(text, r->tokens, r->count, r->out, r->refused);
  }
}

static void fail_token(const reader *r, fw_isa isa, number_kind kind, size_t i, const char *what) {
  static const char *const kinds[] = {"f32", "u32", "u64"};
  const uint32_t length = fw_token_length(r->tokens[i]);
  fail_msg("%s %s: token %zu of %zu, '%.*s': %s", fw_isa_name(isa), kinds[kind], i, r->count, (int)length,
           r->text.text + fw_token_end(r->tokens[i]) - length, what);
}

static void check_kind(reader *r, fw_isa isa, number_kind kind) {
  const fw_tokenizer tokenizer = fw_kernels_at(isa).tokenizer;
  const size_t size = kind == U64 ? 8 : 4;
  memset(r->out, 0x5a, sizeof r->out);
  const size_t refused = read_tokens(r, &tokenizer, kind);
  size_t k = 0;
  assert_true(refused <= r->count);
  for (size_t i = 0; i < r->count; i++) {
    if (k < refused && r->refused[k] == i) {
      r->left[isa][kind] += r->valid[kind][i];
      r->read[isa][kind] += r->valid[kind][i];
      if (isa == FW_ISA_GENERIC && r->valid[kind][i] && fw_token_length(r->tokens[i]) < FW_TOKEN_LENGTH)
        fail_token(r, isa, kind, i, "refused");
      k++;
      continue;
    }
    r->read[isa][kind]++;
    if (!r->valid[kind][i]) fail_token(r, isa, kind, i, "taken for a number");
    if (fw_token_length(r->tokens[i]) == FW_TOKEN_LENGTH) fail_token(r, isa, kind, i, "longer than is known");
    if (memcmp((const char *)r->out + i * size, &r->exact[kind][i], size) != 0) fail_token(r, isa, kind, i, "wrong");
  }
  assert_int_equal(k, refused); /* ascending, none twice */
}

static void check_tokens(reader *r) {
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++)
    for (number_kind kind = 0; kind < NUMBER_KINDS && fw_isa_available(isa); kind++) check_kind(r, isa, kind);
  r->used = r->count = 0;
}

/* Adds a token; the list is read when it is as long as some number that is drawn. Between tokens there is one byte. */
static void add_token(reader *r, const char *token, size_t length) {
  if (r->count == MOST_TOKENS || r->used + length + 1 > TEXT_CAPACITY) check_tokens(r);
  memcpy(r->text.text + r->used, token, length);
  read_exactly(r, r->text.text + r->used, length);
  r->used += length;
  r->tokens[r->count++] = fw_token_make((uint32_t)r->used, (uint32_t)length);
  r->text.text[r->used++] = " :,7-.e"[fw_rng_below(&r->rng, 7)];
  if (fw_rng_below(&r->rng, 600) == 0) check_tokens(r);
}

static void add_text(reader *r, const char *token) {
  add_token(r, token, strlen(token));
}

static void free_reader(reader *r) {
  check_tokens(r);
  free(r->text.memory);
  free(r);
}

/* Every token of a few characters; every number of tokens up to 40. */
static void short_tokens(void **state) {
  (void)state;
  static const char letters[] = "059+-.eE:n";
  reader *r = make_reader(5);
  for (size_t length = 0; length <= 4; length++) {
    size_t all = 1;
    for (size_t i = 0; i < length; i++) all *= sizeof letters - 1;
    for (size_t n = 0; n < all; n++) {
      char token[8];
      for (size_t i = 0, rest = n; i < length; i++, rest /= sizeof letters - 1)
        token[i] = letters[rest % (sizeof letters - 1)];
      add_token(r, token, length);
    }
  }
  check_tokens(r);
  for (size_t n = 0; n <= 40; n++) {
    for (size_t i = 0; i < n; i++) add_text(r, i % 5 ? "12.5" : i % 2 ? "x" : "1234567");
    check_tokens(r);
  }
  free_reader(r);
}

/* Every byte value in every place of a token. */
static void foreign_bytes(void **state) {
  (void)state;
  static const char *const models[] = {"1234567",
                                       "12345678",
                                       "123456789",
                                       "1234567890123456",
                                       "-1.25",
                                       "0.12345678901234",
                                       "-1.234567890123456",
                                       "1.234567890123456789e-05",
                                       "1.5e+10",
                                       "12345678901234567",
                                       "12345678901234567890",
                                       "7"};
  reader *r = make_reader(6);
  for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
    for (size_t at = 0; at < strlen(models[m]); at++)
      for (unsigned byte = 0; byte < 256; byte++) {
        char token[64];
        strcpy(token, models[m]);
        token[at] = (char)byte;
        add_token(r, token, strlen(models[m]));
        if (byte % 16 == 0) add_text(r, models[byte / 16 % 12]);
      }
  free_reader(r);
}

/* Bytes that numbers are made of, in any order; lengths up to what a token can tell, and more. */
static void random_tokens(void **state) {
  (void)state;
  static const char all[] = "0123456789+-.eE";
  reader *r = make_reader(7);
  for (size_t i = 0; i < 1500000 / SLOW; i++) {
    char token[80];
    const size_t length = fw_rng_below(&r->rng, i % 50 ? 41 : 71);
    const uint64_t kind = fw_rng_below(&r->rng, 4);
    for (size_t k = 0; k < length; k++)
      token[k] =
          kind == 0 || fw_rng_below(&r->rng, 12) == 0 ? all[fw_rng_below(&r->rng, 15)] : all[fw_rng_below(&r->rng, 10)];
    if (kind == 2 && length > 0) token[0] = '-';
    if (kind >= 2 && length > 3) token[1 + fw_rng_below(&r->rng, length - 2)] = '.';
    if (kind == 3 && length > 6) token[length - 2 - fw_rng_below(&r->rng, 4)] = 'e';
    add_token(r, token, length);
  }
  free_reader(r);
}

/* What programs write. Few of these may be refused: it is what the kernels are for. */
static void ordinary_tokens(void **state) {
  (void)state;
  static const struct {
    const char *format;
    double scale;
    bool plain;     /* neither exponent nor more than 16 characters */
    size_t refused; /* at most so many in a thousand */
  } styles[] = {{"%.6g", 1, false, 1},    {"%.6g", 1e3, true, 1},
                {"%.6f", 1, true, 1},     {"%.6f", 1e4, true, 1},
                {"%.4f", 1, true, 1},     {"%.9g", 10, true, 1},
                {"%.0f", 1e5, true, 1},   {"%.18e", 1, false, 1},
                {"%.18e", 30, false, 1},  {"%.6e", 1e5, false, 1},
                {"%.8e", 1e-9, false, 1}, {"%.17g", 1, false, 120} /* of 0.0123… the first 16 digits are too few */};
  for (size_t s = 0; s < sizeof styles / sizeof styles[0]; s++) {
    reader *r = make_reader(8 + s);
    for (size_t i = 0; i < 80000 / SLOW; i++) {
      char token[64];
      snprintf(token, sizeof token, styles[s].format, fw_rng_normal(&r->rng) * styles[s].scale);
      add_text(r, token);
    }
    check_tokens(r);
    FOR_EACH_LEVEL(isa) {
      if (!styles[s].plain && isa != FW_ISA_AVX512) continue; /* AVX2 leaves long ones and exponents to others */
      if (r->left[isa][F32] * 1000 > r->read[isa][F32] * styles[s].refused)
        fail_msg("%s: %zu of %zu numbers %s are refused", fw_isa_name(isa), r->left[isa][F32], r->read[isa][F32],
                 styles[s].format);
    }
    free_reader(r);
  }
}

static void ordinary_integers(void **state) {
  (void)state;
  for (unsigned bits = 1; bits <= 64; bits++) {
    reader *r = make_reader(50 + bits);
    for (size_t i = 0; i < 8000 / SLOW; i++) {
      char token[32];
      snprintf(token, sizeof token, "%llu", (unsigned long long)(fw_rng_next(&r->rng) >> (64 - bits)));
      add_text(r, token);
    }
    check_tokens(r);
    FOR_EACH_LEVEL(isa) {
      if (bits <= 32) assert_int_equal(r->left[isa][U32], 0);
      if (bits <= 53 || isa == FW_ISA_AVX512) assert_int_equal(r->left[isa][U64], 0);
    }
    free_reader(r);
  }
}

/* The middle between two floats, numbers near it, and how they are written: to all their digits, or to 15 … 25. */
static void near_ties(void **state) {
  (void)state;
  static const char *const formats[] = {"%.14e", "%.15e", "%.16e", "%.17e", "%.18e", "%.20e", "%.25g",
                                        "%.17g", "%.15g", "%.30g", "%.12f", "%.20f", "%.0f",  "%.1f"};
  reader *r = make_reader(9);
  for (size_t i = 0; i < 60000 / SLOW; i++) {
    uint32_t bits = (uint32_t)fw_rng_next(&r->rng) & 0x7fffff;
    bits |= (uint32_t)(i % 3 ? 127 - 30 + fw_rng_below(&r->rng, 60) : 1 + fw_rng_below(&r->rng, 253)) << 23;
    float low;
    memcpy(&low, &bits, sizeof low);
    const double middle = ((double)low + (double)nextafterf(low, INFINITY)) / 2;
    const double near = middle * (1 + (double)((int64_t)fw_rng_below(&r->rng, 7) - 3) * ldexp(1, -52 + (int)(i % 14)));
    for (size_t k = 0; k < 4; k++) {
      char token[512];
      snprintf(token, sizeof token, formats[fw_rng_below(&r->rng, sizeof formats / sizeof formats[0])],
               k % 2 ? near : middle);
      add_token(r, token, strlen(token) < 70 ? strlen(token) : 70);
      /* one more or one less in the last digit of the significand */
      char *e = strchr(token, 'e');
      char *digit = e ? e - 1 : token + strlen(token) - 1;
      if (*digit >= '1' && *digit <= '8') *digit = (char)(*digit + (k < 2 ? 1 : -1));
      if (strlen(token) < 70) add_text(r, token);
    }
  }
  free_reader(r);
}

/* Integers at the edges: powers of ten, 2^32, 2^64, 2^24 (the last exact float), with zeros before them. */
static void edge_integers(void **state) {
  (void)state;
  reader *r = make_reader(10);
  const unsigned __int128 one = 1;
  for (unsigned power = 0; power <= 70; power++)
    for (int d = -40; d <= 40; d++)
      for (unsigned base = 0; base < 2; base++) {
        unsigned __int128 v = 1;
        if (base == 0) v = one << power;
        for (unsigned i = 0; base == 1 && i < power && i < 22; i++) v *= 10;
        if (d < 0 && v < (unsigned __int128)-d) continue;
        v += (unsigned __int128)(__int128)d;
        char token[128];
        size_t at = sizeof token;
        do token[--at] = (char)('0' + (int)(v % 10));
        while ((v /= 10) > 0);
        for (size_t zeros = 0; zeros <= 20; zeros += 1 + zeros / 3) {
          memset(token + at - zeros, '0', zeros);
          add_token(r, token + at - zeros, sizeof token - at + zeros);
        }
        token[at - 1] = d % 2 ? '-' : '+';
        add_token(r, token + at - 1, sizeof token - at + 1);
      }
  free_reader(r);
}

static void hard_floats(void **state) {
  (void)state;
  static const char *const texts[] = {"0",
                                      "-0",
                                      "0.0",
                                      "-0.000000",
                                      "00",
                                      "0e0",
                                      "0e99",
                                      "-0e-99",
                                      "0.0e+40",
                                      "+0",
                                      "5.",
                                      ".5",
                                      "-.5",
                                      "-5.",
                                      ".",
                                      "-",
                                      "+",
                                      "",
                                      "-.",
                                      "e",
                                      "e5",
                                      ".e5",
                                      "1e",
                                      "1e+",
                                      "1e-",
                                      "1.e5",
                                      ".1e5",
                                      "1e5e5",
                                      "1.5.5",
                                      "--5",
                                      "1-5",
                                      "1+5",
                                      "+-5",
                                      "-+5",
                                      "1e+5",
                                      "1E+5",
                                      "1e5.5",
                                      "1e--5",
                                      "1e38",
                                      "3.4028234e38",
                                      "3.4028235e38",
                                      "3.4028236e38",
                                      "3.5e38",
                                      "1e39",
                                      "1e64",
                                      "1e65",
                                      "1e99",
                                      "1e100",
                                      "1e999",
                                      "1e1000",
                                      "1e-37",
                                      "1.1754943e-38",
                                      "1.1754944e-38",
                                      "1.17549435e-38",
                                      "1.2e-38",
                                      "1e-38",
                                      "1e-39",
                                      "1e-45",
                                      "7e-46",
                                      "7.1e-46",
                                      "1e-64",
                                      "1e-65",
                                      "1e-99",
                                      "1e-999",
                                      "16777216",
                                      "16777217",
                                      "16777218",
                                      "16777219",
                                      "33554431",
                                      "33554433",
                                      "1.00000005960464477539",
                                      "1.00000017881393432617",
                                      "8388608.5",
                                      "8388609.5",
                                      "123456789012345",
                                      "1234567890123456",
                                      "12345678901234567",
                                      "123456789012345678",
                                      "9999999999999999",
                                      "99999999999999999",
                                      "0.1234567890123456",
                                      "0.12345678901234567",
                                      "0.9999999999999999",
                                      "0.99999999999999999999",
                                      "0.000000000000001",
                                      "0.0000000000000001",
                                      "0.00000000000000000000000000001",
                                      "0.0000000000000000000000000000",
                                      "1.000000000000000000e+00",
                                      "1.000000000000000000e-00",
                                      "-1.5e+0001",
                                      "1.0000000000000000000000000000",
                                      "1.00000000000000000000000000000",
                                      "1.000000000000000000000000000000",
                                      "1.0000000000000000000000000000000",
                                      "1.00000000000000000000000000000001",
                                      "12345.678901234567890123456789e-5",
                                      "nan",
                                      "inf",
                                      "-inf",
                                      "NaN",
                                      "infinity",
                                      "nan(5)",
                                      "1f",
                                      "0x10",
                                      "1,5",
                                      "1_0",
                                      "1 5",
                                      "\xd9\xa1",
                                      "1e 5",
                                      " 1"};
  const size_t count = sizeof texts / sizeof texts[0];
  reader *r = make_reader(11);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < 24; k++) {
      add_text(r, texts[i]);
      for (size_t n = k % 9; n > 0; n--) add_text(r, texts[fw_rng_below(&r->rng, count)]);
      for (size_t n = k % 5; n > 0; n--) add_text(r, "0.25");
    }
  free_reader(r);
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

static fw_cell_marks make_cell_marks(size_t n) {
  fw_cell_marks m = {0};
  m.offsets = (uint32_t *)must(malloc((n + FW_KERN_PAD + 1) * sizeof *m.offsets)) + 1;
  m.lines = must(malloc((n + FW_KERN_PAD) * sizeof *m.lines));
  return m;
}

/* The same, byte by byte. */
static void assert_cell_marks(const fw_cell_marks *m, const padded *p, char delimiter, bool quotes) {
  fw_cell_marks want = {0};
  bool within = false, begins = true, closed = false, cr = false;
  assert_true(m->offsets[-1] == UINT32_MAX);
  for (size_t i = 0; i < p->length; i++) {
    const char c = p->text[i];
    const bool quote = quotes && c == '"';
    const bool stop = !within && (c == delimiter || c == '\n' || c == '\r');
    const bool opens = quote && !within, closes = quote && within;
    want.quotes |= quote;
    want.doubled |= opens && closed;
    want.odd |= (opens && !begins && !closed) || (closed && !stop && !opens) || (cr && c != '\n');
    want.spans |= within && (c == '\n' || c == '\r');
    want.returns |= stop && c == '\r';
    if (stop && (c == delimiter || c == '\n')) {
      if (c == '\n') {
        assert_true(want.nlines < m->nlines && m->lines[want.nlines] == want.count);
        want.nlines++;
      }
      assert_true(want.count < m->count && m->offsets[want.count] == i);
      want.count++;
    }
    within ^= quote;
    begins = stop;
    closed = closes;
    cr = stop && c == '\r';
  }
  assert_int_equal(m->count, want.count);
  assert_int_equal(m->nlines, want.nlines);
  assert_int_equal(m->quotes, want.quotes);
  assert_int_equal(m->doubled, want.doubled);
  assert_int_equal(m->returns, want.returns);
  assert_int_equal(m->spans, want.spans);
  assert_int_equal(m->odd, want.odd);
}

/* Text of cells, most of them as they should be, so that not everything is odd. */
static void fill_with_cells(padded *p, fw_rng *rng, unsigned kind) {
  static const char *const pieces[] = {"a",           ",",         "\n", "bc,",  "\r\n", "\"x\",",
                                       "\"\",",       "\"",        "\r", "\t",   "1.5,", ";",
                                       "\"a\"\"b\",", "\"q,\n\",", " ",  "word", "",     "\"\"\"\"\n"};
  static const unsigned usual[] = {0, 1, 2, 3, 5, 6, 10, 15, 17, 12, 13, 4};
  size_t at = 0;
  while (at < p->length) {
    const unsigned n = kind == 0   ? (unsigned)fw_rng_below(rng, 18)
                       : kind == 1 ? usual[fw_rng_below(rng, 12)]
                                   : (unsigned)fw_rng_below(rng, 4);
    for (const char *c = pieces[n]; *c && at < p->length; c++) p->text[at++] = *c;
  }
}

static void cells_of_random_text(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t round = 0; round < 6000 / SLOW; round++) {
    padded p = make_padded(fw_rng_below(&rng, 300), "\",\n"[round % 3]);
    fill_with_cells(&p, &rng, (unsigned)(round % 3));
    for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
      if (!fw_isa_available(isa)) continue;
      const char delimiter = ",\t;"[fw_rng_below(&rng, 3)];
      const bool quotes = fw_rng_below(&rng, 4) > 0;
      fw_cell_marks m = make_cell_marks(p.length);
      fw_kernels_at(isa).tokenizer.find_cells(p.text, p.length, delimiter, quotes, &m);
      assert_cell_marks(&m, &p, delimiter, quotes);
      free(m.offsets - 1);
      free(m.lines);
    }
    free(p.memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(marks_of_random_text), cmocka_unit_test(marks_of_every_byte),
      cmocka_unit_test(marks_of_a_window),    cmocka_unit_test(cells_of_random_text),
      cmocka_unit_test(pick_random_tokens),   cmocka_unit_test(count_random_lines),
      cmocka_unit_test(short_tokens),         cmocka_unit_test(foreign_bytes),
      cmocka_unit_test(random_tokens),        cmocka_unit_test(ordinary_tokens),
      cmocka_unit_test(ordinary_integers),    cmocka_unit_test(near_ties),
      cmocka_unit_test(edge_integers),        cmocka_unit_test(hard_floats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
