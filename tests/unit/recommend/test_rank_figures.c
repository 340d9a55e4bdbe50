/* tests/unit/recommend/test_rank_figures.c: figures of rankings against values computed by hand. */
#include <math.h>

#include "recommend/recommender.h"
#include "support/cmocka_all.h"

static void assert_near(double a, double b) {
  if (!(fabs(a - b) < 1e-12)) fail_msg("%.15g instead of %.15g", a, b);
}

static void figures_of_one_user(void **state) {
  (void)state;
  /* hits at ranks 2 and 4 of 5, 3 relevant items */
  const bool hits[5] = {false, true, false, true, false};
  const fw_user_figures f = fw_user_ranking(hits, 5, 3);
  const double ideal = 1 + 1 / log2(3) + 0.5;
  assert_near(f.ndcg, (1 / log2(3) + 1 / log2(5)) / ideal);
  assert_near(f.recall, 2.0 / 3);
  assert_near(f.map, (1.0 / 2 + 2.0 / 4) / 3);
  assert_near(f.mrr, 0.5);
  assert_near(f.hit, 1);
}

static void more_relevant_items_than_results(void **state) {
  (void)state;
  const bool all[2] = {true, true}, first[2] = {true, false};
  fw_user_figures f = fw_user_ranking(all, 2, 50); /* a perfect ranking */
  assert_near(f.ndcg, 1);
  assert_near(f.recall, 1);
  assert_near(f.map, 1);
  assert_near(f.mrr, 1);
  f = fw_user_ranking(first, 2, 50);
  assert_near(f.ndcg, 1 / (1 + 1 / log2(3)));
  assert_near(f.recall, 0.5);
  assert_near(f.map, 0.5);
}

static void nothing_found(void **state) {
  (void)state;
  const bool none[3] = {false, false, false};
  const fw_user_figures f = fw_user_ranking(none, 3, 1);
  assert_near(f.ndcg + f.recall + f.map + f.mrr + f.hit, 0);
}

static void means_and_intervals(void **state) {
  (void)state;
  fw_user_ranking_sum sum = {0};
  furrow_rank_figures figures;
  furrow_rank_figures_init(&figures);
  fw_user_ranking_means(&sum, &figures);
  assert_true(isnan(figures.ndcg.mean) && isnan(figures.ndcg.interval) && figures.users == 0);
  const double hits[4] = {1, 0, 0, 1};
  for (size_t i = 0; i < 4; i++) fw_user_ranking_add(&sum, &(fw_user_figures){.hit = hits[i], .ndcg = 0.25});
  fw_user_ranking_means(&sum, &figures);
  assert_int_equal(figures.users, 4);
  assert_near(figures.hit.mean, 0.5);
  assert_near(figures.hit.interval, 1.96 * sqrt(1.0 / 3 / 4)); /* the variance is 4 * 0.25 / 3 */
  assert_near(figures.ndcg.mean, 0.25);
  assert_near(figures.ndcg.interval, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_of_one_user),
      cmocka_unit_test(more_relevant_items_than_results),
      cmocka_unit_test(nothing_found),
      cmocka_unit_test(means_and_intervals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
