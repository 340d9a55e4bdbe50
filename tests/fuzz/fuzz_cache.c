/* tests/fuzz/fuzz_cache.c: row caches from hostile bytes.
 *
 * The first byte of the input says what to do with the rest: 0 leaves it as it is; otherwise what can be known of the
 * header is made right (magic, version, sizes, digests), so that the records are reached. What loads must be a sound
 * block, whole and record by record alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/endian.h"
#include "rows/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good) {
  if (!good) abort();
}

/* The file is an anonymous one, made once. */
static const char *fuzz_path(int *fd) {
  static char path[64];
  static int file = -1;
  if (file < 0) {
    file = memfd_create("fuzz_cache", MFD_CLOEXEC);
    check(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  *fd = file;
  return path;
}

static void complete_header(uint8_t *file, size_t size) {
  memcpy(file, FW_CACHE_MAGIC, 8);
  fw_put_le32(file + 8, FW_CACHE_VERSION);
  fw_put_le32(file + 12, FW_CACHE_HEADER);
  fw_put_le64(file + 40, size - FW_CACHE_HEADER);
  fw_put_le64(file + 88, XXH3_64bits(file + FW_CACHE_HEADER, size - FW_CACHE_HEADER));
  fw_put_le64(file + 120, XXH3_64bits(file, 120));
}

/* Touches every element. */
static void use_block(const furrow_rowblock *block) {
  double sum = 0;
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    sum += furrow_row_get_label(&row) + (double)furrow_row_get_weight(&row) + (double)furrow_row_get_qid(&row);
    for (size_t k = 0; k < row.length; k++) {
      sum += (double)furrow_row_get_index(&row, k) + (double)furrow_row_get_field(&row, k);
      sum += furrow_row_get_value(&row, k);
    }
  }
  volatile double used = sum;
  (void)used;
}

static void read_records(const char *path) {
  fw_cache_reader *reader = NULL;
  furrow_error err;
  if (fw_cache_reader_open(&reader, path, &err) != FURROW_OK) return;
  const fw_cache_info *info = fw_cache_reader_info(reader);
  furrow_container *record = NULL, *all = NULL;
  check(furrow_container_create(&record, info->key_type, info->value_type, NULL) == FURROW_OK);
  check(furrow_container_create(&all, info->key_type, info->value_type, NULL) == FURROW_OK);
  furrow_status status;
  size_t rows = 0;
  while ((status = fw_cache_reader_next(reader, record, &err)) == FURROW_OK) {
    furrow_rowblock block;
    check(furrow_container_get_block(record, &block, NULL) == FURROW_OK);
    use_block(&block);
    rows += block.size;
  }
  check(status == FURROW_END || status == FURROW_E_FORMAT || status == FURROW_E_MEMORY);
  check(status != FURROW_E_FORMAT || err.offset != FURROW_NO_OFFSET);
  furrow_status loaded = furrow_container_load(all, path, NULL);
  check((loaded == FURROW_OK) == (status == FURROW_END));
  check(loaded != FURROW_OK || furrow_container_size(all) == rows);
  furrow_container_free(record);
  furrow_container_free(all);
  fw_cache_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  bool complete = data[0] != 0;
  size--;
  size_t bytes = complete && size < FW_CACHE_HEADER ? FW_CACHE_HEADER : size;
  uint8_t *file = calloc(1, bytes ? bytes : 1);
  check(file != NULL);
  memcpy(file, data + 1, size);
  if (complete) complete_header(file, bytes);
  int fd;
  const char *path = fuzz_path(&fd);
  check(ftruncate(fd, (off_t)bytes) == 0);
  check(pwrite(fd, file, bytes, 0) == (ssize_t)bytes);
  free(file);
  read_records(path);
  return 0;
}
