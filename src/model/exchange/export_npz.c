/* model/exchange/export_npz.c: SciPy's sparse matrix (CSR) in an archive of arrays. */
#include <string.h>

#include "array/npy.h"
#include "array/zip_out.h"
#include "base/error.h"
#include "io/atomic_file.h"
#include "model/exchange/csr_encoder.h"

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

/* An array that waits in a temporary file. */
static furrow_status write_stored(fw_zip_writer *zip, const char *name, fw_array_type type, fw_temp_store *store,
                                  furrow_error *err) {
  furrow_status status = fw_zip_writer_begin(zip, name, FW_NPY_HEADER, err);
  if (status == FURROW_OK) status = fw_temp_store_drain(store, put_zip, zip, err);
  return status == FURROW_OK ? end_array(zip, type, fw_temp_store_size(store) / fw_array_type_size(type), err) : status;
}

/* format.npy is the three bytes csr without a dimension; shape.npy two numbers. */
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
  furrow_status status = fw_zip_writer_begin(zip, "indices.npy", FW_NPY_HEADER, err);
  if (status == FURROW_OK) status = fw_csr_encoder_run(e, err);
  if (status == FURROW_OK) status = end_array(zip, index, e->elements, err);
  if (status == FURROW_OK) status = write_stored(zip, "indptr.npy", index, e->begins, err);
  if (status == FURROW_OK) status = write_shape(zip, e, err);
  return status == FURROW_OK ? write_stored(zip, "data.npy", (fw_array_type)job->type, e->data, err) : status;
}

static furrow_status write_ids(fw_export *job, const fw_csr_encoder *e, furrow_error *err) {
  char head[FW_NPY_HEADER];
  fw_atomic_file *file = NULL;
  if (!job->ids_path) return FURROW_OK;
  furrow_status status = fw_atomic_file_open(&file, job->ids_path, err);
  if (status != FURROW_OK) return status;
  if (!job->params->overwrite) fw_atomic_file_keep_existing(file);
  fw_npy_write_header(head, "<i8", 1, e->vectors, 0);
  status = fw_atomic_file_write(file, head, sizeof head, err);
  if (status == FURROW_OK) status = fw_temp_store_drain(e->ids, put_file, file, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  if (status == FURROW_OK) job->result.ids_bytes = fw_atomic_file_size(file);
  fw_atomic_file_close(file);
  return status;
}

furrow_status fw_export_npz(fw_export *job, furrow_error *err) {
  fw_zip_writer *zip = NULL;
  fw_csr_encoder e = {.plan = &job->plan, .beside = job->path, .put_indices = put_zip};
  if (strcmp(job->path, "-") == 0) return fw_fail(err, FURROW_E_ARGUMENT, "npz cannot be written to standard output");
  furrow_status status = fw_csr_encoder_init(&e, err);
  if (status == FURROW_OK) status = fw_zip_writer_open(&zip, job->path, job->params->overwrite, err);
  e.user = zip;
  if (status == FURROW_OK) status = write_members(job, &e, zip, err);
  if (status == FURROW_OK) status = write_ids(job, &e, err);
  if (status == FURROW_OK) status = fw_zip_writer_commit(zip, err);
  if (status == FURROW_OK) {
    job->result.vectors = e.vectors;
    job->result.dimension = (uint64_t)fw_csr_encoder_dimension(&e);
    job->result.elements += e.elements;
    job->result.bytes += fw_zip_writer_bytes(zip);
  }
  fw_zip_writer_close(zip);
  fw_csr_encoder_clear(&e);
  return status;
}
