/* learn/nodes/node_predictor.c: sends rows through forests of sparse nodes, packed for it (kern/math/traverse.h).
 *
 * A row is an array of slots, as in learn/forest/forest_predictor.c: floats as whole numbers of the same order, and
 * splits send a row to the right where its slot is above their number. What is missing decides as a number that is
 * below or above all others, so a feature has a slot for each way in which its splits treat missing values. A set of
 * categories has a slot of its own, below or above all numbers by whether the row's category is a member. So every
 * split is one comparison.
 *
 * Eight trees make a bundle. Trees that are nearly full are packed without pointers, all leaves at one depth; deep ones
 * keep pointers, and a leaf points to itself. */
#include "learn/nodes/node_forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "kern/math/traverse.h"
#include "kern/simd/unroll.h"

enum { GROUP_ROWS = FW_TRAVERSE_ROWS, BUNDLE = 8, MOST_GROUPS = 16, DEEP_STEPS = 4 };
#define BLOCK_BYTES ((size_t)24 << 10)    /* for the slots of a block of rows, unless one group takes more */
#define DIRECT_FEATURES ((size_t)1 << 20) /* features below that are found by their number, others are searched */
#define ABSENT_LEFT 0u
#define ABSENT_RIGHT UINT32_MAX

/* How a value of a feature becomes the number of a slot. */
typedef struct slot_rule {
  uint32_t feature;
  uint32_t slot;             /* times GROUP_ROWS */
  const fw_split_node *node; /* a split by a set; NULL: the number counts */
  uint32_t flags;            /* of numbers: FW_NODE_DEFAULT_LEFT, FW_NODE_ZERO_MISSING */
} slot_rule;

/* The slots of a feature: left and right for values that are missing or count; or `none`. */
typedef struct feature_slots {
  uint32_t left, right;
  uint32_t first_rule, rule_count; /* other rules */
} feature_slots;

/* A deep tree. */
typedef struct deep_node {
  uint32_t slot, value;
  uint32_t child[2];
} deep_node;

typedef struct bundle {
  bool is_full;          /* else its trees are deep */
  fw_traverse_tree full; /* the first of its trees */
  size_t roots[BUNDLE];  /* deep trees: the root's place */
} bundle;

struct fw_node_predictor {
  const fw_node_forest *forest;
  size_t classes, trees;
  bundle *bundles;
  fw_traverse_node *nodes;
  double *leaves;
  float *leaves_f32;
  deep_node *deep;
  double *deep_leaves;
  slot_rule *rules;
  size_t rule_count, rule_capacity;
  uint32_t *rule_of; /* for each node of the forest: its rule; not needed once trees are packed */
  size_t slots;      /* slots of a row, times GROUP_ROWS; full trees read slot 0 where no split is */
  uint32_t none;     /* the last slot, which no node reads */
  uint32_t *absent;  /* a group of rows without any feature */
  size_t groups;     /* groups of GROUP_ROWS rows in a block */
  size_t feature_count;
  feature_slots *features; /* slots of feature i, or of the feature keys[i] */
  uint64_t *keys;          /* ascending; NULL: feature i has place i */
};

struct fw_node_scratch {
  uint32_t *slots; /* of predictor->groups groups of rows; all are empty between two calls */
  double *sums;    /* of a block of rows; of floats or doubles */
};

/* Maps a float to an unsigned number of the same order; -0 comes before 0. */
static inline uint32_t order_of(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits ^ (0x80000000u | (0 - (bits >> 31)));
}

/* ---- Rules ---- */

/* The flags of the rule of a split by a number. NaN that counts as 0 has a side, too. */
static uint32_t rule_flags(const fw_node_forest *forest, const fw_split_node *node) {
  const uint32_t zero = node->flags & FW_NODE_ZERO_MISSING;
  return zero | (fw_node_goes_left(forest, node, NAN) ? FW_NODE_DEFAULT_LEFT : 0);
}

/* Rules of one kind have one key. */
typedef struct rule_key {
  uint64_t key; /* feature, then the flags of the rule; 4: of a set */
  uint64_t set; /* its number and the flags of the node */
  uint32_t node;
} rule_key;

