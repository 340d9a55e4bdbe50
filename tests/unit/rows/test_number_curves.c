/* tests/unit/rows/test_number_curves.c: numbers that linear models have in bins. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"

/* ---- Logs in memory ---- */

static void add_file(const char *path, const fw_buffer *text) {
  assert_int_equal(fw_buffer_status(text, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add(path, text->bytes, text->size, NULL, NULL, NULL), FURROW_OK);
}

static void remove_file(const char *path, fw_buffer *text) {
  assert_int_equal(furrow_memory_file_remove(path, NULL), FURROW_OK);
  fw_buffer_clear(text);
}

/* From 0 to 1, of a row. */
static double chance(uint64_t seed, uint64_t row) {
  return (double)(fw_rng_hash(seed, row) >> 11) * 0x1p-53;
}

/* Roughly normal. */
static double noise(uint64_t row) {
  return chance(7, row) + chance(8, row) + chance(9, row) + chance(10, row) - 2;
}

static furrow_schema *propose(const char *uri, bool curves, uint32_t threads) {
  furrow_schema *schema = NULL;
  furrow_error err = {0};
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.bin_numbers = curves;
  params.threads = threads;
  if (furrow_schema_propose(&schema, uri, &params, &err) != FURROW_OK) fail_msg("%s: %s", uri, err.message);
  return schema;
}

static char *text_of(const char *uri, bool curves, uint32_t threads) {
  furrow_schema *schema = propose(uri, curves, threads);
  char *text = NULL;
  assert_int_equal(furrow_schema_text(schema, true, &text, NULL, NULL), FURROW_OK);
  furrow_schema_free(schema);
  return text;
}

/* `wanted`: for each number that gets bins, its name and a blank. */
static void expect_bins(const char *uri, const char *wanted) {
  char found[64] = "";
  furrow_schema *schema = propose(uri, true, 1);
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    if (!strstr(furrow_schema_unsure(schema, i), "not a straight line")) continue;
    snprintf(found + strlen(found), sizeof found - strlen(found), "%s ", column.name);
  }
  assert_string_equal(found, wanted);
  furrow_schema_free(schema);
}

/* ---- Labels of both kinds ---- */

/* Columns that say nothing; something along a line; something along a curve, which few rows have. */
static void put_row(fw_buffer *text, uint64_t row, bool classes) {
  const double nothing = chance(1, row), line = 4 * chance(2, row) - 2, curve = 4 * chance(3, row) - 2;
  const double score = line + 2 * curve * curve - 2.5 + noise(row);
  fw_buffer_format(text, "%.3f,%.3f,", nothing, line);
  if (chance(4, row) < 0.8) fw_buffer_format(text, "%.3f", curve);
  if (classes)
    fw_buffer_format(text, ",%s\n", score > 0 ? "yes" : "no");
  else
    fw_buffer_format(text, ",%.3f\n", score);
}

static void put_rows(fw_buffer *text, uint64_t rows, bool classes) {
  *text = (fw_buffer){0};
  fw_buffer_text(text, "nothing,line,curve,label\n");
  for (uint64_t row = 0; row < rows; row++) put_row(text, row, classes);
  add_file("memory://curves.csv", text);
}

static void numbers_with_curves(void **state) {
  (void)state;
  for (int classes = 0; classes < 2; classes++) {
    fw_buffer text;
    put_rows(&text, 4000, classes);
    char *plain = text_of("memory://curves.csv", false, 1), *found = text_of("memory://curves.csv", true, 1);
    assert_null(strstr(plain, "bins"));
    assert_non_null(strstr(found, "\"scale\": \"bins\""));
    assert_non_null(strstr(found, "a weight for each of 16 bins; {\\\"scale\\\": \\\"standard\\\"} has one weight"));
    expect_bins("memory://curves.csv", "curve ");
    furrow_free(plain);
    furrow_free(found);
    remove_file("memory://curves.csv", &text);
  }
}

static void few_rows_show_no_curve(void **state) {
  (void)state;
  fw_buffer text;
  put_rows(&text, 400, true);
  expect_bins("memory://curves.csv", "");
  remove_file("memory://curves.csv", &text);
}

/* 20,000 numbers fill 32 bins, and the sample does not depend on the threads that read the files. */
static void many_rows_and_threads(void **state) {
  (void)state;
  fw_buffer text;
  put_rows(&text, 13000, true);
  static const char two[] = "memory://curves.csv;memory://curves.csv";
  char *found = text_of(two, true, 1);
  assert_non_null(strstr(found, "\"bins\": 32"));
  for (uint32_t threads = 2; threads < 4; threads++) {
    char *again = text_of(two, true, threads);
    assert_string_equal(again, found);
    furrow_free(again);
  }
  furrow_free(found);
  remove_file("memory://curves.csv", &text);
}

