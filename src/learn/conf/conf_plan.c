/* learn/conf/conf_plan.c: a configuration resolved: a plan; and a plan by its keys. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/class_weights.h"
#include "learn/conf/conf_data.h"

/* A plan and what it holds: one allocation to free. */
typedef struct plan_memory {
  fw_plan plan;
  fw_arena arena;
} plan_memory;

void fw_plan_free(fw_plan *plan) {
  if (!plan) return;
  plan_memory *memory = plan->memory;
  fw_arena_clear(&memory->arena);
  fw_free(memory);
}

/* ---- Sections ---- */

static furrow_status keep_text(plan_memory *memory, const furrow_learn_conf *conf, fw_key key, const char **text,
                               furrow_error *err) {
  const char *value = fw_conf_value(conf, key).text;
  if (!value[0]) return FURROW_OK;
  return fw_arena_text(&memory->arena, text, value, strlen(value), err);
}

static furrow_status plan_data(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_data_conf *data = &memory->plan.data;
  data->index_base = (int)fw_conf_value(conf, FW_KEY_INDEX_BASE).integer;
  data->range = fw_conf_value(conf, FW_KEY_RANGE).integer;
  data->fields = fw_conf_value(conf, FW_KEY_FIELDS).integer;
  data->short_rows = fw_conf_value(conf, FW_KEY_SHORT_ROWS).integer != 0;
  data->valid_ratio = fw_conf_value(conf, FW_KEY_VALID_RATIO).real;
  data->sample_ratio = fw_conf_value(conf, FW_KEY_SAMPLE_RATIO).real;
  data->shuffle = fw_conf_value(conf, FW_KEY_SHUFFLE).integer != 0;
  data->posneg_ratio = fw_conf_value(conf, FW_KEY_POSNEG_RATIO).real;
  data->label = (fw_label_transform)fw_conf_value(conf, FW_KEY_LABEL).integer;
  data->threshold = fw_conf_value(conf, FW_KEY_THRESHOLD).real;
  data->has_label = fw_conf_value(conf, FW_KEY_HAS_LABEL).integer != 0;
  data->scale = fw_conf_value(conf, FW_KEY_SCALE).integer != 0;
  furrow_status status = keep_text(memory, conf, FW_KEY_FORMAT, &data->format, err);
  if (status == FURROW_OK) status = keep_text(memory, conf, FW_KEY_CLASS_WEIGHTS, &data->class_weights, err);
  if (status == FURROW_OK) status = keep_text(memory, conf, FW_KEY_COLUMNS, &data->columns, err);
  if (status == FURROW_OK) status = keep_text(memory, conf, FW_KEY_LABEL_COLUMN, &data->label_column, err);
  if (status == FURROW_OK) status = keep_text(memory, conf, FW_KEY_WEIGHT_COLUMN, &data->weight_column, err);
  if (status == FURROW_OK) status = keep_text(memory, conf, FW_KEY_DELIMITER, &data->delimiter, err);
  if (status == FURROW_OK) status = keep_text(memory, conf, FW_KEY_ENCODER, &data->encoder, err);
  return status == FURROW_OK ? keep_text(memory, conf, FW_KEY_DATA, &data->path, err) : status;
}

static furrow_status plan_model(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_model_conf *model = &memory->plan.model;
  const char *algorithm = fw_conf_algorithm(conf);
  model->algorithm = algorithm ? fw_builtin_find(algorithm) : NULL;
  model->row_type = (int32_t)fw_conf_value(conf, FW_KEY_MODEL_TYPE).integer;
  model->size = fw_conf_value(conf, FW_KEY_MODEL_SIZE).integer;
  model->block_size = fw_conf_value(conf, FW_KEY_BLOCK_SIZE).integer;
  furrow_status status = keep_text(memory, conf, FW_KEY_LOAD, &model->load_path, err);
  return status == FURROW_OK ? keep_text(memory, conf, FW_KEY_SAVE, &model->save_path, err) : status;
}

/* Rows of an update: batch where it is set, else the number of updates where that is set, else 128. Keys before the
 * file. */
static void plan_batch(fw_train_conf *train, const furrow_learn_conf *conf) {
  const bool by_key = fw_conf_has_key(conf, FW_KEY_UPDATES) && !fw_conf_has_key(conf, FW_KEY_BATCH);
  const bool by_updates = by_key || (fw_conf_is_set(conf, FW_KEY_UPDATES) && !fw_conf_is_set(conf, FW_KEY_BATCH));
  train->updates = (uint32_t)fw_conf_value(conf, FW_KEY_UPDATES).integer;
  train->batch = by_updates ? 0 : (uint32_t)fw_conf_value(conf, FW_KEY_BATCH).integer;
}

