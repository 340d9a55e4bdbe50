/* python/src/py_job.c: long calls in their own thread, so that the calling thread can react to signals.
 *
 * At its exit the interpreter ends daemon threads wherever they are, even one that waits for a job which uses its
 * stack. So before that all jobs are cancelled and joined. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "py_core.h"

#define TICK_NS 50000000 /* between two checks for signals */

/* Jobs that run. */
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ended = PTHREAD_COND_INITIALIZER;
static fwpy_job *running;
static bool exiting; /* no job starts any more */

struct fwpy_job {
  fwpy_job *next; /* next running job */
  furrow_status (*run)(void *user, fwpy_job *job, furrow_error *err);
  void *user;
  atomic_bool cancel;
  pthread_mutex_t mutex; /* protects everything below */
  pthread_cond_t changed;
  bool ended;
  void (*asked)(void *user); /* what the job wants the calling thread to do; NULL: nothing */
  void *asked_user;
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

/* Does nothing if the calling thread has gone or is about to leave. */
bool fwpy_job_ask(fwpy_job *job, void (*function)(void *user), void *user) {
  if (atomic_load(&job->cancel)) return false;
  pthread_mutex_lock(&job->mutex);
  job->asked = function;
  job->asked_user = user;
  pthread_cond_broadcast(&job->changed);
  while (job->asked && !atomic_load(&job->cancel)) pthread_cond_wait(&job->changed, &job->mutex);
  const bool done = !job->asked;
  job->asked = NULL;
  pthread_mutex_unlock(&job->mutex);
  return done;
}

static _Thread_local fwpy_job *own_job; /* the job of this thread */

static void *work(void *user) {
  fwpy_job *job = own_job = user;
  furrow_error err = {0};
  const furrow_status status = job->run(job->user, job, &err);
  pthread_mutex_lock(&job->mutex);
  job->status = status;
  job->err = err;
  job->ended = true;
  pthread_cond_broadcast(&job->changed);
  pthread_mutex_unlock(&job->mutex);
  return NULL;
}

bool fwpy_interrupted(void) {
  if (own_job) return atomic_load(&own_job->cancel);
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool interrupted = PyErr_CheckSignals() < 0;
  PyGILState_Release(state);
  return interrupted;
}

struct timespec fwpy_next_tick(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += TICK_NS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  return until;
}

/* Waits for the end of the job or for a request of it, at most a tick. */
static bool wait_a_tick(fwpy_job *job) {
  const struct timespec until = fwpy_next_tick();
  pthread_mutex_lock(&job->mutex);
  while (!job->ended && !job->asked && pthread_cond_timedwait(&job->changed, &job->mutex, &until) != ETIMEDOUT) {
  }
  const bool ended = job->ended;
  pthread_mutex_unlock(&job->mutex);
  return ended;
}

typedef struct progress_state {
  char phase[64];
  uint64_t done, total;
} progress_state;

/* Calls the caller's function if the progress has changed. Returns whether the job goes on; if not, an exception is
 * set, unless the function returned False. */
static bool report_progress(fwpy_job *job, PyObject *progress, progress_state *reported) {
  progress_state now;
  pthread_mutex_lock(&job->mutex);
  memcpy(now.phase, job->phase, sizeof now.phase);
  now.done = job->done;
  now.total = job->total;
  pthread_mutex_unlock(&job->mutex);
  if (!now.phase[0] ||
      (strcmp(now.phase, reported->phase) == 0 && now.done == reported->done && now.total == reported->total))
    return true;
  *reported = now;
  PyObject *answer =
      PyObject_CallFunction(progress, "sKK", now.phase, (unsigned long long)now.done, (unsigned long long)now.total);
  const bool go_on = answer && answer != Py_False;
  Py_XDECREF(answer);
  return go_on;
}

static void cancel(fwpy_job *job) {
  pthread_mutex_lock(&job->mutex);
  atomic_store(&job->cancel, true);
  pthread_cond_broadcast(&job->changed);
  pthread_mutex_unlock(&job->mutex);
}

/* Runs the function that the job asked for. */
static void run_asked(fwpy_job *job) {
  pthread_mutex_lock(&job->mutex);
  void (*const function)(void *user) = job->asked;
  pthread_mutex_unlock(&job->mutex);
  if (!function) return;
  function(job->asked_user);
  pthread_mutex_lock(&job->mutex);
  job->asked = NULL;
  pthread_cond_broadcast(&job->changed);
  pthread_mutex_unlock(&job->mutex);
}

/* Handles signals, progress and requests until the job has ended. */
static void attend_job(fwpy_job *job, PyObject *progress) {
  progress_state reported = {0};
  for (bool ended = false; !ended;) {
    Py_BEGIN_ALLOW_THREADS;
    ended = wait_a_tick(job);
    Py_END_ALLOW_THREADS;
    if (atomic_load(&job->cancel)) continue;
    run_asked(job);
    if (PyErr_Occurred() || PyErr_CheckSignals() < 0 || (progress && !report_progress(job, progress, &reported)))
      cancel(job);
  }
}

/* Makes a condition that uses CLOCK_MONOTONIC, which is never set. */
static void init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* Whether a job may start; if not, the interpreter is about to exit. */
static bool enlist(fwpy_job *job) {
  pthread_mutex_lock(&running_lock);
  const bool may_start = !exiting;
  if (may_start) {
    job->next = running;
    running = job;
  }
  pthread_mutex_unlock(&running_lock);
  if (!may_start) PyErr_SetString(PyExc_RuntimeError, "the interpreter is about to exit");
  return may_start;
}

static void leave(fwpy_job *job) {
  pthread_mutex_lock(&running_lock);
  fwpy_job **place = &running;
  while (*place != job) place = &(*place)->next;
  *place = job->next;
  pthread_cond_broadcast(&job_ended);
  pthread_mutex_unlock(&running_lock);
}

/* end_jobs(): called when the interpreter exits */
static PyObject *end_jobs(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  pthread_mutex_lock(&running_lock);
  exiting = true;
  for (fwpy_job *job = running; job; job = job->next) cancel(job);
  while (running) pthread_cond_wait(&job_ended, &running_lock);
  pthread_mutex_unlock(&running_lock);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"end_jobs", end_jobs, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

/* A child process has none of the jobs. */
static void forget_jobs(void) {
  running = NULL;
  pthread_mutex_init(&running_lock, NULL);
  pthread_cond_init(&job_ended, NULL);
}

int fwpy_add_job(PyObject *module) {
  if (pthread_atfork(NULL, NULL, forget_jobs) != 0) {
    PyErr_NoMemory();
    return -1;
  }
  return PyModule_AddFunctions(module, methods);
}

bool fwpy_job_run(furrow_status (*run)(void *user, fwpy_job *job, furrow_error *err), void *user, PyObject *progress) {
  fwpy_job job = {.run = run, .user = user};
  pthread_t thread;
  pthread_mutex_init(&job.mutex, NULL);
  init_condition(&job.changed);
  if (progress == Py_None) progress = NULL;
  if (enlist(&job)) {
    if (pthread_create(&thread, NULL, work, &job) == 0) {
      attend_job(&job, progress);
      pthread_join(thread, NULL);
    } else {
      PyErr_SetString(PyExc_RuntimeError, "a thread could not be started");
    }
    leave(&job);
  }
  pthread_cond_destroy(&job.changed);
  pthread_mutex_destroy(&job.mutex);
  if (PyErr_Occurred()) return false;
  if (job.status == FURROW_OK) return true;
  fwpy_raise(&job.err);
  return false;
}
