/* learn/train/prepare_rows.c: the rows of a fit: samples opened, negatives drawn, rows left out and held out. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "learn/data/samples.h"
#include "learn/ranking/ranking_data.h"
#include "learn/train/fit.h"

/* ---- Negatives ---- */

/* Draws negatives where the plan has some and its loss does not rank; a loss that ranks draws its own. */
static furrow_status draw_negatives(const fw_prepared *d, fw_samples *samples, furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  const furrow_rowblock *rows = fw_samples_block(samples);
  furrow_container *made = NULL;
  uint64_t without = 0;
  if (plan->ranking.negatives == 0 || fw_loss_ranks(plan->graph.loss)) return FURROW_OK;
  if (!rows) return fw_fail(err, FURROW_E_UNSUPPORTED, "negatives are drawn for rows in memory, not for streamed ones");
  if (d->trainer->comm->ranks > 1) return fw_fail(err, FURROW_E_UNSUPPORTED, "negatives are drawn by one process");
  furrow_status status = fw_negatives_append(&made, rows, &plan->ranking, plan->train.seed, &without, err);
  if (status == FURROW_OK) status = fw_samples_take(samples, made, err);
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(samples));
  if (status != FURROW_OK || without == 0) return status;
  return fw_trainer_note(d->trainer, true, err,
                         "%" PRIu64 " negatives were not drawn: their users have nearly all items", without);
}

/* ---- Rows that are left out: a fold, which is scored at the end, or all but a share ---- */

static bool takes_share(const furrow_trainer_fit_params *params) {
  return params->share != 0 && params->share != 1;
}

static furrow_status check_folds(const fw_prepared *d, furrow_error *err) {
  const furrow_trainer_fit_params *p = &d->params;
  const bool leaves_out = p->folds || takes_share(p);
  if (p->folds == 1 || p->folds > FW_FOLDS_MAX)
    return fw_fail(err, FURROW_E_ARGUMENT, "folds is %u; it must be 2 to %d, or 0 for none", p->folds, FW_FOLDS_MAX);
  if (p->fold > 0 && p->fold >= p->folds)
    return fw_fail(err, FURROW_E_ARGUMENT, "fold is %u; of %u folds it must be less", p->fold, p->folds);
  if (!(p->share >= 0 && p->share <= 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "share is %g; it must be 0 to 1", p->share);
  if (leaves_out && !fw_samples_block(d->samples))
    return fw_fail(err, FURROW_E_ARGUMENT, "folds, or a share of the rows, need rows in memory, not streamed ones");
  if (leaves_out && p->checkpoint)
    return fw_fail(err, FURROW_E_ARGUMENT, "a checkpoint is of all rows; folds, or a share of the rows, have none");
  return FURROW_OK;
}

furrow_status fw_prepared_draw(const fw_prepared *d, fw_holdout *holdout, unsigned folds, double ratio,
                               furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  const fw_holdout_params params = {.unit = fw_holdout_unit_of(plan->graph.loss),
                                    .folds = folds,
                                    .ratio = ratio,
                                    .seed = plan->train.seed,
                                    .comm = d->trainer->comm,
                                    .first_row = d->samples->first_row};
  return fw_holdout_init(holdout, fw_samples_raw_block(d->samples), &params, err);
}

static furrow_status leave_out_drawn(fw_prepared *d, unsigned folds, double ratio, unsigned fold,
                                     furrow_container **left_out, furrow_error *err) {
  fw_holdout holdout = {0};
  furrow_status status = fw_prepared_draw(d, &holdout, folds, ratio, err);
  if (status == FURROW_OK) status = fw_samples_leave_out(d->samples, &holdout, fold, left_out, err);
  fw_holdout_clear(&holdout);
  return status;
}

static furrow_status leave_out(fw_prepared *d, furrow_error *err) {
  const furrow_trainer_fit_params *p = &d->params;
  const uint64_t rows = d->samples->all_rows;
  furrow_learn_metrics_init(&d->trainer->fold);
  FW_TRY(check_folds(d, err));
  if (p->folds == 0 && !takes_share(p)) return FURROW_OK;
  FW_TRY(fw_prepare_labels(d, err)); /* a class may have all its rows in the fold */
  if (p->folds > 0 && rows < p->folds) {
    fw_fail(err, FURROW_E_ARGUMENT, "there are %" PRIu64 " rows, fewer than the %u folds", rows, p->folds);
    fw_error_set_file(err, fw_samples_name(d->samples));
    return FURROW_E_ARGUMENT;
  }
  if (p->folds > 0) FW_TRY(leave_out_drawn(d, p->folds, 0, p->fold, &d->fold_rows, err));
  return takes_share(p) ? leave_out_drawn(d, 1, p->share, 1, NULL, err) : FURROW_OK;
}

/* ---- Samples ---- */

static bool is_stdin(const char *uri) {
  const size_t n = strcspn(uri, "?#");
  return (n == 1 && uri[0] == '-') || (n == 5 && strncmp(uri, "stdin", n) == 0);
}

/* Standard input has no second pass: it can be streamed for one epoch, if no row is kept for validation. A cache file
 * has any number of them. */
static furrow_status check_stream(const fw_prepared *d, const char *uri, bool split, furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  const bool once = d->params.stream && is_stdin(uri) && !strchr(uri, '#');
  const bool again =
      plan->train.epochs > 1 || plan->train.batch == 0 || plan->data.posneg_ratio > 0 || plan->forest.used;
  if (!once || !(again || (split && plan->data.valid_ratio > 0))) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "standard input can be read only once");
  fw_error_set_hint(err, "stream it for one epoch without validation, or keep its rows in memory");
  return FURROW_E_ARGUMENT;
}

