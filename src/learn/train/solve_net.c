/* learn/train/solve_net.c: epochs of a net, batch by batch; then the net and its linear model, compared by
 * cross-validation. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"
#include "learn/data/samples.h"
#include "learn/train/fit.h"

enum { VALID_ROWS = 512 };

typedef struct net_fit {
  size_t batch; /* rows of one */
  fw_linear_start start;
} net_fit;

static void free_net_fit(void *state) {
  net_fit *net = state;
  fw_convex_fit_free(net->start.convex);
  fw_parameters_free(net->start.first);
  fw_free(net);
}

/* The number of rows in a batch: as configured, or the rows of an epoch divided by the updates that it is to have. */
static furrow_status choose_batch(const fw_fit *f, size_t *batch, furrow_error *err) {
  const fw_train_conf *train = &f->trainer->plan->train;
  *batch = train->batch;
  if (*batch > 0) return FURROW_OK;
  uint64_t rows = 0;
  FW_TRY(fw_epoch_rows_count(f->data->train, &rows, err));
  const uint64_t updates = train->updates ? train->updates : 1;
  *batch = rows ? (size_t)((rows + updates - 1) / updates) : 1;
  return FURROW_OK;
}

/* The fit of the rows in memory: streamed rows have some of them there for the linear model. */
static fw_fit in_memory(const fw_fit *f) {
  fw_fit fit = *f;
  if (f->data->sampled) fit.data = f->data->sampled;
  return fit;
}

static furrow_status begin_net(fw_fit *f, furrow_error *err) {
  net_fit *net = NULL;
  FW_TRY(FW_ALLOC_ZERO(&net, 1, err));
  f->state = net;
  FW_TRY(choose_batch(f, &net->batch, err));
  fw_fit fit = in_memory(f);
  return fw_linear_start_solve(&net->start, &fit, err);
}

/* The number of rows to ask for. Rows in memory: the whole batch: each rank takes its own rows of it. Streamed rows:
 * this rank's share of the batch, at least one. */
static size_t rows_of_batch(const fw_fit *f, size_t rows) {
  const furrow_comm *comm = f->trainer->comm;
  if (!f->data->params.stream) return rows;
  const size_t share = rows / comm->ranks + (comm->rank < rows % comm->ranks);
  return share ? share : 1;
}

static fw_row_source source_of(const fw_fit *f, fw_epoch_rows *epoch_rows, size_t rows) {
  fw_row_source from = {.fill = fw_epoch_rows_fill, .source = epoch_rows, .rows = rows_of_batch(f, rows)};
  if (f->data->params.stream) return from;
  from.claim = fw_epoch_rows_claim;
  from.add = fw_epoch_rows_add;
  return from;
}

/* ---- An epoch ---- */

/* The learning rate of the first layer, which may have its own optimizer. */
static double rate_of(const furrow_trainer *trainer, uint32_t epoch) {
  const fw_step step = fw_train_steps_next(&trainer->steps, &trainer->plan->train, epoch);
  const fw_optimizer *first = &trainer->plan->graph.layers[0].optimizer;
  const bool ftrl = first->type == FW_OPTIMIZER_FTRL && trainer->plan->train.recommended; /* alpha is its rate */
  if (ftrl) return ldexp(first->a, -(int)step.halvings);
  return isnan(first->lr) ? step.rate : first->lr * step.scale;
}

static furrow_status train_epoch(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_seconds_now();
  const fw_row_source from = source_of(f, f->data->train, ((const net_fit *)f->state)->batch);
  f->reported = 0;
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  epoch->shown.learning_rate = rate_of(f->trainer, epoch->shown.epoch);
  furrow_status status = fw_epoch_rows_start(f->data->train, epoch->shown.epoch, err);
  const fw_net_job job = {.from = &from,
                          .train = true,
                          .epoch = epoch->shown.epoch,
                          .take = fw_tally_batch,
                          .user = f->tally,
                          .done = fw_fit_progress,
                          .done_user = f};
  if (status == FURROW_OK) status = fw_net_solver_run(f->trainer->solver, &job, err);
  if (status == FURROW_E_RANGE && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->data->samples));
  if (status != FURROW_OK) return status;
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->shown.seconds = fw_seconds_now() - start;
  return epoch->train.rows > 0 ? FURROW_OK : fw_fail_no_rows(f->data, err);
}

