/* tests/unit/comm/test_collectives.c: sums, maxima, offsets and parts of different length over ranks that are threads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "support/thread_ranks.h"

enum { MOST_RANKS = 5, LIMIT = 512 }; /* the count from which collectives.c divides numbers into slices */

typedef struct worker {
  furrow_comm comm;
  size_t count;
  furrow_status status;
  unsigned failing;
} worker;

static worker *make_workers(unsigned ranks, size_t count) {
  worker *workers = calloc(ranks, sizeof *workers);
  assert_non_null(workers);
  for (unsigned r = 0; r < ranks; r++) workers[r] = (worker){.comm = thread_comm(r, ranks), .count = count};
  return workers;
}

/* Runs the body with 1 … MOST_RANKS ranks, and with counts around the limit. */
static void for_all(void *(*body)(void *item)) {
  static const size_t counts[] = {0, 1, 2, 7, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 3, 4 * LIMIT + 2};
  for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      worker *workers = make_workers(ranks, counts[i]);
      run_threads(ranks, body, workers, sizeof *workers);
      for (unsigned r = 0; r < ranks; r++) assert_int_equal(workers[r].status, FURROW_OK);
      free(workers);
    }
}

/* Number i of a rank: of very different size, so that the order of additions shows. */
static double number_of(unsigned rank, size_t i) {
  fw_rng rng;
  fw_rng_init(&rng, 1000 * rank + i);
  return fw_rng_normal(&rng) * pow(10, (double)((i + rank) % 9));
}

static void *numbers(size_t count, size_t width) {
  void *values = malloc((count + 1) * width);
  assert_non_null(values);
  return values;
}

/* ---- Sums and maxima ---- */

static void *sum_floats(void *item) {
  worker *w = item;
  float *values = numbers(w->count, sizeof *values);
  for (size_t i = 0; i < w->count; i++) values[i] = (float)number_of(w->comm.rank, i);
  w->status = fw_comm_sum_f32(&w->comm, values, w->count, NULL);
  for (size_t i = 0; i < w->count; i++) {
    float sum = (float)number_of(0, i);
    for (unsigned r = 1; r < w->comm.ranks; r++) sum += (float)number_of(r, i);
    assert_memory_equal(&values[i], &sum, sizeof sum);
  }
  free(values);
  return NULL;
}

static void *sum_doubles(void *item) {
  worker *w = item;
  double *values = numbers(w->count, sizeof *values);
  for (size_t i = 0; i < w->count; i++) values[i] = number_of(w->comm.rank, i);
  w->status = fw_comm_sum_f64(&w->comm, values, w->count, NULL);
  for (size_t i = 0; i < w->count; i++) {
    double sum = number_of(0, i);
    for (unsigned r = 1; r < w->comm.ranks; r++) sum += number_of(r, i);
    assert_memory_equal(&values[i], &sum, sizeof sum);
  }
  free(values);
  return NULL;
}

static void *sum_integers(void *item) {
  worker *w = item;
  int64_t *values = numbers(w->count, sizeof *values);
  const int64_t ranks = w->comm.ranks;
  for (size_t i = 0; i < w->count; i++) values[i] = (int64_t)i - ((int64_t)w->comm.rank << 50);
  w->status = fw_comm_sum_i64(&w->comm, values, w->count, NULL);
  for (size_t i = 0; i < w->count; i++)
    assert_true(values[i] == ranks * (int64_t)i - ((ranks * (ranks - 1) / 2) << 50));
  free(values);
  return NULL;
}

/* NaN counts for nothing, unless nobody has a number. */
static void *max_doubles(void *item) {
  worker *w = item;
  double *values = numbers(w->count, sizeof *values);
  for (size_t i = 0; i < w->count; i++)
    values[i] = i % 3 == w->comm.rank || i % 7 == 6 ? NAN : -(double)((i + w->comm.rank) % w->comm.ranks);
  w->status = fw_comm_max_f64(&w->comm, values, w->count, NULL);
  for (size_t i = 0; i < w->count; i++) {
    double most = NAN;
    for (unsigned r = 0; r < w->comm.ranks; r++) {
      const double other = -(double)((i + r) % w->comm.ranks);
      if (i % 3 != r && i % 7 != 6 && !(other <= most)) most = other;
    }
    assert_true(values[i] == most || (isnan(values[i]) && isnan(most)));
  }
  free(values);
  return NULL;
}

