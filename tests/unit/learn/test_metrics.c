/* tests/unit/learn/test_metrics.c: figures of scored rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/score/metrics.h"
#include "support/cmocka_all.h"

static const fw_graph log_graph = {.loss = FW_LOSS_LOG, .outputs = 1};

static fw_tally *new_tally(const fw_graph *graph) {
  fw_tally *tally = NULL;
  furrow_error err;
  assert_int_equal(fw_tally_create(&tally, graph, &err), FURROW_OK);
  return tally;
}

/* ---- AUC ------------------------------------------------------------------------------------------------ */

typedef struct sample {
  double score, weight;
  bool positive;
} sample;

static int by_score(const void *a, const void *b) {
  const double x = ((const sample *)a)->score, y = ((const sample *)b)->score;
  return (x > y) - (x < y);
}

/* The exact area; rows of one score are ties. */
static double exact_auc(sample *samples, size_t n) {
  double negatives = 0, positives = 0, pairs = 0;
  qsort(samples, n, sizeof *samples, by_score);
  for (size_t i = 0, end; i < n; i = end) {
    double negative = 0, positive = 0;
    for (end = i; end < n && samples[end].score == samples[i].score; end++)
      *(samples[end].positive ? &positive : &negative) += samples[end].weight;
    pairs += positive * (negatives + negative / 2);
    negatives += negative;
    positives += positive;
  }
  return pairs / positives / negatives;
}

static double auc_of(const fw_tally *tally) {
  furrow_learn_metrics metrics;
  fw_tally_metrics(tally, &metrics);
  return metrics.auc;
}

static double tally_all(fw_tally *tally, const sample *samples, size_t n) {
  fw_tally_clear(tally);
  for (size_t i = 0; i < n; i++)
    fw_tally_add(tally, &samples[i].score, samples[i].positive ? 1 : -1, samples[i].weight);
  return auc_of(tally);
}

/* Scores as models have them: a logistic truth, wide and narrow, far from 0 and near it, tiny, ties, weights. */
static void auc_is_near_the_exact_one(void **state) {
  (void)state;
  enum { N = 200000 };
  static sample samples[N];
  static const struct {
    double mean, spread, gap, step;
    bool weights;
  } cases[] = {{0, 1, 0.5, 0, false},     {-3, 0.05, 0.02, 0, false}, {-3, 2, 1.5, 0, true},
               {0, 1e-3, 5e-4, 0, false}, {40, 5, 4, 0, false},       {0, 30, 10, 0, false},
               {1, 1, 1, 0.25, false},    {-5, 0.02, 0.05, 0, true},  {-4.6, 0.8, 0.02, 0, true}};
  fw_tally *tally = new_tally(&log_graph);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    fw_rng rng;
    fw_rng_init(&rng, c);
    for (size_t i = 0; i < N; i++) {
      const bool positive = fw_rng_below(&rng, 10) < 3;
      double score = cases[c].mean + cases[c].spread * fw_rng_normal(&rng) + (positive ? cases[c].gap : 0);
      if (cases[c].step > 0) score = floor(score / cases[c].step) * cases[c].step;
      samples[i] = (sample){score, cases[c].weights ? fw_rng_double(&rng) : 1, positive};
    }
    const double got = tally_all(tally, samples, N), exact = exact_auc(samples, N);
    assert_true(exact > 0.5 && exact < 1);
    if (!(fabs(got - exact) < 1e-4)) fail_msg("case %zu: %.6f instead of %.6f", c, got, exact);
    if (cases[c].step > 0) assert_true(fabs(got - exact) < 1e-12); /* ties are ties */
  }
  fw_tally_free(tally);
}

/* What scores are multiplied by changes nothing; nor do bins that an earlier use of the tally had. */
static void auc_of_all_magnitudes(void **state) {
  (void)state;
  enum { N = 20000 };
  static sample samples[N];
  static const double scales[] = {1e10, 1e-6, 1, 300, 1e-15};
  fw_tally *tally = new_tally(&log_graph);
  for (size_t c = 0; c < sizeof scales / sizeof *scales; c++) {
    fw_rng rng;
    fw_rng_init(&rng, 7);
    for (size_t i = 0; i < N; i++) {
      const bool positive = fw_rng_below(&rng, 10) < 3;
      samples[i] = (sample){scales[c] * (fw_rng_normal(&rng) + (positive ? 1 : 0)), 1, positive};
    }
    const double got = tally_all(tally, samples, N), exact = exact_auc(samples, N);
    assert_true(exact > 0.7 && exact < 0.8);
    if (!(fabs(got - exact) < 1e-3)) fail_msg("times %g: %.6f instead of %.6f", scales[c], got, exact);
  }
  fw_tally_free(tally);
}

