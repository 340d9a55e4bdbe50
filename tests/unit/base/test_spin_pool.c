/* tests/unit/base/test_spin_pool.c: the pool of threads for short loops. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "support/cmocka_all.h"

static fw_spin_pool *new_pool(unsigned threads) {
  fw_spin_pool *pool = NULL;
  furrow_error err;
  assert_int_equal(fw_spin_pool_create(&pool, threads, &err), FURROW_OK);
  return pool;
}

static void create_makes_the_threads_asked_for(void **state) {
  (void)state;
  static const unsigned counts[] = {1, 2, 7, 0};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    fw_spin_pool *pool = new_pool(counts[i]);
    assert_int_equal(fw_spin_pool_threads(pool), counts[i] ? counts[i] : fw_processor_count());
    fw_spin_pool_free(pool);
  }
  fw_spin_pool_free(NULL);
  fw_spin_pool *none = NULL;
  furrow_error err;
  assert_int_equal(fw_spin_pool_create(&none, 1000000, &err), FURROW_E_ARGUMENT);
  assert_null(none);
}

enum { MOST = 1000 };

typedef struct counts {
  atomic_uint calls[MOST];
} counts;

static void count_call(void *context, size_t i) {
  counts *c = context;
  atomic_fetch_add(&c->calls[i], 1);
}

static void every_index_is_called_once(void **state) {
  (void)state;
  static counts c;
  for (unsigned threads = 1; threads <= 4; threads++) {
    fw_spin_pool *pool = new_pool(threads);
    static const size_t sizes[] = {0, 1, 2, 3, 7, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      memset(&c, 0, sizeof c);
      fw_spin_pool_run(pool, sizes[s], count_call, &c);
      for (size_t i = 0; i < MOST; i++) assert_int_equal(atomic_load(&c.calls[i]), i < sizes[s]);
    }
    fw_spin_pool_free(pool);
  }
}

/* Loop after loop on plain memory: each sees all that the one before it wrote. */
typedef struct chain {
  uint64_t numbers[16];
  uint64_t round;
} chain;

static void step_chain(void *context, size_t i) {
  chain *c = context;
  if (c->numbers[i] == c->round) c->numbers[i]++;
}

static void loops_follow_each_other(void **state) {
  (void)state;
  fw_spin_pool *pool = new_pool(3);
  chain c = {{0}, 0};
  for (c.round = 0; c.round < 20000; c.round++) {
    fw_spin_pool_run(pool, 16, step_chain, &c);
    if (c.round % 5000 == 0) usleep(2000); /* long enough for the threads to fall asleep */
  }
  for (size_t i = 0; i < 16; i++) assert_int_equal(c.numbers[i], 20000);
  fw_spin_pool_free(pool);
}

static void wait_for_all(void *context, size_t i) {
  (void)i;
  atomic_uint *inside = context;
  atomic_fetch_add(inside, 1);
  while (atomic_load(inside) < 4) usleep(10);
}

static void all_threads_take_part(void **state) {
  (void)state;
  fw_spin_pool *pool = new_pool(4);
  for (int round = 0; round < 20; round++) {
    atomic_uint inside = 0;
    fw_spin_pool_run(pool, 4, wait_for_all, &inside); /* ends only if four threads are inside at once */
    assert_int_equal(atomic_load(&inside), 4);
  }
  fw_spin_pool_free(pool);
}

/* ---- Stages ---- */

enum { WIDEST = 40, STAGES = 3000 };

/* Stage s adds 1 to each of its numbers, which must all be s before; it needs item s, and an item is made aside. */
typedef struct staged {
  uint64_t numbers[WIDEST];
  uint64_t stage, stages; /* the one that runs, and how many there are to be */
  bool running;
  size_t count; /* tasks of it */
  atomic_uint wrong, attended;
  atomic_uint made, used; /* items, one after the other */
  atomic_bool making;
  unsigned lead; /* items that may be made before they are needed */
  pthread_t caller;
} staged;

static size_t next_stage(void *context) {
  staged *s = context;
  if (s->running)
    for (size_t i = 0; i < WIDEST; i++) {
      if (i < s->count && s->numbers[i] != s->stage + 1) atomic_fetch_add(&s->wrong, 1);
      s->numbers[i] = s->stage + 1;
    }
  if (s->running) atomic_store(&s->used, (unsigned)++s->stage);
  s->running = false;
  if (s->stage == s->stages) return FW_STAGE_END;
  if (atomic_load(&s->made) <= s->stage) return FW_STAGE_WAIT;
  s->running = true;
  s->count = 1 + s->stage % WIDEST;
  return s->count;
}

static void run_of_stage(void *context, size_t i) {
  staged *s = context;
  if (i >= s->count || s->numbers[i] != s->stage) atomic_fetch_add(&s->wrong, 1);
  s->numbers[i]++;
}

static bool make_item(void *context) {
  staged *s = context;
  if (atomic_exchange(&s->making, true)) return false;
  const bool wanted = atomic_load(&s->made) < atomic_load(&s->used) + s->lead;
  if (wanted && atomic_load(&s->made) % 1000 == 0) usleep(5000); /* long enough for the others to fall asleep */
  if (wanted) atomic_fetch_add(&s->made, 1);
  atomic_store(&s->making, false);
  return wanted;
}

static void attend(void *context) {
  staged *s = context;
  if (!pthread_equal(pthread_self(), s->caller)) atomic_fetch_add(&s->wrong, 1);
  atomic_fetch_add(&s->attended, 1);
}

static bool run_staged(fw_spin_pool *pool, uint64_t stages, unsigned lead) {
  static staged s;
  const fw_stages staged_work = {next_stage, run_of_stage, make_item, attend};
  memset(&s, 0, sizeof s);
  s.stages = stages;
  s.lead = lead;
  s.caller = pthread_self();
  fw_spin_pool_run_stages(pool, &staged_work, &s);
  return s.stage == stages && atomic_load(&s.wrong) == 0 && atomic_load(&s.attended) > 0;
}

static void stages_wait_for_each_other(void **state) {
  (void)state;
  static const unsigned threads[] = {1, 2, 3, 7};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    fw_spin_pool *pool = new_pool(threads[i]);
    for (unsigned lead = 1; lead <= 4; lead += 3)
      for (unsigned time = 0; time < 2; time++) assert_true(run_staged(pool, STAGES, lead));
    assert_true(run_staged(pool, 0, 1));
    fw_spin_pool_free(pool);
  }
}

static void a_child_process_runs_stages_alone(void **state) {
  (void)state;
  fw_spin_pool *pool = new_pool(3);
  assert_true(run_staged(pool, 10, 1));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(run_staged(pool, 100, 1) ? 0 : 1);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  fw_spin_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(create_makes_the_threads_asked_for),
      cmocka_unit_test(every_index_is_called_once),
      cmocka_unit_test(loops_follow_each_other),
      cmocka_unit_test(all_threads_take_part),
      cmocka_unit_test(stages_wait_for_each_other),
      cmocka_unit_test(a_child_process_runs_stages_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
