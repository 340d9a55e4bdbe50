/* learn/train/solve_ranking.c: epochs of a factorization machine that learns to rank. Its vectors and weights are
 * trained in arrays of their own (learn/ranking) and copied into the parameters after each epoch.
 *
 * Rows that were held out choose the number of epochs. At the end the machine is trained again with all rows, for this
 * number of epochs. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"
#include "learn/data/samples.h"
#include "learn/ranking/ranking_machine.h"
#include "learn/train/fit.h"

typedef struct ranking_fit {
  fw_ranking_data data;
  fw_ranking_trainer *trainer;
  size_t weight, embedding; /* indices of parameters */
} ranking_fit;

static void free_ranking(void *state) {
  ranking_fit *ranking = state;
  if (!ranking) return;
  fw_ranking_trainer_free(ranking->trainer);
  fw_ranking_data_clear(&ranking->data);
  fw_free(ranking);
}

/* ---- What it cannot do ---- */

static furrow_status refuse_ranking(const fw_fit *f, const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_UNSUPPORTED, "%s is trained %s", fw_loss_name(f->trainer->plan->graph.loss), what);
}

static ranking_fit *ranking_of(const fw_fit *f) {
  return f->state;
}

static furrow_status check_ranking(const fw_fit *f, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  const fw_data_conf *data = &t->plan->data;
  if (!fw_samples_block(f->data->samples)) return refuse_ranking(f, "from rows in memory, not from streamed ones", err);
  if (t->comm->ranks > 1) return refuse_ranking(f, "by one process", err);
  if (f->data->params.checkpoint) return refuse_ranking(f, "without checkpoints", err);
  if (f->data->params.folds > 0) return refuse_ranking(f, "without folds, which would take users apart", err);
  if (data->sample_ratio < 1 || data->posneg_ratio > 0)
    return refuse_ranking(f, "with all rows: sample-ratio and posneg-ratio are not for it", err);
  return FURROW_OK;
}

/* ---- Vectors and weights, from the net and back ---- */

static void find_parameters(ranking_fit *rank, const fw_parameters *p) {
  const fw_graph *graph = &p->plan->graph;
  for (size_t i = 0; i < p->count; i++) {
    const fw_layer_type type = graph->layers[p->list[i].layer].type;
    if (type == FW_LAYER_INPUT && !p->list[i].bias) rank->weight = i;
    if (type == FW_LAYER_EMBEDDING) rank->embedding = i;
  }
}

/* Copies the first weights from the parameters: drawn by the seed, or of a model that is trained further. */
static furrow_status take_parameters(const ranking_fit *rank, fw_parameters *p, size_t factors, furrow_error *err) {
  const fw_ranking_numbers *features = &rank->data.features;
  for (size_t i = 0; i < features->count; i++) {
    FW_TRY(fw_parameters_make(p, features->key[i], err));
    const void *v = fw_parameters_feature(p, rank->embedding, features->key[i], 0);
    const void *w = fw_parameters_feature(p, rank->weight, features->key[i], 0);
    float *vector = fw_ranking_trainer_vector(rank->trainer, i);
    for (size_t k = 0; k < factors; k++) vector[k] = (float)fw_parameters_get(p, v, k);
    *fw_ranking_trainer_weight(rank->trainer, i) = (float)fw_parameters_get(p, w, 0);
  }
  return FURROW_OK;
}

static void put_parameters(const ranking_fit *rank, const fw_parameters *p, size_t factors) {
  const fw_ranking_numbers *features = &rank->data.features;
  for (size_t i = 0; i < features->count; i++) {
    void *v = fw_parameters_feature(p, rank->embedding, features->key[i], 0);
    void *w = fw_parameters_feature(p, rank->weight, features->key[i], 0);
    const float *vector = fw_ranking_trainer_vector(rank->trainer, i);
    for (size_t k = 0; k < factors; k++) fw_parameters_put(p, v, k, (double)vector[k]);
    fw_parameters_put(p, w, 0, (double)*fw_ranking_trainer_weight(rank->trainer, i));
  }
}

/* ---- Before the first epoch ---- */

