/* tests/support/golden_case.h: the golden matrices: what case.json and original.tsv say. */
#ifndef GOLDEN_CASE_H
#define GOLDEN_CASE_H

#include <dirent.h>

#include "base/json_in.h"
#include "furrow/model.h"
#include "support/golden_set.h"

enum { GOLDEN_TEXTS = 64, GOLDEN_ROWS = 64 };

typedef struct golden_case {
  char texts[GOLDEN_TEXTS][256]; /* what the spec points at */
  size_t text_count;
  furrow_matrix_spec spec;
  furrow_matrix_option options[GOLDEN_TEXTS / 2];
  int32_t saved_rows[GOLDEN_ROWS];
  char separator[8];
  bool hash;
} golden_case;

/* Reads a whole file, with a 0 behind it; NULL: it is not there. */
static inline char *golden_read(const char *folder, const char *name, size_t *size) {
  char path[4 * TEST_PATH];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *bytes = NULL;
  size_t capacity = 0;
  *size = 0;
  do {
    capacity = capacity ? 2 * capacity : 4096;
    bytes = realloc(bytes, capacity + 1);
    assert_non_null(bytes);
    *size += fread(bytes + *size, 1, capacity - *size, file);
  } while (*size == capacity);
  fclose(file);
  bytes[*size] = 0;
  return bytes;
}

static inline const char *golden_text(golden_case *c, furrow_json_text text) {
  assert_true(c->text_count < GOLDEN_TEXTS && text.size < sizeof c->texts[0]);
  char *copy = c->texts[c->text_count++];
  memcpy(copy, text.bytes, text.size);
  copy[text.size] = 0;
  return copy;
}

static inline furrow_status golden_options(golden_case *c, furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &text, err)) == FURROW_OK) {
    c->options[c->spec.option_count].key = golden_text(c, text);
    status = furrow_json_string(json, &text, err);
    if (status == FURROW_OK) c->options[c->spec.option_count++].value = golden_text(c, text);
  }
  c->spec.options = c->options;
  return status == FURROW_END ? FURROW_OK : status;
}

static inline furrow_status golden_saved(golden_case *c, furrow_json *json, furrow_error *err) {
  int64_t row;
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    status = furrow_json_i64(json, &row, err);
    assert_true(c->spec.saved_row_count < GOLDEN_ROWS);
    c->saved_rows[c->spec.saved_row_count++] = (int32_t)row;
  }
  if (c->spec.saved_row_count) c->spec.saved_rows = c->saved_rows;
  return status == FURROW_END ? FURROW_OK : status;
}

static inline furrow_status golden_member(golden_case *c, furrow_json_text key, furrow_json *json, furrow_error *err) {
  furrow_json_text text;
  int64_t n;
  if (furrow_json_is(key, "saveRows")) return golden_saved(c, json, err);
  if (furrow_json_is(key, "attributes")) return golden_options(c, json, err);
  if (furrow_json_peek(json) == FURROW_JSON_STRING) {
    furrow_status status = furrow_json_string(json, &text, err);
    if (status != FURROW_OK) return status;
    if (furrow_json_is(key, "matrixName")) c->spec.name = golden_text(c, text);
    if (furrow_json_is(key, "format")) c->spec.format = golden_text(c, text);
    if (furrow_json_is(key, "partitioner")) c->hash = furrow_json_is(text, "HashPartitioner");
    if (furrow_json_is(key, "separator"))
      snprintf(c->separator, sizeof c->separator, "%.*s", (int)text.size, text.bytes);
    return FURROW_OK;
  }
  if (furrow_json_peek(json) != FURROW_JSON_NUMBER) return furrow_json_skip(json, NULL, err);
  furrow_status status = furrow_json_i64(json, &n, err);
  if (status != FURROW_OK) return status;
  if (furrow_json_is(key, "matrixId")) c->spec.matrix_id = (int32_t)n;
  if (furrow_json_is(key, "rowTypeNumber")) c->spec.row_type = (int32_t)n;
  if (furrow_json_is(key, "rows")) c->spec.rows = (int32_t)n;
  if (furrow_json_is(key, "cols")) c->spec.cols = n;
  if (furrow_json_is(key, "indexStart")) c->spec.first_col = n;
  if (furrow_json_is(key, "blockRow")) c->spec.block_rows = n > 0 ? (int32_t)n : 0;
  if (furrow_json_is(key, "blockCol")) c->spec.block_cols = n > 0 ? n : 0;
  if (furrow_json_is(key, "partitions")) c->spec.hash_parts = (int32_t)n;
  if (furrow_json_is(key, "psNumber")) c->spec.servers = (int32_t)n;
  if (furrow_json_is(key, "maxPartitionsPerFile")) c->spec.parts_per_file = (int32_t)n;
  return FURROW_OK;
}

