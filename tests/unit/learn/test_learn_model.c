/* tests/unit/learn/test_learn_model.c: models that were trained: saved, loaded, scored, evaluated, as vectors for
 * search. */
#include <pthread.h>
#include <sys/stat.h>

#include "support/golden_case.h"
#include "support/made_clicks.h"

enum { TEST_ROWS = 300 };

static int write_data(void **state) {
  return enter_dir(state) == 0 && write_clicks("clicks", 2000, 1, 1) && write_clicks("test", TEST_ROWS, 2, 1) ? 0 : -1;
}

static const struct model {
  const char *algorithm, *settings;
} models[] = {
    {"lr", "range=120 lr=0.1"},
    {"svm", "range=120 lr=0.1 model-type=T_DOUBLE_DENSE"},
    {"linear", "range=120 lr=0.01"},
    {"fm", "lr=0.05 rank=4"},
    {"fm", "lr=0.05 rank=3 range=120 model-type=T_DOUBLE_SPARSE"},
    {"deepfm", "lr=0.02 rank=4 fields=6 fc=10,7 model-type=T_FLOAT_SPARSE_LONGKEY"},
    {"wide_and_deep", "lr=0.02 rank=4 fields=6 fc=10 range=120"},
    {"pnn", "lr=0.02 rank=4 fields=6 fc=9 range=120"},
    {"nfm", "lr=0.02 rank=4 fc=9 range=120"},
    {"dnn", "lr=0.1 range=120 input-width=12 fc=5 init-input=0.05"},
    {"mlr", "lr=0.1 range=120 mlr-rank=3 init-input=0.05"},
    {"softmax", "lr=0.1 range=120 classes=2 label=ZeroOneTrans"},
};
enum { MODELS = sizeof models / sizeof *models };

static furrow_trainer *trained(const struct model *model) {
  char settings[256];
  snprintf(settings, sizeof settings, "epochs=1 %s", model->settings);
  furrow_trainer *trainer = new_trainer(model->algorithm, settings, 2, false);
  fit_or_fail(trainer, "clicks", NULL, NULL);
  return trainer;
}

