/* kern/products/products.h: inner products of vectors with many others, packed for the processor.
 *
 * The score of packed vector j for x is <x, y_j> - bias_j. With bias_j = |y_j|^2 / 2 the largest score belongs to the
 * nearest vector: |x - y_j|^2 = |x|^2 - 2 score. With bias 0 it is the largest inner product. */
#ifndef FW_KERN_PRODUCTS_PRODUCTS_H
#define FW_KERN_PRODUCTS_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_PACK_WIDTH 16 /* vectors of a block */

typedef struct fw_sketch fw_sketch;         /* kern/products/sketch.h */
typedef struct fw_projection fw_projection; /* kern/products/projection.h */
typedef struct fw_question fw_question;
struct fw_heads;

typedef struct fw_packed {
  size_t n, d, blocks;       /* blocks = ceil(n / FW_PACK_WIDTH) */
  float *values;             /* [blocks][d][FW_PACK_WIDTH], aligned to 64 bytes; 0 beyond n */
  float *bias;               /* [blocks * FW_PACK_WIDTH]; infinity beyond n, so that padding never wins */
  void *memory;              /* the allocation that holds both arrays */
  fw_sketch *sketch;         /* NULL: none */
  fw_projection *projection; /* NULL: none */
} fw_packed;

/* Packs n vectors of d floats; consecutive vectors are `stride` floats apart. l2: bias is half of the square norm. */
furrow_status fw_packed_create(fw_packed *packed, const float *vectors, size_t n, size_t d, size_t stride, bool l2,
                               furrow_error *err) FURROW_MUST_USE;
/* Fills the values of packed vectors, whose n, d, blocks and memory are set; bias is 0. */
void fw_packed_transpose(const fw_packed *packed, const float *vectors, size_t stride);
/* Adds a sketch, which makes `nearest` faster, if it helps on this processor and for these numbers. For vectors that
 * are searched many times; takes a little more than a quarter of their memory. Same arguments as for packing; the
 * vectors must outlive it. */
furrow_status fw_packed_add_sketch(fw_packed *packed, const float *vectors, size_t stride, bool l2,
                                   furrow_error *err) FURROW_MUST_USE;
/* Adds a projection, which makes fw_packed_nearest faster, if it helps for nx queries like the given ones. Same
 * arguments as for packing; the vectors must outlive it. */
furrow_status fw_packed_add_projection(fw_packed *packed, const float *vectors, size_t stride, bool l2, const float *x,
                                       size_t nx, size_t x_stride, furrow_error *err) FURROW_MUST_USE;
void fw_packed_clear(fw_packed *packed);

/* Finds the packed vector with the largest score for each of nx vectors (x + i * stride), the first among equals, by
 * the fastest method that the packed vectors have; UINT32_MAX when all scores are NaN. On entry, best[i] is a guess,
 * which saves time if it is right, or UINT32_MAX. */
void fw_packed_nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best);

typedef struct fw_products {
  bool sketches; /* whether `nearest` is faster with a sketch */
  /* For each of nx vectors (x + i * stride): the packed vector with the largest score, the first among equals, and that
   * score. A NaN score never wins; best[i] is UINT32_MAX when all are NaN. */
  void (*nearest)(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best, float *score);
  /* Approximate scores from a sketch (only for sketches): out[i * out_stride + j], j < blocks * FW_PACK_WIDTH,
   * differs from the score of vector j by at most slack[i], apart from a constant that is the same for all j. NULL:
   * `scores` is as fast. */
  void (*rough)(const fw_sketch *sketch, const float *x, size_t nx, size_t stride, float *out, size_t out_stride,
                float *slack);
  /* All scores: out[i * out_stride + j], j < blocks * FW_PACK_WIDTH (-infinity beyond n). */
  void (*scores)(const fw_packed *packed, const float *x, size_t nx, size_t stride, float *out, size_t out_stride);
  /* Bounds of heads for nx queries (kern/products/projection.h). Each number of x holds a pair of bytes of a query
   * twice; out[i * out_stride + j] is aligned to 64 bytes. */
  void (*bounds)(const struct fw_heads *heads, const uint32_t *x, size_t nx, int16_t *out, size_t out_stride);
  /* to = x - mean; returns the sum of its squares. */
  float (*centre)(const float *x, const float *mean, size_t d, float *to);
  /* Rounds a head of `count` finite numbers, a multiple of FW_HEAD_STEP, to at most `most` steps of `scale`, and
   * adds `middle`. *square and *lost: the squared lengths of the result, in steps, and of the rounding error. */
  void (*round_head)(const float *head, size_t count, float scale, float most, int middle, uint8_t *out, float *square,
                     float *lost);
  /* |x - y|^2, or -<x, y>. */
  float (*key)(const float *x, const float *y, size_t d, bool l2);
  /* top_bound returns the position of one of the largest of n bounds, a multiple of 32; the other finds the bounds
   * that are not below `limit`, in any order, and returns their number. */
  size_t (*top_bound)(const int16_t *bounds, size_t n);
  size_t (*find_bounds)(const int16_t *bounds, size_t n, int16_t limit, uint32_t *positions);
  /* Finds the scores above `limit` among n, a multiple of FW_PACK_WIDTH; positions are ascending. Returns their number.
   */
  size_t (*find_above)(const float *scores, size_t n, float limit, uint32_t *positions);
  /* sum[k] = x[rows[0] * d + k] + x[rows[1] * d + k] + …, for d numbers, added in that order: the same at every
   * level. */
  void (*sum_rows)(const float *x, size_t d, const uint32_t *rows, size_t count, double *sum);
} fw_products;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_products *fw_products_table(void);
void fw_products_fill_generic(fw_products *products);
void fw_products_fill_avx2(fw_products *products);
void fw_products_fill_avx512(fw_products *products);
void fw_products_fill_neon(fw_products *products);

/* The inner product of n doubles: four interleaved sums, in a fixed order. */
static inline double fw_dot_f64(const double *x, const double *y, size_t n) {
  double sum[4] = {0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t j = 0; j < 4; j++) sum[j] += x[i + j] * y[i + j];
  for (; i < n; i++) sum[0] += x[i] * y[i];
  return sum[0] + sum[1] + (sum[2] + sum[3]);
}

#endif
