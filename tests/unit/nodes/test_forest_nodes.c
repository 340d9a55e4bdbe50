/* tests/unit/nodes/test_forest_nodes.c: forests of nodes: their file, their scores, and the texts they come from. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/endian.h"
#include "learn/nodes/forest_export.h"
#include "learn/nodes/forest_import.h"
#include "support/cmocka_all.h"

#define TREE                                                                                                 \
  "{\"tree_param\":{\"num_nodes\":\"3\"},\"id\":0,\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1]," \
  "\"split_indices\":[0,0,0],\"split_conditions\":[0.5,-1,2],\"default_left\":[1,0,0]}"
#define MODEL(base, objective, tree) MODEL_OF_CLASSES("0", base, objective, tree)
#define MODEL_OF_CLASSES(classes, base, objective, tree)                                                       \
  "{\"learner\":{\"attributes\":{},\"feature_names\":[],\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{" \
  "\"gbtree_model_param\":{\"num_parallel_tree\":\"1\"},\"tree_info\":[0],\"trees\":[" tree                    \
  "]}},\"learner_model_param\":{\"base_score\":" base ",\"num_class\":\"" classes                              \
  "\",\"num_feature\":\"1\"},\"objective\":{\"name\":\"" objective "\"}},\"version\":[1,7,4]}"

static const fw_import_rules rules = {.file = "model.json"};

static fw_node_forest *import(const char *text) {
  fw_imported imported = {0};
  furrow_error err = {0};
  if (fw_import_bytes(&imported, text, strlen(text), &rules, &err) != FURROW_OK) fail_msg("%s", err.message);
  fw_node_forest *forest = imported.forest;
  imported.forest = NULL;
  for (size_t i = 0; i < forest->features; i++) furrow_free(imported.names[i]);
  furrow_free((void *)imported.names);
  return forest;
}

static void assert_refused(const char *text, furrow_status status, const char *word) {
  fw_imported imported = {0};
  furrow_error err = {0};
  assert_int_equal(fw_import_bytes(&imported, text, strlen(text), &rules, &err), status);
  if (!strstr(err.message, word)) fail_msg("\"%s\" lacks \"%s\"", err.message, word);
  assert_string_equal(err.file, "model.json");
  fw_imported_clear(&imported);
}

/* ---- The file ---- */

/* The example of docs/formats/forest_nodes.md. */
static void test_example(void **state) {
  (void)state;
  static const unsigned char begin[] = {'F', 'U', 'R', 'R', 'O', 'W', 'N', 'F', 1, 0, 0, 0, 3, 0, 0, 0, 0xd0};
  fw_node_forest *forest = import(MODEL("\"0E0\"", "reg:squarederror", TREE)), *again = NULL;
  fw_buffer bytes = {0};
  fw_node_forest_write(forest, &bytes);
  assert_int_equal(bytes.size, 208);
  assert_memory_equal(bytes.bytes, begin, sizeof begin);
  assert_int_equal(fw_get_le32(bytes.bytes + 0x68), 3);
  assert_int_equal(fw_get_le64(bytes.bytes + 0x70), UINT64_C(0x3fe0000000000000));
  assert_int_equal(fw_get_le32(bytes.bytes + 0x88), 2);
  assert_int_equal(fw_get_le32(bytes.bytes + 0x8c), FW_NODE_DEFAULT_LEFT);
  assert_int_equal(fw_node_forest_read(&again, bytes.bytes, bytes.size, "f", NULL), FURROW_OK);
  assert_int_equal(again->nodes, 3);
  fw_node_forest_free(again);
  fw_node_forest_free(forest);
  fw_buffer_clear(&bytes);
}

