/* tests/unit/fault/test_fault_index_ranks.c: ranks that train an index, write it into one file or into shards, and
 * search these; the n-th collective, allocation or system call fails, for every n. The old files stay or the new ones
 * are there, whole; nothing leaks, and no rank waits for another one for ever.
 *
 * Ranks are threads that run one at a time: each of them until it has to wait for the others. So the n-th is the same
 * in every run. */
#include <pthread.h>

#include "comm/collectives.h"
#include "furrow/vector_data.h"
#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "unit/fault/call_faults.h"

enum { RANKS = 2, D = 8, N = 60, QUERIES = 3, K = 4 };

int rename(const char *old, const char *new) {
  return fails_now(__func__, EIO) ? -1 : REAL(rename)(old, new);
}

int unlink(const char *path) {
  return fails_now(__func__, EIO) ? -1 : REAL(unlink)(path);
}

/* Nobody comes while a rank waits: the others wait for it. */
int usleep(useconds_t microseconds) {
  (void)microseconds;
  return 0;
}

/* ---- Ranks ---------------------------------------------------------------------------------------------- */

typedef enum call_kind { NO_CALL, EXCHANGE, GATHER, BROADCAST, BARRIER } call_kind;

/* What a rank shows to the others. */
typedef struct shown {
  call_kind kind; /* NO_CALL: it has left */
  long number;    /* of its calls */
  const void *bytes;
  const size_t *sizes;
} shown;

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned running; /* RANKS: none yet */
static bool left[RANKS];
static shown shown_by[RANKS];
static long calls[RANKS], failing_call; /* 0: none */

static void wait_to_run(unsigned rank) {
  pthread_mutex_lock(&order);
  while (running != rank) pthread_cond_wait(&changed, &order);
  pthread_mutex_unlock(&order);
}

static void let_next_run(unsigned rank) {
  pthread_mutex_lock(&order);
  unsigned next = (rank + 1) % RANKS;
  while (left[next] && next != rank) next = (next + 1) % RANKS;
  running = next;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&order);
}

static void meet(unsigned rank) {
  let_next_run(rank);
  wait_to_run(rank);
}

static furrow_status fail_call(furrow_error *err, furrow_status status, const char *message) {
  if (err) *err = (furrow_error){.status = status, .offset = FURROW_NO_OFFSET};
  if (err) snprintf(err->message, sizeof err->message, "%s", message);
  return status;
}

/* All ranks show their parts of the same call. E_IO: it is the one that fails; E_STATE: one has left, or is elsewhere.
 */
static furrow_status show(const furrow_comm *comm, call_kind kind, const void *bytes, const size_t *sizes,
                          furrow_error *err) {
  const long number = ++calls[comm->rank];
  shown_by[comm->rank] = (shown){kind, number, bytes, sizes};
  meet(comm->rank);
  furrow_status status = number == failing_call ? fail_call(err, FURROW_E_IO, "the network is down") : FURROW_OK;
  for (unsigned r = 0; status == FURROW_OK && r < RANKS; r++)
    if (shown_by[r].kind != kind || shown_by[r].number != number)
      status = fail_call(err, FURROW_E_STATE, "a rank has left");
  if (status != FURROW_OK) meet(comm->rank);
  return status;
}

/* A rank whose allocation failed in the middle of a sum may be at a later call. */
static furrow_status take_shown(unsigned from, size_t at, size_t shows, size_t wanted, char **to, furrow_error *err) {
  if (shows != wanted) return fail_call(err, FURROW_E_STATE, "a rank is at another call");
  if (wanted) memmove(*to, (const char *)shown_by[from].bytes + at, wanted);
  *to += wanted;
  return FURROW_OK;
}

