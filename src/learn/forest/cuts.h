/* learn/forest/cuts.h: where the values of features are cut into bins.
 *
 * A feature with the cuts c0 < c1 < … has the bins x <= c0, c0 < x <= c1, …, the last one open. Features are numbered
 * anew: first those that most rows have, which are kept as a byte of every row, then the others: those of several
 * bins, then those of one, the most frequent first. */
#ifndef FW_LEARN_FOREST_CUTS_H
#define FW_LEARN_FOREST_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "furrow/status.h"
#include "kern/simd/unroll.h"

#define FW_BINS 255       /* most bins of a feature */
#define FW_NO_BIN 255     /* as a byte: the row does not have the feature */
#define FW_BINS_APART 256 /* from one dense feature to the next, in a histogram */
#define FW_DENSE_GROUP 4  /* dense features are a multiple of that in histograms: some may be for nothing */
#define FW_NO_FEATURE UINT32_MAX

typedef struct fw_cut_feature {
  uint64_t id;        /* as the data has it */
  uint64_t count;     /* rows that have it */
  float least, most;  /* of its values */
  uint32_t bins;      /* its cuts are one fewer */
  uint32_t first_bin; /* in a histogram */
  size_t first_cut;
} fw_cut_feature;

typedef struct fw_cuts {
  size_t rows;   /* that were looked at */
  size_t count;  /* of features */
  size_t dense;  /* the first so many are a byte of every row */
  size_t single; /* from this one on features have one bin each */
  fw_cut_feature *feature;
  size_t cut_count;
  double *cut;
  float *edge;      /* the largest float that is not above the cut: x <= cut if x <= edge */
  float *full_edge; /* of dense features: FW_BINS_APART each, filled up with infinity */
  float *pivot;     /* every 16th of them */
  size_t bins;      /* of a histogram over all features */
  size_t first_sparse_bin;
  size_t single_offset; /* the bin of a feature of one bin is its number and this */
  uint32_t *by_id;      /* features by ascending id */
} fw_cuts;

void fw_cuts_free(fw_cuts *cuts);
/* FW_NO_FEATURE: not among them. */
uint32_t fw_cuts_find(const fw_cuts *cuts, uint64_t id);
/* The last bin that goes left for x <= value; -1: none does. */
int32_t fw_cuts_last_left(const fw_cuts *cuts, uint32_t feature, double value);
size_t fw_cuts_memory(const fw_cuts *cuts);

/* The number of edges below x, by halving without branches. Not for NaN. */
static inline uint32_t fw_cuts_bin(const float *edge, float x) {
  uint32_t bin = 0;
  UNROLL for (int k = 7; k >= 0; k--) bin += (uint32_t)(edge[bin + (1U << k) - 1] < x) << k;
  return bin;
}

/* Between two values that follow each other, a < b: a <= it < b. Infinities count as a little beyond all floats. */
double fw_cut_between(float a, float b);
/* Chooses cuts for n values (in any order; they are sorted as they lie), `splits` at most: between all different ones
 * if these are few, else so that bins hold about as many each. Returns how many. `spare` holds n, or the
 * values are sorted. */
size_t fw_cuts_choose(float *values, size_t n, float *spare, size_t splits, double *cut);

#endif
