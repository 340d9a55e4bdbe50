/* cli/learn/rounding.h: how much the scores of trees change when Angel reads the written model: six decimals, and
 * absent features that count as 0. */
#ifndef CLI_LEARN_ROUNDING_H
#define CLI_LEARN_ROUNDING_H

#include "core/report.h"
#include "furrow/learn.h"

/* Scores of the model on disk compared with those of the trainer. */
typedef struct rounding {
  uint64_t rows, labels; /* rows that were scored; rows whose predicted label changed */
  double largest, sum;   /* of the absolute differences of pred */
} rounding;

furrow_status rounding_measure(rounding *lost, const furrow_trainer *trainer, const char *model, const char *rows,
                               const char *format, furrow_error *err);
void rounding_report(const rounding *lost, report *r);

#endif
