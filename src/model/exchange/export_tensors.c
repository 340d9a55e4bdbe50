/* model/exchange/export_tensors.c: writes the matrices of a model as named tensors of one safetensors file. */
#include <stdio.h>
#include <string.h>

#include "array/safetensors.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/exchange_job.h"

typedef struct tensor_out {
  fw_export *job;
  fw_safetensors_writer *file;
  fw_temp_store *ids;
  const char *name; /* name of the matrix */
  size_t capacity;  /* reserved bytes of the header */
} tensor_out;

static furrow_status put_file(void *user, const void *bytes, size_t size, furrow_error *err) {
  return fw_safetensors_writer_write(user, bytes, size, err);
}

/* ---- Notes in __metadata__, from which an import restores the matrix ------------------------------------ */

static furrow_status note_text(const tensor_out *out, const char *what, const char *value, furrow_error *err) {
  fw_buffer key = {0};
  fw_buffer_text(&key, out->name);
  fw_buffer_text(&key, what);
  fw_buffer_byte(&key, 0);
  furrow_status status = fw_buffer_status(&key, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_note(out->file, key.bytes, value, err);
  fw_buffer_clear(&key);
  return status;
}

static furrow_status note_number(const tensor_out *out, const char *what, int64_t value, furrow_error *err) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return note_text(out, what, text, err);
}