static furrow_status exchange(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                              const size_t *receive_size, furrow_error *err) {
  char *to = receive;
  furrow_status status = show(comm, EXCHANGE, send, send_size, err);
  if (status != FURROW_OK) return status;
  for (unsigned r = 0; status == FURROW_OK && r < RANKS; r++) {
    size_t at = 0;
    for (unsigned i = 0; i < comm->rank; i++) at += shown_by[r].sizes[i];
    status = take_shown(r, at, shown_by[r].sizes[comm->rank], receive_size[r], &to, err);
  }
  meet(comm->rank);
  return status;
}

static furrow_status gather(const furrow_comm *comm, const void *bytes, size_t size, void *all, const size_t *sizes,
                            furrow_error *err) {
  char *to = all;
  furrow_status status = show(comm, GATHER, bytes, &size, err);
  if (status != FURROW_OK) return status;
  for (unsigned r = 0; status == FURROW_OK && r < RANKS; r++)
    status = take_shown(r, 0, shown_by[r].sizes[0], sizes[r], &to, err);
  meet(comm->rank);
  return status;
}

static furrow_status broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err) {
  char *to = bytes;
  furrow_status status = show(comm, BROADCAST, bytes, &size, err);
  if (status != FURROW_OK) return status;
  status = take_shown(root, 0, shown_by[root].sizes[0], size, &to, err);
  meet(comm->rank);
  return status;
}

static furrow_status barrier(const furrow_comm *comm, furrow_error *err) {
  const furrow_status status = show(comm, BARRIER, NULL, NULL, err);
  if (status == FURROW_OK) meet(comm->rank);
  return status;
}

/* ---- Jobs ----------------------------------------------------------------------------------------------- */

typedef struct job_rank {
  furrow_comm comm;
  furrow_status (*run)(struct job_rank *r);
  furrow_status status;
  furrow_error err;
  float distances[QUERIES * K];
  int64_t ids[QUERIES * K];
  furrow_range_result *range;
} job_rank;

typedef struct fault {
  long allocation, call, collective; /* 0: none */
} fault;

static fault armed;
static bool fault_was_met;
static long live_before, live_after;
static furrow_index *parts[RANKS];
static furrow_id_names *names;
static float *vectors;

/* The first one arms what fails, the last one disarms it. */
static void *take_part(void *item) {
  job_rank *r = item;
  const unsigned rank = r->comm.rank;
  wait_to_run(rank);
  if (rank == 0) {
    live_before = atomic_load(&alloc_live);
    failing_call = armed.collective;
    fault_at(FAULT_ERROR, armed.call);
    alloc_fail_at(armed.allocation);
  }
  r->status = r->run(r);
  left[rank] = true;
  shown_by[rank].kind = NO_CALL;
  bool last = true;
  for (unsigned i = 0; i < RANKS; i++) last = last && left[i];
  if (last) {
    fault_was_met = atomic_load(&alloc_failed) || atomic_load(&fault_met);
    for (unsigned i = 0; i < RANKS; i++) fault_was_met |= failing_call && calls[i] >= failing_call;
    alloc_fail_at(0);
    fault_at(FAULT_ERROR, 0);
    live_after = atomic_load(&alloc_live);
  }
  let_next_run(rank);
  return NULL;
}

static void run_job(job_rank *ranks, furrow_status (*run)(job_rank *r)) {
  pthread_t threads[RANKS];
  running = RANKS;
  for (unsigned r = 0; r < RANKS; r++) {
    ranks[r] = (job_rank){.run = run};
    ranks[r].comm = (furrow_comm){.size = sizeof(furrow_comm),
                                  .rank = r,
                                  .ranks = RANKS,
                                  .exchange = exchange,
                                  .gather = gather,
                                  .broadcast = broadcast,
                                  .barrier = barrier};
    left[r] = false;
    calls[r] = 0;
    assert_int_equal(pthread_create(&threads[r], NULL, take_part, &ranks[r]), 0);
  }
  pthread_mutex_lock(&order);
  running = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&order);
  for (unsigned r = 0; r < RANKS; r++) assert_int_equal(pthread_join(threads[r], NULL), 0);
}

