/* tests/unit/vector/test_search_rows.c: rows without lists give many queries in a call the results of single queries,
 * bit for bit. */
#include <math.h>
#include <stdlib.h>

#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/edit_index.h"

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

static int all_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(many_queries_find_what_one_finds),
                                     cmocka_unit_test(rows_that_are_too_large)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
