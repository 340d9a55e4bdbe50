/* vector/search/coarse.h: finds the lists that a query probes. */
#ifndef FW_VECTOR_SEARCH_COARSE_H
#define FW_VECTOR_SEARCH_COARSE_H

#include "kern/products/products.h"
#include "vector/index/index.h"

typedef struct fw_scratch fw_scratch; /* defined in search/searcher.h */

typedef struct fw_coarse {
  const furrow_index *quantizer; /* FLAT, HNSW or MULTI */
  size_t nlist, d;
  const float *centroids; /* [nlist][d]; NULL: MULTI, pairs of halves */
  fw_packed packed;       /* FLAT: the centroids, packed for the processor, */
  fw_sketch *sketch;      /* or a sketch of them, if that is faster */
  float longest;          /* FLAT: the largest norm of a centroid */
} fw_coarse;

/* fw_index_check_searchable must have accepted the index of this quantizer. */
furrow_status fw_coarse_create(fw_coarse *coarse, const furrow_index *quantizer, furrow_error *err) FURROW_MUST_USE;
void fw_coarse_clear(fw_coarse *coarse);
uint64_t fw_coarse_memory(const fw_coarse *coarse);

/* Returns the centroid of a list: a part of the index, or written to `work` (d floats). */
const float *fw_coarse_centroid(const fw_coarse *coarse, size_t list, float *work);

/* Computes the position of each list in an order in which lists that are close in space are mostly close to each other.
 * NULL: there is no such order. */
furrow_status fw_list_positions(const fw_coarse *coarse, uint32_t **positions, furrow_error *err) FURROW_MUST_USE;

/* A search for the nprobe best lists of each of n queries, and its results. */
typedef struct fw_coarse_batch {
  const float *queries; /* n * d */
  size_t n, nprobe;     /* nprobe is at most nlist */
  int32_t ef;           /* for a graph; 0: its own */
  int64_t *lists;       /* n * nprobe, best first for each query; padded with -1 */
  float *distances;     /* n * nprobe, in the quantizer's metric */
} fw_coarse_batch;

furrow_status fw_coarse_search(const fw_coarse *coarse, fw_scratch *scratch, const fw_coarse_batch *batch,
                               furrow_error *err) FURROW_MUST_USE;

#endif
