/* tests/unit/learn/test_forest_files.c: forests as model directories: every format, Angel's own trees, what is refused.
 */
#include <sys/stat.h>

#include "learn/forest/forest.h"
#include "support/failing_alloc.h"
#include "support/golden_case.h"
#include "support/learn_conf.h"
#include "support/made_forest.h"
#include "support/own_dir.h"

static furrow_learn_conf *conf;

static int begin(void **state) {
  if (furrow_learn_conf_create(&conf, &err) != FURROW_OK) return -1;
  if (furrow_learn_conf_set_algorithm(conf, "lr", &err) != FURROW_OK) return -1;
  return enter_dir(state);
}

static int end(void **state) {
  furrow_learn_conf_free(conf);
  return leave_dir(state);
}

static fw_plan plan_for(size_t classes, int64_t range, bool node_stats) {
  return (fw_plan){.data.range = range, .graph.outputs = classes, .forest = {.used = true, .node_stats = node_stats}};
}

static void save(const fw_forest *f, const fw_plan *plan, const char *folder,
                 const furrow_trainer_save_params *params) {
  furrow_trainer_save_params used;
  furrow_trainer_save_params_init(&used);
  if (params) used = *params;
  used.overwrite = true;
  if (fw_forest_save(f, plan, conf, NULL, folder, &used, &err) != FURROW_OK) fail_msg("%s", err.message);
}

