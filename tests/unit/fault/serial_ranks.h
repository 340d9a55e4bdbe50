/* tests/unit/fault/serial_ranks.h: a communicator whose ranks are threads of the test that run one after the other,
 * from one meeting to the next, so that the n-th allocation is always the same one; the n-th call of each rank fails.
 *
 * For one file of a test program. */
#ifndef SERIAL_RANKS_H
#define SERIAL_RANKS_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "furrow/comm.h"
#include "support/cmocka_all.h"

enum { SERIAL_RANKS = 2 };

/* What a rank shows to the others at a meeting. */
typedef struct serial_shown {
  const char *call;
  const void *bytes;
  const size_t *sizes;
} serial_shown;

static pthread_mutex_t serial_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t serial_changed = PTHREAD_COND_INITIALIZER;
static unsigned serial_running;        /* the rank that runs */
static bool serial_left[SERIAL_RANKS]; /* the rank has returned: nobody can meet it */
static serial_shown serial_shows[SERIAL_RANKS];
static long serial_calls[SERIAL_RANKS]; /* of the communicator */
static long serial_failing;             /* the call of each rank that fails; 0: none */
static bool serial_mixed;               /* ranks that met had called different functions */

static inline void serial_begin(unsigned rank) {
  pthread_mutex_lock(&serial_mutex);
  while (serial_running != rank) pthread_cond_wait(&serial_changed, &serial_mutex);
  pthread_mutex_unlock(&serial_mutex);
}

static inline void serial_end(unsigned rank) {
  pthread_mutex_lock(&serial_mutex);
  for (unsigned i = 1; i <= SERIAL_RANKS; i++) {
    serial_running = (rank + i) % SERIAL_RANKS;
    if (!serial_left[serial_running]) break;
  }
  pthread_cond_broadcast(&serial_changed);
  pthread_mutex_unlock(&serial_mutex);
}

static inline furrow_status serial_refuse(furrow_error *e, const char *message) {
  if (e) {
    *e = (furrow_error){.status = FURROW_E_STATE};
    snprintf(e->message, sizeof e->message, "%s", message);
  }
  return FURROW_E_STATE;
}

static inline furrow_status serial_refuse_mixed(furrow_error *e) {
  serial_mixed = true;
  return serial_refuse(e, "ranks call different functions");
}

/* All ranks show their bytes. */
static inline furrow_status serial_meet(const furrow_comm *comm, const char *call, const void *bytes,
                                        const size_t *sizes, furrow_error *e) {
  if (++serial_calls[comm->rank] == serial_failing) return serial_refuse(e, "the connection broke");
  serial_shows[comm->rank] = (serial_shown){call, bytes, sizes};
  serial_end(comm->rank);
  serial_begin(comm->rank);
  for (unsigned r = 0; r < SERIAL_RANKS; r++)
    if (serial_left[r]) return serial_refuse(e, "another process failed");
  return FURROW_OK;
}

static inline bool serial_is_same(const char *call) {
  for (unsigned r = 0; r < SERIAL_RANKS; r++)
    if (strcmp(serial_shows[r].call, call) != 0) return false;
  return true;
}

/* All ranks have read what the others show. */
static inline void serial_part(const furrow_comm *comm) {
  serial_end(comm->rank);
  serial_begin(comm->rank);
}

static inline furrow_status serial_exchange(const furrow_comm *comm, const void *send, const size_t *send_size,
                                            void *receive, const size_t *receive_size, furrow_error *e) {
  furrow_status status = serial_meet(comm, __func__, send, send_size, e);
  if (status != FURROW_OK) return status;
  char *to = receive;
  for (unsigned r = 0; status == FURROW_OK && r < SERIAL_RANKS; to += receive_size[r++]) {
    const serial_shown *from = &serial_shows[r];
    size_t at = 0;
    for (unsigned i = 0; serial_is_same(__func__) && i < comm->rank; i++) at += from->sizes[i];
    if (!serial_is_same(__func__) || from->sizes[comm->rank] != receive_size[r])
      status = serial_refuse_mixed(e);
    else if (receive_size[r])
      memcpy(to, (const char *)from->bytes + at, receive_size[r]);
  }
  serial_part(comm);
  return status;
}

static inline furrow_status serial_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                          const size_t *sizes, furrow_error *e) {
  furrow_status status = serial_meet(comm, __func__, bytes, &size, e);
  if (status != FURROW_OK) return status;
  char *to = all;
  for (unsigned r = 0; status == FURROW_OK && r < SERIAL_RANKS; to += sizes[r++]) {
    if (!serial_is_same(__func__) || serial_shows[r].sizes[0] != sizes[r])
      status = serial_refuse_mixed(e);
    else if (sizes[r])
      memcpy(to, serial_shows[r].bytes, sizes[r]);
  }
  serial_part(comm);
  return status;
}

static inline furrow_status serial_broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root,
                                             furrow_error *e) {
  furrow_status status = serial_meet(comm, __func__, bytes, &size, e);
  if (status != FURROW_OK) return status;
  if (!serial_is_same(__func__) || root >= SERIAL_RANKS || serial_shows[root].sizes[0] != size)
    status = serial_refuse_mixed(e);
  else if (size && root != comm->rank)
    memcpy(bytes, serial_shows[root].bytes, size);
  serial_part(comm);
  return status;
}

static inline furrow_status serial_barrier(const furrow_comm *comm, furrow_error *e) {
  furrow_status status = serial_meet(comm, __func__, NULL, NULL, e);
  if (status != FURROW_OK) return status;
  if (!serial_is_same(__func__)) status = serial_refuse_mixed(e);
  serial_part(comm);
  return status;
}

static inline furrow_comm serial_comm(unsigned rank) {
  return (furrow_comm){.size = sizeof(furrow_comm),
                       .rank = rank,
                       .ranks = SERIAL_RANKS,
                       .exchange = serial_exchange,
                       .gather = serial_gather,
                       .broadcast = serial_broadcast,
                       .barrier = serial_barrier};
}

/* A thread begins with serial_begin and ends with this. */
static inline void serial_leave(unsigned rank) {
  serial_left[rank] = true;
  serial_end(rank);
}

/* Runs body(items[i]) for each rank i; items are `bytes` apart. The n-th call of each rank fails; 0: none. */
static inline void serial_run(void *(*body)(void *item), void *items, size_t bytes, long failing) {
  pthread_t threads[SERIAL_RANKS];
  serial_failing = failing;
  serial_mixed = false;
  serial_running = 0;
  for (unsigned i = 0; i < SERIAL_RANKS; i++) {
    serial_left[i] = false;
    serial_calls[i] = 0;
  }
  for (unsigned i = 0; i < SERIAL_RANKS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, body, (char *)items + i * bytes), 0);
  for (unsigned i = 0; i < SERIAL_RANKS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
