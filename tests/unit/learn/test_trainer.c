/* tests/unit/learn/test_trainer.c: training: the same numbers for any number of threads, steps, evaluation, what stops
 * it. */
#include "support/made_clicks.h"

static int write_data(void **state) {
  return enter_dir(state) == 0 && write_clicks("clicks", 3000, 1, 1) && write_clicks("test", 1000, 2, 1) ? 0 : -1;
}

/* ---- The same numbers ----------------------------------------------------------------------------------- */

static const struct {
  const char *algorithm, *settings;
} models[] = {
    {"lr", "lr=0.1 range=120"},
    {"lr", "lr=0.1"},
    {"fm", "lr=0.05 rank=4 optimizer=adam shuffle=yes"},
    {"fm", "lr=0.05 rank=8 range=120 model-type=T_DOUBLE_DENSE optimizer=ftrl"},
    {"deepfm", "lr=0.02 rank=4 fields=6 fc=10,1 range=120 optimizer=adam shuffle=yes sample-ratio=0.7"},
    {"dnn", "lr=0.1 range=120 optimizer=adagrad init-input=0.05"},
    {"lr", "lr=0.1 range=120 batch=1400 optimizer=adagrad"}, /* gradients are summed by several tasks */
};

/* Everything that training with so many threads leaves: the net and the history. */
static fw_buffer outcome(size_t model, unsigned threads, const furrow_trainer_fit_params *params) {
  furrow_trainer *trainer = new_trainer(models[model].algorithm, models[model].settings, threads, false);
  fit_or_fail(trainer, "clicks", NULL, params);
  fw_buffer snapshot = snapshot_of(trainer);
  const size_t count = furrow_trainer_epoch_count(trainer);
  for (size_t i = 0; i < count; i++) {
    fw_buffer_append(&snapshot, epoch_at(trainer, i)->train, sizeof(furrow_learn_metrics));
    fw_buffer_append(&snapshot, epoch_at(trainer, i)->valid, sizeof(furrow_learn_metrics));
  }
  furrow_trainer_free(trainer);
  return snapshot;
}

static furrow_status stop_after_two(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)e;
  return epoch->epoch == 2 ? FURROW_END : FURROW_OK;
}

static void threads_do_not_matter(void **state) {
  (void)state;
  static const unsigned threads[] = {2, 3, 7, 64};
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.epoch = stop_after_two;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    fw_buffer one = outcome(m, 1, &params);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
      fw_buffer more = outcome(m, threads[i], &params);
      assert_same_snapshot(&one, &more);
      fw_buffer_clear(&more);
    }
    fw_buffer_clear(&one);
  }
}

static void streamed_rows_are_those_of_memory(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.epoch = stop_after_two;
  furrow_parser_params parser;
  furrow_parser_params_init(&parser);
  parser.chunk_bytes = 5000;
  params.parser = &parser;
  fw_buffer kept = outcome(1, 2, &params);
  params.stream = true;
  fw_buffer streamed = outcome(1, 2, &params);
  assert_same_snapshot(&kept, &streamed);
  fw_buffer_clear(&kept);
  fw_buffer_clear(&streamed);
}

/* ---- Steps, evaluation ---------------------------------------------------------------------------------- */

static furrow_blockiter *read_block(const char *uri, furrow_rowblock *block) {
  furrow_blockiter *iter = NULL;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.format = "libsvm";
  assert_int_equal(furrow_blockiter_open(&iter, uri, &params, &err), FURROW_OK);
  assert_int_equal(furrow_blockiter_next(iter, &err), FURROW_OK);
  *block = *furrow_blockiter_value(iter);
  return iter;
}

/* Rows of the program's own arrays train the model that the file of the same rows trains, also in a stream. */
static void rows_of_arrays_are_those_of_files(void **state) {
  (void)state;
  furrow_rowblock block;
  furrow_blockiter *iter = read_block("clicks?indexing_mode=1", &block);
  assert_int_equal(furrow_memory_rows_add("memory://clicks", &block, NULL, NULL, &err), FURROW_OK);
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  for (int stream = 0; stream < 2; stream++) {
    fw_buffer snapshots[2];
    params.stream = stream;
    for (int arrays = 0; arrays < 2; arrays++) {
      furrow_trainer *trainer = new_trainer("fm", "lr=0.05 rank=4 range=120 epochs=2 valid-ratio=0", 2, false);
      fit_or_fail(trainer, arrays ? "memory://clicks" : "clicks?indexing_mode=1", NULL, &params);
      snapshots[arrays] = snapshot_of(trainer);
      furrow_trainer_free(trainer);
    }
    assert_same_snapshot(&snapshots[0], &snapshots[1]);
    fw_buffer_clear(&snapshots[0]);
    fw_buffer_clear(&snapshots[1]);
  }
  assert_int_equal(furrow_memory_rows_remove("memory://clicks", &err), FURROW_OK);
  furrow_blockiter_close(iter);
}

