/* tests/unit/fault/test_fault_recommend.c: recommendations when memory runs out: every allocation fails once. */
#include <string.h>

#include "furrow/recommend.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"

enum { USERS = 12, ITEMS = 20, K = 4 };

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
  fclose(file);
}

static void train(const char *algorithm) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  assert_int_equal(furrow_schema_parse(&schema, schema_text, sizeof schema_text - 1, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&encoder, "log.csv", schema, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_save(encoder, "encoder", true, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_create(&conf, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, algorithm, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "encoder", "encoder", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, strcmp(algorithm, "gbdt") == 0 ? "trees" : "epochs", "2", NULL),
                   FURROW_OK);
  assert_int_equal(furrow_trainer_create(&trainer, conf, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_fit(trainer, "log.csv", NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_save(trainer, algorithm, NULL, NULL), FURROW_OK);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

/* Everything that the module does, for one thread. */
typedef struct outcome {
  furrow_recommendation known[USERS * K], similar[K], fresh[USERS * K];
  furrow_rank_figures figures;
} outcome;

typedef struct handles {
  furrow_recommender *r;
  furrow_events *events;
  furrow_item_table *table;
  furrow_new_users *users;
} handles;

static furrow_status use(const char *model, handles *h, outcome *out, furrow_error *err) {
  static const char *const columns[] = {"hour"};
  const furrow_pair hour = {"hour", "h1"};
  furrow_recommender_params open;
  furrow_prepare_params prepare;
  furrow_events_params events;
  furrow_recommend_params params;
  uint64_t users[USERS];
  const bool fm = strcmp(model, "fm") == 0;
  for (uint64_t i = 0; i < USERS; i++) users[i] = i;
  furrow_recommender_params_init(&open);
  furrow_prepare_params_init(&prepare);
  furrow_events_params_init(&events);
  furrow_recommend_params_init(&params);
  open.threads = prepare.threads = events.threads = params.threads = 1;
  params.k = K;
  params.context = &hour;
  params.context_count = 1;
  furrow_status status = furrow_recommender_open(&h->r, model, &open, err);
  if (status == FURROW_OK) status = furrow_recommender_prepare(h->r, &prepare, err);
  if (status == FURROW_OK) status = furrow_events_load(&h->events, h->r, "log.csv", &events, err);
  if (status == FURROW_OK) status = furrow_item_table_load(&h->table, h->r, "log.csv", columns, 1, err);
  params.seen = h->events;
  if (status == FURROW_OK) status = furrow_recommender_recommend(h->r, users, USERS, &params, out->known, err);
  params.seen = NULL;
  params.context_count = 0;
  if (status == FURROW_OK) status = furrow_recommender_evaluate(h->r, h->events, &params, &out->figures, err);
  if (status == FURROW_OK && fm) status = furrow_recommender_similar(h->r, 2, &params, out->similar, err);
  if (status == FURROW_OK && fm) status = furrow_new_users_load(&h->users, h->r, "log.csv", &events, err);
  if (status == FURROW_OK && fm) status = furrow_recommender_recommend_new(h->r, h->users, &params, out->fresh, err);
  return status;
}

static furrow_status try_all(const char *model, outcome *out, furrow_error *err) {
  handles h = {0};
  memset(out, 0, sizeof *out);
  furrow_rank_figures_init(&out->figures);
  const furrow_status status = use(model, &h, out, err);
  furrow_new_users_free(h.users);
  furrow_item_table_free(h.table);
  furrow_events_free(h.events);
  furrow_recommender_free(h.r);
  return status;
}

static void fail_each(const char *model) {
  static outcome right, found;
  furrow_error err = {0};
  if (try_all(model, &right, &err) != FURROW_OK) fail_msg("%s", err.message);
  const long live = atomic_load(&alloc_live);
  for (long n = 1;; n++) {
    alloc_fail_at(n);
    const furrow_status status = try_all(model, &found, &err);
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    assert_int_equal(atomic_load(&alloc_live), live);
    if (status != FURROW_OK)
      assert_int_equal(status, FURROW_E_MEMORY);
    else /* sorting goes on without memory of its own */
      assert_memory_equal(&found, &right, sizeof right);
    if (!failed) break;
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  write_log();
  train("fm");
  fail_each("fm");
  train("gbdt");
  fail_each("gbdt");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_allocation_may_fail, enter_dir, leave_dir)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
