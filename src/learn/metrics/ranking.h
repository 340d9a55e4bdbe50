/* learn/metrics/ranking.h: rows of two classes in the order of their scores, and what follows from that order: AUC,
 * average precision, curves, calibration. */
#ifndef FW_LEARN_METRICS_RANKING_H
#define FW_LEARN_METRICS_RANKING_H

#include "base/pool.h"
#include "comm/collectives.h"
#include "learn/conf/conf.h"

/* Rows that are kept one by one, with 12 bytes each and as much again while they are sorted: 384 MiB and 3 MiB.
 * Training keeps fewer: so many cost 3 % of an epoch of the cheapest model (lr, 14 features in a row) more than bins
 * do. */
enum { FW_EXACT_ROWS = 1 << 25, FW_EXACT_TRAIN_ROWS = 1 << 18 };

/* Keeps score, class and weight of each row and sorts them when a figure is asked for. Beyond the limit, and where
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
/* Sorts the rows that are kept with all threads; what needs their order later finds it. Where memory is short nothing
 * is done. */
void fw_ranking_sort(fw_ranking *ranking, fw_spin_pool *pool);
/* Works out the figures of all rows so far, for later. */
void fw_ranking_sum(fw_ranking *ranking);
void fw_ranking_merge(fw_ranking *into, const fw_ranking *from);
/* The rows of all ranks, for each rank: kept where there are no more than the limit of one. */
furrow_status fw_ranking_reduce(fw_ranking *ranking, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* The figures of the rows of all ranks, for each rank, with the bits of one process as long as rows are kept: the same
 * as a reduction, but every rank has only some of the rows afterwards. Nothing else can be asked, or added. */
furrow_status fw_ranking_sum_ranks(fw_ranking *ranking, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* The figures of the rows. Any number of threads may ask at once. */
typedef struct fw_ranking_figures {
  double auc;    /* the chance that a positive row is above a negative one, a tie being half a chance; NaN: one class */
  double pr_auc; /* average precision: the precision at each threshold, weighted by the recall it adds; NaN: no
                    positive row */
  bool binned;
} fw_ranking_figures;
fw_ranking_figures fw_ranking_get_figures(const fw_ranking *ranking);

/* As furrow_evaluation_get_calibration_bin, _roc_curve and _pr_curve. */
void fw_ranking_calibration(const fw_ranking *ranking, size_t bins, size_t i, furrow_calibration_bin *row);
size_t fw_ranking_roc(const fw_ranking *ranking, furrow_curve_point *points, size_t capacity);
size_t fw_ranking_pr(const fw_ranking *ranking, furrow_curve_point *points, size_t capacity);

#endif
