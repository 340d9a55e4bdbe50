/* base/journal/learn_journal.h: which events each version of a model has learned, as a file of lines of JSON.
 *
 * docs/formats/learn_journal.md describes the lines. A line is written and synchronised before its version is made, so
 * that a version is never without one; the last line may be without its version. */
#ifndef FW_BASE_JOURNAL_LEARN_JOURNAL_H
#define FW_BASE_JOURNAL_LEARN_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "furrow/status.h"

#define FW_JOURNAL_NAME "journal.jsonl"

typedef struct fw_journal_record {
  uint64_t version;
  uint64_t from, to; /* bytes of the file: the events are the whole lines in it */
  uint64_t events;   /* lines */
  uint64_t copy_of;  /* the version that was returned to; 0: events were learned */
  uint64_t digest;   /* of the bytes (fw_journal_digest) */
  char *file;        /* owned; "-": standard input */
} fw_journal_record;

typedef struct fw_journal {
  char *path;
  int fd;
  uint64_t size; /* bytes of the lines of its records */
  fw_journal_record *records;
  size_t count, capacity;
} fw_journal;

/* The 64-bit FNV-1a hash. */
uint64_t fw_journal_digest(const void *bytes, size_t size);

/* Reads the records of a text, appending them; the last line needs no end. E_FORMAT: the line is in err->line, and the
 * records before it are there. */
furrow_status fw_journal_parse(fw_journal *journal, const char *text, size_t size, furrow_error *err) FURROW_MUST_USE;
/* Appends the line of a record to a buffer. */
void fw_journal_write(fw_buffer *out, const fw_journal_record *record);
/* Opens the journal of a folder, whose versions are the numbers from `oldest` to `newest`, or makes it. Cuts off a last
 * line that was not finished, by a process that was killed or for lack of power: its version is not there. Close the
 * journal, even after a failure. E_FORMAT: a line is damaged. */
furrow_status fw_journal_open(fw_journal *journal, const char *folder, uint64_t oldest, uint64_t newest,
                              furrow_error *err) FURROW_MUST_USE;
/* Appends a record, which is on the disk when this returns. The record's file is copied. */
furrow_status fw_journal_append(fw_journal *journal, const fw_journal_record *record,
                                furrow_error *err) FURROW_MUST_USE;
/* Removes the last record. */
furrow_status fw_journal_drop_last(fw_journal *journal, furrow_error *err) FURROW_MUST_USE;
void fw_journal_close(fw_journal *journal);

#endif
