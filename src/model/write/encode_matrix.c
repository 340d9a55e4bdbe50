/* model/write/encode_matrix.c: encodes the partitions of a matrix in memory in pieces, and writes the pieces to their
 * files.
 *
 * If there are enough files, each file is written by one thread, because threads that write to the same file wait for
 * each other. Otherwise all threads share the pieces, which are made in the order of the partitions, as many at a time
 * as there are buffers. When they are all encoded, their lengths determine their offsets in the files, and the threads
 * write them in parallel, too. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/target.h"
#include "model/format/matrix_format.h"
#include "model/write/encode_part.h"

/* The size of a buffer for records of maximal length. Text records are much shorter, so only about 1/30 of it is
 * touched. */
#define PIECE_BYTES ((size_t)4 << 20)
#define PIECE_RECORDS ((size_t)64 << 10)
#define PIECES_PER_THREAD 8 /* enough to keep threads from waiting for each other */
#define PARTS_AT_ONCE 64

/* A partition that is being written. */
typedef struct open_part {
  fw_encode_part put;
  int fd; /* -1: not yet opened */
  uint64_t offset, length, lost, found;
  bool noted;
} open_part;

/* A buffer with a piece and its file offset. */
typedef struct slot {
  fw_encode_chunk piece;
  open_part *part;
  uint64_t offset;
  bool last; /* the last piece of its partition */
} slot;

typedef struct put_job {
  furrow_matrix_writer *writer;
  const furrow_matrix *matrix;
  unsigned threads;
  fw_write_totals totals;
  open_part parts[PARTS_AT_ONCE];
  size_t part_count;
  slot *slots;
  size_t slot_count, filled;
  size_t most, piece_records;
  /* start of the next piece */
  size_t at_part, at_row;
  uint64_t at_record, left;
} put_job;

static bool is_built_in(const furrow_matrix_format *format) {
  static const furrow_matrix_format *const formats[] = {
      &fw_value_binary, &fw_col_id_value_binary, &fw_row_id_col_id_value_binary, &fw_binary_column,
      &fw_value_text,   &fw_col_id_value_text,   &fw_row_id_col_id_value_text,   &fw_text_column};
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (format == formats[i]) return true;
  return false;
}

/* ---- buffers ---- */

static furrow_status make_slot(const put_job *job, slot *made, size_t rows, bool sequential, furrow_error *err) {
  const size_t scratch = rows > FW_ENCODE_SCRATCH ? rows : FW_ENCODE_SCRATCH;
  made->piece.sequential = sequential;
  FW_TRY(FW_ALLOC_ROWS(&made->piece.bytes, job->piece_records, job->most, err));
  FW_TRY(fw_alloc(&made->piece.scratch, scratch, sizeof(int64_t), err));
  return FW_ALLOC(&made->piece.col_scratch, FW_ENCODE_SCRATCH, err);
}

/* Makes buffers for at least one record of any partition. Registered formats may keep state from record to record, so
 * they get one buffer and their pieces are encoded in sequence. */
static furrow_status make_slots(put_job *job, const size_t *list, size_t count, furrow_error *err) {
  const furrow_matrix_writer *writer = job->writer;
  size_t least, most, rows = 1;
  for (size_t i = 0; i < count; i++) {
    uint64_t state[4] = {0};
    const furrow_matrix_format_context context = fw_writer_context(writer, list[i], state);
    writer->format->record_size(&context, &least, &most);
    if (most > job->most) job->most = most;
    if (context.record_values > rows) rows = context.record_values;
  }
  const bool sequential = !is_built_in(writer->format);
  job->piece_records = job->most > 0 && PIECE_BYTES / job->most ? PIECE_BYTES / job->most : 1;
  if (job->piece_records > PIECE_RECORDS) job->piece_records = PIECE_RECORDS;
  job->slot_count = sequential || job->threads == 1 ? 1 : (size_t)job->threads * PIECES_PER_THREAD;
  furrow_status status = FW_ALLOC_ZERO(&job->slots, job->slot_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < job->slot_count && status == FURROW_OK; i++)
    status = make_slot(job, &job->slots[i], rows, sequential, err);
  return status;
}

static void free_slots(put_job *job) {
  for (size_t i = 0; job->slots && i < job->slot_count; i++) {
    fw_free(job->slots[i].piece.bytes);
    fw_free(job->slots[i].piece.scratch);
    fw_free(job->slots[i].piece.col_scratch);
  }
  fw_free(job->slots);
}

