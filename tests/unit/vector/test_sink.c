/* tests/unit/vector/test_sink.c: a sink that is cut now and then keeps what a heap keeps, whatever keys are equal. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cmocka_all.h"
#include "vector/search/sink.h"

enum { MOST_K = 300, MOST_HITS = 3000 };

static int64_t id_of_place(const void *context, int64_t place) {
  return ((const int64_t *)context)[place];
}

/* Keys are whole numbers below `kinds`, so that few kinds make many equal; ids are those of places, in any order. */
static void compare(size_t k, size_t n, size_t kinds, uint64_t seed) {
  fw_hit *heap = malloc(k * sizeof *heap), *memory = malloc(fw_sink_hits(k) * sizeof *memory);
  int64_t ids[MOST_HITS];
  fw_sink best, many;
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < n; i++) ids[i] = (int64_t)i;
  fw_rng_shuffle(&rng, ids, n, sizeof *ids);
  fw_sink_init_best(&best, heap, k);
  fw_sink_init_many(&many, memory, k);
  best.source = many.source = (fw_id_source){.id_of = id_of_place, .context = ids};
  for (size_t i = 0; i < n; i++) {
    const float key = (float)fw_rng_below(&rng, kinds);
    fw_sink_offer(&best, key, (int64_t)i);
    fw_sink_offer(&many, key, (int64_t)i);
    assert_true(many.worst >= best.worst);
  }
  fw_sink_sort(&best);
  fw_sink_sort(&many);
  assert_int_equal(best.count, many.count);
  for (size_t i = 0; i < best.count; i++) {
    assert_true(best.heap[i].key == many.heap[i].key);
    assert_int_equal(best.heap[i].id, many.heap[i].id);
  }
  free(heap);
  free(memory);
}

static void test_many_keeps_what_a_heap_keeps(void **state) {
  static const size_t counts[] = {1, 23, 24, 25, 40, 100, MOST_K};
  static const size_t kinds[] = {1, 2, 5, 50, 1000, 1 << 24};
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
      for (uint64_t seed = 1; seed <= 5; seed++) {
        const size_t k = counts[i];
        const size_t lengths[] = {1, k - 1, k, k + 1, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k + 2, MOST_HITS};
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) compare(k, lengths[l], kinds[j], seed);
      }
}

static int by_size(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void test_kth(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    float numbers[500], sorted[500], heap[500];
    fw_rng rng;
    fw_rng_init(&rng, seed);
    const size_t n = 1 + (size_t)fw_rng_below(&rng, 500), kinds = 1 + (size_t)fw_rng_below(&rng, 2 * n);
    for (size_t i = 0; i < n; i++) sorted[i] = numbers[i] = (float)fw_rng_below(&rng, kinds) - 100;
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t k = 1; k <= n; k += 1 + n / 7) {
      assert_true(fw_kth_largest(numbers, n, k, heap) == sorted[n - k]);
      assert_true(fw_kth_smallest(numbers, n, k) == sorted[k - 1]);
    }
    qsort(numbers, n, sizeof *numbers, by_size);
    assert_memory_equal(numbers, sorted, n * sizeof *numbers);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_keeps_what_a_heap_keeps), cmocka_unit_test(test_kth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
