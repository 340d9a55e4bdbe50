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

/* ---- Packed matrices ---- */

/* A left matrix of m x k in parts, with its right one, k x n. */
typedef struct packed_case {
  size_t m, n, k, parts;
  bool transposed; /* the left matrix lies by column */
  bool turned;     /* the right matrix lies by column */
} packed_case;

static float *pack_in_pieces(const fw_gemm *gemm, const packed_case *c, const float *b) {
  const size_t size = gemm->packed_size(c->k, c->n), row = c->k / 3, col = c->n / 2;
  float *packed = malloc((size + 1) * sizeof *packed);
  assert_non_null(packed);
  for (size_t i = 0; i <= size; i++) packed[i] = NAN;
  for (int piece = 0; piece < 4; piece++) {
    const bool low = piece & 1, left = piece & 2;
    gemm->pack(&(fw_gemm_pack){.k = c->k,
                               .n = c->n,
                               .b = b,
                               .by_row = c->turned ? 1 : c->n,
                               .by_col = c->turned ? c->k : 1,
                               .begin_row = low ? 0 : row,
                               .end_row = low ? row : c->k,
                               .begin_col = left ? 0 : col,
                               .end_col = left ? col : c->n,
                               .packed = packed});
  }
  assert_true(isnan(packed[size])); /* nothing is written behind the end */
  return packed;
}

static size_t cut_parts(const packed_case *c, const float *a, fw_gemm_part *parts) {
  size_t at = 0;
  for (size_t i = 0; i < c->parts; i++) {
    const size_t cols = i + 1 == c->parts ? c->k - at : c->k / c->parts;
    parts[i] = c->transposed ? (fw_gemm_part){a + at * c->m, 1, c->m, cols} : (fw_gemm_part){a + at, c->k, 1, cols};
    at += cols;
  }
  return c->parts;
}

static float relu_of(float x) {
  return x <= 0 ? 0 : x;
}

/* The bits of all outputs, of those of some columns, and of what is made of them. */
static void check_packed(const fw_gemm *gemm, const packed_case *c, fw_rng *rng) {
  const size_t numbers_of_c = c->m * c->n, from = c->n > 32 ? 16 : 0, some = c->n - from;
  float *a = numbers(rng, c->m * c->k), *b = numbers(rng, c->k * c->n), *bias = numbers(rng, c->n);
  float *expected = numbers(rng, numbers_of_c), *found = numbers(rng, numbers_of_c),
        *packed = pack_in_pieces(gemm, c, b);
  fw_gemm_part parts[FW_GEMM_PARTS];
  fw_gemm_job job = {.m = c->m, .n = c->n, .end_col = c->n, .parts = parts, .packed = packed, .c = found, .ldc = c->n};
  job.part_count = cut_parts(c, a, parts);
  fw_gemm_function *const run = c->transposed ? gemm->tn : c->turned ? gemm->nt : gemm->nn;
  run(c->m, c->n, c->k, a, c->transposed ? c->m : c->k, b, c->turned ? c->k : c->n, expected, c->n, false);
  gemm->multiply(&job);
  assert_memory_equal(found, expected, numbers_of_c * sizeof *found);
  for (size_t i = 0; i < numbers_of_c; i++) found[i] = expected[i] = bias[i % c->n];
  run(c->m, c->n, c->k, a, c->transposed ? c->m : c->k, b, c->turned ? c->k : c->n, expected, c->n, true);
  job.add = true;
  gemm->multiply(&job);
  assert_memory_equal(found, expected, numbers_of_c * sizeof *found);
  job.add = false;
  job.bias = bias;
  job.relu = true;
  gemm->multiply(&job);
  for (size_t i = 0; i < numbers_of_c; i++) expected[i] = relu_of(expected[i]);
  assert_memory_equal(found, expected, numbers_of_c * sizeof *found);
  job.begin_col = from;
  job.ldc = some;
  gemm->multiply(&job);
  for (size_t i = 0; i < c->m; i++)
    assert_memory_equal(found + i * some, expected + i * c->n + from, some * sizeof *found);
  free(a), free(b), free(bias), free(expected), free(found), free(packed);
}

static void test_packed(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 4, 5, 8, 13, 16, 17, 24, 32, 33, 48, 50, 65, 96, 100, 112, 113, 150};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  fw_rng rng;
  fw_rng_init(&rng, 9);
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_gemm gemm = fw_kernels_at(isa).gemm;
    for (int round = 0; round < 400; round++) {
      packed_case c = {.m = sizes[fw_rng_below(&rng, SIZES)], .n = sizes[fw_rng_below(&rng, SIZES)], .parts = 1};
      c.k = round % 5 == 0 ? 240 + fw_rng_below(&rng, 400) : sizes[fw_rng_below(&rng, SIZES)];
      c.transposed = round % 3 == 0;
      c.turned = round % 3 == 1;
      if (c.k >= 4) c.parts = 1 + fw_rng_below(&rng, FW_GEMM_PARTS);
      check_packed(&gemm, &c, &rng);
    }
  }
}

/* What is not a number stays, with a negative sign, too. */
static void test_relu_of_nan(void **state) {
  (void)state;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_gemm gemm = fw_kernels_at(isa).gemm;
    float one = 1, b[3] = {NAN, -NAN, -1}, packed[16], out[3];
    assert_true(gemm.packed_size(1, 3) <= 16);
    gemm.pack(&(fw_gemm_pack){1, 3, b, 3, 1, 0, 1, 0, 3, packed});
    const fw_gemm_part part = {&one, 1, 1, 1};
    gemm.multiply(&(fw_gemm_job){.m = 1,
                                 .n = 3,
                                 .end_col = 3,
                                 .parts = &part,
                                 .part_count = 1,
                                 .packed = packed,
                                 .c = out,
                                 .ldc = 3,
                                 .relu = true});
    assert_true(isnan(out[0]) && isnan(out[1]) && out[2] == 0 && !signbit(out[2]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_rows_alone),
                                     cmocka_unit_test(test_packed), cmocka_unit_test(test_relu_of_nan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
