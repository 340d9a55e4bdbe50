/* learn/metrics/row_groups.c: rows in groups by their qid, and how well scores order the rows of each. */
#include "learn/metrics/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Groups ---- */

/* A row, or a group of all ranks. */
typedef struct member {
  uint64_t qid;
  uint32_t number;
} member;

static int compare_members(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->qid != y->qid) return x->qid < y->qid ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static void list_groups(fw_row_groups *groups, const member *members, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    if (i == 0 || members[i].qid != members[i - 1].qid) groups->begin[groups->count++] = i;
    groups->row[i] = members[i].number;
  }
  groups->begin[groups->count] = rows;
}

furrow_status fw_row_groups_init(fw_row_groups *groups, const uint64_t *qid, size_t rows, furrow_error *err) {
  member *members = NULL;
  bool sorted = true;
  if (rows > UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "%zu rows in groups, %u at most", rows, UINT32_MAX);
  furrow_status status = FW_ALLOC(&members, rows, err);
  if (status == FURROW_OK) status = FW_ALLOC(&groups->row, rows, err);
  if (status == FURROW_OK) status = FW_ALLOC(&groups->begin, rows + 1, err);
  for (size_t i = 0; status == FURROW_OK && i < rows; i++) {
    members[i] = (member){qid[i], (uint32_t)i};
    sorted &= i == 0 || qid[i - 1] <= qid[i];
  }
  if (status == FURROW_OK && !sorted) qsort(members, rows, sizeof *members, compare_members);
  if (status == FURROW_OK) list_groups(groups, members, rows);
  fw_free(members);
  return status;
}

void fw_row_groups_clear(fw_row_groups *groups) {
  fw_free(groups->row);
  fw_free(groups->begin);
  *groups = (fw_row_groups){0};
}

furrow_status fw_fail_group(furrow_error *err) {
  fw_fail(err, FURROW_E_RANGE, "the row has no qid, the group whose rows the model ranks");
  fw_error_set_hint(err, "in libsvm data the qid follows the label: 2 qid:7 1:0.5 …");
  return FURROW_E_RANGE;
}

bool fw_row_groups_differ(const fw_row_groups *groups, size_t group, const float *label) {
  for (size_t i = groups->begin[group] + 1; i < groups->begin[group + 1]; i++)
    if (label[groups->row[i]] != label[groups->row[i - 1]]) return true;
  return false;
}

/* ---- Gains ---- */

double fw_grade_gain(double grade) {
  return ldexp(1, (int)grade) - 1;
}

double fw_rank_discount(size_t place) {
  return 1 / log2((double)place + 2);
}

double fw_row_groups_ideal(const fw_row_groups *groups, size_t group, const float *label, size_t top) {
  size_t with[FW_GRADE_MAX + 1] = {0}, place = 0;
  double sum = 0;
  for (size_t i = groups->begin[group]; i < groups->begin[group + 1]; i++) with[(size_t)label[groups->row[i]]]++;
  for (size_t grade = FW_GRADE_MAX; grade > 0; grade--)
    for (size_t i = 0; i < with[grade] && place < top; i++)
      sum += fw_grade_gain((double)grade) * fw_rank_discount(place++);
  return sum;
}

/* ---- NDCG ---- */

/* The first rows of a group by their scores. */
typedef struct leaders {
  double score[FW_NDCG_TOP], gain[FW_NDCG_TOP];
  size_t count;
} leaders;

static void offer(leaders *first, double score, double gain) {
  size_t at = first->count;
  if (at == FW_NDCG_TOP && !(score > first->score[--at])) return;
  for (; at > 0 && score > first->score[at - 1]; at--) {
    first->score[at] = first->score[at - 1];
    first->gain[at] = first->gain[at - 1];
  }
  first->score[at] = score;
  first->gain[at] = gain;
  first->count += first->count < FW_NDCG_TOP;
}

/* The mean gain of all rows of the group that have the score `of`, leaders or not. */
static double mean_gain(const fw_row_groups *groups, size_t group, const double *score, const float *label, double of) {
  double sum = 0, count = 0;
  for (size_t i = groups->begin[group]; i < groups->begin[group + 1]; i++) {
    const uint32_t row = groups->row[i];
    if (score[row] != of) continue;
    sum += fw_grade_gain((double)label[row]);
    count++;
  }
  return sum / count;
}

static double gain_of(const fw_row_groups *groups, size_t group, const double *score, const float *label) {
  leaders first = {.count = 0};
  double sum = 0;
  for (size_t i = groups->begin[group]; i < groups->begin[group + 1]; i++)
    offer(&first, score[groups->row[i]], fw_grade_gain((double)label[groups->row[i]]));
  for (size_t i = 0, end; i < first.count; i = end) {
    double gain = first.gain[i], discount = fw_rank_discount(i);
    for (end = i + 1; end < first.count && first.score[end] == first.score[i]; end++) {
      gain += first.gain[end];
      discount += fw_rank_discount(end);
    }
    gain /= (double)(end - i);
    if (end == FW_NDCG_TOP) gain = mean_gain(groups, group, score, label, first.score[i]); /* others may have it, too */
    sum += gain * discount;
  }
  return sum;
}

