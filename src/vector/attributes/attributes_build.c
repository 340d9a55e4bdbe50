/* vector/attributes/attributes_build.c: builds the bytes of an attributes file: from columns in memory, or from rows of
 * other attributes. Texts get their codes in the order of the rows that use them, so equal values give equal bytes. */
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "vector/attributes/attribute_rows.h"
#include "vector/data/id_names.h"

/* ---- Bytes ---------------------------------------------------------------------------------------------- */

static void put_zeros(fw_buffer *image) {
  static const char zeros[8] = {0};
  fw_buffer_append(image, zeros, (8 - image->size % 8) % 8);
}

static void put_u32(fw_buffer *image, uint32_t value) {
  unsigned char bytes[4];
  fw_put_le32(bytes, value);
  fw_buffer_append(image, bytes, sizeof bytes);
}

static void put_u64(fw_buffer *image, uint64_t value) {
  unsigned char bytes[8];
  fw_put_le64(bytes, value);
  fw_buffer_append(image, bytes, sizeof bytes);
}

static void put_number(fw_buffer *image, double number) {
  uint64_t bits = 0x7ff8000000000000; /* missing */
  if (!isnan(number)) memcpy(&bits, &number, sizeof bits);
  put_u64(image, bits);
}

/* Appends the header, the ids, and room for the digests; ids NULL: 0 … n-1. */
static void put_head(fw_buffer *image, const int64_t *ids, size_t n, size_t columns) {
  unsigned char header[FW_COMPANION_HEADER] = FW_ATTRIBUTES_MAGIC;
  bool counted = columns > 0 || n == 0;
  for (size_t i = 0; ids && counted && i < n; i++) counted = ids[i] == (int64_t)i;
  fw_put_le32(header + FW_COMPANION_AT_VERSION, FW_ATTRIBUTES_VERSION);
  fw_put_le32(header + FW_COMPANION_AT_IDS, !counted);
  fw_put_le64(header + FW_ATTRIBUTES_AT_COUNT, n);
  fw_put_le64(header + FW_ATTRIBUTES_AT_COLUMNS, columns);
  fw_buffer_append(image, header, sizeof header);
  for (size_t i = 0; !counted && i < n; i++) put_u64(image, (uint64_t)(ids ? ids[i] : (int64_t)i));
}

static furrow_status put_digests(fw_buffer *image, furrow_error *err) {
  FW_TRY(fw_buffer_status(image, err));
  unsigned char *bytes = (unsigned char *)image->bytes;
  fw_put_le64(bytes + FW_ATTRIBUTES_AT_BODY_DIGEST,
              XXH3_64bits(bytes + FW_COMPANION_HEADER, image->size - FW_COMPANION_HEADER));
  fw_put_le64(bytes + FW_COMPANION_AT_DIGEST, XXH3_64bits(bytes, FW_COMPANION_AT_DIGEST));
  return FURROW_OK;
}

/* Begins a column; returns the place of its size, which end_column fills in. */
static size_t begin_column(fw_buffer *image, furrow_column_type type, const char *name, size_t size) {
  const size_t at = image->size;
  put_u32(image, (uint32_t)type);
  put_u32(image, (uint32_t)size);
  put_u64(image, 0);
  fw_buffer_append(image, name, size);
  put_zeros(image);
  return at;
}

static furrow_status end_column(fw_buffer *image, size_t at, furrow_error *err) {
  FW_TRY(fw_buffer_status(image, err));
  fw_put_le64((unsigned char *)image->bytes + at + 8, image->size - at);
  return FURROW_OK;
}

/* ---- Texts of a column ---------------------------------------------------------------------------------- */

/* Texts that got codes: code c is text c - 1. */
typedef struct text_list {
  fw_buffer bytes;
  uint64_t *offsets; /* count + 1 */
  size_t count, capacity;
} text_list;

static furrow_status append_text(text_list *list, const char *text, size_t size, furrow_error *err) {
  if (list->count == FW_STRING_TABLE_MOST)
    return fw_fail(err, FURROW_E_RANGE, "a column holds at most %zu different texts", FW_STRING_TABLE_MOST);
  FW_TRY(FW_GROW(&list->offsets, &list->capacity, list->count + 2, err));
  list->offsets[list->count] = list->bytes.size;
  fw_buffer_append(&list->bytes, text, size);
  list->offsets[++list->count] = list->bytes.size;
  return fw_buffer_status(&list->bytes, err);
}

static void clear_texts(text_list *list) {
  fw_buffer_clear(&list->bytes);
  fw_free(list->offsets);
}

