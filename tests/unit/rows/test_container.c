/* tests/unit/rows/test_container.c: a growing block of rows. */
#include "rows/block/container.h"

#include "support/failing_alloc.h"
#include "support/sample_block.h"

enum { LABEL = FW_COLUMN_LABEL, WEIGHT = FW_COLUMN_WEIGHT, QID = FW_COLUMN_QID };
enum { FIELD = FW_COLUMN_FIELD, VALUE = FW_COLUMN_VALUE };

static furrow_container *create(furrow_key_type key_type, furrow_value_type value_type) {
  furrow_container *container = NULL;
  assert_int_equal(furrow_container_create(&container, key_type, value_type, NULL), FURROW_OK);
  return container;
}

static furrow_rowblock get_block(const furrow_container *container) {
  furrow_rowblock block;
  assert_int_equal(furrow_container_get_block(container, &block, NULL), FURROW_OK);
  return block;
}

static void push(furrow_container *container, const furrow_rowblock *block) {
  furrow_error err;
  furrow_status status = furrow_container_push_block(container, block, &err);
  if (status != FURROW_OK) fail_msg("%s", err.message);
}

static unsigned columns_of(const furrow_rowblock *b) {
  return (b->label.any ? LABEL : 0U) | (b->weight ? WEIGHT : 0U) | (b->qid ? QID : 0U) | (b->field.any ? FIELD : 0U) |
         (b->value.any ? VALUE : 0U);
}

/* ---- Push ----------------------------------------------------------------------------------------------- */

static void a_new_container_is_an_empty_block(void **state) {
  (void)state;
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_container *c = create(key_type, value_type);
    const furrow_rowblock block = get_block(c);
    assert_int_equal(block.size, 0);
    assert_int_equal(block.offset[0], 0);
    assert_int_equal(block.key_type, key_type);
    assert_int_equal(block.value_type, value_type);
    assert_int_equal(columns_of(&block), 0);
    assert_int_equal(furrow_container_size(c), 0);
    assert_int_equal(furrow_container_max_index(c), 0);
    assert_int_equal(furrow_container_max_field(c), 0);
    assert_int_equal(furrow_container_memory_cost(c), 8);
    furrow_container_free(c);
  }
  furrow_container_free(NULL);
  furrow_container *none = NULL;
  furrow_error err;
  assert_int_equal(furrow_container_create(&none, (furrow_key_type)2, FURROW_VALUE_F32, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_container_create(&none, FURROW_KEY_U32, (furrow_value_type)3, &err), FURROW_E_ARGUMENT);
  assert_null(none);
}

/* Every type into every type, every set of columns: as a block, in slices, row by row. */
static void what_is_pushed_comes_out(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(from_index, from_value) {
    FOR_ALL_TYPES(key_type, value_type) {
      furrow_container *whole = create(key_type, value_type), *slices = create(key_type, value_type);
      furrow_container *rows = create(key_type, value_type);
      for (unsigned columns = 0; columns < 32; columns++) {
        const furrow_rowblock block = sample_make(&s, columns, SAMPLE_ROWS, from_index, from_value, columns);
        furrow_container_clear(whole);
        furrow_container_clear(slices);
        furrow_container_clear(rows);
        push(whole, &block);
        for (size_t begin = 0; begin < block.size; begin += 5) {
          furrow_rowblock slice;
          size_t end = begin + 5 < block.size ? begin + 5 : block.size;
          assert_int_equal(furrow_rowblock_slice(&block, begin, end, &slice, NULL), FURROW_OK);
          push(slices, &slice);
        }
        for (size_t i = 0; i < block.size; i++) {
          const furrow_row row = furrow_rowblock_row(&block, i);
          assert_int_equal(furrow_container_push_row(rows, &row, NULL), FURROW_OK);
        }
        const furrow_rowblock a = get_block(whole), b = get_block(slices), c = get_block(rows);
        assert_same_block(&a, &block);
        assert_same_block(&b, &block);
        assert_same_block(&c, &block);
        assert_int_equal(a.offset[0], 0);
        assert_int_equal(columns_of(&a), columns);
        assert_int_equal(columns_of(&b), columns);
        assert_int_equal(columns_of(&c), columns);
      }
      furrow_container_free(whole);
      furrow_container_free(slices);
      furrow_container_free(rows);
    }
  }
}

