/* kern/products/projection_tmpl.h: bounds of kern/products/projection.h with a tile of ROWS queries times COLS
 * blocks held in registers.
 *
 * Before including it, define
 *   ROWS, COLS        queries and blocks of a tile
 *   WIDTH             16-bit integers of a register; PARTS = FW_HEAD_WIDTH / WIDTH registers make a block
 *   vs                a register of them
 *   vs_load(p), vs_store(p, v), vs_add(a, b), vs_max(a, b), vs_set(x)
 *   vs_pair(x)                  the four bytes of x, repeated
 *   vs_multiply(x, y)           sums of two products, unsigned bytes times signed bytes
 *   vs_not_below(p, limit)      a bit for each of FW_HEAD_WIDTH integers; vs_lane(bit) is the index of its integer
 *   vs_largest(v) */

#include "kern/simd/unroll.h"

#define PARTS (FW_HEAD_WIDTH / WIDTH)
#define VECTORS (COLS * PARTS)

INLINE void bound_tile(const int rows, const int cols, const fw_heads *heads, size_t b, const uint32_t *x, int16_t *out,
                       size_t out_stride) {
  const size_t pairs = heads->pairs, size = 2 * FW_HEAD_WIDTH;
  const int8_t *block = heads->values + b * pairs * size;
  vs sum[ROWS * VECTORS];
  UNROLL for (int v = 0; v < cols * PARTS; v++) {
    const vs start = vs_load(heads->start + b * FW_HEAD_WIDTH + v * WIDTH);
    UNROLL for (int i = 0; i < rows; i++) sum[i * VECTORS + v] = start;
  }
  for (size_t k = 0; k < pairs; k++) {
    vs y[VECTORS];
    UNROLL for (int v = 0; v < cols * PARTS; v++) y[v] =
        vs_load((const int16_t *)(block + ((size_t)(v / PARTS) * pairs + k) * size) + v % PARTS * WIDTH);
    UNROLL for (int i = 0; i < rows; i++) {
      const vs pair = vs_pair(x[(size_t)i * pairs + k]);
      UNROLL for (int v = 0; v < cols * PARTS; v++) sum[i * VECTORS + v] =
          vs_add(sum[i * VECTORS + v], vs_multiply(pair, y[v]));
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int v = 0; v < cols * PARTS; v++)
        vs_store(out + (size_t)i * out_stride + b * FW_HEAD_WIDTH + v * WIDTH, sum[i * VECTORS + v]);
  }
}

INLINE void bound_rows(const int rows, const fw_heads *heads, const uint32_t *x, int16_t *out, size_t out_stride) {
  size_t b = 0;
  for (; b + COLS <= heads->blocks; b += COLS) bound_tile(rows, COLS, heads, b, x, out, out_stride);
  for (; COLS > 1 && b < heads->blocks; b++) bound_tile(rows, 1, heads, b, x, out, out_stride);
}

static void bounds(const fw_heads *heads, const uint32_t *x, size_t nx, int16_t *out, size_t out_stride) {
  size_t i = 0;
  for (; i + ROWS <= nx; i += ROWS) bound_rows(ROWS, heads, x + i * heads->pairs, out + i * out_stride, out_stride);
  for (; i < nx; i++) bound_rows(1, heads, x + i * heads->pairs, out + i * out_stride, out_stride);
}

static size_t top_bound(const int16_t *bounds, size_t n) {
  vs most = vs_load(bounds);
  for (size_t i = WIDTH; i < n; i += WIDTH) most = vs_max(most, vs_load(bounds + i));
  const vs limit = vs_set(vs_largest(most));
  size_t i = 0;
  uint32_t bits;
  while ((bits = vs_not_below(bounds + i, limit)) == 0) i += FW_HEAD_WIDTH;
  return i + vs_lane((uint32_t)__builtin_ctz(bits));
}

static size_t find_bounds(const int16_t *bounds, size_t n, int16_t limit, uint32_t *positions) {
  size_t count = 0;
  const vs least = vs_set(limit);
  for (size_t i = 0; i < n; i += FW_HEAD_WIDTH)
    for (uint32_t bits = vs_not_below(bounds + i, least); bits; bits &= bits - 1)
      positions[count++] = (uint32_t)i + vs_lane((uint32_t)__builtin_ctz(bits));
  return count;
}

#undef ROWS
#undef COLS
#undef WIDTH
#undef PARTS
#undef VECTORS
