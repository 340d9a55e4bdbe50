/* tests/unit/rows/test_rowblock.c: element types, rows, blocks. */
#include "support/sample_block.h"

/* ---- Types ---------------------------------------------------------------------------------------------- */

static void types_have_names_and_sizes(void **state) {
  (void)state;
#define FURROW_X(name, type, text)                                         \
  {                                                                        \
    furrow_key_type found = (furrow_key_type)99;                           \
    assert_int_equal(furrow_key_size(FURROW_KEY_##name), sizeof(type));    \
    assert_string_equal(furrow_key_type_name(FURROW_KEY_##name), text);    \
    assert_int_equal(furrow_key_type_find(text, &found, NULL), FURROW_OK); \
    assert_int_equal(found, FURROW_KEY_##name);                            \
  }
  FURROW_KEY_TYPES(FURROW_X)
#undef FURROW_X
#define FURROW_X(name, type, text)                                           \
  {                                                                          \
    furrow_value_type found = (furrow_value_type)99;                         \
    assert_int_equal(furrow_value_size(FURROW_VALUE_##name), sizeof(type));  \
    assert_string_equal(furrow_value_type_name(FURROW_VALUE_##name), text);  \
    assert_int_equal(furrow_value_type_find(text, &found, NULL), FURROW_OK); \
    assert_int_equal(found, FURROW_VALUE_##name);                            \
  }
  FURROW_VALUE_TYPES(FURROW_X)
#undef FURROW_X
}

static void unknown_types_are_refused(void **state) {
  (void)state;
  assert_int_equal(furrow_key_size((furrow_key_type)2), 0);
  assert_int_equal(furrow_value_size((furrow_value_type)-1), 0);
  assert_string_equal(furrow_key_type_name((furrow_key_type)77), "?");
  assert_string_equal(furrow_value_type_name((furrow_value_type)3), "?");
  static const char *const names[] = {"", "u3", "u322", "U32", "f64", "float", NULL};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    furrow_error err;
    furrow_key_type index = FURROW_KEY_U64;
    furrow_value_type value = FURROW_VALUE_I64;
    assert_int_equal(furrow_key_type_find(names[i], &index, &err), FURROW_E_ARGUMENT);
    assert_int_equal(index, FURROW_KEY_U64);
    assert_non_null(strstr(err.message, "u32 u64"));
    assert_string_equal(err.token, names[i] ? names[i] : "");
    assert_int_equal(furrow_value_type_find(names[i], &value, &err), FURROW_E_ARGUMENT);
    assert_int_equal(value, FURROW_VALUE_I64);
    assert_non_null(strstr(err.message, "f32 i32 i64"));
  }
}

/* ---- Rows and slices ------------------------------------------------------------------------------------ */

static void a_row_is_a_view_of_its_elements(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    for (unsigned columns = 0; columns < 32; columns++) {
      const furrow_rowblock block = sample_make(&s, columns, SAMPLE_ROWS, key_type, value_type, columns);
      for (size_t i = 0; i < block.size; i++) {
        const furrow_row row = furrow_rowblock_row(&block, i);
        size_t at = s.offset[i];
        assert_int_equal(row.length, s.offset[i + 1] - at);
        assert_int_equal(row.key_type, key_type);
        assert_int_equal(row.value_type, value_type);
        assert_ptr_equal(row.weight, columns & FW_COLUMN_WEIGHT ? &s.weight[i] : NULL);
        assert_ptr_equal(row.qid, columns & FW_COLUMN_QID ? &s.qid[i] : NULL);
        assert_ptr_equal(row.label.any,
                         columns & FW_COLUMN_LABEL ? (char *)s.label + i * furrow_value_size(value_type) : NULL);
        assert_ptr_equal(row.index.any, (char *)s.index + at * furrow_key_size(key_type));
        assert_ptr_equal(row.field.any,
                         columns & FW_COLUMN_FIELD ? (char *)s.field + at * furrow_key_size(key_type) : NULL);
        assert_ptr_equal(row.value.any,
                         columns & FW_COLUMN_VALUE ? (char *)s.value + at * furrow_value_size(value_type) : NULL);
      }
    }
  }
}

static void absent_arrays_have_defaults(void **state) {
  (void)state;
  sample_block s;
  const furrow_rowblock block = sample_make(&s, 4, 20, FURROW_KEY_U32, FURROW_VALUE_F32, 0);
  for (size_t i = 0; i < block.size; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    assert_true(furrow_row_get_label(&row) == 0);
    assert_true(furrow_row_get_weight(&row) == 1);
    assert_int_equal(furrow_row_get_qid(&row), 0);
    for (size_t k = 0; k < row.length; k++) {
      assert_int_equal(furrow_row_get_field(&row, k), 0);
      assert_true(furrow_row_get_value(&row, k) == 1);
    }
  }
}

static void a_slice_has_the_rows_of_the_whole(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    for (unsigned columns = 0; columns < 32; columns++) {
      const furrow_rowblock block = sample_make(&s, 9 + columns, 12, key_type, value_type, columns);
      for (size_t begin = 0; begin <= block.size; begin++) {
        for (size_t end = begin; end <= block.size; end++) {
          furrow_rowblock slice;
          assert_int_equal(furrow_rowblock_slice(&block, begin, end, &slice, NULL), FURROW_OK);
          assert_int_equal(slice.size, end - begin);
          assert_same_rows(&slice, 0, &block, begin, end - begin);
        }
      }
    }
  }
}

static void bad_slices_are_refused(void **state) {
  (void)state;
  static const size_t bounds[][2] = {{3, 2}, {0, 6}, {6, 6}, {SIZE_MAX, 0}, {0, SIZE_MAX}};
  sample_block s;
  const furrow_rowblock block = sample_make(&s, 1, 5, FURROW_KEY_U64, FURROW_VALUE_I32, FW_COLUMN_LABEL);
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
    furrow_error err;
    furrow_rowblock slice = {.size = 77};
    assert_int_equal(furrow_rowblock_slice(&block, bounds[i][0], bounds[i][1], &slice, &err), FURROW_E_ARGUMENT);
    assert_int_equal(err.status, FURROW_E_ARGUMENT);
    assert_int_equal(slice.size, 77);
  }
}

static void memory_cost_counts_every_array(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    size_t index = furrow_key_size(key_type), value = furrow_value_size(value_type);
    for (unsigned columns = 0; columns < 32; columns++) {
      furrow_rowblock block = sample_make(&s, columns, 30, key_type, value_type, columns);
      size_t features = s.offset[30] - s.offset[0], wanted = 30 * 8 + features * index;
      if (columns & FW_COLUMN_LABEL) wanted += 30 * value;
      if (columns & FW_COLUMN_WEIGHT) wanted += 30 * 4;
      if (columns & FW_COLUMN_QID) wanted += 30 * 8;
      if (columns & FW_COLUMN_FIELD) wanted += features * index;
      if (columns & FW_COLUMN_VALUE) wanted += features * value;
      assert_int_equal(furrow_rowblock_memory_cost(&block), wanted);
      block.size = 0;
      assert_int_equal(furrow_rowblock_memory_cost(&block), 0);
    }
  }
}

/* ---- Dot products --------------------------------------------------------------------------------------- */

static void dot_adds_up_in_order(void **state) {
  (void)state;
  static float w32[1000];
  static double w64[1000];
  uint64_t seed = 3;
  for (size_t i = 0; i < 1000; i++) {
    w32[i] = (float)sample_random(&seed) * 1e-7F;
    w64[i] = (double)sample_random(&seed) * 1e-7;
  }
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    for (unsigned columns = 0; columns < 32; columns += FW_COLUMN_VALUE) {
      const furrow_rowblock block = sample_make(&s, 5, SAMPLE_ROWS, key_type, value_type, columns);
      for (size_t i = 0; i < block.size; i++) {
        const furrow_row row = furrow_rowblock_row(&block, i);
        volatile float sum32 = 0;
        double sum64 = 0;
        for (size_t k = 0; k < row.length; k++) {
          float product = w32[furrow_row_get_index(&row, k)] * (float)furrow_row_get_value(&row, k);
          sum32 = sum32 + product;
          sum64 += w64[furrow_row_get_index(&row, k)] * furrow_row_get_value(&row, k);
        }
        float dot32 = -1;
        double dot64 = -1;
        assert_int_equal(furrow_row_dot_f32(&row, w32, 1000, &dot32, NULL), FURROW_OK);
        assert_int_equal(furrow_row_dot_f64(&row, w64, 1000, &dot64, NULL), FURROW_OK);
        assert_true(dot32 == sum32);
        assert_true(dot64 == sum64);
      }
    }
  }
}

static void dot_counts_an_index_as_often_as_it_occurs(void **state) {
  (void)state;
  const uint32_t index[] = {2, 0, 2, 2};
  const float value[] = {1, 10, 2, 4}, weights[] = {1, 0, 0.5F};
  const furrow_row row = {.length = 4, .index.u32 = index, .value.f32 = value};
  float dot = 0;
  assert_int_equal(furrow_row_dot_f32(&row, weights, 3, &dot, NULL), FURROW_OK);
  assert_true(dot == 10 + 0.5F * 7);
}

static void dot_refuses_an_index_beyond_the_weights(void **state) {
  (void)state;
  const uint64_t index[] = {0, 5, (uint64_t)1 << 32, UINT64_MAX};
  const float w32[6] = {1, 1, 1, 1, 1, 1};
  const double w64[6] = {1, 1, 1, 1, 1, 1};
  for (size_t length = 0; length <= 4; length++) {
    const furrow_row row = {.length = length, .index.u64 = index, .key_type = FURROW_KEY_U64};
    for (size_t n = 0; n <= 6; n++) {
      bool fits = length == 0 || (length == 1 && n > 0) || (length == 2 && n > 5);
      furrow_error err = {.status = FURROW_OK};
      float dot32 = -7;
      double dot64 = -7;
      assert_int_equal(furrow_row_dot_f32(&row, w32, n, &dot32, &err), fits ? FURROW_OK : FURROW_E_RANGE);
      assert_int_equal(furrow_row_dot_f64(&row, w64, n, &dot64, &err), fits ? FURROW_OK : FURROW_E_RANGE);
      assert_true(dot32 == (fits ? (float)length : -7));
      assert_true(dot64 == (fits ? (double)length : -7));
      if (length == 3 && n == 6) assert_non_null(strstr(err.message, "4294967296"));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_have_names_and_sizes),
      cmocka_unit_test(unknown_types_are_refused),
      cmocka_unit_test(a_row_is_a_view_of_its_elements),
      cmocka_unit_test(absent_arrays_have_defaults),
      cmocka_unit_test(a_slice_has_the_rows_of_the_whole),
      cmocka_unit_test(bad_slices_are_refused),
      cmocka_unit_test(memory_cost_counts_every_array),
      cmocka_unit_test(dot_adds_up_in_order),
      cmocka_unit_test(dot_counts_an_index_as_often_as_it_occurs),
      cmocka_unit_test(dot_refuses_an_index_beyond_the_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
