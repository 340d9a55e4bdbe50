/* tests/support/sample_text.h: made-up text of every row format, regular or not. */
#ifndef SAMPLE_TEXT_H
#define SAMPLE_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

typedef enum text_kind { TEXT_LIBSVM, TEXT_LIBFM, TEXT_DUMMY, TEXT_CSV, TEXT_DENSE, TEXT_KINDS } text_kind;

static const char *const text_formats[TEXT_KINDS] = {"libsvm", "libfm", "dummy", "csv", "dense"};

/* What the numbers of a text look like. */
typedef enum number_style {
  NUMBER_DIGIT,    /* 7 */
  NUMBER_INTEGER,  /* -1234 */
  NUMBER_G,        /* %.6g */
  NUMBER_F,        /* %.6f */
  NUMBER_E,        /* %.18e */
  NUMBER_SHORTEST, /* %.9g */
  NUMBER_ANY,
  NUMBER_STYLES = NUMBER_ANY
} number_style;

typedef struct text_maker {
  fw_rng rng;
  text_kind kind;
  char *text;
  size_t length, capacity;
  unsigned odd;   /* one piece in so many is odd; 0: none */
  bool integers;  /* numbers are integers */
  char delimiter; /* csv */
  unsigned cells; /* csv, dense: per row */
  number_style style;
  unsigned weights, qids, values; /* in 4: how often a row (a feature) has one */
  unsigned line_ends;             /* 0 LF, 1 CR LF, 2 CR, 3 any */
} text_maker;

static inline uint64_t text_below(text_maker *m, uint64_t bound) {
  return fw_rng_below(&m->rng, bound);
}

static inline void text_put(text_maker *m, const char *bytes, size_t n) {
  if (m->length + n > m->capacity) {
    m->capacity = 2 * (m->length + n);
    m->text = realloc(m->text, m->capacity);
    if (!m->text) abort();
  }
  memcpy(m->text + m->length, bytes, n);
  m->length += n;
}

static inline void text_puts(text_maker *m, const char *s) {
  text_put(m, s, strlen(s));
}

/* Pieces that make a line odd: each format takes some of them and refuses others. */
static inline void text_put_odd(text_maker *m) {
  static const char *const pieces[] = {"nan",
                                       "NaN(1)",
                                       "-nan",
                                       "inf",
                                       "-Infinity",
                                       "infinit",
                                       "1e400",
                                       "-1e-400",
                                       "-0",
                                       "+1",
                                       "+",
                                       "-",
                                       "--",
                                       ".",
                                       "abc",
                                       "hello",
                                       "1.5.2",
                                       "1-2",
                                       "1e",
                                       "1e+",
                                       "e5",
                                       "-e5",
                                       "1f",
                                       "\xc2\xa0",
                                       "\xc2",
                                       "1\xc2\xa0"
                                       "2\xc2\xa0"
                                       "3:4",
                                       "\v",
                                       "\f",
                                       "\t",
                                       "#",
                                       " # c 1:2",
                                       "::",
                                       ":",
                                       " ",
                                       "  ",
                                       "qid:",
                                       "qid:5",
                                       " qid:18446744073709551615",
                                       " qid:-3",
                                       " qid:7.25",
                                       "\"1\"",
                                       "\"1\"\"2\"",
                                       "\"",
                                       "NA",
                                       "n/a",
                                       "null",
                                       "?",
                                       "\\N",
                                       "#N/A",
                                       "\n#N/A,1\n",
                                       "5%",
                                       "0x1F",
                                       "1.5 ",
                                       "\xef\xbb\xbf",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "4294967295",
                                       "4294967296",
                                       "4294967297",
                                       "-1",
                                       "-1:2",
                                       "99999999999999999999",
                                       "2147483647",
                                       "2147483648",
                                       "-2147483649",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "1e-45",
                                       "7e-46",
                                       "3.4028235e38",
                                       "3.4028236e38",
                                       "16777217",
                                       "0",
                                       "0:0",
                                       "1:",
                                       "1:2:3",
                                       "1:2:3:4",
                                       ":1",
                                       ",",
                                       ",,",
                                       ";",
                                       "\n",
                                       "\r",
                                       "\r\n\r\n",
                                       "\n\n\n",
                                       "0.00000000000000000000000000000000000000000000000000000000000000012",
                                       "123456789012345678901234567890123456789012345678901234567890123",
                                       "0000000000000000000000000000000000000000000000000000000000000000007",
                                       "1.17549435e-38",
                                       "8388608.5",
                                       "8388609.5",
                                       "0.1e1",
                                       "+.5E+01",
                                       "-12345678901234567.e-3"};
  const size_t count = sizeof pieces / sizeof pieces[0];
  const uint64_t i = text_below(m, count + 3);
  if (i < count) {
    text_puts(m, pieces[i]);
  } else if (i == count) {
    text_put(m, "\0", 1);
  } else if (i == count + 1) {
    for (uint64_t n = text_below(m, 90); n > 0; n--) text_puts(m, " ");
  } else {
    const char c = (char)text_below(m, 256);
    text_put(m, &c, 1);
  }
}

static inline bool text_odd_now(text_maker *m) {
  return m->odd && text_below(m, m->odd) == 0;
}

static inline void text_put_integer(text_maker *m, uint64_t below) {
  char s[32];
  snprintf(s, sizeof s, "%llu", (unsigned long long)text_below(m, below));
  text_puts(m, s);
}

