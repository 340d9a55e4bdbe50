/* base/spin_pool.c: a few threads for many short loops. */
#include "base/spin_pool.h"

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

struct fw_spin_pool {
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

static void take_indices(fw_spin_pool *pool) {
  void (*const body)(void *context, size_t i) = pool->body;
  void *const context = pool->context;
  const size_t count = pool->count;
  for (;;) {
    const size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (i >= count) break;
    body(context, i);
  }
}

/* Wakes whoever sleeps: after a change of state or stop that they wait for. */
static void wake(fw_spin_pool *pool, pthread_cond_t *cond) {
  if (atomic_load(&pool->sleepers) == 0) return;
  pthread_mutex_lock(&pool->lock);
  pthread_cond_broadcast(cond);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- The threads ---------------------------------------------------------------------------------------- */

/* A loop can be joined that is not the one numbered `done`. */
static bool is_new(uint64_t state, uint64_t done) {
  return (state & OPEN) && state / LOOP != done;
}

static bool has_news(fw_spin_pool *pool, uint64_t done) {
  return is_new(atomic_load(&pool->state), done) || atomic_load(&pool->stop);
}

static void wait_for_news(fw_spin_pool *pool, uint64_t done) {
  for (int i = 0; i < LOOKS; i++) {
    if (has_news(pool, done)) return;
    relax();
  }
  pthread_mutex_lock(&pool->lock);
  atomic_fetch_add(&pool->sleepers, 1);
  while (!has_news(pool, done)) pthread_cond_wait(&pool->work, &pool->lock);
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->lock);
}

static void *work(void *context) {
  fw_spin_pool *pool = context;
  uint64_t done = 0;
  while (!atomic_load(&pool->stop)) {
    uint64_t state = atomic_load(&pool->state);
    if (!is_new(state, done)) {
      wait_for_news(pool, done);
    } else if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
      done = state / LOOP;
      take_indices(pool);
      const uint64_t before = atomic_fetch_sub(&pool->state, 1);
      if ((before & (HELPERS | OPEN)) == 1) wake(pool, &pool->left);
    }
  }
  return NULL;
}

/* ---- The caller ----------------------------------------------------------------------------------------- */

static bool has_helpers(fw_spin_pool *pool) {
  return atomic_load(&pool->state) & HELPERS;
}

static void wait_for_helpers(fw_spin_pool *pool) {
  for (int i = 0; i < LOOKS; i++) {
    if (!has_helpers(pool)) return;
    relax();
  }
  pthread_mutex_lock(&pool->lock);
  atomic_fetch_add(&pool->sleepers, 1);
  while (has_helpers(pool)) pthread_cond_wait(&pool->left, &pool->lock);
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->lock);
}

void fw_spin_pool_run(fw_spin_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context) {
  if (pool->thread_count == 0 || count < 2) {
    for (size_t i = 0; i < count; i++) body(context, i);
    return;
  }
  pool->body = body;
  pool->context = context;
  pool->count = count;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  atomic_fetch_add(&pool->state, LOOP + OPEN); /* OPEN was not set, nobody is inside */
  wake(pool, &pool->work);
  take_indices(pool);
  atomic_fetch_sub(&pool->state, OPEN);
  wait_for_helpers(pool);
}

furrow_status fw_spin_pool_create(fw_spin_pool **pool, unsigned threads, furrow_error *err) {
  if (threads == 0) threads = fw_processor_count();
  if (threads > HELPERS) return fw_fail(err, FURROW_E_ARGUMENT, "%u threads are too many", threads);
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, sizeof(fw_spin_pool) + 64 + threads * sizeof(pthread_t), 1, err);
  if (status != FURROW_OK) return status;
  fw_spin_pool *c = (fw_spin_pool *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  c->memory = memory;
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->work, NULL);
  pthread_cond_init(&c->left, NULL);
  status = fw_threads_start(c->threads, threads - 1, &c->thread_count, work, c, err);
  if (status != FURROW_OK) {
    fw_spin_pool_free(c);
    return status;
  }
  *pool = c;
  return FURROW_OK;
}

void fw_spin_pool_free(fw_spin_pool *pool) {
  if (!pool) return;
  atomic_store(&pool->stop, true);
  wake(pool, &pool->work);
  for (unsigned i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->left);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
  fw_free(pool->memory);
}

unsigned fw_spin_pool_threads(const fw_spin_pool *pool) {
  return pool->thread_count + 1;
}
