/* tests/unit/rows/test_formats.c: what a line means in each format, both the fast way and the careful way.
 *
 * Rows are told as `label weight qid | field:index:value …`, `-` being an array that is absent; ` / ` stands between
 * rows. An error is `! STATUS COLUMN message (token)`, what was ignored `~ COUNT COLUMN message (token)`, bad rows that
 * were left out `? COUNT COLUMN message (token)`. */
#include "fuzz/harness/rows_harness.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"

typedef struct story {
  char text[4096];
  size_t used;
} story;

static void tell(story *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(story *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  s->used += (size_t)vsnprintf(s->text + s->used, sizeof s->text - s->used, format, args);
  va_end(args);
  assert_true(s->used < sizeof s->text);
}

static void tell_value(story *s, furrow_values column, furrow_value_type type, size_t i) {
  if (!column.any)
    tell(s, "-");
  else if (type == FURROW_VALUE_F32)
    tell(s, "%.9g", (double)column.f32[i]);
  else
    tell(s, "%lld", (long long)(type == FURROW_VALUE_I32 ? column.i32[i] : column.i64[i]));
}

static void tell_row(story *s, const furrow_row *row) {
  tell_value(s, row->label, row->value_type, 0);
  row->weight ? tell(s, " %.9g", (double)*row->weight) : tell(s, " -");
  row->qid ? tell(s, " %llu |", (unsigned long long)*row->qid) : tell(s, " - |");
  for (size_t i = 0; i < row->length; i++) {
    if (row->field.any)
      tell(s, " %llu:", (unsigned long long)furrow_row_get_field(row, i));
    else
      tell(s, " -:");
    tell(s, "%llu:", (unsigned long long)furrow_row_get_index(row, i));
    tell_value(s, row->value, row->value_type, i);
  }
}

static void tell_place(story *s, const char *sign, unsigned long long count, const furrow_error *error) {
  tell(s, "%s%s ", s->used ? " / " : "", sign);
  if (count) tell(s, "%llu ", count);
  tell(s, "%llu %s (%s)", (unsigned long long)error->column, error->message, error->token);
}

static void tell_result(story *s, const rows_result *result) {
  const furrow_rowblock block = fw_container_block(result->chunk.out);
  const fw_chunk_stats *stats = &result->chunk.stats;
  s->used = 0;
  s->text[0] = 0;
  for (size_t i = 0; i < block.size; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    if (i) tell(s, " / ");
    tell_row(s, &row);
  }
  if (stats->ignored) tell_place(s, "~", stats->ignored, &stats->first_ignored);
  if (stats->bad_rows) tell_place(s, "?", stats->bad_rows, &stats->first_bad);
  if (result->status == FURROW_E_RANGE)
    tell_place(s, "! range", 0, &result->error);
  else if (result->status != FURROW_OK)
    tell_place(s, "!", 0, &result->error);
}

/* A setup in short: "csv i32 u64 skip base label_column=0". */
static void read_setup(rows_setup *setup, const char *words, char format[128]) {
  *setup = (rows_setup){.format = format, .args = ""};
  snprintf(format, 128, "%s", words);
  char *rest = NULL;
  (void)strtok_r(format, " ", &rest);
  for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
    if (strcmp(word, "skip") == 0)
      setup->on_bad = FURROW_ON_BAD_SKIP;
    else if (strcmp(word, "base") == 0)
      setup->base = 1;
    else if (furrow_key_type_find(word, &setup->key_type, NULL) == FURROW_OK)
      continue;
    else if (furrow_value_type_find(word, &setup->value_type, NULL) == FURROW_OK)
      continue;
    else
      setup->args = word;
  }
}

static void expect(const char *words, const char *text, size_t length, const char *expected) {
  rows_setup setup;
  rows_reader reader;
  rows_result result = {0};
  char format[128];
  story told;
  read_setup(&setup, words, format);
  furrow_error err;
  if (rows_reader_open(&reader, &setup, text, length, &err) != FURROW_OK) fail_msg("%s: %s", words, err.message);
  fw_format careful = reader.format;
  careful.parse_chunk = NULL;
  for (int fast = 0; fast < 2; fast++) {
    rows_parse(&result, &reader, fast ? &reader.format : &careful, &setup, text, length, 0, '9');
    tell_result(&told, &result);
    if (strcmp(told.text, expected) == 0) continue;
    fail_msg("%s, %s: '%s'\n    gives    %s\n    not      %s", words, fast ? "fast" : "careful", text, told.text,
             expected);
  }
  rows_result_clear(&result);
  rows_reader_close(&reader);
}

typedef struct example {
  const char *setup, *text, *expected;
} example;

static void expect_all(const example *examples, size_t count) {
  for (size_t i = 0; i < count; i++)
    expect(examples[i].setup, examples[i].text, strlen(examples[i].text), examples[i].expected);
}
#define EXPECT_ALL(examples) expect_all(examples, sizeof(examples) / sizeof(examples)[0])

/* ---- Lines ---------------------------------------------------------------------------------------------- */

