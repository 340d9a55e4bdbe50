/* rows/cache.h: the row cache file, written and read record by record. Its bytes: docs/formats/row_cache.md. */
#ifndef FW_ROWS_CACHE_H
#define FW_ROWS_CACHE_H

#include "comm/collectives.h"
#include "rows/block/container.h"

#define FW_CACHE_MAGIC "FURROWRC"
#define FW_CACHE_VERSION 1
#define FW_CACHE_HEADER 128                      /* bytes */
#define FW_CACHE_RECORD_BYTES ((size_t)64 << 20) /* memory that a record is cut at */
#define FW_CACHE_UNKNOWN_SOURCE ((uint64_t)0)    /* stamp of a file that says not what it was made from */

/* What the header says. */
typedef struct fw_cache_info {
  furrow_key_type key_type;
  furrow_value_type value_type;
  unsigned columns; /* FW_COLUMN_…: those that some record has */
  uint64_t records, payload_bytes, rows, features;
  uint64_t max_index, max_field; /* 0 without features */
  uint64_t stamp;
} fw_cache_info;

typedef struct fw_cache_writer fw_cache_writer;

/* Starts a cache that will be `path`; record_bytes 0: FW_CACHE_RECORD_BYTES. */
furrow_status fw_cache_writer_open(fw_cache_writer **writer, const char *path, furrow_key_type key_type,
                                   furrow_value_type value_type, uint64_t stamp, size_t record_bytes,
                                   furrow_error *err) FURROW_MUST_USE;
/* As fw_atomic_file_keep_existing. */
void fw_cache_writer_keep_existing(fw_cache_writer *writer);
/* Appends the container as one record. It must be of the file's types and kept by push (its maxima are written). */
furrow_status fw_cache_writer_push_record(fw_cache_writer *writer, const furrow_container *container,
                                          furrow_error *err) FURROW_MUST_USE;
/* Appends rows, gathered into records that end with the row that takes them to record_bytes. What does not fit the
 * types (E_RANGE) or has a label where others have none (E_STATE) changes nothing. */
furrow_status fw_cache_writer_push_block(fw_cache_writer *writer, const furrow_rowblock *block,
                                         furrow_error *err) FURROW_MUST_USE;
/* Writes what was gathered (and one record of no rows, if there is nothing), completes the header, shows the file. */
furrow_status fw_cache_writer_commit(fw_cache_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* The types, and the sums of the records so far. */
const fw_cache_info *fw_cache_writer_info(const fw_cache_writer *writer);
/* Frees; nothing stays behind if it was not committed. Takes NULL. */
void fw_cache_writer_close(fw_cache_writer *writer);

typedef struct fw_cache_reader fw_cache_reader;

/* Opens a cache and checks its header and its size. E_FORMAT: it is not a row cache, of another version, cut short,
 * damaged. */
furrow_status fw_cache_reader_open(fw_cache_reader **reader, const char *path, furrow_error *err) FURROW_MUST_USE;
const fw_cache_info *fw_cache_reader_info(const fw_cache_reader *reader);
/* Replaces what the container (of the file's types) holds by the next record: FURROW_OK, FURROW_END, or an error with
 * file and byte offset, which leaves the container empty. The record is checked before it is given; the last one is
 * given only after the digest of them all was found right. */
furrow_status fw_cache_reader_next(fw_cache_reader *reader, furrow_container *container,
                                   furrow_error *err) FURROW_MUST_USE;
/* Back to the first record. */
void fw_cache_reader_rewind(fw_cache_reader *reader);
void fw_cache_reader_close(fw_cache_reader *reader);

/* ---- A row cache that several ranks write ---------------------------------------------------------------- */

/* The part of one rank; the caller's struct, all zeros at first. */
typedef struct fw_cache_part {
  const furrow_comm *comm; /* NULL: there is none */
  char *path;              /* of the whole */
  char *part;              /* of the rank's own cache beside it */
  bool overwrite;
  bool complete; /* the rank's own is there */
} fw_cache_part;

/* Starts the rank's own cache, a hidden file beside `path`. */
furrow_status fw_cache_part_open(fw_cache_part *part, const char *path, const furrow_rows_writer_params *params,
                                 fw_cache_writer **writer, furrow_error *err) FURROW_MUST_USE;
/* Called by all ranks: completes the rank's own cache; then the first rank writes the rows of all into one, whose
 * records end where those of one process would, except where only some rows of more than 64 MiB have weights, queries,
 * fields or values. */
furrow_status fw_cache_part_commit(fw_cache_part *part, fw_cache_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees; removes the rank's own cache. */
void fw_cache_part_clear(fw_cache_part *part);

#endif
