/* kern/products/sketch.h: packed vectors rounded to 8 bits, to find the few that can be the nearest.
 *
 * Vectors y are taken relative to their mean c and rounded: y - c = scale * values + rest. So is a question x, with a
 * scale of its own. The product of the integers then misses that of the vectors by no more than
 * |rest of x| |y - c| + |x| |rest of y|, which is known. Whatever cannot be the best within that is left out; the rest
 * is compared by exact products, so the answer is the one that all products would have given. */
#ifndef FW_KERN_PRODUCTS_SKETCH_H
#define FW_KERN_PRODUCTS_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"
#include "kern/products/products.h"

#define FW_SKETCH_MIN_N 64 /* below, all products are as fast */
#define FW_SKETCH_MIN_D 32
#define FW_SKETCH_MAX_D 2048

struct fw_sketch {
  size_t n, d, blocks;
  size_t quads;     /* ceil(d / 4) */
  bool l2;          /* questions are taken relative to the centre, too */
  const float *row; /* [n][stride]: the vectors, borrowed */
  size_t stride;
  float *centre;  /* [d] */
  int8_t *values; /* [blocks][quads][FW_PACK_WIDTH][4] */
  int32_t *start; /* [blocks * FW_PACK_WIDTH]: -128 * sum of values; questions are made unsigned by adding 128 */
  float *bias;    /* [blocks * FW_PACK_WIDTH]: of the scores relative to the centre; beyond n: infinity */
  float *length;  /* [blocks * FW_PACK_WIDTH]: |y - c| */
  float longest;  /* the most of length */
  float scale;
  float rest;        /* the most of |rest of y| */
  float centre_bias; /* half of |c|^2 for l2 */
  float most;        /* the most of |y| and |c| */
  void *memory;
};

/* A sketch of n vectors of d floats, which must outlive it. NULL in *sketch: one would be of no use, for so few or so
 * wide vectors, or with numbers that are not finite. */
furrow_status fw_sketch_create(fw_sketch **sketch, const float *vectors, size_t n, size_t d, size_t stride, bool l2,
                               furrow_error *err) FURROW_MUST_USE;
void fw_sketch_free(fw_sketch *sketch);
/* Bytes that it takes. */
size_t fw_sketch_memory(const fw_sketch *sketch);

/* fw_products.nearest for packed vectors with a sketch; `all` is the one that looks at all products. */
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