static furrow_status put_table(fw_buffer *image, const text_list *list, furrow_error *err) {
  const fw_texts texts = {.bytes = list->bytes.bytes, .offsets = list->offsets, .count = list->count};
  FW_TRY(fw_buffer_status(image, err));
  return fw_string_table_build(image, &texts, NULL, err);
}

static int ascending(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts codes and drops repeated ones; returns how many are left. */
static size_t sort_codes(uint32_t *codes, size_t n) {
  size_t kept = 0;
  if (n > 1) qsort(codes, n, sizeof *codes, ascending);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || codes[i] != codes[i - 1]) codes[kept++] = codes[i];
  return kept;
}

/* Appends the cells of a TEXT or SET column: `codes` of all rows, which are starts[i] … starts[i+1]-1 of a SET, and the
 * table of their texts. Changes codes and starts. */
static furrow_status put_codes(fw_buffer *image, furrow_column_type type, uint32_t *codes, uint64_t *starts, size_t n,
                               const text_list *texts, furrow_error *err) {
  size_t count = n;
  if (type == FURROW_COLUMN_SET) {
    count = 0;
    for (size_t i = 0, first = 0; i < n; i++) { /* starts[i] becomes the start among the codes that are left */
      const size_t end = (size_t)starts[i + 1], left = sort_codes(codes + first, end - first);
      memmove(codes + count, codes + first, left * sizeof *codes);
      starts[i] = count;
      count += left;
      first = end;
    }
    for (size_t i = 0; i < n; i++) put_u64(image, starts[i]);
    put_u64(image, count);
  }
  for (size_t i = 0; i < count; i++) put_u32(image, codes[i]);
  put_zeros(image);
  return put_table(image, texts, err);
}

/* ---- Rows of attributes --------------------------------------------------------------------------------- */

/* One column of two sources, either of which may lack it. */
typedef struct gathering {
  const fw_attribute *from[2];
  const size_t *rows[2];
  size_t n;
  uint32_t *map[2]; /* the new code of each text of a source; 0: none yet */
  text_list texts;
} gathering;

/* The source of row i: the last one that has the column and the row; -1: neither. */
static int source_of(const gathering *g, size_t i) {
  for (int s = 1; s >= 0; s--)
    if (g->from[s] && g->rows[s] && g->rows[s][i] != SIZE_MAX) return s;
  return -1;
}

static furrow_status new_code(gathering *g, int s, uint32_t code, uint32_t *made, furrow_error *err) {
  size_t size;
  const int other = 1 - s;
  *made = g->map[s][code - 1];
  if (*made) return FURROW_OK;
  const char *text = fw_string_table_text(&g->from[s]->table, code - 1, &size);
  const size_t twin = g->from[other] ? fw_string_table_find(&g->from[other]->table, text, size) : FW_STRING_TABLE_NONE;
  if (twin != FW_STRING_TABLE_NONE && g->map[other][twin]) {
    *made = g->map[s][code - 1] = g->map[other][twin];
    return FURROW_OK;
  }
  FW_TRY(append_text(&g->texts, text, size, err));
  *made = g->map[s][code - 1] = (uint32_t)g->texts.count;
  return FURROW_OK;
}

static size_t elements_of(const gathering *g, size_t i) {
  const int s = source_of(g, i);
  if (s < 0) return 0;
  return fw_attribute_start(g->from[s], g->rows[s][i] + 1) - fw_attribute_start(g->from[s], g->rows[s][i]);
}

static furrow_status gather_codes(gathering *g, furrow_column_type type, uint32_t *codes, uint64_t *starts,
                                  furrow_error *err) {
  size_t at = 0;
  for (size_t i = 0; i < g->n; i++) {
    const int s = source_of(g, i);
    if (type == FURROW_COLUMN_SET) {
      const size_t count = elements_of(g, i), first = count ? fw_attribute_start(g->from[s], g->rows[s][i]) : 0;
      starts[i] = at;
      for (size_t e = 0; e < count; e++)
        FW_TRY(new_code(g, s, fw_attribute_code(g->from[s], first + e), &codes[at++], err));
      starts[i + 1] = at;
    } else {
      const uint32_t code = s < 0 ? 0 : fw_attribute_code(g->from[s], g->rows[s][i]);
      codes[i] = 0;
      if (code) FW_TRY(new_code(g, s, code, &codes[i], err));
    }
  }
  return FURROW_OK;
}

