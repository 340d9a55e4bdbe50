/* tests/unit/learn/test_booster_data.c: forests depend on rows, plan and seed alone; what odd rows do. */
#include <malloc.h>

#include "support/made_forest.h"
#include "support/made_table.h"

static const table_rules usual = {
    .rows = 3000, .columns = 8, .absent = 0.2, .rare = 0.95, .loss = FW_LOSS_LOG, .classes = 3, .seed = 1};

/* ---- The same forest whatever the threads and the layout ---- */

/* More rows than a packed sum can take, of features with few values, with real ones, rare ones and weights. */
static void threads_do_not_matter(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_LOG, FW_LOSS_L2, FW_LOSS_SOFTMAX};
  for (size_t i = 0; i < 10; i++) {
    table_rules rules = usual;
    rules.rows = 60000;
    rules.loss = i < 8 ? losses[i % 3] : FW_LOSS_LAMBDA;
    rules.values = i % 2 ? 2 : 0;
    rules.weights = i >= 3;
    rules.seed = 10 + i;
    table t = table_make(&rules);
    fw_plan plan = table_plan(&rules);
    plan.forest.row_ratio = i % 2 ? 0.7 : 1;
    plan.forest.feature_ratio = i < 2 ? 0.6 : 1;
    plan.forest.leaves = i < 6 ? 0 : 12;
    plan.forest.min_rows = i < 6 ? 1 : 50;
    fw_forest *one = table_grow(&t, i >= 2, &plan, 1, 2);
    static const unsigned threads[] = {2, 3, 7};
    for (size_t k = 0; k < 3; k++) {
      fw_forest *other = table_grow(&t, i >= 2, &plan, threads[k], 2);
      assert_same_forest(one, other);
      fw_forest_free(other);
    }
    fw_forest_free(one);
    table_free(&t);
  }
}

static void sparse_rows_are_dense_rows_with_gaps(void **state) {
  (void)state;
  for (unsigned values = 0; values < 4; values++) {
    table_rules rules = usual;
    rules.values = values;
    table t = table_make(&rules);
    const fw_plan plan = table_plan(&rules);
    fw_forest *sparse = table_grow(&t, true, &plan, 2, 4), *dense = table_grow(&t, false, &plan, 2, 4);
    assert_same_forest(sparse, dense);
    fw_forest_free(sparse);
    fw_forest_free(dense);
    table_free(&t);
  }
}

/* Rows of weight 2 are as rows that stand there twice: exactly so as long as gradients are round numbers. */
static void weights_are_copies(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.values = 5;
  table t = table_make(&rules);
  table twice = {.columns = t.columns,
                 .x = table_array(2 * t.rows * t.columns, sizeof(float)),
                 .label = table_array(2 * t.rows, sizeof(float))};
  t.weight = table_array(t.rows, sizeof(float));
  for (size_t row = 0; row < t.rows; row++) {
    t.weight[row] = row % 3 ? 1 : 2;
    for (int copy = 0; copy < (row % 3 ? 1 : 2); copy++, twice.rows++) {
      memcpy(twice.x + twice.rows * t.columns, t.x + row * t.columns, t.columns * sizeof(float));
      twice.label[twice.rows] = t.label[row];
    }
  }
  const fw_plan plan = table_plan(&rules);
  fw_forest *weighted = table_grow(&t, true, &plan, 2, 1), *copied = table_grow(&twice, true, &plan, 2, 1);
  assert_same_forest(weighted, copied);
  fw_forest_free(weighted);
  fw_forest_free(copied);
  table_free(&t);
  table_free(&twice);
}

