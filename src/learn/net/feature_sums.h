/* learn/net/feature_sums.h: the inner loops of layers that have numbers for each feature.
 *
 * Numbers go in blocks of at most BLOCK, so that sums stay in registers: `n`, the numbers of a block, and `valued`,
 * whether uses have values, are constants where these functions are inlined. Sums go over uses in their order. */
#ifndef FW_LEARN_NET_FEATURE_SUMS_H
#define FW_LEARN_NET_FEATURE_SUMS_H

#include "learn/net/layer.h"

#define BLOCK 32
#define INLINE static inline __attribute__((always_inline))

INLINE void clear_sums(const size_t n, real *restrict sum) {
  for (size_t j = 0; j < n; j++) sum[j] = 0;
}

/* sum += x * from; not valued: x is 1. */
INLINE void add_scaled(const size_t n, const bool valued, real x, const real *restrict from, real *restrict sum) {
  if (valued)
    for (size_t j = 0; j < n; j++) sum[j] += x * from[j];
  else
    for (size_t j = 0; j < n; j++) sum[j] += from[j];
}

INLINE real value_of(const bool valued, const fw_batch *batch, uint32_t use) {
  return valued ? (real)batch->value[use] : 1;
}

INLINE size_t block_size(size_t at, size_t width) {
  return width - at < BLOCK ? width - at : BLOCK;
}

/* The update of a layer's numbers of features begin … end-1, where the gradient of a use is value * grad[place * stride
 * …]; place NULL: the use itself (feature_update.c). */
void REAL_NAME(fw_update_features)(const node *self, real_pass *pass, size_t begin, size_t end, const uint32_t *place,
                                   size_t stride);

#endif
