/* learn/forest/tree_grow.h: one tree, level by level or the best leaf first: the best splits of nodes, over the
 * features of all ranks, and the nodes that follow from them. */
#ifndef FW_LEARN_FOREST_TREE_GROW_H
#define FW_LEARN_FOREST_TREE_GROW_H

#include "learn/conf/conf.h"
#include "learn/forest/histogram.h"
#include "learn/forest/node_rows.h"

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
} fw_split_rules;

/* The best value of a leaf with these sums. */
double fw_leaf_value(const fw_split_rules *rules, double gradient, double hessian);

/* Keeps the better of two splits in *best: the larger gain; if both are equal, the smaller feature id. */
void fw_best_split_keep(const fw_cuts *cuts, fw_best_split *best, const fw_best_split *other);
/* The best over the features begin … end-1 that leaves both children a sum of hessians of at least `least_hessian`. */
fw_best_split fw_best_split_find(const fw_split_rules *rules, const fw_histogram *histogram, fw_sum node,
                                 double least_hessian, size_t begin, size_t end);

/* ---- grow_ranks.c: histograms and best splits of a tree whose rows are divided over ranks ---- */

/* Features are divided into a slice for each rank. A rank sends the histograms of its rows slice by slice to all
 * others, and adds up its own slice of theirs; then it looks for splits in this slice, and all ranks learn the best of
 * every rank. */
typedef struct fw_grow_ranks {
  const furrow_comm *comm;
  const fw_histograms *all;
  fw_spin_pool *pool;
  size_t *slice;           /* ranks + 1: rank r's features are slice[r] … slice[r + 1] - 1 */
  size_t *words;           /* of each rank's slice in a message */
  size_t *sent, *received; /* bytes of a message to each rank, and from each */
  uint64_t *send, *receive;
  size_t send_capacity, receive_capacity;
  fw_best_split *best; /* of this rank, then of all */
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
  size_t tree;  /* in the forest: a leaf so far */
  double start; /* added to predict of every node */
  double rate;
  double *score; /* of each row: rate * predict of its leaf is added */
  /* Called between splits, or levels: a status that is not OK ends the tree with it; NULL: none. */
  furrow_status (*check)(void *user, furrow_error *err);
  void *check_user;
} fw_growth;

/* After a failure the tree and the scores are of no use. A rank that fails at the last level fails alone: ask
 * fw_comm_share_status before what comes next. */
furrow_status fw_grower_tree(fw_grower *grower, const fw_growth *growth, furrow_error *err) FURROW_MUST_USE;

#endif
