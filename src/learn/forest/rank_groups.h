/* learn/forest/rank_groups.h: groups of rows that are divided over ranks; all rows of a group are on one rank. */
#ifndef FW_LEARN_FOREST_RANK_GROUPS_H
#define FW_LEARN_FOREST_RANK_GROUPS_H

#include "comm/collectives.h"
#include "learn/metrics/row_groups.h"

typedef struct fw_rank_groups {
  size_t count;    /* of all ranks */
  uint32_t *order; /* by qid: numbers of groups, those of rank 0 first */
} fw_rank_groups;

/* The caller's struct; qid: of each row. E_ARGUMENT: rows of a group are on two ranks. */
furrow_status fw_rank_groups_init(fw_rank_groups *all, const furrow_comm *comm, const fw_row_groups *own,
                                  const uint64_t *qid, furrow_error *err) FURROW_MUST_USE;
void fw_rank_groups_clear(fw_rank_groups *all);
/* As fw_row_groups_ndcg of all rows on one rank, to the last bit. */
furrow_status fw_rank_groups_ndcg(const fw_rank_groups *all, const furrow_comm *comm, const fw_row_groups *own,
                                  const double *score, const float *label, const float *weight, double *ndcg,
                                  furrow_error *err) FURROW_MUST_USE;

#endif
