/* vector/index/search.c: the k best of each query. */
#include "base/error.h"
#include "vector/search/search_batch.h"

typedef struct search {
  const furrow_searcher *searcher;
  const float *queries;
  size_t k;
  float *distances;
  int64_t *ids;
} search;

static furrow_status search_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  const search *s = context;
  const fw_node *root = s->searcher->root;
  return fw_node_search(root, scratch, s->queries + begin * (size_t)root->index->d, end - begin, s->k, job,
                        s->distances + begin * s->k, s->ids + begin * s->k, err);
}

furrow_status furrow_searcher_search(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                     const furrow_search_params *params, float *distances, int64_t *ids,
                                     furrow_error *err) {
  search s = {.searcher = searcher, .queries = queries, .k = k, .distances = distances, .ids = ids};
  if (k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  return fw_search_parallel(searcher, queries, n, k, params, search_part, &s, err);
}
