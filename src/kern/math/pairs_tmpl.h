/* kern/math/pairs_tmpl.h: products of all pairs of vectors, in registers.
 *
 * Before including it, define
 *   REAL           float or double
 *   NAME(name)     makes the names of this type
 *   VECTOR_BYTES   bytes of a register */
#include <string.h>

#include "kern/simd/unroll.h"

typedef REAL NAME(lanes) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define LANES (VECTOR_BYTES / sizeof(REAL))

/* The size of the block that is transposed at once: numbers per vector, and vectors. */
#define DEEP 16
#define WIDE 64
#define STRIDE (WIDE + LANES)
/* Vectors whose gradients are summed at once. */
#define ROWS 8

INLINE NAME(lanes) NAME(load)(const REAL *p) {
  return *(const NAME(lanes) *)p;
}

INLINE void NAME(store)(REAL *p, NAME(lanes) v) {
  *(NAME(lanes) *)p = v;
}

/* The index of the product of a and b > a; the products of a are contiguous. */
INLINE size_t NAME(pair)(size_t count, size_t a, size_t b) {
  return a * (2 * count - a - 1) / 2 + b - a - 1;
}

/* ---- Products ---- */

typedef REAL NAME(four) __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

INLINE void NAME(transpose_square)(const REAL *u, size_t n, REAL *to) {
  const NAME(four) a = *(const NAME(four) *)u, b = *(const NAME(four) *)(u + n);
  const NAME(four) c = *(const NAME(four) *)(u + 2 * n), d = *(const NAME(four) *)(u + 3 * n);
  const NAME(four) low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const NAME(four) low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                   high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *(NAME(four) *)to = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
  *(NAME(four) *)(to + STRIDE) = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
  *(NAME(four) *)(to + 2 * STRIDE) = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
  *(NAME(four) *)(to + 3 * STRIDE) = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
}

/* Zeros follow the last vector, as far as a register may reach. */
INLINE void NAME(transpose)(const size_t depth, size_t width, const REAL *u, size_t n, REAL *to) {
  const size_t squares = depth % 4 ? 0 : width / 4 * 4;
  for (size_t k = 0; k < squares; k += 4)
    for (size_t j = 0; j < depth; j += 4) NAME(transpose_square)(u + k * n + j, n, to + j * STRIDE + k);
  for (size_t k = squares; k < width; k++)
    for (size_t j = 0; j < depth; j++) to[j * STRIDE + k] = u[k * n + j];
  for (size_t j = 0; j < depth; j++) NAME(store)(to + j * STRIDE + width, (NAME(lanes)){0});
}

/* Returns sum + the products of one number of each of LANES vectors after the other. */
INLINE NAME(lanes) NAME(dots)(const size_t depth, const REAL *u, const REAL *transposed, NAME(lanes) sum) {
  if (depth == 8) {
    UNROLL for (size_t j = 0; j < 8; j++) sum += u[j] * NAME(load)(transposed + j * STRIDE);
  } else {
    for (size_t j = 0; j < depth; j++) sum += u[j] * NAME(load)(transposed + j * STRIDE);
  }
  return sum;
}

/* out = or += the products of a vector with `width` of the transposed ones. `space` numbers of out may be written: a
 * later run may overwrite the numbers after its width. */
INLINE void NAME(run)(const size_t depth, size_t width, size_t space, const REAL *u, const REAL *transposed, REAL *out,
                      bool add) {
  for (size_t at = 0; at < width; at += LANES) {
    NAME(lanes) before = {0};
    if (add) memcpy(&before, out + at, (width - at < LANES ? width - at : LANES) * sizeof *out);
    const NAME(lanes) sum = NAME(dots)(depth, u, transposed + at, before);
    if (space - at >= LANES) {
      NAME(store)(out + at, sum);
    } else {
      REAL numbers[LANES];
      NAME(store)(numbers, sum);
      memcpy(out + at, numbers, (width - at) * sizeof *out);
    }
  }
}

/* Products of each vector with the later ones among first … end-1. If these are all vectors, the runs are
 * contiguous, and each may write into the next. */
