/* learn/train/fit_rank.h: a factorization machine that learns to rank; and negatives that are drawn for other models.
 */
#ifndef FW_LEARN_TRAIN_FIT_RANK_H
#define FW_LEARN_TRAIN_FIT_RANK_H

#include "learn/train/fit.h"

typedef struct fw_rank_fit fw_rank_fit;

/* Takes NULL. */
void fw_rank_fit_free(fw_rank_fit *rank);
/* Before anything is made of the rows: draws negatives for them where the plan has some and its loss does not rank. */
furrow_status fw_fit_draw_negatives(fw_fit *fit, fw_samples *samples, furrow_error *err) FURROW_MUST_USE;

#endif
