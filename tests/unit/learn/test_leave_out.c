/* tests/unit/learn/test_leave_out.c: folds that training does not see, shares of the rows, weights of classes. */
#include "learn/data/samples.h"
#include "support/failing_alloc.h"
#include "support/made_clicks.h"

enum { ROWS = 900, FOLDS = 4, SEED = 1 };

/* Rows with numbers as labels, of which one fold (FOLDS: none) has nonsense. Features say in which fold a row is. */
static bool write_numbers(const char *path, unsigned spoilt) {
  static uint64_t offset[ROWS + 1];
  static uint32_t index[3 * ROWS];
  static float value[3 * ROWS];
  static double label[ROWS], nonsense[ROWS];
  FILE *file = fopen(path, "w");
  fw_holdout holdout = {0};
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t row = 0; row < ROWS; row++) {
    const double x = (int)(1000 * fw_rng_normal(&rng)) / 1024.0, y = (int)(1000 * fw_rng_normal(&rng)) / 1024.0;
    const double noise = fw_rng_normal(&rng), features[] = {x, y, 1};
    for (uint32_t k = 0; k < 3; k++) index[3 * row + k] = k, value[3 * row + k] = (float)features[k];
    offset[row + 1] = 3 * row + 3;
    label[row] = 3 * x - 2 * y + x * y + 0.1 * noise;
    nonsense[row] = -1000 * noise;
  }
  const furrow_rowblock rows = {.size = ROWS, .offset = offset, .index.u32 = index, .value.f32 = value};
  const fw_holdout_params params = {.unit = FW_HOLD_ROWS, .folds = FOLDS, .seed = SEED};
  if (!file || fw_holdout_init(&holdout, &rows, &params, &err) != FURROW_OK) return false;
  for (size_t row = 0; row < ROWS; row++)
    fprintf(file, "%g 1:%.12g 2:%.12g 3:1\n", holdout.fold_of[row] == spoilt ? nonsense[row] : label[row],
            (double)value[3 * row], (double)value[3 * row + 1]);
  fw_holdout_clear(&holdout);
  return fclose(file) == 0;
}

/* `from` with the positive rows three times. */
static bool write_repeated(const char *path, const char *from) {
  FILE *in = fopen(from, "r"), *out = fopen(path, "w");
  char line[1000];
  if (!in || !out) return false;
  while (fgets(line, sizeof line, in))
    for (int i = 0; i < (line[0] == '1' ? 3 : 1); i++) fputs(line, out);
  fclose(in);
  return fclose(out) == 0;
}

static int write_data(void **state) {
  const bool written = enter_dir(state) == 0 && write_clicks("clicks", 1500, 1, 1) && write_clicks("test", 800, 2, 1) &&
                       write_repeated("repeated", "clicks") && write_numbers("numbers", FOLDS) &&
                       write_numbers("spoilt", 2);
  return written ? 0 : -1;
}

static const struct {
  const char *algorithm, *settings;
} models[] = {{"linear", "defaults=furrow"},
              {"linear", "epochs=3 lr=0.00001"},
              {"fm", "defaults=furrow loss=L2Loss rank=2 epochs=5"},
              {"gbdt", "defaults=furrow objective=reg:squarederror trees=8"}};

enum { MODELS = sizeof models / sizeof *models };

/* What training leaves, and the figures of the fold. */
static fw_buffer outcome(size_t model, const char *data, unsigned threads, uint32_t fold, furrow_learn_metrics *of) {
  furrow_trainer *trainer = new_trainer(models[model].algorithm, models[model].settings, threads, false);
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.folds = FOLDS;
  params.fold = fold;
  fit_or_fail(trainer, data, NULL, &params);
  furrow_learn_metrics_init(of);
  furrow_trainer_get_fold_metrics(trainer, of);
  fw_buffer snapshot = snapshot_of(trainer);
  furrow_trainer_free(trainer);
  return snapshot;
}

/* ---- Folds ---- */

