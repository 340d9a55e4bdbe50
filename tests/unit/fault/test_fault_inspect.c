/* tests/unit/fault/test_fault_inspect.c: the n-th allocation fails, for every n: listing, statistics, verify and
 * compare say so, leak nothing and leave their results alone. */
#include "support/cmocka_all.h"
#include "support/model_params.h"

#include "furrow/model.h"
#include "support/failing_alloc.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

static furrow_matrix_source *source, *other;

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
  fail_each(compare);
  furrow_matrix_source_close(source);
  furrow_matrix_source_close(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_allocation, enter_dir, leave_dir)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
