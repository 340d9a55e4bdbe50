/* tests/unit/model/test_output_conf.c: formats by Angel's configuration keys, layers of algorithms. */
#include <string.h>

#include "furrow/model.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static furrow_error err;

static void expect_format(const furrow_layer_formats *conf, furrow_layer_kind kind, const char *name) {
  assert_string_equal(furrow_layer_formats_get(conf, kind)->name, name);
}

static void expect_defaults(const furrow_layer_formats *conf) {
  expect_format(conf, FURROW_LAYER_INPUT, "ColIdValueTextRowFormat");
  expect_format(conf, FURROW_LAYER_EMBEDDING, "TextColumnFormat");
  expect_format(conf, FURROW_LAYER_FC, "RowIdColIdValueTextRowFormat");
  expect_format(conf, FURROW_LAYER_OTHER, "RowIdColIdValueTextRowFormat");
  expect_format(conf, (furrow_layer_kind)77, "RowIdColIdValueTextRowFormat");
  assert_string_equal(furrow_layer_formats_separator(conf), ",");
}

static furrow_layer_formats *new_conf(void) {
  furrow_layer_formats *conf = NULL;
  assert_int_equal(furrow_layer_formats_create(&conf, &err), FURROW_OK);
  return conf;
}

static void set(furrow_layer_formats *conf, const char *key, const char *value) {
  assert_true(furrow_layer_formats_has_key(key));
  if (furrow_layer_formats_set(conf, key, value, &err) != FURROW_OK) fail_msg("%s: %s", key, err.message);
}

static void defaults(void **state) {
  (void)state;
  furrow_layer_formats *conf = new_conf();
  expect_defaults(NULL);
  expect_defaults(conf);
  furrow_layer_formats_free(conf);
  furrow_layer_formats_free(NULL);
}

static void keys(void **state) {
  (void)state;
  furrow_layer_formats *conf = new_conf();
  set(conf, "ml.simpleinputlayer.matrix.output.format",
      "com.tencent.angel.model.output.format.ColIdValueBinaryRowFormat");
  set(conf, "ml.embedding.matrix.output.format", "BinaryColumnFormat");
  set(conf, "ml.fclayer.matrix.output.format", "ValueBinaryRow");
  set(conf, "OUT_FORMAT_CLASS", "RowIdColIdValueBinaryRowFormat");
  set(conf, "text.format.filed.sep", "\t");
  expect_format(conf, FURROW_LAYER_INPUT, "ColIdValueBinaryRowFormat");
  expect_format(conf, FURROW_LAYER_EMBEDDING, "BinaryColumnFormat");
  expect_format(conf, FURROW_LAYER_FC, "ValueBinaryRowFormat");
  expect_format(conf, FURROW_LAYER_OTHER, "RowIdColIdValueBinaryRowFormat");
  assert_string_equal(furrow_layer_formats_separator(conf), "\t");
  /* the names of 2018 */
  set(conf, "ml.sparseinputlayer.matrix.output.format", "ValueTextRowFormat");
  expect_format(conf, FURROW_LAYER_INPUT, "ValueTextRowFormat");
  set(conf, "ml.denseinputlayer.matrix.output.format", "ColIdValueTextRowFormat");
  expect_format(conf, FURROW_LAYER_INPUT, "ColIdValueTextRowFormat");
  set(conf, "text.format.filed.sep", " ");
  assert_string_equal(furrow_layer_formats_separator(conf), " ");
  furrow_layer_formats_free(conf);
}

static void set_or_not(void **state) {
  (void)state;
  furrow_layer_formats *conf = new_conf();
  set(conf, "text.format.filed.sep", "\t");
  set(conf, "ml.embedding.matrix.output.format", "TextColumnFormat"); /* the default, but said */
  assert_true(furrow_layer_formats_is_set(conf, FURROW_LAYER_EMBEDDING));
  assert_false(furrow_layer_formats_is_set(conf, FURROW_LAYER_INPUT));
  assert_false(furrow_layer_formats_is_set(conf, (furrow_layer_kind)77));
  assert_false(furrow_layer_formats_is_set(NULL, FURROW_LAYER_EMBEDDING));
  furrow_layer_formats_free(conf);
}

