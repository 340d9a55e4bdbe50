/* model/write/part_stream.c: writes one partition from panels: checks them, encodes them into a buffer and appends to
 * its file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/target.h"
#include "model/format/matrix_format.h"
#include "model/write/matrix_writer.h"

#define BUFFER_SIZE ((size_t)1 << 20)
#define SCRATCH_ELEMENTS ((size_t)1 << 13)

/* A row of the partition: its position in the plan, and its state. */
typedef struct stream_row {
  int32_t row_id;
  size_t place; /* position in the plan's rows */
  uint64_t count;
  bool left; /* another row was begun after it */
} stream_row;

struct fw_part_stream {
  furrow_matrix_writer *writer;
  size_t part;
  int fd; /* -1: no partition is open */
  uint64_t offset, length;
  char *buffer;
  size_t capacity, filled;
  furrow_matrix_format_context context;
  uint64_t state[4];
  size_t most;      /* maximal size of a record */
  stream_row *rows; /* ascending */
  size_t row_capacity, row_count;
  uint64_t *counts; /* in the order of the plan */
  size_t count_capacity;
  stream_row *row; /* row formats: the current row */
  bool any;        /* the row (column formats: the partition) has columns */
  int64_t last_col;
  uint64_t columns; /* column formats */
  uint64_t dropped;
  char *scratch; /* scratch for elements that are converted, or gathered from a wider panel */
  size_t scratch_elements;
};

static const furrow_partition_meta *part_of(const fw_part_stream *stream) {
  return &stream->writer->meta->parts[stream->part];
}

static furrow_status fail_state(const fw_part_stream *stream, furrow_error *err, const char *what, int32_t row) {
  furrow_status status =
      fw_fail(err, FURROW_E_STATE, "partition %d, row %d: %s", (int)part_of(stream)->part_id, (int)row, what);
  fw_error_set_file(err, stream->writer->path);
  return status;
}

/* ---- begin ---- */

furrow_status fw_part_stream_create(fw_part_stream **stream, furrow_matrix_writer *writer, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(stream, 1, err));
  (*stream)->writer = writer;
  (*stream)->fd = -1;
  return FURROW_OK;
}

static int compare_rows(const void *a, const void *b) {
  const stream_row *x = a, *y = b;
  return (x->row_id > y->row_id) - (x->row_id < y->row_id);
}

static furrow_status list_rows(fw_part_stream *stream, furrow_error *err) {
  const furrow_partition_meta *part = part_of(stream);
  furrow_status status = FW_GROW(&stream->rows, &stream->row_capacity, part->row_count, err);
  if (status != FURROW_OK) return status;
  status = FW_GROW(&stream->counts, &stream->count_capacity, part->row_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < part->row_count; i++) stream->rows[i] = (stream_row){part->rows[i].row_id, i, 0, false};
  if (part->row_count > 1) qsort(stream->rows, part->row_count, sizeof *stream->rows, compare_rows);
  stream->row_count = part->row_count;
  return FURROW_OK;
}

/* Reserves at least one record. */
static furrow_status reserve_record(fw_part_stream *stream, furrow_error *err) {
  size_t least, need;
  stream->writer->format->record_size(&stream->context, &least, &stream->most);
  need = stream->most > BUFFER_SIZE / 4 ? stream->most : BUFFER_SIZE;
  if (stream->capacity >= need) return FURROW_OK;
  fw_free(stream->buffer);
  stream->buffer = NULL;
  stream->capacity = 0;
  FW_TRY(FW_ALLOC(&stream->buffer, need, err));
  stream->capacity = need;
  return FURROW_OK;
}

furrow_status fw_part_stream_begin(fw_part_stream *stream, size_t part, furrow_error *err) {
  furrow_matrix_writer *writer = stream->writer;
  stream->part = part;
  memset(stream->state, 0, sizeof stream->state);
  stream->context = fw_writer_context(writer, part, stream->state);
  stream->length = stream->columns = stream->dropped = 0;
  stream->filled = 0;
  stream->row = NULL;
  stream->any = false;
  FW_TRY(list_rows(stream, err));
  FW_TRY(reserve_record(stream, err));
  return fw_writer_open_part(writer, part, &stream->fd, &stream->offset, err);
}

/* ---- checks of panels ---- */

