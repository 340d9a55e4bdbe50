/* model/jobs/convert_write.c: writes the elements of a matrix to the partitions of another.
 *
 * If partitions and the order of elements stay the same, panels are streamed from the reader to the writer: one thread
 * per file, partitions of any size, no memory except buffers. Otherwise (other partitions, rows to columns, unsorted
 * elements) batches of result partitions are loaded, each as large as memory allows. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "model/jobs/convert.h"
#include "model/read/load.h"
#include "model/read/source.h"

/* The batch size if larger batches are not faster. Progress is reported between batches. */
#define BATCH_BYTES ((size_t)256 << 20)
/* Memory for a thread's buffers. */
#define THREAD_BYTES ((size_t)4 << 20)
/* The caller is polled for cancellation every 2^POLL_BITS elements. */
#define POLL_BITS 16

typedef struct transfer {
  fw_convert *convert;
  const furrow_matrix_source *source;
  const fw_convert_plan *plan;
  furrow_matrix_writer *writer;
  size_t *source_part;        /* same grid: index of the source partition for each partition of the plan */
  bool *done;                 /* for each partition of the plan: whether it is written */
  size_t budget;              /* memory for elements, in bytes */
  int64_t first_col, end_col; /* over all range partitions of the plan */
  atomic_ullong polled;       /* elements processed, to poll now and then */
  atomic_bool failed;
  furrow_status status; /* guarded by convert->lock, like error */
  furrow_error error;
} transfer;

static bool by_column(const furrow_matrix_format *format) {
  return format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
}

/* Lets the caller cancel during the work on a long partition. */
static furrow_status poll_caller(void *user, size_t elements, furrow_error *err) {
  transfer *t = user;
  const unsigned long long before = atomic_fetch_add(&t->polled, elements);
  if (before >> POLL_BITS == (before + elements) >> POLL_BITS) return FURROW_OK;
  return fw_convert_progress(t->convert, 0, err);
}

/* ---- streaming from reader to writer ---- */

/* The first failure is reported. */
static void note_failure(transfer *t, furrow_status status, const furrow_error *error) {
  pthread_mutex_lock(&t->convert->lock);
  if (t->status == FURROW_OK) {
    t->status = status;
    t->error = *error;
  }
  pthread_mutex_unlock(&t->convert->lock);
  atomic_store(&t->failed, true);
}

/* Whether panels can be streamed: same orientation, all rows of a column format, no missing zeros. */
static bool can_stream(const transfer *t) {
  const fw_convert_plan *plan = t->plan;
  const furrow_matrix_format *old = furrow_matrix_source_format(t->source);
  if (!plan->same_grid || fw_selection_narrows(&plan->selection) || by_column(old) != by_column(plan->format))
    return false;
  if (plan->row_type->dense && !furrow_matrix_source_row_type(t->source)->dense) return false;
  for (size_t i = 0; by_column(old) && i < plan->meta->part_count; i++)
    if (plan->meta->parts[i].row_count != furrow_matrix_source_meta(t->source)->parts[t->source_part[i]].row_count)
      return false;
  /* a single file would keep one thread busy; loading uses all threads */
  return t->writer->file_count > 1 || t->writer->threads == 1 ||
         furrow_matrix_load_size(t->source, &plan->selection) > t->budget;
}

/* The last element seen, to check the order. */
typedef struct order {
  bool any;
  int32_t row;
  int64_t col;
} order;

static bool ascends(const furrow_panel *panel, order *seen) {
  if (panel->cols == 0) return true;
  const int64_t first = furrow_panel_col(panel, 0);
  const int32_t row = panel->row_ids[0];
  if (seen->any && (row < seen->row || (row == seen->row && first <= seen->col))) return false;
  bool good = true;
  for (size_t c = 1; panel->col_ids && c < panel->cols; c++) good &= panel->col_ids[c - 1] < panel->col_ids[c];
  *seen = (order){true, row, furrow_panel_col(panel, panel->cols - 1)};
  return good;
}

