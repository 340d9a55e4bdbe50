/* model/write/encode_part.c: which elements of a matrix belong to a partition, and which columns a column format
 * writes.
 */
#include "model/write/encode_part.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const furrow_partition_meta *meta_of(const fw_encode_part *part) {
  return &part->writer->meta->parts[part->part];
}

/* ---- rows ---- */

/* Places of the row's elements that belong to a hash partition. */
static furrow_status pick_hash(fw_encode_part *part, fw_encode_row *row, furrow_error *err) {
  const int32_t id = meta_of(part)->part_id, parts = part->writer->hash_parts;
  size_t count = 0;
  void *memory;
  for (size_t i = 0; i < row->view.count; i++)
    count += furrow_matrix_hash_partition(furrow_matrix_row_view_col(&row->view, i), parts) == id;
  furrow_status status = fw_arena_take(&part->arena, &memory, count, sizeof *row->picks, err);
  if (status != FURROW_OK) return status;
  size_t *picks = memory, n = 0;
  for (size_t i = 0; i < row->view.count && n < count; i++)
    if (furrow_matrix_hash_partition(furrow_matrix_row_view_col(&row->view, i), parts) == id) picks[n++] = i;
  row->picks = picks;
  row->count = count;
  return FURROW_OK;
}

/* Column of the i-th element of the row. */
static int64_t row_col(const fw_encode_row *row, size_t i) {
  return furrow_matrix_row_view_col(&row->view, row->picks ? row->picks[i] : i);
}

static furrow_status check_keys(const fw_encode_part *part, const fw_encode_row *row, furrow_error *err) {
  if (part->writer->row_type->key_bits == 64 || row->count == 0) return FURROW_OK;
  const int64_t first = row_col(row, 0), last = row_col(row, row->count - 1);
  if (first >= INT32_MIN && last <= INT32_MAX) return FURROW_OK;
  return fw_writer_fail_col(part->writer, row->row_id, first < INT32_MIN ? first : last, "does not fit 32 bits", err);
}

static furrow_status find_row(fw_encode_part *part, fw_encode_row *row, int32_t row_id, furrow_error *err) {
  const furrow_partition_meta *meta = meta_of(part);
  furrow_status status = FURROW_OK;
  *row = (fw_encode_row){.row_id = row_id};
  if (!furrow_matrix_row(part->matrix, row_id, &row->view)) row->view.count = 0;
  if (fw_part_is_hash(meta) && part->writer->any_hash) {
    row->count = row->view.count;
  } else if (fw_part_is_hash(meta)) {
    status = pick_hash(part, row, err);
  } else {
    row->view = furrow_matrix_row_view_range(&row->view, meta->start_col, meta->end_col);
    row->count = row->view.count;
  }
  part->taken += row->count;
  return status == FURROW_OK ? check_keys(part, row, err) : status;
}

static furrow_status find_rows(fw_encode_part *part, furrow_error *err) {
  const furrow_partition_meta *meta = meta_of(part);
  void *memory;
  furrow_status status = fw_arena_take(&part->arena, &memory, meta->row_count, sizeof *part->rows, err);
  if (status != FURROW_OK) return status;
  part->rows = memory;
  status = fw_arena_take(&part->arena, &memory, meta->row_count, sizeof *part->counts, err);
  if (status != FURROW_OK) return status;
  part->counts = memory;
  status = fw_arena_take(&part->arena, &memory, meta->row_count, sizeof *part->row_ids, err);
  if (status != FURROW_OK) return status;
  part->row_ids = memory;
  for (size_t r = 0; r < meta->row_count && status == FURROW_OK; r++) {
    part->row_ids[r] = meta->rows[r].row_id;
    status = find_row(part, &part->rows[r], part->row_ids[r], err);
  }
  return status;
}

/* ---- columns of a column format ---- */

typedef struct col_list {
  const int64_t *cols;
  size_t count;
} col_list;

/* The row's columns as an array. */
static furrow_status row_cols(fw_encode_part *part, const fw_encode_row *row, col_list *list, furrow_error *err) {
  void *memory;
  if (row->view.col_ids && !row->picks) {
    *list = (col_list){row->view.col_ids, row->count};
    return FURROW_OK;
  }
  furrow_status status = fw_arena_take(&part->arena, &memory, row->count, sizeof(int64_t), err);
  if (status != FURROW_OK) return status;
  int64_t *cols = memory;
  for (size_t i = 0; i < row->count; i++) cols[i] = row_col(row, i);
  *list = (col_list){cols, row->count};
  return FURROW_OK;
}

static bool is_same(const col_list *a, const col_list *b) {
  if (a->count != b->count) return false;
  return a->cols == b->cols || memcmp(a->cols, b->cols, a->count * sizeof *a->cols) == 0;
}

static size_t merge(int64_t *out, const col_list *a, const col_list *b) {
  size_t i = 0, j = 0, n = 0;
  while (i < a->count && j < b->count) {
    const int64_t x = a->cols[i], y = b->cols[j];
    out[n++] = x < y ? x : y;
    i += x <= y;
    j += y <= x;
  }
  for (; i < a->count; i++) out[n++] = a->cols[i];
  for (; j < b->count; j++) out[n++] = b->cols[j];
  return n;
}

