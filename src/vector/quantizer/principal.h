/* vector/quantizer/principal.h: principal directions of vectors, PCA, random rotations, and the small singular value
 * decompositions behind them. */
#ifndef FW_VECTOR_QUANTIZER_PRINCIPAL_H
#define FW_VECTOR_QUANTIZER_PRINCIPAL_H

#include "vector/quantizer/training_vectors.h"
#include "vector/quantizer/transform.h"

#define FW_PCA_SAMPLE_PER_D ((size_t)1000) /* sample size for each dimension, as in Faiss */

/* ---- Singular values of small square matrices in double, stored by column ------------------- */

/* A = U S V^T by one-sided Jacobi rotations (Hestenes, 1958): a holds A and becomes U S, v becomes V; n * n each.
 * Columns are not sorted. For a symmetric positive semidefinite A, V has the eigenvectors, and the norms of the columns
 * of U S are the eigenvalues. */
void fw_svd(double *a, double *v, size_t n);
/* Writes the orthogonal matrix nearest to A, U V^T, to q (n * n, by column); a is overwritten. Directions that A does
 * not determine are chosen so that q is orthogonal. */
furrow_status fw_polar(double *a, double *q, size_t n, furrow_error *err) FURROW_MUST_USE;

/* ---- Sums over the vectors of all ranks; every rank gets the same bits ---- */

/* sums (d * d, by column) = the sum of y x^T over n vectors of each rank. Collective. */
furrow_status fw_sum_products(const furrow_comm *comm, const float *x, const float *y, size_t n, size_t d, double *sums,
                              furrow_error *err) FURROW_MUST_USE;
/* mean (d) = the mean of the vectors of all ranks; to = the vectors of this rank minus the mean. Collective. */
furrow_status fw_centre_vectors(const fw_rank_vectors *from, size_t d, double *mean, float *to,
                                furrow_error *err) FURROW_MUST_USE;

/* ---- Directions and transforms ---- */

typedef struct fw_direction {
  double variance;
  size_t column; /* column of `vectors` */
} fw_direction;

/* Finds the eigenvectors of a sum of x x^T (d * d, overwritten): column directions[i].column of `vectors` is the one
 * with the i-th largest eigenvalue. */
void fw_principal_directions(double *sums, double *vectors, size_t d, fw_direction *directions);

/* Fills a (d_out * d_in) with random orthonormal rows or, if there are more rows than columns, orthonormal columns. */
furrow_status fw_random_rotation(float *a, size_t d_out, size_t d_in, uint64_t seed, furrow_error *err) FURROW_MUST_USE;

/* Trains a transform Pcam: fills mean (d_in), eigenvalues (d_in), pca (d_in * d_in), a and b, which are allocated.
 * Collective. */
furrow_status fw_pca_train(fw_transform *transform, const fw_rank_vectors *local, uint64_t seed,
                           furrow_error *err) FURROW_MUST_USE;

#endif
