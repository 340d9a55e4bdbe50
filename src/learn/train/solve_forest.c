/* learn/train/solve_forest.c: rounds of a forest: two passes over the rows, then a tree for each class and round. */
#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"
#include "learn/data/minibatch.h"
#include "learn/data/samples.h"
#include "learn/forest/booster.h"
#include "learn/train/fit.h"

enum {
  BATCH_ROWS = 1024,
  TALLIED = 1 << 16 /* training rows whose scores are counted in each round, at most */
};

static fw_booster *booster_of(const fw_fit *f) {
  return f->state;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

typedef furrow_status (*take_batches)(fw_booster *booster, const fw_minibatch *batch, size_t count, furrow_error *err);

/* A batch of rows, filled by one thread. */
typedef struct filled {
  fw_batcher *batcher;
  furrow_status status;
  furrow_error error;
} filled;

/* Rows go to the booster in groups of batches. Those in memory are filled in by all threads. */
typedef struct pass {
  fw_fit *fit;
  fw_epoch_rows *epoch_rows;
  const fw_samples *samples;
  filled *batchers;
  fw_minibatch *batches;
  size_t count;      /* the most batches at a time */
  uint64_t *numbers; /* numbers of the rows, for messages */
  uint32_t *list;    /* rows in memory; NULL: they are read */
  size_t listed, at;
  take_batches take; /* NULL: rows are only counted */
  uint64_t rows;
} pass;

static void clear_pass(pass *p) {
  for (size_t i = 0; p->batchers && i < p->count; i++) fw_batcher_free(p->batchers[i].batcher);
  fw_free(p->batchers);
  fw_free(p->batches);
  fw_free(p->numbers);
  fw_free(p->list);
}

/* Whether a pass brings the rows in memory in their order. */
static bool is_in_memory(const pass *p) {
  const fw_data_conf *data = &p->fit->trainer->plan->data;
  return data->sample_ratio >= 1 && data->posneg_ratio <= 0 && !data->shuffle && fw_samples_block(p->samples);
}

static furrow_status make_pass(pass *p, furrow_error *err) {
  const fw_plan *plan = p->fit->trainer->plan;
  fw_batcher_params rules = fw_plan_rules(plan);
  const unsigned threads = fw_spin_pool_threads(p->fit->trainer->pool);
  rules.graph = &plan->graph;
  rules.plain = true;
  p->count = threads > 1 ? 2 * (size_t)threads : 1;
  FW_TRY(FW_ALLOC_ZERO(&p->batchers, p->count, err));
  FW_TRY(FW_ALLOC(&p->batches, p->count, err));
  FW_TRY(FW_ALLOC(&p->numbers, BATCH_ROWS, err));
  if (is_in_memory(p)) FW_TRY(fw_epoch_rows_list(p->epoch_rows, &p->list, &p->listed, err));
  for (size_t i = 0; i < p->count; i++) FW_TRY(fw_batcher_create(&p->batchers[i].batcher, &rules, err));
  return FURROW_OK;
}

/* Batch i of a group of rows in memory. */
static void fill_batch(void *context, size_t i) {
  const pass *p = context;
  filled *f = &p->batchers[i];
  const size_t begin = p->at + i * BATCH_ROWS, end = p->listed - begin < BATCH_ROWS ? p->listed : begin + BATCH_ROWS;
  fw_minibatch *batch = NULL;
  f->status = FURROW_OK;
  fw_batcher_start(f->batcher);
  for (size_t k = begin; f->status == FURROW_OK && k < end; k++) {
    const furrow_row row = furrow_rowblock_row(fw_samples_block(p->samples), p->list[k]);
    f->status = fw_batcher_add(f->batcher, &row, &f->error);
    if (f->status == FURROW_OK) continue;
    fw_error_prefix_row(&f->error, p->samples->first_row + p->list[k] + 1);
    fw_error_set_file(&f->error, fw_samples_name(p->samples));
  }
  if (f->status == FURROW_OK) f->status = fw_batcher_finish(f->batcher, &batch, &f->error);
  if (f->status == FURROW_OK) p->batches[i] = *batch;
}

static furrow_status fill_listed(pass *p, size_t *count, furrow_error *err) {
  const size_t left = (p->listed - p->at + BATCH_ROWS - 1) / BATCH_ROWS, n = left < p->count ? left : p->count;
  fw_spin_pool_run(p->fit->trainer->pool, n, fill_batch, p);
  for (size_t i = 0; i < n; i++) {
    const filled *f = &p->batchers[i];
    if (f->status != FURROW_OK && err) *err = f->error;
    if (f->status != FURROW_OK) return f->status;
    p->at += p->batches[i].rows;
  }
  *count = n;
  return FURROW_OK;
}

static furrow_status fill_read(const pass *p, size_t *count, furrow_error *err) {
  size_t rows = BATCH_ROWS, n = 0;
  for (; n < p->count && rows == BATCH_ROWS; n += rows > 0) {
    fw_minibatch *batch = NULL;
    fw_batcher_start(p->batchers[n].batcher);
    FW_TRY(fw_epoch_rows_fill(p->epoch_rows, p->batchers[n].batcher, BATCH_ROWS, p->numbers, &rows, err));
    if (rows > 0) FW_TRY(fw_batcher_finish(p->batchers[n].batcher, &batch, err));
    if (rows > 0) p->batches[n] = *batch;
  }
  *count = n;
  return FURROW_OK;
}

static furrow_status run_pass(pass *p, uint32_t epoch, furrow_error *err) {
  size_t count = 1;
  p->fit->reported = 0;
  furrow_status status = fw_epoch_rows_start(p->epoch_rows, epoch, err);
  while (status == FURROW_OK && count > 0) {
    status = p->list ? fill_listed(p, &count, err) : fill_read(p, &count, err);
    if (status == FURROW_OK && count > 0 && p->take) status = p->take(booster_of(p->fit), p->batches, count, err);
    for (size_t i = 0; status == FURROW_OK && i < count; i++) p->rows += p->batches[i].rows;
    if (status == FURROW_OK) status = fw_fit_progress(p->fit, p->rows, err);
  }
  return status;
}

/* One pass over this rank's rows. All ranks have done theirs, or all fail. *rows (may be NULL): how many there were. */
static furrow_status pass_rows(fw_fit *f, fw_epoch_rows *epoch_rows, take_batches take, uint32_t epoch, uint64_t *rows,
                               furrow_error *err) {
  const fw_samples *samples =
      epoch_rows == f->data->valid && f->data->valid_samples ? f->data->valid_samples : f->data->samples;
  pass p = {.fit = f, .epoch_rows = epoch_rows, .samples = samples, .take = take};
  furrow_status status = make_pass(&p, err);
  status = fw_comm_share_status(f->trainer->comm, status, err); /* all ranks start the epoch, or none */
  if (status == FURROW_OK) status = run_pass(&p, epoch, err);
  if (status == FURROW_E_RANGE && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(samples));
  clear_pass(&p);
  if (rows) *rows = p.rows;
  return fw_comm_share_status(f->trainer->comm, status, err);
}

/* This rank's rows that a pass over the rows will bring. */
static furrow_status count_own_rows(fw_fit *f, fw_epoch_rows *epoch_rows, uint64_t *rows, furrow_error *err) {
  const fw_data_conf *data = &f->trainer->plan->data;
  uint32_t *list = NULL;
  size_t count = 0;
  if (data->sample_ratio < 1 || data->posneg_ratio > 0 || !fw_samples_block(f->data->samples))
    return pass_rows(f, epoch_rows, NULL, 1, rows, err);
  const furrow_status status = fw_epoch_rows_list(epoch_rows, &list, &count, err);
  fw_free(list);
  *rows = count;
  return fw_comm_share_status(f->trainer->comm, status, err);
}

/* The first pass samples rows by their number among all ranks' rows, so the booster needs the number of its first
 * row. */
static furrow_status share_rows(fw_fit *f, fw_epoch_rows *epoch_rows, furrow_error *err) {
  const furrow_comm *comm = f->trainer->comm;
  uint64_t rows = 0, first = 0, all = 0;
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(count_own_rows(f, epoch_rows, &rows, err));
  FW_TRY(fw_comm_offset(comm, rows, &first, &all, err));
  fw_booster_set_comm(booster_of(f), comm, first);
  return FURROW_OK;
}

static furrow_status go_on(void *user, furrow_error *err) {
  return fw_fit_ask(user, 0, 1, err);
}

static furrow_status set_monotone(const fw_fit *f, furrow_error *err) {
  fw_monotone *list = NULL;
  size_t count = 0;
  const furrow_status status = fw_trainer_monotone(f->trainer, &list, &count, err);
  FW_TRY(fw_comm_share_status(f->trainer->comm, status, err));
  fw_booster_take_monotone(booster_of(f), list, count);
  return FURROW_OK;
}

/* Makes a booster of these rows, with rounds of `forest`, the fit's state. valid NULL: no rows are for validation. */
static furrow_status begin_booster(fw_fit *f, fw_epoch_rows *rows, fw_epoch_rows *valid, fw_forest *forest,
                                   furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_booster *booster = NULL;
  f->phase = "reading";
  const furrow_status created = fw_booster_create(&booster, t->plan, t->pool, err);
  f->state = booster;
  FW_TRY(fw_comm_share_status(t->comm, created, err));
  FW_TRY(set_monotone(f, err));
  fw_booster_set_check(booster_of(f), go_on, f);
  FW_TRY(share_rows(f, rows, err));
  FW_TRY(pass_rows(f, rows, fw_booster_scan_rows, 1, NULL, err));
  FW_TRY(fw_booster_choose_cuts(booster_of(f), err));
  if (t->seen.features == 0) t->seen.features = fw_booster_feature_end(booster_of(f)); /* Angel's defaults */
  FW_TRY(fw_comm_share_status(t->comm, fw_booster_resume(booster_of(f), forest, err), err));
  FW_TRY(pass_rows(f, rows, fw_booster_add_rows, 1, NULL, err));
  if (fw_booster_rows(booster_of(f), false) == 0) return fw_fail_no_rows(f->data, err);
  if (valid) FW_TRY(pass_rows(f, valid, fw_booster_add_valid_rows, 0, NULL, err));
  return fw_booster_begin(booster_of(f), forest, err);
}

static furrow_status begin_forest(fw_fit *f, furrow_error *err) {
  return begin_booster(f, f->data->train, f->data->valid, f->trainer->forest, err);
}

/* ---- A round -------------------------------------------------------------------------------------------- */

static furrow_status train_round(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_seconds_now();
  const size_t rows = fw_booster_rows(booster_of(f), false);
  epoch->shown.learning_rate = f->trainer->plan->train.lr;
  furrow_status status = fw_booster_round(booster_of(f), err);
  if (status != FURROW_OK) return status;
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  FW_TRY(fw_booster_tally(booster_of(f), false, (rows + TALLIED - 1) / TALLIED, f->tally, err));
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->train.rows = rows;
  epoch->shown.seconds = fw_seconds_now() - start;
  f->trainer->steps.count++;
  return FURROW_OK;
}

static furrow_status score_valid(fw_fit *f, furrow_error *err) {
  return fw_booster_tally(booster_of(f), true, 1, f->tally, err);
}

static void free_booster(void *state) {
  fw_booster_free(state);
}

/* ---- All rows ---- */

static furrow_status grow_rounds(fw_fit *f, uint32_t rounds, furrow_error *err) {
  const char *phase = "training with all rows";
  const furrow_trainer_fit_params *p = &f->data->params;
  for (uint32_t i = 1; i <= rounds; i++) {
    FW_TRY(fw_booster_round(booster_of(f), err));
    FW_TRY(fw_prepared_share(f->data, fw_report_progress(p->progress, p->progress_user, phase, i, rounds, err), err));
  }
  return FURROW_OK;
}

/* Grows the best number of trees from all rows, those held out among them. */
static furrow_status grow_from_all(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  const fw_forest *chosen = t->forest;
  fw_epoch_rows *all = NULL;
  fw_forest *forest = NULL;
  fw_booster_free(f->state);
  f->state = NULL;
  furrow_status status = fw_prepared_open_all(f->data, &all, err);
  if (status == FURROW_OK) status = fw_forest_create(&forest, chosen->classes, chosen->levels, true, err);
  status = fw_prepared_share(f->data, status, err);
  if (status == FURROW_OK) status = begin_booster(f, all, NULL, forest, err);
  if (status == FURROW_OK) status = grow_rounds(f, t->best, err);
  fw_epoch_rows_close(all);
  if (status != FURROW_OK) {
    fw_forest_free(forest);
    return status;
  }
  fw_forest_free(t->forest);
  t->forest = forest;
  return fw_trainer_note(t, false, err, "the held-out rows chose %u trees, which were then grown from all %zu rows",
                         t->best, fw_booster_rows(booster_of(f), false));
}

/* Whether the validation rows, whose figures are `added` with the trees that were added, are predicted better than by
 * the trainer's forest, which has them no more. */
static furrow_status compare_before(fw_fit *f, const furrow_learn_metrics *added, bool *better, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  furrow_learn_metrics before;
  furrow_learn_metrics_init(&before);
  FW_TRY(begin_booster(f, f->data->train, f->data->valid, t->forest, err));
  fw_tally_clear(f->tally, FW_EXACT_ROWS);
  FW_TRY(score_valid(f, err));
  fw_tally_metrics(f->tally, &before);
  *better = fw_fit_figure(f, added) < fw_fit_figure(f, &before);
  if (*better) return FURROW_OK;
  f->kept_before = before;
  return fw_trainer_note(
      t, false, err,
      "no trees were added: more do not predict the %s rows better (their loss is %.6g, and %.6g with the "
      "best number of more trees)",
      f->data->valid_samples ? "validation" : "held-out", before.loss, added->loss);
}

/* A model that goes on keeps its own trees if more do not help; else as many as are best are grown again, from the rows
 * that were held out, too. */
static furrow_status finish_added(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  fw_forest *forest = t->forest;
  fw_epoch_rows *all = NULL;
  bool better = false;
  fw_booster_free(f->state);
  f->state = NULL;
  fw_forest_truncate(forest, forest->trees - t->best * forest->classes);
  FW_TRY(compare_before(f, &t->history[t->best - 1].valid, &better, err));
  if (!better) {
    t->best = t->seen.saved_epoch = 0;
    return FURROW_OK;
  }
  fw_booster_free(f->state);
  f->state = NULL;
  const bool own = f->data->valid_samples != NULL;
  const furrow_status opened = own ? FURROW_OK : fw_prepared_open_all(f->data, &all, err);
  furrow_status status = fw_prepared_share(f->data, opened, err);
  if (status == FURROW_OK) status = begin_booster(f, own ? f->data->train : all, NULL, forest, err);
  if (status == FURROW_OK) status = grow_rounds(f, t->best, err);
  fw_epoch_rows_close(all);
  if (status != FURROW_OK || own) return status;
  return fw_trainer_note(t, false, err,
                         "the held-out rows chose %u more trees, which were then grown from all %zu rows", t->best,
                         fw_booster_rows(booster_of(f), false));
}

/* Where held-out rows have chosen the number of trees, they are used for training, too. */
static furrow_status finish_forest(fw_fit *f, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  const bool chosen = f->data->valid && f->keep_best && t->best > 0 && t->plan->train.recommended &&
                      !fw_conf_is_set(t->conf, FW_KEY_TREES);
  if (!chosen || f->stopped) return FURROW_OK;
  if (!f->data->from_scratch) return finish_added(f, err);
  return f->data->valid_samples ? FURROW_OK : grow_from_all(f, err);
}

const fw_solver fw_solve_forest = {.begin = begin_forest,
                                   .train = train_round,
                                   .score_valid = score_valid,
                                   .scores_all_ranks = true,
                                   .finish = finish_forest,
                                   .free = free_booster};
