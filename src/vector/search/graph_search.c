/* vector/search/graph_search.c: searches an HNSW graph in the steps of Faiss: greedily down the levels, then on the
 * lowest level with a bounded queue of candidates. */
#include "base/error.h"
#include "kern/scan/scan.h"
#include "vector/index/rounded_rows.h"
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
} queue;

#define DONE UINT32_MAX

/* A search that is led by rounded distances has more candidates, so that it finds no fewer of the nearest vectors than
 * one that is led by exact distances. */
enum { ROUNDED_MORE = 3 };

typedef struct traversal {
  const fw_hnsw *graph;
  const furrow_index *storage;
  const float *query;
  void (*distance)(const float *x, const void *rows, size_t n, size_t d, float *out); /* a kernel of kern/scan/scan.h */
  size_t d;
  bool similarity;
  const fw_rounded *rounded; /* NULL: exact distances lead the search */
  uint8_t *rounded_query;
  float square; /* square of the rounded query */
  uint8_t *visited;
  int32_t *touched; /* marked vectors */
  size_t touched_count;
  float *keys;    /* keys of the links of one vector */
  float *decoded; /* one vector */
} traversal;

/* ---- Distances ------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void prefetch_bytes(const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)from + at);
}

static void find_exact_keys(const traversal *w, const int32_t *ids, size_t n, float *keys) {
  enum { AHEAD = 2 };
  const size_t size = fw_index_row_size(w->storage);
  const char *rows = fw_index_rows(w->storage);
  for (size_t i = 0; i < n && i < AHEAD; i++) prefetch_bytes(rows + (size_t)ids[i] * size, size);
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) prefetch_bytes(rows + (size_t)ids[i + AHEAD] * size, size);
    w->distance(w->query, fw_row_vector(w->storage, (size_t)ids[i], w->decoded), 1, w->d, &keys[i]);
    if (w->similarity) keys[i] = -keys[i];
  }
}

static void find_keys(const traversal *w, const int32_t *ids, size_t n, float *keys) {
  if (w->rounded)
    fw_rounded_keys(w->rounded, w->rounded_query, w->square, ids, n, keys);
  else
    find_exact_keys(w, ids, n, keys);
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

/* Returns false if the hit is too far. */
static bool push(queue *q, fw_hit hit) {
  const bool full = q->count == q->capacity;
  if (full && hit.key >= q->entry[q->far[0]].hit.key) return false;
  const uint32_t which = full ? q->far[0] : (uint32_t)q->count;
  if (full && q->entry[which].waits != DONE) near_take_out(q, which);
  q->entry[which].hit = hit;
  if (full)
    far_down(q, which);
  else
    far_up(q, q->count++, which);
  q->waiting++;
  near_put(q, q->waiting - 1, which);
  return true;
}

/* Removes the nearest entry that is not expanded yet; there must be one. Of equally near ones, the one with the lowest
 * number. */
static fw_hit pop_nearest(queue *q) {
  const uint32_t which = q->near[0];
  near_take_out(q, which);
  return q->entry[which].hit;
}

/* ---- Traversal ------------------------------------------------------------------------------------------ */

static const int32_t *links(const fw_hnsw *graph, int64_t vector, int32_t level, size_t *count) {
  *count = (size_t)(graph->cum[level + 1] - graph->cum[level]);
  return graph->neighbors + graph->offsets[vector] + graph->cum[level];
}

/* Moves to the nearest neighbour until none is nearer. */
static void descend_level(const traversal *w, int32_t level, fw_hit *nearest) {
  for (int64_t from = -1; from != nearest->id;) {
    size_t capacity, count = 0;
    const int32_t *to = links(w->graph, nearest->id, level, &capacity);
    while (count < capacity && to[count] >= 0) count++;
    from = nearest->id;
    find_keys(w, to, count, w->keys);
    for (size_t i = 0; i < count; i++)
      if (w->keys[i] < nearest->key) *nearest = (fw_hit){w->keys[i], to[i]};
  }
}

/* Marks the vectors that a vector links to. Those that are new are appended to w->touched; returns their number. */
static size_t visit_links(traversal *w, int64_t from) {
  size_t capacity, count = 0;
  const int32_t *to = links(w->graph, from, 0, &capacity);
  int32_t *fresh = w->touched + w->touched_count;
  for (size_t i = 0; i < capacity && to[i] >= 0; i++) {
    fresh[count] = to[i];
    count += !w->visited[to[i]];
    w->visited[to[i]] = 1;
    __builtin_prefetch(&w->graph->offsets[to[i]]);
  }
  w->touched_count += count;
  return count;
}

static inline __attribute__((always_inline)) void prefetch_links(const traversal *w, int64_t vector) {
  size_t capacity;
  const int32_t *to = links(w->graph, vector, 0, &capacity);
  prefetch_bytes(to, capacity * sizeof *to);
}

static void meet(const traversal *w, queue *q, fw_hit hit, const fw_id_filter *id_filter, fw_sink *sink) {
  if (sink && hit.key < sink->worst && fw_id_filter_keeps(id_filter, hit.id)) fw_sink_take(sink, hit.key, hit.id);
  if (push(q, hit)) prefetch_links(w, hit.id);
}

