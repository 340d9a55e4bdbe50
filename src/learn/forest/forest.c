/* learn/forest/forest.c: boosted trees in arrays: made, added to, cut, copied, looked at, checked; as bytes of a
 * checkpoint. */
#include "learn/forest/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* The arrays of a forest: where they are in it, and the bytes of a node; statistics of training come last. */
enum { ARRAYS = 7, STATS = 3 };
#define ARRAY(member) \
  { offsetof(fw_forest, member), sizeof *((fw_forest *)0)->member }
static const struct {
  size_t offset, size;
} arrays[ARRAYS] = {ARRAY(feature), ARRAY(value),    ARRAY(predict), ARRAY(missing_flipped),
                    ARRAY(gain),    ARRAY(gradient), ARRAY(hessian)};
#undef ARRAY

static void **array_of(const fw_forest *forest, size_t i) {
  return (void **)((uintptr_t)forest + arrays[i].offset);
}

static size_t array_count(const fw_forest *forest) {
  return forest->gain ? ARRAYS : ARRAYS - STATS;
}

/* Grows the first `used` arrays to `trees` trees; an array that is longer than `capacity` does no harm. */
static furrow_status reserve_trees(fw_forest *forest, size_t used, size_t trees, furrow_error *err) {
  for (size_t i = 0; i < used; i++) FW_TRY(fw_realloc(array_of(forest, i), trees * forest->nodes, arrays[i].size, err));
  forest->capacity = trees;
  return FURROW_OK;
}

/* Gives a forest away if it was made; else it is freed. */
static furrow_status take_forest(fw_forest **forest, fw_forest *made, furrow_status status) {
  return FW_HAND_OVER(status, forest, made, fw_forest_free);
}

furrow_status fw_forest_create(fw_forest **forest, size_t classes, unsigned levels, bool with_stats,
                               furrow_error *err) {
  if (classes == 0 || classes > INT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "a forest cannot have %zu classes", classes);
  if (levels == 0 || levels > FW_FOREST_LEVELS)
    return fw_fail(err, FURROW_E_RANGE, "trees have 1 to %d levels of nodes, not %u", FW_FOREST_LEVELS, levels);
  fw_forest *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->classes = classes;
  made->levels = levels;
  made->nodes = ((size_t)1 << levels) - 1;
  const furrow_status status = reserve_trees(made, with_stats ? ARRAYS : ARRAYS - STATS, 0, err);
  return take_forest(forest, made, status);
}

void fw_forest_free(fw_forest *forest) {
  if (!forest) return;
  for (size_t i = 0; i < ARRAYS; i++) fw_free(*array_of(forest, i));
  fw_free(forest);
}

/* Capacity grows by half, up to the largest forest. */
furrow_status fw_forest_add(fw_forest *forest, size_t trees, furrow_error *err) {
  const size_t before = forest->trees, all = before + trees, most = FW_FOREST_NODES / forest->nodes;
  if (trees > most - before)
    return fw_fail(err, FURROW_E_RANGE, "%zu trees and %zu more of %u levels are more than the %zu that can be", before,
                   trees, forest->levels, most);
  if (all > forest->capacity) {
    const size_t half = forest->capacity + forest->capacity / 2, wanted = half > all ? half : all;
    FW_TRY(reserve_trees(forest, array_count(forest), wanted < most ? wanted : most, err));
  }
  const size_t from = before * forest->nodes, count = trees * forest->nodes;
  for (size_t i = 0; i < array_count(forest); i++)
    memset((char *)*array_of(forest, i) + from * arrays[i].size, 0, count * arrays[i].size);
  for (size_t at = from; at < from + count; at++) forest->feature[at] = -1;
  forest->trees = all;
  return FURROW_OK;
}

void fw_forest_truncate(fw_forest *forest, size_t trees) {
  if (trees < forest->trees) forest->trees = trees;
}

furrow_status fw_forest_copy(fw_forest **copy, const fw_forest *forest, furrow_error *err) {
  fw_forest *made = NULL;
  FW_TRY(fw_forest_create(&made, forest->classes, forest->levels, forest->gain != NULL, err));
  const furrow_status status = fw_forest_add(made, forest->trees, err);
  for (size_t i = 0; status == FURROW_OK && i < array_count(forest); i++)
    memcpy(*array_of(made, i), *array_of(forest, i), forest->trees * forest->nodes * arrays[i].size);
  return take_forest(copy, made, status);
}

bool fw_forest_has_node(const fw_forest *forest, size_t tree, size_t node) {
  while (node > 0) {
    node = (node - 1) / 2;
    if (forest->feature[tree * forest->nodes + node] < 0) return false;
  }
  return true;
}