static stream_row *find_row(const fw_part_stream *stream, int32_t row_id) {
  const stream_row key = {.row_id = row_id};
  if (stream->row_count == 0) return NULL;
  return bsearch(&key, stream->rows, stream->row_count, sizeof key, compare_rows);
}

static bool ascends(const int64_t *cols, size_t count) {
  bool good = true;
  for (size_t i = 1; i < count; i++) good &= cols[i - 1] < cols[i];
  return good;
}

/* Checks that the columns belong to the partition and that a dense row has no gap between its columns. `after` is the
 * preceding column. */
static furrow_status check_cols(const fw_part_stream *stream, const furrow_panel *panel, bool any, int64_t after,
                                furrow_error *err) {
  const furrow_matrix_writer *writer = stream->writer;
  const furrow_partition_meta *part = part_of(stream);
  const int32_t row = panel->rows ? panel->row_ids[0] : 0;
  if (panel->cols == 0) return FURROW_OK;
  if (!panel->col_ids && panel->cols - 1 > (uint64_t)INT64_MAX - (uint64_t)panel->first_col && panel->first_col > 0)
    return fw_writer_fail_col(writer, row, panel->first_col, "too many columns follow it", err);
  const int64_t first = furrow_panel_col(panel, 0), last = furrow_panel_col(panel, panel->cols - 1);
  if ((panel->col_ids && !ascends(panel->col_ids, panel->cols)) || (any && first <= after))
    return fail_state(stream, err, "columns do not ascend", row);
  if (!fw_part_is_hash(part) && (first < part->start_col || last >= part->end_col))
    return fw_writer_fail_col(writer, row, first < part->start_col ? first : last, "outside of the partition", err);
  if (writer->row_type->key_bits == 32 && (first < INT32_MIN || last > INT32_MAX))
    return fw_writer_fail_col(writer, row, first < INT32_MIN ? first : last, "does not fit 32 bits", err);
  for (size_t c = 0; fw_part_is_hash(part) && !writer->any_hash && c < panel->cols; c++)
    if (furrow_matrix_hash_partition(furrow_panel_col(panel, c), writer->hash_parts) != part->part_id)
      return fw_writer_fail_col(writer, row, furrow_panel_col(panel, c), "belongs to another hash partition", err);
  if (!writer->row_type->dense) return FURROW_OK;
  if (first != (any ? after + 1 : part->start_col) || (uint64_t)last - (uint64_t)first != panel->cols - 1)
    return fail_state(stream, err, "a dense row needs every column", row);
  return FURROW_OK;
}

/* ---- bytes ---- */

/* After a failure in the middle of a partition, drops it. */
static furrow_status drop_partition(fw_part_stream *stream, furrow_status status) {
  fw_part_stream_abandon(stream);
  return status;
}

static furrow_status flush_records(fw_part_stream *stream, furrow_error *err) {
  int errnum = fw_write_at(stream->fd, stream->buffer, stream->filled, stream->offset + stream->length);
  if (errnum != 0) return fw_fail_file(err, errnum, stream->writer->path, part_of(stream)->file_name, "cannot write");
  stream->length += stream->filled;
  stream->filled = 0;
  return FURROW_OK;
}

/* Counts elements of a format without column ids that will be read back with another column. */
static uint64_t count_misplaced(const fw_part_stream *stream, const furrow_panel *panel) {
  uint64_t lost = 0;
  if (stream->writer->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) return 0;
  const int64_t begin = part_of(stream)->start_col + (int64_t)stream->context.position;
  for (size_t c = 0; c < panel->cols; c++) lost += furrow_panel_col(panel, c) != begin + (int64_t)c;
  return lost;
}

/* Encodes a panel in the format's shape: one row, or all rows. */
static furrow_status encode_panel(fw_part_stream *stream, const furrow_panel *panel, furrow_error *err) {
  furrow_status status = FURROW_OK;
  stream->dropped += count_misplaced(stream, panel);
  for (size_t first = 0; first < panel->cols && status == FURROW_OK;) {
    if (stream->capacity - stream->filled < stream->most) status = flush_records(stream, err);
    size_t avail = (stream->capacity - stream->filled) / stream->most, bytes = 0;
    size_t count = panel->cols - first < avail ? panel->cols - first : avail;
    if (status == FURROW_OK)
      status = stream->writer->format->encode(&stream->context, panel, first, count, stream->buffer + stream->filled,
                                              &bytes, err);
    stream->filled += bytes;
    stream->context.position += count;
    first += count;
  }
  return status;
}

