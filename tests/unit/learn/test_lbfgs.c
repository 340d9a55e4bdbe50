/* tests/unit/learn/test_lbfgs.c: minima of functions that are known, the same bytes for any number of threads, and
 * functions that are not finite, fail, or cannot be improved. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/convex/linear_problem.h"
#include "support/cmocka_all.h"

enum { SMALL = 20, LARGE = 30000 };

/* ---- Functions ---- */

/* Rosenbrock's: the sum of 100 (x[i+1] - x[i]²)² + (1 - x[i])², with its minimum 0 where all are 1. */
static furrow_status valley(void *user, const double *x, double *gradient, double *value, furrow_error *err) {
  const size_t n = *(const size_t *)user;
  (void)err;
  *value = 0;
  memset(gradient, 0, n * sizeof *gradient);
  for (size_t i = 0; i + 1 < n; i++) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    *value += 100 * a * a + b * b;
    gradient[i] += -400 * a * x[i] - 2 * b;
    gradient[i + 1] += 200 * a;
  }
  return FURROW_OK;
}

/* The sum of curvature[i] / 2 * (x[i] - i)², curvatures from 1 to 1e6. */
static double curvature_of(size_t i, size_t n) {
  return pow(10, 6.0 * (double)i / (double)(n - 1));
}

static furrow_status bowl(void *user, const double *x, double *gradient, double *value, furrow_error *err) {
  const size_t n = *(const size_t *)user;
  (void)err;
  *value = 0;
  for (size_t i = 0; i < n; i++) {
    const double d = x[i] - (double)(i % 7), c = curvature_of(i, n);
    *value += 0.5 * c * d * d;
    gradient[i] = c * d;
  }
  return FURROW_OK;
}

/* -ln(x) + x for x > 0: not finite elsewhere. */
static furrow_status barrier(void *user, const double *x, double *gradient, double *value, furrow_error *err) {
  (void)user;
  (void)err;
  *value = x[0] > 0 ? x[0] - log(x[0]) : NAN;
  gradient[0] = 1 - 1 / x[0];
  return FURROW_OK;
}

/* The gradient lies: there is no descent along it. */
static furrow_status liar(void *user, const double *x, double *gradient, double *value, furrow_error *err) {
  (void)user;
  (void)err;
  *value = x[0] * x[0];
  gradient[0] = -1;
  return FURROW_OK;
}

static furrow_status refuses(void *user, const double *x, double *gradient, double *value, furrow_error *err) {
  size_t *calls = user;
  if ((*calls)++ > 0) return fw_fail(err, FURROW_E_IO, "enough");
  *value = x[0] * x[0];
  gradient[0] = 2 * x[0];
  return FURROW_OK;
}

/* ---- Help ---- */

static fw_lbfgs *create(size_t n, const double *start, const fw_lbfgs_params *params) {
  fw_lbfgs *l = NULL;
  assert_int_equal(fw_lbfgs_create(&l, n, start, params, NULL), FURROW_OK);
  return l;
}

/* Iterates up to `most` times; returns how often it did. */
static size_t run(fw_lbfgs *l, size_t most, fw_lbfgs_state *state) {
  size_t i = 0;
  double before = INFINITY;
  *state = FW_LBFGS_GOING;
  for (; i < most && *state == FW_LBFGS_GOING; i++) {
    assert_int_equal(fw_lbfgs_step(l, state, NULL), FURROW_OK);
    assert_true(l->value <= before + 1e-12 * fabs(before));
    before = l->value;
  }
  return i;
}

/* ---- Tests ---- */

static void finds_the_end_of_a_valley(void **unused) {
  (void)unused;
  size_t n = SMALL;
  double start[SMALL];
  fw_lbfgs_state state;
  for (size_t i = 0; i < n; i++) start[i] = i % 2 ? 1 : -1.2;
  fw_lbfgs *l = create(n, start, &(fw_lbfgs_params){.function = valley, .user = &n, .tolerance = 1e-8});
  run(l, 500, &state);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  assert_true(l->largest <= 1e-8);
  for (size_t i = 0; i < n; i++) assert_true(fabs(l->x[i] - 1) < 1e-7);
  assert_true(l->evaluations < 250);
  /* once it has converged nothing moves */
  const size_t calls = l->evaluations;
  assert_int_equal(fw_lbfgs_step(l, &state, NULL), FURROW_OK);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  assert_int_equal(l->evaluations, calls);
  fw_lbfgs_free(l);
}