static furrow_index_save_params save_params(const job_rank *r) {
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.overwrite = true;
  params.comm = &r->comm;
  params.names = r->comm.rank == 0 ? names : NULL;
  return params;
}

static furrow_status save_one_file(job_rank *r) {
  const furrow_index_save_params params = save_params(r);
  return furrow_index_save(parts[r->comm.rank], "one", &params, &r->err);
}

static furrow_status save_shards(job_rank *r) {
  const furrow_index_save_params params = save_params(r);
  return furrow_index_save_shards(parts[r->comm.rank], "shards", &params, &r->err);
}

static bool is_refined; /* what is in the shards: a radius is refused */

static furrow_status search_shards(job_rank *r) {
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_search_params search;
  furrow_shards_params_init(&params);
  furrow_search_params_init(&search);
  params.threads = search.threads = 1;
  params.comm = &r->comm;
  params.check_digests = true;
  search.nprobe = 3;
  furrow_status status = furrow_shards_open(&shards, "shards", &params, &r->err);
  if (status == FURROW_OK)
    status = furrow_shards_search(shards, vectors, QUERIES, K, &search, r->distances, r->ids, &r->err);
  if (status == FURROW_OK && !is_refined)
    status = furrow_shards_search_range(shards, vectors, QUERIES, 6, &search, &r->range, &r->err);
  furrow_shards_free(shards);
  furrow_range_result_free(r->range);
  return status;
}

static furrow_index_spec training_spec; /* of the index that is trained */

static furrow_status train(job_rank *r) {
  furrow_index *index = NULL;
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.coarse_rounds = params.pq_rounds = 1;
  params.threads = 1;
  params.comm = &r->comm;
  furrow_status status = furrow_index_create(&index, &training_spec, &r->err);
  if (status == FURROW_OK)
    status = furrow_index_train(index, vectors + r->comm.rank * N / RANKS * D, N / RANKS, &params, &r->err);
  if (index) assert_int_equal(index->trained, status == FURROW_OK);
  furrow_index_free(index);
  return status;
}

/* ---- What stays ----------------------------------------------------------------------------------------- */

typedef struct scene {
  const char *name;
  furrow_status (*run)(job_rank *r);
  const char *file; /* that it replaces; NULL: none */
  bool repeats;     /* it does the same many times: not every fault is met */
} scene;

static furrow_index *versions[2][RANKS]; /* what is in the file before, and what is to be there */
static index_file contents[2];
static int entries;

static void put_version(const scene *s, int version) {
  job_rank ranks[RANKS];
  armed = (fault){0};
  memcpy(parts, versions[version], sizeof parts);
  run_job(ranks, s->run);
  for (unsigned r = 0; r < RANKS; r++)
    if (ranks[r].status != FURROW_OK) fail_msg("%s: %s", s->name, ranks[r].err.message);
}

/* One of the two versions is there, with names that belong to it. */
static void expect_whole(const scene *s, bool is_new, long n) {
  index_file now = {0};
  furrow_id_names *found = NULL;
  read_whole(s->file, &now);
  const bool is[2] = {now.size == contents[0].size && memcmp(now.bytes, contents[0].bytes, now.size) == 0,
                      now.size == contents[1].size && memcmp(now.bytes, contents[1].bytes, now.size) == 0};
  if (!(is[0] && !is_new) && !is[1]) fail_msg("%s, %s %ld: not the file that was expected", s->name, fault_call, n);
  assert_int_equal(furrow_id_names_load(&found, s->file, NULL), FURROW_OK);
  assert_int_equal(furrow_id_names_count(found), N);
  furrow_id_names_free(found);
  if (s->run == save_shards) {
    furrow_shards *shards = NULL;
    furrow_shards_params params;
    furrow_shards_params_init(&params);
    params.check_digests = true;
    furrow_error err = {0};
    if (furrow_shards_open(&shards, s->file, &params, &err) != FURROW_OK)
      fail_msg("%s, %s %ld: %s: %s", s->name, fault_call, n, err.file, err.message);
    furrow_shards_free(shards);
  }
  index_file_clear(&now);
  /* what may stay: names that wait for an index, and whatever could not be removed */
  if (strcmp(fault_call, "fsync") == 0) (void)!remove(s->run == save_shards ? "shards.names.new" : "one.names.new");
  const bool stuck = strcmp(fault_call, "unlink") == 0 || strcmp(fault_call, "rename") == 0;
  if (stuck) assert_int_equal(system(s->run == save_shards ? "rm -f .*furrow-* shards*" : "rm -f .*furrow-* one*"), 0);
  if (stuck || is[1]) put_version(s, 0); /* removes the shards of the new one */
  if (test_entries(".") != entries) fail_msg("%s, %s %ld: something is left behind", s->name, fault_call, n);
}

