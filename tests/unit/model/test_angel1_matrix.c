/* tests/unit/model/test_angel1_matrix.c: matrices of Angel 1.x from end to end. Their metadata does not say how many
 * elements a row has: they are read, loaded, checked, converted and exported all the same. */
#include "furrow/exchange.h"
#include "support/cmocka_all.h"
#include "support/meta_bytes.h"
#include "support/model_params.h"
#include "support/own_dir.h"

/* Many folders are written, and none must outlive the machine. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

/* Rows and columns of the matrix; each partition has all rows and some columns. */
enum { ROWS = 4, PARTS = 3, WIDTH = 20, COLS = PARTS * WIDTH };

typedef struct kind {
  int32_t number; /* of Angel 1.x */
  furrow_element_type type;
  int key_bits; /* 0: dense */
  bool hash;
} kind;

static const kind kinds[] = {{2, FURROW_ELEMENT_F64, 0, false},  {6, FURROW_ELEMENT_F32, 0, false},
                             {7, FURROW_ELEMENT_F32, 32, false}, {3, FURROW_ELEMENT_I32, 32, true},
                             {8, FURROW_ELEMENT_F64, 64, false}, {8, FURROW_ELEMENT_F64, 64, true}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool has(const kind *k, int32_t row, int64_t col) {
  return k->key_bits == 0 || (row + col) % 3 != 0;
}

static int32_t part_of(const kind *k, int64_t col) {
  return k->hash ? furrow_matrix_hash_partition(col, PARTS) : (int32_t)(col / WIDTH);
}

static double value_of(int32_t row, int64_t col) {
  return (double)(row * 100 + col - 30);
}

static void put_value(meta_bytes *m, furrow_element_type type, double x) {
  const float narrow = (float)x;
  uint64_t wide_bits;
  uint32_t narrow_bits;
  memcpy(&wide_bits, &x, sizeof x);
  memcpy(&narrow_bits, &narrow, sizeof narrow);
  if (type == FURROW_ELEMENT_F64) meta_put(m, wide_bits, 8);
  if (type == FURROW_ELEMENT_F32) meta_put(m, narrow_bits, 4);
  if (type == FURROW_ELEMENT_I32) meta_put(m, (uint32_t)(int32_t)x, 4);
}

/* The data of partition p: the count of its rows, and each with its id, a count if it is sparse, and its elements. */
static void put_data(meta_bytes *m, const kind *k, int32_t p) {
  meta_put(m, ROWS, 4);
  for (int32_t r = 0; r < ROWS; r++) {
    uint32_t count = 0;
    for (int64_t c = 0; c < COLS; c++) count += part_of(k, c) == p && has(k, r, c);
    meta_put(m, (uint64_t)r, 4);
    if (k->key_bits) meta_put(m, count, 4);
    for (int64_t c = 0; c < COLS; c++) {
      if (part_of(k, c) != p || !has(k, r, c)) continue;
      if (k->key_bits) meta_put(m, (uint64_t)c, k->key_bits / 8);
      put_value(m, k->type, value_of(r, c));
    }
  }
}

static void put_head(meta_bytes *m, int32_t number, int32_t rows, bool hash, int32_t parts) {
  m->size = 0;
  meta_put(m, 4, 4);
  meta_put_text(m, "lr_weight");
  meta_put(m, (uint64_t)number, 4);
  meta_put(m, (uint64_t)rows, 4);
  meta_put(m, COLS, 8);
  meta_put(m, hash ? UINT32_MAX : (uint64_t)rows, 4);
  meta_put(m, hash ? UINT64_MAX : WIDTH, 8);
  meta_put(m, 0, 4);
  meta_put(m, (uint64_t)parts, 4);
}

/* Partition p with these rows; hash: no range of columns. */
static void put_part(meta_bytes *m, int32_t p, bool hash, const int32_t *rows, size_t count, uint64_t length) {
  char file[16];
  snprintf(file, sizeof file, "%d", p);
  meta_put(m, (uint64_t)p, 4);
  meta_put(m, 0, 4);
  meta_put(m, ROWS, 4);
  meta_put(m, hash ? 0 : (uint64_t)(p * WIDTH), 8);
  meta_put(m, hash ? 0 : (uint64_t)((p + 1) * WIDTH), 8);
  meta_put(m, UINT64_MAX, 8); /* nnz: not known */
  meta_put_text(m, file);
  meta_put(m, 0, 8);
  meta_put(m, length, 8);
  meta_put(m, count, 4);
  for (size_t i = 0; i < count; i++) {
    meta_put(m, (uint64_t)rows[i], 4);
    meta_put(m, 0, 8);
  }
}

static const int32_t all_rows[ROWS] = {2, 0, 3, 1}; /* in the order of a hash map */

static void make_folder(const char *folder, const kind *k) {
  static meta_bytes meta, data;
  char path[TEST_PATH], name[16];
  assert_int_equal(mkdir(folder, 0755), 0);
  put_head(&meta, k->number, ROWS, k->hash, PARTS);
  for (int32_t p = 0; p < PARTS; p++) {
    data.size = 0;
    put_data(&data, k, p);
    snprintf(name, sizeof name, "%d", p);
    assert_true(test_write_file(test_path(path, folder, name), data.bytes, data.size));
    put_part(&meta, p, k->hash, all_rows, ROWS, data.size);
  }
  assert_true(test_write_file(test_path(path, folder, "meta"), meta.bytes, meta.size));
}

static void check(furrow_status status, const furrow_error *err) {
  if (status != FURROW_OK) fail_msg("%s: %s: %s", furrow_status_name(status), err->file, err->message);
}

static furrow_matrix_source *open_source(const char *folder, const furrow_matrix_source_params *params) {
  furrow_matrix_source *source = NULL;
  furrow_error err = {.status = FURROW_OK};
  check(furrow_matrix_source_open(&source, folder, params, &err), &err);
  return source;
}

static uint64_t count_elements(const kind *k, const int32_t *rows, size_t row_count, int64_t first, int64_t end) {
  uint64_t count = 0;
  for (size_t i = 0; i < row_count; i++)
    for (int64_t c = first; c < end; c++) count += has(k, rows[i], c);
  return count;
}

static void expect_elements(const furrow_matrix *matrix, const kind *k, const int32_t *rows, size_t row_count,
                            int64_t first, int64_t end) {
  assert_int_equal(furrow_matrix_count(matrix), count_elements(k, rows, row_count, first, end));
  for (size_t i = 0; i < row_count; i++)
    for (int64_t c = first; c < end; c++)
      assert_true(furrow_matrix_get(matrix, rows[i], c) == (has(k, rows[i], c) ? value_of(rows[i], c) : 0));
}

/* ---- What is right -------------------------------------------------------------------------------------- */

static void loaded(void **state) {
  (void)state;
  static const int32_t some_rows[] = {3, 1};
  for (size_t i = 0; i < KINDS; i++) {
    make_folder("m", &kinds[i]);
    for (unsigned threads = 1; threads <= 2; threads++) {
      furrow_matrix_load_params params;
      param_parts parts;
      furrow_matrix *matrix = NULL;
      furrow_error err = {.status = FURROW_OK};
      load_params_init(&params, &parts);
      params.threads = threads;
      check(furrow_matrix_load(&matrix, "m", &params, &err), &err);
      expect_elements(matrix, &kinds[i], all_rows, ROWS, 0, COLS);
      furrow_matrix_free(matrix);
      parts.selection.rows = some_rows;
      parts.selection.row_count = 2;
      parts.selection.first_col = 7;
      parts.selection.end_col = 33;
      check(furrow_matrix_load(&matrix, "m", &params, &err), &err);
      expect_elements(matrix, &kinds[i], some_rows, 2, 7, 33);
      furrow_matrix_free(matrix);
    }
    furrow_matrix_source *source = open_source("m", NULL);
    const size_t size = furrow_matrix_load_size(source, NULL); /* counts are not known: what the bytes can hold */
    assert_in_range(size, count_elements(&kinds[i], all_rows, ROWS, 0, COLS) * furrow_element_size(kinds[i].type),
                    100000);
    furrow_matrix_source_close(source);
    assert_true(test_remove_dir("m"));
  }
}

/* Panels that come sorted: the next one is not before the last one. */
typedef struct sorted_scan {
  const kind *k;
  uint64_t elements;
  int32_t row;
  int64_t col;
} sorted_scan;

static furrow_status visit(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  sorted_scan *s = user;
  (void)part;
  (void)err;
  assert_int_equal(panel->rows, 1);
  for (size_t c = 0; c < panel->cols; c++) {
    const int64_t col = furrow_panel_col(panel, c);
    assert_true(s->elements == 0 || panel->row_ids[0] > s->row || (panel->row_ids[0] == s->row && col > s->col));
    assert_true(furrow_panel_get(panel, 0, c) == value_of(panel->row_ids[0], col));
    s->row = panel->row_ids[0];
    s->col = col;
    s->elements++;
  }
  return FURROW_OK;
}

static void sorted_and_counted(void **state) {
  (void)state;
  static const size_t memories[] = {0, 300, 2000};
  for (size_t i = 0; i < KINDS; i++) {
    make_folder("m", &kinds[i]);
    const uint64_t elements = count_elements(&kinds[i], all_rows, ROWS, 0, COLS);
    furrow_matrix_source *source = open_source("m", NULL);
    furrow_error err = {.status = FURROW_OK};
    for (size_t k = 0; k < 3; k++) {
      sorted_scan s = {.k = &kinds[i]};
      check(furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, 1, memories[k]), visit, &s, &err), &err);
      assert_int_equal(s.elements, elements);
    }
    furrow_matrix_stats stats;
    furrow_matrix_stats_init(&stats);
    check(furrow_matrix_compute_stats(source, STATS(2, NULL, NULL), &stats, &err), &err);
    assert_int_equal(stats.elements, elements);
    assert_int_equal(stats.rows, ROWS);
    assert_int_equal(stats.max_col, COLS - 1);
    assert_int_equal(stats.max, value_of(ROWS - 1, COLS - 1 - !has(&kinds[i], ROWS - 1, COLS - 1)));
    furrow_matrix_source_close(source);
    assert_true(test_remove_dir("m"));
  }
}

