/* tests/unit/fault/test_fault_rank.c: trainings that rank, and negatives for others, when memory runs out: every
 * allocation fails once, for callers with an error and without. */
#include "support/failing_alloc.h"

#include "support/made_clicks.h"

enum { USERS = 10, ITEMS = 8 };

static const char *const settings[] = {
    "loss=bpr epochs=2",
    "loss=warp epochs=2 negative-sampling=popularity",
    "loss=sampled-softmax epochs=2",
    "negatives=2 negative-sampling=hour hour-field=3 epochs=1",
};

static int write_log(void **state) {
  FILE *file;
  if (enter_dir(state) != 0 || !(file = fopen("log.libffm", "w"))) return -1;
  for (unsigned u = 0; u < USERS; u++)
    for (unsigned i = 0; i < 5; i++) {
      const unsigned item = (u * 3 + i) % ITEMS;
      fprintf(file, "1 0:%u:1 1:%u:1 2:%u:1 3:%u:1\n", u, 100 + item, 200 + item % 3, 300 + (u + i) % 2);
    }
  return fclose(file);
}

static furrow_learn_conf *new_conf(const char *more) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", &err), FURROW_OK);
  conf_set_all(conf, "rank=2 item-fields=1,2 valid-ratio=0.2");
  conf_set_all(conf, more);
  return conf;
}

static furrow_status train(const furrow_learn_conf *conf, fw_buffer *net, furrow_error *error) {
  furrow_trainer *trainer = NULL;
  furrow_trainer_params one;
  furrow_parser_params parser;
  furrow_trainer_fit_params params;
  furrow_trainer_params_init(&one);
  furrow_parser_params_init(&parser);
  furrow_trainer_fit_params_init(&params);
  one.threads = parser.threads = 1;
  params.parser = &parser;
  furrow_status status = furrow_trainer_create(&trainer, conf, &one, error);
  if (status == FURROW_OK) status = furrow_trainer_fit(trainer, "log.libffm", NULL, &params, error);
  atomic_store(&alloc_countdown, -1); /* what looks at the outcome gets its memory */
  if (status == FURROW_OK) *net = snapshot_of(trainer);
  furrow_trainer_free(trainer);
  return status;
}

/* A fit that goes well has found another way, as qsort does, and to the same numbers. */
static bool fails_at(long n, const furrow_learn_conf *conf, const fw_buffer *wanted) {
  const long live = alloc_live;
  furrow_error error = {.status = FURROW_OK};
  fw_buffer net = {0};
  alloc_fail_at(n);
  const furrow_status status = train(conf, &net, n % 2 ? &error : NULL);
  const bool met = alloc_failed;
  if (status == FURROW_OK) assert_same_snapshot(&net, wanted);
  if (status != FURROW_OK && status != FURROW_E_MEMORY) fail_msg("allocation %ld: %s", n, furrow_status_name(status));
  if (status != FURROW_OK && n % 2) assert_int_equal(error.status, FURROW_E_MEMORY);
  fw_buffer_clear(&net);
  if (alloc_live != live) fail_msg("allocation %ld: %ld pieces are left", n, alloc_live - live);
  return met;
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    furrow_learn_conf *conf = new_conf(settings[i]);
    fw_buffer wanted = {0};
    long n = 1;
    assert_int_equal(train(conf, &wanted, &err), FURROW_OK);
    while (fails_at(n, conf, &wanted)) n++;
    assert_true(n > 100);
    fw_buffer_clear(&wanted);
    furrow_learn_conf_free(conf);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(allocations_may_fail)};
  return cmocka_run_group_tests(tests, write_log, leave_dir);
}
