/* tests/unit/base/test_pool.c: the pool of threads for tasks and loops. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h" /* SLOW */

static fw_pool *new_pool(unsigned threads) {
  fw_pool *pool = NULL;
  furrow_error err;
  assert_int_equal(fw_pool_create(&pool, threads, &err), FURROW_OK);
  assert_non_null(pool);
  return pool;
}

static void processors_are_those_of_the_affinity(void **state) {
  (void)state;
  unsigned count = fw_processor_count();
  assert_in_range(count, 1, sysconf(_SC_NPROCESSORS_CONF));
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(fw_processor_count(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(fw_processor_count(), count);
}

static void create_makes_the_threads_asked_for(void **state) {
  (void)state;
  static const unsigned counts[] = {1, 2, 7, 0};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    fw_pool *pool = new_pool(counts[i]);
    assert_int_equal(fw_pool_threads(pool), counts[i] ? counts[i] : fw_processor_count());
    fw_pool_wait(pool); /* nothing to wait for */
    fw_pool_free(pool);
  }
  fw_pool_free(NULL);
}

/* ---- Tasks ---------------------------------------------------------------------------------------------- */

typedef struct addend {
  atomic_ullong *to;
  unsigned long long value;
} addend;

static void add_one(void *context) {
  addend *a = context;
  atomic_fetch_add(a->to, a->value);
}

static void every_task_runs_once(void **state) {
  (void)state;
  enum { TASKS = 10000, ROUNDS = 5 };
  static addend addends[TASKS];
  static atomic_ullong total;
  fw_pool *pool = new_pool(4);
  for (unsigned long long round = 1; round <= ROUNDS; round++) {
    for (size_t i = 0; i < TASKS; i++) {
      addends[i] = (addend){&total, i};
      assert_int_equal(fw_pool_submit(pool, add_one, &addends[i], NULL), FURROW_OK);
    }
    fw_pool_wait(pool);
    assert_true(atomic_load(&total) == round * TASKS * (TASKS - 1) / 2);
  }
  fw_pool_free(pool);
}

static void free_runs_what_is_pending(void **state) {
  (void)state;
  enum { TASKS = 5000 };
  static addend addends[TASKS];
  static atomic_ullong total;
  for (unsigned threads = 1; threads <= 3; threads++) {
    atomic_store(&total, 0);
    fw_pool *pool = new_pool(threads);
    for (size_t i = 0; i < TASKS; i++) {
      addends[i] = (addend){&total, 1};
      assert_int_equal(fw_pool_submit(pool, add_one, &addends[i], NULL), FURROW_OK);
    }
    fw_pool_free(pool);
    assert_int_equal(atomic_load(&total), TASKS);
  }
}

/* A task that submits two smaller ones until the size is 0: 2^(size+1) - 1 tasks in all. */
typedef struct tree {
  fw_pool *pool;
  atomic_int tasks, failures;
} tree;

typedef struct branch {
  tree *of;
  int size;
} branch;

static void grow_branch(void *context);

static void submit_branch(tree *of, int size) {
  branch *b = malloc(sizeof *b);
  if (b) *b = (branch){of, size};
  if (!b || fw_pool_submit(of->pool, grow_branch, b, NULL) != FURROW_OK) atomic_fetch_add(&of->failures, 1);
}

static void grow_branch(void *context) {
  branch b = *(branch *)context;
  free(context);
  atomic_fetch_add(&b.of->tasks, 1);
  for (int i = 0; b.size > 0 && i < 2; i++) submit_branch(b.of, b.size - 1);
}

static void tasks_may_submit_tasks(void **state) {
  (void)state;
  tree t = {.pool = new_pool(3)};
  submit_branch(&t, 9);
  fw_pool_wait(t.pool);
  assert_int_equal(atomic_load(&t.tasks), 1023);
  submit_branch(&t, 9); /* and while the pool is being freed */
  fw_pool_free(t.pool);
  assert_int_equal(atomic_load(&t.tasks), 2046);
  assert_int_equal(atomic_load(&t.failures), 0);
}

static void add_task_signals(void *context) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  if (sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM)) atomic_fetch_add((atomic_int *)context, 1);
}

static void threads_take_no_signals(void **state) {
  (void)state;
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  fw_pool *pool = new_pool(2);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
  atomic_int blocked = 0;
  assert_int_equal(fw_pool_submit(pool, add_task_signals, &blocked, NULL), FURROW_OK);
  fw_pool_free(pool);
  assert_int_equal(atomic_load(&blocked), 1);
}

/* ---- Loops ---------------------------------------------------------------------------------------------- */

static void count_call(void *context, size_t i) {
  atomic_fetch_add(&((atomic_uchar *)context)[i], 1);
}

