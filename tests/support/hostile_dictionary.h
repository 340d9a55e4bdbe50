/* tests/support/hostile_dictionary.h: dictionaries whose digests are right and whose contents need not be. What is
 * accepted must be of use: nothing that it is asked leads out of it. Needs check(condition). */
#ifndef HOSTILE_DICTIONARY_H
#define HOSTILE_DICTIONARY_H

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rows/encode/encoder.h"

/* The digest of a string table whose place and size stand at `at`. */
static inline void right_table(unsigned char *image, size_t size, size_t at, size_t at_size) {
  const uint64_t offset = fw_get_le64(image + at), length = fw_get_le64(image + at_size);
  if (length < 8 || offset > size || length > size - offset) return;
  fw_put_le64(image + offset, XXH3_64bits(image + offset + 8, length - 8));
}

/* Makes all digests right, as far as their parts are there, and the size. */
static inline void right_digests(unsigned char *image, size_t size, const furrow_schema *schema) {
  uint64_t digest = 0;
  if (size < FW_DICT_HEADER) return;
  const uint64_t fields = fw_get_le32(image + FW_DICT_AT_FIELDS), columns = fw_get_le32(image + FW_DICT_AT_COLUMNS),
                 tables = fw_get_le32(image + FW_DICT_AT_TABLES);
  const bool grown = fw_get_le32(image + FW_DICT_AT_VERSION) == FW_DICTIONARY_VERSION_GROWN;
  const size_t each = grown ? FW_DICT_FIELD_GROWN : FW_DICT_FIELD;
  uint64_t at = FW_DICT_HEADER;
  for (uint64_t i = 0; i < fields && at + each <= size; i++, at += each)
    right_table(image, size, at + FW_DICT_FIELD_TEXTS, at + FW_DICT_FIELD_TEXTS_SIZE);
  at += (columns * 4 + 7) / 8 * 8;
  for (uint64_t i = 0; i < tables && at + FW_DICT_TABLE <= size; i++, at += FW_DICT_TABLE)
    right_table(image, size, at + FW_DICT_TABLE_KEYS, at + FW_DICT_TABLE_KEYS_SIZE);
  check(fw_schema_digest(schema, &digest, NULL) == FURROW_OK);
  fw_put_le64(image + FW_DICT_AT_SCHEMA, digest);
  fw_put_le64(image + FW_DICT_AT_SIZE, size);
  fw_put_le64(image + FW_DICT_AT_DIGEST, XXH3_64bits(image + FW_DICT_AT_SCHEMA, size - FW_DICT_AT_SCHEMA));
}

static inline void check_encoded(const furrow_encoder *encoder, furrow_container *rows) {
  furrow_rowblock block;
  check(furrow_container_get_block(rows, &block, NULL) == FURROW_OK && block.size == 1);
  for (uint64_t k = 0; k < block.offset[1]; k++) {
    furrow_encoder_feature feature;
    check(block.field.u64[k] < furrow_encoder_field_count(encoder));
    check(furrow_encoder_get_feature(encoder, block.index.u64[k], &feature, NULL) == FURROW_OK);
    check(!block.value.any || isfinite(block.value.f32[k]));
  }
  furrow_container_clear(rows);
}

/* One event: every column has the value, or the name of some feature. */
static inline void use_event(const furrow_encoder *encoder, const char *value, furrow_container *rows) {
  enum { MOST = 64 };
  furrow_pair pairs[MOST];
  char texts[MOST][80];
  size_t count = 0;
  for (size_t i = 0; i < encoder->log.slots && count < MOST; i++) {
    furrow_encoder_feature feature = {.name = ""};
    if (!value &&
        furrow_encoder_get_feature(encoder, i * 7 % furrow_encoder_feature_count(encoder), &feature, NULL) != FURROW_OK)
      feature.length = 0;
    const size_t length = feature.length < 79 ? feature.length : 79;
    memcpy(texts[count], feature.name, length);
    texts[count][length] = 0;
    pairs[count] = (furrow_pair){encoder->log.names[i], value ? value : texts[count]};
    count++;
  }
  const furrow_status status = furrow_encoder_push_event(encoder, pairs, count, rows, NULL);
  check(status == FURROW_OK || status == FURROW_E_PARSE);
  if (status == FURROW_OK) check_encoded(encoder, rows);
}

