/* array/array_writer.c: writes rows to a file that appears when it is complete. */
#include <string.h>

#include "array/array.h"
#include "array/npy.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"

struct fw_array_writer {
  fw_atomic_file *file;
  fw_array_write_params params;
  fw_array_layout layout;
  char *path;
  uint64_t rows; /* complete rows */
  size_t in_row; /* elements of the incomplete row */
};

static furrow_status fail_writer(const fw_array_writer *w, furrow_error *err, furrow_status status, const char *what) {
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, w->path);
  return status;
}

static furrow_status check_counts(const fw_array_writer *w, uint64_t rows, furrow_error *err) {
  if (w->layout == FW_ARRAY_LAYOUT_NPY) return FURROW_OK;
  const uint64_t dim = w->params.dim;
  if (dim > INT32_MAX) return fail_writer(w, err, FURROW_E_RANGE, "a vector has more elements than 31 bits can count");
  if (w->layout == FW_ARRAY_LAYOUT_BIN && rows > UINT32_MAX)
    return fail_writer(w, err, FURROW_E_RANGE, "there are more vectors than 32 bits can count");
  return FURROW_OK;
}

/* Appends the header, or fills it in at the start of the file. */
static furrow_status write_header(fw_array_writer *w, uint64_t rows, bool again, furrow_error *err) {
  char head[FW_NPY_HEADER], descr[8];
  size_t size = FW_NPY_HEADER;
  if (w->layout == FW_ARRAY_LAYOUT_VECS) return FURROW_OK;
  if (w->layout == FW_ARRAY_LAYOUT_NPY) {
    fw_npy_descr(descr, w->params.type);
    fw_npy_write_header(head, descr, w->params.flat ? 1 : 2, rows, w->params.dim);
  } else {
    size = FW_ARRAY_BIN_HEADER;
    fw_put_le32(head, (uint32_t)rows);
    fw_put_le32(head + 4, (uint32_t)w->params.dim);
  }
  return again ? fw_atomic_file_write_at(w->file, 0, head, size, err) : fw_atomic_file_write(w->file, head, size, err);
}

static furrow_status start_file(fw_array_writer *w, const char *path, furrow_error *err) {
  const bool known = w->params.rows != FW_ARRAY_UNKNOWN;
  furrow_status status = fw_strndup(&w->path, path, strlen(path), err);
  if (status != FURROW_OK) return status;
  if (!known && strcmp(path, "-") == 0 && w->layout != FW_ARRAY_LAYOUT_VECS)
    return fail_writer(w, err, FURROW_E_STATE, "the number of rows must be known before writing to standard output");
  status = check_counts(w, known ? w->params.rows : 0, err);
  if (status == FURROW_OK) status = fw_atomic_file_open(&w->file, path, err);
  if (status != FURROW_OK) return status;
  if (!w->params.replace) fw_atomic_file_keep_existing(w->file);
  return write_header(w, known ? w->params.rows : 0, false, err);
}

furrow_status fw_array_writer_open(fw_array_writer **writer, const char *path, const fw_array_write_params *params,
                                   furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_array_writer), err);
  if (status != FURROW_OK) return status;
  fw_array_writer *made = memory;
  made->params = *params;
  made->layout = fw_array_kind_get(params->kind)->layout;
  if (made->layout != FW_ARRAY_LAYOUT_NPY) made->params.type = fw_array_kind_get(params->kind)->type;
  status = start_file(made, path, err);
  return FW_HAND_OVER(status, writer, made, fw_array_writer_close);
}

static furrow_status put_file(void *file, const void *bytes, size_t size, furrow_error *err) {
  return fw_atomic_file_write(file, bytes, size, err);
}

static furrow_status write_elements(fw_array_writer *w, const char *elements, size_t count, furrow_error *err) {
  return fw_put_le_elements(put_file, w->file, elements, fw_array_type_size(w->params.type), count, err);
}

static furrow_status put_vecs(fw_array_writer *w, const char *elements, size_t count, furrow_error *err) {
  const size_t size = fw_array_type_size(w->params.type);
  furrow_status status = FURROW_OK;
  char prefix[FW_ARRAY_VECS_PREFIX];
  fw_put_le32(prefix, (uint32_t)w->params.dim);
  for (size_t n; count > 0 && status == FURROW_OK; count -= n, elements += n * size) {
    n = w->params.dim - w->in_row < count ? w->params.dim - w->in_row : count;
    if (w->in_row == 0) status = fw_atomic_file_write(w->file, prefix, sizeof prefix, err);
    if (status == FURROW_OK) status = write_elements(w, elements, n, err);
    w->in_row = (w->in_row + n) % w->params.dim;
    w->rows += w->in_row == 0;
  }
  return status;
}

furrow_status fw_array_writer_put(fw_array_writer *w, const void *elements, size_t count, furrow_error *err) {
  if (count == 0) return FURROW_OK;
  if (w->layout == FW_ARRAY_LAYOUT_VECS) return put_vecs(w, elements, count, err);
  w->rows += count / w->params.dim;
  w->in_row += count % w->params.dim;
  if (w->in_row >= w->params.dim) {
    w->in_row -= w->params.dim;
    w->rows++;
  }
  return write_elements(w, elements, count, err);
}

uint64_t fw_array_writer_rows(const fw_array_writer *writer) {
  return writer->rows;
}

uint64_t fw_array_writer_bytes(const fw_array_writer *writer) {
  return fw_atomic_file_size(writer->file);
}

furrow_status fw_array_writer_complete(fw_array_writer *w, fw_atomic_file **file, furrow_error *err) {
  *file = w->file;
  furrow_status status = check_counts(w, w->rows, err);
  if (status != FURROW_OK) return status;
  if (w->in_row != 0) return fail_writer(w, err, FURROW_E_STATE, "half a row was written");
  if (w->params.rows == FW_ARRAY_UNKNOWN)
    status = write_header(w, w->rows, true, err);
  else if (w->params.rows != w->rows)
    return fail_writer(w, err, FURROW_E_STATE, "not as many rows were written as announced");
  return status;
}

furrow_status fw_array_writer_commit(fw_array_writer *w, furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_array_writer_complete(w, &file, err));
  return fw_atomic_file_commit(file, err);
}

void fw_array_writer_close(fw_array_writer *writer) {
  if (!writer) return;
  fw_atomic_file_close(writer->file);
  fw_free(writer->path);
  fw_free(writer);
}
