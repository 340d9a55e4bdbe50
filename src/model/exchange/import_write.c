/* model/exchange/import_write.c: writes the folder of an imported matrix: selects the saved rows, and derives missing
 * values of the spec from the elements. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/import.h"

/* ---- Saved rows ---------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

static bool is_saved(const fw_import_saved *saved, int32_t row) {
  return bsearch(&row, saved->rows, saved->count, sizeof row, by_number) != NULL;
}

typedef struct passing {
  fw_import_saved *saved;
  fw_import_run_visitor visit;
  void *user;
} passing;

/* Rows that are not saved also count for the size of the matrix. */
static void note_other(fw_import_saved *saved, const fw_import_run *run) {
  if (run->row > saved->last_row) saved->last_row = run->row;
  for (size_t i = 0; i < run->count; i++) {
    const int64_t col = run->cols[i];
    if (!saved->others || col < saved->first_col) saved->first_col = col;
    if (!saved->others || col > saved->last_col) saved->last_col = col;
    saved->others = true;
  }
}

static furrow_status pass_run(void *user, const fw_import_run *run, furrow_error *err) {
  const passing *p = user;
  if (is_saved(p->saved, run->row)) return p->visit(p->user, run, err);
  note_other(p->saved, run);
  return FURROW_OK;
}

static furrow_status each_saved(void *source, fw_import_run_visitor visit, void *user, furrow_error *err) {
  fw_import_saved *saved = source;
  passing p = {saved, visit, user};
  return saved->all->each(saved->all->source, pass_run, &p, err);
}

furrow_status fw_import_saved_open(fw_import_saved *saved, const furrow_matrix_spec *spec, const fw_import_runs *all,
                                   fw_import_runs *runs, furrow_error *err) {
  saved->all = all;
  *runs = *all;
  if (!spec->saved_rows) return FURROW_OK;
  FW_TRY(FW_ALLOC(&saved->rows, spec->saved_row_count, err));
  saved->count = spec->saved_row_count;
  if (saved->count) memcpy(saved->rows, spec->saved_rows, saved->count * sizeof *saved->rows);
  if (saved->count) qsort(saved->rows, saved->count, sizeof *saved->rows, by_number);
  *runs = (fw_import_runs){each_saved, saved};
  return FURROW_OK;
}

void fw_import_saved_clear(fw_import_saved *saved) {
  fw_free(saved->rows);
  *saved = (fw_import_saved){0};
}

/* ---- nnz ------------------------------------------------------------------------------------------------ */

typedef struct counting {
  const fw_import_saved *saved;
  const furrow_matrix_spec *spec;
  furrow_matrix_meta *plan;
  uint64_t left_out;
} counting;

/* The partition of an element; NULL if the plan has none because its rows are not saved, or if the column is out of
 * range. */
static furrow_partition_meta *part_of(const counting *c, int32_t row, int64_t col) {
  const furrow_matrix_meta *plan = c->plan;
  uint64_t id;
  if (plan->block_col < 0) {
    id = (uint64_t)furrow_matrix_hash_partition(col, (int32_t)plan->part_count);
  } else {
    const uint64_t place = (uint64_t)col - (uint64_t)c->spec->first_col, block = (uint64_t)plan->block_col;
    if (col < c->spec->first_col || place >= (uint64_t)plan->col) return NULL;
    const uint64_t blocks = (uint64_t)plan->col / block + ((uint64_t)plan->col % block != 0);
    id = (uint64_t)(row / plan->block_row) * blocks + place / block;
  }
  return (furrow_partition_meta *)furrow_matrix_meta_partition(plan, (int32_t)id);
}

static furrow_status count_run(void *user, const fw_import_run *run, furrow_error *err) {
  counting *c = user;
  if (run->row >= c->spec->rows)
    return fw_fail(err, FURROW_E_RANGE, "row %d is not one of %d", (int)run->row, (int)c->spec->rows);
  if (!is_saved(c->saved, run->row)) c->left_out += run->count;
  for (size_t i = 0; i < run->count; i++) {
    furrow_partition_meta *part = part_of(c, run->row, run->cols[i]);
    if (part) part->nnz++;
  }
  return FURROW_OK;
}

furrow_status fw_import_count_nnz(const fw_import_saved *saved, const furrow_matrix_spec *spec,
                                  furrow_matrix_meta *plan, uint64_t *left_out, furrow_error *err) {
  counting c = {saved, spec, plan, 0};
  furrow_status status = saved->all->each(saved->all->source, count_run, &c, err);
  /* if nothing is left out, the writer sets nnz, which then includes zeros that it fills in */
  for (size_t i = 0; status == FURROW_OK && c.left_out == 0 && i < plan->part_count; i++) plan->parts[i].nnz = 0;
  if (status == FURROW_OK) *left_out = c.left_out;
  return status;
}

/* ---- The folder ---------------------------------------------------------------------------------------- */

