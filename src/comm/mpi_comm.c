/* comm/mpi_comm.c: a communicator over MPI.
 *
 * This is the only file that includes mpi.h. It is built as a separate shared object, once for each installed MPI,
 * and mpi_load.c loads the one that belongs to the launcher: neither the library nor the command links MPI.
 *
 * No call blocks inside of MPI. A call starts its messages and then tests them, under a lock, so that
 * MPI_THREAD_SERIALIZED suffices for the thread that watches the other ranks. A call that waits for long sleeps
 * between tests, so that a waiting rank leaves its processor to others. While it waits it checks for ranks that have
 * failed, because they will never send anything.
 *
 * There are two communicators: `data` for the collective calls; `control` for heartbeats, and for the final message
 * of each rank (settle). */
#include <mpi.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "furrow/comm.h"

#ifndef MESSAGE_BYTES
#define MESSAGE_BYTES ((size_t)1 << 30) /* MPI counts in int: longer parts are split into several messages */
#endif

enum { TAG_DATA = 1, TAG_BEAT, TAG_SETTLE };
enum { HOST_TEXT = 64 };

/* The final message of a rank. */
typedef struct last_word {
  uint64_t steps; /* that the rank has completed */
  char failed;
  char bytes[FURROW_SETTLE_BYTES];
} last_word;

typedef struct mpi_state {
  furrow_comm comm;
  MPI_Comm data, control;
  bool began_mpi;       /* close must call MPI_Finalize */
  bool any_thread;      /* threads other than `opener` may call MPI */
  pthread_t opener;     /* the thread that initialised MPI, or that opened this communicator */
  pthread_mutex_t lock; /* serialises all calls of MPI */
  char (*hosts)[HOST_TEXT];

  MPI_Request *requests; /* requests of the collective call in progress */
  MPI_Status *statuses;
  size_t started, receives, capacity; /* receives come first */
  double bytes;                       /* bytes of all started messages */

  last_word *words, own_word; /* for settle: the final messages of all ranks */
  MPI_Request *word_sends;
  bool *settled;
  uint64_t steps;        /* waits for messages that this rank has completed; all ranks have the same ones */
  uint64_t failed_after; /* the fewest steps of a rank that has failed; UINT64_MAX: none is known */

  pthread_t watcher;
  bool watching;
  pthread_cond_t wake;
  bool stop;    /* under the lock */
  bool lost;    /* under the lock: the previous rank does not answer any more */
  double limit; /* seconds of silence after which a rank is lost */
  furrow_comm_lost on_lost;
  void *user;
} mpi_state;

/* ---- Errors --------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static furrow_status fail(furrow_error *err, furrow_status status,
                                                                const char *format, ...) {
  if (!err) return status;
  va_list args;
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = FURROW_NO_OFFSET;
  va_start(args, format);
  vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  return status;
}

static furrow_status mpi_status(int code, const char *call, furrow_error *err) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return FURROW_OK;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "error %d", code);
  for (char *c = text; *c; c++)
    if (*c == '\n') *c = ' ';
  return fail(err, FURROW_E_IO, "MPI: %s: %s", call, text);
}

static furrow_status out_of_memory(furrow_error *err) {
  return fail(err, FURROW_E_MEMORY, "out of memory");
}

/* ---- Waiting -------------------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits between two tests of a call that has taken `waited` seconds so far: returns at once, yields, or sleeps. With
 * `bytes` in transit it stays awake longer, at 100 MB/s, because MPI moves them only during tests. */
static void pause_between_tests(double waited, double bytes) {
  const double spin = 20e-6, awake = 2e-3 + bytes * 1e-8;
  if (waited < spin) return;
  if (waited < awake)
    sched_yield();
  else
    nanosleep(&(struct timespec){.tv_nsec = waited < 1 ? 50000 : 250000}, NULL);
}

