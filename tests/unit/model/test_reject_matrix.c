/* tests/unit/model/test_reject_matrix.c: each folder of tests/reject/matrix is refused as its list says: status, file,
 * byte, message; however it is read. */
#include "furrow/model.h"
#include "support/cell_table.h"
#include "support/model_params.h"
#include "support/reject_list.h"

typedef enum manner { VISIT, LOAD, SORTED, MANNERS } manner;

static furrow_status read_folder(const char *path, manner mode, unsigned threads, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  furrow_matrix *matrix = NULL;
  furrow_matrix_load_params params;
  cell_table found;
  furrow_matrix_load_params_init(&params);
  params.threads = threads;
  furrow_status status = furrow_matrix_source_open(&source, path, NULL, err);
  if (status != FURROW_OK) {
    assert_null(source);
    return status;
  }
  table_init(&found, furrow_matrix_source_row_type(source)->element);
  if (mode == VISIT) status = furrow_matrix_for_each_panel(source, SCAN(NULL, threads, 0), table_visit, &found, err);
  if (mode == LOAD) status = furrow_matrix_load_source(&matrix, source, &params, err);
  if (mode == SORTED)
    status = furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, threads, 1), table_visit, &found, err);
  assert_null(matrix);
  table_clear(&found);
  furrow_matrix_source_close(source);
  return status;
}

static void check(const reject_entry *e, manner mode, unsigned threads) {
  char path[TEST_PATH];
  furrow_error err = {0};
  reject_path(path, "matrix", e->folder);
  const furrow_status status = read_folder(path, mode, threads, &err);
  reject_entry_check(e, status, &err);
  assert_int_equal(read_folder(path, mode, threads, NULL), status);
}

static void listed_folders(void **state) {
  (void)state;
  reject_entry e;
  FILE *list = reject_list_open("matrix");
  while (reject_entry_next(list, &e))
    for (manner mode = VISIT; mode < MANNERS; mode++)
      for (unsigned threads = 1; threads <= 2; threads++) check(&e, mode, threads);
  fclose(list);
}

static void all_folders_are_listed(void **state) {
  (void)state;
  reject_list_is_complete("matrix");
}

int main(int argc, char **argv) {
  if (argc > 1) { /* names of folders: what they are answered, for the list */
    for (int i = 1; i < argc; i++) {
      char path[TEST_PATH], text[512];
      furrow_error err = {0};
      reject_path(path, "matrix", argv[i]);
      reject_tell(text, argv[i], read_folder(path, VISIT, 1, &err), &err);
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
