/* tests/unit/vector/test_kmeans.c: k-means, and what it is made of. */
#include "vector/quantizer/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/rng.h"
#include "furrow/init.h"
#include "furrow/vector_data.h"
#include "support/cmocka_all.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/training_vectors.h"

static float *normal(size_t count, uint64_t seed) {
  float *values = malloc(count * sizeof *values);
  fw_rng rng;
  assert_non_null(values);
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < count; i++) values[i] = (float)fw_rng_normal(&rng);
  return values;
}

static double square_distance(const float *x, const float *y, size_t d) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += ((double)x[k] - y[k]) * ((double)x[k] - y[k]);
  return sum;
}

/* Sum of the distances to the nearest centroid. */
static double error_of(const float *x, size_t n, const float *centroids, size_t k, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double best = INFINITY;
    for (size_t c = 0; c < k; c++) best = fmin(best, square_distance(x + i * d, centroids + c * d, d));
    sum += best;
  }
  return sum;
}

static void run(const fw_kmeans_params *params, const float *x, size_t n, float *centroids) {
  furrow_error err = {0};
  assert_int_equal(fw_kmeans(params, x, n, centroids, &err), FURROW_OK);
}

static void test_error_falls(void **state) {
  (void)state;
  enum { N = 2000, D = 6, K = 20 };
  float *x = normal(N * D, 1), centroids[K * D];
  double before = INFINITY;
  for (unsigned rounds = 0; rounds <= 12; rounds += 2) {
    const fw_kmeans_params params = {.k = K, .d = D, .rounds = rounds, .seed = 1234, .per_centroid = 1000};
    run(&params, x, N, centroids);
    const double now = error_of(x, N, centroids, K, D);
    assert_true(now < before);
    before = now;
  }
  free(x);
}

