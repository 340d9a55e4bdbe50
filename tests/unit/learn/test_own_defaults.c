/* tests/unit/learn/test_own_defaults.c: trainings with Furrow's own defaults on data in wild units: saved models score
 * as they did in training, threads and breaks do not matter, models are trained further, streams give the same
 * quality, and held-out rows choose the number of trees and the strength of linear models. */
#include <ftw.h>

#include "learn/train/fit.h"
#include "support/each_isa.h" /* SLOW */
#include "support/made_clicks.h"
#include "support/own_data.h"

enum { PLAIN, PRODUCT, QUANTITIES, CLASSES };

static const struct {
  const char *algorithm, *settings;
  int data;
} models[] = {
    {"lr", "", PLAIN},
    {"lr", "solver=steps epochs=20", PLAIN},
    {"svm", "epochs=20", PLAIN},
    {"linear", "", QUANTITIES},
    {"linear", "solver=steps epochs=20", QUANTITIES},
    {"robust", "", QUANTITIES},
    {"softmax", "", CLASSES},
    {"mlr", "epochs=20", PRODUCT},
    {"fm", "epochs=20", PRODUCT},
    {"fm", "epochs=20 loss=l2", QUANTITIES},
    {"fm", "epochs=6 model-type=T_DOUBLE_SPARSE", PRODUCT},
    {"dnn", "epochs=12 input-width=16 fc=16", PRODUCT},
    {"wide_and_deep", "epochs=12 fc=16", PRODUCT},
    {"deepfm", "epochs=12 fc=16", PRODUCT},
    {"deepfm", "epochs=6 fc=16 loss=huber", QUANTITIES},
    {"pnn", "epochs=12 fc=16", PRODUCT},
    {"nfm", "epochs=12 fc=16", PRODUCT},
    {"gbdt", "trees=20", PRODUCT},
    {"gbdt", "trees=20 objective=reg:squarederror", QUANTITIES},
    {"gbdt", "depth=3 objective=reg:squarederror", QUANTITIES},
    {"fm", "solver=steps epochs=20 loss=l2", QUANTITIES},
};
enum { MODELS = sizeof models / sizeof *models };

static const char *const train_files[] = {"plain", "product", "quantities", "classes"};
static const char *const valid_files[] = {"plain.valid", "product.valid", "quantities.valid", "classes.valid"};

static int write_data(void **state) {
  static const float labels[] = {1, 2, 3};
  if (enter_dir(state) != 0) return -1;
  write_chances("product", 600, 4, 1);
  write_chances("product.valid", 300, 4, 2);
  write_chances("plain", 1500, 0, 3);
  write_chances("plain.valid", 500, 0, 4);
  write_quantities("quantities", 500);
  write_quantities("quantities.valid", 300);
  write_blobs("classes", 500, 3, labels, 1);
  write_blobs("classes.valid", 300, 3, labels, 2);
  return 0;
}

static furrow_trainer *trainer_of(size_t model, unsigned threads) {
  return own_trainer(models[model].algorithm, models[model].settings, threads, NULL);
}

