/* tests/unit/rows/test_line_memory.c: a very long line takes a small multiple of its bytes, and gives the row that it
 * is. */
#include <stdio.h>

#include "furrow/rows.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"

enum { FEATURES = 1 << 20 };

/* One row of FEATURES features, each written as `feature`. */
static size_t write_line(const char *path, const char *label, const char *feature) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(label, file);
  for (size_t i = 0; i < FEATURES; i++) fputs(feature, file);
  fputs(feature[1] == ',' ? "1\n" : "1:1\n", file);
  const long size = ftell(file);
  assert_int_equal(fclose(file), 0);
  return (size_t)size;
}

static void read_line(const char *format, const char *label, const char *feature, double most) {
  const size_t size = write_line("line", label, feature);
  furrow_parser_params params;
  furrow_parser *parser = NULL;
  furrow_parser_params_init(&params);
  params.format = format;
  params.threads = 1;
  alloc_watch();
  assert_int_equal(furrow_parser_open(&parser, "line", &params, NULL), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
  const furrow_rowblock *block = furrow_parser_value(parser);
  assert_int_equal(block->size, 1);
  const furrow_row row = furrow_rowblock_row(block, 0);
  assert_int_equal(row.length, FEATURES + 1);
  assert_true(furrow_row_get_value(&row, FEATURES / 2) == 1 && furrow_row_get_value(&row, FEATURES) == 1);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_END);
  furrow_parser_close(parser);
  if (FAILING_ALLOC) assert_true((double)atomic_load(&alloc_peak) <= most * (double)size + (1 << 20));
}

/* The text, and 8 bytes for each feature; columns grow by half. */
static void test_long_lines(void **state) {
  (void)state;
  read_line("libsvm", "1 ", "1:1 ", 1 + 1.5 * 8 / 4);
  read_line("libsvm", "1 ", "123456:1 ", 1 + 1.5 * 8 / 9);
  read_line("csv", "", "1,", 1 + 1.5 * 8 / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_long_lines, enter_dir, leave_dir)};
  return cmocka_run_group_tests_name("line_memory", tests, NULL, NULL);
}
