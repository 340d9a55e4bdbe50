/* rows/table/table_vw.c: records of Vowpal Wabbit's text.
 *
 *   [label [weight [base]]] ['tag]|namespace[:scale] feature[:value] … |namespace …
 *
 * The tag is a word that begins with ' or touches the bar. A namespace is a list of feature[:value]; a namespace
 * without a name is called "features". */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number_in.h"
#include "base/number_out.h"
#include "rows/table/table_reader.h"
#include "rows/text/rowbuilder.h"

typedef struct vw_record {
  const fw_table *table;
  const fw_table_cursor *cursor;
  fw_table_batch *batch;
  const char *line, *end;
  /* the error and its position; NULL: none */
  const char *wrong, *wrong_begin, *wrong_end;
} vw_record;

typedef struct vw_word {
  const char *begin, *end;
} vw_word;

static furrow_status malformed(vw_record *r, vw_word at, const char *message) {
  r->wrong = message;
  r->wrong_begin = at.begin;
  r->wrong_end = at.end;
  return FURROW_OK;
}

/* Returns the first word from p on; it is empty at the end. A bar ends a word as well. */
static vw_word next_word(const char *p, const char *end) {
  while (p < end && fw_is_blank(*p)) p++;
  vw_word word = {p, p};
  while (word.end < end && !fw_is_blank(*word.end) && *word.end != '|') word.end++;
  return word;
}

static bool is_number(vw_word word, float *value) {
  return fw_read_f32(word.begin, word.end, value) == word.end && isfinite(*value);
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* Finds the cell of a column that may occur once; NULL if no slot has it. */
static furrow_status find_cell(const vw_record *r, const char *name, size_t length, fw_table_cell **cell, bool *seen,
                               furrow_error *err) {
  const fw_table *t = r->table;
  struct fw_table_scratch *scratch = r->batch->scratch;
  const uint32_t number = fw_table_find_name(t, NULL, 0, name, length);
  *cell = NULL;
  *seen = number != FW_TABLE_NO_NAME && scratch->seen[number] == scratch->record;
  if (number != FW_TABLE_NO_NAME) scratch->seen[number] = scratch->record;
  if (number != FW_TABLE_NO_NAME && t->names[number].slot != SIZE_MAX)
    *cell = fw_table_cell_at(r->batch, t->names[number].slot);
  if (*cell || *seen || !r->cursor->other_column) return FURROW_OK;
  const uint64_t offset = r->cursor->offset + (uint64_t)(r->line - r->cursor->text);
  return r->cursor->other_column(r->cursor->user, name, length, offset, err);
}

static furrow_status set_column(const vw_record *r, const char *name, vw_word word, furrow_error *err) {
  fw_table_cell *cell;
  bool seen;
  if (word.begin == word.end) return FURROW_OK;
  FW_TRY(find_cell(r, name, strlen(name), &cell, &seen, err));
  if (cell) *cell = (fw_table_cell){word.begin, (uint32_t)(word.end - word.begin), FW_TABLE_TEXT};
  return FURROW_OK;
}

/* ---- Before the first bar ------------------------------------------------------------------------------- */

/* Reads the words before the bar, at most five, and the tag, which is not counted. */
static size_t read_head_words(const char *line, const char *bar, vw_word words[5], vw_word *tag) {
  size_t count = 0;
  for (vw_word word = next_word(line, bar); word.begin < word.end && count < 5; word = next_word(word.end, bar))
    words[count++] = word;
  *tag = (vw_word){bar, bar};
  if (count == 0 || (words[count - 1].end < bar && *words[count - 1].begin != '\'')) return count;
  *tag = words[--count];
  if (*tag->begin == '\'') tag->begin++;
  return count;
}

static furrow_status read_head(vw_record *r, const char *bar, furrow_error *err) {
  static const char *const names[] = {"label", "weight", "base"};
  vw_word words[5], tag;
  float value;
  const size_t count = read_head_words(r->line, bar, words, &tag);
  if (count > 3) return malformed(r, words[3], "more than a label, a weight and a base before the first |");
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && !is_number(words[i], &value))
      return malformed(r, words[i], i == 1 ? "the weight is not a number" : "the base is not a number");
    FW_TRY(set_column(r, names[i], words[i], err));
  }
  return set_column(r, "tag", tag, err);
}

/* ---- Namespaces ----------------------------------------------------------------------------------------- */

/* Appends feature[:value times scale] to the scratch text. */
static void add_feature(struct fw_table_scratch *scratch, const char *list, vw_word word, const char *colon,
                        float value, float scale) {
  if (scratch->text > list) *scratch->text++ = FW_TABLE_LIST_SEPARATOR;
  const char *end = scale == 1 ? word.end : colon;
  memcpy(scratch->text, word.begin, (size_t)(end - word.begin));
  scratch->text += end - word.begin;
  if (scale == 1) return;
  *scratch->text++ = ':';
  scratch->text += fw_write_f32(scratch->text, value * scale);
}