static void save_to(const furrow_trainer *trainer, const char *folder) {
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  if (furrow_trainer_save(trainer, folder, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
}

static furrow_scorer *load_from(const char *folder) {
  furrow_scorer *scorer = NULL;
  if (furrow_scorer_load(&scorer, folder, NULL, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  return scorer;
}

static furrow_learn_metrics evaluate(const furrow_scorer *scorer, const char *path) {
  furrow_scorer_scratch *scratch = NULL;
  furrow_evaluation *evaluation = NULL;
  furrow_learn_metrics metrics;
  own_rows rows = read_rows(path);
  furrow_learn_metrics_init(&metrics);
  assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
  if (furrow_evaluation_add_block(evaluation, scratch, &rows.block, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_evaluation_get_metrics(evaluation, &metrics);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(scratch);
  close_rows(&rows);
  return metrics;
}

static furrow_learn_metrics evaluate_saved(const furrow_trainer *trainer, const char *path) {
  save_to(trainer, "model");
  furrow_scorer *scorer = load_from("model");
  const furrow_learn_metrics metrics = evaluate(scorer, path);
  furrow_scorer_free(scorer);
  return metrics;
}

/* ---- Units ---- */

static const furrow_epoch *saved_epoch(const furrow_trainer *trainer) {
  const uint32_t best = trainer->plan->train.keep_best ? furrow_trainer_best_epoch(trainer) : 0;
  return epoch_at(trainer, best ? best - 1 : furrow_trainer_epoch_count(trainer) - 1);
}

static void assert_near(size_t model, const char *what, double found, double wanted) {
  if (!(fabs(found - wanted) <= 1e-4 * fabs(wanted) + 1e-6) && !(isnan(found) && isnan(wanted)))
    fail_msg("%s %s: %s is %.9g with the saved model, %.9g in training", models[model].algorithm,
             models[model].settings, what, found, wanted);
}

/* The saved model scores rows as they are as the trainer scored them in its units. */
static void saved_models_are_those_of_training(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    furrow_trainer *trainer = trainer_of(m, 1);
    const char *valid = valid_files[models[m].data];
    if (furrow_trainer_fit(trainer, train_files[models[m].data], valid, NULL, &err) != FURROW_OK)
      fail_msg("%s: %s", models[m].algorithm, err.message);
    const furrow_learn_metrics saved = evaluate_saved(trainer, valid);
    const furrow_learn_metrics *trained = saved_epoch(trainer)->valid;
    assert_int_equal(saved.rows, trained->rows);
    if (!trainer->fell_back) {
      assert_near(m, "the loss", saved.loss, trained->loss);
      assert_near(m, "AUC", saved.auc, trained->auc);
      assert_near(m, "RMSE", saved.rmse, trained->rmse);
      assert_near(m, "the mean prediction", saved.mean_prediction, trained->mean_prediction);
    }
    assert_near(m, "the mean label", saved.mean_label, trained->mean_label);
    bool warned = false;
    const bool bad = has_note(trainer, "worse than a constant", &warned);
    const bool hopeless = strcmp(models[m].algorithm, "nfm") == 0; /* which does not centre features */
    if (bad && !hopeless) fail_msg("%s %s is worse than a constant", models[m].algorithm, models[m].settings);
    furrow_trainer_free(trainer);
  }
}

/* Quality, roughly: a training that scales right cannot miss it. */
static void wild_units_do_not_matter(void **state) {
  (void)state;
  static const struct {
    const char *algorithm, *settings, *train;
    double r2, accuracy; /* at least */
  } expected[] = {
      {"linear", "", "quantities", 0.95, 0},
      {"linear", "solver=steps", "quantities", 0.95, 0},
      {"robust", "", "quantities", 0.95, 0},
      {"fm", "loss=l2", "quantities", 0.95, 0},
      {"gbdt", "objective=reg:squarederror", "quantities", 0.9, 0},
      {"softmax", "", "classes", 0, 0.95},
      {"softmax", "solver=steps", "classes", 0, 0.95},
      {"fm", "", "product", 0, 0.75},
      {"dnn", "input-width=32 fc=32", "product", 0, 0.75},
      {"deepfm", "", "product", 0, 0.75},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    furrow_trainer *trainer = own_trainer(expected[i].algorithm, expected[i].settings, 2, NULL);
    char valid[64];
    snprintf(valid, sizeof valid, "%s.valid", expected[i].train);
    fit_or_fail(trainer, expected[i].train, NULL, NULL);
    const furrow_learn_metrics found = evaluate_saved(trainer, valid);
    if (!(found.r2 >= expected[i].r2) && !(found.accuracy >= expected[i].accuracy && expected[i].accuracy > 0))
      fail_msg("%s %s: r2 %g, accuracy %g", expected[i].algorithm, expected[i].settings, found.r2, found.accuracy);
    furrow_trainer_free(trainer);
  }
}

/* ---- Means far from 0 ---- */

/* Two classes by the product of two features, all of them `mean` deviations from 0. */
static void write_far(const char *path, size_t rows, double mean, uint64_t seed) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    double z[3];
    for (size_t k = 0; k < 3; k++) z[k] = fw_rng_normal(&rng);
    fprintf(file, "%d 1:%.9g 2:%.9g 3:%.9g\n", z[0] * z[1] > 0, mean + z[0], mean + z[1], mean + z[2]);
  }
  assert_int_equal(fclose(file), 0);
}

/* Products of weights and of values that are far larger than their sum need more digits than floats have. */
static void means_far_from_0_do_not_matter(void **state) {
  (void)state;
  static const char *const algorithms[] = {"fm", "deepfm", "pnn"};
  write_far("far", 1000, 1e4, 1);
  write_far("far.valid", 500, 1e4, 2);
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    furrow_trainer *trainer = own_trainer(algorithms[i], "epochs=30", 1, NULL);
    bool warned = true;
    fit_or_fail(trainer, "far", "far.valid", NULL);
    assert_true(has_note(trainer, "the weights are doubles", &warned));
    assert_false(warned);
    const furrow_learn_metrics saved = evaluate_saved(trainer, "far.valid"), *trained = saved_epoch(trainer)->valid;
    if (!(fabs(saved.loss - trained->loss) < 1e-3) || !(saved.accuracy > 0.95))
      fail_msg("%s: loss %g, in training %g; accuracy %g", algorithms[i], saved.loss, trained->loss, saved.accuracy);
    furrow_trainer_free(trainer);
    trainer = own_trainer(algorithms[i], "epochs=1", 1, "model"); /* the type is that of the model */
    fit_or_fail(trainer, "far", NULL, NULL);
    const furrow_learn_metrics further = evaluate_saved(trainer, "far.valid");
    if (!(further.accuracy > 0.95)) fail_msg("%s, trained further: accuracy %g", algorithms[i], further.accuracy);
    furrow_trainer_free(trainer);
  }
}

/* A warning names the column where doubles cannot help. */
static void lost_precision_is_a_warning(void **state) {
  (void)state;
  bool warned = false;
  furrow_trainer *trainer = own_trainer("fm", "epochs=2 model-type=T_FLOAT_DENSE", 1, NULL);
  write_far("far", 1000, 1e4, 1);
  fit_or_fail(trainer, "far", NULL, NULL);
  assert_true(has_note(trainer, "weights that are floats lose what it says; subtract its mean", &warned));
  assert_true(warned);
  furrow_trainer_free(trainer);
  trainer = own_trainer("nfm", "epochs=2", 1, NULL); /* does not centre features */
  write_far("further", 1000, 1e6, 1);
  warned = false;
  fit_or_fail(trainer, "further", NULL, NULL);
  assert_true(has_note(trainer, "weights that are floats lose what it says; subtract its mean", &warned));
  assert_true(warned);
  furrow_trainer_free(trainer);
  trainer = own_trainer("lr", "", 1, NULL);
  warned = false;
  fit_or_fail(trainer, "further", NULL, NULL);
  assert_true(has_note(trainer, "its values are floats, too coarse", &warned));
  assert_true(warned);
  furrow_trainer_free(trainer);
  trainer = own_trainer("lr", "", 1, NULL);
  fit_or_fail(trainer, "far", NULL, NULL);
  assert_false(has_note(trainer, "deviation", NULL));
  furrow_trainer_free(trainer);
}

/* ---- Rates ---- */

static double loss_with(const char *algorithm, const char *settings, int data, double *rate) {
  furrow_trainer *trainer = own_trainer(algorithm, settings, 1, NULL);
  fit_or_fail(trainer, train_files[data], NULL, NULL);
  const furrow_epoch *last = epoch_at(trainer, furrow_trainer_epoch_count(trainer) - 1);
  const double loss = last->train->loss;
  *rate = last->learning_rate;
  furrow_trainer_free(trainer);
  return loss;
}

/* Models that FTRL trains have no rate but its alpha. */
static void rates_matter(void **state) {
  (void)state;
  static const struct {
    const char *algorithm;
    int data;
  } trained[] = {{"lr", PLAIN}, {"svm", PLAIN}, {"linear", QUANTITIES}, {"robust", QUANTITIES}, {"softmax", CLASSES}};
  for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
    double rate;
    const double low = loss_with(trained[i].algorithm, "epochs=5 lr=1e-6", trained[i].data, &rate);
    assert_true(rate == 1e-6);
    const double high = loss_with(trained[i].algorithm, "epochs=5 lr=0.1", trained[i].data, &rate);
    assert_true(rate == 0.1);
    const double same = loss_with(trained[i].algorithm, "epochs=5 solver=steps ftrl-alpha=0.1", trained[i].data, &rate);
    if (!(high < 0.9 * low)) fail_msg("%s: loss %g and %g", trained[i].algorithm, low, high);
    assert_true(high == same);
  }
}

static void rates_without_effect_warn(void **state) {
  (void)state;
  static const char *const settings[][2] = {{"epochs=1 lr=0.1 ftrl-alpha=0.2", "the key `lr` has no effect: the rate"},
                                            {"epochs=1 lr=0.1 optimizer=adadelta", "the key `lr` has no effect: AdaD"},
                                            {"epochs=1 decay=WarmRestarts", "the key `decay` has no effect"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    bool warned = false;
    furrow_trainer *trainer = own_trainer("lr", settings[i][0], 1, NULL);
    fit_or_fail(trainer, "plain", NULL, NULL);
    assert_true(has_note(trainer, settings[i][1], &warned));
    assert_true(warned);
    furrow_trainer_free(trainer);
  }
  furrow_trainer *trainer = own_trainer("lr", "epochs=1 lr=0.1 optimizer=sgd decay=WarmRestarts", 1, NULL);
  fit_or_fail(trainer, "plain", NULL, NULL);
  assert_false(has_note(trainer, "no effect", NULL));
  furrow_trainer_free(trainer);
}

/* ---- Bytes of models ---- */

static fw_buffer *gathered;

static int gather_file(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)place;
  static char bytes[1 << 20];
  if (kind != FTW_F) return 0;
  FILE *file = fopen(path, "rb");
  if (!file) return -1;
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  fw_buffer_text(gathered, strchr(path, '/')); /* without the model's own name */
  fw_buffer_append(gathered, bytes, size);
  return size < sizeof bytes ? 0 : -1;
}

/* Names and bytes of all files, whose order is that of the folder's. */
static fw_buffer files_of(const furrow_trainer *trainer) {
  fw_buffer all = {0};
  test_remove_dir("bytes");
  save_to(trainer, "bytes");
  gathered = &all;
  assert_int_equal(nftw("bytes", gather_file, 8, FTW_PHYS), 0);
  assert_true(all.size > 500);
  return all;
}

static void threads_do_not_matter(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    fw_buffer first = {0};
    for (unsigned threads = 1; threads <= 4; threads *= 2) {
      furrow_trainer *trainer = trainer_of(m, threads);
      fit_or_fail(trainer, train_files[models[m].data], NULL, NULL);
      fw_buffer files = files_of(trainer);
      if (threads > 1 && (files.size != first.size || memcmp(files.bytes, first.bytes, files.size) != 0))
        fail_msg("%s %s: other bytes with %u threads", models[m].algorithm, models[m].settings, threads);
      if (threads == 1)
        first = files;
      else
        fw_buffer_clear(&files);
      furrow_trainer_free(trainer);
    }
    fw_buffer_clear(&first);
  }
}

