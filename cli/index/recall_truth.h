/* cli/index/recall_truth.h: the true neighbours of queries, and the recall of search results. */
#ifndef CLI_INDEX_RECALL_TRUTH_H
#define CLI_INDEX_RECALL_TRUTH_H

#include "index/index_job.h"
#include "index/vector_source.h"

/* Measurements for one nprobe. NaN: unknown. */
typedef struct recall_point {
  uint64_t nprobe;    /* 0: an index without lists */
  double first_in[3]; /* share of queries whose nearest vector is among the first 1, 10, 100 results */
  double shared;      /* share of the 10 nearest among the first 10 results */
  double p50, p99;    /* seconds of a single query */
  double qps;
} recall_point;

/* What the options of truth_options fill. */
typedef struct truth_values {
  const char *base, *model, *truth, *ids;
  furrow_axis axis; /* axis of a model's matrix */
} truth_values;

extern const option truth_options[];
furrow_status truth_check(const truth_values *values, furrow_error *err);
/* Returns the file or matrix that the true neighbours come from. */
const char *truth_name(const truth_values *values);

typedef struct truth {
  furrow_ids near;     /* rows of `dim` ids, nearest first; -1 fills up a row */
  uint64_t base_count; /* vectors that were compared; FURROW_COUNT_UNKNOWN: none, or unknown */
} truth;

/* Reads or computes the k nearest vectors of each query, as the index compares them. */
furrow_status truth_find(truth *t, const truth_values *values, const vector_values *vectors,
                         const vector_block *queries, size_t k, const furrow_index *index, unsigned threads,
                         index_job *job, furrow_error *err);
void truth_clear(truth *t);
/* Sets first_in and shared of the point from the results of n queries, k for each. */
void truth_compare(const truth *t, size_t n, size_t k, const int64_t *ids, recall_point *point);

#endif
