/* tests/unit/base/test_mem.c: memory with checked sizes. */
#include <string.h>

#include "base/mem.h"
#include "support/cmocka_all.h"

static void sizes_are_checked(void **state) {
  (void)state;
  size_t r = 7;
  assert_true(fw_size_mul(6, 7, &r));
  assert_int_equal(r, 42);
  assert_true(fw_size_mul(SIZE_MAX, 1, &r));
  assert_true(r == SIZE_MAX);
  r = 7;
  assert_false(fw_size_mul(SIZE_MAX / 2 + 1, 2, &r));
  assert_int_equal(r, 7);
  assert_true(fw_size_add(SIZE_MAX - 1, 1, &r));
  assert_true(r == SIZE_MAX);
  r = 7;
  assert_false(fw_size_add(SIZE_MAX, 1, &r));
  assert_int_equal(r, 7);
}

static void alloc_gives_memory_that_can_be_written(void **state) {
  (void)state;
  void *memory = NULL;
  assert_int_equal(fw_alloc(&memory, 1000, 8, NULL), FURROW_OK);
  memset(memory, 0xab, 8000);
  fw_free(memory);
}

static void alloc_zero_clears(void **state) {
  (void)state;
  for (int round = 0; round < 4; round++) { /* later rounds get memory that was used before */
    void *memory = NULL;
    assert_int_equal(fw_alloc_zero(&memory, 333, 3, NULL), FURROW_OK);
    for (size_t i = 0; i < 999; i++) assert_int_equal(((unsigned char *)memory)[i], 0);
    memset(memory, 0xff, 999);
    fw_free(memory);
  }
}

static void nothing_is_memory_too(void **state) {
  (void)state;
  void *memory = NULL;
  assert_int_equal(fw_alloc(&memory, 0, 8, NULL), FURROW_OK);
  assert_non_null(memory);
  fw_free(memory);
  memory = NULL;
  assert_int_equal(fw_alloc_zero(&memory, 8, 0, NULL), FURROW_OK);
  assert_non_null(memory);
  assert_int_equal(fw_realloc(&memory, 0, 4, NULL), FURROW_OK);
  assert_non_null(memory);
  fw_free(memory);
  fw_free(NULL);
}

static void realloc_keeps_the_contents(void **state) {
  (void)state;
  void *memory = NULL;
  assert_int_equal(fw_realloc(&memory, 4, 1, NULL), FURROW_OK);
  memcpy(memory, "abcd", 4);
  assert_int_equal(fw_realloc(&memory, 100000, 2, NULL), FURROW_OK);
  assert_memory_equal(memory, "abcd", 4);
  assert_int_equal(fw_realloc(&memory, 2, 1, NULL), FURROW_OK);
  assert_memory_equal(memory, "ab", 2);
  fw_free(memory);
}

/* Sizes that overflow, and one that fits a size_t but no machine. */
static void too_much_is_refused_and_changes_nothing(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{SIZE_MAX, 2}, {SIZE_MAX / 2 + 2, 2}, {SIZE_MAX / 4, 2}};
  char mine = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    furrow_error err;
    void *memory = &mine;
    err.message[0] = 0;
    assert_int_equal(fw_alloc(&memory, sizes[i][0], sizes[i][1], &err), FURROW_E_MEMORY);
    assert_int_equal(err.status, FURROW_E_MEMORY);
    assert_true(err.message[0] != 0);
    assert_ptr_equal(memory, &mine);
    assert_int_equal(fw_alloc_zero(&memory, sizes[i][0], sizes[i][1], &err), FURROW_E_MEMORY);
    assert_ptr_equal(memory, &mine);

    void *old = NULL;
    assert_int_equal(fw_alloc(&old, 3, 1, NULL), FURROW_OK);
    memcpy(old, "abc", 3);
    void *kept = old;
    assert_int_equal(fw_realloc(&kept, sizes[i][0], sizes[i][1], &err), FURROW_E_MEMORY);
    assert_ptr_equal(kept, old);
    size_t capacity = 3;
    assert_int_equal(fw_grow(&kept, &capacity, sizes[i][0], sizes[i][1], &err), FURROW_E_MEMORY);
    assert_ptr_equal(kept, old);
    assert_int_equal(capacity, 3);
    assert_memory_equal(kept, "abc", 3);
    fw_free(kept);
  }
}

static void grow_ensures_capacity_and_seldom_moves(void **state) {
  (void)state;
  uint32_t *numbers = NULL;
  size_t capacity = 0, growths = 0;
  for (uint32_t i = 0; i < 100000; i++) {
    size_t before = capacity;
    assert_int_equal(fw_grow((void **)&numbers, &capacity, (size_t)i + 1, sizeof *numbers, NULL), FURROW_OK);
    assert_true(capacity > i);
    assert_true(capacity == before || capacity >= before + before / 2);
    growths += capacity != before;
    numbers[i] = i;
  }
  assert_true(growths < 40);
  for (uint32_t i = 0; i < 100000; i++) assert_int_equal(numbers[i], i);
  size_t before = capacity;
  assert_int_equal(fw_grow((void **)&numbers, &capacity, 5, sizeof *numbers, NULL), FURROW_OK);
  assert_int_equal(capacity, before);
  fw_free(numbers);
}

static void strndup_copies_and_terminates(void **state) {
  (void)state;
  char *copy = NULL;
  assert_int_equal(fw_strndup(&copy, "a\0bc", 4, NULL), FURROW_OK);
  assert_memory_equal(copy, "a\0bc", 5);
  fw_free(copy);
  assert_int_equal(fw_strndup(&copy, NULL, 0, NULL), FURROW_OK);
  assert_string_equal(copy, "");
  fw_free(copy);
  copy = NULL;
  furrow_error err;
  assert_int_equal(fw_strndup(&copy, "x", SIZE_MAX, &err), FURROW_E_MEMORY);
  assert_null(copy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(alloc_gives_memory_that_can_be_written),
      cmocka_unit_test(alloc_zero_clears),
      cmocka_unit_test(nothing_is_memory_too),
      cmocka_unit_test(realloc_keeps_the_contents),
      cmocka_unit_test(too_much_is_refused_and_changes_nothing),
      cmocka_unit_test(grow_ensures_capacity_and_seldom_moves),
      cmocka_unit_test(strndup_copies_and_terminates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
