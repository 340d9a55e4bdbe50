/* kern/math/solve_tmpl.h: sums of squares of vectors, four vectors at a time; the Cholesky decomposition U'U = A of a
 * small matrix, four rows of U at a time. Rows are read in blocks of eight elements, which the compiler vectorises; the
 * first block may begin below the diagonal, where numbers do not matter. */
#include <math.h>

#define PANEL 4
#define BLOCK 8

/* Calls what(j) for elements first … n-1 of a row, and for the elements before `first` in its block. */
#define FOR_ELEMENTS(j, first, n, what)                      \
  do {                                                       \
    size_t block_ = (first) / BLOCK * BLOCK;                 \
    for (; block_ + BLOCK <= (n); block_ += BLOCK)           \
      for (size_t j = block_; j < block_ + BLOCK; j++) what; \
    for (size_t j = block_; j < (n); j++) what;              \
  } while (0)

/* a -= f * u, for elements first … n-1 of both rows. */
static inline void subtract_row(float *restrict a, const float *restrict u, float f, size_t first, size_t n) {
  FOR_ELEMENTS(j, first, n, a[j] -= f * u[j]);
}

static inline void subtract_rows(float *restrict a, const float *restrict u, size_t n, size_t i) {
  const float f0 = u[i], f1 = u[n + i], f2 = u[2 * n + i], f3 = u[3 * n + i];
  const float *restrict u1 = u + n, *restrict u2 = u + 2 * n, *restrict u3 = u + 3 * n;
  FOR_ELEMENTS(j, i, n, a[j] = a[j] - f0 * u[j] - f1 * u1[j] - f2 * u2[j] - f3 * u3[j]);
}

static inline void finish_row(float *row, float least, size_t k, size_t n) {
  const float pivot = sqrtf(row[k] > least ? row[k] : least), inverse = 1 / pivot;
  row[k] = pivot;
  for (size_t j = k + 1; j < n; j++) row[j] *= inverse;
}

static void factorise(size_t n, float *a, float least) {
  for (size_t k = 0; k < n; k += PANEL) {
    const size_t end = n - k < PANEL ? n : k + PANEL;
    for (size_t i = k; i < end; i++) {
      for (size_t q = k; q < i; q++) subtract_row(a + i * n, a + q * n, a[q * n + i], i, n);
      finish_row(a + i * n, least, i, n);
    }
    for (size_t i = end; i < n; i++) subtract_rows(a + i * n, a + k * n, n, i);
  }
}

/* The sum of u[j] x[j] over first <= j < n, in BLOCK parts. */
static inline float sum_products(const float *restrict u, const float *restrict x, size_t first, size_t n) {
  float part[BLOCK] = {0}, sum = 0;
  size_t j = first;
  for (; j + BLOCK <= n; j += BLOCK)
    for (size_t lane = 0; lane < BLOCK; lane++) part[lane] += u[j + lane] * x[j + lane];
  for (; j < n; j++) sum += u[j] * x[j];
  for (size_t lane = 0; lane < BLOCK; lane++) sum += part[lane];
  return sum;
}

static void substitute(size_t n, const float *u, float *restrict x) {
  for (size_t k = 0; k < n; k++) {
    const float *row = u + k * n;
    x[k] /= row[k];
    const float f = x[k];
    for (size_t j = k + 1; j < n; j++) x[j] -= f * row[j];
  }
  for (size_t k = n; k-- > 0;) x[k] = (x[k] - sum_products(u + k * n, x, k + 1, n)) / u[k * n + k];
}

static void positive(size_t n, float *a, float *x) {
  float largest = 0;
  for (size_t i = 0; i < n; i++) largest = a[i * n + i] > largest ? a[i * n + i] : largest;
  factorise(n, a, largest * 1e-6F);
  substitute(n, a, x);
}

/* ---- Equations and products ----------------------------------------------------------------------------- */

static inline void add_square(size_t n, const float *restrict v, float weight, float *restrict a, float *restrict b) {
  for (size_t i = 0; i < n; i++) {
    const float f = weight * v[i];
    float *restrict to = a + i * n;
    b[i] += f;
    FOR_ELEMENTS(j, i, n, to[j] += f * v[j]);
  }
}

static void add_squares(size_t n, const float *vectors, const uint32_t *row, const float *weight, size_t count,
                        float *restrict a, float *restrict b) {
  size_t at = 0;
  for (; at + PANEL <= count; at += PANEL) {
    const float *restrict v0 = vectors + row[at] * n, *restrict v1 = vectors + row[at + 1] * n,
                          *restrict v2 = vectors + row[at + 2] * n, *restrict v3 = vectors + row[at + 3] * n;
    for (size_t i = 0; i < n; i++) {
      const float f0 = weight[at] * v0[i], f1 = weight[at + 1] * v1[i], f2 = weight[at + 2] * v2[i],
                  f3 = weight[at + 3] * v3[i];
      float *restrict to = a + i * n;
      b[i] = b[i] + f0 + f1 + f2 + f3;
      FOR_ELEMENTS(j, i, n, to[j] = to[j] + f0 * v0[j] + f1 * v1[j] + f2 * v2[j] + f3 * v3[j]);
    }
  }
  for (; at < count; at++) add_square(n, vectors + row[at] * n, weight[at], a, b);
}

static void products(size_t n, const float *packed, size_t blocks, const float *x, float *out) {
  for (size_t block = 0; block < blocks; block++) {
    const float *restrict v = packed + block * n * FW_BLOCK_VECTORS;
    float sum[FW_BLOCK_VECTORS] = {0};
    for (size_t k = 0; k < n; k++)
      for (size_t lane = 0; lane < FW_BLOCK_VECTORS; lane++) sum[lane] += x[k] * v[k * FW_BLOCK_VECTORS + lane];
    for (size_t lane = 0; lane < FW_BLOCK_VECTORS; lane++) out[block * FW_BLOCK_VECTORS + lane] = sum[lane];
  }
}

#undef FOR_ELEMENTS
#undef BLOCK
#undef PANEL