static furrow_status open_samples(const fw_prepared *d, fw_samples **samples, const char *uri, furrow_error *err) {
  return fw_samples_open(samples, uri, &d->trainer->plan->data, d->params.parser, d->params.stream, d->trainer->comm,
                         err);
}

/* Lets the caller stop between two passes over the rows before the first epoch. */
static furrow_status pause_fit(const fw_prepared *d, furrow_error *err) {
  const furrow_trainer_fit_params *p = &d->params;
  return fw_prepared_share(d, fw_report_progress(p->progress, p->progress_user, "preparing", 0, 0, err), err);
}

furrow_status fw_prepare_samples(fw_prepared *d, const char *train, const char *valid, furrow_error *err) {
  if (valid && is_stdin(train) && is_stdin(valid))
    return fw_fail(err, FURROW_E_ARGUMENT, "training data and validation data cannot both come from standard input");
  FW_TRY(check_stream(d, train, !valid, err));
  FW_TRY(open_samples(d, &d->samples, train, err));
  FW_TRY(pause_fit(d, err));
  FW_TRY(draw_negatives(d, d->samples, err));
  return leave_out(d, err);
}

/* ---- Rows to train with and rows for validation ---- */

/* Whether a net helps is hard to see with few rows, so each of them is held out once. */
static unsigned folds_of(const fw_prepared *d) {
  enum { FOLDS = 5, MANY_ROWS = 20000 };
  const furrow_trainer *t = d->trainer;
  const bool compares = d->solver == &fw_solve_net && t->plan->train.start_linear && d->from_scratch;
  return compares && d->samples->all_rows < MANY_ROWS && !fw_conf_is_set(t->conf, FW_KEY_VALID_RATIO) ? FOLDS : 1;
}

/* Rows of the training data that are held out for validation, of rows in memory. */
static furrow_status hold_out(fw_prepared *d, furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  const furrow_rowblock *all = fw_samples_block(d->samples);
  const bool groups = plan->graph.loss == FW_LOSS_LAMBDA;
  if (groups && !all && d->valid_ratio > 0) {
    fw_fail(err, FURROW_E_ARGUMENT, "streamed rows cannot be held out by groups");
    fw_error_set_hint(err, "give validation data of its own, or keep the rows in memory");
    return FURROW_E_ARGUMENT;
  }
  if (!all || d->valid_ratio <= 0) return FURROW_OK;
  if (fw_loss_ranks(plan->graph.loss) && !groups)
    return fw_ranking_hold_out(
        &d->holdout, all, &plan->ranking,
        &(fw_ranking_share){.ratio = d->valid_ratio, .last = d->in_order, .seed = plan->train.seed}, err);
  /* a forest is the same whether its rows are streamed or not, so it holds out rows by their numbers */
  if ((!plan->train.recommended || d->trainer->forest) && !groups) return FURROW_OK;
  d->folds = folds_of(d);
  return fw_prepared_draw(d, &d->holdout, d->folds, d->valid_ratio, err);
}

/* Which rows are for validation; the rest is the caller's. */
static fw_epoch_rows_params subset_of(const fw_prepared *d, fw_row_subset subset) {
  const fw_plan *plan = d->trainer->plan;
  fw_epoch_rows_params params = {.subset = subset, .sample_ratio = 1, .seed = plan->train.seed};
  if (d->holdout.fold_of)
    params.holdout = &d->holdout;
  else if (plan->train.recommended)
    params.share = d->valid_ratio;
  else
    params.every = fw_valid_every(d->valid_ratio);
  return params;
}

