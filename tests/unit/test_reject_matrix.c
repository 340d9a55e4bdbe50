/* tests/unit/test_reject_matrix.c: each folder of tests/reject/matrix is refused as its list says: status, file, byte,
 * message; however it is read. */
#include "furrow/model.h"
#include "support/cell_table.h"
#include "support/reject_list.h"

typedef struct entry {
  char folder[64], status[16], file[64], offset[24], message[256];
} entry;

static bool read_entry(FILE *list, entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  const int n = sscanf(line, "%63s %15s %63s %23s %255[^\n]", e->folder, e->status, e->file, e->offset, e->message);
  if (n != 5) fail_msg("the list has a line that is not one: %s", line);
  return true;
}

/* Everything about the error in one line; the file without what stands before the folder. */
static void tell(char text[512], const char *folder, furrow_status status, const furrow_error *err) {
  const char *file = strstr(err->file, folder);
  char offset[24] = "-";
  if (err->offset != FURROW_NO_OFFSET) snprintf(offset, sizeof offset, "%llu", (unsigned long long)err->offset);
  file = file ? file + strlen(folder) + 1 : "-";
  snprintf(text, 512, "%s %s %s %s", furrow_status_name(status), file, offset, err->message);
}

typedef enum manner { VISIT, LOAD, SORTED, MANNERS } manner;

static furrow_status read_folder(const char *path, manner how, unsigned threads, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  furrow_matrix *matrix = NULL;
  furrow_load_params params;
  cell_table found;
  furrow_load_params_init(&params);
  params.threads = threads;
  furrow_status status = furrow_matrix_source_open(&source, path, NULL, err);
  if (status != FURROW_OK) {
    assert_null(source);
    return status;
  }
  table_init(&found, furrow_matrix_source_row_type(source)->element);
  if (how == VISIT) status = furrow_matrix_visit(source, NULL, threads, table_visit, &found, err);
  if (how == LOAD) status = furrow_matrix_load_source(&matrix, source, &params, err);
  if (how == SORTED) status = furrow_matrix_visit_sorted(source, NULL, threads, 1, table_visit, &found, err);
  assert_null(matrix);
  table_clear(&found);
  furrow_matrix_source_close(source);
  return status;
}

static void check(const entry *e, manner how, unsigned threads) {
  char path[TEST_PATH], wanted[512], found[512];
  furrow_error err = {0};
  reject_path(path, "matrix", e->folder);
  const furrow_status status = read_folder(path, how, threads, &err);
  snprintf(wanted, sizeof wanted, "%s %s %s %s", e->status, e->file, e->offset, e->message);
  tell(found, e->folder, status, &err);
  assert_int_equal(err.status, status);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->folder, found, wanted);
}

static void listed_folders(void **state) {
  (void)state;
  entry e;
  FILE *list = reject_list_open("matrix");
  while (read_entry(list, &e))
    for (manner how = VISIT; how < MANNERS; how++)
      for (unsigned threads = 1; threads <= 2; threads++) check(&e, how, threads);
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
      tell(text, argv[i], read_folder(path, VISIT, 1, &err), &err);
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
