/* tests/unit/array/test_array_vecs.c: fvecs, ivecs, bvecs, fbin, ibin, u8bin, i8bin: read, written, refused, as
 * streams. */
#include <fcntl.h>
#include <zlib.h>

#include "array/array.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

static const char *const names[] = {"a.fvecs", "a.ivecs", "a.bvecs", "a.fbin", "a.ibin", "a.u8bin", "a.i8bin"};
#define NAMES (sizeof names / sizeof names[0])

/* 7 rows of 5 elements that no byte order leaves alone. */
static void make_file(const char *path, fw_array_kind kind, bool known) {
  fw_array_write_params params = {.kind = kind, .dim = 5, .rows = known ? 7 : FW_ARRAY_UNKNOWN, .replace = true};
  fw_array_writer *w = NULL;
  unsigned char bytes[7 * 5 * 4];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7 % 120);
  assert_int_equal(fw_array_writer_open(&w, path, &params, NULL), FURROW_OK);
  const size_t size = kind == FW_ARRAY_BVECS || kind >= FW_ARRAY_U8BIN ? 1 : 4;
  assert_int_equal(fw_array_writer_put(w, bytes, 12, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_put(w, bytes + 12 * size, 23, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_commit(w, NULL), FURROW_OK);
  fw_array_writer_close(w);
}

static void check_rows(fw_array_reader *r) {
  const fw_array_info *info = fw_array_get_info(r);
  const size_t size = fw_array_type_size(info->type);
  unsigned char rows[9 * 5 * 4];
  size_t got, all = 0;
  for (size_t n = 1; all < 7; n++, all += got) {
    assert_int_equal(fw_array_read(r, rows, n, &got, NULL), FURROW_OK);
    assert_int_equal(got, n < 7 - all ? n : 7 - all);
    for (size_t i = 0; i < got * 5 * size; i++) assert_int_equal(rows[i], (all * 5 * size + i) * 7 % 120);
  }
  assert_int_equal(fw_array_read(r, rows, 2, &got, NULL), FURROW_OK);
  assert_int_equal(got, 0);
}

static void written_and_read(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * NAMES; i++) {
    fw_array_kind kind;
    fw_array_reader *r = NULL;
    assert_int_equal(fw_array_kind_of(&kind, names[i / 2], NULL), FURROW_OK);
    assert_int_equal(kind, FW_ARRAY_FVECS + i / 2);
    make_file(names[i / 2], kind, i & 1);
    assert_int_equal(fw_array_open(&r, names[i / 2], FW_ARRAY_AUTO, NULL), FURROW_OK);
    const fw_array_info *info = fw_array_get_info(r);
    assert_int_equal(info->rows, 7);
    assert_int_equal(info->dim, 5);
    check_rows(r);
    assert_int_equal(fw_array_seek(r, 0, NULL), FURROW_OK);
    check_rows(r);
    /* converted, and from the middle */
    float rows[2][5], part[3];
    size_t got;
    assert_int_equal(fw_array_seek(r, 5, NULL), FURROW_OK);
    assert_int_equal(fw_array_read_as(r, FW_ARRAY_F32, rows, 9, &got, NULL), FURROW_OK);
    assert_int_equal(got, 2);
    assert_int_equal(fw_array_read_part(r, 6, 2, 3, FW_ARRAY_F32, part, NULL), FURROW_OK);
    assert_memory_equal(part, rows[1] + 2, sizeof part);
    fw_array_close(r);
  }
}

/* The first bytes are the ones that everybody writes. */
static void bytes(void **state) {
  (void)state;
  unsigned char head[16];
  make_file("b.fvecs", FW_ARRAY_FVECS, false);
  FILE *file = fopen("b.fvecs", "rb");
  assert_int_equal(fread(head, 1, 8, file), 8);
  fclose(file);
  fw_swap_le(head + 4, 4, 1); /* an element */
  assert_memory_equal(head, "\5\0\0\0\0\7\16\25", 8);
  make_file("b.fbin", FW_ARRAY_FBIN, false);
  file = fopen("b.fbin", "rb");
  assert_int_equal(fread(head, 1, 12, file), 12);
  fclose(file);
  fw_swap_le(head + 8, 4, 1);
  assert_memory_equal(head, "\7\0\0\0\5\0\0\0\0\7\16\25", 12);
}

static void compressed(void **state) {
  (void)state;
  for (size_t i = 0; i < NAMES; i++) {
    char raw[1000], path[64];
    make_file(names[i], (fw_array_kind)(FW_ARRAY_FVECS + i), true);
    FILE *file = fopen(names[i], "rb");
    const size_t n = fread(raw, 1, sizeof raw, file);
    fclose(file);
    snprintf(path, sizeof path, "%s.gz", names[i]);
    gzFile packed = gzopen(path, "wb");
    assert_int_equal(gzwrite(packed, raw, (unsigned)n), n);
    assert_int_equal(gzclose(packed), Z_OK);
    fw_array_reader *r = NULL;
    assert_int_equal(fw_array_open(&r, path, FW_ARRAY_AUTO, NULL), FURROW_OK);
    assert_false(fw_array_get_info(r)->can_seek);
    assert_int_equal(fw_array_get_info(r)->rows, i < 3 ? FW_ARRAY_UNKNOWN : 7);
    check_rows(r);
    assert_int_equal(fw_array_seek(r, 1, NULL), FURROW_E_STATE);
    fw_array_close(r);
  }
}

