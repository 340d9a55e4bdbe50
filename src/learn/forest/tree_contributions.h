/* learn/forest/tree_contributions.h: the contributions of features to the score of a row by a forest: Shapley values of
 * each tree, where rows without a feature follow both ways of a split by the covers of its children (path-dependent
 * TreeSHAP). */
#ifndef FW_LEARN_FOREST_TREE_CONTRIBUTIONS_H
#define FW_LEARN_FOREST_TREE_CONTRIBUTIONS_H

#include "furrow/rows.h"
#include "learn/forest/forest.h"

/* The trees, prepared, and the memory of one thread. */
typedef struct fw_tree_explainer fw_tree_explainer;

/* rate: what leaves are multiplied with. The forest is not needed afterwards.
 * E_UNSUPPORTED: a tree without covers (node-stats); E_FORMAT: a cover below 0. */
furrow_status fw_tree_explainer_create(fw_tree_explainer **explainer, const fw_forest *forest, double rate,
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
