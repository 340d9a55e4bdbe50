/* learn/forest/forest_predictor.c: sends rows through trees whose nodes are packed for it (kern/math/traverse.h).
 *
 * A packed tree has all of its leaves at the bottom: a leaf higher up is moved down, below nodes that send every row to
 * the left, so that no step branches. Trees are bundled; all trees of a bundle get the depth of its deepest tree.
 *
 * A row is an array of numbers, one for each slot: floats as whole numbers of the same order, which are compared in
 * fewer steps. A feature has a slot for nodes that send rows without it to the left, where it is ABSENT_LEFT, below all
 * values, and one for the others, where it is above them: so absence needs no question of its own. A split value is
 * rounded down to a float, which is exact for rows of floats.
 *
 * A block of rows passes in groups through one tree after the other, a single row through a bundle of trees: either way
 * several paths are followed at once, so that memory latency is hidden. Leaves are added in the order of the trees
 * either way. */
#include "learn/forest/forest.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/math/traverse.h"
#include "kern/simd/unroll.h"
#include "learn/data/features.h"

enum { GROUP_ROWS = FW_TRAVERSE_ROWS, BUNDLE = 8, MOST_GROUPS = 16 };
#define BLOCK_BYTES ((size_t)24 << 10)    /* for slots of the groups of rows of a block, unless one group takes more */
#define DIRECT_FEATURES ((size_t)1 << 20) /* features below that have an array of slots, others a table */

/* The slots that the value of a feature goes to; a feature without a split has `none`. */
typedef struct feature_slots {
  uint32_t left, right;
} feature_slots;

struct fw_forest_predictor {
  size_t classes, trees;
  fw_traverse_tree *bundles; /* the first tree of each */
  fw_traverse_node *nodes;
  double *leaves;   /* rate * predict */
  size_t slots;     /* slots of a row, times GROUP_ROWS; leaves read slot 0 */
  uint32_t none;    /* the last slot, which no node reads */
  uint32_t *absent; /* a group of rows without any feature */
  size_t groups;    /* groups of GROUP_ROWS rows in a block */
  size_t direct_count;
  feature_slots *direct; /* slots of features below direct_count */
  fw_features *table;    /* slots of others; NULL: there are none */
};

struct fw_predict_scratch {
  uint32_t *slots; /* slots of predictor->groups groups of rows; all are empty between two calls */
};

#define ABSENT_LEFT 0u
#define ABSENT_RIGHT UINT32_MAX

/* Maps a float to an unsigned number of the same order. The bits of a negative float fall as it rises, so they are
 * inverted. -0 comes before 0. */
static inline uint32_t order_of(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits ^ (0x80000000u | (0 - (bits >> 31)));
}

/* ---- Slots of features ---- */

static inline const feature_slots *find_slots(const fw_forest_predictor *w, uint64_t feature) {
  if (feature < w->direct_count) return &w->direct[feature];
  return w->table ? fw_features_find(w->table, feature) : NULL;
}

static void no_slots(const void *context, uint64_t key, void *record) {
  (void)context, (void)key;
  *(feature_slots *)record = (feature_slots){0};
}

static size_t largest_feature(const fw_forest *forest) {
  size_t most = 0;
  for (size_t at = 0; at < forest->trees * forest->nodes; at++)
    if (forest->feature[at] > 0 && (size_t)forest->feature[at] > most) most = (size_t)forest->feature[at];
  return most;
}

/* Marks which of a feature's slots are used. */
static furrow_status mark_slots(fw_forest_predictor *w, const fw_forest *forest, furrow_error *err) {
  for (size_t at = 0; at < forest->trees * forest->nodes; at++) {
    if (forest->feature[at] < 0) continue;
    const uint64_t feature = (uint64_t)forest->feature[at];
    void *record = feature < w->direct_count ? &w->direct[feature] : NULL;
    if (!record) FW_TRY(fw_features_make(w->table, feature, &record, err));
    feature_slots *of = record;
    *(fw_forest_absent_left(forest, at) ? &of->left : &of->right) = 1;
  }
  return FURROW_OK;
}

/* Numbers those that are used from `slot` on; the others are 0, which is a slot of no feature. */
static uint32_t number_slots(feature_slots *of, uint32_t slot) {
  of->left = of->left ? slot++ : 0;
  of->right = of->right ? slot++ : 0;
  return slot;
}

