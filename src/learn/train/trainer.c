/* learn/train/trainer.c: a net that is trained, batch by batch; or a forest, which fit alone can train. */
#include "learn/train/trainer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/conf/conf_data.h"
#include "learn/data/minibatch.h"
#include "learn/forest/forest.h"
#include "learn/parameters/parameters.h"
#include "learn/score/scorer.h"
#include "rows/encode/encoder.h"

/* ---- Open and close ------------------------------------------------------------------------------------- */

furrow_status fw_trainer_new_parameters(const furrow_trainer *trainer, fw_parameters **parameters, furrow_error *err) {
  const fw_parameters_params params = {.training = true,
                                       .seed = trainer->plan->train.seed,
                                       .max_features = trainer->max_features,
                                       .comm = trainer->comm};
  return fw_parameters_create(parameters, trainer->plan, &params, err);
}

furrow_status fw_trainer_adopt(furrow_trainer *trainer, fw_parameters *parameters, furrow_error *err) {
  fw_net_solver *solver = NULL;
  FW_TRY(fw_net_solver_create(&solver, parameters, trainer->pool, &trainer->steps, trainer->max_features, err));
  fw_net_solver_free(trainer->solver);
  fw_parameters_free(trainer->parameters);
  trainer->solver = solver;
  trainer->parameters = parameters;
  return FURROW_OK;
}

furrow_status fw_trainer_restart(furrow_trainer *trainer, furrow_error *err) {
  fw_parameters *parameters = NULL;
  FW_TRY(fw_trainer_new_parameters(trainer, &parameters, err));
  const furrow_status status = fw_trainer_adopt(trainer, parameters, err);
  if (status != FURROW_OK) fw_parameters_free(parameters);
  return status;
}

static furrow_status open_net(furrow_trainer *trainer, const furrow_trainer_params *params, furrow_error *err) {
  FW_TRY(fw_trainer_restart(trainer, err));
  if (!params->load) return FURROW_OK;
  FW_TRY(fw_parameters_load(trainer->parameters, params->load, FURROW_FC_IN_OUT, params->threads, err));
  return fw_parameters_wake(trainer->parameters, &trainer->loaded_linear, err);
}

bool furrow_trainer_is_exact(const furrow_trainer *trainer) {
  return trainer->seen.exact;
}

/* ---- Notes ---- */

furrow_status fw_trainer_note(furrow_trainer *trainer, bool warning, furrow_error *err, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  FW_TRY(FW_GROW(&trainer->notes, &trainer->note_capacity, trainer->note_count + 1, err));
  fw_note *note = &trainer->notes[trainer->note_count];
  *note = (fw_note){.warning = warning};
  FW_TRY(fw_strndup(&note->text, text, strlen(text), err));
  trainer->note_count++;
  return FURROW_OK;
}

void fw_trainer_clear_notes(furrow_trainer *trainer) {
  for (size_t i = 0; i < trainer->note_count; i++) fw_free(trainer->notes[i].text);
  trainer->note_count = 0;
}

size_t furrow_trainer_note_count(const furrow_trainer *trainer) {
  return trainer->note_count;
}

const char *furrow_trainer_get_note(const furrow_trainer *trainer, size_t i, bool *warning) {
  if (i >= trainer->note_count) return NULL;
  if (warning) *warning = trainer->notes[i].warning;
  return trainer->notes[i].text;
}

/* ---- Another plan --------------------------------------------------------------------------------------- */

/* A graph of other shapes has nothing to take over; one that was trained, or loaded, has the same. */
static furrow_status replace_net(furrow_trainer *trainer, furrow_error *err) {
  return trainer->loaded || trainer->trained ? fw_trainer_forget_steps(trainer, err) : fw_trainer_restart(trainer, err);
}

furrow_status fw_trainer_forget_steps(furrow_trainer *trainer, furrow_error *err) {
  fw_parameters *parameters = NULL;
  furrow_status status = fw_trainer_new_parameters(trainer, &parameters, err);
  if (status == FURROW_OK) status = fw_parameters_copy(parameters, trainer->parameters, err);
  if (status == FURROW_OK) status = fw_trainer_adopt(trainer, parameters, err);
  if (status == FURROW_OK)
    trainer->steps.count = 0;
  else
    fw_parameters_free(parameters);
  return status;
}

