/* tests/unit/learn/test_learn_conf_reject.c: each JSON file of tests/reject/conf is refused as its list says: status,
 * byte, message. E_FORMAT comes from reading it, E_ARGUMENT from resolving the graph. */
#include "support/learn_conf.h"
#include "support/reject_list.h"

typedef struct entry {
  char file[128], status[16], message[400];
  long long offset; /* -1: none */
} entry;

static bool read_entry(FILE *list, entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  if (sscanf(line, "%127s %15s %lld %399[^\n]", e->file, e->status, &e->offset, e->message) != 4)
    fail_msg("the list has a line that is not one: %s", line);
  return true;
}

static furrow_status load(const char *path, furrow_error *error) {
  furrow_learn_conf *conf = conf_new();
  furrow_status status = furrow_learn_conf_load(conf, path, error);
  if (status == FURROW_OK) {
    status = furrow_learn_conf_check(conf, error);
    if (status != FURROW_OK) assert_int_equal(status, FURROW_E_ARGUMENT);
  } else {
    assert_int_equal(status, FURROW_E_FORMAT);
    if (error) assert_non_null(strstr(path, error->file));
    assert_string_equal(furrow_learn_conf_get(conf, "epochs"), "30"); /* nothing of the file is kept */
    assert_int_equal(furrow_learn_conf_set_algorithm(conf, "lr", NULL), FURROW_OK);
    assert_int_equal(furrow_learn_conf_check(conf, NULL), FURROW_OK);
  }
  furrow_learn_conf_free(conf);
  return status;
}

static void check(const entry *e) {
  char path[TEST_PATH], wanted[600], found[600];
  furrow_error error = {0};
  reject_path(path, "conf", e->file);
  const furrow_status status = load(path, &error);
  const long long offset = error.offset == FURROW_NO_OFFSET ? -1 : (long long)error.offset;
  snprintf(wanted, sizeof wanted, "%s %lld %s", e->status, e->offset, e->message);
  snprintf(found, sizeof found, "%s %lld %s%s%s", furrow_status_name(status), offset, error.message,
           error.hint[0] ? "; hint: " : "", error.hint);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
  assert_int_equal(load(path, NULL), status);
}

static void listed_files(void **state) {
  (void)state;
  entry e;
  FILE *list = reject_list_open("conf");
  while (read_entry(list, &e)) check(&e);
  fclose(list);
}

static void all_files_are_listed(void **state) {
  (void)state;
  reject_list_is_complete("conf");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_files),
      cmocka_unit_test(all_files_are_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
