/* model/read/panel_cut.c: panels of a partition, cut to chosen rows and columns. */
#include "model/read/panel_cut.h"

#include <string.h>

#include "base/mem.h"

static furrow_status choose_rows(fw_panel_cutter *cutter, furrow_error *err) {
  const fw_source_part *part = cutter->part;
  const size_t rows = part->meta->row_count;
  void *places = cutter->places, *ids = cutter->row_ids;
  furrow_status status = fw_grow(&places, &cutter->rows_room, rows, sizeof *cutter->places, err);
  cutter->places = places;
  if (status == FURROW_OK) status = fw_grow(&ids, &cutter->ids_room, rows, sizeof *cutter->row_ids, err);
  cutter->row_ids = ids;
  if (status != FURROW_OK) return status;
  cutter->row_count = 0;
  for (size_t k = 0; k < rows; k++) {
    if (!fw_choice_has_row(cutter->choice, part->row_ids[k])) continue;
    cutter->row_ids[cutter->row_count] = part->row_ids[k];
    cutter->places[cutter->row_count++] = k;
  }
  return FURROW_OK;
}

furrow_status fw_panel_cutter_start(fw_panel_cutter *cutter, const fw_choice *choice, const fw_source_part *part,
                                    furrow_error *err) {
  cutter->choice = choice;
  cutter->part = part;
  cutter->last_known = false;
  cutter->all_cols = fw_choice_whole(choice, part);
  cutter->all_rows = !choice->rows;
  if (cutter->all_rows) return FURROW_OK;
  furrow_status status = choose_rows(cutter, err);
  cutter->all_rows = cutter->row_count == part->meta->row_count;
  return status;
}

void fw_panel_cutter_clear(fw_panel_cutter *cutter) {
  fw_free(cutter->places);
  fw_free(cutter->row_ids);
  fw_free(cutter->values);
  fw_free(cutter->col_ids);
  *cutter = (fw_panel_cutter){0};
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* Columns of the panel from `first` on; nothing is copied. */
static void slice(furrow_panel *panel, size_t first, size_t count) {
  panel->values.any = (const char *)panel->values.any + first * panel->rows * furrow_element_size(panel->type);
  if (panel->col_ids) panel->col_ids += first;
  panel->first_col += (int64_t)first;
  panel->cols = count;
}

static void slice_counted(const fw_choice *choice, furrow_panel *panel) {
  const int64_t last = panel->first_col + (int64_t)(panel->cols - 1);
  if (last < choice->first_col || !(panel->first_col < choice->end_col || choice->end_col == INT64_MAX)) {
    panel->cols = 0;
    return;
  }
  size_t first = 0, end = panel->cols;
  if (panel->first_col < choice->first_col) first = (size_t)(choice->first_col - panel->first_col);
  if (choice->end_col != INT64_MAX && choice->end_col <= last) end = (size_t)(choice->end_col - panel->first_col);
  slice(panel, first, end > first ? end - first : 0);
}

static furrow_status make_room(fw_panel_cutter *cutter, size_t cols, size_t bytes, furrow_error *err) {
  void *values = cutter->values, *ids = cutter->col_ids;
  furrow_status status = fw_grow(&values, &cutter->values_room, bytes, 1, err);
  cutter->values = values;
  if (status == FURROW_OK) status = fw_grow(&ids, &cutter->cols_room, cols, sizeof *cutter->col_ids, err);
  cutter->col_ids = ids;
  return status;
}

/* Chosen columns that do not lie together are brought together. */
static furrow_status gather_columns(fw_panel_cutter *cutter, furrow_panel *panel, size_t count, furrow_error *err) {
  const size_t size = panel->rows * furrow_element_size(panel->type);
  furrow_status status = make_room(cutter, count, count * size, err);
  if (status != FURROW_OK) return status;
  size_t n = 0;
  for (size_t c = 0; c < panel->cols; c++) {
    if (!fw_choice_has_col(cutter->choice, panel->col_ids[c])) continue;
    memcpy(cutter->values + n * size, (const char *)panel->values.any + c * size, size);
    cutter->col_ids[n++] = panel->col_ids[c];
  }
  panel->values.any = cutter->values;
  panel->col_ids = cutter->col_ids;
  panel->cols = n;
  return FURROW_OK;
}

static furrow_status cut_columns(fw_panel_cutter *cutter, furrow_panel *panel, furrow_error *err) {
  size_t count = 0, first = 0, behind = 0; /* behind the last chosen one */
  for (size_t c = 0; c < panel->cols; c++) {
    const bool chosen = fw_choice_has_col(cutter->choice, panel->col_ids[c]);
    if (chosen && count == 0) first = c;
    if (chosen) behind = c + 1;
    count += chosen;
  }
  if (count > 0 && behind - first != count) return gather_columns(cutter, panel, count, err);
  slice(panel, first, count);
  return FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* The chosen rows of a panel of all the partition's rows. Values that gather_columns brought together move within
 * their own memory: none moves back. */
static furrow_status gather_rows(fw_panel_cutter *cutter, furrow_panel *panel, furrow_error *err) {
  const size_t size = furrow_element_size(panel->type), rows = cutter->row_count;
  if (panel->values.any != cutter->values) {
    furrow_status status = make_room(cutter, 0, panel->cols * rows * size, err);
    if (status != FURROW_OK) return status;
  }
  const char *from = panel->values.any;
  char *to = cutter->values;
  for (size_t c = 0; c < panel->cols; c++, from += panel->rows * size)
    for (size_t r = 0; r < rows; r++, to += size) memmove(to, from + cutter->places[r] * size, size);
  panel->values.any = cutter->values;
  panel->rows = rows;
  panel->row_ids = cutter->row_ids;
  return FURROW_OK;
}

static bool row_is_chosen(fw_panel_cutter *cutter, int32_t row_id) {
  if (!cutter->last_known || cutter->last_row != row_id) {
    cutter->last_chosen = fw_choice_has_row(cutter->choice, row_id);
    cutter->last_row = row_id;
    cutter->last_known = true;
  }
  return cutter->last_chosen;
}

furrow_status fw_panel_cut(fw_panel_cutter *cutter, furrow_panel *panel, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!cutter->all_rows && panel->rows == 1 && !row_is_chosen(cutter, panel->row_ids[0])) panel->cols = 0;
  if (panel->cols > 0 && !cutter->all_cols) {
    if (panel->col_ids)
      status = cut_columns(cutter, panel, err);
    else
      slice_counted(cutter->choice, panel);
  }
  if (status == FURROW_OK && panel->cols > 0 && !cutter->all_rows && panel->rows > 1)
    status = gather_rows(cutter, panel, err);
  return status;
}
