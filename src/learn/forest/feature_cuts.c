/* learn/forest/feature_cuts.c: the end of the first pass: cuts are chosen, features get their numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/math/trees.h"
#include "learn/forest/feature_stats.h"

#define DENSE_SHARE 8 /* a feature of several bins that every 8th row has is dense */

/* While cuts are chosen: the values of each feature one after the other, and memory for its cuts. */
typedef struct chooser {
  fw_feature_stats *stats;
  fw_cuts *cuts;
  seen **feature; /* in order of appearance */
  size_t *first;  /* of a feature's values; two more for its least and most */
  float *value, *spare;
  double *cut; /* FW_BINS - 1 at most of each, at `first_cut` */
  size_t *first_cut;
  uint32_t *cut_count;
} chooser;

static void clear_chooser(chooser *c) {
  void *const arrays[] = {c->feature, c->first, c->value, c->spare, c->cut, c->first_cut, c->cut_count};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
}

static value_set *set_of(const fw_feature_stats *s, size_t number) {
  return number < s->set_capacity ? s->sets[number] : NULL;
}

static size_t most_cuts(const chooser *c, size_t number) {
  const value_set *set = set_of(c->stats, number);
  const size_t splits = c->stats->plan->forest.splits, values = c->first[number + 1] - c->first[number];
  if (set) return set->count - 1;
  if (c->feature[number]->least == c->feature[number]->most) return 0;
  const size_t most = splits < FW_BINS ? splits : FW_BINS - 1;
  return most < values ? most : values;
}

static furrow_status make_chooser(chooser *c, furrow_error *err) {
  const size_t n = c->stats->count;
  furrow_status status = fw_alloc((void **)&c->feature, n, sizeof *c->feature, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&c->first, n + 1, sizeof *c->first, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&c->first_cut, n + 1, sizeof *c->first_cut, err);
  if (status == FURROW_OK) status = fw_alloc_zero((void **)&c->cut_count, n, sizeof *c->cut_count, err);
  return status;
}

static void list_features(chooser *c) {
  fw_feature_stats *s = c->stats;
  for (uint32_t i = 0; i < s->count; i++)
    c->feature[i] = s->dense ? &s->columns[s->ids[i]] : fw_features_find(s->features, s->ids[i]);
}

/* A counting sort by feature, a block of the sample for each thread: where its values of a feature go. */
typedef struct sample_sort {
  chooser *chooser;
  size_t blocks;
  size_t *at; /* blocks * features */
} sample_sort;

static size_t block_begin(const sample_sort *sort, size_t block) {
  return sort->chooser->stats->sample_count * block / sort->blocks;
}

static void count_block(void *context, size_t block) {
  const sample_sort *sort = context;
  const fw_feature_stats *s = sort->chooser->stats;
  size_t *at = sort->at + block * s->count;
  for (size_t i = block_begin(sort, block); i < block_begin(sort, block + 1); i++) at[s->sample[i].number]++;
}

static void move_block(void *context, size_t block) {
  const sample_sort *sort = context;
  const fw_feature_stats *s = sort->chooser->stats;
  size_t *at = sort->at + block * s->count;
  for (size_t i = block_begin(sort, block); i < block_begin(sort, block + 1); i++)
    sort->chooser->value[at[s->sample[i].number]++] = s->sample[i].value;
}

/* Counts become places: the least and the most of a feature, then its values block by block. */
static size_t place_values(const sample_sort *sort) {
  const chooser *c = sort->chooser;
  const size_t features = c->stats->count;
  size_t next = 0;
  for (size_t f = 0; f < features; f++) {
    c->first[f] = next;
    next += 2;
    for (size_t block = 0; block < sort->blocks; block++) {
      size_t *at = &sort->at[block * features + f];
      const size_t values = *at;
      *at = next;
      next += values;
    }
  }
  c->first[features] = next;
  return next;
}

static furrow_status sort_sample(chooser *c, fw_spin_pool *pool, furrow_error *err) {
  const fw_feature_stats *s = c->stats;
  const size_t threads = fw_spin_pool_threads(pool);
  sample_sort sort = {.chooser = c, .blocks = s->count < s->sample_count / threads ? threads : 1};
  furrow_status status = fw_alloc_zero((void **)&sort.at, s->count, sort.blocks * sizeof *sort.at, err);
  if (status == FURROW_OK) {
    fw_spin_pool_run(pool, sort.blocks, count_block, &sort);
    const size_t values = place_values(&sort);
    status = fw_alloc((void **)&c->value, values, sizeof *c->value, err);
    if (status == FURROW_OK) status = fw_alloc((void **)&c->spare, values, sizeof *c->spare, err);
  }
  if (status == FURROW_OK) {
    fw_spin_pool_run(pool, sort.blocks, move_block, &sort);
    for (size_t i = 0; i < s->count; i++) {
      c->value[c->first[i]] = c->feature[i]->least;
      c->value[c->first[i] + 1] = c->feature[i]->most;
    }
  }
  fw_free(sort.at);
  return status;
}