static const fw_layer *embedding_of(const fw_fit *f) {
  const fw_graph *graph = &f->trainer->plan->graph;
  const fw_layer *layer = graph->layers;
  while (layer->type != FW_LAYER_EMBEDDING) layer++;
  return layer;
}

static furrow_status add_rows(const fw_fit *f, fw_ranking_data *data, fw_ranking_events *to, const fw_epoch_rows *rows,
                              furrow_error *err) {
  uint32_t *use = NULL;
  size_t count = 0;
  FW_TRY(fw_epoch_rows_list(rows, &use, &count, err));
  const furrow_status status = fw_ranking_data_add(data, to, fw_samples_block(f->data->samples), use, count, true, err);
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->data->samples));
  fw_free(use);
  return status;
}

/* Rows of separate validation data are used only as far as training knows their users and items. */
static furrow_status add_valid(const fw_fit *f, fw_ranking_data *data, furrow_error *err) {
  if (!f->data->valid) return FURROW_OK;
  if (!f->data->valid_samples) return add_rows(f, data, &data->valid, f->data->valid, err);
  const furrow_rowblock *rows = fw_samples_block(f->data->valid_samples);
  const furrow_status status = fw_ranking_data_add(data, &data->valid, rows, NULL, 0, false, err);
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->data->valid_samples));
  return status;
}

static furrow_status make_trainer(ranking_fit *rank, const fw_fit *f, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const fw_layer *embedding = embedding_of(f);
  const fw_ranking_params params = {.loss = plan->graph.loss,
                                    .optimizer = embedding->optimizer,
                                    .factors = embedding->factors,
                                    .batch = f->trainer->plan->train.batch,
                                    .negatives = plan->ranking.negatives,
                                    .popular = plan->ranking.popular,
                                    .seed = plan->train.seed,
                                    .pool = f->trainer->pool};
  FW_TRY(fw_ranking_data_finish(&rank->data, err));
  FW_TRY(fw_ranking_trainer_create(&rank->trainer, &rank->data, &params, err));
  find_parameters(rank, f->trainer->parameters);
  return take_parameters(rank, f->trainer->parameters, embedding->factors, err);
}

/* all: rows that were held out are included. */
static furrow_status make_fit(ranking_fit **rank, const fw_fit *f, bool all, furrow_error *err) {
  ranking_fit *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = fw_ranking_data_init(&made->data, &f->trainer->plan->ranking, err);
  if (status == FURROW_OK && all)
    status =
        fw_ranking_data_add(&made->data, &made->data.train, fw_samples_block(f->data->samples), NULL, 0, true, err);
  if (status == FURROW_OK && !all) status = add_rows(f, &made->data, &made->data.train, f->data->train, err);
  if (status == FURROW_OK && !all) status = add_valid(f, &made->data, err);
  if (status == FURROW_OK) status = make_trainer(made, f, err);
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, fw_samples_name(f->data->samples));
  return FW_HAND_OVER(status, rank, made, free_ranking);
}

static furrow_status note_rows(fw_fit *f, furrow_error *err) {
  const fw_ranking_data *data = &ranking_of(f)->data;
  if (data->other_rows > 0)
    FW_TRY(fw_trainer_note(f->trainer, false, err,
                           "%" PRIu64 " rows are not positives (labels %s): they are not used for training",
                           data->other_rows, data->conf->has_positive_from ? "below positive-from" : "of 0 or less"));
  if (data->unknown_items == 0) return FURROW_OK;
  return fw_trainer_note(f->trainer, false, err,
                         "%" PRIu64 " rows of the validation data have items that the training data does not: they are "
                         "not counted",
                         data->unknown_items);
}

/* Without validation rows no epoch is better than another, so their number is fixed. */
static furrow_status settle_epochs(fw_fit *f, furrow_error *err) {
  enum { EPOCHS = 30 };
  fw_train_conf *train = &f->trainer->plan->train;
  if (ranking_of(f)->data.valid.count > 0) return FURROW_OK;
  f->patience = 0;
  f->keep_best = false;
  if (fw_conf_is_set(f->trainer->conf, FW_KEY_EPOCHS)) return FURROW_OK;
  f->epochs = train->epochs = EPOCHS;
  return fw_trainer_note(f->trainer, false, err,
                         "no positives were held out to choose the number of epochs: it is %d (key `epochs`)", EPOCHS);
}