/* Angel's StandardDecay reads ml.learn.decay, which has a default: decay-alpha never counts. Here it does. */
static double decay_alpha(const furrow_learn_conf *conf, fw_decay_type decay) {
  const bool older = decay == FW_DECAY_STANDARD && !fw_conf_is_set(conf, FW_KEY_DECAY_ALPHA);
  return fw_conf_value(conf, older ? FW_KEY_LEARN_DECAY : FW_KEY_DECAY_ALPHA).real;
}

static void plan_train(fw_train_conf *train, const furrow_learn_conf *conf) {
  train->epochs = (uint32_t)fw_conf_value(conf, FW_KEY_EPOCHS).integer;
  plan_batch(train, conf);
  train->staleness = (uint32_t)fw_conf_value(conf, FW_KEY_STALENESS).integer;
  train->lr = fw_conf_value(conf, FW_KEY_LR).real;
  train->decay = (fw_decay_type)fw_conf_value(conf, FW_KEY_DECAY).integer;
  train->decay_alpha = decay_alpha(conf, train->decay);
  train->decay_beta = fw_conf_value(conf, FW_KEY_DECAY_BETA).real;
  train->decay_intervals = (uint32_t)fw_conf_value(conf, FW_KEY_DECAY_INTERVALS).integer;
  train->decay_on_batch = fw_conf_value(conf, FW_KEY_DECAY_ON_BATCH).integer != 0;
  train->seed = (uint64_t)fw_conf_value(conf, FW_KEY_SEED).integer;
  train->init_input = fw_conf_value(conf, FW_KEY_INIT_INPUT).real;
  train->init_embedding = fw_conf_value(conf, FW_KEY_INIT_EMBEDDING).real;
  train->init_fc = fw_conf_value(conf, FW_KEY_INIT_FC).real;
  train->recommended = fw_conf_recommends(conf);
  train->bias_optimizer = train->ftrl_keeps_first_weights = train->published_adagrad = train->recommended;
  train->start_linear = fw_conf_value(conf, FW_KEY_START).integer != 0;
  train->keep_best = fw_conf_value(conf, FW_KEY_KEEP).integer != 0;
  train->patience = (uint32_t)fw_conf_value(conf, FW_KEY_PATIENCE).integer;
}

/* A key that only steps of the optimizers take, FW_KEYS: none is set. */
static fw_key step_key(const furrow_learn_conf *conf) {
  for (unsigned key = FW_KEY_UPDATES; key < FW_KEY_LOSS; key++)
    if (key != FW_KEY_SEED && key != FW_KEY_L2 && fw_conf_is_set(conf, (fw_key)key)) return (fw_key)key;
  return FW_KEYS;
}

static bool is_linear(const fw_graph *graph) {
  return graph->count == 2 && graph->layers[0].type == FW_LAYER_INPUT &&
         graph->layers[0].activation == FW_ACTIVATION_IDENTITY && graph->loss != FW_LOSS_HINGE &&
         graph->loss != FW_LOSS_CROSS_ENTROPY;
}

/* A linear layer and the pairs of all features of a row. */
static bool is_fm(const fw_graph *graph) {
  size_t linear = 0, pairs = 0;
  for (size_t i = 0; i + 1 < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    linear += layer->type == FW_LAYER_INPUT && layer->width == 1 && layer->activation == FW_ACTIVATION_IDENTITY;
    pairs += layer->type == FW_LAYER_EMBEDDING && layer->slots == 0;
    pairs += layer->type == FW_LAYER_BI_INNER_SUM || layer->type == FW_LAYER_SUM_POOLING;
  }
  return graph->count == 5 && linear == 1 && pairs == 3 &&
         (fw_loss_is_regression(graph->loss) || graph->loss == FW_LOSS_LOG);
}

/* The exact minimum, unless something is set that it does not take. Two classes of fm, or an l2 of fm, which is that of
 * steps: only where it is asked for (docs/design/defaults.md). */