/* Rows that are scored at once: fewer if the layers are wide. */
static size_t valid_rows(const fw_graph *graph) {
  enum { LEAST_ROWS = 32, NUMBERS = 1 << 22 };
  size_t width = 1;
  for (size_t i = 0; i < graph->count; i++) width += graph->layers[i].width;
  const size_t rows = NUMBERS / width;
  return rows < LEAST_ROWS ? LEAST_ROWS : rows < VALID_ROWS ? rows : VALID_ROWS;
}

furrow_status fw_fit_score_valid(fw_fit *f, fw_scored_batch take, void *user, furrow_error *err) {
  const fw_row_source from = source_of(f, f->data->valid, valid_rows(&f->trainer->plan->graph));
  FW_TRY(fw_epoch_rows_start(f->data->valid, 0, err));
  return fw_net_solver_run(f->trainer->solver, &(fw_net_job){.from = &from, .take = take, .user = user}, err);
}

static furrow_status rescue_net(fw_fit *f, fw_epoch *epoch, bool *rescued, furrow_error *err) {
  fw_fit fit = in_memory(f);
  return fw_linear_start_rescue(&((net_fit *)f->state)->start, &fit, epoch, rescued, err);
}

/* ---- Parts of a fit ---- */

/* A part of the fit reports its progress in parts or epochs, not in rows. */
typedef struct part_progress {
  const fw_fit *fit;
  const char *phase;
  uint64_t done, of;
  double loss; /* of the training rows, in the last epoch that was counted */
} part_progress;

static bool report_part(void *user, const char *phase, uint64_t done, uint64_t of) {
  const part_progress *p = user;
  const furrow_trainer_fit_params *params = &p->fit->data->params;
  (void)phase, (void)done, (void)of;
  return !params->progress || params->progress(params->progress_user, p->phase, p->done, p->of);
}

static furrow_status count_epoch(void *user, const furrow_epoch *epoch, furrow_error *err) {
  part_progress *p = user;
  (void)err;
  p->done = epoch->epoch;
  p->loss = epoch->train->loss;
  return FURROW_OK;
}

/* The data of a part: the same rows, of which it trains with `train`. */
static fw_prepared data_of_part(const fw_fit *f, fw_epoch_rows *train, fw_epoch_rows *valid, part_progress *progress) {
  fw_prepared data = *f->data;
  data.train = train;
  data.valid = valid;
  data.params.progress = report_part;
  data.params.progress_user = progress;
  data.params.epoch = NULL;
  data.params.checkpoint = NULL;
  return data;
}

static fw_fit part_of(const fw_fit *f, const fw_prepared *data, double l2) {
  const bool judged = data->valid != NULL;
  return (fw_fit){.trainer = f->trainer,
                  .data = data,
                  .solver = f->solver,
                  .by = f->by,
                  .tally = f->tally,
                  .keep_best = judged,
                  .patience = judged ? f->patience : 0,
                  .epochs = f->epochs,
                  .linear_l2 = l2};
}

static void clear_part(fw_fit *part) {
  if (part->state) part->solver->free(part->state);
  fw_buffer_clear(&part->best_snapshot);
}

/* ---- Folds ---- */

/* Whether the folds that are left could change the result. */
static bool is_open(const fw_comparison *c) {
  const double errors = fw_comparison_errors(c), needed = fw_comparison_needed(c);
  return errors > -1 && errors < needed + 2;
}

/* Trains a net with the rows that are not in the fold, and compares it on those that are. */
static furrow_status compare_fold(fw_fit *f, unsigned fold, double l2, part_progress *progress, fw_comparison *c,
                                  uint32_t *epochs, furrow_error *err) {
  fw_epoch_rows *train = NULL, *valid = NULL;
  furrow_status status = fw_prepared_share(f->data, fw_prepared_open_fold(f->data, fold, &train, &valid, err), err);
  fw_prepared data = data_of_part(f, train, valid, progress);
  fw_fit part = part_of(f, &data, l2);
  if (status == FURROW_OK) status = fw_fit_run_part(&part, epochs, err);
  if (status == FURROW_OK && ((const net_fit *)part.state)->start.convex)
    status = fw_linear_start_compare(&((const net_fit *)part.state)->start, &part, c, err);
  clear_part(&part);
  fw_epoch_rows_close(train);
  fw_epoch_rows_close(valid);
  return status;
}