/* Expands candidates until none waits: the queue drops candidates beyond its capacity, the farthest first. Vectors that
 * are reached are offered to the sink, if there is one. */
static void follow_up(traversal *w, queue *q, fw_hit start, const fw_id_filter *id_filter, fw_sink *sink) {
  w->visited[start.id] = 1;
  w->touched[w->touched_count++] = (int32_t)start.id;
  meet(w, q, start, id_filter, sink);
  while (q->waiting > 0) {
    const fw_hit from = pop_nearest(q);
    const int32_t *fresh = w->touched + w->touched_count;
    const size_t count = visit_links(w, from.id);
    find_keys(w, fresh, count, w->keys);
    for (size_t i = 0; i < count; i++) meet(w, q, (fw_hit){w->keys[i], fresh[i]}, id_filter, sink);
  }
  for (size_t i = 0; i < w->touched_count; i++) w->visited[w->touched[i]] = 0;
}

/* ---- The search ----------------------------------------------------------------------------------------- */

/* At most as many links as a vector of n has. A file may announce more for levels that no vector reaches. */
static size_t most_links(const fw_hnsw *graph, size_t n) {
  const uint64_t announced = (uint64_t)graph->cum[graph->cum_count - 1], all = (uint64_t)graph->offsets[n];
  return (size_t)(announced < all ? announced : all);
}

static furrow_status take_queue(traversal *w, queue *q, fw_scratch *scratch, size_t n, furrow_error *err) {
  FW_TRY(fw_scratch_marks(scratch, n, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &q->entry, q->capacity, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &q->far, 2 * q->capacity, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &w->keys, most_links(w->graph, n), err));
  if (w->storage->kind != FURROW_INDEX_FLAT) FW_TRY(FW_ARENA_TAKE(&scratch->arena, &w->decoded, w->d, err));
  w->visited = scratch->visited;
  w->touched = scratch->touched;
  q->near = q->far + q->capacity;
  return FURROW_OK;
}

/* Offers candidates to the sink by their exact distances. */
static void refine_hits(const traversal *w, const int32_t *ids, size_t n, float *keys, fw_sink *sink) {
  find_exact_keys(w, ids, n, keys);
  for (size_t i = 0; i < n; i++) fw_sink_offer(sink, keys[i], ids[i]);
}

/* A search led by rounded distances: as many vectors as the queue holds, of those that the filter keeps, are compared
 * exactly. */
static furrow_status search_rounded(traversal *w, queue *q, fw_scratch *scratch, fw_hit start,
                                    const fw_id_filter *id_filter, fw_sink *sink, furrow_error *err) {
  fw_hit *heap = NULL;
  float *keys = NULL;
  int32_t *ids = NULL;
  fw_sink kept;
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &heap, q->capacity, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &keys, q->capacity, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &ids, q->capacity, err));
  fw_sink_init_best(&kept, heap, q->capacity);
  const bool filtered = id_filter->filter != NULL;
  follow_up(w, q, start, id_filter, filtered ? &kept : NULL);
  const size_t count = filtered ? kept.count : q->count;
  for (size_t i = 0; i < count; i++) ids[i] = (int32_t)(filtered ? heap[i].id : q->entry[i].hit.id);
  refine_hits(w, ids, count, keys, sink);
  return sink->status;
}

furrow_status fw_graph_search(const furrow_index *index, const fw_rounded *rounded, fw_scratch *scratch,
                              const float *query, int32_t ef, const fw_id_filter *id_filter, fw_sink *sink,
                              furrow_error *err) {
  const fw_hnsw *graph = &index->hnsw;
  const size_t n = (size_t)index->ntotal;
  if (n == 0) return FURROW_OK;
  size_t candidates = ef > 0 ? (size_t)ef : graph->ef_search > 0 ? (size_t)graph->ef_search : 1;
  if (candidates < sink->k) candidates = sink->k; /* as in hnswlib: fewer would not find k vectors */
  traversal w = {.graph = graph, .storage = index->child[0], .query = query, .d = (size_t)index->d};
  w.similarity = index->metric == FURROW_METRIC_IP;
  w.distance = w.similarity ? fw_scan_table()->ip_rows : fw_scan_table()->l2_rows;
  if (rounded && rounded->rows) {
    FW_TRY(FW_ARENA_TAKE(&scratch->arena, &w.rounded_query, rounded->stride, err));
    if (fw_rounded_query(rounded, query, w.rounded_query, &w.square)) w.rounded = rounded;
  }
  if (w.rounded) candidates += ROUNDED_MORE;
  queue q = {.capacity = candidates < n ? candidates : n};
  FW_TRY(take_queue(&w, &q, scratch, n, err));
  fw_hit nearest = {.id = graph->entry_point};
  find_keys(&w, &graph->entry_point, 1, &nearest.key);
  for (int32_t level = graph->max_level; level > 0; level--) descend_level(&w, level, &nearest);
  if (w.rounded) return search_rounded(&w, &q, scratch, nearest, id_filter, sink, err);
  follow_up(&w, &q, nearest, id_filter, sink);
  return sink->status;
}
