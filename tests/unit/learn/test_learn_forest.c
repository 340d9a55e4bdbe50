/* tests/unit/learn/test_learn_forest.c: gbdt from its keys to its scores, by the functions that every model has. */
#include <unistd.h>

#include "learn/conf/conf_data.h"
#include "support/made_clicks.h"

enum { ROWS = 3000 };

/* Two real features whose product decides, one that says nothing, and a flag that is there or not. */
static void write_table(const char *path, size_t rows, uint64_t seed, const char *kind) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const double a = fw_rng_normal(&rng), b = fw_rng_normal(&rng), c = fw_rng_normal(&rng);
    const bool flag = fw_rng_below(&rng, 4) == 0;
    const double z = 2 * a * b + (flag ? 1.5 : -0.5);
    double label = fw_rng_double(&rng) < 1 / (1 + exp(-2 * z));
    if (strcmp(kind, "number") == 0) label = 20 + z + 0.1 * fw_rng_normal(&rng);
    if (strcmp(kind, "classes") == 0) label = z < -1 ? 0 : z < 1 ? 1 : 2;
    fprintf(file, "%.9g 1:%.9g 2:%.9g 3:%.9g%s\n", label, a, b, c, flag ? " 4:1" : "");
  }
  assert_int_equal(fclose(file), 0);
}

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  write_table("two.libsvm", ROWS, 1, "two");
  write_table("two.test", ROWS, 2, "two");
  write_table("number.libsvm", ROWS, 1, "number");
  write_table("number.test", ROWS, 2, "number");
  write_table("classes.libsvm", ROWS, 1, "classes");
  write_table("classes.test", ROWS, 2, "classes");
  return 0;
}

static const char usual[] = "trees=20 depth=4 splits=64 lr=0.3 valid-ratio=0";

/* ---- Keys ---- */

static void keys_of_angel_and_short_names_come_to_the_same(void **state) {
  (void)state;
  furrow_learn_conf *angel = conf_builtin(
      "com.tencent.angel.ml.GBDT.GBDTRunner",
      "ml.gbdt.tree.num=7 ml.gbdt.tree.depth=4 ml.gbdt.split.num=20 ml.gbdt.sample.ratio=0.5 ml.gbdt.reg.alpha=0.25 "
      "ml.gbdt.reg.lambda=2 ml.gbdt.min.child.weight=3 ml.gbdt.loss.func=multi:softmax ml.gbdt.class.num=3 "
      "ml.gbdt.cate.feat=7:3,2:5 ml.learn.rate=0.1 ml.gbdt.row.sample.ratio=0.75 ml.gbdt.min.split.gain=0.125");
  furrow_learn_conf *own =
      conf_builtin("gbdt", "trees=7 depth=3 splits=20 feature-ratio=0.5 reg-alpha=0.25 reg-lambda=2 min-child-weight=3 "
                           "objective=multi:softmax classes=3 categories=7:3,2:5 lr=0.1 row-ratio=0.75 min-gain=0.125");
  char *said = conf_describe(angel, FURROW_DESCRIBE_ANGEL), *also = conf_describe(own, FURROW_DESCRIBE_ANGEL);
  assert_string_equal(said, also);
  fw_plan *plan = conf_plan(own);
  const fw_forest_conf *f = &plan->forest;
  assert_true(f->used && f->rounds == 7 && f->levels == 4 && f->splits == 20 && f->lambda == 2 && f->alpha == 0.25);
  assert_true(f->feature_ratio == 0.5 && f->row_ratio == 0.75 && f->min_child_weight == 3 && f->min_gain == 0.125);
  assert_true(plan->graph.loss == FW_LOSS_SOFTMAX && plan->graph.outputs == 3 && plan->graph.count == 0);
  assert_true(f->category_count == 2 && f->categories[0] == 2 && f->categories[1] == 7 && !f->all_categories);
  fw_plan_free(plan);
  furrow_free(said);
  furrow_free(also);
  furrow_learn_conf_free(angel);
  furrow_learn_conf_free(own);
}

