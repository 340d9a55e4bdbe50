/* learn/forest/tree_grow.h: one tree, level by level or the best leaf first. */
#ifndef FW_LEARN_FOREST_TREE_GROW_H
#define FW_LEARN_FOREST_TREE_GROW_H

#include "learn/forest/best_split.h"
#include "learn/forest/node_rows.h"

typedef struct fw_grower fw_grower;

/* All that is given must outlive it. The ranks of the communicator have `all_rows` rows together; every one grows the
 * same tree, which is that of one process with all rows. */
furrow_status fw_grower_create(fw_grower **grower, const fw_forest_conf *conf, const fw_binned *binned,
                               const furrow_comm *comm, uint64_t all_rows, fw_spin_pool *pool,
                               furrow_error *err) FURROW_MUST_USE;
void fw_grower_free(fw_grower *grower);
size_t fw_grower_memory(const fw_grower *grower);

typedef struct fw_growth {
  const fw_gradients *gradients;
  fw_node_rows *rows;
  size_t row_count;       /* the tree is grown from the first so many of them, ascending */
  const uint8_t *allowed; /* features; NULL: all */
  fw_forest *forest;
  size_t tree;  /* in the forest: a leaf so far */
  double start; /* added to predict of every node */
  double rate;
  double *score; /* rate * predict of its leaf is added to that of each row */
  /* Called between splits, or levels: a status that is not OK ends the tree with it; NULL: none. */
  furrow_status (*check)(void *user, furrow_error *err);
  void *check_user;
} fw_growth;

/* After a failure the tree and the scores are of no use. A rank that fails at the last level fails alone: ask
 * fw_comm_share_status before what comes next. */
furrow_status fw_grower_tree(fw_grower *grower, const fw_growth *growth, furrow_error *err) FURROW_MUST_USE;

#endif