static furrow_status plan_solver(fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  const fw_key other = step_key(conf);
  const fw_graph *graph = &plan->graph;
  const bool set = fw_conf_is_set(conf, FW_KEY_SOLVER), fm = is_fm(graph);
  const bool own_l2 = plan->train.own_l2 = fw_conf_is_set(conf, FW_KEY_L2);
  if (fw_conf_value(conf, FW_KEY_SOLVER).integer == 0) return FURROW_OK;
  plan->train.lbfgs =
      (is_linear(graph) || (fm && (set || (fw_loss_is_regression(graph->loss) && !own_l2)))) && other == FW_KEYS;
  plan->train.lbfgs_pairs = plan->train.lbfgs && fm;
  if (plan->train.lbfgs || !set) return FURROW_OK;
  if (!is_linear(graph) && !fm)
    return fw_fail(err, FURROW_E_ARGUMENT, "the solver lbfgs is for lr, linear, robust, softmax and fm");
  return fw_fail(err, FURROW_E_ARGUMENT, "%s is for the solver steps, not for lbfgs", fw_key_facts(other)->name);
}

/* ---- What does not go together ---- */

static furrow_status check_data(fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(plan->model.row_type);
  plan->data.long_keys = type->key_bits == 64;
  const bool dense = strcmp(plan->data.format, "dense") == 0;
  if (plan->data.range == 0) return fw_fail(err, FURROW_E_ARGUMENT, "range (data/indexrange) is 0: no features");
  if (type->key_bits == 32 && plan->data.range > INT32_MAX) {
    fw_fail(err, FURROW_E_ARGUMENT, "range (data/indexrange) is %lld, but indices of %s end at %d",
            (long long)plan->data.range, type->name, INT32_MAX);
    fw_error_set_hint(err, "set the key `model-type` to a LONGKEY type");
    return FURROW_E_ARGUMENT;
  }
  if (dense && !type->dense)
    return fw_fail(err, FURROW_E_ARGUMENT, "dense data needs a dense model-type (model/modeltype), not %s", type->name);
  if (!dense || plan->data.range > 0) return FURROW_OK;
  if (fw_conf_recommends(conf)) {
    plan->data.range = 1; /* until the data has been seen */
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "dense data needs the number of columns");
  fw_error_set_hint(err, "set the key `range` (data/indexrange)");
  return FURROW_E_ARGUMENT;
}

static bool has_layer(const fw_graph *graph, fw_layer_type type) {
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == type) return true;
  return false;
}

static bool has_optimizer(const fw_graph *graph, fw_optimizer_type type) {
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    const bool trained =
        layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_EMBEDDING || layer->type == FW_LAYER_FC;
    if (trained && layer->optimizer.type == type) return true;
  }
  return false;
}

bool fw_graph_has_rate(const fw_graph *graph) {
  for (int type = FW_OPTIMIZER_SGD; type <= FW_OPTIMIZER_PUBLISHED_ADAGRAD; type++)
    if (type != FW_OPTIMIZER_FTRL && type != FW_OPTIMIZER_ADADELTA && has_optimizer(graph, (fw_optimizer_type)type))
      return true;
  return false;
}

/* Where FTRL is alone, lr is its alpha, unless that is set: it has no other rate. Angel's takes no notice of lr. */
static void take_rate(const fw_graph *graph, const furrow_learn_conf *conf) {
  if (!fw_conf_recommends(conf) || !fw_conf_is_set(conf, FW_KEY_LR) || fw_conf_is_set(conf, FW_KEY_FTRL_ALPHA)) return;
  if (fw_graph_has_rate(graph)) return;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].optimizer.type == FW_OPTIMIZER_FTRL)
      graph->layers[i].optimizer.a = fmax(fw_conf_value(conf, FW_KEY_LR).real, 1e-12);
}

