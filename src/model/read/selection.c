/* model/read/selection.c: a selection, made ready for a source. */
#include "model/read/selection.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"

static int compare_rows(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static void take_rows(fw_selection *sel, const furrow_matrix_selection *selection, int32_t *rows) {
  size_t n = 0;
  if (selection->row_count > 0) memcpy(rows, selection->rows, selection->row_count * sizeof *rows);
  qsort(rows, selection->row_count, sizeof *rows, compare_rows);
  for (size_t i = 0; i < selection->row_count; i++)
    if (n == 0 || rows[n - 1] != rows[i]) rows[n++] = rows[i];
  sel->rows = rows;
  sel->row_count = n;
}

static furrow_status take_parts(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, furrow_error *err) {
  const furrow_matrix_meta *meta = source->meta;
  for (size_t i = 0; i < meta->part_count; i++) sel->parts[i] = !selection->part_ids;
  for (size_t k = 0; selection->part_ids && k < selection->part_count; k++) {
    const furrow_partition_meta *part = furrow_matrix_meta_partition(meta, selection->part_ids[k]);
    if (!part) return fw_fail(err, FURROW_E_NOT_FOUND, "there is no partition %d", (int)selection->part_ids[k]);
    sel->parts[part - meta->parts] = true;
  }
  return FURROW_OK;
}

static bool has_chosen_row(const fw_selection *sel, const fw_source_part *part) {
  size_t i = 0, k = 0;
  if (!sel->rows) return true;
  while (i < sel->row_count && k < part->meta->row_count) {
    if (sel->rows[i] == part->row_ids[k]) return true;
    if (sel->rows[i] < part->row_ids[k])
      i++;
    else
      k++;
  }
  return false;
}

furrow_status fw_selection_make(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *given, furrow_error *err) {
  furrow_matrix_selection known;
  const furrow_matrix_selection *selection = &known;
  furrow_matrix_selection_init(&known);
  *sel = (fw_selection){0};
  FW_TRY(FW_PARAMS_READ(&known, given, furrow_matrix_selection, err));
  *sel = (fw_selection){.first_col = selection->first_col, .end_col = selection->end_col};
  size_t bytes;
  const size_t parts = source->meta->part_count;
  const size_t rows = selection->rows ? selection->row_count : 0;
  if (!fw_size_mul(rows, sizeof(int32_t), &bytes)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_alloc(&sel->memory, bytes + parts * sizeof(bool), 1, err);
  if (status != FURROW_OK) return status;
  sel->parts = (bool *)((char *)sel->memory + bytes);
  if (selection->rows) take_rows(sel, selection, sel->memory);
  status = take_parts(sel, source, selection, err);
  for (size_t i = 0; i < parts && status == FURROW_OK; i++)
    sel->parts[i] = sel->parts[i] && has_chosen_row(sel, &source->parts[i]);
  return status;
}

void fw_selection_clear(fw_selection *sel) {
  fw_free(sel->memory);
  *sel = (fw_selection){0};
}

bool fw_selection_has_row(const fw_selection *sel, int32_t row_id) {
  if (!sel->rows) return true;
  return sel->row_count > 0 && bsearch(&row_id, sel->rows, sel->row_count, sizeof *sel->rows, compare_rows) != NULL;
}

bool fw_selection_has_all_cols(const fw_selection *sel, const fw_source_part *part) {
  return part->first_col >= sel->first_col && fw_selection_has_col(sel, part->last_col);
}

bool fw_selection_has_any_col(const fw_selection *sel, const fw_source_part *part) {
  if (sel->end_col <= sel->first_col) return false;
  return part->last_col >= sel->first_col && (part->first_col < sel->end_col || sel->end_col == INT64_MAX);
}

uint64_t fw_selection_col_count(const fw_selection *sel, int64_t first, int64_t last) {
  if (sel->end_col <= sel->first_col) return 0;
  if (first < sel->first_col) first = sel->first_col;
  if (sel->end_col != INT64_MAX && last >= sel->end_col) last = sel->end_col - 1;
  if (first > last) return 0;
  const uint64_t width = (uint64_t)last - (uint64_t)first;
  return width == UINT64_MAX ? width : width + 1;
}
