/* learn/forest/gradients.h: gradients and hessians of rows as whole numbers.
 *
 * A row's two numbers are one word: the gradient in its upper half, signed, the hessian in its lower half. Words of up
 * to FW_PAIR_ROWS rows can be added, both halves at once, before a half could overflow. */
#ifndef FW_LEARN_FOREST_GRADIENTS_H
#define FW_LEARN_FOREST_GRADIENTS_H

#include <string.h>

#include "base/pool.h"
#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/forest/bins.h"
#include "learn/metrics/metrics.h"

#define FW_PAIR_BITS 17
#define FW_PAIR_ROWS ((size_t)1 << (31 - FW_PAIR_BITS))

typedef struct fw_gradients {
  uint64_t *pair;                     /* gradient and hessian of each row */
  int64_t gradient_sum, hessian_sum;  /* sums of the gradients and hessians of all rows, in units */
  double gradient_unit, hessian_unit; /* what 1 stands for: powers of two */
  double most_hessian;                /* largest hessian of a row, in units and rounded up */
} fw_gradients;

static inline int64_t fw_pair_gradient(uint64_t pair) {
  return (int32_t)(uint32_t)(pair >> 32);
}
static inline int64_t fw_pair_hessian(uint64_t pair) {
  return (uint32_t)pair;
}

/* exp for floats: 2^n e^r with |r| <= ln 2 / 2, by the series up to r^6; relative error below 2^-22. For -87 <= x <=
 * 88, and NaN. */
static inline float fw_exp_of(float x) {
  const float shifted = x * 1.44269504F + 12582912.0F; /* 1.5 * 2^23: the low bits are the nearest integer */
  const float n = shifted - 12582912.0F;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  uint32_t bits;
  float power;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + UINT32_C(0x3f800000);
  memcpy(&power, &bits, sizeof power);
  return p * power;
}

/* ---- ranking_gradients.c: rows that are ranked within groups ---- */

/* LambdaMART (Burges, "From RankNet to LambdaRank to LambdaMART", 2010), each pair weighted by
 * the change of NDCG if its two rows are swapped. */
typedef struct fw_lambdas {
  const fw_row_groups *groups;
  const float *label;
  size_t truncation;         /* one row of a pair is among the first `truncation` rows */
  float *gradient, *hessian; /* gradient and hessian of each row */
  double *ideal;             /* for each group, the discounted gain of the best order of the first `truncation` rows */
  float *discount;           /* discounts of places */
  uint64_t *key;             /* order of the rows of each group, kept from round to round: it changes little */
  float *score, *gain, *g, *h; /* numbers of the rows, in that order */
} fw_lambdas;

/* The caller's struct, all zeros before; to be cleared after a failure, too. Groups and labels must outlive it. */
furrow_status fw_lambdas_init(fw_lambdas *lambdas, const fw_row_groups *groups, const float *label, size_t truncation,
                              furrow_error *err) FURROW_MUST_USE;
void fw_lambdas_clear(fw_lambdas *lambdas);
/* Fills in gradient and hessian. One thread computes a whole group, so the result does not depend on the number of
 * threads. */
void fw_lambdas_fill(fw_lambdas *lambdas, const double *score, fw_spin_pool *pool);

/* ---- gradients.c: all losses ---- */

typedef struct fw_gradient_job {
  const fw_binned *rows;
  fw_loss_type loss;
  double level;              /* of a loss whose best constant is a quantile */
  const double *score;       /* score of each row for this class */
  double base;               /* added to every score */
  const float *log_sum;      /* softmax: ln of the sum of exp(score) over classes; a number for each row */
  const fw_lambdas *lambdas; /* rows that are ranked: gradients and hessians, filled in; else NULL */
  size_t class_number;
  double most_weight;
  uint64_t key;       /* rounding up or down depends on it and on the row's number */
  uint64_t first_row; /* number of the first row among the rows of all ranks */
  const furrow_comm *comm;
} fw_gradient_job;

/* All ranks have the same units, by the largest numbers of all. E_RANGE: a gradient is not a finite number. */
furrow_status fw_gradients_fill(fw_gradients *gradients, const fw_gradient_job *job, fw_spin_pool *pool,
                                furrow_error *err) FURROW_MUST_USE;
/* score: `classes` arrays of `rows` numbers; base: added to the scores of each class, NULL: nothing. */
void fw_gradients_log_sums(const double *score, const double *base, size_t rows, size_t classes, fw_spin_pool *pool,
                           float *log_sum);

#endif