/* Keys of layers that are not there, and of optimizers that no layer has. */
static furrow_status check_optimizers(const fw_graph *graph, const furrow_learn_conf *conf, furrow_error *err) {
  static const struct {
    fw_key key;
    fw_layer_type type;
    const char *layers;
  } own[] = {{FW_KEY_INPUT_OPTIMIZER, FW_LAYER_INPUT, "input layers"},
             {FW_KEY_EMBEDDING_OPTIMIZER, FW_LAYER_EMBEDDING, "embeddings"},
             {FW_KEY_FC_OPTIMIZER, FW_LAYER_FC, "fc layers"}};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (fw_conf_has_key(conf, own[i].key) && !has_layer(graph, own[i].type))
      return fw_fail(err, FURROW_E_ARGUMENT, "%s is for %s, of which there are none", fw_key_facts(own[i].key)->name,
                     own[i].layers);
  for (int type = FW_OPTIMIZER_SGD; type <= FW_OPTIMIZER_PUBLISHED_ADAGRAD; type++) {
    const fw_optimizer_param *params = fw_optimizer_params((fw_optimizer_type)type);
    for (size_t k = 0; k < 2 && params[k].member && !has_optimizer(graph, (fw_optimizer_type)type); k++)
      if (fw_conf_has_key(conf, params[k].key))
        return fw_fail(err, FURROW_E_ARGUMENT, "%s is for %s, which no layer has", fw_key_facts(params[k].key)->name,
                       fw_optimizer_name((fw_optimizer_type)type));
  }
  return FURROW_OK;
}

double fw_label_number(double label) {
  return label == trunc(label) ? label : (double)(float)label;
}

static furrow_status take_labels(plan_memory *memory, const char *text, furrow_error *err) {
  fw_data_conf *data = &memory->plan.data;
  void *taken = NULL;
  size_t count = 1;
  for (const char *at = text; (at = strchr(at, ',')); at++) count++;
  FW_TRY(fw_arena_take(&memory->arena, &taken, count, sizeof(double), err));
  double *labels = taken;
  for (size_t i = 0; i < count; i++) {
    text = fw_next_number(text, &labels[i]);
    labels[i] = fw_label_number(labels[i]);
  }
  data->labels = labels;
  data->label_count = count;
  return FURROW_OK;
}

/* One of Angel's transforms that does the same, for graph.json, where there is one. */
static void name_transform(fw_data_conf *data, fw_loss_type loss) {
  const double first = data->labels[0];
  if (loss == FW_LOSS_SOFTMAX) {
    const bool follow = data->labels[data->label_count - 1] - first == (double)data->label_count - 1;
    data->label = follow && first == 1 ? FW_LABEL_SUB_ONE : follow && first == -1 ? FW_LABEL_ADD_ONE : FW_LABEL_NONE;
    return;
  }
  data->label = data->signed_classes ? FW_LABEL_POS_NEG : FW_LABEL_ZERO_ONE;
  data->threshold = first < 0 && data->labels[1] > 0 ? 0 : first;
}

/* Losses of two classes take labels of 1 and -1: by default they are transformed so. Furrow's own defaults find out
 * what labels there are. */
static furrow_status plan_labels(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = &memory->plan;
  fw_data_conf *data = &plan->data;
  const fw_loss_type loss = plan->graph.loss;
  const bool two = fw_loss_has_two_classes(loss), set = fw_conf_is_set(conf, FW_KEY_LABEL);
  const char *labels = fw_conf_value(conf, FW_KEY_LABELS).text;
  data->signed_classes = loss == FW_LOSS_LOG || loss == FW_LOSS_HINGE;
  plan->open_classes = loss == FW_LOSS_SOFTMAX && fw_conf_value(conf, FW_KEY_CLASSES).integer == 0;
  data->finds_labels = fw_conf_recommends(conf) && !set && !labels[0] && (two || loss == FW_LOSS_SOFTMAX);
  if (data->signed_classes && !set) data->label = FW_LABEL_POS_NEG;
  if (!labels[0]) return FURROW_OK;
  if (!two && loss != FW_LOSS_SOFTMAX)
    return fw_fail(err, FURROW_E_ARGUMENT, "labels are those of classes, and %s has none", fw_loss_name(loss));
  FW_TRY(take_labels(memory, labels, err));
  const size_t classes = two ? 2 : plan->graph.outputs;
  if (data->label_count != classes)
    return fw_fail(err, FURROW_E_ARGUMENT, "there are %zu labels, but %zu classes", data->label_count, classes);
  name_transform(data, loss);
  return FURROW_OK;
}

size_t fw_plan_classes(const fw_plan *plan) {
  const fw_loss_type loss = plan->graph.loss;
  return fw_loss_has_two_classes(loss) ? 2 : loss == FW_LOSS_SOFTMAX ? plan->graph.outputs : 0;
}

/* How many weights there must be shows when the classes are known. */
static furrow_status check_class_weights(const fw_plan *plan, furrow_error *err) {
  const char *text = plan->data.class_weights;
  fw_class_weights weights = {0};
  FW_TRY(fw_class_weights_parse(&weights, text ? text : "", err));
  furrow_status status = plan->open_classes ? FURROW_OK : fw_class_weights_check(&weights, fw_plan_classes(plan), err);
  fw_class_weights_clear(&weights);
  return status;
}

