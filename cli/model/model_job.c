/* cli/model/model_job.c: a job that takes a while: it shows how far it is, and a signal stops it. */
#include "model/model_job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/interrupt.h"

void job_watch(job *j, const char *what, bool quiet) {
  progress_start(&j->progress, !quiet, what, 0);
}

void job_start(job *j, const char *what, bool quiet) {
  interrupt_catch();
  job_watch(j, what, quiet);
}

bool job_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  job *j = user;
  (void)phase;
  j->progress.total = total;
  progress_update(&j->progress, done);
  return !interrupt_came();
}

void job_stop(job *j) {
  progress_stop(&j->progress);
}

void job_hint(furrow_status status, bool force, const char *memory, furrow_error *err) {
  const char *hint = status == FURROW_E_EXISTS && !force && !err->hint[0] ? "--force replaces it"
                     : status == FURROW_E_MEMORY                          ? memory
                                                                          : NULL;
  if (status == FURROW_E_CANCELLED) interrupt_check(err); /* says what stopped it */
  if (hint) snprintf(err->hint, sizeof err->hint, "%s", hint);
}

void print_note(bool quiet, const char *format, ...) {
  va_list args;
  if (quiet) return;
  fputs("furrow: note: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}
