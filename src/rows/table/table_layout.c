/* rows/table/table_layout.c: detects the layout of a table from its first bytes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/number_out.h"
#include "columns/frames.h"
#include "rows/table/number_cell.h"
#include "rows/table/table_reader.h"
#include "rows/text/format.h"
#include "rows/text/rowbuilder.h"

#define LOOKED_AT 100 /* records that are inspected */
#define MOST_COLUMNS ((size_t)100000)

/* The first bytes of a data set. */
typedef struct table_head {
  const char *text, *end;
  bool whole; /* these are all bytes of the data set */
} table_head;

/* ---- Names ---------------------------------------------------------------------------------------------- */

/* A column takes far more memory than its few bytes of text, so their number has a limit. */
static furrow_status add_name(fw_table_layout *layout, size_t *capacity, const char *text, size_t length,
                              furrow_error *err) {
  if (layout->columns == MOST_COLUMNS)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the table has more than %zu columns", MOST_COLUMNS);
  const furrow_status status = FW_GROW(&layout->names, capacity, layout->columns + 1, err);
  if (status != FURROW_OK) return status;
  FW_TRY(fw_strndup(&layout->names[layout->columns], text, length, err));
  layout->columns++;
  return FURROW_OK;
}

static furrow_status number_names(fw_table_layout *layout, furrow_error *err) {
  for (size_t i = 0; i < layout->columns; i++)
    FW_TRY(fw_name_map_add(&layout->numbers, layout->names[i], strlen(layout->names[i]), i, err));
  return FURROW_OK;
}

void fw_table_layout_clear(fw_table_layout *layout) {
  for (size_t i = 0; i < layout->columns; i++) fw_free(layout->names[i]);
  fw_free((void *)layout->names);
  fw_name_map_clear(&layout->numbers);
  *layout = (fw_table_layout){0};
}

furrow_status fw_table_layout_copy(fw_table_layout *copy, const fw_table_layout *layout, furrow_error *err) {
  fw_table_layout made = *layout;
  made.names = NULL;
  made.columns = 0;
  made.numbers = (fw_name_map){0};
  size_t capacity = 0;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < layout->columns && status == FURROW_OK; i++)
    status = add_name(&made, &capacity, layout->names[i], strlen(layout->names[i]), err);
  if (status == FURROW_OK) status = number_names(&made, err);
  if (status == FURROW_OK)
    *copy = made;
  else
    fw_table_layout_clear(&made);
  return status;
}

size_t fw_table_layout_column(const fw_table_layout *layout, const char *name) {
  const size_t known = fw_name_map_find(&layout->numbers, name, strlen(name));
  if (known != FW_NAME_NONE) return known;
  if (layout->kind != FW_TABLE_DELIMITED) return SIZE_MAX; /* keys may be numbers that the head does not have */
  uint64_t number;
  bool overflow = false;
  const char *end = name + strlen(name);
  if (!fw_is_digit(*name) || fw_read_u64(name, end, &number, &overflow) != end || overflow) return SIZE_MAX;
  return number < layout->columns ? (size_t)number : SIZE_MAX;
}

/* ---- Records of delimited text -------------------------------------------------------------------------- */

static fw_cell_rules rules_of(const fw_table_layout *layout) {
  return (fw_cell_rules){.delimiter = layout->delimiter, .quotes = layout->quotes};
}

/* A record of the head. */
typedef struct head_record {
  const char *begin, *end;
} head_record;

/* Finds the next record that is not blank, from *p on; returns false if there is none. A record that the head
 * truncates does not count, unless it is the first. */
static bool next_record(const fw_cell_rules *rules, bool lines, const table_head *head, const char **p,
                        head_record *record) {
  const bool first = *p == head->text;
  while (*p < head->end) {
    const char *stop = fw_cell_record_end(rules, lines, *p, head->end);
    const bool cut = !stop || (stop == head->end && !head->whole);
    if (cut && !first) return false;
    if (!stop) stop = fw_cell_record_end(rules, true, *p, head->end);
    *record = (head_record){*p, stop};
    *p = fw_cell_line_begin(stop, head->end);
    if (!fw_cell_is_blank_line(rules, record->begin, record->end)) return true;
  }
  return false;
}

/* Counts the cells. A delimiter at the end is followed by an empty cell, and *open is set. Returns 0 if the record
 * is malformed. */
