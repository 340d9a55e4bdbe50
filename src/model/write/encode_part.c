/* model/write/encode_part.c: selects the elements of a partition from a matrix, and encodes its records in pieces. */
#include "model/write/encode_part.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/format/matrix_format.h"

static const furrow_partition_meta *meta_of(const fw_encode_part *part) {
  return &part->writer->meta->parts[part->part];
}

/* ---- the rows of a partition ---- */

/* Finds the positions of the row's elements that belong to a hash partition. */
static furrow_status pick_hash(fw_encode_part *part, fw_encode_row *row, furrow_error *err) {
  const int32_t id = meta_of(part)->part_id, parts = part->writer->hash_parts;
  size_t *picks, count = 0, n = 0;
  for (size_t i = 0; i < row->view.count; i++)
    count += furrow_matrix_hash_partition(furrow_matrix_row_view_col(&row->view, i), parts) == id;
  FW_TRY(FW_ARENA_TAKE(&part->arena, &picks, count, err));
  for (size_t i = 0; i < row->view.count && n < count; i++)
    if (furrow_matrix_hash_partition(furrow_matrix_row_view_col(&row->view, i), parts) == id) picks[n++] = i;
  row->picks = picks;
  row->count = count;
  return FURROW_OK;
}

/* The column of the i-th element of the row. */
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
  furrow_status status = FW_ARENA_TAKE(&part->arena, &part->rows, meta->row_count, err);
  if (status != FURROW_OK) return status;
  status = FW_ARENA_TAKE(&part->arena, &part->counts, meta->row_count, err);
  if (status != FURROW_OK) return status;
  status = FW_ARENA_TAKE(&part->arena, &part->row_ids, meta->row_count, err);
  if (status != FURROW_OK) return status;
  for (size_t r = 0; r < meta->row_count && status == FURROW_OK; r++) {
    part->row_ids[r] = meta->rows[r].row_id;
    status = find_row(part, &part->rows[r], part->row_ids[r], err);
  }
  return status;
}

/* ---- columns of a partition in a column format ---- */

typedef struct col_list {
  const int64_t *cols;
  size_t count;
} col_list;

/* Returns the row's columns as an array. */
static furrow_status row_cols(fw_encode_part *part, const fw_encode_row *row, col_list *list, furrow_error *err) {
  if (row->view.col_ids && !row->picks) {
    *list = (col_list){row->view.col_ids, row->count};
    return FURROW_OK;
  }
  int64_t *cols;
  FW_TRY(FW_ARENA_TAKE(&part->arena, &cols, row->count, err));
  for (size_t i = 0; i < row->count; i++) cols[i] = row_col(row, i);
  *list = (col_list){cols, row->count};
  return FURROW_OK;
}

static bool is_same(const col_list *a, const col_list *b) {
  if (a->count != b->count) return false;
  return a->cols == b->cols || memcmp(a->cols, b->cols, a->count * sizeof *a->cols) == 0;
}

