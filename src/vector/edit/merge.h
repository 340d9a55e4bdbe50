/* vector/edit/merge.h: what merging in memory and merging files share. */
#ifndef FW_VECTOR_EDIT_MERGE_H
#define FW_VECTOR_EDIT_MERGE_H

#include "vector/index/index.h"

/* Two indexes of the same kinds, with the same dimensions, metric, transforms, centroids and quantizers: what one
 * stores of a vector, the other would, too. E_ARGUMENT names what does not agree. */
furrow_status fw_check_same_quantizers(const furrow_index *a, const furrow_index *b, furrow_error *err) FURROW_MUST_USE;
/* Ids of vectors that are added to an index which is numbered go on from `ntotal`; the caller's shift must say so, or
 * nothing (0). E_ARGUMENT otherwise. */
furrow_status fw_merge_check_shift(const furrow_index *index, int64_t ntotal, int64_t id_shift,
                                   furrow_error *err) FURROW_MUST_USE;
/* E_RANGE: an id, increased by id_shift, does not fit into 64 bits. Contents of the lists must be there. */
furrow_status fw_lists_check_shift(const fw_lists *lists, int64_t id_shift, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_ids_check_shift(const int64_t *ids, size_t count, int64_t id_shift, furrow_error *err) FURROW_MUST_USE;

#endif