static int compare_keys(const void *a, const void *b) {
  const rule_key *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  if (x->set != y->set) return x->set < y->set ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static rule_key key_of(const fw_node_forest *forest, size_t place) {
  const fw_split_node *node = &forest->node[place];
  const uint64_t feature = (uint64_t)(uint32_t)node->feature << 3;
  if (node->flags & FW_NODE_SET)
    return (rule_key){feature | 4, (uint64_t)node->value << 8 | node->flags, (uint32_t)place};
  const uint32_t flags = rule_flags(forest, node);
  return (rule_key){feature | (flags & FW_NODE_ZERO_MISSING ? 2 : 0) | (flags & FW_NODE_DEFAULT_LEFT ? 1 : 0), 0,
                    (uint32_t)place};
}

/* One rule for each key, and the rule of each split. */
static furrow_status number_rules(fw_node_predictor *w, const rule_key *keys, size_t count, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&w->rule_of, w->forest->nodes, err));
  for (size_t i = 0; i < count; i++) {
    const fw_split_node *node = &w->forest->node[keys[i].node];
    const bool set = (node->flags & FW_NODE_SET) != 0;
    if (i == 0 || keys[i].key != keys[i - 1].key || keys[i].set != keys[i - 1].set) {
      FW_TRY(FW_GROW(&w->rules, &w->rule_capacity, w->rule_count + 1, err));
      w->rules[w->rule_count++] = (slot_rule){.feature = (uint32_t)node->feature,
                                              .node = set ? node : NULL,
                                              .flags = set ? 0 : rule_flags(w->forest, node)};
    }
    w->rule_of[keys[i].node] = (uint32_t)(w->rule_count - 1);
  }
  return FURROW_OK;
}

static furrow_status make_rules(fw_node_predictor *w, furrow_error *err) {
  const fw_node_forest *forest = w->forest;
  rule_key *keys = NULL;
  size_t count = 0;
  FW_TRY(FW_ALLOC(&keys, forest->nodes, err));
  for (size_t i = 0; i < forest->nodes; i++)
    if (forest->node[i].feature >= 0) keys[count++] = key_of(forest, i);
  if (count > 0) qsort(keys, count, sizeof *keys, compare_keys);
  const furrow_status status = number_rules(w, keys, count, err);
  fw_free(keys);
  return status;
}

/* ---- Slots of features ---- */

static inline feature_slots *find_slots(const fw_node_predictor *w, uint64_t feature) {
  if (!w->keys) return feature < w->feature_count ? &w->features[feature] : NULL;
  const size_t place = fw_lower_bound_u64(w->keys, w->feature_count, sizeof *w->keys, feature);
  return place < w->feature_count && w->keys[place] == feature ? &w->features[place] : NULL;
}

static furrow_status make_slots(fw_node_predictor *w, furrow_error *err) {
  const size_t largest = w->rule_count > 0 ? w->rules[w->rule_count - 1].feature : 0;
  if (w->rule_count >= UINT32_MAX / GROUP_ROWS - 2) return fw_fail(err, FURROW_E_RANGE, "trees have too many splits");
  w->none = (uint32_t)(w->rule_count + 1) * GROUP_ROWS;
  w->slots = (w->rule_count + 2) * GROUP_ROWS;
  w->feature_count = largest + 1;
  if (largest >= DIRECT_FEATURES) FW_TRY(fw_node_forest_features(w->forest, &w->keys, &w->feature_count, err));
  FW_TRY(FW_ALLOC(&w->features, w->feature_count, err));
  for (size_t i = 0; i < w->feature_count; i++) w->features[i] = (feature_slots){w->none, w->none, 0, 0};
  for (size_t i = 0; i < w->rule_count; i++) {
    slot_rule *rule = &w->rules[i];
    feature_slots *of = find_slots(w, rule->feature);
    rule->slot = (uint32_t)(i + 1) * GROUP_ROWS;
    if (!rule->node && !(rule->flags & FW_NODE_ZERO_MISSING))
      *(rule->flags & FW_NODE_DEFAULT_LEFT ? &of->left : &of->right) = rule->slot;
    else if (of->rule_count++ == 0)
      of->first_rule = (uint32_t)i;
  }
  return FURROW_OK;
}

