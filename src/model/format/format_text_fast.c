/* model/format/format_text_fast.c: parses lines of text to records at memory speed.
 *
 * As in the fast parsers of rows, one kernel finds the marks (separators and line ends) of a window, and others convert
 * the tokens between them to numbers. The n-th mark of a record ends its n-th field, and only the last mark may be a
 * LF. A window ends after a mark, possibly in the middle of a record. Unusual text (CR, long separators, rare spellings
 * of numbers, errors) is left to fw_text_read_lines, from the start of the record. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/number_in.h"
#include "kern/text/tokenizer.h"
#include "model/format/format_text.h"

enum { WINDOW = 4096, LIST = WINDOW + FW_KERN_PAD, WORDS = WINDOW / 64 + 2 };
enum { ROW, KEY, VALUE, LISTS };

typedef struct fast_reader {
  const fw_text_shape *shape;
  const fw_tokenizer *kern;
  furrow_matrix_records *records;
  const char *bytes;
  size_t record; /* offset of the record being read */
  size_t at;     /* offset up to which fields are read */
  size_t phase;  /* fields of the record that are already read */
  uint32_t offsets[1 + LIST];
  uint64_t extras[WORDS], ends[WORDS];
  char chars[LIST];
  uint64_t bits[LISTS][WORDS];
  fw_token tokens[LISTS][LIST];
  size_t counts[LISTS];
  uint32_t refused[LIST];
} fast_reader;

/* ---- Fields of a window --------------------------------------------------------------------------------- */

