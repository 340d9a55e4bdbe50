/* tests/unit/fault/test_fault_train_ranks.c: two ranks train, go on from a checkpoint, save and evaluate, and the n-th
 * call of the communicator fails on both, or the n-th allocation of either: no rank takes a failure for success or
 * waits for one that has stopped, nothing is lost, and a model that is there is whole. */
#include "support/failing_alloc.h"

#include "support/own_data.h"
#include "unit/fault/serial_ranks.h"

/* Nothing gets to the disk, which takes its time. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

typedef struct job {
  const char *algorithm, *settings, *train, *valid;
  const char *load; /* a model to go on from */
  bool streams, goes_on, evaluates;
} job;

static const job jobs[] = {
    {.algorithm = "gbdt",
     .settings = "trees=2 depth=2 row-ratio=0.9",
     .train = "plain",
     .valid = "more",
     .goes_on = true},
    {.algorithm = "gbdt", .settings = "trees=1 leaves=3 objective=multi:softmax", .train = "classes", .streams = true},
    {.algorithm = "gbdt", .settings = "trees=1 depth=2 objective=rank:ndcg", .train = "groups", .valid = "groups"},
    {.algorithm = "gbdt", .settings = "trees=2 depth=2", .train = "plain", .load = "trees", .evaluates = true},
    {.algorithm = "fm", .settings = "epochs=1 rank=2 encoder=encoder", .train = "log.csv"},
    {.algorithm = "lr", .settings = "epochs=1", .train = "plain", .evaluates = true},
    {.algorithm = "linear", .settings = "epochs=1 solver=steps", .train = "quantities", .evaluates = true},
    {.algorithm = "deepfm",
     .settings = "epochs=2 rank=2 fc=2 fields=4 short-rows=yes defaults=angel model-type=T_DOUBLE_SPARSE",
     .train = "plain",
     .valid = "more",
     .goes_on = true},
};
#define JOBS (sizeof jobs / sizeof *jobs)

/* ---- Data ---- */

/* Lines of one length, and groups that end with the first line of the second half, which is read by the first rank. */
static void write_groups(const char *path, size_t groups) {
  FILE *file = begin_file(path);
  for (size_t i = 0; i < groups * 8; i++)
    fprintf(file, "%zu qid:%zu 1:%zu.5 2:%zu.25\n", i * 5 % 3, 10 + (i + 7) / 8, i * 7 % 9, i * 3 % 7);
  assert_int_equal(fclose(file), 0);
}

static void write_log(void) {
  static const char text[] = "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": "
                             "\"category\", \"role\": \"item\"}, \"label\": {\"as\": \"label\"}}}";
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  FILE *file = begin_file("log.csv");
  fputs("user,item,label\n", file);
  for (unsigned i = 0; i < 40; i++) fprintf(file, "u%u,item %u,%u\n", i % 5, i * 3 % 7, i % 2);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(furrow_schema_parse(&schema, text, sizeof text - 1, &err), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&encoder, "log.csv", schema, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_encoder_save(encoder, "encoder", true, &err), FURROW_OK);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

static int write_data(void **state) {
  static const float labels[] = {1, 2, 3};
  if (enter_dir(state) != 0) return -1;
  write_chances("plain", 40, 0, 3);
  write_chances("more", 20, 0, 4);
  write_quantities("quantities", 30);
  write_blobs("classes", 40, 3, labels, 1);
  write_groups("groups", 6);
  write_log();
  furrow_trainer *trainer = own_trainer("gbdt", "trees=1 depth=2", 1, NULL);
  fit_or_fail(trainer, "plain", NULL, NULL);
  assert_int_equal(furrow_trainer_save(trainer, "trees", NULL, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  return 0;
}

/* ---- What the ranks do ---- */

typedef struct rank {
  furrow_comm comm;
  const job *job;
  long failing_allocation; /* of all ranks */
  const furrow_rowblock *rows;
  furrow_learn_metrics found;
  double loss; /* of the last epoch */
  furrow_status status;
  furrow_error error;
} rank;

static furrow_status make(rank *r, furrow_trainer **trainer) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_params_init(&params);
  params.threads = 1;
  params.load = r->job->load;
  params.comm = &r->comm;
  furrow_status status = furrow_learn_conf_create(&conf, &r->error);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, r->job->algorithm, &r->error);
  if (status == FURROW_OK) conf_set_all(conf, r->job->settings);
  if (r->comm.rank == SERIAL_RANKS - 1) alloc_fail_at(r->failing_allocation);
  if (r->comm.barrier(&r->comm, NULL) != FURROW_OK) status = FURROW_E_STATE;
  if (status == FURROW_OK) status = furrow_trainer_create(trainer, conf, &params, &r->error);
  furrow_learn_conf_free(conf);
  return status;
}

static furrow_status end_early(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)user, (void)e;
  return epoch->epoch == 1 ? FURROW_END : FURROW_OK;
}