/* Receives the final messages of other ranks that have arrived. Call it under the lock. */
static int receive_last_words(mpi_state *s) {
  for (int there = 1; there;) {
    MPI_Status from;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, TAG_SETTLE, s->control, &there, &from);
    if (code != MPI_SUCCESS || !there) return code;
    const int rank = from.MPI_SOURCE;
    code = MPI_Recv(&s->words[rank], sizeof *s->words, MPI_BYTE, rank, TAG_SETTLE, s->control, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    s->settled[rank] = true;
    if (s->words[rank].failed && s->words[rank].steps < s->failed_after) s->failed_after = s->words[rank].steps;
  }
  return MPI_SUCCESS;
}

static unsigned rank_before(const mpi_state *s) {
  return (s->comm.rank + s->comm.ranks - 1) % s->comm.ranks;
}

/* Call it under the lock. Fails if a rank is known to be gone, so that no rank waits for it. A rank that failed after
 * this step has sent what the others need for it. */
static furrow_status check_others(mpi_state *s, furrow_error *err) {
  furrow_status status = mpi_status(receive_last_words(s), "Iprobe", err);
  if (status == FURROW_OK && s->failed_after <= s->steps)
    status = fail(err, FURROW_E_STATE, "MPI: another process failed");
  if (status == FURROW_OK && s->lost)
    status = fail(err, FURROW_E_IO, "MPI: rank %u of %u (%s) has not answered for %g s", rank_before(s), s->comm.ranks,
                  s->hosts[rank_before(s)], s->limit);
  return status;
}

/* Returns the error of the first message that failed. */
static int code_of_statuses(const mpi_state *s, int code) {
  for (size_t i = 0; code == MPI_ERR_IN_STATUS && i < s->started; i++)
    if (s->statuses[i].MPI_ERROR != MPI_SUCCESS && s->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
      return s->statuses[i].MPI_ERROR;
  return code;
}

/* Cancels receives that will never complete: they must not write into memory that the caller frees. Messages that
 * remain are abandoned with the whole job. Call it under the lock. */
static void cancel_receives(mpi_state *s) {
  int done = 0;
  for (size_t i = 0; i < s->receives; i++)
    if (s->requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&s->requests[i]);
  for (int i = 0; !done && i < 100; i++) MPI_Testall((int)s->receives, s->requests, &done, s->statuses);
  s->started = s->receives = 0;
  s->bytes = 0;
}

/* Waits for all started messages. */
static furrow_status wait_for_messages(mpi_state *s, const char *call, furrow_error *err) {
  const double began = now();
  furrow_status status = FURROW_OK;
  int done = 0;
  for (double waited = 0; !done && status == FURROW_OK; waited = now() - began) {
    pause_between_tests(waited, s->bytes);
    pthread_mutex_lock(&s->lock);
    const int code = MPI_Testall((int)s->started, s->requests, &done, s->statuses);
    status = mpi_status(code_of_statuses(s, code), call, err);
    if (status == FURROW_OK && !done && waited > 1e-3) status = check_others(s, err);
    if (status != FURROW_OK) cancel_receives(s);
    pthread_mutex_unlock(&s->lock);
  }
  s->started = s->receives = 0;
  s->bytes = 0;
  s->steps += status == FURROW_OK;
  return status;
}

/* Reserves space for one more request. */
static furrow_status reserve_request(mpi_state *s, furrow_error *err) {
  if (s->started < s->capacity) return FURROW_OK;
  const size_t capacity = 2 * s->capacity + 2 * s->comm.ranks;
  void *requests = realloc(s->requests, capacity * sizeof *s->requests);
  if (requests) s->requests = requests;
  void *statuses = realloc(s->statuses, capacity * sizeof *s->statuses);
  if (statuses) s->statuses = statuses;
  if (!requests || !statuses) return out_of_memory(err);
  s->capacity = capacity;
  return FURROW_OK;
}

/* Counts a message that was started, or reports why it could not be. */
static furrow_status count_started(mpi_state *s, int code, size_t bytes, const char *call, furrow_error *err) {
  s->started += code == MPI_SUCCESS;
  s->bytes += (double)bytes;
  return mpi_status(code, call, err);
}

/* Fails if MPI does not allow this thread. */
static furrow_status check_thread(const mpi_state *s, furrow_error *err) {
  if (s->any_thread || pthread_equal(pthread_self(), s->opener)) return FURROW_OK;
  return fail(err, FURROW_E_STATE,
              "MPI: this MPI has no MPI_THREAD_SERIALIZED: only the thread that opened the communicator may use it");
}

/* ---- Parts for every rank ------------------------------------------------------------------------------- */

static furrow_status start_messages(mpi_state *s, bool sends, char *bytes, size_t size, unsigned rank,
                                    furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0, n = 0; at < size && status == FURROW_OK; at += n) {
    n = size - at < MESSAGE_BYTES ? size - at : MESSAGE_BYTES;
    status = reserve_request(s, err);
    if (status != FURROW_OK) return status;
    MPI_Request *request = &s->requests[s->started];
    pthread_mutex_lock(&s->lock);
    const int code = sends ? MPI_Isend(bytes + at, (int)n, MPI_BYTE, (int)rank, TAG_DATA, s->data, request)
                           : MPI_Irecv(bytes + at, (int)n, MPI_BYTE, (int)rank, TAG_DATA, s->data, request);
    pthread_mutex_unlock(&s->lock);
    status = count_started(s, code, n, sends ? "Isend" : "Irecv", err);
    if (!sends) s->receives = s->started;
  }
  return status;
}

