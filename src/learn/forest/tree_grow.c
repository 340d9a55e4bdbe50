/* learn/forest/tree_grow.c: one tree, level by level; or, if the number of leaves is limited, the leaf with the largest
 * gain first.
 *
 * Nodes of a level come in pairs, the children of one node. The smaller of a pair is summed up from its rows; the other
 * is the parent's histogram minus the smaller one's. Where a level has more nodes than there may be histograms, pairs
 * are worked on a few at a time and their histograms are not kept: the next level then sums up all its nodes.
 *
 * Histograms have no counts of rows. That a child has `min-rows` rows is first taken from its share of the node's
 * hessians; if the rows of the best split turn out to be fewer, the node is searched again with a higher limit.
 *
 * Where rows are divided over ranks, all ranks take the same steps, each with its own rows: counts of rows and sums of
 * nodes are over all ranks, and a rank looks for splits in its slice of the features (grow_ranks.c). A failure of one
 * rank is carried to the next call that all ranks make, and ends all. */
#include "learn/forest/tree_grow.h"

#include <math.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/mem.h"

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
  size_t node; /* its number in the tree */
  size_t begin, end;
  size_t rows; /* number of rows of all ranks */
  fw_sum sum;
  fw_leaf_bounds bounds;
  bool may_split;
  double least_hessian;    /* lower bound of the hessian of a child */
  fw_histogram *histogram; /* NULL: not made, or not kept */
  fw_best_split best;
} grown;

/* Nodes of a pair whose best splits are wanted. */
typedef struct pair {
  grown *filled; /* summed up from its rows */
  grown *rest;   /* the sibling, found by subtraction; NULL: not wanted, or there is nothing to subtract from */
  /* Parts of the sum, the first of them the node's histogram. A thread that has summed up a piece leaves its part to
   * the next thread that needs one, so there are at most as many parts as threads at work. */
  size_t first_part, parts;
  atomic_uint used;          /* number of parts in use, the first ones */
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
  fw_best_split *found; /* best splits of the nodes of a pair, by range */
  size_t found_capacity;
  fw_row_split *splits;
  size_t split_capacity;
  /* nodes whose splits the ranks exchange */
  grown **asked;
  fw_best_split **asked_best;
  fw_histogram **filled;
  int64_t *count;
  size_t asked_capacity, best_capacity, filled_capacity, count_capacity;
  /* the tree that is grown */
  const fw_growth *growth;
  fw_split_rules rules;
  size_t level_count; /* nodes of the level */
  size_t pair_count, piece_count, part_count;
  size_t stride; /* pairs and ranges of a task */
};

/* ---- Create, free --------------------------------------------------------------------------------------- */

/* The features that this rank looks for splits in: own[0] … own[1] - 1; of one process all. */
static const size_t *own_features(const fw_grower *g) {
  return &g->ranks.slice[g->ranks.comm->rank];
}

static furrow_status make_ranges(fw_grower *g, furrow_error *err) {
  const fw_cuts *cuts = g->binned->cuts;
  const size_t share = cuts->bins / (RANGES * (size_t)fw_spin_pool_threads(g->pool));
  const size_t least = share < FW_BINS ? FW_BINS : share < RANGE_BINS ? share : RANGE_BINS;
  FW_TRY(FW_ALLOC(&g->range, cuts->bins / least + 2, err));
  const size_t *own = own_features(g);
  size_t first = fw_cuts_first_bin(cuts, own[0]);
  g->range[0] = own[0];
  for (size_t f = own[0]; f < own[1]; f++) {
    const size_t end = fw_cuts_first_bin(cuts, f + 1);
    if (end - first < least && f + 1 < own[1]) continue;
    g->range[++g->ranges] = f + 1;
    first = end;
  }
  return FURROW_OK;
}

/* The least number of rows of a leaf. If the plan leaves it to the data: 20, or a tenth of the rows if that is
 * fewer. */
static size_t least_rows(const fw_forest_conf *conf, uint64_t rows) {
  if (conf->min_rows > 0) return conf->min_rows;
  return rows < 20 ? 1 : rows < 200 ? (size_t)rows / 10 : 20;
}

