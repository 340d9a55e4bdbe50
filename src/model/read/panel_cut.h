/* model/read/panel_cut.h: panels of a partition, cut to chosen rows and columns. */
#ifndef FW_MODEL_READ_PANEL_CUT_H
#define FW_MODEL_READ_PANEL_CUT_H

#include "model/read/choice.h"

/* All zeros is a cutter without memory yet; one partition at a time. */
typedef struct fw_panel_cutter {
  const fw_choice *choice;
  const fw_source_part *part;
  bool all_cols, all_rows;
  int32_t last_row; /* of a panel with one row, and whether it is chosen */
  bool last_chosen, last_known;
  size_t *places; /* column formats: chosen rows, by their place in part->row_ids … */
  int32_t *row_ids;
  size_t row_count, rows_room, ids_room; /* … and how many */
  char *values;
  int64_t *col_ids;
  size_t values_room, cols_room;
} fw_panel_cutter;

furrow_status fw_panel_cutter_start(fw_panel_cutter *cutter, const fw_choice *choice, const fw_source_part *part,
                                    furrow_error *err) __attribute__((warn_unused_result));
/* Makes *panel what is chosen of it; panel->cols becomes 0 when nothing is. It points at the old one's memory, or at
 * the cutter's, until the next call. */
furrow_status fw_panel_cut(fw_panel_cutter *cutter, furrow_panel *panel, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_panel_cutter_clear(fw_panel_cutter *cutter);

#endif