static furrow_status stop_after_three(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)e;
  return epoch->epoch == 3 ? FURROW_END : FURROW_OK;
}

static void assert_same_after_break(const char *name, furrow_trainer *(*make)(size_t), size_t which, const char *data) {
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  test_remove_dir("kept");
  params.checkpoint = "kept";
  furrow_trainer *whole = make(which), *broken = make(which), *resumed = make(which);
  fit_or_fail(whole, data, NULL, &params);
  fw_buffer wanted = files_of(whole);
  test_remove_dir("kept");
  params.epoch = stop_after_three;
  fit_or_fail(broken, data, NULL, &params);
  params.epoch = NULL;
  params.resume = true;
  fit_or_fail(resumed, data, NULL, &params);
  fw_buffer found = files_of(resumed);
  if (found.size != wanted.size || memcmp(found.bytes, wanted.bytes, found.size) != 0)
    fail_msg("%s: other bytes after a break", name);
  assert_int_equal(furrow_trainer_epoch_count(whole), furrow_trainer_epoch_count(resumed));
  assert_true(furrow_trainer_epoch_count(whole) > 3 || whole->plan->train.lbfgs);
  fw_buffer_clear(&wanted);
  fw_buffer_clear(&found);
  furrow_trainer_free(whole);
  furrow_trainer_free(broken);
  furrow_trainer_free(resumed);
}