furrow_status fw_grower_create(fw_grower **grower, const fw_forest_conf *conf, const fw_binned *binned,
                               const furrow_comm *comm, uint64_t all_rows, fw_spin_pool *pool, furrow_error *err) {
  fw_grower *g = NULL;
  furrow_status status = fw_comm_share_status(comm, FW_ALLOC_ZERO(&g, 1, err), err);
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

/* ---- Histograms and best splits of a few pairs ---------------------------------------------------------- */

/* Takes a part of the sum that no other thread works on; *fresh: it is still empty. */
static unsigned take_part(pair *p, bool *fresh) {
  uint_fast64_t idle = atomic_load(&p->idle);
  while (idle)
    if (atomic_compare_exchange_weak(&p->idle, &idle, idle & (idle - 1))) return (unsigned)__builtin_ctzll(idle);
  *fresh = true;
  return atomic_fetch_add(&p->used, 1);
}

static void fill_piece(void *context, size_t i) {
  const fw_grower *g = context;
  const piece *p = &g->pieces[i];
  bool fresh = false;
  const unsigned part = take_part(p->pair, &fresh);
  fw_histogram *histogram = g->parts[p->pair->first_part + part];
  if (fresh) fw_histogram_clear(&g->all, histogram);
  fw_histogram_add_rows(&g->all, histogram, g->growth->rows->row + p->begin, p->end - p->begin,
                        g->growth->gradients->pair);
  atomic_fetch_or(&p->pair->idle, UINT64_C(1) << part);
}

static fw_best_split find_in(const fw_grower *g, const grown *node, size_t begin, size_t end) {
  return fw_best_split_find(&g->rules, node->histogram, node->sum, node->bounds, node->least_hessian, begin, end);
}

static void add_parts(const fw_grower *g, pair *p, size_t begin, size_t end) {
  const size_t used = atomic_load(&p->used);
  for (size_t k = 1; k < used; k++)
    fw_histogram_add(&g->all, begin, end, p->filled->histogram, g->parts[p->first_part + k]);
}

/* Of one pair, the features of one rank: other ranks want a sum. */
static void join_parts(void *context, size_t i) {
  const fw_grower *g = context;
  const size_t rank = i % g->ranks.comm->ranks;
  add_parts(g, &g->pairs[i / g->ranks.comm->ranks], g->ranks.slice[rank], g->ranks.slice[rank + 1]);
}

/* All that a range of features needs, for one pair: parts into a sum, the difference, and the best of both. */
static void find_best(void *context, size_t i) {
  const fw_grower *g = context;
  pair *p = &g->pairs[i / g->ranges];
  const size_t range = i % g->ranges, begin = g->range[range], end = g->range[range + 1];
  fw_best_split *found = &g->found[2 * i];
  if (g->ranks.comm->ranks == 1) add_parts(g, p, begin, end);
  found[0] = found[1] = (fw_best_split){0};
  if (p->filled->may_split) found[0] = find_in(g, p->filled, begin, end);
  if (!p->rest) return;
  fw_histogram_subtract(&g->all, begin, end, p->rest->histogram, p->filled->histogram);
  found[1] = find_in(g, p->rest, begin, end);
}

/* Histograms for the parts of a sum: those that could be made are listed. */
static furrow_status get_parts(fw_grower *g, pair *p, size_t count, furrow_error *err) {
  p->first_part = g->part_count;
  FW_TRY(FW_GROW(&g->parts, &g->part_capacity, g->part_count + count, err));
  for (; p->parts < count; p->parts++) FW_TRY(fw_histogram_get(&g->all, &g->parts[g->part_count++], err));
  return FURROW_OK;
}

/* Handles several pairs and ranges in one task: single ones are so small that threads would wait for each other. */
static void find_some(void *context, size_t i) {
  const fw_grower *g = context;
  const size_t all = g->pair_count * g->ranges, end = (i + 1) * g->stride < all ? (i + 1) * g->stride : all;
  for (size_t k = i * g->stride; k < end; k++) find_best(context, k);
}

/* The rows of a node in pieces, so that all threads have something to do; sums of whole numbers are the same however
 * they are cut. */
static furrow_status cut_pieces(fw_grower *g, pair *p, size_t rows, furrow_error *err) {
  const size_t n = p->filled->end - p->filled->begin, threads = fw_spin_pool_threads(g->pool);
  const size_t few = g->all.bins / PIECE_BINS > PIECE_ROWS ? g->all.bins / PIECE_BINS : PIECE_ROWS;
  const size_t share = rows / (PIECES * threads) + 1, least = share > few ? share : few;
  const size_t wanted = threads == 1 || n < 2 * least ? 1 : n / least;
  const size_t pieces = threads > MOST_PARTS && wanted > MOST_PARTS ? MOST_PARTS : wanted;
  FW_TRY(get_parts(g, p, pieces < threads ? pieces : threads, err));
  p->filled->histogram = g->parts[p->first_part];
  FW_TRY(FW_GROW(&g->pieces, &g->piece_capacity, g->piece_count + pieces, err));
  for (size_t i = 0; i < pieces; i++)
    g->pieces[g->piece_count++] =
        (piece){p->filled->begin + n * i / pieces, p->filled->begin + n * (i + 1) / pieces, p};
  return FURROW_OK;
}

/* All parts but those that are nodes' histograms. */
static void put_parts(fw_grower *g) {
  for (size_t i = 0; i < g->pair_count; i++) {
    const pair *p = &g->pairs[i];
    for (size_t k = 0; k < p->parts; k++)
      if (g->parts[p->first_part + k] != p->filled->histogram) fw_histogram_put(&g->all, g->parts[p->first_part + k]);
  }
  g->piece_count = g->part_count = 0;
}

static void keep_best(const fw_grower *g) {
  for (size_t i = 0; i < g->pair_count * g->ranges; i++) {
    const pair *p = &g->pairs[i / g->ranges];
    fw_best_split_keep(g->binned->cuts, &p->filled->best, &g->found[2 * i]);
    if (p->rest) fw_best_split_keep(g->binned->cuts, &p->rest->best, &g->found[2 * i + 1]);
  }
}

/* Whether it is known without counting that both children have enough rows: no row has more than the most hessian. */
static bool is_settled(const fw_grower *g, const grown *node) {
  const double enough = (double)g->min_rows * g->growth->gradients->most_hessian;
  const int64_t left = node->best.left.hessian, right = node->sum.hessian - left;
  return !(node->best.gain > 0) || g->min_rows <= 1 || ((double)left >= enough && (double)right >= enough);
}

static fw_row_split row_split_of(const grown *node) {
  return (fw_row_split){.begin = node->begin,
                        .end = node->end,
                        .feature = node->best.feature,
                        .last_left = node->best.last_left,
                        .absent_left = node->best.absent_left};
}

/* The best splits of the first n nodes that are asked about, over the features of all ranks. */
static furrow_status share_best(fw_grower *g, size_t n, furrow_error *err) {
  for (size_t i = 0; i < n; i++) g->asked_best[i] = &g->asked[i]->best;
  return fw_grow_ranks_keep_best(&g->ranks, g->asked_best, n, err);
}

/* Keeps the nodes among the first n of g->asked whose rows still have to be counted. Returns their number. */
static size_t keep_unsettled(const fw_grower *g, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!is_settled(g, g->asked[i])) g->asked[kept++] = g->asked[i];
  return kept;
}

