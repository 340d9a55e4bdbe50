/* serve/indexes/change_log.h: the changes of an index since its file was written: an append-only file next to it,
 * PATH.log (docs/formats/index_log.md).
 *
 * Each record has its length and checksums. A record states the result of a change ("id 7 has this vector", "id 8 is
 * gone"), so replaying a log twice, or over an index that already has its changes, gives the same state: a checkpoint
 * may be interrupted at any point.
 *
 * A checkpoint begins a second log, PATH.log.next: new changes go there while the index file is written with the
 * changes of the first log; then one rename replaces the first log by the second. After a crash there is the first log
 * alone, or both; they are replayed in that order, and the records of the second are then appended to the first.
 *
 * Threads: all functions but open and close may be called at once. A record that is appended while another thread is in
 * change_log_sync may be on the disk when that returns, or not; one that was appended before is. So several requests
 * can share a sync.
 */
#ifndef SERVE_INDEXES_CHANGE_LOG_H
#define SERVE_INDEXES_CHANGE_LOG_H

#include "base/buffer.h"
#include "furrow/status.h"

typedef enum change_kind { CHANGE_SET = 1, CHANGE_REMOVE = 2 } change_kind;

/* One record: vectors that ids have from now on, or ids that are gone. If an id occurs twice, the last one counts. */
typedef struct index_change {
  change_kind kind;
  size_t n;                      /* at least 1 */
  const int64_t *ids;            /* none is negative */
  const float *vectors;          /* SET: n * d */
  const char *const *names;      /* SET: n, each ended by a 0; NULL: none */
  const char *const *attributes; /* SET: n rows (attribute_texts.h), each ended by a 0, "": no values; NULL: the ids
                                    keep the values that the index file has */
} index_change;

/* Vectors that are added without ids get smaller ids; larger ones are left to the clients, and do not count for the
 * next id (furrow_index_next_id). */
static const uint64_t LOG_IDS_END = (uint64_t)1 << 62;

/* Takes a record when a log is read. Its arrays are valid during the call. */
typedef furrow_status (*change_replay)(void *user, const index_change *change, furrow_error *err);

typedef struct change_log change_log;

/* Opens the log of an index file for d-dimensional vectors, or makes an empty one, and locks it: one process at a time.
 * Calls replay for each record, in order. Bytes at the end that are not a complete record are cut off, and *cut is
 * their number: after a crash they belong to changes that were not acknowledged; damage to the last records looks the
 * same. Damage before complete records is E_FORMAT with the byte: nothing is guessed.
 * Errors: E_STATE, another process has it (the message has its number); E_FORMAT; E_IO; what replay returned.
 * Owner:  the caller closes *log with change_log_close. */
furrow_status change_log_open(change_log **log, const char *index_path, uint32_t d, change_replay replay, void *user,
                              uint64_t *cut, furrow_error *err);
/* Appends a record; it is on the disk after change_log_sync.
 * Errors: E_ARGUMENT, a negative id, a vector that is not finite, or a name that is not one: nothing is appended;
 *         E_MEMORY, likewise; E_IO, an earlier write failed: the log takes nothing more until it is repaired. */
furrow_status change_log_append(change_log *log, const index_change *change, furrow_error *err);
/* Writes the appended records and waits for the disk.
 * Errors: E_IO, also where the file was removed or replaced. Whether the records since the last sync are on the disk is
 * unknown then, and the log takes nothing more until it is repaired. */
furrow_status change_log_sync(change_log *log, furrow_error *err);
/* Whether a write failed, so that the log takes nothing more. */
bool change_log_has_failed(const change_log *log);
/* Tries to go on after a write that failed: cuts the files back to the records that were synced, and looks whether the
 * disk has space for as many bytes as could not be written. Records that were appended and not synced are forgotten.
 * Does nothing to a log that has not failed.
 * Errors: E_IO: may be tried again. */
furrow_status change_log_repair(change_log *log, furrow_error *err);
/* Whether a checkpoint has begun and not ended. */
bool change_log_has_begun(const change_log *log);
/* Begins a checkpoint: syncs, and what is appended from now on goes to the second log.
 * Errors: E_STATE, one has begun already; E_IO: where only the second log could not be made, the first goes on. */
furrow_status change_log_begin_checkpoint(change_log *log, furrow_error *err);
/* Ends a checkpoint, once the index file with all changes of the first log is synced and renamed: the second log
 * becomes the first.
 * Errors: E_STATE, none has begun; E_IO: a rename that failed may be tried again. */
furrow_status change_log_end_checkpoint(change_log *log, furrow_error *err);
/* Cancels a checkpoint whose index file could not be written: the records of the second log are appended to the first,
 * and the second is removed.
 * Errors: E_STATE, none has begun; E_MEMORY: may be tried again; otherwise as change_log_sync, and the checkpoint may
 * be over nevertheless. */
furrow_status change_log_cancel_checkpoint(change_log *log, furrow_error *err);
/* Returns one more than the largest id below LOG_IDS_END that this log or an earlier one has had, also of removed
 * vectors; 0: there was none. */
uint64_t change_log_next_id(const change_log *log);
/* Bytes of both logs. */
uint64_t change_log_size(const change_log *log);
/* Takes NULL. What was appended and not synced is lost. */
void change_log_close(change_log *log);

/* What the bytes of a log contain. */
typedef struct log_extent {
  uint64_t used;     /* offset of the end of the last complete record; 0: not even the header is complete */
  uint64_t sequence; /* number of the log: each checkpoint begins the next */
  uint64_t previous; /* size of the log before it when this one was begun */
  uint64_t next_id;  /* change_log_next_id when it was begun */
} log_extent;

/* Reads the bytes of a log, for change_log_open and for tests. `file` is for errors.
 * Errors: E_FORMAT, with the byte; E_MEMORY; what replay returned. */
furrow_status change_log_read(const void *data, size_t size, uint32_t d, const char *file, change_replay replay,
                              void *user, log_extent *extent, furrow_error *err);

/* The bytes of a log; log_records.c. */

enum { LOG_HEADER = 48 }; /* bytes */

/* The checksum of `size` bytes, a multiple of 8, of something that begins at byte `position` of log `sequence`. */
uint64_t log_checksum(const unsigned char *data, size_t size, uint64_t sequence, uint64_t position);
/* Writes the header of a log. */
void log_write_header(unsigned char header[LOG_HEADER], uint32_t d, uint64_t sequence, uint64_t previous,
                      uint64_t next_id);
/* Appends a record that will be written at byte `position` of log `sequence`; log_seal completes it.
 * Errors: E_ARGUMENT, a change that the reader would refuse; E_MEMORY. Nothing is appended then. */
furrow_status log_append_record(fw_buffer *records, const index_change *change, uint32_t d, uint64_t sequence,
                                uint64_t position, furrow_error *err);
/* Completes records that will be written at byte `position` of a log; all bytes before that are on the disk. */
void log_seal(fw_buffer *records, uint64_t sequence, uint64_t position);

#endif
