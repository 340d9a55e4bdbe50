/* learn/forest/feature_stats.h: the first pass over the rows: which features the data has, and where their values lie.
 */
#ifndef FW_LEARN_FOREST_FEATURE_STATS_H
#define FW_LEARN_FOREST_FEATURE_STATS_H

#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/data/features.h"
#include "learn/data/minibatch.h"
#include "learn/forest/cuts.h"

#define FW_MAX_ROWS (UINT64_C(1) << 30) /* of training, and of validation: three passes have numbers of 32 bits */

typedef struct fw_feature_stats fw_feature_stats;

/* The plan must outlive it. */
furrow_status fw_feature_stats_create(fw_feature_stats **stats, const fw_plan *plan, furrow_error *err) FURROW_MUST_USE;
void fw_feature_stats_free(fw_feature_stats *stats);
furrow_status fw_feature_stats_add(fw_feature_stats *stats, const fw_minibatch *batch,
                                   furrow_error *err) FURROW_MUST_USE;
/* Where rows are divided over ranks: the number of this rank's first row among all. Before the first row. */
void fw_feature_stats_set_first_row(fw_feature_stats *stats, uint64_t first_row);
/* After the last row: every rank knows of all ranks' rows what one process would know that has them all, except the
 * sample: of that it has the values of the features whose cuts it will choose. comm must outlive the choice of cuts. */
furrow_status fw_feature_stats_merge(fw_feature_stats *stats, const furrow_comm *comm,
                                     furrow_error *err) FURROW_MUST_USE;
/* Chooses the cuts, and gives features their numbers. Nothing can be added afterwards. After a merge all ranks call it,
 * and each gets the cuts of all features. */
furrow_status fw_feature_stats_choose_cuts(fw_feature_stats *stats, fw_spin_pool *pool, fw_cuts **cuts,
                                           furrow_error *err) FURROW_MUST_USE;
/* After the cut: the number of the feature of each use of a batch, of each column of dense data. FW_NO_FEATURE: one
 * that is of no use, or a use of a feature that the row had before. Valid until the next call. */
furrow_status fw_feature_stats_numbers(fw_feature_stats *stats, const fw_minibatch *batch, const uint32_t **numbers,
                                       furrow_error *err) FURROW_MUST_USE;
size_t fw_feature_stats_memory(const fw_feature_stats *stats);

/* ---- For feature_stats.c, feature_merge.c and feature_cuts.c ---- */

#define FW_SAMPLE_VALUES ((size_t)1 << 23) /* most values of the sample */

/* What is known of a feature. */
typedef struct seen {
  uint32_t number; /* + 1: in order of appearance, after the cut that of fw_cuts; 0: none */
  uint32_t last;   /* stamp of the row that had it last */
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

struct fw_feature_stats {
  const fw_plan *plan;
  bool dense;    /* rows are columns */
  seen *columns; /* of dense data */
  size_t column_count;
  fw_features *features; /* of sparse data: records are `seen` */
  void **records;        /* of the uses of a batch */
  uint32_t *numbers;
  size_t record_capacity, number_capacity;
  uint32_t count, stamp;
  uint64_t rows;
  uint64_t *ids; /* of features in order of appearance */
  size_t id_capacity;
  value_set **sets; /* of features that are categories and have more than a value */
  size_t set_capacity;
  sampled *sample;
  size_t sample_count, sample_capacity;
  size_t *row_end; /* of each row of the sample */
  size_t sample_rows, sample_row_capacity;
  uint64_t step;                   /* every so many rows are in the sample */
  uint64_t first_row;              /* number of the first row among those of all ranks */
  const furrow_comm *comm;         /* after a merge with other ranks; else NULL */
  uint32_t chosen_from, chosen_to; /* then: the features whose cuts this rank chooses, in order of appearance */
};

enum { FW_NOT_MET = 0 }; /* a feature's number before its first value */

/* Makes what there is of a kind of rows: `columns` of dense data; a table of features. */
furrow_status fw_feature_stats_make_columns(fw_feature_stats *stats, size_t columns, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_feature_stats_make_features(fw_feature_stats *stats, furrow_error *err) FURROW_MUST_USE;
bool fw_feature_stats_is_category(const fw_feature_stats *stats, uint64_t id);
/* A value of a feature, which is not counted: it gets its number with the first one. */
furrow_status fw_feature_stats_note(fw_feature_stats *stats, seen *feature, uint64_t id, float value, bool category,
                                    furrow_error *err) FURROW_MUST_USE;
/* Doubles the step: keeps every other row of the sample. */
void fw_feature_stats_thin(fw_feature_stats *stats);
void fw_feature_stats_drop_sets(fw_feature_stats *stats);

/* Sample, values of categories and ids, which are not needed after the cuts are chosen. */
void fw_feature_stats_drop_sample(fw_feature_stats *stats);

#endif