static void auc_of_few_rows(void **state) {
  (void)state;
  fw_tally *tally = new_tally(&log_graph);
  const sample right[] = {{-1, 1, false}, {0, 1, false}, {1, 1, true}, {INFINITY, 1, true}},
               ties[] = {{2, 1, false}, {2, 1, true}, {2, 5, true}}, one[] = {{2, 1, true}},
               zeros[] = {{0.0, 1, false}, {-0.0, 1, true}}, near[] = {{-1e-30, 1, false}, {1e-30, 1, true}},
               far[] = {{-1e30, 1, true}, {1e30, 1, false}};
  assert_true(tally_all(tally, right, 4) == 1);
  assert_true(tally_all(tally, ties, 3) == 0.5);
  assert_true(isnan(tally_all(tally, one, 1)));
  assert_true(tally_all(tally, zeros, 2) == 0.5);
  assert_true(tally_all(tally, near, 2) == 1);
  assert_true(tally_all(tally, far, 2) == 0);
  fw_tally_free(tally);
}

/* ---- Other figures -------------------------------------------------------------------------------------- */

static void figures_of_two_classes(void **state) {
  (void)state;
  fw_tally *tally = new_tally(&log_graph);
  const double scores[] = {0, 2, -1}, labels[] = {1, -1, -1}, weights[] = {1, 2, 1};
  furrow_learn_metrics m;
  for (int i = 0; i < 3; i++) fw_tally_add(tally, &scores[i], labels[i], weights[i]);
  fw_tally_metrics(tally, &m);
  const double loss = (log(2) + 2 * log1p(exp(2)) + log1p(exp(-1))) / 4;
  assert_int_equal(m.rows, 3);
  assert_true(m.weight == 4);
  assert_float_equal(m.loss, loss, 1e-12);
  assert_float_equal(m.logloss, loss, 1e-12);
  assert_float_equal(m.accuracy, 0.25, 1e-12); /* 0 is taken for the negative class */
  assert_float_equal(m.mean_label, 0.25, 1e-12);
  assert_float_equal(m.mean_prediction, (0.5 + 2 / (1 + exp(-2)) + 1 / (1 + exp(1))) / 4, 1e-12);
  assert_float_equal(m.auc, 1.0 / 3, 1e-12);
  assert_true(isnan(m.rmse) && isnan(m.mae));
  fw_tally_free(tally);
}

static void figures_of_hinge_and_cross_entropy(void **state) {
  (void)state;
  const fw_graph hinge = {.loss = FW_LOSS_HINGE, .outputs = 1}, cross = {.loss = FW_LOSS_CROSS_ENTROPY, .outputs = 1};
  furrow_learn_metrics m;
  fw_tally *tally = new_tally(&hinge);
  fw_tally_add(tally, (const double[]){0.5}, 1, 1);
  fw_tally_add(tally, (const double[]){0.25}, -1, 1);
  fw_tally_metrics(tally, &m);
  assert_float_equal(m.loss, (0.5 + 1.25) / 2, 1e-12);
  assert_float_equal(m.logloss, (log1p(exp(-1)) + log1p(exp(0.5))) / 2, 1e-12);
  assert_float_equal(m.auc, 1, 1e-12);
  fw_tally_free(tally);
  tally = new_tally(&cross);
  fw_tally_add(tally, (const double[]){1e-7}, -1, 1); /* nearer to 0 than the scores' log odds go */
  fw_tally_add(tally, (const double[]){2e-7}, 1, 1);
  fw_tally_add(tally, (const double[]){1 - 1e-7}, 0, 1);
  fw_tally_metrics(tally, &m);
  assert_float_equal(m.auc, 0.5, 1e-12);
  assert_float_equal(m.mean_label, 1.0 / 3, 1e-12);
  fw_tally_free(tally);
}

static void figures_of_regression(void **state) {
  (void)state;
  const fw_graph graph = {.loss = FW_LOSS_L2, .outputs = 1};
  furrow_learn_metrics m;
  fw_tally *tally = new_tally(&graph);
  fw_tally_add(tally, (const double[]){3}, 1, 1);
  fw_tally_add(tally, (const double[]){-1}, 0, 3);
  fw_tally_metrics(tally, &m);
  assert_float_equal(m.loss, (2 + 1.5) / 4, 1e-12);
  assert_float_equal(m.rmse, sqrt((4.0 + 3) / 4), 1e-12);
  assert_float_equal(m.mae, (2.0 + 3) / 4, 1e-12);
  assert_float_equal(m.mean_label, 0.25, 1e-12);
  assert_float_equal(m.mean_prediction, 0, 1e-12);
  assert_true(isnan(m.auc) && isnan(m.accuracy) && isnan(m.logloss));
  furrow_calibration_bin row;
  furrow_curve_point point;
  fw_tally_calibration(tally, 2, 0, &row);
  assert_true(row.rows == 0);
  assert_int_equal(fw_tally_roc(tally, &point, 1), 0);
  fw_tally_free(tally);
}

static void figures_of_classes(void **state) {
  (void)state;
  const fw_graph graph = {.loss = FW_LOSS_SOFTMAX, .outputs = 3};
  furrow_learn_metrics m;
  fw_tally *tally = new_tally(&graph);
  fw_tally_add(tally, (const double[]){1, 2, 0}, 1, 1);
  fw_tally_add(tally, (const double[]){1, 2, 0}, 0, 1);
  fw_tally_metrics(tally, &m);
  const double all = log(exp(1) + exp(2) + 1);
  assert_float_equal(m.loss, (all - 2 + all - 1) / 2, 1e-12);
  assert_float_equal(m.logloss, m.loss, 1e-12);
  assert_float_equal(m.accuracy, 0.5, 1e-12);
  assert_true(isnan(m.auc) && isnan(m.mean_label));
  fw_tally_free(tally);
}