/* Nodes whose split leaves a child too few rows are searched again, with a higher limit. */
static furrow_status enforce_min_rows(fw_grower *g, size_t n, furrow_error *err) {
  while ((n = keep_unsettled(g, n)) > 0) {
    size_t again = 0;
    for (size_t i = 0; i < n; i++) {
      const fw_row_split split = row_split_of(g->asked[i]);
      g->count[i] = (int64_t)fw_node_rows_count(g->growth->rows, &split);
    }
    FW_TRY(fw_grow_ranks_count(&g->ranks, FURROW_OK, g->count, n, err));
    for (size_t i = 0; i < n; i++) {
      grown *node = g->asked[i];
      const size_t lefts = (size_t)g->count[i];
      if (lefts >= g->min_rows && node->rows - lefts >= g->min_rows) continue;
      node->least_hessian = fmax(2 * node->least_hessian, g->rules.hessian_unit);
      node->best = find_in(g, node, own_features(g)[0], own_features(g)[1]);
      g->asked[again++] = node;
    }
    n = again;
    if (n > 0) FW_TRY(share_best(g, n, err));
  }
  return FURROW_OK;
}

static void drop_histogram(fw_grower *g, grown *node) {
  fw_histogram_put(&g->all, node->histogram);
  node->histogram = NULL;
}

