/* learn/score/scorer.c: a model that scores rows. It does not change; what scoring writes is in the caller's scratch.
 */
#include "learn/score/scorer.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/io.h"
#include "io/uri.h"
#include "learn/conf/conf_data.h"
#include "learn/data/data_facts.h"
#include "learn/metrics/metrics.h"
#include "learn/nodes/forest_import.h"
#include "learn/parameters/parameters.h"

#define ROWS_AT_ONCE 256

/* ---- Opening ---- */

static furrow_status make_net(furrow_scorer *scorer, furrow_error *err) {
  FW_TRY(fw_additive_create(&scorer->additive, &scorer->plan->graph, err));
  FW_TRY(fw_parameters_create(&scorer->parameters, scorer->plan, &(fw_parameters_params){0}, err));
  return fw_net_create(&scorer->net, scorer->parameters, err);
}

static furrow_status make_predictor(furrow_scorer *scorer, furrow_error *err) {
  return fw_forest_predictor_create(&scorer->predictor, scorer->forest, scorer->plan->train.lr, err);
}

static bool has_trees(const furrow_scorer *scorer) {
  return scorer->forest || scorer->nodes;
}

/* The forest of another program: the model is its file, or a directory that has forest.nodes. */
static furrow_status load_nodes(furrow_scorer *scorer, const char *model, furrow_error *err) {
  FW_TRY(fw_node_forest_load_model(&scorer->nodes, model, err));
  fw_graph *graph = &scorer->plan->graph;
  if (scorer->nodes->classes != graph->outputs) {
    fw_fail(err, FURROW_E_FORMAT, FW_NODES_FILE " has %zu classes, but graph.json has %zu", scorer->nodes->classes,
            graph->outputs);
    fw_error_set_file(err, model);
    return FURROW_E_FORMAT;
  }
  if (scorer->nodes->link == FW_LINK_HINGE) graph->loss = FW_LOSS_HINGE;
  return fw_node_predictor_create(&scorer->node_predictor, scorer->nodes, err);
}

static furrow_status load_model(furrow_scorer *scorer, const char *folder, const furrow_scorer_params *params,
                                furrow_error *err) {
  if (scorer->plan->forest.used && fw_node_forest_is_at(folder)) return load_nodes(scorer, folder, err);
  if (scorer->plan->forest.used) {
    FW_TRY(fw_forest_load(&scorer->forest, scorer->plan, folder, params->threads, err));
    if (params->absent_is_zero)
      memset(scorer->forest->missing_flipped, 0, scorer->forest->trees * scorer->forest->nodes);
    return make_predictor(scorer, err);
  }
  FW_TRY(make_net(scorer, err));
  return fw_parameters_load(scorer->parameters, folder, params->fc_order, params->threads, err);
}

/* The names of the features, from the list of the key `columns`. */
static furrow_status read_names(furrow_scorer *scorer, furrow_error *err) {
  const char *list = furrow_learn_conf_get(scorer->conf, "columns");
  size_t count = 1;
  if (!list[0]) return FURROW_OK;
  for (const char *at = list; (at = strchr(at, ',')); at++) count++;
  FW_TRY(FW_ALLOC(&scorer->names, count, err));
  for (size_t length; list; list = list[length] ? list + length + 1 : NULL) {
    length = strcspn(list, ",");
    FW_TRY(fw_uri_decode(&scorer->names[scorer->name_count], list, length, err));
    scorer->name_count++;
  }
  return FURROW_OK;
}

static furrow_status finish(furrow_scorer **scorer, furrow_scorer *made, furrow_status status, furrow_error *err) {
  if (status == FURROW_OK) status = read_names(made, err);
  if (status == FURROW_OK && made->plan->data.encoder)
    status = furrow_encoder_load(&made->encoder, made->plan->data.encoder, err);
  if (status == FURROW_OK)
    status = fw_score_columns_init(&made->columns, made->encoder, made->names, made->name_count, err);
  if (status == FURROW_OK && made->forest) {
    made->forest->names = (const char *const *)made->names;
    made->forest->name_count = made->name_count;
  }
  return FW_HAND_OVER(status, scorer, made, furrow_scorer_free);
}

