/* kern/products/products_tmpl.h: inner products with a tile of ROWS vectors times COLS blocks held in registers.
 *
 * Before including it, define
 *   ROWS, COLS         vectors and blocks of a tile
 *   WIDTH              floats of a register; PARTS = FW_PACK_WIDTH / WIDTH registers make a block
 *   vf, vi             a register of floats, one of 32-bit integers
 *   vf_load(p), vf_set(x), vf_negative(v), vf_fma(a, b, c) = a * b + c, vf_store(p, v)
 *   vf_keep(vf *best, vi *where, vf v, vi at)     where v > best: best = v, where = at
 *   vi_iota(first), vi_load(p), vi_set(x), vi_store(p, v)    first, first + 1, …
 *   vf_winner(best, where, *number, *score)       of PARTS registers each: the largest, the lowest among equals
 *   SUM_WIDTH, vd      doubles of a register, and the register: vd_widen(p) of SUM_WIDTH floats, vd_zero(),
 *                      vd_add(a, b), vd_store(p, v)
 * A score is a chain of multiply-adds that starts with -bias and adds the products in order: it does not depend on
 * the position of its vector in a tile. */

#include "kern/simd/unroll.h"

#define SUM_PARTS 8 /* registers of doubles that are summed at once */
#define PARTS (FW_PACK_WIDTH / WIDTH)
#define VECTORS (COLS * PARTS)

/* The number of vectors whose best is kept in the cache during a pass over the centroids, and of floats of centroids
 * that stay in the cache. */
#define BATCH 192
#define CACHED ((size_t)48 << 10)

/* sum[i * VECTORS + v]: scores of row i for register v of the blocks. */
INLINE void tile(const int rows, const int cols, const float *const *x, const float *block, const float *bias, size_t d,
                 vf *sum) {
  const float *at[COLS];
  UNROLL for (int c = 0; c < cols; c++) at[c] = block + (size_t)c * d * FW_PACK_WIDTH;
  UNROLL for (int v = 0; v < cols * PARTS; v++) {
    const vf start = vf_negative(vf_load(bias + v * WIDTH));
    UNROLL for (int i = 0; i < rows; i++) sum[i * VECTORS + v] = start;
  }
  for (size_t k = 0; k < d; k++) {
    vf y[VECTORS];
    UNROLL for (int v = 0; v < cols * PARTS; v++) y[v] = vf_load(at[v / PARTS] + k * FW_PACK_WIDTH + v % PARTS * WIDTH);
    UNROLL for (int i = 0; i < rows; i++) {
      const vf number = vf_set(x[i][k]);
      UNROLL for (int v = 0; v < cols * PARTS; v++) sum[i * VECTORS + v] = vf_fma(number, y[v], sum[i * VECTORS + v]);
    }
  }
}

/* ---- All scores ---- */

INLINE void store_tile(const int rows, const int cols, const fw_packed *packed, size_t b, const float *const *x,
                       float *const *out) {
  vf sum[ROWS * VECTORS];
  tile(rows, cols, x, packed->values + b * packed->d * FW_PACK_WIDTH, packed->bias + b * FW_PACK_WIDTH, packed->d, sum);
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int v = 0; v < cols * PARTS; v++)
        vf_store(out[i] + b * FW_PACK_WIDTH + v * WIDTH, sum[i * VECTORS + v]);
  }
}

INLINE void store_rows(const int rows, const fw_packed *packed, size_t first, size_t end, const float *const *x,
                       float *const *out) {
  size_t b = first;
  for (; b + COLS <= end; b += COLS) store_tile(rows, COLS, packed, b, x, out);
  for (; b < end; b++) store_tile(rows, 1, packed, b, x, out);
}

static size_t blocks_of_a_pass(const fw_packed *packed) {
  const size_t fit = CACHED / (packed->d * FW_PACK_WIDTH + 1);
  return fit < COLS ? COLS : fit / COLS * COLS;
}

static void scores(const fw_packed *packed, const float *x, size_t nx, size_t stride, float *out, size_t out_stride) {
  const size_t step = blocks_of_a_pass(packed);
  for (size_t first = 0; first < packed->blocks; first += step) {
    const size_t end = first + step < packed->blocks ? first + step : packed->blocks;
    const float *rows[ROWS];
    float *to[ROWS];
    size_t i = 0;
    for (; i + ROWS <= nx; i += ROWS) {
      for (size_t r = 0; r < ROWS; r++) {
        rows[r] = x + (i + r) * stride;
        to[r] = out + (i + r) * out_stride;
      }
      store_rows(ROWS, packed, first, end, rows, to);
    }
    for (; i < nx; i++) {
      rows[0] = x + i * stride;
      to[0] = out + i * out_stride;
      store_rows(1, packed, first, end, rows, to);
    }
  }
}

/* ---- The best ---- */

