/* learn/forest/best_split.h: the question that lowers the objective most. */
#ifndef FW_LEARN_FOREST_BEST_SPLIT_H
#define FW_LEARN_FOREST_BEST_SPLIT_H

#include "learn/conf/conf.h"
#include "learn/forest/histogram.h"

typedef struct fw_best_split {
  double gain; /* 0: there is none */
  uint32_t feature;
  int32_t last_left; /* bins up to this one go left; -1: none does */
  bool absent_left;
  double value;
  fw_sum left;
} fw_best_split;

typedef struct fw_split_rules {
  const fw_forest_conf *conf;
  const fw_histograms *all;
  const uint8_t *allowed; /* for each feature; NULL: all are */
  double gradient_unit, hessian_unit;
} fw_split_rules;

/* The best leaf of a node with these sums. */
double fw_leaf_value(const fw_split_rules *rules, double gradient, double hessian);

/* The better of two: more gain; if that is equal, the smaller feature, which the first has if neither has. */
void fw_best_split_keep(const fw_cuts *cuts, fw_best_split *best, const fw_best_split *other);
/* The best over the features begin … end-1 that leaves both children a sum of hessians of at least `least_hessian`. */
fw_best_split fw_best_split_find(const fw_split_rules *rules, const fw_histogram *histogram, fw_sum node,
                                 double least_hessian, size_t begin, size_t end);

#endif
