/* tests/unit/io/test_stream.c: the bytes of a file, whatever it is compressed with and however they arrive. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "io/input.h"
#include "io/stream.h"
#include "support/cmocka_all.h"
#include "support/packed_file.h"
#include "support/test_env.h"

/* ---- reads that fail, are interrupted or give little: the test program's own read and pread ---- */

static struct {
  bool armed;
  int calls, failing_call; /* the n-th call fails */
  bool interrupts;         /* every other call is interrupted */
  size_t most;             /* bytes that one call gives; 0: no limit */
} fault;

static bool fault_hits(size_t *size) {
  if (!fault.armed) return false;
  fault.calls++;
  if (fault.most && *size > fault.most) *size = fault.most;
  errno = fault.interrupts && fault.calls % 2 ? EINTR : EIO;
  return fault.calls == fault.failing_call || errno == EINTR;
}

ssize_t read(int fd, void *buffer, size_t size) {
  static ssize_t (*next)(int, void *, size_t);
  if (!next) next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  return fault_hits(&size) ? -1 : next(fd, buffer, size);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  static ssize_t (*next)(int, void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  return fault_hits(&size) ? -1 : next(fd, buffer, size, offset);
}

/* Libraries that are not installed: the test program's own dlopen. */
static bool without_libraries;

void *dlopen(const char *file, int flags) {
  static void *(*next)(const char *, int);
  if (!next) next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return without_libraries ? NULL : next(file, flags);
}

static void no_faults(void) {
  memset(&fault, 0, sizeof fault);
}

/* ---- bytes ---- */

typedef struct bytes {
  char *data;
  size_t size;
} bytes;

static void bytes_add(bytes *b, const void *data, size_t size) {
  b->data = realloc(b->data, b->size + size + 1);
  assert_non_null(b->data);
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void bytes_free(bytes *b) {
  free(b->data);
  *b = (bytes){0};
}

/* Text with some noise in it: compresses, but not to nothing. */
static bytes make_text(size_t size, uint32_t seed) {
  bytes b = {malloc(size + 1), size};
  assert_non_null(b.data);
  for (size_t i = 0; i < size; i++) {
    seed = seed * 1664525 + 1013904223;
    b.data[i] = (char)(seed >> 28 < 9 ? "1 2:0.5 17:3\n"[i % 13] : (int)(seed >> 24));
  }
  return b;
}

static void add_gzip(bytes *out, const bytes *text, int level) {
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  size_t capacity = deflateBound(&z, text->size) + 64;
  char *packed = malloc(capacity);
  assert_non_null(packed);
  z.next_in = (Bytef *)text->data;
  z.avail_in = (uInt)text->size;
  z.next_out = (Bytef *)packed;
  z.avail_out = (uInt)capacity;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  bytes_add(out, packed, capacity - z.avail_out);
  deflateEnd(&z);
  free(packed);
}

static void add_zstd(bytes *out, const bytes *text, int level) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  assert_non_null(context);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  size_t capacity = ZSTD_compressBound(text->size);
  char *packed = malloc(capacity);
  assert_non_null(packed);
  size_t size = ZSTD_compress2(context, packed, capacity, text->data, text->size);
  assert_false(ZSTD_isError(size));
  bytes_add(out, packed, size);
  ZSTD_freeCCtx(context);
  free(packed);
}

typedef void (*packer)(bytes *out, const bytes *text, int level);

static void add_plain(bytes *out, const bytes *text, int level) {
  (void)level;
  bytes_add(out, text->data, text->size);
}

static void add_loaded(bytes *out, fw_file_kind kind, const bytes *text, int level) {
  size_t capacity = text->size + text->size / 8 + 1024;
  char *packed = malloc(capacity);
  assert_non_null(packed);
  size_t size = loaded_pack(kind, packed, capacity, text->data, text->size, level);
  assert_true(size > 0);
  bytes_add(out, packed, size);
  free(packed);
}

static void add_xz(bytes *out, const bytes *text, int level) {
  add_loaded(out, FW_FILE_XZ, text, level);
}

static void add_bzip2(bytes *out, const bytes *text, int level) {
  add_loaded(out, FW_FILE_BZIP2, text, level);
}

static void add_lz4(bytes *out, const bytes *text, int level) {
  add_loaded(out, FW_FILE_LZ4, text, level);
}

/* The libraries of the last three may be missing. */
static struct {
  fw_file_kind kind;
  packer pack;
  const char *name;
} packers[] = {{FW_FILE_PLAIN, add_plain, "plain"}, {FW_FILE_GZIP, add_gzip, "gzip"},
               {FW_FILE_ZSTD, add_zstd, "zstd"},    {FW_FILE_XZ, add_xz, "xz"},
               {FW_FILE_BZIP2, add_bzip2, "bzip2"}, {FW_FILE_LZ4, add_lz4, "lz4"}};
static size_t npackers = 0;

static void find_packers(void) {
  for (size_t i = 0; i < sizeof packers / sizeof packers[0]; i++) {
    char packed[2000];
    if (packers[i].kind > FW_FILE_ZSTD && loaded_pack(packers[i].kind, packed, sizeof packed, "x", 1, 1) == 0)
      printf("skipped: %s, because its library is not installed\n", packers[i].name);
    else
      packers[npackers++] = packers[i];
  }
}

/* ---- files and streams ---- */

static char dir[TEST_PATH], path[TEST_PATH];

static int descriptors_before;

static int open_descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) != -1;
  return n;
}

