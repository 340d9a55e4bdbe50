/* tests/unit/base/test_sort.c: sorted numbers and lower bounds. */
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

/* Against the definition, for every key around every number, with equal numbers among them. */
static void lower_bounds_are_the_first_not_below(void **state) {
  (void)state;
  typedef struct element {
    int32_t id;
    int64_t wide;
    uint64_t plain;
  } element;
  enum { COUNT = 33 };
  element list[COUNT];
  for (int i = 0; i < COUNT; i++)
    list[i] = (element){i / 3 * 2 - 10, (int64_t)(i / 3 * 2) - 10 - INT64_C(0x100000000), (uint64_t)(i / 3 * 2)};
  for (size_t count = 0; count <= COUNT; count++)
    for (int key = -13; key <= 15; key++) {
      size_t i32 = 0, i64 = 0, u64 = 0;
      const int64_t wide = key - INT64_C(0x100000000);
      const uint64_t plain = key < 0 ? UINT64_MAX : (uint64_t)key;
      while (i32 < count && list[i32].id < key) i32++;
      while (i64 < count && list[i64].wide < wide) i64++;
      while (u64 < count && list[u64].plain < plain) u64++;
      assert_int_equal(fw_lower_bound_i32(&list->id, count, sizeof *list, key), i32);
      assert_int_equal(fw_lower_bound_i64(&list->wide, count, sizeof *list, wide), i64);
      assert_int_equal(fw_lower_bound_u64(&list->plain, count, sizeof *list, plain), u64);
    }
  const int64_t numbers[] = {INT64_MIN, -1, 0, INT64_MAX};
  assert_int_equal(fw_lower_bound_i64(numbers, 4, sizeof *numbers, INT64_MIN), 0);
  assert_int_equal(fw_lower_bound_i64(numbers, 4, sizeof *numbers, INT64_MAX), 3);
  assert_int_equal(fw_lower_bound_i64(numbers, 3, sizeof *numbers, INT64_MAX), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_sorted_as_unsigned),
                                     cmocka_unit_test(no_number_is_lost),
                                     cmocka_unit_test(lower_bounds_are_the_first_not_below)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