/* The place of a slot in a group of rows, all of them without the feature; one that is not used is `none`. */
static uint32_t settle_slot(const fw_forest_predictor *w, uint32_t slot, uint32_t absent) {
  for (size_t i = 0; slot > 0 && i < GROUP_ROWS; i++) w->absent[slot * GROUP_ROWS + i] = absent;
  return slot > 0 ? slot * GROUP_ROWS : w->none;
}

/* Numbers the slots of all features, and fills in a row that has none of the features. */
static furrow_status settle_features(fw_forest_predictor *w, const uint64_t *keys, size_t key_count,
                                     furrow_error *err) {
  uint32_t slot = 1;
  for (size_t i = 0; i < w->direct_count; i++) slot = number_slots(&w->direct[i], slot);
  for (size_t i = 0; i < key_count; i++) slot = number_slots(fw_features_find(w->table, keys[i]), slot);
  if (slot >= UINT32_MAX / GROUP_ROWS) return fw_fail(err, FURROW_E_RANGE, "trees split by too many features");
  w->none = slot * GROUP_ROWS;
  w->slots = ((size_t)slot + 1) * GROUP_ROWS;
  FW_TRY(FW_ALLOC_ZERO(&w->absent, w->slots, err));
  for (size_t i = 0; i < w->direct_count + key_count; i++) {
    feature_slots *of = i < w->direct_count ? &w->direct[i] : fw_features_find(w->table, keys[i - w->direct_count]);
    of->left = settle_slot(w, of->left, ABSENT_LEFT);
    of->right = settle_slot(w, of->right, ABSENT_RIGHT);
  }
  return FURROW_OK;
}

static furrow_status make_slots(fw_forest_predictor *w, const fw_forest *forest, furrow_error *err) {
  const fw_features_params params = {.bytes = sizeof(feature_slots), .first = no_slots};
  const size_t largest = largest_feature(forest);
  uint64_t *keys = NULL;
  size_t key_count = 0;
  w->direct_count = largest < DIRECT_FEATURES ? largest + 1 : 0;
  FW_TRY(FW_ALLOC_ZERO(&w->direct, w->direct_count, err));
  if (w->direct_count == 0) FW_TRY(fw_features_create(&w->table, &params, err));
  FW_TRY(mark_slots(w, forest, err));
  if (w->table) FW_TRY(fw_features_keys(w->table, &keys, &key_count, err));
  const furrow_status status = settle_features(w, keys, key_count, err);
  fw_free(keys);
  return status;
}

/* ---- Packing trees ---- */

/* The largest float that is not above the number; 0, if it is one, is the one that both zeros are not above. */
static uint32_t round_down(double number) {
  const float nearest = (float)number;
  return order_of(0 + ((double)nearest > number ? nextafterf(nearest, -INFINITY) : nearest));
}

/* from[n]: the node of the forest that the packed node n stands for, or the leaf that it is below. */
static void pack_tree(const fw_forest_predictor *w, const fw_forest *forest, size_t tree, unsigned depth, double rate,
                      uint32_t *from, fw_traverse_node *nodes, double *leaves) {
  const size_t base = tree * forest->nodes, end = (size_t)1 << depth;
  from[1] = 0;
  nodes[0] = (fw_traverse_node){0, ABSENT_RIGHT};
  for (size_t n = 1; n < end; n++) {
    const size_t at = base + from[n];
    const bool split = forest->feature[at] >= 0;
    from[2 * n] = split ? 2 * from[n] + 1 : from[n];
    from[2 * n + 1] = split ? 2 * from[n] + 2 : from[n];
    nodes[n] = (fw_traverse_node){0, ABSENT_RIGHT};
    if (!split) continue;
    const feature_slots *of = find_slots(w, (uint64_t)forest->feature[at]);
    nodes[n].slot = fw_forest_absent_left(forest, at) ? of->left : of->right;
    nodes[n].value = round_down(forest->value[at]);
  }
  for (size_t i = 0; i < end; i++) leaves[i] = rate * forest->predict[base + from[end + i]];
}

