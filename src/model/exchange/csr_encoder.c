/* model/exchange/csr_encoder.c: one pass; what cannot be written yet goes to temporary files. */
#include "model/exchange/csr_encoder.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define SCRATCH 16384 /* numbers */

/* A bound on the indices before the pass: rows of columns, columns of rows. */
static int64_t most_indices(const fw_vectors_plan *plan) {
  if (plan->axis == FURROW_AXIS_COLUMNS) return INT32_MAX;
  const bool short_keys = furrow_matrix_source_row_type(plan->source)->key_bits == 32;
  if (plan->end_col == INT64_MAX) return short_keys ? INT32_MAX : INT64_MAX;
  return plan->end_col;
}

/* SciPy takes the narrow ones where they fit. */
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
  if (status == FURROW_OK) status = fw_temp_store_open(&e->data, e->beside, err);
  if (status == FURROW_OK) status = fw_temp_store_open(&e->begins, e->beside, err);
  if (status == FURROW_OK) status = fw_temp_store_open(&e->ids, e->beside, err);
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

/* A number with 32 or 64 bits, little-endian; returns its bytes. */
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
  furrow_status status = put_begin(e, err);
  return status == FURROW_OK ? fw_temp_store_write(e->ids, bytes, put_number(bytes, (uint64_t)id, true), err) : status;
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

static furrow_status put_data(fw_csr_encoder *e, const fw_vectors *v, size_t i, furrow_error *err) {
  const size_t size = furrow_element_size(v->type);
  const char *values = (const char *)v->values.any + i * v->size * size;
  if (!FW_BIG_ENDIAN) return fw_temp_store_write(e->data, values, v->size * size, err);
  furrow_status status = FURROW_OK;
  for (size_t at = 0, n; at < v->size && status == FURROW_OK; at += n) {
    n = v->size - at < SCRATCH ? v->size - at : SCRATCH;
    memcpy(e->scratch, values + at * size, n * size);
    fw_array_little(e->scratch, size, n);
    status = fw_temp_store_write(e->data, e->scratch, n * size, err);
  }
  return status;
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
    if (status == FURROW_OK) status = put_data(e, v, i, err);
    e->elements += v->size;
  }
  return status;
}

furrow_status fw_csr_encoder_run(fw_csr_encoder *e, furrow_error *err) {
  furrow_status status = fw_vectors_visit(e->plan, put_vectors, e, err);
  return status == FURROW_OK ? put_begin(e, err) : status;
}

int64_t fw_csr_encoder_dimension(const fw_csr_encoder *e) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(e->plan->source);
  const int64_t seen = e->most < INT64_MAX ? e->most + 1 : e->most;
  int64_t known = e->plan->axis == FURROW_AXIS_COLUMNS ? meta->row : e->plan->end_col;
  if (known == INT64_MAX) known = meta->col;
  return known > seen ? known : seen;
}
