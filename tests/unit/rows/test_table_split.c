/* tests/unit/rows/test_table_split.c: logs split by user and time, and by group. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

enum { MOST = 4 };

typedef struct setup {
  char dir[TEST_PATH], path[MOST][TEST_PATH];
  const char *paths[MOST];
  uint64_t rows[MOST];
  furrow_table_split_params params;
  furrow_error err;
} setup;

static void make(setup *s) {
  memset(s, 0, sizeof *s);
  assert_true(test_make_dir(s->dir));
  for (int i = 0; i < MOST; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d.csv", i);
    s->paths[i] = test_path(s->path[i], s->dir, name);
  }
  furrow_table_split_params_init(&s->params);
}

static void clear(setup *s) {
  assert_true(test_remove_dir(s->dir));
}

static furrow_status split(setup *s, const char *log, size_t size, size_t count) {
  assert_int_equal(furrow_memory_file_add("memory://log", log, size, NULL, NULL, NULL), FURROW_OK);
  const furrow_status status = furrow_table_split("memory://log", s->paths, count, &s->params, s->rows, &s->err);
  assert_int_equal(furrow_memory_file_remove("memory://log", NULL), FURROW_OK);
  return status;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 1 << 22);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 22) - 1, file) < (1 << 22) - 1);
  fclose(file);
  return text;
}

static void expect_file(const char *path, const char *wanted) {
  char *text = read_file(path);
  assert_string_equal(text, wanted);
  free(text);
}

static void expect_split(const furrow_table_split_params *params, const char *log, const char *first,
                         const char *second) {
  setup s;
  make(&s);
  s.params = *params;
  if (split(&s, log, strlen(log), 2) != FURROW_OK) fail_msg("%s", s.err.message);
  expect_file(s.paths[0], first);
  expect_file(s.paths[1], second);
  assert_int_equal(test_entries(s.dir), 2);
  clear(&s);
}

static void by_user_and_time(void **state) {
  (void)state;
  furrow_table_split_params params;
  furrow_table_split_params_init(&params);
  params.user = "u";
  params.time = "t";
  params.last = 1;
  /* b has one row; the two of c have the same time: the later one is the last */
  expect_split(&params, "u,t,x\na,3,1\nb,1,2\na,2,3\nc,7,4\nc,7,5\na,1,6\n", "u,t,x\nb,1,2\na,2,3\nc,7,4\na,1,6\n",
               "u,t,x\na,3,1\nc,7,5\n");
  params.last = 2; /* one row stays */
  expect_split(&params, "u,t,x\na,3,1\nb,1,2\na,2,3\nc,7,4\nc,7,5\na,1,6\n", "u,t,x\nb,1,2\nc,7,4\na,1,6\n",
               "u,t,x\na,3,1\na,2,3\nc,7,5\n");
  params.last = 0.5; /* of 3 rows 2, of 1 none, of 2 one */
  expect_split(&params, "u,t,x\na,3,1\nb,1,2\na,2,3\nc,7,4\nc,7,5\na,1,6\n", "u,t,x\nb,1,2\nc,7,4\na,1,6\n",
               "u,t,x\na,3,1\na,2,3\nc,7,5\n");
  params.user = NULL;
  params.last = 0.25; /* 1.5 of all, rounded */
  expect_split(&params, "u,t,x\na,3,1\nb,1,2\na,2,3\nc,7,4\nc,7,5\na,1,6\n", "u,t,x\na,3,1\nb,1,2\na,2,3\na,1,6\n",
               "u,t,x\nc,7,4\nc,7,5\n");
}

