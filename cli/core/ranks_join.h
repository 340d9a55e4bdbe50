/* cli/core/ranks_join.h: what the ranks of a command tell each other. All ranks make these calls, in the same order; of
 * a process that is alone they ask nothing. */
#ifndef CLI_CORE_RANKS_JOIN_H
#define CLI_CORE_RANKS_JOIN_H

#include "core/ranks.h"
#include "furrow/status.h"

/* Returns OK where all ranks bring OK; else `mine`, or E_STATE where only others have failed. Of several failures that
 * of the first rank is printed: since parts are in the order of rows, it is the one that a single process would come
 * to.
 */
furrow_status ranks_all_ok(furrow_status mine, furrow_error *err);
/* Gives the `size` bytes of every rank to all ranks, in their order; to be freed. */
furrow_status ranks_gather(const void *mine, size_t size, void **all, furrow_error *err);
/* The sum of the numbers of the ranks before this one, and of all. */
furrow_status ranks_offset(uint64_t mine, uint64_t *before, uint64_t *all, furrow_error *err);

#endif
