/* base/pool.c: thread pools.
 *
 * fw_pool has a queue of tasks and a list of running loops under one lock. fw_spin_pool runs one loop at a time and
 * takes no lock unless a thread sleeps. */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"

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

/* Starts `count` threads; *started of them run, also after a failure (E_MEMORY). The program handles signals, so
 * these threads block all signals except the ones that their own faults raise: blocking those would end the process,
 * whatever handler is installed (io/file_map.h has one). */
static furrow_status start_threads(pthread_t *threads, unsigned count, unsigned *started, void *(*work)(void *context),
                                   void *context, furrow_error *err) {
  static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
  sigset_t all, before;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&all, faults[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = 0;
  while (*started < count) {
    failure = pthread_create(&threads[*started], NULL, work, context);
    if (failure) break;
    ++*started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failure) return FURROW_OK;
  return fw_fail_errno(err, FURROW_E_MEMORY, failure, "cannot start thread %u of %u", *started + 1, count);
}

/* ---- Forks ---------------------------------------------------------------------------------------------- */

/* A child process has none of its parent's threads, and locks that they held stay locked. Pools that it inherits
 * work in the calling thread alone and are freed without waiting. */
static atomic_uint forks; /* number of forks between the first process and this one */

static void count_fork(void) {
  atomic_fetch_add(&forks, 1);
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, count_fork);
}

/* Identifies the process that started the threads of a pool. */
static unsigned fork_number(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  return atomic_load(&forks);
}

static bool is_inherited(unsigned number) {
  return number != atomic_load_explicit(&forks, memory_order_relaxed);
}

/* ---- fw_pool -------------------------------------------------------------------------------------------- */

typedef struct task {
  void (*run)(void *context);
  void *context;
} task;

/* A fw_pool_for in progress. It is on its caller's stack and needs no queue entry: a thread that is busy with a long
 * task simply never joins, and the caller does not wait for it. */
typedef struct loop {
  struct loop *next_loop; /* in fw_pool.loops while it still has indices to give out */
  void (*body)(void *context, size_t i);
  void *context;
  size_t count;
  size_t stride;      /* indices taken at a time */
  atomic_size_t next; /* the first index that no thread has taken */
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
  unsigned fork_number;
  unsigned thread_count;
  pthread_t threads[];
};

/* The pool whose task or loop body this thread runs. Waiting for the same pool from there could deadlock. */
static _Thread_local const fw_pool *inside;

/* ---- fw_pool: loops ------------------------------------------------------------------------------------- */

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

/* All indices have been handed out: the first thread that notices removes the loop from the list. */
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
  /* Enough strides per thread to balance bodies of unequal cost, and few enough to keep the overhead of short bodies
   * low. */
  size_t strides = 64 * ((size_t)pool->thread_count + 1);
  loop l = {.body = body, .context = context, .count = count, .stride = 1 + count / strides};
  atomic_init(&l.next, 0);
  const bool shared = count > 1 && !is_inherited(pool->fork_number);
  if (shared) {
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
  if (shared) {
    pthread_mutex_lock(&pool->lock);
    unlist_loop(pool, &l);
    while (l.helpers > 0) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
  }
  return FURROW_OK;
}

/* ---- fw_pool: tasks ------------------------------------------------------------------------------------- */

static furrow_status grow_queue(fw_pool *pool, furrow_error *err) {
  size_t capacity = pool->capacity ? pool->capacity * 2 : 64;
  task *tasks;
  FW_TRY(FW_ALLOC(&tasks, capacity, err));
  for (size_t i = 0; i < pool->queued; i++) tasks[i] = pool->tasks[(pool->head + i) % pool->capacity];
  fw_free(pool->tasks);
  pool->tasks = tasks;
  pool->capacity = capacity;
  pool->head = 0;
  return FURROW_OK;
}

static void run_here(const fw_pool *pool, task t) {
  const fw_pool *outer = inside;
  inside = pool;
  t.run(t.context);
  inside = outer;
}

furrow_status fw_pool_submit(fw_pool *pool, void (*run)(void *context), void *context, furrow_error *err) {
  if (is_inherited(pool->fork_number)) {
    run_here(pool, (task){run, context});
    return FURROW_OK;
  }
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
  run_here(pool, t);
  pthread_mutex_lock(&pool->lock);
  if (--pool->unfinished == 0) pthread_cond_broadcast(&pool->idle);
}

