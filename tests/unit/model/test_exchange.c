/* tests/unit/model/test_exchange.c: export and import: every format, both axes, all row types come back as they were.
 */
#include <fcntl.h>
#include <math.h>

#include "base/endian.h"
#include "furrow/exchange.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/model_params.h"
#include "support/own_dir.h"

/* Thousands of files are written here; that they reach the disk is the matter of other tests. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

/* ---- Matrices ------------------------------------------------------------------------------------------- */

#define ROWS 3
#define COLS 11

static void set_element(void *values, furrow_element_type type, size_t i, double value) {
  switch (type) {
  case FURROW_ELEMENT_F64: ((double *)values)[i] = value; break;
  case FURROW_ELEMENT_F32: ((float *)values)[i] = (float)value; break;
  case FURROW_ELEMENT_I64: ((int64_t *)values)[i] = (int64_t)value; break;
  default: ((int32_t *)values)[i] = (int32_t)value;
  }
}

/* Values that every type has; reals get some that only they have. */
static double value_of(furrow_element_type type, size_t i) {
  const bool real = type == FURROW_ELEMENT_F32 || type == FURROW_ELEMENT_F64;
  static const double odd[] = {0.1f, -0.0, 1e-38f, 16777216, -3.25, 0};
  if (real && i == 5) return NAN;
  if (real && i == 7) return -INFINITY;
  return real ? (double)(float)(odd[i % 6] * (double)(1 + i / 6)) : (double)((int)i * 1001 - 5000);
}

static void good(furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK) return;
  char text[900];
  furrow_error_to_text(err, text, sizeof text);
  fail_msg("%s: %s", furrow_status_name(status), text);
}

typedef struct made {
  const char *format;
  int32_t row_type;
  bool holes;  /* columns 0, 3, 6 … instead of all */
  bool ragged; /* row 1 has no elements, row 2 fewer: row formats only */
  int32_t rows[ROWS];
  int64_t far; /* added to the last column */
} made;

/* A folder with such a matrix, written with this library's writer. */
static void make_matrix(const char *folder, const made *what) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(what->row_type);
  char values[ROWS][COLS * 8];
  int64_t cols[COLS];
  furrow_panel panels[ROWS];
  furrow_matrix *matrix = NULL;
  furrow_error err;
  for (size_t c = 0; c < COLS; c++) cols[c] = (int64_t)c * (what->holes ? 3 : 1) + (c == COLS - 1 ? what->far : 0);
  for (size_t r = 0; r < ROWS; r++) {
    for (size_t c = 0; c < COLS; c++) set_element(values[r], type->element, c, value_of(type->element, r * COLS + c));
    panels[r] = (furrow_panel){.rows = 1,
                               .row_ids = &what->rows[r],
                               .cols = what->ragged ? (r == 1 ? 0 : COLS - r) : COLS,
                               .col_ids = cols,
                               .type = type->element,
                               .values = {values[r]}};
  }
  good(furrow_matrix_create(&matrix, panels, ROWS, &err), &err);
  furrow_matrix_spec spec;
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_write_params write;
  furrow_matrix_spec_init(&spec);
  furrow_matrix_write_params_init(&write);
  write.overwrite = true;
  spec.name = folder;
  spec.matrix_id = 7;
  spec.format = what->format;
  spec.row_type = what->row_type;
  spec.rows = what->rows[ROWS - 1] + 2;
  spec.saved_rows = what->rows;
  spec.saved_row_count = ROWS;
  spec.cols = cols[COLS - 1] + 1;
  spec.block_cols = what->far ? 0 : 4; /* several partitions */
  good(furrow_matrix_plan(&plan, &spec, &err), &err);
  good(furrow_matrix_save(matrix, folder, plan, &write, &err), &err);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
}

static char *read_text(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = malloc(1 << 20);
  *size = fread(text, 1, (1 << 20) - 1, file);
  text[*size] = 0;
  fclose(file);
  return text;
}

static furrow_model_export_params exporting(furrow_axis axis) {
  furrow_model_export_params p;
  furrow_model_export_params_init(&p);
  p.vectors = axis;
  p.overwrite = true;
  p.threads = 2;
  return p;
}

static furrow_model_import_params importing(furrow_axis axis, param_parts *parts) {
  furrow_model_import_params p;
  import_params_init(&p, parts);
  p.vectors = axis;
  parts->write.overwrite = true;
  return p;
}

/* Elements of both folders, as text. */
static void check_same(const char *a, const char *b) {
  const furrow_model_export_params p = exporting(FURROW_AXIS_ROWS);
  furrow_error err;
  size_t m, n;
  good(furrow_model_export(a, "a.tsv", &p, NULL, &err), &err);
  good(furrow_model_export(b, "b.tsv", &p, NULL, &err), &err);
  char *x = read_text("a.tsv", &m), *y = read_text("b.tsv", &n);
  if (m != n || memcmp(x, y, m) != 0) fail_msg("%s and %s differ:\n%s\n%s", a, b, x, y);
  free(x);
  free(y);
}

/* ---- Round trips ---------------------------------------------------------------------------------------- */

static const char *const files[] = {"x.npy", "x.npz", "x.fvecs", "x.fbin", "x.safetensors", "x.tsv", "x.libsvm"};
#define FILES (sizeof files / sizeof files[0])

