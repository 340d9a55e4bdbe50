/* kern/math/solve_tmpl.h: the Cholesky decomposition U'U = A of a small matrix, four rows of U at a time. The loops
 * over the elements of a row are vectorised by the compiler. */
#include <math.h>

#define PANEL 4

/* a -= f * u, for elements first … n-1 of both rows. */
static inline void subtract_row(float *restrict a, const float *restrict u, float f, size_t first, size_t n) {
  for (size_t j = first; j < n; j++) a[j] -= f * u[j];
}

static inline void subtract_rows(float *restrict a, const float *restrict u, size_t n, size_t i) {
  const float f0 = u[i], f1 = u[n + i], f2 = u[2 * n + i], f3 = u[3 * n + i];
  for (size_t j = i; j < n; j++) a[j] = a[j] - f0 * u[j] - f1 * u[n + j] - f2 * u[2 * n + j] - f3 * u[3 * n + j];
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

static void substitute(size_t n, const float *u, float *x) {
  for (size_t k = 0; k < n; k++) {
    x[k] /= u[k * n + k];
    subtract_row(x, u + k * n, x[k], k + 1, n);
  }
  for (size_t k = n; k-- > 0;) {
    float sum = x[k];
    for (size_t j = k + 1; j < n; j++) sum -= u[k * n + j] * x[j];
    x[k] = sum / u[k * n + k];
  }
}

static void positive(size_t n, float *a, float *x) {
  float largest = 0;
  for (size_t i = 0; i < n; i++) largest = a[i * n + i] > largest ? a[i * n + i] : largest;
  factorise(n, a, largest * 1e-6F);
  substitute(n, a, x);
}

#undef PANEL
