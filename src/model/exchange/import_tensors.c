/* model/exchange/import_tensors.c: imports the tensors of a safetensors file as matrices. */
#include <stdlib.h>
#include <string.h>

#include "array/safetensors.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "model/exchange/exchange_job.h"
#include "model/exchange/import.h"

typedef struct tensor_in {
  fw_import *job;
  fw_safetensors *file;
  fw_buffer text; /* for composed names */
  int32_t *rows;  /* saved rows of the current matrix */
  fw_import_ids ids;
} tensor_in;

/* ---- Names ---------------------------------------------------------------------------------------------- */

/* Returns name + suffix, valid until the next call; NULL if memory ran out, which the buffer's status also reports. */
static const char *full_name(tensor_in *t, const char *name, const char *suffix) {
  fw_buffer_reset(&t->text);
  fw_buffer_text(&t->text, name);
  fw_buffer_text(&t->text, suffix);
  fw_buffer_byte(&t->text, 0);
  return t->text.missing ? NULL : t->text.bytes;
}

static const fw_tensor *find_tensor(tensor_in *t, const char *name, const char *suffix) {
  const char *full = full_name(t, name, suffix);
  return full ? fw_safetensors_find(t->file, full) : NULL;
}

static const char *find_note(tensor_in *t, const char *name, const char *suffix) {
  const char *full = full_name(t, name, suffix);
  return full ? fw_safetensors_note(t->file, full) : NULL;
}

/* If the tensor's name ends in `suffix`, *base is the name of the matrix, to be freed by the caller; otherwise NULL. */
static furrow_status base_name(const fw_tensor *tensor, const char *suffix, char **base, furrow_error *err) {
  const size_t length = strlen(tensor->name), n = strlen(suffix);
  *base = NULL;
  if (length <= n || strcmp(tensor->name + length - n, suffix) != 0) return FURROW_OK;
  return fw_strndup(base, tensor->name, length - n, err);
}

static bool is_sparse(tensor_in *t, const char *name) {
  return find_tensor(t, name, FW_TENSOR_INDICES) && find_tensor(t, name, FW_TENSOR_BEGINS) &&
         find_tensor(t, name, FW_TENSOR_DATA);
}

/* ---- Notes ---------------------------------------------------------------------------------------------- */

static furrow_status fail_note(const tensor_in *t, const char *name, const char *what, const char *value,
                               furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "__metadata__: %.100s%s makes no sense", name, what);
  fw_error_set_file(err, t->job->path);
  fw_error_set_token(err, value, strlen(value));
  return FURROW_E_FORMAT;
}

/* Reads a number; *value stays unchanged if the note does not exist. */
static furrow_status note_number(tensor_in *t, const char *name, const char *what, int64_t least, int64_t *value,
                                 furrow_error *err) {
  bool overflow = false;
  int64_t number = 0;
  const char *text = find_note(t, name, what);
  if (!text) return FURROW_OK;
  const char *end = text + strlen(text), *stop = fw_read_i64(text, end, &number, &overflow);
  if (stop != end || overflow || number < least) return fail_note(t, name, what, text, err);
  *value = number;
  return FURROW_OK;
}

static furrow_status note_rows(tensor_in *t, const char *name, furrow_matrix_spec *spec, furrow_error *err) {
  const char *text = find_note(t, name, FW_TENSOR_SAVED_ROWS);
  void *memory = NULL;
  size_t capacity = 0, count = 0;
  bool overflow = false;
  if (!text || spec->saved_rows) return FURROW_OK;
  const char *s = text, *end = s + strlen(s);
  furrow_status status = FURROW_OK;
  while (s && s < end && status == FURROW_OK) {
    int32_t row = 0;
    s = fw_read_i32(s, end, &row, &overflow);
    if (!s || overflow || row < 0 || (s < end && *s++ != ' ')) {
      status = fail_note(t, name, FW_TENSOR_SAVED_ROWS, text, err);
      break;
    }
    status = fw_grow(&memory, &capacity, count + 1, sizeof row, err);
    if (status == FURROW_OK) ((int32_t *)memory)[count++] = row;
  }
  t->rows = memory;
  spec->saved_rows = memory;
  spec->saved_row_count = count;
  return status;
}

