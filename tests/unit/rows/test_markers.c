/* tests/unit/rows/test_markers.c: cells that stand for missing values in columns of numbers and dates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"

enum { ROWS = 600 };

typedef void put_cell(fw_buffer *t, int row);

static fw_buffer text; /* of the table, which is read from memory */

/* Writes a table with the columns `name` and y, and returns the schema that is proposed for it. */
static furrow_schema *propose(const char *name, put_cell *put, uint32_t threads) {
  furrow_schema *schema = NULL;
  furrow_error err = {0};
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.label = "y";
  params.threads = threads;
  fw_buffer_format(&text, "%s;y\n", name);
  for (int row = 0; row < ROWS; row++) {
    put(&text, row);
    fw_buffer_format(&text, ";%d\n", row % 2);
  }
  assert_int_equal(fw_buffer_status(&text, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add("memory://log.csv", text.bytes, text.size, NULL, NULL, NULL), FURROW_OK);
  if (furrow_schema_propose(&schema, "memory://log.csv", &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  return schema;
}

static void remove_log(furrow_schema *schema) {
  furrow_schema_free(schema);
  assert_int_equal(furrow_memory_file_remove("memory://log.csv", NULL), FURROW_OK);
  fw_buffer_clear(&text);
}

static int scramble(int row) {
  return (int)((unsigned)row * 2654435761u >> 8) % 1000;
}

/* ---- Columns ---- */

static void put_errors(fw_buffer *t, int row) {
  static const char *const errors[] = {"#DIV/0!", "#REF!", "#VALUE!"};
  if (row % 3 == 0)
    fw_buffer_text(t, errors[row / 3 % 3]);
  else
    fw_buffer_format(t, "%d", row % 5);
}

static void put_words(fw_buffer *t, int row) {
  if (row % 5 == 0)
    fw_buffer_text(t, row % 2 ? "error" : "not known");
  else
    fw_buffer_format(t, "%d.%d", scramble(row), row % 10);
}

static void put_integers(fw_buffer *t, int row) {
  if (row % 4 == 0)
    fw_buffer_text(t, "unknown");
  else
    fw_buffer_format(t, "%d", scramble(row));
}

static void put_euros(fw_buffer *t, int row) {
  if (row % 5 == 0)
    fw_buffer_text(t, "auf Anfrage");
  else
    fw_buffer_format(t, "%d,%02d €", scramble(row), row % 100);
}

static void put_dates(fw_buffer *t, int row) {
  if (row % 7 == 0)
    fw_buffer_text(t, row % 2 ? "0000-00-00" : "open");
  else
    fw_buffer_format(t, "2023-%02d-%02d", 1 + row % 12, 1 + scramble(row) % 28);
}

static void put_rare_word(fw_buffer *t, int row) {
  if (row == 77)
    fw_buffer_text(t, "unclear");
  else
    fw_buffer_format(t, "%d", row % 2);
}

static void put_sap(fw_buffer *t, int row) {
  fw_buffer_format(t, "%d.%02d%s", scramble(row), row % 100, row % 6 ? "" : "-");
}

static void put_sizes(fw_buffer *t, int row) {
  static const char *const sizes[] = {"S", "M", "38", "40", "42", "44", "46", "48", "50", "52"};
  fw_buffer_text(t, sizes[scramble(row) % 10]);
}

static void put_many_words(fw_buffer *t, int row) {
  if (row % 5 == 0)
    fw_buffer_format(t, "w%c", 'a' + row / 5 % 9);
  else
    fw_buffer_format(t, "%d.5", scramble(row));
}

static void put_mostly_words(fw_buffer *t, int row) {
  if (row % 5)
    fw_buffer_text(t, row % 2 ? "cat" : "dog");
  else
    fw_buffer_format(t, "%d", scramble(row));
}

/* 100+ is more than 100, and not missing. */
static void put_limits(fw_buffer *t, int row) {
  if (row % 5 == 0)
    fw_buffer_text(t, "<100+>");
  else
    fw_buffer_format(t, "%d.5", scramble(row));
}

static void put_answers(fw_buffer *t, int row) {
  if (row % 30 == 0)
    fw_buffer_text(t, "true");
  else
    fw_buffer_format(t, "%d", row % 2);
}

static const struct {
  const char *name;
  put_cell *put;
  const char *wanted;
  const char *said; /* in the comments; NULL: nothing */
} columns[] = {
    {"x", put_words, "{\"as\": \"number\", \"scale\": \"standard\", \"missing\": [\"error\", \"not known\"]}",
     "\"unsure\": \"120 texts (error, not known) count as missing; {\\\"as\\\": \\\"category\\\"} makes every text a "
     "value\""},
    {"x", put_integers, "{\"as\": \"number\", \"scale\": \"standard\", \"missing\": [\"unknown\"]}",
     ", 150 texts (unknown), "},
    {"x", put_euros,
     "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \",\", \"unit\": \"€\", \"missing\": [\"auf "
     "Anfrage\"]}",
     "120 texts (auf Anfrage) count as missing"},
    {"x", put_dates,
     "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"text\", \"parts\": [\"weekday\", \"month\", \"age\"], "
     "\"missing\": [\"0000-00-00\", \"open\"]}",
     "\"unsure\": \"86 texts (0000-00-00, open) count as missing\""},
    {"x", put_rare_word, "{\"as\": \"number\", \"scale\": \"none\", \"missing\": [\"unclear\"]}",
     "1 text (unclear) counts as missing"},
    {"x", put_sap, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\"}", "numbers from -99"},
    /* few integers are categories, as before, and so are the texts among them */
    {"x", put_errors, "{\"as\": \"category\"}", NULL},
    {"size", put_sizes, "{\"as\": \"category\"}", NULL},
    {"x", put_many_words, "{\"as\": \"category\"}", NULL},
    {"x", put_mostly_words, "{\"as\": \"category\"}", NULL},
    {"x", put_limits, "{\"as\": \"category\"}", NULL},
    {"x", put_answers, "{\"as\": \"category\"}", NULL},
    {"shop_id", put_integers, "{\"as\": \"category\"}", NULL},
};

static void markers_are_missing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    char *members, *comments, wanted[512];
    furrow_schema *schema = propose(columns[i].name, columns[i].put, 1);
    assert_int_equal(furrow_schema_text(schema, false, &members, NULL, NULL), FURROW_OK);
    assert_int_equal(furrow_schema_text(schema, true, &comments, NULL, NULL), FURROW_OK);
    snprintf(wanted, sizeof wanted, "\"%s\": %s,\n", columns[i].name, columns[i].wanted);
    if (!strstr(members, wanted)) fail_msg("%zu: %s is not in %s", i, wanted, comments);
    if (columns[i].said && !strstr(comments, columns[i].said))
      fail_msg("%zu: %s is not in %s", i, columns[i].said, comments);
    if (!columns[i].said) assert_null(strstr(comments, "as missing"));
    furrow_free(members);
    furrow_free(comments);
    remove_log(schema);
  }
}

static void threads_do_not_matter(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    char *texts[2];
    for (uint32_t t = 0; t < 2; t++) {
      furrow_schema *schema = propose(columns[i].name, columns[i].put, 1 + 2 * t);
      assert_int_equal(furrow_schema_text(schema, true, &texts[t], NULL, NULL), FURROW_OK);
      remove_log(schema);
    }
    assert_string_equal(texts[0], texts[1]);
    furrow_free(texts[0]);
    furrow_free(texts[1]);
  }
}

