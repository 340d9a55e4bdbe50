/* tests/unit/base/test_stage_sleepers.c: threads that sleep while stages run are woken for what they can do.
 *
 * The caller stays away in attend, so that its looks now and then help nobody. One thread, the worker, runs tasks; the
 * others, one or two, find nothing to do and fall asleep. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "support/cmocka_all.h"

enum { MOST_SLEEPERS = 2, LIMIT_SECONDS = 60 };

typedef struct scene {
  const struct scene_kind *kind;
  pthread_t caller;
  unsigned threads;
  unsigned calls;     /* of next */
  atomic_uint inside; /* threads in the first stage, which has a task for each */
  atomic_bool away;   /* the caller is in attend */
  atomic_bool ended;
  atomic_bool stuck;                          /* something has not happened within the limit */
  atomic_int worker, sleepers[MOST_SLEEPERS]; /* ids of threads; 0: not known */
  atomic_uint pieces, taken, done;            /* of work aside: offered, begun, done */
  /* a look into work aside that is held up */
  atomic_uint looks;    /* of the sleeper before it sleeps */
  unsigned held_look;   /* its number; 0: none */
  atomic_bool is_held;  /* the sleeper is in it */
  atomic_bool is_taken; /* a thread looks for work aside: one at a time */
} scene;

typedef struct scene_kind {
  size_t (*next)(scene *s, unsigned call); /* after the first stage; call 1, 2, … */
  void (*task)(scene *s);
  bool (*aside)(scene *s);
  unsigned pieces; /* in all */
} scene_kind;

static _Thread_local unsigned looks; /* of this thread for work aside, while the worker runs its tasks */

static int thread_id(void) {
  return (int)syscall(SYS_gettid);
}

static char thread_state(int id) {
  char path[64], state = '?';
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
  FILE *file = fopen(path, "r");
  if (!file) return state;
  if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
  fclose(file);
  return state;
}

/* ---- Conditions --------------------------------------------------------------------------------------------- */

static bool all_are_inside(scene *s) {
  return atomic_load(&s->inside) == s->threads;
}

static bool is_away(scene *s) {
  return atomic_load(&s->away);
}

static bool has_ended(scene *s) {
  return atomic_load(&s->ended);
}

static bool sleeps(const atomic_int *thread) {
  const int id = atomic_load(thread);
  return id != 0 && thread_state(id) == 'S';
}

static bool sleeper_sleeps(scene *s) {
  return sleeps(&s->sleepers[0]);
}

static bool both_sleep(scene *s) {
  return sleeps(&s->sleepers[0]) && sleeps(&s->sleepers[1]);
}

static bool other_sleeps(scene *s) {
  return sleeps(&s->sleepers[thread_id() == atomic_load(&s->sleepers[0])]);
}

/* It is not only between two looks at the condition that it waits for. */
static bool worker_found_nothing(scene *s) {
  return atomic_load(&s->pieces) > 0 && sleeps(&s->worker);
}

static bool sleeper_is_held(scene *s) {
  return atomic_load(&s->is_held);
}

static bool all_is_begun(scene *s) {
  return atomic_load(&s->taken) == s->kind->pieces;
}

static bool all_is_done(scene *s) {
  return atomic_load(&s->done) == s->kind->pieces;
}

static void await(scene *s, bool (*condition)(scene *s)) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t until = now.tv_sec + LIMIT_SECONDS;
  while (!condition(s) && now.tv_sec < until && !atomic_load(&s->stuck)) {
    usleep(100);
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  if (!condition(s)) atomic_store(&s->stuck, true);
}

/* ---- What all scenes have in common ------------------------------------------------------------------------- */

static size_t next_of_scene(void *context) {
  scene *s = context;
  const unsigned call = s->calls++;
  const size_t count = call == 0 ? s->threads : s->kind->next(s, call);
  if (count == FW_STAGE_END) atomic_store(&s->ended, true);
  return count;
}

/* The caller leaves the first stage first, and goes away; the last to leave it is the worker. */
static void task_of_scene(void *context, size_t i) {
  scene *s = context;
  (void)i;
  if (all_are_inside(s)) {
    atomic_store(&s->worker, thread_id());
    s->kind->task(s);
    return;
  }
  atomic_fetch_add(&s->inside, 1);
  await(s, all_are_inside);
  if (!pthread_equal(pthread_self(), s->caller)) await(s, is_away);
}

static bool is_sleeper(scene *s) {
  return thread_id() != atomic_load(&s->worker) && !pthread_equal(pthread_self(), s->caller);
}

static void note_sleeper(scene *s) {
  for (int i = 0; i < MOST_SLEEPERS; i++) {
    int id = 0;
    if (atomic_compare_exchange_strong(&s->sleepers[i], &id, thread_id()) || id == thread_id()) return;
  }
}

/* Before the worker works, nobody goes to sleep. */
static bool aside_of_scene(void *context) {
  scene *s = context;
  if (atomic_load(&s->worker) == 0) {
    looks = 0;
    return true;
  }
  looks++;
  if (is_sleeper(s)) note_sleeper(s);
  return s->kind->aside(s);
}

