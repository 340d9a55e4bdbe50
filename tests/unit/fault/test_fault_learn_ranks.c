/* tests/unit/fault/test_fault_learn_ranks.c: two ranks train together, and the n-th call of the communicator fails on
 * both, or the n-th allocation of either: no rank takes a failure for success, or waits for one that has stopped, and
 * nothing is lost.
 *
 * Ranks are threads that run one after the other, from one meeting to the next, so that the n-th allocation is always
 * the same one. */
#include "support/failing_alloc.h"

#include <pthread.h>
#include <semaphore.h>

#include "support/own_data.h"

enum { RANKS = 2 };

/* ---- A communicator whose ranks run one after the other ---- */

typedef enum meeting { EXCHANGE, GATHER, BROADCAST, BARRIER } meeting;

/* What a rank brings to a meeting, and what becomes of it. */
typedef struct offer {
  meeting kind;
  const void *bytes;
  size_t sizes[RANKS]; /* of the bytes for each rank */
  void *to;
  size_t wanted[RANKS]; /* from each rank; of a broadcast only from its root */
  furrow_error *error;
  furrow_status status;
} offer;

static sem_t may_run[RANKS];
static offer offers[RANKS];
static bool waits[RANKS];    /* the rank has come to a meeting, and the other has not */
static bool has_left[RANKS]; /* the rank has returned: nobody can meet it */
static long calls[RANKS];    /* of the communicator */
static long failing_call;    /* of each rank; 0: none */

static furrow_status refuse(furrow_error *e, const char *message) {
  if (e) {
    *e = (furrow_error){.status = FURROW_E_STATE};
    snprintf(e->message, sizeof e->message, "%s", message);
  }
  return FURROW_E_STATE;
}

static void deliver(offer *o, unsigned rank) {
  char *to = o->to;
  o->status = FURROW_OK;
  for (unsigned r = 0; r < RANKS; to += o->wanted[r++]) {
    size_t at = 0;
    for (unsigned i = 0; i < rank; i++) at += offers[r].kind == EXCHANGE ? offers[r].sizes[i] : 0;
    if (offers[r].kind != o->kind || (offers[r].sizes[rank] != o->wanted[r] && (o->kind != BROADCAST || o->wanted[r])))
      o->status = refuse(o->error, "the ranks call different functions");
    else if (o->wanted[r] && to != offers[r].bytes)
      memcpy(to, (const char *)offers[r].bytes + at, o->wanted[r]);
  }
}

/* The last rank to come serves all, and goes on; the others go on when it waits for them. A rank that lacks memory
 * within a function of src/comm may come to another meeting than the others. */
static furrow_status meet(const furrow_comm *comm, offer mine) {
  const unsigned rank = comm->rank, other = 1 - rank;
  if (++calls[rank] == failing_call) return refuse(mine.error, "the connection broke");
  if (has_left[other]) return refuse(mine.error, "another process failed");
  offers[rank] = mine;
  if (waits[other]) {
    for (unsigned r = 0; r < RANKS; r++) deliver(&offers[r], r);
    waits[other] = false;
  } else {
    waits[rank] = true;
    sem_post(&may_run[other]);
    sem_wait(&may_run[rank]);
  }
  return offers[rank].status;
}

static void leave(unsigned rank) {
  const unsigned other = 1 - rank;
  has_left[rank] = true;
  if (waits[other]) offers[other].status = refuse(offers[other].error, "another process failed");
  waits[other] = false;
  sem_post(&may_run[other]);
}

static furrow_status pair_exchange(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                                   const size_t *receive_size, furrow_error *e) {
  const offer mine = {.kind = EXCHANGE,
                      .bytes = send,
                      .sizes = {send_size[0], send_size[1]},
                      .to = receive,
                      .wanted = {receive_size[0], receive_size[1]},
                      .error = e};
  return meet(comm, mine);
}