static int by_first(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Many vectors, of which the first rounds see a part: even if they come in order, the error is that of seeing all. */
static void test_starts_with_few(void **state) {
  (void)state;
  enum { N = 20000, D = 16, K = 64 };
  float *x = normal(N * D, 3), *centroids = malloc(K * D * sizeof *centroids), *all = malloc(K * D * sizeof *all);
  for (size_t i = 0; i < N; i++)
    for (size_t k = 0; k < D; k++) x[i * D + k] += 3 * (float)(i % 50 >> k % 5 & 1);
  qsort(x, N, D * sizeof *x, by_first);
  for (size_t c = 0; c < K; c++) memcpy(all + c * D, x + c * (N / K) * D, D * sizeof *all);
  fw_kmeans_params params = {.k = K, .d = D, .rounds = 10, .seed = 1234, .per_centroid = 1000};
  run(&params, x, N, centroids);
  params.hot = true;
  run(&params, x, N, all);
  const double few = error_of(x, N, centroids, K, D), plain = error_of(x, N, all, K, D);
  if (few > 1.01 * plain) fail_msg("the error is %g, not %g", few, plain);
  free(x);
  free(centroids);
  free(all);
}

/* Four far heaps: each gets its centroid, the mean. */
static void test_finds_heaps(void **state) {
  (void)state;
  enum { N = 400, D = 2, K = 4 };
  float *x = normal(N * D, 2), centroids[K * D];
  for (size_t i = 0; i < N; i++) {
    x[i * D] = x[i * D] * 0.1F + (i % 2 ? 100.F : -100.F);
    x[i * D + 1] = x[i * D + 1] * 0.1F + (i / 2 % 2 ? 100.F : -100.F);
  }
  const fw_kmeans_params params = {.k = K, .d = D, .rounds = 30, .seed = 5, .per_centroid = 1000};
  run(&params, x, N, centroids);
  assert_true(error_of(x, N, centroids, K, D) < N * 0.1);
  free(x);
}

static void test_threads_do_not_show(void **state) {
  (void)state;
  enum { N = 5000, D = 24, K = 50 };
  float *x = normal(N * D, 3), one[K * D], two[K * D];
  fw_pool *pool = NULL;
  assert_int_equal(fw_pool_create(&pool, 3, NULL), FURROW_OK);
  fw_kmeans_params params = {.k = K, .d = D, .rounds = 8, .seed = 1234, .per_centroid = 60};
  run(&params, x, N, one);
  params.pool = pool;
  run(&params, x, N, two);
  assert_memory_equal(one, two, sizeof one);
  params.seed = 1235;
  run(&params, x, N, two);
  assert_memory_not_equal(one, two, sizeof one);
  fw_pool_free(pool);
  free(x);
}

/* Many equal vectors: most clusters stay empty and are filled by splitting; nothing becomes NaN. */
static void test_empty_clusters(void **state) {
  (void)state;
  enum { N = 300, D = 3, K = 40 };
  float *x = normal(N * D, 4), centroids[K * D];
  for (size_t i = 0; i < N; i++) memcpy(x + i * D, x + i % 5 * D, D * sizeof *x);
  fw_kmeans_params params = {.k = K, .d = D, .rounds = 10, .seed = 1234, .per_centroid = 1000};
  for (int start = 0; start < 2; start++) {
    params.plus_plus = start > 0;
    run(&params, x, N, centroids);
    for (size_t i = 0; i < K * D; i++) assert_true(isfinite(centroids[i]));
    assert_true(error_of(x, N, centroids, K, D) < 0.01 * N);
  }
  free(x);
}

static void test_spherical(void **state) {
  (void)state;
  enum { N = 600, D = 5, K = 12 };
  float *x = normal(N * D, 5), centroids[K * D];
  const fw_kmeans_params params = {.k = K, .d = D, .rounds = 7, .seed = 9, .per_centroid = 256, .spherical = true};
  run(&params, x, N, centroids);
  const float zero[D] = {0};
  for (size_t c = 0; c < K; c++) assert_true(fabs(square_distance(centroids + c * D, zero, D) - 1) < 1e-5);
  free(x);
}

static void test_as_many_as_vectors(void **state) {
  (void)state;
  enum { N = 9, D = 4 };
  float *x = normal(N * D, 6), centroids[N * D];
  fw_kmeans_params params = {.k = N, .d = D, .rounds = 7, .seed = 9, .per_centroid = 256};
  run(&params, x, N, centroids);
  assert_memory_equal(x, centroids, sizeof centroids);
  furrow_error err = {0};
  assert_int_equal(fw_kmeans(&params, x, N - 1, centroids, &err), FURROW_E_ARGUMENT);
  free(x);
}

static bool stop_at_three(void *user, const char *phase, uint64_t done, uint64_t total) {
  assert_string_equal(phase, "testing");
  assert_int_equal(total, 8);
  assert_int_equal(done, ++*(uint64_t *)user);
  return done != 3;
}

static void test_progress_ends_it(void **state) {
  (void)state;
  enum { N = 900, D = 4, K = 20 };
  float *x = normal(N * D, 7), centroids[K * D];
  uint64_t calls = 0;
  const fw_kmeans_params params = {.k = K,
                                   .d = D,
                                   .rounds = 8,
                                   .seed = 9,
                                   .per_centroid = 256,
                                   .progress = stop_at_three,
                                   .user = &calls,
                                   .phase = "testing"};
  assert_int_equal(fw_kmeans(&params, x, N, centroids, NULL), FURROW_E_CANCELLED);
  assert_int_equal(calls, 3);
  free(x);
}

/* ---- Parts ---- */

/* What std::mt19937(1234) and Faiss's rand_perm give. */
static void test_draw(void **state) {
  (void)state;
  size_t few[5], all[10];
  bool seen[10] = {false};
  assert_int_equal(fw_random_subset(few, 5, 10, 1234, NULL), FURROW_OK);
  assert_int_equal(fw_random_subset(all, 10, 10, 1234, NULL), FURROW_OK);
  assert_memory_equal(few, all, sizeof few);
  for (size_t i = 0; i < 10; i++) seen[all[i]] = true;
  for (size_t i = 0; i < 10; i++) assert_true(seen[i]);
  fw_mt19937 rng;
  fw_mt19937_init(&rng, 1234);
  assert_int_equal(all[0], fw_mt19937_next(&rng) % 10);
}

/* Distances that are not numbers leave clusters empty: that comes to an end, too. */
static void test_large_numbers_end(void **state) {
  (void)state;
  enum { N = 300, D = 64, K = 20 };
  float *x = malloc(N * D * sizeof *x), *from = normal(N * D, 9), centroids[K * D];
  fw_kmeans_params params = {.k = K, .d = D, .rounds = 4, .seed = 5, .per_centroid = 1000};
  for (float scale = 1e18F; scale < 1e20F; scale *= 1.1F) {
    for (size_t i = 0; i < N * D; i++) x[i] = from[i] * scale;
    for (int start = 0; start < 2; start++) {
      params.plus_plus = start > 0;
      run(&params, x, N, centroids);
    }
  }
  free(from);
  free(x);
}

/* ---- The public calls ---- */

static void test_public_call(void **state) {
  (void)state;
  enum { N = 3000, D = 9, K = 30 };
  float *x = normal(N * D, 12), centroids[K * D], other[K * D];
  uint32_t *nearest = malloc(2 * N * sizeof *nearest);
  double objective = 0, again = 0;
  furrow_kmeans_params params = FURROW_INIT(furrow_kmeans_params, .threads = 1, .rounds = 12);
  const fw_kmeans_params same = {
      .k = K, .d = D, .rounds = 12, .seed = params.seed, .per_centroid = 256, .plus_plus = true};
  assert_int_equal(furrow_kmeans(x, N, D, K, &params, centroids, NULL), FURROW_OK);
  run(&same, x, N, other);
  assert_memory_equal(centroids, other, sizeof centroids);
  assert_int_equal(furrow_kmeans_assign(x, N, D, centroids, K, &params, nearest, &objective, NULL), FURROW_OK);
  assert_true(fabs(objective - error_of(x, N, centroids, K, D)) <= 1e-6 * objective);
  params.threads = 3;
  assert_int_equal(furrow_kmeans(x, N, D, K, &params, other, NULL), FURROW_OK);
  assert_memory_equal(centroids, other, sizeof centroids);
  assert_int_equal(furrow_kmeans_assign(x, N, D, centroids, K, &params, nearest + N, &again, NULL), FURROW_OK);
  assert_memory_equal(nearest, nearest + N, N * sizeof *nearest);
  assert_true(again == objective);
  assert_int_equal(furrow_kmeans_assign(x, 0, D, centroids, K, NULL, nearest, &again, NULL), FURROW_OK);
  assert_true(again == 0);
  free(nearest);
  free(x);
}

/* n vectors around k points that are far from each other. The sum of their squared distances to these is about
 * n * d * deviation^2. */
static float *make_blobs(size_t n, size_t k, size_t d, float deviation) {
  float *x = normal(n * d, 15), *middle = normal(k * d, 16);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < d; j++) x[i * d + j] = x[i * d + j] * deviation + 100 * middle[i % k * d + j];
  free(middle);
  return x;
}

