/* tests/unit/ranks/test_kmeans_ranks.c: k-means and indexes trained by several ranks, which here are threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "support/thread_ranks.h"
#include "vector/build/build.h"
#include "vector/index/index.h"
#include "vector/quantizer/kmeans.h"
#include "vector/quantizer/transform.h"

enum { MOST_RANKS = 5 };

/* Centroids of one process and of many differ by the order in which doubles were added. */
#define TOLERANCE 1e-5

static float *normal(size_t count, uint64_t seed) {
  float *values = malloc((count + 1) * sizeof *values);
  fw_rng rng;
  assert_non_null(values);
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < count; i++) values[i] = (float)fw_rng_normal(&rng);
  return values;
}

static void assert_close(const float *found, const float *expected, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!(fabs((double)found[i] - (double)expected[i]) <= TOLERANCE))
      fail_msg("number %zu is %g, not %g", i, (double)found[i], (double)expected[i]);
}

/* The part of n that a rank has: uneven, and nothing for rank 1 of many. */
static size_t first_of(size_t n, unsigned rank, unsigned size) {
  if (rank == size) return n;
  if (size > 3 && rank == 2) rank = 1;
  return n * rank * rank / (size * size);
}

/* ---- Shares --------------------------------------------------------------------------------------------- */

typedef struct drawing {
  furrow_comm comm;
  const float *x;
  size_t n;
  fw_rank_vectors all, some, few;
  furrow_status status;
} drawing;

static void *sample_rank_vectors(void *item) {
  drawing *r = item;
  const size_t from = first_of(r->n, r->comm.rank, r->comm.ranks), to = first_of(r->n, r->comm.rank + 1, r->comm.ranks);
  r->status = fw_rank_vectors_init(&r->all, &r->comm, r->x + from, to - from, NULL);
  if (r->status == FURROW_OK) r->status = fw_rank_vectors_sample(&r->some, &r->all, 1, r->n / 2, 5, NULL);
  if (r->status == FURROW_OK) r->status = fw_rank_vectors_sample(&r->few, &r->some, 1, r->n / 7, 6, NULL);
  return NULL;
}

/* What the ranks hold together, by position, is what one process draws. */
static void assert_same_draw(const drawing *ranks, unsigned size, const fw_rank_vectors *one, size_t which) {
  size_t seen = 0;
  for (unsigned r = 0; r < size; r++) {
    const fw_rank_vectors *local = which ? &ranks[r].few : &ranks[r].some;
    assert_int_equal(local->total, one->n);
    for (size_t i = 0; i < local->n; i++, seen++) {
      const size_t position = local->position ? local->position[i] : local->base + i;
      assert_true(position < one->n && local->vectors[i] == one->vectors[position]);
    }
  }
  assert_int_equal(seen, one->n);
}

static void test_draws_do_not_depend_on_ranks(void **state) {
  (void)state;
  enum { N = 1000 };
  float *x = normal(N, 1);
  drawing one = {.comm = thread_comm(0, 1), .x = x, .n = N};
  run_threads(1, sample_rank_vectors, &one, sizeof one);
  assert_int_equal(one.status, FURROW_OK);
  for (unsigned size = 2; size <= MOST_RANKS; size++) {
    drawing ranks[MOST_RANKS];
    for (unsigned r = 0; r < size; r++) ranks[r] = (drawing){.comm = thread_comm(r, size), .x = x, .n = N};
    run_threads(size, sample_rank_vectors, ranks, sizeof *ranks);
    assert_same_draw(ranks, size, &one.some, 0);
    assert_same_draw(ranks, size, &one.few, 1);
    for (unsigned r = 0; r < size; r++) {
      fw_rank_vectors_clear(&ranks[r].some);
      fw_rank_vectors_clear(&ranks[r].few);
    }
  }
  fw_rank_vectors_clear(&one.some);
  fw_rank_vectors_clear(&one.few);
  free(x);
}

/* ---- k-means -------------------------------------------------------------------------------------------- */

typedef struct clustering {
  furrow_comm comm;
  const fw_kmeans_params *params;
  const float *x;
  size_t n;
  float *centroids;
  furrow_status status;
} clustering;

static void *cluster(void *item) {
  clustering *r = item;
  const size_t from = first_of(r->n, r->comm.rank, r->comm.ranks), to = first_of(r->n, r->comm.rank + 1, r->comm.ranks);
  fw_rank_vectors local = {0};
  r->status = fw_rank_vectors_init(&local, &r->comm, r->x + from * r->params->d, to - from, NULL);
  if (r->status == FURROW_OK) r->status = fw_kmeans_distributed(r->params, &local, r->centroids, NULL);
  return NULL;
}

