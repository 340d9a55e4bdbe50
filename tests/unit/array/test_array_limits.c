/* tests/unit/array/test_array_limits.c: arrays in compressed streams, whose size nothing tells, and counts at the edge
 * of what is taken. */
#include <inttypes.h>

#include "array/array.h"
#include "base/endian.h"
#include "base/mem.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"
#include "support/packed_file.h"

typedef struct sample {
  const char *path; /* .gz: packed */
  uint32_t words[6];
  size_t bytes; /* of the words */
  furrow_status status;
  uint64_t offset;
  const char *message; /* NULL: taken */
} sample;

static furrow_status read_all(const char *path, furrow_error *err) {
  fw_array_reader *reader = NULL;
  char rows[64];
  size_t got = 1;
  furrow_status status = fw_array_open(&reader, path, FW_ARRAY_AUTO, err);
  while (status == FURROW_OK && got > 0) status = fw_array_read(reader, rows, 1, &got, err);
  fw_array_close(reader);
  return status;
}

static void check(const sample *s, furrow_status status, const furrow_error *err) {
  if (status != s->status || (s->message && (err->offset != s->offset || !strstr(err->message, s->message))))
    fail_msg("%s: %s, byte %" PRIu64 ": %s", s->path, furrow_status_name(status), err->offset, err->message);
}

static void write_sample(const sample *s) {
  unsigned char bytes[sizeof s->words];
  for (size_t i = 0; i < sizeof s->words / 4; i++) fw_put_le32(bytes + 4 * i, s->words[i]);
  const bool packed = strstr(s->path, ".gz") != NULL;
  assert_true(packed_write(s->path, packed ? FW_FILE_GZIP : FW_FILE_PLAIN, bytes, s->bytes, NULL));
}

static void streams_and_counts(void **state) {
  (void)state;
  static const sample samples[] = {
      {"two.fvecs.gz", {2, 1, 1, 2, 1, 1}, 24, FURROW_OK, 0, NULL},
      {"cut.fvecs.gz", {2, 1, 1, 2, 1, 1}, 20, FURROW_E_FORMAT, 20, "ends within a vector"},
      {"mixed.fvecs.gz", {2, 1, 1, 1, 1, 1}, 24, FURROW_E_FORMAT, 12, "a vector of 1 element among vectors of 2"},
      {"longest.fvecs.gz", {1 << 24}, 4, FURROW_E_FORMAT, 4, "ends within a vector"},
      {"longer.fvecs.gz", {(1 << 24) + 1}, 4, FURROW_E_RANGE, 0, "rows of 67108868 bytes are too long for a stream"},
      {"none.fvecs.gz", {0}, 0, FURROW_OK, 0, NULL},
      {"count.fvecs.gz", {2}, 3, FURROW_E_FORMAT, 0, "ends within the first count"},
      {"zero.fvecs", {0, 0}, 8, FURROW_E_FORMAT, 0, "the first vector has 0 elements"},
      {"most.bvecs", {INT32_MAX}, 4, FURROW_E_FORMAT, 0, "not a whole number of vectors"},
      {"beyond.bvecs", {(uint32_t)INT32_MAX + 1}, 4, FURROW_E_FORMAT, 0, "the first vector has -2147483648 elements"},
      {"one.fbin.gz", {1, 2, 3, 4}, 16, FURROW_OK, 0, NULL},
      {"more.fbin.gz", {1, 2, 3, 4, 5}, 17, FURROW_E_FORMAT, 16, "continues after the last row"},
      {"less.fbin.gz", {2, 2, 3, 4, 5}, 20, FURROW_E_FORMAT, 20, "ends within"},
      {"head.fbin", {1, 2}, 7, FURROW_E_FORMAT, 7, "ends within the counts"},
      {"empty.fbin", {0, 0}, 8, FURROW_OK, 0, NULL},
      {"narrow.fbin", {3, 0}, 8, FURROW_E_FORMAT, 0, "its rows have no elements"},
      {"narrow.fbin.gz", {3, 0}, 8, FURROW_E_FORMAT, 0, "its rows have no elements"},
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    furrow_error err = {0};
    write_sample(&samples[i]);
    check(&samples[i], read_all(samples[i].path, &err), &err);
  }
}

/* A name is more than its ending. */
static void names(void **state) {
  (void)state;
  fw_array_kind kind = FW_ARRAY_AUTO;
  assert_int_equal(fw_array_kind_of(&kind, "a.npy", NULL), FURROW_OK);
  assert_int_equal(kind, FW_ARRAY_NPY);
  assert_int_equal(fw_array_kind_of(&kind, ".npy", NULL), FURROW_E_ARGUMENT);
  assert_int_equal(fw_array_kind_of(&kind, ".npy.gz", NULL), FURROW_E_ARGUMENT);
}

/* Elements that the wanted type does not hold, read by row and by part; rows where single elements are wanted. */
static void elements(void **state) {
  (void)state;
  static const sample wide = {"wide.fbin", {1, 2, 0x4f800000, 0}, 16, FURROW_E_RANGE, 8, ""};
  static const sample flat = {"wide.fbin", {0}, 0, FURROW_E_FORMAT, 0, "rows of 2 elements, but one is expected"};
  static const sample none = {"none.fbin", {0, 2}, 8, FURROW_OK, 0, NULL};
  fw_array_reader *reader = NULL;
  furrow_error err = {0};
  int32_t numbers[2];
  void *all = NULL;
  size_t got = 0;
  write_sample(&wide); /* 2^32, 0 */
  assert_int_equal(fw_array_open(&reader, wide.path, FW_ARRAY_AUTO, NULL), FURROW_OK);
  assert_int_equal(fw_array_read_as(reader, FW_ARRAY_I32, numbers, 1, &got, &err), FURROW_E_RANGE);
  assert_int_equal(fw_array_read_part(reader, 0, 0, 2, FW_ARRAY_I32, numbers, &err), FURROW_E_RANGE);
  assert_int_equal(fw_array_read_part(reader, 0, 1, 1, FW_ARRAY_I32, numbers, &err), FURROW_OK);
  check(&flat, fw_array_read_flat(reader, FW_ARRAY_F32, &all, &got, &err), &err);
  fw_array_close(reader);
  write_sample(&none);
  assert_int_equal(fw_array_open(&reader, none.path, FW_ARRAY_AUTO, NULL), FURROW_OK);
  check(&none, fw_array_read_flat(reader, FW_ARRAY_F32, &all, &got, &err), &err);
  assert_int_equal(got, 0);
  fw_free(all);
  fw_array_close(reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_and_counts),
      cmocka_unit_test(names),
      cmocka_unit_test(elements),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