static void *max_integers(void *item) {
  worker *w = item;
  uint64_t *values = numbers(w->count, sizeof *values);
  for (size_t i = 0; i < w->count; i++) values[i] = UINT64_MAX - (i + w->comm.rank) % w->comm.ranks;
  w->status = fw_comm_max_u64(&w->comm, values, w->count, NULL);
  for (size_t i = 0; i < w->count; i++) assert_true(values[i] == UINT64_MAX);
  free(values);
  return NULL;
}

static void test_sums_of_floats_are_in_the_order_of_ranks(void **state) {
  (void)state;
  for_all(sum_floats);
}

static void test_sums_of_doubles_are_in_the_order_of_ranks(void **state) {
  (void)state;
  for_all(sum_doubles);
}

static void test_sums_of_integers(void **state) {
  (void)state;
  for_all(sum_integers);
}

static void test_maxima(void **state) {
  (void)state;
  for_all(max_doubles);
  for_all(max_integers);
}

/* ---- Parts ---- */

static void *take_offset(void *item) {
  worker *w = item;
  uint64_t before = 99, all = 99, expected = 0, total = 0;
  w->status = fw_comm_offset(&w->comm, w->count + w->comm.rank, &before, &all, NULL);
  for (unsigned r = 0; r < w->comm.ranks; r++) {
    if (r < w->comm.rank) expected += w->count + r;
    total += w->count + r;
  }
  assert_true(before == expected && all == total);
  return NULL;
}

static void test_offsets(void **state) {
  (void)state;
  for_all(take_offset);
}

/* Every second rank has nothing. */
static size_t part_size(const worker *w, unsigned rank) {
  return rank % 2 ? 0 : w->count + rank;
}

static void *gather_parts(void *item) {
  worker *w = item;
  size_t size = part_size(w, w->comm.rank), total = 0, sizes[MOST_RANKS], expected = 0;
  unsigned char *mine = numbers(size, 1);
  void *all = NULL;
  memset(mine, 'a' + (int)w->comm.rank, size);
  w->status = fw_comm_gather_all(&w->comm, mine, size, &all, &total, w->count % 2 ? sizes : NULL, NULL);
  const unsigned char *at = all;
  for (unsigned r = 0; w->status == FURROW_OK && r < w->comm.ranks; r++) {
    expected += part_size(w, r);
    if (w->count % 2) assert_int_equal(sizes[r], part_size(w, r));
    for (size_t i = 0; i < part_size(w, r); i++) assert_int_equal(*at++, 'a' + r);
  }
  assert_int_equal(total, expected);
  fw_free(all);
  free(mine);
  return NULL;
}

/* What rank a sends to b: nothing, or as many bytes as say who they are from and for. */
static size_t pair_size(const worker *w, unsigned a, unsigned b) {
  return (a + b) % 3 == 2 ? 0 : w->count + 2 * a + b;
}

static void *exchange_parts(void *item) {
  worker *w = item;
  size_t send_size[MOST_RANKS], receive_size[MOST_RANKS], total = 0;
  for (unsigned r = 0; r < w->comm.ranks; r++) total += send_size[r] = pair_size(w, w->comm.rank, r);
  unsigned char *send = numbers(total, 1), *to = send;
  void *received = NULL;
  for (unsigned r = 0; r < w->comm.ranks; r++)
    for (size_t i = 0; i < send_size[r]; i++) *to++ = (unsigned char)(16 * w->comm.rank + r);
  w->status = fw_comm_exchange_all(&w->comm, send, send_size, &received, receive_size, NULL);
  const unsigned char *at = received;
  for (unsigned r = 0; w->status == FURROW_OK && r < w->comm.ranks; r++) {
    assert_int_equal(receive_size[r], pair_size(w, r, w->comm.rank));
    for (size_t i = 0; i < receive_size[r]; i++) assert_int_equal(*at++, 16 * r + w->comm.rank);
  }
  fw_free(received);
  free(send);
  return NULL;
}

