/* tests/unit/array/test_npy_header.c: every check of a header of npy refuses its own mistake: the place and the
 * message. The text of the header ends the file, so that nothing behind it can be taken for a part of it. */
#include <inttypes.h>

#include "array/npy.h"
#include "base/endian.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"
#include "support/packed_file.h"

enum { PREFIX = 10, WIDE_PREFIX = 12 };

static furrow_status read_header(const char *path, furrow_error *err) {
  fw_bytes_in *in = NULL;
  fw_npy_header header;
  furrow_status status = fw_bytes_in_open(&in, path, err);
  if (status == FURROW_OK) status = fw_npy_read_header(&header, in, err);
  fw_bytes_in_close(in);
  return status;
}

static void check(const char *what, furrow_status status, const furrow_error *err, furrow_status wanted,
                  uint64_t offset, const char *message) {
  if (status != wanted || (message && (err->offset != offset || !strstr(err->message, message))))
    fail_msg("%s: %s, byte %" PRIu64 ": %s", what, furrow_status_name(status), err->offset, err->message);
}

/* ---- The dictionary ---- */

#define TYPE "'descr':'<f4'"
#define ORDER "'fortran_order':False"
#define SHAPE "'shape':(2,)"
#define BAD FURROW_E_FORMAT
#define UNKNOWN FURROW_E_UNSUPPORTED

static const char no_dictionary[] = "the header is not a dictionary";
static const char no_tuple[] = "the header has a shape that is not a tuple";
static const char no_numbers[] = "the header has a shape that is not a tuple of numbers";
static const char no_string[] = "the header has a descr that is not a string";
static const char no_type[] = "the header has a type of elements that is not supported";
static const char no_order[] = "the header has a fortran_order that is neither True nor False";

static const struct {
  const char *text;
  furrow_status status;
  size_t place; /* in the text */
  const char *message;
} texts[] = {
    {"{" TYPE "," ORDER "," SHAPE "}", FURROW_OK, 0, NULL},
    {" {\"descr\" : \"<f4\" ,\t" SHAPE " , \r" ORDER ", } \n", FURROW_OK, 0, NULL},
    {"{" TYPE "," ORDER ",'shape':()}", FURROW_OK, 0, NULL},
    {"{" TYPE "," ORDER ",'shape':(1L,2)}", FURROW_OK, 0, NULL},
    {"{" TYPE "," ORDER ",'shape':(18446744073709551615,)}", FURROW_OK, 0, NULL},
    {"{'descr':'|O'," ORDER "," SHAPE "}", FURROW_OK, 0, NULL},
    {"", BAD, 0, no_dictionary},
    {"[", BAD, 0, no_dictionary},
    {"{", BAD, 1, no_dictionary},
    {"{descr", BAD, 1, no_dictionary},
    {"{'descr", BAD, 1, no_dictionary},
    {"{'de\\scr':", BAD, 1, no_dictionary},
    {"{'descr'", BAD, 1, no_dictionary},
    {"{'descr' '", BAD, 1, no_dictionary},
    {"{xdescrx:'<f4'", BAD, 1, no_dictionary},
    {"{:'<f4'", BAD, 1, no_dictionary},
    {TYPE "," ORDER "," SHAPE "}", BAD, 0, no_dictionary},
    {"{" TYPE, BAD, 13 + 1, no_dictionary},
    {"{" TYPE SHAPE "}", BAD, 13 + 1, no_dictionary},
    {"{" TYPE "," TYPE "," SHAPE "}", BAD, 13 + 2, "the header has a key twice"},
    {"{" TYPE "," ORDER ",'shope':(2,)}", BAD, 37, "the header has a key that is none of"},
    {"{'description':", BAD, 1, "the header has a key that is none of"},
    {"{" TYPE "," ORDER "}", BAD, 0, "the header lacks descr, fortran_order or shape"},
    {"{" TYPE "," SHAPE "}", BAD, 0, "the header lacks descr, fortran_order or shape"},
    {"{" ORDER "," SHAPE "}", BAD, 0, "the header lacks descr, fortran_order or shape"},
    {"{" TYPE "," ORDER "," SHAPE "}x", BAD, 50, "the header continues after its dictionary"},
    {"{'descr':", BAD, 9, no_string},
    {"{'descr':4", BAD, 9, no_string},
    {"{'descr':'<f4", BAD, 9, no_string},
    {"{'descr':[", UNKNOWN, 9, "the header has a structured type"},
    {"{'descr':{", UNKNOWN, 9, "the header has a structured type"},
    {"{'descr':'<'", UNKNOWN, 9, no_type},
    {"{'descr':'<f444444444444444444'", UNKNOWN, 9, no_type},
    {"{'descr':'4f4'", UNKNOWN, 9, no_type},
    {"{'fortran_order':", BAD, 17, no_order},
    {"{'fortran_order':Fals", BAD, 17, no_order},
    {"{'fortran_order':Falsy", BAD, 17, no_order},
    {"{'fortran_order':True", BAD, 21, no_dictionary},
    {"{'fortran_order':False", BAD, 22, no_dictionary},
    {"{'shape':", BAD, 9, no_tuple},
    {"{'shape':2", BAD, 9, no_tuple},
    {"{'shape':(2)", BAD, 12, no_tuple},
    {"{'shape':(", BAD, 10, no_numbers},
    {"{'shape':(/", BAD, 10, no_numbers},
    {"{'shape'::(", BAD, 9, no_tuple},
    {"{'shape':(:", BAD, 10, no_numbers},
    {"{'shape':(2", BAD, 11, no_numbers},
    {"{'shape':(2L", BAD, 12, no_numbers},
    {"{'shape':(2 3", BAD, 12, no_numbers},
    {"{'shape':(2,3 4)", BAD, 14, no_numbers},
    {"{'shape':(18446744073709551616,", FURROW_E_RANGE, 10, "the header has a count that does not fit in 64 bits"},
};

