/* learn/forest/forest.c: boosted trees in arrays: made, added to, cut, copied, checked. */
#include "learn/forest/forest.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* Arrays of a forest, and the bytes of a node in each. */
enum { ARRAYS = 7 };

typedef struct node_array {
  void **numbers;
  size_t size;
  bool used;
} node_array;

static void list_arrays(fw_forest *forest, bool with_stats, node_array *arrays) {
  const node_array list[ARRAYS] = {{(void **)&forest->feature, sizeof *forest->feature, true},
                                   {(void **)&forest->value, sizeof *forest->value, true},
                                   {(void **)&forest->predict, sizeof *forest->predict, true},
                                   {(void **)&forest->missing_flipped, sizeof *forest->missing_flipped, true},
                                   {(void **)&forest->gain, sizeof *forest->gain, with_stats},
                                   {(void **)&forest->gradient, sizeof *forest->gradient, with_stats},
                                   {(void **)&forest->hessian, sizeof *forest->hessian, with_stats}};
  memcpy(arrays, list, sizeof list);
}

/* Grows every array to so many trees; an array that is longer than `capacity` does no harm. */
static furrow_status ensure_capacity(fw_forest *forest, bool with_stats, size_t trees, furrow_error *err) {
  node_array arrays[ARRAYS];
  list_arrays(forest, with_stats, arrays);
  for (size_t i = 0; i < ARRAYS; i++) {
    if (!arrays[i].used) continue;
    furrow_status status = fw_realloc(arrays[i].numbers, trees * forest->nodes, arrays[i].size, err);
    if (status != FURROW_OK) return status;
  }
  forest->capacity = trees;
  return FURROW_OK;
}

furrow_status fw_forest_create(fw_forest **forest, size_t classes, unsigned levels, bool with_stats,
                               furrow_error *err) {
  if (classes == 0 || classes > INT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "a forest of %zu classes cannot be", classes);
  if (levels == 0 || levels > FW_FOREST_LEVELS)
    return fw_fail(err, FURROW_E_RANGE, "trees have 1 to %d levels of nodes, not %u", FW_FOREST_LEVELS, levels);
  fw_forest *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->classes = classes;
  made->levels = levels;
  made->nodes = ((size_t)1 << levels) - 1;
  status = ensure_capacity(made, with_stats, 0, err);
  if (status == FURROW_OK)
    *forest = made;
  else
    fw_forest_free(made);
  return status;
}

void fw_forest_free(fw_forest *forest) {
  if (!forest) return;
  node_array arrays[ARRAYS];
  list_arrays(forest, true, arrays);
  for (size_t i = 0; i < ARRAYS; i++) fw_free(*arrays[i].numbers);
  fw_free(forest);
}

/* Capacity grows by half, up to the largest forest. */
static size_t next_capacity(const fw_forest *forest, size_t trees) {
  const size_t most = FW_FOREST_NODES / forest->nodes, half = forest->capacity + forest->capacity / 2;
  const size_t wanted = half > trees ? half : trees;
  return wanted < most ? wanted : most;
}

furrow_status fw_forest_add(fw_forest *forest, size_t trees, furrow_error *err) {
  const size_t before = forest->trees, most = FW_FOREST_NODES / forest->nodes;
  if (trees > most - before)
    return fw_fail(err, FURROW_E_RANGE, "%zu trees and %zu more of %u levels are more than the %zu that can be", before,
                   trees, forest->levels, most);
  const bool with_stats = forest->gain != NULL;
  if (before + trees > forest->capacity) {
    furrow_status status = ensure_capacity(forest, with_stats, next_capacity(forest, before + trees), err);
    if (status != FURROW_OK) return status;
  }
  node_array arrays[ARRAYS];
  list_arrays(forest, with_stats, arrays);
  const size_t from = before * forest->nodes, count = trees * forest->nodes;
  for (size_t i = 0; i < ARRAYS; i++)
    if (arrays[i].used) memset((char *)*arrays[i].numbers + from * arrays[i].size, 0, count * arrays[i].size);
  for (size_t at = from; at < from + count; at++) forest->feature[at] = -1;
  forest->trees += trees;
  return FURROW_OK;
}

void fw_forest_truncate(fw_forest *forest, size_t trees) {
  if (trees < forest->trees) forest->trees = trees;
}

