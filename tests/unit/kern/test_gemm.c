/* tests/unit/kern/test_gemm.c: matrix products against plain sums in double, at every level of instructions. */
#include "kern/dispatch.h"

#include <math.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "support/cmocka_all.h"

enum { NN, NT, TN };

static float *numbers(fw_rng *rng, size_t count) {
  float *x = malloc((count + 1) * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < count; i++) x[i] = (float)(fw_rng_double(rng) - 0.5);
  return x;
}

static double plain(int kind, size_t i, size_t j, size_t k, const float *a, size_t lda, const float *b, size_t ldb) {
  double sum = 0;
  for (size_t l = 0; l < k; l++) {
    const double x = kind == TN ? a[l * lda + i] : a[i * lda + l];
    sum += x * (kind == NT ? b[j * ldb + l] : b[l * ldb + j]);
  }
  return sum;
}

/* One shape, with rows that are longer than what is used of them; what lies behind a row stays as it is. */
static void check(const fw_gemm *gemm, int kind, size_t m, size_t n, size_t k, bool add, fw_rng *rng) {
  const size_t lda = (kind == TN ? m : k) + 3, ldb = (kind == NT ? k : n) + 1, ldc = n + 2;
  float *a = numbers(rng, (kind == TN ? k : m) * lda), *b = numbers(rng, (kind == NT ? n : k) * ldb);
  float *c = numbers(rng, m * ldc), *before = malloc((m * ldc + 1) * sizeof *before);
  for (size_t i = 0; i < m * ldc; i++) before[i] = c[i];
  fw_gemm_function *const run = kind == NN ? gemm->nn : kind == NT ? gemm->nt : gemm->tn;
  run(m, n, k, a, lda, b, ldb, c, ldc, add);
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < ldc; j++) {
      const size_t at = i * ldc + j;
      if (j >= n)
        assert_true(c[at] == before[at]);
      else {
        const double expected = plain(kind, i, j, k, a, lda, b, ldb) + (add ? before[at] : 0);
        assert_true(fabs(c[at] - expected) <= 2e-6 * (double)(k + 4));
      }
    }
  }
  free(a), free(b), free(c), free(before);
}

static void test_shapes(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 12, 13, 16, 17, 31, 32, 33, 50, 65, 100};
  fw_rng rng;
  fw_rng_init(&rng, 7);
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_gemm gemm = fw_kernels_at(isa).gemm;
    for (int round = 0; round < 400; round++) {
      const size_t m = sizes[fw_rng_below(&rng, 16)], n = sizes[fw_rng_below(&rng, 16)];
      const size_t k = round % 50 == 0 ? 600 : sizes[fw_rng_below(&rng, 16)];
      check(&gemm, round % 3, m, n, k, round & 8, &rng);
    }
    check(&gemm, NN, 5, 7, 0, false, &rng); /* no products: zeros */
  }
}

/* The numbers of a row do not depend on the number of rows: one row is scored as it is in a batch. */
static void test_rows_alone(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 8);
  enum { M = 61, N = 100, K = 312 };
  float *a = numbers(&rng, M * K), *b = numbers(&rng, K * N), *all = numbers(&rng, M * N), *one = numbers(&rng, N);
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_gemm gemm = fw_kernels_at(isa).gemm;
    gemm.nn(M, N, K, a, K, b, N, all, N, false);
    for (size_t i = 0; i < M; i++) {
      gemm.nn(1, N, K, a + i * K, K, b, N, one, N, false);
      assert_memory_equal(one, all + i * N, N * sizeof *one);
    }
  }
  free(a), free(b), free(all), free(one);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_rows_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
