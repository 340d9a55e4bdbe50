/* learn/data/holdout.c: which rows are held out for validation. */
#include "learn/data/holdout.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* Rows of a label in an order of their own. Those of a group have the same number. */
typedef struct draw {
  double label;
  uint64_t number;
  size_t row;
} draw;

static int compare_draws(const void *a, const void *b) {
  const draw *x = a, *y = b;
  if (x->label != y->label) return x->label < y->label ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static double label_of(const furrow_rowblock *rows, size_t i) {
  const double label = rows->label.any ? furrow_values_get(rows->label, rows->value_type, i) : 0;
  return isnan(label) ? 0 : label;
}

static void put(fw_holdout *holdout, size_t row, unsigned fold) {
  holdout->fold_of[row] = (unsigned char)fold;
  holdout->rows[fold]++;
}

/* The rows of one label, in the order that was drawn. `before`: rows of other labels, so that the remainders of many
 * labels do not all go to the first fold. */
static void deal(fw_holdout *holdout, const draw *draws, size_t count, size_t before, unsigned folds, double ratio) {
  const size_t out =
      (size_t)floor(ratio * (double)(before + count) + 0.5) - (size_t)floor(ratio * (double)before + 0.5);
  for (size_t i = 0; i < count; i++)
    put(holdout, draws[i].row, folds > 1 ? (unsigned)((before + i) % folds) : i < out ? 0 : 1);
}

static void deal_groups(fw_holdout *holdout, const draw *draws, size_t count, unsigned folds, double ratio) {
  size_t groups = 0, group = 0;
  for (size_t i = 0; i < count; i++) groups += i == 0 || draws[i].number != draws[i - 1].number;
  const size_t out = (size_t)floor(ratio * (double)groups + 0.5);
  for (size_t i = 0; i < count; i++) {
    group += i > 0 && draws[i].number != draws[i - 1].number;
    put(holdout, draws[i].row, folds > 1 ? (unsigned)(group % folds) : group < out ? 0 : 1);
  }
}

fw_holdout_unit fw_holdout_unit_of(fw_loss_type loss) {
  if (loss == FW_LOSS_LAMBDA) return FW_HOLD_GROUPS;
  return fw_loss_is_regression(loss) || fw_loss_ranks(loss) ? FW_HOLD_ROWS : FW_HOLD_OF_CLASSES;
}

furrow_status fw_holdout_init(fw_holdout *holdout, const furrow_rowblock *rows, fw_holdout_unit unit, unsigned folds,
                              double ratio, uint64_t seed, furrow_error *err) {
  const size_t n = rows->size;
  const bool groups = unit == FW_HOLD_GROUPS && rows->qid; /* without a qid, training refuses the rows */
  const uint64_t of_this = fw_rng_hash(seed, 0x686f6c64);
  draw *draws = NULL;
  *holdout = (fw_holdout){0};
  FW_TRY(fw_alloc((void **)&holdout->fold_of, n ? n : 1, 1, err));
  FW_TRY(fw_alloc((void **)&draws, n ? n : 1, sizeof *draws, err));
  for (size_t i = 0; i < n; i++)
    draws[i] = (draw){.label = unit == FW_HOLD_OF_CLASSES ? label_of(rows, i) : 0,
                      .number = fw_rng_hash(of_this, groups ? rows->qid[i] : i),
                      .row = i};
  qsort(draws, n, sizeof *draws, compare_draws);
  if (groups) deal_groups(holdout, draws, n, folds, ratio);
  for (size_t first = 0, end; !groups && first < n; first = end) {
    for (end = first + 1; end < n && draws[end].label == draws[first].label;) end++;
    deal(holdout, draws + first, end - first, first, folds, ratio);
  }
  fw_free(draws);
  return FURROW_OK;
}

void fw_holdout_clear(fw_holdout *holdout) {
  fw_free(holdout->fold_of);
  *holdout = (fw_holdout){0};
}
