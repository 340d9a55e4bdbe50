/* tests/unit/vector/test_vectors_in.c: vectors and ids from files and matrices, samples, exact search, rows written. */
#include <float.h>
#include <math.h>

#include "base/endian.h"
#include "base/rng.h"
#include "furrow/vector_data.h"
#include "support/failing_alloc.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"
#include "support/packed_file.h"

enum { D = 3, N = 5 };

/* ---- Files ---------------------------------------------------------------------------------------------- */

static float value_at(size_t row, size_t i) {
  return (float)(10 * row + i);
}

static void write_rows(const char *path, const void *rows, size_t n, size_t dim, bool ids) {
  furrow_vectors_writer_params params;
  furrow_vectors_writer *out = NULL;
  furrow_error err;
  furrow_vectors_writer_params_init(&params);
  params.dim = dim;
  params.ids = ids;
  params.overwrite = true;
  assert_int_equal(furrow_vectors_writer_open(&out, path, &params, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_writer_write(out, rows, n, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_writer_commit(out, &err), FURROW_OK);
  furrow_vectors_writer_close(out);
}

static void make_vectors(float *values) {
  for (size_t i = 0; i < N * D; i++) values[i] = value_at(i / D, i % D);
}

/* Reads in steps, twice. */
static void check_vectors(const char *path, const furrow_vectors_reader_params *params, size_t step) {
  furrow_vectors_reader *v = NULL;
  furrow_error err;
  float values[N * D];
  int64_t ids[N];
  assert_int_equal(furrow_vectors_reader_open(&v, path, params, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_reader_dimension(v), D);
  assert_int_equal(furrow_vectors_reader_count(v), N);
  assert_false(furrow_vectors_reader_has_ids(v));
  assert_string_equal(furrow_vectors_reader_path(v), path);
  for (int pass = 0; pass < 2; pass++) {
    size_t done = 0, got = 1;
    while (got > 0) {
      assert_int_equal(furrow_vectors_reader_next(v, step, values, ids, &got, &err), FURROW_OK);
      for (size_t i = 0; i < got; i++, done++) {
        assert_int_equal(ids[i], done);
        for (size_t k = 0; k < D; k++) assert_true(values[i * D + k] == value_at(done, k));
      }
    }
    assert_int_equal(done, N);
    assert_int_equal(furrow_vectors_reader_rewind(v, &err), FURROW_OK);
  }
  furrow_vectors_reader_close(v);
}

static void test_kinds(void **state) {
  static const char *const paths[] = {"v.fvecs", "v.fbin", "v.npy", "v.f32"};
  float values[N * D];
  furrow_vectors_reader_params params;
  (void)state;
  make_vectors(values);
  furrow_vectors_reader_params_init(&params);
  params.d = D;
  for (size_t i = 0; i < 4; i++) {
    write_rows(paths[i], values, N, D, false);
    for (size_t step = 1; step <= N; step++) check_vectors(paths[i], &params, step);
  }
  check_vectors("v.fvecs", NULL, 2);
}

/* Bytes and integers become floats. */
static void test_integers(void **state) {
  uint8_t bytes[N * (D + 4)] = {0};
  int64_t ids[N * D];
  (void)state;
  for (size_t i = 0; i < N; i++) {
    bytes[i * (D + 4)] = D;
    for (size_t k = 0; k < D; k++) bytes[i * (D + 4) + 4 + k] = (uint8_t)value_at(i, k);
  }
  assert_true(test_write_file("v.bvecs", bytes, sizeof bytes));
  check_vectors("v.bvecs", NULL, 2);
  for (size_t i = 0; i < N * D; i++) ids[i] = (int64_t)value_at(i / D, i % D);
  write_rows("v.ivecs", ids, N, D, true);
  check_vectors("v.ivecs", NULL, 3);
  write_rows("w.npy", ids, N, D, true);
  check_vectors("w.npy", NULL, 4);
}

/* Compressed files do not say how many there are, and are opened once more to be read twice. */
static void test_compressed(void **state) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  float values[N * D], stored[N * D], read[N * D];
  size_t got = 0;
  (void)state;
  make_vectors(values);
  memcpy(stored, values, sizeof stored);
  fw_swap_le(stored, sizeof *stored, N * D);
  assert_true(packed_write("v.f32.gz", FW_FILE_GZIP, stored, sizeof stored, NULL));
  furrow_vectors_reader_params_init(&params);
  params.d = D;
  assert_int_equal(furrow_vectors_reader_open(&v, "v.f32.gz", &params, NULL), FURROW_OK);
  assert_true(furrow_vectors_reader_count(v) == FURROW_COUNT_UNKNOWN);
  for (int pass = 0; pass < 3; pass++) {
    assert_int_equal(furrow_vectors_reader_next(v, N, read, NULL, &got, NULL), FURROW_OK);
    assert_int_equal(got, N);
    assert_memory_equal(values, read, sizeof values);
    assert_int_equal(furrow_vectors_reader_rewind(v, NULL), FURROW_OK);
  }
  assert_int_equal(furrow_vectors_reader_next(v, 1, read, NULL, &got, NULL), FURROW_OK);
  assert_int_equal(remove("v.f32.gz"), 0);
  assert_int_equal(furrow_vectors_reader_rewind(v, NULL), FURROW_E_STATE);
  furrow_vectors_reader_close(v);
}

/* Vectors first … first + count - 1 of values, and no more, with a rewind between. */
static void check_part(furrow_vectors_reader *v, const float *values, size_t first, size_t count) {
  float read[N * D];
  int64_t ids[N];
  assert_int_equal(furrow_vectors_reader_count(v), count);
  for (int pass = 0; pass < 2; pass++) {
    size_t got = 0, more = 7;
    assert_int_equal(furrow_vectors_reader_next(v, N, read, ids, &got, NULL), FURROW_OK);
    assert_int_equal(got, count);
    assert_memory_equal(read, values + first * D, count * D * sizeof *read);
    for (size_t i = 0; i < got; i++) assert_int_equal(ids[i], first + i);
    assert_int_equal(furrow_vectors_reader_next(v, N, read, NULL, &more, NULL), FURROW_OK);
    assert_int_equal(more, 0);
    assert_int_equal(furrow_vectors_reader_rewind(v, NULL), FURROW_OK);
  }
}

static void restrict_twice(furrow_vectors_reader *v, const float *values) {
  furrow_error err;
  assert_int_equal(furrow_vectors_reader_restrict(v, 2, N - 3, &err), FURROW_OK);
  check_part(v, values, 2, N - 3);
  assert_int_equal(furrow_vectors_reader_restrict(v, 1, N - 3, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_vectors_reader_restrict(v, UINT64_MAX, 2, NULL), FURROW_E_ARGUMENT);
  check_part(v, values, 2, N - 3); /* as before */
  assert_int_equal(furrow_vectors_reader_restrict(v, 1, 1, &err), FURROW_OK);
  check_part(v, values, 3, 1);
}

/* A part of a part, of memory, of a file that seeks, and of one that has to be read from its start. */
static void test_parts(void **state) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_vectors_memory memory;
  furrow_error err;
  float values[N * D], stored[N * D];
  (void)state;
  make_vectors(values);
  memcpy(stored, values, sizeof stored);
  fw_swap_le(stored, sizeof *stored, N * D);
  write_rows("v.fvecs", values, N, D, false);
  assert_true(packed_write("v.f32.gz", FW_FILE_GZIP, stored, sizeof stored, NULL));
  assert_true(packed_write("v.f32.zst", FW_FILE_ZSTD, stored, sizeof stored, NULL));
  furrow_vectors_memory_init(&memory);
  memory.vectors = values;
  memory.count = N;
  memory.d = D;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_OK);
  restrict_twice(v, values);
  furrow_vectors_reader_close(v);
  furrow_vectors_reader_params_init(&params);
  params.d = D;
  static const char *const paths[] = {"v.fvecs", "v.f32.gz", "v.f32.zst"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    assert_int_equal(furrow_vectors_reader_open(&v, paths[i], &params, &err), FURROW_OK);
    assert_int_equal(furrow_vectors_reader_restrict(v, N + 1, 1, &err), FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "has no vectors"));
    assert_string_equal(err.file, paths[i]);
    restrict_twice(v, values);
    furrow_vectors_reader_close(v);
  }
}