static furrow_status replace_forest(furrow_trainer *trainer, furrow_error *err) {
  const fw_plan *plan = trainer->plan;
  fw_forest *forest = NULL;
  if (trainer->loaded || trainer->forest->trees > 0) return FURROW_OK;
  FW_TRY(fw_forest_create(&forest, plan->graph.outputs, plan->forest.levels, true, err));
  fw_forest_free(trainer->forest);
  trainer->forest = forest;
  return FURROW_OK;
}

static void take_conf(furrow_trainer *trainer, furrow_learn_conf *conf) {
  furrow_learn_conf_free(trainer->conf);
  trainer->conf = conf;
}

furrow_status fw_trainer_settle_keys(furrow_trainer *trainer, const fw_settled *settled, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  FW_TRY(fw_conf_settle(&conf, trainer->conf, settled, err));
  take_conf(trainer, conf);
  return FURROW_OK;
}

furrow_status fw_trainer_settle_base(furrow_trainer *trainer, int base, furrow_error *err) {
  const fw_settled settled = {.index_base = {true, (uint64_t)base}};
  FW_TRY(fw_trainer_settle_keys(trainer, &settled, err));
  trainer->plan->data.index_base = base;
  return FURROW_OK;
}

furrow_status fw_trainer_settle(furrow_trainer *trainer, const fw_settled *settled, furrow_error *err) {
  fw_plan *before = trainer->plan, *plan = NULL;
  FW_TRY(fw_trainer_settle_keys(trainer, settled, err));
  FW_TRY(fw_plan_of_conf(&plan, trainer->conf, err));
  trainer->plan = plan;
  const furrow_status status = trainer->forest ? replace_forest(trainer, err) : replace_net(trainer, err);
  if (status != FURROW_OK) trainer->plan = before;
  fw_plan_free(status == FURROW_OK ? before : plan);
  return status;
}

/* ---- What is trained, as checkpoints take it ---- */

fw_snapshot_ops fw_trainer_snapshot_ops(const furrow_trainer *trainer) {
  return trainer->forest ? fw_forest_snapshot_ops(trainer->forest, trainer->plan)
                         : fw_parameters_snapshot_ops(trainer->parameters);
}

furrow_status fw_trainer_new_object(const furrow_trainer *trainer, fw_snapshot_ops *made, furrow_error *err) {
  fw_parameters *parameters = NULL;
  fw_forest *forest = NULL;
  if (trainer->forest) {
    FW_TRY(fw_forest_create(&forest, trainer->forest->classes, trainer->forest->levels, true, err));
    *made = fw_forest_snapshot_ops(forest, trainer->plan);
    return FURROW_OK;
  }
  FW_TRY(fw_trainer_new_parameters(trainer, &parameters, err));
  *made = fw_parameters_snapshot_ops(parameters);
  return FURROW_OK;
}

furrow_status fw_trainer_adopt_object(furrow_trainer *trainer, void *object, furrow_error *err) {
  if (!trainer->forest) return fw_trainer_adopt(trainer, object, err);
  fw_forest_free(trainer->forest);
  trainer->forest = object;
  return FURROW_OK;
}

void fw_trainer_free_object(const furrow_trainer *trainer, void *object) {
  if (trainer->forest)
    fw_forest_free(object);
  else
    fw_parameters_free(object);
}

/* ---- Weights of classes ---------------------------------------------------------------------------------- */

static furrow_status make_factors(furrow_trainer *trainer, const fw_class_weights *weights, const uint64_t *rows,
                                  furrow_error *err) {
  const size_t classes = fw_plan_classes(trainer->plan);
  double *factors = NULL;
  if (!fw_class_weights_are_used(weights)) return FURROW_OK;
  if (weights->balanced && !rows) {
    fw_fail(err, FURROW_E_ARGUMENT, "class-weights=balanced: the rows of each class are not counted");
    fw_error_set_hint(err, "train from data that can be read twice, or list the weights: 1,2.5");
    return FURROW_E_ARGUMENT;
  }
  FW_TRY(FW_ALLOC(&factors, classes, err));
  fw_class_weights_factors(weights, rows, classes, factors);
  fw_free(trainer->class_factors);
  trainer->class_factors = factors;
  trainer->plan->data.class_factors = factors;
  return FURROW_OK;
}

