/* model/exchange/import_stream.c: writes an array to a folder piece by piece, one partition after the other. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/import.h"

#define PIECE_BYTES ((size_t)4 << 20)

typedef struct array_stream {
  const fw_import *job;
  const fw_import_matrix *m;
  fw_array_reader *reader;
  const fw_import_ids *ids;
  const furrow_matrix_meta *plan;
  size_t vectors, dim;
  int32_t *rows;   /* column vectors: row ids of the elements; row vectors: ids of the vectors */
  char *piece;     /* PIECE_BYTES, or one vector if it is larger */
  size_t elements; /* capacity of piece */
} array_stream;

static int64_t id_of(const array_stream *s, size_t i) {
  return s->ids->ids ? s->ids->ids[i] : s->m->spec.first_col * (s->m->axis == FURROW_AXIS_COLUMNS) + (int64_t)i;
}

/* The first vector with an id of at least `id`. */
static size_t find_vector(const array_stream *s, int64_t id) {
  size_t low = 0, high = s->vectors;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (id_of(s, middle) < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ---- Column vectors in a column format: a partition is a range of vectors ------------------------------- */

static furrow_status put_columns(const array_stream *s, furrow_matrix_writer *writer, const furrow_partition_meta *part,
                                 furrow_error *err) {
  size_t at = find_vector(s, part->start_col), got = 0;
  const size_t end = find_vector(s, part->end_col), most = s->elements / s->dim;
  furrow_status status = fw_array_seek(s->reader, at, err);
  for (; at < end && status == FURROW_OK; at += got) {
    const size_t want = end - at < most ? end - at : most;
    status = fw_array_read_as(s->reader, (fw_array_type)s->m->type, s->piece, want, &got, err);
    if (status != FURROW_OK) break;
    const furrow_panel panel = {.rows = s->dim,
                                .row_ids = s->rows,
                                .cols = got,
                                .col_ids = s->ids->ids ? s->ids->ids + at : NULL,
                                .first_col = id_of(s, at),
                                .type = s->m->type,
                                .values = {s->piece}};
    status = furrow_matrix_writer_write_panel(writer, &panel, err);
  }
  return status;
}

/* ---- Row vectors in a row format: a partition has a range of columns of some vectors -------------------- */

static furrow_status put_row(const array_stream *s, furrow_matrix_writer *writer, const furrow_partition_meta *part,
                             size_t vector, furrow_error *err) {
  const int64_t first = s->m->spec.first_col;
  const size_t begin = (size_t)(part->start_col - first), end = (size_t)(part->end_col - first);
  const size_t stop = end < s->dim ? end : s->dim;
  furrow_status status = FURROW_OK;
  for (size_t at = begin, n; at < stop && status == FURROW_OK; at += n) {
    n = stop - at < s->elements ? stop - at : s->elements;
    status = fw_array_read_part(s->reader, vector, at, n, (fw_array_type)s->m->type, s->piece, err);
    if (status != FURROW_OK) break;
    const furrow_panel panel = {.rows = 1,
                                .row_ids = &s->rows[vector],
                                .cols = n,
                                .first_col = first + (int64_t)at,
                                .type = s->m->type,
                                .values = {s->piece}};
    status = furrow_matrix_writer_write_panel(writer, &panel, err);
  }
  return status;
}

static furrow_status put_rows(const array_stream *s, furrow_matrix_writer *writer, const furrow_partition_meta *part,
                              furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t r = 0; r < part->row_count && status == FURROW_OK; r++) {
    const size_t vector = find_vector(s, part->rows[r].row_id);
    if (vector < s->vectors && s->rows[vector] == part->rows[r].row_id) status = put_row(s, writer, part, vector, err);
  }
  return status;
}

/* ---- Row and column vectors ----------------------------------------------------------------------------- */

static furrow_status write_parts(void *user, furrow_matrix_writer *writer, furrow_error *err) {
  const array_stream *s = user;
  const bool by_columns = s->m->axis == FURROW_AXIS_COLUMNS;
  const uint64_t bytes = (uint64_t)s->vectors * s->dim * fw_array_type_size(fw_array_get_info(s->reader)->type);
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < s->plan->part_count && status == FURROW_OK; i++) {
    const furrow_partition_meta *part = &s->plan->parts[i];
    status = furrow_matrix_writer_begin_partition(writer, i, err);
    if (status == FURROW_OK) status = by_columns ? put_columns(s, writer, part, err) : put_rows(s, writer, part, err);
    const double share = (double)(i + 1) / (double)s->plan->part_count;
    if (status == FURROW_OK) status = fw_import_report(s->job, (uint64_t)((double)bytes * share), bytes, err);
  }
  return status;
}

