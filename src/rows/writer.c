/* rows/writer.c: writes rows to a file, as text or as a row cache. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/dir_names.h"
#include "rows/block/elements.h"
#include "rows/cache.h"
#include "rows/encode/encoder.h"
#include "rows/text/writer_text.h"

/* Exactly one of text and cache is set. */
struct furrow_rows_writer {
  fw_text_writer *text;
  fw_cache_writer *cache;
  fw_cache_part part;      /* part of a cache that several ranks write */
  const furrow_comm *comm; /* NULL: this process is alone */
  char *path;              /* NULL: standard output, or an output of the caller */
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

/* The name of a file says whether its lines are records of RecordIO. */
static bool is_recordio(const char *path) {
  const size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".rec") == 0;
}

static furrow_status open_text(furrow_rows_writer *w, const destination *to, const furrow_rows_writer_params *params,
                               furrow_error *err) {
  fw_atomic_file *file = NULL;
  const bool records = to->path && is_recordio(to->path);
  FW_TRY(fw_text_writer_check(params, records, err));
  FW_TRY(to->path ? fw_atomic_file_open_ranks(&file, to->path, params->comm, err)
                  : fw_atomic_file_open_output(&file, to->output, err));
  if (!params->overwrite) fw_atomic_file_keep_existing(file);
  return fw_text_writer_open(&w->text, file, params, records, err);
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
  w->comm = full.comm;
  furrow_status status = open_format(w, to, &full, err);
  if (status == FURROW_OK && to->path && strcmp(to->path, "-") != 0)
    status = fw_strndup(&w->path, to->path, strlen(to->path), err);
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

/* ---- The end -------------------------------------------------------------------------------------------- */

/* Finishes the file except for its name; the first rank gives it its name. All ranks call it. */
static furrow_status complete_writer(furrow_rows_writer *w, fw_atomic_file **file, furrow_error *err) {
  if (w->text) return fw_text_writer_complete(w->text, file, err);
  return w->comm ? fw_cache_part_complete(&w->part, w->cache, file, err)
                 : fw_cache_writer_complete(w->cache, file, err);
}

/* Shares the status of the first rank, the only one that commits. */
static furrow_status end_commit(furrow_rows_writer *const *writers, size_t count, furrow_status status,
                                furrow_error *err) {
  if (writers[0]->comm) status = fw_comm_all_ok(writers[0]->comm, status, err);
  for (size_t i = 0; i < count; i++) writers[i]->committed = status == FURROW_OK;
  return status;
}

static bool is_first(const furrow_rows_writer *w) {
  return !w->comm || fw_comm_is_first(w->comm);
}

furrow_status furrow_rows_writer_commit_all(furrow_rows_writer *const *writers, size_t count, furrow_error *err) {
  fw_atomic_file **files = NULL;
  if (count == 0) return FURROW_OK;
  for (size_t i = 0; i < count; i++) FW_TRY(check_open(writers[i], err));
  FW_TRY(FW_ALLOC_ZERO(&files, count, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) status = complete_writer(writers[i], &files[i], err);
  if (status == FURROW_OK)
    status =
        end_commit(writers, count, is_first(writers[0]) ? fw_atomic_files_commit(files, count, err) : FURROW_OK, err);
  fw_free(files);
  return status;
}

furrow_status furrow_rows_writer_commit(furrow_rows_writer *writer, furrow_error *err) {
  return furrow_rows_writer_commit_all(&writer, 1, err);
}

/* ---- Rows and their encoder ---- */

typedef struct encoder_place {
  const furrow_encoder *encoder;
  const char *directory;
  bool overwrite;
} encoder_place;

/* The watch shows whether the dictionary was replaced. */
static furrow_status save_encoder(void *user, bool *changed, furrow_error *err) {
  const encoder_place *to = user;
  furrow_path_watch *watch = NULL;
  char *path = NULL;
  FW_TRY(fw_path_join(&path, to->directory, FW_DICTIONARY_NAME, err));
  furrow_status status = furrow_path_watch_begin(&watch, path, err);
  fw_free(path);
  if (status != FURROW_OK) return status;
  status = furrow_encoder_save(to->encoder, to->directory, to->overwrite, err);
  *changed = furrow_path_watch_end(watch, FURROW_OK, NULL) != FURROW_OK;
  return status;
}

/* The folder of the rows is locked by a furrow_file_lock, so that the encoder may be saved in the same folder. */
static furrow_status commit_encoded(const furrow_rows_writer *w, fw_atomic_file *file, encoder_place *to,
                                    furrow_error *err) {
  const char *slash = strrchr(w->path, '/');
  furrow_file_lock *lock = NULL;
  char *folder = NULL;
  FW_TRY(fw_strndup(&folder, slash ? w->path : ".", slash ? (size_t)(slash - w->path) + 1 : 1, err));
  furrow_status status = furrow_file_lock_open(&lock, folder, err);
  if (status == FURROW_OK) status = fw_atomic_files_commit_after(&file, 1, save_encoder, to, err);
  furrow_file_lock_close(lock);
  fw_free(folder);
  return status;
}

furrow_status furrow_rows_writer_commit_with_encoder(furrow_rows_writer *writer, const furrow_encoder *encoder,
                                                     const char *directory, bool overwrite, furrow_error *err) {
  encoder_place to = {.encoder = encoder, .directory = directory, .overwrite = overwrite};
  fw_atomic_file *file = NULL;
  bool changed = false;
  FW_TRY(check_open(writer, err));
  FW_TRY(complete_writer(writer, &file, err));
  furrow_status status = FURROW_OK;
  if (is_first(writer) && writer->path) {
    status = commit_encoded(writer, file, &to, err);
  } else if (is_first(writer)) { /* rows that went out in order */
    status = fw_atomic_file_commit(file, err);
    if (status == FURROW_OK) status = save_encoder(&to, &changed, err);
  }
  return end_commit(&writer, 1, status, err);
}

void furrow_rows_writer_close(furrow_rows_writer *writer) {
  if (!writer) return;
  fw_text_writer_close(writer->text);
  fw_cache_part_clear(&writer->part); /* cleared first, because the writer holds the lock of the part */
  fw_cache_writer_close(writer->cache);
  fw_free(writer->path);
  fw_free(writer);
}
