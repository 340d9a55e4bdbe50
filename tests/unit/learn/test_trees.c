/* tests/unit/learn/test_trees.c: what a scorer says of its trees: shape, nodes, importance, descriptions. */
#include "learn/forest/forest.h"
#include "support/failing_alloc.h"
#include "support/learn_conf.h"
#include "support/made_forest.h"
#include "support/own_dir.h"

/* A scorer of a forest that was saved: all functions are asked by their public names. */
static furrow_scorer *open_forest(const fw_forest *f, bool node_stats) {
  furrow_learn_conf *conf = conf_new();
  fw_plan *plan = NULL;
  furrow_scorer *scorer = NULL;
  furrow_trainer_save_params params;
  char classes[24];
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "gbdt", &err), FURROW_OK);
  snprintf(classes, sizeof classes, "%zu", f->classes);
  if (f->classes > 1) conf_set(conf, "objective", "multi:softmax");
  if (f->classes > 1) conf_set(conf, "classes", classes);
  conf_set(conf, "node-stats", node_stats ? "yes" : "no");
  assert_int_equal(fw_plan_of_conf(&plan, conf, &err), FURROW_OK);
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  assert_int_equal(fw_forest_save(f, plan, conf, NULL, "model", &params, &err), FURROW_OK);
  if (furrow_scorer_load(&scorer, "model", NULL, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
  return scorer;
}

static const made_params three = {
    .classes = 3, .rounds = 5, .levels = 5, .features = 6, .split = 0.8, .stats = true, .missing_flipped = true};

static void nodes_are_those_of_the_forest(void **state) {
  (void)state;
  for (int stats = 0; stats < 2; stats++) {
    fw_forest *f = made_forest(&three, 1);
    furrow_scorer *scorer = open_forest(f, stats);
    furrow_forest_info info;
    furrow_forest_info_init(&info);
    furrow_scorer_get_forest_info(scorer, &info);
    assert_int_equal(info.trees, 15);
    assert_int_equal(info.classes, 3);
    assert_int_equal(info.levels, 5);
    assert_int_equal(info.sums, stats);
    uint64_t leaves = 0;
    for (size_t at = 0; at < f->trees * f->nodes; at++) {
      furrow_tree_node node;
      furrow_tree_node_init(&node);
      assert_int_equal(furrow_scorer_get_tree_node(scorer, at / f->nodes, at % f->nodes, &node, &err), FURROW_OK);
      assert_int_equal(node.exists, fw_forest_has_node(f, at / f->nodes, at % f->nodes));
      assert_int_equal(node.feature, f->feature[at]);
      if (!node.exists) continue;
      leaves += node.is_leaf;
      assert_int_equal(node.is_leaf, f->feature[at] < 0);
      assert_true(node.value == f->value[at] && node.predict == f->predict[at]);
      if (!node.is_leaf) assert_int_equal(node.absent_left, fw_forest_absent_left(f, at));
      assert_true(stats ? node.gain == f->gain[at] && node.cover == f->hessian[at]
                        : isnan(node.gain) && isnan(node.cover));
    }
    assert_int_equal(info.leaves, leaves);
    furrow_tree_node node;
    furrow_tree_node_init(&node);
    assert_int_equal(furrow_scorer_get_tree_node(scorer, 15, 0, &node, &err), FURROW_E_RANGE);
    assert_int_equal(furrow_scorer_get_tree_node(scorer, 0, 31, &node, &err), FURROW_E_RANGE);
    furrow_scorer_free(scorer);
    fw_forest_free(f);
  }
}

static void importance_adds_up(void **state) {
  (void)state;
  for (int stats = 0; stats < 2; stats++) {
    fw_forest *f = made_forest(&three, 2);
    furrow_scorer *scorer = open_forest(f, stats);
    furrow_feature_importance *list = NULL, wanted[6] = {{0}};
    size_t count = 0;
    assert_int_equal(furrow_scorer_feature_importance(scorer, &list, &count, &err), FURROW_OK);
    assert_int_equal(count, 6);
    for (size_t at = 0; at < f->trees * f->nodes; at++) {
      if (f->feature[at] < 0) continue;
      wanted[f->feature[at]].count++;
      wanted[f->feature[at]].gain += f->gain[at];
      wanted[f->feature[at]].cover += f->hessian[at];
    }
    for (size_t i = 0; i < count; i++) {
      const furrow_feature_importance *w = &wanted[list[i].feature];
      assert_true(list[i].feature >= 0 && list[i].feature < 6);
      assert_int_equal(list[i].count, w->count);
      if (stats) assert_true(list[i].gain == w->gain && list[i].cover == w->cover);
      if (!stats) assert_true(isnan(list[i].gain) && isnan(list[i].cover));
      if (i == 0) continue;
      if (stats) assert_true(list[i - 1].gain >= list[i].gain);
      if (!stats)
        assert_true(list[i - 1].count > list[i].count ||
                    (list[i - 1].count == list[i].count && list[i - 1].feature < list[i].feature));
    }
    furrow_free(list);
    furrow_scorer_free(scorer);
    fw_forest_free(f);
  }
}

/* A net has no trees to tell of. */
static void other_models_have_no_trees(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  furrow_trainer *trainer = NULL;
  furrow_scorer *scorer = NULL;
  furrow_feature_importance *list = NULL;
  furrow_forest_info info;
  furrow_forest_info_init(&info);
  furrow_tree_node node;
  furrow_tree_node_init(&node);
  char *text = NULL;
  size_t size = 0;
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "lr", &err), FURROW_OK);
  assert_int_equal(furrow_trainer_create(&trainer, conf, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  furrow_scorer_get_forest_info(scorer, &info);
  assert_int_equal(info.trees, 0);
  assert_int_equal(furrow_scorer_get_tree_node(scorer, 0, 0, &node, &err), FURROW_E_STATE);
  assert_int_equal(furrow_scorer_feature_importance(scorer, &list, &size, &err), FURROW_E_STATE);
  assert_int_equal(furrow_scorer_describe_trees(scorer, FURROW_DESCRIBE_TEXT, 0, 1, &text, &size, &err),
                   FURROW_E_STATE);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
}

/* ---- Descriptions ---- */

static fw_forest *small_forest(void) {
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 1, 3, true, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 2, &err), FURROW_OK);
  f->feature[0] = 4, f->value[0] = 0.1, f->gain[0] = 7.25, f->hessian[0] = 10;
  f->feature[2] = 1234567890, f->value[2] = -1e-7, f->gain[2] = 1, f->hessian[2] = 6;
  f->predict[1] = -0.5, f->hessian[1] = 4;
  f->predict[5] = 1e-9, f->hessian[5] = 3.5;
  f->predict[6] = 0.25, f->hessian[6] = 2.5;
  f->predict[7] = 3, f->hessian[7] = 10;
  return f;
}

