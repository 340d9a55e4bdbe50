/* kern/math/gemm_tmpl.h: matrix products with a tile of ROWS rows times COLS registers held in registers.
 *
 * Before including it, define
 *   ROWS, COLS    rows and registers of a tile
 *   WIDTH         floats of a register, a multiple of 4
 *   vf            a register of floats
 *   vf_load(p), vf_set(x), vf_fma(a, b, c) = a * b + c, vf_add(a, b), vf_store(p, v); no alignment is required
 *   vf_relu(v)    0 where v <= 0; NaN stays
 *   vf_load_part(p, n), vf_store_part(p, n, v)    n < WIDTH numbers; the others are 0
 * An element of a chunk of DEPTH products is a chain of multiply-adds that starts with 0 and ascends in k; chunks
 * are added in order. Neither the position in a tile nor the number of rows changes an element. */
#include <string.h>

#include "kern/simd/unroll.h"

#define PANEL (COLS * WIDTH)
#define WIDE 8 /* registers of a tile of one row */
#define SUMS (ROWS * COLS > WIDE ? ROWS * COLS : WIDE)
#define DEPTH 256
#define AHEAD 16 /* how many rows ahead a transposed left matrix is prefetched */

/* The element (i, k) of the left matrix is rows[i * by_row + k * by_k]; products of a chunk. */
typedef struct left {
  const float *rows;
  size_t by_row, by_k, depth;
} left;

/* The left matrix of a chunk: parts one after the other in k. */
typedef struct lefts {
  left part[FW_GEMM_PARTS];
  size_t count;
} lefts;

/* What happens to the sums of a chunk: bias + sum, c + sum or the sum alone; then negative results become 0. */
typedef struct finish {
  const float *bias;
  bool add, relu;
} finish;

/* Loads the last register of a tile, where `count` numbers are valid: WIDTH, or fewer at the right edge. */
INLINE vf load(const float *p, size_t count) {
  return count == WIDTH ? vf_load(p) : vf_load_part(p, count);
}

INLINE vf finished(vf sum, const finish *end, const float *bias, const float *to, size_t count) {
  if (end->bias) sum = vf_add(load(bias, count), sum);
  if (end->add) sum = vf_add(load(to, count), sum);
  return end->relu ? vf_relu(sum) : sum;
}

/* Stores sums at the right edge, or of one row: `cols` numbers of each row. */
static void store_edge(size_t rows, size_t cols, const float *sums, size_t ld, float *c, size_t ldc,
                       const finish *end) {
  for (size_t i = 0; i < rows; i++, sums += ld, c += ldc) {
    size_t j = 0;
    for (; j + WIDTH <= cols; j += WIDTH)
      vf_store(c + j, finished(vf_load(sums + j), end, end->bias + j, c + j, WIDTH));
    if (j < cols) vf_store_part(c + j, cols - j, finished(vf_load(sums + j), end, end->bias + j, c + j, cols - j));
  }
}

INLINE void store_tile(const int rows, const int cols, const vf *sum, float *c, size_t ldc, const finish *end) {
  const float *from = end->bias ? end->bias : c;
  const size_t by = end->bias ? 0 : ldc;
  vf made[SUMS];
  UNROLL for (int i = 0; i < rows * cols; i++) made[i] = sum[i];
  if (end->bias || end->add) {
    UNROLL for (int i = 0; i < rows * cols; i++) made[i] =
        vf_add(vf_load(from + (size_t)(i / cols) * by + (size_t)(i % cols) * WIDTH), made[i]);
  }
  if (end->relu) {
    UNROLL for (int i = 0; i < rows * cols; i++) made[i] = vf_relu(made[i]);
  }
  UNROLL for (int i = 0; i < rows * cols; i++)
      vf_store(c + (size_t)(i / cols) * ldc + (size_t)(i % cols) * WIDTH, made[i]);
}

