/* cli/learn/explaining.h: prints the contributions of features to the score of a row. */
#ifndef CLI_LEARN_EXPLAINING_H
#define CLI_LEARN_EXPLAINING_H

#include "core/output.h"
#include "learn/scoring.h"

struct contribution;

typedef struct explaining {
  const scoring *scoring;
  bool json, by_column;
  uint64_t top;              /* contributions of a row to print; 0: all */
  struct contribution *list; /* contributions of a row */
  size_t capacity;
} explaining;

/* Prints the names of the columns, the first line of contributions by column. */
furrow_status explain_heading(const explaining *e, output *out, furrow_error *err);
/* Prints a row's line, one for each class of a model with several, or its JSON object. */
furrow_status explain_row(explaining *e, const furrow_row *row, const char *sid, output *out, furrow_error *err);
void explaining_clear(explaining *e);

#endif