static furrow_status fit(rank *r, furrow_trainer *trainer, bool first) {
  furrow_trainer_fit_params params;
  furrow_parser_params parser;
  furrow_trainer_fit_params_init(&params);
  furrow_parser_params_init(&parser);
  parser.threads = 1;
  params.parser = &parser;
  params.stream = r->job->streams;
  if (r->job->goes_on) params.checkpoint = "kept";
  params.keep_best = r->job->goes_on;
  params.resume = !first;
  if (first) params.epoch = end_early;
  return furrow_trainer_fit(trainer, r->job->train, r->job->valid, &params, &r->error);
}

static furrow_status work(rank *r, furrow_trainer **trainer) {
  furrow_trainer_save_params save;
  furrow_trainer_save_params_init(&save);
  save.part_size = 3;
  furrow_status status = make(r, trainer);
  if (status == FURROW_OK && r->job->goes_on) status = fit(r, *trainer, true);
  if (status == FURROW_OK) status = fit(r, *trainer, false);
  if (status == FURROW_OK) status = furrow_trainer_save(*trainer, "model", &save, &r->error);
  if (status == FURROW_OK && r->job->evaluates)
    status = furrow_trainer_evaluate(*trainer, r->rows, &r->found, &r->error);
  return status;
}

static void *be_rank(void *item) {
  rank *r = item;
  furrow_trainer *trainer = NULL;
  serial_begin(r->comm.rank);
  furrow_learn_metrics_init(&r->found);
  r->status = work(r, &trainer);
  if (r->status == FURROW_OK) {
    const size_t epochs = furrow_trainer_epoch_count(trainer);
    r->loss = epochs ? furrow_trainer_get_epoch(trainer, epochs - 1)->train->loss : 0;
  }
  furrow_trainer_free(trainer);
  serial_leave(r->comm.rank);
  return NULL;
}

/* A place that has no model, or one that can be read. */
static void expect_whole_model(const char *name) {
  furrow_scorer *scorer = NULL;
  furrow_error e = {0};
  if (access("model", F_OK) != 0) return;
  if (furrow_scorer_load(&scorer, "model", NULL, &e) != FURROW_OK) fail_msg("%s: %s", name, e.message);
  furrow_scorer_free(scorer);
}

static void clean(void) {
  if (access("model", F_OK) == 0) assert_true(test_remove_dir("model"));
  if (access("kept", F_OK) == 0) assert_true(test_remove_dir("kept"));
}

static void run(rank ranks[SERIAL_RANKS], const job *of, const furrow_rowblock *rows, long call, long allocation) {
  for (unsigned i = 0; i < SERIAL_RANKS; i++)
    ranks[i] = (rank){.job = of, .failing_allocation = allocation, .rows = rows, .comm = serial_comm(i)};
  serial_run(be_rank, ranks, sizeof *ranks, call);
  atomic_store(&alloc_countdown, -1);
}

/* ---- Tests ---- */

