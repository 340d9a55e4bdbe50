/* python/src/py_job.c: long calls in a thread of their own, so that the calling thread answers signals. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "py_core.h"

#define TICK_NS 50000000 /* between two looks for signals */

struct fwpy_job {
  furrow_status (*run)(void *user, fwpy_job *job, furrow_error *err);
  void *user;
  atomic_bool cancel;
  pthread_mutex_t mutex; /* of everything below */
  pthread_cond_t changed;
  bool ended;
  furrow_status status;
  furrow_error err;
  char phase[64];
  uint64_t done, total;
};

bool fwpy_job_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  fwpy_job *job = user;
  if (atomic_load_explicit(&job->cancel, memory_order_relaxed)) return false;
  pthread_mutex_lock(&job->mutex);
  snprintf(job->phase, sizeof job->phase, "%s", phase);
  job->done = done;
  job->total = total;
  pthread_mutex_unlock(&job->mutex);
  return true;
}

static void *work(void *user) {
  fwpy_job *job = user;
  furrow_error err = {0};
  const furrow_status status = job->run(job->user, job, &err);
  pthread_mutex_lock(&job->mutex);
  job->status = status;
  job->err = err;
  job->ended = true;
  pthread_cond_signal(&job->changed);
  pthread_mutex_unlock(&job->mutex);
  return NULL;
}

/* Waits for the end of the job, a tick at most. */
static bool wait_a_tick(fwpy_job *job) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += TICK_NS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&job->mutex);
  while (!job->ended && pthread_cond_timedwait(&job->changed, &job->mutex, &until) != ETIMEDOUT) {
  }
  const bool ended = job->ended;
  pthread_mutex_unlock(&job->mutex);
  return ended;
}

typedef struct progress_state {
  char phase[64];
  uint64_t done, total;
} progress_state;

/* Calls the caller's function if there is news. Returns whether the job goes on; if not, an exception is set, unless
 * the function returned False. */
static bool tell(fwpy_job *job, PyObject *progress, progress_state *told) {
  progress_state now;
  pthread_mutex_lock(&job->mutex);
  memcpy(now.phase, job->phase, sizeof now.phase);
  now.done = job->done;
  now.total = job->total;
  pthread_mutex_unlock(&job->mutex);
  if (!now.phase[0] || (strcmp(now.phase, told->phase) == 0 && now.done == told->done && now.total == told->total))
    return true;
  *told = now;
  PyObject *answer =
      PyObject_CallFunction(progress, "sKK", now.phase, (unsigned long long)now.done, (unsigned long long)now.total);
  const bool go_on = answer && answer != Py_False;
  Py_XDECREF(answer);
  return go_on;
}

/* Signals and progress until the job has ended. */
static void attend(fwpy_job *job, PyObject *progress) {
  progress_state told = {0};
  for (bool ended = false; !ended;) {
    Py_BEGIN_ALLOW_THREADS;
    ended = wait_a_tick(job);
    Py_END_ALLOW_THREADS;
    if (atomic_load(&job->cancel)) continue;
    if (PyErr_CheckSignals() < 0 || (progress && !tell(job, progress, &told))) atomic_store(&job->cancel, true);
  }
}

/* pthread_cond_t with the clock that nobody sets. */
static void init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

bool fwpy_job_run(furrow_status (*run)(void *user, fwpy_job *job, furrow_error *err), void *user, PyObject *progress) {
  fwpy_job job = {.run = run, .user = user};
  pthread_t thread;
  pthread_mutex_init(&job.mutex, NULL);
  init_condition(&job.changed);
  if (progress == Py_None) progress = NULL;
  const bool started = pthread_create(&thread, NULL, work, &job) == 0;
  if (started) {
    attend(&job, progress);
    pthread_join(thread, NULL);
  } else {
    PyErr_SetString(PyExc_RuntimeError, "a thread could not be started");
  }
  pthread_cond_destroy(&job.changed);
  pthread_mutex_destroy(&job.mutex);
  if (PyErr_Occurred()) return false;
  if (job.status == FURROW_OK) return true;
  fwpy_raise(&job.err);
  return false;
}
