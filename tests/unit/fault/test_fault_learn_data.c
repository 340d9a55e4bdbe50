/* tests/unit/fault/test_fault_learn_data.c: trainings on data that cannot be read as it is: the error says what to do;
 * and trainings that read many kinds of data while memory runs out. */
#include "support/failing_alloc.h"

#include "support/made_clicks.h"

/* ---- Data ---- */

static bool write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

static bool write_table(const char *path, char delimiter, const char *header) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  fprintf(file, "%s\n", header);
  for (int i = 0; i < 40; i++) fprintf(file, "%d%c%d.5%c%d\n", i * 7 % 5 < 2, delimiter, i % 6, delimiter, 10 * i % 37);
  return fclose(file) == 0;
}

static bool write_fields(const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  for (int i = 0; i < 40; i++) fprintf(file, "%d 1:%d:1 2:%d:0.5\n", i * 7 % 5 < 2 ? 1 : -1, 1 + i % 3, 4 + i % 5);
  return fclose(file) == 0;
}

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  return write_text("plain", "1 1:1 2:1\n-1 2:2 3:1\n1 1:3\n-1 3:1\n") && write_text("zero", "1 1:1 0:1\n-1 2:2\n") &&
                 write_text("large", "1 1:1 5000000000:1\n-1 2:2\n") &&
                 write_text("huge", "1 1:1 99999999999999999999:1\n-1 2:2\n") &&
                 write_text("zero_field", "1 0:1:1 2:5:1\n-1 1:2:1\n") &&
                 write_text("large_field", "1 1:5000000000:1\n-1 1:2:1\n") && write_clicks("clicks", 60, 1, 1) &&
                 write_table("comma.csv", ',', "y,a,b") && write_table("semicolon.csv", ';', "y;a;b") &&
                 write_table("twice.csv", ',', "label,target,b") && write_fields("fields")
             ? 0
             : -1;
}

/* ---- Trainings ---- */

typedef struct job {
  const char *algorithm, *settings, *data;
  bool streams;
} job;

static furrow_status create(furrow_trainer **trainer, const job *of, furrow_error *error) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.threads = 1;
  furrow_status status = furrow_learn_conf_create(&conf, error);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, of->algorithm, error);
  char settings[256];
  snprintf(settings, sizeof settings, "%s", of->settings);
  for (char *rest = settings, *pair; status == FURROW_OK && (pair = strtok_r(rest, " ", &rest));) {
    char *value = strchr(pair, '=');
    *value = 0;
    status = furrow_learn_conf_set(conf, pair, value + 1, error);
  }
  if (status == FURROW_OK) status = furrow_trainer_create(trainer, conf, &params, error);
  furrow_learn_conf_free(conf);
  return status;
}

static furrow_status fit(furrow_trainer *trainer, const job *of, furrow_error *error) {
  furrow_parser_params parser;
  furrow_trainer_fit_params params;
  furrow_parser_params_init(&parser);
  furrow_trainer_fit_params_init(&params);
  parser.threads = 1;
  params.parser = &parser;
  params.stream = of->streams;
  return furrow_trainer_fit(trainer, of->data, NULL, &params, error);
}

/* ---- What is refused ---- */

static void expect_refused(const job *of, furrow_status status, const char *message, const char *hint) {
  furrow_trainer *trainer = NULL;
  furrow_error error = {0};
  assert_int_equal(create(&trainer, of, &error), FURROW_OK);
  const furrow_status found = fit(trainer, of, &error);
  if (found != status || strcmp(error.message, message) != 0 || strcmp(error.hint, hint) != 0)
    fail_msg("%s: %s: %s (%s); hint: %s", of->data, furrow_status_name(found), error.message, error.token, error.hint);
  assert_int_equal(furrow_trainer_epoch_count(trainer), 0);
  assert_int_equal(fit(trainer, of, NULL), status);
  furrow_trainer_free(trainer);
}

