/* tests/unit/learn/test_fit_factors.c: factorization machines by L-BFGS: ratings of users and items whose vectors are
 * known, strengths that the validation rows choose, what is left to the optimizers, and labels that are numbers. */
#include "support/own_data.h"

enum { USERS = 60, ITEMS = 90, FACTORS = 2 };

typedef struct world {
  double user[USERS][1 + FACTORS], item[ITEMS][1 + FACTORS];
} world;

static world make_world(double length) {
  world w;
  fw_rng rng;
  fw_rng_init(&rng, 77);
  for (size_t u = 0; u < USERS; u++)
    for (size_t k = 0; k <= FACTORS; k++) w.user[u][k] = (k ? length : 0.5) * fw_rng_normal(&rng);
  for (size_t i = 0; i < ITEMS; i++)
    for (size_t k = 0; k <= FACTORS; k++) w.item[i][k] = (k ? length : 0.5) * fw_rng_normal(&rng);
  return w;
}

/* Ratings with noise of deviation 0.5 around 3.5; `classes`: whether they are above that. */
static void write_ratings(const char *path, const world *w, size_t rows, bool classes, uint64_t seed) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const size_t user = (size_t)fw_rng_below(&rng, USERS), item = (size_t)fw_rng_below(&rng, ITEMS);
    double z = w->user[user][0] + w->item[item][0] + 0.5 * fw_rng_normal(&rng);
    for (size_t k = 1; k <= FACTORS; k++) z += w->user[user][k] * w->item[item][k];
    fprintf(file, "%.4g %zu:1 %zu:1\n", classes ? (double)(z > 0) : 3.5 + z, 1 + user, 1 + USERS + item);
  }
  assert_int_equal(fclose(file), 0);
}

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  const world pairs = make_world(0.7), plain = make_world(0);
  write_ratings("ratings", &pairs, 3000, false, 1);
  write_ratings("ratings.new", &pairs, 2000, false, 2);
  write_ratings("liked", &pairs, 3000, true, 1);
  write_ratings("liked.new", &pairs, 2000, true, 2);
  write_ratings("sums", &plain, 3000, false, 3);
  write_ratings("sums.new", &plain, 2000, false, 4);
  return 0;
}

