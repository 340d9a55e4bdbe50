/* tests/unit/ranks/test_prepare_ranks.c: trainings with default settings over ranks, which here are threads: they find
 * the same facts as one process, settle the same keys, hold out the same rows and end with the same weights. */
#include "learn/data/data_facts.h"
#include "learn/data/samples.h"
#include "support/made_forest.h"
#include "support/own_data.h"
#include "support/thread_ranks.h"

enum { MOST_RANKS = 5 };

static const unsigned rank_counts[] = {1, 2, 3, 5};
enum { COUNTS = sizeof rank_counts / sizeof *rank_counts };

/* ---- A training of one rank ---- */

typedef struct training {
  furrow_comm comm;
  bool alone; /* without a communicator */
  const char *algorithm, *settings, *data, *valid;
  unsigned folds;
  bool stream;
  furrow_trainer *trainer;
  furrow_status status;
  furrow_error error;
} training;

static furrow_status start(training *t) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.threads = 1;
  params.comm = t->alone ? NULL : &t->comm;
  furrow_status status = furrow_learn_conf_create(&conf, &t->error);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, t->algorithm, &t->error);
  conf_set_all(conf, t->settings);
  if (status == FURROW_OK) status = furrow_trainer_create(&t->trainer, conf, &params, &t->error);
  furrow_learn_conf_free(conf);
  return status;
}

static void *train(void *item) {
  training *t = item;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.folds = t->folds;
  params.fold = t->folds ? 1 : 0;
  params.stream = t->stream;
  t->status = start(t);
  if (t->status == FURROW_OK) t->status = furrow_trainer_fit(t->trainer, t->data, t->valid, &params, &t->error);
  return NULL;
}

static training train_alone(training t) {
  t.alone = true;
  train(&t);
  return t;
}

static void train_ranks(training *ranks, unsigned count, const training *like) {
  for (unsigned r = 0; r < count; r++) {
    ranks[r] = *like;
    ranks[r].alone = false;
    ranks[r].trainer = NULL;
    ranks[r].comm = thread_comm(r, count);
  }
  run_threads(count, train, ranks, sizeof *ranks);
}

static void free_ranks(training *ranks, unsigned count) {
  for (unsigned r = 0; r < count; r++) furrow_trainer_free(ranks[r].trainer);
}

/* ---- Comparisons ---- */

