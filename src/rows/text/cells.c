/* rows/text/cells.c: cells of delimited text, byte by byte. */
#include "rows/text/cells.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/utf8.h"
#include "rows/text/rowbuilder.h"

static bool is_padding(const fw_cell_rules *rules, char c) {
  return fw_is_blank(c) && c != rules->delimiter;
}

static const char *skip_padding(const fw_cell_rules *rules, const char *p, const char *end) {
  while (p < end && (rules->blanks ? fw_is_blank(*p) : is_padding(rules, *p))) p++;
  return p;
}

static const char *next_after(const fw_cell_rules *rules, const char *delimiter, const char *end) {
  if (rules->blanks)
    delimiter = skip_padding(rules, delimiter, end);
  else if (delimiter < end)
    delimiter++;
  return delimiter < end ? delimiter : NULL;
}

/* Returns the quote that closes the cell opened at `quote`; NULL if there is none. */
static const char *closing_quote(const char *quote, const char *end) {
  const char *q = quote + 1;
  while ((q = q < end ? memchr(q, '"', (size_t)(end - q)) : NULL) != NULL && q + 1 < end && q[1] == '"')
    q += 2; /* "" is a quote inside the cell */
  return q;
}

static bool quoted_cell(const fw_cell_rules *rules, const char **p, const char *end, fw_cell *cell) {
  cell->quoted = true;
  cell->begin = *p;
  const char *q = closing_quote(*p, end);
  if (!q) return false;
  const char *after = skip_padding(rules, q + 1, end);
  if (after < end && *after != rules->delimiter) return false;
  cell->begin++;
  cell->end = q;
  *p = next_after(rules, after, end);
  return true;
}

bool fw_cell_next(const fw_cell_rules *rules, const char **p, const char *end, fw_cell *cell) {
  const char *begin = skip_padding(rules, *p, end);
  cell->quoted = false;
  cell->begin = begin;
  if (rules->quotes && begin < end && *begin == '"') {
    *p = begin;
    return quoted_cell(rules, p, end, cell);
  }
  const char *stop = begin;
  while (stop < end && (rules->blanks ? !fw_is_blank(*stop) : *stop != rules->delimiter)) stop++;
  *p = next_after(rules, stop, end);
  while (stop > begin && is_padding(rules, stop[-1])) stop--;
  cell->end = stop;
  return true;
}

/* ---- Records -------------------------------------------------------------------------------------------- */

static const char *line_end(const char *p, const char *end) {
  while (p < end && !fw_is_line_end(*p)) p++;
  return p;
}

const char *fw_cell_record_end(const fw_cell_rules *rules, bool lines, const char *p, const char *end) {
  if (lines || !rules->quotes) return line_end(p, end);
  for (;;) {
    p = skip_padding(rules, p, end);
    if (p < end && *p == '"') {
      p = closing_quote(p, end);
      if (!p) return NULL;
      p = skip_padding(rules, p + 1, end);
      if (p < end && *p != rules->delimiter) return line_end(p, end);
    }
    while (p < end && *p != rules->delimiter && !fw_is_line_end(*p)) p++;
    if (p == end || *p != rules->delimiter) return p;
    p++;
  }
}

const char *fw_cell_line_begin(const char *p, const char *end) {
  if (p == end) return end;
  return p + 1 + (p[0] == '\r' && p + 1 < end && p[1] == '\n');
}

bool fw_cell_is_blank_line(const fw_cell_rules *rules, const char *line, const char *end) {
  return skip_padding(rules, line, end) == end;
}

/* ---- The contents of a cell ----------------------------------------------------------------------------- */

bool fw_cell_is_missing(const fw_cell *cell) {
  static const struct {
    const char *text;
    size_t length;
  } words[] = {{"na", 2}, {"n/a", 3}, {"#n/a", 4}, {"null", 4}, {"none", 4}, {"nil", 3}, {"missing", 7},
               {"?", 1},  {"-", 1},   {"--", 2},   {"+", 1},    {".", 1},    {"\\n", 2}};
  const size_t n = (size_t)(cell->end - cell->begin);
  if (n == 0) return true;
  for (size_t i = 0; i < sizeof words / sizeof words[0] && n <= 7; i++)
    if (words[i].length == n && strncasecmp(cell->begin, words[i].text, n) == 0) return true;
  return false;
}

bool fw_cell_is_missing_class(const fw_cell *cell) {
  static const char *const words[] = {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "\\N"};
  const size_t n = (size_t)(cell->end - cell->begin);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen(words[i]) == n && memcmp(cell->begin, words[i], n) == 0) return true;
  return n == 0;
}

static bool is_letter(char c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

bool fw_cell_starts_with_number(const fw_cell *cell) {
  float value;
  const char *after = fw_read_f32(cell->begin, cell->end, &value);
  return after && (after == cell->end || !is_letter(after[-1]));
}

bool fw_cell_may_be_number_name(const fw_cell *cell) {
  const size_t n = (size_t)(cell->end - cell->begin);
  if (n == 0 || n > 9 || *cell->begin == '0') return false;
  for (const char *p = cell->begin; p < cell->end; p++)
    if (!fw_is_digit(*p)) return false;
  return true;
}

fw_cell_code fw_cell_code_of(const char *begin, const char *end) {
  enum { DIGITS = 15 };
  if (begin < end && (*begin == '-' || *begin == '+')) begin++;
  const char *p = begin;
  while (p < end && fw_is_digit(*p)) p++;
  if (p < end || p - begin < 2) return FW_CODE_NONE;
  return *begin == '0' ? FW_CODE_PADDED : p - begin > DIGITS ? FW_CODE_LONG : FW_CODE_NONE;
}

size_t fw_cell_unquote(const char *begin, const char *end, char *out) {
  char *to = out;
  for (const char *p = begin; p < end; p++) {
    *to++ = *p;
    if (p[0] == '"' && p + 1 < end && p[1] == '"') p++;
  }
  return (size_t)(to - out);
}

furrow_status fw_cell_copy(const fw_cell *cell, char **text, furrow_error *err) {
  char *name, *recoded = NULL;
  FW_TRY(fw_strndup(&name, cell->begin, (size_t)(cell->end - cell->begin), err));
  if (cell->quoted) name[fw_cell_unquote(cell->begin, cell->end, name)] = 0;
  const size_t length = strlen(name);
  if (fw_utf8_check(name, name + length)) {
    const furrow_status status = FW_ALLOC_ROWS(&recoded, length + 1, 3, err);
    if (status == FURROW_OK) recoded[fw_utf8_from_windows(name, length, recoded)] = 0;
    fw_free(name);
    FW_TRY(status);
    name = recoded;
  }
  *text = name;
  return FURROW_OK;
}