/* ---- The whole ---- */

static furrow_status resolve_graph(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = &memory->plan;
  fw_graph_spec *built = NULL;
  const fw_graph_spec *spec = conf->json.graph;
  furrow_status status = FURROW_OK;
  if (plan->model.algorithm && strcmp(plan->model.algorithm, "gbdt") == 0)
    return fw_forest_resolve(plan, &memory->arena, conf, err);
  if (plan->model.algorithm) {
    status = fw_builtin_graph(&built, conf, plan->model.algorithm, err);
    spec = built;
  } else if (!spec) {
    fw_fail(err, FURROW_E_ARGUMENT, "the configuration has no graph");
    fw_error_set_hint(err, "name an algorithm (%s) or give layers in a JSON file", fw_builtin_names);
    return FURROW_E_ARGUMENT;
  } else {
    status = fw_graph_keys_unused(conf, 0, "a graph from the JSON file", err);
  }
  if (status == FURROW_OK) status = fw_graph_resolve(&plan->graph, &memory->arena, conf, plan, spec, err);
  if (status == FURROW_OK) status = check_optimizers(&plan->graph, conf, err);
  if (status == FURROW_OK) take_rate(&plan->graph, conf);
  fw_graph_spec_release(built);
  return status;
}

furrow_status fw_plan_create(fw_plan **plan, const furrow_learn_conf *conf, bool has_fields, furrow_error *err) {
  void *taken = NULL;
  furrow_status status = fw_alloc_zero(&taken, 1, sizeof(plan_memory), err);
  if (status != FURROW_OK) return status;
  plan_memory *memory = taken;
  memory->plan.memory = memory;
  (void)has_fields; /* a slot is a field then: the number of slots is the same */
  status = plan_data(memory, conf, err);
  if (status == FURROW_OK) status = plan_model(memory, conf, err);
  if (status == FURROW_OK) plan_train(&memory->plan.train, conf);
  if (status == FURROW_OK) status = check_data(&memory->plan, conf, err);
  if (status == FURROW_OK) status = resolve_graph(memory, conf, err);
  if (status == FURROW_OK) status = plan_solver(&memory->plan, conf, err);
  if (status == FURROW_OK) status = plan_labels(memory, conf, err);
  if (status == FURROW_OK) status = check_class_weights(&memory->plan, err);
  if (status == FURROW_OK) status = fw_rank_resolve(&memory->plan, &memory->arena, conf, err);
  if (status == FURROW_OK)
    *plan = &memory->plan;
  else
    fw_plan_free(&memory->plan);
  return status;
}

furrow_status furrow_learn_conf_check(const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = NULL;
  furrow_status status = fw_plan_create(&plan, conf, false, err);
  fw_plan_free(plan);
  return status;
}

bool fw_format_has_fields(const char *format) {
  return strcmp(format, "libffm") == 0 || strcmp(format, "libfm") == 0 || strcmp(format, "table") == 0;
}

furrow_status fw_plan_of_conf(fw_plan **plan, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *made = NULL;
  furrow_status status = fw_plan_create(&made, conf, false, err);
  if (status != FURROW_OK || !fw_format_has_fields(made->data.format)) {
    if (status == FURROW_OK) *plan = made;
    return status;
  }
  fw_plan_free(made);
  return fw_plan_create(plan, conf, true, err);
}

/* ---- A plan by its keys: for graph.json and descriptions -------------------------------------------------------- */

static fw_value integer(int64_t value) {
  return (fw_value){.integer = value};
}

static fw_value real(double value) {
  return (fw_value){.real = value};
}

static fw_value text(const char *value) {
  return (fw_value){.text = value};
}

static fw_value of_data(const fw_data_conf *data, fw_key key) {
  switch (key) {
  case FW_KEY_DATA: return text(data->path);
  case FW_KEY_FORMAT: return text(data->format);
  case FW_KEY_RANGE: return integer(data->range);
  case FW_KEY_FIELDS: return integer(data->fields);
  case FW_KEY_SHORT_ROWS: return integer(data->short_rows);
  case FW_KEY_VALID_RATIO: return real(data->valid_ratio);
  case FW_KEY_SAMPLE_RATIO: return real(data->sample_ratio);
  case FW_KEY_SHUFFLE: return integer(data->shuffle);
  case FW_KEY_POSNEG_RATIO: return real(data->posneg_ratio);
  case FW_KEY_LABEL: return text(fw_label_transform_name(data->label));
  case FW_KEY_THRESHOLD: return real(data->threshold);
  case FW_KEY_HAS_LABEL: return integer(data->has_label);
  default: return integer(data->index_base);
  }
}

