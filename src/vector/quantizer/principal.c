/* vector/quantizer/principal.c: principal directions and rotations of vectors. */
#include "vector/quantizer/principal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/products/products.h"

#define CHUNK 1024 /* vectors whose products are summed as floats */

/* ---- Singular values by one-sided Jacobi rotations ------------------------------------------------------ */

#define MOST_SWEEPS 40
#define ORTHOGONAL 1e-12 /* columns with a smaller cosine count as orthogonal */

static void rotate_columns(double *x, double *y, size_t n, double c, double s) {
  for (size_t i = 0; i < n; i++) {
    double kept = x[i];
    x[i] = c * kept - s * y[i];
    y[i] = s * kept + c * y[i];
  }
}

/* Makes columns p and q orthogonal; returns false if they were already. */
static bool rotate_pair(double *a, double *v, size_t n, size_t p, size_t q) {
  double *x = a + p * n, *y = a + q * n;
  double xx = fw_dot_f64(x, x, n), yy = fw_dot_f64(y, y, n), xy = fw_dot_f64(x, y, n);
  if (xy == 0 || fabs(xy) <= ORTHOGONAL * sqrt(xx * yy)) return false;
  double zeta = (yy - xx) / (2 * xy);
  double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  double c = 1 / sqrt(1 + t * t);
  rotate_columns(x, y, n, c, c * t);
  rotate_columns(v + p * n, v + q * n, n, c, c * t);
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

/* Makes x orthogonal to columns 0 … count-1 of u, twice because of rounding. Returns the norm of x. */
static double orthogonalize(double *x, const double *u, size_t count, size_t n) {
  for (int again = 0; again < 2; again++) {
    for (size_t j = 0; j < count; j++) {
      double part = fw_dot_f64(x, u + j * n, n);
      for (size_t i = 0; i < n; i++) x[i] -= part * u[j * n + i];
    }
  }
  return sqrt(fw_dot_f64(x, x, n));
}

/* Sets column `at` to a unit vector orthogonal to columns 0 … at-1 of u. At least one of the n axes has 1/n of its
 * squared norm outside their span. */
static void complete_basis(double *u, size_t at, size_t n) {
  double *x = u + at * n;
  for (size_t i = 0; i < n; i++) {
    memset(x, 0, n * sizeof *x);
    x[i] = 1;
    double length = orthogonalize(x, u, at, n);
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

/* Normalizes the columns of U S to U: columns with a norm come first, the others are completed. V is permuted with
 * them. */
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
  for (; found < n; found++) complete_basis(a, found, n);
}

furrow_status fw_polar(double *a, double *q, size_t n, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, n * n, sizeof(double), err));
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

/* ---- Sums of products ----------------------------------------------------------------------------------- */

static void transpose(const float *x, size_t n, size_t d, float *out) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++) out[k * n + i] = x[i * d + k];
}

/* sums (by column: d * i + j) += x_i y_j over some vectors. */
static furrow_status add_products(const float *x, const float *y, size_t n, size_t d, float *scratch, double *sums,
                                  furrow_error *err) {
  fw_packed packed = {0};
  float *columns = scratch, *out = scratch + n * d;
  transpose(y, n, d, columns);
  FW_TRY(fw_packed_create(&packed, columns, d, n, n, false, err));
  size_t width = packed.blocks * FW_PACK_WIDTH;
  transpose(x, n, d, columns);
  fw_products_table()->scores(&packed, columns, d, n, out, width);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) sums[i * d + j] += out[i * width + j];
  fw_packed_clear(&packed);
  return FURROW_OK;
}

/* sums = the sum of y x^T over this rank's vectors, by column. */
static furrow_status sum_own_products(const float *x, const float *y, size_t n, size_t d, double *sums,
                                      furrow_error *err) {
  void *scratch = NULL;
  furrow_status status = fw_alloc(&scratch, CHUNK + d + FW_PACK_WIDTH, d * sizeof(float), err);
  memset(sums, 0, d * d * sizeof *sums);
  for (size_t first = 0; status == FURROW_OK && first < n; first += CHUNK)
    status = add_products(x + first * d, y + first * d, n - first < CHUNK ? n - first : CHUNK, d, scratch, sums, err);
  fw_free(scratch);
  return status;
}

furrow_status fw_sum_products(const furrow_comm *comm, const float *x, const float *y, size_t n, size_t d, double *sums,
                              furrow_error *err) {
  FW_TRY(fw_comm_all_ok(comm, sum_own_products(x, y, n, d, sums, err), err));
  return fw_comm_sum_f64(comm, sums, d * d, err);
}

furrow_status fw_centre_vectors(const fw_rank_vectors *from, size_t d, double *sums, float *to, furrow_error *err) {
  const size_t n = from->n;
  for (size_t k = 0; k < d; k++) {
    sums[k] = 0;
    for (size_t i = 0; i < n; i++) sums[k] += from->vectors[i * d + k];
  }
  FW_TRY(fw_comm_sum_f64(from->comm, sums, d, err));
  for (size_t k = 0; k < d; k++) {
    sums[k] /= (double)from->total;
    const float mean = (float)sums[k];
    for (size_t i = 0; i < n; i++) to[i * d + k] = from->vectors[i * d + k] - mean;
  }
  return FURROW_OK;
}

/* ---- Principal directions ------------------------------------------------------------------------------- */

