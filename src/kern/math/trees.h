/* kern/math/trees.h: loops over rows for growing trees: gradients, sides of a split, partitioning rows by side.
 *
 * Every instruction set level gives the same bits. */
#ifndef FW_KERN_MATH_TREES_H
#define FW_KERN_MATH_TREES_H

#include <stddef.h>
#include <stdint.h>

/* How gradients are rounded to whole units: up or down by a hash of the row's number. */
typedef struct fw_round_rule {
  float g_scale, h_scale; /* units per 1.0 */
  uint32_t key;
} fw_round_rule;

/* The edges of the bins: FW_EDGES ascending numbers for each feature, the last one infinite, and a copy of every
 * 16th of them. */
enum { FW_EDGES = 256, FW_PIVOTS = 16 };
typedef struct fw_bin_edges {
  const float *edge, *pivot;
  size_t features;
} fw_bin_edges;

/* The gain of a split. A part with the sums g and h has the value T(g)^2 / (h + lambda), where T reduces |g| by
 * alpha; a split gains half of the difference between the value of its parts and the value of the node. Sums are in
 * units. */
typedef struct fw_gain_rule {
  double g_unit, h_unit;
  double alpha, lambda;
  double least; /* least hessian of a part */
  double g, h;  /* sums of the node */
  double worth; /* value of the node */
} fw_gain_rule;

typedef struct fw_trees {
  /* Computes the bin of x[i], which is the number of edges of feature number[i] below it, and stores it to byte
   * number[i]. Numbers that are not features are skipped; the values of the others are not NaN. */
  void (*bins)(const fw_bin_edges *edges, const uint32_t *number, const float *x, size_t n, uint8_t *byte);
  /* Gradients and hessians of the logistic loss at score + base, for labels -1 and 1. */
  void (*logistic)(const double *score, const float *label, float base, size_t n, float *gradient, float *hessian);
  /* Packs a word for each row, with the gradient in the upper and the hessian in the lower half; both are below 2^22
   * units. Returns the sum of the words, which must not overflow. `first`: the number of the first row. */
  uint64_t (*pack)(const fw_round_rule *rule, uint32_t first, const float *gradient, const float *hessian, size_t n,
                   uint64_t *pair);
  /* Bit i: whether column[row[i]] + add, as a byte, is at most `limit`. Writes whole words, with 0 after the last
   * bit; returns the number of set bits. */
  size_t (*sides)(const uint8_t *column, const uint32_t *row, size_t n, uint8_t add, uint8_t limit, uint64_t *bits);
  /* Copies the numbers whose bits are set to `ones`, the others to `zeros`, both in order; returns the number of the
   * former. Both arrays have memory for n numbers, and all of it may be overwritten. */
  size_t (*sort)(const uint32_t *number, const uint64_t *bits, size_t n, uint32_t *ones, uint32_t *zeros);
  /* The gain of each of n splits, from the sums of its left part; negative if a part is too small. Returns the
   * largest gain. */
  double (*gains)(const fw_gain_rule *rule, const double *g, const double *h, size_t n, double *gain);
} fw_trees;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_trees *fw_trees_table(void);
void fw_trees_fill_generic(fw_trees *table);
void fw_trees_fill_avx2(fw_trees *table);
void fw_trees_fill_avx512(fw_trees *table);

#endif