static furrow_trainer *make_model(size_t which) {
  return trainer_of(which, 2);
}

static void breaks_do_not_matter(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m += 1 + SLOW / 4)
    assert_same_after_break(models[m].algorithm, make_model, m, train_files[models[m].data]);
  static const size_t nets[] = {8, 11, 13}; /* that fall back to the linear model */
  for (size_t i = 0; i < 3; i++) assert_same_after_break("a linear net", make_model, nets[i], "plain");
}

/* ---- Training further ---- */

/* Not further from the loss that there was than a twentieth of the way to that of a constant. */
static void assert_loss_stays(size_t model, const char *when, const furrow_learn_metrics *before, double loss) {
  const double regression = 0.5 * before->constant_rmse * before->constant_rmse;
  const bool hinge = strcmp(models[model].algorithm, "svm") == 0;
  const double margins = 2 * fmin(before->mean_label, 1 - before->mean_label);
  const double constant = models[model].data == QUANTITIES ? regression : hinge ? margins : before->constant_logloss;
  if (!(loss < before->loss + 0.05 * fmax(constant - before->loss, 0.1 * constant)))
    fail_msg("%s %s: the loss is %g, and %g %s; a constant's is %g", models[model].algorithm, models[model].settings,
             before->loss, loss, when, constant);
}

static void models_are_trained_further(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    const char *train = train_files[models[m].data];
    if (strcmp(models[m].algorithm, "gbdt") == 0) continue;
    furrow_trainer *trainer = trainer_of(m, 1);
    fit_or_fail(trainer, train, NULL, NULL);
    const furrow_learn_metrics before = evaluate_saved(trainer, train);
    furrow_trainer_free(trainer);
    trainer = own_trainer(models[m].algorithm, models[m].settings, 1, "model");
    fit_or_fail(trainer, train, NULL, NULL);
    assert_loss_stays(m, "in the first epoch", &before, epoch_at(trainer, 0)->train->loss);
    assert_true(trainer->seen.scaled > 0);
    const furrow_learn_metrics after = evaluate_saved(trainer, train);
    assert_loss_stays(m, "in the end", &before, after.loss);
    furrow_trainer_free(trainer);
  }
}

static void a_second_fit_goes_on(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    const char *train = train_files[models[m].data];
    furrow_trainer *trainer = trainer_of(m, 1);
    fit_or_fail(trainer, train, NULL, NULL);
    const furrow_learn_metrics before = evaluate_saved(trainer, train);
    fit_or_fail(trainer, train, NULL, NULL);
    const double first = epoch_at(trainer, 0)->train->loss;
    const furrow_learn_metrics after = evaluate_saved(trainer, train);
    if (!trainer->seen.exact) assert_loss_stays(m, "in the first epoch", &before, first);
    assert_loss_stays(m, "in the end", &before, after.loss);
    furrow_trainer_free(trainer);
  }
}

/* ---- Streams ---- */

