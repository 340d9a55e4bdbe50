/* tests/unit/fault/test_fault_search.c: searching when memory ends: whichever allocation fails, the search says so,
 * loses nothing, and the searcher goes on as if nothing had been. */
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/made_kinds.h"
#include "support/made_lists.h"

enum { QUERIES = 6, MOST = QUERIES * KIND_N };

/* ---- One search ---- */

static const int64_t chosen[] = {0, 3, 7, 20, 50, 149, 7919, 15838, 49997, 50000};

static const furrow_id_filter some = {
    .size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_SORTED, .sorted = chosen, .sorted_count = 10};

typedef struct way {
  const char *name;
  size_t k; /* 0: all within a radius */
  const furrow_id_filter *filter;
  unsigned threads;
} way;

static const way ways[] = {{"the best", 7, NULL, 1}, {"many", KIND_N, NULL, 1}, {"of some", 7, &some, 1},
                           {"a radius", 0, NULL, 1}, {"threads", 7, NULL, 3},   {"a radius on threads", 0, NULL, 3}};

typedef struct found {
  size_t count;
  float distances[MOST];
  int64_t ids[MOST];
} found;

static furrow_status search_radius(const furrow_searcher *searcher, const float *queries, size_t n,
                                   const furrow_search_params *params, found *to, furrow_error *err) {
  furrow_range_result *result = NULL;
  const furrow_status status = furrow_searcher_search_range(searcher, queries, n, 12, params, &result, err);
  if (status != FURROW_OK) {
    assert_null(result);
    return status;
  }
  to->count = (size_t)result->starts[n];
  memcpy(to->distances, result->distances, to->count * sizeof *to->distances);
  memcpy(to->ids, result->ids, to->count * sizeof *to->ids);
  furrow_range_result_free(result);
  return status;
}

static furrow_status search(const furrow_searcher *searcher, const float *queries, size_t n, const way *w, found *to,
                            furrow_error *err) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = 4;
  params.filter = w->filter;
  params.threads = w->threads;
  *err = (furrow_error){0};
  if (w->k == 0) return search_radius(searcher, queries, n, &params, to, err);
  to->count = n * w->k;
  return furrow_searcher_search(searcher, queries, n, w->k, &params, to->distances, to->ids, err);
}

static void expect_same(const found *a, const found *b) {
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->distances, b->distances, a->count * sizeof *a->distances);
  assert_memory_equal(a->ids, b->ids, a->count * sizeof *a->ids);
}

static void expect_no_memory(furrow_status status, const furrow_error *err) {
  assert_int_equal(status, FURROW_E_MEMORY);
  assert_int_equal(err->status, FURROW_E_MEMORY);
  assert_true(err->message[0]);
}

/* ---- Every allocation ---- */

/* With the n-th allocation failing; false: there are not so many. *spared: how many failed and were not needed. */
static bool fails_at(long n, const furrow_index *index, const float *queries, size_t count, const way *w,
                     const found *want, size_t *spared) {
  static found got;
  furrow_searcher *searcher = NULL;
  furrow_error err;
  const long live = atomic_load(&alloc_live);
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  alloc_fail_at(n);
  const furrow_status status = search(searcher, queries, count, w, &got, &err);
  const bool failed = atomic_load(&alloc_failed);
  alloc_fail_at(0);
  if (failed && status == FURROW_OK) {
    ++*spared;
  } else if (failed) {
    expect_no_memory(status, &err);
    assert_int_equal(search(searcher, queries, count, w, &got, &err), FURROW_OK);
  }
  expect_same(&got, want);
  furrow_searcher_free(searcher);
  /* the C library keeps memory of threads that ended for the next */
  if (w->threads == 1) assert_int_equal(atomic_load(&alloc_live), live);
  return failed;
}

static void each_search_fails(const furrow_index *index, const float *queries, size_t count, const way *w) {
  static found want;
  furrow_searcher *searcher = NULL;
  furrow_error err;
  long n = 1;
  size_t spared = 0;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  const furrow_status status = search(searcher, queries, count, w, &want, &err);
  furrow_searcher_free(searcher);
  if (status == FURROW_E_UNSUPPORTED) return;
  assert_int_equal(status, FURROW_OK);
  while (fails_at(n, index, queries, count, w, &want, &spared)) n++;
  /* processors are counted and hits of a radius sorted without memory, if need be; nothing else goes on. On threads
   * the n-th is another one every time. */
  const size_t most = 1 + (w->k == 0 ? count : 0);
  if (n <= 2 || (w->threads == 1 && spared > most)) fail_msg("%s: %ld allocations, %zu spared", w->name, n, spared);
}

