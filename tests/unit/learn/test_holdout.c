/* tests/unit/learn/test_holdout.c: which rows are held out: shares of classes, folds, seeds. */
#include <math.h>

#include "learn/data/samples.h"
#include "support/cmocka_all.h"

static furrow_error err;

enum { ROWS = 1000 };

static float labels[ROWS];

static furrow_rowblock block_of(size_t rows) {
  static uint64_t offset[ROWS + 1];
  return (furrow_rowblock){
      .size = rows, .offset = offset, .label.f32 = labels, .key_type = FURROW_KEY_U32, .value_type = FURROW_VALUE_F32};
}

static fw_holdout held_out(const furrow_rowblock *rows, bool by_class, unsigned folds, double ratio, uint64_t seed) {
  fw_holdout holdout;
  const fw_holdout_params params = {
      .unit = by_class ? FW_HOLD_OF_CLASSES : FW_HOLD_ROWS, .folds = folds, .ratio = ratio, .seed = seed};
  assert_int_equal(fw_holdout_init(&holdout, rows, &params, &err), FURROW_OK);
  uint64_t counted[FW_FOLDS_MAX + 1] = {0};
  for (size_t i = 0; i < rows->size; i++) counted[holdout.fold_of[i]]++;
  assert_memory_equal(counted, holdout.rows, sizeof counted);
  return holdout;
}

static size_t count(const fw_holdout *holdout, size_t rows, float label, unsigned fold) {
  size_t n = 0;
  for (size_t i = 0; i < rows; i++) n += labels[i] == label && holdout->fold_of[i] == fold;
  return n;
}

/* Sorted files: all rows of a class stand together. Every class gives its share to within one row. */
static void shares_of_classes(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) labels[i] = i < 700 ? -1.F : i < 960 ? 4.F : i < 990 ? 9.F : 11.F;
  const furrow_rowblock rows = block_of(ROWS);
  static const double ratios[] = {0.15, 0.2, 0.5, 0.013};
  for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
    fw_holdout holdout = held_out(&rows, true, 1, ratios[r], 1);
    const float classes[] = {-1, 4, 9, 11};
    const double of[] = {700, 260, 30, 10};
    for (size_t c = 0; c < 4; c++) {
      const double wanted = ratios[r] * of[c], found = (double)count(&holdout, ROWS, classes[c], 0);
      assert_true(found >= wanted - 1 && found <= wanted + 1);
    }
    assert_int_equal(holdout.rows[0], (uint64_t)(ratios[r] * ROWS + 0.5));
    fw_holdout_clear(&holdout);
  }
}

/* Not the first rows of a class, nor every n-th one. */
static void rows_are_drawn(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) labels[i] = i < 500 ? 0 : 1;
  const furrow_rowblock rows = block_of(ROWS);
  fw_holdout holdout = held_out(&rows, true, 1, 0.2, 1);
  size_t early = 0, even = 0;
  for (size_t i = 0; i < 250; i++) early += holdout.fold_of[i] == 0;
  for (size_t i = 0; i < ROWS; i += 2) even += holdout.fold_of[i] == 0;
  assert_true(early > 30 && early < 70); /* of 50 expected, with a deviation of 6 */
  assert_true(even > 70 && even < 130);
  fw_holdout_clear(&holdout);
}

static void folds_are_balanced(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) labels[i] = (float)(i * 7 % 13 % 3);
  for (size_t n = ROWS - 7; n <= ROWS; n += 7) {
    const furrow_rowblock rows = block_of(n);
    for (unsigned folds = 2; folds <= 255; folds += folds < 12 ? 1 : 81) {
      fw_holdout holdout = held_out(&rows, true, folds, 0, 1);
      uint64_t least = UINT64_MAX, most = 0;
      for (unsigned fold = 0; fold < folds; fold++) {
        least = holdout.rows[fold] < least ? holdout.rows[fold] : least;
        most = holdout.rows[fold] > most ? holdout.rows[fold] : most;
        for (float c = 0; folds < 12 && c < 3; c++) {
          size_t all = 0;
          for (unsigned f = 0; f < folds; f++) all += count(&holdout, n, c, f);
          const size_t here = count(&holdout, n, c, fold);
          assert_true(here >= all / folds && here <= all / folds + 1);
        }
      }
      assert_true(most - least <= 1);
      assert_int_equal(holdout.rows[folds], 0);
      fw_holdout_clear(&holdout);
    }
  }
}

