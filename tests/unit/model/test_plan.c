/* tests/unit/model/test_plan.c: partitions and files as Angel lays them out. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "furrow/model.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/golden_set.h"

static furrow_error err;

static furrow_matrix_spec small_spec(void) {
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.name = "w";
  spec.rows = 3;
  spec.cols = 23;
  spec.block_cols = 5;
  return spec;
}

static furrow_matrix_meta *planned(const furrow_matrix_spec *spec) {
  furrow_matrix_meta *meta = NULL;
  if (furrow_matrix_plan(&meta, spec, &err) != FURROW_OK) fail_msg("%s", err.message);
  return meta;
}

/* ---- A case of the shared folder ---- */

enum { MOST_ROWS = 64, MOST_OPTIONS = 16 };

typedef struct golden_case {
  char name[64], format[64];
  furrow_matrix_spec spec;
  int64_t block_row, block_col, partitions;
  bool hash;
  int32_t rows[MOST_ROWS];
  furrow_matrix_option options[MOST_OPTIONS];
} golden_case;

static char *own_text(furrow_json_text text) {
  char *copy = malloc(text.size + 1);
  assert_non_null(copy);
  memcpy(copy, text.bytes, text.size);
  copy[text.size] = 0;
  return copy;
}

static void read_saved_rows(golden_case *c, furrow_json *json) {
  int64_t row;
  assert_int_equal(furrow_json_array(json, &err), FURROW_OK);
  while (furrow_json_element(json, &err) == FURROW_OK) {
    assert_int_equal(furrow_json_i64(json, &row, &err), FURROW_OK);
    assert_true(c->spec.saved_row_count < MOST_ROWS);
    c->rows[c->spec.saved_row_count++] = (int32_t)row;
  }
  c->spec.saved_rows = c->spec.saved_row_count ? c->rows : NULL;
}

static void read_attributes(golden_case *c, furrow_json *json) {
  furrow_json_text key, value;
  assert_int_equal(furrow_json_object(json, &err), FURROW_OK);
  while (furrow_json_member(json, &key, &err) == FURROW_OK) {
    char *own_key = own_text(key);
    assert_int_equal(furrow_json_string(json, &value, &err), FURROW_OK);
    assert_true(c->spec.option_count < MOST_OPTIONS);
    c->options[c->spec.option_count++] = (furrow_matrix_option){own_key, own_text(value)};
  }
  c->spec.options = c->options;
}

static int64_t read_integer(furrow_json *json) {
  int64_t value = 0;
  assert_int_equal(furrow_json_i64(json, &value, &err), FURROW_OK);
  return value;
}

static void read_name(furrow_json *json, char name[64]) {
  furrow_json_text text;
  assert_int_equal(furrow_json_string(json, &text, &err), FURROW_OK);
  snprintf(name, 64, "%.*s", (int)text.size, text.bytes);
}

static void read_case(golden_case *c, const char *text, size_t size) {
  furrow_json json;
  furrow_json_text key;
  char partitioner[64] = "";
  memset(c, 0, sizeof *c);
  furrow_matrix_spec_init(&c->spec);
  c->spec.name = c->name;
  c->spec.format = c->format;
  fw_json_open(&json, text, size, "case.json");
  assert_int_equal(furrow_json_object(&json, &err), FURROW_OK);
  while (furrow_json_member(&json, &key, &err) == FURROW_OK) {
    if (furrow_json_is(key, "matrixName"))
      read_name(&json, c->name);
    else if (furrow_json_is(key, "format"))
      read_name(&json, c->format);
    else if (furrow_json_is(key, "partitioner"))
      read_name(&json, partitioner);
    else if (furrow_json_is(key, "matrixId"))
      c->spec.matrix_id = (int32_t)read_integer(&json);
    else if (furrow_json_is(key, "rowTypeNumber"))
      c->spec.row_type = (int32_t)read_integer(&json);
    else if (furrow_json_is(key, "rows"))
      c->spec.rows = (int32_t)read_integer(&json);
    else if (furrow_json_is(key, "cols"))
      c->spec.cols = read_integer(&json);
    else if (furrow_json_is(key, "indexStart"))
      c->spec.first_col = read_integer(&json);
    else if (furrow_json_is(key, "blockRow"))
      c->block_row = read_integer(&json);
    else if (furrow_json_is(key, "blockCol"))
      c->block_col = read_integer(&json);
    else if (furrow_json_is(key, "partitions"))
      c->partitions = read_integer(&json);
    else if (furrow_json_is(key, "psNumber"))
      c->spec.servers = (int32_t)read_integer(&json);
    else if (furrow_json_is(key, "maxPartitionsPerFile"))
      c->spec.parts_per_file = (int32_t)read_integer(&json);
    else if (furrow_json_is(key, "saveRows"))
      read_saved_rows(c, &json);
    else if (furrow_json_is(key, "attributes"))
      read_attributes(c, &json);
    else
      assert_int_equal(furrow_json_skip(&json, NULL, &err), FURROW_OK);
  }
  fw_json_close(&json);
  c->hash = strcmp(partitioner, "HashPartitioner") == 0;
}

