/* cli/learn/eval_report.c: reports of an evaluation: figures, classes, calibration, warnings. */
#include "learn/eval_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/report.h"
#include "core/text_columns.h"
#include "learn/class_label.h"
#include "learn/train_report.h"

enum { SHOWN_CLASSES = 20 };

/* ---- Warnings ---- */

enum { MOST_WARNINGS = 5, WARNING_SIZE = 160 };

typedef struct warnings {
  size_t count;
  char text[MOST_WARNINGS][WARNING_SIZE];
} warnings;

/* sign 1: less is better, -1: more is. A rounding error is not worse. */
static void compare(warnings *w, const char *name, double value, double constant, double sign) {
  if (!(sign * (value - constant) > 1e-9 * fabs(constant))) return;
  snprintf(w->text[w->count++], WARNING_SIZE, "worse than a constant: %s is %.6g, that of a constant %.6g", name, value,
           constant);
}

static void find_warnings(const eval_report *r, warnings *w) {
  const furrow_learn_metrics *m = &r->metrics;
  w->count = 0;
  if (m->constant_logloss > 0 || m->constant_rmse > 0) { /* labels that do not differ are a constant */
    compare(w, "logloss", m->logloss, m->constant_logloss, 1);
    compare(w, "accuracy", m->accuracy, m->constant_accuracy, -1);
    compare(w, "rmse", m->rmse, m->constant_rmse, 1);
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

/* ---- All ---- */

furrow_status eval_report_print(const eval_report *r, bool json, output *out, furrow_error *err) {
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
