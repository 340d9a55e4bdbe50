/* vector/build/hnsw_build.c: builds an HNSW graph (Malkov, Yashunin: Efficient and robust approximate nearest neighbor
 * search using hierarchical navigable small world graphs).
 *
 * Each vector draws its top level. Vectors are inserted from the highest level down, in batches. For each vector of a
 * batch, a greedy search from the entry point finds its neighbourhood among the vectors of earlier batches; on each of
 * its levels it is linked to the nearest vectors, except vectors that are nearer to an already linked vector. Then the
 * links in the other direction are added, for each vector that gets some. Both steps run on many threads. The sizes of
 * batches depend on the numbers of vectors alone, so the graph does not depend on the number of threads.
 *
 * Distances are computed from rounded vectors (vector/index/rounded_rows.h) if these are precise enough. */
#include "vector/build/build.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/scan/scan.h"
#include "vector/data/parallel.h"
#include "vector/index/rounded_rows.h"

enum {
  BATCH_SHARE = 32,      /* a batch has at most 1 / 32 of the vectors that are linked already */
  BATCH_MOST = 4096,     /* vectors of a batch */
  BATCH_LINKS = 1 << 18, /* slots of all vectors of a batch */
  INSERT_PART = 8,       /* vectors per task */
  LINK_PART = 16,        /* vectors that get links, per task */
  CHECKED = 8,           /* selected links that a candidate is compared with at a time */
  BULK_SHARE = 128,      /* fewer new vectors than 1 / 128 of all are not worth a pass over all */
};

typedef struct neighbour {
  float key; /* smaller is nearer: the squared distance, or the negated inner product */
  int32_t id;
  bool expanded; /* its links were followed */
} neighbour;

/* The memory of one thread. */
typedef struct worker {
  atomic_bool busy;
  uint8_t *marks;   /* a bit for each vector that the current traversal has reached; otherwise 0 */
  int32_t *reached; /* the marked vectors */
  size_t reached_count;
  neighbour *found; /* sorted, nearest first; capacity ef + 1 */
  size_t count;
  neighbour *linked; /* links of a vector without a free slot, and the new links */
  neighbour *chosen; /* capacity widest */
  int32_t *ids;      /* vectors to compare, */
  float *keys;       /* keys of these candidates */
  float *x, *y;      /* decoded vectors */
} worker;

/* Vectors that get links from the vectors of a batch on a level. */
typedef struct incoming {
  int32_t *to;     /* the vectors, in the order in which they were first met */
  uint32_t *begin; /* begins of the sources of each vector in `from`, and the end of the last; capacity of `to` + 1 */
  int32_t *from;   /* sources by vector */
  size_t count;
  int32_t *group; /* for each vector of the index: its position in `to`, or -1 */
} incoming;

typedef struct builder {
  const furrow_index *storage;
  size_t n, d, ef;
  size_t widest; /* most links of a vector on a level */
  bool similarity;
  void (*distance)(const float *x, const void *rows, size_t n, size_t d, float *out); /* a kernel of kern/scan/scan.h */
  fw_rounded rounded;
  fw_hnsw *graph;
  fw_pool *pool;
  worker *workers;
  size_t worker_count;
  int32_t *order; /* the vectors to insert, highest level first */
  size_t order_count;
  incoming in;
  size_t batch_most;
  bool is_bulk;
  int32_t *parents, *stack; /* for reach_all */
  /* The current batch, */
  const int32_t *batch;
  size_t batch_count;
  int32_t level; /* the level whose incoming links are added */
} builder;

/* ---- Distances ------------------------------------------------------------------------------------------ */

/* The keys of vectors `ids` from vector `of`. */
static void find_keys(const builder *b, worker *w, int32_t of, const int32_t *ids, size_t n, float *keys) {
  const fw_rounded *r = &b->rounded;
  if (r->rows) {
    fw_rounded_keys(r, r->rows + (size_t)of * r->stride, r->squares ? r->squares[of] : 0, ids, n, keys);
    return;
  }
  const float *x = fw_row_vector(b->storage, (size_t)of, w->x);
  for (size_t i = 0; i < n; i++) {
    b->distance(x, fw_row_vector(b->storage, (size_t)ids[i], w->y), 1, b->d, &keys[i]);
    if (b->similarity) keys[i] = -keys[i];
  }
}

static bool is_nearer(const neighbour *a, const neighbour *b) {
  return a->key < b->key || (a->key == b->key && a->id < b->id);
}

/* Inserts a neighbour into a sorted list of at most `capacity`; the farthest is dropped. Returns its index, or
 * `capacity`. */
