/* learn/forest/tree_contributions.c: path-dependent TreeSHAP (Lundberg et al., 2020) by quadrature.
 *
 * For a set S of features that are known, a tree expects of a row the sum over its leaves of
 *   leaf * product over the features i of its path of (i in S: one_i, else: share_i)
 * where one_i is 1 if the row passes all splits by i on the path, else 0, and share_i is the product of the shares that
 * these splits' ways have of their node's cover. The Shapley value of feature i of such a product is
 *   leaf * (one_i - share_i) * integral over t = 0 … 1 of the product over j != i of (share_j (1 - t) + one_j t)
 * A path of d features needs the integral of a polynomial of degree d - 1, which d / 2 points of Gauss and Legendre,
 * rounded up, give exactly. All factors are positive, so nothing cancels.
 *
 * One walk over a tree serves POINTS points: going down it multiplies factors, going up it adds up leaves; an edge
 * gives its feature what the leaves below it add up to, divided by its own factor. Where a feature occurs again below,
 * the lower edge's factor replaces the upper one's, and the lower edge takes back what the upper one gives for its
 * leaves. The cost of a tree is its number of nodes, times the walks: one up to depth 8, three for the deepest. */
#include "learn/forest/forest.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

enum { POINTS = 4 };
#define LEAF UINT32_MAX
#define LEAST_SHARE 1e-250 /* what is below counts as 0, so that factors have an inverse */

/* Nodes of a tree stand before their children, the left one first. */
typedef struct explained_node {
  const fw_split_node *test; /* a split that is more than a threshold; NULL: numbers up to `value` go to the left */
  double value;              /* threshold of the split; leaf: what it adds to the score */
  double share;              /* share of the edge to the node, times those above it of the same feature */
  uint32_t slot;             /* number of the feature; LEAF */
  uint32_t right;            /* distance to the right child */
  uint16_t same;             /* level of the edge above with the feature of the edge to this node; 0: none */
  uint8_t absent_left;       /* rows without the feature go to the left child */
} explained_node;

/* A number for each point: compilers that know such types work on several at once. */
typedef double numbers __attribute__((vector_size(POINTS * sizeof(double)), aligned(sizeof(double))));

/* The edge to the node at a level of the present path; the edge to the root has no feature. */
typedef struct edge {
  numbers inverse; /* inverse of its factor */
  numbers product; /* product of the factors up to here, times the weights of the points */
  numbers sum;     /* sum of the leaves below, times their products */
  double share, one;
} edge;

typedef struct points {
  numbers t, rest, weight; /* rest: 1 - t */
} points;

struct fw_tree_explainer {
  const fw_node_forest *forest; /* for splits that are tested */
  float absent;                 /* value of features that a row does not have */
  size_t classes, trees, feature_count, walks;
  uint32_t *class_of;
  uint64_t *features;
  explained_node *nodes;
  size_t *roots;
  double *bias;
  points *points;
  /* scratch for the current row */
  double *x;      /* value of each feature; NaN: absent */
  double *values; /* where contributions to the present class go */
  const points *at;
  edge *path; /* a level more than the deepest tree has splits */
};

/* ---- Points ---- */

/* The i-th zero of the Legendre polynomial of degree n, and the weight of the point, both for 0 … 1. */
static void legendre_point(size_t n, size_t i, double *t, double *weight) {
  double x = cos(acos(-1.0) * ((double)i + 0.75) / ((double)n + 0.5)), slope = 0;
  for (int step = 0; step < 100; step++) { /* of Newton's method */
    double before = 1, now = x;
    for (size_t k = 2; k <= n; k++) {
      const double next = ((double)(2 * k - 1) * x * now - (double)(k - 1) * before) / (double)k;
      before = now;
      now = next;
    }
    slope = (double)n * (x * now - before) / (x * x - 1);
    const double change = now / slope;
    x -= change;
    if (fabs(change) < 1e-15) break;
  }
  *t = (1 + x) / 2;
  *weight = 1 / ((1 - x * x) * slope * slope);
}

