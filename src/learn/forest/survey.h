/* learn/forest/survey.h: what the first pass over the rows learns: which features there are, where their values lie.
 */
#ifndef FW_LEARN_FOREST_SURVEY_H
#define FW_LEARN_FOREST_SURVEY_H

#include "learn/conf/conf.h"
#include "learn/data/minibatch.h"
#include "learn/forest/cuts.h"

#define FW_MOST_ROWS (UINT64_C(1) << 30) /* of training, and of validation: three passes have numbers of 32 bits */

typedef struct fw_survey fw_survey;

/* The plan must outlive it. */
furrow_status fw_survey_create(fw_survey **survey, const fw_plan *plan, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_survey_free(fw_survey *survey);
furrow_status fw_survey_add(fw_survey *survey, const fw_batch *batch, furrow_error *err)
    __attribute__((warn_unused_result));
/* Chooses the cuts, and gives features their numbers. Nothing can be added afterwards. */
furrow_status fw_survey_cut(fw_survey *survey, fw_crew *crew, fw_cuts **cuts, furrow_error *err)
    __attribute__((warn_unused_result));
/* After the cut: the number of the feature of each use of a batch, of each column of dense data. FW_NO_FEATURE: one
 * that is of no use, or a use of a feature that the row had before. Valid until the next call. */
furrow_status fw_survey_numbers(fw_survey *survey, const fw_batch *batch, const uint32_t **numbers, furrow_error *err)
    __attribute__((warn_unused_result));
size_t fw_survey_memory(const fw_survey *survey);

#endif