/* Whether the day or the month comes first is decided by all dates. */
static void dates_as_people_write_them(void **state) {
  (void)state;
  furrow_table_split_params params;
  furrow_table_split_params_init(&params);
  params.time = "t";
  params.last = 1;
  expect_split(&params, "t,x\n2/10/2023,1\n7/23/2023,2\n11/1/2022,3\n", "t,x\n2/10/2023,1\n11/1/2022,3\n",
               "t,x\n7/23/2023,2\n");
  expect_split(&params, "t,x\n2/10/2023,1\n7/3/2023,2\n23/1/2022,3\n", "t,x\n7/3/2023,2\n23/1/2022,3\n",
               "t,x\n2/10/2023,1\n");
  expect_split(&params, "t,x\n2.10.2023,1\n7.3.2023,2\n", "t,x\n7.3.2023,2\n", "t,x\n2.10.2023,1\n");
  expect_split(&params, "t,x\n2/10/2023,1\n7/3/2023,2\n", "t,x\n2/10/2023,1\n", "t,x\n7/3/2023,2\n");
  expect_split(&params, "t,x\n2023-05-01,1\n7/23/2023,2\nJun 12 2023,3\n", "t,x\n2023-05-01,1\nJun 12 2023,3\n",
               "t,x\n7/23/2023,2\n");
}

/* Writes a log of 30 users with three rows of one day each, and splits off the last row of each user. */
static void split_days(const char *header, const int items[3], setup *s) {
  fw_buffer log = {0};
  fw_buffer_text(&log, header);
  for (int u = 0; u < 30; u++)
    for (int i = 0; i < 3; i++) fw_buffer_format(&log, "u%d,m%d,2024-05-%02d\n", u, items[i] + u % 7, 1 + u % 28);
  assert_int_equal(fw_buffer_status(&log, NULL), FURROW_OK);
  make(s);
  s->params.user = "user";
  s->params.time = "day";
  s->params.last = 1;
  if (split(s, log.bytes, log.size, 2) != FURROW_OK) fail_msg("%s", s->err.message);
  assert_int_equal(s->rows[1], 30);
  fw_buffer_clear(&log);
}

/* How many of the last rows have the last item of their user in the log. */
static int count_last_items(setup *s, int last) {
  int found = 0;
  char *text = read_file(s->paths[1]);
  for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
    int user = 0, item = 0;
    assert_int_equal(sscanf(line, "u%d,m%d,", &user, &item), 2);
    found += item == last + user % 7;
  }
  free(text);
  clear(s);
  return found;
}

/* Rows of one day are in the order of the log, unless they are sorted by item. */
static void days_of_sorted_logs(void **state) {
  static const int sorted[] = {100, 200, 300}, unsorted[] = {200, 300, 100};
  setup s;
  (void)state;
  split_days("user,item,day\n", unsorted, &s);
  assert_int_equal(count_last_items(&s, 100), 30);
  split_days("user,item,day\n", sorted, &s);
  assert_in_range(count_last_items(&s, 300), 1, 20); /* the hashes of the items decide */
  split_days("user,other,day\n", sorted, &s);        /* it may be the number of the event */
  assert_int_equal(count_last_items(&s, 300), 30);
}

/* Bytes are copied: quotes, line ends in cells, CR LF, blanks, the missing end of the last line. */
static void bytes_of_records(void **state) {
  (void)state;
  furrow_table_split_params params;
  furrow_table_split_params_init(&params);
  params.time = "when";
  params.last = 2;
  expect_split(
      &params,
      "\xef\xbb\xbfid, when ,\"a \"\"note\"\"\"\r\n1,2024-01-03,\"x\r\ny\"\r\n\r\n2, 2024-01-01 ,\"q\"\"q\"\r\n3,"
      "2024-01-02T10:00:00Z,z\r\n4,2024-01-02,",
      "\xef\xbb\xbfid, when ,\"a \"\"note\"\"\"\r\n2, 2024-01-01 ,\"q\"\"q\"\r\n4,2024-01-02,\n",
      "\xef\xbb\xbfid, when ,\"a \"\"note\"\"\"\r\n1,2024-01-03,\"x\r\ny\"\r\n3,2024-01-02T10:00:00Z,z\r\n");
  expect_split(&params, "{\"when\": 5, \"x\": [1, 2]}\n{\"when\": 3}\n\n{ \"x\": null, \"when\": 4 }\n",
               "{\"when\": 3}\n", "{\"when\": 5, \"x\": [1, 2]}\n{ \"x\": null, \"when\": 4 }\n");
  params.time = "1";
  params.last = 1;
  expect_split(&params, "5\t9\n6\t8\n7\t7\n", "6\t8\n7\t7\n", "5\t9\n");
}