/* Whether this rank chooses the cuts of a feature. */
static bool is_own(const fw_feature_stats *s, size_t i) {
  return !s->comm || (i >= s->chosen_from && i < s->chosen_to);
}

static furrow_status reserve_cuts(chooser *c, furrow_error *err) {
  const size_t n = c->stats->count;
  c->first_cut[0] = 0;
  for (size_t i = 0; i < n; i++) c->first_cut[i + 1] = c->first_cut[i] + (is_own(c->stats, i) ? most_cuts(c, i) : 0);
  return fw_alloc((void **)&c->cut, c->first_cut[n], sizeof *c->cut, err);
}

static void choose_cuts(void *context, size_t i) {
  chooser *c = context;
  value_set *set = set_of(c->stats, i);
  const size_t limit = c->first_cut[i + 1] - c->first_cut[i];
  double *cut = c->cut + c->first_cut[i];
  if (limit == 0) return;
  if (set) {
    c->cut_count[i] = (uint32_t)fw_cuts_choose(set->value, set->count, NULL, FW_BINS, cut);
    return;
  }
  const size_t first = c->first[i], n = c->first[i + 1] - first;
  c->cut_count[i] = (uint32_t)fw_cuts_choose(c->value + first, n, c->spare + first, limit, cut);
}

/* The cuts that this rank has chosen, without gaps; returns how many. */
static size_t join_cuts(const chooser *c) {
  const fw_feature_stats *s = c->stats;
  size_t n = 0;
  for (size_t i = s->chosen_from; i < s->chosen_to; i++) {
    if (c->cut_count[i] > 0) memmove(c->cut + n, c->cut + c->first_cut[i], c->cut_count[i] * sizeof *c->cut);
    n += c->cut_count[i];
  }
  return n;
}

/* The cuts that other ranks have chosen: those of all features are in the order of ranks. */
static furrow_status share_cuts(chooser *c, furrow_error *err) {
  const fw_feature_stats *s = c->stats;
  void *counts = NULL, *cuts = NULL;
  size_t bytes = 0;
  if (!s->comm) return FURROW_OK;
  FW_TRY(fw_comm_gather_all(s->comm, c->cut_count + s->chosen_from,
                            (s->chosen_to - s->chosen_from) * sizeof *c->cut_count, &counts, &bytes, NULL, err));
  furrow_status status = fw_comm_gather_all(s->comm, c->cut, join_cuts(c) * sizeof *c->cut, &cuts, &bytes, NULL, err);
  if (status == FURROW_OK) {
    fw_free(c->cut);
    c->cut = cuts;
    if (s->count > 0) memcpy(c->cut_count, counts, s->count * sizeof *c->cut_count);
    for (size_t i = 0; i < s->count; i++) c->first_cut[i + 1] = c->first_cut[i] + c->cut_count[i];
  }
  fw_free(counts);
  return status;
}

/* A feature that has one bin and all rows have can split nothing. */
static bool is_useful(const chooser *c, size_t i) {
  return c->cut_count[i] > 0 || c->feature[i]->count < c->stats->rows;
}

typedef enum rank_kind { DENSE, MANY_BINS, ONE_BIN } rank_kind;

typedef struct ranked {
  rank_kind kind;
  uint32_t number; /* in order of appearance */
  uint64_t id, count;
} ranked;

/* Dense ones by id, then the others by their frequency, those of one bin last. */
static int compare_ranks(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->kind != DENSE && x->count != y->count) return x->count > y->count ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

