/* learn/forest/tree_grow.c: one tree, level by level; or, where it may have so many leaves only, the leaf with the
 * largest gain first.
 *
 * Nodes of a level come in pairs, the children of one node. The smaller of a pair is summed up from its rows; the other
 * is their parent's histogram less that. Where a level has more nodes than there may be histograms, pairs are worked on
 * a few at a time and their histograms are not kept: the next level then sums up all its nodes.
 *
 * Histograms have no counts of rows. That a child has `min-rows` rows is first taken from its share of the node's
 * hessians; if the rows of the best split turn out to be fewer, the node is searched again with a higher limit.
 *
 * Where rows are divided over ranks, all ranks take the same steps, each with its own rows: counts of rows and sums of
 * nodes are those of all ranks, and a rank looks for splits in its slice of the features (grow_ranks.h). A failure of
 * one rank is carried to the next call that all ranks make, and ends all. */
#include "learn/forest/tree_grow.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/forest/grow_ranks.h"

#define HISTOGRAM_BYTES ((size_t)128 << 20) /* of all histograms, about */
enum {
  LEAST_HISTOGRAMS = 8,
  RANGE_BINS = 2048,    /* at most, about, of the features that one task looks at */
  RANGES = 8,           /* for each thread, about */
  PIECE_ROWS = 1 << 11, /* at least, of the rows that one task sums up */
  PIECE_BINS = 8,       /* bins of a histogram for each of its rows, at most: they are set to 0, and added up */
  PIECES = 6,           /* of all rows of a level, for each thread */
  MOST_PARTS = 64       /* of the sum of a node: they have bits */
};

typedef struct grown {
  size_t node; /* in the tree */
  size_t begin, end;
  size_t rows; /* of all ranks */
  fw_sum sum;
  bool may_split;
  double least_hessian;    /* of a child */
  fw_histogram *histogram; /* NULL: not made, or not kept */
  fw_best_split best;
} grown;

/* Nodes of a pair whose best splits are wanted. */
typedef struct pair {
  grown *filled; /* summed up from its rows */
  grown *rest;   /* by subtraction; NULL: not wanted, or there is nothing to subtract from */
  /* Parts of the sum, the first of them the node's histogram: a thread that has summed up a piece leaves its part to
   * the next one that needs any. So there are no more of them than threads at work. */
  size_t first_part, parts;
  atomic_uint used;          /* the first so many parts */
  atomic_uint_fast64_t idle; /* a bit for each of these that no thread is at */
} pair;

/* Rows of a node that one task sums up. */
typedef struct piece {
  size_t begin, end;
  pair *pair;
} piece;

struct fw_grower {
  const fw_forest_conf *conf;
  const fw_binned *binned;
  fw_spin_pool *pool;
  fw_histograms all;
  fw_grow_ranks ranks;
  size_t most_histograms;
  size_t min_rows;
  size_t *range; /* features of task r: range[r] … range[r + 1] - 1 */
  size_t ranges;
  grown *level, *next;
  size_t level_capacity, next_capacity;
  pair *pairs;
  size_t pair_capacity;
  piece *pieces;
  size_t piece_capacity;
  fw_histogram **parts;
  size_t part_capacity;
  fw_best_split *found; /* of the nodes of a pair, by range */
  size_t found_capacity;
  fw_row_split *splits;
  size_t split_capacity;
  /* of nodes that ranks ask each other about */
  grown **asked;
  fw_best_split **asked_best;
  fw_histogram **filled;
  int64_t *count;
  size_t asked_capacity, best_capacity, filled_capacity, count_capacity;
};

/* ---- Create, free --------------------------------------------------------------------------------------- */

/* The features that this rank looks for splits in; of one process all. */
static size_t own_begin(const fw_grower *g) {
  return g->ranks.slice[g->ranks.comm->rank];
}

static size_t own_end(const fw_grower *g) {
  return g->ranks.slice[g->ranks.comm->rank + 1];
}

