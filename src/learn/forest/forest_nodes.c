/* learn/forest/forest_nodes.c: complete trees as lists of nodes. */
#include "base/error.h"
#include "base/mem.h"
#include "learn/forest/forest.h"

/* Arrays of a tree, with the numbers of the complete tree. */
typedef struct loose {
  int64_t *left, *right;
  fw_split_node *node;
} loose;

static furrow_status take_tree(fw_node_forest *nodes, const fw_forest *forest, size_t tree, double rate, loose *l,
                               furrow_error *err) {
  for (size_t i = 0; i < forest->nodes; i++) {
    const size_t at = tree * forest->nodes + i;
    const bool split = forest->feature[at] >= 0;
    l->left[i] = split ? (int64_t)(2 * i + 1) : -1;
    l->right[i] = split ? (int64_t)(2 * i + 2) : -1;
    l->node[i] = (fw_split_node){.value = split ? forest->value[at] : rate * forest->predict[at],
                                 .cover = forest->hessian ? forest->hessian[at] : 0,
                                 .gain = split && forest->gain ? (float)forest->gain[at] : 0,
                                 .feature = forest->feature[at],
                                 .flags = split && fw_forest_absent_left(forest, at) ? FW_NODE_DEFAULT_LEFT : 0};
    if (split && (size_t)forest->feature[at] >= nodes->features) nodes->features = (size_t)forest->feature[at] + 1;
  }
  const fw_loose_tree loose_tree = {forest->nodes, l->left, l->right, l->node};
  return fw_node_forest_add(nodes, &loose_tree, (uint32_t)(tree % forest->classes), err);
}

furrow_status fw_forest_to_nodes(fw_node_forest **nodes, const fw_forest *forest, double rate, furrow_error *err) {
  fw_node_forest *made = NULL;
  loose l = {0};
  FW_TRY(fw_node_forest_create(&made, forest->classes, err));
  made->stats = forest->gain != NULL;
  furrow_status status = FW_ALLOC(&l.left, forest->nodes, err);
  if (status == FURROW_OK) status = FW_ALLOC(&l.right, forest->nodes, err);
  if (status == FURROW_OK) status = FW_ALLOC(&l.node, forest->nodes, err);
  for (size_t tree = 0; status == FURROW_OK && tree < forest->trees; tree++)
    status = take_tree(made, forest, tree, rate, &l, err);
  fw_free(l.left);
  fw_free(l.right);
  fw_free(l.node);
  return FW_HAND_OVER(status, nodes, made, fw_node_forest_free);
}
