/* tests/unit/model/test_matrix_writer.c: writing panel by panel: what is accepted, in which order, and what becomes of
 * it. */
#include <math.h>

#include "model/format/matrix_format.h"
#include "support/golden_case.h"
#include "support/own_dir.h"
#include "support/sample_matrix.h"

int fsync(int fd) { /* test_atomic_dir.c has the syncing */
  (void)fd;
  return 0;
}

static furrow_matrix_writer *open_writer(const char *format, int32_t row_type, const furrow_matrix_spec *given) {
  furrow_matrix_writer *writer = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_spec spec;
  furrow_error err;
  furrow_matrix_spec_init(&spec);
  if (given) spec = *given;
  spec.name = "w";
  spec.format = format;
  spec.row_type = row_type;
  if (!given) {
    spec.rows = 3;
    spec.cols = 20;
    spec.block_cols = 10;
  }
  sample_check(furrow_matrix_plan(&plan, &spec, &err), &err);
  sample_check(furrow_matrix_writer_open(&writer, "w", plan, NULL, &err), &err);
  furrow_matrix_meta_free(plan);
  return writer;
}

/* Puts columns first … first+count-1 of a row, values 1, 2 …, as floats. */
static furrow_status put_run(furrow_matrix_writer *writer, int32_t row, int64_t first, size_t count) {
  float values[64];
  furrow_error err = {0};
  for (size_t i = 0; i < count; i++) values[i] = (float)(i + 1);
  const furrow_panel panel = {
      .rows = 1, .row_ids = &row, .cols = count, .first_col = first, .type = FURROW_ELEMENT_F32, .values.f32 = values};
  furrow_status status = furrow_matrix_writer_write_panel(writer, &panel, &err);
  if (status != FURROW_OK) {
    assert_int_equal(err.status, status);
    assert_string_equal(err.file, "w");
  }
  return status;
}

static furrow_status begin(furrow_matrix_writer *writer, size_t part) {
  furrow_error err;
  return furrow_matrix_writer_begin_partition(writer, part, &err);
}

static void commit(furrow_matrix_writer *writer) {
  furrow_error err;
  sample_check(furrow_matrix_writer_commit(writer, &err), &err);
  furrow_matrix_writer_close(writer);
}

static void expect_text(const char *path, const char *text) {
  size_t size;
  char *bytes = golden_read("w", path, &size);
  assert_non_null(bytes);
  assert_string_equal(bytes, text);
  free(bytes);
}

static void rows_come_one_after_the_other(void **state) {
  (void)state;
  furrow_matrix_writer *writer = open_writer("RowIdColIdValueText", 10, NULL);
  assert_int_equal(put_run(writer, 0, 0, 1), FURROW_E_STATE); /* no partition yet */
  assert_int_equal(begin(writer, 7), FURROW_E_ARGUMENT);
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(put_run(writer, 1, 3, 2), FURROW_OK);
  assert_int_equal(put_run(writer, 1, 4, 1), FURROW_E_STATE); /* column 4 again */
  assert_int_equal(put_run(writer, 1, 7, 1), FURROW_OK);
  assert_int_equal(put_run(writer, 1, 9, 2), FURROW_E_RANGE); /* column 10 is the next partition's */
  assert_int_equal(put_run(writer, 2, -1, 1), FURROW_E_RANGE);
  assert_int_equal(put_run(writer, 5, 0, 1), FURROW_E_STATE); /* no such row */
  assert_int_equal(put_run(writer, 0, 0, 0), FURROW_OK);
  assert_int_equal(put_run(writer, 0, 0, 1), FURROW_OK);
  assert_int_equal(put_run(writer, 1, 8, 1), FURROW_E_STATE); /* row 1 was left */
  assert_int_equal(begin(writer, 0), FURROW_E_STATE);         /* was written */
  assert_int_equal(begin(writer, 1), FURROW_OK);
  assert_int_equal(put_run(writer, 2, 19, 1), FURROW_OK);
  commit(writer);
  expect_text("0", "1,3,1.0\n1,4,2.0\n1,7,1.0\n0,0,1.0\n2,19,1.0\n");
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_load(&meta, "w", NULL, NULL), FURROW_OK);
  assert_int_equal(meta->parts[0].length, 32);
  assert_int_equal(meta->parts[1].offset, 32);
  assert_int_equal(meta->parts[0].nnz, 4);
  assert_int_equal(meta->parts[0].save_row_num, 3);
  assert_int_equal(meta->parts[1].rows[0].offset, 32);
  assert_int_equal(meta->parts[0].rows[1].element_num, 3);
  assert_int_equal(meta->parts[1].rows[2].element_num, 1);
  furrow_matrix_meta_free(meta);
}