/* False: the folder has no case.json. */
static inline bool golden_load(golden_case *c, const char *folder) {
  furrow_json json;
  furrow_json_text key;
  furrow_error err = {0};
  size_t size;
  char *text = golden_read(folder, "case.json", &size);
  if (!text) return false;
  memset(c, 0, sizeof *c);
  furrow_matrix_spec_init(&c->spec);
  fw_json_open(&json, text, size, folder);
  furrow_status status = furrow_json_object(&json, &err);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &key, &err)) == FURROW_OK)
    status = golden_member(c, key, &json, &err);
  if (status != FURROW_END) fail_msg("%s: %s", folder, err.message);
  fw_json_close(&json);
  free(text);
  if (!c->hash) c->spec.hash_parts = 0;
  return true;
}

/* ---- elements ---- */

typedef struct golden_element {
  int32_t row;
  int64_t col;
  union {
    double f64;
    float f32;
    int64_t i64;
    int32_t i32;
  } value;
} golden_element;

/* The lines of original.tsv or expected.tsv; free them with free. */
static inline golden_element *golden_elements(const char *folder, const char *file, furrow_element_type type,
                                              size_t *count) {
  size_t size, capacity = 0;
  char *text = golden_read(folder, file, &size);
  golden_element *elements = NULL;
  assert_non_null(text);
  *count = 0;
  for (char *at = text; *at;) {
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 256;
      elements = realloc(elements, capacity * sizeof *elements);
      assert_non_null(elements);
    }
    golden_element *e = &elements[(*count)++];
    e->row = (int32_t)strtol(at, &at, 10);
    e->col = strtoll(at, &at, 10);
    if (type == FURROW_ELEMENT_F64) e->value.f64 = strtod(at, &at);
    if (type == FURROW_ELEMENT_F32) e->value.f32 = strtof(at, &at);
    if (type == FURROW_ELEMENT_I64) e->value.i64 = strtoll(at, &at, 10);
    if (type == FURROW_ELEMENT_I32) e->value.i32 = (int32_t)strtol(at, &at, 10);
    assert_int_equal(*at, '\n');
    at++;
  }
  free(text);
  return elements;
}

static inline bool golden_saves(const golden_case *c, int32_t row) {
  for (size_t i = 0; i < c->spec.saved_row_count; i++)
    if (c->saved_rows[i] == row) return true;
  return c->spec.saved_row_count == 0;
}

/* The saved rows of the matrix before Angel saved it. */
static inline furrow_matrix *golden_matrix(const golden_case *c, const golden_element *elements, size_t count) {
  const furrow_element_type type = furrow_matrix_row_type_get(c->spec.row_type)->element;
  const size_t size = furrow_element_size(type);
  int64_t *cols = malloc((count + 1) * sizeof *cols);
  char *values = malloc((count + 1) * size);
  int32_t *rows = malloc((count + 1) * sizeof *rows);
  furrow_panel *panels = calloc(count + 1, sizeof *panels);
  size_t n = 0;
  assert_true(cols && values && rows && panels);
  for (size_t i = 0; i < count; i++) {
    if (!golden_saves(c, elements[i].row)) continue;
    cols[i] = elements[i].col;
    memcpy(values + i * size, &elements[i].value, size);
    rows[i] = elements[i].row;
    if (n == 0 || panels[n - 1].row_ids[0] != rows[i])
      panels[n++] = (furrow_panel){.rows = 1,
                                   .row_ids = &rows[i],
                                   .cols = 0,
                                   .col_ids = &cols[i],
                                   .type = type,
                                   .values.any = values + i * size};
    panels[n - 1].cols++;
  }
  if (n == 0) panels[n++] = (furrow_panel){.rows = 0, .type = type};
  furrow_matrix *matrix = NULL;
  furrow_error err;
  if (furrow_matrix_create(&matrix, panels, n, &err) != FURROW_OK) fail_msg("%s", err.message);
  free(cols);
  free(values);
  free(rows);
  free(panels);
  return matrix;
}

/* nnz counts every row, saved or not. */
static inline void golden_set_nnz(furrow_matrix_meta *plan, const golden_element *elements, size_t count) {
  for (size_t i = 0; i < plan->part_count; i++) {
    furrow_partition_meta *part = &plan->parts[i];
    const bool hash = part->start_col == 0 && part->end_col == 0;
    part->nnz = 0;
    for (size_t e = 0; e < count; e++) {
      const bool here = hash ? furrow_matrix_hash_partition(elements[e].col, (int32_t)plan->part_count) == part->part_id
                             : elements[e].col >= part->start_col && elements[e].col < part->end_col;
      part->nnz += here && elements[e].row >= part->start_row && elements[e].row < part->end_row;
    }
  }
}

/* ---- folders ---- */