static fw_forest *load(const fw_plan *plan, const char *folder) {
  fw_forest *f = NULL;
  if (fw_forest_load(&f, plan, folder, 2, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  return f;
}

static furrow_matrix_meta *meta_of(const char *model, const char *matrix) {
  char path[TEST_PATH];
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_load(&meta, test_path(path, model, matrix), NULL, &err), FURROW_OK);
  return meta;
}

/* ---- There and back ---- */

static const made_params three = {
    .classes = 3, .rounds = 4, .levels = 4, .features = 9, .split = 0.8, .stats = true, .missing_flipped = true};

static void every_format_brings_it_back(void **state) {
  (void)state;
  static const char *const formats[] = {
      "ValueBinaryRowFormat", "ColIdValueBinaryRowFormat", "RowIdColIdValueBinaryRowFormat",
      "ValueTextRowFormat",   "ColIdValueTextRowFormat",   "RowIdColIdValueTextRowFormat",
      "BinaryColumnFormat",   "TextColumnFormat"};
  const struct {
    int32_t servers;
    int64_t part_size;
  } layouts[] = {{1, 0}, {2, 0}, {5, 0}, {40, 0}, {2, 24}};
  const fw_plan plan = plan_for(3, 9, true);
  fw_forest *f = made_forest(&three, 1);
  for (size_t i = 0; i < 8 * sizeof layouts / sizeof *layouts; i++) {
    furrow_trainer_save_params params;
    furrow_layer_formats *output = NULL;
    furrow_trainer_save_params_init(&params);
    assert_int_equal(furrow_layer_formats_create(&output, &err), FURROW_OK);
    assert_int_equal(furrow_layer_formats_set(output, "OUT_FORMAT_CLASS", formats[i % 8], &err), FURROW_OK);
    params.formats = output;
    params.servers = layouts[i / 8].servers;
    params.part_size = layouts[i / 8].part_size;
    save(f, &plan, "model", &params);
    fw_forest *back = load(&plan, "model");
    assert_same_forest(f, back);
    fw_forest_free(back);
    furrow_layer_formats_free(output);
  }
  fw_forest_free(f);
}

static void shapes_of_all_kinds_come_back(void **state) {
  (void)state;
  const made_params kinds[] = {{.classes = 1, .rounds = 1, .levels = 1, .features = 1},
                               {.classes = 1, .rounds = 7, .levels = 1, .features = 1, .stats = true},
                               {.classes = 1, .rounds = 3, .levels = 12, .features = 100, .split = 0.9},
                               {.classes = 5, .rounds = 40, .levels = 5, .features = 1u << 31, .split = 1}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const fw_plan plan = plan_for(kinds[i].classes, -1, true);
    fw_forest *f = made_forest(&kinds[i], i);
    save(f, &plan, "model", NULL);
    fw_forest *back = load(&plan, "model");
    assert_same_forest(f, back);
    fw_forest_free(f);
    fw_forest_free(back);
  }
}

static bool has_matrix(const char *model, const char *name) {
  char path[TEST_PATH];
  struct stat info;
  return stat(test_path(path, model, name), &info) == 0;
}

/* What Angel does not save is saved only where it is needed or asked for. */
static void matrices_are_those_that_are_needed(void **state) {
  (void)state;
  made_params kind = three;
  for (int i = 0; i < 4; i++) {
    kind.missing_flipped = i & 1;
    const fw_plan plan = plan_for(3, 9, i & 2);
    fw_forest *f = made_forest(&kind, 3);
    save(f, &plan, "model", NULL);
    assert_true(has_matrix("model", "gbdt.split.feature") && has_matrix("model", "gbdt.split.value"));
    assert_true(has_matrix("model", "gbdt.node.predict") && has_matrix("model", "graph.json"));
    assert_int_equal(has_matrix("model", "gbdt.split.missing"), kind.missing_flipped);
    assert_int_equal(has_matrix("model", "gbdt.split.gain"), (i & 2) != 0);
    assert_int_equal(has_matrix("model", "gbdt.node.grad.stats"), (i & 2) != 0);
    fw_forest *back = load(&plan, "model");
    assert_int_equal(back->gain != NULL, (i & 2) != 0);
    fw_forest_free(back);
    fw_forest_free(f);
  }
}

static void a_forest_without_trees_is_not_saved(void **state) {
  (void)state;
  fw_forest *f = NULL;
  const fw_plan plan = plan_for(1, 9, false);
  assert_int_equal(fw_forest_create(&f, 1, 3, false, &err), FURROW_OK);
  assert_int_equal(fw_forest_save(f, &plan, conf, NULL, "empty", NULL, &err), FURROW_E_STATE);
  assert_false(has_matrix(".", "empty"));
  fw_forest_free(f);
}

/* ---- As Angel writes ---- */

/* Five trees of depth 3 on two servers, as in the golden cases: three partitions, of which 0 and 2 share a file. */
static void metadata_is_angels(void **state) {
  (void)state;
  const made_params kind = {.classes = 1, .rounds = 5, .levels = 3, .features = 43, .split = 1};
  const fw_plan plan = plan_for(1, 43, false);
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.servers = 2;
  fw_forest *f = made_forest(&kind, 4);
  save(f, &plan, "model", &params);
  const struct {
    const char *name, *oplog;
    int32_t id, row_type;
  } wanted[] = {{"gbdt.split.feature", "T_INT_DENSE", 4, 21},
                {"gbdt.split.value", "T_DOUBLE_DENSE", 5, 0},
                {"gbdt.node.predict", "T_DOUBLE_DENSE", 8, 0}};
  for (size_t i = 0; i < 3; i++) {
    furrow_matrix_meta *meta = meta_of("model", wanted[i].name);
    assert_int_equal(meta->matrix_id, wanted[i].id);
    assert_string_equal(meta->matrix_name, wanted[i].name);
    assert_string_equal(meta->format_class_name, "com.tencent.angel.model.output.format.RowIdColIdValueTextRowFormat");
    assert_int_equal(meta->row_type, wanted[i].row_type);
    assert_int_equal(meta->row, 5);
    assert_int_equal(meta->col, 7);
    assert_int_equal(meta->block_row, 5);
    assert_int_equal(meta->block_col, 3);
    assert_string_equal(furrow_matrix_meta_option(meta, "matrix.oplog.type"), wanted[i].oplog);
    assert_int_equal(meta->part_count, 3);
    assert_string_equal(meta->parts[0].file_name, "0");
    assert_string_equal(meta->parts[1].file_name, "1");
    assert_string_equal(meta->parts[2].file_name, "0");
    furrow_matrix_meta_free(meta);
  }
  fw_forest_free(f);
}

/* Six decimals, as its DecimalFormat rounds, and with them the predictions that Angel's reader gives. */
static void angel_bytes_round(void **state) {
  (void)state;
  const fw_plan plan = plan_for(1, 43, false);
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  furrow_matrix_write_params write;
  furrow_matrix_write_params_init(&write);
  write.angel_bytes = true;
  params.write = &write;
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 1, 2, false, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 1, &err), FURROW_OK);
  f->feature[0] = 42;
  f->value[0] = 0.12345678;
  f->predict[1] = -1.0000004;
  f->predict[2] = 123456.7890123;
  save(f, &plan, "model", &params);
  size_t size = 0;
  char *text = golden_read("model/gbdt.node.predict", "0", &size);
  assert_string_equal(text, "0,0,0\n0,1,-1\n0,2,123456.789012\n");
  free(text);
  fw_forest *back = load(&plan, "model");
  assert_true(back->value[0] == 0.123457 && back->predict[1] == -1 && back->predict[2] == 123456.789012);
  fw_forest_free(back);
  fw_forest_free(f);
}

