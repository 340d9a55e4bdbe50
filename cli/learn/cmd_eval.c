/* cli/learn/cmd_eval.c: furrow eval: how good a model is on rows with labels. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/output.h"
#include "core/report.h"
#include "core/shown_text.h"
#include "core/text_columns.h"
#include "core/written.h"
#include "draw/chart.h"
#include "learn/model_names.h"
#include "learn/scoring.h"
#include "learn/train_report.h"
#include "recommend/eval_rank.h"

enum { CURVE_POINTS = 512, MOST_BINS = 1000 };

typedef struct eval_values {
  scoring_values scoring;
  ranking_values ranking;
  const char *curves;
  uint32_t bins;
  bool json, force;
} eval_values;

#define AT(field) offsetof(eval_values, field)
static const option eval_options[] = {{.name = "bins",
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
                                      JSON_OPTION(AT(json)),
                                      FORCE_OPTION(AT(force)),
                                      {0}};
#undef AT

static const option_group eval_groups[] = {
    {.title = "Options", .options = scoring_options, .offset = offsetof(eval_values, scoring)},
    {.title = "Options", .options = query_options},
    {.title = "Options", .options = graph_options, .offset = offsetof(eval_values, scoring)},
    {.title = "Options", .options = plugin_options},
    {.title = "Rankings", .options = ranking_options, .offset = offsetof(eval_values, ranking)},
    {.title = "Rankings", .options = finding_options, .offset = offsetof(eval_values, ranking.finding)},
    {.title = "Output", .options = eval_options},
    {0}};

static void eval_init(void *values) {
  ((eval_values *)values)->bins = 10;
}

/* ---- The report ---- */

typedef struct eval_report {
  const furrow_scorer *scorer;
  const furrow_evaluation *evaluation;
  furrow_learn_metrics metrics; /* metrics of the evaluation */
  uint32_t bins;                /* bins of the calibration table; 0: none */
  const unknown_names *names;   /* names of the rows */
} eval_report;

enum { SHOWN_CLASSES = 20 };

/* ---- Warnings ---- */

enum { MOST_WARNINGS = 5, WARNING_SIZE = 160 };

typedef struct warnings {
  size_t count;
  char text[MOST_WARNINGS][WARNING_SIZE];
} warnings;

/* Warns if a figure is worse than the constant's by more than a rounding error. sign 1: less is better, -1: more is
 * better. */
static void warn_if_worse(warnings *w, const char *name, double value, double constant, double sign) {
  if (!(sign * (value - constant) > 1e-9 * fabs(constant))) return;
  snprintf(w->text[w->count++], WARNING_SIZE, "worse than a constant: %s is %.6g, the constant has %.6g", name, value,
           constant);
}

static void find_warnings(const eval_report *r, warnings *w) {
  const furrow_learn_metrics *m = &r->metrics;
  w->count = 0;
  if (!isnan(m->constant_loss)) { /* models of medians, quantiles and counts have their own */
    warn_if_worse(w, "loss", m->loss, m->constant_loss, 1);
  } else if (m->constant_logloss > 0 || m->constant_rmse > 0) { /* labels that do not differ are a constant */
    warn_if_worse(w, "logloss", m->logloss, m->constant_logloss, 1);
    warn_if_worse(w, "accuracy", m->accuracy, m->constant_accuracy, -1);
    warn_if_worse(w, "rmse", m->rmse, m->constant_rmse, 1);
  }
  if (furrow_evaluation_class_count(r->evaluation) == 2 && furrow_scorer_class_count(r->scorer) == 1 && isnan(m->auc))
    snprintf(w->text[w->count++], WARNING_SIZE, "auc is not defined: all rows are of one class");
  if (m->binned > 0)
    snprintf(w->text[w->count++], WARNING_SIZE,
             "auc, pr auc, calibration and curves are approximate: %" PRIu64 " rows were counted in bins", m->binned);
}

/* ---- JSON ---- */

static void report_classes(report *out, const eval_report *r) {
  report_list(out, "classes");
  for (size_t i = 0; i < furrow_evaluation_class_count(r->evaluation); i++) {
    char label[CLASS_LABEL_SIZE];
    furrow_class_figures f;
    furrow_class_figures_init(&f);
    furrow_evaluation_get_class(r->evaluation, i, &f);
    report_section(out, NULL);
    report_text(out, "label", class_label(label, r->scorer, f.label));
    report_f64(out, "rows", f.rows);
    report_f64(out, "predicted", f.predicted);
    report_f64(out, "precision", f.precision);
    report_f64(out, "recall", f.recall);
    report_f64(out, "f1", f.f1);
    report_end(out);
  }
  report_end(out);
}

