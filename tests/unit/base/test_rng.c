/* tests/unit/base/test_rng.c: the generators against published outputs, their distributions against what they should
 * be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

/* The state after seeding is splitmix64's output; these are its published first numbers for 1234567. */
static void test_seeding(void **state) {
  (void)state;
  static const uint64_t want[4] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                   UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
  fw_rng rng;
  fw_rng_init(&rng, 1234567);
  for (int i = 0; i < 4; i++) assert_true(rng.state[i] == want[i]);
}

/* The outputs of xoshiro256** that its authors give for the state 1, 2, 3, 4. */
static void test_next(void **state) {
  (void)state;
  static const uint64_t want[] = {11520,
                                  0,
                                  1509978240,
                                  UINT64_C(1215971899390074240),
                                  UINT64_C(1216172134540287360),
                                  UINT64_C(607988272756665600),
                                  UINT64_C(16172922978634559625),
                                  UINT64_C(8476171486693032832),
                                  UINT64_C(10595114339597558777),
                                  UINT64_C(2904607092377533576)};
  fw_rng rng = {{1, 2, 3, 4}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) assert_true(fw_rng_next(&rng) == want[i]);
}

/* Chi-square over n cells that should be equal, as its distance from the mean in deviations. */
static double chi_square(const uint64_t *count, size_t n) {
  double total = 0, sum = 0;
  for (size_t i = 0; i < n; i++) total += (double)count[i];
  for (size_t i = 0; i < n; i++) sum += ((double)count[i] - total / (double)n) * ((double)count[i] - total / (double)n);
  sum /= total / (double)n;
  return (sum - (double)(n - 1)) / sqrt(2.0 * (double)(n - 1));
}

static void test_below(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (uint64_t bound = 1; bound < 200; bound++) {
    uint64_t count[200] = {0};
    for (int i = 0; i < 20000; i++) {
      uint64_t v = fw_rng_below(&rng, bound);
      assert_true(v < bound);
      count[v]++;
    }
    if (bound > 1) assert_true(chi_square(count, bound) < 6);
  }
}

/* With 3 * 2^62 a plain remainder or product would hit some thirds twice as often. */
static void test_below_has_no_bias(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 2);
  uint64_t third = UINT64_C(1) << 62, count[3] = {0}, odd[2] = {0};
  for (int i = 0; i < 300000; i++) {
    uint64_t v = fw_rng_below(&rng, 3 * third);
    count[v / third]++;
    odd[v % 3 == 1]++;
  }
  assert_true(chi_square(count, 3) < 6);
  assert_true(fabs((double)odd[1] - 100000) < 1500);
}

static void test_double(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 3);
  uint64_t count[256] = {0};
  for (int i = 0; i < 1000000; i++) {
    double x = fw_rng_double(&rng);
    assert_true(x >= 0 && x < 1);
    count[(int)(x * 256)]++;
  }
  assert_true(chi_square(count, 256) < 6);
}

/* The values that the normal distribution cuts into equal parts: each must get its share. */
static void test_normal(void **state) {
  (void)state;
  enum { PARTS = 256, COUNT = 2000000 };
  fw_rng rng;
  fw_rng_init(&rng, 4);
  uint64_t count[PARTS] = {0};
  double sum[4] = {0};
  int beyond4 = 0;
  for (int i = 0; i < COUNT; i++) {
    double x = fw_rng_normal(&rng), share = 0.5 * erfc(-x / sqrt(2));
    count[share < 1 ? (int)(share * PARTS) : PARTS - 1]++;
    for (int k = 0; k < 4; k++) sum[k] += pow(x, k + 1);
    beyond4 += fabs(x) > 4;
  }
  assert_true(chi_square(count, PARTS) < 6);
  double moment[4] = {0, 1, 0, 3}, deviation[4] = {1, sqrt(2), sqrt(15), sqrt(96)};
  for (int k = 0; k < 4; k++) assert_true(fabs(sum[k] / COUNT - moment[k]) < 5 * deviation[k] / sqrt(COUNT));
  assert_true(beyond4 > 80 && beyond4 < 180); /* 126.7 expected */
}

/* All orders of four elements come equally often, and elements stay whole whatever their size. */
static void test_shuffle(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  uint64_t count[256] = {0}, orders[24];
  for (int i = 0; i < 240000; i++) {
    unsigned char e[4] = {0, 1, 2, 3};
    fw_rng_shuffle(&rng, e, 4, 1);
    count[e[0] | e[1] << 2 | e[2] << 4 | e[3] << 6]++;
  }
  size_t seen = 0;
  for (int i = 0; i < 256; i++)
    if (count[i] > 0) {
      assert_true(seen < 24);
      orders[seen++] = count[i];
    }
  assert_int_equal(seen, 24);
  assert_true(chi_square(orders, 24) < 6);
}

