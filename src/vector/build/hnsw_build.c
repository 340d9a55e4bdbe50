/* vector/build/hnsw_build.c: builds an HNSW graph (Malkov, Yashunin: Efficient and robust approximate nearest neighbor
 * search using hierarchical navigable small world graphs).
 *
 * Each vector draws its top level. Vectors are inserted from the highest level down. For each, a greedy search from the
 * entry point finds its neighbourhood. On each of its levels it is linked to the nearest vectors, except vectors that
 * are nearer to one that is already linked. */
#include "vector/build/build.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/scan/scan.h"

typedef struct neighbour {
  float key; /* smaller is nearer: the squared distance, or the negated inner product */
  int32_t id;
  bool expanded; /* its links were followed */
} neighbour;

typedef struct builder {
  const float *vectors;
  size_t n, d;
  bool similarity;
  void (*distance)(const float *x, const void *rows, size_t n, size_t d, float *out); /* a kernel of kern/scan/scan.h */
  fw_hnsw *graph;
  int32_t *order;     /* the vectors, highest level first */
  uint32_t *marks;    /* for each vector: the last traversal that reached it */
  uint32_t traversal; /* number of the current traversal */
  int32_t *parents;   /* for each reached vector: the vector whose link leads to it */
  neighbour *found;   /* sorted, nearest first; capacity ef + 1 */
  size_t count;
  neighbour *linked; /* links of a vector without a free slot, and the new link; capacity 2 m + 1 */
  neighbour *chosen; /* capacity 2 m */
} builder;

/* ---- Distances ------------------------------------------------------------------------------------------ */

static float key_between(const builder *b, int32_t i, int32_t j) {
  const float *x = b->vectors + (size_t)i * b->d, *y = b->vectors + (size_t)j * b->d;
  float value;
  b->distance(x, y, 1, b->d, &value);
  return b->similarity ? -value : value;
}

static bool is_nearer(const neighbour *a, const neighbour *b) {
  return a->key < b->key || (a->key == b->key && a->id < b->id);
}

/* Inserts a neighbour into a sorted list of at most `capacity`; the farthest is dropped. Returns its index, or
 * `capacity`. */
static size_t insert_sorted(neighbour *list, size_t *count, size_t capacity, neighbour new) {
  size_t at = *count;
  while (at > 0 && is_nearer(&new, &list[at - 1])) at--;
  if (at == capacity) return capacity;
  if (*count < capacity) ++*count;
  memmove(list + at + 1, list + at, (*count - at - 1) * sizeof *list);
  list[at] = new;
  return at;
}

/* ---- Traversal ------------------------------------------------------------------------------------------ */

/* Returns the links of a vector on a level. */
static int32_t *links_of(const fw_hnsw *graph, int32_t i, int32_t level, size_t *capacity) {
  *capacity = (size_t)(graph->cum[level + 1] - graph->cum[level]);
  return graph->neighbors + graph->offsets[i] + graph->cum[level];
}

static void start_traversal(builder *b) {
  if (++b->traversal == 0) { /* the counter wrapped around */
    memset(b->marks, 0, b->n * sizeof *b->marks);
    b->traversal = 1;
  }
}

/* Follows the links of a vector; returns the lowest position at which a neighbour was inserted. */
static size_t expand_vector(builder *b, int32_t of, int32_t from, int32_t level, size_t ef) {
  size_t capacity, first = ef;
  const int32_t *links = links_of(b->graph, from, level, &capacity);
  for (size_t k = 0; k < capacity && links[k] >= 0; k++) {
    if (b->marks[links[k]] == b->traversal) continue;
    b->marks[links[k]] = b->traversal;
    neighbour new = {.key = key_between(b, of, links[k]), .id = links[k]};
    size_t at = insert_sorted(b->found, &b->count, ef, new);
    if (at < first) first = at;
  }
  return first;
}

/* Fills b->found with the ef vectors of a level nearest to vector `of`, by a search from `entry`. */
static void search_level(builder *b, int32_t of, neighbour entry, int32_t level, size_t ef) {
  start_traversal(b);
  entry.expanded = false;
  b->marks[entry.id] = b->traversal;
  b->found[0] = entry;
  b->count = 1;
  for (size_t at = 0; at < b->count;) {
    if (b->found[at].expanded) {
      at++;
      continue;
    }
    b->found[at].expanded = true;
    size_t first = expand_vector(b, of, b->found[at].id, level, ef);
    at = first <= at ? first : at + 1;
  }
}

