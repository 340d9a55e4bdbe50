/* tests/unit/array/test_bytes_in.c: bytes of files, streams and deflated parts: what can be sought, what is refused,
 * and the counts of arrays at their limits. */
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "array/array.h"
#include "array/bytes_in.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

static void write_gzip(const char *path, const void *bytes, size_t size) {
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, bytes, (unsigned)size), (int)size);
  assert_int_equal(gzclose(file), Z_OK);
}

static void only_plain_bytes_are_sought(void **state) {
  (void)state;
  static const unsigned char deflated[] = {1, 3, 0, 0xfc, 0xff, 'a', 'b', 'c'};
  const fw_bytes_part part = {.size = sizeof deflated, .deflated = true, .full_size = 3};
  fw_bytes_in *plain = NULL, *packed = NULL, *stream = NULL;
  furrow_error err;
  char text[4] = "";
  size_t got = 0;
  assert_true(test_write_file("x", deflated, sizeof deflated));
  write_gzip("x.gz", "abc", 3);
  assert_int_equal(fw_bytes_in_open(&plain, "x", NULL), FURROW_OK);
  assert_int_equal(fw_bytes_in_open_part(&packed, plain, &part, NULL), FURROW_OK);
  assert_int_equal(fw_bytes_in_open(&stream, "x.gz", NULL), FURROW_OK);
  assert_true(fw_bytes_in_can_seek(plain));
  assert_int_equal(fw_bytes_in_seek(plain, 5, NULL), FURROW_OK);
  assert_int_equal(fw_bytes_in_read(plain, text, 3, &got, NULL), FURROW_OK);
  assert_string_equal(text, "abc");
  fw_bytes_in *const others[] = {packed, stream};
  for (size_t i = 0; i < 2; i++) {
    assert_false(fw_bytes_in_can_seek(others[i]));
    assert_int_equal(fw_bytes_in_seek(others[i], 0, &err), FURROW_OK); /* where it is already */
    assert_int_equal(fw_bytes_in_seek(others[i], 1, &err), FURROW_E_STATE);
    assert_int_equal(fw_bytes_in_read(others[i], text, 3, &got, NULL), FURROW_OK);
    assert_string_equal(text, "abc");
    fw_bytes_in_close(others[i]);
  }
  fw_bytes_in_close(plain);
}

/* Deflated bytes, without a change, in blocks of at most 65,535. */
static size_t store(unsigned char *out, size_t size) {
  size_t n = 0;
  for (size_t left = size, length; left > 0; left -= length) {
    length = left < 65535 ? left : 65535;
    const unsigned char head[] = {left == length, (unsigned char)length, (unsigned char)(length >> 8),
                                  (unsigned char)~length, (unsigned char)(~length >> 8)};
    memcpy(out + n, head, sizeof head);
    memset(out + n + sizeof head, 'a', length);
    n += sizeof head + length;
  }
  return n;
}

typedef struct damage {
  size_t size, extra; /* of the inflated bytes; bytes behind the deflated ones */
  size_t cut;         /* what is left of the file when it is read; 0: all */
  int first;          /* the first byte; -1: as it is */
  const char *message;
} damage;

/* 131,062 bytes are deflated as 128 KiB, which are read at once. */
static void damaged_parts_are_refused(void **state) {
  (void)state;
  static const damage cases[] = {
      {131062, 0, 0, -1, NULL},
      {131062, 10, 0, -1, "the deflated bytes are damaged: other bytes follow"},
      {1000, 10, 0, -1, "the deflated bytes are damaged: other bytes follow"},
      {1000, 0, 500, -1, "the file became shorter while it was read"},
      {200000, 0, 150000, -1, "the file became shorter while it was read"},
      {1000, 0, 0, 7, "the deflated bytes are damaged: invalid block type"},
      {1000, 0, 0, 0, "the deflated bytes are damaged: cut short"},
  };
  unsigned char *bytes = malloc(300000);
  char *text = malloc(300000);
  assert_true(bytes && text);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const damage *c = &cases[i];
    fw_bytes_in *file = NULL, *in = NULL;
    furrow_error err = {0};
    size_t got = 77, n = store(bytes, c->size);
    memset(bytes + n, 0, c->extra);
    if (c->first >= 0) bytes[0] = (unsigned char)c->first;
    assert_true(test_write_file("x", bytes, n + c->extra));
    const fw_bytes_part part = {.size = n + c->extra, .deflated = true, .full_size = c->size};
    assert_int_equal(fw_bytes_in_open_plain(&file, "x", NULL), FURROW_OK);
    assert_int_equal(fw_bytes_in_open_part(&in, file, &part, NULL), FURROW_OK);
    if (c->cut) assert_int_equal(truncate("x", (off_t)c->cut), 0);
    const furrow_status status = fw_bytes_in_read(in, text, c->size, &got, &err);
    assert_int_equal(status, c->message ? FURROW_E_FORMAT : FURROW_OK);
    assert_int_equal(got, c->message ? 77 : c->size);
    if (c->message) assert_string_equal(err.message, c->message);
    if (c->message) assert_string_equal(err.file, "x");
    fw_bytes_in_close(in);
    fw_bytes_in_close(file);
  }
  free(bytes);
  free(text);
}

