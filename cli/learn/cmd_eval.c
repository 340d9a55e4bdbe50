/* cli/learn/cmd_eval.c: furrow eval: how good a model is on rows with labels. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/shared_options.h"
#include "core/shown_text.h"
#include "core/written.h"
#include "draw/chart.h"
#include "learn/eval_report.h"
#include "learn/scoring.h"
#include "recommend/eval_rank.h"

enum { CURVE_POINTS = 512, MOST_BINS = 1000 };

typedef struct eval_values {
  scoring_values scoring;
  rank_values rank;
  const char *curves;
  uint32_t bins;
  bool json, force;
} eval_values;

#define AT(field) offsetof(eval_values, field)
static const option eval_options[] = {
    {.name = "bins",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "bins of the calibration table (10; at most 1000; 0: no table)",
     .offset = AT(bins)},
    {.name = "curves",
     .kind = OPTION_TEXT,
     .argument = "FILE.svg",
     .help = "draw the ROC curve, the precision-recall curve and the calibration",
     .offset = AT(curves),
     .written = true},
    {.name = "json", .kind = OPTION_FLAG, .help = "report as JSON", .offset = AT(json)},
    {.name = "force", .kind = OPTION_FLAG, .help = "replace an existing file", .offset = AT(force)},
    {0}};
#undef AT

static const option_group eval_groups[] = {
    {.title = "Options", .options = scoring_options, .offset = offsetof(eval_values, scoring)},
    {.title = "Options", .options = graph_options, .offset = offsetof(eval_values, scoring)},
    {.title = "Options", .options = plugin_options},
    {.title = "Rankings", .options = rank_options, .offset = offsetof(eval_values, rank)},
    {.title = "Rankings", .options = finding_options, .offset = offsetof(eval_values, rank.finding)},
    {.title = "Output", .options = eval_options},
    {0}};

static void eval_init(void *values) {
  ((eval_values *)values)->bins = 10;
}

/* ---- Curves ---- */

typedef struct curve {
  double x[CURVE_POINTS], y[CURVE_POINTS];
  size_t count;
} curve;

static void take_points(curve *c, const furrow_curve_point *points, size_t count) {
  for (size_t i = 0; i < count; i++) c->x[i] = points[i].x, c->y[i] = points[i].y;
  c->count = count;
}

static void take_calibration(curve *c, const furrow_evaluation *evaluation, uint32_t bins) {
  c->count = 0;
  for (uint32_t i = 0; i < bins && c->count < CURVE_POINTS; i++) {
    furrow_calibration_bin row;
    furrow_calibration_bin_init(&row);
    furrow_evaluation_get_calibration_bin(evaluation, bins, i, &row);
    if (row.rows <= 0) continue;
    c->x[c->count] = row.mean_prediction;
    c->y[c->count++] = row.mean_label;
  }
}

static furrow_status draw_curves(const eval_values *values, const furrow_evaluation *evaluation, furrow_error *err) {
  static const double ends[2] = {0, 1};
  curve *curves = calloc(3, sizeof *curves);
  furrow_curve_point *points = calloc(CURVE_POINTS, sizeof *points);
  furrow_status status = curves && points ? FURROW_OK : fail_memory(err);
  if (status == FURROW_OK) {
    take_points(&curves[0], points, furrow_evaluation_roc_curve(evaluation, points, CURVE_POINTS));
    take_points(&curves[1], points, furrow_evaluation_pr_curve(evaluation, points, CURVE_POINTS));
    take_calibration(&curves[2], evaluation, values->bins ? values->bins : 10);
    const chart_curve chance = {.name = "chance", .x = ends, .y = ends, .count = 2, .dashed = true};
    const chart_curve exact = {.name = "exact", .x = ends, .y = ends, .count = 2, .dashed = true};
    const chart_curve roc[] = {{.name = "model", .x = curves[0].x, .y = curves[0].y, .count = curves[0].count}, chance};
    const chart_curve pr[] = {{.name = "model", .x = curves[1].x, .y = curves[1].y, .count = curves[1].count}};
    const chart_curve calibration[] = {
        {.name = "model", .x = curves[2].x, .y = curves[2].y, .count = curves[2].count, .marks = true}, exact};
    const chart charts[] = {{.title = "ROC",
                             .x_axis = "false positive rate",
                             .y_axis = "true positive rate",
                             .curves = roc,
                             .count = 2,
                             .unit = true},
                            {.title = "Precision and recall",
                             .x_axis = "recall",
                             .y_axis = "precision",
                             .curves = pr,
                             .count = 1,
                             .unit = true},
                            {.title = "Calibration",
                             .x_axis = "mean probability of a bin",
                             .y_axis = "share of positives",
                             .curves = calibration,
                             .count = 2,
                             .unit = true}};
    status = charts_write(values->curves, charts, 3, values->force, err);
  }
  free(curves);
  free(points);
  return status;
}