static void test_cut_short(void **state) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err;
  float values[N * D];
  size_t got = 7;
  (void)state;
  make_vectors(values);
  assert_true(packed_write("v.f32.gz", FW_FILE_GZIP, values, sizeof values - 2, NULL));
  furrow_vectors_reader_params_init(&params);
  params.d = D;
  assert_int_equal(furrow_vectors_reader_open(&v, "v.f32.gz", &params, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_reader_next(v, N, values, NULL, &got, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "ends within a vector of 3 floats"));
  assert_int_equal(err.offset, sizeof values - 2);
  assert_int_equal(got, 7);
  assert_int_equal(furrow_vectors_reader_rewind(v, &err), FURROW_OK); /* the failure is behind the first vectors */
  assert_int_equal(furrow_vectors_reader_next(v, N - 1, values, NULL, &got, &err), FURROW_OK);
  assert_int_equal(got, N - 1);
  assert_int_equal(furrow_vectors_reader_restrict(v, N - 1, 1, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_reader_next(v, 1, values, NULL, &got, NULL), FURROW_E_FORMAT);
  assert_int_equal(furrow_vectors_reader_restrict(v, N, 1, NULL), FURROW_E_ARGUMENT);
  furrow_vectors_reader_close(v);
}

static void refuse(const char *path, const char *kind, size_t d, furrow_status status, const char *part) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err;
  furrow_vectors_reader_params_init(&params);
  params.kind = kind;
  params.d = d;
  assert_int_equal(furrow_vectors_reader_open(&v, path, &params, &err), status);
  assert_null(v);
  if (!strstr(err.message, part)) fail_msg("%s: %s, not %s", path, err.message, part);
}