static void save(const furrow_trainer *trainer, const char *folder, const furrow_layer_formats *formats) {
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.formats = formats;
  params.part_size = 50; /* several partitions */
  params.overwrite = true;
  if (furrow_trainer_save(trainer, folder, &params, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
}

static furrow_scorer *opened(const char *folder) {
  furrow_scorer *scorer = NULL;
  if (furrow_scorer_load(&scorer, folder, NULL, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  return scorer;
}

/* ---- Scores ---- */

typedef struct rows_of {
  furrow_sample_reader *samples;
  const furrow_rowblock *block;
} rows_of;

static rows_of read_test(const furrow_scorer *scorer) {
  rows_of rows = {0};
  assert_int_equal(furrow_sample_reader_open(&rows.samples, furrow_scorer_conf(scorer), "test", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_next(rows.samples, &rows.block, &err), FURROW_OK);
  assert_int_equal(rows.block->size, TEST_ROWS);
  return rows;
}

static void score_all(const furrow_scorer *scorer, furrow_score scores[TEST_ROWS]) {
  furrow_scorer_scratch *space = NULL;
  rows_of rows = read_test(scorer);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_score_block(scorer, space, rows.block, scores, &err), FURROW_OK);
  for (size_t i = 0; i < TEST_ROWS; i++) { /* one row at a time: the same */
    const furrow_row row = furrow_rowblock_row(rows.block, i);
    furrow_score score;
    assert_int_equal(furrow_scorer_score_row(scorer, space, &row, &score, &err), FURROW_OK);
    assert_memory_equal(&score, &scores[i], sizeof score);
    assert_true(isfinite(score.pred));
  }
  furrow_scorer_scratch_free(space);
  furrow_sample_reader_close(rows.samples);
}

/* ---- Saved and loaded ---- */

static void a_saved_model_scores_as_the_trainer(void **state) {
  (void)state;
  static furrow_score before[TEST_ROWS], after[TEST_ROWS];
  for (size_t m = 0; m < MODELS; m++) {
    furrow_trainer *trainer = trained(&models[m]);
    furrow_scorer *now = NULL;
    assert_int_equal(furrow_scorer_create(&now, trainer, &err), FURROW_OK);
    save(trainer, "model", NULL);
    furrow_scorer *later = opened("model");
    score_all(now, before);
    score_all(later, after);
    assert_memory_equal(before, after, sizeof before);
    furrow_scorer_free(now);
    furrow_scorer_free(later);
    furrow_trainer_free(trainer);
  }
}

/* Features of an open range that the data skips: zeros of a dense matrix, unless they are far too many. */
static void features_may_be_missing(void **state) {
  (void)state;
  static const struct gap {
    const char *rows, *type;
    int64_t cols;
    int row_type;
  } gaps[] = {{"1 2:1 5:1\n0 9:1\n", "T_FLOAT_DENSE", 9, 7},
              {"1 2:1 5:1\n0 9:1\n", "T_DOUBLE_SPARSE", 9, 3},
              {"1 2:1 5:1\n0 2000000:1\n", "T_FLOAT_DENSE", 2000000, 10},
              {"1 2:1 5:1\n0 2000000:1\n", "T_DOUBLE_DENSE", 2000000, 3},
              {"1 2:1 5:1\n0 4000000000:1\n", "T_FLOAT_DENSE", 4000000000, 12},
              {"1 2:1 5:1\n0 5000000000000:1\n", "T_FLOAT_SPARSE_LONGKEY", 5000000000000, 12}};
  for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
    char settings[128];
    FILE *file = fopen("gaps", "w");
    assert_non_null(file);
    assert_true(fputs(gaps[i].rows, file) >= 0 && fclose(file) == 0);
    snprintf(settings, sizeof settings, "epochs=1 valid-ratio=0 rank=2 model-type=%s", gaps[i].type);
    furrow_trainer *trainer = new_trainer("fm", settings, 1, false);
    fit_or_fail(trainer, "gaps", NULL, NULL);
    furrow_trainer_save_params params;
    furrow_trainer_save_params_init(&params);
    params.overwrite = true;
    assert_int_equal(furrow_trainer_save(trainer, "gaps_model", &params, &err), FURROW_OK);
    furrow_matrix_source *source = NULL;
    assert_int_equal(furrow_matrix_source_open(&source, "gaps_model/input_weight", NULL, &err), FURROW_OK);
    assert_int_equal(furrow_matrix_source_meta(source)->col, gaps[i].cols);
    assert_int_equal(furrow_matrix_source_meta(source)->row_type, gaps[i].row_type);
    furrow_matrix_source_close(source);
    furrow_scorer_free(opened("gaps_model"));
    furrow_trainer_free(trainer);
  }
}

/* Formats of values alone are for dense rows: those that were asked for, and not sparse ones instead. */
static void values_alone_need_dense_rows(void **state) {
  (void)state;
  static const struct {
    const char *settings, *hint; /* NULL: saved */
  } cases[] = {{"", "few of its 2000000 columns have a feature"},
               {"range=2000000", NULL},
               {"model-type=T_FLOAT_SPARSE", "or a dense model-type"},
               {"model-type=T_FLOAT_SPARSE range=2000000", "or a dense model-type"}};
  furrow_layer_formats *conf = NULL;
  FILE *file = fopen("gaps", "w");
  assert_non_null(file);
  assert_true(fputs("1 2:1 5:1\n0 2000000:1\n", file) >= 0 && fclose(file) == 0);
  assert_int_equal(furrow_layer_formats_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_layer_formats_set(conf, "ml.simpleinputlayer.matrix.output.format", "ValueText", &err),
                   FURROW_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char settings[128];
    snprintf(settings, sizeof settings, "epochs=1 valid-ratio=0 %s", cases[i].settings);
    furrow_trainer *trainer = new_trainer("lr", settings, 1, false);
    fit_or_fail(trainer, "gaps", NULL, NULL);
    furrow_trainer_save_params params;
    furrow_trainer_save_params_init(&params);
    params.overwrite = true;
    params.formats = conf;
    const furrow_status status = furrow_trainer_save(trainer, "values_model", &params, &err);
    assert_int_equal(status, cases[i].hint ? FURROW_E_ARGUMENT : FURROW_OK);
    if (cases[i].hint) assert_non_null(strstr(err.message, "input_weight cannot be saved with sparse rows"));
    if (cases[i].hint) assert_non_null(strstr(err.hint, cases[i].hint));
    furrow_trainer_free(trainer);
  }
  furrow_layer_formats_free(conf);
}

static void every_format_holds_the_model(void **state) {
  (void)state;
  static const char *const formats[][3] = {
      {"ColIdValueBinaryRow", "BinaryColumn", "RowIdColIdValueBinaryRow"},
      {"RowIdColIdValueTextRow", "RowIdColIdValueTextRow", "ColIdValueTextRow"},
      {"RowIdColIdValueBinaryRow", "ColIdValueBinaryRow", "ValueBinaryRow"},
      {"TextColumn", "TextColumn", "ValueTextRow"},
  };
  static furrow_score before[TEST_ROWS], after[TEST_ROWS];
  furrow_trainer *trainer = trained(&models[6]);
  furrow_scorer *now = NULL;
  assert_int_equal(furrow_scorer_create(&now, trainer, &err), FURROW_OK);
  score_all(now, before);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    furrow_layer_formats *conf = NULL;
    static const char *const keys[] = {"ml.simpleinputlayer.matrix.output.format", "ml.embedding.matrix.output.format",
                                       "ml.fclayer.matrix.output.format"};
    assert_int_equal(furrow_layer_formats_create(&conf, &err), FURROW_OK);
    for (size_t k = 0; k < 3; k++)
      assert_int_equal(furrow_layer_formats_set(conf, keys[k], formats[i][k], &err), FURROW_OK);
    save(trainer, "model", conf);
    furrow_scorer *later = opened("model");
    score_all(later, after);
    assert_memory_equal(before, after, sizeof before);
    furrow_scorer_free(later);
    furrow_layer_formats_free(conf);
  }
  furrow_scorer_free(now);
  furrow_trainer_free(trainer);
}

/* The separator is a setting of the formats, too. */
static void the_separator_is_that_of_the_formats(void **state) {
  (void)state;
  furrow_layer_formats *conf = NULL;
  char line[64] = "";
  furrow_trainer *trainer = trained(&models[0]);
  assert_int_equal(furrow_layer_formats_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_layer_formats_set(conf, "text.format.filed.sep", ";", &err), FURROW_OK);
  save(trainer, "model", conf);
  FILE *file = fopen("model/input_weight/0", "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  assert_int_equal(fclose(file), 0);
  assert_memory_equal(line, "0;", 2);
  furrow_scorer_free(opened("model"));
  furrow_layer_formats_free(conf);
  furrow_trainer_free(trainer);
}

/* Matrices as Angel has them: names, ids, rows on the servers (weights, state, gradient), saved rows. */
static void matrices_are_those_of_angel(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int32_t id, rows;
    int64_t cols;
    const char *format;
  } expected[] = {{"input_weight", 0, 3, 120, "ColIdValueTextRowFormat"},
                  {"input_bias", 1, 1, 1, "ColIdValueTextRowFormat"},
                  {"embedding_embedding", 2, 12, 120, "TextColumnFormat"},
                  {"fclayer_0_weight", 3, 3, 240, "RowIdColIdValueTextRowFormat"},
                  {"fclayer_0_bias", 4, 1, 10, "RowIdColIdValueTextRowFormat"},
                  {"fclayer_weight", 5, 3, 10, "RowIdColIdValueTextRowFormat"},
                  {"fclayer_bias", 6, 1, 1, "RowIdColIdValueTextRowFormat"}};
  furrow_trainer *trainer = trained(&models[6]); /* Momentum: one array of state */
  save(trainer, "model", NULL);
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    char folder[64];
    furrow_matrix_meta *meta = NULL;
    snprintf(folder, sizeof folder, "model/%s", expected[i].name);
    assert_int_equal(furrow_matrix_meta_load(&meta, folder, NULL, &err), FURROW_OK);
    assert_string_equal(meta->matrix_name, expected[i].name);
    assert_int_equal(meta->matrix_id, expected[i].id);
    assert_int_equal(meta->row, expected[i].rows);
    assert_int_equal(meta->col, expected[i].cols);
    assert_non_null(strstr(meta->format_class_name, expected[i].format));
    furrow_matrix_meta_free(meta);
  }
  furrow_model_listing *listing = NULL;
  assert_int_equal(furrow_model_listing_load(&listing, "model", &err), FURROW_OK);
  assert_int_equal(listing->matrix_count, 7);
  assert_int_equal(listing->file_count, 2); /* graph.json, furrow.json */
  furrow_model_listing_free(listing);
  furrow_trainer_free(trainer);
}

/* The metadata of a trained matrix, byte for byte that which Angel wrote for one of the same shape: lengths of text
 * depend on the values, so they are copied. */
static void expect_metadata(const char *folder, const char *golden) {
  char path[TEST_PATH];
  furrow_matrix_meta *made = NULL, *angels = NULL;
  size_t size = 0, wanted_size = 0;
  char *bytes = NULL, *wanted = golden_read(golden_path(path, golden), "_meta", &wanted_size);
  assert_non_null(wanted);
  assert_int_equal(furrow_matrix_meta_load(&made, folder, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_matrix_meta_load(&angels, path, NULL, &err), FURROW_OK);
  assert_int_equal(made->part_count, angels->part_count);
  for (size_t i = 0; i < made->part_count; i++) made->parts[i].length = angels->parts[i].length;
  assert_int_equal(furrow_matrix_meta_write(made, &bytes, &size, &err), FURROW_OK);
  assert_int_equal(size, wanted_size);
  assert_memory_equal(bytes, wanted, size);
  furrow_matrix_meta_free(made);
  furrow_matrix_meta_free(angels);
  furrow_free(bytes);
  free(wanted);
}

static void metadata_is_that_of_angel(void **state) {
  (void)state;
  static const struct model lr = {"lr", "range=123"}, fm = {"fm", "range=148 rank=4 lr=0.01"};
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  furrow_trainer *trainer = trained(&lr);
  assert_int_equal(furrow_trainer_save(trainer, "model", &params, &err), FURROW_OK);
  expect_metadata("model/input_weight", "angel/lr-input_weight-dense");
  expect_metadata("model/input_bias", "angel/lr-input_bias");
  furrow_trainer_free(trainer);
  trainer = trained(&fm);
  params.servers = 2;
  assert_int_equal(furrow_trainer_save(trainer, "model", &params, &err), FURROW_OK);
  expect_metadata("model/embedding_embedding", "angel/fm-embedding");
  furrow_trainer_free(trainer);
}

/* nnz of sparse rows: weights and state have every feature, the gradient has none. */
static void sparse_rows_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *optimizer;
    int64_t arrays;
  } cases[] = {{"sgd", 1}, {"momentum", 2}, {"adam", 3}};
  FILE *file = fopen("gaps", "w");
  assert_non_null(file);
  assert_true(fputs("1 2:1 5:1\n0 9:1\n", file) >= 0 && fclose(file) == 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char settings[128];
    furrow_matrix_meta *meta = NULL;
    snprintf(settings, sizeof settings, "epochs=1 valid-ratio=0 rank=2 model-type=T_FLOAT_SPARSE optimizer=%s",
             cases[i].optimizer);
    furrow_trainer *trainer = new_trainer("fm", settings, 1, false);
    fit_or_fail(trainer, "gaps", NULL, NULL);
    save(trainer, "gaps_model", NULL);
    assert_int_equal(furrow_matrix_meta_load(&meta, "gaps_model/embedding_embedding", NULL, &err), FURROW_OK);
    int64_t nnz = 0;
    for (size_t part = 0; part < meta->part_count; part++) nnz += meta->parts[part].nnz;
    assert_int_equal(nnz, 3 * 2 * cases[i].arrays);
    furrow_matrix_meta_free(meta);
    furrow_trainer_free(trainer);
  }
}

