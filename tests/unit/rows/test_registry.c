/* tests/unit/rows/test_registry.c: formats by name, their arguments, and formats that a program adds. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/registry.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"
#include "support/test_env.h"

/* ---- A custom format: key=value pairs; "y=1 w=2 q=3 7=0.5 2@7=0.5" ----------------------------------------- */

typedef struct pairs_state {
  int64_t shift;
  char sign;
} pairs_state;

static atomic_int opened, closed;

static furrow_status open_pairs(const furrow_args *args, void **state, furrow_error *err) {
  pairs_state *s = NULL;
  void *memory = NULL;
  if (strcmp(furrow_args_text(args, "sign"), "fail") == 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "this one does not open");
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof *s, err);
  if (status != FURROW_OK) return status;
  s = memory;
  s->shift = furrow_args_int(args, "shift");
  s->sign = furrow_args_text(args, "sign")[0];
  *state = s;
  opened++;
  return FURROW_OK;
}

static void close_pairs(void *state) {
  if (!state) return;
  closed++;
  fw_free(state);
}

static furrow_status refuse(furrow_error *err, const char *line, const char *at, const char *message) {
  furrow_status status = fw_fail(err, FURROW_E_PARSE, "%s", message);
  fw_error_set_token(err, at, strcspn(at, " \n\r"));
  err->column = (uint64_t)(at - line) + 1;
  return status;
}

static furrow_status take_pair(const pairs_state *s, const char *key, double value, furrow_rowbuilder *row,
                               furrow_error *err) {
  char *end;
  if (key[0] == 'y') return furrow_rowbuilder_label(row, value, err);
  if (key[0] == 'w') return furrow_rowbuilder_weight(row, (float)value, err);
  if (key[0] == 'q') return furrow_rowbuilder_qid(row, (uint64_t)value, err);
  const uint64_t number = strtoull(key, &end, 10);
  if (*end != '@') return furrow_rowbuilder_feature(row, number + (uint64_t)s->shift, value, err);
  return furrow_rowbuilder_feature_of_field(row, number, strtoull(end + 1, NULL, 10), value, err);
}

static furrow_status parse_pairs(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                 furrow_error *err) {
  const pairs_state *s = state;
  char text[256];
  furrow_status status = FURROW_OK;
  if (length >= sizeof text) return fw_fail(err, FURROW_E_PARSE, "too long");
  memcpy(text, line, length);
  text[length] = 0;
  if (text[0] == '%') return FURROW_OK;
  char *rest = text;
  for (char *word; status == FURROW_OK && (word = strsep(&rest, " ")) != NULL;) {
    char *sign = strchr(word, s->sign);
    if (!sign) return refuse(err, text, word, "no pair");
    status = take_pair(s, word, strtod(sign + 1, NULL), row, err);
  }
  return status;
}

static const furrow_arg pairs_args[] = {
    {"shift", FURROW_ARG_INT, "0", NULL, "is added to every index"},
    {"sign", FURROW_ARG_TEXT, "=", NULL, "between key and value"},
    {"mood", FURROW_ARG_ONE_OF, "good", "good|bad", "means nothing"},
};

static const furrow_rows_format pairs = {.size = sizeof(furrow_rows_format),
                                         .name = "pairs",
                                         .description = "key=value",
                                         .args = pairs_args,
                                         .nargs = 3,
                                         .open = open_pairs,
                                         .parse_line = parse_pairs,
                                         .close = close_pairs};
FURROW_REGISTER_ROWS_FORMAT(pairs);

/* ---- Names ---------------------------------------------------------------------------------------------- */

static furrow_status nothing(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                             furrow_error *err) {
  (void)state, (void)line, (void)length, (void)row, (void)err;
  return FURROW_OK;
}

static const furrow_rows_format *find(const char *name) {
  const furrow_rows_format *format = NULL;
  const furrow_status status = furrow_rows_format_find(name, &format, NULL);
  assert_true(status == FURROW_OK ? format != NULL : status == FURROW_E_ARGUMENT && !format);
  return format;
}

