/* tests/unit/array/test_zip_directory.c: every check of a zip archive refuses its own mistake: the place and the
 * message, in an archive that is right otherwise. */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>
#include <zlib.h>

#include "array/zip.h"
#include "base/endian.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* a is stored, b deflated as one stored block; both are 8 bytes. The entry of a has its numbers as 64 bits in an extra
 * field if the archive is a zip64 one. */
enum { DATA = 8, PACKED = 13, A = 0, B = 39, DIRECTORY = B + 31 + PACKED, EXTRA = 28 };
enum { ENTRY_B = DIRECTORY + 47, END = ENTRY_B + 47 };
enum { ENTRY_B64 = ENTRY_B + EXTRA, END64 = END + EXTRA, LOCATOR = END64 + 56, ENDING = LOCATOR + 20 };

typedef struct archive {
  unsigned char bytes[512];
  size_t size;
} archive;

static void put(archive *z, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; i++) z->bytes[z->size++] = (unsigned char)(value >> 8 * i);
}

static void put_bytes(archive *z, const void *bytes, size_t size) {
  memcpy(z->bytes + z->size, bytes, size);
  z->size += size;
}

/* What a local header and an entry have in common: version to crc and both sizes. */
static void put_about(archive *z, unsigned method, uint32_t packed, uint32_t size) {
  put(z, 20, 2);
  put(z, 0, 2);
  put(z, method, 2);
  put(z, 0, 4);
  put(z, crc32(0, (const Bytef *)"12345678", DATA), 4);
  put(z, packed, 4);
  put(z, size, 4);
}

static void put_member(archive *z, char name, unsigned method, const void *data, size_t size) {
  put(z, FW_ZIP_LOCAL, 4);
  put_about(z, method, (uint32_t)size, DATA);
  put(z, 1, 2);
  put(z, 0, 2);
  put(z, (unsigned char)name, 1);
  put_bytes(z, data, size);
}

static void put_entry(archive *z, char name, unsigned method, uint32_t packed, uint32_t place, bool wide) {
  put(z, FW_ZIP_ENTRY, 4);
  put(z, 20, 2);
  put_about(z, method, wide ? UINT32_MAX : packed, wide ? UINT32_MAX : DATA);
  put(z, 1, 2);
  put(z, wide ? EXTRA : 0, 2);
  put(z, 0, 2 + 2 + 2); /* comment, disk, attributes */
  put(z, 0, 4);
  put(z, wide ? UINT32_MAX : place, 4);
  put(z, (unsigned char)name, 1);
  if (!wide) return;
  put(z, FW_ZIP_EXTRA64, 2);
  put(z, EXTRA - 4, 2);
  put(z, DATA, 8);
  put(z, packed, 8);
  put(z, place, 8);
}

static void put_end(archive *z, unsigned count, uint32_t size, uint32_t place) {
  put(z, FW_ZIP_END, 4);
  put(z, 0, 4);
  put(z, count, 2);
  put(z, count, 2);
  put(z, size, 4);
  put(z, place, 4);
  put(z, 0, 2);
}

static void put_end64(archive *z) {
  put(z, FW_ZIP_END64, 4);
  put(z, 44, 8);
  put(z, 45 | 45 << 16, 4);
  put(z, 0, 8);
  put(z, 2, 8);
  put(z, 2, 8);
  put(z, END64 - DIRECTORY, 8);
  put(z, DIRECTORY, 8);
  put(z, FW_ZIP_LOCATOR, 4);
  put(z, 0, 4);
  put(z, END64, 8);
  put(z, 1, 4);
}

static void make_archive(archive *z, bool wide) {
  memset(z, 0, sizeof *z);
  put_member(z, 'a', FW_ZIP_STORED, "12345678", DATA);
  put_member(z, 'b', FW_ZIP_DEFLATED,
             "\1\10\0\xf7\xff"
             "12345678",
             PACKED);
  assert_int_equal(z->size, DIRECTORY);
  put_entry(z, 'a', FW_ZIP_STORED, DATA, A, wide);
  put_entry(z, 'b', FW_ZIP_DEFLATED, PACKED, B, false);
  assert_int_equal(z->size, wide ? END64 : END);
  if (wide) put_end64(z);
  put_end(z, 2, wide ? UINT32_MAX : END - DIRECTORY, wide ? UINT32_MAX : DIRECTORY);
}

/* Opens an archive and reads its members to their ends. */
static furrow_status read_archive(const char *path, bool members, furrow_error *err) {
  fw_zip *zip = NULL;
  furrow_status status = fw_zip_open(&zip, path, err);
  for (size_t i = 0; status == FURROW_OK && members && i < fw_zip_count(zip); i++) {
    fw_bytes_in *in = NULL;
    char bytes[64];
    size_t got = 1;
    status = fw_zip_member_open(zip, i, &in, err);
    while (status == FURROW_OK && got > 0) status = fw_bytes_in_read(in, bytes, sizeof bytes, &got, err);
    fw_bytes_in_close(in);
  }
  fw_zip_close(zip);
  return status;
}

