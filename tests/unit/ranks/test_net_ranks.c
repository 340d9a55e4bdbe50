/* tests/unit/ranks/test_net_ranks.c: nets that several ranks train together: threads with a communicator of their own.
 */
#include "base/mem.h"
#include "support/made_clicks.h"
#include "support/thread_ranks.h"

enum { MOST_RANKS = 5 };

/* ---- Data ---- */

/* Rows of different length with values; the label is a class of 0 … classes-1, or a number. */
static bool write_rows(const char *path, size_t rows, uint64_t seed, unsigned classes, bool fields) {
  FILE *file = fopen(path, "w");
  fw_rng rng;
  if (!file) return false;
  fw_rng_init(&rng, seed);
  for (size_t row = 0; row < rows; row++) {
    const unsigned count = fields ? 5 : 1 + (unsigned)fw_rng_below(&rng, 9);
    unsigned sum = 0;
    uint64_t key[16];
    for (unsigned i = 0; i < count; i++) {
      key[i] = 1 + 40 * i + fw_rng_below(&rng, 40);
      sum += key[i] % 7;
    }
    if (classes > 2)
      fprintf(file, "%u", (sum + (unsigned)fw_rng_below(&rng, 2)) % classes);
    else if (classes == 2)
      fprintf(file, "%d", (sum + fw_rng_below(&rng, 3)) % 5 > 2 ? 1 : -1);
    else
      fprintf(file, "%g", (double)sum / 10 + fw_rng_normal(&rng) / 4);
    for (unsigned i = 0; i < count; i++) {
      if (fields) fprintf(file, " %u", i + 1);
      fprintf(file, fields ? ":%llu:%g" : " %llu:%g", (unsigned long long)key[i], 0.5 + fw_rng_double(&rng));
    }
    fputc('\n', file);
  }
  return fclose(file) == 0;
}

static bool write_dense(const char *path, size_t rows, uint64_t seed) {
  FILE *file = fopen(path, "w");
  fw_rng rng;
  if (!file) return false;
  fw_rng_init(&rng, seed);
  for (size_t row = 0; row < rows; row++) {
    double x[6], sum = 0;
    for (size_t i = 0; i < 6; i++) sum += x[i] = fw_rng_normal(&rng);
    fprintf(file, "%d", sum + x[0] * x[1] > 0 ? 1 : -1);
    for (size_t i = 0; i < 6; i++) fprintf(file, " %g", x[i]);
    fputc('\n', file);
  }
  return fclose(file) == 0;
}

/* Some keys do not fit 32 bits. */
static bool write_wide(const char *path, size_t rows) {
  FILE *file = fopen(path, "w");
  fw_rng rng;
  if (!file) return false;
  fw_rng_init(&rng, 12);
  for (size_t row = 0; row < rows; row++) {
    const unsigned long long a = fw_rng_below(&rng, 50) + 1, b = fw_rng_below(&rng, 50) * 123456789012ULL + 60;
    fprintf(file, "%d %llu:1 %llu:1\n", (a + b) % 3 ? 1 : -1, a, row < rows / 2 ? b % 1000 + 60 : b);
  }
  return fclose(file) == 0;
}

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  return write_clicks("clicks", 1500, 1, 1) && write_clicks("test", 400, 2, 1) &&
                 write_rows("two", 1200, 3, 2, false) && write_rows("many", 900, 4, 4, false) &&
                 write_rows("numbers", 900, 5, 1, false) && write_rows("fields", 900, 6, 2, true) &&
                 write_rows("few", 3, 7, 2, false) && write_dense("dense", 700, 8) && write_wide("wide", 500)
             ? 0
             : -1;
}

/* ---- Ranks ---- */

typedef struct job {
  const char *algorithm, *settings, *train, *valid;
  unsigned threads;
  uint64_t max_features;
  furrow_trainer_fit_params fit;
} job;

typedef struct rank {
  furrow_comm comm;
  const job *job;
  furrow_trainer *trainer;
  furrow_status status;
  furrow_error error;
} rank;

