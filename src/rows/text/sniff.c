/* rows/text/sniff.c: detects the format of data from its first bytes. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/number_in.h"
#include "columns/frames.h"
#include "rows/text/format.h"
#include "rows/text/rowbuilder.h"

/* ---- Is it text? ---------------------------------------------------------------------------------------- */

typedef struct magic {
  const char *bytes;
  size_t size;
  const char *kind;
} magic;

static const magic binary_kinds[] = {
    {"\xff\xfe", 2, "UTF-16 text: convert it to UTF-8"},
    {"\xfe\xff", 2, "UTF-16 text: convert it to UTF-8"},
    {"PAR1", 4, "a Parquet file"},
    {"FURROWRC", 8, "a row cache of Furrow"},
    {"\x93NUMPY", 6, "a NumPy file"},
    {"\x89PNG", 4, "a PNG picture"},
    {"\x7f"
     "ELF",
     4, "a program"},
    {"%PDF-", 5, "a PDF document"},
    {"Obj\x01", 4, "an Avro file"},
    {"ARROW1", 6, "an Arrow file"},
    {"ORC", 3, "an ORC file"},
    {"SQLite format 3\0", 16, "an SQLite database"},
    {"\x89HDF", 4, "an HDF5 file"},
};

static bool is_control(unsigned char c) {
  return c < 0x20 && !(c >= '\t' && c <= '\r');
}

/* Whether the head begins with the magic bytes. If these are only letters, with which a csv header could begin as
 * well, they must be followed by bytes that no text has. */
static bool is_kind(const magic *m, const char *head, size_t size) {
  if (size < m->size || memcmp(head, m->bytes, m->size) != 0) return false;
  for (size_t i = 0; i < m->size; i++)
    if (!isalnum((unsigned char)m->bytes[i])) return true;
  if (m->size == 8) return true; /* a file of Furrow */
  for (size_t i = m->size; i < size && i < m->size + 16; i++)
    if (is_control((unsigned char)head[i]) || (unsigned char)head[i] >= 0x80) return true;
  return false;
}

furrow_status fw_sniff_text(const char *head, size_t size, furrow_error *err) {
  if (fw_frames_begin(head, size)) {
    (void)fw_fail(err, FURROW_E_FORMAT, "this is a table of typed columns, which is read through a schema");
    fw_error_set_hint(err, "furrow train --schema auto trains on it; furrow rows encode makes rows of it");
    return FURROW_E_FORMAT;
  }
  for (size_t i = 0; i < sizeof binary_kinds / sizeof binary_kinds[0]; i++) {
    const magic *m = &binary_kinds[i];
    if (is_kind(m, head, size)) return fw_fail(err, FURROW_E_FORMAT, "this is not text but %s", m->kind);
  }
  size_t zeros = 0;
  size_t controls = 0;
  size_t first = size;
  for (size_t i = 0; i < size; i++) {
    const unsigned char c = (unsigned char)head[i];
    if (!is_control(c)) continue;
    if (first == size) first = i;
    zeros += c == 0;
    controls += c != 0;
  }
  /* text may have a stray NUL, but not in every fourth byte, and few other control bytes */
  if (zeros * 4 <= size && controls * 64 <= size) return FURROW_OK;
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "this is binary data or UTF-16, not text");
  fw_error_set_token(err, head + first, size - first < 4 ? size - first : 4);
  if (err) err->offset = first;
  return status;
}

/* ---- Which format? -------------------------------------------------------------------------------------- */

/* Statistics of the first lines. */
typedef struct looks {
  size_t lines, tokens; /* tokens after the first one of each line */
  size_t one_colon, two_colons, integers, reals;
  size_t comma_lines, semicolon_lines, pipe_lines, tab_lines; /* lines with at least one */
  size_t spaced_lines; /* lines with a space, except the first line, which may be a header */
  /* tokens with one colon between two integers: their number, the largest integers before and after the colon */
  size_t integer_pairs;
  uint64_t largest_before, largest_after;
  /* tables: tokens per line; lines whose number of tokens differs from the first line; lines that repeat a number */
  size_t width, uneven_lines, repeating_lines;
  /* first tokens: with a colon; with an index below the next token's; one less than the next token's; alone on their
   * line. And tokens qid:n */
  size_t heads_with_colon, heads_below_next, heads_before_next, heads_alone, qids;
  uint64_t heads[3]; /* up to three different ones */
  size_t nheads;     /* 3: three or more */
} looks;

static size_t count_byte(const char *p, const char *end, char c) {
  size_t n = 0;
  for (; p < end; p++) n += *p == c;
  return n;
}

static bool holds_letter(const char *p, const char *end) {
  while (p < end && !isalpha((unsigned char)*p)) p++;
  return p < end;
}

