/* tests/unit/model/test_matrix_golden.c: every matrix folder that Angel itself wrote has the elements that Angel says.
 */
#include <dirent.h>

#include "furrow/model.h"
#include "support/cell_table.h"
#include "support/golden_case.h"
#include "support/model_params.h"
#include "support/own_dir.h"

static furrow_matrix_source *open_folder(const char *folder, const furrow_matrix_source_params *params) {
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
    if (furrow_matrix_for_each_panel(source, SCAN(NULL, threads, 0), table_visit, &found, &err) != FURROW_OK)
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
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  for (params.threads = 1; params.threads <= 2; params.threads++) {
    furrow_matrix *matrix = NULL;
    furrow_error err = {0};
    if (furrow_matrix_load_source(&matrix, source, &params, &err) != FURROW_OK)
      fail_msg("%s: %s byte %llu: %s", folder, err.file, (unsigned long long)err.offset, err.message);
    check_loaded(folder, matrix, wanted);
    furrow_matrix_free(matrix);
  }
}

/* Elements in order, read in one piece or in as many as there can be. */
static void check_sorted(const char *folder, const furrow_matrix_source *source,
                         const furrow_matrix_selection *selection, const cell_table *wanted) {
  static const size_t memories[] = {0, 1, 300, 3000};
  for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
    cell_table found;
    furrow_error err = {0};
    table_init(&found, wanted->type);
    if (furrow_matrix_for_each_panel_sorted(source, SCAN(selection, 1 + (unsigned)i % 2, memories[i]), table_visit,
                                            &found, &err) != FURROW_OK)
      fail_msg("%s: %s byte %llu: %s", folder, err.file, (unsigned long long)err.offset, err.message);
    assert_same_tables(folder, &found, wanted);
    table_clear(&found);
  }
}

static bool is_among(int32_t id, const int32_t *ids, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (ids[i] == id) return true;
  return false;
}

/* Which partition an element came from is only known of those that have columns of their own. */
static bool is_chosen(const furrow_matrix_meta *meta, const furrow_matrix_selection *s, const cell *c) {
  if (s->rows && !is_among(c->row, s->rows, s->row_count)) return false;
  if (c->col < s->first_col || c->col >= s->end_col) return false;
  for (size_t i = 0; s->part_ids && i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    if (c->row >= part->start_row && c->row < part->end_row && c->col >= part->start_col && c->col < part->end_col)
      return is_among(part->part_id, s->part_ids, s->part_count);
  }
  return true;
}

static void check_selection(const char *folder, const furrow_matrix_source *source,
                            const furrow_matrix_selection *selection, const cell_table *all) {
  cell_table wanted;
  table_init(&wanted, all->type);
  for (size_t i = 0; i < all->count; i++) {
    const cell *c = &all->cells[i];
    if (is_chosen(furrow_matrix_source_meta(source), selection, c)) table_add(&wanted, c->row, c->col, c->bits);
  }
  check_sorted(folder, source, selection, &wanted);
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.selection = selection;
  for (params.threads = 1; params.threads <= 2; params.threads++) {
    furrow_matrix *matrix = NULL;
    assert_int_equal(furrow_matrix_load_source(&matrix, source, &params, NULL), FURROW_OK);
    check_loaded(folder, matrix, &wanted);
    furrow_matrix_free(matrix);
  }
  table_clear(&wanted);
}

static void check_selections(const char *folder, const furrow_matrix_source *source, const cell_table *all) {
  static const int32_t rows[] = {2, 17, 0, 2, 99, 11}, none[] = {77}, parts[] = {1, 0};
  furrow_matrix_selection s;
  furrow_matrix_selection_init(&s);
  s.rows = rows;
  s.row_count = sizeof rows / sizeof rows[0];
  check_selection(folder, source, &s, all);
  for (int64_t first = -1; first < 30; first += 3)
    for (s.first_col = first, s.end_col = first; s.end_col < first + 12; s.end_col += 4)
      check_selection(folder, source, &s, all);
  s.rows = none;
  s.row_count = 1;
  check_selection(folder, source, &s, all);
  furrow_matrix_selection_init(&s);
  s.first_col = 7;
  check_selection(folder, source, &s, all);
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  if (meta->part_count < 2 || meta->parts[0].end_col == 0) return;
  s.part_ids = parts;
  s.part_count = 2;
  check_selection(folder, source, &s, all);
  s.part_count = 1;
  check_selection(folder, source, &s, all);
}