static void rows_of_the_fold_play_no_part(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    furrow_learn_metrics good, bad;
    fw_buffer one = outcome(m, "numbers", 1, 2, &good), other = outcome(m, "spoilt", 1, 2, &bad);
    assert_same_snapshot(&one, &other);
    assert_true(bad.rmse > 100 * good.rmse);
    fw_buffer_clear(&other);
    other = outcome(m, "spoilt", 1, 1, &bad); /* another fold: then they do */
    assert_true(one.size != other.size || memcmp(one.bytes, other.bytes, one.size) != 0);
    fw_buffer_clear(&one);
    fw_buffer_clear(&other);
  }
}

static void folds_are_all_rows_for_any_number_of_threads(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    uint64_t rows = 0;
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
      furrow_learn_metrics one, three;
      fw_buffer a = outcome(m, "numbers", 1, fold, &one), b = outcome(m, "numbers", 3, fold, &three);
      assert_same_snapshot(&a, &b);
      assert_memory_equal(&one, &three, sizeof one);
      rows += one.rows;
      fw_buffer_clear(&a);
      fw_buffer_clear(&b);
    }
    assert_int_equal(rows, ROWS);
  }
}

static void a_class_may_be_in_one_fold_alone(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_learn_metrics of;
  FILE *file = fopen("rare", "w");
  uint64_t rows = 0;
  assert_non_null(file);
  for (int i = 0; i < 41; i++) fprintf(file, "%d 1:%d 2:%d\n", i == 40 ? 7 : i % 2, i % 2, i % 5);
  fclose(file);
  furrow_trainer_fit_params_init(&params);
  params.folds = 5;
  for (params.fold = 0; params.fold < 5; params.fold++) {
    furrow_trainer *trainer = new_trainer("softmax", "defaults=furrow", 1, false);
    fit_or_fail(trainer, "rare", NULL, &params);
    furrow_learn_metrics_init(&of);
    furrow_trainer_get_fold_metrics(trainer, &of);
    assert_true(isfinite(of.logloss));
    rows += of.rows;
    furrow_trainer_free(trainer);
  }
  assert_int_equal(rows, 41);
}

static void a_share_has_so_many_rows(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_learn_metrics of;
  furrow_trainer_fit_params_init(&params);
  params.share = 0.25;
  furrow_trainer *trainer = new_trainer("linear", "defaults=furrow", 1, false);
  fit_or_fail(trainer, "numbers", NULL, &params);
  assert_int_equal(epoch_at(trainer, 0)->train->rows, ROWS / 4);
  furrow_learn_metrics_init(&of);
  furrow_trainer_get_fold_metrics(trainer, &of);
  assert_int_equal(of.rows, 0);
  furrow_trainer_free(trainer);
}

static void refused(uint32_t folds, uint32_t fold, double share, bool stream) {
  furrow_trainer_fit_params params;
  furrow_trainer *trainer = new_trainer("linear", "defaults=furrow", 1, false);
  furrow_trainer_fit_params_init(&params);
  params.folds = folds;
  params.fold = fold;
  params.share = share;
  params.stream = stream;
  assert_int_equal(furrow_trainer_fit(trainer, "numbers", NULL, &params, &err), FURROW_E_ARGUMENT);
  furrow_trainer_free(trainer);
}

static void folds_are_checked(void **state) {
  (void)state;
  refused(1, 0, 0, false);
  refused(256, 0, 0, false);
  refused(3, 3, 0, false);
  refused(0, 1, 0, false);
  refused(2, 0, 0, true);
  refused(0, 0, 0.5, true);
  refused(0, 0, -0.5, false);
  refused(0, 0, 1.5, false);
  refused(0, 0, NAN, false);
}

static void there_must_be_a_row_for_each_fold(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer *trainer = new_trainer("linear", "defaults=furrow", 1, false);
  FILE *file = fopen("few", "w");
  assert_non_null(file);
  fputs("1 1:1\n2 1:2\n3 1:3\n", file);
  fclose(file);
  furrow_trainer_fit_params_init(&params);
  params.folds = 5;
  assert_int_equal(furrow_trainer_fit(trainer, "few", NULL, &params, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "3 rows, fewer than the 5 folds"));
  furrow_trainer_free(trainer);
}