static fw_value of_model(const fw_model_conf *model, fw_key key) {
  switch (key) {
  case FW_KEY_MODEL_TYPE: return text(furrow_matrix_row_type_get(model->row_type)->name);
  case FW_KEY_MODEL_SIZE: return integer(model->size);
  case FW_KEY_BLOCK_SIZE: return integer(model->block_size);
  case FW_KEY_LOAD: return text(model->load_path);
  default: return text(model->save_path);
  }
}

static fw_value of_train(const fw_train_conf *train, fw_key key) {
  switch (key) {
  case FW_KEY_EPOCHS: return integer(train->epochs);
  case FW_KEY_BATCH: return integer(train->batch);
  case FW_KEY_UPDATES: return integer(train->updates);
  case FW_KEY_LR: return real(train->lr);
  case FW_KEY_DECAY: return text(fw_decay_name(train->decay));
  case FW_KEY_DECAY_ALPHA: return real(train->decay_alpha);
  case FW_KEY_DECAY_BETA: return real(train->decay_beta);
  case FW_KEY_DECAY_INTERVALS: return integer(train->decay_intervals);
  case FW_KEY_DECAY_ON_BATCH: return integer(train->decay_on_batch);
  case FW_KEY_SEED: return integer((int64_t)train->seed);
  case FW_KEY_INIT_INPUT: return real(train->init_input);
  case FW_KEY_INIT_EMBEDDING: return real(train->init_embedding);
  default: return real(train->init_fc);
  }
}

static fw_value of_forest(const fw_plan *plan, fw_key key) {
  const fw_forest_conf *forest = &plan->forest;
  switch (key) {
  case FW_KEY_TREES: return integer(forest->rounds);
  case FW_KEY_LEVELS: return integer(forest->levels);
  case FW_KEY_SPLITS: return integer(forest->splits);
  case FW_KEY_FEATURE_RATIO: return real(forest->feature_ratio);
  case FW_KEY_ROW_RATIO: return real(forest->row_ratio);
  case FW_KEY_MIN_CHILD_WEIGHT: return real(forest->min_child_weight);
  case FW_KEY_MIN_GAIN: return real(forest->min_gain);
  case FW_KEY_REG_ALPHA: return real(forest->alpha);
  case FW_KEY_REG_LAMBDA: return real(forest->lambda);
  case FW_KEY_OBJECTIVE: return text(fw_objective_name(plan->graph.loss));
  case FW_KEY_CLASSES: return integer((int64_t)(plan->graph.outputs > 1 ? plan->graph.outputs : 2));
  case FW_KEY_CATEGORIES: return text(forest->category_text);
  case FW_KEY_LEAVES: return integer(forest->leaves);
  case FW_KEY_MIN_ROWS: return integer(forest->min_rows);
  case FW_KEY_FROM_AVERAGE: return integer(forest->from_average);
  case FW_KEY_TRUNCATION: return integer(forest->truncation);
  default: return integer(forest->node_stats);
  }
}

fw_value fw_plan_value(const fw_plan *plan, fw_key key) {
  const char *path = fw_key_facts(key)->json_path;
  if (strncmp(path, "data/", 5) == 0) return of_data(&plan->data, key);
  if (strncmp(path, "model/", 6) == 0) return of_model(&plan->model, key);
  if (strncmp(path, "gbdt/", 5) == 0) return of_forest(plan, key);
  return of_train(&plan->train, key);
}

bool fw_plan_differs(const fw_plan *plan, fw_key key) {
  const char *fallback = fw_key_facts(key)->fallback;
  const fw_value now = fw_plan_value(plan, key);
  fw_value usual = {0};
  if (fallback[0] && fw_key_parse(key, fallback, strlen(fallback), &usual, NULL) != FURROW_OK) return true;
  if (now.text) return strcmp(now.text, usual.text ? usual.text : fallback) != 0;
  return now.integer != usual.integer || now.real != usual.real;
}