/* Memory for what the pairs need. */
static furrow_status reserve_pairs(fw_grower *g, furrow_error *err) {
  const size_t n = 2 * g->pair_count;
  size_t rows = 0;
  for (size_t i = 0; i < g->pair_count; i++) rows += g->pairs[i].filled->end - g->pairs[i].filled->begin;
  FW_TRY(FW_GROW(&g->found, &g->found_capacity, n * g->ranges, err));
  FW_TRY(FW_GROW(&g->asked, &g->asked_capacity, n, err));
  FW_TRY(FW_GROW(&g->asked_best, &g->best_capacity, n, err));
  FW_TRY(FW_GROW(&g->filled, &g->filled_capacity, n, err));
  FW_TRY(FW_GROW(&g->count, &g->count_capacity, n + 1, err));
  for (size_t i = 0; i < g->pair_count; i++) FW_TRY(cut_pieces(g, &g->pairs[i], rows, err));
  return FURROW_OK;
}

/* Histograms of the rows of all ranks, each rank's slice of them. */
static furrow_status fill_pairs(fw_grower *g, furrow_status status, furrow_error *err) {
  if (status == FURROW_OK) fw_spin_pool_run(g->pool, g->piece_count, fill_piece, g);
  if (g->ranks.comm->ranks == 1) return status;
  if (status == FURROW_OK) {
    fw_spin_pool_run(g->pool, g->pair_count * g->ranks.comm->ranks, join_parts, g);
    for (size_t i = 0; i < g->pair_count; i++) g->filled[i] = g->pairs[i].filled->histogram;
  }
  return fw_grow_ranks_add(&g->ranks, status, g->filled, g->pair_count, err);
}

static furrow_status search_pairs(fw_grower *g, furrow_error *err) {
  size_t n = 0;
  const size_t tasks = RANGES * (size_t)fw_spin_pool_threads(g->pool);
  g->stride = g->pair_count * g->ranges / tasks + 1;
  fw_spin_pool_run(g->pool, (g->pair_count * g->ranges + g->stride - 1) / g->stride, find_some, g);
  keep_best(g);
  for (size_t i = 0; i < g->pair_count; i++) {
    if (g->pairs[i].filled->may_split) g->asked[n++] = g->pairs[i].filled;
    if (g->pairs[i].rest) g->asked[n++] = g->pairs[i].rest;
  }
  FW_TRY(share_best(g, n, err));
  return enforce_min_rows(g, n, err);
}

static furrow_status work_on_pairs(fw_grower *g, bool keep, furrow_error *err) {
  furrow_status status = reserve_pairs(g, err);
  status = fill_pairs(g, status, err);
  if (status == FURROW_OK) status = search_pairs(g, err);
  put_parts(g);
  for (size_t i = 0; !keep && i < g->pair_count; i++) {
    drop_histogram(g, g->pairs[i].filled);
    if (g->pairs[i].rest) drop_histogram(g, g->pairs[i].rest);
  }
  g->pair_count = 0;
  return status;
}

/* ---- A level -------------------------------------------------------------------------------------------- */

/* There is memory for all pairs of a level: see reserve_level. */
static void add_pair(fw_grower *g, grown *filled, grown *rest) {
  g->pairs[g->pair_count++] = (pair){.filled = filled, .rest = rest};
}

/* Adds two children. If the parent's histogram was kept, the larger child takes it over, and subtracts the smaller one
 * from it. */
static void add_children(fw_grower *g, grown *left, grown *right) {
  grown *small = left->rows <= right->rows ? left : right;
  grown *large = small == left ? right : left;
  fw_histogram *parent = left->histogram;
  left->histogram = right->histogram = NULL;
  if (parent && large->may_split) {
    large->histogram = parent;
    add_pair(g, small, large);
    return;
  }
  fw_histogram_put(&g->all, parent);
  if (small->may_split) add_pair(g, small, NULL);
  if (large->may_split) add_pair(g, large, NULL);
}

/* The best splits of all nodes of the level: the root, or pairs. */
static furrow_status find_level(fw_grower *g, furrow_error *err) {
  const bool keep = g->level_count <= g->most_histograms;
  if (g->binned->cuts->count == 0) return FURROW_OK;
  if (g->level_count == 1 && g->level[0].may_split) add_pair(g, &g->level[0], NULL);
  for (size_t i = 0; i + 1 < g->level_count; i += 2) {
    add_children(g, &g->level[i], &g->level[i + 1]);
    if (g->pair_count + 2 > g->most_histograms) FW_TRY(work_on_pairs(g, keep, err));
  }
  return g->pair_count ? work_on_pairs(g, keep, err) : FURROW_OK;
}