/* *epochs: the best number for the first fold, afterwards for the mean of the folds that were needed. */
static furrow_status compare_folds(fw_fit *f, double l2, fw_comparison *c, uint32_t *epochs, furrow_error *err) {
  part_progress progress = {.fit = f, .phase = "comparing with a linear model", .done = 1, .of = f->data->folds};
  double sum = *epochs;
  for (unsigned fold = 1; fold < f->data->folds && is_open(c); fold++, progress.done++) {
    uint32_t best = 0;
    FW_TRY(compare_fold(f, fold, l2, &progress, c, &best, err));
    sum += best;
  }
  *epochs = (uint32_t)fmax(1, floor(sum / (double)progress.done + 0.5));
  return FURROW_OK;
}

/* ---- Models that hold no rows out ---- */

/* Whether nothing would say how the model does on other rows: a linear model that is trained by steps, such as svm. */
static bool lacks_judgement(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  const bool chosen = fw_conf_is_set(t->conf, FW_KEY_VALID_RATIO) || t->plan->train.patience > 0;
  return f->solver == &fw_solve_net && t->plan->train.recommended && !chosen && !f->data->valid &&
         f->data->from_scratch && t->comm->ranks == 1 && fw_samples_block(f->data->samples) &&
         f->data->samples->all_rows >= FW_STRENGTH_ROWS;
}

/* Trains with the rows of one part and judges the model on the others. If it diverges or the caller stops it, the
 * training with all rows will say so. */
static furrow_status judge_part(fw_fit *f, fw_epoch_rows *train, fw_epoch_rows *valid, furrow_error *err) {
  furrow_error ignored;
  part_progress progress = {.fit = f, .phase = "judging with held-out rows", .of = f->epochs};
  fw_prepared data = data_of_part(f, train, NULL, &progress);
  data.params.epoch = count_epoch;
  data.params.epoch_user = &progress;
  fw_fit part = part_of(f, &data, 0);
  uint32_t last;
  furrow_status status = fw_fit_run_part(&part, &last, &ignored);
  const bool undone = status == FURROW_END || status == FURROW_E_RANGE;
  data.valid = valid;
  fw_tally_clear(f->tally, FW_EXACT_ROWS);
  if (status == FURROW_OK) status = fw_fit_score_valid(&part, fw_tally_batch, f->tally, &ignored);
  if (status == FURROW_OK) fw_tally_metrics(f->tally, &f->held_out);
  clear_part(&part);
  if (status != FURROW_OK && !undone && err) *err = ignored;
  return undone ? FURROW_OK : status;
}

static furrow_status judge_drawn_part(fw_fit *f, furrow_error *err) {
  enum { PARTS = 5 };
  fw_epoch_rows *train = NULL, *valid = NULL;
  fw_prepared data = *f->data;
  data.holdout = (fw_holdout){0};
  furrow_status status = fw_prepared_draw(f->data, &data.holdout, PARTS, 0, err);
  if (status == FURROW_OK) status = fw_prepared_open_fold(&data, 0, &train, &valid, err);
  if (status == FURROW_OK) status = judge_part(f, train, valid, err);
  fw_epoch_rows_close(train);
  fw_epoch_rows_close(valid);
  fw_holdout_clear(&data.holdout);
  return status;
}

/* Runs parts of the fit before its first epoch; afterwards the trainer has its first weights again. */
static furrow_status run_before(fw_fit *f, furrow_status (*parts)(fw_fit *f, furrow_error *err), furrow_error *err) {
  fw_parameters *first = NULL;
  furrow_status status = fw_trainer_new_parameters(f->trainer, &first, err);
  if (status == FURROW_OK) status = fw_parameters_copy(first, f->trainer->parameters, err);
  status = fw_prepared_share(f->data, status, err);
  if (status == FURROW_OK) status = parts(f, err);
  f->trainer->steps.count = 0;
  if (status == FURROW_OK) status = fw_trainer_adopt(f->trainer, first, err);
  if (status != FURROW_OK) fw_parameters_free(first);
  return status;
}

furrow_status fw_net_judge(fw_fit *f, furrow_error *err) {
  return lacks_judgement(f) ? run_before(f, judge_drawn_part, err) : FURROW_OK;
}

