/* tests/unit/learn/test_data_facts.c: what one pass over the data tells: labels, lengths, fields, the scaling of its
 * features. */
#include <math.h>

#include "learn/data/data_facts.h"
#include "support/sample_block.h"

static furrow_error err;

/* ---- Rows of a table ---- */

enum { TABLE_ROWS = 400 };

/* Every row has features 0 … columns-1. */
typedef struct table {
  size_t rows, columns;
  float label[TABLE_ROWS];
  uint64_t offset[TABLE_ROWS + 1];
  uint32_t index[TABLE_ROWS * 8];
  float value[TABLE_ROWS * 8];
} table;

static furrow_rowblock block_of(table *t) {
  for (size_t i = 0; i <= t->rows; i++) t->offset[i] = i * t->columns;
  for (size_t i = 0; i < t->rows * t->columns; i++) t->index[i] = (uint32_t)(i % t->columns);
  return (furrow_rowblock){.size = t->rows,
                           .offset = t->offset,
                           .label.f32 = t->label,
                           .index.u32 = t->index,
                           .value.f32 = t->value,
                           .key_type = FURROW_KEY_U32,
                           .value_type = FURROW_VALUE_F32};
}

static void set_column(table *t, size_t column, float (*value)(size_t row)) {
  for (size_t row = 0; row < t->rows; row++) t->value[row * t->columns + column] = value(row);
}

static fw_data_facts facts_of(const furrow_rowblock *block, bool values) {
  fw_data_facts facts;
  assert_int_equal(fw_data_facts_init(&facts, values, &err), FURROW_OK);
  assert_int_equal(fw_data_facts_add(&facts, block, &err), FURROW_OK);
  return facts;
}

static fw_scaling scaling_of(const furrow_rowblock *block, bool centre) {
  fw_data_facts facts = facts_of(block, true);
  fw_scaling s;
  assert_int_equal(fw_data_facts_scaling(&facts, centre, &s, &err), FURROW_OK);
  for (size_t i = 1; i < s.count; i++) assert_true(s.key[i - 1] < s.key[i]);
  assert_true(s.label_factor == 0);
  fw_data_facts_clear(&facts);
  return s;
}

/* ---- Labels ---- */

static void labels_are_counted_in_order(void **state) {
  (void)state;
  static table t = {.rows = 9, .columns = 0, .label = {3, -1, 3, 0.5F, NAN, -1, 3, -7, NAN}};
  static const double labels[] = {-7, -1, 0.5, 3};
  static const uint64_t counts[] = {1, 2, 1, 3};
  const furrow_rowblock block = block_of(&t);
  fw_data_facts facts = facts_of(&block, false);
  assert_int_equal(facts.rows, 9);
  assert_int_equal(facts.unlabelled, 2);
  assert_int_equal(facts.label_count, 4);
  assert_memory_equal(facts.labels, labels, sizeof labels);
  assert_memory_equal(facts.of_label, counts, sizeof counts);
  assert_false(facts.whole_labels);
  double mean = 0, squares = 0;
  for (size_t i = 0; i < 4; i++) mean += labels[i] * (double)counts[i] / 7;
  for (size_t i = 0; i < 4; i++) squares += (labels[i] - mean) * (labels[i] - mean) * (double)counts[i];
  assert_float_equal(facts.label_mean, mean, 1e-12);
  assert_float_equal(facts.label_squares, squares, 1e-11);
  fw_data_facts_clear(&facts);
}

/* They are not rows of label 0. */
static void rows_without_labels(void **state) {
  (void)state;
  static table t = {.rows = 5, .columns = 0};
  furrow_rowblock block = block_of(&t);
  block.label.any = NULL;
  fw_data_facts facts = facts_of(&block, false);
  assert_int_equal(facts.unlabelled, 5);
  assert_int_equal(facts.label_count, 0);
  assert_true(facts.label_mean == 0);
  fw_data_facts_clear(&facts);
}