static size_t count_cells(const fw_cell_rules *rules, const head_record *record, bool *open) {
  size_t count = 0;
  fw_cell cell = {0};
  for (const char *p = record->begin; p; count++)
    if (!fw_cell_next(rules, &p, record->end, &cell)) return 0;
  *open = record->end[-1] == rules->delimiter;
  return count + *open;
}

/* ---- Delimiter ------------------------------------------------------------------------------------------ */

/* Whether all records have the same number of cells, at least two, with this delimiter. */
static bool is_even(const table_head *head, bool lines, fw_cell_rules rules) {
  const char *p = head->text;
  head_record record;
  size_t columns = 0;
  for (size_t i = 0; i < LOOKED_AT && next_record(&rules, lines, head, &p, &record); i++) {
    bool open = false;
    const size_t count = count_cells(&rules, &record, &open);
    if (i == 0) columns = count;
    if (count < 2 || count != columns) return false;
  }
  return columns > 1;
}

static char find_delimiter(const table_head *head, const fw_table_layout *layout) {
  static const char candidates[] = "\t;,|";
  for (const char *c = candidates; *c; c++)
    if (is_even(head, !layout->multiline, (fw_cell_rules){.delimiter = *c, .quotes = layout->quotes})) return *c;
  return fw_sniff_delimiter(head->text, (size_t)(head->end - head->text), head->whole);
}

static furrow_status set_delimiter(fw_table_layout *layout, const fw_table_hints *hints, const table_head *head,
                                   furrow_error *err) {
  const char *text = hints->delimiter;
  if (!text && hints->kind && strcmp(hints->kind, "tsv") == 0) text = "\t";
  if (!text) {
    layout->delimiter = find_delimiter(head, layout);
    return FURROW_OK;
  }
  if (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0) text = "\t";
  if (strlen(text) != 1 || isalnum((unsigned char)*text) || strchr("\"\r\n", *text)) {
    const furrow_status status =
        fw_fail(err, FURROW_E_ARGUMENT, "delimiter must be one byte that is not a letter, a digit or a quote");
    fw_error_set_token(err, text, strlen(text));
    return status;
  }
  layout->delimiter = *text;
  return FURROW_OK;
}

/* ---- Header --------------------------------------------------------------------------------------------- */

static bool same_text(const fw_cell *a, const fw_cell *b) {
  const size_t n = (size_t)(a->end - a->begin);
  return (size_t)(b->end - b->begin) == n && memcmp(a->begin, b->begin, n) == 0;
}

static bool is_number(const fw_cell *cell) {
  float value;
  return cell->begin < cell->end && fw_read_f32(cell->begin, cell->end, &value) == cell->end;
}

/* Whether the first record can be names: texts, numbers such as years, and no empty cell except the first (an index).
 * *numbers: how many of them are numbers. */
static bool can_be_names(const fw_cell_rules *rules, const head_record *record, size_t *numbers) {
  fw_cell cell;
  size_t i = 0;
  bool text = false;
  *numbers = 0;
  for (const char *p = record->begin; p; i++) {
    if (!fw_cell_next(rules, &p, record->end, &cell)) return false;
    const bool number = is_number(&cell);
    if (number && !fw_cell_may_be_number_name(&cell)) return false;
    if (cell.begin == cell.end && i > 0 && p) return false;
    *numbers += number;
    text |= !number && !fw_cell_is_missing(&cell);
  }
  return text;
}

/* A column of the first record, and statistics of its cells in later records. */
typedef struct column_look {
  fw_cell name;
  size_t numbers, texts, repeats;
  size_t codes;   /* numbers that are codes */
  size_t written; /* texts that are numbers as people write them */
} column_look;

enum { LOOKED_AT_COLUMNS = 1000 };

static bool is_written_number(const fw_cell *cell) {
  fw_number_parts parts;
  double number;
  if (!fw_number_split(cell->begin, (size_t)(cell->end - cell->begin), &parts)) return false;
  return fw_number_unit_is_likely(&parts) &&
         (fw_number_of_parts(&parts, '.', &number) || fw_number_of_parts(&parts, ',', &number));
}

/* Looks at the cells of a record. */
static void look_at_record(const fw_cell_rules *rules, const head_record *record, column_look *columns, size_t count) {
  const char *p = record->begin;
  for (size_t i = 0; p && i < count; i++) {
    fw_cell cell = {0};
    if (!fw_cell_next(rules, &p, record->end, &cell)) return;
    if (fw_cell_is_missing(&cell)) continue;
    const bool number = is_number(&cell);
    columns[i].numbers += number;
    columns[i].codes += number && fw_cell_code_of(cell.begin, cell.end) != FW_CODE_NONE;
    columns[i].texts += !number;
    columns[i].written += !number && is_written_number(&cell);
    columns[i].repeats += same_text(&cell, &columns[i].name);
  }
}

