/* model/exchange/import_npz.c: imports SciPy's sparse matrices (CSR) and CSR arrays of other files. */
#include <string.h>

#include "array/npy.h"
#include "array/zip.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/import.h"

/* ---- The three arrays ----------------------------------------------------------------------------------- */

void fw_csr_clear(fw_csr_arrays *csr) {
  fw_free(csr->begins);
  fw_free(csr->indices);
  fw_free(csr->data);
  *csr = (fw_csr_arrays){0};
}

static furrow_status fail_csr(const fw_array_reader *reader, furrow_error *err, const char *what, int64_t value) {
  fw_fail(err, FURROW_E_FORMAT, "%s (%lld)", what, (long long)value);
  fw_error_set_file(err, fw_array_path(reader));
  return FURROW_E_FORMAT;
}

static furrow_status check_arrays(const fw_csr_arrays *csr, const fw_array_reader *reader, int64_t dimension,
                                  furrow_error *err) {
  const int64_t *begins = csr->begins;
  if (begins[0] != 0) return fail_csr(reader, err, "indptr does not begin with 0", begins[0]);
  for (size_t i = 0; i < csr->vectors; i++) {
    if (begins[i + 1] < begins[i]) return fail_csr(reader, err, "indptr does not ascend", begins[i + 1]);
  }
  if ((uint64_t)begins[csr->vectors] != csr->count)
    return fail_csr(reader, err, "indptr does not end with the number of elements", begins[csr->vectors]);
  if (dimension < 0) return FURROW_OK;
  for (size_t i = 0; i < csr->count; i++) {
    if (csr->indices[i] < 0 || csr->indices[i] >= dimension)
      return fail_csr(reader, err, "an index is not within the shape", csr->indices[i]);
  }
  return FURROW_OK;
}

furrow_status fw_csr_read(fw_csr_arrays *csr, fw_array_reader *begins, fw_array_reader *indices, fw_array_reader *data,
                          furrow_element_type type, int64_t dimension, furrow_error *err) {
  void *b = NULL, *i = NULL, *d = NULL;
  size_t begin_count = 0, index_count = 0, count = 0;
  furrow_status status = fw_array_read_flat(begins, FW_ARRAY_I64, &b, &begin_count, err);
  if (status == FURROW_OK) status = fw_array_read_flat(indices, FW_ARRAY_I64, &i, &index_count, err);
  if (status == FURROW_OK) status = fw_array_read_flat(data, (fw_array_type)type, &d, &count, err);
  *csr = (fw_csr_arrays){begin_count ? begin_count - 1 : 0, count, b, i, d};
  if (status == FURROW_OK && begin_count == 0) status = fail_csr(begins, err, "indptr is empty", 0);
  if (status == FURROW_OK && index_count != count)
    status = fail_csr(indices, err, "there are not as many indices as elements", (int64_t)index_count);
  if (status == FURROW_OK) status = check_arrays(csr, begins, dimension, err);
  if (status != FURROW_OK) fw_csr_clear(csr);
  return status;
}

/* ---- Runs ----------------------------------------------------------------------------------------------- */

typedef struct csr_runs {
  const fw_csr_arrays *csr;
  const fw_import_ids *ids;
  size_t element;
} csr_runs;

static furrow_status each_row(void *source, fw_import_run_visitor visit, void *user, furrow_error *err) {
  const csr_runs *s = source;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < s->csr->vectors && status == FURROW_OK; i++) {
    const size_t begin = (size_t)s->csr->begins[i], end = (size_t)s->csr->begins[i + 1];
    const fw_import_run run = {(int32_t)fw_import_id(s->ids, i), end - begin, s->csr->indices + begin,
                               (const char *)s->csr->data + begin * s->element};
    status = visit(user, &run, err);
  }
  return status;
}

static furrow_status each_column(void *source, fw_import_run_visitor visit, void *user, furrow_error *err) {
  const csr_runs *s = source;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < s->csr->vectors; i++) {
    const int64_t col = fw_import_id(s->ids, i);
    for (size_t k = (size_t)s->csr->begins[i]; k < (size_t)s->csr->begins[i + 1] && status == FURROW_OK; k++) {
      const int64_t row = s->csr->indices[k];
      if (row < 0 || row >= INT32_MAX)
        return fw_fail(err, FURROW_E_RANGE, "the index %lld is not a row: rows are 0 to 2147483646", (long long)row);
      const fw_import_run run = {(int32_t)row, 1, &col, (const char *)s->csr->data + k * s->element};
      status = visit(user, &run, err);
    }
  }
  return status;
}

furrow_status fw_csr_import(fw_import *job, fw_import_matrix *m, const fw_csr_arrays *csr, const fw_import_ids *ids,
                            furrow_error *err) {
  csr_runs source = {csr, ids, furrow_element_size(m->type)};
  const fw_import_runs runs = {m->axis == FURROW_AXIS_ROWS ? each_row : each_column, &source};
  if (m->axis == FURROW_AXIS_ROWS && csr->vectors > INT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "more vectors than a matrix can have rows");
  FW_TRY(fw_import_check_ids(ids, m->axis, job->path, NULL, err));
  return fw_import_elements(job, m, &runs, err);
}

/* ---- The archive ---------------------------------------------------------------------------------------- */