/* Reads the integer that begins a token and ends at its end or at a colon; *after is its end. */
static bool leading_integer(const char *p, const char *end, uint64_t *number, const char **after) {
  bool overflow = false;
  *after = fw_read_u64(p, end, number, &overflow);
  return *after && !overflow && (*after == end || **after == ':');
}

static void look_at_pair(looks *l, const char *p, const char *end) {
  uint64_t before, after;
  const char *stop;
  if (!leading_integer(p, end, &before, &stop) || stop == end) return;
  if (!leading_integer(stop + 1, end, &after, &stop) || stop < end) return;
  l->integer_pairs++;
  if (before > l->largest_before) l->largest_before = before;
  if (after > l->largest_after) l->largest_after = after;
}

static void look_at_token(looks *l, const char *p, const char *end) {
  const size_t colons = count_byte(p, end, ':');
  if (end - p >= 4 && memcmp(p, "qid:", 4) == 0) {
    l->qids++;
    return;
  }
  l->tokens++;
  l->one_colon += colons == 1;
  l->two_colons += colons == 2;
  if (colons == 1) look_at_pair(l, p, end);
  float real;
  uint64_t integer;
  bool overflow;
  if (fw_read_u64(p, end, &integer, &overflow) == end)
    l->integers++;
  else if (fw_read_f32(p, end, &real) == end)
    l->reals++;
}

/* Inspects the first token of a line, which may be a feature; next is the second token, NULL if there is none. */
static void look_at_first(looks *l, const char *p, const char *end, const char *next, const char *line_end) {
  uint64_t index, other;
  const char *stop;
  if (!leading_integer(p, end, &index, &stop) || stop == end) return;
  l->heads_with_colon++;
  size_t i = 0;
  while (i < l->nheads && l->heads[i] != index) i++;
  if (i == l->nheads && i < 3) l->heads[l->nheads++] = index;
  l->heads_alone += !next;
  if (!next || !leading_integer(next, line_end, &other, &stop)) return;
  l->heads_below_next += index < other;
  l->heads_before_next += index + 1 == other;
}

/* Whether a token of the line equals an earlier one. */
static bool repeats(const char *const *begins, const char *const *ends, size_t count) {
  for (size_t i = 2; i < count; i++)
    for (size_t k = 1; k < i; k++) {
      const size_t n = (size_t)(ends[i] - begins[i]);
      if (n == (size_t)(ends[k] - begins[k]) && memcmp(begins[i], begins[k], n) == 0) return true;
    }
  return false;
}

static void look_at_line(looks *l, const char *line, const char *end) {
  enum { MOST = 64 };
  const char *begins[MOST] = {NULL}, *ends[MOST] = {NULL};
  const char *comment = memchr(line, '#', (size_t)(end - line));
  if (comment) end = comment;
  const char *p = line;
  while (p < end && fw_is_blank(*p)) p++;
  if (p == end) return;
  l->lines++;
  l->comma_lines += count_byte(line, end, ',') > 0;
  l->semicolon_lines += count_byte(line, end, ';') > 0;
  l->pipe_lines += count_byte(line, end, '|') > 0;
  l->tab_lines += count_byte(line, end, '\t') > 0;
  l->spaced_lines += count_byte(line, end, ' ') > 0 && (l->lines > 1 || !holds_letter(line, end));
  size_t tokens = 0;
  for (; p < end; tokens++) {
    const char *stop = p;
    while (stop < end && !fw_is_blank(*stop)) stop++;
    if (tokens < MOST) {
      begins[tokens] = p;
      ends[tokens] = stop;
    }
    if (tokens > 0) look_at_token(l, p, stop);
    for (p = stop; p < end && fw_is_blank(*p);) p++;
  }
  look_at_first(l, begins[0], ends[0], tokens > 1 ? begins[1] : NULL, tokens > 1 ? ends[1] : NULL);
  if (l->lines == 1) l->width = tokens;
  l->uneven_lines += tokens != l->width;
  l->repeating_lines += l->integers == l->tokens && repeats(begins, ends, tokens < MOST ? tokens : MOST);
}

/* Inspects the complete lines of the head, at most `most` of them. */
static looks look_at_head(const char *head, size_t size, bool whole, size_t most) {
  looks l = {0};
  const char *end = head + size;
  if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) head += 3;
  while (head < end && l.lines < most) {
    const char *stop = head;
    while (stop < end && !fw_is_line_end(*stop)) stop++;
    if (stop == end && !whole && l.lines > 0) break;
    look_at_line(&l, head, stop);
    head = stop + 1;
  }
  return l;
}

/* Finds the delimiter between cells, if the text is csv. With another delimiter, a number may have a decimal comma;
 * blanks may follow a comma. Returns 0 if none is on every line and a comma is not on most. */
static char find_delimiter(const looks *l, const char **why) {
  *why = "semicolons on every line";
  if (l->semicolon_lines == l->lines) return ';';
  *why = "| on every line";
  if (l->pipe_lines == l->lines) return '|';
  *why = "commas on every line";
  if (l->comma_lines == l->lines) return ',';
  *why = "tabs on every line";
  if (l->tab_lines == l->lines) return '\t';
  *why = "commas on most lines";
  return l->comma_lines * 2 > l->lines ? ',' : 0;
}

