/* rows/writer.c: rows into a file, as text or as a row cache. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/cache.h"
#include "rows/elements.h"
#include "rows/writer_text.h"

/* Exactly one of text and cache is there. */
struct furrow_rows_writer {
  fw_text_writer *text;
  fw_cache_writer *cache;
  bool committed;
};

void furrow_rows_writer_params_init(furrow_rows_writer_params *params) {
  *params = (furrow_rows_writer_params){
      .format = "libsvm",
      .key_type = FURROW_KEY_U32,
      .value_type = FURROW_VALUE_F32,
      .delimiter = ',',
      .zeros_missing = true,
  };
}

static furrow_status open_cache(furrow_rows_writer *w, const char *path, const furrow_rows_writer_params *params,
                                furrow_error *err) {
  if (strcmp(path, "-") == 0) {
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a row cache cannot be written to standard output");
  }
  furrow_status status =
      fw_cache_writer_open(&w->cache, path, params->key_type, params->value_type, FW_CACHE_UNKNOWN_SOURCE, 0, err);
  if (status == FURROW_OK && params->keep_existing) fw_cache_writer_keep_existing(w->cache);
  return status;
}

static furrow_status open_format(furrow_rows_writer *w, const char *path, const furrow_rows_writer_params *params,
                                 furrow_error *err) {
  const char *format = params->format ? params->format : "";
  if (strcmp(format, "cache") == 0) return open_cache(w, path, params, err);
  if (fw_text_writer_knows(format)) return fw_text_writer_open(&w->text, path, params, err);
  furrow_status status =
      fw_fail(err, FURROW_E_ARGUMENT, "no such format to write; there are %s, cache", fw_text_writer_names);
  fw_error_set_token(err, format, strlen(format));
  return status;
}

furrow_status furrow_rows_writer_open(furrow_rows_writer **writer, const char *path,
                                      const furrow_rows_writer_params *params, furrow_error *err) {
  furrow_rows_writer_params defaults;
  furrow_rows_writer_params_init(&defaults);
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **writer, err);
  if (status != FURROW_OK) return status;
  furrow_rows_writer *w = memory;
  status = open_format(w, path, params ? params : &defaults, err);
  if (status == FURROW_OK) {
    *writer = w;
  } else {
    furrow_rows_writer_close(w);
  }
  return status;
}

static furrow_status check_open(const furrow_rows_writer *w, furrow_error *err) {
  return w->committed ? fw_fail(err, FURROW_E_STATE, "the file is complete: it was committed") : FURROW_OK;
}

furrow_status furrow_rows_writer_write_block(furrow_rows_writer *writer, const furrow_rowblock *block,
                                             furrow_error *err) {
  furrow_status status = check_open(writer, err);
  if (status != FURROW_OK) return status;
  return writer->text ? fw_text_writer_push(writer->text, block, err)
                      : fw_cache_writer_push_block(writer->cache, block, err);
}

furrow_status furrow_rows_writer_write_row(furrow_rows_writer *writer, const furrow_row *row, furrow_error *err) {
  uint64_t offset[2];
  const furrow_rowblock block = fw_row_block(row, offset);
  return furrow_rows_writer_write_block(writer, &block, err);
}

furrow_status furrow_rows_writer_commit(furrow_rows_writer *writer, furrow_error *err) {
  furrow_status status = check_open(writer, err);
  if (status != FURROW_OK) return status;
  status = writer->text ? fw_text_writer_commit(writer->text, err) : fw_cache_writer_commit(writer->cache, err);
  writer->committed = status == FURROW_OK;
  return status;
}

void furrow_rows_writer_close(furrow_rows_writer *writer) {
  if (!writer) return;
  fw_text_writer_close(writer->text);
  fw_cache_writer_close(writer->cache);
  fw_free(writer);
}