/* ---- Rate and L2 ---- */

typedef struct net_steps {
  double rate, l2, fc_l2;
} net_steps;

/* A search for the best steps. */
typedef struct steps_search {
  fw_fit *fit;
  part_progress progress;
  net_steps best;
  double figure;    /* of the best; less is better */
  double linear_l2; /* of the linear model that nets begin as; 0: to be chosen */
} steps_search;

static net_steps steps_of(const fw_plan *plan) {
  net_steps steps = {.rate = plan->train.lr};
  for (size_t i = 0; i < plan->graph.count; i++) {
    const fw_layer *layer = &plan->graph.layers[i];
    if (layer->type == FW_LAYER_FC) steps.fc_l2 = layer->optimizer.l2;
    if (layer->type == FW_LAYER_INPUT) steps.l2 = layer->optimizer.l2;
  }
  return steps;
}

static void put_steps(fw_plan *plan, net_steps steps) {
  plan->train.lr = steps.rate;
  for (size_t i = 0; i < plan->graph.count; i++) {
    fw_layer *layer = &plan->graph.layers[i];
    layer->optimizer.l2 = layer->type == FW_LAYER_FC ? steps.fc_l2 : steps.l2;
  }
}

/* A net that diverges is none of the best. */
static furrow_status try_steps(steps_search *s, net_steps steps, furrow_error *err) {
  fw_fit *f = s->fit;
  furrow_error found;
  uint32_t epochs = 0;
  fw_prepared data = data_of_part(f, f->data->train, f->data->valid, &s->progress);
  fw_fit part = part_of(f, &data, s->linear_l2);
  part.keep_best = false;
  part.best_figure = HUGE_VAL;
  put_steps(f->trainer->plan, steps);
  const furrow_status status = fw_fit_run_part(&part, &epochs, &found);
  if (status == FURROW_OK) s->linear_l2 = ((const net_fit *)part.state)->start.l2;
  if (status == FURROW_OK && part.best_figure < s->figure) {
    s->figure = part.best_figure;
    s->best = steps;
  }
  clear_part(&part);
  s->progress.done++;
  f->trainer->steps.diverged = false;
  if (status != FURROW_OK && status != FURROW_E_RANGE && err) *err = found;
  return status == FURROW_E_RANGE ? FURROW_OK : status;
}

/* Stronger L2, then smaller steps with the better of the two as long as that is better. If the caller stops, the
 * training will say so. */
static furrow_status search_steps(fw_fit *f, furrow_error *err) {
  enum { STRONGER = 6, SLOWER = 3, TIMES_SLOWER = 2 };
  furrow_trainer *t = f->trainer;
  const net_steps usual = steps_of(t->plan);
  steps_search s = {.fit = f,
                    .progress = {.fit = f, .phase = "choosing rate and l2", .of = 2 + TIMES_SLOWER},
                    .best = usual,
                    .figure = HUGE_VAL,
                    .linear_l2 = f->linear_l2};
  furrow_status status = try_steps(&s, usual, err);
  if (status == FURROW_OK)
    status = try_steps(&s, (net_steps){usual.rate, usual.l2 * STRONGER, usual.fc_l2 * STRONGER}, err);
  double rate = usual.rate;
  for (unsigned i = 0; status == FURROW_OK && i < TIMES_SLOWER && s.best.rate == rate; i++) {
    rate /= SLOWER;
    status = try_steps(&s, (net_steps){rate, s.best.l2, s.best.fc_l2}, err);
  }
  put_steps(t->plan, s.best);
  f->linear_l2 = s.linear_l2;
  FW_TRY(status == FURROW_END ? FURROW_OK : status);
  const bool fc = fw_conf_is_set(t->conf, FW_KEY_FC_L2);
  return fw_trainer_settle_keys(
      t, &(fw_settled){.lr = {true, s.best.rate}, .l2 = {true, s.best.l2}, .fc_l2 = {fc, s.best.fc_l2}}, err);
}

furrow_status fw_net_choose_steps(fw_fit *f, furrow_error *err) {
  const bool judged = f->data->valid && fw_prepared_valid_block(f->data);
  const bool tries = f->solver == &fw_solve_net && f->data->tries_steps && judged;
  return tries ? run_before(f, search_steps, err) : FURROW_OK;
}

