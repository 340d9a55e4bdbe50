/* model/read/matrix.c: a matrix in memory: access to its elements, and construction from panels. */
#include "model/read/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* Inline in the header, and exported from here. */
extern inline double furrow_elements_get(furrow_elements a, furrow_element_type type, size_t i);
extern inline int64_t furrow_panel_col(const furrow_panel *panel, size_t c);
extern inline double furrow_panel_get(const furrow_panel *panel, size_t r, size_t c);
extern inline int64_t furrow_matrix_row_view_col(const furrow_matrix_row_view *row, size_t i);
extern inline double furrow_matrix_row_view_get(const furrow_matrix_row_view *row, size_t i);

void furrow_matrix_free(furrow_matrix *matrix) {
  if (!matrix) return;
  if (matrix->release) matrix->release(matrix->release_user);
  fw_free(matrix->values);
  fw_free(matrix->col_ids);
  fw_arena_clear(&matrix->arena);
  fw_free(matrix);
}

furrow_element_type furrow_matrix_type(const furrow_matrix *matrix) {
  return matrix->type;
}

size_t furrow_matrix_panel_count(const furrow_matrix *matrix) {
  return matrix->panel_count;
}

const furrow_panel *furrow_matrix_panel(const furrow_matrix *matrix, size_t i) {
  return &matrix->panels[i];
}

size_t furrow_matrix_row_count(const furrow_matrix *matrix) {
  return matrix->row_count;
}

const int32_t *furrow_matrix_row_ids(const furrow_matrix *matrix) {
  return matrix->row_ids;
}

uint64_t furrow_matrix_count(const furrow_matrix *matrix) {
  return matrix->count;
}

/* ---- Look-ups ------------------------------------------------------------------------------------------- */

/* Finds the entry of a row; NULL if it is not saved. Rows without gaps, the usual case, need no search. */
static const fw_row_entry *find_row(const furrow_matrix *matrix, int32_t row) {
  const int32_t *ids = matrix->row_ids;
  const size_t count = matrix->row_count;
  if (count == 0 || row < ids[0] || row > ids[count - 1]) return NULL;
  const size_t guess = (size_t)((int64_t)row - ids[0]);
  if (guess < count && ids[guess] == row) return &matrix->index[guess];
  const size_t low = fw_lower_bound_i32(ids, count, sizeof *ids, row);
  return low < count && ids[low] == row ? &matrix->index[low] : NULL;
}

/* The first position in `cols` with a column >= col, without data-dependent branches. */
static size_t lower_bound(const int64_t *cols, size_t count, int64_t col) {
  const int64_t *base = cols;
  if (count == 0) return 0;
  for (size_t n = count; n > 1; n -= n / 2) base += base[n / 2 - 1] < col ? n / 2 : 0;
  return (size_t)(base - cols) + (*base < col);
}

/* How many of the columns first, first + 1, … (count of them) are less than col. */
static size_t counted_bound(int64_t first, size_t count, int64_t col) {
  if (col <= first) return 0;
  const uint64_t below = (uint64_t)col - (uint64_t)first;
  return below < count ? (size_t)below : count;
}

/* The position of a column in a panel; panel->cols if it is not there. */
static size_t find_col(const furrow_panel *panel, int64_t col) {
  const size_t at = panel->col_ids ? lower_bound(panel->col_ids, panel->cols, col)
                                   : counted_bound(panel->first_col, panel->cols, col);
  return at < panel->cols && furrow_panel_col(panel, at) == col ? at : panel->cols;
}

static const char *value_at(const furrow_panel *panel, size_t row, size_t at) {
  return (const char *)panel->values.any + (at * panel->rows + row) * furrow_element_size(panel->type);
}

bool furrow_matrix_row(const furrow_matrix *matrix, int32_t row, furrow_matrix_row_view *view) {
  const fw_row_entry *entry = find_row(matrix, row);
  *view = (furrow_matrix_row_view){.type = matrix->type, .stride = 1};
  if (!entry) return false;
  const furrow_panel *panel = &matrix->panels[entry->panel];
  view->count = panel->cols;
  view->col_ids = panel->col_ids;
  view->first_col = panel->first_col;
  view->values.any = panel->cols > 0 ? value_at(panel, entry->row, 0) : panel->values.any;
  view->stride = panel->rows;
  return true;
}