static void for_calls_each_index_once(void **state) {
  (void)state;
  enum { MOST = 200000 };
  static const size_t counts[] = {0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 4097, MOST};
  static atomic_uchar calls[MOST + 1];
  for (unsigned threads = 1; threads <= 5; threads += 2) {
    fw_pool *pool = new_pool(threads);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      memset(calls, 0, sizeof calls);
      assert_int_equal(fw_pool_for(pool, counts[c], count_call, calls, NULL), FURROW_OK);
      for (size_t i = 0; i < counts[c]; i++) assert_int_equal(atomic_load(&calls[i]), 1);
      assert_int_equal(atomic_load(&calls[counts[c]]), 0);
    }
    fw_pool_free(pool);
  }
}

/* Plain writes by index, read after the loop: the loop's end orders them (a race detector would object). */
static void square(void *context, size_t i) {
  ((size_t *)context)[i] = i * i;
}

static void many_short_loops(void **state) {
  (void)state;
  size_t results[20];
  fw_pool *pool = new_pool(3);
  for (size_t round = 0; round < 5000; round++) {
    size_t count = round % 20 + 1;
    memset(results, 0, sizeof results);
    assert_int_equal(fw_pool_for(pool, count, square, results, NULL), FURROW_OK);
    for (size_t i = 0; i < count; i++) assert_int_equal(results[i], i * i);
  }
  fw_pool_free(pool);
}

/* Every body waits until all of them have begun: this ends only if the caller and the threads run them together. */
typedef struct meeting {
  pthread_mutex_t lock;
  pthread_cond_t all;
  size_t present, expected;
} meeting;

static void meet(void *context, size_t i) {
  (void)i;
  meeting *m = context;
  pthread_mutex_lock(&m->lock);
  if (++m->present == m->expected) pthread_cond_broadcast(&m->all);
  while (m->present < m->expected) pthread_cond_wait(&m->all, &m->lock);
  pthread_mutex_unlock(&m->lock);
}

static void for_uses_all_threads_and_the_caller(void **state) {
  (void)state;
  for (unsigned threads = 1; threads <= 4; threads++) {
    meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, threads + 1};
    fw_pool *pool = new_pool(threads);
    assert_int_equal(fw_pool_for(pool, threads + 1, meet, &m, NULL), FURROW_OK);
    assert_int_equal(m.present, threads + 1);
    fw_pool_free(pool);
  }
}

typedef struct gate {
  pthread_mutex_t lock;
  pthread_cond_t opened;
  bool open;
  int passed;
} gate;

static void pass_gate(void *context) {
  gate *g = context;
  pthread_mutex_lock(&g->lock);
  while (!g->open) pthread_cond_wait(&g->opened, &g->lock);
  g->passed++;
  pthread_mutex_unlock(&g->lock);
}

/* Every thread is held up by a task that ends only after the loop: the caller does the loop alone. */
static void for_does_not_wait_for_tasks(void **state) {
  (void)state;
  gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
  size_t results[100] = {0};
  fw_pool *pool = new_pool(2);
  for (int i = 0; i < 5; i++) assert_int_equal(fw_pool_submit(pool, pass_gate, &g, NULL), FURROW_OK);
  assert_int_equal(fw_pool_for(pool, 100, square, results, NULL), FURROW_OK);
  for (size_t i = 0; i < 100; i++) assert_int_equal(results[i], i * i);
  pthread_mutex_lock(&g.lock);
  assert_int_equal(g.passed, 0);
  g.open = true;
  pthread_cond_broadcast(&g.opened);
  pthread_mutex_unlock(&g.lock);
  fw_pool_wait(pool);
  assert_int_equal(g.passed, 5);
  fw_pool_free(pool);
}

typedef struct nested {
  fw_pool *pool, *other;
  atomic_int refused, ran, other_ran;
} nested;

static void count_other(void *context, size_t i) {
  (void)i;
  atomic_fetch_add(&((nested *)context)->other_ran, 1);
}

static void count_inner(void *context, size_t i) {
  (void)i;
  atomic_fetch_add(&((nested *)context)->ran, 1);
}

static void loop_inside(void *context, size_t i) {
  (void)i;
  nested *n = context;
  furrow_error err;
  if (fw_pool_for(n->pool, 3, count_inner, n, &err) == FURROW_E_STATE && err.status == FURROW_E_STATE)
    atomic_fetch_add(&n->refused, 1);
  if (fw_pool_for(n->other, 3, count_other, n, NULL) != FURROW_OK) atomic_fetch_add(&n->ran, 1);
}

static void loop_inside_task(void *context) {
  loop_inside(context, 0);
}

