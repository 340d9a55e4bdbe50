/* tests/unit/learn/test_own_faults.c: trainings with Furrow's own defaults in which the n-th allocation fails: the
 * error is returned and nothing is lost. */
#include "support/failing_alloc.h"

#include "learn/train/fit.h"
#include "support/made_clicks.h"
#include "support/own_data.h"

static const struct {
  const char *algorithm, *settings, *data;
} models[] = {
    {"lr", "epochs=2", "plain"},          {"linear", "solver=steps epochs=2", "quantities"},
    {"fm", "epochs=2 rank=2", "plain"},   {"deepfm", "epochs=1 rank=2 fc=4", "plain"},
    {"softmax", "epochs=2", "classes"},   {"gbdt", "trees=2", "plain"},
    {"fm", "epochs=2 rank=2", "crossed"},
};

/* Numbers that only the pair of a row's features tells: vectors are solved, and solved again with all rows. */
static void write_crossed(const char *path, size_t rows) {
  FILE *file = begin_file(path);
  for (size_t i = 0; i < rows; i++) {
    const size_t a = i % 2, b = i / 2 % 2;
    fprintf(file, "%.3f %zu:1 %zu:1\n", (a == b ? 2 : -2) + 0.001 * (double)(i * 7 % 100), 1 + a, 3 + b);
  }
  assert_int_equal(fclose(file), 0);
}

static int write_data(void **state) {
  static const float labels[] = {1, 2, 3};
  if (enter_dir(state) != 0) return -1;
  write_chances("plain", 60, 0, 3);
  write_quantities("quantities", 60);
  write_blobs("classes", 60, 3, labels, 1);
  write_crossed("crossed", 200);
  return 0;
}

/* *binned: an epoch says that its AUC comes from bins, as rows for an exact one lacked memory. *about: furrow.json. */
static furrow_status train_once(const furrow_learn_conf *conf, const char *data, fw_buffer *about, bool *binned) {
  furrow_trainer *trainer = NULL;
  furrow_trainer_params one;
  furrow_parser_params parser;
  furrow_trainer_fit_params params;
  furrow_trainer_params_init(&one);
  furrow_parser_params_init(&parser);
  furrow_trainer_fit_params_init(&params);
  one.threads = parser.threads = 1;
  params.parser = &parser;
  furrow_status status = furrow_trainer_create(&trainer, conf, &one, &err);
  if (status == FURROW_OK) status = furrow_trainer_fit(trainer, data, NULL, &params, &err);
  if (status == FURROW_OK) status = fw_model_json_write(trainer, NULL, 0, about, &err);
  *binned = false;
  for (size_t i = 0; trainer && i < furrow_trainer_epoch_count(trainer); i++) {
    const furrow_epoch *epoch = furrow_trainer_get_epoch(trainer, i);
    if (epoch->train->binned || epoch->valid->binned) *binned = true;
  }
  furrow_trainer_free(trainer);
  return status;
}

/* A fit that goes well has found another way, as qsort does, and its figures are those of any other. */
static void check_outcome(const char *algorithm, long n, furrow_status status, const fw_buffer *found,
                          const fw_buffer *wanted) {
  const bool same = found->size == wanted->size && memcmp(found->bytes, wanted->bytes, found->size) == 0;
  if (status != FURROW_E_MEMORY && !(status == FURROW_OK && same))
    fail_msg("%s, allocation %ld: %s", algorithm, n, furrow_status_name(status));
}

static void fail_each(const char *algorithm, const furrow_learn_conf *conf, const char *data) {
  fw_buffer wanted = {0};
  bool failed = true, binned = false;
  assert_int_equal(train_once(conf, data, &wanted, &binned), FURROW_OK);
  for (long n = 1; failed; n++) {
    const long live = alloc_live;
    fw_buffer found = {0};
    alloc_fail_at(n);
    const furrow_status status = train_once(conf, data, &found, &binned);
    failed = alloc_failed;
    alloc_fail_at(0);
    if (!binned) check_outcome(algorithm, n, status, &found, &wanted);
    fw_buffer_clear(&found);
    if (alloc_live != live) fail_msg("%s, allocation %ld: %ld pieces are left", algorithm, n, alloc_live - live);
  }
  fw_buffer_clear(&wanted);
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    furrow_learn_conf *conf = NULL;
    assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
    assert_int_equal(furrow_learn_conf_set_algorithm(conf, models[m].algorithm, &err), FURROW_OK);
    conf_set_all(conf, models[m].settings);
    fail_each(models[m].algorithm, conf, models[m].data);
    furrow_learn_conf_free(conf);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