static void means_and_deviations(void **state) {
  (void)state;
  furrow_learn_metrics sets[3], mean, deviation;
  for (int i = 0; i < 3; i++) {
    furrow_learn_metrics_init(&sets[i]);
    sets[i].rows = 10 + (uint64_t)i;
    sets[i].loss = 1 + i * i; /* 1, 2, 5 */
    sets[i].auc = i == 1 ? NAN : 0.5;
  }
  furrow_learn_metrics_init(&mean);
  furrow_learn_metrics_init(&deviation);
  furrow_learn_metrics_summarize(sets, 3, &mean, &deviation);
  assert_int_equal(mean.rows, 33);
  assert_true(fabs(mean.loss - 8.0 / 3) < 1e-12 && fabs(deviation.loss - sqrt(13.0 / 3)) < 1e-12);
  assert_true(isnan(mean.auc) && isnan(deviation.auc));
  furrow_learn_metrics_summarize(sets, 1, &mean, &deviation);
  assert_true(mean.loss == 1 && isnan(deviation.loss) && mean.auc == 0.5);
}

static furrow_status train_once(const char *algorithm) {
  furrow_trainer_fit_params params;
  furrow_trainer_params made;
  furrow_trainer *trainer = NULL;
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params_init(&made);
  furrow_trainer_fit_params_init(&params);
  made.threads = 1;
  params.folds = 3;
  params.share = 0.5;
  furrow_status status = furrow_learn_conf_create(&conf, &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, algorithm, &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "class-weights", "balanced", &err);
  if (status == FURROW_OK) status = furrow_trainer_create(&trainer, conf, &made, &err);
  if (status == FURROW_OK) status = furrow_trainer_fit(trainer, "rare", NULL, &params, &err);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return status;
}

/* What only looks at the data to guess its format goes on without memory. */
static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  bool failed = true;
  for (long n = 1; failed; n++) {
    const long live = alloc_live;
    alloc_fail_at(n);
    const furrow_status status = train_once("softmax");
    failed = alloc_failed;
    alloc_fail_at(0);
    if (status != FURROW_OK && status != FURROW_E_MEMORY) fail_msg("allocation %ld: %d", n, status);
    if (!failed) assert_int_equal(status, FURROW_OK);
    assert_int_equal(alloc_live, live);
  }
}

/* ---- Weights of classes ---- */

static double test_loss(furrow_trainer *trainer) {
  furrow_blockiter *iter = NULL;
  furrow_learn_metrics metrics;
  furrow_learn_metrics_init(&metrics);
  assert_int_equal(furrow_blockiter_open(&iter, "test?indexing_mode=1", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_blockiter_next(iter, &err), FURROW_OK);
  assert_int_equal(furrow_trainer_evaluate(trainer, furrow_blockiter_value(iter), &metrics, &err), FURROW_OK);
  furrow_blockiter_close(iter);
  return metrics.logloss;
}

static double loss_of(const char *algorithm, const char *settings, const char *data) {
  furrow_trainer *trainer = new_trainer(algorithm, settings, 2, false);
  fit_or_fail(trainer, data, NULL, NULL);
  const double loss = test_loss(trainer);
  furrow_trainer_free(trainer);
  return loss;
}

static void weights_of_classes_are_repeated_rows(void **state) {
  (void)state;
  const double plain = loss_of("lr", "defaults=furrow scale=none", "clicks");
  const double repeated = loss_of("lr", "defaults=furrow scale=none", "repeated");
  assert_true(fabs(plain - repeated) > 0.01);
  assert_true(fabs(loss_of("lr", "defaults=furrow scale=none class-weights=1,3", "clicks") - repeated) < 1e-5);
  assert_true(fabs(loss_of("lr", "defaults=furrow scale=none class-weights=0.5,1.5 l2=0.5", "clicks") - repeated) <
              1e-5);
  /* later trees differ in the last digits of gradients, which are whole numbers of a unit that the weights change */
  const double tree = loss_of("gbdt", "valid-ratio=0 trees=1", "repeated");
  assert_true(fabs(loss_of("gbdt", "valid-ratio=0 trees=1 class-weights=1,3", "clicks") - tree) < 1e-7);
  assert_true(fabs(loss_of("gbdt", "valid-ratio=0 trees=1", "clicks") - tree) > 0.01);
}

/* Rows of a class, by the labels of a file. */
static void count(const char *path, double *negatives, double *positives) {
  FILE *in = fopen(path, "r");
  char line[1000];
  *negatives = *positives = 0;
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) *(line[0] == '1' ? positives : negatives) += 1;
  fclose(in);
}

