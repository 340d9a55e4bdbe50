/* model/exchange/export_dense.c: writes npy, fvecs and fbin, with the ids in a second file. */
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/exchange_job.h"

/* ---- Encoder ------------------------------------------------------------------------------------------- */

#define SCRATCH 16384 /* elements of at most 8 bytes */

furrow_status fw_dense_dimension(const fw_vectors_plan *plan, size_t *dim, furrow_error *err) {
  const uint64_t width = (uint64_t)plan->end_col - (uint64_t)plan->first_col;
  if (plan->axis == FURROW_AXIS_COLUMNS) {
    *dim = plan->row_count;
    return FURROW_OK;
  }
  if (width > (uint64_t)1 << 31 || plan->end_col > (int64_t)1 << 31) {
    fw_fail(err, FURROW_E_RANGE, "columns reach to %lld: too far for dense rows", (long long)plan->end_col);
    fw_error_set_hint(err, "choose columns as vectors, or a sparse format");
    return FURROW_E_RANGE;
  }
  *dim = (size_t)width;
  return FURROW_OK;
}

furrow_status fw_dense_encoder_init(fw_dense_encoder *e, furrow_error *err) {
  void *memory;
  furrow_status status = fw_dense_dimension(e->plan, &e->dim, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, SCRATCH, sizeof(double), err);
  if (status == FURROW_OK) e->scratch = memory;
  e->counting = true;
  return status;
}

void fw_dense_encoder_clear(fw_dense_encoder *e) {
  fw_free(e->scratch);
  e->scratch = NULL;
}

/* Writes elements unchanged, or converted in pieces. */
static furrow_status put_converted(fw_dense_encoder *e, const char *values, size_t count, furrow_error *err) {
  const fw_array_type from = (fw_array_type)e->from, to = (fw_array_type)e->to;
  if (from == to) return e->put_values(e->user, values, count, err);
  furrow_status status = FURROW_OK;
  for (size_t n; count > 0 && status == FURROW_OK; count -= n, values += n * fw_array_type_size(from)) {
    n = count < SCRATCH ? count : SCRATCH;
    const size_t good = fw_array_convert(to, e->scratch, from, values, n);
    if (good < n) {
      char text[32];
      fw_array_element_text(text, from, values, good);
      fw_fail(err, FURROW_E_RANGE, "an element does not fit in %s", furrow_element_type_name(e->to));
      fw_error_set_token(err, text, strlen(text));
      return FURROW_E_RANGE;
    }
    status = e->put_values(e->user, e->scratch, n, err);
  }
  return status;
}

static furrow_status put_zeros(fw_dense_encoder *e, size_t count, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (count == 0) return FURROW_OK;
  e->absent += count;
  e->filled += count;
  memset(e->scratch, 0, (count < SCRATCH ? count : SCRATCH) * sizeof(double));
  for (size_t n; count > 0 && status == FURROW_OK; count -= n) {
    n = count < SCRATCH ? count : SCRATCH;
    status = e->put_values(e->user, e->scratch, n, err);
  }
  return status;
}

static furrow_status end_vector(fw_dense_encoder *e, furrow_error *err) {
  if (!e->open) return FURROW_OK;
  e->open = false;
  return put_zeros(e, e->dim - e->filled, err);
}

static furrow_status begin_vector(fw_dense_encoder *e, int64_t id, furrow_error *err) {
  if (e->open && e->id == id) return FURROW_OK;
  FW_TRY(end_vector(e, err));
  e->open = true;
  e->id = id;
  e->filled = 0;
  e->counting = e->counting && id == (int64_t)e->vectors;
  e->vectors++;
  return e->put_ids ? e->put_ids(e->user, &id, 1, err) : FURROW_OK;
}

