/* tests/unit/recommend/test_item_item.c: weights between items against the closed form, computed in doubles from the
 * dense matrix; the kernel that solves them at every level of instructions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kern/dispatch.h"
#include "recommend/item_item.h"
#include "support/cmocka_all.h"
#include "vector/data/parallel.h"

enum { ROWS = 300, ITEMS = 40 };

static furrow_error err;

/* ---- The kernel ----------------------------------------------------------------------------------------- */

static void draw_matrix(size_t n, uint64_t seed, float *a, float *b) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  double *x = calloc(n * (n + 3), sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n * (n + 3); i++) x[i] = fw_rng_normal(&rng);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      double sum = i == j ? 1 : 0;
      for (size_t k = 0; k < n + 3; k++) sum += x[i * (n + 3) + k] * x[j * (n + 3) + k];
      a[i * n + j] = (float)sum;
    }
    b[i] = (float)fw_rng_normal(&rng);
  }
  free(x);
}

static void solves_equations(void **state) {
  static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 64, 100};
  (void)state;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const size_t n = sizes[s];
    float *a = calloc(n * n, sizeof *a), *b = calloc(n, sizeof *b), *factor = calloc(n * n, sizeof *a);
    float *x = calloc(n, sizeof *x), *first = calloc(n, sizeof *x);
    assert_true(a && b && factor && x && first);
    draw_matrix(n, n, a, b);
    for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
      if (!fw_isa_available(isa)) continue;
      const fw_kernels kernels = fw_kernels_at(isa);
      memcpy(factor, a, n * n * sizeof *a);
      memcpy(x, b, n * sizeof *b);
      kernels.solve.positive(n, factor, x);
      for (size_t i = 0; i < n; i++) {
        double sum = -b[i], size = fabs(b[i]);
        for (size_t j = 0; j < n; j++) {
          sum += (double)a[i * n + j] * x[j];
          size += fabs((double)a[i * n + j] * x[j]);
        }
        if (!(fabs(sum) < 1e-4 * size)) fail_msg("n %zu, equation %zu: off by %g of %g", n, i, sum, size);
      }
      if (isa == FW_ISA_GENERIC) memcpy(first, x, n * sizeof *x);
      assert_memory_equal(first, x, n * sizeof *x);
    }
    free(a);
    free(b);
    free(factor);
    free(x);
    free(first);
  }
}

/* Two equal columns and no regularisation: the solution is finite. */
static void singular_matrix_stays_finite(void **state) {
  float a[4] = {1, 1, 1, 1}, x[2] = {1, 1};
  (void)state;
  fw_solve_table()->positive(2, a, x);
  assert_true(isfinite(x[0]) && isfinite(x[1]));
}

/* ---- Weights -------------------------------------------------------------------------------------------- */

/* A row of all items, and rows of 1 to 12 items: items near each other are often together. */
static fw_sparse_rows make_rows(void) {
  fw_sparse_rows rows = {.rows = ROWS, .columns = ITEMS};
  fw_rng rng;
  fw_rng_init(&rng, 9);
  rows.offset = calloc(ROWS + 1, sizeof *rows.offset);
  rows.column = calloc(ROWS * 12 + ITEMS, sizeof *rows.column);
  rows.value = calloc(ROWS * 12 + ITEMS, sizeof *rows.value);
  assert_true(rows.offset && rows.column && rows.value);
  for (uint32_t i = 0; i < ITEMS; i++) {
    rows.column[i] = i;
    rows.value[i] = 1;
  }
  rows.offset[1] = ITEMS;
  for (size_t r = 1; r < ROWS; r++) {
    const uint32_t centre = (uint32_t)fw_rng_below(&rng, ITEMS);
    bool has[ITEMS] = {false};
    size_t end = rows.offset[r];
    for (uint64_t n = 1 + fw_rng_below(&rng, 12); n > 0; n--) {
      const uint32_t item = (centre + (uint32_t)fw_rng_below(&rng, 9)) % ITEMS;
      if (has[item]) continue;
      has[item] = true;
      rows.column[end] = item;
      rows.value[end++] = 1;
    }
    rows.offset[r + 1] = end;
  }
  return rows;
}

static void free_rows(fw_sparse_rows *rows) {
  free(rows->offset);
  free(rows->column);
  free(rows->value);
}

static double weight_of(const fw_sparse_rows *weights, size_t from, size_t to) {
  for (size_t i = weights->offset[from]; i < weights->offset[from + 1]; i++)
    if (weights->column[i] == to) return weights->value[i];
  return 0;
}

static furrow_status solve(const fw_sparse_rows *rows, size_t neighbours, const double *l2, size_t count, double order,
                           unsigned threads, fw_sparse_rows *weights) {
  fw_pool *pool = NULL;
  assert_int_equal(fw_parallel_start(&pool, threads, &err), FURROW_OK);
  const fw_item_item_params params = {
      .items = ITEMS, .neighbours = neighbours, .l2 = l2, .l2_count = count, .order = order, .pool = pool};
  const furrow_status status = fw_item_item_solve(rows, &params, weights, &err);
  fw_pool_free(pool);
  return status;
}

