/* vector/quantizer/kmeans.h: k-means (Lloyd's iterations) with the defaults of Faiss: centroids start as randomly drawn
 * vectors, or by k-means++, and an empty cluster takes half of a large one. */
#ifndef FW_VECTOR_QUANTIZER_KMEANS_H
#define FW_VECTOR_QUANTIZER_KMEANS_H

#include "base/pool.h"
#include "furrow/vector.h"
#include "vector/quantizer/training_vectors.h"

typedef struct fw_kmeans_params {
  size_t k, d;
  unsigned rounds;
  uint64_t seed;
  uint64_t per_centroid;    /* sample size, per centroid */
  bool spherical;           /* centroids are unit vectors; the nearest one has the largest inner product */
  bool hot;                 /* warm start: centroids hold initial values */
  bool plus_plus;           /* start by k-means++; only in a lone process */
  fw_pool *pool;            /* NULL: runs on this thread; does not change the result */
  furrow_progress progress; /* called after each round; may be NULL */
  void *user;
  const char *phase;
} fw_kmeans_params;

/* Finds k centroids of the vectors of all ranks (finite, at least k). All ranks get the same centroids. The result does
 * not depend on the number of threads; the number of ranks changes the last digits, because each rank sums its own
 * vectors first. A rank may have no vectors. */
furrow_status fw_kmeans_distributed(const fw_kmeans_params *params, const fw_rank_vectors *local, float *centroids,
                                    furrow_error *err) FURROW_MUST_USE;
/* The same for n vectors of one process. */
furrow_status fw_kmeans(const fw_kmeans_params *params, const float *vectors, size_t n, float *centroids,
                        furrow_error *err) FURROW_MUST_USE;
/* The first centroids of k-means++, of all vectors of a lone process or, where they are many, of a random sample: it
 * takes no longer than a few rounds. */
furrow_status fw_kmeans_plus_plus(const fw_kmeans_params *params, const fw_rank_vectors *all, float *centroids,
                                  furrow_error *err) FURROW_MUST_USE;
/* Scales centroids to unit length; zeros stay. */
void fw_normalize_centroids(float *centroids, size_t k, size_t d);

#endif