/* Walks have POINTS points each; those that are not needed weigh nothing. */
static furrow_status make_points(fw_tree_explainer *e, unsigned depth, furrow_error *err) {
  const size_t count = depth > 1 ? (depth + 1) / 2 : 1;
  e->walks = (count + POINTS - 1) / POINTS;
  FW_TRY(FW_ALLOC(&e->points, e->walks, err));
  for (size_t i = 0; i < e->walks * POINTS; i++) {
    points *of = &e->points[i / POINTS];
    double t = 0.5, weight = 0;
    if (i < count) legendre_point(count, i, &t, &weight);
    of->t[i % POINTS] = t;
    of->rest[i % POINTS] = 1 - t;
    of->weight[i % POINTS] = weight;
  }
  return FURROW_OK;
}

/* ---- Trees ---- */

/* A tree on its way into e->nodes. */
typedef struct packing {
  const fw_node_forest *forest;
  fw_tree_explainer *explainer;
  double factor; /* of leaves */
  size_t tree, count;
  uint32_t *slots; /* slots of the edges of the present path */
  double *shares;
} packing;

/* The left child's share of the cover; one half if no training row reached the node. */
static double left_share(const fw_split_node *nodes, size_t node) {
  const double left = nodes[node + 1].cover, right = nodes[nodes[node].right].cover;
  return left + right > 0 ? left / (left + right) : 0.5;
}

/* The number of a feature; `feature_count`: no tree splits by it. */
static size_t slot_of(const fw_tree_explainer *e, uint64_t feature) {
  const size_t slot = fw_lower_bound_u64(e->features, e->feature_count, sizeof *e->features, feature);
  return slot < e->feature_count && e->features[slot] == feature ? slot : e->feature_count;
}

static double pack_node(packing *p, size_t node, unsigned level);

static double pack_child(packing *p, size_t node, unsigned level, uint32_t slot, double share) {
  explained_node *child = &p->explainer->nodes[p->count];
  unsigned same = level - 1;
  while (same > 0 && p->slots[same] != slot) same--;
  p->slots[level] = slot;
  const double merged = same > 0 ? share * p->shares[same] : share;
  p->shares[level] = child->share = merged < LEAST_SHARE ? 0 : merged;
  child->same = (uint16_t)same;
  return share * pack_node(p, node, level);
}

/* A threshold as numbers up to it; rows have floats. */
static void pack_split(const fw_node_forest *forest, const fw_split_node *node, explained_node *to) {
  to->absent_left = fw_node_goes_left(forest, node, NAN);
  to->value = forest->less ? (double)nextafterf((float)node->value, -INFINITY) : node->value;
  if (node->flags & (FW_NODE_SET | FW_NODE_ZERO_MISSING)) to->test = node;
}

/* Packs a node and what is below it; returns the expected score there. */
static double pack_node(packing *p, size_t node, unsigned level) {
  const fw_split_node *nodes = p->forest->node + p->forest->begin[p->tree], *from = &nodes[node];
  const size_t at = p->count++;
  explained_node *to = &p->explainer->nodes[at];
  const bool leaf = from->feature < 0;
  to->slot = leaf ? LEAF : (uint32_t)slot_of(p->explainer, (uint64_t)from->feature);
  if (leaf) return to->value = p->factor * from->value;
  pack_split(p->forest, from, to);
  const double share = left_share(nodes, node);
  const double left = pack_child(p, node + 1, level + 1, to->slot, share);
  to->right = (uint32_t)(p->count - at);
  return left + pack_child(p, from->right, level + 1, to->slot, 1 - share);
}