/* A model of Furrow's says itself how it was trained: one for which an algorithm is named is Angel's, and so are the
 * settings that nobody gives. */
static furrow_status copy_conf(furrow_learn_conf **copy, const furrow_learn_conf *conf, furrow_error *err) {
  FW_TRY(fw_learn_conf_copy(copy, conf, err));
  if (fw_conf_has_key(*copy, FW_KEY_DEFAULTS) || !fw_conf_recommends(*copy)) return FURROW_OK;
  return furrow_learn_conf_set(*copy, "defaults", "angel", err);
}

static furrow_status load_scorer(furrow_scorer **scorer, const char *folder, const furrow_scorer_params *params,
                                 furrow_error *err) {
  furrow_scorer *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status =
      params->conf ? copy_conf(&made->conf, params->conf, err) : fw_model_read_conf(&made->conf, folder, err);
  if (status == FURROW_OK) status = fw_plan_of_conf(&made->plan, made->conf, err);
  if (status == FURROW_OK) status = load_model(made, folder, params, err);
  return finish(scorer, made, status, err);
}

furrow_status furrow_scorer_load(furrow_scorer **scorer, const char *folder, const furrow_scorer_params *params,
                                 furrow_error *err) {
  furrow_scorer_params used;
  furrow_path_watch *watch = NULL;
  furrow_scorer *made = NULL;
  furrow_scorer_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_scorer_params, err));
  FW_TRY(furrow_path_watch_begin(&watch, folder, err));
  furrow_status status = load_scorer(&made, folder, &used, err);
  status = furrow_path_watch_end(watch, status, err);
  return FW_HAND_OVER(status, scorer, made, furrow_scorer_free);
}

static furrow_status copy_model(furrow_scorer *scorer, const fw_forest *forest, const fw_parameters *parameters,
                                furrow_error *err) {
  if (forest) {
    FW_TRY(fw_forest_copy(&scorer->forest, forest, err));
    return make_predictor(scorer, err);
  }
  FW_TRY(make_net(scorer, err));
  return fw_parameters_copy(scorer->parameters, parameters, err);
}

furrow_status fw_scorer_create(furrow_scorer **scorer, const furrow_learn_conf *conf, const fw_forest *forest,
                               const fw_parameters *parameters, furrow_error *err) {
  furrow_scorer *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = fw_learn_conf_copy(&made->conf, conf, err);
  if (status == FURROW_OK) status = fw_plan_of_conf(&made->plan, made->conf, err);
  if (status == FURROW_OK) status = copy_model(made, forest, parameters, err);
  return finish(scorer, made, status, err);
}

void furrow_scorer_free(furrow_scorer *scorer) {
  if (!scorer) return;
  fw_net_free(scorer->net);
  fw_parameters_free(scorer->parameters);
  furrow_encoder_free(scorer->encoder);
  fw_score_columns_clear(&scorer->columns);
  fw_free(scorer->additive);
  fw_forest_predictor_free(scorer->predictor);
  fw_forest_free(scorer->forest);
  fw_node_predictor_free(scorer->node_predictor);
  fw_node_forest_free(scorer->nodes);
  for (size_t i = 0; i < scorer->name_count; i++) fw_free(scorer->names[i]);
  fw_free((void *)scorer->names);
  fw_plan_free(scorer->plan);
  furrow_learn_conf_free(scorer->conf);
  fw_free(scorer);
}

const furrow_learn_conf *furrow_scorer_conf(const furrow_scorer *scorer) {
  return scorer->conf;
}

/* ---- A thread's scratch ---- */

static furrow_status make_pass(furrow_scorer_scratch *scratch, const furrow_scorer *scorer, furrow_error *err) {
  fw_batcher_params rules = fw_plan_rules(scorer->plan);
  rules.plain = true;
  FW_TRY(fw_batcher_create(&scratch->batcher, &rules, err));
  return scorer->net->ops->create_pass(&scratch->pass, scorer->net, err);
}