/* The position of an index in the dense vector. */
static size_t place_of(const fw_dense_encoder *e, int64_t index) {
  const fw_vectors_plan *plan = e->plan;
  if (plan->axis == FURROW_AXIS_ROWS) return (size_t)((uint64_t)index - (uint64_t)plan->first_col);
  size_t low = e->filled, high = plan->row_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (plan->rows[middle] < index)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Counts the elements from j on that are also adjacent in the dense vector. */
static size_t run_length(const fw_dense_encoder *e, const fw_vectors *v, size_t j, size_t place) {
  const bool by_rows = e->plan->axis == FURROW_AXIS_ROWS;
  size_t n = 1;
  if (!v->indices) return v->size - j;
  for (; j + n < v->size && place + n < e->dim; n++) {
    const int64_t next = by_rows ? e->plan->first_col + (int64_t)(place + n) : e->plan->rows[place + n];
    if (v->indices[j + n] != next) break;
  }
  return n;
}

static furrow_status put_vector(fw_dense_encoder *e, const fw_vectors *v, size_t i, furrow_error *err) {
  const size_t size = furrow_element_size(e->from);
  const char *values = (const char *)v->values.any + i * v->size * size;
  furrow_status status = begin_vector(e, fw_vectors_id(v, i), err);
  for (size_t j = 0, n; j < v->size && status == FURROW_OK; j += n) {
    const size_t place = place_of(e, fw_vectors_index(v, j));
    n = run_length(e, v, j, place);
    if (place < e->filled || place + n > e->dim)
      return fw_fail(err, FURROW_E_STATE, "index %lld does not belong to the vector",
                     (long long)fw_vectors_index(v, j));
    status = put_zeros(e, place - e->filled, err);
    if (status == FURROW_OK) status = put_converted(e, values + j * size, n, err);
    e->filled += n;
  }
  return status;
}

/* Writes vectors that have all their elements. Only the ids are looked at. */
static furrow_status put_whole(fw_dense_encoder *e, const fw_vectors *v, furrow_error *err) {
  furrow_status status = end_vector(e, err);
  for (size_t i = 0; i < v->count && e->counting; i++) e->counting = fw_vectors_id(v, i) == (int64_t)(e->vectors + i);
  e->vectors += v->count;
  if (status == FURROW_OK) status = put_converted(e, v->values.any, v->count * v->size, err);
  if (status != FURROW_OK || !e->put_ids) return status;
  if (v->ids) return e->put_ids(e->user, v->ids, v->count, err);
  int64_t *ids = (int64_t *)(void *)e->scratch;
  for (size_t at = 0, n; at < v->count && status == FURROW_OK; at += n) {
    n = v->count - at < SCRATCH ? v->count - at : SCRATCH;
    for (size_t i = 0; i < n; i++) ids[i] = fw_vectors_id(v, at + i);
    status = e->put_ids(e->user, ids, n, err);
  }
  return status;
}

static furrow_status put_vectors(void *user, const fw_vectors *v, furrow_error *err) {
  fw_dense_encoder *e = user;
  furrow_status status = FURROW_OK;
  if (e->plan->axis == FURROW_AXIS_COLUMNS && v->size == e->dim && v->count > 1) return put_whole(e, v, err);
  for (size_t i = 0; i < v->count && status == FURROW_OK; i++) status = put_vector(e, v, i, err);
  return status;
}

furrow_status fw_dense_encoder_run(fw_dense_encoder *e, furrow_error *err) {
  FW_TRY(fw_vectors_visit(e->plan, put_vectors, e, err));
  return end_vector(e, err);
}

/* ---- Files --------------------------------------------------------------------------------------------- */

typedef struct outputs {
  fw_array_writer *values, *ids;
} outputs;

static furrow_status write_values(void *user, const void *elements, size_t count, furrow_error *err) {
  return fw_array_writer_put(((outputs *)user)->values, elements, count, err);
}

static furrow_status write_ids(void *user, const void *elements, size_t count, furrow_error *err) {
  return fw_array_writer_put(((outputs *)user)->ids, elements, count, err);
}

static furrow_status count_visited(void *user, const fw_vectors *v, furrow_error *err) {
  (void)err;
  *(uint64_t *)user += v->count;
  return FURROW_OK;
}

/* The header contains the number of vectors; for standard output it must be known before the vectors are written. */
static furrow_status count_vectors(const fw_export *job, uint64_t *count, furrow_error *err) {
  *count = FW_ARRAY_UNKNOWN;
  if (job->plan.axis == FURROW_AXIS_ROWS) *count = job->plan.row_count;
  if (*count != FW_ARRAY_UNKNOWN || strcmp(job->path, "-") != 0 || job->format == FURROW_EXCHANGE_FVECS)
    return FURROW_OK;
  fw_vectors_plan plan = job->plan;
  uint64_t found = 0;
  plan.progress = NULL;
  furrow_status status = fw_vectors_visit(&plan, count_visited, &found, err);
  if (status == FURROW_OK) *count = found;
  return status;
}

static furrow_status open_outputs(const fw_export *job, const fw_dense_encoder *e, outputs *out, furrow_error *err) {
  const fw_array_kind kind = job->format == FURROW_EXCHANGE_NPY     ? FW_ARRAY_NPY
                             : job->format == FURROW_EXCHANGE_FVECS ? FW_ARRAY_FVECS
                                                                    : FW_ARRAY_FBIN;
  fw_array_write_params params = {kind, (fw_array_type)e->to, e->dim, false, 0, job->params->overwrite};
  furrow_status status = count_vectors(job, &params.rows, err);
  if (status == FURROW_OK) status = fw_array_writer_open(&out->values, job->path, &params, err);
  if (status != FURROW_OK || !job->ids_path) return status;
  const fw_array_write_params ids = {FW_ARRAY_NPY, FW_ARRAY_I64, 1, true, FW_ARRAY_UNKNOWN, job->params->overwrite};
  return fw_array_writer_open(&out->ids, job->ids_path, &ids, err);
}

static furrow_status commit(outputs *out, furrow_error *err) {
  fw_atomic_file *values = NULL, *ids = NULL;
  FW_TRY(fw_array_writer_complete(out->values, &values, err));
  if (!out->ids) return fw_atomic_file_commit(values, err);
  FW_TRY(fw_array_writer_complete(out->ids, &ids, err));
  return fw_atomic_files_commit((fw_atomic_file *[]){values, ids}, 2, err);
}

static furrow_status write_files(fw_export *job, fw_dense_encoder *e, outputs *out, furrow_error *err) {
  furrow_status status = fw_dense_encoder_init(e, err);
  if (status == FURROW_OK && e->dim == 0)
    status = fw_fail(err, FURROW_E_RANGE, "the matrix has no elements to make vectors of");
  if (status == FURROW_OK) status = open_outputs(job, e, out, err);
  if (out->ids) e->put_ids = write_ids;
  if (status == FURROW_OK) status = fw_dense_encoder_run(e, err);
  if (status == FURROW_OK) status = commit(out, err);
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
      .plan = &job->plan, .from = job->type, .to = job->out_type, .put_values = write_values, .user = &out};
  furrow_status status = FURROW_OK;
  if (job->plan.axis == FURROW_AXIS_ROWS) status = fw_vectors_plan_columns(&job->plan, err);
  if (status == FURROW_OK) status = write_files(job, &e, &out, err);
  fw_dense_encoder_clear(&e);
  fw_array_writer_close(out.values);
  fw_array_writer_close(out.ids);
  return status;
}