static void test_refused(void **state) {
  float values[N * D];
  (void)state;
  make_vectors(values);
  write_rows("v.fvecs", values, N, D, false);
  write_rows("v.f32", values, N, D, false);
  refuse("v.fvecs", NULL, 7, FURROW_E_FORMAT, "vectors of 3 elements, not of 7");
  refuse("v.f32", NULL, 0, FURROW_E_ARGUMENT, "dimension");
  refuse("v.f32", NULL, 7, FURROW_E_FORMAT, "not a whole number of vectors of 7");
  refuse("v.f32", "fvec", 3, FURROW_E_ARGUMENT, "not a kind");
  refuse("values", NULL, 0, FURROW_E_ARGUMENT, "so its kind is unknown");
  refuse("nowhere.fvecs", NULL, 0, FURROW_E_NOT_FOUND, "");
  refuse("v.f32", "fvecs", 0, FURROW_E_FORMAT, "");
}

/* ---- Ids ------------------------------------------------------------------------------------------------ */

static void check_ids(const char *path, const char *kind, size_t dim, const int64_t *wanted, size_t count) {
  furrow_ids ids;
  furrow_ids_init(&ids);
  furrow_error err;
  assert_int_equal(furrow_ids_load(&ids, path, kind, &err), FURROW_OK);
  assert_int_equal(ids.count, count);
  assert_int_equal(ids.dim, dim);
  for (size_t i = 0; i < count; i++) assert_true(ids.ids[i] == wanted[i]);
  furrow_ids_clear(&ids);
  assert_null(ids.ids);
}

static void test_ids(void **state) {
  static const int64_t small[] = {4, -1, 2147483647, -2147483647 - 1, 0, 9}, large[] = {INT64_MAX, INT64_MIN, 0};
  furrow_ids ids;
  furrow_ids_init(&ids);
  furrow_error err;
  (void)state;
  write_rows("i.ivecs", small, 2, 3, true);
  check_ids("i.ivecs", NULL, 3, small, 6);
  write_rows("i.ibin", small, 3, 2, true);
  check_ids("i.ibin", NULL, 2, small, 6);
  write_rows("i.npy", large, 3, 1, true);
  check_ids("i.npy", NULL, 1, large, 3);
  write_rows("i.i64", large, 3, 1, true);
  check_ids("i.i64", NULL, 1, large, 3);
  assert_true(test_write_text("i.txt", "9223372036854775807, -9223372036854775808\n\n0"));
  check_ids("i.txt", NULL, 1, large, 3);
  check_ids("i.txt", "txt", 1, large, 3);
  assert_true(test_write_text("i.txt", "17 x4"));
  assert_int_equal(furrow_ids_load(&ids, "i.txt", NULL, &err), FURROW_E_PARSE);
  assert_int_equal(err.offset, 3);
  assert_string_equal(err.token, "x4");
  assert_true(test_write_text("i.txt", "9223372036854775808"));
  assert_int_equal(furrow_ids_load(&ids, "i.txt", NULL, &err), FURROW_E_PARSE);
  assert_true(test_write_text("j.i64", "1234567"));
  assert_int_equal(furrow_ids_load(&ids, "j.i64", NULL, &err), FURROW_E_FORMAT);
  assert_true(test_write_text("j.fvecs", ""));
  assert_int_equal(furrow_ids_load(&ids, "j.fvecs", NULL, &err), FURROW_E_FORMAT);
  assert_int_equal(furrow_ids_load(&ids, "i.txt", "xyz", &err), FURROW_E_ARGUMENT);
}