static furrow_status make_scratch(fw_part_stream *stream, size_t elements, furrow_error *err) {
  if (stream->scratch_elements >= elements) return FURROW_OK;
  void *memory;
  FW_TRY(fw_alloc(&memory, elements, sizeof(int64_t), err));
  fw_free(stream->scratch);
  stream->scratch = memory;
  stream->scratch_elements = elements;
  return FURROW_OK;
}

/* Converts and encodes row r of the panel (`all`: every row of a column format) in pieces, in the writer's type. */
static furrow_status encode_converted(fw_part_stream *stream, const furrow_panel *panel, size_t r, bool all,
                                      furrow_error *err) {
  const furrow_element_type type = stream->context.type;
  const size_t rows = all ? panel->rows : 1, piece = SCRATCH_ELEMENTS / rows ? SCRATCH_ELEMENTS / rows : 1;
  const size_t size = furrow_element_size(panel->type);
  furrow_status status = make_scratch(stream, piece * rows, err);
  for (size_t c = 0; c < panel->cols && status == FURROW_OK; c += piece) {
    furrow_panel part = *panel;
    part.cols = panel->cols - c < piece ? panel->cols - c : piece;
    if (panel->col_ids) part.col_ids += c;
    part.first_col = furrow_panel_col(panel, c);
    part.rows = rows;
    part.row_ids = panel->row_ids + r;
    part.type = type;
    part.values.any = stream->scratch;
    const char *from = (const char *)panel->values.any + (c * panel->rows + r) * size;
    const size_t step = all ? 1 : panel->rows, count = part.cols * rows;
    const size_t good = fw_elements_copy(stream->scratch, 1, type, from, step, panel->type, count);
    if (good < count) {
      const size_t at = all ? c * rows + good : (c + good) * panel->rows + r;
      return fw_writer_fail_element(stream->writer, panel->row_ids[all ? good % rows : r],
                                    furrow_panel_col(panel, c + good / rows), panel->values, panel->type, at, err);
    }
    status = encode_panel(stream, &part, err);
  }
  return status;
}

/* ---- put ---- */

/* Checks that the current row may be left. */
static furrow_status end_row(fw_part_stream *stream, furrow_error *err) {
  const furrow_partition_meta *part = part_of(stream);
  const uint64_t width = fw_part_width(part);
  if (!stream->row) return FURROW_OK;
  if (stream->writer->row_type->dense && stream->row->count != width)
    return fail_state(stream, err, "a dense row needs every column, and some are missing", stream->row->row_id);
  return FURROW_OK;
}

/* Makes the row the current one. */
static furrow_status enter_row(fw_part_stream *stream, stream_row *row, furrow_error *err) {
  if (row == stream->row) return FURROW_OK;
  if (row->left) return fail_state(stream, err, "comes again after another row", row->row_id);
  FW_TRY(end_row(stream, err));
  if (stream->row) stream->row->left = true;
  stream->row = row;
  stream->any = false;
  stream->context.row_id = row->row_id;
  stream->context.position = 0;
  return FURROW_OK;
}

static furrow_status put_row(fw_part_stream *stream, const furrow_panel *panel, size_t r, furrow_error *err) {
  stream_row *row = find_row(stream, panel->row_ids[r]);
  if (!row) return fail_state(stream, err, "is not a saved row of the partition", panel->row_ids[r]);
  const bool same = row == stream->row;
  furrow_status status = check_cols(stream, panel, same && stream->any, stream->last_col, err);
  if (status == FURROW_OK) status = enter_row(stream, row, err);
  if (status != FURROW_OK || panel->cols == 0) return status;
  const bool plain = panel->rows == 1 && panel->type == stream->context.type;
  status = plain ? encode_panel(stream, panel, err) : encode_converted(stream, panel, r, false, err);
  if (status != FURROW_OK) return drop_partition(stream, status);
  row->count += panel->cols;
  stream->any = true;
  stream->last_col = furrow_panel_col(panel, panel->cols - 1);
  return FURROW_OK;
}