/* A number as programs write them. */
static inline void text_put_number(text_maker *m) {
  if (text_odd_now(m)) {
    text_put_odd(m);
    return;
  }
  static const double sizes[] = {1, 1, 10, 1e3, 1e-5, 1e20, 1e-30};
  char s[64];
  const double x = fw_rng_normal(&m->rng) * sizes[text_below(m, sizeof sizes / sizeof sizes[0])];
  const number_style style = m->style == NUMBER_ANY ? (number_style)text_below(m, NUMBER_STYLES) : m->style;
  switch (m->integers && style > NUMBER_INTEGER ? NUMBER_INTEGER : style) {
  case NUMBER_DIGIT: snprintf(s, sizeof s, "%d", (int)text_below(m, 10)); break;
  case NUMBER_INTEGER: snprintf(s, sizeof s, "%d", (int)text_below(m, 200000) - 1000); break;
  case NUMBER_G: snprintf(s, sizeof s, "%.6g", x); break;
  case NUMBER_F: snprintf(s, sizeof s, "%.6f", x); break;
  case NUMBER_E: snprintf(s, sizeof s, "%.18e", x); break;
  default: snprintf(s, sizeof s, "%.9g", x); break;
  }
  text_puts(m, s);
}

static inline void text_put_index(text_maker *m) {
  static const uint64_t sizes[] = {10, 100, 100000, 1u << 31, 1ull << 33, 1ull << 63};
  if (text_odd_now(m))
    text_put_odd(m);
  else
    text_put_integer(m, sizes[text_below(m, text_below(m, 50) ? 4 : 6)]);
}

static inline void text_put_feature(text_maker *m) {
  if (m->kind == TEXT_LIBFM) {
    text_put_index(m);
    text_puts(m, ":");
  }
  text_put_index(m);
  if (m->kind == TEXT_DUMMY || text_below(m, 4) >= m->values) return;
  text_puts(m, ":");
  text_put_number(m);
}

static inline void text_put_sparse_row(text_maker *m) {
  text_put_number(m);
  if (m->kind != TEXT_DUMMY && text_below(m, 4) < m->weights) {
    text_puts(m, ":");
    text_put_number(m);
  }
  if (m->kind == TEXT_LIBSVM && text_below(m, 4) < m->qids) {
    text_puts(m, " qid:");
    text_put_index(m);
  }
  for (uint64_t n = text_below(m, text_below(m, 20) ? 12 : 120); n > 0; n--) {
    text_puts(m, " ");
    text_put_feature(m);
  }
}

static inline void text_put_table_row(text_maker *m) {
  unsigned n = m->cells;
  if (text_odd_now(m)) n = (unsigned)text_below(m, 12);
  for (unsigned i = 0; i < n; i++) {
    if (i) text_put(m, &m->delimiter, 1);
    if (m->kind == TEXT_CSV && m->odd && text_below(m, 3 * m->odd) == 0) continue;
    text_put_number(m);
  }
}

static inline void text_put_line_end(text_maker *m) {
  static const char *const ends[] = {"\n", "\r\n", "\r"};
  text_puts(m, ends[m->line_ends < 3 ? m->line_ends : text_below(m, 3)]);
}

static inline void text_put_row(text_maker *m) {
  if (m->kind < TEXT_CSV)
    text_put_sparse_row(m);
  else
    text_put_table_row(m);
  if (text_odd_now(m)) text_put_odd(m);
}

/* A text of about `size` bytes in a manner that is drawn anew: regular, slightly odd, or wild. The last line end is
 * there or not. m->text is used again. */
static inline void text_make(text_maker *m, text_kind kind, size_t size) {
  static const unsigned odds[] = {0, 0, 1000, 100, 100, 20, 4};
  static const unsigned shares[] = {0, 0, 4, 2};
  m->kind = kind;
  text_puts(m, " "); /* so that there is a text, even an empty one */
  m->length = 0;
  m->odd = odds[text_below(m, sizeof odds / sizeof odds[0])];
  m->style = (number_style)text_below(m, NUMBER_STYLES + 1);
  m->weights = shares[text_below(m, 4)];
  m->qids = shares[text_below(m, 4)];
  m->values = text_below(m, 3) ? 4 : shares[text_below(m, 4)];
  m->line_ends = text_below(m, 3) ? 0 : (unsigned)text_below(m, 4);
  m->cells = 1 + (unsigned)text_below(m, text_below(m, 5) ? 12 : 200);
  if (kind == TEXT_DENSE) m->delimiter = ' ';
  while (m->length < size) {
    text_put_row(m);
    text_put_line_end(m);
  }
  if (m->length > 0 && text_below(m, 3) == 0) m->length--;
}

/* Changes, removes, doubles or moves a few bytes. */
static inline void text_mutate(text_maker *m, unsigned times) {
  static const char bytes[] = "0123456789+-.eE:: \t\n\r#,\"qidnaf\0\xc2\xa0\xef\xbb\xbf";
  for (; times > 0 && m->length > 0; times--) {
    const size_t at = (size_t)text_below(m, m->length);
    const size_t n = 1 + (size_t)text_below(m, m->length - at < 40 ? m->length - at : 40);
    char copy[64];
    switch (text_below(m, 4)) {
    case 0: m->text[at] = bytes[text_below(m, sizeof bytes)]; break;
    case 1: /* take out */
      memmove(m->text + at, m->text + at + n, m->length - at - n);
      m->length -= n;
      break;
    case 2: /* double */
      memcpy(copy, m->text + at, n);
      text_put(m, copy, n);
      break;
    default: /* over another place */
      memmove(m->text + (size_t)text_below(m, m->length - n + 1), m->text + at, n);
      break;
    }
  }
}

#endif
