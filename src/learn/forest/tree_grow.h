/* learn/forest/tree_grow.h: one tree, level by level or the best leaf first: the best splits of nodes, over the
 * features of all ranks, and the nodes that follow from them. */
#ifndef FW_LEARN_FOREST_TREE_GROW_H
#define FW_LEARN_FOREST_TREE_GROW_H

#include "base/pool.h"
#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/forest/bins.h"
#include "learn/forest/forest.h"
#include "learn/forest/gradients.h"

/* ---- Rows of nodes (node_rows.c) ----
 *
 * Rows of a node are ascending. Splitting keeps their order, so that reading is always forward. */

typedef struct fw_node_rows {
  const fw_binned *binned;
  fw_spin_pool *pool;
  const uint32_t *row; /* all, or one of the orders: splitting goes from one to the other */
  uint32_t *all;       /* 0, 1 … */
  uint32_t *order[2];
  uint64_t *bits; /* for splits by sparse features; a bit for each row, several times */
  struct fw_row_chunk *chunks;
  uint64_t *sides; /* sides of the rows of each chunk */
  size_t chunk_capacity, side_capacity;
} fw_node_rows;

/* A split of the rows begin … end-1. */
typedef struct fw_row_split {
  size_t begin, end;
  uint32_t feature;  /* FW_NO_FEATURE: no row has it */
  int32_t last_left; /* bins up to this one go left; -1: none */
  bool absent_left;
  size_t middle;      /* out: where the rows that went right begin */
  double left, right; /* arguments of fw_node_rows_score */
  size_t node;        /* the caller's */
} fw_row_split;

/* The caller's struct. The rows are 0 … binned->rows - 1, in this order. */
furrow_status fw_node_rows_init(fw_node_rows *rows, const fw_binned *binned, fw_spin_pool *pool,
                                furrow_error *err) FURROW_MUST_USE;
void fw_node_rows_clear(fw_node_rows *rows);

/* Takes all rows, in order. */
void fw_node_rows_take_all(fw_node_rows *rows);
/* Takes the rows of order[0]; those from `count` on stay where they are, whatever is split before them. */
void fw_node_rows_take_chosen(fw_node_rows *rows, size_t count);

/* Splits disjoint ranges. Rows outside of them are lost, unless `keep` is set. */
furrow_status fw_node_rows_split(fw_node_rows *rows, fw_row_split *splits, size_t count, bool keep,
                                 furrow_error *err) FURROW_MUST_USE;
/* Splits without moving rows: adds `left` or `right` to the rows' scores. */
void fw_node_rows_score(fw_node_rows *rows, fw_row_split *splits, size_t count, double *score);
/* How many rows of a split go left; nothing is moved. */
size_t fw_node_rows_count(const fw_node_rows *rows, const fw_row_split *split);
/* Adds `value` to the scores of the rows begin … end-1; score NULL: does nothing, as fw_node_rows_score. */
void fw_node_rows_add(const fw_node_rows *rows, size_t begin, size_t end, double value, double *score);
/* Rows begin … end-1, ascending before, go through a tree of the forest. Visits each leaf that has some of them: they
 * are rows->row[begin] … [end - 1] during the call, and places of different leaves are different. */
typedef void fw_leaf_visitor(void *user, size_t node, size_t begin, size_t end);
furrow_status fw_node_rows_visit_leaves(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                        size_t tree, fw_leaf_visitor *visit, void *user,
                                        furrow_error *err) FURROW_MUST_USE;
/* Rows begin … end-1, ascending before, go through a tree of the forest; rate * predict of their leaves is added to
 * their scores. */
furrow_status fw_node_rows_apply_tree(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                      size_t tree, double rate, double *score, furrow_error *err) FURROW_MUST_USE;

/* ---- Histograms (histogram.c) ----
 *
 * A bin that at most FW_PAIR_ROWS rows are in is one packed word (gradients.h), whatever rows a node has: it cannot
 * overflow. Features with larger bins also have wide sums, into which their packed words are emptied after every
 * FW_PAIR_ROWS rows. The rows of all ranks count, so that sums of ranks' histograms fit, too. Rows without a feature
 * are not summed: their sum is the node's sum minus the sum of the feature's bins. */

typedef struct fw_sum {
  int64_t gradient, hessian;
} fw_sum;

typedef struct fw_histogram {
  uint64_t *packed; /* packed sum of each bin; 0 where the sum is wide */
  fw_sum *wide;
  struct fw_histogram *next; /* in the list of free ones */
} fw_histogram;

