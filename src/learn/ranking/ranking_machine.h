/* learn/ranking/ranking_machine.h: a trainer from the inside, for ranking_trainer.c and ranking_validate.c; loops over
 * the numbers of a vector, short enough to be inlined and to vectorise. */
#ifndef FW_LEARN_RANKING_RANKING_MACHINE_H
#define FW_LEARN_RANKING_RANKING_MACHINE_H

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/pool.h"
#include "kern/math/steps.h"
#include "learn/ranking/ranking_data.h"

/* ---- The trainer (ranking_trainer.c) ----
 *
 * Within a row, the score of a machine splits into what the user's side has alone, what the item has alone, and the
 * product of two sums of vectors: z = own(user) + own(item) + <p, q>, p and q the sums of value * v over the features
 * of each side. The order of a user's items depends on own(item) + <p, q> alone, and that is what is trained: p once
 * for each row, q once for each item of a batch, and gradients go through the sums to all features.
 *
 * All sums run in an order that rows and items fix, so that the result is the same for any number of threads. */

typedef struct fw_ranking_params {
  fw_loss_type loss;
  fw_optimizer optimizer; /* optimizer of vectors and weights: Adam or published AdaGrad. Its l2 applies to each use of
                             a feature: a row adds l2 / 2 * |value * v|^2 of each of its features to its loss */
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
  double
      loss; /* loss of softmax over all items, whatever is trained: mean over the users of the mean over their rows */
  double ndcg; /* mean over the users: of the first 10 of all items that he does not have in training rows */
} fw_ranking_validation;

/* Ranks all items for the users of the validation rows, each with the user's side of his first one. */
furrow_status fw_ranking_trainer_validate(fw_ranking_trainer *trainer, fw_ranking_validation *figures,
                                          furrow_error *err) FURROW_MUST_USE;

enum { FW_RANKING_ITEMS_AT_ONCE = 256 }; /* of a task */

/* Items of a batch are numbered: for softmax the candidates first. Such a number is the place of the item. */
struct fw_ranking_trainer {
  const fw_ranking_data *data;
  fw_ranking_params params;
  fw_arena memory; /* memory of all arrays below */
  size_t factors;
  size_t per_row;    /* negatives of a row; softmax: 0 */
  size_t tries;      /* WARP: to find the one negative of a row; else 0 */
  size_t wanted;     /* softmax: negatives of a batch; else 0 */
  size_t candidates; /* number of candidates of this batch */
  bool exact;        /* the candidates are all items */
  fw_item_sampler sampler;
  float *vector, *weight;                                                    /* of features */
  float *vector_state[2], *weight_state[2], *vector_sum, *weight_sum, *uses; /* likewise; sums are gradients */
  unsigned char *is_touched;
  uint32_t *touched; /* features of the batch */
  size_t touched_count;
  uint32_t *place_of;                        /* position of each item; FW_NO_NUMBER: not in the batch */
  uint32_t *item_at;                         /* item at each position */
  float *q, *own, *q_sum, *own_sum, *offset; /* of places; offset: the logarithm of the chance to be a candidate */
  size_t batch_items;
  /* Groups of rows that have the same user's side, whose p and scores are the same: softmax. Other losses: of one row.
   */
  size_t groups;
  uint32_t *group_offset, *group_row; /* rows of group g: group_row[group_offset[g]] … */
  uint32_t *order;                    /* order of groups */
  size_t most_groups;                 /* most groups of a batch */
  float *p, *p_sum;                   /* of groups of a batch */
  float *scores;                      /* softmax: groups * candidates, then the gradients by them */
  uint32_t *negative;                 /* groups * per_row: items, then places */
  float *slope;                       /* groups * per_row: gradient by the score of the negative */
  float *positive_slope;              /* positive slope of all rows */
  float *tried;                       /* WARP: how many tries the negative of each group took */
  double *losses;                     /* losses of groups of a batch */
  uint64_t steps;
  /* now */
  uint32_t epoch;
  size_t first, count; /* groups of the batch: order[first] … */
  size_t rows;         /* of those groups */
  fw_step_rule rule;
};

static inline size_t fw_ranking_least(size_t a, size_t b) {
  return a < b ? a : b;
}

