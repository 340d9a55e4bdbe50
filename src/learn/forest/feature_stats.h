/* learn/forest/feature_stats.h: what the first pass over the rows learns: which features there are, where their values
 * lie.
 */
#ifndef FW_LEARN_FOREST_FEATURE_STATS_H
#define FW_LEARN_FOREST_FEATURE_STATS_H

#include "learn/conf/conf.h"
#include "learn/data/minibatch.h"
#include "learn/forest/cuts.h"

#define FW_MAX_ROWS (UINT64_C(1) << 30) /* of training, and of validation: three passes have numbers of 32 bits */

typedef struct fw_feature_stats fw_feature_stats;

/* The plan must outlive it. */
furrow_status fw_feature_stats_create(fw_feature_stats **stats, const fw_plan *plan, furrow_error *err) FURROW_MUST_USE;
void fw_feature_stats_free(fw_feature_stats *stats);
furrow_status fw_feature_stats_add(fw_feature_stats *stats, const fw_minibatch *batch,
                                   furrow_error *err) FURROW_MUST_USE;
/* Chooses the cuts, and gives features their numbers. Nothing can be added afterwards. */
furrow_status fw_feature_stats_choose_cuts(fw_feature_stats *stats, fw_spin_pool *pool, fw_cuts **cuts,
                                           furrow_error *err) FURROW_MUST_USE;
/* After the cut: the number of the feature of each use of a batch, of each column of dense data. FW_NO_FEATURE: one
 * that is of no use, or a use of a feature that the row had before. Valid until the next call. */
furrow_status fw_feature_stats_numbers(fw_feature_stats *stats, const fw_minibatch *batch, const uint32_t **numbers,
                                       furrow_error *err) FURROW_MUST_USE;
size_t fw_feature_stats_memory(const fw_feature_stats *stats);

#endif
