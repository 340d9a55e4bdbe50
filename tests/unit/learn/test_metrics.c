/* tests/unit/learn/test_metrics.c: figures of scored rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/metrics/metrics.h"
#include "support/cmocka_all.h"
#include "support/thread_ranks.h"

static const fw_graph log_graph = {.loss = FW_LOSS_LOG, .outputs = 1};

static fw_tally *new_tally(const fw_graph *graph) {
  fw_tally *tally = NULL;
  furrow_error err;
  assert_int_equal(fw_tally_create(&tally, graph, &err), FURROW_OK);
  return tally;
}

/* ---- AUC ------------------------------------------------------------------------------------------------ */

typedef struct sample {
  double score;
  float weight;
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
      *(samples[end].positive ? &positive : &negative) += (double)samples[end].weight;
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

/* Of rows that are kept, or (exact_rows 0) of bins. */
static double tally_all(fw_tally *tally, size_t exact_rows, const sample *samples, size_t n) {
  fw_tally_clear(tally, exact_rows);
  for (size_t i = 0; i < n; i++)
    fw_tally_add(tally, &samples[i].score, samples[i].positive ? 1 : -1, (double)samples[i].weight);
  return auc_of(tally);
}

/* Scores as models have them: a logistic truth, wide and narrow, far from 0 and near it, tiny, ties, weights. */
static void auc_is_the_exact_one(void **state) {
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
      samples[i] = (sample){score, cases[c].weights ? (float)fw_rng_double(&rng) : 1, positive};
    }
    const double got = tally_all(tally, N, samples, N), binned = tally_all(tally, 0, samples, N);
    const double exact = exact_auc(samples, N);
    assert_true(exact > 0.5 && exact < 1);
    if (!(fabs(got - exact) < 1e-12)) fail_msg("case %zu: %.15f instead of %.15f", c, got, exact);
    if (!(fabs(binned - exact) < 1e-4)) fail_msg("case %zu: %.6f instead of %.6f", c, binned, exact);
    if (cases[c].step > 0) assert_true(fabs(binned - exact) < 1e-12); /* ties are ties */
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
    const double got = tally_all(tally, N, samples, N), binned = tally_all(tally, 0, samples, N);
    const double exact = exact_auc(samples, N);
    assert_true(exact > 0.7 && exact < 0.8);
    if (!(fabs(got - exact) < 1e-12)) fail_msg("times %g: %.15f instead of %.15f", scales[c], got, exact);
    if (!(fabs(binned - exact) < 1e-3)) fail_msg("times %g: %.6f instead of %.6f", scales[c], binned, exact);
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
  for (size_t exact_rows = 0; exact_rows < 16; exact_rows += 3) {
    assert_true(tally_all(tally, exact_rows, right, 4) == 1);
    assert_true(tally_all(tally, exact_rows, ties, 3) == 0.5);
    assert_true(isnan(tally_all(tally, exact_rows, one, 1)));
    assert_true(tally_all(tally, exact_rows, zeros, 2) == 0.5);
    assert_true(tally_all(tally, exact_rows, near, 2) == 1);
    assert_true(tally_all(tally, exact_rows, far, 2) == 0);
  }
  fw_tally_free(tally);
}

/* Of all pairs, and of all thresholds, by their definitions. */
static double auc_of_pairs(const sample *s, size_t n) {
  double right = 0, all = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      if (!s[i].positive || s[j].positive) continue;
      const double weight = (double)s[i].weight * (double)s[j].weight;
      all += weight;
      right += s[i].score > s[j].score ? weight : s[i].score == s[j].score ? 0.5 * weight : 0;
    }
  return right / all;
}

static double average_precision(const sample *s, size_t n) {
  double sum = 0, positives = 0;
  for (size_t i = 0; i < n; i++) {
    if (!s[i].positive) continue;
    double above = 0, right = 0;
    for (size_t j = 0; j < n; j++) {
      if (s[j].score < s[i].score) continue;
      above += (double)s[j].weight;
      right += s[j].positive ? (double)s[j].weight : 0;
    }
    if (!(s[i].weight > 0)) continue;
    positives += (double)s[i].weight;
    sum += (double)s[i].weight * right / above;
  }
  return sum / positives;
}

