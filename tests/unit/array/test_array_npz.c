/* tests/unit/array/test_array_npz.c: zip archives: what is written, by hand-made ones what is read, and what is
 * refused. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "array/array.h"
#include "array/npy.h"
#include "array/temp_store.h"
#include "array/zip.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h" /* SLOW */
#include "support/own_dir.h"

/* Long writes are zeros in these tests: they leave a hole instead. What reaches the disk is the matter of other tests.
 */
#define HOLE ((size_t)8 << 20)

int fsync(int fd) {
  (void)fd;
  return 0;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  return size < HOLE ? syscall(SYS_pwrite64, fd, data, size, offset) : (ssize_t)size;
}

/* ---- Archives by hand ----------------------------------------------------------------------------------- */

typedef struct archive {
  unsigned char bytes[8192];
  size_t size;
  unsigned char entries[4096];
  size_t entries_size;
  unsigned count;
  size_t last_entry, last_header; /* offsets of the newest, to be changed */
} archive;

static void add(archive *a, const char *name, const void *data, size_t size, bool deflated, bool zip64) {
  unsigned char packed[4096];
  z_stream z = {.next_in = (void *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = packed, .avail_out = 4096};
  if (deflated) {
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
  } else {
    memcpy(packed, data, size);
  }
  const size_t n = deflated ? z.total_out : size, length = strlen(name);
  const uint32_t crc = (uint32_t)crc32(0, data, (uInt)size);
  unsigned char *h = a->bytes + a->size, *e = a->entries + a->entries_size;
  a->last_header = a->size;
  a->last_entry = a->entries_size;
  memset(h, 0, FW_ZIP_LOCAL_SIZE);
  fw_put_le32(h, FW_ZIP_LOCAL);
  fw_put_le16(h + 8, deflated ? FW_ZIP_DEFLATED : FW_ZIP_STORED);
  fw_put_le16(h + 26, (uint16_t)length);
  memcpy(h + FW_ZIP_LOCAL_SIZE, name, length);
  memcpy(h + FW_ZIP_LOCAL_SIZE + length, packed, n);
  memset(e, 0, FW_ZIP_ENTRY_SIZE);
  fw_put_le32(e, FW_ZIP_ENTRY);
  fw_put_le16(e + 10, deflated ? FW_ZIP_DEFLATED : FW_ZIP_STORED);
  fw_put_le32(e + 16, crc);
  fw_put_le32(e + 20, zip64 ? FW_ZIP_FULL32 : (uint32_t)n);
  fw_put_le32(e + 24, zip64 ? FW_ZIP_FULL32 : (uint32_t)size);
  fw_put_le16(e + 28, (uint16_t)length);
  fw_put_le32(e + 42, zip64 ? FW_ZIP_FULL32 : (uint32_t)a->size);
  memcpy(e + FW_ZIP_ENTRY_SIZE, name, length);
  a->entries_size += FW_ZIP_ENTRY_SIZE + length;
  if (zip64) {
    unsigned char *x = e + FW_ZIP_ENTRY_SIZE + length;
    fw_put_le16(e + 30, 4 + 3 + 4 + 24); /* another field comes first */
    memcpy(x, "\x99\x99\3\0abc", 7);
    fw_put_le16(x + 7, FW_ZIP_EXTRA64);
    fw_put_le16(x + 9, 24);
    fw_put_le64(x + 11, size);
    fw_put_le64(x + 19, n);
    fw_put_le64(x + 27, a->size);
    a->entries_size += 35;
  }
  a->size += FW_ZIP_LOCAL_SIZE + length + n;
  a->count++;
}

static void finish(archive *a, const char *path, bool zip64, const char *comment) {
  const size_t at = a->size;
  memcpy(a->bytes + a->size, a->entries, a->entries_size);
  a->size += a->entries_size;
  unsigned char *s = a->bytes + a->size;
  if (zip64) {
    memset(s, 0, FW_ZIP_END64_SIZE + FW_ZIP_LOCATOR_SIZE);
    fw_put_le32(s, FW_ZIP_END64);
    fw_put_le64(s + 24, a->count);
    fw_put_le64(s + 32, a->count);
    fw_put_le64(s + 40, a->entries_size);
    fw_put_le64(s + 48, at);
    fw_put_le32(s + FW_ZIP_END64_SIZE, FW_ZIP_LOCATOR);
    fw_put_le64(s + FW_ZIP_END64_SIZE + 8, a->size);
    a->size += FW_ZIP_END64_SIZE + FW_ZIP_LOCATOR_SIZE;
    s = a->bytes + a->size;
  }
  memset(s, 0, FW_ZIP_END_SIZE);
  fw_put_le32(s, FW_ZIP_END);
  fw_put_le16(s + 8, zip64 ? FW_ZIP_FULL16 : (uint16_t)a->count);
  fw_put_le16(s + 10, zip64 ? FW_ZIP_FULL16 : (uint16_t)a->count);
  fw_put_le32(s + 12, zip64 ? FW_ZIP_FULL32 : (uint32_t)a->entries_size);
  fw_put_le32(s + 16, zip64 ? FW_ZIP_FULL32 : (uint32_t)at);
  fw_put_le16(s + 20, (uint16_t)strlen(comment));
  memcpy(s + FW_ZIP_END_SIZE, comment, strlen(comment));
  a->size += FW_ZIP_END_SIZE + strlen(comment);
  assert_true(test_write_file(path, a->bytes, a->size));
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static void check_member(const fw_zip *zip, const char *name, const void *data, size_t size) {
  size_t i, got;
  fw_bytes_in *in = NULL;
  char bytes[4096];
  furrow_error err;
  assert_true(fw_zip_find(zip, name, &i));
  assert_string_equal(fw_zip_name(zip, i), name);
  assert_int_equal(fw_zip_member_open(zip, i, &in, &err), FURROW_OK);
  assert_int_equal(fw_bytes_in_size(in), size);
  /* in small pieces, and beyond the end */
  for (size_t at = 0; at < size; at += got) {
    if (fw_bytes_in_read(in, bytes + at, 7, &got, &err) != FURROW_OK) fail_msg("%s", err.message);
    assert_int_equal(got, size - at < 7 ? size - at : 7);
  }
  assert_int_equal(fw_bytes_in_read(in, bytes + size, 7, &got, NULL), FURROW_OK);
  assert_int_equal(got, 0);
  assert_memory_equal(bytes, data, size);
  fw_bytes_in_close(in);
}

static void by_hand(void **state) {
  (void)state;
  char zeros[3000] = {0};
  for (int i = 0; i < 8; i++) {
    archive a = {.size = 0};
    fw_zip *zip = NULL;
    furrow_error err;
    add(&a, "stored.npy", "some bytes", 10, false, i & 1);
    add(&a, "deflated.npy", zeros, sizeof zeros, true, i & 1);
    add(&a, "empty", "", 0, i & 1, false);
    finish(&a, "h.npz", i & 2, i & 4 ? "PK\5\6 a comment that looks like an end" : "");
    if (fw_zip_open(&zip, "h.npz", &err) != FURROW_OK) fail_msg("%d: %s", i, err.message);
    assert_int_equal(fw_zip_count(zip), 3);
    check_member(zip, "stored.npy", "some bytes", 10);
    check_member(zip, "deflated.npy", zeros, sizeof zeros);
    check_member(zip, "empty", "", 0);
    size_t none;
    assert_false(fw_zip_find(zip, "other", &none));
    fw_zip_close(zip);
  }
}

/* Opens the archive and reads all members to their ends. */
static furrow_status read_all(const char *path, furrow_error *err) {
  fw_zip *zip = NULL;
  char bytes[512];
  furrow_status status = fw_zip_open(&zip, path, err);
  for (size_t i = 0; status == FURROW_OK && i < fw_zip_count(zip); i++) {
    fw_bytes_in *in = NULL;
    size_t got = 1;
    status = fw_zip_member_open(zip, i, &in, err);
    while (status == FURROW_OK && got > 0) status = fw_bytes_in_read(in, bytes, sizeof bytes, &got, err);
    fw_bytes_in_close(in);
  }
  fw_zip_close(zip);
  return status;
}

static void refuse(archive *a, furrow_status wanted, const char *message) {
  furrow_error err;
  finish(a, "bad.npz", false, "");
  const furrow_status status = read_all("bad.npz", &err);
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s, %s; not %s, %s", furrow_status_name(status), err.message, furrow_status_name(wanted), message);
  assert_int_equal(read_all("bad.npz", NULL), wanted);
}

/* An archive of one member, to be spoilt. */
static archive one(bool deflated) {
  archive a = {.size = 0};
  char data[2000];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i % 100);
  add(&a, "x.npy", data, sizeof data, deflated, false);
  return a;
}

static void refused(void **state) {
  (void)state;
  archive a = one(false);
  a.bytes[a.last_header + 100] ^= 1;
  refuse(&a, FURROW_E_FORMAT, "the checksum is");
  a = one(true);
  a.bytes[a.last_header + 36] ^= 0xff;
  refuse(&a, FURROW_E_FORMAT, "");
  a = one(true);
  fw_put_le32(a.entries + 24, 2001);
  refuse(&a, FURROW_E_FORMAT, "fewer bytes than the directory says");
  a = one(true);
  fw_put_le32(a.entries + 24, 1999);
  refuse(&a, FURROW_E_FORMAT, "more bytes than the directory says");
  a = one(true);
  fw_put_le32(a.entries + 20, fw_get_le32(a.entries + 20) - 1);
  refuse(&a, FURROW_E_FORMAT, "cut short");
  a = one(true);
  fw_put_le32(a.entries + 24, 0x7fffffff);
  refuse(&a, FURROW_E_FORMAT, "claims more bytes than it can have");
  a = one(false);
  fw_put_le32(a.entries + 24, 2001);
  refuse(&a, FURROW_E_FORMAT, "claims more bytes than it can have");
  a = one(false);
  fw_put_le32(a.entries + 20, 100000);
  refuse(&a, FURROW_E_FORMAT, "not within the file");
  a = one(false);
  fw_put_le32(a.entries + 20, FW_ZIP_FULL32);
  refuse(&a, FURROW_E_FORMAT, "lacks its 64-bit sizes");
  a = one(false);
  fw_put_le32(a.entries + 42, 0x7fffffff);
  refuse(&a, FURROW_E_FORMAT, "not within the file");
  a = one(false);
  fw_put_le32(a.entries + 42, 5);
  refuse(&a, FURROW_E_FORMAT, "not what the directory says");
  a = one(false);
  a.bytes[a.last_header + 30] = 'y';
  refuse(&a, FURROW_E_FORMAT, "not what the directory says");
  a = one(false);
  fw_put_le16(a.entries + 28, 60000);
  refuse(&a, FURROW_E_FORMAT, "the directory is damaged");
  a = one(false);
  fw_put_le32(a.entries, 0);
  refuse(&a, FURROW_E_FORMAT, "the directory is damaged");
  a = one(false);
  a.count = 7;
  refuse(&a, FURROW_E_FORMAT, "too small for its entries");
  a = one(false);
  a.entries[8] = 1;
  refuse(&a, FURROW_E_UNSUPPORTED, "x.npy is encrypted");
  a = one(false);
  fw_put_le16(a.entries + 10, 12);
  fw_put_le16(a.bytes + 8, 12);
  refuse(&a, FURROW_E_UNSUPPORTED, "x.npy has compression 12");
  a = one(false);
  add(&a, "x.npy", "more", 4, false, false);
  refuse(&a, FURROW_E_FORMAT, "two members have the same name");
  a = one(false);
  add(&a, "y.npy", "more", 4, false, false);
  fw_put_le32(a.entries + 20, 2004);
  fw_put_le32(a.entries + 24, 2004);
  refuse(&a, FURROW_E_FORMAT, "a member overlaps another");
}

/* A number of the whole archive is changed: of the records at its end, or of the directory. */
typedef struct change {
  bool zip64;
  int at; /* from the end of the file */
  int width;
  uint64_t value;
  const char *message;
} change;

#define END(offset) ((offset)-FW_ZIP_END_SIZE)
#define LOCATOR(offset) (END(offset) - FW_ZIP_LOCATOR_SIZE)
#define END64(offset) (LOCATOR(offset) - FW_ZIP_END64_SIZE)

static const change changes[] = {
    {false, END(4), 2, 1, "in several files"},
    {false, END(6), 2, 1, "in several files"},
    {false, END(8), 2, 2, "in several files"},
    {false, END(12), 4, 3000, "the directory is not within the file"},
    {false, END(16), 4, 3000, "the directory is not within the file"},
    {false, END(20), 2, 1, "not a zip archive, or cut short"},
    {true, LOCATOR(8), 8, UINT64_MAX, "points outside of the file"},
    {true, LOCATOR(8), 8, 2100, "points outside of the file"},
    {true, LOCATOR(8), 8, 7, "points outside of the file"},
    {true, END64(16), 4, 1, "in several files"},
    {true, END64(20), 4, 1, "in several files"},
    {true, END64(24), 8, 2, "in several files"},
    {true, END64(48), 8, UINT64_MAX, "the directory is not within the file"},
    {true, END64(40), 8, UINT64_MAX, "the directory is not within the file"},
};

static void refused_records(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    const change *c = &changes[i];
    archive a = one(false);
    furrow_error err;
    finish(&a, "bad.npz", c->zip64, "");
    for (int k = 0; k < c->width; k++) a.bytes[(int)a.size + c->at + k] = (unsigned char)(c->value >> 8 * k);
    assert_true(test_write_file("bad.npz", a.bytes, a.size));
    const furrow_status status = read_all("bad.npz", &err);
    if (status != FURROW_E_FORMAT || !strstr(err.message, c->message))
      fail_msg("%zu: %s, %s; not %s", i, furrow_status_name(status), err.message, c->message);
  }
}