furrow_status fw_trainer_weigh_classes(furrow_trainer *trainer, const uint64_t *rows, furrow_error *err) {
  fw_class_weights weights = {0};
  FW_TRY(fw_class_weights_parse(&weights, trainer->plan->data.class_weights, err));
  furrow_status status = make_factors(trainer, &weights, rows, err);
  fw_class_weights_clear(&weights);
  return status;
}

void fw_trainer_weigh_rows(furrow_trainer *trainer) {
  trainer->plan->data.class_factors = NULL;
}

/* ---- Models to go on from --------------------------------------------------------------------------------------- */

/* Takes over from the model what the data would tell. Angel's models do not have this information. */
static furrow_status inherit(furrow_trainer *trainer, const char *folder, furrow_error *err) {
  furrow_learn_conf *model = NULL, *made = NULL;
  furrow_status status = fw_model_read_conf(&model, folder, err);
  if (status == FURROW_E_NOT_FOUND) return FURROW_OK;
  if (status == FURROW_OK) status = fw_conf_inherit(&made, trainer->conf, model, err);
  if (status == FURROW_OK) {
    take_conf(trainer, made);
    trainer->loaded_features = model->features;
  }
  furrow_learn_conf_free(model);
  return status;
}

static const char *text_of(const char *text) {
  return text ? text : "";
}

static furrow_status compare_forests(const fw_plan *its, const fw_plan *plan, furrow_error *err) {
  if (!its->forest.used) return fw_fail(err, FURROW_E_ARGUMENT, "not a model of gbdt");
  const char *loss = fw_objective_name(its->graph.loss);
  if (its->graph.loss != plan->graph.loss) {
    fw_fail(err, FURROW_E_ARGUMENT, "its objective is %s, not %s", loss, fw_objective_name(plan->graph.loss));
    fw_error_set_hint(err, "set the key `objective` to %s", loss);
  } else if (its->graph.outputs != plan->graph.outputs) {
    fw_fail(err, FURROW_E_ARGUMENT, "it has %zu classes, not %zu", its->graph.outputs, plan->graph.outputs);
    fw_error_set_hint(err, "set the key `classes` to %zu", its->graph.outputs);
  } else if (its->graph.quantile < plan->graph.quantile || its->graph.quantile > plan->graph.quantile) {
    fw_fail(err, FURROW_E_ARGUMENT, "its quantile is %g, not %g", its->graph.quantile, plan->graph.quantile);
    fw_error_set_hint(err, "set the key `quantile` to %g", its->graph.quantile);
  } else if (strcmp(text_of(its->forest.monotone), text_of(plan->forest.monotone)) != 0) {
    fw_fail(err, FURROW_E_ARGUMENT, "its trees are monotone in \"%s\", not in \"%s\"", text_of(its->forest.monotone),
            text_of(plan->forest.monotone));
    fw_error_set_hint(err, "set the key `monotone` to what the model has");
  } else if (its->train.lr != plan->train.lr) {
    fw_fail(err, FURROW_E_ARGUMENT, "its learning rate is %g, not %g, and all trees of a model have one", its->train.lr,
            plan->train.lr);
    fw_error_set_hint(err, "set the key `lr` to %g", its->train.lr);
  } else {
    return FURROW_OK;
  }
  return FURROW_E_ARGUMENT;
}

/* Checks that the trees to be added fit what the model says of itself. Angel's models say nothing. */
static furrow_status check_model(const fw_plan *plan, const char *folder, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  fw_plan *its = NULL;
  furrow_status status = fw_model_read_conf(&conf, folder, err);
  if (status == FURROW_E_NOT_FOUND) return FURROW_OK;
  if (status == FURROW_OK) status = fw_plan_of_conf(&its, conf, err);
  if (status == FURROW_OK) status = compare_forests(its, plan, err);
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, folder);
  fw_plan_free(its);
  furrow_learn_conf_free(conf);
  return status;
}

