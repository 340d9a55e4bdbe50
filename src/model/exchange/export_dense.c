/* model/exchange/export_dense.c: npy, fvecs and fbin, with the ids in a second file. */
#include <string.h>

#include "array/array.h"
#include "base/error.h"
#include "model/exchange/dense_encoder.h"

typedef struct outputs {
  fw_array_writer *values, *ids;
} outputs;

static furrow_status put_values(void *user, const void *elements, size_t count, furrow_error *err) {
  return fw_array_writer_put(((outputs *)user)->values, elements, count, err);
}

static furrow_status put_ids(void *user, const void *elements, size_t count, furrow_error *err) {
  return fw_array_writer_put(((outputs *)user)->ids, elements, count, err);
}

static furrow_status count_vectors(void *user, const fw_vectors *v, furrow_error *err) {
  (void)err;
  *(uint64_t *)user += v->count;
  return FURROW_OK;
}

/* The count stands before the vectors: on standard output it must be known first. */
static furrow_status know_count(const fw_export *job, uint64_t *count, furrow_error *err) {
  *count = FW_ARRAY_UNKNOWN;
  if (job->plan.axis == FURROW_AXIS_ROWS) *count = job->plan.row_count;
  if (*count != FW_ARRAY_UNKNOWN || strcmp(job->path, "-") != 0 || job->format == FURROW_EXCHANGE_FVECS)
    return FURROW_OK;
  fw_vectors_plan plan = job->plan;
  uint64_t found = 0;
  plan.progress = NULL;
  furrow_status status = fw_vectors_visit(&plan, count_vectors, &found, err);
  if (status == FURROW_OK) *count = found;
  return status;
}

static furrow_status open_outputs(const fw_export *job, const fw_dense_encoder *e, outputs *out, furrow_error *err) {
  const fw_array_kind kind = job->format == FURROW_EXCHANGE_NPY     ? FW_ARRAY_NPY
                             : job->format == FURROW_EXCHANGE_FVECS ? FW_ARRAY_FVECS
                                                                    : FW_ARRAY_FBIN;
  fw_array_write_params params = {kind, (fw_array_type)e->to, e->dim, false, 0, job->params->overwrite};
  furrow_status status = know_count(job, &params.rows, err);
  if (status == FURROW_OK) status = fw_array_writer_open(&out->values, job->path, &params, err);
  if (status != FURROW_OK || !job->ids_path) return status;
  const fw_array_write_params ids = {FW_ARRAY_NPY, FW_ARRAY_I64, 1, true, FW_ARRAY_UNKNOWN, job->params->overwrite};
  return fw_array_writer_open(&out->ids, job->ids_path, &ids, err);
}

static furrow_status run(fw_export *job, fw_dense_encoder *e, outputs *out, furrow_error *err) {
  furrow_status status = fw_dense_encoder_init(e, err);
  if (status == FURROW_OK && e->dim == 0)
    status = fw_fail(err, FURROW_E_RANGE, "the matrix has no elements to make vectors of");
  if (status == FURROW_OK) status = open_outputs(job, e, out, err);
  if (out->ids) e->put_ids = put_ids;
  if (status == FURROW_OK) status = fw_dense_encoder_run(e, err);
  /* the vectors last: where they are, their ids are, too */
  if (status == FURROW_OK && out->ids) status = fw_array_writer_commit(out->ids, err);
  if (status == FURROW_OK) status = fw_array_writer_commit(out->values, err);
  if (status != FURROW_OK) return status;
  job->result.vectors = e->vectors;
  job->result.dimension = e->dim;
  job->result.elements += e->vectors * e->dim;
  job->result.absent += e->absent;
  job->result.bytes += fw_array_writer_bytes(out->values);
  if (out->ids) job->result.ids_bytes = fw_array_writer_bytes(out->ids);
  return FURROW_OK;
}

furrow_status fw_export_dense(fw_export *job, furrow_error *err) {
  outputs out = {NULL, NULL};
  fw_dense_encoder e = {
      .plan = &job->plan, .from = job->type, .to = job->out_type, .put_values = put_values, .user = &out};
  furrow_status status = FURROW_OK;
  if (job->plan.axis == FURROW_AXIS_ROWS) status = fw_vectors_plan_columns(&job->plan, err);
  if (status == FURROW_OK) status = run(job, &e, &out, err);
  fw_dense_encoder_clear(&e);
  fw_array_writer_close(out.values);
  fw_array_writer_close(out.ids);
  return status;
}
