/* learn/forest/feature_stats.h: the first pass over the rows: which features the data has, and where their values lie.
 */
#ifndef FW_LEARN_FOREST_FEATURE_STATS_H
#define FW_LEARN_FOREST_FEATURE_STATS_H

#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/data/features.h"
#include "learn/data/minibatch.h"
#include "learn/forest/bins.h"

#define FW_MAX_ROWS (UINT64_C(1) << 30) /* of training, and of validation: three passes have numbers of 32 bits */

typedef struct fw_feature_stats fw_feature_stats;

/* The plan must outlive it. */
furrow_status fw_feature_stats_create(fw_feature_stats **stats, const fw_plan *plan, furrow_error *err) FURROW_MUST_USE;
void fw_feature_stats_free(fw_feature_stats *stats);
/* Adds the rows of some batches, one after the other. */
furrow_status fw_feature_stats_add(fw_feature_stats *stats, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                   furrow_error *err) FURROW_MUST_USE;
/* Where rows are divided over ranks: the number of this rank's first row among all. Before the first row. */
void fw_feature_stats_set_first_row(fw_feature_stats *stats, uint64_t first_row);
/* After the last row: every rank knows of all ranks' rows what one process would know that has them all, except the
 * sample: of that it has the values of the features whose cuts it will choose. comm must outlive the choice of cuts. */
furrow_status fw_feature_stats_merge(fw_feature_stats *stats, const furrow_comm *comm,
                                     furrow_error *err) FURROW_MUST_USE;
/* The largest feature, + 1. After the last row and the merge, before the cuts are chosen. */
uint64_t fw_feature_stats_end(const fw_feature_stats *stats);
/* Chooses the cuts, and gives features their numbers. Nothing can be added afterwards. After a merge all ranks call it,
 * and each gets the cuts of all features. */
furrow_status fw_feature_stats_choose_cuts(fw_feature_stats *stats, fw_spin_pool *pool, fw_cuts **cuts,
                                           furrow_error *err) FURROW_MUST_USE;
/* After the cut: the number of the feature of each use of some batches, of each column of dense data. FW_NO_FEATURE:
 * one that is of no use, a use of a feature that the row had before, or one without a value. An array for each batch,
 * valid until the next call. */
furrow_status fw_feature_stats_numbers(fw_feature_stats *stats, const fw_minibatch *batch, size_t count,
                                       fw_spin_pool *pool, const uint32_t *const **numbers,
                                       furrow_error *err) FURROW_MUST_USE;

/* Chooses cuts for n values (in any order; they are sorted as they lie), `splits` at most: between all different ones
 * if these are few, else so that bins hold about as many each. Returns how many. `spare` holds n, or the
 * values are sorted. */
size_t fw_cuts_choose(float *values, size_t n, float *spare, size_t splits, double *cut);

/* ---- For feature_*.c ---- */

#define FW_SAMPLE_VALUES ((size_t)1 << 23) /* most values of the sample */

/* What is known of a feature. */
typedef struct seen {
  uint32_t number; /* number + 1: by order of appearance, after the cuts are chosen the number in fw_cuts; 0: none */
  uint32_t count;
  float least, most;
} seen;

/* The different values of a category, ascending. */
typedef struct value_set {
  size_t count;
  float value[FW_BINS];
} value_set;

typedef struct sampled {
  uint32_t number;
  float value;
} sampled;

/* Every k-th row: the values of features, row after row. */
typedef struct row_sample {
  sampled *value;
  size_t *row_end;
  size_t count, rows, capacity, row_capacity;
} row_sample;

struct fw_feature_stats {
  const fw_plan *plan;
  bool dense;    /* rows are columns */
  seen *columns; /* statistics of the columns of dense data */
  size_t column_count;
  fw_features *features; /* statistics of the features of sparse data: records are `seen` */
  uint32_t *numbers;     /* numbers of the columns */
  size_t number_capacity;
  struct batch_scan *scans; /* scans of sparse batches that come together */
  const uint32_t **scan_numbers;
  size_t scan_capacity, scan_numbers_capacity;
  uint32_t count;
  uint64_t rows;
  uint64_t *ids; /* ids of features in order of appearance */
  size_t id_capacity;
  value_set **sets; /* different values of features that are categories and have more than a value */
  size_t set_capacity;
  row_sample sample;
  uint64_t step;                   /* every step-th row is in the sample */
  uint64_t first_row;              /* number of the first row among the rows of all ranks */
  const furrow_comm *comm;         /* after a merge with other ranks; else NULL */
  uint32_t chosen_from, chosen_to; /* then: the features whose cuts this rank chooses, in order of appearance */
};

enum { FW_NOT_MET = 0 }; /* the number of a feature that has not had a value yet */

/* The record of a feature that has a number, and its different values: NULL unless it is a category of several. */
seen *fw_feature_stats_find(const fw_feature_stats *stats, uint64_t id);
value_set *fw_feature_stats_set(const fw_feature_stats *stats, size_t number);
/* Makes what there is of a kind of rows: `columns` of dense data; a table of features. */
furrow_status fw_feature_stats_make_columns(fw_feature_stats *stats, size_t columns, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_feature_stats_make_features(fw_feature_stats *stats, furrow_error *err) FURROW_MUST_USE;
bool fw_feature_stats_is_category(const fw_feature_stats *stats, uint64_t id);
/* A value of a feature, which is not counted: it gets its number with the first one. */
furrow_status fw_feature_stats_note(fw_feature_stats *stats, seen *feature, uint64_t id, float value, bool category,
                                    furrow_error *err) FURROW_MUST_USE;
/* Doubles the step: keeps every other row of the sample. */
void fw_feature_stats_thin(fw_feature_stats *stats);
/* After the last batch of the first pass: features know what all threads have found. */
void fw_feature_stats_finish(fw_feature_stats *stats);
/* Values of categories; then sample and ids as well, which are not needed after the cuts are chosen. */
void fw_feature_stats_drop_sets(fw_feature_stats *stats);
void fw_feature_stats_drop_sample(fw_feature_stats *stats);

#endif
