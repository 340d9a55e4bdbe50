/* tests/unit/learn/test_model_json.c: furrow.json of a model: what is taken from it, what is skipped, and each file
 * of tests/reject/model_json, which is refused as its list says: status, byte, message. */
#include "learn/conf/conf.h"
#include "support/made_clicks.h"
#include "support/own_data.h"
#include "support/reject_list.h"

/* ---- Files that are refused ---- */

typedef struct entry {
  char file[128], status[20], message[400];
  long long offset; /* -1: none */
} entry;

static bool read_entry(FILE *list, entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  if (sscanf(line, "%127s %19s %lld %399[^\n]", e->file, e->status, &e->offset, e->message) != 4)
    fail_msg("the list has a line that is not one: %s", line);
  return true;
}

static furrow_status read_text(furrow_learn_conf *conf, const char *text, furrow_error *error) {
  return fw_model_json_read(conf, text, strlen(text), "furrow.json", error);
}

static void check(const entry *e) {
  char path[TEST_PATH], text[1024], wanted[600], found[600];
  furrow_error error = {0};
  reject_path(path, "model_json", e->file);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  furrow_learn_conf *conf = conf_new();
  const furrow_status status = read_text(conf, text, &error);
  assert_string_equal(error.file, "furrow.json");
  const long long offset = error.offset == FURROW_NO_OFFSET ? -1 : (long long)error.offset;
  snprintf(wanted, sizeof wanted, "%s %lld %s", e->status, e->offset, e->message);
  snprintf(found, sizeof found, "%s %lld %s", furrow_status_name(status), offset, error.message);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
  furrow_learn_conf_free(conf);
}

static void listed_files(void **state) {
  (void)state;
  entry e;
  FILE *list = reject_list_open("model_json");
  while (read_entry(list, &e)) check(&e);
  fclose(list);
}

static void all_files_are_listed(void **state) {
  (void)state;
  reject_list_is_complete("model_json");
}

/* ---- What is taken ---- */

static void expect(const furrow_learn_conf *conf, const char *key, const char *value) {
  if (strcmp(furrow_learn_conf_get(conf, key), value) != 0)
    fail_msg("%s is %s, not %s", key, furrow_learn_conf_get(conf, key), value);
}

static void members_become_keys(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  const furrow_status status = read_text(
      conf,
      "{\"version\":1,\"furrow\":\"9\",\"data\":{\"format\":\"csv\",\"index_base\":0,\"columns\":[\"a,b\",\"c&d\",\"e "
      "f\",\"\\u00fc\",\"\"],\"class_names\":\"[\\\"a\\\", true]\",\"label_column\":\"y & "
      "z\",\"weight_column\":\"w\",\"delimiter\":\";\",\"rows\":7},"
      "\"labels\":[-1.5,0,2e3],\"training\":{\"settings\":{\"lr\":\"77\"}}}",
      &err);
  if (status != FURROW_OK) fail_msg("%s", err.message);
  expect(conf, "format", "csv");
  expect(conf, "index-base", "0");
  expect(conf, "columns", "a%2Cb,c%26d,e%20f,\u00fc,");
  expect(conf, "class-names", "[\"a\", true]");
  expect(conf, "label-column", "y & z");
  expect(conf, "weight-column", "w");
  expect(conf, "delimiter", ";");
  expect(conf, "labels", "-1.5,0,2e3");
  expect(conf, "lr", "0.5"); /* settings are for people */
  furrow_learn_conf_free(conf);
}

static void others_are_skipped(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(
      read_text(conf, "{\"version\":1,\"new\":[{\"a\":{}}],\"data\":{\"new\":\"x\",\"format\":null}}", &err),
      FURROW_OK);
  expect(conf, "format", "libsvm");
  assert_int_equal(read_text(conf, "{}", &err), FURROW_OK);
  furrow_learn_conf_free(conf);
}

/* ---- Visits ---- */

typedef struct visits {
  char lines[600];
  int most; /* END after so many; 0: all */
} visits;

static furrow_status visit(void *user, const char *member, const char *text) {
  visits *v = user;
  const size_t used = strlen(v->lines);
  snprintf(v->lines + used, sizeof v->lines - used, "%s=%s\n", member, text ? text : "(null)");
  return v->most > 0 && --v->most == 0 ? FURROW_END : FURROW_OK;
}

