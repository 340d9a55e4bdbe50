/* vector/search/graph_search.c: searches an HNSW graph in the steps of Faiss: greedily down the levels, then on the
 * lowest level with a bounded queue of candidates. */
#include "kern/scan/scan.h"
#include "vector/search/searcher.h"

/* The nearest vectors found so far, at most `capacity`. Two heaps of indices into entry: `far` has all entries with the
 * farthest on top, `near` the entries that are not expanded yet with the nearest on top. */
typedef struct entry {
  fw_hit hit;
  uint32_t waits; /* its index in `near`, or DONE */
} entry;

typedef struct queue {
  entry *entry;
  uint32_t *far, *near; /* [capacity] */
  size_t count, waiting, capacity;
  fw_sink nearest; /* the ef nearest, if capacity is larger */
} queue;

#define DONE UINT32_MAX

typedef struct traversal {
  const fw_hnsw *graph;
  const float *query, *vectors;
  size_t d;
  bool similarity;
  uint8_t *visited;
  int32_t *touched; /* marked vectors */
  size_t touched_count;
} traversal;

static float key_of(const traversal *w, int32_t vector) {
  float key;
  const float *row = w->vectors + (size_t)vector * w->d;
  if (w->similarity) {
    fw_scan_table()->ip_rows(w->query, row, 1, w->d, &key);
    return -key;
  }
  fw_scan_table()->l2_rows(w->query, row, 1, w->d, &key);
  return key;
}

/* ---- The queue ------------------------------------------------------------------------------------------ */

static bool is_farther(const queue *q, uint32_t a, uint32_t b) {
  return q->entry[a].hit.key > q->entry[b].hit.key;
}

static bool is_nearer(const queue *q, uint32_t a, uint32_t b) {
  const fw_hit x = q->entry[a].hit, y = q->entry[b].hit;
  return x.key < y.key || (x.key == y.key && x.id < y.id);
}

/* Inserts `which` into far at the free slot `at` or above it. */
static void far_up(queue *q, size_t at, uint32_t which) {
  for (; at > 0 && is_farther(q, which, q->far[(at - 1) / 2]); at = (at - 1) / 2) q->far[at] = q->far[(at - 1) / 2];
  q->far[at] = which;
}

/* Inserts at the free top or below it. */
static void far_down(queue *q, uint32_t which) {
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < q->count; at = child) {
    if (child + 1 < q->count && is_farther(q, q->far[child + 1], q->far[child])) child++;
    if (!is_farther(q, q->far[child], which)) break;
    q->far[at] = q->far[child];
  }
  q->far[at] = which;
}

static void near_set(queue *q, size_t at, uint32_t which) {
  q->near[at] = which;
  q->entry[which].waits = (uint32_t)at;
}

/* Inserts `which` at the free slot `at`, or above or below it. */
static void near_put(queue *q, size_t at, uint32_t which) {
  for (; at > 0 && is_nearer(q, which, q->near[(at - 1) / 2]); at = (at - 1) / 2)
    near_set(q, at, q->near[(at - 1) / 2]);
  for (size_t child; (child = 2 * at + 1) < q->waiting; at = child) {
    if (child + 1 < q->waiting && is_nearer(q, q->near[child + 1], q->near[child])) child++;
    if (!is_nearer(q, q->near[child], which)) break;
    near_set(q, at, q->near[child]);
  }
  near_set(q, at, which);
}

static void near_take_out(queue *q, uint32_t which) {
  const size_t at = q->entry[which].waits;
  const uint32_t last = q->near[--q->waiting];
  q->entry[which].waits = DONE;
  if (last != which) near_put(q, at, last);
}

static void push(queue *q, fw_hit hit) {
  const bool full = q->count == q->capacity;
  if (full && hit.key >= q->entry[q->far[0]].hit.key) return;
  const uint32_t which = full ? q->far[0] : (uint32_t)q->count;
  if (full && q->entry[which].waits != DONE) near_take_out(q, which);
  q->entry[which].hit = hit;
  if (full)
    far_down(q, which);
  else
    far_up(q, q->count++, which);
  q->waiting++;
  near_put(q, q->waiting - 1, which);
  if (q->nearest.k > 0) fw_sink_offer(&q->nearest, hit.key, hit.id);
}

/* Removes the nearest entry that is not expanded yet; there must be one. Of equally near ones, the one with the lowest
 * number. */
