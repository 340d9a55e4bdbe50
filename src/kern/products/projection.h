/* kern/products/projection.h: packed vectors projected onto a few directions, to find the few that can be the
 * nearest.
 *
 * In p orthonormal directions in which the packed vectors y (relative to their mean c) vary most, y - c has a head
 * of p coordinates, followed by the length of the rest of the vector. A query x has such a head as well. By the
 * Cauchy-Schwarz inequality, the product of two heads is at least <x - c, y - c>, and it has p + 1 terms instead of
 * d. Heads are rounded to bytes, and the error of that is bounded. Vectors that cannot be the nearest by this bound
 * are skipped; distances to the others decide, and distances that floats cannot tell apart are compared in doubles.
 * The answer is therefore the same at every level. */
#ifndef FW_KERN_PRODUCTS_PROJECTION_H
#define FW_KERN_PRODUCTS_PROJECTION_H

#include "kern/products/products.h"

#define FW_HEAD_WIDTH 32 /* heads of a block */
#define FW_HEAD_MOST 48  /* most numbers of a head: coordinates and the length of the rest */
#define FW_HEAD_STEP 8   /* the length of a head is a multiple of this */

/* Heads as bytes. A bound is start + the products of a head with the bytes of a query, which have an offset of 64
 * and are at most 127; start compensates for the offset. Sums of 16 bits wrap around, but the result does not. */
typedef struct fw_heads {
  size_t blocks, pairs; /* blocks of FW_HEAD_WIDTH vectors; pairs of numbers of a head */
  const int8_t *values; /* [blocks][pairs][FW_HEAD_WIDTH][2], aligned to 64 bytes */
  const int16_t *start; /* [blocks * FW_HEAD_WIDTH], aligned to 64 bytes */
} fw_heads;

struct fw_projection {
  size_t n, d, p;
  bool l2;
  const fw_products *kern;
  const float *rows; /* [n][stride]: the vectors, borrowed */
  size_t stride;
  float *mean, *zero;    /* c, and d zeros */
  fw_packed axes;        /* the directions */
  fw_heads heads;        /* heads of the vectors */
  void *memory;          /* holds the heads */
  float longest;         /* an upper bound of |y - c| */
  float size;            /* |c| */
  float x_scale, scale;  /* scales of the bytes of queries and of vectors */
  float steps;           /* 1 / (x_scale * scale) */
  float x_longest;       /* the expected largest length of queries */
  float lost;            /* the largest rounding error of a head */
  float most, most_bias; /* the longest head and the largest bias, in steps */
};

/* A prepared query: its head as bytes, with an offset of 64. */
struct fw_question {
  float square; /* squared length of x - c, or of x */
  float lost;   /* rounding error of the head; infinite: there are no bounds for this query */
  float length; /* length of the bytes */
  uint8_t bytes[FW_HEAD_MOST];
};

/* Finds the directions for packed vectors, and the number of directions that is fastest for queries like the nx given
 * ones. *projection is NULL if none would help. The vectors must outlive it. */
furrow_status fw_projection_create(fw_projection **projection, const fw_packed *packed, const float *vectors,
                                   size_t stride, bool l2, const float *x, size_t nx, size_t x_stride,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_projection_free(fw_projection *projection);

/* Replaces the vectors by the same number of others, in the same directions. Prepared queries stay valid. */
furrow_status fw_projection_renew(fw_projection *projection, const float *vectors, furrow_error *err) FURROW_MUST_USE;
/* Prepares nx queries. */
void fw_projection_ask(const fw_projection *v, const float *x, size_t nx, size_t stride, fw_question *ready);
/* Like fw_packed_nearest, for packed vectors with a projection. ready: the prepared queries; NULL: they are not
 * prepared. */
void fw_projection_nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, const fw_question *ready,
                           uint32_t *best);

void fw_products_fill_bounds_generic(fw_products *products);
void fw_products_fill_bounds_avx2(fw_products *products);
void fw_products_fill_bounds_avx512(fw_products *products);

#endif
