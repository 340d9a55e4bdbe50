/* vector/build/train.h: an index is trained by several processes. */
#ifndef FW_VECTOR_BUILD_TRAIN_H
#define FW_VECTOR_BUILD_TRAIN_H

#include "furrow/vector.h"
#include "vector/quantizer/random_subset.h"

/* furrow_index_train on the vectors of all ranks (fw_rank_vectors_init); all have the same kind of index and get the
 * same centroids. E_UNSUPPORTED: a rotation is to be found, which needs all vectors in one place. Where one rank fails
 * all do. */
furrow_status fw_index_train_distributed(furrow_index *index, const fw_rank_vectors *local,
                                         const furrow_index_train_params *params, furrow_error *err) FURROW_MUST_USE;

#endif
