/* cli/model/model_source.c: how the model commands read matrices, and the options for it. */
#include "model/model_source.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fail.h"
#include "furrow/io.h"

/* ---- Values of options ---------------------------------------------------------------------------------- */

/* Value of a hexadecimal digit; -1: not a digit. */
static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)tolower((unsigned char)c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads one character, plain or escaped, and advances; 0: unknown escape. */
static char read_escaped(const char **text) {
  const char *s = *text;
  if (s[0] != '\\') return *text += 1, s[0];
  *text += 2;
  switch (s[1]) {
  case 't': return '\t';
  case 'n': return '\n';
  case '\\': return '\\';
  case 'x':
    if (hex_digit(s[2]) < 0 || hex_digit(s[3]) < 0) return 0;
    *text += 2;
    return (char)(hex_digit(s[2]) * 16 + hex_digit(s[3]));
  default: return 0;
  }
}

furrow_status parse_separator(const char *text, void *field, furrow_error *err) {
  separator *s = field;
  size_t n = 0;
  const char *at = text;
  while (*at && n < sizeof s->text - 1) {
    char c = read_escaped(&at);
    if (!c)
      return fail_token(err, text, "unknown escape in a separator; known are \\t, \\n, \\\\ and \\xHH (from \\x01)");
    s->text[n++] = c;
  }
  if (n == 0) return fail_token(err, text, "the separator is empty");
  if (*at) return fail_token(err, text, "a separator has at most %zu characters", sizeof s->text - 1);
  s->text[n] = 0;
  return FURROW_OK;
}

furrow_status parse_row_type(const char *text, void *field, furrow_error *err) {
  const furrow_matrix_row_type *type = NULL;
  furrow_status status = furrow_matrix_row_type_find(text, &type, err);
  if (status == FURROW_OK) *(int32_t *)field = type->number;
  return status;
}

/* For OPTION_PARSED: a row_order. */
static furrow_status parse_row_order(const char *text, void *field, furrow_error *err) {
  static const char *const names[] = {"auto", "ascending", "meta"};
  row_order *order = field;
  int32_t *ids = NULL;
  size_t count = 0;
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *order = (row_order){.order = (furrow_matrix_row_order)i};
    return FURROW_OK;
  }
  if (text[0] < '0' || text[0] > '9')
    return fail_token(err, text, "--row-order takes auto, ascending, meta, or rows such as 2,0,4:8");
  furrow_status status = read_row_list("row-order", text, 0, &ids, &count, err);
  if (status != FURROW_OK) return status;
  const size_t most = sizeof order->rows / sizeof *order->rows;
  if (count > most) status = fail_token(err, text, "--row-order takes %zu rows at most", most);
  *order = (row_order){.order = FURROW_MATRIX_ROW_ORDER_LIST, .count = count};
  if (status == FURROW_OK) memcpy(order->rows, ids, count * sizeof *ids);
  free(ids);
  return status;
}

/* ---- Tables --------------------------------------------------------------------------------------------- */

#define AT(field) offsetof(reading_values, field)
/* The options for reading; `in` is the prefix of their names, `is` names what is read. */
#define READING(in, is)                                                                                              \
  {.name = in "sep",                                                                                                 \
   .kind = OPTION_PARSED,                                                                                            \
   .argument = "S",                                                                                                  \
   .help = "text formats: the separator " is ", with \\t, \\n, \\\\, \\xHH as in C (guessed from the first record)", \
   .offset = AT(separator),                                                                                          \
   .parse = parse_separator},                                                                                        \
      {.name = in "meta-name",                                                                                       \
       .kind = OPTION_TEXT,                                                                                          \
       .argument = "FILE",                                                                                           \
       .help = "metadata file to read (_meta, else meta, else psmeta)",                                              \
       .offset = AT(meta_name)},                                                                                     \
      {.name = in "format",                                                                                          \
       .kind = OPTION_TEXT,                                                                                          \
       .argument = "NAME",                                                                                           \
       .help = "the format " is ", if the metadata does not name it (psmeta)",                                       \
       .offset = AT(format)},                                                                                        \
      {.name = in "row-type",                                                                                        \
       .kind = OPTION_PARSED,                                                                                        \
       .argument = "TYPE",                                                                                           \
       .help = "the row type " is ", if the metadata does not name it (psmeta)",                                     \
       .offset = AT(row_type),                                                                                       \
       .parse = parse_row_type},                                                                                     \
      {.name = in "row-order",                                                                                       \
       .kind = OPTION_PARSED,                                                                                        \
       .argument = "auto|ascending|meta|LIST",                                                                       \
       .choices = "auto|ascending|meta",                                                                             \
       .help = "formats without row ids: order of the rows in the files, by id, as in the metadata, or as listed, "  \
               "such as 2,0,4:8",                                                                                    \
       .offset = AT(row_order),                                                                                      \
       .parse = parse_row_order},

