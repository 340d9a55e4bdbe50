/* tests/unit/fault/test_fault_inspect.c: the n-th allocation fails, for every n: listing, statistics, verify and
 * compare say so, leak nothing and leave their results alone. */
#include "support/cmocka_all.h"
#include "support/model_params.h"

#include "furrow/model.h"
#include "support/failing_alloc.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

#include <sys/stat.h>

static furrow_matrix_source *source, *other;
static size_t odd_fatal; /* findings in "odd" */

static furrow_status list(void) {
  furrow_model_listing *listing = NULL;
  const furrow_status status = furrow_model_listing_load(&listing, ".", NULL);
  assert_int_equal(status == FURROW_OK, listing != NULL);
  furrow_model_listing_free(listing);
  return status;
}

static furrow_status statistics(void) {
  furrow_matrix_stats stats;
  furrow_matrix_stats_init(&stats);
  stats.elements = 77;
  const furrow_status status = furrow_matrix_compute_stats(source, STATS(2, NULL, NULL), &stats, NULL);
  assert_int_equal(stats.elements, status == FURROW_OK ? 120 : 77);
  return status;
}

static void count(void *user, const furrow_matrix_finding *finding) {
  size_t *fatal = user;
  *fatal += finding->fatal;
}

/* A folder with remarks and an error: the status is that of the error, or E_MEMORY without any finding. */
static furrow_status verify(void) {
  size_t fatal = 0;
  const furrow_status status = furrow_matrix_verify("broken", VERIFY(NULL, 2, count, &fatal), NULL);
  assert_int_equal(fatal, status == FURROW_E_MEMORY ? 0 : 1);
  return status == FURROW_E_PARSE ? FURROW_OK : status;
}

/* A folder with every kind of finding, some of them more than once: none is skipped for want of memory. */
static furrow_status verify_odd(void) {
  size_t fatal = 0;
  furrow_error err = {.status = FURROW_OK};
  const furrow_status status = furrow_matrix_verify("odd", VERIFY(NULL, 1, count, &fatal), &err);
  assert_int_equal(err.status, status);
  assert_int_equal(fatal, status == FURROW_E_MEMORY ? 0 : odd_fatal);
  return status == FURROW_E_FORMAT ? FURROW_OK : status;
}

static bool stop(void *user, const char *step, uint64_t done, uint64_t total) {
  (void)user;
  (void)step;
  return done < total;
}

/* Memory that is short comes before the end that the caller asks for. */
static furrow_status verify_stopped(void) {
  furrow_matrix_verify_params params = *VERIFY(NULL, 1, NULL, NULL);
  params.progress = stop;
  const furrow_status status = furrow_matrix_verify("odd", &params, NULL);
  return status == FURROW_E_CANCELLED ? FURROW_OK : status;
}

static furrow_status compare(void) {
  furrow_matrix_difference top[4];
  furrow_matrix_diff diff;
  furrow_matrix_diff_init(&diff);
  diff.elements_a = 77;
  const furrow_status status = furrow_matrix_compare(source, other, COMPARE(2000, top, 4), &diff, NULL);
  assert_int_equal(diff.elements_a, status == FURROW_OK ? 120 : 77);
  return status;
}

static double shifted(int32_t row, int64_t col) {
  return made_value(row, col) + (double)(col % 3);
}

static bool some(int32_t row, int64_t col) {
  return row > 0 || col % 2;
}

/* Replaces `from` by `to` wherever it is. */
static void edit_all(const char *from, const char *to) {
  size_t size;
  for (char *bytes = NULL;;) {
    bytes = made_read("odd", "_meta", &size);
    const bool found = strstr(bytes + 4, from);
    free(bytes);
    if (!found) return;
    made_edit_meta("odd", from, to, 0);
  }
}

