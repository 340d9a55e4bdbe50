/* tests/unit/fault/test_fault_items.c: the index of a recommender's items when memory runs out: every allocation fails
 * once, while it is built, tuned and searched, for callers with an error and without. */
#include "support/failing_alloc.h"

#include <string.h>

#include "base/rng.h"
#include "recommend/item_index.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { ITEMS = 300, USERS = 3, D = 4, K = 2 };

static float items[ITEMS * D], queries[USERS * D];
static fw_scored truth[USERS * K];

static int make_items(void **state) {
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t i = 0; i < ITEMS * D; i++) items[i] = (float)fw_rng_normal(&rng);
  for (size_t i = 0; i < USERS * D; i++) queries[i] = (float)fw_rng_normal(&rng);
  for (size_t u = 0; u < USERS; u++) {
    for (uint32_t i = 0; i < ITEMS; i++) { /* the best two, best first */
      const fw_scored now = {.item = i, .score = fw_item_product(queries + u * D, items + i * D, D)};
      fw_scored *best = truth + u * K;
      if (i == 0 || now.score > best[0].score) {
        best[1] = best[0];
        best[0] = now;
      } else if (i == 1 || now.score > best[1].score) {
        best[1] = now;
      }
    }
  }
  return enter_dir(state);
}

static furrow_status use(fw_scored *results, furrow_error *err) {
  fw_item_index index = {0};
  const fw_item_query query = {.queries = queries, .count = USERS, .k = K};
  furrow_status status = fw_item_index_open(&index, ".", items, ITEMS, D, 1, err);
  if (status != FURROW_OK) return status;
  status = fw_item_index_tune(&index, queries, USERS, truth, K, 0.9, 1, err);
  if (status == FURROW_OK) status = fw_item_index_run(&index, &query, results, err);
  fw_item_index_clear(&index);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static fw_scored right[USERS * K], found[USERS * K];
  bool failed = true;
  long n;
  if (!FAILING_ALLOC) skip();
  assert_int_equal(use(right, NULL), FURROW_OK);
  for (size_t i = 0; i < USERS; i++) assert_int_equal(right[i * K].item, truth[i * K].item);
  for (n = 1; failed; n++) {
    const long live = atomic_load(&alloc_live);
    furrow_error err = {.status = FURROW_OK};
    alloc_fail_at(n);
    const furrow_status status = use(found, n % 2 ? &err : NULL);
    failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (status != FURROW_OK && status != FURROW_E_MEMORY) fail_msg("allocation %ld: %s", n, furrow_status_name(status));
    if (status != FURROW_OK && n % 2) assert_int_equal(err.status, FURROW_E_MEMORY);
    for (size_t i = 0; status == FURROW_OK && i < USERS * K; i++) assert_int_equal(found[i].item, right[i].item);
    if (atomic_load(&alloc_live) != live) fail_msg("allocation %ld: pieces are left", n);
  }
  assert_true(n > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, make_items, leave_dir);
}
