/* learn/data/holdout.c: which rows are held out for validation. */
#include "learn/data/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/digest.h"

enum { MOST_COPIES = 4, MIXED = 10 };

/* A row with its label and a random number that orders the rows of a label. Rows of a group have the same number, and
 * so have copies of a row: neither the order of the rows nor their copies decide which rows are held out. */
typedef struct draw {
  double stratum; /* the label, if rows are held out label by label; else 0 */
  double label;
  uint64_t content, number; /* content: of its features */
  size_t row;
} draw;

static int compare_reals(double a, double b) {
  return (a > b) - (a < b);
}

static int compare_draws(const void *a, const void *b) {
  const draw *x = a, *y = b;
  if (x->stratum != y->stratum) return compare_reals(x->stratum, y->stratum);
  return (x->number > y->number) - (x->number < y->number);
}

static bool are_copies(const draw *x, const draw *y) {
  return x->stratum == y->stratum && x->content == y->content;
}

/* Orders copies of a row by label and row number, so that the order is unique for qsort. */
static int compare_contents(const void *a, const void *b) {
  const draw *x = a, *y = b;
  if (x->content != y->content) return x->content > y->content ? 1 : -1;
  if (x->label != y->label) return compare_reals(x->label, y->label);
  return (x->row > y->row) - (x->row < y->row);
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

static unsigned smallest_fold(const size_t *rows, unsigned folds) {
  unsigned smallest = 0;
  for (unsigned fold = 1; fold < folds; fold++)
    if (rows[fold] < rows[smallest]) smallest = fold;
  return smallest;
}

/* Deals out the rows of one label, in the order that was drawn; copies stay together. `before` is the number of rows of
 * earlier labels: with it, rounding does not hold out a remainder of every label. `dealt` has the number of rows of
 * each fold so far. */
static void deal(const dealing *d, const draw *draws, size_t count, size_t before, size_t *dealt, unsigned folds,
                 double ratio) {
  const size_t out =
      (size_t)floor(ratio * (double)(before + count) + 0.5) - (size_t)floor(ratio * (double)before + 0.5);
  unsigned fold = 0;
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || draws[i].number != draws[i - 1].number) fold = folds > 1 ? smallest_fold(dealt, folds) : i >= out;
    put(d, draws[i].row, fold);
    dealt[fold]++;
  }
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

static uint64_t content_of(const furrow_rowblock *rows, size_t i) {
  if (!rows->offset) return 0;
  const furrow_row row = furrow_rowblock_row(rows, i);
  const size_t key = row.key_type == FURROW_KEY_U32 ? 4 : 8, value = row.value_type == FURROW_VALUE_I64 ? 8 : 4;
  uint64_t digest = row.length ? fw_digest_elements(row.index.any, key, row.length, 0) : 0;
  if (row.length && row.field.any) digest = fw_digest_elements(row.field.any, key, row.length, digest);
  return row.length && row.value.any ? fw_digest_elements(row.value.any, value, row.length, digest) : digest;
}

/* Whether copies of a row stay together. They do not if the data consists of many copies of a few different rows, or
 * if copies often have different labels, as when a user sees an item again: these are observations of their own. If
 * copies with one label were held out together, all copies that are left would have the other label. */
static bool keeps_together(const draw *draws, size_t n) {
  size_t different = n > 0, repeated = 0, mixed = 0;
  for (size_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && draws[end].content == draws[first].content; end++)
      different += !are_copies(&draws[end], &draws[end - 1]);
    different += end < n;
    repeated += end - first > 1;
    mixed += draws[end - 1].label != draws[first].label;
  }
  return n <= different * MOST_COPIES && mixed * MIXED <= repeated;
}

/* Numbers the rows by their contents. */
static void number_contents(draw *draws, size_t n, uint64_t seed) {
  size_t copy = 0;
  qsort(draws, n, sizeof *draws, compare_contents);
  const bool together = keeps_together(draws, n);
  for (size_t i = 0; i < n; i++) {
    copy = i > 0 && are_copies(&draws[i], &draws[i - 1]) ? copy + 1 : 0;
    draws[i].number = fw_rng_hash(fw_rng_hash(seed, draws[i].content), together ? 0 : copy);
  }
}

/* Draws numbers for the rows of all ranks. The keys of the draw, qids or labels and contents, are gathered from all
 * ranks. */
static furrow_status draw_rows(draw **draws, size_t *all, const furrow_rowblock *rows, const fw_holdout_params *params,
                               bool groups, furrow_error *err) {
  const uint64_t of_this = fw_rng_hash(params->seed, 0x686f6c64);
  const bool classes = params->unit == FW_HOLD_OF_CLASSES;
  const furrow_comm *comm = params->comm ? params->comm : fw_comm_self();
  uint64_t(*own)[2] = NULL;
  void *gathered = NULL;
  size_t size = 0;
  furrow_status status = FW_ALLOC(&own, rows->size, err);
  for (size_t i = 0; status == FURROW_OK && i < rows->size; i++) {
    const double label = label_of(rows, i);
    if (groups)
      own[i][0] = rows->qid[i];
    else
      memcpy(&own[i][0], &label, sizeof label);
    own[i][1] = groups ? 0 : content_of(rows, i);
  }
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK)
    status = fw_comm_gather_all(comm, own, rows->size * sizeof *own, &gathered, &size, NULL, err);
  *all = size / sizeof *own;
  if (status == FURROW_OK) status = fw_comm_all_ok(comm, FW_ALLOC(draws, *all, err), err);
  const uint64_t(*by)[2] = gathered;
  for (size_t i = 0; status == FURROW_OK && i < *all; i++) {
    (*draws)[i] = (draw){.content = by[i][1], .row = i};
    if (groups)
      (*draws)[i].number = fw_rng_hash(of_this, by[i][0]);
    else
      memcpy(&(*draws)[i].label, &by[i][0], sizeof(double));
    if (classes) (*draws)[i].stratum = (*draws)[i].label;
  }
  if (status == FURROW_OK && !groups) number_contents(*draws, *all, of_this);
  if (status != FURROW_OK) fw_free(*draws);
  fw_free(own);
  fw_free(gathered);
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
  size_t n = 0, dealt[FW_FOLDS_MAX + 1] = {0};
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
    for (end = first + 1; end < n && draws[end].stratum == draws[first].stratum;) end++;
    deal(&d, draws + first, end - first, first, dealt, params->folds, params->ratio);
  }
  fw_free(draws);
  return FURROW_OK;
}

void fw_holdout_clear(fw_holdout *holdout) {
  fw_free(holdout->fold_of);
  *holdout = (fw_holdout){0};
}