static void values_are_visited_in_order(void **state) {
  (void)state;
  visits all = {0}, two = {.most = 2}, none = {0};
  assert_true(test_write_text(
      "furrow.json", "{\"version\":1,\"algorithm\":null,\"data\":{\"columns\":[\"a\\u0041\",\"\"],\"rows\":7},"
                     "\"labels\":[-1.5,2e3],\"new\":[[true,{\"deep\":\"x\"}],{}],\"notes\":[],\"last\":false}"));
  assert_int_equal(furrow_model_json_for_each("furrow.json", visit, &all, &err), FURROW_OK);
  assert_string_equal(all.lines, "version=1\nalgorithm=(null)\ndata/columns=aA\ndata/columns=\ndata/rows=7\n"
                                 "labels=-1.5\nlabels=2e3\nnew=true\nnew/deep=x\nlast=false\n");
  assert_int_equal(furrow_model_json_for_each("furrow.json", visit, &two, &err), FURROW_END);
  assert_string_equal(two.lines, "version=1\nalgorithm=(null)\n");
  assert_int_equal(furrow_model_json_for_each("missing.json", visit, &none, &err), FURROW_E_NOT_FOUND);
  assert_true(test_write_text("furrow.json", "{\"version\":1,\"labels\":[1,2]"));
  assert_int_equal(furrow_model_json_for_each("furrow.json", visit, &none, &err), FURROW_E_FORMAT);
  assert_true(test_write_text("furrow.json", "{\"version\":2}"));
  assert_int_equal(furrow_model_json_for_each("furrow.json", visit, &none, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(none.lines, "");
}

/* Members of any length and depth. */
static void long_members_are_cut(void **state) {
  (void)state;
  char text[4000] = "{\"version\":1,\"a\":", key[300];
  visits all = {0};
  memset(key, 'k', sizeof key - 1);
  key[sizeof key - 1] = 0;
  for (int i = 0; i < 8; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "{\"%s\":", key);
  strcat(text, "5}}}}}}}},\"b\":6}");
  assert_true(test_write_text("furrow.json", text));
  assert_int_equal(furrow_model_json_for_each("furrow.json", visit, &all, &err), FURROW_OK);
  assert_int_equal(strlen(all.lines), strlen("version=1\n") + 255 + strlen("=5\n") + strlen("b=6\n"));
  assert_string_equal(all.lines + strlen(all.lines) - 7, "=5\nb=6\n");
}

/* ---- Models ---- */

/* Models of Angel have no furrow.json; one that is damaged is an error, and not a model without it. */
static void models_without_and_with_a_bad_one(void **state) {
  (void)state;
  static const float labels[] = {5, 6};
  write_blobs("two", 200, 2, labels, 1);
  furrow_trainer *trainer = own_trainer("lr", "", 1, NULL);
  furrow_scorer *scorer = NULL;
  fit_or_fail(trainer, "two", NULL, NULL);
  assert_int_equal(furrow_trainer_save(trainer, "model", NULL, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  assert_int_equal(furrow_scorer_load(&scorer, "model", NULL, &err), FURROW_OK);
  assert_true(furrow_scorer_class_label(scorer, 0) == 5 && furrow_scorer_class_label(scorer, 1) == 6);
  furrow_scorer_free(scorer);
  assert_true(test_write_text("model/furrow.json", "{\"version\":1,\"labels\":[1,"));
  assert_int_equal(furrow_scorer_load(&scorer, "model", NULL, &err), FURROW_E_FORMAT);
  assert_string_equal(err.file, "model/furrow.json");
  assert_true(test_write_text("model/furrow.json", "{\"version\":2}"));
  assert_int_equal(furrow_scorer_load(&scorer, "model", NULL, &err), FURROW_E_UNSUPPORTED);
  assert_true(test_write_text("model/furrow.json", "{\"version\":1,\"labels\":[1,2,3]}"));
  assert_int_equal(furrow_scorer_load(&scorer, "model", NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(remove("model/furrow.json"), 0);
  assert_int_equal(furrow_scorer_load(&scorer, "model", NULL, &err), FURROW_OK);
  assert_true(furrow_scorer_class_label(scorer, 0) == -1 && furrow_scorer_class_label(scorer, 1) == 1);
  furrow_scorer_free(scorer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_files),
      cmocka_unit_test(all_files_are_listed),
      cmocka_unit_test(members_become_keys),
      cmocka_unit_test(others_are_skipped),
      cmocka_unit_test(values_are_visited_in_order),
      cmocka_unit_test(long_members_are_cut),
      cmocka_unit_test(models_without_and_with_a_bad_one),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
