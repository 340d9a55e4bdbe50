/* tests/unit/recommend/test_recommend_limits.c: what recommenders refuse, with an error to fill and without: numbers
 * that make no sense, methods that the model cannot have, logs that do not fit; and items that are not allowed. */
#include <math.h>
#include <string.h>

#include "furrow/recommend.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { USERS = 12, ITEMS = 20, K = 4 };

static furrow_recommender *fm, *forest;

/* ---- Models --------------------------------------------------------------------------------------------- */

static const char schema_text[] =
    "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": \"category\", \"role\": "
    "\"item\"}, \"hour\": {\"as\": \"category\"}, \"label\": {\"as\": \"label\"}}}";

static void write_log(void) {
  FILE *file = fopen("log.csv", "w");
  assert_non_null(file);
  fprintf(file, "user,item,hour,label\n");
  for (unsigned u = 0; u < USERS; u++)
    for (unsigned j = 0; j < 8; j++)
      fprintf(file, "u%u,item %u,h%u,%u\n", u, (u * 3 + j * 7) % ITEMS, j % 3, (u + j) % 2);
  assert_int_equal(fclose(file), 0);
}

static furrow_recommender *train(const char *algorithm, const char *key) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  furrow_recommender *made = NULL;
  assert_int_equal(furrow_schema_parse(&schema, schema_text, sizeof schema_text - 1, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&encoder, "log.csv", schema, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_save(encoder, "encoder", true, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_create(&conf, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, algorithm, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "encoder", "encoder", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, key, "2", NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_create(&trainer, conf, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_fit(trainer, "log.csv", NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_save(trainer, algorithm, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_recommender_open(&made, algorithm, NULL, NULL), FURROW_OK);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  return made;
}

static int setup(void **state) {
  if (enter_dir(state) != 0) return -1;
  write_log();
  fm = train("fm", "epochs");
  forest = train("gbdt", "trees");
  return 0;
}

static int teardown(void **state) {
  furrow_recommender_free(fm);
  furrow_recommender_free(forest);
  return leave_dir(state);
}

static furrow_error err;

static void told(furrow_status status, furrow_status wanted, const char *message) {
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s, %s; not %s", furrow_status_name(status), err.message, message);
}

/* ---- Preparing ------------------------------------------------------------------------------------------ */

static void refuse_to_prepare(furrow_recommender *r, const furrow_prepare_params *params, furrow_status wanted,
                              const char *message) {
  told(furrow_recommender_prepare(r, params, &err), wanted, message);
  assert_int_equal(furrow_recommender_prepare(r, params, NULL), wanted);
}

static void preparations(void **state) {
  (void)state;
  furrow_prepare_params params;
  furrow_prepare_params_init(&params);
  params.k = 0;
  refuse_to_prepare(fm, &params, FURROW_E_ARGUMENT, "k is 0");
  params.k = K;
  static const double recalls[] = {0, -1, 1.5, NAN};
  for (size_t i = 0; i < sizeof recalls / sizeof *recalls; i++) {
    params.recall = recalls[i];
    refuse_to_prepare(fm, &params, FURROW_E_ARGUMENT, "recall");
  }
  params.recall = 1;
  params.method = FURROW_RECOMMEND_INDEX + 1;
  refuse_to_prepare(fm, &params, FURROW_E_ARGUMENT, "there is no such method");
  params.method = FURROW_RECOMMEND_VECTORS;
  refuse_to_prepare(forest, &params, FURROW_E_UNSUPPORTED, "has no vectors of items");
  assert_int_equal(furrow_recommender_prepare(fm, &params, NULL), FURROW_OK);
}

/* ---- Recommending --------------------------------------------------------------------------------------- */

static void numbers_of_results(void **state) {
  (void)state;
  static const size_t wrong[] = {0, (size_t)UINT32_MAX + 1};
  static const char *const messages[] = {"k is 0", "k is too large"};
  const uint64_t user = 0;
  furrow_recommendation result = {.item = 77};
  furrow_rank_figures figures;
  furrow_events *events = NULL;
  furrow_new_users *fresh = NULL;
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  furrow_rank_figures_init(&figures);
  assert_int_equal(furrow_events_load(&events, fm, "log.csv", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_new_users_load(&fresh, fm, "log.csv", NULL, NULL), FURROW_OK);
  for (size_t i = 0; i < 2; i++) {
    params.k = wrong[i];
    told(furrow_recommender_recommend(fm, &user, 1, &params, &result, &err), FURROW_E_ARGUMENT, messages[i]);
    told(furrow_recommender_similar(fm, 0, &params, &result, &err), FURROW_E_ARGUMENT, messages[i]);
    told(furrow_recommender_recommend_new(fm, fresh, &params, &result, &err), FURROW_E_ARGUMENT,
         "k must be 1 to 4294967295");
  }
  params.k = 0;
  told(furrow_recommender_evaluate(fm, events, &params, &figures, &err), FURROW_E_ARGUMENT, "k is 0");
  assert_int_equal(result.item, 77);
  assert_int_equal(figures.users, 0);
  furrow_new_users_free(fresh);
  furrow_events_free(events);
}

static void things_that_are_not_there(void **state) {
  (void)state;
  const uint64_t user = USERS;
  const furrow_pair hour = {"hour", "h1"};
  furrow_recommendation result = {.item = 77};
  furrow_new_users *fresh = NULL;
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  params.k = 1;
  told(furrow_recommender_recommend(fm, &user, 1, &params, &result, &err), FURROW_E_RANGE, "there is no user 12");
  told(furrow_recommender_similar(fm, ITEMS, &params, &result, &err), FURROW_E_RANGE, "there is no such item");
  told(furrow_recommender_similar(forest, 0, &params, &result, &err), FURROW_E_UNSUPPORTED, "does not have");
  assert_int_equal(furrow_new_users_load(&fresh, fm, "log.csv", NULL, NULL), FURROW_OK);
  params.context = &hour;
  params.context_count = 1;
  told(furrow_recommender_recommend_new(fm, fresh, &params, &result, &err), FURROW_E_UNSUPPORTED, "with a context");
  furrow_new_users_free(fresh);
  assert_int_equal(result.item, 77);
  assert_null(furrow_recommender_user_name(fm, USERS));
  assert_null(furrow_recommender_item_name(fm, ITEMS));
  assert_string_equal(furrow_recommender_user_column(fm), "user");
  assert_string_equal(furrow_recommender_item_column(fm), "item");
}

static void names_that_are_not_there(void **state) {
  (void)state;
  char longer[2000];
  uint64_t number = 77;
  memset(longer, 'x', sizeof longer);
  told(furrow_recommender_find_item(fm, "item 1x", 7, &number, &err), FURROW_E_NOT_FOUND, "");
  assert_non_null(strstr(err.hint, "did you mean item 1"));
  told(furrow_recommender_find_user(fm, longer, sizeof longer, &number, &err), FURROW_E_NOT_FOUND, "");
  assert_string_equal(err.hint, "");
  assert_int_equal(furrow_recommender_find_user(fm, "nobody", 6, &number, NULL), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_recommender_find_user(fm, "item 1", 6, &number, NULL), FURROW_E_NOT_FOUND);
  assert_int_equal(number, 77);
}

/* Items that are not allowed are not recommended by any model, and do not count for its coverage. */
static void allowed_items(void **state) {
  (void)state;
  furrow_recommender *const models[] = {fm, forest};
  uint8_t allowed[ITEMS] = {0};
  for (size_t i = 0; i < ITEMS; i += 4) allowed[i] = 1;
  for (size_t m = 0; m < 2; m++) {
    uint64_t users[USERS];
    furrow_recommendation results[USERS * ITEMS];
    furrow_events *events = NULL;
    furrow_rank_figures figures;
    furrow_recommend_params params;
    furrow_recommend_params_init(&params);
    furrow_rank_figures_init(&figures);
    params.k = ITEMS;
    params.allowed = allowed;
    for (uint64_t u = 0; u < USERS; u++) users[u] = u;
    assert_int_equal(furrow_recommender_recommend(models[m], users, USERS, &params, results, NULL), FURROW_OK);
    for (size_t i = 0; i < USERS * ITEMS; i++) {
      const bool there = i % ITEMS < ITEMS / 4;
      assert_int_equal(results[i].item != FURROW_NO_ITEM, there);
      if (there) assert_int_equal(results[i].item % 4, 0);
    }
    assert_int_equal(furrow_events_load(&events, models[m], "log.csv", NULL, NULL), FURROW_OK);
    assert_int_equal(furrow_recommender_evaluate(models[m], events, &params, &figures, NULL), FURROW_OK);
    assert_true(figures.coverage == 1);
    memset(allowed, 0, sizeof allowed);
    assert_int_equal(furrow_recommender_evaluate(models[m], events, &params, &figures, NULL), FURROW_OK);
    assert_true(figures.coverage == 0);
    for (size_t i = 0; i < ITEMS; i += 4) allowed[i] = 1;
    furrow_events_free(events);
  }
}

/* ---- Logs and tables ------------------------------------------------------------------------------------ */

static void logs(void **state) {
  (void)state;
  furrow_events *events = NULL;
  furrow_events_params params;
  furrow_events_params_init(&params);
  params.from = NAN;
  told(furrow_events_load(&events, fm, "log.csv", &params, &err), FURROW_E_ARGUMENT, "from is not a number");
  params.from = 1;
  assert_true(test_write_text("none.csv", "user,item\nu1,item 1\n"));
  told(furrow_events_load(&events, fm, "none.csv", &params, &err), FURROW_E_FORMAT, "the column label");
  assert_true(test_write_text("bad.csv", "user,item,label\nu1,item 1,1\nu1,item 2,\nu2,item 2,x\n,item 3,1\nu3,,1\n"));
  told(furrow_events_load(&events, fm, "bad.csv", &params, &err), FURROW_E_PARSE, "the label is missing");
  assert_int_equal(err.line, 3);
  assert_int_equal(furrow_events_load(&events, fm, "bad.csv", &params, NULL), FURROW_E_PARSE);
  assert_null(events);
  params.on_bad = FURROW_ON_BAD_SKIP;
  assert_int_equal(furrow_events_load(&events, fm, "bad.csv", &params, &err), FURROW_OK);
  furrow_events_info info;
  furrow_events_info_init(&info);
  furrow_events_get_info(events, &info);
  assert_int_equal(info.bad, 2);
  assert_int_equal(info.unknown_users, 1);
  assert_int_equal(info.users, 1);
  furrow_events_free(events);
}

static void tables(void **state) {
  (void)state;
  static const char *const columns[] = {"hour"};
  furrow_item_table *table = NULL;
  told(furrow_item_table_load(&table, fm, "log.csv", columns, 0, &err), FURROW_E_ARGUMENT, "no column");
  assert_null(table);
  assert_true(test_write_text("t.csv", "item,hour\nitem 1,h1\n,h2\nother,h3\nu1,h4\nitem 1,h5\n"));
  assert_int_equal(furrow_item_table_load(&table, fm, "t.csv", columns, 1, NULL), FURROW_OK);
  assert_int_equal(furrow_item_table_count(table), 1);
  uint64_t item = 0;
  assert_int_equal(furrow_recommender_find_item(fm, "item 1", 6, &item, NULL), FURROW_OK);
  assert_string_equal(furrow_item_table_get(table, item, 0), "h1");
  assert_string_equal(furrow_item_table_get(table, item, 1), "");
  assert_string_equal(furrow_item_table_get(table, ITEMS, 0), "");
  furrow_item_table_free(table);
  table = NULL;
  assert_true(test_write_text("t.csv", "item,hour\nITEM 1,h1\nother,h3\n"));
  told(furrow_item_table_load(&table, fm, "t.csv", columns, 1, &err), FURROW_E_ARGUMENT, "no row of the table");
  assert_null(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(preparations),
      cmocka_unit_test(numbers_of_results),
      cmocka_unit_test(things_that_are_not_there),
      cmocka_unit_test(names_that_are_not_there),
      cmocka_unit_test(allowed_items),
      cmocka_unit_test(logs),
      cmocka_unit_test(tables),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