static void clear_case(golden_case *c) {
  for (size_t i = 0; i < c->spec.option_count; i++) {
    free((char *)(uintptr_t)c->options[i].key);
    free((char *)(uintptr_t)c->options[i].value);
  }
}

/* What only the data can tell. */
static void take_data_fields(furrow_matrix_meta *plan, const furrow_matrix_meta *real) {
  assert_int_equal(plan->part_count, real->part_count);
  for (size_t i = 0; i < plan->part_count; i++) {
    furrow_partition_meta *a = &plan->parts[i];
    const furrow_partition_meta *b = &real->parts[i];
    a->nnz = b->nnz;
    a->offset = b->offset;
    a->length = b->length;
    a->save_col_num = b->save_col_num;
    assert_int_equal(a->row_count, b->row_count);
    for (size_t r = 0; r < a->row_count; r++)
      for (size_t k = 0; k < b->row_count; k++) {
        if (a->rows[r].row_id != b->rows[k].row_id) continue;
        a->rows[r].element_num = b->rows[k].element_num;
        if (a->rows[r].offset >= 0) a->rows[r].offset = b->rows[k].offset;
      }
  }
}

static char *read_whole(const char *folder, const char *name, size_t *size) {
  char path[2 * TEST_PATH];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

/* The plan, with the counts of the data, is written as Angel wrote it. */
static void check_case(const char *folder, const golden_case *c, const furrow_matrix_spec *spec) {
  size_t size = 0, written_size = 0;
  char *meta_bytes = read_whole(folder, "_meta", &size), *written = NULL;
  furrow_matrix_meta *real = NULL, *plan = planned(spec);
  assert_non_null(meta_bytes);
  assert_int_equal(furrow_matrix_meta_read(&real, meta_bytes, size, "_meta", &err), FURROW_OK);
  assert_int_equal(plan->part_count, c->partitions);
  take_data_fields(plan, real);
  assert_int_equal(furrow_matrix_meta_write(plan, &written, &written_size, &err), FURROW_OK);
  if (written_size != size || memcmp(written, meta_bytes, size) != 0)
    fail_msg("%s\n%.*s\n%.*s", folder, (int)size - 4, meta_bytes + 4, (int)written_size - 4, written + 4);
  furrow_free(written);
  furrow_matrix_meta_free(plan);
  furrow_matrix_meta_free(real);
  free(meta_bytes);
}

static bool has_default_blocks(const char *name) {
  return strncmp(name, "lr-", 3) == 0 || strncmp(name, "fm-", 3) == 0 || strncmp(name, "fc-", 3) == 0;
}

static bool check_folder(const char *root, const char *name) {
  char folder[2 * TEST_PATH];
  size_t size = 0;
  golden_case c;
  snprintf(folder, sizeof folder, "%s/%s", root, name);
  char *text = read_whole(folder, "case.json", &size);
  if (!text) return false;
  read_case(&c, text, size);
  if (c.hash) {
    c.spec.hash_parts = (int32_t)c.partitions;
  } else {
    c.spec.block_rows = (int32_t)c.block_row;
    c.spec.block_cols = c.block_col;
  }
  check_case(folder, &c, &c.spec);
  if (has_default_blocks(name)) {
    c.spec.block_rows = 0;
    c.spec.block_cols = 0;
    check_case(folder, &c, &c.spec);
  }
  clear_case(&c);
  free(text);
  return true;
}

static void golden_plans(void **state) {
  (void)state;
  char root[TEST_PATH];
  DIR *folder = opendir(golden_path(root, "angel"));
  assert_non_null(folder);
  int checked = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] != '.') checked += check_folder(root, entry->d_name);
  closedir(folder);
  assert_true(checked > 50);
}

