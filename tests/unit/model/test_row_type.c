/* tests/unit/model/test_row_type.c: element types and Angel's row types. */
#include <stdio.h>
#include <string.h>

#include "furrow/model.h"
#include "support/cmocka_all.h"

static void elements(void **state) {
  (void)state;
  static const size_t sizes[] = {8, 4, 8, 4};
  static const char *const names[] = {"f64", "f32", "i64", "i32"};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(furrow_element_size((furrow_element_type)i), sizes[i]);
    assert_string_equal(furrow_element_type_name((furrow_element_type)i), names[i]);
  }
  assert_int_equal(furrow_element_size((furrow_element_type)4), 0);
  assert_string_equal(furrow_element_type_name((furrow_element_type)-1), "?");
}

/* The number says it all: element type is number / 7, kind is number % 7. */
static void the_grid(void **state) {
  (void)state;
  static const char *const elements_of[] = {"DOUBLE", "FLOAT", "LONG", "INT"};
  static const char *const kinds[] = {
      "DENSE",          "DENSE_COMPONENT",         "DENSE_LONGKEY_COMPONENT", "SPARSE", "SPARSE_COMPONENT",
      "SPARSE_LONGKEY", "SPARSE_LONGKEY_COMPONENT"};
  for (int32_t number = 0; number < 28; number++) {
    char name[64];
    const furrow_matrix_row_type *type = furrow_matrix_row_type_get(number);
    assert_non_null(type);
    snprintf(name, sizeof name, "T_%s_%s", elements_of[number / 7], kinds[number % 7]);
    assert_string_equal(type->name, name);
    assert_int_equal(type->number, number);
    assert_int_equal(type->element, number / 7);
    assert_int_equal(type->dense, number % 7 < 3);
    assert_int_equal(type->key_bits, strstr(name, "LONGKEY") ? 64 : 32);
    assert_false(type->objects);
  }
}

static void objects(void **state) {
  (void)state;
  static const char *const names[] = {"T_ANY_INTKEY_DENSE", "T_ANY_INTKEY_SPARSE", "T_ANY_LONGKEY_SPARSE",
                                      "T_ANY_STRINGKEY_SPARSE", "T_ANY_ANYKEY_SPARSE"};
  for (int32_t number = 28; number < 33; number++) {
    const furrow_matrix_row_type *type = furrow_matrix_row_type_get(number);
    assert_string_equal(type->name, names[number - 28]);
    assert_int_equal(type->number, number);
    assert_true(type->objects);
  }
  assert_null(furrow_matrix_row_type_get(33));
  assert_null(furrow_matrix_row_type_get(-1));
}

static void by_name(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int32_t number;
  } good[] = {{"T_FLOAT_SPARSE", 10},
              {"FLOAT_SPARSE", 10},
              {"t_float_sparse", 10},
              {"float_sparse", 10},
              {"T_INT_SPARSE_LONGKEY", 26},
              {"7", 7},
              {"0", 0},
              {"32", 32},
              {"any_intkey_dense", 28}};
  static const char *const bad[] = {"",   "T_", "T_FLOAT",          "FLOAT_SPARSE ",       "33",
                                    "-1", "7x", "T_T_FLOAT_SPARSE", "99999999999999999999"};
  furrow_error err;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    const furrow_matrix_row_type *type = NULL;
    assert_int_equal(furrow_matrix_row_type_find(good[i].name, &type, &err), FURROW_OK);
    assert_int_equal(type->number, good[i].number);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const furrow_matrix_row_type *type = NULL;
    assert_int_equal(furrow_matrix_row_type_find(bad[i], &type, &err), FURROW_E_ARGUMENT);
    assert_null(type);
    assert_string_equal(err.token, bad[i]);
    assert_non_null(strstr(err.hint, "SPARSE_LONGKEY"));
  }
  const furrow_matrix_row_type *type = NULL;
  assert_int_equal(furrow_matrix_row_type_find(NULL, &type, NULL), FURROW_E_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements),
      cmocka_unit_test(the_grid),
      cmocka_unit_test(objects),
      cmocka_unit_test(by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
