/* base/threads.h: starting the threads of pools and crews. */
#ifndef FW_BASE_THREADS_H
#define FW_BASE_THREADS_H

#include <pthread.h>

#include "furrow/status.h"

/* Starts `count` threads that take no signals; *started of them run, also after a failure (E_MEMORY). */
furrow_status fw_threads_start(pthread_t *threads, unsigned count, unsigned *started, void *(*work)(void *context),
                               void *context, furrow_error *err) FURROW_MUST_USE;

#endif
