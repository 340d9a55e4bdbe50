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

/* The cell of a column in the record; NULL if no slot has it. */
typedef struct vw_column {
  fw_table_cell *cell;
  uint32_t number; /* number of its name */
} vw_column;

static furrow_status find_column(const vw_record *r, const char *name, size_t length, vw_column *column,
                                 furrow_error *err) {
  const fw_table *t = r->table;
  struct fw_table_scratch *scratch = r->batch->scratch;
  const size_t number = fw_name_map_find(&t->numbers, name, length);
  const size_t slot = number == FW_NAME_NONE ? SIZE_MAX : t->names[number].slot;
  const bool seen = number != FW_NAME_NONE && scratch->seen[number] == scratch->record;
  *column = (vw_column){.number = (uint32_t)number};
  if (number != FW_NAME_NONE) scratch->seen[number] = scratch->record;
  if (slot != SIZE_MAX && seen) {
    column->cell = fw_table_cell_at(r->batch, slot);
    return FURROW_OK;
  }
  if (slot != SIZE_MAX) {
    scratch->lists[number] = 0;
    return fw_table_fill_cell(t, r->batch, slot, &column->cell, err);
  }
  if (seen || !r->cursor->other_column) return FURROW_OK;
  const uint64_t offset = r->cursor->offset + (uint64_t)(r->line - r->cursor->text);
  return r->cursor->other_column(r->cursor->user, name, length, offset, err);
}

static furrow_status set_column(const vw_record *r, const char *name, vw_word word, furrow_error *err) {
  vw_column column;
  if (word.begin == word.end) return FURROW_OK;
  FW_TRY(find_column(r, name, strlen(name), &column, err));
  if (column.cell)
    *column.cell =
        (fw_table_cell){.text = word.begin, .length = (uint32_t)(word.end - word.begin), .kind = FW_TABLE_TEXT};
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

/* The list of a namespace, in the scratch text. */
typedef struct vw_list {
  char *text;
  size_t length, capacity;
} vw_list;

/* Makes space for `size` more bytes: at the end of the list, if nothing follows it, else by moving the list to a block
 * of twice the size. So a namespace that occurs many times in a line, between others, is not copied each time. */
static furrow_status grow_list(struct fw_table_scratch *scratch, vw_list *list, size_t size, furrow_error *err) {
  if (list->capacity - list->length >= size) return FURROW_OK;
  const size_t more = list->length + size - list->capacity;
  if (list->text && list->text + list->capacity == scratch->text &&
      (size_t)(scratch->text_end - scratch->text) >= more) {
    scratch->text += more;
    list->capacity += more;
    return FURROW_OK;
  }
  const size_t capacity = 2 * (list->length + size);
  FW_TRY(fw_table_reserve(scratch, capacity, err));
  if (list->length > 0) memcpy(scratch->text, list->text, list->length);
  *list = (vw_list){scratch->text, list->length, capacity};
  scratch->text += capacity;
  return FURROW_OK;
}

/* Appends feature[:value times scale]. */
static furrow_status add_feature(struct fw_table_scratch *scratch, vw_list *list, vw_word word, const char *colon,
                                 float value, float scale, furrow_error *err) {
  FW_TRY(grow_list(scratch, list, (size_t)(word.end - word.begin) + FW_NUMBER_TEXT + 2, err));
  char *out = list->text + list->length;
  if (list->length > 0) *out++ = FW_TABLE_LIST_SEPARATOR;
  const char *end = scale == 1 ? word.end : colon;
  memcpy(out, word.begin, (size_t)(end - word.begin));
  out += end - word.begin;
  if (scale != 1) {
    *out++ = ':';
    out += fw_write_f32(out, value * scale);
  }
  list->length = (size_t)(out - list->text);
  return FURROW_OK;
}

/* Stores the list in the cell. Space at the end of the scratch text is given back, but not that of a list that has
 * grown before: it may grow again. */
static void close_list(struct fw_table_scratch *scratch, vw_list *list, const vw_column *column) {
  if (list->length == 0) return;
  if (scratch->lists[column->number] == 0 && list->text + list->capacity == scratch->text) {
    scratch->text = list->text + list->length;
    list->capacity = list->length;
  }
  *column->cell = (fw_table_cell){.text = list->text, .length = (uint32_t)list->length, .kind = FW_TABLE_LIST};
  scratch->lists[column->number] = (uint32_t)list->capacity;
}

/* Reads the features from p on; *next is their end: the next bar, or the end of the line. */
static furrow_status read_features(vw_record *r, const char *p, float scale, const vw_column *column, const char **next,
                                   furrow_error *err) {
  struct fw_table_scratch *scratch = r->batch->scratch;
  vw_list list = {.text = scratch->text};
  if (column->cell && scratch->lists[column->number] > 0)
    list = (vw_list){(char *)column->cell->text, column->cell->length, scratch->lists[column->number]};
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
    if (column->cell) FW_TRY(add_feature(scratch, &list, word, colon, value, scale, err));
  }
  if (column->cell) close_list(scratch, &list, column);
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
  vw_column column;
  FW_TRY(find_column(r, named ? name.begin : "features", named ? (size_t)(name.end - name.begin) : strlen("features"),
                     &column, err));
  return read_features(r, p, scale, &column, bar, err);
}

furrow_status fw_table_vw_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                               const char *line, const char *end, bool *taken, furrow_error *err) {
  vw_record r = {.table = table, .cursor = cursor, .batch = batch, .line = line, .end = end};
  const vw_word first = next_word(line, end);
  if (first.begin == end) return FURROW_OK;
  batch->scratch->record++;
  fw_table_begin_record(cursor, batch, line);
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