/* Trees can be added to a model only if its trees have the same number of levels. */
static furrow_status load_forest(furrow_trainer *trainer, const furrow_trainer_params *params, furrow_error *err) {
  furrow_status status = check_model(trainer->plan, params->load, err);
  if (status == FURROW_OK) status = fw_forest_load(&trainer->forest, trainer->plan, params->load, params->threads, err);
  if (status != FURROW_OK) return status;
  const unsigned levels = trainer->plan->forest.levels;
  if (trainer->forest->levels == levels) return fw_forest_add_stats(trainer->forest, err);
  const unsigned depth = trainer->forest->levels - 1;
  status = fw_fail(err, FURROW_E_ARGUMENT, "its trees are %u splits deep, not %u", depth, levels - 1);
  fw_error_set_hint(err, "set the key `depth` to %u", depth);
  fw_error_set_file(err, params->load);
  return status;
}

static furrow_status open_forest(furrow_trainer *trainer, const furrow_trainer_params *params, furrow_error *err) {
  const fw_plan *plan = trainer->plan;
  if (params->max_features > 0) return fw_fail(err, FURROW_E_ARGUMENT, "max-features is not for gbdt");
  if (params->load) return load_forest(trainer, params, err);
  return fw_forest_create(&trainer->forest, plan->graph.outputs, plan->forest.levels, true, err);
}

/* Takes over how often each feature occurred before. */
static furrow_status take_earlier(furrow_trainer *trainer, const furrow_encoder *model, furrow_error *err) {
  FW_TRY(fw_dictionary_feature_sums(&model->dictionary, model->schema, &trainer->earlier, err));
  trainer->earlier_features = model->dictionary.features;
  trainer->earlier_rows = model->dictionary.records;
  return FURROW_OK;
}

/* Whether the dictionary of the samples is the model's with more names. */
static furrow_status compare_names(furrow_trainer *trainer, const char *samples, const char *model, bool *fits,
                                   furrow_error *err) {
  furrow_encoder *grown = NULL, *before = NULL;
  furrow_status status = furrow_encoder_load(&grown, samples, err);
  if (status == FURROW_OK) status = furrow_encoder_load(&before, model, err);
  if (status == FURROW_OK) *fits = fw_dictionary_extends(&grown->dictionary, &before->dictionary);
  if (status == FURROW_OK && *fits) status = take_earlier(trainer, before, err);
  furrow_encoder_free(before);
  furrow_encoder_free(grown);
  return status;
}

/* Checks that the features of the samples have the numbers that they have in the model. */
static furrow_status compare_dictionaries(furrow_trainer *trainer, const char *folder, furrow_error *err) {
  const char *encoder = furrow_learn_conf_get(trainer->conf, "encoder");
  char samples[17], model[17];
  bool there = false, fits = false;
  if (!encoder[0]) return FURROW_OK;
  FW_TRY(fw_encoder_in_directory(folder, &there, err));
  if (!there) return FURROW_OK;
  FW_TRY(fw_encoder_digest(encoder, samples, err));
  FW_TRY(fw_encoder_digest(folder, model, err));
  if (strcmp(samples, model) == 0) return FURROW_OK;
  FW_TRY(compare_names(trainer, encoder, folder, &fits, err));
  if (fits) return FURROW_OK;
  fw_fail(err, FURROW_E_STATE, "its dictionary is not the one that the samples are read with");
  fw_error_set_file(err, folder);
  return FURROW_E_STATE;
}

static furrow_status open_alone(furrow_trainer *trainer, const furrow_learn_conf *conf,
                                const furrow_trainer_params *params, furrow_error *err) {
  trainer->hogwild = params->hogwild;
  trainer->max_features = params->max_features;
  trainer->loaded = params->load != NULL;
  furrow_status status = params->load ? fw_model_check_scores(params->load, err) : FURROW_OK;
  if (status == FURROW_OK) status = fw_learn_conf_copy(&trainer->given, conf, err);
  if (status == FURROW_OK) status = fw_learn_conf_copy(&trainer->conf, conf, err);
  if (status == FURROW_OK && params->load && fw_conf_recommends(conf)) status = inherit(trainer, params->load, err);
  if (status == FURROW_OK) status = fw_plan_of_conf(&trainer->plan, trainer->conf, err);
  if (status == FURROW_OK && !trainer->plan->data.has_label) {
    status = fw_fail(err, FURROW_E_ARGUMENT, "training needs labels, and the configuration says that rows have none");
  }
  if (status == FURROW_OK) status = fw_spin_pool_create(&trainer->pool, params->threads, err);
  if (status != FURROW_OK) return status;
  return trainer->plan->forest.used ? open_forest(trainer, params, err) : open_net(trainer, params, err);
}