static void note(void *user, const furrow_matrix_finding *finding) {
  print_message("%s\n", finding->message);
  ++*(size_t *)user;
}

static void expect_same(const char *a, const char *b, uint64_t only_b) {
  furrow_matrix_source *first = open_source(a, NULL), *second = open_source(b, NULL);
  furrow_matrix_diff diff;
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_diff_init(&diff);
  check(furrow_matrix_compare(first, second, COMPARE(3000, NULL, 0), &diff, &err), &err);
  assert_true(diff.elements_a > 0);
  assert_int_equal(diff.only_a, 0);
  assert_int_equal(diff.only_b, only_b);
  assert_int_equal(diff.different, 0);
  furrow_matrix_source_close(first);
  furrow_matrix_source_close(second);
}

static void verified_and_converted(void **state) {
  (void)state;
  for (size_t i = 0; i < KINDS; i++) {
    furrow_error err = {.status = FURROW_OK};
    size_t found = 0;
    make_folder("m", &kinds[i]);
    check(furrow_matrix_verify("m", VERIFY(NULL, 1, note, &found), &err), &err);
    assert_int_equal(found, 0);
    for (int grid = 0; grid < 3; grid++) {
      furrow_model_convert_params params;
      furrow_model_convert_params_init(&params);
      params.format = grid == 1 ? "TextColumn" : "ColIdValueBinary";
      if (grid == 1) params.part_cols = 11;
      if (grid == 2 && kinds[i].key_bits) params.hash_parts = 2;
      check(furrow_model_convert("m", "new", &params, NULL, &err), &err);
      const uint64_t zeros = ROWS * COLS - count_elements(&kinds[i], all_rows, ROWS, 0, COLS);
      expect_same("m", "new", grid == 1 ? zeros : 0); /* a column has all rows */
      check(furrow_matrix_verify("new", VERIFY(NULL, 1, note, &found), &err), &err);
      assert_int_equal(found, 0);
      assert_true(test_remove_dir("new"));
    }
    assert_true(test_remove_dir("m"));
  }
}