static bool is_dense_file(const char *file) {
  return !strcmp(file, "x.npy") || !strcmp(file, "x.fvecs") || !strcmp(file, "x.fbin");
}

/* Elsewhere rows that are not saved are to be told from those without elements. */
static bool names_rows(const char *file, furrow_axis axis) {
  return !strcmp(file, "x.safetensors") || (axis == FURROW_AXIS_ROWS && strcmp(file, "x.tsv") != 0);
}

static void round_trip(const char *folder, const made *what, const char *file, furrow_axis axis) {
  const furrow_model_export_params out = exporting(axis);
  param_parts parts;
  furrow_model_import_params in = importing(axis, &parts);
  furrow_model_export_result exported;
  furrow_model_export_result_init(&exported);
  furrow_model_import_result imported;
  furrow_model_import_result_init(&imported);
  furrow_error err;
  good(furrow_model_export(folder, file, &out, &exported, &err), &err);
  assert_int_equal(exported.matrices, 1);
  if (strcmp(file, "x.safetensors") != 0) {
    parts.spec.row_type = what->row_type;
    parts.spec.format = what->format;
  }
  if (!names_rows(file, axis)) {
    parts.spec.saved_rows = what->rows;
    parts.spec.saved_row_count = ROWS;
    parts.spec.rows = what->rows[ROWS - 1] + 1;
  }
  good(furrow_model_import(file, "back", &in, &imported, &err), &err);
  assert_int_equal(imported.matrices, 1);
  assert_int_equal(imported.elements, exported.elements);
  if (exported.absent == 0) check_same(folder, "back");
}

/* Every element type as dense, sparse and long keys; rows 0, 1, 2 and others; row and column formats in turn. */
static void all_row_types(void **state) {
  (void)state;
  static const char *const formats[] = {"RowIdColIdValueTextRowFormat", "ColIdValueBinaryRowFormat",
                                        "BinaryColumnFormat", "TextColumnFormat"};
  static const int kinds[] = {0, 3, 5};
  for (int type = 0; type < 4; type++) {
    for (size_t i = 0; i < 3 * FILES; i++) {
      const int kind = kinds[i % 3];
      made what = {formats[(i + (size_t)type) % 4], type * 7 + kind, kind != 0, false, {0, 1, 2},
                   kind == 5 ? (int64_t)1 << 40 : 0};
      if (i % 2) what.rows[2] = 5;
      make_matrix("m", &what);
      round_trip("m", &what, files[i / 3], FURROW_AXIS_COLUMNS);
      if (what.far && is_dense_file(files[i / 3])) continue;
      round_trip("m", &what, files[i / 3], FURROW_AXIS_ROWS);
    }
  }
}

/* Rows of different lengths, one of them empty: sparse files keep that. */
static void ragged_rows(void **state) {
  (void)state;
  const made what = {"RowIdColIdValueTextRowFormat", 10, true, true, {1, 4, 6}, 0};
  make_matrix("m", &what);
  for (size_t i = 0; i < FILES; i++) {
    for (furrow_axis axis = FURROW_AXIS_ROWS; axis <= FURROW_AXIS_COLUMNS; axis++) {
      round_trip("m", &what, files[i], axis);
    }
  }
  /* the empty row is a vector, too */
  const furrow_model_export_params p = exporting(FURROW_AXIS_ROWS);
  furrow_model_export_result result;
  furrow_model_export_result_init(&result);
  assert_int_equal(furrow_model_export("m", "x.libsvm", &p, &result, NULL), FURROW_OK);
  assert_int_equal(result.vectors, 3);
  size_t size;
  char *text = read_text("x.libsvm", &size);
  assert_non_null(strstr(text, "\n4\n"));
  free(text);
  /* dense: zeros for what is absent */
  assert_int_equal(furrow_model_export("m", "x.npy", &p, &result, NULL), FURROW_OK);
  assert_int_equal(result.dimension, 3 * (COLS - 1) + 1);
  assert_int_equal(result.elements, 3 * result.dimension);
  assert_int_equal(result.absent, result.elements - COLS - (COLS - 2));
}

/* Arrays that do not fit memory go straight to the folder, where that is possible. */
static void little_memory(void **state) {
  (void)state;
  static const char *const formats[] = {"RowIdColIdValueTextRowFormat", "BinaryColumnFormat"};
  static const int types[] = {0, 3, 7, 10, 24};
  for (size_t i = 0; i < 2 * 5 * 2; i++) {
    const furrow_axis axis = i % 2 ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
    const bool sparse = types[i / 4] % 7 != 0;
    const made what = {formats[i % 2], types[i / 4], sparse && i % 2, false, {0, 1, i & 2 ? 4 : 2}, 0};
    const char *file = i & 2 ? "x.npy" : "x.safetensors";
    const furrow_model_export_params out = exporting(axis);
    param_parts parts;
    furrow_model_import_params in = importing(axis, &parts);
    furrow_model_import_result result;
    furrow_model_import_result_init(&result);
    furrow_error err;
    make_matrix("m", &what);
    good(furrow_model_export("m", file, &out, NULL, &err), &err);
    in.memory = 1;
    parts.spec.format = what.format;
    parts.spec.block_cols = 3;
    parts.spec.row_type = i & 2 ? -1 : what.row_type;
    if (i & 2 && axis == FURROW_AXIS_COLUMNS) {
      parts.spec.saved_rows = what.rows;
      parts.spec.saved_row_count = ROWS;
    }
    const furrow_status status = furrow_model_import(file, "back", &in, &result, &err);
    if (!strcmp(file, "x.safetensors") && sparse && axis == FURROW_AXIS_ROWS) {
      assert_int_equal(status, FURROW_E_MEMORY); /* a sparse matrix is put together in memory */
      continue;
    }
    good(status, &err);
    assert_int_equal(result.elements, ROWS * COLS);
    check_same("m", "back");
    parts.spec.format = formats[1 - i % 2];
    assert_int_equal(furrow_model_import(file, "back", &in, &result, &err), FURROW_E_MEMORY);
  }
}

