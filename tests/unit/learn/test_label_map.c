/* tests/unit/learn/test_label_map.c: labels of any kind become classes and come back; those that do not fit the model
 * are refused with what would fit. */
#include "learn/data/data_facts.h"
#include "support/made_clicks.h"
#include "support/own_data.h"

/* ---- Maps ---- */

static void classes_of_labels(void **state) {
  (void)state;
  static const double labels[] = {-2, (double)0.1F, 7};
  const fw_data_conf many = {.label_count = 3, .labels = labels};
  for (size_t i = 0; i < 3; i++) {
    assert_true(fw_label_class(&many, labels[i]) == (double)i);
    assert_true(fw_class_label(&many, (double)i) == labels[i]);
  }
  assert_true(fw_label_class(&many, 0.1) == 1); /* however it was written */
  assert_true(isinf(fw_label_class(&many, 0)) && isinf(fw_label_class(&many, 8)) && isinf(fw_label_class(&many, -3)));
  assert_int_equal(fw_label_refuse(&many, 8, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "the label 8 is not one of the model's: -2, 0.1, 7");
  const fw_data_conf two = {.label_count = 2, .labels = labels, .signed_classes = true};
  assert_true(fw_label_class(&two, -2) == -1 && fw_label_class(&two, labels[1]) == 1);
  assert_true(fw_class_label(&two, -1) == -2 && fw_class_label(&two, 1) == labels[1]);
  const fw_data_conf none = {0};
  assert_true(fw_class_label(&none, 5) == 5);
  static const double large[] = {1, 1e10F, 1e20F};
  const fw_data_conf far = {.label_count = 3, .labels = large};
  assert_true(fw_label_class(&far, 1e20) == 2 && fw_label_class(&far, 1e10) == 1);
}

/* ---- Training ---- */

/* Floats do not tell 2^24 from 2^24 + 1: classes must be smaller. Numbers to predict need not. */
static void labels_that_floats_confuse(void **state) {
  (void)state;
  static const float sets[][3] = {{16777216, 16777218, 16777220}, {1, 1e10F, 1e20F}, {-16777216, 0, 1}};
  static const char *const algorithms[] = {"softmax", "gbdt"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    write_blobs("far", 90, 3, sets[i], 1);
    for (size_t a = 0; a < 2; a++) {
      furrow_trainer *trainer = own_trainer(algorithms[a], a == 1 ? "objective=multi:softmax" : "", 1, NULL);
      assert_int_equal(furrow_trainer_fit(trainer, "far", NULL, NULL, &err), FURROW_E_RANGE);
      assert_non_null(strstr(err.message, "is too large for a class"));
      furrow_trainer_free(trainer);
    }
    furrow_trainer *trainer = own_trainer("linear", "", 1, NULL);
    fit_or_fail(trainer, "far", NULL, NULL);
    furrow_trainer_free(trainer);
  }
  write_blobs("far", 90, 2, (const float[]){0, 16777216}, 1);
  furrow_trainer *two = own_trainer("lr", "", 1, NULL);
  assert_int_equal(furrow_trainer_fit(two, "far", NULL, NULL, &err), FURROW_E_RANGE);
  furrow_trainer_free(two);
  write_blobs("far", 90, 2, (const float[]){0, 16777215}, 1);
  two = own_trainer("lr", "", 1, NULL);
  fit_or_fail(two, "far", NULL, NULL);
  furrow_trainer_free(two);
  two = own_trainer("lr", "labels=0,16777217", 1, NULL);
  assert_int_equal(furrow_trainer_fit(two, "far", NULL, NULL, &err), FURROW_E_RANGE);
  furrow_trainer_free(two);
}

static furrow_scorer *scorer_of(const furrow_trainer *trainer) {
  furrow_scorer *scorer = NULL;
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  if (furrow_trainer_save(trainer, "model", &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  if (furrow_scorer_load(&scorer, "model", NULL, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  return scorer;
}

/* All rows get one of the labels; most get their own. */
static void assert_scores_have_labels(const furrow_scorer *scorer, const furrow_rowblock *rows, const double *labels,
                                      size_t count) {
  furrow_scorer_scratch *scratch = NULL;
  furrow_score *scores = malloc(rows->size * sizeof *scores);
  size_t right = 0;
  assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_score_block(scorer, scratch, rows, scores, &err), FURROW_OK);
  for (size_t i = 0; i < rows->size; i++) {
    bool known = false;
    for (size_t k = 0; k < count; k++) known |= scores[i].label == labels[k];
    assert_true(known);
    right += scores[i].label == (double)rows->label.f32[i];
  }
  assert_true(right > rows->size * 8 / 10);
  for (size_t k = 0; k < count; k++) assert_true(furrow_scorer_class_label(scorer, k) == labels[k]);
  assert_true(isnan(furrow_scorer_class_label(scorer, count)));
  furrow_scorer_scratch_free(scratch);
  free(scores);
}

static void any_two_labels(void **state) {
  (void)state;
  static const float pairs[][2] = {{0, 1}, {-1, 1}, {1, 2}, {-3.5F, 0.1F}, {7, 100000}, {0.25F, 1}};
  static const char *const algorithms[] = {"lr", "svm", "fm", "gbdt", "dnn"};
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
    write_blobs("two", 300, 2, pairs[p], 1);
    own_rows rows = read_rows("two");
    const double labels[] = {(double)pairs[p][0], (double)pairs[p][1]};
    for (size_t a = 0; a < (p < 2 ? 2 : sizeof algorithms / sizeof *algorithms); a++) {
      furrow_trainer *trainer = own_trainer(algorithms[a], "", 1, NULL);
      fit_or_fail(trainer, "two", NULL, NULL);
      furrow_scorer *scorer = scorer_of(trainer);
      assert_scores_have_labels(scorer, &rows.block, labels, 2);
      assert_int_equal(has_note(trainer, "the positive one", NULL), p >= 2);
      furrow_scorer_free(scorer);
      furrow_trainer_free(trainer);
    }
    close_rows(&rows);
  }
}

static void many_labels(void **state) {
  (void)state;
  static const float lists[][3] = {{1, 2, 3}, {0, 1, 2}, {-1, 0, 1}, {10, 20, 500}};
  static const char *const algorithms[] = {"softmax", "gbdt"};
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
    write_blobs("three", 300, 3, lists[l], 1);
    own_rows rows = read_rows("three");
    const double labels[] = {(double)lists[l][0], (double)lists[l][1], (double)lists[l][2]};
    for (size_t a = 0; a < 2; a++) {
      furrow_trainer *trainer = own_trainer(algorithms[a], a ? "objective=multi:softmax trees=20" : "", 1, NULL);
      fit_or_fail(trainer, "three", NULL, NULL);
      furrow_scorer *scorer = scorer_of(trainer);
      assert_int_equal(furrow_scorer_class_count(scorer), 3);
      assert_scores_have_labels(scorer, &rows.block, labels, 3);
      furrow_scorer_free(scorer);
      furrow_trainer_free(trainer);
    }
    close_rows(&rows);
  }
}

/* ---- Labels that do not fit ---- */

static void expect_refused(const char *algorithm, const char *settings, const char *data, const char *message,
                           const char *hint) {
  furrow_trainer *trainer = own_trainer(algorithm, settings, 1, NULL);
  err = (furrow_error){0};
  assert_int_equal(furrow_trainer_fit(trainer, data, NULL, NULL, &err), FURROW_E_ARGUMENT);
  if (!strstr(err.message, message) || !strstr(err.hint, hint))
    fail_msg("%s %s: %s; hint: %s", algorithm, settings, err.message, err.hint);
  furrow_trainer_free(trainer);
}

static void labels_that_do_not_fit(void **state) {
  (void)state;
  static const float list[] = {1, 2, 3}, one[] = {4};
  static const char *const algorithms[] = {"lr", "svm", "ffm", "fm", "deepfm", "dnn"};
  const size_t of_classes = 2; /* the others predict quantities as such */
  const size_t of_two = 3;     /* the others have an output for each class */
  write_blobs("three", 300, 3, list, 1);
  write_blobs("one", 100, 1, one, 1);
  write_quantities("real", 300);
  for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
    if (a < of_two) expect_refused(algorithms[a], "", "three", "the labels have 3 values (1, 2, 3)", "softmax");
    if (a >= of_two) expect_refused(algorithms[a], "loss=LogLoss", "three", "separates two classes", "SoftmaxLoss");
    if (a < of_classes) expect_refused(algorithms[a], "", "real", "values", "linear");
    if (a >= of_classes) expect_refused(algorithms[a], "loss=LogLoss", "real", "values", "the key `loss` to l2");
    expect_refused(algorithms[a], "", "one", "all labels are 4", "one class");
  }
  expect_refused("gbdt", "objective=binary:logistic", "three", "gbdt separates two classes", "multi:softmax");
  expect_refused("gbdt", "objective=binary:logistic", "real", "gbdt separates two classes", "reg:squarederror");
  expect_refused("gbdt", "", "one", "all labels are 4", "");
  expect_refused("softmax", "", "real", "quantities, not classes", "linear");
  expect_refused("gbdt", "objective=multi:softmax", "real", "quantities, not classes", "reg:squarederror");
  expect_refused("softmax", "classes=2", "three", "the labels have 3 values, but the key `classes` is 2", "");
}

/* Labels decide about the objective of trees: 20 whole numbers are classes, 21 are numbers. */
static void objectives_of_labels(void **state) {
  (void)state;
  float list[21];
  static const struct {
    size_t labels, rows, classes; /* classes 0: numbers */
    const char *note;
  } cases[] = {{2, 100, 1, NULL},
               {3, 100, 3, "several classes, not two classes: the objective is multi:softmax"},
               {20, 400, 20, "the objective is multi:softmax"},
               {20, 30, 0, "numbers, not two classes: the objective is reg:squarederror"},
               {21, 400, 0, "the objective is reg:squarederror"}};
  for (size_t i = 0; i < 21; i++) list[i] = (float)(3 * i);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_blobs("data", cases[i].rows, cases[i].labels, list, 1);
    furrow_trainer *trainer = own_trainer("gbdt", "trees=2", 1, NULL);
    fit_or_fail(trainer, "data", NULL, NULL);
    furrow_scorer *scorer = scorer_of(trainer);
    assert_int_equal(isnan(furrow_scorer_class_label(scorer, 0)), cases[i].classes == 0);
    if (cases[i].classes > 0) assert_int_equal(furrow_scorer_class_count(scorer), cases[i].classes);
    if (cases[i].note && !has_note(trainer, cases[i].note, NULL)) fail_msg("%zu: %s", i, cases[i].note);
    if (!cases[i].note) assert_false(has_note(trainer, "objective", NULL));
    furrow_scorer_free(scorer);
    furrow_trainer_free(trainer);
  }
}