/* Scores that are floats and scores that are not, few and many ties, weights of all kinds, also 0. */
static void figures_are_those_of_their_definitions(void **state) {
  (void)state;
  enum { N = 700 };
  sample samples[N];
  fw_tally *tally = new_tally(&log_graph);
  for (int c = 0; c < 24; c++) {
    fw_rng rng;
    fw_rng_init(&rng, (uint64_t)c);
    for (size_t i = 0; i < N; i++) {
      const bool positive = fw_rng_below(&rng, 4) == 0;
      double score = fw_rng_normal(&rng) + (positive ? 0.7 : 0);
      if (c % 3 == 1) score = (double)(float)score;
      if (c % 3 == 2) score = floor(4 * score) / 3;
      const float weights[] = {1, 0.3F, (float)fw_rng_double(&rng), (float)fw_rng_below(&rng, 3)};
      samples[i] = (sample){score, weights[c % 4], positive};
    }
    furrow_learn_metrics m;
    tally_all(tally, N, samples, N);
    fw_tally_metrics(tally, &m);
    const double auc = auc_of_pairs(samples, N), precision = average_precision(samples, N);
    if (!(fabs(m.auc - auc) < 1e-12)) fail_msg("case %d: AUC %.15f instead of %.15f", c, m.auc, auc);
    if (!(fabs(m.pr_auc - precision) < 1e-12)) fail_msg("case %d: %.15f instead of %.15f", c, m.pr_auc, precision);
    assert_true(m.binned == 0);
  }
  fw_tally_free(tally);
}

/* The figures are the same bits for any order of rows and any order of merges. */
static void order_does_not_matter(void **state) {
  (void)state;
  enum { N = 3000, PARTS = 5 };
  static sample samples[N];
  fw_rng rng;
  fw_rng_init(&rng, 11);
  for (size_t i = 0; i < N; i++) {
    const double score = floor(20 * fw_rng_normal(&rng)) / 7;
    samples[i] = (sample){score, (float)(fw_rng_double(&rng) * 1e-3), fw_rng_below(&rng, 3) == 0};
  }
  furrow_learn_metrics first = {0};
  furrow_calibration_bin first_bin = {0};
  for (int c = 0; c < 4; c++) {
    fw_tally *parts[PARTS], *all = new_tally(&log_graph);
    for (int p = 0; p < PARTS; p++) parts[p] = new_tally(&log_graph);
    for (size_t i = N; i-- > 1;) {
      const size_t j = fw_rng_below(&rng, i + 1);
      const sample kept = samples[i];
      samples[i] = samples[j];
      samples[j] = kept;
    }
    for (size_t i = 0; i < N; i++)
      fw_tally_add(parts[fw_rng_below(&rng, PARTS)], &samples[i].score, samples[i].positive ? 1 : -1,
                   (double)samples[i].weight);
    for (int p = 0; p < PARTS; p++) {
      furrow_learn_metrics part;
      if (p % 2) fw_tally_metrics(parts[p], &part); /* what is sorted can be merged, too */
      fw_tally_merge(all, parts[p]);
      fw_tally_free(parts[p]);
    }
    furrow_learn_metrics m;
    furrow_calibration_bin bin;
    fw_tally_metrics(all, &m);
    fw_ranking_calibration(fw_tally_ranking(all), 4, 1, &bin);
    if (c == 0) first = m, first_bin = bin;
    assert_true(bin.rows > 0);
    assert_memory_equal(&m.auc, &first.auc, sizeof m.auc);
    assert_memory_equal(&m.pr_auc, &first.pr_auc, sizeof m.pr_auc);
    assert_memory_equal(&bin, &first_bin, sizeof bin);
    fw_tally_free(all);
  }
}