static void maxima_are_those_of_all_rows(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_container *c = create(key_type, value_type);
    uint64_t max_index = 0, max_field = 0;
    for (unsigned round = 0; round < 20; round++) {
      unsigned columns = round < 10 ? LABEL : LABEL | FIELD;
      const furrow_rowblock block = sample_make(&s, round, 3, key_type, value_type, columns);
      push(c, &block);
      for (size_t i = block.offset[0]; i < block.offset[block.size]; i++) {
        uint64_t index = furrow_keys_get(block.index, key_type, i);
        if (index > max_index) max_index = index;
        uint64_t field = block.field.any ? furrow_keys_get(block.field, key_type, i) : 0;
        if (field > max_field) max_field = field;
      }
      assert_int_equal(furrow_container_max_index(c), max_index);
      assert_int_equal(furrow_container_max_field(c), max_field);
    }
    assert_true(max_index > 0 && max_field > 0);
    furrow_container_clear(c);
    assert_int_equal(furrow_container_max_index(c), 0);
    assert_int_equal(furrow_container_max_field(c), 0);
    furrow_container_free(c);
  }
}

/* The largest element may be at any place of any length: the loops that look for it work on several at a time. */
static void the_maximum_is_found_at_every_place(void **state) {
  (void)state;
  uint32_t narrow[19];
  uint64_t wide[19];
  for (size_t n = 1; n <= 19; n++) {
    for (size_t at = 0; at < n; at++) {
      for (size_t i = 0; i < n; i++) wide[i] = narrow[i] = (uint32_t)(i == at ? 0x80000000U + i : i);
      wide[at] = (uint64_t)1 << 63;
      const uint64_t offset[2] = {0, n};
      const furrow_rowblock block = {.size = 1, .offset = offset, .index.u32 = narrow};
      const furrow_rowblock wide_block = {.size = 1, .offset = offset, .index.u64 = wide, .key_type = FURROW_KEY_U64};
      furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32), *d = create(FURROW_KEY_U64, FURROW_VALUE_F32);
      push(c, &block);
      push(d, &wide_block);
      assert_true(furrow_container_max_index(c) == 0x80000000U + at);
      assert_true(furrow_container_max_index(d) == (uint64_t)1 << 63);
      furrow_container_free(c);
      furrow_container_free(d);
    }
  }
}

/* Blocks and rows that bring different columns: every pair of sets, then once more. */
static void columns_that_only_some_rows_have_are_filled(void **state) {
  (void)state;
  static sample_block samples[3];
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_container *c = create(key_type, value_type);
    for (unsigned sets = 0; sets < 16 * 16 * 16; sets++) {
      furrow_rowblock blocks[3];
      furrow_container_clear(c);
      for (unsigned k = 0; k < 3; k++) {
        unsigned columns = LABEL | ((sets >> (4 * k) & 15) << 1);
        blocks[k] = sample_make(&samples[k], sets + k, 4, key_type, value_type, columns);
        if (k != 1) push(c, &blocks[k]);
        for (size_t i = 0; k == 1 && i < blocks[k].size; i++) {
          const furrow_row row = furrow_rowblock_row(&blocks[k], i);
          assert_int_equal(furrow_container_push_row(c, &row, NULL), FURROW_OK);
        }
      }
      const furrow_rowblock all = get_block(c);
      for (size_t k = 0; k < 3; k++) assert_same_rows(&all, 4 * k, &blocks[k], 0, 4);
      assert_int_equal(all.size, 12);
      unsigned either = columns_of(&blocks[0]) | columns_of(&blocks[1]) | columns_of(&blocks[2]);
      assert_int_equal(columns_of(&all) & (LABEL | WEIGHT | QID), either & (LABEL | WEIGHT | QID));
    }
    furrow_container_free(c);
  }
}

static void rows_without_features_bring_no_feature_columns(void **state) {
  (void)state;
  const float label = 3, value = 0;
  const uint32_t index = 0;
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  const furrow_row bare = {.label.f32 = &label, .field.u32 = &index, .index.u32 = &index, .value.f32 = &value};
  const furrow_row no_arrays = {.label.f32 = &label};
  assert_int_equal(furrow_container_push_row(c, &bare, NULL), FURROW_OK);
  assert_int_equal(furrow_container_push_row(c, &no_arrays, NULL), FURROW_OK);
  const furrow_rowblock block = get_block(c);
  assert_int_equal(block.size, 2);
  assert_int_equal(columns_of(&block), LABEL);
  assert_int_equal(block.offset[2], 0);
  furrow_container_free(c);
}

