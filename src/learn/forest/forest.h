/* learn/forest/forest.h: boosted trees as Angel stores them: complete binary trees in arrays.
 *
 * Node 0 is the root; node n has the children 2n+1 (x <= value) and 2n+2. A row without the feature (or with NaN) goes
 * to 2n+1 if 0 <= value, which is Angel's rule (absent counts as 0), unless missing_flipped is set for the node. The
 * score of class c is the sum over its trees of rate * predict of the leaf that the row reaches. */
#ifndef FW_LEARN_FOREST_FOREST_H
#define FW_LEARN_FOREST_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "furrow/rows.h"
#include "learn/conf/conf.h"
#include "learn/nodes/node_forest.h"
#include "learn/parameters/snapshot.h"

#define FW_FOREST_LEVELS 20          /* most levels of nodes */
#define FW_FOREST_NODES (1ULL << 31) /* most nodes of all trees */

typedef struct fw_forest {
  size_t classes;  /* trees of a round: 1, or the classes of softmax. Tree t is of class t % classes */
  unsigned levels; /* levels of nodes, the root's among them */
  size_t nodes;    /* nodes of a tree: 2^levels - 1 */
  size_t trees;    /* rounds * classes */
  size_t capacity; /* trees that the arrays can hold */
  /* `nodes` of each tree, tree after tree */
  int32_t *feature;         /* feature of the split, 0-based; -1: a leaf, or no node at all */
  double *value;            /* threshold of the split; 0 for leaves */
  double *predict;          /* prediction of leaves; of every node that rows reached in training */
  uint8_t *missing_flipped; /* 1: rows without the feature go the other way than Angel's rule has it */
  /* statistics of training; NULL: the model does not have them */
  double *gain;     /* gain of its split, as the objective falls: 0 of leaves */
  double *gradient; /* sums over its rows */
  double *hessian;
  /* names of features, which the scorer owns; NULL: they have none */
  const char *const *names;
  size_t name_count;
} fw_forest;

/* An empty forest; with_stats: gain, gradient and hessian are kept. E_RANGE: more than can be. */
furrow_status fw_forest_create(fw_forest **forest, size_t classes, unsigned levels, bool with_stats,
                               furrow_error *err) FURROW_MUST_USE;
