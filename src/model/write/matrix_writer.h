/* model/write/matrix_writer.h: declarations shared by the files that write matrices. */
#ifndef FW_MODEL_WRITE_MATRIX_WRITER_H
#define FW_MODEL_WRITE_MATRIX_WRITER_H

#include "base/pool.h"
#include "furrow/model.h"
#include "io/atomic_dir.h"

/* A data file of the folder. */
typedef struct fw_data_file {
  const char *name;
  uint64_t size;
  size_t first; /* position of its first partition in by_file; the last one precedes the next file's first */
  size_t next;  /* partitions of the plan before this one can no longer be written */
  bool there;   /* the file was created */
} fw_data_file;

/* Totals for the result of a conversion. */
typedef struct fw_write_totals {
  uint64_t elements; /* written to files */
  uint64_t taken;    /* elements of the matrix that belong to a partition */
  uint64_t dropped;  /* elements that are lost, or lose their column */
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
  furrow_matrix_format_context context; /* the part that is the same for all partitions */
  char *separator, *meta_name;
  char *path;         /* path of the folder, for messages */
  int fd;             /* descriptor of the folder; -1: none */
  fw_atomic_dir *own; /* NULL: a folder of a model */
  furrow_model_writer *model;
  const char *folder; /* its name in the model; points into path */
  unsigned threads;
  fw_pool *pool; /* NULL until it is needed */
  fw_data_file *files;
  size_t file_count;
  size_t *by_file;    /* partitions grouped by file, ascending within a file */
  size_t *file_of;    /* for each partition */
  bool *written;      /* for each partition */
  int32_t hash_parts; /* 0: range partitions */
  bool any_hash;      /* accept any column in any hash partition */
  bool committed;
  furrow_status (*poll)(void *user, size_t elements,
                        furrow_error *err); /* called while pieces are written; may be NULL */
  void *poll_user;
  fw_part_stream *stream; /* for furrow_matrix_writer_write_panel; NULL until a partition begins */
  bool streaming;         /* a partition is incomplete */
  fw_write_totals totals;
  furrow_error error; /* error of a failure that left a partition incomplete; commit fails with it */
};

static inline bool fw_writer_by_column(const furrow_matrix_writer *writer) {
  return writer->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
}
static inline bool fw_part_is_hash(const furrow_partition_meta *part) {
  return part->start_col == 0 && part->end_col == 0;
}
/* The number of columns of a range partition; 0 if its end precedes its start. */
static inline uint64_t fw_part_width(const furrow_partition_meta *part) {
  return part->end_col > part->start_col ? (uint64_t)part->end_col - (uint64_t)part->start_col : 0;
}

/* Like furrow_matrix_writer_open_in, with a folder name that differs from the matrix's name. */
furrow_status fw_matrix_writer_open_as(furrow_matrix_writer **writer, furrow_model_writer *model, const char *name,
                                       const furrow_matrix_meta *plan, const furrow_matrix_write_params *params,
                                       furrow_error *err) FURROW_MUST_USE;