static furrow_status make_ranges(fw_grower *g, furrow_error *err) {
  const fw_cuts *cuts = g->binned->cuts;
  const size_t share = cuts->bins / (RANGES * (size_t)fw_spin_pool_threads(g->pool));
  const size_t least = share < FW_BINS ? FW_BINS : share < RANGE_BINS ? share : RANGE_BINS;
  furrow_status status = fw_alloc((void **)&g->range, cuts->bins / least + 2, sizeof *g->range, err);
  if (status != FURROW_OK) return status;
  const size_t begin = own_begin(g), last = own_end(g);
  size_t first = begin < cuts->count ? cuts->feature[begin].first_bin : cuts->bins;
  g->range[0] = begin;
  for (size_t f = begin; f < last; f++) {
    const size_t end = f + 1 < cuts->count ? cuts->feature[f + 1].first_bin : cuts->bins;
    if (end - first < least && f + 1 < last) continue;
    g->range[++g->ranges] = f + 1;
    first = end;
  }
  return FURROW_OK;
}

/* Of a leaf. Where the plan leaves it to the data: 20, or a tenth of the rows where that is fewer. */
static size_t least_rows(const fw_forest_conf *conf, uint64_t rows) {
  if (conf->min_rows > 0) return conf->min_rows;
  return rows < 20 ? 1 : rows < 200 ? (size_t)rows / 10 : 20;
}

furrow_status fw_grower_create(fw_grower **grower, const fw_forest_conf *conf, const fw_binned *binned,
                               const furrow_comm *comm, uint64_t all_rows, fw_spin_pool *pool, furrow_error *err) {
  fw_grower *g = NULL;
  furrow_status status = fw_comm_share_status(comm, fw_alloc_zero((void **)&g, 1, sizeof *g, err), err);
  if (status != FURROW_OK) {
    fw_free(g);
    return status;
  }
  g->conf = conf;
  g->binned = binned;
  g->pool = pool;
  g->min_rows = least_rows(conf, all_rows);
  status = fw_histograms_init(&g->all, binned, comm, all_rows, pool, err);
  if (status == FURROW_OK) status = fw_grow_ranks_init(&g->ranks, comm, &g->all, pool, err);
  if (status == FURROW_OK) status = make_ranges(g, err);
  if (status != FURROW_OK) {
    fw_grower_free(g);
    return status;
  }
  g->most_histograms = HISTOGRAM_BYTES / (fw_histogram_bytes(&g->all) + 1);
  if (g->most_histograms < LEAST_HISTOGRAMS) g->most_histograms = LEAST_HISTOGRAMS;
  *grower = g;
  return FURROW_OK;
}

void fw_grower_free(fw_grower *g) {
  if (!g) return;
  fw_histograms_clear(&g->all);
  fw_grow_ranks_clear(&g->ranks);
  void *const arrays[] = {g->range,  g->level, g->next,       g->pairs,  g->pieces, g->found,
                          g->splits, g->asked, g->asked_best, g->filled, g->count,  g->parts};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(g);
}

size_t fw_grower_memory(const fw_grower *g) {
  return g->all.made * fw_histogram_bytes(&g->all) + g->piece_capacity * sizeof *g->pieces +
         g->found_capacity * sizeof *g->found + fw_grow_ranks_memory(&g->ranks) +
         (g->level_capacity + g->next_capacity) * sizeof *g->level;
}

/* ---- Histograms and best splits of a few pairs ---------------------------------------------------------- */

typedef struct work {
  fw_grower *grower;
  const fw_growth *growth;
  fw_split_rules rules;
  size_t count; /* nodes of the level */
  size_t pair_count, piece_count, part_count;
  size_t stride; /* pairs and ranges of a task */
} work;

/* A part of the sum that no other thread is at; *fresh: nothing is in it yet. */
static unsigned take_part(pair *p, bool *fresh) {
  uint_fast64_t idle = atomic_load(&p->idle);
  while (idle)
    if (atomic_compare_exchange_weak(&p->idle, &idle, idle & (idle - 1))) return (unsigned)__builtin_ctzll(idle);
  *fresh = true;
  return atomic_fetch_add(&p->used, 1);
}

static void fill_piece(void *context, size_t i) {
  const work *w = context;
  const fw_grower *g = w->grower;
  const piece *p = &g->pieces[i];
  bool fresh = false;
  const unsigned part = take_part(p->pair, &fresh);
  fw_histogram *histogram = g->parts[p->pair->first_part + part];
  if (fresh) fw_histogram_clear(&g->all, histogram);
  fw_histogram_add_rows(&g->all, histogram, w->growth->rows->row + p->begin, p->end - p->begin,
                        w->growth->gradients->pair);
  atomic_fetch_or(&p->pair->idle, UINT64_C(1) << part);
}

