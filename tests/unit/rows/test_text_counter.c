/* tests/unit/rows/test_text_counter.c: texts are counted, merged and sorted as a plain list would do it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/string_table.h"
#include "rows/encode/text_counter.h"
#include "support/cmocka_all.h"

enum { TEXTS = 3000, DRAWS = 40000, LONGEST = 40 };

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
  for (uint32_t i = 0; i < TEXTS; i++) {
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

static void add(fw_text_counter *counter, const plain_text *t, uint64_t n) {
  furrow_error err;
  assert_int_equal(fw_text_counter_add(counter, fw_string_table_hash(t->text, t->length), t->text, t->length, n, &err),
                   FURROW_OK);
}

static void check_sorted(const fw_text_counter *counter, plain_text *texts) {
  const fw_counted_text **sorted = NULL;
  furrow_error err;
  size_t seen = 0;
  assert_int_equal(fw_text_counter_sort(counter, &sorted, &err), FURROW_OK);
  qsort(texts, TEXTS, sizeof *texts, compare_plain);
  while (seen < TEXTS && texts[seen].count > 0) seen++;
  assert_int_equal(counter->count, seen);
  for (size_t i = 0; i < seen; i++) {
    assert_int_equal(sorted[i]->count, texts[i].count);
    assert_int_equal(sorted[i]->length, texts[i].length);
    assert_memory_equal(sorted[i]->text, texts[i].text, texts[i].length);
  }
  fw_free((void *)sorted);
}

static void test_counts(void **state) {
  (void)state;
  static plain_text texts[TEXTS];
  fw_text_counter counter = {0}, other = {0};
  furrow_error err;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  make_texts(texts);
  check_sorted(&counter, texts); /* none */
  for (int i = 0; i < DRAWS; i++) {
    plain_text *t = &texts[fw_rng_below(&rng, 1 + fw_rng_below(&rng, TEXTS))];
    const uint64_t n = 1 + fw_rng_below(&rng, 2);
    add(fw_rng_below(&rng, 3) ? &counter : &other, t, n);
    t->count += n;
  }
  assert_int_equal(fw_text_counter_merge(&counter, &other, &err), FURROW_OK);
  check_sorted(&counter, texts);
  fw_text_counter_clear(&counter);
  fw_text_counter_clear(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