/* FW_CLASSES_MAX labels are listed; where there are more, their mean is still that of all. */
static void many_labels(void **state) {
  (void)state;
  static table t = {.rows = 100, .columns = 0};
  for (size_t extra = 0; extra < 2; extra++) {
    fw_data_facts facts;
    assert_int_equal(fw_data_facts_init(&facts, false, &err), FURROW_OK);
    for (size_t part = 0; part < 20; part++) {
      for (size_t i = 0; i < 100; i++) t.label[i] = (float)((part * 100 + i) * 37 % (1000 + extra));
      const furrow_rowblock block = block_of(&t);
      assert_int_equal(fw_data_facts_add(&facts, &block, &err), FURROW_OK);
    }
    assert_int_equal(facts.rows, 2000);
    assert_int_equal(facts.label_count, FW_CLASSES_MAX + extra);
    assert_true(facts.whole_labels);
    assert_float_equal(facts.label_mean, 500, 2);
    for (size_t i = 0; extra == 0 && i < FW_CLASSES_MAX; i++)
      assert_true(facts.labels[i] == (double)i && facts.of_label[i] == 2);
    fw_data_facts_clear(&facts);
  }
}

/* ---- Shapes ---- */

static void lengths_and_fields(void **state) {
  (void)state;
  static sample_block s;
  furrow_rowblock block = sample_make(&s, 3, SAMPLE_ROWS, FURROW_KEY_U64, FURROW_VALUE_I32,
                                      FW_COLUMN_LABEL | FW_COLUMN_FIELD | FW_COLUMN_VALUE);
  size_t longest = 0, shortest = SIZE_MAX;
  uint64_t fields = 0;
  for (size_t i = 0; i < block.size; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    longest = row.length > longest ? row.length : longest;
    shortest = row.length < shortest ? row.length : shortest;
    for (size_t k = 0; k < row.length; k++)
      fields = furrow_row_get_field(&row, k) >= fields ? furrow_row_get_field(&row, k) + 1 : fields;
  }
  fw_data_facts facts = facts_of(&block, true);
  assert_true(longest > shortest);
  assert_int_equal(facts.longest, longest);
  assert_int_equal(facts.shortest, shortest);
  assert_int_equal(facts.fields, fields);
  fw_data_facts_clear(&facts);
  block.field.any = NULL;
  facts = facts_of(&block, false);
  assert_int_equal(facts.fields, 0);
  fw_data_facts_clear(&facts);
}

/* ---- The digest ---- */

static uint64_t digest_in_parts(const furrow_rowblock *block, size_t part) {
  fw_data_facts facts;
  assert_int_equal(fw_data_facts_init(&facts, false, &err), FURROW_OK);
  for (size_t begin = 0; begin < block->size; begin += part) {
    furrow_rowblock slice;
    const size_t end = block->size - begin < part ? block->size : begin + part;
    assert_int_equal(furrow_rowblock_slice(block, begin, end, &slice, &err), FURROW_OK);
    assert_int_equal(fw_data_facts_add(&facts, &slice, &err), FURROW_OK);
  }
  const uint64_t digest = facts.digest;
  fw_data_facts_clear(&facts);
  return digest;
}

static void digest_does_not_depend_on_blocks(void **state) {
  (void)state;
  enum { COLUMNS = FW_COLUMN_LABEL | FW_COLUMN_VALUE };
  static sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_rowblock block = sample_make(&s, 5, SAMPLE_ROWS, key_type, value_type, COLUMNS);
    const uint64_t whole = digest_in_parts(&block, SAMPLE_ROWS);
    for (size_t part = 1; part < SAMPLE_ROWS; part += 6) assert_true(digest_in_parts(&block, part) == whole);
    sample_set_value(s.label, value_type, block.size - 1, 99); /* any change shows */
    assert_true(digest_in_parts(&block, 7) != whole);
    block = sample_make(&s, 5, SAMPLE_ROWS, key_type, value_type, COLUMNS);
    sample_set_index(s.index, key_type, (size_t)s.offset[SAMPLE_ROWS] - 1, 4321);
    assert_true(digest_in_parts(&block, 7) != whole);
    block = sample_make(&s, 5, SAMPLE_ROWS, key_type, value_type, COLUMNS);
    sample_set_value(s.value, value_type, SAMPLE_SHIFT, 4321);
    assert_true(digest_in_parts(&block, 7) != whole);
  }
}

/* ---- Scaling ---- */

static float wild(size_t row) {
  return (float)(1000 + 300 * sin((double)row));
}

