/* tests/unit/test_learn_conf.c: graphs of built-in algorithms and of JSON files: layers, names, widths, order. */
#include <math.h>
#include <string.h>

#include "learn/conf.h"
#include "support/learn_conf.h"

/* The graph as one line: name:type(inputs)width. */
static void expect_graph(const fw_plan *plan, const char *expected) {
  char text[2048] = "";
  size_t used = 0;
  for (size_t i = 0; i < plan->graph.count; i++) {
    const fw_layer *layer = &plan->graph.layers[i];
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", layer->name);
    for (size_t k = 0; k < layer->input_count; k++) {
      assert_true(layer->inputs[k] < i);
      used += (size_t)snprintf(text + used, sizeof text - used, "%c%zu", k ? ',' : '(', layer->inputs[k]);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", layer->input_count ? ")" : ":", layer->width);
  }
  assert_string_equal(text, expected);
}

static void expect_builtin(const char *algorithm, const char *settings, const char *expected) {
  furrow_learn_conf *conf = conf_new();
  if (furrow_learn_conf_algorithm(conf, algorithm, &err) != FURROW_OK) fail_msg("%s: %s", algorithm, err.message);
  conf_set_all(conf, settings);
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, expected);
  assert_non_null(plan->model.algorithm);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void builtin_graphs(void **state) {
  (void)state;
  const char *linear = "input:1 simpleLossLayer(0)1";
  expect_builtin("lr", "", linear);
  expect_builtin("com.tencent.angel.ml.classification.LogisticRegression", "", linear);
  expect_builtin("svm", "", linear);
  expect_builtin("linear", "", linear);
  expect_builtin("robust", "", linear);
  expect_builtin("softmax", "classes=3", "input:3 softmaxLossLayer(0)3");
  expect_builtin("mlr", "", "sigmoid_layer:5 softmax_layer:5 dotpooling_layer(0,1)1 simpleLossLayer(2)1");
  expect_builtin("fm", "", "input:1 embedding:0 innerSumPooling(1)1 sumPooling(0,2)1 simpleLossLayer(3)1");
  expect_builtin("dnn", "fc=7 input-width=9", "input:9 fclayer_0(0)7 fclayer(1)1 simpleLossLayer(2)1");
  expect_builtin(
      "wide_and_deep", "fields=3 rank=4",
      "input:1 embedding:12 fclayer_0(1)100 fclayer_1(2)100 fclayer(3)1 sumPooling(0,4)1 simpleLossLayer(5)1");
  expect_builtin("DeepFM", "fields=3 fc=10",
                 "input:1 embedding:24 innerSumPooling(1)1 fclayer_0(1)10 fclayer(3)1 sumPooling(0,2,4)1 "
                 "simpleLossLayer(5)1");
  expect_builtin("pnn", "fields=4 rank=2 fc=5",
                 "input:1 embedding:8 innerPooling(1)6 concatMatrix(1,2)14 fclayer_0(3)5 fclayer(4)1 sumPooling(0,5)1 "
                 "simpleLossLayer(6)1");
  expect_builtin("nfm", "rank=6 fc=5",
                 "input:1 embedding:0 BiInteractionCross(1)6 fclayer_0(2)5 fclayer(3)1 sumPooling(0,4)1 "
                 "simpleLossLayer(5)1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builtin_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
