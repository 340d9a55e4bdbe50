/* kern/math/gemm_tmpl.h: matrix products, a tile of ROWS rows times COLS registers held in registers.
 *
 * Before including it, define
 *   ROWS, COLS    rows and registers of a tile
 *   WIDTH         floats of a register
 *   vf            a register of floats
 *   vf_load(p), vf_set(x), vf_fma(a, b, c) = a * b + c, vf_add(a, b), vf_store(p, v); no alignment is asked
 *   vf_load_part(p, n), vf_store_part(p, n, v)    n < WIDTH numbers; what is beyond is 0
 * An element of a chunk of DEPTH products is a chain of multiply-adds that starts with 0 and goes up in k; chunks are
 * added in their order. Neither its position in a tile nor the number of rows changes an element. */
#include <string.h>

#include "kern/unroll.h"

#define PANEL (COLS * WIDTH)
#define WIDE 8 /* registers of a tile of one row */
#define SUMS (ROWS * COLS > WIDE ? ROWS * COLS : WIDE)
#define DEPTH 256

/* Where the element (i, k) of the left matrix is: rows[i * by_row + k * by_k]. */
typedef struct left {
  const float *rows;
  size_t by_row, by_k;
} left;

/* Numbers of the last register of a tile that count: WIDTH, or fewer at the right edge. */
INLINE vf load(const float *p, size_t count) {
  return count == WIDTH ? vf_load(p) : vf_load_part(p, count);
}

/* c = or += sums, for `rows` rows of `cols` registers. */
INLINE void tile(const int rows, const int cols, size_t depth, const left a, const float *b, size_t ldb, size_t last,
                 float *c, size_t ldc, bool add) {
  vf sum[SUMS];
  UNROLL for (int i = 0; i < rows * cols; i++) sum[i] = vf_set(0);
  for (size_t k = 0; k < depth; k++) {
    vf y[WIDE];
    UNROLL for (int v = 0; v < cols - 1; v++) y[v] = vf_load(b + k * ldb + (size_t)v * WIDTH);
    y[cols - 1] = load(b + k * ldb + (size_t)(cols - 1) * WIDTH, last);
    UNROLL for (int i = 0; i < rows; i++) {
      const vf number = vf_set(a.rows[(size_t)i * a.by_row + k * a.by_k]);
      UNROLL for (int v = 0; v < cols; v++) sum[i * cols + v] = vf_fma(number, y[v], sum[i * cols + v]);
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int v = 0; v < cols; v++) {
      float *to = c + (size_t)i * ldc + (size_t)v * WIDTH;
      const size_t count = v == cols - 1 ? last : WIDTH;
      const vf value = add ? vf_add(load(to, count), sum[i * cols + v]) : sum[i * cols + v];
      if (count == WIDTH)
        vf_store(to, value);
      else
        vf_store_part(to, count, value);
    }
  }
}

INLINE void panel_of(const int cols, size_t m, size_t depth, left a, const float *b, size_t ldb, size_t last, float *c,
                     size_t ldc, bool add) {
  size_t i = 0;
  for (; i + ROWS <= m; i += ROWS, a.rows += ROWS * a.by_row, c += ROWS * ldc)
    tile(ROWS, cols, depth, a, b, ldb, last, c, ldc, add);
  for (; i + 4 <= m; i += 4, a.rows += 4 * a.by_row, c += 4 * ldc) tile(4, cols, depth, a, b, ldb, last, c, ldc, add);
  for (; i + 2 <= m; i += 2, a.rows += 2 * a.by_row, c += 2 * ldc) tile(2, cols, depth, a, b, ldb, last, c, ldc, add);
  for (; i < m; i++, a.rows += a.by_row, c += ldc) tile(1, cols, depth, a, b, ldb, last, c, ldc, add);
}

/* All rows of up to COLS registers of columns. */
static void panel(size_t cols, size_t m, size_t depth, left a, const float *b, size_t ldb, float *c, size_t ldc,
                  bool add) {
  const size_t last = (cols - 1) % WIDTH + 1;
  if (cols > PANEL - WIDTH)
    panel_of(COLS, m, depth, a, b, ldb, last, c, ldc, add);
  else
    panel_of(1, m, depth, a, b, ldb, last, c, ldc, add);
}

/* One row: many registers of columns at once, so that their sums do not wait for each other. */
INLINE size_t row_of(const int cols, size_t n, size_t depth, left a, const float *b, size_t ldb, float *c, bool add) {
  size_t j = 0;
  for (; n - j > (size_t)(cols - 1) * WIDTH; j += (size_t)cols * WIDTH) {
    const size_t last = n - j - (size_t)(cols - 1) * WIDTH;
    tile(1, cols, depth, a, b + j, ldb, last < WIDTH ? last : WIDTH, c + j, 0, add);
    if (last <= WIDTH) return n;
  }
  return j;
}