static void graph_json_says_it_all_again(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("gbdt", "trees=3 levels=6 objective=reg:squarederror categories=all lr=0.2 "
                                                 "node-stats=no min-child-weight=0.5 seed=9 range=12 "
                                                 "leaves=9 min-rows=0 from-average=yes");
  furrow_learn_conf *read = conf_new();
  char *text = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
  conf_read(read, text);
  assert_string_equal(furrow_learn_conf_get(read, "algorithm"), "gbdt");
  char *again = conf_describe(read, FURROW_DESCRIBE_ANGEL);
  assert_string_equal(text, again);
  furrow_free(text);
  furrow_free(again);
  furrow_learn_conf_free(conf);
  furrow_learn_conf_free(read);
}

/* Each is a value that its key takes, and all objectives make a plan of theirs. */
static void recommended_values_are_taken(void **state) {
  (void)state;
#define FURROW_X(id, text, loss) text,
  static const char *const objectives[] = {FW_OBJECTIVES(FURROW_X)};
#undef FURROW_X
  static const double lambda[] = {2, 2, 1, 2};
  for (int64_t i = 0; i < 4; i++) {
    furrow_learn_conf *conf = conf_builtin("gbdt", "classes=2");
    conf_set(conf, "objective", objectives[i]);
    size_t set = 0;
    for (unsigned key = 0; key < FW_KEYS; key++) {
      const char *value = fw_recommended("gbdt", i, (fw_key)key);
      if (!value || (key != FW_KEY_LR && key < FW_KEY_TREES)) continue;
      conf_set(conf, fw_key_facts((fw_key)key)->name, value);
      set++;
    }
    fw_plan *plan = conf_plan(conf);
    const fw_forest_conf *f = &plan->forest;
    assert_int_equal(set, 11);
    assert_true(f->rounds == (i < 2 ? 500 : 200) && f->levels == (i == 1 ? 9 : 7) && f->leaves >= 12);
    assert_true(f->lambda == lambda[i] && f->min_rows == (i == 1 ? 5 : 2) && f->from_average);
    assert_true(plan->train.lr == (i == 2 ? 0.2 : 0.1));
    fw_plan_free(plan);
    furrow_learn_conf_free(conf);
  }
}