/* Entries that are wrong in ways that take more than one number. */
static void refused_entries(void **state) {
  (void)state;
  archive a = one(false);
  fw_put_le32(a.entries + 42, (uint32_t)a.size - 10);
  refuse(&a, FURROW_E_FORMAT, "not within the file");
  a = one(false);
  fw_put_le16(a.bytes + 28, 60000);
  refuse(&a, FURROW_E_FORMAT, "not within the file");
  a = one(false);
  fw_put_le16(a.bytes + 26, 4);
  refuse(&a, FURROW_E_FORMAT, "not what the directory says");
  a = one(false);
  fw_put_le16(a.bytes + 8, 12);
  refuse(&a, FURROW_E_FORMAT, "not what the directory says");
  a = one(false);
  a.entries[FW_ZIP_ENTRY_SIZE + 1] = a.bytes[FW_ZIP_LOCAL_SIZE + 1] = 0;
  refuse(&a, FURROW_E_FORMAT, "a name has a 0 in it");
  a = one(false); /* the first entry's comment is the second entry */
  add(&a, "y.npy", "more", 4, false, false);
  fw_put_le16(a.entries + 32, (uint16_t)(a.entries_size - a.last_entry));
  refuse(&a, FURROW_E_FORMAT, "the directory is damaged");
  a = one(true); /* bytes that are not compressed ones follow those */
  a.bytes[a.size++] = 'x';
  fw_put_le32(a.entries + 20, fw_get_le32(a.entries + 20) + 1);
  refuse(&a, FURROW_E_FORMAT, "other bytes follow");
}

