/* model/exchange/import_saved.c: elements of rows that are not saved: they are left out, and counted. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/import.h"

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

/* They, too, tell how large the matrix is. */
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
  void *memory;
  saved->all = all;
  *runs = *all;
  if (!spec->saved_rows) return FURROW_OK;
  furrow_status status = fw_alloc(&memory, spec->saved_row_count, sizeof *saved->rows, err);
  if (status != FURROW_OK) return status;
  saved->rows = memory;
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

/* The partition of an element; NULL: one without saved rows, which the plan has not, or none at all. */
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
  /* where nothing is left out the writer knows better: it counts what it fills in, too */
  for (size_t i = 0; status == FURROW_OK && c.left_out == 0 && i < plan->part_count; i++) plan->parts[i].nnz = 0;
  if (status == FURROW_OK) *left_out = c.left_out;
  return status;
}