static int make_dir(void **state) {
  (void)state;
  descriptors_before = open_descriptors();
  if (!test_make_dir(dir)) return -1;
  return snprintf(path, sizeof path, "%s/x", dir) < (int)sizeof path ? 0 : -1;
}

static int remove_dir(void **state) {
  (void)state;
  no_faults();
  if (open_descriptors() != descriptors_before) return -1;
  return test_remove_dir(dir) ? 0 : -1;
}

/* A new file: cutting an old one to nothing makes some file systems wait for the disk. */
static void put(const void *data, size_t size) {
  remove(path);
  assert_true(test_write_file(path, size ? data : "", size));
}

static fw_file file_of(fw_file_kind kind) {
  return (fw_file){.path = path, .kind = kind};
}

/* Reads the whole of a file, `piece` bytes at a time. */
static furrow_status read_all(const fw_file *file, size_t piece, bytes *text, furrow_error *err) {
  fw_stream *stream = NULL;
  furrow_status status = fw_stream_open(&stream, file, err);
  if (status != FURROW_OK) return status;
  char *buffer = malloc(piece);
  assert_non_null(buffer);
  size_t got = piece;
  while (status == FURROW_OK && got == piece) {
    size_t before = got;
    got = 12345;
    status = fw_stream_read(stream, buffer, piece, &got, err);
    if (status != FURROW_OK) {
      assert_int_equal(got, 12345);
      furrow_error again;
      assert_int_equal(fw_stream_read(stream, buffer, piece, &got, &again), status);
      assert_string_equal(again.message, err->message);
    } else {
      assert_true(got <= piece && before == piece);
      bytes_add(text, buffer, got);
    }
  }
  if (status == FURROW_OK) {
    assert_int_equal(fw_stream_read(stream, buffer, piece, &got, err), FURROW_OK);
    assert_int_equal(got, 0);
  }
  free(buffer);
  fw_stream_close(stream);
  return status;
}