/* What the file says decides where the parameters leave it open. */
static void types_by_themselves(void **state) {
  (void)state;
  static const struct {
    int32_t row_type;
    bool holes;
    int64_t far;
    int32_t wanted;
  } cases[] = {{0, false, 0, 0}, {7, false, 0, 7},  {14, false, 0, 14},      {21, false, 0, 21},
               {3, true, 0, 3},  {10, true, 0, 10}, {5, true, 1ll << 40, 5}, {26, true, 1ll << 40, 26}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const made what = {"BinaryColumnFormat", cases[i].row_type, cases[i].holes, false, {0, 1, 2}, cases[i].far};
    const furrow_model_export_params out = exporting(FURROW_AXIS_AUTO);
    param_parts parts;
    furrow_model_import_params in = importing(FURROW_AXIS_COLUMNS, &parts);
    furrow_matrix_meta *meta = NULL;
    furrow_error err;
    make_matrix("m", &what);
    good(furrow_model_export("m", "x.npy", &out, NULL, &err), &err);
    good(furrow_model_import("x.npy", "back", &in, NULL, &err), &err);
    good(furrow_matrix_meta_load(&meta, "back", NULL, &err), &err);
    assert_int_equal(meta->row_type, cases[i].wanted);
    assert_int_equal(meta->row, 3);
    assert_string_equal(meta->matrix_name, "back");
    furrow_matrix_meta_free(meta);
    check_same("m", "back");
  }
}

/* ---- Models --------------------------------------------------------------------------------------------- */

static void whole_model(void **state) {
  (void)state;
  const made a = {"TextColumnFormat", 7, false, false, {0, 1, 2}, 0};
  const made b = {"ColIdValueTextRowFormat", 12, true, true, {2, 3, 9}, 1ll << 33};
  const furrow_model_export_params out = exporting(FURROW_AXIS_AUTO);
  param_parts parts;
  const furrow_model_import_params in = importing(FURROW_AXIS_AUTO, &parts);
  furrow_model_export_result exported;
  furrow_model_export_result_init(&exported);
  furrow_model_import_result imported;
  furrow_model_import_result_init(&imported);
  furrow_error err;
  assert_int_equal(mkdir("model", 0777), 0);
  make_matrix("emb", &a);
  make_matrix("wide", &b);
  assert_int_equal(rename("emb", "model/emb"), 0);
  assert_int_equal(rename("wide", "model/wide"), 0);
  good(furrow_model_export("model", "x.safetensors", &out, &exported, &err), &err);
  assert_int_equal(exported.matrices, 2);
  good(furrow_model_import("x.safetensors", "again", &in, &imported, &err), &err);
  assert_int_equal(imported.matrices, 2);
  check_same("model/emb", "again/emb");
  check_same("model/wide", "again/wide");
  furrow_matrix_meta *meta = NULL;
  good(furrow_matrix_meta_load(&meta, "again/wide", NULL, &err), &err);
  assert_int_equal(meta->matrix_id, 7);
  assert_int_equal(meta->row_type, 12);
  assert_int_equal(meta->row, 11);
  assert_non_null(strstr(meta->format_class_name, "ColIdValueTextRowFormat"));
  furrow_matrix_meta_free(meta);
  /* formats for one matrix do not take two */
  assert_int_equal(furrow_model_export("model", "x.npy", &out, NULL, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "2 matrices"));
}

/* ---- Parameters ----------------------------------------------------------------------------------------- */

