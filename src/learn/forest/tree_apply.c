/* learn/forest/tree_apply.c: rows go through a tree that is there already, by their bins. */
#include <string.h>

#include "base/mem.h"
#include "learn/forest/node_rows.h"

/* A node of the level at hand. */
typedef struct level_node {
  size_t node, begin, end;
} level_node;

typedef struct traversal {
  fw_node_rows *rows;
  const fw_forest *forest;
  size_t first; /* node 0 of the tree, in the forest's arrays */
  double rate, *score;
  fw_spin_pool *pool;
  level_node *nodes;    /* of a level */
  fw_row_split *splits; /* of those that are not leaves */
  size_t count;
} traversal;

static fw_row_split split_of(const traversal *w, const level_node *node) {
  const fw_cuts *cuts = w->rows->binned->cuts;
  const size_t at = w->first + node->node;
  fw_row_split split = {.begin = node->begin, .end = node->end};
  split.feature = fw_cuts_find(cuts, (uint64_t)w->forest->feature[at]);
  if (split.feature != FW_NO_FEATURE) split.last_left = fw_cuts_last_left(cuts, split.feature, w->forest->value[at]);
  split.absent_left = fw_forest_absent_left(w->forest, at);
  return split;
}

/* Rows in leaves get the leaf's score; inner nodes stay queued and get their splits. */
static size_t score_leaves(traversal *w) {
  size_t kept = 0;
  for (size_t i = 0; i < w->count; i++) {
    const level_node node = w->nodes[i];
    if (w->forest->feature[w->first + node.node] < 0) {
      fw_node_rows_add(w->rows, node.begin, node.end, w->rate * w->forest->predict[w->first + node.node], w->score,
                       w->pool);
      continue;
    }
    w->nodes[kept] = node;
    w->splits[kept++] = split_of(w, &node);
  }
  return kept;
}

static void add_child(traversal *w, size_t node, size_t begin, size_t end) {
  if (begin < end) w->nodes[w->count++] = (level_node){node, begin, end};
}

static void go_down(traversal *w, size_t kept, level_node *parents) {
  memcpy(parents, w->nodes, kept * sizeof *parents);
  w->count = 0;
  for (size_t i = 0; i < kept; i++) {
    add_child(w, 2 * parents[i].node + 1, parents[i].begin, w->splits[i].middle);
    add_child(w, 2 * parents[i].node + 2, w->splits[i].middle, parents[i].end);
  }
}

furrow_status fw_node_rows_apply_tree(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                      size_t tree, double rate, double *score, fw_spin_pool *pool, furrow_error *err) {
  traversal w = {rows, forest, tree * forest->nodes, rate, score, pool, NULL, NULL, 0};
  const size_t last = (forest->nodes + 1) / 2; /* nodes of the last level; those that are kept have rows */
  const size_t most = last < end - begin ? last : end - begin;
  level_node *parents = NULL;
  furrow_status status = fw_alloc((void **)&w.nodes, most, sizeof *w.nodes, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w.splits, most, sizeof *w.splits, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&parents, most, sizeof *parents, err);
  if (status == FURROW_OK) add_child(&w, 0, begin, end);
  while (status == FURROW_OK && w.count > 0) {
    const size_t kept = score_leaves(&w);
    status = fw_node_rows_split(rows, w.splits, kept, false, pool, err);
    if (status == FURROW_OK) go_down(&w, kept, parents);
  }
  fw_free(w.nodes);
  fw_free(w.splits);
  fw_free(parents);
  return status;
}
