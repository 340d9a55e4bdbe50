/* rows/cache.h: the row cache file, written and read record by record. docs/formats/row_cache.md has its layout. */
#ifndef FW_ROWS_CACHE_H
#define FW_ROWS_CACHE_H

#include "comm/collectives.h"
#include "io/atomic_file.h"
#include "rows/block/container.h"

#define FW_CACHE_MAGIC "FURROWRC"
#define FW_CACHE_VERSION 1
#define FW_CACHE_HEADER 128                      /* bytes of the header */
#define FW_CACHE_RECORD_BYTES ((size_t)64 << 20) /* memory at which a record ends */
#define FW_CACHE_UNKNOWN_SOURCE ((uint64_t)0)    /* stamp of a file whose source is unknown */

/* The contents of the header. */
typedef struct fw_cache_info {
  furrow_key_type key_type;
  furrow_value_type value_type;
  unsigned columns; /* FW_COLUMN_…: the columns that any record has */
  uint64_t records, payload_bytes, rows, features;
  uint64_t max_index, max_field; /* 0 without features */
  uint64_t stamp;
} fw_cache_info;

typedef struct fw_cache_writer fw_cache_writer;

/* Starts a cache that will become `path`; record_bytes 0: FW_CACHE_RECORD_BYTES. */
furrow_status fw_cache_writer_open(fw_cache_writer **writer, const char *path, furrow_key_type key_type,
                                   furrow_value_type value_type, uint64_t stamp, size_t record_bytes,
                                   furrow_error *err) FURROW_MUST_USE;
/* See fw_atomic_file_keep_existing. */
void fw_cache_writer_keep_existing(fw_cache_writer *writer);
/* Appends the container as one record. It must have the file's types and have been filled by push, because its
 * maxima are written. */
furrow_status fw_cache_writer_push_record(fw_cache_writer *writer, const furrow_container *container,
                                          furrow_error *err) FURROW_MUST_USE;
/* Appends rows and gathers them into records; a record ends with the row that reaches record_bytes. Rows that do not
 * fit the types (E_RANGE), or have a label where others have none (E_STATE), change nothing. */
furrow_status fw_cache_writer_push_block(fw_cache_writer *writer, const furrow_rowblock *block,
                                         furrow_error *err) FURROW_MUST_USE;
/* Writes the gathered rows (or one record without rows, if there are none) and completes the header; the caller commits
 * the file. */
furrow_status fw_cache_writer_complete(fw_cache_writer *writer, fw_atomic_file **file,
                                       furrow_error *err) FURROW_MUST_USE;
/* Completes the file and commits it. */
furrow_status fw_cache_writer_commit(fw_cache_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* The types, and the sums of the records so far. */
const fw_cache_info *fw_cache_writer_info(const fw_cache_writer *writer);
/* Frees, and removes the file if it was not committed. Accepts NULL. */
void fw_cache_writer_close(fw_cache_writer *writer);

typedef struct fw_cache_reader fw_cache_reader;

/* Opens a cache and checks its header and its size. E_FORMAT: not a row cache, another version, truncated, or
 * damaged. */
furrow_status fw_cache_reader_open(fw_cache_reader **reader, const char *path, furrow_error *err) FURROW_MUST_USE;
const fw_cache_info *fw_cache_reader_info(const fw_cache_reader *reader);
/* Replaces the contents of the container (of the file's types) by the next record: FURROW_OK, FURROW_END, or an
 * error with file and byte offset, which leaves the container empty. Each record is checked before it is returned;
 * the last one is returned only after the digest of all records was verified. */
furrow_status fw_cache_reader_next(fw_cache_reader *reader, furrow_container *container,
                                   furrow_error *err) FURROW_MUST_USE;
/* Returns to the first record. */
void fw_cache_reader_rewind(fw_cache_reader *reader);
void fw_cache_reader_close(fw_cache_reader *reader);

/* ---- A row cache written by several ranks ---------------------------------------------------------------- */

/* The part of one rank. The caller's struct, all zeros at first. */
typedef struct fw_cache_part {
  const furrow_comm *comm; /* NULL: not used */
  char *path;              /* path of the joined cache */
  char *part;              /* path of this rank's own cache, in the same directory */
  bool overwrite;
  bool complete;          /* the rank's own cache is complete */
  fw_cache_writer *whole; /* on the first rank: the joined cache */
} fw_cache_part;

/* Starts the rank's own cache, a hidden file in the directory of `path`. */
furrow_status fw_cache_part_open(fw_cache_part *part, const char *path, const furrow_rows_writer_params *params,
                                 fw_cache_writer **writer, furrow_error *err) FURROW_MUST_USE;
/* All ranks call it. Completes the rank's own cache; then the first rank joins the rows of all ranks into one cache,
 * *file, and commits it; for other ranks *file is not set.
 * Its records end where the records of a single process would, except where only some rows of more than 64 MiB have
 * weights, queries, fields or values. */
furrow_status fw_cache_part_complete(fw_cache_part *part, fw_cache_writer *writer, fw_atomic_file **file,
                                     furrow_error *err) FURROW_MUST_USE;
/* Frees, and removes the rank's own cache. */
void fw_cache_part_clear(fw_cache_part *part);

#endif