static void line_ends(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm", "", ""},
      {"libsvm", "\n\r\n \t\n", ""},
      {"libsvm", "1 1:2", "1 - - | -:1:2"},
      {"libsvm", "1 1:2\r\n0 3:4\r\n", "1 - - | -:1:2 / 0 - - | -:3:4"},
      {"libsvm", "1 1:2\r0 3:4\r", "1 - - | -:1:2 / 0 - - | -:3:4"},
      {"libsvm", "1 1:2\n\r0 3:4\r\r\n\n5\n", "1 - - | -:1:2 / 0 - - | -:3:4 / 5 - - |"},
      {"csv", "1,2\r\n\r\n3,4", "- - - | -:0:1 -:1:2 / - - - | -:0:3 -:1:4"},
      {"dense", "1 2\r3 4\r", "1 - - | -:0:2 / 3 - - | -:0:4"},
      {"dummy", "1 2\r\n0 3\r\n", "1 - - | -:2:- / 0 - - | -:3:-"},
      {"libfm", "1 2:3:4\r\n\n", "1 - - | 2:3:4"},
      /* a byte order mark, at the start of any line */
      {"libsvm",
       "\xef\xbb\xbf"
       "1 1:2\n\xef\xbb\xbf"
       "0 3:4\n\xef\xbb\xbf\n",
       "1 - - | -:1:2 / 0 - - | -:3:4"},
      {"csv",
       "\xef\xbb\xbf"
       "1,2\n\xef\xbb\xbf"
       "3,4\n",
       "- - - | -:0:1 -:1:2 / - - - | -:0:3 -:1:4"},
      {"libsvm",
       "\xef\xbb\xbf"
       "1 x1:2\n",
       "! 6 the index is not an integer (x1:2)"},
      {"libsvm",
       "1 1:2 \xef\xbb\xbf"
       "3:4\n",
       "! 7 the index is not an integer (\\xef\\xbb\\xbf3:4)"},
  };
  EXPECT_ALL(examples);
}

/* ---- libsvm --------------------------------------------------------------------------------------------- */

static void libsvm_rows(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm", "1 1:0.5 2:-3e2 7:1\n", "1 - - | -:1:0.5 -:2:-300 -:7:1"},
      {"libsvm", "-1.5e2\n", "-150 - - |"},
      {"libsvm", "1 9:1 3:2 9:0\n", "1 - - | -:9:1 -:3:2 -:9:0"},
      {"libsvm", "  1 \t 1:1\t\t2:2  \n", "1 - - | -:1:1 -:2:2"},
      {"libsvm", "1\v1:1\f2:2\xc2\xa0\x33:3\n", "1 - - | -:1:1 -:2:2 -:3:3"},
      /* values: all, none, some */
      {"libsvm", "1 3 7\n0 2\n", "1 - - | -:3:- -:7:- / 0 - - | -:2:-"},
      {"libsvm", "1 3 7:2\n0 2\n", "1 - - | -:3:1 -:7:2 / 0 - - | -:2:1"},
      {"libsvm", "1 3 7\n0 2:5\n", "1 - - | -:3:1 -:7:1 / 0 - - | -:2:5"},
      {"libsvm", "1\n0\n", "1 - - | / 0 - - |"},
      /* weights and qids of some rows are in their places */
      {"libsvm", "1 1:1\n0:0.5 2:2\n1 3:3\n", "1 1 - | -:1:1 / 0 0.5 - | -:2:2 / 1 1 - | -:3:3"},
      {"libsvm", "1 1:1\n0 qid:7 2:2\n1 3:3\n", "1 - 0 | -:1:1 / 0 - 7 | -:2:2 / 1 - 0 | -:3:3"},
      {"libsvm", "1:2 qid:3 4:5\n", "1 2 3 | -:4:5"},
      {"libsvm", "1   qid:3\n1\tqid:4\t4:5\n", "1 - 3 | / 1 - 4 | -:4:5"},
      {"libsvm", "1 qid:18446744073709551615\n1 qid:-1\n1 qid:+2\n",
       "1 - 18446744073709551615 | / 1 - 18446744073709551615 | / 1 - 2 |"},
      /* comments */
      {"libsvm", "# 1 2:3\n1 1:1 # 2:2\n #\n0 2:2#3:3\n1#\n", "1 - - | -:1:1 / 0 - - | -:2:2 / 1 - - |"},
      {"libsvm", "1 # a:b\n1 # 2\n1 3\n", "1 - - | / 1 - - | / 1 - - | -:3:-"},
      /* indices from 1 */
      {"libsvm base", "1 1:5 2:6 4294967296:7\n", "1 - - | -:0:5 -:1:6 -:4294967295:7"},
      {"libsvm base u64", "1 18446744073709551615:7\n", "1 - - | -:18446744073709551614:7"},
  };
  EXPECT_ALL(examples);
}

static void libsvm_numbers(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm", "nan 1:nan 2:inf 3:-INF 4:Infinity 5:-0\n", "nan - - | -:1:nan -:2:inf -:3:-inf -:4:inf -:5:-0"},
      {"libsvm", "+1 +2:+3\n.5 1:5.\n", "1 - - | -:2:3 / 0.5 - - | -:1:5"},
      {"libsvm", "1 1:16777217 2:0.1 3:1e-45 4:7e-46 5:1e39 6:3.4028235e38\n",
       "1 - - | -:1:16777216 -:2:0.100000001 -:3:1.40129846e-45 -:4:0 -:5:inf -:6:3.40282347e+38"},
      {"libsvm", "1 1:0.00000000000000000000000000000000000000000000000000000000000000000001e68 2:1e-400\n",
       "1 - - | -:1:1 -:2:0"},
      {"libsvm", "1 0000000000000000000000000000000000000000000000000000000000000000000000005:1\n", "1 - - | -:5:1"},
      {"libsvm", "1 4294967295:1\n", "1 - - | -:4294967295:1"},
      {"libsvm u64", "1 18446744073709551615:1 0:2\n", "1 - - | -:18446744073709551615:1 -:0:2"},
      {"libsvm i32", "-2147483648 1:2147483647\n", "-2147483648 - - | -:1:2147483647"},
      {"libsvm i64", "9223372036854775807 1:-9223372036854775808\n",
       "9223372036854775807 - - | -:1:-9223372036854775808"},
      {"libsvm i64", "5:0.5 3 4\n", "5 0.5 - | -:3:- -:4:-"},
      {"libsvm i32", "5 3 4:6\n", "5 - - | -:3:1 -:4:6"},
      {"libsvm i32", "5:nan 3:-010\n", "5 nan - | -:3:-10"},
  };
  EXPECT_ALL(examples);
}

