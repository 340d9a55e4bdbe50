/* kern/products/products_generic.c: inner products in plain C. */
#include <math.h>
#include <string.h>

#include "kern/products/products.h"
#include "kern/products/projection.h"

/* Scores of x for the vectors of one block. Each sum starts with -bias and adds the products in order. */
static void block_scores(const float *x, const float *block, const float *bias, size_t d, float *out) {
  float sum[FW_PACK_WIDTH];
  for (int lane = 0; lane < FW_PACK_WIDTH; lane++) sum[lane] = -bias[lane];
  for (size_t k = 0; k < d; k++)
    for (int lane = 0; lane < FW_PACK_WIDTH; lane++) sum[lane] += x[k] * block[k * FW_PACK_WIDTH + lane];
  for (int lane = 0; lane < FW_PACK_WIDTH; lane++) out[lane] = sum[lane];
}

static void scores(const fw_packed *packed, const float *x, size_t nx, size_t stride, float *out, size_t out_stride) {
  for (size_t b = 0; b < packed->blocks; b++) {
    const float *block = packed->values + b * packed->d * FW_PACK_WIDTH;
    for (size_t i = 0; i < nx; i++)
      block_scores(x + i * stride, block, packed->bias + b * FW_PACK_WIDTH, packed->d,
                   out + i * out_stride + b * FW_PACK_WIDTH);
  }
}

static void nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best, float *score) {
  for (size_t i = 0; i < nx; i++) {
    best[i] = UINT32_MAX;
    score[i] = -INFINITY;
  }
  for (size_t b = 0; b < packed->blocks; b++) {
    const float *block = packed->values + b * packed->d * FW_PACK_WIDTH;
    for (size_t i = 0; i < nx; i++) {
      float out[FW_PACK_WIDTH];
      block_scores(x + i * stride, block, packed->bias + b * FW_PACK_WIDTH, packed->d, out);
      for (uint32_t lane = 0; lane < FW_PACK_WIDTH; lane++) {
        if (!(out[lane] > score[i])) continue;
        score[i] = out[lane];
        best[i] = (uint32_t)b * FW_PACK_WIDTH + lane;
      }
    }
  }
}

static void sum_rows(const float *x, size_t d, const uint32_t *rows, size_t count, double *sum) {
  memset(sum, 0, d * sizeof *sum);
  for (size_t i = 0; i < count; i++) {
    const float *row = x + rows[i] * d;
    for (size_t k = 0; k < d; k++) sum[k] += row[k];
  }
}

static size_t find_above(const float *scores, size_t n, float limit, uint32_t *positions) {
  size_t count = 0;
  for (size_t i = 0; i < n; i += FW_PACK_WIDTH) {
    int any = 0;
    for (size_t j = 0; j < FW_PACK_WIDTH; j++) any |= scores[i + j] > limit;
    for (size_t j = 0; any && j < FW_PACK_WIDTH; j++)
      if (scores[i + j] > limit) positions[count++] = (uint32_t)(i + j);
  }
  return count;
}

void fw_products_fill_generic(fw_products *products) {
  products->nearest = nearest;
  products->scores = scores;
  fw_products_fill_bounds_generic(products);
  products->find_above = find_above;
  products->sum_rows = sum_rows;
}
