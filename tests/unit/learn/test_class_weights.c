/* tests/unit/learn/test_class_weights.c: factors of classes. */
#include <math.h>
#include <string.h>

#include "learn/conf/conf_data.h"
#include "support/cmocka_all.h"

static furrow_error err;

static fw_class_weights parsed(const char *text) {
  fw_class_weights weights = {0};
  assert_int_equal(fw_class_weights_parse(&weights, text, &err), FURROW_OK);
  return weights;
}

static void none_is_one_for_all(void **state) {
  (void)state;
  fw_class_weights weights = parsed("none");
  const uint64_t rows[2] = {7, 1};
  double factors[2];
  assert_false(fw_class_weights_are_used(&weights));
  assert_int_equal(fw_class_weights_check(&weights, 0, &err), FURROW_OK);
  fw_class_weights_factors(&weights, rows, 2, factors);
  assert_true(factors[0] == 1 && factors[1] == 1);
  fw_class_weights_clear(&weights);
}

/* compute_class_weight("balanced", …) of scikit-learn says 0.5714, 4 and 0.6667, 0.8889, 2.6667. */
static void balanced_classes_weigh_the_same(void **state) {
  (void)state;
  fw_class_weights weights = parsed("balanced");
  double factors[4];
  assert_true(fw_class_weights_are_used(&weights));
  fw_class_weights_factors(&weights, (const uint64_t[]){7, 1}, 2, factors);
  assert_float_equal(factors[0], 8.0 / 14, 1e-12);
  assert_float_equal(factors[1], 4, 1e-12);
  fw_class_weights_factors(&weights, (const uint64_t[]){4, 3, 0, 1}, 4, factors); /* class 2 has no rows */
  assert_float_equal(factors[0], 2.0 / 3, 1e-12);
  assert_float_equal(factors[1], 8.0 / 9, 1e-12);
  assert_true(factors[2] == 1);
  assert_float_equal(factors[3], 8.0 / 3, 1e-12);
  fw_class_weights_factors(&weights, (const uint64_t[]){0, 0}, 2, factors);
  assert_true(factors[0] == 1 && factors[1] == 1);
  assert_int_equal(fw_class_weights_check(&weights, 0, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "regression"));
  fw_class_weights_clear(&weights);
}

static void lists_are_taken_as_they_are(void **state) {
  (void)state;
  fw_class_weights weights = parsed("0,2.5,1e2");
  double factors[3];
  assert_true(fw_class_weights_are_used(&weights));
  assert_int_equal(fw_class_weights_check(&weights, 3, &err), FURROW_OK);
  fw_class_weights_factors(&weights, (const uint64_t[]){1, 1, 1}, 3, factors);
  assert_true(factors[0] == 0 && factors[1] == 2.5 && factors[2] == 100);
  assert_int_equal(fw_class_weights_check(&weights, 2, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "3 numbers, but the model has 2 classes"));
  fw_class_weights_clear(&weights);
}

static void other_texts_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"",    "1",    "Balanced", "1,",      ",1",  "1,,2",   "1,x",  "1, 2",
                                      "1;2", "1,-1", "1,nan",    "1,1e999", "0,0", "none,1", "1,2,", "balanced,2"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    fw_class_weights weights = {0};
    if (fw_class_weights_parse(&weights, texts[i], &err) != FURROW_E_ARGUMENT) fail_msg("\"%s\" is taken", texts[i]);
    assert_null(weights.factors);
    assert_non_null(strstr(err.hint, "balanced"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(none_is_one_for_all),
      cmocka_unit_test(balanced_classes_weigh_the_same),
      cmocka_unit_test(lists_are_taken_as_they_are),
      cmocka_unit_test(other_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
