/* base/pool.h: a small pool of threads. */
#ifndef FW_BASE_POOL_H
#define FW_BASE_POOL_H

#include <stddef.h>

#include "furrow/status.h"

typedef struct fw_pool fw_pool;

/* Processors that this process may run on, at least 1. */
unsigned fw_processor_count(void);

furrow_status fw_pool_create(fw_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Waits for what was submitted, then ends the threads. Takes NULL. */
void fw_pool_free(fw_pool *pool);
unsigned fw_pool_threads(const fw_pool *pool);

/* Queues task(context) for some thread of the pool. Tasks may run for as long as they like. */
furrow_status fw_pool_submit(fw_pool *pool, void (*task)(void *context), void *context,
                             furrow_error *err) FURROW_MUST_USE;
/* Returns when every submitted task has ended. */
void fw_pool_wait(fw_pool *pool);

/* Calls body(context, i) once for each i < count, on the pool's threads and the caller's; returns when all are done.
 * Which thread gets which i is not fixed: write results by i. Not from inside a task. */
furrow_status fw_pool_for(fw_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context,
                          furrow_error *err) FURROW_MUST_USE;

#endif
