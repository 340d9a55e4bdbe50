/* tests/unit/model/test_import_reject.c: files and parameters that an import refuses, in tables: notes of safetensors
 * files, arrays of npz archives, parameters of dense files. */
#include "array/npy.h"
#include "array/zip.h"
#include "base/endian.h"
#include "furrow/exchange.h"
#include "support/cmocka_all.h"
#include "support/model_params.h"
#include "support/own_dir.h"

static param_parts parts;

static furrow_model_import_params importing(furrow_axis axis) {
  furrow_model_import_params p;
  import_params_init(&p, &parts);
  p.vectors = axis;
  parts.write.overwrite = true;
  return p;
}

static void expect(const char *path, const furrow_model_import_params *p, furrow_status wanted, const char *message) {
  furrow_error err = {.status = FURROW_OK};
  const furrow_status status = furrow_model_import(path, "made", p, NULL, &err);
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s, %s; not %s, %s", furrow_status_name(status), err.message, furrow_status_name(wanted), message);
  if (wanted != FURROW_OK) assert_int_equal(furrow_model_import(path, "made", p, NULL, NULL), wanted);
  assert_int_equal(access("made", F_OK) == 0, wanted == FURROW_OK);
  if (wanted == FURROW_OK) assert_true(test_remove_dir("made"));
}

/* ---- Safetensors ---------------------------------------------------------------------------------------- */

/* Tensor a of 2 x 2 floats, with a note; with_ids: and so many ids. */
static void make_tensors(const char *key, const char *value, int ids) {
  char text[1024], more[256] = "";
  unsigned char file[2048] = {0};
  const size_t data = 16 + 8 * (size_t)ids;
  if (ids)
    snprintf(more, sizeof more, ",\"a.ids\":{\"dtype\":\"I64\",\"shape\":[%d],\"data_offsets\":[16,%zu]}", ids, data);
  const int length = snprintf(text, sizeof text,
                              "{\"__metadata__\":{\"%s\":\"%s\"},"
                              "\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}%s}",
                              key, value, more);
  fw_put_le64(file, (uint64_t)length);
  memcpy(file + 8, text, (size_t)length);
  for (int i = 0; i < ids; i++) file[8 + length + 16 + 8 * i] = (unsigned char)i;
  assert_true(test_write_file("t.safetensors", file, 8 + (size_t)length + data));
}

static void notes(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
    furrow_status status;
    const char *message;
  } cases[] = {
      {"a.matrix_id", "7", FURROW_OK, ""},
      {"a.matrix_id", "x", FURROW_E_FORMAT, "a.matrix_id makes no sense"},
      {"a.matrix_id", "7x", FURROW_E_FORMAT, "a.matrix_id makes no sense"},
      {"a.matrix_id", "-1", FURROW_E_FORMAT, "a.matrix_id makes no sense"},
      {"a.matrix_id", "99999999999999999999", FURROW_E_FORMAT, "a.matrix_id makes no sense"},
      {"a.matrix_id", "4294967296", FURROW_E_FORMAT, "a number of a is too large"},
      {"a.rows", "5", FURROW_OK, ""},
      {"a.rows", "0", FURROW_E_FORMAT, "a.rows makes no sense"},
      {"a.rows", "4294967296", FURROW_E_FORMAT, "a number of a is too large"},
      {"a.first_col", "1.5", FURROW_E_FORMAT, "a.first_col makes no sense"},
      {"a.end_col", "", FURROW_E_FORMAT, "a.end_col makes no sense"},
      {"a.end_col", "9", FURROW_OK, ""},
      {"a.row_type", "T_NOTHING", FURROW_E_FORMAT, "a.row_type makes no sense"},
      {"a.row_type", "T_ANY_INTKEY_SPARSE", FURROW_E_FORMAT, "a.row_type makes no sense"},
      {"a.saved_rows", "x", FURROW_E_FORMAT, "a.saved_rows makes no sense"},
      {"a.saved_rows", "-1", FURROW_E_FORMAT, "a.saved_rows makes no sense"},
      {"a.saved_rows", "1,2", FURROW_E_FORMAT, "a.saved_rows makes no sense"},
      {"a.saved_rows", "99999999999", FURROW_E_FORMAT, "a.saved_rows makes no sense"},
      {"a.format", "NoSuchFormat", FURROW_OK, ""},
  };
  const furrow_model_import_params p = importing(FURROW_AXIS_AUTO);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    make_tensors(cases[i].key, cases[i].value, 0);
    expect("t.safetensors", &p, cases[i].status, cases[i].message);
  }
  make_tensors("x", "y", 3);
  expect("t.safetensors", &p, FURROW_E_FORMAT, "a: 3 ids for 2 vectors");
  make_tensors("x", "y", 2);
  expect("t.safetensors", &p, FURROW_OK, "");
}