static void streams_give_the_same_quality(void **state) {
  (void)state;
  static const struct {
    const char *algorithm, *settings;
    int data;
  } streamed[] = {{"lr", "", PLAIN},        {"linear", "", QUANTITIES}, {"robust", "", QUANTITIES},
                  {"softmax", "", CLASSES}, {"svm", "", PLAIN},         {"mlr", "batch=32", PRODUCT},
                  {"fm", "", PRODUCT},      {"dnn", "", PRODUCT},       {"wide_and_deep", "", PRODUCT},
                  {"deepfm", "", PRODUCT},  {"pnn", "", PRODUCT},       {"deepfm", "loss=l2", QUANTITIES},
                  {"gbdt", "", PRODUCT}};
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  for (size_t i = 0; i < sizeof streamed / sizeof *streamed; i++) {
    furrow_learn_metrics found[2];
    for (int stream = 0; stream < 2; stream++) {
      furrow_trainer *trainer = own_trainer(streamed[i].algorithm, streamed[i].settings, 2, NULL);
      params.stream = stream;
      fit_or_fail(trainer, train_files[streamed[i].data], NULL, &params);
      found[stream] = evaluate_saved(trainer, valid_files[streamed[i].data]);
      furrow_trainer_free(trainer);
    }
    if (!(found[1].loss < 1.15 * found[0].loss))
      fail_msg("%s %s: the loss is %g, streamed %g", streamed[i].algorithm, streamed[i].settings, found[0].loss,
               found[1].loss);
  }
}

/* ---- The number of trees ---- */

static const char numbers[] = "objective=reg:squarederror min-rows=20 leaves=4";

/* The forest has as many trees as the held-out rows chose, and they are the trees of a training with that number. */
static void held_out_rows_choose_the_number_of_trees(void **state) {
  (void)state;
  static const struct {
    const char *settings, *data;
  } trained[] = {{numbers, "quantities"}, {"", "product"}, {"objective=multi:softmax", "classes"}};
  for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
    char settings[128];
    furrow_trainer *chosen = own_trainer("gbdt", trained[i].settings, 2, NULL);
    fit_or_fail(chosen, trained[i].data, NULL, NULL);
    const uint32_t best = furrow_trainer_best_epoch(chosen);
    const furrow_epoch *last = furrow_trainer_get_epoch(chosen, furrow_trainer_epoch_count(chosen) - 1);
    assert_true(best > 1 && last->valid->rows > 0 && last->train->rows > 5 * last->valid->rows);
    assert_int_equal(chosen->forest->trees, best * chosen->forest->classes);
    assert_true(has_note(chosen, "which were then grown from all", NULL));
    snprintf(settings, sizeof settings, "%s trees=%u", trained[i].settings, best);
    furrow_trainer *set = own_trainer("gbdt", settings, 1, NULL);
    fit_or_fail(set, trained[i].data, NULL, NULL);
    const furrow_epoch *of_all = furrow_trainer_get_epoch(set, best - 1);
    assert_int_equal(of_all->train->rows, last->train->rows + last->valid->rows);
    assert_int_equal(furrow_trainer_epoch_count(set), best); /* no row is held out, no tree is left out */
    fw_buffer a = snapshot_of(chosen), b = snapshot_of(set);
    assert_same_snapshot(&a, &b);
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    furrow_trainer_free(chosen);
    furrow_trainer_free(set);
  }
}

/* Rows of their own choose as well, but are not trained with. */
static void validation_rows_choose_the_number_of_trees(void **state) {
  (void)state;
  static const char *const settings[] = {"", "trees=150"};
  for (size_t i = 0; i < 2; i++) {
    furrow_trainer *trainer = own_trainer("gbdt", settings[i], 2, NULL);
    fit_or_fail(trainer, "product", "product.valid", NULL);
    const size_t best = furrow_trainer_best_epoch(trainer), count = furrow_trainer_epoch_count(trainer);
    assert_int_equal(trainer->forest->trees, best);
    assert_int_equal(count, i == 0 ? best + 20 : 150);
    assert_true(best < count && !has_note(trainer, "grown from all", NULL));
    furrow_trainer_free(trainer);
  }
}

/* Held-out rows also choose how many trees a forest gets that is trained further: here all that help are there. */
static void held_out_rows_choose_added_trees(void **state) {
  (void)state;
  furrow_trainer *first = own_trainer("gbdt", numbers, 2, NULL);
  fit_or_fail(first, "quantities", NULL, NULL);
  const size_t trees = first->forest->trees;
  fit_or_fail(first, "quantities", NULL, NULL);
  assert_true(furrow_trainer_get_epoch(first, 0)->valid->rows > 0);
  assert_int_equal(first->forest->trees, trees + furrow_trainer_best_epoch(first));
  assert_true(first->forest->trees < 2 * trees);
  furrow_trainer_free(first);
}

static void few_rows_are_not_held_out(void **state) {
  (void)state;
  write_quantities("few", 99);
  furrow_trainer *few = own_trainer("gbdt", numbers, 2, NULL);
  fit_or_fail(few, "few", NULL, NULL);
  assert_int_equal(few->forest->trees, 500);
  furrow_trainer_free(few);
}

static furrow_status end_at_six(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)e;
  return epoch->epoch == 6 ? FURROW_END : FURROW_OK;
}

