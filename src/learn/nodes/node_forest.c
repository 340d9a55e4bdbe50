/* learn/nodes/node_forest.c: forests of sparse nodes in memory: made, checked, asked. */
#include "learn/nodes/node_forest.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

#define LEAST_NONZERO 1e-35F /* LightGBM's: what is not above it is 0 where 0 is missing */

furrow_status fw_node_forest_create(fw_node_forest **forest, size_t classes, furrow_error *err) {
  fw_node_forest *made = NULL;
  if (classes < 1 || classes > FW_NODE_CLASSES_MOST)
    return fw_fail(err, FURROW_E_RANGE, "a forest of %zu classes: there are 1 to %d", classes, FW_NODE_CLASSES_MOST);
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->classes = classes;
  made->divisor = made->scale = 1;
  furrow_status status = FW_ALLOC_ZERO(&made->base, classes, err);
  if (status == FURROW_OK) status = FW_GROW(&made->begin, &made->tree_capacity[0], 1, err);
  if (status == FURROW_OK) status = FW_GROW(&made->set_begin, &made->set_capacity, 1, err);
  if (status == FURROW_OK) made->begin[0] = made->set_begin[0] = 0;
  return FW_HAND_OVER(status, forest, made, fw_node_forest_free);
}

void fw_node_forest_free(fw_node_forest *forest) {
  if (!forest) return;
  void *const arrays[] = {forest->base, forest->class_of,  forest->begin,
                          forest->node, forest->set_begin, forest->words};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(forest);
}

furrow_status fw_node_forest_add_set(fw_node_forest *forest, const uint32_t *words, size_t count, furrow_error *err) {
  const size_t used = (size_t)forest->set_begin[forest->sets];
  FW_TRY(FW_GROW(&forest->set_begin, &forest->set_capacity, forest->sets + 2, err));
  FW_TRY(FW_GROW(&forest->words, &forest->word_capacity, used + count, err));
  if (count > 0) memcpy(forest->words + used, words, count * sizeof *words);
  forest->set_begin[++forest->sets] = used + count;
  return FURROW_OK;
}

/* ---- Adding trees ---- */

/* Right children that wait until what is left of them is appended. */
typedef struct waiting {
  int64_t right;
  size_t split; /* its place in the forest */
} waiting;

typedef struct adding {
  fw_node_forest *forest;
  const fw_loose_tree *tree;
  size_t first; /* node of the root */
  waiting *stack;
  size_t depth, capacity;
} adding;

/* Whether a child can be a node of the tree that has not been met; more nodes than there are mean a cycle. */
static bool is_new(const adding *a, int64_t child) {
  return child > 0 && (uint64_t)child < a->tree->count && a->forest->nodes - a->first < a->tree->count;
}

static furrow_status append_nodes(adding *a, furrow_error *err) {
  fw_node_forest *forest = a->forest;
  for (int64_t at = 0;;) {
    FW_TRY(FW_GROW(&forest->node, &forest->node_capacity, forest->nodes + 1, err));
    const size_t place = forest->nodes++;
    fw_split_node *node = &forest->node[place];
    *node = a->tree->node[at];
    node->right = 0;
    if (a->tree->left[at] >= 0) {
      if (!is_new(a, a->tree->left[at]) || !is_new(a, a->tree->right[at]))
        return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %lld: its children do not form a tree", forest->trees,
                       (long long)at);
      FW_TRY(FW_GROW(&a->stack, &a->capacity, a->depth + 1, err));
      a->stack[a->depth++] = (waiting){a->tree->right[at], place};
      at = a->tree->left[at];
      continue;
    }
    node->feature = -1;
    node->flags = 0;
    if (a->depth == 0) return FURROW_OK;
    const waiting next = a->stack[--a->depth];
    if (!is_new(a, next.right))
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu: the children do not form a tree", forest->trees);
    forest->node[next.split].right = (uint32_t)(forest->nodes - a->first);
    at = next.right;
  }
}

furrow_status fw_node_forest_add(fw_node_forest *forest, const fw_loose_tree *tree, uint32_t class_of,
                                 furrow_error *err) {
  adding a = {.forest = forest, .tree = tree, .first = forest->nodes};
  if (tree->count == 0) return fw_fail(err, FURROW_E_FORMAT, "tree %zu has no nodes", forest->trees);
  if (tree->count > FW_NODES_MOST - forest->nodes)
    return fw_fail(err, FURROW_E_RANGE, "the trees have more than %llu nodes", (unsigned long long)FW_NODES_MOST);
  FW_TRY(FW_GROW(&forest->begin, &forest->tree_capacity[0], forest->trees + 2, err));
  FW_TRY(FW_GROW(&forest->class_of, &forest->tree_capacity[1], forest->trees + 1, err));
  const furrow_status status = append_nodes(&a, err);
  fw_free(a.stack);
  if (status != FURROW_OK) return status;
  forest->class_of[forest->trees++] = class_of;
  forest->begin[forest->trees] = forest->nodes;
  return FURROW_OK;
}

