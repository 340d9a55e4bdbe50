/* tests/unit/model/test_model_convert.c: models and matrices converted: what does not change is the same byte for byte,
 * what changes is what would have been written so. */
#include <fcntl.h>

#include "support/golden_case.h"
#include "support/made_matrix.h"
#include "support/meta_bytes.h"
#include "support/model_params.h"
#include "support/own_dir.h"
#include "support/sample_matrix.h"

/* Thousands of folders are written, and none must outlive the machine: test_atomic_dir.c has the syncing. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

static furrow_status convert(const char *from, const char *to, const furrow_model_convert_params *params,
                             furrow_model_convert_result *result) {
  furrow_error err = {0};
  furrow_status status = furrow_model_convert(from, to, params, result, &err);
  if (status != FURROW_OK) {
    assert_int_equal(err.status, status);
    assert_true(err.message[0] != 0);
  }
  return status;
}

/* ---- own data ---- */

static const sample_matrix small = {.rows = 3, .cols = 50, .type = FURROW_ELEMENT_F32, .aligned = true, .seed = 5};

static void save_small(const char *format, const char *folder) {
  furrow_matrix_spec spec;
  sample_spec(&spec, &small, format, sample_row_type(small.type, 3));
  spec.block_cols = 7;
  spec.servers = 2;
  spec.parts_per_file = 2;
  sample_save(&small, &spec, folder, false);
}

/* Every row type and format to every format, and the same bytes as written directly. */
static void all_formats_of_all_types(void **state) {
  (void)state;
  static const int kinds[] = {0, 3, 5};
  for (size_t k = 0; k < 12; k++) {
    const furrow_element_type type = (furrow_element_type)(k / 3);
    const sample_matrix s = {4, 61, type, kinds[k % 3] == 0, true, k};
    for (size_t f = 0; f < SAMPLE_FORMATS; f++) {
      furrow_matrix_spec spec;
      sample_spec(&spec, &s, sample_formats[f], sample_row_type(type, kinds[k % 3]));
      spec.block_rows = 3;
      spec.block_cols = 8;
      spec.servers = 2;
      spec.parts_per_file = 3;
      sample_save(&s, &spec, sample_formats[f], !s.dense && strncmp(sample_formats[f], "Value", 5) == 0);
    }
    for (size_t f = 0; f < SAMPLE_FORMATS; f++) {
      const bool value = strncmp(sample_formats[f], "Value", 5) == 0;
      for (size_t g = 0; g < SAMPLE_FORMATS && (s.dense || !value); g++) {
        furrow_model_convert_params params;
        param_parts parts;
        furrow_model_convert_result result;
        furrow_model_convert_result_init(&result);
        convert_params_init(&params, &parts);
        params.format = sample_formats[g];
        parts.write.threads = 1 + (unsigned)(f + g) % 2;
        const bool lossy = !s.dense && strncmp(sample_formats[g], "Value", 5) == 0;
        if (lossy) assert_int_equal(convert(sample_formats[f], "out", &params, NULL), FURROW_E_ARGUMENT);
        parts.write.angel_bytes = lossy;
        sample_convert(sample_formats[f], "out", &params, &result);
        golden_expect_same("out", sample_formats[g]);
        assert_int_equal(result.dropped > 0, lossy);
        assert_true(test_remove_dir("out"));
      }
    }
    for (size_t f = 0; f < SAMPLE_FORMATS; f++) assert_true(test_remove_dir(sample_formats[f]));
  }
}

/* Other partitions and back again: the same bytes, under any memory and with any number of threads. */
static void partitions_there_and_back(void **state) {
  (void)state;
  static const size_t memories[] = {(size_t)1 << 30, 20000, 3000};
  for (size_t f = 0; f < SAMPLE_FORMATS; f++) {
    if (strncmp(sample_formats[f], "Value", 5) == 0) continue; /* places of sparse elements would be lost */
    save_small(sample_formats[f], "old");
    for (size_t m = 0; m < 6; m++) {
      furrow_model_convert_params there, back;
      param_parts there_parts;
      convert_params_init(&there, &there_parts);
      there.memory = memories[m % 3];
      there_parts.write.threads = 1 + (unsigned)m % 2;
      back = there;
      there.part_cols = 11;
      there.part_rows = 2;
      sample_convert("old", "range", &there, NULL);
      back.part_cols = 7;
      back.part_rows = 3;
      back.servers = 2;
      back.parts_per_file = 2;
      sample_expect(&small, "range", false);
      sample_convert("range", "again", &back, NULL);
      golden_expect_same("again", "old");
      there.part_cols = there.part_rows = 0;
      there.hash_parts = 5;
      sample_convert("range", "hash", &there, NULL);
      sample_expect(&small, "hash", false);
      there.hash_parts = 3;
      sample_convert("hash", "hash3", &there, NULL);
      sample_expect(&small, "hash3", false);
      sample_convert("hash3", "last", &back, NULL);
      golden_expect_same("last", "old");
      static const char *const targets[] = {"range", "again", "hash", "hash3", "last"};
      for (size_t i = 0; i < 5; i++) assert_true(test_remove_dir(targets[i]));
    }
    assert_true(test_remove_dir("old"));
  }
}

