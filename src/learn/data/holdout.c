/* learn/data/holdout.c: which rows are held out for validation. */
#include "learn/data/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* A row with its label and a random number that orders the rows of a label. Rows of a group have the same number. */
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

/* Deals out the rows of all ranks; this rank has `own` rows, from `first` on. */
typedef struct dealing {
  fw_holdout *holdout;
  size_t first, own;
} dealing;

static void put(const dealing *d, size_t row, unsigned fold) {
  if (row < d->first || row - d->first >= d->own) return;
  d->holdout->fold_of[row - d->first] = (unsigned char)fold;
  d->holdout->rows[fold]++;
}

/* Deals out the rows of one label, in the order that was drawn. `before` is the number of rows of other labels: it
 * keeps the remainders of many labels from all going to the first fold. */
static void deal(const dealing *d, const draw *draws, size_t count, size_t before, unsigned folds, double ratio) {
  const size_t out =
      (size_t)floor(ratio * (double)(before + count) + 0.5) - (size_t)floor(ratio * (double)before + 0.5);
  for (size_t i = 0; i < count; i++)
    put(d, draws[i].row, folds > 1 ? (unsigned)((before + i) % folds) : i < out ? 0 : 1);
}

static void deal_groups(const dealing *d, const draw *draws, size_t count, unsigned folds, double ratio) {
  size_t groups = 0, group = 0;
  for (size_t i = 0; i < count; i++) groups += i == 0 || draws[i].number != draws[i - 1].number;
  const size_t out = (size_t)floor(ratio * (double)groups + 0.5);
  for (size_t i = 0; i < count; i++) {
    group += i > 0 && draws[i].number != draws[i - 1].number;
    put(d, draws[i].row, folds > 1 ? (unsigned)(group % folds) : group < out ? 0 : 1);
  }
}

fw_holdout_unit fw_holdout_unit_of(fw_loss_type loss) {
  if (loss == FW_LOSS_LAMBDA) return FW_HOLD_GROUPS;
  return fw_loss_is_regression(loss) || fw_loss_ranks(loss) ? FW_HOLD_ROWS : FW_HOLD_OF_CLASSES;
}

/* Draws numbers for the rows of all ranks. The keys of the draw, qids or labels, are gathered from all ranks. */
static furrow_status draw_rows(draw **draws, size_t *all, const furrow_rowblock *rows, const fw_holdout_params *params,
                               bool groups, furrow_error *err) {
  const uint64_t of_this = fw_rng_hash(params->seed, 0x686f6c64);
  const bool classes = params->unit == FW_HOLD_OF_CLASSES;
  const furrow_comm *comm = params->comm ? params->comm : fw_comm_self();
  uint64_t *own = NULL;
  void *by = NULL;
  size_t size = 0;
  furrow_status status = FW_ALLOC(&own, rows->size, err);
  for (size_t i = 0; status == FURROW_OK && i < rows->size; i++) {
    const double label = classes ? label_of(rows, i) : 0;
    if (groups)
      own[i] = rows->qid[i];
    else
      memcpy(&own[i], &label, sizeof label);
  }
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, own, rows->size * sizeof *own, &by, &size, NULL, err);
  *all = size / sizeof *own;
  if (status == FURROW_OK) status = fw_comm_all_ok(comm, FW_ALLOC(draws, *all, err), err);
  for (size_t i = 0; status == FURROW_OK && i < *all; i++) {
    (*draws)[i] = (draw){.number = fw_rng_hash(of_this, groups ? ((uint64_t *)by)[i] : i), .row = i};
    if (!groups) memcpy(&(*draws)[i].label, (uint64_t *)by + i, sizeof(double));
  }
  if (status != FURROW_OK) fw_free(*draws);
  fw_free(own);
  fw_free(by);
  return status;
}

/* Whether groups stay together. Without a qid, training refuses the rows. */
static furrow_status finds_groups(bool *groups, const furrow_rowblock *rows, const fw_holdout_params *params,
                                  furrow_error *err) {
  uint64_t found[2] = {rows->qid != NULL, rows->size > 0 && !rows->qid};
  if (params->comm) FW_TRY(fw_comm_max_u64(params->comm, found, 2, err));
  *groups = params->unit == FW_HOLD_GROUPS && found[0] && !found[1];
  return FURROW_OK;
}

furrow_status fw_holdout_init(fw_holdout *holdout, const furrow_rowblock *rows, const fw_holdout_params *params,
                              furrow_error *err) {
  const size_t own = rows->size;
  draw *draws = NULL;
  size_t n = 0;
  bool groups;
  *holdout = (fw_holdout){0};
  FW_TRY(finds_groups(&groups, rows, params, err));
  const furrow_status status = FW_ALLOC(&holdout->fold_of, own ? own : 1, err);
  FW_TRY(params->comm ? fw_comm_all_ok(params->comm, status, err) : status);
  FW_TRY(draw_rows(&draws, &n, rows, params, groups, err));
  const dealing d = {holdout, (size_t)params->first_row, own};
  qsort(draws, n, sizeof *draws, compare_draws);
  if (groups) deal_groups(&d, draws, n, params->folds, params->ratio);
  for (size_t first = 0, end; !groups && first < n; first = end) {
    for (end = first + 1; end < n && draws[end].label == draws[first].label;) end++;
    deal(&d, draws + first, end - first, first, params->folds, params->ratio);
  }
  fw_free(draws);
  return FURROW_OK;
}

void fw_holdout_clear(fw_holdout *holdout) {
  fw_free(holdout->fold_of);
  *holdout = (fw_holdout){0};
}