/* The best score of each lane so far, and its vector. */
typedef struct fw_lanes_best {
  _Alignas(64) float score[FW_PACK_WIDTH];
  _Alignas(64) uint32_t where[FW_PACK_WIDTH];
} fw_lanes_best;

INLINE void keep_tile(const int rows, const int cols, const fw_packed *packed, size_t b, const float *const *x,
                      vf *best, vi *where) {
  vf sum[ROWS * VECTORS];
  tile(rows, cols, x, packed->values + b * packed->d * FW_PACK_WIDTH, packed->bias + b * FW_PACK_WIDTH, packed->d, sum);
  UNROLL for (int v = 0; v < cols * PARTS; v++) {
    const vi at = vi_iota((uint32_t)(b * FW_PACK_WIDTH) + (uint32_t)v * WIDTH);
    UNROLL for (int i = 0; i < rows; i++)
        vf_keep(&best[i * PARTS + v % PARTS], &where[i * PARTS + v % PARTS], sum[i * VECTORS + v], at);
  }
}

/* Processes blocks first … end-1. The best is initialised before the first block and reduced after the last. */
INLINE void keep_rows(const int rows, const fw_packed *packed, size_t first, size_t end, const float *const *x,
                      fw_lanes_best *state, uint32_t *number, float *score) {
  vf best[ROWS * PARTS];
  vi where[ROWS * PARTS];
  UNROLL for (int i = 0; i < rows * PARTS; i++) {
    best[i] = first == 0 ? vf_set(-INFINITY) : vf_load(state[i / PARTS].score + i % PARTS * WIDTH);
    where[i] = first == 0 ? vi_set(UINT32_MAX) : vi_load(state[i / PARTS].where + i % PARTS * WIDTH);
  }
  size_t b = first;
  for (; b + COLS <= end; b += COLS) keep_tile(rows, COLS, packed, b, x, best, where);
  for (; b < end; b++) keep_tile(rows, 1, packed, b, x, best, where);
  if (end == packed->blocks) {
    UNROLL for (int i = 0; i < rows; i++) vf_winner(&best[i * PARTS], &where[i * PARTS], &number[i], &score[i]);
    return;
  }
  UNROLL for (int i = 0; i < rows * PARTS; i++) {
    vf_store(state[i / PARTS].score + i % PARTS * WIDTH, best[i]);
    vi_store(state[i / PARTS].where + i % PARTS * WIDTH, where[i]);
  }
}

static void nearest_batch(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best,
                          float *score) {
  const size_t step = blocks_of_a_pass(packed);
  fw_lanes_best state[BATCH];
  for (size_t first = 0; first < packed->blocks; first += step) {
    const size_t end = first + step < packed->blocks ? first + step : packed->blocks;
    const float *rows[ROWS];
    size_t i = 0;
    for (; i + ROWS <= nx; i += ROWS) {
      for (size_t r = 0; r < ROWS; r++) rows[r] = x + (i + r) * stride;
      keep_rows(ROWS, packed, first, end, rows, state + i, best + i, score + i);
    }
    for (; i < nx; i++) {
      rows[0] = x + i * stride;
      keep_rows(1, packed, first, end, rows, state + i, best + i, score + i);
    }
  }
}

static void nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best, float *score) {
  for (size_t first = 0; first < nx; first += BATCH)
    nearest_batch(packed, x + first * stride, nx - first < BATCH ? nx - first : BATCH, stride, best + first,
                  score + first);
}

/* ---- Sums of rows, in doubles held in registers ---- */

/* Sums a strip of the columns; at: its first column. */
INLINE void sum_strip(const int parts, const float *at, size_t d, const uint32_t *rows, size_t count, double *sum) {
  vd total[SUM_PARTS];
  UNROLL for (int v = 0; v < parts; v++) total[v] = vd_zero();
  for (size_t i = 0; i < count; i++) {
    const float *row = at + rows[i] * d;
    UNROLL for (int v = 0; v < parts; v++) total[v] = vd_add(total[v], vd_widen(row + v * SUM_WIDTH));
  }
  UNROLL for (int v = 0; v < parts; v++) vd_store(sum + v * SUM_WIDTH, total[v]);
}

static void sum_rows(const float *x, size_t d, const uint32_t *rows, size_t count, double *sum) {
  size_t k = 0;
  for (; k + SUM_PARTS * SUM_WIDTH <= d; k += SUM_PARTS * SUM_WIDTH)
    sum_strip(SUM_PARTS, x + k, d, rows, count, sum + k);
  for (; k + SUM_WIDTH <= d; k += SUM_WIDTH) sum_strip(1, x + k, d, rows, count, sum + k);
  for (; k < d; k++) {
    double total = 0;
    for (size_t i = 0; i < count; i++) total += x[rows[i] * d + k];
    sum[k] = total;
  }
}

#undef ROWS
#undef COLS
#undef WIDTH
#undef SUM_WIDTH
#undef SUM_PARTS
#undef PARTS
#undef VECTORS
#undef BATCH
#undef CACHED