static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *key, *nearest;
  } wrong[] = {
      {"text.format.field.sep", "text.format.filed.sep"},
      {"ml.embeding.matrix.output.format", "ml.embedding.matrix.output.format"},
      {"ML.FCLAYER.MATRIX.OUTPUT.FORMAT", "ml.fclayer.matrix.output.format"},
      {"ml.fc.matrix.output.format", "ml.fclayer.matrix.output.format"},
      {"ml.inputlayer.matrix.output.format", "ml.simpleinputlayer.matrix.output.format"},
      {"out_format", "OUT_FORMAT_CLASS"},
  };
  furrow_layer_formats *conf = new_conf();
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_false(furrow_layer_formats_has_key(wrong[i].key));
    assert_int_equal(furrow_layer_formats_set(conf, wrong[i].key, "TextColumnFormat", &err), FURROW_E_ARGUMENT);
    if (!strstr(err.hint, wrong[i].nearest)) fail_msg("%s: %s", wrong[i].key, err.hint);
    assert_string_equal(err.token, wrong[i].key);
  }
  assert_int_equal(furrow_layer_formats_set(conf, "", "x", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_layer_formats_set(conf, "ml.fclayer.matrix.output.format", "Nonsense", &err),
                   FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_layer_formats_set(conf, "text.format.filed.sep", "", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_layer_formats_set(conf, "text.format.filed.sep", "a\n", &err), FURROW_E_ARGUMENT);
  expect_defaults(conf);
  furrow_layer_formats_free(conf);
}

static void algorithms(void **state) {
  (void)state;
  enum { INPUT = 1, EMBEDDING = 2, FC = 4, OTHER = 8 };
  static const struct {
    const char *name;
    unsigned layers;
  } cases[] = {
      {"LogisticRegression", INPUT},
      {"lr", INPUT},
      {"LR", INPUT},
      {"com.tencent.angel.ml.classification.LogisticRegression", INPUT},
      {"SupportVectorMachine", INPUT},
      {"svm", INPUT},
      {"LinearRegression", INPUT},
      {"linear_regression", INPUT},
      {"RobustRegression", INPUT},
      {"SoftmaxRegression", INPUT},
      {"softmax", INPUT},
      {"MixedLogisticRegression", INPUT},
      {"MLR", INPUT},
      {"FactorizationMachines", INPUT | EMBEDDING},
      {"fm", INPUT | EMBEDDING},
      {"DeepFM", INPUT | EMBEDDING | FC},
      {"deep-fm", INPUT | EMBEDDING | FC},
      {"WideAndDeep", INPUT | EMBEDDING | FC},
      {"wide_and_deep", INPUT | EMBEDDING | FC},
      {"W&D", INPUT | EMBEDDING | FC},
      {"ProductNeuralNetwork", INPUT | EMBEDDING | FC},
      {"PNN", INPUT | EMBEDDING | FC},
      {"NeuralFactorizationMachines", INPUT | EMBEDDING | FC},
      {"NFM", INPUT | EMBEDDING | FC},
      {"DNN", INPUT | FC},
      {"GBDT", OTHER},
      {"GBDT.GBDTRunner", OTHER},
      {"k-means", OTHER},
      {"LDA", OTHER},
      {"", 0},
      {"l", 0},
      {"lrx", 0},
      {"forest", 0},
      {"deepfm.", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (furrow_algorithm_layer_kinds(cases[i].name) != cases[i].layers) fail_msg("%s", cases[i].name);
  assert_int_equal(furrow_algorithm_layer_kinds(NULL), 0);
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_layer_formats *conf = NULL;
  alloc_fail_at(1);
  assert_int_equal(furrow_layer_formats_create(&conf, &err), FURROW_E_MEMORY);
  assert_null(conf);
  conf = new_conf();
  set(conf, "text.format.filed.sep", ";");
  alloc_fail_at(1);
  assert_int_equal(furrow_layer_formats_set(conf, "text.format.filed.sep", ":", &err), FURROW_E_MEMORY);
  alloc_fail_at(0);
  assert_string_equal(furrow_layer_formats_separator(conf), ";");
  furrow_layer_formats_free(conf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults), cmocka_unit_test(keys),       cmocka_unit_test(set_or_not),
      cmocka_unit_test(refusals), cmocka_unit_test(algorithms), cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
