/* tests/fuzz/fuzz_meta.c: any bytes as metadata, in all its forms: refused with an error that says where, or read; and
 * what was read can be copied, written, and read again as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "furrow/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
  if (!condition) abort();
}

/* What a server or Angel 1.x does not say, so that it can be written. */
static void fill_in(furrow_matrix_meta *meta) {
  if (!meta->matrix_name) meta->matrix_name = "m";
  if (!meta->format_class_name) meta->format_class_name = "F";
  if (meta->row_type < 0) meta->row_type = 0;
  for (size_t i = 0; i < meta->part_count; i++)
    for (size_t r = 0; r < meta->parts[i].row_count; r++)
      if (meta->parts[i].rows[r].element_num < 0) meta->parts[i].rows[r].element_num = 0;
}

static void write_meta(const furrow_matrix_meta *meta, char **bytes, size_t *size) {
  require(furrow_matrix_meta_write(meta, bytes, size, NULL) == FURROW_OK);
}

static void check_lookups(const furrow_matrix_meta *meta) {
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    require(furrow_matrix_meta_partition(meta, part->part_id) == part);
    require(part->end_row >= part->start_row && part->length >= 0 && part->offset <= INT64_MAX - part->length);
    require(part->file_name[0] != 0 && !strchr(part->file_name, '/'));
    for (size_t r = 0; r < part->row_count; r++)
      require(part->rows[r].row_id >= part->start_row && part->rows[r].row_id < part->end_row);
  }
  for (size_t i = 0; i < meta->option_count; i++)
    require(furrow_matrix_meta_option(meta, meta->options[i].key) == meta->options[i].value);
}

static void check(furrow_matrix_meta *meta) {
  furrow_matrix_meta *copy = NULL, *again = NULL;
  char *bytes = NULL, *copy_bytes = NULL, *again_bytes = NULL;
  size_t size = 0, copy_size = 0, again_size = 0;
  check_lookups(meta);
  fill_in(meta);
  write_meta(meta, &bytes, &size);
  require(furrow_matrix_meta_copy(&copy, meta, NULL) == FURROW_OK);
  write_meta(copy, &copy_bytes, &copy_size);
  require(copy_size == size && memcmp(copy_bytes, bytes, size) == 0);
  require(furrow_matrix_meta_read(&again, bytes, size, "_meta", NULL) == FURROW_OK);
  write_meta(again, &again_bytes, &again_size);
  require(again_size == size && memcmp(again_bytes, bytes, size) == 0);
  furrow_matrix_meta_free(copy);
  furrow_matrix_meta_free(again);
  furrow_free(bytes);
  furrow_free(copy_bytes);
  furrow_free(again_bytes);
}

static void try_as(const char *name, const uint8_t *data, size_t size) {
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  const furrow_status status = furrow_matrix_meta_read(&meta, data, size, name, &err);
  if (status == FURROW_OK) {
    check(meta);
    furrow_matrix_meta_free(meta);
    return;
  }
  require(status == FURROW_E_FORMAT && err.status == status && err.message[0] != 0 && strcmp(err.file, name) == 0);
  require(err.offset == FURROW_NO_OFFSET || err.offset <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_as("psmeta", data, size);
  if (size == 0 || data[0] != '{') {
    try_as("_meta", data, size);
    return 0;
  }
  /* bare JSON: most of what is tried should not founder on the length in front of it */
  uint8_t *bytes = malloc(size + 4);
  if (!bytes) return 0;
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(size >> (8 * (3 - i)));
  memcpy(bytes + 4, data, size);
  try_as("_meta", bytes, size + 4);
  free(bytes);
  return 0;
}
