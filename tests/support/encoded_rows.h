/* tests/support/encoded_rows.h: encoders of logs in memory, and their rows as text with names. */
#ifndef ENCODED_ROWS_H
#define ENCODED_ROWS_H

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"

/* A file in memory; it borrows the text. */
static inline void put_text(const char *path, const char *text) {
  const furrow_status status = furrow_memory_file_remove(path, NULL);
  assert_true(status == FURROW_OK || status == FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_memory_file_add(path, text, strlen(text), NULL, NULL, NULL), FURROW_OK);
}

static inline furrow_status try_build(furrow_encoder **encoder, const char *uri, const char *schema_text,
                                      const furrow_encoder_params *params, furrow_error *err) {
  furrow_schema *schema = NULL;
  *encoder = NULL;
  furrow_status status = furrow_schema_parse(&schema, schema_text, strlen(schema_text), err);
  if (status == FURROW_OK) status = furrow_encoder_build(encoder, uri, schema, params, err);
  furrow_schema_free(schema);
  return status;
}

static inline furrow_encoder *build_encoder(const char *uri, const char *schema) {
  furrow_encoder *encoder;
  furrow_error err = {0};
  if (try_build(&encoder, uri, schema, NULL, &err) != FURROW_OK) fail_msg("%s %s", err.message, err.token);
  return encoder;
}

/* " name=value" or " name:number", and both where a name has a value. */
static inline void put_feature_text(fw_buffer *out, const furrow_encoder *encoder, uint64_t field, uint64_t index,
                                    float value) {
  furrow_encoder_field f;
  furrow_encoder_feature feature;
  assert_int_equal(furrow_encoder_get_feature(encoder, index, &feature, NULL), FURROW_OK);
  assert_int_equal(feature.field, field);
  furrow_encoder_get_field(encoder, field, &f);
  assert_true(furrow_encoder_field_of(encoder, index) == field);
  fw_buffer_format(out, " %s", f.name);
  if (feature.length > 0)
    fw_buffer_format(out, "=%.*s", (int)feature.length, feature.name);
  else if (f.count > 2)
    fw_buffer_format(out, "#%u", (unsigned)(index - f.first));
  if (value != 1 || (feature.length == 0 && f.count == 2)) fw_buffer_format(out, ":%.4g", value);
}

static inline void put_row_text(fw_buffer *out, const furrow_encoder *encoder, const furrow_rowblock *block, size_t i) {
  if (block->label.any)
    fw_buffer_format(out, "%g", block->label.f32[i]);
  else
    fw_buffer_text(out, "-");
  if (block->weight && block->weight[i] != 1) fw_buffer_format(out, ":%g", block->weight[i]);
  if (block->qid) fw_buffer_format(out, " qid:%llu", (unsigned long long)block->qid[i]);
  for (uint64_t k = block->offset[i]; k < block->offset[i + 1]; k++) {
    const bool wide = block->key_type == FURROW_KEY_U64;
    put_feature_text(out, encoder, wide ? block->field.u64[k] : block->field.u32[k],
                     wide ? block->index.u64[k] : block->index.u32[k], block->value.any ? block->value.f32[k] : 1);
  }
  fw_buffer_byte(out, '\n');
}

#define ENCODER_PLACE "memory://place/of/encoder"

/* Reads the log through the saved encoder; appends the rows to `out`. */
static inline furrow_status read_encoded(const furrow_encoder *encoder, const char *log, const char *more,
                                         uint32_t threads, size_t chunk, fw_buffer *out, furrow_error *err) {
  char uri[512];
  furrow_parser *parser = NULL;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.threads = threads;
  params.chunk_bytes = chunk;
  params.format = "table";
  snprintf(uri, sizeof uri, "%s?encoder=%s%s", log, ENCODER_PLACE, more);
  furrow_status status = furrow_parser_open(&parser, uri, &params, err);
  while (status == FURROW_OK && (status = furrow_parser_next(parser, err)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    for (size_t i = 0; i < block->size; i++) put_row_text(out, encoder, block, i);
  }
  furrow_parser_close(parser);
  return status == FURROW_END ? FURROW_OK : status;
}

static inline void save_encoder(const furrow_encoder *encoder) {
  assert_int_equal(furrow_encoder_save(encoder, ENCODER_PLACE, true, NULL), FURROW_OK);
}

static inline void expect_rows(const furrow_encoder *encoder, const char *log, const char *more, const char *wanted) {
  fw_buffer text = {0};
  furrow_error err = {0};
  save_encoder(encoder);
  if (read_encoded(encoder, log, more, 1, 0, &text, &err) != FURROW_OK) fail_msg("%s", err.message);
  fw_buffer_byte(&text, 0);
  assert_int_equal(fw_buffer_status(&text, NULL), FURROW_OK);
  assert_string_equal(text.bytes, wanted);
  fw_buffer_clear(&text);
}

#endif