static furrow_status pair_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                 const size_t *sizes, furrow_error *e) {
  const offer mine = {
      .kind = GATHER, .bytes = bytes, .sizes = {size, size}, .to = all, .wanted = {sizes[0], sizes[1]}, .error = e};
  return meet(comm, mine);
}

static furrow_status pair_broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *e) {
  offer mine = {.kind = BROADCAST, .bytes = bytes, .sizes = {size, size}, .to = bytes, .error = e};
  if (root < RANKS && root != comm->rank) mine.wanted[root] = size;
  return meet(comm, mine);
}

static furrow_status pair_barrier(const furrow_comm *comm, furrow_error *e) {
  return meet(comm, (offer){.kind = BARRIER, .error = e});
}

/* ---- Trainings ---- */

typedef struct job {
  const char *algorithm, *settings, *data;
  bool streams;
} job;

static const job jobs[] = {
    {"lr", "epochs=1 class-weights=balanced", "plain", false},
    {"fm", "epochs=1 rank=2", "many", false},
    {"deepfm", "epochs=2 rank=2 fc=4 defaults=angel fields=4 batch=20 short-rows=yes", "plain", false},
    {"linear", "solver=steps epochs=2 scale=auto", "quantities", true},
};

/* More parameters than a block of rows sums for itself: gradients are summed by feature. */
static void write_many(const char *path, size_t rows) {
  FILE *file = begin_file(path);
  for (size_t i = 0; i < rows; i++)
    fprintf(file, "%d %zu:1 %zu:%g\n", i * 7 % 5 < 2 ? 1 : -1, 1 + i % 3, 10 + i * 37 % 200, 1 + (double)(i % 4));
  assert_int_equal(fclose(file), 0);
}

static int write_data(void **state) {
  if (enter_dir(state) != 0) return -1;
  write_chances("plain", 60, 0, 3);
  write_quantities("quantities", 60);
  write_many("many", 120);
  return 0;
}

typedef struct rank {
  furrow_comm comm;
  const job *job;
  long failing_allocation; /* of all ranks */
  furrow_trainer *trainer;
  furrow_status status;
  furrow_error error;
} rank;

static void *train(void *item) {
  rank *r = item;
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_parser_params parser;
  furrow_trainer_fit_params fit;
  furrow_trainer_params_init(&params);
  furrow_parser_params_init(&parser);
  furrow_trainer_fit_params_init(&fit);
  params.threads = parser.threads = 1;
  params.comm = &r->comm;
  fit.parser = &parser;
  fit.stream = r->job->streams;
  sem_wait(&may_run[r->comm.rank]);
  r->status = furrow_learn_conf_create(&conf, &r->error);
  if (r->status == FURROW_OK) r->status = furrow_learn_conf_set_algorithm(conf, r->job->algorithm, &r->error);
  if (r->status == FURROW_OK) conf_set_all(conf, r->job->settings);
  if (r->comm.rank == RANKS - 1) alloc_fail_at(r->failing_allocation);
  if (r->comm.barrier(&r->comm, NULL) != FURROW_OK) r->status = FURROW_E_STATE;
  if (r->status == FURROW_OK) r->status = furrow_trainer_create(&r->trainer, conf, &params, &r->error);
  if (r->status == FURROW_OK) r->status = furrow_trainer_fit(r->trainer, r->job->data, NULL, &fit, &r->error);
  furrow_learn_conf_free(conf);
  leave(r->comm.rank);
  return NULL;
}

