/* model/read/choice.c: a selection, made ready for a source. */
#include "model/read/choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void furrow_matrix_selection_init(furrow_matrix_selection *selection) {
  *selection = (furrow_matrix_selection){.first_col = INT64_MIN, .end_col = INT64_MAX};
}

static int compare_rows(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static void take_rows(fw_choice *choice, const furrow_matrix_selection *selection, int32_t *rows) {
  size_t n = 0;
  if (selection->row_count > 0) memcpy(rows, selection->rows, selection->row_count * sizeof *rows);
  qsort(rows, selection->row_count, sizeof *rows, compare_rows);
  for (size_t i = 0; i < selection->row_count; i++)
    if (n == 0 || rows[n - 1] != rows[i]) rows[n++] = rows[i];
  choice->rows = rows;
  choice->row_count = n;
}

static furrow_status take_parts(fw_choice *choice, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, furrow_error *err) {
  const furrow_matrix_meta *meta = source->meta;
  for (size_t i = 0; i < meta->part_count; i++) choice->parts[i] = !selection->part_ids;
  for (size_t k = 0; selection->part_ids && k < selection->part_count; k++) {
    const furrow_partition_meta *part = furrow_matrix_meta_partition(meta, selection->part_ids[k]);
    if (!part) return fw_fail(err, FURROW_E_NOT_FOUND, "there is no partition %d", (int)selection->part_ids[k]);
    choice->parts[part - meta->parts] = true;
  }
  return FURROW_OK;
}

static bool has_chosen_row(const fw_choice *choice, const fw_source_part *part) {
  size_t i = 0, k = 0;
  if (!choice->rows) return true;
  while (i < choice->row_count && k < part->meta->row_count) {
    if (choice->rows[i] == part->row_ids[k]) return true;
    if (choice->rows[i] < part->row_ids[k])
      i++;
    else
      k++;
  }
  return false;
}

furrow_status fw_choice_make(fw_choice *choice, const furrow_matrix_source *source,
                             const furrow_matrix_selection *selection, furrow_error *err) {
  furrow_matrix_selection all;
  furrow_matrix_selection_init(&all);
  if (!selection) selection = &all;
  *choice = (fw_choice){.first_col = selection->first_col, .end_col = selection->end_col};
  size_t bytes;
  const size_t parts = source->meta->part_count;
  const size_t rows = selection->rows ? selection->row_count : 0;
  if (!fw_size_mul(rows, sizeof(int32_t), &bytes)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_alloc(&choice->memory, bytes + parts * sizeof(bool), 1, err);
  if (status != FURROW_OK) return status;
  choice->parts = (bool *)((char *)choice->memory + bytes);
  if (selection->rows) take_rows(choice, selection, choice->memory);
  status = take_parts(choice, source, selection, err);
  for (size_t i = 0; i < parts && status == FURROW_OK; i++)
    choice->parts[i] = choice->parts[i] && has_chosen_row(choice, &source->parts[i]);
  return status;
}

void fw_choice_clear(fw_choice *choice) {
  fw_free(choice->memory);
  *choice = (fw_choice){0};
}

bool fw_choice_has_row(const fw_choice *choice, int32_t row_id) {
  if (!choice->rows) return true;
  return choice->row_count > 0 &&
         bsearch(&row_id, choice->rows, choice->row_count, sizeof *choice->rows, compare_rows) != NULL;
}

bool fw_choice_whole(const fw_choice *choice, const fw_source_part *part) {
  return part->first_col >= choice->first_col && fw_choice_has_col(choice, part->last_col);
}

bool fw_choice_touches(const fw_choice *choice, const fw_source_part *part) {
  if (choice->end_col <= choice->first_col) return false;
  return part->last_col >= choice->first_col && (part->first_col < choice->end_col || choice->end_col == INT64_MAX);
}

uint64_t fw_choice_width(const fw_choice *choice, int64_t first, int64_t last) {
  if (choice->end_col <= choice->first_col) return 0;
  if (first < choice->first_col) first = choice->first_col;
  if (choice->end_col != INT64_MAX && last >= choice->end_col) last = choice->end_col - 1;
  if (first > last) return 0;
  const uint64_t width = (uint64_t)last - (uint64_t)first;
  return width == UINT64_MAX ? width : width + 1;
}