static bool keeps_row(const furrow_partition_meta *part, int32_t row) {
  /* the rows of a plan ascend */
  const size_t low =
      part->row_count ? fw_lower_bound_i32(&part->rows->row_id, part->row_count, sizeof *part->rows, row) : 0;
  return low < part->row_count && part->rows[low].row_id == row;
}

/* Streams one partition. If *sorted becomes false, its elements are unsorted and nothing was written. */
static furrow_status stream_part(transfer *t, furrow_partition_reader *reader, fw_part_stream *stream, size_t part,
                                 bool *sorted, furrow_error *err) {
  const furrow_partition_meta *meta = &t->plan->meta->parts[part];
  const uint64_t length = (uint64_t)furrow_matrix_source_meta(t->source)->parts[t->source_part[part]].length;
  order seen = {0};
  furrow_panel panel;
  uint64_t reported = 0;
  furrow_status status = fw_partition_reader_start(reader, t->source_part[part], err);
  if (status == FURROW_OK) status = fw_part_stream_begin(stream, part, err);
  *sorted = true;
  while (status == FURROW_OK && (status = furrow_partition_reader_next(reader, &panel, err)) == FURROW_OK) {
    *sorted = ascends(&panel, &seen);
    if (!*sorted) break;
    if (panel.rows > 1 || by_column(t->plan->format) || keeps_row(meta, panel.row_ids[0]))
      status = fw_part_stream_put(stream, &panel, err);
    if (status == FURROW_OK) status = fw_convert_progress(t->convert, reported == 0 ? length : 0, err);
    reported = 1;
  }
  if (status == FURROW_OK && !*sorted) fw_part_stream_abandon(stream);
  return status == FURROW_END ? FURROW_OK : status;
}

/* Between column formats, keeps the element counts of the source: zeros that were only written because a row had no
 * element in a column are not counted by Angel. */
static void keep_counts(transfer *t, size_t part) {
  if (!t->plan->same_grid || !by_column(t->plan->format) || !by_column(furrow_matrix_source_format(t->source))) return;
  const fw_source_part *old = &t->source->parts[t->source_part[part]];
  furrow_partition_meta *now = &t->writer->meta->parts[part];
  if (now->save_col_num != old->meta->save_col_num) return;
  for (size_t r = 0; r < now->row_count; r++) {
    const size_t place = fw_source_part_row(old, now->rows[r].row_id);
    if (place < old->meta->row_count && old->meta->rows[old->by_id[place]].element_num >= 0)
      now->rows[r].element_num = old->meta->rows[old->by_id[place]].element_num;
  }
}

static furrow_status stream_file(transfer *t, size_t file, furrow_partition_reader *reader, fw_part_stream *stream,
                                 fw_write_totals *totals, furrow_error *err) {
  const furrow_matrix_writer *writer = t->writer;
  const size_t end = file + 1 < writer->file_count ? writer->files[file + 1].first : writer->meta->part_count;
  furrow_status status = FURROW_OK;
  for (size_t i = writer->files[file].first; i < end && status == FURROW_OK; i++) {
    bool sorted;
    if (atomic_load(&t->failed)) return FURROW_OK;
    status = stream_part(t, reader, stream, writer->by_file[i], &sorted, err);
    if (status == FURROW_OK && !sorted) return FURROW_OK; /* this and the following partitions are loaded later */
    if (status == FURROW_OK) status = fw_part_stream_finish(stream, totals, err);
    if (status != FURROW_OK) return status;
    keep_counts(t, writer->by_file[i]);
    t->done[writer->by_file[i]] = true;
  }
  return status;
}