static void expect_text(const fw_file *file, size_t piece, const bytes *expected) {
  bytes text = {0};
  furrow_error err;
  furrow_status status = read_all(file, piece, &text, &err);
  if (status != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(text.size, expected->size);
  assert_true(expected->size == 0 || memcmp(text.data, expected->data, expected->size) == 0);
  bytes_free(&text);
}

static void expect_packed_text(fw_file_kind kind, const bytes *packed, size_t piece, const bytes *expected) {
  fw_file file = file_of(kind);
  put(packed->data, packed->size);
  expect_text(&file, piece, expected);
}

static void expect_damage(fw_file_kind kind, const bytes *packed, const char *message) {
  fw_file file = file_of(kind);
  bytes text = {0};
  furrow_error err;
  put(packed->data, packed->size);
  assert_int_equal(read_all(&file, 1000, &text, &err), FURROW_E_FORMAT);
  if (!strstr(err.message, message)) fail_msg("\"%s\" lacks \"%s\"", err.message, message);
  assert_string_equal(err.file, path);
  assert_true(err.offset != FURROW_NO_OFFSET && err.offset >= text.size);
  bytes_free(&text);
}

/* ---- tests: whole files ---- */

static void what_was_written_is_read(void **state) {
  (void)state;
  enum { BUFFER = 256 * 1024 };
  static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER + 77};
  static const size_t pieces[] = {1, 7, 4096, BUFFER, BUFFER + 1, 4 * BUFFER};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    bytes text = make_text(sizes[i], (uint32_t)i);
    for (size_t p = 0; p < npackers; p++) {
      bytes packed = {0};
      packers[p].pack(&packed, &text, (int)(i % 10));
      for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++)
        if (sizes[i] / pieces[j] < 20000) expect_packed_text(packers[p].kind, &packed, pieces[j], &text);
      bytes_free(&packed);
    }
    bytes_free(&text);
  }
}

static void highly_packed_text_comes_out_whole(void **state) {
  (void)state;
  bytes text = {calloc(1, 20000000), 20000000};
  assert_non_null(text.data);
  for (size_t p = 1; p < npackers; p++) {
    bytes packed = {0};
    packers[p].pack(&packed, &text, 6);
    assert_true(packed.size < 100000);
    expect_packed_text(packers[p].kind, &packed, 1 << 20, &text);
    expect_packed_text(packers[p].kind, &packed, text.size, &text);
    expect_packed_text(packers[p].kind, &packed, text.size + 1, &text);
    bytes_free(&packed);
  }
  bytes_free(&text);
}

static void members_and_frames_are_one_text(void **state) {
  (void)state;
  for (size_t p = 1; p < npackers; p++) {
    bytes packed = {0}, text = {0};
    for (size_t i = 0; i < 300; i++) { /* some cross the edge of the stream's buffer; every seventh is empty */
      bytes part = make_text(i % 7 ? i * 13 : 0, (uint32_t)i);
      packers[p].pack(&packed, &part, (int)(i % 10));
      bytes_add(&text, part.data, part.size);
      bytes_free(&part);
    }
    assert_true(packed.size > 300000);
    expect_packed_text(packers[p].kind, &packed, 1 << 20, &text);
    expect_packed_text(packers[p].kind, &packed, 997, &text);
    bytes_free(&packed);
    bytes_free(&text);
  }
}

static void skippable_zstd_frames_are_skipped(void **state) {
  (void)state;
  static const char skippable[] = "\x50\x2a\x4d\x18\x05\0\0\0hello";
  bytes text = make_text(5000, 1), twice = {0}, packed = {0};
  bytes_add(&twice, text.data, text.size);
  bytes_add(&twice, text.data, text.size);
  bytes_add(&packed, skippable, 13);
  bytes empty = {0};
  expect_packed_text(FW_FILE_ZSTD, &packed, 1000, &empty);
  add_zstd(&packed, &text, 3);
  bytes_add(&packed, skippable, 13);
  add_zstd(&packed, &text, 3);
  bytes_add(&packed, skippable, 13);
  expect_packed_text(FW_FILE_ZSTD, &packed, 1000, &twice);
  bytes_free(&packed);
  bytes_free(&twice);
  bytes_free(&text);
}