static void names(void **state) {
  (void)state;
  furrow_error err;
  static const char *const built_in[] = {"libsvm", "libfm", "libffm", "csv", "dummy", "dense", "table", "pairs"};
  fw_format format;
  for (size_t i = 0; i < 8; i++) {
    assert_string_equal(furrow_rows_format_at(i)->name, built_in[i]);
    assert_ptr_equal(find(built_in[i]), furrow_rows_format_at(i));
    assert_int_equal(furrow_rows_format_at(i)->size, sizeof(furrow_rows_format));
    assert_true(furrow_rows_format_at(i)->description[0]);
    assert_int_equal(fw_format_find(built_in[i], &format, NULL), FURROW_OK);
    assert_string_equal(format.public.name, built_in[i]);
    assert_int_equal(format.parse_chunk != NULL, i < 7);
  }
  assert_null(furrow_rows_format_at(8));
  assert_null(furrow_rows_format_at(SIZE_MAX));
  assert_null(find("LIBSVM"));
  assert_null(find(""));
  assert_null(find("auto"));
  assert_int_equal(fw_format_find("parquet", &format, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message,
                      "there is no format of that name; there are: auto, libsvm, libfm, libffm, csv, dummy, "
                      "dense, table, pairs");
  assert_string_equal(err.token, "parquet");
  char text[160];
  fw_format_names(text, sizeof text);
  assert_string_equal(text, "libsvm, libfm, libffm, csv, dummy, dense, table, pairs");
  fw_format_names(text, 10);
  assert_string_equal(text, "libsvm, l");
}

static void registering(void **state) {
  (void)state;
  furrow_error err;
  static const furrow_arg no_fallback[] = {{"a", FURROW_ARG_INT, NULL, NULL, ""}};
  static const furrow_arg no_values[] = {{"a", FURROW_ARG_ONE_OF, "x", NULL, ""}};
  const furrow_rows_format taken = {.size = sizeof(furrow_rows_format), .name = "csv", .parse_line = nothing};
  const furrow_rows_format taken_too = {.size = sizeof(furrow_rows_format), .name = "pairs", .parse_line = nothing};
  const furrow_rows_format bad[] = {
      {.size = sizeof(furrow_rows_format), .name = NULL, .parse_line = nothing},
      {.size = sizeof(furrow_rows_format), .name = "", .parse_line = nothing},
      {.size = sizeof(furrow_rows_format), .name = "auto", .parse_line = nothing},
      {.size = sizeof(furrow_rows_format), .name = "no_line"},
      {.size = sizeof(furrow_rows_format),
       .name = "no_fallback",
       .parse_line = nothing,
       .args = no_fallback,
       .nargs = 1},
      {.size = sizeof(furrow_rows_format), .name = "no_values", .parse_line = nothing, .args = no_values, .nargs = 1},
  };
  assert_int_equal(furrow_rows_format_register(&taken, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_rows_format_register(&taken_too, NULL), FURROW_E_EXISTS);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(furrow_rows_format_register(&bad[i], &err), FURROW_E_ARGUMENT);
  furrow_rows_format sized = {.name = "sized", .parse_line = nothing};
  assert_int_equal(furrow_rows_format_register(&sized, &err), FURROW_E_ARGUMENT);
  sized.size = sizeof sized + 8;
  assert_int_equal(furrow_rows_format_register(&sized, &err), FURROW_E_UNSUPPORTED);
  assert_null(furrow_rows_format_at(8));
}

/* A name that was claimed before main and could not be had means nothing from then on. */
static void early_failures_are_told(void **state) {
  (void)state;
  static const furrow_rows_format lines = {.size = sizeof lines, .name = "lines"};
  static const furrow_rows_format dense = {.size = sizeof dense, .name = "dense", .parse_line = nothing};
  const furrow_rows_format *found = NULL;
  furrow_parser *parser = NULL;
  furrow_error err;
  assert_int_equal(furrow_rows_format_find("dense", &found, NULL), FURROW_OK);
  furrow_rows_format_register_early(&lines);
  furrow_rows_format_register_early(&dense);
  assert_int_equal(furrow_rows_format_find("lines", &found, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "format lines has none of parse_line, parse_chunk and open_rows");
  assert_int_equal(furrow_rows_format_find("dense", &found, &err), FURROW_E_EXISTS);
  assert_string_equal(err.message, "there is a format named dense already");
  FILE *file = fopen("dense.txt", "w");
  assert_non_null(file);
  fputs("1 2 3\n", file);
  fclose(file);
  assert_int_equal(furrow_parser_open_part(&parser, "dense.txt", 0, 1, "dense", &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_rows_format_find("lime", &found, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.hint,
                      "a format was not registered: format lines has none of parse_line, parse_chunk and open_rows");
}

enum { THREADS = 8, OWN = 40 };

static furrow_rows_format own[THREADS][OWN], same[THREADS][OWN];
static char own_names[THREADS][OWN][32], same_names[OWN][32];
static atomic_int taken_count;

static void *register_many(void *context) {
  const size_t t = (size_t)(uintptr_t)context;
  for (size_t i = 0; i < OWN; i++) {
    if (furrow_rows_format_register(&own[t][i], NULL) != FURROW_OK) abort();
    if (furrow_rows_format_register(&same[t][i], NULL) == FURROW_OK) taken_count++;
    for (size_t k = 0; furrow_rows_format_at(k); k++) (void)find("pairs");
  }
  return NULL;
}

/* Each name is registered once, by the first thread that asks for it. */
static void registering_at_once(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  for (size_t i = 0; i < OWN; i++) {
    snprintf(same_names[i], 32, "same%zu", i);
    for (size_t t = 0; t < THREADS; t++) {
      snprintf(own_names[t][i], 32, "own%zu.%zu", t, i);
      own[t][i] =
          (furrow_rows_format){.size = sizeof(furrow_rows_format), .name = own_names[t][i], .parse_line = nothing};
      same[t][i] =
          (furrow_rows_format){.size = sizeof(furrow_rows_format), .name = same_names[i], .parse_line = nothing};
    }
  }
  for (size_t t = 0; t < THREADS; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, register_many, (void *)(uintptr_t)t), 0);
  for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  assert_int_equal(taken_count, OWN);
  size_t all = 0;
  while (furrow_rows_format_at(all)) all++;
  assert_int_equal(all, 8 + THREADS * OWN + OWN);
  for (size_t t = 0; t < THREADS; t++)
    for (size_t i = 0; i < OWN; i++) assert_string_equal(find(own_names[t][i])->name, own_names[t][i]);
}

/* ---- Arguments ------------------------------------------------------------------------------------------ */

static furrow_status make_args(furrow_args **args, const char *text, furrow_error *err) {
  fw_uri uri;
  assert_int_equal(fw_uri_parse(&uri, text, NULL), FURROW_OK);
  furrow_status status = fw_args_create(args, &pairs, &uri, err);
  fw_uri_clear(&uri);
  return status;
}

static void arguments(void **state) {
  (void)state;
  furrow_args *args = NULL;
  assert_int_equal(make_args(&args, "x", NULL), FURROW_OK);
  assert_int_equal(furrow_args_int(args, "shift"), 0);
  assert_string_equal(furrow_args_text(args, "sign"), "=");
  assert_string_equal(furrow_args_text(args, "mood"), "good");
  fw_args_free(args);
  assert_int_equal(make_args(&args, "x?shift=-9223372036854775808&sign=a=b&mood=bad&shift=7&format=z&__k__=1", NULL),
                   FURROW_OK);
  assert_true(furrow_args_int(args, "shift") == INT64_MIN); /* the first of two counts */
  assert_string_equal(furrow_args_text(args, "shift"), "-9223372036854775808");
  assert_string_equal(furrow_args_text(args, "sign"), "a=b");
  assert_string_equal(furrow_args_text(args, "mood"), "bad");
  fw_args_free(args);
  fw_args_free(NULL);
}

static void wrong_arguments(void **state) {
  (void)state;
  static const struct {
    const char *uri, *message, *token;
  } cases[] = {
      {"x?shift=1.5", "argument shift wants an integer", "1.5"},
      {"x?shift=9223372036854775808", "argument shift wants an integer", "9223372036854775808"},
      {"x?shift=x", "argument shift wants an integer", "x"},
      {"x?mood=Good", "argument mood wants one of good|bad", "Good"},
      {"x?mood=goo", "argument mood wants one of good|bad", "goo"},
      {"x?mood=good|bad", "argument mood wants one of good|bad", "good|bad"},
      {"x?mood=|", "argument mood wants one of good|bad", "|"},
      {"x?moods=good", "format pairs has no argument of that name; it has: format, shift, sign, mood", "moods"},
      {"x?____=1", "format pairs has no argument of that name; it has: format, shift, sign, mood", "____"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    furrow_args *args = NULL;
    furrow_error err;
    assert_int_equal(make_args(&args, cases[i].uri, &err), FURROW_E_ARGUMENT);
    assert_null(args);
    assert_string_equal(err.message, cases[i].message);
    assert_string_equal(err.token, cases[i].token);
    assert_int_equal(make_args(&args, cases[i].uri, NULL), FURROW_E_ARGUMENT);
  }
}

/* ---- Reading with it ------------------------------------------------------------------------------------ */

static furrow_parser *open_parser(const char *uri, furrow_key_type key_type, furrow_value_type value_type,
                                  uint32_t threads, size_t chunk, furrow_on_bad on_bad) {
  furrow_parser *parser = NULL;
  furrow_parser_params p;
  furrow_error err;
  furrow_parser_params_init(&p);
  p.format = "pairs";
  p.key_type = key_type;
  p.value_type = value_type;
  p.threads = threads;
  p.chunk_bytes = chunk;
  p.on_bad = on_bad;
  if (furrow_parser_open(&parser, uri, &p, &err) != FURROW_OK) fail_msg("%s", err.message);
  return parser;
}

static void reading(void **state) {
  (void)state;
  const int before = opened;
  assert_true(test_write_text("data", "% a comment\ny=1 7=0.5 9=2\n\ny=0 w=3 q=5 4@6=7\r\ny=2\n"));
  for (uint32_t threads = 1; threads <= 3; threads++) {
    furrow_parser *parser =
        open_parser("data?shift=100", FURROW_KEY_U32, FURROW_VALUE_F32, threads, 1000, FURROW_ON_BAD_ERROR);
    assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
    const furrow_rowblock *block = furrow_parser_value(parser);
    assert_int_equal(block->size, 3);
    furrow_row row = furrow_rowblock_row(block, 0);
    assert_true(furrow_row_get_label(&row) == 1 && furrow_row_get_weight(&row) == 1 && furrow_row_get_qid(&row) == 0);
    assert_true(row.length == 2 && furrow_row_get_index(&row, 0) == 107 && furrow_row_get_value(&row, 0) == 0.5);
    assert_true(furrow_row_get_index(&row, 1) == 109 && furrow_row_get_value(&row, 1) == 2);
    assert_true(row.field.any && furrow_row_get_field(&row, 0) == 0 && furrow_row_get_field(&row, 1) == 0);
    row = furrow_rowblock_row(block, 1);
    assert_true(furrow_row_get_weight(&row) == 3 && furrow_row_get_qid(&row) == 5);
    assert_true(row.length == 1 && furrow_row_get_field(&row, 0) == 4 && furrow_row_get_index(&row, 0) == 6);
    row = furrow_rowblock_row(block, 2);
    assert_true(furrow_row_get_label(&row) == 2 && row.length == 0);
    assert_int_equal(furrow_parser_next(parser, NULL), FURROW_END);
    assert_string_equal(furrow_parser_format(parser), "pairs");
    assert_int_equal(furrow_parser_index_base(parser), 0);
    furrow_parser_close(parser);
  }
  assert_int_equal(opened - before, 3);
  assert_int_equal(opened, closed);
}

static void reading_what_is_wrong(void **state) {
  (void)state;
  assert_true(test_write_text("bad", "\xef\xbb\xbfy=1 oops 3=4\ny=1 3=4\nz\n"));
  furrow_error err;
  furrow_parser *parser = open_parser("bad", FURROW_KEY_U32, FURROW_VALUE_F32, 1, 0, FURROW_ON_BAD_ERROR);
  assert_int_equal(furrow_parser_next(parser, &err), FURROW_E_PARSE);
  assert_true(err.line == 1 && err.column == 8 && err.offset == 7 && strcmp(err.file, "bad") == 0);
  assert_string_equal(err.token, "oops");
  assert_string_equal(err.message, "no pair");
  furrow_parser_close(parser);
  parser = open_parser("bad", FURROW_KEY_U32, FURROW_VALUE_F32, 2, 1, FURROW_ON_BAD_SKIP);
  size_t rows = 0;
  while (furrow_parser_next(parser, NULL) == FURROW_OK) rows += furrow_parser_value(parser)->size;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  furrow_parser_get_stats(parser, &stats);
  assert_true(rows == 1 && stats.bad_rows == 2 && stats.first_bad.line == 1);
  furrow_parser_close(parser);
  furrow_parser_params p;
  furrow_parser_params_init(&p);
  p.format = "pairs";
  assert_int_equal(furrow_parser_open(&parser, "bad?sign=fail", &p, &err), FURROW_E_UNSUPPORTED);
  assert_int_equal(opened, closed);
}

/* What does not fit the types of the parser is refused; a bad row leaves nothing behind. */
static void numbers_that_do_not_fit(void **state) {
  (void)state;
  static const struct {
    const char *line;
    furrow_key_type key_type;
    furrow_value_type value_type;
    bool fits;
  } cases[] = {
      {"y=1 4294967295=1", FURROW_KEY_U32, FURROW_VALUE_F32, true},
      {"y=1 4294967296=1", FURROW_KEY_U32, FURROW_VALUE_F32, false},
      {"y=1 4294967296=1", FURROW_KEY_U64, FURROW_VALUE_F32, true},
      {"y=1 4294967296@1=1", FURROW_KEY_U32, FURROW_VALUE_F32, false},
      {"y=1 1@4294967296=1", FURROW_KEY_U32, FURROW_VALUE_F32, false},
      {"y=1 4294967296@4294967296=1", FURROW_KEY_U64, FURROW_VALUE_F32, true},
      {"y=1.5", FURROW_KEY_U32, FURROW_VALUE_I32, false},
      {"y=2147483647 1=-2147483648", FURROW_KEY_U32, FURROW_VALUE_I32, true},
      {"y=2147483648", FURROW_KEY_U32, FURROW_VALUE_I32, false},
      {"y=1 1=-2147483649", FURROW_KEY_U32, FURROW_VALUE_I32, false},
      {"y=1 1=nan", FURROW_KEY_U32, FURROW_VALUE_I64, false},
      {"y=1 1=-9223372036854775808", FURROW_KEY_U32, FURROW_VALUE_I64, true},
      {"y=1 1=9223372036854775808", FURROW_KEY_U32, FURROW_VALUE_I64, false},
      {"y=1 1=inf", FURROW_KEY_U32, FURROW_VALUE_F32, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[128];
    furrow_error err;
    snprintf(text, sizeof text, "y=5 5=5\n%s\ny=6\n", cases[i].line);
    assert_true(test_write_text("fits", text));
    furrow_parser *parser = open_parser("fits", cases[i].key_type, cases[i].value_type, 1, 0, FURROW_ON_BAD_ERROR);
    assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
    assert_int_equal(furrow_parser_value(parser)->size, cases[i].fits ? 3 : 1);
    assert_int_equal(furrow_parser_next(parser, &err), cases[i].fits ? FURROW_END : FURROW_E_RANGE);
    if (!cases[i].fits) assert_true(err.line == 2 && err.message[0]);
    furrow_parser_close(parser);
    parser = open_parser("fits", cases[i].key_type, cases[i].value_type, 1, 0, FURROW_ON_BAD_SKIP);
    assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
    assert_int_equal(furrow_parser_value(parser)->size, cases[i].fits ? 3 : 2);
    if (!cases[i].fits) assert_null(furrow_parser_value(parser)->field.any);
    furrow_parser_close(parser);
  }
}

/* Some rows with a label and some without do not go together. */
static void labels_of_some(void **state) {
  (void)state;
  furrow_error err;
  assert_true(test_write_text("labels", "y=1 1=1\n2=2\n"));
  for (size_t chunk = 1; chunk <= 100; chunk *= 100) {
    furrow_parser *parser = open_parser("labels", FURROW_KEY_U32, FURROW_VALUE_F32, 1, chunk, FURROW_ON_BAD_ERROR);
    assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
    assert_int_equal(furrow_parser_next(parser, &err), FURROW_E_PARSE);
    assert_int_equal(err.line, 2);
    furrow_parser_close(parser);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),
      cmocka_unit_test(registering),
      cmocka_unit_test(arguments),
      cmocka_unit_test(wrong_arguments),
      cmocka_unit_test(reading),
      cmocka_unit_test(reading_what_is_wrong),
      cmocka_unit_test(numbers_that_do_not_fit),
      cmocka_unit_test(labels_of_some),
      cmocka_unit_test(registering_at_once),
      cmocka_unit_test(early_failures_are_told),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
