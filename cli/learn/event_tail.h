/* cli/learn/event_tail.h: the end of a log that grows: a file, a folder of parts, or standard input. */
#ifndef CLI_LEARN_EVENT_TAIL_H
#define CLI_LEARN_EVENT_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "furrow/status.h"

typedef struct event_tail {
  const char *source; /* as the user wrote it; "-": standard input */
  bool folder;        /* parts, in the order of their names */
  char *file;         /* the file that is read; "-": standard input; NULL: there is none yet */
  int fd;
  uint64_t from;    /* where the bytes of `text` begin in it */
  fw_buffer header; /* the first line of a table with a header; empty: lines of JSON */
  fw_buffer text;
  size_t scanned, whole; /* bytes of `text` that were searched for line ends; up to the last one */
  uint64_t lines;        /* whole lines in `text` */
  bool ended;            /* nothing follows: standard input is at its end, or there is a later part */
} event_tail;

/* Goes on at a byte of a file; file NULL: at the start of the log. Close it, even after a failure. */
furrow_status event_tail_open(event_tail *tail, const char *source, const char *file, uint64_t from, furrow_error *err);
/* Whether a file, by its name in the journal, is the log or one of its parts. `tail` may have just its source. */
bool event_tail_is_of(const event_tail *tail, const char *file);
/* Fails with E_STATE if the file was cut, or another one has its name. */
furrow_status event_tail_check(const event_tail *tail, furrow_error *err);
/* Reads what is there, until `text` has `most` whole lines. */
furrow_status event_tail_fill(event_tail *tail, uint64_t most, furrow_error *err);
/* Whether everything was read that is there now: of a folder, of the last part. */
bool event_tail_is_empty(const event_tail *tail);
/* Goes to the next part if this one has ended. *moved: there is one. */
furrow_status event_tail_next_part(event_tail *tail, bool *moved, furrow_error *err);
/* The bytes of the first `lines` lines. */
size_t event_tail_bytes(const event_tail *tail, uint64_t lines);
/* Removes the first bytes of `text`, which are whole lines. */
void event_tail_drop(event_tail *tail, size_t bytes, uint64_t lines);
void event_tail_close(event_tail *tail);
/* Reads the bytes from … to - 1 of a file again, and its header. */
furrow_status event_tail_read_again(event_tail *tail, uint64_t to, furrow_error *err);

#endif