static void set_bits(uint64_t *bits, size_t first, size_t step, size_t n) {
  memset(bits, 0, fw_bit_words(n) * sizeof *bits);
  for (size_t i = first; i < n; i += step) bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* The index of the first mark that ends field number `field` of a record. */
static size_t first_mark(const fast_reader *r, size_t field) {
  return (field + r->shape->fields - r->phase) % r->shape->fields;
}

/* Counts how often `field` occurs among the first n fields, counted from the start of the record. */
static size_t fields_before(const fast_reader *r, size_t n, size_t field) {
  return (n + r->shape->fields - 1 - field) / r->shape->fields;
}

/* Whether line ends are exactly the last marks of records among the first n marks. */
static bool marks_fit(fast_reader *r, size_t n) {
  uint64_t *expected = r->bits[VALUE];
  set_bits(expected, first_mark(r, r->shape->fields - 1), r->shape->fields, n);
  for (size_t w = 0; w < n / 64; w++)
    if (expected[w] != r->ends[w]) return false;
  return n % 64 == 0 || (expected[n / 64] ^ r->ends[n / 64]) << (64 - n % 64) == 0;
}

/* Splits the tokens of the first n fields into rows, keys and values. */
static void pick_fields(fast_reader *r, size_t n) {
  const fw_text_shape *shape = r->shape;
  const bool wanted[LISTS] = {shape->row, shape->key, true};
  const size_t field[LISTS] = {0, shape->row, 0};
  const uint64_t *bits[LISTS];
  fw_token *tokens[LISTS];
  size_t lists = 0;
  for (size_t w = 0; w < fw_bit_words(n); w++) r->bits[VALUE][w] = ~UINT64_C(0);
  r->counts[VALUE] = n;
  for (size_t k = 0; k < LISTS; k++) {
    if (!wanted[k]) continue;
    if (k != VALUE) {
      set_bits(r->bits[k], first_mark(r, field[k]), shape->fields, n);
      for (size_t w = 0; w < fw_bit_words(n); w++) r->bits[VALUE][w] &= ~r->bits[k][w];
      r->counts[k] = fields_before(r, r->phase + n, field[k]) - fields_before(r, r->phase, field[k]);
      r->counts[VALUE] -= r->counts[k];
    }
    bits[lists] = r->bits[k];
    tokens[lists++] = r->tokens[k];
  }
  r->kern->pick_tokens(r->offsets + 1, n, lists, bits, tokens);
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

/* Returns the text of a token; false if it is too long for its length to be stored. */
static inline bool token_text(const char *text, fw_token token, const char **begin, const char **end) {
  *end = text + fw_token_end(token);
  *begin = *end - fw_token_length(token);
  return fw_token_length(token) < FW_TOKEN_LENGTH;
}

static bool reread_id(const char *text, fw_token token, int bits, int64_t *id) {
  const char *begin, *end;
  return token_text(text, token, &begin, &end) && fw_text_read_id(bits, begin, end, id) == FW_TEXT_OK;
}

static bool read_rows(fast_reader *r, const char *text) {
  const size_t n = r->counts[ROW];
  int32_t *out = r->records->row_ids + r->records->count + fields_before(r, r->phase, 0);
  const size_t refused = r->kern->read_u32(text, r->tokens[ROW], n, (uint32_t *)out, r->refused);
  for (size_t k = 0; k < refused; k++) out[r->refused[k]] = 0;
  uint32_t all = 0;
  for (size_t i = 0; i < n; i++) all |= (uint32_t)out[i];
  if (all > INT32_MAX) return false;
  for (size_t k = 0; k < refused; k++) {
    int64_t id;
    if (!reread_id(text, r->tokens[ROW][r->refused[k]], 32, &id)) return false;
    out[r->refused[k]] = (int32_t)id;
  }
  return true;
}

static bool read_keys(fast_reader *r, const char *text) {
  const size_t n = r->counts[KEY];
  const uint64_t most = r->shape->key_bits == 32 ? INT32_MAX : INT64_MAX;
  int64_t *out = r->records->col_ids + r->records->count + fields_before(r, r->phase, r->shape->row);
  const size_t refused = r->kern->read_u64(text, r->tokens[KEY], n, (uint64_t *)out, r->refused);
  for (size_t k = 0; k < refused; k++) out[r->refused[k]] = 0;
  for (size_t i = 0; i < n; i++)
    if ((uint64_t)out[i] > most) return false;
  for (size_t k = 0; k < refused; k++) {
    const uint32_t i = r->refused[k];
    if (!reread_id(text, r->tokens[KEY][i], r->shape->key_bits, &out[i])) return false;
  }
  return true;
}

static bool reread_value(fast_reader *r, const char *text, size_t i, void *out) {
  const char *begin, *end;
  return token_text(text, r->tokens[VALUE][i], &begin, &end) &&
         fw_text_read_value(r->shape, begin, end, out, i) == FW_TEXT_OK;
}

static bool read_floats(fast_reader *r, const char *text, float *out) {
  const size_t n = r->counts[VALUE];
  const size_t refused = r->kern->read_f32(text, r->tokens[VALUE], n, out, r->refused);
  for (size_t k = 0; k < refused; k++)
    if (!reread_value(r, text, r->refused[k], out)) return false;
  /* kernels may accept other words for infinity and NaN than Java */
  for (size_t i = 0; i < n; i++)
    if (!isfinite(out[i]) && !reread_value(r, text, i, out)) return false;
  return true;
}

static bool read_doubles(fast_reader *r, const char *text, double *out) {
  for (size_t i = 0; i < r->counts[VALUE]; i++) {
    const char *begin, *end;
    const bool known = token_text(text, r->tokens[VALUE][i], &begin, &end);
    if (known && begin < end && (*begin == '-' || (*begin >= '0' && *begin <= '9')) &&
        fw_read_f64(begin, end, &out[i]) == end && isfinite(out[i]))
      continue;
    if (!reread_value(r, text, i, out)) return false;
  }
  return true;
}

/* Removes signs from the tokens and applies them to the numbers later. */
static bool read_integers(fast_reader *r, const char *text, void *out) {
  const size_t n = r->counts[VALUE];
  fw_token *tokens = r->tokens[VALUE];
  uint64_t numbers[LIST];
  uint64_t *minus = r->bits[VALUE];
  memset(minus, 0, fw_bit_words(n) * sizeof *minus);
  for (size_t i = 0; i < n; i++) {
    const uint32_t length = fw_token_length(tokens[i]);
    const uint64_t sign = length > 0 && length < FW_TOKEN_LENGTH && text[fw_token_end(tokens[i]) - length] == '-';
    minus[i / 64] |= sign << i % 64;
    tokens[i] -= (fw_token)sign;
  }
  const size_t refused = r->kern->read_u64(text, tokens, n, numbers, r->refused);
  const uint64_t most = r->shape->type == FURROW_ELEMENT_I32 ? INT32_MAX : INT64_MAX;
  for (size_t k = 0; k < refused; k++) numbers[r->refused[k]] = 0;
  for (size_t i = 0; i < n; i++) {
    if (numbers[i] > most) return false;
    const int64_t number = minus[i / 64] >> i % 64 & 1 ? -(int64_t)numbers[i] : (int64_t)numbers[i];
    if (r->shape->type == FURROW_ELEMENT_I32)
      ((int32_t *)out)[i] = (int32_t)number;
    else
      ((int64_t *)out)[i] = number;
  }
  for (size_t k = 0; k < refused; k++) {
    const uint32_t i = r->refused[k];
    tokens[i] += minus[i / 64] >> i % 64 & 1;
    if (!reread_value(r, text, i, out)) return false;
  }
  return true;
}

static bool read_values(fast_reader *r, const char *text) {
  const size_t lead = (size_t)r->shape->row + r->shape->key;
  const size_t first = r->records->count * r->shape->values + (r->phase > lead ? r->phase - lead : 0);
  char *out = (char *)r->records->values + first * fw_element_bytes(r->shape->type);
  switch (r->shape->type) {
  case FURROW_ELEMENT_F32: return read_floats(r, text, (float *)out);
  case FURROW_ELEMENT_F64: return read_doubles(r, text, (double *)out);
  default: return read_integers(r, text, out);
  }
}

/* ---- Windows -------------------------------------------------------------------------------------------- */

/* Reads the fields that end in the next n bytes, up to the capacity of the records. Returns false if the text is
 * unusual; the reader's state is then unchanged, except for numbers past the end of the records. */
static bool read_window(fast_reader *r, size_t n) {
  const fw_text_shape *shape = r->shape;
  const char *text = r->bytes + r->at;
  fw_marks marks = {.offsets = r->offsets + 1, .extras = r->extras, .ends = r->ends, .chars = r->chars};
  r->kern->find_marks(text, n, 0x1f, shape->fields == 1 ? '\n' : shape->separator[0], &marks);
  const size_t avail = (r->records->capacity - r->records->count) * shape->fields - r->phase;
  const size_t count = marks.count < avail ? marks.count : avail;
  if (marks.odd || count == 0 || !marks_fit(r, count)) return false;
  pick_fields(r, count);
  if ((shape->row && !read_rows(r, text)) || (shape->key && !read_keys(r, text)) || !read_values(r, text)) return false;
  const size_t fields = r->phase + count;
  const size_t whole = fields / shape->fields;
  if (whole) r->record = r->at + marks.offsets[whole * shape->fields - r->phase - 1] + 1;
  r->at += marks.offsets[count - 1] + 1;
  r->records->count += whole;
  r->phase = fields % shape->fields;
  return true;
}

/* Whether the separator is one byte that cannot be part of a number. */
static bool is_usual(const fw_text_shape *shape) {
  if (shape->fields == 1) return true;
  return shape->separator_length == 1 && !isalnum((unsigned char)shape->separator[0]) &&
         !memchr("+-.", shape->separator[0], 3);
}

furrow_status fw_text_read(const fw_text_shape *shape, const char *bytes, size_t size, bool last, size_t *used,
                           furrow_matrix_records *records, furrow_error *err) {
  fast_reader r; /* 80 kB, not worth clearing */
  r.shape = shape;
  r.kern = fw_tokenizer_table();
  r.records = records;
  r.bytes = bytes;
  r.record = r.at = r.phase = 0;
  furrow_status status = FURROW_OK;
  while (is_usual(shape) && r.at < size && records->count < records->capacity) {
    const size_t n = size - r.at < WINDOW ? size - r.at : WINDOW;
    if (read_window(&r, n)) continue;
    const size_t start = r.record;
    status = fw_text_read_lines(shape, bytes, size, last, r.at + n, &r.record, records, err);
    if (status != FURROW_OK) return status;
    if (r.record == start) break;
    r.at = r.record;
    r.phase = 0;
  }
  /* an incomplete record at the end, or all of an unusual text */
  status = fw_text_read_lines(shape, bytes, size, last, size, &r.record, records, err);
  if (status == FURROW_OK) *used = r.record;
  return status;
}