static void libsvm_passed_over(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm", "1 Safari 2:3\n", "1 - - | -:2:3 / ~ 1 3 a word without a number was skipped (Safari)"},
      {"libsvm", "x y 1 2:3 z\n", "1 - - | -:2:3 / ~ 3 1 a word without a number was skipped (x)"},
      {"libsvm", "words\n1\n", "1 - - | / ~ 1 1 a word without a number was skipped (words)"},
      {"libsvm", "1 3::4 5:::6\n", "1 - - | -:3:4 -:5:6 / ~ 2 5 a second colon was skipped (:)"},
      {"libsvm", "1 qid:3.7 1:1\n1 qid:3. 1:1\n",
       "1 - 3 | -:1:1 / 1 - 3 | -:1:1 / ~ 2 8 the fraction of a qid was cut off (.7)"},
      /* what a bad row held is not counted */
      {"libsvm skip", "1 x 2:y\n1 a 3:4\n",
       "1 - - | -:3:4 / ~ 1 3 a word without a number was skipped (a) / ? 1 5 the value is not a number (2:y)"},
  };
  EXPECT_ALL(examples);
  expect("libsvm", "1 1:1\0002:2\n", 10, "1 - - | -:1:1 -:2:2 / ~ 1 6 a NUL byte was taken for a blank (\\x00)");
}

static void libsvm_refused(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm", "1 1:1\nhello 1:1\n", "1 - - | -:1:1 / ! 1 the label is not a number (hello)"},
      {"libsvm", "1,3,5 1:1\n", "! 1 the label is not a number (1,3,5)"},
      {"libsvm", "1x\n", "! 1 the label is not a number (1x)"},
      {"libsvm i32", "1.5 1:1\n", "! 1 the label is not an integer (1.5)"},
      {"libsvm i32", "2147483648 1:1\n", "! range 1 the integer does not fit in 32 bits (2147483648)"},
      {"libsvm", "1: 1:1\n", "! 1 the weight is not a number (1:)"},
      {"libsvm", "1:x\n", "! 1 the weight is not a number (1:x)"},
      {"libsvm", "1:2:3\n", "! 1 the weight is not a number (1:2:3)"},
      {"libsvm", "1 :2\n", "! 3 the index is not an integer (:2)"},
      {"libsvm", "1 -3:1\n", "! 3 the index is negative (-3:1)"},
      {"libsvm", "1 1.5:2\n", "! 3 the index is not an integer (1.5:2)"},
      {"libsvm", "1 1e3:2\n", "! 3 the index is not an integer (1e3:2)"},
      {"libsvm", "1 x2:1\n", "! 3 the index is not an integer (x2:1)"},
      {"libsvm", "1 3:\n", "! 3 the value is empty (3:)"},
      {"libsvm", "1 3: 4\n", "! 3 the value is empty (3:)"},
      {"libsvm", "1 3:#4\n", "! 3 the value is empty (3:)"},
      {"libsvm", "1 3::\n", "! 3 the value is empty (3::)"},
      {"libsvm", "1 3:x\n", "! 3 the value is not a number (3:x)"},
      {"libsvm", "1 3:0x10\n", "! 3 the value is not a number (3:0x10)"},
      {"libsvm", "1 3:1e\n", "! 3 the value is not a number (3:1e)"},
      {"libsvm", "1 3:1f 2:2\n", "! 3 the value is not a number (3:1f)"},
      {"libsvm", "1 1:2:3\n", "! 3 the value is not a number (1:2:3)"},
      {"libsvm", "1 1:2;3:4\n", "! 3 the value is not a number (1:2;3:4)"},
      {"libsvm i64", "1 1:2.0\n", "! 3 the value is not an integer (1:2.0)"},
      {"libsvm i64", "1 1:9223372036854775808\n", "! range 3 the value does not fit its type (1:9223372036854775808)"},
      {"libsvm", "1 4294967296:1\n", "! range 3 the index does not fit in 32 bits (4294967296:1)"},
      {"libsvm u64", "1 18446744073709551616:1\n",
       "! range 3 the index does not fit in 64 bits (18446744073709551616:1)"},
      {"libsvm base", "1 1:5\n0 0:6\n", "1 - - | -:0:5 / ! range 3 the index is 0 in data that counts from 1 (0:6)"},
      {"libsvm base", "1 4294967297\n", "! range 3 the index does not fit in 32 bits (4294967297)"},
      {"libsvm", "1 qid:x 1:1\n", "! 3 the qid is not an integer (qid:x)"},
      {"libsvm", "1 qid: 1:1\n", "! 3 the qid is not an integer (qid:)"},
      {"libsvm", "1 qid:1e3\n", "! 3 the qid is not an integer (qid:1e3)"},
      {"libsvm", "1 qid:3.x\n", "! 3 the qid is not an integer (qid:3.x)"},
      {"libsvm", "1 qid:18446744073709551616\n",
       "! range 3 the qid does not fit in 64 bits (qid:18446744073709551616)"},
      {"libsvm", "1 1:1 qid:3\n", "! 7 qid must follow the label (qid:3)"},
      {"libsvm", "1 qid:2 qid:3\n", "! 9 qid must follow the label (qid:3)"},
      {"libsvm", "1 QID:3\n", "! 3 the index is not an integer (QID:3)"},
      {"libsvm skip", "1 1:1\n1 2:x\n0:y 3:3\n1 4:4\n",
       "1 - - | -:1:1 / 1 - - | -:4:4 / ? 2 3 the value is not a number (2:x)"},
      /* a bad row that brought a weight, a qid or the first value leaves nothing of it */
      {"libsvm skip", "1 5\n1:3 qid:4 2:2 x1\n0 6\n",
       "1 - - | -:5:- / 0 - - | -:6:- / ? 1 15 the index is not an integer (x1)"},
  };
  EXPECT_ALL(examples);
}