static furrow_status check_rows(const fw_part_stream *stream, const furrow_panel *panel, furrow_error *err) {
  for (size_t r = 0; r < panel->rows && r < stream->row_count; r++)
    if (panel->row_ids[r] != stream->rows[r].row_id)
      return fail_state(stream, err, "a panel of a column format has all saved rows, ascending", panel->row_ids[r]);
  if (panel->rows != stream->row_count)
    return fail_state(stream, err, "a panel of a column format has all saved rows",
                      stream->row_count ? stream->rows[0].row_id : 0);
  return FURROW_OK;
}

static furrow_status put_columns(fw_part_stream *stream, const furrow_panel *panel, furrow_error *err) {
  furrow_status status = check_rows(stream, panel, err);
  if (status == FURROW_OK) status = check_cols(stream, panel, stream->any, stream->last_col, err);
  if (status != FURROW_OK || panel->cols == 0) return status;
  const bool plain = panel->type == stream->context.type;
  status = plain ? encode_panel(stream, panel, err) : encode_converted(stream, panel, 0, true, err);
  if (status != FURROW_OK) return drop_partition(stream, status);
  stream->columns += panel->cols;
  stream->any = true;
  stream->last_col = furrow_panel_col(panel, panel->cols - 1);
  return FURROW_OK;
}

furrow_status fw_part_stream_put(fw_part_stream *stream, const furrow_panel *panel, furrow_error *err) {
  if (stream->fd < 0) return fw_fail(err, FURROW_E_STATE, "the partition was left incomplete by a failure");
  if (fw_writer_by_column(stream->writer)) return put_columns(stream, panel, err);
  furrow_status status = FURROW_OK;
  for (size_t r = 0; r < panel->rows && status == FURROW_OK; r++) status = put_row(stream, panel, r, err);
  return status;
}

/* ---- the end ---- */

/* Every dense row must be complete. */
static furrow_status check_complete(fw_part_stream *stream, furrow_error *err) {
  const furrow_partition_meta *part = part_of(stream);
  const uint64_t width = fw_part_width(part);
  if (!stream->writer->row_type->dense) return FURROW_OK;
  for (size_t i = 0; i < stream->row_count; i++)
    if ((fw_writer_by_column(stream->writer) ? stream->columns : stream->rows[i].count) != width)
      return fail_state(stream, err, "a dense row needs every column, and some are missing", stream->rows[i].row_id);
  return FURROW_OK;
}

furrow_status fw_part_stream_finish(fw_part_stream *stream, fw_write_totals *totals, furrow_error *err) {
  if (stream->fd < 0) return fw_fail(err, FURROW_E_STATE, "the partition was left incomplete by a failure");
  const bool by_column = fw_writer_by_column(stream->writer);
  furrow_status status = check_complete(stream, err);
  if (status == FURROW_OK) status = flush_records(stream, err);
  if (status != FURROW_OK) return drop_partition(stream, status);
  uint64_t elements = 0;
  for (size_t i = 0; i < stream->row_count; i++) {
    const uint64_t count = by_column ? stream->columns : stream->rows[i].count;
    stream->counts[stream->rows[i].place] = count;
    elements += count;
  }
  status = fw_writer_note_part(stream->writer, stream->part, stream->length, stream->columns, stream->counts, err);
  if (status != FURROW_OK) return drop_partition(stream, status);
  close(stream->fd);
  stream->fd = -1;
  totals->elements += elements;
  totals->taken += elements;
  totals->dropped += stream->dropped;
  totals->bytes += stream->length;
  return FURROW_OK;
}

void fw_part_stream_abandon(fw_part_stream *stream) {
  if (stream->fd < 0) return;
  (void)!ftruncate(stream->fd, (off_t)stream->offset);
  close(stream->fd);
  stream->fd = -1;
}

bool fw_part_stream_is_spoilt(const fw_part_stream *stream) {
  return stream->fd < 0;
}

void fw_part_stream_free(fw_part_stream *stream) {
  if (!stream) return;
  fw_part_stream_abandon(stream);
  fw_free(stream->buffer);
  fw_free(stream->scratch);
  fw_free(stream->rows);
  fw_free(stream->counts);
  fw_free(stream);
}
