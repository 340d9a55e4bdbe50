/* model/exchange/export_npz.c: writes SciPy's sparse matrix (CSR) as an npz archive. */
#include <string.h>

#include "array/npy.h"
#include "array/zip.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"
#include "model/exchange/exchange_job.h"

/* ---- Encoder ------------------------------------------------------------------------------------------- */

#define SCRATCH 16384 /* numbers */

/* An upper bound of the indices, known before the scan: the number of rows for columns, the last column for rows. */
static int64_t most_indices(const fw_vectors_plan *plan) {
  if (plan->axis == FURROW_AXIS_COLUMNS) return INT32_MAX;
  const bool short_keys = furrow_matrix_source_row_type(plan->source)->key_bits == 32;
  if (plan->end_col == INT64_MAX) return short_keys ? INT32_MAX : INT64_MAX;
  return plan->end_col;
}

/* SciPy uses 32-bit indices where they fit. */
static bool needs_wide(const fw_vectors_plan *plan) {
  return most_indices(plan) > INT32_MAX || plan->most_elements > INT32_MAX;
}

furrow_status fw_csr_encoder_init(fw_csr_encoder *e, furrow_error *err) {
  void *memory;
  e->wide = needs_wide(e->plan);
  e->counting = true;
  e->most = -1;
  furrow_status status = fw_alloc(&memory, SCRATCH, sizeof(int64_t), err);
  if (status == FURROW_OK) e->scratch = memory;
  if (status == FURROW_OK) status = fw_temp_store_open(&e->data, e->temp_path, err);
  if (status == FURROW_OK) status = fw_temp_store_open(&e->begins, e->temp_path, err);
  if (status == FURROW_OK) status = fw_temp_store_open(&e->ids, e->temp_path, err);
  return status;
}

void fw_csr_encoder_clear(fw_csr_encoder *e) {
  fw_temp_store_close(e->data);
  fw_temp_store_close(e->begins);
  fw_temp_store_close(e->ids);
  fw_free(e->scratch);
  e->data = e->begins = e->ids = NULL;
  e->scratch = NULL;
}

/* Writes a 32- or 64-bit little-endian number and returns its size. */
static size_t put_number(char *out, uint64_t value, bool wide) {
  if (wide)
    fw_put_le64(out, value);
  else
    fw_put_le32(out, (uint32_t)value);
  return wide ? 8 : 4;
}

static furrow_status put_begin(fw_csr_encoder *e, furrow_error *err) {
  char bytes[8];
  return fw_temp_store_write(e->begins, bytes, put_number(bytes, e->elements, e->wide), err);
}

static furrow_status begin_vector(fw_csr_encoder *e, int64_t id, furrow_error *err) {
  char bytes[8];
  if (e->open && e->id == id) return FURROW_OK;
  e->open = true;
  e->id = id;
  e->counting = e->counting && id == (int64_t)e->vectors;
  e->vectors++;
  FW_TRY(put_begin(e, err));
  return fw_temp_store_write(e->ids, bytes, put_number(bytes, (uint64_t)id, true), err);
}

static furrow_status put_indices(fw_csr_encoder *e, const fw_vectors *v, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0, n; at < v->size && status == FURROW_OK; at += n) {
    char *out = e->scratch;
    n = v->size - at < SCRATCH ? v->size - at : SCRATCH;
    for (size_t j = 0; j < n; j++) out += put_number(out, (uint64_t)fw_vectors_index(v, at + j), e->wide);
    status = e->put_indices(e->user, e->scratch, (size_t)(out - e->scratch), err);
  }
  return status;
}

static furrow_status put_stored(void *user, const void *bytes, size_t size, furrow_error *err) {
  return fw_temp_store_write(user, bytes, size, err);
}

static furrow_status put_data(fw_csr_encoder *e, const fw_vectors *v, size_t i, furrow_error *err) {
  const size_t size = furrow_element_size(v->type);
  const char *values = (const char *)v->values.any + i * v->size * size;
  return fw_put_le_elements(put_stored, e->data, values, size, v->size, err);
}

static furrow_status put_vectors(void *user, const fw_vectors *v, furrow_error *err) {
  fw_csr_encoder *e = user;
  furrow_status status = FURROW_OK;
  if (v->size > 0) {
    const int64_t first = fw_vectors_index(v, 0), last = fw_vectors_index(v, v->size - 1);
    const int64_t least = e->negative ? (e->wide ? INT64_MIN : INT32_MIN) : 0;
    if (first < least || (!e->wide && last > INT32_MAX))
      return fw_fail(err, FURROW_E_RANGE, "column %lld cannot be an index of a sparse matrix",
                     (long long)(first < least ? first : last));
    e->most = last > e->most ? last : e->most;
  }
  for (size_t i = 0; i < v->count && status == FURROW_OK; i++) {
    status = begin_vector(e, fw_vectors_id(v, i), err);
    if (status == FURROW_OK) status = put_indices(e, v, err);
    if (status == FURROW_OK && v->size > 0) status = put_data(e, v, i, err);
    e->elements += v->size;
  }
  return status;
}

furrow_status fw_csr_encoder_run(fw_csr_encoder *e, furrow_error *err) {
  FW_TRY(fw_vectors_visit(e->plan, put_vectors, e, err));
  return put_begin(e, err);
}