/* ---- libfm, dummy --------------------------------------------------------------------------------------- */

/* Rows that begin with a feature, or surely with a label. */
static void rows_without_labels(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm has_label=no", "3:1 5:2\n\n # c\n4\n", "- - - | -:3:1 -:5:2 / - - - | -:4:1"},
      {"libsvm has_label=no", "1 1:0.5\n2:3\n", "- - - | -:1:1 -:1:0.5 / - - - | -:2:3"},
      {"libsvm base has_label=no", "  3:1\t5:2 # c\n", "- - - | -:2:1 -:4:2"},
      {"libsvm has_label=no", "3:4\nqid:3 5:2\n", "- - - | -:3:4 / ! 1 qid must follow the label (qid:3)"},
      {"libsvm has_label=no", "3:4\n-1 5:2\n", "- - - | -:3:4 / ! 1 the index is negative (-1)"},
      {"libsvm has_label=yes", "3:1 5:2\n4:1 9:1\n", "3 1 - | -:5:2 / 4 1 - | -:9:1"},
      {"libffm has_label=no", "3:1:4 5:2:1\n", "- - - | 3:1:4 5:2:1"},
      {"libffm has_label=yes", "1 3:1 7:1\n", "1 - - | 3:1:- 7:1:-"},
      {"libffm", "3:1:4 5:2:1\n", "! 1 the weight is not a number (3:1:4)"},
      {"dummy has_label=no", "3 5\n7\n", "- - - | -:3:- -:5:- / - - - | -:7:-"},
      {"dense has_label=no", "0.5 2\n1 3\n", "- - - | -:0:0.5 -:1:2 / - - - | -:0:1 -:1:3"},
  };
  EXPECT_ALL(examples);
}

static void libfm_rows(void **state) {
  (void)state;
  static const example examples[] = {
      {"libfm", "1 2:3:4.5 0:7:1\n0 1:1:1\n", "1 - - | 2:3:4.5 0:7:1 / 0 - - | 1:1:1"},
      {"libffm", "1:0.5 2:3 5:6:7\n0\n", "1 0.5 - | 2:3:1 5:6:7 / 0 1 - |"},
      {"libfm", "1 2:3\n0 4:5\n", "1 - - | 2:3:- / 0 - - | 4:5:-"},
      {"libfm", "1 2:3 # 4:5\n", "1 - - | 2:3:-"},
      {"libfm", "1\n0\n", "1 - - | / 0 - - |"},
      {"libfm base", "1 1:2:3\n", "1 - - | 0:1:3"},
      {"libfm u64 i64", "1 4294967296:18446744073709551615:-1\n", "1 - - | 4294967296:18446744073709551615:-1"},
      {"libfm", "1 x 2:3:4\n", "1 - - | 2:3:4 / ~ 1 3 a word without a number was skipped (x)"},
      {"libfm", "1 2:3::4\n", "1 - - | 2:3:4 / ~ 1 7 a second colon was skipped (:)"},
      {"libfm", "1 2\n", "! 3 a feature is field:index[:value] (2)"},
      {"libfm", "1 2:\n", "! 3 the index is not an integer (2:)"},
      {"libfm", "1 2::3\n", "! 3 the index is not an integer (2::3)"},
      {"libfm", "1 -2:3:4\n", "! 3 the field is negative (-2:3:4)"},
      {"libfm", "1 2:-3:4\n", "! 3 the index is negative (2:-3:4)"},
      {"libfm", "1 a2:3:4\n", "! 3 the field is not an integer (a2:3:4)"},
      {"libfm", "1 2:3:\n", "! 3 the value is empty (2:3:)"},
      {"libfm", "1 2:3:4:5\n", "! 3 the value is not a number (2:3:4:5)"},
      {"libfm", "1 4294967296:1:1\n", "! range 3 the field does not fit in 32 bits (4294967296:1:1)"},
      {"libfm base", "1 0:1:1\n", "! range 3 the field is 0 in data that counts from 1 (0:1:1)"},
      {"libfm base", "1 1:0:1\n", "! range 3 the index is 0 in data that counts from 1 (1:0:1)"},
      {"libfm", "1 qid:3 2:3:4\n", "! 3 libfm data has no qid (qid:3)"},
      {"libfm skip", "1\n1 2:3:4 x1\n2\n", "1 - - | / 2 - - | / ? 1 9 the field is not an integer (x1)"},
  };
  EXPECT_ALL(examples);
}

static void dummy_rows(void **state) {
  (void)state;
  static const example examples[] = {
      {"dummy", "1 3 5\n-1 7 # 8\n0\n", "1 - - | -:3:- -:5:- / -1 - - | -:7:- / 0 - - |"},
      {"dummy base", "1 3 1\n", "1 - - | -:2:- -:0:-"},
      {"dummy i32 u64", "1 4294967296\n", "1 - - | -:4294967296:-"},
      {"dummy", "1:0.5 3\n", "! 1 dummy data has no weights (1:0.5)"},
      {"dummy", "1 3:1\n", "! 3 dummy data has no values (3:1)"},
      {"dummy", "1 -3\n", "! 3 the index is negative (-3)"},
      {"dummy base", "1 0\n", "! range 3 the index is 0 in data that counts from 1 (0)"},
      {"dummy", "1 3,5\n", "! 3 the index is not an integer (3,5)"},
  };
  EXPECT_ALL(examples);
}

/* ---- csv ------------------------------------------------------------------------------------------------ */