/* ---- The command ---- */

/* A model that ranks has no figures of single rows. */
static void note_ranks(const eval_values *values, const eval_report *r) {
  if (values->scoring.quiet || !isnan(r->metrics.rmse) || !isnan(r->metrics.ndcg) ||
      furrow_evaluation_class_count(r->evaluation) > 0)
    return;
  say("furrow: note: the model ranks: --rank evaluates %s\n",
      furrow_scorer_encoder(r->scorer) ? "it" : "such models, if they are trained on raw logs");
}

static furrow_status print_report(const eval_values *values, const scoring *s, const furrow_evaluation *evaluation,
                                  output *out, furrow_error *err) {
  eval_report r = {.scorer = s->scorer, .evaluation = evaluation, .bins = values->bins, .names = &s->names};
  furrow_learn_metrics_init(&r.metrics);
  furrow_evaluation_get_metrics(evaluation, &r.metrics);
  const furrow_status status = eval_report_print(&r, values->json, out, err);
  if (status == FURROW_OK) note_ranks(values, &r);
  if (status != FURROW_OK || !values->curves) return status;
  if (isnan(r.metrics.auc))
    return fail(err, FURROW_E_UNSUPPORTED, "curves need a model of two classes and rows of both classes");
  return draw_curves(values, evaluation, err);
}

static furrow_status run_rank(const eval_values *values, output *out, furrow_error *err) {
  const scoring_values *from = &values->scoring;
  if (values->curves || from->conf || from->algorithm || from->format || from->define.count > 0)
    return fail(err, FURROW_E_ARGUMENT,
                "--rank takes a raw log and a model of one: --curves, --format, --conf, --algorithm and -D do not go "
                "with it");
  if (!from->data) return fail(err, FURROW_E_ARGUMENT, "--data LOG is missing, the events");
  const rank_source log = {
      .model = from->model, .data = from->data, .threads = from->threads, .on_bad = from->on_bad, .quiet = from->quiet};
  return eval_rank_run(&values->rank, &log, values->json, out, err);
}

static furrow_status run_eval(const void *values, output *out, furrow_error *err) {
  const eval_values *eval = values;
  scoring s = {0};
  furrow_evaluation *evaluation = NULL;
  const furrow_rowblock *block = NULL;
  if (eval->rank.on) return run_rank(eval, out, err);
  if (rank_values_given(&eval->rank)) return fail(err, FURROW_E_ARGUMENT, "options of rankings need --rank");
  if (eval->bins > MOST_BINS) return fail(err, FURROW_E_ARGUMENT, "--bins must be at most %d", MOST_BINS);
  furrow_status status = eval->curves ? written_check_path(eval->curves, eval->force, err) : FURROW_OK;
  if (status == FURROW_OK) status = scoring_open(&s, &eval->scoring, err);
  if (status == FURROW_OK) status = furrow_evaluation_create(&evaluation, s.scorer, err);
  while (status == FURROW_OK && (status = scoring_next(&s, &block, err)) == FURROW_OK) {
    status = furrow_evaluation_add_block(evaluation, s.space, block, err);
    if (status != FURROW_OK) scoring_locate_error(&s, block, err);
  }
  if (status == FURROW_END && s.rows == 0)
    status = fail_in(err, FURROW_E_ARGUMENT, eval->scoring.data, "there are no rows to evaluate");
  if (status == FURROW_END) status = print_report(eval, &s, evaluation, out, err);
  if (status == FURROW_OK) scoring_print_notes(&s);
  furrow_evaluation_free(evaluation);
  scoring_close(&s);
  return status;
}

const command eval_command = {
    .name = "eval",
    .summary = "measure a model on labelled rows: loss, AUC, accuracy, classes, calibration, curves",
    .example = "furrow eval --model clicks.model --data test.libsvm\n"
               "furrow eval --model clicks.model --data test.libsvm --curves curves.svg --json\n"
               "furrow eval --model movies.model --data test.csv --rank -k 10 --exclude train.csv",
    .about = "Transforms labels as in training. For models of two classes it prints AUC, PR-AUC (average precision), "
             "accuracy, logloss and a calibration table and can draw curves; for several classes accuracy, logloss "
             "and means over the classes; for regression RMSE, MAE and R2. Classes have a table of precision, recall "
             "and F1 and a confusion matrix. `constant` figures are those of a constant prediction for the same "
             "rows: a model that is worse gets a warning.\n\n"
             "With --rank it recommends to all users of the log, over all items, and counts how many of the log's "
             "items they get, of models of two classes those with the positive label: NDCG, recall, MAP, MRR and hit "
             "rate at K with 95 % confidence intervals over users, and "
             "the share of the items that anyone gets (coverage).",
    .one_of = "--data URI",
    .groups = eval_groups,
    .size = sizeof(eval_values),
    .init = eval_init,
    .run = run_eval,
};
