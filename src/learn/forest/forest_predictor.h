/* learn/forest/forest_predictor.h: scores rows with a forest: its nodes packed for walking. Immutable; a space for each
 * thread.
 */
#ifndef FW_LEARN_FOREST_FOREST_PREDICTOR_H
#define FW_LEARN_FOREST_FOREST_PREDICTOR_H

#include "furrow/rows.h"
#include "learn/forest/forest.h"

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

#endif