static void csv_rows(void **state) {
  (void)state;
  static const example examples[] = {
      {"csv header=no", "1,2.5,-3e2\n0,0,0\n", "- - - | -:0:1 -:1:2.5 -:2:-300 / - - - | -:0:0 -:1:0 -:2:0"},
      {"csv label_column=0", "1,2,3\n0,4\n5\n", "1 - - | -:0:2 -:1:3 / 0 - - | -:0:4 / 5 - - |"},
      {"csv label_column=1", "2,1,3\n", "1 - - | -:0:2 -:1:3"},
      {"csv label_column=2&weight_column=0", "0.5,2,1\n", "1 0.5 - | -:0:2"},
      {"csv label_column=0&weight_column=1", "1,nan,3\n1,,4\n1,NA,5\n1,2,6\n1\n",
       "1 1 - | -:0:3 / 1 1 - | -:0:4 / 1 1 - | -:0:5 / 1 2 - | -:0:6 / 1 1 - |"},
      {"csv label_column=5", "1,2\n3\n", "- - - | -:0:1 -:1:2 / - - - | -:0:3"},
      {"csv i32 label_column=0&weight_column=1", "7,0.5,-3\n", "7 0.5 - | -:0:-3"},
      {"csv i64", "9223372036854775807,-010\n", "- - - | -:0:9223372036854775807 -:1:-10"},
      /* missing */
      {"csv", "1,,3\n,2\n,,\n4,\n", "- - - | -:0:1 -:2:3 / - - - | -:1:2 / - - - | / - - - | -:0:4"},
      {"csv", "NA,1,n/a,#N/A,NULL,none,Nil,MISSING,?,-,--,+,.,\\N,\\n,2\n", "- - - | -:1:1 -:15:2"},
      {"csv", "nan,NaN(x),-nan,inf,-Infinity\n", "- - - | -:0:nan -:1:nan -:2:-nan -:3:inf -:4:-inf"},
      /* blanks and quotes */
      {"csv label_column=0", " 1 ,\t2\t, 3\n", "1 - - | -:0:2 -:1:3"},
      {"csv", "1, ,3\n", "- - - | -:0:1 -:2:3"},
      {"csv", "   \n\t\n1,2\n", "- - - | -:0:1 -:1:2"},
      {"csv", "\"1\",\"2.5\", \"3\" ,\"\",\"NA\"\n", "- - - | -:0:1 -:1:2.5 -:2:3"},
      {"csv label_column=0", "\"1\",2\n", "1 - - | -:0:2"},
      {"csv", "# a,b\n1,2\n#\n", "- - - | -:0:1 -:1:2"},
      {"csv", "#N/A,1\n1,#N/A\n# n/a,1\n", "- - - | -:1:1 / - - - | -:0:1"}, /* a missing cell, no comment */
      {"csv", "\"5\",\"\",\"7.5\"\n\"-3\",\"1,5\"\n", "- - - | -:0:5 -:2:7.5 / ! 7 not a number (1,5)"},
      /* delimiters */
      {"csv delimiter=tab", "1\t\t3\t\n", "- - - | -:0:1 -:2:3"},
      {"csv delimiter=\\t", "1\t2 \t 3\n", "- - - | -:0:1 -:1:2 -:2:3"},
      {"csv delimiter=;", "1;2;3\n", "- - - | -:0:1 -:1:2 -:2:3"},
      {"csv delimiter=|", "1|2|\"3\"\n", "- - - | -:0:1 -:1:2 -:2:3"},
      {"csv delimiter=\x01", "1\x01\\N\x01\x33\n", "- - - | -:0:1 -:2:3"},
  };
  EXPECT_ALL(examples);
}

