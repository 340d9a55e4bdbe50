/* vector/quantizer/kmeans.h: k-means (Lloyd's iterations) with the budget and the choices of Faiss: centroids start as
 * vectors drawn by chance, empty clusters take a half of a large one. */
#ifndef FW_VECTOR_QUANTIZER_KMEANS_H
#define FW_VECTOR_QUANTIZER_KMEANS_H

#include "base/pool.h"
#include "furrow/vector.h"
#include "vector/quantizer/training_vectors.h"

typedef struct fw_kmeans_params {
  size_t k, d;
  unsigned rounds;
  uint64_t seed;
  uint64_t per_centroid;    /* vectors that are looked at, for each centroid */
  bool spherical;           /* centroids are unit vectors; the nearest is that of the largest inner product */
  bool hot;                 /* centroids come in and are bettered */
  fw_pool *pool;            /* NULL: this thread alone; does not change the result */
  furrow_progress progress; /* after each round; may be NULL */
  void *user;
  const char *phase;
} fw_kmeans_params;

/* k centroids of the vectors of all ranks, at least k and finite; all ranks get the same. Threads do not show; ranks
 * show in the last digits, because sums are made by rank first. A rank may have none. */
furrow_status fw_kmeans_distributed(const fw_kmeans_params *params, const fw_rank_vectors *local, float *centroids,
                                    furrow_error *err) FURROW_MUST_USE;
/* The same of n vectors of this process alone. */
furrow_status fw_kmeans(const fw_kmeans_params *params, const float *vectors, size_t n, float *centroids,
                        furrow_error *err) FURROW_MUST_USE;

#endif
