/* learn/metrics/metrics.h: figures of scored rows. */
#ifndef FW_LEARN_METRICS_METRICS_H
#define FW_LEARN_METRICS_METRICS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "comm/collectives.h"
#include "furrow/status.h"
#include "learn/conf/conf.h"

/* ---- Losses (loss.c) ---- */

/* The loss of output z for label y, and its derivative by z. Not for softmax, whose output is a row of numbers. */
double fw_loss_of(const fw_graph *graph, double z, double y);
double fw_loss_slope(const fw_graph *graph, double z, double y);
/* Loss and score of one row's outputs for a label. */
double fw_loss_value(const fw_graph *graph, const double *out, double label);
void fw_loss_score(const fw_graph *graph, const double *out, furrow_score *score);
/* false: the loss cannot take the label (softmax: not a class). */
bool fw_loss_takes(const fw_graph *graph, double label);
/* E_RANGE for a label that the loss does not take; NaN: the row has none. */
furrow_status fw_loss_refuse(const fw_graph *graph, double label, furrow_error *err);

/* ---- Scores in order (score_list.c) ---- */

/* All zeros, then to be cleared. */
typedef struct fw_score_list {
  uint64_t *key; /* ascends with the score */
  float *weight; /* its sign is the class: -w is a negative row */
  size_t count, key_capacity, weight_capacity;
} fw_score_list;

