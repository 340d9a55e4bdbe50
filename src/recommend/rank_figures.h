/* recommend/rank_figures.h: figures of rankings, user after user. */
#ifndef FW_RECOMMEND_RANK_FIGURES_H
#define FW_RECOMMEND_RANK_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/recommend.h"

/* Of one user. */
typedef struct fw_user_figures {
  double ndcg, recall, map, mrr, hit;
} fw_user_figures;

/* hits[i]: whether the result of rank i + 1 is relevant; `relevant` items are, at least 1, found or not. */
fw_user_figures fw_rank_user(const bool *hits, size_t k, size_t relevant);

/* Sums over users; all zeros is none. */
typedef struct fw_rank_sum {
  size_t users;
  fw_user_figures sum, squares;
} fw_rank_sum;

void fw_rank_add(fw_rank_sum *sum, const fw_user_figures *user);
/* Writes the means and intervals. */
void fw_rank_means(const fw_rank_sum *sum, furrow_rank_figures *figures);

#endif
