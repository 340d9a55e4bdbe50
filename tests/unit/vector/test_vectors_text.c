/* tests/unit/vector/test_vectors_text.c: vectors from text: tables of numbers, word2vec, GloVe. */
#include <math.h>

#include "furrow/vector_data.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"
#include "support/packed_file.h"

enum { MOST = 64 };

static furrow_vectors_reader *open_text(const char *path, const char *text, size_t d) {
  furrow_vectors_reader *v = NULL;
  furrow_vectors_reader_params params;
  furrow_error err;
  furrow_vectors_reader_params_init(&params);
  params.d = d;
  assert_true(test_write_text(path, text));
  if (furrow_vectors_reader_open(&v, path, &params, &err) != FURROW_OK) fail_msg("%s: %s", text, err.message);
  return v;
}

/* Checks dimension and numbers, in steps of 1 and of 2, and the names. names: "a|b"; NULL: there are none. */
static void expect_text(const char *path, const char *text, size_t d, const char *names, size_t n,
                        const float *numbers) {
  furrow_vectors_reader *v = open_text(path, text, 0);
  if (furrow_vectors_reader_dimension(v) != d) fail_msg("%s: dimension %zu", text, furrow_vectors_reader_dimension(v));
  assert_int_equal(furrow_vectors_reader_count(v), n);
  for (size_t step = 1; step <= 2; step++) {
    float out[MOST];
    int64_t ids[MOST];
    size_t got = 1;
    assert_int_equal(furrow_vectors_reader_rewind(v, NULL), FURROW_OK);
    for (size_t row = 0; got > 0; row += got) {
      assert_int_equal(furrow_vectors_reader_next(v, step, out, ids, &got, NULL), FURROW_OK);
      assert_true(row + got <= n);
      assert_memory_equal(out, numbers + row * d, got * d * sizeof *out);
      for (size_t i = 0; i < got; i++) assert_int_equal(ids[i], row + i);
      if (got == 0) assert_int_equal(row, n);
    }
  }
  assert_true(furrow_vectors_reader_has_names(v) == (names != NULL));
  furrow_name_list list = {0};
  assert_int_equal(furrow_vectors_reader_names(v, &list, NULL), names ? FURROW_OK : FURROW_E_ARGUMENT);
  char joined[256] = "";
  for (size_t i = 0; i < list.count; i++) {
    if (i > 0) strcat(joined, "|");
    strcat(joined, list.names[i]);
  }
  assert_string_equal(joined, names ? names : "");
  furrow_name_list_clear(&list);
  furrow_vectors_reader_close(v);
}

static const float six[] = {1, 2.5F, -3, 4e2F, 5, 6};

static void tables(void **state) {
  (void)state;
  expect_text("a.csv", "1,2.5,-3\n4e2,5,6\n", 3, NULL, 2, six);
  expect_text("a.csv", "1,2.5,-3\r\n4e2,5,6", 3, NULL, 2, six);
  expect_text("a.csv", "\xef\xbb\xbfx,y,z\n1, 2.5 ,-3\n4e2,5,6\n\n\n", 3, NULL, 2, six);
  expect_text("a.csv", "1;2.5;-3\n4e2;5;6\n", 3, NULL, 2, six);
  expect_text("a.csv", "1\t2.5\t-3\n4e2\t5\t6\n", 3, NULL, 2, six);
  expect_text("a.tsv", "1\t2.5\t-3\n4e2\t5\t6\n", 3, NULL, 2, six);
  expect_text("a.csv", "red,1,2.5,-3\nblue sky,4e2,5,6\n", 3, "red|blue sky", 2, six);
  expect_text("a.csv", "id,x,y,z\n7,1,2.5,-3\n8,4e2,5,6\n", 3, "7|8", 2, six);
  expect_text("a.csv", ",x,y,z\n0,1,2.5,-3\n1,4e2,5,6\n", 3, "0|1", 2, six);
  expect_text("a.csv", "\"Name\",\"x\",\"y\",\"z\"\n\"a,\"\"b\",\"1\",\"2.5\",-3\nc,4e2,5,6\n", 3, "a,\"b|c", 2, six);
  expect_text("a.csv", "what,x,y\na,1,2.5\nb,-3,4e2\nc,5,6\n", 2, "a|b|c", 3, six);
  expect_text("a.csv", "x\n1\n2.5\n-3\n4e2\n5\n6\n", 1, NULL, 6, six);
  expect_text("a.csv", "1\n2.5\n-3\n4e2\n5\n6\n", 1, NULL, 6, six);
  expect_text("a.csv", "", 0, NULL, 0, six);
  expect_text("a.csv", "x,y\n", 0, NULL, 0, six);
  /* a first NaN is a number in a table */
  furrow_vectors_reader *v = open_text("a.csv", "nan,1\ninf,2\n", 0);
  float out[4];
  size_t got;
  assert_int_equal(furrow_vectors_reader_next(v, 4, out, NULL, &got, NULL), FURROW_OK);
  assert_true(got == 2 && isnan(out[0]) && out[1] == 1 && isinf(out[2]));
  furrow_vectors_reader_close(v);
}