static void a_refused_panel_spoils_nothing(void **state) {
  (void)state;
  furrow_matrix_writer *writer = open_writer("ColIdValueText", 10, NULL);
  const int64_t wrong[] = {1, 5, 5};
  const float values[] = {1, 2, 3};
  const int32_t row = 0;
  const furrow_panel panel = {
      .rows = 1, .row_ids = &row, .cols = 3, .col_ids = wrong, .type = FURROW_ELEMENT_F32, .values.f32 = values};
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_E_STATE);
  assert_int_equal(put_run(writer, 0, 1, 1), FURROW_OK);
  commit(writer);
  expect_text("0", "1,1.0\n");
}

static void columns_come_with_all_rows(void **state) {
  (void)state;
  furrow_matrix_writer *writer = open_writer("TextColumn", 10, NULL);
  const int32_t rows[] = {0, 1, 2}, some[] = {0, 2}, others[] = {0, 1, 3};
  const int64_t cols[] = {2, 5};
  const double values[] = {1, 2, 3, 4, 5, 6};
  furrow_panel panel = {
      .rows = 3, .row_ids = rows, .cols = 2, .col_ids = cols, .type = FURROW_ELEMENT_F64, .values.f64 = values};
  assert_int_equal(begin(writer, 1), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_E_RANGE);
  assert_int_equal(begin(writer, 0), FURROW_E_STATE); /* both are in one file, and it is behind it */
  furrow_matrix_writer_close(writer);
  assert_int_equal(access("w", F_OK), -1);
  writer = open_writer("TextColumn", 10, NULL);
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_OK); /* doubles become floats */
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_E_STATE);
  panel.rows = 2;
  panel.row_ids = some;
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_E_STATE);
  panel.rows = 3;
  panel.row_ids = others;
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_E_STATE);
  commit(writer);
  expect_text("0", "2,1.0,2.0,3.0\n5,4.0,5.0,6.0\n");
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_load(&meta, "w", NULL, NULL), FURROW_OK);
  assert_int_equal(meta->parts[0].save_col_num, 2);
  assert_int_equal(meta->parts[0].save_col_elem_num, 3);
  assert_int_equal(meta->parts[1].save_col_elem_num, 3);
  assert_int_equal(meta->parts[0].rows[2].element_num, 2);
  assert_int_equal(meta->parts[0].rows[2].offset, -1);
  furrow_matrix_meta_free(meta);
}

/* A panel of several rows is taken apart for a row format. */
static void wide_panels_are_split(void **state) {
  (void)state;
  furrow_matrix_writer *writer = open_writer("RowIdColIdValueText", 24, NULL);
  const int32_t rows[] = {0, 2};
  const float values[] = {1, 2, 3, 4};
  const furrow_panel panel = {
      .rows = 2, .row_ids = rows, .cols = 2, .first_col = 3, .type = FURROW_ELEMENT_F32, .values.f32 = values};
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_OK);
  commit(writer);
  expect_text("0", "0,3,1\n0,4,3\n2,3,2\n2,4,4\n");
}

static void a_dense_row_wants_every_column(void **state) {
  (void)state;
  furrow_error err;
  furrow_matrix_writer *writer = open_writer("ValueText", 7, NULL);
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(put_run(writer, 0, 1, 3), FURROW_E_STATE);
  assert_int_equal(put_run(writer, 0, 0, 5), FURROW_OK);
  assert_int_equal(put_run(writer, 0, 6, 2), FURROW_E_STATE);
  assert_int_equal(put_run(writer, 1, 0, 10), FURROW_E_STATE); /* row 0 is not complete */
  assert_int_equal(put_run(writer, 0, 5, 5), FURROW_OK);
  assert_int_equal(put_run(writer, 1, 0, 10), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_commit(writer, &err), FURROW_E_STATE); /* row 2 is missing */
  assert_int_equal(furrow_matrix_writer_commit(writer, &err), FURROW_E_STATE);
  furrow_matrix_writer_close(writer);
  assert_int_equal(access("w", F_OK), -1);
}

