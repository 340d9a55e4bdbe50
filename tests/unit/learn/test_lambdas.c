/* tests/unit/learn/test_lambdas.c: rows in groups: NDCG, and gradients against plain sums over pairs. */
#include "learn/forest/gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cmocka_all.h"

/* ---- Groups and NDCG ---- */

static void rows_need_not_be_adjacent(void **state) {
  (void)state;
  static const uint64_t qid[] = {7, UINT64_MAX, 7, 0, 7, UINT64_MAX};
  static const uint32_t row[] = {3, 0, 2, 4, 1, 5};
  static const size_t begin[] = {0, 1, 4, 6};
  fw_row_groups groups = {0};
  assert_int_equal(fw_row_groups_init(&groups, qid, 6, NULL), FURROW_OK);
  assert_int_equal(groups.count, 3);
  assert_memory_equal(groups.row, row, sizeof row);
  assert_memory_equal(groups.begin, begin, sizeof begin);
  fw_row_groups_clear(&groups);
  assert_int_equal(fw_row_groups_init(&groups, NULL, 0, NULL), FURROW_OK);
  assert_int_equal(groups.count, 0);
  assert_true(isnan(fw_row_groups_ndcg(&groups, NULL, NULL, NULL)));
  fw_row_groups_clear(&groups);
}

static double ndcg_of(const uint64_t *qid, const double *score, const float *label, const float *weight, size_t rows) {
  fw_row_groups groups = {0};
  assert_int_equal(fw_row_groups_init(&groups, qid, rows, NULL), FURROW_OK);
  const double ndcg = fw_row_groups_ndcg(&groups, score, label, weight);
  fw_row_groups_clear(&groups);
  return ndcg;
}

static void ndcg_by_hand(void **state) {
  (void)state;
  static const uint64_t qid[] = {1, 1, 1, 2, 2, 3};
  static const float label[] = {0, 2, 1, 1, 0, 0}, weight[] = {3, 3, 3, 1, 1, 9};
  static const double score[] = {5, 4, -1, 2, 2, 8}, best[] = {0, 2, 1, 1, 0, 0};
  /* 3 / log2(3) + 1 / log2(4) of 3 + 1 / log2(3); a tie shares places 1 and 2; no relevant row: not counted */
  const double first = (3 / log2(3) + 0.5) / (3 + 1 / log2(3)), second = 0.5 + 0.5 / log2(3);
  assert_true(fabs(ndcg_of(qid, score, label, NULL, 6) - (first + second) / 2) < 1e-15);
  assert_true(fabs(ndcg_of(qid, score, label, weight, 6) - (3 * first + second) / 4) < 1e-15);
  assert_true(ndcg_of(qid, best, label, NULL, 6) == 1);
  assert_true(isnan(ndcg_of(qid + 5, score, label + 5, NULL, 1)));
  assert_true(ndcg_of(qid + 3, score, label + 3, NULL, 1) == 1);
}

/* The order of rows in the data does not count, beyond the tenth place either. */
static void ties_are_shared(void **state) {
  (void)state;
  enum { ROWS = 30 };
  uint64_t qid[ROWS] = {0};
  float label[ROWS];
  double score[ROWS], found[2];
  for (size_t turned = 0; turned < 2; turned++) {
    for (size_t i = 0; i < ROWS; i++) {
      const size_t at = turned ? ROWS - 1 - i : i;
      label[at] = (float)(i % 4);
      score[at] = i < 4 ? 9 - (double)i : i < 20 ? 1 : 0;
    }
    found[turned] = ndcg_of(qid, score, label, NULL, ROWS);
  }
  assert_true(fabs(found[0] - found[1]) < 1e-15);
  for (size_t i = 0; i < ROWS; i++) score[i] = 3;
  double all = 0, discounts = 0, ideal = 0, gains = 0;
  for (size_t i = 0; i < 10; i++) discounts += 1 / log2((double)i + 2);
  for (size_t i = 0; i < 10; i++) ideal += (i < 7 ? 7 : 3) / log2((double)i + 2);
  for (size_t i = 0; i < ROWS; i++) gains += exp2((double)label[i]) - 1;
  all = gains / ROWS * discounts / ideal;
  assert_true(fabs(ndcg_of(qid, score, label, NULL, ROWS) - all) < 1e-15);
}

/* ---- Gradients ---- */