static void each_creation_fails(const furrow_index *index) {
  furrow_searcher *searcher = NULL;
  for (long n = 1; !searcher; n++) {
    const long live = atomic_load(&alloc_live);
    furrow_error err = {0};
    furrow_searcher_params params;
    furrow_searcher_params_init(&params);
    params.threads = 1;
    alloc_fail_at(n);
    const furrow_status status = furrow_searcher_create(&searcher, index, &params, &err);
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, FURROW_OK);
      continue;
    }
    expect_no_memory(status, &err);
    assert_null(searcher);
    assert_int_equal(atomic_load(&alloc_live), live);
  }
  furrow_searcher_free(searcher);
}

/* ---- Tests ---- */

static void every_kind(void **state) {
  static made_kind kind;
  float queries[QUERIES * KIND_D];
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t c = 0; c < KIND_CASES; c++) {
    furrow_index *index = NULL;
    make_kind(&kind, &kind_cases[c]);
    draw_numbers(&kind, queries, QUERIES * KIND_D, 1);
    assert_int_equal(furrow_index_read(&index, kind.file.bytes, kind.file.size, NULL, NULL, NULL), FURROW_OK);
    each_creation_fails(index);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) each_search_fails(index, queries, QUERIES, &ways[w]);
    furrow_index_free(index);
    index_file_clear(&kind.file);
  }
}

/* One query that is long enough to be shared out over threads. */
static void a_long_query(void **state) {
  const made_spec spec = {
      .d = 64, .nlist = 8, .m = 64, .nbits = 8, .metric = FURROW_METRIC_L2, .scale = 1, .most = 30000};
  const way w = {"shared out", 20, NULL, 3};
  fw_rng rng;
  (void)state;
  if (!FAILING_ALLOC) skip();
  fw_rng_init(&rng, 7);
  furrow_index *index = made_lists(&spec);
  index->ivf.nprobe = spec.nlist;
  float *query = made_floats(&rng, spec.d, 1, 0);
  each_search_fails(index, query, 1, &w);
  fw_free(query);
  furrow_index_free(index);
}

/* A graph that is tuned with vectors of its own has its links afterwards, whatever failed. */
static void tuning_a_graph(void **state) {
  enum { D = 4, N = 60, K = 2, OWN = 3 };
  const int64_t own[OWN] = {0, 20, 40}, truth[OWN * K] = {1, 2, 21, 22, 41, 42};
  furrow_index *index = NULL;
  furrow_index_spec spec;
  furrow_index_tune_params params;
  bool failed = true;
  fw_rng rng;
  (void)state;
  if (!FAILING_ALLOC) skip();
  fw_rng_init(&rng, 8);
  float *vectors = made_floats(&rng, N * D, 1, 0);
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.factory = "HNSW4";
  furrow_index_tune_params_init(&params);
  params.own_ids = own;
  params.threads = 1;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(index, vectors, N, NULL, NULL, NULL), FURROW_OK);
  const fw_hnsw before = index->hnsw;
  for (long n = 1; failed; n++) {
    furrow_error err = {0};
    furrow_index_tuning tuning;
    furrow_index_tuning_init(&tuning);
    alloc_fail_at(n);
    const furrow_status status = furrow_index_tune(index, vectors, OWN, truth, K, &params, &tuning, &err);
    failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (status != FURROW_OK) {
      expect_no_memory(status, &err);
      assert_int_equal(index->hnsw.ef_search, before.ef_search);
    }
    assert_ptr_equal(index->hnsw.neighbors, before.neighbors);
    assert_int_equal(index->hnsw.entry_point, before.entry_point);
    if (status == FURROW_OK) assert_int_equal(index->hnsw.ef_search, tuning.ef_search);
    index->hnsw.ef_search = before.ef_search;
  }
  furrow_index_free(index);
  fw_free(vectors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind),
      cmocka_unit_test(a_long_query),
      cmocka_unit_test(tuning_a_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