static void compare(const fw_kmeans_params *params, const float *x, size_t n) {
  const size_t numbers = params->k * params->d;
  float *alone = malloc(numbers * sizeof *alone);
  for (size_t i = 0; i < numbers; i++) alone[i] = x[i];
  assert_int_equal(fw_kmeans(params, x, n, alone, NULL), FURROW_OK);
  for (unsigned size = 1; size <= MOST_RANKS; size++) {
    clustering ranks[MOST_RANKS];
    for (unsigned r = 0; r < size; r++) {
      ranks[r] = (clustering){.comm = thread_comm(r, size), .params = params, .x = x, .n = n};
      ranks[r].centroids = malloc(numbers * sizeof(float));
      memcpy(ranks[r].centroids, x, numbers * sizeof(float)); /* where hot ones begin */
    }
    run_threads(size, cluster, ranks, sizeof *ranks);
    for (unsigned r = 0; r < size; r++) {
      assert_int_equal(ranks[r].status, FURROW_OK);
      assert_memory_equal(ranks[r].centroids, ranks[0].centroids, numbers * sizeof(float));
    }
    if (size == 1)
      assert_memory_equal(ranks[0].centroids, alone, numbers * sizeof(float));
    else
      assert_close(ranks[0].centroids, alone, numbers);
    for (unsigned r = 0; r < size; r++) free(ranks[r].centroids);
  }
  free(alone);
}

static void test_ranks_find_what_one_finds(void **state) {
  (void)state;
  enum { N = 3000, D = 7, K = 12 };
  float *x = normal(N * D, 2);
  fw_kmeans_params params = {.k = K, .d = D, .rounds = 8, .seed = 1234, .per_centroid = 1000};
  compare(&params, x, N);
  params.per_centroid = 60; /* a sample */
  compare(&params, x, N);
  params.spherical = true;
  compare(&params, x, N);
  params.spherical = false;
  params.hot = true;
  compare(&params, x, N);
  free(x);
}

/* The first rounds look at a part. */
static void test_ranks_start_with_few(void **state) {
  (void)state;
  enum { N = 9000, D = 48, K = 40 };
  float *x = normal(N * D, 3);
  const fw_kmeans_params params = {.k = K, .d = D, .rounds = 4, .seed = 7, .per_centroid = 1000};
  compare(&params, x, N);
  free(x);
}

/* Equal vectors: clusters are empty and take halves of others, the same on all ranks. */
static void test_ranks_fill_empty_clusters(void **state) {
  (void)state;
  enum { N = 600, D = 4, K = 16 };
  float *x = normal(N * D, 4);
  for (size_t i = 0; i < N * D; i++) x[i] = x[i % (3 * D)] + 2;
  const fw_kmeans_params params = {.k = K, .d = D, .rounds = 5, .seed = 9, .per_centroid = 1000};
  compare(&params, x, N);
  free(x);
}

static void test_as_many_as_centroids(void **state) {
  (void)state;
  enum { K = 30, D = 5 };
  float *x = normal(K * D, 5);
  const fw_kmeans_params params = {.k = K, .d = D, .rounds = 5, .seed = 9, .per_centroid = 1000};
  compare(&params, x, K);
  free(x);
}

static void test_too_few_for_all(void **state) {
  (void)state;
  enum { SIZE = 3 };
  float x[20] = {0}, centroids[SIZE][24];
  const fw_kmeans_params params = {.k = 12, .d = 2, .rounds = 5, .seed = 9, .per_centroid = 1000};
  clustering ranks[SIZE];
  for (unsigned r = 0; r < SIZE; r++)
    ranks[r] =
        (clustering){.comm = thread_comm(r, SIZE), .params = &params, .x = x, .n = 10, .centroids = centroids[r]};
  run_threads(SIZE, cluster, ranks, sizeof *ranks);
  for (unsigned r = 0; r < SIZE; r++) assert_int_equal(ranks[r].status, FURROW_E_ARGUMENT);
}

static bool stop_rank_1(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)total;
  return ((clustering *)user)->comm.rank != 1 || done != 2;
}

