/* cli/model/model_job.h: a long job: shows its progress, and a signal stops it. */
#ifndef CLI_MODEL_MODEL_JOB_H
#define CLI_MODEL_MODEL_JOB_H

#include "core/progress.h"
#include "furrow/model.h"

typedef struct job {
  progress progress;
} job;

/* Shows the progress; a signal ends the process at once. */
void job_watch(job *j, const char *what, bool quiet);
/* The same, but signals are caught from here on: job_progress stops the library, which then cleans up. */
void job_start(job *j, const char *what, bool quiet);
/* A furrow_model_progress; user is the job. */
furrow_status job_progress(void *user, uint64_t done, uint64_t total, furrow_error *err);
/* Removes the line of progress. */
void job_stop(job *j);
/* What a job writes: a model or matrix folder, or a file. */
typedef enum job_target { JOB_FOLDER, JOB_FILE } job_target;
/* Adds a hint to the error of a job that failed: --force where the target exists and can be replaced, `memory` (names
 * options; NULL: none) where memory ran out. */
void job_hint(furrow_status status, job_target target, bool force, const char *memory, furrow_error *err);

/* Prints "furrow: note: …" to stderr. */
void print_note(bool quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