/* The depth of each bundle, and how many nodes all of them take. */
static size_t measure_bundles(fw_forest_predictor *w, const fw_forest *forest) {
  size_t nodes = 0;
  for (size_t tree = 0; tree < w->trees; tree++) {
    fw_traverse_tree *of = &w->bundles[tree / BUNDLE];
    const unsigned depth = fw_forest_depth(forest, tree);
    if (tree % BUNDLE == 0 || depth > of->depth) of->depth = depth;
  }
  for (size_t i = 0; i * BUNDLE < w->trees; i++) nodes += (size_t)BUNDLE << w->bundles[i].depth;
  return nodes;
}

/* Packs the trees. The last bundle is filled up with trees that predict 0. */
static furrow_status pack_trees(fw_forest_predictor *w, const fw_forest *forest, double rate, furrow_error *err) {
  uint32_t *from = NULL;
  size_t end = 0;
  FW_TRY(FW_ALLOC_ZERO(&w->bundles, (w->trees + BUNDLE - 1) / BUNDLE, err));
  const size_t count = measure_bundles(w, forest);
  FW_TRY(FW_ALLOC_ZERO(&w->nodes, count, err));
  FW_TRY(FW_ALLOC_ZERO(&w->leaves, count, err));
  FW_TRY(FW_ALLOC(&from, (size_t)1 << forest->levels, err));
  for (size_t tree = 0; tree < w->trees; tree++) {
    fw_traverse_tree *of = &w->bundles[tree / BUNDLE];
    if (tree % BUNDLE == 0) {
      of->nodes = w->nodes + end, of->leaves = w->leaves + end;
      end += (size_t)BUNDLE << of->depth;
    }
    const size_t at = (size_t)(of->nodes - w->nodes) + ((tree % BUNDLE) << of->depth);
    pack_tree(w, forest, tree, of->depth, rate, from, w->nodes + at, w->leaves + at);
  }
  fw_free(from);
  return FURROW_OK;
}

furrow_status fw_forest_predictor_create(fw_forest_predictor **predictor, const fw_forest *forest, double rate,
                                         furrow_error *err) {
  fw_forest_predictor *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->classes = forest->classes;
  made->trees = forest->trees;
  furrow_status status = make_slots(made, forest, err);
  if (status == FURROW_OK) status = pack_trees(made, forest, rate, err);
  if (status != FURROW_OK) {
    fw_forest_predictor_free(made);
    return status;
  }
  const size_t fit = BLOCK_BYTES / (made->slots * sizeof(uint32_t));
  made->groups = fit < 1 ? 1 : fit > MOST_GROUPS ? MOST_GROUPS : fit;
  *predictor = made;
  return FURROW_OK;
}

void fw_forest_predictor_free(fw_forest_predictor *predictor) {
  if (!predictor) return;
  void *const arrays[] = {predictor->bundles, predictor->nodes, predictor->leaves, predictor->absent,
                          predictor->direct};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_features_free(predictor->table);
  fw_free(predictor);
}

/* ---- A thread's space ---- */

furrow_status fw_predict_scratch_create(fw_predict_scratch **space, const fw_forest_predictor *predictor,
                                        furrow_error *err) {
  fw_predict_scratch *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  const furrow_status status = FW_ALLOC(&made->slots, predictor->groups * predictor->slots, err);
  for (size_t i = 0; status == FURROW_OK && i < predictor->groups; i++)
    memcpy(made->slots + i * predictor->slots, predictor->absent, predictor->slots * sizeof *made->slots);
  return FW_HAND_OVER(status, space, made, fw_predict_scratch_free);
}

void fw_predict_scratch_free(fw_predict_scratch *space) {
  if (!space) return;
  fw_free(space->slots);
  fw_free(space);
}

/* ---- Rows to slots ---- */

/* Goes backwards, so that the first entry counts if a feature occurs twice. */
static inline void put_row(const fw_forest_predictor *w, const furrow_row *row, uint32_t *slots,
                           furrow_key_type key_type, furrow_value_type value_type) {
  for (size_t i = row->length; i-- > 0;) {
    const feature_slots *of = find_slots(w, furrow_keys_get(row->index, key_type, i));
    if (!of) continue;
    const float x = row->value.any ? (float)furrow_values_get(row->value, value_type, i) : 1;
    slots[of->left] = isnan(x) ? ABSENT_LEFT : order_of(x);
    slots[of->right] = isnan(x) ? ABSENT_RIGHT : order_of(x);
  }
}

