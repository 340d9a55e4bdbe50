/* vector/quantizer/svd.h: singular values of small square matrices, in double. Matrices are stored by column. */
#ifndef FW_VECTOR_QUANTIZER_SVD_H
#define FW_VECTOR_QUANTIZER_SVD_H

#include <stddef.h>

#include "furrow/status.h"

/* A = U S V^T by one-sided Jacobi rotations (Hestenes, 1958): a comes in as A and becomes U S, v becomes V; n * n each.
 * Columns are not sorted. For a symmetric A without negative eigenvalues, V has the eigenvectors, and the lengths of
 * the columns of U S are the eigenvalues. */
void fw_svd(double *a, double *v, size_t n);
/* The orthogonal matrix nearest to A, U V^T, in q (n * n, by column); a is overwritten. Directions that A does not
 * determine are chosen so that q is orthogonal. */
furrow_status fw_polar(double *a, double *q, size_t n, furrow_error *err) FURROW_MUST_USE;

#endif