/* Inverts a symmetric positive matrix by Gauss-Jordan. */
static void invert(double *a, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const double pivot = 1 / a[k * n + k];
    for (size_t j = 0; j < n; j++) a[k * n + j] *= j == k ? 0 : pivot;
    a[k * n + k] = pivot;
    for (size_t i = 0; i < n; i++) {
      if (i == k) continue;
      const double f = a[i * n + k];
      a[i * n + k] = 0;
      for (size_t j = 0; j < n; j++) a[i * n + j] -= f * a[k * n + j];
    }
  }
}

/* With all items as neighbours the weights are -P / diag(P), P the inverse of X'X + l2. */
static void all_neighbours_are_the_closed_form(void **state) {
  static const double l2[2] = {3, 50};
  fw_sparse_rows rows = make_rows(), weights[2] = {{0}};
  (void)state;
  assert_int_equal(solve(&rows, ITEMS, l2, 2, 0, 1, weights), FURROW_OK);
  for (size_t l = 0; l < 2; l++) {
    double p[ITEMS * ITEMS] = {0};
    for (size_t r = 0; r < ROWS; r++)
      for (size_t i = rows.offset[r]; i < rows.offset[r + 1]; i++)
        for (size_t j = rows.offset[r]; j < rows.offset[r + 1]; j++) p[rows.column[i] * ITEMS + rows.column[j]]++;
    for (size_t i = 0; i < ITEMS; i++) p[i * ITEMS + i] += l2[l];
    invert(p, ITEMS);
    for (size_t i = 0; i < ITEMS; i++)
      for (size_t j = 0; j < ITEMS; j++) {
        const double expected = i == j ? 0 : -p[i * ITEMS + j] / p[j * ITEMS + j];
        const double found = weight_of(&weights[l], i, j);
        if (!(fabs(found - expected) < 1e-4)) fail_msg("%zu -> %zu: %g, not %g", i, j, found, expected);
      }
    fw_sparse_rows_clear(&weights[l]);
  }
  free_rows(&rows);
}

static void threads_do_not_matter(void **state) {
  static const double l2 = 10;
  fw_sparse_rows rows = make_rows(), one = {0}, four = {0};
  (void)state;
  for (int ordered = 0; ordered < 2; ordered++) {
    assert_int_equal(solve(&rows, 7, &l2, 1, ordered ? 0.5 : 0, 1, &one), FURROW_OK);
    assert_int_equal(solve(&rows, 7, &l2, 1, ordered ? 0.5 : 0, 4, &four), FURROW_OK);
    const size_t count = one.offset[ITEMS];
    assert_true(count > 0 && count <= 7 * ITEMS);
    assert_int_equal(four.offset[ITEMS], count);
    assert_memory_equal(one.offset, four.offset, (ITEMS + 1) * sizeof *one.offset);
    assert_memory_equal(one.column, four.column, count * sizeof *one.column);
    assert_memory_equal(one.value, four.value, count * sizeof *one.value);
    fw_sparse_rows_clear(&one);
    fw_sparse_rows_clear(&four);
  }
  free_rows(&rows);
}

/* Item 1 always follows item 0: with order, 0 speaks for 1 and not the other way. */
static void order_has_a_direction(void **state) {
  enum { PAIRS = 50 };
  static const double l2 = 1;
  size_t offset[PAIRS + 1] = {0};
  uint32_t column[2 * PAIRS];
  float value[2 * PAIRS];
  fw_sparse_rows rows = {.rows = PAIRS, .columns = ITEMS, .offset = offset, .column = column, .value = value};
  fw_sparse_rows weights = {0};
  (void)state;
  for (size_t r = 0; r < PAIRS; r++) {
    column[2 * r] = 0;
    column[2 * r + 1] = 1;
    value[2 * r] = value[2 * r + 1] = 1;
    offset[r + 1] = 2 * r + 2;
  }
  assert_int_equal(solve(&rows, 5, &l2, 1, 1, 1, &weights), FURROW_OK);
  assert_true(weight_of(&weights, 0, 1) > 0.5);
  assert_true(weight_of(&weights, 1, 0) == 0);
  fw_sparse_rows_clear(&weights);
  assert_int_equal(solve(&rows, 5, &l2, 1, 0, 1, &weights), FURROW_OK);
  assert_true(weight_of(&weights, 0, 1) > 0.5 && weight_of(&weights, 1, 0) > 0.5);
  fw_sparse_rows_clear(&weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solves_equations),
      cmocka_unit_test(singular_matrix_stays_finite),
      cmocka_unit_test(all_neighbours_are_the_closed_form),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(order_has_a_direction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
