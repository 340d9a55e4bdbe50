/* tests/unit/learn/test_divergence.c: trainings whose loss runs away go back with half the rate, end well or say that
 * they did not; models that are worse than a constant are warned of. */
#include "support/made_clicks.h"
#include "support/own_data.h"

/* Angel's defaults on data in wild units. */
#define EXPLODES "epochs=6 batch=20 index-base=1 "

static const struct {
  const char *algorithm, *settings, *data;
} wild[] = {
    {"lr", EXPLODES "lr=0.5", "plain"},
    {"lr", EXPLODES "lr=0.5 valid-ratio=0.2 keep=best", "plain"},
    {"lr", EXPLODES "optimizer=ftrl ftrl-alpha=10000", "plain"},
    {"svm", EXPLODES "lr=0.5", "plain"},
    {"linear", EXPLODES "lr=0.5", "quantities"},
    {"linear", EXPLODES "lr=1e-7", "quantities"},
    {"robust", EXPLODES "lr=0.5", "quantities"},
    {"fm", EXPLODES "lr=0.5", "plain"},
    {"softmax", EXPLODES "lr=0.5 classes=3 label=SubOneTrans", "classes"},
    {"dnn", EXPLODES "lr=0.5 fc=8", "plain"},
};
enum { WILD = sizeof wild / sizeof *wild };

static int write_data(void **state) {
  static const float labels[] = {1, 2, 3};
  if (enter_dir(state) != 0) return -1;
  write_chances("plain", 600, 0, 3);
  write_quantities("quantities", 500);
  write_blobs("classes", 500, 3, labels, 1);
  return 0;
}

static double constant_of(const furrow_trainer *trainer, const furrow_learn_metrics *m) {
  switch (trainer->plan->graph.loss) {
  case FW_LOSS_L2:
  case FW_LOSS_HUBER: return 0.5 * m->constant_rmse * m->constant_rmse;
  case FW_LOSS_HINGE: return 2 * fmin(m->mean_label, 1 - m->mean_label);
  default: return m->constant_logloss;
  }
}

/* A fit ends with E_RANGE and a hint; or with a loss that is not above a constant's; or with a warning. */
static void no_bad_model_without_a_word(void **state) {
  (void)state;
  size_t errors = 0, warnings = 0;
  for (size_t w = 0; w < WILD; w++) {
    furrow_trainer *trainer = new_trainer(wild[w].algorithm, wild[w].settings, 2, false);
    err = (furrow_error){0};
    const furrow_status status = furrow_trainer_fit(trainer, wild[w].data, NULL, NULL, &err);
    if (status != FURROW_OK) {
      assert_int_equal(status, FURROW_E_RANGE);
      assert_int_equal(trainer->steps.halvings, 3);
      if (!strstr(err.hint, "key `lr`")) fail_msg("%s: %s; hint: %s", wild[w].algorithm, err.message, err.hint);
      errors++;
    } else {
      const bool keeps = trainer->plan->train.keep_best;
      const furrow_epoch *last = epoch_at(trainer, (keeps ? trainer->best : furrow_trainer_epoch_count(trainer)) - 1);
      const furrow_learn_metrics *m = last->valid->rows ? last->valid : last->train;
      bool warning = false;
      const bool noted = has_note(trainer, "worse than a constant", &warning);
      if (!(m->loss <= constant_of(trainer, m) * 1.001) && !(noted && warning))
        fail_msg("%s %s: the loss is %g, a constant's %g, and nobody says so", wild[w].algorithm, wild[w].settings,
                 m->loss, constant_of(trainer, m));
      assert_int_equal(has_note(trainer, "training diverged", &warning), trainer->steps.halvings > 0);
      warnings += noted;
    }
    furrow_trainer_free(trainer);
  }
  assert_true(errors + warnings >= 3); /* the data is as wild as it should be */
}

/* ---- Rates that come right ---- */

/* Plain descent on labels and features around 0: the rate is too high by a factor that halving mends. */
static void write_tame(const char *path) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, 8);
  for (size_t i = 0; i < 400; i++) {
    const double a = fw_rng_normal(&rng), b = fw_rng_normal(&rng);
    fprintf(file, "%g 1:%g 2:%g\n", 3 * a - b, a, b);
  }
  assert_int_equal(fclose(file), 0);
}