/* One row beyond the limit, whether it is added or merged, and the figures say that they are of bins. */
static void beyond_the_limit_rows_are_binned(void **state) {
  (void)state;
  enum { N = 100 };
  fw_tally *tally = new_tally(&log_graph), *other = new_tally(&log_graph);
  furrow_learn_metrics m;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  sample samples[N];
  for (size_t i = 0; i < N; i++) samples[i] = (sample){fw_rng_normal(&rng), 1, i % 2 == 0};
  const double exact = tally_all(tally, N, samples, N);
  fw_tally_metrics(tally, &m);
  assert_int_equal(m.binned, 0);
  const double binned = tally_all(tally, N - 1, samples, N);
  fw_tally_metrics(tally, &m);
  assert_int_equal(m.binned, N);
  assert_float_equal(binned, exact, 1e-3);
  for (size_t first = 0; first < 2; first++) { /* one that is binned into one that is not, and the reverse */
    tally_all(tally, first ? N : 1, samples, 60);
    tally_all(other, first ? 1 : N, samples + 60, 40);
    fw_tally_merge(tally, other);
    fw_tally_metrics(tally, &m);
    assert_int_equal(m.binned, N);
    assert_true(m.auc == binned);
  }
  tally_all(tally, N - 1, samples, 60); /* neither is, but both together are too many */
  tally_all(other, N - 1, samples + 60, 40);
  fw_tally_merge(tally, other);
  fw_tally_metrics(tally, &m);
  assert_true(m.binned == N && m.auc == binned);
  assert_true(tally_all(tally, N, samples, N) == exact); /* and clearing starts anew */
  fw_tally_free(tally);
  fw_tally_free(other);
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
  assert_true(isnan(m.auc) && isnan(m.accuracy) && isnan(m.logloss) && isnan(m.f1) && isnan(m.constant_accuracy));
  assert_float_equal(m.r2, 1 - 7 / 0.75, 1e-12);
  assert_float_equal(m.constant_rmse, sqrt(0.75 / 4), 1e-12);
  assert_null(fw_tally_ranking(tally));
  assert_int_equal(fw_tally_class_count(tally), 0);
  assert_true(isnan(fw_tally_confusion(tally, 0, 0)));
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
  assert_true(isnan(m.auc) && isnan(m.mean_label) && isnan(m.pr_auc) && isnan(m.r2));
  assert_float_equal(m.constant_accuracy, 0.5, 1e-12);
  assert_float_equal(m.constant_logloss, log(2), 1e-12);
  /* class 2 does not occur: the means are over the other two */
  assert_float_equal(m.precision, 0.25, 1e-12);
  assert_float_equal(m.recall, 0.5, 1e-12);
  assert_float_equal(m.f1, 1.0 / 3, 1e-12);
  fw_tally_free(tally);
}

/* Labels that lie far from 0 beside each other: sums of their squares would lose all digits. */
static void spread_of_labels(void **state) {
  (void)state;
  const fw_graph graph = {.loss = FW_LOSS_L2, .outputs = 1};
  fw_tally *whole = new_tally(&graph), *parts[2] = {new_tally(&graph), new_tally(&graph)};
  furrow_learn_metrics m;
  for (int i = 0; i < 1000; i++) {
    const double label = 1e9 + i % 4, out = label + (i % 2 ? 0.5 : -0.5), weight = i < 500 ? 1 : 3;
    fw_tally_add(whole, &out, label, weight);
    fw_tally_add(parts[i >= 300], &out, label, weight);
    if (i % 3 == 0) fw_tally_add(parts[i % 2], &out, -7, 0); /* weighs nothing */
  }
  fw_tally_metrics(whole, &m);
  assert_float_equal(m.constant_rmse, sqrt(1.25), 1e-6);
  assert_float_equal(m.r2, 1 - 0.25 / 1.25, 1e-6);
  fw_tally_merge(parts[0], parts[1]);
  fw_tally_metrics(parts[0], &m);
  assert_float_equal(m.constant_rmse, sqrt(1.25), 1e-6);
  assert_float_equal(m.r2, 1 - 0.25 / 1.25, 1e-6);
  fw_tally_clear(whole, 0);
  fw_tally_add(whole, (const double[]){1}, 2, 1);
  fw_tally_metrics(whole, &m);
  assert_true(isnan(m.r2) && m.constant_rmse == 0);
  for (int i = 0; i < 2; i++) fw_tally_free(parts[i]);
  fw_tally_free(whole);
}

