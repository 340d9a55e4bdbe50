/* vector/quantizer/assign.h: which list a vector belongs to, and what is left of it there. */
#ifndef FW_VECTOR_QUANTIZER_ASSIGN_H
#define FW_VECTOR_QUANTIZER_ASSIGN_H

#include "vector/index/index.h"
#include "vector/quantizer/pq.h"

/* A coarse quantizer made ready: flat vectors, those of an HNSW graph (looked at one and all), or a multi-index. */
typedef struct fw_assigner {
  size_t d;
  const float *centroids; /* of lists; NULL: those of `multi` */
  const fw_pq *multi;
  fw_packed packed;
  fw_pq_coder coder;
} fw_assigner;

/* Borrows the quantizer. E_UNSUPPORTED: a kind that is none of these. */
furrow_status fw_assigner_create(fw_assigner *assigner, const furrow_index *quantizer,
                                 furrow_error *err) FURROW_MUST_USE;
/* The same over n centroids in memory. */
furrow_status fw_assigner_over(fw_assigner *assigner, const float *centroids, size_t n, size_t d,
                               furrow_distance_metric metric, furrow_error *err) FURROW_MUST_USE;
void fw_assigner_clear(fw_assigner *assigner);

/* The list of each of n finite vectors; UINT32_MAX where numbers are so large that no product is one. May run at once
 * in several threads. */
furrow_status fw_assign(const fw_assigner *assigner, const float *vectors, size_t n, uint32_t *lists,
                        furrow_error *err) FURROW_MUST_USE;
/* out = vector - centroid of its list, for n vectors. */
void fw_residuals(const fw_assigner *assigner, const float *vectors, const uint32_t *lists, size_t n, float *out);

#endif
