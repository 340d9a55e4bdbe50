/* tests/fuzz/fuzz_rows_auto.c: any bytes as a data set, read by a whole parser: the rows, the error and the counts do
 * not depend on threads, chunks, parts, compression, the level of instructions, or on whether it is the first reading.
 *
 * The first bytes choose: format and arguments, types, on_bad, threads, chunk size, number of parts, level.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz/harness/isa_harness.h"
#include "fuzz/harness/parser_harness.h"

enum { OPTIONS = 6 };

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
  use_isa(next_isa(FW_ISA_GENERIC));
  if (!read_all(uri, &params, &whole)) return;
  choose_isa(2 - (options[5] >> 2) % 3u);
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