static void steps_are_those_of_fit(void **state) {
  (void)state;
  furrow_trainer *fitted = new_trainer("fm", "lr=0.05 rank=4 epochs=1 batch=128 valid-ratio=0", 2, false);
  furrow_trainer *stepped = new_trainer("fm", "lr=0.05 rank=4 epochs=1 batch=128 valid-ratio=0", 2, false);
  fit_or_fail(fitted, "clicks", NULL, NULL);
  furrow_rowblock block, batch;
  furrow_blockiter *iter = read_block("clicks?indexing_mode=1", &block);
  double sum = 0;
  for (size_t begin = 0; begin < block.size; begin += 128) {
    const size_t end = block.size - begin < 128 ? block.size : begin + 128;
    double loss = NAN;
    assert_int_equal(furrow_rowblock_slice(&block, begin, end, &batch, &err), FURROW_OK);
    assert_int_equal(furrow_trainer_step(stepped, &batch, &loss, &err), FURROW_OK);
    sum += loss * (double)(end - begin);
  }
  fw_buffer a = snapshot_of(fitted), b = snapshot_of(stepped);
  assert_same_snapshot(&a, &b);
  assert_float_equal(epoch_at(fitted, 0)->train->loss, sum / (double)block.size, 1e-5);
  assert_int_equal(epoch_at(fitted, 0)->train->rows, block.size);
  fw_buffer_clear(&a);
  fw_buffer_clear(&b);
  furrow_blockiter_close(iter);
  furrow_trainer_free(fitted);
  furrow_trainer_free(stepped);
}

static void models_learn(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    furrow_trainer *trainer = new_trainer(models[m].algorithm, models[m].settings, 2, false);
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.epoch = stop_after_two;
    fit_or_fail(trainer, "clicks", "test", &params);
    const size_t count = furrow_trainer_epoch_count(trainer);
    assert_int_equal(count, 2);
    assert_int_equal(epoch_at(trainer, 0)->train->rows, m == 4 ? epoch_at(trainer, 0)->train->rows : 3000);
    assert_int_equal(epoch_at(trainer, 1)->valid->rows, 1000);
    if (!(epoch_at(trainer, 1)->valid->auc > 0.82)) fail_msg("model %zu: AUC %g", m, epoch_at(trainer, 1)->valid->auc);
    assert_true(epoch_at(trainer, 1)->train->loss < epoch_at(trainer, 0)->train->loss);
    furrow_rowblock block;
    furrow_learn_metrics metrics;
    furrow_learn_metrics_init(&metrics);
    furrow_blockiter *iter = read_block("test?indexing_mode=1", &block);
    assert_int_equal(furrow_trainer_evaluate(trainer, &block, &metrics, &err), FURROW_OK);
    assert_memory_equal(&metrics, epoch_at(trainer, 1)->valid, sizeof metrics);
    furrow_blockiter_close(iter);
    furrow_trainer_free(trainer);
  }
}