/* Starts messages to all other ranks, the next rank first, so that not all ranks send to the same one at once. sizes
 * NULL: every rank gets the same `size` bytes. */
static furrow_status start_all(mpi_state *s, bool sends, char *bytes, const size_t *sizes, size_t size,
                               furrow_error *err) {
  furrow_status status = FURROW_OK;
  size_t at = 0;
  for (unsigned r = 0; sizes && r <= s->comm.rank; r++) at += sizes[r];
  for (unsigned i = 1; i < s->comm.ranks && status == FURROW_OK; i++) {
    const unsigned rank = (s->comm.rank + i) % s->comm.ranks;
    if (rank == 0) at = 0;
    status = start_messages(s, sends, bytes + at, sizes ? sizes[rank] : size, rank, err);
    if (sizes) at += sizes[rank];
  }
  return status;
}

static size_t bytes_before(const furrow_comm *comm, const size_t *sizes) {
  size_t sum = 0;
  for (unsigned r = 0; r < comm->rank; r++) sum += sizes[r];
  return sum;
}

static void copy(char *to, const char *from, size_t size) {
  if (size) memmove(to, from, size);
}

/* Waits for the started messages, or abandons them if starting failed. */
static furrow_status complete_exchange(mpi_state *s, furrow_status status, const char *call, furrow_error *err) {
  if (status == FURROW_OK) return wait_for_messages(s, call, err);
  pthread_mutex_lock(&s->lock);
  cancel_receives(s);
  pthread_mutex_unlock(&s->lock);
  return status;
}

/* Uses messages between pairs instead of MPI_Alltoallv: only the two ranks of a pair need to know how a long part is
 * split, and offsets are not limited to int. */
static furrow_status mpi_exchange(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                                  const size_t *receive_size, furrow_error *err) {
  mpi_state *s = comm->state;
  furrow_status status = check_thread(s, err);
  if (status == FURROW_OK) status = start_all(s, false, receive, receive_size, 0, err);
  if (status == FURROW_OK) status = start_all(s, true, (char *)(uintptr_t)send, send_size, 0, err);
  if (status == FURROW_OK)
    copy((char *)receive + bytes_before(comm, receive_size), (const char *)send + bytes_before(comm, send_size),
         send_size[comm->rank]);
  return complete_exchange(s, status, "exchange", err);
}