static double weight_of(const fw_row_groups *groups, size_t group, const float *weight) {
  double sum = 0;
  if (!weight) return 1;
  for (size_t i = groups->begin[group]; i < groups->begin[group + 1]; i++) sum += (double)weight[groups->row[i]];
  return sum / (double)(groups->begin[group + 1] - groups->begin[group]);
}

bool fw_row_group_ndcg(const fw_row_groups *groups, size_t group, const double *score, const float *label,
                       const float *weight, double *ndcg, double *group_weight) {
  const double ideal = fw_row_groups_ideal(groups, group, label, FW_NDCG_TOP);
  if (!(ideal > 0)) return false;
  *ndcg = gain_of(groups, group, score, label) / ideal;
  *group_weight = weight_of(groups, group, weight);
  return true;
}

double fw_row_groups_ndcg(const fw_row_groups *groups, const double *score, const float *label, const float *weight) {
  double sum = 0, weights = 0, ndcg, w;
  for (size_t g = 0; g < groups->count; g++) {
    if (!fw_row_group_ndcg(groups, g, score, label, weight, &ndcg, &w)) continue;
    sum += w * ndcg;
    weights += w;
  }
  return sum / weights; /* 0 / 0: NaN */
}

/* ---- Groups of all ranks ---- */

static furrow_status fail_divided(uint64_t qid, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "the rows of group %" PRIu64 " (qid) are on more than one rank", qid);
  fw_error_set_hint(err,
                    "a rank must have whole groups, and here two parts of the data meet within one: use one process");
  return FURROW_E_ARGUMENT;
}

static furrow_status order_groups(fw_group_order *order, const uint64_t *qid, furrow_error *err) {
  member *groups = NULL;
  furrow_status status = FURROW_OK;
  FW_TRY(FW_ALLOC(&order->group, order->count, err));
  FW_TRY(FW_ALLOC(&groups, order->count, err));
  for (size_t i = 0; i < order->count; i++) groups[i] = (member){qid[i], (uint32_t)i};
  qsort(groups, order->count, sizeof *groups, compare_members);
  for (size_t i = 0; i < order->count; i++) {
    order->group[i] = groups[i].number;
    if (status == FURROW_OK && i > 0 && groups[i].qid == groups[i - 1].qid) status = fail_divided(groups[i].qid, err);
  }
  fw_free(groups);
  return status;
}

furrow_status fw_group_order_init(fw_group_order *order, const furrow_comm *comm, const fw_row_groups *own,
                                  const uint64_t *qid, furrow_error *err) {
  uint64_t *mine = NULL;
  void *gathered = NULL;
  size_t bytes = 0;
  *order = (fw_group_order){.count = own->count};
  if (comm->ranks == 1) return FURROW_OK;
  furrow_status status = fw_comm_share_status(comm, FW_ALLOC(&mine, own->count, err), err);
  for (size_t g = 0; status == FURROW_OK && g < own->count; g++) mine[g] = qid[own->row[own->begin[g]]];
  if (status == FURROW_OK)
    status = fw_comm_gather_all(comm, mine, own->count * sizeof *mine, &gathered, &bytes, NULL, err);
  fw_free(mine);
  if (status != FURROW_OK) return status;
  order->count = bytes / sizeof *qid;
  status = fw_comm_share_status(comm, order_groups(order, gathered, err), err);
  fw_free(gathered);
  return status;
}

void fw_group_order_clear(fw_group_order *order) {
  fw_free(order->group);
  *order = (fw_group_order){0};
}

typedef struct group_figure {
  double ndcg, weight; /* weight below 0: it does not count */
} group_figure;

furrow_status fw_group_order_ndcg(const fw_group_order *order, const furrow_comm *comm, const fw_row_groups *own,
                                  const double *score, const float *label, const float *weight, double *ndcg,
                                  furrow_error *err) {
  group_figure *mine = NULL;
  void *gathered = NULL;
  size_t bytes = 0;
  double sum = 0, weights = 0;
  if (comm->ranks == 1) {
    *ndcg = fw_row_groups_ndcg(own, score, label, weight);
    return FURROW_OK;
  }
  furrow_status status = fw_comm_share_status(comm, FW_ALLOC(&mine, own->count, err), err);
  for (size_t g = 0; status == FURROW_OK && g < own->count; g++)
    if (!fw_row_group_ndcg(own, g, score, label, weight, &mine[g].ndcg, &mine[g].weight))
      mine[g] = (group_figure){0, -1};
  if (status == FURROW_OK)
    status = fw_comm_gather_all(comm, mine, own->count * sizeof *mine, &gathered, &bytes, NULL, err);
  fw_free(mine);
  if (status != FURROW_OK) return status;
  const group_figure *figure = gathered;
  for (size_t i = 0; i < order->count; i++) {
    const group_figure *group = &figure[order->group[i]];
    if (group->weight < 0) continue;
    sum += group->weight * group->ndcg;
    weights += group->weight;
  }
  fw_free(gathered);
  *ndcg = sum / weights; /* 0 / 0: NaN */
  return FURROW_OK;
}