/* ---- Linking -------------------------------------------------------------------------------------------- */

/* Selects at most `most` candidates, nearest first: those that are nearer to the vector than to any selected one. */
static size_t select_links(const builder *b, const neighbour *candidates, size_t count, neighbour *chosen,
                           size_t most) {
  size_t chosen_count = 0;
  for (size_t i = 0; i < count && chosen_count < most; i++) {
    bool good = true;
    for (size_t k = 0; good && k < chosen_count; k++)
      good = key_between(b, candidates[i].id, chosen[k].id) >= candidates[i].key;
    if (good) chosen[chosen_count++] = candidates[i];
  }
  return chosen_count;
}

static void set_links(int32_t *links, size_t capacity, const neighbour *to, size_t count) {
  for (size_t k = 0; k < capacity; k++) links[k] = k < count ? to[k].id : -1;
}

/* Adds a link from one vector to another. If the vector has no free slot, its links are selected again. */
static void add_link(builder *b, int32_t from, int32_t to, float key, int32_t level) {
  size_t capacity, count = 0;
  int32_t *links = links_of(b->graph, from, level, &capacity);
  for (size_t k = 0; k < capacity; k++) {
    if (links[k] >= 0) continue;
    links[k] = to;
    return;
  }
  insert_sorted(b->linked, &count, capacity + 1, (neighbour){.key = key, .id = to});
  for (size_t k = 0; k < capacity; k++)
    insert_sorted(b->linked, &count, capacity + 1, (neighbour){.key = key_between(b, from, links[k]), .id = links[k]});
  set_links(links, capacity, b->chosen, select_links(b, b->linked, count, b->chosen, capacity));
}

/* Links a vector to the best of b->found on a level, in both directions. */
static void link_level(builder *b, int32_t vector, int32_t level) {
  size_t capacity;
  int32_t *links = links_of(b->graph, vector, level, &capacity);
  set_links(links, capacity, b->chosen, select_links(b, b->found, b->count, b->chosen, capacity));
  for (size_t k = 0; k < capacity && links[k] >= 0; k++)
    add_link(b, links[k], vector, key_between(b, links[k], vector), level);
}

static void insert_vector(builder *b, int32_t vector) {
  const fw_hnsw *graph = b->graph;
  int32_t top = graph->levels[vector] - 1;
  neighbour entry = {.key = key_between(b, vector, graph->entry_point), .id = graph->entry_point};
  for (int32_t level = graph->max_level; level >= 0; level--) {
    search_level(b, vector, entry, level, level > top ? 1 : FW_HNSW_EF_CONSTRUCTION);
    entry = b->found[0];
    if (level <= top) link_level(b, vector, level);
  }
}

/* ---- Unreachable vectors -------------------------------------------------------------------------------- */

/* Marks all vectors reachable from a vector on the lowest level, with the link that leads to each. */
static void mark_reached(builder *b, int32_t from) {
  int32_t *stack = b->order; /* its contents are no longer needed */
  size_t count = 0, capacity;
  b->marks[from] = b->traversal;
  stack[count++] = from;
  while (count > 0) {
    int32_t at = stack[--count];
    const int32_t *links = links_of(b->graph, at, 0, &capacity);
    for (size_t k = 0; k < capacity && links[k] >= 0; k++) {
      if (b->marks[links[k]] == b->traversal) continue;
      b->marks[links[k]] = b->traversal;
      b->parents[links[k]] = at;
      stack[count++] = links[k];
    }
  }
}

/* Finds a link of a vector that may be replaced: a free slot, otherwise the last link that is not the only path to a
 * vector; NULL if there is none. */
static int32_t *spare_link(const builder *b, int32_t vector) {
  size_t capacity;
  int32_t *links = links_of(b->graph, vector, 0, &capacity);
  for (size_t k = 0; k < capacity; k++)
    if (links[k] < 0) return &links[k];
  for (size_t k = capacity; k-- > 0;)
    if (b->parents[links[k]] != vector) return &links[k];
  return NULL;
}

/* Finds the nearest reachable vector with a replaceable link. It exists, because n vectors are reached by n - 1
 * links. */