static void compare_keys(const furrow_trainer *a, const furrow_trainer *b) {
  static const char *const keys[] = {"format",       "index-base", "labels",      "classes",   "fields",  "epochs",
                                     "l2",           "loss",       "huber-delta", "range",     "columns", "scale",
                                     "label-column", "short-rows", "delimiter",   "model-type"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    assert_string_equal(furrow_learn_conf_get(a->conf, keys[i]), furrow_learn_conf_get(b->conf, keys[i]));
}

static void compare_seen(const furrow_trainer *a, const furrow_trainer *b) {
  assert_int_equal(a->seen.rows, b->seen.rows);
  assert_int_equal(a->seen.digest, b->seen.digest);
  assert_int_equal(a->seen.scaled, b->seen.scaled);
  assert_int_equal(a->seen.centred, b->seen.centred);
  assert_true(a->seen.label_mean == b->seen.label_mean && a->seen.label_factor == b->seen.label_factor);
  assert_int_equal(a->seen.exact, b->seen.exact);
  assert_int_equal(a->seen.saved_epoch, b->seen.saved_epoch);
  assert_int_equal(a->fell_back, b->fell_back);
  assert_int_equal(a->steps.halvings, b->steps.halvings);
  assert_int_equal(a->train_read.rows, b->train_read.rows);
  assert_int_equal(a->train_read.bad_rows, b->train_read.bad_rows);
}

static void compare_notes(const furrow_trainer *a, const furrow_trainer *b) {
  assert_int_equal(a->note_count, b->note_count);
  for (size_t i = 0; i < a->note_count; i++) {
    assert_string_equal(a->notes[i].text, b->notes[i].text);
    assert_int_equal(a->notes[i].warning, b->notes[i].warning);
  }
}

static void assert_near(double a, double b, double share) {
  if (isnan(a) && isnan(b)) return;
  if (!(fabs(a - b) <= share * fmax(fabs(a), fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

static void compare_metrics(const furrow_learn_metrics *a, const furrow_learn_metrics *b, double share) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->binned, b->binned);
  assert_near(a->loss, b->loss, share);
  assert_near(a->auc, b->auc, share);
  assert_near(a->rmse, b->rmse, share);
  assert_near(a->accuracy, b->accuracy, share);
}

static void compare_history(const furrow_trainer *a, const furrow_trainer *b, double share) {
  assert_int_equal(a->epochs, b->epochs);
  assert_int_equal(a->best, b->best);
  for (size_t i = 0; i < a->epochs; i++) {
    compare_metrics(&a->history[i].train, &b->history[i].train, share);
    compare_metrics(&a->history[i].valid, &b->history[i].valid, share);
  }
  compare_metrics(&a->fold, &b->fold, share);
}

/* share 0: the same bytes. */
static void compare_numbers(const fw_parameters *net, const void *a, const void *b, size_t count, double share) {
  const bool wide = net->element == sizeof(double);
  for (size_t i = 0; i < count; i++)
    assert_near(wide ? ((const double *)a)[i] : (double)((const float *)a)[i],
                wide ? ((const double *)b)[i] : (double)((const float *)b)[i], share);
}

/* The features of a rank's net, of which there must be as many as in that of one process, over all ranks. */
static size_t compare_weights(const fw_parameters *rank, const fw_parameters *alone, double share) {
  uint64_t *keys = NULL;
  size_t count = 0;
  assert_int_equal(fw_parameters_keys(rank, &keys, &count, NULL), FURROW_OK);
  for (size_t p = 0; p < alone->count; p++) {
    const fw_parameter *about = &alone->list[p];
    if (!about->by_feature)
      compare_numbers(alone, fw_parameters_dense(rank, p, 0), fw_parameters_dense(alone, p, 0), (size_t)about->cols,
                      share);
    for (size_t i = 0; about->by_feature && i < count; i++) {
      const uint64_t key = keys ? keys[i] : i;
      assert_non_null(fw_parameters_feature(alone, p, key, 0));
      compare_numbers(alone, fw_parameters_feature(rank, p, key, 0), fw_parameters_feature(alone, p, key, 0),
                      about->rows, share);
    }
  }
  free(keys);
  return count;
}

static size_t features_of(const fw_parameters *net) {
  uint64_t *keys = NULL;
  size_t count = 0;
  assert_int_equal(fw_parameters_keys(net, &keys, &count, NULL), FURROW_OK);
  free(keys);
  return count;
}

static void compare_ranks(const training *ranks, unsigned count, const training *alone, double share) {
  size_t features = 0;
  for (unsigned r = 0; r < count; r++) {
    if (ranks[r].status != FURROW_OK) print_message("%s %s\n", ranks[r].algorithm, ranks[r].error.message);
    assert_int_equal(ranks[r].status, FURROW_OK);
    compare_keys(ranks[r].trainer, alone->trainer);
    compare_seen(ranks[r].trainer, alone->trainer);
    compare_notes(ranks[r].trainer, alone->trainer);
    compare_history(ranks[r].trainer, alone->trainer, share);
    features += compare_weights(ranks[r].trainer->parameters, alone->trainer->parameters, share);
  }
  assert_int_equal(features, features_of(alone->trainer->parameters));
}

/* share: by which weights may differ. */
static void compare_all(training like, double share) {
  training alone = train_alone(like);
  if (alone.status != FURROW_OK) print_message("%s %s\n", like.algorithm, alone.error.message);
  assert_int_equal(alone.status, FURROW_OK);
  for (size_t i = 0; i < COUNTS; i++) {
    training ranks[MOST_RANKS];
    train_ranks(ranks, rank_counts[i], &like);
    compare_ranks(ranks, rank_counts[i], &alone, share);
    free_ranks(ranks, rank_counts[i]);
  }
  furrow_trainer_free(alone.trainer);
}

/* ---- Data ---- */

/* `most` features in a row, from `base` on; the last rows alone have index `base` and, with `classes`, the last class.
 */
static void write_late(const char *path, size_t rows, unsigned base, unsigned classes) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, 11);
  for (size_t i = 0; i < rows; i++) {
    const bool late = i + 20 >= rows;
    const unsigned a = base + 1 + (unsigned)fw_rng_below(&rng, 40), b = base + 41 + (unsigned)fw_rng_below(&rng, 9);
    fprintf(file, "%u", late ? classes - (unsigned)(i % 2) : 1 + (a + (unsigned)fw_rng_below(&rng, 9)) % (classes - 1));
    if (late && i % 3) fprintf(file, " %u:1", base);
    fprintf(file, " %u:%g %u:%g\n", a, 1 + fw_rng_double(&rng), b, late ? 30.5 : 2.25);
  }
  assert_int_equal(fclose(file), 0);
}

/* A column of numbers, one that looks like text is not there; some cells are empty. */
static void write_table(const char *path, size_t rows) {
  FILE *file = begin_file(path);
  fw_rng rng;
  fw_rng_init(&rng, 12);
  fputs("age,price,visits,label\n", file);
  for (size_t i = 0; i < rows; i++) {
    const double age = 40 + 12 * fw_rng_normal(&rng), price = 2000 + 300 * fw_rng_normal(&rng);
    fprintf(file, "%.4g,%.6g,", age, price);
    if (i % 7) fprintf(file, "%u", (unsigned)fw_rng_below(&rng, 9));
    fprintf(file, ",%d\n", age + 0.01 * price + 5 * fw_rng_normal(&rng) > 60);
  }
  assert_int_equal(fclose(file), 0);
}

static int write_data(void **state) {
  static const float labels[] = {1, 2, 3};
  if (enter_dir(state) != 0) return -1;
  write_chances("plain", 1500, 0, 3);
  write_chances("product", 600, 4, 1);
  write_quantities("quantities", 500);
  write_quantities("quantities.valid", 300);
  write_blobs("classes", 500, 3, labels, 1);
  write_late("late", 700, 1, 2);
  write_late("late.zero", 700, 0, 2);
  write_late("late.classes", 900, 1, 5);
  write_table("table.csv", 800);
  write_clicks("clicks", 2000, 1, 1);
  write_chances("few", 3, 0, 3);
  write_rare_ids("rare", 1500, 1);
  write_noise("noise", 300);
  return 0;
}

/* ---- Tests ---- */

/* By the exact minimum: the same bytes. */
static void exact_minima_are_the_same(void **state) {
  (void)state;
  static const training trainings[] = {
      {.algorithm = "lr", .settings = "", .data = "plain"},
      {.algorithm = "lr", .settings = "", .data = "late"},
      {.algorithm = "lr", .settings = "", .data = "late.zero"},
      {.algorithm = "lr", .settings = "class-weights=balanced", .data = "late"},
      {.algorithm = "lr", .settings = "valid-ratio=0.2", .data = "plain"},
      {.algorithm = "lr", .settings = "", .data = "table.csv"},
      {.algorithm = "linear", .settings = "", .data = "quantities"},
      {.algorithm = "linear", .settings = "", .data = "quantities", .valid = "quantities.valid"},
      {.algorithm = "robust", .settings = "", .data = "quantities"},
      {.algorithm = "softmax", .settings = "", .data = "classes"},
      {.algorithm = "softmax", .settings = "", .data = "late.classes"},
      {.algorithm = "lr", .settings = "", .data = "few"},
      {.algorithm = "lr", .settings = "", .data = "rare"},
      {.algorithm = "lr", .settings = "", .data = "noise"},
  };
  for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) compare_all(trainings[i], 0);
}