static furrow_status check_covers(const fw_node_forest *forest, furrow_error *err) {
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const fw_split_node *root = &forest->node[forest->begin[tree]];
    if (!forest->stats || (root->feature >= 0 && !(root->cover > 0))) {
      fw_fail(err, FURROW_E_UNSUPPORTED, "contributions need the covers of nodes, which tree %zu does not have", tree);
      fw_error_set_hint(err, "train with node-stats yes, which stores them");
      return FURROW_E_UNSUPPORTED;
    }
    for (uint64_t i = forest->begin[tree]; i < forest->begin[tree + 1]; i++)
      if (!(forest->node[i].cover >= 0))
        return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %llu: the cover is %g", tree,
                       (unsigned long long)(i - forest->begin[tree]), forest->node[i].cover);
  }
  return FURROW_OK;
}

static furrow_status take_arrays(fw_tree_explainer *e, const fw_node_forest *forest, unsigned depth,
                                 furrow_error *err) {
  FW_TRY(fw_node_forest_features(forest, &e->features, &e->feature_count, err));
  FW_TRY(FW_ALLOC_ZERO(&e->nodes, forest->nodes, err));
  FW_TRY(FW_ALLOC(&e->roots, forest->trees, err));
  FW_TRY(FW_ALLOC(&e->class_of, forest->trees, err));
  FW_TRY(FW_ALLOC_ZERO(&e->bias, forest->classes, err));
  FW_TRY(FW_ALLOC(&e->path, depth + 1, err));
  FW_TRY(FW_ALLOC(&e->x, e->feature_count, err));
  return make_points(e, depth, err);
}

static void pack_trees(packing *p) {
  fw_tree_explainer *e = p->explainer;
  for (size_t c = 0; c < e->classes; c++) e->bias[c] = p->factor * p->forest->base[c];
  for (; p->tree < p->forest->trees; p->tree++) {
    e->roots[p->tree] = p->count;
    e->class_of[p->tree] = p->forest->class_of[p->tree];
    e->bias[e->class_of[p->tree]] += pack_node(p, 0, 0);
  }
}

static furrow_status fill_explainer(fw_tree_explainer *e, const fw_node_forest *forest, furrow_error *err) {
  packing p = {.forest = forest, .explainer = e, .factor = forest->scale / forest->divisor};
  unsigned depth = 0;
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const unsigned deep = fw_node_tree_depth(forest, tree);
    if (deep > depth) depth = deep;
  }
  furrow_status status = take_arrays(e, forest, depth, err);
  if (status == FURROW_OK) status = FW_ALLOC(&p.slots, depth + 1, err);
  if (status == FURROW_OK) status = FW_ALLOC(&p.shares, depth + 1, err);
  for (size_t i = 0; status == FURROW_OK && i < e->feature_count; i++) e->x[i] = (double)e->absent;
  if (status == FURROW_OK) pack_trees(&p);
  fw_free(p.slots);
  fw_free(p.shares);
  return status;
}

furrow_status fw_node_explainer_create(fw_tree_explainer **explainer, const fw_node_forest *forest, furrow_error *err) {
  fw_tree_explainer *made = NULL;
  FW_TRY(check_covers(forest, err));
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->forest = forest;
  made->absent = forest->absent_zero ? 0 : NAN;
  made->classes = forest->classes;
  made->trees = forest->trees;
  const furrow_status status = fill_explainer(made, forest, err);
  return FW_HAND_OVER(status, explainer, made, fw_tree_explainer_free);
}

furrow_status fw_tree_explainer_create(fw_tree_explainer **explainer, const fw_forest *forest, double rate,
                                       furrow_error *err) {
  fw_node_forest *nodes = NULL;
  for (size_t at = 0; forest->hessian && at < forest->trees * forest->nodes; at++)
    if (!(forest->hessian[at] >= 0))
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: the cover is %g", at / forest->nodes,
                     at % forest->nodes, forest->hessian[at]);
  FW_TRY(fw_forest_to_nodes(&nodes, forest, rate, err));
  const furrow_status status = fw_node_explainer_create(explainer, nodes, err);
  if (status == FURROW_OK) (*explainer)->forest = NULL; /* its splits are thresholds */
  fw_node_forest_free(nodes);
  return status;
}