static void test_parts_of_different_length(void **state) {
  (void)state;
  for_all(gather_parts);
  for_all(exchange_parts);
}

/* ---- Failures ---- */

static void *check_failure(void *item) {
  worker *w = item;
  furrow_error err = {0};
  const bool fails = w->comm.rank == w->failing;
  w->status = fw_comm_all_ok(&w->comm, fails ? FURROW_E_PARSE : FURROW_OK, &err);
  if (w->failing >= w->comm.ranks)
    assert_int_equal(w->status, FURROW_OK);
  else if (fails)
    assert_int_equal(w->status, FURROW_E_PARSE);
  else
    assert_string_equal(err.message, "another process failed");
  if (!fails && w->failing < w->comm.ranks) assert_int_equal(w->status, FURROW_E_STATE);
  return NULL;
}

static void test_all_hear_of_a_failure(void **state) {
  (void)state;
  for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++)
    for (unsigned failing = 0; failing <= ranks; failing++) { /* `ranks`: none fails */
      worker *workers = make_workers(ranks, 0);
      for (unsigned r = 0; r < ranks; r++) workers[r].failing = failing;
      run_threads(ranks, check_failure, workers, sizeof *workers);
      free(workers);
    }
}

static furrow_status broken_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                   const size_t *sizes, furrow_error *err) {
  (void)comm, (void)bytes, (void)size, (void)all, (void)sizes, (void)err;
  return FURROW_E_IO;
}

/* A call that fails leaves the results untouched, and its status comes through. */
static void test_failed_calls_change_nothing(void **state) {
  (void)state;
  furrow_comm comm = thread_comm(0, 2);
  comm.gather = broken_gather;
  uint64_t before = 5, sum = 6;
  void *all = NULL;
  size_t total = 7;
  double value = 8;
  assert_int_equal(fw_comm_offset(&comm, 1, &before, &sum, NULL), FURROW_E_IO);
  assert_int_equal(fw_comm_gather_all(&comm, "x", 1, &all, &total, NULL, NULL), FURROW_E_IO);
  assert_int_equal(fw_comm_sum_f64(&comm, &value, 1, NULL), FURROW_E_IO);
  assert_int_equal(fw_comm_all_ok(&comm, FURROW_E_PARSE, NULL), FURROW_E_PARSE);
  assert_int_equal(fw_comm_all_ok(&comm, FURROW_OK, NULL), FURROW_E_IO);
  assert_true(before == 5 && sum == 6 && !all && total == 7 && value == 8);
}

static void test_communicators_of_callers_are_checked(void **state) {
  (void)state;
  const furrow_comm *comm = NULL;
  assert_int_equal(fw_comm_of(&comm, NULL, NULL), FURROW_OK);
  assert_true(comm == fw_comm_self() && comm->ranks == 1 && comm->rank == 0);
  furrow_comm given = thread_comm(1, 3);
  assert_int_equal(fw_comm_of(&comm, &given, NULL), FURROW_OK);
  assert_ptr_equal(comm, &given);
  given.rank = 3;
  assert_int_equal(fw_comm_of(&comm, &given, NULL), FURROW_E_ARGUMENT);
  given = thread_comm(0, 0);
  assert_int_equal(fw_comm_of(&comm, &given, NULL), FURROW_E_ARGUMENT);
  given = thread_comm(0, 1);
  given.barrier = NULL;
  assert_int_equal(fw_comm_of(&comm, &given, NULL), FURROW_E_ARGUMENT);
  given = thread_comm(0, 1);
  given.size = 0;
  assert_int_equal(fw_comm_of(&comm, &given, NULL), FURROW_E_ARGUMENT);
}

/* ---- Errors of one rank on all ranks ---- */

typedef struct sharing {
  unsigned rank, ranks, failing; /* ranks from `failing` on fail */
  bool same_text;                /* with the same message */
  furrow_status status;
  furrow_error error;
} sharing;