static void classes_and_their_confusion(void **state) {
  (void)state;
  const fw_graph graph = {.loss = FW_LOSS_SOFTMAX, .outputs = 3};
  fw_tally *tally = new_tally(&graph);
  furrow_class_figures f;
  furrow_learn_metrics m;
  static const double outs[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  static const struct {
    int actual, predicted;
    double weight;
  } rows[] = {{0, 0, 4}, {0, 1, 1}, {1, 1, 2}, {1, 2, 2}, {2, 2, 0.5}, {2, 0, 0.5}};
  for (int i = 0; i < 6; i++) fw_tally_add(tally, outs[rows[i].predicted], rows[i].actual, rows[i].weight);
  assert_int_equal(fw_tally_class_count(tally), 3);
  for (int i = 0; i < 6; i++)
    assert_true(fw_tally_confusion(tally, (size_t)rows[i].actual, (size_t)rows[i].predicted) == rows[i].weight);
  assert_true(fw_tally_confusion(tally, 0, 2) == 0 && isnan(fw_tally_confusion(tally, 3, 0)));
  fw_tally_class(tally, 1, &f);
  assert_true(f.label == 1 && f.rows == 4 && f.predicted == 3 && f.right == 2);
  assert_float_equal(f.precision, 2.0 / 3, 1e-12);
  assert_float_equal(f.recall, 0.5, 1e-12);
  assert_float_equal(f.f1, 4.0 / 7, 1e-12);
  fw_tally_metrics(tally, &m);
  assert_float_equal(m.accuracy, 0.65, 1e-12);
  assert_float_equal(m.constant_accuracy, 0.5, 1e-12);
  assert_float_equal(m.precision, (4 / 4.5 + 2.0 / 3 + 0.2) / 3, 1e-12);
  assert_float_equal(m.recall, (0.8 + 0.5 + 0.5) / 3, 1e-12);
  assert_float_equal(m.f1, (8 / 9.5 + 4.0 / 7 + 1 / 3.5) / 3, 1e-12);
  fw_tally_class(tally, 3, &f);
  assert_true(f.rows == 0 && f.label == 0);
  fw_tally_free(tally);
}

/* Two classes: the second one is the positive one; nothing predicted as positive gives 0, not a failure. */
static void precision_and_recall(void **state) {
  (void)state;
  fw_tally *tally = new_tally(&log_graph);
  furrow_learn_metrics m;
  const double scores[] = {1, 2, 3, -1, -2}, labels[] = {1, 1, -1, 1, -1};
  for (int i = 0; i < 5; i++) fw_tally_add(tally, &scores[i], labels[i], 1);
  fw_tally_metrics(tally, &m);
  assert_float_equal(m.precision, 2.0 / 3, 1e-12);
  assert_float_equal(m.recall, 2.0 / 3, 1e-12);
  assert_float_equal(m.f1, 2.0 / 3, 1e-12);
  assert_true(fw_tally_confusion(tally, 0, 1) == 1 && fw_tally_confusion(tally, 1, 1) == 2);
  assert_float_equal(m.constant_accuracy, 0.6, 1e-12);
  assert_float_equal(m.constant_logloss, -0.6 * log(0.6) - 0.4 * log(0.4), 1e-12);
  fw_tally_clear(tally, 10);
  fw_tally_add(tally, (const double[]){-1}, -1, 1);
  fw_tally_metrics(tally, &m);
  assert_true(m.precision == 0 && m.recall == 0 && m.f1 == 0 && m.constant_logloss == 0);
  assert_true(isnan(m.pr_auc) && isnan(m.auc) && m.accuracy == 1);
  fw_tally_free(tally);
}

/* Too many classes for a matrix still have their figures. */
static void many_classes(void **state) {
  (void)state;
  const fw_graph graph = {.loss = FW_LOSS_SOFTMAX, .outputs = FW_CONFUSION_CLASSES + 1};
  fw_tally *tally = new_tally(&graph);
  static double out[FW_CONFUSION_CLASSES + 1];
  furrow_class_figures f;
  out[FW_CONFUSION_CLASSES] = 1;
  fw_tally_add(tally, out, FW_CONFUSION_CLASSES, 2);
  fw_tally_class(tally, FW_CONFUSION_CLASSES, &f);
  assert_true(f.rows == 2 && f.right == 2 && f.f1 == 1);
  assert_true(isnan(fw_tally_confusion(tally, 0, 0)));
  fw_tally_free(tally);
}

/* ---- Merging, ranks ------------------------------------------------------------------------------------- */

/* A rank that has a tally of its own. */
typedef struct tallying {
  furrow_comm comm;
  fw_tally *tally;
  furrow_status status;
} tallying;

static void *reduce_tally(void *item) {
  tallying *r = item;
  r->status = fw_tally_reduce(r->tally, &r->comm, NULL);
  return NULL;
}

/* More rows than are kept: ranks add up bins, whichever of them has too many. */
static void many_rows_of_ranks_are_binned(void **state) {
  (void)state;
  for (int few = 0; few < 2; few++) {
    tallying ranks[2] = {{.comm = thread_comm(0, 2), .tally = new_tally(&log_graph)},
                         {.comm = thread_comm(1, 2), .tally = new_tally(&log_graph)}};
    fw_tally *all = new_tally(&log_graph);
    furrow_learn_metrics a, b;
    fw_rng rng;
    fw_rng_init(&rng, 2);
    for (int r = 0; r < 2; r++) fw_tally_clear(ranks[r].tally, few ? 300 : 600);
    for (int i = 0; i < 1000; i++) {
      const double score = fw_rng_normal(&rng), label = fw_rng_below(&rng, 2) ? 1 : -1;
      fw_tally_add(all, &score, label, 1);
      fw_tally_add(ranks[few ? i % 5 == 0 : i % 2].tally, &score, label, 1);
    }
    run_threads(2, reduce_tally, ranks, sizeof *ranks);
    fw_tally_metrics(all, &b);
    for (int r = 0; r < 2; r++) {
      assert_int_equal(ranks[r].status, FURROW_OK);
      fw_tally_metrics(ranks[r].tally, &a);
      assert_int_equal(a.binned, 1000);
      assert_float_equal(a.auc, b.auc, 1e-3);
      fw_tally_free(ranks[r].tally);
    }
    fw_tally_free(all);
  }
}

enum { PARTS = 3, PART_ROWS = 6000 };

/* Rows of which a rank adds a part after the ranks before it. */
typedef struct rank_part {
  furrow_comm comm;
  fw_tally *tally;
  const sample *samples;
  size_t count;
  furrow_status status;
} rank_part;

static void add_samples(void *user, fw_tally *tally) {
  const rank_part *t = user;
  for (size_t i = 0; i < t->count; i++)
    fw_tally_add(tally, &t->samples[i].score, t->samples[i].positive ? 1 : -1, (double)t->samples[i].weight);
}

static void *add_part(void *item) {
  rank_part *t = item;
  t->status = fw_tally_add_by_rank(t->tally, &t->comm, add_samples, t, NULL);
  return NULL;
}

/* Scores of all kinds: spread out; that differ in their last digits alone; many ties; one tie; and odd weights. */
static void make_part_rows(sample *samples, int kind) {
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t i = 0; i < PART_ROWS; i++) {
    const double scores[] = {fw_rng_normal(&rng), 1 + (double)fw_rng_below(&rng, 1 << 20) * 0x1p-52,
                             (double)fw_rng_below(&rng, 40) / 3, 1};
    samples[i] = (sample){scores[kind % 4], kind < 4 ? 1 : (float)fw_rng_double(&rng), fw_rng_below(&rng, 3) == 0};
  }
}