static furrow_status open_subset(const fw_prepared *d, fw_epoch_rows **rows, fw_epoch_rows_params params,
                                 furrow_error *err) {
  const fw_data_conf *data = &d->trainer->plan->data;
  params.sample_ratio = data->sample_ratio;
  params.posneg_ratio = data->posneg_ratio;
  params.shuffle = data->shuffle;
  params.together = !d->trainer->forest;
  return fw_epoch_rows_open(rows, d->samples, data, &params, err);
}

furrow_status fw_prepared_open_all(const fw_prepared *d, fw_epoch_rows **rows, furrow_error *err) {
  const fw_epoch_rows_params params = {.subset = FW_SUBSET_ALL, .seed = d->trainer->plan->train.seed};
  return open_subset(d, rows, params, err);
}

static furrow_status open_train(fw_prepared *d, furrow_error *err) {
  if (d->own_valid) return fw_prepared_open_all(d, &d->train, err);
  FW_TRY(hold_out(d, err));
  return open_subset(d, &d->train, subset_of(d, FW_SUBSET_TRAIN), err);
}

furrow_status fw_prepared_open_fold(const fw_prepared *d, unsigned fold, fw_epoch_rows **train, fw_epoch_rows **valid,
                                    furrow_error *err) {
  fw_epoch_rows_params params = subset_of(d, FW_SUBSET_TRAIN);
  params.fold = fold;
  FW_TRY(open_subset(d, train, params, err));
  params.subset = FW_SUBSET_VALID;
  params.together = true;
  return fw_epoch_rows_open(valid, d->samples, &d->trainer->plan->data, &params, err);
}

static furrow_status open_valid(fw_prepared *d, const char *uri, furrow_error *err) {
  const fw_data_conf *data = &d->trainer->plan->data;
  fw_epoch_rows_params params = {.subset = FW_SUBSET_ALL, .sample_ratio = 1};
  fw_samples *samples = d->samples;
  if (uri) {
    FW_TRY(open_samples(d, &d->valid_samples, uri, err));
    samples = d->valid_samples;
    FW_TRY(draw_negatives(d, samples, err));
    if (d->scaled) FW_TRY(fw_samples_scale(samples, &d->scaling, err));
    if (fw_samples_block(samples) && samples->all_rows == 0) { /* not after an epoch */
      fw_fail(err, FURROW_E_ARGUMENT, "validation data: there are no rows");
      fw_error_set_file(err, fw_samples_name(samples));
      return FURROW_E_ARGUMENT;
    }
  } else if (d->valid_ratio > 0) {
    params = subset_of(d, FW_SUBSET_VALID);
  } else {
    return FURROW_OK;
  }
  params.together = !d->trainer->forest;
  return fw_epoch_rows_open(&d->valid, samples, data, &params, err);
}

/* ---- Streamed rows for a linear model ---- */

typedef struct row_sample {
  const fw_prepared *prepared;
  double share;
  uint64_t number; /* of the next row */
  furrow_container *rows;
  unsigned char *fold_of; /* 0: for validation */
  size_t count, capacity;
} row_sample;

/* Rows are drawn by seed and number. */
static furrow_status sample_block(void *user, const furrow_rowblock *block, furrow_error *err) {
  row_sample *s = user;
  const uint64_t seed = fw_rng_hash(s->prepared->trainer->plan->train.seed, 0x73616d70);
  if (!s->rows) FW_TRY(furrow_container_create(&s->rows, block->key_type, block->value_type, err));
  for (size_t i = 0; i < block->size; i++, s->number++) {
    if ((double)(fw_rng_hash(seed, s->number) >> 11) * 0x1p-53 >= s->share) continue;
    const furrow_row row = furrow_rowblock_row(block, i);
    FW_TRY(FW_GROW(&s->fold_of, &s->capacity, s->count + 1, err));
    FW_TRY(furrow_container_push_row(s->rows, &row, err));
    s->fold_of[s->count++] = !fw_epoch_rows_has(s->prepared->valid, s->number);
  }
  return FURROW_OK;
}

/* Reads the rows as they are, not as they are scaled. */
static furrow_status sample_rows(const fw_prepared *d, row_sample *s, furrow_error *err) {
  const fw_scaling *scaling = d->samples->scaling;
  d->samples->scaling = NULL;
  const furrow_status status = fw_samples_visit(d->samples, sample_block, s, err);
  d->samples->scaling = scaling;
  return status;
}