static void report_confusion(report *out, const eval_report *r) {
  const size_t classes = furrow_evaluation_class_count(r->evaluation);
  if (isnan(furrow_evaluation_confusion(r->evaluation, 0, 0))) {
    report_none(out, "confusion");
    return;
  }
  report_list(out, "confusion");
  for (size_t actual = 0; actual < classes; actual++) {
    report_list(out, NULL);
    for (size_t i = 0; i < classes; i++) report_f64(out, NULL, furrow_evaluation_confusion(r->evaluation, actual, i));
    report_end(out);
  }
  report_end(out);
}

static void report_calibration(report *out, const eval_report *r) {
  report_list(out, "calibration");
  for (uint32_t i = 0; i < r->bins; i++) {
    furrow_calibration_bin row;
    furrow_calibration_bin_init(&row);
    furrow_evaluation_get_calibration_bin(r->evaluation, r->bins, i, &row);
    report_section(out, NULL);
    report_f64(out, "low", row.low);
    report_f64(out, "high", row.high);
    report_f64(out, "rows", row.rows);
    report_f64(out, "mean prediction", row.mean_prediction);
    report_f64(out, "mean label", row.mean_label);
    report_end(out);
  }
  report_end(out);
}

/* Columns with values that the model does not know. */
static void report_unknown_columns(report *out, const unknown_names *names) {
  if (names->column_count == 0) return;
  report_list(out, "unknown values");
  for (size_t i = 0; i < names->column_count; i++) {
    if (names->columns[i].rows == 0) continue;
    report_section(out, NULL);
    report_text(out, "column", names->columns[i].field.name);
    report_u64(out, "rows", names->columns[i].rows);
    report_end(out);
  }
  report_end(out);
}

static void report_warnings(report *out, const warnings *w) {
  if (!out->json) {
    for (size_t i = 0; i < w->count; i++) report_text(out, "warning", w->text[i]);
    return;
  }
  report_list(out, "warnings");
  for (size_t i = 0; i < w->count; i++) report_text(out, NULL, w->text[i]);
  report_end(out);
}

/* ---- Tables ---- */

static furrow_status print_classes(const eval_report *r, output *out, furrow_error *err) {
  const size_t classes = furrow_evaluation_class_count(r->evaluation);
  table t = {0};
  output_text(out, "\n");
  table_start(&t, "label|rows|predicted|precision|recall|f1");
  for (size_t i = 0; i < classes && i < SHOWN_CLASSES; i++) {
    char label[CLASS_LABEL_SIZE];
    furrow_class_figures f;
    furrow_class_figures_init(&f);
    furrow_evaluation_get_class(r->evaluation, i, &f);
    table_cell(&t, "%s", class_label(label, r->scorer, f.label));
    table_cell(&t, "%.10g", f.rows);
    table_cell(&t, "%.10g", f.predicted);
    table_cell(&t, "%.5f", f.precision);
    table_cell(&t, "%.5f", f.recall);
    table_cell(&t, "%.5f", f.f1);
  }
  const furrow_status status = table_finish(&t, 1, out, err);
  if (classes > SHOWN_CLASSES)
    output_format(out, "and %zu more classes, which --json lists, with the confusion matrix\n",
                  classes - SHOWN_CLASSES);
  return status;
}

/* A bar separates headings: in a label it becomes a slash; control characters would do harm. Long names are cut, whole
 * characters of UTF-8. */
static void add_heading(char *headings, const char *label) {
  size_t at = strlen(headings), length = strlen(label);
  if (length >= CLASS_LABEL_SIZE) length = CLASS_LABEL_SIZE - 1;
  while (length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80) length--;
  headings[at++] = '|';
  for (const char *end = label + length; label < end; label++)
    headings[at++] = *label == '|' ? '/' : (unsigned char)*label < 0x20 || *label == 0x7f ? '?' : *label;
  headings[at] = 0;
}

static furrow_status print_confusion(const eval_report *r, output *out, furrow_error *err) {
  const size_t classes = furrow_evaluation_class_count(r->evaluation);
  char headings[32 + SHOWN_CLASSES * (CLASS_LABEL_SIZE + 1)] = "label \\ prediction", label[CLASS_LABEL_SIZE];
  furrow_class_figures f;
  furrow_class_figures_init(&f);
  table t = {0};
  if (classes > SHOWN_CLASSES) return FURROW_OK;
  for (size_t i = 0; i < classes; i++) {
    furrow_evaluation_get_class(r->evaluation, i, &f);
    add_heading(headings, class_label(label, r->scorer, f.label));
  }
  output_text(out, "\n");
  table_start(&t, headings);
  for (size_t actual = 0; actual < classes; actual++) {
    furrow_evaluation_get_class(r->evaluation, actual, &f);
    table_cell(&t, "%s", class_label(label, r->scorer, f.label));
    for (size_t i = 0; i < classes; i++) table_cell(&t, "%.10g", furrow_evaluation_confusion(r->evaluation, actual, i));
  }
  return table_finish(&t, 1, out, err);
}