static furrow_status create(rank *r) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.threads = r->job->threads ? r->job->threads : 1;
  params.comm = &r->comm;
  params.max_features = r->job->max_features;
  furrow_status status = furrow_learn_conf_create(&conf, &r->error);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, r->job->algorithm, &r->error);
  if (!strstr(r->job->settings, "defaults=")) conf_set_all(conf, "defaults=angel shuffle=yes");
  if (status == FURROW_OK) conf_set_all(conf, r->job->settings);
  if (status == FURROW_OK) status = furrow_trainer_create(&r->trainer, conf, &params, &r->error);
  furrow_learn_conf_free(conf);
  return status;
}

static void *train(void *context) {
  rank *r = context;
  r->status = create(r);
  if (r->status == FURROW_OK)
    r->status =
        furrow_trainer_fit(r->trainer, r->job->train, r->job->valid, r->job->fit.size ? &r->job->fit : NULL, &r->error);
  return NULL;
}

static void run_job(rank *ranks, unsigned count, const job *of) {
  for (unsigned i = 0; i < count; i++) ranks[i] = (rank){.comm = thread_comm(i, count), .job = of};
  run_threads(count, train, ranks, sizeof *ranks);
}

static void free_ranks(rank *ranks, unsigned count) {
  for (unsigned i = 0; i < count; i++) furrow_trainer_free(ranks[i].trainer);
}

/* ---- Comparison ---- */

static double number_at(const fw_parameters *net, const void *numbers, size_t i) {
  return net->element == sizeof(float) ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

/* `near` 0: the same bits. */
static void compare(const fw_parameters *net, const void *a, const void *b, size_t count, double near) {
  assert_non_null(a);
  assert_non_null(b);
  if (near == 0 && count) assert_memory_equal(a, b, count * net->element);
  for (size_t i = 0; near > 0 && i < count; i++) {
    const double x = number_at(net, a, i), y = number_at(net, b, i);
    if (!(fabs(x - y) <= near * (1 + fabs(x)))) fail_msg("%g is not %g", y, x);
  }
}

static void compare_nets(const rank *alone, const rank *ranks, unsigned count, double near) {
  const fw_parameters *net = alone->trainer->parameters;
  uint64_t *keys = NULL, all = 0;
  size_t features = 0;
  assert_int_equal(fw_parameters_keys(net, &keys, &features, NULL), FURROW_OK);
  for (unsigned r = 0; r < count; r++) all += fw_parameters_feature_count(ranks[r].trainer->parameters);
  assert_int_equal(all, features);
  for (size_t p = 0; p < net->count; p++) {
    const fw_parameter *about = &net->list[p];
    for (size_t array = 0; array <= about->state; array++) {
      for (unsigned r = 0; !about->by_feature && r < count; r++)
        compare(net, fw_parameters_dense(net, p, array), fw_parameters_dense(ranks[r].trainer->parameters, p, array),
                about->cols, near);
      for (size_t f = 0; about->by_feature && f < features; f++) {
        const uint64_t key = keys ? keys[f] : f;
        const fw_parameters *owner = ranks[key % count].trainer->parameters;
        assert_true(fw_parameters_own(owner, key));
        compare(net, fw_parameters_feature(net, p, key, array), fw_parameters_feature(owner, p, key, array),
                about->rows, near);
      }
    }
  }
  fw_free(keys);
}

static void compare_metrics(const furrow_learn_metrics *a, const furrow_learn_metrics *b, double near) {
  assert_int_equal(a->rows, b->rows);
  if (near == 0) {
    assert_memory_equal(a, b, sizeof *a);
    return;
  }
  assert_true(a->rows == 0 || fabs(a->loss - b->loss) <= near * (1 + fabs(a->loss)));
}

static void compare_histories(const rank *alone, const rank *one, double near) {
  const size_t epochs = furrow_trainer_epoch_count(alone->trainer);
  assert_int_equal(furrow_trainer_epoch_count(one->trainer), epochs);
  for (size_t i = 0; i < epochs; i++) {
    compare_metrics(epoch_at(alone->trainer, i)->train, epoch_at(one->trainer, i)->train, near);
    compare_metrics(epoch_at(alone->trainer, i)->valid, epoch_at(one->trainer, i)->valid, near);
  }
  assert_int_equal(furrow_trainer_best_epoch(alone->trainer), furrow_trainer_best_epoch(one->trainer));
}

static void check_ok(const rank *r) {
  if (r->status == FURROW_OK) assert_false(furrow_trainer_is_exact(r->trainer));
  if (r->status != FURROW_OK) fail_msg("%s %s: %s", r->job->algorithm, r->job->settings, r->error.message);
}

static void check_job(const job *of, double near) {
  static const unsigned counts[] = {2, 3, MOST_RANKS};
  rank alone[1], ranks[MOST_RANKS];
  run_job(alone, 1, of);
  check_ok(alone);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    run_job(ranks, counts[c], of);
    for (unsigned r = 0; r < counts[c]; r++) check_ok(&ranks[r]);
    print_message("%s %s: %u ranks\n", of->algorithm, of->settings, counts[c]);
    compare_nets(alone, ranks, counts[c], near);
    for (unsigned r = 0; r < counts[c]; r++) compare_histories(alone, &ranks[r], near);
    free_ranks(ranks, counts[c]);
  }
  free_ranks(alone, 1);
}