/* Figures of ranks have the bits of one process, also where a rank has no rows. */
static void ranks_count_in_order(void **state) {
  (void)state;
  static const size_t begin[PARTS + 1] = {0, 1000, 1000, PART_ROWS};
  static sample samples[PART_ROWS];
  for (int kind = 0; kind < 8; kind++) {
    furrow_learn_metrics one, many;
    rank_part parts[PARTS];
    fw_tally *alone = new_tally(&log_graph);
    make_part_rows(samples, kind);
    for (unsigned r = 0; r < PARTS; r++)
      parts[r] = (rank_part){.comm = thread_comm(r, PARTS),
                             .tally = new_tally(&log_graph),
                             .samples = samples + begin[r],
                             .count = begin[r + 1] - begin[r]};
    run_threads(PARTS, add_part, parts, sizeof *parts);
    tally_all(alone, FW_EXACT_ROWS, samples, PART_ROWS);
    fw_tally_metrics(alone, &one);
    for (unsigned r = 0; r < PARTS; r++) {
      assert_int_equal(parts[r].status, FURROW_OK);
      fw_tally_metrics(parts[r].tally, &many);
      assert_memory_equal(&many, &one, sizeof one);
      fw_tally_free(parts[r].tally);
    }
    const double exact = exact_auc(samples, PART_ROWS); /* orders the rows */
    if (!(fabs(one.auc - exact) < 1e-12)) fail_msg("kind %d: AUC %.15f instead of %.15f", kind, one.auc, exact);
    fw_tally_free(alone);
  }
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
  tallying ranks[2] = {{.comm = thread_comm(0, 2), .tally = parts[0]}, {.comm = thread_comm(1, 2), .tally = all}};
  run_threads(2, reduce_tally, ranks, sizeof *ranks);
  assert_int_equal(ranks[0].status, FURROW_OK);
  assert_int_equal(ranks[1].status, FURROW_OK);
  fw_tally_metrics(all, &a);
  assert_int_equal(a.rows, 2 * b.rows);
  assert_int_equal(a.binned, 0); /* ranks have no more rows than one process keeps */
  assert_float_equal(a.auc, b.auc, 1e-15);
  assert_float_equal(a.loss, b.loss, 1e-12);
  assert_true(a.f1 == b.f1);
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
  assert_int_equal(fw_ranking_curve(fw_tally_ranking(tally), false, p, 8), 4);
  static const double roc[4][2] = {{0, 0.5}, {0.5, 0.5}, {0.5, 1}, {1, 1}},
                      pr[4][2] = {{0.5, 1}, {0.5, 0.5}, {1, 2.0 / 3}, {1, 0.5}};
  for (int i = 0; i < 4; i++) {
    assert_float_equal(p[i].x, roc[i][0], 1e-12);
    assert_float_equal(p[i].y, roc[i][1], 1e-12);
    assert_float_equal(p[i].threshold, 1 / (1 + exp(-scores[i])), 1e-12);
  }
  assert_int_equal(fw_ranking_curve(fw_tally_ranking(tally), true, p, 8), 4);
  for (int i = 0; i < 4; i++) {
    assert_float_equal(p[i].x, pr[i][0], 1e-12);
    assert_float_equal(p[i].y, pr[i][1], 1e-12);
  }
  assert_int_equal(fw_ranking_curve(fw_tally_ranking(tally), false, p, 2), 2); /* the end is always there */
  assert_float_equal(p[1].x, 1, 1e-12);
  assert_int_equal(fw_ranking_curve(fw_tally_ranking(tally), false, p, 0), 0);
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
    fw_ranking_calibration(fw_tally_ranking(tally), 10, i, &row);
    assert_float_equal(row.low, (double)i / 10, 1e-12);
    assert_true(row.mean_prediction >= row.low && row.mean_prediction <= row.high);
    assert_float_equal(row.mean_label, row.mean_prediction, 0.02);
    rows += row.rows;
  }
  assert_true(rows == 100000);
  fw_tally_free(tally);
}