static furrow_status open_trainer(furrow_trainer *trainer, const furrow_learn_conf *conf,
                                  const furrow_trainer_params *params, furrow_error *err) {
  FW_TRY(fw_comm_of(&trainer->comm, params->comm, err));
  furrow_path_watch *watch = NULL;
  furrow_status status = params->load ? furrow_path_watch_begin(&watch, params->load, err) : FURROW_OK;
  if (status == FURROW_OK) status = open_alone(trainer, conf, params, err);
  if (status == FURROW_OK && watch) status = compare_dictionaries(trainer, params->load, err);
  if (watch) status = furrow_path_watch_end(watch, status, err);
  return fw_comm_share_status(trainer->comm, status, err);
}

furrow_status furrow_trainer_create(furrow_trainer **trainer, const furrow_learn_conf *conf,
                                    const furrow_trainer_params *params, furrow_error *err) {
  furrow_trainer_params used;
  furrow_trainer_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_trainer_params, err));
  furrow_trainer *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = open_trainer(made, conf, &used, err);
  if (made->comm) status = fw_comm_share_status(made->comm, status, err);
  return FW_HAND_OVER(status, trainer, made, furrow_trainer_free);
}

void furrow_trainer_free(furrow_trainer *trainer) {
  if (!trainer) return;
  fw_spin_pool_free(trainer->pool);
  fw_net_solver_free(trainer->solver);
  fw_parameters_free(trainer->parameters);
  fw_forest_free(trainer->forest);
  fw_plan_free(trainer->plan);
  furrow_learn_conf_free(trainer->conf);
  furrow_learn_conf_free(trainer->given);
  fw_trainer_clear_notes(trainer);
  fw_free(trainer->notes);
  fw_free(trainer->history);
  fw_free(trainer->class_factors);
  fw_free(trainer->earlier);
  fw_free(trainer);
}

/* Writes the number of rounds that the forest has: more than configured where a model was trained further, fewer where
 * the best round was kept. */
static furrow_status save_forest(const furrow_trainer *trainer, const fw_buffer *about, const char *folder,
                                 const furrow_trainer_save_params *params, furrow_error *err) {
  const fw_forest *forest = trainer->forest;
  const fw_settled settled = {.trees = {forest->trees > 0, forest->trees / forest->classes}};
  furrow_learn_conf *conf = NULL;
  furrow_status status = fw_conf_settle(&conf, trainer->conf, &settled, err);
  if (status == FURROW_OK) status = fw_forest_save(forest, trainer->plan, conf, about, folder, params, err);
  furrow_learn_conf_free(conf);
  return status;
}

furrow_status furrow_trainer_save(const furrow_trainer *trainer, const char *folder,
                                  const furrow_trainer_save_params *params, furrow_error *err) {
  fw_buffer about = {0};
  furrow_trainer_save_params used;
  furrow_trainer_save_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_trainer_save_params, err));
  furrow_status status = fw_model_json_write(trainer, used.folds, used.folds ? used.fold_count : 0, &about, err);
  status = fw_comm_share_status(trainer->comm, status, err);
  if (status == FURROW_OK && !trainer->forest) {
    status = fw_parameters_save(trainer->parameters, trainer->conf, &about, folder, params, err);
  } else if (status == FURROW_OK) { /* all ranks have all trees */
    if (fw_comm_is_first(trainer->comm)) status = save_forest(trainer, &about, folder, params, err);
    status = fw_comm_share_status(trainer->comm, status, err);
  }
  fw_buffer_clear(&about);
  return status;
}

/* ---- Rows of a block ------------------------------------------------------------------------------------ */

typedef struct block_rows {
  const furrow_rowblock *block;
  size_t at;
} block_rows;

static furrow_status fill_from_block(void *source, fw_batcher *batcher, size_t rows, uint64_t *number, size_t *count,
                                     furrow_error *err) {
  block_rows *from = source;
  furrow_status status = FURROW_OK;
  size_t n = 0;
  for (; status == FURROW_OK && n < rows && from->at < from->block->size; n++) {
    const furrow_row row = furrow_rowblock_row(from->block, from->at);
    number[n] = ++from->at;
    status = fw_batcher_add(batcher, &row, err);
    if (status != FURROW_OK) fw_error_prefix_row(err, number[n]);
  }
  *count = n;
  return status;
}

