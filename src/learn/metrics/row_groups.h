/* learn/metrics/row_groups.h: rows in groups by their qid, and how well scores order the rows of each. */
#ifndef FW_LEARN_METRICS_ROW_GROUPS_H
#define FW_LEARN_METRICS_ROW_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"

/* Labels of rows that are ranked are grades: whole numbers from 0 (not relevant) to this. */
enum { FW_GRADE_MAX = 31, FW_NDCG_TOP = 10 };

typedef struct fw_row_groups {
  size_t count;
  size_t *begin; /* count + 1: group i is row[begin[i]] … row[begin[i + 1] - 1] */
  uint32_t *row; /* numbers of rows, ascending in each group */
} fw_row_groups;

/* The caller's struct, all zeros before; to be cleared after a failure, too. Rows of a group need not be adjacent.
 * E_RANGE: more than 2^32 - 1 rows. */
furrow_status fw_row_groups_init(fw_row_groups *groups, const uint64_t *qid, size_t rows,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_row_groups_clear(fw_row_groups *groups);
/* E_RANGE: a row has no group. */
furrow_status fw_fail_group(furrow_error *err);
/* Whether the rows of a group have different labels. */
bool fw_row_groups_differ(const fw_row_groups *groups, size_t group, const float *label);

/* 2^grade - 1. */
double fw_grade_gain(double grade);
/* The discount of a place, counted from 0: 1 / log2(place + 2). */
double fw_rank_discount(size_t place);
/* The discounted gain of the best order of a group, of its first `top` rows. */
double fw_row_groups_ideal(const fw_row_groups *groups, size_t group, const float *label, size_t top);
/* NDCG of one group, and its weight: the mean of its rows' (NULL: 1). false: no label is above 0. */
bool fw_row_group_ndcg(const fw_row_groups *groups, size_t group, const double *score, const float *label,
                       const float *weight, double *ndcg, double *group_weight);
/* NDCG of the first FW_NDCG_TOP rows: mean over the groups that have a label above 0, each with the mean weight of its
 * rows (NULL: all 1); NaN: there are none. Rows with the same score share their places: the order of rows in the data
 * does not count. */
double fw_row_groups_ndcg(const fw_row_groups *groups, const double *score, const float *label, const float *weight);

/* The groups of all ranks' rows, in the order of their qid; the rows of a group are all on one rank. */
typedef struct fw_group_order {
  size_t count;
  uint32_t *group; /* numbers of groups: rank 0's come first, then rank 1's …; of one process NULL */
} fw_group_order;

/* The caller's struct; qid: of each of this rank's rows. E_ARGUMENT: rows of a group are on two ranks. */
furrow_status fw_group_order_init(fw_group_order *order, const furrow_comm *comm, const fw_row_groups *own,
                                  const uint64_t *qid, furrow_error *err) FURROW_MUST_USE;
void fw_group_order_clear(fw_group_order *order);
/* As fw_row_groups_ndcg of all rows on one rank, to the last bit. */
furrow_status fw_group_order_ndcg(const fw_group_order *order, const furrow_comm *comm, const fw_row_groups *own,
                                  const double *score, const float *label, const float *weight, double *ndcg,
                                  furrow_error *err) FURROW_MUST_USE;

#endif
