/* tests/unit/base/test_sort.c: plain numbers in ascending order. */
#include "base/rng.h"
#include "base/sort.h"
#include "support/cmocka_all.h"

static void numbers_are_sorted_as_unsigned(void **state) {
  (void)state;
  uint64_t numbers[] = {7, UINT64_MAX, 0, UINT64_C(1) << 63, 7, 1};
  const uint64_t sorted[] = {0, 1, 7, 7, UINT64_C(1) << 63, UINT64_MAX};
  fw_sort_u64(numbers, 6);
  assert_memory_equal(numbers, sorted, sizeof sorted);
  fw_sort_u64(NULL, 0);
}

static void no_number_is_lost(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  uint64_t numbers[COUNT], sum = 0, again = 0;
  for (size_t i = 0; i < COUNT; i++) sum += numbers[i] = fw_rng_hash(1, i);
  fw_sort_u64(numbers, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    again += numbers[i];
    if (i > 0) assert_true(numbers[i - 1] <= numbers[i]);
  }
  assert_true(sum == again);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_sorted_as_unsigned),
                                     cmocka_unit_test(no_number_is_lost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
