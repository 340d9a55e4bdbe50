/* cli/demo/demo_run.h: the steps of the demo: commands that are shown, run as they stand, and measured. */
#ifndef CLI_DEMO_DEMO_RUN_H
#define CLI_DEMO_DEMO_RUN_H

#include "core/output.h"

enum { DEMO_STEPS = 32, DEMO_LINE = 512 };

typedef struct demo_step {
  const char *title;    /* what it does, in a few words */
  char line[DEMO_LINE]; /* "furrow train --model fm …"; of what the demo does itself: what it made */
  bool command;         /* false: the demo did it itself */
  double seconds, cpu_seconds;
  uint64_t memory; /* the most, in bytes; 0: not known */
} demo_step;

typedef struct demo_runner {
  output *out;
  bool show;        /* commands, and what they print; false: neither */
  char threads[32]; /* " --threads 2", or "" */
  demo_step steps[DEMO_STEPS];
  size_t count;
} demo_runner;

/* Says what comes: "# Training". */
void demo_heading(demo_runner *runner, const char *text);
/* Runs a line "furrow …" in a process of its own: words between blanks, "> FILE" at its end takes what it prints. The
 * status is that of the command, which has told of its failure; END: it was stopped by a signal. */
furrow_status demo_run(demo_runner *runner, const char *title, furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The error of a demo that a signal ended. */
furrow_status demo_stopped(furrow_error *err);
/* Notes what the demo did itself since `began`. */
void demo_did(demo_runner *runner, const char *title, double began, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
