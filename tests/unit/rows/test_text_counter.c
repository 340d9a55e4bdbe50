/* tests/unit/rows/test_text_counter.c: texts are counted, merged and sorted. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "io/string_table.h"
#include "rows/encode/text_counter.h"
#include "support/cmocka_all.h"

static void add(fw_text_counter *counter, const char *text, size_t length, uint64_t n) {
  const uint64_t hash = fw_string_table_hash(text, length);
  assert_int_equal(fw_text_counter_add(counter, hash, text, (uint32_t)length, n, NULL), FURROW_OK);
}

static void expect(const fw_text_counter *counter, size_t i, const char *text, size_t length, uint64_t count) {
  assert_true(i < counter->count);
  assert_int_equal(counter->texts[i].length, length);
  assert_memory_equal(counter->texts[i].text, text, length);
  assert_int_equal(counter->texts[i].count, count);
}

static void counts_and_order(void **state) {
  (void)state;
  static const char *const texts[] = {"b", "a", "b", "abc", "ab", "b", "a", "\xc3\xa4", "ab"};
  fw_text_counter counter = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add(&counter, texts[i], strlen(texts[i]), 1);
  add(&counter, "a\0b", 3, 2); /* any bytes */
  fw_text_counter_sort(&counter);
  assert_int_equal(counter.count, 6);
  expect(&counter, 0, "b", 1, 3);
  expect(&counter, 1, "a", 1, 2); /* equally frequent: in the order of bytes, the shorter first */
  expect(&counter, 2, "a\0b", 3, 2);
  expect(&counter, 3, "ab", 2, 2);
  expect(&counter, 4, "abc", 3, 1);
  expect(&counter, 5, "\xc3\xa4", 2, 1);
  fw_text_counter_clear(&counter);
}

/* All texts have the same hash, and then the same half of it: they are told apart by their bytes. */
static void same_hash(void **state) {
  (void)state;
  for (uint64_t high = 0; high < 2; high++) {
    fw_text_counter counter = {0};
    for (unsigned round = 0; round < 2; round++)
      for (unsigned i = 0; i < 300; i++) {
        char text[16];
        const int n = snprintf(text, sizeof text, "%u", i);
        const uint64_t hash = high ? (UINT64_C(7) << 32 | i) : 42;
        assert_int_equal(fw_text_counter_add(&counter, hash, text, (uint32_t)n, 1, NULL), FURROW_OK);
      }
    assert_int_equal(counter.count, 300);
    for (size_t i = 0; i < counter.count; i++) assert_int_equal(counter.texts[i].count, 2);
    fw_text_counter_clear(&counter);
  }
}

/* Texts that are longer than what is allocated at a time, and the bytes of the caller may change. */
static void long_texts(void **state) {
  (void)state;
  static char text[600000];
  fw_text_counter counter = {0};
  for (unsigned i = 0; i < 4; i++) {
    memset(text, 'a' + (int)i, sizeof text);
    add(&counter, text, sizeof text - i, 4 - i);
    add(&counter, "x", 1, 1);
  }
  fw_text_counter_sort(&counter);
  assert_int_equal(counter.count, 5);
  for (unsigned i = 0; i < 4; i++) {
    const size_t at = i == 0 ? 0 : i + 1; /* behind "x", which has as many as the first and follows it by its bytes */
    memset(text, 'a' + (int)i, sizeof text);
    expect(&counter, at, text, sizeof text - i, 4 - i);
  }
  fw_text_counter_clear(&counter);
}

/* Any split of the data, merged in any order, gives the same list. */
static void split_and_merged(void **state) {
  (void)state;
  enum { PARTS = 5, TEXTS = 20000 };
  fw_text_counter whole = {0}, parts[PARTS] = {0}, merged = {0};
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (unsigned i = 0; i < TEXTS; i++) {
    char text[24];
    const uint64_t number = fw_rng_below(&rng, 1 + fw_rng_below(&rng, 3000));
    const int n = snprintf(text, sizeof text, "v%llu", (unsigned long long)number);
    add(&whole, text, (size_t)n, 1);
    add(&parts[fw_rng_below(&rng, PARTS)], text, (size_t)n, 1);
  }
  for (unsigned i = PARTS; i-- > 0;) assert_int_equal(fw_text_counter_merge(&merged, &parts[i], NULL), FURROW_OK);
  fw_text_counter_sort(&whole);
  fw_text_counter_sort(&merged);
  assert_int_equal(whole.count, merged.count);
  uint64_t sum = 0;
  for (size_t i = 0; i < whole.count; i++) {
    expect(&merged, i, whole.texts[i].text, whole.texts[i].length, whole.texts[i].count);
    sum += whole.texts[i].count;
  }
  assert_int_equal(sum, TEXTS);
  fw_text_counter_clear(&whole);
  fw_text_counter_clear(&merged);
  for (unsigned i = 0; i < PARTS; i++) fw_text_counter_clear(&parts[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_and_order),
      cmocka_unit_test(same_hash),
      cmocka_unit_test(long_texts),
      cmocka_unit_test(split_and_merged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