static void csv_headers(void **state) {
  (void)state;
  static const example examples[] = {
      {"csv", "a,b\n1,2\n", "- - - | -:0:1 -:1:2"},
      {"csv label_column=b", "a,b\n1,2\n", "2 - - | -:0:1"},
      {"csv label_column=b", "a;b\n1;2\n", "2 - - | -:0:1"},
      {"csv label_column=b", "a c\tb\n1\t2\n", "2 - - | -:0:1"},
      {"csv", "a|b\n1|\n", "- - - | -:0:1"},
      {"csv delimiter=auto", "1;2\n3;4\n", "- - - | -:0:1 -:1:2 / - - - | -:0:3 -:1:4"},
      {"csv delimiter=auto", "1,\t2\n3,\t4\n", "- - - | -:0:1 -:1:2 / - - - | -:0:3 -:1:4"},
      {"csv delimiter=auto", "1,5;2\n", "! 1 not a number (1,5)"},
      {"csv delimiter=;", "1,5;2\n",
       "- - - | -:0:1 -:1:2 / ~ 1 2 text after a number was skipped (,5)"}, /* as dmlc-core does */
      {"csv", "a,b\n1,2,\n3,\n4,5, \n", "- - - | -:0:1 -:1:2 / - - - | -:0:3 / - - - | -:0:4 -:1:5"},
      {"csv", "a,b,c\n1,2,3\n4,5\n", "- - - | -:0:1 -:1:2 -:2:3 / ! 4 the header has 3 columns, this line has 2 ()"},
      {"csv", "a,b\n1,2\n4,5,x,y\n", "- - - | -:0:1 -:1:2 / ! 5 the header has 2 columns, this line has 4 (x)"},
      {"csv", "a\n1\n4,5\n", "- - - | -:0:1 / ! 3 the header has 1 column, this line has 2 (5)"},
      {"csv skip", "a,b\n1\n4,5\n", "- - - | -:0:4 -:1:5 / ? 1 2 the header has 2 columns, this line has 1 ()"},
      {"csv columns=c,a,b", "a,b,c\n1,2,3\n4,,6\n", "- - - | -:0:3 -:1:1 -:2:2 / - - - | -:0:6 -:1:4"},
      {"csv columns=c,a&label_column=y", "a,y,c\n1,2,3\n", "2 - - | -:0:3 -:1:1"},
      {"csv columns=c&extra=ignore", "a,name,c\n1,\"x, \"\"y\"\"\",3\n4,z,6\n", "- - - | -:0:3 / - - - | -:0:6"},
      {"csv columns=a&extra=ignore", "name,a\n#x,1\n#N/A,2\ny#,3\n", "- - - | -:0:2 / - - - | -:0:3"},
      {"csv columns=b,a&label_column=y&label=optional", "a,b\n1,2\n", "- - - | -:0:2 -:1:1"},
      {"csv columns=b,a&label_column=y&label=optional", "y,a,b\n7,1,2\n", "7 - - | -:0:2 -:1:1"},
      {"csv label_column=5&label=optional", "a,b\n1,2\n", "- - - | -:0:1 -:1:2"},
      {"csv header=yes&columns=p%2Cq,50%25,%", "%,50%,\"p,q\"\n1,2,3\n", "- - - | -:0:3 -:1:2 -:2:1"},
      {"csv label_column=x&weight_column=z", "x,y,z\n1,2,3\n", "1 3 - | -:0:2"},
      {"csv label_column=p,q", "\"p,q\",\"r\"\n1,2\n", "1 - - | -:0:2"},
      {"csv", "\n# c\n\"a\",NA\n1,2\n", "- - - | -:0:1 -:1:2"},
      {"csv", "\xef\xbb\xbf\x61,b\r\n1,2\r\n", "- - - | -:0:1 -:1:2"},
      {"csv", "NA,\n1,2\n", "- - - | / - - - | -:0:1 -:1:2"},
      {"csv header=yes", "1,2\n3,4\n", "- - - | -:0:3 -:1:4"},
      {"csv", "a,2015,y\n1,2,3\n", "- - - | -:0:1 -:1:2 -:2:3"},
      {"csv label_column=y", "a,2015,y\n1,2,3\n", "3 - - | -:0:1 -:1:2"},
      {"csv", "a,2015\n1,2\n", "! 1 not a number (a)"},
      {"csv", "1,b,3\n1,2,3\n", "! 3 not a number (b)"},
      {"csv", "2015,b,c\n1,2,3\n", "! 6 not a number (b)"},
      {"csv", "a,2.5,y\n1,2,3\n", "! 1 not a number (a)"},
      {"csv header=no", "a,b\n1,2\n", "! 1 not a number (a)"},
      {"csv", "a,1\n1,2\n", "! 1 not a number (a)"},
      {"csv", "a,b\n", ""},
      {"csv header=yes", "a", ""},
      {"csv", "1,2\na,b\n", "- - - | -:0:1 -:1:2 / ! 1 not a number (a)"},
  };
  EXPECT_ALL(examples);
}

static void csv_passed_over(void **state) {
  (void)state;
  static const example examples[] = {
      {"csv", "5%,6 kg\n", "- - - | -:0:5 -:1:6 / ~ 2 2 text after a number was skipped (%)"},
      {"csv", "1 2,3\n", "! 1 not a number (1 2)"},
      {"csv", "1,2e,3f\n", "- - - | -:0:1 -:1:2 -:2:3 / ~ 2 4 text after a number was skipped (e)"},
      {"csv", "1,e5,E-3\n",
       "- - - | -:0:1 -:1:0 -:2:0 / ~ 2 3 an exponent without digits before it was taken for 0 (e5)"},
      {"csv i32", "1,2x\n", "- - - | -:0:1 -:1:2 / ~ 1 4 text after a number was skipped (x)"},
  };
  EXPECT_ALL(examples);
}

static void csv_refused(void **state) {
  (void)state;
  static const example examples[] = {
      {"csv", "1,abc\n", "! 3 not a number (abc)"},
      {"csv", "1,2\n1,0x1F\n", "- - - | -:0:1 -:1:2 / ! 3 not a number (0x1F)"},
      {"csv", "1,infx\n", "! 3 not a number (infx)"},
      {"csv", "1,nano\n", "! 3 not a number (nano)"},
      {"csv", "1,\"5%\"\n", "! 4 not a number (5%)"},
      {"csv", "1,\"2\"x\n", "! 3 a quote is not closed, or text follows it (\"2\"x)"},
      {"csv", "1,\"2\n", "! 3 a quote is not closed, or text follows it (\"2)"},
      {"csv", "1,\"2\"\"3\"\n", "! 4 not a number (2\"\"3)"},
      {"csv", "1,2\"\n", "- - - | -:0:1 -:1:2 / ~ 1 4 text after a number was skipped (\")"},
      {"csv", "1;2;3\n", "! 1 the line has no delimiter ',' (1;2;3)"},
      {"csv i32", "1,2.0\n", "! 3 not an integer (2.0)"},
      {"csv i32", "1,2e3\n", "! 3 not an integer (2e3)"},
      {"csv i32", "1,nan\n", "! 3 not an integer (nan)"},
      {"csv i32", "1,2147483648\n", "! range 3 the integer does not fit (2147483648)"},
      {"csv i64", "1,-9223372036854775809\n", "! range 3 the integer does not fit (-9223372036854775809)"},
      {"csv label_column=0", ",1\n", "! 1 the label is missing ()"},
      {"csv label_column=0", "NA,1\n", "! 1 the label is missing (NA)"},
      {"csv label_column=0&header=no", "x,1\n", "! 1 the label is not a number (x)"},
      {"csv label_column=1", "1,2\n3\n4,5\n", "2 - - | -:0:1 / ! 2 the row has no label ()"},
      {"csv label_column=1", "3\n1,2\n",
       "- - - | -:0:3 / ! 4 this row has a label, the first row of the data has none ()"},
      {"csv skip label_column=1", "1,2\n3\n4,5\n6,x\n",
       "2 - - | -:0:1 / 5 - - | -:0:4 / ? 2 2 the row has no label ()"},
      {"csv label_column=y", "a,y\n1,\n2,\n", "! 3 the row has no label ()"},
      {"csv weight_column=1", "1,x\n", "! 3 not a number (x)"},
  };
  EXPECT_ALL(examples);
}

