/* learn/forest/feature_stats_state.h: what a survey knows, for the files that make it. */
#ifndef FW_LEARN_FOREST_FEATURE_STATS_STATE_H
#define FW_LEARN_FOREST_FEATURE_STATS_STATE_H

#include "learn/data/features.h"
#include "learn/forest/feature_stats.h"

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
  uint64_t step; /* every so many rows are in the sample */
};

/* Sample, values of categories and ids, which nobody needs after the cut. */
void fw_feature_stats_drop_sample(fw_feature_stats *stats);

#endif