/* Restores the properties that an export noted, unless the parameters set them. */
static furrow_status read_notes(tensor_in *t, const char *name, fw_import_matrix *m, furrow_error *err) {
  furrow_matrix_spec *spec = &m->spec;
  const char *type = find_note(t, name, FW_TENSOR_ROW_TYPE), *vectors = find_note(t, name, FW_TENSOR_VECTORS);
  int64_t id = spec->matrix_id, rows = spec->rows, first = spec->first_col, end = 0;
  const bool open = spec->cols == 0;
  furrow_status status = FURROW_OK;
  if (spec->row_type < 0 && type) {
    const furrow_matrix_row_type *found;
    if (furrow_matrix_row_type_find(type, &found, NULL) != FURROW_OK || found->objects)
      return fail_note(t, name, FW_TENSOR_ROW_TYPE, type, err);
    spec->row_type = found->number;
    m->type = found->element;
  }
  if (t->job->params->vectors == FURROW_AXIS_AUTO && vectors)
    m->axis = strcmp(vectors, "columns") == 0 ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
  if (id == 0) status = note_number(t, name, FW_TENSOR_MATRIX_ID, 0, &id, err);
  if (status == FURROW_OK && rows == 0) status = note_number(t, name, FW_TENSOR_ROWS, 1, &rows, err);
  if (status == FURROW_OK && open) status = note_number(t, name, FW_TENSOR_FIRST_COL, INT64_MIN, &first, err);
  if (status == FURROW_OK && open) status = note_number(t, name, FW_TENSOR_END_COL, INT64_MIN, &end, err);
  if (status == FURROW_OK && (id > INT32_MAX || rows > INT32_MAX)) {
    fw_fail(err, FURROW_E_FORMAT, "__metadata__: a number of %.100s is too large", name);
    return FURROW_E_FORMAT;
  }
  spec->matrix_id = (int32_t)id;
  spec->rows = (int32_t)rows;
  spec->first_col = first;
  if (open && end > first && __builtin_sub_overflow(end, first, &spec->cols)) spec->cols = 0;
  return status == FURROW_OK ? note_rows(t, name, spec, err) : status;
}

/* ---- Matrices ------------------------------------------------------------------------------------------- */

static furrow_status read_ids(tensor_in *t, const char *name, uint64_t vectors, furrow_error *err) {
  const fw_tensor *tensor = find_tensor(t, name, FW_TENSOR_IDS);
  fw_array_reader *reader = NULL;
  void *memory = NULL;
  if (!tensor) return FURROW_OK;
  furrow_status status = fw_safetensors_read(t->file, tensor, &reader, err);
  if (status == FURROW_OK) status = fw_array_read_flat(reader, FW_ARRAY_I64, &memory, &t->ids.count, err);
  t->ids.ids = memory;
  if (status == FURROW_OK && t->ids.count != vectors) {
    status = fw_fail(err, FURROW_E_FORMAT, "%.100s: %zu %s for %llu %s", name, t->ids.count,
                     fw_plural(t->ids.count, "id", "ids"), (unsigned long long)vectors,
                     fw_plural(vectors, "vector", "vectors"));
    fw_error_set_file(err, t->job->path);
  }
  fw_array_close(reader);
  return status;
}

/* The original format of the matrix, unless Furrow only reads it; a sparse matrix needs a format with column ids. */
static const char *old_format(tensor_in *t, const char *name, bool sparse) {
  const char *format = find_note(t, name, FW_TENSOR_FORMAT);
  const furrow_matrix_format *found;
  if (!format || furrow_matrix_format_find(format, &found, NULL) != FURROW_OK) return NULL;
  if (!found->encode || (sparse && !(found->flags & FURROW_MATRIX_FORMAT_COL_IDS))) return NULL;
  return format;
}

static furrow_status start_matrix(tensor_in *t, const char *name, fw_array_type type, bool sparse, fw_import_matrix *m,
                                  furrow_error *err) {
  const char *format = old_format(t, name, sparse);
  furrow_status status = fw_import_start(t->job, m, type, format, err);
  if (status == FURROW_OK) status = read_notes(t, name, m, err);
  if (status == FURROW_OK && (!t->job->params->spec->name || t->job->model)) m->spec.name = name;
  return status;
}

static furrow_status import_dense(tensor_in *t, const fw_tensor *tensor, furrow_error *err) {
  fw_array_reader *reader = NULL;
  fw_import_matrix m;
  furrow_status status = fw_safetensors_read(t->file, tensor, &reader, err);
  if (status != FURROW_OK) return status;
  const fw_array_info *info = fw_array_get_info(reader);
  status = start_matrix(t, tensor->name, info->type, false, &m, err);
  if (status == FURROW_OK && info->flat) m.axis = FURROW_AXIS_COLUMNS;
  if (status == FURROW_OK) status = read_ids(t, tensor->name, info->rows, err);
  if (status == FURROW_OK) status = fw_import_array(t->job, &m, reader, &t->ids, err);
  fw_array_close(reader);
  return status;
}