typedef struct rows_made {
  size_t rows;
  uint64_t *qid;
  float *label;
  double *score;
} rows_made;

static void *array(size_t count, size_t size) {
  void *memory = calloc(count, size);
  assert_non_null(memory);
  return memory;
}

/* `ties`: scores have few different values; far: some are far apart. */
static rows_made make_rows(size_t rows, size_t groups, unsigned grades, bool ties, double far, uint64_t seed) {
  rows_made made = {rows, array(rows, sizeof *made.qid), array(rows, sizeof *made.label),
                    array(rows, sizeof *made.score)};
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    made.qid[i] = fw_rng_below(&rng, groups);
    made.label[i] = (float)fw_rng_below(&rng, grades);
    made.score[i] = ties ? (double)fw_rng_below(&rng, 4) - 1 : (double)(float)(far * fw_rng_normal(&rng));
  }
  return made;
}

static void free_rows(rows_made *made) {
  free(made->qid);
  free(made->label);
  free(made->score);
}

typedef struct member {
  double score, label;
  uint32_t row;
} member;

static int compare(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static double gain(double label) {
  return exp2(label) - 1;
}

static int descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

static double ideal_of(const member *m, size_t n, size_t top) {
  double *labels = array(n, sizeof *labels), sum = 0;
  for (size_t i = 0; i < n; i++) labels[i] = m[i].label;
  qsort(labels, n, sizeof *labels, descending);
  for (size_t i = 0; i < n && i < top; i++) sum += gain(labels[i]) / log2((double)i + 2);
  free(labels);
  return sum;
}

/* All in doubles, pair by pair, as the paper has it; lambdas of far pairs are smaller, and a group's pull grows with
 * its logarithm. */
static void reference(const member *m, size_t n, size_t top, double *g, double *h) {
  const double ideal = ideal_of(m, n, top);
  double pulls = 0;
  for (size_t i = 0; i < n; i++) g[m[i].row] = h[m[i].row] = 0;
  for (size_t i = 0; i < n && i < top; i++) {
    for (size_t j = i + 1; j < n; j++) {
      if (m[i].label == m[j].label) continue;
      const member *up = m[i].label > m[j].label ? &m[i] : &m[j], *down = up == &m[i] ? &m[j] : &m[i];
      const double swap = (gain(up->label) - gain(down->label)) * (1 / log2((double)i + 2) - 1 / log2((double)j + 2)) /
                          ideal / (0.01 + fabs(m[i].score - m[j].score));
      const double p = 1 / (1 + exp(up->score - down->score));
      g[up->row] -= swap * p;
      g[down->row] += swap * p;
      h[up->row] += swap * p * (1 - p);
      h[down->row] += swap * p * (1 - p);
    }
  }
  for (size_t i = 0; i < n; i++) pulls += fabs(g[m[i].row]);
  for (size_t i = 0; i < n && pulls > 0; i++) {
    g[m[i].row] *= log2(1 + pulls) / pulls;
    h[m[i].row] *= log2(1 + pulls) / pulls;
  }
}

static void compare_with_reference(const rows_made *made, size_t groups, size_t top) {
  fw_row_groups of = {0};
  fw_lambdas lambdas = {0};
  fw_spin_pool *pool = NULL;
  double *g = array(made->rows, sizeof *g), *h = array(made->rows, sizeof *h), most_g = 0, most_h = 0;
  member *m = array(made->rows, sizeof *m);
  for (uint64_t q = 0; q < groups; q++) {
    size_t n = 0;
    for (size_t i = 0; i < made->rows; i++)
      if (made->qid[i] == q) m[n++] = (member){made->score[i], (double)made->label[i], (uint32_t)i};
    qsort(m, n, sizeof *m, compare);
    reference(m, n, top, g, h);
  }
  for (size_t i = 0; i < made->rows; i++) {
    most_g = fmax(most_g, fabs(g[i]));
    most_h = fmax(most_h, h[i]);
  }
  assert_int_equal(fw_spin_pool_create(&pool, 2, NULL), FURROW_OK);
  assert_int_equal(fw_row_groups_init(&of, made->qid, made->rows, NULL), FURROW_OK);
  assert_int_equal(fw_lambdas_init(&lambdas, &of, made->label, top, NULL), FURROW_OK);
  fw_lambdas_fill(&lambdas, made->score, pool);
  for (size_t i = 0; i < made->rows; i++) {
    assert_true(fabs((double)lambdas.gradient[i] - g[i]) <= 2e-5 * most_g);
    assert_true(fabs((double)lambdas.hessian[i] - h[i]) <= 2e-5 * most_h);
  }
  fw_lambdas_clear(&lambdas);
  fw_row_groups_clear(&of);
  fw_spin_pool_free(pool);
  free(g);
  free(h);
  free(m);
}

static void gradients_are_sums_over_pairs(void **state) {
  (void)state;
  static const size_t tops[] = {1, 10, 100, 1000};
  for (size_t i = 0; i < 16; i++) {
    rows_made made = make_rows(1500, 1 + i * 9, i % 3 ? 5 : 32, i % 4 == 1, i % 5 ? 1 : 30, i + 1);
    compare_with_reference(&made, 1 + i * 9, tops[i % 4]);
    free_rows(&made);
  }
}

/* A group that is not ranked has no gradient: one row, one label. */
static void nothing_to_rank(void **state) {
  (void)state;
  static const uint64_t qid[] = {1, 2, 2, 2, 3, 3};
  static const float label[] = {5, 2, 2, 2, 0, 0};
  static const double score[] = {1, 3, 2, 1, 5, 6};
  fw_row_groups groups = {0};
  fw_lambdas lambdas = {0};
  fw_spin_pool *pool = NULL;
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  assert_int_equal(fw_row_groups_init(&groups, qid, 6, NULL), FURROW_OK);
  assert_int_equal(fw_lambdas_init(&lambdas, &groups, label, 10, NULL), FURROW_OK);
  fw_lambdas_fill(&lambdas, score, pool);
  for (size_t i = 0; i < 6; i++) assert_true(lambdas.gradient[i] == 0 && lambdas.hessian[i] == 0);
  for (size_t i = 0; i < groups.count; i++) assert_false(fw_row_groups_differ(&groups, i, label));
  fw_lambdas_clear(&lambdas);
  fw_row_groups_clear(&groups);
  fw_spin_pool_free(pool);
}

/* 100,000 rows in one group: the pairs of 100 rows, not all five thousand million. */
static void large_groups_are_bounded(void **state) {
  (void)state;
  rows_made made = make_rows(100000, 1, 5, false, 1, 3);
  compare_with_reference(&made, 1, 100);
  free_rows(&made);
}

/* The same numbers for any number of threads, and whatever order the round before had. */
static void threads_do_not_matter(void **state) {
  (void)state;
  rows_made made = make_rows(20000, 300, 4, false, 2, 8), before = make_rows(20000, 300, 4, true, 1, 9);
  fw_row_groups groups = {0};
  float *right = NULL;
  assert_int_equal(fw_row_groups_init(&groups, made.qid, made.rows, NULL), FURROW_OK);
  for (unsigned threads = 1; threads <= 7; threads += 3) {
    fw_lambdas lambdas = {0};
    fw_spin_pool *pool = NULL;
    assert_int_equal(fw_spin_pool_create(&pool, threads, NULL), FURROW_OK);
    assert_int_equal(fw_lambdas_init(&lambdas, &groups, made.label, 32, NULL), FURROW_OK);
    if (threads > 1) fw_lambdas_fill(&lambdas, before.score, pool);
    fw_lambdas_fill(&lambdas, made.score, pool);
    if (!right) {
      right = array(2 * made.rows, sizeof *right);
      memcpy(right, lambdas.gradient, made.rows * sizeof *right);
      memcpy(right + made.rows, lambdas.hessian, made.rows * sizeof *right);
    }
    assert_memory_equal(right, lambdas.gradient, made.rows * sizeof *right);
    assert_memory_equal(right + made.rows, lambdas.hessian, made.rows * sizeof *right);
    fw_lambdas_clear(&lambdas);
    fw_spin_pool_free(pool);
  }
  fw_row_groups_clear(&groups);
  free(right);
  free_rows(&made);
  free_rows(&before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_need_not_be_adjacent),
      cmocka_unit_test(ndcg_by_hand),
      cmocka_unit_test(ties_are_shared),
      cmocka_unit_test(nothing_to_rank),
      cmocka_unit_test(gradients_are_sums_over_pairs),
      cmocka_unit_test(large_groups_are_bounded),
      cmocka_unit_test(threads_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
