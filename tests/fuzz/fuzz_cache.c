/* tests/fuzz/fuzz_cache.c: row caches from hostile bytes.
 *
 * The first byte of the input says what to do with the rest: 0 leaves it as it is; otherwise what can be known of the
 * header is made right (magic, version, sizes, digests), so that the records are reached. What loads must be a sound
 * block, whole and record by record alike; written record by record it is the same bytes. */
#include <string.h>
#include <xxhash.h>

#include "base/endian.h"
#include "fuzz/harness/fuzz_check.h"
#include "rows/cache.h"
#include "support/row_digest.h"

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

/* The file that the records make when they are written. */
static fw_cache_writer *open_writer(const fw_cache_info *info, char path[TEST_PATH]) {
  fw_cache_writer *writer = NULL;
  fuzz_folder(path, "again");
  check(fw_cache_writer_open(&writer, path, info->key_type, info->value_type, info->stamp, 0, NULL) == FURROW_OK);
  return writer;
}

static void check_bytes(const char *path, const uint8_t *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  uint8_t *again = malloc(size + 1);
  check(file && again && fread(again, 1, size + 1, file) == size && memcmp(bytes, again, size) == 0);
  fclose(file);
  free(again);
}

/* The whole, which becomes one record when it is saved, and what is saved stays as it is. */
static void check_whole(const char *path, const fw_cache_info *info, furrow_status expected, size_t rows) {
  furrow_container *all = NULL, *again = NULL;
  char saved[TEST_PATH];
  check(furrow_container_create(&all, info->key_type, info->value_type, NULL) == FURROW_OK);
  check(furrow_container_create(&again, info->key_type, info->value_type, NULL) == FURROW_OK);
  const furrow_status loaded = furrow_container_load(all, path, NULL);
  check((loaded == FURROW_OK) == (expected == FURROW_END));
  if (loaded == FURROW_OK) {
    furrow_rowblock blocks[2];
    check(furrow_container_size(all) == rows);
    check(furrow_container_save(all, fuzz_folder(saved, "whole"), true, NULL) == FURROW_OK);
    check(furrow_container_load(again, saved, NULL) == FURROW_OK);
    check(furrow_container_get_block(all, &blocks[0], NULL) == FURROW_OK);
    check(furrow_container_get_block(again, &blocks[1], NULL) == FURROW_OK);
    uint64_t digests[2] = {0, 0};
    for (size_t i = 0; i < 2; i++) digest_block(&digests[i], &blocks[i]);
    check(digests[0] == digests[1] && furrow_container_size(again) == rows);
  }
  furrow_container_free(all);
  furrow_container_free(again);
}

static void read_records(const char *path, const uint8_t *bytes, size_t size) {
  fw_cache_reader *reader = NULL;
  furrow_error err;
  char again[TEST_PATH];
  if (fw_cache_reader_open(&reader, path, &err) != FURROW_OK) return;
  const fw_cache_info *info = fw_cache_reader_info(reader);
  furrow_container *record = NULL;
  fw_cache_writer *writer = open_writer(info, again);
  check(furrow_container_create(&record, info->key_type, info->value_type, NULL) == FURROW_OK);
  furrow_status status;
  size_t rows = 0;
  while ((status = fw_cache_reader_next(reader, record, &err)) == FURROW_OK) {
    furrow_rowblock block;
    check(furrow_container_get_block(record, &block, NULL) == FURROW_OK);
    use_block(&block);
    rows += block.size;
    check(fw_cache_writer_push_record(writer, record, NULL) == FURROW_OK);
  }
  check(status == FURROW_END || status == FURROW_E_FORMAT || status == FURROW_E_MEMORY);
  check(status != FURROW_E_FORMAT || err.offset != FURROW_NO_OFFSET);
  if (status == FURROW_END) {
    check(fw_cache_writer_commit(writer, NULL) == FURROW_OK);
    check_bytes(again, bytes, size);
  }
  check_whole(path, info, status, rows);
  fw_cache_writer_close(writer);
  furrow_container_free(record);
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
  read_records(fuzz_path(file, bytes), file, bytes);
  free(file);
  return 0;
}