static void selection_and_conversion(void **state) {
  (void)state;
  const made what = {"RowIdColIdValueBinaryRowFormat", 0, false, false, {0, 1, 2}, 0};
  const int32_t rows[] = {2, 0};
  furrow_model_export_params p = exporting(FURROW_AXIS_ROWS);
  furrow_model_export_result result;
  furrow_model_export_result_init(&result);
  furrow_error err;
  size_t size;
  make_matrix("m", &what);
  furrow_matrix_selection selection;
  furrow_matrix_selection_init(&selection);
  p.selection = &selection;
  selection.rows = rows;
  selection.row_count = 2;
  selection.first_col = 2;
  selection.end_col = 5;
  p.convert = true;
  p.type = FURROW_ELEMENT_F32;
  good(furrow_model_export("m", "s.npy", &p, &result, &err), &err);
  assert_int_equal(result.vectors, 2);
  assert_int_equal(result.dimension, 3);
  char *text = read_text("s.npy", &size);
  assert_int_equal(size, 128 + 2 * 3 * 4);
  for (size_t i = 0; i < 6; i++) {
    float value;
    memcpy(&value, text + 128 + 4 * i, 4);
    fw_swap_le(&value, sizeof value, 1);
    assert_true(value == (float)value_of(FURROW_ELEMENT_F64, (i < 3 ? 0 : 2 * COLS) + 2 + i % 3));
  }
  free(text);
  text = read_text("s.npy.ids.npy", &size);
  assert_int_equal(size, 128 + 16);
  assert_int_equal(text[128], 0);
  assert_int_equal(text[136], 2);
  free(text);
  p.type = FURROW_ELEMENT_I32;
  assert_int_equal(furrow_model_export("m", "s.fbin", &p, NULL, NULL), FURROW_E_ARGUMENT);
  selection.end_col = 11;
  assert_int_equal(furrow_model_export("m", "s.npy", &p, NULL, &err), FURROW_E_RANGE); /* NaN is not an integer */
  p.convert = false;
  p.ids = "";
  assert_int_equal(furrow_model_export("m", "t.fbin", &p, NULL, NULL), FURROW_OK);
  assert_int_equal(access("t.fbin.ids.npy", F_OK), -1);
  p.ids = "other.npy";
  p.overwrite = false;
  assert_int_equal(furrow_model_export("m", "t.fbin", &p, NULL, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_model_export("m", "u.fbin", &p, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_model_export("m", "v.fbin", &p, NULL, &err), FURROW_E_EXISTS);
  assert_int_equal(access("v.fbin", F_OK), -1);
}

/* Standard output gets the bytes that a file would. */
static void to_stdout(void **state) {
  (void)state;
  const made what = {"TextColumnFormat", 10, true, false, {0, 1, 2}, 0};
  static const char *const names[] = {"x.npy", "x.fvecs", "x.fbin", "x.tsv", "x.libsvm", "x.npz", "x.safetensors"};
  make_matrix("m", &what);
  for (size_t i = 0; i < 7; i++) {
    furrow_model_export_params p = exporting(FURROW_AXIS_COLUMNS);
    furrow_error err;
    size_t m, n;
    assert_int_equal(furrow_exchange_format_find(names[i] + 2, &p.format, NULL), FURROW_OK);
    assert_string_equal(furrow_exchange_format_name(p.format), names[i] + 2);
    assert_int_equal(furrow_model_export("m", names[i], &p, NULL, NULL), FURROW_OK);
    fflush(stdout);
    const int old = dup(STDOUT_FILENO), fd = open("stdout", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(fd, STDOUT_FILENO);
    const furrow_status status = furrow_model_export("m", "-", &p, NULL, &err);
    dup2(old, STDOUT_FILENO);
    close(old);
    close(fd);
    assert_int_equal(status, i < 5 ? FURROW_OK : FURROW_E_ARGUMENT);
    if (i >= 5) continue;
    char *a = read_text(names[i], &m), *b = read_text("stdout", &n);
    assert_int_equal(m, n);
    assert_memory_equal(a, b, m);
    free(a);
    free(b);
  }
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

static void refuse_text(const char *name, const char *text, furrow_axis axis, furrow_status wanted, unsigned line,
                        unsigned column, const char *message) {
  param_parts parts;
  furrow_model_import_params p = importing(axis, &parts);
  furrow_error err;
  assert_true(test_write_text(name, text));
  const furrow_status status = furrow_model_import(name, "refused", &p, NULL, &err);
  if (status != wanted || !strstr(err.message, message) || err.line != line || err.column != column)
    fail_msg("%s: %s %llu:%llu %s", text, furrow_status_name(status), (unsigned long long)err.line,
             (unsigned long long)err.column, err.message);
  assert_int_equal(furrow_model_import(name, "refused", &p, NULL, NULL), wanted);
  assert_int_equal(access("refused", F_OK), -1);
}

static void refused_text(void **state) {
  (void)state;
  const furrow_axis rows = FURROW_AXIS_ROWS, columns = FURROW_AXIS_COLUMNS;
  refuse_text("r.tsv", "0\t1\t2\n0 1 2\n", rows, FURROW_E_PARSE, 2, 1, "the row is not an integer");
  refuse_text("r.tsv", "0\t1.5\t2\n", rows, FURROW_E_PARSE, 1, 3, "the column is not an integer");
  refuse_text("r.tsv", "0\t1\n", rows, FURROW_E_PARSE, 1, 3, "the column is not an integer");
  refuse_text("r.tsv", "0\t1\tx\n", rows, FURROW_E_PARSE, 1, 5, "the value is not a number");
  refuse_text("r.tsv", "0\t1\t1.5e3x\n", rows, FURROW_E_PARSE, 1, 5, "the value is not a number");
  refuse_text("r.tsv", "0\t1\t2\t3\n", rows, FURROW_E_PARSE, 1, 7, "too many fields");
  refuse_text("r.tsv", "0\t1\t1e39\n", rows, FURROW_E_RANGE, 1, 5, "does not fit");
  refuse_text("r.tsv", "0\t99999999999999999999\t1\n", rows, FURROW_E_RANGE, 1, 3, "64 bits");
  refuse_text("r.tsv", "-1\t1\t1\n", rows, FURROW_E_RANGE, 1, 1, "not a row");
  refuse_text("r.tsv", "0\t1\t1\n\n0\t2\t1\n", rows, FURROW_E_PARSE, 2, 1, "an empty line");
  refuse_text("r.tsv", "0\t1\t1\r\n0\t1\t2\r\n", rows, FURROW_E_FORMAT, 2, 5, "twice");
  refuse_text("r.tsv", "0\t1\t1\n0\t2\t1\n0\t1\t2", rows, FURROW_E_FORMAT, 0, 0, "1 element occurs twice");
  refuse_text("r.libsvm", "1 1:2 3\n", rows, FURROW_E_PARSE, 1, 7, "no index:value");
  refuse_text("r.libsvm", "x 1:2\n", rows, FURROW_E_PARSE, 1, 1, "the id is not an integer");
  refuse_text("r.libsvm", "1.5 1:2\n", rows, FURROW_E_PARSE, 1, 1, "the id is not an integer");
  refuse_text("r.libsvm", "0 1:2\n1 2:\n", rows, FURROW_E_PARSE, 2, 5, "the value is not a number");
  refuse_text("r.libsvm", "0 1:2\n5 1:1\n0 2:1\n", rows, FURROW_E_FORMAT, 3, 1, "the id 0 occurs twice");
  refuse_text("r.libsvm", "3000000000 1:2\n", rows, FURROW_E_RANGE, 1, 1, "not a row");
  refuse_text("r.libsvm", "1 -1:2\n", columns, FURROW_E_RANGE, 1, 3, "not a row");
  refuse_text("r.libsvm", "1 1:2 1:3\n", columns, FURROW_E_FORMAT, 1, 9, "twice");
  refuse_text("r.libsvm", "1 1:2,2:3\n", rows, FURROW_E_PARSE, 1, 5, "the value is not a number");
  refuse_text("r.txt", "x 1 2\n", rows, FURROW_E_PARSE, 1, 1, "the id is not an integer");
  refuse_text("r.txt", ",1,2\n", rows, FURROW_E_PARSE, 1, 1, "the id is not an integer");
  refuse_text("r.txt", "0 1 2\n1 1 2 3\n", rows, FURROW_E_FORMAT, 2, 1,
              "the line has 3 values, but the first line has 2");
  refuse_text("r.txt", "2 3\n0 1 2 4\n", columns, FURROW_E_FORMAT, 2, 1,
              "the line has 3 values, but the first line has 1");
  refuse_text("r.txt", "0\n", rows, FURROW_E_FORMAT, 1, 1, "no values follow the id");
  refuse_text("r.txt", "0,1,,2\n", rows, FURROW_E_PARSE, 1, 5, "the value is not a number");
  refuse_text("r.txt", "0,1,2,\n", rows, FURROW_E_PARSE, 1, 7, "the value is not a number");
  refuse_text("r.txt", "0 1:2\n", rows, FURROW_E_PARSE, 1, 3, "the value is not a number");
  refuse_text("r.txt", "0 1\n4 1\n0 2\n", columns, FURROW_E_FORMAT, 3, 1, "the id 0 occurs twice");
  refuse_text("r.txt", "-1 1\n", rows, FURROW_E_RANGE, 1, 1, "not a row");
  refuse_text("r.txt", "0 1\n\n", rows, FURROW_E_PARSE, 2, 1, "an empty line");
  refuse_text("r.txt", "0 1e99\n", rows, FURROW_E_RANGE, 1, 3, "does not fit");
}

/* The first column is the id, the others are values. */
static void lines_of_values(void **state) {
  (void)state;
  static const furrow_axis axes[] = {FURROW_AXIS_ROWS, FURROW_AXIS_COLUMNS};
  for (size_t i = 0; i < 2; i++) {
    param_parts parts;
    furrow_model_import_params in = importing(axes[i], &parts);
    furrow_matrix *matrix = NULL;
    furrow_error err;
    assert_true(test_write_text("v.txt", "7 0.5,1\t , 2 \r\n2  -1 0 3"));
    good(furrow_model_import("v.txt", "v", &in, NULL, &err), &err);
    good(furrow_matrix_load(&matrix, "v", NULL, &err), &err);
    static const double wanted[2][3] = {{0.5, 1, 2}, {-1, 0, 3}};
    assert_int_equal(furrow_matrix_count(matrix), 6);
    for (int32_t j = 0; j < 3; j++)
      for (int32_t id = 0; id < 2; id++) {
        const int32_t place = id == 0 ? 7 : 2;
        assert_true(furrow_matrix_get(matrix, i == 0 ? place : j, i == 0 ? j : place) == wanted[id][j]);
      }
    furrow_matrix_free(matrix);
    assert_int_equal(furrow_model_export("v", "w.txt", NULL, NULL, &err), FURROW_E_UNSUPPORTED);
    assert_int_equal(access("w.txt", F_OK), -1);
    assert_true(test_remove_dir("v"));
  }
}

static void refused_ids(void **state) {
  (void)state;
  const made what = {"BinaryColumnFormat", 7, false, false, {0, 1, 2}, 0};
  const furrow_model_export_params out = exporting(FURROW_AXIS_COLUMNS);
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_COLUMNS, &parts);
  furrow_error err;
  size_t size;
  make_matrix("m", &what);
  good(furrow_model_export("m", "i.npy", &out, NULL, &err), &err);
  char *ids = read_text("i.npy.ids.npy", &size);
  ids[128 + 8] = 5; /* 0 5 2 3 4 5 … */
  assert_true(test_write_file("i.npy.ids.npy", ids, size));
  assert_int_equal(furrow_model_import("i.npy", "n", &in, NULL, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "the id 5 occurs twice"));
  ids[128 + 8] = 1;
  ids[128 + 7] = (char)0xff; /* the first is negative: no row */
  assert_true(test_write_file("i.npy.ids.npy", ids, size));
  in.vectors = FURROW_AXIS_ROWS;
  assert_int_equal(furrow_model_import("i.npy", "n", &in, NULL, &err), FURROW_E_RANGE);
  in.vectors = FURROW_AXIS_COLUMNS;
  in.ids = "x.ids.npy";
  assert_int_equal(furrow_model_import("i.npy", "n", &in, NULL, &err), FURROW_E_NOT_FOUND);
  in.ids = "i.npy";
  assert_int_equal(furrow_model_import("i.npy", "n", &in, NULL, &err), FURROW_E_FORMAT);
  in.ids = "";
  assert_int_equal(furrow_model_import("i.npy", "n", &in, NULL, &err), FURROW_OK);
  in.memory = 100;
  assert_int_equal(furrow_model_import("i.npy", "n", &in, NULL, &err), FURROW_E_MEMORY);
  free(ids);
}

static void refused_matrices(void **state) {
  (void)state;
  const made far = {"RowIdColIdValueBinaryRowFormat", 5, true, false, {0, 1, 2}, 1ll << 40};
  furrow_model_export_params p = exporting(FURROW_AXIS_ROWS);
  furrow_exchange_format format;
  furrow_error err;
  make_matrix("m", &far);
  assert_int_equal(furrow_model_export("m", "f.npy", &p, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.hint, "choose columns"));
  assert_int_equal(furrow_model_export("m", "f.xyz", &p, NULL, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.hint, "safetensors"));
  assert_int_equal(furrow_model_export("none", "f.npy", &p, NULL, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_exchange_format_find("csv", &format, &err), FURROW_E_ARGUMENT);
  assert_string_equal(furrow_exchange_format_name((furrow_exchange_format)99), "?");
  assert_int_equal(furrow_model_import("f.xyz", "n", NULL, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_model_import("f.npz", "n", NULL, NULL, &err), FURROW_E_NOT_FOUND);
}

/* What is read is never replaced, whatever the parameters allow. */
static void into_its_source(void **state) {
  (void)state;
  const made what = {"RowIdColIdValueBinaryRowFormat", 10, true, false, {0, 1, 2}, 0};
  furrow_model_export_params p = exporting(FURROW_AXIS_ROWS);
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_ROWS, &parts);
  furrow_error err;
  size_t size, after;
  make_matrix("m", &what);
  char *before = read_text("m/0", &size);
  p.format = FURROW_EXCHANGE_NPY;
  assert_int_equal(symlink("m", "link"), 0);
  assert_int_equal(furrow_model_export("m", "m/0", &p, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_model_export("m", "./link/0", &p, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_model_export("link", "m/new.npy", &p, NULL, &err), FURROW_E_ARGUMENT);
  p.ids = "m/0";
  assert_int_equal(furrow_model_export("m", "n.npy", &p, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(access("n.npy", F_OK), -1);
  char *now = read_text("m/0", &after);
  assert_int_equal(size, after);
  assert_memory_equal(before, now, size);
  free(before);
  free(now);
  assert_true(test_write_text("m/t.tsv", "0\t1\t2\n"));
  assert_int_equal(furrow_model_import("m/t.tsv", "m", &in, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(access("m/t.tsv", F_OK), 0);
}

/* Which rows are saved: those of the list, or all, also those without elements. */
static void check_rows(const char *folder, const int32_t *rows, size_t count) {
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  good(furrow_matrix_meta_load(&meta, folder, NULL, &err), &err);
  assert_int_equal(meta->parts[0].row_count, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(meta->parts[0].rows[i].row_id, rows[i]);
  furrow_matrix_meta_free(meta);
}

static void rows_without_elements(void **state) {
  (void)state;
  static const int32_t all[] = {0, 1, 2, 3, 4}, saved[] = {3, 0};
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_ROWS, &parts);
  furrow_model_import_result result;
  furrow_model_import_result_init(&result);
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  assert_true(test_write_text("t.tsv", "0\t1\t2\n3\t4\t1\n2\t7\t1\n"));
  good(furrow_model_import("t.tsv", "n", &in, &result, &err), &err);
  check_rows("n", all, 4);
  parts.spec.rows = 5;
  good(furrow_model_import("t.tsv", "n", &in, &result, &err), &err);
  check_rows("n", all, 5);
  parts.spec.saved_rows = saved;
  parts.spec.saved_row_count = 2;
  good(furrow_model_import("t.tsv", "n", &in, &result, &err), &err);
  check_rows("n", (const int32_t[]){0, 3}, 2); /* as a Java HashMap has them */
  assert_int_equal(result.elements, 2);
  assert_int_equal(result.left_out, 1);
  assert_int_equal(result.cols, 8); /* the element that is left out tells it */
  good(furrow_matrix_meta_load(&meta, "n", NULL, &err), &err);
  assert_int_equal(meta->parts[0].nnz, 3);
  furrow_matrix_meta_free(meta);
  parts.spec.rows = 3;
  parts.spec.saved_rows = all;
  assert_int_equal(furrow_model_import("t.tsv", "n", &in, &result, &err), FURROW_E_RANGE); /* row 3 */
  /* a file that names its rows names those that are saved */
  in = importing(FURROW_AXIS_ROWS, &parts);
  assert_true(test_write_text("t.libsvm", "0 1:2\n2\n4 1:1\n"));
  good(furrow_model_import("t.libsvm", "n", &in, &result, &err), &err);
  check_rows("n", (const int32_t[]){0, 2, 4}, 3);
  parts.spec.rows = 5;
  good(furrow_model_import("t.libsvm", "n", &in, &result, &err), &err);
  check_rows("n", all, 5);
}

static void no_elements(void **state) {
  (void)state;
  static const int32_t all[] = {0, 1, 2};
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_ROWS, &parts);
  furrow_model_import_result result;
  furrow_model_import_result_init(&result);
  furrow_error err;
  assert_true(test_write_text("t.tsv", ""));
  assert_int_equal(furrow_model_import("t.tsv", "n", &in, NULL, &err), FURROW_E_ARGUMENT);
  parts.spec.rows = 3;
  parts.spec.cols = 5;
  good(furrow_model_import("t.tsv", "n", &in, &result, &err), &err);
  check_rows("n", all, 3);
  assert_int_equal(result.elements, 0);
}

/* Types that a format has not, and vectors without elements. */
static void refused_exports(void **state) {
  (void)state;
  const made what = {"RowIdColIdValueBinaryRowFormat", 3, false, false, {0, 1, 2}, 0};
  static const char *const sparse[] = {"x.npz", "x.tsv", "x.libsvm"};
  furrow_matrix_selection selection;
  furrow_model_export_params p = exporting(FURROW_AXIS_ROWS);
  furrow_error err;
  make_matrix("m", &what);
  p.convert = true;
  p.type = (furrow_element_type)9;
  assert_int_equal(furrow_model_export("m", "x.npy", &p, NULL, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "params.type is not an element type");
  p.type = FURROW_ELEMENT_F32;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(furrow_model_export("m", sparse[i], &p, NULL, &err), FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "keeps the type of the elements"));
    assert_int_equal(access(sparse[i], F_OK), -1);
  }
  good(furrow_model_export("m", "x.fvecs", &p, NULL, &err), &err); /* what it has anyway */
  p.type = FURROW_ELEMENT_F64;
  for (size_t i = 0; i < 3; i++) good(furrow_model_export("m", sparse[i], &p, NULL, &err), &err);
  p = exporting(FURROW_AXIS_ROWS);
  furrow_matrix_selection_init(&selection);
  selection.first_col = 500;
  p.selection = &selection;
  assert_int_equal(furrow_model_export("m", "none.npy", &p, NULL, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "the matrix has no elements to make vectors of");
  assert_int_equal(access("none.npy", F_OK), -1);
}

/* Columns below 0: dense files and text have them, SciPy has not. */
static void columns_below_zero(void **state) {
  (void)state;
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_ROWS, &parts);
  const furrow_model_export_params out = exporting(FURROW_AXIS_ROWS);
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  assert_true(test_write_text("t.tsv", "0\t-5\t2\n3\t4\t1\n2\t7\t1\n"));
  good(furrow_model_import("t.tsv", "n", &in, NULL, &err), &err);
  good(furrow_matrix_meta_load(&meta, "n", NULL, &err), &err);
  assert_int_equal(meta->col, 13);
  assert_int_equal(meta->parts[0].start_col, -5);
  furrow_matrix_meta_free(meta);
  assert_int_equal(furrow_model_export("n", "x.npz", &out, NULL, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "column -5 cannot be an index of a sparse matrix");
  assert_int_equal(access("x.npz", F_OK), -1);
  in = importing(FURROW_AXIS_ROWS, &parts);
  parts.spec.first_col = 3; /* said by the caller: then the columns below it have no place */
  assert_int_equal(furrow_model_import("t.tsv", "o", &in, NULL, &err), FURROW_E_RANGE);
  parts.spec.first_col = 20;
  assert_int_equal(furrow_model_import("t.tsv", "o", &in, NULL, &err), FURROW_E_RANGE);
  assert_int_equal(access("o", F_OK), -1);
  assert_true(test_write_text("t.tsv", "0\t-9223372036854775808\t2\n3\t9223372036854775807\t1\n"));
  in = importing(FURROW_AXIS_ROWS, &parts);
  assert_int_equal(furrow_model_import("t.tsv", "o", &in, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "are more than 64 bits can count"));
  parts.spec.hash_parts = 2;
  good(furrow_model_import("t.tsv", "o", &in, NULL, &err), &err);
  check_rows("o", (const int32_t[]){0, 1, 2, 3}, 4);
  furrow_matrix *matrix = NULL;
  good(furrow_matrix_load(&matrix, "o", NULL, &err), &err);
  assert_true(furrow_matrix_get(matrix, 3, INT64_MAX) == 1 && furrow_matrix_get(matrix, 0, INT64_MIN) == 2);
  furrow_matrix_free(matrix);
  assert_int_equal(furrow_model_export("o", "x.npy", &out, NULL, &err), FURROW_E_RANGE); /* too many to count */
}

/* Elements of hash partitions that are left out are counted where they would be; saved rows without elements. */
static void saved_rows_of_hash_partitions(void **state) {
  (void)state;
  static const int32_t saved[] = {3, 9};
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_ROWS, &parts);
  furrow_model_import_result result;
  furrow_model_import_result_init(&result);
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  assert_true(test_write_text("t.tsv", "0\t1\t2\n3\t4\t1\n2\t7\t1\n0\t8\t1\n"));
  parts.spec.saved_rows = saved;
  parts.spec.saved_row_count = 2;
  parts.spec.hash_parts = 2;
  good(furrow_model_import("t.tsv", "n", &in, &result, &err), &err);
  assert_int_equal(result.elements, 1);
  assert_int_equal(result.left_out, 3);
  assert_int_equal(result.rows, 10); /* row 9 is saved, though it has no elements */
  good(furrow_matrix_meta_load(&meta, "n", NULL, &err), &err);
  assert_int_equal(meta->part_count, 2);
  assert_int_equal(meta->parts[0].nnz + meta->parts[1].nnz, 4);
  furrow_matrix_meta_free(meta);
  parts.spec.hash_parts = 0;
  parts.spec.saved_row_count = 0;
  assert_int_equal(furrow_model_import("t.tsv", "o", &in, &result, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "saved_rows"));
  static const int32_t last[] = {INT32_MAX};
  parts.spec.saved_rows = last;
  parts.spec.saved_row_count = 1;
  assert_int_equal(furrow_model_import("t.tsv", "o", &in, &result, &err), FURROW_E_ARGUMENT);
  assert_int_equal(access("o", F_OK), -1);
}

/* More rows than are noted before they are sorted, in an order that has every case of merging. */
static void many_rows(void **state) {
  (void)state;
  enum { MANY = 9000 };
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_ROWS, &parts);
  furrow_model_import_result result;
  furrow_model_import_result_init(&result);
  furrow_error err;
  FILE *file = fopen("t.tsv", "w");
  assert_non_null(file);
  for (int i = 0; i < MANY; i++) fprintf(file, "%d\t0\t%d\n", i * 7919 % MANY, i + 1);
  for (int i = 0; i < MANY; i += 100) fprintf(file, "%d\t1\t1\n", i * 7919 % MANY);
  assert_int_equal(fclose(file), 0);
  good(furrow_model_import("t.tsv", "n", &in, &result, &err), &err);
  assert_int_equal(result.rows, MANY);
  assert_int_equal(result.elements, MANY + MANY / 100);
  furrow_matrix *matrix = NULL;
  good(furrow_matrix_load(&matrix, "n", NULL, &err), &err);
  assert_int_equal(furrow_matrix_row_count(matrix), MANY);
  for (int i = 0; i < MANY; i += 37) assert_true(furrow_matrix_get(matrix, i * 7919 % MANY, 0) == i + 1);
  furrow_matrix_free(matrix);
}

/* ---- Memory that runs out ------------------------------------------------------------------------------- */

/* Both ways once; the n-th allocation fails. */
static furrow_status both_ways(const char *file, furrow_error *err) {
  furrow_model_export_params out = exporting(FURROW_AXIS_AUTO);
  param_parts parts;
  furrow_model_import_params in = importing(FURROW_AXIS_AUTO, &parts);
  out.threads = 1;
  parts.write.threads = 1;
  parts.spec.format = "RowIdColIdValueTextRowFormat";
  furrow_status status = furrow_model_export("m", file, &out, NULL, err);
  return status == FURROW_OK ? furrow_model_import(file, "n", &in, NULL, err) : status;
}

static void failing_allocations(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  const made what = {"RowIdColIdValueTextRowFormat", 10, true, true, {1, 4, 6}, 0};
  make_matrix("m", &what);
  for (size_t i = 0; i < FILES; i++) {
    furrow_error err;
    good(both_ways(files[i], &err), &err);
    for (long n = 1;; n++) {
      const long live = atomic_load(&alloc_live);
      alloc_fail_at(n);
      const furrow_status status = both_ways(files[i], &err);
      const bool failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      if (!failed) break;
      if (atomic_load(&alloc_live) != live) fail_msg("%s: allocation %ld leaks", files[i], n);
      /* opendir and the like say it as an error of reading */
      const bool told = status == FURROW_E_MEMORY || strstr(err.message, "Cannot allocate memory");
      if (status != FURROW_OK && !told)
        fail_msg("%s: allocation %ld: %s, %s", files[i], n, furrow_status_name(status), err.message);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(all_row_types, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(ragged_rows, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(little_memory, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(types_by_themselves, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(whole_model, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(selection_and_conversion, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(to_stdout, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(refused_text, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(lines_of_values, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(refused_ids, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(refused_matrices, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(into_its_source, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(rows_without_elements, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(no_elements, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(refused_exports, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(columns_below_zero, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(saved_rows_of_hash_partitions, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(many_rows, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(failing_allocations, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
