/* tests/unit/model/test_model_sizes.c: parameters of matrices and models that were not initialised are refused, those
 * that other parameters point to, too. */
#include "furrow/exchange.h"
#include "support/given_sizes.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

static furrow_matrix_source *source;
static furrow_matrix *matrix;
static furrow_matrix_meta *plan;

static int setup(void **state) {
  const made m = {.rows = 2, .cols = 5};
  furrow_matrix_spec spec;
  if (enter_dir(state) != 0) return -1;
  made_save("m", &m);
  furrow_matrix_spec_init(&spec);
  spec.name = "new";
  spec.rows = 2;
  spec.cols = 5;
  return furrow_matrix_source_open(&source, "m", NULL, NULL) == FURROW_OK &&
                 furrow_matrix_load(&matrix, "m", NULL, NULL) == FURROW_OK &&
                 furrow_matrix_plan(&plan, &spec, NULL) == FURROW_OK
             ? 0
             : -1;
}

static int teardown(void **state) {
  furrow_matrix_source_close(source);
  furrow_matrix_free(matrix);
  furrow_matrix_meta_free(plan);
  return leave_dir(state);
}

static void check_nothing_was_written(void **state) {
  (void)state;
  assert_int_equal(test_entries("."), 1); /* m */
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status plan_matrix(const void *given, furrow_error *err) {
  furrow_matrix_meta *meta = KEPT;
  const furrow_status status = furrow_matrix_plan(&meta, given, err);
  assert_ptr_equal(meta, KEPT);
  return status;
}

static furrow_status open_source(const void *given, furrow_error *err) {
  furrow_matrix_source *opened = KEPT;
  const furrow_status status = furrow_matrix_source_open(&opened, "m", given, err);
  assert_ptr_equal(opened, KEPT);
  return status;
}

static furrow_status load(const void *given, furrow_error *err) {
  furrow_matrix *loaded = KEPT;
  const furrow_status status = furrow_matrix_load(&loaded, "m", given, err);
  assert_ptr_equal(loaded, KEPT);
  return status;
}

static furrow_status load_source(const void *given, furrow_error *err) {
  furrow_matrix *loaded = KEPT;
  const furrow_status status = furrow_matrix_load_source(&loaded, source, given, err);
  assert_ptr_equal(loaded, KEPT);
  return status;
}

static furrow_status load_with_source(const void *given, furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.source = given;
  return load(&params, err);
}

static furrow_status load_selection(const void *given, furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.selection = given;
  assert_true(furrow_matrix_load_size(source, given) == SIZE_MAX);
  return load_source(&params, err);
}

static furrow_status see_no_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  (void)user, (void)part, (void)panel, (void)err;
  fail_msg("a panel was visited");
  return FURROW_OK;
}

static furrow_status scan(const void *given, furrow_error *err) {
  return furrow_matrix_for_each_panel(source, given, see_no_panel, NULL, err);
}

static furrow_status scan_sorted(const void *given, furrow_error *err) {
  return furrow_matrix_for_each_panel_sorted(source, given, see_no_panel, NULL, err);
}

static furrow_status scan_selection(const void *given, furrow_error *err) {
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  params.selection = given;
  return scan(&params, err);
}

static furrow_status scan_selection_sorted(const void *given, furrow_error *err) {
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  params.selection = given;
  return scan_sorted(&params, err);
}

static void reading_refuses_them(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_matrix_spec, plan_matrix),
      SIZED(furrow_matrix_source_params, open_source),
      SIZED(furrow_matrix_load_params, load),
      SIZED(furrow_matrix_load_params, load_source),
      SIZED(furrow_matrix_source_params, load_with_source),
      SIZED(furrow_matrix_selection, load_selection),
      SIZED(furrow_matrix_scan_params, scan),
      SIZED(furrow_matrix_scan_params, scan_sorted),
      SIZED(furrow_matrix_selection, scan_selection),
      SIZED(furrow_matrix_selection, scan_selection_sorted),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

static furrow_status open_model_writer(const void *given, furrow_error *err) {
  furrow_model_writer *writer = KEPT;
  const furrow_status status = furrow_model_writer_open(&writer, "new", given, err);
  assert_ptr_equal(writer, KEPT);
  return status;
}

static furrow_status open_matrix_writer(const void *given, furrow_error *err) {
  furrow_matrix_writer *writer = KEPT;
  const furrow_status status = furrow_matrix_writer_open(&writer, "new", plan, given, err);
  assert_ptr_equal(writer, KEPT);
  return status;
}

static furrow_status open_writer_in(const void *given, furrow_error *err) {
  furrow_model_writer *model = NULL;
  furrow_matrix_writer *writer = KEPT;
  assert_int_equal(furrow_model_writer_open(&model, "new", NULL, NULL), FURROW_OK);
  const furrow_status status = furrow_matrix_writer_open_in(&writer, model, plan, given, err);
  furrow_model_writer_close(model);
  assert_ptr_equal(writer, KEPT);
  return status;
}

static furrow_status save(const void *given, furrow_error *err) {
  return furrow_matrix_save(matrix, "new", plan, given, err);
}