/* What all histograms over some rows have in common, and a list of free histograms. */
typedef struct fw_histograms {
  const fw_binned *binned;
  size_t bins;
  uint32_t *wide_begin; /* features + 1: the wide sums of feature f are wide_begin[f] … wide_begin[f + 1] - 1 */
  size_t wide;
  fw_histogram *free;
  size_t made;
} fw_histograms;

/* The caller's struct, to be cleared after a failure, too. The rows must be finished; they are `all_rows` on all ranks.
 */
furrow_status fw_histograms_init(fw_histograms *all, const fw_binned *binned, const furrow_comm *comm,
                                 uint64_t all_rows, fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;
/* Frees what was put back. */
void fw_histograms_clear(fw_histograms *all);
size_t fw_histogram_bytes(const fw_histograms *all);

furrow_status fw_histogram_get(fw_histograms *all, fw_histogram **histogram, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_histogram_put(fw_histograms *all, fw_histogram *histogram);

/* Sets all sums to 0; adds n rows to the sums. */
void fw_histogram_clear(const fw_histograms *all, fw_histogram *histogram);
void fw_histogram_add_rows(const fw_histograms *all, fw_histogram *histogram, const uint32_t *row, size_t n,
                           const uint64_t *pair);
/* Features begin … end-1: into += from; into -= from. */
void fw_histogram_add(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into, const fw_histogram *from);
void fw_histogram_subtract(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                           const fw_histogram *from);
/* Features begin … end-1 as a message for another rank: a word for each packed sum, two for each wide one. How many
 * words; writes them; adds them to a histogram. */
size_t fw_histogram_words(const fw_histograms *all, size_t begin, size_t end);
void fw_histogram_write(const fw_histograms *all, size_t begin, size_t end, const fw_histogram *histogram,
                        uint64_t *words);
void fw_histogram_add_words(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                            const uint64_t *words);
/* The sum of all rows' words. */
fw_sum fw_gradient_pairs_sum(const uint32_t *row, size_t n, const uint64_t *pair);

/* ---- best_split.c: the split with the largest gain ---- */

typedef struct fw_best_split {
  double gain; /* 0: there is none */
  uint32_t feature;
  int32_t last_left; /* bins up to this one go left; -1: none does */
  bool absent_left;
  double value;
  fw_sum left;
} fw_best_split;

typedef struct fw_split_rules {
  const fw_forest_conf *conf;
  const fw_histograms *all;
  const uint8_t *allowed; /* for each feature; NULL: all are */
  double gradient_unit, hessian_unit;
  bool log_link;           /* leaves are added to the logarithm of what is predicted */
  const int8_t *direction; /* of each feature: 1, scores may only rise along it; -1, fall; NULL: all are free */
} fw_split_rules;

/* What leaves below a node may have, so that scores rise or fall along a feature: a split at it gives its sides the
 * middle of their values as a limit. Of Newton's step, before the link. */
typedef struct fw_leaf_bounds {
  double low, high;
} fw_leaf_bounds;

/* Newton's step within bounds. */
double fw_leaf_step(const fw_split_rules *rules, fw_leaf_bounds bounds, double gradient, double hessian);
/* The best value of a leaf with these sums. */
double fw_leaf_value(const fw_split_rules *rules, fw_leaf_bounds bounds, double gradient, double hessian);

/* Keeps the better of two splits in *best: the larger gain; if both are equal, the smaller feature id. */
void fw_best_split_keep(const fw_cuts *cuts, fw_best_split *best, const fw_best_split *other);
/* The best over the features begin … end-1 that leaves both children a sum of hessians of at least `least_hessian`. */
fw_best_split fw_best_split_find(const fw_split_rules *rules, const fw_histogram *histogram, fw_sum node,
                                 fw_leaf_bounds bounds, double least_hessian, size_t begin, size_t end);

/* ---- grow_ranks.c: histograms and best splits of a tree whose rows are divided over ranks ---- */

/* Features are divided into a slice for each rank. A rank sends the histograms of its rows slice by slice to all
 * others, and adds up its own slice of theirs; then it looks for splits in this slice, and all ranks learn the best of
 * every rank. */
typedef struct fw_grow_ranks {
  const furrow_comm *comm;
  const fw_histograms *all;
  fw_spin_pool *pool;
  size_t *slice;           /* ranks + 1: rank r's features are slice[r] … slice[r + 1] - 1 */
  size_t *words;           /* words of each rank's slice in a message */
  size_t *sent, *received; /* bytes of a message to each rank, and from each */
  uint64_t *send, *receive;
  size_t send_capacity, receive_capacity;
  fw_best_split *best; /* best splits of this rank, then of all */
  size_t best_capacity;
} fw_grow_ranks;

/* The caller's struct, to be cleared after a failure, too. */
furrow_status fw_grow_ranks_init(fw_grow_ranks *ranks, const furrow_comm *comm, const fw_histograms *all,
                                 fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;
void fw_grow_ranks_clear(fw_grow_ranks *ranks);

/* All ranks make the calls below, with the same count. `status` is the status of this rank so far: if one rank has
 * failed, the call fails on all ranks. */
/* This rank's slice of each histogram becomes the sum over all ranks; the other slices are of no use afterwards. */
furrow_status fw_grow_ranks_add(fw_grow_ranks *ranks, furrow_status status, fw_histogram *const *histogram,
                                size_t count, furrow_error *err) FURROW_MUST_USE;
/* Replaces each split by the best one of all ranks; at most two splits for each histogram of the call before. */
furrow_status fw_grow_ranks_keep_best(fw_grow_ranks *ranks, fw_best_split *const *best, size_t count,
                                      furrow_error *err) FURROW_MUST_USE;
/* Replaces `count` numbers by their sums over all ranks; there must be memory for one number more. */
furrow_status fw_grow_ranks_count(const fw_grow_ranks *ranks, furrow_status status, int64_t *number, size_t count,
                                  furrow_error *err) FURROW_MUST_USE;

/* ---- leaf_quantiles.c: leaves that are quantiles ---- */

/* The gradients of a loss that is linear say where rows should go, but not how far. Once a tree is grown, its leaves
 * are renewed: each becomes the quantile of what is missing to the labels of its rows. */
typedef struct fw_leaf_quantiles {
  uint32_t *key; /* of what is missing to the label of each row, leaf after leaf */
  uint32_t *row; /* rows in this order */
  float *weight; /* their weights; NULL: all 1 */
} fw_leaf_quantiles;

typedef struct fw_leaf_job {
  fw_node_rows *rows;
  fw_forest *forest;
  size_t tree;
  double level; /* level of the quantiles */
  double base;  /* what the scores start at, in addition to `score` */
  double start; /* added to predict of every node */
  double rate;
  double most_weight;
  const int8_t *direction; /* of each feature, as in fw_split_rules */
  double *score;           /* scores of each row: rate * predict of its leaf is added */
  const furrow_comm *comm;
} fw_leaf_job;

/* The caller's struct, all zeros before; to be cleared after a failure, too. */
furrow_status fw_leaf_quantiles_init(fw_leaf_quantiles *quantiles, const fw_binned *binned,
                                     furrow_error *err) FURROW_MUST_USE;
void fw_leaf_quantiles_clear(fw_leaf_quantiles *quantiles);
/* All ranks call it for the same tree, whose leaves then have the same values. Inner nodes get the means of their
 * leaves. E_RANGE: a leaf is not finite. */
furrow_status fw_leaf_quantiles_renew(fw_leaf_quantiles *quantiles, const fw_leaf_job *job,
                                      furrow_error *err) FURROW_MUST_USE;

/* ---- tree_grow.c: a tree ---- */

typedef struct fw_grower fw_grower;

/* All arguments must outlive the grower. The ranks of the communicator have `all_rows` rows together. Every rank grows
 * the same tree, which one process with all rows would grow, too. */
furrow_status fw_grower_create(fw_grower **grower, const fw_forest_conf *conf, const fw_binned *binned,
                               const furrow_comm *comm, uint64_t all_rows, fw_spin_pool *pool,
                               furrow_error *err) FURROW_MUST_USE;
void fw_grower_free(fw_grower *grower);

typedef struct fw_growth {
  const fw_gradients *gradients;
  fw_node_rows *rows;
  size_t row_count;       /* the tree is grown from the first row_count rows, ascending */
  const uint8_t *allowed; /* features; NULL: all */
  fw_forest *forest;
  size_t tree;  /* number of the tree in the forest; it is a leaf so far */
  double start; /* added to predict of every node */
  double rate;
  bool log_link;           /* the loss is PoissonLoss */
  const int8_t *direction; /* of each feature, as in fw_split_rules */
  double *score;           /* scores of each row: rate * predict of its leaf is added; NULL: nothing is */
  /* Called between splits, or levels: a status that is not OK ends the tree with it; NULL: none. */
  furrow_status (*check)(void *user, furrow_error *err);
  void *check_user;
} fw_growth;

/* After a failure the tree and the scores are of no use. A rank that fails at the last level fails alone: ask
 * fw_comm_share_status before what comes next. */
furrow_status fw_grower_tree(fw_grower *grower, const fw_growth *growth, furrow_error *err) FURROW_MUST_USE;

#endif