/* Where one rank is stopped nobody waits for it. */
static void test_one_rank_fails(void **state) {
  (void)state;
  enum { SIZE = 3, N = 500, D = 3, K = 5 };
  float *x = normal(N * D, 6), centroids[SIZE][K * D];
  clustering ranks[SIZE];
  fw_kmeans_params params[SIZE];
  for (unsigned r = 0; r < SIZE; r++) {
    params[r] = (fw_kmeans_params){.k = K, .d = D, .rounds = 9, .seed = 9, .per_centroid = 1000};
    params[r].progress = stop_rank_1;
    params[r].user = &ranks[r];
    ranks[r] =
        (clustering){.comm = thread_comm(r, SIZE), .params = &params[r], .x = x, .n = N, .centroids = centroids[r]};
  }
  run_threads(SIZE, cluster, ranks, sizeof *ranks);
  for (unsigned r = 0; r < SIZE; r++) assert_int_equal(ranks[r].status, r == 1 ? FURROW_E_CANCELLED : FURROW_E_STATE);
  free(x);
}

/* ---- Indexes -------------------------------------------------------------------------------------------- */

enum { INDEX_N = 2500, INDEX_D = 16 };

typedef struct schooling {
  furrow_comm comm;
  const float *x;
  furrow_index *index;
  furrow_status status;
} schooling;

static void *school(void *item) {
  schooling *r = item;
  const size_t from = first_of(INDEX_N, r->comm.rank, r->comm.ranks);
  const size_t to = first_of(INDEX_N, r->comm.rank + 1, r->comm.ranks);
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.threads = 2;
  params.sample_per_list = 90;
  fw_rank_vectors local = {0};
  r->status = fw_rank_vectors_init(&local, &r->comm, r->x + from * INDEX_D, to - from, NULL);
  if (r->status == FURROW_OK) r->status = fw_index_train_distributed(r->index, &local, &params, NULL);
  return NULL;
}

static furrow_index_spec spec_of(bool normalize, bool opq) {
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = INDEX_D;
  spec.nlist = 10;
  spec.m = 4;
  spec.nbits = 4;
  spec.normalize = normalize;
  spec.opq = opq;
  return spec;
}

static void train_by(schooling *ranks, unsigned size, furrow_index_spec spec, const float *x) {
  for (unsigned r = 0; r < size; r++) {
    ranks[r] = (schooling){.comm = thread_comm(r, size), .x = x};
    assert_int_equal(furrow_index_create(&ranks[r].index, &spec, NULL), FURROW_OK);
  }
  run_threads(size, school, ranks, sizeof *ranks);
}

static void assert_same_index(const furrow_index *found, const furrow_index *expected) {
  const furrow_index *a = furrow_index_ivf(found), *b = furrow_index_ivf(expected);
  const size_t lists = a->ivf.nlist * INDEX_D, codes = fw_pq_ksub(&a->ivf.pq) * INDEX_D;
  assert_memory_equal(a->child[0]->flat.vectors, b->child[0]->flat.vectors, lists * sizeof(float));
  assert_memory_equal(a->ivf.pq.centroids, b->ivf.pq.centroids, codes * sizeof(float));
  for (size_t i = 0; found->kind == FURROW_INDEX_TRANSFORM && i < found->transforms.count; i++) {
    const fw_transform *x = &found->transforms.list[i], *y = &expected->transforms.list[i];
    assert_int_equal(x->a_count, y->a_count);
    if (x->a_count) assert_memory_equal(x->a, y->a, x->a_count * sizeof(float));
  }
}

/* The squared distance to the nearest of `count` vectors; *nearest (may be NULL) is its number. */
static double error_of_nearest(const float *x, size_t d, const float *vectors, size_t count, size_t *nearest) {
  double best = INFINITY;
  for (size_t c = 0; c < count; c++) {
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += pow((double)x[i] - (double)vectors[c * d + i], 2);
    if (sum < best && nearest) *nearest = c;
    if (sum < best) best = sum;
  }
  return best;
}

/* What codes of a vector miss: its residual, quantized part by part. */
static double error_of_vector(const furrow_index *ivf, const float *x) {
  const size_t ksub = fw_pq_ksub(&ivf->ivf.pq), m = ivf->ivf.pq.m, dsub = INDEX_D / m;
  const float *coarse = ivf->child[0]->flat.vectors;
  float rest[INDEX_D];
  size_t list = 0;
  double error = 0;
  (void)error_of_nearest(x, INDEX_D, coarse, ivf->ivf.nlist, &list);
  for (size_t i = 0; i < INDEX_D; i++) rest[i] = x[i] - coarse[list * INDEX_D + i];
  for (size_t q = 0; q < m; q++)
    error += error_of_nearest(rest + q * dsub, dsub, ivf->ivf.pq.centroids + q * ksub * dsub, ksub, NULL);
  return error;
}

