/* tests/unit/rows/test_column_sketch.c: what the cells of a column are like; what names of columns say. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "rows/schema/column_names.h"
#include "rows/schema/column_sketch.h"
#include "support/cmocka_all.h"

static void add(fw_column_sketch *s, const char *text) {
  assert_int_equal(fw_column_sketch_add(s, text, strlen(text), false, NULL), FURROW_OK);
}

/* The numbers are those of programs. */
static void settle(fw_column_sketch *s) {
  const fw_number_format plain = {0};
  assert_int_equal(fw_column_sketch_settle(s, &plain, NULL), FURROW_OK);
}

/* The standard error is 1.6 %. */
static void distinct_counts(void **state) {
  (void)state;
  static const double counts[] = {0, 1, 10, 100, 1000, 5000, 9000, 10000, 12000, 20000, 100000, 1000000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    double squares = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
      fw_distinct d = {0};
      for (uint64_t k = 0; k < (uint64_t)counts[i]; k++)
        assert_int_equal(fw_distinct_add(&d, fw_rng_hash(seed, k), NULL), FURROW_OK);
      const double error = counts[i] > 0 ? fw_distinct_count(&d) / counts[i] - 1 : fw_distinct_count(&d);
      squares += error * error;
      fw_distinct_clear(&d);
    }
    if (sqrt(squares / 20) > 0.025) fail_msg("%g: the error is %g", counts[i], sqrt(squares / 20));
  }
}

static void few_values_are_counted(void **state) {
  (void)state;
  fw_column_sketch s;
  bool exact = false;
  char text[300];
  fw_column_sketch_init(&s, 1000);
  for (int i = 0; i < 5000; i++) {
    snprintf(text, sizeof text, "value %d", i % 1000);
    add(&s, text);
  }
  assert_int_equal(fw_column_sketch_distinct(&s, &exact), 1000);
  assert_true(exact);
  for (size_t i = 0; i < s.values.capacity; i++)
    if (s.values.slots[i].count > 0) assert_int_equal(s.values.slots[i].count, 5);
  add(&s, "another");
  assert_true(fw_column_sketch_distinct(&s, &exact) > 900);
  assert_false(exact);
  fw_column_sketch_clear(&s);

  fw_column_sketch_init(&s, 1000);
  memset(text, 'x', sizeof text);
  assert_int_equal(fw_column_sketch_add(&s, text, sizeof text, false, NULL), FURROW_OK);
  assert_int_equal(fw_column_sketch_distinct(&s, &exact), 1);
  assert_false(exact);
  fw_column_sketch_clear(&s);
}

static void figures_of_cells(void **state) {
  (void)state;
  fw_column_sketch s;
  fw_column_sketch_init(&s, 10);
  static const char *const cells[] = {"12",    "-3", "0.5", "007", "", "nan", "1e3", "two words", "2024-05-31 10:00",
                                      "a;b; c"};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) add(&s, cells[i]);
  settle(&s);
  assert_int_equal(s.cells, 9);
  assert_int_equal(s.missing, 1);
  assert_int_equal(s.numbers.count, 5);
  assert_int_equal(s.integers, 3);
  assert_int_equal(s.padded, 1);
  assert_true(s.numbers.least == -3 && s.numbers.most == 1000);
  assert_int_equal(s.times[FW_UNIT_TEXT].count, 1);
  assert_int_equal(s.times[FW_UNIT_TEXT].hours, 1u << 10);
  assert_int_equal(s.times[FW_UNIT_TEXT].weekdays, 1u << 4);
  assert_int_equal(s.times[FW_UNIT_TEXT].months, 1u << 4);
  assert_int_equal(s.words, 2 + 2 + 2);
  assert_int_equal(s.absent, 1);
  const fw_element_sketch *e = &s.elements[FW_SEPARATOR_SEMICOLON];
  assert_int_equal(e->cells, 1);
  assert_int_equal(e->elements, 3);
  assert_int_equal(e->separators, 2);
  assert_int_equal(e->blanks, 1);
  fw_column_sketch_clear(&s);
}

/* Registers that are full: as many values as a hash tells apart, whatever the others say. */
static void full_registers(void **state) {
  (void)state;
  fw_distinct d = {0};
  double before = 0;
  for (uint64_t i = 0; i < (uint64_t)1 << FW_SKETCH_BITS; i++) {
    /* nothing but zeros behind the number of the register */
    assert_int_equal(fw_distinct_add(&d, i << (64 - FW_SKETCH_BITS), NULL), FURROW_OK);
    const double now = fw_distinct_count(&d);
    assert_true(now >= before);
    if (i == 0) assert_true(now > 0.99 && now < 1.01);
    before = now;
  }
  assert_true(before > 1e18);
  fw_distinct_clear(&d);
}