static void what_is_not_for_trees_is_refused(void **state) {
  (void)state;
  conf_expect_misfit("gbdt", "epochs=5", "epochs is not for gbdt: its rounds are trees");
  conf_expect_misfit("gbdt", "optimizer=adam", "optimizer is not for gbdt");
  conf_expect_misfit("gbdt", "rank=4", "rank is not for gbdt");
  conf_expect_misfit("gbdt", "classes=7", "classes is for the objective multi:softmax, not for binary:logistic");
  conf_expect_misfit("gbdt", "objective=rank:ndcg classes=7",
                     "classes is for the objective multi:softmax, not for "
                     "rank:ndcg");
  conf_expect_misfit("gbdt", "truncation=7", "truncation is for the objective rank:ndcg, not for binary:logistic");
  conf_expect_misfit("lr", "truncation=7", "truncation is not for lr");
  conf_expect_misfit("gbdt", "objective=rank:ndcg labels=1,2",
                     "labels names the classes, but LambdaRankLoss has "
                     "no classes");
  conf_expect_misfit("gbdt", "objective=rank:ndcg negatives=3",
                     "negatives are rows of the negative class, and "
                     "LambdaRankLoss has none");
  conf_expect_misfit("gbdt", "lr=0", "the learning rate of gbdt must be more than 0");
  conf_expect_misfit("fm", "trees=4", "trees is not for fm");
  conf_expect_misfit("gbdt", "leaves=1", "leaves must be 2 at least, or 0 for no limit");
  conf_expect_misfit("lr", "leaves=4", "leaves is not for lr");
  conf_expect_misfit("dnn", "from-average=yes", "from-average is not for dnn");
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(furrow_learn_conf_set(conf, "categories", "1:2,x", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "categories", "1:", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "categories", "1,2", &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "objective", "rank:pairwise", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "loss", "LambdaRankLoss", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "truncation", "0", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "truncation", "1001", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "splits", "255", &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_learn_conf_set(conf, "ml.gbdt.task.type", "ranking", &err), FURROW_E_ARGUMENT);
  furrow_learn_conf_free(conf);
}

/* ---- Training ---- */

static furrow_learn_metrics last_metrics(const furrow_trainer *trainer) {
  const size_t count = furrow_trainer_epoch_count(trainer);
  assert_true(count > 0);
  return *epoch_at(trainer, count - 1)->valid;
}

static void each_objective_learns(void **state) {
  (void)state;
  furrow_trainer *two = new_trainer("gbdt", usual, 2, false);
  fit_or_fail(two, "two.libsvm", "two.test", NULL);
  assert_true(last_metrics(two).auc > 0.9);
  furrow_trainer_free(two);
  furrow_trainer *number =
      new_trainer("gbdt", "trees=20 depth=4 splits=64 lr=0.3 objective=reg:squarederror", 2, false);
  fit_or_fail(number, "number.libsvm", "number.test", NULL);
  assert_true(last_metrics(number).rmse < 0.7); /* labels deviate by 2.2 */
  furrow_trainer_free(number);
  furrow_trainer *classes =
      new_trainer("gbdt", "trees=20 depth=4 splits=64 lr=0.3 objective=multi:softmax classes=3", 2, false);
  fit_or_fail(classes, "classes.libsvm", "classes.test", NULL);
  assert_true(last_metrics(classes).accuracy > 0.85);
  furrow_trainer_free(classes);
}

static void check_threads(const char *settings) {
  furrow_trainer *first = new_trainer("gbdt", settings, 1, false);
  fit_or_fail(first, "two.libsvm", NULL, NULL);
  fw_buffer expected = snapshot_of(first);
  static const unsigned threads[] = {2, 3, 7};
  for (size_t i = 0; i < 3; i++) {
    furrow_trainer *other = new_trainer("gbdt", settings, threads[i], false);
    fit_or_fail(other, "two.libsvm", NULL, NULL);
    fw_buffer got = snapshot_of(other);
    assert_same_snapshot(&expected, &got);
    fw_buffer_clear(&got);
    furrow_trainer_free(other);
  }
  fw_buffer_clear(&expected);
  furrow_trainer_free(first);
}

static void any_number_of_threads_grows_the_same_trees(void **state) {
  (void)state;
  check_threads("trees=8 depth=5 splits=100 lr=0.3 row-ratio=0.7 feature-ratio=0.75");
  check_threads("trees=8 depth=8 leaves=20 min-rows=9 from-average=yes splits=100 lr=0.3 row-ratio=0.7");
}

static void a_draw_of_rows_has_one_at_least(void **state) {
  (void)state;
  furrow_trainer *trainer = new_trainer("gbdt", "trees=3 depth=2 row-ratio=1e-9 min-child-weight=0", 2, false);
  fit_or_fail(trainer, "two.libsvm", NULL, NULL);
  const fw_forest *forest = trainer->forest;
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const double hessian = forest->hessian[tree * forest->nodes];
    assert_true(hessian > 0 && hessian <= 0.25 + 1e-4); /* p (1 - p) of one row */
  }
  furrow_trainer_free(trainer);
}

static furrow_status stop_at_six(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)e;
  return epoch->epoch == 6 ? FURROW_E_STATE : FURROW_OK;
}

static void a_training_that_was_stopped_goes_on_as_if_it_had_not_been(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer *whole = new_trainer("gbdt", usual, 2, false);
  fit_or_fail(whole, "two.libsvm", NULL, NULL);
  fw_buffer expected = snapshot_of(whole);
  furrow_trainer_fit_params_init(&params);
  params.checkpoint = "halfway";
  params.epoch = stop_at_six;
  furrow_trainer *first = new_trainer("gbdt", usual, 2, false);
  assert_int_equal(furrow_trainer_fit(first, "two.libsvm", NULL, &params, &err), FURROW_E_STATE);
  furrow_trainer_free(first);
  params.epoch = NULL;
  params.resume = true;
  furrow_trainer *second = new_trainer("gbdt", usual, 1, false);
  fit_or_fail(second, "two.libsvm", NULL, &params);
  fw_buffer got = snapshot_of(second);
  assert_same_snapshot(&expected, &got);
  const size_t count = furrow_trainer_epoch_count(second);
  assert_int_equal(count, 20);
  furrow_trainer *other = new_trainer("gbdt", "trees=20 depth=3 splits=64 lr=0.3 valid-ratio=0", 1, false);
  assert_int_equal(furrow_trainer_fit(other, "two.libsvm", NULL, &params, &err), FURROW_E_STALE);
  fw_buffer_clear(&expected);
  fw_buffer_clear(&got);
  furrow_trainer_free(whole);
  furrow_trainer_free(second);
  furrow_trainer_free(other);
}

