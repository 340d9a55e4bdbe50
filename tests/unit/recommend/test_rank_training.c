/* tests/unit/recommend/test_rank_training.c: trainings that rank: what they are refused with, data of their own for
 * validation, and none at all. */
#include "support/made_clicks.h"

enum { USERS = 24, ITEMS = 12 };

/* Users of three kinds, each with items of its kind; items begin at `first`. */
static void write_log(const char *path, unsigned from, unsigned to, unsigned first) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (unsigned u = 0; u < USERS; u++)
    for (unsigned i = from; i < to; i++) {
      const unsigned item = u % 3 + 3 * ((u + i) % (ITEMS / 3));
      fprintf(file, "1 0:%u:1 1:%u:1 2:%u:1\n", u, 100 + first + item, 200 + item % 5);
    }
  assert_int_equal(fclose(file), 0);
}

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  write_log("log.libffm", 0, 3, 0);
  write_log("later.libffm", 3, 4, 0);
  write_log("unknown.libffm", 3, 4, 50);
  return system("cat later.libffm unknown.libffm > both.libffm") == 0 ? 0 : -1;
}

static furrow_trainer *new_ranker(const char *settings, bool hogwild) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.threads = 1;
  params.hogwild = hogwild;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", &err), FURROW_OK);
  conf_set_all(conf, "rank=4 lr=0.03 item-fields=1,2");
  conf_set_all(conf, settings);
  if (furrow_trainer_create(&trainer, conf, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_learn_conf_free(conf);
  return trainer;
}

/* Refused with an error to fill, and without. */
static void refuse(const char *settings, bool hogwild, const char *valid, furrow_status wanted, const char *message) {
  furrow_trainer *trainer = new_ranker(settings, hogwild);
  const furrow_status status = furrow_trainer_fit(trainer, "log.libffm", valid, NULL, &err);
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s: %s, %s", settings, furrow_status_name(status), err.message);
  assert_int_equal(furrow_trainer_fit(trainer, "log.libffm", valid, NULL, NULL), wanted);
  furrow_trainer_free(trainer);
}

static bool has_note(const furrow_trainer *trainer, const char *text) {
  for (size_t i = 0; i < furrow_trainer_note_count(trainer); i++)
    if (strstr(furrow_trainer_get_note(trainer, i, NULL), text)) return true;
  return false;
}

static void rows_that_cannot_be_ranked(void **state) {
  (void)state;
  refuse("loss=bpr epochs=2 sample-ratio=0.5", false, NULL, FURROW_E_UNSUPPORTED, "with all rows");
  refuse("loss=warp epochs=2 posneg-ratio=0.5", false, NULL, FURROW_E_UNSUPPORTED, "with all rows");
  refuse("loss=bpr epochs=2", false, "unknown.libffm", FURROW_E_ARGUMENT, "has an item of the training data");
  refuse("negatives=2 epochs=2 negative-sampling=hour", false, NULL, FURROW_E_ARGUMENT, "which field has the hours");
  refuse("negatives=2 epochs=2 negative-sampling=hour hour-field=7", false, NULL, FURROW_E_ARGUMENT,
         "no feature of the hour field");
}

static void negatives_are_not_streamed(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer *trainer = new_ranker("negatives=2 epochs=1", false);
  furrow_trainer_fit_params_init(&params);
  params.stream = true;
  assert_int_equal(furrow_trainer_fit(trainer, "log.libffm", NULL, &params, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "not for streamed ones"));
  furrow_trainer_free(trainer);
}

/* What each user takes next is not known to the training, but of the user's kind. */
static void later_rows_validate(void **state) {
  (void)state;
  furrow_trainer *trainer = new_ranker("loss=bpr epochs=20", false);
  fit_or_fail(trainer, "log.libffm", "both.libffm", NULL);
  const size_t epochs = furrow_trainer_epoch_count(trainer);
  const furrow_epoch *last = epoch_at(trainer, epochs - 1);
  assert_int_equal(last->train->rows, 3 * USERS);
  assert_int_equal(last->valid->rows, USERS);
  assert_true(last->valid->ndcg > 0.5);
  assert_true(has_note(trainer, "24 rows of the validation data have items that the training data does not"));
  furrow_trainer_free(trainer);
}

static void nothing_is_held_out(void **state) {
  (void)state;
  furrow_trainer *chosen = new_ranker("loss=sampled-softmax valid-ratio=0", false);
  furrow_trainer *given = new_ranker("loss=sampled-softmax valid-ratio=0 epochs=3", false);
  fit_or_fail(chosen, "log.libffm", NULL, NULL);
  assert_int_equal(furrow_trainer_epoch_count(chosen), 30);
  assert_true(has_note(chosen, "no positives were held out to choose the number of epochs: it is 30"));
  fit_or_fail(given, "log.libffm", NULL, NULL);
  assert_int_equal(furrow_trainer_epoch_count(given), 3);
  assert_false(has_note(given, "no positives were held out"));
  furrow_trainer_free(chosen);
  furrow_trainer_free(given);
}

/* A learning rate that no weight survives. */
static void divergence_is_told(void **state) {
  (void)state;
  furrow_trainer *trainer = new_ranker("loss=bpr epochs=20 lr=1e30", false);
  assert_int_equal(furrow_trainer_fit(trainer, "log.libffm", NULL, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "training diverged"));
  assert_non_null(strstr(err.hint, "learning rate"));
  furrow_trainer_free(trainer);
}

/* Weights of doubles learn what those of floats do. */
static void doubles_rank(void **state) {
  (void)state;
  furrow_trainer *trainer = new_ranker("loss=warp epochs=20 model-type=T_DOUBLE_DENSE range=300", false);
  fit_or_fail(trainer, "log.libffm", "later.libffm", NULL);
  assert_true(epoch_at(trainer, furrow_trainer_epoch_count(trainer) - 1)->valid->ndcg > 0.5);
  furrow_trainer_free(trainer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_that_cannot_be_ranked), cmocka_unit_test(negatives_are_not_streamed),
      cmocka_unit_test(later_rows_validate),        cmocka_unit_test(nothing_is_held_out),
      cmocka_unit_test(divergence_is_told),         cmocka_unit_test(doubles_rank),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
