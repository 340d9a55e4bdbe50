/* tests/unit/vector/test_vectors_archive.c: vectors in npz and safetensors files. */
#include <string.h>

#include "array/npy.h"
#include "array/safetensors.h"
#include "array/zip.h"
#include "furrow/vector_data.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

static const float vectors[] = {1, 2.5F, -3, 4e2F, 5, 6};
enum { N = 2, D = 3 };

typedef struct member {
  const char *name;
  int dimensions;
  uint64_t rows, columns;
} member;

/* Writes arrays of floats, which begin like `vectors`. */
static void write_npz(const char *path, const member *members, size_t count) {
  fw_zip_writer *zip = NULL;
  assert_int_equal(fw_zip_writer_open(&zip, path, true, NULL), FURROW_OK);
  for (size_t i = 0; i < count; i++) {
    const member *m = &members[i];
    char head[FW_NPY_HEADER];
    const uint64_t rows = m->dimensions > 0 ? m->rows : 1, columns = m->dimensions > 1 ? m->columns : 1;
    fw_npy_write_header(head, "<f4", m->dimensions, m->rows, m->columns);
    assert_int_equal(fw_zip_writer_begin(zip, m->name, sizeof head, NULL), FURROW_OK);
    assert_int_equal(fw_zip_writer_write(zip, vectors, rows * columns * sizeof *vectors, NULL), FURROW_OK);
    assert_int_equal(fw_zip_writer_end(zip, head, NULL), FURROW_OK);
  }
  assert_int_equal(fw_zip_writer_commit(zip, NULL, NULL), FURROW_OK);
  fw_zip_writer_close(zip);
}

static void write_tensors(const char *path, const member *members, size_t count) {
  fw_safetensors_writer *file = NULL;
  assert_int_equal(fw_safetensors_writer_open(&file, path, 1024, true, NULL), FURROW_OK);
  for (size_t i = 0; i < count; i++) {
    const member *m = &members[i];
    const uint64_t rows = m->dimensions > 0 ? m->rows : 1, columns = m->dimensions > 1 ? m->columns : 1;
    assert_int_equal(fw_safetensors_writer_begin(file, m->name, FW_ARRAY_F32, NULL), FURROW_OK);
    assert_int_equal(fw_safetensors_writer_write(file, vectors, rows * columns * sizeof *vectors, NULL), FURROW_OK);
    assert_int_equal(fw_safetensors_writer_end(file, m->dimensions, m->rows, m->columns, NULL), FURROW_OK);
  }
  assert_int_equal(fw_safetensors_writer_commit(file, NULL), FURROW_OK);
  fw_safetensors_writer_close(file);
}

static furrow_vectors_reader *open_array(const char *path, const char *array, size_t d, furrow_status status,
                                         const char *part) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err = {0};
  furrow_vectors_reader_params_init(&params);
  params.array = array;
  params.d = d;
  const furrow_status found = furrow_vectors_reader_open(&v, path, &params, &err);
  if (found != status || !strstr(err.message, part)) fail_msg("%s: %d %s", path, (int)found, err.message);
  return v;
}

/* Checks the vectors in steps of 1 and of 2, and the end. */
static void expect_vectors(const char *path, const char *array, size_t n, size_t d) {
  furrow_vectors_reader *v = open_array(path, array, d, FURROW_OK, "");
  assert_int_equal(furrow_vectors_reader_count(v), n);
  assert_int_equal(furrow_vectors_reader_dimension(v), d);
  for (size_t step = 1; step <= 2; step++) {
    float out[2 * D];
    int64_t ids[2];
    size_t got = 1;
    assert_int_equal(furrow_vectors_reader_rewind(v, NULL), FURROW_OK);
    for (size_t row = 0; got > 0; row += got) {
      assert_int_equal(furrow_vectors_reader_next(v, step, out, ids, &got, NULL), FURROW_OK);
      assert_true(got <= step && row + got <= n);
      assert_memory_equal(out, vectors + row * d, got * d * sizeof *out);
      for (size_t i = 0; i < got; i++) assert_int_equal(ids[i], row + i);
      if (got == 0) assert_int_equal(row, n);
    }
  }
  furrow_vectors_reader_close(v);
}

static void (*const writers[])(const char *, const member *, size_t) = {write_npz, write_tensors};
static const char *const paths[] = {"a.npz", "a.safetensors"};

static void the_only_matrix_has_the_vectors(void **state) {
  static const member members[] = {{"ids", 1, N, 0}, {"vectors", 2, N, D}, {"width", 0, 0, 0}};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    writers[i](paths[i], members, 3);
    expect_vectors(paths[i], NULL, N, D);
    expect_vectors(paths[i], "vectors", N, D);
    expect_vectors(paths[i], "ids", N, 1);
    open_array(paths[i], "x", 0, FURROW_E_NOT_FOUND, "it has: ids, vectors, width");
    open_array(paths[i], NULL, 4, FURROW_E_FORMAT, "vectors of 3 elements, not of 4");
  }
}

static void numpy_names_end_in_npy(void **state) {
  static const member members[] = {{"a.npy", 2, 1, D}, {"b.npy", 2, N, D}};
  (void)state;
  write_npz("b.npz", members, 2);
  expect_vectors("b.npz", "b", N, D);
  expect_vectors("b.npz", "b.npy", N, D);
  open_array("b.npz", NULL, 0, FURROW_E_ARGUMENT, "several arrays of vectors, so the name of one is needed: a, b");
}

static void refused(void **state) {
  static const member flat[] = {{"a", 1, 4, 0}};
  member many[10];
  char names[10][8];
  (void)state;
  for (size_t i = 0; i < 10; i++) {
    snprintf(names[i], sizeof names[i], "m%zu", i);
    many[i] = (member){names[i], 2, N, D};
  }
  for (size_t i = 0; i < 2; i++) writers[i](paths[i], flat, 1);
  for (size_t i = 0; i < 2; i++) {
    open_array(paths[i], NULL, 0, FURROW_E_FORMAT, "has no array of numbers with two dimensions: a");
    writers[i](paths[i], many, 10);
    open_array(paths[i], NULL, 0, FURROW_E_ARGUMENT, "m6, m7, ...");
    furrow_vectors_reader_params params;
    furrow_vectors_reader *v = NULL;
    furrow_vectors_reader_params_init(&params);
    params.kind = strchr(paths[i], '.') + 1;
    assert_int_equal(furrow_vectors_reader_open(&v, "-", &params, NULL), FURROW_E_ARGUMENT);
    assert_int_equal(furrow_vectors_reader_open(&v, "absent", &params, NULL), FURROW_E_NOT_FOUND);
    assert_int_equal(furrow_vectors_reader_open(&v, paths[1 - i], &params, NULL), FURROW_E_FORMAT);
  }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(the_only_matrix_has_the_vectors), TEST(numpy_names_end_in_npy),
                                     TEST(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
