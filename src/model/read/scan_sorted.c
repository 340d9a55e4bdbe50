/* model/read/scan_sorted.c: scans all elements by row, then by column, regardless of how they are stored. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "model/read/load.h"
#include "model/read/matrix.h"
#include "model/read/source.h"

enum { GROUP_BYTES = 64 }; /* values per column that are transposed at a time: a cache line */

typedef struct sorted_visit {
  furrow_panel_callback visit;
  void *user;
  char *transposed; /* values of some rows, row by row */
  size_t capacity;
  const furrow_panel *panel; /* the panel and rows that they belong to: */
  size_t first, count;
} sorted_visit;

static inline void transpose(char *to, const furrow_panel *panel, size_t first, size_t count, size_t size) {
  const char *from = (const char *)panel->values.any + first * size;
  for (size_t c = 0; c < panel->cols; c++, from += panel->rows * size)
    for (size_t r = 0; r < count; r++) memcpy(to + (r * panel->cols + c) * size, from + r * size, size);
}

/* The rows of a panel are interleaved. Several rows are transposed at a time, so that no cache line is fetched for a
 * single value. */
static furrow_status transpose_rows(sorted_visit *v, const furrow_panel *panel, size_t row, furrow_error *err) {
  const size_t size = furrow_element_size(panel->type);
  if (v->panel == panel && row >= v->first && row < v->first + v->count) return FURROW_OK;
  v->panel = NULL;
  v->first = row;
  v->count = panel->rows - row < GROUP_BYTES / size ? panel->rows - row : GROUP_BYTES / size;
  FW_TRY(FW_GROW(&v->transposed, &v->capacity, v->count * panel->cols * size, err));
  if (size == 4)
    transpose(v->transposed, panel, v->first, v->count, 4);
  else
    transpose(v->transposed, panel, v->first, v->count, 8);
  v->panel = panel;
  return FURROW_OK;
}

static furrow_status visit_row(sorted_visit *v, const furrow_panel *panel, size_t row, furrow_error *err) {
  furrow_panel one = *panel;
  one.rows = 1;
  one.row_ids = &panel->row_ids[row];
  if (panel->cols == 0) return FURROW_OK;
  if (panel->rows > 1) {
    furrow_status status = transpose_rows(v, panel, row, err);
    if (status != FURROW_OK) return status;
    one.values.any = v->transposed + (row - v->first) * panel->cols * furrow_element_size(panel->type);
  }
  return v->visit(v->user, SIZE_MAX, &one, err);
}

/* Visits rows in the order of the matrix; rows of different panels may alternate. */
static furrow_status visit_matrix(sorted_visit *v, const furrow_matrix *matrix, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < matrix->row_count && status == FURROW_OK; i++)
    status = visit_row(v, &matrix->panels[matrix->index[i].panel], matrix->index[i].row, err);
  v->panel = NULL;
  return status;
}

static furrow_status visit_slice(sorted_visit *v, const furrow_matrix_source *source,
                                 const furrow_matrix_selection *selection, unsigned threads, furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.selection = selection;
  params.threads = threads;
  furrow_matrix *matrix = NULL;
  furrow_status status = furrow_matrix_load_source(&matrix, source, &params, err);
  if (status == FURROW_OK) status = visit_matrix(v, matrix, err);
  furrow_matrix_free(matrix);
  return status;
}

furrow_status furrow_matrix_for_each_panel_sorted(const furrow_matrix_source *source,
                                                  const furrow_matrix_scan_params *given, furrow_panel_callback visit,
                                                  void *user, furrow_error *err) {
  sorted_visit v = {.visit = visit, .user = user};
  fw_memory_slices *slices = NULL;
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_scan_params, err));
  const size_t memory = params.memory ? params.memory : FW_DEFAULT_MEMORY;
  const bool transposed = source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  furrow_status status =
      fw_memory_slices_by_rows(&slices, source, params.selection, transposed ? memory / 2 : memory, err);
  for (size_t i = 0; status == FURROW_OK && i < slices->count; i++)
    status = visit_slice(&v, source, &slices->selections[i], params.threads, err);
  fw_memory_slices_free(slices);
  fw_free(v.transposed);
  return status;
}