static void consumed_counts_the_file(void **state) {
  (void)state;
  bytes text = make_text(1000000, 1);
  for (size_t p = 0; p < npackers; p++) {
    bytes packed = {0};
    fw_file file = file_of(packers[p].kind);
    fw_stream *stream;
    size_t got = 1;
    uint64_t before = 0;
    static char buffer[10000];
    packers[p].pack(&packed, &text, 3);
    put(packed.data, packed.size);
    assert_int_equal(fw_stream_open(&stream, &file, NULL), FURROW_OK);
    assert_int_equal(fw_stream_consumed(stream), 0);
    for (size_t sum = 0; got > 0; sum += got) {
      assert_int_equal(fw_stream_read(stream, buffer, sizeof buffer, &got, NULL), FURROW_OK);
      assert_true(fw_stream_consumed(stream) >= before && fw_stream_consumed(stream) <= packed.size);
      before = fw_stream_consumed(stream);
      if (packers[p].kind == FW_FILE_PLAIN) assert_int_equal(before, sum + got);
    }
    assert_int_equal(before, packed.size);
    assert_int_equal(fw_stream_read(stream, buffer, 0, &got, NULL), FURROW_OK);
    assert_int_equal(got, 0);
    fw_stream_close(stream);
    bytes_free(&packed);
  }
  bytes_free(&text);
  fw_stream_close(NULL);
}

static void what_is_not_there_is_not_found(void **state) {
  (void)state;
  for (int kind = FW_FILE_PLAIN; kind <= FW_FILE_PIPE; kind++) {
    fw_file file = file_of((fw_file_kind)kind);
    fw_stream *stream = NULL;
    furrow_error err;
    assert_int_equal(fw_stream_open(&stream, &file, &err), FURROW_E_NOT_FOUND);
    assert_string_equal(err.file, path);
    assert_null(stream);
  }
  fw_file folder = {.path = dir, .kind = FW_FILE_PLAIN};
  bytes text = {0};
  furrow_error err;
  assert_int_equal(read_all(&folder, 10, &text, &err), FURROW_E_IO);
  assert_string_equal(err.file, dir);
}

/* Comes first, because a library that was loaded stays loaded. */
static void libraries_that_are_missing_are_named(void **state) {
  (void)state;
  static const struct {
    fw_file_kind kind;
    const char *message, *hint;
  } missing[] = {
      {FW_FILE_XZ, "xz data needs the library liblzma.so.5, which is not installed", "liblzma5"},
      {FW_FILE_BZIP2, "bzip2 data needs the library libbz2.so.1.0, which is not installed", "libbz2-1.0"},
      {FW_FILE_LZ4, "lz4 data needs the library liblz4.so.1, which is not installed", "liblz4-1"},
  };
  put("x", 1);
  without_libraries = true;
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    fw_file file = file_of(missing[i].kind);
    fw_stream *stream = NULL;
    furrow_error err;
    assert_int_equal(fw_stream_open(&stream, &file, &err), FURROW_E_UNSUPPORTED);
    assert_string_equal(err.message, missing[i].message);
    assert_non_null(strstr(err.hint, missing[i].hint));
  }
  without_libraries = false;
}

/* ---- tests: damage ---- */

static void cut_at_any_byte_is_noticed(void **state) {
  (void)state;
  bytes first = make_text(700, 1), second = make_text(300, 2);
  for (size_t p = 1; p < npackers; p++) {
    bytes packed = {0};
    packers[p].pack(&packed, &first, 6);
    size_t edge = packed.size;
    packers[p].pack(&packed, &second, 6);
    for (size_t n = 0; n < packed.size; n++) {
      bytes head = {packed.data, n};
      if (n == edge)
        expect_packed_text(packers[p].kind, &head, 100, &first);
      else
        expect_damage(packers[p].kind, &head, "cut short");
    }
    bytes_free(&packed);
  }
  bytes_free(&first);
  bytes_free(&second);
}

/* A few bits of a gzip header (time, system) mean nothing: then the text is whole. */
static void no_changed_bit_changes_the_text(void **state) {
  (void)state;
  bytes text = make_text(200, 3);
  for (size_t p = 1; p < npackers; p++) {
    bytes packed = {0};
    int harmless = 0;
    packers[p].pack(&packed, &text, 6);
    for (size_t bit = 0; bit < packed.size * 8; bit++) {
      fw_file file = file_of(packers[p].kind);
      bytes got = {0};
      furrow_error err;
      packed.data[bit / 8] ^= (char)(1 << bit % 8);
      put(packed.data, packed.size);
      if (read_all(&file, 64, &got, &err) == FURROW_OK) {
        harmless++;
        assert_int_equal(got.size, text.size);
        assert_memory_equal(got.data, text.data, text.size);
      }
      packed.data[bit / 8] ^= (char)(1 << bit % 8);
      bytes_free(&got);
    }
    assert_true(harmless < 80);
    bytes_free(&packed);
  }
  bytes_free(&text);
}