static furrow_status mpi_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all, const size_t *sizes,
                                furrow_error *err) {
  mpi_state *s = comm->state;
  furrow_status status = check_thread(s, err);
  if (status == FURROW_OK) status = start_all(s, false, all, sizes, 0, err);
  if (status == FURROW_OK) status = start_all(s, true, (char *)(uintptr_t)bytes, NULL, size, err);
  if (status == FURROW_OK) copy((char *)all + bytes_before(comm, sizes), bytes, size);
  return complete_exchange(s, status, "gather", err);
}

/* ---- The same for all ranks ----------------------------------------------------------------------------- */

static furrow_status mpi_broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root,
                                   furrow_error *err) {
  mpi_state *s = comm->state;
  furrow_status status = check_thread(s, err);
  for (size_t at = 0, n = 0; at < size && status == FURROW_OK; at += n) {
    n = size - at < MESSAGE_BYTES ? size - at : MESSAGE_BYTES;
    pthread_mutex_lock(&s->lock);
    const int code = MPI_Ibcast((char *)bytes + at, (int)n, MPI_BYTE, (int)root, s->data, s->requests);
    pthread_mutex_unlock(&s->lock);
    status = count_started(s, code, n, "Ibcast", err);
    if (status == FURROW_OK) status = wait_for_messages(s, "broadcast", err);
  }
  return status;
}

static furrow_status mpi_sum_i64(const furrow_comm *comm, int64_t *values, size_t count, furrow_error *err) {
  const size_t most = MESSAGE_BYTES / sizeof *values;
  mpi_state *s = comm->state;
  furrow_status status = check_thread(s, err);
  for (size_t at = 0, n = 0; at < count && status == FURROW_OK; at += n) {
    n = count - at < most ? count - at : most;
    pthread_mutex_lock(&s->lock);
    const int code = MPI_Iallreduce(MPI_IN_PLACE, values + at, (int)n, MPI_INT64_T, MPI_SUM, s->data, s->requests);
    pthread_mutex_unlock(&s->lock);
    status = count_started(s, code, n * sizeof *values, "Iallreduce", err);
    if (status == FURROW_OK) status = wait_for_messages(s, "sum", err);
  }
  return status;
}

static furrow_status mpi_barrier(const furrow_comm *comm, furrow_error *err) {
  mpi_state *s = comm->state;
  furrow_status status = check_thread(s, err);
  if (status != FURROW_OK) return status;
  pthread_mutex_lock(&s->lock);
  const int code = MPI_Ibarrier(s->data, s->requests);
  pthread_mutex_unlock(&s->lock);
  status = count_started(s, code, 0, "Ibarrier", err);
  return status == FURROW_OK ? wait_for_messages(s, "barrier", err) : status;
}

/* ---- The end -------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t abort_code;

static void exit_at_once(int number) {
  (void)number;
  _exit(abort_code);
}

/* MPI_Abort itself may wait for a rank that does not answer any more (MPICH 4.0, for rank 0). When this process
 * exits, the launcher ends the others. */
static void limit_abort(int exit_code) {
  struct sigaction action = {.sa_handler = exit_at_once};
  sigset_t alarm_only;
  abort_code = exit_code;
  sigemptyset(&action.sa_mask);
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigaction(SIGALRM, &action, NULL);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
  alarm(1);
}

static void mpi_abort(const furrow_comm *comm, int exit_code) {
  mpi_state *s = comm->state;
  limit_abort(exit_code);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  pthread_mutex_timedlock(&s->lock, &until); /* a thread that hangs inside of MPI must not keep the job from ending */
  MPI_Abort(s->data, exit_code);
  _exit(exit_code);
}

