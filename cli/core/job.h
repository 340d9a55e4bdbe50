/* cli/core/job.h: a long job: it shows its progress, and a signal stops it. */
#ifndef CLI_CORE_JOB_H
#define CLI_CORE_JOB_H

#include "core/progress.h"
#include "furrow/model.h"

typedef struct job {
  progress progress;
} job;

/* Shows the progress; a signal ends the process at once. */
void job_watch(job *j, const char *what, bool quiet);
/* The same, but signals are caught from now on: job_progress then stops the library, which cleans up. */
void job_start(job *j, const char *what, bool quiet);
/* A furrow_progress; user is the job. */
bool job_progress(void *user, const char *phase, uint64_t done, uint64_t total);
/* Removes the line of progress. */
void job_stop(job *j);
/* Add a hint to the error of a failed job: --force if the target (a model or matrix folder; a file) exists and can be
 * replaced, `memory` (names of options; NULL: none) if memory ran out. */
void job_hint(furrow_status status, bool force, const char *memory, furrow_error *err);
void file_job_hint(furrow_status status, bool force, const char *memory, furrow_error *err);

/* Checks before a job that a model directory can be written, with the hint about --force. */
furrow_status job_check_out(const char *folder, bool force, furrow_error *err);

/* Prints "furrow: note: …" to stderr. */
void print_note(bool quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
