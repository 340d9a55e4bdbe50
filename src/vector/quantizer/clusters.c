/* vector/quantizer/clusters.c: the public k-means functions: centroids of vectors, and the nearest centroid of each
 * vector. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/vector_data.h"
#include "vector/data/parallel.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/kmeans.h"

#define ASSIGN_PART 768

static furrow_status check_vectors(const float *vectors, size_t n, size_t d, size_t k, furrow_error *err) {
  size_t floats;
  if (d == 0) return fw_fail(err, FURROW_E_ARGUMENT, "d is 0, but must be at least 1");
  if (k == 0 || k >= FW_NO_GROUP)
    return fw_fail(err, FURROW_E_ARGUMENT, "k is %zu, but must be 1 to %u", k, FW_NO_GROUP - 1);
  if (!fw_size_mul(n > k ? n : k, d, &floats))
    return fw_fail(err, FURROW_E_ARGUMENT, "vectors of %zu floats are too long", d);
  const size_t bad = furrow_first_invalid_vector(vectors, n, d);
  if (bad == n) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "vector %zu has a number that is not finite, or too large", bad);
}

furrow_status furrow_kmeans(const float *vectors, size_t n, size_t d, size_t k, const furrow_kmeans_params *params,
                            float *centroids, furrow_error *err) {
  furrow_kmeans_params p;
  furrow_kmeans_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_kmeans_params, err));
  if (p.sample_per_centroid == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "sample_per_centroid is 0, but must be at least 1");
  FW_TRY(check_vectors(vectors, n, d, k, err));
  const uint64_t most = (FW_NO_GROUP - 1) / k; /* a group has members of 32 bits */
  fw_kmeans_params kmeans = {.k = k,
                             .d = d,
                             .rounds = p.rounds,
                             .seed = p.seed,
                             .per_centroid = p.sample_per_centroid < most ? p.sample_per_centroid : most,
                             .spherical = p.spherical,
                             .plus_plus = true,
                             .progress = p.progress,
                             .user = p.user,
                             .phase = "kmeans"};
  FW_TRY(fw_parallel_start(&kmeans.pool, p.threads, err));
  const furrow_status status = fw_kmeans(&kmeans, vectors, n, centroids, err);
  if (status == FURROW_OK && p.spherical && n == k) fw_normalize_centroids(centroids, k, d);
  fw_pool_free(kmeans.pool);
  return status;
}

/* ---- Nearest centroids ---------------------------------------------------------------------------------- */

typedef struct assignment {
  fw_assigner assigner;
  const float *vectors;
  uint32_t *nearest;
  double *sums; /* sums of each part */
} assignment;

static double term(const float *x, const float *y, size_t d, bool l2) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) {
    const double difference = (double)x[i] - y[i];
    sum += l2 ? difference * difference : (double)x[i] * y[i];
  }
  return sum;
}

static furrow_status assign_part(void *context, size_t first, size_t count, furrow_error *err) {
  const assignment *a = context;
  const size_t d = a->assigner.d;
  double *sum = &a->sums[first / ASSIGN_PART];
  FW_TRY(fw_assign(&a->assigner, a->vectors + first * d, count, a->nearest + first, err));
  for (size_t i = first; i < first + count; i++) {
    if (a->nearest[i] == FW_NO_GROUP)
      return fw_fail(err, FURROW_E_RANGE, "vector %zu is too large to be compared with the centroids", i);
    *sum += term(a->vectors + i * d, a->assigner.centroids + a->nearest[i] * d, d, a->assigner.l2);
  }
  return FURROW_OK;
}

furrow_status furrow_kmeans_assign(const float *vectors, size_t n, size_t d, const float *centroids, size_t k,
                                   const furrow_kmeans_params *params, uint32_t *nearest, double *objective,
                                   furrow_error *err) {
  furrow_kmeans_params p;
  assignment a = {.vectors = vectors, .nearest = nearest};
  fw_pool *pool = NULL;
  furrow_kmeans_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_kmeans_params, err));
  FW_TRY(check_vectors(vectors, n, d, k, err));
  if (furrow_first_invalid_vector(centroids, k, d) < k)
    return fw_fail(err, FURROW_E_RANGE, "a centroid has a number that is not finite, or too large");
  const size_t parts = n / ASSIGN_PART + 1;
  furrow_status status =
      fw_assigner_over(&a.assigner, centroids, k, d, p.spherical ? FURROW_METRIC_IP : FURROW_METRIC_L2, err);
  if (status == FURROW_OK) status = fw_assigner_expect(&a.assigner, vectors, n, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&a.sums, parts, err);
  if (status == FURROW_OK) status = fw_parallel_start(&pool, p.threads, err);
  if (status == FURROW_OK) status = fw_parallel_run(pool, n, ASSIGN_PART, assign_part, &a, err);
  double sum = 0;
  for (size_t i = 0; status == FURROW_OK && i < parts; i++) sum += a.sums[i];
  if (status == FURROW_OK && objective) *objective = sum;
  fw_pool_free(pool);
  fw_free(a.sums);
  fw_assigner_clear(&a.assigner);
  return status;
}