/* ---- pieces ---- */

/* Calls body(job, i) for each i < count on the job's threads. */
static furrow_status for_each(put_job *job, size_t count, void (*body)(void *context, size_t i), furrow_error *err) {
  if (job->threads > 1) return fw_writer_for(job->writer, count, body, job, err);
  for (size_t i = 0; i < count; i++) body(job, i);
  return FURROW_OK;
}

static void prepare_part(void *context, size_t i) {
  put_job *job = context;
  fw_encode_part_prepare(&job->parts[i].put);
}

static void encode_slot(void *context, size_t i) {
  put_job *job = context;
  fw_encode_chunk_run(&job->slots[i].piece);
}

static void write_piece(void *context, size_t i) {
  slot *s = &((put_job *)context)->slots[i];
  fw_encode_chunk *piece = &s->piece;
  const furrow_matrix_writer *writer = piece->part->writer;
  const int errnum = fw_write_at(s->part->fd, piece->bytes, piece->length, s->offset);
  if (errnum != 0)
    piece->status = fw_fail_file(&piece->error, errnum, writer->path, writer->meta->parts[piece->part->part].file_name,
                                 "cannot write");
}

static furrow_status first_failure(const put_job *job, furrow_error *err) {
  for (size_t i = 0; i < job->filled; i++) {
    if (job->slots[i].piece.status == FURROW_OK) continue;
    if (err) *err = job->slots[i].piece.error;
    return job->slots[i].piece.status;
  }
  return FURROW_OK;
}

/* Assigns the next piece of the partition at_part, which has records left, to the slot. */
static void fill_slot(put_job *job, slot *s) {
  open_part *part = &job->parts[job->at_part];
  const uint64_t n = job->left < job->piece_records ? job->left : job->piece_records;
  s->part = part;
  s->piece.part = &part->put;
  s->piece.row = job->at_row;
  s->piece.first = job->at_record;
  s->piece.records = n;
  s->last = n == job->left;
  job->left -= n;
  job->at_record += n;
  if (fw_writer_by_column(job->writer)) return;
  while (job->left > 0 && job->at_record >= part->put.counts[job->at_row])
    job->at_record -= part->put.counts[job->at_row++];
}

/* Records the counts of a partition that is completely encoded, so that the next partition of its file can begin. */
static furrow_status record_part(put_job *job, open_part *part, furrow_error *err) {
  furrow_matrix_writer *writer = job->writer;
  const bool by_column = fw_writer_by_column(writer);
  const furrow_partition_meta *meta = &writer->meta->parts[part->put.part];
  FW_TRY(fw_writer_note_part(writer, part->put.part, part->length, by_column ? part->put.records : 0, part->put.counts,
                             err));
  part->noted = true;
  job->totals.elements += part->put.records * (by_column ? meta->row_count : 1);
  job->totals.taken += part->put.taken;
  job->totals.dropped += part->lost + (by_column ? part->put.taken - part->found : 0);
  job->totals.bytes += part->length;
  return FURROW_OK;
}

/* Opens the file of a partition, unless it is open. */
static furrow_status open_part_file(put_job *job, open_part *part, furrow_error *err) {
  return part->fd >= 0 ? FURROW_OK : fw_writer_open_part(job->writer, part->put.part, &part->fd, &part->offset, err);
}

static furrow_status place_pieces(put_job *job, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < job->filled && status == FURROW_OK; i++) {
    slot *s = &job->slots[i];
    status = open_part_file(job, s->part, err);
    s->offset = s->part->offset + s->part->length;
    s->part->length += s->piece.length;
    s->part->lost += s->piece.lost;
    s->part->found += s->piece.found;
    if (status == FURROW_OK && s->last) status = record_part(job, s->part, err);
  }
  return status;
}

/* Encodes and writes the pieces in the slots. */
static furrow_status write_slots(put_job *job, furrow_error *err) {
  furrow_status status = for_each(job, job->filled, encode_slot, err);
  if (status == FURROW_OK) status = first_failure(job, err);
  if (status == FURROW_OK) status = place_pieces(job, err);
  if (status == FURROW_OK) status = for_each(job, job->filled, write_piece, err);
  if (status == FURROW_OK) status = first_failure(job, err);
  if (status == FURROW_OK && job->writer->poll)
    status = job->writer->poll(job->writer->poll_user, job->filled * job->piece_records, err);
  job->filled = 0;
  return status;
}