/* Bytes that are allocated; 0 where the C library does not count them. */
static size_t bytes_in_use(void) {
#ifdef __GLIBC__
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

/* 300,000 features that one row each has make histograms large, so that few are kept; they cannot be split by. */
static void check_with_few_histograms(uint32_t leaves) {
  enum { ROWS = 3000, MANY = 100 };
  table_rules rules = usual;
  rules.rows = ROWS;
  rules.loss = FW_LOSS_L2;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  plan.forest.min_child_weight = 2;
  plan.forest.levels = 9;
  plan.forest.leaves = leaves;
  fw_forest *forest = table_grow(&t, true, &plan, 2, 1), *other = table_forest(&plan);
  uint64_t *key = table_array(ROWS * (MANY + 8), sizeof *key);
  float *value = table_array(ROWS * (MANY + 8), sizeof *value);
  uint32_t *offset = table_array(ROWS + 1, sizeof *offset);
  size_t uses = 0;
  for (size_t row = 0; row < ROWS; row++) {
    for (size_t c = 0; c < t.columns + MANY; c++) {
      const float x = c < t.columns ? t.x[row * t.columns + c] : 1;
      if (isnan(x)) continue;
      key[uses] = c < t.columns ? c : 1000 + row * MANY + c;
      value[uses++] = x;
    }
    offset[row + 1] = (uint32_t)uses;
  }
  const fw_minibatch batch = {
      .rows = ROWS, .label = t.label, .offset = offset, .uses = uses, .features = uses, .key = key, .value = value};
  fw_spin_pool *pool = NULL;
  fw_booster *booster = NULL;
  assert_int_equal(fw_spin_pool_create(&pool, 2, NULL), FURROW_OK);
  const size_t before = bytes_in_use();
  assert_int_equal(fw_booster_create(&booster, &plan, pool, NULL), FURROW_OK);
  assert_int_equal(fw_booster_scan_rows(booster, &batch, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_choose_cuts(booster, NULL), FURROW_OK);
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_begin(booster, other, NULL), FURROW_OK);
  assert_int_equal(fw_booster_round(booster, NULL), FURROW_OK);
  assert_true(bytes_in_use() - before < (size_t)300 << 20);
  assert_same_forest(forest, other);
  fw_booster_free(booster);
  fw_spin_pool_free(pool);
  fw_forest_free(forest);
  fw_forest_free(other);
  free(key);
  free(value);
  free(offset);
  table_free(&t);
}

static void trees_with_more_nodes_than_histograms_are_the_same(void **state) {
  (void)state;
  check_with_few_histograms(0);
  check_with_few_histograms(150);
}

/* ---- Sampling ---- */

static void seeds_choose_rows_and_features(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.loss = FW_LOSS_L2;
  rules.columns = 20;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  plan.forest.row_ratio = 0.4;
  plan.forest.feature_ratio = 0.1;
  fw_forest *a = table_grow(&t, true, &plan, 1, 20), *b = table_grow(&t, true, &plan, 2, 20);
  assert_same_forest(a, b);
  for (size_t tree = 0; tree < a->trees; tree++) {
    const double rows = a->hessian[tree * a->nodes]; /* 1 of each row */
    assert_true(fabs(rows - 0.4 * 3000) < 150);
    bool asked[20] = {false};
    size_t features = 0;
    for (size_t node = 0; node < a->nodes; node++) {
      const int32_t f = a->feature[tree * a->nodes + node];
      if (f >= 0 && !asked[f]) features++;
      if (f >= 0) asked[f] = true;
    }
    assert_true(features >= 1 && features <= 2);
  }
  plan.train.seed++;
  fw_forest *c = table_grow(&t, true, &plan, 2, 20);
  assert_memory_not_equal(a->feature, c->feature, a->trees * a->nodes * sizeof *a->feature);
  fw_forest_free(a);
  fw_forest_free(b);
  fw_forest_free(c);
  table_free(&t);
}

/* All classes of a round are grown from the same rows. */
static void classes_share_the_rows_of_a_round(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.loss = FW_LOSS_SOFTMAX;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  plan.forest.row_ratio = 0.5;
  fw_forest *forest = table_grow(&t, true, &plan, 1, 1);
  /* at first all hessians are 2/3 * 2/3 */
  assert_true(forest->hessian[0] > 0);
  for (size_t c = 1; c < 3; c++) assert_true(fabs(forest->hessian[c * forest->nodes] - forest->hessian[0]) < 0.1);
  fw_forest_free(forest);
  table_free(&t);
}

/* ---- Scores ---- */

static double mean_loss(const table *t, size_t begin, size_t end, const fw_plan *plan, const fw_forest *forest) {
  fw_tally *tally = NULL;
  furrow_learn_metrics metrics;
  double out[8];
  assert_int_equal(fw_tally_create(&tally, &plan->graph, NULL), FURROW_OK);
  for (size_t row = begin; row < end; row++) {
    table_scores(forest, plan->train.lr, t->x + row * t->columns, out);
    fw_tally_add(tally, out, (double)t->label[row], t->weight ? (double)t->weight[row] : 1);
  }
  fw_tally_metrics(tally, &metrics);
  fw_tally_free(tally);
  return metrics.loss;
}

static double booster_loss(const fw_booster *booster, bool valid, const fw_plan *plan) {
  fw_tally *tally = NULL;
  furrow_learn_metrics metrics;
  assert_int_equal(fw_tally_create(&tally, &plan->graph, NULL), FURROW_OK);
  assert_int_equal(fw_booster_tally(booster, valid, 1, tally, NULL), FURROW_OK);
  fw_tally_metrics(tally, &metrics);
  fw_tally_free(tally);
  return metrics.loss;
}

/* Rows that were sampled, rows that were not, and rows for validation: all have the scores that a walk over their
 * values gives, to the last bit; and going on after a break gives the same. */
static void scores_are_those_of_the_trees_and_breaks_do_not_matter(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_LOG, FW_LOSS_L2, FW_LOSS_SOFTMAX};
  for (size_t i = 0; i < 12; i++) {
    table_rules rules = usual;
    rules.loss = losses[i % 3];
    rules.weights = i % 2;
    rules.values = i / 6 ? 6 : 0;
    rules.seed = 50 + i;
    const bool sparse = i / 3 % 2;
    table t = table_make(&rules);
    table_lists lists = table_list(&t);
    fw_plan plan = table_plan(&rules);
    plan.forest.row_ratio = i % 4 ? 0.6 : 1;
    fw_spin_pool *pool = NULL;
    fw_booster *booster = NULL;
    fw_forest *forest = table_forest(&plan), *half = NULL;
    assert_int_equal(fw_spin_pool_create(&pool, 2, NULL), FURROW_OK);
    assert_int_equal(table_boost(&t, sparse ? &lists : NULL, 2500, &plan, pool, forest, &booster, NULL), FURROW_OK);
    assert_int_equal(fw_booster_rows(booster, false), 2500);
    assert_int_equal(fw_booster_rows(booster, true), 500);
    for (int round = 0; round < 6; round++) {
      assert_int_equal(fw_booster_round(booster, NULL), FURROW_OK);
      assert_true(booster_loss(booster, false, &plan) == mean_loss(&t, 0, 2500, &plan, forest));
      assert_true(booster_loss(booster, true, &plan) == mean_loss(&t, 2500, 3000, &plan, forest));
      if (round == 2) assert_int_equal(fw_forest_copy(&half, forest, NULL), FURROW_OK);
    }
    fw_booster_free(booster);
    assert_int_equal(table_boost(&t, sparse ? &lists : NULL, 2500, &plan, pool, half, &booster, NULL), FURROW_OK);
    for (int round = 3; round < 6; round++) assert_int_equal(fw_booster_round(booster, NULL), FURROW_OK);
    assert_same_forest(forest, half);
    fw_booster_free(booster);
    fw_spin_pool_free(pool);
    fw_forest_free(forest);
    fw_forest_free(half);
    table_lists_free(&lists);
    table_free(&t);
  }
}

