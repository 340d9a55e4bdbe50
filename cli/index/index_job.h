/* cli/index/index_job.h: a job on an index that has steps: each shows its progress, and its time is recorded. */
#ifndef CLI_INDEX_INDEX_JOB_H
#define CLI_INDEX_INDEX_JOB_H

#include "core/progress.h"
#include "core/report.h"
#include "furrow/vector.h"

enum { JOB_STEPS = 16 };

typedef struct job_step {
  const char *name; /* "pq" */
  double seconds;
} job_step;

typedef struct index_job {
  bool quiet;
  progress progress;
  job_step steps[JOB_STEPS];
  size_t count;
  bool running;      /* the last of the steps */
  double step_began; /* seconds */
  double heard;      /* time of the last call of progress */
} index_job;

/* From now on signals are caught: the job ends at the next call of progress. */
void index_job_start(index_job *job, bool quiet);
/* Begins a step and ends the one before. total: vectors; 0: unknown. */
void index_job_step(index_job *job, const char *name, uint64_t total);
/* A furrow_progress; user is the job. A name that differs from the running step's begins another step. */
bool index_job_progress(void *user, const char *step, uint64_t done, uint64_t total);
/* The same for the command's own work; fails once a signal has come. */
furrow_status index_job_update(index_job *job, const char *step, uint64_t done, uint64_t total, furrow_error *err);
/* The status of a call that reported to index_job_progress; if index_job_progress stopped the call, err reports the
 * signal. */
furrow_status index_job_status(furrow_status status, furrow_error *err);
/* The last step has ended. */
void index_job_stop(index_job *job);
/* Seconds of all steps, and of the steps with that name. */
double index_job_seconds(const index_job *job);
double index_job_step_seconds(const index_job *job, const char *name);
/* A section "seconds" with all of them. */
void index_job_report(const index_job *job, report *r);

#endif
