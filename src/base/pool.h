/* base/pool.h: thread pools.
 *
 * fw_pool takes tasks of any length and loops; its threads sleep between them. Waking them takes longer than a loop
 * over one mini-batch. The threads of fw_spin_pool therefore poll for the next loop for a while before they sleep,
 * which suits many short loops in a row.
 *
 * A child process that inherits a pool may use and free it: the calling thread then does all of the work. Tasks that
 * were running at the fork do not finish in the child. */
#ifndef FW_BASE_POOL_H
#define FW_BASE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

/* The number of processors that this process may run on, at least 1. */
unsigned fw_processor_count(void);

/* ---- Tasks and loops ------------------------------------------------------------------------------------ */

typedef struct fw_pool fw_pool;

/* threads 0: one per processor. */
furrow_status fw_pool_create(fw_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Waits for the submitted tasks, then ends the threads. Accepts NULL. */
void fw_pool_free(fw_pool *pool);
unsigned fw_pool_threads(const fw_pool *pool);
/* Whether the pool was created in a parent process, before a fork. */
bool fw_pool_is_inherited(const fw_pool *pool);

/* Queues task(context) for any thread of the pool. A task may run as long as it likes. */
furrow_status fw_pool_submit(fw_pool *pool, void (*task)(void *context), void *context,
                             furrow_error *err) FURROW_MUST_USE;
/* Returns when every submitted task has ended. */
void fw_pool_wait(fw_pool *pool);

/* Calls body(context, i) once for each i < count, on the pool's threads and the caller's thread, and returns when
 * all calls are done. Any thread may get any i, so results must be stored by i. Must not be called from inside a
 * task. */
furrow_status fw_pool_for(fw_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context,
                          furrow_error *err) FURROW_MUST_USE;

/* ---- Many short loops ----------------------------------------------------------------------------------- */

typedef struct fw_spin_pool fw_spin_pool;

/* `threads` counts all threads, including the caller's; 0: one per processor. */
furrow_status fw_spin_pool_create(fw_spin_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Accepts NULL. */
void fw_spin_pool_free(fw_spin_pool *pool);
unsigned fw_spin_pool_threads(const fw_spin_pool *pool);

/* Calls body(context, i) once for each i < count and returns when all calls are done. Threads take the indices in
 * ascending order, each the next one as soon as it is free; results must be stored by i. One caller at a time; must
 * not be called from inside a body. */
void fw_spin_pool_run(fw_spin_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context);

/* ---- Stages --------------------------------------------------------------------------------------------- */

#define FW_STAGE_WAIT ((size_t)0)        /* the next stage cannot begin until some call of `aside` has done its work */
#define FW_STAGE_END ((size_t)-1)        /* there is no next stage */
#define FW_STAGE_MOST ((size_t)-1 >> 34) /* the most tasks of a stage */

/* Work in stages: each stage needs the results of all tasks of the stage before it. Threads that find no task call
 * `aside` for work that is independent of the stages. */
typedef struct fw_stages {
  /* Returns the number of tasks of the next stage, or one of the values above. One thread at a time calls it, when
   * all tasks of the previous stage are done. FW_STAGE_WAIT: it is called again after a call of `aside` that
   * returned true. */
  size_t (*next)(void *context);
  void (*task)(void *context, size_t i);
  /* Does a piece of other work. Returns false if there is none now, or if another thread is looking for it. Its
   * input comes from calls of next and aside; it must check for work with a sequentially consistent load. */
  bool (*aside)(void *context);
  /* Called now and then, on the caller's thread only. */
  void (*attend)(void *context);
} fw_stages;

/* Returns when next has returned FW_STAGE_END and no thread is in any function of `stages`. One caller at a time, as
 * with fw_spin_pool_run. */
void fw_spin_pool_run_stages(fw_spin_pool *pool, const fw_stages *stages, void *context);

#endif