static inline void use_names(const furrow_encoder *encoder) {
  const uint64_t features = furrow_encoder_feature_count(encoder);
  const uint64_t step = features > 2000 ? features / 1000 : 1;
  furrow_encoder_feature feature;
  for (uint64_t i = 0; i < features; i += step) {
    check(furrow_encoder_get_feature(encoder, i, &feature, NULL) == FURROW_OK);
    check(feature.field < furrow_encoder_field_count(encoder));
    check(feature.length == 0 || XXH3_64bits(feature.name, feature.length) + 1 > 0); /* reads it */
    uint64_t index = 0;
    const furrow_status status =
        furrow_encoder_find(encoder, feature.field, feature.name, feature.length, &index, NULL);
    check(status != FURROW_OK || index < features);
  }
  check(furrow_encoder_get_feature(encoder, features, &feature, NULL) == FURROW_E_RANGE);
}

static inline void use_encoder(const furrow_encoder *encoder) {
  static const char *const values[] = {NULL, "", "a", "1", "0.5", "86400", "2024-05-31 10:00:00", "a|b|c", "m1"};
  furrow_container *rows = NULL;
  check(furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, NULL) == FURROW_OK);
  use_names(encoder);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) use_event(encoder, values[i], rows);
  for (furrow_side side = FURROW_SIDE_USER; side <= FURROW_SIDE_ITEM; side++) {
    const size_t number = furrow_encoder_side_field(encoder, side);
    furrow_encoder_field field = {0};
    if (number != SIZE_MAX) furrow_encoder_get_field(encoder, number, &field);
    for (uint64_t i = 0; i < field.count && i < 100; i++) {
      check(furrow_encoder_push_side(encoder, side, field.first + i, rows, NULL) == FURROW_OK);
      check_encoded(encoder, rows);
    }
  }
  furrow_container_free(rows);
}

/* What is saved can be loaded, and is the same. */
static inline void use_saved(const furrow_encoder *encoder) {
  static const char folder[] = "memory://hostile-dictionary";
  furrow_encoder *again = NULL;
  fw_buffer schemas[2] = {{0}, {0}};
  const void *dictionaries[2];
  size_t sizes[2];
  check(furrow_encoder_save(encoder, folder, true, NULL) == FURROW_OK);
  check(furrow_encoder_load(&again, folder, NULL) == FURROW_OK);
  check(fw_encoder_files(encoder, &schemas[0], &dictionaries[0], &sizes[0], NULL) == FURROW_OK);
  check(fw_encoder_files(again, &schemas[1], &dictionaries[1], &sizes[1], NULL) == FURROW_OK);
  check(sizes[0] == sizes[1] && memcmp(dictionaries[0], dictionaries[1], sizes[0]) == 0);
  check(schemas[0].size == schemas[1].size && memcmp(schemas[0].bytes, schemas[1].bytes, schemas[0].size) == 0);
  for (size_t i = 0; i < 2; i++) fw_buffer_clear(&schemas[i]);
  furrow_encoder_free(again);
}

/* Opens a copy of an image, and uses it. Returns whether it was accepted. */
static inline furrow_status try_image(const char *schema_text, size_t schema_size, const unsigned char *image,
                                      size_t size, bool make_right, furrow_error *err) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  void *copy = NULL;
  furrow_status status = furrow_schema_parse(&schema, schema_text, schema_size, err);
  if (status != FURROW_OK) return status;
  check(fw_alloc(&copy, size, 1, NULL) == FURROW_OK); /* of its own, so that a read behind the end is seen */
  memcpy(copy, image, size);
  if (make_right) right_digests(copy, size, schema);
  status = fw_encoder_create(&encoder, schema, copy, size, err);
  if (status == FURROW_OK) {
    use_encoder(encoder);
    use_saved(encoder);
  }
  furrow_encoder_free(encoder);
  return status;
}

#endif
