/* tests/unit/fault/test_fault_booster.c: trees when memory runs out: every allocation fails once. */
#include "support/failing_alloc.h"
#include "support/made_forest.h"
#include "support/made_table.h"

typedef struct job {
  table t;
  fw_plan plan;
  table_lists lists;
  bool sparse;
  const fw_forest *start; /* to go on from; NULL: nothing */
} job;

/* Two rounds; NULL: something failed. */
static fw_forest *try_to_grow(const job *j, fw_spin_pool *pool, furrow_error *err) {
  fw_booster *booster = NULL;
  fw_forest *forest = NULL;
  const size_t classes = j->plan.graph.outputs;
  furrow_status status = j->start ? fw_forest_copy(&forest, j->start, err)
                                  : fw_forest_create(&forest, classes, j->plan.forest.levels, true, err);
  if (status == FURROW_OK)
    status = table_boost(&j->t, j->sparse ? &j->lists : NULL, 700, &j->plan, pool, forest, &booster, err);
  for (int round = 0; status == FURROW_OK && round < 2; round++) {
    const size_t trees = forest->trees;
    status = fw_booster_round(booster, err);
    if (status != FURROW_OK) assert_int_equal(forest->trees, trees);
  }
  fw_booster_free(booster);
  if (status == FURROW_OK) return forest;
  fw_forest_free(forest);
  return NULL;
}

static void fail_each(const job *j) {
  fw_spin_pool *pool = NULL;
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  fw_forest *right = try_to_grow(j, pool, NULL);
  assert_non_null(right);
  const long live = atomic_load(&alloc_live);
  for (long n = 1;; n++) {
    furrow_error err = {0};
    alloc_fail_at(n);
    fw_forest *forest = try_to_grow(j, pool, &err);
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (!failed) {
      assert_non_null(forest);
      assert_same_forest(right, forest);
      fw_forest_free(forest);
      break;
    }
    assert_null(forest);
    assert_int_equal(err.status, FURROW_E_MEMORY);
    assert_int_equal(atomic_load(&alloc_live), live);
  }
  fw_forest_free(right);
  fw_spin_pool_free(pool);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (int i = 0; i < 8; i++) {
    const table_rules rules = {.rows = 800,
                               .columns = 10,
                               .absent = 0.2,
                               .rare = 0.95,
                               .values = i == 1 ? 6 : 0,
                               .weights = i == 2 || i == 7,
                               .loss = i == 0   ? FW_LOSS_LOG
                                       : i == 6 ? FW_LOSS_LAMBDA
                                       : i == 7 ? FW_LOSS_QUANTILE
                                                : FW_LOSS_SOFTMAX,
                               .classes = 3,
                               .seed = 3};
    job j = {.t = table_make(&rules), .plan = table_plan(&rules), .sparse = i >= 2 && i < 5};
    for (size_t row = 0; j.t.qid && row < rules.rows; row++) j.t.qid[row] = row / 20; /* qsort can do without memory */
    static const fw_monotone rising[] = {{0, 1}};
    j.t.monotone = i == 7 ? rising : NULL;
    j.t.monotone_count = 1;
    j.lists = table_list(&j.t);
    j.plan.forest.row_ratio = 0.8;
    j.plan.forest.feature_ratio = 0.7;
    j.plan.forest.leaves = i >= 4 ? 9 : 0;
    j.plan.forest.min_rows = i >= 4 ? 12 : 1;
    j.plan.forest.all_categories = i % 2 == 1 && rules.values > 0;
    fail_each(&j);
    if (i == 0 || i == 3) {
      fw_forest *start = table_grow(&j.t, j.sparse, &j.plan, 1, 1);
      j.start = start;
      fail_each(&j);
      fw_forest_free(start);
    }
    table_lists_free(&j.lists);
    table_free(&j.t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
