/* learn/layers/real_product.c: matrix products of reals. */
#include "learn/layers/real.h"

#include <string.h>

#include "kern/math/gemm.h"

#if FW_REAL_BITS == 64

/* c = or += a * b where element (i, l) of a is a[i * by_row + l * by_k]: a row of b at a time. */
static void product(size_t m, size_t n, size_t k, const double *a, size_t by_row, size_t by_k, const double *b,
                    size_t ldb, double *restrict c, size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    double *restrict row = c + i * ldc;
    if (!add) memset(row, 0, n * sizeof *row);
    for (size_t l = 0; l < k; l++) {
      const double x = a[i * by_row + l * by_k];
      for (size_t j = 0; j < n; j++) row[j] += x * b[l * ldb + j];
    }
  }
}

void fw_product_nn_f64(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc, bool add) {
  product(m, n, k, a, lda, 1, b, ldb, c, ldc, add);
}

void fw_product_nt_f64(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      double sum = 0;
      for (size_t l = 0; l < k; l++) sum += a[i * lda + l] * b[j * ldb + l];
      c[i * ldc + j] = add ? c[i * ldc + j] + sum : sum;
    }
  }
}

void fw_product_tn_f64(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc, bool add) {
  product(m, n, k, a, 1, lda, b, ldb, c, ldc, add);
}

#else

void fw_product_nn_f32(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
                       size_t ldc, bool add) {
  fw_gemm_table()->nn(m, n, k, a, lda, b, ldb, c, ldc, add);
}

void fw_product_nt_f32(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
                       size_t ldc, bool add) {
  fw_gemm_table()->nt(m, n, k, a, lda, b, ldb, c, ldc, add);
}

void fw_product_tn_f32(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
                       size_t ldc, bool add) {
  fw_gemm_table()->tn(m, n, k, a, lda, b, ldb, c, ldc, add);
}

#endif