static size_t merge_cols(int64_t *out, const col_list *a, const col_list *b) {
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

/* Merges lists pairwise until one is left. */
static furrow_status merge_all(fw_encode_part *part, col_list *lists, size_t count, furrow_error *err) {
  while (count > 1) {
    size_t left = 0;
    for (size_t i = 0; i < count; i += 2) {
      int64_t *merged;
      if (i + 1 == count || is_same(&lists[i], &lists[i + 1])) {
        lists[left++] = lists[i];
        continue;
      }
      furrow_status status = FW_ARENA_TAKE(&part->arena, &merged, lists[i].count + lists[i + 1].count, err);
      if (status != FURROW_OK) return status;
      const size_t n = merge_cols(merged, &lists[i], &lists[i + 1]);
      lists[left++] = (col_list){merged, n};
    }
    count = left;
  }
  return FURROW_OK;
}

/* Makes the union of the columns of all rows; with angel_bytes only the columns of the first row. */
static furrow_status join_cols(fw_encode_part *part, furrow_error *err) {
  const size_t rows = part->writer->context.angel_bytes && meta_of(part)->row_count ? 1 : meta_of(part)->row_count;
  col_list *lists, none = {NULL, 0};
  furrow_status status = FW_ARENA_TAKE(&part->arena, &lists, rows, err);
  if (status != FURROW_OK) return status;
  for (size_t r = 0; r < rows && status == FURROW_OK; r++) status = row_cols(part, &part->rows[r], &lists[r], err);
  if (status == FURROW_OK) status = merge_all(part, lists, rows, err);
  if (status != FURROW_OK) return status;
  if (rows == 0) lists = &none;
  part->cols = lists[0].cols;
  part->records = lists[0].count;
  return FURROW_OK;
}

/* Angel adds the id of a hash partition to each column, as if it were the first column. */
static furrow_status shift_cols(fw_encode_part *part, furrow_error *err) {
  const furrow_partition_meta *meta = meta_of(part);
  if (!part->writer->context.angel_bytes || !fw_part_is_hash(meta) || meta->part_id == 0) return FURROW_OK;
  int64_t *cols;
  FW_TRY(FW_ARENA_TAKE(&part->arena, &cols, part->records, err));
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

/* Looks for a panel of the matrix that can be encoded without a copy. */
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
    /* the view of the first row starts at the element of the first column */
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

/* ---- pieces of row formats ---- */

static furrow_status fail_at(const fw_encode_chunk *piece, const fw_encode_row *row, const furrow_matrix_row_view *view,
                             size_t i, furrow_error *err) {
  return fw_writer_fail_element(piece->part->writer, row->row_id, furrow_matrix_row_view_col(view, i), view->values,
                                view->type, i * view->stride, err);
}

static const void *view_at(const furrow_matrix_row_view *view, size_t i) {
  return (const char *)view->values.any + i * view->stride * furrow_element_size(view->type);
}

/* Makes a panel of elements first … first+count-1 of a row. */
static furrow_status take_sparse(fw_encode_chunk *piece, const fw_encode_row *row, size_t first, size_t count,
                                 furrow_panel *panel, furrow_error *err) {
  const furrow_element_type type = piece->part->writer->context.type;
  const furrow_matrix_row_view *view = &row->view;
  if (row->picks) {
    for (size_t i = 0; i < count; i++) {
      const size_t at = row->picks[first + i];
      char *to = (char *)piece->scratch + i * furrow_element_size(type);
      piece->col_scratch[i] = furrow_matrix_row_view_col(view, at);
      if (fw_elements_copy(to, 1, type, view_at(view, at), 1, view->type, 1) == 0)
        return fail_at(piece, row, view, at, err);
    }
    panel->col_ids = piece->col_scratch;
    panel->values.any = piece->scratch;
    return FURROW_OK;
  }
  panel->col_ids = view->col_ids ? view->col_ids + first : NULL;
  panel->first_col = furrow_matrix_row_view_col(view, first);
  panel->values.any = view_at(view, first);
  if (view->stride == 1 && view->type == type) return FURROW_OK;
  const size_t good = fw_elements_copy(piece->scratch, 1, type, view_at(view, first), view->stride, view->type, count);
  if (good < count) return fail_at(piece, row, view, first + good, err);
  panel->values.any = piece->scratch;
  return FURROW_OK;
}

/* Copies the view's elements in columns begin … begin+count-1 to scratch[(col - begin) * stride]; other positions stay
 * unchanged. */
static furrow_status scatter(fw_encode_chunk *piece, const fw_encode_row *row, const furrow_matrix_row_view *view,
                             int64_t begin, void *scratch, size_t stride, furrow_error *err) {
  const furrow_element_type type = piece->part->writer->context.type;
  const size_t size = furrow_element_size(type);
  if (view->count == 0) return FURROW_OK;
  const int64_t first = furrow_matrix_row_view_col(view, 0), last = furrow_matrix_row_view_col(view, view->count - 1);
  if ((uint64_t)(last - first) == view->count - 1) { /* the columns are consecutive */
    char *to = (char *)scratch + (size_t)(first - begin) * stride * size;
    const size_t good = fw_elements_copy(to, stride, type, view->values.any, view->stride, view->type, view->count);
    return good == view->count ? FURROW_OK : fail_at(piece, row, view, good, err);
  }
  for (size_t i = 0; i < view->count; i++) {
    char *to = (char *)scratch + (size_t)(view->col_ids[i] - begin) * stride * size;
    if (fw_elements_copy(to, 1, type, view_at(view, i), 1, view->type, 1) == 0)
      return fail_at(piece, row, view, i, err);
  }
  return FURROW_OK;
}

/* Makes a panel of columns first … first+count-1 of the partition, with 0 for missing elements. */
static furrow_status take_dense(fw_encode_chunk *piece, const fw_encode_row *row, size_t first, size_t count,
                                furrow_panel *panel, furrow_error *err) {
  const furrow_partition_meta *meta = &piece->part->writer->meta->parts[piece->part->part];
  const furrow_element_type type = piece->part->writer->context.type;
  const furrow_matrix_row_view *view = &row->view;
  const int64_t begin = meta->start_col + (int64_t)first;
  const bool full = view->count == (uint64_t)(meta->end_col - meta->start_col);
  panel->first_col = begin;
  if (full && view->stride == 1 && view->type == type) {
    panel->values.any = view_at(view, first);
    return FURROW_OK;
  }
  panel->values.any = piece->scratch;
  memset(piece->scratch, 0, count * furrow_element_size(type));
  const furrow_matrix_row_view cut = furrow_matrix_row_view_range(view, begin, begin + (int64_t)count);
  return scatter(piece, row, &cut, begin, piece->scratch, 1, err);
}

/* Counts elements whose column cannot be derived from their position in a format without column ids. */
static uint64_t count_lost(const fw_encode_part *part, const furrow_panel *panel, size_t first) {
  const int64_t begin = part->writer->meta->parts[part->part].start_col + (int64_t)first;
  uint64_t lost = 0;
  if (part->writer->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) return 0;
  if (!panel->col_ids) return panel->first_col == begin ? 0 : panel->cols;
  for (size_t c = 0; c < panel->cols; c++) lost += furrow_panel_col(panel, c) != begin + (int64_t)c;
  return lost;
}

static furrow_status encode_row(fw_encode_chunk *piece, furrow_matrix_format_context *context, const fw_encode_row *row,
                                size_t first, size_t count, furrow_error *err) {
  const furrow_matrix_writer *writer = piece->part->writer;
  furrow_status status = FURROW_OK;
  context->row_id = row->row_id;
  /* a piece that needs no scratch could be encoded at once, but pieces of this size are as fast */
  for (size_t n; count > 0 && status == FURROW_OK; first += n, count -= n) {
    size_t bytes = 0;
    n = count < FW_ENCODE_SCRATCH ? count : FW_ENCODE_SCRATCH;
    furrow_panel panel = {.rows = 1, .row_ids = &row->row_id, .cols = n, .type = context->type};
    status = writer->row_type->dense ? take_dense(piece, row, first, n, &panel, err)
                                     : take_sparse(piece, row, first, n, &panel, err);
    if (status != FURROW_OK) return status;
    piece->lost += count_lost(piece->part, &panel, first);
    context->position = first;
    status = writer->format->encode(context, &panel, 0, n, piece->bytes + piece->length, &bytes, err);
    piece->length += bytes;
  }
  return status;
}

static furrow_status encode_rows(fw_encode_chunk *piece, furrow_matrix_format_context *context, furrow_error *err) {
  furrow_status status = FURROW_OK;
  uint64_t first = piece->first, left = piece->records;
  for (size_t r = piece->row; left > 0 && status == FURROW_OK; r++, first = 0) {
    const uint64_t rest = piece->part->counts[r] - first, n = rest < left ? rest : left;
    status = encode_row(piece, context, &piece->part->rows[r], first, n, err);
    left -= n;
  }
  return status;
}

/* ---- pieces of column formats ---- */

/* Copies row r in columns first … first+count-1 of the partition to scratch[c * rows + r]. */
static furrow_status gather_row(fw_encode_chunk *piece, size_t r, uint64_t first, size_t count, furrow_error *err) {
  const fw_encode_part *part = piece->part;
  const furrow_partition_meta *meta = &part->writer->meta->parts[part->part];
  const fw_encode_row *row = &part->rows[r];
  const furrow_element_type type = part->writer->context.type;
  const size_t size = furrow_element_size(type);
  char *scratch = (char *)piece->scratch + r * size;
  const int64_t begin = fw_encode_part_col(part, first), last = fw_encode_part_col(part, first + count - 1);
  const furrow_matrix_row_view cut = furrow_matrix_row_view_range(&row->view, begin, last + 1);
  if (!part->cols) {
    piece->found += cut.count;
    return scatter(piece, row, &cut, begin, scratch, meta->row_count, err);
  }
  const int64_t *cols = part->cols + first;
  const bool hash = fw_part_is_hash(meta) && !part->writer->any_hash;
  if (!hash && cut.count == count && cut.col_ids && memcmp(cut.col_ids, cols, count * sizeof *cols) == 0) {
    const size_t good = fw_elements_copy(scratch, meta->row_count, type, cut.values.any, cut.stride, cut.type, count);
    piece->found += good;
    return good == count ? FURROW_OK : fail_at(piece, row, &cut, good, err);
  }
  for (size_t i = 0, c = 0; i < cut.count && c < count;) {
    const int64_t col = furrow_matrix_row_view_col(&cut, i);
    if (col < cols[c]) {
      i++;
    } else if (col > cols[c]) {
      c++;
    } else {
      const bool here = !hash || furrow_matrix_hash_partition(col, part->writer->hash_parts) == meta->part_id;
      char *to = scratch + c * meta->row_count * size;
      if (here && fw_elements_copy(to, 1, type, view_at(&cut, i), 1, cut.type, 1) == 0)
        return fail_at(piece, row, &cut, i, err);
      piece->found += here;
      i++;
      c++;
    }
  }
  return FURROW_OK;
}

static furrow_status encode_gathered(fw_encode_chunk *piece, furrow_matrix_format_context *context, uint64_t first,
                                     size_t count, furrow_error *err) {
  const fw_encode_part *part = piece->part;
  const size_t rows = context->record_values;
  size_t bytes = 0;
  furrow_status status = FURROW_OK;
  memset(piece->scratch, 0, count * rows * furrow_element_size(context->type));
  for (size_t r = 0; r < rows && status == FURROW_OK; r++) status = gather_row(piece, r, first, count, err);
  if (status != FURROW_OK) return status;
  const furrow_panel panel = {.rows = rows,
                              .row_ids = part->row_ids,
                              .cols = count,
                              .col_ids = part->cols ? part->cols + first : NULL,
                              .first_col = fw_encode_part_col(part, first),
                              .type = context->type,
                              .values.any = piece->scratch};
  context->position = first;
  status = part->writer->format->encode(context, &panel, 0, count, piece->bytes + piece->length, &bytes, err);
  piece->length += bytes;
  return status;
}

static furrow_status encode_columns(fw_encode_chunk *piece, furrow_matrix_format_context *context, furrow_error *err) {
  const fw_encode_part *part = piece->part;
  const size_t rows = context->record_values;
  if (part->whole) {
    piece->found = piece->records * rows;
    context->position = piece->first;
    return part->writer->format->encode(context, part->whole, part->whole_first + piece->first, piece->records,
                                        piece->bytes, &piece->length, err);
  }
  const size_t most = FW_ENCODE_SCRATCH / rows ? FW_ENCODE_SCRATCH / rows : 1;
  furrow_status status = FURROW_OK;
  for (uint64_t done = 0, n; done < piece->records && status == FURROW_OK; done += n) {
    n = piece->records - done < most ? piece->records - done : most;
    status = encode_gathered(piece, context, piece->first + done, n, err);
  }
  return status;
}

void fw_encode_chunk_run(fw_encode_chunk *piece) {
  uint64_t none[4] = {0};
  furrow_matrix_format_context context =
      fw_writer_context(piece->part->writer, piece->part->part, piece->sequential ? piece->part->state : none);
  piece->length = 0;
  piece->lost = piece->found = 0;
  if (fw_writer_by_column(piece->part->writer))
    piece->status = encode_columns(piece, &context, &piece->error);
  else
    piece->status = encode_rows(piece, &context, &piece->error);
}
