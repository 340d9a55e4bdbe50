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
/* Before the first pass: rows are divided over the ranks of a communicator, which must outlive the booster; this one's
 * begin with number first_row of all. Passes are each rank's own; everything after them is for all ranks at once, and
 * what one of them cannot do fails on all. */
void fw_booster_set_comm(fw_booster *booster, const furrow_comm *comm, uint64_t first_row);

/* First pass: `count` batches of `plain` rules (minibatch.h: key[i], value[i] of use i; or x of dense data), labels
 * transformed and checked. Threads take a batch each. */
furrow_status fw_booster_scan_rows(fw_booster *booster, const fw_minibatch *batch, size_t count,
                                   furrow_error *err) FURROW_MUST_USE;
/* Goes on from the trees of a forest, which rows get their scores of as they are taken: before the second pass. Not
 * needed where there are none. The same trees on the same rows give the bytes of a run without a break. */
furrow_status fw_booster_resume(fw_booster *booster, const fw_forest *forest, furrow_error *err) FURROW_MUST_USE;
/* Between the passes: chooses the cuts. */
furrow_status fw_booster_choose_cuts(fw_booster *booster, furrow_error *err) FURROW_MUST_USE;
/* Second pass: the same rows in the same order (E_STATE: others); then the rows for validation, if there are any. */
furrow_status fw_booster_add_rows(fw_booster *booster, const fw_minibatch *batch, size_t count,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_booster_add_valid_rows(fw_booster *booster, const fw_minibatch *batch, size_t count,
                                        furrow_error *err) FURROW_MUST_USE;
/* After the passes. `forest` (with stats) is what rounds add trees to, and outlives the booster; trees that it has
 * already are those that the booster goes on from (E_STATE: fw_booster_resume was not called). */
furrow_status fw_booster_begin(fw_booster *booster, fw_forest *forest, furrow_error *err) FURROW_MUST_USE;

/* Has check(user, err) called now and then within a round: a status that is not OK ends the round with it. */
void fw_booster_set_check(fw_booster *booster, furrow_status (*check)(void *user, furrow_error *err), void *user);
/* One round. E_RANGE: a gradient is not a number (nothing is added then). */
furrow_status fw_booster_round(fw_booster *booster, furrow_error *err) FURROW_MUST_USE;
/* Counts scores: of every `every`-th row (1: all), for the rows of training or validation. */
void fw_booster_tally(const fw_booster *booster, bool valid, size_t every, fw_tally *tally);
/* The same over all ranks' rows, for each rank: in the order of rows, so that figures are those of one process to the
 * last bit. */
furrow_status fw_booster_tally_all(const fw_booster *booster, bool valid, size_t every, fw_tally *tally,
                                   furrow_error *err) FURROW_MUST_USE;
/* Of all ranks: those for training after the cuts are chosen, those for validation after fw_booster_begin. */
size_t fw_booster_rows(const fw_booster *booster, bool valid);
/* Bytes that the booster holds now. */
size_t fw_booster_memory(const fw_booster *booster);

#endif
