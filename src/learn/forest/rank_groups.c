/* learn/forest/rank_groups.c: groups of rows that are divided over ranks. */
#include "learn/forest/rank_groups.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Which groups there are ---- */

typedef struct group_id {
  uint64_t qid;
  uint32_t number;
} group_id;

static int compare_groups(const void *a, const void *b) {
  const group_id *x = a, *y = b;
  return (x->qid > y->qid) - (x->qid < y->qid);
}

static furrow_status fail_divided(uint64_t qid, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "the rows of group %" PRIu64 " (qid) are on more than one rank", qid);
  fw_error_set_hint(err,
                    "a rank must have whole groups, and here two parts of the data meet within one: use one process");
  return FURROW_E_ARGUMENT;
}

static furrow_status order_groups(fw_rank_groups *all, const uint64_t *qid, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc((void **)&all->order, all->count, sizeof *all->order, err));
  FW_TRY(fw_alloc(&memory, all->count, sizeof(group_id), err));
  group_id *groups = memory;
  uint64_t divided = 0;
  bool found = false;
  for (size_t i = 0; i < all->count; i++) groups[i] = (group_id){qid[i], (uint32_t)i};
  qsort(groups, all->count, sizeof *groups, compare_groups);
  for (size_t i = 0; i < all->count; i++) {
    all->order[i] = groups[i].number;
    if (i == 0 || groups[i].qid != groups[i - 1].qid || found) continue;
    divided = groups[i].qid;
    found = true;
  }
  fw_free(memory);
  return found ? fail_divided(divided, err) : FURROW_OK;
}

furrow_status fw_rank_groups_init(fw_rank_groups *all, const furrow_comm *comm, const fw_row_groups *own,
                                  const uint64_t *qid, furrow_error *err) {
  void *memory = NULL, *gathered = NULL;
  size_t bytes = 0;
  *all = (fw_rank_groups){0};
  furrow_status status = fw_comm_share_status(comm, fw_alloc(&memory, own->count, sizeof *qid, err), err);
  if (status == FURROW_OK) {
    uint64_t *mine = memory;
    for (size_t g = 0; g < own->count; g++) mine[g] = qid[own->row[own->begin[g]]];
    status = fw_comm_gather_all(comm, mine, own->count * sizeof *mine, &gathered, &bytes, NULL, err);
  }
  fw_free(memory);
  if (status != FURROW_OK) return status;
  all->count = bytes / sizeof *qid;
  status = fw_comm_share_status(comm, order_groups(all, gathered, err), err);
  fw_free(gathered);
  return status;
}

void fw_rank_groups_clear(fw_rank_groups *all) {
  fw_free(all->order);
  *all = (fw_rank_groups){0};
}

/* ---- Figures ---- */

typedef struct group_figure {
  double ndcg, weight; /* weight below 0: it does not count */
} group_figure;

furrow_status fw_rank_groups_ndcg(const fw_rank_groups *all, const furrow_comm *comm, const fw_row_groups *own,
                                  const double *score, const float *label, const float *weight, double *ndcg,
                                  furrow_error *err) {
  void *memory = NULL, *gathered = NULL;
  size_t bytes = 0;
  double sum = 0, weights = 0;
  furrow_status status = fw_comm_share_status(comm, fw_alloc(&memory, own->count, sizeof(group_figure), err), err);
  if (status == FURROW_OK) {
    group_figure *mine = memory;
    for (size_t g = 0; g < own->count; g++)
      if (!fw_row_group_ndcg(own, g, score, label, weight, &mine[g].ndcg, &mine[g].weight))
        mine[g] = (group_figure){0, -1};
    status = fw_comm_gather_all(comm, mine, own->count * sizeof *mine, &gathered, &bytes, NULL, err);
  }
  fw_free(memory);
  if (status != FURROW_OK) return status;
  const group_figure *figure = gathered;
  for (size_t i = 0; i < all->count; i++) {
    const group_figure *group = &figure[all->order[i]];
    if (group->weight < 0) continue;
    sum += group->weight * group->ndcg;
    weights += group->weight;
  }
  fw_free(gathered);
  *ndcg = sum / weights; /* 0 / 0: NaN */
  return FURROW_OK;
}
