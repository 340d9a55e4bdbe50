/* tests/unit/recommend/test_factors.c: vectors of items and users against their definition, computed in doubles; the
 * kernels at every level of instructions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kern/dispatch.h"
#include "recommend/factors.h"
#include "recommend/taste.h"
#include "support/cmocka_all.h"
#include "vector/data/parallel.h"

enum { ROWS = 200, ITEMS = 37, SIZE = 8, OWN = 6 };

static furrow_error err;

/* ---- Kernels -------------------------------------------------------------------------------------------- */

static float *draw(size_t count, uint64_t seed) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  float *x = calloc(count, sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < count; i++) x[i] = (float)fw_rng_normal(&rng);
  return x;
}

static void check_squares(size_t n, size_t count, const fw_solve *solve, float *a, float *b) {
  float *vectors = draw(n * 50, n), *weight = draw(count + 1, 2);
  uint32_t *row = calloc(count + 1, sizeof *row);
  assert_non_null(row);
  for (size_t i = 0; i < count; i++) row[i] = (uint32_t)(i * 7 % 50);
  memset(a, 0, n * n * sizeof *a);
  memset(b, 0, n * sizeof *b);
  solve->add_squares(n, vectors, row, weight, count, a, b);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i; j <= n; j++) { /* j == n: the right side */
      double sum = 0, size = 1e-6;
      for (size_t e = 0; e < count; e++) {
        const double term = (double)weight[e] * vectors[row[e] * n + i] * (j < n ? vectors[row[e] * n + j] : 1);
        sum += term;
        size += fabs(term);
      }
      const double found = j < n ? a[i * n + j] : b[i];
      if (!(fabs(found - sum) < 1e-5 * size)) fail_msg("n %zu, count %zu: %g, not %g", n, count, found, sum);
    }
  free(vectors);
  free(weight);
  free(row);
}

static void sums_of_squares(void **state) {
  static const size_t sizes[] = {1, 7, 8, 16, 20, 64};
  float *a = calloc(64 * 64, sizeof *a), *b = calloc(64, sizeof *b);
  float *first_a = calloc(64 * 64, sizeof *a), first_b[64];
  (void)state;
  assert_true(a && b && first_a);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t count = 0; count < 10; count++)
      for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
        if (!fw_isa_available(isa)) continue;
        const fw_kernels kernels = fw_kernels_at(isa);
        const size_t n = sizes[s];
        check_squares(n, count, &kernels.solve, a, b);
        if (isa == FW_ISA_GENERIC) memcpy(first_a, a, n * n * sizeof *a);
        if (isa == FW_ISA_GENERIC) memcpy(first_b, b, n * sizeof *b);
        assert_memory_equal(first_b, b, n * sizeof *b);
        for (size_t i = 0; i < n; i++) assert_memory_equal(first_a + i * n + i, a + i * n + i, (n - i) * sizeof *a);
      }
  free(a);
  free(b);
  free(first_a);
}

static void products_of_blocks(void **state) {
  enum { BLOCKS = 3, COUNT = BLOCKS * FW_BLOCK_VECTORS };
  float *packed = draw(COUNT * SIZE, 5), *x = draw(SIZE, 6), out[COUNT], first[COUNT];
  (void)state;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_kernels kernels = fw_kernels_at(isa);
    kernels.solve.products(SIZE, packed, BLOCKS, x, out);
    for (size_t i = 0; i < COUNT; i++) {
      double sum = 0;
      for (size_t k = 0; k < SIZE; k++)
        sum += (double)x[k] * packed[(i / FW_BLOCK_VECTORS * SIZE + k) * FW_BLOCK_VECTORS + i % FW_BLOCK_VECTORS];
      assert_true(fabs(sum - out[i]) < 1e-5);
    }
    if (isa == FW_ISA_GENERIC) memcpy(first, out, sizeof out);
    assert_memory_equal(first, out, sizeof out);
  }
  free(packed);
  free(x);
}

/* ---- Learning ------------------------------------------------------------------------------------------- */

/* Row r has OWN items of the group r % 4; items of a group have the same number modulo 4. */
static fw_sparse_rows make_rows(void) {
  fw_sparse_rows rows = {.rows = ROWS, .columns = ITEMS};
  rows.offset = calloc(ROWS + 1, sizeof *rows.offset);
  rows.column = calloc(ROWS * OWN, sizeof *rows.column);
  rows.value = calloc(ROWS * OWN, sizeof *rows.value);
  assert_true(rows.offset && rows.column && rows.value);
  for (size_t r = 0; r < ROWS; r++) {
    for (size_t e = 0; e < OWN; e++) {
      rows.column[r * OWN + e] = (uint32_t)(r % 4 + 4 * ((r / 4 + e) % 9));
      rows.value[r * OWN + e] = 1;
    }
    rows.offset[r + 1] = (r + 1) * OWN;
  }
  return rows;
}

static void fit(fw_factors *factors, unsigned threads) {
  const fw_factors_params params = {.size = SIZE, .others = 0.1, .l2 = 0.01, .rounds = 20};
  fw_sparse_rows rows = make_rows();
  fw_pool *pool = NULL;
  assert_int_equal(fw_parallel_start(&pool, threads, &err), FURROW_OK);
  assert_int_equal(fw_factors_fit(factors, &rows, &params, pool, &err), FURROW_OK);
  fw_pool_free(pool);
  free(rows.offset);
  free(rows.column);
  free(rows.value);
}

