/* learn/forest/booster.h: grows a forest from rows: histograms of gradients over binned features.
 *
 * Rows pass twice: first to be looked at (where the cuts of each feature are to be), then to be kept as bins. After
 * that every round adds a tree for each class. Sums of gradients are sums of whole numbers, so that a forest depends on
 * rows, plan and seed alone, not on threads, nor on the number of ranks that the rows are divided over.
 * docs/design/trees.md. */
#ifndef FW_LEARN_FOREST_BOOSTER_H
#define FW_LEARN_FOREST_BOOSTER_H

#include "base/pool.h"
#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/data/minibatch.h"
#include "learn/forest/forest.h"
#include "learn/metrics/metrics.h"

typedef struct fw_booster fw_booster;

/* plan->forest and plan->graph (loss, outputs) say how trees are grown. The plan and the thread pool must outlive the
 * booster. */
furrow_status fw_booster_create(fw_booster **booster, const fw_plan *plan, fw_spin_pool *pool,
                                furrow_error *err) FURROW_MUST_USE;
void fw_booster_free(fw_booster *booster);
/* Before the rounds: scores may only rise or fall along these features. The booster frees the list (fw_free). */
void fw_booster_take_monotone(fw_booster *booster, fw_monotone *list, size_t count);
/* Before the first pass: rows are divided over the ranks of a communicator, which must outlive the booster; this rank's
 * rows begin with number first_row. Each rank makes its own passes. All ranks make the calls after them together, and
 * if one rank fails, all fail. */
void fw_booster_set_comm(fw_booster *booster, const furrow_comm *comm, uint64_t first_row);

/* First pass: `count` batches of `plain` rules (minibatch.h: key[i], value[i] of use i; or x of dense data), labels
 * transformed and checked. Threads take a batch each. */
furrow_status fw_booster_scan_rows(fw_booster *booster, const fw_minibatch *batch, size_t count,
                                   furrow_error *err) FURROW_MUST_USE;
/* Continues from the trees of a forest: rows begin with its scores. Call it before the second pass. If the rows are the
 * same as before, the result has the bytes of a training without a break. */
furrow_status fw_booster_resume(fw_booster *booster, const fw_forest *forest, furrow_error *err) FURROW_MUST_USE;
/* Between the passes: chooses the cuts. */
furrow_status fw_booster_choose_cuts(fw_booster *booster, furrow_error *err) FURROW_MUST_USE;
/* Second pass: the same rows in the same order (E_STATE: others); then the rows for validation, if there are any. */
furrow_status fw_booster_add_rows(fw_booster *booster, const fw_minibatch *batch, size_t count,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_booster_add_valid_rows(fw_booster *booster, const fw_minibatch *batch, size_t count,
                                        furrow_error *err) FURROW_MUST_USE;
/* After the passes. Rounds add trees to `forest` (with stats), which must outlive the booster. If it has trees already,
 * they must be the trees that were given to fw_booster_resume (E_STATE: it was not called). */
furrow_status fw_booster_begin(fw_booster *booster, fw_forest *forest, furrow_error *err) FURROW_MUST_USE;

/* Has check(user, err) called now and then within a round: a status that is not OK ends the round with it. */
void fw_booster_set_check(fw_booster *booster, furrow_status (*check)(void *user, furrow_error *err), void *user);
/* One round. E_RANGE: a gradient is not a number (nothing is added then). */
furrow_status fw_booster_round(fw_booster *booster, furrow_error *err) FURROW_MUST_USE;
/* Counts scores: of every `every`-th row (1: all), for the rows of training or validation of all ranks; in the order of
 * rows, so that each rank has the figures of one process to the last bit. */
furrow_status fw_booster_tally(const fw_booster *booster, bool valid, size_t every, fw_tally *tally,
                               furrow_error *err) FURROW_MUST_USE;
/* The largest feature of all ranks' training rows, + 1. After the cuts are chosen. */
uint64_t fw_booster_feature_end(const fw_booster *booster);
/* The number of rows of all ranks: for training after the cuts are chosen, for validation after fw_booster_begin. */
size_t fw_booster_rows(const fw_booster *booster, bool valid);

#endif