/* ---- npz ------------------------------------------------------------------------------------------------ */

static void put_member(fw_zip_writer *zip, const char *name, const char *type, size_t count, const void *data,
                       size_t size) {
  char head[FW_NPY_HEADER];
  assert_int_equal(fw_zip_writer_begin(zip, name, FW_NPY_HEADER, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_write(zip, data, size, NULL), FURROW_OK);
  fw_npy_write_header(head, type, count == SIZE_MAX ? 0 : 1, count, 0);
  assert_int_equal(fw_zip_writer_end(zip, head, NULL), FURROW_OK);
}

static void put_numbers(fw_zip_writer *zip, const char *name, const int64_t *numbers, size_t count) {
  unsigned char bytes[64];
  for (size_t i = 0; i < count; i++) fw_put_le64(bytes + 8 * i, (uint64_t)numbers[i]);
  put_member(zip, name, "<i8", count, bytes, 8 * count);
}

typedef struct csr_case {
  const char *type, *name; /* of format.npy */
  size_t name_size;
  int64_t shape[3];
  size_t shapes;
  int64_t begins[4];
  size_t begin_count;
  int64_t indices[2];
  furrow_status status;
  const char *message;
} csr_case;

#define CSR "|S3", "csr", 3
#define SHAPE {2, 3}, 2
#define BEGINS {0, 1, 2}, 3
#define INDICES \
  { 0, 2 }

static const csr_case csr_cases[] = {
    {CSR, SHAPE, BEGINS, INDICES, FURROW_OK, ""},
    {"<U3", "c\0\0\0s\0\0\0r\0\0", 12, SHAPE, BEGINS, INDICES, FURROW_OK, ""},
    {">U3", "\0\0\0c\0\0\0s\0\0\0r", 12, SHAPE, BEGINS, INDICES, FURROW_OK, ""},
    {"|S3", "coo", 3, SHAPE, BEGINS, INDICES, FURROW_E_UNSUPPORTED, "only sparse matrices of the kind csr"},
    {"|S4", "csr ", 4, SHAPE, BEGINS, INDICES, FURROW_E_FORMAT, "not the name of a format"},
    {"<i8", "csr12345", 8, SHAPE, BEGINS, INDICES, FURROW_E_FORMAT, "not the name of a format"},
    {"|S3", "cs", 2, SHAPE, BEGINS, INDICES, FURROW_E_FORMAT, ""},
    {CSR, {2, 3, 1}, 3, BEGINS, INDICES, FURROW_E_FORMAT, "not the shape of a matrix"},
    {CSR, {-2, 3}, 2, BEGINS, INDICES, FURROW_E_FORMAT, "not the shape of a matrix"},
    {CSR, {2, -3}, 2, BEGINS, INDICES, FURROW_E_FORMAT, "not the shape of a matrix"},
    {CSR, {5, 3}, 2, BEGINS, INDICES, FURROW_E_FORMAT, "different numbers of rows"},
    {CSR, SHAPE, {1, 1, 2}, 3, INDICES, FURROW_E_FORMAT, "indptr does not begin with 0"},
    {CSR, SHAPE, {0}, 0, INDICES, FURROW_E_FORMAT, "indptr is empty"},
    {CSR, SHAPE, BEGINS, {-1, 2}, FURROW_E_FORMAT, "an index is not within the shape"},
    {CSR, SHAPE, BEGINS, {0, 3}, FURROW_E_FORMAT, "an index is not within the shape"},
};

/* Indices and vectors beyond the rows that a matrix has: only one of the two axes has rows. */
static const csr_case wide_case = {CSR, {2, INT64_MAX}, 2, BEGINS, {0, INT32_MAX}, FURROW_OK, ""};

static void make_csr(const csr_case *c) {
  static const unsigned char data[] = {0, 0, 128, 63, 0, 0, 0, 64}; /* 1, 2 */
  fw_zip_writer *zip = NULL;
  assert_int_equal(fw_zip_writer_open(&zip, "c.npz", true, NULL), FURROW_OK);
  put_numbers(zip, "indices.npy", c->indices, 2);
  put_numbers(zip, "indptr.npy", c->begins, c->begin_count);
  put_numbers(zip, "shape.npy", c->shape, c->shapes);
  put_member(zip, "format.npy", c->type, SIZE_MAX, c->name, c->name_size);
  put_member(zip, "data.npy", "<f4", 2, data, sizeof data);
  assert_int_equal(fw_zip_writer_commit(zip, NULL, NULL), FURROW_OK);
  fw_zip_writer_close(zip);
}

static void archives(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof csr_cases / sizeof csr_cases[0]; i++) {
    for (furrow_axis axis = FURROW_AXIS_ROWS; axis <= FURROW_AXIS_COLUMNS; axis++) {
      const furrow_model_import_params p = importing(axis);
      make_csr(&csr_cases[i]);
      expect("c.npz", &p, csr_cases[i].status, csr_cases[i].message);
    }
  }
}

