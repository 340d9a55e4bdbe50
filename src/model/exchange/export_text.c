/* model/exchange/export_text.c: writes tsv (row, column, value) and libsvm-like lines (id index:value …). */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"
#include "io/atomic_file.h"
#include "model/exchange/exchange_job.h"

#define BUFFER_SIZE ((size_t)1 << 16)
#define MOST_FIELD 96 /* longest text added at once: two integers, an element, separators */

typedef struct text_out {
  fw_export *job;
  fw_atomic_file *file;
  char *buffer;
  size_t filled;
  bool open; /* libsvm: the current line, and its id */
  int64_t id;
} text_out;

static furrow_status flush_text(text_out *out, furrow_error *err) {
  const size_t n = out->filled;
  out->filled = 0;
  return fw_atomic_file_write(out->file, out->buffer, n, err);
}

static furrow_status reserve_buffer(text_out *out, furrow_error *err) {
  return BUFFER_SIZE - out->filled < MOST_FIELD ? flush_text(out, err) : FURROW_OK;
}

/* Writes an integer, followed by the byte `after`. */
static void add_integer(text_out *out, int64_t value, char after) {
  out->filled += fw_write_i64(out->buffer + out->filled, value);
  out->buffer[out->filled++] = after;
}

static void add_element(text_out *out, const fw_vectors *v, size_t i) {
  out->filled += furrow_element_to_text(v->values, v->type, i, out->buffer + out->filled);
}

static furrow_status put_tsv(void *user, const fw_vectors *v, furrow_error *err) {
  text_out *out = user;
  furrow_status status = FURROW_OK;
  for (size_t j = 0; j < v->size && status == FURROW_OK; j++) {
    status = reserve_buffer(out, err);
    if (status != FURROW_OK) break;
    add_integer(out, v->first_id, '\t');
    add_integer(out, fw_vectors_index(v, j), '\t');
    add_element(out, v, j);
    out->buffer[out->filled++] = '\n';
  }
  if (!out->open || out->id != v->first_id) out->job->result.vectors++;
  out->open = true;
  out->id = v->first_id;
  out->job->result.elements += v->size;
  return status;
}

static furrow_status begin_line(text_out *out, int64_t id, furrow_error *err) {
  if (out->open && out->id == id) return FURROW_OK;
  FW_TRY(reserve_buffer(out, err));
  if (out->open) out->buffer[out->filled++] = '\n';
  out->filled += fw_write_i64(out->buffer + out->filled, id);
  out->open = true;
  out->id = id;
  out->job->result.vectors++;
  return FURROW_OK;
}

static furrow_status put_libsvm(void *user, const fw_vectors *v, furrow_error *err) {
  text_out *out = user;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < v->count && status == FURROW_OK; i++) {
    status = begin_line(out, fw_vectors_id(v, i), err);
    for (size_t j = 0; j < v->size && status == FURROW_OK; j++) {
      status = reserve_buffer(out, err);
      if (status != FURROW_OK) break;
      out->buffer[out->filled++] = ' ';
      add_integer(out, fw_vectors_index(v, j), ':');
      add_element(out, v, i * v->size + j);
    }
  }
  out->job->result.elements += v->count * v->size;
  return status;
}

static furrow_status open_text(text_out *out, furrow_error *err) {
  furrow_status status = FW_ALLOC(&out->buffer, BUFFER_SIZE, err);
  if (status != FURROW_OK) return status;
  status = fw_atomic_file_open(&out->file, out->job->path, err);
  if (status == FURROW_OK && !out->job->params->overwrite) fw_atomic_file_keep_existing(out->file);
  return status;
}

static furrow_status export_text(fw_export *job, fw_vectors_visitor put, bool lines, furrow_error *err) {
  text_out out = {.job = job};
  furrow_status status = open_text(&out, err);
  if (status == FURROW_OK) status = fw_vectors_visit(&job->plan, put, &out, err);
  if (status == FURROW_OK) status = reserve_buffer(&out, err);
  if (status == FURROW_OK && lines && out.open) out.buffer[out.filled++] = '\n';
  if (status == FURROW_OK) status = flush_text(&out, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(out.file, err);
  if (status == FURROW_OK) job->result.bytes += fw_atomic_file_size(out.file);
  fw_atomic_file_close(out.file);
  fw_free(out.buffer);
  return status;
}

/* Sorted by row, then by column, for rows and columns as vectors. */
furrow_status fw_export_tsv(fw_export *job, furrow_error *err) {
  job->plan.axis = FURROW_AXIS_ROWS;
  return export_text(job, put_tsv, false, err);
}

furrow_status fw_export_libsvm(fw_export *job, furrow_error *err) {
  return export_text(job, put_libsvm, true, err);
}