/* Whether a column of the records below the names has mostly texts or codes, or numbers as people write them: a few
 * other texts are mistakes. */
static bool has_texts(const column_look *columns, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const column_look *c = &columns[i];
    if (c->texts > c->numbers || 2 * c->codes > c->numbers || (c->texts > 0 && c->written == c->texts)) return true;
  }
  return false;
}

/* Texts are a header if there are only numbers below one of them; if some names are numbers, there must be more such
 * texts than numbers. Otherwise the only sign of a header is that no name occurs as a value of its own column. given:
 * there is a header. */
static furrow_status find_header(const table_head *head, fw_table_layout *layout, bool given, bool *header,
                                 furrow_error *err) {
  const fw_cell_rules rules = rules_of(layout);
  const char *below = head->text;
  head_record record;
  column_look *columns;
  size_t count = 0, records = 0, even = 0, numbers = 0, above_numbers = 0;
  *header = false;
  if (!next_record(&rules, !layout->multiline, head, &below, &record)) return FURROW_OK;
  const bool names = can_be_names(&rules, &record, &numbers);
  if (!names && !given) return FURROW_OK;
  FW_TRY(FW_ALLOC_ZERO(&columns, LOOKED_AT_COLUMNS, err));
  bool open = false, repeats = false;
  const size_t width = count_cells(&rules, &record, &open) - open;
  for (const char *p = record.begin; p && count < LOOKED_AT_COLUMNS; count++)
    if (!fw_cell_next(&rules, &p, record.end, &columns[count].name)) break;
  for (; records < LOOKED_AT && next_record(&rules, !layout->multiline, head, &below, &record); records++) {
    const size_t cells = count_cells(&rules, &record, &open);
    even += cells == width || (open && cells == width + 1);
    look_at_record(&rules, &record, columns, count);
  }
  for (size_t i = 0; i < count; i++) {
    above_numbers += columns[i].numbers > 0 && columns[i].texts == 0 && !is_number(&columns[i].name);
    repeats |= columns[i].repeats > 0;
  }
  *header = names && (above_numbers > numbers || (numbers == 0 && !repeats));
  layout->texts = width > 1 && even * 2 > records && has_texts(columns, count);
  fw_free(columns);
  return FURROW_OK;
}

