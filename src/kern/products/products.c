/* kern/products/products.c: packs vectors for the kernels. */
#include "kern/products/products.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/products/projection.h"
#include "kern/products/sketch.h"

#define ALIGNMENT 64

static float half_square(const float *x, size_t d) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += (double)x[k] * x[k];
  return (float)(sum / 2);
}

void fw_packed_transpose(const fw_packed *packed, const float *vectors, size_t stride) {
  size_t d = packed->d;
  for (size_t j = 0; j < packed->n; j++) {
    const float *from = vectors + j * stride;
    float *to = packed->values + j / FW_PACK_WIDTH * d * FW_PACK_WIDTH + j % FW_PACK_WIDTH;
    for (size_t k = 0; k < d; k++) to[k * FW_PACK_WIDTH] = from[k];
    packed->bias[j] = 0;
  }
  for (size_t j = packed->n; j < packed->blocks * FW_PACK_WIDTH; j++) {
    float *to = packed->values + j / FW_PACK_WIDTH * d * FW_PACK_WIDTH + j % FW_PACK_WIDTH;
    for (size_t k = 0; k < d; k++) to[k * FW_PACK_WIDTH] = 0;
    packed->bias[j] = INFINITY;
  }
}

furrow_status fw_packed_create(fw_packed *packed, const float *vectors, size_t n, size_t d, size_t stride, bool l2,
                               furrow_error *err) {
  fw_packed made = {.n = n, .d = d, .blocks = (n + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH};
  size_t lanes = made.blocks * FW_PACK_WIDTH;
  furrow_status status = fw_alloc(&made.memory, lanes * (d + 1) + ALIGNMENT / sizeof(float), sizeof(float), err);
  if (status != FURROW_OK) return status;
  made.values = (float *)(((uintptr_t)made.memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
  made.bias = made.values + lanes * d;
  fw_packed_transpose(&made, vectors, stride);
  for (size_t j = 0; l2 && j < n; j++) made.bias[j] = half_square(vectors + j * stride, d);
  *packed = made;
  return FURROW_OK;
}

furrow_status fw_packed_add_sketch(fw_packed *packed, const float *vectors, size_t stride, bool l2, furrow_error *err) {
  if (!fw_products_table()->sketches || packed->sketch) return FURROW_OK;
  return fw_sketch_create(&packed->sketch, vectors, packed->n, packed->d, stride, l2, err);
}

furrow_status fw_packed_add_projection(fw_packed *packed, const float *vectors, size_t stride, bool l2, const float *x,
                                       size_t nx, size_t x_stride, furrow_error *err) {
  if (packed->projection) return FURROW_OK;
  return fw_projection_create(&packed->projection, packed, vectors, stride, l2, x, nx, x_stride, err);
}

void fw_packed_nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best) {
  enum { ROWS = 768 };
  float scores[ROWS];
  if (packed->projection) {
    fw_projection_nearest(packed, x, nx, stride, NULL, best);
    return;
  }
  for (size_t i = 0; i < nx; i += ROWS)
    fw_products_table()->nearest(packed, x + i * stride, nx - i < ROWS ? nx - i : ROWS, stride, best + i, scores);
}

void fw_packed_clear(fw_packed *packed) {
  fw_projection_free(packed->projection);
  fw_sketch_free(packed->sketch);
  fw_free(packed->memory);
  *packed = (fw_packed){0};
}