/* With any seed every blob gets its centroid; by inner products, vectors of the same direction. */
static void test_public_finds_blobs(void **state) {
  (void)state;
  enum { N = 1200, D = 8, K = 12 };
  float *x = make_blobs(N, K, D, 0.1F), centroids[K * D];
  uint32_t nearest[N];
  double objective = 0, lengths = 0;
  const float zero[D] = {0};
  for (size_t i = 0; i < N; i++) lengths += sqrt(square_distance(x + i * D, zero, D));
  for (uint64_t seed = 1225; seed < 1245; seed++) {
    furrow_kmeans_params params = FURROW_INIT(furrow_kmeans_params, .seed = seed, .threads = 1);
    assert_int_equal(furrow_kmeans(x, N, D, K, &params, centroids, NULL), FURROW_OK);
    assert_int_equal(furrow_kmeans_assign(x, N, D, centroids, K, &params, nearest, &objective, NULL), FURROW_OK);
    if (objective > 1.1 * N * D * 0.01) fail_msg("seed %d: the objective is %g", (int)seed, objective);
    params.spherical = true;
    assert_int_equal(furrow_kmeans(x, N, D, K, &params, centroids, NULL), FURROW_OK);
    assert_int_equal(furrow_kmeans_assign(x, N, D, centroids, K, &params, nearest, &objective, NULL), FURROW_OK);
    if (objective < 0.9999 * lengths) fail_msg("seed %d: %g is less than %g", (int)seed, objective, lengths);
  }
  free(x);
}

static bool stop_at_start(void *user, const char *phase, uint64_t done, uint64_t total) {
  assert_string_equal(phase, "kmeans");
  assert_int_equal(total, 25);
  assert_int_equal(done, 0);
  ++*(int *)user;
  return false;
}

/* The start sees a sample of these vectors: it finds all blobs, whatever the number of threads, and can be
 * cancelled. */
static void test_public_start_of_many(void **state) {
  (void)state;
  enum { N = 30000, D = 16, K = 64 };
  float *x = make_blobs(N, K, D, 0.1F), one[K * D], two[K * D];
  int calls = 0;
  furrow_kmeans_params params = FURROW_INIT(furrow_kmeans_params, .threads = 1, .sample_per_centroid = N);
  assert_int_equal(furrow_kmeans(x, N, D, K, &params, one, NULL), FURROW_OK);
  assert_true(error_of(x, N, one, K, D) < 1.1 * N * D * 0.01);
  params.threads = 3;
  assert_int_equal(furrow_kmeans(x, N, D, K, &params, two, NULL), FURROW_OK);
  assert_memory_equal(one, two, sizeof one);
  params.progress = stop_at_start;
  params.user = &calls;
  assert_int_equal(furrow_kmeans(x, N, D, K, &params, two, NULL), FURROW_E_CANCELLED);
  assert_int_equal(calls, 1);
  free(x);
}