/* Who ends the training does not wait for another one with all rows. */
static void a_training_that_is_ended_has_the_best_trees_so_far(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.epoch = end_at_six;
  furrow_trainer *trainer = own_trainer("gbdt", numbers, 2, NULL);
  fit_or_fail(trainer, "quantities", NULL, &params);
  assert_int_equal(trainer->forest->trees, 6);
  assert_false(has_note(trainer, "grown from all", NULL));
  furrow_trainer_free(trainer);
}

/* ---- Worse than a constant ---- */

/* Also by rows that were held out by default. */
static void models_that_are_worse_than_a_constant_say_so(void **state) {
  (void)state;
  static const char *const noisy[][2] = {{"gbdt", "objective=binary:logistic"},
                                         {"gbdt", "objective=reg:squarederror"},
                                         {"lr", ""},
                                         {"linear", ""},
                                         {"robust", ""},
                                         {"softmax", ""},
                                         {"svm", ""}};
  write_noise("noise", 400);
  for (size_t i = 0; i < sizeof noisy / sizeof *noisy; i++) {
    bool warning = false;
    furrow_trainer *trainer = own_trainer(noisy[i][0], noisy[i][1], 2, NULL);
    fit_or_fail(trainer, "noise", NULL, NULL);
    if (!has_note(trainer, "than a constant", &warning)) fail_msg("%s %s says nothing", noisy[i][0], noisy[i][1]);
    assert_true(warning);
    furrow_trainer_free(trainer);
  }
}

/* ---- The strength of linear models ---- */

static double loss_of_lr(const char *settings, const char *note) {
  furrow_trainer *trainer = own_trainer("lr", settings, 2, NULL);
  fit_or_fail(trainer, "rare", NULL, NULL);
  if (note && !has_note(trainer, note, NULL))
    fail_msg("lr %s does not say: %s, but: %s", settings, note, trainer->notes[trainer->note_count - 1].text);
  if (!note && has_note(trainer, "L2 is", NULL)) fail_msg("lr %s chose a strength", settings);
  const double loss = evaluate_saved(trainer, "rare.valid").loss;
  furrow_trainer_free(trainer);
  return loss;
}

static void held_out_rows_choose_the_strength(void **state) {
  (void)state;
  write_rare_ids("rare", 3000, 1);
  write_rare_ids("rare.valid", 2000, 2);
  const double chosen = loss_of_lr("", "L2 is 10, which is better than 1 for rows that were held out");
  assert_true(fabs(chosen - loss_of_lr("l2=10", NULL)) < 1e-5);
  assert_true(chosen + 0.02 < loss_of_lr("l2=1", NULL));
  /* nets begin with that model, and fall back to it */
  furrow_trainer *net = own_trainer("fm", "", 2, NULL);
  fit_or_fail(net, "rare", NULL, NULL);
  assert_true(net->fell_back);
  assert_true(fabs(evaluate_saved(net, "rare.valid").loss - chosen) < 1e-5);
  furrow_trainer_free(net);
}

static void validation_rows_choose_the_strength(void **state) {
  (void)state;
  furrow_trainer *trainer = own_trainer("lr", "", 2, NULL);
  fit_or_fail(trainer, "rare", "rare.valid", NULL);
  assert_true(has_note(trainer, "L2 is", NULL));
  furrow_trainer_free(trainer);
}

/* The usual strength stays where another is not clearly better, and gives the same weights as a configured 1. */
static void the_usual_strength_stays(void **state) {
  (void)state;
  furrow_trainer *usual = own_trainer("lr", "", 2, NULL), *set = own_trainer("lr", "l2=1", 1, NULL);
  fit_or_fail(usual, "plain", NULL, NULL);
  fit_or_fail(set, "plain", NULL, NULL);
  assert_false(has_note(usual, "L2 is", NULL));
  fw_buffer a = snapshot_of(usual), b = snapshot_of(set);
  assert_same_snapshot(&a, &b);
  fw_buffer_clear(&a);
  fw_buffer_clear(&b);
  furrow_trainer_free(usual);
  furrow_trainer_free(set);
}

/* ---- Falling back ---- */