const option reading_options[] = {READING("", "of the files"){0}};
const option in_reading_options[] = {READING("in-", "of SRC"){0}};
#undef READING
#undef AT

void reading_values_init(reading_values *values) {
  *values = (reading_values){.row_type = -1};
}

furrow_matrix_source_params reading_params(const reading_values *values) {
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  if (values->separator.text[0]) params.separator = values->separator.text;
  params.meta_name = values->meta_name;
  params.format = values->format;
  params.row_type = values->row_type;
  params.row_order = values->row_order.order;
  params.rows = values->row_order.rows;
  params.row_count = values->row_order.count;
  return params;
}

#define AT(field) offsetof(selection_values, field)
#define MATRIX_OPTION                                                                          \
  {                                                                                            \
    .name = "matrix", .kind = OPTION_TEXT, .argument = "NAME",                                 \
    .help = "the matrix to take from a model directory that has several", .offset = AT(matrix) \
  }

const option matrix_options[] = {MATRIX_OPTION, {0}};
const option selection_options[] = {MATRIX_OPTION,
                                    {.name = "rows",
                                     .kind = OPTION_TEXT,
                                     .argument = "LIST",
                                     .help = "only these rows: 3, or 0:8 (without 8), or 0:8,16,20:",
                                     .offset = AT(rows)},
                                    {.name = "cols",
                                     .kind = OPTION_TEXT,
                                     .argument = "A:B",
                                     .help = "only columns A to B-1; also A:, :B or a single column",
                                     .offset = AT(cols)},
                                    {.name = "parts",
                                     .kind = OPTION_TEXT,
                                     .argument = "LIST",
                                     .help = "only the partitions with these ids",
                                     .offset = AT(parts)},
                                    {0}};
#undef MATRIX_OPTION
#undef AT

/* ---- Matrices of a model -------------------------------------------------------------------------------- */

/* Writes "a, b, c"; names that do not fit become "...". */
static void list_names(const furrow_model_listing *listing, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < listing->matrix_count; i++) {
    const char *name = listing->matrices[i].name;
    if (used + strlen(name) + 8 > size) {
      snprintf(text + used, size - used, ", ...");
      return;
    }
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", name);
  }
}

static furrow_status no_such_matrix(const furrow_model_listing *listing, const char *name, furrow_error *err) {
  char names[160];
  const char *candidates[64];
  size_t count = 0;
  list_names(listing, names, sizeof names);
  for (; count < listing->matrix_count && count < 64; count++) candidates[count] = listing->matrices[count].name;
  const char *closest = closest_word(name, candidates, count);
  fail_token(err, name, "the model has no such matrix");
  snprintf(err->file, sizeof err->file, "%s", listing->path);
  return closest ? add_hint(err, "did you mean %.64s?", closest) : add_hint(err, "its matrices are %s", names);
}

furrow_status choose_matrix(const furrow_model_listing *listing, const char *name, const furrow_model_entry **matrix,
                            furrow_error *err) {
  char names[160];
  if (!name && listing->matrix_count == 1) return *matrix = listing->matrices, FURROW_OK;
  for (size_t i = 0; name && i < listing->matrix_count; i++)
    if (strcmp(listing->matrices[i].name, name) == 0) return *matrix = &listing->matrices[i], FURROW_OK;
  if (name) return no_such_matrix(listing, name, err);
  if (listing->matrix_count == 0)
    return fail_in(err, FURROW_E_UNSUPPORTED, listing->path,
                   "the model has no matrices: its trees are in forest.nodes"),
           add_hint(err, "furrow model trees prints them");
  list_names(listing, names, sizeof names);
  fail_in(err, FURROW_E_ARGUMENT, listing->path, "has %zu matrices", listing->matrix_count);
  return add_hint(err, "choose one with --matrix: %s", names);
}

/* ---- Lists of ids --------------------------------------------------------------------------------------- */

typedef struct range {
  int64_t first, end; /* end exclusive */
} range;

typedef struct id_list {
  int32_t *ids;
  size_t count, capacity;
} id_list;

static bool add_id(id_list *list, int32_t id) {
  void *ids = list->ids;
  if (fw_grow(&ids, &list->capacity, list->count + 1, sizeof *list->ids, NULL) != FURROW_OK) return false;
  list->ids = ids;
  list->ids[list->count++] = id;
  return true;
}

