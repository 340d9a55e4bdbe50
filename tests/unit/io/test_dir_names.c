/* tests/unit/io/test_dir_names.c: names of a directory, and paths of them. */
#include "support/cmocka_all.h"

#include "base/mem.h"
#include "io/dir_names.h"
#include "support/own_dir.h"

static bool begins_with_b(void *user, const char *name) {
  ++*(int *)user;
  return name[0] == 'b';
}

static void names(void **state) {
  (void)state;
  static const char *const made[] = {"b", "a", "B", "bb", ".h", "\xc3\xa4"};
  static const char *const sorted[] = {".h", "B", "a", "b", "bb", "\xc3\xa4"};
  for (size_t i = 0; i < 6; i++) assert_true(test_write_text(made[i], ""));
  fw_dir_names list = {0};
  assert_int_equal(fw_dir_names_read(&list, ".", NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(list.count, 6);
  for (size_t i = 0; i < 6; i++) assert_string_equal(list.names[i], sorted[i]);
  fw_dir_names_clear(&list);
  int asked = 0;
  assert_int_equal(fw_dir_names_read(&list, ".", begins_with_b, &asked, NULL), FURROW_OK);
  assert_int_equal(list.count, 2);
  assert_int_equal(asked, 6);
  fw_dir_names_clear(&list);
  assert_null(list.names);
}

static void what_is_not_a_directory(void **state) {
  (void)state;
  assert_true(test_write_text("file", ""));
  fw_dir_names list = {0};
  furrow_error err = {.status = FURROW_OK};
  assert_int_equal(fw_dir_names_read(&list, "nowhere", NULL, NULL, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "nowhere");
  assert_int_equal(fw_dir_names_read(&list, "file", NULL, NULL, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.message, "not a directory");
  fw_dir_names_clear(&list);
}

static void paths(void **state) {
  (void)state;
  static const char *const cases[][3] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a//", "b", "a/b"},
                                         {"/", "b", "/b"},  {"//", "b", "/b"},  {"", "b", "b"},
                                         {"a/", "", "a"},   {"/", "", "/"},     {"a/b", "c", "a/b/c"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *path = NULL;
    assert_int_equal(fw_path_join(&path, cases[i][0], cases[i][1], NULL), FURROW_OK);
    assert_string_equal(path, cases[i][2]);
    fw_free(path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(names, enter_dir, leave_dir),
                                     cmocka_unit_test_setup_teardown(what_is_not_a_directory, enter_dir, leave_dir),
                                     cmocka_unit_test(paths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