furrow_status fw_forest_copy(fw_forest **copy, const fw_forest *forest, furrow_error *err) {
  const bool with_stats = forest->gain != NULL;
  fw_forest *made = NULL;
  furrow_status status = fw_forest_create(&made, forest->classes, forest->levels, with_stats, err);
  if (status == FURROW_OK) status = fw_forest_add(made, forest->trees, err);
  if (status != FURROW_OK) {
    fw_forest_free(made);
    return status;
  }
  fw_forest source = *forest; /* the list is of addresses that can be written */
  node_array to[ARRAYS], from[ARRAYS];
  list_arrays(made, with_stats, to);
  list_arrays(&source, with_stats, from);
  for (size_t i = 0; i < ARRAYS; i++)
    if (to[i].used) memcpy(*to[i].numbers, *from[i].numbers, forest->trees * forest->nodes * to[i].size);
  *copy = made;
  return FURROW_OK;
}

bool fw_forest_has_node(const fw_forest *forest, size_t tree, size_t node) {
  while (node > 0) {
    node = (node - 1) / 2;
    if (forest->feature[tree * forest->nodes + node] < 0) return false;
  }
  return true;
}

furrow_status fw_forest_add_stats(fw_forest *forest, furrow_error *err) {
  void *sums[3] = {NULL, NULL, NULL};
  furrow_status status = FURROW_OK;
  if (forest->gain) return FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < 3; i++)
    status = fw_alloc_zero(&sums[i], forest->capacity * forest->nodes, sizeof(double), err);
  if (status != FURROW_OK) {
    for (size_t i = 0; i < 3; i++) fw_free(sums[i]);
    return status;
  }
  forest->gain = sums[0];
  forest->gradient = sums[1];
  forest->hessian = sums[2];
  return FURROW_OK;
}

