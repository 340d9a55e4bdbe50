/* vector/search/search_range.c: finds all vectors within a radius. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/search/searcher.h"

typedef struct range_search {
  const furrow_searcher *searcher;
  const float *queries;
  float radius;         /* as a key */
  fw_range_hits *found; /* n elements */
} range_search;

static int by_id(const void *a, const void *b) {
  const fw_hit *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->key < y->key ? -1 : x->key > y->key;
}

void fw_hits_sort_by_id(fw_hit *hits, size_t count) {
  if (count > 1) qsort(hits, count, sizeof *hits, by_id);
}

static furrow_status search_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  const range_search *s = context;
  const fw_node *root = s->searcher->root;
  for (size_t i = begin; i < end; i++) {
    fw_sink sink;
    fw_sink_init_range(&sink, s->radius);
    const furrow_status status = fw_node_range(root, scratch, s->queries + i * (size_t)root->index->d, job, &sink, err);
    s->found[i] = (fw_range_hits){.hits = sink.hits, .count = sink.hit_count};
    if (status != FURROW_OK && sink.status != FURROW_OK) return fw_fail_memory(err, sink.hit_capacity * sizeof(fw_hit));
    if (status != FURROW_OK) return status;
    fw_hits_sort_by_id(sink.hits, sink.hit_count);
    fw_arena_reset(&scratch->arena);
  }
  return FURROW_OK;
}

furrow_status fw_range_result_make(const fw_range_hits *all, size_t n, bool similarity, furrow_range_result **result,
                                   furrow_error *err) {
  void *made = NULL, *starts = NULL, *ids = NULL, *distances = NULL;
  size_t total = 0;
  for (size_t i = 0; i < n; i++) total += all[i].count;
  furrow_status status = fw_alloc_zero(&made, 1, sizeof **result, err);
  if (status == FURROW_OK) status = fw_alloc(&starts, n + 1, sizeof *(*result)->starts, err);
  if (status == FURROW_OK) status = fw_alloc(&ids, total, sizeof *(*result)->ids, err);
  if (status == FURROW_OK) status = fw_alloc(&distances, total, sizeof *(*result)->distances, err);
  if (status != FURROW_OK) {
    fw_free(made);
    fw_free(starts);
    fw_free(ids);
    return status;
  }
  furrow_range_result *r = made;
  *r = (furrow_range_result){.n = n, .starts = starts, .ids = ids, .distances = distances};
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    r->starts[i] = at;
    for (size_t j = 0; j < all[i].count; j++, at++) {
      r->ids[at] = all[i].hits[j].id;
      r->distances[at] = similarity ? -all[i].hits[j].key : all[i].hits[j].key;
    }
  }
  r->starts[n] = at;
  *result = r;
  return FURROW_OK;
}

furrow_status furrow_searcher_search_range(const furrow_searcher *searcher, const float *queries, size_t n,
                                           float radius, const furrow_search_params *params,
                                           furrow_range_result **result, furrow_error *err) {
  if (searcher->shards) return furrow_shards_search_range(searcher->shards, queries, n, radius, params, result, err);
  const fw_node *node = searcher->root;
  while (node->child) node = node->child;
  const bool similarity = fw_metric_is_similarity(node->index->metric);
  void *all = NULL;
  if (isnan(radius)) return fw_fail(err, FURROW_E_ARGUMENT, "radius is NaN");
  furrow_status status = fw_alloc_zero(&all, n, sizeof(fw_range_hits), err);
  if (status != FURROW_OK) return status;
  range_search s = {.searcher = searcher, .queries = queries, .radius = similarity ? -radius : radius, .found = all};
  status = fw_search_parallel(searcher, queries, n, 0, params, search_part, &s, err);
  if (status == FURROW_OK) status = fw_range_result_make(s.found, n, similarity, result, err);
  for (size_t i = 0; i < n; i++) fw_free(s.found[i].hits);
  fw_free(all);
  return status;
}

void furrow_range_result_free(furrow_range_result *result) {
  if (!result) return;
  fw_free(result->starts);
  fw_free(result->ids);
  fw_free(result->distances);
  fw_free(result);
}
