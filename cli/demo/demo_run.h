/* cli/demo/demo_run.h: runs the steps of the demo: prints each command, runs it and measures it. */
#ifndef CLI_DEMO_DEMO_RUN_H
#define CLI_DEMO_DEMO_RUN_H

#include "core/output.h"

enum { DEMO_STEPS = 32, DEMO_LINE = 512 };

typedef struct demo_step {
  const char *title;    /* short description */
  char line[DEMO_LINE]; /* "furrow train --model fm …"; for a step of the demo itself: what it wrote */
  bool command;         /* false: the demo did it itself */
  double seconds, cpu_seconds;
  uint64_t memory; /* peak in bytes; 0: unknown */
} demo_step;

typedef struct demo_runner {
  output *out;
  bool show;        /* print commands and their output */
  char threads[32]; /* " --threads 2", or "" */
  demo_step steps[DEMO_STEPS];
  size_t count;
} demo_runner;

/* Prints a heading: "# Training". */
void demo_heading(demo_runner *runner, const char *text);
/* Runs a line "furrow …" in a child process; words are separated by blanks, and "> FILE" at the end redirects the
 * output. Returns the status of the command, which prints its own error; E_STATE: stopped by a signal. */
furrow_status demo_run(demo_runner *runner, const char *title, furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Returns the error of a demo that was stopped by a signal. */
furrow_status demo_stopped(furrow_error *err);
/* Records a step that the demo did itself since `began`. */
void demo_did(demo_runner *runner, const char *title, double began, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