static void refuse(const char *path, const void *data, size_t size, furrow_status wanted, const char *message) {
  fw_array_reader *r = NULL;
  furrow_error err;
  size_t got;
  char rows[4096];
  assert_true(test_write_file(path, data, size));
  furrow_status status = fw_array_open(&r, path, FW_ARRAY_AUTO, &err);
  if (status == FURROW_OK) status = fw_array_read(r, rows, 10, &got, &err);
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s, %s; not %s, %s", furrow_status_name(status), err.message, furrow_status_name(wanted), message);
  fw_array_close(r);
}

static void refused(void **state) {
  (void)state;
  refuse("r.fvecs", "\1\0", 2, FURROW_E_FORMAT, "ends within the first count");
  refuse("r.fvecs", "\0\0\0\0", 4, FURROW_E_FORMAT, "0 elements");
  refuse("r.fvecs", "\xff\xff\xff\xff", 4, FURROW_E_FORMAT, "-1 elements");
  refuse("r.fvecs", "\xff\xff\xff\x7f", 4, FURROW_E_FORMAT, "not a whole number of vectors");
  refuse("r.bvecs", "\1\0\0\0x\1\0\0", 8, FURROW_E_FORMAT, "not a whole number of vectors");
  refuse("r.bvecs", "\1\0\0\0x\2\0\0\0x", 10, FURROW_E_FORMAT, "a vector of 2 elements among vectors of 1");
  refuse("r.fbin", "\1\0\0\0\1", 5, FURROW_E_FORMAT, "ends within the counts");
  refuse("r.fbin", "\1\0\0\0\1\0\0\0", 8, FURROW_E_FORMAT, "1 row of 4 bytes is announced, 0 bytes are there");
  refuse("r.fbin", "\xff\xff\xff\xff\xff\xff\xff\xff", 8, FURROW_E_FORMAT, "too large");
  refuse("r.u8bin", "\1\0\0\0\1\0\0\0xy", 10, FURROW_E_FORMAT, "2 bytes are there");
  refuse("r.u8bin", "\1\0\0\0\0\0\0\0", 8, FURROW_E_FORMAT, "no elements");
}

static void empty(void **state) {
  (void)state;
  fw_array_reader *r = NULL;
  size_t got;
  assert_true(test_write_file("e.fvecs", "", 0));
  assert_int_equal(fw_array_open(&r, "e.fvecs", FW_ARRAY_AUTO, NULL), FURROW_OK);
  assert_int_equal(fw_array_get_info(r)->rows, 0);
  assert_int_equal(fw_array_read(r, &got, 1, &got, NULL), FURROW_OK);
  assert_int_equal(got, 0);
  fw_array_close(r);
}

/* Standard input: the same rows, and a row that is too long for a stream. */
static void from_stdin(void **state) {
  (void)state;
  make_file("s.fvecs", FW_ARRAY_FVECS, true);
  const int old = dup(STDIN_FILENO);
  int fd = open("s.fvecs", O_RDONLY);
  assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
  close(fd);
  fw_array_reader *r = NULL;
  assert_int_equal(fw_array_open(&r, "-", FW_ARRAY_FVECS, NULL), FURROW_OK);
  check_rows(r);
  fw_array_close(r);
  assert_true(test_write_file("t.fbin", "\1\0\0\0\0\0\0\x40", 8));
  fd = open("t.fbin", O_RDONLY);
  assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
  close(fd);
  assert_int_equal(fw_array_open(&r, "-", FW_ARRAY_FBIN, NULL), FURROW_E_RANGE);
  assert_int_equal(dup2(old, STDIN_FILENO), STDIN_FILENO);
  close(old);
}

static void too_many(void **state) {
  (void)state;
  fw_array_writer *w = NULL;
  fw_array_write_params params = {.kind = FW_ARRAY_FBIN, .dim = 5, .rows = (uint64_t)UINT32_MAX + 1};
  assert_int_equal(fw_array_writer_open(&w, "m.fbin", &params, NULL), FURROW_E_RANGE);
  params = (fw_array_write_params){.kind = FW_ARRAY_FVECS, .dim = (size_t)1 << 31, .rows = 1};
  assert_int_equal(fw_array_writer_open(&w, "m.fvecs", &params, NULL), FURROW_E_RANGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_and_read), cmocka_unit_test(bytes), cmocka_unit_test(compressed),
      cmocka_unit_test(refused),          cmocka_unit_test(empty), cmocka_unit_test(from_stdin),
      cmocka_unit_test(too_many),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
