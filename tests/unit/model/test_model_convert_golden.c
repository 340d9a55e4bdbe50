/* tests/unit/model/test_model_convert_golden.c: golden matrices converted into each other are what Angel wrote. */
#include "support/golden_case.h"
#include "support/model_params.h"
#include "support/own_dir.h"
#include "support/sample_matrix.h"

int fsync(int fd) { /* test_atomic_dir.c has the syncing */
  (void)fd;
  return 0;
}

static void copy_case(const char *folder, const char *name) {
  furrow_model_convert_result result;
  furrow_model_convert_result_init(&result);
  sample_convert(folder, name, NULL, &result);
  golden_expect_same(name, folder);
  assert_int_equal(test_entries(name), test_entries(folder)); /* what is beside the matrix, too */
  assert_int_equal(result.matrices, 1);
  assert_int_equal(result.files, 0);
  assert_int_equal(result.dropped, 0);
  assert_true(test_remove_dir(name));
}

static void without_changes_the_copy_is_the_same(void **state) {
  (void)state;
  assert_true(golden_each(copy_case) > 100);
}

static void a_model_is_copied_and_comes_back(void **state) {
  (void)state;
  char model[TEST_PATH], path[TEST_PATH + 64];
  furrow_model_convert_params params;
  furrow_model_convert_result result;
  furrow_model_convert_result_init(&result);
  sample_convert(golden_lr(model), "copy", NULL, &result);
  assert_int_equal(result.matrices, 2);
  assert_int_equal(result.files, 1);
  static const char *const matrices[] = {"input_weight", "input_bias"};
  furrow_model_convert_params_init(&params);
  params.format = "BinaryColumnFormat";
  sample_convert("copy", "binary", &params, &result);
  params.format = "ColIdValueTextRowFormat";
  sample_convert("binary", "again", &params, &result);
  golden_expect_same("copy", model); /* graph.json */
  golden_expect_same("again", model);
  for (size_t i = 0; i < 2; i++) {
    char copy[TEST_PATH];
    snprintf(path, sizeof path, "%s/%s", model, matrices[i]);
    golden_expect_same(test_path(copy, "copy", matrices[i]), path);
    golden_expect_same(test_path(copy, "again", matrices[i]), path);
  }
}

/* What was read back is what was saved. */
static bool is_lossless(const char *folder) {
  size_t n, m;
  golden_case *c = malloc(sizeof *c);
  assert_non_null(c);
  assert_true(golden_load(c, folder));
  const furrow_element_type type = furrow_matrix_row_type_get(c->spec.row_type)->element;
  golden_element *saved = golden_elements(folder, "original.tsv", type, &n);
  golden_element *read = golden_elements(folder, "expected.tsv", type, &m);
  bool same = n == m;
  for (size_t i = 0; same && i < n; i++)
    same = saved[i].row == read[i].row && saved[i].col == read[i].col &&
           memcmp(&saved[i].value, &read[i].value, furrow_element_size(type)) == 0;
  free(saved);
  free(read);
  free(c);
  return same;
}

static int pairs;

/* To each other format that there is a golden folder of, with the same elements. */
static void convert_case(const char *folder, const char *name) {
  const char *rest = strchr(name, '-');
  if (!rest || !is_lossless(folder)) return;
  const size_t root = (size_t)(strlen(folder) - strlen(name));
  for (size_t i = 0; i < SAMPLE_FORMATS; i++) {
    char other[2 * TEST_PATH];
    furrow_model_convert_params params;
    param_parts parts;
    for (int family = 0; family < 2; family++) { /* <Format>-<RowType>, <family>-<Format> */
      if (family == 0)
        snprintf(other, sizeof other, "%.*s%s%s", (int)root, folder, sample_formats[i], rest);
      else
        snprintf(other, sizeof other, "%.*s%.*s-%s", (int)root, folder, (int)(rest - name), name, sample_formats[i]);
      if (access(other, F_OK) != 0 || !golden_same_file(folder, other, "original.tsv")) continue;
      convert_params_init(&params, &parts);
      params.format = sample_formats[i];
      parts.write.angel_bytes = true;
      parts.write.threads = 1 + (unsigned)i % 2;
      if (strncmp(name, "Snapshot", 8) == 0) params.servers = params.parts_per_file = 2; /* had a file for each */
      sample_convert(folder, "out", &params, NULL);
      golden_expect_same("out", other);
      assert_true(test_remove_dir("out"));
      pairs++;
    }
  }
}