/* ---- Order of fc weights ---- */

/* Writes the weights of an fc layer anew, out x in. */
static void transpose(const char *folder, size_t in, size_t out) {
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *meta = NULL;
  furrow_matrix_write_params params;
  float *turned = calloc(in * out, sizeof *turned);
  assert_int_equal(furrow_matrix_load(&matrix, folder, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_matrix_meta_load(&meta, folder, NULL, &err), FURROW_OK);
  for (size_t i = 0; i < in; i++)
    for (size_t j = 0; j < out; j++) turned[j * in + i] = (float)furrow_matrix_get(matrix, 0, (int64_t)(i * out + j));
  static const int32_t row = 0;
  const furrow_panel panel = {
      .rows = 1, .row_ids = &row, .cols = in * out, .type = FURROW_ELEMENT_F32, .values = {turned}};
  furrow_matrix *other = NULL;
  assert_int_equal(furrow_matrix_create(&other, &panel, 1, &err), FURROW_OK);
  furrow_matrix_write_params_init(&params);
  params.overwrite = true;
  assert_int_equal(furrow_matrix_save(other, folder, meta, &params, &err), FURROW_OK);
  furrow_matrix_free(other);
  furrow_matrix_free(matrix);
  furrow_matrix_meta_free(meta);
  free(turned);
}

static void weights_of_serving_are_turned(void **state) {
  (void)state;
  static furrow_score before[TEST_ROWS], after[TEST_ROWS];
  furrow_trainer *trainer = trained(&models[6]);
  save(trainer, "model", NULL);
  furrow_scorer *scorer = opened("model"), *other = NULL;
  score_all(scorer, before);
  transpose("model/fclayer_0_weight", 24, 10);
  furrow_scorer_params params;
  furrow_scorer_params_init(&params);
  params.fc_order = FURROW_FC_OUT_IN;
  assert_int_equal(furrow_scorer_load(&other, "model", &params, &err), FURROW_OK);
  score_all(other, after);
  assert_memory_equal(before, after, sizeof before);
  furrow_scorer_free(scorer);
  furrow_scorer_free(other);
  furrow_trainer_free(trainer);
}

/* ---- What does not fit ---- */

static void refused(const char *model, const struct model *graph, furrow_status status, const char *message) {
  furrow_scorer *scorer = NULL;
  furrow_scorer_params params;
  furrow_learn_conf *conf = graph ? conf_builtin(graph->algorithm, graph->settings) : NULL;
  furrow_scorer_params_init(&params);
  params.conf = conf;
  assert_int_equal(furrow_scorer_load(&scorer, model, &params, &err), status);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  assert_null(scorer);
  furrow_learn_conf_free(conf);
}

static void misfits_are_named(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[6]);
  save(trainer, "model", NULL);
  static const struct model fewer = {"wide_and_deep", "rank=4 fields=6 fc=10 range=100"},
                            higher = {"wide_and_deep", "rank=9 fields=6 fc=10 range=120"},
                            wider = {"wide_and_deep", "rank=4 fields=6 fc=11 range=120"},
                            deeper = {"wide_and_deep", "rank=4 fields=6 fc=10,10 range=120"};
  refused("model", &fewer, FURROW_E_FORMAT, "input_weight has column 100, but the layer has 100 columns");
  refused("model", &higher, FURROW_E_FORMAT, "embedding_embedding has no row 4, but the layer has 9");
  refused("model", &wider, FURROW_E_FORMAT, "fclayer_0_weight has 240 columns, but the layer has 264");
  refused("model", &deeper, FURROW_E_NOT_FOUND, "the matrix is missing, but the graph has it");
  assert_non_null(strstr(err.file, "fclayer_1"));
  assert_int_equal(remove("model/graph.json"), 0);
  refused("model", NULL, FURROW_E_NOT_FOUND, "");
  assert_non_null(strstr(err.file, "graph.json"));
  refused("nowhere", NULL, FURROW_E_NOT_FOUND, "");
  furrow_trainer_free(trainer);
}

