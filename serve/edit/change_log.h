/* serve/edit/change_log.h: what was added to and removed from an index since its file was written: an append-only file
 * beside it, PATH.log (docs/formats/index_log.md).
 *
 * Each record has its length and a checksum. A record says what holds afterwards ("id 7 has this vector", "id 8 is
 * gone"), so replaying a log twice, or over an index that has its changes already, ends in the same state: a checkpoint
 * may be cut off at any point.
 *
 * A checkpoint begins a second log, PATH.log.next: changes go there while the index file is written with those of the
 * first; then the second takes the place of the first. Replaying reads the first, then the second.
 */
#ifndef SERVE_EDIT_CHANGE_LOG_H
#define SERVE_EDIT_CHANGE_LOG_H

#include "furrow/status.h"

typedef enum change_kind { CHANGE_SET = 1, CHANGE_REMOVE = 2 } change_kind;

/* One record: vectors that ids have from now on, or ids that are gone. */
typedef struct index_change {
  change_kind kind;
  size_t n;
  const int64_t *ids;
  const float *vectors;     /* SET: n * d */
  const char *const *names; /* SET: n, each ended by a 0; NULL: none */
} index_change;

typedef struct change_log change_log;

/* Opens the log of an index file for d-dimensional vectors, or makes an empty one, and locks it: one process at a time.
 * Calls replay for each record, in order. A record that is cut off at the end was never acknowledged: it is taken off,
 * and *cut says how many bytes it had. Damage before the end is E_FORMAT with the byte: nothing is guessed.
 * Errors: E_STATE, another process has it (the message has its number); E_FORMAT; E_IO; what replay returned. */
furrow_status change_log_open(change_log **log, const char *index_path, uint32_t d,
                              furrow_status (*replay)(void *user, const index_change *change, furrow_error *err),
                              void *user, uint64_t *cut, furrow_error *err);
/* Appends a record; it is on the disk after change_log_sync. After a failure the log takes nothing more. */
furrow_status change_log_append(change_log *log, const index_change *change, furrow_error *err);
furrow_status change_log_sync(change_log *log, furrow_error *err);
/* Begins a checkpoint: what is appended from now on goes to the second log. */
furrow_status change_log_begin_checkpoint(change_log *log, furrow_error *err);
/* The index file has all of the first log: the second becomes the first. */
furrow_status change_log_end_checkpoint(change_log *log, furrow_error *err);
/* Bytes of both logs. */
uint64_t change_log_size(const change_log *log);
/* Takes NULL. */
void change_log_close(change_log *log);

/* Reads records from bytes, for change_log_open and for tests: *used is where the last whole record ends. */
furrow_status change_log_read(const void *data, size_t size, uint32_t d, const char *file,
                              furrow_status (*replay)(void *user, const index_change *change, furrow_error *err),
                              void *user, uint64_t *used, furrow_error *err);

#endif
