/* model/write/matrix_writer.h: what the files that write matrices share. */
#ifndef FW_MODEL_WRITE_MATRIX_WRITER_H
#define FW_MODEL_WRITE_MATRIX_WRITER_H

#include "base/pool.h"
#include "furrow/model.h"
#include "io/atomic_dir.h"

/* A data file of the folder. */
typedef struct fw_data_file {
  const char *name;
  uint64_t size;
  size_t first; /* place of its first partition in by_file; they end where the next file's begin */
  size_t next;  /* partitions of the plan before this one cannot be written any more */
  bool there;   /* it was created */
} fw_data_file;

/* What was written, for the result of a conversion. */
typedef struct fw_write_totals {
  uint64_t elements; /* in the files */
  uint64_t taken;    /* of the matrix: elements that fell into a partition */
  uint64_t dropped;  /* elements whose column, or which themselves, are lost */
  uint64_t bytes;
} fw_write_totals;

static inline void fw_write_totals_add(fw_write_totals *sum, const fw_write_totals *more) {
  sum->elements += more->elements;
  sum->taken += more->taken;
  sum->dropped += more->dropped;
  sum->bytes += more->bytes;
}

typedef struct fw_part_stream fw_part_stream;

struct furrow_matrix_writer {
  furrow_matrix_meta *meta; /* the plan; counts and lengths are filled in as partitions are written */
  const furrow_matrix_format *format;
  const furrow_matrix_row_type *row_type;
  furrow_matrix_format_context context; /* what it is for every partition alike */
  char *separator, *meta_name;
  char *path;         /* of the folder, for messages */
  int fd;             /* the folder; -1: none */
  fw_atomic_dir *own; /* NULL: the folder of a model */
  furrow_model_writer *model;
  const char *folder; /* its name in the model; within path */
  unsigned threads;
  fw_pool *pool; /* NULL until something is done side by side */
  fw_data_file *files;
  size_t file_count;
  size_t *by_file;    /* partitions, grouped by file, ascending in each */
  size_t *file_of;    /* of each partition */
  bool *written;      /* each partition */
  int32_t hash_parts; /* 0: range partitions */
  bool any_hash;      /* columns of hash partitions are taken where they stand */
  bool committed;
  furrow_status (*poll)(void *user, size_t elements, furrow_error *err); /* as pieces are written; NULL: none */
  void *poll_user;
  fw_part_stream *stream; /* of furrow_matrix_writer_write_panel; NULL until a partition begins */
  bool streaming;         /* a partition has begun and is not finished */
  fw_write_totals totals;
  furrow_error error; /* of what failed and left a partition incomplete; commit fails alike */
};

static inline bool fw_writer_by_column(const furrow_matrix_writer *writer) {
  return writer->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
}
static inline bool fw_part_is_hash(const furrow_partition_meta *part) {
  return part->start_col == 0 && part->end_col == 0;
}
/* Columns of a range partition; an end before the start is wrong, but does no harm. */
static inline uint64_t fw_part_width(const furrow_partition_meta *part) {
  return part->end_col > part->start_col ? (uint64_t)part->end_col - (uint64_t)part->start_col : 0;
}

/* furrow_matrix_writer_open_in with a folder that is not called like the matrix. */
furrow_status fw_matrix_writer_open_as(furrow_matrix_writer **writer, furrow_model_writer *model, const char *name,
                                       const furrow_matrix_meta *plan, const furrow_matrix_write_params *params,
                                       furrow_error *err) FURROW_MUST_USE;
