/* learn/forest/histogram.h: sums of gradients and hessians by feature and bin.
 *
 * A bin that at most FW_PAIR_ROWS rows are in is one packed word (gradients.h), whatever rows a node has: it cannot
 * overflow. Features with larger bins also have wide sums, into which their packed words are emptied after every
 * FW_PAIR_ROWS rows. The rows of all ranks count, so that sums of ranks' histograms fit, too. Rows without a feature
 * are not summed: their sum is the node's sum minus the sum of the feature's bins. */
#ifndef FW_LEARN_FOREST_HISTOGRAM_H
#define FW_LEARN_FOREST_HISTOGRAM_H

#include "base/pool.h"
#include "comm/collectives.h"
#include "learn/forest/bins.h"
#include "learn/forest/gradients.h"

typedef struct fw_sum {
  int64_t gradient, hessian;
} fw_sum;

typedef struct fw_histogram {
  uint64_t *packed; /* of each bin; 0 where the sum is wide */
  fw_sum *wide;
  struct fw_histogram *next; /* in the list of free ones */
} fw_histogram;

/* What all histograms over some rows have in common, and a list of free histograms. */
typedef struct fw_histograms {
  const fw_binned *binned;
  size_t bins;
  uint32_t *wide_begin; /* features + 1: the wide sums of feature f are wide_begin[f] … wide_begin[f + 1] - 1 */
  size_t wide;
  fw_histogram *free;
  size_t made;
} fw_histograms;

/* The caller's struct, to be cleared after a failure, too. The rows must be finished; they are `all_rows` on all ranks.
 */
furrow_status fw_histograms_init(fw_histograms *all, const fw_binned *binned, const furrow_comm *comm,
                                 uint64_t all_rows, fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;
/* Frees what was put back. */
void fw_histograms_clear(fw_histograms *all);
size_t fw_histogram_bytes(const fw_histograms *all);

furrow_status fw_histogram_get(fw_histograms *all, fw_histogram **histogram, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_histogram_put(fw_histograms *all, fw_histogram *histogram);

/* Sets all sums to 0; adds n rows to the sums. */
void fw_histogram_clear(const fw_histograms *all, fw_histogram *histogram);
void fw_histogram_add_rows(const fw_histograms *all, fw_histogram *histogram, const uint32_t *row, size_t n,
                           const uint64_t *pair);
/* Features begin … end-1: into += from; into -= from. */
void fw_histogram_add(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into, const fw_histogram *from);
void fw_histogram_subtract(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                           const fw_histogram *from);
/* Features begin … end-1 as a message for another rank: a word for each packed sum, two for each wide one. How many
 * words; writes them; adds them to a histogram. */
size_t fw_histogram_words(const fw_histograms *all, size_t begin, size_t end);
void fw_histogram_write(const fw_histograms *all, size_t begin, size_t end, const fw_histogram *histogram,
                        uint64_t *words);
void fw_histogram_add_words(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                            const uint64_t *words);
/* The sum of all rows' words. */
fw_sum fw_gradient_pairs_sum(const uint32_t *row, size_t n, const uint64_t *pair);

#endif