static float tiny(size_t row) {
  return (float)(1e-6 * cos((double)row));
}

static float one_hot(size_t row) {
  return row % 5 == 0;
}

static float zero_or_fifty(size_t row) {
  return row % 3 == 0 ? 50.F : 0;
}

static float constant(size_t row) {
  (void)row;
  return 77;
}

/* Floats are 8 apart there. */
static float far_off(size_t row) {
  return 1e8F + (float)(row % 4) * 64;
}

static float mostly_zero(size_t row) {
  return row % 10 == 0 ? (float)(row + 1) : 0;
}

static float small_offset(size_t row) {
  return 1 + (float)(row % 7) / 100;
}

static void column_moments(const table *t, size_t column, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < t->rows; i++) sum += (double)t->value[i * t->columns + column];
  *mean = sum / (double)t->rows;
  for (size_t i = 0; i < t->rows; i++) {
    const double d = (double)t->value[i * t->columns + column] - *mean;
    squares += d * d;
  }
  *deviation = sqrt(squares / (double)t->rows);
}

static size_t entry_of(const fw_scaling *s, uint64_t key) {
  for (size_t i = 0; i < s->count; i++)
    if (s->key[i] == key) return i;
  return SIZE_MAX;
}

static size_t found_entry(const fw_scaling *s, uint64_t key) {
  const size_t at = entry_of(s, key);
  if (at == SIZE_MAX) fail_msg("feature %llu is not scaled", (unsigned long long)key);
  return at;
}

/* Mean and deviation of a column become 0 and 1. */
static void assert_centred(const table *t, const fw_scaling *s, size_t column) {
  double mean, deviation;
  const size_t at = found_entry(s, column);
  column_moments(t, column, &mean, &deviation);
  assert_float_equal(s->mean[at], mean, 1e-9 * fabs(mean) + 1e-15);
  assert_float_equal(s->factor[at] * deviation, 1, 1e-6);
  assert_int_equal(s->slot[at], column);
}

static void assert_scaled_only(const fw_scaling *s, uint64_t key, double size) {
  const size_t at = found_entry(s, key);
  assert_true(s->mean[at] == 0);
  assert_float_equal(s->factor[at] * size, 1, 1e-6);
}

static void scaling_by_what_features_are(void **state) {
  (void)state;
  static table t = {.rows = TABLE_ROWS, .columns = 8};
  float (*const columns[])(size_t) = {wild, tiny, one_hot, zero_or_fifty, constant, far_off, mostly_zero, small_offset};
  for (size_t i = 0; i < 8; i++) set_column(&t, i, columns[i]);
  const furrow_rowblock block = block_of(&t);
  double squares = 0;
  for (size_t i = 0; i < TABLE_ROWS; i += 10) squares += (double)((i + 1) * (i + 1));
  fw_scaling s = scaling_of(&block, true);
  assert_centred(&t, &s, 0);
  assert_centred(&t, &s, 1);
  assert_int_equal(entry_of(&s, 2), SIZE_MAX);
  assert_scaled_only(&s, 3, 50);
  assert_scaled_only(&s, 4, 77);
  assert_centred(&t, &s, 5);
  assert_scaled_only(&s, 6, sqrt(squares / (TABLE_ROWS / 10)));
  assert_centred(&t, &s, 7);
  fw_scaling_clear(&s);
  s = scaling_of(&block, false);
  for (size_t i = 0; i < s.count; i++) assert_true(s.mean[i] == 0 && s.factor[i] < 1);
  assert_int_equal(entry_of(&s, 1), SIZE_MAX); /* small numbers are not made larger then */
  found_entry(&s, 0);
  fw_scaling_clear(&s);
}

/* Where a row does not list a feature, its value is 0, and not its mean. */
static void features_that_not_all_rows_list(void **state) {
  (void)state;
  static table t = {.rows = 50, .columns = 2};
  set_column(&t, 0, wild);
  set_column(&t, 1, wild);
  const furrow_rowblock block = block_of(&t);
  t.index[17 * 2 + 1] = 5; /* row 17 has feature 5 in place of 1 */
  fw_scaling s = scaling_of(&block, true);
  assert_int_equal(s.count, 3);
  assert_true(s.mean[found_entry(&s, 0)] > 900 && s.slot[found_entry(&s, 0)] == 0);
  assert_true(s.mean[found_entry(&s, 1)] == 0);
  assert_scaled_only(&s, 5, (double)t.value[17 * 2 + 1]);
  fw_scaling_clear(&s);
}

