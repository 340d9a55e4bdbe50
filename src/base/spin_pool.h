/* base/spin_pool.h: a few threads for many short loops.
 *
 * A pool's threads sleep between loops; waking them takes longer than a loop over one mini-batch does. A crew's threads
 * look out for the next loop for a while before they sleep. */
#ifndef FW_BASE_SPIN_POOL_H
#define FW_BASE_SPIN_POOL_H

#include <stddef.h>

#include "furrow/status.h"

typedef struct fw_spin_pool fw_spin_pool;

/* `threads` in all, the caller's among them; 0: one for each processor. */
furrow_status fw_spin_pool_create(fw_spin_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_spin_pool_free(fw_spin_pool *pool);
unsigned fw_spin_pool_threads(const fw_spin_pool *pool);

/* Calls body(context, i) once for each i < count; returns when all are done. Indices are given out in ascending order,
 * to whoever comes first: write results by i. One caller at a time; not from inside a body. */
void fw_spin_pool_run(fw_spin_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context);

#endif