static void seeds_decide(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) labels[i] = (float)(i % 2);
  const furrow_rowblock rows = block_of(ROWS);
  fw_holdout a = held_out(&rows, true, 1, 0.3, 7), b = held_out(&rows, true, 1, 0.3, 7);
  fw_holdout c = held_out(&rows, true, 1, 0.3, 8);
  assert_memory_equal(a.fold_of, b.fold_of, ROWS);
  size_t different = 0;
  for (size_t i = 0; i < ROWS; i++) different += a.fold_of[i] != c.fold_of[i];
  assert_true(different > ROWS / 5); /* 2 * 0.3 * 0.7 are expected */
  fw_holdout_clear(&a);
  fw_holdout_clear(&b);
  fw_holdout_clear(&c);
}

/* Quantities: one class of all rows; labels that are not there or not numbers are one class, too. */
static void without_classes(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) labels[i] = (float)i;
  furrow_rowblock rows = block_of(ROWS);
  fw_holdout holdout = held_out(&rows, false, 1, 0.25, 1);
  assert_int_equal(holdout.rows[0], 250);
  fw_holdout_clear(&holdout);
  holdout = held_out(&rows, true, 1, 0.25, 1); /* classes of one row each */
  assert_int_equal(holdout.rows[0], 250);
  fw_holdout_clear(&holdout);
  for (size_t i = 0; i < ROWS; i++) labels[i] = (float)NAN;
  holdout = held_out(&rows, true, 1, 0.25, 1);
  assert_int_equal(holdout.rows[0], 250);
  fw_holdout_clear(&holdout);
  rows.label.any = NULL;
  holdout = held_out(&rows, true, 4, 0, 1);
  assert_int_equal(holdout.rows[3], 250);
  fw_holdout_clear(&holdout);
  rows.size = 0;
  holdout = held_out(&rows, true, 1, 0.25, 1);
  assert_int_equal(holdout.rows[0] + holdout.rows[1], 0);
  fw_holdout_clear(&holdout);
}

/* Rows of one feature each, whose number is `of` the row. */
static furrow_rowblock with_features(size_t (*of)(size_t row)) {
  static uint32_t index[ROWS];
  static uint64_t offset[ROWS + 1];
  for (size_t i = 0; i < ROWS; i++) {
    index[i] = (uint32_t)of(i);
    offset[i + 1] = i + 1;
    labels[i] = (float)(index[i] % 3 == 0);
  }
  furrow_rowblock rows = block_of(ROWS);
  rows.offset = offset;
  rows.index.u32 = index;
  return rows;
}

static size_t in_order(size_t row) {
  return row;
}
static size_t reversed(size_t row) {
  return ROWS - 1 - row;
}
static size_t twice(size_t row) {
  return row * 7 % (ROWS / 2);
}
static size_t often(size_t row) {
  return row % 20;
}

/* Neither the order of the rows nor copies of them decide; of a few rows that come again and again, copies count. */
static void contents_decide(void **state) {
  (void)state;
  for (unsigned folds = 1; folds <= 5; folds += 4) {
    furrow_rowblock rows = with_features(in_order);
    fw_holdout a = held_out(&rows, true, folds, 0.15, 1);
    rows = with_features(reversed);
    fw_holdout b = held_out(&rows, true, folds, 0.15, 1);
    for (size_t i = 0; i < ROWS; i++) assert_int_equal(a.fold_of[i], b.fold_of[ROWS - 1 - i]);
    fw_holdout_clear(&a);
    fw_holdout_clear(&b);
    rows = with_features(twice);
    a = held_out(&rows, true, folds, 0.15, 1);
    for (size_t i = ROWS / 2; i < ROWS; i++) assert_int_equal(a.fold_of[i], a.fold_of[i - ROWS / 2]);
    const size_t wanted = folds > 1 ? ROWS / folds : ROWS * 15 / 100;
    assert_true(a.rows[0] + 3 > wanted && a.rows[0] < wanted + 3);
    fw_holdout_clear(&a);
    rows = with_features(often);
    a = held_out(&rows, true, folds, 0.15, 1);
    bool apart = false;
    for (size_t i = 20; i < ROWS; i++) apart |= a.fold_of[i] != a.fold_of[i - 20];
    assert_true(apart);
    fw_holdout_clear(&a);
  }
}

