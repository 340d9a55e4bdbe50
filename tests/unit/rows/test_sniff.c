/* tests/unit/rows/test_sniff.c: what data is, from its first bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rows/text/format.h"
#include "support/cmocka_all.h"

typedef struct example {
  const char *text, *format, *why, *delimiter;
} example;

/* The text in memory of its own, so that reading beyond it is noticed. */
static void expect_format(const example *e, bool whole) {
  const size_t n = strlen(e->text);
  char *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  memcpy(copy, e->text, n);
  const fw_sniffed found = fw_sniff_format(copy, n, whole, 1000);
  if (strcmp(found.format, e->format) != 0 || strcmp(found.why, e->why) != 0)
    fail_msg("'%s' is %s (%s), not %s (%s)", e->text, found.format, found.why, e->format, e->why);
  if (strcmp(e->format, "csv") == 0)
    assert_int_equal(fw_sniff_delimiter(copy, n, whole), e->delimiter ? e->delimiter[0] : ',');
  free(copy);
}

static const example examples[] = {
    {"", "libsvm", "no data", NULL},
    {"\n\n# 1,2\n \t\n", "libsvm", "no data", NULL},
    {"1 1:0.5 2:3\n", "libsvm", "index:value", NULL},
    {"1 1:0.5 2:3\n0\n1\n", "libsvm", "index:value", NULL},
    {"1:0.5 1:2\n", "libsvm", "index:value", NULL},
    {"1 qid:1 3:4\n", "libsvm", "index:value", NULL},
    {"\xef\xbb\xbf\x31 1:2\r\n0 3:4\r\n", "libsvm", "index:value", NULL},
    {"1 1:2\r0 3:4\r", "libsvm", "index:value", NULL},
    {"1 3 4\n0 5\n", "dummy", "indices without values", NULL},
    {"1 3 4 4\n0 5 1 2\n", "dense", "the same number of integers on every line, some repeated", NULL},
    {"1 3 4 5\n0 5 1 2\n", "dummy", "indices without values", NULL},
    {"1 3 4 4\n0 5 1\n", "dummy", "indices without values", NULL},
    {"1:2 3 4\n0:1 5\n", "libsvm", "indices without values", NULL},
    {"first name\tage\n1\t2\n", "csv", "tabs on every line", "\t"},
    {"1,5\t2\n3,5\t4\n", "csv", "commas on every line", NULL},
    {"1 qid:1 3\n", "libsvm", "indices without values", NULL},
    {"1\n0\n", "libsvm", "no sign of another format", NULL},
    {"hello world\n", "libsvm", "no sign of another format", NULL},
    {"1 0:1:0.5 1:2:3\n", "libffm", "field:index:value", NULL},
    {"1\n0 0:1:0.5\n", "libffm", "field:index:value", NULL},
    {"1 0:1:0.5 1:2\n", "libsvm", "index:value", NULL}, /* cannot be told: name the format */
    {"1,2,3\n4,5,6\n", "csv", "commas on every line", NULL},
    {"a,b\n1,2\n", "csv", "commas on every line", NULL},
    {"1;2\n3;4\n", "csv", "semicolons on every line", ";"},
    {"1|2\n3|4\n", "csv", "| on every line", "|"},
    {"1\t2\n3\t4\n", "csv", "tabs on every line", "\t"},
    {"1,5;2\n3,5;4\n", "csv", "semicolons on every line", ";"},
    {"1,2\n3\n", "libsvm", "no sign of another format", NULL},
    {"# note\n1,2\n", "csv", "commas on every line", NULL},
    {"1 0.5 2\n0 1 2\n", "dense", "numbers with fractions between blanks", NULL},
    {"1 2 -3\n", "dense", "numbers with fractions between blanks", NULL},
    {"1 2 nan\n", "dense", "numbers with fractions between blanks", NULL},
    {"1\t0.5 2\n", "dense", "numbers with fractions between blanks", NULL},
    {"1 2 # 0.5 3:4\n", "dummy", "indices without values", NULL},
};

static void formats(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) expect_format(&examples[i], true);
}

