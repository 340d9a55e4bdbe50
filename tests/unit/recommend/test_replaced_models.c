/* tests/unit/recommend/test_replaced_models.c: a model directory that is replaced while it is read: whatever file is
 * opened next, nobody gets a half of each model. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "furrow/exchange.h"
#include "furrow/init.h"
#include "furrow/io.h"
#include "furrow/recommend.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

static furrow_error err;

#define ok(call)                                                                    \
  do {                                                                              \
    furrow_status ok_ = (call);                                                     \
    if (ok_ != FURROW_OK) fail_msg("%s: %s", furrow_status_text(ok_), err.message); \
  } while (0)

/* ---- The replacement ------------------------------------------------------------------------------------ */

static int opens, race_at; /* before this file of the model is opened, it is replaced; 0: never */

static void exchange_models(void) {
  assert_int_equal(renameat2(AT_FDCWD, "m", AT_FDCWD, "other", RENAME_EXCHANGE), 0);
}

/* The test program's own version of what the library calls. */
int open(const char *path, int flags, ...) {
  static int (*next)(const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  if (strncmp(path, "m/", 2) == 0 && !(flags & O_PATH) && ++opens == race_at) exchange_models();
  return next(path, flags, mode);
}

/* ---- Models --------------------------------------------------------------------------------------------- */

static const char schema_text[] =
    "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": \"category\", \"role\": "
    "\"item\"}, \"label\": {\"as\": \"label\"}}}";

/* Two logs with the same users and items in another order, so that the models have files of the same sizes. */
static void train(const char *folder, const char *algorithm, const char *log, unsigned step) {
  FILE *file = fopen(log, "w");
  assert_non_null(file);
  fprintf(file, "user,item,label\n");
  for (unsigned i = 0; i < 600; i++)
    fprintf(file, "u%u,i%u,%d\n", (i * step) % 20, (i * step + i / 20) % 30, (i * step / 3) % 2);
  fclose(file);
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  ok(furrow_schema_parse(&schema, schema_text, strlen(schema_text), &err));
  ok(furrow_encoder_build(&encoder, log, schema, NULL, &err));
  ok(furrow_encoder_save(encoder, "encoder", true, &err));
  const char *const settings[] = {"encoder=encoder", "format=table",
                                  strcmp(algorithm, "gbdt") == 0 ? "trees=2" : "epochs=1", NULL};
  const furrow_train_params params = FURROW_INIT(furrow_train_params, .settings = settings);
  ok(furrow_train(NULL, algorithm, log, folder, &params, &err));
  furrow_schema_free(schema);
  furrow_encoder_free(encoder);
}

/* ---- Readers -------------------------------------------------------------------------------------------- */

typedef furrow_status (*reader)(void);

static furrow_status load_conf(void) {
  furrow_learn_conf *conf = NULL;
  ok(furrow_learn_conf_create(&conf, &err));
  const furrow_status status = furrow_learn_conf_load_model(conf, "m", &err);
  furrow_learn_conf_free(conf);
  return status;
}

static furrow_status load_encoder(void) {
  furrow_encoder *encoder = NULL;
  const furrow_status status = furrow_encoder_load(&encoder, "m", &err);
  assert_true((status == FURROW_OK) == (encoder != NULL));
  furrow_encoder_free(encoder);
  return status;
}

static furrow_status load_scorer(void) {
  furrow_scorer *scorer = NULL;
  const furrow_status status = furrow_scorer_load(&scorer, "m", NULL, &err);
  assert_true((status == FURROW_OK) == (scorer != NULL));
  furrow_scorer_free(scorer);
  return status;
}

static furrow_status open_recommender(void) {
  furrow_recommender *recommender = NULL;
  const furrow_status status = furrow_recommender_open(&recommender, "m", NULL, &err);
  assert_true((status == FURROW_OK) == (recommender != NULL));
  furrow_recommender_free(recommender);
  return status;
}

static furrow_status train_further(void) {
  const furrow_trainer_params params = FURROW_INIT(furrow_trainer_params, .load = "m", .threads = 1);
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  ok(furrow_learn_conf_create(&conf, &err));
  ok(furrow_learn_conf_set_algorithm(conf, "fm", &err));
  const furrow_status status = furrow_trainer_create(&trainer, conf, &params, &err);
  assert_true((status == FURROW_OK) == (trainer != NULL));
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return status;
}

static furrow_status convert_model(void) {
  const furrow_matrix_write_params write = FURROW_INIT(furrow_matrix_write_params, .overwrite = true, .threads = 1);
  const furrow_model_convert_params params = FURROW_INIT(furrow_model_convert_params, .write = &write);
  assert_int_equal(system("rm -rf copy"), 0);
  const furrow_status status = furrow_model_convert("m", "copy", &params, NULL, &err);
  assert_true((status == FURROW_OK) == (access("copy", F_OK) == 0));
  return status;
}

static furrow_status export_model(void) {
  const furrow_model_export_params params =
      FURROW_INIT(furrow_model_export_params, .format = FURROW_EXCHANGE_SAFETENSORS, .threads = 1);
  assert_true(access("all.safetensors", F_OK) != 0 || unlink("all.safetensors") == 0);
  const furrow_status status = furrow_model_export("m", "all.safetensors", &params, NULL, &err);
  assert_true((status == FURROW_OK) == (access("all.safetensors", F_OK) == 0));
  return status;
}

static furrow_status open_matrix(void) {
  furrow_matrix_source *source = NULL;
  const furrow_status status = furrow_matrix_source_open(&source, "m/input_weight", NULL, &err);
  assert_true((status == FURROW_OK) == (source != NULL));
  furrow_matrix_source_close(source);
  return status;
}

static furrow_status verify_matrix(void) {
  return furrow_matrix_verify("m/input_weight", NULL, &err);
}

/* Replaces the model before each file that the reader opens. */
static void race(const char *name, reader read) {
  int races = 0;
  for (race_at = 1;; race_at++) {
    opens = 0;
    memset(&err, 0, sizeof err);
    const furrow_status status = read();
    const bool raced = opens >= race_at;
    if (raced && status != FURROW_E_STATE)
      fail_msg("%s, file %d: %s: %s", name, race_at, furrow_status_text(status), err.message);
    if (raced) assert_string_equal(err.message, "was replaced while it was read");
    if (raced) assert_non_null(strstr(err.hint, "run it again"));
    races += raced;
    if (raced) exchange_models();
    if (!raced && status != FURROW_OK) fail_msg("%s: %s", name, err.message);
    if (!raced) break;
  }
  race_at = 0;
  if (races == 0) fail_msg("%s opens nothing", name);
}

static void no_reader_mixes_two_models(void **state) {
  (void)state;
  static const struct {
    const char *name;
    reader read;
  } readers[] = {{"conf", load_conf},        {"encoder", load_encoder},
                 {"scorer", load_scorer},    {"recommender", open_recommender},
                 {"trainer", train_further}, {"convert", convert_model},
                 {"export", export_model},   {"matrix", open_matrix},
                 {"verify", verify_matrix}};
  train("m", "fm", "a.csv", 7);
  train("other", "fm", "b.csv", 13);
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) race(readers[i].name, readers[i].read);
}

