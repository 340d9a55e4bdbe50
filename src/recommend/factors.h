/* recommend/factors.h: vectors of items, and of users by their events.
 *
 * The score of an item for a user is the product of their vectors. They minimise, by turns,
 *   sum over rows r and items i of r of weight_ri (1 - p_r q_i)^2
 *   + others sum over all rows and items of (p_r q_i)^2
 *   + l2 (sum over rows of n_r |p_r|^2 + sum over items of n_i |q_i|^2),
 *   n_r = sum of the weights of row r + others items,  n_i = sum of the weights of item i + others rows
 * (iALS: Hu, Koren and Volinsky 2008, with the regularisation of Rendle and others 2022). Given the vectors of items, a
 * user's vector is the solution of a small system of linear equations, so new users and new events need no training. */
#ifndef FW_RECOMMEND_FACTORS_H
#define FW_RECOMMEND_FACTORS_H

#include "base/pool.h"
#include "recommend/item_item.h"

enum { FW_FACTORS_MOST = 64 }; /* numbers of a vector */

typedef struct fw_factors_params {
  size_t size; /* numbers of a vector, 1 to FW_FACTORS_MOST */
  double others, l2;
  unsigned rounds;
} fw_factors_params;

typedef struct fw_factors {
  size_t items, size;
  double others, l2;
  float *vectors; /* items x size */
  float *square;  /* size x size: others * sum over items of q q' */
  float *packed;  /* the vectors in blocks of FW_BLOCK_VECTORS */
} fw_factors;

void fw_factors_clear(fw_factors *factors);

/* Learns vectors of the columns of `rows`, whose values are weights. To be cleared after a failure, too. The result
 * does not depend on the number of threads. */
furrow_status fw_factors_fit(fw_factors *factors, const fw_sparse_rows *rows, const fw_factors_params *params,
                             fw_pool *pool, furrow_error *err) FURROW_MUST_USE;
/* Takes ownership of learned vectors, also after a failure. */
furrow_status fw_factors_from(fw_factors *factors, float *vectors, size_t items, const fw_factors_params *params,
                              furrow_error *err) FURROW_MUST_USE;

/* The user's equations: a has size x size numbers, b has size. */
void fw_factors_equations(const fw_factors *factors, const uint32_t *items, const float *weights, size_t count,
                          float *a, float *b);
double fw_factors_product(const fw_factors *factors, const float *x, const float *y);
/* The number of scores that fw_factors_scores writes: items, rounded up. */
size_t fw_factors_scores_count(const fw_factors *factors);
void fw_factors_scores(const fw_factors *factors, const float *user, float *scores);

#endif
