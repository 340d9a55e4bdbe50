/* vector/index/reconstruct.h: vectors from what is stored of them. */
#ifndef FW_VECTOR_INDEX_RECONSTRUCT_H
#define FW_VECTOR_INDEX_RECONSTRUCT_H

#include "vector/index/index.h"

/* furrow_index_reconstruct, but a failure may leave something in `vector`. Of a coarse quantizer, id is the list. */
furrow_status fw_reconstruct(const furrow_index *index, int64_t id, float *vector, furrow_error *err) FURROW_MUST_USE;

#endif