static void expect(const char *path, bool members, furrow_status wanted, uint64_t offset, const char *message) {
  furrow_error err = {0};
  const furrow_status status = read_archive(path, members, &err);
  if (status != wanted || (message && (err.offset != offset || !strstr(err.message, message))))
    fail_msg("%s, byte %" PRIu64 ": %s\n    not byte %" PRIu64 ": %s", furrow_status_name(status), err.offset,
             err.message, offset, message ? message : "taken");
  assert_int_equal(read_archive(path, members, NULL), wanted);
}

static void expect_bytes(const archive *z, furrow_status wanted, uint64_t offset, const char *message) {
  assert_true(test_write_file("a.npz", z->bytes, z->size));
  expect("a.npz", true, wanted, offset, message);
}

/* ---- Single numbers ---- */

typedef struct lie {
  bool wide;
  size_t at, width;
  uint64_t value;
  uint64_t offset;
  const char *message;
} lie;

static const char several[] = "an archive in several files";
static const char nowhere[] = "the zip64 locator points outside of the file";
static const char damaged[] = "the directory is damaged";
static const char no_sizes[] = "an entry lacks its 64-bit sizes";
static const char outside[] = "a member is not within the file";
static const char other[] = "a member is not what the directory says";
static const char too_many[] = "a member claims more bytes than it can have";

static const lie lies[] = {
    {false, END, 4, 0, 0, "not a zip archive, or cut short"},
    {false, END + 20, 2, 1, 0, "not a zip archive, or cut short"},
    {false, END + 4, 2, 1, END, several},
    {false, END + 6, 2, 1, END, several},
    {false, END + 8, 2, 1, END, several},
    {false, END + 12, 4, END - DIRECTORY + 1, END, "the directory is not within the file"},
    {false, END + 16, 4, END + 1, END, "the directory is not within the file"},
    {false, END + 8, 4, 3 | 3 << 16, END, "the directory is too small for its entries"},
    {false, END + 12, 4, 92, ENTRY_B, damaged},
    {false, END + 12, 4, 93, ENTRY_B, damaged},
    {false, DIRECTORY, 4, 0, DIRECTORY, damaged},
    {false, ENTRY_B + 32, 2, 1, ENTRY_B, damaged},
    {false, DIRECTORY + 20, 4, UINT32_MAX, DIRECTORY, no_sizes},
    {false, DIRECTORY + 24, 4, UINT32_MAX, DIRECTORY, no_sizes},
    {false, DIRECTORY + 42, 4, UINT32_MAX, DIRECTORY, no_sizes},
    {false, DIRECTORY + 46, 1, 0, DIRECTORY, "a name has a 0 in it"},
    {false, DIRECTORY + 42, 4, DIRECTORY + 1, DIRECTORY, outside},
    {false, DIRECTORY + 42, 4, DIRECTORY - 30, DIRECTORY, outside},
    {false, A, 4, 0, A, other},
    {false, A + 26, 2, 2, A, other},
    {false, A + 30, 1, 'x', A, other},
    {false, A + 8, 2, FW_ZIP_DEFLATED, A, other},
    {false, A + 28, 2, 60000, A, outside},
    {false, ENTRY_B + 20, 4, PACKED + 1, B, outside},
    {false, DIRECTORY + 24, 4, DATA + 1, A, too_many},
    {false, ENTRY_B + 24, 4, 1032 * (PACKED + 1), B, too_many},
    {true, LOCATOR + 8, 8, END64 + 1, LOCATOR, nowhere},
    {true, LOCATOR + 8, 8, (uint64_t)1 << 63, LOCATOR, nowhere},
    {true, END64, 4, 0, LOCATOR, nowhere},
    {true, END64 + 16, 4, 1, END64, several},
    {true, END64 + 20, 4, 1, END64, several},
    {true, END64 + 24, 8, 1, END64, several},
    {true, DIRECTORY + 49, 2, 7, DIRECTORY, no_sizes},
    {true, DIRECTORY + 49, 2, 15, DIRECTORY, no_sizes},
    {true, DIRECTORY + 49, 2, 23, DIRECTORY, no_sizes},
    {true, DIRECTORY + 49, 2, EXTRA - 3, DIRECTORY, no_sizes},
    {true, DIRECTORY + 47, 2, 2, DIRECTORY, no_sizes},
    /* members */
    {false, DIRECTORY + 16, 4, 1, A + 31, "the checksum is"},
    {false, ENTRY_B + 16, 4, 1, B + 31, "the checksum is"},
    {false, ENTRY_B + 24, 4, DATA + 1, DIRECTORY, "fewer bytes than the directory says"},
    {false, ENTRY_B + 24, 4, DATA - 1, DIRECTORY, "more bytes than the directory says"},
    {false, B + 31, 1, 0, DIRECTORY, "cut short"},
};