static furrow_status begin_ranking(fw_fit *f, furrow_error *err) {
  ranking_fit *ranking = NULL;
  FW_TRY(check_ranking(f, err));
  FW_TRY(make_fit(&ranking, f, false, err));
  f->state = ranking;
  if (f->data->valid && ranking_of(f)->data.valid.count == 0 && f->data->valid_samples)
    return fw_fail(err, FURROW_E_ARGUMENT, "no row of the validation data has an item of the training data");
  FW_TRY(settle_epochs(f, err));
  return note_rows(f, err);
}

/* ---- Epochs ---- */

/* Figures that a ranking does not have are NaN. */
static void fill_metrics(const fw_fit *f, furrow_learn_metrics *metrics, uint64_t rows, double loss) {
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  fw_tally_metrics(f->tally, metrics);
  metrics->rows = rows;
  metrics->weight = (double)rows;
  metrics->loss = loss;
}

static furrow_status train_epoch(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_seconds_now();
  const fw_layer *embedding = embedding_of(f);
  const fw_step step = fw_train_steps_next(&f->trainer->steps, &f->trainer->plan->train, epoch->shown.epoch);
  double loss = 0;
  epoch->shown.learning_rate = isnan(embedding->optimizer.lr) ? step.rate : embedding->optimizer.lr * step.scale;
  const furrow_status status =
      fw_ranking_trainer_epoch(ranking_of(f)->trainer, epoch->shown.epoch, epoch->shown.learning_rate, &loss, err);
  if (status != FURROW_OK) {
    fw_error_set_file(err, fw_samples_name(f->data->samples));
    return status;
  }
  put_parameters(ranking_of(f), f->trainer->parameters, embedding->factors);
  f->trainer->steps.count++;
  fill_metrics(f, &epoch->train, ranking_of(f)->data.train.count, loss);
  epoch->shown.seconds = fw_seconds_now() - start;
  return FURROW_OK;
}

static furrow_status validate_ranking(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  fw_ranking_validation figures = {0};
  if (ranking_of(f)->data.valid.count == 0) return FURROW_OK;
  FW_TRY(fw_ranking_trainer_validate(ranking_of(f)->trainer, &figures, err));
  if (figures.users == 0) return FURROW_OK;
  fill_metrics(f, &epoch->valid, figures.rows, figures.loss);
  epoch->valid.ndcg = figures.ndcg;
  return FURROW_OK;
}

/* Trains with all rows, from the first weights on, for the best number of epochs. */
static furrow_status train_all(fw_fit *f, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  FW_TRY(fw_trainer_restart(t, err));
  ranking_fit *ranking = NULL;
  free_ranking(f->state);
  f->state = NULL;
  FW_TRY(make_fit(&ranking, f, true, err));
  f->state = ranking;
  f->phase = "training with all rows";
  for (uint32_t i = 1; i <= t->best; i++) {
    fw_epoch epoch = {.shown = {.epoch = i}};
    FW_TRY(train_epoch(f, &epoch, err));
    const furrow_trainer_fit_params *p = &f->data->params;
    FW_TRY(fw_report_progress(p->progress, p->progress_user, f->phase, i, t->best, err));
  }
  return fw_trainer_note(
      t, false, err,
      "the held-out positives chose %u epochs; the model was then trained so long with all %zu positives", t->best,
      ranking_of(f)->data.train.count);
}

static furrow_status finish_ranking(fw_fit *f, furrow_error *err) {
  const bool held_out = f->data->valid && !f->data->valid_samples && ranking_of(f)->data.valid.count > 0;
  if (!held_out || !f->keep_best || f->trainer->best == 0 || !f->data->from_scratch) return FURROW_OK;
  return train_all(f, err);
}

const fw_solver fw_solve_ranking = {.begin = begin_ranking,
                                    .train = train_epoch,
                                    .validate = validate_ranking,
                                    .finish = finish_ranking,
                                    .free = free_ranking};