/* ---- Categories ---- */

static void every_value_of_a_category_can_be_split_at(void **state) {
  (void)state;
  enum { VALUES = 255 };
  const table_rules rules = {.loss = FW_LOSS_L2};
  fw_plan plan = table_plan(&rules);
  const uint64_t categories[] = {1};
  float x[4 * VALUES * 2], label[4 * VALUES];
  for (size_t i = 0; i < 4 * VALUES; i++) {
    x[2 * i] = x[2 * i + 1] = (float)(i % VALUES);
    label[i] = i % VALUES == 100 ? 50 : 0;
  }
  const table t = {.rows = 4 * VALUES, .columns = 2, .x = x, .label = label};
  plan.forest.splits = 3;
  plan.forest.levels = 3;
  plan.forest.category_count = 1;
  plan.forest.categories = categories;
  fw_forest *forest = table_grow(&t, true, &plan, 1, 1);
  assert_true(forest->feature[0] == 1 && forest->value[0] == 100.5);
  assert_true(forest->feature[1] == 1 && forest->value[1] == 99.5);
  fw_forest_free(forest);
  plan.forest.category_count = 0;
  plan.forest.all_categories = true;
  forest = table_grow(&t, false, &plan, 1, 1);
  assert_true(forest->feature[0] == 0 && forest->value[0] == 100.5);
  fw_forest_free(forest);
}