/* Cells that begin as integers, sets or numbers and are none; blanks of all kinds; sizes beyond the steps. */
static void odd_cells(void **state) {
  (void)state;
  static const char *const cells[] = {
      "99999999999999999999", "0x", "0:", "a\tb\nc\rd  e", "|:1|b:|c:x|d:2||", "e; ", "1e300", "1e-300", "0"};
  fw_column_sketch s;
  fw_column_sketch_init(&s, 10);
  assert_true(fw_number_sketch_mean(&s.numbers) == 0);
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) add(&s, cells[i]);
  settle(&s);
  assert_int_equal(s.cells, 9);
  assert_int_equal(s.numbers.count, 4);
  assert_int_equal(s.integers, 2);
  assert_int_equal(s.long_integers, 1);
  assert_int_equal(s.padded, 0);
  assert_true(s.numbers.magnitude_first == 0 && s.numbers.magnitude_count == FW_SKETCH_MAGNITUDES);
  assert_int_equal(s.numbers.magnitudes[0], 1);
  assert_int_equal(s.numbers.magnitudes[FW_SKETCH_MAGNITUDES - 1], 2);
  assert_int_equal(s.words, 1 + 1 + 5 + 1 + 1);
  const fw_element_sketch *bar = &s.elements[FW_SEPARATOR_BAR], *semicolon = &s.elements[FW_SEPARATOR_SEMICOLON];
  assert_true(bar->cells == 1 && bar->elements == 4 && bar->separators == 6 && bar->valued == 1);
  assert_true(semicolon->cells == 1 && semicolon->elements == 1 && semicolon->separators == 1);
  fw_column_sketch_clear(&s);
  fw_column_sketch_init(&s, 10);
  add(&s, "-1");
  settle(&s);
  assert_true(fw_number_sketch_mean(&s.numbers) == 0);
  fw_column_sketch_clear(&s);
}

static void means_are_near(void **state) {
  (void)state;
  fw_column_sketch s;
  fw_rng rng;
  double sum = 0;
  char text[40];
  fw_rng_init(&rng, 3);
  fw_column_sketch_init(&s, 10);
  for (int i = 0; i < 10000; i++) {
    const double value = exp(3 * fw_rng_normal(&rng));
    sum += value;
    snprintf(text, sizeof text, "%.17g", value);
    add(&s, text);
  }
  settle(&s);
  const double mean = fw_number_sketch_mean(&s.numbers);
  assert_true(fabs(mean / (sum / 10000) - 1) < 0.1);
  fw_column_sketch_clear(&s);
}

/* A cell of any kind. */
static const char *random_cell(fw_rng *rng, char text[64]) {
  static const char *const units[] = {"$", "kg", "%"};
  const int digits = (int)fw_rng_below(rng, 1000);
  switch (fw_rng_below(rng, 13)) {
  case 0: snprintf(text, 64, "%d", (int)fw_rng_below(rng, 3000)); break;
  case 1: snprintf(text, 64, "%g", fw_rng_normal(rng)); break;
  case 2: snprintf(text, 64, "%d", 1500000000 + (int)fw_rng_below(rng, 100000)); break;
  case 3: snprintf(text, 64, "a%d|b%d", (int)fw_rng_below(rng, 9), (int)fw_rng_below(rng, 9)); break;
  case 4: snprintf(text, 64, "word %d", (int)fw_rng_below(rng, 50)); break;
  case 5: snprintf(text, 64, "%d,%03d", 1 + (int)fw_rng_below(rng, 90), (int)fw_rng_below(rng, 1000)); break;
  case 6: snprintf(text, 64, "%.2f%s", fw_rng_normal(rng), units[fw_rng_below(rng, 3)]); break;
  case 7: snprintf(text, 64, "%s", fw_rng_below(rng, 2) ? "inf" : "1,2,3"); break;
  case 8: snprintf(text, 64, "%d.%d.2023", 1 + (int)fw_rng_below(rng, 28), 1 + (int)fw_rng_below(rng, 12)); break;
  case 9: snprintf(text, 64, "%d.%03d", 1 + (int)fw_rng_below(rng, 90), digits); break;
  case 10: snprintf(text, 64, "1.%03d.%03d", (int)fw_rng_below(rng, 1000), digits); break;
  case 11: snprintf(text, 64, "%d-May-%02d", 1 + (int)fw_rng_below(rng, 28), digits % 100); break;
  default: text[0] = 0;
  }
  return text;
}