/* As many uses as there are rows, but in half of them: not a feature of every row. */
static void features_that_rows_list_twice(void **state) {
  (void)state;
  static table t = {.rows = 40, .columns = 2};
  set_column(&t, 0, wild);
  set_column(&t, 1, wild);
  const furrow_rowblock block = block_of(&t);
  for (size_t i = 0; i < 80; i++) t.index[i] = i / 2 % 2 ? 3 : 4;
  fw_scaling s = scaling_of(&block, true);
  assert_int_equal(s.count, 2);
  assert_true(s.mean[0] == 0 && s.mean[1] == 0);
  fw_scaling_clear(&s);
}

/* Rows of features 0, 1, 2 and of 1, 10, 12 take turns: 1 has no slot to itself. */
static void slots_of_features(void **state) {
  (void)state;
  static table t = {.rows = 30, .columns = 3};
  static const uint32_t other[] = {1, 10, 12};
  for (size_t i = 0; i < 3; i++) set_column(&t, i, wild);
  const furrow_rowblock block = block_of(&t);
  for (size_t i = 0; i < 90; i++)
    if (i / 3 % 2) t.index[i] = other[i % 3];
  fw_scaling s = scaling_of(&block, true);
  const size_t at = found_entry(&s, 1);
  assert_true(s.mean[at] > 900 && s.slot[at] == -1);
  fw_scaling_clear(&s);
}

static void values_that_are_all_1(void **state) {
  (void)state;
  static table t = {.rows = 20, .columns = 2};
  for (size_t i = 0; i < 40; i++) t.value[i] = 1;
  furrow_rowblock block = block_of(&t);
  assert_false(fw_block_has_values(&block));
  fw_scaling s = scaling_of(&block, true);
  assert_int_equal(s.count, 0);
  fw_scaling_clear(&s);
  t.value[39] = 1.5F;
  assert_true(fw_block_has_values(&block));
  block.value.any = NULL;
  assert_false(fw_block_has_values(&block));
  block = block_of(&t);
  block.size = 19; /* the last row has it */
  assert_false(fw_block_has_values(&block));
  block.size = 0;
  assert_false(fw_block_has_values(&block));
}

/* Numbers whose squares are beyond floats. What is not a number is left for the training to report. */
static void extreme_values(void **state) {
  (void)state;
  static table t = {.rows = 30, .columns = 2};
  for (size_t i = 0; i < 30; i++) t.value[i * 2] = (i % 2 ? 1 : -1) * (1e38F + (float)i * 1e36F);
  for (size_t i = 0; i < 30; i++) t.value[i * 2 + 1] = i == 4 ? (float)NAN : i == 5 ? (float)INFINITY : (float)i;
  const furrow_rowblock block = block_of(&t);
  fw_scaling s = scaling_of(&block, true);
  assert_int_equal(s.count, 1);
  assert_int_equal(s.key[0], 0);
  assert_true(isfinite(s.mean[0]) && s.factor[0] > 0 && s.factor[0] < 1e-37);
  fw_scaling_clear(&s);
  for (size_t i = 0; i < 30; i++) t.value[i * 2] = (float)i * 1e-40F; /* a weight for them would be beyond floats */
  s = scaling_of(&block, true);
  assert_int_equal(s.count, 0);
  fw_scaling_clear(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(labels_are_counted_in_order),
      cmocka_unit_test(rows_without_labels),
      cmocka_unit_test(many_labels),
      cmocka_unit_test(lengths_and_fields),
      cmocka_unit_test(digest_does_not_depend_on_blocks),
      cmocka_unit_test(scaling_by_what_features_are),
      cmocka_unit_test(features_that_not_all_rows_list),
      cmocka_unit_test(features_that_rows_list_twice),
      cmocka_unit_test(slots_of_features),
      cmocka_unit_test(values_that_are_all_1),
      cmocka_unit_test(extreme_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