static furrow_status look_at(const fw_plan *plan, const fw_minibatch *batch, furrow_error *err) {
  fw_spin_pool *pool = NULL;
  fw_booster *booster = NULL;
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_create(&booster, plan, pool, NULL), FURROW_OK);
  furrow_status status = fw_booster_scan_rows(booster, batch, 1, err);
  fw_booster_free(booster);
  fw_spin_pool_free(pool);
  return status;
}

static void too_many_values_of_a_category_are_named(void **state) {
  (void)state;
  enum { VALUES = 256 };
  const table_rules rules = {.loss = FW_LOSS_L2};
  fw_plan plan = table_plan(&rules);
  uint64_t key[VALUES];
  uint32_t offset[VALUES + 1] = {0};
  float value[VALUES], label[VALUES] = {0};
  for (uint32_t i = 0; i < VALUES; i++) {
    key[i] = 4711;
    value[i] = (float)(i * 7 % VALUES);
    offset[i + 1] = i + 1;
  }
  const fw_minibatch batch = {
      .rows = VALUES, .label = label, .offset = offset, .uses = VALUES, .features = VALUES, .key = key, .value = value};
  furrow_error err = {0};
  assert_int_equal(look_at(&plan, &batch, &err), FURROW_OK);
  plan.forest.all_categories = true;
  assert_int_equal(look_at(&plan, &batch, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "4711"));
}

/* ---- Odd rows ---- */

static void rows_that_cannot_be_split_are_a_leaf(void **state) {
  (void)state;
  const table_rules rules = {.loss = FW_LOSS_L2};
  const fw_plan plan = table_plan(&rules);
  float x[] = {3, NAN, 3, NAN, 3, NAN}, label[] = {1, 2, 6};
  static const size_t shapes[][2] = {{3, 2}, {3, 0}, {1, 2}};
  for (size_t i = 0; i < 3; i++)
    for (int sparse = 0; sparse < 2; sparse++) {
      const table t = {.rows = shapes[i][0], .columns = shapes[i][1], .x = x, .label = label};
      fw_forest *forest = table_grow(&t, sparse, &plan, 2, 2);
      assert_int_equal(forest->feature[0], -1);
      const double mean = t.rows == 1 ? 1 : 3;
      assert_true(fabs(plan.train.lr * forest->predict[0] - mean) < 1e-4);
      fw_forest_free(forest);
    }
}

static void infinities_are_values_beyond_all_others(void **state) {
  (void)state;
  const table_rules rules = {.loss = FW_LOSS_L2};
  fw_plan plan = table_plan(&rules);
  plan.forest.lambda = 0;
  plan.train.lr = 1;
  plan.forest.min_child_weight = 0;
  float x[] = {-INFINITY, -3.0F, 0, 5, INFINITY, NAN}, label[] = {1, 2, 4, 8, 16, 32};
  const table t = {.rows = 6, .columns = 1, .x = x, .label = label};
  for (int sparse = 0; sparse < 2; sparse++) {
    fw_forest *forest = table_grow(&t, sparse, &plan, 1, 1);
    for (size_t row = 0; row < t.rows; row++) {
      double out;
      table_scores(forest, 1, &x[row], &out);
      assert_true(fabs(out - (double)label[row]) < 1e-3);
    }
    fw_forest_free(forest);
  }
}

static void gradients_that_are_not_numbers_are_refused(void **state) {
  (void)state;
  const table_rules rules = {.loss = FW_LOSS_L2};
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 6; i++) {
    fw_plan plan = table_plan(&rules);
    float x[] = {1, 2, 3}, label[] = {1, bad[i % 3], 1};
    if (i >= 3) plan.graph.loss = FW_LOSS_LOG;
    const table t = {.rows = 3, .columns = 1, .x = x, .label = label};
    fw_spin_pool *pool = NULL;
    fw_booster *booster = NULL;
    fw_forest *forest = table_forest(&plan);
    furrow_error err = {0};
    assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
    assert_int_equal(table_boost(&t, NULL, 3, &plan, pool, forest, &booster, NULL), FURROW_OK);
    assert_int_equal(fw_booster_round(booster, &err), FURROW_E_RANGE);
    assert_non_null(strstr(err.message, "gradient"));
    assert_int_equal(forest->trees, 0);
    fw_booster_free(booster);
    fw_spin_pool_free(pool);
    fw_forest_free(forest);
  }
}