static fw_best_split find_in(const work *w, const grown *node, size_t begin, size_t end) {
  return fw_best_split_find(&w->rules, node->histogram, node->sum, node->least_hessian, begin, end);
}

static bool is_alone(const fw_grower *g) {
  return g->ranks.comm->ranks == 1;
}

static void add_parts(const fw_grower *g, pair *p, size_t begin, size_t end) {
  const size_t used = atomic_load(&p->used);
  for (size_t k = 1; k < used; k++)
    fw_histogram_add(&g->all, begin, end, p->filled->histogram, g->parts[p->first_part + k]);
}

/* Of one pair, the features of one rank: other ranks want a sum. */
static void join_parts(void *context, size_t i) {
  const work *w = context;
  const fw_grower *g = w->grower;
  const size_t rank = i % g->ranks.comm->ranks;
  add_parts(g, &g->pairs[i / g->ranks.comm->ranks], g->ranks.slice[rank], g->ranks.slice[rank + 1]);
}

/* All that a range of features needs, for one pair: parts into a sum, the difference, and the best of both. */
static void find_best(void *context, size_t i) {
  const work *w = context;
  const fw_grower *g = w->grower;
  pair *p = &g->pairs[i / g->ranges];
  const size_t range = i % g->ranges, begin = g->range[range], end = g->range[range + 1];
  fw_best_split *found = &g->found[2 * i];
  if (is_alone(g)) add_parts(g, p, begin, end);
  found[0] = found[1] = (fw_best_split){0};
  if (p->filled->may_split) found[0] = find_in(w, p->filled, begin, end);
  if (!p->rest) return;
  fw_histogram_subtract(&g->all, begin, end, p->rest->histogram, p->filled->histogram);
  found[1] = find_in(w, p->rest, begin, end);
}

/* Histograms for the parts of a sum: those that could be made are listed. */
static furrow_status get_parts(work *w, pair *p, size_t count, furrow_error *err) {
  fw_grower *g = w->grower;
  p->first_part = w->part_count;
  FW_TRY(fw_grow((void **)&g->parts, &g->part_capacity, w->part_count + count, sizeof *g->parts, err));
  for (; p->parts < count; p->parts++) FW_TRY(fw_histogram_get(&g->all, &g->parts[w->part_count++], err));
  return FURROW_OK;
}

/* Several pairs and ranges, one after the other: threads would wait for each other to take so small tasks. */
static void find_some(void *context, size_t i) {
  const work *w = context;
  const size_t all = w->pair_count * w->grower->ranges, end = (i + 1) * w->stride < all ? (i + 1) * w->stride : all;
  for (size_t k = i * w->stride; k < end; k++) find_best(context, k);
}

/* The rows of a node in pieces, so that all threads have something to do; sums of whole numbers are the same however
 * they are cut. */
static furrow_status cut_pieces(work *w, pair *p, size_t rows, furrow_error *err) {
  fw_grower *g = w->grower;
  const size_t n = p->filled->end - p->filled->begin, threads = fw_spin_pool_threads(g->pool);
  const size_t few = g->all.bins / PIECE_BINS > PIECE_ROWS ? g->all.bins / PIECE_BINS : PIECE_ROWS;
  const size_t share = rows / (PIECES * threads) + 1, least = share > few ? share : few;
  const size_t wanted = threads == 1 || n < 2 * least ? 1 : n / least;
  const size_t pieces = threads > MOST_PARTS && wanted > MOST_PARTS ? MOST_PARTS : wanted;
  FW_TRY(get_parts(w, p, pieces < threads ? pieces : threads, err));
  p->filled->histogram = g->parts[p->first_part];
  FW_TRY(fw_grow((void **)&g->pieces, &g->piece_capacity, w->piece_count + pieces, sizeof *g->pieces, err));
  for (size_t i = 0; i < pieces; i++)
    g->pieces[w->piece_count++] =
        (piece){p->filled->begin + n * i / pieces, p->filled->begin + n * (i + 1) / pieces, p};
  return FURROW_OK;
}