static void writing_refuses_them(void **state) {
  static const sized_call calls[] = {
      SIZED(furrow_matrix_write_params, open_model_writer),
      SIZED(furrow_matrix_write_params, open_matrix_writer),
      SIZED(furrow_matrix_write_params, open_writer_in),
      SIZED(furrow_matrix_write_params, save),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
  check_nothing_was_written(state);
}

/* ---- Jobs ----------------------------------------------------------------------------------------------- */

static furrow_status convert(const void *given, furrow_error *err) {
  furrow_model_convert_result result, before;
  furrow_model_convert_result_init(&result);
  result.matrices = 77;
  memcpy(&before, &result, sizeof before);
  const furrow_status status = furrow_model_convert("m", "new", given, &result, err);
  assert_memory_equal(&result, &before, sizeof before);
  return status;
}

static furrow_status convert_source(const void *given, furrow_error *err) {
  furrow_model_convert_params params;
  furrow_model_convert_params_init(&params);
  params.source = given;
  return convert(&params, err);
}

static furrow_status convert_selection(const void *given, furrow_error *err) {
  furrow_model_convert_params params;
  furrow_model_convert_params_init(&params);
  params.selection = given;
  return convert(&params, err);
}

static furrow_status convert_write(const void *given, furrow_error *err) {
  furrow_model_convert_params params;
  furrow_model_convert_params_init(&params);
  params.write = given;
  return convert(&params, err);
}

static furrow_status compute_stats(const void *given, furrow_error *err) {
  furrow_matrix_stats stats, before;
  furrow_matrix_stats_init(&stats);
  stats.elements = 77;
  memcpy(&before, &stats, sizeof before);
  const furrow_status status = furrow_matrix_compute_stats(source, given, &stats, err);
  assert_memory_equal(&stats, &before, sizeof before);
  return status;
}

static furrow_status verify(const void *given, furrow_error *err) {
  return furrow_matrix_verify("m", given, err);
}

static furrow_status verify_source(const void *given, furrow_error *err) {
  furrow_matrix_verify_params params;
  furrow_matrix_verify_params_init(&params);
  params.source = given;
  return verify(&params, err);
}

static furrow_status compare(const void *given, furrow_error *err) {
  furrow_matrix_diff diff, before;
  furrow_matrix_diff_init(&diff);
  diff.elements_a = 77;
  memcpy(&before, &diff, sizeof before);
  const furrow_status status = furrow_matrix_compare(source, source, given, &diff, err);
  assert_memory_equal(&diff, &before, sizeof before);
  return status;
}

static void jobs_refuse_them(void **state) {
  static const sized_call calls[] = {
      SIZED(furrow_model_convert_params, convert),       SIZED(furrow_matrix_source_params, convert_source),
      SIZED(furrow_matrix_selection, convert_selection), SIZED(furrow_matrix_write_params, convert_write),
      SIZED(furrow_matrix_stats_params, compute_stats),  SIZED(furrow_matrix_verify_params, verify),
      SIZED(furrow_matrix_source_params, verify_source), SIZED(furrow_matrix_compare_params, compare),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
  check_nothing_was_written(state);
}

/* ---- Exchange ------------------------------------------------------------------------------------------- */

static furrow_status export_model(const void *given, furrow_error *err) {
  furrow_model_export_result result, before;
  furrow_model_export_result_init(&result);
  result.matrices = 77;
  memcpy(&before, &result, sizeof before);
  const furrow_status status = furrow_model_export("m", "new.npy", given, &result, err);
  assert_memory_equal(&result, &before, sizeof before);
  return status;
}

static furrow_status export_source(const void *given, furrow_error *err) {
  furrow_model_export_params params;
  furrow_model_export_params_init(&params);
  params.source = given;
  return export_model(&params, err);
}

static furrow_status export_selection(const void *given, furrow_error *err) {
  furrow_model_export_params params;
  furrow_model_export_params_init(&params);
  params.selection = given;
  return export_model(&params, err);
}

static furrow_status import_model(const void *given, furrow_error *err) {
  furrow_model_import_result result, before;
  furrow_model_import_result_init(&result);
  result.matrices = 77;
  memcpy(&before, &result, sizeof before);
  const furrow_status status = furrow_model_import("none.npy", "new", given, &result, err);
  assert_memory_equal(&result, &before, sizeof before);
  return status;
}

static furrow_status import_spec(const void *given, furrow_error *err) {
  furrow_model_import_params params;
  furrow_model_import_params_init(&params);
  params.spec = given;
  return import_model(&params, err);
}

static furrow_status import_write(const void *given, furrow_error *err) {
  furrow_model_import_params params;
  furrow_model_import_params_init(&params);
  params.write = given;
  return import_model(&params, err);
}

static void exchange_refuses_them(void **state) {
  static const sized_call calls[] = {
      SIZED(furrow_model_export_params, export_model),  SIZED(furrow_matrix_source_params, export_source),
      SIZED(furrow_matrix_selection, export_selection), SIZED(furrow_model_import_params, import_model),
      SIZED(furrow_matrix_spec, import_spec),           SIZED(furrow_matrix_write_params, import_write),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
  check_nothing_was_written(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_refuses_them),
      cmocka_unit_test(writing_refuses_them),
      cmocka_unit_test(jobs_refuse_them),
      cmocka_unit_test(exchange_refuses_them),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