static void nets_fall_back(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "nfm", "dnn", "mlr", "wide_and_deep", "deepfm", "pnn"};
  own_rows rows = read_rows("plain");
  furrow_score *scores[2];
  for (int i = 0; i < 2; i++) scores[i] = malloc(rows.block.size * sizeof(furrow_score));
  furrow_trainer *lr = own_trainer("lr", "", 2, NULL);
  fit_or_fail(lr, "plain", NULL, NULL);
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
    furrow_trainer *net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "plain", NULL, NULL);
    if (!net->fell_back || !has_note(net, "interactions did not help", NULL))
      fail_msg("%s did not fall back: %s", nets[n], net->notes[net->note_count - 1].text);
    fw_buffer about = {0};
    assert_int_equal(fw_model_json_write(net, NULL, 0, &about, &err), FURROW_OK);
    fw_buffer_byte(&about, 0);
    assert_non_null(strstr(about.bytes, "\"linear_model_kept\" : true"));
    const char *figures = strstr(about.bytes, "\"figures\"");
    assert_null(strstr(figures, "\"train\"")); /* none of the net that was left */
    assert_null(strstr(figures, "\"auc\""));
    const double loss = strtod(strstr(figures, "\"loss\"") + strlen("\"loss\" : "), NULL);
    assert_true(loss == net->seen.linear_loss && loss > 0.4 && loss < 0.7);
    fw_buffer_clear(&about);
    for (int i = 0; i < 2; i++) {
      save_to(i ? net : lr, "model");
      furrow_scorer *scorer = load_from("model");
      furrow_scorer_scratch *scratch = NULL;
      assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
      assert_int_equal(furrow_scorer_score_block(scorer, scratch, &rows.block, scores[i], &err), FURROW_OK);
      furrow_scorer_scratch_free(scratch);
      furrow_scorer_free(scorer);
    }
    for (size_t i = 0; i < rows.block.size; i++)
      if (!(fabs(scores[0][i].proba - scores[1][i].proba) < 1e-3) || scores[0][i].label != scores[1][i].label)
        fail_msg("%s: row %zu has %g, and %g with lr", nets[n], i, scores[1][i].proba, scores[0][i].proba);
    furrow_trainer_free(net);
  }
  furrow_trainer_free(lr);
  for (int i = 0; i < 2; i++) free(scores[i]);
  close_rows(&rows);
}

/* A net of streamed rows begins as the linear model of those that are in memory, and falls back to it. All rows are
 * here, so that it is the same model as that of rows in memory; held-out rows differ, and with them L2. */
static void streamed_nets_fall_back(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "dnn", "deepfm"};
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.stream = true;
  furrow_trainer *lr = own_trainer("lr", "", 2, NULL);
  fit_or_fail(lr, "plain", NULL, NULL);
  const double wanted = evaluate_saved(lr, "plain").loss;
  furrow_trainer_free(lr);
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
    furrow_trainer *net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "plain", NULL, &params);
    if (!net->fell_back || !has_note(net, "interactions did not help", NULL)) fail_msg("%s did not fall back", nets[n]);
    assert_true(fabs(evaluate_saved(net, "plain").loss - wanted) < 0.01);
    furrow_trainer_free(net);
    net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "product", NULL, &params);
    if (net->fell_back) fail_msg("%s fell back", nets[n]);
    furrow_trainer_free(net);
  }
}

/* A feature has no partner for products. Its slot has an empty one next to it. */
static void nets_take_rows_of_one_feature(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "nfm", "dnn", "wide_and_deep", "deepfm", "pnn"};
  FILE *file = begin_file("single");
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t i = 0; i < 500; i++) {
    const double x = fw_rng_normal(&rng);
    fprintf(file, "%d 1:%.4f\n", fabs(x) + 0.3 * fw_rng_normal(&rng) > 0.7, x);
  }
  assert_int_equal(fclose(file), 0);
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
    furrow_trainer *net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "single", NULL, NULL);
    const bool curved = n >= 2; /* a sum of products of pairs is a line here */
    const double auc = evaluate_saved(net, "single").auc;
    if (curved && !(auc > 0.9)) fail_msg("%s: AUC %g", nets[n], auc);
    furrow_trainer_free(net);
  }
}

static void nets_that_help_are_kept(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "dnn", "mlr", "wide_and_deep", "deepfm", "pnn"};
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
    furrow_trainer *net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "product", NULL, NULL);
    const double accuracy = evaluate_saved(net, "product.valid").accuracy;
    if (net->fell_back || has_note(net, "interactions did not help", NULL)) fail_msg("%s fell back", nets[n]);
    if (!(accuracy > 0.7)) fail_msg("%s: accuracy %g", nets[n], accuracy);
    furrow_trainer_free(net);
  }
}

/* Users like items of their kind, in nine of ten cases. */
static void write_tastes(const char *path, size_t rows, uint64_t seed) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const uint64_t user = fw_rng_below(&rng, 30), item = fw_rng_below(&rng, 20);
    const bool likes = (user % 3 == item % 3) != (fw_rng_below(&rng, 10) == 0);
    fprintf(file, "%d %d:1 %d:1\n", likes, 1 + (int)user, 31 + (int)item);
  }
  assert_int_equal(fclose(file), 0);
}

typedef struct seen_phases {
  bool choosing, comparing, with_all;
  bool ends_first; /* ends the training after its first epoch */
} seen_phases;

static bool note_phase(void *user, const char *phase, uint64_t done, uint64_t total) {
  seen_phases *seen = user;
  seen->choosing |= strcmp(phase, "choosing rate and l2") == 0;
  seen->comparing |= strcmp(phase, "comparing with a linear model") == 0;
  seen->with_all |= strcmp(phase, "training with all rows") == 0;
  return total == 0 || done <= total;
}

static furrow_status end_first(void *user, const furrow_epoch *epoch, furrow_error *error) {
  (void)epoch, (void)error;
  return ((const seen_phases *)user)->ends_first ? FURROW_END : FURROW_OK;
}