/* Computes `rows` rows of `cols` registers. `full`: the last register of b is complete. */
INLINE void tile(const int rows, const int cols, const bool full, const lefts *a, size_t row, const float *b,
                 size_t ldb, size_t last, float *c, size_t ldc, const finish *end) {
  vf sum[SUMS];
  UNROLL for (int i = 0; i < rows * cols; i++) sum[i] = vf_set(0);
  for (size_t p = 0; p < a->count; p++) {
    const left part = a->part[p];
    const float *x = part.rows + row * part.by_row;
    for (size_t k = 0; k < part.depth; k++, x += part.by_k, b += ldb) {
      vf y[WIDE];
      UNROLL for (int v = 0; v < cols - 1; v++) y[v] = vf_load(b + (size_t)v * WIDTH);
      y[cols - 1] = load(b + (size_t)(cols - 1) * WIDTH, full ? WIDTH : last);
      if (rows == ROWS) __builtin_prefetch(x + AHEAD * part.by_k);
      UNROLL for (int i = 0; i < rows; i++) {
        const vf number = vf_set(x[(size_t)i * part.by_row]);
        UNROLL for (int v = 0; v < cols; v++) sum[i * cols + v] = vf_fma(number, y[v], sum[i * cols + v]);
      }
    }
  }
  if (rows > 1 && last == WIDTH) {
    store_tile(rows, cols, sum, c, ldc, end);
  } else {
    float kept[SUMS * WIDTH];
    UNROLL for (int i = 0; i < rows * cols; i++) vf_store(kept + (size_t)i * WIDTH, sum[i]);
    store_edge((size_t)rows, (size_t)(cols - 1) * WIDTH + last, kept, (size_t)cols * WIDTH, c, ldc, end);
  }
}

/* Computes rows in whole tiles; returns the number of rows done. */
INLINE size_t panel_of(const int cols, size_t m, const lefts *a, const float *b, size_t ldb, size_t last, float *c,
                       size_t ldc, const finish *end) {
  size_t i = 0;
  for (; i + ROWS <= m; i += ROWS) tile(ROWS, cols, true, a, i, b, ldb, last, c + i * ldc, ldc, end);
  for (; ROWS > 4 && i + 4 <= m; i += 4) tile(4, cols, true, a, i, b, ldb, last, c + i * ldc, ldc, end);
  return i;
}

/* Computes all rows of `cols` columns: up to COLS registers of a packed matrix. */
static void packed_panel(size_t cols, size_t m, const lefts *a, const float *b, size_t ldb, float *c, size_t ldc,
                         const finish *end) {
  const size_t last = (cols - 1) % WIDTH + 1;
  size_t i = cols > 2 * WIDTH ? panel_of(COLS, m, a, b, ldb, last, c, ldc, end)
             : cols > WIDTH   ? panel_of(2, m, a, b, ldb, last, c, ldc, end)
                              : panel_of(1, m, a, b, ldb, last, c, ldc, end);
  for (; i < m; i++)
    for (size_t j = 0; j < cols; j += WIDTH) {
      const finish here = {end->bias ? end->bias + j : NULL, end->add, end->relu};
      tile(1, 1, true, a, i, b + j, ldb, cols - j < WIDTH ? last : WIDTH, c + i * ldc + j, ldc, &here);
    }
}

/* Computes one row, with many registers of columns at once, so that their sums are independent. */
INLINE size_t row_of(const int cols, size_t n, const lefts *a, size_t row, const float *b, size_t ldb, float *c,
                     const finish *end) {
  size_t j = 0;
  for (; n - j > (size_t)(cols - 1) * WIDTH; j += (size_t)cols * WIDTH) {
    const size_t last = n - j - (size_t)(cols - 1) * WIDTH;
    tile(1, cols, false, a, row, b + j, ldb, last < WIDTH ? last : WIDTH, c + j, 0, end);
    if (last <= WIDTH) return n;
  }
  return j;
}

static void one_row(size_t n, const lefts *a, size_t row, const float *b, size_t ldb, float *c, const finish *end) {
  size_t j = row_of(WIDE, n, a, row, b, ldb, c, end);
  if (j < n) j += row_of(4, n - j, a, row, b + j, ldb, c + j, end);
  if (j < n) j += row_of(2, n - j, a, row, b + j, ldb, c + j, end);
  if (j < n) row_of(1, n - j, a, row, b + j, ldb, c + j, end);
}

/* ---- Panels: the columns of a right matrix are divided into panels of COLS registers; the last panels have one
 * register less if that divides the columns more evenly ---- */

typedef struct panel_shape {
  size_t first, cols, ld; /* columns; `ld` of them are in memory */
} panel_shape;