/* What its trainer leaves in nodes that it never tried to split: feature 0, value 0, also at the last level. */
static void angels_own_trees_are_read(void **state) {
  (void)state;
  const fw_plan plan = plan_for(1, 43, false);
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 1, 3, false, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 2, &err), FURROW_OK);
  const int32_t features[14] = {5, -1, 0, 0, 0, 0, 0, /* the second tree was never grown */ 0, 0, 0, 0, 0, 0, 0};
  memcpy(f->feature, features, sizeof features);
  f->value[0] = 1.5;
  f->value[2] = -2;
  f->predict[1] = 3, f->predict[5] = 4, f->predict[6] = 5;
  save(f, &plan, "model", NULL);
  fw_forest *back = load(&plan, "model");
  const int32_t wanted[14] = {5, -1, 0, -1, -1, -1, -1, 0, 0, 0, -1, -1, -1, -1};
  assert_memory_equal(back->feature, wanted, sizeof wanted);
  assert_true(back->predict[1] == 3 && back->predict[5] == 4 && back->predict[6] == 5);
  fw_forest_free(back);
  fw_forest_free(f);
}

/* The two matrices that Angel wrote, and one for the leaves beside them. */
static void golden_matrices_are_read(void **state) {
  (void)state;
  char feature[TEST_PATH], value[TEST_PATH];
  const made_params kind = {.classes = 1, .rounds = 5, .levels = 3, .features = 43, .split = 1};
  const fw_plan plan = plan_for(1, 43, false);
  fw_forest *f = made_forest(&kind, 4);
  save(f, &plan, "golden", NULL);
  assert_true(test_remove_dir("golden/gbdt.split.feature") && test_remove_dir("golden/gbdt.split.value"));
  golden_copy(golden_path(feature, "angel/gbdt-split_feature"), "golden/gbdt.split.feature");
  golden_copy(golden_path(value, "angel/gbdt-split_value"), "golden/gbdt.split.value");
  fw_forest *back = load(&plan, "golden");
  for (size_t tree = 0; tree < 5; tree++)
    for (size_t node = 0; node < 7; node++)
      assert_int_equal(back->feature[7 * tree + node], node < 3 ? 10 * (int)tree + (int)node : -1);
  assert_true(back->value[1] == 0.000002 && back->value[2] == 15329650878.90625 && back->value[4 * 7] == 20.265045);
  assert_true(back->value[3] == 0); /* of a leaf */
  assert_memory_equal(back->predict, f->predict, 35 * sizeof *f->predict);
  fw_forest_free(f);
  fw_forest_free(back);
}

/* ---- What is refused ---- */

static void assert_refused(const fw_plan *plan, const char *folder, furrow_status status, const char *message) {
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_load(&f, plan, folder, 1, &err), status);
  assert_null(f);
  assert_string_equal(err.message, message);
  assert_non_null(strstr(err.file, folder));
}

static void a_matrix_that_is_missing_is_named(void **state) {
  (void)state;
  static const char *const names[] = {"gbdt.split.feature", "gbdt.split.value", "gbdt.node.predict", "gbdt.split.gain",
                                      "gbdt.node.grad.stats"};
  const fw_plan plan = plan_for(3, 9, true);
  fw_forest *f = made_forest(&three, 1);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[TEST_PATH];
    save(f, &plan, "model", NULL);
    assert_true(test_remove_dir(test_path(path, "model", names[i])));
    assert_refused(&plan, "model", FURROW_E_NOT_FOUND, "the matrix is missing, but a forest needs it");
    assert_non_null(strstr(err.file, names[i]));
  }
  fw_forest *none = NULL;
  assert_int_equal(fw_forest_load(&none, &plan, "nowhere", 1, &err), FURROW_E_NOT_FOUND);
  fw_forest_free(f);
}