/* Both are accepted, and a note says that they change nothing: not the solver either. */
static void hogwild_and_staleness_have_no_effect(void **state) {
  (void)state;
  static const struct {
    const char *algorithm, *settings, *with;
    bool hogwild;
  } cases[] = {
      {"fm", "lr=0.1 rank=4 epochs=1", "lr=0.1 rank=4 epochs=1", true},
      {"fm", "lr=0.1 rank=4 epochs=1", "lr=0.1 rank=4 epochs=1 staleness=2", false},
      {"lr", "defaults=furrow", "defaults=furrow staleness=1", false},
      {"gbdt", "trees=2", "trees=2 staleness=1", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_trainer *plain = new_trainer(cases[i].algorithm, cases[i].settings, 2, false);
    furrow_trainer *asked = new_trainer(cases[i].algorithm, cases[i].with, 2, cases[i].hogwild);
    fit_or_fail(plain, "clicks", "test", NULL);
    fit_or_fail(asked, "clicks", "test", NULL);
    fw_buffer a = snapshot_of(plain), b = snapshot_of(asked);
    assert_same_snapshot(&a, &b);
    assert_non_null(strstr(furrow_trainer_get_note(asked, 0, NULL), "has no effect"));
    assert_int_equal(furrow_trainer_note_count(asked), furrow_trainer_note_count(plain) + 1);
    assert_int_equal(furrow_trainer_is_exact(asked), furrow_trainer_is_exact(plain));
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    furrow_trainer_free(plain);
    furrow_trainer_free(asked);
  }
}

static void batches_may_be_given_by_their_number(void **state) {
  (void)state;
  for (int stream = 0; stream < 2; stream++) {
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.stream = stream;
    furrow_trainer *by_number = new_trainer("lr", "lr=0.1 epochs=1 valid-ratio=0 updates=7", 1, false);
    furrow_trainer *by_rows = new_trainer("lr", "lr=0.1 epochs=1 valid-ratio=0 batch=429", 1, false);
    fit_or_fail(by_number, "clicks", NULL, &params);
    fit_or_fail(by_rows, "clicks", NULL, NULL);
    fw_buffer a = snapshot_of(by_number), b = snapshot_of(by_rows);
    assert_same_snapshot(&a, &b);
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    furrow_trainer_free(by_number);
    furrow_trainer_free(by_rows);
  }
}

/* ---- The best epoch, early stopping --------------------------------------------------------------------- */

/* Validation rows with the labels turned round: every epoch is worse than the one before it. */
static void training_stops_early(void **state) {
  (void)state;
  assert_true(write_clicks("reverse", 500, 3, -1));
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.patience = 2;
  params.keep_best = true;
  furrow_trainer *trainer = new_trainer("fm", "lr=0.05 rank=4 epochs=10", 1, false);
  fit_or_fail(trainer, "clicks", "reverse", &params);
  const size_t count = furrow_trainer_epoch_count(trainer);
  const uint32_t best = furrow_trainer_best_epoch(trainer);
  assert_int_equal(count, 3);
  assert_int_equal(best, 1);
  assert_true(epoch_at(trainer, 0)->best && !epoch_at(trainer, 1)->best && !epoch_at(trainer, 2)->best);
  furrow_trainer *once = new_trainer("fm", "lr=0.05 rank=4 epochs=1", 1, false);
  fit_or_fail(once, "clicks", "reverse", NULL);
  fw_buffer a = snapshot_of(trainer), b = snapshot_of(once);
  assert_same_snapshot(&a, &b);
  fw_buffer_clear(&a);
  fw_buffer_clear(&b);
  furrow_trainer_free(trainer);
  furrow_trainer_free(once);
}

static void the_metric_decides(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.metric = "auc";
  furrow_trainer *trainer = new_trainer("lr", "lr=0.1 epochs=4", 1, false);
  fit_or_fail(trainer, "clicks", "test", &params);
  const size_t count = furrow_trainer_epoch_count(trainer);
  const uint32_t best = furrow_trainer_best_epoch(trainer);
  assert_int_equal(count, 4);
  for (size_t i = 0; i < 4; i++)
    assert_true(epoch_at(trainer, best - 1)->valid->auc >= epoch_at(trainer, i)->valid->auc);
  params.metric = "beauty";
  assert_int_equal(furrow_trainer_fit(trainer, "clicks", NULL, &params, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "logloss"));
  params.metric = "rmse"; /* not defined for two classes */
  assert_int_equal(furrow_trainer_fit(trainer, "clicks", "test", &params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "a model with LogLoss has no rmse");
  furrow_trainer_free(trainer);
}

/* ---- Going on from a model ------------------------------------------------------------------------------ */

static void a_model_can_be_trained_further(void **state) {
  (void)state;
  furrow_trainer *first = new_trainer("fm", "lr=0.05 rank=4 epochs=2", 2, false), *second = NULL;
  fit_or_fail(first, "clicks", NULL, NULL);
  assert_int_equal(furrow_trainer_save(first, "model", NULL, &err), FURROW_OK);
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.load = "model";
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", &err), FURROW_OK);
  conf_set_all(conf, "lr=0.05 rank=4 epochs=3");
  if (furrow_trainer_create(&second, conf, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_rowblock block;
  furrow_learn_metrics a, b;
  furrow_learn_metrics_init(&a);
  furrow_learn_metrics_init(&b);
  furrow_blockiter *iter = read_block("test?indexing_mode=1", &block);
  assert_int_equal(furrow_trainer_evaluate(first, &block, &a, &err), FURROW_OK);
  assert_int_equal(furrow_trainer_evaluate(second, &block, &b, &err), FURROW_OK);
  assert_float_equal(a.loss, b.loss, 1e-5);
  assert_float_equal(a.auc, b.auc, 1e-4);
  fit_or_fail(second, "clicks", NULL, NULL);
  assert_true(epoch_at(second, 0)->train->loss < epoch_at(first, 0)->train->loss);
  params.load = "nothing";
  furrow_trainer *none = NULL;
  assert_int_equal(furrow_trainer_create(&none, conf, &params, &err), FURROW_E_NOT_FOUND);
  furrow_blockiter_close(iter);
  furrow_learn_conf_free(conf);
  furrow_trainer_free(first);
  furrow_trainer_free(second);
}

/* ---- What stops a training ------------------------------------------------------------------------------ */

static void a_loss_that_is_not_a_number_stops(void **state) {
  (void)state;
  assert_true(test_write_text("huge", "9 1:1\n-1 1:3e38 2:3e38\n1 2:1\n"));
  furrow_trainer *trainer = new_trainer("linear", "lr=0.1 batch=3 valid-ratio=0 range=2", 2, false);
  furrow_rowblock block, first;
  furrow_blockiter *iter = read_block("huge?indexing_mode=1", &block);
  assert_int_equal(furrow_rowblock_slice(&block, 0, 1, &first, &err), FURROW_OK);
  for (int i = 0; i < 5; i++) assert_int_equal(furrow_trainer_step(trainer, &first, NULL, &err), FURROW_OK);
  fw_buffer before = snapshot_of(trainer);
  double loss = 7;
  assert_int_equal(furrow_trainer_step(trainer, &block, &loss, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "row 2 is not a number, in the batch of rows 1 to 3"));
  assert_true(loss == 7);
  fw_buffer after = snapshot_of(trainer);
  assert_same_snapshot(&before, &after); /* nothing was updated */
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  assert_int_equal(furrow_trainer_fit(trainer, "huge", NULL, &params, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "row 2 "));
  fw_buffer_clear(&before);
  fw_buffer_clear(&after);
  furrow_blockiter_close(iter);
  furrow_trainer_free(trainer);
}

static void rows_that_do_not_fit_stop(void **state) {
  (void)state;
  static const struct {
    const char *text, *settings, *message;
  } cases[] = {
      {"1 1:1\n1 2:1\n1 130:1\n", "range=120 valid-ratio=0", "row 3: feature 129 is beyond the model's range"},
      {"1 1:1\n7 2:1\n", "valid-ratio=0 label=NoTrans", "row 2: LogLoss cannot take the label 7"},
      {"", "valid-ratio=0", "no rows"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(test_write_text("bad", cases[i].text));
    furrow_trainer *trainer = new_trainer("lr", cases[i].settings, 2, false);
    assert_int_not_equal(furrow_trainer_fit(trainer, "bad", NULL, NULL, &err), FURROW_OK);
    if (!strstr(err.message, cases[i].message)) fail_msg("%s", err.message);
    furrow_trainer_free(trainer);
  }
}

static void validation_rows_stop_it_too(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"1 1:1\n1 2:nan\n1 3:1\n", "validation data: the score of row 2 is not a number, of rows 1 to 3"},
      {"1 1:1\n1 2:1\n1 2:inf\n", "validation data: the score of row 3 is not a number, of rows 1 to 3"},
      {"1 1:1\n1:-3 2:1\n", "row 2: the row's weight is -3"},
      {"", "validation data: there are no rows"},
  };
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    furrow_trainer *trainer = new_trainer("lr", "lr=0.1 range=120 epochs=2", 2, false);
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.stream = i % 2 == 1;
    assert_true(test_write_text("bad", cases[i / 2].text));
    assert_int_not_equal(furrow_trainer_fit(trainer, "clicks", "bad", &params, &err), FURROW_OK);
    if (strcmp(err.message, cases[i / 2].message) != 0) fail_msg("%s", err.message);
    assert_string_equal(err.file, "bad");
    furrow_trainer_free(trainer);
  }
}

/* `auto`: what the training data came to counts for validation data, and is what the model says. */
static void the_base_is_that_of_the_training_data(void **state) {
  (void)state;
  static const struct {
    const char *train, *valid, *base;
  } cases[] = {{"1 0:1 2:1\n-1 1:1\n", "1 1:1\n-1 2:1\n", "0"}, {"1 1:1 3:1\n-1 2:1\n", "1 1:1\n-1 2:1\n", "1"}};
  for (size_t i = 0; i < 4; i++) {
    furrow_trainer *found = new_trainer("lr", "lr=0.1 range=3 epochs=2 index-base=auto", 1, false);
    furrow_trainer *told =
        new_trainer("lr", i / 2 ? "lr=0.1 range=3 epochs=2" : "lr=0.1 range=3 epochs=2 index-base=0", 1, false);
    furrow_trainer_fit_params params;
    furrow_trainer_fit_params_init(&params);
    params.stream = i % 2 == 1;
    assert_true(test_write_text("base", cases[i / 2].train) && test_write_text("other", cases[i / 2].valid));
    fit_or_fail(found, "base", "other", &params);
    fit_or_fail(told, "base", "other", &params);
    assert_string_equal(furrow_learn_conf_get(found->conf, "index-base"), cases[i / 2].base);
    assert_memory_equal(epoch_at(found, 1)->valid, epoch_at(told, 1)->valid, sizeof(furrow_learn_metrics));
    furrow_trainer_save_params model;
    furrow_trainer_save_params_init(&model);
    model.overwrite = true;
    assert_int_equal(furrow_trainer_save(found, "model", &model, &err), FURROW_OK);
    furrow_learn_conf *saved = conf_new();
    conf_load(saved, "model/graph.json");
    assert_string_equal(furrow_learn_conf_get(saved, "index-base"), cases[i / 2].base);
    furrow_learn_conf_free(saved);
    furrow_trainer_free(found);
    furrow_trainer_free(told);
  }
}

static furrow_status refuse(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)epoch, (void)e;
  return FURROW_E_STATE;
}

static bool count_progress(void *user, const char *phase, uint64_t rows, uint64_t total) {
  if (strcmp(phase, "preparing") == 0) return rows == 0 && total == 0;
  assert_string_equal(phase, "training");
  assert_true(rows > 0);
  assert_true(total == 0 || total >= rows);
  return ++*(int *)user < 2;
}

static void callers_may_stop(void **state) {
  (void)state;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.epoch = refuse;
  furrow_trainer *trainer = new_trainer("lr", "lr=0.1 epochs=4", 2, false);
  assert_int_equal(furrow_trainer_fit(trainer, "clicks", NULL, &params, &err), FURROW_E_STATE);
  const size_t count = furrow_trainer_epoch_count(trainer);
  assert_int_equal(count, 1);
  assert_true(write_clicks("long", 70000, 4, 1));
  int calls = 0;
  params.epoch = NULL;
  params.progress = count_progress;
  params.progress_user = &calls;
  assert_int_equal(furrow_trainer_fit(trainer, "long", NULL, &params, &err), FURROW_E_CANCELLED);
  assert_int_equal(furrow_trainer_epoch_count(trainer), 0);
  assert_int_equal(calls, 2);
  assert_true(write_clicks("short", 100, 4, 1)); /* too few rows for a call within an epoch: its end is one */
  calls = 0;
  assert_int_equal(furrow_trainer_fit(trainer, "short", NULL, &params, &err), FURROW_E_CANCELLED);
  assert_int_equal(furrow_trainer_epoch_count(trainer), 1);
  furrow_trainer_free(trainer);
}

/* Stops at the call of a number. */
typedef struct stopper {
  int calls, last;
  bool prepared;
} stopper;

static bool stop_at(void *user, const char *phase, uint64_t rows, uint64_t total) {
  stopper *s = user;
  (void)rows, (void)total;
  if (strcmp(phase, "preparing") != 0) s->prepared = true;
  return ++s->calls < s->last;
}

/* Whichever call says no, no epoch is the last one, and nothing is left behind (the tests run with a leak check). */
static void solvers_and_trees_may_be_stopped(void **state) {
  static const char *const names[] = {"lr", "fm", "gbdt"};
  (void)state;
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    bool in_epoch = false;
    for (int last = 1; last <= 20; last++) {
      stopper s = {.last = last};
      furrow_trainer_fit_params params;
      furrow_trainer_fit_params_init(&params);
      params.progress = stop_at;
      params.progress_user = &s;
      furrow_trainer *trainer = new_trainer(names[n], "", 2, false);
      const furrow_status status = furrow_trainer_fit(trainer, "long", NULL, &params, &err);
      if (status == FURROW_OK) assert_true(s.calls < last); /* it was over before */
      if (status != FURROW_OK) assert_int_equal(status, FURROW_E_CANCELLED);
      if (status != FURROW_OK) assert_int_equal(s.calls, last);
      in_epoch |= s.prepared && status != FURROW_OK;
      furrow_trainer_free(trainer);
    }
    assert_true(in_epoch);
  }
}