static void put_any_row(const fw_forest_predictor *w, const furrow_row *row, uint32_t *slots) {
  if (row->key_type == FURROW_KEY_U32 && row->value_type == FURROW_VALUE_F32)
    put_row(w, row, slots, FURROW_KEY_U32, FURROW_VALUE_F32);
  else
    put_row(w, row, slots, row->key_type, row->value_type);
}

static void remove_row(const fw_forest_predictor *w, const furrow_row *row, uint32_t *slots) {
  for (size_t i = 0; i < row->length; i++) {
    const feature_slots *of = find_slots(w, furrow_keys_get(row->index, row->key_type, i));
    if (!of) continue;
    slots[of->left] = ABSENT_LEFT;
    slots[of->right] = ABSENT_RIGHT;
  }
}

/* ---- Walking ---- */

/* One row through the trees of a bundle. */
static inline void traverse_bundle(const fw_traverse_tree *of, const uint32_t *x, double *values) {
  size_t at[BUNDLE];
  UNROLL
  for (size_t i = 0; i < BUNDLE; i++) at[i] = 1;
  for (unsigned d = 0; d < of->depth; d++) {
    UNROLL
    for (size_t i = 0; i < BUNDLE; i++) {
      const fw_traverse_node node = of->nodes[(i << of->depth) + at[i]];
      at[i] += at[i] + (node.value < x[node.slot]);
    }
  }
  UNROLL
  for (size_t i = 0; i < BUNDLE; i++) values[i] = of->leaves[(i << of->depth) + at[i] - ((size_t)1 << of->depth)];
}

static void traverse_one(const fw_forest_predictor *w, const uint32_t *x, double *out) {
  for (size_t c = 0; c < w->classes; c++) out[c] = 0;
  size_t class = 0;
  for (size_t tree = 0; tree < w->trees; tree += BUNDLE) {
    double values[BUNDLE];
    traverse_bundle(&w->bundles[tree / BUNDLE], x, values);
    const size_t count = w->trees - tree < BUNDLE ? w->trees - tree : BUNDLE;
    for (size_t i = 0; i < count; i++) {
      out[class] += values[i];
      class = class + 1 < w->classes ? class + 1 : 0;
    }
  }
}

/* Whole groups through all trees. */
static void traverse_groups(const fw_forest_predictor *w, const uint32_t *slots, size_t groups, double *out) {
  const fw_traverse *kernels = fw_traverse_table();
  memset(out, 0, groups * GROUP_ROWS * w->classes * sizeof *out);
  for (size_t tree = 0, class = 0; tree < w->trees; tree++) {
    fw_traverse_tree of = w->bundles[tree / BUNDLE];
    of.nodes += (tree % BUNDLE) << of.depth;
    of.leaves += (tree % BUNDLE) << of.depth;
    kernels->groups(&of, slots, w->slots, groups, out + class, w->classes);
    class = class + 1 < w->classes ? class + 1 : 0;
  }
}

void fw_forest_predict_row(const fw_forest_predictor *predictor, fw_predict_scratch *space, const furrow_row *row,
                           double *out) {
  put_any_row(predictor, row, space->slots);
  traverse_one(predictor, space->slots, out);
  remove_row(predictor, row, space->slots);
}

void fw_forest_predict_rows(const fw_forest_predictor *predictor, fw_predict_scratch *space,
                            const furrow_rowblock *block, size_t begin, size_t end, double *out) {
  for (size_t at = begin; at < end;) {
    const size_t left = (end - at) / GROUP_ROWS, groups = left < predictor->groups ? left : predictor->groups;
    if (groups == 0) {
      const furrow_row row = furrow_rowblock_row(block, at);
      fw_forest_predict_row(predictor, space, &row, out + (at - begin) * predictor->classes);
      at++;
      continue;
    }
    for (size_t i = 0; i < groups * GROUP_ROWS; i++) {
      const furrow_row row = furrow_rowblock_row(block, at + i);
      put_any_row(predictor, &row, space->slots + i / GROUP_ROWS * predictor->slots + i % GROUP_ROWS);
    }
    traverse_groups(predictor, space->slots, groups, out + (at - begin) * predictor->classes);
    for (size_t i = 0; i < groups * GROUP_ROWS; i++) {
      const furrow_row row = furrow_rowblock_row(block, at + i);
      remove_row(predictor, &row, space->slots + i / GROUP_ROWS * predictor->slots + i % GROUP_ROWS);
    }
    at += groups * GROUP_ROWS;
  }
}