void fw_forest_free(fw_forest *forest);
/* Adds trees that are one leaf each (feature -1, all else 0); existing arrays may move. */
furrow_status fw_forest_add(fw_forest *forest, size_t trees, furrow_error *err) FURROW_MUST_USE;
/* Drops all trees from `trees` on. */
void fw_forest_truncate(fw_forest *forest, size_t trees);
furrow_status fw_forest_copy(fw_forest **copy, const fw_forest *forest, furrow_error *err) FURROW_MUST_USE;
/* Whether rows can reach a node: all above it are splits. */
bool fw_forest_has_node(const fw_forest *forest, size_t tree, size_t node);
/* Gain, gradient and hessian for a forest that has none: all 0. */
furrow_status fw_forest_add_stats(fw_forest *forest, furrow_error *err) FURROW_MUST_USE;
/* The features of all splits, ascending, to be freed with fw_free. */
furrow_status fw_forest_features(const fw_forest *forest, uint64_t **features, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_forest_info(const fw_forest *forest, furrow_forest_info *info);
void fw_forest_node(const fw_forest *forest, size_t tree, size_t node, furrow_tree_node *about);
size_t fw_tree_leaves(const fw_forest *forest, size_t tree);
/* As furrow_scorer_feature_importance gives it. */
furrow_status fw_forest_importance(const fw_forest *forest, furrow_feature_importance **list, size_t *count,
                                   furrow_error *err) FURROW_MUST_USE;
/* Splits on the longest way from the root of a tree. */
unsigned fw_forest_depth(const fw_forest *forest, size_t tree);
/* Whether rows without the feature of a node go to 2n+1. `at` is tree * nodes + node. */
bool fw_forest_absent_left(const fw_forest *forest, size_t at);
/* E_FORMAT, naming tree and node: a split at the last level, a feature below -1 or from `features` on (0: any), a
 * number that is not finite. */
furrow_status fw_forest_check(const fw_forest *forest, uint64_t features, furrow_error *err) FURROW_MUST_USE;

/* The forest as one of nodes, whose leaves are rate * predict; covers are 0 where the model does not have them. */
furrow_status fw_forest_to_nodes(fw_node_forest **nodes, const fw_forest *forest, double rate,
                                 furrow_error *err) FURROW_MUST_USE;

/* All of it as bytes, for checkpoints (docs/formats/checkpoint.md). Reading checks sizes before it allocates, and the
 * forest by fw_forest_check. */
furrow_status fw_forest_snapshot_write(const fw_forest *forest, fw_snapshot_sink sink, void *to,
                                       furrow_error *err) FURROW_MUST_USE;
furrow_status fw_forest_snapshot_read(fw_forest **forest, const unsigned char *bytes, size_t size,
                                      furrow_error *err) FURROW_MUST_USE;
/* The forest as checkpoints take it. */
fw_snapshot_ops fw_forest_snapshot_ops(fw_forest *forest, const fw_plan *plan);

/* ---- Files ---------------------------------------------------------------------------------------------- */

/* A forest is a model directory, as Angel writes it: gbdt.split.feature (T_INT_DENSE), gbdt.split.value and
 * gbdt.node.predict (T_DOUBLE_DENSE): a row for each tree, a column for each node. Furrow adds to Angel's three:
 * gbdt.split.missing (T_INT_DENSE, missing_flipped), only if a node needs it; gbdt.split.gain and gbdt.node.grad.stats
 * (gradients, then hessians), which Angel names but does not save, if the plan says so (node-stats). */

/* `conf` gives graph.json, `about` (may be NULL) is the text of furrow.json. params NULL: the defaults. */
furrow_status fw_forest_save(const fw_forest *forest, const fw_plan *plan, const furrow_learn_conf *conf,
                             const fw_buffer *about, const char *folder, const furrow_trainer_save_params *params,
                             furrow_error *err) FURROW_MUST_USE;
/* Reads a model directory, ours or Angel's; classes and range (features) as the plan has them, levels and trees as the
 * matrices have them. E_NOT_FOUND names the matrix that is missing; E_FORMAT the one that does not fit, and tree and
 * node of what is wrong in it. */
furrow_status fw_forest_load(fw_forest **forest, const fw_plan *plan, const char *folder, unsigned threads,
                             furrow_error *err) FURROW_MUST_USE;

/* ---- Text ----------------------------------------------------------------------------------------------- */

enum { FW_TREE_LEAVES_DRAWN = 2048 }; /* most leaves of a picture */

/* Trees first … end-1; the buffer reports that memory ran out. */
void fw_trees_text(fw_buffer *out, const fw_forest *forest, size_t first, size_t end);
void fw_trees_json(fw_buffer *out, const fw_forest *forest, size_t first, size_t end);
void fw_trees_dot(fw_buffer *out, const fw_forest *forest, size_t first, size_t end);
/* One tree. */
void fw_tree_svg(fw_buffer *out, const fw_forest *forest, size_t tree);

/* ---- Scores of rows, and what features contribute to them (forest_predictor.c, tree_contributions.c) ---- */

/* Nodes packed for traversal, immutable; a scratch for each thread. */
typedef struct fw_forest_predictor fw_forest_predictor;
typedef struct fw_predict_scratch fw_predict_scratch;

/* rate: what leaves are multiplied with. The forest must outlive the predictor. */
furrow_status fw_forest_predictor_create(fw_forest_predictor **predictor, const fw_forest *forest, double rate,
                                         furrow_error *err) FURROW_MUST_USE;
void fw_forest_predictor_free(fw_forest_predictor *predictor);

furrow_status fw_predict_scratch_create(fw_predict_scratch **space, const fw_forest_predictor *predictor,
                                        furrow_error *err) FURROW_MUST_USE;
void fw_predict_scratch_free(fw_predict_scratch *space);

/* Rows begin … end-1 of a block, features as the model numbers them: `classes` outputs of each, added up in the order
 * of the trees, to out. Allocates nothing. A feature that has no split is skipped; of one that stands twice in
 * a row the first counts. */
void fw_forest_predict_rows(const fw_forest_predictor *predictor, fw_predict_scratch *space,
                            const furrow_rowblock *block, size_t begin, size_t end, double *out);
void fw_forest_predict_row(const fw_forest_predictor *predictor, fw_predict_scratch *space, const furrow_row *row,
                           double *out);

/* ---- Contributions -------------------------------------------------------------------------------------- */

/* The contributions of features to the score of a row: Shapley values of each tree, where rows without a feature follow
 * both ways of a split by the covers of its children (path-dependent TreeSHAP). */

/* The trees, prepared, and the memory of one thread. */
typedef struct fw_tree_explainer fw_tree_explainer;

/* rate: what leaves are multiplied with. The forest is not needed afterwards.
 * E_UNSUPPORTED: a tree without covers (node-stats); E_FORMAT: a cover below 0. */
furrow_status fw_tree_explainer_create(fw_tree_explainer **explainer, const fw_forest *forest, double rate,
                                       furrow_error *err) FURROW_MUST_USE;
/* The same for a forest of nodes, with what its base adds; it must outlive the explainer. */
furrow_status fw_node_explainer_create(fw_tree_explainer **explainer, const fw_node_forest *forest,
                                       furrow_error *err) FURROW_MUST_USE;
void fw_tree_explainer_free(fw_tree_explainer *explainer);
/* The features of all splits, ascending. */
const uint64_t *fw_tree_explainer_features(const fw_tree_explainer *explainer, size_t *count);
/* The expected score of each class. */
const double *fw_tree_explainer_bias(const fw_tree_explainer *explainer);
/* The contribution of feature i to class c goes to values[i * classes + c]: all of them are written. Of a feature that
 * stands twice in a row the first counts. */
void fw_tree_explainer_run(fw_tree_explainer *explainer, const furrow_row *row, double *values);

#endif