/* Decides whether a node may split: both children need enough hessian and rows. */
static void look_at_node(const fw_grower *g, grown *node) {
  const double h = (double)node->sum.hessian * g->rules.hessian_unit, least = g->conf->min_child_weight;
  const size_t rows = node->rows, least_rows = g->min_rows;
  node->may_split = rows >= 2 && rows / 2 >= least_rows && h > 0 && h >= 2 * least;
  node->least_hessian = least_rows > 1 ? fmax(least, h * (double)least_rows / (double)rows) : least;
}

static void write_node(const fw_grower *g, const grown *node) {
  fw_forest *forest = g->growth->forest;
  const size_t at = g->growth->tree * forest->nodes + node->node;
  const double gradient = (double)node->sum.gradient * g->rules.gradient_unit;
  const double hessian = (double)node->sum.hessian * g->rules.hessian_unit;
  forest->predict[at] = fw_leaf_value(&g->rules, node->bounds, gradient, hessian) + g->growth->start;
  if (forest->gradient) forest->gradient[at] = gradient;
  if (forest->hessian) forest->hessian[at] = hessian;
}

static void write_split(const fw_grower *g, const grown *node) {
  fw_forest *forest = g->growth->forest;
  const size_t at = g->growth->tree * forest->nodes + node->node;
  forest->feature[at] = (int32_t)g->binned->cuts->feature[node->best.feature].id;
  forest->value[at] = node->best.value;
  forest->missing_flipped[at] = node->best.absent_left != (node->best.value >= 0);
  if (forest->gain) forest->gain[at] = node->best.gain;
}

static double score_of(const fw_grower *g, size_t node) {
  return g->growth->rate * g->growth->forest->predict[g->growth->tree * g->growth->forest->nodes + node];
}

static double step_of(const fw_grower *g, const grown *node) {
  return fw_leaf_step(&g->rules, node->bounds, (double)node->sum.gradient * g->rules.gradient_unit,
                      (double)node->sum.hessian * g->rules.hessian_unit);
}

/* If scores may only rise or fall along the feature of a split, neither side may go past the middle of both. */
static void bound_children(const fw_grower *g, const grown *node, grown *left) {
  left[0].bounds = left[1].bounds = node->bounds;
  const int direction = g->rules.direction ? g->rules.direction[node->best.feature] : 0;
  if (direction == 0) return;
  const double middle = 0.5 * (step_of(g, &left[0]) + step_of(g, &left[1]));
  *(direction > 0 ? &left[0].bounds.high : &left[0].bounds.low) = middle;
  *(direction > 0 ? &left[1].bounds.low : &left[1].bounds.high) = middle;
}

/* The children of a node, without their rows; the right one has the number of the node's rows until they are split. */
static void make_children(const fw_grower *g, const grown *node, grown *left) {
  const fw_sum sum = node->best.left;
  left[0] = (grown){.node = 2 * node->node + 1, .sum = sum, .histogram = node->histogram};
  left[1] = (grown){.node = 2 * node->node + 2,
                    .rows = node->rows,
                    .sum = {node->sum.gradient - sum.gradient, node->sum.hessian - sum.hessian}};
  bound_children(g, node, left);
  write_node(g, &left[0]);
  write_node(g, &left[1]);
}

/* The split of a node with the scores of its children, which must have been written. */
static fw_row_split scored_split_of(const fw_grower *g, const grown *node) {
  fw_row_split split = row_split_of(node);
  split.left = score_of(g, 2 * node->node + 1);
  split.right = score_of(g, 2 * node->node + 2);
  return split;
}

/* A node without a split is a leaf: its rows get its score. */
static void finish_leaf(fw_grower *g, grown *leaf) {
  drop_histogram(g, leaf);
  fw_node_rows_add(g->growth->rows, leaf->begin, leaf->end, score_of(g, leaf->node), g->growth->score);
}

/* Reserves memory for the pairs of a level of `count` nodes, for their splits and their children. */
static furrow_status reserve_level(fw_grower *g, size_t count, furrow_error *err) {
  FW_TRY(FW_GROW(&g->pairs, &g->pair_capacity, count, err));
  FW_TRY(FW_GROW(&g->next, &g->next_capacity, 2 * count, err));
  FW_TRY(FW_GROW(&g->splits, &g->split_capacity, count, err));
  return FW_GROW(&g->count, &g->count_capacity, count + 1, err);
}