/* ---- Each fault ----------------------------------------------------------------------------------------- */

static job_rank wanted[RANKS];

static void expect_same_results(const scene *s, const job_rank *r) {
  if (s->run != search_shards) return;
  assert_memory_equal(r->distances, wanted[r->comm.rank].distances, sizeof r->distances);
  assert_memory_equal(r->ids, wanted[r->comm.rank].ids, sizeof r->ids);
}

/* False: there are not so many. */
static bool meets(const scene *s, fault which, long n) {
  job_rank ranks[RANKS];
  const size_t descriptors = open_descriptors();
  armed = which;
  fault_call = "";
  memcpy(parts, versions[1], sizeof parts);
  run_job(ranks, s->run);
  const bool met = fault_was_met;
  unsigned failed = 0;
  for (unsigned r = 0; r < RANKS; r++) {
    const job_rank *rank = &ranks[r];
    failed += rank->status != FURROW_OK;
    if (rank->status == FURROW_OK) {
      expect_same_results(s, rank);
      continue;
    }
    if (!met || rank->err.status != rank->status || !rank->err.message[0])
      fail_msg("%s, %ld: rank %u: %s: %s", s->name, n, r, furrow_status_name(rank->status), rank->err.message);
    if (which.collective) assert_int_equal(rank->status, FURROW_E_IO);
    if (which.allocation && rank->status == FURROW_E_IO) fail_msg("%s, %ld: %s", s->name, n, rank->err.message);
  }
  if (which.collective && met) assert_int_equal(failed, RANKS);
  if (live_after != live_before) fail_msg("%s, %ld: %ld pieces leak", s->name, n, live_after - live_before);
  if (open_descriptors() != descriptors) fail_msg("%s, %s %ld: a descriptor stays open", s->name, fault_call, n);
  if (s->file) expect_whole(s, failed == 0, n);
  return met;
}

static long step(const scene *s, long n) {
  return s->repeats ? 1 + n / 4 : 1;
}

static void meet_all(const scene *s) {
  long n[3] = {1, 1, 1};
  if (s->file) {
    for (int i = 1; i >= 0; i--) {
      put_version(s, i);
      read_whole(s->file, &contents[i]);
    }
    entries = test_entries(".");
  }
  armed = (fault){0};
  memcpy(parts, versions[0], sizeof parts);
  run_job(wanted, s->run);
  for (unsigned r = 0; r < RANKS; r++)
    if (wanted[r].status != FURROW_OK) fail_msg("%s: rank %u: %s", s->name, r, wanted[r].err.message);
  while (meets(s, (fault){.collective = n[0]}, n[0])) n[0] += step(s, n[0]);
  while (s->run != train && meets(s, (fault){.call = n[1]}, n[1])) n[1]++;
  while (FAILING_ALLOC && meets(s, (fault){.allocation = n[2]}, n[2])) n[2] += step(s, n[2]);
  print_message("%s: %ld collectives, %ld calls, %ld allocations\n", s->name, n[0] - 1, n[1] - 1, n[2] - 1);
  assert_true(n[0] > 5);
  for (int i = 0; s->file && i < 2; i++) {
    index_file_clear(&contents[i]);
    contents[i] = (index_file){0};
  }
}