static void attend_of_scene(void *context) {
  scene *s = context;
  if (!all_are_inside(s)) return;
  atomic_store(&s->away, true);
  await(s, has_ended);
}

static void run_scene(scene *s, const scene_kind *kind, unsigned sleepers) {
  const fw_stages stages = {next_of_scene, task_of_scene, aside_of_scene, attend_of_scene};
  fw_spin_pool *pool = NULL;
  furrow_error err;
  s->kind = kind;
  s->caller = pthread_self();
  s->threads = 2 + sleepers;
  assert_int_equal(fw_spin_pool_create(&pool, s->threads, &err), FURROW_OK);
  fw_spin_pool_run_stages(pool, &stages, s);
  fw_spin_pool_free(pool);
  assert_false(atomic_load(&s->stuck));
  assert_true(all_is_done(s));
}

static bool take_piece(scene *s) {
  unsigned taken = atomic_load(&s->taken);
  return taken < atomic_load(&s->pieces) && atomic_compare_exchange_strong(&s->taken, &taken, taken + 1);
}

static bool do_piece(scene *s) {
  if (!take_piece(s)) return false;
  atomic_fetch_add(&s->done, 1);
  return true;
}

/* ---- A stage makes work aside possible ---------------------------------------------------------------------- */

/* The second task ends when the piece is done, which only the sleeper can do. */
static size_t offer_piece(scene *s, unsigned call) {
  if (call == 2) atomic_store(&s->pieces, 1);
  return call < 3 ? 1 : FW_STAGE_END;
}

static void await_sleep_then_piece(scene *s) {
  if (atomic_load(&s->pieces) == 0)
    await(s, sleeper_sleeps);
  else
    await(s, all_is_done);
}

static void a_stage_with_work_aside_wakes(void **state) {
  (void)state;
  static const scene_kind kind = {offer_piece, await_sleep_then_piece, do_piece, 1};
  scene s = {0};
  run_scene(&s, &kind, 1);
}

/* ---- Work aside makes more of it possible ------------------------------------------------------------------- */

static void await_sleep_then_pieces(scene *s) {
  if (atomic_load(&s->pieces) == 0)
    await(s, both_sleep);
  else
    await(s, all_is_done);
}

/* The first piece makes two more possible while the other thread sleeps; the second ends when the third has begun. */
static bool do_one_of_three(scene *s) {
  if (!take_piece(s)) return false;
  if (atomic_load(&s->pieces) == 1) {
    await(s, other_sleeps);
    atomic_store(&s->pieces, 3);
  } else {
    await(s, all_is_begun);
  }
  atomic_fetch_add(&s->done, 1);
  return true;
}

static void work_aside_wakes_for_more(void **state) {
  (void)state;
  static const scene_kind kind = {offer_piece, await_sleep_then_pieces, do_one_of_three, 3};
  scene s = {0};
  run_scene(&s, &kind, 2);
}

/* ---- The last look before the sleep ------------------------------------------------------------------------- */

/* Counts looks until the sleeper sleeps. */
static bool count_look(scene *s) {
  if (is_sleeper(s)) atomic_store(&s->looks, looks);
  return false;
}

static void await_sleep(scene *s) {
  await(s, sleeper_sleeps);
}

static size_t one_task(scene *s, unsigned call) {
  (void)s;
  return call == 1 ? 1 : FW_STAGE_END;
}

/* The sleeper is in its last look and has seen that there is nothing; then the worker ends its stage, which makes a
 * piece possible, finds the door closed for as long as the sleeper is in there, and sleeps. */
static bool look_alone(scene *s) {
  if (atomic_exchange(&s->is_taken, true)) return false;
  const bool found = atomic_load(&s->done) < atomic_load(&s->pieces);
  if (is_sleeper(s) && looks == s->held_look) {
    atomic_store(&s->is_held, true);
    await(s, worker_found_nothing);
  }
  if (found) atomic_fetch_add(&s->done, 1);
  atomic_store(&s->is_taken, false);
  return found;
}

static size_t wait_for_piece(scene *s, unsigned call) {
  if (call == 1) return 1;
  atomic_store(&s->pieces, 1);
  return all_is_done(s) ? FW_STAGE_END : FW_STAGE_WAIT;
}

static void await_held_look(scene *s) {
  await(s, sleeper_is_held);
}

static void a_look_that_comes_too_early_is_not_the_last(void **state) {
  (void)state;
  static const scene_kind count = {one_task, await_sleep, count_look, 0};
  static const scene_kind hold = {wait_for_piece, await_held_look, look_alone, 1};
  scene counted = {0}, held = {0};
  run_scene(&counted, &count, 1);
  held.held_look = atomic_load(&counted.looks);
  run_scene(&held, &hold, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stage_with_work_aside_wakes),
      cmocka_unit_test(work_aside_wakes_for_more),
      cmocka_unit_test(a_look_that_comes_too_early_is_not_the_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
