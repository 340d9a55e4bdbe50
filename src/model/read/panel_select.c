/* model/read/panel_select.c: panels of a partition, cut to chosen rows and columns. */
#include "model/read/panel_select.h"

#include <string.h>

#include "base/mem.h"

static furrow_status choose_rows(fw_panel_selector *selector, furrow_error *err) {
  const fw_source_part *part = selector->part;
  const size_t rows = part->meta->row_count;
  void *positions = selector->positions, *ids = selector->row_ids;
  furrow_status status = fw_grow(&positions, &selector->rows_capacity, rows, sizeof *selector->positions, err);
  selector->positions = positions;
  if (status == FURROW_OK) status = fw_grow(&ids, &selector->ids_capacity, rows, sizeof *selector->row_ids, err);
  selector->row_ids = ids;
  if (status != FURROW_OK) return status;
  selector->row_count = 0;
  for (size_t k = 0; k < rows; k++) {
    if (!fw_selection_has_row(selector->sel, part->row_ids[k])) continue;
    selector->row_ids[selector->row_count] = part->row_ids[k];
    selector->positions[selector->row_count++] = k;
  }
  return FURROW_OK;
}

furrow_status fw_panel_selector_start(fw_panel_selector *selector, const fw_selection *sel, const fw_source_part *part,
                                      furrow_error *err) {
  selector->sel = sel;
  selector->part = part;
  selector->last_known = false;
  selector->all_cols = fw_selection_has_all_cols(sel, part);
  selector->all_rows = !sel->rows;
  if (selector->all_rows) return FURROW_OK;
  furrow_status status = choose_rows(selector, err);
  selector->all_rows = selector->row_count == part->meta->row_count;
  return status;
}

void fw_panel_selector_clear(fw_panel_selector *selector) {
  fw_free(selector->positions);
  fw_free(selector->row_ids);
  fw_free(selector->values);
  fw_free(selector->col_ids);
  *selector = (fw_panel_selector){0};
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* Columns of the panel from `first` on; nothing is copied. */
static void slice(furrow_panel *panel, size_t first, size_t count) {
  panel->values.any = (const char *)panel->values.any + first * panel->rows * furrow_element_size(panel->type);
  if (panel->col_ids) panel->col_ids += first;
  panel->first_col += (int64_t)first;
  panel->cols = count;
}

static void slice_counted(const fw_selection *sel, furrow_panel *panel) {
  const int64_t last = panel->first_col + (int64_t)(panel->cols - 1);
  if (last < sel->first_col || !(panel->first_col < sel->end_col || sel->end_col == INT64_MAX)) {
    panel->cols = 0;
    return;
  }
  size_t first = 0, end = panel->cols;
  if (panel->first_col < sel->first_col) first = (size_t)(sel->first_col - panel->first_col);
  if (sel->end_col != INT64_MAX && sel->end_col <= last) end = (size_t)(sel->end_col - panel->first_col);
  slice(panel, first, end > first ? end - first : 0);
}

static furrow_status ensure_capacity(fw_panel_selector *selector, size_t cols, size_t bytes, furrow_error *err) {
  void *values = selector->values, *ids = selector->col_ids;
  furrow_status status = fw_grow(&values, &selector->values_capacity, bytes, 1, err);
  selector->values = values;
  if (status == FURROW_OK) status = fw_grow(&ids, &selector->cols_capacity, cols, sizeof *selector->col_ids, err);
  selector->col_ids = ids;
  return status;
}

/* Chosen columns that do not lie together are brought together. */
static furrow_status gather_columns(fw_panel_selector *selector, furrow_panel *panel, size_t count, furrow_error *err) {
  const size_t size = panel->rows * furrow_element_size(panel->type);
  furrow_status status = ensure_capacity(selector, count, count * size, err);
  if (status != FURROW_OK) return status;
  size_t n = 0;
  for (size_t c = 0; c < panel->cols; c++) {
    if (!fw_selection_has_col(selector->sel, panel->col_ids[c])) continue;
    memcpy(selector->values + n * size, (const char *)panel->values.any + c * size, size);
    selector->col_ids[n++] = panel->col_ids[c];
  }
  panel->values.any = selector->values;
  panel->col_ids = selector->col_ids;
  panel->cols = n;
  return FURROW_OK;
}

static furrow_status cut_columns(fw_panel_selector *selector, furrow_panel *panel, furrow_error *err) {
  size_t count = 0, first = 0, behind = 0; /* behind the last chosen one */
  for (size_t c = 0; c < panel->cols; c++) {
    const bool chosen = fw_selection_has_col(selector->sel, panel->col_ids[c]);
    if (chosen && count == 0) first = c;
    if (chosen) behind = c + 1;
    count += chosen;
  }
  if (count > 0 && behind - first != count) return gather_columns(selector, panel, count, err);
  slice(panel, first, count);
  return FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* The chosen rows of a panel of all the partition's rows. Values that gather_columns brought together move within
 * their own memory: none moves back. */
static furrow_status gather_rows(fw_panel_selector *selector, furrow_panel *panel, furrow_error *err) {
  const size_t size = furrow_element_size(panel->type), rows = selector->row_count;
  if (panel->values.any != selector->values) {
    furrow_status status = ensure_capacity(selector, 0, panel->cols * rows * size, err);
    if (status != FURROW_OK) return status;
  }
  const char *from = panel->values.any;
  char *to = selector->values;
  for (size_t c = 0; c < panel->cols; c++, from += panel->rows * size)
    for (size_t r = 0; r < rows; r++, to += size) memmove(to, from + selector->positions[r] * size, size);
  panel->values.any = selector->values;
  panel->rows = rows;
  panel->row_ids = selector->row_ids;
  return FURROW_OK;
}

static bool row_is_chosen(fw_panel_selector *selector, int32_t row_id) {
  if (!selector->last_known || selector->last_row != row_id) {
    selector->last_chosen = fw_selection_has_row(selector->sel, row_id);
    selector->last_row = row_id;
    selector->last_known = true;
  }
  return selector->last_chosen;
}

furrow_status fw_panel_select(fw_panel_selector *selector, furrow_panel *panel, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!selector->all_rows && panel->rows == 1 && !row_is_chosen(selector, panel->row_ids[0])) panel->cols = 0;
  if (panel->cols > 0 && !selector->all_cols) {
    if (panel->col_ids)
      status = cut_columns(selector, panel, err);
    else
      slice_counted(selector->sel, panel);
  }
  if (status == FURROW_OK && panel->cols > 0 && !selector->all_rows && panel->rows > 1)
    status = gather_rows(selector, panel, err);
  return status;
}