/* ---- Indexes -------------------------------------------------------------------------------------------- */

static void make_parts(const furrow_index_spec *spec, furrow_direct_map map) {
  furrow_index *trained = trained_index(spec, 3);
  for (int version = 0; version < 2; version++)
    for (unsigned r = 0; r < RANKS; r++) {
      int64_t ids[N];
      for (size_t i = 0; i < N / RANKS; i++) ids[i] = (int64_t)((r * N / RANKS + i) * 7 % N);
      furrow_index *part = copy_of(trained);
      const size_t from = (r + (size_t)version) % RANKS * (N / RANKS);
      assert_int_equal(add_vectors(part, vectors + from * D, N / RANKS, ids), FURROW_OK);
      assert_int_equal(furrow_index_set_direct_map(part, map, NULL), FURROW_OK);
      versions[version][r] = part;
    }
  furrow_index_free(trained);
}

static void free_parts(void) {
  for (int version = 0; version < 2; version++)
    for (unsigned r = 0; r < RANKS; r++) furrow_index_free(versions[version][r]);
}

static int set_up(void **state) {
  char texts[N][8];
  const char *list[N];
  fw_rng rng;
  fw_rng_init(&rng, 5);
  vectors = malloc(N * D * sizeof *vectors);
  fill_random(&rng, vectors, N * D);
  for (size_t i = 0; i < N; i++) {
    snprintf(texts[i], sizeof texts[i], "n%zu", i);
    list[i] = texts[i];
  }
  if (furrow_id_names_create(&names, NULL) != FURROW_OK) return -1;
  return furrow_id_names_add(names, NULL, list, N, NULL) == FURROW_OK ? enter_dir(state) : -1;
}

static int tear_down(void **state) {
  free(vectors);
  furrow_id_names_free(names);
  return leave_dir(state);
}

static void one_file(void **state) {
  (void)state;
  const furrow_index_spec spec = plain_spec(D, 3, 2);
  make_parts(&spec, FURROW_DIRECT_MAP_HASHTABLE);
  meet_all(&(scene){"one file", save_one_file, "one", false});
  free_parts();
}

static void shards(void **state) {
  (void)state;
  const furrow_index_spec spec = plain_spec(D, 3, 2);
  make_parts(&spec, FURROW_DIRECT_MAP_NONE);
  meet_all(&(scene){"shards", save_shards, "shards", false});
  meet_all(&(scene){"search", search_shards, NULL, false});
  free_parts();
}

static void refined_shards(void **state) {
  (void)state;
  for (int codes = 0; codes < 2; codes++) {
    furrow_index_spec spec = plain_spec(D, 3, 2);
    job_rank ranks[RANKS];
    spec.id_map = true;
    spec.refine_flat = !codes;
    spec.refine_m = codes ? 2 : 0;
    spec.opq = codes;
    is_refined = true;
    make_parts(&spec, FURROW_DIRECT_MAP_NONE);
    armed = (fault){0};
    memcpy(parts, versions[0], sizeof parts);
    run_job(ranks, save_shards);
    for (unsigned r = 0; r < RANKS; r++)
      if (ranks[r].status != FURROW_OK) fail_msg("rank %u: %s", r, ranks[r].err.message);
    meet_all(&(scene){codes ? "search, second codes" : "search, refined", search_shards, NULL, false});
    free_parts();
  }
}

static void training(void **state) {
  (void)state;
  training_spec = plain_spec(D, 3, 2);
  training_spec.normalize = true;
  training_spec.refine_m = 2;
  meet_all(&(scene){"training", train, NULL, false});
  training_spec.opq = true;
  meet_all(&(scene){"training, rotated", train, NULL, true});
  training_spec = plain_spec(D, 4, 0);
  training_spec.hnsw_m = 4;
  meet_all(&(scene){"training, graph", train, NULL, false});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_file),
      cmocka_unit_test(shards),
      cmocka_unit_test(refined_shards),
      cmocka_unit_test(training),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
