/* learn/layers/real.h: the type that a net computes with, and its matrix products.
 *
 * Every source of this folder is compiled twice, with FW_REAL_BITS 32 and 64. A name that crosses files is written
 * REAL_NAME(fw_thing) and becomes fw_thing_f32 or fw_thing_f64. */
#ifndef FW_LEARN_LAYERS_REAL_H
#define FW_LEARN_LAYERS_REAL_H

#ifndef FW_REAL_BITS
#define FW_REAL_BITS 32 /* for tools that look at one file */
#endif

#include <stdbool.h>
#include <stddef.h>

#if FW_REAL_BITS == 64
typedef double real;
#define REAL_NAME(name) name##_f64
#else
typedef float real;
#define REAL_NAME(name) name##_f32
#endif

/* Matrix products, row-major (real_product.c: kern/math/gemm.h for float, plain loops for double).
 *
 * c (m x n) = a * b, or += with `add`; ld: numbers from one row to the next. nn: a is m x k, b is k x n; nt: b is n x k
 * and its transpose is taken; tn: a is k x m and its transpose is taken. */
void REAL_NAME(fw_product_nn)(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                              real *c, size_t ldc, bool add);
void REAL_NAME(fw_product_nt)(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                              real *c, size_t ldc, bool add);
void REAL_NAME(fw_product_tn)(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb,
                              real *c, size_t ldc, bool add);

#endif