/* An error is shared twice, as by a function and its caller. */
static void *share_error(void *item) {
  sharing *s = item;
  const furrow_comm comm = thread_comm(s->rank, s->ranks);
  furrow_status status = FURROW_OK;
  if (s->rank >= s->failing) {
    status = s->same_text ? fw_fail(&s->error, FURROW_E_NOT_FOUND, "no such file")
                          : fw_fail(&s->error, FURROW_E_NOT_FOUND, "no file of rank %u", s->rank);
    fw_error_set_file(&s->error, "rows");
  }
  status = fw_comm_share_status(&comm, status, &s->error);
  s->status = fw_comm_share_status(&comm, status, &s->error);
  return NULL;
}

static void test_errors_name_their_rank(void **state) {
  enum { RANKS = 3 };
  (void)state;
  for (unsigned failing = 0; failing <= RANKS; failing++)
    for (int same_text = 0; same_text < 2; same_text++) {
      sharing all[RANKS];
      char host[64] = "", named[256];
      for (unsigned r = 0; r < RANKS; r++) all[r] = (sharing){r, RANKS, failing, same_text, FURROW_OK, {0}};
      run_threads(RANKS, share_error, all, sizeof *all);
      gethostname(host, sizeof host - 1);
      for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(all[r].status, failing < RANKS ? FURROW_E_NOT_FOUND : FURROW_OK);
        if (failing == RANKS) continue;
        const char *own = all[failing].error.message;
        snprintf(named, sizeof named, "another process failed: rank %u of 3 (%s): %.60s", failing, host, own);
        const bool has_it = r == failing || (same_text && r > failing);
        assert_string_equal(all[r].error.message, has_it ? own : named);
        assert_string_equal(all[r].error.file, "rows");
      }
    }
}

/* ---- Launchers ---- */

static void clear_launchers(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",  "PMI_SIZE",
                                      "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "FURROW_MPI"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

static void assert_launched(const char *rank_name, const char *rank, const char *ranks_name, const char *ranks,
                            bool launched, unsigned number, unsigned count) {
  unsigned found_number = 77, found_count = 77;
  clear_launchers();
  setenv(rank_name, rank, 1);
  setenv(ranks_name, ranks, 1);
  assert_int_equal(furrow_comm_launched(&found_number, &found_count), launched);
  assert_int_equal(found_number, number);
  assert_int_equal(found_count, count);
  clear_launchers();
}

static void test_launchers(void **state) {
  (void)state;
  assert_launched("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4", true, 2, 4);
  assert_launched("PMI_RANK", "0", "PMI_SIZE", "3", true, 0, 3);
  assert_launched("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", true, 1, 2);
  assert_launched("SLURM_PROCID", "0", "SLURM_NTASKS", "8", false, 0, 1); /* a batch script, not srun */
  assert_launched("PMI_RANK", "3", "PMI_SIZE", "3", false, 0, 1);
  assert_launched("PMI_RANK", "x", "PMI_SIZE", "3", false, 0, 1);
  assert_launched("PMI_RANK", "", "PMI_SIZE", "-1", false, 0, 1);
  unsetenv("SLURM_NTASKS");
}

static void test_missing_shared_object(void **state) {
  (void)state;
  furrow_comm *comm = NULL;
  furrow_error err = {0};
  clear_launchers();
  assert_int_equal(furrow_comm_open_mpi(&comm, "./no_such_object.so", &err), FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.message, "no_such_object.so"));
  assert_int_equal(furrow_comm_open_mpi(&comm, "libc.so.6", &err), FURROW_E_UNSUPPORTED);
  assert_null(comm);
  furrow_comm_close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_of_floats_are_in_the_order_of_ranks),
      cmocka_unit_test(test_sums_of_doubles_are_in_the_order_of_ranks),
      cmocka_unit_test(test_sums_of_integers),
      cmocka_unit_test(test_maxima),
      cmocka_unit_test(test_offsets),
      cmocka_unit_test(test_parts_of_different_length),
      cmocka_unit_test(test_all_hear_of_a_failure),
      cmocka_unit_test(test_errors_name_their_rank),
      cmocka_unit_test(test_failed_calls_change_nothing),
      cmocka_unit_test(test_communicators_of_callers_are_checked),
      cmocka_unit_test(test_launchers),
      cmocka_unit_test(test_missing_shared_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
