/* learn/score/scorer.h: what evaluation and explanation need of a scorer. */
#ifndef FW_LEARN_SCORE_SCORER_H
#define FW_LEARN_SCORE_SCORER_H

#include "comm/collectives.h"
#include "learn/forest/forest.h"
#include "learn/parameters/parameters.h"
#include "learn/score/contributions.h"

const fw_plan *fw_scorer_plan(const furrow_scorer *scorer);
/* The one that it has; the other is NULL. */
const fw_parameters *fw_scorer_parameters(const furrow_scorer *scorer);
const fw_forest *fw_scorer_forest(const furrow_scorer *scorer);
/* A net's, by fw_additive_create. */
const double *fw_scorer_additive(const furrow_scorer *scorer);
/* Where a scratch keeps its explainer, which it frees; NULL there: none so far. */
fw_explainer **fw_scratch_explainer(furrow_scorer_scratch *scratch);
/* Runs the model over one row; *outputs lives in the scratch. */
furrow_status fw_scorer_outputs(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_row *row,
                                const double **outputs, furrow_error *err) FURROW_MUST_USE;
/* Runs the model over all rows of a block (at most `most` at a time) and calls take(user, row of the block, its label
 * after the transform, its weight, outputs) for each. */
typedef void (*fw_outputs_callback)(void *user, size_t row, double label, double weight, const double *outputs);
furrow_status fw_scorer_run(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                            fw_outputs_callback take, void *user, furrow_error *err) FURROW_MUST_USE;

/* Adds the rows of all ranks, one rank after the other: each has the figures of one process. For the metrics alone. */
furrow_status fw_evaluation_add_ranks(furrow_evaluation *evaluation, furrow_scorer_scratch *scratch,
                                      const furrow_rowblock *rows, const furrow_comm *comm,
                                      furrow_error *err) FURROW_MUST_USE;

#endif