static void other_bytes_behind_are_noticed(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
  } tails[] = {{"hello", 5}, {"\0\0\0\0", 4}, {"\n", 1}, {"1 1:1\n2 2:2\n", 12}, {"\x1f", 1}, {"\x28\xb5", 2}};
  bytes text = make_text(500, 4);
  for (size_t p = 1; p < npackers; p++)
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
      if (packers[p].kind == FW_FILE_XZ && i == 1) continue; /* four zeros are padding */
      bytes packed = {0};
      packers[p].pack(&packed, &text, 6);
      bytes_add(&packed, tails[i].bytes, tails[i].size);
      expect_damage(packers[p].kind, &packed, packers[p].name);
      if (i == 0) expect_damage(packers[p].kind, &packed, "followed by other bytes");
      bytes_free(&packed);
    }
  bytes_free(&text);
}

static void plain_text_is_not_compressed_data(void **state) {
  (void)state;
  bytes text = make_text(500, 5);
  expect_damage(FW_FILE_GZIP, &text, "gzip data is damaged");
  expect_damage(FW_FILE_ZSTD, &text, "zstd data is damaged");
  bytes_free(&text);
}

static void damage_has_a_place_in_both_files(void **state) {
  (void)state;
  bytes text = make_text(100000, 6), packed = {0}, got = {0};
  fw_file file = file_of(FW_FILE_GZIP);
  furrow_error err;
  add_gzip(&packed, &text, 6);
  size_t first = packed.size;
  add_gzip(&packed, &text, 6);
  packed.data[first] ^= 0x55; /* the second member's first byte */
  put(packed.data, packed.size);
  assert_int_equal(read_all(&file, 1 << 20, &got, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, text.size);
  char place[64];
  snprintf(place, sizeof place, "byte %zu of the compressed file", first);
  assert_non_null(strstr(err.message, place));
  bytes_free(&packed);
  bytes_free(&text);
  bytes_free(&got);
}

static void what_zstd_cannot_do_here_is_unsupported(void **state) {
  (void)state;
  /* magic, then a frame header: a window of 2^31 bytes; a dictionary with the number 7 */
  static const char window[] = "\x28\xb5\x2f\xfd\x00\xa8\x01\0\0",
                    dictionary[] = "\x28\xb5\x2f\xfd\x01\x00\x07\x01\0\0";
  fw_file file = file_of(FW_FILE_ZSTD);
  bytes text = {0};
  furrow_error err;
  put(window, 9);
  assert_int_equal(read_all(&file, 10, &text, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "window"));
  put(dictionary, 10);
  assert_int_equal(read_all(&file, 10, &text, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "dictionary"));
  assert_string_equal(err.file, path);
}

static void what_xz_and_lz4_cannot_do_here_is_unsupported(void **state) {
  (void)state;
  /* a stream's header; a block's header whose dictionary is 1.5 GiB (0x25) with its CRC */
  static const char large[] = "\xfd\x37zXZ\0\0\4\xe6\xd6\xb4\x46\2\0\x21\1\x25\0\0\0";
  /* magic; version 1 with a dictionary, blocks of 64 KiB, the dictionary's number, a checksum */
  static const char dictionary[] = "\x04\x22\x4d\x18\x61\x40\7\0\0\0\0";
  for (size_t p = 3; p < npackers; p++) {
    fw_file file = file_of(packers[p].kind);
    bytes text = {0};
    furrow_error err;
    if (packers[p].kind == FW_FILE_XZ) {
      unsigned char head[24];
      memcpy(head, large, 20);
      const uint32_t crc = (uint32_t)crc32(0, head + 12, 8);
      for (int i = 0; i < 4; i++) head[20 + i] = (unsigned char)(crc >> 8 * i);
      put(head, sizeof head);
    } else {
      put(dictionary, 11);
    }
    if (packers[p].kind == FW_FILE_BZIP2) continue;
    assert_int_equal(read_all(&file, 10, &text, &err), FURROW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, packers[p].kind == FW_FILE_XZ ? "128 MiB" : "dictionary"));
  }
}