/* A fifth of these rows does not show that a net helps, and a net needs many epochs. */
static void few_rows_show_interactions(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "wide_and_deep", "deepfm", "pnn"};
  write_tastes("tastes", 900, 2);
  write_tastes("tastes.test", 900, 3);
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
    seen_phases seen = {0};
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.progress = note_phase;
    params.progress_user = params.epoch_user = &seen;
    params.epoch = end_first;
    furrow_trainer *net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "tastes", NULL, &params);
    if (!has_note(net, "the model was trained with all 900 rows", NULL) || net->fell_back || !seen.with_all)
      fail_msg("%s: %s", nets[n], net->note_count ? net->notes[net->note_count - 1].text : "no note");
    const double accuracy = evaluate_saved(net, "tastes.test").accuracy;
    if (!(accuracy > 0.8)) fail_msg("%s: accuracy %g", nets[n], accuracy);
    furrow_trainer_free(net);
    seen = (seen_phases){.ends_first = true};
    net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "tastes", NULL, &params);
    assert_int_equal(furrow_trainer_epoch_count(net), 1);
    assert_false(seen.comparing || seen.with_all);
    furrow_trainer_free(net);
  }
}

/* The other folds are asked where the first one is not clear. */
static void other_folds_are_asked(void **state) {
  (void)state;
  seen_phases seen = {0};
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.progress = note_phase;
  params.progress_user = &seen;
  furrow_trainer *net = own_trainer("nfm", "", 2, NULL);
  fit_or_fail(net, "plain", NULL, &params);
  assert_true(seen.comparing && net->fell_back && !seen.with_all);
  furrow_trainer_free(net);
}

/* Held-out rows choose rate and L2 of a net. With these settings given, the model is the same, and nothing is chosen.
 */
static void held_out_rows_choose_the_steps(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "wide_and_deep"};
  write_tastes("tastes", 900, 2);
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
    char settings[128], chosen[3][32];
    static const char *const keys[] = {"lr", "l2", "fc-l2"};
    seen_phases seen = {0};
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.progress = note_phase;
    params.progress_user = &seen;
    furrow_trainer *net = own_trainer(nets[n], "", 2, NULL);
    fit_or_fail(net, "tastes", NULL, &params);
    assert_true(seen.choosing);
    for (size_t k = 0; k < 3; k++)
      snprintf(chosen[k], sizeof chosen[k], "%s", furrow_learn_conf_get(net->conf, keys[k]));
    const double rate = strtod(chosen[0], NULL), l2 = strtod(chosen[1], NULL);
    const double first = rate > 0.005 ? 0.01 : rate > 0.002 ? 0.01 / 3 : 0.01 / 9;
    assert_true(fabs(rate - first) < 1e-9);
    assert_true(fabs(l2 - 1e-4) < 1e-9 || fabs(l2 - 6e-4) < 1e-9);
    assert_true(n == 0 || fabs(strtod(chosen[2], NULL) - l2 / 10) < 1e-9);
    seen.choosing = false;
    snprintf(settings, sizeof settings, "lr=%s l2=%s%s%s", chosen[0], chosen[1], n ? " fc-l2=" : "",
             n ? chosen[2] : "");
    furrow_trainer *same = own_trainer(nets[n], settings, 2, NULL);
    fit_or_fail(same, "tastes", NULL, &params);
    assert_false(seen.choosing);
    fw_buffer a = snapshot_of(net), b = snapshot_of(same);
    assert_same_snapshot(&a, &b);
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    furrow_trainer_free(net);
    furrow_trainer_free(same);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(saved_models_are_those_of_training),
      cmocka_unit_test(wild_units_do_not_matter),
      cmocka_unit_test(means_far_from_0_do_not_matter),
      cmocka_unit_test(lost_precision_is_a_warning),
      cmocka_unit_test(rates_matter),
      cmocka_unit_test(rates_without_effect_warn),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(breaks_do_not_matter),
      cmocka_unit_test(models_are_trained_further),
      cmocka_unit_test(a_second_fit_goes_on),
      cmocka_unit_test(streams_give_the_same_quality),
      cmocka_unit_test(held_out_rows_choose_the_number_of_trees),
      cmocka_unit_test(validation_rows_choose_the_number_of_trees),
      cmocka_unit_test(held_out_rows_choose_added_trees),
      cmocka_unit_test(few_rows_are_not_held_out),
      cmocka_unit_test(a_training_that_is_ended_has_the_best_trees_so_far),
      cmocka_unit_test(models_that_are_worse_than_a_constant_say_so),
      cmocka_unit_test(held_out_rows_choose_the_strength),
      cmocka_unit_test(validation_rows_choose_the_strength),
      cmocka_unit_test(the_usual_strength_stays),
      cmocka_unit_test(nets_fall_back),
      cmocka_unit_test(streamed_nets_fall_back),
      cmocka_unit_test(nets_that_help_are_kept),
      cmocka_unit_test(few_rows_show_interactions),
      cmocka_unit_test(other_folds_are_asked),
      cmocka_unit_test(held_out_rows_choose_the_steps),
      cmocka_unit_test(nets_take_rows_of_one_feature),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
