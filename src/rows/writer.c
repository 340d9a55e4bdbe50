/* rows/writer.c: writes rows to a file, as text or as a row cache. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "rows/block/elements.h"
#include "rows/cache.h"
#include "rows/text/writer_text.h"

/* Exactly one of text and cache is set. */
struct furrow_rows_writer {
  fw_text_writer *text;
  fw_cache_writer *cache;
  fw_cache_part part; /* of a cache that several ranks write */
  bool committed;
};

/* The destination: a path, or an output of the caller. */
typedef struct destination {
  const char *path; /* NULL: output */
  const furrow_output *output;
} destination;

static furrow_status open_cache(furrow_rows_writer *w, const char *path, const furrow_rows_writer_params *params,
                                furrow_error *err) {
  if (!path || strcmp(path, "-") == 0) {
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a row cache cannot be written to %s",
                   path ? "standard output" : "an output: its header is known at the end");
  }
  if (params->comm) return fw_cache_part_open(&w->part, path, params, &w->cache, err);
  furrow_status status =
      fw_cache_writer_open(&w->cache, path, params->key_type, params->value_type, FW_CACHE_UNKNOWN_SOURCE, 0, err);
  if (status == FURROW_OK && !params->overwrite) fw_cache_writer_keep_existing(w->cache);
  return status;
}

static furrow_status open_text(furrow_rows_writer *w, const destination *to, const furrow_rows_writer_params *params,
                               furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_text_writer_check(params, err));
  FW_TRY(to->path ? fw_atomic_file_open_ranks(&file, to->path, params->comm, err)
                  : fw_atomic_file_open_output(&file, to->output, err));
  if (!params->overwrite) fw_atomic_file_keep_existing(file);
  return fw_text_writer_open(&w->text, file, params, err);
}

static furrow_status open_format(furrow_rows_writer *w, const destination *to, const furrow_rows_writer_params *params,
                                 furrow_error *err) {
  const char *format = params->format ? params->format : "";
  if (strcmp(format, "cache") == 0) return open_cache(w, to->path, params, err);
  if (fw_text_writer_knows(format)) return open_text(w, to, params, err);
  furrow_status status =
      fw_fail(err, FURROW_E_ARGUMENT, "no such format to write; there are %s, cache", fw_text_writer_names);
  fw_error_set_token(err, format, strlen(format));
  return status;
}

static furrow_status open_either(furrow_rows_writer **writer, const destination *to,
                                 const furrow_rows_writer_params *params, furrow_error *err) {
  furrow_rows_writer_params full;
  furrow_rows_writer_params_init(&full);
  FW_TRY(FW_PARAMS_READ(&full, params, furrow_rows_writer_params, err));
  FW_TRY(fw_comm_of(&full.comm, full.comm, err));
  if (full.comm->ranks == 1) full.comm = NULL;
  if (full.comm && !to->path) return fw_fail(err, FURROW_E_ARGUMENT, "comm: several ranks write a file, not an output");
  furrow_rows_writer *w;
  FW_TRY(FW_ALLOC_ZERO(&w, 1, err));
  furrow_status status = open_format(w, to, &full, err);
  if (status == FURROW_OK) {
    *writer = w;
  } else {
    furrow_rows_writer_close(w);
  }
  return status;
}

furrow_status furrow_rows_writer_open(furrow_rows_writer **writer, const char *path,
                                      const furrow_rows_writer_params *params, furrow_error *err) {
  const destination to = {.path = path};
  return open_either(writer, &to, params, err);
}

furrow_status furrow_rows_writer_open_output(furrow_rows_writer **writer, const furrow_output *output,
                                             const furrow_rows_writer_params *params, furrow_error *err) {
  const destination to = {.output = output};
  return open_either(writer, &to, params, err);
}

static furrow_status check_open(const furrow_rows_writer *w, furrow_error *err) {
  return w->committed ? fw_fail(err, FURROW_E_STATE, "the file is complete: it was committed") : FURROW_OK;
}

furrow_status furrow_rows_writer_write_block(furrow_rows_writer *writer, const furrow_rowblock *block,
                                             furrow_error *err) {
  FW_TRY(check_open(writer, err));
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
  if (writer->text)
    status = fw_text_writer_commit(writer->text, err);
  else if (writer->part.comm)
    status = fw_cache_part_commit(&writer->part, writer->cache, err);
  else
    status = fw_cache_writer_commit(writer->cache, err);
  writer->committed = status == FURROW_OK;
  return status;
}

void furrow_rows_writer_close(furrow_rows_writer *writer) {
  if (!writer) return;
  fw_text_writer_close(writer->text);
  fw_cache_part_clear(&writer->part); /* cleared first, because the writer holds the lock of the part */
  fw_cache_writer_close(writer->cache);
  fw_free(writer);
}
