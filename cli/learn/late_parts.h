/* cli/learn/late_parts.h: parts of a log that came after parts with later names. */
#ifndef CLI_LEARN_LATE_PARTS_H
#define CLI_LEARN_LATE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/journal/learn_journal.h"
#include "learn/event_tail.h"

typedef struct late_parts {
  struct timespec changed; /* when the folder had changed that was examined last */
  bool waits;              /* a part has no event yet */
  char **named;            /* which the user was told */
  size_t count;
} late_parts;

/* Parts are read in the order of their names, so one whose name sorts before the part that is read is never learned.
 * Warns of those that have events and that the journal does not know, each once. */
furrow_status late_parts_warn(late_parts *late, const event_tail *tail, const fw_journal *journal, furrow_error *err);
void late_parts_clear(late_parts *late);

#endif