static uint32_t number_by_rule(const fw_node_forest *forest, const slot_rule *rule, float x) {
  if (rule->node) return fw_node_goes_left(forest, rule->node, x) ? ABSENT_LEFT : ABSENT_RIGHT;
  if (isnan(x) || fabsf(x) <= 1e-35F) return rule->flags & FW_NODE_DEFAULT_LEFT ? ABSENT_LEFT : ABSENT_RIGHT;
  return order_of(x);
}

/* Writes the numbers of a value; NaN: it is missing. */
static inline void put_value(const fw_node_predictor *w, const feature_slots *of, float x, uint32_t *slots) {
  slots[of->left] = isnan(x) ? ABSENT_LEFT : order_of(x);
  slots[of->right] = isnan(x) ? ABSENT_RIGHT : order_of(x);
  for (uint32_t i = 0; i < of->rule_count; i++) {
    const slot_rule *rule = &w->rules[of->first_rule + i];
    slots[rule->slot] = number_by_rule(w->forest, rule, x);
  }
}

static furrow_status make_absent(fw_node_predictor *w, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&w->absent, w->slots, err));
  for (size_t i = 0; i < w->rule_count; i++)
    for (size_t row = 0; row < GROUP_ROWS; row++)
      put_value(w, find_slots(w, w->rules[i].feature), w->forest->absent_zero ? 0 : NAN, w->absent + row);
  return FURROW_OK;
}

/* ---- Packing trees ---- */

/* The number that rows are compared with: they go to the right if theirs is above it. A float below a threshold is one
 * up to the float before it; of both zeros the one counts that makes them equal. */
static uint32_t threshold_of(const fw_node_forest *forest, const fw_split_node *node) {
  if (node->flags & FW_NODE_SET) return 1;
  const float nearest = (float)node->value;
  if (forest->less) {
    const float least = (double)nearest < node->value ? nextafterf(nearest, INFINITY) : nearest;
    return order_of(least == 0 ? -0.0F : least) - 1;
  }
  return order_of(0 + ((double)nearest > node->value ? nextafterf(nearest, -INFINITY) : nearest));
}

static fw_traverse_node pack_node(const fw_node_predictor *w, const fw_split_node *node) {
  return (fw_traverse_node){w->rules[w->rule_of[node - w->forest->node]].slot, threshold_of(w->forest, node)};
}

/* from[n]: the node of the tree that the packed node n stands for, or the leaf that it is below. */
static void pack_full(fw_node_predictor *w, size_t tree, unsigned depth, uint32_t *from, size_t to) {
  const fw_split_node *nodes = w->forest->node + w->forest->begin[tree];
  const size_t end = (size_t)1 << depth;
  from[1] = 0;
  w->nodes[to] = (fw_traverse_node){0, ABSENT_RIGHT};
  for (size_t n = 1; n < end; n++) {
    const fw_split_node *at = &nodes[from[n]];
    const bool split = at->feature >= 0;
    from[2 * n] = split ? from[n] + 1 : from[n];
    from[2 * n + 1] = split ? at->right : from[n];
    w->nodes[to + n] = split ? pack_node(w, at) : (fw_traverse_node){0, ABSENT_RIGHT};
  }
  for (size_t i = 0; i < end; i++) {
    w->leaves[to + i] = nodes[from[end + i]].value;
    w->leaves_f32[to + i] = (float)w->leaves[to + i];
  }
}

static void pack_deep(fw_node_predictor *w, size_t tree, size_t to) {
  const size_t first = (size_t)w->forest->begin[tree], count = (size_t)w->forest->begin[tree + 1] - first;
  for (size_t i = 0; i < count; i++) {
    const fw_split_node *node = &w->forest->node[first + i];
    const bool split = node->feature >= 0;
    const fw_traverse_node packed = split ? pack_node(w, node) : (fw_traverse_node){0, ABSENT_RIGHT};
    w->deep[to + i] = (deep_node){
        packed.slot, packed.value, {(uint32_t)(to + i + (split ? 1 : 0)), (uint32_t)(to + (split ? node->right : i))}};
    w->deep_leaves[to + i] = split ? 0 : node->value;
  }
}

/* How trees are packed. */
typedef struct packing {
  size_t full, deep; /* nodes of both kinds */
  unsigned deepest;  /* depth of full trees */
} packing;