/* Arguments that a format does not take. */
static void wrong_arguments(void **state) {
  (void)state;
  static const example examples[] = {
      {"csv delimiter=ab", "1,2\n", "delimiter must be one byte that no number holds"},
      {"csv delimiter=.", "1,2\n", "delimiter must be one byte that no number holds"},
      {"csv delimiter=5", "1,2\n", "delimiter must be one byte that no number holds"},
      {"csv delimiter=\"", "1,2\n", "delimiter must be one byte that no number holds"},
      {"csv label_column=1&weight_column=1", "1,2\n", "label_column and weight_column are the same column"},
      {"csv label_column=x", "1,2\n", "label_column is neither a number nor the name of a column: there is no header"},
      {"csv label_column=x", "a,b\n", "label_column is neither a number nor the name of a column"},
      {"csv label_column=99999999999999999999", "1,2\n", "label_column is out of range"},
      {"csv columns=a,q", "a,b\n1,2\n", "the csv has no column of that name"},
      {"csv columns=a", "a,b\n1,2\n", "the csv has a column that is not expected"},
      {"csv columns=a,b,a", "a,b\n1,2\n", "columns names a column twice"},
      {"csv columns=a,b&label_column=b", "a,b\n1,2\n", "a column is named as a feature and as the label or weight"},
      {"csv columns=a,b", "a,b,a\n1,2,3\n", "the header has two columns of that name"},
      {"csv label_column=a", "a,b,a\n1,2,3\n", "the header has two columns of that name"},
      {"csv columns=a,b", "1,2\n", "there is no header to find the columns in"},
      {"csv label_column=2", "a,b\n1,2\n", "label_column is 2, but the header has 2 columns (counted from 0)"},
      {"csv label_column=y&label=optional", "1,2\n",
       "label_column is neither a number nor the name of a column: there is no header"},
      {"csv label=maybe", "1,2\n", "argument label wants one of required|optional"},
      {"libsvm", "3:1 5:1\n4:1\n7:2 8:1\n", "lines begin with a feature, it seems, and not with a label"},
      {"libsvm has_label=no", "1 3:1\n0 4:1\n",
       "lines begin with a label, it seems, and has_label=no says that they do not"},
      {"libsvm", "1 3 4 3\n0 5 1 2\n", "this is a table of numbers, it seems, and not indices"},
      {"libffm", "1 3:1 7:1\n", "features are index:value, it seems, and not field:index"},
      {"csv header=maybe", "1,2\n", "argument header wants one of auto|yes|no"},
      {"csv header=auto|yes", "1,2\n", "argument header wants one of auto|yes|no"},
      {"csv", "", "the csv is empty: it has no columns"},
      {"csv color=red", "1,2\n",
       "format csv has no argument of that name; it has: format, label_column, weight_column, delimiter, header, "
       "columns, extra, label"},
      {"libsvm indexing_mode=x", "1\n", "argument indexing_mode wants an integer"},
      {"libsvm indexing_mode=1.5", "1\n", "argument indexing_mode wants an integer"},
      {"dense label_column=1", "1 2\n", "format dense has no argument of that name; it has: format, has_label"},
  };
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    rows_setup setup;
    rows_reader reader;
    char format[128];
    furrow_error err = {0};
    read_setup(&setup, examples[i].setup, format);
    furrow_status status = rows_reader_open(&reader, &setup, examples[i].text, strlen(examples[i].text), &err);
    if (status == FURROW_OK) fail_msg("%s was taken", examples[i].setup);
    assert_string_equal(err.message, examples[i].expected);
    assert_true(status == FURROW_E_ARGUMENT || status == FURROW_E_FORMAT);
  }
}

/* ---- dense ---------------------------------------------------------------------------------------------- */

static void dense_rows(void **state) {
  (void)state;
  static const example examples[] = {
      {"dense", "1 0.5 -2 nan\n0 1 2 3\n", "1 - - | -:0:0.5 -:1:-2 -:2:nan / 0 - - | -:0:1 -:1:2 -:2:3"},
      {"dense", " 1\t0.5 \t 2 \n", "1 - - | -:0:0.5 -:1:2"},
      {"dense", "1\n", "1 - - |"},
      {"dense", "1 2 3\n0 4\n", "1 - - | -:0:2 -:1:3 / ! 4 the first line has 3 numbers, this line has 2 ()"},
      {"dense skip", "1 2\n0 4 \n0 5 6\n",
       "1 - - | -:0:2 / 0 - - | -:0:4 / ? 1 5 the first line has 2 numbers, this line has 3 (6)"},
      {"dense", "# 1 2\n1 2\n", "1 - - | -:0:2"},
      {"dense i32", "1 2 3\n", "1 - - | -:0:2 -:1:3"},
      {"dense", "1 NA 2\n", "! 3 not a number (NA)"},
      {"dense", "1 5%\n", "! 3 not a number (5%)"},
      {"dense", "1 e5\n", "! 3 not a number (e5)"},
      {"dense", "1 2 # 3\n", "! 5 not a number (#)"},
      {"dense", "x 2\n", "! 1 the label is not a number (x)"},
      {"dense", "1,2,3\n", "! 1 the label is not a number (1,2,3)"},
      {"dense", "1 2\v3\n", "! 3 not a number (2\\x0b3)"},
      {"dense i32", "1 2.5\n", "! 3 not an integer (2.5)"},
      {"dense skip", "1 x\n1 2\n", "1 - - | -:0:2 / ? 1 3 not a number (x)"},
  };
  EXPECT_ALL(examples);
}

