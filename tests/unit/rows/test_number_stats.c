/* tests/unit/rows/test_number_stats.c: moments and quantiles, the same bits however the data is split. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "rows/encode/learn_fields.h"
#include "support/cmocka_all.h"

enum { NUMBERS = 50000, PIECE = 700, BINS = 16 };
static double numbers[NUMBERS];

static int make_numbers(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 11);
  for (size_t i = 0; i < NUMBERS; i++) {
    const double u = (double)fw_rng_below(&rng, 1000003) / 1000003;
    numbers[i] = 1e6 + 100 * u * u * u - (i % 7 == 0 ? 50 : 0);
  }
  return 0;
}

static void add(fw_number_stats *stats, uint64_t piece, uint64_t record, double number) {
  assert_int_equal(fw_number_stats_add(stats, piece, record, number, NULL), FURROW_OK);
}

typedef struct figures {
  uint64_t count;
  double mean, deviation, most, edges[BINS];
  size_t edge_count;
} figures;

static figures figures_of(fw_number_stats *stats) {
  figures f;
  memset(&f, 0, sizeof f);
  fw_number_stats_moments(stats, &f.count, &f.mean, &f.deviation);
  f.most = stats->most;
  f.edge_count = fw_number_stats_edges(stats, BINS, f.edges);
  return f;
}

/* Pieces go to `threads` in turns that the seed says, each thread takes its own in an order that it says. */
static figures split(unsigned threads, uint64_t seed) {
  enum { PIECES = (NUMBERS + PIECE - 1) / PIECE, MOST = 8 };
  fw_number_stats stats[MOST] = {0}, all = {0};
  size_t order[PIECES];
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < PIECES; i++) {
    const size_t k = (size_t)fw_rng_below(&rng, i + 1);
    order[i] = order[k];
    order[k] = i;
  }
  for (size_t p = 0; p < PIECES; p++) {
    fw_number_stats *one = &stats[fw_rng_below(&rng, threads)];
    const size_t begin = order[p] * PIECE, end = begin + PIECE < NUMBERS ? begin + PIECE : NUMBERS;
    for (size_t i = begin; i < end; i++) add(one, order[p], i - begin, numbers[i]);
  }
  for (unsigned i = threads; i-- > 0;) assert_int_equal(fw_number_stats_merge(&all, &stats[i], NULL), FURROW_OK);
  const figures f = figures_of(&all);
  fw_number_stats_clear(&all);
  for (unsigned i = 0; i < threads; i++) fw_number_stats_clear(&stats[i]);
  return f;
}

static void same_bits(void **state) {
  (void)state;
  const figures wanted = split(1, 0);
  for (unsigned threads = 1; threads <= 8; threads++) {
    const figures found = split(threads, threads);
    assert_memory_equal(&found, &wanted, sizeof wanted);
  }
}

static void moments(void **state) {
  (void)state;
  long double sum = 0, squares = 0;
  const figures f = split(3, 9);
  for (size_t i = 0; i < NUMBERS; i++) sum += numbers[i];
  const long double mean = sum / NUMBERS;
  double most = numbers[0];
  for (size_t i = 0; i < NUMBERS; i++) {
    squares += (numbers[i] - mean) * (numbers[i] - mean);
    if (numbers[i] > most) most = numbers[i];
  }
  assert_int_equal(f.count, NUMBERS);
  assert_true(fabsl(f.mean - mean) < 1e-9L * mean);
  assert_true(fabsl(f.deviation - sqrtl(squares / NUMBERS)) < 1e-9L * f.deviation);
  assert_true(f.most == most);
}

/* The edges come from a sample of 8192: each bin has about its share. */
static void quantiles(void **state) {
  (void)state;
  const figures f = split(2, 4);
  size_t counts[BINS] = {0};
  assert_int_equal(f.edge_count, BINS - 1);
  for (size_t i = 0; i < NUMBERS; i++) {
    size_t bin = 0;
    while (bin < f.edge_count && f.edges[bin] <= numbers[i]) bin++;
    counts[bin]++;
  }
  for (size_t i = 0; i < BINS; i++) assert_in_range(counts[i], NUMBERS / BINS * 8 / 10, NUMBERS / BINS * 12 / 10);
}

/* One value in many pieces: whatever is lost by rounding, it has no deviation. */
static void one_value(void **state) {
  (void)state;
  static const double values[] = {0.1, 1.0 / 3, 1e6 + 0.7, -123.456, 3e38, 1e-300, 0};
  for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
    fw_number_stats stats = {0};
    uint64_t record = 0;
    for (uint64_t piece = 0; piece < 20; piece++)
      for (uint64_t i = 0; i < 3 + piece; i++, record++) add(&stats, piece, i, values[v]);
    const figures f = figures_of(&stats);
    assert_int_equal(f.count, record);
    assert_true(f.mean == values[v]);
    assert_true(f.deviation == 0);
    assert_int_equal(f.edge_count, 0);
    fw_number_stats_clear(&stats);
  }
}

static void few_values(void **state) {
  (void)state;
  fw_number_stats stats = {0};
  for (uint64_t i = 0; i < 100; i++) add(&stats, 0, i, i % 4 == 0 ? 5 : i % 4 == 1 ? -1 : 2);
  double edges[BINS];
  assert_int_equal(fw_number_stats_edges(&stats, BINS, edges), 2); /* none twice, none at the least value */
  assert_true(edges[0] == 2 && edges[1] == 5);
  assert_int_equal(fw_number_stats_edges(&stats, 1, edges), 0);
  fw_number_stats_clear(&stats);
  assert_int_equal(fw_number_stats_edges(&stats, BINS, edges), 0);
  const figures none = figures_of(&stats);
  assert_true(none.count == 0 && none.mean == 0 && none.deviation == 0);
}

/* All numbers are below 0, and so is the largest of them. */
static void largest(void **state) {
  (void)state;
  fw_number_stats a = {0}, b = {0}, empty = {0};
  add(&a, 1, 0, -7);
  add(&b, 0, 0, -9);
  assert_int_equal(fw_number_stats_merge(&b, &empty, NULL), FURROW_OK);
  assert_true(b.most == -9);
  assert_int_equal(fw_number_stats_merge(&empty, &b, NULL), FURROW_OK);
  assert_true(empty.most == -9);
  assert_int_equal(fw_number_stats_merge(&empty, &a, NULL), FURROW_OK);
  assert_true(empty.most == -7);
  fw_number_stats_clear(&a);
  fw_number_stats_clear(&b);
  fw_number_stats_clear(&empty);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits), cmocka_unit_test(moments),    cmocka_unit_test(quantiles),
      cmocka_unit_test(one_value), cmocka_unit_test(few_values), cmocka_unit_test(largest),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