/* ---- What has no bins ---- */

/* A line of the logarithm, and of the log odds of two classes. */
static void lines_in_other_scales(void **state) {
  (void)state;
  fw_buffer text = {0};
  fw_buffer_text(&text, "price,steep,label\n");
  for (uint64_t row = 0; row < 4000; row++) {
    const double size = 4 * noise(row), steep = 6 * chance(2, row) - 3;
    const bool yes = chance(3, row) < 1 / (1 + exp(-(size + 2 * steep)));
    fw_buffer_format(&text, "%.2f,%.3f,%d\n", exp(size), steep, yes);
  }
  add_file("memory://lines.csv", &text);
  char *found = text_of("memory://lines.csv", true, 1);
  assert_non_null(strstr(found, "\"scale\": \"log\""));
  assert_null(strstr(found, "bins"));
  furrow_free(found);
  remove_file("memory://lines.csv", &text);
}

static void labels_without_curves(void **state) {
  (void)state;
  fw_buffer text = {0};
  fw_buffer_text(&text, "x,kind,same\n");
  for (uint64_t row = 0; row < 3000; row++) {
    const double x = 4 * chance(1, row) - 2;
    fw_buffer_format(&text, "%.3f,%c,%d\n", x, "abc"[(int)(x * x) % 3], 1);
  }
  add_file("memory://kinds.csv", &text);
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.bin_numbers = true;
  const char *const labels[] = {"kind", "", "same"};
  for (size_t i = 0; i < 3; i++) {
    furrow_schema *schema = NULL;
    char *found = NULL;
    params.label = labels[i];
    assert_int_equal(furrow_schema_propose(&schema, "memory://kinds.csv", &params, NULL), FURROW_OK);
    assert_int_equal(furrow_schema_text(schema, true, &found, NULL, NULL), FURROW_OK);
    assert_null(strstr(found, "bins"));
    furrow_free(found);
    furrow_schema_free(schema);
  }
  remove_file("memory://kinds.csv", &text);
}

/* The first column is weight in name alone, and no roles are found where none are given. */
static void tables_of_numbers(void **state) {
  (void)state;
  static const struct {
    const char *header, *label;
    bool curve, found;
  } tables[] = {{"y,weight,user\n", NULL, true, true},
                {"y,weight,user\n", "0", true, true},
                {"y,weight,user\n", NULL, false, false},
                {"a,weight,user\n", NULL, true, false},
                {"a,weight,user\n", "a", true, true},
                {"", "0", true, true},
                {"", NULL, true, false},
                {"# libsvm\n", NULL, true, false}};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
    furrow_schema_propose_params params;
    furrow_schema *schema = NULL;
    furrow_error err = {0};
    fw_buffer text = {0};
    furrow_schema_propose_params_init(&params);
    params.label = tables[t].label;
    fw_buffer_text(&text, tables[t].header);
    for (uint64_t row = 0; row < 2000; row++) {
      const double x = 4 * chance(1, row) - 2, y = tables[t].curve ? x * x : x;
      fw_buffer_format(&text, tables[t].header[0] == '#' ? "%.3f 1:%.3f 2:%d\n" : "%.3f,%.3f,%d\n", y + noise(row), x,
                       (int)(row % 50));
    }
    add_file("memory://numbers.csv", &text);
    if (furrow_schema_propose_bins(&schema, "memory://numbers.csv", &params, &err) != FURROW_OK)
      fail_msg("table %zu: %s", t, err.message);
    assert_int_equal(schema != NULL, tables[t].found);
    for (size_t i = 0; schema && i < furrow_schema_column_count(schema); i++) {
      furrow_schema_column column;
      furrow_schema_get_column(schema, i, &column);
      assert_string_equal(column.as, i == 0 ? "label" : "number");
      assert_string_equal(column.role, "");
    }
    furrow_schema_free(schema);
    remove_file("memory://numbers.csv", &text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_with_curves),   cmocka_unit_test(few_rows_show_no_curve),
      cmocka_unit_test(many_rows_and_threads), cmocka_unit_test(lines_in_other_scales),
      cmocka_unit_test(labels_without_curves), cmocka_unit_test(tables_of_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