/* Full trees if this takes up to four times the nodes. The last bundle is filled up with trees that add 0. */
static packing measure(fw_node_predictor *w) {
  packing p = {0};
  for (size_t b = 0; b * BUNDLE < w->trees; b++) {
    const size_t first = b * BUNDLE, end = first + BUNDLE < w->trees ? first + BUNDLE : w->trees;
    const size_t nodes = (size_t)(w->forest->begin[end] - w->forest->begin[first]);
    unsigned depth = 0;
    for (size_t tree = first; tree < end; tree++) {
      const unsigned deep = fw_node_tree_depth(w->forest, tree);
      if (deep > depth) depth = deep;
    }
    w->bundles[b].full.depth = depth;
    if (depth < 24 && (size_t)BUNDLE << depth <= 4 * nodes + 1024) {
      w->bundles[b].is_full = true;
      p.full += (size_t)BUNDLE << depth;
      if (depth > p.deepest) p.deepest = depth;
    } else {
      p.deep += nodes;
    }
  }
  return p;
}

static furrow_status pack_trees(fw_node_predictor *w, furrow_error *err) {
  uint32_t *from = NULL;
  size_t full = 0, deep = 1; /* deep node 0 is the leaf of trees that are not there */
  FW_TRY(FW_ALLOC_ZERO(&w->bundles, (w->trees + BUNDLE - 1) / BUNDLE, err));
  const packing p = measure(w);
  if (p.deep >= UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "the trees have too many nodes");
  FW_TRY(FW_ALLOC_ZERO(&w->nodes, p.full, err));
  FW_TRY(FW_ALLOC_ZERO(&w->leaves, p.full, err));
  FW_TRY(FW_ALLOC_ZERO(&w->leaves_f32, p.full, err));
  FW_TRY(FW_ALLOC_ZERO(&w->deep, p.deep + 1, err));
  FW_TRY(FW_ALLOC_ZERO(&w->deep_leaves, p.deep + 1, err));
  FW_TRY(FW_ALLOC(&from, (size_t)2 << p.deepest, err));
  w->deep[0] = (deep_node){0, ABSENT_RIGHT, {0, 0}};
  for (size_t tree = 0; tree < w->trees; tree++) {
    bundle *of = &w->bundles[tree / BUNDLE];
    const unsigned depth = of->full.depth;
    if (!of->is_full) {
      of->roots[tree % BUNDLE] = deep;
      pack_deep(w, tree, deep);
      deep += (size_t)(w->forest->begin[tree + 1] - w->forest->begin[tree]);
      continue;
    }
    if (tree % BUNDLE == 0) {
      of->full.nodes = w->nodes + full, of->full.leaves = w->leaves + full, of->full.leaves_f32 = w->leaves_f32 + full;
      full += (size_t)BUNDLE << depth;
    }
    pack_full(w, tree, depth, from, (size_t)(of->full.nodes - w->nodes) + ((tree % BUNDLE) << depth));
  }
  fw_free(from);
  return FURROW_OK;
}

furrow_status fw_node_predictor_create(fw_node_predictor **predictor, const fw_node_forest *forest, furrow_error *err) {
  fw_node_predictor *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->forest = forest;
  made->classes = forest->classes;
  made->trees = forest->trees;
  furrow_status status = make_rules(made, err);
  if (status == FURROW_OK) status = make_slots(made, err);
  if (status == FURROW_OK) status = make_absent(made, err);
  if (status == FURROW_OK) status = pack_trees(made, err);
  fw_free(made->rule_of);
  made->rule_of = NULL;
  if (status != FURROW_OK) {
    fw_node_predictor_free(made);
    return status;
  }
  const size_t fit = BLOCK_BYTES / (made->slots * sizeof(uint32_t));
  made->groups = fit < 1 ? 1 : fit > MOST_GROUPS ? MOST_GROUPS : fit;
  *predictor = made;
  return FURROW_OK;
}

void fw_node_predictor_free(fw_node_predictor *predictor) {
  if (!predictor) return;
  void *const arrays[] = {predictor->bundles,  predictor->nodes,       predictor->leaves, predictor->leaves_f32,
                          predictor->deep,     predictor->deep_leaves, predictor->rules,  predictor->absent,
                          predictor->features, predictor->keys};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(predictor);
}

/* ---- A thread's scratch ---- */

