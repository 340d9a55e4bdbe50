/* tests/unit/kern/test_pairs.c: products of all pairs of vectors and the way back against plain loops, the same bits at
 * every level of instructions. */
#include "kern/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cmocka_all.h"

typedef struct shape {
  size_t n, count;
  bool wide; /* doubles */
} shape;

static size_t size_of(const shape *s) {
  return s->wide ? sizeof(double) : sizeof(float);
}

static size_t pairs_of(const shape *s) {
  return s->count * (s->count - 1) / 2;
}

static double get(const shape *s, const void *numbers, size_t i) {
  return s->wide ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static void *draw(const shape *s, size_t count, uint64_t seed) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  void *made = calloc(count + 1, size_of(s));
  assert_non_null(made);
  for (size_t i = 0; i < count; i++) {
    const double x = fw_rng_normal(&rng);
    if (s->wide)
      ((double *)made)[i] = x;
    else
      ((float *)made)[i] = (float)x;
  }
  return made;
}

static void assert_near(const shape *s, double found, double expected) {
  const double most = (s->wide ? 1e-12 : 1e-4) * (1 + fabs(expected) + (double)(s->n + s->count));
  if (!(fabs(found - expected) <= most)) fail_msg("%.12g, not %.12g", found, expected);
}

/* ---- One level ---- */

static void *run_products(const shape *s, const fw_pairs *kernels, const void *vectors) {
  void *out = draw(s, pairs_of(s), 3);
  kernels->products(s->n, s->count, vectors, out);
  assert_true(get(s, out, pairs_of(s)) == 0); /* nothing is written behind the last */
  return out;
}

static void check_products(const shape *s, const void *vectors, const void *out) {
  size_t pair = 0;
  for (size_t a = 0; a < s->count; a++)
    for (size_t b = a + 1; b < s->count; b++, pair++) {
      double sum = 0;
      for (size_t j = 0; j < s->n; j++) sum += get(s, vectors, a * s->n + j) * get(s, vectors, b * s->n + j);
      assert_near(s, get(s, out, pair), sum);
    }
}

static void *run_spread(const shape *s, const fw_pairs *kernels, const void *vectors, const void *slope) {
  void *grad = draw(s, s->count * s->n, 5);
  kernels->spread(s->n, s->count, vectors, slope, grad);
  assert_true(get(s, grad, s->count * s->n) == 0);
  return grad;
}

static void check_spread(const shape *s, const void *vectors, const void *slope, const void *found) {
  const size_t numbers = s->count * s->n;
  void *before = draw(s, numbers, 5);
  double *grad = calloc(numbers + 1, sizeof *grad);
  size_t pair = 0;
  for (size_t i = 0; i < numbers; i++) grad[i] = get(s, before, i);
  for (size_t a = 0; a < s->count; a++)
    for (size_t b = a + 1; b < s->count; b++, pair++)
      for (size_t j = 0; j < s->n; j++) {
        grad[a * s->n + j] += get(s, slope, pair) * get(s, vectors, b * s->n + j);
        grad[b * s->n + j] += get(s, slope, pair) * get(s, vectors, a * s->n + j);
      }
  for (size_t i = 0; i < numbers; i++) assert_near(s, get(s, found, i), grad[i]);
  free(before), free(grad);
}

/* ---- All levels ---- */

static void check(const shape *s) {
  void *vectors = draw(s, s->count * s->n, 1), *slope = draw(s, pairs_of(s), 2);
  void *first_out = NULL, *first_grad = NULL;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_kernels kernels = fw_kernels_at(isa);
    const fw_pairs *pairs = s->wide ? &kernels.pairs_f64 : &kernels.pairs_f32;
    void *out = run_products(s, pairs, vectors), *grad = run_spread(s, pairs, vectors, slope);
    if (!first_out) {
      check_products(s, vectors, out);
      check_spread(s, vectors, slope, grad);
      first_out = out;
      first_grad = grad;
      continue;
    }
    assert_memory_equal(out, first_out, pairs_of(s) * size_of(s));
    assert_memory_equal(grad, first_grad, s->count * s->n * size_of(s));
    free(out), free(grad);
  }
  free(vectors), free(slope), free(first_out), free(first_grad);
}

static void test_pairs(void **state) {
  (void)state;
  static const size_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 40};
  static const size_t counts[] = {2, 3, 4, 5, 8, 9, 12, 15, 16, 17, 39, 64, 65, 100, 131};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
      for (int wide = 0; wide < 2; wide++) check(&(shape){widths[i], counts[k], wide});
}

/* One vector has no pair: its gradient stays. */
static void test_one_vector(void **state) {
  (void)state;
  check(&(shape){8, 1, false});
}

/* What is not a number stays with the pairs that it is in. */
static void test_not_a_number(void **state) {
  (void)state;
  enum { N = 8, COUNT = 20, BAD = 11 };
  float vectors[N * COUNT], slope[COUNT * (COUNT - 1) / 2], grad[N * COUNT] = {0};
  for (size_t i = 0; i < N * COUNT; i++) vectors[i] = i / N == BAD ? INFINITY : 1;
  for (size_t i = 0; i < COUNT * (COUNT - 1) / 2; i++) slope[i] = 1;
  fw_pairs_table_f32()->spread(N, COUNT, vectors, slope, grad);
  for (size_t i = 0; i < N * COUNT; i++) assert_true(i / N == BAD ? grad[i] == COUNT - 1 : isinf(grad[i]) != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_one_vector),
      cmocka_unit_test(test_not_a_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
