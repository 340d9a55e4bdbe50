/* tests/unit/recommend/test_train_once.c: a model trained and saved in one call is that of the single calls; a call
 * that fails leaves nothing. */
#include <sys/stat.h>

#include "furrow/init.h"
#include "support/failing_alloc.h"
#include "support/made_clicks.h"

static const char *const settings[] = {"lr=0.05", "rank=4", "epochs=2", "optimizer=adam", "batch=128", NULL};

static int write_data(void **state) {
  return enter_dir(state) == 0 && write_clicks("clicks", 400, 1, 1) && write_clicks("test", 100, 2, 1) ? 0 : -1;
}

static bool is_there(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

static furrow_learn_conf *made_conf(void) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", &err), FURROW_OK);
  for (size_t i = 0; settings[i]; i++) conf_set_all(conf, settings[i]);
  return conf;
}

/* The score of one row by a model that was saved. */
static double score_by(const char *folder) {
  const uint32_t features[2] = {3, 25};
  const furrow_row row = {.length = 2, .index = {features}};
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *scratch = NULL;
  furrow_score score;
  assert_int_equal(furrow_scorer_load(&scorer, folder, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_score_row(scorer, scratch, &row, &score, &err), FURROW_OK);
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
  return score.pred;
}

/* ---- What is trained ------------------------------------------------------------------------------------ */

static void one_call_is_the_single_calls(void **state) {
  (void)state;
  furrow_learn_conf *conf = made_conf();
  furrow_trainer *single = NULL, *once = NULL, *by_conf = NULL;
  assert_int_equal(furrow_trainer_create(&single, conf, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_trainer_fit(single, "clicks", "test", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_trainer_save(single, "single", NULL, &err), FURROW_OK);
  const furrow_train_params params = FURROW_INIT(furrow_train_params, .settings = settings, .valid = "test");
  assert_int_equal(furrow_train(&once, "fm", "clicks", "once", &params, &err), FURROW_OK);
  const furrow_train_params configured = FURROW_INIT(furrow_train_params, .conf = conf, .valid = "test");
  assert_int_equal(furrow_train(&by_conf, NULL, "clicks", "by_conf", &configured, &err), FURROW_OK);

  fw_buffer wanted = snapshot_of(single), found = snapshot_of(once), third = snapshot_of(by_conf);
  assert_same_snapshot(&wanted, &found);
  assert_same_snapshot(&wanted, &third);
  assert_true(score_by("single") == score_by("once"));
  assert_true(score_by("single") == score_by("by_conf"));
  assert_int_equal(furrow_trainer_epoch_count(once), 2);
  assert_int_equal(furrow_trainer_get_epoch(once, 1)->valid->rows, 100);
  assert_int_equal(furrow_trainer_note_count(once), furrow_trainer_note_count(single));
  assert_int_equal(furrow_trainer_best_epoch(once), furrow_trainer_best_epoch(single));

  fw_buffer_clear(&wanted);
  fw_buffer_clear(&found);
  fw_buffer_clear(&third);
  furrow_trainer_free(single);
  furrow_trainer_free(once);
  furrow_trainer_free(by_conf);
  furrow_learn_conf_free(conf);
}

static void the_trainer_may_be_left_out(void **state) {
  (void)state;
  assert_int_equal(furrow_train(NULL, "lr", "clicks", "left_out", NULL, &err), FURROW_OK);
  assert_true(isfinite(score_by("left_out")));
  assert_int_equal(furrow_train(NULL, "lr", "clicks", "without_error", NULL, NULL), FURROW_OK);
}

static void the_folder_may_be_left_out(void **state) {
  (void)state;
  const int before = test_entries(".");
  furrow_trainer *trainer = NULL;
  assert_int_equal(furrow_train(&trainer, "lr", "clicks", NULL, NULL, &err), FURROW_OK);
  assert_true(furrow_trainer_epoch_count(trainer) > 0);
  assert_int_equal(test_entries("."), before);
  furrow_trainer_free(trainer);
}

static furrow_status end_at_once(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)epoch, (void)e;
  ++*(int *)user;
  return FURROW_END;
}

/* The parameters of all three steps count; a file of the configuration says what is trained. */
static void parameters_count(void **state) {
  (void)state;
  int epochs = 0;
  furrow_trainer *trainer = NULL;
  assert_true(test_write_text("lr.json", "{\"furrow\": {\"algorithm\": \"lr\", \"epochs\": \"5\"}}"));
  const furrow_train_params params =
      FURROW_INIT(furrow_train_params, .settings = (const char *const[]){"angel.ml.conf=lr.json", NULL},
                  .trainer = &FURROW_INIT(furrow_trainer_params, .threads = 1),
                  .fit = &FURROW_INIT(furrow_trainer_fit_params, .epoch = end_at_once, .epoch_user = &epochs),
                  .save = &FURROW_INIT(furrow_trainer_save_params, .overwrite = true));
  for (int again = 1; again <= 2; again++) {
    assert_int_equal(furrow_train(&trainer, NULL, "clicks", "replaced", &params, &err), FURROW_OK);
    assert_int_equal(epochs, again);
    assert_int_equal(furrow_trainer_epoch_count(trainer), 1);
    furrow_trainer_free(trainer);
  }
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

static char kept;

static void expect_refused(const char *algorithm, const char *data, const furrow_train_params *params,
                           furrow_status wanted, const char *message) {
  furrow_trainer *trainer = (void *)&kept;
  const furrow_status status = furrow_train(&trainer, algorithm, data, "refused", params, &err);
  if (status != wanted) fail_msg("%s: %s", furrow_status_name(status), err.message);
  assert_int_equal(err.status, wanted);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  assert_ptr_equal(trainer, &kept);
  assert_false(is_there("refused"));
  assert_int_equal(furrow_train(NULL, algorithm, data, "refused", params, NULL), wanted);
}

static void what_is_wrong_is_refused(void **state) {
  (void)state;
  static const char *const unknown[] = {"epochs=2", "epoks=2", NULL}, *const no_value[] = {"epochs", NULL},
                           *const no_number[] = {"epochs=many", NULL};
  furrow_learn_conf *conf = made_conf();
  expect_refused("fn", "clicks", NULL, FURROW_E_ARGUMENT, "fm");
  expect_refused(NULL, "clicks", NULL, FURROW_E_ARGUMENT, "");
  expect_refused("fm", "clicks", &FURROW_INIT(furrow_train_params, .settings = unknown), FURROW_E_ARGUMENT,
                 "no such key");
  expect_refused("fm", "clicks", &FURROW_INIT(furrow_train_params, .settings = no_value), FURROW_E_ARGUMENT,
                 "key=value");
  assert_int_equal(
      furrow_train(NULL, "fm", "clicks", "refused", &FURROW_INIT(furrow_train_params, .settings = no_value), &err),
      FURROW_E_ARGUMENT);
  assert_string_equal(err.token, "epochs");
  expect_refused("fm", "clicks", &FURROW_INIT(furrow_train_params, .settings = no_number), FURROW_E_ARGUMENT, "");
  expect_refused("fm", "clicks", &FURROW_INIT(furrow_train_params, .conf = conf), FURROW_E_ARGUMENT, "conf");
  expect_refused(NULL, "clicks", &FURROW_INIT(furrow_train_params, .conf = conf, .settings = settings),
                 FURROW_E_ARGUMENT, "conf");
  expect_refused("fm", "none", NULL, FURROW_E_NOT_FOUND, "");
  assert_true(test_write_text("malformed", "1 1:1\n0 1:1\n1 1:x\n"));
  expect_refused("fm", "malformed?format=libsvm", NULL, FURROW_E_PARSE, "");
  furrow_learn_conf_free(conf);
}

static furrow_status never(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)epoch, (void)e;
  fail_msg("it was trained");
  return FURROW_OK;
}

/* A folder that is in the way is found before the training. */
static void a_folder_in_the_way_is_refused_first(void **state) {
  (void)state;
  const furrow_train_params params =
      FURROW_INIT(furrow_train_params, .fit = &FURROW_INIT(furrow_trainer_fit_params, .epoch = never));
  assert_int_equal(mkdir("there", 0700), 0);
  assert_true(test_write_text("file", "x"));
  assert_int_equal(symlink("nowhere", "link"), 0);
  static const char *const paths[] = {"there", "file", "link"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    assert_int_equal(furrow_train(NULL, "lr", "clicks", paths[i], &params, &err), FURROW_E_EXISTS);
    assert_string_equal(err.file, paths[i]);
  }
}

static void without_memory_nothing_is_left(void **state) {
  (void)state;
  const furrow_train_params params = FURROW_INIT(
      furrow_train_params, .settings = (const char *const[]){"epochs=1", "valid-ratio=0", NULL},
      .trainer = &FURROW_INIT(furrow_trainer_params, .threads = 1),
      .fit = &FURROW_INIT(furrow_trainer_fit_params, .parser = &FURROW_INIT(furrow_parser_params, .threads = 1)));
  assert_true(write_clicks("few", 30, 1, 1));
  if (!FAILING_ALLOC) skip();
  bool met = true;
  for (long n = 1; met; n += 1 + n / 50) {
    furrow_trainer *trainer = (void *)&kept;
    furrow_error why = {.status = FURROW_OK};
    const long live = atomic_load(&alloc_live);
    alloc_fail_at(n);
    const furrow_status status = furrow_train(&trainer, "lr", "few", "starved", &params, &why);
    met = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    assert_true(met || status == FURROW_OK);
    if (status != FURROW_OK) {
      assert_int_equal(why.status, status);
      assert_true(why.message[0]);
      assert_ptr_equal(trainer, &kept);
      assert_false(is_there("starved"));
    } else {
      furrow_trainer_free(trainer);
      assert_true(test_remove_dir("starved"));
    }
    if (atomic_load(&alloc_live) != live) fail_msg("allocation %ld: something leaks", n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_call_is_the_single_calls),   cmocka_unit_test(the_trainer_may_be_left_out),
      cmocka_unit_test(the_folder_may_be_left_out),     cmocka_unit_test(parameters_count),
      cmocka_unit_test(what_is_wrong_is_refused),       cmocka_unit_test(a_folder_in_the_way_is_refused_first),
      cmocka_unit_test(without_memory_nothing_is_left),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
