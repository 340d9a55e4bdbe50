/* learn/ranking/ranking_machine.h: a trainer from the inside, for rank_trainer.c and rank_validate.c. */
#ifndef FW_LEARN_RANKING_RANK_MACHINE_H
#define FW_LEARN_RANKING_RANK_MACHINE_H

#include "kern/math/steps.h"
#include "learn/ranking/negatives.h"
#include "learn/ranking/ranking_trainer.h"

enum { FW_RANK_ITEMS_AT_ONCE = 256 }; /* of a task */

/* Items of a batch are numbered: for softmax the candidates first. Such a number is the place of the item. */
struct fw_rank_trainer {
  const fw_rank_data *data;
  fw_rank_params params;
  size_t factors;
  size_t per_row;    /* negatives of a row; softmax: 0 */
  size_t tries;      /* WARP: to find the one negative of a row; else 0 */
  size_t wanted;     /* softmax: negatives of a batch; else 0 */
  size_t candidates; /* those of this batch */
  bool exact;        /* the candidates are all items */
  fw_item_sampler sampler;
  float *vector, *weight;                                                    /* of features */
  float *vector_state[2], *weight_state[2], *vector_sum, *weight_sum, *uses; /* likewise; sums are gradients */
  unsigned char *is_touched;
  uint32_t *touched; /* features of the batch */
  size_t touched_count;
  uint32_t *place_of;                        /* of items; FW_NO_NUMBER: not in the batch */
  uint32_t *item_at;                         /* of places */
  float *q, *own, *q_sum, *own_sum, *offset; /* of places; offset: the logarithm of the chance to be a candidate */
  size_t batch_items;
  /* Groups of rows that have the same user's side, whose p and scores are the same: softmax. Other losses: of one row.
   */
  size_t groups;
  uint32_t *group_offset, *group_row; /* rows of group g: group_row[group_offset[g]] … */
  uint32_t *order;                    /* of groups */
  size_t most_groups;                 /* of a batch */
  float *p, *p_sum;                   /* of groups of a batch */
  float *scores;                      /* softmax: groups * candidates, then the gradients by them */
  uint32_t *negative;                 /* groups * per_row: items, then places */
  float *slope;                       /* groups * per_row: gradient by the score of the negative */
  float *positive_slope;              /* of all rows */
  float *tried;                       /* WARP: how many tries the negative of each group took */
  double *losses;                     /* of groups of a batch */
  uint64_t steps;
  /* now */
  uint32_t epoch;
  size_t first, count; /* groups of the batch: order[first] … */
  size_t rows;         /* of those groups */
  fw_step_rule rule;
};

static inline size_t fw_rank_least(size_t a, size_t b) {
  return a < b ? a : b;
}

static inline size_t fw_rank_tasks(size_t count, size_t each) {
  return (count + each - 1) / each;
}

/* count * each numbers. */
furrow_status fw_rank_zeros(float **numbers, size_t count, size_t each, furrow_error *err) FURROW_MUST_USE;
/* sum: of value * v over the features of one row of `uses`. */
void fw_rank_sum_vectors(const fw_rank_trainer *trainer, const fw_rank_uses *uses, size_t row, float *sum);
/* What an item has alone; q is its sum. */
float fw_rank_own_score(const fw_rank_trainer *trainer, uint32_t item, const float *q);

#endif