/* Vectors by L-BFGS, and their paired test against the linear model. */
static void factorization_machines_are_the_same(void **state) {
  (void)state;
  static const training trainings[] = {
      {.algorithm = "fm", .settings = "epochs=6", .data = "product"},
      {.algorithm = "fm", .settings = "epochs=6", .data = "plain"},
      {.algorithm = "fm", .settings = "epochs=4 loss=l2", .data = "quantities"},
  };
  for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) compare_all(trainings[i], 0);
}

/* Nets, which begin as the linear model: sums over the rows of dense layers are made by rank. */
static void nets_are_about_the_same(void **state) {
  (void)state;
  static const struct {
    training like;
    double share;
  } trainings[] = {
      {{.algorithm = "lr", .settings = "solver=steps epochs=5", .data = "plain"}, 0},
      {{.algorithm = "svm", .settings = "epochs=5", .data = "plain"}, 0},
      {{.algorithm = "mlr", .settings = "epochs=4", .data = "product"}, 0},
      {{.algorithm = "fm", .settings = "solver=steps epochs=4", .data = "clicks"}, 0},
      {{.algorithm = "wide_and_deep", .settings = "epochs=3 fc=8", .data = "clicks"}, 1e-3},
      {{.algorithm = "deepfm", .settings = "epochs=3 fc=8", .data = "product"}, 1e-3},
      {{.algorithm = "dnn", .settings = "epochs=3 input-width=8 fc=8", .data = "late"}, 1e-3},
      {{.algorithm = "pnn", .settings = "epochs=3 fc=8", .data = "clicks"}, 1e-3},
      {{.algorithm = "nfm", .settings = "epochs=3 fc=8", .data = "quantities"}, 1e-3},
  };
  for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
    compare_all(trainings[i].like, trainings[i].share);
  }
}