/* ---- partitions ---- */

static furrow_status start_part(put_job *job, furrow_error *err) {
  open_part *part = &job->parts[job->at_part];
  job->at_row = 0;
  job->at_record = 0;
  job->left = part->put.records;
  if (part->put.records > 0) {
    while (!fw_writer_by_column(job->writer) && part->put.counts[job->at_row] == 0) job->at_row++;
    return FURROW_OK;
  }
  /* it has no pieces, but the pieces before it must get their offsets first */
  furrow_status status = job->filled ? write_slots(job, err) : FURROW_OK;
  if (status == FURROW_OK) status = open_part_file(job, part, err);
  return status == FURROW_OK ? record_part(job, part, err) : status;
}

static furrow_status put_pieces(put_job *job, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (job->at_part = 0; job->at_part < job->part_count && status == FURROW_OK; job->at_part++) {
    status = start_part(job, err);
    while (job->left > 0 && status == FURROW_OK) {
      fill_slot(job, &job->slots[job->filled++]);
      if (job->filled == job->slot_count) status = write_slots(job, err);
    }
  }
  return status == FURROW_OK && job->filled ? write_slots(job, err) : status;
}

static furrow_status prepare_parts(put_job *job, const size_t *list, furrow_error *err) {
  for (size_t i = 0; i < job->part_count; i++)
    job->parts[i] = (open_part){.put = {.writer = job->writer, .matrix = job->matrix, .part = list[i]}, .fd = -1};
  furrow_status status = for_each(job, job->part_count, prepare_part, err);
  for (size_t i = 0; i < job->part_count && status == FURROW_OK; i++) {
    status = job->parts[i].put.status;
    if (status != FURROW_OK && err) *err = job->parts[i].put.error;
  }
  return status;
}

static void clear_parts(put_job *job) {
  for (size_t i = 0; i < job->part_count; i++) {
    if (job->parts[i].fd >= 0) close(job->parts[i].fd);
    fw_encode_part_clear(&job->parts[i].put);
  }
  job->part_count = 0;
}

/* Writes the listed partitions, in ascending order; adds to *totals. */
static furrow_status put_list(furrow_matrix_writer *writer, const furrow_matrix *matrix, unsigned threads,
                              const size_t *list, size_t count, fw_write_totals *totals, furrow_error *err) {
  put_job *job;
  furrow_status status = FW_ALLOC_ZERO(&job, 1, err);
  if (status != FURROW_OK) return status;
  job->writer = writer;
  job->matrix = matrix;
  job->threads = threads;
  status = make_slots(job, list, count, err);
  for (size_t i = 0; i < count && status == FURROW_OK; i += PARTS_AT_ONCE) {
    job->part_count = count - i < PARTS_AT_ONCE ? count - i : PARTS_AT_ONCE;
    status = prepare_parts(job, list + i, err);
    if (status == FURROW_OK) status = put_pieces(job, err);
    clear_parts(job);
  }
  fw_write_totals_add(totals, &job->totals);
  free_slots(job);
  fw_free(job);
  return status;
}

/* ---- files in parallel ---- */

/* The partitions of one file. */
typedef struct file_job {
  furrow_matrix_writer *writer;
  const furrow_matrix *matrix;
  const size_t *list;
  size_t count;
  fw_write_totals totals;
  furrow_status status;
  furrow_error error;
} file_job;

static void put_file(void *context, size_t i) {
  file_job *file = &((file_job *)context)[i];
  file->status = put_list(file->writer, file->matrix, 1, file->list, file->count, &file->totals, &file->error);
}

/* Writes partitions first … end-1 to `list`, grouped by file, with a job for each group; returns the number of
 * groups. */
static size_t group_by_file(furrow_matrix_writer *writer, const furrow_matrix *matrix, size_t first, size_t end,
                            size_t *list, file_job *jobs) {
  size_t count = 0, groups = 0;
  for (size_t i = 0; i < writer->meta->part_count; i++) {
    const size_t part = writer->by_file[i];
    if (part < first || part >= end) continue;
    if (count == 0 || writer->file_of[part] != writer->file_of[list[count - 1]])
      jobs[groups++] = (file_job){.writer = writer, .matrix = matrix, .list = &list[count]};
    list[count++] = part;
    jobs[groups - 1].count++;
  }
  return groups;
}