static furrow_status add_number_name(fw_table_layout *layout, size_t *capacity, furrow_error *err) {
  char number[FW_NUMBER_TEXT];
  return add_name(layout, capacity, number, fw_write_u64(number, layout->columns), err);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static furrow_status check_names(const fw_table_layout *layout, furrow_error *err) {
  char **sorted;
  FW_TRY(FW_ALLOC(&sorted, layout->columns, err));
  memcpy((void *)sorted, (void *)layout->names, layout->columns * sizeof(char *));
  qsort((void *)sorted, layout->columns, sizeof(char *), compare_names);
  furrow_status status = FURROW_OK;
  for (size_t i = 1; i < layout->columns && status == FURROW_OK; i++) {
    if (strcmp(sorted[i - 1], sorted[i]) != 0) continue;
    status = fw_fail(err, FURROW_E_FORMAT, "the header has two columns of one name");
    fw_error_set_token(err, sorted[i], strlen(sorted[i]));
    fw_error_set_hint(err, "header=no takes the first line for data, and columns have their numbers as names");
  }
  fw_free(sorted);
  return status;
}

/* Reads the names of a header, also to compare them with the first file's. A column without a name is named by its
 * number. */
static furrow_status read_names(const fw_table_layout *rules_from, const head_record *record, fw_table_layout *names,
                                furrow_error *err) {
  const fw_cell_rules rules = rules_of(rules_from);
  size_t capacity = 0;
  fw_cell cell;
  for (const char *p = record->begin; p;) {
    if (!fw_cell_next(&rules, &p, record->end, &cell)) {
      (void)fw_fail_at(err, FURROW_E_FORMAT, record->begin, cell.begin, record->end,
                       "a quote in the header is not closed, or text follows it");
      return FURROW_E_FORMAT;
    }
    if (cell.begin == cell.end) {
      FW_TRY(add_number_name(names, &capacity, err));
      continue;
    }
    char *name = NULL;
    FW_TRY(fw_cell_copy(&cell, &name, err));
    const furrow_status status = add_name(names, &capacity, name, strlen(name), err);
    fw_free(name);
    FW_TRY(status);
  }
  return FURROW_OK;
}

/* Numbers the columns of a table without names: as many as the first record has. A delimiter at its end ends the
 * last column, unless a later record has a cell there. */
static furrow_status number_columns(fw_table_layout *layout, const table_head *head, furrow_error *err) {
  const fw_cell_rules rules = rules_of(layout);
  const char *p = head->text;
  head_record record;
  size_t columns = 0, capacity = 0;
  bool open = false;
  for (size_t i = 0; (i == 0 || open) && i < LOOKED_AT && next_record(&rules, !layout->multiline, head, &p, &record);
       i++) {
    bool again = false;
    const size_t count = count_cells(&rules, &record, &again);
    if (i == 0) columns = count;
    open = again && count == columns;
  }
  if (columns == 0) return fw_fail(err, FURROW_E_FORMAT, "the first record has a quote that is not closed");
  columns -= open; /* the empty cell is counted, so that there are two columns */
  while (layout->columns < columns) FW_TRY(add_number_name(layout, &capacity, err));
  return FURROW_OK;
}

static furrow_status find_columns(fw_table_layout *layout, const table_head *head, furrow_error *err) {
  if (!layout->header) return number_columns(layout, head, err);
  const fw_cell_rules rules = rules_of(layout);
  const char *p = head->text;
  head_record record;
  (void)next_record(&rules, !layout->multiline, head, &p, &record);
  if (record.end == head->end && !head->whole)
    return fw_fail(err, FURROW_E_FORMAT, "the header is longer than %zu bytes", (size_t)(head->end - head->text));
  FW_TRY(read_names(layout, &record, layout, err));
  return check_names(layout, err);
}

/* ---- Columns of JSON and VW ----------------------------------------------------------------------------- */

/* The layout that gets the names, each once, in the order of occurrence. */
typedef struct name_list {
  fw_table_layout *layout;
  size_t capacity;
} name_list;

static furrow_status note_column(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err) {
  name_list *list = user;
  fw_table_layout *layout = list->layout;
  (void)offset;
  if (memchr(name, 0, length) || fw_name_map_find(&layout->numbers, name, length) != FW_NAME_NONE) return FURROW_OK;
  FW_TRY(add_name(layout, &list->capacity, name, length, err));
  return fw_name_map_add(&layout->numbers, layout->names[layout->columns - 1], length, layout->columns - 1, err);
}

/* Gives the cursor a copy of its text that has readable bytes around it. */
static furrow_status pad_text(void **copy, fw_table_cursor *cursor, const char *text, furrow_error *err) {
  FW_TRY(fw_alloc_zero(copy, cursor->length + 2 * FW_KERN_PAD, 1, err));
  cursor->text = (char *)*copy + FW_KERN_PAD;
  memcpy((char *)*copy + FW_KERN_PAD, text, cursor->length);
  return FURROW_OK;
}

/* Reads the head as records without slots, so that every column is reported. */
static furrow_status find_reported_columns(fw_table_layout *layout, const table_head *head, furrow_error *err) {
  static const char *const always[] = {"label", "weight", "tag"};
  name_list list = {.layout = layout};
  const fw_table_layout bare = {.kind = layout->kind};
  fw_chunk_stats stats = {0};
  const char *end = head->end;
  while (!head->whole && end > head->text && !fw_is_line_end(end[-1])) end--;
  void *copy = NULL;
  fw_table_cursor cursor = {.length = (size_t)(end - head->text),
                            .on_bad = FURROW_ON_BAD_SKIP,
                            .stats = &stats,
                            .other_column = note_column,
                            .user = &list};
  fw_table *table = NULL;
  fw_table_batch batch = {0};
  size_t records = 0;
  furrow_status status = pad_text(&copy, &cursor, head->text, err);
  for (size_t i = 0; i < 3 && layout->kind == FW_TABLE_VW && status == FURROW_OK; i++)
    status = note_column(&list, always[i], strlen(always[i]), 0, err);
  if (status == FURROW_OK) status = fw_table_create(&table, &bare, NULL, 0, NULL, err);
  if (status == FURROW_OK) status = fw_table_batch_init(&batch, table, err);
  while (status == FURROW_OK && (status = fw_table_next(table, &cursor, &batch, err)) == FURROW_OK)
    records += batch.records;
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK && records == 0) {
    status = fw_fail(err, FURROW_E_FORMAT, "there is no record in the first bytes of the table");
    if (stats.bad_rows > 0 && err) {
      *err = stats.first_bad;
      err->status = status = FURROW_E_FORMAT;
    }
  }
  fw_table_batch_clear(&batch);
  fw_table_free(table);
  fw_free(copy);
  return status;
}