/* The few registers may be in another order. */
static void expect_same_distinct(const fw_distinct *a, const fw_distinct *b) {
  assert_int_equal(!a->registers, !b->registers);
  assert_int_equal(a->few_count, b->few_count);
  if (a->registers) assert_memory_equal(a->registers, b->registers, 1 << FW_SKETCH_BITS);
  assert_true(fw_distinct_count(a) == fw_distinct_count(b));
}

static void expect_same_numbers(const fw_number_sketch *a, const fw_number_sketch *b) {
  assert_true(a->count == b->count && a->least == b->least && a->most == b->most);
  assert_true(a->magnitude_first == b->magnitude_first && a->magnitude_count == b->magnitude_count);
  if (a->magnitudes) assert_memory_equal(a->magnitudes, b->magnitudes, a->magnitude_count * sizeof *a->magnitudes);
}

static void expect_same_example(const fw_example *a, const fw_example *b) {
  assert_int_equal(a->hash, b->hash);
  assert_int_equal(a->length, b->length);
  assert_memory_equal(a->text, b->text, a->length);
}

static void expect_unit(const fw_counted_unit *unit, const fw_written_sketch *w) {
  const fw_counted_unit *found = NULL;
  for (size_t i = 0; i < FW_SKETCH_UNITS; i++)
    if (strcmp(w->units[i].text, unit->text) == 0) found = &w->units[i];
  assert_non_null(found);
  assert_int_equal(unit->count, found->count);
  expect_same_example(&unit->example, &found->example);
}

static void expect_same_range(const fw_range *a, const fw_range *b) {
  assert_true(a->count > 0 && a->count == b->count && a->least == b->least && a->most == b->most);
}

/* Units may be in another order. */
static void expect_same_written(const fw_written_sketch *a, const fw_written_sketch *b) {
  assert_true(a->cells == b->cells && a->lists == b->lists && a->jumbled == b->jumbled);
  assert_true(a->both == b->both && a->open == b->open && a->many_units == b->many_units);
  assert_true(a->commas == b->commas && a->chains > 0 && a->chains == b->chains);
  expect_same_range(&a->grouped, &b->grouped);
  expect_same_range(&a->plain, &b->plain);
  for (size_t i = 0; i < FW_SKETCH_UNITS; i++) expect_unit(&a->units[i], b);
}

static void expect_same(const fw_column_sketch *a, const fw_column_sketch *b) {
  bool exact_a, exact_b;
  assert_int_equal(fw_column_sketch_distinct(a, &exact_a), fw_column_sketch_distinct(b, &exact_b));
  assert_int_equal(exact_a, exact_b);
  expect_same_distinct(&a->distinct, &b->distinct);
  for (size_t i = 0; i < FW_FORM_COUNT; i++) expect_same_numbers(&a->forms[i], &b->forms[i]);
  expect_same_written(&a->written, &b->written);
  for (size_t i = 0; i < FW_TIME_UNIT_COUNT; i++) {
    const fw_time_sketch *x = &a->times[i], *y = &b->times[i];
    assert_true(x->count == y->count && x->least == y->least && x->most == y->most);
    assert_true(x->hours == y->hours && x->weekdays == y->weekdays && x->months == y->months);
  }
  assert_int_equal(a->dotted, b->dotted);
  assert_true(a->cells == b->cells && a->missing == b->missing);
  assert_true(a->integers == b->integers && a->words == b->words);
  assert_true(a->absent == b->absent && a->infinite == b->infinite);
  assert_true(a->short_years > 0 && a->short_years == b->short_years);
  for (size_t i = 0; i < FW_SKETCH_EXAMPLES; i++) expect_same_example(&a->examples[i], &b->examples[i]);
  for (size_t i = 0; i < FW_ODD_COUNT; i++) expect_same_example(&a->odd[i], &b->odd[i]);
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++) {
    assert_int_equal(a->elements[i].elements, b->elements[i].elements);
    expect_same_distinct(&a->elements[i].distinct, &b->elements[i].distinct);
  }
}