furrow_matrix_row_view furrow_matrix_row_view_range(const furrow_matrix_row_view *row, int64_t first, int64_t end) {
  furrow_matrix_row_view view = *row;
  const size_t low =
      row->col_ids ? lower_bound(row->col_ids, row->count, first) : counted_bound(row->first_col, row->count, first);
  const size_t high =
      row->col_ids ? lower_bound(row->col_ids, row->count, end) : counted_bound(row->first_col, row->count, end);
  view.count = high > low ? high - low : 0;
  if (view.count == 0) return view;
  if (view.col_ids) view.col_ids += low;
  view.first_col += (int64_t)low;
  view.values.any = (const char *)row->values.any + low * row->stride * furrow_element_size(row->type);
  return view;
}

bool furrow_matrix_element(const furrow_matrix *matrix, int32_t row, int64_t col, void *element) {
  const fw_row_entry *entry = find_row(matrix, row);
  if (!entry) return false;
  const furrow_panel *panel = &matrix->panels[entry->panel];
  const size_t at = find_col(panel, col);
  if (at == panel->cols) return false;
  memcpy(element, value_at(panel, entry->row, at), furrow_element_size(matrix->type));
  return true;
}

double furrow_matrix_get(const furrow_matrix *matrix, int32_t row, int64_t col) {
  int64_t element[1]; /* aligned for any type */
  if (!furrow_matrix_element(matrix, row, col, element)) return 0;
  return furrow_elements_get((furrow_elements){.any = element}, matrix->type, 0);
}

size_t furrow_matrix_column(const furrow_matrix *matrix, int64_t col, int32_t *row_ids, void *elements) {
  const size_t size = furrow_element_size(matrix->type);
  size_t count = 0, panel_at = SIZE_MAX, at = 0;
  for (size_t i = 0; i < matrix->row_count; i++) {
    const fw_row_entry *entry = &matrix->index[i];
    const furrow_panel *panel = &matrix->panels[entry->panel];
    if (entry->panel != panel_at) {
      panel_at = entry->panel;
      at = find_col(panel, col);
    }
    if (at == panel->cols) continue;
    memcpy((char *)elements + count * size, value_at(panel, entry->row, at), size);
    if (row_ids) row_ids[count] = entry->row_id;
    count++;
  }
  return count;
}

/* ---- From panels ---------------------------------------------------------------------------------------- */