/* ---- By hand ---- */

static void expect_part(const furrow_partition_meta *part, int32_t id, int32_t start_row, int32_t end_row,
                        int64_t start_col, int64_t end_col, const char *file) {
  assert_int_equal(part->part_id, id);
  assert_int_equal(part->start_row, start_row);
  assert_int_equal(part->end_row, end_row);
  assert_true(part->start_col == start_col && part->end_col == end_col);
  assert_string_equal(part->file_name, file);
  assert_true(part->nnz == 0 && part->offset == 0 && part->length == 0 && part->save_col_num == 0);
}

static void range_partitions(void **state) {
  (void)state;
  furrow_matrix_spec spec = small_spec();
  spec.servers = 2;
  spec.parts_per_file = 2;
  furrow_matrix_meta *meta = planned(&spec);
  assert_int_equal(meta->part_count, 5);
  expect_part(&meta->parts[0], 0, 0, 3, 0, 5, "0");
  expect_part(&meta->parts[1], 1, 0, 3, 5, 10, "1");
  expect_part(&meta->parts[2], 2, 0, 3, 10, 15, "2"); /* 0, 2, 4 in files of two: 0 and 2, 4 */
  expect_part(&meta->parts[3], 3, 0, 3, 15, 20, "1");
  expect_part(&meta->parts[4], 4, 0, 3, 20, 23, "2");
  assert_int_equal(meta->block_row, 3);
  assert_int_equal(meta->block_col, 5);
  assert_int_equal(meta->parts[4].row_count, 3);
  assert_int_equal(meta->parts[4].save_row_num, 3);
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.start"), "0");
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.end"), "23");
  assert_null(furrow_matrix_meta_option(meta, "feature.index.range"));
  furrow_matrix_meta_free(meta);
}

static void odd_ranges(void **state) {
  (void)state;
  furrow_matrix_spec spec = small_spec();
  spec.row_type = 12; /* T_FLOAT_SPARSE_LONGKEY */
  spec.first_col = INT64_MIN;
  spec.cols = INT64_MAX;
  spec.block_cols = INT64_MAX / 2 + 1;
  furrow_matrix_meta *meta = planned(&spec);
  assert_int_equal(meta->part_count, 2);
  expect_part(&meta->parts[0], 0, 0, 3, INT64_MIN, -(INT64_C(1) << 62), "0");
  expect_part(&meta->parts[1], 1, 0, 3, -(INT64_C(1) << 62), -1, "0");
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.start"), "-9223372036854775808");
  furrow_matrix_meta_free(meta);
  spec = small_spec();
  spec.block_rows = 100; /* more than the matrix has */
  spec.block_cols = 23;
  meta = planned(&spec);
  assert_int_equal(meta->part_count, 1);
  expect_part(&meta->parts[0], 0, 0, 3, 0, 23, "0");
  assert_int_equal(meta->block_row, 100);
  furrow_matrix_meta_free(meta);
}

