/* vector/index/parallel.h: many vectors in parts, on some threads. What a part gives must depend on its vectors alone,
 * so that the number of threads does not show. */
#ifndef FW_VECTOR_INDEX_PARALLEL_H
#define FW_VECTOR_INDEX_PARALLEL_H

#include "base/pool.h"

/* How many threads there will be where `asked` are asked for: of 0 the number of processors; never more than 1024. */
unsigned fw_thread_count(unsigned asked);

/* Threads for a job: 0: as many as there are processors. *pool is NULL for a single one; fw_pool_free takes that. */
furrow_status fw_parallel_start(fw_pool **pool, unsigned threads, furrow_error *err) FURROW_MUST_USE;

/* Calls body for 0 … n-1, cut into parts of `size`. The first failure, in the order of the parts, is returned; parts
 * that have not begun by then are left out. pool NULL: on this thread. */
typedef furrow_status (*fw_parallel_body)(void *context, size_t first, size_t count, furrow_error *err);
furrow_status fw_parallel_run(fw_pool *pool, size_t n, size_t size, fw_parallel_body body, void *context,
                              furrow_error *err) FURROW_MUST_USE;

#endif
