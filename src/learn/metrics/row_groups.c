/* learn/metrics/row_groups.c: rows in groups by their qid, and how well scores order the rows of each. */
#include "learn/metrics/row_groups.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Groups ---- */

typedef struct member {
  uint64_t qid;
  uint32_t row;
} member;

static int compare_members(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->qid != y->qid) return x->qid < y->qid ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static void list_groups(fw_row_groups *groups, const member *members, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    if (i == 0 || members[i].qid != members[i - 1].qid) groups->begin[groups->count++] = i;
    groups->row[i] = members[i].row;
  }
  groups->begin[groups->count] = rows;
}

furrow_status fw_row_groups_init(fw_row_groups *groups, const uint64_t *qid, size_t rows, furrow_error *err) {
  member *members = NULL;
  bool sorted = true;
  if (rows > UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "%zu rows in groups, %u at most", rows, UINT32_MAX);
  furrow_status status = fw_alloc((void **)&members, rows, sizeof *members, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&groups->row, rows, sizeof *groups->row, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&groups->begin, rows + 1, sizeof *groups->begin, err);
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
  fw_error_set_hint(err, "libsvm data has it after the label: 2 qid:7 1:0.5 …");
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

/* Of all rows with a score, leaders or not. */
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