INLINE void NAME(runs)(const size_t depth, size_t n, size_t count, const REAL *u, size_t first, size_t end,
                       REAL *transposed, REAL *out, bool add) {
  const bool all = end - first == count && !add;
  NAME(transpose)(depth, end - first, u + first * n, n, transposed);
  for (size_t a = 0; a + 1 < end; a++) {
    const size_t from = a < first ? first : a + 1, at = NAME(pair)(count, a, from);
    NAME(run)
    (depth, end - from, all ? count * (count - 1) / 2 - at : end - from, u + a * n, transposed + (from - first),
     out + at, add);
  }
}

static void NAME(products)(size_t n, size_t count, const void *vectors, void *out) {
  REAL transposed[DEEP * STRIDE]; /* number j of vector k at j * STRIDE + k */
  for (size_t j = 0; j < n; j += DEEP) {
    const size_t depth = n - j < DEEP ? n - j : DEEP;
    const REAL *u = (const REAL *)vectors + j;
    for (size_t first = 0; first < count; first += WIDE) {
      const size_t end = count - first < WIDE ? count : first + WIDE;
      if (sizeof(REAL) == sizeof(float) && n == 8)
        NAME(runs)(8, 8, count, u, first, end, transposed, out, false);
      else
        NAME(runs)(depth, n, count, u, first, end, transposed, out, j > 0);
    }
  }
}

/* ---- Gradients ---- */

/* Computes one register of each of `rows` vectors from `first` on. u and grad point to that register of vector 0. */
INLINE void NAME(spread_rows)(const int rows, size_t n, size_t count, size_t first, const REAL *u, const REAL *slope,
                              REAL *grad) {
  NAME(lanes) sum[ROWS];
  const REAL *behind[ROWS];
  const size_t end = first + (size_t)rows;
  UNROLL for (int i = 0; i < rows; i++) sum[i] = NAME(load)(grad + (first + (size_t)i) * n);
  for (size_t b = 0; b < first; b++) {
    const NAME(lanes) v = NAME(load)(u + b * n);
    const REAL *g = slope + NAME(pair)(count, b, first);
    UNROLL for (int i = 0; i < rows; i++) sum[i] += g[i] * v;
  }
  UNROLL for (int k = 0; k < rows; k++) {
    const NAME(lanes) v = NAME(load)(u + (first + (size_t)k) * n);
    UNROLL for (int i = 0; i < rows; i++) {
      const size_t low = first + (size_t)(i < k ? i : k), high = first + (size_t)(i < k ? k : i);
      if (i != k) sum[i] += slope[NAME(pair)(count, low, high)] * v;
    }
  }
  UNROLL for (int i = 0; i < rows; i++) behind[i] = slope + NAME(pair)(count, first + (size_t)i, end);
  for (size_t b = end; b < count; b++) {
    const NAME(lanes) v = NAME(load)(u + b * n);
    UNROLL for (int i = 0; i < rows; i++) sum[i] += behind[i][b - end] * v;
  }
  UNROLL for (int i = 0; i < rows; i++) NAME(store)(grad + (first + (size_t)i) * n, sum[i]);
}

static void NAME(spread_register)(size_t n, size_t count, const REAL *u, const REAL *slope, REAL *grad) {
  size_t a = 0;
  for (; a + ROWS <= count; a += ROWS) NAME(spread_rows)(ROWS, n, count, a, u, slope, grad);
  for (; a + 4 <= count; a += 4) NAME(spread_rows)(4, n, count, a, u, slope, grad);
  for (; a < count; a++) NAME(spread_rows)(1, n, count, a, u, slope, grad);
}

/* Computes one number of each vector. */
static void NAME(spread_number)(size_t n, size_t count, const REAL *u, const REAL *slope, REAL *grad) {
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b < count; b++)
      if (b != a) grad[a * n] += slope[a < b ? NAME(pair)(count, a, b) : NAME(pair)(count, b, a)] * u[b * n];
}

static void NAME(spread)(size_t n, size_t count, const void *vectors, const void *slope, void *grad) {
  const REAL *u = vectors;
  REAL *to = grad;
  size_t at = 0;
  for (; at + LANES <= n; at += LANES) NAME(spread_register)(n, count, u + at, slope, to + at);
  for (; at < n; at++) NAME(spread_number)(n, count, u + at, slope, to + at);
}

#undef ROWS
#undef WIDE
#undef STRIDE
#undef DEEP
#undef LANES
#undef REAL
#undef NAME