static furrow_status import_sparse(tensor_in *t, const char *name, furrow_error *err) {
  fw_array_reader *begins = NULL, *indices = NULL, *data = NULL;
  fw_csr_arrays csr = {0};
  fw_import_matrix m;
  furrow_status status = fw_safetensors_read(t->file, find_tensor(t, name, FW_TENSOR_BEGINS), &begins, err);
  if (status == FURROW_OK)
    status = fw_safetensors_read(t->file, find_tensor(t, name, FW_TENSOR_INDICES), &indices, err);
  if (status == FURROW_OK) status = fw_safetensors_read(t->file, find_tensor(t, name, FW_TENSOR_DATA), &data, err);
  if (status == FURROW_OK) status = start_matrix(t, name, fw_array_get_info(data)->type, true, &m, err);
  if (status == FURROW_OK && m.axis == FURROW_AXIS_COLUMNS) m.all_rows = true;
  if (status == FURROW_OK) status = fw_csr_read(&csr, begins, indices, data, m.type, -1, err);
  if (status == FURROW_OK) status = read_ids(t, name, csr.vectors, err);
  if (status == FURROW_OK) status = fw_csr_import(t->job, &m, &csr, &t->ids, err);
  fw_csr_clear(&csr);
  fw_array_close(begins);
  fw_array_close(indices);
  fw_array_close(data);
  return status;
}

/* A tensor is a dense matrix, the indices of a sparse matrix (which represent it), or another part of a matrix. */
typedef enum role { DENSE, SPARSE, PART } role;

static furrow_status role_of(tensor_in *t, const fw_tensor *tensor, role *found, char **base, furrow_error *err) {
  static const char *const parts[] = {FW_TENSOR_INDICES, FW_TENSOR_BEGINS, FW_TENSOR_DATA, FW_TENSOR_IDS};
  *found = DENSE;
  *base = NULL;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    char *name;
    furrow_status status = base_name(tensor, parts[i], &name, err);
    if (status != FURROW_OK) return status;
    if (!name) continue;
    const bool sparse = is_sparse(t, name);
    if (sparse || (i == 3 && fw_safetensors_find(t->file, name))) *found = sparse && i == 0 ? SPARSE : PART;
    if (*found == SPARSE)
      *base = name;
    else
      fw_free(name);
    return fw_buffer_status(&t->text, err);
  }
  return FURROW_OK;
}

static furrow_status import_tensor(tensor_in *t, const fw_tensor *tensor, bool dry, size_t *count, furrow_error *err) {
  role found = PART;
  char *base = NULL;
  furrow_status status = role_of(t, tensor, &found, &base, err);
  if (status == FURROW_OK && found != PART) (*count)++;
  if (status == FURROW_OK && !dry && found == DENSE) status = import_dense(t, tensor, err);
  if (status == FURROW_OK && !dry && found == SPARSE) status = import_sparse(t, base, err);
  if (status == FURROW_OK) status = fw_buffer_status(&t->text, err);
  fw_free(base);
  fw_free(t->rows);
  fw_free(t->ids.ids);
  t->rows = NULL;
  t->ids = (fw_import_ids){NULL, 0};
  return status;
}

static furrow_status for_each(tensor_in *t, bool dry, size_t *count, furrow_error *err) {
  furrow_status status = FURROW_OK;
  *count = 0;
  for (size_t i = 0; i < fw_safetensors_count(t->file) && status == FURROW_OK; i++)
    status = import_tensor(t, fw_safetensors_tensor(t->file, i), dry, count, err);
  return status;
}

/* One matrix is written to the target folder; several become a model with a folder for each. */
static furrow_status import_all(tensor_in *t, furrow_error *err) {
  fw_import *job = t->job;
  size_t count = 0;
  furrow_status status = for_each(t, true, &count, err);
  if (status == FURROW_OK && count == 0) {
    status = fw_fail(err, FURROW_E_FORMAT, "there is no tensor in it");
    fw_error_set_file(err, job->path);
  }
  if (status == FURROW_OK && count > 1)
    status = furrow_model_writer_open(&job->model, job->target, job->params->write, err);
  if (status == FURROW_OK) status = for_each(t, false, &count, err);
  if (status == FURROW_OK && job->model) status = furrow_model_writer_commit(job->model, err);
  furrow_model_writer_close(job->model);
  job->model = NULL;
  return status;
}

furrow_status fw_import_tensors(fw_import *job, furrow_error *err) {
  tensor_in t = {.job = job};
  furrow_status status = fw_safetensors_open(&t.file, job->path, err);
  if (status == FURROW_OK) status = import_all(&t, err);
  fw_buffer_clear(&t.text);
  fw_safetensors_close(t.file);
  return status;
}