static void pieces_merge_into_the_whole(void **state) {
  (void)state;
  enum { PIECES = 5 };
  for (size_t values = 100; values <= 10000; values *= 10) {
    fw_column_sketch whole, joined, pieces[PIECES];
    fw_rng rng;
    char text[64];
    fw_rng_init(&rng, values);
    fw_column_sketch_init(&whole, values);
    fw_column_sketch_init(&joined, values);
    for (size_t i = 0; i < PIECES; i++) fw_column_sketch_init(&pieces[i], values);
    for (int i = 0; i < 20000; i++) {
      random_cell(&rng, text);
      add(&whole, text);
      add(&pieces[fw_rng_below(&rng, PIECES)], text);
    }
    for (size_t i = PIECES; i-- > 0;) assert_int_equal(fw_column_sketch_merge(&joined, &pieces[i], NULL), FURROW_OK);
    expect_same(&whole, &joined);
    fw_column_sketch_clear(&whole);
    fw_column_sketch_clear(&joined);
    for (size_t i = 0; i < PIECES; i++) fw_column_sketch_clear(&pieces[i]);
  }
}

static void what_names_say(void **state) {
  (void)state;
  static const char *const users[] = {"user", "userId", "user_id", "USERID", "uid", "customer_id", "visitorid"};
  static const char *const items[] = {"item", "movieId", "product_id", "sku", "ad_id", "adId", "track"};
  static const char *const times[] = {"timestamp", "ts", "event_time", "created_at", "Date", "order_date"};
  static const char *const ids[] = {"id", "ID", "movieId", "movieID", "movie_id", "a.id", "a-ID"};
  static const char *const none[] = {"price", "paid", "grid", "PAID", "age", "rating", "userful", "", "ad"};
  static const char *const likely[] = {"liked", "Like", "stars", "bought", "is_click", "isClicked", "conversion"};
  for (size_t i = 0; i < sizeof users / sizeof *users; i++)
    assert_true(fw_role_name_priority(FW_ROLE_USER, users[i]) != SIZE_MAX);
  for (size_t i = 0; i < sizeof items / sizeof *items; i++)
    assert_true(fw_role_name_priority(FW_ROLE_ITEM, items[i]) != SIZE_MAX);
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    assert_true(fw_role_name_priority(FW_ROLE_TIME, times[i]) != SIZE_MAX);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) assert_true(fw_is_id_name(ids[i]));
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    for (fw_role role = FW_ROLE_USER; role <= FW_ROLE_TIME; role++)
      assert_true(fw_role_name_priority(role, none[i]) == SIZE_MAX);
    assert_false(fw_is_id_name(none[i]));
    assert_false(fw_is_weight_name(none[i]) || fw_is_group_name(none[i]));
  }
  assert_true(fw_is_group_name("query_id") && fw_is_weight_name("sample_weight"));
  assert_true(fw_label_name_priority("Clicked") != SIZE_MAX && fw_label_name_priority("label") == 0);
  assert_true(fw_label_name_priority("labels") == SIZE_MAX);
  for (size_t i = 0; i < sizeof likely / sizeof *likely; i++) {
    assert_true(fw_likely_label_name_priority(likely[i]) != SIZE_MAX);
    assert_true(fw_label_name_priority(likely[i]) == SIZE_MAX); /* csv data is not taken by these names */
  }
  assert_true(fw_is_outcome_name("is_clicked") && fw_is_outcome_name("rating"));
  assert_false(fw_is_outcome_name("stars") || fw_is_outcome_name("y"));
}

/* The negative class first, however it is written. */
static void which_class_is_positive(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"no", "Yes"},         {"FALSE", "true"},        {"skip", "play"},
                                         {"reject", "accept"},  {"disliked", "liked"},    {"view", "purchase"},
                                         {"click", "buy"},      {"bad", "good"},          {"n", "y"},
                                         {"No click", "click"}, {"unclicked", "clicked"}, {"no_purchase", "purchase"}};
  static const char *const doubts[][2] = {{"ape", "zebra"}, {"a", "b"}, {"buy", "purchase"}, {"no", "not"}, {"un", ""}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *a = pairs[i][0], *b = pairs[i][1];
    assert_true(fw_class_order(a, strlen(a), b, strlen(b)) < 0 && fw_class_order(b, strlen(b), a, strlen(a)) > 0);
  }
  for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
    assert_int_equal(fw_class_order(doubts[i][0], strlen(doubts[i][0]), doubts[i][1], strlen(doubts[i][1])), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distinct_counts),
      cmocka_unit_test(few_values_are_counted),
      cmocka_unit_test(figures_of_cells),
      cmocka_unit_test(full_registers),
      cmocka_unit_test(odd_cells),
      cmocka_unit_test(means_are_near),
      cmocka_unit_test(pieces_merge_into_the_whole),
      cmocka_unit_test(what_names_say),
      cmocka_unit_test(which_class_is_positive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
