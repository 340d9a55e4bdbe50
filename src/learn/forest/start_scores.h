/* learn/forest/start_scores.h: what rows have from trees that were there before the first round. */
#ifndef FW_LEARN_FOREST_START_SCORES_H
#define FW_LEARN_FOREST_START_SCORES_H

#include "learn/data/minibatch.h"
#include "learn/forest/forest.h"

typedef struct fw_start_scores fw_start_scores;

/* The forest must outlive it. */
furrow_status fw_start_scores_create(fw_start_scores **start, const fw_forest *forest, double rate,
                                     furrow_error *err) FURROW_MUST_USE;
void fw_start_scores_free(fw_start_scores *start);
/* Scores of a batch of plain rules, by the values themselves, not by bins: `classes` for each row to out. */
furrow_status fw_start_scores_rows(fw_start_scores *start, const fw_minibatch *batch, double *out,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
