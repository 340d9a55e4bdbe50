/* tests/unit/vector/test_graph_search.c: the walk through a graph meets what a walk with plain lists meets. */
#include "vector/search/searcher.h"

#include <float.h>

#include "kern/scan/scan.h"
#include "support/each_isa.h"
#include "support/made_lists.h"
#include "vector/build/build.h"

enum { N = 2500, D = 6, MOST = 600 };

/* ---- The plain walk: everything is looked at every time ---- */

typedef struct plain_queue {
  fw_hit hit[MOST];
  bool done[MOST];
  size_t count, capacity;
} plain_queue;

static void plain_push(plain_queue *q, fw_hit hit) {
  size_t farthest = 0;
  for (size_t i = 1; i < q->count; i++)
    if (q->hit[i].key > q->hit[farthest].key) farthest = i;
  if (q->count == q->capacity && hit.key >= q->hit[farthest].key) return;
  const size_t at = q->count < q->capacity ? q->count++ : farthest;
  q->hit[at] = hit;
  q->done[at] = false;
}

static size_t plain_nearest(const plain_queue *q) {
  size_t nearest = q->count;
  for (size_t i = 0; i < q->count; i++)
    if (!q->done[i] && (nearest == q->count || q->hit[i].key < q->hit[nearest].key)) nearest = i;
  return nearest;
}

static float key_of(const furrow_index *index, const float *query, int64_t vector) {
  float key;
  fw_scan_table()->l2_rows(query, index->child[0]->flat.vectors + (size_t)vector * D, 1, D, &key);
  return key;
}

static fw_hit plain_descend(const furrow_index *index, const float *query) {
  const fw_hnsw *g = &index->hnsw;
  fw_hit best = {key_of(index, query, g->entry_point), g->entry_point};
  for (int32_t level = g->max_level; level > 0; level--) {
    for (int64_t from = -1; from != best.id;) {
      from = best.id;
      for (int32_t l = g->cum[level]; l < g->cum[level + 1]; l++) {
        const int32_t to = g->neighbors[g->offsets[from] + (size_t)l];
        if (to < 0) break;
        const float key = key_of(index, query, to);
        if (key < best.key) best = (fw_hit){key, to};
      }
    }
  }
  return best;
}

static void plain_walk(const furrow_index *index, const float *query, size_t ef, size_t k, fw_sink *sink) {
  const fw_hnsw *g = &index->hnsw;
  static bool met[N];
  plain_queue q = {.capacity = ef > k ? ef : k};
  memset(met, 0, sizeof met);
  const fw_hit first = plain_descend(index, query);
  met[first.id] = true;
  fw_sink_offer(sink, first.key, first.id);
  plain_push(&q, first);
  for (size_t at; (at = plain_nearest(&q)) < q.count;) {
    const fw_hit from = q.hit[at];
    q.done[at] = true;
    for (int32_t l = 0; l < g->cum[1]; l++) {
      const int32_t to = g->neighbors[g->offsets[from.id] + (size_t)l];
      if (to < 0) break;
      if (met[to]) continue;
      met[to] = true;
      const float key = key_of(index, query, to);
      fw_sink_offer(sink, key, to);
      plain_push(&q, (fw_hit){key, to});
    }
  }
}

static void as_a_plain_walk(void **state) {
  static const size_t efs[] = {1, 2, 16, 64, 500}, ks[] = {1, 10, 100, MOST};
  const fw_id_filter all = {0};
  fw_rng rng;
  furrow_index *index = NULL;
  fw_scratch *scratch = NULL;
  (void)state;
  fw_rng_init(&rng, 8);
  float *vectors = made_floats(&rng, N * D, 1, 0), *queries = made_floats(&rng, 5 * D, 1, 0);
  assert_int_equal(fw_hnsw_build(&index, vectors, N, D, FURROW_METRIC_L2, 8, 1, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_scratch_create(&scratch, NULL), FURROW_OK);
  for (size_t i = 0; i < 5 * 20; i++) {
    const size_t ef = efs[i / 4 % 5], k = ks[i % 4];
    const float *query = queries + i / 20 * D;
    fw_hit want_heap[MOST], heap[MOST];
    fw_sink want, sink;
    fw_sink_init_best(&want, want_heap, k);
    fw_sink_init_best(&sink, heap, k);
    plain_walk(index, query, ef, k, &want);
    assert_int_equal(fw_graph_search(index, NULL, scratch, query, (int32_t)ef, &all, &sink, NULL), FURROW_OK);
    fw_arena_reset(&scratch->arena);
    fw_sink_sort(&want);
    fw_sink_sort(&sink);
    assert_int_equal(sink.count, want.count);
    assert_int_equal(sink.count, k); /* however few candidates were asked for */
    for (size_t j = 0; j < sink.count; j++)
      assert_true(sink.heap[j].id == want.heap[j].id && sink.heap[j].key == want.heap[j].key);
  }
  fw_scratch_free(scratch);
  furrow_index_free(index);
  fw_free(vectors);
  fw_free(queries);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_plain_walk)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
