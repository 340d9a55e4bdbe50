/* learn/ranking/ranking_trainer.h: a factorization machine that learns to rank items.
 *
 * Within a row, the score of a machine splits into what the user's side has alone, what the item has alone, and the
 * product of two sums of vectors: z = own(user) + own(item) + <p, q>, p and q the sums of value * v over the features
 * of each side. The order of a user's items depends on own(item) + <p, q> alone, and that is what is trained: p once
 * for each row, q once for each item of a batch, and gradients go through the sums to all features.
 *
 * All sums run in an order that rows and items fix, so that the result is the same for any number of threads. */
#ifndef FW_LEARN_RANKING_RANKING_TRAINER_H
#define FW_LEARN_RANKING_RANKING_TRAINER_H

#include "base/pool.h"
#include "learn/ranking/ranking_data.h"

typedef struct fw_ranking_params {
  fw_loss_type loss;
  fw_optimizer optimizer; /* of vectors and weights: Adam or published AdaGrad. Its l2 applies to each use of a feature:
                             a row adds l2 / 2 * |value * v|^2 of each of its features to its loss */
  size_t factors, batch;
  size_t negatives; /* BPR: for each row; WARP: tried for each row at most; softmax: for each batch, or all items if
                       there are not more. 0: the default */
  bool popular;
  uint64_t seed;
  fw_spin_pool *pool;
} fw_ranking_params;

typedef struct fw_ranking_trainer fw_ranking_trainer;

/* The data, which is finished, must outlive the trainer. Vectors and weights are 0. */
furrow_status fw_ranking_trainer_create(fw_ranking_trainer **trainer, const fw_ranking_data *data,
                                        const fw_ranking_params *params, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_ranking_trainer_free(fw_ranking_trainer *trainer);
/* Vector (factors numbers) and weight of a feature, by its number in the data. */
float *fw_ranking_trainer_vector(const fw_ranking_trainer *trainer, size_t feature);
float *fw_ranking_trainer_weight(const fw_ranking_trainer *trainer, size_t feature);

/* One pass over the training rows, in the order of this epoch (from 1). *loss: the mean by weight. E_RANGE: a score is
 * not a number. */
furrow_status fw_ranking_trainer_epoch(fw_ranking_trainer *trainer, uint32_t epoch, double rate, double *loss,
                                       furrow_error *err) FURROW_MUST_USE;

typedef struct fw_ranking_validation {
  size_t users, rows;
  double loss; /* of softmax over all items, whatever is trained: mean over the users of the mean over their rows */
  double ndcg; /* mean over the users: of the first 10 of all items that he does not have in training rows */
} fw_ranking_validation;

/* Ranks all items for the users of the validation rows, each with the user's side of his first one. */
furrow_status fw_ranking_trainer_validate(fw_ranking_trainer *trainer, fw_ranking_validation *figures,
                                          furrow_error *err) FURROW_MUST_USE;

#endif
