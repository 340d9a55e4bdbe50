/* tests/unit/recommend/test_recommend_sizes.c: parameters of training, scoring and recommending that were not
 * initialised are refused, before the model is looked at: calls of a recommender get none. */
#include "furrow/init.h"
#include "furrow/learn.h"
#include "furrow/recommend.h"
#include "learn/conf/conf.h"
#include "learn/parameters/parameters.h"
#include "support/given_sizes.h"
#include "support/own_dir.h"

static const char rows[] = "1 1:1 2:1\n0 2:1 3:1\n";
static furrow_learn_conf *conf;
static furrow_trainer *trainer;

static int setup(void **state) {
  return enter_dir(state) == 0 && test_write_file("rows", rows, sizeof rows - 1) &&
                 furrow_learn_conf_create(&conf, NULL) == FURROW_OK &&
                 furrow_learn_conf_set_algorithm(conf, "lr", NULL) == FURROW_OK &&
                 furrow_learn_conf_set(conf, "range", "4", NULL) == FURROW_OK &&
                 furrow_trainer_create(&trainer, conf, NULL, NULL) == FURROW_OK
             ? 0
             : -1;
}

static int teardown(void **state) {
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return leave_dir(state);
}

/* ---- Training and scoring ------------------------------------------------------------------------------- */

static furrow_status create_trainer(const void *given, furrow_error *err) {
  furrow_trainer *made = KEPT;
  const furrow_status status = furrow_trainer_create(&made, conf, given, err);
  assert_ptr_equal(made, KEPT);
  return status;
}

static furrow_status fit(const void *given, furrow_error *err) {
  return furrow_trainer_fit(trainer, "rows", NULL, given, err);
}

static furrow_status fit_parser(const void *given, furrow_error *err) {
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.parser = given;
  return fit(&params, err);
}

static furrow_status train(const void *given, furrow_error *err) {
  furrow_trainer *made = KEPT;
  const furrow_status status = furrow_train(&made, "lr", "rows", "model", given, err);
  assert_ptr_equal(made, KEPT);
  return status;
}

static furrow_status train_trainer(const void *given, furrow_error *err) {
  return train(&FURROW_INIT(furrow_train_params, .trainer = given), err);
}

static furrow_status train_fit(const void *given, furrow_error *err) {
  return train(&FURROW_INIT(furrow_train_params, .fit = given), err);
}

static furrow_status train_save(const void *given, furrow_error *err) {
  return train(&FURROW_INIT(furrow_train_params, .save = given), err);
}

static furrow_status open_samples(const void *given, furrow_error *err) {
  furrow_sample_reader *reader = KEPT;
  const furrow_status status = furrow_sample_reader_open(&reader, conf, "rows", given, err);
  assert_ptr_equal(reader, KEPT);
  return status;
}

static furrow_status save(const void *given, furrow_error *err) {
  return furrow_trainer_save(trainer, "model", given, err);
}

static furrow_status save_write(const void *given, furrow_error *err) {
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.write = given;
  return save(&params, err);
}

static furrow_status read_save_params(const void *given, furrow_error *err) {
  fw_save_params params;
  return fw_save_params_read(&params, given, 1, err);
}

static furrow_status load_scorer(const void *given, furrow_error *err) {
  furrow_scorer *scorer = KEPT;
  const furrow_status status = furrow_scorer_load(&scorer, "none", given, err);
  assert_ptr_equal(scorer, KEPT);
  return status;
}

static void learning_refuses_them(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_trainer_params, create_trainer),
      SIZED(furrow_trainer_fit_params, fit),
      SIZED(furrow_parser_params, fit_parser),
      SIZED(furrow_train_params, train),
      SIZED(furrow_trainer_params, train_trainer),
      SIZED(furrow_trainer_fit_params, train_fit),
      SIZED(furrow_trainer_save_params, train_save),
      SIZED(furrow_parser_params, open_samples),
      SIZED(furrow_trainer_save_params, save),
      SIZED(furrow_matrix_write_params, save_write),
      SIZED(furrow_trainer_save_params, read_save_params),
      SIZED(furrow_scorer_params, load_scorer),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
  assert_int_equal(test_entries("."), 1); /* rows */
}

/* ---- Recommending --------------------------------------------------------------------------------------- */

static furrow_status open_recommender(const void *given, furrow_error *err) {
  furrow_recommender *recommender = KEPT;
  const furrow_status status = furrow_recommender_open(&recommender, "none", given, err);
  assert_ptr_equal(recommender, KEPT);
  return status;
}

static furrow_status load_events(const void *given, furrow_error *err) {
  furrow_events *events = KEPT;
  const furrow_status status = furrow_events_load(&events, NULL, "rows", given, err);
  assert_ptr_equal(events, KEPT);
  return status;
}

static furrow_status load_new_users(const void *given, furrow_error *err) {
  furrow_new_users *users = KEPT;
  const furrow_status status = furrow_new_users_load(&users, NULL, "rows", given, err);
  assert_ptr_equal(users, KEPT);
  return status;
}

static furrow_status prepare(const void *given, furrow_error *err) {
  return furrow_recommender_prepare(NULL, given, err);
}

static furrow_status recommend(const void *given, furrow_error *err) {
  const uint64_t user = 0;
  furrow_recommendation result = {.item = 77};
  const furrow_status status = furrow_recommender_recommend(NULL, &user, 1, given, &result, err);
  assert_int_equal(result.item, 77);
  return status;
}

static furrow_status find_similar(const void *given, furrow_error *err) {
  furrow_recommendation result = {.item = 77};
  const furrow_status status = furrow_recommender_similar(NULL, 0, given, &result, err);
  assert_int_equal(result.item, 77);
  return status;
}

static furrow_status recommend_new(const void *given, furrow_error *err) {
  furrow_recommendation result = {.item = 77};
  const furrow_status status = furrow_recommender_recommend_new(NULL, NULL, given, &result, err);
  assert_int_equal(result.item, 77);
  return status;
}

static furrow_status evaluate(const void *given, furrow_error *err) {
  furrow_rank_figures figures, before;
  furrow_rank_figures_init(&figures);
  figures.k = 77;
  memcpy(&before, &figures, sizeof before);
  const furrow_status status = furrow_recommender_evaluate(NULL, NULL, given, &figures, err);
  assert_memory_equal(&figures, &before, sizeof before);
  return status;
}

static void recommending_refuses_them(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_recommender_params, open_recommender), SIZED(furrow_events_params, load_events),
      SIZED(furrow_events_params, load_new_users),        SIZED(furrow_prepare_params, prepare),
      SIZED(furrow_recommend_params, recommend),          SIZED(furrow_recommend_params, find_similar),
      SIZED(furrow_recommend_params, recommend_new),      SIZED(furrow_recommend_params, evaluate),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(learning_refuses_them),
      cmocka_unit_test(recommending_refuses_them),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