furrow_status fw_forest_add_stats(fw_forest *forest, furrow_error *err) {
  void *made[STATS] = {NULL};
  furrow_status status = FURROW_OK;
  if (forest->gain) return FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < STATS; i++)
    status = fw_alloc_zero(&made[i], forest->capacity * forest->nodes, sizeof(double), err);
  for (size_t i = 0; i < STATS; i++)
    if (status == FURROW_OK)
      *array_of(forest, ARRAYS - STATS + i) = made[i];
    else
      fw_free(made[i]);
  return status;
}

furrow_status fw_forest_features(const fw_forest *forest, uint64_t **features, size_t *count, furrow_error *err) {
  const size_t nodes = forest->trees * forest->nodes;
  uint64_t *list = NULL;
  size_t splits = 0, different = 0;
  for (size_t at = 0; at < nodes; at++) splits += forest->feature[at] >= 0;
  FW_TRY(FW_ALLOC(&list, splits, err));
  splits = 0;
  for (size_t at = 0; at < nodes; at++)
    if (forest->feature[at] >= 0) list[splits++] = (uint64_t)forest->feature[at];
  fw_sort_u64(list, splits);
  for (size_t i = 0; i < splits; i++)
    if (i == 0 || list[i] != list[i - 1]) list[different++] = list[i];
  *features = list;
  *count = different;
  return FURROW_OK;
}

unsigned fw_forest_depth(const fw_forest *forest, size_t tree) {
  for (unsigned level = forest->levels - 1; level > 0; level--)
    for (size_t node = ((size_t)1 << (level - 1)) - 1; node < ((size_t)1 << level) - 1; node++)
      if (forest->feature[tree * forest->nodes + node] >= 0 && fw_forest_has_node(forest, tree, node)) return level;
  return 0;
}

bool fw_forest_absent_left(const fw_forest *forest, size_t at) {
  return (0 <= forest->value[at]) != (forest->missing_flipped[at] != 0);
}

/* ---- Nodes, importance of features ---------------------------------------------------------------------- */

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
  FW_TRY(FW_ALLOC(list, splits, err));
  *count = 0;
  for (size_t at = 0; at < forest->trees * forest->nodes; at++)
    if (forest->feature[at] >= 0 && fw_forest_has_node(forest, at / forest->nodes, at % forest->nodes))
      (*list)[(*count)++] = (split){forest->feature[at], at};
  qsort(*list, *count, sizeof **list, compare_splits);
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
  FW_TRY(list_splits(forest, &splits, &split_count, err));
  const furrow_status status = FW_ALLOC(&made, split_count, err);
  if (status == FURROW_OK) {
    *count = add_splits(forest, splits, split_count, made);
    *list = made;
    qsort(made, *count, sizeof *made, compare_importance);
  }
  fw_free(splits);
  return status;
}

/* ---- Checking ------------------------------------------------------------------------------------------- */

static furrow_status check_node(const fw_forest *forest, size_t at, uint64_t features, furrow_error *err) {
  const size_t tree = at / forest->nodes, node = at % forest->nodes;
  const int32_t feature = forest->feature[at];
  if (feature < -1)
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: feature %d is neither a feature nor -1", tree, node,
                   feature);
  if (feature >= 0 && features > 0 && (uint64_t)feature >= features)
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: feature %d, but the model has %llu", tree, node, feature,
                   (unsigned long long)features);
  if (feature >= 0 && node >= forest->nodes / 2)
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: a split at the last of %u levels", tree, node,
                   forest->levels);
  if (!isfinite(forest->value[at]))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: the split value is %g", tree, node, forest->value[at]);
  if (!isfinite(forest->predict[at]))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: the prediction is %g", tree, node, forest->predict[at]);
  if (forest->missing_flipped[at] > 1)
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: where rows without the feature go is neither 0 nor 1",
                   tree, node);
  if (forest->gain && !(isfinite(forest->gain[at]) && isfinite(forest->gradient[at]) && isfinite(forest->hessian[at])))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: gain and sums %g, %g, %g are not numbers", tree, node,
                   forest->gain[at], forest->gradient[at], forest->hessian[at]);
  return FURROW_OK;
}

furrow_status fw_forest_check(const fw_forest *forest, uint64_t features, furrow_error *err) {
  for (size_t at = 0; at < forest->trees * forest->nodes; at++) FW_TRY(check_node(forest, at, features, err));
  return FURROW_OK;
}

/* ---- Snapshots ------------------------------------------------------------------------------------------ */

#define MAGIC "FWTREES1"

/* Places of the header's fields; the arrays follow, one after the other. */
enum { AT_MAGIC = 0, AT_LEVELS = 8, AT_STATS = 12, AT_CLASSES = 16, AT_TREES = 24, HEADER = 32 };

