/* learn/train/linear_strength.c: the strength of regularisation of a linear model, chosen on held-out rows. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"
#include "learn/metrics/metrics.h"
#include "learn/train/fit.h"

enum {
  FOLDS = 5,
  MANY_ROWS = 20000, /* from here on one fold has rows enough */
  SAMPLE = 50000,    /* from twice as many rows on, so many are solved, and others are scored */
  TRIES = 5          /* the most steps of sqrt(10) in one direction */
};

typedef struct fold {
  fw_epoch_rows *train, *valid;
  fw_convex_fit *convex;
  uint32_t *use; /* rows of the block that are held out */
  size_t count;
} fold;

typedef struct search {
  const fw_fit *fit;
  const furrow_rowblock *rows; /* the block that has the held-out rows */
  double *label, *weight;      /* of all its rows */
  fw_holdout holdout;
  fold folds[FOLDS];
  size_t fold_count, count; /* number of folds, and of this rank's held-out rows */
  double *scores;
  double *losses, *tried; /* losses of the held-out rows, fold by fold: with the best strength, and with another */
} search;

static void clear_search(search *s) {
  for (size_t i = 0; i < s->fold_count; i++) {
    fw_convex_fit_free(s->folds[i].convex);
    fw_free(s->folds[i].use);
    const fw_prepared *d = s->fit->data; /* some rows may be its own */
    if (s->folds[i].train != d->train) fw_epoch_rows_close(s->folds[i].train);
    if (s->folds[i].valid != d->valid) fw_epoch_rows_close(s->folds[i].valid);
  }
  fw_holdout_clear(&s->holdout);
  void *const arrays[] = {s->label, s->weight, s->scores, s->losses, s->tried};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
}

/* ---- Folds ---- */

static furrow_status open_rows(const search *s, fw_epoch_rows **rows, fw_row_subset subset, unsigned number,
                               furrow_error *err) {
  const fw_prepared *d = s->fit->data;
  const fw_epoch_rows_params params = {.subset = subset,
                                       .holdout = &s->holdout,
                                       .fold = number,
                                       .sample_ratio = 1,
                                       .seed = d->trainer->plan->train.seed,
                                       .together = true};
  return fw_epoch_rows_open(rows, d->samples, &d->trainer->plan->data, &params, err);
}

/* The rows of a fold are for validation, and all others are solved. */
static furrow_status open_fold(const search *s, fold *f, unsigned number, furrow_error *err) {
  FW_TRY(open_rows(s, &f->train, FW_SUBSET_TRAIN, number, err));
  return open_rows(s, &f->valid, FW_SUBSET_VALID, number, err);
}

/* One fold is solved, and the next one is for validation, unless there are validation rows of their own. */
static furrow_status open_sample(const search *s, fold *f, furrow_error *err) {
  f->valid = s->fit->data->valid_samples ? s->fit->data->valid : NULL;
  FW_TRY(open_rows(s, &f->train, FW_SUBSET_VALID, 0, err));
  return f->valid ? FURROW_OK : open_rows(s, &f->valid, FW_SUBSET_VALID, 1, err);
}

/* All rows are dealt out to folds, unless there are validation rows of their own. Of very many rows, a sample is
 * enough: the strength is that of the weights' distribution, and hardly depends on the number of rows. */
static furrow_status open_folds(search *s, furrow_error *err) {
  const fw_prepared *d = s->fit->data;
  const uint64_t rows = d->samples->all_rows, samples = rows / SAMPLE;
  s->fold_count = d->valid_samples || rows >= MANY_ROWS ? 1 : FOLDS;
  if (d->valid_samples && samples < 2) {
    s->folds[0] = (fold){.train = d->train, .valid = d->valid};
    return FURROW_OK;
  }
  const unsigned folds = samples < 2 ? FOLDS : samples < FW_FOLDS_MAX ? (unsigned)samples : FW_FOLDS_MAX;
  FW_TRY(fw_prepared_draw(d, &s->holdout, folds, 0, err));
  for (unsigned i = 0; i < s->fold_count; i++) {
    fold *f = &s->folds[i];
    FW_TRY(fw_prepared_share(d, samples < 2 ? open_fold(s, f, i, err) : open_sample(s, f, err), err));
  }
  return FURROW_OK;
}

static furrow_status list_rows(search *s, furrow_error *err) {
  const size_t outputs = s->fit->trainer->plan->graph.outputs;
  size_t most = 0;
  for (size_t i = 0; i < s->fold_count; i++) {
    fold *f = &s->folds[i];
    FW_TRY(fw_epoch_rows_list(f->valid, &f->use, &f->count, err));
    s->count += f->count;
    most = f->count > most ? f->count : most;
  }
  FW_TRY(fw_convex_labels(s->fit->data, s->rows, &s->label, &s->weight, err));
  FW_TRY(FW_ALLOC(&s->losses, s->count + 1, err));
  FW_TRY(FW_ALLOC(&s->tried, s->count + 1, err));
  return FW_ALLOC_ROWS(&s->scores, most + 1, outputs, err);
}

