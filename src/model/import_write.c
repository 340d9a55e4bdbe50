/* model/import_write.c: the folder of an imported matrix: what the spec leaves open is told by the elements. */
#include "base/error.h"
#include "model/import.h"

static furrow_status fill_columns(furrow_matrix_spec *spec, int64_t first, int64_t last, furrow_error *err) {
  if (spec->cols != 0) return FURROW_OK;
  if (first < spec->first_col && spec->first_col == 0) spec->first_col = first;
  if (last < spec->first_col) last = spec->first_col;
  if (__builtin_sub_overflow(last, spec->first_col, &spec->cols) || spec->cols == INT64_MAX || last == INT64_MAX)
    return fw_fail(err, FURROW_E_RANGE, "columns %lld to %lld are too far apart", (long long)first, (long long)last);
  spec->cols++;
  return FURROW_OK;
}

/* Rows that are not all of 0 … rows-1 are listed. */
static void fill_rows(furrow_matrix_spec *spec, const fw_import_extent *extent) {
  const size_t count = extent->row_count;
  if (spec->rows == 0) spec->rows = count ? extent->rows[count - 1] + 1 : 1;
  if (spec->saved_rows || (size_t)spec->rows == count) return;
  spec->saved_rows = extent->rows;
  spec->saved_row_count = count;
}

/* Dense only if that adds nothing: every row has every column. */
static void fill_type(fw_import_matrix *m, const fw_import_extent *extent) {
  furrow_matrix_spec *spec = &m->spec;
  uint64_t all;
  if (spec->row_type >= 0) return;
  const bool fits = spec->first_col >= INT32_MIN && spec->first_col + spec->cols - 1 <= INT32_MAX;
  const bool full =
      !__builtin_mul_overflow((uint64_t)extent->row_count, (uint64_t)spec->cols, &all) && all == extent->elements;
  const bool dense = m->dense && full && fits && spec->hash_parts == 0;
  spec->row_type = (int32_t)m->type * 7 + (dense ? 0 : fits ? 3 : 5);
}

furrow_status fw_import_plan(fw_import_matrix *m, const fw_import_extent *extent, furrow_matrix_meta **plan,
                             furrow_error *err) {
  furrow_status status = fill_columns(&m->spec, extent->first_col, extent->last_col, err);
  if (status != FURROW_OK) return status;
  fill_rows(&m->spec, extent);
  fill_type(m, extent);
  return furrow_matrix_plan(plan, &m->spec, err);
}

furrow_status fw_import_folder(fw_import *job, const fw_import_matrix *m, const furrow_matrix_meta *plan,
                               uint64_t elements, fw_import_fill fill, void *user, furrow_error *err) {
  const furrow_write_params *p = &job->params->write;
  furrow_matrix_writer *writer = NULL;
  furrow_status status = job->model ? furrow_matrix_writer_open_in(&writer, job->model, plan, p, err)
                                    : furrow_matrix_writer_open(&writer, job->target, plan, p, err);
  if (status == FURROW_OK) status = fill(user, writer, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_commit(writer, err);
  furrow_matrix_writer_close(writer);
  if (status != FURROW_OK) return status;
  job->result.matrices++;
  job->result.rows = m->spec.rows;
  job->result.cols = m->spec.cols;
  job->result.elements += elements;
  return FURROW_OK;
}

/* Least and largest column; 0 if there is none. */
static void find_columns(const furrow_matrix *matrix, fw_import_extent *extent) {
  bool any = false;
  for (size_t i = 0; i < furrow_matrix_panel_count(matrix); i++) {
    const furrow_panel *p = furrow_matrix_panel(matrix, i);
    if (p->cols == 0 || p->rows == 0) continue;
    const int64_t first = furrow_panel_col(p, 0), last = furrow_panel_col(p, p->cols - 1);
    extent->first_col = any && extent->first_col < first ? extent->first_col : first;
    extent->last_col = any && extent->last_col > last ? extent->last_col : last;
    any = true;
  }
}

static furrow_status put_matrix(void *user, furrow_matrix_writer *writer, furrow_error *err) {
  return furrow_matrix_writer_put_matrix(writer, *(const furrow_matrix **)user, err);
}

furrow_status fw_import_write(fw_import *job, fw_import_matrix *m, const furrow_matrix *matrix, furrow_error *err) {
  furrow_matrix_meta *plan = NULL;
  fw_import_extent extent = {.row_count = furrow_matrix_row_count(matrix),
                             .rows = furrow_matrix_row_ids(matrix),
                             .elements = furrow_matrix_count(matrix)};
  find_columns(matrix, &extent);
  furrow_status status = fw_import_plan(m, &extent, &plan, err);
  if (status == FURROW_OK) status = fw_import_folder(job, m, plan, extent.elements, put_matrix, &matrix, err);
  furrow_matrix_meta_free(plan);
  return status;
}
