/* tests/unit/array/test_tensor_limits.c: safetensors files at the edge of what is taken. */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "array/safetensors.h"
#include "base/endian.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

#define PATH "a.safetensors"

/* Writes a header that claims a length, which the file need not have, and data of zeros. */
static void write_file(uint64_t length, const char *header, off_t size) {
  unsigned char bytes[8];
  const int fd = open(PATH, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  fw_put_le64(bytes, length);
  assert_int_equal(pwrite(fd, bytes, 8, 0), 8);
  assert_int_equal(pwrite(fd, header, strlen(header), 8), (ssize_t)strlen(header));
  if (size >= 0) assert_int_equal(ftruncate(fd, size), 0);
  assert_int_equal(close(fd), 0);
}

static void expect(furrow_status wanted, uint64_t offset, const char *message) {
  fw_safetensors *file = NULL;
  furrow_error err = {0};
  const furrow_status status = fw_safetensors_open(&file, PATH, &err);
  if (status != wanted || (message && (err.offset != offset || !strstr(err.message, message))))
    fail_msg("%s, byte %" PRIu64 ": %s\n    not %s", furrow_status_name(status), err.offset, err.message, message);
  fw_safetensors_close(file);
  if (status != FURROW_OK) assert_int_equal(fw_safetensors_open(&file, PATH, NULL), wanted);
}

static void lengths(void **state) {
  (void)state;
  const uint64_t most = (uint64_t)100 << 20;
  write_file(0, "", 8);
  expect(FURROW_E_FORMAT, 8, "the header is not a JSON object");
  write_file(0, "", 7);
  expect(FURROW_E_FORMAT, 7, "ends within the length of the header");
  write_file(2, "{}", -1);
  expect(FURROW_OK, 0, NULL);
  write_file(3, "{}", -1);
  expect(FURROW_E_FORMAT, 0, "a header of 3 bytes: not a safetensors file");
  write_file(most, "[", (off_t)most + 8); /* a hole */
  expect(FURROW_E_FORMAT, 8, "the header is not a JSON object");
  write_file(most + 1, "[", (off_t)most + 9);
  expect(FURROW_E_FORMAT, 0, "a header of 104857601 bytes: not a safetensors file");
}

static void sizes(void **state) {
  (void)state;
  static const char wrong[] = "does not have as many bytes as its type and shape need";
  static const struct {
    const char *header;
    size_t data;
    furrow_status status;
    const char *message;
  } files[] = {
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, FURROW_OK, NULL},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, FURROW_E_FORMAT, wrong},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,0]}}", 0, FURROW_E_FORMAT, wrong},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[0,0]}}", 0, FURROW_OK, NULL},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, FURROW_OK, NULL},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, FURROW_E_FORMAT, wrong},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, FURROW_E_FORMAT,
       wrong},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, FURROW_E_FORMAT, "data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, FURROW_E_FORMAT, "has 1 number, not 2"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const size_t length = strlen(files[i].header);
    fw_safetensors *file = NULL;
    furrow_error err = {0};
    write_file(length, files[i].header, (off_t)(8 + length + files[i].data));
    const furrow_status status = fw_safetensors_open(&file, PATH, &err);
    if (status != files[i].status || (files[i].message && !strstr(err.message, files[i].message)))
      fail_msg("%s: %s %s", files[i].header, furrow_status_name(status), err.message);
    fw_safetensors_close(file);
  }
}

/* Two dimensions are read; three are listed, but not read. */
static void dimensions(void **state) {
  (void)state;
  static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                               "\"b\":{\"dtype\":\"F32\",\"shape\":[1,1,1],\"data_offsets\":[8,12]}}";
  fw_safetensors *file = NULL;
  fw_array_reader *reader = NULL;
  furrow_error err = {0};
  write_file(sizeof header - 1, header, 8 + sizeof header - 1 + 12);
  assert_int_equal(fw_safetensors_open(&file, PATH, &err), FURROW_OK);
  assert_int_equal(fw_safetensors_read(file, fw_safetensors_find(file, "a"), &reader, &err), FURROW_OK);
  fw_array_close(reader);
  assert_int_equal(fw_safetensors_read(file, fw_safetensors_find(file, "b"), &reader, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "b has 3 dimensions, not 1 or 2"));
  fw_safetensors_close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths),
      cmocka_unit_test(sizes),
      cmocka_unit_test(dimensions),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
