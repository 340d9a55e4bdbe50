/* vector/edit/merge.h: what merging in memory and merging files share. */
#ifndef FW_VECTOR_EDIT_MERGE_H
#define FW_VECTOR_EDIT_MERGE_H

#include "vector/index/index.h"

/* Checks that two indexes have the same kinds, dimensions, metric, transforms, centroids and quantizers, so that both
 * store the same code for a vector. E_ARGUMENT names what differs. */
furrow_status fw_check_same_quantizers(const furrow_index *a, const furrow_index *b, furrow_error *err) FURROW_MUST_USE;
/* Dense ids of vectors that are added continue at `ntotal`: E_ARGUMENT if id_shift is neither that nor 0. */
furrow_status fw_merge_check_shift(const furrow_index *index, int64_t ntotal, int64_t id_shift,
                                   furrow_error *err) FURROW_MUST_USE;
/* E_RANGE: an id, increased by id_shift, does not fit into 64 bits. The contents of the lists must not be missing. */
furrow_status fw_lists_check_shift(const fw_lists *lists, int64_t id_shift, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_ids_check_shift(const int64_t *ids, size_t count, int64_t id_shift, furrow_error *err) FURROW_MUST_USE;

#endif
