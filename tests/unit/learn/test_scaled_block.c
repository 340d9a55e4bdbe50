/* tests/unit/learn/test_scaled_block.c: rows in the units of a scaling, for all types of values. */
#include <math.h>

#include "learn/data/samples.h"
#include "support/sample_block.h"

static furrow_error err;

/* Every third feature of 0 … 999. */
static fw_scaling made_scaling(void) {
  fw_scaling s;
  assert_int_equal(fw_scaling_init(&s, 333, &err), FURROW_OK);
  for (size_t i = 0; i < s.count; i++) {
    s.key[i] = 3 * i;
    s.mean[i] = i % 50 == 7 ? (double)i / 2 - 50 : 0;
    s.factor[i] = 1 / (1 + (double)i);
  }
  return s;
}

static double scaled_value(const fw_scaling *s, uint64_t key, double x) {
  if (key % 3 != 0 || key / 3 >= s->count) return x;
  return (x - s->mean[key / 3]) * s->factor[key / 3];
}

static bool lists(const furrow_row *row, uint64_t key) {
  for (size_t i = 0; i < row->length; i++)
    if (furrow_row_get_index(row, i) == key) return true;
  return false;
}

/* Features with a mean that the row does not list: 0 is not 0 there. */
static size_t missing(const fw_scaling *s, const furrow_row *row) {
  size_t count = 0;
  for (size_t k = 0; k < s->count; k++) count += s->mean[k] != 0 && !lists(row, s->key[k]);
  return count;
}

static void assert_scaled(const fw_scaling *s, const furrow_rowblock *from, const furrow_rowblock *to) {
  assert_int_equal(to->size, from->size);
  assert_int_equal(to->value_type, FURROW_VALUE_F32);
  assert_ptr_equal(to->weight, from->weight);
  for (size_t i = 0; i < from->size; i++) {
    const furrow_row a = furrow_rowblock_row(from, i), b = furrow_rowblock_row(to, i);
    const double label = furrow_row_get_label(&a);
    const double wanted = s->label_factor != 0 ? (label - s->label_mean) * s->label_factor : label;
    assert_int_equal(a.label.any != NULL, b.label.any != NULL);
    if (a.label.any) assert_float_equal(furrow_row_get_label(&b), wanted, 1e-6 * fabs(wanted));
    assert_int_equal(b.length, a.length + missing(s, &a));
    for (size_t k = a.length; k < b.length; k++) { /* those that were added */
      const uint64_t key = furrow_row_get_index(&b, k);
      const double z = scaled_value(s, key, 0);
      assert_false(lists(&a, key));
      assert_float_equal(furrow_row_get_value(&b, k), z, 1e-6 * fabs(z));
    }
    for (size_t k = 0; k < a.length; k++) {
      assert_true(furrow_row_get_index(&a, k) == furrow_row_get_index(&b, k));
      const double z = scaled_value(s, furrow_row_get_index(&a, k), furrow_row_get_value(&a, k));
      assert_float_equal(furrow_row_get_value(&b, k), z, 1e-6 * fabs(z));
    }
  }
}

static void all_types(void **state) {
  (void)state;
  static sample_block sample;
  fw_scaled_block scaled = {0};
  fw_scaling s = made_scaling();
  for (int labels = 0; labels < 2; labels++) {
    s.label_mean = 1.5;
    s.label_factor = labels ? 0.25 : 0;
    FOR_ALL_TYPES(key_type, value_type) {
      for (unsigned columns = 0; columns < 4; columns++) {
        const unsigned with =
            FW_COLUMN_WEIGHT | (columns & 1 ? FW_COLUMN_LABEL : 0) | (columns & 2 ? FW_COLUMN_VALUE : 0);
        for (size_t rows = SAMPLE_ROWS; rows > 0; rows /= 4) { /* arrays are used again */
          const furrow_rowblock block = sample_make(&sample, 9 + rows, rows, key_type, value_type, with);
          assert_int_equal(fw_scaled_block_fill(&scaled, &s, &block, &err), FURROW_OK);
          assert_scaled(&s, &block, &scaled.block);
        }
      }
    }
  }
  fw_scaled_block_clear(&scaled);
  fw_scaling_clear(&s);
}

/* Labels alone: rows without values stay without. */
static void labels_alone(void **state) {
  (void)state;
  static sample_block sample;
  fw_scaled_block scaled = {0};
  const fw_scaling s = {.label_mean = -2, .label_factor = 3};
  const furrow_rowblock block = sample_make(&sample, 1, SAMPLE_ROWS, FURROW_KEY_U32, FURROW_VALUE_I64, FW_COLUMN_LABEL);
  assert_int_equal(fw_scaled_block_fill(&scaled, &s, &block, &err), FURROW_OK);
  assert_null(scaled.block.value.any);
  assert_scaled(&s, &block, &scaled.block);
  fw_scaled_block_clear(&scaled);
}

static void no_rows(void **state) {
  (void)state;
  static sample_block sample;
  fw_scaled_block scaled = {0};
  fw_scaling s = made_scaling();
  const furrow_rowblock block =
      sample_make(&sample, 1, 0, FURROW_KEY_U32, FURROW_VALUE_F32, FW_COLUMN_LABEL | FW_COLUMN_VALUE);
  assert_int_equal(fw_scaled_block_fill(&scaled, &s, &block, &err), FURROW_OK);
  assert_int_equal(scaled.block.size, 0);
  fw_scaled_block_clear(&scaled);
  fw_scaling_clear(&s);
}

/* There and back is the same. */
static void inverse(void **state) {
  (void)state;
  fw_scaling s = made_scaling(), back;
  s.label_mean = 1e4;
  s.label_factor = 0.01;
  assert_int_equal(fw_scaling_invert(&back, &s, &err), FURROW_OK);
  for (size_t i = 0; i < s.count; i++) {
    const double z = (123 - s.mean[i]) * s.factor[i];
    assert_float_equal((z - back.mean[i]) * back.factor[i], 123, 1e-9);
    assert_int_equal(back.key[i], s.key[i]);
  }
  const double t = (777 - s.label_mean) * s.label_factor;
  assert_float_equal((t - back.label_mean) * back.label_factor, 777, 1e-9);
  fw_scaling_clear(&s);
  fw_scaling_clear(&back);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_types),
      cmocka_unit_test(labels_alone),
      cmocka_unit_test(no_rows),
      cmocka_unit_test(inverse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