static void hash_partitions_have_their_columns(void **state) {
  (void)state;
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.rows = 1;
  spec.cols = -1;
  spec.hash_parts = 3;
  spec.servers = 3;
  furrow_matrix_writer *writer = open_writer("ColIdValueText", 12, &spec);
  assert_int_equal(begin(writer, 1), FURROW_OK);
  assert_int_equal(put_run(writer, 0, 4, 1), FURROW_OK);
  assert_int_equal(put_run(writer, 0, 5, 1), FURROW_E_RANGE);
  assert_int_equal(begin(writer, 0), FURROW_OK); /* another file: any order */
  assert_int_equal(put_run(writer, 0, 6, 1), FURROW_OK);
  commit(writer);
  expect_text("1", "4,1.0\n");
  expect_text("0", "6,1.0\n");
  expect_text("2", ""); /* there, though empty */
}

static void what_cannot_be_written_is_refused(void **state) {
  (void)state;
  const sample_matrix s = {2, 10, FURROW_ELEMENT_F32, true, true, 1};
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_spec spec;
  furrow_matrix_writer *writer = NULL;
  furrow_matrix_write_params params;
  furrow_error err;
  sample_spec(&spec, &s, "SnapshotFormat", 7);
  assert_int_equal(furrow_matrix_plan(&plan, &spec, &err), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_open(&writer, "w", plan, NULL, &err), FURROW_E_UNSUPPORTED);
  furrow_matrix_meta_free(plan);
  sample_spec(&spec, &s, "ValueText", 7);
  assert_int_equal(furrow_matrix_plan(&plan, &spec, &err), FURROW_OK);
  furrow_matrix_write_params_init(&params);
  params.separator = "";
  assert_int_equal(furrow_matrix_writer_open(&writer, "w", plan, &params, &err), FURROW_E_ARGUMENT);
  furrow_matrix_write_params_init(&params);
  params.meta_name = "a/b";
  assert_int_equal(furrow_matrix_writer_open(&writer, "w", plan, &params, &err), FURROW_E_ARGUMENT);
  plan->parts[0].file_name = "../0";
  assert_int_equal(furrow_matrix_writer_open(&writer, "w", plan, NULL, &err), FURROW_E_ARGUMENT);
  plan->parts[0].file_name = "_meta";
  assert_int_equal(furrow_matrix_writer_open(&writer, "w", plan, NULL, &err), FURROW_E_ARGUMENT);
  plan->parts[0].file_name = "0";
  plan->format_class_name = NULL;
  assert_int_equal(furrow_matrix_writer_open(&writer, "w", plan, NULL, &err), FURROW_E_ARGUMENT);
  assert_null(writer);
  furrow_matrix_meta_free(plan);
  assert_int_equal(golden_file_count("."), 0);
}

/* ---- from memory ---- */

static void elements_outside_of_the_plan_are_named(void **state) {
  (void)state;
  const sample_matrix s = {3, 30, FURROW_ELEMENT_F32, true, true, 1};
  furrow_matrix *matrix = sample_make_matrix(&s);
  furrow_matrix_writer *writer = open_writer("ColIdValueText", 10, NULL); /* 20 columns */
  furrow_error err;
  assert_int_equal(furrow_matrix_writer_write_matrix(writer, matrix, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "row 0, column 20"));
  assert_int_equal(furrow_matrix_writer_commit(writer, &err), FURROW_E_RANGE);
  furrow_matrix_writer_close(writer);
  writer = open_writer("ColIdValueText", 10, NULL);
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_write_matrix(writer, matrix, &err), FURROW_E_STATE);
  furrow_matrix_writer_close(writer);
  furrow_matrix_free(matrix);
  assert_int_equal(golden_file_count("."), 0);
}

