/* learn/forest/forest_trees.c: the shape of a forest, its nodes, the importance of features. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "learn/forest/forest_trees.h"

void fw_forest_node(const fw_forest *forest, size_t tree, size_t node, furrow_tree_node *about) {
  const size_t at = tree * forest->nodes + node;
  *about = (furrow_tree_node){.size = sizeof *about,
                              .exists = fw_forest_has_node(forest, tree, node),
                              .feature = -1,
                              .gain = NAN,
                              .cover = NAN};
  if (!about->exists) return;
  about->is_leaf = forest->feature[at] < 0;
  about->feature = forest->feature[at];
  about->value = forest->value[at];
  about->absent_left = !about->is_leaf && fw_forest_absent_left(forest, at);
  about->predict = forest->predict[at];
  if (!forest->gain) return;
  about->gain = forest->gain[at];
  about->cover = forest->hessian[at];
}

size_t fw_tree_leaves(const fw_forest *forest, size_t tree) {
  size_t leaves = 1; /* each split makes two of one */
  for (size_t node = 0; node < forest->nodes; node++)
    leaves += forest->feature[tree * forest->nodes + node] >= 0 && fw_forest_has_node(forest, tree, node);
  return leaves;
}

void fw_forest_info(const fw_forest *forest, furrow_forest_info *info) {
  *info = (furrow_forest_info){.size = sizeof *info,
                               .trees = forest->trees,
                               .classes = forest->classes,
                               .levels = forest->levels,
                               .sums = forest->gain != NULL};
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const unsigned depth = fw_forest_depth(forest, tree);
    if (depth > info->depth) info->depth = depth;
    info->leaves += fw_tree_leaves(forest, tree);
  }
}

/* ---- Features ---- */

typedef struct split {
  int32_t feature;
  size_t at;
} split;

/* By feature, and in the order of trees, so that sums are always made in the same order. */
static int compare_splits(const void *a, const void *b) {
  const split *x = a, *y = b;
  if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static int compare_importance(const void *a, const void *b) {
  const furrow_feature_importance *x = a, *y = b;
  if (x->gain > y->gain || x->gain < y->gain) return x->gain < y->gain ? 1 : -1;
  if (isnan(x->gain) && x->count != y->count) return x->count < y->count ? 1 : -1;
  return (x->feature > y->feature) - (x->feature < y->feature);
}

static furrow_status list_splits(const fw_forest *forest, split **list, size_t *count, furrow_error *err) {
  size_t splits = 0;
  for (size_t tree = 0; tree < forest->trees; tree++) splits += fw_tree_leaves(forest, tree) - 1;
  split *made = NULL;
  furrow_status status = fw_alloc((void **)&made, splits, sizeof *made, err);
  if (status != FURROW_OK) return status;
  splits = 0;
  for (size_t at = 0; at < forest->trees * forest->nodes; at++)
    if (forest->feature[at] >= 0 && fw_forest_has_node(forest, at / forest->nodes, at % forest->nodes))
      made[splits++] = (split){forest->feature[at], at};
  qsort(made, splits, sizeof *made, compare_splits);
  *list = made;
  *count = splits;
  return FURROW_OK;
}

/* The sums of each feature; returns how many there are. */
static size_t add_splits(const fw_forest *forest, const split *splits, size_t count, furrow_feature_importance *list) {
  const bool known = forest->gain != NULL;
  size_t features = 0;
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || splits[i].feature != splits[i - 1].feature)
      list[features++] = (furrow_feature_importance){splits[i].feature, 0, known ? 0 : NAN, known ? 0 : NAN};
    furrow_feature_importance *of = &list[features - 1];
    of->count++;
    of->gain += known ? forest->gain[splits[i].at] : 0;
    of->cover += known ? forest->hessian[splits[i].at] : 0;
  }
  return features;
}

furrow_status fw_forest_importance(const fw_forest *forest, furrow_feature_importance **list, size_t *count,
                                   furrow_error *err) {
  split *splits = NULL;
  furrow_feature_importance *made = NULL;
  size_t split_count = 0;
  furrow_status status = list_splits(forest, &splits, &split_count, err);
  if (status != FURROW_OK) return status;
  status = fw_alloc((void **)&made, split_count, sizeof *made, err);
  if (status == FURROW_OK) {
    *count = add_splits(forest, splits, split_count, made);
    *list = made;
    qsort(made, *count, sizeof *made, compare_importance);
  }
  fw_free(splits);
  return status;
}

/* ---- Names ---- */

void fw_buffer_feature(fw_buffer *out, const fw_forest *forest, int32_t feature, fw_escape_byte escape) {
  const bool named = (size_t)feature < forest->name_count && forest->names[feature][0];
  if (!named) {
    fw_buffer_format(out, "feature %d", feature);
    return;
  }
  for (const char *at = forest->names[feature]; *at; at++) {
    const char byte = (unsigned char)*at < 32 ? ' ' : *at;
    if (escape)
      escape(out, byte);
    else
      fw_buffer_byte(out, byte);
  }
}