static void folds_are_the_same(void **state) {
  (void)state;
  compare_all((training){.algorithm = "lr", .settings = "", .data = "late.zero", .folds = 3}, 0);
  compare_all((training){.algorithm = "linear", .settings = "", .data = "quantities", .folds = 4}, 0);
}

/* Held-out rows choose the same number of trees, and the trees of all rows are the same; of streamed rows, too. */
static void forests_are_the_same(void **state) {
  (void)state;
  static const training forests[] = {
      {.algorithm = "gbdt", .settings = "leaves=4 objective=reg:squarederror", .data = "quantities"},
      {.algorithm = "gbdt", .settings = "leaves=4", .data = "plain"}};
  for (size_t f = 0; f < sizeof forests / sizeof *forests; f++) {
    training alone = train_alone(forests[f]);
    assert_int_equal(alone.status, FURROW_OK);
    assert_int_equal(alone.trainer->forest->trees, alone.trainer->best);
    for (size_t i = 0; i < 2 * COUNTS; i++) {
      training ranks[MOST_RANKS], like = forests[f];
      like.stream = i >= COUNTS;
      train_ranks(ranks, rank_counts[i % COUNTS], &like);
      for (unsigned r = 0; r < rank_counts[i % COUNTS]; r++) {
        assert_int_equal(ranks[r].status, FURROW_OK);
        compare_notes(ranks[r].trainer, alone.trainer);
        compare_history(ranks[r].trainer, alone.trainer, 0);
        assert_same_forest(ranks[r].trainer->forest, alone.trainer->forest);
      }
      free_ranks(ranks, rank_counts[i % COUNTS]);
    }
    furrow_trainer_free(alone.trainer);
  }
}

/* ---- Facts ---- */

typedef struct fact_reading {
  furrow_comm comm;
  const char *data;
  bool stream;
  furrow_status status;
  fw_data_facts facts;
  fw_scaling scaling;
  fw_gaps gaps;
} fact_reading;

static void *read_facts(void *item) {
  fact_reading *r = item;
  const fw_data_conf data = {.format = "auto", .index_base = -1, .has_label = true};
  fw_samples *samples = NULL;
  r->status = fw_samples_open(&samples, r->data, &data, NULL, r->stream, &r->comm, NULL);
  if (r->status == FURROW_OK) r->status = fw_data_facts_read(&r->facts, samples, true, NULL);
  if (r->status == FURROW_OK) r->status = fw_data_facts_scaling(&r->facts, true, &r->scaling, NULL);
  if (r->status == FURROW_OK) r->status = fw_data_facts_gaps(&r->facts, &r->gaps, NULL);
  fw_samples_close(samples);
  return NULL;
}

static void clear_facts(fact_reading *r) {
  fw_data_facts_clear(&r->facts);
  fw_scaling_clear(&r->scaling);
}

