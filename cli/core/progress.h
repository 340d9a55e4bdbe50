/* cli/core/progress.h: a line on the terminal that shows the progress of a job. */
#ifndef CLI_CORE_PROGRESS_H
#define CLI_CORE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
  bool on;             /* false: every call does nothing */
  const char *what;    /* "reading" */
  const char *unit;    /* unit of the counts, "vectors"; NULL: bytes */
  uint64_t total;      /* 0: unknown */
  double began, drawn; /* seconds */
  int shown;           /* characters of the line on the terminal */
} progress;

/* The line appears only if stderr is a terminal, after half a second, and is redrawn a few times a second. */
void progress_start(progress *p, bool wanted, const char *what, uint64_t total);
void progress_update(progress *p, uint64_t done);
/* Removes the line. */
void progress_stop(progress *p);

/* Seconds of a monotonic clock. */
double now_seconds(void);

#endif