static int compare_ids(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static void sort_ids(id_list *list) {
  size_t count = 0;
  if (list->count) qsort(list->ids, list->count, sizeof *list->ids, compare_ids);
  for (size_t i = 0; i < list->count; i++)
    if (count == 0 || list->ids[i] != list->ids[count - 1]) list->ids[count++] = list->ids[i];
  list->count = count;
}

static bool add_row_ids(const furrow_matrix_meta *meta, id_list *list) {
  for (size_t p = 0; p < meta->part_count; p++)
    for (size_t r = 0; r < meta->parts[p].row_count; r++)
      if (!add_id(list, meta->parts[p].rows[r].row_id)) return false;
  return true;
}

static bool add_part_ids(const furrow_matrix_meta *meta, id_list *list) {
  for (size_t p = 0; p < meta->part_count; p++)
    if (!add_id(list, meta->parts[p].part_id)) return false;
  return true;
}

furrow_status saved_row_ids(const furrow_matrix_meta *meta, int32_t **ids, size_t *count, furrow_error *err) {
  id_list list = {0};
  if (!add_row_ids(meta, &list)) {
    free(list.ids);
    return fail_memory(err);
  }
  sort_ids(&list);
  *ids = list.ids;
  *count = list.count;
  return FURROW_OK;
}

/* ---- Ranges --------------------------------------------------------------------------------------------- */

static bool read_i64(const char **text, int64_t *value) {
  char *end = NULL;
  if (!isdigit((unsigned char)(*text)[**text == '-'])) return false;
  errno = 0;
  *value = strtoll(*text, &end, 10);
  *text = end;
  return errno == 0;
}

/* Reads N, A:B, A:, :B or : and advances. */
static bool read_range(const char **text, range *r) {
  *r = (range){INT64_MIN, INT64_MAX};
  bool first = **text != ':';
  if (first && !read_i64(text, &r->first)) return false;
  if (**text != ':') {
    r->end = r->first == INT64_MAX ? r->first : r->first + 1;
    return first;
  }
  ++*text;
  if (**text && **text != ',' && !read_i64(text, &r->end)) return false;
  return r->first < r->end;
}

static bool in_list(const char *text, int64_t id) {
  range r;
  while (read_range(&text, &r)) {
    if (id >= r.first && id < r.end) return true;
    if (*text++ != ',') return false;
  }
  return false;
}

static furrow_status check_list(const char *name, const char *text, furrow_error *err) {
  range r;
  for (const char *at = text; read_range(&at, &r); at++) {
    if (!*at) return FURROW_OK;
    if (*at != ',') break;
  }
  return fail_token(err, text, "--%s takes numbers and ranges A:B with A < B, such as 0:8,16", name);
}

/* The metadata cannot hold more rows. */
#define LISTED_ROWS ((size_t)INT32_MAX / 50)

static furrow_status add_range(const char *name, const char *text, range r, int32_t rows, id_list *list,
                               furrow_error *err) {
  if (r.first == INT64_MIN) r.first = 0;
  if (r.end == INT64_MAX && rows) r.end = rows;
  if (r.end == INT64_MAX)
    return fail_token(err, text, "--%s: a range needs an end unless the number of rows is known", name);
  if (r.first < 0 || r.end > INT32_MAX) return fail_token(err, text, "--%s: rows must be from 0 to 2147483646", name);
  for (int64_t id = r.first; id < r.end; id++) {
    if (list->count == LISTED_ROWS)
      return fail_token(err, text, "--%s lists more rows than the metadata can hold", name);
    if (!add_id(list, (int32_t)id)) return fail_memory(err);
  }
  return FURROW_OK;
}

furrow_status read_row_list(const char *name, const char *text, int32_t rows, int32_t **ids, size_t *count,
                            furrow_error *err) {
  id_list list = {0};
  range r;
  furrow_status status = check_list(name, text, err);
  for (const char *at = text; status == FURROW_OK && read_range(&at, &r); at++) {
    status = add_range(name, text, r, rows, &list, err);
    if (!*at) break;
  }
  if (status == FURROW_OK && list.count == 0) status = fail_token(err, text, "--%s lists no row", name);
  if (status != FURROW_OK) {
    free(list.ids);
    return status;
  }
  *ids = list.ids;
  *count = list.count;
  return FURROW_OK;
}

static furrow_status read_columns(const char *text, furrow_matrix_selection *selection, furrow_error *err) {
  range r;
  const char *at = text;
  if (!read_range(&at, &r) || *at) return fail_token(err, text, "--cols takes A:B with A < B, such as 0:1000");
  selection->first_col = r.first;
  selection->end_col = r.end;
  return FURROW_OK;
}

/* Keeps, in place, the ids that the list contains. */
static furrow_status keep_listed(const char *name, const char *text, id_list *list, furrow_error *err) {
  size_t count = 0;
  sort_ids(list);
  if (list->count == 0) return fail_token(err, text, "--%s: there is nothing to select from", name);
  int32_t first = list->ids[0], last = list->ids[list->count - 1];
  for (size_t i = 0; i < list->count; i++)
    if (in_list(text, list->ids[i])) list->ids[count++] = list->ids[i];
  list->count = count;
  if (count > 0) return FURROW_OK;
  return fail_token(err, text, "--%s selects nothing: the ids are %" PRId32 " to %" PRId32, name, first, last);
}

typedef bool (*id_adder)(const furrow_matrix_meta *meta, id_list *list);

static furrow_status choose_ids(const char *name, const char *text, id_adder add, const furrow_model_entry *matrices,
                                size_t count, const char *meta_name, id_list *list, furrow_error *err) {
  furrow_status status = check_list(name, text, err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    furrow_matrix_meta *meta = NULL;
    status = furrow_matrix_meta_load(&meta, matrices[i].folder, meta_name, err);
    if (status == FURROW_OK && !add(meta, list)) status = fail_memory(err);
    furrow_matrix_meta_free(meta);
  }
  return status == FURROW_OK ? keep_listed(name, text, list, err) : status;
}

furrow_status selection_make(selected *c, const selection_values *values, const furrow_model_entry *matrices,
                             size_t count, const char *meta_name, furrow_error *err) {
  furrow_status status = FURROW_OK;
  id_list rows = {0}, parts = {0};
  *c = (selected){0};
  furrow_matrix_selection_init(&c->selection);
  if (values->cols) status = read_columns(values->cols, &c->selection, err);
  if (status == FURROW_OK && values->rows)
    status = choose_ids("rows", values->rows, add_row_ids, matrices, count, meta_name, &rows, err);
  if (status == FURROW_OK && values->parts)
    status = choose_ids("parts", values->parts, add_part_ids, matrices, count, meta_name, &parts, err);
  c->selection.rows = c->rows = rows.ids;
  c->selection.row_count = rows.count;
  c->selection.part_ids = c->parts = parts.ids;
  c->selection.part_count = parts.count;
  return status;
}

void selection_clear(selected *c) {
  free(c->rows);
  free(c->parts);
  *c = (selected){0};
}

/* ---- Trees ---- */

bool forest_is_listed(const furrow_model_listing *listing) {
  for (size_t i = 0; !listing->single && i < listing->matrix_count; i++)
    if (strcmp(listing->matrices[i].name, "gbdt.split.feature") == 0) return true;
  return imported_forest_is_listed(listing);
}

bool imported_forest_is_listed(const furrow_model_listing *listing) {
  for (size_t i = 0; !listing->single && i < listing->file_count; i++)
    if (strcmp(listing->files[i].name, "forest.nodes") == 0) return true;
  return false;
}

static bool has_graph(const furrow_model_listing *listing) {
  for (size_t i = 0; i < listing->file_count; i++)
    if (strcmp(listing->files[i].name, "graph.json") == 0) return true;
  return false;
}

static furrow_status open_listed(furrow_scorer **scorer, const furrow_model_listing *listing, uint32_t threads,
                                 furrow_error *err) {
  furrow_scorer_params params;
  furrow_learn_conf *conf = NULL;
  furrow_status status = FURROW_OK;
  furrow_scorer_params_init(&params);
  params.threads = threads;
  if (!has_graph(listing)) {
    status = furrow_learn_conf_create(&conf, err);
    if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, "gbdt", err);
    if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "defaults", "angel", err);
    params.conf = conf;
  }
  if (status == FURROW_OK) status = furrow_scorer_load(scorer, listing->path, &params, err);
  furrow_learn_conf_free(conf);
  return status;
}

furrow_status forest_open(furrow_scorer **scorer, const char *folder, uint32_t threads, furrow_error *err) {
  furrow_model_listing *listing = NULL;
  bool file = false;
  furrow_status status = furrow_forest_probe(folder, &file, err);
  if (status != FURROW_OK || file) return status == FURROW_OK ? furrow_scorer_load(scorer, folder, NULL, err) : status;
  status = furrow_model_listing_load(&listing, folder, err);
  if (status == FURROW_OK && !forest_is_listed(listing))
    status = fail_in(err, FURROW_E_STATE, folder, "the model has no trees: there is no matrix gbdt.split.feature");
  if (status == FURROW_OK) status = open_listed(scorer, listing, threads, err);
  furrow_model_listing_free(listing);
  return status;
}
