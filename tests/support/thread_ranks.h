/* tests/support/thread_ranks.h: a communicator whose ranks are threads of the test. */
#ifndef TESTS_THREAD_RANKS_H
#define TESTS_THREAD_RANKS_H

#include <pthread.h>

#include "comm/comm.h"
#include "support/cmocka_all.h"

enum { MOST_SUMMED = 1 << 20 };

static pthread_barrier_t rank_meeting;
static double rank_sums[MOST_SUMMED];

/* Ranks add one after the other, so that the order of the sum is fixed; float sums are made in double here. */
static inline void add_in_rank_order(const fw_comm *comm, void *values, size_t count, bool wide) {
  assert_true(count <= MOST_SUMMED);
  for (unsigned rank = 0; rank < comm->size; rank++) {
    for (size_t i = 0; rank == comm->rank && i < count; i++)
      rank_sums[i] = (rank ? rank_sums[i] : 0) + (wide ? ((double *)values)[i] : (double)((float *)values)[i]);
    pthread_barrier_wait(&rank_meeting);
  }
  for (size_t i = 0; i < count; i++) {
    if (wide) {
      ((double *)values)[i] = rank_sums[i];
    } else {
      ((float *)values)[i] = (float)rank_sums[i];
    }
  }
  pthread_barrier_wait(&rank_meeting);
}

static inline furrow_status sum_f32(const fw_comm *comm, float *values, size_t count, furrow_error *e) {
  (void)e;
  add_in_rank_order(comm, values, count, false);
  return FURROW_OK;
}

static inline furrow_status sum_f64(const fw_comm *comm, double *values, size_t count, furrow_error *e) {
  (void)e;
  add_in_rank_order(comm, values, count, true);
  return FURROW_OK;
}

static inline furrow_status meet(const fw_comm *comm, furrow_error *e) {
  (void)comm, (void)e;
  pthread_barrier_wait(&rank_meeting);
  return FURROW_OK;
}

/* Sums and barriers alone. */
static inline fw_comm thread_comm(unsigned rank, unsigned size) {
  return (fw_comm){.rank = rank, .size = size, .allreduce_f32 = sum_f32, .allreduce_f64 = sum_f64, .barrier = meet};
}

/* Runs body(items[i]) for each rank i at once; items are `bytes` apart. */
static inline void run_threads(unsigned size, void *(*body)(void *item), void *items, size_t bytes) {
  pthread_t threads[64];
  assert_true(size <= 64);
  assert_int_equal(pthread_barrier_init(&rank_meeting, NULL, size), 0);
  for (unsigned i = 0; i < size; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, body, (char *)items + i * bytes), 0);
  for (unsigned i = 0; i < size; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  pthread_barrier_destroy(&rank_meeting);
}

#endif