/* Classes that are numbered from 0 may be more than those that occur; others not. */
static void classes_that_do_not_occur(void **state) {
  (void)state;
  static const float list[] = {1, 2, 3}, far[] = {10, 20, 30};
  write_blobs("three", 300, 3, list, 1);
  write_blobs("far", 300, 3, far, 1);
  own_rows rows = read_rows("three");
  furrow_trainer *trainer = own_trainer("softmax", "classes=5", 1, NULL);
  fit_or_fail(trainer, "three", NULL, NULL);
  furrow_scorer *scorer = scorer_of(trainer);
  static const double labels[] = {0, 1, 2, 3, 4};
  assert_scores_have_labels(scorer, &rows.block, labels, 5);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
  close_rows(&rows);
  expect_refused("softmax", "classes=5", "far", "the labels have 3 values, but the key `classes` is 5", "");
}

/* ---- Other rows ---- */

/* Labels that the model does not know: evaluation names them, scoring does not look at them. */
static void labels_of_other_rows(void **state) {
  (void)state;
  static const float known[] = {3, 8}, other[] = {3, 9}, ids[] = {100001, 100002};
  static const char *const algorithms[] = {"lr", "fm", "gbdt"};
  static const double labels[] = {3, 8};
  write_blobs("known", 300, 2, known, 1);
  write_blobs("other", 300, 2, other, 1);
  write_blobs("ids", 300, 2, ids, 1);
  own_rows rows[] = {read_rows("other"), read_rows("ids")};
  for (size_t a = 0; a < 3; a++) {
    furrow_trainer *trainer = own_trainer(algorithms[a], "", 1, NULL);
    fit_or_fail(trainer, "known", NULL, NULL);
    furrow_scorer *scorer = scorer_of(trainer);
    furrow_scorer_scratch *scratch = NULL;
    furrow_evaluation *evaluation = NULL;
    furrow_score scores[300];
    assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
    for (size_t i = 0; i < 2; i++) {
      assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
      assert_int_equal(furrow_evaluation_add_block(evaluation, scratch, &rows[i].block, &err), FURROW_E_RANGE);
      const char *wanted = i ? "is not one of the model's: 3, 8" : "the label 9 is not one of the model's: 3, 8";
      if (!strstr(err.message, wanted)) fail_msg("%s: %s", algorithms[a], err.message);
      furrow_evaluation_free(evaluation);
      assert_int_equal(furrow_scorer_score_block(scorer, scratch, &rows[i].block, scores, &err), FURROW_OK);
      for (size_t k = 0; k < 300; k++) assert_true(scores[k].label == labels[0] || scores[k].label == labels[1]);
    }
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
    furrow_trainer_free(trainer);
  }
  for (size_t i = 0; i < 2; i++) close_rows(&rows[i]);
}

