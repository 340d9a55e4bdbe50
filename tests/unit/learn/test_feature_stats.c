/* tests/unit/learn/test_feature_stats.c: where features are cut. */
#include "learn/forest/feature_stats.h"
#include "support/made_table.h"

/* ---- Cuts of given values ---- */

static void few_values_are_cut_between_all(void **state) {
  (void)state;
  float values[] = {3, -1, 3, 0, 7, -1}, spare[6];
  double cut[8];
  assert_int_equal(fw_cuts_choose(values, 6, spare, 8, cut), 3);
  assert_true(cut[0] == -0.5 && cut[1] == 1.5 && cut[2] == 5);
  assert_int_equal(fw_cuts_choose(values, 1, spare, 8, cut), 0);
}

static void cuts_separate_neighbouring_floats(void **state) {
  (void)state;
  static const float lower[] = {0, 1, -1, 1e-45F, 3e38F, -INFINITY, -3e38F, 16777216};
  for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
    const float higher = nextafterf(lower[i], INFINITY);
    const double cut = fw_cut_between(lower[i], higher);
    assert_true((double)lower[i] <= cut && cut < (double)higher && isfinite(cut));
  }
  const double cut = fw_cut_between(3.4028235e38F, INFINITY);
  assert_true(cut >= 3.4028235e38 && isfinite(cut));
}

/* A value that half of the rows have gets a bin of its own, the others share the rest. */
static void frequent_values_have_bins_of_their_own(void **state) {
  (void)state;
  enum { N = 20000 };
  static float values[N], spare[N];
  double cut[15];
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (size_t i = 0; i < N; i++) values[i] = i % 2 ? 0.25F : (float)fw_rng_normal(&rng);
  const size_t cuts = fw_cuts_choose(values, N, spare, 15, cut);
  assert_true(cuts >= 13 && cuts <= 15);
  bool alone = false;
  for (size_t i = 0; i + 1 < cuts; i++) {
    size_t within = 0;
    for (size_t k = 0; k < N; k++) within += (double)values[k] > cut[i] && (double)values[k] <= cut[i + 1];
    assert_true(cut[i] < cut[i + 1]);
    alone |= within >= N / 2 && within < N / 2 + 10;
    assert_true(within < N / 2 + 10);
  }
  assert_true(alone);
}

/* ---- Cuts of many rows: more than are sampled ---- */

enum { ROWS = 2200000, COLUMNS = 5 };

static fw_cuts *cuts_of(const float *x, size_t step) {
  const table_rules rules = {.loss = FW_LOSS_L2};
  const fw_plan plan = table_plan(&rules);
  fw_feature_stats *stats = NULL;
  fw_spin_pool *pool = NULL;
  fw_cuts *cuts = NULL;
  assert_int_equal(fw_spin_pool_create(&pool, step % 3, NULL), FURROW_OK);
  assert_int_equal(fw_feature_stats_create(&stats, &plan, NULL), FURROW_OK);
  for (size_t at = 0; at < ROWS; at += step) {
    const fw_minibatch batch = {
        .rows = ROWS - at < step ? ROWS - at : step, .x = (float *)(uintptr_t)(x + at * COLUMNS), .columns = COLUMNS};
    assert_int_equal(fw_feature_stats_add(stats, &batch, 1, pool, NULL), FURROW_OK);
  }
  assert_int_equal(fw_feature_stats_choose_cuts(stats, pool, &cuts, NULL), FURROW_OK);
  fw_feature_stats_free(stats);
  fw_spin_pool_free(pool);
  return cuts;
}

static void a_sample_does_not_depend_on_batches_and_is_fair(void **state) {
  (void)state;
  float *x = table_array((size_t)ROWS * COLUMNS, sizeof *x);
  for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) x[i] = (float)(fw_rng_hash(1, i) >> 40);
  fw_cuts *a = cuts_of(x, 10000), *b = cuts_of(x, 77777);
  assert_int_equal(a->cut_count, b->cut_count);
  assert_memory_equal(a->cut, b->cut, a->cut_count * sizeof *a->cut);
  assert_int_equal(a->count, COLUMNS);
  for (size_t f = 0; f < COLUMNS; f++) {
    assert_int_equal(a->feature[f].bins, 255);
    assert_int_equal(a->feature[f].count, ROWS);
    for (size_t i = 0; i < 254; i++) {
      const double share = a->cut[a->feature[f].first_cut + i] / 0x1p24;
      assert_true(fabs(share - (double)(i + 1) / 255) < 0.005);
    }
  }
  fw_cuts_free(a);
  fw_cuts_free(b);
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_values_are_cut_between_all),
      cmocka_unit_test(cuts_separate_neighbouring_floats),
      cmocka_unit_test(frequent_values_have_bins_of_their_own),
      cmocka_unit_test(a_sample_does_not_depend_on_batches_and_is_fair),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