furrow_status furrow_scorer_scratch_create(furrow_scorer_scratch **scratch, const furrow_scorer *scorer,
                                           furrow_error *err) {
  furrow_scorer_scratch *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = scorer->nodes    ? fw_node_scratch_create(&made->node_scratch, scorer->node_predictor, err)
                         : scorer->forest ? fw_predict_scratch_create(&made->predict_scratch, scorer->predictor, err)
                                          : make_pass(made, scorer, err);
  const size_t rows = has_trees(scorer) ? ROWS_AT_ONCE : 1;
  if (status == FURROW_OK) status = FW_ALLOC(&made->outputs, scorer->plan->graph.outputs * rows, err);
  return FW_HAND_OVER(status, scratch, made, furrow_scorer_scratch_free);
}

void furrow_scorer_scratch_free(furrow_scorer_scratch *scratch) {
  if (!scratch) return;
  fw_batcher_free(scratch->batcher);
  fw_pass_free(scratch->pass);
  fw_predict_scratch_free(scratch->predict_scratch);
  fw_node_scratch_free(scratch->node_scratch);
  fw_explainer_free(scratch->explainer);
  fw_column_sums_clear(&scratch->columns);
  fw_free(scratch->outputs);
  fw_free(scratch);
}

/* ---- Scoring ---- */

/* Forward pass over rows that were added to the scratch's batcher. */
static furrow_status run_batch(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, fw_minibatch **batch,
                               furrow_error *err) {
  FW_TRY(fw_batcher_finish(scratch->batcher, batch, err));
  FW_TRY(scorer->net->ops->begin(scorer->net, scratch->pass, *batch, false, err));
  scorer->net->ops->forward(scorer->net, scratch->pass, 0, (*batch)->rows);
  return FURROW_OK;
}

furrow_status fw_scorer_run_row(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_row *row,
                                furrow_error *err) {
  fw_minibatch *batch = NULL;
  if (scorer->nodes) {
    fw_node_predict_row(scorer->node_predictor, scratch->node_scratch, row, scratch->outputs);
    return FURROW_OK;
  }
  if (scorer->forest) {
    fw_forest_predict_row(scorer->predictor, scratch->predict_scratch, row, scratch->outputs);
    return FURROW_OK;
  }
  fw_batcher_start(scratch->batcher);
  FW_TRY(fw_batcher_add(scratch->batcher, row, err));
  FW_TRY(run_batch(scorer, scratch, &batch, err));
  scorer->net->ops->outputs(scorer->net, scratch->pass, 0, scratch->outputs);
  return FURROW_OK;
}

/* The predicted class by the label that the data has. */
static void score_of(const furrow_scorer *scorer, const double *outputs, furrow_score *score) {
  const fw_data_conf *data = &scorer->plan->data;
  fw_loss_score(&scorer->plan->graph, outputs, score);
  if (data->label_count > 0) score->label = fw_class_label(data, score->label);
}

furrow_status furrow_scorer_score_row(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                      const furrow_row *row, furrow_score *score, furrow_error *err) {
  FW_TRY(fw_scorer_run_row(scorer, scratch, row, err));
  if (scorer->nodes) scratch->outputs[0] = fw_link_apply(scorer->nodes->link, scratch->outputs[0]);
  score_of(scorer, scratch->outputs, score);
  return FURROW_OK;
}

static void predict_rows(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                         fw_outputs_callback take, void *user) {
  const size_t outputs = scorer->plan->graph.outputs;
  const bool links = scorer->nodes && scorer->nodes->link != FW_LINK_NONE; /* of one output */
  for (size_t begin = 0; begin < block->size; begin += ROWS_AT_ONCE) {
    const size_t end = block->size - begin < ROWS_AT_ONCE ? block->size : begin + ROWS_AT_ONCE;
    if (scorer->nodes)
      fw_node_predict_rows(scorer->node_predictor, scratch->node_scratch, block, begin, end, scratch->outputs);
    else
      fw_forest_predict_rows(scorer->predictor, scratch->predict_scratch, block, begin, end, scratch->outputs);
    for (size_t i = begin; links && i < end; i++)
      scratch->outputs[i - begin] = fw_link_apply(scorer->nodes->link, scratch->outputs[i - begin]);
    for (size_t i = begin; i < end; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      take(user, i, fw_label_of(&scorer->plan->data, &row), (double)furrow_row_get_weight(&row),
           scratch->outputs + (i - begin) * outputs);
    }
  }
}