static void zeros_between_streams_of_xz_are_padding(void **state) {
  (void)state;
  bytes text = make_text(500, 14), twice = {0};
  for (size_t p = 3; p < npackers; p++) {
    if (packers[p].kind != FW_FILE_XZ) continue;
    bytes packed = {0};
    for (int i = 0; i < 2; i++) {
      add_xz(&packed, &text, 6);
      bytes_add(&packed, "\0\0\0\0\0\0\0\0", 8);
      bytes_add(&twice, text.data, text.size);
    }
    expect_packed_text(FW_FILE_XZ, &packed, 100, &twice);
    bytes_add(&packed, "\0\0", 2);
    expect_damage(FW_FILE_XZ, &packed, "followed by other bytes");
    bytes_free(&packed);
  }
  bytes_free(&twice);
  bytes_free(&text);
}

/* ---- tests: pipes ---- */

typedef struct pipe_writer {
  const bytes *data;
  size_t piece;
  int fd; /* -1: opens the FIFO at path */
} pipe_writer;

static void *write_pieces(void *argument) {
  const pipe_writer *f = argument;
  int fd = f->fd >= 0 ? f->fd : open(path, O_WRONLY);
  for (size_t at = 0; fd >= 0 && at < f->data->size;) {
    size_t n = f->data->size - at < f->piece ? f->data->size - at : f->piece;
    ssize_t written = write(fd, f->data->data + at, n);
    if (written <= 0) break;
    at += (size_t)written;
  }
  if (fd >= 0) close(fd);
  return NULL;
}

static void pipes_are_told_and_unpacked(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 3, 100, 300000}, pieces[] = {1, 5, 100000};
  assert_int_equal(mkfifo(path, 0600), 0);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (size_t j = sizes[i] > 1000 ? 2 : 0; j < sizeof pieces / sizeof pieces[0]; j++)
      for (size_t p = 0; p < npackers; p++) {
        bytes text = make_text(sizes[i], 7), packed = {0};
        packers[p].pack(&packed, &text, 3);
        pipe_writer f = {&packed, pieces[j], -1};
        fw_file file = file_of(FW_FILE_PIPE);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, write_pieces, &f), 0);
        expect_text(&file, 1000, &text);
        pthread_join(thread, NULL);
        bytes_free(&packed);
        bytes_free(&text);
      }
}

static void pipes_of_other_compressions_are_refused(void **state) {
  (void)state;
  bytes data = {"\x02\x21\x4c\x18..................", 22}, text = {0};
  pipe_writer f = {&data, 4, -1};
  fw_file file = file_of(FW_FILE_PIPE);
  pthread_t thread;
  furrow_error err;
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(pthread_create(&thread, NULL, write_pieces, &f), 0);
  assert_int_equal(read_all(&file, 10, &text, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "lz4 of its old format"));
  pthread_join(thread, NULL);
}

static void cut_pipes_are_noticed(void **state) {
  (void)state;
  bytes text = make_text(50000, 8), got = {0};
  assert_int_equal(mkfifo(path, 0600), 0);
  for (size_t p = 1; p < npackers; p++) {
    bytes packed = {0};
    packers[p].pack(&packed, &text, 3);
    packed.size--;
    pipe_writer f = {&packed, 1000, -1};
    fw_file file = file_of(FW_FILE_PIPE);
    pthread_t thread;
    furrow_error err;
    assert_int_equal(pthread_create(&thread, NULL, write_pieces, &f), 0);
    assert_int_equal(read_all(&file, 1000, &got, &err), FURROW_E_FORMAT);
    assert_non_null(strstr(err.message, "cut short"));
    pthread_join(thread, NULL);
    bytes_free(&packed);
    bytes_free(&got);
  }
  bytes_free(&text);
}

