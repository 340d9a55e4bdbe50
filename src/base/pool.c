/* base/pool.c: a small pool of threads: a queue of tasks and a list of running loops under one lock. */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"

typedef struct task {
  void (*run)(void *context);
  void *context;
} task;

/* A fw_pool_for in progress. It lies on its caller's stack and needs no queue entry: a thread that is busy with a long
 * task simply never joins, and the caller does not wait for it. */
typedef struct loop {
  struct loop *next_loop; /* in fw_pool.loops while it still has indices to give out */
  void (*body)(void *context, size_t i);
  void *context;
  size_t count;
  size_t stride;      /* indices taken at a time */
  atomic_size_t next; /* the first index that nobody has taken */
  unsigned helpers;   /* pool threads inside it; under the lock */
} loop;

struct fw_pool {
  pthread_mutex_t lock;
  pthread_cond_t work; /* a task or a loop was added, or stop was set */
  pthread_cond_t idle; /* unfinished fell to 0, or a helper left a loop */
  task *tasks;         /* ring of `capacity` places; `queued` of them used, from `head` on */
  size_t capacity;
  size_t head;
  size_t queued;
  size_t unfinished; /* queued or running */
  loop *loops;
  bool stop;
  unsigned thread_count;
  pthread_t threads[];
};

/* The pool whose task or loop body this thread is inside: waiting there for that same pool could last for ever. */
static _Thread_local const fw_pool *inside;

unsigned fw_processor_count(void) {
  int count = 0;
  for (int bits = 1024; count == 0 && bits <= 1024 * 1024; bits *= 4) {
    cpu_set_t *set = CPU_ALLOC(bits);
    if (!set) break;
    if (sched_getaffinity(0, CPU_ALLOC_SIZE(bits), set) == 0) count = CPU_COUNT_S(CPU_ALLOC_SIZE(bits), set);
    CPU_FREE(set);
  }
  return count > 0 ? (unsigned)count : 1;
}

/* ---- Loops ---------------------------------------------------------------------------------------------- */

static void run_loop(const fw_pool *pool, loop *l) {
  const fw_pool *outer = inside;
  inside = pool;
  for (;;) {
    size_t begin = atomic_fetch_add_explicit(&l->next, l->stride, memory_order_relaxed);
    if (begin >= l->count) break;
    size_t end = l->count - begin < l->stride ? l->count : begin + l->stride;
    for (size_t i = begin; i < end; i++) l->body(l->context, i);
  }
  inside = outer;
}

/* Nothing is left to take from it: whoever notices first takes it off the list. */
static void unlist_loop(fw_pool *pool, loop *l) {
  loop **place = &pool->loops;
  while (*place && *place != l) place = &(*place)->next_loop;
  if (*place) *place = l->next_loop;
}

static void help_loop(fw_pool *pool, loop *l) {
  l->helpers++;
  pthread_mutex_unlock(&pool->lock);
  run_loop(pool, l);
  pthread_mutex_lock(&pool->lock);
  unlist_loop(pool, l);
  if (--l->helpers == 0) pthread_cond_broadcast(&pool->idle);
}

furrow_status fw_pool_for(fw_pool *pool, size_t count, void (*body)(void *context, size_t i), void *context,
                          furrow_error *err) {
  if (inside == pool) return fw_fail(err, FURROW_E_STATE, "a loop was started from inside a task of its own pool");
  /* Enough strides per thread to even out bodies of unequal cost, few enough to make short bodies worth it. */
  size_t strides = 64 * ((size_t)pool->thread_count + 1);
  loop l = {.body = body, .context = context, .count = count, .stride = 1 + count / strides};
  atomic_init(&l.next, 0);
  if (count > 1) {
    pthread_mutex_lock(&pool->lock);
    l.next_loop = pool->loops;
    pool->loops = &l;
    if (count > pool->thread_count) {
      pthread_cond_broadcast(&pool->work);
    } else {
      for (size_t i = 1; i < count; i++) pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
  }
  run_loop(pool, &l);
  if (count > 1) {
    pthread_mutex_lock(&pool->lock);
    unlist_loop(pool, &l);
    while (l.helpers > 0) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
  }
  return FURROW_OK;
}

/* ---- Tasks ---------------------------------------------------------------------------------------------- */

static furrow_status grow_queue(fw_pool *pool, furrow_error *err) {
  size_t capacity = pool->capacity ? pool->capacity * 2 : 64;
  void *memory;
  furrow_status status = fw_alloc(&memory, capacity, sizeof(task), err);
  if (status != FURROW_OK) return status;
  task *tasks = memory;
  for (size_t i = 0; i < pool->queued; i++) tasks[i] = pool->tasks[(pool->head + i) % pool->capacity];
  fw_free(pool->tasks);
  pool->tasks = tasks;
  pool->capacity = capacity;
  pool->head = 0;
  return FURROW_OK;
}

furrow_status fw_pool_submit(fw_pool *pool, void (*run)(void *context), void *context, furrow_error *err) {
  pthread_mutex_lock(&pool->lock);
  furrow_status status = pool->queued == pool->capacity ? grow_queue(pool, err) : FURROW_OK;
  if (status == FURROW_OK) {
    pool->tasks[(pool->head + pool->queued) % pool->capacity] = (task){run, context};
    pool->queued++;
    pool->unfinished++;
    pthread_cond_signal(&pool->work);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

static void run_task(fw_pool *pool) {
  task t = pool->tasks[pool->head];
  pool->head = (pool->head + 1) % pool->capacity;
  pool->queued--;
  pthread_mutex_unlock(&pool->lock);
  inside = pool;
  t.run(t.context);
  inside = NULL;
  pthread_mutex_lock(&pool->lock);
  if (--pool->unfinished == 0) pthread_cond_broadcast(&pool->idle);
}

void fw_pool_wait(fw_pool *pool) {
  assert(inside != pool);
  pthread_mutex_lock(&pool->lock);
  while (pool->unfinished > 0) pthread_cond_wait(&pool->idle, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- Threads -------------------------------------------------------------------------------------------- */

/* Loops go first: somebody is waiting for them. */
static void *work(void *context) {
  fw_pool *pool = context;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    if (pool->loops) {
      help_loop(pool, pool->loops);
    } else if (pool->queued > 0) {
      run_task(pool);
    } else if (pool->stop) {
      break;
    } else {
      pthread_cond_wait(&pool->work, &pool->lock);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

furrow_status fw_pool_create(fw_pool **pool, unsigned threads, furrow_error *err) {
  if (threads == 0) threads = fw_processor_count();
  void *memory;
  size_t bytes;
  if (!fw_size_mul(threads, sizeof(pthread_t), &bytes) || !fw_size_add(bytes, sizeof(fw_pool), &bytes))
    return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_alloc_zero(&memory, bytes, 1, err);
  if (status != FURROW_OK) return status;
  fw_pool *p = memory;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->idle, NULL);
  status = fw_threads_start(p->threads, threads, &p->thread_count, work, p, err);
  if (status != FURROW_OK) {
    fw_pool_free(p);
    return status;
  }
  *pool = p;
  return FURROW_OK;
}

void fw_pool_free(fw_pool *pool) {
  if (!pool) return;
  assert(inside != pool);
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (unsigned i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
  fw_free(pool->tasks);
  fw_free(pool);
}

unsigned fw_pool_threads(const fw_pool *pool) {
  return pool->thread_count;
}