/* Files of the golden case that do not belong to its matrix folder. */
static inline bool golden_is_extra(const char *name) {
  return name[0] == '.' || strcmp(name, "case.json") == 0 || strcmp(name, "expected.tsv") == 0 ||
         strcmp(name, "original.tsv") == 0 || strncmp(name, "psmeta.", 7) == 0;
}

static inline size_t golden_file_count(const char *folder) {
  DIR *handle = opendir(folder);
  size_t n = 0;
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));) n += !golden_is_extra(entry->d_name);
  closedir(handle);
  return n;
}

/* Fails unless `made` has the files of `wanted`, with the same bytes, and no others. */
static inline void golden_expect_same(const char *made, const char *wanted) {
  DIR *handle = opendir(wanted);
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));) {
    if (golden_is_extra(entry->d_name)) continue;
    size_t a_size, b_size = 0;
    char *a = golden_read(wanted, entry->d_name, &a_size), *b = golden_read(made, entry->d_name, &b_size);
    if (!a) continue;
    size_t at = 0;
    while (b && at < a_size && at < b_size && a[at] == b[at]) at++;
    if (!b || a_size != b_size || at < a_size)
      fail_msg("%s: %s is not as it was written: %zu bytes for %zu, the first other one at %zu", wanted, entry->d_name,
               b_size, a_size, at);
    free(a);
    free(b);
  }
  closedir(handle);
  assert_int_equal(golden_file_count(made), golden_file_count(wanted));
}

/* Whether the file is in both folders, with the same bytes. */
static inline bool golden_same_file(const char *a, const char *b, const char *name) {
  size_t n = 0, m = 0;
  char *x = golden_read(a, name, &n), *y = golden_read(b, name, &m);
  const bool same = x && y && n == m && memcmp(x, y, n) == 0;
  free(x);
  free(y);
  return same;
}

/* A new folder with the files of a matrix. */
static inline void golden_copy(const char *from, const char *to) {
  DIR *handle = opendir(from);
  assert_non_null(handle);
  assert_int_equal(mkdir(to, 0777), 0);
  for (struct dirent *entry; (entry = readdir(handle));) {
    if (golden_is_extra(entry->d_name)) continue;
    char path[2 * TEST_PATH];
    size_t size = 0;
    char *bytes = golden_read(from, entry->d_name, &size);
    snprintf(path, sizeof path, "%s/%s", to, entry->d_name);
    assert_true(bytes && test_write_file(path, bytes, size));
    free(bytes);
  }
  closedir(handle);
}

/* path = a model of logistic regression, input_weight and input_bias with a graph.json: in the full set one that came
 * from a cluster, otherwise one that the working folder gets, of the two matrices that Angel's classes wrote. */
static inline const char *golden_lr(char path[TEST_PATH]) {
  static const char graph[] =
      "{\"data\": {\"format\": \"libsvm\", \"indexrange\": 123}, \"model\": {\"modeltype\": \"T_FLOAT_DENSE\"},\n"
      " \"train\": {\"epoch\": 10, \"lr\": 0.1}, \"default_optimizer\": {\"type\": \"adam\", \"reg2\": 0.01},\n"
      " \"layers\": [\n"
      "  {\"name\": \"input\", \"type\": \"simpleinputlayer\", \"outputdim\": 1, \"transfunc\": \"identity\"},\n"
      "  {\"name\": \"simplelosslayer\", \"type\": \"simplelosslayer\", \"lossfunc\": \"logloss\", "
      "\"inputlayer\": \"input\"}]}\n";
  char from[TEST_PATH];
  if (golden_is_full) return golden_path(path, "angel/real_models/lr");
  assert_int_equal(mkdir("lr", 0777), 0);
  golden_copy(golden_path(from, "angel/lr-input_weight-dense"), "lr/input_weight");
  golden_copy(golden_path(from, "angel/lr-input_bias"), "lr/input_bias");
  assert_true(test_write_text("lr/graph.json", graph));
  return strcpy(path, "lr");
}

/* Calls test(folder, name) for each folder of golden/angel that has a case.json; returns how many. */
static inline size_t golden_each(void (*test)(const char *folder, const char *name)) {
  char root[TEST_PATH], folder[2 * TEST_PATH];
  struct dirent **names;
  size_t count = 0;
  const int n = scandir(golden_path(root, "angel"), &names, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    struct stat info;
    snprintf(folder, sizeof folder, "%s/%s/case.json", root, names[i]->d_name);
    if (names[i]->d_name[0] != '.' && stat(folder, &info) == 0) {
      snprintf(folder, sizeof folder, "%s/%s", root, names[i]->d_name);
      test(folder, names[i]->d_name);
      count++;
    }
    free(names[i]);
  }
  if (n >= 0) free(names);
  return count;
}

#endif