/* ---- The model of one process ---- */

static void sparse_models_have_the_same_bits(void **state) {
  (void)state;
  static const job jobs[] = {
      {.algorithm = "lr", .settings = "lr=0.3 epochs=3 batch=100", .train = "two", .valid = "clicks"},
      {.algorithm = "lr", .settings = "lr=0.3 epochs=2 batch=1100 range=400", .train = "two"},
      {.algorithm = "lr",
       .settings = "lr=0.1 epochs=2 batch=64 optimizer=Adam model-type=T_DOUBLE_DENSE range=400",
       .train = "two",
       .threads = 2},
      {.algorithm = "lr",
       .settings = "lr=0.1 epochs=2 batch=64 optimizer=FTRL range=400 model-type=T_FLOAT_DENSE",
       .train = "two"},
      {.algorithm = "svm", .settings = "lr=0.1 epochs=2 batch=50 valid-ratio=0.3", .train = "two"},
      {.algorithm = "linear", .settings = "lr=0.01 epochs=2 batch=50 sample-ratio=0.6", .train = "numbers"},
      {.algorithm = "robust", .settings = "lr=0.01 epochs=2 batch=50 shuffle=no", .train = "numbers"},
      {.algorithm = "softmax", .settings = "lr=0.1 epochs=2 batch=70 classes=4", .train = "many"},
      {.algorithm = "fm", .settings = "lr=0.1 epochs=3 batch=100 rank=4 range=200", .train = "clicks", .valid = "test"},
      {.algorithm = "fm",
       .settings = "lr=0.05 epochs=2 batch=100 rank=8 optimizer=AdaGrad",
       .train = "two",
       .threads = 3},
      {.algorithm = "fm", .settings = "defaults=furrow epochs=3 rank=4 solver=steps start=random", .train = "two"},
      {.algorithm = "lr", .settings = "defaults=furrow epochs=3 solver=steps class-weights=balanced", .train = "two"},
      {.algorithm = "linear", .settings = "defaults=furrow epochs=3 solver=steps", .train = "numbers"},
      {.algorithm = "lr", .settings = "lr=0.3 epochs=2 updates=7 posneg-ratio=0.5", .train = "two"},
      {.algorithm = "ffm", .settings = "lr=0.05 epochs=2 batch=60 rank=3 fields=5 format=libffm", .train = "fields"},
      {.algorithm = "fm",
       .settings = "lr=0.05 epochs=2 batch=60 rank=2 model-type=T_FLOAT_SPARSE_LONGKEY",
       .train = "wide",
       .valid = "two"},
      {.algorithm = "mlr", .settings = "lr=0.05 epochs=2 batch=60", .train = "two"},
      {.algorithm = "fm",
       .settings = "lr=0.05 epochs=2 batch=70 rank=6 fields=6 optimizer=AdaDelta",
       .train = "clicks"},
      {.algorithm = "fm",
       .settings = "lr=0.01 epochs=2 batch=33 rank=5 optimizer=Momentum model-type=T_DOUBLE_SPARSE",
       .train = "two"},
  };
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) check_job(&jobs[i], 0);
}