static inline size_t fw_ranking_tasks(size_t count, size_t each) {
  return (count + each - 1) / each;
}

/* count * each numbers from an arena. */
furrow_status fw_ranking_zeros(fw_arena *memory, float **numbers, size_t count, size_t each,
                               furrow_error *err) FURROW_MUST_USE;
/* Writes to sum the sum of value * v over the features of one row of `uses`. */
void fw_ranking_sum_vectors(const fw_ranking_trainer *trainer, const fw_ranking_uses *uses, size_t row, float *sum);
/* What an item has alone; q becomes its sum. */
float fw_ranking_score_item(const fw_ranking_trainer *trainer, uint32_t item, float *q);

/* ---- Vectors ---- */

enum {
  FW_RANKING_SUMS = 8
}; /* partial sums at the same time; a fixed number, so that results do not depend on the processor */

/* to += factor * from */
static inline void fw_add_scaled(float *restrict to, const float *restrict from, float factor, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] += factor * from[i];
}

static inline float fw_add_sums(const float *sums) {
  float sum = 0;
  for (size_t k = 0; k < FW_RANKING_SUMS; k++) sum += sums[k];
  return sum;
}

static inline float fw_inner(const float *a, const float *b, size_t n) {
  float sums[FW_RANKING_SUMS] = {0}, rest = 0;
  size_t i = 0;
  for (; i + FW_RANKING_SUMS <= n; i += FW_RANKING_SUMS)
    for (size_t k = 0; k < FW_RANKING_SUMS; k++) sums[k] += a[i + k] * b[i + k];
  for (; i < n; i++) rest += a[i] * b[i];
  return fw_add_sums(sums) + rest;
}

/* -INFINITY of none. */
static inline float fw_largest(const float *numbers, size_t n) {
  float sums[FW_RANKING_SUMS], most = -INFINITY;
  size_t i = 0;
  for (size_t k = 0; k < FW_RANKING_SUMS; k++) sums[k] = -INFINITY;
  for (; i + FW_RANKING_SUMS <= n; i += FW_RANKING_SUMS)
    for (size_t k = 0; k < FW_RANKING_SUMS; k++) sums[k] = numbers[i + k] > sums[k] ? numbers[i + k] : sums[k];
  for (; i < n; i++) most = numbers[i] > most ? numbers[i] : most;
  for (size_t k = 0; k < FW_RANKING_SUMS; k++) most = sums[k] > most ? sums[k] : most;
  return most;
}

static inline void fw_scale_all(float *numbers, size_t n, float factor) {
  for (size_t i = 0; i < n; i++) numbers[i] *= factor;
}

/* exp(x) for x <= 0, to 2 units of the last digit; 0 below -87. 2^k * exp(r), |r| <= ln 2 / 2: k by adding and
 * subtracting 1.5 * 2^23, r from x in two steps, a polynomial of Cephes for exp(r). */
static inline float fw_exp_below(float x) {
  const float kept = x > -87.0F ? x : -87.0F;
  const float shifted = kept * 1.44269504F + 12582912.0F, k = shifted - 12582912.0F;
  const float r = kept - k * 0.693359375F + k * 2.12194440e-4F;
  float y = 1.9875691500e-4F;
  y = y * r + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * r * r + r + 1.0F;
  const int32_t bits = ((int32_t)k + 127) * (1 << 23);
  float power;
  memcpy(&power, &bits, sizeof power);
  return x > -87.0F ? y * power : 0;
}

/* Each number becomes exp(number - most); returns their sum. None is above `most`. */
static inline float fw_exp_all(float *numbers, size_t n, float most) {
  float sums[FW_RANKING_SUMS] = {0}, rest = 0;
  size_t i = 0;
  for (size_t k = 0; k < n; k++) numbers[k] = fw_exp_below(numbers[k] - most);
  for (; i + FW_RANKING_SUMS <= n; i += FW_RANKING_SUMS)
    for (size_t k = 0; k < FW_RANKING_SUMS; k++) sums[k] += numbers[i + k];
  for (; i < n; i++) rest += numbers[i];
  return fw_add_sums(sums) + rest;
}

#endif