static furrow_status open_member(const fw_zip *zip, const char *name, fw_bytes_in **in, furrow_error *err) {
  size_t member;
  if (!fw_zip_find(zip, name, &member)) return fw_zip_fail(zip, err, "there is no %s in it", name);
  return fw_zip_member_open(zip, member, in, err);
}

static furrow_status open_array(const fw_zip *zip, const char *name, fw_array_reader **reader, furrow_error *err) {
  fw_bytes_in *in = NULL;
  FW_TRY(open_member(zip, name, &in, err));
  return fw_array_take(reader, in, FW_ARRAY_NPY, err);
}

/* format.npy holds the kind of the matrix as bytes (S3) or four-byte characters (U3). */
static furrow_status check_format(const fw_zip *zip, furrow_error *err) {
  fw_bytes_in *in = NULL;
  fw_npy_header head = {0};
  char text[16] = "", name[5] = "";
  furrow_status status = open_member(zip, "format.npy", &in, err);
  if (status != FURROW_OK) return status;
  status = fw_npy_read_header(&head, in, err);
  const size_t width = status == FURROW_OK && head.descr[0] == 'U' ? 4 : 1;
  if (status == FURROW_OK && ((head.descr[0] != 'S' && head.descr[0] != 'U') || strcmp(head.descr + 1, "3") != 0))
    status = fw_zip_fail(zip, err, "format.npy is not the name of a format");
  if (status == FURROW_OK) status = fw_bytes_in_read_all(in, text, 3 * width, "format.npy", err);
  for (size_t i = 0; i < 3; i++) name[i] = text[i * width + (head.swapped && width == 4 ? 3 : 0)];
  if (status == FURROW_OK && strcmp(name, "csr") != 0) {
    status = fw_fail(err, FURROW_E_UNSUPPORTED, "only sparse matrices of the kind csr can be read");
    fw_error_set_hint(err, "tocsr() makes a matrix that can be read");
    fw_error_set_file(err, fw_bytes_in_path(in));
    fw_error_set_token(err, name, strlen(name));
  }
  fw_bytes_in_close(in);
  return status;
}

static furrow_status read_shape(const fw_zip *zip, int64_t shape[2], furrow_error *err) {
  fw_array_reader *reader = NULL;
  void *memory = NULL;
  size_t count = 0;
  furrow_status status = open_array(zip, "shape.npy", &reader, err);
  if (status == FURROW_OK) status = fw_array_read_flat(reader, FW_ARRAY_I64, &memory, &count, err);
  const int64_t *found = memory;
  if (status == FURROW_OK && (count != 2 || found[0] < 0 || found[1] < 0))
    status = fw_zip_fail(zip, err, "shape.npy is not the shape of a matrix");
  if (status == FURROW_OK) memcpy(shape, found, 2 * sizeof *shape);
  fw_free(memory);
  fw_array_close(reader);
  return status;
}

static furrow_status read_arrays(const fw_import *job, const fw_zip *zip, fw_csr_arrays *csr, fw_import_matrix *m,
                                 furrow_error *err) {
  fw_array_reader *begins = NULL, *indices = NULL, *data = NULL;
  int64_t shape[2];
  furrow_status status = check_format(zip, err);
  if (status == FURROW_OK) status = read_shape(zip, shape, err);
  if (status == FURROW_OK) status = open_array(zip, "indptr.npy", &begins, err);
  if (status == FURROW_OK) status = open_array(zip, "indices.npy", &indices, err);
  if (status == FURROW_OK) status = open_array(zip, "data.npy", &data, err);
  if (status == FURROW_OK) status = fw_import_start(job, m, fw_array_get_info(data)->type, NULL, err);
  if (status == FURROW_OK) status = fw_csr_read(csr, begins, indices, data, m->type, shape[1], err);
  if (status == FURROW_OK && csr->vectors != (uint64_t)shape[0]) {
    fw_csr_clear(csr);
    status = fw_zip_fail(zip, err, "indptr.npy and shape.npy have different numbers of rows");
  }
  if (status == FURROW_OK && m->axis == FURROW_AXIS_ROWS && m->spec.cols == 0 && shape[1] > m->spec.first_col)
    m->spec.cols = shape[1] - m->spec.first_col;
  if (status == FURROW_OK && m->axis == FURROW_AXIS_COLUMNS && m->spec.rows == 0 && shape[1] < INT32_MAX)
    m->spec.rows = (int32_t)shape[1];
  if (status == FURROW_OK && m->axis == FURROW_AXIS_COLUMNS) m->all_rows = true;
  fw_array_close(begins);
  fw_array_close(indices);
  fw_array_close(data);
  return status;
}

furrow_status fw_import_npz(fw_import *job, furrow_error *err) {
  fw_zip *zip = NULL;
  fw_csr_arrays csr = {0};
  fw_import_matrix m;
  fw_import_ids ids = {NULL, 0};
  furrow_status status = fw_zip_open(&zip, job->path, err);
  if (status == FURROW_OK) status = read_arrays(job, zip, &csr, &m, err);
  if (status == FURROW_OK) status = fw_import_read_ids(job, &ids, csr.vectors, err);
  if (status == FURROW_OK) status = fw_csr_import(job, &m, &csr, &ids, err);
  fw_csr_clear(&csr);
  fw_free(ids.ids);
  fw_zip_close(zip);
  return status;
}