static void numbers(void **state) {
  (void)state;
  archive z;
  for (int wide = 0; wide < 2; wide++) {
    make_archive(&z, wide);
    expect_bytes(&z, FURROW_OK, 0, NULL);
  }
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    make_archive(&z, lies[i].wide);
    for (size_t k = 0; k < lies[i].width; k++) z.bytes[lies[i].at + k] = (unsigned char)(lies[i].value >> 8 * k);
    expect_bytes(&z, FURROW_E_FORMAT, lies[i].offset, lies[i].message);
  }
}

/* ---- Several at once ---- */

static void set(archive *z, size_t at, uint32_t value, size_t width) {
  for (size_t i = 0; i < width; i++) z->bytes[at + i] = (unsigned char)(value >> 8 * i);
}

static void members(void **state) {
  (void)state;
  archive z;
  make_archive(&z, false); /* a goes on into b */
  set(&z, DIRECTORY + 20, DATA + 1, 4);
  set(&z, DIRECTORY + 24, DATA + 1, 4);
  expect_bytes(&z, FURROW_E_FORMAT, B, "a member overlaps another");
  make_archive(&z, false);
  set(&z, B + 30, 'a', 1);
  set(&z, ENTRY_B + 46, 'a', 1);
  expect_bytes(&z, FURROW_E_FORMAT, B, "two members have the same name");
  make_archive(&z, false);
  set(&z, DIRECTORY + 8, 1, 2);
  expect_bytes(&z, FURROW_E_UNSUPPORTED, A, "a is encrypted");
  make_archive(&z, false); /* how long bytes of an unknown compression are nobody can tell */
  set(&z, A + 8, 12, 2);
  set(&z, DIRECTORY + 10, 12, 2);
  set(&z, DIRECTORY + 24, 1 << 30, 4);
  expect_bytes(&z, FURROW_E_UNSUPPORTED, A, "a has compression 12");
  make_archive(&z, false); /* the deflated bytes end one before their end */
  set(&z, B + 32, 7 | (uint32_t)0xfff8 << 16, 4);
  set(&z, ENTRY_B + 24, 7, 4);
  expect_bytes(&z, FURROW_E_FORMAT, DIRECTORY - 1, "other bytes follow");
  make_archive(&z, false); /* as long as deflated bytes can be; this one is not, which its end shows */
  set(&z, ENTRY_B + 24, 1032 * PACKED + 1031, 4);
  expect_bytes(&z, FURROW_E_FORMAT, DIRECTORY, "fewer bytes than the directory says");
}

/* What only one check sees: one of the three numbers alone is missing, or a record is cut by what follows it. */
static void wide_numbers(void **state) {
  (void)state;
  archive z;
  for (int full = 0; full < 2; full++) { /* the size, the packed size */
    make_archive(&z, true);
    set(&z, DIRECTORY + 20, full == 1 ? UINT32_MAX : DATA, 4);
    set(&z, DIRECTORY + 24, full == 0 ? UINT32_MAX : DATA, 4);
    set(&z, DIRECTORY + 42, A, 4);
    expect_bytes(&z, FURROW_OK, 0, NULL);
    set(&z, DIRECTORY + 49, 7, 2);
    expect_bytes(&z, FURROW_E_FORMAT, DIRECTORY, no_sizes);
  }
  make_archive(&z, true);
  set(&z, END64 + 1, FW_ZIP_END64, 4);
  set(&z, LOCATOR + 8, END64 + 1, 4);
  expect_bytes(&z, FURROW_E_FORMAT, LOCATOR, nowhere);
}

/* A member without a name, whose entry ends the directory; an archive without members. */
static void small_archives(void **state) {
  (void)state;
  archive z = {.size = 0};
  put_end(&z, 0, 0, 0);
  expect_bytes(&z, FURROW_OK, 0, NULL);
  z.size--;
  expect_bytes(&z, FURROW_E_FORMAT, 0, "not a zip archive");
  z.size = 0;
  put(&z, FW_ZIP_LOCAL, 4);
  put_about(&z, FW_ZIP_STORED, DATA, DATA);
  put(&z, 0, 4);
  put_bytes(&z, "12345678", DATA);
  put_entry(&z, 'x', FW_ZIP_STORED, DATA, 0, false);
  z.size--; /* the name */
  set(&z, 38 + 28, 0, 2);
  put_end(&z, 1, 46, 38);
  expect_bytes(&z, FURROW_OK, 0, NULL);
}

/* The largest directory, and one byte more, in files that are holes. */
static void large_directories(void **state) {
  (void)state;
  for (uint32_t more = 0; more < 2; more++) {
    const uint32_t size = ((uint32_t)64 << 20) + more;
    archive end = {.size = 0};
    put_end(&end, 0, size, 0);
    const int fd = open("large.npz", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, end.bytes, end.size, size), end.size);
    assert_int_equal(close(fd), 0);
    expect("large.npz", false, more ? FURROW_E_FORMAT : FURROW_OK, size, more ? "the directory is too large" : NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),        cmocka_unit_test(members),           cmocka_unit_test(wide_numbers),
      cmocka_unit_test(small_archives), cmocka_unit_test(large_directories),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