static void a_diagonal_mends_bad_scales(void **unused) {
  (void)unused;
  size_t n = SMALL;
  double start[SMALL] = {0}, diagonal[SMALL];
  fw_lbfgs_state state;
  for (size_t i = 0; i < n; i++) diagonal[i] = 3 * curvature_of(i, n);
  fw_lbfgs *with =
      create(n, start, &(fw_lbfgs_params){.function = bowl, .user = &n, .tolerance = 1e-6, .diagonal = diagonal});
  assert_true(run(with, 100, &state) <= 3);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  for (size_t i = 0; i < n; i++) assert_true(fabs(with->x[i] - (double)(i % 7)) < 1e-6);
  fw_lbfgs *without = create(n, start, &(fw_lbfgs_params){.function = bowl, .user = &n, .tolerance = 1e-6});
  assert_true(run(without, 30, &state) == 30);
  fw_lbfgs_free(with);
  fw_lbfgs_free(without);
}

static void threads_change_no_byte(void **unused) {
  (void)unused;
  static double start[LARGE], first[LARGE];
  size_t n = LARGE;
  const unsigned threads[] = {1, 2, 5};
  fw_lbfgs_state state;
  for (size_t i = 0; i < n; i++) start[i] = sin((double)i);
  fw_lbfgs *alone = create(n, start, &(fw_lbfgs_params){.function = bowl, .user = &n, .tolerance = 1e-9});
  run(alone, 25, &state);
  memcpy(first, alone->x, sizeof first);
  assert_true(memcmp(first, start, sizeof first) != 0);
  for (size_t t = 0; t < 3; t++) {
    fw_spin_pool *pool = NULL;
    assert_int_equal(fw_spin_pool_create(&pool, threads[t], NULL), FURROW_OK);
    fw_lbfgs *l = create(n, start, &(fw_lbfgs_params){.function = bowl, .user = &n, .tolerance = 1e-9, .pool = pool});
    run(l, 25, &state);
    assert_memory_equal(l->x, first, sizeof first);
    fw_lbfgs_free(l);
    fw_spin_pool_free(pool);
  }
  fw_lbfgs_free(alone);
}

static void values_that_are_not_finite_make_steps_shorter(void **unused) {
  (void)unused;
  double start = 0.01, diagonal = 1e-3; /* the first step would end far below 0 or beyond reach */
  fw_lbfgs_state state;
  fw_lbfgs *l = create(1, &start, &(fw_lbfgs_params){.function = barrier, .tolerance = 1e-9, .diagonal = &diagonal});
  run(l, 100, &state);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  assert_true(fabs(l->x[0] - 1) < 1e-8);
  fw_lbfgs_free(l);
  start = 3;
  l = create(1, &start,
             &(fw_lbfgs_params){.function = barrier, .tolerance = 1e-9, .diagonal = &diagonal}); /* towards 3 - 667 */
  run(l, 100, &state);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  assert_true(fabs(l->x[0] - 1) < 1e-8);
  fw_lbfgs_free(l);
}

static void starts_that_are_not_finite_are_refused(void **unused) {
  (void)unused;
  double start = -1;
  fw_lbfgs_state state;
  fw_lbfgs *l = create(1, &start, &(fw_lbfgs_params){.function = barrier, .tolerance = 1e-9});
  assert_int_equal(fw_lbfgs_step(l, &state, NULL), FURROW_E_RANGE);
  fw_lbfgs_free(l);
}

static void without_descent_it_is_stuck(void **unused) {
  (void)unused;
  double start = 0;
  fw_lbfgs_state state;
  fw_lbfgs *l = create(1, &start, &(fw_lbfgs_params){.function = liar, .tolerance = 1e-9});
  run(l, 10, &state);
  assert_int_equal(state, FW_LBFGS_STUCK);
  assert_true(l->x[0] == 0);
  fw_lbfgs_free(l);
}

static void a_failure_leaves_x_where_it_was(void **unused) {
  (void)unused;
  double start = 5;
  size_t calls = 0;
  fw_lbfgs_state state;
  fw_lbfgs *l = create(1, &start, &(fw_lbfgs_params){.function = refuses, .user = &calls, .tolerance = 1e-9});
  assert_int_equal(fw_lbfgs_step(l, &state, NULL), FURROW_E_IO);
  assert_true(l->x[0] == 5);
  fw_lbfgs_free(l);
}

static void small_gains_end_it(void **unused) {
  (void)unused;
  size_t n = SMALL;
  double start[SMALL];
  fw_lbfgs_state state;
  for (size_t i = 0; i < n; i++) start[i] = i % 2 ? 1 : -1.2;
  fw_lbfgs *l = create(n, start, &(fw_lbfgs_params){.function = valley, .user = &n, .value_tolerance = 0.5});
  run(l, 500, &state);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  assert_true(l->largest > 1e-3);
  fw_lbfgs_free(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_end_of_a_valley),
      cmocka_unit_test(a_diagonal_mends_bad_scales),
      cmocka_unit_test(threads_change_no_byte),
      cmocka_unit_test(values_that_are_not_finite_make_steps_shorter),
      cmocka_unit_test(starts_that_are_not_finite_are_refused),
      cmocka_unit_test(without_descent_it_is_stuck),
      cmocka_unit_test(a_failure_leaves_x_where_it_was),
      cmocka_unit_test(small_gains_end_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