/* Sparse matrices of hash partitions have any columns, so a file of dense vectors has to find them first. */
static void exported_and_imported(void **state) {
  (void)state;
  static const char *const files[] = {"x.npy", "x.npz", "x.tsv"};
  for (size_t i = 0; i < KINDS; i++) {
    make_folder("m", &kinds[i]);
    for (size_t f = 0; f < 3; f++)
      for (int by_columns = 0; by_columns < 2; by_columns++) {
        furrow_model_export_params out;
        furrow_model_import_params in;
        param_parts parts;
        furrow_error err = {.status = FURROW_OK};
        furrow_model_export_params_init(&out);
        out.vectors = by_columns ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
        out.memory = 4000;
        out.threads = 1;
        if (f == 2 && by_columns) continue;
        check(furrow_model_export("m", files[f], &out, NULL, &err), &err);
        import_params_init(&in, &parts);
        parts.spec.name = "back";
        in.vectors = out.vectors;
        check(furrow_model_import(files[f], "back", &in, NULL, &err), &err);
        const uint64_t zeros = ROWS * COLS - count_elements(&kinds[i], all_rows, ROWS, 0, COLS);
        expect_same("m", "back", f == 0 ? zeros : 0); /* only npy has a number for every element */
        assert_true(test_remove_dir("back"));
        assert_int_equal(unlink(files[f]), 0);
        unlink("x.npy.ids.npy");
        unlink("x.npz.ids.npy");
      }
    assert_int_equal(test_entries("."), 1);
    assert_true(test_remove_dir("m"));
  }
}

