/* vector/quantizer/svd.c: singular values by one-sided Jacobi rotations. */
#include "vector/quantizer/svd.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "kern/products/products.h"

#define MOST_SWEEPS 40
#define ORTHOGONAL 1e-12 /* cosine below which two columns are */

static void rotate(double *x, double *y, size_t n, double c, double s) {
  for (size_t i = 0; i < n; i++) {
    double kept = x[i];
    x[i] = c * kept - s * y[i];
    y[i] = s * kept + c * y[i];
  }
}

/* Makes columns p and q orthogonal; false if they were. */
static bool rotate_pair(double *a, double *v, size_t n, size_t p, size_t q) {
  double *x = a + p * n, *y = a + q * n;
  double xx = fw_dot_f64(x, x, n), yy = fw_dot_f64(y, y, n), xy = fw_dot_f64(x, y, n);
  if (xy == 0 || fabs(xy) <= ORTHOGONAL * sqrt(xx * yy)) return false;
  double zeta = (yy - xx) / (2 * xy);
  double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  double c = 1 / sqrt(1 + t * t);
  rotate(x, y, n, c, c * t);
  rotate(v + p * n, v + q * n, n, c, c * t);
  return true;
}

void fw_svd(double *a, double *v, size_t n) {
  memset(v, 0, n * n * sizeof *v);
  for (size_t i = 0; i < n; i++) v[i * n + i] = 1;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < MOST_SWEEPS; sweep++) {
    rotated = false;
    for (size_t p = 0; p + 1 < n; p++)
      for (size_t q = p + 1; q < n; q++) rotated |= rotate_pair(a, v, n, p, q);
  }
}

/* Makes x orthogonal to columns 0 … count-1 of u, twice because of rounding. Returns its length. */
static double reduce(double *x, const double *u, size_t count, size_t n) {
  for (int again = 0; again < 2; again++) {
    for (size_t j = 0; j < count; j++) {
      double part = fw_dot_f64(x, u + j * n, n);
      for (size_t i = 0; i < n; i++) x[i] -= part * u[j * n + i];
    }
  }
  return sqrt(fw_dot_f64(x, x, n));
}

/* A unit vector orthogonal to columns 0 … at-1 of u goes to column `at`. Of the n unit vectors one has at least 1/n of
 * its square outside of their span. */
static void complete(double *u, size_t at, size_t n) {
  double *x = u + at * n;
  for (size_t i = 0; i < n; i++) {
    memset(x, 0, n * sizeof *x);
    x[i] = 1;
    double length = reduce(x, u, at, n);
    if (length * length * (double)(2 * n) < 1) continue;
    for (size_t k = 0; k < n; k++) x[k] /= length;
    return;
  }
}

static void swap_columns(double *a, size_t p, size_t q, size_t n) {
  for (size_t i = 0; p != q && i < n; i++) {
    double kept = a[p * n + i];
    a[p * n + i] = a[q * n + i];
    a[q * n + i] = kept;
  }
}

/* Columns of U S to U: those with a length come first, the others are completed. V is permuted with them. */
static void normalize_columns(double *a, double *v, size_t n) {
  double most = 0;
  size_t found = 0;
  for (size_t j = 0; j < n; j++) most = fmax(most, sqrt(fw_dot_f64(a + j * n, a + j * n, n)));
  for (size_t j = 0; j < n; j++) {
    double length = sqrt(fw_dot_f64(a + j * n, a + j * n, n));
    if (!(length > most * (double)n * DBL_EPSILON)) continue;
    for (size_t i = 0; i < n; i++) a[j * n + i] /= length;
    swap_columns(a, found, j, n);
    swap_columns(v, found, j, n);
    found++;
  }
  for (; found < n; found++) complete(a, found, n);
}

furrow_status fw_polar(double *a, double *q, size_t n, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, n * n, sizeof(double), err);
  if (status != FURROW_OK) return status;
  double *v = memory;
  fw_svd(a, v, n);
  normalize_columns(a, v, n);
  memset(q, 0, n * n * sizeof *q);
  for (size_t k = 0; k < n; k++) /* q += u_k v_k^T */
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++) q[j * n + i] += a[k * n + i] * v[k * n + j];
  fw_free(v);
  return FURROW_OK;
}