/* Merges lists in pairs until one is left. */
static furrow_status merge_all(fw_encode_part *part, col_list *lists, size_t count, furrow_error *err) {
  while (count > 1) {
    size_t left = 0;
    for (size_t i = 0; i < count; i += 2) {
      void *memory;
      if (i + 1 == count || is_same(&lists[i], &lists[i + 1])) {
        lists[left++] = lists[i];
        continue;
      }
      furrow_status status =
          fw_arena_take(&part->arena, &memory, lists[i].count + lists[i + 1].count, sizeof(int64_t), err);
      if (status != FURROW_OK) return status;
      const size_t n = merge(memory, &lists[i], &lists[i + 1]);
      lists[left++] = (col_list){memory, n};
    }
    count = left;
  }
  return FURROW_OK;
}

/* The union of the columns of all rows; as Angel: those of the first row alone. */
static furrow_status join_cols(fw_encode_part *part, furrow_error *err) {
  const size_t rows = part->writer->context.angel_bytes && meta_of(part)->row_count ? 1 : meta_of(part)->row_count;
  void *memory;
  furrow_status status = fw_arena_take(&part->arena, &memory, rows, sizeof(col_list), err);
  if (status != FURROW_OK) return status;
  col_list *lists = memory, none = {NULL, 0};
  for (size_t r = 0; r < rows && status == FURROW_OK; r++) status = row_cols(part, &part->rows[r], &lists[r], err);
  if (status == FURROW_OK) status = merge_all(part, lists, rows, err);
  if (status != FURROW_OK) return status;
  if (rows == 0) lists = &none;
  part->cols = lists[0].cols;
  part->records = lists[0].count;
  return FURROW_OK;
}

/* Angel adds the id of a hash partition to each column, as it would its first column. */
static furrow_status shift_cols(fw_encode_part *part, furrow_error *err) {
  const furrow_partition_meta *meta = meta_of(part);
  void *memory;
  if (!part->writer->context.angel_bytes || !fw_part_is_hash(meta) || meta->part_id == 0) return FURROW_OK;
  furrow_status status = fw_arena_take(&part->arena, &memory, part->records, sizeof(int64_t), err);
  if (status != FURROW_OK) return status;
  int64_t *cols = memory;
  for (size_t c = 0; c < part->records; c++) {
    const bool fits = part->writer->row_type->key_bits == 32 ? part->cols[c] <= INT32_MAX - meta->part_id
                                                             : part->cols[c] <= INT64_MAX - meta->part_id;
    if (!fits)
      return fw_writer_fail_col(part->writer, part->rows[0].row_id, part->cols[c],
                                "with the partition's id added, as Angel does, it does not fit", err);
    cols[c] = part->cols[c] + meta->part_id;
  }
  part->cols = cols;
  return FURROW_OK;
}

/* A panel of the matrix that can be encoded as it stands. */
static void find_whole(fw_encode_part *part) {
  const furrow_partition_meta *meta = meta_of(part);
  const size_t count = furrow_matrix_panel_count(part->matrix);
  if (fw_part_is_hash(meta) || meta->row_count == 0 || part->rows[0].view.count != part->records) return;
  if (furrow_matrix_type(part->matrix) != part->writer->context.type) return;
  for (size_t i = 0; i < count; i++) {
    const furrow_panel *panel = furrow_matrix_panel(part->matrix, i);
    if (panel->rows != meta->row_count || panel->row_ids[0] != part->rows[0].row_id) continue;
    for (size_t r = 0; r < panel->rows; r++)
      if (panel->row_ids[r] != part->rows[r].row_id) return;
    /* the view of the first row begins at the element of the first column */
    const size_t bytes = (size_t)((const char *)part->rows[0].view.values.any - (const char *)panel->values.any);
    part->whole = panel;
    part->whole_first = part->records ? bytes / furrow_element_size(panel->type) / panel->rows : 0;
    return;
  }
}

static furrow_status find_cols(fw_encode_part *part, furrow_error *err) {
  const furrow_partition_meta *meta = meta_of(part);
  furrow_status status = FURROW_OK;
  if (part->writer->row_type->dense) {
    part->first_col = meta->start_col;
    part->records = fw_part_width(meta);
  } else {
    status = join_cols(part, err);
    if (status == FURROW_OK) status = shift_cols(part, err);
  }
  const bool own = part->writer->context.angel_bytes && !part->writer->row_type->dense;
  for (size_t r = 0; r < meta->row_count; r++) part->counts[r] = own ? part->rows[r].count : part->records;
  if (status == FURROW_OK) find_whole(part);
  return status;
}

static void count_rows(fw_encode_part *part) {
  const furrow_partition_meta *meta = meta_of(part);
  const uint64_t width = fw_part_width(meta);
  for (size_t r = 0; r < meta->row_count; r++) {
    part->counts[r] = part->writer->row_type->dense ? width : part->rows[r].count;
    part->records += part->counts[r];
  }
}

void fw_encode_part_prepare(fw_encode_part *part) {
  part->status = find_rows(part, &part->error);
  if (part->status != FURROW_OK) return;
  if (fw_writer_by_column(part->writer))
    part->status = find_cols(part, &part->error);
  else
    count_rows(part);
}

void fw_encode_part_clear(fw_encode_part *part) {
  fw_arena_clear(&part->arena);
}
