/* tests/unit/model/test_layer_kind.c: which kind of layer a matrix belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "furrow/model.h"

static const furrow_matrix_format with_cols = {.flags = FURROW_MATRIX_FORMAT_COL_IDS};
static const furrow_matrix_format with_both = {.flags = FURROW_MATRIX_FORMAT_COL_IDS | FURROW_MATRIX_FORMAT_ROW_IDS};

static void expect(const char *name, const furrow_matrix_format *format, const char *graph, furrow_layer_kind kind) {
  furrow_layer_kind found = furrow_layer_kind_of(name, format, graph, graph ? strlen(graph) : 0);
  assert_string_equal(furrow_layer_kind_name(found), furrow_layer_kind_name(kind));
}

static void test_names(void **state) {
  (void)state;
  expect("embedding_embedding", &with_both, NULL, FURROW_LAYER_EMBEDDING);
  expect("input_bias", &with_both, NULL, FURROW_LAYER_INPUT);
  expect("wide_weight", &with_both, NULL, FURROW_LAYER_INPUT);
  expect("fclayer_0_weight", &with_cols, NULL, FURROW_LAYER_FC);
  expect("sigmoid_layer_weight", &with_cols, NULL, FURROW_LAYER_INPUT);
  expect("hidden_weight", &with_both, NULL, FURROW_LAYER_FC);
  expect("hidden_weight", NULL, NULL, FURROW_LAYER_FC);
  expect("gbdt.split.value", &with_both, NULL, FURROW_LAYER_OTHER);
  expect("_weight", &with_cols, NULL, FURROW_LAYER_OTHER);
  expect(NULL, &with_cols, NULL, FURROW_LAYER_OTHER);
}

static void test_graph(void **state) {
  static const char array[] =
      "{\"data\" : {\"type\" : \"x\"}, \"layers\" : [ {\"name\" : \"input\", \"type\" : \"FCLayer\","
      "\"optimizer\" : {\"type\" : \"Embedding\"}}, {\"type\":\"simpleinputlayer\",\"name\":"
      "\"deep\"}, {\"name\":\"v\",\"type\":\"Embedding\"}, {\"name\":\"sum\",\"type\":\"SumPooling\"} ]}";
  static const char object[] =
      "{\"layers\":{\"deep\":{\"type\":\"SimpleInputLayer\"},\"hidden\":{\"type\":\"FCLayer\"}}}";
  (void)state;
  expect("input_weight", &with_cols, array, FURROW_LAYER_FC);
  expect("input_3_weight", &with_cols, array, FURROW_LAYER_FC);
  expect("deep_bias", &with_both, array, FURROW_LAYER_INPUT);
  expect("v_embedding", &with_both, array, FURROW_LAYER_EMBEDDING);
  expect("sum_weight", &with_cols, array, FURROW_LAYER_INPUT);
  expect("absent_weight", &with_both, array, FURROW_LAYER_FC);
  expect("deep_weight", &with_both, object, FURROW_LAYER_INPUT);
  expect("hidden_12_weight", &with_cols, object, FURROW_LAYER_FC);
}

static void test_broken_graph(void **state) {
  static const char *const broken[] = {"", "[]", "{\"layers\":7}", "{\"layers\":[1,{\"name\":2}]}",
                                       "{\"layers\":[{\"name\":"};
  (void)state;
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
    expect("input_weight", &with_cols, broken[i], FURROW_LAYER_INPUT);
}

static void test_kind_names(void **state) {
  (void)state;
  assert_string_equal(furrow_layer_kind_name(FURROW_LAYER_OTHER), "other");
  assert_string_equal(furrow_layer_kind_name((furrow_layer_kind)77), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_graph),
                                     cmocka_unit_test(test_broken_graph), cmocka_unit_test(test_kind_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