/* E_STATE when something was written already. */
furrow_status fw_writer_check_fresh(furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Opens the data file of a partition for writing; *offset is where the partition begins. E_STATE: it is too late. */
furrow_status fw_writer_open_part(furrow_matrix_writer *writer, size_t part, int *fd, uint64_t *offset,
                                  furrow_error *err) FURROW_MUST_USE;
/* Notes a partition that is in its file: bytes, records by row (row formats) or columns and own elements by row. counts
 * are in the order of the plan's rows. */
furrow_status fw_writer_note_part(furrow_matrix_writer *writer, size_t part, uint64_t length, uint64_t columns,
                                  const uint64_t *counts, furrow_error *err) FURROW_MUST_USE;
/* What was written of a partition, as 2 + row_count numbers: its bytes, its columns, the elements of each row. */
void fw_writer_get_part(const furrow_matrix_writer *writer, size_t part, int64_t *numbers);
/* Notes the same of a partition that another process has written to a file of its own in the same folder. */
furrow_status fw_writer_take_part(furrow_matrix_writer *writer, size_t part, const int64_t *numbers,
                                  furrow_error *err) FURROW_MUST_USE;
/* Finishes the partition that has begun and syncs the files: what a process does that does not commit. */
furrow_status fw_writer_finish_parts(furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Calls body(context, i) for each i < count on the writer's threads. */
furrow_status fw_writer_for(furrow_matrix_writer *writer, size_t count, void (*body)(void *context, size_t i),
                            void *context, furrow_error *err) FURROW_MUST_USE;
/* What a format is told about a partition; the state is the caller's. */
furrow_matrix_format_context fw_writer_context(const furrow_matrix_writer *writer, size_t part, uint64_t *state);

/* ---- whole models (model_writer.c, overwrite_check.c) ---- */

/* Whether a directory may be replaced: a model, or a matrix, and nothing else; E_EXISTS names what would be lost. */
furrow_status fw_model_check_overwrite(const char *path, furrow_error *err) FURROW_MUST_USE;
/* A writer of the directory that another process has opened for the same folder: of some files of it, all in folders
 * that the other has made. It is the other's to commit or to remove. */
furrow_status fw_model_writer_join(furrow_model_writer **writer, const char *folder, const char *temporary,
                                   furrow_error *err) FURROW_MUST_USE;
const char *fw_model_writer_temporary(const furrow_model_writer *model);
/* A folder in the model; leave it again, which removes it unless it is complete. */
furrow_status fw_model_writer_enter(furrow_model_writer *model, const char *name, int *fd,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_model_writer_leave(furrow_model_writer *model, const char *name, bool complete);
int fw_model_writer_fd(const furrow_model_writer *model);
const char *fw_model_writer_path(const furrow_model_writer *model);
/* Writes a whole file in a folder. `path` is that of the folder, for errors. */
furrow_status fw_write_file(int folder, const char *name, const void *bytes, size_t size, const char *path,
                            furrow_error *err) FURROW_MUST_USE;
/* A name that can be a file's: not "", no slash, neither . nor .. */
bool fw_is_file_name(const char *name);
/* E_ARGUMENT unless it is _meta or meta: a folder with another is a matrix to nobody. */
furrow_status fw_check_meta_name(const char *name, furrow_error *err) FURROW_MUST_USE;
/* E_IO for a file in a folder. */
furrow_status fw_fail_file(furrow_error *err, int errnum, const char *folder, const char *name, const char *what);

/* ---- one partition from panels (part_stream.c) ---- */

furrow_status fw_part_stream_create(fw_part_stream **stream, furrow_matrix_writer *writer,
                                    furrow_error *err) FURROW_MUST_USE;
furrow_status fw_part_stream_begin(fw_part_stream *stream, size_t part, furrow_error *err) FURROW_MUST_USE;
/* Streams of partitions in different files may be put to at once. */
furrow_status fw_part_stream_put(fw_part_stream *stream, const furrow_panel *panel, furrow_error *err) FURROW_MUST_USE;
/* The partition is complete: its counts go to the metadata, its totals are added to *totals. */
furrow_status fw_part_stream_finish(fw_part_stream *stream, fw_write_totals *totals, furrow_error *err) FURROW_MUST_USE;
/* The partition was not begun. */
void fw_part_stream_abandon(fw_part_stream *stream);
/* No partition is at work: none has begun, or a failure ended it. */
bool fw_part_stream_is_spoilt(const fw_part_stream *stream);
void fw_part_stream_free(fw_part_stream *stream);

/* ---- partitions from a matrix (encode_matrix.c) ---- */

/* Writes partitions first … end-1 of the plan from the matrix; adds to writer->totals. Elements of the matrix outside
 * of them are left out. */
furrow_status fw_matrix_writer_put_parts(furrow_matrix_writer *writer, const furrow_matrix *matrix, size_t first,
                                         size_t end, furrow_error *err) FURROW_MUST_USE;

/* E_RANGE for element i of an array, which does not fit the writer's type. */
furrow_status fw_writer_fail_element(const furrow_matrix_writer *writer, int32_t row, int64_t col,
                                     furrow_elements values, furrow_element_type type, size_t i, furrow_error *err);
/* E_RANGE for a column. */
furrow_status fw_writer_fail_col(const furrow_matrix_writer *writer, int32_t row, int64_t col, const char *what,
                                 furrow_error *err);

/* E_ARGUMENT where one lies in the other: a target in its source would become a part of what is read, or replace it; a
 * source in its target would vanish with what is replaced. */
furrow_status fw_check_path_overlap(const char *source, const char *target, furrow_error *err) FURROW_MUST_USE;

#endif
