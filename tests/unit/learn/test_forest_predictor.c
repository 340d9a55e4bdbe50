/* tests/unit/learn/test_forest_predictor.c: rows through packed trees, against walks by the definition. */
#include "learn/forest/forest.h"

#include <float.h>

#include "support/each_isa.h"
#include "support/failing_alloc.h"
#include "support/made_forest.h"

static furrow_error err;

enum { ROWS = 300, MOST = 24 };

/* Rows of up to MOST features: absent ones, NaN, infinities, some twice, values of the forest's own nodes. */
typedef struct made_rows {
  uint64_t offset[ROWS + 1];
  uint32_t index32[ROWS * MOST];
  uint64_t index64[ROWS * MOST];
  float value[ROWS * MOST];
  int32_t whole[ROWS * MOST];
  furrow_rowblock block;
} made_rows;

static float made_number(fw_rng *rng, const fw_forest *f) {
  switch (fw_rng_below(rng, 12)) {
  case 0: return NAN;
  case 1: return 0;
  case 2: return fw_rng_below(rng, 2) ? INFINITY : -INFINITY;
  case 3:
  case 4:
  case 5: return f->trees > 0 ? (float)f->value[fw_rng_below(rng, f->trees * f->nodes)] : 1;
  default: return (float)fw_rng_normal(rng);
  }
}

static made_rows *make_rows(const fw_forest *f, uint64_t features, uint64_t seed) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  made_rows *rows = calloc(1, sizeof *rows);
  size_t at = 0;
  for (size_t r = 0; r < ROWS; r++) {
    for (size_t n = fw_rng_below(&rng, MOST + 1); n > 0; n--, at++) {
      rows->index64[at] = fw_rng_below(&rng, features + features / 4 + 1); /* some that no node can ask for */
      rows->index32[at] = (uint32_t)rows->index64[at];
      rows->value[at] = made_number(&rng, f);
      rows->whole[at] = (int32_t)fw_rng_below(&rng, 5) - 2;
    }
    rows->offset[r + 1] = at;
  }
  rows->block = (furrow_rowblock){.size = ROWS,
                                  .offset = rows->offset,
                                  .index.u32 = rows->index32,
                                  .value.f32 = rows->value,
                                  .key_type = FURROW_KEY_U32,
                                  .value_type = FURROW_VALUE_F32};
  return rows;
}

/* ---- By the definition ---- */

static double value_of(const furrow_row *row, int32_t feature) {
  for (size_t i = 0; i < row->length; i++)
    if (furrow_keys_get(row->index, row->key_type, i) == (uint64_t)feature)
      return row->value.any ? furrow_values_get(row->value, row->value_type, i) : 1;
  return NAN;
}

static size_t leaf_of(const fw_forest *f, size_t tree, const furrow_row *row) {
  size_t node = 0;
  while (f->feature[tree * f->nodes + node] >= 0) {
    const size_t at = tree * f->nodes + node;
    const double x = value_of(row, f->feature[at]);
    const bool angels_rule = 0 <= f->value[at];
    const bool left = isnan(x) ? angels_rule != (f->missing_flipped[at] == 1) : x <= f->value[at];
    node = 2 * node + (left ? 1 : 2);
  }
  return node;
}

static void assert_scores(const fw_forest *f, double rate, const furrow_row *row, const double *out) {
  double wanted[8] = {0};
  for (size_t tree = 0; tree < f->trees; tree++)
    wanted[tree % f->classes] += rate * f->predict[tree * f->nodes + leaf_of(f, tree, row)];
  assert_memory_equal(out, wanted, f->classes * sizeof *out);
}

/* Blocks of every length up to what is more than one block of the walker, and rows one by one. */
static void assert_predicts(const fw_forest *f, const furrow_rowblock *block) {
  fw_forest_predictor *predictor = NULL;
  fw_predict_scratch *space = NULL;
  double *out = calloc(ROWS * f->classes, sizeof *out), one[8];
  assert_int_equal(fw_forest_predictor_create(&predictor, f, 0.3, &err), FURROW_OK);
  assert_int_equal(fw_predict_scratch_create(&space, predictor, &err), FURROW_OK);
  for (size_t begin = 0; begin < ROWS; begin += 1 + begin * 3) {
    for (size_t end = ROWS; end > begin; end = begin + (end - begin) / 2) {
      fw_forest_predict_rows(predictor, space, block, begin, end, out);
      for (size_t r = begin; r < end; r++) {
        const furrow_row row = furrow_rowblock_row(block, r);
        assert_scores(f, 0.3, &row, out + (r - begin) * f->classes);
      }
    }
  }
  for (size_t r = 0; r < ROWS; r++) {
    const furrow_row row = furrow_rowblock_row(block, r);
    fw_forest_predict_row(predictor, space, &row, one);
    assert_scores(f, 0.3, &row, one);
  }
  free(out);
  fw_predict_scratch_free(space);
  fw_forest_predictor_free(predictor);
}