static void word_vectors(void **state) {
  (void)state;
  expect_text("w.vec", "2 3\nthe 1 2.5 -3 \nof 4e2 5 6 \n", 3, "the|of", 2, six);
  expect_text("w.txt", "2 3\n12 1 2.5 -3\n13 4e2 5 6\n", 3, "12|13", 2, six);
  expect_text("w.txt", "the 1 2.5 -3\nof 4e2 5 6\n", 3, "the|of", 2, six);
  expect_text("w.txt", "nan 1 2.5 -3\n. . . 4e2\t5  6\r\n", 3, "nan|. . .", 2, six);
  expect_text("w.txt", "  1 2.5 -3\n4e2 5 6\n", 3, NULL, 2, six);
  expect_text("w.txt", "3 1\n10 1\n11 2.5\n12 -3\n", 1, "10|11|12", 3, six);
  expect_text("w.vec", "0 3\n", 3, NULL, 0, six);
  /* the dimension that is wanted says what a first number is */
  furrow_vectors_reader *v = open_text("w.txt", "1 2.5 -3\n2 5 6\n", 2);
  assert_true(furrow_vectors_reader_has_names(v));
  assert_int_equal(furrow_vectors_reader_dimension(v), 2);
  furrow_vectors_reader_close(v);
}

/* Lines that are longer than what is read at a time, and many of them; compressed, which cannot seek. */
static void long_files(void **state) {
  enum { N = 3, D = 300000 };
  char *text = malloc((size_t)N * (D * 4 + 16)), *at = text;
  float *out = malloc(D * sizeof *out);
  size_t got = 1;
  (void)state;
  for (size_t i = 0; i < N; i++) {
    at += sprintf(at, "name%zu", i);
    for (size_t k = 0; k < D; k++) at += sprintf(at, " %zu", (i + k) % 100);
    *at++ = '\n';
  }
  assert_true(packed_write("l.txt.gz", FW_FILE_GZIP, text, (size_t)(at - text), NULL));
  furrow_vectors_reader *v = NULL;
  assert_int_equal(furrow_vectors_reader_open(&v, "l.txt.gz", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_vectors_reader_dimension(v), D);
  assert_int_equal(furrow_vectors_reader_count(v), N);
  furrow_name_list list = {0};
  assert_int_equal(furrow_vectors_reader_restrict(v, 1, 2, NULL), FURROW_OK);
  assert_int_equal(furrow_vectors_reader_names(v, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, N);
  furrow_name_list_clear(&list);
  for (size_t i = 1; i < N; i++) {
    assert_int_equal(furrow_vectors_reader_next(v, 1, out, NULL, &got, NULL), FURROW_OK);
    for (size_t k = 0; k < D; k++) assert_true(out[k] == (float)((i + k) % 100));
  }
  assert_int_equal(furrow_vectors_reader_next(v, 1, out, NULL, &got, NULL), FURROW_OK);
  assert_int_equal(got, 0);
  furrow_vectors_reader_close(v);
  free(text);
  free(out);
}

/* What opening, reading or the names fail with. */
static void refuse_text(const char *path, const char *text, furrow_status status, uint64_t line, const char *part) {
  furrow_vectors_reader *v = NULL;
  furrow_error err = {0};
  float out[MOST];
  size_t got = 1;
  furrow_name_list list = {0};
  assert_true(test_write_text(path, text));
  furrow_status found = furrow_vectors_reader_open(&v, path, NULL, &err);
  if (found == FURROW_OK && furrow_vectors_reader_has_names(v)) found = furrow_vectors_reader_names(v, &list, &err);
  while (found == FURROW_OK && got > 0) found = furrow_vectors_reader_next(v, 1, out, NULL, &got, &err);
  if (found != status || err.line != line || !strstr(err.message, part))
    fail_msg("%s: %s, line %d: %s", text, furrow_status_name(found), (int)err.line, err.message);
  assert_string_equal(err.file, path);
  furrow_name_list_clear(&list);
  furrow_vectors_reader_close(v);
}

static void bad_lines(void **state) {
  (void)state;
  refuse_text("b.csv", "1,2\n3,x\n", FURROW_E_PARSE, 2, "is not a number");
  refuse_text("b.csv", "1,2\n3,\n", FURROW_E_PARSE, 2, "is not a number");
  refuse_text("b.csv", "1,2\n3\n", FURROW_E_PARSE, 2, "has 1 number, not 2");
  refuse_text("b.csv", "x,y\n1,2\n3,4,5\n", FURROW_E_PARSE, 3, "has 3 numbers, not 2");
  refuse_text("b.csv", "1,2\n\n3,4\n", FURROW_E_PARSE, 2, "is blank");
  refuse_text("b.csv", "name\na\n", FURROW_E_PARSE, 2, "has no numbers");
  refuse_text("b.csv", "a,1\nb,2\n\"a\",3\n", FURROW_E_PARSE, 3, "line 1 has the same name");
  refuse_text("b.csv", "name,x\na,1\na,2\n", FURROW_E_PARSE, 3, "line 2 has the same name");
  refuse_text("b.csv", "a,1\n,2\n", FURROW_E_PARSE, 2, "empty");
  refuse_text("b.csv", "a,1\n\xff,2\n", FURROW_E_PARSE, 2, "UTF-8");
  refuse_text("b.txt", "a 1 2\n1 2\n", FURROW_E_PARSE, 2, "fewer fields");
  refuse_text("b.txt", "a 1 2\nb 1 c\n", FURROW_E_PARSE, 2, "is not a number");
  refuse_text("b.txt", "a 1 2\n 1 2\n", FURROW_E_PARSE, 2, "empty");
  refuse_text("b.vec", "1 2\na 1 2\nb 3 4\n", FURROW_E_FORMAT, 0, "more vectors than the 1 of its first line");
  refuse_text("b.vec", "3 2\na 1 2\nb 3 4\n", FURROW_E_FORMAT, 0, "fewer vectors than the 3 of its first line");
  refuse_text("b.vec", "18446744073709551615 2\na 1 2\n", FURROW_E_FORMAT, 1, "more than there are bytes");
  refuse_text("b.vec", "0 18446744073709551615\n", FURROW_E_FORMAT, 1, "more than there are bytes");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(tables), TEST(word_vectors), TEST(long_files), TEST(bad_lines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