/* Whichever thread a body runs on, the caller's too. */
static void a_loop_inside_its_own_pool_is_refused(void **state) {
  (void)state;
  nested n = {.pool = new_pool(2), .other = new_pool(2)};
  assert_int_equal(fw_pool_for(n.pool, 100, loop_inside, &n, NULL), FURROW_OK);
  assert_int_equal(fw_pool_for(n.pool, 1, loop_inside, &n, NULL), FURROW_OK);
  assert_int_equal(fw_pool_submit(n.pool, loop_inside_task, &n, NULL), FURROW_OK);
  fw_pool_wait(n.pool);
  assert_int_equal(atomic_load(&n.refused), 102);
  assert_int_equal(atomic_load(&n.ran), 0);
  assert_int_equal(atomic_load(&n.other_ran), 306);
  assert_int_equal(fw_pool_for(n.pool, 4, count_inner, &n, NULL), FURROW_OK); /* the mark is taken off again */
  assert_int_equal(atomic_load(&n.ran), 4);
  fw_pool_free(n.pool);
  fw_pool_free(n.other);
}

typedef struct user {
  fw_pool *pool;
  int wrong;
} user;

static void *use_pool(void *context) {
  user *u = context;
  size_t results[50];
  for (size_t round = 0; round < 500; round++) {
    memset(results, 0, sizeof results);
    if (fw_pool_for(u->pool, 50, square, results, NULL) != FURROW_OK) u->wrong++;
    for (size_t i = 0; i < 50; i++) u->wrong += results[i] != i * i;
  }
  return NULL;
}

static void several_callers_share_a_pool(void **state) {
  (void)state;
  enum { CALLERS = 4 };
  pthread_t threads[CALLERS];
  user users[CALLERS];
  fw_pool *pool = new_pool(3);
  for (int i = 0; i < CALLERS; i++) {
    users[i] = (user){pool, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, use_pool, &users[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(users[i].wrong, 0);
  }
  fw_pool_free(pool);
}

static void count_task(void *context) {
  ++*(unsigned *)context;
}

static void add_at(void *context, size_t i) {
  ((unsigned *)context)[i]++;
}

/* In the child: 0 if the pool works, and ends, without its threads. */
static int use_inherited(fw_pool *pool) {
  unsigned task = 0, counts[100] = {0}, sum = 0;
  alarm(200); /* a wait for a thread that is not there ends the child */
  if (!fw_pool_is_inherited(pool) || fw_pool_submit(pool, count_task, &task, NULL) != FURROW_OK) return 1;
  fw_pool_wait(pool);
  if (fw_pool_for(pool, 100, add_at, counts, NULL) != FURROW_OK) return 2;
  for (size_t i = 0; i < 100; i++) sum += counts[i];
  fw_pool_free(pool);
  return task == 1 && sum == 100 ? 0 : 3;
}

static void a_child_uses_and_frees_what_it_inherits(void **state) {
  (void)state;
  fw_pool *pool = new_pool(3);
  assert_false(fw_pool_is_inherited(pool));
  const pid_t child = fork();
  if (child == 0) _exit(use_inherited(pool));
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  fw_pool_free(pool);
}

/* No address space is left for stacks of this size: nothing is made, and what runs already ends. */
static void threads_that_cannot_start(void **state) {
  (void)state;
  if (SLOW >= 8) skip(); /* sanitizers and emulators have stacks of their own */
  pthread_attr_t before, large;
  fw_pool *pool = NULL;
  fw_spin_pool *spinning = NULL;
  furrow_error err;
  assert_int_equal(pthread_getattr_default_np(&before), 0);
  assert_int_equal(pthread_getattr_default_np(&large), 0);
  assert_int_equal(pthread_attr_setstacksize(&large, (size_t)1 << 45), 0);
  assert_int_equal(pthread_setattr_default_np(&large), 0);
  const furrow_status made = fw_pool_create(&pool, 8, &err), also = fw_spin_pool_create(&spinning, 8, NULL);
  assert_int_equal(pthread_setattr_default_np(&before), 0);
  assert_int_equal(made, FURROW_E_MEMORY);
  assert_non_null(strstr(err.message, "cannot start thread"));
  assert_null(pool);
  assert_int_equal(also, FURROW_E_MEMORY);
  assert_null(spinning);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&large);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processors_are_those_of_the_affinity),
      cmocka_unit_test(create_makes_the_threads_asked_for),
      cmocka_unit_test(threads_that_cannot_start),
      cmocka_unit_test(every_task_runs_once),
      cmocka_unit_test(free_runs_what_is_pending),
      cmocka_unit_test(tasks_may_submit_tasks),
      cmocka_unit_test(threads_take_no_signals),
      cmocka_unit_test(for_calls_each_index_once),
      cmocka_unit_test(many_short_loops),
      cmocka_unit_test(for_uses_all_threads_and_the_caller),
      cmocka_unit_test(for_does_not_wait_for_tasks),
      cmocka_unit_test(a_loop_inside_its_own_pool_is_refused),
      cmocka_unit_test(a_child_uses_and_frees_what_it_inherits),
      cmocka_unit_test(several_callers_share_a_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
