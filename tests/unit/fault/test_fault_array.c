/* tests/unit/fault/test_fault_array.c: the n-th allocation or system call fails, for every n, while files of arrays are
 * read and written: the same numbers or none, the old file or the new one, and nothing leaks. */
#include "support/failing_alloc.h"

#include <zlib.h>

#include "array/array.h"
#include "array/npy.h"
#include "array/safetensors.h"
#include "array/zip.h"
#include "base/endian.h"
#include "base/mem.h"
#include "call_faults.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { COUNT = 30000, ROW = 10 };

static int64_t values[COUNT];

/* ---- What is written ------------------------------------------------------------------------------------ */

static furrow_status write_npy(furrow_error *err) {
  const fw_array_write_params params = {
      .kind = FW_ARRAY_NPY, .type = FW_ARRAY_I64, .dim = ROW, .rows = FW_ARRAY_UNKNOWN, .replace = true};
  fw_array_writer *w = NULL;
  furrow_status status = fw_array_writer_open(&w, "w.npy", &params, err);
  if (status == FURROW_OK) status = fw_array_writer_put(w, values, 0, err);
  for (size_t at = 0; status == FURROW_OK && at < COUNT; at += 5000)
    status = fw_array_writer_put(w, values + at, 5000, err);
  if (status == FURROW_OK) status = fw_array_writer_commit(w, err);
  fw_array_writer_close(w);
  return status;
}

static furrow_status write_fvecs(furrow_error *err) {
  const fw_array_write_params params = {.kind = FW_ARRAY_IVECS, .dim = ROW, .rows = FW_ARRAY_UNKNOWN, .replace = true};
  fw_array_writer *w = NULL;
  furrow_status status = fw_array_writer_open(&w, "w.ivecs", &params, err);
  if (status == FURROW_OK) status = fw_array_writer_put(w, values, COUNT, err);
  if (status == FURROW_OK) status = fw_array_writer_commit(w, err);
  fw_array_writer_close(w);
  return status;
}

static furrow_status write_npz(furrow_error *err) {
  fw_zip_writer *w = NULL;
  char head[FW_NPY_HEADER];
  fw_npy_write_header(head, FW_BIG_ENDIAN ? ">i8" : "<i8", 1, COUNT, 0);
  furrow_status status = fw_zip_writer_open(&w, "w.npz", true, err);
  for (int i = 0; i < 3 && status == FURROW_OK; i++) {
    char name[] = "a.npy";
    name[0] = (char)('a' + i);
    status = fw_zip_writer_begin(w, name, FW_NPY_HEADER, err);
    for (size_t at = 0; status == FURROW_OK && at < COUNT; at += 5000)
      status = fw_zip_writer_write(w, values + at, 5000 * sizeof *values, err);
    if (status == FURROW_OK) status = fw_zip_writer_end(w, head, err);
  }
  if (status == FURROW_OK) status = fw_zip_writer_commit(w, NULL, err);
  fw_zip_writer_close(w);
  return status;
}

