/* cli/index/index_ranks.h: processes that build or search one index: their parts, and what they tell each other. */
#ifndef CLI_INDEX_INDEX_RANKS_H
#define CLI_INDEX_INDEX_RANKS_H

#include "core/ranks.h"

/* All processes call each of these, in the same order. Where a process is alone they return at once. */

/* Returns `mine`, or E_STATE where that of another process is a failure. */
furrow_status index_ranks_all_ok(furrow_status mine, furrow_error *err);
/* The sum of the numbers of the processes before this one, and of all. */
furrow_status index_ranks_offset(uint64_t mine, uint64_t *before, uint64_t *all, furrow_error *err);
/* Gives rank 0 the bytes of all processes, in the order of ranks; *all is to be freed, and NULL elsewhere. */
furrow_status index_ranks_collect(const void *bytes, size_t size, void **all, size_t *total, furrow_error *err);

/* The first of `total` vectors that process `rank` has. */
uint64_t index_ranks_first(uint64_t total, unsigned rank);

#endif