/* All parts but those that are nodes' histograms. */
static void put_parts(work *w) {
  fw_grower *g = w->grower;
  for (size_t i = 0; i < w->pair_count; i++) {
    const pair *p = &g->pairs[i];
    for (size_t k = 0; k < p->parts; k++)
      if (g->parts[p->first_part + k] != p->filled->histogram) fw_histogram_put(&g->all, g->parts[p->first_part + k]);
  }
  w->piece_count = w->part_count = 0;
}

static void keep_best(const work *w) {
  const fw_grower *g = w->grower;
  for (size_t i = 0; i < w->pair_count * g->ranges; i++) {
    const pair *p = &g->pairs[i / g->ranges];
    fw_best_split_keep(g->binned->cuts, &p->filled->best, &g->found[2 * i]);
    if (p->rest) fw_best_split_keep(g->binned->cuts, &p->rest->best, &g->found[2 * i + 1]);
  }
}

/* Whether rows of these hessians are surely so many: none has more than the most. */
static bool is_enough(const work *w, int64_t hessian) {
  return (double)hessian >= (double)w->grower->min_rows * w->growth->gradients->most_hessian;
}

/* Whether it is known without counting that both children have enough rows. */
static bool is_settled(const work *w, const grown *node) {
  const fw_best_split *best = &node->best;
  return !(best->gain > 0) || w->grower->min_rows <= 1 ||
         (is_enough(w, best->left.hessian) && is_enough(w, node->sum.hessian - best->left.hessian));
}

static size_t count_left(const work *w, const grown *node) {
  const fw_best_split *best = &node->best;
  const fw_row_split split = {.begin = node->begin,
                              .end = node->end,
                              .feature = best->feature,
                              .last_left = best->last_left,
                              .absent_left = best->absent_left};
  return fw_node_rows_count(w->growth->rows, &split, w->grower->pool);
}

static bool has_min_rows(const work *w, const grown *node, size_t lefts) {
  const size_t least = w->grower->min_rows;
  return lefts >= least && node->rows - lefts >= least;
}

/* The best splits of the first n nodes that are asked about, over the features of all ranks. */
static furrow_status share_best(work *w, size_t n, furrow_error *err) {
  fw_grower *g = w->grower;
  for (size_t i = 0; i < n; i++) g->asked_best[i] = &g->asked[i]->best;
  return fw_grow_ranks_keep_best(&g->ranks, g->asked_best, n, err);
}

/* Keeps those of the first n nodes that are asked about whose rows have to be counted. */
static size_t keep_unsettled(const work *w, size_t n) {
  fw_grower *g = w->grower;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!is_settled(w, g->asked[i])) g->asked[kept++] = g->asked[i];
  return kept;
}

/* Nodes whose split leaves a child too few rows are searched again, with a higher limit. */
static furrow_status enforce_min_rows(work *w, size_t n, furrow_error *err) {
  fw_grower *g = w->grower;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && (n = keep_unsettled(w, n)) > 0) {
    size_t again = 0;
    for (size_t i = 0; i < n; i++) g->count[i] = (int64_t)count_left(w, g->asked[i]);
    status = fw_grow_ranks_count(&g->ranks, status, g->count, n, err);
    for (size_t i = 0; status == FURROW_OK && i < n; i++) {
      grown *node = g->asked[i];
      if (has_min_rows(w, node, (size_t)g->count[i])) continue;
      node->least_hessian = fmax(2 * node->least_hessian, w->rules.hessian_unit);
      node->best = find_in(w, node, own_begin(g), own_end(g));
      g->asked[again++] = node;
    }
    n = again;
    if (status == FURROW_OK && n > 0) status = share_best(w, n, err);
  }
  return status;
}

static void drop_histogram(fw_grower *g, grown *node) {
  fw_histogram_put(&g->all, node->histogram);
  node->histogram = NULL;
}