static void test_rows_out(void **state) {
  static const int64_t large[] = {1, 4294967296};
  furrow_vectors_writer_params params;
  furrow_vectors_writer *out = NULL;
  furrow_error err;
  (void)state;
  furrow_vectors_writer_params_init(&params);
  assert_int_equal(furrow_vectors_writer_open(&out, "o.ivecs", &params, &err), FURROW_E_ARGUMENT);
  params.dim = 2;
  assert_int_equal(furrow_vectors_writer_open(&out, "o.ivecs", &params, &err), FURROW_E_ARGUMENT); /* of floats */
  params.ids = true;
  assert_int_equal(furrow_vectors_writer_open(&out, "o.f32", &params, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_vectors_writer_open(&out, "o.ivecs", &params, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_writer_write(out, large, 1, &err), FURROW_E_RANGE);
  furrow_vectors_writer_close(out);
  assert_int_equal(test_entries("."), 0);
  write_rows("o.i64", large, 1, 2, true);
  assert_int_equal(furrow_vectors_writer_open(&out, "o.i64", &params, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_writer_write(out, large, 1, &err), FURROW_OK);
  assert_int_equal(furrow_vectors_writer_commit(out, &err), FURROW_E_EXISTS);
  furrow_vectors_writer_close(out);
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

static void count_release(void *user) {
  ++*(int *)user;
}

/* Rows of an array that is wider than its vectors, in blocks of any size; nothing but the blocks is a copy. */
static void check_memory(size_t stride, const int64_t *ids, size_t step) {
  float array[N * (D + 3)], block[N * D];
  int64_t block_ids[N];
  int released = 0;
  furrow_vectors_reader *v = NULL;
  furrow_vectors_memory memory;
  furrow_vectors_memory_init(&memory);
  memory.vectors = array;
  memory.count = N;
  memory.d = D;
  memory.stride = stride == D ? 0 : stride;
  memory.ids = ids;
  memory.release = count_release;
  memory.user = &released;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_OK);
  assert_int_equal(furrow_vectors_reader_count(v), N);
  assert_int_equal(furrow_vectors_reader_dimension(v), D);
  assert_int_equal(furrow_vectors_reader_has_ids(v), ids != NULL);
  assert_string_equal(furrow_vectors_reader_path(v), "");
  for (size_t i = 0; i < N * stride; i++) array[i] = i % stride < D ? value_at(i / stride, i % stride) : NAN;
  for (int pass = 0; pass < 2; pass++) {
    size_t row = 0, got = 1;
    while (got > 0) {
      assert_int_equal(furrow_vectors_reader_next(v, step, block, pass ? block_ids : NULL, &got, NULL), FURROW_OK);
      assert_true(got == step || row + got == N);
      for (size_t i = 0; i < got * D; i++) assert_true(block[i] == value_at(row + i / D, i % D));
      for (size_t i = 0; pass && i < got; i++) assert_int_equal(block_ids[i], ids ? ids[row + i] : (int64_t)(row + i));
      row += got;
    }
    assert_int_equal(row, N);
    assert_int_equal(furrow_vectors_reader_rewind(v, NULL), FURROW_OK);
  }
  assert_int_equal(released, 0);
  furrow_vectors_reader_close(v);
  assert_int_equal(released, 1);
}

static void test_memory(void **state) {
  int64_t ids[N];
  (void)state;
  for (size_t i = 0; i < N; i++) ids[i] = 1000 - (int64_t)i * 7;
  for (size_t step = 1; step <= N; step += 2) {
    check_memory(D, NULL, step);
    check_memory(D, ids, step);
    check_memory(D + 3, ids, step);
  }
}

static void test_memory_refused(void **state) {
  float array[D] = {0};
  int released = 0;
  furrow_vectors_reader *v = NULL;
  furrow_vectors_memory memory;
  (void)state;
  furrow_vectors_memory_init(&memory);
  memory.release = count_release;
  memory.user = &released;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_E_ARGUMENT); /* without d */
  memory.d = D;
  memory.count = 1;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_E_ARGUMENT); /* without vectors */
  memory.vectors = array;
  memory.stride = D - 1;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_E_ARGUMENT);
  memory.stride = 0;
  memory.count = SIZE_MAX / sizeof(float) / D + 1;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_E_ARGUMENT);
  assert_null(v);
  memory.count = 0;
  memory.vectors = NULL;
  assert_int_equal(furrow_vectors_reader_open_memory(&v, &memory, NULL), FURROW_OK); /* an empty array */
  assert_int_equal(released, 0);
  furrow_vectors_reader_close(v);
  assert_int_equal(released, 1);
}

/* ---- Matrices ------------------------------------------------------------------------------------------- */

static bool sometimes(int32_t row, int64_t col) {
  return col % 3 == 0 || (col % 3 == 1 && row % 2 == 0);
}

/* Columns in parts of any size give the same vectors. */
static void check_columns(const made *m, size_t memory, int64_t first, int64_t end) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err;
  float values[7 * 4];
  int64_t ids[7], col = 0;
  size_t got = 1;
  furrow_vectors_reader_params_init(&params);
  params.vectors = FURROW_AXIS_COLUMNS;
  params.memory = memory;
  params.first_id = first;
  params.end_id = end;
  made_check(furrow_vectors_reader_open_matrix(&v, "m", &params, &err), &err);
  assert_int_equal(furrow_vectors_reader_dimension(v), m->rows);
  assert_true(furrow_vectors_reader_has_ids(v));
  for (int pass = 0; pass < 2; pass++, got = 1) {
    for (col = first > 0 ? first : 0; got > 0;) {
      made_check(furrow_vectors_reader_next(v, 7, values, ids, &got, &err), &err);
      for (size_t i = 0; i < got; i++, col++) {
        while (!made_present(m, 0, col)) col++;
        assert_int_equal(ids[i], col);
        for (int32_t r = 0; r < m->rows; r++)
          assert_true(values[i * (size_t)m->rows + (size_t)r] ==
                      (float)(made_present(m, r, col) ? made_value(r, col) : 0));
      }
    }
    while (col < m->cols && !made_present(m, 0, col)) col++;
    assert_true(col >= (end < m->cols ? end : m->cols));
    made_check(furrow_vectors_reader_rewind(v, &err), &err);
  }
  furrow_vectors_reader_close(v);
}