static fw_hit pop_nearest(queue *q) {
  const uint32_t which = q->near[0];
  near_take_out(q, which);
  return q->entry[which].hit;
}

/* Whether ef of the vectors found so far are nearer. */
static bool is_late(const queue *q, float key) {
  return q->nearest.k > 0 && q->nearest.count == q->nearest.k && q->nearest.worst < key;
}

/* ---- Traversal ------------------------------------------------------------------------------------------ */

static const int32_t *links(const fw_hnsw *graph, int64_t vector, int32_t level, size_t *count) {
  *count = (size_t)(graph->cum[level + 1] - graph->cum[level]);
  return graph->neighbors + graph->offsets[vector] + graph->cum[level];
}

/* Moves to the nearest neighbour until none is nearer. */
static void descend_level(const traversal *w, int32_t level, fw_hit *nearest) {
  for (int64_t from = -1; from != nearest->id;) {
    size_t count;
    const int32_t *to = links(w->graph, nearest->id, level, &count);
    from = nearest->id;
    for (size_t i = 0; i < count && to[i] >= 0; i++) {
      const float key = key_of(w, to[i]);
      if (key < nearest->key) *nearest = (fw_hit){key, to[i]};
    }
  }
}

static void meet(traversal *w, queue *q, fw_hit hit, const fw_id_filter *id_filter, fw_sink *sink) {
  w->visited[hit.id] = 1;
  w->touched[w->touched_count++] = (int32_t)hit.id;
  if (hit.key < sink->worst && fw_id_filter_keeps(id_filter, hit.id)) fw_sink_take(sink, hit.key, hit.id);
  push(q, hit);
}

/* Expands candidates until ef of them are nearer than the next one. */
static void follow_up(traversal *w, queue *q, const fw_id_filter *id_filter, fw_sink *sink) {
  while (q->waiting > 0) {
    const fw_hit from = pop_nearest(q);
    size_t count;
    if (is_late(q, from.key)) break;
    const int32_t *to = links(w->graph, from.id, 0, &count);
    for (size_t i = 0; i < count && to[i] >= 0; i++) {
      if (w->visited[to[i]]) continue;
      const float key = key_of(w, to[i]);
      meet(w, q, (fw_hit){key, to[i]}, id_filter, sink);
    }
  }
}

static furrow_status take_queue(traversal *w, queue *q, fw_scratch *scratch, size_t n, size_t ef, furrow_error *err) {
  void *entries = NULL, *heaps = NULL, *nearest = NULL;
  furrow_status status = fw_scratch_marks(scratch, n, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &entries, q->capacity, sizeof *q->entry, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heaps, 2 * q->capacity, sizeof *q->far, err);
  if (status == FURROW_OK && ef < q->capacity)
    status = fw_arena_take(&scratch->arena, &nearest, ef, sizeof(fw_hit), err);
  if (status != FURROW_OK) return status;
  w->visited = scratch->visited;
  w->touched = scratch->touched;
  q->entry = entries;
  q->far = heaps;
  q->near = q->far + q->capacity;
  fw_sink_init_best(&q->nearest, nearest, ef < q->capacity ? ef : 0);
  return FURROW_OK;
}

furrow_status fw_graph_search(const furrow_index *index, fw_scratch *scratch, const float *query, int32_t ef,
                              const fw_id_filter *id_filter, fw_sink *sink, furrow_error *err) {
  const fw_hnsw *graph = &index->hnsw;
  const size_t n = (size_t)index->ntotal;
  if (n == 0) return FURROW_OK;
  if (ef <= 0) ef = graph->ef_search > 0 ? graph->ef_search : 1;
  traversal w = {.graph = graph, .query = query, .vectors = index->child[0]->flat.vectors, .d = (size_t)index->d};
  w.similarity = index->metric == FURROW_METRIC_IP;
  queue q = {.capacity = (size_t)ef > sink->k ? (size_t)ef : sink->k};
  if (q.capacity > n) q.capacity = n;
  furrow_status status = take_queue(&w, &q, scratch, n, (size_t)ef, err);
  if (status != FURROW_OK) return status;
  fw_hit nearest = {key_of(&w, graph->entry_point), graph->entry_point};
  for (int32_t level = graph->max_level; level > 0; level--) descend_level(&w, level, &nearest);
  meet(&w, &q, nearest, id_filter, sink);
  follow_up(&w, &q, id_filter, sink);
  for (size_t i = 0; i < w.touched_count; i++) w.visited[w.touched[i]] = 0;
  return sink->status;
}
