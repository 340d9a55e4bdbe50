/* learn/score/evaluation.c: how good the scores of a model are on rows with labels. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/data/data_facts.h"
#include "learn/metrics/metrics.h"
#include "learn/net/net_solver.h"
#include "learn/score/scorer.h"

/* Rows of a model that ranks the rows of a group, which may come with any block; or, of a loss whose best constant is a
 * quantile, the rows that it is found from. */
typedef struct ranked_rows {
  size_t count, capacity[4];
  uint64_t *qid;
  double *score;
  float *label, *weight;
  bool lost; /* there was not the memory to merge */
} ranked_rows;

struct furrow_evaluation {
  const furrow_scorer *scorer;
  fw_tally *tally;
  uint64_t rows; /* rows of the blocks before the current one */
  ranked_rows ranked;
};

furrow_status furrow_evaluation_create(furrow_evaluation **evaluation, const furrow_scorer *scorer, furrow_error *err) {
  furrow_evaluation *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->scorer = scorer;
  const furrow_status status = fw_tally_create(&made->tally, &scorer->plan->graph, err);
  return FW_HAND_OVER(status, evaluation, made, furrow_evaluation_free);
}

void furrow_evaluation_free(furrow_evaluation *evaluation) {
  if (!evaluation) return;
  fw_tally_free(evaluation->tally);
  fw_free(evaluation->ranked.qid);
  fw_free(evaluation->ranked.score);
  fw_free(evaluation->ranked.label);
  fw_free(evaluation->ranked.weight);
  fw_free(evaluation);
}

/* ---- Rows that are ranked ---- */

static furrow_status reserve_ranked(ranked_rows *r, size_t more, furrow_error *err) {
  const size_t rows = r->count + more;
  FW_TRY(FW_GROW(&r->qid, &r->capacity[0], rows, err));
  FW_TRY(FW_GROW(&r->score, &r->capacity[1], rows, err));
  FW_TRY(FW_GROW(&r->label, &r->capacity[2], rows, err));
  return FW_GROW(&r->weight, &r->capacity[3], rows, err);
}

static void add_ranked(ranked_rows *r, uint64_t qid, double score, double label, double weight) {
  r->qid[r->count] = qid;
  r->score[r->count] = score;
  r->label[r->count] = (float)label;
  r->weight[r->count++] = (float)weight;
}

static double ndcg_of(const ranked_rows *r) {
  fw_row_groups groups = {0};
  const bool made = !r->lost && fw_row_groups_init(&groups, r->qid, r->count, NULL) == FURROW_OK;
  const double ndcg = made ? fw_row_groups_ndcg(&groups, r->score, r->label, r->weight) : NAN;
  fw_row_groups_clear(&groups);
  return ndcg;
}

/* ---- Blocks ---- */

/* Rows on their way to the tally, and the first one that is refused, for its score, weight or label. */
typedef struct taking {
  const fw_graph *graph;
  fw_tally *tally;
  ranked_rows *ranked; /* NULL: rows are not kept */
  const uint64_t *qid;
  size_t bad_row; /* from 1; 0: none */
  bool bad_score;
  double weight, label; /* weight and label of the bad row */
} taking;

static bool are_finite(const double *outputs, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(outputs[i])) return false;
  return true;
}

static bool is_weight(double weight) {
  return weight >= 0 && isfinite(weight);
}

static void take_outputs(void *user, size_t row, double label, double weight, const double *outputs) {
  taking *t = user;
  const bool good_score = are_finite(outputs, t->graph->outputs);
  if (good_score && is_weight(weight) && fw_loss_takes(t->graph, label)) {
    fw_tally_add(t->tally, outputs, label, weight);
    if (t->ranked) add_ranked(t->ranked, t->qid ? t->qid[row] : 0, *outputs, label, weight);
  } else if (t->bad_row == 0) {
    t->bad_row = row + 1;
    t->bad_score = !good_score;
    t->weight = weight;
    t->label = label;
  }
}

/* Refuses the label as it is in the data, if the model has a list of its classes' labels. */
static furrow_status refuse_label(const taking *t, const fw_data_conf *data, const furrow_rowblock *block,
                                  furrow_error *err) {
  if (!isinf(t->label) || data->label_count == 0) return fw_loss_refuse(t->graph, t->label, err);
  return fw_label_refuse(data, furrow_values_get(block->label, block->value_type, t->bad_row - 1), err);
}

/* Says what is wrong with the bad row of a block, which is row `number` of the data. */
static furrow_status refuse_row(const taking *t, const fw_data_conf *data, const furrow_rowblock *block,
                                uint64_t number, furrow_error *err) {
  if (t->bad_score)
    return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 ": its score is infinite or not a number", number);
  if (!is_weight(t->weight))
    return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 ": the row's weight is %g", number, t->weight);
  const furrow_status status = refuse_label(t, data, block, err);
  fw_error_prefix_row(err, number);
  return status;
}

