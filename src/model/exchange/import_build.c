/* model/exchange/import_build.c: builds a matrix in memory from elements in any order. Three passes over the file find
 * the rows, the counts, and the elements. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "model/exchange/import.h"
#include "model/read/matrix.h"

/* Rows seen so far: a sorted list, and a short list of pending rows that is merged into it from time to time. */
#define PENDING 4096

typedef struct row_set {
  int32_t *rows;
  size_t count, capacity;
  int32_t pending[PENDING];
  size_t pending_count;
} row_set;

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* The position of a row in a sorted list, or where it would be. */
static size_t find_row(const int32_t *rows, size_t count, int32_t row) {
  return fw_lower_bound_i32(rows, count, sizeof *rows, row);
}

/* Merges the pending rows into the list, from its end. */
static furrow_status merge_pending(row_set *set, furrow_error *err) {
  size_t kept = 0;
  if (set->pending_count == 0) return FURROW_OK;
  qsort(set->pending, set->pending_count, sizeof *set->pending, by_number);
  for (size_t i = 0; i < set->pending_count; i++) {
    if (kept == 0 || set->pending[kept - 1] != set->pending[i]) set->pending[kept++] = set->pending[i];
  }
  FW_TRY(FW_GROW(&set->rows, &set->capacity, set->count + kept, err));
  size_t from = set->count, to = set->count + kept;
  set->count = to;
  for (size_t i = kept; i > 0;) {
    if (from > 0 && set->rows[from - 1] > set->pending[i - 1])
      set->rows[--to] = set->rows[--from];
    else
      set->rows[--to] = set->pending[--i];
  }
  set->pending_count = 0;
  return FURROW_OK;
}

static bool is_listed(const row_set *set, int32_t row) {
  const size_t place = find_row(set->rows, set->count, row);
  return place < set->count && set->rows[place] == row;
}

static furrow_status note_row(void *user, const fw_import_run *run, furrow_error *err) {
  row_set *set = user;
  const int32_t row = run->row;
  if (set->pending_count && set->pending[set->pending_count - 1] == row) return FURROW_OK;
  if (is_listed(set, row)) return FURROW_OK;
  if (set->pending_count == PENDING) {
    furrow_status status = merge_pending(set, err);
    if (status != FURROW_OK || is_listed(set, row)) return status; /* merging may have added it */
  }
  set->pending[set->pending_count++] = row;
  return FURROW_OK;
}

/* A matrix in which every row is a group with one slot. */
typedef struct filling {
  fw_matrix_build build;
  const row_set *set;
  size_t hint; /* position of the previous row */
  uint64_t count;
} filling;

static fw_slot *slot_of(filling *f, int32_t row) {
  if (f->set->rows[f->hint] != row) f->hint = find_row(f->set->rows, f->set->count, row);
  return &f->build.slots[f->hint];
}

static furrow_status count_run(void *user, const fw_import_run *run, furrow_error *err) {
  filling *f = user;
  (void)err;
  slot_of(f, run->row)->capacity += run->count;
  f->count += run->count;
  return FURROW_OK;
}

static furrow_status put_run(void *user, const fw_import_run *run, furrow_error *err) {
  filling *f = user;
  return fw_matrix_build_put(&f->build, slot_of(f, run->row), run->cols, 0, run->count, run->values, err);
}

static furrow_status make_groups(filling *f, furrow_error *err) {
  const size_t n = f->set->count;
  furrow_status status = fw_matrix_build_groups(&f->build, n, n, err);
  int32_t *rows = NULL;
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&f->build.matrix->arena, &rows, n, err);
  if (status != FURROW_OK) return status;
  if (n) memcpy(rows, f->set->rows, n * sizeof *rows);
  for (size_t i = 0; i < n; i++) {
    f->build.groups[i].rows = 1;
    f->build.groups[i].row_ids = rows + i;
    f->build.slots[i].group = i;
  }
  return FURROW_OK;
}

static furrow_status fill_matrix(filling *f, const fw_import_runs *runs, furrow_matrix **matrix, furrow_error *err) {
  FW_TRY(make_groups(f, err));
  FW_TRY(runs->each(runs->source, count_run, f, err));
  FW_TRY(fw_matrix_build_allocate(&f->build, err));
  FW_TRY(runs->each(runs->source, put_run, f, err));
  return fw_matrix_build_finish(&f->build, matrix, err);
}

/* The finished matrix has each element once. If it has fewer than were read, an element was repeated. */
static furrow_status write_once(fw_import *job, fw_import_matrix *m, const furrow_matrix *matrix, uint64_t count,
                                const fw_import_saved *saved, furrow_error *err) {
  const uint64_t left = furrow_matrix_count(matrix);
  if (left == count) return fw_import_write(job, m, matrix, saved, err);
  fw_fail(err, FURROW_E_FORMAT, "%llu %s twice", (unsigned long long)(count - left),
          fw_plural(count - left, "element occurs", "elements occur"));
  fw_error_set_file(err, job->path);
  return FURROW_E_FORMAT;
}

furrow_status fw_import_elements(fw_import *job, fw_import_matrix *m, const fw_import_runs *runs, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  row_set *set;
  furrow_status status = FW_ALLOC_ZERO(&set, 1, err);
  if (status != FURROW_OK) return status;
  filling f = {.set = set};
  fw_import_saved saved = {0};
  fw_import_runs kept;
  status = fw_matrix_build_init(&f.build, m->type, job->memory, err);
  if (status == FURROW_OK) status = fw_import_saved_open(&saved, &m->spec, runs, &kept, err);
  if (status == FURROW_OK) status = kept.each(kept.source, note_row, set, err);
  if (status == FURROW_OK) status = merge_pending(set, err);
  if (status == FURROW_OK) status = fill_matrix(&f, &kept, &matrix, err);
  if (status == FURROW_OK) status = write_once(job, m, matrix, f.count, saved.rows ? &saved : NULL, err);
  fw_import_saved_clear(&saved);
  furrow_matrix_free(matrix);
  fw_matrix_build_clear(&f.build);
  fw_free(set->rows);
  fw_free(set);
  return status;
}