static size_t insert_sorted(neighbour *list, size_t *count, size_t capacity, neighbour new) {
  size_t at = 0, end = *count;
  while (at < end) {
    const size_t middle = at + (end - at) / 2;
    if (is_nearer(&new, &list[middle]))
      end = middle;
    else
      at = middle + 1;
  }
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

/* Marks a vector as reached; returns whether it was before. */
static inline bool mark(worker *w, int32_t i) {
  const uint8_t bit = (uint8_t)(1U << (i % 8)), was = w->marks[i / 8];
  w->marks[i / 8] = was | bit;
  return was & bit;
}

static void clear_marks(worker *w) {
  for (size_t i = 0; i < w->reached_count; i++) w->marks[w->reached[i] / 8] = 0;
  w->reached_count = 0;
}

static inline __attribute__((always_inline)) void prefetch_links(const builder *b, int32_t i, int32_t level) {
  size_t capacity;
  const char *links = (const char *)links_of(b->graph, i, level, &capacity);
  for (size_t at = 0; at < capacity * sizeof(int32_t); at += 64) __builtin_prefetch(links + at);
}

/* Follows the links of a vector; returns the lowest position at which a neighbour was inserted. */
static size_t expand_vector(const builder *b, worker *w, int32_t of, int32_t from, int32_t level, size_t ef) {
  size_t capacity, count = 0, first = ef;
  const int32_t *links = links_of(b->graph, from, level, &capacity);
  int32_t *ids = w->reached + w->reached_count;
  for (size_t k = 0; k < capacity && links[k] >= 0; k++) {
    ids[count] = links[k];
    count += !mark(w, links[k]);
    __builtin_prefetch(&b->graph->offsets[links[k]]);
  }
  w->reached_count += count;
  find_keys(b, w, of, ids, count, w->keys);
  for (size_t k = 0; k < count; k++) {
    if (w->count == ef && w->keys[k] >= w->found[ef - 1].key) continue;
    const size_t at = insert_sorted(w->found, &w->count, ef, (neighbour){.key = w->keys[k], .id = ids[k]});
    if (at < first) first = at;
    prefetch_links(b, ids[k], level);
  }
  return first;
}

/* Fills w->found with the ef vectors of a level nearest to vector `of`, by a search from `entry`. */
static void search_level(const builder *b, worker *w, int32_t of, neighbour entry, int32_t level, size_t ef) {
  entry.expanded = false;
  mark(w, entry.id);
  w->reached[w->reached_count++] = entry.id;
  w->found[0] = entry;
  w->count = 1;
  for (size_t at = 0; at < w->count;) {
    if (w->found[at].expanded) {
      at++;
      continue;
    }
    w->found[at].expanded = true;
    if (at + 1 < w->count) prefetch_links(b, w->found[at + 1].id, level);
    const size_t first = expand_vector(b, w, of, w->found[at].id, level, ef);
    at = first <= at ? first : at + 1;
  }
  clear_marks(w);
}

static neighbour entry_for(const builder *b, worker *w, int32_t of) {
  neighbour entry = {.id = b->graph->entry_point};
  find_keys(b, w, of, &entry.id, 1, &entry.key);
  return entry;
}

/* ---- Linking -------------------------------------------------------------------------------------------- */

/* Whether a candidate is not nearer to a selected vector than to the vector that they are selected for. */
static bool is_diverse(const builder *b, worker *w, const neighbour *candidate, size_t count) {
  for (size_t k = 0; k < count; k += CHECKED) {
    const size_t some = count - k < CHECKED ? count - k : CHECKED;
    find_keys(b, w, candidate->id, w->ids + k, some, w->keys);
    for (size_t i = 0; i < some; i++)
      if (w->keys[i] < candidate->key) return false;
  }
  return true;
}

/* Selects at most `most` candidates, nearest first: those that are nearer to the vector than to any selected one. */
static size_t select_links(const builder *b, worker *w, const neighbour *candidates, size_t count, size_t most) {
  size_t chosen = 0;
  for (size_t i = 0; i < count && chosen < most; i++) {
    if (!is_diverse(b, w, &candidates[i], chosen)) continue;
    w->ids[chosen] = candidates[i].id;
    w->chosen[chosen++] = candidates[i];
  }
  return chosen;
}

static void set_links(int32_t *links, size_t capacity, const neighbour *to, size_t count) {
  for (size_t k = 0; k < capacity; k++) links[k] = k < count ? to[k].id : -1;
}

/* Links a new vector to the best vectors that a search finds on each of its levels. No link leads to it yet, so that
 * other threads do not read its links. */
static void insert_vector(const builder *b, worker *w, int32_t vector) {
  const fw_hnsw *graph = b->graph;
  const int32_t top = graph->levels[vector] - 1;
  neighbour entry = entry_for(b, w, vector);
  for (int32_t level = graph->max_level; level >= 0; level--) {
    size_t capacity;
    search_level(b, w, vector, entry, level, level > top ? 1 : b->ef);
    entry = w->found[0];
    if (level > top) continue;
    int32_t *links = links_of(graph, vector, level, &capacity);
    set_links(links, capacity, w->chosen, select_links(b, w, w->found, w->count, capacity));
  }
}

/* Adds links from a vector to new ones. If they do not fit, the links are selected again from all of them. */
static void add_links(const builder *b, worker *w, int32_t from, int32_t level, const int32_t *to, size_t to_count) {
  size_t capacity, count = 0, all = 0;
  int32_t *links = links_of(b->graph, from, level, &capacity);
  while (count < capacity && links[count] >= 0) count++;
  if (to_count <= capacity - count) {
    memcpy(links + count, to, to_count * sizeof *links);
    return;
  }
  memcpy(w->ids, links, count * sizeof *links);
  memcpy(w->ids + count, to, to_count * sizeof *links);
  count += to_count;
  find_keys(b, w, from, w->ids, count, w->keys);
  for (size_t k = 0; k < count; k++)
    insert_sorted(w->linked, &all, count, (neighbour){.key = w->keys[k], .id = w->ids[k]});
  set_links(links, capacity, w->chosen, select_links(b, w, w->linked, all, capacity));
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

/* A part runs on one thread, and there is a worker for each. */
static worker *take_worker(const builder *b) {
  for (size_t i = 0;; i = (i + 1) % b->worker_count)
    if (!atomic_exchange(&b->workers[i].busy, true)) return &b->workers[i];
}

static void give_back_worker(worker *w) {
  atomic_store(&w->busy, false);
}

static furrow_status insert_part(void *context, size_t first, size_t count, furrow_error *err) {
  const builder *b = context;
  worker *w = take_worker(b);
  (void)err;
  for (size_t i = first; i < first + count; i++) insert_vector(b, w, b->batch[i]);
  give_back_worker(w);
  return FURROW_OK;
}

static furrow_status link_part(void *context, size_t first, size_t count, furrow_error *err) {
  const builder *b = context;
  const incoming *in = &b->in;
  worker *w = take_worker(b);
  (void)err;
  for (size_t i = first; i < first + count; i++)
    add_links(b, w, in->to[i], b->level, in->from + in->begin[i], in->begin[i + 1] - in->begin[i]);
  give_back_worker(w);
  return FURROW_OK;
}

/* Calls with_link(in, to, from) for each link of the batch on the current level. */
static void each_link(builder *b, void (*with_link)(incoming *in, int32_t to, int32_t from)) {
  for (size_t i = 0; i < b->batch_count; i++) {
    size_t capacity;
    if (b->graph->levels[b->batch[i]] <= b->level) continue;
    const int32_t *links = links_of(b->graph, b->batch[i], b->level, &capacity);
    for (size_t k = 0; k < capacity && links[k] >= 0; k++) with_link(&b->in, links[k], b->batch[i]);
  }
}

static void count_link(incoming *in, int32_t to, int32_t from) {
  (void)from;
  if (in->group[to] < 0) {
    in->group[to] = (int32_t)in->count;
    in->to[in->count] = to;
    in->begin[++in->count] = 0;
  }
  in->begin[in->group[to] + 1]++;
}

static void place_link(incoming *in, int32_t to, int32_t from) {
  in->from[in->begin[in->group[to]]++] = from;
}

/* Groups the links of the batch by the vector that they lead to. */
static void group_links(builder *b) {
  incoming *in = &b->in;
  in->count = 0;
  in->begin[0] = 0;
  each_link(b, count_link);
  for (size_t i = 0; i < in->count; i++) in->begin[i + 1] += in->begin[i];
  each_link(b, place_link); /* moves each begin to its end */
  memmove(in->begin + 1, in->begin, in->count * sizeof *in->begin);
  in->begin[0] = 0;
  for (size_t i = 0; i < in->count; i++) in->group[in->to[i]] = -1;
}

static furrow_status insert_batch(builder *b, furrow_error *err) {
  FW_TRY(fw_parallel_run(b->pool, b->batch_count, INSERT_PART, insert_part, b, err));
  for (b->level = b->graph->max_level; b->level >= 0; b->level--) {
    group_links(b);
    FW_TRY(fw_parallel_run(b->pool, b->in.count, LINK_PART, link_part, b, err));
  }
  return FURROW_OK;
}

/* The number of vectors of the next batch; `linked` are in the graph. A vector above all others becomes the entry point
 * before the next search begins. */
static size_t next_batch(const builder *b, size_t at, size_t linked) {
  size_t most = linked / BATCH_SHARE;
  if (b->graph->levels[b->order[at]] - 1 > b->graph->max_level || most < 1) return 1;
  if (most > b->batch_most) most = b->batch_most;
  return most < b->order_count - at ? most : b->order_count - at;
}

/* `linked` vectors are in the graph already. */
static furrow_status insert_all(builder *b, size_t linked, furrow_error *err) {
  fw_hnsw *graph = b->graph;
  for (size_t at = 0; at < b->order_count; at += b->batch_count) {
    b->batch = b->order + at;
    b->batch_count = linked > 0 ? next_batch(b, at, linked) : 1;
    if (linked > 0) FW_TRY(insert_batch(b, err));
    linked += b->batch_count;
    if (linked > 1 && graph->levels[*b->batch] - 1 <= graph->max_level) continue;
    graph->entry_point = *b->batch;
    graph->max_level = graph->levels[*b->batch] - 1;
  }
  return FURROW_OK;
}

/* ---- Unreachable vectors -------------------------------------------------------------------------------- */

/* Marks all vectors reachable from a vector on the lowest level, with the link that leads to each: parents[i] is the
 * vector that leads to i, UNREACHED or, for the entry point, NO_PARENT. */
enum { UNREACHED = -2, NO_PARENT = -1 };

static void mark_reached(const builder *b, int32_t *parents, int32_t *stack, int32_t from) {
  size_t count = 0, capacity;
  stack[count++] = from;
  while (count > 0) {
    const int32_t at = stack[--count];
    const int32_t *links = links_of(b->graph, at, 0, &capacity);
    for (size_t k = 0; k < capacity && links[k] >= 0; k++) {
      if (parents[links[k]] != UNREACHED) continue;
      parents[links[k]] = at;
      stack[count++] = links[k];
    }
  }
}

/* Finds a link of a vector that may be replaced: a free slot, otherwise the last link that is not the only path to a
 * vector; NULL if there is none. */
static int32_t *spare_link(const builder *b, const int32_t *parents, int32_t vector) {
  size_t capacity;
  int32_t *links = links_of(b->graph, vector, 0, &capacity);
  for (size_t k = 0; k < capacity; k++)
    if (links[k] < 0) return &links[k];
  for (size_t k = capacity; k-- > 0;)
    if (parents[links[k]] != vector) return &links[k];
  return NULL;
}

/* Finds a reachable vector with a replaceable link: among those that a search finds, otherwise the first. One exists,
 * because n vectors are reached by n - 1 links. */
static int32_t near_with_spare(const builder *b, worker *w, const int32_t *parents, int32_t vector) {
  neighbour entry = entry_for(b, w, vector);
  for (int32_t level = b->graph->max_level; level >= 0; level--) {
    search_level(b, w, vector, entry, level, level > 0 ? 1 : b->ef);
    entry = w->found[0];
  }
  for (size_t i = 0; i < w->count; i++)
    if (parents[w->found[i].id] != UNREACHED && spare_link(b, parents, w->found[i].id)) return w->found[i].id;
  for (size_t i = 0; i < b->n; i++)
    if (parents[i] != UNREACHED && spare_link(b, parents, (int32_t)i)) return (int32_t)i;
  return b->graph->entry_point;
}

/* A vector that is not finite is stored, but no link leads to it. */
static bool is_linkable(const builder *b, size_t i) {
  return b->storage->kind != FURROW_INDEX_FLAT ||
         furrow_first_invalid_vector(b->storage->flat.vectors + i * b->d, 1, b->d) == 1;
}

/* Selecting links again can leave a vector without incoming links, so that no search would find it. `to`: vectors with
 * a negative number there are removed; NULL: none. */
static void reach_all(const builder *b, const int64_t *to) {
  int32_t *parents = b->parents;
  for (size_t i = 0; i < b->n; i++) parents[i] = UNREACHED;
  parents[b->graph->entry_point] = NO_PARENT;
  mark_reached(b, parents, b->stack, b->graph->entry_point);
  for (size_t i = 0; i < b->n; i++) {
    if (parents[i] != UNREACHED || (to && to[i] < 0) || !is_linkable(b, i)) continue;
    const int32_t from = near_with_spare(b, b->workers, parents, (int32_t)i);
    int32_t *link = spare_link(b, parents, from);
    if (!link) continue;
    *link = (int32_t)i;
    parents[i] = from;
    mark_reached(b, parents, b->stack, (int32_t)i);
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
  const size_t levels = count_levels(m);
  FW_TRY(FW_ALLOC(&graph->probas, levels, err));
  FW_TRY(FW_ALLOC(&graph->cum, levels + 1, err));
  FW_TRY(FW_ALLOC_ZERO(&graph->offsets, 1, err));
  graph->cum[0] = 0;
  for (size_t l = 0; l < levels; l++) {
    graph->probas[l] = exp(-(double)l * log((double)m)) * (1 - 1 / (double)m);
    graph->cum[l + 1] = graph->cum[l] + (int32_t)(l == 0 ? 2 * m : m);
  }
  graph->proba_count = levels;
  graph->cum_count = levels + 1;
  return FURROW_OK;
}

/* The level of a vector depends on its number alone. */
static int32_t draw_level(const fw_hnsw *graph, uint64_t seed, size_t i) {
  double chance = (double)(fw_rng_hash(seed, i) >> 11) * 0x1p-53;
  size_t level = 0;
  for (; level + 1 < graph->proba_count && chance >= graph->probas[level]; level++) chance -= graph->probas[level];
  return (int32_t)level;
}

/* Draws the levels of vectors from number `old` on, and makes empty links. A file may have fewer probabilities than
 * levels, or more. */
static furrow_status grow_links(fw_hnsw *graph, size_t old, size_t n, uint64_t seed, furrow_error *err) {
  FW_TRY(FW_REALLOC(&graph->levels, n, err));
  FW_TRY(FW_REALLOC(&graph->offsets, n + 1, err));
  const int32_t most = (int32_t)graph->cum_count - 1;
  for (size_t i = old; i < n; i++) {
    const int32_t level = draw_level(graph, seed, i) + 1;
    graph->levels[i] = level < most ? level : most;
    graph->offsets[i + 1] = graph->offsets[i] + (uint64_t)graph->cum[graph->levels[i]];
  }
  FW_TRY(FW_REALLOC(&graph->neighbors, (size_t)graph->offsets[n], err));
  fw_prefer_large_pages(graph->neighbors, (size_t)graph->offsets[n] * sizeof *graph->neighbors);
  fw_prefer_large_pages(graph->offsets, (n + 1) * sizeof *graph->offsets);
  memset(graph->neighbors + graph->offsets[old], 0xff,
         (size_t)(graph->offsets[n] - graph->offsets[old]) * sizeof *graph->neighbors);
  return FURROW_OK;
}

size_t fw_hnsw_links(const fw_hnsw *graph) {
  return graph->cum_count > 2 ? (size_t)(graph->cum[2] - graph->cum[1]) : (size_t)graph->cum[1] / 2;
}

furrow_status fw_hnsw_create(furrow_index **index, furrow_index *storage, size_t m, furrow_error *err) {
  furrow_index *made = NULL;
  if (m < FW_HNSW_MIN_M || m > FW_HNSW_MAX_M)
    return fw_fail(err, FURROW_E_ARGUMENT, "an HNSW graph has %d to %d links, not %zu", FW_HNSW_MIN_M, FW_HNSW_MAX_M,
                   m);
  FW_TRY(fw_index_create(&made, FURROW_INDEX_HNSW, storage->d, storage->metric, err));
  const furrow_status status = create_levels(&made->hnsw, m, err);
  if (status != FURROW_OK) {
    furrow_index_free(made);
    return status;
  }
  memcpy(made->fourcc, fw_hnsw_fourcc(storage), 4);
  memcpy(made->read_as, made->fourcc, 4);
  made->child[0] = storage;
  made->trained = storage->trained;
  made->hnsw.entry_point = made->hnsw.max_level = -1;
  made->hnsw.ef_construction = FW_HNSW_EF_CONSTRUCTION;
  made->hnsw.ef_search = FW_HNSW_EF_SEARCH;
  made->hnsw.upper_beam = 1;
  *index = made;
  return FURROW_OK;
}

/* ---- The builder ---------------------------------------------------------------------------------------- */

static furrow_status create_worker(const builder *b, worker *w, furrow_error *err) {
  const size_t capacity = b->widest + BATCH_MOST + 1;
  FW_TRY(FW_ALLOC_ZERO(&w->marks, b->n / 8 + 1, err));
  FW_TRY(FW_ALLOC(&w->reached, b->n + b->widest, err));
  FW_TRY(FW_ALLOC(&w->found, b->ef + 1, err));
  FW_TRY(FW_ALLOC(&w->linked, capacity + 1, err));
  FW_TRY(FW_ALLOC(&w->chosen, b->widest, err));
  FW_TRY(FW_ALLOC(&w->ids, capacity, err));
  FW_TRY(FW_ALLOC(&w->keys, capacity, err));
  FW_TRY(FW_ALLOC(&w->x, b->d, err));
  return FW_ALLOC(&w->y, b->d, err);
}

static furrow_status create_incoming(builder *b, furrow_error *err) {
  const size_t links = b->batch_most * b->widest;
  FW_TRY(FW_ALLOC(&b->in.to, links, err));
  FW_TRY(FW_ALLOC(&b->in.begin, links + 2, err));
  FW_TRY(FW_ALLOC(&b->in.from, links, err));
  FW_TRY(FW_ALLOC(&b->in.group, b->n, err));
  memset(b->in.group, 0xff, b->n * sizeof *b->in.group);
  return FURROW_OK;
}

/* The numbers of a file may be odd: a level may have no links, or more than the lowest. */
static size_t widest_level(const fw_hnsw *graph) {
  int32_t widest = 1;
  for (size_t l = 0; l + 1 < graph->cum_count; l++) {
    const int32_t width = graph->cum[l + 1] - graph->cum[l];
    if (width > widest) widest = width;
  }
  return (size_t)widest;
}

/* Fails if the links of an index, which may come from a file, cannot be changed. */
static furrow_status check_graph(const furrow_index *index, furrow_error *err) {
  const bool metric = index->metric == FURROW_METRIC_L2 || index->metric == FURROW_METRIC_IP;
  if (!metric || index->child[0]->metric != index->metric)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "an HNSW graph can only be linked by L2 or inner product");
  if (index->hnsw.cum_count < 2) return fw_fail(err, FURROW_E_STATE, "the HNSW graph has no levels");
  if (widest_level(&index->hnsw) > 2 * FW_HNSW_MAX_M)
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "the HNSW graph has %zu links on a level, but more than %d are not changed",
                   widest_level(&index->hnsw), 2 * FW_HNSW_MAX_M);
  return FURROW_OK;
}

/* Makes room for inserting `fresh` vectors into the graph of a storage. The links of about `changed` vectors will
 * change: if these are many, a pass over all vectors pays off. */
static furrow_status create_builder(builder *b, const furrow_index *storage, fw_hnsw *graph, size_t fresh,
                                    size_t changed, fw_pool *pool, furrow_error *err) {
  *b = (builder){.storage = storage, .graph = graph, .pool = pool};
  b->n = (size_t)storage->ntotal;
  b->d = (size_t)storage->d;
  b->widest = widest_level(graph);
  b->ef = graph->ef_construction > 0 ? (size_t)graph->ef_construction : 1;
  if (b->ef > b->n) b->ef = b->n;
  b->similarity = storage->metric == FURROW_METRIC_IP;
  b->distance = b->similarity ? fw_scan_table()->ip_rows : fw_scan_table()->l2_rows;
  b->batch_most = BATCH_LINKS / b->widest < BATCH_MOST ? BATCH_LINKS / b->widest : BATCH_MOST;
  if (b->batch_most > fresh) b->batch_most = fresh;
  b->worker_count = pool ? fw_pool_threads(pool) + 1 : 1;
  b->is_bulk = changed >= b->n / BULK_SHARE;
  FW_TRY(FW_ALLOC(&b->order, fresh, err));
  FW_TRY(FW_ALLOC_ZERO(&b->workers, b->worker_count, err));
  for (size_t i = 0; i < b->worker_count; i++) FW_TRY(create_worker(b, &b->workers[i], err));
  FW_TRY(create_incoming(b, err));
  FW_TRY(FW_ALLOC(&b->parents, b->n, err));
  FW_TRY(FW_ALLOC(&b->stack, b->n, err));
  return b->is_bulk ? fw_rounded_create(&b->rounded, storage, pool, err) : FURROW_OK;
}

static void clear_builder(builder *b) {
  for (size_t i = 0; b->workers && i < b->worker_count; i++) {
    worker *w = &b->workers[i];
    fw_free(w->marks);
    fw_free(w->reached);
    fw_free(w->found);
    fw_free(w->linked);
    fw_free(w->chosen);
    fw_free(w->ids);
    fw_free(w->keys);
    fw_free(w->x);
    fw_free(w->y);
  }
  fw_free(b->workers);
  fw_free(b->order);
  fw_free(b->in.to);
  fw_free(b->in.begin);
  fw_free(b->in.from);
  fw_free(b->in.group);
  fw_free(b->parents);
  fw_free(b->stack);
  fw_rounded_clear(&b->rounded);
}

/* Sorts vectors from number `first` on by level, highest first, then by number. `to`: those with a negative number
 * there are left out; NULL: none. */
static void set_order(builder *b, size_t first, const int64_t *to) {
  for (int32_t level = (int32_t)b->graph->cum_count; level > 0; level--)
    for (size_t i = first; i < b->n; i++)
      if (b->graph->levels[i] == level && (!to || to[i] >= 0) && is_linkable(b, i))
        b->order[b->order_count++] = (int32_t)i;
}

/* The number of vectors in the graph before vectors are inserted; 0 if its only vectors are not finite. */
static size_t linked_before(const builder *b, size_t old) {
  return old > 0 && is_linkable(b, (size_t)b->graph->entry_point) ? old : 0;
}

furrow_status fw_hnsw_extend(furrow_index *index, uint64_t seed, fw_pool *pool, furrow_error *err) {
  const furrow_index *storage = index->child[0];
  const size_t old = (size_t)index->ntotal, n = (size_t)storage->ntotal;
  fw_hnsw *graph = &index->hnsw;
  builder b = {0};
  if (n > INT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "an HNSW graph has fewer than 2^31 vectors, not %zu", n);
  FW_TRY(check_graph(index, err));
  if (n == old) return FURROW_OK;
  furrow_status status = grow_links(graph, old, n, seed, err);
  if (status == FURROW_OK) status = create_builder(&b, storage, graph, n - old, n - old, pool, err);
  if (status == FURROW_OK) {
    set_order(&b, old, NULL);
    if (graph->entry_point < 0) {
      graph->entry_point = 0;
      graph->max_level = graph->levels[0] - 1;
    }
    status = insert_all(&b, linked_before(&b, old), err);
  }
  if (status == FURROW_OK) {
    index->ntotal = (int64_t)n;
    if (b.is_bulk) reach_all(&b, NULL);
  }
  clear_builder(&b);
  return status;
}

furrow_status fw_hnsw_build(furrow_index **index, const float *vectors, size_t n, int32_t d,
                            furrow_distance_metric metric, size_t m, uint64_t seed, fw_pool *pool, furrow_error *err) {
  furrow_index *made = NULL, *storage = NULL;
  if (n > INT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "an HNSW graph has fewer than 2^31 vectors, not %zu", n);
  furrow_status status = fw_index_create(&storage, FURROW_INDEX_FLAT, d, metric, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&storage->flat.vectors, n, (size_t)d, err);
  if (status == FURROW_OK && n > 0) memcpy(storage->flat.vectors, vectors, n * (size_t)d * sizeof *vectors);
  if (status == FURROW_OK) {
    storage->ntotal = (int64_t)n;
    storage->trained = true;
    status = fw_hnsw_create(&made, storage, m, err);
  }
  if (status != FURROW_OK) {
    furrow_index_free(storage);
    return status;
  }
  status = fw_hnsw_extend(made, seed, pool, err);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}

/* ---- Removing ------------------------------------------------------------------------------------------- */

typedef struct repair {
  builder *builder;
  const fw_hnsw *old;
  const int64_t *to;
} repair;

static void add_candidate(worker *w, const repair *r, int32_t id, size_t *count, size_t most) {
  if (*count == most || r->to[id] < 0 || mark(w, id)) return;
  w->ids[(*count)++] = id;
}

static bool has_link(const int32_t *links, size_t count, int32_t id) {
  for (size_t k = 0; k < count && links[k] >= 0; k++)
    if (links[k] == id) return true;
  return false;
}

/* Appends a link to the links that select_links has chosen, unless it is among them. */
static void choose_also(worker *w, size_t *chosen, int32_t id) {
  if (has_link(w->ids, *chosen, id)) return;
  w->ids[*chosen] = id;
  w->chosen[(*chosen)++].id = id;
}

/* Selects the links of a vector on a level again, if it has links to removed vectors: from its remaining links and the
 * links of the removed vectors. Remaining links that are not selected are kept if there is space, and the nearest
 * candidates are added until the vector has as many links as before: otherwise each removal would leave fewer links. */
static void repair_level(const repair *r, worker *w, int32_t vector, int32_t level) {
  const builder *b = r->builder;
  const size_t most = b->widest + BATCH_MOST;
  size_t capacity, before = 0, gone = 0, count = 0, all = 0;
  const int32_t *old = links_of(r->old, vector, level, &capacity);
  for (; before < capacity && old[before] >= 0; before++) gone += r->to[old[before]] < 0;
  if (gone == 0) return;
  mark(w, vector);
  for (size_t k = 0; k < before; k++) add_candidate(w, r, old[k], &count, most);
  for (size_t k = 0; k < before; k++) {
    size_t further_capacity;
    if (r->to[old[k]] >= 0) continue;
    const int32_t *further = links_of(r->old, old[k], level, &further_capacity);
    for (size_t i = 0; i < further_capacity && further[i] >= 0; i++) add_candidate(w, r, further[i], &count, most);
  }
  w->marks[vector / 8] = 0;
  for (size_t k = 0; k < count; k++) w->marks[w->ids[k] / 8] = 0;
  find_keys(b, w, vector, w->ids, count, w->keys);
  for (size_t k = 0; k < count; k++)
    insert_sorted(w->linked, &all, count, (neighbour){.key = w->keys[k], .id = w->ids[k]});
  size_t chosen = select_links(b, w, w->linked, all, capacity);
  for (size_t k = 0; k < before && chosen < capacity; k++)
    if (r->to[old[k]] >= 0) choose_also(w, &chosen, old[k]);
  for (size_t k = 0; k < all && chosen < before; k++) choose_also(w, &chosen, w->linked[k].id);
  set_links(links_of(b->graph, vector, level, &capacity), capacity, w->chosen, chosen);
}

static furrow_status repair_part(void *context, size_t first, size_t count, furrow_error *err) {
  const repair *r = context;
  worker *w = take_worker(r->builder);
  (void)err;
  for (size_t i = first; i < first + count; i++)
    for (int32_t level = 0; r->to[i] >= 0 && level < r->old->levels[i]; level++) repair_level(r, w, (int32_t)i, level);
  give_back_worker(w);
  return FURROW_OK;
}

/* Adds the new links of a vector in the other direction, too, where there is a free slot. */
static void link_back(const repair *r, int32_t vector, int32_t level) {
  size_t capacity;
  const int32_t *old = links_of(r->old, vector, level, &capacity);
  const int32_t *links = links_of(r->builder->graph, vector, level, &capacity);
  for (size_t k = 0; k < capacity && links[k] >= 0; k++) {
    if (links[k] == old[k] || has_link(old, capacity, links[k])) continue;
    int32_t *back = links_of(r->builder->graph, links[k], level, &capacity);
    if (back[capacity - 1] >= 0 || has_link(back, capacity, vector)) continue;
    size_t at = 0;
    while (back[at] >= 0) at++;
    back[at] = vector;
  }
}

/* The entry point is a remaining vector of the highest level, the first that is linked. */
static void choose_entry(const builder *b, const int64_t *to) {
  fw_hnsw *graph = b->graph;
  bool linkable = false;
  graph->entry_point = graph->max_level = -1;
  for (size_t i = 0; i < b->n; i++) {
    if (to[i] < 0) continue;
    const bool better = graph->entry_point < 0 || (is_linkable(b, i) && !linkable);
    if (!better && (graph->levels[i] - 1 <= graph->max_level || is_linkable(b, i) != linkable)) continue;
    graph->entry_point = (int32_t)i;
    graph->max_level = graph->levels[i] - 1;
    linkable = is_linkable(b, i);
  }
}

/* If more than a tenth of the vectors is removed, all links are rebuilt: repaired links have a lower recall. */
static bool is_rebuilt(size_t n, size_t left) {
  return n - left > n / 10;
}

static furrow_status relink(builder *b, const fw_hnsw *old, const int64_t *to, size_t left, furrow_error *err) {
  fw_hnsw *graph = b->graph;
  choose_entry(b, to);
  if (left == 0) return FURROW_OK;
  if (is_rebuilt(b->n, left)) {
    memset(graph->neighbors, 0xff, (size_t)graph->offsets[b->n] * sizeof *graph->neighbors);
    set_order(b, 0, to);
    FW_TRY(insert_all(b, 0, err));
  } else {
    repair r = {.builder = b, .old = old, .to = to};
    FW_TRY(fw_parallel_run(b->pool, b->n, LINK_PART, repair_part, &r, err));
    for (size_t i = 0; i < b->n; i++)
      for (int32_t level = 0; to[i] >= 0 && level < old->levels[i]; level++) link_back(&r, (int32_t)i, level);
  }
  reach_all(b, to);
  return FURROW_OK;
}

furrow_status fw_hnsw_relink(const furrow_index *index, const int64_t *to, size_t left, fw_hnsw *relinked,
                             furrow_error *err) {
  const size_t n = (size_t)index->ntotal, slots = n > 0 ? (size_t)index->hnsw.offsets[n] : 0;
  fw_hnsw graph = index->hnsw;
  fw_pool *pool = NULL;
  builder b = {0};
  graph.neighbors = NULL;
  FW_TRY(check_graph(index, err));
  FW_TRY(FW_ALLOC(&graph.neighbors, slots, err));
  if (slots > 0) memcpy(graph.neighbors, index->hnsw.neighbors, slots * sizeof *graph.neighbors);
  furrow_status status = fw_parallel_start(&pool, 0, err);
  if (status == FURROW_OK)
    status = create_builder(&b, index->child[0], &graph, is_rebuilt(n, left) ? left : 0, n - left, pool, err);
  if (status == FURROW_OK) status = relink(&b, &index->hnsw, to, left, err);
  clear_builder(&b);
  fw_pool_free(pool);
  if (status == FURROW_OK)
    *relinked = graph;
  else
    fw_free(graph.neighbors);
  return status;
}

void fw_hnsw_compact(fw_hnsw *graph, const int64_t *to, size_t n) {
  uint64_t end = 0;
  for (size_t i = 0; i < n; i++) {
    if (to[i] < 0) continue;
    const uint64_t begin = graph->offsets[i], slots = (uint64_t)graph->cum[graph->levels[i]];
    for (uint64_t k = 0; k < slots; k++) {
      const int32_t link = graph->neighbors[begin + k];
      graph->neighbors[end + k] = link < 0 ? -1 : (int32_t)to[link];
    }
    graph->levels[to[i]] = graph->levels[i];
    graph->offsets[to[i]] = end;
    end += slots;
    graph->offsets[to[i] + 1] = end;
  }
  if (graph->entry_point >= 0) graph->entry_point = (int32_t)to[graph->entry_point];
}
