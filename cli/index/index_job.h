/* cli/index/index_job.h: a job with several steps: shows the progress of each step and records its time. */
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
  bool running;      /* the current step */
  double step_began; /* seconds */
  double heard;      /* time of the last report */
} index_job;

/* Starts a job. From here on signals are caught: they end the job at the next progress report. */
void index_job_start(index_job *job, bool quiet);
/* Starts a step and ends the one before. total: vectors; 0: unknown. */
void index_job_step(index_job *job, const char *name, uint64_t total);
/* A furrow_index_progress; user is the job. A name other than the current step's starts a new step. */
furrow_status index_job_progress(void *user, const char *step, uint64_t done, uint64_t total, furrow_error *err);
/* Ends the last step. */
void index_job_stop(index_job *job);
/* Return the seconds of all steps, and of the steps of one name. */
double index_job_seconds(const index_job *job);
double index_job_step_seconds(const index_job *job, const char *name);
/* Reports a section "seconds" with all steps. */
void index_job_report(const index_job *job, report *r);

#endif
