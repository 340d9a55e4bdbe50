/* vector/search/search_batch.h: many queries over threads. */
#ifndef FW_VECTOR_SEARCH_SEARCH_BATCH_H
#define FW_VECTOR_SEARCH_SEARCH_BATCH_H

#include "vector/search/searcher.h"

/* E_RANGE, with the row: a query with a NaN or an infinity, or one that is too large for squares. */
furrow_status fw_queries_check(furrow_distance_metric metric, const float *queries, size_t n, size_t d,
                               furrow_error *err) FURROW_MUST_USE;

/* Queries begin … end-1 of a batch, with scratch memory of their own. */
typedef furrow_status (*fw_search_range_fn)(void *context, size_t begin, size_t end, const fw_search_job *job,
                                            fw_scratch *scratch, furrow_error *err);

/* Checks queries and parameters, makes a job of them, and gives all n queries, of k results each (0: not known), to
 * `part`, on as many threads as they are worth. The error is that of the first part that failed. */
furrow_status fw_search_parallel(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                 const furrow_search_params *params, fw_search_range_fn part, void *context,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