void fw_pool_wait(fw_pool *pool) {
  assert(inside != pool);
  if (is_inherited(pool->fork_number)) return;
  pthread_mutex_lock(&pool->lock);
  while (pool->unfinished > 0) pthread_cond_wait(&pool->idle, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- fw_pool: threads ----------------------------------------------------------------------------------- */

/* Loops go before tasks, because the caller of a loop waits for it. */
static void *pool_thread(void *context) {
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
  furrow_status status = fw_alloc_zero(&memory, sizeof(fw_pool) + threads * sizeof(pthread_t), 1, err);
  if (status != FURROW_OK) return status;
  fw_pool *p = memory;
  p->fork_number = fork_number();
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->idle, NULL);
  status = start_threads(p->threads, threads, &p->thread_count, pool_thread, p, err);
  if (status != FURROW_OK) {
    fw_pool_free(p);
    return status;
  }
  *pool = p;
  return FURROW_OK;
}

bool fw_pool_is_inherited(const fw_pool *pool) {
  return is_inherited(pool->fork_number);
}

static void end_threads(fw_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (unsigned i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
}

void fw_pool_free(fw_pool *pool) {
  if (!pool) return;
  assert(inside != pool);
  if (!is_inherited(pool->fork_number)) end_threads(pool);
  fw_free(pool->tasks);
  fw_free(pool);
}

unsigned fw_pool_threads(const fw_pool *pool) {
  return pool->thread_count;
}

/* ---- fw_spin_pool --------------------------------------------------------------------------------------- */

/* The state holds the number of the newest loop, whether a thread may join it, and how many threads are inside it. A
 * thread joins by adding 1 while OPEN is set; the caller clears OPEN when no index is left and waits until no thread is
 * inside. So a late thread never touches a loop that has ended, and the caller does not wait for it. */
enum { HELPERS = 0x7fff, OPEN = 0x8000, LOOP = 0x10000 };

/* How often a thread checks the state before it sleeps: about ten microseconds. */
enum { SPINS = 2000 };

struct fw_spin_pool {
  _Alignas(64) atomic_uint_fast64_t state;
  _Alignas(64) atomic_size_t next;                    /* the first index that no thread has taken */
  _Alignas(64) void (*body)(void *context, size_t i); /* body of the open loop; written before OPEN is set */
  void *context;
  size_t count;
  atomic_uint sleepers; /* threads that wait for `work`, and the caller while it waits for `left` */
  pthread_mutex_t lock;
  pthread_cond_t work, left;
  atomic_bool stop;
  unsigned fork_number;
  unsigned thread_count; /* not counting the caller's thread */
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

/* Wakes the sleepers after a change of `state` or `stop`.
 *
 * Here and in the stages, the waker writes what sleepers wait for and then reads `sleepers`; a thread that goes to
 * sleep adds to `sleepers` and then reads what it waits for. At least one of the two sees the other, unless a read
 * is reordered before the earlier write. So each of these writes is an exchange or an addition: x86-64 needs one for
 * a store that later reads must not pass, and emulators of ARM on x86-64 let later reads pass a plain store (stlr,
 * then ldar). */
static void wake(fw_spin_pool *pool, pthread_cond_t *cond) {
  if (atomic_load(&pool->sleepers) == 0) return;
  pthread_mutex_lock(&pool->lock);
  pthread_cond_broadcast(cond);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- fw_spin_pool: the threads --------------------------------------------------------------------------- */

/* Whether a loop other than loop number `done` is open. */
static bool is_new_loop(uint64_t state, uint64_t done) {
  return (state & OPEN) && state / LOOP != done;
}

static bool has_work(fw_spin_pool *pool, uint64_t done) {
  return is_new_loop(atomic_load(&pool->state), done) || atomic_load(&pool->stop);
}

static void wait_for_work(fw_spin_pool *pool, uint64_t done) {
  for (int i = 0; i < SPINS; i++) {
    if (has_work(pool, done)) return;
    relax();
  }
  pthread_mutex_lock(&pool->lock);
  atomic_fetch_add(&pool->sleepers, 1);
  while (!has_work(pool, done)) pthread_cond_wait(&pool->work, &pool->lock);
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->lock);
}

static void *spin_thread(void *context) {
  fw_spin_pool *pool = context;
  uint64_t done = 0;
  while (!atomic_load(&pool->stop)) {
    uint64_t state = atomic_load(&pool->state);
    if (!is_new_loop(state, done)) {
      wait_for_work(pool, done);
    } else if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
      done = state / LOOP;
      take_indices(pool);
      const uint64_t before = atomic_fetch_sub(&pool->state, 1);
      if ((before & (HELPERS | OPEN)) == 1) wake(pool, &pool->left);
    }
  }
  return NULL;
}

/* ---- fw_spin_pool: the caller ---------------------------------------------------------------------------- */

static bool has_helpers(fw_spin_pool *pool) {
  return atomic_load(&pool->state) & HELPERS;
}

static void wait_for_helpers(fw_spin_pool *pool) {
  for (int i = 0; i < SPINS; i++) {
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
  if (pool->thread_count == 0 || count < 2 || is_inherited(pool->fork_number)) {
    for (size_t i = 0; i < count; i++) body(context, i);
    return;
  }
  pool->body = body;
  pool->context = context;
  pool->count = count;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  atomic_fetch_add(&pool->state, LOOP + OPEN); /* OPEN was not set, no thread is inside */
  wake(pool, &pool->work);
  take_indices(pool);
  atomic_fetch_sub(&pool->state, OPEN);
  wait_for_helpers(pool);
}

/* ---- Stages ----------------------------------------------------------------------------------------------- */

/* How often a thread looks for work before it yields its processor, and then before it sleeps. */
enum { STAGE_SPINS = 2000, STAGE_YIELDS = 2000 };
enum { ATTEND_NS = 5000000 }; /* the longest sleep of the caller */

typedef struct stage_run {
  const fw_stages *stages;
  void *context;
  pthread_t caller;
  unsigned threads;
  _Alignas(64) atomic_uint_fast64_t
      tasks; /* upper half: tasks of the stage; lower half: the first task that no thread has taken */
  _Alignas(64) atomic_uint done; /* finished tasks of the stage */
  atomic_bool waiting;           /* next has returned FW_STAGE_WAIT, and the thread that clears this calls it again */
  atomic_uint asides;            /* calls of aside that did some work */
  atomic_bool ended;
  _Alignas(64) atomic_uint sleepers; /* threads that sleep, or look for work a last time before they do */
  atomic_uint wakes;                 /* number of wake-ups of sleepers */
  pthread_mutex_t lock;
  pthread_cond_t work;
} stage_run;

static bool has_task(uint64_t tasks) {
  return (uint32_t)tasks < tasks >> 32;
}

/* Wakes one sleeper, which wakes the next one if there is still work. */
static void wake_one(stage_run *r) {
  if (atomic_load(&r->sleepers) == 0) return;
  pthread_mutex_lock(&r->lock);
  atomic_fetch_add(&r->wakes, 1);
  pthread_cond_signal(&r->work);
  pthread_mutex_unlock(&r->lock);
}

static void end_stages(stage_run *r) {
  atomic_store(&r->ended, true);
  pthread_mutex_lock(&r->lock);
  pthread_cond_broadcast(&r->work);
  pthread_mutex_unlock(&r->lock);
}

/* Starts the next stage, if it can begin. The calling thread runs its first task itself, so a stage of one task does
 * not wait for another thread to notice it. */
static bool start_stage(stage_run *r) {
  unsigned seen;
  do {
    seen = atomic_load(&r->asides);
    const size_t count = r->stages->next(r->context);
    if (count == FW_STAGE_END) {
      end_stages(r);
      return false;
    }
    if (count != FW_STAGE_WAIT) {
      atomic_store_explicit(&r->done, 0, memory_order_relaxed);
      atomic_exchange(&r->tasks, (uint64_t)count << 32 | 1);
      wake_one(r); /* even for a single task: next may have enabled work for `aside` */
      return true;
    }
    atomic_exchange(&r->waiting, true);
    wake_one(r);
  } while (atomic_load(&r->asides) != seen && atomic_exchange(&r->waiting, false));
  return false;
}

/* Runs a task of the stage. If it was the last one, starts the next stage and runs its first task, and so on. */
static void run_task_of_stage(stage_run *r, uint32_t i, uint32_t count) {
  for (;;) {
    r->stages->task(r->context, i);
    if (atomic_fetch_add(&r->done, 1) + 1 < count) return;
    if (!start_stage(r)) return;
    i = 0;
    count = (uint32_t)(atomic_load(&r->tasks) >> 32);
  }
}

static void try_next_stage(stage_run *r) {
  if (!atomic_load(&r->waiting) || !atomic_exchange(&r->waiting, false)) return;
  if (start_stage(r)) run_task_of_stage(r, 0, (uint32_t)(atomic_load(&r->tasks) >> 32));
}

static bool take_task_of_stage(stage_run *r) {
  if (!has_task(atomic_load(&r->tasks))) return false;
  const uint64_t tasks = atomic_fetch_add(&r->tasks, 1);
  if (!has_task(tasks)) return false;
  run_task_of_stage(r, (uint32_t)tasks, (uint32_t)(tasks >> 32));
  return true;
}

static void end_aside(stage_run *r) {
  atomic_fetch_add(&r->asides, 1);
  wake_one(r);
  try_next_stage(r);
}

static bool work_aside(stage_run *r) {
  if (!r->stages->aside(r->context)) return false;
  end_aside(r);
  return true;
}

static struct timespec soon(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += ATTEND_NS;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

/* Sleeps until there were more wake-ups than `wakes`. */
static void sleep_until_called(stage_run *r, unsigned wakes, bool attends) {
  const struct timespec until = soon();
  int failure = 0;
  pthread_mutex_lock(&r->lock);
  while (!failure && atomic_load(&r->wakes) == wakes && !atomic_load(&r->ended))
    failure = attends ? pthread_cond_timedwait(&r->work, &r->lock, &until) : pthread_cond_wait(&r->work, &r->lock);
  pthread_mutex_unlock(&r->lock);
}

/* Registers as a sleeper and looks for work once more, so that work that appears just before the sleep is not
 * missed. */
static void sleep_until_work(stage_run *r, bool attends) {
  atomic_fetch_add(&r->sleepers, 1);
  const unsigned wakes = atomic_load(&r->wakes);
  const bool ready = has_task(atomic_load(&r->tasks)), aside = !ready && r->stages->aside(r->context);
  if (!ready && !aside) sleep_until_called(r, wakes, attends);
  atomic_fetch_sub(&r->sleepers, 1);
  if (aside) end_aside(r);
  if (has_task(atomic_load(&r->tasks))) wake_one(r);
}

/* Work appears when next or aside returns; each wake-up of a sleeper announces some. The timed sleep of the caller
 * exists only for attend. */
static void work_in_stages(void *context, size_t i) {
  (void)i;
  stage_run *r = context;
  const bool attends = pthread_equal(pthread_self(), r->caller);
  unsigned idle = 0;
  try_next_stage(r);
  while (!atomic_load(&r->ended)) {
    if (attends) r->stages->attend(r->context);
    if (take_task_of_stage(r) || work_aside(r))
      idle = 0;
    else if (++idle < STAGE_SPINS)
      relax();
    else if (idle < STAGE_SPINS + STAGE_YIELDS)
      sched_yield();
    else
      sleep_until_work(r, attends);
  }
}

void fw_spin_pool_run_stages(fw_spin_pool *pool, const fw_stages *stages, void *context) {
  stage_run r = {.stages = stages, .context = context, .caller = pthread_self(), .threads = fw_spin_pool_threads(pool)};
  atomic_init(&r.waiting, true);
  pthread_mutex_init(&r.lock, NULL);
  pthread_cond_init(&r.work, NULL);
  fw_spin_pool_run(pool, r.threads, work_in_stages, &r);
  stages->attend(context);
  pthread_cond_destroy(&r.work);
  pthread_mutex_destroy(&r.lock);
}

/* ---- fw_spin_pool: create and free ----------------------------------------------------------------------- */

furrow_status fw_spin_pool_create(fw_spin_pool **pool, unsigned threads, furrow_error *err) {
  if (threads == 0) threads = fw_processor_count();
  if (threads > HELPERS) return fw_fail(err, FURROW_E_ARGUMENT, "%u threads are too many", threads);
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, sizeof(fw_spin_pool) + 64 + threads * sizeof(pthread_t), 1, err);
  if (status != FURROW_OK) return status;
  fw_spin_pool *p = (fw_spin_pool *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  p->memory = memory;
  p->fork_number = fork_number();
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->left, NULL);
  status = start_threads(p->threads, threads - 1, &p->thread_count, spin_thread, p, err);
  if (status != FURROW_OK) {
    fw_spin_pool_free(p);
    return status;
  }
  *pool = p;
  return FURROW_OK;
}

static void end_spinning(fw_spin_pool *pool) {
  atomic_exchange(&pool->stop, true);
  wake(pool, &pool->work);
  for (unsigned i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->left);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
}

void fw_spin_pool_free(fw_spin_pool *pool) {
  if (!pool) return;
  if (!is_inherited(pool->fork_number)) end_spinning(pool);
  fw_free(pool->memory);
}

unsigned fw_spin_pool_threads(const fw_spin_pool *pool) {
  return pool->thread_count + 1;
}