static void refused_data(void **state) {
  (void)state;
  static const struct {
    job job;
    furrow_status status;
    const char *message, *hint;
  } cases[] = {
      {{"lr", "label-column=y", "plain", false},
       FURROW_E_ARGUMENT,
       "label-column is for csv data, but this is libsvm",
       ""},
      {{"lr", "weight-column=w", "plain", false},
       FURROW_E_ARGUMENT,
       "weight-column is for csv data, but this is libsvm",
       ""},
      {{"lr", "index-base=1", "zero", false},
       FURROW_E_RANGE,
       "the index is 0 in data that counts from 1",
       "set the key `index-base` to 0 for data that counts from 0"},
      {{"lr", "index-base=0", "large", false},
       FURROW_E_RANGE,
       "the index does not fit in 32 bits",
       "a model-type of T_FLOAT_SPARSE_LONGKEY takes larger indices"},
      {{"gbdt", "trees=2", "large", false},
       FURROW_E_RANGE,
       "the index does not fit in 32 bits",
       "trees split by features up to 2147483647; hash larger ones into that range"},
      {{"lr", "index-base=0", "huge", false}, FURROW_E_RANGE, "the index does not fit in 64 bits", ""},
      {{"ffm", "index-base=1 format=libffm", "zero_field", false},
       FURROW_E_RANGE,
       "the field is 0 in data that counts from 1",
       "set the key `index-base` to 0 for data that counts from 0"},
      {{"ffm", "index-base=1 format=libffm", "large_field", false},
       FURROW_E_RANGE,
       "the index does not fit in 32 bits",
       "a model-type of T_FLOAT_SPARSE_LONGKEY takes larger indices"},
      {{"lr", "epochs=1", "twice.csv", false},
       FURROW_E_RANGE,
       "row 1: the row has no label",
       "the key `label-column` names the column of csv data that has it"},
      {{"lr", "label-column=z", "comma.csv", false},
       FURROW_E_ARGUMENT,
       "label_column is neither a number nor the name of a column",
       ""},
      {{"lr", "label-column=y delimiter=#", "comma.csv", false},
       FURROW_E_ARGUMENT,
       "delimiter must be one byte that no number holds",
       ""},
      {{"lr", "label-column=y delimiter=&", "comma.csv", false},
       FURROW_E_ARGUMENT,
       "delimiter must be one byte that no number holds",
       ""},
      {{"lr", "label-column=y delimiter=|", "comma.csv", false},
       FURROW_E_ARGUMENT,
       "label_column is neither a number nor the name of a column",
       ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refused(&cases[i].job, cases[i].status, cases[i].message, cases[i].hint);
}

/* ---- Memory ---- */

static const job jobs[] = {
    {"lr", "epochs=1 delimiter=;", "semicolon.csv", false},
    {"linear", "epochs=1 label-column=y weight-column=b delimiter=,", "comma.csv", false},
    {"ffm", "epochs=1 rank=2", "fields", false},
    {"fm", "epochs=1 rank=2 defaults=angel posneg-ratio=1 valid-ratio=0.2 batch=16", "clicks", true},
    {"deepfm", "epochs=2 rank=2 fc=4 fields=6 defaults=angel batch=16 posneg-ratio=1 shuffle=yes", "clicks", false},
    {"dnn", "epochs=1 fc=4 input-width=4 batch=16 solver=steps start=random class-weights=1,2", "clicks", false},
};

static furrow_status train(const job *of, fw_buffer *net, furrow_error *error) {
  furrow_trainer *trainer = NULL;
  furrow_status status = create(&trainer, of, error);
  if (status == FURROW_OK) status = fit(trainer, of, error);
  atomic_store(&alloc_countdown, -1); /* what looks at the outcome gets its memory */
  if (status == FURROW_OK) *net = snapshot_of(trainer);
  furrow_trainer_free(trainer);
  return status;
}

/* A fit that goes well has found another way, as qsort does, and to the same numbers. */
static bool fails_at(const job *of, long n, const fw_buffer *wanted) {
  const long live = alloc_live;
  furrow_error error = {.status = FURROW_OK};
  fw_buffer net = {0};
  alloc_fail_at(n);
  const furrow_status status = train(of, &net, n % 2 ? &error : NULL);
  const bool met = alloc_failed;
  if (status == FURROW_OK) assert_same_snapshot(&net, wanted);
  if (status != FURROW_OK && status != FURROW_E_MEMORY)
    fail_msg("%s, allocation %ld: %s", of->data, n, furrow_status_name(status));
  if (status != FURROW_OK && n % 2) assert_int_equal(error.status, FURROW_E_MEMORY);
  fw_buffer_clear(&net);
  if (alloc_live != live) fail_msg("%s, allocation %ld: %ld pieces are left", of->data, n, alloc_live - live);
  return met;
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
    fw_buffer wanted = {0};
    long n = 1;
    if (train(&jobs[j], &wanted, &err) != FURROW_OK) fail_msg("%s: %s", jobs[j].data, err.message);
    while (fails_at(&jobs[j], n, &wanted)) n++;
    assert_true(n > 100);
    fw_buffer_clear(&wanted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused_data),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
