/* base/crew.c: a few threads for many short loops. */
#include "base/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/threads.h"

/* The state says which loop is the newest, whether it can be joined, and how many of the crew are inside it. A thread
 * joins by adding 1 while OPEN is set; the caller takes OPEN away when no index is left and waits until nobody is
 * inside. So a thread that is late never touches a loop that has ended, and nobody waits for it. */
enum { HELPERS = 0x7fff, OPEN = 0x8000, LOOP = 0x10000 };

/* How often to look before sleeping: some ten microseconds. */
enum { LOOKS = 2000 };

struct fw_crew {
  _Alignas(64) atomic_uint_fast64_t state;
  _Alignas(64) atomic_size_t next;                    /* the first index that nobody has taken */
  _Alignas(64) void (*body)(void *context, size_t i); /* of the open loop: written before OPEN is set */
  void *context;
  size_t count;
  atomic_uint sleepers; /* threads that wait for `work`, and the caller where it waits for `left` */
  pthread_mutex_t lock;
  pthread_cond_t work, left;
  atomic_bool stop;
  unsigned thread_count; /* without the caller's */
  void *memory;
  pthread_t threads[];
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void take_indices(fw_crew *crew) {
  void (*const body)(void *context, size_t i) = crew->body;
  void *const context = crew->context;
  const size_t count = crew->count;
  for (;;) {
    const size_t i = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
    if (i >= count) break;
    body(context, i);
  }
}

/* Wakes whoever sleeps: after a change of state or stop that they wait for. */
static void wake(fw_crew *crew, pthread_cond_t *cond) {
  if (atomic_load(&crew->sleepers) == 0) return;
  pthread_mutex_lock(&crew->lock);
  pthread_cond_broadcast(cond);
  pthread_mutex_unlock(&crew->lock);
}

/* ---- The threads ---------------------------------------------------------------------------------------- */

/* A loop can be joined that is not the one numbered `done`. */
static bool is_new(uint64_t state, uint64_t done) {
  return (state & OPEN) && state / LOOP != done;
}

static bool has_news(fw_crew *crew, uint64_t done) {
  return is_new(atomic_load(&crew->state), done) || atomic_load(&crew->stop);
}

static void wait_for_news(fw_crew *crew, uint64_t done) {
  for (int i = 0; i < LOOKS; i++) {
    if (has_news(crew, done)) return;
    relax();
  }
  pthread_mutex_lock(&crew->lock);
  atomic_fetch_add(&crew->sleepers, 1);
  while (!has_news(crew, done)) pthread_cond_wait(&crew->work, &crew->lock);
  atomic_fetch_sub(&crew->sleepers, 1);
  pthread_mutex_unlock(&crew->lock);
}

static void *work(void *context) {
  fw_crew *crew = context;
  uint64_t done = 0;
  while (!atomic_load(&crew->stop)) {
    uint64_t state = atomic_load(&crew->state);
    if (!is_new(state, done)) {
      wait_for_news(crew, done);
    } else if (atomic_compare_exchange_weak(&crew->state, &state, state + 1)) {
      done = state / LOOP;
      take_indices(crew);
      const uint64_t before = atomic_fetch_sub(&crew->state, 1);
      if ((before & (HELPERS | OPEN)) == 1) wake(crew, &crew->left);
    }
  }
  return NULL;
}

/* ---- The caller ----------------------------------------------------------------------------------------- */

static bool has_helpers(fw_crew *crew) {
  return atomic_load(&crew->state) & HELPERS;
}

static void wait_for_helpers(fw_crew *crew) {
  for (int i = 0; i < LOOKS; i++) {
    if (!has_helpers(crew)) return;
    relax();
  }
  pthread_mutex_lock(&crew->lock);
  atomic_fetch_add(&crew->sleepers, 1);
  while (has_helpers(crew)) pthread_cond_wait(&crew->left, &crew->lock);
  atomic_fetch_sub(&crew->sleepers, 1);
  pthread_mutex_unlock(&crew->lock);
}

void fw_crew_run(fw_crew *crew, size_t count, void (*body)(void *context, size_t i), void *context) {
  if (crew->thread_count == 0 || count < 2) {
    for (size_t i = 0; i < count; i++) body(context, i);
    return;
  }
  crew->body = body;
  crew->context = context;
  crew->count = count;
  atomic_store_explicit(&crew->next, 0, memory_order_relaxed);
  atomic_fetch_add(&crew->state, LOOP + OPEN); /* OPEN was not set, nobody is inside */
  wake(crew, &crew->work);
  take_indices(crew);
  atomic_fetch_sub(&crew->state, OPEN);
  wait_for_helpers(crew);
}

furrow_status fw_crew_create(fw_crew **crew, unsigned threads, furrow_error *err) {
  if (threads == 0) threads = fw_processor_count();
  if (threads > HELPERS) return fw_fail(err, FURROW_E_ARGUMENT, "%u threads are too many", threads);
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, sizeof(fw_crew) + 64 + threads * sizeof(pthread_t), 1, err);
  if (status != FURROW_OK) return status;
  fw_crew *c = (fw_crew *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  c->memory = memory;
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->work, NULL);
  pthread_cond_init(&c->left, NULL);
  status = fw_threads_start(c->threads, threads - 1, &c->thread_count, work, c, err);
  if (status != FURROW_OK) {
    fw_crew_free(c);
    return status;
  }
  *crew = c;
  return FURROW_OK;
}

void fw_crew_free(fw_crew *crew) {
  if (!crew) return;
  atomic_store(&crew->stop, true);
  wake(crew, &crew->work);
  for (unsigned i = 0; i < crew->thread_count; i++) pthread_join(crew->threads[i], NULL);
  pthread_cond_destroy(&crew->left);
  pthread_cond_destroy(&crew->work);
  pthread_mutex_destroy(&crew->lock);
  fw_free(crew->memory);
}

unsigned fw_crew_threads(const fw_crew *crew) {
  return crew->thread_count + 1;
}
