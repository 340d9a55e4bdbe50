/* cli/learn/train_report.h: what training tells: a line for each epoch, the history as a file and as a picture. */
#ifndef CLI_LEARN_TRAIN_REPORT_H
#define CLI_LEARN_TRAIN_REPORT_H

#include "core/output.h"
#include "core/report.h"
#include "furrow/learn.h"

/* Headings, then a line for each epoch; columns by what the model is (two classes, more, regression). */
void epoch_headings(output *out, const furrow_epoch *epoch);
void epoch_line(output *out, const furrow_epoch *epoch);

/* Facts of metrics under the current section; those that are not defined are left out of the table, null in JSON. */
void report_metrics(report *r, const furrow_learn_metrics *metrics);
/* Epochs as a list of JSON objects (in the table: nothing). */
void report_epochs(report *r, const furrow_trainer *trainer);

/* By the ending: .json or .csv. */
furrow_status history_write(const char *path, const furrow_trainer *trainer, bool force, furrow_error *err);
/* Loss and AUC (or RMSE, accuracy) over the epochs. */
furrow_status history_draw(const char *path, const char *title, const furrow_trainer *trainer, bool force,
                           furrow_error *err);

#endif
