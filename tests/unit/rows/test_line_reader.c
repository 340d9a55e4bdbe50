/* tests/unit/rows/test_line_reader.c: rows of text that are in memory, read as those of a file. */
#include "support/encoded_rows.h"

#include "furrow/learn.h"

#define FILE_OF_ROWS "memory://rows.txt"

static furrow_learn_conf *conf_of(const char *format, const char *key, const char *value) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, NULL), FURROW_OK);
  const bool fields = strcmp(format, "libffm") == 0;
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, fields ? "ffm" : "lr", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "format", format, NULL), FURROW_OK);
  if (fields) assert_int_equal(furrow_learn_conf_set(conf, "fields", "3", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "index-base", "1", NULL), FURROW_OK);
  if (key) assert_int_equal(furrow_learn_conf_set(conf, key, value, NULL), FURROW_OK);
  return conf;
}

static void put_block(fw_buffer *text, const furrow_rowblock *block) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    fw_buffer_format(text, "%g", furrow_row_get_label(&row));
    for (size_t k = 0; k < row.length; k++)
      fw_buffer_format(text, " %llu:%llu:%g", (unsigned long long)furrow_row_get_field(&row, k),
                       (unsigned long long)furrow_row_get_index(&row, k), furrow_row_get_value(&row, k));
    fw_buffer_byte(text, '\n');
  }
}

/* The rows are these, and those of a file with the same text. */
static void expect_lines(furrow_learn_conf *conf, const char *lines, const char *wanted) {
  furrow_line_reader *reader = NULL;
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block = NULL;
  furrow_error err = {0};
  fw_buffer text = {0}, of_file = {0};
  if (furrow_line_reader_create(&reader, conf, &err) != FURROW_OK) fail_msg("%s", err.message);
  for (int i = 0; i < 2; i++) { /* the second time with memory that was used */
    fw_buffer_reset(&text);
    if (furrow_line_reader_read(reader, lines, strlen(lines), &block, &err) != FURROW_OK) fail_msg("%s", err.message);
    put_block(&text, block);
    fw_buffer_byte(&text, 0);
    assert_string_equal(text.bytes, wanted);
  }
  put_text(FILE_OF_ROWS, lines);
  assert_int_equal(furrow_sample_reader_open(&samples, conf, FILE_OF_ROWS, NULL, &err), FURROW_OK);
  while (furrow_sample_reader_next(samples, &block, &err) == FURROW_OK) put_block(&of_file, block);
  fw_buffer_byte(&of_file, 0);
  assert_string_equal(of_file.bytes, wanted);
  furrow_sample_reader_close(samples);
  fw_buffer_clear(&text);
  fw_buffer_clear(&of_file);
  furrow_line_reader_free(reader);
  furrow_learn_conf_free(conf);
}

static void lines_are_those_of_a_file(void **state) {
  (void)state;
  expect_lines(conf_of("libsvm", NULL, NULL), "1 1:0.5 3:2\n0 2:1", "1 0:0:0.5 0:2:2\n0 0:1:1\n");
  expect_lines(conf_of("libsvm", "index-base", "0"), "1 1:0.5 3:2 # x\n\n# y\n0 0:1\n", "1 0:1:0.5 0:3:2\n0 0:0:1\n");
  expect_lines(conf_of("libsvm", NULL, NULL), "1 4 7\n0 5 9\n", "1 0:4:1 0:7:1\n0 0:5:1 0:9:1\n"); /* dummy */
  expect_lines(conf_of("dummy", NULL, NULL), "1 4 7\n", "1 0:4:1 0:7:1\n");
  expect_lines(conf_of("dense", "range", "2"), "1 0.5 2\n0 1 3\n", "1 0:0:0.5 0:1:2\n0 0:0:1 0:1:3\n");
  expect_lines(conf_of("libffm", NULL, NULL), "1 1:2:1 3:5:0.5\n", "1 0:1:1 2:4:0.5\n");
  expect_lines(conf_of("libsvm", "has-label", "no"), "2:0.5 3:2\n", "0 0:1:0.5 0:2:2\n");
}

static void expect_refused(furrow_learn_conf *conf, const char *lines, furrow_status status, uint64_t line,
                           const char *message) {
  furrow_line_reader *reader = NULL;
  const furrow_rowblock *block = NULL;
  furrow_error err = {0};
  furrow_status found = furrow_line_reader_create(&reader, conf, &err);
  if (found == FURROW_OK) found = furrow_line_reader_read(reader, lines, strlen(lines), &block, &err);
  assert_string_equal(err.message, message);
  assert_int_equal(found, status);
  assert_int_equal(err.status, status);
  assert_int_equal(err.line, line);
  assert_null(block);
  furrow_line_reader_free(reader);
  furrow_learn_conf_free(conf);
}

static void errors_have_their_line(void **state) {
  (void)state;
  expect_refused(conf_of("libsvm", NULL, NULL), "1 1:1\n1 2:x\n", FURROW_E_PARSE, 2, "the value is not a number");
  expect_refused(conf_of("libsvm", NULL, NULL), "1 1:1\n1 1:1\n1 0:1", FURROW_E_RANGE, 3,
                 "the index is 0 in data that counts from 1");
  expect_refused(conf_of("libsvm", NULL, NULL), "1 1:1\n1 word 2:1\n", FURROW_E_PARSE, 2,
                 "a word without a number was skipped");
  expect_refused(conf_of("libsvm", NULL, NULL), "1:1 2:1 3:1\n", FURROW_E_FORMAT, 0,
                 "lines begin with a feature, it seems, and not with a label");
  expect_refused(conf_of("dense", "range", "3"), "1 0.5 2\n", FURROW_E_RANGE, 0,
                 "the rows have 2 columns of features, but the model was trained on 3");
}

static void lines_that_mean_nothing_alone(void **state) {
  (void)state;
  static const char message[] = "lines of this model's data mean nothing without their header";
  expect_refused(conf_of("csv", NULL, NULL), "1,2\n", FURROW_E_UNSUPPORTED, 0, message);
  expect_refused(conf_of("libsvm", "index-base", "auto"), "1 2:1\n", FURROW_E_ARGUMENT, 0,
                 "index-base=auto: it is not known which index is the first");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_those_of_a_file),
      cmocka_unit_test(errors_have_their_line),
      cmocka_unit_test(lines_that_mean_nothing_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