/* The last line of a head that is not all of the data may be cut: it does not count, unless it is the only one. */
static void lines_that_are_cut(void **state) {
  (void)state;
  expect_format(&(example){"1,2,3\n4", "csv", "commas on every line", NULL}, false);
  expect_format(&(example){"1,2,3\n4", "libsvm", "no sign of another format", NULL}, true);
  expect_format(&(example){"1 2:3\n1 1:2:3", "libsvm", "index:value", NULL}, false);
  expect_format(&(example){"1,2,3", "csv", "commas on every line", NULL}, false);
  expect_format(&(example){"1 0:1:2 3:4", "libsvm", "index:value", NULL}, false);
}

/* A thousand lines are looked at, no more. */
static void many_lines(void **state) {
  (void)state;
  char *text = malloc(20000);
  size_t used = 0;
  assert_non_null(text);
  for (size_t i = 0; i < 1000; i++) used += (size_t)sprintf(text + used, "%zu,1\n", i);
  strcpy(text + used, "no comma here\n");
  expect_format(&(example){text, "csv", "commas on every line", NULL}, true);
  memcpy(text + used - 4, " 1\n", 4); /* the thousandth line without its comma */
  expect_format(&(example){text, "csv", "commas on most lines", NULL}, true);
  expect_format(&(example){"1 2\n3 4\n5,6\n", "dummy", "indices without values", NULL}, true);
  free(text);
}

/* ---- Is it read wrongly? -------------------------------------------------------------------------------- */

static void misreadings(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool fields;
    fw_misreading found;
  } cases[] = {
      {"1:0.5 2:1 3:2\n", false, FW_MISREAD_UNLABELLED}, /* all features, from the first on */
      {"1:0.5 3:1\n2:1 9:2\n", false, FW_MISREAD_UNLABELLED},
      {"1:0.5 3:1\n1:1 4:2\n", false, FW_MISREAD_UNLABELLED},
      {"4:0.5 7:1\n9:1\n12:1 13:1\n", false, FW_MISREAD_UNLABELLED},
      {"1:2 3:4\n2:5 4:6\n", true, FW_MISREAD_UNLABELLED},
      {"1:0.5 3:1\n0:1 4:2\n", false, FW_MISREAD_NOTHING}, /* two classes with weights */
      {"1:0.5 3:1\n", false, FW_MISREAD_NOTHING},
      {"1:0.5 3:1\n2 9:2\n", false, FW_MISREAD_NOTHING},
      {"-1:0.5 3:1\n1:1 4:2\n", false, FW_MISREAD_NOTHING},
      {"4:0.5 7:1\n9:1 2:1\n", false, FW_MISREAD_NOTHING}, /* features do not ascend */
      {"5:2 1:2:3\n7:1 1:2:3\n", true, FW_MISREAD_NOTHING},
      {"5\n7\n", false, FW_MISREAD_NOTHING},
      {"", false, FW_MISREAD_NOTHING},
      {"1 3:1 7:1\n0 9:1\n", true, FW_MISREAD_LIBSVM},
      {"1 1:3 2:1\n0 9:2\n", true, FW_MISREAD_LIBSVM},
      {"1 0:3 1:7\n0 2:9\n", true, FW_MISREAD_NOTHING},
      {"1 3:1 7:1\n0 9:1:1\n", true, FW_MISREAD_NOTHING},
      {"1 5 3 5\n0 2 4 1\n", false, FW_MISREAD_TABLE},
      {"y\ta\tb\n1\t5\t3\n", false, FW_MISREAD_TABLE},
      {"1\t5\t3\n1\t2\t3\n", false, FW_MISREAD_TABLE},
      {"1\t5\t3\n1\t2\n", false, FW_MISREAD_NOTHING},
      {"1\t5:1\t3:1\n1\t2:1\t3:1\n", false, FW_MISREAD_NOTHING},
      {"1 5 3 4\n0 2 4 1\n", false, FW_MISREAD_NOTHING},
      {"1 5 3 5\n0 2 4\n", false, FW_MISREAD_NOTHING},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const fw_misreading found = fw_sniff_misreading(cases[i].text, strlen(cases[i].text), true, cases[i].fields, false);
    if (found != cases[i].found) fail_msg("'%s' is %d, not %d", cases[i].text, (int)found, (int)cases[i].found);
  }
  assert_int_equal(fw_sniff_misreading("1 3:1\n0 4:2\n", 12, true, false, true), FW_MISREAD_LABELLED);
  assert_int_equal(fw_sniff_misreading("1 3:1:1\n0 4:2:7\n", 16, true, true, true), FW_MISREAD_LABELLED);
  assert_int_equal(fw_sniff_misreading("1 3\n0 4\n", 8, true, false, true), FW_MISREAD_NOTHING);
  assert_int_equal(fw_sniff_misreading("1:1 3:1\n7\n", 10, true, false, true), FW_MISREAD_NOTHING);
}