/* Fails with E_STATE if something was already written. */
furrow_status fw_writer_check_fresh(furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Opens the data file of a partition for writing; *offset is the start of the partition. Fails with E_STATE if a later
 * partition of the file was already written. */
furrow_status fw_writer_open_part(furrow_matrix_writer *writer, size_t part, int *fd, uint64_t *offset,
                                  furrow_error *err) FURROW_MUST_USE;
/* Records the size and counts of a partition that was written: records by row (row formats), or columns and the
 * elements of each row. `counts` has the order of the plan's rows. */
furrow_status fw_writer_note_part(furrow_matrix_writer *writer, size_t part, uint64_t length, uint64_t columns,
                                  const uint64_t *counts, furrow_error *err) FURROW_MUST_USE;
/* Returns the recorded counts of a partition as 2 + row_count numbers: its bytes, its columns, the elements of each
 * row. */
void fw_writer_get_part(const furrow_matrix_writer *writer, size_t part, int64_t *numbers);
/* Records the same numbers of a partition that another process has written to a separate file in the same folder. */
furrow_status fw_writer_take_part(furrow_matrix_writer *writer, size_t part, const int64_t *numbers,
                                  furrow_error *err) FURROW_MUST_USE;
/* Finishes the current partition and syncs the files, in a process that does not commit. */
furrow_status fw_writer_finish_parts(furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Calls body(context, i) for each i < count on the writer's threads. */
furrow_status fw_writer_for(furrow_matrix_writer *writer, size_t count, void (*body)(void *context, size_t i),
                            void *context, furrow_error *err) FURROW_MUST_USE;
/* The context for a format about a partition; the state belongs to the caller. */
furrow_matrix_format_context fw_writer_context(const furrow_matrix_writer *writer, size_t part, uint64_t *state);

/* ---- whole models (model_writer.c, overwrite_check.c) ---- */

/* Whether a directory may be replaced: only a model or a matrix without other files. Fails with E_EXISTS and names what
 * would be lost. */
furrow_status fw_model_check_overwrite(const char *path, furrow_error *err) FURROW_MUST_USE;
/* Opens a writer for the directory that another process has opened for the same folder. It may write files in folders
 * that the other process has made; only the other process commits or removes the directory. */
furrow_status fw_model_writer_join(furrow_model_writer **writer, const char *folder, const char *temporary,
                                   furrow_error *err) FURROW_MUST_USE;
const char *fw_model_writer_temporary(const furrow_model_writer *model);
/* Opens a folder in the model. Leaving it removes the folder unless it is complete. */
furrow_status fw_model_writer_enter(furrow_model_writer *model, const char *name, int *fd,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_model_writer_leave(furrow_model_writer *model, const char *name, bool complete);
int fw_model_writer_fd(const furrow_model_writer *model);
const char *fw_model_writer_path(const furrow_model_writer *model);
/* Writes a whole file in a folder. `path` is the folder's path, for errors. */
furrow_status fw_write_file(int folder, const char *name, const void *bytes, size_t size, const char *path,
                            furrow_error *err) FURROW_MUST_USE;
/* Whether the name is valid for a file: not empty, without a slash, neither . nor .. */
bool fw_is_file_name(const char *name);
/* Fails with E_ARGUMENT unless the name is _meta or meta: no reader recognizes a matrix with another name. */
furrow_status fw_check_meta_name(const char *name, furrow_error *err) FURROW_MUST_USE;
/* Fails with E_IO for a file in a folder. */
furrow_status fw_fail_file(furrow_error *err, int errnum, const char *folder, const char *name, const char *what);

/* ---- one partition from panels (part_stream.c) ---- */

furrow_status fw_part_stream_create(fw_part_stream **stream, furrow_matrix_writer *writer,
                                    furrow_error *err) FURROW_MUST_USE;
furrow_status fw_part_stream_begin(fw_part_stream *stream, size_t part, furrow_error *err) FURROW_MUST_USE;
/* Streams of partitions in different files may be used in parallel. */
furrow_status fw_part_stream_put(fw_part_stream *stream, const furrow_panel *panel, furrow_error *err) FURROW_MUST_USE;
/* Completes the partition: records its counts in the metadata and adds to *totals. */
furrow_status fw_part_stream_finish(fw_part_stream *stream, fw_write_totals *totals, furrow_error *err) FURROW_MUST_USE;
/* Drops the partition, from which nothing was written. */
void fw_part_stream_abandon(fw_part_stream *stream);
/* Whether no partition is in progress: none has begun, or a failure ended it. */
bool fw_part_stream_is_spoilt(const fw_part_stream *stream);
void fw_part_stream_free(fw_part_stream *stream);

/* ---- partitions from a matrix (encode_matrix.c) ---- */

/* Writes partitions first … end-1 of the plan from the matrix; adds to writer->totals. Elements outside these
 * partitions are ignored. */
furrow_status fw_matrix_writer_put_parts(furrow_matrix_writer *writer, const furrow_matrix *matrix, size_t first,
                                         size_t end, furrow_error *err) FURROW_MUST_USE;

/* Fails with E_RANGE: element i of an array does not fit the writer's type. */
furrow_status fw_writer_fail_element(const furrow_matrix_writer *writer, int32_t row, int64_t col,
                                     furrow_elements values, furrow_element_type type, size_t i, furrow_error *err);
/* Fails with E_RANGE for a column. */
furrow_status fw_writer_fail_col(const furrow_matrix_writer *writer, int32_t row, int64_t col, const char *what,
                                 furrow_error *err);

/* Fails with E_ARGUMENT if one path lies in the other: a target inside its source would be read or replace what is
 * read, and a source inside its target would be deleted when the target is replaced. */
furrow_status fw_check_path_overlap(const char *source, const char *target, furrow_error *err) FURROW_MUST_USE;

#endif