enum { DIFFERENT = ROWS / 4 };

static size_t four_times(size_t row) {
  return row % DIFFERENT;
}

/* Rows that come four times, with either label, are observations of their own: if the two with one label were held out
 * together, only rows with the other label would be left to learn from. */
static void copies_with_other_labels(void **state) {
  (void)state;
  for (unsigned folds = 1; folds <= 5; folds += 4) {
    size_t together = 0;
    const furrow_rowblock rows = with_features(four_times);
    for (size_t i = 0; i < ROWS; i++) labels[i] = (float)(i / DIFFERENT % 2);
    fw_holdout holdout = held_out(&rows, true, folds, 0.3, 1);
    for (size_t i = 0; i < ROWS / 2; i++) together += holdout.fold_of[i] == holdout.fold_of[i + ROWS / 2];
    assert_true(together > ROWS / 20 && together < ROWS * 2 / 5); /* of 500 copies with the same label */
    fw_holdout_clear(&holdout);
    /* other labels are rare: copies stay together */
    for (size_t i = 0; i < ROWS; i++) labels[i] = (float)(i % 2 != (i < DIFFERENT && i % 20 == 0));
    holdout = held_out(&rows, true, folds, 0.3, 1);
    for (size_t i = DIFFERENT; i < ROWS; i++)
      if (i % DIFFERENT % 20 != 0) assert_int_equal(holdout.fold_of[i], holdout.fold_of[i % DIFFERENT]);
    fw_holdout_clear(&holdout);
  }
}

/* Groups whose rows are spread over the data stay whole, in a share and in folds. */
static void groups_stay_whole(void **state) {
  (void)state;
  enum { GROUPS = 97 };
  static uint64_t qid[ROWS];
  for (size_t i = 0; i < ROWS; i++) qid[i] = UINT64_MAX - i % GROUPS * 3;
  furrow_rowblock rows = block_of(ROWS);
  rows.qid = qid;
  for (unsigned folds = 1; folds <= 5; folds += 4) {
    fw_holdout holdout;
    size_t groups[6] = {0};
    const fw_holdout_params params = {.unit = FW_HOLD_GROUPS, .folds = folds, .ratio = 0.2, .seed = 1};
    assert_int_equal(fw_holdout_init(&holdout, &rows, &params, &err), FURROW_OK);
    for (size_t i = 0; i < ROWS; i++) {
      assert_int_equal(holdout.fold_of[i], holdout.fold_of[i % GROUPS]);
      if (i < GROUPS) groups[holdout.fold_of[i]]++;
    }
    assert_int_equal(groups[0], folds == 1 ? 19 : 20); /* a fifth of 97 */
    assert_true(folds == 1 || (groups[1] == 20 && groups[2] == 19 && groups[3] == 19 && groups[4] == 19));
    fw_holdout_clear(&holdout);
  }
  assert_int_equal(fw_holdout_unit_of(FW_LOSS_LAMBDA), FW_HOLD_GROUPS);
  assert_int_equal(fw_holdout_unit_of(FW_LOSS_LOG), FW_HOLD_OF_CLASSES);
  assert_int_equal(fw_holdout_unit_of(FW_LOSS_L2), FW_HOLD_ROWS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_of_classes),        cmocka_unit_test(rows_are_drawn),
      cmocka_unit_test(folds_are_balanced),       cmocka_unit_test(seeds_decide),
      cmocka_unit_test(without_classes),          cmocka_unit_test(contents_decide),
      cmocka_unit_test(copies_with_other_labels), cmocka_unit_test(groups_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