static void deep_models_are_near(void **state) {
  (void)state;
  static const job jobs[] = {
      {.algorithm = "deepfm", .settings = "lr=0.05 epochs=2 batch=60 rank=4 fields=6 fc=8,4", .train = "clicks"},
      {.algorithm = "pnn", .settings = "lr=0.05 epochs=2 batch=60 rank=4 fields=6 fc=8", .train = "clicks"},
      {.algorithm = "nfm", .settings = "lr=0.05 epochs=2 batch=60 rank=4 fc=8", .train = "two"},
      {.algorithm = "wide_and_deep",
       .settings = "lr=0.05 epochs=2 batch=60 rank=4 fields=6 fc=8",
       .train = "clicks",
       .threads = 2},
      {.algorithm = "dnn", .settings = "lr=0.05 epochs=2 batch=60 fc=8,5 format=dense range=6", .train = "dense"},
      {.algorithm = "dnn",
       .settings = "lr=0.05 epochs=2 batch=60 fc=8 input-width=12 activation=tanh dropout=0.3",
       .train = "two"},
      {.algorithm = "deepfm", .settings = "defaults=furrow epochs=2 rank=4 fc=8,4 start=random", .train = "clicks"},
  };
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) check_job(&jobs[i], 1e-5);
}

/* ---- Parts of different size ---- */

static void ranks_may_have_no_rows(void **state) {
  (void)state;
  static const job jobs[] = {
      {.algorithm = "lr", .settings = "lr=0.3 epochs=3 batch=2 valid-ratio=0", .train = "few", .valid = "two"},
      {.algorithm = "fm", .settings = "lr=0.3 epochs=2 batch=40 rank=3", .train = "two", .valid = "few"},
  };
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) check_job(&jobs[i], 0);
  const job deep = {
      .algorithm = "nfm", .settings = "lr=0.1 epochs=2 batch=2 fc=4 rank=2 valid-ratio=0", .train = "few"};
  check_job(&deep, 1e-5);
}

/* Each rank has its share of the records, whichever store they are in. */
static void memory_is_divided(void **state) {
  (void)state;
  enum { RANKS = 4 };
  static const char *const settings[] = {"epochs=1 rank=16 range=40000", "epochs=1 rank=16"};
  for (size_t i = 0; i < 2; i++) {
    const job of = {.algorithm = "fm", .settings = settings[i], .train = "two"};
    rank alone[1], ranks[RANKS];
    run_job(alone, 1, &of);
    run_job(ranks, RANKS, &of);
    check_ok(alone);
    const size_t slots = i == 0 ? 0 : 16 * 1024; /* the smallest table */
    const size_t whole = fw_parameters_memory(alone->trainer->parameters) - slots;
    for (unsigned r = 0; r < RANKS; r++) {
      check_ok(&ranks[r]);
      const size_t part = fw_parameters_memory(ranks[r].trainer->parameters) - slots;
      assert_in_range(part, whole / RANKS * 9 / 10, whole / RANKS * 11 / 10 + 64);
    }
    free_ranks(alone, 1);
    free_ranks(ranks, RANKS);
  }
}

/* ---- Epochs that are kept, and such that go wrong ---- */

static void best_epochs_are_restored(void **state) {
  (void)state;
  job of = {.algorithm = "fm", .settings = "lr=0.9 epochs=9 batch=50 rank=8", .train = "two", .valid = "few"};
  furrow_trainer_fit_params_init(&of.fit);
  of.fit.keep_best = true;
  of.fit.patience = 2;
  check_job(&of, 0);
}

/* Training goes back and halves the rate, on all ranks alike. */
static void divergence_is_that_of_one_process(void **state) {
  (void)state;
  const job halved = {.algorithm = "linear",
                      .settings = "lr=2 epochs=3 batch=20 optimizer=SGD valid-ratio=0 decay-alpha=0.001",
                      .train = "numbers"};
  const job lost = {.algorithm = "linear", .settings = "lr=1e30 epochs=3 batch=20 optimizer=SGD", .train = "numbers"};
  rank alone[1], ranks[3];
  check_job(&halved, 0);
  run_job(alone, 1, &halved);
  assert_true(alone->trainer->steps.halvings > 0);
  free_ranks(alone, 1);
  run_job(alone, 1, &lost);
  run_job(ranks, 3, &lost);
  assert_int_equal(alone->status, FURROW_E_RANGE);
  for (unsigned r = 0; r < 3; r++) {
    assert_int_equal(ranks[r].status, FURROW_E_RANGE);
    assert_string_equal(ranks[r].error.message, alone->error.message);
    assert_string_equal(ranks[r].error.file, alone->error.file);
  }
  free_ranks(alone, 1);
  free_ranks(ranks, 3);
}