static furrow_status step(furrow_trainer *trainer, const furrow_rowblock *batch, double *loss, furrow_error *err) {
  block_rows rows = {.block = batch};
  const fw_row_source from = {.fill = fill_from_block, .source = &rows, .rows = batch->size};
  const uint32_t epoch = trainer->epochs ? (uint32_t)trainer->epochs : 1;
  double mean = 0;
  const furrow_status status = fw_net_solver_step(trainer->solver, &from, epoch, &mean, err);
  trainer->trained |= trainer->steps.count > 0;
  if (status == FURROW_OK && loss) *loss = mean;
  return status;
}

/* Uses the class weights of the last fit, if there was one. */
static furrow_status weigh_step(furrow_trainer *trainer, furrow_error *err) {
  if (!trainer->class_factors) return fw_trainer_weigh_classes(trainer, NULL, err);
  trainer->plan->data.class_factors = trainer->class_factors;
  return FURROW_OK;
}

furrow_status furrow_trainer_step(furrow_trainer *trainer, const furrow_rowblock *batch, double *loss,
                                  furrow_error *err) {
  if (trainer->forest) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "trees are not trained step by step");
    fw_error_set_hint(err, "use furrow_trainer_fit");
    return FURROW_E_UNSUPPORTED;
  }
  if (fw_loss_ranks(trainer->plan->graph.loss)) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "%s needs the items of all rows: it is not trained step by step",
            fw_loss_name(trainer->plan->graph.loss));
    fw_error_set_hint(err, "use furrow_trainer_fit");
    return FURROW_E_UNSUPPORTED;
  }
  furrow_status status = weigh_step(trainer, err);
  if (status == FURROW_OK) status = step(trainer, batch, loss, err);
  fw_trainer_weigh_rows(trainer);
  return status;
}

/* ---- Evaluation ----------------------------------------------------------------------------------------- */

static furrow_status evaluate_forest(const furrow_trainer *trainer, const furrow_rowblock *rows,
                                     furrow_learn_metrics *metrics, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_evaluation *evaluation = NULL;
  furrow_status status = furrow_scorer_create(&scorer, trainer, err);
  if (status == FURROW_OK) status = furrow_scorer_scratch_create(&space, scorer, err);
  if (status == FURROW_OK) status = furrow_evaluation_create(&evaluation, scorer, err);
  status = fw_comm_all_ok(trainer->comm, status, err);
  if (status == FURROW_OK && trainer->comm->ranks > 1)
    status = fw_evaluation_add_ranks(evaluation, space, rows, trainer->comm, err);
  else if (status == FURROW_OK)
    status = furrow_evaluation_add_block(evaluation, space, rows, err);
  if (status == FURROW_OK) furrow_evaluation_get_metrics(evaluation, metrics);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  return status;
}

furrow_status furrow_trainer_evaluate(furrow_trainer *trainer, const furrow_rowblock *rows,
                                      furrow_learn_metrics *metrics, furrow_error *err) {
  enum { AT_ONCE = 512 };
  if (trainer->forest) return evaluate_forest(trainer, rows, metrics, err);
  block_rows block = {.block = rows};
  const fw_row_source from = {.fill = fill_from_block, .source = &block, .rows = AT_ONCE};
  fw_tally *tally = NULL;
  furrow_status status = fw_tally_create(&tally, &trainer->plan->graph, err);
  if (status == FURROW_OK)
    status =
        fw_net_solver_run(trainer->solver, &(fw_net_job){.from = &from, .take = fw_tally_batch, .user = tally}, err);
  if (status == FURROW_OK) {
    furrow_learn_metrics full;
    fw_tally_metrics(tally, &full);
    fw_info_write(metrics, &full, sizeof full);
  }
  fw_tally_free(tally);
  return status;
}

void furrow_trainer_get_fold_metrics(const furrow_trainer *trainer, furrow_learn_metrics *metrics) {
  fw_info_write(metrics, &trainer->fold, sizeof trainer->fold);
}

furrow_status furrow_scorer_create(furrow_scorer **scorer, const furrow_trainer *trainer, furrow_error *err) {
  return fw_scorer_create(scorer, trainer->conf, trainer->forest, trainer->parameters, err);
}
