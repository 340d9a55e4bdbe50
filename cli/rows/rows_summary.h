/* cli/rows/rows_summary.h: statistics from one pass over rows. */
#ifndef CLI_ROWS_ROWS_SUMMARY_H
#define CLI_ROWS_ROWS_SUMMARY_H

#include "furrow/rows.h"

enum { SUMMARY_DISTINCT = 10 };

/* Statistics of one kind of number. Integers stay integers: a double would round them above 2^53. */
typedef struct number_summary {
  uint64_t count, nans, infinities, zeros;
  double min, max;     /* least and largest of the finite ones; floats */
  double sum, rest;    /* sum of the finite ones: a sum of twice the precision, so that the mean does not depend on the
                          order    of rows */
  int64_t least, most; /* min and max of integers */
} number_summary;

typedef struct range_summary {
  uint64_t min, max; /* min > max: there is none */
} range_summary;

typedef struct label_count {
  furrow_value_type type;
  double real;     /* f32 */
  int64_t integer; /* i32, i64 */
  uint64_t rows;
} label_count;

typedef struct rows_summary {
  furrow_value_type value_type;
  uint64_t rows, features, blocks, block_bytes;
  uint64_t fewest_rows, most_rows; /* fewest rows and most rows of a block */
  uint64_t fewest_features, most_features, empty_rows;
  range_summary index, field;
  number_summary label, value, weight;
  label_count labels[SUMMARY_DISTINCT];
  size_t distinct_labels; /* SUMMARY_DISTINCT + 1: more than that */
  uint64_t qid_rows, qid_runs, first_qid, last_qid;
  bool qid_unsorted;
} rows_summary;

void summary_init(rows_summary *summary, furrow_value_type value_type);
void summary_add(rows_summary *summary, const furrow_rowblock *block);

/* Adds the statistics of the rows that follow the rows of `into`. */
void summary_merge(rows_summary *into, const rows_summary *next);
/* Joins the summaries of all ranks' rows, on every rank. All ranks call it. */
furrow_status summary_join(rows_summary *summary, furrow_error *err);

/* Largest index + 1; 0 without features. */
uint64_t summary_columns(const rows_summary *summary);
double number_mean(const number_summary *numbers);

#endif