/* Tensors of columns cannot express which rows are saved, so the row ids are noted if some are missing. */
static furrow_status note_rows(const tensor_out *out, furrow_error *err) {
  const fw_vectors_plan *plan = &out->job->plan;
  fw_buffer text = {0};
  const bool all = plan->row_count == (size_t)furrow_matrix_source_meta(plan->source)->row;
  if (all || plan->axis == FURROW_AXIS_ROWS) return FURROW_OK;
  for (size_t i = 0; i < plan->row_count; i++) {
    if (i) fw_buffer_byte(&text, ' ');
    fw_buffer_i64(&text, plan->rows[i]);
  }
  fw_buffer_byte(&text, 0);
  furrow_status status = fw_buffer_status(&text, err);
  if (status == FURROW_OK) status = note_text(out, FW_TENSOR_SAVED_ROWS, text.bytes, err);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status note_matrix(const tensor_out *out, furrow_error *err) {
  const furrow_matrix_source *source = out->job->plan.source;
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const bool by_columns = out->job->plan.axis == FURROW_AXIS_COLUMNS;
  FW_TRY(note_number(out, FW_TENSOR_MATRIX_ID, meta->matrix_id, err));
  FW_TRY(note_text(out, FW_TENSOR_ROW_TYPE, furrow_matrix_source_row_type(source)->name, err));
  FW_TRY(note_text(out, FW_TENSOR_FORMAT, furrow_matrix_source_format(source)->name, err));
  FW_TRY(note_text(out, FW_TENSOR_VECTORS, by_columns ? "columns" : "rows", err));
  FW_TRY(note_number(out, FW_TENSOR_ROWS, meta->row, err));
  if (out->job->plan.first_col != INT64_MIN)
    FW_TRY(note_number(out, FW_TENSOR_FIRST_COL, out->job->plan.first_col, err));
  if (out->job->plan.end_col != INT64_MAX) FW_TRY(note_number(out, FW_TENSOR_END_COL, out->job->plan.end_col, err));
  return note_rows(out, err);
}

/* Upper bound of a matrix's share of the header: eight notes and four tensors with suffixes of at most 16 bytes; six
 * values are numbers or short words. */
static size_t header_capacity(const tensor_out *out) {
  const size_t name = fw_safetensors_text(out->name) + 16;
  const size_t format = fw_safetensors_text(furrow_matrix_source_format(out->job->plan.source)->name);
  const size_t values = 6 * 32 + format + 12 * out->job->plan.row_count;
  return 8 * (name + FW_SAFETENSORS_NOTE) + values + 4 * (name + FW_SAFETENSORS_TENSOR);
}

/* ---- Tensors -------------------------------------------------------------------------------------------- */

static furrow_status begin_tensor(const tensor_out *out, const char *suffix, fw_array_type type, furrow_error *err) {
  fw_buffer name = {0};
  fw_buffer_text(&name, out->name);
  fw_buffer_text(&name, suffix);
  fw_buffer_byte(&name, 0);
  furrow_status status = fw_buffer_status(&name, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_begin(out->file, name.bytes, type, err);
  fw_buffer_clear(&name);
  return status;
}

static furrow_status write_stored(const tensor_out *out, const char *suffix, fw_array_type type, fw_temp_store *store,
                                  furrow_error *err) {
  furrow_status status = begin_tensor(out, suffix, type, err);
  if (status == FURROW_OK) status = fw_temp_store_drain(store, put_file, out->file, err);
  if (status != FURROW_OK) return status;
  return fw_safetensors_writer_end(out->file, 1, fw_temp_store_size(store) / fw_array_type_size(type), 0, err);
}

static furrow_status put_values(void *user, const void *elements, size_t count, furrow_error *err) {
  const tensor_out *out = user;
  return fw_put_le_elements(put_file, out->file, elements, furrow_element_size(out->job->out_type), count, err);
}

static furrow_status put_stored(void *user, const void *bytes, size_t size, furrow_error *err) {
  return fw_temp_store_write(user, bytes, size, err);
}

static furrow_status put_ids(void *user, const void *elements, size_t count, furrow_error *err) {
  return fw_put_le_elements(put_stored, ((const tensor_out *)user)->ids, elements, sizeof(int64_t), count, err);
}

static furrow_status export_dense(tensor_out *out, furrow_error *err) {
  fw_export *job = out->job;
  fw_dense_encoder e = {.plan = &job->plan,
                        .from = job->type,
                        .to = job->out_type,
                        .put_values = put_values,
                        .put_ids = put_ids,
                        .user = out};
  furrow_status status = fw_dense_encoder_init(&e, err);
  if (status == FURROW_OK) status = fw_temp_store_open(&out->ids, job->path, err);
  if (status == FURROW_OK) status = begin_tensor(out, "", (fw_array_type)job->out_type, err);
  if (status == FURROW_OK) status = fw_dense_encoder_run(&e, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_end(out->file, 2, e.vectors, e.dim, err);
  if (status == FURROW_OK && !e.counting) status = write_stored(out, FW_TENSOR_IDS, FW_ARRAY_I64, out->ids, err);
  job->result.vectors = e.vectors;
  job->result.dimension = e.dim;
  job->result.elements += e.vectors * e.dim;
  job->result.absent += e.absent;
  fw_temp_store_close(out->ids);
  out->ids = NULL;
  fw_dense_encoder_clear(&e);
  return status;
}

static furrow_status export_sparse(tensor_out *out, furrow_error *err) {
  fw_export *job = out->job;
  fw_csr_encoder e = {
      .plan = &job->plan, .temp_path = job->path, .put_indices = put_file, .user = out->file, .negative = true};
  furrow_status status = fw_csr_encoder_init(&e, err);
  const fw_array_type index = e.wide ? FW_ARRAY_I64 : FW_ARRAY_I32;
  if (status == FURROW_OK) status = begin_tensor(out, FW_TENSOR_INDICES, index, err);
  if (status == FURROW_OK) status = fw_csr_encoder_run(&e, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_end(out->file, 1, e.elements, 0, err);
  if (status == FURROW_OK) status = write_stored(out, FW_TENSOR_BEGINS, index, e.begins, err);
  if (status == FURROW_OK) status = write_stored(out, FW_TENSOR_DATA, (fw_array_type)job->type, e.data, err);
  if (status == FURROW_OK && !e.counting) status = write_stored(out, FW_TENSOR_IDS, FW_ARRAY_I64, e.ids, err);
  job->result.vectors = e.vectors;
  job->result.dimension = status == FURROW_OK ? (uint64_t)fw_csr_encoder_dimension(&e) : 0;
  job->result.elements += e.elements;
  fw_csr_encoder_clear(&e);
  return status;
}

/* Whether every vector is known to have every element: dense rows, or columns of a column format with all saved
 * rows. */
static bool is_dense(const fw_vectors_plan *plan) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(plan->source);
  const bool by_column = furrow_matrix_source_format(plan->source)->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  if (furrow_matrix_source_row_type(plan->source)->dense) return true;
  if (!by_column || plan->axis != FURROW_AXIS_COLUMNS) return false;
  for (size_t i = 0; i < meta->part_count; i++) {
    if (meta->parts[i].start_row != meta->parts[0].start_row) return false;
  }
  return true;
}

static furrow_status export_matrix(tensor_out *out, furrow_error *err) {
  fw_vectors_plan *plan = &out->job->plan;
  furrow_status status = FURROW_OK;
  const bool dense = is_dense(plan);
  if (dense && plan->axis == FURROW_AXIS_ROWS) status = fw_vectors_plan_columns(plan, err);
  if (status == FURROW_OK) status = note_matrix(out, err);
  if (status != FURROW_OK) return status;
  return dense ? export_dense(out, err) : export_sparse(out, err);
}

/* ---- The file ------------------------------------------------------------------------------------------- */

typedef furrow_status (*matrix_step)(tensor_out *out, furrow_error *err);

static furrow_status for_each_matrix(tensor_out *out, const furrow_model_listing *listing, matrix_step step,
                                     furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < listing->matrix_count && status == FURROW_OK; i++) {
    furrow_matrix_source *source = NULL;
    status = fw_export_open_source(out->job, listing->matrices[i].folder, &source, err);
    if (status != FURROW_OK) return status;
    const char *name = furrow_matrix_source_meta(source)->matrix_name;
    out->name = name ? name : listing->matrices[i].name;
    status = step(out, err);
    fw_export_close_source(out->job, source);
  }
  return status;
}

static furrow_status add_header_bytes(tensor_out *out, furrow_error *err) {
  (void)err;
  out->capacity += header_capacity(out);
  return FURROW_OK;
}

furrow_status fw_export_tensors(fw_export *job, const furrow_model_listing *listing, furrow_error *err) {
  tensor_out out = {.job = job};
  if (strcmp(job->path, "-") == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "safetensors cannot be written to standard output");
  furrow_status status = for_each_matrix(&out, listing, add_header_bytes, err);
  if (status == FURROW_OK)
    status = fw_safetensors_writer_open(&out.file, job->path, out.capacity, job->params->overwrite, err);
  if (status == FURROW_OK) status = for_each_matrix(&out, listing, export_matrix, err);
  status = fw_export_end_watch(job, status, err);
  if (status == FURROW_OK) status = fw_safetensors_writer_commit(out.file, err);
  if (status == FURROW_OK) {
    job->result.matrices = listing->matrix_count;
    job->result.bytes = fw_safetensors_writer_bytes(out.file);
  }
  fw_safetensors_writer_close(out.file);
  return status;
}