/* Call it under the lock. Sends the final message of this rank, once. */
static int send_words(mpi_state *s) {
  int code = MPI_SUCCESS;
  for (unsigned r = 0; r < s->comm.ranks && code == MPI_SUCCESS; r++) {
    s->word_sends[r] = MPI_REQUEST_NULL;
    if (r != s->comm.rank)
      code = MPI_Isend(&s->own_word, sizeof s->own_word, MPI_BYTE, (int)r, TAG_SETTLE, s->control, &s->word_sends[r]);
  }
  s->words[s->comm.rank] = s->own_word;
  s->settled[s->comm.rank] = true;
  return code;
}

static bool all_settled(const mpi_state *s) {
  for (unsigned r = 0; r < s->comm.ranks; r++)
    if (!s->settled[r]) return false;
  return true;
}

/* Call it under the lock. Whether all final messages have been sent and received. */
static int test_words(mpi_state *s, int *done) {
  int code = MPI_Testall((int)s->comm.ranks, s->word_sends, done, s->statuses);
  if (code == MPI_SUCCESS) code = receive_last_words(s);
  *done = *done && all_settled(s);
  return code;
}

static furrow_status mpi_settle(const furrow_comm *comm, bool failed, const void *bytes, size_t size, void *all,
                                bool *settled, double seconds, furrow_error *err) {
  mpi_state *s = comm->state;
  if (size > FURROW_SETTLE_BYTES)
    return fail(err, FURROW_E_ARGUMENT, "settle: more than %d bytes", FURROW_SETTLE_BYTES);
  s->own_word.failed = failed;
  s->own_word.steps = s->steps;
  memcpy(s->own_word.bytes, bytes, size);
  pthread_mutex_lock(&s->lock);
  int done = 0, code = send_words(s);
  pthread_mutex_unlock(&s->lock);
  const double began = now();
  for (double waited = 0; !done && code == MPI_SUCCESS && (seconds < 0 || waited < seconds); waited = now() - began) {
    pause_between_tests(waited, 0);
    pthread_mutex_lock(&s->lock);
    code = test_words(s, &done);
    pthread_mutex_unlock(&s->lock);
  }
  for (unsigned r = 0; r < comm->ranks; r++) {
    settled[r] = s->settled[r];
    if (settled[r]) memcpy((char *)all + r * size, s->words[r].bytes, size);
  }
  return mpi_status(code, "settle", err);
}

/* ---- Ranks that do not answer --------------------------------------------------------------------------- */

/* Every rank sends heartbeats to the next rank and listens to the previous one. */
typedef struct beats {
  char out, in; /* 0: alive; 1: the last heartbeat */
  MPI_Request sent, expected;
  bool heard, ended;
} beats;

/* Call it under the lock. */
static void send_beat(mpi_state *s, beats *b, char kind) {
  int done = 1;
  if (b->sent != MPI_REQUEST_NULL) MPI_Test(&b->sent, &done, MPI_STATUS_IGNORE);
  if (!done) return;
  b->out = kind;
  MPI_Isend(&b->out, 1, MPI_BYTE, (int)((s->comm.rank + 1) % s->comm.ranks), TAG_BEAT, s->control, &b->sent);
}

/* Call it under the lock. Receives all heartbeats that have arrived. */
static void take_beats(mpi_state *s, beats *b) {
  for (int there = 1; there && !b->ended;) {
    if (b->expected == MPI_REQUEST_NULL)
      MPI_Irecv(&b->in, 1, MPI_BYTE, (int)rank_before(s), TAG_BEAT, s->control, &b->expected);
    if (MPI_Test(&b->expected, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (there) b->heard = true;
    if (there && b->in) b->ended = true;
  }
}

/* Sleeps until the next heartbeat or until the rank ends. Call it under the lock, which is released while it sleeps. */
static void sleep_locked(mpi_state *s, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long)(seconds * 1e9);
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&s->wake, &s->lock, &until);
}

/* Call it under the lock. Exchanges the last heartbeats, so that no message is left when MPI ends. The previous rank
 * is about to end as well. */