/* ---- Is it text? ---------------------------------------------------------------------------------------- */

static furrow_status look(const void *bytes, size_t n, furrow_error *err) {
  char *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, n);
  furrow_status status = fw_sniff_text(copy, n, err);
  free(copy);
  return status;
}

static void binary_kinds(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *word;
  } kinds[] = {
      {"\xff\xfe\x31\0", 4, "UTF-16"}, {"\xfe\xff\0\x31", 4, "UTF-16"}, {"PAR1\x15\4x", 7, "Parquet"},
      {"FURROWRC", 8, "row cache"},    {"\x93NUMPY\x01\0", 8, "NumPy"}, {"\x89PNG\r\n", 6, "PNG"},
      {"\177ELF\x02", 5, "program"},   {"%PDF-1.5", 8, "PDF"},          {"Obj\x01", 4, "Avro"},
      {"ORC\x11", 4, "ORC"},           {"ARROW1\0\0", 8, "Arrow"},      {"SQLite format 3\0", 16, "SQLite"},
      {"\x89HDF\r\n", 6, "HDF5"},
  };
  assert_int_equal(look("PAR1,PAR2\n1,2\n", 14, NULL), FURROW_OK);
  assert_int_equal(look("ORC,b\n1,2\n", 10, NULL), FURROW_OK);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    furrow_error err = {0};
    assert_int_equal(look(kinds[i].bytes, kinds[i].size, &err), FURROW_E_FORMAT);
    assert_non_null(strstr(err.message, kinds[i].word));
    assert_int_equal(look(kinds[i].bytes, kinds[i].size, NULL), FURROW_E_FORMAT);
    assert_int_equal(look(kinds[i].bytes, 1, &err), FURROW_OK); /* too little to tell */
  }
}

static void text_and_not(void **state) {
  (void)state;
  furrow_error err;
  char bytes[256];
  assert_int_equal(look("", 0, &err), FURROW_OK);
  assert_int_equal(look("1 1:2\r\n\t\v\f\n", 11, &err), FURROW_OK);
  assert_int_equal(look("caf\xc3\xa9 \xe2\x82\xac,1\n", 12, &err), FURROW_OK);
  assert_int_equal(look("caf\xe9,1\n", 7, &err), FURROW_OK);
  /* a quarter of NUL bytes is the most */
  memset(bytes, '1', sizeof bytes);
  for (size_t i = 0; i < 64; i++) bytes[4 * i] = 0;
  assert_int_equal(look(bytes, sizeof bytes, &err), FURROW_OK);
  bytes[1] = 0;
  assert_int_equal(look(bytes, sizeof bytes, &err), FURROW_E_FORMAT);
  assert_string_equal(err.token, "\\x00\\x0011");
  assert_int_equal(err.offset, 0);
  /* of other control bytes one in 64 */
  memset(bytes, '1', sizeof bytes);
  for (size_t i = 0; i < 4; i++) bytes[64 * i + 7] = 1;
  assert_int_equal(look(bytes, sizeof bytes, &err), FURROW_OK);
  bytes[200] = 2;
  assert_int_equal(look(bytes, sizeof bytes, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, 7);
  /* UTF-16 without its mark */
  assert_int_equal(look("1\0 \0001\0:\0002\0\n\0", 12, &err), FURROW_E_FORMAT);
  /* at the very end there are fewer than four bytes to show */
  assert_int_equal(look("1\1", 2, &err), FURROW_E_FORMAT);
  assert_string_equal(err.token, "\\x01");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats),     cmocka_unit_test(lines_that_are_cut), cmocka_unit_test(many_lines),
      cmocka_unit_test(misreadings), cmocka_unit_test(binary_kinds),       cmocka_unit_test(text_and_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
