/* learn/forest/lambdas.h: gradients and hessians of rows that are ranked within groups: LambdaMART (Burges, "From
 * RankNet to LambdaRank to LambdaMART", 2010), weighted by what swapping two rows changes of NDCG. */
#ifndef FW_LEARN_FOREST_LAMBDAS_H
#define FW_LEARN_FOREST_LAMBDAS_H

#include "base/pool.h"
#include "learn/metrics/row_groups.h"

typedef struct fw_lambdas {
  const fw_row_groups *groups;
  const float *label;
  size_t truncation;           /* a pair has a row among so many first ones */
  float *gradient, *hessian;   /* of each row */
  double *ideal;               /* of each group: discounted gain of the best order of the first `truncation` rows */
  float *discount;             /* of places */
  uint64_t *key;               /* order of the rows of each group, kept from round to round: it changes little */
  float *score, *gain, *g, *h; /* of the rows in that order */
} fw_lambdas;

/* The caller's struct, all zeros before; to be cleared after a failure, too. Groups and labels must outlive it. */
furrow_status fw_lambdas_init(fw_lambdas *lambdas, const fw_row_groups *groups, const float *label, size_t truncation,
                              furrow_error *err) FURROW_MUST_USE;
void fw_lambdas_clear(fw_lambdas *lambdas);
/* Fills in gradient and hessian. A group is one thread's: the numbers do not depend on their number. */
void fw_lambdas_fill(fw_lambdas *lambdas, const double *score, fw_spin_pool *pool);
size_t fw_lambdas_memory(const fw_lambdas *lambdas);

#endif