/* The 64-bit field: {what it says its length is, bytes of it that are there}; all three numbers are wanted. */
static void refused_extras(void **state) {
  (void)state;
  static const int lengths[][2] = {{24, 20}, {16, 20}, {8, 12}, {0, 4}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    archive a = {.size = 0};
    add(&a, "x.npy", "bytes", 5, false, true);
    unsigned char *extra = a.entries + FW_ZIP_ENTRY_SIZE + 5 + 7;
    fw_put_le16(extra + 2, (uint16_t)lengths[i][0]);
    fw_put_le16(a.entries + 30, (uint16_t)(7 + lengths[i][1]));
    a.entries_size = (size_t)(extra + lengths[i][1] - a.entries);
    refuse(&a, FURROW_E_FORMAT, "lacks its 64-bit sizes");
  }
}

/* No member at all; a directory in another order than the members; a name longer than what is compared of it. */
static void unusual(void **state) {
  (void)state;
  char name[400], swapped[4096];
  archive a = {.size = 0};
  furrow_error err;
  finish(&a, "u.npz", false, "");
  assert_int_equal(read_all("u.npz", &err), FURROW_OK);
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = 0;
  a = one(false);
  add(&a, name, "more", 4, false, false);
  const size_t first = a.last_entry, second = a.entries_size - first;
  memcpy(swapped, a.entries + first, second);
  memcpy(swapped + second, a.entries, first);
  memcpy(a.entries, swapped, a.entries_size);
  finish(&a, "u.npz", false, "");
  assert_int_equal(read_all("u.npz", &err), FURROW_OK);
  /* a directory that nobody needs: 65 MiB of nothing */
  unsigned char end[FW_ZIP_END_SIZE] = {0};
  fw_put_le32(end, FW_ZIP_END);
  fw_put_le32(end + 12, 65 << 20);
  const int fd = open("u.npz", O_WRONLY | O_TRUNC);
  assert_int_equal(pwrite(fd, end, sizeof end, 65 << 20), sizeof end);
  close(fd);
  assert_int_equal(read_all("u.npz", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the directory is too large");
}

/* Cut at every byte, an archive is never taken for a whole one. */
static void cut_short(void **state) {
  (void)state;
  archive a = one(true);
  finish(&a, "c.npz", true, "");
  for (size_t n = 0; n < a.size; n++) {
    furrow_error err;
    assert_true(test_write_file("c.npz", a.bytes, n));
    const furrow_status status = read_all("c.npz", &err);
    if (status != FURROW_E_FORMAT) fail_msg("%zu bytes: %s", n, furrow_status_name(status));
  }
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

static void written(void **state) {
  (void)state;
  fw_zip_writer *w = NULL;
  fw_zip *zip = NULL;
  fw_array_reader *r = NULL;
  fw_bytes_in *in = NULL;
  char head[FW_NPY_HEADER];
  const int64_t values[] = {1, -2, INT64_MAX};
  int64_t little[] = {1, -2, INT64_MAX};
  void *all;
  size_t count, i;
  assert_int_equal(fw_zip_writer_open(&w, "w.npz", false, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_begin(w, "a.npy", FW_NPY_HEADER, NULL), FURROW_OK);
  fw_swap_le(little, sizeof *little, 3);
  for (i = 0; i < 3; i++) assert_int_equal(fw_zip_writer_write(w, little + i, 8, NULL), FURROW_OK);
  fw_npy_write_header(head, "<i8", 1, 3, 0);
  assert_int_equal(fw_zip_writer_end(w, head, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_begin(w, "text", 0, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_write(w, "hello", 5, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_end(w, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_commit(w, NULL, NULL), FURROW_OK);
  fw_zip_writer_close(w);
  assert_int_equal(fw_zip_open(&zip, "w.npz", NULL), FURROW_OK);
  check_member(zip, "text", "hello", 5);
  assert_true(fw_zip_find(zip, "a.npy", &i));
  assert_int_equal(fw_zip_member_open(zip, i, &in, NULL), FURROW_OK);
  assert_int_equal(fw_array_take(&r, in, FW_ARRAY_NPY, NULL), FURROW_OK);
  assert_int_equal(fw_array_read_flat(r, FW_ARRAY_I64, &all, &count, NULL), FURROW_OK);
  assert_int_equal(count, 3);
  assert_memory_equal(all, values, sizeof values);
  free(all);
  fw_array_close(r);
  fw_zip_close(zip);
}

/* More members than 16 bits count. */
static void many_members(void **state) {
  (void)state;
  const size_t count = 65536;
  char name[32];
  fw_zip_writer *w = NULL;
  fw_zip *zip = NULL;
  furrow_error err;
  assert_int_equal(fw_zip_writer_open(&w, "m.npz", true, NULL), FURROW_OK);
  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof name, "%zu", i);
    assert_int_equal(fw_zip_writer_begin(w, name, 0, NULL), FURROW_OK);
    assert_int_equal(fw_zip_writer_write(w, name, strlen(name), NULL), FURROW_OK);
    assert_int_equal(fw_zip_writer_end(w, NULL, NULL), FURROW_OK);
  }
  assert_int_equal(fw_zip_writer_commit(w, NULL, NULL), FURROW_OK);
  fw_zip_writer_close(w);
  if (fw_zip_open(&zip, "m.npz", &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(fw_zip_count(zip), count);
  check_member(zip, "65535", "65535", 5);
  fw_zip_close(zip);
}

/* A member of 4 GiB, and one behind it: sizes and offsets that need 64 bits. The zeros become a hole (see pwrite).
 */
static void large_member(void **state) {
  (void)state;
  const size_t piece = HOLE;
  const uint64_t size = (uint64_t)1 << 32;
  if (SLOW >= 8) skip(); /* sanitizers and emulators take long over so many zeros */
  fw_zip_writer *w = NULL;
  fw_zip *zip = NULL;
  fw_bytes_in *in = NULL;
  furrow_error err;
  size_t i;
  void *zeros = mmap(NULL, piece, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(zeros != MAP_FAILED);
  assert_int_equal(fw_zip_writer_open(&w, "l.npz", true, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_begin(w, "large", 0, NULL), FURROW_OK);
  for (uint64_t at = 0; at < size; at += piece) assert_int_equal(fw_zip_writer_write(w, zeros, piece, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_end(w, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_begin(w, "behind", 0, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_write(w, "hello", 5, NULL), FURROW_OK);
  assert_int_equal(fw_zip_writer_end(w, NULL, NULL), FURROW_OK);
  assert_true(fw_zip_writer_bytes(w) > size);
  assert_int_equal(fw_zip_writer_commit(w, NULL, NULL), FURROW_OK);
  fw_zip_writer_close(w);
  munmap(zeros, piece);
  if (fw_zip_open(&zip, "l.npz", &err) != FURROW_OK) fail_msg("%s", err.message);
  check_member(zip, "behind", "hello", 5);
  assert_true(fw_zip_find(zip, "large", &i));
  assert_int_equal(fw_zip_member_open(zip, i, &in, NULL), FURROW_OK);
  assert_true(fw_bytes_in_size(in) == size);
  fw_bytes_in_close(in);
  fw_zip_close(zip);
  unlink("l.npz");
}

/* ---- Temporary stores ---------------------------------------------------------------------------------------------
 */

typedef struct drained {
  uint64_t count, sum;
} drained;

static furrow_status drain(void *context, const void *data, size_t size, furrow_error *err) {
  (void)err;
  drained *d = context;
  for (size_t i = 0; i < size; i++) d->sum = d->sum * 31 + ((const unsigned char *)data)[i];
  d->count += size;
  return FURROW_OK;
}

static void temp_stores(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 1000, 1 << 20, (1 << 20) + 1, 5 << 20};
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
    fw_temp_store *s = NULL;
    drained wanted = {0}, found = {0};
    char piece[1237];
    assert_int_equal(fw_temp_store_open(&s, k & 1 ? "name" : "./name", NULL), FURROW_OK);
    for (size_t left = sizes[k], n; left > 0; left -= n) {
      n = left < sizeof piece ? left : sizeof piece;
      memset(piece, (int)(left % 251), n);
      assert_int_equal(fw_temp_store_write(s, piece, n, NULL), FURROW_OK);
      assert_int_equal(drain(&wanted, piece, n, NULL), FURROW_OK);
    }
    assert_int_equal(fw_temp_store_size(s), sizes[k]);
    assert_int_equal(fw_temp_store_drain(s, drain, &found, NULL), FURROW_OK);
    assert_int_equal(found.count, sizes[k]);
    assert_int_equal(found.sum, wanted.sum);
    fw_temp_store_close(s);
  }
}

/* A store beside a file of the root folder is not there before it is needed; a folder's name can be too long. */
static void temp_stores_elsewhere(void **state) {
  (void)state;
  static char piece[600 << 10], path[5000];
  fw_temp_store *s = NULL;
  drained found = {0};
  furrow_error err;
  assert_int_equal(fw_temp_store_open(&s, "/name", NULL), FURROW_OK);
  assert_int_equal(fw_temp_store_write(s, piece, 10, NULL), FURROW_OK);
  assert_int_equal(fw_temp_store_drain(s, drain, &found, NULL), FURROW_OK);
  assert_int_equal(found.count, 10);
  fw_temp_store_close(s);
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 3] = '/';
  assert_int_equal(fw_temp_store_open(&s, path, NULL), FURROW_OK);
  assert_int_equal(fw_temp_store_write(s, piece, sizeof piece, NULL), FURROW_OK);
  assert_int_equal(fw_temp_store_write(s, piece, sizeof piece, &err), FURROW_E_IO);
  assert_non_null(strstr(err.message, "cannot create a temporary file"));
  fw_temp_store_close(s);
  assert_int_equal(fw_temp_store_open(&s, "none/name", NULL), FURROW_OK);
  assert_int_equal(fw_temp_store_write(s, piece, sizeof piece, NULL), FURROW_OK);
  assert_int_equal(fw_temp_store_write(s, piece, sizeof piece, &err), FURROW_E_IO);
  assert_string_equal(err.file, "none");
  fw_temp_store_close(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_hand),         cmocka_unit_test(refused),        cmocka_unit_test(refused_records),
      cmocka_unit_test(refused_entries), cmocka_unit_test(refused_extras), cmocka_unit_test(unusual),
      cmocka_unit_test(cut_short),       cmocka_unit_test(written),        cmocka_unit_test(many_members),
      cmocka_unit_test(large_member),    cmocka_unit_test(temp_stores),    cmocka_unit_test(temp_stores_elsewhere),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