static void no_rows_change_nothing(void **state) {
  (void)state;
  sample_block s;
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  furrow_rowblock block = sample_make(&s, 1, 8, FURROW_KEY_U32, FURROW_VALUE_F32, LABEL | WEIGHT | FIELD);
  block.size = 0;
  push(c, &block);
  block = (furrow_rowblock){.size = 0}; /* not even offsets */
  push(c, &block);
  assert_int_equal(furrow_container_size(c), 0);
  block = sample_make(&s, 1, 8, FURROW_KEY_U32, FURROW_VALUE_F32, 0);
  push(c, &block);
  furrow_rowblock all = get_block(c);
  assert_int_equal(columns_of(&all), 0);
  furrow_container_free(c);
}

/* ---- What does not fit ---------------------------------------------------------------------------------- */

/* Which integers and floats the other types hold; the same for labels and values. */
static void values_convert_only_exactly(void **state) {
  (void)state;
  typedef struct {
    furrow_value_type from, to;
    double f;
    int64_t i;
    bool fits;
  } conversion;
  const furrow_value_type F32 = FURROW_VALUE_F32, I32 = FURROW_VALUE_I32, I64 = FURROW_VALUE_I64;
  const conversion cases[] = {
      {F32, I32, 0.0, 0, true},
      {F32, I32, -0.0, 0, true},
      {F32, I32, 0.5, 0, false},
      {F32, I32, -1.0, 0, true},
      {F32, I32, 2147483520.0, 0, true},
      {F32, I32, 2147483648.0, 0, false},
      {F32, I32, -2147483648.0, 0, true},
      {F32, I32, -2147483904.0, 0, false},
      {F32, I32, (double)NAN, 0, false},
      {F32, I32, (double)INFINITY, 0, false},
      {F32, I64, 2147483648.0, 0, true},
      {F32, I64, 1e-30, 0, false},
      {F32, I64, 0x1p62, 0, true},
      {F32, I64, 0x1p63, 0, false},
      {F32, I64, -0x1p63, 0, true},
      {F32, I64, -0x1.000002p63, 0, false},
      {F32, I64, -(double)INFINITY, 0, false},
      {F32, I64, (double)NAN, 0, false},
      {I32, F32, 0, 16777216, true},
      {I32, F32, 0, 16777217, false},
      {I32, F32, 0, 16777218, true},
      {I32, F32, 0, INT32_MAX, false},
      {I32, F32, 0, INT32_MIN, true},
      {I32, I64, 0, INT32_MIN, true},
      {I32, I64, 0, INT32_MAX, true},
      {I64, I32, 0, INT32_MIN, true},
      {I64, I32, 0, INT32_MAX, true},
      {I64, I32, 0, (int64_t)INT32_MIN - 1, false},
      {I64, I32, 0, (int64_t)INT32_MAX + 1, false},
      {I64, F32, 0, (int64_t)1 << 62, true},
      {I64, F32, 0, ((int64_t)1 << 62) + 1, false},
      {I64, F32, 0, INT64_MAX, false},
      {I64, F32, 0, INT64_MIN, true},
      {I64, F32, 0, INT64_MIN + 1, false},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    const conversion *t = &cases[k];
    const float f = (float)t->f, f_pair[2] = {1, f};
    const int32_t i32 = (int32_t)t->i, i32_pair[2] = {1, i32};
    const int64_t i64_pair[2] = {1, t->i};
    const void *pair = t->from == F32 ? (const void *)f_pair : t->from == I32 ? (const void *)i32_pair : i64_pair;
    const uint32_t index[2] = {0, 1};
    const uint64_t offset[3] = {0, 1, 2};
    for (int as_label = 0; as_label < 2; as_label++) {
      furrow_rowblock block = {.size = 2, .offset = offset, .index.u32 = index, .value_type = t->from};
      if (as_label) block.label.any = pair;
      if (!as_label) block.value.any = pair;
      furrow_container *c = create(FURROW_KEY_U32, t->to);
      furrow_error err;
      assert_int_equal(furrow_container_push_block(c, &block, &err), t->fits ? FURROW_OK : FURROW_E_RANGE);
      if (t->fits) {
        furrow_rowblock all = get_block(c);
        assert_same_block(&all, &block);
      } else {
        assert_int_equal(furrow_container_size(c), 0);
        assert_non_null(strstr(err.message, as_label ? "label" : "value"));
        assert_non_null(strstr(err.message, "row 1 "));
        assert_non_null(strstr(err.message, furrow_value_type_name(t->to)));
      }
      furrow_container_free(c);
    }
  }
}

