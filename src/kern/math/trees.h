/* kern/math/trees.h: loops over rows by which trees are grown: gradients, the sides of a split, rows by their side.
 *
 * Every level of instructions gives the same bits. */
#ifndef FW_KERN_MATH_TREES_H
#define FW_KERN_MATH_TREES_H

#include <stddef.h>
#include <stdint.h>

/* How gradients are rounded: to whole units, up or down by a hash of the row's number. */
typedef struct fw_round_rule {
  float g_scale, h_scale; /* units in 1 */
  uint32_t key;
} fw_round_rule;

/* Where the values of features are cut into bins: FW_EDGES ascending numbers for each feature, the last infinite, and
 * every 16th of them again. */
enum { FW_EDGES = 256, FW_PIVOTS = 16 };
typedef struct fw_bin_edges {
  const float *edge, *pivot;
  size_t features;
} fw_bin_edges;

/* What a split gains: the value of a part with the sums g and h is T(g)^2 / (h + lambda), where T takes alpha off |g|;
 * a split gains half of what its parts have more than the node. Sums are in units. */
typedef struct fw_gain_rule {
  double g_unit, h_unit;
  double alpha, lambda;
  double least; /* hessian of a part */
  double g, h;  /* of the node */
  double worth; /* its value */
} fw_gain_rule;

typedef struct fw_trees {
  /* The bin of x[i], which is how many edges of feature number[i] are below it, to byte number[i]. Numbers that are not
   * those of features are left out; others are not NaN. */
  void (*bins)(const fw_bin_edges *edges, const uint32_t *number, const float *x, size_t n, uint8_t *byte);
  /* Gradients and hessians of the logistic loss at score + base, of labels -1 and 1. */
  void (*logistic)(const double *score, const float *label, float base, size_t n, float *gradient, float *hessian);
  /* A word for each row, the gradient above, the hessian below; numbers are below 2^22 units. Returns the sum of the
   * words, which must not overflow. `first`: the number of the first row. */
  uint64_t (*pack)(const fw_round_rule *rule, uint32_t first, const float *gradient, const float *hessian, size_t n,
                   uint64_t *pair);
  /* Bit i: whether column[row[i]] + add, as a byte, is at most `limit`. Writes whole words, 0 behind the last bit;
   * returns how many are set. */
  size_t (*sides)(const uint8_t *column, const uint32_t *row, size_t n, uint8_t add, uint8_t limit, uint64_t *bits);
  /* The numbers whose bits are set to `ones`, the others to `zeros`, both in order; returns how many the first are.
   * Both have memory for n numbers, which may all be written. */
  size_t (*sort)(const uint32_t *number, const uint64_t *bits, size_t n, uint32_t *ones, uint32_t *zeros);
  /* What each of n splits gains, by the sums of its left part; below 0: a part has too little. Returns the most. */
  double (*gains)(const fw_gain_rule *rule, const double *g, const double *h, size_t n, double *gain);
} fw_trees;

/* The kernels of this process, and what fills them (kern/dispatch.h). */
const fw_trees *fw_trees_table(void);
void fw_trees_fill_generic(fw_trees *table);
void fw_trees_fill_avx2(fw_trees *table);
void fw_trees_fill_avx512(fw_trees *table);

#endif