/* blockCol = min(max(100, range/servers), max(size/rows, rows*range/parts/rows)) */
static void default_blocks(void **state) {
  (void)state;
  static const struct {
    int32_t rows, servers, max_parts;
    int64_t cols, part_size, block;
  } cases[] = {
      {1, 1, 500, 1, 500000, 100},           /* a bias */
      {3, 1, 500, 123, 500000, 123},         /* all of it on one server */
      {12, 2, 500, 148, 500000, 100},        /* 100 at least */
      {1, 1, 500, 10000000, 500000, 500000}, /* the size of a partition */
      {4, 2, 500, 1000000000, 500000, 2000000},
      {10, 3, 7, 1000000, 100, 142857},
      {1000, 1, 500, 50, 10, 1}, /* never 0 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    furrow_matrix_spec spec = small_spec();
    spec.rows = cases[i].rows;
    spec.cols = cases[i].cols;
    spec.servers = cases[i].servers;
    spec.max_parts = cases[i].max_parts;
    spec.part_size = cases[i].part_size;
    spec.block_cols = 0;
    furrow_matrix_meta *meta = planned(&spec);
    assert_int_equal(meta->block_col, cases[i].block);
    assert_int_equal(meta->block_row, cases[i].rows);
    assert_int_equal(meta->parts[meta->part_count - 1].end_col, cases[i].cols);
    furrow_matrix_meta_free(meta);
  }
}

static void hash_partitions(void **state) {
  (void)state;
  furrow_matrix_spec spec = small_spec();
  spec.row_type = 10; /* T_FLOAT_SPARSE */
  spec.hash_parts = -1;
  spec.servers = 2;
  furrow_matrix_meta *meta = planned(&spec);
  assert_int_equal(meta->part_count, 10);
  assert_int_equal(meta->block_row, -1);
  assert_int_equal(meta->block_col, -1);
  expect_part(&meta->parts[7], 7, 0, 3, 0, 0, "1");
  furrow_matrix_meta_free(meta);
  /* no limit: every key is possible */
  spec.cols = -1;
  spec.hash_parts = 3;
  meta = planned(&spec);
  assert_int_equal(meta->col, INT64_C(4294967295));
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.start"), "-2147483648");
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.end"), "2147483647");
  furrow_matrix_meta_free(meta);
  spec.row_type = 12;
  meta = planned(&spec);
  assert_int_equal(meta->col, -1);
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.end"), "9223372036854775807");
  furrow_matrix_meta_free(meta);
}

/* Values of Angel's router for its keys. */
static void hash_of_columns(void **state) {
  (void)state;
  static const struct {
    int64_t col;
    int32_t parts, part;
  } cases[] = {
      {0, 4, 0},
      {98, 4, 2},
      {-98, 4, 2},
      {65535, 7, 1},
      {65536, 7, 3},
      {65536, 4, 1}, /* 65536 ^ 1 = 65537 */
      {INT32_MIN, 5, 3},
      {INT32_MAX, 10, 0},
      {-1, 10, 1}, /* 0x80000000 ^ 0x8000 without its sign: 32768 */
      {INT64_C(4294967296), 3, 0},
      {INT64_C(4294967301), 3, 2}, /* the lower half counts */
      {INT64_MIN, 9, 0},
      {INT64_MAX, 9, 1},
      {5, 1, 0},
      {5, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_int_equal(furrow_matrix_hash_partition(cases[i].col, cases[i].parts), cases[i].part);
}

static void expect_rows(const furrow_partition_meta *part, const int32_t *rows, size_t count) {
  assert_int_equal(part->row_count, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(part->rows[i].row_id, rows[i]);
}

static void saved_rows(void **state) {
  (void)state;
  static const int32_t list[] = {17, 3, 1, 12, 0};
  furrow_matrix_spec spec = small_spec();
  spec.rows = 20;
  spec.block_rows = 4;
  spec.block_cols = 20;
  spec.saved_rows = list;
  spec.saved_row_count = 5;
  furrow_matrix_meta *meta = planned(&spec);
  assert_int_equal(meta->part_count, 6); /* blocks 0, 3, 4 of rows; ids as if all were there */
  expect_part(&meta->parts[0], 0, 0, 4, 0, 20, "0");
  expect_part(&meta->parts[1], 1, 0, 4, 20, 23, "0");
  expect_part(&meta->parts[2], 6, 12, 16, 0, 20, "0");
  expect_part(&meta->parts[5], 9, 16, 20, 20, 23, "7"); /* six are cut in halves of three */
  expect_rows(&meta->parts[0], (const int32_t[]){3, 1, 0}, 3);
  expect_rows(&meta->parts[1], (const int32_t[]){3, 1, 0}, 3);
  expect_rows(&meta->parts[2], (const int32_t[]){12}, 1);
  expect_rows(&meta->parts[5], (const int32_t[]){17}, 1);
  assert_int_equal(meta->parts[0].save_row_num, 3);
  assert_int_equal(meta->parts[0].rows[0].offset, 0);
  furrow_matrix_meta_free(meta);
  spec.format = "TextColumnFormat";
  meta = planned(&spec);
  expect_rows(&meta->parts[0], (const int32_t[]){0, 1, 3}, 3);
  assert_int_equal(meta->parts[0].save_row_num, 0);
  assert_int_equal(meta->parts[0].save_col_elem_num, 3);
  assert_int_equal(meta->parts[0].rows[0].offset, -1);
  furrow_matrix_meta_free(meta);
}

static void files(void **state) {
  (void)state;
  furrow_matrix_spec spec = small_spec();
  spec.cols = 100;
  spec.block_cols = 10;
  furrow_matrix_meta *meta = planned(&spec);
  for (size_t i = 0; i < 10; i++) assert_string_equal(meta->parts[i].file_name, i < 5 ? "0" : "5");
  assert_int_equal(furrow_matrix_plan_files(meta, 1, 3, &err), FURROW_OK);
  /* 10 are cut into 5 and 5, each into 2 and 3 */
  static const char *const wanted[] = {"0", "0", "2", "2", "2", "5", "5", "7", "7", "7"};
  for (size_t i = 0; i < 10; i++) assert_string_equal(meta->parts[i].file_name, wanted[i]);
  assert_int_equal(furrow_matrix_plan_files(meta, 3, INT32_MAX, &err), FURROW_OK);
  for (size_t i = 0; i < 10; i++) assert_int_equal(atoi(meta->parts[i].file_name), (int)i % 3);
  assert_int_equal(furrow_matrix_plan_files(meta, 0, 3, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_matrix_plan_files(meta, 1, 0, &err), FURROW_E_ARGUMENT);
  furrow_matrix_meta_free(meta);
  spec.format = "SnapshotFormat";
  spec.row_type = 3; /* T_DOUBLE_SPARSE */
  meta = planned(&spec);
  for (size_t i = 0; i < 10; i++) assert_int_equal(atoi(meta->parts[i].file_name), (int)i);
  assert_int_equal(meta->parts[0].rows[0].save_type, 1);
  furrow_matrix_meta_free(meta);
}

static void options(void **state) {
  (void)state;
  const furrow_matrix_option list[] = {{"matrix.average", "true"}, {"feature.index.range.end", "7"}};
  furrow_matrix_spec spec = small_spec();
  spec.options = list;
  spec.option_count = 2;
  furrow_matrix_meta *meta = planned(&spec);
  assert_int_equal(meta->option_count, 3);
  assert_string_equal(furrow_matrix_meta_option(meta, "matrix.average"), "true");
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.end"), "23");
  furrow_matrix_meta_free(meta);
}

static void refused(const furrow_matrix_spec *spec, furrow_status wanted, const char *beginning) {
  furrow_matrix_meta *meta = NULL;
  const furrow_status status = furrow_matrix_plan(&meta, spec, &err);
  if (status != wanted || strncmp(err.message, beginning, strlen(beginning)) != 0)
    fail_msg("%s: %s, not %s", furrow_status_name(status), err.message, beginning);
  assert_null(meta);
}

static void refusals(void **state) {
  (void)state;
  static const int32_t outside[] = {0, 3}, twice[] = {1, 0, 1};
  const furrow_matrix_option same[] = {{"a", "1"}, {"a", "2"}}, bytes[] = {{"a", "\xff"}};
  furrow_matrix_spec spec;
#define REFUSED(change, beginning) \
  spec = small_spec();             \
  change;                          \
  refused(&spec, FURROW_E_ARGUMENT, beginning)
  REFUSED(spec.size = 0, "furrow_matrix_spec was not initialised");
  REFUSED(spec.name = NULL, "name must be set");
  REFUSED(spec.name = "", "name must be set");
  REFUSED(spec.name = "\xc3", "name is not UTF-8");
  REFUSED(spec.name = "../x", "name is not a name");
  REFUSED(spec.rows = 0, "rows must be set");
  REFUSED(spec.cols = 0, "cols must be set");
  REFUSED(spec.cols = -1, "cols must be set: range partitions");
  REFUSED(spec.cols = -2, "cols must be set");
  REFUSED(spec.first_col = INT64_MAX, "cols leads beyond 64 bits");
  REFUSED(spec.first_col = INT64_C(0x7ffffff0), "cols leads beyond the 32 bits");
  REFUSED(spec.hash_parts = -2, "hash_parts is negative");
  REFUSED(spec.hash_parts = 4, "row_type T_FLOAT_DENSE is dense");
  REFUSED(spec.block_rows = -1, "block_rows is negative");
  REFUSED(spec.block_cols = -1, "block_cols is negative");
  REFUSED(spec.part_size = 0, "part_size must be positive");
  REFUSED(spec.max_parts = 0, "max_parts must be positive");
  REFUSED(spec.servers = 0, "servers must be positive");
  REFUSED(spec.parts_per_file = 0, "parts_per_file must be positive");
  REFUSED(spec.row_type = 33, "row_type 33 is not one of");
  REFUSED(spec.row_type = -2, "row_type -2 is not one of");
  REFUSED(spec.row_type = 28, "row_type T_ANY_INTKEY_DENSE has elements that are objects");
  REFUSED(spec.format = "Angel1Format", "format Angel1Format is only read");
  REFUSED((spec.saved_rows = outside, spec.saved_row_count = 2), "saved_rows has row 3");
  REFUSED((spec.saved_rows = twice, spec.saved_row_count = 3), "saved_rows has row 1 twice");
  REFUSED((spec.saved_rows = twice, spec.saved_row_count = 0), "saved_rows is empty");
  REFUSED((spec.options = same, spec.option_count = 2), "options has a key twice");
  REFUSED((spec.options = bytes, spec.option_count = 1), "options has an entry");
  REFUSED((spec.cols = INT32_MAX, spec.block_cols = 1), "block_cols makes more partitions");
  REFUSED((spec.rows = INT32_MAX, spec.block_cols = 23), "rows in 1 partitions");
  REFUSED((spec.row_type = 10, spec.hash_parts = INT32_MAX), "hash_parts makes more partitions");
#undef REFUSED
  spec = small_spec();
  spec.format = "NoFormat";
  refused(&spec, FURROW_E_NOT_FOUND, "");
  spec.size++;
  refused(&spec, FURROW_E_UNSUPPORTED, "furrow_matrix_spec was not initialised, or is of a newer version");
}

/* A specification of an older header ends earlier: what it lacks has its default, whatever lies behind it. */
static void shorter_spec(void **state) {
  (void)state;
  furrow_matrix_spec spec;
  memset(&spec, 0xff, sizeof spec);
  spec.size = offsetof(furrow_matrix_spec, options);
  spec.matrix_id = 3;
  spec.row_type = -1;
  spec.name = "w";
  spec.format = NULL;
  spec.rows = 2;
  spec.cols = 12;
  spec.hash_parts = 0;
  spec.first_col = 0;
  furrow_matrix_meta *meta = planned(&spec);
  assert_string_equal(strrchr(meta->format_class_name, '.'), ".RowIdColIdValueTextRowFormat");
  assert_string_equal(furrow_matrix_row_type_get(meta->row_type)->name, "T_FLOAT_DENSE");
  assert_int_equal(meta->option_count, 2);
  assert_int_equal(meta->part_count, 1);
  assert_int_equal(meta->parts[0].row_count, 2);
  furrow_matrix_meta_free(meta);
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static const int32_t list[] = {2, 0};
  const furrow_matrix_option option = {"a", "b"};
  furrow_matrix_spec spec = small_spec();
  spec.saved_rows = list;
  spec.saved_row_count = 2;
  spec.options = &option;
  spec.option_count = 1;
  for (long n = 1;; n++) {
    furrow_matrix_meta *meta = NULL;
    const long before = atomic_load(&alloc_live);
    alloc_fail_at(n);
    const furrow_status status = furrow_matrix_plan(&meta, &spec, &err);
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (status == FURROW_OK) furrow_matrix_meta_free(meta);
    assert_int_equal(atomic_load(&alloc_live), before);
    if (!failed) {
      assert_int_equal(status, FURROW_OK);
      assert_true(n > 5);
      break;
    }
    assert_int_equal(status, FURROW_E_MEMORY);
    assert_null(meta);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GOLDEN_TEST(golden_plans),         cmocka_unit_test(range_partitions),
      cmocka_unit_test(odd_ranges),      cmocka_unit_test(default_blocks),
      cmocka_unit_test(hash_partitions), cmocka_unit_test(hash_of_columns),
      cmocka_unit_test(saved_rows),      cmocka_unit_test(files),
      cmocka_unit_test(options),         cmocka_unit_test(refusals),
      cmocka_unit_test(shorter_spec),    cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