int64_t fw_csr_encoder_dimension(const fw_csr_encoder *e) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(e->plan->source);
  const int64_t seen = e->most < INT64_MAX ? e->most + 1 : e->most;
  int64_t known = e->plan->axis == FURROW_AXIS_COLUMNS ? meta->row : e->plan->end_col;
  if (known == INT64_MAX) known = meta->col;
  return known > seen ? known : seen;
}

/* ---- Files --------------------------------------------------------------------------------------------- */

static furrow_status put_zip(void *user, const void *bytes, size_t size, furrow_error *err) {
  return fw_zip_writer_write(user, bytes, size, err);
}

static furrow_status put_file(void *user, const void *bytes, size_t size, furrow_error *err) {
  return fw_atomic_file_write(user, bytes, size, err);
}

static furrow_status end_array(fw_zip_writer *zip, fw_array_type type, uint64_t count, furrow_error *err) {
  char head[FW_NPY_HEADER], descr[8];
  fw_npy_descr(descr, type);
  fw_npy_write_header(head, descr, 1, count, 0);
  return fw_zip_writer_end(zip, head, err);
}

/* Copies an array from its temporary file into the archive. */
static furrow_status write_stored(fw_zip_writer *zip, const char *name, fw_array_type type, fw_temp_store *store,
                                  furrow_error *err) {
  FW_TRY(fw_zip_writer_begin(zip, name, FW_NPY_HEADER, err));
  FW_TRY(fw_temp_store_drain(store, put_zip, zip, err));
  return end_array(zip, type, fw_temp_store_size(store) / fw_array_type_size(type), err);
}

/* format.npy is the three bytes csr without a dimension, shape.npy has two numbers. */
static furrow_status write_shape(fw_zip_writer *zip, const fw_csr_encoder *e, furrow_error *err) {
  char head[FW_NPY_HEADER], shape[16];
  fw_npy_write_header(head, "|S3", 0, 0, 0);
  furrow_status status = fw_zip_writer_begin(zip, "format.npy", FW_NPY_HEADER, err);
  if (status == FURROW_OK) status = fw_zip_writer_write(zip, "csr", 3, err);
  if (status == FURROW_OK) status = fw_zip_writer_end(zip, head, err);
  if (status == FURROW_OK) status = fw_zip_writer_begin(zip, "shape.npy", FW_NPY_HEADER, err);
  if (status != FURROW_OK) return status;
  fw_put_le64(shape, e->vectors);
  fw_put_le64(shape + 8, (uint64_t)fw_csr_encoder_dimension(e));
  status = fw_zip_writer_write(zip, shape, sizeof shape, err);
  return status == FURROW_OK ? end_array(zip, FW_ARRAY_I64, 2, err) : status;
}

static furrow_status write_members(const fw_export *job, fw_csr_encoder *e, fw_zip_writer *zip, furrow_error *err) {
  const fw_array_type index = e->wide ? FW_ARRAY_I64 : FW_ARRAY_I32;
  FW_TRY(fw_zip_writer_begin(zip, "indices.npy", FW_NPY_HEADER, err));
  FW_TRY(fw_csr_encoder_run(e, err));
  FW_TRY(end_array(zip, index, e->elements, err));
  FW_TRY(write_stored(zip, "indptr.npy", index, e->begins, err));
  FW_TRY(write_shape(zip, e, err));
  return write_stored(zip, "data.npy", (fw_array_type)job->type, e->data, err);
}

/* *file stays NULL if no ids file is written. */
static furrow_status write_ids(fw_export *job, const fw_csr_encoder *e, fw_atomic_file **file, furrow_error *err) {
  char head[FW_NPY_HEADER];
  if (!job->ids_path) return FURROW_OK;
  FW_TRY(fw_atomic_file_open(file, job->ids_path, err));
  if (!job->params->overwrite) fw_atomic_file_keep_existing(*file);
  fw_npy_write_header(head, "<i8", 1, e->vectors, 0);
  FW_TRY(fw_atomic_file_write(*file, head, sizeof head, err));
  FW_TRY(fw_temp_store_drain(e->ids, put_file, *file, err));
  job->result.ids_bytes = fw_atomic_file_size(*file);
  return FURROW_OK;
}

furrow_status fw_export_npz(fw_export *job, furrow_error *err) {
  fw_zip_writer *zip = NULL;
  fw_atomic_file *ids = NULL;
  fw_csr_encoder e = {.plan = &job->plan, .temp_path = job->path, .put_indices = put_zip};
  if (strcmp(job->path, "-") == 0) return fw_fail(err, FURROW_E_ARGUMENT, "npz cannot be written to standard output");
  furrow_status status = fw_csr_encoder_init(&e, err);
  if (status == FURROW_OK) status = fw_zip_writer_open(&zip, job->path, job->params->overwrite, err);
  e.user = zip;
  if (status == FURROW_OK) status = write_members(job, &e, zip, err);
  if (status == FURROW_OK) status = write_ids(job, &e, &ids, err);
  if (status == FURROW_OK) status = fw_zip_writer_commit(zip, ids, err);
  if (status == FURROW_OK) {
    job->result.vectors = e.vectors;
    job->result.dimension = (uint64_t)fw_csr_encoder_dimension(&e);
    job->result.elements += e.elements;
    job->result.bytes += fw_zip_writer_bytes(zip);
  }
  fw_zip_writer_close(zip);
  fw_atomic_file_close(ids);
  fw_csr_encoder_clear(&e);
  return status;
}