/* A format that nobody registered is not a missing matrix. */
static void unknown_formats_are_named(void **state) {
  (void)state;
  furrow_matrix_meta *meta = NULL;
  char *bytes = NULL;
  size_t size = 0;
  furrow_trainer *trainer = trained(&models[0]);
  save(trainer, "model", NULL);
  assert_int_equal(furrow_matrix_meta_load(&meta, "model/input_weight", NULL, &err), FURROW_OK);
  meta->format_class_name = "com.example.NewFormat";
  assert_int_equal(furrow_matrix_meta_write(meta, &bytes, &size, &err), FURROW_OK);
  FILE *file = fopen("model/input_weight/_meta", "wb");
  assert_non_null(file);
  assert_true(fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
  refused("model", NULL, FURROW_E_NOT_FOUND, "no such format");
  assert_string_equal(err.token, "com.example.NewFormat");
  assert_non_null(strstr(err.hint, "ColIdValueText"));
  furrow_free(bytes);
  furrow_matrix_meta_free(meta);
  furrow_trainer_free(trainer);
}

static void saving_keeps_what_exists(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[0]);
  assert_int_equal(mkdir("taken", 0777), 0);
  FILE *file = fopen("taken/mine", "w");
  assert_non_null(file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(furrow_trainer_save(trainer, "taken", NULL, &err), FURROW_E_EXISTS);
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  assert_int_equal(furrow_trainer_save(trainer, "taken", &params, &err), FURROW_E_EXISTS); /* not a model */
  assert_int_equal(access("taken/mine", F_OK), 0);
  furrow_trainer_free(trainer);
}

/* ---- Going on from a model ---- */

static void incremental_training_takes_new_features(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[3]), *more = NULL;
  save(trainer, "model", NULL);
  FILE *file = fopen("new", "w");
  assert_non_null(file);
  for (int i = 0; i < 200; i++) fprintf(file, "%d 1:1 %d:1\n", i % 2, 500 + i % 2);
  assert_int_equal(fclose(file), 0);
  furrow_learn_conf *conf = conf_builtin("fm", "rank=4 lr=0.5 epochs=5 optimizer=sgd valid-ratio=0");
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.load = "model";
  assert_int_equal(furrow_trainer_create(&more, conf, &params, &err), FURROW_OK);
  const float *old = fw_parameters_feature(trainer->parameters, 2, 7, 0);
  assert_memory_equal(fw_parameters_feature(more->parameters, 2, 7, 0), old, 4 * sizeof *old);
  assert_null(fw_parameters_feature(more->parameters, 2, 500, 0));
  fit_or_fail(more, "new", NULL, NULL);
  assert_non_null(fw_parameters_feature(more->parameters, 2, 500, 0));
  assert_memory_equal(fw_parameters_feature(more->parameters, 2, 7, 0), old,
                      4 * sizeof *old); /* was not in these rows */
  assert_true(epoch_at(more, 4)->train->auc > 0.99);
  furrow_learn_conf_free(conf);
  furrow_trainer_free(more);
  furrow_trainer_free(trainer);
}

