/* base/threads.c: starting the threads of pools and crews. */
#include "base/threads.h"

#include <signal.h>

#include "base/error.h"

/* Signals are the program's business: these threads take none. */
furrow_status fw_threads_start(pthread_t *threads, unsigned count, unsigned *started, void *(*work)(void *context),
                               void *context, furrow_error *err) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = 0;
  while (*started < count) {
    failure = pthread_create(&threads[*started], NULL, work, context);
    if (failure) break;
    ++*started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failure) return FURROW_OK;
  return fw_fail_errno(err, FURROW_E_MEMORY, failure, "cannot start thread %u of %u", *started + 1, count);
}