/* Rows in leaves get the leaf's score; nodes with a split are listed with their children. Returns the number of
 * splits. */
static size_t list_splits(fw_grower *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->level_count; i++) {
    grown *node = &g->level[i];
    if (!(node->best.gain > 0)) {
      finish_leaf(g, node);
      continue;
    }
    write_split(g, node);
    make_children(g, node, &g->next[2 * n]);
    g->splits[n++] = scored_split_of(g, node);
  }
  return n;
}

/* `lefts`: of all ranks' rows. */
static void give_rows(const fw_grower *g, grown *children, const fw_row_split *split, int64_t lefts) {
  children[0].rows = (size_t)lefts;
  children[1].rows -= (size_t)lefts;
  children[0].begin = split->begin;
  children[0].end = children[1].begin = split->middle;
  children[1].end = split->end;
  look_at_node(g, &children[0]);
  look_at_node(g, &children[1]);
}

/* Splits the rows of this rank, and counts the rows of all ranks that went left. keep: the level has other nodes,
 * too. */
static furrow_status split_rows(const fw_grower *g, fw_row_split *splits, size_t n, bool keep, furrow_error *err) {
  const furrow_status status = fw_node_rows_split(g->growth->rows, splits, n, keep, err);
  for (size_t i = 0; i < n; i++) g->count[i] = (int64_t)(splits[i].middle - splits[i].begin);
  return fw_grow_ranks_count(&g->ranks, status, g->count, n, err);
}

/* The children, with their rows, are the next level. */
static void go_down(fw_grower *g, size_t n) {
  for (size_t i = 0; i < n; i++) give_rows(g, &g->next[2 * i], &g->splits[i], g->count[i]);
  grown *level = g->level;
  const size_t capacity = g->level_capacity;
  g->level = g->next;
  g->level_capacity = g->next_capacity;
  g->next = level;
  g->next_capacity = capacity;
  g->level_count = 2 * n;
}

static furrow_status grow_level(fw_grower *g, bool last, furrow_error *err) {
  FW_TRY(find_level(g, err));
  const size_t n = list_splits(g);
  if (last) {
    fw_node_rows_score(g->growth->rows, g->splits, n, g->growth->score);
    for (size_t i = 0; i < g->level_count; i++)
      if (g->level[i].best.gain > 0) drop_histogram(g, &g->level[i]);
    g->level_count = 0;
    return FURROW_OK;
  }
  for (size_t i = 0; i < g->level_count; i++) g->level[i].histogram = NULL; /* their children have them */
  const furrow_status status = split_rows(g, g->splits, n, false, err);
  go_down(g, n);
  return status;
}

/* ---- Best first ----------------------------------------------------------------------------------------- */

/* Leaves that can be split are a heap, level[0 … count-1]: the one with the largest gain comes first, of equal ones
 * that with the smaller number. */
static bool is_before(const grown *a, const grown *b) {
  return a->best.gain != b->best.gain ? a->best.gain > b->best.gain : a->node < b->node;
}

