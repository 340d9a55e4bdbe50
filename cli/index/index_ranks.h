/* cli/index/index_ranks.h: processes that build or search one index: their parts, and what they tell each other. */
#ifndef CLI_INDEX_INDEX_RANKS_H
#define CLI_INDEX_INDEX_RANKS_H

#include "core/ranks_join.h"

/* Gives rank 0 the bytes of all processes, in the order of ranks; *all is to be freed, and NULL elsewhere.
 * All processes call it. */
furrow_status index_ranks_collect(const void *bytes, size_t size, void **all, size_t *total, furrow_error *err);

/* The first of `total` vectors that process `rank` has. */
uint64_t index_ranks_first(uint64_t total, unsigned rank);

#endif
