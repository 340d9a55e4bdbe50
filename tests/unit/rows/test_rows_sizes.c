/* tests/unit/rows/test_rows_sizes.c: parameters of rows and tables that were not initialised are refused. */
#include "furrow/rows.h"
#include "furrow/table.h"
#include "support/given_sizes.h"
#include "support/own_dir.h"

static const char table[] = "a,label\n1,0\n2,1\n";
static const char schema_text[] = "{\"columns\": {\"a\": {\"as\": \"category\"}, \"label\": {\"as\": \"label\"}}}";

static int setup(void **state) {
  return enter_dir(state) == 0 && test_write_file("t.csv", table, sizeof table - 1) ? 0 : -1;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static furrow_status open_parser(const void *given, furrow_error *err) {
  furrow_parser *parser = KEPT;
  const furrow_status status = furrow_parser_open(&parser, "t.csv", given, err);
  assert_ptr_equal(parser, KEPT);
  return status;
}

static furrow_status open_blockiter(const void *given, furrow_error *err) {
  furrow_blockiter *iter = KEPT;
  const furrow_status status = furrow_blockiter_open(&iter, "t.csv", given, err);
  assert_ptr_equal(iter, KEPT);
  return status;
}

static furrow_status open_writer(const void *given, furrow_error *err) {
  furrow_rows_writer *writer = KEPT;
  const furrow_status status = furrow_rows_writer_open(&writer, "new.libsvm", given, err);
  assert_ptr_equal(writer, KEPT);
  return status;
}

static void must_not_release(void *user) {
  (void)user;
  fail_msg("the rows of a call that failed are still the caller's");
}

static furrow_status add_dense(const void *given, furrow_error *err) {
  return furrow_memory_rows_add_dense("sizes", given, must_not_release, NULL, err);
}

/* ---- Tables --------------------------------------------------------------------------------------------- */

static furrow_status propose(const void *given, furrow_error *err) {
  furrow_schema *schema = KEPT;
  const furrow_status status = furrow_schema_propose(&schema, "t.csv", given, err);
  assert_ptr_equal(schema, KEPT);
  return status;
}

static furrow_status split(const void *given, furrow_error *err) {
  const char *const paths[] = {"new1.csv", "new2.csv"};
  uint64_t rows[2] = {77, 78};
  const furrow_status status = furrow_table_split("t.csv", paths, 2, given, rows, err);
  assert_int_equal(rows[0], 77);
  assert_int_equal(rows[1], 78);
  return status;
}

static furrow_status build_encoder(const void *given, furrow_error *err) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = KEPT;
  assert_int_equal(furrow_schema_parse(&schema, schema_text, strlen(schema_text), NULL), FURROW_OK);
  const furrow_status status = furrow_encoder_build(&encoder, "t.csv", schema, given, err);
  furrow_schema_free(schema);
  assert_ptr_equal(encoder, KEPT);
  return status;
}

static void unset_sizes_are_refused(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_parser_params, open_parser),      SIZED(furrow_parser_params, open_blockiter),
      SIZED(furrow_rows_writer_params, open_writer), SIZED(furrow_dense_rows, add_dense),
      SIZED(furrow_schema_propose_params, propose),  SIZED(furrow_table_split_params, split),
      SIZED(furrow_encoder_params, build_encoder),
  };
  sized_calls_refuse(calls, sizeof calls / sizeof *calls);
  assert_int_equal(test_entries("."), 1); /* t.csv */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(unset_sizes_are_refused)};
  return cmocka_run_group_tests(tests, setup, leave_dir);
}