/* ---- Checks ---- */

static furrow_status refuse_node(size_t tree, size_t node, const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: %s", tree, node, what);
}

static furrow_status check_split(const fw_node_forest *forest, size_t tree, size_t node, furrow_error *err) {
  const fw_split_node *of = &forest->node[forest->begin[tree] + node];
  if ((size_t)of->feature >= forest->features)
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: there is no feature %d of %zu", tree, node, of->feature,
                   forest->features);
  if (of->flags & ~(uint32_t)FW_NODE_FLAGS) return refuse_node(tree, node, "a flag is unknown", err);
  if (of->flags & FW_NODE_SET) {
    if (!(of->value >= 0 && of->value < (double)forest->sets && of->value == floor(of->value)))
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: there is no set %g of %zu", tree, node, of->value,
                     forest->sets);
  } else if (isnan(of->value) || (forest->single && of->value != (double)(float)of->value)) {
    return refuse_node(tree, node, "the threshold is not a number of the forest's type", err);
  }
  return FURROW_OK;
}

static furrow_status check_leaf(const fw_node_forest *forest, size_t tree, size_t node, furrow_error *err) {
  const fw_split_node *of = &forest->node[forest->begin[tree] + node];
  if (of->feature != -1 || of->right != 0 || of->flags != 0)
    return refuse_node(tree, node, "a leaf has the marks of a split", err);
  if (!isfinite(of->value) || (forest->single && of->value != (double)(float)of->value))
    return refuse_node(tree, node, "the leaf is not a finite number of the forest's type", err);
  return FURROW_OK;
}

/* A leaf ends the left side of the innermost split that still waits for its right side, and this side follows. */
static furrow_status check_tree(const fw_node_forest *forest, size_t tree, furrow_error *err) {
  const size_t count = (size_t)(forest->begin[tree + 1] - forest->begin[tree]);
  const fw_split_node *nodes = forest->node + forest->begin[tree];
  uint32_t rights[FW_NODE_DEPTH_MOST];
  uint16_t levels[FW_NODE_DEPTH_MOST], level = 0;
  size_t waits = 0;
  for (size_t i = 0; i < count; i++) {
    if (!(nodes[i].cover >= 0) || isinf(nodes[i].cover)) return refuse_node(tree, i, "the cover is not valid", err);
    if (nodes[i].feature >= 0) {
      FW_TRY(check_split(forest, tree, i, err));
      if (level >= FW_NODE_DEPTH_MOST)
        return fw_fail(err, FURROW_E_FORMAT, "tree %zu is deeper than %d", tree, FW_NODE_DEPTH_MOST);
      rights[waits] = nodes[i].right;
      levels[waits++] = ++level;
      continue;
    }
    FW_TRY(check_leaf(forest, tree, i, err));
    if (waits == 0) return i + 1 == count ? FURROW_OK : refuse_node(tree, i, "nodes follow the last leaf", err);
    if (rights[--waits] != i + 1) return refuse_node(tree, i, "the children do not form a tree", err);
    level = levels[waits];
  }
  return fw_fail(err, FURROW_E_FORMAT, "tree %zu ends before its last leaf", tree);
}

furrow_status fw_node_forest_check(const fw_node_forest *forest, furrow_error *err) {
  if (forest->features > INT32_MAX)
    return fw_fail(err, FURROW_E_FORMAT, "%zu features are more than trees can have", forest->features);
  if (!(forest->divisor > 0) || isinf(forest->divisor) || !(forest->scale > 0) || isinf(forest->scale))
    return fw_fail(err, FURROW_E_FORMAT, "the divisor or the scale of the scores is not above 0");
  for (size_t c = 0; c < forest->classes; c++)
    if (!isfinite(forest->base[c]) || (forest->single && forest->base[c] != (double)(float)forest->base[c]))
      return fw_fail(err, FURROW_E_FORMAT, "the base score of class %zu is not a finite number", c);
  for (size_t tree = 0; tree < forest->trees; tree++) {
    if (forest->class_of[tree] >= forest->classes)
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu is of class %u of %zu", tree, forest->class_of[tree],
                     forest->classes);
    FW_TRY(check_tree(forest, tree, err));
  }
  return FURROW_OK;
}

/* ---- Figures ---- */

