/* cli/learn/folding.c: cross-validation: a model for each fold, trained without it and scored on it. */
#include "learn/folding.h"

#include <inttypes.h>
#include <stdio.h>

#include "learn/train_report.h"

/* ---- Training ---- */

static void name_fold(const folding *f, uint32_t fold, furrow_error *err) {
  char message[sizeof err->message];
  snprintf(message, sizeof message, "fold %u of %u: %.200s", fold + 1, f->fit.folds, err->message);
  snprintf(err->message, sizeof err->message, "%s", message);
}

static uint64_t trained_rows(const furrow_trainer *trainer) {
  const furrow_epoch *epoch = furrow_trainer_get_epoch(trainer, 0);
  return epoch ? epoch->train->rows : 0;
}

furrow_status folding_next(folding *f, fold_figures *figures, uint64_t *rows, furrow_error *err) {
  furrow_trainer *trainer = NULL;
  furrow_trainer_fit_params fit = f->fit;
  furrow_learn_metrics *metrics = &figures->folds[figures->count];
  fit.fold = (uint32_t)figures->count;
  furrow_status status = furrow_trainer_create(&trainer, f->conf, &f->trainer, err);
  if (status == FURROW_OK) {
    status = furrow_trainer_fit(trainer, f->train, NULL, &fit, err);
    if (status == FURROW_E_RANGE || (status == FURROW_E_ARGUMENT && fit.fold > 0)) name_fold(f, fit.fold, err);
  }
  if (status == FURROW_OK) {
    furrow_learn_metrics_init(metrics);
    furrow_trainer_get_fold_metrics(trainer, metrics);
    if (rows) *rows = trained_rows(trainer);
    furrow_parser_stats_init(&f->read);
    furrow_trainer_get_stats(trainer, &f->read, NULL);
    figures->count++;
  }
  furrow_trainer_free(trainer);
  return status;
}

/* ---- Reports ---- */

void fold_headings(output *out, const fold_figures *figures) {
  output_format(out, "%-9s %8s", "fold", "rows");
  figure_headings(out, &figures->folds[0]);
  output_text(out, "\n");
}

static void put_line(output *out, const char *name, bool with_rows, const furrow_learn_metrics *metrics,
                     const furrow_learn_metrics *like) {
  char rows[24];
  snprintf(rows, sizeof rows, "%" PRIu64, metrics->rows);
  output_format(out, "%-9s %8s", name, with_rows ? rows : "");
  figure_line(out, metrics, like);
  output_text(out, "\n");
}

void fold_line(output *out, const fold_figures *figures) {
  char name[16];
  snprintf(name, sizeof name, "%zu", figures->count);
  put_line(out, name, true, &figures->folds[figures->count - 1], &figures->folds[0]);
}

static void summarize(const fold_figures *figures, furrow_learn_metrics *mean, furrow_learn_metrics *deviation) {
  furrow_learn_metrics_init(mean);
  furrow_learn_metrics_init(deviation);
  furrow_learn_metrics_summarize(figures->folds, figures->count, mean, deviation);
}

void fold_summary(output *out, const fold_figures *figures) {
  furrow_learn_metrics mean, deviation;
  summarize(figures, &mean, &deviation);
  put_line(out, "mean", true, &mean, &figures->folds[0]);
  put_line(out, "deviation", false, &deviation, &figures->folds[0]);
}

static void report_set(report *r, const char *name, const furrow_learn_metrics *metrics) {
  report_section(r, name);
  report_metrics(r, metrics);
  report_end(r);
}

void report_folds(report *r, const fold_figures *figures) {
  furrow_learn_metrics mean, deviation;
  if (!r->json || figures->count == 0) return;
  summarize(figures, &mean, &deviation);
  report_list(r, "folds");
  for (size_t i = 0; i < figures->count; i++) report_set(r, NULL, &figures->folds[i]);
  report_end(r);
  report_set(r, "mean", &mean);
  report_set(r, "deviation", &deviation);
}