INLINE panel_shape panel_at(size_t n, size_t first) {
  const size_t registers = (n + WIDTH - 1) / WIDTH, panels = (registers + COLS - 1) / COLS;
  const size_t missing = panels > 1 ? panels * COLS - registers : 0, whole = (panels - missing) * PANEL;
  const size_t narrow = first >= whole && missing ? PANEL - WIDTH : PANEL, rest = n - first;
  if (rest >= narrow) return (panel_shape){first, narrow, narrow};
  return (panel_shape){first, rest, (rest + WIDTH - 1) / WIDTH * WIDTH};
}

/* ---- Packing: a panel of columns of the right matrix, stored contiguously, with 0 after the last ---- */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

INLINE four load_four(const float *p) {
  return *(const four *)p;
}

INLINE void store_four(float *p, four v) {
  *(four *)p = v;
}

/* Transposes a square of 4 x 4 numbers: row j of the right matrix becomes column j. */
INLINE void transpose_square(const float *b, size_t by_col, float *to, size_t ld) {
  const four x0 = load_four(b), x1 = load_four(b + by_col);
  const four x2 = load_four(b + 2 * by_col), x3 = load_four(b + 3 * by_col);
  const four low01 = __builtin_shufflevector(x0, x1, 0, 4, 1, 5), high01 = __builtin_shufflevector(x0, x1, 2, 6, 3, 7);
  const four low23 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5), high23 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
  store_four(to, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store_four(to + ld, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store_four(to + 2 * ld, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store_four(to + 3 * ld, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

/* The element (k, j) is b[k + j * by_col]. */
static void pack_transposed(size_t depth, size_t cols, const float *b, size_t by_col, float *to, size_t ld) {
  const size_t square = depth / 4 * 4;
  size_t j = 0;
  for (; j + 4 <= cols; j += 4, b += 4 * by_col) {
    for (size_t k = 0; k < square; k += 4) transpose_square(b + k, by_col, to + k * ld + j, ld);
    for (size_t k = square; k < depth; k++)
      for (size_t i = 0; i < 4; i++) to[k * ld + j + i] = b[k + i * by_col];
  }
  for (; j < cols; j++, b += by_col)
    for (size_t k = 0; k < depth; k++) to[k * ld + j] = b[k];
}

/* Packs whole registers of rows, from the start of a register on. */
static void pack_registers(size_t depth, size_t cols, const float *b, size_t by_k, float *to, size_t ld) {
  for (size_t k = 0; k < depth; k++, b += by_k, to += ld) {
    size_t j = 0;
    for (; j + WIDTH <= cols; j += WIDTH) vf_store(to + j, vf_load(b + j));
    if (j < cols) vf_store(to + j, vf_load_part(b + j, cols - j));
  }
}

/* Packs a block of a panel, whose columns start at `col`; the panel has zeros after its last column. */
static __attribute__((noinline)) void pack_block(size_t depth, size_t col, size_t cols, const float *b, size_t by_k,
                                                 size_t by_col, float *to, const panel_shape *p) {
  const bool ends = col + cols == p->cols;
  if (by_col == 1 && col % WIDTH == 0 && (cols % WIDTH == 0 || ends)) {
    pack_registers(depth, cols, b, by_k, to + col, p->ld);
    return;
  }
  if (by_col != 1)
    pack_transposed(depth, cols, b, by_col, to + col, p->ld);
  else
    for (size_t k = 0; k < depth; k++) memcpy(to + k * p->ld + col, b + k * by_k, cols * sizeof *to);
  for (size_t k = 0; ends && p->cols < p->ld && k < depth; k++)
    memset(to + k * p->ld + p->cols, 0, (p->ld - p->cols) * sizeof *to);
}

static size_t packed_size(size_t k, size_t n) {
  return (n + WIDTH - 1) / WIDTH * WIDTH * k;
}

static void pack(const fw_gemm_pack *job) {
  panel_shape p;
  for (size_t j = 0; j < job->end_col; j += p.cols) {
    p = panel_at(job->n, j);
    const size_t begin = job->begin_col > j ? job->begin_col : j;
    const size_t end = job->end_col < j + p.cols ? job->end_col : j + p.cols;
    if (begin < end)
      pack_block(job->end_row - job->begin_row, begin - j, end - begin,
                 job->b + job->begin_row * job->by_row + begin * job->by_col, job->by_row, job->by_col,
                 job->packed + j * job->k + job->begin_row * p.ld, &p);
  }
}

/* ---- Products ---- */

/* Computes a chunk of the products. The element (k, j) of the right matrix is b[k * by_k + j * by_col]. The matrix
 * is packed, unless its layout is suitable and it is used only a few times. */
static void chunk(size_t m, size_t n, const lefts *a, const float *b, size_t by_k, size_t by_col, float *c, size_t ldc,
                  const finish *end) {
  _Alignas(64) float packed[DEPTH * PANEL];
  const size_t depth = a->part[0].depth;
  if (by_col == 1 && m < 4) {
    for (size_t i = 0; i < m; i++) one_row(n, a, i, b, by_k, c + i * ldc, end);
    return;
  }
  panel_shape p;
  for (size_t j = 0; j < n; j += p.cols) {
    p = panel_at(n, j);
    pack_block(depth, 0, p.cols, b + j * by_col, by_k, by_col, packed, &p);
    packed_panel(p.cols, m, a, packed, p.ld, c + j, ldc, end);
  }
}

static void product(size_t m, size_t n, size_t k, left a, const float *b, size_t by_k, size_t by_col, float *c,
                    size_t ldc, bool add) {
  size_t first = 0;
  do {
    a.depth = k - first < DEPTH ? k - first : DEPTH;
    const lefts all = {{a}, 1};
    chunk(m, n, &all, b, by_k, by_col, c, ldc, &(finish){NULL, add || first > 0, false});
    a.rows += a.depth * a.by_k;
    b += a.depth * by_k;
    first += a.depth;
  } while (first < k);
}

static void nn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  product(m, n, k, (left){a, lda, 1, 0}, b, ldb, 1, c, ldc, add);
}

static void nt(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  product(m, n, k, (left){a, lda, 1, 0}, b, 1, ldb, c, ldc, add);
}

static void tn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  if (n == 1 && ldc == 1) /* c is one row, and so is the transpose of b */
    product(1, m, k, (left){b, 0, ldb, 0}, a, lda, 1, c, 0, add);
  else
    product(m, n, k, (left){a, 1, lda, 0}, b, ldb, 1, c, ldc, add);
}

/* Returns columns first … first + depth - 1 of a job's left matrix. */
static lefts columns_of(const fw_gemm_job *job, size_t first, size_t depth) {
  lefts made = {.count = 0};
  for (size_t i = 0; i < job->part_count && depth > 0; i++) {
    const fw_gemm_part *part = &job->parts[i];
    if (first >= part->cols) {
      first -= part->cols;
      continue;
    }
    const size_t here = part->cols - first < depth ? part->cols - first : depth;
    made.part[made.count++] = (left){part->x + first * part->by_col, part->by_row, part->by_col, here};
    depth -= here;
    first = 0;
  }
  return made;
}

/* Computes one chunk of a job: products first … first + depth - 1 of k. */
static void multiply_chunk(const fw_gemm_job *job, size_t k, size_t first, size_t depth) {
  const lefts a = columns_of(job, first, depth);
  panel_shape p;
  for (size_t j = 0; j < job->end_col; j += p.cols) {
    p = panel_at(job->n, j);
    const size_t begin = job->begin_col > j ? job->begin_col : j;
    const size_t end = job->end_col < j + p.cols ? job->end_col : j + p.cols;
    if (begin >= end) continue;
    const finish made = {first == 0 && job->bias ? job->bias + begin : NULL, first > 0 || job->add,
                         job->relu && first + depth == k};
    packed_panel(end - begin, job->m, &a, job->packed + j * k + first * p.ld + (begin - j), p.ld,
                 job->c + (begin - job->begin_col), job->ldc, &made);
  }
}

static void multiply(const fw_gemm_job *job) {
  size_t k = 0, first = 0;
  for (size_t i = 0; i < job->part_count; i++) k += job->parts[i].cols;
  do {
    const size_t depth = k - first < DEPTH ? k - first : DEPTH;
    multiply_chunk(job, k, first, depth);
    first += depth;
  } while (first < k);
}

static void fill(fw_gemm *gemm) {
  *gemm = (fw_gemm){nn, nt, tn, packed_size, pack, multiply};
}

#undef PANEL
#undef WIDE
#undef SUMS
#undef DEPTH
#undef AHEAD
#undef ROWS
#undef COLS
#undef WIDTH