/* Against the definition, over more text than one piece. */
static void many_users(void **state) {
  (void)state;
  enum { ROWS = 60000, USERS = 97 };
  setup s;
  fw_buffer log = {0}, first = {0}, second = {0};
  int *times = malloc(ROWS * sizeof *times);
  assert_non_null(times);
  fw_buffer_text(&log, "user,time,pad\n");
  for (int i = 0; i < ROWS; i++) {
    times[i] = (int)(fw_rng_hash(1, (uint64_t)i) % 1000);
    fw_buffer_format(&log, "%d,%d,padding %d\n", i % USERS, times[i], i);
  }
  fw_buffer_text(&first, "user,time,pad\n");
  fw_buffer_text(&second, "user,time,pad\n");
  for (int i = 0; i < ROWS; i++) {
    int n = 0, after = 0;
    for (int k = i % USERS; k < ROWS; k += USERS) {
      n++;
      after += times[k] > times[i] || (times[k] == times[i] && k > i);
    }
    fw_buffer_format(after < (int)floor(n * 0.2 + 0.5) ? &second : &first, "%d,%d,padding %d\n", i % USERS, times[i],
                     i);
  }
  fw_buffer_byte(&first, 0);
  fw_buffer_byte(&second, 0);
  make(&s);
  s.params.user = "user";
  s.params.time = "time";
  s.params.last = 0.2;
  assert_int_equal(split(&s, log.bytes, log.size, 2), FURROW_OK);
  assert_int_equal(s.rows[0] + s.rows[1], ROWS);
  expect_file(s.paths[0], first.bytes);
  expect_file(s.paths[1], second.bytes);
  clear(&s);
  fw_buffer_clear(&log);
  fw_buffer_clear(&first);
  fw_buffer_clear(&second);
  free(times);
}

static void by_group(void **state) {
  (void)state;
  enum { ROWS = 20000, GROUPS = 2000 };
  setup s;
  fw_buffer log = {0};
  const double shares[] = {0.5, 0.3, 0.2};
  int place[GROUPS];
  uint64_t rows[3];
  fw_buffer_text(&log, "row;session\n");
  for (int i = 0; i < ROWS; i++) fw_buffer_format(&log, "%d;s%d\n", i, (int)(fw_rng_hash(3, (uint64_t)i) % GROUPS));
  make(&s);
  memset(place, -1, sizeof place);
  s.params.group = "session";
  s.params.shares = shares;
  assert_int_equal(split(&s, log.bytes, log.size, 3), FURROW_OK);
  for (int f = 0; f < 3; f++) {
    assert_true(fabs((double)s.rows[f] / ROWS - shares[f]) < 0.05);
    char *text = read_file(s.paths[f]), *line = strtok(text, "\n");
    assert_string_equal(line, "row;session");
    uint64_t found = 0;
    for (int before = -1, row, group; (line = strtok(NULL, "\n")); before = row, found++) {
      assert_int_equal(sscanf(line, "%d;s%d", &row, &group), 2);
      assert_true(row > before);
      assert_true(place[group] == -1 || place[group] == f);
      place[group] = f;
    }
    assert_int_equal(found, s.rows[f]);
    free(text);
  }
  memcpy(rows, s.rows, sizeof rows);
  assert_int_equal(split(&s, log.bytes, log.size, 3), FURROW_E_EXISTS);
  s.params.overwrite = true;
  s.params.seed = 1;
  assert_int_equal(split(&s, log.bytes, log.size, 3), FURROW_OK);
  assert_true(memcmp(rows, s.rows, sizeof rows) != 0);
  clear(&s);
  fw_buffer_clear(&log);
}