static bool ascends(const fw_import_ids *ids) {
  for (size_t i = 1; ids->ids && i < ids->count; i++) {
    if (ids->ids[i - 1] >= ids->ids[i]) return false;
  }
  return true;
}

/* Requires vectors along the axis that the format stores together, and a seekable file. */
static furrow_status is_possible(const array_stream *s, bool *possible, furrow_error *err) {
  const furrow_matrix_format *format;
  FW_TRY(furrow_matrix_format_find(s->m->spec.format, &format, err));
  const bool by_column = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  *possible = by_column == (s->m->axis == FURROW_AXIS_COLUMNS) && s->m->spec.hash_parts == 0 &&
              fw_array_get_info(s->reader)->can_seek && ascends(s->ids) && (by_column || !s->m->spec.saved_rows);
  return FURROW_OK;
}

/* Every element must belong to a partition, partitions must not cut vectors, and a dense row type must not add
 * elements. */
static bool plan_suits(const array_stream *s, const fw_import_extent *extent) {
  const furrow_matrix_spec *spec = &s->m->spec;
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(spec->row_type);
  uint64_t all;
  if (extent->first_col < spec->first_col || extent->last_col - spec->first_col >= spec->cols) return false;
  for (size_t i = 0; i < s->plan->part_count && s->m->axis == FURROW_AXIS_COLUMNS; i++) {
    if (s->plan->parts[i].row_count != s->dim) return false;
  }
  if (!type->dense) return true;
  const uint64_t rows = spec->saved_rows ? spec->saved_row_count : (uint64_t)spec->rows;
  return !__builtin_mul_overflow(rows, (uint64_t)spec->cols, &all) && all == extent->elements;
}

static furrow_status prepare(array_stream *s, furrow_error *err) {
  const bool by_columns = s->m->axis == FURROW_AXIS_COLUMNS;
  const size_t size = furrow_element_size(s->m->type), count = by_columns ? s->dim : s->vectors;
  const int32_t *saved = s->m->spec.saved_rows;
  FW_TRY(FW_ALLOC(&s->rows, count, err));
  for (size_t i = 0; i < count; i++)
    s->rows[i] = !by_columns ? (int32_t)fw_import_id(s->ids, i) : saved ? saved[i] : (int32_t)i;
  s->elements = PIECE_BYTES / size;
  if (by_columns && s->elements < s->dim) s->elements = s->dim;
  return FW_ALLOC_ROWS(&s->piece, s->elements, size, err);
}

static furrow_status plan_and_write(array_stream *s, fw_import *job, fw_import_matrix *m, furrow_error *err) {
  const bool by_columns = m->axis == FURROW_AXIS_COLUMNS;
  furrow_matrix_meta *plan = NULL;
  const int64_t first = m->spec.first_col;
  const fw_import_extent extent = {.first_col = by_columns ? id_of(s, 0) : first,
                                   .last_col = by_columns ? id_of(s, s->vectors - 1) : first + (int64_t)s->dim - 1,
                                   .row_count = by_columns ? s->dim : s->vectors,
                                   .rows = s->rows,
                                   .elements = (uint64_t)s->vectors * s->dim};
  const furrow_matrix_spec old = m->spec;
  furrow_status status = fw_import_plan(m, &extent, &plan, err);
  if (status != FURROW_OK) return status;
  s->plan = plan;
  if (plan_suits(s, &extent)) {
    status = fw_import_folder(job, m, plan, extent.elements, write_parts, s, err);
  } else {
    m->spec = old;
    status = FURROW_END;
  }
  furrow_matrix_meta_free(plan);
  return status;
}

furrow_status fw_import_stream(fw_import *job, fw_import_matrix *m, fw_array_reader *reader, const fw_import_ids *ids,
                               furrow_error *err) {
  const fw_array_info *info = fw_array_get_info(reader);
  bool possible = false;
  array_stream s = {.job = job, .m = m, .reader = reader, .ids = ids, .vectors = (size_t)info->rows, .dim = info->dim};
  furrow_status status = is_possible(&s, &possible, err);
  if (status != FURROW_OK) return status;
  if (!possible) return FURROW_END;
  status = prepare(&s, err);
  if (status == FURROW_OK) status = plan_and_write(&s, job, m, err);
  fw_free(s.rows);
  fw_free(s.piece);
  return status;
}
