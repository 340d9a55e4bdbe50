/* vector/data/parallel.h: runs a job over many vectors in parts, on a thread pool. The result of a part must depend on
 * its vectors only, so that the result does not depend on the number of threads. */
#ifndef FW_VECTOR_DATA_PARALLEL_H
#define FW_VECTOR_DATA_PARALLEL_H

#include "base/pool.h"

/* The number of threads for params->threads: 0 means one per processor; at most 1024. */
unsigned fw_thread_count(unsigned asked);

/* Creates a pool for a job; threads 0: one per processor. *pool is NULL for a single thread, which fw_pool_free
 * accepts. */
furrow_status fw_parallel_start(fw_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;

/* Calls body for 0 … n-1 in parts of `size`. Returns the first failure in the order of the parts; parts that have not
 * started by then are skipped. pool NULL: runs on this thread. */
typedef furrow_status (*fw_parallel_body)(void *context, size_t first, size_t count, furrow_error *err);
furrow_status fw_parallel_run(fw_pool *pool, size_t n, size_t size, fw_parallel_body body, void *context,
                              furrow_error *err) FURROW_MUST_USE;

#endif