static void stream_file_job(void *context, size_t file) {
  transfer *t = context;
  furrow_partition_reader *reader = NULL;
  fw_part_stream *stream = NULL;
  fw_write_totals totals = {0};
  furrow_error error;
  if (atomic_load(&t->failed)) return;
  furrow_status status = fw_partition_reader_create(&reader, t->source, &error);
  if (status == FURROW_OK) status = fw_part_stream_create(&stream, t->writer, &error);
  if (status == FURROW_OK) status = stream_file(t, file, reader, stream, &totals, &error);
  fw_part_stream_free(stream);
  furrow_partition_reader_close(reader);
  if (status != FURROW_OK) note_failure(t, status, &error);
  pthread_mutex_lock(&t->convert->lock);
  fw_write_totals_add(&t->writer->totals, &totals);
  pthread_mutex_unlock(&t->convert->lock);
}

static furrow_status stream_all(transfer *t, furrow_error *err) {
  FW_TRY(fw_writer_for(t->writer, t->writer->file_count, stream_file_job, t, err));
  if (t->status != FURROW_OK && err) *err = t->error;
  return t->status;
}

/* ---- loading batches ---- */

/* A batch of partitions first … end-1 of the plan, and the selection of the source to load for it. */
typedef struct batch {
  size_t first, end;
  furrow_matrix_selection selection;
  int32_t *part_ids; /* capacity: all partitions of the source */
} batch;

typedef struct hash_range {
  int32_t first, end, parts;
} hash_range;

static bool keep_hash(const void *context, int64_t col) {
  const hash_range *range = context;
  const int32_t part = furrow_matrix_hash_partition(col, range->parts);
  return part >= range->first && part < range->end;
}

static bool keep_all(const void *context, int64_t col) {
  (void)context;
  (void)col;
  return true;
}

static bool is_hash_plan(const transfer *t) {
  return t->plan->meta->part_count > 0 && fw_part_is_hash(&t->plan->meta->parts[0]);
}

/* Restricts the selection to the selected rows in first … end-1. */
static void select_rows(const fw_convert_plan *plan, int32_t first, int32_t end, furrow_matrix_selection *selection) {
  size_t low = 0, high = plan->row_count;
  while (low < high && plan->rows[low] < first) low++;
  while (high > low && plan->rows[high - 1] >= end) high--;
  selection->rows = plan->rows + low;
  selection->row_count = high - low;
}

/* Selects the same partitions of the source, or the bounding rectangle of the plan's partitions. */
static void select_batch(const transfer *t, batch *b) {
  const furrow_partition_meta *parts = t->plan->meta->parts;
  b->selection = t->plan->selection;
  if (t->plan->same_grid) {
    for (size_t i = b->first; i < b->end; i++) b->part_ids[i - b->first] = parts[i].part_id;
    b->selection.part_ids = b->part_ids;
    b->selection.part_count = b->end - b->first;
  } else if (!is_hash_plan(t)) {
    int64_t first = INT64_MAX, end = INT64_MIN;
    int32_t first_row = INT32_MAX, end_row = INT32_MIN;
    for (size_t i = b->first; i < b->end; i++) {
      if (parts[i].start_col < first) first = parts[i].start_col;
      if (parts[i].end_col > end) end = parts[i].end_col;
      if (parts[i].start_row < first_row) first_row = parts[i].start_row;
      if (parts[i].end_row > end_row) end_row = parts[i].end_row;
    }
    if (first > b->selection.first_col) b->selection.first_col = first;
    if (end < b->selection.end_col) b->selection.end_col = end;
    select_rows(t->plan, first_row, end_row, &b->selection);
  }
}

static size_t batch_size(const transfer *t, batch *b, size_t end) {
  b->end = end;
  select_batch(t, b);
  return furrow_matrix_load_size(t->source, &b->selection);
}

/* Finds the end of the longest batch from b->first that fits, by doubling and then halving the step; at least one
 * partition. */
static size_t longest_batch(const transfer *t, batch *b, size_t bytes, size_t limit) {
  size_t good = b->first + 1, step = 1;
  while (good < limit) {
    const size_t next = limit - good < step ? limit : good + step;
    if (batch_size(t, b, next) > bytes) break;
    good = next;
    step *= 2;
  }
  for (; step > 0; step /= 2)
    if (limit - good >= step && batch_size(t, b, good + step) <= bytes) good += step;
  return good;
}