static void what_is_not_one_file_is_refused(void **state) {
  (void)state;
  fw_bytes_in *in = NULL;
  furrow_error err;
  assert_int_equal(mkdir("d", 0755), 0);
  assert_true(test_write_text("d/a", "x") && test_write_text("d/b", "y"));
  assert_int_equal(fw_bytes_in_open(&in, "d", &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "2 files, but one is expected");
  assert_string_equal(err.file, "d");
  assert_int_equal(fw_bytes_in_open_plain(&in, "d", &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "a directory, not a file");
  assert_int_equal(fw_bytes_in_open_plain(&in, "/dev/null", &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "not a regular file");
  assert_null(in);
}

/* ---- Arrays --------------------------------------------------------------------------------------------- */

static furrow_status open_npy(const char *dictionary, const void *data, size_t size, fw_array_reader **reader) {
  unsigned char bytes[256] = "\x93NUMPY\1";
  const size_t length = strlen(dictionary);
  assert_true(10 + length + size <= sizeof bytes);
  bytes[8] = (unsigned char)length;
  memcpy(bytes + 10, dictionary, length);
  memcpy(bytes + 10 + length, data, size);
  assert_true(test_write_file("x.npy", bytes, 10 + length + size));
  return fw_array_open(reader, "x.npy", FW_ARRAY_NPY, NULL);
}

/* No row, so no byte: a row may be as long as a quarter of the memory that there could be, and no longer. */
static void rows_have_a_longest(void **state) {
  (void)state;
  fw_array_reader *reader = NULL;
  assert_int_equal(
      open_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4611686018427387904), }", "", 0, &reader),
      FURROW_E_FORMAT);
  assert_null(reader);
  assert_int_equal(
      open_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4611686018427387903), }", "", 0, &reader),
      FURROW_OK);
  assert_int_equal(fw_array_get_info(reader)->rows, 0);
  assert_true(fw_array_get_info(reader)->dim == ((size_t)1 << 62) - 1);
  fw_array_close(reader);
}

/* A column is the same in both orders. */
static void one_real_dimension_has_one_order(void **state) {
  (void)state;
  static const char *const shapes[] = {"(3, 1)", "(1, 3)", "(3,)", "(1, 1)"};
  for (size_t i = 0; i < 4; i++) {
    fw_array_reader *reader = NULL;
    char dictionary[100];
    snprintf(dictionary, sizeof dictionary, "{'descr': '|u1', 'fortran_order': True, 'shape': %s, }", shapes[i]);
    assert_int_equal(open_npy(dictionary, "abc", i < 3 ? 3 : 1, &reader), FURROW_OK);
    fw_array_close(reader);
  }
  fw_array_reader *reader = NULL;
  assert_int_equal(open_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", "abcd", 4, &reader),
                   FURROW_E_UNSUPPORTED);
}

static void a_stream_of_numbers_has_no_count(void **state) {
  (void)state;
  static const unsigned char rows[] = {1, 0, 0, 0, 0, 0, 0x80, 0x3f, 1, 0, 0, 0, 0, 0, 0, 0x40};
  fw_array_reader *reader = NULL;
  furrow_error err;
  void *elements = NULL;
  size_t count = 77;
  write_gzip("x.fvecs.gz", rows, sizeof rows);
  assert_int_equal(fw_array_open(&reader, "x.fvecs.gz", FW_ARRAY_FVECS, NULL), FURROW_OK);
  assert_int_equal(fw_array_read_flat(reader, FW_ARRAY_F32, &elements, &count, &err), FURROW_E_STATE);
  assert_string_equal(err.message, "the number of rows is not known");
  assert_null(elements);
  assert_int_equal(count, 77);
  fw_array_close(reader);
}

static void endings_of_packed_files(void **state) {
  (void)state;
  static const char *const names[] = {"x.npy", "x.npy.gz", "x.npy.zst"};
  for (size_t i = 0; i < 3; i++) {
    fw_array_kind kind = FW_ARRAY_FVECS;
    assert_int_equal(fw_array_kind_of(&kind, names[i], NULL), FURROW_OK);
    assert_int_equal(kind, FW_ARRAY_NPY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_plain_bytes_are_sought),      cmocka_unit_test(damaged_parts_are_refused),
      cmocka_unit_test(what_is_not_one_file_is_refused),  cmocka_unit_test(rows_have_a_longest),
      cmocka_unit_test(one_real_dimension_has_one_order), cmocka_unit_test(a_stream_of_numbers_has_no_count),
      cmocka_unit_test(endings_of_packed_files),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