static void archives_of_many_rows(void **state) {
  (void)state;
  furrow_model_import_params p = importing(FURROW_AXIS_COLUMNS);
  make_csr(&wide_case);
  expect("c.npz", &p, FURROW_E_RANGE, "the index 2147483647 is not a row: rows are 0 to 2147483646");
  p = importing(FURROW_AXIS_ROWS);
  parts.spec.first_col = 5;
  make_csr(&csr_cases[0]);
  expect("c.npz", &p, FURROW_E_RANGE, "");
}

/* ---- Dense files ---------------------------------------------------------------------------------------- */

/* An npy of this shape, of zeros. */
static void make_dense(const char *path, uint64_t vectors, uint64_t dim) {
  char file[FW_NPY_HEADER + 256] = {0};
  fw_npy_write_header(file, "<f4", 2, vectors, dim);
  assert_true(test_write_file(path, file, FW_NPY_HEADER + vectors * dim * 4));
}

static void dense_files(void **state) {
  (void)state;
  static const int32_t rows[] = {0, 2, 1};
  furrow_model_import_params p = importing(FURROW_AXIS_COLUMNS);
  make_dense("d.npy", 2, 3);
  parts.spec.saved_rows = rows;
  parts.spec.saved_row_count = 2;
  expect("d.npy", &p, FURROW_E_ARGUMENT, "spec.saved_rows must have as many rows as a vector has elements");
  parts.spec.saved_row_count = 3;
  expect("d.npy", &p, FURROW_E_ARGUMENT, "spec.saved_rows does not ascend");
  p = importing(FURROW_AXIS_ROWS);
  parts.spec.row_type = 99;
  expect("d.npy", &p, FURROW_E_ARGUMENT, "spec.row_type 99 is not a type of numbers");
  p = importing(FURROW_AXIS_ROWS);
  p.format = (furrow_exchange_format)99;
  expect("d.npy", &p, FURROW_E_ARGUMENT, "params.format is not a format");
  p = importing(FURROW_AXIS_ROWS);
  expect("d.npy", &p, FURROW_OK, "");
  make_dense("d.npy", 0, 3);
  expect("d.npy", &p, FURROW_E_FORMAT, "there are no vectors");
}

