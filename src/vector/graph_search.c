/* vector/graph_search.c: nearest vectors by way of an HNSW graph, in the steps that Faiss takes: down the levels to
 * the nearest of each, then on the lowest with a bounded queue of candidates. */
#include "vector/graph_search.h"

#include "kern/scan.h"

/* The ef nearest that were met. A candidate that was followed up keeps its place, with id -1. */
typedef struct queue {
  fw_hit *heap; /* the farthest at its top */
  size_t count, room, valid;
} queue;

typedef struct walk {
  const fw_hnsw *graph;
  const float *query, *vectors;
  size_t d;
  bool similarity;
  uint8_t *visited;
  int32_t *touched; /* vectors with a mark */
  size_t touched_count;
} walk;

static float key_of(const walk *w, int32_t vector) {
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

static void sift_up(fw_hit *heap, size_t at, fw_hit hit) {
  for (; at > 0 && heap[(at - 1) / 2].key < hit.key; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = hit;
}

static void drop_farthest(queue *q) {
  const fw_hit last = q->heap[--q->count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < q->count; at = child) {
    if (child + 1 < q->count && q->heap[child + 1].key > q->heap[child].key) child++;
    if (q->heap[child].key <= last.key) break;
    q->heap[at] = q->heap[child];
  }
  q->heap[at] = last;
}

static void push(queue *q, fw_hit hit) {
  if (q->count == q->room) {
    if (hit.key >= q->heap[0].key) return;
    q->valid -= q->heap[0].id >= 0;
    drop_farthest(q);
  }
  sift_up(q->heap, q->count++, hit);
  q->valid++;
}

/* The nearest that was not followed up yet; there is one. */
static fw_hit pop_nearest(queue *q) {
  size_t nearest = q->count;
  for (size_t i = q->count; i-- > 0;) {
    if (q->heap[i].id < 0) continue;
    if (nearest == q->count || q->heap[i].key < q->heap[nearest].key) nearest = i;
  }
  const fw_hit hit = q->heap[nearest];
  q->heap[nearest].id = -1;
  q->valid--;
  return hit;
}

static size_t count_below(const queue *q, float key) {
  size_t count = 0;
  for (size_t i = 0; i < q->count; i++) count += q->heap[i].key < key;
  return count;
}

/* ---- The walk ------------------------------------------------------------------------------------------- */

static const int32_t *links(const fw_hnsw *graph, int64_t vector, int32_t level, size_t *count) {
  *count = (size_t)(graph->cum[level + 1] - graph->cum[level]);
  return graph->neighbors + graph->offsets[vector] + graph->cum[level];
}

/* Goes on to the nearest neighbour for as long as that is nearer. */
static void descend(const walk *w, int32_t level, fw_hit *nearest) {
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

static void meet(walk *w, queue *q, fw_hit hit, const fw_choice *choice, fw_sink *sink) {
  w->visited[hit.id] = 1;
  w->touched[w->touched_count++] = (int32_t)hit.id;
  if (hit.key < sink->worst && fw_choice_keeps(choice, hit.id)) fw_sink_take(sink, hit.key, hit.id);
  push(q, hit);
}

/* Ends when ef of the candidates are nearer than the one that would come next. */
static void follow_up(walk *w, queue *q, size_t ef, const fw_choice *choice, fw_sink *sink) {
  while (q->valid > 0) {
    const fw_hit from = pop_nearest(q);
    size_t count;
    if (count_below(q, from.key) >= ef) break;
    const int32_t *to = links(w->graph, from.id, 0, &count);
    for (size_t i = 0; i < count && to[i] >= 0; i++) {
      if (w->visited[to[i]]) continue;
      const float key = key_of(w, to[i]);
      meet(w, q, (fw_hit){key, to[i]}, choice, sink);
    }
  }
}

static furrow_status take_room(walk *w, queue *q, fw_scratch *scratch, size_t n, furrow_error *err) {
  void *heap = NULL;
  furrow_status status = fw_scratch_marks(scratch, n, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heap, q->room, sizeof *q->heap, err);
  if (status != FURROW_OK) return status;
  w->visited = scratch->visited;
  w->touched = scratch->touched;
  q->heap = heap;
  return FURROW_OK;
}

furrow_status fw_graph_search(const furrow_index *index, fw_scratch *scratch, const float *query, int32_t ef,
                              const fw_choice *choice, fw_sink *sink, furrow_error *err) {
  const fw_hnsw *graph = &index->hnsw;
  const size_t n = (size_t)index->ntotal;
  if (n == 0) return FURROW_OK;
  if (ef <= 0) ef = graph->ef_search > 0 ? graph->ef_search : 1;
  walk w = {.graph = graph, .query = query, .vectors = index->child[0]->flat.vectors, .d = (size_t)index->d};
  w.similarity = index->metric == FURROW_METRIC_IP;
  queue q = {.room = (size_t)ef > sink->k ? (size_t)ef : sink->k};
  if (q.room > n) q.room = n;
  furrow_status status = take_room(&w, &q, scratch, n, err);
  if (status != FURROW_OK) return status;
  fw_hit nearest = {key_of(&w, graph->entry_point), graph->entry_point};
  for (int32_t level = graph->max_level; level > 0; level--) descend(&w, level, &nearest);
  meet(&w, &q, nearest, choice, sink);
  follow_up(&w, &q, (size_t)ef, choice, sink);
  for (size_t i = 0; i < w.touched_count; i++) w.visited[w.touched[i]] = 0;
  return sink->status;
}