static double error_of_index(const furrow_index *index, const float *x) {
  const bool moves = index->kind == FURROW_INDEX_TRANSFORM;
  float *moved = NULL;
  double error = 0;
  if (moves)
    assert_int_equal(fw_transforms_run(&index->transforms, x, INDEX_N, INDEX_D, INDEX_D, NULL, &moved, NULL),
                     FURROW_OK);
  for (size_t i = 0; i < INDEX_N; i++)
    error += error_of_vector(furrow_index_ivf(index), (moves ? moved : x) + i * INDEX_D);
  fw_free(moved);
  return error;
}

/* Doubles are added in another order, and a vector that is as near to two centroids may go to either: what comes of it
 * is as good, but not the same. */
static void assert_as_good(const furrow_index *found, const furrow_index *expected, const float *x) {
  const double a = error_of_index(found, x), b = error_of_index(expected, x);
  if (!(fabs(a - b) <= 0.02 * b)) fail_msg("the error is %g, not %g", a, b);
}

/* `normalize`: a transform comes first, and a sample is drawn before it. `opq`: the ranks find a rotation. */
static void check_index(const float *x, bool normalize, bool opq) {
  schooling one, ranks[MOST_RANKS];
  train_by(&one, 1, spec_of(normalize, opq), x);
  assert_int_equal(one.status, FURROW_OK);
  for (unsigned size = 2; size <= MOST_RANKS; size++) {
    train_by(ranks, size, spec_of(normalize, opq), x);
    for (unsigned r = 0; r < size; r++) {
      assert_int_equal(ranks[r].status, FURROW_OK);
      assert_same_index(ranks[r].index, ranks[0].index);
    }
    assert_as_good(ranks[0].index, one.index, x);
    for (unsigned r = 0; r < size; r++) furrow_index_free(ranks[r].index);
  }
  furrow_index_free(one.index);
}

static void test_index_of_many_ranks(void **state) {
  (void)state;
  float *x = normal(INDEX_N * INDEX_D, 8);
  check_index(x, false, false);
  check_index(x, true, false);
  free(x);
}

/* One sub-quantizer has most of the variance, which a rotation gives to all. */
static void test_rotation_of_many_ranks(void **state) {
  (void)state;
  float *x = normal(INDEX_N * INDEX_D, 8);
  for (size_t i = 0; i < INDEX_N * INDEX_D; i++) x[i] *= i % INDEX_D < 4 ? 4 : 1;
  schooling plain, ranks[3];
  check_index(x, false, true);
  check_index(x, true, true);
  train_by(&plain, 1, spec_of(false, false), x);
  train_by(ranks, 3, spec_of(false, true), x);
  assert_true(error_of_index(ranks[0].index, x) < 0.97 * error_of_index(plain.index, x));
  for (unsigned r = 0; r < 3; r++) furrow_index_free(ranks[r].index);
  furrow_index_free(plain.index);
  free(x);
}

/* A vector that is not a number fails all ranks. */
static void test_index_that_fails(void **state) {
  (void)state;
  float *x = normal(INDEX_N * INDEX_D, 8);
  schooling ranks[MOST_RANKS];
  x[INDEX_N * INDEX_D - 1] = NAN;
  for (int opq = 0; opq < 2; opq++) {
    train_by(ranks, 3, spec_of(false, opq), x);
    for (unsigned r = 0; r < 3; r++) {
      assert_int_equal(ranks[r].status, r == 2 ? FURROW_E_RANGE : FURROW_E_STATE);
      furrow_index_free(ranks[r].index);
    }
  }
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_draws_do_not_depend_on_ranks),
      cmocka_unit_test(test_ranks_find_what_one_finds),
      cmocka_unit_test(test_ranks_start_with_few),
      cmocka_unit_test(test_ranks_fill_empty_clusters),
      cmocka_unit_test(test_as_many_as_centroids),
      cmocka_unit_test(test_too_few_for_all),
      cmocka_unit_test(test_one_rank_fails),
      cmocka_unit_test(test_index_of_many_ranks),
      cmocka_unit_test(test_rotation_of_many_ranks),
      cmocka_unit_test(test_index_that_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