/* ---- Names of typed columns ----------------------------------------------------------------------------- */

/* Reads the names in a head, which has *bytes bytes. */
static furrow_status find_typed_columns(fw_table_layout *layout, const char *head, size_t size, size_t *bytes,
                                        furrow_error *err) {
  uint32_t columns = 0;
  size_t capacity = 0, at = FW_FRAMES_NAMES, length = 0;
  FW_TRY(fw_frames_head(head, size, bytes, &columns, err));
  for (uint32_t i = 0; i < columns; i++) {
    const char *name = fw_frames_name(head, &at, &length);
    FW_TRY(add_name(layout, &capacity, name, length, err));
  }
  return columns > 0 ? FURROW_OK : fw_fail(err, FURROW_E_FORMAT, "the table has no columns");
}

static furrow_status find_typed(fw_table_layout *layout, const char *head, size_t size, furrow_error *err) {
  fw_table_layout found = {.kind = FW_TABLE_COLUMNS, .header = true, .texts = true};
  size_t bytes;
  furrow_status status = find_typed_columns(&found, head, size, &bytes, err);
  if (status == FURROW_OK) status = check_names(&found, err);
  if (status == FURROW_OK) status = number_names(&found, err);
  if (status == FURROW_OK)
    *layout = found;
  else
    fw_table_layout_clear(&found);
  return status;
}

/* ---- Which kind? ---------------------------------------------------------------------------------------- */

/* Whether all of the first lines that are not blank have the form of Vowpal Wabbit's text. */
static bool is_vw(const table_head *head) {
  const fw_cell_rules rules = {.delimiter = '|'};
  const char *p = head->text;
  head_record record;
  size_t lines = 0;
  for (; lines < LOOKED_AT && next_record(&rules, true, head, &p, &record); lines++)
    if (!fw_table_looks_like_vw(record.begin, record.end)) return false;
  return lines > 0;
}

static furrow_status fail_hint(furrow_error *err, const char *name, const char *value, const char *known) {
  const furrow_status status = fw_fail(err, FURROW_E_ARGUMENT, "%s of a table must be one of: %s", name, known);
  fw_error_set_token(err, value, strlen(value));
  return status;
}

/* `first`: the first byte that is not blank. */
static furrow_status find_kind(fw_table_layout *layout, const fw_table_hints *hints, const table_head *head,
                               const char *first, furrow_error *err) {
  const char *kind = hints->kind;
  layout->kind = FW_TABLE_DELIMITED;
  if (!kind) {
    if (*first == '{') layout->kind = FW_TABLE_JSON;
    const char *second = first + 1;
    while (second < head->end && (fw_is_blank(*second) || fw_is_line_end(*second))) second++;
    if (second < head->end && *first == '[' && *second == '{')
      return fw_fail(err, FURROW_E_FORMAT, "this is one array of JSON: a table of JSON has an object on each line");
    if (layout->kind == FW_TABLE_DELIMITED && !hints->delimiter && !hints->header && is_vw(head))
      layout->kind = FW_TABLE_VW;
    return FURROW_OK;
  }
  if (strcmp(kind, "json") == 0)
    layout->kind = FW_TABLE_JSON;
  else if (strcmp(kind, "vw") == 0)
    layout->kind = FW_TABLE_VW;
  else if (strcmp(kind, "csv") != 0 && strcmp(kind, "tsv") != 0)
    return fail_hint(err, "kind", kind, "csv, tsv, json, vw, auto");
  return FURROW_OK;
}

/* Reads "yes" or "no"; otherwise the detected value is used. */
static furrow_status read_answer(const char *name, const char *value, bool found, bool *answer, furrow_error *err) {
  *answer = found;
  if (!value) return FURROW_OK;
  *answer = strcmp(value, "yes") == 0;
  if (!*answer && strcmp(value, "no") != 0) return fail_hint(err, name, value, "yes, no, auto");
  return FURROW_OK;
}