/* ---- Many rows at once ---- */

static void assert_same_figures(const fw_tally *a, const fw_tally *b) {
  furrow_learn_metrics x, y;
  fw_tally_metrics(a, &x);
  fw_tally_metrics(b, &y);
  assert_memory_equal(&x, &y, sizeof x);
  for (size_t i = 0; i < fw_tally_class_count(a); i++)
    for (size_t k = 0; k < fw_tally_class_count(a); k++)
      assert_true(fw_tally_confusion(a, i, k) == fw_tally_confusion(b, i, k));
}

/* With ties, and (weighted) weights; bits are those of rows that come one by one. */
static void check_rows_at_once(const fw_graph *graph, bool weighted, unsigned threads, bool coarse) {
  enum { ROWS = 40000 };
  fw_tally *one = new_tally(graph), *many = new_tally(graph);
  fw_tally_row *rows = calloc(ROWS, sizeof *rows);
  fw_spin_pool *pool = NULL;
  fw_rng rng;
  assert_non_null(rows);
  assert_int_equal(fw_spin_pool_create(&pool, threads, NULL), FURROW_OK);
  fw_rng_init(&rng, threads);
  for (size_t i = 0; i < ROWS; i++) {
    const double score = coarse ? floor(8 * fw_rng_normal(&rng)) / 8 : fw_rng_normal(&rng);
    rows[i].out = score;
    rows[i].label = fw_rng_double(&rng) < 0.5 + score / 8 ? 1 : -1;
    rows[i].weight = weighted ? (float)fw_rng_double(&rng) : 1;
    rows[i].terms = fw_row_terms_of(graph, &rows[i].out, (double)rows[i].label);
    fw_tally_add(one, &rows[i].out, (double)rows[i].label, (double)rows[i].weight);
  }
  fw_tally_add_rows(many, rows, ROWS / 3, threads == 1, pool); /* a last one may be followed by others */
  fw_tally_add_rows(many, rows + ROWS / 3, ROWS - ROWS / 3, true, pool);
  assert_same_figures(one, many);
  fw_spin_pool_free(pool);
  fw_tally_free(one);
  fw_tally_free(many);
  free(rows);
}