static furrow_status check_panel(const furrow_panel *panel, furrow_element_type type, size_t i, furrow_error *err) {
  if (furrow_element_size(panel->type) == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "panel %zu has an unknown element type", i);
  if ((panel->rows > 0 && !panel->row_ids) || (panel->rows > 0 && panel->cols > 0 && !panel->values.any))
    return fw_fail(err, FURROW_E_ARGUMENT, "panel %zu has no row ids or no values", i);
  if (panel->type != type)
    return fw_fail(err, FURROW_E_ARGUMENT, "panel %zu has other elements than the first (%s, not %s)", i,
                   furrow_element_type_name(panel->type), furrow_element_type_name(type));
  if (!panel->col_ids && panel->cols > 0 && panel->first_col > INT64_MAX - (int64_t)(panel->cols - 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "panel %zu has columns beyond the largest column id", i);
  for (size_t r = 1; r < panel->rows; r++)
    if (panel->row_ids[r] <= panel->row_ids[r - 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "the rows of panel %zu do not ascend", i);
  return FURROW_OK;
}

static int compare_panels(const void *a, const void *b) {
  const furrow_panel *const *x = a, *const *y = b;
  const int32_t p = (*x)->rows > 0 ? (*x)->row_ids[0] : INT32_MIN, q = (*y)->rows > 0 ? (*y)->row_ids[0] : INT32_MIN;
  return p != q ? (p > q) - (p < q) : (*x > *y) - (*x < *y);
}

/* Makes a group and a slot for each panel that has rows. */
static furrow_status add_panels(fw_matrix_build *build, const furrow_panel **panels, size_t count, furrow_error *err) {
  furrow_status status = fw_matrix_build_groups(build, count, count, err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    void *ids;
    status = fw_arena_take(&build->matrix->arena, &ids, panels[i]->rows, sizeof(int32_t), err);
    if (status != FURROW_OK) return status;
    memcpy(ids, panels[i]->row_ids, panels[i]->rows * sizeof(int32_t));
    build->groups[i].rows = panels[i]->rows;
    build->groups[i].row_ids = ids;
    build->slots[i].group = i;
    build->slots[i].capacity = panels[i]->cols;
  }
  if (status == FURROW_OK) status = fw_matrix_build_allocate(build, err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++)
    status = fw_matrix_build_put(build, &build->slots[i], panels[i]->col_ids, panels[i]->first_col, panels[i]->cols,
                                 panels[i]->values.any, err);
  return status;
}

/* Sorts pointers to the panels that have rows by first row; the caller frees *by_row. */
static furrow_status sort_panels(const furrow_panel *panels, size_t count, const furrow_panel ***by_row, size_t *used,
                                 furrow_error *err) {
  const furrow_element_type type = count > 0 ? panels[0].type : FURROW_ELEMENT_F64;
  for (size_t i = 0; i < count; i++) FW_TRY(check_panel(&panels[i], type, i, err));
  FW_TRY(FW_ALLOC(by_row, count, err));
  *used = 0;
  for (size_t i = 0; i < count; i++)
    if (panels[i].rows > 0) (*by_row)[(*used)++] = &panels[i];
  qsort(*by_row, *used, sizeof **by_row, compare_panels);
  return FURROW_OK;
}

furrow_status furrow_matrix_create(furrow_matrix **matrix, const furrow_panel *panels, size_t count,
                                   furrow_error *err) {
  const furrow_panel **by_row;
  size_t used;
  fw_matrix_build build;
  FW_TRY(sort_panels(panels, count, &by_row, &used, err));
  furrow_status status = fw_matrix_build_init(&build, count > 0 ? panels[0].type : FURROW_ELEMENT_F64, 0, err);
  if (status == FURROW_OK) status = add_panels(&build, by_row, used, err);
  if (status == FURROW_OK) status = fw_matrix_build_finish(&build, matrix, err);
  fw_matrix_build_clear(&build);
  fw_free((void *)by_row);
  return status;
}

/* Look-ups and writers rely on sorted columns and aligned elements. */
static furrow_status check_borrowed(const furrow_panel *panel, size_t i, furrow_error *err) {
  for (size_t c = 1; panel->col_ids && c < panel->cols; c++)
    if (panel->col_ids[c] <= panel->col_ids[c - 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "the columns of panel %zu do not ascend: %lld comes after %lld", i,
                     (long long)panel->col_ids[c], (long long)panel->col_ids[c - 1]);
  if ((uintptr_t)panel->values.any % furrow_element_size(panel->type) != 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "the values of panel %zu are not aligned to %zu bytes", i,
                   furrow_element_size(panel->type));
  return FURROW_OK;
}

static furrow_status take_panels(furrow_matrix *matrix, const furrow_panel **panels, size_t count, furrow_error *err) {
  FW_TRY(FW_ARENA_TAKE(&matrix->arena, &matrix->panels, count, err));
  matrix->panel_count = count;
  for (size_t i = 0; i < count; i++) {
    matrix->panels[i] = *panels[i];
    matrix->row_count += panels[i]->rows;
    matrix->count += (uint64_t)panels[i]->rows * panels[i]->cols;
  }
  return fw_matrix_index_rows(matrix, err);
}

furrow_status furrow_matrix_borrow(furrow_matrix **matrix, const furrow_panel *panels, size_t count,
                                   void (*release)(void *user), void *user, furrow_error *err) {
  const furrow_panel **by_row;
  size_t used;
  FW_TRY(sort_panels(panels, count, &by_row, &used, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) status = check_borrowed(&panels[i], i, err);
  furrow_matrix *made = NULL;
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) {
    made->type = count > 0 ? panels[0].type : FURROW_ELEMENT_F64;
    status = take_panels(made, by_row, used, err);
  }
  if (status == FURROW_OK) {
    made->release = release;
    made->release_user = user;
    *matrix = made;
  } else {
    furrow_matrix_free(made);
  }
  fw_free((void *)by_row);
  return status;
}
