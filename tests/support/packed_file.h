/* tests/support/packed_file.h: writes a file as it is, or compressed. */
#ifndef PACKED_FILE_H
#define PACKED_FILE_H

#include <dlfcn.h>
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

/* ---- xz, bzip2 and lz4, by libraries that are loaded as the decoders load them ---- */

/* A function of a shared library that stays loaded. */
static inline bool loaded_function(void *function, const char *file, const char *name) {
  void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL), *symbol = object ? dlsym(object, name) : NULL;
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* Of liblz4: LZ4F_preferences_t. */
typedef struct lz4_preferences {
  int block_size, block_mode, content_checksum, frame_type;
  unsigned long long content_size;
  unsigned dictionary;
  int block_checksum, level;
  unsigned auto_flush, favor_speed, reserved[3];
} lz4_preferences;

/* Packs with a checksum, at a level from 0 to 9; returns the size, 0 if the library is missing. A capacity of
 * n + n / 8 + 1024 suffices. */
static inline size_t loaded_pack(fw_file_kind kind, void *packed, size_t capacity, const void *bytes, size_t n,
                                 int level) {
  if (kind == FW_FILE_XZ) {
    int (*pack)(uint32_t, int, void *, const void *, size_t, void *, size_t *, size_t);
    size_t used = 0;
    if (!loaded_function(&pack, "liblzma.so.5", "lzma_easy_buffer_encode")) return 0;
    return pack((uint32_t)level % 4, 4, NULL, bytes, n, packed, &used, capacity) == 0 ? used : 0; /* 4: CRC-64 */
  }
  if (kind == FW_FILE_BZIP2) {
    int (*pack)(char *, unsigned *, char *, unsigned, int, int, int);
    unsigned used = (unsigned)capacity;
    if (!loaded_function(&pack, "libbz2.so.1.0", "BZ2_bzBuffToBuffCompress")) return 0;
    return pack(packed, &used, (char *)(uintptr_t)bytes, (unsigned)n, level ? level : 1, 0, 0) == 0 ? used : 0;
  }
  size_t (*pack)(void *, size_t, const void *, size_t, const lz4_preferences *);
  const lz4_preferences checked = {.content_checksum = 1, .level = level};
  if (!loaded_function(&pack, "liblz4.so.1", "LZ4F_compressFrame")) return 0;
  const size_t used = pack(packed, capacity, bytes, n, &checked);
  return used <= capacity ? used : 0;
}

/* False when that fails. *size, if not NULL, is the size of the file. */
static inline bool packed_write(const char *path, fw_file_kind kind, const void *bytes, size_t n, size_t *size) {
  if (size) *size = n;
  if (kind == FW_FILE_PLAIN) return test_write_file(path, bytes, n);
  const size_t capacity = n + n / 8 + 1024;
  void *packed = malloc(capacity);
  if (!packed) return false;
  const size_t used = kind == FW_FILE_GZIP   ? packed_gzip(packed, capacity, bytes, n)
                      : kind == FW_FILE_ZSTD ? ZSTD_compress(packed, capacity, bytes, n, 1)
                                             : loaded_pack(kind, packed, capacity, bytes, n, 1);
  const bool good = used > 0 && used <= capacity && test_write_file(path, packed, used);
  if (size) *size = used;
  free(packed);
  return good;
}

#endif
