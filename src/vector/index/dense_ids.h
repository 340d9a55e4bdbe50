/* vector/index/dense_ids.h: indexes whose vectors are numbers 0 … ntotal-1. */
#ifndef FW_VECTOR_INDEX_DENSE_IDS_H
#define FW_VECTOR_INDEX_DENSE_IDS_H

#include "vector/index/index.h"

/* The index itself, or what is behind its transforms: what has the ids that it answers with. */
static inline const furrow_index *fw_skip_transforms(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_TRANSFORM) index = index->child[0];
  return index;
}

/* Whether ids must be numbers 0 … ntotal-1, because vectors or codes lie in that order. An id map has ids of its own,
 * but what is behind it is numbered. */
static inline bool fw_index_has_dense_ids(const furrow_index *index) {
  index = fw_skip_transforms(index);
  return (!fw_index_is_ivf(index) && index->kind != FURROW_INDEX_ID_MAP) || index->kind == FURROW_INDEX_IVF_PQR;
}

#endif