static furrow_learn_metrics metrics_of(const furrow_trainer *trainer, const char *path) {
  furrow_trainer_save_params params;
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *scratch = NULL;
  furrow_evaluation *evaluation = NULL;
  furrow_learn_metrics metrics;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  if (furrow_trainer_save(trainer, "model", &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(furrow_scorer_load(&scorer, "model", NULL, &err), FURROW_OK);
  own_rows rows = read_rows(path);
  furrow_learn_metrics_init(&metrics);
  assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
  if (furrow_evaluation_add_block(evaluation, scratch, &rows.block, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_evaluation_get_metrics(evaluation, &metrics);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
  close_rows(&rows);
  return metrics;
}

static furrow_trainer *fitted(const char *algorithm, const char *settings, const char *train, const char *valid) {
  furrow_trainer *trainer = own_trainer(algorithm, settings, 2, NULL);
  fit_or_fail(trainer, train, valid, NULL);
  return trainer;
}

static double rmse_of(const char *algorithm, const char *settings, const char *train, const char *test) {
  furrow_trainer *trainer = fitted(algorithm, settings, train, NULL);
  const double rmse = metrics_of(trainer, test).rmse;
  furrow_trainer_free(trainer);
  return rmse;
}

/* ---- Quality ---- */

/* The noise alone has an RMSE of 0.5, vectors of 3000 rows for 300 numbers a little more. */
static void vectors_of_ratings_are_found(void **state) {
  (void)state;
  furrow_trainer *fm = fitted("fm", "loss=l2", "ratings", NULL);
  const double linear = rmse_of("linear", "", "ratings", "ratings.new"), found = metrics_of(fm, "ratings.new").rmse;
  assert_false(fm->fell_back);
  assert_true(has_note(fm, "the best of", NULL) && has_note(fm, "the model is of all rows", NULL));
  if (!(linear > 0.8) || !(found < 0.6)) fail_msg("RMSE %g, of linear %g", found, linear);
  furrow_trainer_free(fm);
  const double huber = rmse_of("fm", "loss=huber", "ratings", "ratings.new");
  if (!(huber < 0.62)) fail_msg("huber: RMSE %g", huber);
}

static void sums_fall_back(void **state) {
  (void)state;
  furrow_trainer *fm = fitted("fm", "loss=l2", "sums", NULL);
  const double linear = rmse_of("linear", "", "sums", "sums.new"), found = metrics_of(fm, "sums.new").rmse;
  assert_true(fm->fell_back && has_note(fm, "interactions did not help", NULL));
  assert_false(has_note(fm, "the best of", NULL));
  if (!(found < 1.01 * linear)) fail_msg("RMSE %g, of linear %g", found, linear);
  furrow_trainer_free(fm);
}

static void two_classes_are_solved_if_asked(void **state) {
  (void)state;
  furrow_trainer *steps = fitted("fm", "", "liked", NULL), *solved = fitted("fm", "solver=lbfgs", "liked", NULL);
  furrow_trainer *lr = fitted("lr", "", "liked", NULL);
  assert_false(steps->plan->train.lbfgs);
  assert_true(solved->plan->train.lbfgs_pairs && !solved->fell_back);
  const double auc = metrics_of(solved, "liked.new").auc, plain = metrics_of(lr, "liked.new").auc;
  if (!(auc > plain + 0.05)) fail_msg("AUC %g, of lr %g", auc, plain);
  furrow_trainer_free(lr);
  furrow_trainer_free(steps);
  furrow_trainer_free(solved);
}

/* ---- Strengths ---- */

static void the_best_strength_is_kept(void **state) {
  (void)state;
  furrow_trainer *fm = fitted("fm", "loss=l2", "ratings", "ratings.new");
  const uint32_t best = furrow_trainer_best_epoch(fm);
  assert_true(best > 1 && furrow_trainer_epoch_count(fm) == best + 2);
  assert_false(has_note(fm, "the model is of all rows", NULL)); /* no rows were held out */
  assert_true(fabs(metrics_of(fm, "ratings.new").rmse - epoch_at(fm, best - 1)->valid->rmse) < 1e-5);
  furrow_trainer_free(fm);
}

static void few_epochs_are_told(void **state) {
  (void)state;
  furrow_trainer *fm = fitted("fm", "loss=l2 epochs=2", "ratings", NULL);
  assert_int_equal(furrow_trainer_epoch_count(fm), 2);
  assert_true(has_note(fm, "the weakest L2 that was tried is the best", NULL));
  furrow_trainer_free(fm);
}

/* A strength that is set is the only one, for weights and vectors. */
static void a_strength_can_be_set(void **state) {
  (void)state;
  furrow_trainer *weak = fitted("fm", "loss=l2 solver=lbfgs l2=0.3 valid-ratio=0", "ratings", NULL);
  assert_true(weak->plan->train.lbfgs_pairs);
  assert_int_equal(furrow_trainer_epoch_count(weak), 1);
  furrow_trainer *strong = fitted("fm", "loss=l2 solver=lbfgs l2=1e6 valid-ratio=0", "ratings", NULL);
  const furrow_learn_metrics found = metrics_of(weak, "ratings.new"), flat = metrics_of(strong, "ratings.new");
  assert_true(found.rmse < 0.65);
  assert_true(flat.rmse > 0.99 * flat.constant_rmse);
  furrow_trainer_free(weak);
  furrow_trainer_free(strong);
}

/* ---- What the optimizers train ---- */

static void keys_of_steps_choose_them(void **state) {
  (void)state;
  static const char *const settings[] = {"loss=l2 lr=0.02 epochs=2", "loss=l2 batch=64 epochs=2",
                                         "loss=l2 solver=steps epochs=2", "loss=l2 l2=0.001 epochs=2",
                                         "loss=l2 valid-ratio=0 epochs=2"};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    furrow_trainer *fm = fitted("fm", settings[i], "ratings", NULL);
    if (fm->steps.count < 10 && epoch_at(fm, 0)->learning_rate == 1) fail_msg("%s: by L-BFGS", settings[i]);
    furrow_trainer_free(fm);
  }
  furrow_learn_conf *conf = NULL;
  furrow_trainer *fm = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", &err), FURROW_OK);
  conf_set_all(conf, "loss=l2 solver=lbfgs lr=0.1");
  assert_int_equal(furrow_trainer_create(&fm, conf, NULL, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "lr is for the solver steps"));
  furrow_learn_conf_free(conf);
}

static void too_many_features_are_left_to_steps(void **state) {
  (void)state;
  FILE *file = begin_file("far");
  for (int i = 0; i < 300; i++) fprintf(file, "%d.5 %d:1 %d:1\n", i % 7, 1 + i % 5, 90000000 + i % 3);
  assert_int_equal(fclose(file), 0);
  furrow_trainer *fm = fitted("fm", "loss=l2 epochs=2 model-type=T_FLOAT_SPARSE", "far", NULL);
  assert_true(has_note(fm, "too many for the solver lbfgs", NULL));
  furrow_trainer_free(fm);
}

/* ---- Labels ---- */

static void numbers_are_predicted_as_such(void **state) {
  (void)state;
  static const char *const nets[] = {"fm", "deepfm", "dnn"};
  for (size_t n = 0; n < 3; n++) {
    const char *quick = n == 0 ? "" : n == 1 ? "epochs=2 fc=8" : "epochs=2 fc=8 input-width=8";
    furrow_trainer *net = fitted(nets[n], quick, "ratings", NULL);
    assert_true(has_note(net, "the labels are numbers, not two classes", NULL));
    assert_int_equal(net->plan->graph.loss, FW_LOSS_L2);
    if (n == 0) assert_true(metrics_of(net, "ratings.new").rmse < 0.6);
    furrow_trainer_free(net);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_of_ratings_are_found),
      cmocka_unit_test(sums_fall_back),
      cmocka_unit_test(two_classes_are_solved_if_asked),
      cmocka_unit_test(the_best_strength_is_kept),
      cmocka_unit_test(few_epochs_are_told),
      cmocka_unit_test(a_strength_can_be_set),
      cmocka_unit_test(keys_of_steps_choose_them),
      cmocka_unit_test(too_many_features_are_left_to_steps),
      cmocka_unit_test(numbers_are_predicted_as_such),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