static void indices_convert_only_exactly(void **state) {
  (void)state;
  const uint64_t offset[3] = {0, 2, 3};
  for (int as_field = 0; as_field < 2; as_field++) {
    for (uint64_t v = UINT32_MAX - 1ULL; v <= UINT32_MAX + 1ULL; v++) {
      const uint64_t plain[3] = {1, 2, 3}, last[3] = {1, 2, v};
      furrow_rowblock block = {.size = 2, .offset = offset, .key_type = FURROW_KEY_U64};
      block.index.u64 = as_field ? plain : last;
      block.field.u64 = as_field ? last : plain;
      furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
      furrow_error err;
      furrow_status status = furrow_container_push_block(c, &block, &err);
      assert_int_equal(status, v <= UINT32_MAX ? FURROW_OK : FURROW_E_RANGE);
      if (status != FURROW_OK) {
        assert_non_null(strstr(err.message, as_field ? "field 4294967296 of row 1" : "index 4294967296 of row 1"));
        assert_int_equal(furrow_container_size(c), 0);
        assert_int_equal(furrow_container_max_index(c), 0);
      }
      furrow_container_free(c);
    }
  }
}

/* A copy of what a container shows, and the check that it still does. */
typedef struct snapshot {
  furrow_container *copy;
  unsigned columns;
  uint64_t max_index, max_field;
} snapshot;

static snapshot take_snapshot(const furrow_container *c) {
  const furrow_rowblock block = get_block(c);
  snapshot s = {create(c->key_type, c->value_type), columns_of(&block), c->max_index, c->max_field};
  push(s.copy, &block);
  return s;
}

static void assert_unchanged(const furrow_container *c, snapshot s) {
  const furrow_rowblock now = get_block(c), then = get_block(s.copy);
  assert_same_block(&now, &then);
  assert_int_equal(columns_of(&now), s.columns);
  assert_int_equal(furrow_container_max_index(c), s.max_index);
  assert_int_equal(furrow_container_max_field(c), s.max_field);
  furrow_container_free(s.copy);
}

/* A push that fails after some columns were converted, that would have added all the others. */
static void a_failed_push_changes_nothing(void **state) {
  (void)state;
  sample_block s;
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_I32);
  furrow_rowblock block = sample_make(&s, 2, 40, FURROW_KEY_U64, FURROW_VALUE_F32, LABEL);
  push(c, &block);
  snapshot before = take_snapshot(c);
  block = sample_make(&s, 3, SAMPLE_ROWS, FURROW_KEY_U64, FURROW_VALUE_F32, LABEL | WEIGHT | QID | FIELD | VALUE);
  sample_set_f32(s.value, s.offset[SAMPLE_ROWS] - 1, 0.25F);
  furrow_error err;
  assert_int_equal(furrow_container_push_block(c, &block, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "value 0.25 of row 6"));
  assert_unchanged(c, before);
  furrow_container_free(c);
}

static void labels_are_for_all_rows_or_none(void **state) {
  (void)state;
  sample_block s;
  for (unsigned first = 0; first < 2; first++) {
    furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
    furrow_rowblock block = sample_make(&s, 2, 4, FURROW_KEY_U32, FURROW_VALUE_F32, first ? LABEL : 0);
    push(c, &block);
    snapshot before = take_snapshot(c);
    block = sample_make(&s, 2, 4, FURROW_KEY_U32, FURROW_VALUE_F32, first ? 0 : LABEL);
    assert_int_equal(furrow_container_push_block(c, &block, NULL), FURROW_E_STATE);
    const furrow_row row = furrow_rowblock_row(&block, 0);
    assert_int_equal(furrow_container_push_row(c, &row, NULL), FURROW_E_STATE);
    assert_unchanged(c, before);
    furrow_container_clear(c);
    push(c, &block); /* after clear either will do */
    furrow_container_free(c);
  }
}