/* Estimates the end of a batch that fits, assuming evenly spread elements, if the metadata does not contain the
 * counts. */
static size_t likely_end(const transfer *t, const batch *b, size_t limit) {
  const size_t all = furrow_matrix_load_size(t->source, &t->plan->selection), parts = t->plan->meta->part_count;
  const size_t each = all / parts + 1, count = t->budget / each;
  if (count <= 1) return b->first + 1;
  return limit - b->first < count ? limit : b->first + count;
}

static furrow_status fail_memory(const transfer *t, const batch *b, size_t bytes, furrow_error *err) {
  fw_fail(err, FURROW_E_MEMORY, "partition %d of the result takes up to %zu bytes in memory, and %zu are allowed",
          (int)t->plan->meta->parts[b->first].part_id, bytes, t->convert->params->memory);
  fw_error_set_file(err, furrow_matrix_source_folder(t->source));
  fw_error_set_hint(err, "allow more memory, or make partitions smaller");
  return FURROW_E_MEMORY;
}

/* Loads the batch. If it does not fit in memory, retries with half as many partitions. */
static furrow_status load_batch(transfer *t, batch *b, size_t limit, furrow_matrix **matrix, furrow_error *err) {
  const bool hash = is_hash_plan(t) && !t->plan->same_grid;
  const fw_load_poll asking = {poll_caller, t};
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.threads = t->convert->threads;
  const size_t alone = batch_size(t, b, b->first + 1);
  if (!hash && alone <= t->budget) {
    const size_t bytes = t->plan->same_grid && t->budget > BATCH_BYTES ? BATCH_BYTES : t->budget;
    batch_size(t, b, longest_batch(t, b, bytes, limit));
    params.selection = &b->selection;
    return fw_matrix_load_filtered(matrix, t->source, &params, NULL, &asking, err);
  }
  if (t->plan->same_grid) return fail_memory(t, b, alone, err);
  furrow_status status = FURROW_E_MEMORY;
  params.memory = t->budget;
  b->end = likely_end(t, b, limit);
  for (;;) {
    select_batch(t, b);
    params.selection = &b->selection;
    const hash_range range = {.first = t->plan->meta->parts[b->first].part_id,
                              .end = t->plan->meta->parts[b->end - 1].part_id + 1,
                              .parts = t->writer->hash_parts};
    const fw_column_filter filter = {hash ? keep_hash : keep_all, &range};
    status = fw_matrix_load_filtered(matrix, t->source, &params, &filter, &asking, err);
    if (status != FURROW_E_MEMORY || b->end == b->first + 1) break;
    b->end = b->first + (b->end - b->first) / 2;
  }
  return status == FURROW_E_MEMORY ? fail_memory(t, b, alone, err) : status;
}

/* The share of the source's bytes that the batch represents, for progress. */
static uint64_t batch_bytes(const transfer *t, const batch *b) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(t->source);
  uint64_t bytes = 0;
  if (t->plan->same_grid) {
    for (size_t i = b->first; i < b->end; i++) bytes += (uint64_t)meta->parts[t->source_part[i]].length;
    return bytes;
  }
  for (size_t i = 0; i < meta->part_count; i++) bytes += (uint64_t)meta->parts[i].length;
  const size_t parts = t->plan->meta->part_count;
  return bytes / parts * (b->end - b->first) + (b->end == parts ? bytes % parts : 0);
}

static furrow_status load_rest(transfer *t, furrow_error *err) {
  const size_t count = t->plan->meta->part_count;
  batch b = {0};
  furrow_status status = FW_ALLOC(&b.part_ids, count, err);
  if (status != FURROW_OK) return status;
  while (b.first < count && status == FURROW_OK) {
    size_t limit = b.first;
    if (t->done[b.first]) {
      b.first++;
      continue;
    }
    while (limit < count && !t->done[limit] && (!t->writer->any_hash || limit == b.first)) limit++;
    furrow_matrix *matrix = NULL;
    status = load_batch(t, &b, limit, &matrix, err);
    if (status == FURROW_OK) status = fw_matrix_writer_put_parts(t->writer, matrix, b.first, b.end, err);
    furrow_matrix_free(matrix);
    for (size_t i = b.first; i < b.end && status == FURROW_OK; i++) keep_counts(t, i);
    if (status == FURROW_OK) status = fw_convert_progress(t->convert, batch_bytes(t, &b), err);
    b.first = b.end;
  }
  fw_free(b.part_ids);
  return status;
}