static void test_columns(void **state) {
  static const char *const formats[] = {"TextColumnFormat", "BinaryColumnFormat", "RowIdColIdValueTextRowFormat"};
  (void)state;
  for (size_t f = 0; f < 3; f++) {
    for (int hash = 0; hash < 2; hash++) {
      made m = {.format = formats[f], .row_type = 3, .rows = 4, .cols = 200};
      m.block_cols = hash ? 0 : 60;
      m.hash_parts = hash ? 3 : 0;
      if (f == 2) m.present = sometimes;
      made_save("m", &m);
      check_columns(&m, (size_t)1 << 30, INT64_MIN, INT64_MAX);
      check_columns(&m, (size_t)1 << 30, 17, 63);
      if (!hash) check_columns(&m, 4096, INT64_MIN, INT64_MAX);
      assert_true(test_remove_dir("m"));
    }
  }
}

static void test_rows(void **state) {
  made m = {.row_type = 3, .rows = 6, .cols = 9, .present = sometimes};
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err;
  float values[6 * 9];
  int64_t ids[6];
  size_t got = 0;
  (void)state;
  for (int hash = 0; hash < 2; hash++) {
    m.hash_parts = hash ? 2 : 0;
    made_save("m", &m);
    furrow_vectors_reader_params_init(&params);
    params.first_id = 2;
    params.end_id = 5;
    made_check(furrow_vectors_reader_open_matrix(&v, "m", &params, &err), &err);
    /* hash partitions know only the columns that have elements: 0 … 7 */
    const size_t d = hash ? 8 : 9;
    assert_int_equal(furrow_vectors_reader_dimension(v), d);
    assert_int_equal(furrow_vectors_reader_count(v), 3);
    made_check(furrow_vectors_reader_next(v, 6, values, ids, &got, &err), &err);
    assert_int_equal(got, 3);
    for (int32_t i = 0; i < 3; i++) {
      assert_int_equal(ids[i], i + 2);
      for (size_t c = 0; c < d; c++)
        assert_true(values[(size_t)i * d + c] ==
                    (float)(sometimes(i + 2, (int64_t)c) ? made_value(i + 2, (int64_t)c) : 0));
    }
    furrow_vectors_reader_close(v);
    assert_true(test_remove_dir("m"));
  }
}

static void test_matrix_refused(void **state) {
  made m = {.format = "TextColumnFormat", .row_type = 3, .rows = 4, .cols = 100, .hash_parts = 2};
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err;
  (void)state;
  assert_int_equal(furrow_vectors_reader_open_matrix(&v, "nowhere", NULL, &err), FURROW_E_NOT_FOUND);
  made_save("m", &m);
  furrow_vectors_reader_params_init(&params);
  params.memory = 100;
  assert_int_equal(furrow_vectors_reader_open_matrix(&v, "m", &params, &err), FURROW_E_MEMORY);
  furrow_vectors_reader_params_init(&params);
  params.d = 5;
  assert_int_equal(furrow_vectors_reader_open_matrix(&v, "m", &params, &err), FURROW_E_FORMAT);
  assert_null(v);
}

static bool only_last(int32_t row, int64_t col) {
  (void)row;
  return col == 1 << 20;
}