static void end_beats(mpi_state *s, beats *b) {
  const double began = now();
  bool said = false;
  while (now() - began < s->limit) {
    int done = 1;
    if (b->sent != MPI_REQUEST_NULL) MPI_Test(&b->sent, &done, MPI_STATUS_IGNORE);
    if (done && !said) {
      send_beat(s, b, 1);
      said = true;
      continue;
    }
    take_beats(s, b);
    if (done && b->ended) return;
    pthread_mutex_unlock(&s->lock);
    pause_between_tests(now() - began, 0);
    pthread_mutex_lock(&s->lock);
  }
}

/* Counts silence in intervals of this thread, so that time in which the whole job was stopped does not count. */
static void *watch_others(void *argument) {
  mpi_state *s = argument;
  const double interval = s->limit / 10 < 1 ? s->limit / 10 : 1;
  beats b = {.sent = MPI_REQUEST_NULL, .expected = MPI_REQUEST_NULL};
  double silent = 0, last = now();
  pthread_mutex_lock(&s->lock);
  while (!s->stop && silent < s->limit) {
    b.heard = false;
    send_beat(s, &b, 0);
    take_beats(s, &b);
    const double passed = now() - last;
    last += passed;
    silent = b.heard || b.ended ? 0 : silent + (passed < 2 * interval ? passed : 2 * interval);
    if (silent < s->limit) sleep_locked(s, interval);
  }
  if (s->stop)
    end_beats(s, &b);
  else
    s->lost = true;
  const bool lost = s->lost;
  pthread_mutex_unlock(&s->lock);
  if (lost && s->on_lost) s->on_lost(s->user, rank_before(s), s->hosts[rank_before(s)]);
  return NULL;
}

static furrow_status mpi_watch(const furrow_comm *comm, double seconds, furrow_comm_lost lost, void *user,
                               furrow_error *err) {
  mpi_state *s = comm->state;
  if (!(seconds > 0)) return fail(err, FURROW_E_ARGUMENT, "watch: %g seconds", seconds);
  if (s->watching) return fail(err, FURROW_E_STATE, "watch: the ranks are watched already");
  if (!s->any_thread) return fail(err, FURROW_E_UNSUPPORTED, "watch: this MPI has no MPI_THREAD_SERIALIZED");
  if (comm->ranks == 1) return FURROW_OK;
  s->limit = seconds;
  s->on_lost = lost;
  s->user = user;
  const int errnum = pthread_create(&s->watcher, NULL, watch_others, s);
  if (errnum) return fail(err, FURROW_E_MEMORY, "watch: cannot start a thread: %s", strerror(errnum));
  s->watching = true;
  return FURROW_OK;
}

static void stop_watching(mpi_state *s) {
  if (!s->watching) return;
  pthread_mutex_lock(&s->lock);
  s->stop = true;
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->watcher, NULL);
}

/* ---- Open and close ------------------------------------------------------------------------------------- */

static void free_state(mpi_state *s) {
  if (!s) return;
  if (s->data != MPI_COMM_NULL) MPI_Comm_free(&s->data);
  if (s->control != MPI_COMM_NULL) MPI_Comm_free(&s->control);
  if (s->began_mpi) MPI_Finalize();
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->wake);
  free(s->hosts);
  free(s->requests);
  free(s->statuses);
  free(s->words);
  free(s->word_sends);
  free(s->settled);
  free(s);
}

static void mpi_close(furrow_comm *comm) {
  mpi_state *s = comm->state;
  stop_watching(s);
  free_state(s);
}

static void fill_calls(mpi_state *s) {
  furrow_comm *comm = &s->comm;
  furrow_comm_init(comm);
  comm->state = s;
  comm->exchange = mpi_exchange;
  comm->gather = mpi_gather;
  comm->broadcast = mpi_broadcast;
  comm->sum_i64 = mpi_sum_i64;
  comm->barrier = mpi_barrier;
  comm->abort = mpi_abort;
  comm->close = mpi_close;
  comm->settle = mpi_settle;
  comm->watch = mpi_watch;
}