static furrow_status put_gathered_codes(fw_buffer *image, gathering *g, furrow_column_type type, furrow_error *err) {
  uint32_t *codes = NULL;
  uint64_t *starts = NULL;
  size_t count = g->n;
  if (type == FURROW_COLUMN_SET) {
    count = 0;
    for (size_t i = 0; i < g->n; i++) count += elements_of(g, i);
  }
  furrow_status status = FW_ALLOC(&codes, count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&starts, g->n + 1, err);
  for (int s = 0; status == FURROW_OK && s < 2; s++)
    if (g->from[s]) status = FW_ALLOC_ZERO(&g->map[s], g->from[s]->table.count, err);
  if (status == FURROW_OK) status = gather_codes(g, type, codes, starts, err);
  if (status == FURROW_OK) status = put_codes(image, type, codes, starts, g->n, &g->texts, err);
  for (int s = 0; s < 2; s++) fw_free(g->map[s]);
  clear_texts(&g->texts);
  fw_free(starts);
  fw_free(codes);
  return status;
}

static furrow_status put_gathered(fw_buffer *image, gathering *g, furrow_error *err) {
  const fw_attribute *column = g->from[0] ? g->from[0] : g->from[1];
  if (g->from[0] && g->from[1] && g->from[0]->type != g->from[1]->type) {
    fw_fail(err, FURROW_E_ARGUMENT, "this column had cells of the type %s before, and has %s now",
            furrow_column_type_name(g->from[0]->type), furrow_column_type_name(g->from[1]->type));
    fw_error_set_token(err, column->name, column->name_size);
    return FURROW_E_ARGUMENT;
  }
  const size_t at = begin_column(image, column->type, column->name, column->name_size);
  if (fw_column_has_numbers(column->type)) {
    for (size_t i = 0; i < g->n; i++) {
      const int s = source_of(g, i);
      put_number(image, s < 0 ? NAN : fw_attribute_number(g->from[s], g->rows[s][i]));
    }
  } else {
    FW_TRY(put_gathered_codes(image, g, column->type, err));
  }
  return end_column(image, at, err);
}

furrow_status fw_attributes_gather(fw_buffer *image, const furrow_attributes *const sources[2],
                                   const size_t *const rows[2], const int64_t *ids, size_t n, furrow_error *err) {
  const furrow_attributes *first = sources[0], *second = sources[1];
  size_t columns = first->column_count;
  for (size_t i = 0; second && i < second->column_count; i++)
    columns += !fw_attributes_find(first, second->columns[i].name, second->columns[i].name_size);
  if (columns > FW_ATTRIBUTES_MOST_COLUMNS)
    return fw_fail(err, FURROW_E_RANGE, "attributes have at most %d columns", FW_ATTRIBUTES_MOST_COLUMNS);
  put_head(image, ids, n, columns);
  for (size_t i = 0; i < first->column_count; i++) {
    const fw_attribute *own = &first->columns[i];
    gathering g = {.rows = {rows[0], rows[1]}, .n = n};
    g.from[0] = own;
    g.from[1] = second ? fw_attributes_find(second, own->name, own->name_size) : NULL;
    FW_TRY(put_gathered(image, &g, err));
  }
  for (size_t i = 0; second && i < second->column_count; i++) {
    gathering g = {.from = {NULL, &second->columns[i]}, .rows = {rows[0], rows[1]}, .n = n};
    if (!fw_attributes_find(first, g.from[1]->name, g.from[1]->name_size)) FW_TRY(put_gathered(image, &g, err));
  }
  return put_digests(image, err);
}

/* ---- Columns in memory ---------------------------------------------------------------------------------- */

/* A hash table of the texts that got codes. */
typedef struct interning {
  uint32_t *slots; /* codes; 0: empty */
  size_t bits;
  text_list texts;
} interning;

static bool is_text(const text_list *list, uint32_t code, const char *text, size_t size) {
  const uint64_t from = list->offsets[code - 1];
  return list->offsets[code] - from == size && fw_same_bytes(list->bytes.bytes + from, text, size);
}

static size_t find_slot(const interning *in, const char *text, size_t size) {
  const size_t mask = ((size_t)1 << in->bits) - 1;
  size_t at = (size_t)XXH3_64bits(text, size) & mask;
  while (in->slots[at] && !is_text(&in->texts, in->slots[at], text, size)) at = (at + 1) & mask;
  return at;
}

/* Doubles the slots when half of them are used. */
static furrow_status grow_slots(interning *in, furrow_error *err) {
  interning grown = {.bits = in->slots ? in->bits + 1 : 6, .texts = in->texts};
  if (in->slots && 2 * in->texts.count < (size_t)1 << in->bits) return FURROW_OK;
  FW_TRY(FW_ALLOC_ZERO(&grown.slots, (size_t)1 << grown.bits, err));
  for (uint32_t code = 1; code <= in->texts.count; code++) {
    const uint64_t from = in->texts.offsets[code - 1];
    grown.slots[find_slot(&grown, in->texts.bytes.bytes + from, (size_t)(in->texts.offsets[code] - from))] = code;
  }
  fw_free(in->slots);
  *in = grown;
  return FURROW_OK;
}