furrow_status furrow_evaluation_add_block(furrow_evaluation *evaluation, furrow_scorer_scratch *scratch,
                                          const furrow_rowblock *block, furrow_error *err) {
  if (block->size > 0 && !block->label.any)
    return fw_fail(err, FURROW_E_ARGUMENT, "rows without labels cannot be evaluated");
  const fw_plan *plan = evaluation->scorer->plan;
  taking t = {.graph = &plan->graph, .tally = evaluation->tally, .qid = block->qid};
  if (fw_loss_is_of_quantile(&plan->graph, NULL)) {
    FW_TRY(reserve_ranked(&evaluation->ranked, block->size, err));
    t.ranked = &evaluation->ranked;
  }
  if (plan->graph.loss == FW_LOSS_LAMBDA) {
    if (block->size > 0 && !block->qid) {
      fw_fail_group(err);
      fw_error_prefix_row(err, evaluation->rows + 1);
      return FURROW_E_RANGE;
    }
    FW_TRY(reserve_ranked(&evaluation->ranked, block->size, err));
    t.ranked = &evaluation->ranked;
  }
  furrow_status status = fw_scorer_run(evaluation->scorer, scratch, block, take_outputs, &t, err);
  if (status == FURROW_OK && t.bad_row > 0)
    status = refuse_row(&t, &plan->data, block, evaluation->rows + t.bad_row, err);
  evaluation->rows += block->size;
  return status;
}

void furrow_evaluation_merge(furrow_evaluation *into, const furrow_evaluation *from) {
  const ranked_rows *more = &from->ranked;
  fw_tally_merge(into->tally, from->tally);
  into->ranked.lost |= more->lost || (more->count > 0 && reserve_ranked(&into->ranked, more->count, NULL) != FURROW_OK);
  for (size_t i = 0; i < more->count && !into->ranked.lost; i++)
    add_ranked(&into->ranked, more->qid[i], more->score[i], (double)more->label[i], (double)more->weight[i]);
}

void furrow_evaluation_get_metrics(const furrow_evaluation *evaluation, furrow_learn_metrics *metrics) {
  furrow_learn_metrics full;
  fw_tally_metrics(evaluation->tally, &full);
  if (evaluation->scorer->plan->graph.loss == FW_LOSS_LAMBDA) fw_metrics_put_ndcg(&full, ndcg_of(&evaluation->ranked));
  const ranked_rows *kept = &evaluation->ranked;
  const fw_graph *graph = &evaluation->scorer->plan->graph;
  if (fw_loss_is_of_quantile(graph, NULL) && !kept->lost)
    full.constant_loss = fw_constant_loss(graph, kept->label, kept->weight, kept->count);
  fw_info_write(metrics, &full, sizeof full);
}

size_t furrow_evaluation_class_count(const furrow_evaluation *evaluation) {
  return fw_tally_class_count(evaluation->tally);
}

void furrow_evaluation_get_class(const furrow_evaluation *evaluation, size_t i, furrow_class_figures *figures) {
  furrow_class_figures full;
  fw_tally_class(evaluation->tally, i, &full);
  if (i < furrow_evaluation_class_count(evaluation)) full.label = furrow_scorer_class_label(evaluation->scorer, i);
  fw_info_write(figures, &full, sizeof full);
}

double furrow_evaluation_confusion(const furrow_evaluation *evaluation, size_t actual, size_t predicted) {
  return fw_tally_confusion(evaluation->tally, actual, predicted);
}

void furrow_evaluation_get_calibration_bin(const furrow_evaluation *evaluation, size_t bins, size_t i,
                                           furrow_calibration_bin *bin) {
  const fw_ranking *ranking = fw_tally_ranking(evaluation->tally);
  furrow_calibration_bin full = {
      .size = sizeof full, .low = (double)i / (double)bins, .high = (double)(i + 1) / (double)bins};
  if (ranking) fw_ranking_calibration(ranking, bins, i, &full);
  fw_info_write(bin, &full, sizeof full);
}

size_t furrow_evaluation_roc_curve(const furrow_evaluation *evaluation, furrow_curve_point *points, size_t capacity) {
  const fw_ranking *ranking = fw_tally_ranking(evaluation->tally);
  return ranking ? fw_ranking_curve(ranking, false, points, capacity) : 0;
}

size_t furrow_evaluation_pr_curve(const furrow_evaluation *evaluation, furrow_curve_point *points, size_t capacity) {
  const fw_ranking *ranking = fw_tally_ranking(evaluation->tally);
  return ranking ? fw_ranking_curve(ranking, true, points, capacity) : 0;
}

/* ---- Ranks ---- */

/* The rows of one rank, which are added after the rows of the ranks before it. */
typedef struct rank_rows {
  furrow_evaluation *evaluation;
  furrow_scorer_scratch *scratch;
  const furrow_rowblock *rows;
  furrow_status status;
  furrow_error *err;
} rank_rows;

static void add_own_rows(void *user, fw_tally *tally) {
  rank_rows *own = user;
  (void)tally; /* the evaluation's own */
  if (own->status == FURROW_OK)
    own->status = furrow_evaluation_add_block(own->evaluation, own->scratch, own->rows, own->err);
}

furrow_status fw_evaluation_add_ranks(furrow_evaluation *evaluation, furrow_scorer_scratch *scratch,
                                      const furrow_rowblock *rows, const furrow_comm *comm, furrow_error *err) {
  if (evaluation->scorer->plan->graph.loss == FW_LOSS_LAMBDA)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "groups of rows are evaluated by one process");
  evaluation->ranked.lost |= comm->ranks > 1; /* the other ranks' labels are not here */
  rank_rows own = {evaluation, scratch, rows, FURROW_OK, err};
  FW_TRY(fw_tally_add_by_rank(evaluation->tally, comm, add_own_rows, &own, err));
  return fw_comm_share_status(comm, own.status, err);
}
