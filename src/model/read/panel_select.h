/* model/read/panel_select.h: panels of a partition, cut to chosen rows and columns. */
#ifndef FW_MODEL_READ_PANEL_SELECT_H
#define FW_MODEL_READ_PANEL_SELECT_H

#include "model/read/selection.h"

/* All zeros is a cutter without memory yet; one partition at a time. */
typedef struct fw_panel_selector {
  const fw_selection *sel;
  const fw_source_part *part;
  bool all_cols, all_rows;
  int32_t last_row; /* of a panel with one row, and whether it is chosen */
  bool last_chosen, last_known;
  size_t *positions; /* column formats: chosen rows, by their place in part->row_ids … */
  int32_t *row_ids;
  size_t row_count, rows_capacity, ids_capacity; /* … and how many */
  char *values;
  int64_t *col_ids;
  size_t values_capacity, cols_capacity;
} fw_panel_selector;

furrow_status fw_panel_selector_start(fw_panel_selector *selector, const fw_selection *sel, const fw_source_part *part,
                                      furrow_error *err) FURROW_MUST_USE;
/* Makes *panel what is chosen of it; panel->cols becomes 0 when nothing is. It points at the old one's memory, or at
 * the cutter's, until the next call. */
furrow_status fw_panel_select(fw_panel_selector *selector, furrow_panel *panel, furrow_error *err) FURROW_MUST_USE;
void fw_panel_selector_clear(fw_panel_selector *selector);

#endif