/* Every call and every allocation would take too long: each job begins with another one. */
enum { CALL_STRIDE = 13, ALLOC_STRIDE = 101 };

static own_rows rows_of(const job *of) {
  return of->evaluates ? read_rows(of->train) : (own_rows){0};
}

static void a_call_that_fails_ends_the_training(void **state) {
  (void)state;
  for (size_t j = 0; j < JOBS; j++) {
    rank ranks[SERIAL_RANKS];
    own_rows rows = rows_of(&jobs[j]);
    const int entries = (int)test_entries(".");
    run(ranks, &jobs[j], &rows.block, 0, 0);
    for (unsigned i = 0; i < SERIAL_RANKS; i++)
      if (ranks[i].status != FURROW_OK) fail_msg("%zu %s: %s", j, jobs[j].algorithm, ranks[i].error.message);
    const long all = serial_calls[0];
    assert_int_equal(serial_calls[1], all);
    assert_true(ranks[0].loss == ranks[1].loss && ranks[0].found.loss == ranks[1].found.loss);
    assert_true(all > 20);
    for (long n = 2 + (long)j % CALL_STRIDE; n <= all; n += CALL_STRIDE) {
      clean();
      run(ranks, &jobs[j], &rows.block, n, 0);
      for (unsigned i = 0; i < SERIAL_RANKS; i++)
        if (ranks[i].status != FURROW_E_STATE || strcmp(ranks[i].error.message, "the connection broke") != 0)
          fail_msg("%s, call %ld, rank %u: %s %s", jobs[j].algorithm, n, i, furrow_status_name(ranks[i].status),
                   ranks[i].error.message);
      expect_whole_model(jobs[j].algorithm);
    }
    clean();
    assert_int_equal(test_entries("."), entries);
    close_rows(&rows);
  }
}

/* E_STATE: of a rank that learns from the other that it failed; "Cannot …": of the system. */
static void expect_failure(const rank *r, long n) {
  const furrow_status status = r->status;
  const bool told = status == FURROW_E_MEMORY || strcmp(r->error.message, "another process failed") == 0 ||
                    strstr(r->error.message, "Cannot allocate memory");
  assert_int_equal(r->error.status, status);
  if (!told) fail_msg("%s, allocation %ld: %s: %s", r->job->algorithm, n, furrow_status_name(status), r->error.message);
}

static bool fails_at(const job *of, const furrow_rowblock *rows, long n, double loss) {
  rank ranks[SERIAL_RANKS];
  unsigned failed = 0;
  clean();
  const long live = atomic_load(&alloc_live);
  run(ranks, of, rows, 0, n);
  const bool met = atomic_load(&alloc_failed);
  if (serial_mixed) fail_msg("%s, allocation %ld: ranks call different functions", of->algorithm, n);
  if (atomic_load(&alloc_live) != live) fail_msg("%s, allocation %ld: pieces are left", of->algorithm, n);
  for (unsigned i = 0; i < SERIAL_RANKS; i++) {
    failed += ranks[i].status != FURROW_OK;
    if (ranks[i].status != FURROW_OK) expect_failure(&ranks[i], n);
    if (ranks[i].status == FURROW_OK) assert_true(ranks[i].loss == loss);
  }
  if (failed != 0 && failed != SERIAL_RANKS) fail_msg("%s, allocation %ld: one rank fails", of->algorithm, n);
  expect_whole_model(of->algorithm);
  return met;
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t j = 0; j < JOBS; j++) {
    rank ranks[SERIAL_RANKS];
    own_rows rows = rows_of(&jobs[j]);
    long n = 1 + (long)j % ALLOC_STRIDE;
    clean();
    run(ranks, &jobs[j], &rows.block, 0, 0); /* what is allocated once stays */
    while (fails_at(&jobs[j], &rows.block, n, ranks[0].loss)) n += ALLOC_STRIDE;
    assert_true(n > 100);
    clean();
    close_rows(&rows);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_that_fails_ends_the_training),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
