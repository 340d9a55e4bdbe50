/* learn/forest/grow_ranks.h: histograms and best splits of a tree whose rows are divided over ranks.
 *
 * Features are divided into a slice for each rank. A rank sends the histograms of its rows slice by slice to all
 * others, and adds up its own slice of theirs; then it looks for splits in this slice, and all ranks learn the best of
 * every rank. */
#ifndef FW_LEARN_FOREST_GROW_RANKS_H
#define FW_LEARN_FOREST_GROW_RANKS_H

#include "learn/forest/best_split.h"

typedef struct fw_grow_ranks {
  const furrow_comm *comm;
  const fw_histograms *all;
  fw_spin_pool *pool;
  size_t *slice;           /* ranks + 1: rank r's features are slice[r] … slice[r + 1] - 1 */
  size_t *words;           /* of each rank's slice in a message */
  size_t *sent, *received; /* bytes of a message to each rank, and from each */
  uint64_t *send, *receive;
  size_t send_capacity, receive_capacity;
  fw_best_split *best; /* of this rank, then of all */
  size_t best_capacity;
} fw_grow_ranks;

/* The caller's struct, to be cleared after a failure, too. */
furrow_status fw_grow_ranks_init(fw_grow_ranks *ranks, const furrow_comm *comm, const fw_histograms *all,
                                 fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;
void fw_grow_ranks_clear(fw_grow_ranks *ranks);
size_t fw_grow_ranks_memory(const fw_grow_ranks *ranks);

/* The calls below are for all ranks, with the same count. `status` is what this rank has come to: the failure of one
 * rank is that of all. */
/* This rank's slice of each histogram becomes the sum over all ranks; the other slices are of no use afterwards. */
furrow_status fw_grow_ranks_add(fw_grow_ranks *ranks, furrow_status status, fw_histogram *const *histogram,
                                size_t count, furrow_error *err) FURROW_MUST_USE;
/* Of each split the best that a rank has; at most two for each histogram of the call before. */
furrow_status fw_grow_ranks_keep_best(fw_grow_ranks *ranks, fw_best_split *const *best, size_t count,
                                      furrow_error *err) FURROW_MUST_USE;
/* Sums of `count` numbers; behind them there is memory for one more. */
furrow_status fw_grow_ranks_count(const fw_grow_ranks *ranks, furrow_status status, int64_t *number, size_t count,
                                  furrow_error *err) FURROW_MUST_USE;

#endif