/* ---- completeness ---- */

static furrow_status refuse_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  transfer *t = user;
  size_t c = 0;
  (void)part;
  while (c < panel->cols && furrow_panel_col(panel, c) >= t->first_col && furrow_panel_col(panel, c) < t->end_col) c++;
  if (panel->rows == 0 || c == panel->cols) return poll_caller(t, panel->rows * panel->cols, err);
  fw_writer_fail_col(t->writer, panel->row_ids[0], furrow_panel_col(panel, c),
                     "outside of the index range, so no range partition has it", err);
  fw_error_set_hint(err, "choose the columns within the range, or keep hash partitions");
  return FURROW_E_RANGE;
}

/* A hash partition may hold any column, but a range partition only columns of the index range: fails if an element lies
 * outside. */
static furrow_status check_outside(transfer *t, furrow_error *err) {
  const furrow_matrix_meta *old = furrow_matrix_source_meta(t->source), *now = t->plan->meta;
  const furrow_matrix_selection *selection = &t->plan->selection;
  if (t->plan->same_grid || is_hash_plan(t) || old->part_count == 0 || !fw_part_is_hash(&old->parts[0]))
    return FURROW_OK;
  t->first_col = INT64_MAX;
  t->end_col = INT64_MIN;
  for (size_t i = 0; i < now->part_count; i++) {
    if (now->parts[i].start_col < t->first_col) t->first_col = now->parts[i].start_col;
    if (now->parts[i].end_col > t->end_col) t->end_col = now->parts[i].end_col;
  }
  if (selection->first_col >= t->first_col && selection->end_col <= t->end_col) return FURROW_OK;
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  params.selection = selection;
  params.threads = t->convert->threads;
  return furrow_matrix_for_each_panel(t->source, &params, refuse_panel, t, err);
}

/* ---- the whole conversion ---- */

static furrow_status match_parts(transfer *t, furrow_error *err) {
  const furrow_matrix_meta *old = furrow_matrix_source_meta(t->source), *now = t->plan->meta;
  furrow_status status = FW_ALLOC_ZERO(&t->done, now->part_count, err);
  if (status != FURROW_OK) return status;
  status = FW_ALLOC_ZERO(&t->source_part, now->part_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0, k = 0; t->plan->same_grid && i < now->part_count; i++) {
    while (k < old->part_count && old->parts[k].part_id != now->parts[i].part_id) k++;
    t->source_part[i] = k;
  }
  return FURROW_OK;
}

furrow_status fw_convert_write(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                               furrow_matrix_writer *writer, furrow_error *err) {
  transfer t = {.convert = convert, .source = source, .plan = plan, .writer = writer};
  const size_t memory = convert->params->memory;
  const size_t buffers = (size_t)writer->threads * THREAD_BYTES;
  t.budget = memory > 2 * buffers ? memory - buffers : memory;
  writer->any_hash = plan->same_grid && is_hash_plan(&t);
  writer->poll = poll_caller;
  writer->poll_user = &t;
  furrow_status status = match_parts(&t, err);
  if (status == FURROW_OK) status = check_outside(&t, err);
  if (status == FURROW_OK && can_stream(&t)) status = stream_all(&t, err);
  if (status == FURROW_OK) status = load_rest(&t, err);
  convert->result.elements += writer->totals.elements;
  convert->result.dropped += writer->totals.dropped;
  convert->result.bytes += writer->totals.bytes;
  writer->poll = NULL; /* the writer outlives the transfer */
  fw_free(t.done);
  fw_free(t.source_part);
  return status;
}
