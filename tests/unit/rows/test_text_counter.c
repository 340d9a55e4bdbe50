/* tests/unit/rows/test_text_counter.c: texts are counted, merged and sorted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/string_table.h"
#include "rows/encode/learn_fields.h"
#include "support/cmocka_all.h"

static void add(fw_text_counter *counter, const char *text, size_t length, uint64_t n) {
  const uint64_t hash = fw_string_table_hash(text, length);
  assert_int_equal(fw_text_counter_add(counter, hash, text, (uint32_t)length, n, NULL), FURROW_OK);
}

static void expect(const fw_counted_text *found, const char *text, size_t length, uint64_t count) {
  assert_int_equal(found->length, length);
  assert_memory_equal(found->text, text, length);
  assert_int_equal(found->count, count);
}

static const fw_counted_text **sort(const fw_text_counter *counter) {
  const fw_counted_text **sorted = NULL;
  assert_int_equal(fw_text_counter_sort(counter, &sorted, NULL), FURROW_OK);
  return sorted;
}

static void counts_and_order(void **state) {
  (void)state;
  static const char *const texts[] = {"b", "a", "b", "abc", "ab", "b", "a", "\xc3\xa4", "ab"};
  fw_text_counter counter = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add(&counter, texts[i], strlen(texts[i]), 1);
  add(&counter, "a\0b", 3, 2); /* any bytes */
  const fw_counted_text **sorted = sort(&counter);
  assert_int_equal(counter.count, 6);
  expect(sorted[0], "b", 1, 3);
  expect(sorted[1], "a", 1, 2); /* equally frequent: in the order of bytes, the shorter first */
  expect(sorted[2], "a\0b", 3, 2);
  expect(sorted[3], "ab", 2, 2);
  expect(sorted[4], "abc", 3, 1);
  expect(sorted[5], "\xc3\xa4", 2, 1);
  fw_free((void *)sorted);
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
    const fw_counted_text **sorted = sort(&counter);
    for (size_t i = 0; i < counter.count; i++) assert_int_equal(sorted[i]->count, 2);
    fw_free((void *)sorted);
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
  const fw_counted_text **sorted = sort(&counter);
  assert_int_equal(counter.count, 5);
  for (unsigned i = 0; i < 4; i++) {
    const size_t at = i == 0 ? 0 : i + 1; /* behind "x", which has as many as the first and follows it by its bytes */
    memset(text, 'a' + (int)i, sizeof text);
    expect(sorted[at], text, sizeof text - i, 4 - i);
  }
  fw_free((void *)sorted);
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
  const fw_counted_text **all = sort(&whole), **sorted = sort(&merged);
  assert_int_equal(whole.count, merged.count);
  uint64_t sum = 0;
  for (size_t i = 0; i < whole.count; i++) {
    expect(sorted[i], all[i]->text, all[i]->length, all[i]->count);
    sum += all[i]->count;
  }
  assert_int_equal(sum, TEXTS);
  fw_free((void *)all);
  fw_free((void *)sorted);
  fw_text_counter_clear(&whole);
  fw_text_counter_clear(&merged);
  for (unsigned i = 0; i < PARTS; i++) fw_text_counter_clear(&parts[i]);
}

/* ---- Beside a plain list ---- */

enum { PLAIN_TEXTS = 3000, DRAWS = 40000, LONGEST = 40 };

/* The plain list. */
typedef struct plain_text {
  char text[LONGEST];
  uint32_t length;
  uint64_t count;
} plain_text;

static int compare_plain(const void *a, const void *b) {
  const plain_text *x = a, *y = b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Texts with long common beginnings, and with zeros in them and behind them. */
static void make_texts(plain_text *texts) {
  for (uint32_t i = 0; i < PLAIN_TEXTS; i++) {
    plain_text *t = &texts[i];
    memset(t, 0, sizeof *t);
    if (i < 30) {
      t->length = i; /* nothing but zeros */
      continue;
    }
    static const char *const heads[] = {"", "item", "a long beginning ", "user_000", "user_000\0\0\0\0\0\0\0\0"};
    static const uint32_t lengths[] = {0, 4, 17, 8, 16};
    memcpy(t->text, heads[i % 5], lengths[i % 5]);
    t->length = lengths[i % 5] + (uint32_t)snprintf(t->text + lengths[i % 5], 16, "%u", i * 2654435761U % 100003);
    if (i % 7 == 0) t->length += 3; /* zeros behind it */
  }
}

static void check_sorted(const fw_text_counter *counter, plain_text *texts) {
  const fw_counted_text **sorted = sort(counter);
  size_t seen = 0;
  qsort(texts, PLAIN_TEXTS, sizeof *texts, compare_plain);
  while (seen < PLAIN_TEXTS && texts[seen].count > 0) seen++;
  assert_int_equal(counter->count, seen);
  for (size_t i = 0; i < seen; i++) {
    assert_int_equal(sorted[i]->count, texts[i].count);
    assert_int_equal(sorted[i]->length, texts[i].length);
    assert_memory_equal(sorted[i]->text, texts[i].text, texts[i].length);
  }
  fw_free((void *)sorted);
}

static void as_a_plain_list(void **state) {
  (void)state;
  static plain_text texts[PLAIN_TEXTS];
  fw_text_counter counter = {0}, other = {0};
  furrow_error err;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  make_texts(texts);
  check_sorted(&counter, texts); /* none */
  for (int i = 0; i < DRAWS; i++) {
    plain_text *t = &texts[fw_rng_below(&rng, 1 + fw_rng_below(&rng, PLAIN_TEXTS))];
    const uint64_t n = 1 + fw_rng_below(&rng, 2);
    add(fw_rng_below(&rng, 3) ? &counter : &other, t->text, t->length, n);
    t->count += n;
  }
  assert_int_equal(fw_text_counter_merge(&counter, &other, &err), FURROW_OK);
  check_sorted(&counter, texts);
  fw_text_counter_clear(&counter);
  fw_text_counter_clear(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_and_order), cmocka_unit_test(same_hash),       cmocka_unit_test(long_texts),
      cmocka_unit_test(split_and_merged), cmocka_unit_test(as_a_plain_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
