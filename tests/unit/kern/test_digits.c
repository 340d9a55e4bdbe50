/* tests/unit/kern/test_digits.c: runs of numbers as Java prints them, at every level of instructions, against the
 * numbers one by one, step by step. */
#include "kern/text/digits.h"

#include <inttypes.h>

#include "base/rng.h"
#include "kern/dispatch.h"
#include "support/cmocka_all.h"

enum { LONGEST = FW_JAVA_DECIMAL6_TEXT };

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void check_text(const fw_java_run *run, size_t i, bool wide, uint64_t bits, fw_isa isa) {
  char text[LONGEST], wanted[LONGEST];
  const size_t n = wide ? fw_java_double_stepwise(wanted, double_of(bits))
                        : fw_java_float_stepwise(wanted, float_of((uint32_t)bits));
  const size_t length = (size_t)(fw_java_put(text, run, i, wide) - text);
  if (length != n || memcmp(text, wanted, n) != 0)
    fail_msg("%s: %016" PRIx64 ": %.*s, not %.*s", fw_isa_name(isa), bits, (int)length, text, (int)n, wanted);
}

/* The bits of `count` floats or doubles, as one run. The values stand at the end of what is allocated. */
static void check_run(const uint64_t *bits, size_t count, bool wide) {
  const size_t size = wide ? sizeof(double) : sizeof(float);
  void *values = test_malloc(count * size);
  for (size_t i = 0; i < count; i++) {
    const uint32_t narrow = (uint32_t)bits[i];
    memcpy((char *)values + i * size, wide ? (const void *)&bits[i] : &narrow, size);
  }
  for (fw_isa isa = 0; isa < FW_ISA_COUNT; isa++) {
    fw_java_run run;
    if (!fw_isa_available(isa)) continue;
    const fw_digits kern = fw_kernels_at(isa).digits;
    if (wide)
      kern.doubles(&run, values, count);
    else
      kern.floats(&run, values, count);
    for (size_t i = 0; i < count; i++) check_text(&run, i, wide, bits[i], isa);
  }
  test_free(values);
}

/* Fractions of all lengths; most exponents are those that a run is quick for. */
static uint64_t random_bits(fw_rng *rng, bool wide) {
  const uint64_t fraction = (fw_rng_next(rng) >> 12) & ~UINT64_C(0) << fw_rng_below(rng, 52);
  const uint64_t sign = fw_rng_below(rng, 2), any = fw_rng_below(rng, 16) == 0;
  const uint64_t exponent = wide ? (any ? fw_rng_below(rng, 2048) : 990 + fw_rng_below(rng, 90))
                                 : (any ? fw_rng_below(rng, 256) : 95 + fw_rng_below(rng, 60));
  if (fw_rng_below(rng, 16) == 0) return sign << (wide ? 63 : 31); /* 0 */
  return wide ? sign << 63 | exponent << 52 | fraction : sign << 31 | exponent << 23 | fraction >> 29;
}

/* Numbers as people write them: few digits. */
static uint64_t short_bits(fw_rng *rng, bool wide) {
  static const double tens[] = {1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
  const double x = (double)(fw_rng_next(rng) >> (20 + fw_rng_below(rng, 44))) / tens[fw_rng_below(rng, 9)];
  const float narrow = (float)x;
  uint64_t bits = 0;
  uint32_t narrow_bits;
  memcpy(&bits, &x, sizeof bits);
  memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
  return wide ? bits : narrow_bits;
}

static void test_random(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (int round = 0; round < 20000; round++) {
    uint64_t bits[FW_JAVA_RUN];
    const size_t count = 1 + fw_rng_below(&rng, FW_JAVA_RUN);
    const bool wide = round & 1;
    for (size_t i = 0; i < count; i++) bits[i] = round & 2 ? random_bits(&rng, wide) : short_bits(&rng, wide);
    check_run(bits, count, wide);
  }
}

/* Powers of two, whose lower neighbour is nearer than the upper one, and numbers beside them. */
static void test_powers_of_two(void **state) {
  (void)state;
  for (uint64_t exponent = 0; exponent < 2048; exponent++) {
    const uint64_t wide = exponent << 52, narrow = exponent << 23;
    const uint64_t doubles[] = {wide, wide + 1, exponent ? wide - 1 : 0};
    const uint64_t floats[] = {narrow, narrow + 1, exponent ? narrow - 1 : 0};
    check_run(doubles, 3, true);
    if (exponent < 256) check_run(floats, 3, false);
  }
}

/* Numbers that lie in the middle of two decimals, and the neighbours of powers of ten. */
static void test_ties_and_tens(void **state) {
  (void)state;
  double ten = 1e-9;
  for (int power = -9; power < 17; power++, ten *= 10) {
    uint64_t wide;
    uint32_t narrow;
    const float as_float = (float)ten;
    memcpy(&wide, &ten, sizeof wide);
    memcpy(&narrow, &as_float, sizeof narrow);
    for (uint64_t i = 0; i < 40; i++) {
      const uint64_t near_double = wide - 20 + i, near_float = narrow - 20 + i;
      check_run(&near_double, 1, true);
      check_run(&near_float, 1, false);
    }
  }
  for (uint32_t i = 0; i < 20000; i++) {
    const float x = 2097152.25f + (float)i * 0.5f;
    uint32_t narrow;
    memcpy(&narrow, &x, sizeof narrow);
    const uint64_t bits = narrow;
    check_run(&bits, 1, false);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_powers_of_two),
      cmocka_unit_test(test_ties_and_tens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
