/* rows/sniff.c: what is this data? From its first bytes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "rows/format.h"
#include "rows/rowbuilder.h"

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

/* Whether the head begins with the magic bytes. Where these are mere letters, which a csv header may begin with, too,
 * bytes that no text has must follow. */
static bool is_kind(const magic *m, const char *head, size_t size) {
  if (size < m->size || memcmp(head, m->bytes, m->size) != 0) return false;
  for (size_t i = 0; i < m->size; i++)
    if (!isalnum((unsigned char)m->bytes[i])) return true;
  if (m->size == 8) return true; /* our own */
  for (size_t i = m->size; i < size && i < m->size + 16; i++)
    if (is_control((unsigned char)head[i]) || (unsigned char)head[i] >= 0x80) return true;
  return false;
}

furrow_status fw_sniff_text(const char *head, size_t size, furrow_error *err) {
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
  /* a stray NUL happens in text, every fourth byte or other control bytes do not */
  if (zeros * 4 <= size && controls * 64 <= size) return FURROW_OK;
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "this is binary data or UTF-16, not text");
  fw_error_set_token(err, head + first, size - first < 4 ? size - first : 4);
  if (err) err->offset = first;
  return status;
}

/* ---- In which format? ----------------------------------------------------------------------------------- */

/* What the first lines are made of. */
typedef struct looks {
  size_t lines, tokens; /* tokens behind the first one of each line */
  size_t one_colon, two_colons, integers, reals;
  size_t comma_lines, semicolon_lines, pipe_lines, tab_lines; /* lines with one; tabs: and without a space */
} looks;

static size_t count_byte(const char *p, const char *end, char c) {
  size_t n = 0;
  for (; p < end; p++) n += *p == c;
  return n;
}

static void look_at_token(looks *l, const char *p, const char *end) {
  const size_t colons = count_byte(p, end, ':');
  if (end - p >= 4 && memcmp(p, "qid:", 4) == 0) return;
  l->tokens++;
  l->one_colon += colons == 1;
  l->two_colons += colons == 2;
  float real;
  uint64_t integer;
  bool overflow;
  if (fw_read_u64(p, end, &integer, &overflow) == end)
    l->integers++;
  else if (fw_read_f32(p, end, &real) == end)
    l->reals++;
}

static void look_at_line(looks *l, const char *line, const char *end) {
  const char *comment = memchr(line, '#', (size_t)(end - line));
  if (comment) end = comment;
  const char *p = line;
  while (p < end && fw_is_blank(*p)) p++;
  if (p == end) return;
  l->lines++;
  l->comma_lines += count_byte(line, end, ',') > 0;
  l->semicolon_lines += count_byte(line, end, ';') > 0;
  l->pipe_lines += count_byte(line, end, '|') > 0;
  l->tab_lines += count_byte(line, end, '\t') > 0 && count_byte(line, end, ' ') == 0;
  for (size_t token = 0; p < end; token++) {
    const char *stop = p;
    while (stop < end && !fw_is_blank(*stop)) stop++;
    if (token > 0) look_at_token(l, p, stop);
    for (p = stop; p < end && fw_is_blank(*p);) p++;
  }
}

/* All complete lines of the head, up to a thousand. */
static looks look_at_head(const char *head, size_t size, bool whole) {
  looks l = {0};
  const char *end = head + size;
  if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) head += 3;
  while (head < end && l.lines < 1000) {
    const char *stop = head;
    while (stop < end && !fw_is_line_end(*stop)) stop++;
    if (stop == end && !whole && l.lines > 0) break;
    look_at_line(&l, head, stop);
    head = stop + 1;
  }
  return l;
}

static void add_delimiter(fw_uri *uri, const char *delimiter) {
  if (fw_uri_arg_value(uri, "delimiter")) return;
  void *memory = uri->args;
  if (fw_realloc(&memory, uri->nargs + 1, sizeof(fw_uri_arg), NULL) != FURROW_OK) return;
  uri->args = memory;
  fw_uri_arg arg = {NULL, NULL};
  if (fw_strndup(&arg.key, "delimiter", 9, NULL) != FURROW_OK ||
      fw_strndup(&arg.value, delimiter, strlen(delimiter), NULL) != FURROW_OK) {
    fw_free(arg.key);
    return;
  }
  uri->args[uri->nargs++] = arg;
}

const char *fw_sniff_format(const char *head, size_t size, bool whole, fw_uri *uri, char *reason, size_t reason_size) {
  const looks l = look_at_head(head, size, whole);
  const char *name = "libsvm";
  const char *why = "nothing speaks for another format";
  const char *delimiter = NULL;
  if (l.lines == 0) {
    why = "no data";
  } else if (l.two_colons > 0 && l.one_colon == 0) {
    name = "libffm";
    why = "field:index:value";
  } else if (l.one_colon > 0) {
    why = "index:value";
  } else if (l.comma_lines * 2 > l.lines) {
    name = "csv";
    why = l.comma_lines == l.lines ? "commas on every line" : "commas on most lines";
  } else if (l.semicolon_lines == l.lines) {
    name = "csv";
    delimiter = ";";
    why = "semicolons on every line";
  } else if (l.pipe_lines == l.lines) {
    name = "csv";
    delimiter = "|";
    why = "| on every line";
  } else if (l.tab_lines == l.lines) {
    name = "csv";
    delimiter = "\t";
    why = "tabs on every line";
  } else if (l.reals > 0) {
    name = "dense";
    why = "numbers with fractions between blanks";
  } else if (l.tokens > 0 && l.integers == l.tokens) {
    why = "indices without values";
  }
  if (delimiter) add_delimiter(uri, delimiter);
  snprintf(reason, reason_size, "content: %s", why);
  return name;
}
