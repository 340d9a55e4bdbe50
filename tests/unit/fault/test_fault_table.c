/* tests/unit/fault/test_fault_table.c: text tables when memory runs out: every allocation fails once. */
#include <string.h>

#include "base/buffer.h"
#include "rows/table/text_table.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"

static furrow_status count_records(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                   const fw_table_batch *batch, furrow_error *err) {
  (void)piece;
  (void)cursor;
  (void)err;
  *(size_t *)user += batch->records;
  return FURROW_OK;
}

static furrow_status read_table(const char *path, uint32_t threads, size_t *records, furrow_error *err) {
  fw_table_source *source = NULL;
  fw_table *table = NULL;
  size_t counts[2] = {0};
  void *users[2] = {&counts[0], &counts[1]};
  const fw_table_scan_params params = {.threads = threads, .piece_bytes = 40};
  furrow_status status = fw_table_source_open(&source, path, err);
  if (status == FURROW_OK) {
    const fw_table_layout *layout = fw_table_source_layout(source);
    status = fw_table_create(&table, layout, (const char *const *)layout->names, layout->columns, NULL, err);
  }
  if (status == FURROW_OK) status = fw_table_scan(source, table, &params, users, count_records, NULL, err);
  fw_table_free(table);
  fw_table_source_close(source);
  *records = counts[0] + counts[1];
  return status;
}

/* Every allocation fails once: the error says so, and nothing leaks. */
static void fail_each(const char *text, uint32_t threads) {
  FILE *f = fopen("table", "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  assert_int_equal(fclose(f), 0);
  size_t all;
  assert_int_equal(read_table("table", threads, &all, NULL), FURROW_OK); /* what is made once is made */
  const long live = atomic_load(&alloc_live);
  for (long n = 1;; n++) {
    furrow_error err = {0};
    size_t records;
    alloc_fail_at(n);
    const furrow_status status = read_table("table", threads, &records, &err);
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (atomic_load(&alloc_live) != live) fail_msg("%.6s, %u threads: allocation %ld is lost", text, threads, n);
    if (!failed) {
      assert_int_equal(status, FURROW_OK);
      assert_int_equal(records, 3);
      assert_true(n > 10);
      return;
    }
    assert_int_equal(status, FURROW_E_MEMORY);
    assert_int_equal(err.status, FURROW_E_MEMORY);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static const char *const texts[] = {
      "u,v,w\n1,2,3\n4,\"a \"\"b\"\"\",\n5,6,7\n",
      "u,v\n1,2\n3,4\n5,6\n",
      "{\"a\":\"\\n\",\"b\":{\"c\":[1,2]}}\n{\"d\":1}\n{\"\\u0061\":\"\\t\"}\n",
      "1 |u a b\n1 2 't|u:2 c |v d |u e\n|x y\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    for (uint32_t threads = 1; threads <= 2; threads++) fail_each(texts[i], threads);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