/* Rows and columns from panels of any shape, all formats, pieces of many sizes, any number of threads. */
static void matrices_come_back(void **state) {
  (void)state;
  static const int kinds[] = {0, 3, 5};
  for (size_t k = 0; k < 24; k++) {
    const furrow_element_type type = (furrow_element_type)(k % 4);
    const sample_matrix s = {5, k < 12 ? 70 : 9000, type, k % 3 == 0, k % 2 == 0, k};
    furrow_matrix *matrix = sample_make_matrix(&s);
    for (size_t f = 0; f < SAMPLE_FORMATS; f++) {
      furrow_matrix_meta *plan = NULL;
      furrow_matrix_spec spec;
      furrow_matrix_write_params params;
      furrow_error err;
      if (!s.dense && strncmp(sample_formats[f], "Value", 5) == 0) continue;
      sample_spec(&spec, &s, sample_formats[f], sample_row_type(type, kinds[k % 3]));
      spec.block_cols = k % 5 == 0 ? s.cols : s.cols / 3;
      spec.block_rows = k % 7 == 0 ? 2 : 5;
      sample_check(furrow_matrix_plan(&plan, &spec, &err), &err);
      furrow_matrix_write_params_init(&params);
      for (params.threads = 1; params.threads <= 3; params.threads += 2) {
        params.overwrite = params.threads > 1;
        sample_check(furrow_matrix_save(matrix, "w", plan, &params, &err), &err);
        if (params.threads == 1) assert_int_equal(rename("w", "one"), 0);
        if (params.threads == 1) assert_int_equal(mkdir("w", 0755), 0);
      }
      golden_expect_same("w", "one");
      if (k < 12) sample_expect(&s, "w", (plan->parts[0].row_count > 1 && !s.dense));
      furrow_matrix_meta_free(plan);
      /* what was read back has wide panels in column formats: written again, it is the same */
      furrow_matrix *again = NULL;
      assert_int_equal(furrow_matrix_meta_load(&plan, "w", NULL, &err), FURROW_OK);
      sample_check(furrow_matrix_load(&again, "w", NULL, &err), &err);
      sample_check(furrow_matrix_save(again, "second", plan, NULL, &err), &err);
      golden_expect_same("second", "one");
      furrow_matrix_meta_free(plan);
      furrow_matrix_free(again);
      assert_true(test_remove_dir("w") && test_remove_dir("one") && test_remove_dir("second"));
    }
    furrow_matrix_free(matrix);
  }
}