static void rows_at_once_have_the_same_figures(void **state) {
  (void)state;
  const fw_graph square = {.loss = FW_LOSS_L2, .outputs = 1};
  for (unsigned i = 0; i < 8; i++) check_rows_at_once(&log_graph, i % 2, 1 + i / 2 % 2 * 3, i / 4);
  check_rows_at_once(&square, true, 2, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(auc_is_the_exact_one),
      cmocka_unit_test(auc_of_all_magnitudes),
      cmocka_unit_test(auc_of_few_rows),
      cmocka_unit_test(figures_are_those_of_their_definitions),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(beyond_the_limit_rows_are_binned),
      cmocka_unit_test(figures_of_two_classes),
      cmocka_unit_test(figures_of_hinge_and_cross_entropy),
      cmocka_unit_test(figures_of_regression),
      cmocka_unit_test(figures_of_classes),
      cmocka_unit_test(spread_of_labels),
      cmocka_unit_test(classes_and_their_confusion),
      cmocka_unit_test(precision_and_recall),
      cmocka_unit_test(many_classes),
      cmocka_unit_test(ranks_count_in_order),
      cmocka_unit_test(tallies_are_merged),
      cmocka_unit_test(many_rows_of_ranks_are_binned),
      cmocka_unit_test(curves),
      cmocka_unit_test(calibration),
      cmocka_unit_test(rows_at_once_have_the_same_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
