/* tests/unit/base/test_crew.c: a crew of threads for short loops. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crew.h"
#include "base/pool.h"
#include "support/cmocka_all.h"

static fw_crew *new_crew(unsigned threads) {
  fw_crew *crew = NULL;
  furrow_error err;
  assert_int_equal(fw_crew_create(&crew, threads, &err), FURROW_OK);
  return crew;
}

static void a_crew_has_the_threads_asked_for(void **state) {
  (void)state;
  static const unsigned counts[] = {1, 2, 7, 0};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    fw_crew *crew = new_crew(counts[i]);
    assert_int_equal(fw_crew_threads(crew), counts[i] ? counts[i] : fw_processor_count());
    fw_crew_free(crew);
  }
  fw_crew_free(NULL);
  fw_crew *none = NULL;
  furrow_error err;
  assert_int_equal(fw_crew_create(&none, 1000000, &err), FURROW_E_ARGUMENT);
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
    fw_crew *crew = new_crew(threads);
    static const size_t sizes[] = {0, 1, 2, 3, 7, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      memset(&c, 0, sizeof c);
      fw_crew_run(crew, sizes[s], count_call, &c);
      for (size_t i = 0; i < MOST; i++) assert_int_equal(atomic_load(&c.calls[i]), i < sizes[s]);
    }
    fw_crew_free(crew);
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
  fw_crew *crew = new_crew(3);
  chain c = {{0}, 0};
  for (c.round = 0; c.round < 20000; c.round++) {
    fw_crew_run(crew, 16, step_chain, &c);
    if (c.round % 5000 == 0) usleep(2000); /* long enough for the threads to fall asleep */
  }
  for (size_t i = 0; i < 16; i++) assert_int_equal(c.numbers[i], 20000);
  fw_crew_free(crew);
}

static void wait_for_all(void *context, size_t i) {
  (void)i;
  atomic_uint *inside = context;
  atomic_fetch_add(inside, 1);
  while (atomic_load(inside) < 4) usleep(10);
}

static void all_threads_take_part(void **state) {
  (void)state;
  fw_crew *crew = new_crew(4);
  for (int round = 0; round < 20; round++) {
    atomic_uint inside = 0;
    fw_crew_run(crew, 4, wait_for_all, &inside); /* ends only if four threads are inside at once */
    assert_int_equal(atomic_load(&inside), 4);
  }
  fw_crew_free(crew);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_crew_has_the_threads_asked_for),
      cmocka_unit_test(every_index_is_called_once),
      cmocka_unit_test(loops_follow_each_other),
      cmocka_unit_test(all_threads_take_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
