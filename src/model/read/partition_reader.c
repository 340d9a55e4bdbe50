/* model/read/partition_reader.c: reads the records of a partition as panels.
 *
 * The format decodes a window of the file into a batch of records. A batch becomes one panel or, in formats with row
 * ids, one panel per run of records of the same row. Window and batch fit in the second-level cache and are reused for
 * the next partition. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "model/read/source.h"

#define WINDOW ((size_t)256 << 10)
enum { PAD = 64 };

struct furrow_partition_reader {
  const furrow_matrix_source *source;
  const fw_source_part *part;
  uint64_t state[4];
  furrow_matrix_format_context context;
  fw_input *input; /* NULL: none */

  char *buffer;         /* PAD bytes, the window, PAD bytes */
  size_t window;        /* capacity of the window */
  size_t begin, end;    /* bytes of the window that are not yet decoded */
  uint64_t bytes_ahead; /* bytes of the partition that are not yet in the window */

  furrow_matrix_records batch;
  size_t batch_capacity, value_bytes; /* capacities of the batch's arrays */
  size_t given;                       /* records of the batch that were returned */
  size_t batch_begin;                 /* offset in the window from which the batch was decoded … */
  uint64_t batch_state[4];            /* … and the format's state before it */
  uint64_t total;                     /* records before the batch */

  size_t row;                     /* formats without row ids: position of the row in the order of the data … */
  uint64_t row_done;              /* … and its records before the batch */
  int32_t row_id;                 /* the id that the panel points at */
  uint64_t *row_counts;           /* formats with row ids: number of records of each row in part->row_ids */
  size_t row_counts_capacity, at; /* at: position of the last run's row */
  fw_row_order_watch watch;
  const fw_selection *sel; /* selected rows; NULL: all */

  furrow_status final; /* if not OK: returned by every further call */
  furrow_error error;
};

static unsigned flags_of(const furrow_partition_reader *r) {
  return r->source->format->flags;
}

/* ---- Errors --------------------------------------------------------------------------------------------- */

/* The file offset of the first byte that is not yet decoded. */
static uint64_t file_offset(const furrow_partition_reader *r) {
  const furrow_partition_meta *meta = r->part->meta;
  return (uint64_t)meta->offset + (uint64_t)meta->length - r->bytes_ahead - (r->end - r->begin);
}

/* Adds partition, file and offset to an error about the data. err is always reader->error. */
static furrow_status locate_in_data(const furrow_partition_reader *r, uint64_t offset, furrow_status status,
                                    furrow_error *err) {
  char message[sizeof err->message];
  memcpy(message, err->message, sizeof message);
  const int n = snprintf(err->message, sizeof err->message, "partition %d: ", (int)r->part->meta->part_id);
  snprintf(err->message + n, sizeof err->message - (size_t)n, "%.*s", (int)(sizeof message - (size_t)n - 1), message);
  fw_error_set_file(err, r->part->file->path);
  err->offset = offset;
  return status;
}

/* ---- The window ----------------------------------------------------------------------------------------- */