furrow_status fw_node_scratch_create(fw_node_scratch **scratch, const fw_node_predictor *predictor, furrow_error *err) {
  fw_node_scratch *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = FW_ALLOC(&made->slots, predictor->groups * predictor->slots, err);
  if (status == FURROW_OK) status = FW_ALLOC(&made->sums, predictor->groups * GROUP_ROWS * predictor->classes, err);
  for (size_t i = 0; status == FURROW_OK && i < predictor->groups; i++)
    memcpy(made->slots + i * predictor->slots, predictor->absent, predictor->slots * sizeof *made->slots);
  return FW_HAND_OVER(status, scratch, made, fw_node_scratch_free);
}

void fw_node_scratch_free(fw_node_scratch *scratch) {
  if (!scratch) return;
  fw_free(scratch->slots);
  fw_free(scratch->sums);
  fw_free(scratch);
}

/* ---- Rows to slots ---- */

/* Goes backwards, so that the first entry counts if a feature occurs twice. */
static inline void put_row(const fw_node_predictor *w, const furrow_row *row, uint32_t *slots, furrow_key_type key_type,
                           furrow_value_type value_type) {
  for (size_t i = row->length; i-- > 0;) {
    const feature_slots *of = find_slots(w, furrow_keys_get(row->index, key_type, i));
    if (of) put_value(w, of, row->value.any ? (float)furrow_values_get(row->value, value_type, i) : 1, slots);
  }
}

static void put_any_row(const fw_node_predictor *w, const furrow_row *row, uint32_t *slots) {
  if (row->key_type == FURROW_KEY_U32 && row->value_type == FURROW_VALUE_F32)
    put_row(w, row, slots, FURROW_KEY_U32, FURROW_VALUE_F32);
  else
    put_row(w, row, slots, row->key_type, row->value_type);
}

static void remove_row(const fw_node_predictor *w, const furrow_row *row, uint32_t *slots) {
  for (size_t i = 0; i < row->length; i++) {
    const feature_slots *of = find_slots(w, furrow_keys_get(row->index, row->key_type, i));
    if (!of) continue;
    slots[of->left] = w->absent[of->left];
    slots[of->right] = w->absent[of->right];
    for (uint32_t k = 0; k < of->rule_count; k++) {
      const uint32_t slot = w->rules[of->first_rule + k].slot;
      slots[slot] = w->absent[slot];
    }
  }
}

/* ---- Walking ---- */

