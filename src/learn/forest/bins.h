/* learn/forest/bins.h: where the values of features are cut into bins, and rows as bins, each in two layouts.
 *
 * A feature with the cuts c0 < c1 < … has the bins x <= c0, c0 < x <= c1, …, the last one open. Features get new
 * numbers: first the dense ones, which most rows have and which are kept as a byte of every row; then the sparse ones
 * with several bins; then the sparse ones with one bin. Sparse features are ordered by frequency, the most frequent
 * first.
 *
 * Histograms are made row by row, nodes are split feature by feature. Dense features are bytes: of each row (padded),
 * and of each feature. Sparse features are lists: for each row the bins that it has, numbered as in a histogram; for
 * each feature the rows that have it, ascending, with their bins. */
#ifndef FW_LEARN_FOREST_BINS_H
#define FW_LEARN_FOREST_BINS_H

#include "base/pool.h"
#include "kern/simd/unroll.h"
#include "learn/data/minibatch.h"

#define FW_BINS 255       /* most bins of a feature */
#define FW_NO_BIN 255     /* as a byte: the row does not have the feature */
#define FW_BINS_APART 256 /* distance of two dense features in a histogram, in bins */
#define FW_DENSE_GROUP 4  /* histograms have space for a multiple of this number of dense features */
#define FW_NO_FEATURE UINT32_MAX

typedef struct fw_cut_feature {
  uint64_t id;        /* as the data has it */
  uint64_t count;     /* rows that have it */
  float least, most;  /* the least and the largest of its values */
  uint32_t bins;      /* its cuts are one fewer */
  uint32_t first_bin; /* its first bin in a histogram */
  size_t first_cut;
} fw_cut_feature;

/* The number of the feature with an id. */
typedef struct fw_cut_id {
  uint64_t id;
  uint32_t feature;
} fw_cut_id;

typedef struct fw_cuts {
  size_t count;  /* number of features */
  size_t dense;  /* number of dense features, the first ones: a byte of every row */
  size_t single; /* from this feature on, each has one bin */
  fw_cut_feature *feature;
  size_t cut_count;
  double *cut;
  float *edge;      /* the largest float that is not above the cut: x <= cut if x <= edge */
  float *full_edge; /* edges of dense features: FW_BINS_APART each, filled up with infinity */
  float *pivot;     /* every 16th of them */
  size_t bins;      /* number of bins of a histogram over all features */
  size_t first_sparse_bin;
  size_t single_offset; /* the bin of a feature of one bin is its number and this */
  fw_cut_id *by_id;     /* ascending */
} fw_cuts;

void fw_cuts_free(fw_cuts *cuts);
/* Where the bins of a feature begin in a histogram; of feature `count`: where they end. */
static inline size_t fw_cuts_first_bin(const fw_cuts *cuts, size_t feature) {
  return feature < cuts->count ? cuts->feature[feature].first_bin : cuts->bins;
}
/* FW_NO_FEATURE: not among them. */
uint32_t fw_cuts_find(const fw_cuts *cuts, uint64_t id);
/* The last bin that goes left for x <= value; -1: none does. */
int32_t fw_cuts_last_left(const fw_cuts *cuts, uint32_t feature, double value);

/* The number of edges below x, by halving without branches. Not for NaN. */
static inline uint32_t fw_cuts_bin(const float *edge, float x) {
  uint32_t bin = 0;
  UNROLL for (int k = 7; k >= 0; k--) bin += (uint32_t)(edge[bin + (1U << k) - 1] < x) << k;
  return bin;
}

/* Between two values that follow each other, a < b: a <= it < b. Infinities count as a little beyond all floats. */
double fw_cut_between(float a, float b);

/* For a counting sort in blocks: the count of a key in a block, at[block * keys + key], becomes the offset of its first
 * element. Keys come in order, blocks of a key in order; `spare` elements are left free before each key. end[key]:
 * where its elements end. Returns the end of all. */
size_t fw_counts_to_offsets(size_t *at, size_t blocks, size_t keys, size_t spare, size_t *end);

/* ---- Rows ---- */

typedef struct fw_binned {
  const fw_cuts *cuts;
  size_t rows, row_capacity;
  float *label, *weight; /* weight NULL: all 1 */
  size_t stride;         /* bytes from row to row: cuts->dense, rounded up */
  uint8_t *byte;
  void *byte_memory; /* where it begins */
  uint8_t *column;   /* rows of dense feature 0, of feature 1 … */
  size_t *end;       /* ends of the bins of each row; end[-1] is 0 */
  uint32_t *bin;
  size_t entries, entry_capacity;
  size_t *batch_begin; /* offsets of batches that are added: their first rows, then their entries */
  size_t batch_capacity;
  size_t *column_end; /* ends of the rows of each sparse feature; column_end[-1] is 0 */
  uint32_t *column_row;
  uint8_t *column_bin; /* NULL: no sparse feature has more than a bin */
} fw_binned;

/* The caller's struct, all zeros before. `rows` and `entries` are allocated at once. */
furrow_status fw_binned_init(fw_binned *binned, const fw_cuts *cuts, size_t rows, size_t entries,
                             furrow_error *err) FURROW_MUST_USE;
void fw_binned_clear(fw_binned *binned);
/* Adds the rows of some batches; `number` as fw_feature_stats_numbers gives it. */
furrow_status fw_binned_add(fw_binned *binned, const fw_minibatch *batch, const uint32_t *const *number, size_t count,
                            fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;
/* After the last row: makes the layout by feature. */
furrow_status fw_binned_finish(fw_binned *binned, fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;

/* The rows of a sparse feature: index of the first one in column_row, and one past the last. */
static inline size_t fw_column_begin(const fw_binned *binned, uint32_t feature) {
  return binned->column_end[(ptrdiff_t)(feature - binned->cuts->dense) - 1];
}
static inline size_t fw_column_end(const fw_binned *binned, uint32_t feature) {
  return binned->column_end[feature - binned->cuts->dense];
}

#endif
