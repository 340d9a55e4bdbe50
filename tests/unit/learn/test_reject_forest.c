/* tests/unit/learn/test_reject_forest.c: each model of tests/reject/forest is refused as its list says: status, file,
 * byte, message; with one thread and with two. */
#include "learn/forest/forest.h"
#include "support/reject_list.h"

static furrow_status read_folder(const char *name, unsigned threads, furrow_error *err) {
  const fw_plan plan = {.data.range = 9, .graph.outputs = strcmp(name, "classes_odd") == 0 ? 2 : 1};
  char path[TEST_PATH];
  fw_forest *forest = NULL;
  reject_path(path, "forest", name);
  const furrow_status status = fw_forest_load(&forest, &plan, path, threads, err);
  assert_null(forest);
  return status;
}

static void listed_folders(void **state) {
  (void)state;
  reject_entry e;
  FILE *list = reject_list_open("forest");
  while (reject_entry_next(list, &e)) {
    for (unsigned threads = 1; threads <= 2; threads++) {
      furrow_error err = {0};
      const furrow_status status = read_folder(e.folder, threads, &err);
      reject_entry_check(&e, status, &err);
      assert_int_equal(read_folder(e.folder, threads, NULL), status);
    }
  }
  fclose(list);
}

static void all_folders_are_listed(void **state) {
  (void)state;
  reject_list_is_complete("forest");
}

int main(int argc, char **argv) {
  if (argc > 1) { /* names of folders: what they are answered, for the list */
    for (int i = 1; i < argc; i++) {
      char text[512];
      furrow_error err = {0};
      reject_tell(text, argv[i], read_folder(argv[i], 1, &err), &err);
      printf("%s %s\n", argv[i], text);
    }
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_folders),
      cmocka_unit_test(all_folders_are_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