static int compare_ranks_by_id(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

/* A byte of every row is worth it for many bins. Of one bin it would make rows that lack the feature add to the same
 * place again and again, which waits for itself; a list costs the rows that have it. */
static rank_kind kind_of(const chooser *c, size_t i) {
  const fw_feature_stats *s = c->stats;
  if (s->dense || (c->cut_count[i] > 0 && c->feature[i]->count > s->rows / DENSE_SHARE)) return DENSE;
  return c->cut_count[i] > 0 ? MANY_BINS : ONE_BIN;
}

static size_t rank_features(const chooser *c, ranked *rank) {
  size_t n = 0;
  for (uint32_t i = 0; i < c->stats->count; i++) {
    if (!is_useful(c, i)) continue;
    const uint64_t count = c->feature[i]->count;
    const rank_kind kind = kind_of(c, i);
    rank[n++] = (ranked){kind, i, c->stats->ids[i], count};
  }
  qsort(rank, n, sizeof *rank, compare_ranks);
  return n;
}

static furrow_status make_cuts(fw_cuts *cuts, size_t features, size_t cut_count, furrow_error *err) {
  furrow_status status = fw_alloc((void **)&cuts->feature, features, sizeof *cuts->feature, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&cuts->by_id, features, sizeof *cuts->by_id, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&cuts->cut, cut_count, sizeof *cuts->cut, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&cuts->edge, cut_count, sizeof *cuts->edge, err);
  return status;
}

/* The nearest float may be above the cut. */
static float edge_below(double cut) {
  float edge = (float)cut;
  if ((double)edge > cut) edge = nextafterf(edge, -INFINITY);
  return edge;
}

/* Dense features end with a whole group. */
static void start_sparse(fw_cuts *cuts) {
  const size_t groups = (cuts->dense + FW_DENSE_GROUP - 1) / FW_DENSE_GROUP;
  cuts->bins = cuts->first_sparse_bin = groups * FW_DENSE_GROUP * FW_BINS_APART;
}

static void place_feature(const chooser *c, const ranked *rank) {
  fw_cuts *cuts = c->cuts;
  const seen *of = c->feature[rank->number];
  const uint32_t n = c->cut_count[rank->number];
  const double *cut = c->cut + c->first_cut[rank->number];
  if (rank->kind != DENSE && cuts->count == cuts->dense) start_sparse(cuts);
  cuts->feature[cuts->count++] = (fw_cut_feature){.id = rank->id,
                                                  .count = rank->count,
                                                  .least = of->least,
                                                  .most = of->most,
                                                  .bins = n + 1,
                                                  .first_bin = (uint32_t)cuts->bins,
                                                  .first_cut = cuts->cut_count};
  cuts->bins += rank->kind == DENSE ? FW_BINS_APART : n + 1;
  cuts->dense += rank->kind == DENSE;
  cuts->single += rank->kind != ONE_BIN;
  for (uint32_t i = 0; i < n; i++) {
    cuts->cut[cuts->cut_count] = cut[i];
    cuts->edge[cuts->cut_count++] = edge_below(cut[i]);
  }
}

static furrow_status place_features(const chooser *c, ranked *rank, furrow_error *err) {
  const size_t n = rank_features(c, rank);
  size_t cut_count = 0;
  for (size_t i = 0; i < c->stats->count; i++) cut_count += c->cut_count[i];
  if (n + FW_DENSE_GROUP > (UINT32_MAX - cut_count) / FW_BINS_APART)
    return fw_fail(err, FURROW_E_RANGE, "there are too many features");
  furrow_status status = make_cuts(c->cuts, n, cut_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < c->stats->count; i++) c->feature[i]->number = 0;
  for (size_t i = 0; i < n; i++) {
    place_feature(c, &rank[i]);
    c->feature[rank[i].number]->number = (uint32_t)i + 1;
    rank[i].number = (uint32_t)i;
  }
  if (c->cuts->count == c->cuts->dense) start_sparse(c->cuts);
  c->cuts->single_offset = c->cuts->bins - c->cuts->count;
  qsort(rank, n, sizeof *rank, compare_ranks_by_id);
  for (size_t i = 0; i < n; i++) c->cuts->by_id[i] = rank[i].number;
  c->cuts->rows = c->stats->rows;
  return FURROW_OK;
}

static furrow_status fill_edges(fw_cuts *cuts, furrow_error *err) {
  const size_t n = cuts->dense * FW_BINS_APART, step = FW_EDGES / FW_PIVOTS;
  FW_TRY(fw_alloc((void **)&cuts->full_edge, n, sizeof *cuts->full_edge, err));
  FW_TRY(fw_alloc((void **)&cuts->pivot, n / step, sizeof *cuts->pivot, err));
  for (size_t i = 0; i < n; i++) {
    const fw_cut_feature *feature = &cuts->feature[i / FW_BINS_APART];
    const size_t edge = i % FW_BINS_APART;
    cuts->full_edge[i] = edge + 1 < feature->bins ? cuts->edge[feature->first_cut + edge] : INFINITY;
    if (i % step == step - 1) cuts->pivot[i / step] = cuts->full_edge[i];
  }
  return FURROW_OK;
}

/* Memory for the cuts, and the values of each feature. */
static furrow_status prepare(chooser *c, ranked **rank, fw_spin_pool *pool, furrow_error *err) {
  FW_TRY(fw_alloc_zero((void **)&c->cuts, 1, sizeof *c->cuts, err));
  FW_TRY(make_chooser(c, err));
  list_features(c);
  FW_TRY(sort_sample(c, pool, err));
  FW_TRY(reserve_cuts(c, err));
  return fw_alloc((void **)rank, c->stats->count, sizeof **rank, err);
}

furrow_status fw_feature_stats_choose_cuts(fw_feature_stats *s, fw_spin_pool *pool, fw_cuts **cuts, furrow_error *err) {
  chooser c = {.stats = s};
  ranked *rank = NULL;
  fw_feature_scan_finish(s);
  furrow_status status = prepare(&c, &rank, pool, err);
  if (s->comm) status = fw_comm_share_status(s->comm, status, err);
  if (status == FURROW_OK) {
    fw_spin_pool_run(pool, s->count, choose_cuts, &c);
    status = share_cuts(&c, err);
  }
  if (status == FURROW_OK) status = place_features(&c, rank, err);
  if (status == FURROW_OK) status = fill_edges(c.cuts, err);
  if (status == FURROW_OK) {
    *cuts = c.cuts;
    fw_feature_stats_drop_sample(s);
  } else {
    fw_cuts_free(c.cuts);
  }
  clear_chooser(&c);
  fw_free(rank);
  return status;
}