static void test_shuffle_sizes(void **state) {
  (void)state;
  enum { N = 50, LARGEST = 130 };
  static unsigned char elements[N * LARGEST];
  fw_rng rng;
  fw_rng_init(&rng, 6);
  for (size_t size = 1; size <= LARGEST; size++) {
    int seen[N] = {0}, moved = 0;
    for (size_t i = 0; i < N; i++) memset(elements + i * size, (int)i, size);
    fw_rng_shuffle(&rng, elements, N, size);
    for (size_t i = 0; i < N; i++) {
      unsigned char *e = elements + i * size;
      for (size_t k = 1; k < size; k++) assert_int_equal(e[k], e[0]);
      seen[e[0]]++;
      moved += e[0] != i;
    }
    for (size_t i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    assert_true(moved > N / 2);
  }
  fw_rng_shuffle(&rng, NULL, 0, 8);
  fw_rng_shuffle(&rng, elements, 1, 8);
}

/* The same seed, the same numbers, for ever: files and tests depend on these. */
static void test_pinned(void **state) {
  (void)state;
  fw_rng a, b;
  fw_rng_init(&a, 42);
  fw_rng_init(&b, 42);
  for (int i = 0; i < 1000; i++) {
    double x = fw_rng_normal(&a), y = fw_rng_normal(&b);
    assert_true(x == y);
  }
  assert_true(fw_rng_next(&a) == fw_rng_next(&b));
  fw_rng_init(&a, 42);
  assert_true(fw_rng_next(&a) == UINT64_C(1546998764402558742));
  assert_true(fw_rng_below(&a, 1000) == 378);
  assert_true(fw_rng_double(&a) == 0x1.5c2ea66473c93p-1);
  assert_true(fw_rng_normal(&a) == -0x1.6c1bd877e5b1p-1);
  assert_true(fw_rng_hash(42, 0) == UINT64_C(6332618229526065668));
  assert_true(fw_rng_hash(42, 1) == UINT64_C(17630415256238047317));
}

/* One bit of seed or i changes half of the bits of the hash. */
static void test_hash(void **state) {
  (void)state;
  double flipped[2] = {0};
  for (uint64_t i = 0; i < 2000; i++)
    for (int bit = 0; bit < 64; bit++) {
      uint64_t h = fw_rng_hash(i, i * i);
      flipped[0] += __builtin_popcountll(h ^ fw_rng_hash(i ^ UINT64_C(1) << bit, i * i));
      flipped[1] += __builtin_popcountll(h ^ fw_rng_hash(i, i * i ^ UINT64_C(1) << bit));
    }
  for (int k = 0; k < 2; k++) assert_true(fabs(flipped[k] / (2000.0 * 64) - 32) < 0.1);
  uint64_t count[64] = {0};
  for (uint64_t i = 0; i < 100000; i++) count[fw_rng_hash(7, i) >> 58]++;
  assert_true(chi_square(count, 64) < 6);
}

/* C++ demands 4123659995 as output 10000 of a default std::mt19937. */
static void test_mt19937(void **state) {
  (void)state;
  static const uint32_t first[] = {3499211612, 581869302, 3890346734, 3586334585, 545404204};
  fw_mt19937 rng;
  fw_mt19937_init(&rng, 5489);
  uint32_t v = 0;
  for (int i = 0; i < 10000; i++) {
    v = fw_mt19937_next(&rng);
    if (i < 5) assert_true(v == first[i]);
  }
  assert_true(v == UINT32_C(4123659995));
  fw_mt19937_init(&rng, 1);
  assert_true(fw_mt19937_next(&rng) == UINT32_C(1791095845));
  assert_true(fw_mt19937_next(&rng) == UINT32_C(4282876139));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_seeding), cmocka_unit_test(test_next),
      cmocka_unit_test(test_below),   cmocka_unit_test(test_below_has_no_bias),
      cmocka_unit_test(test_double),  cmocka_unit_test(test_normal),
      cmocka_unit_test(test_shuffle), cmocka_unit_test(test_shuffle_sizes),
      cmocka_unit_test(test_pinned),  cmocka_unit_test(test_hash),
      cmocka_unit_test(test_mt19937),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
