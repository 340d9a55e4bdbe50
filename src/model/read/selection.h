/* model/read/selection.h: a selection, made ready for a source: sorted, checked, and what it means for each partition.
 */
#ifndef FW_MODEL_READ_SELECTION_H
#define FW_MODEL_READ_SELECTION_H

#include "model/read/source.h"

typedef struct fw_selection {
  const int32_t *rows; /* ascending, each once; NULL: all */
  size_t row_count;
  int64_t first_col, end_col; /* INT64_MAX as end: no end */
  bool *parts;                /* for each partition: it is among the chosen ones and has a chosen row */
  void *memory;
} fw_selection;

/* selection NULL: everything. E_NOT_FOUND: there is no partition of an id. Sets choice even on failure; clear it. */
furrow_status fw_selection_make(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, furrow_error *err) FURROW_MUST_USE;
void fw_selection_clear(fw_selection *sel);

bool fw_selection_has_row(const fw_selection *sel, int32_t row_id);
/* Whether a column is chosen. */
static inline bool fw_selection_has_col(const fw_selection *sel, int64_t col) {
  return col >= sel->first_col && (col < sel->end_col || sel->end_col == INT64_MAX);
}
/* Whether all columns that a partition can have are chosen; whether one is. */
bool fw_selection_has_all_cols(const fw_selection *sel, const fw_source_part *part);
bool fw_selection_has_any_col(const fw_selection *sel, const fw_source_part *part);
/* How many columns of first … last (first <= last) are chosen; UINT64_MAX for all 2^64. */
uint64_t fw_selection_col_count(const fw_selection *sel, int64_t first, int64_t last);

/* The reader, just started, may leave out records of rows that are not chosen, and what it checks about them. */
void fw_partition_reader_select(furrow_partition_reader *reader, const fw_selection *sel);
/* furrow_matrix_for_each_panel with a choice; its parts may have been made fewer. */
furrow_status fw_selection_visit(const fw_selection *sel, const furrow_matrix_source *source, unsigned threads,
                                 furrow_panel_callback visit, void *user, furrow_error *err) FURROW_MUST_USE;

#endif