static void dictionaries(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    unsigned char bytes[256] = "\x93NUMPY\1";
    const size_t length = strlen(texts[i].text);
    furrow_error err = {0};
    fw_put_le16(bytes + 8, (uint16_t)length);
    memcpy(bytes + PREFIX, texts[i].text, length);
    assert_true(test_write_file("a.npy", bytes, PREFIX + length));
    check(texts[i].text, read_header("a.npy", &err), &err, texts[i].status, PREFIX + texts[i].place, texts[i].message);
  }
}

/* As many dimensions as there may be, and one more. */
static void dimensions(void **state) {
  (void)state;
  for (size_t more = 0; more < 2; more++) {
    char bytes[1024] = "\x93NUMPY\1";
    furrow_error err = {0};
    int n = PREFIX + sprintf(bytes + PREFIX, "{" TYPE "," ORDER ",'shape':(");
    const size_t first = (size_t)n;
    for (size_t i = 0; i < FW_NPY_DIMENSIONS + more; i++) n += sprintf(bytes + n, "2,");
    n += sprintf(bytes + n, ")}");
    fw_put_le16(bytes + 8, (uint16_t)(n - PREFIX));
    assert_true(test_write_file("a.npy", bytes, (size_t)n));
    check("dimensions", read_header("a.npy", &err), &err, more ? BAD : FURROW_OK, first + 2 * FW_NPY_DIMENSIONS,
          more ? "the header has too many dimensions" : NULL);
  }
}

/* ---- What stands before it ---- */

static void prefixes(void **state) {
  (void)state;
  static const struct {
    const char *path;
    unsigned char version[2];
    uint32_t length; /* of the text; the file has none */
    furrow_status status;
    uint64_t offset;
    const char *message;
  } files[] = {
      {"a.npy", {0, 0}, 0, UNKNOWN, 6, "version 0.0 of npy, not 1.0 to 3.0"},
      {"a.npy", {4, 0}, 0, UNKNOWN, 6, "version 4.0 of npy, not 1.0 to 3.0"},
      {"a.npy", {1, 1}, 0, UNKNOWN, 6, "version 1.1 of npy, not 1.0 to 3.0"},
      {"a.npy", {3, 0}, 0, BAD, WIDE_PREFIX, no_dictionary},
      {"a.npy", {2, 0}, 1, BAD, WIDE_PREFIX, "ends within its header of 1 bytes"},
      {"a.npy", {2, 0}, 1 << 20, BAD, WIDE_PREFIX, "ends within its header of 1048576 bytes"},
      {"a.npy", {2, 0}, (1 << 20) + 1, BAD, 8, "a header of 1048577 bytes is too long"},
      {"a.npy.gz", {2, 0}, 1, BAD, WIDE_PREFIX, "ends within the header"},
      {"a.npy.gz", {2, 0}, 1 << 20, BAD, WIDE_PREFIX, "ends within the header"},
      {"a.npy.gz", {2, 0}, (1 << 20) + 1, BAD, 8, "a header of 1048577 bytes is too long"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    unsigned char bytes[WIDE_PREFIX] = "\x93NUMPY";
    furrow_error err = {0};
    memcpy(bytes + 6, files[i].version, 2);
    fw_put_le32(bytes + 8, files[i].length);
    const fw_file_kind kind = strstr(files[i].path, ".gz") ? FW_FILE_GZIP : FW_FILE_PLAIN;
    assert_true(packed_write(files[i].path, kind, bytes, sizeof bytes, NULL));
    check(files[i].message, read_header(files[i].path, &err), &err, files[i].status, files[i].offset, files[i].message);
  }
  furrow_error err = {0};
  assert_true(test_write_file("a.npy", "\x93NUMPX\1\0\0\0", PREFIX));
  check("magic", read_header("a.npy", &err), &err, BAD, 0, "no npy file");
  assert_true(test_write_file("a.npy", "\x93NUMPY\1\0\0\0", PREFIX - 1));
  check("cut", read_header("a.npy", &err), &err, BAD, PREFIX - 1, "ends within the header");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dictionaries),
      cmocka_unit_test(dimensions),
      cmocka_unit_test(prefixes),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