static void blocks_that_cannot_be_are_refused(void **state) {
  (void)state;
  const uint64_t down[4] = {0, 3, 2, 4}, negative[2] = {4, 0}, some[2] = {0, 4};
  const uint32_t index[4] = {0};
  const furrow_rowblock blocks[] = {
      {.size = 3, .offset = down, .index.u32 = index},
      {.size = 1, .offset = negative, .index.u32 = index},
      {.size = 1, .offset = some},
      {.size = 1, .offset = some, .index.u32 = index, .key_type = (furrow_key_type)5},
      {.size = 1, .offset = some, .index.u32 = index, .value_type = (furrow_value_type)5},
  };
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    assert_int_equal(furrow_container_push_block(c, &blocks[i], NULL), FURROW_E_ARGUMENT);
    assert_int_equal(furrow_container_size(c), 0);
  }
  const furrow_rowblock good = {.size = 1, .offset = some, .index.u32 = index};
  push(c, &good);
  const furrow_rowblock own = get_block(c);
  assert_int_equal(furrow_container_push_block(c, &own, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_container_size(c), 1);
  const uint64_t huge[2] = {0, UINT64_MAX};
  const furrow_rowblock too_large = {.size = 1, .offset = huge, .index.u32 = index};
  assert_int_equal(furrow_container_push_block(c, &too_large, NULL), FURROW_E_MEMORY);
  assert_int_equal(furrow_container_size(c), 1);
  furrow_container_free(c);
}

/* ---- Capacity ------------------------------------------------------------------------------------------- */

/* A register may be stored past the last element; a sanitizer reports it if the memory is not allocated. */
static void columns_have_slack_behind_them(void **state) {
  (void)state;
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_container *c = create(key_type, value_type);
    size_t index = furrow_key_size(key_type), value = furrow_value_size(value_type);
    for (size_t n = 0; n < 3000; n = n * 2 + 1) {
      assert_int_equal(fw_container_reserve(c, n, 3 * n, 31, NULL), FURROW_OK);
      assert_true(c->row_capacity >= n && c->feature_capacity >= 3 * n);
      assert_int_equal(c->offset[0], 0);
      memset(c->offset + 1, 0xff, c->row_capacity * 8 + 64);
      memset(c->label, 0xff, c->row_capacity * value + 64);
      memset(c->weight, 0xff, c->row_capacity * 4 + 64);
      memset(c->qid, 0xff, c->row_capacity * 8 + 64);
      memset(c->field, 0xff, c->feature_capacity * index + 64);
      memset(c->index, 0xff, c->feature_capacity * index + 64);
      memset(c->value, 0xff, c->feature_capacity * value + 64);
    }
    furrow_container_free(c);
  }
}

static void capacity_grows_by_half_and_only_where_asked(void **state) {
  (void)state;
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  assert_int_equal(fw_container_reserve(c, 0, 0, 0, NULL), FURROW_OK);
  assert_non_null(c->offset);
  assert_non_null(c->index);
  assert_true(!c->label && !c->weight && !c->qid && !c->field && !c->value);
  size_t growths = 0;
  for (size_t n = 1; n < 100000; n++) {
    size_t rows = c->row_capacity, features = c->feature_capacity;
    assert_int_equal(fw_container_reserve(c, n, 2 * n, n == 5000 ? VALUE : 0, NULL), FURROW_OK);
    assert_true(c->row_capacity == rows || c->row_capacity >= rows + rows / 2);
    assert_true(c->feature_capacity == features || c->feature_capacity >= features + features / 2);
    growths += c->row_capacity != rows;
    assert_int_equal(c->value != NULL, n >= 5000);
    if (c->value) ((float *)c->value)[2 * n - 1] = 1;
    c->offset[n] = n;
  }
  assert_true(growths < 30);
  for (size_t n = 0; n < 100000; n++) assert_int_equal(c->offset[n], n);
  size_t rows = c->row_capacity;
  assert_int_equal(fw_container_reserve(c, SIZE_MAX, 0, 0, NULL), FURROW_E_MEMORY);
  assert_int_equal(fw_container_reserve(c, 0, SIZE_MAX / 2, 0, NULL), FURROW_E_MEMORY);
  assert_int_equal(c->row_capacity, rows);
  furrow_container_free(c);
}

