/* tests/unit/learn/test_minibatch.c: rows into mini-batches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/conf/conf.h"
#include "learn/data/features.h"
#include "learn/data/minibatch.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/sample_block.h"

static furrow_error err;
static const fw_data_conf plain_data = {.label = FW_LABEL_NONE, .has_label = true};

static fw_batcher *new_batcher(const fw_batcher_params *rules) {
  fw_batcher *batcher = NULL;
  assert_int_equal(fw_batcher_create(&batcher, rules, &err), FURROW_OK);
  return batcher;
}

static fw_minibatch *batch_of(fw_batcher *batcher, const furrow_rowblock *block) {
  fw_minibatch *batch = NULL;
  fw_batcher_start(batcher);
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    assert_int_equal(fw_batcher_add(batcher, &row, &err), FURROW_OK);
  }
  assert_int_equal(fw_batcher_finish(batcher, &batch, &err), FURROW_OK);
  return batch;
}

static furrow_status status_of(const fw_batcher_params *rules, const furrow_rowblock *block, size_t i) {
  fw_batcher *batcher = new_batcher(rules);
  const furrow_row row = furrow_rowblock_row(block, i);
  fw_batcher_start(batcher);
  furrow_status status = fw_batcher_add(batcher, &row, &err);
  fw_batcher_free(batcher);
  return status;
}

/* ---- Sparse rows ---------------------------------------------------------------------------------------- */

/* Everything that a batch says, held against the rows. */
static void check_batch(const fw_minibatch *batch, const furrow_rowblock *block) {
  size_t use = 0, features = 0;
  assert_int_equal(batch->rows, block->size);
  assert_int_equal(batch->offset[0], 0);
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    assert_true(batch->label[i] == (float)furrow_row_get_label(&row));
    assert_true((batch->weight ? batch->weight[i] : 1) == furrow_row_get_weight(&row));
    for (size_t k = 0; k < row.length; k++, use++) {
      const uint32_t number = batch->feature[use];
      assert_true(number <= features); /* numbers in order of first appearance */
      features += number == features;
      assert_int_equal(batch->key[number], furrow_row_get_index(&row, k));
      assert_true((batch->value ? batch->value[use] : 1) == (float)furrow_row_get_value(&row, k));
    }
    assert_int_equal(batch->offset[i + 1], use);
  }
  assert_int_equal(batch->uses, use);
  assert_int_equal(batch->features, features);
  assert_int_equal(batch->use_offset[0], 0);
  assert_int_equal(batch->use_offset[features], use);
  for (size_t f = 0; f < features; f++) {
    assert_true(batch->use_offset[f] < batch->use_offset[f + 1]);
    for (uint32_t u = batch->use_offset[f]; u < batch->use_offset[f + 1]; u++) {
      bool found = false;
      for (uint32_t i = batch->offset[batch->use_row[u]]; i < batch->offset[batch->use_row[u] + 1]; i++)
        found |= batch->feature[i] == f;
      assert_true(found);
      assert_true(u == batch->use_offset[f] || batch->use_row[u - 1] <= batch->use_row[u]);
      if (!batch->use) continue;
      assert_int_equal(batch->feature[batch->use[u]], f);
      assert_in_range(batch->use[u], batch->offset[batch->use_row[u]], batch->offset[batch->use_row[u] + 1] - 1);
      assert_true(u == batch->use_offset[f] || batch->use[u - 1] < batch->use[u]);
      assert_int_equal(batch->use_place[u], batch->place ? batch->place[batch->use[u]] : batch->use[u]);
    }
  }
  for (size_t f = 1; f < features; f++)
    for (size_t g = 0; g < f; g++) assert_int_not_equal(batch->key[f], batch->key[g]);
}