/* One number of the file changed, the digest right again. */
static void test_refused_files(void **state) {
  (void)state;
  static const struct {
    size_t at;
    uint64_t number;
    const char *word;
  } changes[] = {{0x20, 0, "bytes"},
                 {0x20, 1 << 20, "classes"},
                 {0x28, 2, "classes"},
                 {0x28, 1ULL << 60, "trees"},
                 {0x30, 4, "nodes"},
                 {0x38, 0, "feature"},
                 {0x40, 1, "sets"},
                 {0x48, 1, "sets"},
                 {0x50, 0, "divisor"},
                 {0x58, UINT64_C(0x7ff8000000000000), "scale"},
                 {0x60, UINT64_C(0x7ff0000000000000), "base"},
                 {0x68, 2, "nodes"},
                 {0x68, 3 | 1ULL << 32, "class"},
                 {0x70, UINT64_C(0x7ff8000000000000), "threshold"},
                 {0x70, UINT64_C(0x3fb999999999999a), "threshold"}, /* 0.1 is not a float */
                 {0x78, UINT64_C(0xbff0000000000000), "cover"},
                 {0x88, 1 | 1ULL << 32, "children"},
                 {0x88, 2 | 32ULL << 32, "flag"},
                 {0x88, 2 | 2ULL << 32, "set"},
                 {0x90, UINT64_C(0x7ff0000000000000), "leaf"},
                 {0xa8, 1, "marks"}};
  fw_node_forest *forest = import(MODEL("\"0E0\"", "reg:squarederror", TREE));
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    fw_buffer bytes = {0};
    fw_node_forest *again = NULL;
    furrow_error err = {0};
    fw_node_forest_write(forest, &bytes);
    if (changes[i].at == 0x20)
      fw_put_le32(bytes.bytes + changes[i].at, (uint32_t)changes[i].number);
    else
      fw_put_le64(bytes.bytes + changes[i].at, changes[i].number);
    fw_put_le64(bytes.bytes + 24, XXH3_64bits(bytes.bytes + 32, bytes.size - 32));
    if (fw_node_forest_read(&again, bytes.bytes, bytes.size, "f", &err) != FURROW_E_FORMAT)
      fail_msg("change %zu was accepted", i);
    if (i != 2 && !strstr(err.message, changes[i].word)) fail_msg("change %zu: %s", i, err.message);
    assert_string_equal(err.file, "f");
    fw_buffer_clear(&bytes);
  }
  fw_buffer bytes = {0};
  fw_node_forest *again = NULL;
  fw_node_forest_write(forest, &bytes);
  bytes.bytes[0x70]++;
  assert_int_equal(fw_node_forest_read(&again, bytes.bytes, bytes.size, "f", NULL), FURROW_E_FORMAT); /* the digest */
  assert_int_equal(fw_node_forest_read(&again, bytes.bytes, bytes.size - 1, "f", NULL), FURROW_E_FORMAT);
  bytes.bytes[8] = 2;
  assert_int_equal(fw_node_forest_read(&again, bytes.bytes, bytes.size, "f", NULL), FURROW_E_UNSUPPORTED);
  fw_buffer_clear(&bytes);
  fw_node_forest_free(forest);
}

/* ---- Models ---- */

static void test_base_scores(void **state) {
  (void)state;
  static const struct {
    const char *text;
    float base;
  } models[] = {
      {MODEL("\"2.5E-1\"", "reg:squarederror", TREE), 0.25F}, {MODEL("\"[2.5E-1]\"", "reg:squarederror", TREE), 0.25F},
      {MODEL("0.25", "reg:squarederror", TREE), 0.25F},       {MODEL("[0.25]", "reg:squarederror", TREE), 0.25F},
      {MODEL("\"5E-1\"", "binary:logistic", TREE), 0},        {MODEL("\"1E0\"", "count:poisson", TREE), 0}};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    fw_node_forest *forest = import(models[i].text);
    assert_true((float)forest->base[0] == models[i].base);
    fw_node_forest_free(forest);
  }
}

static void test_refused_models(void **state) {
  (void)state;
  assert_refused(MODEL("\"0E0\"", "my:own", TREE), FURROW_E_UNSUPPORTED, "my:own");
  assert_refused(MODEL("\"nan\"", "reg:squarederror", TREE), FURROW_E_FORMAT, "base score");
  assert_refused(MODEL("\"1E0\"", "binary:logistic", TREE), FURROW_E_FORMAT, "base score");
  assert_refused(MODEL("\"[1,2]\"", "reg:squarederror", TREE), FURROW_E_FORMAT, "base_score");
  assert_refused(MODEL("\"0E0\"", "multi:softmax", TREE), FURROW_E_FORMAT, "num_class");
  assert_refused(MODEL_OF_CLASSES("-3", "\"0E0\"", "reg:squarederror", TREE), FURROW_E_FORMAT, "not a count");
  assert_refused(MODEL_OF_CLASSES("0.5", "\"0E0\"", "reg:squarederror", TREE), FURROW_E_FORMAT, "not a count");
  assert_refused(MODEL("\"0E0\"", "reg:squarederror", ""), FURROW_E_FORMAT, "no trees");
  assert_refused(MODEL("\"0E0\"", "reg:squarederror", TREE "," TREE), FURROW_E_FORMAT, "tree_info");
  assert_refused(MODEL("\"0E0\"", "reg:squarederror", "{}"), FURROW_E_FORMAT, "left_children");
  assert_refused("{\"learner\":{\"gradient_booster\":{\"name\":\"gblinear\"}}}", FURROW_E_UNSUPPORTED, "gblinear");
  assert_refused("{\"learner\":{}", FURROW_E_FORMAT, "");
  assert_refused("tree\nversion=v4\n", FURROW_E_FORMAT, "num_class");
}