/* Rows of different columns: column formats get the union, with zeros; angel_bytes only what the first row has. */
static void columns_that_rows_do_not_share(void **state) {
  (void)state;
  const sample_matrix s = {4, 90, FURROW_ELEMENT_I64, false, false, 9};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_model_convert_result result;
  furrow_model_convert_result_init(&result);
  uint64_t all = 0, first = 0;
  for (int64_t c = 0; c < s.cols; c++)
    for (int32_t r = 0; r < s.rows; r++) {
      all += sample_has(&s, r, c);
      first += sample_has(&s, r, c) && sample_has(&s, 0, c);
    }
  sample_spec(&spec, &s, "ColIdValueBinaryRowFormat", sample_row_type(s.type, 5));
  spec.block_cols = 20;
  sample_save(&s, &spec, "old", false);
  convert_params_init(&params, &parts);
  params.format = "TextColumn";
  sample_convert("old", "union", &params, &result);
  assert_int_equal(result.dropped, 0);
  sample_expect(&s, "union", true);
  parts.write.angel_bytes = true;
  sample_convert("old", "angel", &params, &result);
  assert_int_equal(result.dropped, all - first);
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_load(&meta, "angel", NULL, NULL), FURROW_OK);
  uint64_t counted = 0;
  for (size_t i = 0; i < meta->part_count; i++)
    for (size_t r = 0; r < meta->parts[i].row_count; r++) counted += (uint64_t)meta->parts[i].rows[r].element_num;
  assert_int_equal(counted, all); /* as Angel counts: what the server had */
  furrow_matrix_meta_free(meta);
  /* from column format to column format the counts stay */
  params.format = "BinaryColumn";
  sample_convert("angel", "binary", &params, NULL);
  params.format = "TextColumn";
  sample_convert("binary", "again", &params, NULL);
  golden_expect_same("again", "angel");
}

static void row_types_change_where_they_can(void **state) {
  (void)state;
  sample_matrix s = {3, 40, FURROW_ELEMENT_F64, false, false, 11};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  sample_spec(&spec, &s, "RowIdColIdValueText", sample_row_type(s.type, 5));
  spec.block_cols = 9;
  sample_save(&s, &spec, "old", false);
  for (int type = 0; type < 4; type++)
    for (int kind = 0; kind < 6; kind++) {
      if (kind != 0 && kind != 3 && kind != 5) continue;
      convert_params_init(&params, &parts);
      params.row_type = sample_row_type((furrow_element_type)type, kind);
      parts.write.threads = 1 + (unsigned)kind % 2;
      parts.write.overwrite = true;
      sample_convert("old", "new", &params, NULL);
      sample_expect(&s, "new", kind == 0);
    }
}

static furrow_status one_element(double value, int64_t col, int32_t from, int32_t to, furrow_error *err) {
  const int32_t row = 4;
  const furrow_panel panel = {
      .rows = 1, .row_ids = &row, .cols = 1, .col_ids = &col, .type = FURROW_ELEMENT_F64, .values.f64 = &value};
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_matrix_write_params write;
  furrow_matrix_spec_init(&spec);
  spec.name = "one";
  spec.row_type = from;
  spec.rows = 5;
  spec.cols = -1;
  spec.hash_parts = 2;
  furrow_matrix_write_params_init(&write);
  write.overwrite = true;
  sample_check(furrow_matrix_create(&matrix, &panel, 1, err), err);
  sample_check(furrow_matrix_plan(&plan, &spec, err), err);
  sample_check(furrow_matrix_save(matrix, "one", plan, &write, err), err);
  furrow_matrix_free(matrix);
  furrow_matrix_meta_free(plan);
  convert_params_init(&params, &parts);
  params.row_type = to;
  parts.write.overwrite = true;
  return furrow_model_convert("one", "other", &params, NULL, err);
}

static void what_does_not_fit_is_named(void **state) {
  (void)state;
  furrow_error err;
  const int32_t f64 = 5, f32 = 12, i64 = 19, i32 = 26, i32_int_key = 24;
  assert_int_equal(one_element(1.5, 7, f64, i32, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "row 4, column 7: 1.5"));
  assert_int_equal(one_element(1e300, 7, f64, f32, &err), FURROW_E_RANGE);
  assert_int_equal(one_element(3e9, 7, f64, i32, &err), FURROW_E_RANGE);
  assert_int_equal(one_element(3e9, 7, f64, i64, &err), FURROW_OK);
  assert_int_equal(one_element(9223372036854775808.0, 7, f64, i64, &err), FURROW_E_RANGE);
  assert_int_equal(one_element(-9223372036854775808.0, 7, f64, i64, &err), FURROW_OK);
  assert_int_equal(one_element(5, 3000000000, f64, i32_int_key, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "column 3000000000"));
  assert_int_equal(one_element(0.1, 7, f64, f32, &err), FURROW_OK); /* rounding is not a loss */
}

