/* tests/fuzz/fuzz_rows_auto.c: any bytes as a data set, read by a whole parser: the rows, the error and the counts do
 * not depend on threads, chunks, parts, compression, or on whether it is the first reading.
 *
 * The first bytes choose: format and arguments, types, on_bad, threads, chunk size, number of parts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "furrow/rows.h"
#include "support/row_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPTIONS = 6 };

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_rows_auto: %s\n", what);
  abort();
}

/* What a reading gave: a digest of the rows, in their order, and how it ended. */
typedef struct reading {
  furrow_status status;
  furrow_error error;
  uint64_t rows, digest;
  furrow_parser_stats stats;
} reading;

/* Adds all rows of the parser to the reading. */
static void read_on(furrow_parser *parser, reading *r) {
  while ((r->status = furrow_parser_next(parser, &r->error)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    require(block && block->size > 0, "a block without rows");
    digest_block(&r->digest, block);
    r->rows += block->size;
  }
  require(furrow_parser_next(parser, NULL) == r->status, "the end does not stay");
  furrow_parser_stats_init(&r->stats);
  furrow_parser_get_stats(parser, &r->stats);
}

static void same_place(const furrow_error *a, const furrow_error *b, const char *what) {
  require(a->status == b->status && a->line == b->line && a->column == b->column && a->offset == b->offset &&
              strcmp(a->token, b->token) == 0 && strcmp(a->message, b->message) == 0,
          what);
}

static void same_reading(const reading *a, const reading *b, const char *what) {
  require(a->status == b->status && a->rows == b->rows && a->digest == b->digest, what);
  if (a->status != FURROW_END) same_place(&a->error, &b->error, what);
  require(a->stats.rows == b->stats.rows && a->stats.features == b->stats.features, what);
  require(a->stats.bad_rows == b->stats.bad_rows && a->stats.ignored == b->stats.ignored, what);
  if (a->stats.bad_rows) same_place(&a->stats.first_bad, &b->stats.first_bad, what);
  if (a->stats.ignored) same_place(&a->stats.first_ignored, &b->stats.first_ignored, what);
}

/* Reads the data set twice, the second time after some blocks of a broken-off reading. */
static bool read_all(const char *uri, const furrow_parser_params *params, reading *r) {
  furrow_parser *parser = NULL;
  reading again = {.rows = 0};
  memset(r, 0, sizeof *r);
  r->status = furrow_parser_open(&parser, uri, params, &r->error);
  if (r->status != FURROW_OK) return false;
  read_on(parser, r);
  require(furrow_parser_rewind(parser, NULL) == FURROW_OK, "before_first failed");
  if (furrow_parser_next(parser, NULL) == FURROW_OK && r->rows % 2 == 0) (void)!furrow_parser_next(parser, NULL);
  require(furrow_parser_rewind(parser, NULL) == FURROW_OK, "before_first failed");
  read_on(parser, &again);
  same_reading(r, &again, "the second reading differs");
  require(r->stats.bytes == again.stats.bytes, "the bytes of the second reading differ");
  furrow_parser_close(parser);
  return true;
}

/* The parts one after the other are the whole; a part that fails ends the comparison. */
static void read_parts(const char *uri, furrow_parser_params params, uint32_t nparts, const reading *whole) {
  reading all = {.rows = 0};
  uint64_t bytes = 0;
  params.nparts = nparts;
  for (params.part = 0; params.part < nparts; params.part++) {
    furrow_parser *parser = NULL;
    require(furrow_parser_open(&parser, uri, &params, NULL) == FURROW_OK, "a part does not open");
    read_on(parser, &all);
    bytes += all.stats.bytes;
    furrow_parser_close(parser);
    if (all.status != FURROW_END) return;
  }
  require(all.rows == whole->rows && all.digest == whole->digest, "the parts are not the whole");
  require(bytes == whole->stats.bytes, "the bytes of the parts are not those of the whole");
}

static int write_file(const void *bytes, size_t size, char path[64]) {
  int fd = memfd_create("input", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "no memory for a file");
  snprintf(path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

static int write_gzip(const uint8_t *bytes, size_t size, char path[64]) {
  z_stream z = {0};
  require(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  const size_t capacity = deflateBound(&z, size);
  uint8_t *packed = malloc(capacity);
  require(packed != NULL, "out of memory");
  z.next_in = (Bytef *)(uintptr_t)bytes;
  z.avail_in = (uInt)size;
  z.next_out = packed;
  z.avail_out = (uInt)capacity;
  require(deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib");
  int fd = write_file(packed, capacity - z.avail_out, path);
  deflateEnd(&z);
  free(packed);
  return fd;
}

static void check(const char *path, const char *gzip_path, const uint8_t *options) {
  static const char *const formats[] = {"auto", "libsvm", "libfm", "libffm", "csv", "dummy", "dense", "auto"};
  static const char *const sparse_args[] = {"", "?indexing_mode=1", "?indexing_mode=-1", ""};
  static const char *const csv_args[] = {"?header=no", "?label_column=0", "?label_column=2&weight_column=1",
                                         "?delimiter=;&header=yes"};
  const char *format = formats[options[0] & 7];
  const bool table = strcmp(format, "csv") == 0;
  const char *args = strcmp(format, "dense") == 0 || strcmp(format, "auto") == 0 ? ""
                     : table                                                     ? csv_args[options[0] >> 3 & 3]
                                                                                 : sparse_args[options[0] >> 3 & 3];
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.format = format;
  params.key_type = (furrow_key_type)(options[1] & 1);
  params.value_type = (furrow_value_type)((options[1] >> 1 & 3) % 3);
  params.on_bad = (furrow_on_bad)(options[1] >> 3 & 1);
  params.threads = 1;
  char uri[128];
  reading whole, other;
  snprintf(uri, sizeof uri, "%s%s", path, args);
  if (!read_all(uri, &params, &whole)) return;
  params.chunk_bytes = 1u + options[2] + (options[3] & 0x80 ? 256u * options[2] : 0);
  require(read_all(uri, &params, &other), "it opens only once");
  same_reading(&whole, &other, "another chunk size reads otherwise");
  reading single = other;
  params.threads = 2 + (options[3] & 3);
  require(read_all(uri, &params, &other), "it opens only once");
  same_reading(&single, &other, "threads read otherwise");
  require(single.stats.bytes == other.stats.bytes, "threads read other bytes");
  if (single.status == FURROW_END) read_parts(uri, params, 1 + options[4] % 9, &single);
  if (options[5] & 3) return;
  snprintf(uri, sizeof uri, "%s%s", gzip_path, args);
  require(read_all(uri, &params, &other), "the compressed file does not open");
  same_reading(&single, &other, "the compressed file reads otherwise");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64], gzip_path[64];
  if (size < OPTIONS) return 0;
  int fd = write_file(data + OPTIONS, size - OPTIONS, path);
  int gzip_fd = write_gzip(data + OPTIONS, size - OPTIONS, gzip_path);
  check(path, gzip_path, data);
  close(fd);
  close(gzip_fd);
  return 0;
}