/* Structs of older headers are shorter; the library neither reads nor writes what they do not have. */
static void structs_may_be_shorter(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("lr", "range=-1 epochs=1");
  furrow_trainer *trainer = NULL;
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.max_features = 1;
  params.size = offsetof(furrow_trainer_params, max_features);
  assert_int_equal(furrow_trainer_create(&trainer, conf, &params, &err), FURROW_OK);
  fit_or_fail(trainer, "clicks", NULL, NULL); /* it has more than one feature */
  union {
    furrow_learn_metrics metrics;
    unsigned char bytes[sizeof(furrow_learn_metrics)];
  } got;
  memset(&got, 0xab, sizeof got);
  got.metrics.size = offsetof(furrow_learn_metrics, auc);
  furrow_container *container = NULL;
  furrow_rowblock block = {0};
  assert_int_equal(furrow_container_create(&container, FURROW_KEY_U32, FURROW_VALUE_F32, &err), FURROW_OK);
  const uint32_t feature = 3;
  const float label = 1;
  const furrow_row row = {.label = {&label}, .length = 1, .index = {&feature}};
  assert_int_equal(furrow_container_push_row(container, &row, &err), FURROW_OK);
  assert_int_equal(furrow_container_get_block(container, &block, &err), FURROW_OK);
  assert_int_equal(furrow_trainer_evaluate(trainer, &block, &got.metrics, &err), FURROW_OK);
  assert_int_equal(got.metrics.size, offsetof(furrow_learn_metrics, auc));
  assert_int_equal(got.metrics.rows, 1);
  assert_true(got.metrics.loss > 0);
  for (size_t i = offsetof(furrow_learn_metrics, auc); i < sizeof got; i++) assert_int_equal(got.bytes[i], 0xab);
  furrow_container_free(container);
  furrow_trainer_free(trainer);
  params.size = 0;
  trainer = NULL;
  assert_int_equal(furrow_trainer_create(&trainer, conf, &params, &err), FURROW_E_ARGUMENT);
  params.size = sizeof params + 8;
  assert_int_equal(furrow_trainer_create(&trainer, conf, &params, &err), FURROW_E_UNSUPPORTED);
  assert_null(trainer);
  furrow_learn_conf_free(conf);
}