static void rows_and_columns_are_chosen(void **state) {
  (void)state;
  const sample_matrix s = {6, 50, FURROW_ELEMENT_F32, true, true, 3};
  const int32_t rows[] = {2, 0};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_matrix *matrix = NULL;
  sample_spec(&spec, &s, "TextColumnFormat", sample_row_type(s.type, 0));
  spec.block_cols = 20;
  sample_save(&s, &spec, "old", false);
  convert_params_init(&params, &parts);
  parts.selection.rows = rows;
  parts.selection.row_count = 2;
  sample_convert("old", "rows", &params, NULL);
  assert_int_equal(furrow_matrix_load(&matrix, "rows", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_count(matrix), 2 * 50);
  assert_true(furrow_matrix_get(matrix, 2, 33) == (double)sample_value(&s, 2, 33));
  furrow_matrix_free(matrix);
  parts.selection.first_col = 15;
  parts.selection.end_col = 45;
  sample_convert("old", "both", &params, NULL);
  assert_int_equal(furrow_matrix_load(&matrix, "both", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_count(matrix), 2 * 30);
  assert_true(furrow_matrix_get(matrix, 0, 44) == (double)sample_value(&s, 0, 44));
  furrow_matrix_free(matrix);
  const int32_t none = 77;
  parts.selection.rows = &none;
  parts.selection.row_count = 1;
  assert_int_equal(convert("old", "none", &params, NULL), FURROW_E_NOT_FOUND);
  assert_int_equal(test_entries("."), 3);
}

static void files_and_metadata_change_alone(void **state) {
  (void)state;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_matrix_meta *meta = NULL;
  save_small("ColIdValueTextRowFormat", "old");
  convert_params_init(&params, &parts);
  parts.write.meta_name = "meta";
  sample_convert("old", "named", &params, NULL);
  assert_int_equal(access("named/_meta", F_OK), -1);
  assert_int_equal(test_entries("named"), test_entries("old"));
  convert_params_init(&params, &parts);
  params.servers = 1;
  params.parts_per_file = 100;
  sample_convert("named", "one", &params, NULL);
  assert_int_equal(test_entries("one"), 2);
  assert_int_equal(access("one/meta", F_OK), 0);
  assert_int_equal(furrow_matrix_meta_load(&meta, "one", NULL, NULL), FURROW_OK);
  for (size_t i = 1; i < meta->part_count; i++)
    assert_int_equal(meta->parts[i].offset, meta->parts[i - 1].offset + meta->parts[i - 1].length);
  furrow_matrix_meta_free(meta);
  params.servers = params.parts_per_file = 2;
  parts.write.meta_name = "_meta";
  sample_convert("one", "again", &params, NULL);
  golden_expect_same("again", "old");
  convert_params_init(&params, &parts);
  parts.write.separator = " ";
  sample_convert("old", "blank", &params, NULL);
  sample_expect(&small, "blank", false);
  parts.write.separator = ",";
  sample_convert("blank", "comma", &params, NULL);
  golden_expect_same("comma", "old");
}

static furrow_status choose(void *user, const furrow_matrix_source *source, const char **format, furrow_error *err) {
  (void)user;
  (void)err;
  if (strcmp(furrow_matrix_source_meta(source)->matrix_name, "sample") == 0) *format = "TextColumn";
  return FURROW_OK;
}

static void a_model_with_its_files(void **state) {
  (void)state;
  furrow_model_convert_params params;
  furrow_model_convert_result result;
  furrow_model_convert_result_init(&result);
  assert_int_equal(mkdir("model", 0755), 0);
  save_small("ColIdValueTextRowFormat", "model/a");
  save_small("TextColumnFormat", "model/b");
  assert_true(test_write_text("model/graph.json", "{}"));
  assert_true(test_write_text("model/.hidden", "x"));
  furrow_model_convert_params_init(&params);
  params.choose_format = choose;
  sample_convert("model", "new", &params, &result);
  assert_int_equal(result.matrices, 2);
  assert_int_equal(result.files, 1);
  golden_expect_same("new/b", "model/b");
  golden_expect_same("new/a", "model/b");
  assert_true(golden_same_file("new", "model", "graph.json"));
  assert_int_equal(test_entries("new"), 3);
}

static void what_exists_is_replaced_only_if_it_is_a_model(void **state) {
  (void)state;
  furrow_model_convert_params params;
  param_parts parts;
  save_small("ColIdValueTextRowFormat", "old");
  convert_params_init(&params, &parts);
  params.format = "TextColumn";
  sample_convert("old", "new", &params, NULL);
  assert_int_equal(convert("old", "new", &params, NULL), FURROW_E_EXISTS);
  parts.write.overwrite = true;
  sample_convert("old", "new", &params, NULL);
  sample_convert("old", "old", &params, NULL); /* in its place */
  golden_expect_same("old", "new");
  assert_int_equal(mkdir("home", 0755), 0);
  assert_int_equal(convert("old", "home", &params, NULL), FURROW_OK); /* empty */
  assert_int_equal(mkdir("photos", 0755), 0);
  assert_true(test_write_text("photos/cat", "cat"));
  assert_int_equal(convert("old", "photos", &params, NULL), FURROW_E_EXISTS);
  assert_int_equal(mkdir("work", 0755), 0);
  assert_int_equal(mkdir("work/papers", 0755), 0);
  save_small("ColIdValueTextRowFormat", "work/matrix");
  assert_int_equal(convert("old", "work", &params, NULL), FURROW_E_EXISTS); /* a directory that is not a matrix */
  assert_int_equal(convert("old", "old/inner", &params, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(convert("work/matrix", "work", &params, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(access("photos/cat", F_OK), 0);
  assert_int_equal(test_entries("work"), 2);
  assert_int_equal(test_entries("."), 5);
}

/* Whether --force would have kept this folder, and it is as it was. */
static void expect_kept(const char *folder, const char *lost) {
  furrow_model_convert_params params;
  param_parts parts;
  furrow_error err = {0};
  const size_t before = test_entries(folder);
  convert_params_init(&params, &parts);
  parts.write.overwrite = true;
  assert_int_equal(furrow_model_convert("old", folder, &params, NULL, &err), FURROW_E_EXISTS);
  if (!strstr(err.file, lost)) fail_msg("%s: %s", err.file, err.message);
  assert_int_equal(test_entries(folder), before);
}

static void what_would_be_lost_is_named(void **state) {
  (void)state;
  furrow_model_convert_params params;
  param_parts parts;
  convert_params_init(&params, &parts);
  parts.write.overwrite = true;
  save_small("ColIdValueTextRowFormat", "old");
  /* a file that happens to be called meta */
  assert_int_equal(mkdir("notes", 0755), 0);
  assert_true(test_write_text("notes/meta", "my notes about metadata"));
  expect_kept("notes", "notes");
  /* a matrix with something beside its files */
  save_small("ColIdValueTextRowFormat", "matrix");
  assert_true(test_write_text("matrix/thesis.tex", "x"));
  expect_kept("matrix", "matrix/thesis.tex");
  assert_int_equal(unlink("matrix/thesis.tex"), 0);
  assert_true(test_write_text("matrix/.bashrc", "x"));
  expect_kept("matrix", "matrix/.bashrc");
  assert_int_equal(unlink("matrix/.bashrc"), 0);
  assert_true(test_write_text("matrix/graph.json", "{}")); /* that is a model's */
  expect_kept("matrix", "matrix/graph.json");
  assert_int_equal(unlink("matrix/graph.json"), 0);
  assert_int_equal(mkdir("matrix/inner", 0755), 0);
  expect_kept("matrix", "matrix/inner");
  assert_int_equal(rmdir("matrix/inner"), 0);
  /* what does not stop it */
  assert_true(test_write_text("matrix/.0.crc", "x"));
  assert_true(test_write_text("matrix/._meta.crc", "x"));
  assert_true(test_write_text("matrix/_SUCCESS", ""));
  assert_true(test_write_text("matrix/psmeta", "x"));
  assert_int_equal(mkdir("matrix/.0.furrow-abcdef", 0755), 0);
  sample_convert("old", "matrix", &params, NULL);
  golden_expect_same("matrix", "old");
  assert_true(test_write_text("matrix/.other.crc", "x"));
  expect_kept("matrix", "matrix/.other.crc");
}

static void a_model_is_replaced_with_its_files(void **state) {
  (void)state;
  furrow_model_convert_params params;
  param_parts parts;
  convert_params_init(&params, &parts);
  parts.write.overwrite = true;
  save_small("ColIdValueTextRowFormat", "old");
  assert_int_equal(mkdir("model", 0755), 0);
  save_small("ColIdValueTextRowFormat", "model/a");
  assert_true(test_write_text("model/graph.json", "{}"));
  assert_true(test_write_text("model/.graph.json.crc", "x"));
  assert_true(test_write_text("model/_tmp.graph.json", "x"));
  assert_int_equal(mkdir("model/.b.furrow-Xy12Az", 0755), 0); /* a killed run's */
  save_small("ColIdValueTextRowFormat", "model/.b.furrow-Xy12Az/x");
  assert_true(test_write_text("model/todo.txt", "x"));
  expect_kept("model", "model/todo.txt");
  assert_int_equal(unlink("model/todo.txt"), 0);
  assert_true(test_write_text("model/a/todo.txt", "x"));
  expect_kept("model", "model/a/todo.txt");
  assert_int_equal(unlink("model/a/todo.txt"), 0);
  assert_int_equal(truncate("model/a/_meta", 20), 0);
  expect_kept("model", "model/a");
  assert_true(test_remove_dir("model/a"));
  save_small("ColIdValueTextRowFormat", "model/a");
  sample_convert("old", "model", &params, NULL);
  golden_expect_same("model", "old");
}

static void what_is_broken_is_refused(void **state) {
  (void)state;
  furrow_model_convert_params params;
  save_small("ColIdValueTextRowFormat", "old");
  furrow_model_convert_params_init(&params);
  const int fd = open("old/0", O_WRONLY);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, "x", 1, 3), 1);
  close(fd);
  assert_true(convert("old", "copy", &params, NULL) != FURROW_OK); /* a copy would hide it */
  params.format = "TextColumn";
  assert_true(convert("old", "new", &params, NULL) != FURROW_OK);
  assert_int_equal(truncate("old/0", 5), 0);
  assert_true(convert("old", "new", NULL, NULL) != FURROW_OK);
  assert_int_equal(convert("nowhere", "new", NULL, NULL), FURROW_E_NOT_FOUND);
  params.format = "NoFormat";
  assert_int_equal(convert("old", "new", &params, NULL) == FURROW_OK, false);
  assert_int_equal(test_entries("."), 1);
}

static void memory_is_a_limit(void **state) {
  (void)state;
  const sample_matrix s = {4, 5000, FURROW_ELEMENT_F64, true, true, 21};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  furrow_error err;
  sample_spec(&spec, &s, "ColIdValueText", sample_row_type(s.type, 0));
  spec.block_cols = 5000;
  sample_save(&s, &spec, "old", false);
  furrow_model_convert_params_init(&params);
  params.memory = 20000;
  params.format = "ColIdValueBinary"; /* goes through, whatever the size */
  sample_convert("old", "straight", &params, NULL);
  params.format = "TextColumn"; /* rows into columns: in memory */
  assert_int_equal(furrow_model_convert("old", "columns", &params, NULL, &err), FURROW_E_MEMORY);
  assert_non_null(strstr(err.message, "partition 0"));
  params.part_cols = 50;
  sample_convert("old", "columns", &params, NULL);
  sample_expect(&s, "columns", false);
  assert_int_equal(test_entries("."), 3);
}

typedef struct watcher {
  uint64_t done, total, calls, stop_at;
} watcher;

static bool watch(void *user, const char *phase, uint64_t done, uint64_t total) {
  watcher *w = user;
  assert_string_equal(phase, "reading");
  assert_true(done >= w->done);
  w->done = done;
  w->total = total;
  return ++w->calls != w->stop_at;
}

static void progress_is_told_and_can_end_it(void **state) {
  (void)state;
  save_small("ColIdValueTextRowFormat", "old");
  for (int kind = 0; kind < 4; kind++) {
    furrow_model_convert_params params;
    param_parts parts;
    convert_params_init(&params, &parts);
    if (kind == 1) params.format = "ColIdValueBinary";
    if (kind == 2) params.format = "TextColumn";
    if (kind == 3) params.part_cols = 13;
    watcher w = {0};
    params.progress = watch;
    params.progress_user = &w;
    parts.write.threads = 2;
    sample_convert("old", "new", &params, NULL);
    assert_true(w.calls > 1 && w.total > 0);
    assert_int_equal(w.done, w.total);
    assert_true(test_remove_dir("new"));
    for (uint64_t stop = 1; stop <= w.calls; stop += 2) {
      watcher again = {.stop_at = stop};
      params.progress_user = &again;
      const furrow_status status = convert("old", "new", &params, NULL);
      if (again.calls >= stop) assert_int_equal(status, FURROW_E_CANCELLED);
      if (status == FURROW_OK) assert_true(test_remove_dir("new"));
      assert_int_equal(test_entries("."), 1);
    }
  }
}

/* A signal does not wait for the end of a partition. */
static void large_partitions_can_be_ended(void **state) {
  (void)state;
  const sample_matrix s = {4, 300000, FURROW_ELEMENT_F32, true, true, 2};
  furrow_matrix_spec spec;
  sample_spec(&spec, &s, "ColIdValueBinary", sample_row_type(s.type, 0));
  spec.block_cols = s.cols;
  sample_save(&s, &spec, "old", false);
  sample_spec(&spec, &s, "ColIdValueBinary", sample_row_type(s.type, 3));
  spec.hash_parts = 1;
  sample_save(&s, &spec, "hash", false);
  for (int kind = 0; kind < 5; kind++) {
    furrow_model_convert_params params;
    param_parts parts;
    convert_params_init(&params, &parts);
    if (kind == 1) params.format = "ColIdValueText";
    if (kind == 2) params.format = "BinaryColumn";
    if (kind == 3) params.part_cols = 200000;
    if (kind == 4) params.part_cols = 300000;
    const char *from = kind == 4 ? "hash" : "old";
    watcher w = {0};
    params.progress = watch;
    params.progress_user = &w;
    parts.write.threads = 1;
    sample_convert(from, "new", &params, NULL);
    assert_true(w.calls >= 8);
    assert_true(test_remove_dir("new"));
    for (uint64_t stop = 2; stop <= w.calls; stop += w.calls / 4) {
      watcher again = {.stop_at = stop};
      params.progress_user = &again;
      assert_int_equal(convert(from, "new", &params, NULL), FURROW_E_CANCELLED);
      assert_int_equal(again.calls, stop);
      assert_int_equal(test_entries("."), 2);
    }
  }
}

/* ---- what lies or cannot be read back ---- */

/* Saves with metadata that says something else about the columns of partition `part`. */
static void lie_about_columns(const char *folder, size_t part, int64_t start, int64_t end, int64_t cols) {
  furrow_matrix_meta *meta = NULL;
  char *bytes = NULL, path[64];
  size_t size;
  assert_int_equal(furrow_matrix_meta_load(&meta, folder, NULL, NULL), FURROW_OK);
  meta->parts[part].start_col = start;
  meta->parts[part].end_col = end;
  if (cols) {
    meta->col = cols;
    meta->option_count = 0;
  }
  assert_int_equal(furrow_matrix_meta_write(meta, &bytes, &size, NULL), FURROW_OK);
  snprintf(path, sizeof path, "%s/_meta", folder);
  FILE *file = fopen(path, "wb");
  assert_true(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
  furrow_free(bytes);
  furrow_matrix_meta_free(meta);
}

/* Zeros stand in for what dense rows lack: a width that lies must not fill the disk. */
static void a_width_that_lies_is_refused(void **state) {
  (void)state;
  static const struct lie {
    size_t part;
    int64_t start, end, cols;
    const char *field;
  } lies[] = {{4, 40, (int64_t)1 << 40, 0, "partMetas/4/endCol"},
              {4, 40, (int64_t)1 << 40, (int64_t)1 << 40, "partMetas/4/endCol"},
              {4, 40, 51, 51, "partMetas/4/endCol"},
              {2, INT64_MIN, 30, 0, "partMetas/2/startCol"},
              {2, INT64_MIN, INT64_MAX, 0, "partMetas/2/startCol"}};
  const sample_matrix s = {3, 50, FURROW_ELEMENT_F32, true, true, 8};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++)
    for (int kind = 0; kind < 5; kind++) {
      furrow_matrix_spec spec;
      furrow_model_convert_params params;
      furrow_error err = {0};
      const bool by_column = kind == 1, sparse = kind == 4;
      sample_spec(&spec, &s, by_column ? "TextColumn" : "ColIdValueText", sample_row_type(s.type, sparse ? 3 : 0));
      spec.block_cols = 10;
      sample_save(&s, &spec, "old", false);
      lie_about_columns("old", lies[i].part, lies[i].start, lies[i].end, lies[i].cols);
      furrow_model_convert_params_init(&params);
      params.format = kind == 2 ? "BinaryColumn" : "ColIdValueBinary";
      if (kind == 3) params.part_cols = 20;
      if (sparse) params.row_type = sample_row_type(s.type, 0);
      /* sparse rows may have any width, but not one that cannot be counted */
      const furrow_status wanted = sparse && lies[i].cols == 0 ? FURROW_E_FORMAT : FURROW_E_RANGE;
      if (!sparse || lies[i].end != 51) {
        const furrow_status status = furrow_model_convert("old", "new", &params, NULL, &err);
        assert_int_equal(status, sparse ? wanted : FURROW_E_FORMAT);
        if (status == FURROW_E_FORMAT) assert_non_null(strstr(err.message, lies[i].field));
      }
      assert_int_equal(test_entries("."), 1);
      assert_true(test_remove_dir("old"));
    }
}

static void metadata_has_one_of_two_names(void **state) {
  (void)state;
  static const char *const names[] = {"../../victim", "0", "psmeta", "foo", "", "_meta/x", "."};
  save_small("ColIdValueTextRowFormat", "old");
  assert_int_equal(mkdir("model", 0755), 0);
  save_small("ColIdValueTextRowFormat", "model/a");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    for (int kind = 0; kind < 3; kind++) {
      furrow_model_convert_params params;
      param_parts parts;
      convert_params_init(&params, &parts);
      parts.write.meta_name = names[i];
      if (kind == 1) params.format = "ColIdValueBinary";
      assert_int_equal(convert(kind == 2 ? "model" : "old", "new", &params, NULL), FURROW_E_ARGUMENT);
      assert_int_equal(test_entries("."), 2);
    }
}

static void separators_that_numbers_consist_of(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "1", "-", "+", ".", "e", "E", "N", "y", ",0", "\n", ",\r", "a,"};
  static const char *const good[] = {"|", ";", ":", "\x01", "\xc2\xb7", "::", " ", "\t", ","};
  furrow_model_convert_params params;
  param_parts parts;
  save_small("ColIdValueTextRowFormat", "old");
  convert_params_init(&params, &parts);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    for (int kind = 0; kind < 2; kind++) {
      parts.write.separator = wrong[i];
      params.format = kind ? "TextColumn" : NULL;
      assert_int_equal(convert("old", "new", &params, NULL), FURROW_E_ARGUMENT);
      assert_int_equal(test_entries("."), 1);
    }
  params.format = "TextColumn";
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    parts.write.separator = good[i];
    sample_convert("old", "new", &params, NULL);
    sample_expect(&small, "new", false);
    assert_true(test_remove_dir("new"));
  }
  parts.write.separator = "e"; /* nothing is separated */
  params.format = "ValueText";
  parts.write.angel_bytes = true;
  sample_convert("old", "values", &params, NULL);
  parts.write.angel_bytes = false;
  params.format = "ColIdValueBinary";
  sample_convert("old", "binary", &params, NULL);
}

/* angel_bytes is a change where it would write other bytes. */
static void angel_bytes_alone_rewrite(void **state) {
  (void)state;
  const sample_matrix s = {4, 90, FURROW_ELEMENT_I64, false, false, 9};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_model_convert_result result;
  furrow_model_convert_result_init(&result);
  sample_spec(&spec, &s, "TextColumn", sample_row_type(s.type, 5));
  sample_save(&s, &spec, "old", false);
  convert_params_init(&params, &parts);
  parts.write.angel_bytes = true;
  sample_convert("old", "new", &params, &result);
  sample_convert("old", "same", NULL, NULL);
  golden_expect_same("same", "old");
  /* a text of six decimals */
  const double third = 1.0 / 3;
  const int32_t row = 0;
  const furrow_panel panel = {.rows = 1, .row_ids = &row, .cols = 1, .type = FURROW_ELEMENT_F64, .values.f64 = &third};
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  assert_int_equal(furrow_matrix_create(&matrix, &panel, 1, NULL), FURROW_OK);
  furrow_matrix_spec_init(&spec);
  spec.name = "third";
  spec.row_type = 0;
  spec.rows = 1;
  spec.cols = 1;
  assert_int_equal(furrow_matrix_plan(&plan, &spec, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_save(matrix, "third", plan, NULL, NULL), FURROW_OK);
  furrow_matrix_free(matrix);
  furrow_matrix_meta_free(plan);
  sample_convert("third", "six", &params, NULL);
  assert_int_equal(furrow_matrix_load(&matrix, "six", NULL, NULL), FURROW_OK);
  assert_true(furrow_matrix_get(matrix, 0, 0) == 0.333333);
  furrow_matrix_free(matrix);
}

/* Hash partitions have columns that the index range does not; ranges would lose them. */
static void columns_outside_of_the_range(void **state) {
  (void)state;
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_error err = {0};
  sample_spec(&spec, &small, "TextColumn", sample_row_type(small.type, 3));
  spec.cols = 20;
  spec.hash_parts = 3;
  sample_save(&small, &spec, "old", false);
  convert_params_init(&params, &parts);
  params.part_cols = 10;
  assert_int_equal(furrow_model_convert("old", "new", &params, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.hint, "choose the columns within"));
  parts.selection.first_col = 0;
  parts.selection.end_col = 20;
  sample_convert("old", "new", &params, NULL);
}

/* ---- what a caller asks for ---- */

static void expect_refused(const furrow_model_convert_params *params, furrow_status wanted, const char *message) {
  furrow_error err = {0};
  const int entries = test_entries(".");
  assert_int_equal(furrow_model_convert("old", "new", params, NULL, &err), wanted);
  assert_int_equal(err.status, wanted);
  if (!strstr(err.message, message)) fail_msg("%s, not %s", err.message, message);
  assert_int_equal(test_entries("."), entries);
}

static void parameters_that_are_wrong(void **state) {
  (void)state;
  furrow_model_convert_params params;
  save_small("ColIdValueTextRowFormat", "old");
#define REFUSED(change, message)             \
  furrow_model_convert_params_init(&params); \
  change;                                    \
  expect_refused(&params, FURROW_E_ARGUMENT, message)
  REFUSED(params.part_rows = -1, "part_rows is negative");
  REFUSED(params.part_cols = -1, "part_cols is negative");
  REFUSED(params.hash_parts = -1, "hash_parts is negative");
  REFUSED(params.servers = -1, "servers is negative");
  REFUSED(params.parts_per_file = -1, "parts_per_file is negative");
  REFUSED(params.hash_parts = params.part_rows = 1, "hash_parts cannot be used together with part_rows or part_cols");
  REFUSED(params.hash_parts = 1;
          params.part_cols = 1, "hash_parts cannot be used together with part_rows or part_cols");
  REFUSED(params.row_type = 77, "row_type 77 does not exist");
#undef REFUSED
}

/* Elements of columns first … end-1 of some rows, and no others. */
static void expect_range(const char *folder, const int32_t *rows, size_t row_count, int64_t first, int64_t end) {
  furrow_matrix *matrix = NULL;
  furrow_error err = {0};
  uint64_t count = 0;
  sample_check(furrow_matrix_load(&matrix, folder, NULL, &err), &err);
  for (size_t i = 0; i < row_count; i++)
    for (int64_t c = first; c < end; c++) {
      if (!sample_has(&small, rows[i], c)) continue;
      assert_true(furrow_matrix_get(matrix, rows[i], c) == (double)sample_value(&small, rows[i], c));
      count++;
    }
  assert_true(count > 0);
  assert_int_equal(furrow_matrix_count(matrix), count);
  furrow_matrix_free(matrix);
}

static void partitions_are_chosen(void **state) {
  (void)state;
  static const int32_t rows[] = {0, 1, 2}, middle[] = {3, 2, 4};
  furrow_model_convert_params params;
  param_parts parts;
  save_small("ColIdValueTextRowFormat", "old");
  convert_params_init(&params, &parts);
  parts.selection.part_ids = middle;
  parts.selection.part_count = 3;
  sample_convert("old", "three", &params, NULL);
  expect_range("three", rows, 3, 14, 35); /* partitions have 7 columns each */
  parts.selection.end_col = 30;
  sample_convert("old", "cut", &params, NULL);
  expect_range("cut", rows, 3, 14, 30);
  parts.selection.rows = rows + 1;
  parts.selection.row_count = 1;
  parts.selection.end_col = INT64_MAX;
  sample_convert("old", "row", &params, NULL);
  expect_range("row", rows + 1, 1, 14, 35);
}

/* Columns and rows that are not there; blocks of rows of which none is chosen are left out. */
static void what_is_chosen_must_be_there(void **state) {
  (void)state;
  static const int32_t last[] = {2};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_matrix_meta *meta = NULL;
  sample_spec(&spec, &small, "ColIdValueText", sample_row_type(small.type, 3));
  spec.block_rows = 2;
  spec.block_cols = 30;
  sample_save(&small, &spec, "old", false);
  convert_params_init(&params, &parts);
  parts.selection.first_col = 50;
  expect_refused(&params, FURROW_E_NOT_FOUND, "the matrix has none of the chosen columns");
  parts.selection.first_col = -9;
  parts.selection.end_col = 0;
  expect_refused(&params, FURROW_E_NOT_FOUND, "the matrix has none of the chosen columns");
  convert_params_init(&params, &parts);
  parts.selection.rows = last;
  expect_refused(&params, FURROW_E_NOT_FOUND, "none of the chosen rows is saved");
  parts.selection.row_count = 1;
  sample_convert("old", "new", &params, NULL);
  expect_range("new", last, 1, 0, 50);
  assert_int_equal(furrow_matrix_meta_load(&meta, "new", NULL, NULL), FURROW_OK);
  assert_int_equal(meta->part_count, 2);
  assert_int_equal(meta->parts[0].part_id, 2); /* it keeps its id */
  furrow_matrix_meta_free(meta);
}

/* The grid that is there already, its options, and files of another size. */
static void a_grid_that_is_there(void **state) {
  (void)state;
  static const furrow_matrix_option option = {"matrix.hogwild", "true"};
  furrow_matrix_spec spec;
  furrow_model_convert_params params;
  param_parts parts;
  furrow_matrix_meta *meta = NULL;
  sample_spec(&spec, &small, "ColIdValueTextRowFormat", sample_row_type(small.type, 3));
  spec.block_cols = 7;
  spec.servers = 2;
  spec.parts_per_file = 2;
  spec.options = &option;
  spec.option_count = 1;
  sample_save(&small, &spec, "old", false);
  convert_params_init(&params, &parts);
  params.part_cols = 7;
  params.part_rows = 3;
  sample_convert("old", "same", &params, NULL);
  golden_expect_same("same", "old");
  params.part_rows = 2; /* and all else as it was */
  sample_convert("old", "rows", &params, NULL);
  sample_expect(&small, "rows", false);
  params.part_rows = 0;
  params.part_cols = 9;
  sample_convert("old", "cols", &params, NULL);
  sample_expect(&small, "cols", false);
  assert_int_equal(furrow_matrix_meta_load(&meta, "cols", NULL, NULL), FURROW_OK);
  assert_string_equal(furrow_matrix_meta_option(meta, "matrix.hogwild"), "true");
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.end"), "50");
  furrow_matrix_meta_free(meta);
  convert_params_init(&params, &parts);
  params.servers = 8;
  sample_convert("old", "servers", &params, NULL); /* a file for each */
  assert_int_equal(test_entries("servers"), 1 + 8);
  params.servers = 0;
  params.parts_per_file = 3;
  sample_convert("old", "files", &params, NULL);
  sample_expect(&small, "files", false);
  assert_int_equal(furrow_matrix_meta_load(&meta, "files", NULL, NULL), FURROW_OK);
  for (size_t i = 0; i < meta->part_count; i++) {
    size_t together = 0;
    for (size_t k = 0; k < meta->part_count; k++)
      together += strcmp(meta->parts[i].file_name, meta->parts[k].file_name) == 0;
    assert_in_range(together, 1, 3);
  }
  furrow_matrix_meta_free(meta);
}

/* Parameters that repeat what the source has change nothing: a copy. */
static void the_same_in_other_words(void **state) {
  (void)state;
  furrow_model_convert_params params;
  param_parts parts;
  save_small("ColIdValueTextRowFormat", "old");
  convert_params_init(&params, &parts);
  parts.write.separator = ",";
  parts.write.meta_name = "_meta";
  sample_convert("old", "a", &params, NULL);
  golden_expect_same("a", "old");
  params.format = "ColIdValueBinary";
  sample_convert("old", "binary", &params, NULL);
  params.format = NULL;
  parts.write.separator = ";"; /* there is none to change */
  sample_convert("binary", "b", &params, NULL);
  golden_expect_same("b", "binary");
  convert_params_init(&params, &parts);
  parts.source.format = "ColIdValueText";
  sample_convert("old", "c", &params, NULL);
  golden_expect_same("c", "old");
  convert_params_init(&params, &parts);
  parts.source.row_type = sample_row_type(small.type, 3);
  sample_convert("old", "d", &params, NULL);
  golden_expect_same("d", "old");
}

/* ---- what servers wrote ---- */

/* Replaces the metadata by what one server would have written. */
static void make_psmeta(const char *folder) {
  static meta_bytes m;
  char path[TEST_PATH];
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_load(&meta, folder, NULL, NULL), FURROW_OK);
  m.size = 0;
  meta_put(&m, (uint64_t)meta->matrix_id, 4);
  meta_put(&m, meta->part_count, 4);
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *p = &meta->parts[i];
    const int32_t numbers[] = {p->part_id, p->start_row, p->end_row}, saved[] = {p->save_row_num, p->save_col_num};
    for (size_t k = 0; k < 3; k++) meta_put(&m, (uint64_t)numbers[k], 4);
    meta_put(&m, (uint64_t)p->start_col, 8);
    meta_put(&m, (uint64_t)p->end_col, 8);
    meta_put(&m, (uint64_t)p->nnz, 8);
    for (size_t k = 0; k < 2; k++) meta_put(&m, (uint64_t)saved[k], 4);
    meta_put(&m, (uint64_t)p->save_col_elem_num, 4);
    meta_put_text(&m, p->file_name);
    meta_put(&m, (uint64_t)p->offset, 8);
    meta_put(&m, (uint64_t)p->length, 8);
    meta_put(&m, p->row_count, 4);
    for (size_t r = 0; r < p->row_count; r++) {
      meta_put(&m, (uint64_t)p->rows[r].row_id, 4);
      meta_put(&m, (uint64_t)p->rows[r].offset, 8);
      meta_put(&m, (uint64_t)p->rows[r].element_num, 4);
      meta_put(&m, (uint64_t)p->rows[r].save_type, 4);
    }
  }
  furrow_matrix_meta_free(meta);
  assert_int_equal(unlink(test_path(path, folder, "_meta")), 0);
  assert_true(test_write_file(test_path(path, folder, "psmeta"), m.bytes, m.size));
}

static void metadata_of_servers(void **state) {
  (void)state;
  for (int hash = 0; hash < 2; hash++) {
    furrow_matrix_spec spec;
    furrow_model_convert_params params;
    param_parts parts;
    furrow_matrix_meta *meta = NULL;
    sample_spec(&spec, &small, "RowIdColIdValueText", sample_row_type(small.type, 3));
    if (hash) spec.hash_parts = 3;
    if (!hash) spec.block_cols = 20;
    sample_save(&small, &spec, "old", false);
    make_psmeta("old");
    convert_params_init(&params, &parts);
    expect_refused(&params, FURROW_E_ARGUMENT, "the metadata does not name the format");
    parts.source.format = "RowIdColIdValueText";
    parts.source.row_type = sample_row_type(small.type, 3);
    params.format = "ColIdValueBinary";
    sample_convert("old", "same", &params, NULL);
    sample_expect(&small, "same", false);
    assert_int_equal(furrow_matrix_meta_load(&meta, "same", NULL, NULL), FURROW_OK);
    assert_string_equal(meta->matrix_name, "old"); /* that of the folder */
    assert_int_equal(meta->row, 3);
    assert_int_equal(meta->col, hash ? -1 : 50);
    assert_int_equal(meta->block_row, hash ? -1 : 3);
    assert_int_equal(meta->block_col, hash ? -1 : 20);
    furrow_matrix_meta_free(meta);
    params.part_cols = 8;
    if (hash) expect_refused(&params, FURROW_E_ARGUMENT, "cols");
    if (!hash) sample_convert("old", "other", &params, NULL);
    if (!hash) sample_expect(&small, "other", false);
    assert_true(test_remove_dir("old"));
    assert_true(test_remove_dir("same"));
  }
}

/* Sparse partitions that lie outside of the range that the options give: the matrix has their columns, too. */
static void more_columns_than_the_options_say(void **state) {
  (void)state;
  furrow_model_convert_params params;
  save_small("ColIdValueTextRowFormat", "old");
  made_edit_meta("old", "range.end\":\"50\"", "range.end\":\"40\"", 0);
  made_edit_meta("old", "range.start\":\"0\"", "range.start\":\"9\"", 0);
  furrow_model_convert_params_init(&params);
  params.part_cols = 11;
  sample_convert("old", "new", &params, NULL);
  sample_expect(&small, "new", false);
  lie_about_columns("old", 2, INT64_MIN, INT64_MAX, 0);
  expect_refused(&params, FURROW_E_ARGUMENT, "cols");
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(all_formats_of_all_types),
      IN_DIR(partitions_there_and_back),
      IN_DIR(columns_that_rows_do_not_share),
      IN_DIR(row_types_change_where_they_can),
      IN_DIR(what_does_not_fit_is_named),
      IN_DIR(rows_and_columns_are_chosen),
      IN_DIR(files_and_metadata_change_alone),
      IN_DIR(a_model_with_its_files),
      IN_DIR(what_exists_is_replaced_only_if_it_is_a_model),
      IN_DIR(what_would_be_lost_is_named),
      IN_DIR(a_model_is_replaced_with_its_files),
      IN_DIR(what_is_broken_is_refused),
      IN_DIR(memory_is_a_limit),
      IN_DIR(progress_is_told_and_can_end_it),
      IN_DIR(large_partitions_can_be_ended),
      IN_DIR(a_width_that_lies_is_refused),
      IN_DIR(metadata_has_one_of_two_names),
      IN_DIR(separators_that_numbers_consist_of),
      IN_DIR(angel_bytes_alone_rewrite),
      IN_DIR(columns_outside_of_the_range),
      IN_DIR(parameters_that_are_wrong),
      IN_DIR(partitions_are_chosen),
      IN_DIR(what_is_chosen_must_be_there),
      IN_DIR(a_grid_that_is_there),
      IN_DIR(the_same_in_other_words),
      IN_DIR(metadata_of_servers),
      IN_DIR(more_columns_than_the_options_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
