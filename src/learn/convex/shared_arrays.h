/* learn/convex/shared_arrays.h: arrays of which every rank has a part: joined, or moved to other ranks.
 *
 * All ranks make the same calls. A failure of one rank is one of all. */
#ifndef FW_LEARN_CONVEX_SHARED_ARRAYS_H
#define FW_LEARN_CONVEX_SHARED_ARRAYS_H

#include "comm/collectives.h"

/* Ascending keys become those that any rank has, ascending. *keys is of fw_alloc, and replaced. */
furrow_status fw_share_keys(const furrow_comm *comm, uint64_t **keys, size_t *count, furrow_error *err) FURROW_MUST_USE;
/* Memory for `count` sizes on every rank, to be freed with fw_free. */
furrow_status fw_share_sizes(const furrow_comm *comm, size_t **sizes, size_t count, furrow_error *err) FURROW_MUST_USE;
/* Elements begin[r] … begin[r + 1] - 1 of `bytes` bytes each go to rank r; what all ranks sent to this one, in their
 * order, takes the place of *array, which is of fw_alloc; *count (may be NULL) is how many these are. */
furrow_status fw_share_move(const furrow_comm *comm, void **array, size_t bytes, const size_t *begin, size_t *count,
                            furrow_error *err) FURROW_MUST_USE;
/* Joins the ranks' parts in `all`: rank r has elements begin[r] … begin[r + 1] - 1 in `own`. */
furrow_status fw_share_gather(const furrow_comm *comm, const void *own, void *all, size_t bytes, const size_t *begin,
                              furrow_error *err) FURROW_MUST_USE;

#endif