/* Standard input as a pipe that a thread fills, blocking and not. */
static void standard_input_is_read_and_left_open(void **state) {
  (void)state;
  bytes text = make_text(200000, 9);
  int saved = dup(STDIN_FILENO);
  for (int nonblocking = 0; nonblocking < 2; nonblocking++)
    for (size_t p = 0; p < npackers; p++) {
      bytes packed = {0};
      int ends[2];
      packers[p].pack(&packed, &text, 3);
      assert_int_equal(pipe(ends), 0);
      if (nonblocking) assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
      assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
      close(ends[0]);
      pipe_writer f = {&packed, 777, ends[1]};
      fw_file file = {.path = "-", .kind = FW_FILE_PIPE};
      pthread_t thread;
      assert_int_equal(pthread_create(&thread, NULL, write_pieces, &f), 0);
      expect_text(&file, 5000, &text);
      pthread_join(thread, NULL);
      assert_true(fcntl(STDIN_FILENO, F_GETFD) != -1);
      bytes_free(&packed);
    }
  if (saved >= 0) {
    dup2(saved, STDIN_FILENO);
    close(saved);
  }
  bytes_free(&text);
}

/* ---- tests: reads that go wrong ---- */

static void short_and_interrupted_reads_do_not_matter(void **state) {
  (void)state;
  static const size_t limits[] = {1, 3, 4096};
  bytes text = make_text(30000, 10);
  for (size_t p = 0; p < npackers; p++)
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
      for (int as_pipe = 0; as_pipe < 2; as_pipe++) {
        bytes packed = {0};
        packers[p].pack(&packed, &text, 3);
        fault.armed = true;
        fault.interrupts = true;
        fault.most = limits[i];
        expect_packed_text(as_pipe ? FW_FILE_PIPE : packers[p].kind, &packed, 1000, &text);
        assert_true(fault.calls > 8);
        no_faults();
        bytes_free(&packed);
      }
  bytes_free(&text);
}

/* The stream's buffer may end anywhere in a header, in a checksum, between members. */
static void reads_may_end_anywhere(void **state) {
  (void)state;
  bytes part = make_text(40, 13), text = {0};
  for (int i = 0; i < 3; i++) bytes_add(&text, part.data, part.size);
  for (size_t p = 0; p < npackers; p++)
    for (size_t most = 1; most < 100; most++)
      for (int as_pipe = 0; as_pipe < 2; as_pipe++) {
        bytes packed = {0};
        for (int i = 0; i < 3; i++) packers[p].pack(&packed, &part, 6);
        fault.armed = true;
        fault.most = most;
        expect_packed_text(as_pipe ? FW_FILE_PIPE : packers[p].kind, &packed, 1000, &text);
        no_faults();
        bytes_free(&packed);
      }
  bytes_free(&part);
  bytes_free(&text);
}

static void every_failing_read_is_an_error(void **state) {
  (void)state;
  bytes text = make_text(30000, 11);
  for (size_t p = 0; p < npackers; p++)
    for (int as_pipe = 0; as_pipe < 2; as_pipe++) {
      bytes packed = {0}, got = {0};
      packers[p].pack(&packed, &text, 3);
      fw_file file = file_of(as_pipe ? FW_FILE_PIPE : packers[p].kind);
      furrow_error err;
      fault.armed = true;
      fault.most = 3000;
      expect_packed_text(file.kind, &packed, 5000, &text);
      int needed = fault.calls, descriptors = open_descriptors();
      assert_true(needed > 5);
      for (int n = 1; n <= needed - 1; n++) { /* the last of them comes after the end */
        fault.calls = 0;
        fault.failing_call = n;
        assert_int_equal(read_all(&file, 5000, &got, &err), FURROW_E_IO);
        assert_string_equal(err.file, path);
        assert_true(err.offset <= text.size && err.offset >= got.size);
        if (packers[p].kind == FW_FILE_PLAIN) /* 5000 bytes are a read of 3000 and one of 2000 */
          assert_int_equal(err.offset, (n - 1) / 2 * 5000 + (n - 1) % 2 * 3000);
        assert_true(got.size == 0 || memcmp(got.data, text.data, got.size) == 0);
        assert_int_equal(open_descriptors(), descriptors);
        bytes_free(&got);
      }
      no_faults();
      bytes_free(&packed);
    }
  bytes_free(&text);
}

