/* tests/unit/vector/test_refine.c: refined results are the best of those that the index inside finds, by exact
 * distances; whatever the batch, the order in which lists are visited, and the threads. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "furrow/vector.h"
#include "kern/scan/scan.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"

enum { N = 3000, D = 24, QUERIES = 150, K = 10, MOST_WIDE = 400 };

typedef struct refined {
  furrow_index *index;
  furrow_searcher *searcher, *inside; /* inside: of the index that is refined */
  float *vectors, *queries;
  bool similarity;
} refined;

/* whole: numbers are integers, so that many distances are equal. */
static float *draw(size_t rows, uint64_t seed, bool whole) {
  float *x = malloc(rows * D * sizeof *x);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows * D; i++) x[i] = (float)(fw_rng_normal(&rng) + (double)(i / D % 7));
  for (size_t i = 0; whole && i < rows * D; i++) x[i] = rintf(x[i]);
  return x;
}

/* Every third vector is there three times, so that distances are equal. */
static refined set_up(furrow_distance_metric metric, bool whole) {
  refined r = {.vectors = draw(N, 1, whole), .queries = draw(QUERIES, 2, whole)};
  furrow_index_spec spec;
  r.similarity = metric == FURROW_METRIC_IP;
  for (size_t i = 0; i + 2 < N; i += 9) {
    memcpy(r.vectors + (i + 1) * D, r.vectors + i * D, D * sizeof(float));
    memcpy(r.vectors + (i + 2) * D, r.vectors + i * D, D * sizeof(float));
  }
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.metric = metric;
  spec.nlist = 20;
  spec.m = 6;
  spec.nbits = 6;
  spec.refine_flat = true;
  assert_int_equal(furrow_index_create(&r.index, &spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_train(r.index, r.vectors, N, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(r.index, r.vectors, N, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_create(&r.searcher, r.index, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_create(&r.inside, furrow_index_child(r.index, 0), NULL, NULL), FURROW_OK);
  return r;
}

static void tear_down(refined *r) {
  furrow_searcher_free(r->searcher);
  furrow_searcher_free(r->inside);
  furrow_index_free(r->index);
  free(r->vectors);
  free(r->queries);
}

static float exact(const refined *r, const float *query, int64_t id) {
  float key;
  if (r->similarity)
    fw_scan_table()->ip_rows(query, r->vectors + id * D, 1, D, &key);
  else
    fw_scan_table()->l2_rows(query, r->vectors + id * D, 1, D, &key);
  return r->similarity ? -key : key;
}

static bool is_behind(const refined *r, float key, int64_t id, float other, int64_t other_id) {
  return key > other || (key == other && (r->similarity ? id < other_id : id > other_id));
}

/* The k best of what was found, one after the other: one that is as far as the worst does not enter. */
static void expect_best(const refined *r, const float *query, const int64_t *found, size_t wide, const float *distances,
                        const int64_t *ids) {
  float keys[K + 1];
  int64_t best[K + 1];
  size_t count = 0;
  for (size_t i = 0; i < wide; i++) {
    if (found[i] < 0) continue;
    const float key = exact(r, query, found[i]);
    if (count == K && !(key < keys[K - 1])) continue;
    size_t at = count < K ? count++ : K - 1;
    for (; at > 0 && is_behind(r, keys[at - 1], best[at - 1], key, found[i]); at--) {
      keys[at] = keys[at - 1];
      best[at] = best[at - 1];
    }
    keys[at] = key;
    best[at] = found[i];
  }
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(ids[i], best[i]);
    assert_true(distances[i] == (r->similarity ? -keys[i] : keys[i]));
  }
  for (size_t i = count; i < K; i++) assert_int_equal(ids[i], -1);
}

static void check(const refined *r, uint64_t nprobe, size_t factor) {
  static float distances[QUERIES * K], again[QUERIES * K], wide_distances[QUERIES * MOST_WIDE];
  static int64_t ids[QUERIES * K], ids_again[QUERIES * K], wide[QUERIES * MOST_WIDE];
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = nprobe;
  params.threads = 1;
  assert_int_equal(
      furrow_searcher_search(r->inside, r->queries, QUERIES, factor * K, &params, wide_distances, wide, NULL),
      FURROW_OK);
  params.k_factor = (float)factor;
  assert_int_equal(furrow_searcher_search(r->searcher, r->queries, QUERIES, K, &params, distances, ids, NULL),
                   FURROW_OK);
  for (size_t i = 0; i < QUERIES; i++)
    expect_best(r, r->queries + i * D, wide + i * factor * K, factor * K, distances + i * K, ids + i * K);
  for (size_t i = 0; i < QUERIES; i++)
    assert_int_equal(
        furrow_searcher_search(r->searcher, r->queries + i * D, 1, K, &params, again + i * K, ids_again + i * K, NULL),
        FURROW_OK);
  assert_memory_equal(again, distances, sizeof distances);
  assert_memory_equal(ids_again, ids, sizeof ids);
  params.threads = 3;
  assert_int_equal(furrow_searcher_search(r->searcher, r->queries, QUERIES, K, &params, again, ids_again, NULL),
                   FURROW_OK);
  assert_memory_equal(again, distances, sizeof distances);
  assert_memory_equal(ids_again, ids, sizeof ids);
}

static void test_refined(void **state) {
  static const size_t factors[] = {1, 2, 3, 10, MOST_WIDE / K};
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    refined r = set_up(kind % 2 ? FURROW_METRIC_IP : FURROW_METRIC_L2, kind / 2);
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
      for (uint64_t nprobe = 1; nprobe <= 20; nprobe = nprobe * 4 + 1) check(&r, nprobe, factors[i]);
    tear_down(&r);
  }
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refined)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
