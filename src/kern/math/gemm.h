/* kern/math/gemm.h: products of small and middle-sized float matrices, row-major. */
#ifndef FW_KERN_MATH_GEMM_H
#define FW_KERN_MATH_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/* c (m x n) = a * b, or c += with `add`. ld: numbers from one row to the next. Every element is a sum over k in an
 * order that depends on the shapes alone. */
typedef void fw_gemm_function(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb,
                              float *c, size_t ldc, bool add);

typedef struct fw_gemm {
  fw_gemm_function *nn; /* a is m x k, b is k x n */
  fw_gemm_function *nt; /* a is m x k, b is n x k: its transpose is taken */
  fw_gemm_function *tn; /* a is k x m: its transpose is taken; b is k x n */
} fw_gemm;

/* The kernels of this process, and what fills them (kern/dispatch.h). */
const fw_gemm *fw_gemm_table(void);
void fw_gemm_fill_generic(fw_gemm *gemm);
void fw_gemm_fill_avx2(fw_gemm *gemm);
void fw_gemm_fill_avx512(fw_gemm *gemm);
void fw_gemm_fill_neon(fw_gemm *gemm);

#endif
