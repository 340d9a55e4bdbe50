/* cli/learn/follow_journal.h: which events each version of a model has learned, as a file of lines of JSON.
 *
 * docs/formats/learn_journal.md describes the lines. A line is written and synchronised before its version is made, so
 * that a version is never without one; the last line may be without its version. */
#ifndef CLI_LEARN_FOLLOW_JOURNAL_H
#define CLI_LEARN_FOLLOW_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FOLLOW_JOURNAL_NAME "journal.jsonl"

typedef struct follow_record {
  uint64_t version;
  uint64_t from, to; /* bytes of the file: the events are the whole lines in it */
  uint64_t events;   /* lines */
  uint64_t copy_of;  /* the version that was returned to; 0: events were learned */
  uint64_t digest;   /* of the bytes (journal_digest) */
  char *file;        /* owned; "-": standard input */
} follow_record;

typedef struct follow_journal {
  char *path;
  int fd;
  uint64_t size; /* bytes of its whole lines */
  follow_record *records;
  size_t count, capacity;
} follow_journal;

/* The 64-bit FNV-1a hash. */
uint64_t journal_digest(const void *bytes, size_t size);

/* Reads the records of a text of whole lines, appending them. E_FORMAT: the line is in err->line. */
furrow_status follow_journal_parse(follow_journal *journal, const char *text, size_t size, furrow_error *err);
/* Opens the journal of a folder, or makes it. Cuts off a line that a process that was killed did not finish. Close it,
 * even after a failure. */
furrow_status follow_journal_open(follow_journal *journal, const char *folder, furrow_error *err);
/* Appends a record, which is on the disk when this returns. The record's file is copied. */
furrow_status follow_journal_append(follow_journal *journal, const follow_record *record, furrow_error *err);
/* Removes the last record. */
furrow_status follow_journal_drop_last(follow_journal *journal, furrow_error *err);
void follow_journal_close(follow_journal *journal);

#endif
