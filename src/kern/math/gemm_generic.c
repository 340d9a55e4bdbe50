/* kern/math/gemm_generic.c: matrix products in plain C: a row of the right matrix at a time, which compilers vectorise.
 */
#include <string.h>

#include "kern/math/gemm.h"

static void row_start(float *c, size_t n, bool add) {
  if (!add) memset(c, 0, n * sizeof *c);
}

static void row_add(float *restrict c, const float *restrict b, size_t n, float x) {
  for (size_t j = 0; j < n; j++) c[j] += x * b[j];
}

static void nn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    row_start(c + i * ldc, n, add);
    for (size_t l = 0; l < k; l++) row_add(c + i * ldc, b + l * ldb, n, a[i * lda + l]);
  }
}

static void nt(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      float sum = 0;
      for (size_t l = 0; l < k; l++) sum += a[i * lda + l] * b[j * ldb + l];
      c[i * ldc + j] = add ? c[i * ldc + j] + sum : sum;
    }
  }
}

static void tn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, float *c,
               size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    row_start(c + i * ldc, n, add);
    for (size_t l = 0; l < k; l++) row_add(c + i * ldc, b + l * ldb, n, a[l * lda + i]);
  }
}

void fw_gemm_fill_generic(fw_gemm *gemm) {
  gemm->nn = nn;
  gemm->nt = nt;
  gemm->tn = tn;
}