/* Validation data with another label is refused before or in the first epoch, by its name. */
static void labels_of_validation_rows(void **state) {
  (void)state;
  static const float known[] = {3, 8}, other[] = {3, 9};
  static const char *const algorithms[] = {"lr", "fm", "gbdt"};
  write_blobs("known", 300, 2, known, 1);
  write_blobs("other", 300, 2, other, 1);
  for (size_t a = 0; a < 3; a++) {
    furrow_trainer *trainer = own_trainer(algorithms[a], "", 1, NULL);
    assert_int_equal(furrow_trainer_fit(trainer, "known", "other", NULL, &err), FURROW_E_RANGE);
    if (!strstr(err.message, "the label 9 is not one of the model's: 3, 8"))
      fail_msg("%s: %s", algorithms[a], err.message);
    assert_string_equal(err.file, "other");
    furrow_trainer_free(trainer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_of_labels),
      cmocka_unit_test(labels_that_floats_confuse),
      cmocka_unit_test(any_two_labels),
      cmocka_unit_test(many_labels),
      cmocka_unit_test(labels_that_do_not_fit),
      cmocka_unit_test(objectives_of_labels),
      cmocka_unit_test(classes_that_do_not_occur),
      cmocka_unit_test(labels_of_other_rows),
      cmocka_unit_test(labels_of_validation_rows),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