static mpi_state *new_state(void) {
  mpi_state *s = calloc(1, sizeof *s);
  pthread_condattr_t clock;
  if (!s) return NULL;
  s->data = s->control = MPI_COMM_NULL;
  s->failed_after = UINT64_MAX;
  s->opener = pthread_self();
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&s->wake, &clock);
  pthread_condattr_destroy(&clock);
  fill_calls(s);
  return s;
}

static bool allocate(mpi_state *s) {
  const size_t ranks = s->comm.ranks;
  s->hosts = calloc(ranks, sizeof *s->hosts);
  s->words = calloc(ranks, sizeof *s->words);
  s->word_sends = calloc(ranks, sizeof *s->word_sends);
  s->settled = calloc(ranks, sizeof *s->settled);
  return s->hosts && s->words && s->word_sends && s->settled && reserve_request(s, NULL) == FURROW_OK;
}

/* Initialises MPI unless the program has done so. Our own threads call MPI one at a time. If the program initialised
 * MPI, its threads may call MPI at any time, so MPI must allow every thread to do so. */
static furrow_status begin_mpi(mpi_state *s, furrow_error *err) {
  int is_begun = 0, is_ended = 0, threads = MPI_THREAD_SINGLE, code = MPI_SUCCESS;
  MPI_Initialized(&is_begun);
  MPI_Finalized(&is_ended);
  if (is_ended) return fail(err, FURROW_E_STATE, "MPI: MPI_Finalize was called already");
  if (!is_begun) code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &threads);
  if (code == MPI_SUCCESS && is_begun) code = MPI_Query_thread(&threads);
  s->began_mpi = !is_begun && code == MPI_SUCCESS;
  s->any_thread = threads >= (is_begun ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
  return mpi_status(code, "Init_thread", err);
}

/* Duplicates the communicator, so that our messages do not mix with the program's own. */
static int duplicate(mpi_state *s, MPI_Comm of) {
  int code = MPI_Comm_dup(of, &s->data);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(of, &s->control);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(s->data, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(s->control, MPI_ERRORS_RETURN);
  return code;
}

static furrow_status connect_ranks(mpi_state *s, MPI_Comm of, furrow_error *err) {
  int rank = 0, ranks = 0;
  int code = duplicate(s, of);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(s->data, &rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(s->data, &ranks);
  s->comm.rank = (unsigned)rank;
  s->comm.ranks = (unsigned)ranks;
  char host[HOST_TEXT] = "";
  gethostname(host, sizeof host - 1);
  if (code == MPI_SUCCESS && !allocate(s)) return out_of_memory(err);
  if (code == MPI_SUCCESS) code = MPI_Allgather(host, sizeof host, MPI_BYTE, s->hosts, sizeof host, MPI_BYTE, s->data);
  return mpi_status(code, "Comm_dup", err);
}

/* Called by mpi_load.c. mpi_comm: an MPI_Comm; NULL: MPI_COMM_WORLD. known: the size of the caller's furrow_comm. */
FURROW_API furrow_status furrow_mpi_open(furrow_comm **comm, const void *mpi_comm, size_t known, furrow_error *err);

furrow_status furrow_mpi_open(furrow_comm **comm, const void *mpi_comm, size_t known, furrow_error *err) {
  if (known != sizeof **comm) return fail(err, FURROW_E_UNSUPPORTED, "of another version of Furrow");
  mpi_state *s = new_state();
  if (!s) return out_of_memory(err);
  furrow_status status = begin_mpi(s, err);
  if (status == FURROW_OK) status = connect_ranks(s, mpi_comm ? *(const MPI_Comm *)mpi_comm : MPI_COMM_WORLD, err);
  if (status == FURROW_OK)
    *comm = &s->comm;
  else
    free_state(s);
  return status;
}