/* ---- Merging, ranks ------------------------------------------------------------------------------------- */

static furrow_status twice(const fw_comm *comm, double *values, size_t count, furrow_error *err) {
  (void)comm, (void)err;
  for (size_t i = 0; i < count; i++) values[i] *= 2;
  return FURROW_OK;
}

static void tallies_are_merged(void **state) {
  (void)state;
  fw_tally *parts[2] = {new_tally(&log_graph), new_tally(&log_graph)}, *all = new_tally(&log_graph);
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (int i = 0; i < 1000; i++) {
    const double score = fw_rng_normal(&rng), label = fw_rng_below(&rng, 2) ? 1 : -1;
    fw_tally_add(all, &score, label, 1);
    fw_tally_add(parts[i % 2], &score, label, 1);
  }
  furrow_learn_metrics a, b;
  fw_tally_merge(parts[0], parts[1]);
  fw_tally_metrics(parts[0], &a);
  fw_tally_metrics(all, &b);
  assert_int_equal(a.rows, b.rows);
  assert_true(a.auc == b.auc && a.accuracy == b.accuracy);
  assert_float_equal(a.loss, b.loss, 1e-12);
  const fw_comm two_equal = {.size = 2, .allreduce_f64 = twice};
  assert_int_equal(fw_tally_reduce(all, &two_equal, NULL), FURROW_OK);
  fw_tally_metrics(all, &a);
  assert_int_equal(a.rows, 2 * b.rows);
  assert_true(a.auc == b.auc && a.loss == b.loss);
  for (int i = 0; i < 2; i++) fw_tally_free(parts[i]);
  fw_tally_free(all);
}

/* ---- Curves, calibration -------------------------------------------------------------------------------- */

static void curves(void **state) {
  (void)state;
  fw_tally *tally = new_tally(&log_graph);
  const double scores[] = {3, 2, 1, 0.5}, labels[] = {1, -1, 1, -1};
  for (int i = 0; i < 4; i++) fw_tally_add(tally, &scores[i], labels[i], 1);
  furrow_curve_point p[8];
  assert_int_equal(fw_tally_roc(tally, p, 8), 4);
  static const double roc[4][2] = {{0, 0.5}, {0.5, 0.5}, {0.5, 1}, {1, 1}},
                      pr[4][2] = {{0.5, 1}, {0.5, 0.5}, {1, 2.0 / 3}, {1, 0.5}};
  for (int i = 0; i < 4; i++) {
    assert_float_equal(p[i].x, roc[i][0], 1e-12);
    assert_float_equal(p[i].y, roc[i][1], 1e-12);
    assert_float_equal(p[i].threshold, 1 / (1 + exp(-scores[i])), 1e-3);
  }
  assert_int_equal(fw_tally_pr(tally, p, 8), 4);
  for (int i = 0; i < 4; i++) {
    assert_float_equal(p[i].x, pr[i][0], 1e-12);
    assert_float_equal(p[i].y, pr[i][1], 1e-12);
  }
  assert_int_equal(fw_tally_roc(tally, p, 2), 2); /* the end is always there */
  assert_float_equal(p[1].x, 1, 1e-12);
  assert_int_equal(fw_tally_roc(tally, p, 0), 0);
  fw_tally_free(tally);
}

static void calibration(void **state) {
  (void)state;
  fw_tally *tally = new_tally(&log_graph);
  double rows = 0;
  fw_rng rng;
  fw_rng_init(&rng, 2);
  for (int i = 0; i < 100000; i++) {
    const double score = 2 * fw_rng_normal(&rng), proba = 1 / (1 + exp(-score));
    fw_tally_add(tally, &score, fw_rng_double(&rng) < proba ? 1 : -1, 1);
  }
  for (size_t i = 0; i < 10; i++) {
    furrow_calibration_bin row;
    fw_tally_calibration(tally, 10, i, &row);
    assert_float_equal(row.low, (double)i / 10, 1e-12);
    assert_true(row.mean_prediction >= row.low && row.mean_prediction <= row.high);
    assert_float_equal(row.mean_label, row.mean_prediction, 0.02);
    rows += row.rows;
  }
  assert_true(rows == 100000);
  fw_tally_free(tally);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(auc_is_near_the_exact_one),
      cmocka_unit_test(auc_of_all_magnitudes),
      cmocka_unit_test(auc_of_few_rows),
      cmocka_unit_test(figures_of_two_classes),
      cmocka_unit_test(figures_of_hinge_and_cross_entropy),
      cmocka_unit_test(figures_of_regression),
      cmocka_unit_test(figures_of_classes),
      cmocka_unit_test(tallies_are_merged),
      cmocka_unit_test(curves),
      cmocka_unit_test(calibration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
