/* cli/index/index_job.h: a job on an index that has steps: each shows how far it is, and its time is kept. */
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
  double heard;      /* the last word of progress */
} index_job;

/* From here on signals are caught: the job ends at the next word of progress. */
void index_job_start(index_job *job, bool quiet);
/* The step that begins; the one before has ended. total: vectors; 0: not known. */
void index_job_step(index_job *job, const char *name, uint64_t total);
/* A furrow_index_progress; user is the job. A name that is not that of the step in hand begins another one. */
furrow_status index_job_progress(void *user, const char *step, uint64_t done, uint64_t total, furrow_error *err);
/* The last step has ended. */
void index_job_stop(index_job *job);
/* Seconds of all steps, and of those of one name. */
double index_job_seconds(const index_job *job);
double index_job_step_seconds(const index_job *job, const char *name);
/* A section "seconds" with all of them. */
void index_job_report(const index_job *job, report *r);

#endif
