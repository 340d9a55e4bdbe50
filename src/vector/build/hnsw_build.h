/* vector/build/hnsw_build.h: an HNSW graph over vectors, laid out as Faiss lays it out. */
#ifndef FW_VECTOR_BUILD_HNSW_BUILD_H
#define FW_VECTOR_BUILD_HNSW_BUILD_H

#include "vector/index/index.h"

enum { FW_HNSW_EF_CONSTRUCTION = 40, FW_HNSW_EF_SEARCH = 16, FW_HNSW_MIN_M = 2, FW_HNSW_MAX_M = 1024 };

/* An HNSW index (IHNf) over a copy of n vectors of d floats (n may be 0): m links on each level, 2 m on the lowest;
 * L2 or IP. The same seed gives the same bytes. E_ARGUMENT: m is not FW_HNSW_MIN_M … FW_HNSW_MAX_M, or n does not fit
 * into 31 bits. */
furrow_status fw_hnsw_build(furrow_index **index, const float *vectors, size_t n, int32_t d,
                            furrow_distance_metric metric, size_t m, uint64_t seed, furrow_error *err) FURROW_MUST_USE;

#endif