/* ---- Where dmlc-core goes astray ------------------------------------------------------------------------ */

/* Numbers taken from other tokens and other lines, values given to other rows, junk taken for data: none of it here. */
static void traps(void **state) {
  (void)state;
  static const example examples[] = {
      {"libsvm", "1 1:2 3:nan\n7 1:1\n", "1 - - | -:1:2 -:3:nan / 7 - - | -:1:1"},
      {"libsvm", "1 1:inf 2:3\n", "1 - - | -:1:inf -:2:3"},
      {"libsvm", "1 3:\n-1 2:5\n", "! 3 the value is empty (3:)"},
      {"libsvm", "1 3:", "! 3 the value is empty (3:)"},
      {"libsvm", "1 1:#2\n0 2:1\n", "! 3 the value is empty (1:)"},
      {"libsvm", "1 1:1\n# comment 42\n0 2:1\n", "1 - - | -:1:1 / 0 - - | -:2:1"},
      {"libsvm", "1 1:1\n# 42:1 7:7\n0 2:1\n", "1 - - | -:1:1 / 0 - - | -:2:1"},
      {"libsvm", "1,1:2,3:4\n", "! 1 the label is not a number (1,1:2,3:4)"},
      {"libsvm", "--1 1:+-2\n", "! 1 the label is not a number (--1)"},
      {"libsvm", "1 1:+-2\n", "! 3 the value is not a number (1:+-2)"},
      {"libsvm", "- 1:+ 2:-\n", "! 1 the label is not a number (-)"},
      {"libsvm", "0x10 1:0x1F\n", "! 1 the label is not a number (0x10)"},
      {"libsvm", "1f 1:2f\n", "! 1 the label is not a number (1f)"},
      {"libsvm", "<html><body>404 not found</body></html>\n", "! 1 the label is not a number (<html><body>404)"},
      {"libsvm", "{\"label\": 1, \"f\": [1,2,3]}\n", "! 1 the label is not a number ({\"label\":)"},
      {"libsvm", "1\nqid:3 1:1\n", "1 - - | / ! 1 the label is not a number (qid:3)"},
      {"libsvm", "2:1\tqid:10\t1:1\n1:1\tqid:11\t2:1\n", "2 1 10 | -:1:1 / 1 1 11 | -:2:1"},
      {"libsvm", "1 1:1\n0 2:1\n1:3 3:1\n", "1 1 - | -:1:1 / 0 1 - | -:2:1 / 1 3 - | -:3:1"},
      {"libsvm", "1 1:0.12345678901234567890123 2:0.00000000000000000001 3:16777218.9999\n",
       "1 - - | -:1:0.123456791 -:2:9.99999968e-21 -:3:16777218"},
      {"libsvm", "1 1:18446744073709551616 2:99999999999999999999 3:340282346638528859811704183484516925440\n",
       "1 - - | -:1:1.84467441e+19 -:2:1.00000002e+20 -:3:3.40282347e+38"},
      {"libsvm", "1 1:1e39 2:-1e39 3:1e99999999999 4:1e-39 5:0e-50\n",
       "1 - - | -:1:inf -:2:-inf -:3:inf -:4:1.00000022e-39 -:5:0"},
      {"libfm", "1 0:1:\n5 1:2:3\n", "! 3 the value is empty (0:1:)"},
      {"libfm", "1 4294967297:4294967298:1\n", "! range 3 the field does not fit in 32 bits (4294967297:4294967298:1)"},
      {"csv", "1,2, \n7,8,9\n", "- - - | -:0:1 -:1:2 / - - - | -:0:7 -:1:8 -:2:9"},
      {"csv", " \n7,8\n", "- - - | -:0:7 -:1:8"},
      {"csv delimiter=tab", "1\t\t3\n4\t5\t\n", "- - - | -:0:1 -:2:3 / - - - | -:0:4 -:1:5"},
      {"csv", "1e3,1E-3,1.5e+2,1e39,1e-39,1e-45\n",
       "- - - | -:0:1000 -:1:0.00100000005 -:2:150 -:3:inf -:4:1.00000022e-39 -:5:1.40129846e-45"},
      {"csv weight_column=1", "1,2,3\n4,,6\n", "- 2 - | -:0:1 -:1:3 / - 1 - | -:0:4 -:1:6"},
      {"csv i32 weight_column=1", "1,2,3\n", "- 2 - | -:0:1 -:1:3"},
      {"csv i32", "010,+7\n", "- - - | -:0:10 -:1:7"},
      {"csv i32", "4294967296\n", "! range 1 the integer does not fit (4294967296)"},
      {"csv label_column=0", "1.000000000000000000e+00,8.692932128906250000e-01,-6.350818276405334473e-01\n",
       "1 - - | -:0:0.869293213 -:1:-0.635081828"},
  };
  EXPECT_ALL(examples);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(line_ends),           cmocka_unit_test(libsvm_rows),     cmocka_unit_test(libsvm_numbers),
      cmocka_unit_test(libsvm_passed_over),  cmocka_unit_test(libsvm_refused),  cmocka_unit_test(libfm_rows),
      cmocka_unit_test(rows_without_labels), cmocka_unit_test(dummy_rows),      cmocka_unit_test(csv_rows),
      cmocka_unit_test(csv_headers),         cmocka_unit_test(csv_passed_over), cmocka_unit_test(csv_refused),
      cmocka_unit_test(wrong_arguments),     cmocka_unit_test(dense_rows),      cmocka_unit_test(traps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