static void no_reader_mixes_two_forests(void **state) {
  (void)state;
  assert_int_equal(system("rm -rf m other"), 0);
  train("m", "gbdt", "a.csv", 7);
  train("other", "gbdt", "b.csv", 13);
  race("scorer", load_scorer);
  race("convert", convert_model);
}

/* ---- The watch ------------------------------------------------------------------------------------------ */

typedef enum change { NOTHING, REPLACE, APPEND, REMOVE, APPEAR, FILE_INSIDE } change;

static void do_change(const char *path, change what) {
  char command[256];
  static const char *const commands[] = {
      [REPLACE] = "cp -a %1$s %1$s.new && rm -r %1$s && mv %1$s.new %1$s",
      [APPEND] = "echo more >>%1$s",
      [REMOVE] = "rm -r %1$s",
      [APPEAR] = "echo text >%1$s",
      [FILE_INSIDE] = "touch %1$s/inside",
  };
  if (what == NOTHING) return;
  snprintf(command, sizeof command, commands[what], path);
  assert_int_equal(system(command), 0);
}

static void a_watch_tells_what_was_replaced(void **state) {
  (void)state;
  static const struct {
    const char *path;
    change what;
    bool replaced;
  } cases[] = {{"file", NOTHING, false},  {"file", REPLACE, true},          {"file", APPEND, true},
               {"file", REMOVE, true},    {"file", APPEAR, true},           {"folder", NOTHING, false},
               {"folder", REPLACE, true}, {"folder", FILE_INSIDE, false},   {"folder", REMOVE, true},
               {"none", NOTHING, false},  {"memory://file", NOTHING, false}};
  ok(furrow_memory_file_add("memory://file", "text", 4, NULL, NULL, &err));
  assert_int_equal(system("echo text >file && mkdir folder"), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int failed = 0; failed < 2; failed++) {
      furrow_path_watch *watch = NULL;
      const furrow_status before = failed ? FURROW_E_FORMAT : FURROW_OK;
      ok(furrow_path_watch_begin(&watch, cases[i].path, &err));
      if (!failed || cases[i].what == APPEND || cases[i].what == REPLACE) do_change(cases[i].path, cases[i].what);
      const bool same = failed && (cases[i].what == REMOVE || cases[i].what == APPEAR);
      memset(&err, 0, sizeof err);
      assert_int_equal(furrow_path_watch_end(watch, before, &err),
                       cases[i].replaced && !same ? FURROW_E_STATE : before);
    }
  }
  furrow_path_watch *watch = NULL;
  ok(furrow_path_watch_begin(&watch, "file", &err));
  do_change("file", REPLACE);
  assert_int_equal(furrow_path_watch_end(watch, FURROW_E_MEMORY, &err), FURROW_E_MEMORY);
  ok(furrow_memory_file_remove("memory://file", &err));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_watch_tells_what_was_replaced),
      cmocka_unit_test(no_reader_mixes_two_models),
      cmocka_unit_test(no_reader_mixes_two_forests),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