static furrow_status open_search(search *s, double l2, furrow_error *err) {
  const fw_prepared *d = s->fit->data;
  s->rows = fw_prepared_valid_block(d);
  FW_TRY(open_folds(s, err));
  FW_TRY(fw_prepared_share(d, list_rows(s, err), err));
  for (size_t i = 0; i < s->fold_count; i++)
    FW_TRY(fw_convex_fit_create(&s->folds[i].convex, s->fit, s->folds[i].train, l2, 0, err));
  return FURROW_OK;
}

/* ---- Losses ---- */

double fw_linear_row_loss(const fw_graph *graph, const double *score, double label) {
  if (graph->loss != FW_LOSS_CROSS_ENTROPY) return fw_loss_value(graph, score, label);
  const double p = 1 / (1 + exp(-score[0]));
  return fw_loss_value(graph, &p, label);
}

/* Solves the folds with a strength, each from where it is; `losses` gets those of the held-out rows. */
static furrow_status find_losses(const search *s, double l2, double *losses, furrow_error *err) {
  const fw_graph *graph = &s->fit->trainer->plan->graph;
  for (size_t i = 0; i < s->fold_count; i++) {
    const fold *f = &s->folds[i];
    FW_TRY(fw_convex_fit_restart(f->convex, l2, err));
    FW_TRY(fw_convex_fit_solve(f->convex, s->fit, err));
    fw_linear_problem_score_rows(fw_convex_problem(f->convex), fw_convex_model(f->convex).weights, s->rows, f->use,
                                 f->count, s->scores);
    for (size_t k = 0; k < f->count; k++)
      *losses++ = s->weight[f->use[k]] * fw_linear_row_loss(graph, s->scores + k * graph->outputs, s->label[f->use[k]]);
  }
  return FURROW_OK;
}

/* Whether the losses of another strength are lower by more than a standard error of the mean difference: a few rows do
 * not decide. */
static furrow_status are_lower(const search *s, bool *lower, furrow_error *err) {
  double sums[] = {(double)s->count, 0, 0}; /* number of rows, sum of differences, sum of their squares */
  for (size_t i = 0; i < s->count; i++) {
    const double d = s->losses[i] - s->tried[i];
    sums[1] += d;
    sums[2] += d * d;
  }
  FW_TRY(fw_comm_sum_f64(s->fit->trainer->comm, sums, 3, err));
  const double n = sums[0], sum = sums[1];
  *lower = n > 1 && sum > 0 && sum * sum > sums[2] - sum * sum / n;
  return FURROW_OK;
}

/* ---- The search ---- */

/* Goes on by `factor` as long as that is better. */
static furrow_status follow(search *s, double factor, double *l2, furrow_error *err) {
  bool better = true;
  for (int i = 0; better && i < TRIES; i++) {
    FW_TRY(find_losses(s, *l2 * factor, s->tried, err));
    FW_TRY(are_lower(s, &better, err));
    if (!better) break;
    double *const losses = s->losses;
    s->losses = s->tried;
    s->tried = losses;
    *l2 *= factor;
  }
  return FURROW_OK;
}

/* Increases the strength as long as that is better, else decreases it. If predictions are sums over many features of
 * few rows, such as users and items, these features need more than the usual strength. */
static furrow_status find_strength(search *s, double *l2, furrow_error *err) {
  const double usual = *l2;
  FW_TRY(find_losses(s, usual, s->losses, err));
  FW_TRY(follow(s, sqrt(10), l2, err));
  return *l2 == usual ? follow(s, 1 / sqrt(10), l2, err) : FURROW_OK;
}

/* The figures of a constant depend on labels alone, and so do not need the scores. */
static furrow_status fill_held_out(const search *s, furrow_learn_metrics *held_out, furrow_error *err) {
  const fw_fit *f = s->fit;
  double sums[2] = {0, 0}; /* of losses, of weights */
  for (size_t i = 0; i < s->count; i++) sums[0] += s->losses[i];
  memset(s->scores, 0, f->trainer->plan->graph.outputs * sizeof *s->scores);
  fw_tally_clear(f->tally, FW_EXACT_ROWS);
  for (size_t i = 0; i < s->fold_count; i++)
    for (size_t k = 0; k < s->folds[i].count; k++) {
      const uint32_t row = s->folds[i].use[k];
      sums[1] += s->weight[row];
      fw_tally_add(f->tally, s->scores, s->label[row], s->weight[row]);
    }
  FW_TRY(fw_comm_sum_f64(f->trainer->comm, sums, 2, err));
  FW_TRY(fw_tally_reduce(f->tally, f->trainer->comm, err));
  fw_tally_metrics(f->tally, held_out);
  held_out->loss = sums[0] / sums[1];
  return FURROW_OK;
}

furrow_status fw_linear_strength_choose(const fw_fit *f, double *l2, furrow_learn_metrics *held_out,
                                        furrow_error *err) {
  search s = {.fit = f};
  double found = *l2;
  furrow_status status = open_search(&s, found, err);
  if (status == FURROW_OK) status = find_strength(&s, &found, err);
  if (status == FURROW_OK && held_out) status = fill_held_out(&s, held_out, err);
  if (status == FURROW_OK) *l2 = found;
  clear_search(&s);
  return status;
}
