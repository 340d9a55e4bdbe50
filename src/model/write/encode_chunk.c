/* model/write/encode_chunk.c: a piece of a partition, encoded: elements go to the format from where they stand if they
 * can, else through a scratch that stays in the cache. */
#include <string.h>

#include "base/error.h"
#include "model/format/matrix_format.h"
#include "model/write/encode_part.h"

/* ---- row formats ---- */

static furrow_status fail_at(const fw_encode_chunk *piece, const fw_encode_row *row, const furrow_matrix_row_view *view,
                             size_t i, furrow_error *err) {
  return fw_writer_fail_element(piece->part->writer, row->row_id, furrow_matrix_row_view_col(view, i), view->values,
                                view->type, i * view->stride, err);
}

static const void *view_at(const furrow_matrix_row_view *view, size_t i) {
  return (const char *)view->values.any + i * view->stride * furrow_element_size(view->type);
}

/* Elements first … first+count-1 of a row. */
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

/* Puts what the view has in columns begin … begin+count-1 to scratch[(col - begin) * stride]; the rest stays. */
static furrow_status scatter(fw_encode_chunk *piece, const fw_encode_row *row, const furrow_matrix_row_view *view,
                             int64_t begin, void *scratch, size_t stride, furrow_error *err) {
  const furrow_element_type type = piece->part->writer->context.type;
  const size_t size = furrow_element_size(type);
  if (view->count == 0) return FURROW_OK;
  const int64_t first = furrow_matrix_row_view_col(view, 0), last = furrow_matrix_row_view_col(view, view->count - 1);
  if ((uint64_t)(last - first) == view->count - 1) { /* no holes */
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

/* Columns first … first+count-1 of the partition, 0 where the row has none. */
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

/* Elements whose place in a value format does not tell their column. */
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
  /* what needs no scratch could go at once, but pieces of this size are as fast */
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

/* ---- column formats ---- */

/* Row r in columns first … first+count-1 of the part, to scratch[c * rows + r]. */
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