/* Scores rows begin … end - 1 of the block. */
static furrow_status run_rows(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                              size_t begin, size_t end, fw_minibatch **batch, furrow_error *err) {
  fw_batcher_start(scratch->batcher);
  for (size_t i = begin; i < end; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    FW_TRY(fw_batcher_add(scratch->batcher, &row, err));
  }
  return run_batch(scorer, scratch, batch, err);
}

furrow_status fw_scorer_run(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                            fw_outputs_callback take, void *user, furrow_error *err) {
  if (has_trees(scorer)) {
    predict_rows(scorer, scratch, block, take, user);
    return FURROW_OK;
  }
  for (size_t begin = 0; begin < block->size; begin += ROWS_AT_ONCE) {
    const size_t end = block->size - begin < ROWS_AT_ONCE ? block->size : begin + ROWS_AT_ONCE;
    fw_minibatch *batch = NULL;
    FW_TRY(run_rows(scorer, scratch, block, begin, end, &batch, err));
    for (size_t i = begin; i < end; i++) {
      scorer->net->ops->outputs(scorer->net, scratch->pass, i - begin, scratch->outputs);
      take(user, i, (double)batch->label[i - begin], batch->weight ? (double)batch->weight[i - begin] : 1.0,
           scratch->outputs);
    }
  }
  return FURROW_OK;
}

typedef struct score_list {
  const furrow_scorer *scorer;
  furrow_score *scores;
} score_list;

static void take_score(void *user, size_t row, double label, double weight, const double *outputs) {
  (void)label, (void)weight;
  const score_list *list = user;
  score_of(list->scorer, outputs, &list->scores[row]);
}

furrow_status furrow_scorer_score_block(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                        const furrow_rowblock *block, furrow_score *scores, furrow_error *err) {
  score_list list = {scorer, scores};
  return fw_scorer_run(scorer, scratch, block, take_score, &list, err);
}

double furrow_scorer_class_label(const furrow_scorer *scorer, size_t i) {
  const fw_graph *graph = &scorer->plan->graph;
  const fw_data_conf *data = &scorer->plan->data;
  const bool many = graph->loss == FW_LOSS_SOFTMAX;
  const bool classes = !fw_loss_is_regression(graph->loss) && !fw_loss_ranks(graph->loss);
  if (!classes || i >= (many ? graph->outputs : 2)) return NAN;
  if (data->label_count > 0) return data->labels[i];
  return many ? (double)i : 2 * (double)i - 1;
}

const char *furrow_scorer_feature_name(const furrow_scorer *scorer, uint64_t feature) {
  return feature < scorer->name_count ? scorer->names[feature] : NULL;
}

const furrow_encoder *furrow_scorer_encoder(const furrow_scorer *scorer) {
  return scorer->encoder;
}

size_t furrow_scorer_class_count(const furrow_scorer *scorer) {
  return scorer->plan->graph.outputs;
}

furrow_status furrow_scorer_class_probabilities(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                const furrow_row *row, double *proba, furrow_error *err) {
  FW_TRY(fw_scorer_run_row(scorer, scratch, row, err));
  const fw_graph *graph = &scorer->plan->graph;
  furrow_score score;
  fw_loss_score(graph, scratch->outputs, &score);
  if (graph->loss != FW_LOSS_SOFTMAX)
    *proba = score.proba;
  else
    for (size_t j = 0; j < graph->outputs; j++) proba[j] = score.proba * exp(scratch->outputs[j] - score.pred);
  return FURROW_OK;
}
