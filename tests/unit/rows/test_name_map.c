/* tests/unit/base/test_name_map.c: numbers of names, whole or in two parts. */
#include <stdio.h>
#include <string.h>

#include "rows/table/name_map.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

enum { NAMES = 5000, LENGTH = 16 };

static void names_and_numbers(void **state) {
  (void)state;
  static char names[NAMES][LENGTH];
  fw_name_map map = {0};
  assert_true(fw_name_map_find(&map, "a", 1) == FW_NAME_NONE);
  for (size_t i = 0; i < NAMES; i++) {
    snprintf(names[i], LENGTH, "n%zu", i);
    assert_int_equal(fw_name_map_add(&map, names[i], strlen(names[i]), i, NULL), FURROW_OK);
  }
  for (size_t i = 0; i < NAMES; i++) assert_int_equal(fw_name_map_find(&map, names[i], strlen(names[i])), i);
  assert_int_equal(fw_name_map_add(&map, "n7", 2, 9, NULL), FURROW_OK); /* the first number stays */
  assert_int_equal(fw_name_map_find(&map, "n7", 2), 7);
  assert_int_equal(map.count, NAMES);
  assert_true(fw_name_map_find(&map, "n", 1) == FW_NAME_NONE);
  assert_int_equal(fw_name_map_add(&map, "", 0, 6000, NULL), FURROW_OK);
  assert_int_equal(fw_name_map_find(&map, "", 0), 6000);
  fw_name_map_clear(&map);
  assert_true(fw_name_map_find(&map, "n7", 2) == FW_NAME_NONE);
}

static void joined_names(void **state) {
  (void)state;
  fw_name_map map = {0};
  assert_int_equal(fw_name_map_add(&map, "a.b.c", 5, 1, NULL), FURROW_OK);
  assert_int_equal(fw_name_map_add(&map, "a.", 2, 2, NULL), FURROW_OK);
  assert_int_equal(fw_name_map_find_joined(&map, "a", 1, "b.c", 3), 1);
  assert_int_equal(fw_name_map_find_joined(&map, "a.b", 3, "c", 1), 1);
  assert_int_equal(fw_name_map_find_joined(&map, "a", 1, "", 0), 2);
  assert_true(fw_name_map_find_joined(&map, "a", 1, "b", 1) == FW_NAME_NONE);
  assert_true(fw_name_map_find_joined(&map, "", 0, "a.b.c", 5) == FW_NAME_NONE);
  fw_name_map_clear(&map);
}

static void out_of_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  fw_name_map map = {0};
  alloc_fail_at(1);
  assert_int_equal(fw_name_map_add(&map, "a", 1, 1, NULL), FURROW_E_MEMORY);
  alloc_fail_at(0);
  assert_int_equal(fw_name_map_add(&map, "a", 1, 1, NULL), FURROW_OK);
  assert_int_equal(fw_name_map_find(&map, "a", 1), 1);
  fw_name_map_clear(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_numbers),
      cmocka_unit_test(joined_names),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests_name("name_map", tests, NULL, NULL);
}