static int32_t nearest_with_spare(const builder *b, int32_t vector) {
  int32_t best = b->graph->entry_point;
  float best_key = INFINITY;
  for (size_t i = 0; i < b->n; i++) {
    if (b->marks[i] != b->traversal) continue;
    float key = key_between(b, vector, (int32_t)i);
    if (key >= best_key || !spare_link(b, (int32_t)i)) continue;
    best_key = key;
    best = (int32_t)i;
  }
  return best;
}

/* Selecting links again can leave a vector without incoming links, so that no search would find it. */
static void reach_all(builder *b) {
  start_traversal(b);
  b->parents[b->graph->entry_point] = -1;
  mark_reached(b, b->graph->entry_point);
  for (size_t i = 0; i < b->n; i++) {
    if (b->marks[i] == b->traversal) continue;
    int32_t from = nearest_with_spare(b, (int32_t)i), *link = spare_link(b, from);
    if (!link) return; /* possible only if distances are NaN */
    *link = (int32_t)i;
    b->parents[i] = from;
    mark_reached(b, (int32_t)i);
  }
}

/* ---- The layout ----------------------------------------------------------------------------------------- */

/* The probability of top level l is exp(-l ln m) (1 - 1 / m), down to 1e-9. */
static size_t count_levels(size_t m) {
  double keep = 1 - 1 / (double)m;
  size_t levels = 0;
  while (exp(-(double)levels * log((double)m)) * keep >= 1e-9) levels++;
  return levels;
}

static furrow_status create_levels(fw_hnsw *graph, size_t m, furrow_error *err) {
  size_t levels = count_levels(m);
  void *probas = NULL, *cum = NULL;
  furrow_status status = fw_alloc(&probas, levels, sizeof *graph->probas, err);
  graph->probas = probas;
  if (status == FURROW_OK) status = fw_alloc(&cum, levels + 1, sizeof *graph->cum, err);
  graph->cum = cum;
  if (status != FURROW_OK) return status;
  graph->cum[0] = 0;
  for (size_t l = 0; l < levels; l++) {
    graph->probas[l] = exp(-(double)l * log((double)m)) * (1 - 1 / (double)m);
    graph->cum[l + 1] = graph->cum[l] + (int32_t)(l == 0 ? 2 * m : m);
  }
  graph->proba_count = levels;
  graph->cum_count = levels + 1;
  return FURROW_OK;
}

static int32_t draw_level(const fw_hnsw *graph, fw_rng *rng) {
  double chance = fw_rng_double(rng);
  size_t level = 0;
  for (; level + 1 < graph->proba_count && chance >= graph->probas[level]; level++) chance -= graph->probas[level];
  return (int32_t)level;
}

/* Draws the levels and allocates empty links. */
static furrow_status create_links(fw_hnsw *graph, size_t n, uint64_t seed, furrow_error *err) {
  void *levels = NULL, *offsets = NULL, *neighbors = NULL;
  fw_rng rng;
  fw_rng_init(&rng, seed);
  furrow_status status = fw_alloc(&levels, n, sizeof *graph->levels, err);
  graph->levels = levels;
  if (status == FURROW_OK) status = fw_alloc(&offsets, n + 1, sizeof *graph->offsets, err);
  graph->offsets = offsets;
  if (status != FURROW_OK) return status;
  graph->offsets[0] = 0;
  for (size_t i = 0; i < n; i++) {
    graph->levels[i] = draw_level(graph, &rng) + 1;
    graph->offsets[i + 1] = graph->offsets[i] + (uint64_t)graph->cum[graph->levels[i]];
  }
  status = fw_alloc(&neighbors, (size_t)graph->offsets[n], sizeof *graph->neighbors, err);
  graph->neighbors = neighbors;
  if (status == FURROW_OK) memset(neighbors, 0xff, (size_t)graph->offsets[n] * sizeof *graph->neighbors);
  return status;
}