static void the_best_round_is_kept_and_later_trees_are_not(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.keep_best = true;
  params.patience = 5;
  furrow_trainer *trainer = new_trainer("gbdt", "trees=200 depth=6 splits=64 lr=1", 2, false);
  fit_or_fail(trainer, "two.libsvm", "two.test", &params);
  const size_t count = furrow_trainer_epoch_count(trainer);
  const uint32_t best = furrow_trainer_best_epoch(trainer);
  assert_true(count < 200 && best > 0 && count == best + 5); /* such a rate goes too far soon */
  assert_int_equal(trainer->forest->trees, best);
  furrow_scorer *scorer = NULL;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  furrow_evaluation *evaluation = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block;
  furrow_learn_metrics got;
  furrow_learn_metrics_init(&got);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_open(&samples, furrow_scorer_conf(scorer), "two.test", NULL, &err), FURROW_OK);
  while (furrow_sample_reader_next(samples, &block, &err) == FURROW_OK)
    assert_int_equal(furrow_evaluation_add_block(evaluation, space, block, &err), FURROW_OK);
  furrow_evaluation_get_metrics(evaluation, &got);
  assert_true(fabs(got.loss - epoch_at(trainer, best - 1)->valid->loss) < 1e-5);
  furrow_sample_reader_close(samples);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

/* ---- Models ---- */

static void scores_of(const furrow_scorer *scorer, const char *data, furrow_score *scores) {
  furrow_scorer_scratch *space = NULL;
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block;
  size_t row = 0;
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_open(&samples, furrow_scorer_conf(scorer), data, NULL, &err), FURROW_OK);
  while (furrow_sample_reader_next(samples, &block, &err) == FURROW_OK) {
    assert_int_equal(furrow_scorer_score_block(scorer, space, block, scores + row, &err), FURROW_OK);
    row += block->size;
  }
  assert_int_equal(row, ROWS);
  furrow_sample_reader_close(samples);
  furrow_scorer_scratch_free(space);
}

