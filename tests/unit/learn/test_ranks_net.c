/* tests/unit/learn/test_ranks_net.c: nets that several ranks train together: threads with a communicator of their own.
 */
#include "base/mem.h"
#include "learn/net/net_ops.h"
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

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  return write_clicks("clicks", 1500, 1, 1) && write_clicks("test", 400, 2, 1) &&
                 write_rows("two", 1200, 3, 2, false) && write_rows("many", 900, 4, 4, false) &&
                 write_rows("numbers", 900, 5, 1, false) && write_rows("fields", 900, 6, 2, true) &&
                 write_rows("few", 3, 7, 2, false) && write_dense("dense", 700, 8)
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

static double number_at(const fw_net *net, const void *numbers, size_t i) {
  return fw_net_element_size(net) == sizeof(float) ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

/* `near` 0: the same bits. */
static void compare(const fw_net *net, const void *a, const void *b, size_t count, double near) {
  assert_non_null(a);
  assert_non_null(b);
  if (near == 0 && count) assert_memory_equal(a, b, count * fw_net_element_size(net));
  for (size_t i = 0; near > 0 && i < count; i++) {
    const double x = number_at(net, a, i), y = number_at(net, b, i);
    if (!(fabs(x - y) <= near * (1 + fabs(x)))) fail_msg("%g is not %g", y, x);
  }
}

static void compare_nets(const rank *alone, const rank *ranks, unsigned count, double near) {
  const fw_net *net = alone->trainer->net;
  uint64_t *keys = NULL, all = 0;
  size_t features = 0;
  assert_int_equal(fw_net_features(net, &keys, &features, NULL), FURROW_OK);
  for (unsigned r = 0; r < count; r++) all += fw_net_feature_count(ranks[r].trainer->net);
  assert_int_equal(all, features);
  for (size_t p = 0; p < fw_net_parameters(net); p++) {
    const fw_parameter *about = fw_net_parameter(net, p);
    for (size_t array = 0; array <= about->state; array++) {
      for (unsigned r = 0; !about->by_feature && r < count; r++)
        compare(net, fw_net_dense(net, p, array), fw_net_dense(ranks[r].trainer->net, p, array), about->cols, near);
      for (size_t f = 0; about->by_feature && f < features; f++) {
        const uint64_t key = keys ? keys[f] : f;
        const fw_net *owner = ranks[key % count].trainer->net;
        assert_true(fw_net_owns(owner, key));
        compare(net, fw_net_feature(net, p, key, array), fw_net_feature(owner, p, key, array), about->rows, near);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sparse_models_have_the_same_bits),
      cmocka_unit_test(deep_models_are_near),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