static furrow_status print_calibration(const eval_report *r, output *out, furrow_error *err) {
  table t = {0};
  output_text(out, "\n");
  table_start(&t, "probability|rows|mean prediction|mean label");
  for (uint32_t i = 0; i < r->bins; i++) {
    furrow_calibration_bin row;
    furrow_calibration_bin_init(&row);
    furrow_evaluation_get_calibration_bin(r->evaluation, r->bins, i, &row);
    if (row.rows <= 0) continue;
    table_cell(&t, "%.3g-%.3g", row.low, row.high);
    table_cell(&t, "%.10g", row.rows);
    table_cell(&t, "%.5f", row.mean_prediction);
    table_cell(&t, "%.5f", row.mean_label);
  }
  return table_finish(&t, 1, out, err);
}

/* Prints all for people, or all as JSON. Tables for people have up to 20 classes; JSON has every one. */
static furrow_status eval_report_print(const eval_report *r, bool json, output *out, furrow_error *err) {
  const bool classes = furrow_evaluation_class_count(r->evaluation) > 0;
  const bool calibration = !isnan(r->metrics.auc) && r->bins > 0;
  warnings found;
  report to;
  find_warnings(r, &found);
  report_start(&to, out, json);
  report_metrics(&to, &r->metrics);
  report_constant(&to, &r->metrics);
  report_warnings(&to, &found);
  if (json && r->names->user.used) report_u64(&to, "unknown users", r->names->user.rows);
  if (json && r->names->item.used) report_u64(&to, "unknown items", r->names->item.rows);
  if (json) report_unknown_columns(&to, r->names);
  if (json && classes) report_classes(&to, r);
  if (json && classes) report_confusion(&to, r);
  if (json && calibration) report_calibration(&to, r);
  report_finish(&to);
  furrow_status status = FURROW_OK;
  if (!json && classes) status = print_classes(r, out, err);
  if (!json && classes && status == FURROW_OK) status = print_confusion(r, out, err);
  if (!json && calibration && status == FURROW_OK) status = print_calibration(r, out, err);
  return status;
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

/* Notes that a model that ranks items has no figures of single rows. */
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

static furrow_status run_ranking(const eval_values *values, output *out, furrow_error *err) {
  const scoring_values *from = &values->scoring;
  if (values->curves || from->conf || from->algorithm || from->format || from->define.count > 0)
    return fail(err, FURROW_E_ARGUMENT,
                "--rank needs a raw log and a model of one: it cannot be used with --curves, --format, --conf, "
                "--algorithm and -D");
  if (!from->data) return fail(err, FURROW_E_ARGUMENT, "--data LOG is missing, the events");
  const ranking_source log = {
      .model = from->model, .data = from->data, .threads = from->threads, .on_bad = from->on_bad, .quiet = from->quiet};
  return eval_ranking_run(&values->ranking, &log, values->json, out, err);
}

static furrow_status run_eval(const void *values, output *out, furrow_error *err) {
  const eval_values *eval = values;
  scoring s = {0};
  furrow_evaluation *evaluation = NULL;
  const furrow_rowblock *block = NULL;
  if (eval->ranking.on) return run_ranking(eval, out, err);
  if (ranking_values_given(&eval->ranking)) return fail(err, FURROW_E_ARGUMENT, "options of rankings need --rank");
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
    .about =
        "Transforms labels as in training. For models of two classes it prints AUC, PR-AUC (average precision), "
        "accuracy, logloss and a calibration table and can draw curves; for several classes accuracy, logloss "
        "and means over the classes; for regression RMSE, MAE and R2. Classes have a table of precision, recall "
        "and F1 and a confusion matrix. `constant` figures belong to a constant prediction for the same "
        "rows: a warning says if the model is worse.\n\n"
        "With --rank it recommends items to all users of the log, and counts how many of the log's items each user "
        "gets (with models of two classes: only items with the positive label): NDCG, recall, MAP, MRR and hit "
        "rate at K with 95 % confidence intervals over users, and "
        "the share of the items that anyone gets (coverage).",
    .one_of = "--data URI",
    .groups = eval_groups,
    .size = sizeof(eval_values),
    .init = eval_init,
    .run = run_eval,
};