static void compare_facts(const fact_reading *a, const fact_reading *b) {
  const size_t bytes = b->scaling.count * sizeof(double);
  assert_int_equal(a->status, FURROW_OK);
  assert_memory_equal(&a->facts, &b->facts, offsetof(fw_data_facts, labels));
  assert_memory_equal(a->facts.labels, b->facts.labels, b->facts.label_count * sizeof(double));
  assert_memory_equal(a->facts.of_label, b->facts.of_label, b->facts.label_count * sizeof(uint64_t));
  assert_true(a->facts.label_mean == b->facts.label_mean && a->facts.label_squares == b->facts.label_squares);
  assert_int_equal(a->facts.whole_labels, b->facts.whole_labels);
  assert_int_equal(a->scaling.count, b->scaling.count);
  if (bytes > 0) {
    assert_memory_equal(a->scaling.key, b->scaling.key, bytes);
    assert_memory_equal(a->scaling.mean, b->scaling.mean, bytes);
    assert_memory_equal(a->scaling.factor, b->scaling.factor, bytes);
    assert_memory_equal(a->scaling.slot, b->scaling.slot, bytes);
  }
  assert_int_equal(a->gaps.features, b->gaps.features);
  assert_int_equal(a->gaps.worst, b->gaps.worst);
}

static void facts_are_the_same(void **state) {
  (void)state;
  static const char *const files[] = {"plain", "late", "late.zero", "late.classes", "table.csv", "quantities", "few"};
  for (size_t i = 0; i < 2 * sizeof files / sizeof *files; i++) {
    fact_reading alone = {.comm = *fw_comm_self(), .data = files[i / 2], .stream = i % 2};
    read_facts(&alone);
    assert_int_equal(alone.status, FURROW_OK);
    for (size_t c = 0; c < COUNTS; c++) {
      fact_reading ranks[MOST_RANKS] = {0};
      for (unsigned r = 0; r < rank_counts[c]; r++) {
        ranks[r].data = alone.data;
        ranks[r].stream = alone.stream;
        ranks[r].comm = thread_comm(r, rank_counts[c]);
      }
      run_threads(rank_counts[c], read_facts, ranks, sizeof *ranks);
      for (unsigned r = 0; r < rank_counts[c]; r++) compare_facts(&ranks[r], &alone);
      for (unsigned r = 0; r < rank_counts[c]; r++) clear_facts(&ranks[r]);
    }
    clear_facts(&alone);
  }
}

/* ---- Held-out rows ---- */

typedef struct draw_of_rank {
  furrow_comm comm;
  const furrow_rowblock *all;
  fw_holdout_params params;
  size_t begin, end;
  fw_holdout holdout;
  furrow_status status;
} draw_of_rank;

static void *draw_rank(void *item) {
  draw_of_rank *d = item;
  furrow_rowblock rows = *d->all;
  rows.size = d->end - d->begin;
  rows.offset += d->begin;
  rows.label.f32 += d->begin;
  if (rows.qid) rows.qid = rows.size ? rows.qid + d->begin : NULL;
  d->params.comm = &d->comm;
  d->params.first_row = d->begin;
  d->status = fw_holdout_init(&d->holdout, &rows, &d->params, NULL);
  return NULL;
}

static void compare_draw(const furrow_rowblock *all, fw_holdout_params params, const size_t *cuts, unsigned count) {
  fw_holdout alone;
  draw_of_rank ranks[MOST_RANKS];
  assert_int_equal(fw_holdout_init(&alone, all, &params, NULL), FURROW_OK);
  for (unsigned r = 0; r < count; r++)
    ranks[r] = (draw_of_rank){
        .comm = thread_comm(r, count), .all = all, .params = params, .begin = cuts[r], .end = cuts[r + 1]};
  run_threads(count, draw_rank, ranks, sizeof *ranks);
  for (unsigned r = 0; r < count; r++) {
    uint64_t counted[FW_FOLDS_MAX + 1] = {0};
    assert_int_equal(ranks[r].status, FURROW_OK);
    for (size_t i = cuts[r]; i < cuts[r + 1]; i++) {
      assert_int_equal(ranks[r].holdout.fold_of[i - cuts[r]], alone.fold_of[i]);
      counted[alone.fold_of[i]]++;
    }
    assert_memory_equal(counted, ranks[r].holdout.rows, sizeof counted);
    fw_holdout_clear(&ranks[r].holdout);
  }
  fw_holdout_clear(&alone);
}

