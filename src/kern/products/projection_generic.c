/* kern/products/projection_generic.c: bounds of heads in plain C. */
#include "kern/products/projection.h"

static void block_bounds(const int8_t *block, const int16_t *start, size_t pairs, const uint32_t *x, int16_t *out) {
  for (size_t lane = 0; lane < FW_HEAD_WIDTH; lane++) {
    const int8_t *y = block + 2 * lane;
    int sum = start[lane];
    for (size_t k = 0; k < pairs; k++, y += 2 * FW_HEAD_WIDTH)
      sum += (int)(x[k] & 0xff) * y[0] + (int)(x[k] >> 8 & 0xff) * y[1];
    out[lane] = (int16_t)(uint16_t)sum;
  }
}

static void bounds(const fw_heads *heads, const uint32_t *x, size_t nx, int16_t *out, size_t out_stride) {
  const size_t pairs = heads->pairs;
  for (size_t i = 0; i < nx; i++)
    for (size_t b = 0; b < heads->blocks; b++)
      block_bounds(heads->values + 2 * b * pairs * FW_HEAD_WIDTH, heads->start + b * FW_HEAD_WIDTH, pairs,
                   x + i * pairs, out + i * out_stride + b * FW_HEAD_WIDTH);
}

static size_t top_bound(const int16_t *bounds, size_t n) {
  size_t top = 0;
  for (size_t i = 1; i < n; i++) top = bounds[i] > bounds[top] ? i : top;
  return top;
}

static size_t find_bounds(const int16_t *bounds, size_t n, int16_t limit, uint32_t *positions) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (bounds[i] >= limit) positions[count++] = (uint32_t)i;
  return count;
}

static float centre(const float *x, const float *mean, size_t d, float *to) {
  float sum = 0;
  for (size_t k = 0; k < d; k++) {
    to[k] = x[k] - mean[k];
    sum += to[k] * to[k];
  }
  return sum;
}

static void round_head(const float *head, size_t count, float scale, float most, int middle, uint8_t *out,
                       float *square, float *lost) {
  const float inverse = 1 / scale;
  *square = *lost = 0;
  for (size_t k = 0; k < count; k++) {
    const float steps = head[k] * inverse, cut = steps < -most ? -most : steps > most ? most : steps;
    const int value = (int)(cut + 128.5F) - 128;
    const float rest = head[k] - (float)value * scale;
    *square += (float)(value * value);
    *lost += rest * rest;
    out[k] = (uint8_t)(value + middle);
  }
}

/* Four independent sums. */
static float key(const float *x, const float *y, size_t d, bool l2) {
  float sum[4] = {0};
  for (size_t k = 0; k < d; k++) sum[k % 4] += l2 ? (x[k] - y[k]) * (x[k] - y[k]) : -x[k] * y[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void fw_products_fill_bounds_generic(fw_products *products) {
  products->bounds = bounds;
  products->top_bound = top_bound;
  products->find_bounds = find_bounds;
  products->centre = centre;
  products->round_head = round_head;
  products->key = key;
}
