/* base/pool.h: pools of threads.
 *
 * fw_pool takes tasks of any length and loops; its threads sleep between them. Waking them takes longer than a loop
 * over one mini-batch does: the threads of fw_spin_pool check for the next loop for a while before they sleep, so it
 * suits many short loops, one after the other.
 *
 * A child process that inherits a pool may use and free it: the calling thread does all of the work. Tasks that were
 * under way at the fork do not end there. */
#ifndef FW_BASE_POOL_H
#define FW_BASE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

/* Processors that this process may run on, at least 1. */
unsigned fw_processor_count(void);

/* ---- Tasks and loops ------------------------------------------------------------------------------------ */

typedef struct fw_pool fw_pool;

/* threads 0: one for each processor. */
furrow_status fw_pool_create(fw_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Waits for the submitted tasks, then ends the threads. Takes NULL. */
void fw_pool_free(fw_pool *pool);
unsigned fw_pool_threads(const fw_pool *pool);
/* Whether the pool was made before a fork, in the parent process. */
bool fw_pool_is_inherited(const fw_pool *pool);

/* Queues task(context) for some thread of the pool. Tasks may run for as long as they like. */
furrow_status fw_pool_submit(fw_pool *pool, void (*task)(void *context), void *context,
                             furrow_error *err) FURROW_MUST_USE;
/* Returns when every submitted task has ended. */
void fw_pool_wait(fw_pool *pool);

/* Calls body(context, i) once for each i < count, on the pool's threads and the caller's; returns when all are done.
 * Which thread gets which i is not fixed: write results by i. Not from inside a task. */
furrow_status fw_pool_for(fw_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context,
                          furrow_error *err) FURROW_MUST_USE;

/* ---- Many short loops ----------------------------------------------------------------------------------- */

typedef struct fw_spin_pool fw_spin_pool;

/* `threads` in all, the caller's among them; 0: one for each processor. */
furrow_status fw_spin_pool_create(fw_spin_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_spin_pool_free(fw_spin_pool *pool);
unsigned fw_spin_pool_threads(const fw_spin_pool *pool);

/* Calls body(context, i) once for each i < count; returns when all are done. Threads take the indices in ascending
 * order, each the next one as soon as it is free: write results by i. One caller at a time; not from inside a body. */
void fw_spin_pool_run(fw_spin_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context);

/* ---- Stages --------------------------------------------------------------------------------------------- */

#define FW_STAGE_WAIT ((size_t)0)        /* the next stage cannot begin before some work aside is done */
#define FW_STAGE_END ((size_t)-1)        /* there is none */
#define FW_STAGE_MOST ((size_t)-1 >> 34) /* tasks of a stage, at most */

/* Work of which each stage needs what all tasks of the one before it have done. Threads that find no task do work
 * aside: such that is under way while stages begin and end. */
typedef struct fw_stages {
  /* How many tasks the next stage has, or one of the above. One thread at a time calls it, when all tasks of the stage
   * before are done. FW_STAGE_WAIT: it is called again after some call of `aside` that returned true. */
  size_t (*next)(void *context);
  void (*task)(void *context, size_t i);
  /* Does a piece of other work; false: there is none now, or another thread is looking for it. What it needs comes from
   * calls of next and of aside, and whether there is any it learns by a sequentially consistent load. */
  bool (*aside)(void *context);
  /* On the caller's thread alone, now and then. */
  void (*attend)(void *context);
} fw_stages;

/* Returns when next has returned FW_STAGE_END and no thread is in any function of `stages`. As fw_spin_pool_run, one
 * caller at a time. */
void fw_spin_pool_run_stages(fw_spin_pool *pool, const fw_stages *stages, void *context);

#endif
