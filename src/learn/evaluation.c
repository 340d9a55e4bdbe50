/* learn/evaluation.c: how good the scores of a model are on rows with labels. */
#include "base/error.h"
#include "base/mem.h"
#include "learn/metrics.h"
#include "learn/scorer.h"

struct furrow_evaluation {
  const furrow_scorer *scorer;
  fw_tally *tally;
};

furrow_status furrow_evaluation_create(furrow_evaluation **evaluation, const furrow_scorer *scorer, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **evaluation, err);
  if (status != FURROW_OK) return status;
  furrow_evaluation *made = memory;
  made->scorer = scorer;
  status = fw_tally_create(&made->tally, &fw_scorer_plan(scorer)->graph, err);
  if (status == FURROW_OK)
    *evaluation = made;
  else
    furrow_evaluation_free(made);
  return status;
}

void furrow_evaluation_free(furrow_evaluation *evaluation) {
  if (!evaluation) return;
  fw_tally_free(evaluation->tally);
  fw_free(evaluation);
}

static void take_outputs(void *user, size_t row, double label, double weight, const double *outputs) {
  (void)row;
  fw_tally_add(user, outputs, label, weight);
}

static furrow_status check_labels(const furrow_rowblock *block, furrow_error *err) {
  if (block->size == 0 || block->label.any) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "rows without labels cannot be evaluated");
}

furrow_status furrow_evaluation_block(furrow_evaluation *evaluation, furrow_score_space *space,
                                      const furrow_rowblock *block, furrow_error *err) {
  furrow_status status = check_labels(block, err);
  if (status != FURROW_OK) return status;
  return fw_scorer_run(evaluation->scorer, space, block, take_outputs, evaluation->tally, err);
}

void furrow_evaluation_merge(furrow_evaluation *into, const furrow_evaluation *from) {
  fw_tally_merge(into->tally, from->tally);
}

void furrow_evaluation_metrics(const furrow_evaluation *evaluation, furrow_metrics *metrics) {
  fw_tally_metrics(evaluation->tally, metrics);
}

void furrow_evaluation_calibration(const furrow_evaluation *evaluation, size_t bins, size_t i,
                                   furrow_calibration *row) {
  fw_tally_calibration(evaluation->tally, bins, i, row);
}

size_t furrow_evaluation_roc(const furrow_evaluation *evaluation, furrow_curve_point *points, size_t room) {
  return fw_tally_roc(evaluation->tally, points, room);
}

size_t furrow_evaluation_pr(const furrow_evaluation *evaluation, furrow_curve_point *points, size_t room) {
  return fw_tally_pr(evaluation->tally, points, room);
}