furrow_status fw_forest_snapshot_write(const fw_forest *forest, fw_snapshot_sink sink, void *to, furrow_error *err) {
  const size_t count = forest->trees * forest->nodes;
  unsigned char header[HEADER];
  memcpy(header + AT_MAGIC, MAGIC, 8);
  fw_put_le32(header + AT_LEVELS, forest->levels);
  fw_put_le32(header + AT_STATS, forest->gain != NULL);
  fw_put_le64(header + AT_CLASSES, forest->classes);
  fw_put_le64(header + AT_TREES, forest->trees);
  FW_TRY(sink(to, header, sizeof header, err));
  for (size_t i = 0; i < array_count(forest); i++)
    FW_TRY(fw_snapshot_write(*array_of(forest, i), count, arrays[i].size, sink, to, err));
  return FURROW_OK;
}

static furrow_status fail_at(furrow_error *err, size_t offset, const char *message) {
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "%s", message);
  if (err) err->offset = offset;
  return status;
}

static furrow_status check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  if (size < HEADER) return fail_at(err, size, "the forest ends inside its header");
  if (memcmp(bytes + AT_MAGIC, MAGIC, 8) != 0) return fail_at(err, AT_MAGIC, "not a forest");
  const uint32_t levels = fw_get_le32(bytes + AT_LEVELS);
  if (levels < 1 || levels > FW_FOREST_LEVELS) return fail_at(err, AT_LEVELS, "the number of levels is out of range");
  const uint32_t stats = fw_get_le32(bytes + AT_STATS);
  if (stats > 1) return fail_at(err, AT_STATS, "whether nodes have sums is neither 0 nor 1");
  const uint64_t classes = fw_get_le64(bytes + AT_CLASSES), trees = fw_get_le64(bytes + AT_TREES);
  if (classes < 1 || classes > INT32_MAX) return fail_at(err, AT_CLASSES, "the number of classes is out of range");
  const uint64_t nodes = (UINT64_C(1) << levels) - 1;
  if (trees % classes != 0 || trees > FW_FOREST_NODES / nodes)
    return fail_at(err, AT_TREES, "the number of trees is out of range");
  uint64_t wanted = HEADER;
  for (size_t i = 0; i < (stats ? ARRAYS : ARRAYS - STATS); i++) wanted += trees * nodes * arrays[i].size;
  if (size < wanted) return fail_at(err, size, "the forest ends inside its nodes");
  if (size > wanted) return fail_at(err, (size_t)wanted, "bytes follow the forest");
  return FURROW_OK;
}

/* The message names a wrong node; the error has the offset of the first node. */
static furrow_status read_nodes(fw_forest *forest, const unsigned char *at, furrow_error *err) {
  const size_t count = forest->trees * forest->nodes;
  for (size_t i = 0; i < array_count(forest); at += count * arrays[i++].size)
    fw_snapshot_copy(*array_of(forest, i), at, count, arrays[i].size);
  const furrow_status status = fw_forest_check(forest, 0, err);
  if (status != FURROW_OK && err) err->offset = HEADER;
  return status;
}

furrow_status fw_forest_snapshot_read(fw_forest **forest, const unsigned char *bytes, size_t size, furrow_error *err) {
  fw_forest *made = NULL;
  FW_TRY(check_header(bytes, size, err));
  FW_TRY(fw_forest_create(&made, (size_t)fw_get_le64(bytes + AT_CLASSES), fw_get_le32(bytes + AT_LEVELS),
                          fw_get_le32(bytes + AT_STATS) != 0, err));
  furrow_status status = fw_forest_add(made, (size_t)fw_get_le64(bytes + AT_TREES), err);
  if (status == FURROW_OK) status = read_nodes(made, bytes + HEADER, err);
  return take_forest(forest, made, status);
}

/* ---- For checkpoints ---- */

static furrow_status write_snapshot(const void *object, fw_snapshot_sink sink, void *to, furrow_error *err) {
  return fw_forest_snapshot_write(object, sink, to, err);
}

/* Swaps the forest that was read with `object`, which has no trees. */
static furrow_status restore_snapshot(void *object, const unsigned char *bytes, size_t size, furrow_error *err) {
  fw_forest *read = NULL, *empty = object;
  furrow_status status = fw_forest_snapshot_read(&read, bytes, size, err);
  if (status != FURROW_OK) return status;
  if (read->levels != empty->levels || read->classes != empty->classes || !read->gain) {
    fw_forest_free(read);
    return fw_fail(err, FURROW_E_FORMAT, "the trees are not of this training");
  }
  const fw_forest swap = *empty;
  *empty = *read;
  *read = swap;
  fw_forest_free(read);
  return FURROW_OK;
}

/* A checkpoint of a forest has no second snapshot. */
static furrow_status check_snapshot(void *object, const unsigned char *bytes, size_t size, furrow_error *err) {
  (void)object, (void)bytes, (void)size;
  return fw_fail(err, FURROW_E_FORMAT, "a second forest");
}

fw_snapshot_ops fw_forest_snapshot_ops(fw_forest *forest, const fw_plan *plan) {
  return (fw_snapshot_ops){.plan = plan,
                           .element = sizeof(double),
                           .object = forest,
                           .write = write_snapshot,
                           .read = restore_snapshot,
                           .check = check_snapshot};
}
