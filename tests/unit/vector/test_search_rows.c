/* tests/unit/vector/test_search_rows.c: rows without lists give many queries in a call the results of single queries,
 * bit for bit; what keeps the best of them. */
#include <math.h>
#include <stdlib.h>

#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/edit_index.h"
#include "vector/search/sink.h"

enum { N = 1100, QUERIES = 70, MOST_D = 300, MOST_K = 30 };

typedef struct fixture {
  float vectors[N * MOST_D], queries[QUERIES * MOST_D];
  float distances[2][QUERIES * MOST_K];
  int64_t ids[2][QUERIES * MOST_K];
} fixture;

typedef struct rows_case {
  int32_t d;
  const char *factory;
  furrow_distance_metric metric;
  float shift, scale; /* far from 0, distances lose most of their digits in products */
} rows_case;

/* Some vectors occur twice, and some queries are among them. */
static void fill_fixture(fixture *f, const rows_case *c) {
  const size_t d = (size_t)c->d;
  fw_rng rng;
  fw_rng_init(&rng, 9);
  fill_random(&rng, f->vectors, N * d);
  fill_random(&rng, f->queries, QUERIES * d);
  for (size_t i = 0; i < N * d; i++) f->vectors[i] = c->shift + c->scale * f->vectors[i];
  for (size_t i = 0; i < QUERIES * d; i++) f->queries[i] = c->shift + c->scale * f->queries[i];
  memcpy(f->vectors + 600 * d, f->vectors, 20 * d * sizeof(float));
  memcpy(f->queries, f->vectors + 5 * d, 10 * d * sizeof(float));
}

static furrow_index *build(const fixture *f, const rows_case *c) {
  furrow_index_spec spec;
  furrow_index *index = NULL;
  furrow_index_spec_init(&spec);
  spec.d = c->d;
  spec.metric = c->metric;
  spec.factory = c->factory;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  if (!info.trained) assert_int_equal(furrow_index_train(index, f->vectors, N, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(index, f->vectors, N, NULL, NULL, NULL), FURROW_OK);
  return index;
}

static void search(const furrow_searcher *searcher, const float *queries, size_t n, size_t k, unsigned threads,
                   const furrow_id_filter *filter, float *distances, int64_t *ids) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.threads = threads;
  params.filter = filter;
  assert_int_equal(furrow_searcher_search(searcher, queries, n, k, &params, distances, ids, NULL), FURROW_OK);
}

static void expect_same(fixture *f, const furrow_searcher *searcher, size_t d, size_t k,
                        const furrow_id_filter *filter) {
  for (size_t i = 0; i < QUERIES; i++)
    search(searcher, f->queries + i * d, 1, k, 1, filter, f->distances[0] + i * k, f->ids[0] + i * k);
  for (unsigned threads = 1; threads <= 2; threads++) {
    search(searcher, f->queries, QUERIES, k, threads, filter, f->distances[1], f->ids[1]);
    assert_memory_equal(f->ids[1], f->ids[0], QUERIES * k * sizeof(int64_t));
    assert_memory_equal(f->distances[1], f->distances[0], QUERIES * k * sizeof(float));
  }
}

static void expect_case(fixture *f, const rows_case *c) {
  furrow_searcher *searcher = NULL;
  furrow_id_filter filter;
  fill_fixture(f, c);
  furrow_index *index = build(f, c);
  furrow_id_filter_init(&filter);
  filter.first = 300;
  filter.end = 605;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  expect_same(f, searcher, (size_t)c->d, 1, NULL);
  expect_same(f, searcher, (size_t)c->d, MOST_K, NULL);
  expect_same(f, searcher, (size_t)c->d, 10, &filter);
  furrow_searcher_free(searcher);
  furrow_index_free(index);
}