static int by_variance(const void *a, const void *b) {
  const fw_direction *x = a, *y = b;
  if (x->variance != y->variance) return x->variance > y->variance ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

void fw_principal_directions(double *sums, double *vectors, size_t d, fw_direction *directions) {
  fw_svd(sums, vectors, d);
  for (size_t j = 0; j < d; j++)
    directions[j] = (fw_direction){.variance = sqrt(fw_dot_f64(sums + j * d, sums + j * d, d)), .column = j};
  qsort(directions, d, sizeof *directions, by_variance);
}

/* ---- Random rotations ----------------------------------------------------------------------------------- */

furrow_status fw_random_rotation(float *a, size_t d_out, size_t d_in, uint64_t seed, furrow_error *err) {
  const size_t n = d_in > d_out ? d_in : d_out;
  double *rows = NULL;
  fw_rng rng;
  FW_TRY(FW_ALLOC_ROWS(&rows, d_out, n, err));
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < d_out; i++) {
    double length = 0;
    while (!(length > 1e-6)) { /* else the row depends on those before it */
      for (size_t k = 0; k < n; k++) rows[i * n + k] = fw_rng_normal(&rng);
      length = orthogonalize(rows + i * n, rows, i, n);
    }
    for (size_t k = 0; k < n; k++) rows[i * n + k] /= length;
    for (size_t k = 0; k < d_in; k++) a[i * d_in + k] = (float)rows[i * n + k];
  }
  fw_free(rows);
  return FURROW_OK;
}

/* ---- PCA ------------------------------------------------------------------------------------------------ */

/* Writes the directions to the rows of pca, and the variances. Faiss keeps sums, not means, of squares. */
static void keep_directions(fw_transform *t, const double *vectors, const fw_direction *directions) {
  const size_t d = (size_t)t->d_in;
  for (size_t i = 0; i < d; i++) {
    t->eigenvalues[i] = (float)directions[i].variance;
    for (size_t k = 0; k < d; k++) t->pca[i * d + k] = (float)vectors[directions[i].column * d + k];
  }
}

/* A = the first rows of pca, scaled by a power of their variance, and rotated; b = -A mean. `rotation` may be NULL. */
static void combine_pca(fw_transform *t, const float *rotation) {
  const size_t in = (size_t)t->d_in, out = (size_t)t->d_out;
  for (size_t i = 0; i < out; i++) {
    double shift = 0;
    for (size_t k = 0; k < in; k++) {
      double sum = 0;
      for (size_t j = rotation ? 0 : i; j < (rotation ? out : i + 1); j++) {
        const double scale = t->eigen_power == 0 ? 1 : pow((double)t->eigenvalues[j] + t->epsilon, t->eigen_power);
        sum += (rotation ? (double)rotation[i * out + j] : 1) * scale * t->pca[j * in + k];
      }
      t->a[i * in + k] = (float)sum;
      shift += sum * t->mean[k];
    }
    t->b[i] = (float)-shift;
  }
}

static furrow_status fit_pca(fw_transform *t, const fw_rank_vectors *sample, double *sums, double *vectors,
                             float *centred, furrow_error *err) {
  const size_t d = (size_t)t->d_in;
  fw_direction *directions = NULL;
  FW_TRY(fw_centre_vectors(sample, d, sums, centred, err));
  for (size_t k = 0; k < d; k++) t->mean[k] = (float)sums[k];
  FW_TRY(fw_sum_products(sample->comm, centred, centred, sample->n, d, sums, err));
  FW_TRY(FW_ALLOC(&directions, d, err));
  fw_principal_directions(sums, vectors, d, directions);
  keep_directions(t, vectors, directions);
  fw_free(directions);
  return FURROW_OK;
}

/* Distributes rank 0's matrix: powers may differ between machines. */
static furrow_status share_pca(fw_transform *t, const furrow_comm *comm, furrow_error *err) {
  const size_t in = (size_t)t->d_in, out = (size_t)t->d_out;
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(comm->broadcast(comm, t->a, in * out * sizeof *t->a, 0, err));
  return comm->broadcast(comm, t->b, out * sizeof *t->b, 0, err);
}

furrow_status fw_pca_train(fw_transform *t, const fw_rank_vectors *local, uint64_t seed, furrow_error *err) {
  const size_t d = (size_t)t->d_in, out = (size_t)t->d_out;
  double *sums = NULL, *vectors = NULL;
  float *centred = NULL, *rotation = NULL;
  fw_rank_vectors sample = {0};
  furrow_status status = fw_rank_vectors_sample(&sample, local, d, FW_PCA_SAMPLE_PER_D * d, seed, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&sums, d, d, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&vectors, d, d, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&centred, sample.n, d, err);
  if (status == FURROW_OK && t->random_rotation) {
    status = FW_ALLOC_ROWS(&rotation, out, out, err);
    if (status == FURROW_OK) status = fw_random_rotation(rotation, out, out, seed, err);
  }
  status = fw_comm_all_ok(local->comm, status, err);
  if (status == FURROW_OK) status = fit_pca(t, &sample, sums, vectors, centred, err);
  if (status == FURROW_OK) combine_pca(t, rotation);
  if (status == FURROW_OK) status = share_pca(t, local->comm, err);
  fw_rank_vectors_clear(&sample);
  fw_free(sums);
  fw_free(vectors);
  fw_free(centred);
  fw_free(rotation);
  return status;
}
