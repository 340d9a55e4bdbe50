/* tests/unit/learn/test_key_hash.c: chosen keys do not meet in one slot, whatever the seed is. */
#include "learn/data/key_hash.h"

#include <string.h>

#include "support/cmocka_all.h"

enum { KEYS = 1 << 14, BITS = 14 };

/* The most keys in one of as many slots as there are keys. */
static int fullest(const uint64_t *keys, uint64_t seed) {
  static uint16_t slots[KEYS];
  int most = 0;
  memset(slots, 0, sizeof slots);
  for (int i = 0; i < KEYS; i++) {
    const int there = ++slots[fw_key_hash(keys[i], seed) >> (64 - BITS)];
    if (there > most) most = there;
  }
  return most;
}

static void keys_spread(void **state) {
  (void)state;
  static uint64_t keys[KEYS];
  const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of 0x9e3779b97f4a7c15: products are 1, 2, 3 … */
  const uint64_t seeds[] = {fw_key_hash_seed(), 1, 0x123456789abcdef1, UINT64_MAX};
  assert_true(inverse * UINT64_C(0x9e3779b97f4a7c15) == 1);
  for (int kind = 0; kind < 4; kind++) {
    for (uint64_t i = 0; i < KEYS; i++)
      keys[i] = kind == 0 ? i : kind == 1 ? i * inverse : kind == 2 ? i << 48 : i * 4096;
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) assert_in_range(fullest(keys, seeds[s]), 1, 16);
  }
}

static void the_seed_stays(void **state) {
  (void)state;
  assert_true(fw_key_hash_seed() != 0);
  assert_true(fw_key_hash_seed() == fw_key_hash_seed());
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(keys_spread), cmocka_unit_test(the_seed_stays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
