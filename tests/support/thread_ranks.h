/* tests/support/thread_ranks.h: a communicator whose ranks are threads of the test. */
#ifndef TESTS_THREAD_RANKS_H
#define TESTS_THREAD_RANKS_H

#include <pthread.h>
#include <string.h>

#include "comm/collectives.h"
#include "support/cmocka_all.h"

enum { MANY_RANKS = 64 };

/* What each rank shows to the others between two meetings. */
typedef struct shown_part {
  const void *bytes;
  const size_t *sizes;
} shown_part;

static pthread_barrier_t rank_meeting;
static shown_part shown_by[MANY_RANKS];

static inline furrow_status thread_exchange(const furrow_comm *comm, const void *send, const size_t *send_size,
                                            void *receive, const size_t *receive_size, furrow_error *e) {
  (void)e;
  char *to = receive;
  shown_by[comm->rank] = (shown_part){send, send_size};
  pthread_barrier_wait(&rank_meeting);
  for (unsigned rank = 0; rank < comm->ranks; rank++) {
    const shown_part *from = &shown_by[rank];
    size_t at = 0;
    for (unsigned i = 0; i < comm->rank; i++) at += from->sizes[i];
    assert_int_equal(from->sizes[comm->rank], receive_size[rank]);
    if (receive_size[rank]) memcpy(to, (const char *)from->bytes + at, receive_size[rank]);
    to += receive_size[rank];
  }
  pthread_barrier_wait(&rank_meeting);
  return FURROW_OK;
}

static inline furrow_status thread_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                          const size_t *sizes, furrow_error *e) {
  (void)e;
  char *to = all;
  shown_by[comm->rank] = (shown_part){bytes, &size};
  pthread_barrier_wait(&rank_meeting);
  for (unsigned rank = 0; rank < comm->ranks; rank++) {
    assert_int_equal(shown_by[rank].sizes[0], sizes[rank]);
    if (sizes[rank]) memcpy(to, shown_by[rank].bytes, sizes[rank]);
    to += sizes[rank];
  }
  pthread_barrier_wait(&rank_meeting);
  return FURROW_OK;
}

static inline furrow_status thread_broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root,
                                             furrow_error *e) {
  (void)e;
  shown_by[comm->rank] = (shown_part){bytes, &size};
  pthread_barrier_wait(&rank_meeting);
  assert_int_equal(shown_by[root].sizes[0], size);
  if (size && root != comm->rank) memcpy(bytes, shown_by[root].bytes, size);
  pthread_barrier_wait(&rank_meeting);
  return FURROW_OK;
}

static inline furrow_status thread_barrier(const furrow_comm *comm, furrow_error *e) {
  (void)comm, (void)e;
  pthread_barrier_wait(&rank_meeting);
  return FURROW_OK;
}

static inline furrow_comm thread_comm(unsigned rank, unsigned ranks) {
  return (furrow_comm){.size = sizeof(furrow_comm),
                       .rank = rank,
                       .ranks = ranks,
                       .exchange = thread_exchange,
                       .gather = thread_gather,
                       .broadcast = thread_broadcast,
                       .barrier = thread_barrier};
}

/* A message without the words that name the rank that failed. */
static inline const char *shared_message(const char *message) {
  const char *end = strncmp(message, "another process failed: rank ", 29) == 0 ? strstr(message, "): ") : NULL;
  return end ? end + 3 : message;
}

/* Runs body(items[i]) for each rank i at once; items are `bytes` apart. */
static inline void run_threads(unsigned ranks, void *(*body)(void *item), void *items, size_t bytes) {
  pthread_t threads[MANY_RANKS];
  assert_true(ranks <= MANY_RANKS);
  assert_int_equal(pthread_barrier_init(&rank_meeting, NULL, ranks), 0);
  for (unsigned i = 0; i < ranks; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, body, (char *)items + i * bytes), 0);
  for (unsigned i = 0; i < ranks; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  pthread_barrier_destroy(&rank_meeting);
}

#endif
