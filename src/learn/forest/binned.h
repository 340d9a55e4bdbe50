/* learn/forest/binned.h: rows as bins, each in two layouts.
 *
 * Histograms are made row by row, nodes are split feature by feature. Dense features are bytes: of each row (padded),
 * and of each feature. Sparse features are lists: for each row the bins that it has, numbered as in a histogram; for
 * each feature the rows that have it, ascending, with their bins. */
#ifndef FW_LEARN_FOREST_BINNED_H
#define FW_LEARN_FOREST_BINNED_H

#include "base/pool.h"
#include "learn/data/minibatch.h"
#include "learn/forest/cuts.h"

typedef struct fw_binned {
  const fw_cuts *cuts;
  size_t rows, row_capacity;
  float *label, *weight; /* weight NULL: all 1 */
  size_t stride;         /* bytes from row to row: cuts->dense, rounded up */
  uint8_t *byte;
  void *byte_memory; /* where it begins */
  uint8_t *column;   /* rows of dense feature 0, of feature 1 … */
  size_t *end;       /* of the bins of each row; end[-1] is 0 */
  uint32_t *bin;
  size_t entries, entry_capacity;
  size_t *batch_begin; /* of batches that are added: their first rows, then their entries */
  size_t batch_capacity;
  size_t *column_end; /* of the rows of each sparse feature; column_end[-1] is 0 */
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
size_t fw_binned_memory(const fw_binned *binned);

/* The rows of a sparse feature: place of the first in column_row, and behind the last. */
static inline size_t fw_column_begin(const fw_binned *binned, uint32_t feature) {
  return binned->column_end[(ptrdiff_t)(feature - binned->cuts->dense) - 1];
}
static inline size_t fw_column_end(const fw_binned *binned, uint32_t feature) {
  return binned->column_end[feature - binned->cuts->dense];
}

#endif
