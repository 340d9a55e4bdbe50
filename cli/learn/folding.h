/* cli/learn/folding.h: cross-validation: a model for each fold, trained without it and scored on it. */
#ifndef CLI_LEARN_FOLDING_H
#define CLI_LEARN_FOLDING_H

#include "core/output.h"
#include "core/report.h"
#include "furrow/learn.h"

enum { MOST_FOLDS = 255 };

/* What all folds have in common. */
typedef struct folding {
  const furrow_learn_conf *conf;
  const char *train;
  furrow_trainer_params trainer;
  furrow_trainer_fit_params fit; /* with the number of folds */
  furrow_parser_stats read;      /* what the last fold read and skipped */
} folding;

/* Figures of the folds so far. */
typedef struct fold_figures {
  furrow_learn_metrics folds[MOST_FOLDS];
  size_t count;
} fold_figures;

/* Trains without the next fold and adds its figures. *rows (may be NULL): rows that were trained on. */
furrow_status folding_next(folding *f, fold_figures *figures, uint64_t *rows, furrow_error *err);

/* Print the headings, the line of the fold that was added last, and the lines of mean and deviation. */
void fold_headings(output *out, const fold_figures *figures);
void fold_line(output *out, const fold_figures *figures);
void fold_summary(output *out, const fold_figures *figures);
/* Reports the folds, mean and deviation as JSON; prints nothing in the table. */
void report_folds(report *r, const fold_figures *figures);

#endif
