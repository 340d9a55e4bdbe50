/* tests/unit/test_matrix_golden.c: every matrix folder that Angel itself wrote has the elements that Angel says. */
#include <dirent.h>

#include "furrow/model.h"
#include "support/cell_table.h"
#include "support/test_env.h"

static furrow_matrix_source *open_folder(const char *folder, const furrow_source_params *params) {
  furrow_matrix_source *source = NULL;
  furrow_error err = {0};
  if (furrow_matrix_source_open(&source, folder, params, &err) != FURROW_OK)
    fail_msg("%s: %s: %s", folder, err.file, err.message);
  return source;
}

static void check_visit(const char *folder, const furrow_matrix_source *source, const cell_table *wanted) {
  for (unsigned threads = 1; threads <= 3; threads++) {
    cell_table found;
    furrow_error err = {0};
    table_init(&found, wanted->type);
    if (furrow_matrix_visit(source, NULL, threads, table_visit, &found, &err) != FURROW_OK)
      fail_msg("%s: %s byte %llu: %s", folder, err.file, (unsigned long long)err.offset, err.message);
    table_sort(&found);
    assert_same_tables(folder, &found, wanted);
    table_clear(&found);
  }
}

static void check_loaded(const char *folder, const furrow_matrix *matrix, const cell_table *wanted) {
  cell_table found;
  table_init(&found, wanted->type);
  assert_int_equal(furrow_matrix_count(matrix), wanted->count);
  for (size_t i = 0; i < furrow_matrix_panel_count(matrix); i++)
    table_add_panel(&found, furrow_matrix_panel(matrix, i));
  table_sort(&found);
  assert_same_tables(folder, &found, wanted);
  table_clear(&found);
  assert_int_equal(furrow_matrix_count(matrix), wanted->count);
  for (size_t i = 0; i < wanted->count; i++) {
    const cell *c = &wanted->cells[i];
    int64_t element[1] = {0};
    assert_true(furrow_matrix_element(matrix, c->row, c->col, element));
    assert_true(table_bits(wanted->type, element) == c->bits);
  }
}

static void check_load(const char *folder, const furrow_matrix_source *source, const cell_table *wanted) {
  furrow_load_params params;
  furrow_load_params_init(&params);
  for (params.threads = 1; params.threads <= 2; params.threads++) {
    furrow_matrix *matrix = NULL;
    furrow_error err = {0};
    if (furrow_matrix_load_source(&matrix, source, &params, &err) != FURROW_OK)
      fail_msg("%s: %s byte %llu: %s", folder, err.file, (unsigned long long)err.offset, err.message);
    check_loaded(folder, matrix, wanted);
    furrow_matrix_free(matrix);
  }
}

static void check_folder(const char *folder, const char *expected) {
  furrow_matrix_source *source = open_folder(folder, NULL);
  cell_table wanted;
  table_init(&wanted, furrow_matrix_source_row_type(source)->element);
  assert_true(table_read_tsv(&wanted, expected));
  table_sort(&wanted);
  check_visit(folder, source, &wanted);
  check_load(folder, source, &wanted);
  table_clear(&wanted);
  furrow_matrix_source_close(source);
}

/* Works in the folder of all cases, so that a case is its name. */
static void golden_folders(void **state) {
  (void)state;
  char root[TEST_PATH], home[TEST_PATH], expected[TEST_PATH];
  size_t checked = 0;
  if (!test_shared(root, "golden/angel")) skip();
  assert_true(getcwd(home, sizeof home) && chdir(root) == 0);
  DIR *handle = opendir(".");
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle)) != NULL;) {
    snprintf(expected, sizeof expected, "%s/expected.tsv", entry->d_name);
    if (entry->d_name[0] == '.' || access(expected, R_OK) != 0) continue;
    check_folder(entry->d_name, expected);
    checked++;
  }
  closedir(handle);
  assert_int_equal(chdir(home), 0);
  assert_true(checked > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_folders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