static const struct {
  const char *algorithm, *settings;
} halved[] = {
    {"linear", "epochs=8 batch=400 updates=1 optimizer=sgd lr=4 valid-ratio=0 index-base=1"},
    {"linear", "epochs=8 batch=20 optimizer=momentum lr=0.4 valid-ratio=0.1 keep=best index-base=1"},
};

static furrow_trainer *halved_trainer(size_t which) {
  return new_trainer(halved[which].algorithm, halved[which].settings, 1, false);
}

static void halving_helps(void **state) {
  (void)state;
  size_t times = 0;
  write_tame("tame");
  for (size_t h = 0; h < sizeof halved / sizeof *halved; h++) {
    furrow_trainer *trainer = halved_trainer(h);
    fit_or_fail(trainer, "tame", NULL, NULL);
    const size_t epochs = furrow_trainer_epoch_count(trainer);
    const furrow_learn_metrics *last = epoch_at(trainer, epochs - 1)->train;
    bool warning = true;
    assert_int_equal(epochs, 8); /* those that diverged are not among them */
    for (size_t i = 0; i < epochs; i++) assert_int_equal(epoch_at(trainer, i)->epoch, i + 1);
    if (!(last->loss < 0.05 * constant_of(trainer, last))) fail_msg("%s: %g", halved[h].settings, last->loss);
    assert_int_equal(has_note(trainer, "training diverged", &warning), trainer->steps.halvings > 0);
    if (trainer->steps.halvings > 0) assert_false(warning);
    const double rate = ldexp(fw_decay_rate(&trainer->plan->train, epochs), -(int)trainer->steps.halvings);
    assert_float_equal(epoch_at(trainer, epochs - 1)->learning_rate, rate, 1e-9);
    times += trainer->steps.halvings;
    furrow_trainer_free(trainer);
  }
  assert_true(times > 0);
}

static furrow_status stop_after_three(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)e;
  return epoch->epoch == 3 ? FURROW_END : FURROW_OK;
}

/* A checkpoint knows the rate: what is resumed is what would have been. */
static void breaks_do_not_matter(void **state) {
  (void)state;
  write_tame("tame");
  for (size_t h = 0; h < sizeof halved / sizeof *halved; h++) {
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.checkpoint = "kept";
    test_remove_dir("kept");
    furrow_trainer *whole = halved_trainer(h), *broken = halved_trainer(h), *resumed = halved_trainer(h);
    fit_or_fail(whole, "tame", NULL, &params);
    test_remove_dir("kept");
    params.epoch = stop_after_three;
    fit_or_fail(broken, "tame", NULL, &params);
    params.epoch = NULL;
    params.resume = true;
    fit_or_fail(resumed, "tame", NULL, &params);
    fw_buffer a = snapshot_of(whole), b = snapshot_of(resumed);
    assert_same_snapshot(&a, &b);
    assert_int_equal(whole->steps.halvings, resumed->steps.halvings);
    assert_int_equal(furrow_trainer_note_count(whole), furrow_trainer_note_count(resumed));
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    furrow_trainer_free(whole);
    furrow_trainer_free(broken);
    furrow_trainer_free(resumed);
  }
}

/* FTRL's rate is alpha. */
static void alpha_is_halved(void **state) {
  (void)state;
  write_tame("tame");
  fw_buffer found[2];
  for (int i = 0; i < 2; i++) {
    furrow_trainer *trainer = new_trainer("linear",
                                          i ? "epochs=1 optimizer=ftrl ftrl-alpha=0.025 lr=0.1 index-base=1"
                                            : "epochs=1 optimizer=ftrl ftrl-alpha=0.1 lr=0.4 index-base=1",
                                          1, false);
    own_rows rows = read_rows("tame");
    trainer->steps.halvings = i ? 0 : 2;
    assert_int_equal(furrow_trainer_step(trainer, &rows.block, NULL, &err), FURROW_OK);
    found[i] = snapshot_of(trainer);
    close_rows(&rows);
    furrow_trainer_free(trainer);
  }
  assert_same_snapshot(&found[0], &found[1]);
  for (int i = 0; i < 2; i++) fw_buffer_clear(&found[i]);
}