/* Memory for what the pairs need. */
static furrow_status reserve_pairs(work *w, furrow_error *err) {
  fw_grower *g = w->grower;
  const size_t n = 2 * w->pair_count;
  size_t rows = 0;
  for (size_t i = 0; i < w->pair_count; i++) rows += g->pairs[i].filled->end - g->pairs[i].filled->begin;
  FW_TRY(fw_grow((void **)&g->found, &g->found_capacity, n * g->ranges, sizeof *g->found, err));
  FW_TRY(fw_grow((void **)&g->asked, &g->asked_capacity, n, sizeof *g->asked, err));
  FW_TRY(fw_grow((void **)&g->asked_best, &g->best_capacity, n, sizeof *g->asked_best, err));
  FW_TRY(fw_grow((void **)&g->filled, &g->filled_capacity, n, sizeof *g->filled, err));
  FW_TRY(fw_grow((void **)&g->count, &g->count_capacity, n + 1, sizeof *g->count, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < w->pair_count; i++) status = cut_pieces(w, &g->pairs[i], rows, err);
  return status;
}

/* Histograms of the rows of all ranks, each rank's slice of them. */
static furrow_status fill_pairs(work *w, furrow_status status, furrow_error *err) {
  fw_grower *g = w->grower;
  if (status == FURROW_OK) fw_spin_pool_run(g->pool, w->piece_count, fill_piece, w);
  if (is_alone(g)) return status;
  if (status == FURROW_OK) {
    fw_spin_pool_run(g->pool, w->pair_count * g->ranks.comm->ranks, join_parts, w);
    for (size_t i = 0; i < w->pair_count; i++) g->filled[i] = g->pairs[i].filled->histogram;
  }
  return fw_grow_ranks_add(&g->ranks, status, g->filled, w->pair_count, err);
}

static furrow_status search_pairs(work *w, furrow_error *err) {
  fw_grower *g = w->grower;
  size_t n = 0;
  const size_t tasks = RANGES * (size_t)fw_spin_pool_threads(g->pool);
  w->stride = w->pair_count * g->ranges / tasks + 1;
  fw_spin_pool_run(g->pool, (w->pair_count * g->ranges + w->stride - 1) / w->stride, find_some, w);
  keep_best(w);
  for (size_t i = 0; i < w->pair_count; i++) {
    if (g->pairs[i].filled->may_split) g->asked[n++] = g->pairs[i].filled;
    if (g->pairs[i].rest) g->asked[n++] = g->pairs[i].rest;
  }
  FW_TRY(share_best(w, n, err));
  return enforce_min_rows(w, n, err);
}

static furrow_status work_on_pairs(work *w, bool keep, furrow_error *err) {
  fw_grower *g = w->grower;
  furrow_status status = reserve_pairs(w, err);
  status = fill_pairs(w, status, err);
  if (status == FURROW_OK) status = search_pairs(w, err);
  put_parts(w);
  for (size_t i = 0; !keep && i < w->pair_count; i++) {
    drop_histogram(g, g->pairs[i].filled);
    if (g->pairs[i].rest) drop_histogram(g, g->pairs[i].rest);
  }
  w->pair_count = 0;
  return status;
}

/* ---- A level -------------------------------------------------------------------------------------------- */

/* There is memory for all pairs of a level: see reserve_level. */
static void add_pair(work *w, grown *filled, grown *rest) {
  w->grower->pairs[w->pair_count++] = (pair){.filled = filled, .rest = rest};
}

/* Two children; the parent's histogram, if it was kept, is that of both now. */
static void add_children(work *w, grown *left, grown *right) {
  grown *small = left->rows <= right->rows ? left : right;
  grown *large = small == left ? right : left;
  fw_histogram *parent = left->histogram;
  left->histogram = right->histogram = NULL;
  if (parent && large->may_split) {
    large->histogram = parent;
    add_pair(w, small, large);
    return;
  }
  fw_histogram_put(&w->grower->all, parent);
  if (small->may_split) add_pair(w, small, NULL);
  if (large->may_split) add_pair(w, large, NULL);
}

/* The best splits of all nodes of the level: the root, or pairs. */
static furrow_status find_level(work *w, furrow_error *err) {
  fw_grower *g = w->grower;
  const bool keep = w->count <= g->most_histograms;
  furrow_status status = FURROW_OK;
  if (g->binned->cuts->count == 0) return FURROW_OK;
  if (w->count == 1 && g->level[0].may_split) add_pair(w, &g->level[0], NULL);
  for (size_t i = 0; status == FURROW_OK && i + 1 < w->count; i += 2) {
    add_children(w, &g->level[i], &g->level[i + 1]);
    if (w->pair_count + 2 > g->most_histograms) status = work_on_pairs(w, keep, err);
  }
  if (status == FURROW_OK && w->pair_count) status = work_on_pairs(w, keep, err);
  return status;
}

/* Both children need some hessian, and rows to have it. */
static void look_at_node(const work *w, grown *node) {
  const double h = (double)node->sum.hessian * w->rules.hessian_unit, least = w->grower->conf->min_child_weight;
  const size_t rows = node->rows, least_rows = w->grower->min_rows;
  node->may_split = rows >= 2 && rows / 2 >= least_rows && h > 0 && h >= 2 * least;
  node->least_hessian = least_rows > 1 ? fmax(least, h * (double)least_rows / (double)rows) : least;
}

static void write_node(const work *w, const grown *node) {
  fw_forest *forest = w->growth->forest;
  const size_t at = w->growth->tree * forest->nodes + node->node;
  const double g = (double)node->sum.gradient * w->rules.gradient_unit;
  const double h = (double)node->sum.hessian * w->rules.hessian_unit;
  forest->predict[at] = fw_leaf_value(&w->rules, g, h) + w->growth->start;
  if (forest->gradient) forest->gradient[at] = g;
  if (forest->hessian) forest->hessian[at] = h;
}

static void write_split(const work *w, const grown *node) {
  fw_forest *forest = w->growth->forest;
  const size_t at = w->growth->tree * forest->nodes + node->node;
  forest->feature[at] = (int32_t)w->grower->binned->cuts->feature[node->best.feature].id;
  forest->value[at] = node->best.value;
  forest->missing_flipped[at] = node->best.absent_left != (node->best.value >= 0);
  if (forest->gain) forest->gain[at] = node->best.gain;
}

static double score_of(const work *w, size_t node) {
  const fw_growth *growth = w->growth;
  return growth->rate * growth->forest->predict[growth->tree * growth->forest->nodes + node];
}

/* The children of a node, without their rows; the right one has the number of the node's rows until they are split. */
static void make_children(const work *w, const grown *node, grown *left) {
  const fw_sum sum = node->best.left;
  left[0] = (grown){.node = 2 * node->node + 1, .sum = sum, .histogram = node->histogram};
  left[1] = (grown){.node = 2 * node->node + 2,
                    .rows = node->rows,
                    .sum = {node->sum.gradient - sum.gradient, node->sum.hessian - sum.hessian}};
  write_node(w, &left[0]);
  write_node(w, &left[1]);
}

/* With the children's scores: they are made. */
static fw_row_split row_split_of(const work *w, const grown *node) {
  const fw_best_split *best = &node->best;
  return (fw_row_split){.begin = node->begin,
                        .end = node->end,
                        .feature = best->feature,
                        .last_left = best->last_left,
                        .absent_left = best->absent_left,
                        .left = score_of(w, 2 * node->node + 1),
                        .right = score_of(w, 2 * node->node + 2)};
}

/* Memory for the pairs of a level of so many nodes, for their splits and their children. */
static furrow_status reserve_level(fw_grower *g, size_t count, furrow_error *err) {
  FW_TRY(fw_grow((void **)&g->pairs, &g->pair_capacity, count, sizeof *g->pairs, err));
  FW_TRY(fw_grow((void **)&g->next, &g->next_capacity, 2 * count, sizeof *g->next, err));
  FW_TRY(fw_grow((void **)&g->splits, &g->split_capacity, count, sizeof *g->splits, err));
  return fw_grow((void **)&g->count, &g->count_capacity, count + 1, sizeof *g->count, err);
}

/* Nodes without a split are leaves now: their rows get their scores. The others are listed with their children. */
static size_t list_splits(work *w) {
  fw_grower *g = w->grower;
  size_t n = 0;
  for (size_t i = 0; i < w->count; i++) {
    grown *node = &g->level[i];
    if (!(node->best.gain > 0)) {
      drop_histogram(g, node);
      fw_node_rows_add(w->growth->rows, node->begin, node->end, score_of(w, node->node), w->growth->score, g->pool);
      continue;
    }
    write_split(w, node);
    make_children(w, node, &g->next[2 * n]);
    g->splits[n++] = row_split_of(w, node);
  }
  return n;
}

/* `lefts`: of all ranks' rows. */
static void give_rows(const work *w, grown *children, const fw_row_split *split, int64_t lefts) {
  children[0].rows = (size_t)lefts;
  children[1].rows -= (size_t)lefts;
  children[0].begin = split->begin;
  children[0].end = children[1].begin = split->middle;
  children[1].end = split->end;
  look_at_node(w, &children[0]);
  look_at_node(w, &children[1]);
}

/* Splits the rows of this rank, and counts those of all that went left. keep: there are nodes beside these. */
static furrow_status split_rows(const work *w, fw_row_split *splits, size_t n, bool keep, furrow_error *err) {
  const fw_grower *g = w->grower;
  const furrow_status status = fw_node_rows_split(w->growth->rows, splits, n, keep, g->pool, err);
  for (size_t i = 0; i < n; i++) g->count[i] = (int64_t)(splits[i].middle - splits[i].begin);
  return fw_grow_ranks_count(&g->ranks, status, g->count, n, err);
}

/* The children, with their rows, are the next level. */
static void go_down(work *w, size_t n) {
  fw_grower *g = w->grower;
  for (size_t i = 0; i < n; i++) give_rows(w, &g->next[2 * i], &g->splits[i], g->count[i]);
  grown *level = g->level;
  const size_t capacity = g->level_capacity;
  g->level = g->next;
  g->level_capacity = g->next_capacity;
  g->next = level;
  g->next_capacity = capacity;
  w->count = 2 * n;
}

static furrow_status grow_level(work *w, bool last, furrow_error *err) {
  fw_grower *g = w->grower;
  const fw_growth *growth = w->growth;
  FW_TRY(find_level(w, err));
  const size_t n = list_splits(w);
  if (last) {
    fw_node_rows_score(growth->rows, g->splits, n, growth->score, g->pool);
    for (size_t i = 0; i < w->count; i++)
      if (g->level[i].best.gain > 0) drop_histogram(g, &g->level[i]);
    w->count = 0;
    return FURROW_OK;
  }
  for (size_t i = 0; i < w->count; i++) g->level[i].histogram = NULL; /* their children have them */
  const furrow_status status = split_rows(w, g->splits, n, false, err);
  go_down(w, n);
  return status;
}

/* ---- Best first ----------------------------------------------------------------------------------------- */

/* Leaves that can be split are a heap, level[0 … count-1]: the one with the largest gain comes first, of equal ones
 * that with the smaller number. */
static bool is_before(const grown *a, const grown *b) {
  return a->best.gain != b->best.gain ? a->best.gain > b->best.gain : a->node < b->node;
}

static void push_leaf(work *w, const grown *leaf) {
  grown *heap = w->grower->level;
  size_t at = w->count++;
  for (; at > 0 && is_before(leaf, &heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = *leaf;
}

static grown pop_leaf(work *w) {
  grown *heap = w->grower->level;
  const grown top = heap[0], *last = &heap[--w->count];
  size_t at = 0;
  for (size_t child = 1; child < w->count; child = 2 * at + 1) {
    if (child + 1 < w->count && is_before(&heap[child + 1], &heap[child])) child++;
    if (is_before(last, &heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = *last;
  return top;
}

/* A leaf without a split stays one: its rows get its score. */
static void finish_leaf(work *w, grown *leaf) {
  drop_histogram(w->grower, leaf);
  fw_node_rows_add(w->growth->rows, leaf->begin, leaf->end, score_of(w, leaf->node), w->growth->score, w->grower->pool);
}

static void queue_leaf(work *w, grown *leaf) {
  if (leaf->best.gain > 0)
    push_leaf(w, leaf);
  else
    finish_leaf(w, leaf);
}

/* Two leaves with rows, whose splits are wanted. */
static furrow_status find_children(work *w, grown *children, furrow_error *err) {
  fw_grower *g = w->grower;
  const bool keep = w->count + 2 <= g->most_histograms;
  add_children(w, &children[0], &children[1]);
  return w->pair_count ? work_on_pairs(w, keep, err) : FURROW_OK;
}

/* Splits a leaf; `last`: its children are not split any more. */
static furrow_status split_leaf(work *w, grown *leaf, bool last, furrow_error *err) {
  fw_grower *g = w->grower;
  const fw_growth *growth = w->growth;
  grown children[2];
  write_split(w, leaf);
  make_children(w, leaf, children);
  fw_row_split split = row_split_of(w, leaf);
  if (last || 2 * children[0].node + 2 >= growth->forest->nodes) {
    drop_histogram(g, leaf);
    fw_node_rows_score(growth->rows, &split, 1, growth->score, g->pool);
    return FURROW_OK;
  }
  furrow_status status = split_rows(w, &split, 1, true, err);
  if (status == FURROW_OK) {
    give_rows(w, children, &split, g->count[0]);
    status = find_children(w, children, err);
  }
  if (status == FURROW_OK) {
    queue_leaf(w, &children[0]);
    queue_leaf(w, &children[1]);
  } else {
    drop_histogram(g, &children[0]);
    drop_histogram(g, &children[1]);
  }
  return status;
}

static furrow_status check(const work *w, furrow_error *err) {
  const fw_growth *growth = w->growth;
  return growth->check ? growth->check(growth->check_user, err) : FURROW_OK;
}

/* Before the next level of so many nodes, or the next split: whether all ranks can go on. */
static furrow_status ready_level(work *w, furrow_status status, size_t count, furrow_error *err) {
  fw_grower *g = w->grower;
  if (status == FURROW_OK) status = check(w, err);
  if (status == FURROW_OK) status = reserve_level(g, count, err);
  if (status == FURROW_OK)
    status = fw_grow((void **)&g->level, &g->level_capacity, w->count + 1, sizeof *g->level, err);
  return fw_comm_share_status(g->ranks.comm, status, err);
}

/* The root is level[0]. */
static furrow_status grow_best_first(work *w, furrow_error *err) {
  fw_grower *g = w->grower;
  const size_t most = g->conf->leaves;
  furrow_status status = ready_level(w, FURROW_OK, 1, err);
  if (status == FURROW_OK) status = find_level(w, err);
  if (status == FURROW_OK && !(g->level[0].best.gain > 0)) finish_leaf(w, &g->level[--w->count]);
  for (size_t leaves = 1; w->count > 0 && leaves < most; leaves++) {
    status = ready_level(w, status, 2, err);
    if (status != FURROW_OK) break;
    grown leaf = pop_leaf(w);
    status = split_leaf(w, &leaf, leaves + 1 == most, err);
  }
  while (status == FURROW_OK && w->count > 0) finish_leaf(w, &g->level[--w->count]);
  return status;
}

/* ---- A tree --------------------------------------------------------------------------------------------- */

static furrow_status plant(work *w, furrow_error *err) {
  fw_grower *g = w->grower;
  const fw_growth *growth = w->growth;
  const furrow_status status = fw_grow((void **)&g->level, &g->level_capacity, 1, sizeof *g->level, err);
  const fw_gradients *gradients = growth->gradients;
  fw_sum sum = {gradients->gradient_sum, gradients->hessian_sum};
  if (growth->row_count < growth->rows->binned->rows)
    sum = fw_gradient_pairs_sum(growth->rows->row, growth->row_count, gradients->pair);
  int64_t all[4] = {(int64_t)growth->row_count, sum.gradient, sum.hessian};
  FW_TRY(fw_grow_ranks_count(&g->ranks, status, all, 3, err));
  g->level[0] = (grown){.end = growth->row_count, .rows = (size_t)all[0], .sum = {all[1], all[2]}};
  look_at_node(w, &g->level[0]);
  write_node(w, &g->level[0]);
  w->count = 1;
  return FURROW_OK;
}

furrow_status fw_grower_tree(fw_grower *g, const fw_growth *growth, furrow_error *err) {
  work w = {.grower = g, .growth = growth};
  w.rules = (fw_split_rules){g->conf, &g->all, growth->allowed, growth->gradients->gradient_unit,
                             growth->gradients->hessian_unit};
  const unsigned levels = growth->forest->levels;
  furrow_status status = plant(&w, err);
  if (status == FURROW_OK && levels < 2)
    fw_node_rows_add(growth->rows, 0, growth->row_count, score_of(&w, 0), growth->score, g->pool);
  if (status == FURROW_OK && levels >= 2 && g->conf->leaves > 0) status = grow_best_first(&w, err);
  for (unsigned level = 0; status == FURROW_OK && w.count > 0 && level + 1 < levels; level++) {
    status = ready_level(&w, status, w.count, err);
    if (status == FURROW_OK) status = grow_level(&w, level + 2 == levels, err);
  }
  for (size_t i = 0; i < w.count; i++) drop_histogram(g, &g->level[i]); /* after a failure */
  return status;
}