static void memory_cost_is_that_of_the_columns(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_container *c = create(key_type, value_type);
    const furrow_rowblock block = sample_make(&s, 2, 9, key_type, value_type, LABEL | WEIGHT | VALUE);
    push(c, &block);
    assert_int_equal(furrow_container_memory_cost(c), furrow_rowblock_memory_cost(&block) + 8);
    furrow_container_clear(c);
    assert_int_equal(furrow_container_memory_cost(c), 8);
    furrow_container_free(c);
  }
}

static void columns_that_disagree_are_noticed(void **state) {
  (void)state;
  sample_block s;
  furrow_rowblock block = sample_make(&s, 2, 9, FURROW_KEY_U32, FURROW_VALUE_F32, LABEL), seen = {.size = 5};
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  push(c, &block);
  c->features++;
  assert_int_equal(furrow_container_get_block(c, &seen, NULL), FURROW_E_STATE);
  c->features--;
  c->has_qid = true;
  assert_int_equal(furrow_container_get_block(c, &seen, NULL), FURROW_E_STATE);
  assert_int_equal(seen.size, 5);
  c->has_qid = false;
  seen = get_block(c);
  assert_same_block(&seen, &block);
  furrow_container_free(c);
}

/* ---- Out of memory -------------------------------------------------------------------------------------- */

/* Every allocation of a push fails in turn: the container stays as it was, nothing is lost. */
static void a_push_without_memory_changes_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static sample_block first, second;
  FOR_ALL_TYPES(key_type, value_type) {
    const furrow_rowblock a = sample_make(&first, 1, 20, key_type, value_type, LABEL);
    const furrow_rowblock b = sample_make(&second, 2, SAMPLE_ROWS, key_type, value_type, 31);
    long live = atomic_load(&alloc_live), n = 0;
    furrow_status status = FURROW_E_MEMORY;
    while (status == FURROW_E_MEMORY) {
      furrow_container *c = create(key_type, value_type);
      push(c, &a);
      snapshot before = take_snapshot(c);
      furrow_error err = {.status = FURROW_OK};
      alloc_fail_at(++n);
      status = furrow_container_push_block(c, &b, &err);
      assert_int_equal(atomic_load(&alloc_failed), status != FURROW_OK);
      alloc_fail_at(0);
      if (status == FURROW_OK) furrow_container_free(before.copy);
      if (status != FURROW_OK) {
        assert_int_equal(err.status, FURROW_E_MEMORY);
        assert_unchanged(c, before);
        push(c, &b); /* and can be pushed again */
      }
      const furrow_rowblock all = get_block(c);
      assert_same_rows(&all, 0, &a, 0, a.size);
      assert_same_rows(&all, a.size, &b, 0, b.size);
      furrow_container_free(c);
      assert_int_equal(atomic_load(&alloc_live), live);
    }
    assert_int_equal(status, FURROW_OK);
    assert_true(n > 7); /* seven columns, then none */
  }
}

static void a_container_needs_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_container *c = NULL;
  alloc_fail_at(1);
  assert_int_equal(furrow_container_create(&c, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_E_MEMORY);
  alloc_fail_at(0);
  assert_null(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_container_is_an_empty_block),
      cmocka_unit_test(what_is_pushed_comes_out),
      cmocka_unit_test(maxima_are_those_of_all_rows),
      cmocka_unit_test(the_maximum_is_found_at_every_place),
      cmocka_unit_test(columns_that_only_some_rows_have_are_filled),
      cmocka_unit_test(rows_without_features_bring_no_feature_columns),
      cmocka_unit_test(no_rows_change_nothing),
      cmocka_unit_test(values_convert_only_exactly),
      cmocka_unit_test(indices_convert_only_exactly),
      cmocka_unit_test(a_failed_push_changes_nothing),
      cmocka_unit_test(labels_are_for_all_rows_or_none),
      cmocka_unit_test(blocks_that_cannot_be_are_refused),
      cmocka_unit_test(columns_have_slack_behind_them),
      cmocka_unit_test(capacity_grows_by_half_and_only_where_asked),
      cmocka_unit_test(memory_cost_is_that_of_the_columns),
      cmocka_unit_test(columns_that_disagree_are_noticed),
      cmocka_unit_test(a_push_without_memory_changes_nothing),
      cmocka_unit_test(a_container_needs_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