static void run(rank ranks[RANKS], const job *of, long call, long allocation) {
  pthread_t threads[RANKS];
  failing_call = call;
  for (unsigned i = 0; i < RANKS; i++) {
    assert_int_equal(sem_init(&may_run[i], 0, i == 0), 0);
    has_left[i] = waits[i] = false;
    calls[i] = 0;
    ranks[i] = (rank){.job = of, .failing_allocation = allocation};
    ranks[i].comm = (furrow_comm){.size = sizeof(furrow_comm),
                                  .rank = i,
                                  .ranks = RANKS,
                                  .exchange = pair_exchange,
                                  .gather = pair_gather,
                                  .broadcast = pair_broadcast,
                                  .barrier = pair_barrier};
  }
  for (unsigned i = 0; i < RANKS; i++) assert_int_equal(pthread_create(&threads[i], NULL, train, &ranks[i]), 0);
  for (unsigned i = 0; i < RANKS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (unsigned i = 0; i < RANKS; i++) sem_destroy(&may_run[i]);
  atomic_store(&alloc_countdown, -1);
}

static void clear(rank ranks[RANKS]) {
  for (unsigned i = 0; i < RANKS; i++) furrow_trainer_free(ranks[i].trainer);
}

/* ---- Tests ---- */

/* Between calls and between allocations that fail: there are hundreds, and thousands. FURROW_FULL=1: every call. */
static long call_step(void) {
  return test_is_full() ? 1 : 3;
}
static long allocation_step(void) {
  return test_is_full() ? 7 : 19;
}

static void a_call_that_fails_ends_the_training(void **state) {
  (void)state;
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
    rank ranks[RANKS];
    run(ranks, &jobs[j], 0, 0);
    for (unsigned i = 0; i < RANKS; i++)
      if (ranks[i].status != FURROW_OK) fail_msg("%s: %s", jobs[j].algorithm, ranks[i].error.message);
    const long all = calls[0];
    assert_int_equal(calls[1], all);
    clear(ranks);
    assert_true(all > 20);
    for (long n = 2 + (long)j % call_step(); n <= all; n += call_step()) {
      run(ranks, &jobs[j], n, 0);
      for (unsigned i = 0; i < RANKS; i++)
        if (ranks[i].status != FURROW_E_STATE || strcmp(ranks[i].error.message, "the connection broke") != 0)
          fail_msg("%s, call %ld, rank %u: %s %s", jobs[j].algorithm, n, i, furrow_status_name(ranks[i].status),
                   ranks[i].error.message);
      clear(ranks);
    }
  }
}

/* E_STATE: of a rank that learns from the other that memory is short. A fit that goes well has found another way, as
 * qsort does, and to the same numbers. */
static void check_outcome(const rank *r, long n, const fw_buffer *wanted) {
  if (r->status == FURROW_OK) {
    fw_buffer net = snapshot_of(r->trainer);
    assert_same_snapshot(&net, wanted);
    fw_buffer_clear(&net);
  } else {
    assert_int_equal(r->error.status, r->status);
    if (r->status != FURROW_E_MEMORY && r->status != FURROW_E_STATE)
      fail_msg("%s, allocation %ld: %s", r->job->algorithm, n, furrow_status_name(r->status));
  }
}

static bool fails_at(const job *of, long n, const fw_buffer wanted[RANKS]) {
  rank ranks[RANKS];
  const long live = alloc_live;
  run(ranks, of, 0, n);
  const bool met = alloc_failed;
  unsigned failed = 0;
  for (unsigned i = 0; i < RANKS; i++) {
    check_outcome(&ranks[i], n, &wanted[i]);
    failed += ranks[i].status != FURROW_OK;
  }
  if (failed != 0 && failed != RANKS) fail_msg("%s, allocation %ld: %u ranks fail", of->algorithm, n, failed);
  clear(ranks);
  if (alloc_live != live) fail_msg("%s, allocation %ld: %ld pieces are left", of->algorithm, n, alloc_live - live);
  return met;
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
    rank ranks[RANKS];
    fw_buffer wanted[RANKS];
    long n = 1;
    run(ranks, &jobs[j], 0, 0);
    for (unsigned i = 0; i < RANKS; i++) {
      assert_int_equal(ranks[i].status, FURROW_OK);
      wanted[i] = snapshot_of(ranks[i].trainer);
    }
    clear(ranks);
    for (n += (long)j; fails_at(&jobs[j], n, wanted);) n += allocation_step();
    assert_true(n > 100);
    for (unsigned i = 0; i < RANKS; i++) fw_buffer_clear(&wanted[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_that_fails_ends_the_training),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