/* Reports the failure of the first file in their order, not the first in time. */
static furrow_status put_files(furrow_matrix_writer *writer, file_job *jobs, size_t groups, furrow_error *err) {
  furrow_status status = fw_writer_for(writer, groups, put_file, jobs, err);
  for (size_t i = 0; i < groups && status == FURROW_OK; i++) {
    fw_write_totals_add(&writer->totals, &jobs[i].totals);
    status = jobs[i].status;
    if (status != FURROW_OK && err) *err = jobs[i].error;
  }
  return status;
}

furrow_status fw_matrix_writer_put_parts(furrow_matrix_writer *writer, const furrow_matrix *matrix, size_t first,
                                         size_t end, furrow_error *err) {
  size_t *list = NULL;
  file_job *jobs = NULL;
  furrow_status status = FW_ALLOC(&list, end - first, err);
  if (status == FURROW_OK) status = FW_ALLOC(&jobs, end - first, err);
  if (status == FURROW_OK) {
    const size_t groups = group_by_file(writer, matrix, first, end, list, jobs);
    if (groups >= writer->threads) {
      status = put_files(writer, jobs, groups, err);
    } else {
      for (size_t i = first; i < end; i++) ((size_t *)list)[i - first] = i;
      status = put_list(writer, matrix, writer->threads, list, end - first, &writer->totals, err);
    }
  }
  fw_free(jobs);
  fw_free(list);
  return status;
}

/* ---- the whole matrix ---- */

/* Whether the partition has the row. */
static bool has_row(const furrow_partition_meta *part, int32_t row) {
  for (size_t r = 0; r < part->row_count; r++)
    if (part->rows[r].row_id == row) return true;
  return false;
}

static bool has_col(const furrow_matrix_writer *writer, const furrow_partition_meta *part, int64_t col) {
  if (fw_part_is_hash(part)) return furrow_matrix_hash_partition(col, writer->hash_parts) == part->part_id;
  return col >= part->start_col && col < part->end_col;
}

static bool has_place(const furrow_matrix_writer *writer, int32_t row, int64_t col) {
  for (size_t i = 0; i < writer->meta->part_count; i++)
    if (has_col(writer, &writer->meta->parts[i], col) && has_row(&writer->meta->parts[i], row)) return true;
  return false;
}

/* Fails and names the first element of the matrix that is in no partition. */
static furrow_status fail_outside(const furrow_matrix_writer *writer, const furrow_matrix *matrix, furrow_error *err) {
  const int32_t *rows = furrow_matrix_row_ids(matrix);
  for (size_t r = 0; r < furrow_matrix_row_count(matrix); r++) {
    furrow_matrix_row_view view;
    if (!furrow_matrix_row(matrix, rows[r], &view)) continue;
    for (size_t i = 0; i < view.count; i++)
      if (!has_place(writer, rows[r], furrow_matrix_row_view_col(&view, i)))
        return fw_writer_fail_col(writer, rows[r], furrow_matrix_row_view_col(&view, i),
                                  "not in any partition of the plan", err);
  }
  return fw_fail(err, FURROW_E_ARGUMENT, "partitions of the plan overlap");
}

furrow_status furrow_matrix_writer_write_matrix(furrow_matrix_writer *writer, const furrow_matrix *matrix,
                                                furrow_error *err) {
  furrow_status status = fw_writer_check_fresh(writer, err);
  if (status != FURROW_OK) return status;
  status = fw_matrix_writer_put_parts(writer, matrix, 0, writer->meta->part_count, &writer->error);
  if (status == FURROW_OK && writer->totals.taken != furrow_matrix_count(matrix))
    status = fail_outside(writer, matrix, &writer->error);
  if (status != FURROW_OK && err) *err = writer->error;
  return status;
}

furrow_status furrow_matrix_save(const furrow_matrix *matrix, const char *folder, const furrow_matrix_meta *plan,
                                 const furrow_matrix_write_params *params, furrow_error *err) {
  furrow_matrix_writer *writer;
  furrow_status status = furrow_matrix_writer_open(&writer, folder, plan, params, err);
  if (status != FURROW_OK) return status;
  status = furrow_matrix_writer_write_matrix(writer, matrix, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_commit(writer, err);
  furrow_matrix_writer_close(writer);
  return status;
}