static void labels_are_needed(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  furrow_trainer *trainer = NULL;
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "lr", &err), FURROW_OK);
  conf_set(conf, "ml.data.has.label", "false");
  assert_int_equal(furrow_trainer_create(&trainer, conf, NULL, &err), FURROW_E_ARGUMENT);
  assert_null(trainer);
  furrow_learn_conf_free(conf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(streamed_rows_are_those_of_memory),
      cmocka_unit_test(rows_of_arrays_are_those_of_files),
      cmocka_unit_test(steps_are_those_of_fit),
      cmocka_unit_test(models_learn),
      cmocka_unit_test(hogwild_and_staleness_have_no_effect),
      cmocka_unit_test(batches_may_be_given_by_their_number),
      cmocka_unit_test(training_stops_early),
      cmocka_unit_test(the_metric_decides),
      cmocka_unit_test(a_model_can_be_trained_further),
      cmocka_unit_test(a_loss_that_is_not_a_number_stops),
      cmocka_unit_test(rows_that_do_not_fit_stop),
      cmocka_unit_test(validation_rows_stop_it_too),
      cmocka_unit_test(the_base_is_that_of_the_training_data),
      cmocka_unit_test(callers_may_stop),
      cmocka_unit_test(solvers_and_trees_may_be_stopped),
      cmocka_unit_test(labels_are_needed),
      cmocka_unit_test(structs_may_be_shorter),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