/* Each record by itself: every one is in exactly one file, in the order of the log. */
static void by_chance(void **state) {
  (void)state;
  enum { ROWS = 5000 };
  setup s;
  fw_buffer log = {0};
  const double shares[] = {0.8, 0.2};
  int next[2] = {0, 0};
  fw_buffer_text(&log, "id,text\n");
  for (int i = 0; i < ROWS; i++) fw_buffer_format(&log, "%08d,\"a, \n%d\"\n", i, i);
  make(&s);
  s.params.shares = shares;
  assert_int_equal(split(&s, log.bytes, log.size, 2), FURROW_OK);
  assert_int_equal(s.rows[0] + s.rows[1], ROWS);
  assert_true(fabs((double)s.rows[0] / ROWS - 0.8) < 0.03);
  char *texts[2] = {read_file(s.paths[0]), read_file(s.paths[1])};
  const char *at[2] = {texts[0] + strlen("id,text\n"), texts[1] + strlen("id,text\n")};
  for (int i = 0; i < ROWS; i++) {
    char record[64];
    const int n = snprintf(record, sizeof record, "%08d,\"a, \n%d\"\n", i, i);
    const int f = strncmp(at[0], record, (size_t)n) == 0 ? 0 : 1;
    assert_memory_equal(at[f], record, (size_t)n);
    at[f] += n;
    next[f]++;
  }
  assert_int_equal(next[0], s.rows[0]);
  assert_int_equal(*at[0] | *at[1], 0);
  free(texts[0]);
  free(texts[1]);
  clear(&s);
  fw_buffer_clear(&log);
}

static void expect_refused(setup *s, const char *log, size_t count, furrow_status status, const char *message) {
  assert_int_equal(split(s, log, strlen(log), count), status);
  assert_string_equal(s->err.message, message);
  assert_int_equal(test_entries(s->dir), 0);
}

static void what_is_refused(void **state) {
  (void)state;
  static const char log[] = "u,t\na,1\na,2\nb,x\n";
  static const char good[] = "u,t\na,1\na,2\nb,3\n";
  const double shares[] = {0.5, 0.4};
  setup s;
  make(&s);
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "time, group, shares: one of them must be set");
  s.params.time = "t";
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "last: 0 is neither a share below 1 nor a number of rows");
  s.params.last = 1.5;
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "last: 1.5 is neither a share below 1 nor a number of rows");
  s.params.last = INFINITY;
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "last: inf is neither a share below 1 nor a number of rows");
  s.params.last = 0.5;
  s.params.shares = shares;
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "group: either time or group decides, not both");
  s.params.shares = NULL;
  expect_refused(&s, "u,t\na,\n", 2, FURROW_E_PARSE, "column t: not a time: a number, or a date");
  s.params.user =
      "a name that is far longer than any that is looked for among the columns of a log, so that none is offered";
  assert_int_equal(split(&s, good, strlen(good), 2), FURROW_E_ARGUMENT);
  assert_string_equal(s.err.hint, "");
  s.params.user = NULL;
  s.paths[1] = "memory://file";
  expect_refused(&s, good, 2, FURROW_E_UNSUPPORTED, "this file system can be read, not written");
  s.paths[1] = s.path[1];
  s.params.comm = &(furrow_comm){0};
  assert_int_equal(split(&s, good, strlen(good), 2), FURROW_E_ARGUMENT);
  s.params.comm = NULL;
  expect_refused(&s, good, 3, FURROW_E_ARGUMENT, "paths: a split by time makes two files, not 3");
  expect_refused(&s, log, 2, FURROW_E_PARSE, "column t: not a time: a number, or a date");
  assert_int_equal(s.err.line, 4);
  expect_refused(&s, "u,t\na,2024-01-01\nb,1\n", 2, FURROW_E_PARSE, "column t: not a date, as the first one is");
  expect_refused(&s, "u,t\na,1/13/2024\nb,13/1/2024\nb,1/14/2024\n", 2, FURROW_E_PARSE,
                 "column t: not a date with the month first, as most of them are");
  assert_int_equal(s.err.line, 3);
  expect_refused(&s, "u,t\na,1/13/2024\nb,x\n", 2, FURROW_E_PARSE,
                 "column t: not a date with the month first, as most of them are");
  expect_refused(&s, "u,t\na,1\nb\n", 2, FURROW_E_PARSE, "the header has 2 columns, this record has 1");
  s.params.user = "v";
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "there is no column v");
  s.params.user = "u";
  expect_refused(&s, "u,t\na,1\n,2\n", 2, FURROW_E_PARSE, "column u: no user");
  expect_refused(&s, "u,t\na,1\nb,2\n", 2, FURROW_E_ARGUMENT, "it would have no rows");
  s.params.group = "u";
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "group: either time or group decides, not both");
  s.params.time = NULL;
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "user: needs a time");
  s.params.user = NULL;
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "shares: there are none");
  s.params.shares = shares;
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "shares: they add up to 0.9, not to 1");
  expect_refused(&s, good, 1, FURROW_E_ARGUMENT, "paths: from 2 to 64 files, not 1");
  expect_refused(&s, good, 65, FURROW_E_ARGUMENT, "paths: from 2 to 64 files, not 65");
  s.params.shares = (const double[]){1, 0};
  expect_refused(&s, good, 2, FURROW_E_ARGUMENT, "shares: 0 is not positive");
  s.params.shares = (const double[]){0.5, 0.5};
  expect_refused(&s, "u,t\na,1\n,2\n", 2, FURROW_E_PARSE, "column u: no group");
  clear(&s);
}