static furrow_status write_tensors(furrow_error *err) {
  fw_safetensors_writer *w = NULL;
  const size_t capacity = (size_t)2 << 20; /* more than is written at once */
  furrow_status status = fw_safetensors_writer_open(&w, "w.safetensors", capacity, true, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_begin(w, "a", FW_ARRAY_I64, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_write(w, values, sizeof values, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_end(w, 1, COUNT, 0, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_note(w, "key", "value", err);
  if (status == FURROW_OK) status = fw_safetensors_writer_commit(w, err);
  fw_safetensors_writer_close(w);
  return status;
}

/* The deflated bytes of an npy file, alone in a file. */
static size_t packed_bytes, full_bytes;

static void pack_npy(void) {
  const size_t size = FW_NPY_HEADER + sizeof values;
  unsigned char *plain = malloc(size), *packed = malloc(2 * size);
  assert_true(plain && packed);
  fw_npy_write_header((char *)plain, FW_BIG_ENDIAN ? ">i8" : "<i8", 1, COUNT, 0);
  memcpy(plain + FW_NPY_HEADER, values, sizeof values);
  z_stream z = {.next_in = plain, .avail_in = (uInt)size, .next_out = packed, .avail_out = (uInt)(2 * size)};
  assert_int_equal(deflateInit2(&z, 0, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  full_bytes = size;
  packed_bytes = z.total_out;
  assert_int_equal(deflateEnd(&z), Z_OK);
  assert_true(test_write_file("packed", packed, packed_bytes));
  gzFile file = gzopen("r.npy.gz", "wb1");
  assert_int_equal(gzwrite(file, plain, (unsigned)size), (int)size);
  assert_int_equal(gzclose(file), Z_OK);
  free(plain);
  free(packed);
}

/* ---- What is read --------------------------------------------------------------------------------------- */

/* All numbers as doubles, and the reader closed. */
static furrow_status take_numbers(fw_array_reader *r, double *numbers, furrow_error *err) {
  void *all = NULL;
  size_t count = 0;
  furrow_status status = fw_array_read_flat(r, FW_ARRAY_F64, &all, &count, err);
  if (status == FURROW_OK) {
    assert_int_equal(count, COUNT);
    memcpy(numbers, all, COUNT * sizeof *numbers);
    fw_free(all);
  }
  fw_array_close(r);
  return status;
}

static furrow_status read_gzip(double *numbers, furrow_error *err) {
  fw_array_reader *r = NULL;
  const furrow_status status = fw_array_open(&r, "r.npy.gz", FW_ARRAY_AUTO, err);
  return status == FURROW_OK ? take_numbers(r, numbers, err) : status;
}

/* Of rows, by the part. */
static furrow_status read_npy(double *numbers, furrow_error *err) {
  fw_array_reader *r = NULL;
  size_t got = 0;
  furrow_status status = fw_array_open(&r, "w.npy", FW_ARRAY_AUTO, err);
  if (status != FURROW_OK) return status;
  status = fw_array_read_as(r, FW_ARRAY_F64, numbers, COUNT / ROW - 2, &got, err);
  if (status == FURROW_OK) status = fw_array_seek(r, COUNT / ROW - 2, err);
  if (status == FURROW_OK) status = fw_array_read_as(r, FW_ARRAY_F64, numbers + COUNT - 2 * ROW, 1, &got, err);
  if (status == FURROW_OK)
    status = fw_array_read_part(r, COUNT / ROW - 1, 0, ROW, FW_ARRAY_F64, numbers + COUNT - ROW, err);
  fw_array_close(r);
  return status;
}

static furrow_status read_part(double *numbers, furrow_error *err) {
  fw_bytes_in *file = NULL, *in = NULL;
  fw_array_reader *r = NULL;
  const fw_bytes_part part = {.size = packed_bytes, .deflated = true, .full_size = full_bytes};
  furrow_status status = fw_bytes_in_open_plain(&file, "packed", err);
  if (status != FURROW_OK) return status;
  status = fw_bytes_in_open_part(&in, file, &part, err);
  if (status == FURROW_OK) status = fw_array_take(&r, in, FW_ARRAY_NPY, err);
  if (status == FURROW_OK) status = take_numbers(r, numbers, err);
  fw_bytes_in_close(file);
  return status;
}

static furrow_status read_npz(double *numbers, furrow_error *err) {
  fw_zip *zip = NULL;
  fw_bytes_in *in = NULL;
  fw_array_reader *r = NULL;
  furrow_status status = fw_zip_open(&zip, "w.npz", err);
  if (status != FURROW_OK) return status;
  status = fw_zip_member_open(zip, 1, &in, err);
  if (status == FURROW_OK) status = fw_array_take(&r, in, FW_ARRAY_NPY, err);
  if (status == FURROW_OK) status = take_numbers(r, numbers, err);
  fw_zip_close(zip);
  return status;
}

static furrow_status read_tensors(double *numbers, furrow_error *err) {
  fw_safetensors *file = NULL;
  fw_array_reader *r = NULL;
  furrow_status status = fw_safetensors_open(&file, "w.safetensors", err);
  if (status != FURROW_OK) return status;
  status = fw_safetensors_read(file, fw_safetensors_find(file, "a"), &r, err);
  if (status == FURROW_OK) status = take_numbers(r, numbers, err);
  fw_safetensors_close(file);
  return status;
}

/* ---- Every one fails ------------------------------------------------------------------------------------ */

static furrow_status (*const readers[])(double *, furrow_error *) = {read_gzip, read_npy, read_part, read_npz,
                                                                     read_tensors};
static furrow_status (*const writers[])(furrow_error *) = {write_npy, write_fvecs, write_npz, write_tensors};
static const char *const written[] = {"w.npy", "w.ivecs", "w.npz", "w.safetensors"};
enum { READERS = sizeof readers / sizeof *readers, WRITERS = sizeof writers / sizeof *writers };

static double numbers[COUNT];

static void expect_numbers(void) {
  for (size_t i = 0; i < COUNT; i++)
    if (numbers[i] != (double)values[i]) fail_msg("number %zu is %g", i, numbers[i]);
}

static void reading_without_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t k = 0; k < READERS; k++) {
    bool failed = true;
    long n;
    for (n = 1; failed; n++) {
      const long live = atomic_load(&alloc_live);
      furrow_error err = {0};
      memset(numbers, 0, sizeof numbers);
      alloc_fail_at(n);
      const furrow_status status = readers[k](numbers, n % 2 ? &err : NULL);
      failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      if (status != (failed ? FURROW_E_MEMORY : FURROW_OK))
        fail_msg("reader %zu, allocation %ld: %s", k, n, furrow_status_name(status));
      if (failed && n % 2) assert_int_equal(err.status, FURROW_E_MEMORY);
      if (!failed) expect_numbers();
      if (atomic_load(&alloc_live) != live) fail_msg("reader %zu, allocation %ld: pieces are left", k, n);
    }
    assert_true(n > 4);
  }
}

static void reading_with_failing_calls(void **state) {
  (void)state;
  for (call_fault kind = FAULT_ERROR; kind < CALL_FAULTS; kind++)
    for (size_t k = 0; k < READERS; k++) {
      const size_t descriptors = open_descriptors();
      bool met = true;
      for (long n = 1; met; n++) {
        furrow_error err = {0};
        memset(numbers, 0, sizeof numbers);
        fault_at(kind, n);
        const furrow_status status = readers[k](numbers, &err);
        met = atomic_load(&fault_met);
        fault_at(kind, 0);
        if (kind != FAULT_ERROR || !met) assert_int_equal(status, FURROW_OK);
        if (status == FURROW_OK) expect_numbers();
        if (status != FURROW_OK && (status != FURROW_E_IO || !err.file[0] || !err.message[0]))
          fail_msg("reader %zu, %s: %s: %s", k, fault_call, furrow_status_name(status), err.message);
        assert_int_equal(open_descriptors(), descriptors);
      }
    }
}

static long size_of(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (long)info.st_size : -1;
}

static void expect_either(size_t k, long whole, furrow_status status) {
  const long size = size_of(written[k]);
  if (size != whole && (size != 3 || status == FURROW_OK)) fail_msg("%s has %ld bytes", written[k], size);
  assert_int_equal(test_entries("."), WRITERS + 2);
}

static void writing_without_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t k = 0; k < WRITERS; k++) {
    const long whole = size_of(written[k]);
    bool failed = true;
    long n;
    for (n = 1; failed; n++) {
      assert_true(test_write_text(written[k], "old"));
      const long live = atomic_load(&alloc_live);
      furrow_error err = {0};
      alloc_fail_at(n);
      const furrow_status status = writers[k](n % 2 ? &err : NULL);
      failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      if (status != FURROW_OK && (status != FURROW_E_MEMORY || size_of(written[k]) != 3))
        fail_msg("writer %zu, allocation %ld: %s", k, n, furrow_status_name(status));
      expect_either(k, whole, status);
      if (atomic_load(&alloc_live) != live) fail_msg("writer %zu, allocation %ld: pieces are left", k, n);
    }
    assert_true(n > 4);
  }
}

static void writing_with_failing_calls(void **state) {
  (void)state;
  fault_spares_fstat = true;
  for (call_fault kind = FAULT_ERROR; kind < CALL_FAULTS; kind++)
    for (size_t k = 0; k < WRITERS; k++) {
      const long whole = size_of(written[k]);
      const size_t descriptors = open_descriptors();
      bool met = true;
      for (long n = 1; met; n++) {
        furrow_error err = {0};
        assert_true(test_write_text(written[k], "old"));
        fault_at(kind, n);
        const furrow_status status = writers[k](&err);
        met = atomic_load(&fault_met);
        fault_at(kind, 0);
        if (kind != FAULT_ERROR || !met) assert_int_equal(status, FURROW_OK);
        if (status != FURROW_OK && (status != FURROW_E_IO || strcmp(err.file, written[k]) != 0))
          fail_msg("%s, %s: %s: %s", written[k], fault_call, furrow_status_name(status), err.message);
        expect_either(k, whole, status);
        assert_int_equal(open_descriptors(), descriptors);
      }
    }
}

static int make_files(void **state) {
  uint32_t seed = 7;
  if (enter_dir(state) != 0) return -1;
  for (size_t i = 0; i < COUNT; i++) values[i] = (int64_t)((seed = seed * 1664525 + 1013904223) >> 2);
  for (size_t k = 0; k < WRITERS; k++) assert_int_equal(writers[k](NULL), FURROW_OK);
  pack_npy();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_without_memory),
      cmocka_unit_test(reading_with_failing_calls),
      cmocka_unit_test(writing_without_memory),
      cmocka_unit_test(writing_with_failing_calls),
  };
  return cmocka_run_group_tests(tests, make_files, leave_dir);
}