/* A model that was loaded has no first weights to go back to. */
static void no_way_back(void **state) {
  (void)state;
  furrow_trainer *trainer = new_trainer("linear", EXPLODES "lr=1e-9", 1, false);
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  fit_or_fail(trainer, "quantities", NULL, NULL);
  assert_int_equal(furrow_trainer_save(trainer, "model", &params, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  trainer = own_trainer("linear", "defaults=angel " EXPLODES "lr=0.5", 1, "model");
  assert_int_equal(furrow_trainer_fit(trainer, "quantities", NULL, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.hint, "key `lr`"));
  assert_int_equal(trainer->steps.halvings, 0);
  furrow_trainer_free(trainer);
}

/* A loss that is high because nothing is learned yet has not run away: labels far from 0, classes that are rare. */
static void slow_starts_do_not_diverge(void **state) {
  (void)state;
  FILE *file = begin_file("rare");
  for (size_t i = 0; i < 2000; i++) fprintf(file, "%d 1:%g\n", i % 1000 == 7, (double)(i % 17) / 17);
  assert_int_equal(fclose(file), 0);
  static const struct {
    const char *algorithm, *settings, *data;
  } slow[] = {{"linear", EXPLODES "lr=1e-9", "quantities"},
              {"robust", EXPLODES "lr=1e-9", "quantities"},
              {"lr", EXPLODES "lr=1e-5", "rare"},
              {"fm", EXPLODES "lr=1e-5", "rare"},
              {"svm", EXPLODES "lr=1e-5", "rare"}};
  for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
    furrow_trainer *trainer = new_trainer(slow[i].algorithm, slow[i].settings, 1, false);
    bool warning = false;
    fit_or_fail(trainer, slow[i].data, NULL, NULL);
    assert_int_equal(trainer->steps.halvings, 0);
    assert_int_equal(furrow_trainer_epoch_count(trainer), 6);
    if (!has_note(trainer, "worse than a constant", &warning)) fail_msg("%s is not warned of", slow[i].algorithm);
    assert_true(warning);
    furrow_trainer_free(trainer);
  }
}

/* Many features of few rows: products of vectors leave every rate too high. The linear model is saved instead. */
static void wide_rows_fall_back(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "deepfm", "nfm"};
  enum { ROWS = 120, FEATURES = 1500 };
  FILE *file = begin_file("wide");
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (size_t i = 0; i < ROWS; i++) {
    double x[FEATURES];
    for (size_t k = 0; k < FEATURES; k++) x[k] = fw_rng_normal(&rng);
    fprintf(file, "%d", x[0] + x[1] + x[2] > 0);
    for (size_t k = 0; k < FEATURES; k++) fprintf(file, " %zu:%.3f", k + 1, x[k]);
    fprintf(file, "\n");
  }
  assert_int_equal(fclose(file), 0);
  for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
    furrow_trainer *trainer = own_trainer(nets[i], i == 0 ? "" : "fc=8", 2, NULL);
    fit_or_fail(trainer, "wide", NULL, NULL);
    assert_int_equal(trainer->steps.halvings, 3);
    assert_true(trainer->fell_back);
    assert_true(has_note(trainer, "each learning rate diverged; the model is the linear one", NULL));
    const furrow_epoch *last = furrow_trainer_get_epoch(trainer, furrow_trainer_epoch_count(trainer) - 1);
    assert_true(last->train->loss < 0.5 && isfinite(last->valid->loss));
    assert_true(fabs(last->valid->loss - trainer->seen.linear_loss) < 1e-4);
    furrow_trainer_free(trainer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_bad_model_without_a_word),
      cmocka_unit_test(halving_helps),
      cmocka_unit_test(breaks_do_not_matter),
      cmocka_unit_test(alpha_is_halved),
      cmocka_unit_test(no_way_back),
      cmocka_unit_test(slow_starts_do_not_diverge),
      cmocka_unit_test(wide_rows_fall_back),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