/* The bits of a double, so turned that they ascend as unsigned numbers; -0 is 0. */
static inline uint64_t fw_score_key(double score) {
  const double positive_zero = score + 0.0;
  uint64_t bits;
  memcpy(&bits, &positive_zero, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline double fw_key_score(uint64_t key) {
  const uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
  double score;
  memcpy(&score, &bits, sizeof score);
  return score;
}

void fw_score_list_clear(fw_score_list *list);
/* Reserves memory for `count` rows. */
furrow_status fw_score_list_reserve(fw_score_list *list, size_t count, furrow_error *err) FURROW_MUST_USE;
/* Ascending by score, then by class and weight, so that equal sets of rows become equal lists. After a failure
 * (E_MEMORY) the list is as before. */
furrow_status fw_score_list_sort(fw_score_list *list, furrow_error *err) FURROW_MUST_USE;
/* The same with all threads. */
furrow_status fw_score_list_sort_in(fw_score_list *list, fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;

/* ---- Rows of two classes in the order of their scores (ranking.c): AUC, average precision, curves, calibration ----
 */

/* Up to this number of rows are kept one by one. A row takes 12 bytes, and as much again while rows are sorted: 384 MiB
 * and 3 MiB. Training keeps fewer rows: at its limit they take 3 % of an epoch of the cheapest model (lr, 14 features
 * in a row) more than bins do. */
enum { FW_EXACT_ROWS = 1 << 25, FW_EXACT_TRAIN_ROWS = 1 << 18 };

/* Keeps score, class and weight of each row, and sorts the rows when a figure is requested. Beyond the limit, and where
 * memory is short, it counts rows in bins instead: a bin is 1/1024 of its scores wide at most, and two rows of one bin
 * count as a tie. Figures of rows that are kept do not depend on the order of rows and merges. */
typedef struct fw_ranking fw_ranking;

furrow_status fw_ranking_create(fw_ranking **ranking, fw_loss_type loss, furrow_error *err) FURROW_MUST_USE;
void fw_ranking_free(fw_ranking *ranking);
/* Forgets all rows; then up to `exact_rows` of them are kept. */
void fw_ranking_clear(fw_ranking *ranking, size_t exact_rows);

/* `out` is the graph's output; weight >= 0, a float. */
void fw_ranking_add(fw_ranking *ranking, double out, bool positive, double weight);
/* Prefetches the bin that this row will need, a little before it is added. */
void fw_ranking_expect(const fw_ranking *ranking, double out);
/* Sorts the rows that are kept, with all threads, for figures that need the order later. If memory is short, it does
 * nothing. */
void fw_ranking_sort(fw_ranking *ranking, fw_spin_pool *pool);
/* Works out the figures of all rows so far, for later. */
void fw_ranking_sum(fw_ranking *ranking);
void fw_ranking_merge(fw_ranking *into, const fw_ranking *from);
/* Gives each rank the rows of all ranks. Rows are kept if all ranks together have at most one rank's limit. */
furrow_status fw_ranking_reduce(fw_ranking *ranking, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* Computes the figures of the rows of all ranks on each rank, with the bits of one process as long as rows are kept.
 * The result equals a reduction, but afterwards every rank has only some of the rows: only the figures can be read, and
 * no rows can be added. */
furrow_status fw_ranking_sum_ranks(fw_ranking *ranking, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* The figures of the rows. May be called from any number of threads at once. */
typedef struct fw_ranking_figures {
  double auc;    /* the chance that a positive row is above a negative one, a tie being half a chance; NaN: one class */
  double pr_auc; /* average precision: the precision at each threshold, weighted by the recall it adds; NaN: no
                    positive row */
  bool binned;
} fw_ranking_figures;
fw_ranking_figures fw_ranking_get_figures(const fw_ranking *ranking);

/* As furrow_evaluation_get_calibration_bin, _roc_curve and (precision) _pr_curve. */
void fw_ranking_calibration(const fw_ranking *ranking, size_t bins, size_t i, furrow_calibration_bin *row);
size_t fw_ranking_curve(const fw_ranking *ranking, bool precision, furrow_curve_point *points, size_t capacity);

/* ---- Figures of rows ---- */

/* A confusion matrix of more classes is not kept: it would need more than 8 MiB. */
enum { FW_CONFUSION_CLASSES = 1024 };

/* Sums of losses and errors, counts of classes, and for models of two classes the order of the scores. */
typedef struct fw_tally fw_tally;

/* Takes up to FW_EXACT_ROWS rows before AUC comes from bins, until fw_tally_clear says otherwise. */
furrow_status fw_tally_create(fw_tally **tally, const fw_graph *graph, furrow_error *err) FURROW_MUST_USE;
void fw_tally_free(fw_tally *tally);
/* Forgets all rows; then AUC is exact for up to `exact_rows` of them. */
void fw_tally_clear(fw_tally *tally, size_t exact_rows);

/* Counts a row by the outputs of its graph (graph.outputs numbers); weight >= 0. */
void fw_tally_add(fw_tally *tally, const double *out, double label, double weight);
/* The terms of a row, which do not depend on other rows. `score` is the probability of the positive class, with the
 * sign bit set if the negative class is predicted; with several classes it is the predicted class; of PoissonLoss it is
 * the prediction. fw_tally_add computes the terms and adds them. */
typedef struct fw_row_terms {
  double loss, score;
} fw_row_terms;
fw_row_terms fw_row_terms_of(const fw_graph *graph, const double *out, double label);
void fw_tally_add_terms(fw_tally *tally, const double *out, double label, double weight, fw_row_terms terms);
/* Adds rows one after the other: the same sums as fw_tally_add_terms has, faster, and with several threads. `out` is
 * the only output of a row; not used with several classes. `last`: figures are requested next. */
typedef struct fw_tally_row {
  fw_row_terms terms;
  double out;
  float label, weight;
} fw_tally_row;
void fw_tally_add_rows(fw_tally *tally, const fw_tally_row *rows, size_t count, bool last, fw_spin_pool *pool);
/* Sets the loss of the best constant, if it is a quantile of the labels: a tally cannot compute it. */
void fw_tally_put_constant(fw_tally *tally, double loss);
/* Fills in figures that are other names of the loss: a checkpoint has only the loss. */
void fw_metrics_name_loss(furrow_learn_metrics *metrics, fw_loss_type loss);
/* Sets the NDCG of rows that are ranked in groups: a tally cannot compute it. */
void fw_tally_put_ndcg(fw_tally *tally, double ndcg);
/* The same for metrics: sets the loss to 1 - NDCG, and NDCG to 1 - loss, because a checkpoint has only the loss. */
void fw_metrics_put_ndcg(furrow_learn_metrics *metrics, double ndcg);
/* Prefetches the memory that this row will need, a little before it is added. */
void fw_tally_expect(const fw_tally *tally, const double *out);
/* Adds what another tally of the same graph has gathered. */
void fw_tally_merge(fw_tally *into, const fw_tally *from);
/* Gives each rank the sum over all ranks. Sums are added in the order of ranks: their last digits may differ from the
 * sums of one process. The figures that follow from the order of scores do not differ. */
furrow_status fw_tally_reduce(fw_tally *tally, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* One rank after the other adds its rows to the sums of those before it: each rank has the sums of all rows, with the
 * bits of one process. Then the tally is for fw_tally_metrics alone, until it is cleared. */
furrow_status fw_tally_add_by_rank(fw_tally *tally, const furrow_comm *comm, void (*add)(void *user, fw_tally *tally),
                                   void *user, furrow_error *err) FURROW_MUST_USE;

/* Rows with their scores: the scores of output 0 for all rows, then of output 1 … */
typedef struct fw_scored_rows {
  const double *score;
  size_t count;
  const float *label, *weight; /* weight NULL: all 1 */
  uint64_t first;              /* number of the first row among the rows of all ranks */
} fw_scored_rows;
/* Adds every `every`-th of all ranks' rows, in their order and with several threads: each rank has the sums of one
 * process, to the last bit. Over several ranks the tally is for fw_tally_metrics alone, until it is cleared. */
furrow_status fw_tally_add_scored(fw_tally *tally, const fw_scored_rows *rows, size_t every, const furrow_comm *comm,
                                  fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;

/* Whether models of a loss have the figure at this place of furrow_learn_metrics. */
bool fw_loss_has_metric(fw_loss_type loss, size_t offset);
void fw_tally_metrics(const fw_tally *tally, furrow_learn_metrics *metrics);

/* The order of the scores; NULL unless there are two classes. */
const fw_ranking *fw_tally_ranking(const fw_tally *tally);
/* As furrow_evaluation_class_count, _get_class and _confusion. */
size_t fw_tally_class_count(const fw_tally *tally);
void fw_tally_class(const fw_tally *tally, size_t i, furrow_class_figures *figures);
double fw_tally_confusion(const fw_tally *tally, size_t actual, size_t predicted);

/* ---- Quantiles (quantiles.c) ---- */

/* A number as quantiles count it: keys ascend with the numbers, which are rounded to floats; -0 is 0. */
static inline uint32_t fw_quantile_key(double number) {
  const double most = 0x1.fffffep127;
  const float rounded = (float)(number > most ? most : number < -most ? -most : number) + 0.0F;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return bits >> 31 ? ~bits : bits | (uint32_t)1 << 31;
}

/* Groups of numbers, and their weights: group g has begin[g] … end[g] - 1. Weights are counted in units, 2^-30 of the
 * largest weight or a little more, so that sums do not depend on their order. */
typedef struct fw_quantile_groups {
  const uint32_t *key;
  const float *weight; /* NULL: all 1 */
  double most_weight;  /* of all ranks */
  const size_t *begin, *end;
  size_t count;
} fw_quantile_groups;

/* The quantile of each group over all ranks, which have the same groups: the least number up to which the group has a
 * share `level` of its weight. If the share is exact there, the middle between it and the next number, which is the
 * median that statisticians use. Of a group without weight: 0. */
furrow_status fw_quantiles_find(const fw_quantile_groups *groups, double level, const furrow_comm *comm,
                                fw_spin_pool *pool, double *quantile, furrow_error *err) FURROW_MUST_USE;
/* The loss of the best constant for some labels, of a loss whose best constant is a quantile; weight NULL: all 1. NaN:
 * there are none, or memory is short. */
double fw_constant_loss(const fw_graph *graph, const float *label, const float *weight, size_t count);

/* ---- Groups of rows (row_groups.c) ---- */

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
/* The discount of a position, counted from 0: 1 / log2(position + 2). */
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
