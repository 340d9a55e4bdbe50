/* kern/math/pairs.h: the inner products of all pairs of vectors, and their gradients.
 *
 * There is a table for floats and one for doubles; `void` stands for that type here. Vectors are stored one after
 * the other, n numbers each; pairs are in the order (0,1), (0,2), … (1,2) … Each sum adds its terms in order, so
 * every instruction set level gives the same bits. */
#ifndef FW_KERN_MATH_PAIRS_H
#define FW_KERN_MATH_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fw_pairs {
  /* out[pair (a,b)] = <vector a, vector b> */
  void (*products)(size_t n, size_t count, const void *vectors, void *out);
  /* grad[a] += the sum over all b but a of slope[pair of a and b] * vector b, b ascending */
  void (*spread)(size_t n, size_t count, const void *vectors, const void *slope, void *grad);
} fw_pairs;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_pairs *fw_pairs_table_f32(void);
const fw_pairs *fw_pairs_table_f64(void);
void fw_pairs_fill_generic(fw_pairs *f32, fw_pairs *f64);
void fw_pairs_fill_avx2(fw_pairs *f32, fw_pairs *f64);

#endif