static double loss(const fw_factors *f, const uint32_t *items, const float *weights, size_t count, const double *p) {
  double sum = 0, norm = 0, total = 0;
  for (size_t i = 0; i < count; i++) total += weights[i];
  for (size_t k = 0; k < SIZE; k++) norm += p[k] * p[k];
  for (size_t i = 0; i < ITEMS; i++) {
    double product = 0;
    for (size_t k = 0; k < SIZE; k++) product += p[k] * f->vectors[i * SIZE + k];
    sum += f->others * product * product;
    for (size_t e = 0; e < count; e++)
      if (items[e] == i) sum += weights[e] * (1 - product) * (1 - product);
  }
  return sum + f->l2 * (total + f->others * ITEMS) * norm;
}

/* The user's vector is the minimum: no step in any direction makes the loss smaller. */
static void user_vectors_are_minima(void **state) {
  static const uint32_t items[] = {1, 5, 9, 2};
  static const float weights[] = {1, 0.5F, 1.25F, 1.25F};
  fw_factors f;
  float a[SIZE * SIZE], b[SIZE];
  double p[SIZE];
  (void)state;
  fit(&f, 1);
  fw_factors_equations(&f, items, weights, 4, a, b);
  fw_solve_table()->positive(SIZE, a, b);
  for (size_t k = 0; k < SIZE; k++) p[k] = b[k];
  const double least = loss(&f, items, weights, 4, p);
  for (size_t k = 0; k < SIZE; k++)
    for (double step = -0.01; step < 0.02; step += 0.02) {
      p[k] += step;
      assert_true(loss(&f, items, weights, 4, p) > least);
      p[k] -= step;
    }
  fw_factors_clear(&f);
}

/* Items of a group have large products with users of the group, others do not. */
static void groups_are_found(void **state) {
  fw_factors f;
  float a[SIZE * SIZE], b[SIZE], scores[ITEMS + FW_BLOCK_VECTORS];
  (void)state;
  fit(&f, 2);
  assert_true(fw_factors_scores_count(&f) <= sizeof scores / sizeof *scores);
  for (uint32_t group = 0; group < 4; group++) {
    const uint32_t items[] = {group, group + 8};
    const float weights[] = {1, 1};
    fw_factors_equations(&f, items, weights, 2, a, b);
    fw_solve_table()->positive(SIZE, a, b);
    fw_factors_scores(&f, b, scores);
    for (uint32_t i = 0; i < 36; i++)
      for (uint32_t j = 0; j < 36; j++)
        if (i % 4 == group && j % 4 != group) assert_true(scores[i] > scores[j]);
  }
  for (size_t k = 0; k < SIZE; k++) assert_true(f.vectors[36 * SIZE + k] == 0); /* no row has the last item */
  fw_factors_clear(&f);
}

static void same_bytes_for_any_number_of_threads(void **state) {
  fw_factors one, three;
  (void)state;
  fit(&one, 1);
  fit(&three, 3);
  assert_memory_equal(one.vectors, three.vectors, ITEMS * SIZE * sizeof *one.vectors);
  assert_memory_equal(one.square, three.square, SIZE * SIZE * sizeof *one.square);
  fw_factors_clear(&one);
  fw_factors_clear(&three);
}

/* ---- Tastes --------------------------------------------------------------------------------------------- */

/* The parts of the events add up to the score. */
static void parts_are_the_score(void **state) {
  static const uint32_t item[] = {1, 5, 9, 2};
  static const double time[] = {1, 2, 3, 4};
  static const float strength[] = {0.5F, -1, 0, 1};
  const fw_user_events events = {.count = 4, .item = item, .time = time, .strength = strength};
  float popularity[ITEMS] = {0};
  uint32_t order[ITEMS];
  fw_factors f;
  fw_taste_scratch scratch;
  fw_scored heap[ITEMS];
  double parts[4];
  (void)state;
  fit(&f, 1);
  for (uint32_t i = 0; i < ITEMS; i++) order[i] = i;
  const fw_taste taste = {.rule = {.recency = 2, .always = .1, .rating = .3, .factors = 2},
                          .items = ITEMS,
                          .factors = &f,
                          .popularity = popularity,
                          .by_popularity = order};
  fw_best best = {.heap = heap, .k = ITEMS};
  assert_int_equal(fw_taste_scratch_init(&scratch, ITEMS, &err), FURROW_OK);
  const fw_taste_filter filter = {.own = true};
  assert_int_equal(fw_taste_find(&taste, &events, &filter, &scratch, &best, &err), FURROW_OK);
  assert_int_equal(best.count, ITEMS - 4);
  for (size_t i = 0; i < best.count; i++) {
    double sum = 0;
    assert_int_equal(fw_taste_explain(&taste, &events, heap[i].item, &scratch, parts, &err), FURROW_OK);
    for (size_t e = 0; e < 4; e++) sum += parts[e];
    if (!(fabs(sum - heap[i].score) < 1e-4)) fail_msg("item %u: %g, not %g", heap[i].item, sum, heap[i].score);
  }
  fw_taste_scratch_clear(&scratch);
  fw_factors_clear(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_squares),
      cmocka_unit_test(products_of_blocks),
      cmocka_unit_test(user_vectors_are_minima),
      cmocka_unit_test(groups_are_found),
      cmocka_unit_test(same_bytes_for_any_number_of_threads),
      cmocka_unit_test(parts_are_the_score),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
