/* vector/quantizer/opq.h: a rotation that improves the codes of a product quantizer (Ge, He, Ke, Sun, "Optimized
 * product quantization", 2013). */
#ifndef FW_VECTOR_QUANTIZER_OPQ_H
#define FW_VECTOR_QUANTIZER_OPQ_H

#include "vector/quantizer/kmeans.h"
#include "vector/quantizer/training_vectors.h"

#define FW_OPQ_SAMPLE 65536 /* sample size */

typedef struct fw_opq_params {
  size_t d_in, d_out; /* d_out < d_in: the directions with the largest variance are kept */
  size_t m;           /* parts of the product quantizer, and bits of each */
  unsigned nbits;
  fw_kmeans_params kmeans; /* seed, pool, progress, phase */
} fw_opq_params;

/* *rotation, which the caller frees, has d_out orthonormal rows of d_in floats and is the same on every rank.
 * Collective. */
furrow_status fw_opq_train(const fw_opq_params *params, const fw_rank_vectors *local, float **rotation,
                           furrow_error *err) FURROW_MUST_USE;

#endif
