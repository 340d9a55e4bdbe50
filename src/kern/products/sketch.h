/* kern/products/sketch.h: packed vectors rounded to 8 bits, to find the few that can be the nearest.
 *
 * Vectors y are taken relative to their mean c and rounded: y - c = scale * values + rest. A query x is rounded in
 * the same way, with its own scale. The product of the integers then differs from the product of the vectors by at
 * most |rest of x| |y - c| + |x| |rest of y|, which is known. Vectors that cannot be the best within that error are
 * skipped; the others are compared by exact products, so the answer is the same as by all products. */
#ifndef FW_KERN_PRODUCTS_SKETCH_H
#define FW_KERN_PRODUCTS_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"
#include "kern/products/products.h"

#define FW_SKETCH_MIN_N 64 /* with fewer vectors, all products are as fast */
#define FW_SKETCH_MIN_D 32
#define FW_SKETCH_MAX_D 2048

struct fw_sketch {
  size_t n, d, blocks;
  size_t quads;     /* ceil(d / 4) */
  bool l2;          /* queries are taken relative to the centre as well */
  const float *row; /* [n][stride]: the vectors, borrowed */
  size_t stride;
  float *centre;  /* [d] */
  int8_t *values; /* [blocks][quads][FW_PACK_WIDTH][4] */
  int32_t *start; /* [blocks * FW_PACK_WIDTH]: -128 * sum of values; adding 128 makes queries unsigned */
  float *bias;    /* [blocks * FW_PACK_WIDTH]: bias of the scores relative to the centre; infinity beyond n */
  float *length;  /* [blocks * FW_PACK_WIDTH]: |y - c| */
  float longest;  /* the largest length */
  float scale;
  float rest;        /* the largest |rest of y| */
  float centre_bias; /* half of |c|^2 for l2 */
  float most;        /* the largest of |y| and |c| */
  void *memory;
};

/* Creates a sketch of n vectors of d floats, which must outlive it. NULL in *sketch: it would not help, because
 * there are too few vectors, they are too wide, or some numbers are not finite. */
furrow_status fw_sketch_create(fw_sketch **sketch, const float *vectors, size_t n, size_t d, size_t stride, bool l2,
                               furrow_error *err) FURROW_MUST_USE;
void fw_sketch_free(fw_sketch *sketch);
/* The bytes that it takes. */
size_t fw_sketch_memory(const fw_sketch *sketch);

/* fw_products.nearest for packed vectors with a sketch; `all` is the function that computes all products. */
typedef void (*fw_nearest_fn)(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best,
                              float *score);
void fw_sketch_nearest_avx512(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best,
                              float *score, fw_nearest_fn all);

/* fw_products.rough */
void fw_sketch_scores_avx2(const fw_sketch *sketch, const float *x, size_t nx, size_t stride, float *out,
                           size_t out_stride, float *slack);
void fw_sketch_scores_avx512(const fw_sketch *sketch, const float *x, size_t nx, size_t stride, float *out,
                             size_t out_stride, float *slack);

#endif