/* Reads the features from p on; *next is their end: the next bar, or the end of the line. */
static furrow_status read_features(vw_record *r, const char *p, float scale, fw_table_cell *cell, const char **next,
                                   furrow_error *err) {
  struct fw_table_scratch *scratch = r->batch->scratch;
  const size_t before = cell ? cell->length : 0;
  const char *list = scratch->text;
  for (;;) {
    const vw_word word = next_word(p, r->end);
    *next = p = word.end;
    if (word.begin == word.end) break;
    const char *colon = memchr(word.begin, ':', (size_t)(word.end - word.begin));
    if (!colon) colon = word.end;
    float value = 1;
    if (colon == word.begin) return malformed(r, word, "a feature without a name");
    if (colon < word.end && !is_number((vw_word){colon + 1, word.end}, &value))
      return malformed(r, word, "the value of a feature is not a number");
    if (memchr(word.begin, FW_TABLE_LIST_SEPARATOR, (size_t)(word.end - word.begin)))
      return malformed(r, word, "a feature has the control character 0x1f in it");
    if (!cell) continue;
    const size_t size = (size_t)(word.end - word.begin) + FW_NUMBER_TEXT + 2;
    if ((size_t)(scratch->text_end - scratch->text) < size || list == scratch->text) { /* moves the existing text */
      const size_t length = (size_t)(scratch->text - list) + (list == scratch->text ? before : 0);
      const char *old = list == scratch->text ? cell->text : list;
      if ((size_t)(scratch->text_end - scratch->text) < length + size)
        FW_TRY(fw_table_reserve(scratch, 2 * (length + size), err));
      char *moved = scratch->text;
      if (length > 0) memmove(moved, old, length);
      scratch->text = moved + length;
      list = moved;
    }
    add_feature(scratch, list, word, colon, value, scale);
  }
  if (cell && scratch->text > list) *cell = (fw_table_cell){list, (uint32_t)(scratch->text - list), FW_TABLE_LIST};
  return FURROW_OK;
}

static bool is_reserved(const char *name, size_t length) {
  static const char *const names[] = {"label", "weight", "base", "tag"};
  for (size_t i = 0; i < 4; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  return false;
}

/* Reads the namespace whose bar is at *bar, and moves *bar to the next one or to the end. */
static furrow_status read_namespace(vw_record *r, const char **bar, furrow_error *err) {
  const char *begin = *bar + 1;
  vw_word name = {begin, begin};
  while (name.end < r->end && !fw_is_blank(*name.end) && *name.end != '|' && *name.end != ':') name.end++;
  const char *p = name.end;
  float scale = 1;
  if (p < r->end && *p == ':') {
    const vw_word word = next_word(p + 1, r->end);
    if (word.begin != p + 1 || !is_number(word, &scale))
      return malformed(r, (vw_word){begin, word.end}, "the scale of a namespace is not a number");
    p = word.end;
  }
  const bool named = name.begin < name.end;
  if (named && is_reserved(name.begin, (size_t)(name.end - name.begin)))
    return malformed(r, name, "a namespace has the name of a column: label, weight, base or tag");
  fw_table_cell *cell;
  bool seen;
  FW_TRY(find_cell(r, named ? name.begin : "features", named ? (size_t)(name.end - name.begin) : strlen("features"),
                   &cell, &seen, err));
  return read_features(r, p, scale, cell, bar, err);
}

furrow_status fw_table_vw_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                               const char *line, const char *end, bool *taken, furrow_error *err) {
  vw_record r = {.table = table, .cursor = cursor, .batch = batch, .line = line, .end = end};
  const vw_word first = next_word(line, end);
  if (first.begin == end) return FURROW_OK;
  batch->scratch->record++;
  fw_table_begin_record(table, cursor, batch, line);
  const char *bar = memchr(line, '|', (size_t)(end - line));
  if (!bar) (void)malformed(&r, first, "the line has no |");
  if (!r.wrong) FW_TRY(read_head(&r, bar, err));
  while (!r.wrong && bar < end) FW_TRY(read_namespace(&r, &bar, err));
  *taken = !r.wrong;
  return *taken ? FURROW_OK : fw_table_bad_record(cursor, line, r.wrong_begin, r.wrong_end, r.wrong, NULL, err);
}

/* ---- Is it VW? ------------------------------------------------------------------------------------------ */

/* Labels of VW are numbers, possibly with costs and probabilities after colons. */
static bool is_label(vw_word word) {
  for (const char *p = word.begin; p < word.end; p++)
    if (!fw_is_digit(*p) && !strchr("+-.:eE", *p)) return false;
  return true;
}

bool fw_table_looks_like_vw(const char *line, const char *end) {
  const char *bar = memchr(line, '|', (size_t)(end - line));
  if (!bar) return false;
  vw_word words[5], tag;
  const size_t count = read_head_words(line, bar, words, &tag);
  const bool marked = tag.begin > line && tag.begin[-1] == '\'';
  if (count > 3 || (tag.begin < tag.end && !marked)) return false;
  for (size_t i = 0; i < count; i++)
    if (!is_label(words[i])) return false;
  size_t nameless = 0, features = 0;
  for (const char *p = bar; p < end;) {
    const bool named = p + 1 < end && !fw_is_blank(p[1]) && p[1] != '|';
    nameless += !named;
    vw_word word = next_word(p + 1, end);
    features += word.begin < word.end && !named;
    for (word = next_word(word.end, end); word.begin < word.end; word = next_word(word.end, end)) features++;
    p = word.end;
  }
  return nameless <= 1 && features > 0;
}