static const made_params kinds[] = {
    {.classes = 1, .rounds = 100, .levels = 7, .features = 28, .split = 0.95},
    {.classes = 1, .rounds = 30, .levels = 7, .features = 28, .split = 0.9, .missing_flipped = true},
    {.classes = 3, .rounds = 7, .levels = 5, .features = 40, .split = 0.8, .missing_flipped = true},
    {.classes = 8, .rounds = 2, .levels = 3, .features = 3, .split = 0.7, .missing_flipped = true},
    {.classes = 1, .rounds = 9, .levels = 1, .features = 1}, /* leaves alone */
    {.classes = 1, .rounds = 4, .levels = 14, .features = 12, .split = 0.97, .missing_flipped = true},  /* deep */
    {.classes = 1, .rounds = 0, .levels = 4, .features = 12},                                           /* no tree */
    {.classes = 2, .rounds = 20, .levels = 6, .features = 5000, .split = 0.9, .missing_flipped = true}, /* wide rows */
    {.classes = 1,
     .rounds = 20,
     .levels = 6,
     .features = 1u << 30,
     .split = 0.9,
     .missing_flipped = true}, /* large numbers */
};

static void rows_come_to_their_leaves(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    fw_forest *f = made_forest(&kinds[i], 10 + i);
    made_rows *rows = make_rows(f, kinds[i].features, 20 + i);
    assert_predicts(f, &rows->block);
    rows->block.index = (furrow_keys){.u64 = rows->index64};
    rows->block.key_type = FURROW_KEY_U64;
    assert_predicts(f, &rows->block);
    rows->block.value = (furrow_values){.i32 = rows->whole};
    rows->block.value_type = FURROW_VALUE_I32;
    assert_predicts(f, &rows->block);
    rows->block.value = (furrow_values){0};
    assert_predicts(f, &rows->block);
    free(rows);
    fw_forest_free(f);
  }
}

/* Rows that have features which nodes do ask for, where those are large and few. */
static void large_features_are_found(void **state) {
  (void)state;
  fw_forest *f = made_forest(&kinds[8], 3);
  made_rows *rows = make_rows(f, kinds[8].features, 4);
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t i = 0; i < rows->offset[ROWS]; i++) {
    const int32_t feature = f->feature[fw_rng_below(&rng, f->trees * f->nodes)];
    if (feature >= 0) rows->index32[i] = (uint32_t)feature;
  }
  assert_predicts(f, &rows->block);
  free(rows);
  fw_forest_free(f);
}

/* One node: which way a value goes, at the split value and next to it, and at those that no float is. */
static void a_split_value_is_exact(void **state) {
  (void)state;
  const double values[] = {0,      -0.0,  1,      0.1,  -0.1,    1e-300,   -1e-300, 1e300,
                           -1e300, 1e-40, 3.4e38, 0.3f, FLT_MAX, -FLT_MAX, 16777217};
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 1, 2, false, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 1, &err), FURROW_OK);
  f->predict[1] = 1;
  f->predict[2] = 2;
  f->feature[0] = 5;
  for (size_t i = 0; i < 4 * sizeof values / sizeof *values; i++) {
    f->value[0] = values[i / 4];
    f->missing_flipped[0] = i & 1;
    fw_forest_predictor *predictor = NULL;
    fw_predict_scratch *space = NULL;
    assert_int_equal(fw_forest_predictor_create(&predictor, f, 1, &err), FURROW_OK);
    assert_int_equal(fw_predict_scratch_create(&space, predictor, &err), FURROW_OK);
    const float near = (float)f->value[0];
    const float xs[] = {near, nextafterf(near, INFINITY), nextafterf(near, -INFINITY), INFINITY, -INFINITY, NAN, 0};
    for (size_t j = 0; j < sizeof xs / sizeof *xs; j++) {
      const uint32_t index = i & 2 ? 5 : 6; /* the feature, or one that no node asks for */
      const furrow_row row = {.length = 1, .index.u32 = &index, .value.f32 = &xs[j]};
      double out = 0;
      fw_forest_predict_row(predictor, space, &row, &out);
      assert_scores(f, 1, &row, &out);
    }
    fw_predict_scratch_free(space);
    fw_forest_predictor_free(predictor);
  }
  fw_forest_free(f);
}

static void memory_that_runs_out_is_told(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t i = 7; i < 9; i++) {
    fw_forest *f = made_forest(&kinds[i], 3);
    const long live = alloc_live;
    for (long n = 1;; n++) {
      fw_forest_predictor *predictor = NULL;
      fw_predict_scratch *space = NULL;
      alloc_fail_at(n);
      furrow_status status = fw_forest_predictor_create(&predictor, f, 1, &err);
      if (status == FURROW_OK) status = fw_predict_scratch_create(&space, predictor, &err);
      const bool failed = alloc_failed;
      alloc_fail_at(0);
      assert_true(status == FURROW_OK || (failed && status == FURROW_E_MEMORY)); /* qsort does without memory */
      fw_predict_scratch_free(space);
      fw_forest_predictor_free(predictor);
      assert_int_equal(alloc_live, live);
      if (!failed) break;
    }
    fw_forest_free(f);
  }
}

static int run(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_come_to_their_leaves), cmocka_unit_test(large_features_are_found),
      cmocka_unit_test(a_split_value_is_exact), cmocka_unit_test(memory_that_runs_out_is_told)};
  return cmocka_run_group_tests_name("walker", tests, NULL, NULL);
}

int main(void) {
  return each_isa(run);
}