static void a_saved_model_scores_as_the_trainer(void **state) {
  (void)state;
  static furrow_score before[ROWS], after[ROWS];
  furrow_trainer *trainer = new_trainer("gbdt", usual, 2, false);
  furrow_scorer *own = NULL, *loaded = NULL;
  fit_or_fail(trainer, "two.libsvm", NULL, NULL);
  assert_int_equal(furrow_trainer_save(trainer, "model", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_create(&own, trainer, &err), FURROW_OK);
  if (furrow_scorer_load(&loaded, "model", NULL, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  scores_of(own, "two.test", before);
  scores_of(loaded, "two.test", after);
  assert_memory_equal(before, after, sizeof before);
  uint64_t *ids = NULL;
  size_t count = 0;
  assert_int_equal(furrow_scorer_features(loaded, 0, 100, &ids, &count, &err), FURROW_OK);
  assert_true(count >= 3 && count <= 4 && ids[0] == 0);
  size_t size;
  assert_int_equal(furrow_scorer_vector_size(loaded, &size, &err), FURROW_E_UNSUPPORTED);
  furrow_free(ids);
  furrow_scorer_free(own);
  furrow_scorer_free(loaded);
  furrow_trainer_free(trainer);
}

static void a_model_grows_on(void **state) {
  (void)state;
  furrow_trainer *first = new_trainer("gbdt", usual, 2, false), *more = NULL;
  fit_or_fail(first, "two.libsvm", NULL, NULL);
  assert_int_equal(furrow_trainer_save(first, "ten", NULL, &err), FURROW_OK);
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.load = "ten";
  furrow_learn_conf *conf = conf_builtin("gbdt", usual);
  assert_int_equal(furrow_trainer_create(&more, conf, &params, &err), FURROW_OK);
  fit_or_fail(more, "two.libsvm", NULL, NULL);
  const fw_forest *a = first->forest, *b = more->forest;
  assert_int_equal(b->trees, 40);
  assert_memory_equal(a->value, b->value, a->trees * a->nodes * sizeof *a->value);
  const double before = epoch_at(first, 19)->train->loss;
  assert_true(epoch_at(more, 0)->train->loss < before);
  conf_set(conf, "depth", "3");
  furrow_trainer *shallow = NULL;
  assert_int_equal(furrow_trainer_create(&shallow, conf, &params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "its trees are 4 splits deep, not 3");
  assert_string_equal(err.hint, "set the key `depth` to 4");
  conf_set(conf, "depth", "4");
  conf_set(conf, "lr", "0.25");
  assert_int_equal(furrow_trainer_create(&shallow, conf, &params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "its learning rate is 0.3, not 0.25, and all trees of a model have one");
  assert_string_equal(err.hint, "set the key `lr` to 0.3");
  conf_set(conf, "objective", "reg:squarederror");
  assert_int_equal(furrow_trainer_create(&shallow, conf, &params, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "binary:logistic, not reg:squarederror"));
  furrow_learn_conf_free(conf);
  assert_int_equal(furrow_trainer_save(more, "forty", NULL, &err), FURROW_OK);
  furrow_scorer *scorer = NULL;
  assert_int_equal(furrow_scorer_load(&scorer, "forty", NULL, &err), FURROW_OK);
  assert_string_equal(furrow_learn_conf_get(furrow_scorer_conf(scorer), "trees"), "40");
  furrow_scorer_free(scorer);
  furrow_trainer_free(first);
  furrow_trainer_free(more);
}

/* Cuts of the other data, few as they are, say nothing about the trees that are there. */
static void a_model_grows_on_with_other_rows(void **state) {
  (void)state;
  furrow_trainer *first = new_trainer("gbdt", usual, 2, false), *more = NULL;
  fit_or_fail(first, "two.libsvm", NULL, NULL);
  assert_int_equal(furrow_trainer_save(first, "first", NULL, &err), FURROW_OK);
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.load = "first";
  furrow_learn_conf *conf = conf_builtin("gbdt", "trees=2 depth=4 splits=3 lr=0.3");
  assert_int_equal(furrow_trainer_create(&more, conf, &params, &err), FURROW_OK);
  fit_or_fail(more, "two.test", "number.test?format=libsvm", NULL);
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block;
  furrow_learn_metrics got;
  furrow_learn_metrics_init(&got);
  assert_int_equal(furrow_sample_reader_open(&samples, conf, "two.test", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_next(samples, &block, &err), FURROW_OK);
  assert_int_equal(block->size, ROWS);
  assert_int_equal(furrow_trainer_evaluate(more, block, &got, &err), FURROW_OK);
  assert_true(fabs(got.loss - epoch_at(more, 1)->train->loss) < 1e-12);
  assert_true(epoch_at(more, 1)->train->loss < 0.5);
  furrow_sample_reader_close(samples);
  furrow_learn_conf_free(conf);
  furrow_trainer_free(first);
  furrow_trainer_free(more);
}

static void trees_are_not_trained_step_by_step(void **state) {
  (void)state;
  furrow_trainer *trainer = new_trainer("gbdt", usual, 1, false);
  assert_int_equal(furrow_trainer_step(trainer, &(furrow_rowblock){0}, NULL, &err), FURROW_E_UNSUPPORTED);
  furrow_trainer_free(trainer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_of_angel_and_short_names_come_to_the_same),
      cmocka_unit_test(graph_json_says_it_all_again),
      cmocka_unit_test(recommended_values_are_taken),
      cmocka_unit_test(what_is_not_for_trees_is_refused),
      cmocka_unit_test(each_objective_learns),
      cmocka_unit_test(any_number_of_threads_grows_the_same_trees),
      cmocka_unit_test(a_draw_of_rows_has_one_at_least),
      cmocka_unit_test(a_training_that_was_stopped_goes_on_as_if_it_had_not_been),
      cmocka_unit_test(the_best_round_is_kept_and_later_trees_are_not),
      cmocka_unit_test(a_saved_model_scores_as_the_trainer),
      cmocka_unit_test(a_model_grows_on),
      cmocka_unit_test(a_model_grows_on_with_other_rows),
      cmocka_unit_test(trees_are_not_trained_step_by_step),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