static void check_folder(const char *folder, const char *expected) {
  furrow_matrix_source *source = open_folder(folder, NULL);
  cell_table wanted;
  table_init(&wanted, furrow_matrix_source_row_type(source)->element);
  assert_true(table_read_tsv(&wanted, expected));
  table_sort(&wanted);
  check_visit(folder, source, &wanted);
  check_load(folder, source, &wanted);
  check_sorted(folder, source, NULL, &wanted);
  check_selections(folder, source, &wanted);
  table_clear(&wanted);
  furrow_matrix_source_close(source);
}

/* Works in the folder of all cases, so that a case is its name. */
static void golden_folders(void **state) {
  (void)state;
  char root[TEST_PATH], before[TEST_PATH], expected[TEST_PATH];
  size_t checked = 0;
  assert_true(getcwd(before, sizeof before) && chdir(golden_path(root, "angel")) == 0);
  DIR *handle = opendir(".");
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle)) != NULL;) {
    snprintf(expected, sizeof expected, "%s/expected.tsv", entry->d_name);
    if (entry->d_name[0] == '.' || access(expected, R_OK) != 0) continue;
    check_folder(entry->d_name, expected);
    checked++;
  }
  closedir(handle);
  assert_int_equal(chdir(before), 0);
  assert_true(checked > 50);
}

/* A model: its text, read the plain way. Columns begin anew with each row. */
static void a_model_of_text(void **state) {
  (void)state;
  static const char *const matrices[] = {"input_weight", "input_bias"};
  char root[TEST_PATH], folder[2 * TEST_PATH], file[2 * TEST_PATH + 2];
  golden_lr(root);
  for (size_t i = 0; i < 2; i++) {
    snprintf(folder, sizeof folder, "%s/%s", root, matrices[i]);
    snprintf(file, sizeof file, "%s/0", folder);
    furrow_matrix_source *source = open_folder(folder, NULL);
    cell_table wanted;
    table_init(&wanted, furrow_matrix_source_row_type(source)->element);
    FILE *text = fopen(file, "r");
    assert_non_null(text);
    long long col, last = -1;
    int32_t row = 0;
    char value[64];
    for (; fscanf(text, "%lld,%63s", &col, value) == 2; last = col) {
      row += col <= last;
      table_add_text(&wanted, row, col, value);
    }
    fclose(text);
    table_sort(&wanted);
    assert_true(wanted.count > 0);
    check_visit(folder, source, &wanted);
    check_load(folder, source, &wanted);
    check_sorted(folder, source, NULL, &wanted);
    table_clear(&wanted);
    furrow_matrix_source_close(source);
  }
}

static void copy_file(const char *from, const char *name) {
  char path[2 * TEST_PATH], bytes[4096];
  snprintf(path, sizeof path, "%s/%s", from, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  assert_true(size < sizeof bytes);
  fclose(file);
  assert_true(test_write_file(name, bytes, size));
}

/* What the servers wrote, before the master made one metadata file of it. */
static void metadata_of_servers(void **state) {
  (void)state;
  static const char *const files[] = {"0", "1", "2", "psmeta.ParameterServer_0", "psmeta.ParameterServer_1"};
  char root[TEST_PATH], expected[2 * TEST_PATH];
  golden_path(root, "angel/psmeta_and_options");
  for (size_t i = 0; i < 5; i++) copy_file(root, files[i]);
  furrow_matrix_source_params params;
  cell_table wanted;
  furrow_matrix_source_params_init(&params);
  params.format = "ColIdValueText";
  params.row_type = 3;
  furrow_matrix_source *source = open_folder(".", &params);
  assert_string_equal(furrow_matrix_source_meta_name(source), "psmeta");
  table_init(&wanted, FURROW_ELEMENT_F64);
  snprintf(expected, sizeof expected, "%s/expected.tsv", root);
  assert_true(table_read_tsv(&wanted, expected));
  table_sort(&wanted);
  check_visit("psmeta", source, &wanted);
  check_load("psmeta", source, &wanted);
  check_sorted("psmeta", source, NULL, &wanted);
  table_clear(&wanted);
  furrow_matrix_source_close(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GOLDEN_TEST(golden_folders),
      GOLDEN_TEST_IN_DIR(a_model_of_text),
      cmocka_unit_test_setup_teardown(metadata_of_servers, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