static furrow_status find_delimited(fw_table_layout *layout, const fw_table_hints *hints, const table_head *head,
                                    furrow_error *err) {
  FW_TRY(read_answer("quotes", hints->quotes, true, &layout->quotes, err));
  const bool quote = memchr(head->text, '"', (size_t)(head->end - head->text)) != NULL;
  FW_TRY(read_answer("newlines", hints->newlines, quote, &layout->multiline, err));
  layout->multiline &= layout->quotes;
  FW_TRY(set_delimiter(layout, hints, head, err));
  bool header = false;
  FW_TRY(find_header(head, layout, hints->header && strcmp(hints->header, "yes") == 0, &header, err));
  FW_TRY(read_answer("header", hints->header, header, &layout->header, err));
  layout->texts &= layout->header;
  return find_columns(layout, head, err);
}

/* NULL: it has to be detected. */
static const char *given(const char *hint) {
  return hint && strcmp(hint, "auto") == 0 ? NULL : hint;
}

furrow_status fw_table_layout_find(fw_table_layout *layout, const fw_table_hints *hints, const char *head, size_t size,
                                   bool whole, furrow_error *err) {
  fw_table_hints known = {0};
  fw_table_layout found = {0};
  const size_t skip = fw_table_mark_bytes(head, size);
  const table_head text = {.text = head + skip, .end = head + size, .whole = whole};
  if (hints)
    known = (fw_table_hints){given(hints->kind), given(hints->delimiter), given(hints->header), given(hints->newlines),
                             given(hints->quotes)};
  if (fw_frames_begin(head, size)) return find_typed(layout, head, size, err);
  const bool control = known.delimiter && (unsigned char)*known.delimiter < ' '; /* as in tables of Hive */
  if (!control) FW_TRY(fw_sniff_text(head, size, err));
  const char *p = text.text;
  while (p < text.end && (fw_is_blank(*p) || fw_is_line_end(*p))) p++;
  if (p == text.end) return fw_fail(err, FURROW_E_FORMAT, "the table is empty");
  furrow_status status = find_kind(&found, &known, &text, p, err);
  if (status == FURROW_OK)
    status = found.kind == FW_TABLE_DELIMITED ? find_delimited(&found, &known, &text, err)
                                              : find_reported_columns(&found, &text, err);
  if (status == FURROW_OK) status = number_names(&found, err);
  if (status == FURROW_OK)
    *layout = found;
  else
    fw_table_layout_clear(&found);
  return status;
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static furrow_status differs(const fw_table_layout *layout, const fw_table_layout *here, furrow_error *err) {
  size_t i = 0;
  while (i < layout->columns && i < here->columns && strcmp(layout->names[i], here->names[i]) == 0) i++;
  if (i == layout->columns && i == here->columns) return FURROW_OK;
  furrow_status status;
  if (i == here->columns)
    status = fw_fail(err, FURROW_E_FORMAT, "the header has no column %s, which the first file has", layout->names[i]);
  else if (i == layout->columns)
    status = fw_fail(err, FURROW_E_FORMAT, "the header has a column that the first file does not have");
  else
    status = fw_fail(err, FURROW_E_FORMAT, "column %zu (from 0) of the header differs from the first file's: %s", i,
                     layout->names[i]);
  if (i < here->columns) fw_error_set_token(err, here->names[i], strlen(here->names[i]));
  return status;
}

static furrow_status skip_typed(const fw_table_layout *layout, const char *text, size_t size, size_t *skip,
                                furrow_error *err) {
  fw_table_layout here = {0};
  furrow_status status = find_typed_columns(&here, text, size, skip, err);
  if (status == FURROW_OK) status = differs(layout, &here, err);
  fw_table_layout_clear(&here);
  return status;
}

furrow_status fw_table_layout_skip_head(const fw_table_layout *layout, const char *text, size_t size, size_t *skip,
                                        furrow_error *err) {
  const size_t mark = fw_table_mark_bytes(text, size);
  if (layout->kind == FW_TABLE_COLUMNS) return skip_typed(layout, text, size, skip, err);
  *skip = mark;
  if (layout->kind != FW_TABLE_DELIMITED || !layout->header) return FURROW_OK;
  const table_head head = {.text = text + mark, .end = text + size, .whole = true};
  const fw_cell_rules rules = rules_of(layout);
  const char *p = head.text;
  head_record record;
  if (!next_record(&rules, !layout->multiline, &head, &p, &record)) return FURROW_OK;
  *skip = (size_t)(p - text);
  fw_table_layout here = {0};
  furrow_status status = read_names(layout, &record, &here, err);
  if (status == FURROW_OK) status = differs(layout, &here, err);
  fw_table_layout_clear(&here);
  return status;
}