static void balanced_classes_weigh_the_same(void **state) {
  (void)state;
  static const char *const settings[] = {"defaults=furrow", "epochs=3", "defaults=furrow epochs=3 solver=steps"};
  double negatives, positives;
  count("clicks", &negatives, &positives);
  const double rows = negatives + positives;
  for (size_t i = 0; i < 3; i++) {
    char balanced[100], listed[160];
    snprintf(balanced, sizeof balanced, "%s class-weights=balanced", settings[i]);
    snprintf(listed, sizeof listed, "%s class-weights=%.17g,%.17g", settings[i], rows / 2 / negatives,
             rows / 2 / positives);
    const double loss = loss_of("lr", balanced, "clicks");
    assert_true(loss == loss_of("lr", listed, "clicks"));
    assert_true(fabs(loss - loss_of("lr", settings[i], "clicks")) > 1e-4);
  }
}

/* A program's own loop has listed weights, too; balanced ones come from a fit. */
static void steps_have_the_weights(void **state) {
  (void)state;
  furrow_blockiter *iter = NULL;
  double plain = 0, weighted = 0;
  assert_int_equal(furrow_blockiter_open(&iter, "clicks?indexing_mode=1", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_blockiter_next(iter, &err), FURROW_OK);
  const furrow_rowblock *rows = furrow_blockiter_value(iter);
  furrow_trainer *trainer = new_trainer("lr", "", 1, false);
  for (int i = 0; i < 3; i++) assert_int_equal(furrow_trainer_step(trainer, rows, &plain, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  trainer = new_trainer("lr", "class-weights=1,9", 1, false);
  for (int i = 0; i < 3; i++) assert_int_equal(furrow_trainer_step(trainer, rows, &weighted, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  assert_true(fabs(plain - weighted) > 1e-3);
  trainer = new_trainer("lr", "class-weights=balanced", 1, false);
  assert_int_equal(furrow_trainer_step(trainer, rows, NULL, &err), FURROW_E_ARGUMENT);
  fit_or_fail(trainer, "clicks", NULL, NULL);
  assert_int_equal(furrow_trainer_step(trainer, rows, NULL, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  furrow_blockiter_close(iter);
}

static void weights_must_fit(void **state) {
  (void)state;
  static const char *const wrong[][2] = {{"lr", "1,2,3"}, {"lr", "1"},       {"lr", "-1,2"},
                                         {"lr", "equal"}, {"linear", "1,2"}, {"gbdt", "1,2,3"},
                                         {"fm", "0,0"},   {"lr", ""},        {"linear", "balanced"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    furrow_learn_conf *conf = conf_new();
    assert_int_equal(furrow_learn_conf_set_algorithm(conf, wrong[i][0], &err), FURROW_OK);
    assert_int_equal(furrow_learn_conf_set(conf, "class-weights", wrong[i][1], &err), FURROW_OK);
    if (furrow_learn_conf_check(conf, &err) != FURROW_E_ARGUMENT) fail_msg("%s %s", wrong[i][0], wrong[i][1]);
    furrow_learn_conf_free(conf);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_the_fold_play_no_part),
      cmocka_unit_test(folds_are_all_rows_for_any_number_of_threads),
      cmocka_unit_test(a_class_may_be_in_one_fold_alone),
      cmocka_unit_test(a_share_has_so_many_rows),
      cmocka_unit_test(folds_are_checked),
      cmocka_unit_test(there_must_be_a_row_for_each_fold),
      cmocka_unit_test(allocations_may_fail),
      cmocka_unit_test(means_and_deviations),
      cmocka_unit_test(weights_of_classes_are_repeated_rows),
      cmocka_unit_test(balanced_classes_weigh_the_same),
      cmocka_unit_test(steps_have_the_weights),
      cmocka_unit_test(weights_must_fit),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
