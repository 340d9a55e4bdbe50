/* tests/unit/rows/test_reject.c: each file of tests/reject is refused as its list says: status, line, column, token,
 * message; and when bad rows are left out, exactly one is. */
#include "furrow/rows.h"
#include "support/reject_list.h"

typedef struct entry {
  char file[128], args[64], key_type[8], value_type[8], status[16], token[128], message[256];
  unsigned long long line, column;
} entry;

/* Where the data row of an entry's file are refused, in one line. */
static void tell_place(char text[512], furrow_status status, const furrow_error *error) {
  snprintf(text, 512, "%s %llu %llu %s %s", furrow_status_name(status), (unsigned long long)error->line,
           (unsigned long long)error->column, error->token[0] ? error->token : "-", error->message);
}

/* The same status for a caller who does not ask why. */
static void check_without_error(const char *uri, const furrow_parser_params *p, const char *wanted) {
  furrow_parser *parser = NULL;
  furrow_status status;
  assert_int_equal(furrow_parser_open(&parser, uri, p, NULL), FURROW_OK);
  while ((status = furrow_parser_next(parser, NULL)) == FURROW_OK) continue;
  assert_string_equal(furrow_status_name(status), wanted);
  furrow_parser_close(parser);
}

static void check(const entry *e, uint32_t threads, size_t chunk) {
  char path[TEST_PATH], uri[2 * TEST_PATH], format[128], wanted[512], found[512];
  furrow_parser_params p;
  furrow_parser *parser = NULL;
  furrow_error err;
  furrow_status status;
  uint64_t rows = 0;
  reject_path(path, "", e->file);
  snprintf(uri, sizeof uri, "%s%s%s", path, e->args[0] == '-' ? "" : "?", e->args[0] == '-' ? "" : e->args);
  snprintf(format, sizeof format, "%.*s", (int)strcspn(e->file, "/"), e->file);
  furrow_parser_params_init(&p);
  p.format = format;
  p.threads = threads;
  p.chunk_bytes = chunk;
  assert_int_equal(furrow_key_type_find(e->key_type, &p.key_type, NULL), FURROW_OK);
  assert_int_equal(furrow_value_type_find(e->value_type, &p.value_type, NULL), FURROW_OK);
  snprintf(wanted, sizeof wanted, "%s %llu %llu %s %s", e->status, e->line, e->column, e->token, e->message);
  /* bad rows are errors */
  if (furrow_parser_open(&parser, uri, &p, &err) != FURROW_OK) fail_msg("%s: %s", uri, err.message);
  while ((status = furrow_parser_next(parser, &err)) == FURROW_OK) rows += furrow_parser_value(parser)->size;
  tell_place(found, status, &err);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
  assert_non_null(strstr(path, err.file));
  furrow_parser_close(parser);
  check_without_error(uri, &p, e->status);
  /* and left out */
  p.on_bad = FURROW_ON_BAD_SKIP;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  if (furrow_parser_open(&parser, uri, &p, &err) != FURROW_OK) fail_msg("%s: %s", uri, err.message);
  while ((status = furrow_parser_next(parser, &err)) == FURROW_OK) continue;
  furrow_parser_get_stats(parser, &stats);
  assert_int_equal(status, FURROW_END);
  assert_int_equal(stats.bad_rows, 1);
  tell_place(found, stats.first_bad.status, &stats.first_bad);
  if (strcmp(found, wanted) != 0) fail_msg("%s: %s\n    not %s", e->file, found, wanted);
  assert_true(stats.rows >= rows);
  furrow_parser_close(parser);
}

static bool read_entry(FILE *list, entry *e) {
  char line[REJECT_LINE];
  if (!reject_list_next(list, line)) return false;
  const int n = sscanf(line, "%127s %63s %7s %7s %15s %llu %llu %127s %255[^\n]", e->file, e->args, e->key_type,
                       e->value_type, e->status, &e->line, &e->column, e->token, e->message);
  if (n != 9) fail_msg("the list has a line that is not one: %s", line);
  return true;
}

static void listed_files(void **state) {
  (void)state;
  entry e;
  FILE *list = reject_list_open("");
  while (read_entry(list, &e))
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
      check(&e, threads, 0);
      check(&e, threads, 7);
    }
  fclose(list);
}

/* No file of the folder is forgotten in the list. */
static void all_files_are_listed(void **state) {
  (void)state;
  static const char *const formats[] = {"libsvm", "libfm", "csv", "dummy", "dense"};
  size_t found = 0;
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) found += reject_file_count(formats[i]);
  assert_int_equal(found, reject_list_count(""));
  assert_true(found > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listed_files),
      cmocka_unit_test(all_files_are_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