/* Centroids have unit length even if they are the vectors themselves. */
static void test_public_spherical(void **state) {
  (void)state;
  enum { N = 40, D = 5 };
  float *x = normal(N * D, 13), centroids[N * D];
  const furrow_kmeans_params params = FURROW_INIT(furrow_kmeans_params, .spherical = true);
  for (size_t k = 8; k <= N; k += N - 8) {
    uint32_t nearest[N];
    double objective = 0, sum = 0;
    assert_int_equal(furrow_kmeans(x, N, D, k, &params, centroids, NULL), FURROW_OK);
    for (size_t c = 0; c < k; c++) {
      double square = 0;
      for (size_t i = 0; i < D; i++) square += (double)centroids[c * D + i] * centroids[c * D + i];
      assert_true(fabs(square - 1) < 1e-5);
    }
    assert_int_equal(furrow_kmeans_assign(x, N, D, centroids, k, &params, nearest, &objective, NULL), FURROW_OK);
    for (size_t i = 0; i < N; i++) {
      double best = -INFINITY;
      for (size_t c = 0; c < k; c++) {
        double product = 0;
        for (size_t j = 0; j < D; j++) product += (double)x[i * D + j] * centroids[c * D + j];
        best = fmax(best, product);
      }
      sum += best;
    }
    assert_true(fabs(objective - sum) <= 1e-5 * sum);
  }
  free(x);
}

static void test_public_refusals(void **state) {
  (void)state;
  enum { N = 7, D = 2 };
  float *x = normal(N * D, 14), centroids[9 * D];
  uint32_t nearest[N];
  furrow_error err;
  furrow_kmeans_params params = FURROW_INIT(furrow_kmeans_params, .sample_per_centroid = 0);
  assert_int_equal(furrow_kmeans(x, N, D, 9, NULL, centroids, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "7 vectors are too few for 9 centroids"));
  assert_int_equal(furrow_kmeans(x, N, D, 0, NULL, centroids, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_kmeans(x, N, 0, 3, NULL, centroids, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_kmeans(x, N, SIZE_MAX / 2, 3, NULL, centroids, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_kmeans(x, N, D, 3, &params, centroids, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "sample_per_centroid"));
  assert_int_equal(furrow_kmeans(x, N, D, N, NULL, centroids, &err), FURROW_OK);
  assert_memory_equal(x, centroids, N * D * sizeof *x);
  centroids[5] = NAN;
  assert_int_equal(furrow_kmeans_assign(x, N, D, centroids, N, NULL, nearest, NULL, &err), FURROW_E_RANGE);
  x[9] = INFINITY;
  assert_int_equal(furrow_kmeans(x, N, D, 3, NULL, centroids, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "vector 4 "));
  free(x);
}

static void test_first_unfit(void **state) {
  (void)state;
  const float wrong[] = {NAN, INFINITY, -INFINITY, 2e19F};
  for (size_t d = 1; d < 40; d += 6) {
    float *x = normal(7 * d, d);
    x[0] = 1e19F;
    assert_int_equal(furrow_first_invalid_vector(x, 7, d), 7);
    for (size_t i = 0; i < 4; i++) {
      x[5 * d + d / 2] = wrong[i];
      assert_int_equal(furrow_first_invalid_vector(x, 7, d), 5);
    }
    free(x);
  }
}

static void test_groups(void **state) {
  (void)state;
  const uint32_t group[] = {3, 1, FW_NO_GROUP, 3, 0, 1, 3};
  const uint32_t want[] = {4, 1, 5, 0, 3, 6};
  fw_groups groups = {0};
  assert_int_equal(fw_groups_create(&groups, 5, 7, NULL), FURROW_OK);
  for (int again = 0; again < 2; again++) {
    fw_groups_fill(&groups, group, 7);
    assert_memory_equal(groups.member, want, sizeof want);
    assert_int_equal(fw_groups_size(&groups, 0), 1);
    assert_int_equal(fw_groups_size(&groups, 1), 2);
    assert_int_equal(fw_groups_size(&groups, 2), 0);
    assert_int_equal(fw_groups_size(&groups, 3), 3);
    assert_int_equal(fw_groups_size(&groups, 4), 0);
  }
  fw_groups_clear(&groups);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error_falls),
      cmocka_unit_test(test_starts_with_few),
      cmocka_unit_test(test_finds_heaps),
      cmocka_unit_test(test_threads_do_not_show),
      cmocka_unit_test(test_empty_clusters),
      cmocka_unit_test(test_spherical),
      cmocka_unit_test(test_as_many_as_vectors),
      cmocka_unit_test(test_progress_ends_it),
      cmocka_unit_test(test_draw),
      cmocka_unit_test(test_large_numbers_end),
      cmocka_unit_test(test_public_call),
      cmocka_unit_test(test_public_finds_blobs),
      cmocka_unit_test(test_public_start_of_many),
      cmocka_unit_test(test_public_spherical),
      cmocka_unit_test(test_public_refusals),
      cmocka_unit_test(test_first_unfit),
      cmocka_unit_test(test_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