static void formats_become_each_other(void **state) {
  (void)state;
  pairs = 0;
  golden_each(convert_case);
  assert_true(pairs > 100);
  print_message("%d pairs\n", pairs);
}

/* Hash partitions: every row format to every format, as Angel would have written that. */
static void convert_hash_case(const char *folder, const char *name) {
  char format[64], type[64], other[2 * TEST_PATH];
  if (sscanf(name, "hash-%63[^-]-%63s", format, type) != 2 || !is_lossless(folder)) return;
  for (size_t i = 0; i < SAMPLE_FORMATS; i++) {
    furrow_model_convert_params params;
    param_parts parts;
    snprintf(other, sizeof other, "%.*shash-%s-%s", (int)(strlen(folder) - strlen(name)), folder, sample_formats[i],
             type);
    if (access(other, F_OK) != 0) continue;
    convert_params_init(&params, &parts);
    params.format = sample_formats[i];
    parts.write.angel_bytes = true;
    sample_convert(folder, "out", &params, NULL);
    golden_expect_same("out", other);
    assert_true(test_remove_dir("out"));
    pairs++;
  }
}

static void hash_partitions_stay(void **state) {
  (void)state;
  pairs = 0;
  golden_each(convert_hash_case);
  assert_true(pairs >= 16);
}

/* What a server wrote alone has no name, format and shape; it gets them. */
static void metadata_of_servers_becomes_that_of_a_matrix(void **state) {
  (void)state;
  char folder[TEST_PATH], from[2 * TEST_PATH];
  furrow_model_convert_params params;
  param_parts parts;
  furrow_matrix_meta *meta = NULL;
  golden_path(folder, "angel/psmeta_and_options");
  assert_int_equal(mkdir("ps", 0755), 0);
  static const char *const files[] = {"0", "1", "2", "psmeta.ParameterServer_0", "psmeta.ParameterServer_1"};
  for (size_t i = 0; i < 5; i++) {
    size_t size;
    char *bytes = golden_read(folder, files[i], &size);
    snprintf(from, sizeof from, "ps/%s", files[i]);
    assert_true(bytes && test_write_file(from, bytes, size));
    free(bytes);
  }
  convert_params_init(&params, &parts);
  parts.source.format = "ColIdValueTextRowFormat";
  parts.source.row_type = 3;
  sample_convert("ps", "copy", &params, NULL);
  assert_int_equal(test_entries("copy"), 5);
  parts.write.meta_name = "_meta";
  sample_convert("ps", "named", &params, NULL);
  assert_int_equal(test_entries("named"), 4);
  assert_int_equal(furrow_matrix_meta_load(&meta, "named", NULL, NULL), FURROW_OK);
  assert_string_equal(meta->matrix_name, "ps");
  assert_int_equal(meta->row, 3);
  assert_int_equal(meta->col, 23);
  assert_int_equal(meta->block_col, 5);
  furrow_matrix_meta_free(meta);
  for (size_t i = 0; i < 3; i++) assert_true(golden_same_file("named", folder, files[i]));
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      GOLDEN_TEST_IN_DIR(without_changes_the_copy_is_the_same),
      GOLDEN_TEST_IN_DIR(a_model_is_copied_and_comes_back),
      GOLDEN_TEST_IN_DIR(formats_become_each_other),
      GOLDEN_TEST_IN_DIR(hash_partitions_stay),
      IN_DIR(metadata_of_servers_becomes_that_of_a_matrix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