/* Of a feature that stands twice in a row the first counts; ids may be anything that a tree can hold. */
static void first_of_equal_features_counts(void **state) {
  (void)state;
  const table_rules rules = {.loss = FW_LOSS_L2};
  fw_plan plan = table_plan(&rules);
  plan.forest.min_child_weight = 0;
  uint64_t key[] = {INT32_MAX, INT32_MAX, INT32_MAX, 5, INT32_MAX};
  float value[] = {1, 9, 2, 1, 1}, label[] = {0, 10, 0};
  uint32_t offset[] = {0, 2, 4, 5};
  fw_minibatch batch = {
      .rows = 3, .label = label, .offset = offset, .uses = 5, .features = 5, .key = key, .value = value};
  fw_spin_pool *pool = NULL;
  fw_booster *booster = NULL;
  fw_forest *forest = table_forest(&plan);
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_create(&booster, &plan, pool, NULL), FURROW_OK);
  assert_int_equal(fw_booster_scan_rows(booster, &batch, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_choose_cuts(booster, NULL), FURROW_OK);
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_begin(booster, forest, NULL), FURROW_OK);
  assert_int_equal(fw_booster_round(booster, NULL), FURROW_OK);
  assert_int_equal(forest->feature[0], 5); /* equal gains: the smaller feature */
  assert_true(forest->value[0] == 0.5 && !forest->missing_flipped[0]);
  fw_booster_free(booster);
  fw_forest_free(forest);
  key[4] = (uint64_t)INT32_MAX + 1;
  furrow_error err = {0};
  assert_int_equal(look_at(&plan, &batch, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "2147483648"));
  plan.data.range = 5;
  key[4] = 1;
  assert_int_equal(look_at(&plan, &batch, &err), FURROW_E_RANGE);
  fw_spin_pool_free(pool);
}

static void other_rows_in_the_second_pass_are_refused(void **state) {
  (void)state;
  const table_rules rules = {.loss = FW_LOSS_L2};
  const fw_plan plan = table_plan(&rules);
  float x[] = {1, 2, 3}, label[] = {1, 2, 3}, other[] = {1, 2, 4}, weight[] = {1, 1, 0.5F};
  fw_minibatch batch = {.rows = 3, .label = label, .x = x, .columns = 1};
  fw_spin_pool *pool = NULL;
  fw_booster *booster = NULL;
  fw_forest *forest = table_forest(&plan);
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_create(&booster, &plan, pool, NULL), FURROW_OK);
  assert_int_equal(fw_booster_round(booster, NULL), FURROW_E_STATE);
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_E_STATE);
  assert_int_equal(fw_booster_scan_rows(booster, &batch, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_choose_cuts(booster, NULL), FURROW_OK);
  assert_int_equal(fw_booster_scan_rows(booster, &batch, 1, NULL), FURROW_E_STATE);
  batch.label = other;
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_E_STATE);
  batch.label = label;
  batch.weight = weight;
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_E_STATE);
  batch.weight = NULL;
  batch.rows = 2;
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_begin(booster, forest, NULL), FURROW_E_STATE);
  assert_int_equal(fw_booster_add_rows(booster, &batch, 1, NULL), FURROW_E_STATE);
  fw_booster_free(booster);
  fw_spin_pool_free(pool);
  fw_forest_free(forest);
}

static void expect_refused(furrow_status found, const furrow_error *err, furrow_status status, const char *message) {
  assert_int_equal(found, status);
  assert_int_equal(err->status, status);
  assert_string_equal(err->message, message);
}