unsigned fw_node_tree_depth(const fw_node_forest *forest, size_t tree) {
  const fw_split_node *nodes = forest->node + forest->begin[tree];
  uint16_t levels[FW_NODE_DEPTH_MOST], level = 0;
  size_t waits = 0;
  unsigned most = 0;
  for (size_t i = 0;; i++) {
    if (nodes[i].feature >= 0) {
      levels[waits++] = ++level;
      if (level > most) most = level;
    } else if (waits > 0) {
      level = levels[--waits];
    } else {
      return most;
    }
  }
}

void fw_node_forest_info(const fw_node_forest *forest, furrow_forest_info *info) {
  unsigned depth = 0;
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const unsigned deep = fw_node_tree_depth(forest, tree);
    if (deep > depth) depth = deep;
  }
  info->trees = forest->trees;
  info->classes = forest->classes;
  info->levels = depth + 1;
  info->depth = depth;
  info->leaves = (forest->nodes + forest->trees) / 2;
  info->sums = forest->stats;
}

furrow_status fw_node_forest_features(const fw_node_forest *forest, uint64_t **features, size_t *count,
                                      furrow_error *err) {
  uint64_t *list = NULL;
  size_t used = 0, kept = 0;
  FW_TRY(FW_ALLOC(&list, forest->nodes, err));
  for (size_t i = 0; i < forest->nodes; i++)
    if (forest->node[i].feature >= 0) list[used++] = (uint64_t)forest->node[i].feature;
  fw_sort_u64(list, used);
  for (size_t i = 0; i < used; i++)
    if (i == 0 || list[i] != list[i - 1]) list[kept++] = list[i];
  *features = list;
  *count = kept;
  return FURROW_OK;
}

static int compare_importance(const void *a, const void *b) {
  const furrow_feature_importance *x = a, *y = b;
  if (!isnan(x->gain) && x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
  if (isnan(x->gain) && x->count != y->count) return x->count > y->count ? -1 : 1;
  return x->feature < y->feature ? -1 : x->feature > y->feature;
}

furrow_status fw_node_forest_importance(const fw_node_forest *forest, furrow_feature_importance **list, size_t *count,
                                        furrow_error *err) {
  uint64_t *features = NULL;
  size_t used = 0;
  furrow_feature_importance *made = NULL;
  furrow_status status = fw_node_forest_features(forest, &features, &used, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&made, used, err);
  for (size_t i = 0; status == FURROW_OK && i < used; i++) {
    made[i].feature = (int32_t)features[i];
    if (!forest->stats) made[i].gain = made[i].cover = NAN;
  }
  for (size_t i = 0; status == FURROW_OK && i < forest->nodes; i++) {
    const fw_split_node *node = &forest->node[i];
    if (node->feature < 0) continue;
    furrow_feature_importance *of =
        &made[fw_lower_bound_u64(features, used, sizeof *features, (uint64_t)node->feature)];
    of->count++;
    of->gain += (double)node->gain;
    of->cover += node->cover;
  }
  fw_free(features);
  if (status != FURROW_OK) return status;
  qsort(made, used, sizeof *made, compare_importance);
  *list = made;
  *count = used;
  return FURROW_OK;
}

/* ---- Decisions ---- */

/* Categories are whole numbers from 0; xgboost takes no others as members, LightGBM cuts fractions off first. */
static bool is_member(const fw_node_forest *forest, size_t set, float x) {
  const float category = forest->less ? x : truncf(x);
  if (!(category >= 0 && category < 2147483648.0F)) return false;
  const uint32_t number = (uint32_t)category;
  const uint64_t word = forest->set_begin[set] + number / 32;
  return word < forest->set_begin[set + 1] && (forest->words[word] >> number % 32 & 1);
}

bool fw_node_goes_left(const fw_node_forest *forest, const fw_split_node *node, float x) {
  const bool by_default = (node->flags & FW_NODE_DEFAULT_LEFT) != 0;
  if (isnan(x)) {
    if (!(node->flags & FW_NODE_NAN_ZERO)) return by_default;
    x = 0;
  }
  if ((node->flags & FW_NODE_ZERO_MISSING) && fabsf(x) <= LEAST_NONZERO) return by_default;
  if (node->flags & FW_NODE_SET)
    return is_member(forest, (size_t)node->value, x) == ((node->flags & FW_NODE_SET_LEFT) != 0);
  return forest->less ? (double)x < node->value : (double)x <= node->value;
}

double fw_link_apply(fw_link link, double score) {
  switch (link) {
  case FW_LINK_EXP: return exp(score);
  case FW_LINK_LOGISTIC: return 1 / (1 + exp(-score));
  case FW_LINK_SIGNED_SQUARE: return score * fabs(score);
  case FW_LINK_LOG1P_EXP: return log1p(exp(score));
  default: return score;
  }
}
