/* tests/fuzz/fuzz_index_search.c: index files from hostile bytes are searched, at every level of instructions.
 *
 * Whatever was read can be searched or is refused. Results are in order, kept by the filter, and the same for one
 * thread and several, and for queries together and alone. Levels add up in their own order, so that only the status is
 * the same for all of them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "fuzz/harness/index_harness.h"
#include "fuzz/harness/isa_harness.h"

enum { QUERIES = 5, K = 7, MOST_D = 300, MOST_LISTS = 2000, MOST_VECTORS = 20000 };

typedef struct found {
  furrow_status status;
  float distances[QUERIES * K];
  int64_t ids[QUERIES * K];
} found;

/* Numbers near those of the index: small ones, zeros, some of the file's own bytes. */
static void make_queries(float *queries, size_t n, const uint8_t *data, size_t size) {
  for (size_t i = 0; i < n; i++) {
    float own = 0;
    memcpy(&own, data + i * 4 % (size - 3), sizeof own);
    queries[i] = fabsf(own) < 1e6f && i % 3 == 2 ? own : (float)(i % 7) - 2;
  }
}

static found search(const furrow_searcher *searcher, const float *queries, size_t n,
                    const furrow_search_params *params) {
  found f = {.status = FURROW_OK};
  furrow_error err = {0};
  f.status = furrow_searcher_search(searcher, queries, n, K, params, f.distances, f.ids, &err);
  check(f.status == FURROW_OK || err.message[0]);
  return f;
}

static bool is_kept(const furrow_search_params *params, int64_t id) {
  return !params->filter || furrow_id_filter_keeps(params->filter, id);
}

/* Results come before what stands for none, and none of them twice in a row. */
static void check_results(const found *f, const furrow_search_params *params, bool similarity) {
  for (size_t i = 0; i < QUERIES * K; i++) {
    const bool first = i % K == 0;
    if (f->ids[i] == -1 && f->distances[i] == (similarity ? -FLT_MAX : FLT_MAX)) continue;
    check(is_kept(params, f->ids[i]));
    if (first || isnan(f->distances[i]) || isnan(f->distances[i - 1])) continue;
    check(similarity ? f->distances[i - 1] >= f->distances[i] : f->distances[i - 1] <= f->distances[i]);
  }
}

static void check_same(const found *a, const found *b, size_t first, size_t n) {
  check(a->status == b->status);
  if (a->status != FURROW_OK) return;
  check(memcmp(a->ids + first * K, b->ids, n * K * sizeof *a->ids) == 0);
  check(memcmp(a->distances + first * K, b->distances, n * K * sizeof *a->distances) == 0);
}

/* One search, by several threads, and query by query. */
static furrow_status search_all_ways(const furrow_searcher *searcher, const float *queries, size_t d,
                                     furrow_search_params params, bool similarity) {
  params.threads = 1;
  const found all = search(searcher, queries, QUERIES, &params);
  if (all.status == FURROW_OK) check_results(&all, &params, similarity);
  for (size_t i = 0; i < QUERIES; i++) {
    const found one = search(searcher, queries + i * d, 1, &params);
    if (all.status == FURROW_OK || QUERIES == 1) check_same(&all, &one, i, 1);
  }
  params.threads = 3;
  const found many = search(searcher, queries, QUERIES, &params);
  check_same(&all, &many, 0, QUERIES);
  return all.status;
}

static void search_range(const furrow_searcher *searcher, const float *queries, furrow_search_params params) {
  furrow_range_result *one = NULL, *many = NULL;
  params.threads = 1;
  const furrow_status status = furrow_searcher_search_range(searcher, queries, QUERIES, 3, &params, &one, NULL);
  params.threads = 3;
  check(furrow_searcher_search_range(searcher, queries, QUERIES, 3, &params, &many, NULL) == status);
  if (status == FURROW_OK) {
    const size_t count = one->starts[QUERIES];
    check(memcmp(one->starts, many->starts, (QUERIES + 1) * sizeof *one->starts) == 0);
    check(count == 0 || memcmp(one->ids, many->ids, count * sizeof *one->ids) == 0);
    check(count == 0 || memcmp(one->distances, many->distances, count * sizeof *one->distances) == 0);
    for (size_t i = 0; i < count; i++) check(is_kept(&params, one->ids[i]));
  }
  furrow_range_result_free(one);
  furrow_range_result_free(many);
}

/* The best by the file's own settings, by few and by many lists, and with a filter. */
static furrow_status search_index(const furrow_index *index, const float *queries, bool similarity) {
  static const furrow_id_filter filter = {.size = sizeof filter, .kind = FURROW_ID_FILTER_RANGE, .first = 1, .end = 6};
  const furrow_searcher_params prepare = {.size = sizeof prepare, .threads = 1};
  furrow_search_params params;
  furrow_searcher *searcher = NULL;
  furrow_error err = {0};
  const size_t d = (size_t)index->d;
  furrow_search_params_init(&params);
  furrow_status status = furrow_searcher_create(&searcher, index, &prepare, &err);
  check(status == FURROW_OK || (err.message[0] && !searcher));
  if (status == FURROW_OK) {
    status = search_all_ways(searcher, queries, d, params, similarity);
    params.nprobe = 3;
    search_range(searcher, queries, params);
    params.filter = &filter;
    params.max_codes = 4;
    search_all_ways(searcher, queries, d, params, similarity);
    params.max_codes = 0;
    search_range(searcher, queries, params);
  }
  furrow_searcher_free(searcher);
  return status;
}

static bool is_small(const furrow_index *index) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  bool small = info.d <= MOST_D && info.nlist <= MOST_LISTS && info.ntotal <= MOST_VECTORS;
  for (size_t i = 0; small && furrow_index_child_name(index, i); i++)
    if (furrow_index_child(index, i)) small = is_small(furrow_index_child(index, i));
  return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static float queries[QUERIES * MOST_D];
  furrow_index *index = NULL;
  furrow_index_info info;
  furrow_status first = FURROW_OK;
  furrow_index_info_init(&info);
  if (size < 8 || furrow_index_read(&index, data, size, "/nowhere/index", NULL, NULL) != FURROW_OK) return 0;
  if (is_small(index)) {
    make_queries(queries, QUERIES * (size_t)index->d, data, size);
    furrow_index_get_info(index, &info);
    for (EACH_ISA(isa)) {
      use_isa(isa);
      const furrow_status status = search_index(index, queries, info.metric == FURROW_METRIC_IP);
      if (isa == next_isa(FW_ISA_GENERIC)) first = status;
      check(status == first);
    }
  }
  furrow_index_free(index);
  return 0;
}
