/* cli/index/index_job.c: a job on an index that has steps: each shows its progress, and its time is recorded. */
#include "index/index_job.h"

#include <stdio.h>
#include <string.h>

#include "core/interrupt.h"

/* The library's name of a step, and the name that users see. */
static const struct {
  const char *name, *shown;
} names[] = {{"sample", "drawing a sample"},
             {"opq", "training the rotation"},
             {"coarse", "training the lists"},
             {"pq", "training the quantizers"},
             {"refine", "training the refinement"},
             {"add", "adding vectors"},
             {"truth", "comparing all vectors"},
             {"search", "searching"},
             {"save", "writing"}};

static const char *shown_name(const char *name) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i].name, name) == 0) return names[i].shown;
  return name;
}

void index_job_start(index_job *job, bool quiet) {
  *job = (index_job){.quiet = quiet};
  interrupt_catch();
}

static void end_step(index_job *job, double now) {
  progress_stop(&job->progress);
  if (job->running) job->steps[job->count - 1].seconds += now - job->step_began;
  job->running = false;
}

static void begin_step(index_job *job, const char *name, uint64_t total, double now) {
  end_step(job, now);
  if (job->count == 0 || strcmp(job->steps[job->count - 1].name, name) != 0) {
    if (job->count == JOB_STEPS) return;
    job->steps[job->count++] = (job_step){.name = name};
  }
  job->running = true;
  job->step_began = job->heard = now;
  progress_start(&job->progress, !job->quiet, shown_name(name), total);
  job->progress.unit =
      strcmp(name, "add") == 0 || strcmp(name, "sample") == 0 || strcmp(name, "truth") == 0 ? "vectors" : "turns";
}

void index_job_step(index_job *job, const char *name, uint64_t total) {
  begin_step(job, name, total, now_seconds());
}

/* Progress is reported after work is done: the time since the last report belongs to this step. */
bool index_job_progress(void *user, const char *step, uint64_t done, uint64_t total) {
  index_job *job = user;
  if (!job->running || strcmp(job->steps[job->count - 1].name, step) != 0)
    begin_step(job, step, total, job->running ? job->heard : now_seconds());
  job->heard = now_seconds();
  job->progress.total = total;
  progress_update(&job->progress, done);
  return !interrupt_came();
}

furrow_status index_job_update(index_job *job, const char *step, uint64_t done, uint64_t total, furrow_error *err) {
  return index_job_progress(job, step, done, total) ? FURROW_OK : interrupt_check(err);
}

furrow_status index_job_status(furrow_status status, furrow_error *err) {
  return status == FURROW_E_CANCELLED ? interrupt_check(err) : status;
}

void index_job_stop(index_job *job) {
  end_step(job, now_seconds());
}

double index_job_seconds(const index_job *job) {
  double sum = 0;
  for (size_t i = 0; i < job->count; i++) sum += job->steps[i].seconds;
  return sum;
}

double index_job_step_seconds(const index_job *job, const char *name) {
  double sum = 0;
  for (size_t i = 0; i < job->count; i++)
    if (strcmp(job->steps[i].name, name) == 0) sum += job->steps[i].seconds;
  return sum;
}

void index_job_report(const index_job *job, report *r) {
  report_section(r, "seconds");
  for (size_t i = 0; i < job->count; i++) {
    if (r->json)
      report_f64(r, job->steps[i].name, job->steps[i].seconds);
    else
      report_line(r, job->steps[i].name, "%.3f", job->steps[i].seconds);
  }
  if (r->json)
    report_f64(r, "all", index_job_seconds(job));
  else
    report_line(r, "all", "%.3f", index_job_seconds(job));
  report_end(r);
}
