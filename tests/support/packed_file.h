/* tests/support/packed_file.h: writes a file as it is, or compressed. */
#ifndef PACKED_FILE_H
#define PACKED_FILE_H

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "io/fileset.h"
#include "support/test_env.h"

static inline size_t packed_gzip(void *packed, size_t capacity, const void *bytes, size_t n) {
  z_stream z = {0};
  if (deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  z.next_in = (Bytef *)(uintptr_t)bytes;
  z.avail_in = (uInt)n;
  z.next_out = packed;
  z.avail_out = (uInt)capacity;
  const size_t size = deflate(&z, Z_FINISH) == Z_STREAM_END ? capacity - z.avail_out : 0;
  deflateEnd(&z);
  return size;
}

/* False when that fails. *size, if not NULL, is the size of the file. */
static inline bool packed_write(const char *path, fw_file_kind kind, const void *bytes, size_t n, size_t *size) {
  if (size) *size = n;
  if (kind == FW_FILE_PLAIN) return test_write_file(path, bytes, n);
  const size_t capacity = n + n / 8 + 1024;
  void *packed = malloc(capacity);
  if (!packed) return false;
  const size_t used =
      kind == FW_FILE_GZIP ? packed_gzip(packed, capacity, bytes, n) : ZSTD_compress(packed, capacity, bytes, n, 1);
  const bool good = used > 0 && used <= capacity && test_write_file(path, packed, used);
  if (size) *size = used;
  free(packed);
  return good;
}

#endif