/* ---- Threads ---- */

typedef struct thread_job {
  const furrow_scorer *scorer;
  furrow_score scores[TEST_ROWS];
} thread_job;

static void *score_in_thread(void *user) {
  thread_job *job = user;
  score_all(job->scorer, job->scores);
  return NULL;
}

static void threads_score_at_once(void **state) {
  (void)state;
  static thread_job jobs[4];
  furrow_trainer *trainer = trained(&models[5]);
  furrow_scorer *scorer = NULL;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  pthread_t threads[4];
  for (int t = 0; t < 4; t++) {
    jobs[t].scorer = scorer;
    assert_int_equal(pthread_create(&threads[t], NULL, score_in_thread, &jobs[t]), 0);
  }
  for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
  for (int t = 1; t < 4; t++) assert_memory_equal(jobs[0].scores, jobs[t].scores, sizeof jobs[0].scores);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

/* ---- Evaluation ---- */

/* Rows of classes, and cells of the confusion matrix, are all rows, and those of its diagonal are the right ones. */
static void check_classes(const furrow_evaluation *evaluation, const furrow_learn_metrics *metrics) {
  const size_t classes = furrow_evaluation_class_count(evaluation);
  double rows = 0, cells = 0, right = 0;
  assert_int_equal(classes == 0, isnan(metrics->accuracy));
  for (size_t i = 0; i < classes; i++) {
    furrow_class_figures f;
    furrow_class_figures_init(&f);
    furrow_evaluation_get_class(evaluation, i, &f);
    assert_true(f.label == (isnan(metrics->auc) ? (double)i : i == 0 ? -1 : 1));
    assert_true(f.right == furrow_evaluation_confusion(evaluation, i, i));
    rows += f.rows;
    right += f.right;
    for (size_t j = 0; j < classes; j++) cells += furrow_evaluation_confusion(evaluation, i, j);
  }
  if (classes == 0) return;
  assert_true(rows == metrics->weight && cells == rows);
  assert_true(right / rows == metrics->accuracy);
}

static void evaluation_is_that_of_training(void **state) {
  (void)state;
  for (size_t m = 0; m < MODELS; m++) {
    furrow_trainer *trainer = trained(&models[m]);
    furrow_scorer *scorer = NULL;
    furrow_scorer_scratch *space = NULL;
    furrow_evaluation *whole = NULL, *halves[2] = {0};
    furrow_learn_metrics expected, found, merged;
    furrow_learn_metrics_init(&expected);
    furrow_learn_metrics_init(&found);
    furrow_learn_metrics_init(&merged);
    assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
    assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
    rows_of rows = read_test(scorer);
    assert_int_equal(furrow_trainer_evaluate(trainer, rows.block, &expected, &err), FURROW_OK);
    assert_int_equal(furrow_evaluation_create(&whole, scorer, &err), FURROW_OK);
    assert_int_equal(furrow_evaluation_add_block(whole, space, rows.block, &err), FURROW_OK);
    furrow_evaluation_get_metrics(whole, &found);
    assert_memory_equal(&expected, &found, sizeof found);
    for (size_t h = 0; h < 2; h++) {
      furrow_rowblock half;
      assert_int_equal(furrow_rowblock_slice(rows.block, h * 100, h ? TEST_ROWS : 100, &half, &err), FURROW_OK);
      assert_int_equal(furrow_evaluation_create(&halves[h], scorer, &err), FURROW_OK);
      assert_int_equal(furrow_evaluation_add_block(halves[h], space, &half, &err), FURROW_OK);
    }
    furrow_evaluation_merge(halves[0], halves[1]);
    furrow_evaluation_get_metrics(halves[0], &merged);
    assert_int_equal(merged.rows, found.rows);
    assert_true(fabs(merged.loss - found.loss) < 1e-12 * (1 + fabs(found.loss)));
    assert_memory_equal(&merged.auc, &found.auc, sizeof found.auc);
    assert_memory_equal(&merged.pr_auc, &found.pr_auc, sizeof found.pr_auc);
    assert_int_equal(found.binned, 0);
    check_classes(whole, &found);
    furrow_evaluation_free(halves[0]);
    furrow_evaluation_free(halves[1]);
    furrow_evaluation_free(whole);
    furrow_sample_reader_close(rows.samples);
    furrow_scorer_scratch_free(space);
    furrow_scorer_free(scorer);
    furrow_trainer_free(trainer);
  }
}

typedef struct asking {
  const furrow_evaluation *evaluation;
  furrow_learn_metrics metrics;
  furrow_curve_point points[16];
  size_t count;
} asking;

static void *ask(void *user) {
  asking *a = user;
  furrow_learn_metrics_init(&a->metrics);
  a->count = furrow_evaluation_roc_curve(a->evaluation, a->points, 16);
  furrow_evaluation_get_metrics(a->evaluation, &a->metrics);
  return NULL;
}

/* The thread that asks first sorts the rows. */
static void threads_ask_at_once(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[0]);
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_evaluation *evaluation = NULL;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
  rows_of rows = read_test(scorer);
  assert_int_equal(furrow_evaluation_add_block(evaluation, space, rows.block, &err), FURROW_OK);
  asking askers[4] = {0};
  pthread_t threads[4];
  for (int t = 0; t < 4; t++) {
    askers[t].evaluation = evaluation;
    assert_int_equal(pthread_create(&threads[t], NULL, ask, &askers[t]), 0);
  }
  for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
  assert_int_equal(askers[0].count, 16);
  assert_true(askers[0].points[15].x == 1 && askers[0].points[15].y == 1);
  for (int t = 1; t < 4; t++) {
    assert_memory_equal(&askers[0].metrics, &askers[t].metrics, sizeof askers[t].metrics);
    assert_memory_equal(askers[0].points, askers[t].points, sizeof askers[t].points);
  }
  furrow_sample_reader_close(rows.samples);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

/* Groups whose rows are in several evaluations are ranked together once these are merged; a model that ranks has no
 * curves. */
static void groups_are_merged(void **state) {
  (void)state;
  enum { RANKED = 60 };
  FILE *file = fopen("ranked", "w");
  assert_non_null(file);
  for (unsigned i = 0; i < RANKED; i++)
    fprintf(file, "%u qid:%u 1:%u 2:%u\n", i / 6 % 3, 1 + i % 6, i * 7 % 9, i * 11 % 4);
  assert_int_equal(fclose(file), 0);
  furrow_trainer *trainer = new_trainer("gbdt", "trees=2 depth=2 objective=rank:ndcg valid-ratio=0", 1, false);
  fit_or_fail(trainer, "ranked", NULL, NULL);
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block = NULL;
  furrow_evaluation *whole = NULL, *parts[2] = {0};
  furrow_learn_metrics found, merged;
  furrow_curve_point point = {.x = 7};
  furrow_learn_metrics_init(&found);
  furrow_learn_metrics_init(&merged);
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_open(&samples, furrow_scorer_conf(scorer), "ranked", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_next(samples, &block, &err), FURROW_OK);
  assert_int_equal(block->size, RANKED);
  assert_int_equal(furrow_evaluation_create(&whole, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_add_block(whole, space, block, &err), FURROW_OK);
  furrow_evaluation_get_metrics(whole, &found);
  assert_true(found.ndcg > 0 && found.ndcg <= 1);
  for (size_t h = 0; h < 2; h++) { /* row 25 is within all groups */
    furrow_rowblock part;
    assert_int_equal(furrow_rowblock_slice(block, h * 25, h ? RANKED : 25, &part, &err), FURROW_OK);
    assert_int_equal(furrow_evaluation_create(&parts[h], scorer, &err), FURROW_OK);
    assert_int_equal(furrow_evaluation_add_block(parts[h], space, &part, &err), FURROW_OK);
  }
  furrow_evaluation_merge(parts[0], parts[1]);
  furrow_evaluation_get_metrics(parts[0], &merged);
  assert_int_equal(merged.rows, RANKED);
  assert_true(merged.ndcg == found.ndcg);
  assert_int_equal(furrow_evaluation_roc_curve(whole, &point, 1), 0);
  assert_int_equal(furrow_evaluation_pr_curve(whole, &point, 1), 0);
  assert_true(point.x == 7);
  furrow_rowblock bare = *block;
  bare.qid = NULL;
  assert_int_equal(furrow_evaluation_add_block(whole, space, &bare, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "row 61: the row has no qid, the group whose rows the model ranks");
  furrow_evaluation_get_metrics(whole, &merged);
  assert_memory_equal(&merged, &found, sizeof found);
  for (size_t h = 0; h < 2; h++) furrow_evaluation_free(parts[h]);
  furrow_evaluation_free(whole);
  furrow_sample_reader_close(samples);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

static void labels_that_a_loss_cannot_take_are_refused(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[11]); /* softmax of 2 classes */
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_evaluation *evaluation = NULL;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  furrow_learn_conf *conf = conf_builtin("softmax", "range=120 classes=2 label=AddOneTrans");
  furrow_scorer_params params;
  furrow_scorer_params_init(&params);
  params.conf = conf;
  furrow_scorer_free(scorer);
  save(trainer, "model", NULL);
  assert_int_equal(furrow_scorer_load(&scorer, "model", &params, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
  rows_of rows = read_test(scorer); /* labels 1 and -1 become 2 and 0 */
  assert_int_equal(furrow_evaluation_add_block(evaluation, space, rows.block, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "SoftmaxLoss cannot take the label 2"));
  furrow_sample_reader_close(rows.samples);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  furrow_learn_conf_free(conf);
  furrow_trainer_free(trainer);
}

/* ---- Vectors ---- */

/* The score of a query and an item together is z(query) + <q, t>; so the order of items is that of inner products. */
static void inner_products_rank_as_the_model(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[3]);
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  size_t size = 0;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_vector_size(scorer, &size, &err), FURROW_OK);
  assert_int_equal(size, 5);
  for (uint32_t user = 0; user < CLICK_VALUES; user++) {
    const uint32_t query[2] = {user, CLICK_VALUES + 3};
    const furrow_row asked = {.length = 2, .index = {query}};
    float q[5], t[5];
    double rest = 0;
    assert_int_equal(furrow_scorer_query_vector(scorer, &asked, q, &rest, &err), FURROW_OK);
    for (uint32_t item = 0; item < CLICK_VALUES; item++) { /* an item of two features */
      const uint32_t found[2] = {2 * CLICK_VALUES + item, 3 * CLICK_VALUES + item / 2};
      const uint32_t both[4] = {query[0], query[1], found[0], found[1]};
      const furrow_row thing = {.length = 2, .index = {found}}, together = {.length = 4, .index = {both}};
      furrow_score score;
      assert_int_equal(furrow_scorer_item_vector(scorer, &thing, t, &err), FURROW_OK);
      assert_int_equal(furrow_scorer_score_row(scorer, space, &together, &score, &err), FURROW_OK);
      double product = rest;
      for (size_t k = 0; k < size; k++) product += (double)q[k] * (double)t[k];
      assert_true(fabs(product - score.pred) < 1e-5);
    }
  }
  uint64_t *ids = NULL;
  size_t count = 0;
  assert_int_equal(furrow_scorer_features(scorer, 20, 40, &ids, &count, &err), FURROW_OK);
  assert_int_equal(count, 20);
  assert_int_equal(ids[0], 20);
  furrow_free(ids);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

static void vectors_need_a_factorization_machine(void **state) {
  (void)state;
  furrow_trainer *trainer = trained(&models[0]);
  furrow_scorer *scorer = NULL;
  size_t size = 0;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_vector_size(scorer, &size, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "BiInnerSumCross"));
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

/* ---- The first index ---- */

static furrow_status open_with(const furrow_learn_conf *conf, const char *uri, uint64_t *first) {
  rows_of rows = {0};
  const furrow_status status = furrow_sample_reader_open(&rows.samples, conf, uri, NULL, &err);
  if (status != FURROW_OK) return status;
  assert_int_equal(furrow_sample_reader_next(rows.samples, &rows.block, &err), FURROW_OK);
  *first = furrow_keys_get(rows.block->index, rows.block->key_type, 0);
  furrow_sample_reader_close(rows.samples);
  return FURROW_OK;
}

static void a_uri_may_say_the_first_index(void **state) {
  (void)state;
  furrow_learn_conf *conf = NULL;
  uint64_t first = 9;
  assert_true(test_write_text("rows", "1 4:1 5:0.5\n-1 7:2\n"));
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "lr", &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "format", "libsvm", &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "index-base", "auto", &err), FURROW_OK);
  assert_int_equal(open_with(conf, "rows", &first), FURROW_E_ARGUMENT);
  assert_int_equal(open_with(conf, "rows?indexing_mode=-1", &first), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "do not tell which index is the first"));
  assert_int_equal(open_with(conf, "rows?indexing_mode=0", &first), FURROW_OK);
  assert_int_equal(first, 4);
  assert_int_equal(open_with(conf, "rows?indexing_mode=1", &first), FURROW_OK);
  assert_int_equal(first, 3);
  furrow_learn_conf_free(conf);
}

/* ---- Matrices that Angel wrote ---- */

static void matrices_of_angel_are_scored(void **state) {
  (void)state;
  char path[TEST_PATH];
  furrow_scorer_scratch *space = NULL;
  rows_of rows = {0};
  furrow_score scores[2];
  assert_true(test_write_text("rows", "1 4:1 5:0.5\n-1 7:2\n"));
  furrow_scorer *scorer = opened(golden_lr(path));
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_open(&rows.samples, furrow_scorer_conf(scorer), "rows", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_next(rows.samples, &rows.block, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_score_block(scorer, space, rows.block, scores, &err), FURROW_OK);
  /* weights of columns 3, 4 and 6, and the bias: libsvm counts from 1 */
  assert_true(fabs(scores[0].pred - (16.0 + 0.5 * 6.5106864 - 0.073112495)) < 1e-5);
  assert_true(fabs(scores[1].pred - (2 * -1.5 - 0.073112495)) < 1e-6);
  assert_true(scores[0].label == 1 && scores[1].label == -1);
  furrow_sample_reader_close(rows.samples);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
}

/* Accuracy of golden real_models/lr: 84.8 % on a9a's training data, which counts from 1. */
static void a_genuine_model_scores_as_it_should(void **state) {
  (void)state;
  char model[TEST_PATH], data[TEST_PATH];
  if (!test_shared(model, "golden/angel/real_models/lr") || !test_shared(data, "data/a9a_123d_train.libsvm")) skip();
  furrow_scorer *scorer = opened(model);
  furrow_scorer_scratch *space = NULL;
  furrow_evaluation *evaluation = NULL;
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block = NULL;
  furrow_learn_metrics metrics;
  furrow_learn_metrics_init(&metrics);
  assert_int_equal(furrow_scorer_scratch_create(&space, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_evaluation_create(&evaluation, scorer, &err), FURROW_OK);
  assert_int_equal(furrow_sample_reader_open(&samples, furrow_scorer_conf(scorer), data, NULL, &err), FURROW_OK);
  while (furrow_sample_reader_next(samples, &block, &err) == FURROW_OK)
    assert_int_equal(furrow_evaluation_add_block(evaluation, space, block, &err), FURROW_OK);
  furrow_evaluation_get_metrics(evaluation, &metrics);
  assert_int_equal(metrics.rows, 32561);
  assert_true(fabs(metrics.accuracy - 0.848) < 0.0005);
  assert_true(fabs(metrics.auc - 0.904) < 0.0005);
  furrow_sample_reader_close(samples);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_saved_model_scores_as_the_trainer),
      cmocka_unit_test(features_may_be_missing),
      cmocka_unit_test(values_alone_need_dense_rows),
      cmocka_unit_test(every_format_holds_the_model),
      cmocka_unit_test(the_separator_is_that_of_the_formats),
      cmocka_unit_test(matrices_are_those_of_angel),
      cmocka_unit_test(metadata_is_that_of_angel),
      cmocka_unit_test(sparse_rows_are_counted),
      cmocka_unit_test(weights_of_serving_are_turned),
      cmocka_unit_test(misfits_are_named),
      cmocka_unit_test(unknown_formats_are_named),
      cmocka_unit_test(saving_keeps_what_exists),
      cmocka_unit_test(incremental_training_takes_new_features),
      cmocka_unit_test(threads_score_at_once),
      cmocka_unit_test(evaluation_is_that_of_training),
      cmocka_unit_test(threads_ask_at_once),
      cmocka_unit_test(groups_are_merged),
      cmocka_unit_test(labels_that_a_loss_cannot_take_are_refused),
      cmocka_unit_test(inner_products_rank_as_the_model),
      cmocka_unit_test(vectors_need_a_factorization_machine),
      cmocka_unit_test(a_uri_may_say_the_first_index),
      cmocka_unit_test(matrices_of_angel_are_scored),
      cmocka_unit_test(a_genuine_model_scores_as_it_should),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
