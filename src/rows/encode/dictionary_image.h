/* rows/encode/dictionary_image.h: what a dictionary file is written from. */
#ifndef FW_ROWS_ENCODE_DICTIONARY_IMAGE_H
#define FW_ROWS_ENCODE_DICTIONARY_IMAGE_H

#include "rows/encode/dictionary.h"

/* Sections of a field: images as they will stand in the file. */
typedef struct fw_field_image {
  fw_buffer texts, counts, edges;
} fw_field_image;

/* Sections of a joined table. */
typedef struct fw_joined_image {
  fw_buffer keys, offsets, index, field, value;
} fw_joined_image;

typedef struct fw_history_image {
  uint64_t users;
  fw_buffer offsets, items, times;
} fw_history_image;

typedef struct fw_dictionary_parts {
  const furrow_schema *schema;
  const fw_dictionary *dictionary; /* fields with all that is learned */
  const size_t *column_table;
  const fw_field_image *fields;
  const fw_joined_image *tables;
  const fw_history_image *history;
} fw_dictionary_parts;

void fw_put_u32(fw_buffer *out, uint32_t number);
void fw_put_u64(fw_buffer *out, uint64_t number);
void fw_put_f64(fw_buffer *out, double number);

/* The bytes of the file. */
furrow_status fw_dictionary_write(const fw_dictionary_parts *parts, fw_buffer *out, furrow_error *err) FURROW_MUST_USE;

#endif