/* Writes other records of as many bytes over the log, as soon as all of it was read. */
static bool change_log(void *user, const char *phase, uint64_t done, uint64_t total) {
  const char *const *change = user;
  (void)phase;
  if (done < total) return true;
  FILE *file = fopen(change[0], "r+b");
  assert_non_null(file);
  assert_true(fputs(change[1], file) >= 0);
  assert_int_equal(fclose(file), 0);
  return true;
}

static void a_log_that_changes(void **state) {
  (void)state;
  static const char *const texts[] = {"u,t\na,1\na,2\na,3\n", "u,t\na,1\na,21111\n"};
  for (int i = 0; i < 2; i++) {
    setup s;
    make(&s);
    assert_true(test_write_text(s.path[3], texts[i]));
    const char *change[] = {s.path[3], texts[1 - i]};
    s.params.time = "t";
    s.params.last = 1;
    s.params.progress = change_log;
    s.params.progress_user = change;
    assert_int_equal(furrow_table_split(s.path[3], s.paths, 2, &s.params, s.rows, &s.err), FURROW_E_FORMAT);
    assert_string_equal(s.err.message, "the log changed while it was read");
    assert_int_equal(test_entries(s.dir), 1);
    clear(&s);
  }
}

static void bad_records_go_nowhere(void **state) {
  (void)state;
  static const char log[] = "u,t\na,1\na,2,3\na,3\nb\nb,4\n";
  furrow_parser_stats stats;
  setup s;
  make(&s);
  furrow_parser_stats_init(&stats);
  s.params.time = "t";
  s.params.last = 1;
  s.params.on_bad = FURROW_ON_BAD_SKIP;
  s.params.stats = &stats;
  assert_int_equal(split(&s, log, strlen(log), 2), FURROW_OK);
  assert_int_equal(stats.bad_rows, 2);
  assert_int_equal(stats.rows, 3);
  expect_file(s.paths[0], "u,t\na,1\na,3\n");
  expect_file(s.paths[1], "u,t\nb,4\n");
  clear(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_user_and_time),
      cmocka_unit_test(dates_as_people_write_them),
      cmocka_unit_test(days_of_sorted_logs),
      cmocka_unit_test(bytes_of_records),
      cmocka_unit_test(many_users),
      cmocka_unit_test(by_group),
      cmocka_unit_test(by_chance),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(bad_records_go_nowhere),
      cmocka_unit_test(a_log_that_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