static furrow_status create_storage(furrow_index *index, const float *vectors, size_t n, furrow_error *err) {
  void *copy = NULL;
  size_t floats;
  if (!fw_size_mul(n, (size_t)index->d, &floats)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_index_create(&index->child[0], FURROW_INDEX_FLAT, index->d, index->metric, err);
  if (status == FURROW_OK) status = fw_alloc(&copy, floats, sizeof *vectors, err);
  if (status != FURROW_OK) return status;
  if (n > 0) memcpy(copy, vectors, floats * sizeof *vectors);
  index->child[0]->flat.vectors = copy;
  index->child[0]->ntotal = (int64_t)n;
  index->child[0]->trained = true;
  return FURROW_OK;
}

static furrow_status create_index(furrow_index **index, const float *vectors, size_t n, int32_t d,
                                  furrow_distance_metric metric, size_t m, uint64_t seed, furrow_error *err) {
  furrow_index *made = NULL;
  furrow_status status = fw_index_create(&made, FURROW_INDEX_HNSW, d, metric, err);
  if (status != FURROW_OK) return status;
  fw_hnsw *graph = &made->hnsw;
  status = create_storage(made, vectors, n, err);
  if (status == FURROW_OK) status = create_levels(graph, m, err);
  if (status == FURROW_OK) status = create_links(graph, n, seed, err);
  if (status != FURROW_OK) {
    furrow_index_free(made);
    return status;
  }
  made->ntotal = (int64_t)n;
  made->trained = true;
  graph->entry_point = graph->max_level = -1;
  graph->ef_construction = FW_HNSW_EF_CONSTRUCTION;
  graph->ef_search = FW_HNSW_EF_SEARCH;
  graph->upper_beam = 1;
  *index = made;
  return FURROW_OK;
}

/* ---- The whole graph ------------------------------------------------------------------------------------ */

static furrow_status create_builder(builder *b, size_t m, furrow_error *err) {
  void *order = NULL, *marks = NULL, *parents = NULL, *near = NULL;
  size_t capacity = FW_HNSW_EF_CONSTRUCTION + 1 + 2 * m + 2 + 2 * m;
  furrow_status status = fw_alloc(&order, b->n, sizeof *b->order, err);
  b->order = order;
  if (status == FURROW_OK) status = fw_alloc_zero(&marks, b->n, sizeof *b->marks, err);
  b->marks = marks;
  if (status == FURROW_OK) status = fw_alloc(&parents, b->n, sizeof *b->parents, err);
  b->parents = parents;
  if (status == FURROW_OK) status = fw_alloc(&near, capacity, sizeof *b->found, err);
  b->found = near;
  if (status != FURROW_OK) return status;
  b->linked = b->found + FW_HNSW_EF_CONSTRUCTION + 1;
  b->chosen = b->linked + 2 * m + 2;
  return FURROW_OK;
}

static void clear_builder(builder *b) {
  fw_free(b->order);
  fw_free(b->marks);
  fw_free(b->parents);
  fw_free(b->found);
}

/* Sorts the vectors by level, highest first, then by number. */
static void set_order(builder *b) {
  size_t at = 0;
  for (int32_t level = (int32_t)b->graph->cum_count; level > 0; level--)
    for (size_t i = 0; i < b->n; i++)
      if (b->graph->levels[i] == level) b->order[at++] = (int32_t)i;
}

static furrow_status build_links(furrow_index *index, size_t m, furrow_error *err) {
  builder b = {.vectors = index->child[0]->flat.vectors,
               .n = (size_t)index->ntotal,
               .d = (size_t)index->d,
               .similarity = index->metric == FURROW_METRIC_IP,
               .distance = index->metric == FURROW_METRIC_IP ? fw_scan_table()->ip_rows : fw_scan_table()->l2_rows,
               .graph = &index->hnsw};
  furrow_status status = create_builder(&b, m, err);
  if (status == FURROW_OK) {
    set_order(&b);
    b.graph->entry_point = b.order[0];
    b.graph->max_level = b.graph->levels[b.order[0]] - 1;
    for (size_t i = 1; i < b.n; i++) insert_vector(&b, b.order[i]);
    reach_all(&b);
  }
  clear_builder(&b);
  return status;
}

furrow_status fw_hnsw_build(furrow_index **index, const float *vectors, size_t n, int32_t d,
                            furrow_distance_metric metric, size_t m, uint64_t seed, furrow_error *err) {
  furrow_index *made = NULL;
  if (m < FW_HNSW_MIN_M || m > FW_HNSW_MAX_M)
    return fw_fail(err, FURROW_E_ARGUMENT, "an HNSW graph has %d to %d links, not %zu", FW_HNSW_MIN_M, FW_HNSW_MAX_M,
                   m);
  if (n > INT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "an HNSW graph has fewer than 2^31 vectors, not %zu", n);
  furrow_status status = create_index(&made, vectors, n, d, metric, m, seed, err);
  if (status == FURROW_OK && n > 0) status = build_links(made, m, err);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}
