/* learn/forest/forest_predictor.h: scores of rows by a forest, and what features contribute to them. */
#ifndef FW_LEARN_FOREST_FOREST_PREDICTOR_H
#define FW_LEARN_FOREST_FOREST_PREDICTOR_H

#include "furrow/rows.h"
#include "learn/forest/forest.h"

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
void fw_tree_explainer_free(fw_tree_explainer *explainer);
/* The features of all splits, ascending. */
const uint64_t *fw_tree_explainer_features(const fw_tree_explainer *explainer, size_t *count);
/* The expected score of each class. */
const double *fw_tree_explainer_bias(const fw_tree_explainer *explainer);
/* The contribution of feature i to class c goes to values[i * classes + c]: all of them are written. Of a feature that
 * stands twice in a row the first counts. */
void fw_tree_explainer_run(fw_tree_explainer *explainer, const furrow_row *row, double *values);

#endif