static void one_row(size_t n, size_t depth, left a, const float *b, size_t ldb, float *c, bool add) {
  size_t j = row_of(WIDE, n, depth, a, b, ldb, c, add);
  if (j < n) j += row_of(4, n - j, depth, a, b + j, ldb, c + j, add);
  if (j < n) j += row_of(2, n - j, depth, a, b + j, ldb, c + j, add);
  if (j < n) row_of(1, n - j, depth, a, b + j, ldb, c + j, add);
}

/* ---- Packing: columns of the right matrix beside each other, PANEL of them, 0 behind the last ---- */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

INLINE four load_four(const float *p) {
  return *(const four *)p;
}

INLINE void store_four(float *p, four v) {
  *(four *)p = v;
}

/* A square of 4 x 4 numbers: row j of the right matrix becomes column j. */
INLINE void transpose_square(const float *b, size_t by_col, float *to) {
  const four x0 = load_four(b), x1 = load_four(b + by_col);
  const four x2 = load_four(b + 2 * by_col), x3 = load_four(b + 3 * by_col);
  const four low01 = __builtin_shufflevector(x0, x1, 0, 4, 1, 5), high01 = __builtin_shufflevector(x0, x1, 2, 6, 3, 7);
  const four low23 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5), high23 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
  store_four(to, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store_four(to + PANEL, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store_four(to + 2 * PANEL, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store_four(to + 3 * PANEL, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

/* The element (k, j) is b[k + j * by_col]. */
static void pack_transposed(size_t depth, size_t cols, const float *b, size_t by_col, float *packed) {
  const size_t square = depth / 4 * 4;
  size_t j = 0;
  for (; j + 4 <= cols; j += 4, b += 4 * by_col) {
    for (size_t k = 0; k < square; k += 4) transpose_square(b + k, by_col, packed + k * PANEL + j);
    for (size_t k = square; k < depth; k++)
      for (size_t i = 0; i < 4; i++) packed[k * PANEL + j + i] = b[k + i * by_col];
  }
  for (; j < cols; j++, b += by_col)
    for (size_t k = 0; k < depth; k++) packed[k * PANEL + j] = b[k];
}

static void pack(size_t depth, size_t cols, const float *b, size_t by_k, size_t by_col, float *packed) {
  if (by_col != 1) pack_transposed(depth, cols, b, by_col, packed);
  if (cols == PANEL) {
    for (size_t k = 0; by_col == 1 && k < depth; k++) /* of a size that is known: no call */
      memcpy(packed + k * PANEL, b + k * by_k, PANEL * sizeof *packed);
    return;
  }
  for (size_t k = 0; k < depth; k++) {
    if (by_col == 1) memcpy(packed + k * PANEL, b + k * by_k, cols * sizeof *packed);
    memset(packed + k * PANEL + cols, 0, (PANEL - cols) * sizeof *packed);
  }
}

/* A chunk of the products. The element (k, j) of the right matrix is b[k * by_k + j * by_col]. It is packed, unless it
 * lies well and is used too few times. */
static void chunk(size_t m, size_t n, size_t depth, left a, const float *b, size_t by_k, size_t by_col, float *c,
                  size_t ldc, bool add) {
  _Alignas(64) float packed[DEPTH * PANEL];
  const bool as_it_is = by_col == 1 && m < 4 * (size_t)ROWS;
  if (as_it_is && m < 4) {
    for (size_t i = 0; i < m; i++) {
      one_row(n, depth, a, b, by_k, c + i * ldc, add);
      a.rows += a.by_row;
    }
    return;
  }
  for (size_t j = 0; j < n; j += PANEL) {
    const size_t cols = n - j < PANEL ? n - j : PANEL;
    const float *from = b + j * by_col;
    if (!as_it_is) pack(depth, cols, from, by_k, by_col, packed);
    panel(cols, m, depth, a, as_it_is ? from : packed, as_it_is ? by_k : PANEL, c + j, ldc, add);
  }
}

static void product(size_t m, size_t n, size_t k, left a, const float *b, size_t by_k, size_t by_col, float *c,
                    size_t ldc, bool add) {
  size_t first = 0;
  do {
    const size_t depth = k - first < DEPTH ? k - first : DEPTH;
    chunk(m, n, depth, a, b, by_k, by_col, c, ldc, add || first > 0);
    a.rows += depth * a.by_k;
    b += depth * by_k;
    first += depth;
  } while (first < k);
}

static void nn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  product(m, n, k, (left){a, lda, 1}, b, ldb, 1, c, ldc, add);
}

static void nt(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  product(m, n, k, (left){a, lda, 1}, b, 1, ldb, c, ldc, add);
}

static void tn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  product(m, n, k, (left){a, 1, lda}, b, ldb, 1, c, ldc, add);
}

#undef PANEL
#undef WIDE
#undef SUMS
#undef DEPTH
#undef ROWS
#undef COLS
#undef WIDTH