static void check_failure(const job *of, unsigned count, furrow_status status, const char *message) {
  rank ranks[MOST_RANKS];
  run_job(ranks, count, of);
  for (unsigned r = 0; r < count; r++) {
    assert_int_equal(ranks[r].status, status);
    if (!strstr(ranks[r].error.message, message)) fail_msg("%s", ranks[r].error.message);
  }
  free_ranks(ranks, count);
}

static void append(const char *path, const char *line) {
  FILE *file = fopen(path, "a");
  assert_non_null(file);
  assert_true(fputs(line, file) >= 0 && fclose(file) == 0);
}

/* What one rank alone has is an error of all. */
static void failures_are_those_of_all_ranks(void **state) {
  (void)state;
  assert_true(write_rows("broken", 300, 3, 2, false) && write_rows("odd", 300, 3, 4, false));
  append("broken", "1 2:x\n");
  append("odd", "17 2:1\n");
  check_failure(&(job){.algorithm = "lr", .settings = "epochs=2", .train = "broken"}, 3, FURROW_E_PARSE, "");
  check_failure(&(job){.algorithm = "softmax", .settings = "epochs=2 classes=4", .train = "odd"}, 3, FURROW_E_RANGE,
                "row 301: ");
  check_failure(&(job){.algorithm = "lr", .settings = "epochs=2 range=100", .train = "two"}, 2, FURROW_E_RANGE,
                "is beyond the model's range of 100 features");
  check_failure(&(job){.algorithm = "fm", .settings = "epochs=2", .train = "two", .max_features = 100}, 3,
                FURROW_E_RANGE, "more than 100 features");
  check_failure(&(job){.algorithm = "fm", .settings = "epochs=2", .train = "nowhere"}, 3, FURROW_E_NOT_FOUND, "");
}

static bool stop_soon(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)total;
  return !(*(const unsigned *)user == 1 && strcmp(phase, "training") == 0 && done > 0);
}

static void *train_until_stopped(void *context) {
  rank *r = context;
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.progress = stop_soon;
  params.progress_user = &r->comm.rank;
  r->status = create(r);
  if (r->status == FURROW_OK) r->status = furrow_trainer_fit(r->trainer, r->job->train, NULL, &params, &r->error);
  return NULL;
}

static void one_rank_can_stop_all(void **state) {
  (void)state;
  const job of = {.algorithm = "lr", .settings = "epochs=2", .train = "long"};
  rank ranks[3];
  assert_true(write_clicks("long", 40000, 5, 1));
  for (unsigned i = 0; i < 3; i++) ranks[i] = (rank){.comm = thread_comm(i, 3), .job = &of};
  run_threads(3, train_until_stopped, ranks, sizeof *ranks);
  for (unsigned r = 0; r < 3; r++) assert_int_equal(ranks[r].status, FURROW_E_CANCELLED);
  free_ranks(ranks, 3);
}

/* ---- Streamed rows ---- */

/* Batches are others than those of one process, but the same in every run. */
static void streams_are_trained_together(void **state) {
  (void)state;
  job of = {.algorithm = "fm", .settings = "lr=0.2 epochs=4 batch=90 rank=4", .train = "clicks", .valid = "test"};
  rank first[3], again[3];
  furrow_trainer_fit_params_init(&of.fit);
  of.fit.stream = true;
  run_job(first, 3, &of);
  run_job(again, 3, &of);
  for (unsigned r = 0; r < 3; r++) {
    check_ok(&first[r]);
    check_ok(&again[r]);
    fw_buffer a = snapshot_of(first[r].trainer), b = snapshot_of(again[r].trainer);
    assert_same_snapshot(&a, &b);
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    const furrow_epoch *last = epoch_at(first[r].trainer, 3);
    assert_int_equal(last->train->rows, 1500);
    assert_int_equal(last->valid->rows, 400);
    assert_true(last->valid->auc > 0.8);
  }
  free_ranks(first, 3);
  free_ranks(again, 3);
}

