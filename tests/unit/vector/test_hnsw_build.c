/* tests/unit/vector/test_hnsw_build.c: graphs that are built are found good by the reader, lead to the nearest vectors
 * and to all of them. */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/index_check.h"
#include "support/own_dir.h"
#include "vector/build/build.h"

enum { D = 20, QUERIES = 50, K = 10, EF = 64 };

static float *random_vectors(size_t n, size_t d, uint64_t seed, size_t clusters) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  float *vectors = malloc(n * d * sizeof *vectors + 1);
  assert_non_null(vectors);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++)
      vectors[i * d + k] =
          (float)fw_rng_normal(&rng) + (clusters ? 100 * (float)(fw_rng_hash(i % clusters, k) % 7) : 0);
  return vectors;
}

static float key_of(const float *x, const float *y, size_t d, bool ip) {
  float sum = 0;
  for (size_t k = 0; k < d; k++) sum += ip ? -x[k] * y[k] : (x[k] - y[k]) * (x[k] - y[k]);
  return sum;
}

/* ---- A search of its own -------------------------------------------------------------------------------- */

typedef struct hit {
  float key;
  int32_t id;
  bool expanded;
} hit;

static int compare_hits(const void *a, const void *b) {
  const hit *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

/* Expands the nearest of the ef best that is not yet expanded, until all are. */
static size_t walk_level(const furrow_index *index, const float *query, int32_t level, size_t ef, hit *hits,
                         size_t count) {
  const fw_hnsw *graph = &index->hnsw;
  const float *vectors = index->child[0]->flat.vectors;
  size_t d = (size_t)index->d;
  uint8_t *seen = calloc((size_t)index->ntotal, 1);
  for (size_t i = 0; i < count; i++) seen[hits[i].id] = 1, hits[i].expanded = false;
  for (;;) {
    size_t at = 0;
    while (at < count && hits[at].expanded) at++;
    if (at == count) break;
    hits[at].expanded = true;
    const int32_t *links = graph->neighbors + graph->offsets[hits[at].id];
    for (int32_t k = graph->cum[level]; k < graph->cum[level + 1] && links[k] >= 0; k++) {
      if (seen[links[k]]) continue;
      seen[links[k]] = 1;
      float key = key_of(query, vectors + (size_t)links[k] * d, d, index->metric == FURROW_METRIC_IP);
      if (count == ef && key >= hits[count - 1].key) continue;
      if (count < ef) count++;
      hits[count - 1] = (hit){key, links[k], false};
      qsort(hits, count, sizeof *hits, compare_hits);
    }
  }
  free(seen);
  return count;
}

static size_t search(const furrow_index *index, const float *query, hit hits[EF]) {
  const fw_hnsw *graph = &index->hnsw;
  size_t d = (size_t)index->d, count = 1;
  hits[0].id = graph->entry_point;
  hits[0].key = key_of(query, index->child[0]->flat.vectors + (size_t)graph->entry_point * d, d,
                       index->metric == FURROW_METRIC_IP);
  for (int32_t level = graph->max_level; level > 0; level--) count = walk_level(index, query, level, 1, hits, count);
  return walk_level(index, query, 0, EF, hits, count);
}

static double recall_of(const furrow_index *index, const float *queries) {
  size_t n = (size_t)index->ntotal, d = (size_t)index->d, found = 0;
  hit *all = malloc(n * sizeof *all), hits[EF];
  for (size_t q = 0; q < QUERIES; q++) {
    for (size_t i = 0; i < n; i++)
      all[i] =
          (hit){key_of(queries + q * d, index->child[0]->flat.vectors + i * d, d, index->metric == FURROW_METRIC_IP),
                (int32_t)i, false};
    qsort(all, n, sizeof *all, compare_hits);
    size_t count = search(index, queries + q * d, hits);
    for (size_t k = 0; k < K; k++)
      for (size_t h = 0; h < count && h < K; h++) found += hits[h].id == all[k].id;
  }
  free(all);
  return (double)found / (QUERIES * K);
}

/* ---- Checks --------------------------------------------------------------------------------------------- */

static void no_finding(void *user, const furrow_index_finding *finding) {
  (void)user;
  print_error("%s: %s\n", finding->path, finding->message);
  fail();
}

/* The file is read again, and nothing is odd about it: among others, all vectors are reached. */
static void check_file(const furrow_index *index) {
  furrow_error err = {0};
  assert_int_equal(furrow_index_save(index, "graph", &overwriting, &err), FURROW_OK);
  assert_int_equal(furrow_index_verify("graph", NULL, no_finding, NULL, &err), FURROW_OK);
}

static furrow_index *build(const float *vectors, size_t n, size_t d, furrow_distance_metric metric, size_t m) {
  furrow_index *index = NULL;
  assert_int_equal(fw_hnsw_build(&index, vectors, n, (int32_t)d, metric, m, 1234, NULL), FURROW_OK);
  assert_memory_equal(index->child[0]->flat.vectors, vectors, n * d * sizeof *vectors);
  return index;
}

static void graphs_lead_to_the_nearest(void **state) {
  (void)state;
  static const struct {
    size_t n, m, clusters;
    furrow_distance_metric metric;
    double recall;
  } cases[] = {{3000, 16, 0, FURROW_METRIC_L2, 0.95},
               {3000, 32, 0, FURROW_METRIC_L2, 0.97},
               {3000, 16, 40, FURROW_METRIC_L2, 0.95},
               {3000, 32, 0, FURROW_METRIC_IP, 0.9}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float *vectors = random_vectors(cases[i].n, D, 7, cases[i].clusters);
    float *queries = random_vectors(QUERIES, D, 8, cases[i].clusters);
    furrow_index *index = build(vectors, cases[i].n, D, cases[i].metric, cases[i].m);
    double recall = recall_of(index, queries);
    if (recall < cases[i].recall) print_error("case %zu: recall %g\n", i, recall);
    assert_true(recall >= cases[i].recall);
    check_file(index);
    furrow_index_free(index);
    free(vectors);
    free(queries);
  }
}

static void small_and_odd_graphs_are_built(void **state) {
  (void)state;
  for (size_t n = 0; n < 40; n++) {
    float *vectors = random_vectors(n, 3, n, 0);
    furrow_index *index = build(vectors, n, 3, FURROW_METRIC_L2, 2);
    assert_int_equal(index->ntotal, n);
    check_file(index);
    furrow_index_free(index);
    free(vectors);
  }
  float *same = calloc(500 * 5, sizeof *same);
  furrow_index *index = build(same, 500, 5, FURROW_METRIC_L2, 4);
  check_file(index);
  furrow_index_free(index);
  free(same);
}

/* Groups far from each other, with few links: the choice of links would leave some alone. */
static void all_vectors_are_reached(void **state) {
  (void)state;
  float *vectors = random_vectors(2000, 8, 3, 100);
  furrow_index *index = build(vectors, 2000, 8, FURROW_METRIC_L2, 4);
  check_file(index);
  furrow_index_free(index);
  free(vectors);
}

static void levels_follow_their_law(void **state) {
  (void)state;
  float *vectors = random_vectors(4000, 2, 5, 0);
  furrow_index *index = build(vectors, 4000, 2, FURROW_METRIC_L2, 8);
  const fw_hnsw *graph = &index->hnsw;
  size_t above = 0;
  double sum = 0;
  for (size_t i = 0; i < 4000; i++) above += graph->levels[i] > 1;
  for (size_t l = 0; l < graph->proba_count; l++) sum += graph->probas[l];
  assert_true(above > 400 && above < 600); /* 1 / 8 */
  assert_true(fabs(sum - 1) < 1e-8 && fabs(graph->probas[0] - 0.875) < 1e-12);
  assert_int_equal(graph->cum[1], 16);
  assert_int_equal(graph->cum[2], 24);
  assert_int_equal(graph->levels[graph->entry_point], graph->max_level + 1);
  assert_int_equal(graph->ef_construction, 40);
  furrow_index_free(index);
  free(vectors);
}

static void a_seed_gives_the_same_bytes(void **state) {
  (void)state;
  float *vectors = random_vectors(600, D, 9, 0);
  furrow_index *a = NULL, *b = NULL, *c = NULL;
  index_file x = {0}, y = {0}, z = {0};
  assert_int_equal(fw_hnsw_build(&a, vectors, 600, D, FURROW_METRIC_L2, 8, 1, NULL), FURROW_OK);
  assert_int_equal(fw_hnsw_build(&b, vectors, 600, D, FURROW_METRIC_L2, 8, 1, NULL), FURROW_OK);
  assert_int_equal(fw_hnsw_build(&c, vectors, 600, D, FURROW_METRIC_L2, 8, 2, NULL), FURROW_OK);
  write_bytes(a, &x);
  write_bytes(b, &y);
  write_bytes(c, &z);
  assert_same_bytes(&x, &y);
  assert_true(x.size != z.size || memcmp(x.bytes, z.bytes, x.size) != 0);
  index_file_clear(&x);
  index_file_clear(&y);
  index_file_clear(&z);
  furrow_index_free(a);
  furrow_index_free(b);
  furrow_index_free(c);
  free(vectors);
}

static void wrong_sizes_are_refused(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  float one[2] = {0};
  assert_int_equal(fw_hnsw_build(&index, one, 1, 2, FURROW_METRIC_L2, 1, 1, &err), FURROW_E_ARGUMENT);
  assert_int_equal(fw_hnsw_build(&index, one, 1, 2, FURROW_METRIC_L2, 5000, 1, &err), FURROW_E_ARGUMENT);
  assert_int_equal(fw_hnsw_build(&index, one, (size_t)1 << 31, 2, FURROW_METRIC_L2, 8, 1, &err), FURROW_E_ARGUMENT);
  assert_null(index);
}

static void no_memory_leaves_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  float *vectors = random_vectors(50, 3, 1, 0);
  furrow_index *index = NULL;
  for (long n = 1; !index; n++) {
    long live = atomic_load(&alloc_live);
    alloc_fail_at(n);
    furrow_status status = fw_hnsw_build(&index, vectors, 50, 3, FURROW_METRIC_L2, 4, 1, NULL);
    alloc_fail_at(0);
    assert_int_equal(status, index ? FURROW_OK : FURROW_E_MEMORY);
    if (!index) assert_int_equal(atomic_load(&alloc_live), live);
    assert_true(n < 100);
  }
  furrow_index_free(index);
  free(vectors);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(graphs_lead_to_the_nearest),
      IN_DIR(small_and_odd_graphs_are_built),
      IN_DIR(all_vectors_are_reached),
      cmocka_unit_test(levels_follow_their_law),
      cmocka_unit_test(a_seed_gives_the_same_bytes),
      cmocka_unit_test(wrong_sizes_are_refused),
      cmocka_unit_test(no_memory_leaves_nothing),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