static char *describe(const furrow_scorer *scorer, furrow_describe_format kind, size_t first, size_t end) {
  char *text = NULL;
  size_t size = 0;
  assert_int_equal(furrow_scorer_describe_trees(scorer, kind, first, end, &text, &size, &err), FURROW_OK);
  assert_int_equal(strlen(text), size);
  return text;
}

static void text_is_read_from_the_root(void **state) {
  (void)state;
  fw_forest *f = small_forest();
  furrow_scorer *scorer = open_forest(f, true);
  char *text = describe(scorer, FURROW_DESCRIBE_TEXT, 0, 2);
  assert_string_equal(text, "tree 0: 3 leaves, depth 2\n"
                            "  feature 4 <= 0.1 (absent: yes, gain 7.25, cover 10)\n"
                            "    yes: leaf -0.5 (cover 4)\n"
                            "    no: feature 1234567890 <= -1e-07 (absent: no, gain 1, cover 6)\n"
                            "      yes: leaf 1e-09 (cover 3.5)\n"
                            "      no: leaf 0.25 (cover 2.5)\n"
                            "\n"
                            "tree 1: 1 leaf, depth 0\n"
                            "  leaf 3 (cover 10)\n");
  furrow_free(text);
  text = describe(scorer, FURROW_DESCRIBE_DOT, 0, 1);
  assert_non_null(strstr(text, "t0n2 [label=\"feature 1234567890 <= -1e-07\\ngain 1, cover 6\"];"));
  assert_non_null(strstr(text, "t0n2 -> t0n6 [label=\"no, absent\"];"));
  assert_null(strstr(text, "t1n"));
  furrow_free(text);
  furrow_scorer_free(scorer);
  fw_forest_free(f);
}

