/* tests/unit/model/test_matrix_writer_golden.c: from the elements and settings of each golden case, the bytes that
 * Angel wrote. */
#include "support/golden_case.h"
#include "support/own_dir.h"

/* Snapshots are only read: their order of elements is that of a hash map whose history nobody knows. */
static bool is_only_read(const char *name) {
  static const char *const names[] = {"SnapshotFormat-T_DOUBLE_SPARSE", "SnapshotFormat-T_FLOAT_DENSE"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static unsigned threads;

static void write_case(const char *folder, const char *name) {
  golden_case *c = malloc(sizeof *c);
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_write_params params;
  furrow_error err;
  size_t count;
  assert_non_null(c);
  assert_true(golden_load(c, folder));
  golden_element *elements =
      golden_elements(folder, "original.tsv", furrow_matrix_row_type_get(c->spec.row_type)->element, &count);
  if (furrow_matrix_plan(&plan, &c->spec, &err) != FURROW_OK) fail_msg("%s: %s", name, err.message);
  golden_set_nnz(plan, elements, count);
  furrow_matrix *matrix = golden_matrix(c, elements, count);
  furrow_matrix_write_params_init(&params);
  params.angel_bytes = true;
  params.separator = c->separator;
  params.threads = threads;
  const furrow_status status = furrow_matrix_save(matrix, name, plan, &params, &err);
  if (is_only_read(name)) {
    assert_int_equal(status, FURROW_E_UNSUPPORTED);
    assert_int_equal(access(name, F_OK), -1);
  } else {
    if (status != FURROW_OK) fail_msg("%s: %s", name, err.message);
    golden_expect_same(name, folder);
    assert_true(test_remove_dir(name));
  }
  furrow_matrix_free(matrix);
  furrow_matrix_meta_free(plan);
  free(elements);
  free(c);
}

static void every_case_is_written_as_angel_did(void **state) {
  (void)state;
  threads = 1;
  const size_t count = golden_each(write_case);
  assert_true(count > 100);
  threads = 3;
  assert_int_equal(golden_each(write_case), count);
  print_message("%zu cases\n", count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GOLDEN_TEST_IN_DIR(every_case_is_written_as_angel_did),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
