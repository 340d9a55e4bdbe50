/* learn/layers/real_product.h: matrix products of reals, row-major: kern/math/gemm.h for float, plain loops for double.
 */
#ifndef FW_LEARN_LAYERS_REAL_PRODUCT_H
#define FW_LEARN_LAYERS_REAL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "learn/layers/real.h"

/* c (m x n) = a * b, or += with `add`; ld: numbers from one row to the next. nn: a is m x k, b is k x n; nt: b is n x k
 * and its transpose is taken; tn: a is k x m and its transpose is taken. */
void REAL_NAME(fw_product_nn)(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                              real *c, size_t ldc, bool add);
void REAL_NAME(fw_product_nt)(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                              real *c, size_t ldc, bool add);
void REAL_NAME(fw_product_tn)(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                              real *c, size_t ldc, bool add);

#endif