static size_t occurrences(const char *text, const char *word) {
  size_t count = 0;
  for (; (text = strstr(text, word)) != NULL; text++) count++;
  return count;
}

static void a_picture_has_every_node(void **state) {
  (void)state;
  fw_forest *f = small_forest();
  furrow_scorer *scorer = open_forest(f, true);
  char *text = describe(scorer, FURROW_DESCRIBE_SVG, 0, 1), *no = NULL;
  size_t size = 0;
  assert_int_equal(occurrences(text, "<rect class=\"split\""), 2);
  assert_int_equal(occurrences(text, "<rect class=\"low\""), 1);
  assert_int_equal(occurrences(text, "<rect class=\"high\""), 2);
  assert_int_equal(occurrences(text, "<path class=\"edge"), 4);
  assert_int_equal(occurrences(text, ", absent</text>"), 2);
  assert_int_equal(occurrences(text, "textLength"), 1); /* of the long number */
  assert_non_null(strstr(text, "prefers-color-scheme:dark"));
  furrow_free(text);
  assert_int_equal(furrow_scorer_describe_trees(scorer, FURROW_DESCRIBE_SVG, 0, 2, &no, &size, &err),
                   FURROW_E_ARGUMENT);
  assert_int_equal(furrow_scorer_describe_trees(scorer, FURROW_DESCRIBE_ANGEL, 0, 1, &no, &size, &err),
                   FURROW_E_ARGUMENT);
  assert_int_equal(furrow_scorer_describe_trees(scorer, FURROW_DESCRIBE_TEXT, 1, 3, &no, &size, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_scorer_describe_trees(scorer, FURROW_DESCRIBE_TEXT, 1, 1, &no, &size, &err), FURROW_E_RANGE);
  assert_null(no);
  furrow_scorer_free(scorer);
  fw_forest_free(f);
  const made_params bushy = {.classes = 1, .rounds = 1, .levels = 13, .features = 6, .split = 1};
  f = made_forest(&bushy, 1);
  scorer = open_forest(f, false);
  assert_int_equal(furrow_scorer_describe_trees(scorer, FURROW_DESCRIBE_SVG, 0, 1, &no, &size, &err), FURROW_E_RANGE);
  furrow_scorer_free(scorer);
  fw_forest_free(f);
}

static void memory_that_runs_out_is_told(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  fw_forest *f = made_forest(&three, 2);
  furrow_scorer *scorer = open_forest(f, true);
  const long live = alloc_live;
  for (long n = 1;; n++) {
    furrow_feature_importance *list = NULL;
    char *text = NULL;
    size_t size = 0;
    alloc_fail_at(n);
    furrow_status status = furrow_scorer_feature_importance(scorer, &list, &size, &err);
    for (furrow_describe_format kind = FURROW_DESCRIBE_TEXT; status == FURROW_OK && kind < FURROW_DESCRIBE_ANGEL;
         kind++) {
      status = furrow_scorer_describe_trees(scorer, kind, 3, 4, &text, &size, &err);
      furrow_free(text);
      text = NULL;
    }
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || (failed && status == FURROW_E_MEMORY));
    furrow_free(list);
    assert_int_equal(alloc_live, live);
    if (!failed) break;
  }
  furrow_scorer_free(scorer);
  fw_forest_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_are_those_of_the_forest), cmocka_unit_test(importance_adds_up),
      cmocka_unit_test(other_models_have_no_trees),    cmocka_unit_test(text_is_read_from_the_root),
      cmocka_unit_test(a_picture_has_every_node),      cmocka_unit_test(memory_that_runs_out_is_told)};
  return cmocka_run_group_tests_name("trees", tests, enter_dir, leave_dir);
}