static void models_are_complete_or_not_there(void **state) {
  (void)state;
  const sample_matrix s = {2, 10, FURROW_ELEMENT_F32, true, true, 1};
  furrow_matrix *matrix = sample_make_matrix(&s);
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_spec spec;
  furrow_model_writer *model = NULL;
  furrow_matrix_writer *a = NULL, *b = NULL;
  furrow_error err;
  sample_spec(&spec, &s, "ValueText", 7);
  sample_check(furrow_matrix_plan(&plan, &spec, &err), &err);
  sample_check(furrow_model_writer_open(&model, "model", NULL, &err), &err);
  sample_check(furrow_model_writer_write_file(model, "graph.json", "{}", 2, &err), &err);
  assert_int_equal(furrow_model_writer_write_file(model, "graph.json", "{}", 2, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_model_writer_write_file(model, "a/b", "", 0, &err), FURROW_E_ARGUMENT);
  sample_check(furrow_matrix_writer_open_in(&a, model, plan, NULL, &err), &err);
  assert_int_equal(furrow_matrix_writer_open_in(&b, model, plan, NULL, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_model_writer_commit(model, &err), FURROW_E_STATE); /* a is at work */
  sample_check(furrow_matrix_writer_write_matrix(a, matrix, &err), &err);
  sample_check(furrow_matrix_writer_commit(a, &err), &err);
  furrow_matrix_writer_close(a);
  plan->matrix_name = "left";
  sample_check(furrow_matrix_writer_open_in(&b, model, plan, NULL, &err), &err);
  furrow_matrix_writer_close(b); /* not committed: not there */
  plan->matrix_name = "..";
  assert_int_equal(furrow_matrix_writer_open_in(&b, model, plan, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(access("model", F_OK), -1);
  sample_check(furrow_model_writer_commit(model, &err), &err);
  assert_int_equal(furrow_model_writer_commit(model, &err), FURROW_E_STATE);
  furrow_model_writer_close(model);
  assert_int_equal(golden_file_count("model"), 2);
  sample_expect(&s, "model/sample", false);
  assert_int_equal(furrow_model_writer_open(&model, "model", NULL, &err), FURROW_E_EXISTS);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
}

/* ---- elements of another type ---- */

static bool fits(double x, furrow_element_type to) {
  int64_t out;
  return fw_elements_copy(&out, 1, to, &x, 1, FURROW_ELEMENT_F64, 1) == 1;
}

static void elements_fit_or_do_not(void **state) {
  (void)state;
  assert_true(fits(2147483647.0, FURROW_ELEMENT_I32) && !fits(2147483648.0, FURROW_ELEMENT_I32));
  assert_true(fits(-2147483648.0, FURROW_ELEMENT_I32) && !fits(-2147483649.0, FURROW_ELEMENT_I32));
  assert_true(!fits(0.5, FURROW_ELEMENT_I64) && fits(-0.0, FURROW_ELEMENT_I64));
  assert_true(!fits(NAN, FURROW_ELEMENT_I64) && !fits(INFINITY, FURROW_ELEMENT_I32));
  assert_true(fits(NAN, FURROW_ELEMENT_F32) && fits(-INFINITY, FURROW_ELEMENT_F32));
  assert_true(fits(3.4028235e38, FURROW_ELEMENT_F32) && !fits(3.5e38, FURROW_ELEMENT_F32));
  assert_true(fits(-0x1p63, FURROW_ELEMENT_I64) && !fits(-0x1.0000000000001p63, FURROW_ELEMENT_I64));
  assert_true(fits(0x1.fffffffffffffp62, FURROW_ELEMENT_I64) && !fits(0x1p63, FURROW_ELEMENT_I64));
  assert_true(!fits(-INFINITY, FURROW_ELEMENT_I64) && !fits(-INFINITY, FURROW_ELEMENT_I32));
  for (int from = 0; from < 4; from++)
    for (int to = 0; to < 4; to++) {
      int64_t source[6], target[12], back[6];
      memset(target, 0, sizeof target);
      for (size_t i = 0; i < 6; i++) sample_put(source, (furrow_element_type)from, i, (int64_t)i * 7 - 9);
      assert_int_equal(fw_elements_copy(target, 2, (furrow_element_type)to, source, 1, (furrow_element_type)from, 6),
                       6);
      assert_int_equal(fw_elements_copy(back, 1, (furrow_element_type)from, target, 2, (furrow_element_type)to, 6), 6);
      assert_memory_equal(back, source, 6 * furrow_element_size((furrow_element_type)from));
    }
  const int64_t large[] = {INT32_MIN, INT32_MAX, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1};
  int32_t small[4];
  assert_int_equal(fw_elements_copy(small, 1, FURROW_ELEMENT_I32, large, 1, FURROW_ELEMENT_I64, 4), 2);
  assert_true(small[0] == INT32_MIN && small[1] == INT32_MAX);
  assert_int_equal(fw_elements_copy(small, 1, FURROW_ELEMENT_I32, large + 3, 1, FURROW_ELEMENT_I64, 1), 0);
  assert_int_equal(fw_elements_copy(small, 1, FURROW_ELEMENT_I32, large, 1, FURROW_ELEMENT_I64, 0), 0);
}

/* ---- what does not fit ---- */

static void expect_panel_refused(furrow_matrix_writer *writer, const furrow_panel *panel, furrow_status wanted,
                                 const char *message) {
  furrow_error err = {0};
  assert_int_equal(furrow_matrix_writer_write_panel(writer, panel, &err), wanted);
  assert_int_equal(err.status, wanted);
  assert_string_equal(err.file, "w");
  if (!strstr(err.message, message)) fail_msg("%s, not %s", err.message, message);
}

/* Columns behind the last one that can be counted, or of more bits than the row type has. */
static void columns_that_do_not_fit(void **state) {
  (void)state;
  static const int64_t far[] = {4, (int64_t)1 << 40}, low[] = {INT64_MIN + 7, 4};
  static const float values[] = {1, 2};
  static const int32_t row = 0;
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.rows = 1;
  spec.cols = -1;
  spec.hash_parts = 1;
  furrow_panel panel = {
      .rows = 1, .row_ids = &row, .cols = 2, .first_col = INT64_MAX, .type = FURROW_ELEMENT_F32, .values.f32 = values};
  furrow_matrix_writer *writer = open_writer("ColIdValueText", 10, &spec);
  assert_int_equal(begin(writer, 0), FURROW_OK);
  expect_panel_refused(writer, &panel, FURROW_E_RANGE, "too many columns follow it");
  panel.col_ids = far;
  expect_panel_refused(writer, &panel, FURROW_E_RANGE, "column 1099511627776: does not fit 32 bits");
  panel.col_ids = low;
  expect_panel_refused(writer, &panel, FURROW_E_RANGE, "does not fit 32 bits");
  panel.col_ids = NULL;
  panel.first_col = 3;
  assert_int_equal(furrow_matrix_writer_write_panel(writer, &panel, NULL), FURROW_OK); /* nothing was spoilt */
  commit(writer);
  expect_text("0", "3,1.0\n4,2.0\n");
}

/* An element that the type does not have ends the writing: some of its panel is in the file by then. */
static void elements_that_do_not_fit(void **state) {
  (void)state;
  static const double values[] = {1, 2, 3, 0.5};
  static const int32_t rows[] = {0, 1, 2};
  static const char *const formats[] = {"ColIdValueText", "TextColumn"};
  for (int by_column = 0; by_column < 2; by_column++) {
    furrow_matrix_spec spec;
    furrow_error err;
    furrow_matrix_spec_init(&spec);
    spec.rows = 2;
    spec.cols = 20;
    furrow_panel panel = {
        .rows = 2, .row_ids = rows, .cols = 2, .first_col = 5, .type = FURROW_ELEMENT_F64, .values.f64 = values};
    furrow_matrix_writer *writer = open_writer(formats[by_column], 24, &spec);
    assert_int_equal(begin(writer, 0), FURROW_OK);
    if (by_column) {
      panel.rows = 1;
      expect_panel_refused(writer, &panel, FURROW_E_STATE, "a panel of a column format has all saved rows");
      panel.rows = 3;
      expect_panel_refused(writer, &panel, FURROW_E_STATE, "a panel of a column format has all saved rows");
      panel.rows = 2;
    }
    expect_panel_refused(writer, &panel, FURROW_E_RANGE, "row 1, column 6");
    panel.cols = 1;
    expect_panel_refused(writer, &panel, FURROW_E_RANGE, "row 1, column 6"); /* and so does all that follows */
    assert_int_equal(begin(writer, 0), FURROW_E_RANGE);
    assert_int_equal(furrow_matrix_writer_commit(writer, &err), FURROW_E_RANGE);
    furrow_matrix_writer_close(writer);
    assert_int_equal(golden_file_count("."), 0);
  }
}

/* The same from a matrix in memory, for rows and columns as files have them. */
static void elements_of_matrices_that_do_not_fit(void **state) {
  (void)state;
  static const double values[] = {1, 2, 3, 0.5, 5, 6};
  static const int64_t dense[] = {0, 1, 2}, sparse[] = {2, 5, 7}, far[] = {2, 5, (int64_t)1 << 40},
                       low[] = {-((int64_t)1 << 40), 5, 7};
  static const int32_t rows[] = {0, 1};
  static const struct {
    const char *format;
    int32_t row_type, hash_parts;
    const int64_t *cols;
    furrow_element_type type;
    const char *message;
  } cases[] = {
      {"ColIdValueText", 24, 0, sparse, FURROW_ELEMENT_F64, "row 1, column 5"},
      {"TextColumn", 24, 0, sparse, FURROW_ELEMENT_F64, "row 1, column 5"},
      {"RowIdColIdValueBinary", 24, 2, sparse, FURROW_ELEMENT_F64, "row 1, column 5"},
      {"BinaryColumn", 24, 2, sparse, FURROW_ELEMENT_F64, "row 1, column 5"},
      {"ValueText", 21, 0, dense, FURROW_ELEMENT_F64, "row 1, column 1"},
      {"BinaryColumn", 21, 0, dense, FURROW_ELEMENT_F64, "row 1, column 1"},
      {"ColIdValueText", 3, 2, far, FURROW_ELEMENT_F64, "column 1099511627776: does not fit 32 bits"},
      {"TextColumn", 3, 2, low, FURROW_ELEMENT_F64, "column -1099511627776: does not fit 32 bits"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (unsigned threads = 1; threads < 3; threads++) {
      const furrow_panel panel = {
          .rows = 2, .row_ids = rows, .cols = 3, .col_ids = cases[i].cols, .type = cases[i].type, .values.f64 = values};
      furrow_matrix_spec spec;
      furrow_matrix_write_params params;
      furrow_matrix *matrix = NULL;
      furrow_matrix_meta *plan = NULL;
      furrow_error err = {0};
      furrow_matrix_spec_init(&spec);
      spec.name = "w";
      spec.format = cases[i].format;
      spec.row_type = cases[i].row_type;
      spec.rows = 2;
      spec.cols = cases[i].cols == dense ? 3 : 10;
      spec.hash_parts = cases[i].hash_parts;
      sample_check(furrow_matrix_create(&matrix, &panel, 1, &err), &err);
      sample_check(furrow_matrix_plan(&plan, &spec, &err), &err);
      furrow_matrix_write_params_init(&params);
      params.threads = threads;
      assert_int_equal(furrow_matrix_save(matrix, "w", plan, &params, &err), FURROW_E_RANGE);
      if (!strstr(err.message, cases[i].message)) fail_msg("case %zu: %s", i, err.message);
      assert_int_equal(furrow_matrix_save(matrix, "w", plan, &params, NULL), FURROW_E_RANGE);
      furrow_matrix_meta_free(plan);
      furrow_matrix_free(matrix);
      assert_int_equal(golden_file_count("."), 0);
    }
}

/* Plans that a caller has changed. */
static void plans_that_are_wrong(void **state) {
  (void)state;
  const sample_matrix s = {2, 10, FURROW_ELEMENT_F32, true, true, 1};
  furrow_matrix_spec spec;
  furrow_matrix_meta *plan = NULL;
  furrow_matrix *matrix = sample_make_matrix(&s);
  furrow_error err;
#define REFUSED(change, wanted, words)                                         \
  sample_spec(&spec, &s, "ColIdValueText", 7);                                 \
  spec.block_cols = 5;                                                         \
  sample_check(furrow_matrix_plan(&plan, &spec, &err), &err);                  \
  change;                                                                      \
  assert_int_equal(furrow_matrix_save(matrix, "w", plan, NULL, &err), wanted); \
  if (!strstr(err.message, words)) fail_msg("%s, not %s", err.message, words); \
  assert_int_equal(furrow_matrix_save(matrix, "w", plan, NULL, NULL), wanted); \
  furrow_matrix_meta_free(plan);                                               \
  assert_int_equal(golden_file_count("."), 0)
  REFUSED(plan->matrix_name = NULL, FURROW_E_ARGUMENT, "the plan has no matrix name");
  REFUSED(plan->parts[1].part_id = 0, FURROW_E_ARGUMENT, "the plan's partitions do not ascend");
  REFUSED(plan->parts[0].end_col = 0, FURROW_E_ARGUMENT, "a dense row type cannot have hash partitions");
  REFUSED(plan->parts[1].end_col = 4, FURROW_E_ARGUMENT, "the plan has a partition that ends before it starts");
  REFUSED(plan->parts[1].end_col = (int64_t)1 << 40, FURROW_E_RANGE, "more columns than Angel's metadata can count");
  REFUSED(plan->row_type = 99, FURROW_E_ARGUMENT, "the plan has no row type");
  REFUSED(plan->row_type = 29, FURROW_E_UNSUPPORTED, "rows of Java objects are not written");
  REFUSED(plan->parts[1].start_col = 3, FURROW_E_ARGUMENT, "partitions of the plan overlap");
  REFUSED(plan->parts[0].row_count = 1, FURROW_E_RANGE, "row 1, column 0: not in any partition of the plan");
#undef REFUSED
  furrow_matrix_free(matrix);
}

static void what_is_complete_stays_so(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_matrix_writer *writer = open_writer("ColIdValueText", 10, NULL);
  assert_int_equal(begin(writer, 0), FURROW_OK);
  assert_int_equal(put_run(writer, 0, 3, 1), FURROW_OK);
  assert_int_equal(furrow_matrix_writer_commit(writer, &err), FURROW_OK);
  assert_int_equal(begin(writer, 1), FURROW_E_STATE);
  assert_int_equal(furrow_matrix_writer_commit(writer, &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, "the matrix is complete already"));
  furrow_matrix_writer_close(writer);
  expect_text("0", "3,1.0\n");
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(rows_come_one_after_the_other),
      IN_DIR(a_refused_panel_spoils_nothing),
      IN_DIR(columns_come_with_all_rows),
      IN_DIR(wide_panels_are_split),
      IN_DIR(a_dense_row_wants_every_column),
      IN_DIR(hash_partitions_have_their_columns),
      IN_DIR(what_cannot_be_written_is_refused),
      IN_DIR(elements_outside_of_the_plan_are_named),
      IN_DIR(matrices_come_back),
      IN_DIR(models_are_complete_or_not_there),
      IN_DIR(columns_that_do_not_fit),
      IN_DIR(elements_that_do_not_fit),
      IN_DIR(elements_of_matrices_that_do_not_fit),
      IN_DIR(plans_that_are_wrong),
      IN_DIR(what_is_complete_stays_so),
      cmocka_unit_test(elements_fit_or_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