static furrow_status intern(interning *in, const char *text, uint32_t *code, furrow_error *err) {
  const size_t size = strlen(text);
  if (fw_utf8_check(text, text + size)) {
    fw_fail(err, FURROW_E_ARGUMENT, "a text is not UTF-8");
    fw_error_set_token(err, text, size);
    return FURROW_E_ARGUMENT;
  }
  FW_TRY(grow_slots(in, err));
  uint32_t *slot = &in->slots[find_slot(in, text, size)];
  if (!*slot) {
    FW_TRY(append_text(&in->texts, text, size, err));
    *slot = (uint32_t)in->texts.count;
  }
  *code = *slot;
  return FURROW_OK;
}

/* Copies the starts of a SET, which the caller may have got wrong. */
static furrow_status copy_starts(uint64_t *starts, const furrow_column *column, size_t n, furrow_error *err) {
  for (size_t i = 0; i <= n; i++) {
    starts[i] = n > 0 ? column->starts[i] : 0;
    if (i == 0 ? starts[0] != 0 : starts[i] < starts[i - 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "the starts of a set descend or do not begin with 0");
  }
  return FURROW_OK;
}

static furrow_status put_texts(fw_buffer *image, const furrow_column *column, size_t n, furrow_error *err) {
  const bool set = column->type == FURROW_COLUMN_SET;
  const size_t count = set && n > 0 ? (size_t)column->starts[n] : n;
  interning in = {0};
  uint32_t *codes = NULL;
  uint64_t *starts = NULL;
  furrow_status status = FW_ALLOC_ZERO(&codes, count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&starts, n + 1, err);
  if (status == FURROW_OK && set) status = copy_starts(starts, column, n, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    if (column->texts[i])
      status = intern(&in, column->texts[i], &codes[i], err);
    else if (set)
      status = fw_fail(err, FURROW_E_ARGUMENT, "an element of a set is NULL");
  }
  if (status == FURROW_OK) status = put_codes(image, column->type, codes, starts, n, &in.texts, err);
  fw_free(in.slots);
  clear_texts(&in.texts);
  fw_free(starts);
  fw_free(codes);
  return status;
}

static furrow_status check_column(const furrow_column *columns, size_t i, size_t n, furrow_error *err) {
  const furrow_column *column = &columns[i];
  const char *fault = column->name ? fw_name_fault(column->name, strlen(column->name)) : "the name of a column is NULL";
  if (!furrow_column_type_name(column->type)) fault = "the type of a column is not a type";
  for (size_t k = 0; !fault && k < i; k++)
    if (strcmp(columns[k].name, column->name) == 0) fault = "two columns have the same name";
  const bool given = fw_column_has_numbers(column->type) ? column->numbers != NULL : column->texts != NULL;
  if (!fault && n > 0 && (!given || (column->type == FURROW_COLUMN_SET && !column->starts)))
    fault = "a column has no cells";
  if (!fault) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%s", fault);
  if (column->name) fw_error_set_token(err, column->name, strlen(column->name));
  return FURROW_E_ARGUMENT;
}

static furrow_status put_columns(fw_buffer *image, const furrow_column *columns, size_t count, size_t n,
                                 furrow_error *err) {
  if (count > FW_ATTRIBUTES_MOST_COLUMNS)
    return fw_fail(err, FURROW_E_RANGE, "attributes have at most %d columns", FW_ATTRIBUTES_MOST_COLUMNS);
  put_head(image, NULL, n, count);
  for (size_t c = 0; c < count; c++) {
    const furrow_column *column = &columns[c];
    FW_TRY(check_column(columns, c, n, err));
    const size_t at = begin_column(image, column->type, column->name, strlen(column->name));
    if (fw_column_has_numbers(column->type))
      for (size_t i = 0; i < n; i++) put_number(image, column->numbers[i]);
    else
      FW_TRY(put_texts(image, column, n, err));
    FW_TRY(end_column(image, at, err));
  }
  return put_digests(image, err);
}

furrow_status fw_attributes_from_columns(furrow_attributes **attributes, const furrow_column *columns, size_t count,
                                         size_t n, furrow_error *err) {
  fw_buffer image = {0};
  furrow_attributes *made = NULL;
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) status = put_columns(&image, columns, count, n, err);
  if (status == FURROW_OK) status = fw_attributes_replace(made, &image, err);
  fw_buffer_clear(&image);
  return FW_HAND_OVER(status, attributes, made, furrow_attributes_free);
}