static void many_queries_find_what_one_finds(void **state) {
  static const rows_case cases[] = {
      {1, "Flat", FURROW_METRIC_L2, 0, 1},          {16, "Flat", FURROW_METRIC_IP, 0, 1},
      {37, "Flat", FURROW_METRIC_L2, 1000, 1},      {37, "IDMap2,Flat", FURROW_METRIC_IP, -3, 1},
      {64, "Flat", FURROW_METRIC_L2, 0, 1e17F},     {MOST_D, "PCA20,Flat", FURROW_METRIC_L2, 0, 1e-20F},
      {MOST_D, "SQ8", FURROW_METRIC_L2, 0.5F, 1},   {40, "SQ4", FURROW_METRIC_IP, 0, 1},
      {24, "L2norm,SQfp16", FURROW_METRIC_L2, 0, 1}};
  (void)state;
  fixture *f = malloc(sizeof *f);
  assert_non_null(f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_case(f, &cases[i]);
  free(f);
}

/* The square of such a row is not a finite float, although distances to it may be. */
static void rows_that_are_too_large(void **state) {
  static const rows_case c = {4, "Flat", FURROW_METRIC_L2, 0, 1};
  (void)state;
  fixture *f = malloc(sizeof *f);
  assert_non_null(f);
  fill_fixture(f, &c);
  for (size_t i = 0; i < QUERIES; i++) f->queries[i * 4] = 9e18F;
  furrow_index *index = build(f, &c);
  float *stored = index->flat.vectors; /* adding refuses them, files may have them */
  for (size_t i = 0; i < N; i += 7) stored[i * 4] = 2e19F;
  stored[3] = NAN;
  stored[21] = INFINITY;
  furrow_searcher *searcher = NULL;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  expect_same(f, searcher, 4, MOST_K, NULL);
  furrow_searcher_free(searcher);
  furrow_index_free(index);
  free(f);
}

/* ---- Keeping the best ------------------------------------------------------------------------------------ */

enum { SINK_K = 300, MOST_HITS = 3000 };

static int64_t id_of_place(const void *context, int64_t place) {
  return ((const int64_t *)context)[place];
}

/* A sink that is cut now and then keeps what a heap keeps, whatever keys are equal. Keys are whole numbers below
 * `kinds`, so that few kinds make many equal; ids are those of places, in any order. */
static void compare_sinks(size_t k, size_t n, size_t kinds, uint64_t seed) {
  fw_hit *heap = malloc(k * sizeof *heap), *memory = malloc(fw_sink_hits(k) * sizeof *memory);
  int64_t ids[MOST_HITS];
  fw_sink best, many;
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < n; i++) ids[i] = (int64_t)i;
  fw_rng_shuffle(&rng, ids, n, sizeof *ids);
  fw_sink_init_best(&best, heap, k);
  fw_sink_init_many(&many, memory, k);
  best.source = many.source = (fw_id_source){.id_of = id_of_place, .context = ids};
  for (size_t i = 0; i < n; i++) {
    const float key = (float)fw_rng_below(&rng, kinds);
    fw_sink_offer(&best, key, (int64_t)i);
    fw_sink_offer(&many, key, (int64_t)i);
    assert_true(many.worst >= best.worst);
  }
  fw_sink_sort(&best);
  fw_sink_sort(&many);
  assert_int_equal(best.count, many.count);
  for (size_t i = 0; i < best.count; i++) {
    assert_true(best.heap[i].key == many.heap[i].key);
    assert_int_equal(best.heap[i].id, many.heap[i].id);
  }
  free(heap);
  free(memory);
}

static void many_keeps_what_a_heap_keeps(void **state) {
  static const size_t counts[] = {1, 23, 24, 25, 40, 100, SINK_K};
  static const size_t kinds[] = {1, 2, 5, 50, 1000, 1 << 24};
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
      for (uint64_t seed = 1; seed <= 5; seed++) {
        const size_t k = counts[i];
        const size_t lengths[] = {1, k - 1, k, k + 1, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k + 2, MOST_HITS};
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) compare_sinks(k, lengths[l], kinds[j], seed);
      }
}

static int by_size(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void kth_of_numbers(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    float numbers[500], sorted[500], heap[500];
    fw_rng rng;
    fw_rng_init(&rng, seed);
    const size_t n = 1 + (size_t)fw_rng_below(&rng, 500), kinds = 1 + (size_t)fw_rng_below(&rng, 2 * n);
    for (size_t i = 0; i < n; i++) sorted[i] = numbers[i] = (float)fw_rng_below(&rng, kinds) - 100;
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t k = 1; k <= n; k += 1 + n / 7) {
      assert_true(fw_kth_largest(numbers, n, k, heap) == sorted[n - k]);
      assert_true(fw_kth_smallest(numbers, n, k) == sorted[k - 1]);
    }
    qsort(numbers, n, sizeof *numbers, by_size);
    assert_memory_equal(numbers, sorted, n * sizeof *numbers);
  }
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(many_queries_find_what_one_finds),
                                     cmocka_unit_test(rows_that_are_too_large)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  const struct CMUnitTest sinks[] = {cmocka_unit_test(many_keeps_what_a_heap_keeps), cmocka_unit_test(kth_of_numbers)};
  return each_isa(all_tests) + cmocka_run_group_tests(sinks, NULL, NULL);
}