static furrow_status set_window(furrow_partition_reader *r, size_t size, furrow_error *err) {
  if (size <= r->window) return FURROW_OK;
  size_t bytes;
  if (!fw_size_add(size, 2 * PAD, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  void *memory = r->buffer;
  FW_TRY(fw_realloc(&memory, bytes, 1, err));
  if (!r->buffer) memset(memory, 0, PAD);
  r->buffer = memory;
  r->window = size;
  return FURROW_OK;
}

static size_t least_of(size_t a, uint64_t b) {
  return b < a ? (size_t)b : a;
}

/* Reads more bytes after the undecoded ones; grows the window if a record is longer than it. */
static furrow_status refill_window(furrow_partition_reader *r, furrow_error *err) {
  const size_t kept = r->end - r->begin;
  if (kept > 0 && kept == r->window) {
    furrow_status status = set_window(r, kept + least_of(kept, r->bytes_ahead), err);
    if (status != FURROW_OK) return status;
  }
  char *bytes = r->buffer + PAD;
  const uint64_t offset = file_offset(r) + kept;
  memmove(bytes, bytes + r->begin, kept);
  r->begin = 0;
  r->end = kept;
  size_t got = 0;
  const size_t size = least_of(r->window - kept, r->bytes_ahead);
  FW_TRY(fw_input_read_at(r->input, bytes + kept, size, offset, &got, err));
  if (got < size) {
    fw_fail(err, FURROW_E_STALE, "the file is shorter than it was");
    return locate_in_data(r, offset + got, FURROW_E_STALE, err);
  }
  r->end += size;
  r->bytes_ahead -= size;
  memset(bytes + r->end, 0, PAD);
  return FURROW_OK;
}

/* ---- The batch ------------------------------------------------------------------------------------------ */

/* Replaces the array by a new one without copying. */
static furrow_status renew_array(void **array, size_t count, size_t size, furrow_error *err) {
  fw_free(*array);
  *array = NULL;
  return fw_alloc(array, count, size, err);
}

static furrow_status renew_ids(furrow_partition_reader *r, size_t batch_capacity, furrow_error *err) {
  void *cols = r->batch.col_ids, *rows = r->batch.row_ids;
  furrow_status status = FURROW_OK;
  if (batch_capacity <= r->batch_capacity) return FURROW_OK;
  r->batch_capacity = 0;
  if (flags_of(r) & FURROW_MATRIX_FORMAT_COL_IDS)
    status = renew_array(&cols, batch_capacity + PAD, sizeof(int64_t), err);
  if (status == FURROW_OK && flags_of(r) & FURROW_MATRIX_FORMAT_ROW_IDS)
    status = renew_array(&rows, batch_capacity + PAD, sizeof(int32_t), err);
  r->batch.col_ids = cols;
  r->batch.row_ids = rows;
  if (status == FURROW_OK) r->batch_capacity = batch_capacity;
  return status;
}

/* Allocates a batch for all records that a window can hold. The window is not larger than the partition, so false
 * counts in the metadata cannot cause large allocations. */
static furrow_status set_batch(furrow_partition_reader *r, furrow_error *err) {
  size_t least, most, values, bytes;
  r->source->format->record_size(&r->context, &least, &most);
  size_t batch_capacity = least_of(WINDOW, (uint64_t)r->part->meta->length) / (least > 0 ? least : 1);
  if (batch_capacity == 0) batch_capacity = 1;
  if (!fw_size_mul(batch_capacity, r->context.record_values, &values) || !fw_size_add(values, PAD, &values) ||
      !fw_size_mul(values, furrow_element_size(r->context.type), &bytes))
    return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = renew_ids(r, batch_capacity, err);
  if (status == FURROW_OK && bytes > r->value_bytes) {
    r->value_bytes = 0;
    status = renew_array(&r->batch.values, bytes, 1, err);
    if (status == FURROW_OK) r->value_bytes = bytes;
  }
  r->batch.capacity = batch_capacity;
  return status;
}

/* The first record of the batch whose column is outside the partition; batch.count if there is none. The sign bits of
 * col - first and last - col, both modulo 2^64, are clear exactly if first <= col <= last. */
static size_t first_outside(const furrow_partition_reader *r) {
  const int64_t *cols = r->batch.col_ids;
  const uint64_t first = (uint64_t)r->part->first_col, last = (uint64_t)r->part->last_col;
  const size_t count = r->batch.count;
  uint64_t outside = 0;
  if (first == (uint64_t)INT64_MIN) return count;
  for (size_t i = 0; i < count; i++) outside |= ((uint64_t)cols[i] - first) | (last - (uint64_t)cols[i]);
  if (!(outside >> 63)) return count;
  size_t i = 0;
  while (cols[i] >= r->part->first_col && cols[i] <= r->part->last_col) i++;
  return i;
}

static furrow_status fail_outside(const furrow_partition_reader *r, int64_t col, uint64_t offset, furrow_error *err) {
  if (r->part->hash)
    fw_fail(err, FURROW_E_FORMAT, "column %lld does not fit the 32 bits that the row type has", (long long)col);
  else
    fw_fail(err, FURROW_E_FORMAT, "column %lld is outside of the partition, %lld to %lld", (long long)col,
            (long long)r->part->first_col, (long long)r->part->last_col);
  return locate_in_data(r, offset, FURROW_E_FORMAT, err);
}

/* The file offset of record i of the batch, found by decoding the batch again up to record i. Nothing can be read
 * afterwards. */
static uint64_t record_offset(furrow_partition_reader *r, size_t i) {
  const size_t begin = r->batch_begin;
  size_t used = 0;
  furrow_matrix_records some = r->batch;
  some.capacity = i;
  memcpy(r->state, r->batch_state, sizeof r->state);
  if (i > 0 && r->source->format->decode(&r->context, r->buffer + PAD + begin, r->end - begin, r->bytes_ahead == 0,
                                         &used, &some, NULL) != FURROW_OK)
    used = 0;
  return file_offset(r) - (r->begin - begin) + used;
}

/* Checks that implicit columns, which count up from the partition's first column, stay within the partition: records
 * first … first+count-1 of the batch, preceded by `done` records of their row (column formats: of the partition). */
static furrow_status check_counted(furrow_partition_reader *r, uint64_t done, size_t first, size_t count,
                                   furrow_error *err) {
  const uint64_t width = (uint64_t)r->part->last_col - (uint64_t)r->part->meta->start_col + 1;
  if (r->batch.col_ids || done + count <= width || width == 0) return FURROW_OK;
  return fail_outside(r, r->part->last_col + 1, record_offset(r, first + (size_t)(width - done)), err);
}

static furrow_status check_columns(furrow_partition_reader *r, furrow_error *err) {
  if (!r->batch.col_ids && flags_of(r) & FURROW_MATRIX_FORMAT_ROW_IDS)
    return FURROW_OK; /* checked row by row, once the row is known */
  if (!r->batch.col_ids) return check_counted(r, r->row_done, 0, r->batch.count, err);
  const size_t i = first_outside(r);
  if (i < r->batch.count) {
    const int64_t col = r->batch.col_ids[i];
    return fail_outside(r, col, record_offset(r, i), err);
  }
  fw_row_order_see(&r->watch, r->batch.col_ids, r->batch.count);
  return FURROW_OK;
}

/* Decodes up to `limit` records. *progress tells whether bytes were consumed, even if no record was completed. */
static furrow_status decode_batch(furrow_partition_reader *r, uint64_t limit, bool *progress, furrow_error *err) {
  const size_t batch_capacity = r->batch.capacity;
  size_t used = 0;
  r->batch_begin = r->begin;
  memcpy(r->batch_state, r->state, sizeof r->state);
  r->batch.count = 0;
  r->batch.capacity = least_of(batch_capacity, limit);
  furrow_status status = r->source->format->decode(&r->context, r->buffer + PAD + r->begin, r->end - r->begin,
                                                   r->bytes_ahead == 0, &used, &r->batch, err);
  r->batch.capacity = batch_capacity;
  if (status != FURROW_OK) {
    const uint64_t offset = err->offset != FURROW_NO_OFFSET ? err->offset : 0;
    return locate_in_data(r, file_offset(r) + offset, status, err);
  }
  r->begin += used;
  *progress = used > 0;
  return check_columns(r, err);
}

/* Decodes the next batch; FURROW_END if no bytes are left. */
static furrow_status next_batch(furrow_partition_reader *r, uint64_t limit, furrow_error *err) {
  r->batch.count = r->given = 0;
  while (r->batch.count == 0) {
    if (r->begin == r->end && r->bytes_ahead == 0) return FURROW_END;
    bool progress = false;
    furrow_status status = FURROW_OK;
    if (r->begin < r->end) status = decode_batch(r, limit, &progress, err);
    if (status == FURROW_OK && !progress && r->bytes_ahead > 0) {
      status = refill_window(r, err);
    } else if (status == FURROW_OK && !progress) {
      fw_fail(err, FURROW_E_FORMAT, "the bytes end within a record");
      status = locate_in_data(r, file_offset(r), FURROW_E_FORMAT, err);
    }
    if (status != FURROW_OK) {
      r->batch.count = 0;
      return status;
    }
  }
  return FURROW_OK;
}

/* ---- Ends ----------------------------------------------------------------------------------------------- */

static furrow_status fail_left_over(const furrow_partition_reader *r, furrow_error *err) {
  const uint64_t left = r->bytes_ahead + (r->end - r->begin);
  fw_fail(err, FURROW_E_FORMAT, "%llu %s left over after the last element that the metadata counts",
          (unsigned long long)left, fw_plural(left, "byte is", "bytes are"));
  return locate_in_data(r, file_offset(r), FURROW_E_FORMAT, err);
}

static furrow_status fail_row_count(const furrow_partition_reader *r, const furrow_matrix_row_meta *row, uint64_t found,
                                    uint64_t offset, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "row %d has %s%llu %s, but its elementNum is %d", (int)row->row_id,
          found > (uint64_t)row->element_num ? "at least " : "", (unsigned long long)found,
          fw_plural(found, "element", "elements"), (int)row->element_num);
  return locate_in_data(r, offset, FURROW_E_FORMAT, err);
}

static const furrow_matrix_row_meta *row_by_id(const furrow_partition_reader *r, size_t k) {
  return &r->part->meta->rows[r->part->by_id[k]];
}

static furrow_status end_of_bytes_with_ids(const furrow_partition_reader *r, furrow_error *err) {
  for (size_t k = 0; k < r->part->meta->row_count; k++) {
    const furrow_matrix_row_meta *row = row_by_id(r, k);
    if (row->element_num >= 0 && r->row_counts[k] != (uint64_t)row->element_num)
      return fail_row_count(r, row, r->row_counts[k], file_offset(r), err);
  }
  return FURROW_END;
}

/* ---- Panels --------------------------------------------------------------------------------------------- */

static furrow_panel panel_of(const furrow_partition_reader *r, size_t first, size_t count) {
  const size_t size = furrow_element_size(r->context.type) * r->context.record_values;
  return (furrow_panel){
      .rows = 1,
      .row_ids = &r->row_id,
      .cols = count,
      .col_ids = r->batch.col_ids ? r->batch.col_ids + first : NULL,
      .type = r->context.type,
      .values = {.any = (const char *)r->batch.values + first * size},
  };
}

/* In a column format every batch is a panel of all rows. */
static furrow_status next_columns(furrow_partition_reader *r, furrow_panel *panel, furrow_error *err) {
  const furrow_partition_meta *meta = r->part->meta;
  r->total += r->batch.count;
  r->row_done = r->context.position = r->total;
  const uint64_t left = r->part->records == FW_RECORDS_UNKNOWN ? UINT64_MAX : r->part->records - r->total;
  r->batch.count = 0;
  if (left == 0 && (r->bytes_ahead > 0 || r->begin < r->end)) return fail_left_over(r, err);
  if (left == 0) return FURROW_END;
  furrow_status status = next_batch(r, left, err);
  if (status == FURROW_END && r->part->records != FW_RECORDS_UNKNOWN) {
    fw_fail(err, FURROW_E_FORMAT, "the bytes end after %llu %s, but saveColNum is %d", (unsigned long long)r->total,
            fw_plural(r->total, "column", "columns"), (int)meta->save_col_num);
    return locate_in_data(r, file_offset(r), FURROW_E_FORMAT, err);
  }
  if (status != FURROW_OK) return status;
  *panel = panel_of(r, 0, r->batch.count);
  panel->rows = meta->row_count;
  panel->row_ids = r->part->row_ids;
  panel->first_col = meta->start_col + (int64_t)r->total;
  return FURROW_OK;
}

/* The row at a position in the order of the data. */
static const furrow_matrix_row_meta *row_in_order(const furrow_partition_reader *r, size_t at) {
  if (r->part->listed) return &r->part->meta->rows[r->part->listed[at]];
  return fw_row_order_is_meta(r->source) ? &r->part->meta->rows[at] : row_by_id(r, at);
}

static furrow_status end_of_rows(furrow_partition_reader *r, furrow_error *err) {
  uint64_t record = 0;
  if (r->bytes_ahead > 0 || r->begin < r->end) return fail_left_over(r, err);
  furrow_status status = fw_row_order_end(&r->watch, &record, err);
  return status == FURROW_OK ? FURROW_END : locate_in_data(r, (uint64_t)r->part->meta->offset, status, err);
}

/* Skips the records of a row that is not selected, if their size is fixed and the order check does not need them. */
static bool skip_row(furrow_partition_reader *r, const furrow_matrix_row_meta *row) {
  size_t least, most;
  if (!r->sel || r->watch.part || row->element_num < 0 || r->row_done > 0) return false;
  if (fw_selection_has_row(r->sel, row->row_id)) return false;
  r->context.save_type = row->save_type;
  r->source->format->record_size(&r->context, &least, &most);
  const size_t here = r->end - r->begin;
  if (least != most) return false;
  const uint64_t bytes = (uint64_t)row->element_num * least; /* cannot overflow: all records are in the file */
  r->begin += least_of(here, bytes);
  if (bytes > here) r->bytes_ahead -= bytes - here;
  r->total += (uint64_t)row->element_num;
  return true;
}

/* In a format without row ids, rows are consecutive, each with the number of records that the metadata gives. A row
 * without a number is the only row and has all records. */
static furrow_status next_of_row(furrow_partition_reader *r, furrow_panel *panel, furrow_error *err) {
  const size_t rows = r->part->meta->row_count;
  const furrow_matrix_row_meta *row = NULL;
  r->total += r->batch.count;
  r->row_done += r->batch.count;
  r->batch.count = 0;
  for (; r->row < rows; r->row++, r->row_done = 0) {
    row = row_in_order(r, r->row);
    if (skip_row(r, row)) continue;
    if (row->element_num < 0 || r->row_done < (uint64_t)row->element_num) break;
  }
  if (r->row == rows) return end_of_rows(r, err);
  r->row_id = r->context.row_id = row->row_id;
  r->context.save_type = row->save_type;
  r->context.position = r->row_done;
  furrow_status status =
      next_batch(r, row->element_num < 0 ? UINT64_MAX : (uint64_t)row->element_num - r->row_done, err);
  if (status == FURROW_END && row->element_num >= 0) return fail_row_count(r, row, r->row_done, file_offset(r), err);
  if (status != FURROW_OK) return status;
  *panel = panel_of(r, 0, r->batch.count);
  panel->first_col = r->part->meta->start_col + (int64_t)r->row_done;
  return FURROW_OK;
}

/* The number of records with the same row id from `first` on. */
static size_t run_length(const int32_t *row_ids, size_t first, size_t count) {
  size_t end = first + 1;
  while (end < count && row_ids[end] == row_ids[first]) end++;
  return end - first;
}

/* Finds the row of a run: tries the last row and its successor, then searches. */
static furrow_status find_row(furrow_partition_reader *r, int32_t row_id, furrow_error *err) {
  const size_t rows = r->part->meta->row_count;
  for (size_t k = r->at; k < rows && k < r->at + 2; k++)
    if (r->part->row_ids[k] == row_id) {
      r->at = k;
      return FURROW_OK;
    }
  const size_t k = fw_source_part_row(r->part, row_id);
  if (k == rows) {
    fw_fail(err, FURROW_E_FORMAT, "row %d is not one of the partition's rows (rowMetas)", (int)row_id);
    return locate_in_data(r, record_offset(r, r->given), FURROW_E_FORMAT, err);
  }
  r->at = k;
  return FURROW_OK;
}

/* In a format with row ids, they are checked against the metadata and counted. */
static furrow_status next_run(furrow_partition_reader *r, furrow_panel *panel, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (r->given == r->batch.count) {
    r->total += r->batch.count;
    r->context.position = r->total;
    status = next_batch(r, UINT64_MAX, err);
    if (status == FURROW_END) return end_of_bytes_with_ids(r, err);
    if (status != FURROW_OK) return status;
  }
  const int32_t *row_id = &r->batch.row_ids[r->given];
  const size_t count = run_length(r->batch.row_ids, r->given, r->batch.count);
  status = find_row(r, *row_id, err);
  if (status != FURROW_OK) return status;
  const furrow_matrix_row_meta *row = row_by_id(r, r->at);
  uint64_t *done = &r->row_counts[r->at];
  if (row->element_num >= 0 && count > (uint64_t)row->element_num - *done) {
    const size_t surplus = r->given + (size_t)((uint64_t)row->element_num - *done);
    return fail_row_count(r, row, *done + count, record_offset(r, surplus), err);
  }
  status = check_counted(r, *done, r->given, count, err);
  if (status != FURROW_OK) return status;
  *panel = panel_of(r, r->given, count);
  panel->row_ids = row_id;
  panel->first_col = r->part->meta->start_col + (int64_t)*done;
  *done += count;
  r->given += count;
  return FURROW_OK;
}

furrow_status furrow_partition_reader_next(furrow_partition_reader *reader, furrow_panel *panel, furrow_error *err) {
  furrow_panel next;
  if (reader->final == FURROW_OK) {
    if (flags_of(reader) & FURROW_MATRIX_FORMAT_BY_COLUMN)
      reader->final = next_columns(reader, &next, &reader->error);
    else if (flags_of(reader) & FURROW_MATRIX_FORMAT_ROW_IDS)
      reader->final = next_run(reader, &next, &reader->error);
    else
      reader->final = next_of_row(reader, &next, &reader->error);
  }
  if (reader->final == FURROW_OK)
    *panel = next;
  else if (reader->final != FURROW_END && err)
    *err = reader->error;
  return reader->final;
}

/* ---- Open and close ------------------------------------------------------------------------------------- */

furrow_status fw_partition_reader_create(furrow_partition_reader **reader, const furrow_matrix_source *source,
                                         furrow_error *err) {
  furrow_partition_reader *r;
  FW_TRY(FW_ALLOC_ZERO(&r, 1, err));
  r->source = source;
  r->final = FURROW_END;
  *reader = r;
  return FURROW_OK;
}

static furrow_status set_row_counts(furrow_partition_reader *r, furrow_error *err) {
  const size_t rows = r->part->meta->row_count;
  if (!(flags_of(r) & FURROW_MATRIX_FORMAT_ROW_IDS)) return FURROW_OK;
  furrow_status status = FW_GROW(&r->row_counts, &r->row_counts_capacity, rows, err);
  if (status == FURROW_OK && rows > 0) memset(r->row_counts, 0, rows * sizeof *r->row_counts);
  return status;
}

furrow_status fw_partition_reader_start(furrow_partition_reader *r, size_t part, furrow_error *err) {
  if (part >= r->source->meta->part_count)
    return fw_fail(err, FURROW_E_ARGUMENT, "partition %zu of %zu", part, r->source->meta->part_count);
  fw_input_close(r->input);
  r->input = NULL;
  r->final = FURROW_END;
  r->part = &r->source->parts[part];
  r->context = fw_source_context(r->source, r->part, r->state);
  r->begin = r->end = r->given = r->batch.count = r->row = r->at = 0;
  r->total = r->row_done = 0;
  r->sel = NULL;
  r->bytes_ahead = (uint64_t)r->part->meta->length;
  furrow_status status = set_window(r, least_of(WINDOW, r->bytes_ahead), err);
  if (status == FURROW_OK && r->bytes_ahead > 0) status = set_batch(r, err);
  if (status == FURROW_OK) status = set_row_counts(r, err);
  if (status == FURROW_OK) status = fw_row_order_begin(&r->watch, r->source, r->part, err);
  if (status == FURROW_OK && r->bytes_ahead > 0) status = fw_source_open_file(r->source, r->part, &r->input, err);
  r->final = status;
  if (status != FURROW_OK) r->error = err ? *err : (furrow_error){.status = status, .offset = FURROW_NO_OFFSET};
  return status;
}

void fw_partition_reader_select(furrow_partition_reader *r, const fw_selection *sel) {
  r->sel = sel->rows ? sel : NULL;
}

furrow_status furrow_partition_reader_open(furrow_partition_reader **reader, const furrow_matrix_source *source,
                                           size_t part, furrow_error *err) {
  furrow_partition_reader *r = NULL;
  furrow_status status = fw_partition_reader_create(&r, source, err);
  if (status == FURROW_OK) status = fw_partition_reader_start(r, part, err);
  return FW_HAND_OVER(status, reader, r, furrow_partition_reader_close);
}

void furrow_partition_reader_close(furrow_partition_reader *r) {
  if (!r) return;
  fw_input_close(r->input);
  fw_free(r->buffer);
  fw_free(r->batch.values);
  fw_free(r->batch.col_ids);
  fw_free(r->batch.row_ids);
  fw_free(r->row_counts);
  fw_row_order_clear(&r->watch);
  fw_free(r);
}