/* NaN and infinite numbers are not JSON, but xgboost writes them; texts keep theirs. */
static void test_odd_numbers(void **state) {
  (void)state;
  fw_buffer json = {0};
  const char *text = "{\"a NaN\\\"\":[NaN,-Infinity,Infinity,-1,\"Infinity\"]}";
  fw_json_replace_nan(&json, text, strlen(text));
  fw_buffer_byte(&json, 0);
  assert_string_equal(json.bytes, "{\"a NaN\\\"\":[null,-1e999,1e999,-1,\"Infinity\"]}");
  fw_buffer_clear(&json);
}

/* ---- Depth, export ---- */

/* A chain of splits: each sends what is not below its threshold on. */
static furrow_status make_chain(fw_node_forest **forest, size_t splits) {
  static int64_t left[4000], right[4000];
  static fw_split_node node[4000];
  assert_int_equal(fw_node_forest_create(forest, 1, NULL), FURROW_OK);
  (*forest)->features = 1;
  for (size_t i = 0; i < splits; i++) {
    left[2 * i] = (int64_t)(2 * i + 1), right[2 * i] = (int64_t)(2 * i + 2);
    node[2 * i] = (fw_split_node){.value = (double)i, .feature = 0};
    left[2 * i + 1] = right[2 * i + 1] = -1;
    node[2 * i + 1] = (fw_split_node){.value = (double)i, .feature = -1};
  }
  left[2 * splits] = right[2 * splits] = -1;
  node[2 * splits] = (fw_split_node){.value = -1, .feature = -1};
  const fw_loose_tree tree = {2 * splits + 1, left, right, node};
  assert_int_equal(fw_node_forest_add(*forest, &tree, 0, NULL), FURROW_OK);
  return fw_node_forest_check(*forest, NULL);
}

static void test_deep(void **state) {
  (void)state;
  fw_node_forest *forest = NULL;
  fw_node_predictor *predictor = NULL;
  fw_node_scratch *scratch = NULL;
  const uint32_t index = 0;
  double out = 0;
  assert_int_equal(make_chain(&forest, FW_NODE_DEPTH_MOST + 1), FURROW_E_FORMAT);
  fw_node_forest_free(forest);
  assert_int_equal(make_chain(&forest, FW_NODE_DEPTH_MOST), FURROW_OK);
  assert_int_equal(fw_node_tree_depth(forest, 0), FW_NODE_DEPTH_MOST);
  assert_int_equal(fw_node_predictor_create(&predictor, forest, NULL), FURROW_OK);
  assert_int_equal(fw_node_scratch_create(&scratch, predictor, NULL), FURROW_OK);
  for (float x = -1; x < FW_NODE_DEPTH_MOST + 2; x += 0.5F) {
    const furrow_row row = {.length = 1, .index.u32 = &index, .value.f32 = &x, .key_type = FURROW_KEY_U32};
    fw_node_predict_row(predictor, scratch, &row, &out);
    assert_true(out == (x > FW_NODE_DEPTH_MOST - 1 ? -1 : fmax(0, ceil((double)x))));
  }
  fw_node_scratch_free(scratch);
  fw_node_predictor_free(predictor);
  fw_node_forest_free(forest);
}

/* What is exported is imported as the same forest. */
static void test_export(void **state) {
  (void)state;
  fw_node_forest *forest = import(MODEL("\"2.5E-1\"", "reg:gamma", TREE));
  const fw_export_model model = {.forest = forest, .objective = "reg:squarederror"};
  fw_buffer text = {0}, first = {0}, second = {0};
  assert_int_equal(fw_xgboost_write(&model, &text, NULL), FURROW_OK);
  fw_buffer_byte(&text, 0);
  fw_node_forest *again = import(text.bytes);
  again->stats = forest->stats; /* zeros are written for what is not known */
  fw_node_forest_write(forest, &first);
  fw_node_forest_write(again, &second);
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.bytes, second.bytes, first.size);
  fw_buffer_clear(&text);
  fw_buffer_clear(&first);
  fw_buffer_clear(&second);
  fw_node_forest_free(again);
  fw_node_forest_free(forest);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),     cmocka_unit_test(test_refused_files),
                                     cmocka_unit_test(test_base_scores), cmocka_unit_test(test_refused_models),
                                     cmocka_unit_test(test_odd_numbers), cmocka_unit_test(test_deep),
                                     cmocka_unit_test(test_export)};
  return cmocka_run_group_tests_name("forest_nodes", tests, NULL, NULL);
}