/* An array of one dimension is one row, each number a column. */
static void flat_arrays(void **state) {
  (void)state;
  char file[FW_NPY_HEADER + 12] = {0};
  const furrow_model_import_params p = importing(FURROW_AXIS_AUTO);
  furrow_matrix *matrix = NULL;
  fw_npy_write_header(file, "<f4", 1, 3, 0);
  file[FW_NPY_HEADER + 10] = (char)0x80; /* the last one is 1 */
  file[FW_NPY_HEADER + 11] = 0x3f;
  assert_true(test_write_file("flat.npy", file, sizeof file));
  assert_int_equal(furrow_model_import("flat.npy", "made", &p, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_load(&matrix, "made", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_row_count(matrix), 1);
  assert_int_equal(furrow_matrix_count(matrix), 3);
  assert_true(furrow_matrix_get(matrix, 0, 2) == 1);
  furrow_matrix_free(matrix);
}

static furrow_status note_dimensions(void *user, const furrow_array_info *array) {
  *(size_t *)user = array->dimensions;
  return FURROW_OK;
}

static void dimensions_are_listed(void **state) {
  (void)state;
  char file[FW_NPY_HEADER + 12] = {0};
  size_t dimensions = 0;
  fw_npy_write_header(file, "<f4", 1, 3, 0);
  assert_true(test_write_file("flat.npy", file, sizeof file));
  assert_int_equal(furrow_arrays_for_each("flat.npy", note_dimensions, &dimensions, NULL), FURROW_OK);
  assert_int_equal(dimensions, 1);
  make_dense("d.npy", 2, 3);
  assert_int_equal(furrow_arrays_for_each("d.npy", note_dimensions, &dimensions, NULL), FURROW_OK);
  assert_int_equal(dimensions, 2);
}

static void pack(const char *path) {
  char command[64];
  snprintf(command, sizeof command, "gzip -f %s", path);
  assert_int_equal(system(command), 0);
}

/* Streams, whose size nobody knows: what they promise is believed only as far as memory is not taken for it. */
static void packed_files(void **state) {
  (void)state;
  furrow_model_import_params p = importing(FURROW_AXIS_ROWS);
  char file[FW_NPY_HEADER + 8] = {0};
  p.format = FURROW_EXCHANGE_NPY;
  make_dense("d.npy", 2, 3);
  pack("d.npy");
  expect("d.npy.gz", &p, FURROW_OK, "");
  assert_true(test_write_file("v.fvecs", "\1\0\0\0\0\0\200\77", 8));
  pack("v.fvecs");
  p.format = FURROW_EXCHANGE_FVECS;
  expect("v.fvecs.gz", &p, FURROW_E_ARGUMENT, "the stream does not say how many vectors it has");
  p.format = FURROW_EXCHANGE_NPY;
  fw_npy_write_header(file, "<f4", 2, 3, 1);
  assert_true(test_write_file("cut.npy", file, FW_NPY_HEADER + 8));
  pack("cut.npy");
  expect("cut.npy.gz", &p, FURROW_E_FORMAT, "");
  fw_npy_write_header(file, "<f4", 2, 3000000000, 1);
  assert_true(test_write_file("rows.npy", file, FW_NPY_HEADER + 8));
  pack("rows.npy");
  expect("rows.npy.gz", &p, FURROW_E_RANGE, "more rows than a matrix can have");
  fw_npy_write_header(file, "<f4", 2, 2000000000, 1000);
  assert_true(test_write_file("all.npy", file, FW_NPY_HEADER + 8));
  pack("all.npy");
  expect("all.npy.gz", &p, FURROW_E_MEMORY, "2000000000 vectors of 1000 elements are more than");
}

/* Arrays that do not fit memory, where the folder is not laid out as they are. */
static void no_way_through(void **state) {
  (void)state;
  static const int32_t rows[] = {0, 1, 2};
  static const int64_t falling[] = {9, 4, 6}, rising[] = {-4, 4, 6};
  unsigned char ids[FW_NPY_HEADER + 24];
  const char *message = "and this format needs them all at once";
#define REFUSED(axis, format_name, change)          \
  do {                                              \
    furrow_model_import_params p = importing(axis); \
    p.memory = 1;                                   \
    parts.spec.format = format_name;                \
    change;                                         \
    expect("d.npy", &p, FURROW_E_MEMORY, message);  \
  } while (0)
  make_dense("d.npy", 3, 3);
  REFUSED(FURROW_AXIS_COLUMNS, "ColIdValueText", (void)0);
  REFUSED(FURROW_AXIS_ROWS, "TextColumn", (void)0);
  REFUSED(FURROW_AXIS_COLUMNS, "TextColumn", parts.spec.hash_parts = 2);
  REFUSED(FURROW_AXIS_COLUMNS, "TextColumn", parts.spec.block_rows = 2);
  REFUSED(FURROW_AXIS_COLUMNS, "TextColumn", parts.spec.cols = 2);
  REFUSED(FURROW_AXIS_COLUMNS, "TextColumn", parts.spec.rows = 5; parts.spec.row_type = 7);
  REFUSED(FURROW_AXIS_ROWS, "ColIdValueText", parts.spec.cols = 5; parts.spec.row_type = 7);
  REFUSED(FURROW_AXIS_ROWS, "ColIdValueText", parts.spec.saved_rows = rows; parts.spec.saved_row_count = 3);
  fw_npy_write_header((char *)ids, "<i8", 1, 3, 0);
  for (size_t i = 0; i < 3; i++) fw_put_le64(ids + FW_NPY_HEADER + 8 * i, (uint64_t)falling[i]);
  assert_true(test_write_file("d.npy.ids.npy", ids, sizeof ids));
  REFUSED(FURROW_AXIS_COLUMNS, "TextColumn", (void)0);
  for (size_t i = 0; i < 3; i++) fw_put_le64(ids + FW_NPY_HEADER + 8 * i, (uint64_t)rising[i]);
  assert_true(test_write_file("d.npy.ids.npy", ids, sizeof ids));
  REFUSED(FURROW_AXIS_COLUMNS, "TextColumn", parts.spec.first_col = 2; parts.spec.cols = 9);
#undef REFUSED
  furrow_model_import_params p = importing(FURROW_AXIS_COLUMNS);
  p.memory = 1;
  parts.spec.format = "TextColumn"; /* ids that ascend, of any sign */
  expect("d.npy", &p, FURROW_OK, "");
  assert_int_equal(unlink("d.npy.ids.npy"), 0);
  p = importing(FURROW_AXIS_ROWS);
  p.memory = 1;
  parts.spec.format = "ColIdValueText";
  parts.spec.rows = 5; /* two of them are not in the file */
  expect("d.npy", &p, FURROW_OK, "");
  parts.spec.format = "NoSuchFormat";
  expect("d.npy", &p, FURROW_E_NOT_FOUND, "no such format");
}

static void empty_tensors(void **state) {
  (void)state;
  const furrow_model_import_params p = importing(FURROW_AXIS_AUTO);
  assert_true(test_write_file("t.safetensors", "\2\0\0\0\0\0\0\0{}", 10));
  expect("t.safetensors", &p, FURROW_E_FORMAT, "there is no tensor in it");
}

/* Ids: as many as vectors, in any order. */
static void ids_of_vectors(void **state) {
  (void)state;
  static const int64_t falling[] = {9, 4, 6};
  unsigned char file[FW_NPY_HEADER + 24];
  furrow_model_import_params p = importing(FURROW_AXIS_ROWS);
  fw_npy_write_header((char *)file, "<i8", 1, 3, 0);
  for (size_t i = 0; i < 3; i++) fw_put_le64(file + FW_NPY_HEADER + 8 * i, (uint64_t)falling[i]);
  assert_true(test_write_file("d.npy.ids.npy", file, sizeof file));
  make_dense("d.npy", 3, 2);
  expect("d.npy", &p, FURROW_OK, "");
  make_dense("d.npy", 2, 3);
  expect("d.npy", &p, FURROW_E_FORMAT, "3 ids for 2 vectors");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(notes, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(archives, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(archives_of_many_rows, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(dense_files, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(flat_arrays, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(dimensions_are_listed, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(packed_files, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(no_way_through, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(empty_tensors, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(ids_of_vectors, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
