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
  assert_int_equal(fw_hnsw_build(&index, vectors, n, (int32_t)d, metric, m, 1234, NULL, NULL), FURROW_OK);
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
  assert_int_equal(graph->ef_construction, 100);
  furrow_index_free(index);
  free(vectors);
}

static void a_seed_gives_the_same_bytes(void **state) {
  (void)state;
  float *vectors = random_vectors(600, D, 9, 0);
  furrow_index *a = NULL, *b = NULL, *c = NULL;
  index_file x = {0}, y = {0}, z = {0};
  assert_int_equal(fw_hnsw_build(&a, vectors, 600, D, FURROW_METRIC_L2, 8, 1, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_hnsw_build(&b, vectors, 600, D, FURROW_METRIC_L2, 8, 1, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_hnsw_build(&c, vectors, 600, D, FURROW_METRIC_L2, 8, 2, NULL, NULL), FURROW_OK);
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
  assert_int_equal(fw_hnsw_build(&index, one, 1, 2, FURROW_METRIC_L2, 1, 1, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(fw_hnsw_build(&index, one, 1, 2, FURROW_METRIC_L2, 5000, 1, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(fw_hnsw_build(&index, one, (size_t)1 << 31, 2, FURROW_METRIC_L2, 8, 1, NULL, &err),
                   FURROW_E_ARGUMENT);
  assert_null(index);
}

/* ---- As indexes of factory strings ---------------------------------------------------------------------- */

static furrow_index *create(const char *factory, size_t d, furrow_distance_metric metric) {
  furrow_index_spec spec;
  furrow_index *index = NULL;
  furrow_index_spec_init(&spec);
  spec.factory = factory;
  spec.d = (int32_t)d;
  spec.metric = metric;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  return index;
}

static void add(furrow_index *index, const float *vectors, size_t n, unsigned threads) {
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.threads = threads;
  assert_int_equal(furrow_index_add(index, vectors, n, &params, NULL, NULL), FURROW_OK);
}

static furrow_index *fill(const char *factory, const float *vectors, size_t n, size_t d, furrow_distance_metric metric,
                          unsigned threads) {
  furrow_index *index = create(factory, d, metric);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  if (!info.trained) assert_int_equal(furrow_index_train(index, vectors, n, NULL, NULL), FURROW_OK);
  add(index, vectors, n, threads);
  return index;
}

static void search_ids(const furrow_index *index, const float *queries, size_t n, int32_t ef, int64_t *ids) {
  furrow_searcher *searcher = NULL;
  furrow_search_params params;
  float *distances = malloc(n * K * sizeof *distances);
  furrow_search_params_init(&params);
  params.ef_search = ef;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_search(searcher, queries, n, K, &params, distances, ids, NULL), FURROW_OK);
  furrow_searcher_free(searcher);
  free(distances);
}

/* The share of the K nearest, by an exact search over the same vectors, that the index finds. */
static double shared_with_flat(const furrow_index *index, const float *vectors, size_t n, const float *queries) {
  furrow_index *flat = fill("Flat", vectors, n, (size_t)index->d, index->metric, 1);
  int64_t want[QUERIES * K], found[QUERIES * K];
  size_t shared = 0;
  search_ids(flat, queries, QUERIES, 0, want);
  search_ids(index, queries, QUERIES, EF, found);
  for (size_t i = 0; i < QUERIES; i++)
    for (size_t a = 0; a < K; a++)
      for (size_t b = 0; b < K; b++) shared += want[i * K + a] == found[i * K + b];
  furrow_index_free(flat);
  return (double)shared / (QUERIES * K);
}

static void assert_recall(const furrow_index *index, const float *vectors, size_t n, const float *queries,
                          double least) {
  const double recall = shared_with_flat(index, vectors, n, queries);
  if (recall < least) print_error("%zu vectors of %d: recall %g\n", n, (int)index->d, recall);
  assert_true(recall >= least);
}

/* Vectors that are rounded, and groups of vectors that are too near to each other for that. */
static void threads_do_not_change_the_graph(void **state) {
  (void)state;
  enum { MANY = 6000 };
  static const struct {
    const char *factory;
    furrow_distance_metric metric;
    size_t clusters;
  } cases[] = {{"HNSW16", FURROW_METRIC_L2, 0},
               {"HNSW8", FURROW_METRIC_IP, 0},
               {"HNSW8", FURROW_METRIC_L2, 40},
               {"HNSW8,SQ8", FURROW_METRIC_L2, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    float *vectors = random_vectors(MANY, D, 11, cases[c].clusters);
    float *queries = random_vectors(QUERIES, D, 12, cases[c].clusters);
    index_file first = {0};
    for (unsigned threads = 1; threads <= 3; threads++) {
      index_file file = {0};
      furrow_index *index = fill(cases[c].factory, vectors, MANY, D, cases[c].metric, threads);
      write_bytes(index, threads == 1 ? &first : &file);
      if (threads > 1) assert_same_bytes(&file, &first);
      if (threads == 1) assert_recall(index, vectors, MANY, queries, 0.9);
      if (threads == 1) check_file(index);
      index_file_clear(&file);
      furrow_index_free(index);
    }
    index_file_clear(&first);
    free(vectors);
    free(queries);
  }
}

static void every_dimension_is_built(void **state) {
  (void)state;
  static const size_t dimensions[] = {1, 2, 3, 7, 16, 33, 64, 100, 256, 1024};
  for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++) {
    const size_t d = dimensions[i];
    float *vectors = random_vectors(300, d, d, 0), *queries = random_vectors(QUERIES, d, d + 1, 0);
    for (int ip = 0; ip < 2; ip++) {
      const furrow_distance_metric metric = ip ? FURROW_METRIC_IP : FURROW_METRIC_L2;
      furrow_index *index = fill("HNSW16", vectors, 300, d, metric, 1);
      assert_recall(index, vectors, 300, queries, ip ? 0.8 : 0.95);
      furrow_index_free(index);
      index = fill("HNSW16,SQ8", vectors, 300, d, metric, 1);
      assert_recall(index, vectors, 300, queries, d < 3 ? 0 : 0.75);
      check_file(index);
      furrow_index_free(index);
    }
    free(vectors);
    free(queries);
  }
}

static void vectors_are_added_in_steps(void **state) {
  (void)state;
  enum { N = 2500 };
  float *vectors = random_vectors(N, D, 21, 0), *queries = random_vectors(QUERIES, D, 22, 0);
  furrow_index *index = create("HNSW16", D, FURROW_METRIC_L2);
  for (size_t at = 0, step = 1; at < N; at += step, step = step < 400 ? 3 * step : 7) {
    if (step > N - at) step = N - at;
    add(index, vectors + at * D, step, 2);
    assert_int_equal(index->ntotal, at + step);
  }
  assert_recall(index, vectors, N, queries, 0.95);
  check_file(index);
  furrow_index_free(index);
  free(vectors);
  free(queries);
}

typedef struct removing {
  size_t of, but; /* of each `of` vectors, `but` stay */
} removing;

static bool stays(void *user, int64_t id) {
  const removing *r = user;
  return (size_t)id % r->of < r->but;
}

/* The vectors that stay get the numbers of their places; an id map keeps their ids. */
static void removed_vectors_leave_no_gaps(void **state) {
  (void)state;
  enum { N = 3000 };
  static const removing cases[] = {{3, 2}, {40, 39}, {10, 1}, {N, 1}, {N, 0}, {1, 1}};
  float *vectors = random_vectors(N, D, 31, 20), *queries = random_vectors(QUERIES, D, 32, 20);
  float *left = malloc(N * D * sizeof *left);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    removing r = cases[c];
    furrow_id_filter filter;
    size_t count = 0;
    furrow_id_filter_init(&filter);
    filter.kind = FURROW_ID_FILTER_CALLBACK;
    filter.keep = stays;
    filter.user = &r;
    filter.invert = true;
    int64_t kept[N];
    for (size_t i = 0; i < N; i++) {
      if (!stays(&r, (int64_t)i)) continue;
      kept[count] = (int64_t)i;
      memcpy(left + count++ * D, vectors + i * D, D * sizeof *left);
    }
    for (int mapped = 0; mapped < 2; mapped++) {
      furrow_index *index = fill(mapped ? "IDMap2,HNSW8" : "HNSW8", vectors, N, D, FURROW_METRIC_L2, 2);
      uint64_t removed = 0;
      assert_int_equal(furrow_index_remove(index, &filter, &removed, NULL), FURROW_OK);
      assert_int_equal(removed, N - count);
      assert_int_equal(index->ntotal, count);
      check_file(index);
      if (mapped) {
        assert_memory_equal(index->id_map.ids, kept, count * sizeof *kept);
      } else if (count > K) {
        assert_recall(index, left, count, queries, 0.9);
      }
      if (!mapped) {
        add(index, vectors, 500, 2); /* it grows again */
        memcpy(left + count * D, vectors, (count + 500 <= N ? 500 : 0) * D * sizeof *left);
        if (count + 500 <= N) assert_recall(index, left, count + 500, queries, 0.9);
        check_file(index);
      }
      furrow_index_free(index);
    }
  }
  free(vectors);
  free(queries);
  free(left);
}

/* ---- Many removals ---- */

typedef struct many_removals {
  size_t n, clusters;
  const char *factory;
  furrow_distance_metric metric;
} many_removals;

static bool in_round(void *user, int64_t id) {
  return fw_rng_hash(*(const uint64_t *)user, (uint64_t)id) % 50 == 0;
}

/* The share of the K nearest that `index` and `fresh` find. */
static void compare_recall(const furrow_index *index, const furrow_index *fresh, const float *vectors, size_t n,
                           size_t clusters, double *recall) {
  enum { MANY = 2000, FEW_EF = 24 };
  furrow_index *flat = fill("Flat", vectors, n, D, index->metric, 1);
  float *queries = random_vectors(MANY, D, 42, clusters);
  int64_t *want = malloc(MANY * K * sizeof *want), *found = malloc(MANY * K * sizeof *found);
  search_ids(flat, queries, MANY, 0, want);
  for (int other = 0; other < 2; other++) {
    size_t shared = 0;
    search_ids(other ? fresh : index, queries, MANY, FEW_EF, found);
    for (size_t i = 0; i < MANY; i++)
      for (size_t a = 0; a < K; a++)
        for (size_t b = 0; b < K; b++) shared += want[i * K + a] == found[i * K + b];
    recall[other] = (double)shared / (MANY * K);
  }
  free(want);
  free(found);
  free(queries);
  furrow_index_free(flat);
}

/* After 20 removals of a fiftieth each, a graph finds as much as a graph of the vectors that are left. */
static void many_removals_keep_the_recall(void **state) {
  (void)state;
  static const many_removals cases[] = {{6000, 0, "HNSW8", FURROW_METRIC_L2},
                                        {6000, 0, "HNSW16", FURROW_METRIC_L2},
                                        {3000, 0, "HNSW16", FURROW_METRIC_IP},
                                        {6000, 30, "HNSW8", FURROW_METRIC_L2}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const many_removals *m = &cases[c];
    size_t left = m->n;
    double recall[2];
    float *vectors = random_vectors(left, D, 41, m->clusters);
    furrow_index *index = fill(m->factory, vectors, left, D, m->metric, 2);
    for (uint64_t round = 0; round < 20; round++) {
      furrow_id_filter filter;
      size_t count = 0;
      furrow_id_filter_init(&filter);
      filter.kind = FURROW_ID_FILTER_CALLBACK;
      filter.keep = in_round;
      filter.user = &round;
      assert_int_equal(furrow_index_remove(index, &filter, NULL, NULL), FURROW_OK);
      for (size_t i = 0; i < left; i++)
        if (!in_round(&round, (int64_t)i)) memmove(vectors + count++ * D, vectors + i * D, D * sizeof *vectors);
      left = count;
    }
    assert_int_equal(index->ntotal, left);
    check_file(index);
    furrow_index *fresh = fill(m->factory, vectors, left, D, m->metric, 2);
    compare_recall(index, fresh, vectors, left, m->clusters, recall);
    if (recall[0] < recall[1] - 0.01)
      fail_msg("%s, %zu clusters: recall %g, of a new graph %g", m->factory, m->clusters, recall[0], recall[1]);
    furrow_index_free(index);
    furrow_index_free(fresh);
    free(vectors);
  }
}

/* Vectors that are not finite keep their numbers, and are never found. */
static void skipped_vectors_are_not_linked(void **state) {
  (void)state;
  enum { N = 400 };
  float *vectors = random_vectors(N, D, 41, 0);
  int64_t found[N * K];
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.skip_nan = true;
  for (size_t i = 0; i < N; i += i < 3 ? 1 : 5) vectors[i * D + i % D] = NAN;
  furrow_index *index = create("HNSW8", D, FURROW_METRIC_L2);
  uint64_t skipped = 0;
  assert_int_equal(furrow_index_add(index, vectors, 2, &params, &skipped, NULL), FURROW_OK);
  assert_int_equal(skipped, 2);
  assert_int_equal(furrow_index_add(index, vectors + 2 * D, N - 2, &params, &skipped, NULL), FURROW_OK);
  assert_int_equal(index->ntotal, N);
  for (size_t i = 0; i < N; i++) {
    if (furrow_first_invalid_vector(vectors + i * D, 1, D) == 0) continue;
    search_ids(index, vectors + i * D, 1, EF, found);
    assert_int_equal(found[0], i);
    for (size_t k = 0; k < K; k++)
      assert_int_equal(furrow_first_invalid_vector(vectors + (size_t)found[k] * D, 1, D), 1);
  }
  furrow_index_free(index);
  free(vectors);
}

static void filters_hold_in_graphs(void **state) {
  (void)state;
  enum { N = 5000 };
  float *vectors = random_vectors(N, D, 51, 0);
  furrow_index *index = fill("HNSW16", vectors, N, D, FURROW_METRIC_L2, 2);
  furrow_searcher *searcher = NULL;
  furrow_search_params params;
  furrow_id_filter filter;
  int64_t ids[K];
  float distances[K];
  removing r = {2, 1};
  furrow_id_filter_init(&filter);
  filter.kind = FURROW_ID_FILTER_CALLBACK;
  filter.keep = stays;
  filter.user = &r;
  furrow_search_params_init(&params);
  params.ef_search = EF;
  params.filter = &filter;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  for (size_t i = 0; i < N; i += 100) {
    assert_int_equal(furrow_searcher_search(searcher, vectors + i * D, 1, K, &params, distances, ids, NULL), FURROW_OK);
    assert_int_equal(ids[0], i); /* even, and found */
    assert_true(distances[0] == 0);
    for (size_t k = 0; k < K; k++) assert_true(ids[k] % 2 == 0 && (k == 0 || distances[k - 1] <= distances[k]));
  }
  furrow_searcher_free(searcher);
  furrow_index_free(index);
  free(vectors);
}

/* What fails leaves the index as it was. */
static void no_memory_leaves_an_index_as_it_was(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  float *vectors = random_vectors(60, 3, 1, 0);
  furrow_id_filter filter;
  furrow_id_filter_init(&filter);
  filter.kind = FURROW_ID_FILTER_RANGE;
  filter.end = 20;
  for (int removes = 0; removes < 2; removes++) {
    furrow_index *index = fill("HNSW4", vectors, 40, 3, FURROW_METRIC_L2, 1);
    index_file before = {0};
    write_bytes(index, &before);
    furrow_status status = FURROW_E_MEMORY;
    for (long n = 1; status != FURROW_OK; n++) {
      index_file after = {0};
      alloc_fail_at(n);
      status = removes ? furrow_index_remove(index, &filter, NULL, NULL)
                       : furrow_index_add(index, vectors + 40 * 3, 20, NULL, NULL, NULL);
      alloc_fail_at(0);
      if (status == FURROW_OK) break;
      assert_int_equal(status, FURROW_E_MEMORY);
      write_bytes(index, &after);
      assert_same_bytes(&before, &after);
      index_file_clear(&after);
      assert_true(n < 200);
    }
    index_file_clear(&before);
    furrow_index_free(index);
  }
  free(vectors);
}

static void no_memory_leaves_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  float *vectors = random_vectors(50, 3, 1, 0);
  furrow_index *index = NULL;
  for (long n = 1; !index; n++) {
    long live = atomic_load(&alloc_live);
    alloc_fail_at(n);
    furrow_status status = fw_hnsw_build(&index, vectors, 50, 3, FURROW_METRIC_L2, 4, 1, NULL, NULL);
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
      IN_DIR(threads_do_not_change_the_graph),
      IN_DIR(every_dimension_is_built),
      IN_DIR(vectors_are_added_in_steps),
      IN_DIR(removed_vectors_leave_no_gaps),
      IN_DIR(many_removals_keep_the_recall),
      cmocka_unit_test(skipped_vectors_are_not_linked),
      cmocka_unit_test(filters_hold_in_graphs),
      cmocka_unit_test(no_memory_leaves_an_index_as_it_was),
      cmocka_unit_test(no_memory_leaves_nothing),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