/* Counts the lines with each delimiter among the first hundred. */
static looks look_at_delimiters(const char *head, size_t size, bool whole) {
  looks l = {0};
  const char *end = head + size;
  while (head < end && l.lines < 100) {
    bool seen[256] = {0};
    const char *p = head;
    for (; p < end && !fw_is_line_end(*p); p++) seen[(unsigned char)*p] = true;
    if (p == end && !whole && l.lines > 0) break;
    const bool row = p > head && *head != '#';
    l.lines += row;
    l.comma_lines += row && seen[','];
    l.semicolon_lines += row && seen[';'];
    l.pipe_lines += row && seen['|'];
    l.tab_lines += row && seen['\t'];
    head = p + 1;
  }
  return l;
}

char fw_sniff_delimiter(const char *head, size_t size, bool whole) {
  const char *why;
  const looks l = look_at_delimiters(head, size, whole);
  const char delimiter = find_delimiter(&l, &why);
  return delimiter ? delimiter : ',';
}

/* Whether every line has the same number of words, and none of them is a feature with a value. */
static bool is_even(const looks *l) {
  return l->tokens > 0 && l->lines > 1 && l->uneven_lines == 0 && l->one_colon + l->two_colons == 0 && l->qids == 0 &&
         l->heads_with_colon == 0;
}

/* Whether every line has the same number of integers between blanks, and some lines repeat an integer: such integers
 * are not indices. */
static bool is_table(const looks *l) {
  return is_even(l) && l->integers == l->tokens && l->repeating_lines > 0;
}

/* Whether it is a tab-separated table, with or without a header. */
static bool is_tab_table(const looks *l) {
  return is_even(l) && l->tab_lines == l->lines && l->spaced_lines == 0;
}

fw_sniffed fw_sniff_format(const char *head, size_t size, bool whole, size_t most) {
  const looks l = look_at_head(head, size, whole, most);
  const char *why;
  const char delimiter = find_delimiter(&l, &why);
  if (l.lines == 0) return (fw_sniffed){"libsvm", "no data", false};
  if (l.two_colons > 0 && l.one_colon == 0) return (fw_sniffed){"libffm", "field:index:value", true};
  if (l.one_colon > 0) return (fw_sniffed){"libsvm", "index:value", l.two_colons == 0};
  if (delimiter && (delimiter != '\t' || l.spaced_lines == 0)) return (fw_sniffed){"csv", why, true};
  if (l.reals > 0) return (fw_sniffed){"dense", "numbers with fractions between blanks", true};
  if (is_table(&l)) return (fw_sniffed){"dense", "the same number of integers on every line, some repeated", true};
  if (l.tokens > 0 && l.integers == l.tokens)
    return (fw_sniffed){l.qids || l.heads_with_colon ? "libsvm" : "dummy", "indices without values", false};
  return (fw_sniffed){"libsvm", "no sign of another format", false};
}

/* ---- Would it be misread? ------------------------------------------------------------------------------- */

/* Whether all lines begin with a feature where label:weight is expected. Two classes 0 and 1 with weights look the
 * same as rows that begin with feature 0 or 1, unless feature 1 or 2 always follows. */
static bool is_unlabelled(const looks *l) {
  if (l->lines == 0 || l->heads_with_colon != l->lines || l->heads_alone == l->lines) return false;
  if (l->one_colon != l->tokens || l->heads_below_next + l->heads_alone != l->lines) return false;
  if (l->heads_before_next + l->heads_alone == l->lines) return true;
  if (l->nheads == 1) return l->lines > 1 || l->heads[0] > 1;
  return l->nheads > 2 || l->heads[0] > 1 || l->heads[1] > 1;
}

/* Whether all lines begin with a single number before features that have values. */
static bool is_labelled(const looks *l) {
  return l->tokens > 0 && l->heads_with_colon == 0 && l->one_colon + l->two_colons == l->tokens;
}

fw_misreading fw_sniff_misreading(const char *head, size_t size, bool whole, bool fields, bool unlabelled) {
  const looks l = look_at_head(head, size, whole, 100);
  if (unlabelled) return is_labelled(&l) ? FW_MISREAD_LABELLED : FW_MISREAD_NOTHING;
  if (is_unlabelled(&l)) return FW_MISREAD_UNLABELLED;
  if (fields && l.one_colon > 0 && l.two_colons == 0 && l.integer_pairs == l.one_colon &&
      l.largest_before > l.largest_after)
    return FW_MISREAD_LIBSVM;
  return !fields && (is_table(&l) || is_tab_table(&l)) ? FW_MISREAD_TABLE : FW_MISREAD_NOTHING;
}