void fw_tree_explainer_free(fw_tree_explainer *explainer) {
  if (!explainer) return;
  void *const arrays[] = {explainer->features, explainer->nodes,  explainer->roots, explainer->bias,
                          explainer->x,        explainer->points, explainer->path,  explainer->class_of};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(explainer);
}

const uint64_t *fw_tree_explainer_features(const fw_tree_explainer *explainer, size_t *count) {
  *count = explainer->feature_count;
  return explainer->features;
}

const double *fw_tree_explainer_bias(const fw_tree_explainer *explainer) {
  return explainer->bias;
}

/* ---- Walking ---- */

static bool goes_left(const fw_tree_explainer *e, const explained_node *node) {
  const double x = e->x[node->slot];
  if (node->test) return fw_node_goes_left(e->forest, node->test, (float)x);
  return isnan(x) ? node->absent_left : x <= node->value;
}

static double total(const numbers *of) {
  return ((*of)[0] + (*of)[1]) + ((*of)[2] + (*of)[3]);
}

/* What an edge gives its feature for the leaves that `sum` is of. */
static double given(const edge *by, const numbers *sum) {
  const numbers shares = *sum * by->inverse;
  return (by->one - by->share) * total(&shares);
}

static void walk(fw_tree_explainer *e, const explained_node *node, unsigned level);

/* Follows the edge from `node` to its child, which gets `level`. */
static void walk_edge(fw_tree_explainer *e, const explained_node *node, const explained_node *child, unsigned level,
                      bool taken) {
  edge *to = &e->path[level], *parent = to - 1;
  const edge *above = &e->path[child->same];
  to->share = child->share;
  to->one = taken ? above->one : 0;
  if (to->share + to->one == 0) return; /* neither the row nor any training row comes here */
  const numbers factor = to->share * e->at->rest + to->one * e->at->t;
  const numbers others = parent->product * above->inverse;
  double value = 0;
  to->product = others * factor;
  if (child->slot == LEAF) {
    to->sum = child->value * to->product;
    value = (to->one - to->share) * child->value * total(&others);
  } else {
    to->inverse = 1 / factor;
    walk(e, child, level);
    value = given(to, &to->sum);
  }
  if (child->same) value -= given(above, &to->sum);
  e->values[node->slot * e->classes] += value;
  parent->sum += to->sum;
}

static void walk(fw_tree_explainer *e, const explained_node *node, unsigned level) {
  const bool left = goes_left(e, node);
  e->path[level].sum = (numbers){0};
  walk_edge(e, node, node + 1, level + 1, left);
  walk_edge(e, node, node + node->right, level + 1, !left);
}

static void walk_trees(fw_tree_explainer *e, double *values) {
  e->path[0] = (edge){.inverse = {1, 1, 1, 1}, .product = e->at->weight, .share = 1, .one = 1};
  for (size_t tree = 0; tree < e->trees; tree++) {
    const explained_node *root = &e->nodes[e->roots[tree]];
    e->values = values + e->class_of[tree];
    if (root->slot != LEAF) walk(e, root, 0);
  }
}

static void set_row(fw_tree_explainer *e, const furrow_row *row, bool there) {
  for (size_t i = row->length; i-- > 0;) {
    const size_t slot = slot_of(e, furrow_row_get_index(row, i));
    if (slot < e->feature_count) e->x[slot] = there ? (double)(float)furrow_row_get_value(row, i) : (double)e->absent;
  }
}

void fw_tree_explainer_run(fw_tree_explainer *explainer, const furrow_row *row, double *values) {
  if (explainer->feature_count == 0) return; /* leaves alone */
  memset(values, 0, explainer->feature_count * explainer->classes * sizeof *values);
  set_row(explainer, row, true);
  for (size_t i = 0; i < explainer->walks; i++) {
    explainer->at = &explainer->points[i];
    walk_trees(explainer, values);
  }
  set_row(explainer, row, false);
}
