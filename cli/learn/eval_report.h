/* cli/learn/eval_report.h: reports of an evaluation: figures, classes, calibration, warnings. */
#ifndef CLI_LEARN_EVAL_REPORT_H
#define CLI_LEARN_EVAL_REPORT_H

#include "core/output.h"
#include "learn/unknown_names.h"

typedef struct eval_report {
  const furrow_scorer *scorer;
  const furrow_evaluation *evaluation;
  furrow_learn_metrics metrics; /* of the evaluation */
  uint32_t bins;                /* of the calibration table; 0: none */
  const unknown_names *names;   /* of the rows */
} eval_report;

/* Prints all for people, or all as JSON. Tables for people have up to 20 classes; JSON has every one. */
furrow_status eval_report_print(const eval_report *r, bool json, output *out, furrow_error *err);

#endif
