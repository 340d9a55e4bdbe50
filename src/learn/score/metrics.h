/* learn/score/metrics.h: figures of scored rows, gathered in memory that does not grow with the rows. */
#ifndef FW_LEARN_SCORE_METRICS_H
#define FW_LEARN_SCORE_METRICS_H

#include "comm/comm.h"
#include "learn/conf/conf.h"

/* Sums of losses and errors, and for models of two classes a fine histogram of the scores of each class, from which
 * AUC, curves and calibration come: a bin is 1/1024 of its scores wide at most, and two rows of one bin count as a tie.
 */
typedef struct fw_tally fw_tally;

furrow_status fw_tally_create(fw_tally **tally, const fw_graph *graph, furrow_error *err) FURROW_MUST_USE;
void fw_tally_free(fw_tally *tally);
void fw_tally_clear(fw_tally *tally);

/* Counts a row by the outputs of its graph (graph.outputs numbers). */
void fw_tally_add(fw_tally *tally, const double *out, double label, double weight);
/* Prefetches the memory that this row will need, a little before it is added. */
void fw_tally_expect(const fw_tally *tally, const double *out);
/* Adds what another tally of the same graph has gathered. */
void fw_tally_merge(fw_tally *into, const fw_tally *from);
/* The sum over all ranks, for each rank. */
furrow_status fw_tally_reduce(fw_tally *tally, const fw_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* Whether models of a loss have the figure at this place of furrow_learn_metrics. */
bool fw_loss_has_metric(fw_loss_type loss, size_t offset);
void fw_tally_metrics(const fw_tally *tally, furrow_learn_metrics *metrics);

/* As furrow_evaluation_get_calibration_bin, _roc and _pr; nothing but zeros, and no points, unless there are two
 * classes. Thresholds are probabilities. */
void fw_tally_calibration(const fw_tally *tally, size_t bins, size_t i, furrow_calibration_bin *row);
size_t fw_tally_roc(const fw_tally *tally, furrow_curve_point *points, size_t capacity);
size_t fw_tally_pr(const fw_tally *tally, furrow_curve_point *points, size_t capacity);

#endif
