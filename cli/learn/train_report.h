/* cli/learn/train_report.h: reports of training: a line for each epoch, the history as a file and as a chart. */
#ifndef CLI_LEARN_TRAIN_REPORT_H
#define CLI_LEARN_TRAIN_REPORT_H

#include "core/output.h"
#include "core/report.h"
#include "furrow/learn.h"

/* Print the headings and a line for each epoch; the kind of model decides the columns. AUC~ comes from bins. */
void epoch_headings(output *out, const furrow_epoch *epoch);
void epoch_line(output *out, const furrow_epoch *epoch);

/* Print the names of the figures that `metrics` has, and the figures of metrics that are like it (NULL: there
 * are none). */
void figure_headings(output *out, const furrow_learn_metrics *metrics);
void figure_line(output *out, const furrow_learn_metrics *metrics, const furrow_learn_metrics *like);
/* Returns the figure of that name ("auc"); NaN: the metrics do not have it. */
double figure_named(const furrow_learn_metrics *metrics, const char *name);

/* Reports metrics in the current section; undefined ones are left out of the table and null in JSON. */
void report_metrics(report *r, const furrow_learn_metrics *metrics);
/* Reports the figures that a constant prediction would reach on the same rows. */
void report_constant(report *r, const furrow_learn_metrics *metrics);
/* Reports epochs as a list of JSON objects; prints nothing in the table. */
void report_epochs(report *r, const furrow_trainer *trainer);

/* Reports the trainer's notes. */
void report_notes(report *r, const furrow_trainer *trainer);

/* Writes the history; the ending of the path decides: .json or .csv. */
furrow_status history_write(const char *path, const furrow_trainer *trainer, bool force, furrow_error *err);
/* Draws loss and AUC (or RMSE, accuracy) over the epochs. */
furrow_status history_draw(const char *path, const char *title, const furrow_trainer *trainer, bool force,
                           furrow_error *err);

/* How much the scores of trees change when Angel reads the written model: six decimals, and absent features that count
 * as 0. The scores of the model on disk are compared with the trainer's scores. */
typedef struct rounding {
  uint64_t rows, labels; /* rows that were scored; rows whose predicted label changed */
  double largest, sum;   /* largest and sum of the absolute differences of pred */
} rounding;

furrow_status rounding_measure(rounding *lost, const furrow_trainer *trainer, const char *model, const char *rows,
                               const char *format, furrow_error *err);
void rounding_report(const rounding *lost, report *r);

#endif