static void make_odd(void) {
  const made m = {.format = "RowIdColIdValueText",
                  .row_type = 10,
                  .rows = 4,
                  .cols = 40,
                  .block_rows = 2,
                  .block_cols = 10,
                  .parts_per_file = 2,
                  .present = some};
  made_save("odd", &m);
  made_edit_meta("odd", "range.start\":\"0\"", "range.start\":\"x\"", 0);
  made_edit_meta("odd", "range.end\":\"40\"", "range.end\":\"\"", 0);
  made_edit_meta("odd", "\"col\":40", "\"col\":38", 0);
  made_edit_meta("odd", "\"row\":4", "\"row\":9", 0);
  made_edit_meta("odd", "\"startCol\":0,\"endCol\":10", "\"startCol\":0,\"endCol\":0", 0);    /* a hash partition */
  made_edit_meta("odd", "\"startCol\":10,\"endCol\":20", "\"startCol\":10,\"endCol\":23", 0); /* overlap */
  made_edit_meta("odd", "\"startCol\":0,\"endCol\":10", "\"startCol\":0,\"endCol\":8", 0);    /* hole */
  made_edit_meta("odd", "\"startCol\":20,\"endCol\":30", "\"startCol\":18,\"endCol\":30", 1);
  edit_all("\"saveRowNum\":2", "\"saveRowNum\":7");
  edit_all("\"saveColNum\":0", "\"saveColNum\":3");
  edit_all("\"saveColElemNum\":0", "\"saveColElemNum\":3");
  edit_all("\"nnz\":20", "\"nnz\":2");
  made_edit_meta("odd", "\"fileName\":\"2\",\"offset\":0", "\"fileName\":\"2\",\"offset\":1", 0);
  made_write("odd", "98", "x", 1);
  made_write("odd", "99", "x", 1);
  assert_int_equal(mkfifo("odd/pipe", 0600), 0);
  assert_int_equal(mkfifo("odd/pipe2", 0600), 0);
  odd_fatal = 0;
  assert_int_equal(furrow_matrix_verify("odd", VERIFY(NULL, 1, count, &odd_fatal), NULL), FURROW_E_FORMAT);
  assert_true(odd_fatal > 5);
}

static void make_folders(void) {
  made m = {.format = "ColIdValueText", .rows = 3, .cols = 40, .block_cols = 10, .parts_per_file = 2};
  furrow_error err = {.status = FURROW_OK};
  made_save("a", &m);
  made_save("broken", &m);
  made_edit_meta("broken", "\"nnz\":30", "\"nnz\":1", 0);
  made_write("broken", "99", "x", 1);
  size_t size;
  char *bytes = made_read("broken", "0", &size);
  bytes[0] = '?';
  made_write("broken", "0", bytes, size);
  free(bytes);
  m.format = "TextColumn";
  m.value = shifted;
  made_save("b", &m);
  made_check(furrow_matrix_source_open(&source, "a", NULL, &err), &err);
  made_check(furrow_matrix_source_open(&other, "b", NULL, &err), &err);
}

/* Fails the 1st, 2nd … allocation of a job, until there is none left to fail. */
static void fail_each(furrow_status (*job)(void)) {
  assert_int_equal(job(), FURROW_OK); /* what is made once in a process, is made now */
  const long before = atomic_load(&alloc_live);
  long n = 0;
  do {
    alloc_fail_at(++n);
    const furrow_status status = job();
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || (failed && status == FURROW_E_MEMORY)); /* OK: there was another way */
    assert_int_equal(atomic_load(&alloc_live), before);
    if (!failed) break;
  } while (n < 100000);
  assert_true(n > 3);
}

static void every_allocation(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  make_folders();
  fail_each(list);
  fail_each(statistics);
  fail_each(verify);
  make_odd();
  fail_each(verify_odd);
  fail_each(verify_stopped);
  fail_each(compare);
  furrow_matrix_source_close(source);
  furrow_matrix_source_close(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_allocation, enter_dir, leave_dir)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