static void push_leaf(fw_grower *g, const grown *leaf) {
  grown *heap = g->level;
  size_t at = g->level_count++;
  for (; at > 0 && is_before(leaf, &heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = *leaf;
}

static grown pop_leaf(fw_grower *g) {
  grown *heap = g->level;
  const grown top = heap[0], *last = &heap[--g->level_count];
  size_t at = 0;
  for (size_t child = 1; child < g->level_count; child = 2 * at + 1) {
    if (child + 1 < g->level_count && is_before(&heap[child + 1], &heap[child])) child++;
    if (is_before(last, &heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = *last;
  return top;
}

static void queue_leaf(fw_grower *g, grown *leaf) {
  if (leaf->best.gain > 0)
    push_leaf(g, leaf);
  else
    finish_leaf(g, leaf);
}

/* Splits a leaf; `last`: its children are not split any more. */
static furrow_status split_leaf(fw_grower *g, grown *leaf, bool last, furrow_error *err) {
  grown children[2];
  write_split(g, leaf);
  make_children(g, leaf, children);
  fw_row_split split = scored_split_of(g, leaf);
  if (last || 2 * children[0].node + 2 >= g->growth->forest->nodes) {
    drop_histogram(g, leaf);
    fw_node_rows_score(g->growth->rows, &split, 1, g->growth->score);
    return FURROW_OK;
  }
  furrow_status status = split_rows(g, &split, 1, true, err);
  if (status == FURROW_OK) {
    give_rows(g, children, &split, g->count[0]);
    const bool keep = g->level_count + 2 <= g->most_histograms;
    add_children(g, &children[0], &children[1]);
    if (g->pair_count) status = work_on_pairs(g, keep, err);
  }
  if (status == FURROW_OK) {
    queue_leaf(g, &children[0]);
    queue_leaf(g, &children[1]);
  } else {
    drop_histogram(g, &children[0]);
    drop_histogram(g, &children[1]);
  }
  return status;
}

/* Before the next level of `count` nodes, or the next split: checks whether all ranks can continue. */
static furrow_status ready_level(fw_grower *g, furrow_status status, size_t count, furrow_error *err) {
  if (status == FURROW_OK && g->growth->check) status = g->growth->check(g->growth->check_user, err);
  if (status == FURROW_OK) status = reserve_level(g, count, err);
  if (status == FURROW_OK) status = FW_GROW(&g->level, &g->level_capacity, g->level_count + 1, err);
  return fw_comm_share_status(g->ranks.comm, status, err);
}

/* The root is level[0]. */
static furrow_status grow_best_first(fw_grower *g, furrow_error *err) {
  const size_t most = g->conf->leaves;
  furrow_status status = ready_level(g, FURROW_OK, 1, err);
  if (status == FURROW_OK) status = find_level(g, err);
  if (status == FURROW_OK && !(g->level[0].best.gain > 0)) finish_leaf(g, &g->level[--g->level_count]);
  for (size_t leaves = 1; g->level_count > 0 && leaves < most; leaves++) {
    status = ready_level(g, status, 2, err);
    if (status != FURROW_OK) break;
    grown leaf = pop_leaf(g);
    status = split_leaf(g, &leaf, leaves + 1 == most, err);
  }
  while (status == FURROW_OK && g->level_count > 0) finish_leaf(g, &g->level[--g->level_count]);
  return status;
}

/* ---- A tree --------------------------------------------------------------------------------------------- */

static furrow_status plant(fw_grower *g, furrow_error *err) {
  const furrow_status status = FW_GROW(&g->level, &g->level_capacity, 1, err);
  const fw_gradients *gradients = g->growth->gradients;
  fw_sum sum = {gradients->gradient_sum, gradients->hessian_sum};
  if (g->growth->row_count < g->growth->rows->binned->rows)
    sum = fw_gradient_pairs_sum(g->growth->rows->row, g->growth->row_count, gradients->pair);
  int64_t all[4] = {(int64_t)g->growth->row_count, sum.gradient, sum.hessian};
  FW_TRY(fw_grow_ranks_count(&g->ranks, status, all, 3, err));
  g->level[0] = (grown){
      .end = g->growth->row_count, .rows = (size_t)all[0], .sum = {all[1], all[2]}, .bounds = {-INFINITY, INFINITY}};
  look_at_node(g, &g->level[0]);
  write_node(g, &g->level[0]);
  g->level_count = 1;
  return FURROW_OK;
}

furrow_status fw_grower_tree(fw_grower *g, const fw_growth *growth, furrow_error *err) {
  const fw_gradients *gradients = growth->gradients;
  const unsigned levels = growth->forest->levels;
  g->growth = growth;
  g->rules = (fw_split_rules){.conf = g->conf,
                              .all = &g->all,
                              .allowed = growth->allowed,
                              .gradient_unit = gradients->gradient_unit,
                              .hessian_unit = gradients->hessian_unit,
                              .log_link = growth->log_link,
                              .direction = growth->direction};
  g->level_count = g->pair_count = g->piece_count = g->part_count = 0;
  furrow_status status = plant(g, err);
  if (status == FURROW_OK && levels < 2)
    fw_node_rows_add(growth->rows, 0, growth->row_count, score_of(g, 0), growth->score);
  if (status == FURROW_OK && levels >= 2 && g->conf->leaves > 0) status = grow_best_first(g, err);
  for (unsigned level = 0; status == FURROW_OK && g->level_count > 0 && level + 1 < levels; level++) {
    status = ready_level(g, status, g->level_count, err);
    if (status == FURROW_OK) status = grow_level(g, level + 2 == levels, err);
  }
  for (size_t i = 0; i < g->level_count; i++) drop_histogram(g, &g->level[i]); /* after a failure */
  return status;
}
