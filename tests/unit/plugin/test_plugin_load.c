/* tests/unit/plugin/test_plugin_load.c: what shared objects add. */
#include <stdlib.h>

#include "furrow/furrow.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

static furrow_status load(const char *name, furrow_error *err) {
  char path[TEST_PATH];
  const char *build = getenv("FURROW_BUILD");
  if (!build) skip();
  snprintf(path, sizeof path, "%s/tests/plugin/%s", build, name);
  return furrow_plugin_load(path, err);
}

/* A format of rows and a file system at once: the rows of the format from a file of the system. */
static void what_a_plugin_brings_is_used(void **state) {
  (void)state;
  furrow_error err;
  furrow_parser *parser = NULL;
  const furrow_status status = load("plugin_rows.so", &err);
  if (status != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  assert_int_equal(furrow_parser_open_part(&parser, "plugged://abc", 0, 1, "letters", &err), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, &err), FURROW_OK);
  const furrow_row row = furrow_rowblock_row(furrow_parser_value(parser), 0);
  assert_int_equal(row.length, 3);
  assert_int_equal(furrow_row_get_index(&row, 2), 2);
  assert_int_equal(furrow_parser_next(parser, &err), FURROW_END);
  furrow_parser_close(parser);
  assert_int_equal(load("plugin_rows.so", &err), FURROW_E_EXISTS); /* its init says so */
  assert_non_null(strstr(err.message, "plugged"));
  assert_non_null(strstr(err.file, "plugin_rows.so"));
}

static void what_fails_leaves_nothing(void **state) {
  (void)state;
  const furrow_rows_format *format = NULL;
  furrow_error err;
  assert_int_equal(load("plugin_init_fails.so", &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "not today");
  assert_int_equal(load("plugin_init_fails.so", NULL), FURROW_E_UNSUPPORTED);
  assert_int_equal(load("plugin_half.so", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_rows_format_find("half_letters", &format, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(load("plugin_nothing.so", &err), FURROW_E_FORMAT);
  assert_int_equal(furrow_plugin_load("none.so", &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "none.so");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_plugin_brings_is_used),
      cmocka_unit_test(what_fails_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