/* ---- What is wrong -------------------------------------------------------------------------------------- */

static void expect_refused(const furrow_matrix_source_params *source, furrow_status wanted, const char *file,
                           const char *message) {
  furrow_matrix_load_params params;
  furrow_matrix *matrix = NULL;
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_load_params_init(&params);
  params.source = source;
  assert_int_equal(furrow_matrix_load(&matrix, "m", &params, &err), wanted);
  assert_null(matrix);
  assert_int_equal(err.status, wanted);
  assert_string_equal(err.file, file);
  if (!strstr(err.message, message)) fail_msg("%s, not %s", err.message, message);
  assert_true(test_remove_dir("m"));
}

/* Changes byte `at` of a data file of a matrix of floats. */
static void poke(const char *path, long at, int byte) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  assert_int_equal(fputc(byte, file), byte);
  assert_int_equal(fclose(file), 0);
}

static void broken_data(void **state) {
  (void)state;
  make_folder("m", &kinds[2]);
  poke("m/1", 7, 9); /* the first row's id */
  expect_refused(NULL, FURROW_E_FORMAT, "m/1", "partition 1: row 9 is not one of the partition's rows");
  make_folder("m", &kinds[2]);
  poke("m/1", 15, 5); /* the first column */
  expect_refused(NULL, FURROW_E_FORMAT, "m/1", "partition 1: column 5 is outside of the partition, 20 to 39");
  make_folder("m", &kinds[2]);
  poke("m/2", 3, ROWS + 1); /* the count of rows */
  expect_refused(NULL, FURROW_E_FORMAT, "m/2", "partition 2: the partition ends early: 1 rows");
  make_folder("m", &kinds[0]);
  poke("m/0", 3, ROWS - 1);
  expect_refused(NULL, FURROW_E_FORMAT, "m/0", "partition 0: something follows the last row");
  make_folder("m", &kinds[0]);
  assert_int_equal(truncate("m/0", 100), 0);
  expect_refused(NULL, FURROW_E_FORMAT, "m/meta", "partMetas/0/length is ");
}

/* Text under the metadata of Angel 1.x: some formats tell rows apart, others need a count for that. */
static void make_text(const char *text, size_t rows) {
  static meta_bytes meta;
  static const int32_t ids[] = {1, 2};
  put_head(&meta, 2, ROWS, false, 1);
  put_part(&meta, 0, false, ids, rows, strlen(text));
  assert_int_equal(mkdir("m", 0755), 0);
  assert_true(test_write_file("m/meta", meta.bytes, meta.size));
  assert_true(test_write_text("m/0", text));
}