static void free_sampled(fw_prepared *s) {
  if (!s) return;
  fw_epoch_rows_close(s->train);
  fw_epoch_rows_close(s->valid);
  fw_samples_close(s->samples);
  fw_holdout_clear(&s->holdout);
  fw_free(s);
}

/* Training rows and validation rows of the sample are those of the stream. */
static furrow_status open_sampled(fw_prepared *s, const fw_prepared *d, row_sample *sample, furrow_error *err) {
  furrow_container *const rows = sample->rows;
  s->holdout.fold_of = sample->fold_of;
  for (size_t i = 0; i < sample->count; i++) s->holdout.rows[sample->fold_of[i]]++;
  sample->fold_of = NULL;
  sample->rows = NULL;
  FW_TRY(fw_samples_of_rows(&s->samples, d->samples, rows, err));
  if (d->scaled) FW_TRY(fw_samples_scale(s->samples, &d->scaling, err));
  return fw_prepared_open_fold(s, 0, &s->train, &s->valid, err);
}

/* Whether a net of streamed rows can be compared with a linear model of some of them. */
static bool wants_sample(const fw_prepared *d) {
  const furrow_trainer *t = d->trainer;
  const fw_plan *plan = t->plan;
  return d->params.stream && d->solver == &fw_solve_net && plan->train.recommended && plan->train.start_linear &&
         d->from_scratch && d->valid && !d->own_valid && d->rows > 0 && t->comm->ranks == 1 &&
         plan->graph.loss != FW_LOSS_HINGE && plan->data.sample_ratio >= 1 && plan->data.posneg_ratio <= 0 &&
         fw_graph_can_be_linear(&plan->graph);
}

/* As many rows as are shuffled together, and fewer if they are long: memory stays bounded. */
static furrow_status draw_sample(fw_prepared *d, furrow_error *err) {
  enum { MOST_ROWS = 1 << 16, MOST_FEATURES = 1 << 22 };
  fw_prepared *s = NULL;
  if (!wants_sample(d)) return FURROW_OK;
  const double length = d->longest ? (double)d->longest : 1, most = MOST_FEATURES / length;
  row_sample sample = {.prepared = d, .share = (most < MOST_ROWS ? most : MOST_ROWS) / (double)d->rows};
  furrow_status status = sample_rows(d, &sample, err);
  if (status == FURROW_OK && sample.count > 0) status = FW_ALLOC(&s, 1, err);
  if (s) {
    *s = *d;
    s->samples = NULL;
    s->train = s->valid = NULL;
    s->holdout = (fw_holdout){0};
    s->params.stream = false;
    s->folds = 1;
    status = open_sampled(s, d, &sample, err);
  }
  furrow_container_free(sample.rows);
  fw_free(sample.fold_of);
  return FW_HAND_OVER(status, &d->sampled, s, free_sampled);
}

furrow_status fw_prepare_epoch_rows(fw_prepared *d, const char *valid, furrow_error *err) {
  FW_TRY(fw_prepared_share(d, open_train(d, err), err));
  FW_TRY(fw_prepared_share(d, open_valid(d, valid, err), err));
  FW_TRY(fw_prepared_share(d, draw_sample(d, err), err));
  return pause_fit(d, err);
}

furrow_status fw_fail_no_rows(const fw_prepared *d, furrow_error *err) {
  const bool taken = d->valid && !d->valid_samples && fw_epoch_rows_known_rows(d->train) == 0 &&
                     fw_epoch_rows_known_rows(d->valid) > 0;
  fw_fail(err, FURROW_E_ARGUMENT, "there are no rows to train with%s", taken ? ": validation took them" : "");
  if (taken) fw_error_set_hint(err, "lower the key `valid-ratio`");
  fw_error_set_file(err, fw_samples_name(d->samples));
  return FURROW_E_ARGUMENT;
}

const furrow_rowblock *fw_prepared_valid_block(const fw_prepared *d) {
  return fw_samples_block(d->valid_samples ? d->valid_samples : d->samples);
}

void fw_prepared_clear(fw_prepared *d) {
  free_sampled(d->sampled);
  fw_epoch_rows_close(d->train);
  fw_epoch_rows_close(d->valid);
  fw_samples_close(d->samples);
  fw_samples_close(d->valid_samples);
  fw_holdout_clear(&d->holdout);
  furrow_container_free(d->fold_rows);
  fw_scaling_clear(&d->scaling);
  fw_scaling_clear(&d->linear_scaling);
}
