/* vector/search/coarse.h: the lists that a query probes. */
#ifndef FW_VECTOR_SEARCH_COARSE_H
#define FW_VECTOR_SEARCH_COARSE_H

#include "kern/products/products.h"
#include "vector/index/index.h"

typedef struct fw_scratch fw_scratch; /* search/searcher.h */

typedef struct fw_coarse {
  const furrow_index *quantizer; /* FLAT, HNSW or MULTI */
  size_t nlist, d;
  const float *centroids; /* [nlist][d]; NULL: MULTI, pairs of halves */
  fw_packed packed;       /* FLAT: the centroids, packed for the processor, */
  fw_sketch *sketch;      /* or a sketch of them, where that is faster */
  float longest;          /* FLAT: the largest norm of a centroid */
} fw_coarse;

/* E_UNSUPPORTED: a quantizer of another kind or metric. */
furrow_status fw_coarse_create(fw_coarse *coarse, const furrow_index *quantizer, furrow_error *err) FURROW_MUST_USE;
void fw_coarse_clear(fw_coarse *coarse);
uint64_t fw_coarse_memory(const fw_coarse *coarse);

/* The centroid of a list: a part of the index, or written to `scratch` (d floats). */
const float *fw_coarse_centroid(const fw_coarse *coarse, size_t list, float *work);

/* The place of each list in an order in which neighbours in space are mostly near each other. NULL: there is none. */
furrow_status fw_list_ranks(const fw_coarse *coarse, uint32_t **ranks, furrow_error *err) FURROW_MUST_USE;

/* The nprobe best lists of each of n queries: what is searched for, and where the results go. */
typedef struct fw_coarse_batch {
  const float *queries; /* n * d */
  size_t n, nprobe;     /* nprobe: at most nlist */
  int32_t ef;           /* of a graph; 0: its own */
  int64_t *lists;       /* n * nprobe, of each query the best first; -1 where there are fewer */
  float *distances;     /* n * nprobe, as the quantizer's metric has them */
} fw_coarse_batch;

furrow_status fw_coarse_search(const fw_coarse *coarse, fw_scratch *scratch, const fw_coarse_batch *batch,
                               furrow_error *err) FURROW_MUST_USE;

#endif