/* ---- Reading ---- */

static void encoders_accept_markers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    furrow_schema *schema = propose(columns[i].name, columns[i].put, 1);
    furrow_encoder *encoder = NULL;
    furrow_error err = {0};
    if (furrow_encoder_build(&encoder, "memory://log.csv", schema, NULL, &err) != FURROW_OK)
      fail_msg("%zu: %s", i, err.message);
    furrow_encoder_free(encoder);
    remove_log(schema);
  }
}

/* A schema may also list numbers. */
static void listed_numbers_are_missing(void **state) {
  static const char given[] = "{\"columns\": {\"x\": {\"as\": \"number\", \"missing\": [\"5\", \"-1\"]}, "
                              "\"y\": {\"as\": \"label\", \"missing\": [\"2\"]}}}";
  static const char again[] = "\"x\": {\"as\": \"number\", \"scale\": \"standard\", \"missing\": [\"5\", \"-1\"]}";
  furrow_schema *schema = NULL;
  char *written;
  (void)state;
  assert_int_equal(furrow_schema_parse(&schema, given, sizeof given - 1, NULL), FURROW_OK);
  assert_int_equal(furrow_schema_text(schema, false, &written, NULL, NULL), FURROW_OK);
  if (!strstr(written, again)) fail_msg("%s", written);
  furrow_free(written);
  furrow_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(markers_are_missing),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(encoders_accept_markers),
      cmocka_unit_test(listed_numbers_are_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