static void rows_of_all_types_get_local_ids(void **state) {
  (void)state;
  static sample_block s;
  const fw_batcher_params rules = {.data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  FOR_ALL_TYPES(key_type, value_type) {
    for (unsigned columns = FW_COLUMN_LABEL; columns < 32; columns += 2) {
      for (size_t rows = 0; rows <= SAMPLE_ROWS; rows += 16) {
        const furrow_rowblock block = sample_make(&s, columns + rows, rows, key_type, value_type, columns);
        const fw_minibatch *batch = batch_of(batcher, &block);
        check_batch(batch, &block);
        assert_null(batch->place);
        assert_null(batch->x);
        assert_int_equal(batch->weight != NULL, (columns & FW_COLUMN_WEIGHT) && rows);
      }
    }
  }
  fw_batcher_free(batcher);
}

static void many_features_get_local_ids(void **state) {
  (void)state;
  enum { ROWS = 400, EACH = 50 };
  static uint64_t offset[ROWS + 1], index[ROWS * EACH];
  static float label[ROWS];
  uint64_t seed = 7;
  for (size_t i = 0; i < ROWS * EACH; i++) /* keys that differ in high bits alone, small ones, and random ones */
    index[i] = i % 3 == 0 ? sample_random(&seed) % 3000 << 48 : i % 3 == 1 ? i % 500 : sample_random(&seed);
  for (size_t i = 0; i <= ROWS; i++) offset[i] = i * EACH;
  const furrow_rowblock block = {.size = ROWS,
                                 .offset = offset,
                                 .label.f32 = label,
                                 .index.u64 = index,
                                 .key_type = FURROW_KEY_U64,
                                 .value_type = FURROW_VALUE_F32};
  const fw_batcher_params rules = {.data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  for (int round = 0; round < 2; round++) { /* the second with a table and arrays that have grown */
    const fw_minibatch *batch = batch_of(batcher, &block);
    assert_true(batch->features > 5000);
    check_batch(batch, &block);
    assert_null(batch->value);
  }
  fw_batcher_free(batcher);
}

/* A known range has an array, which batchers share; beyond its limit a table does the same. */
static void known_ranges_get_local_ids(void **state) {
  (void)state;
  enum { ROWS = 300, EACH = 20, ROUNDS = 6 };
  static uint64_t offset[ROWS + 1];
  static uint32_t index[ROWS * EACH];
  static float label[ROWS], value[ROWS * EACH];
  const uint64_t ranges[] = {700, 1 << 22, (1 << 22) + 1};
  uint64_t seed = 3;
  for (size_t i = 0; i <= ROWS; i++) offset[i] = i * EACH;
  for (size_t r = 0; r < 3; r++) {
    fw_batcher_params rules = {.range = ranges[r], .data = &plain_data};
    fw_batcher *first = new_batcher(&rules);
    rules.beside = first;
    fw_batcher *second = new_batcher(&rules);
    for (int round = 0; round < ROUNDS; round++) { /* what the other numbered before does not count */
      for (size_t i = 0; i < ROWS * EACH; i++) index[i] = (uint32_t)(sample_random(&seed) % ranges[r] >> i % 8);
      for (size_t i = 0; i < ROWS * EACH; i++) value[i] = round == 3 && i > 777 ? (float)(i % 3) : 1;
      index[round] = (uint32_t)(ranges[r] - 1);
      const furrow_rowblock block = {.size = ROWS,
                                     .offset = offset,
                                     .label.f32 = label,
                                     .index.u32 = index,
                                     .value.f32 = value,
                                     .key_type = FURROW_KEY_U32,
                                     .value_type = FURROW_VALUE_F32};
      const fw_minibatch *batch = batch_of(round % 2 ? second : first, &block);
      check_batch(batch, &block);
      assert_int_equal(batch->value != NULL, round == 3);
      assert_int_equal(batch->use != NULL, round == 3);
    }
    fw_batcher_free(second);
    fw_batcher_free(first);
  }
}

static void uses_need_not_be_listed(void **state) {
  (void)state;
  static sample_block s;
  const furrow_rowblock block = sample_make(&s, 5, 20, FURROW_KEY_U32, FURROW_VALUE_F32, 31);
  fw_batcher_params rules = {.data = &plain_data};
  fw_batcher *listing = new_batcher(&rules);
  rules.unlisted = true;
  fw_batcher *batcher = new_batcher(&rules);
  const fw_minibatch *batch = batch_of(batcher, &block), *listed = batch_of(listing, &block);
  assert_null(batch->use_offset);
  assert_null(batch->use_row);
  assert_int_equal(batch->features, listed->features);
  assert_memory_equal(batch->feature, listed->feature, batch->uses * sizeof *batch->feature);
  fw_batcher_free(batcher);
  fw_batcher_free(listing);
}

static void plain_batches_list_every_use(void **state) {
  (void)state;
  static sample_block s;
  const furrow_rowblock block = sample_make(&s, 5, 20, FURROW_KEY_U32, FURROW_VALUE_F32, 31);
  const fw_batcher_params rules = {.plain = true, .range = 10, .data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  const fw_minibatch *batch =
      batch_of(batcher, &block); /* features beyond the range are accepted where rows are scored */
  assert_int_equal(batch->features, batch->uses);
  for (size_t use = 0; use < batch->uses; use++) {
    assert_int_equal(batch->feature[use], use);
    assert_int_equal(batch->key[use], block.index.u32[block.offset[0] + use]);
  }
  fw_batcher_free(batcher);
}

/* ---- Slots ---------------------------------------------------------------------------------------------- */

static const uint64_t three_offsets[] = {0, 3, 6, 9};
static const float three_labels[] = {1, -1, 1};
static const uint32_t three_index[] = {2, 5, 9, 8, 1, 4, 7, 7, 3}, three_field[] = {2, 0, 2, 1, 1, 0, 0, 1, 2};
static const furrow_rowblock three = {.size = 3,
                                      .offset = three_offsets,
                                      .label.f32 = three_labels,
                                      .index.u32 = three_index,
                                      .field.u32 = three_field,
                                      .key_type = FURROW_KEY_U32,
                                      .value_type = FURROW_VALUE_F32};

static void slots_are_features_by_id(void **state) {
  (void)state;
  static const uint32_t positions[] = {0, 1, 2, 5, 3, 4, 7, 8, 6};
  const fw_batcher_params rules = {.slots = 3, .data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  const fw_minibatch *batch = batch_of(batcher, &three);
  assert_memory_equal(batch->place, positions, sizeof positions);
  check_batch(batch, &three);
  furrow_rowblock first = three;
  first.size = 1;
  assert_null(batch_of(batcher, &first)->place); /* use i is at i */
  fw_batcher_free(batcher);
}

/* Rows of 3, 0, 2 and 1 features in any order: the first slots are taken, by ascending id. */
static void slots_stay_empty(void **state) {
  (void)state;
  static const uint64_t offsets[] = {0, 3, 3, 5, 6, 6};
  static const uint32_t index[] = {2, 5, 9, 8, 1, 4}, positions[] = {0, 1, 2, 7, 6, 9};
  static const float labels[] = {1, -1, 1, -1, 1};
  const furrow_rowblock rows = {.size = 5,
                                .offset = offsets,
                                .label.f32 = labels,
                                .index.u32 = index,
                                .key_type = FURROW_KEY_U32,
                                .value_type = FURROW_VALUE_F32};
  fw_data_conf data = plain_data;
  data.short_rows = true;
  const fw_batcher_params rules = {.slots = 3, .data = &data}, fewer = {.slots = 2, .data = &data};
  fw_batcher *batcher = new_batcher(&rules);
  const fw_minibatch *batch = batch_of(batcher, &rows);
  assert_memory_equal(batch->place, positions, sizeof positions);
  check_batch(batch, &rows);
  furrow_rowblock empty = rows; /* the last row alone */
  empty.size = 1;
  empty.offset = offsets + 4;
  batch = batch_of(batcher, &empty);
  assert_int_equal(batch->uses, 0);
  fw_batcher_free(batcher);
  static const uint32_t shared[] = {0, 1, 1, 5, 4, 6}; /* the third feature of the first row has the second's slot */
  batcher = new_batcher(&fewer);
  assert_memory_equal(batch_of(batcher, &rows)->place, shared, sizeof shared);
  fw_batcher_free(batcher);
}

static void slots_are_fields(void **state) {
  (void)state;
  static const uint32_t positions[] = {2, 0, 2, 4, 4, 3, 6, 7, 8};
  const fw_batcher_params rules = {.slots = 3, .by_field = true, .data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  assert_memory_equal(batch_of(batcher, &three)->place, positions, sizeof positions);
  fw_batcher_free(batcher);
}

/* ---- Dense rows ----------------------------------------------------------------------------------------- */

static void dense_rows_are_columns(void **state) {
  (void)state;
  static const float values[] = {0.5F, 1, 2, 3, 4, 5, 6, 7, 8};
  furrow_rowblock block = three;
  block.value.f32 = values;
  const fw_batcher_params rules = {.dense = true, .range = 10, .data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  const fw_minibatch *batch = batch_of(batcher, &block);
  static const float rows[3][10] = {
      {0, 0, 0.5F, 0, 0, 1, 0, 0, 0, 2}, {0, 4, 0, 0, 5, 0, 0, 0, 3, 0}, {0, 0, 0, 8, 0, 0, 0, 13, 0, 0}};
  assert_int_equal(batch->columns, 10);
  assert_memory_equal(batch->x, rows, sizeof rows);
  assert_null(batch->offset);
  fw_batcher_free(batcher);
  fw_batcher *none = NULL;
  const fw_batcher_params open = {.dense = true, .data = &plain_data};
  assert_int_equal(fw_batcher_create(&none, &open, &err), FURROW_E_ARGUMENT);
}

/* ---- Labels, rules -------------------------------------------------------------------------------------- */

static void labels_are_transformed(void **state) {
  (void)state;
  static const struct {
    fw_label_transform transform;
    double threshold;
    float labels[4];
  } cases[] = {{FW_LABEL_NONE, 0, {-1, 0, 1, 3}},      {FW_LABEL_POS_NEG, 0, {-1, -1, 1, 1}},
               {FW_LABEL_POS_NEG, 1, {-1, -1, -1, 1}}, {FW_LABEL_ZERO_ONE, 0.5, {0, 0, 1, 1}},
               {FW_LABEL_ADD_ONE, 0, {0, 1, 2, 4}},    {FW_LABEL_SUB_ONE, 0, {-2, -1, 0, 2}}};
  static const float given[] = {-1, 0, 1, 3};
  static const uint64_t offset[] = {0, 0, 0, 0, 0};
  furrow_rowblock block = {.size = 4, .offset = offset, .label.f32 = given};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const fw_data_conf data = {.label = cases[i].transform, .threshold = cases[i].threshold, .has_label = true};
    const fw_batcher_params rules = {.data = &data};
    fw_batcher *batcher = new_batcher(&rules);
    assert_memory_equal(batch_of(batcher, &block)->label, cases[i].labels, sizeof given);
    fw_batcher_free(batcher);
  }
  const fw_batcher_params rules = {.data = &plain_data};
  fw_batcher *batcher = new_batcher(&rules);
  block.label.any = NULL;
  assert_true(isnan(batch_of(batcher, &block)->label[2]));
  fw_batcher_free(batcher);
}

static void rows_that_do_not_fit_are_refused(void **state) {
  (void)state;
  const fw_graph binary = {.loss = FW_LOSS_LOG, .outputs = 1}, classes = {.loss = FW_LOSS_SOFTMAX, .outputs = 2};
  const fw_batcher_params range = {.range = 9, .data = &plain_data},
                          dense = {.dense = true, .range = 9, .data = &plain_data},
                          wide = {.range = 10, .data = &plain_data}, slots = {.slots = 4, .data = &plain_data},
                          fields = {.slots = 2, .by_field = true, .data = &plain_data},
                          labels = {.data = &plain_data, .graph = &binary},
                          class = {.data = &plain_data, .graph = &classes};
  assert_int_equal(status_of(&range, &three, 0), FURROW_E_RANGE);
  assert_string_equal(err.message, "feature 9 is beyond the model's range of 9 features");
  assert_int_equal(status_of(&range, &three, 1), FURROW_OK);
  assert_int_equal(status_of(&dense, &three, 0), FURROW_E_RANGE);
  assert_int_equal(status_of(&wide, &three, 0), FURROW_OK);
  assert_int_equal(status_of(&slots, &three, 0), FURROW_E_RANGE);
  assert_string_equal(err.message, "the row has 3 features where the model takes 4");
  assert_int_equal(status_of(&fields, &three, 0), FURROW_E_RANGE);
  assert_string_equal(err.message, "field 2 is beyond the model's 2 fields");
  assert_int_equal(status_of(&fields, &three, 1), FURROW_OK);
  furrow_rowblock without = three;
  without.field.any = NULL;
  assert_int_equal(status_of(&fields, &without, 1), FURROW_E_RANGE);
  assert_int_equal(status_of(&labels, &three, 1), FURROW_OK);
  assert_int_equal(status_of(&class, &three, 0), FURROW_OK);
  assert_int_equal(status_of(&class, &three, 1), FURROW_E_RANGE); /* -1 is not a class */
  without.label.any = NULL;
  assert_int_equal(status_of(&labels, &without, 0), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "the row has no label"));
}

static void weights_that_are_none_are_refused(void **state) {
  (void)state;
  static const struct {
    float weight;
    const char *message; /* NULL: it is taken */
  } cases[] = {{0, NULL},
               {2.5F, NULL},
               {-3, "the row's weight is -3"},
               {NAN, "the row's weight is nan"},
               {INFINITY, "the row's weight is inf"}};
  const fw_batcher_params rules = {.data = &plain_data};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float weights[] = {1, cases[i].weight, 1};
    furrow_rowblock block = three;
    block.weight = weights;
    assert_int_equal(status_of(&rules, &block, 0), FURROW_OK);
    assert_int_equal(status_of(&rules, &block, 1), cases[i].message ? FURROW_E_RANGE : FURROW_OK);
    if (cases[i].message) assert_string_equal(err.message, cases[i].message);
  }
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

static furrow_status make_batches(const fw_batcher_params *rules, const furrow_rowblock *block) {
  fw_batcher *batcher = NULL;
  furrow_status status = fw_batcher_create(&batcher, rules, &err);
  fw_minibatch *batch = NULL;
  for (size_t rows = 1; status == FURROW_OK && rows <= block->size; rows *= 8) {
    fw_batcher_start(batcher);
    for (size_t i = 0; status == FURROW_OK && i < rows; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      status = fw_batcher_add(batcher, &row, &err);
    }
    if (status == FURROW_OK) status = fw_batcher_finish(batcher, &batch, &err);
  }
  fw_batcher_free(batcher);
  return status;
}

static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static sample_block s;
  const furrow_rowblock block = sample_make(&s, 3, 64, FURROW_KEY_U32, FURROW_VALUE_F32, 31);
  const fw_batcher_params rules[] = {{.data = &plain_data}, {.dense = true, .range = 1000, .data = &plain_data}};
  for (size_t r = 0; r < 2; r++) {
    furrow_status status = FURROW_E_MEMORY;
    for (long n = 1; status != FURROW_OK; n++) {
      const long live = alloc_live;
      alloc_fail_at(n);
      status = make_batches(&rules[r], &block);
      assert_int_equal(status, alloc_failed ? FURROW_E_MEMORY : FURROW_OK);
      alloc_fail_at(0);
      assert_int_equal(alloc_live, live);
    }
  }
}

/* ---- Hashes of keys: chosen keys do not meet in one slot, whatever the seed is ---- */

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
  const uint64_t seeds[] = {fw_hash_seed(), 1, 0x123456789abcdef1, UINT64_MAX};
  assert_true(inverse * UINT64_C(0x9e3779b97f4a7c15) == 1);
  for (int kind = 0; kind < 4; kind++) {
    for (uint64_t i = 0; i < KEYS; i++)
      keys[i] = kind == 0 ? i : kind == 1 ? i * inverse : kind == 2 ? i << 48 : i * 4096;
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) assert_in_range(fullest(keys, seeds[s]), 1, 16);
  }
}

static void the_seed_stays(void **state) {
  (void)state;
  assert_true(fw_hash_seed() != 0);
  assert_true(fw_hash_seed() == fw_hash_seed());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_spread),
      cmocka_unit_test(the_seed_stays),
      cmocka_unit_test(rows_of_all_types_get_local_ids),
      cmocka_unit_test(many_features_get_local_ids),
      cmocka_unit_test(known_ranges_get_local_ids),
      cmocka_unit_test(uses_need_not_be_listed),
      cmocka_unit_test(plain_batches_list_every_use),
      cmocka_unit_test(slots_are_features_by_id),
      cmocka_unit_test(slots_stay_empty),
      cmocka_unit_test(slots_are_fields),
      cmocka_unit_test(dense_rows_are_columns),
      cmocka_unit_test(labels_are_transformed),
      cmocka_unit_test(rows_that_do_not_fit_are_refused),
      cmocka_unit_test(weights_that_are_none_are_refused),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