static void expect_text(const char *format, const char *text, size_t rows, int32_t row, int64_t col, double value,
                        uint64_t count) {
  furrow_matrix_load_params params;
  param_parts parts;
  furrow_matrix *matrix = NULL;
  furrow_error err = {.status = FURROW_OK};
  make_text(text, rows);
  load_params_init(&params, &parts);
  parts.source.format = format;
  for (int cut = 0; cut < 2; cut++) {
    if (cut) parts.selection.first_col = 2;
    check(furrow_matrix_load(&matrix, "m", &params, &err), &err);
    assert_true(furrow_matrix_get(matrix, row, col) == value);
    if (!cut) assert_int_equal(furrow_matrix_count(matrix), count);
    furrow_matrix_free(matrix);
  }
  assert_true(test_remove_dir("m"));
}

static void text_without_counts(void **state) {
  (void)state;
  furrow_matrix_source_params params;
  expect_text("ColIdValueText", "1,5\n3,7\n4,8\n", 1, 1, 3, 7, 3);
  expect_text("ValueText", "5\n6\n7\n", 1, 1, 2, 7, 3);
  expect_text("RowIdColIdValueText", "2,1,5\n1,3,7\n2,2,9\n", 2, 2, 2, 9, 3);
  furrow_matrix_source_params_init(&params);
  params.format = "ColIdValueText";
  make_text("1,5\n3,7\n4,8\n", 2);
  expect_refused(&params, FURROW_E_FORMAT, "m/meta",
                 "partMetas/0 has 2 rows without elementNum, and ColIdValueTextRowFormat has no row ids");
  params.format = "ValueText";
  make_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n1\n2\n3\n4\n5\n6\n7\n8\n9\n1\n2\n3\n", 1);
  expect_refused(&params, FURROW_E_FORMAT, "m/0", "partition 0: column 20 is outside of the partition, 0 to 19");
  params.format = "RowIdColIdValueText";
  make_text("2,1,5\n1,3\n", 2);
  expect_refused(&params, FURROW_E_PARSE, "m/0", "partition 0: ");
  make_text("2,1,5\n3,1,5\n", 2);
  expect_refused(&params, FURROW_E_FORMAT, "m/0", "partition 0: row 3 is not one of the partition's rows");
}

/* Partitions that hold other rows than their neighbours: a remark, because saved rows were chosen for each then. */
static void other_rows(void **state) {
  (void)state;
  static meta_bytes meta, data;
  static const int32_t fewer[] = {2, 0, 3};
  const kind *k = &kinds[2];
  furrow_error err = {.status = FURROW_OK};
  size_t found = 0;
  make_folder("m", k);
  put_head(&meta, k->number, ROWS, false, PARTS);
  for (int32_t p = 0; p < PARTS; p++) {
    data.size = 0;
    put_data(&data, k, p);
    put_part(&meta, p, false, p == 1 ? fewer : all_rows, p == 1 ? 3 : 4, p == 1 ? 4 : data.size);
  }
  assert_true(test_write_file("m/meta", meta.bytes, meta.size));
  assert_true(test_write_file("m/1", "\0\0\0\0", 4)); /* no rows */
  check(furrow_matrix_verify("m", VERIFY(NULL, 1, note, &found), &err), &err);
  assert_int_equal(found, 2); /* a row is missing in partition 1, and partition 2 has one more */
  furrow_matrix *matrix = NULL;
  check(furrow_matrix_load(&matrix, "m", NULL, &err), &err);
  assert_true(furrow_matrix_get(matrix, 1, 0) == value_of(1, 0));
  assert_true(furrow_matrix_get(matrix, 2, WIDTH + 2) == 0);
  furrow_matrix_free(matrix);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(loaded),
      IN_DIR(sorted_and_counted),
      IN_DIR(verified_and_converted),
      IN_DIR(exported_and_imported),
      IN_DIR(broken_data),
      IN_DIR(text_without_counts),
      IN_DIR(other_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
