/* kern/products/projection.h: packed vectors projected onto a few directions, to find the few that can be the nearest.
 *
 * In p orthonormal directions in which the packed vectors y (relative to their mean c) vary most, y - c has a head of p
 * numbers; behind them comes the length of what is left of it. So does a question x. By Cauchy and Schwarz, the product
 * of two heads is at least <x - c, y - c>, and it has p + 1 terms instead of d. Heads are rounded to bytes, and what
 * that may cost is known. What cannot be the nearest by this bound is skipped; distances to the others decide, and
 * those that floats cannot tell apart are compared in doubles. The answer is therefore the same at every level. */
#ifndef FW_KERN_PRODUCTS_PROJECTION_H
#define FW_KERN_PRODUCTS_PROJECTION_H

#include "kern/products/products.h"

#define FW_HEAD_WIDTH 32 /* heads of a block */
#define FW_HEAD_MOST 48  /* numbers of a head: coordinates and the length of the rest */
#define FW_HEAD_STEP 8   /* of which there is a multiple */

/* Heads as bytes. A bound is start + the products of a head with bytes of a question, which are 64 too large each and
 * at most 127; start makes up for that. Sums of 16 bits wrap around, except the result. */
typedef struct fw_heads {
  size_t blocks, pairs; /* of FW_HEAD_WIDTH vectors; of numbers of a head */
  const int8_t *values; /* [blocks][pairs][FW_HEAD_WIDTH][2], aligned to 64 bytes */
  const int16_t *start; /* [blocks * FW_HEAD_WIDTH], aligned to 64 bytes */
} fw_heads;

struct fw_projection {
  size_t n, d, p;
  bool l2;
  const fw_products *kern;
  const float *rows; /* [n][stride]: the vectors, borrowed */
  size_t stride;
  float *mean, *zero;    /* c; nothing: d numbers */
  fw_packed axes;        /* the directions */
  fw_heads heads;        /* of the vectors */
  void *memory;          /* of heads */
  float longest;         /* the most of |y - c|, a bound */
  float size;            /* |c| */
  float x_scale, scale;  /* of bytes: of questions, of vectors */
  float steps;           /* 1 / (x_scale * scale) */
  float x_longest;       /* the length that questions are expected to have at most */
  float lost;            /* the most that rounding took from a head */
  float most, most_bias; /* the longest head, the largest bias, in steps */
};

/* A question, made ready: its head as bytes, which are 64 too large. */
struct fw_question {
  float square; /* of x - c, or of x */
  float lost;   /* that rounding took from the head; infinite: there are no bounds for this question */
  float length; /* of the bytes */
  uint8_t bytes[FW_HEAD_MOST];
};

/* Finds the directions for packed vectors, and how many of them make questions like the nx given ones fastest. NULL in
 * *projection: none would. The vectors must outlive it. */
furrow_status fw_projection_create(fw_projection **projection, const fw_packed *packed, const float *vectors,
                                   size_t stride, bool l2, const float *x, size_t nx, size_t x_stride,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_projection_free(fw_projection *projection);

/* Other vectors, as many, in the same directions. Questions that were made ready remain so. */
furrow_status fw_projection_renew(fw_projection *projection, const float *vectors, furrow_error *err) FURROW_MUST_USE;
/* Makes nx questions ready. */
void fw_projection_ask(const fw_projection *v, const float *x, size_t nx, size_t stride, fw_question *ready);
/* As fw_packed_nearest, for packed vectors with a projection. ready: the questions, made ready; NULL: they are not. */
void fw_projection_nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, const fw_question *ready,
                           uint32_t *best);

void fw_products_fill_bounds_generic(fw_products *products);
void fw_products_fill_bounds_avx2(fw_products *products);
void fw_products_fill_bounds_avx512(fw_products *products);

#endif