static void held_out_rows_are_the_same(void **state) {
  (void)state;
  enum { ROWS = 1000 };
  static float labels[ROWS];
  static uint64_t offset[ROWS + 1], qid[ROWS];
  static const size_t cuts[][MOST_RANKS + 1] = {{0, ROWS}, {0, 300, ROWS}, {0, 0, ROWS, ROWS}, {0, 1, 7, 7, 990, ROWS}};
  static const unsigned counts[] = {1, 2, 3, 5};
  static const fw_holdout_unit units[] = {FW_HOLD_ROWS, FW_HOLD_OF_CLASSES, FW_HOLD_GROUPS};
  for (size_t i = 0; i < ROWS; i++) {
    labels[i] = i < 700 ? -1.F : i < 995 ? 4.F : 9.F;
    qid[i] = i / 6;
  }
  const furrow_rowblock rows = {.size = ROWS,
                                .offset = offset,
                                .label.f32 = labels,
                                .qid = qid,
                                .key_type = FURROW_KEY_U32,
                                .value_type = FURROW_VALUE_F32};
  for (size_t c = 0; c < 4; c++)
    for (size_t u = 0; u < 3; u++) {
      compare_draw(&rows, (fw_holdout_params){.unit = units[u], .folds = 1, .ratio = 0.15, .seed = 4}, cuts[c],
                   counts[c]);
      compare_draw(&rows, (fw_holdout_params){.unit = units[u], .folds = 7, .seed = 5}, cuts[c], counts[c]);
    }
}

/* ---- Failures ---- */

/* One line of one part is malformed: all ranks say so, with its text. */
static void one_malformed_line_fails_everywhere(void **state) {
  (void)state;
  write_chances("malformed", 900, 0, 3);
  FILE *file = fopen("malformed", "a");
  assert_non_null(file);
  fputs("1 3:four 5:1\n", file);
  assert_int_equal(fclose(file), 0);
  for (int stream = 0; stream < 2; stream++)
    for (size_t i = 0; i < COUNTS; i++) {
      training ranks[MOST_RANKS];
      const training like = {.algorithm = "lr", .settings = "", .data = "malformed", .stream = stream};
      train_ranks(ranks, rank_counts[i], &like);
      for (unsigned r = 0; r < rank_counts[i]; r++) {
        assert_int_equal(ranks[r].status, FURROW_E_PARSE);
        assert_string_equal(shared_message(ranks[r].error.message), shared_message(ranks[0].error.message));
        assert_string_equal(ranks[r].error.file, "malformed");
      }
      free_ranks(ranks, rank_counts[i]);
    }
}

/* Labels that do not fit are found by the rows of all ranks. */
static void unfit_labels_fail_everywhere(void **state) {
  (void)state;
  training ranks[MOST_RANKS];
  const training like = {.algorithm = "lr", .settings = "", .data = "late.classes"};
  train_ranks(ranks, 3, &like);
  training alone = train_alone(like);
  for (unsigned r = 0; r < 3; r++) {
    assert_int_equal(ranks[r].status, FURROW_E_ARGUMENT);
    assert_string_equal(ranks[r].error.message, alone.error.message);
  }
  free_ranks(ranks, 3);
  furrow_trainer_free(alone.trainer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(facts_are_the_same),
      cmocka_unit_test(held_out_rows_are_the_same),
      cmocka_unit_test(exact_minima_are_the_same),
      cmocka_unit_test(folds_are_the_same),
      cmocka_unit_test(factorization_machines_are_the_same),
      cmocka_unit_test(nets_are_about_the_same),
      cmocka_unit_test(forests_are_the_same),
      cmocka_unit_test(one_malformed_line_fails_everywhere),
      cmocka_unit_test(unfit_labels_fail_everywhere),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