/* A plan that is not the model's: fewer features, other classes. */
static void a_plan_that_does_not_fit_is_refused(void **state) {
  (void)state;
  const fw_plan plan = plan_for(3, 9, false), fewer = plan_for(3, 3, false), classes = plan_for(5, 9, false);
  fw_forest *f = made_forest(&three, 1);
  memset(f->feature, -1, f->trees * f->nodes * sizeof *f->feature);
  f->feature[2 * 15] = f->feature[2 * 15 + 2] = 2;
  f->feature[2 * 15 + 5] = 3;
  save(f, &plan, "model", NULL);
  assert_refused(&fewer, "model", FURROW_E_FORMAT, "tree 2, node 5: feature 3, but the model has 3");
  assert_refused(&classes, "model", FURROW_E_FORMAT,
                 "gbdt.split.feature has 12 rows, but there is a tree for each of 5 classes in a round");
  fw_forest_free(f);
}

/* Replaces one matrix of the model by that of another forest. */
static void mix(const made_params *other, const char *matrix) {
  char from[TEST_PATH], to[TEST_PATH];
  const fw_plan plan = plan_for(3, 9, true), others = plan_for(other->classes, 9, true);
  fw_forest *f = made_forest(&three, 1), *g = made_forest(other, 2);
  save(f, &plan, "model", NULL);
  save(g, &others, "other", NULL);
  assert_true(test_remove_dir(test_path(to, "model", matrix)));
  assert_int_equal(rename(test_path(from, "other", matrix), to), 0);
  fw_forest_free(f);
  fw_forest_free(g);
}

static void matrices_that_do_not_fit_are_refused(void **state) {
  (void)state;
  made_params shorter = three, lower = three;
  shorter.rounds = 3;
  lower.levels = 3;
  const fw_plan plan = plan_for(3, 9, true);
  mix(&shorter, "gbdt.split.value");
  assert_refused(&plan, "model", FURROW_E_FORMAT,
                 "gbdt.split.value has 9 rows of 15 columns, but 12 trees of 15 nodes want 12 of 15");
  mix(&lower, "gbdt.node.predict");
  assert_refused(&plan, "model", FURROW_E_FORMAT,
                 "gbdt.node.predict has 12 rows of 7 columns, but 12 trees of 15 nodes want 12 of 15");
  mix(&lower, "gbdt.node.grad.stats");
  assert_refused(&plan, "model", FURROW_E_FORMAT,
                 "gbdt.node.grad.stats has 12 rows of 14 columns, but 12 trees of 15 nodes want 12 of 30");
}

/* ---- Memory ---- */

static void memory_that_runs_out_is_told(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  const fw_plan plan = plan_for(3, 9, true);
  fw_forest *f = made_forest(&three, 1);
  save(f, &plan, "model", NULL);
  long last = 0;
  for (long n = 1; last == 0; n++) {
    fw_forest *back = NULL;
    const long live = alloc_live;
    alloc_fail_at(n);
    const furrow_status status = fw_forest_load(&back, &plan, "model", 1, &err);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || failed);
    if (back) assert_int_equal(back->trees, f->trees);
    fw_forest_free(back);
    assert_int_equal(alloc_live, live);
    if (!failed) last = n;
  }
  for (long n = 1; n > 0;) {
    furrow_trainer_save_params params;
    furrow_trainer_save_params_init(&params);
    furrow_matrix_write_params write;
    furrow_matrix_write_params_init(&write);
    write.threads = 1;
    params.write = &write;
    params.overwrite = true;
    const long live = alloc_live;
    alloc_fail_at(n);
    const furrow_status status = fw_forest_save(f, &plan, conf, NULL, "model", &params, &err);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || failed);
    assert_int_equal(alloc_live, live);
    fw_forest *back = load(&plan, "model"); /* the old one, or the new one */
    assert_same_forest(f, back);
    fw_forest_free(back);
    n = failed ? n + 1 + n / 16 : 0;
  }
  fw_forest_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_format_brings_it_back),
                                     cmocka_unit_test(shapes_of_all_kinds_come_back),
                                     cmocka_unit_test(matrices_are_those_that_are_needed),
                                     cmocka_unit_test(a_forest_without_trees_is_not_saved),
                                     cmocka_unit_test(metadata_is_angels),
                                     cmocka_unit_test(angel_bytes_round),
                                     cmocka_unit_test(angels_own_trees_are_read),
                                     cmocka_unit_test(golden_matrices_are_read),
                                     cmocka_unit_test(a_matrix_that_is_missing_is_named),
                                     cmocka_unit_test(a_plan_that_does_not_fit_is_refused),
                                     cmocka_unit_test(matrices_that_do_not_fit_are_refused),
                                     cmocka_unit_test(memory_that_runs_out_is_told)};
  return cmocka_run_group_tests_name("forest_files", tests, begin, end);
}