furrow_status fw_forest_features(const fw_forest *forest, uint64_t **features, size_t *count, furrow_error *err) {
  const size_t nodes = forest->trees * forest->nodes;
  uint64_t *list = NULL;
  size_t splits = 0, different = 0;
  for (size_t at = 0; at < nodes; at++) splits += forest->feature[at] >= 0;
  furrow_status status = fw_alloc((void **)&list, splits, sizeof *list, err);
  if (status != FURROW_OK) return status;
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

/* ---- Checking ------------------------------------------------------------------------------------------- */

static furrow_status check_node(const fw_forest *forest, size_t at, uint64_t features, furrow_error *err) {
  const size_t tree = at / forest->nodes, node = at % forest->nodes;
  const int32_t feature = forest->feature[at];
  if (feature < -1)
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: feature %d is neither one nor -1", tree, node, feature);
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
  const size_t count = forest->trees * forest->nodes;
  for (size_t at = 0; at < count; at++) {
    furrow_status status = check_node(forest, at, features, err);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

/* ---- Snapshots -------------------------------------------------------------------------------------------------- */

#define MAGIC "FWTREES1"

/* Places of the header's fields, behind which the arrays follow each other. */
enum { AT_MAGIC = 0, AT_LEVELS = 8, AT_STATS = 12, AT_CLASSES = 16, AT_TREES = 24, HEADER = 32 };

/* ---- Writing -------------------------------------------------------------------------------------------- */

static furrow_status write_arrays(const fw_forest *f, fw_snapshot_sink sink, void *to, furrow_error *err) {
  const struct {
    const void *numbers;
    size_t size;
  } arrays[] = {{f->feature, sizeof *f->feature}, {f->value, sizeof *f->value},
                {f->predict, sizeof *f->predict}, {f->missing_flipped, sizeof *f->missing_flipped},
                {f->gain, sizeof *f->gain},       {f->gradient, sizeof *f->gradient},
                {f->hessian, sizeof *f->hessian}};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < sizeof arrays / sizeof *arrays; i++)
    if (arrays[i].numbers)
      status = fw_snapshot_write(arrays[i].numbers, f->trees * f->nodes, arrays[i].size, sink, to, err);
  return status;
}

furrow_status fw_forest_snapshot_write(const fw_forest *forest, fw_snapshot_sink sink, void *to, furrow_error *err) {
  unsigned char header[HEADER];
  memcpy(header + AT_MAGIC, MAGIC, 8);
  fw_put_le32(header + AT_LEVELS, forest->levels);
  fw_put_le32(header + AT_STATS, forest->gain != NULL);
  fw_put_le64(header + AT_CLASSES, forest->classes);
  fw_put_le64(header + AT_TREES, forest->trees);
  furrow_status status = sink(to, header, sizeof header, err);
  return status == FURROW_OK ? write_arrays(forest, sink, to, err) : status;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fail_at(furrow_error *err, size_t offset, const char *message) {
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "%s", message);
  if (err) err->offset = offset;
  return status;
}

/* Bytes of a node in all arrays. */
static size_t node_bytes(bool with_stats) {
  return sizeof(int32_t) + 2 * sizeof(double) + 1 + (with_stats ? 3 * sizeof(double) : 0);
}

static furrow_status check_header(const unsigned char *bytes, size_t size, furrow_error *err) {
  if (size < HEADER) return fail_at(err, size, "the forest ends inside its header");
  if (memcmp(bytes + AT_MAGIC, MAGIC, 8) != 0) return fail_at(err, AT_MAGIC, "not a forest");
  const uint32_t levels = fw_get_le32(bytes + AT_LEVELS);
  if (levels < 1 || levels > FW_FOREST_LEVELS) return fail_at(err, AT_LEVELS, "the number of levels cannot be");
  const uint32_t stats = fw_get_le32(bytes + AT_STATS);
  if (stats > 1) return fail_at(err, AT_STATS, "whether nodes have sums is neither 0 nor 1");
  const uint64_t classes = fw_get_le64(bytes + AT_CLASSES), trees = fw_get_le64(bytes + AT_TREES);
  if (classes < 1 || classes > INT32_MAX) return fail_at(err, AT_CLASSES, "the number of classes cannot be");
  const uint64_t nodes = (UINT64_C(1) << levels) - 1;
  if (trees % classes != 0 || trees > FW_FOREST_NODES / nodes)
    return fail_at(err, AT_TREES, "the number of trees cannot be");
  const uint64_t wanted = HEADER + trees * nodes * node_bytes(stats != 0);
  if (size < wanted) return fail_at(err, size, "the forest ends inside its nodes");
  if (size > wanted) return fail_at(err, (size_t)wanted, "bytes follow the forest");
  return FURROW_OK;
}

static const unsigned char *read_array(void *numbers, const unsigned char *from, size_t count, size_t size) {
  fw_snapshot_copy(numbers, from, count, size);
  return from + count * size;
}

static void read_arrays(fw_forest *f, const unsigned char *at) {
  const size_t count = f->trees * f->nodes;
  at = read_array(f->feature, at, count, sizeof *f->feature);
  at = read_array(f->value, at, count, sizeof *f->value);
  at = read_array(f->predict, at, count, sizeof *f->predict);
  at = read_array(f->missing_flipped, at, count, sizeof *f->missing_flipped);
  if (!f->gain) return;
  at = read_array(f->gain, at, count, sizeof *f->gain);
  at = read_array(f->gradient, at, count, sizeof *f->gradient);
  read_array(f->hessian, at, count, sizeof *f->hessian);
}

/* A node that is wrong is named by the message; the offset is that of the first node. */
static furrow_status check_nodes(const fw_forest *forest, furrow_error *err) {
  furrow_status status = fw_forest_check(forest, 0, err);
  if (status != FURROW_OK && err) err->offset = HEADER;
  return status;
}

furrow_status fw_forest_snapshot_read(fw_forest **forest, const unsigned char *bytes, size_t size, furrow_error *err) {
  furrow_status status = check_header(bytes, size, err);
  if (status != FURROW_OK) return status;
  fw_forest *made = NULL;
  status = fw_forest_create(&made, (size_t)fw_get_le64(bytes + AT_CLASSES), fw_get_le32(bytes + AT_LEVELS),
                            fw_get_le32(bytes + AT_STATS) != 0, err);
  if (status == FURROW_OK) status = fw_forest_add(made, (size_t)fw_get_le64(bytes + AT_TREES), err);
  if (status == FURROW_OK) {
    read_arrays(made, bytes + HEADER);
    status = check_nodes(made, err);
  }
  if (status == FURROW_OK)
    *forest = made;
  else
    fw_forest_free(made);
  return status;
}
