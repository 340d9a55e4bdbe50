/* learn/metrics/metrics.h: figures of scored rows. */
#ifndef FW_LEARN_METRICS_METRICS_H
#define FW_LEARN_METRICS_METRICS_H

#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/metrics/ranking.h"

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
/* What of a row can be found without the rows before it: `score` is the probability of the positive class, negative
 * (-0, too) where the other one is predicted; of several classes the predicted one. fw_tally_add does both. */
typedef struct fw_row_terms {
  double loss, score;
} fw_row_terms;
fw_row_terms fw_row_terms_of(const fw_graph *graph, const double *out, double label);
void fw_tally_add_terms(fw_tally *tally, const double *out, double label, double weight, fw_row_terms terms);
/* Adds rows one after the other: the same sums as fw_tally_add_terms has, faster, and with several threads. `out` is
 * the only output of a row; of several classes it is not used. `last`: figures will be asked for next. */
typedef struct fw_tally_row {
  fw_row_terms terms;
  double out;
  float label, weight;
} fw_tally_row;
void fw_tally_add_rows(fw_tally *tally, const fw_tally_row *rows, size_t count, bool last, fw_spin_pool *pool);
/* NDCG of rows that are ranked in groups, which a tally does not know. */
void fw_tally_put_ndcg(fw_tally *tally, double ndcg);
/* The same, of metrics. Their loss is 1 - NDCG, and NDCG what that leaves of 1: a checkpoint has the loss alone. */
void fw_metrics_put_ndcg(furrow_learn_metrics *metrics, double ndcg);
/* Prefetches the memory that this row will need, a little before it is added. */
void fw_tally_expect(const fw_tally *tally, const double *out);
/* Adds what another tally of the same graph has gathered. */
void fw_tally_merge(fw_tally *into, const fw_tally *from);
/* The sum over all ranks, for each rank. Sums are in the order of ranks: their last digits may differ from those of
 * one process, the figures that follow from the order of scores do not. */
furrow_status fw_tally_reduce(fw_tally *tally, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;

/* One rank after the other adds its rows to the sums of those before it: each rank has the sums of all rows, with the
 * bits of one process. Then the tally is for fw_tally_metrics alone, until it is cleared. */
furrow_status fw_tally_add_by_rank(fw_tally *tally, const furrow_comm *comm, void (*add)(void *user, fw_tally *tally),
                                   void *user, furrow_error *err) FURROW_MUST_USE;

/* Whether models of a loss have the figure at this place of furrow_learn_metrics. */
bool fw_loss_has_metric(fw_loss_type loss, size_t offset);
void fw_tally_metrics(const fw_tally *tally, furrow_learn_metrics *metrics);

/* The order of the scores; NULL unless there are two classes. */
const fw_ranking *fw_tally_ranking(const fw_tally *tally);
/* As furrow_evaluation_class_count, _get_class and _confusion. */
size_t fw_tally_class_count(const fw_tally *tally);
void fw_tally_class(const fw_tally *tally, size_t i, furrow_class_figures *figures);
double fw_tally_confusion(const fw_tally *tally, size_t actual, size_t predicted);

#endif
