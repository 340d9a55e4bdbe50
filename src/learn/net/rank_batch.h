/* learn/net/rank_batch.h: a batch of several ranks.
 *
 * Every rank has some of its rows, and every rank has some of the features (fw_feature_owner). For each batch
 *
 *   1. ranks tell each other what of the batch they have: labels of rows, and for each rank the uses of its features;
 *   2. the owners of features send their weights to the other ranks whose rows have them, behind a notice whether they
 *      have failed;
 *   3. forward and backward pass of a rank's own rows, with these copies and the records of its own features;
 *   4. outputs, terms of the tally and gradients of rows go to all ranks, gradients of uses to the owners of their
 *      features, gradients of dense arrays are added up;
 *   5. owners update their features, over the rows of all ranks in the order that one process would have; dense arrays
 *      are updated by all ranks alike.
 *
 * All functions that return a status are collective. */
#ifndef FW_LEARN_NET_RANK_BATCH_H
#define FW_LEARN_NET_RANK_BATCH_H

#include "learn/net/batch_slot.h"

typedef struct fw_rank_batch fw_rank_batch;

/* max_features: of all ranks together; 0: no limit. */
furrow_status fw_rank_batch_create(fw_rank_batch **batch, fw_net *net, uint64_t max_features,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_rank_batch_free(fw_rank_batch *batch);

/* Steps 1 and 2: `own` has been filled, with status `filled`; it may be empty. With `grow` new features get their
 * records. A failure of any rank is one of all. */
furrow_status fw_rank_batch_begin(fw_rank_batch *batch, fw_batch_slot *own, furrow_status filled, bool grow,
                                  furrow_error *err) FURROW_MUST_USE;
/* The rows of all ranks in their order, with outputs and losses when they have been gathered; its batch is NULL at the
 * end of the data. Its pass is that of the rank's own features. */
fw_batch_slot *fw_rank_batch_whole(fw_rank_batch *batch);

/* After step 3: the outputs of all rows, and with `gradients` those of rows and uses. */
furrow_status fw_rank_batch_gather(fw_rank_batch *batch, const fw_batch_slot *own, bool gradients,
                                   furrow_error *err) FURROW_MUST_USE;
/* Whether an output of any row, or the sum of the losses, is not a number: the same for all ranks. Then
 * fw_rank_batch_number gives fw_rank_batch_whole the numbers of its rows. */
bool fw_rank_batch_is_sound(const fw_rank_batch *batch);
furrow_status fw_rank_batch_number(fw_rank_batch *batch, const fw_batch_slot *own, furrow_error *err) FURROW_MUST_USE;

/* Gradients of dense arrays over own rows: tasks, one of them; then their sum over all ranks. */
size_t fw_rank_batch_dense_tasks(const fw_rank_batch *batch);
void fw_rank_batch_sum_dense(fw_rank_batch *batch, const fw_batch_slot *own, size_t task);
furrow_status fw_rank_batch_add_dense(fw_rank_batch *batch, furrow_error *err) FURROW_MUST_USE;

#endif