/* Every rank brings a row at least, which may be more than the batch has. */
static void small_batches_of_streams(void **state) {
  (void)state;
  job of = {.algorithm = "fm", .settings = "lr=0.1 epochs=1 batch=2 rank=2", .train = "few"};
  rank ranks[MOST_RANKS];
  furrow_trainer_fit_params_init(&of.fit);
  of.fit.stream = true;
  of.valid = "few";
  run_job(ranks, MOST_RANKS, &of);
  for (unsigned r = 0; r < MOST_RANKS; r++) check_ok(&ranks[r]);
  assert_int_equal(epoch_at(ranks[0].trainer, 0)->train->rows, 3);
  free_ranks(ranks, MOST_RANKS);
}

/* ---- Steps ---- */

enum { STEP_ROWS = 60, STEPS = 4 };

/* A rank's rows of a batch. */
static furrow_rowblock part_of_rows(const furrow_rowblock *all, size_t step, const furrow_comm *comm) {
  const size_t first = step * STEP_ROWS, begin = first + STEP_ROWS * comm->rank / comm->ranks;
  const size_t end = first + STEP_ROWS * (comm->rank + 1) / comm->ranks;
  furrow_rowblock part;
  assert_int_equal(furrow_rowblock_slice(all, begin, end, &part, NULL), FURROW_OK);
  return part;
}

static const furrow_rowblock *step_rows;

static void *run_steps(void *context) {
  rank *r = context;
  double loss = 0;
  r->status = create(r);
  for (size_t i = 0; r->status == FURROW_OK && i < STEPS; i++) {
    const furrow_rowblock part = part_of_rows(step_rows, i, &r->comm);
    r->status = furrow_trainer_step(r->trainer, &part, &loss, &r->error);
  }
  furrow_learn_metrics metrics;
  furrow_learn_metrics_init(&metrics);
  const furrow_rowblock part = part_of_rows(step_rows, 0, &r->comm);
  if (r->status == FURROW_OK) r->status = furrow_trainer_evaluate(r->trainer, &part, &metrics, &r->error);
  assert_true(loss > 0.1 && loss < 1);
  assert_int_equal(metrics.rows, STEP_ROWS);
  return NULL;
}

static void steps_take_the_rows_of_all_ranks(void **state) {
  (void)state;
  const job of = {.algorithm = "fm", .settings = "lr=0.1 rank=4", .train = "two"};
  furrow_blockiter *iter = NULL;
  rank alone[1] = {{.comm = thread_comm(0, 1), .job = &of}}, ranks[3];
  assert_int_equal(furrow_blockiter_open(&iter, "two?indexing_mode=1", NULL, &err), FURROW_OK);
  assert_int_equal(furrow_blockiter_next(iter, &err), FURROW_OK);
  step_rows = furrow_blockiter_value(iter);
  for (unsigned i = 0; i < 3; i++) ranks[i] = (rank){.comm = thread_comm(i, 3), .job = &of};
  run_threads(1, run_steps, alone, sizeof *alone);
  run_threads(3, run_steps, ranks, sizeof *ranks);
  check_ok(alone);
  for (unsigned r = 0; r < 3; r++) check_ok(&ranks[r]);
  compare_nets(alone, ranks, 3, 0);
  free_ranks(alone, 1);
  free_ranks(ranks, 3);
  furrow_blockiter_close(iter);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sparse_models_have_the_same_bits), cmocka_unit_test(deep_models_are_near),
      cmocka_unit_test(ranks_may_have_no_rows),           cmocka_unit_test(memory_is_divided),
      cmocka_unit_test(best_epochs_are_restored),         cmocka_unit_test(divergence_is_that_of_one_process),
      cmocka_unit_test(failures_are_those_of_all_ranks),  cmocka_unit_test(one_rank_can_stop_all),
      cmocka_unit_test(streams_are_trained_together),     cmocka_unit_test(steps_take_the_rows_of_all_ranks),
      cmocka_unit_test(small_batches_of_streams),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