/* Calls that come too early, too late or twice. */
static void calls_out_of_order_are_refused(void **state) {
  (void)state;
  table_rules rules = usual;
  table t = table_make(&rules);
  table_lists lists = table_list(&t);
  fw_plan plan = table_plan(&rules), deeper = plan;
  deeper.forest.levels++;
  fw_forest *grown = table_grow(&t, true, &plan, 1, 2), *empty = table_forest(&plan), *other = table_forest(&deeper);
  fw_spin_pool *pool = NULL;
  fw_booster *b = NULL;
  furrow_error err = {0};
  static const char early[] = "rows are taken after the cuts, before the rounds";
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  assert_int_equal(fw_booster_create(&b, &plan, pool, &err), FURROW_OK);
  assert_int_equal(table_pass(&t, &lists, 0, t.rows, 500, b, fw_booster_scan_rows, &err), FURROW_OK);
  expect_refused(table_pass(&t, &lists, 0, t.rows, 500, b, fw_booster_add_rows, &err), &err, FURROW_E_STATE, early);
  expect_refused(fw_booster_begin(b, empty, &err), &err, FURROW_E_STATE, "rounds begin once, after the rows are taken");
  assert_int_equal(fw_booster_choose_cuts(b, &err), FURROW_OK);
  expect_refused(fw_booster_choose_cuts(b, &err), &err, FURROW_E_STATE, "the cuts are chosen already");
  expect_refused(fw_booster_resume(b, other, &err), &err, FURROW_E_ARGUMENT,
                 "the forest has 1 classes and 6 levels, the plan 1 and 5");
  assert_int_equal(fw_booster_resume(b, grown, &err), FURROW_OK);
  expect_refused(fw_booster_resume(b, grown, &err), &err, FURROW_E_STATE,
                 "trees to go on from come once, before the second pass");
  assert_int_equal(table_pass(&t, &lists, 0, t.rows, 500, b, fw_booster_add_rows, &err), FURROW_OK);
  expect_refused(fw_booster_begin(b, empty, &err), &err, FURROW_E_STATE,
                 "the forest has 0 trees, but the rows have scores of 2");
  assert_int_equal(fw_booster_begin(b, grown, &err), FURROW_OK);
  expect_refused(fw_booster_begin(b, grown, &err), &err, FURROW_E_STATE, "rounds begin once, after the rows are taken");
  expect_refused(table_pass(&t, &lists, 0, 1, 1, b, fw_booster_add_valid_rows, &err), &err, FURROW_E_STATE, early);
  assert_int_equal(fw_booster_round(b, &err), FURROW_OK);
  assert_int_equal(grown->trees, 3);
  fw_booster_free(b);
  fw_spin_pool_free(pool);
  fw_forest_free(grown);
  fw_forest_free(empty);
  fw_forest_free(other);
  table_lists_free(&lists);
  table_free(&t);
}

static void ranked_rows_need_groups(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.rows = 60;
  rules.loss = FW_LOSS_LAMBDA;
  rules.classes = 3;
  table t = table_make(&rules);
  const fw_plan plan = table_plan(&rules);
  fw_forest *forest = table_forest(&plan);
  fw_spin_pool *pool = NULL;
  fw_booster *b = NULL;
  furrow_error err = {0};
  assert_int_equal(fw_spin_pool_create(&pool, 1, NULL), FURROW_OK);
  assert_int_equal(table_boost(&t, NULL, t.rows, &plan, pool, forest, &b, &err), FURROW_OK);
  assert_int_equal(fw_booster_round(b, &err), FURROW_OK);
  fw_booster_free(b);
  b = NULL;
  fw_forest_free(forest);
  forest = table_forest(&plan);
  free(t.qid);
  t.qid = NULL;
  expect_refused(table_boost(&t, NULL, t.rows, &plan, pool, forest, &b, &err), &err, FURROW_E_ARGUMENT,
                 "rows that are ranked need a qid");
  assert_null(b);
  assert_int_equal(forest->trees, 0);
  fw_spin_pool_free(pool);
  fw_forest_free(forest);
  table_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(sparse_rows_are_dense_rows_with_gaps),
      cmocka_unit_test(weights_are_copies),
      cmocka_unit_test(trees_with_more_nodes_than_histograms_are_the_same),
      cmocka_unit_test(seeds_choose_rows_and_features),
      cmocka_unit_test(classes_share_the_rows_of_a_round),
      cmocka_unit_test(scores_are_those_of_the_trees_and_breaks_do_not_matter),
      cmocka_unit_test(every_value_of_a_category_can_be_split_at),
      cmocka_unit_test(too_many_values_of_a_category_are_named),
      cmocka_unit_test(rows_that_cannot_be_split_are_a_leaf),
      cmocka_unit_test(infinities_are_values_beyond_all_others),
      cmocka_unit_test(gradients_that_are_not_numbers_are_refused),
      cmocka_unit_test(first_of_equal_features_counts),
      cmocka_unit_test(other_rows_in_the_second_pass_are_refused),
      cmocka_unit_test(calls_out_of_order_are_refused),
      cmocka_unit_test(ranked_rows_need_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