/* One row through the trees of a bundle, which need not be there all. */
static inline void walk_full(const fw_traverse_tree *of, const uint32_t *x, double *values) {
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

/* Several paths to their leaves, `gap` numbers between the rows of two paths (0: one row through many trees). */
static inline void walk_deep(const deep_node *nodes, size_t *at, const uint32_t *x, size_t gap) {
  for (bool moved = true; moved;) {
    for (unsigned d = 0; d < DEEP_STEPS; d++) {
      UNROLL
      for (size_t i = 0; i < BUNDLE; i++) {
        const deep_node node = nodes[at[i]];
        at[i] = node.child[node.value < x[node.slot + i * gap]];
      }
    }
    moved = false;
    for (size_t i = 0; i < BUNDLE; i++) moved |= nodes[at[i]].child[0] != at[i];
  }
}

static inline void add_leaf(const fw_node_predictor *w, double *sum, double leaf) {
  *sum = w->forest->single ? (double)(float)(*sum + leaf) : *sum + leaf;
}

/* The same for rows that go one by one and for blocks: base, then the leaves in the order of the trees. */
static void finish_scores(const fw_node_forest *forest, size_t numbers, double *out) {
  if (forest->divisor != 1)
    for (size_t i = 0; i < numbers; i++) out[i] /= forest->divisor;
  if (forest->scale != 1)
    for (size_t i = 0; i < numbers; i++) out[i] *= forest->scale;
}

void fw_node_predict_row(const fw_node_predictor *predictor, fw_node_scratch *scratch, const furrow_row *row,
                         double *out) {
  const fw_node_predictor *w = predictor;
  memcpy(out, w->forest->base, w->classes * sizeof *out);
  put_any_row(w, row, scratch->slots);
  for (size_t tree = 0; tree < w->trees; tree += BUNDLE) {
    const bundle *of = &w->bundles[tree / BUNDLE];
    double values[BUNDLE];
    if (of->is_full) {
      walk_full(&of->full, scratch->slots, values);
    } else {
      size_t at[BUNDLE];
      for (size_t i = 0; i < BUNDLE; i++) at[i] = of->roots[i];
      walk_deep(w->deep, at, scratch->slots, 0);
      for (size_t i = 0; i < BUNDLE; i++) values[i] = w->deep_leaves[at[i]];
    }
    for (size_t i = 0; i < BUNDLE && tree + i < w->trees; i++)
      add_leaf(w, &out[w->forest->class_of[tree + i]], values[i]);
  }
  remove_row(w, row, scratch->slots);
  finish_scores(w->forest, w->classes, out);
}

/* Groups of rows through one deep tree. */
static void add_deep(const fw_node_predictor *w, size_t root, const uint32_t *slots, size_t groups, float *singles,
                     double *doubles) {
  const size_t step = w->classes;
  for (size_t row = 0; row < groups * GROUP_ROWS; row += BUNDLE) {
    size_t at[BUNDLE];
    for (size_t i = 0; i < BUNDLE; i++) at[i] = root;
    walk_deep(w->deep, at, slots + row / GROUP_ROWS * w->slots + row % GROUP_ROWS, 1);
    for (size_t i = 0; i < BUNDLE; i++) {
      if (singles)
        singles[(row + i) * step] += (float)w->deep_leaves[at[i]];
      else
        doubles[(row + i) * step] += w->deep_leaves[at[i]];
    }
  }
}

/* Whole groups through all trees; *sums gets their scores as floats or doubles. */
static void add_trees(const fw_node_predictor *w, const uint32_t *slots, size_t groups, float *singles,
                      double *doubles) {
  const fw_traverse *kernels = fw_traverse_table();
  for (size_t tree = 0; tree < w->trees; tree++) {
    const bundle *of = &w->bundles[tree / BUNDLE];
    const size_t c = w->forest->class_of[tree], skip = (tree % BUNDLE) << of->full.depth;
    if (!of->is_full) {
      add_deep(w, of->roots[tree % BUNDLE], slots, groups, singles ? singles + c : NULL, doubles ? doubles + c : NULL);
      continue;
    }
    fw_traverse_tree full = of->full;
    full.nodes += skip, full.leaves += skip, full.leaves_f32 += skip;
    if (singles)
      kernels->groups_f32(&full, slots, w->slots, groups, singles + c, w->classes);
    else
      kernels->groups(&full, slots, w->slots, groups, doubles + c, w->classes);
  }
}

static void score_groups(const fw_node_predictor *w, fw_node_scratch *scratch, size_t groups, double *out) {
  const size_t numbers = groups * GROUP_ROWS * w->classes;
  float *singles = w->forest->single ? (float *)scratch->sums : NULL;
  for (size_t i = 0; i < numbers; i++) out[i] = w->forest->base[i % w->classes];
  for (size_t i = 0; singles && i < numbers; i++) singles[i] = (float)out[i];
  add_trees(w, scratch->slots, groups, singles, singles ? NULL : out);
  for (size_t i = 0; singles && i < numbers; i++) out[i] = (double)singles[i];
  finish_scores(w->forest, numbers, out);
}

void fw_node_predict_rows(const fw_node_predictor *predictor, fw_node_scratch *scratch, const furrow_rowblock *block,
                          size_t begin, size_t end, double *out) {
  for (size_t at = begin; at < end;) {
    const size_t left = (end - at) / GROUP_ROWS, groups = left < predictor->groups ? left : predictor->groups;
    double *to = out + (at - begin) * predictor->classes;
    if (groups == 0) {
      const furrow_row row = furrow_rowblock_row(block, at++);
      fw_node_predict_row(predictor, scratch, &row, to);
      continue;
    }
    for (size_t i = 0; i < groups * GROUP_ROWS; i++) {
      const furrow_row row = furrow_rowblock_row(block, at + i);
      put_any_row(predictor, &row, scratch->slots + i / GROUP_ROWS * predictor->slots + i % GROUP_ROWS);
    }
    score_groups(predictor, scratch, groups, to);
    for (size_t i = 0; i < groups * GROUP_ROWS; i++) {
      const furrow_row row = furrow_rowblock_row(block, at + i);
      remove_row(predictor, &row, scratch->slots + i / GROUP_ROWS * predictor->slots + i % GROUP_ROWS);
    }
    at += groups * GROUP_ROWS;
  }
}