/* ---- tests: reads at any place ---- */

static void any_place_of_a_plain_file_can_be_read(void **state) {
  (void)state;
  bytes text = make_text(10000, 12);
  static char buffer[20000];
  fw_input *input = NULL;
  size_t got;
  put(text.data, text.size);
  assert_int_equal(fw_input_open(&input, path, NULL), FURROW_OK);
  for (int hard = 0; hard < 2; hard++) {
    fault.armed = hard;
    fault.interrupts = hard;
    fault.most = hard ? 77 : 0;
    static const size_t sizes[] = {0, 1, 100, 9999, 10000, 10001, 20000};
    for (size_t offset = 0; offset <= 12000; offset += 1111)
      for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t left = offset < text.size ? text.size - offset : 0, expected = sizes[i] < left ? sizes[i] : left;
        assert_int_equal(fw_input_read_at(input, buffer, sizes[i], offset, &got, NULL), FURROW_OK);
        assert_int_equal(got, expected);
        assert_true(expected == 0 || memcmp(buffer, text.data + offset, expected) == 0);
      }
    no_faults();
  }
  fw_input_close(input);
  bytes_free(&text);
}

static void failing_reads_at_a_place_are_errors(void **state) {
  (void)state;
  char buffer[100];
  furrow_error err;
  fw_input *input = NULL;
  size_t got = 77;
  assert_int_equal(fw_input_open(&input, path, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, path);
  put("0123456789", 10);
  assert_int_equal(fw_input_open(&input, path, &err), FURROW_OK);
  fault.armed = true;
  fault.most = 4;
  fault.failing_call = 2;
  assert_int_equal(fw_input_read_at(input, buffer, 8, 1, &got, &err), FURROW_E_IO);
  no_faults();
  assert_int_equal(err.offset, 5);
  assert_string_equal(err.file, path);
  assert_int_equal(got, 77);
  assert_int_equal(fw_input_read_at(input, buffer, 8, UINT64_MAX - 3, &got, &err), FURROW_E_IO);
  assert_int_equal(fw_input_read_at(input, buffer, 8, INT64_MAX, &got, &err), FURROW_E_IO);
  fw_input_close(input);
  assert_int_equal(fw_descriptor_read_at(-1, path, buffer, 8, 0, &got, &err), FURROW_E_IO);
  assert_int_equal(got, 77);
  fw_input_close(NULL);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(libraries_that_are_missing_are_named),
      IN_DIR(what_was_written_is_read),
      IN_DIR(highly_packed_text_comes_out_whole),
      IN_DIR(members_and_frames_are_one_text),
      IN_DIR(skippable_zstd_frames_are_skipped),
      IN_DIR(consumed_counts_the_file),
      IN_DIR(what_is_not_there_is_not_found),
      IN_DIR(cut_at_any_byte_is_noticed),
      IN_DIR(no_changed_bit_changes_the_text),
      IN_DIR(other_bytes_behind_are_noticed),
      IN_DIR(plain_text_is_not_compressed_data),
      IN_DIR(damage_has_a_place_in_both_files),
      IN_DIR(what_zstd_cannot_do_here_is_unsupported),
      IN_DIR(what_xz_and_lz4_cannot_do_here_is_unsupported),
      IN_DIR(zeros_between_streams_of_xz_are_padding),
      IN_DIR(pipes_are_told_and_unpacked),
      IN_DIR(pipes_of_other_compressions_are_refused),
      IN_DIR(cut_pipes_are_noticed),
      IN_DIR(standard_input_is_read_and_left_open),
      IN_DIR(short_and_interrupted_reads_do_not_matter),
      IN_DIR(reads_may_end_anywhere),
      IN_DIR(every_failing_read_is_an_error),
      IN_DIR(any_place_of_a_plain_file_can_be_read),
      IN_DIR(failing_reads_at_a_place_are_errors),
  };
  find_packers();
  signal(SIGPIPE, SIG_IGN); /* a pipe_writer may find its reader gone */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
