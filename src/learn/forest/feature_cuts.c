/* learn/forest/feature_cuts.c: the end of the first pass: cuts are chosen by quantiles, features get their numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "kern/math/trees.h"
#include "learn/forest/feature_stats.h"

#define DENSE_SHARE 8                               /* a feature of several bins that every 8th row has is dense */
enum { DIGIT = 11, DIGITS = 1 << DIGIT, FEW = 64 }; /* of floats that are sorted */

/* ---- Sorting floats by their bits ---- */

/* Unsigned numbers that are in the order of the floats. */
static uint32_t ordered(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits ^ ((uint32_t)((int32_t)bits >> 31) | UINT32_C(0x80000000));
}

static void sort_by_digit(const float *from, float *to, size_t n, unsigned shift) {
  uint32_t at[DIGITS] = {0}, sum = 0;
  for (size_t i = 0; i < n; i++) at[ordered(from[i]) >> shift & (DIGITS - 1)]++;
  for (size_t d = 0; d < DIGITS; d++) {
    const uint32_t count = at[d];
    at[d] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) to[at[ordered(from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_by_insertion(float *values, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const float x = values[i];
    size_t at = i;
    for (; at > 0 && values[at - 1] > x; at--) values[at] = values[at - 1];
    values[at] = x;
  }
}

static bool is_sorted(const float *values, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (values[i] < values[i - 1]) return false;
  return true;
}

static void sort_floats(float *values, size_t n, float *spare) {
  if (is_sorted(values, n)) return;
  if (n <= FEW) {
    sort_by_insertion(values, n);
    return;
  }
  sort_by_digit(values, spare, n, 0);
  sort_by_digit(spare, values, n, DIGIT);
  sort_by_digit(values, spare, n, 2 * DIGIT);
  memcpy(values, spare, n * sizeof *values);
}

/* ---- Cuts of one feature ---- */

static size_t count_different(const float *sorted, size_t n) {
  size_t different = n > 0;
  for (size_t i = 1; i < n; i++) different += sorted[i] != sorted[i - 1];
  return different;
}

/* A bin ends when it holds its share of the values that are left, or when with the next value it would hold more than
 * that and the next value alone holds a share. */
static size_t cut_by_share(const float *sorted, size_t n, size_t splits, double *cut) {
  size_t cuts = 0, begin = 0;
  for (size_t i = 0; i < n && cuts < splits;) {
    size_t end = i + 1, next = i + 1;
    while (end < n && sorted[end] == sorted[i]) end++;
    if (end == n) break;
    const size_t left = n - begin, bins = splits + 1 - cuts;
    for (next = end; next < n && sorted[next] == sorted[end];) next++;
    if ((end - begin) * bins >= left || (next - end) * bins >= left) {
      cut[cuts++] = fw_cut_between(sorted[i], sorted[end]);
      begin = end;
    }
    i = end;
  }
  return cuts;
}

size_t fw_cuts_choose(float *values, size_t n, float *spare, size_t splits, double *cut) {
  sort_floats(values, n, spare);
  if (count_different(values, n) > splits + 1) return cut_by_share(values, n, splits, cut);
  size_t cuts = 0;
  for (size_t i = 1; i < n; i++)
    if (values[i] != values[i - 1]) cut[cuts++] = fw_cut_between(values[i - 1], values[i]);
  return cuts;
}

/* ---- Cuts of all features ---- */

/* While cuts are chosen: the values of each feature one after the other, and memory for its cuts. */
typedef struct chooser {
  fw_feature_stats *stats;
  fw_cuts *cuts;
  seen **feature; /* in order of appearance */
  size_t *first;  /* where each feature's values begin; two more for its least and largest */
  float *value, *spare;
  double *cut; /* FW_BINS - 1 at most of each, at `first_cut` */
  size_t *first_cut;
  uint32_t *cut_count;
} chooser;

static size_t most_cuts(const chooser *c, size_t number) {
  const value_set *set = fw_feature_stats_set(c->stats, number);
  const size_t splits = c->stats->plan->forest.splits, values = c->first[number + 1] - c->first[number];
  if (set) return set->count - 1;
  if (c->feature[number]->least == c->feature[number]->most) return 0;
  const size_t most = splits < FW_BINS ? splits : FW_BINS - 1;
  return most < values ? most : values;
}

/* A counting sort by feature, a block of the sample for each thread: where its values of a feature go. */
typedef struct sample_sort {
  chooser *chooser;
  size_t blocks;
  size_t *at; /* blocks * features */
} sample_sort;

static size_t block_begin(const sample_sort *sort, size_t block) {
  return sort->chooser->stats->sample.count * block / sort->blocks;
}

static void count_block(void *context, size_t block) {
  const sample_sort *sort = context;
  const fw_feature_stats *s = sort->chooser->stats;
  size_t *at = sort->at + block * s->count;
  for (size_t i = block_begin(sort, block); i < block_begin(sort, block + 1); i++) at[s->sample.value[i].number]++;
}

static void move_block(void *context, size_t block) {
  const sample_sort *sort = context;
  const fw_feature_stats *s = sort->chooser->stats;
  size_t *at = sort->at + block * s->count;
  for (size_t i = block_begin(sort, block); i < block_begin(sort, block + 1); i++)
    sort->chooser->value[at[s->sample.value[i].number]++] = s->sample.value[i].value;
}

static furrow_status move_values(sample_sort *sort, size_t values, fw_spin_pool *pool, furrow_error *err) {
  chooser *c = sort->chooser;
  FW_TRY(FW_ALLOC(&c->value, values, err));
  FW_TRY(FW_ALLOC(&c->spare, values, err));
  fw_prefer_large_pages(c->value, values * sizeof *c->value);
  fw_prefer_large_pages(c->spare, values * sizeof *c->spare);
  fw_spin_pool_run(pool, sort->blocks, move_block, sort);
  for (size_t i = 0; i < c->stats->count; i++) {
    c->value[c->first[i]] = c->feature[i]->least;
    c->value[c->first[i] + 1] = c->feature[i]->most;
  }
  return FURROW_OK;
}

static furrow_status sort_sample(chooser *c, fw_spin_pool *pool, furrow_error *err) {
  const size_t features = c->stats->count, threads = fw_spin_pool_threads(pool);
  sample_sort sort = {.chooser = c, .blocks = features < c->stats->sample.count / threads ? threads : 1};
  FW_TRY(FW_ALLOC_ZERO_ROWS(&sort.at, features, sort.blocks, err));
  fw_spin_pool_run(pool, sort.blocks, count_block, &sort);
  c->first[0] = 0; /* the least and the most of a feature come before its values */
  const size_t values = fw_counts_to_offsets(sort.at, sort.blocks, features, 2, c->first + 1);
  const furrow_status status = move_values(&sort, values, pool, err);
  fw_free(sort.at);
  return status;
}

/* Reserves memory for the cuts of the features that this rank chooses cuts for. */
static furrow_status reserve_cuts(chooser *c, furrow_error *err) {
  const fw_feature_stats *s = c->stats;
  c->first_cut[0] = 0;
  for (size_t i = 0; i < s->count; i++) {
    const bool own = !s->comm || (i >= s->chosen_from && i < s->chosen_to);
    c->first_cut[i + 1] = c->first_cut[i] + (own ? most_cuts(c, i) : 0);
  }
  return FW_ALLOC(&c->cut, c->first_cut[s->count], err);
}

static void choose_cuts(void *context, size_t i) {
  chooser *c = context;
  value_set *set = fw_feature_stats_set(c->stats, i);
  const size_t limit = c->first_cut[i + 1] - c->first_cut[i], first = c->first[i], n = c->first[i + 1] - first;
  double *cut = c->cut + c->first_cut[i];
  if (limit == 0) return;
  c->cut_count[i] = (uint32_t)(set ? fw_cuts_choose(set->value, set->count, NULL, FW_BINS, cut)
                                   : fw_cuts_choose(c->value + first, n, c->spare + first, limit, cut));
}

/* Moves the cuts that this rank has chosen together, without gaps; returns their number. */
static size_t join_cuts(const chooser *c) {
  const fw_feature_stats *s = c->stats;
  size_t n = 0;
  for (size_t i = s->chosen_from; i < s->chosen_to; i++) {
    if (c->cut_count[i] > 0) memmove(c->cut + n, c->cut + c->first_cut[i], c->cut_count[i] * sizeof *c->cut);
    n += c->cut_count[i];
  }
  return n;
}

/* Gathers the cuts that the other ranks have chosen. The features are in the order of the ranks that choose them. */
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

typedef enum feature_kind { DENSE, MANY_BINS, ONE_BIN } feature_kind;

/* A feature on its way to its place among the cuts. */
typedef struct listed {
  feature_kind kind;
  uint32_t number; /* in order of appearance */
  uint64_t id, count;
} listed;

/* Dense features by id, then the others by frequency; features with one bin come last. */
static int compare_listed(const void *a, const void *b) {
  const listed *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->kind != DENSE && x->count != y->count) return x->count > y->count ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

/* Features with several bins that many rows have are dense: a byte in every row. A dense feature with one bin would be
 * slow: all rows that lack it would add to the same sum, and each addition would wait for the one before. A list costs
 * time only for the rows that have the feature. */
static feature_kind kind_of(const chooser *c, size_t i) {
  const fw_feature_stats *s = c->stats;
  if (s->dense || (c->cut_count[i] > 0 && c->feature[i]->count > s->rows / DENSE_SHARE)) return DENSE;
  return c->cut_count[i] > 0 ? MANY_BINS : ONE_BIN;
}

/* Lists the features. A feature that has one bin and that all rows have cannot split anything. */
static size_t list_features(const chooser *c, listed *list) {
  const fw_feature_stats *s = c->stats;
  size_t n = 0;
  for (uint32_t i = 0; i < s->count; i++)
    if (c->cut_count[i] > 0 || c->feature[i]->count < s->rows)
      list[n++] = (listed){kind_of(c, i), i, s->ids[i], c->feature[i]->count};
  qsort(list, n, sizeof *list, compare_listed);
  return n;
}

/* Rounds down to a float: the nearest float may be above the cut. */
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

static void place_feature(const chooser *c, const listed *from) {
  fw_cuts *cuts = c->cuts;
  const seen *of = c->feature[from->number];
  const uint32_t n = c->cut_count[from->number];
  const double *cut = c->cut + c->first_cut[from->number];
  if (from->kind != DENSE && cuts->count == cuts->dense) start_sparse(cuts);
  cuts->feature[cuts->count++] = (fw_cut_feature){.id = from->id,
                                                  .count = from->count,
                                                  .least = of->least,
                                                  .most = of->most,
                                                  .bins = n + 1,
                                                  .first_bin = (uint32_t)cuts->bins,
                                                  .first_cut = cuts->cut_count};
  cuts->bins += from->kind == DENSE ? FW_BINS_APART : n + 1;
  cuts->dense += from->kind == DENSE;
  cuts->single += from->kind != ONE_BIN;
  for (uint32_t i = 0; i < n; i++) {
    cuts->cut[cuts->cut_count] = cut[i];
    cuts->edge[cuts->cut_count++] = edge_below(cut[i]);
  }
}

static furrow_status place_features(const chooser *c, listed *list, furrow_error *err) {
  fw_cuts *cuts = c->cuts;
  const size_t n = list_features(c, list);
  size_t cut_count = 0;
  for (size_t i = 0; i < c->stats->count; i++) cut_count += c->cut_count[i];
  if (n + FW_DENSE_GROUP > (UINT32_MAX - cut_count) / FW_BINS_APART)
    return fw_fail(err, FURROW_E_RANGE, "there are too many features");
  FW_TRY(FW_ALLOC(&cuts->feature, n, err));
  FW_TRY(FW_ALLOC(&cuts->by_id, n, err));
  FW_TRY(FW_ALLOC(&cuts->cut, cut_count, err));
  FW_TRY(FW_ALLOC(&cuts->edge, cut_count, err));
  for (size_t i = 0; i < c->stats->count; i++) c->feature[i]->number = 0;
  for (size_t i = 0; i < n; i++) {
    place_feature(c, &list[i]);
    c->feature[list[i].number]->number = (uint32_t)i + 1;
    cuts->by_id[i] = (fw_cut_id){list[i].id, (uint32_t)i};
  }
  if (cuts->count == cuts->dense) start_sparse(cuts);
  cuts->single_offset = cuts->bins - cuts->count;
  qsort(cuts->by_id, n, sizeof *cuts->by_id, fw_compare_u64);
  return FURROW_OK;
}

static furrow_status fill_edges(fw_cuts *cuts, furrow_error *err) {
  const size_t n = cuts->dense * FW_BINS_APART, step = FW_EDGES / FW_PIVOTS;
  FW_TRY(FW_ALLOC(&cuts->full_edge, n, err));
  FW_TRY(FW_ALLOC(&cuts->pivot, n / step, err));
  for (size_t i = 0; i < n; i++) {
    const fw_cut_feature *feature = &cuts->feature[i / FW_BINS_APART];
    const size_t edge = i % FW_BINS_APART;
    cuts->full_edge[i] = edge + 1 < feature->bins ? cuts->edge[feature->first_cut + edge] : INFINITY;
    if (i % step == step - 1) cuts->pivot[i / step] = cuts->full_edge[i];
  }
  return FURROW_OK;
}

/* Memory for the cuts, and the values of each feature. */
static furrow_status prepare(chooser *c, listed **list, fw_spin_pool *pool, furrow_error *err) {
  const fw_feature_stats *s = c->stats;
  const size_t n = s->count;
  FW_TRY(FW_ALLOC_ZERO(&c->cuts, 1, err));
  FW_TRY(FW_ALLOC(&c->feature, n, err));
  FW_TRY(FW_ALLOC(&c->first, n + 1, err));
  FW_TRY(FW_ALLOC(&c->first_cut, n + 1, err));
  FW_TRY(FW_ALLOC_ZERO(&c->cut_count, n, err));
  FW_TRY(FW_ALLOC(list, n, err));
  for (size_t i = 0; i < n; i++) c->feature[i] = fw_feature_stats_find(s, s->ids[i]);
  FW_TRY(sort_sample(c, pool, err));
  return reserve_cuts(c, err);
}

furrow_status fw_feature_stats_choose_cuts(fw_feature_stats *s, fw_spin_pool *pool, fw_cuts **cuts, furrow_error *err) {
  chooser c = {.stats = s};
  listed *list = NULL;
  fw_feature_stats_finish(s);
  furrow_status status = prepare(&c, &list, pool, err);
  if (s->comm) status = fw_comm_share_status(s->comm, status, err);
  if (status == FURROW_OK) {
    fw_spin_pool_run(pool, s->count, choose_cuts, &c);
    status = share_cuts(&c, err);
  }
  if (status == FURROW_OK) status = place_features(&c, list, err);
  if (status == FURROW_OK) status = fill_edges(c.cuts, err);
  if (status == FURROW_OK) {
    *cuts = c.cuts;
    fw_feature_stats_drop_sample(s);
  } else {
    fw_cuts_free(c.cuts);
  }
  void *const arrays[] = {c.feature, c.first, c.value, c.spare, c.cut, c.first_cut, c.cut_count, list};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  return status;
}
