/* tests/fuzz/fuzz_stream.c: any bytes as a file: told, unpacked, or refused, and alike however they are read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few bytes can unpack to terabytes: reading stops here. */
#define MOST ((size_t)1 << 22)

static void require(int condition) {
  if (!condition) abort();
}

typedef struct outcome {
  furrow_status status;
  size_t size;
  uint64_t offset, consumed; /* of the failure; of the file */
  char *text;
} outcome;

static void read_stream(fw_stream *stream, size_t piece, outcome *result) {
  furrow_error err;
  size_t got = piece;
  while (got == piece && result->size < MOST) {
    size_t left = MOST - result->size;
    if (piece > left) piece = left;
    got = 0;
    result->status = fw_stream_read(stream, result->text + result->size, piece, &got, &err);
    result->size += got;
  }
  if (result->status != FURROW_OK) {
    require(err.file[0] != 0 && err.message[0] != 0 && err.offset >= result->size);
    result->offset = err.offset;
  }
  result->consumed = fw_stream_consumed(stream);
}

static void read_file(const fw_file *file, size_t piece, outcome *result) {
  fw_stream *stream;
  furrow_error err;
  result->size = 0;
  result->offset = result->consumed = 0;
  result->status = fw_stream_open(&stream, file, &err);
  if (result->status != FURROW_OK) return;
  read_stream(stream, piece, result);
  fw_stream_close(stream);
}

/* Text that comes before a failure is as long as the pieces allow, the rest must agree. Only zlib finds
 * the place of a failure exactly; the others only as near as one call goes. */
static void compare(const outcome *a, const outcome *b, fw_file_kind kind) {
  size_t common = a->size < b->size ? a->size : b->size;
  require(memcmp(a->text, b->text, common) == 0);
  if (a->status == FURROW_OK && b->status == FURROW_OK) require(a->size == b->size);
  if (a->size == MOST || b->size == MOST) return;
  require(a->status == b->status);
  require(a->offset == b->offset || (kind != FW_FILE_PLAIN && kind != FW_FILE_GZIP));
}

static void check(fw_file *file, const uint8_t *data, size_t size, outcome results[2]) {
  static const size_t pieces[] = {MOST, 1021, 65536};
  fw_file_kind kind = file->kind;
  read_file(file, pieces[0], &results[0]);
  if (kind == FW_FILE_PLAIN) require(results[0].size == size && memcmp(results[0].text, data, size) == 0);
  if (results[0].status == FURROW_OK && results[0].size < MOST) require(results[0].consumed == size);
  for (int as_pipe = 0; as_pipe < 2; as_pipe++)
    for (size_t i = 1; i < sizeof pieces / sizeof pieces[0]; i++) {
      file->kind = as_pipe ? FW_FILE_PIPE : kind;
      read_file(file, pieces[i], &results[1]);
      compare(&results[0], &results[1], kind);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  outcome results[2] = {{.text = malloc(MOST)}, {.text = malloc(MOST)}};
  char path[64], *paths[] = {path};
  fw_fileset set;
  int fd = memfd_create("input", MFD_CLOEXEC);
  require(results[0].text && results[1].text && fd >= 0);
  require(write(fd, data, size) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  furrow_status status = fw_fileset_open(&set, paths, 1, NULL);
  if (status == FURROW_OK) {
    require(set.nfiles == 1 && set.size == size);
    if (set.files[0].kind != FW_FILE_COLUMNS) check(&set.files[0], data, size, results); /* DuckDB reads Parquet */
    fw_fileset_clear(&set);
  } else {
    fw_file pipe = {.path = path, .kind = FW_FILE_PIPE};
    require(status == FURROW_E_UNSUPPORTED);
    read_file(&pipe, 1000, &results[0]);
    require(results[0].status == FURROW_E_UNSUPPORTED);
  }
  close(fd);
  free(results[0].text);
  free(results[1].text);
  return 0;
}