static void test_long_rows(void **state) {
  made m = {.row_type = 3, .rows = 1, .cols = (1 << 20) + 1, .present = only_last};
  furrow_vectors_reader *v = NULL;
  furrow_error err;
  (void)state;
  made_save("m", &m);
  assert_int_equal(furrow_vectors_reader_open_matrix(&v, "m", NULL, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "its rows are too long for vectors");
  assert_string_equal(err.hint, "vectors may be its columns");
  assert_string_equal(err.file, "m");
  assert_int_equal(furrow_vectors_reader_open_matrix(&v, "m", NULL, NULL), FURROW_E_RANGE);
  assert_null(v);
}

/* ---- Samples -------------------------------------------------------------------------------------------- */

enum { SEEN = 400, KEPT = 40 };

static void draw(float *kept, size_t step, uint64_t seed) {
  furrow_reservoir *s = NULL;
  float values[SEEN * 2];
  for (size_t i = 0; i < (size_t)SEEN * 2; i++) values[i] = (float)(i / 2);
  assert_int_equal(furrow_reservoir_create(&s, 2, KEPT, seed, NULL), FURROW_OK);
  for (size_t i = 0; i < SEEN; i += step)
    assert_int_equal(furrow_reservoir_add(s, values + 2 * i, SEEN - i < step ? SEEN - i : step, NULL), FURROW_OK);
  assert_int_equal(furrow_reservoir_seen(s), SEEN);
  assert_int_equal(furrow_reservoir_count(s), KEPT);
  memcpy(kept, furrow_reservoir_vectors(s), 2 * KEPT * sizeof *kept);
  furrow_reservoir_free(s);
}

static void test_sample(void **state) {
  float kept[2 * KEPT], again[2 * KEPT];
  unsigned times[SEEN] = {0};
  (void)state;
  for (uint64_t seed = 0; seed < 1000; seed++) {
    draw(kept, SEEN, seed);
    draw(again, 1 + seed % 97, seed);
    assert_memory_equal(kept, again, sizeof kept);
    for (size_t i = 0; i < KEPT; i++) {
      assert_true(kept[2 * i] == kept[2 * i + 1]);
      for (size_t j = 0; j < i; j++) assert_true(kept[2 * i] != kept[2 * j]);
      times[(size_t)kept[2 * i]]++;
    }
  }
  /* each is expected 100 times, give or take 9.5 */
  for (size_t i = 0; i < SEEN; i++) assert_in_range(times[i], 55, 145);
}

static void test_small_sample(void **state) {
  furrow_reservoir *s = NULL;
  furrow_error err;
  const float values[] = {1, 2, 3};
  (void)state;
  assert_int_equal(furrow_reservoir_create(&s, 0, 5, 1, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_reservoir_create(&s, 1, 5, 1, &err), FURROW_OK);
  assert_int_equal(furrow_reservoir_add(s, values, 3, &err), FURROW_OK);
  assert_int_equal(furrow_reservoir_count(s), 3);
  assert_memory_equal(furrow_reservoir_vectors(s), values, sizeof values);
  furrow_reservoir_free(s);
  furrow_reservoir_free(NULL);
}

/* ---- Exact search --------------------------------------------------------------------------------------- */

enum { BASE = 9000, QUERIES = 21, DIM = 19, NEAR = 12 };

static double distance(const float *x, const float *y, bool similarity) {
  double sum = 0;
  for (size_t i = 0; i < DIM; i++)
    sum += similarity ? -(double)x[i] * y[i] : ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
  return sum;
}

static void check_exact(const float *base, const float *queries, bool similarity, unsigned threads) {
  furrow_vectors_reader *v = NULL;
  furrow_exact_search_params params;
  furrow_error err;
  float distances[QUERIES * NEAR];
  int64_t ids[QUERIES * NEAR];
  furrow_exact_search_params_init(&params);
  params.metric = similarity ? FURROW_METRIC_IP : FURROW_METRIC_L2;
  params.threads = threads;
  made_check(furrow_vectors_reader_open(&v, "b.fvecs", NULL, &err), &err);
  made_check(furrow_exact_search(v, queries, QUERIES, NEAR, &params, distances, ids, &err), &err);
  for (size_t q = 0; q < QUERIES; q++) {
    size_t nearer = 0;
    const double last = distance(queries + q * DIM, base + ids[q * NEAR + NEAR - 1] * DIM, similarity);
    for (size_t i = 0; i < BASE; i++) /* a NaN is not */
      nearer += distance(queries + q * DIM, base + i * DIM, similarity) < last - 1e-4;
    assert_true(nearer < NEAR);
    for (size_t i = 0; i < NEAR; i++) {
      const double own = distance(queries + q * DIM, base + ids[q * NEAR + i] * DIM, similarity);
      assert_true(fabs(own - (similarity ? -1 : 1) * (double)distances[q * NEAR + i]) < 1e-4);
      if (i > 0)
        assert_true(similarity ? distances[q * NEAR + i - 1] >= distances[q * NEAR + i]
                               : distances[q * NEAR + i - 1] <= distances[q * NEAR + i]);
    }
  }
  furrow_vectors_reader_close(v);
}

static void test_exact(void **state) {
  float *base = malloc(sizeof *base * BASE * DIM), queries[QUERIES * DIM];
  fw_rng rng;
  (void)state;
  assert_non_null(base);
  fw_rng_init(&rng, 3);
  for (size_t i = 0; i < (size_t)BASE * DIM; i++) base[i] = (float)fw_rng_normal(&rng) + 3;
  for (size_t i = 0; i < (size_t)QUERIES * DIM; i++) queries[i] = (float)fw_rng_normal(&rng) + 3;
  base[77 * DIM] = NAN;
  write_rows("b.fvecs", base, BASE, DIM, false);
  for (unsigned threads = 1; threads < 4; threads++) {
    check_exact(base, queries, false, threads);
    check_exact(base, queries, true, threads);
  }
  free(base);
}

/* Equal vectors: by ascending id, of products by descending one. */
static void test_exact_ties(void **state) {
  const float base[] = {1, 1, 1, 2}, query[] = {1};
  float distances[6];
  int64_t ids[6];
  furrow_vectors_reader *v = NULL;
  furrow_exact_search_params params;
  furrow_error err;
  (void)state;
  write_rows("b.fvecs", base, 4, 1, false);
  furrow_exact_search_params_init(&params);
  assert_int_equal(furrow_vectors_reader_open(&v, "b.fvecs", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_exact_search(v, query, 1, 6, NULL, distances, ids, &err), FURROW_OK);
  for (int64_t i = 0; i < 4; i++) assert_int_equal(ids[i], i);
  assert_int_equal(ids[4], -1);
  assert_true(distances[4] == FLT_MAX);
  params.metric = FURROW_METRIC_IP;
  assert_int_equal(furrow_vectors_reader_rewind(v, &err), FURROW_OK);
  assert_int_equal(furrow_exact_search(v, query, 1, 6, &params, distances, ids, &err), FURROW_OK);
  assert_int_equal(ids[0], 3);
  assert_int_equal(ids[1], 2);
  assert_int_equal(ids[3], 0);
  assert_true(distances[5] == -FLT_MAX);
  params.metric = FURROW_METRIC_L1;
  assert_int_equal(furrow_exact_search(v, query, 1, 1, &params, distances, ids, &err), FURROW_E_UNSUPPORTED);
  assert_int_equal(furrow_exact_search(v, query, 1, 0, NULL, distances, ids, &err), FURROW_E_ARGUMENT);
  furrow_vectors_reader_close(v);
}

/* ---- No memory ------------------------------------------------------------------------------------------ */

static furrow_status use_all(void) {
  furrow_vectors_reader *v = NULL, *m = NULL, *in_memory = NULL, *packed = NULL;
  furrow_vectors_memory memory;
  furrow_reservoir *s = NULL;
  furrow_ids ids;
  furrow_ids_init(&ids);
  furrow_vectors_reader_params params;
  float values[64], distances[4];
  int64_t near[4];
  size_t got;
  furrow_vectors_reader_params_init(&params);
  params.threads = 1;
  furrow_exact_search_params exact;
  furrow_exact_search_params_init(&exact);
  exact.threads = 1;
  furrow_vectors_memory_init(&memory);
  memory.vectors = values;
  memory.count = 1;
  memory.d = D;
  furrow_status status = furrow_vectors_reader_open_memory(&in_memory, &memory, NULL);
  if (status == FURROW_OK) status = furrow_vectors_reader_open(&v, "v.fvecs", NULL, NULL);
  if (status == FURROW_OK) status = furrow_vectors_reader_next(v, 4, values, NULL, &got, NULL);
  if (status == FURROW_OK) status = furrow_reservoir_create(&s, D, 2, 1, NULL);
  if (status == FURROW_OK) status = furrow_reservoir_add(s, values, 4, NULL);
  if (status == FURROW_OK) status = furrow_exact_search(v, values, 1, 4, &exact, distances, near, NULL);
  if (status == FURROW_OK) status = furrow_ids_load(&ids, "i.txt", NULL, NULL);
  if (status == FURROW_OK) status = furrow_vectors_reader_open_matrix(&m, "m", &params, NULL);
  if (status == FURROW_OK) status = furrow_vectors_reader_next(m, 4, values, NULL, &got, NULL);
  params.d = D;
  if (status == FURROW_OK) status = furrow_vectors_reader_open(&packed, "v.f32.gz", &params, NULL);
  if (status == FURROW_OK) status = furrow_vectors_reader_restrict(packed, 2, 1, NULL);
  furrow_vectors_reader_close(packed);
  furrow_vectors_reader_close(in_memory);
  furrow_vectors_reader_close(v);
  furrow_vectors_reader_close(m);
  furrow_reservoir_free(s);
  furrow_ids_clear(&ids);
  return status;
}

static void test_no_memory(void **state) {
  made m = {.format = "TextColumnFormat", .row_type = 3, .rows = 4, .cols = 100};
  float values[N * D];
  furrow_status status = FURROW_E_MEMORY;
  (void)state;
  if (!FAILING_ALLOC) skip();
  make_vectors(values);
  write_rows("v.fvecs", values, N, D, false);
  assert_true(packed_write("v.f32.gz", FW_FILE_GZIP, values, sizeof values, NULL));
  assert_true(test_write_text("i.txt", "1 2 3"));
  made_save("m", &m);
  assert_int_equal(use_all(), FURROW_OK);
  const long live = atomic_load(&alloc_live);
  for (long n = 1; status != FURROW_OK && n < 2000; n++) {
    alloc_fail_at(n);
    status = use_all();
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
    assert_int_equal(atomic_load(&alloc_live), live);
  }
  assert_int_equal(status, FURROW_OK);
}

static void expect_no_vectors(const char *folder, furrow_vectors_reader_params *params) {
  furrow_vectors_reader *reader = NULL;
  furrow_error err;
  float out[64];
  size_t got = 9;
  if (furrow_vectors_reader_open_matrix(&reader, folder, params, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(furrow_vectors_reader_count(reader), 0);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(furrow_vectors_reader_next(reader, 1, out, NULL, &got, &err), FURROW_OK);
    assert_int_equal(got, 0);
    assert_int_equal(furrow_vectors_reader_rewind(reader, &err), FURROW_OK);
  }
  furrow_vectors_reader_close(reader);
}

/* Ids that a matrix does not have: no vectors, of whatever dimension. */
static void test_no_vectors(void **state) {
  const made rows = {.format = "ColIdValueText", .row_type = 10, .rows = 4, .cols = 6};
  const made hashed = {.format = "ColIdValueText", .row_type = 10, .rows = 4, .cols = 6, .hash_parts = 2};
  static const char *const folders[] = {"rows", "hashed"};
  furrow_vectors_reader_params params;
  (void)state;
  made_save("rows", &rows);
  made_save("hashed", &hashed);
  for (size_t i = 0; i < 2; i++)
    for (int columns = 0; columns < (i == 0 ? 2 : 1); columns++)
      for (int d = 0; d < 8; d += 7) {
        furrow_vectors_reader_params_init(&params);
        params.vectors = columns ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
        params.threads = 1;
        params.d = (size_t)d;
        params.first_id = 1000;
        expect_no_vectors(folders[i], &params);
        params.first_id = INT64_MIN;
        params.end_id = -1;
        expect_no_vectors(folders[i], &params);
      }
}

/* Ids that 32 bits do not hold, kinds that are only read, and samples of nothing. */
static void test_writers_refused(void **state) {
  static const int64_t ids[] = {(int64_t)INT32_MIN - 1, (int64_t)INT32_MAX + 1};
  furrow_vectors_writer_params params;
  furrow_vectors_writer *out = NULL;
  furrow_reservoir *sample = NULL;
  furrow_error err;
  (void)state;
  furrow_vectors_writer_params_init(&params);
  params.dim = 1;
  assert_int_equal(furrow_vectors_writer_open(&out, "x.bvecs", &params, &err), FURROW_E_ARGUMENT);
  params.ids = true;
  assert_int_equal(furrow_vectors_writer_open(&out, "x.u8bin", &params, &err), FURROW_E_ARGUMENT);
  assert_null(out);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(furrow_vectors_writer_open(&out, "x.ivecs", &params, &err), FURROW_OK);
    assert_int_equal(furrow_vectors_writer_write(out, &ids[i], 1, &err), FURROW_E_RANGE);
    furrow_vectors_writer_close(out);
    assert_int_not_equal(access("x.ivecs", F_OK), 0);
  }
  assert_int_equal(furrow_reservoir_create(&sample, 0, 1, 1, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "d must be set");
  assert_int_equal(furrow_reservoir_create(&sample, 1, 0, 1, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "size must be set");
  assert_int_equal(furrow_reservoir_create(&sample, SIZE_MAX / 2, 1, 1, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_reservoir_create_part(&sample, 1, 1, 1, 11, 0, 10, &err), FURROW_E_ARGUMENT);
  assert_null(sample);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)

/* Names that look like those of a kind, and ids that are not integers. */
static void test_names_and_ids_refused(void **state) {
  static const char *const paths[] = {".f32", "xf32", "x.f32x"};
  static const char *const types[] = {"<f8", "<f2", "<f4"};
  furrow_vectors_reader_params params;
  furrow_vectors_reader *reader = NULL;
  furrow_ids ids = {0};
  furrow_error err;
  (void)state;
  furrow_vectors_reader_params_init(&params);
  params.d = 1;
  for (size_t i = 0; i < 3; i++) {
    assert_true(test_write_file(paths[i], "\0\0\0\0", 4));
    assert_int_equal(furrow_vectors_reader_open(&reader, paths[i], &params, &err), FURROW_E_ARGUMENT);
    assert_null(reader);
  }
  for (size_t i = 0; i < 3; i++) {
    char file[128 + 8] = "\x93NUMPY\1\0\x76\0";
    const int length = snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }", types[i]);
    memset(file + 10 + length, ' ', 117 - (size_t)length);
    file[127] = '\n';
    assert_true(test_write_file("r.npy", file, 128 + (i == 0 ? 8 : i == 1 ? 2 : 4)));
    assert_int_equal(furrow_ids_load(&ids, "r.npy", NULL, &err), FURROW_E_FORMAT);
    assert_string_equal(err.message, "has real numbers where ids are wanted");
    assert_string_equal(err.file, "r.npy");
    assert_null(ids.ids);
  }
  assert_true(test_write_text("i.txt", "12 34x 5\n"));
  assert_int_equal(furrow_ids_load(&ids, "i.txt", NULL, &err), FURROW_E_PARSE);
  assert_string_equal(err.token, "34x");
  assert_true(test_write_text("i.txt", "12 3-4\n"));
  assert_int_equal(furrow_ids_load(&ids, "i.txt", NULL, &err), FURROW_E_PARSE);
  assert_string_equal(err.token, "3-4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_kinds),
      TEST(test_compressed),
      TEST(test_integers),
      TEST(test_refused),
      TEST(test_ids),
      TEST(test_rows_out),
      TEST(test_columns),
      TEST(test_rows),
      TEST(test_matrix_refused),
      TEST(test_sample),
      TEST(test_small_sample),
      TEST(test_exact),
      TEST(test_exact_ties),
      TEST(test_no_memory),
      TEST(test_memory),
      TEST(test_memory_refused),
      TEST(test_parts),
      TEST(test_cut_short),
      TEST(test_long_rows),
      TEST(test_names_and_ids_refused),
      TEST(test_no_vectors),
      TEST(test_writers_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