/* ---- All rows ---- */

static furrow_status train_all(fw_fit *f, double l2, uint32_t epochs, double *loss, furrow_error *err) {
  fw_epoch_rows *all = NULL;
  part_progress progress = {.fit = f, .phase = "training with all rows", .of = epochs};
  furrow_status status = fw_prepared_share(f->data, fw_prepared_open_all(f->data, &all, err), err);
  fw_prepared data = data_of_part(f, all, NULL, &progress);
  data.params.epoch = count_epoch;
  data.params.epoch_user = &progress;
  fw_fit part = part_of(f, &data, l2);
  part.epochs = epochs;
  uint32_t last;
  if (status == FURROW_OK) status = fw_fit_run_part(&part, &last, err);
  *loss = progress.loss;
  clear_part(&part);
  fw_epoch_rows_close(all);
  return status;
}

/* A net that begins from other numbers may need an epoch more until it finds anything. */
static furrow_status keep_net_of_part(fw_fit *f, double loss, double loss_before, furrow_error *err) {
  FW_TRY(fw_prepared_share(f->data, fw_fit_restore_best(f, err), err));
  return fw_trainer_note(f->trainer, false, err,
                         "interactions help; with all rows the training ended with a loss of %.6g instead of %.6g, so "
                         "the model is the one that was trained without the held-out rows",
                         loss, loss_before);
}

/* The better model, trained with all rows. *epochs: as many as were best for the validation rows. */
static furrow_status choose_of_all(fw_fit *f, const fw_linear_start *start, fw_comparison *c, furrow_error *err) {
  const double repeated = 1.25; /* a training repeats a loss if its own is not a quarter higher */
  const furrow_trainer *t = f->trainer;
  uint32_t epochs = t->best;
  double loss = 0;
  FW_TRY(compare_folds(f, start->l2, c, &epochs, err));
  FW_TRY(fw_linear_start_fall_back(start, f, c, err));
  if (f->trainer->fell_back) return FURROW_OK;
  FW_TRY(train_all(f, start->l2, epochs, &loss, err));
  const uint32_t known = epochs < t->epochs ? epochs : t->epochs;
  const double loss_before = known > 0 ? t->history[known - 1].train.loss : HUGE_VAL;
  if (loss > repeated * loss_before) return keep_net_of_part(f, loss, loss_before, err);
  const double unit = fw_fit_loss_unit(f) / c->weight;
  return fw_trainer_note(f->trainer, false, err,
                         "interactions help: the loss of held-out rows is %.6g, and %.6g with a linear model (%.1f "
                         "standard errors better); the model was trained with all %" PRIu64 " rows, for %u epochs",
                         c->losses[1] * unit, c->losses[0] * unit, fw_comparison_errors(c), f->data->samples->all_rows,
                         epochs);
}

/* Validation data of the caller's own decides alone, and is not trained with. If the caller stops, or training with all
 * rows diverges, the net of the training rows is kept. */
static furrow_status finish_net(fw_fit *f, furrow_error *err) {
  const fw_linear_start *start = &((const net_fit *)f->state)->start;
  const bool again = f->data->from_scratch && !f->data->valid_samples && !f->data->sampled && f->keep_best &&
                     !f->stopped && !start->rescued;
  fw_comparison c = {0};
  fw_fit fit = in_memory(f);
  furrow_error found;
  if (!fw_linear_start_can_compare(start, &fit)) return FURROW_OK;
  FW_TRY(fw_linear_start_compare(start, &fit, &c, err));
  if (again && f->trainer->plan->train.recommended) {
    const furrow_status status = choose_of_all(f, start, &c, &found);
    const bool undone = status == FURROW_END || status == FURROW_E_RANGE;
    if (status != FURROW_OK && !undone && err) *err = found;
    if (!undone) return status;
    f->stopped = status == FURROW_END;
    FW_TRY(fw_prepared_share(f->data, fw_fit_restore_best(f, err), err));
  }
  return fw_linear_start_fall_back(start, &fit, &c, err);
}

const fw_solver fw_solve_net = {.begin = begin_net,
                                .train = train_epoch,
                                .finish = finish_net,
                                .rescue = rescue_net,
                                .free = free_net_fit,
                                .can_diverge = true};