static furrow_status fill_columns(furrow_matrix_spec *spec, int64_t first, int64_t last, furrow_error *err) {
  int64_t cols;
  if (spec->cols != 0) return FURROW_OK;
  if (first < spec->first_col && spec->first_col == 0) spec->first_col = first;
  if (last < spec->first_col) last = spec->first_col;
  const bool fits = !__builtin_sub_overflow(last, spec->first_col, &cols) && cols < INT64_MAX && last < INT64_MAX;
  if (!fits && spec->hash_parts == 0) {
    fw_fail(err, FURROW_E_RANGE, "columns %lld to %lld are more than 64 bits can count", (long long)first,
            (long long)last);
    fw_error_set_hint(err, "choose hash partitions: they need no count of columns");
    return FURROW_E_RANGE;
  }
  spec->cols = fits ? cols + 1 : -1;
  return FURROW_OK;
}

/* The largest row id plus one, over saved and other rows. */
static int32_t rows_needed(const furrow_matrix_spec *spec, const fw_import_extent *extent) {
  int32_t last = extent->row_count ? extent->rows[extent->row_count - 1] : 0;
  if (extent->last_row > last) last = extent->last_row;
  for (size_t i = 0; spec->saved_rows && i < spec->saved_row_count; i++)
    if (spec->saved_rows[i] > last) last = spec->saved_rows[i];
  return last < INT32_MAX ? last + 1 : last;
}

/* If the file names its rows, rows that do not occur in it are not saved. */
static void fill_rows(fw_import_matrix *m, const fw_import_extent *extent) {
  furrow_matrix_spec *spec = &m->spec;
  if (spec->rows == 0) spec->rows = rows_needed(spec, extent);
  if (spec->saved_rows || m->all_rows || (size_t)spec->rows == extent->row_count || extent->row_count == 0) return;
  spec->saved_rows = extent->rows;
  spec->saved_row_count = extent->row_count;
}

/* Uses a dense row type only if it adds no elements: every row has every column. */
static void fill_type(fw_import_matrix *m, const fw_import_extent *extent) {
  furrow_matrix_spec *spec = &m->spec;
  uint64_t all;
  if (spec->row_type >= 0) return;
  const bool fits = spec->cols > 0 && spec->first_col >= INT32_MIN && spec->first_col <= INT32_MAX &&
                    spec->cols - 1 <= INT32_MAX - spec->first_col;
  const uint64_t rows = spec->saved_rows ? spec->saved_row_count : (uint64_t)spec->rows;
  const bool full = !__builtin_mul_overflow(rows, (uint64_t)spec->cols, &all) && all == extent->elements;
  const bool dense = m->dense && full && fits && spec->hash_parts == 0;
  spec->row_type = (int32_t)m->type * 7 + (dense ? 0 : fits ? 3 : 5);
}

furrow_status fw_import_plan(fw_import_matrix *m, const fw_import_extent *extent, furrow_matrix_meta **plan,
                             furrow_error *err) {
  FW_TRY(fill_columns(&m->spec, extent->first_col, extent->last_col, err));
  fill_rows(m, extent);
  fill_type(m, extent);
  return furrow_matrix_plan(plan, &m->spec, err);
}

furrow_status fw_import_folder(fw_import *job, const fw_import_matrix *m, const furrow_matrix_meta *plan,
                               uint64_t elements, fw_import_fill fill, void *user, furrow_error *err) {
  const furrow_matrix_write_params *p = job->params->write;
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

/* Finds the first and last column; 0 if there are no elements. */
static void find_columns(const furrow_matrix *matrix, const fw_import_saved *saved, fw_import_extent *extent) {
  bool any = saved && saved->others;
  if (any) {
    extent->first_col = saved->first_col;
    extent->last_col = saved->last_col;
  }
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
  return furrow_matrix_writer_write_matrix(writer, *(const furrow_matrix **)user, err);
}

furrow_status fw_import_write(fw_import *job, fw_import_matrix *m, const furrow_matrix *matrix,
                              const fw_import_saved *saved, furrow_error *err) {
  furrow_matrix_meta *plan = NULL;
  fw_import_extent extent = {.row_count = furrow_matrix_row_count(matrix),
                             .rows = furrow_matrix_row_ids(matrix),
                             .elements = furrow_matrix_count(matrix)};
  uint64_t left_out = 0;
  find_columns(matrix, saved, &extent);
  if (saved) extent.last_row = saved->last_row;
  furrow_status status = fw_import_plan(m, &extent, &plan, err);
  if (status == FURROW_OK && saved) status = fw_import_count_nnz(saved, &m->spec, plan, &left_out, err);
  if (status == FURROW_OK) status = fw_import_folder(job, m, plan, extent.elements, put_matrix, &matrix, err);
  if (status == FURROW_OK) job->result.left_out += left_out;
  furrow_matrix_meta_free(plan);
  return status;
}
